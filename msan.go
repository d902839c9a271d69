//go:build msan

package bfi

import (
	"runtime"
	"unsafe"
)

// The compiler does not instrument assembly. These functions tell the memory sanitizer
// what a kernel reads and writes.

const instrumented = true

func reads(p unsafe.Pointer, n int, size uintptr) { runtime.MSanRead(p, n*int(size)) }

func writes(p unsafe.Pointer, n int, size uintptr) { runtime.MSanWrite(p, n*int(size)) }
