package bfi

import (
	"math/bits"
	"runtime"
	"unsafe"
)

// The portable kernels run if there is no assembly. They are compiled and tested
// everywhere. A general register holds several narrow words, and one shift and one mask
// change all of them at once. So each kernel has two loops. The first loop takes a whole
// register at a time. The second loop takes the words that are left, and words that are
// wider than a register.

// anyAlignment reports whether the processor loads a register from any address. The
// compiler has the same list.
const anyAlignment = runtime.GOARCH == "amd64" || runtime.GOARCH == "386" || runtime.GOARCH == "arm64" ||
	runtime.GOARCH == "loong64" || runtime.GOARCH == "ppc64" || runtime.GOARCH == "ppc64le" ||
	runtime.GOARCH == "s390x" || runtime.GOARCH == "wasm"

// registerBytes is the size of a general register.
const registerBytes = unsafe.Sizeof(uint(0))

// register and inRegisters have no type parameter: a generic kernel would look up each
// generic function that it calls in its dictionary.

// register returns the register at i bytes from p.
func register(p unsafe.Pointer, i uintptr) *uint { return (*uint)(unsafe.Add(p, i)) }

// inRegisters returns how many bytes of n words of that size a kernel can process a
// register at a time. addresses are the operands' addresses ORed together. It returns 0
// if words are wider than registers, or if the processor cannot load a register from
// one of the addresses.
func inRegisters(n int, size, addresses uintptr) uintptr {
	if size > registerBytes || !anyAlignment && addresses%registerBytes != 0 {
		return 0
	}
	return uintptr(n) * size &^ (registerBytes - 1)
}

// bitsOf returns the width of a word.
func bitsOf[T Word]() uint32 { return uint32(8 * unsafe.Sizeof(T(0))) }

// low returns a word whose lowest n bits are ones.
func low(n uint32) uint64 { return 1<<n - 1 }

// replicate returns v in each lane of its width.
func replicate[T Word](v T) uint64 { return replicated(uint64(v), unsafe.Sizeof(v)) }

// replicated returns v in each lane of size bytes. The division is by a constant.
func replicated(v uint64, size uintptr) uint64 {
	lane := ^uint64(0) >> (64 - 8*size)
	return v & lane * (^uint64(0) / lane)
}

// fieldBits returns ones in a field of 64 bits.
func fieldBits(pos, width uint32) uint64 { return (1<<uint8(width) - 1) << uint8(pos) }

// fieldMask returns ones in a field of a word.
func fieldMask[T Word](pos, width uint32) T {
	return ^(^T(0) << (width & 0xff)) << (pos & 0xff)
}

// extraction returns what an extract kernel needs: the distance by which words move
// right, the field's ones after the move, and the field's top bit if T is signed.
func extraction[T Word](pos, width uint32) (shift uint32, mask, sign T) {
	pos, width = pos&0xff, width&0xff
	signed := ^T(0) < 0
	if signed {
		// If pos is past the word, every bit is the word's sign.
		pos = min(pos, bitsOf[T]()-1)
	}
	mask = T(low(width) & (low(bitsOf[T]()) >> pos))
	if signed {
		sign = mask &^ (mask >> 1)
	}
	return pos, mask, sign
}

// The kernels take slices and pass pointers on. Pointers fit into registers, and loops
// need not check them.

func insertGeneric[T Word](dst, src, base []T, pos uint32, mask T) {
	insertAt(pointer(dst), pointer(src), pointer(base), len(dst), pos, mask)
}

