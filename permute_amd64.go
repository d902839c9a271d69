//go:build amd64 && gc && !purego && !noasm && !appengine

package bfi

import "unsafe"

// permutes reports whether the current level has a kernel for permute.
func permutes() bool { return current == levelAVX512 && vbmi }

// permuteVectors is permute with a kernel.
func permuteVectors(dst unsafe.Pointer, d, n int, low, high uint64, gaps uint16, moves []move) {
	groups, shift := int(stepGroups[d].groups), int(stepGroups[d].shift)
	apart := true
	for k := range moves {
		apart = apart && moves[k].data != dst
	}
	switch {
	case n == 0: // the kernel begins with a step
	case n*d < alignBytes:
		permuteAVX512(dst, pointer(moves), len(moves), 0, n, d, groups, shift, low, high, uint64(gaps), apart, false)
	default:
		permuteLong(dst, d, n, groups, shift, low, high, gaps, moves, apart)
	}
}

// stepGroups has, for groups of d bytes, the number of groups that the kernel makes at
// a time, and its logarithm: as many as fit a vector, rounded down to a power of two.
var stepGroups = [1 + groupBytes]struct{ groups, shift uint8 }{
	1: {64, 6}, {32, 5}, {16, 4}, {16, 4}, {8, 3}, {8, 3}, {8, 3}, {8, 3},
	{4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2},
}

// alignBytes is how many bytes a call must write for it to pay that dst is aligned.
const alignBytes = 4 << 10

// permuteLong is permute in pieces. The first piece ends where dst is aligned.
func permuteLong(dst unsafe.Pointer, d, n, groups, shift int, low, high uint64, gaps uint16, moves []move, apart bool) {
	at := 0
	stream := false
	if address := uintptr(dst); groups*d == 64 && address%uintptr(d) == 0 {
		at = int(-address%64) / d
		if at > 0 {
			permuteAVX512(dst, pointer(moves), len(moves), 0, at, d, groups, shift, low, high, uint64(gaps), apart, false)
		}
		stream = apart && streamsMoves(d, n, moves)
	}
	for at < n {
		count := min(n-at, pieceBytes>>6<<shift)
		permuteAVX512(dst, pointer(moves), len(moves), at, count, d, groups, shift, low, high, uint64(gaps), apart, stream)
		at += count
	}
}

// streamsMoves reports whether a call moves so much that it streams.
func streamsMoves(d, n int, moves []move) bool {
	moved := 2 * d
	for k := range moves {
		moved += moves[k].stride
	}
	return uintptr(n)*uintptr(moved) >= streamBytes
}
