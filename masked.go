package bfi

// Mask is an element of an active mask: one bit a lane, lane i's being bit i%N of
// element i/N, where N is the element's size in bits.
type Mask interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// InsertMasked is [Insert] in active lanes: where lane i's bit of active is set,
// dst[i] is base[i] with the low width bits of src[i] at pos; elsewhere dst[i]
// keeps its value.
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width, by T, under an active
// mask, and the same rule for shorter words. src and base have dst's length, and
// active has one bit for each lane, rounded up to whole elements, of which the
// bits past the last lane are ignored. dst may be src or base exactly, or not
// overlap it; it may not overlap active. InsertMasked panics before it writes
// anything if it is given something else.
//
// The processor may write to inactive lanes what they held: calls at the same
// time need a dst each, even if their masks have no lane in common.
//
// Source: PTX ISA, bfi.
func InsertMasked[T Word, M Mask](dst, src, base []T, pos, width uint32, active []M) {
	if !(fits(dst, src) && fits(dst, base) && maskFits(dst, active)) {
		panic(maskMisfit("InsertMasked", active, operandOf("dst", dst), operandOf("src", src), operandOf("base", base)))
	}
	insertMasked(pointer(dst), pointer(src), pointer(base), active, len(dst), pos&0xff, fieldMask[T](pos, width))
}

// InsertEachMasked is [InsertEach] in active lanes: where lane i's bit of active
// is set, dst[i] is base[i] with the low width[i] bits of src[i] at pos[i];
// elsewhere dst[i] keeps its value.
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width, by T, with every
// operand a register of each lane, under an active mask, and the same rule for
// shorter words. Lengths, overlap and panics are those of InsertEach, and active
// is as in [InsertMasked].
//
// Source: PTX ISA, bfi.
func InsertEachMasked[T Word, M Mask](dst, src, base []T, pos, width []uint32, active []M) {
	if !(fits(dst, src) && fits(dst, base) && fits(dst, pos) && fits(dst, width) && maskFits(dst, active)) {
		panic(maskMisfit("InsertEachMasked", active, operandOf("dst", dst), operandOf("src", src), operandOf("base", base),
			operandOf("pos", pos), operandOf("width", width)))
	}
	insertEachMasked[T](pointer(dst), pointer(src), pointer(base), pointer(pos), pointer(width), active, len(dst))
}

// FillMasked is [Fill] in active lanes: where lane i's bit of active is set,
// dst[i] is base[i] with the low width bits of value at pos; elsewhere dst[i]
// keeps its value.
//
// It is PTX bfi.b32 or bfi.b64 dst, value, base, pos, width, by T, under an active
// mask, and the same rule for shorter words. Lengths, overlap and panics are
// those of Fill, and active is as in [InsertMasked].
//
// Source: PTX ISA, bfi.
func FillMasked[T Word, M Mask](dst []T, value T, base []T, pos, width uint32, active []M) {
	if !(fits(dst, base) && maskFits(dst, active)) {
		panic(maskMisfit("FillMasked", active, operandOf("dst", dst), operandOf("base", base)))
	}
	fillMasked(pointer(dst), pointer(base), active, len(dst), Bfi(value, 0, pos, width), fieldMask[T](pos, width))
}

// SelectMasked is [Select] in active lanes: where lane i's bit of active is set,
// dst[i] = mask[i]&src[i] | ^mask[i]&base[i]; elsewhere dst[i] keeps its value.
//
// It is AMD v_bfi_b32 dst, mask, src, base under an exec mask for 32-bit words,
// and the same on words of other widths. Lengths, overlap and panics are those of
// Select, and active is as in [InsertMasked].
//
// Source: AMD RDNA and GCN ISA, V_BFI_B32.
func SelectMasked[T Word, M Mask](dst, mask, src, base []T, active []M) {
	if !(fits(dst, mask) && fits(dst, src) && fits(dst, base) && maskFits(dst, active)) {
		panic(maskMisfit("SelectMasked", active, operandOf("dst", dst), operandOf("mask", mask), operandOf("src", src), operandOf("base", base)))
	}
	selectMasked[T](pointer(dst), pointer(mask), pointer(src), pointer(base), active, len(dst))
}

// ExtractMasked is [Extract] in active lanes: where lane i's bit of active is
// set, dst[i] is the width bits of src[i] from pos on, zero-extended for unsigned
// words, sign-extended for signed ones; elsewhere dst[i] keeps its value.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T, under
// an active mask, and the same rule for shorter words. Lengths, overlap and panics
// are those of Extract, and active is as in [InsertMasked].
//
// Source: PTX ISA, bfe.
func ExtractMasked[T Word, M Mask](dst, src []T, pos, width uint32, active []M) {
	if !(fits(dst, src) && maskFits(dst, active)) {
		panic(maskMisfit("ExtractMasked", active, operandOf("dst", dst), operandOf("src", src)))
	}
	pos, mask, sign := extraction[T](pos, width)
	extractMasked(pointer(dst), pointer(src), active, len(dst), pos, mask, sign)
}

// ExtractEachMasked is [ExtractEach] in active lanes: where lane i's bit of
// active is set, dst[i] is the width[i] bits of src[i] from pos[i] on,
// zero-extended for unsigned words, sign-extended for signed ones; elsewhere
// dst[i] keeps its value.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T, with
// every operand a register of each lane, under an active mask, and the same rule
// for shorter words. Lengths, overlap and panics are those of ExtractEach, and
// active is as in [InsertMasked].
//
// Source: PTX ISA, bfe.
func ExtractEachMasked[T Word, M Mask](dst, src []T, pos, width []uint32, active []M) {
	if !(fits(dst, src) && fits(dst, pos) && fits(dst, width) && maskFits(dst, active)) {
		panic(maskMisfit("ExtractEachMasked", active, operandOf("dst", dst), operandOf("src", src), operandOf("pos", pos), operandOf("width", width)))
	}
	extractEachMasked[T](pointer(dst), pointer(src), pointer(pos), pointer(width), active, len(dst))
}
