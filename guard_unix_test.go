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

// pages returns memory on pages of its own: size bytes, rounded up to whole pages.
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

// protect changes the access to whole pages.
func protect(t *testing.T, b []byte, access int) {
	t.Helper()
	// Package syscall does not have this function for all of these systems.
	_, _, err := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(access))
	if err != 0 {
		t.Fatal(err)
	}
}

// guarded returns segments of memory of at least size bytes each. Before and after each
// segment lies a page that faults when it is touched. margin is how far from their ends
// operands must stay, which is 0 here.
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
