package bfi

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"unsafe"
)

// The portable permute makes one or more groups at once in a register of 8 bytes: a batch. Bytes that move equally
// far make one term: 8 bytes of a move, and a mask. Bytes in reverse order make one term too: 8 bytes, reversed and
// rotated, and a mask. Calls of one or two terms have loops that keep the terms in registers.

// A term is some bytes of a batch of dst.
type term struct {
	data     unsafe.Pointer // the first byte that the move takes from its first group
	offset   int            // where the term's 8 bytes start for the first batch; less than 0 is before data
	stride   int            // bytes from the first group of a batch to the first group of the next batch
	reversed bool           // the 8 bytes are reversed first
	left     int            // then they are rotated left by that many bits
	mask     uint64         // ones in the bytes that the term makes
	readable int            // how many bytes may be read from data on
}

// maxTerms is the most terms that the loops below keep in registers.
const maxTerms = 2

// batch returns how many groups of d bytes to make at once, and their terms. The array has room for one term a byte.
func batch(array *[8]term, dst unsafe.Pointer, d, n int, moves []move) (groups int, list []term) {
	for groups = 8; groups > 1; groups /= 2 {
		if groups*d > 8 || groups > n {
			continue
		}
		fewest := 0 // terms
		for k := range moves {
			if stride := moves[k].stride; stride == d || (d+stride)%8 == 0 {
				fewest++
			} else {
				fewest += groups
			}
		}
		if fewest <= maxTerms {
			if list = terms(array, dst, d, n, groups, moves); len(list) <= maxTerms {
				return groups, list
			}
		}
	}
	return 1, terms(array, dst, d, n, 1, moves)
}

// terms returns the terms for batches of so many groups, if there are n groups of d bytes in all.
func terms(array *[8]term, dst unsafe.Pointer, d, n, groups int, moves []move) []term {
	list := array[:0]
	for k := range moves {
		m := &moves[k]
		first, span := m.bytes(d)
		inPlace := m.data == dst
		one := (groups-1)*m.stride+span <= 8 // one load has all bytes of a batch
		reversible := one && (groups == 1 || (d+m.stride)%8 == 0)
		own := len(list)
		for g := range groups {
			for j, from := range m.from[:d] {
				if from < 0 {
					continue
				}
				to, at := g*d+j, g*m.stride+int(from)-first
				mask := uint64(0xff) << (8 * to & 63)
				// Bytes need no rotation if they are loaded from where they end up in their place. In place, such a load
				// would wait for the last store, because only a part of its bytes is in that store.
				offset, straight, reversed := at-to, 0, 8*(to+at-7)&63
				if inPlace {
					offset, straight = 0, 8*(to-at)&63
				}
				if join(list[own:], offset, straight, reversed, mask) {
					continue
				}
				t := term{
					data: noescape(unsafe.Add(m.data, first)), offset: offset, stride: groups * m.stride,
					left: straight, mask: mask, readable: (n-1)*m.stride + span,
				}
				if reversible && j+1 < d && m.from[j+1] == from-1 {
					t.offset, t.reversed, t.left = 0, true, reversed
				}
				list = append(list, t)
			}
		}
	}
	return list
}

// join adds a mask to the term that moves its bytes as far, in the same order. It reports false if there is none.
func join(list []term, offset, straight, reversed int, mask uint64) bool {
	for k := range list {
		have := &list[k]
		if have.reversed && have.left == reversed || !have.reversed && have.offset == offset && have.left == straight {
			have.mask |= mask
			return true
		}
	}
	return false
}

// permuteWords makes groups lo to hi-1 of n groups of d bytes, up to 8 and without gaps. The other groups are too
// near an end of a move, or of dst, for an access of 8 bytes.
func permuteWords(dst unsafe.Pointer, d, n int, value uint64, moves []move) (lo, hi int) {
	var array [8]term
	groups, list := batch(&array, dst, d, n, moves)
	size := groups * d // of a batch
	first, end := 0, n/groups
	if size&(size-1) != 0 {
		// A store of 8 bytes goes on into the next batches, which are made later.
		end = (n*d - 8 + size) / size
		for k := range moves {
			if moves[k].data == dst {
				return 0, 0 // these are still to be read
			}
		}
	}
	value &= low(uint32(8 * d))
	for b := d; b < size; b *= 2 {
		value |= value << (8 * b)
	}
	for k := range list {
		t := &list[k]
		value &^= t.mask
		first = max(first, (t.stride-1-t.offset)/t.stride)
		end = min(end, (t.readable-8-t.offset+t.stride)/t.stride)
	}
	if first >= end {
		return 0, 0
	}
	switch {
	case len(list) == 0 || len(list) > maxTerms:
		for i := first; i < end; i++ {
			word := value
			for k := range list {
				word |= list[k].bytes(i)
			}
			storeWord(unsafe.Add(dst, i*size), size, word)
		}
	case size == 1:
		permuteTwo[uint8](dst, size, first, end, value, list)
	case size == 2:
		permuteTwo[uint16](dst, size, first, end, value, list)
	case size == 4:
		permuteTwo[uint32](dst, size, first, end, value, list)
	default:
		permuteTwo[uint64](dst, size, first, end, value, list)
	}
	return first * groups, end * groups
}

