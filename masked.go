package bfi

// Mask is the type of an active mask's elements. An active mask has one bit a
// lane: lane i is active if bit i%N of element i/N is set, where N is the
// element's size in bits. For n lanes the mask has n/N elements, rounded up, and
// bits past the last lane are ignored.
type Mask interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// InsertMasked does what [Insert] does in the active lanes of dst, and leaves the
// other lanes as they are.
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width under an active mask; see
// [Mask]. It keeps the slice contract in the package doc.
//
// The mask must not be longer than the lanes need. Arrow, for one, pads bitmaps to
// 64 bytes: cut such a bitmap of bytes with active[:(len(dst)+7)/8].
func InsertMasked[T Word, M Mask](dst, src, base []T, pos, width uint32, active []M) {
	if !(fits(dst, src) && fits(dst, base) && maskFits(dst, active)) {
		panic(maskMisfit("InsertMasked", active, operandOf("dst", dst), operandOf("src", src),
			operandOf("base", base)))
	}
	insertMasked(pointer(dst), pointer(src), pointer(base), active, len(dst), pos&0xff, fieldMask[T](pos, width), false)
}

// InsertEachMasked does what [InsertEach] does in the active lanes of dst, and
// leaves the other lanes as they are.
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width under an active mask, with
// every operand in a register. It keeps the slice contract.
func InsertEachMasked[T Word, M Mask](dst, src, base []T, pos, width []uint32, active []M) {
	if !(fits(dst, src) && fits(dst, base) && fits(dst, pos) && fits(dst, width) && maskFits(dst, active)) {
		panic(maskMisfit("InsertEachMasked", active, operandOf("dst", dst), operandOf("src", src),
			operandOf("base", base), operandOf("pos", pos), operandOf("width", width)))
	}
	insertEachMasked[T](pointer(dst), pointer(src), pointer(base), pointer(pos), pointer(width), active, len(dst), false)
}

// FillMasked does what [Fill] does in the active lanes of dst, and leaves the other
// lanes as they are.
//
// It is PTX bfi.b32 or bfi.b64 dst, value, base, pos, width under an active mask. It
// keeps the slice contract.
func FillMasked[T Word, M Mask](dst []T, value T, base []T, pos, width uint32, active []M) {
	if !(fits(dst, base) && maskFits(dst, active)) {
		panic(maskMisfit("FillMasked", active, operandOf("dst", dst), operandOf("base", base)))
	}
	fillMasked(pointer(dst), pointer(base), active, len(dst), Bfi(value, 0, pos, width), fieldMask[T](pos, width), false)
}

// SelectMasked does what [Select] does in the active lanes of dst, and leaves the
// other lanes as they are.
//
// It is AMD v_bfi_b32 dst, mask, src, base under an exec mask. It keeps the slice
// contract.
func SelectMasked[T Word, M Mask](dst, mask, src, base []T, active []M) {
	if !(fits(dst, mask) && fits(dst, src) && fits(dst, base) && maskFits(dst, active)) {
		panic(maskMisfit("SelectMasked", active, operandOf("dst", dst), operandOf("mask", mask),
			operandOf("src", src), operandOf("base", base)))
	}
	selectMasked[T](pointer(dst), pointer(mask), pointer(src), pointer(base), active, len(dst), false)
}

// ExtractMasked does what [Extract] does in the active lanes of dst, and leaves the
// other lanes as they are.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width under an active
// mask. It keeps the slice contract.
func ExtractMasked[T Word, M Mask](dst, src []T, pos, width uint32, active []M) {
	if !(fits(dst, src) && maskFits(dst, active)) {
		panic(maskMisfit("ExtractMasked", active, operandOf("dst", dst), operandOf("src", src)))
	}
	pos, mask, sign := extraction[T](pos, width)
	extractMasked(pointer(dst), pointer(src), active, len(dst), pos, mask, sign, false)
}

// ExtractEachMasked does what [ExtractEach] does in the active lanes of dst, and
// leaves the other lanes as they are.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width under an active
// mask, with every operand in a register. It keeps the slice contract.
func ExtractEachMasked[T Word, M Mask](dst, src []T, pos, width []uint32, active []M) {
	if !(fits(dst, src) && fits(dst, pos) && fits(dst, width) && maskFits(dst, active)) {
		panic(maskMisfit("ExtractEachMasked", active, operandOf("dst", dst), operandOf("src", src),
			operandOf("pos", pos), operandOf("width", width)))
	}
	extractEachMasked[T](pointer(dst), pointer(src), pointer(pos), pointer(width), active, len(dst), false)
}
