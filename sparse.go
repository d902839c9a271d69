package bfi

import (
	"math/bits"
	"unsafe"
)

// If few lanes are active, a loop over them beats a kernel, which loads whole vectors. A
// kernel without masked stores also reads dst before it writes. If dst was never written,
// this costs a second page fault.
const (
	sparseBytes = 16 << 10 // of dst: in a shorter call, counting takes too long
	sparseLanes = 128      // a mask is sparse if at most one lane of so many is active
)

// countActive counts the active lanes among n. It stops where a mask is not sparse.
func countActive[M Mask](active []M, n int) int {
	count := bits.OnesCount64(lastBits(active, n))
	words := unsafe.Slice((*uint64)(pointer(active)), n/64)
	for ; len(words) >= 8 && count <= n/sparseLanes; words = words[8:] {
		w := (*[8]uint64)(words)
		if w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7] != 0 {
			for _, w := range w {
				count += bits.OnesCount64(w)
			}
		}
	}
	if count <= n/sparseLanes {
		for _, w := range words {
			count += bits.OnesCount64(w)
		}
	}
	return count
}
