package main

import (
	"syscall"
	"unsafe"
)

// forget clears s. It gives all whole pages in s back to the system, so the first access to
// each of them is a page fault.
func forget[T word](s []T) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*bitsOf[T]()/8)
	page := syscall.Getpagesize()
	head := min(int(-uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(page)), len(b))
	whole := (len(b) - head) / page * page
	if whole == 0 || syscall.Madvise(b[head:head+whole], syscall.MADV_DONTNEED) != nil {
		clear(b)
		return
	}
	clear(b[:head])
	clear(b[head+whole:])
}
