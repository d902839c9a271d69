//go:build amd64 && gc && !purego && !noasm && !appengine

package bfi

import "unsafe"

// The kernels of dense fields take the groups, the words, their number and:
//
//	exact     how many of the last words must not be accessed as 8 bytes
//	w         the bytes of a word
//	bytes     the bytes of a group
//	stride    the bytes from one group to the next
//	fields    the bits of fields in 8 bytes of a group
//	last      the same in the odd chunk, which ends where the group ends
//	step      the bits of a word that 8 bytes of a group make
//	pos       where in the word these bits begin
//	lastPos   where the bits of the odd chunk begin
//	signs     the highest bit of each field, if fields are signed
//	above     times a bit of signs, it is all bits above the field
//	reversed  1 if the first element has the highest field, else 0
//
// Kernels of single bits take n bytes of words and bytes of groups. They also take bit
// or ones, the bits of a byte of a group.

// gatherBitsKernel calls a kernel for gatherBits, if there is one.
func gatherBitsKernel(dst unsafe.Pointer, w, n int, data unsafe.Pointer, e, stride int, d dense) bool {
	if d.ones(w, e, stride) {
		bit, reversed := uint64(eachByte)<<d.from, truth(d.reversed)
		for i := 0; i < n*w; i += pieceBytes / 8 {
			m := uint64(min(pieceBytes/8, n*w-i))
			if current == levelAVX512 {
				gatherOnesAVX512(unsafe.Add(dst, i), unsafe.Add(data, 8*i), m, bit, reversed)
			} else {
				gatherOnesAVX2(unsafe.Add(dst, i), unsafe.Add(data, 8*i), m, bit, reversed)
			}
		}
		return true
	}
	if d.packs(dst, w, n, data, e, stride) {
		return true
	}
	if !fastPEXT || d.reversed && e != 1 {
		return false
	}
	bytes := d.count * e
	fields := d.fields(e) << d.from
	last := d.lastFields(fields, bytes)
	if missing := -bytes & 7; bytes > 8 {
		last = fields << (8 * missing) // the chunk before has the rest
	}
	piece := pieceWords(n, max(bytes, w))
	for n > 0 {
		m := min(n, piece)
		gatherBitsBMI2(dst, data, uint64(m), uint64(d.exact(w, m, bytes, stride)), uint64(w), uint64(bytes), uint64(stride),
			fields, last, uint64(8/e*d.width), uint64(d.pos), truth(d.reversed))
		if n -= m; n > 0 {
			dst, data = unsafe.Add(dst, m*w), unsafe.Add(data, m*stride)
		}
	}
	return true
}

// scatterBitsKernel calls a kernel for scatterBits, if there is one.
func scatterBitsKernel(data unsafe.Pointer, e, stride int, src unsafe.Pointer, w, n int, d dense) bool {
	if d.ones(w, e, stride) {
		ones, reversed := d.oneValue(), truth(d.reversed)
		for i := 0; i < n*w; i += pieceBytes / 8 {
			m := uint64(min(pieceBytes/8, n*w-i))
			if current == levelAVX512 {
				scatterOnesAVX512(unsafe.Add(data, 8*i), unsafe.Add(src, i), m, ones, reversed)
			} else {
				scatterOnesAVX2(unsafe.Add(data, 8*i), unsafe.Add(src, i), m, ones, reversed)
			}
		}
		return true
	}
	if d.unpacks(data, e, stride, src, w, n) {
		return true
	}
	if !fastPEXT || d.reversed && e != 1 {
		return false
	}
	bytes := d.count * e
	fields := d.fields(e) << d.from
	lastPos := d.pos
	if bytes > 8 {
		lastPos += (d.count - 8/e) * d.width
	}
	var signs uint64
	if d.signed && d.from+d.width < 8*e {
		signs = fields &^ (fields >> 1)
	}
	above := uint64(2)<<(8*e-d.from-d.width) - 2
	piece := pieceWords(n, max(bytes, w))
	for n > 0 {
		m := min(n, piece)
		exact := m // do not write between groups
		if bytes >= 8 || bytes == stride {
			exact = d.exact(w, m, bytes, stride)
		}
		scatterBitsBMI2(data, src, uint64(m), uint64(exact), uint64(w), uint64(bytes), uint64(stride),
			fields, d.lastFields(fields, bytes), uint64(8/e*d.width), uint64(d.pos), uint64(lastPos), signs, above, truth(d.reversed))
		if n -= m; n > 0 {
			data, src = unsafe.Add(data, m*stride), unsafe.Add(src, m*w)
		}
	}
	return true
}

// pieceWords returns how many of n words are a piece if a word and its group have at most
// that many bytes each. Most calls do without the division.
func pieceWords(n, bytes int) int {
	if n*bytes <= pieceBytes {
		return n
	}
	return max(pieceBytes/bytes, 1)
}

// exact returns how many of the last words, or of their groups, must not be accessed as
// 8 bytes, because the memory may end sooner.
func (d dense) exact(w, n, bytes, stride int) int {
	exact := 8/w - 1
	switch missing := 8 - bytes; {
	case missing > stride:
		exact = max(exact, (missing+stride-1)/stride)
	case missing > 0:
		exact = max(exact, 1)
	}
	return min(exact, n)
}

// lastFields returns the fields of the odd chunk. If the chunk has less than 8 bytes, these
// are the lowest bytes, or the highest if the chunk is mirrored.
func (d dense) lastFields(fields uint64, bytes int) uint64 {
	switch {
	case bytes >= 8:
		return fields
	case d.reversed:
		return fields << (64 - 8*bytes)
	}
	return fields & low(uint32(8*bytes))
}
