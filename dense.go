package bfi

import (
	"encoding/binary"
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
// The portable loops move 8 bytes of a group at a time. The fields in them close up
// in pairs, then in fours, then all eight.

func gatherBitsGeneric(dst unsafe.Pointer, w, n int, data unsafe.Pointer, e, stride int, d dense) {
	var array [3]merge
	merges, fields := d.merges(&array, e), d.fields(e)
	for i := range n {
		group := unsafe.Add(data, i*stride)
		var word uint64
		for j := 0; j < d.count; j += 8 / e {
			count := min(8/e, d.count-j)
			x := loadElements(unsafe.Add(group, j*e), e, count) >> (d.from & 63) & fields
			for _, m := range merges {
				x = x&m.low<<(m.up&63) | x>>(m.down&63)&m.high
			}
			at, unused := d.place(j, count, 8/e)
			word |= x >> (unused & 63) << (at & 63)
		}
		storeElement(unsafe.Add(dst, i*w), w, word)
	}
}

func scatterBitsGeneric(data unsafe.Pointer, e, stride int, src unsafe.Pointer, w, n int, d dense) {
	var array [3]merge
	merges, fields := d.merges(&array, e), d.fields(e)
	signs, above := uint64(0), 8*e-d.from-d.width
	if d.signed {
		signs = fields &^ (fields >> 1)
	}
	for i := range n {
		group := unsafe.Add(data, i*stride)
		word := loadElement(unsafe.Add(src, i*w), w)
		for j := 0; j < d.count; j += 8 / e {
			count := min(8/e, d.count-j)
			at, unused := d.place(j, count, 8/e)
			x := word >> (at & 63) << (unused & 63)
			for k := len(merges) - 1; k >= 0; k-- {
				m := merges[k]
				x = x>>(m.up&63)&m.low | x&m.high<<(m.down&63)
			}
			x &= fields
			x += extension(x&signs, above)
			storeElements(unsafe.Add(group, j*e), e, count, x<<(d.from&63))
		}
	}
}

// extension returns ones in the above bits over each of the given bits. Twice the
// difference between the highest of those ones and the bit is all of them.
func extension(signs uint64, above int) uint64 { return 2 * (signs<<(above&63) - signs) }

// A merge moves two parts of every 2*8*e, 4*8*e or 8*8*e bits next to each other. The
// lower part has the bits low and moves up. The higher part moves down to the bits
// high.
type merge struct {
	low, high uint64
	up, down  int
}

// merges returns the merges for 8 bytes, beginning with the narrowest parts.
// Afterwards the first element's field is lowest, or highest if d is reversed.
func (d dense) merges(array *[3]merge, e int) []merge {
	merges := array[:0]
	for part, width := 8*e, d.width; part < 64; part, width = 2*part, 2*width {
		m := merge{low: low(uint32(width)) * everyBits(2*part)}
		if d.reversed == bigEndian {
			m.high, m.down = m.low<<width, part-width
		} else {
			m.high, m.up, m.down = m.low, width, part
		}
		merges = append(merges, m)
	}
	return merges
}

// fields returns ones at the fields of the elements in 8 bytes that were shifted right
// by d.from.
func (d dense) fields(e int) uint64 { return low(uint32(d.width)) * everyBits(8*e) }

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
// If elements are missing, their fields are the highest, or the lowest if d is
// reversed.
func (d dense) place(j, count, several int) (at, unused int) {
	if d.reversed {
		return d.pos + (d.count-j-count)*d.width, (several - count) * d.width
	}
	return d.pos + j*d.width, 0
}

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// loadElements returns count adjacent elements of e bytes as a load of 8 bytes would
// return them. It reads the elements only.
func loadElements(p unsafe.Pointer, e, count int) uint64 {
	if count*e == 8 {
		return binary.NativeEndian.Uint64((*[8]byte)(p)[:])
	}
	var x uint64
	for j := range count {
		x |= loadElement(unsafe.Add(p, j*e), e) << elementShift(e, j)
	}
	return x
}

func storeElements(p unsafe.Pointer, e, count int, x uint64) {
	if count*e == 8 {
		binary.NativeEndian.PutUint64((*[8]byte)(p)[:], x)
		return
	}
	for j := range count {
		storeElement(unsafe.Add(p, j*e), e, x>>elementShift(e, j))
	}
}

// elementShift returns where the j-th element in 8 bytes of memory is in a word.
func elementShift(e, j int) int {
	if bigEndian {
		j = 8/e - 1 - j
	}
	return 8 * e * j & 63
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
