package bfi

import (
	"math/bits"
	"unsafe"
)

// The portable kernels: what runs where there is no assembly, and what assembly
// is compared with. They are compiled everywhere.

// bitsOf is the width of a word.
func bitsOf[T Word]() uint32 { return uint32(8 * unsafe.Sizeof(T(0))) }

// low is a word whose lowest n bits are ones.
func low(n uint32) uint64 { return 1<<n - 1 }

// replicate is v in each lane of its width. The division is by a constant.
func replicate[T Word](v T) uint64 {
	lane := ^uint64(0) >> (64 - bitsOf[T]())
	return uint64(v) & lane * (^uint64(0) / lane)
}

// fieldBits has ones in a field.
func fieldBits(pos, width uint32) uint64 { return (1<<uint8(width) - 1) << uint8(pos) }

// fieldMask has ones in a field of a word.
func fieldMask[T Word](pos, width uint32) T {
	return ^(^T(0) << (width & 0xff)) << (pos & 0xff)
}

// extraction is what an extract kernel needs to know: by how far to move words to
// the right, the field's ones after that, and its sign.
func extraction[T Word](pos, width uint32) (shift uint32, mask, sign T) {
	pos, width = pos&0xff, width&0xff
	signed := ^T(0) < 0
	if signed {
		// Past the word's last bit all is sign.
		pos = min(pos, bitsOf[T]()-1)
	}
	mask = T(low(width) & (low(bitsOf[T]()) >> pos))
	if signed {
		sign = mask &^ (mask >> 1)
	}
	return pos, mask, sign
}

func insertGeneric[T Word](dst, src, base []T, pos uint32, mask T) {
	src, base = src[:len(dst)], base[:len(dst)]
	// A pos past the word's end has an empty mask: what it is does not matter.
	pos %= 64
	for i := range dst {
		dst[i] = base[i] ^ (base[i]^T(uint64(src[i])<<pos))&mask
	}
}

func insertEachGeneric[T Word](dst, src, base []T, pos, width []uint32) {
	src, base, pos, width = src[:len(dst)], base[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = Bfi(src[i], base[i], pos[i], width[i])
	}
}

// fillGeneric gets the value in its place, and nothing else.
func fillGeneric[T Word](dst, base []T, value, mask T) {
	base = base[:len(dst)]
	for i := range dst {
		dst[i] = base[i]&^mask | value
	}
}

func selectBitsGeneric[T Word](dst, mask, src, base []T) {
	mask, src, base = mask[:len(dst)], src[:len(dst)], base[:len(dst)]
	for i := range dst {
		dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
	}
}

func extractEachGeneric[T Word](dst, src []T, pos, width []uint32) {
	src, pos, width = src[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = Bfe(src[i], pos[i], width[i])
	}
}

func extractGeneric[T Word](dst, src []T, pos uint32, mask, sign T) {
	src = src[:len(dst)]
	pos %= 64 // as where fields are inserted
	for i := range dst {
		dst[i] = T(uint64(src[i])>>pos)&mask ^ sign - sign
	}
}

func insertMaskedGeneric[T Word, M Mask](dst, src, base []T, active []M, pos uint32, mask T) {
	for i := range lanes(active, len(dst)) {
		dst[i] = base[i] ^ (base[i]^T(uint64(src[i])<<(pos%64)))&mask
	}
}

func insertEachMaskedGeneric[T Word, M Mask](dst, src, base []T, pos, width []uint32, active []M) {
	for i := range lanes(active, len(dst)) {
		dst[i] = Bfi(src[i], base[i], pos[i], width[i])
	}
}

func fillMaskedGeneric[T Word, M Mask](dst, base []T, active []M, value, mask T) {
	for i := range lanes(active, len(dst)) {
		dst[i] = base[i]&^mask | value
	}
}

func selectMaskedGeneric[T Word, M Mask](dst, mask, src, base []T, active []M) {
	for i := range lanes(active, len(dst)) {
		dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
	}
}

func extractMaskedGeneric[T Word, M Mask](dst, src []T, active []M, pos uint32, mask, sign T) {
	for i := range lanes(active, len(dst)) {
		dst[i] = T(uint64(src[i])>>(pos%64))&mask ^ sign - sign
	}
}

func extractEachMaskedGeneric[T Word, M Mask](dst, src []T, pos, width []uint32, active []M) {
	for i := range lanes(active, len(dst)) {
		dst[i] = Bfe(src[i], pos[i], width[i])
	}
}

// maskBits is how many lanes an element of a mask has.
func maskBits[M Mask]() int { return 8 * int(unsafe.Sizeof(M(0))) }

// lanes yields the active lanes among the first n.
func lanes[M Mask](active []M, n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k, m := range active {
			for rest := uint64(m); rest != 0; rest &= rest - 1 {
				i := k*maskBits[M]() + bits.TrailingZeros64(rest)
				if i >= n || !yield(i) {
					return
				}
			}
		}
	}
}

// lastBits is the part of a mask for the lanes after the last 64 that are whole.
func lastBits[M Mask](active []M, n int) uint64 {
	var last uint64
	for k, m := range active[n/64*64/maskBits[M]():] {
		last |= uint64(m) << (k * maskBits[M]())
	}
	return last
}

func packGeneric[T Word](dst, base unsafe.Pointer, fields []Field, lo, hi int, keep, value uint64) {
	words := lanesOf[T](dst, lo, hi-lo)
	for k := range fields {
		if fields[k].data == dst {
			// The column must be read before dst is written.
			var tile [64]T
			for ; len(words) > 0; lo += len(tile) {
				some := tile[:min(len(tile), len(words))]
				packWords(some, base, fields, lo, keep, value)
				words = words[copy(words, some):]
			}
			return
		}
	}
	packWords(words, base, fields, lo, keep, value)
}