func insertAt[T Word](dst, src, base unsafe.Pointer, n int, pos uint32, mask T) {
	size := unsafe.Sizeof(T(0))
	i, packed, end := uintptr(0), inRegisters(n, size, uintptr(dst)|uintptr(src)|uintptr(base)), uintptr(n)*size
	// A multiplication by a power of two shifts in a third of the time that a shift by a
	// variable takes. If pos is past the word, the mask is empty and the factor does not matter.
	factor, masks := uint(1)<<(pos%64), uint(replicated(uint64(mask), size))
	for ; i < packed; i += registerBytes {
		b := *register(base, i)
		*register(dst, i) = b ^ (b^*register(src, i)*factor)&masks
	}
	for ; i < end; i += size {
		s, b := *(*T)(unsafe.Add(src, i)), *(*T)(unsafe.Add(base, i))
		*(*T)(unsafe.Add(dst, i)) = b ^ (b^s<<(pos%64))&mask
	}
}

func insertEachGeneric[T Word](dst, src, base []T, pos, width []uint32) {
	src, base, pos, width = src[:len(dst)], base[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = Bfi(src[i], base[i], pos[i], width[i])
	}
}

// fillGeneric takes a value that is in its place already and has no bits outside the mask.
func fillGeneric[T Word](dst, base []T, value, mask T) {
	fillAt(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(base)), len(dst), value, mask)
}

func fillAt[T Word](dst, base unsafe.Pointer, n int, value, mask T) {
	size := unsafe.Sizeof(T(0))
	i, packed, end := uintptr(0), inRegisters(n, size, uintptr(dst)|uintptr(base)), uintptr(n)*size
	values, keep := uint(replicated(uint64(value), size)), uint(replicated(uint64(^mask), size))
	for ; i < packed; i += registerBytes {
		*register(dst, i) = *register(base, i)&keep | values
	}
	for ; i < end; i += size {
		*(*T)(unsafe.Add(dst, i)) = *(*T)(unsafe.Add(base, i))&^mask | value
	}
}

func selectBitsGeneric[T Word](dst, mask, src, base []T) {
	selectAt(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(mask)),
		unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(base)), len(dst), unsafe.Sizeof(T(0)))
}

// selectAt does not need the words' type. It processes what is left byte by byte.
func selectAt(dst, mask, src, base unsafe.Pointer, n int, size uintptr) {
	i, end := uintptr(0), uintptr(n)*size
	packed := inRegisters(int(end), 1, uintptr(dst)|uintptr(mask)|uintptr(src)|uintptr(base))
	for ; i < packed; i += registerBytes {
		b := *register(base, i)
		*register(dst, i) = b ^ (b^*register(src, i))&*register(mask, i)
	}
	for ; i < end; i++ {
		b := *(*uint8)(unsafe.Add(base, i))
		*(*uint8)(unsafe.Add(dst, i)) = b ^ (b^*(*uint8)(unsafe.Add(src, i)))&*(*uint8)(unsafe.Add(mask, i))
	}
}

func extractEachGeneric[T Word](dst, src []T, pos, width []uint32) {
	src, pos, width = src[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = Bfe(src[i], pos[i], width[i])
	}
}

func extractGeneric[T Word](dst, src []T, pos uint32, mask, sign T) {
	extractAt(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), len(dst), pos, mask, sign)
}

func extractAt[T Word](dst, src unsafe.Pointer, n int, pos uint32, mask, sign T) {
	size := unsafe.Sizeof(T(0))
	i, packed, end := uintptr(0), inRegisters(n, size, uintptr(dst)|uintptr(src)), uintptr(n)*size
	// Go checks the count of a shift, but not that of a rotation. The mask clears the bits
	// that a rotation moves in from the other end.
	back, masks := -int(pos), uint(replicated(uint64(mask), size))
	if sign == 0 {
		for ; i < packed; i += registerBytes {
			*register(dst, i) = bits.RotateLeft(*register(src, i), back) & masks
		}
	} else {
		// The product of a word's sign and above is the bits above the field. The usual
		// subtraction of the sign would borrow from the next word.
		signs := uint(replicated(uint64(sign), size))
		above := uint(low(uint32(8*size)) &^ uint64(mask) >> bits.TrailingZeros64(uint64(sign)))
		for ; i < packed; i += registerBytes {
			field := bits.RotateLeft(*register(src, i), back) & masks
			*register(dst, i) = field | field&signs*above
		}
	}
	for ; i < end; i += size {
		s := *(*T)(unsafe.Add(src, i))
		*(*T)(unsafe.Add(dst, i)) = T(bits.RotateLeft64(uint64(s), back))&mask ^ sign - sign
	}
}

