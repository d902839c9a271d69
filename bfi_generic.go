package bfi

import "unsafe"

// The portable kernels: what runs where there is no assembly, and what assembly
// is compared with. They are compiled everywhere.

// bfi is PTX bfi. T's sign plays no part in it.
func bfi[T Word](a, b T, c, d uint32) T {
	pos, width := c&0xff, d&0xff
	mask := ^(^T(0) << width) << pos
	return b ^ (b^a<<pos)&mask
}

// bfe is PTX bfe, signed or unsigned by T.
func bfe[T Word](a T, c, d uint32) T {
	pos, width := c&0xff, d&0xff
	if width == 0 {
		return 0
	}
	// Shift out what lies above the field, then what lies below it, which
	// extends it by T's sign. A field past the last bit is all sign.
	bits := uint32(8 * unsafe.Sizeof(a))
	above := bits - min(pos+width, bits)
	return a << above >> (above + pos)
}

func insertGeneric[T Word](dst, src, base []T, pos, width uint32) {
	pos &= 0xff
	mask := bfi(^T(0), 0, pos, width)
	src, base = src[:len(dst)], base[:len(dst)]
	for i := range dst {
		dst[i] = base[i] ^ (base[i]^src[i]<<pos)&mask
	}
}

func insertEachGeneric[T Word](dst, src, base []T, pos, width []uint32) {
	src, base, pos, width = src[:len(dst)], base[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = bfi(src[i], base[i], pos[i], width[i])
	}
}

func fillGeneric[T Word](dst, base []T, value T, pos, width uint32) {
	field := bfi(value, 0, pos, width)
	mask := bfi(^T(0), 0, pos, width)
	base = base[:len(dst)]
	for i := range dst {
		dst[i] = base[i]&^mask | field
	}
}

func selectBitsGeneric[T Word](dst, mask, src, base []T) {
	mask, src, base = mask[:len(dst)], src[:len(dst)], base[:len(dst)]
	for i := range dst {
		dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
	}
}

func extractGeneric[T Word](dst, src []T, pos, width uint32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = bfe(src[i], pos, width)
	}
}

func extractEachGeneric[T Word](dst, src []T, pos, width []uint32) {
	src, pos, width = src[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = bfe(src[i], pos[i], width[i])
	}
}

func packGeneric[T Word](dst, base []T, cols []column, lo, hi int) {
	for i := lo; i < hi; i++ {
		var word T
		if base != nil {
			word = base[i]
		}
		for k := range cols {
			c := &cols[k]
			word ^= (word ^ *lane[T](c, i)<<c.pos) & T(c.mask)
		}
		dst[i] = word
	}
}

// lane is lane i of a column of T.
func lane[T Word](c *column, i int) *T {
	return (*T)(unsafe.Add(c.data, uintptr(i)*unsafe.Sizeof(T(0))))
}

func insertWarpGeneric[T Word](dst, src, base *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	for i := range dst {
		if active>>i&1 != 0 {
			dst[i] = bfi(src[i], base[i], pos[i], width[i])
		}
	}
}

func selectWarpGeneric[T Word](dst, mask, src, base *[WarpSize]T, active uint32) {
	for i := range dst {
		if active>>i&1 != 0 {
			dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
		}
	}
}

func extractWarpGeneric[T Word](dst, src *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	for i := range dst {
		if active>>i&1 != 0 {
			dst[i] = bfe(src[i], pos[i], width[i])
		}
	}
}
