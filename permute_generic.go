package bfi

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The portable permute makes a group of up to 8 bytes in a register. Bytes that move equally far make one term: 8 bytes of
// a move's group, rotated and masked. Bytes in reverse order make one term too: 8 bytes, reversed, rotated and masked.

// A term is some bytes of a group of dst.
type term struct {
	data     unsafe.Pointer // the 8 bytes that the term loads for the first group
	stride   int
	reversed bool   // the 8 bytes are reversed first
	left     int    // then they are rotated left by that many bits
	mask     uint64 // ones in the bytes that the term makes
	count    int    // how many groups' 8 bytes may be read
}

// terms returns the terms for n groups of d bytes. The array has room for one term a byte.
func terms(array *[8]term, d, n int, moves []move) []term {
	list := array[:0]
	for k := range moves {
		m := &moves[k]
		first, last := groupBytes, 0
		for _, from := range m.from[:d] {
			if from >= 0 {
				first, last = min(first, int(from)), max(last, int(from))
			}
		}
		own := len(list)
		for j, from := range m.from[:d] {
			if from < 0 {
				continue
			}
			start := first
			if last-first >= 8 {
				start = int(from) // too many bytes for one load
			}
			at := int(from) - start
			t := term{data: noescape(unsafe.Add(m.data, start)), stride: m.stride, left: 8 * (j - at) & 63, mask: 0xff << (8 * j)}
			if j+1 < d && m.from[j+1] == from-1 {
				t.reversed, t.left = true, 8*(j+at-7)&63
			}
			if beyond := (n-1)*m.stride + last + 1 - start - 8; beyond >= 0 {
				t.count = beyond/m.stride + 1
			}
			list = join(list, own, t, 8*(j-at)&63, 8*(j+at-7)&63)
		}
	}
	return list
}

// join adds a term to the list. If a term from list[own] on moves the same 8 bytes as far, in the same order, join adds
// the mask to that term instead.
func join(list []term, own int, t term, straight, reversed int) []term {
	for k := own; k < len(list); k++ {
		have := &list[k]
		if have.data == t.data && (!have.reversed && have.left == straight || have.reversed && have.left == reversed) {
			have.mask |= t.mask
			return list
		}
	}
	return append(list, t)
}

// permuteWords makes the first of n groups of d bytes, up to 8 and without gaps. It returns how many it made. The rest are
// too near the end of a move, or of dst, for an access of 8 bytes.
func permuteWords(dst unsafe.Pointer, d, n int, value uint64, moves []move) int {
	var array [8]term
	list := terms(&array, d, n, moves)
	if d&(d-1) != 0 {
		// A store of 8 bytes goes on into the next groups, which are made later.
		n = max(n-(8-1)/d, 0)
		for k := range moves {
			if moves[k].data == dst {
				return 0 // these are still to be read
			}
		}
	}
	for k := range list {
		value &^= list[k].mask
		n = min(n, list[k].count)
	}
	switch {
	case len(list) == 0 || len(list) > 2:
		for i := range n {
			word := value
			for k := range list {
				t := &list[k]
				word |= moved(t.data, i*t.stride, t.reversed, t.left, t.mask)
			}
			storeWord(unsafe.Add(dst, i*d), d, word)
		}
	case d == 1:
		permuteTwo[uint8](dst, d, n, value, list)
	case d == 2:
		permuteTwo[uint16](dst, d, n, value, list)
	case d == 4:
		permuteTwo[uint32](dst, d, n, value, list)
	default:
		permuteTwo[uint64](dst, d, n, value, list)
	}
	return n
}

// permuteTwo makes n groups of d bytes of value and one or two terms, which stay in registers. Stores have the size of a W.
func permuteTwo[W Word](dst unsafe.Pointer, d, n int, value uint64, terms []term) {
	a := &terms[0]
	data, stride, reversed, left, mask := a.data, a.stride, a.reversed, a.left, a.mask
	if len(terms) == 1 && left == 0 {
		// Rotations by a variable would take half of the loop's time.
		from, to := 0, 0
		for range n {
			storeWord(unsafe.Add(dst, to), int(unsafe.Sizeof(W(0))), value|moved(data, from, reversed, 0, mask))
			from, to = from+stride, to+d
		}
		return
	}
	b := &terms[len(terms)-1] // if this is the first term again, it changes nothing
	data2, stride2, reversed2, left2, mask2 := b.data, b.stride, b.reversed, b.left, b.mask
	for i := range n {
		word := value | moved(data, i*stride, reversed, left, mask) | moved(data2, i*stride2, reversed2, left2, mask2)
		storeWord(unsafe.Add(dst, i*d), int(unsafe.Sizeof(W(0))), word)
	}
}

// moved returns the bytes that a term makes from the 8 bytes at data+from.
func moved(data unsafe.Pointer, at int, reversed bool, left int, mask uint64) uint64 {
	x := binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(data, at))[:])
	if reversed {
		x = bits.ReverseBytes64(x)
	}
	return bits.RotateLeft64(x, left) & mask
}

// storeWord stores the low bytes of a word, the lowest first. It stores size bytes if size is 1, 2 or 4, else all 8.
func storeWord(p unsafe.Pointer, size int, word uint64) {
	switch size {
	case 1:
		*(*byte)(p) = byte(word)
	case 2:
		binary.LittleEndian.PutUint16((*[2]byte)(p)[:], uint16(word))
	case 4:
		binary.LittleEndian.PutUint32((*[4]byte)(p)[:], uint32(word))
	default:
		binary.LittleEndian.PutUint64((*[8]byte)(p)[:], word)
	}
}
