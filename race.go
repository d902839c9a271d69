//go:build race

package bfi

import (
	"runtime"
	"unsafe"
)

// The compiler does not instrument assembly. These functions tell the race detector
// what a kernel reads and writes.

const instrumented = true

func reads(p unsafe.Pointer, n int, size uintptr) { runtime.RaceReadRange(p, n*int(size)) }

func writes(p unsafe.Pointer, n int, size uintptr) { runtime.RaceWriteRange(p, n*int(size)) }
