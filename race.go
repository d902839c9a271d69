//go:build race

package bfi

import (
	"runtime"
	"unsafe"
)

// Assembly is not instrumented: the race detector learns here what a kernel
// reads and writes.

func reads[T Word](p unsafe.Pointer, lanes int) {
	runtime.RaceReadRange(p, lanes*int(unsafe.Sizeof(T(0))))
}

func writes[T Word](p unsafe.Pointer, lanes int) {
	runtime.RaceWriteRange(p, lanes*int(unsafe.Sizeof(T(0))))
}