// Masked kernels visit the active lanes. If whole elements of the mask are ones, these
// runs of lanes go to the kernel without a mask.

func insertMaskedGeneric[T Word, M Mask](dst, src, base []T, active []M, pos uint32, mask T) {
	if hasRuns(active) {
		insertRuns(dst, src, base, active, pos, mask)
		return
	}
	for i := range lanes(active, len(dst)) {
		dst[i] = base[i] ^ (base[i]^T(uint64(src[i])<<(pos%64)))&mask
	}
}

func insertRuns[T Word, M Mask](dst, src, base []T, active []M, pos uint32, mask T) {
	for len(active) > 0 {
		k, n, full := run(active, len(dst))
		if full {
			insertGeneric(dst[:n], src[:n], base[:n], pos, mask)
		} else {
			insertMaskedGeneric(dst[:n], src[:n], base[:n], active[:k], pos, mask)
		}
		dst, src, base, active = dst[n:], src[n:], base[n:], active[k:]
	}
}

func insertEachMaskedGeneric[T Word, M Mask](dst, src, base []T, pos, width []uint32, active []M) {
	for i := range lanes(active, len(dst)) {
		dst[i] = Bfi(src[i], base[i], pos[i], width[i])
	}
}

func fillMaskedGeneric[T Word, M Mask](dst, base []T, active []M, value, mask T) {
	if hasRuns(active) {
		fillRuns(dst, base, active, value, mask)
		return
	}
	for i := range lanes(active, len(dst)) {
		dst[i] = base[i]&^mask | value
	}
}

func fillRuns[T Word, M Mask](dst, base []T, active []M, value, mask T) {
	for len(active) > 0 {
		k, n, full := run(active, len(dst))
		if full {
			fillGeneric(dst[:n], base[:n], value, mask)
		} else {
			fillMaskedGeneric(dst[:n], base[:n], active[:k], value, mask)
		}
		dst, base, active = dst[n:], base[n:], active[k:]
	}
}

func selectMaskedGeneric[T Word, M Mask](dst, mask, src, base []T, active []M) {
	if hasRuns(active) {
		selectRuns(dst, mask, src, base, active)
		return
	}
	for i := range lanes(active, len(dst)) {
		dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
	}
}

func selectRuns[T Word, M Mask](dst, mask, src, base []T, active []M) {
	for len(active) > 0 {
		k, n, full := run(active, len(dst))
		if full {
			selectBitsGeneric(dst[:n], mask[:n], src[:n], base[:n])
		} else {
			selectMaskedGeneric(dst[:n], mask[:n], src[:n], base[:n], active[:k])
		}
		dst, mask, src, base, active = dst[n:], mask[n:], src[n:], base[n:], active[k:]
	}
}

func extractMaskedGeneric[T Word, M Mask](dst, src []T, active []M, pos uint32, mask, sign T) {
	if hasRuns(active) {
		extractRuns(dst, src, active, pos, mask, sign)
		return
	}
	for i := range lanes(active, len(dst)) {
		dst[i] = T(uint64(src[i])>>(pos%64))&mask ^ sign - sign
	}
}

func extractRuns[T Word, M Mask](dst, src []T, active []M, pos uint32, mask, sign T) {
	for len(active) > 0 {
		k, n, full := run(active, len(dst))
		if full {
			extractGeneric(dst[:n], src[:n], pos, mask, sign)
		} else {
			extractMaskedGeneric(dst[:n], src[:n], active[:k], pos, mask, sign)
		}
		dst, src, active = dst[n:], src[n:], active[k:]
	}
}

func extractEachMaskedGeneric[T Word, M Mask](dst, src []T, pos, width []uint32, active []M) {
	for i := range lanes(active, len(dst)) {
		dst[i] = Bfe(src[i], pos[i], width[i])
	}
}

