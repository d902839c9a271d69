package bfi

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// A dense says how the elements of a group share one word. A group is count
// adjacent elements; their fields are adjacent too, and all have the same width.
// Each field comes whole from its element, and lies whole in the word.
type dense struct {
	count    int  // the elements of a group
	width    int  // the bits of a field
	from     int  // the lowest bit of an element that its field takes
	pos      int  // the lowest bit of the word that a field takes
	reversed bool // the first element has the highest field, not the lowest
	signed   bool // scatterBits copies a field's top bit to the bits above it
}

// gatherBits makes n words of w bytes at dst. Each word gets the fields of one group,
// and zeros elsewhere. Elements have e bytes; groups start every stride bytes at data.
// The words must not overlap the groups. gatherBits may read what lies between
// groups, but nothing before the first or after the last.
//
// scatterBits does the reverse: it sets each element of each group to its field,
// shifted left by from. It does not write what lies between groups.
//
// The portable loops take 8 bytes of a group at a time. The fields in them close up in pairs, then in fours, then all
// eight. The last 8 bytes of a group may have elements of the 8 bytes before: the same fields come to the same bits
// again. Groups shorter than 8 bytes are accessed together with what follows them. Where that is not allowed, a
// slower loop takes an element at a time.

func gatherBitsGeneric(dst unsafe.Pointer, w, n int, data unsafe.Pointer, e, stride int, d dense) {
	m, bytes, whole := d.merges(e), d.count*e, n
	switch {
	case bytes < 8 && instrumented:
		whole = 0 // a sanitizer would see reads of what follows a group
	case bytes < 8:
		whole = max((n-1)*stride+bytes-8+stride, 0) / stride
	}
	for i := range whole {
		group := unsafe.Add(data, i*stride)
		var word uint64
		at := m.first
		for off := 0; ; off += 8 {
			if off >= m.last {
				off, at = m.last, m.end
			}
			x := nativeEight(unsafe.Add(group, off))
			if m.flip {
				x = reverseElements(x, e)
			}
			x = x >> (d.from & 63) & m.fields
			if e == 1 {
				x = x&m.low[0] | x>>(m.down[0]&63)&m.high[0]
			}
			if e <= 2 {
				x = x&m.low[1] | x>>(m.down[1]&63)&m.high[1]
			}
			if e <= 4 {
				x = x&m.low[2] | x>>(m.down[2]&63)&m.high[2]
			}
			word |= x >> (m.unused & 63) << (at & 63)
			if off == m.last {
				break
			}
			at += m.step
		}
		storeElement(unsafe.Add(dst, i*w), w, word)
	}
	for i := whole; i < n; i++ {
		group := unsafe.Add(data, i*stride)
		var word uint64
		for j := range d.count {
			field := loadElement(unsafe.Add(group, j*e), e) >> (d.from & 63) & low(uint32(d.width))
			word |= field << (d.place(j, 1) & 63)
		}
		storeElement(unsafe.Add(dst, i*w), w, word)
	}
}

func scatterBitsGeneric(data unsafe.Pointer, e, stride int, src unsafe.Pointer, w, n int, d dense) {
	m, bytes, whole := d.merges(e), d.count*e, n
	switch {
	case bytes < 8 && stride > bytes:
		whole = 0 // gaps must not be written
	case bytes < 8:
		whole = max(n*bytes-8+bytes, 0) / bytes
	}
	signs, above := uint64(0), 8*e-d.from-d.width
	if d.signed {
		signs = m.fields &^ (m.fields >> 1)
	}
	for i := range whole {
		group := unsafe.Add(data, i*stride)
		word := loadElement(unsafe.Add(src, i*w), w)
		at := m.first
		for off := 0; ; off += 8 {
			if off >= m.last {
				off, at = m.last, m.end
			}
			x := word >> (at & 63) << (m.unused & 63)
			if e <= 4 {
				x = x&m.low[2] | x&m.high[2]<<(m.down[2]&63)
			}
			if e <= 2 {
				x = x&m.low[1] | x&m.high[1]<<(m.down[1]&63)
			}
			if e == 1 {
				x = x&m.low[0] | x&m.high[0]<<(m.down[0]&63)
			}
			x &= m.fields
			x = (x + extension(x&signs, above)) << (d.from & 63)
			if m.flip {
				x = reverseElements(x, e)
			}
			putNativeEight(unsafe.Add(group, off), x)
			if off == m.last {
				break
			}
			at += m.step
		}
	}
	for i := whole; i < n; i++ {
		group, word := unsafe.Add(data, i*stride), loadElement(unsafe.Add(src, i*w), w)
		for j := range d.count {
			x := word >> (d.place(j, 1) & 63) & low(uint32(d.width))
			if d.signed {
				x |= -(x >> (d.width - 1)) << (d.width & 63)
			}
			storeElement(unsafe.Add(group, j*e), e, x<<(d.from&63))
		}
	}
}

