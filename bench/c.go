//go:build cgo

package main

// #cgo CFLAGS: -O3 -march=native
//
// #include <stddef.h>
// #include <stdint.h>
//
// // As the constants of type function.
// enum {
// 	INSERT, INSERT_EACH, FILL, SELECT, EXTRACT, EXTRACT_EACH, PACK, UNPACK,
// 	INSERT_WARP, SELECT_WARP, EXTRACT_WARP,
// 	XOR = 100,
// };
//
// #define T uint32_t
// #define BITS 32
// #define NAME(f) f##_32_apart
// #define OR_DST(p) p
// #include "loops.h"
// #undef NAME
// #undef OR_DST
// #define NAME(f) f##_32_in_place
// #define OR_DST(p) dst
// #include "loops.h"
// #undef T
// #undef BITS
// #undef NAME
// #undef OR_DST
//
// #define T uint64_t
// #define BITS 64
// #define NAME(f) f##_64_apart
// #define OR_DST(p) p
// #include "loops.h"
// #undef NAME
// #undef OR_DST
// #define NAME(f) f##_64_in_place
// #define OR_DST(p) dst
// #include "loops.h"
//
// static void run_c(int bits, int in_place, int loop, size_t iters, size_t n,
// 		void *p0, void *p1, void *p2, void *p3, void *p4,
// 		uint64_t value, uint32_t pos, uint32_t width, uint32_t active) {
// 	if (bits == 32 && in_place)
// 		run_32_in_place(loop, iters, n, p0, p1, p2, p3, p4, value, pos, width, active);
// 	else if (bits == 32)
// 		run_32_apart(loop, iters, n, p0, p1, p2, p3, p4, value, pos, width, active);
// 	else if (in_place)
// 		run_64_in_place(loop, iters, n, p0, p1, p2, p3, p4, value, pos, width, active);
// 	else
// 		run_64_apart(loop, iters, n, p0, p1, p2, p3, p4, value, pos, width, active);
// }
//
// #ifdef __clang__
// #define COMPILER __VERSION__
// #else
// #define COMPILER "gcc " __VERSION__
// #endif
import "C"

import "unsafe"

// cCompiler names the compiler of the C loops and its flags; it is empty where
// there is none.
const cCompiler = C.COMPILER + " -O3 -march=native"

// cLoop is fn's loop in C, or with limit the loop over the same streams. All
// iterations are one call through cgo, whose cost is so not counted against C.
func cLoop[T word](fn function, o *operands[T], limit bool) func(iters int) {
	loop := C.int(fn)
	if limit {
		loop += C.XOR
	}
	var inPlace C.int
	if o.place == inPlacePlace {
		inPlace = 1
	}
	var p [5]unsafe.Pointer
	for i := range p {
		p[i] = o.stream(fn, i)
	}
	return func(iters int) {
		C.run_c(C.int(wordBits[T]()), inPlace, loop, C.size_t(iters), C.size_t(o.n),
			p[0], p[1], p[2], p[3], p[4],
			C.uint64_t(o.value), C.uint32_t(o.fieldPos), C.uint32_t(o.fieldWidth), C.uint32_t(o.active))
	}
}