// packWords packs words, of which the first is for lane lo.
func packWords[T Word](words []T, base unsafe.Pointer, fields []Field, lo int, keep, value uint64) {
	switch {
	case base != nil:
		for i, b := range lanesOf[T](base, lo, len(words)) {
			words[i] = b&T(keep) | T(value)
		}
	case value != 0:
		for i := range words {
			words[i] = T(value)
		}
	default:
		clear(words)
	}
	for k := 0; k < len(fields); k++ {
		// Two columns at a time spare every other pass over the words.
		f := &fields[k]
		var g *Field
		kind := f.form.kind()
		if k+1 < len(fields) && fields[k+1].form.kind() == kind && kind < signKind {
			g = &fields[k+1]
			k++
		}
		switch kind {
		case 0:
			addColumns[T, uint8](words, f, g, lo)
		case 1:
			addColumns[T, uint16](words, f, g, lo)
		case 2:
			addColumns[T, uint32](words, f, g, lo)
		case 3:
			addColumns[T, uint64](words, f, g, lo)
		case 0 | signKind:
			addSigns[T, int8](words, f, lo)
		case 1 | signKind:
			addSigns[T, int16](words, f, lo)
		case 2 | signKind:
			addSigns[T, int32](words, f, lo)
		case 3 | signKind:
			addSigns[T, int64](words, f, lo)
		}
	}
}

// Inlined, the loops of these would run out of registers.

//go:noinline
func addColumns[T, E Word](words []T, f, g *Field, lo int) {
	first, fShift, fMask := lanesOf[E](f.data, lo, len(words)), f.form.shift(), f.mask
	if g == nil {
		for i := range words {
			words[i] |= T(bits.RotateLeft64(uint64(first[i]), fShift) & fMask)
		}
		return
	}
	second, gShift, gMask := lanesOf[E](g.data, lo, len(words)), g.form.shift(), g.mask
	for i := range words {
		words[i] |= T(bits.RotateLeft64(uint64(first[i]), fShift)&fMask | bits.RotateLeft64(uint64(second[i]), gShift)&gMask)
	}
}

//go:noinline
func addSigns[T, E Word](words []T, f *Field, lo int) {
	first, mask := lanesOf[E](f.data, lo, len(words)), f.mask
	for i := range words {
		words[i] |= T(uint64(int64(first[i])>>63) & mask)
	}
}

// lanesOf is lanes lo to lo+n of a slice.
func lanesOf[T Word](p unsafe.Pointer, lo, n int) []T {
	return slice[T](unsafe.Add(p, lo*int(unsafe.Sizeof(T(0)))), n)
}

func unpackGeneric[T Word](src unsafe.Pointer, fields []Field, lo, hi int) {
	words := lanesOf[T](src, lo, hi-lo)
	for k := 0; k < len(fields); k++ {
		f := &fields[k]
		var g *Field
		if k+1 < len(fields) && fields[k+1].form.kind() == f.form.kind() {
			g = &fields[k+1]
			k++
		}
		switch f.form.kind() {
		case 0:
			putColumns[uint8](words, f, g, lo)
		case 1:
			putColumns[uint16](words, f, g, lo)
		case 2:
			putColumns[uint32](words, f, g, lo)
		case 3:
			putColumns[uint64](words, f, g, lo)
		}
	}
}

//go:noinline
func putColumns[E, T Word](words []T, f, g *Field, lo int) {
	first := lanesOf[E](f.data, lo, len(words))
	fShift, fMask, fSign := -f.form.shift(), f.mask, f.sign()
	if g == nil {
		for i, word := range words {
			first[i] = E(bits.RotateLeft64(uint64(word)&fMask, fShift) ^ fSign - fSign)
		}
		return
	}
	second := lanesOf[E](g.data, lo, len(words))
	gShift, gMask, gSign := -g.form.shift(), g.mask, g.sign()
	for i, word := range words {
		first[i] = E(bits.RotateLeft64(uint64(word)&fMask, fShift) ^ fSign - fSign)
		second[i] = E(bits.RotateLeft64(uint64(word)&gMask, gShift) ^ gSign - gSign)
	}
}

// sign is the highest bit of the field, where Unpack puts it, or 0 if it is
// unsigned.
func (f *Field) sign() uint64 {
	if f.form&signedForm == 0 {
		return 0
	}
	return bits.RotateLeft64(f.mask&^(f.mask>>1), -f.form.shift())
}

// The warp kernels hold their results until all operands are read.

func insertWarpGeneric[T Register](dst, src, base *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	result := *dst
	for i := range result {
		if active>>i&1 != 0 {
			result[i] = Bfi(src[i], base[i], pos[i], width[i])
		}
	}
	*dst = result
}

func selectWarpGeneric[T Register](dst, mask, src, base *[WarpSize]T, active uint32) {
	result := *dst
	for i := range result {
		if active>>i&1 != 0 {
			result[i] = base[i] ^ (base[i]^src[i])&mask[i]
		}
	}
	*dst = result
}

func extractWarpGeneric[T Register](dst, src *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	result := *dst
	for i := range result {
		if active>>i&1 != 0 {
			result[i] = Bfe(src[i], pos[i], width[i])
		}
	}
	*dst = result
}

func slice[T Word](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// pieceLanes is how many lanes a piece has.
func pieceLanes[T Word]() int { return pieceBytes / int(unsafe.Sizeof(T(0))) }