// extension returns ones in the above bits over each of the given bits. Twice the
// difference between the highest of those ones and the bit is all of them.
func extension(signs uint64, above int) uint64 { return 2 * (signs<<(above&63) - signs) }

// merges say how the fields in 8 bytes of a group close up. Merge 0 is of parts of 8 bits, merge 1 of parts of 16
// bits, and merge 2 of parts of 32 bits. Of each two parts, the lower one keeps its bits low, and the higher one
// moves down to the bits high.
type merges struct {
	low, high   [3]uint64
	down        [3]int
	fields      uint64 // ones at the fields of 8 bytes that were shifted right by d.from
	flip        bool   // the elements of a load must be reversed for the fields to have their order
	last        int    // where the last 8 bytes of a group start
	first, step int    // where in a word the first field of 8 bytes is, and how far it is to that of the next 8 bytes
	end         int    // where that of the last 8 bytes is
	unused      int    // bits below the fields of a group that has less than 8 bytes
}

func (d dense) merges(e int) merges {
	several := min(8/e, d.count) // the elements in 8 bytes
	m := merges{
		fields: d.fields(e), flip: d.reversed != bigEndian, last: max(d.count*e-8, 0),
		first: d.place(0, several), step: several * d.width, end: d.place(d.count-several, several),
	}
	if d.reversed {
		m.step, m.unused = -m.step, (8/e-several)*d.width
	} else if several < 8/e {
		m.fields &= low(uint32(8 * e * several))
	}
	for k, part, width := 0, 8, d.width; part < 64; k, part = k+1, 2*part {
		if part < 8*e {
			continue
		}
		m.low[k] = low(uint32(width)) * everyBits(2*part)
		m.high[k], m.down[k] = m.low[k]<<width, part-width
		width *= 2
	}
	return m
}

// fields returns ones at the fields of the elements in 8 bytes that were shifted right
// by d.from.
func (d dense) fields(e int) uint64 { return low(uint32(d.width)) * everyBits(8*e) }

// reverseElements reverses the order of the elements of e bytes in x.
func reverseElements(x uint64, e int) uint64 {
	switch e {
	case 1:
		return bits.ReverseBytes64(x)
	case 2:
		const each = 0x0000ffff_0000ffff
		return bits.RotateLeft64(x&each<<16|x>>16&each, 32)
	case 4:
		return bits.RotateLeft64(x, 32)
	}
	return x
}

// everyBits returns a word with the first of every n bits set. n is a power of two
// from 8 to 64.
func everyBits(n int) uint64 {
	switch n {
	case 8:
		return eachByte
	case 16:
		return 0x0001000100010001
	case 32:
		return 0x0000000100000001
	}
	return 1
}

// place returns where in a word the fields of count elements from the j-th on begin.
func (d dense) place(j, count int) int {
	if d.reversed {
		return d.pos + (d.count-j-count)*d.width
	}
	return d.pos + j*d.width
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// nativeEight returns the 8 bytes at p as a load of them returns them, whatever the address.
func nativeEight(p unsafe.Pointer) uint64 {
	if anyAlignment {
		return *(*uint64)(p)
	}
	return binary.NativeEndian.Uint64((*[8]byte)(p)[:])
}

func putNativeEight(p unsafe.Pointer, x uint64) {
	if anyAlignment {
		*(*uint64)(p) = x
		return
	}
	binary.NativeEndian.PutUint64((*[8]byte)(p)[:], x)
}

func loadElement(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func storeElement(p unsafe.Pointer, size int, x uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(x)
	case 2:
		*(*uint16)(p) = uint16(x)
	case 4:
		*(*uint32)(p) = uint32(x)
	default:
		*(*uint64)(p) = x
	}
}
