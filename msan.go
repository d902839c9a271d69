//go:build msan

package bfi

import (
	"runtime"
	"unsafe"
)

// Assembly is not instrumented: the memory sanitizer learns here what a kernel
// reads and writes.

const instrumented = true

func reads(p unsafe.Pointer, n int, size uintptr) { runtime.MSanRead(p, n*int(size)) }

func writes(p unsafe.Pointer, n int, size uintptr) { runtime.MSanWrite(p, n*int(size)) }
