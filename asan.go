//go:build asan

package bfi

import (
	"runtime"
	"unsafe"
)

// The compiler does not instrument assembly. These functions tell the address sanitizer
// what a kernel reads and writes.

const instrumented = true

func reads(p unsafe.Pointer, n int, size uintptr) { runtime.ASanRead(p, n*int(size)) }

func writes(p unsafe.Pointer, n int, size uintptr) { runtime.ASanWrite(p, n*int(size)) }
