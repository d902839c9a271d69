//go:build cgo

package main

// #cgo CFLAGS: -O3 -march=native
// #cgo linux LDFLAGS: -ldl
//
// #include <stddef.h>
// #include <stdint.h>
// #include <stdlib.h>
//
// typedef void work(size_t n, void *p0, void *p1, void *p2, void *p3, void *p4,
// 	uint64_t value, uint32_t pos, uint32_t width, uint32_t active);
//
// work *find_work(const char *name, int in_place);
// void repeat(work *w, size_t iters, size_t n, void *p0, void *p1, void *p2, void *p3, void *p4,
// 	uint64_t value, uint32_t pos, uint32_t width, uint32_t active);
// void limit(size_t iters, size_t count, const void *moves, void *p0, void *p1, void *p2, void *p3, void *p4);
//
// #ifdef __clang__
// #define COMPILER __VERSION__
// #else
// #define COMPILER "gcc " __VERSION__
// #endif
import "C"

import "unsafe"

// cCompiler names the compiler of the C loops and its flags. Without a compiler it is empty.
const cCompiler = C.COMPILER + " -O3 -march=native"

// cWork returns the named loop in C. If there is none for this place, it returns nil. One call
// through cgo makes all iterations, so the cost of cgo does not count against C.
func cWork(name string, x *operands) func(iters int) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	inPlaceC := C.int(0)
	if x.place == inPlace {
		inPlaceC = 1
	}
	w := C.find_work(cname, inPlaceC)
	if w == nil {
		return nil
	}
	return func(iters int) {
		C.repeat(w, C.size_t(iters), C.size_t(x.n), x.p[0], x.p[1], x.p[2], x.p[3], x.p[4],
			C.uint64_t(x.value), C.uint32_t(x.pos), C.uint32_t(x.width), C.uint32_t(x.active))
	}
}

func cLimit(moves []move, x *operands) func(iters int) {
	return func(iters int) {
		C.limit(C.size_t(iters), C.size_t(len(moves)), unsafe.Pointer(&moves[0]), x.p[0], x.p[1], x.p[2], x.p[3], x.p[4])
	}
}
