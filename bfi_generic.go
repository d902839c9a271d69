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

// everyLane has a one in each lane of so many bytes: a factor that repeats a lane
// in all 64 bits.
var everyLane = [9]uint64{1: 0x0101010101010101, 2: 0x0001000100010001, 4: 0x0000000100000001, 8: 1}

// replicate is v in each lane of its width. The division is by a constant.
func replicate[T Word](v T) uint64 {
	lane := ^uint64(0) >> (64 - bitsOf[T]())
	return uint64(v) & lane * (^uint64(0) / lane)
}

// fieldBits has ones in a field.
func fieldBits(pos, width uint32) uint64 { return (1<<(width&0xff) - 1) << (pos & 0xff) }

// fieldMask has ones in a field of a word.
func fieldMask[T Word](pos, width uint32) T {
	return ^(^T(0) << (width & 0xff)) << (pos & 0xff)
}

// extraction is what an extract kernel needs to know: by how far to move words to
// the left, which is to the right if negative, the field's ones after that, and
// its sign.
func extraction[T Word](pos, width uint32) (shift int64, mask, sign T) {
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
	return -int64(pos), mask, sign
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

func extractGeneric[T Word](dst, src []T, shift int64, mask, sign T) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = T(moved(src[i], shift))&mask ^ sign - sign
	}
}

// moved is an element moved left, or right where shift is negative. What is moved
// out comes in at the other end, where masks leave it out.
func moved[T Word](x T, shift int64) uint64 {
	return bits.RotateLeft64(uint64(x), int(shift))
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

func extractMaskedGeneric[T Word, M Mask](dst, src []T, active []M, shift int64, mask, sign T) {
	for i := range lanes(active, len(dst)) {
		dst[i] = T(moved(src[i], shift))&mask ^ sign - sign
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

func packGeneric[T Word](dst, base []T, parts []part, lo, hi int, keep, value uint64) {
	var tile [64]uint64
	for ; lo < hi; lo += len(tile) {
		words := tile[:min(len(tile), hi-lo)]
		for i := range words {
			words[i] = value
		}
		if base != nil {
			for i, b := range base[lo:][:len(words)] {
				words[i] |= uint64(b) & keep
			}
		}
		for k := 0; k < len(parts); k++ {
			// Two columns at a time spare every other pass over the words.
			p := &parts[k]
			q := &part{data: p.data}
			if k+1 < len(parts) && parts[k+1].kind == p.kind {
				q = &parts[k+1]
				k++
			}
			switch p.kind {
			case 0:
				addColumns[uint8](words, p, q, lo)
			case 1:
				addColumns[uint16](words, p, q, lo)
			case 2:
				addColumns[uint32](words, p, q, lo)
			case 3:
				addColumns[uint64](words, p, q, lo)
			case 0 | partSign:
				addSigns[int8](words, p, q, lo)
			case 1 | partSign:
				addSigns[int16](words, p, q, lo)
			case 2 | partSign:
				addSigns[int32](words, p, q, lo)
			case 3 | partSign:
				addSigns[int64](words, p, q, lo)
			}
		}
		packed := dst[lo:][:len(words)]
		for i := range packed {
			packed[i] = T(words[i])
		}
	}
}

// Inlined, the loops of these would run out of registers.

//go:noinline
func addColumns[E Word](words []uint64, p, q *part, lo int) {
	first, second := column[E](p, lo, len(words)), column[E](q, lo, len(words))
	pShift, pMask, qShift, qMask := p.shift, p.mask, q.shift, q.mask
	for i := range words {
		words[i] |= moved(first[i], pShift)&pMask | moved(second[i], qShift)&qMask
	}
}

//go:noinline
func addSigns[E Word](words []uint64, p, q *part, lo int) {
	first, second := column[E](p, lo, len(words)), column[E](q, lo, len(words))
	pMask, qMask := p.mask, q.mask
	for i := range words {
		words[i] |= uint64(int64(first[i])>>63)&pMask | uint64(int64(second[i])>>63)&qMask
	}
}

// column is lanes lo to lo+n of a column.
func column[E Word](p *part, lo, n int) []E { return slice[E](p.data, lo+n)[lo:][:n] }

func unpackGeneric[T Word](src []T, parts []part, i int) {
	for k := range parts {
		p := &parts[k]
		switch p.kind &^ partSign {
		case 0:
			putColumn[uint8](src, p, i)
		case 1:
			putColumn[uint16](src, p, i)
		case 2:
			putColumn[uint32](src, p, i)
		case 3:
			putColumn[uint64](src, p, i)
		}
	}
}

func putColumn[E, T Word](src []T, p *part, i int) {
	elements := column[E](p, i, len(src))
	shift, mask, sign := p.shift, p.mask, p.sign()
	for i, word := range src {
		elements[i] = E(moved(word, shift)&mask ^ sign - sign)
	}
}

// sign is the highest bit of the field in every lane, or 0 where it is unsigned or
// fills the lane.
func (p *part) sign() uint64 {
	if p.kind&partSign == 0 || p.mask == ^uint64(0) {
		return 0
	}
	return p.mask &^ (p.mask >> 1)
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
