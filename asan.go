//go:build asan

package bfi

import (
	"runtime"
	"unsafe"
)

// Assembly is not instrumented: the address sanitizer learns here what a kernel
// reads and writes.

func reads[T Word](p unsafe.Pointer, lanes int) {
	runtime.ASanRead(p, lanes*int(unsafe.Sizeof(T(0))))
}

func writes[T Word](p unsafe.Pointer, lanes int) {
	runtime.ASanWrite(p, lanes*int(unsafe.Sizeof(T(0))))
}