// maskBits returns how many lanes an element of a mask has.
func maskBits[M Mask]() int { return 8 * int(unsafe.Sizeof(M(0))) }

// lanes yields the active lanes among the first n. It looks at 8 elements at once, and
// passes over them if none of their lanes is active.
func lanes[M Mask](active []M, n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for first := 0; first < len(active); first += 8 {
			some := active[first:min(first+8, len(active))]
			if len(some) == 8 && some[0]|some[1]|some[2]|some[3]|some[4]|some[5]|some[6]|some[7] == 0 {
				continue
			}
			for k, m := range some {
				for rest := uint64(m); rest != 0; rest &= rest - 1 {
					i := (first+k)*maskBits[M]() + bits.TrailingZeros64(rest)
					if i >= n || !yield(i) {
						return
					}
				}
			}
		}
	}
}

// hasRuns guesses whether elements of the mask are all ones. It looks at only two of
// them, because looking at each would slow down masks with few active lanes.
func hasRuns[M Mask](active []M) bool {
	return len(active) > 0 && (active[0] == ^M(0) || active[len(active)/2] == ^M(0))
}

// run returns the length of the first run of mask elements that are all ones, or that
// are all not. It also returns how many of n lanes the run has.
func run[M Mask](active []M, n int) (elements, lanes int, full bool) {
	full = active[0] == ^M(0)
	for elements < len(active) && (active[elements] == ^M(0)) == full {
		elements++
	}
	return elements, min(elements*maskBits[M](), n), full
}

// lastBits returns the mask of the last n%64 lanes.
func lastBits[M Mask](active []M, n int) uint64 {
	var last uint64
	for k, m := range active[n/64*64/maskBits[M]():] {
		last |= uint64(m) << (k * maskBits[M]())
	}
	return last & low(uint32(n%64))
}

func packGeneric[T Word](dst, base unsafe.Pointer, fields []Field, lo, hi int, keep, value uint64) {
	words := lanesOf[T](dst, lo, hi-lo)
	for k := range fields {
		if fields[k].data == dst {
			// dst is also this column, so each tile is read whole before it is written.
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

// If there are at most fewWords words, looking for a faster loop does not pay.
const fewWords = 8

// packWords packs words. The first is for lane lo.
func packWords[T Word](words []T, base unsafe.Pointer, fields []Field, lo int, keep, value uint64) {
	if len(words) > fewWords {
		done := packFast(words, base, fields, lo, keep, value)
		words, lo = words[done:], lo+done
		if len(words) == 0 {
			return
		}
	}
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
		// Two columns at a time halve the passes over the words.
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

// If addColumns and addSigns were inlined, their loops would run out of registers.

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

// lanesOf returns the n lanes of a slice from lane lo on.
func lanesOf[T Word](p unsafe.Pointer, lo, n int) []T {
	return slice[T](unsafe.Add(p, lo*int(unsafe.Sizeof(T(0)))), n)
}

func unpackGeneric[T Word](src unsafe.Pointer, fields []Field, lo, hi int) {
	words := lanesOf[T](src, lo, hi-lo)
	if len(words) > fewWords {
		done := unpackFast(words, fields, lo)
		words, lo = words[done:], lo+done
	}
	for k := 0; k < len(fields) && len(words) > 0; k++ {
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

// sign returns the field's top bit at its place in an element of Unpack. It returns 0 if
// the elements are unsigned.
func (f *Field) sign() uint64 {
	if f.form&signedForm == 0 {
		return 0
	}
	return bits.RotateLeft64(f.mask&^(f.mask>>1), -f.form.shift())
}

// The warp kernels keep their results in a local array until all operands are read,
// because dst may be any of these.

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

// pieceLanes returns how many lanes a piece has.
func pieceLanes[T Word]() int { return pieceBytes / int(unsafe.Sizeof(T(0))) }
