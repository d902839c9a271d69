//go:build darwin || dragonfly || freebsd || linux || netbsd

package bfi

import (
	"syscall"
	"testing"
	"unsafe"
)

const (
	noAccess  = syscall.PROT_NONE
	readOnly  = syscall.PROT_READ
	readWrite = syscall.PROT_READ | syscall.PROT_WRITE
)

// pages returns memory of size bytes, rounded up to whole pages, on pages of its own.
func pages(t *testing.T, size int) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	size = (size + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, size, readWrite, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	return all
}

// protect changes how whole pages may be accessed.
func protect(t *testing.T, b []byte, access int) {
	t.Helper()
	// Package syscall lacks Mprotect for some of these systems.
	_, _, err := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(access))
	if err != 0 {
		t.Fatal(err)
	}
}

// guarded returns segments of memory of at least size bytes each. Before and after each
// segment lies a page that faults when it is touched. Operands must stay margin bytes away
// from the segments' ends. Here margin is 0.
func guarded(t *testing.T, count, size int) (segments [][]byte, margin int) {
	page := syscall.Getpagesize()
	data := (size + page - 1) / page * page
	all := pages(t, count*(data+page)+page)
	protect(t, all[:page], noAccess)
	rest := all[page:]
	for range count {
		segments = append(segments, rest[:data:data])
		protect(t, rest[data:][:page], noAccess)
		rest = rest[data+page:]
	}
	return segments, 0
}