// permuteTwo makes batches of d bytes of value and one or two terms. Stores have the size of a W. Each loop leaves out
// what its terms do not need: a rotation by a variable takes as long as the rest of the loop.
func permuteTwo[W Word](dst unsafe.Pointer, d, first, end int, value uint64, terms []term) {
	a, b := &terms[0], &terms[len(terms)-1] // if these are one term, it changes nothing to add it again
	if a.reversed {
		a, b = b, a
	}
	size, to, n := int(unsafe.Sizeof(W(0))), first*d, end-first
	from, from2 := a.offset+first*a.stride, b.offset+first*b.stride
	switch whole := a == b && a.mask == ^uint64(0); {
	case whole && a.reversed && a.left == 0 && a.stride == 8:
		for ; n > 1; n, to = n-2, to+16 {
			x, y := bits.ReverseBytes64(loadEight(a.data, to)), bits.ReverseBytes64(loadEight(a.data, to+8))
			storeWord(unsafe.Add(dst, to), 8, x)
			storeWord(unsafe.Add(dst, to+8), 8, y)
		}
		if n > 0 {
			storeWord(unsafe.Add(dst, to), 8, bits.ReverseBytes64(loadEight(a.data, to)))
		}
	case whole && a.reversed && a.left == 32:
		data, stride := a.data, a.stride
		for ; n > 0; n, from, to = n-1, from+stride, to+8 {
			storeWord(unsafe.Add(dst, to), 8, bits.RotateLeft64(bits.ReverseBytes64(loadEight(data, from)), 32))
		}
	case a == b && !a.reversed && a.left == 0:
		data, stride, mask := a.data, a.stride, a.mask
		for ; n > 0; n, from, to = n-1, from+stride, to+d {
			storeWord(unsafe.Add(dst, to), size, value|loadEight(data, from)&mask)
		}
	case !b.reversed && a.left == 0 && b.left == 0 && a.data == b.data && a.stride == b.stride:
		data, stride, mask, mask2, apart := a.data, a.stride, a.mask, b.mask, from2-from
		for ; n > 0; n, from, to = n-1, from+stride, to+d {
			storeWord(unsafe.Add(dst, to), size, value|loadEight(data, from)&mask|loadEight(data, from+apart)&mask2)
		}
	case !a.reversed && a.left == 0 && b.reversed && a.data == b.data && a.stride == b.stride:
		data, stride, mask, left2, mask2, apart := a.data, a.stride, a.mask, b.left, b.mask, from2-from
		for ; n > 0; n, from, to = n-1, from+stride, to+d {
			x, y := loadEight(data, from), bits.ReverseBytes64(loadEight(data, from+apart))
			storeWord(unsafe.Add(dst, to), size, value|x&mask|bits.RotateLeft64(y, left2)&mask2)
		}
	default:
		for i := first; i < end; i++ {
			storeWord(unsafe.Add(dst, i*d), size, value|a.bytes(i)|b.bytes(i))
		}
	}
}

// bytes returns the bytes that the term makes in batch i.
func (t *term) bytes(i int) uint64 {
	x := loadEight(t.data, t.offset+i*t.stride)
	if t.reversed {
		x = bits.ReverseBytes64(x)
	}
	return bits.RotateLeft64(x, t.left) & t.mask
}

// lowestFirst reports whether the processor loads words from any address, their first byte lowest. Go does not join the
// bytes that encoding/binary reads to 8 on all of these processors: wasm and 386 take them one by one.
const lowestFirst = anyAlignment && runtime.GOARCH != "s390x" && runtime.GOARCH != "ppc64"

// loadEight returns the 8 bytes at offset at of data, the first lowest.
func loadEight(data unsafe.Pointer, at int) uint64 {
	p := unsafe.Add(data, at)
	if lowestFirst {
		return *(*uint64)(p)
	}
	return binary.LittleEndian.Uint64((*[8]byte)(p)[:])
}

// storeWord stores the low bytes of a word, the lowest first. It stores size bytes if size is 1, 2 or 4, else all 8.
func storeWord(p unsafe.Pointer, size int, word uint64) {
	if lowestFirst {
		storeElement(p, size, word)
		return
	}
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
