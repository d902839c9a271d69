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
	if d.parts(w, n, e, stride) {
		if d.width == 4 {
			gatherParts[uint16](dst, data, n*w, d)
		} else {
			gatherParts[uint32](dst, data, n*w, d)
		}
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
		ones, reversed := uint64(eachByte)<<d.from, truth(d.reversed)
		if d.signed {
			ones = eachByte * uint64(uint8(0xff<<d.from))
		}
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
	if !d.signed && d.parts(w, n, e, stride) {
		if d.width == 4 {
			scatterParts[uint16](data, src, n*w, d)
		} else {
			scatterParts[uint32](data, src, n*w, d)
		}
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

// ones reports whether the groups are one bit of each byte, and fill their words.
func (d dense) ones(w, e, stride int) bool {
	return d.width == 1 && e == 1 && d.count == 8*w && stride == d.count && (!d.reversed || w == 1)
}

// parts reports whether the words are bytes of 2 fields of 4 bits or of 4 fields of 2
// bits, and are many. Then Pack's kernels are faster than PEXT and PDEP: they take the
// elements of a byte as one wider element.
func (d dense) parts(w, n, e, stride int) bool {
	return (d.width == 4 || d.width == 2) && e == 1 && d.pos == 0 && d.count*d.width == 8*w && stride == d.count &&
		(!d.reversed || w == 1) && n*w >= 64
}

// part returns where in a byte the field of its j-th element is.
func (d dense) part(j int) uint32 {
	if d.reversed {
		j = d.count - 1 - j
	}
	return uint32(j * d.width)
}

// gatherParts makes n bytes from elements of type E. Each E has the elements of one byte.
func gatherParts[E uint16 | uint32](dst, data unsafe.Pointer, n int, d dense) {
	var array [4]Field
	fields := array[:8/d.width]
	column := slice[E](noescape(data), n)
	for j := range fields {
		fields[j] = Column(column, d.part(j), uint32(d.width)).From(uint32(8*j + d.from))
	}
	packParts[uint8](dst, n, fields, int(unsafe.Sizeof(E(0))))
}

// scatterParts does the reverse.
func scatterParts[E uint16 | uint32](data, src unsafe.Pointer, n int, d dense) {
	var array [4]Field
	fields := array[:8/d.width]
	column := slice[uint8](noescape(src), n)
	for j := range fields {
		fields[j] = Column(column, uint32(8*j+d.from), uint32(d.width)).From(d.part(j))
	}
	packParts[E](data, n, fields, int(unsafe.Sizeof(E(0))))
}

// packParts packs fields into lanes of that size, a piece at a time.
func packParts[T Word](dst unsafe.Pointer, n int, fields []Field, lane int) {
	piece := pieceBytes / lane / (len(fields) + 1) &^ 63
	for i := 0; i < n; i += piece {
		pack[T](dst, nil, fields, i, min(i+piece, n), lane, 0, 0, false)
	}
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

func truth(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
