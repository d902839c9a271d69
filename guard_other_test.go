//go:build !(darwin || dragonfly || freebsd || linux || netbsd)

package bfi

import "testing"

// guarded returns segments of memory in which operands must stay a line from either end. So
// tests see writes past an operand, but not reads. On OpenBSD the standard library cannot
// protect pages, so it is among these systems.
func guarded(t *testing.T, count, size int) (segments [][]byte, margin int) {
	t.Log("no pages to protect here: guard words instead")
	for range count {
		segments = append(segments, make([]byte, size+2*line))
	}
	return segments, line
}

const noAccess, readOnly, readWrite = 0, 1, 2

// pages skips the test, because it needs memory that can be protected.
func pages(t *testing.T, size int) []byte {
	t.Skip("no pages to protect here")
	return nil
}

func protect(*testing.T, []byte, int) {}
