//go:build (amd64 || arm64) && gc && !purego && !noasm && !appengine

package bfi

import "unsafe"

// ones reports whether the groups are one bit of each byte, and fill their words.
func (d *dense) ones(w, e, stride int) bool {
	return d.width == 1 && e == 1 && d.count == 8*w && stride == d.count && (!d.reversed || w == 1)
}

// oneValue returns what scatterBits makes of a set bit, in each byte.
func (d *dense) oneValue() uint64 {
	if d.signed {
		return eachByte * uint64(uint8(0xff<<d.from))
	}
	return eachByte << d.from
}

// parts reports whether the words are bytes of 2 fields of 4 bits or of 4 fields of 2
// bits, and are many. Then Pack's kernels are faster than PEXT and PDEP: they take the
// elements of a byte as one wider element.
func (d *dense) parts(w, n, e, stride int) bool {
	return (d.width == 4 || d.width == 2) && e == 1 && d.pos == 0 && d.count*d.width == 8*w && stride == d.count &&
		(!d.reversed || w == 1) && n*w >= 64
}

// part returns where in a byte the field of its j-th element is.
func (d *dense) part(j int) uint32 {
	return uint32(d.order(j) * d.width)
}

// order returns how many of a group's fields are below the field of its j-th element.
func (d *dense) order(j int) int {
	if d.reversed {
		return d.count - 1 - j
	}
	return j
}

// packs calls Pack's kernels for gatherBits, if they are the best for the fields.
func (d *dense) packs(dst unsafe.Pointer, w, n int, data unsafe.Pointer, e, stride int) bool {
	if !d.parts(w, n, e, stride) {
		return false
	}
	if d.width == 4 {
		gatherParts[uint16](dst, data, n*w, d)
	} else {
		gatherParts[uint32](dst, data, n*w, d)
	}
	return true
}

// unpacks calls Pack's kernels for scatterBits, if they are the best for the fields.
func (d *dense) unpacks(data unsafe.Pointer, e, stride int, src unsafe.Pointer, w, n int) bool {
	if d.signed || !d.parts(w, n, e, stride) {
		return false
	}
	if d.width == 4 {
		scatterParts[uint16](data, src, n*w, d)
	} else {
		scatterParts[uint32](data, src, n*w, d)
	}
	return true
}

// gatherParts makes n bytes from elements of type E. Each E has the elements of one byte.
func gatherParts[E uint16 | uint32](dst, data unsafe.Pointer, n int, d *dense) {
	var array [4]Field
	fields := array[:8/d.width]
	column := slice[E](noescape(data), n)
	for j := range fields {
		fields[j] = Column(column, d.part(j), uint32(d.width)).From(uint32(8*j + d.from))
	}
	packParts[uint8](dst, n, fields, int(unsafe.Sizeof(E(0))))
}

// scatterParts does the reverse.
func scatterParts[E uint16 | uint32](data, src unsafe.Pointer, n int, d *dense) {
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

func truth(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
