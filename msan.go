//go:build msan

package bfi

import (
	"runtime"
	"unsafe"
)

// Assembly is not instrumented: the memory sanitizer learns here what a kernel
// reads and writes.

func reads[T Word](p unsafe.Pointer, lanes int) {
	runtime.MSanRead(p, lanes*int(unsafe.Sizeof(T(0))))
}

func writes[T Word](p unsafe.Pointer, lanes int) {
	runtime.MSanWrite(p, lanes*int(unsafe.Sizeof(T(0))))
}
