//go:build darwin || dragonfly || freebsd || linux || netbsd

package bfi

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns segments of memory of at least size bytes each, before and
// after which lies a page that faults when it is touched, and how far from their
// ends operands must stay: not at all.
func guarded(t *testing.T, count, size int) (segments [][]byte, margin int) {
	page := syscall.Getpagesize()
	data := (size + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, count*(data+page)+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	protect := func(b []byte) {
		// Not all of these systems have it as a function of package syscall.
		_, _, err := syscall.Syscall(syscall.SYS_MPROTECT, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), syscall.PROT_NONE)
		if err != 0 {
			t.Fatal(err)
		}
	}
	protect(all[:page])
	rest := all[page:]
	for range count {
		segments = append(segments, rest[:data:data])
		protect(rest[data:][:page])
		rest = rest[data+page:]
	}
	return segments, 0
}
