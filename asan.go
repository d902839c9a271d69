//go:build asan

package bfi

import (
	"runtime"
	"unsafe"
)

// Assembly is not instrumented: the address sanitizer learns here what a kernel
// reads and writes.

const instrumented = true

func reads(p unsafe.Pointer, n int, size uintptr) { runtime.ASanRead(p, n*int(size)) }

func writes(p unsafe.Pointer, n int, size uintptr) { runtime.ASanWrite(p, n*int(size)) }
