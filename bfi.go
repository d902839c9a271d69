// Package bfi inserts and extracts bit fields, many lanes at a time, with the
// exact meaning of the GPU instructions: NVIDIA's PTX bfi and bfe, and AMD's
// v_bfi_b32.
//
// A bit field is given as PTX gives it, by the position pos of its lowest bit
// and its width in bits (PTX calls it len). Of both only the low 8 bits count.
// The field is cut off at the word's most significant bit, never wrapped; width
// 0, or a pos past the most significant bit, is an empty field, but that past the
// bits of a signed word all is sign. Words of 8 and 16 bits follow the rule that
// PTX gives for 32 and 64.
//
// There are four groups of functions:
//
//   - [Insert], [InsertEach], [Fill], [Select], [Extract] and [ExtractEach] work
//     lane by lane on slices of one length.
//   - [InsertMasked] and its like do the same in active lanes only, as a GPU
//     does it under an active mask, and a column store under a validity bitmap.
//   - [Pack] makes words out of columns of any integer types, [Unpack] takes
//     them apart.
//   - [InsertWarp], [SelectWarp] and [ExtractWarp] execute one instruction for a
//     warp of 32 lanes.
//
// [Bfi] and [Bfe] are the instructions for one lane. Among the examples are those
// for authors of emulators: immediate and packed operands, AMD's bfe, wavefronts
// and grids, and how to lay out registers.
//
// The contract is the same for all slice functions. Slices have dst's length.
// dst may be any source of its own element size exactly, or not overlap it at
// all; sources may overlap each other. A call that is given anything else panics
// before it writes. Nothing is allocated, any alignment will do, and concurrent
// calls on disjoint destinations are safe.
//
// The functions run the best assembly that the processor has, see [Kernel]. The
// environment variable BFI_KERNEL caps the choice, at avx512, avx2, neon or
// generic. It is the only switch: GODEBUG=cpu.* has no effect here.
package bfi

//go:generate go -C gen run .

// Word is an integer of any width, or a type made from one.
type Word interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Bfi inserts the low bits of a into b: bits pos to pos+width-1 of the result
// are the low width bits of a, the others those of b, where pos = c & 0xff and
// width = d & 0xff.
//
// It is PTX bfi.b32 f, a, b, c, d for 32-bit words, bfi.b64 for 64-bit words, and
// the same rule for shorter ones. Bits past the most significant one are cut off;
// width 0, or pos past it, gives b. Of two untyped constants the type is int: say
// Bfi[uint32].
//
// Source: PTX ISA, bfi.
func Bfi[T Word](a, b T, c, d uint32) T {
	mask := fieldMask[T](c, d)
	return b ^ (b^a<<(c&0xff))&mask
}

// Bfe extracts a field of a: the low bits of the result are bits pos to
// pos+width-1 of a, and those above are 0 for unsigned T, the field's highest bit
// for signed T, where pos = b & 0xff and width = c & 0xff.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 d, a, b, c, by T, and the same
// rule for shorter words. Where the field runs past the word's most significant
// bit its highest bit is that one; width 0 gives 0.
//
// Source: PTX ISA, bfe.
func Bfe[T Word](a T, b, c uint32) T {
	pos, width := b&0xff, c&0xff
	if width == 0 {
		return 0
	}
	// Shift out what lies above the field, then what lies below it, which
	// extends it by T's sign. A field past the last bit is all sign.
	above := bitsOf[T]() - min(pos+width, bitsOf[T]())
	return a << above >> (above + pos)
}

// Insert inserts the same field into all lanes: dst[i] is base[i] with the low
// width bits of src[i] at pos.
//
// It is PTX bfi.b32 dst, src, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words, and the same rule for shorter ones. src and base have dst's
// length. dst may be src or base exactly, or not overlap it. Insert panics before
// it writes anything if lengths differ or dst overlaps a source inexactly.
//
// Source: PTX ISA, bfi.
func Insert[T Word](dst, src, base []T, pos, width uint32) {
	if !(fits(dst, src) && fits(dst, base)) {
		panic(misfit("Insert", operandOf("dst", dst), operandOf("src", src), operandOf("base", base)))
	}
	insert(pointer(dst), pointer(src), pointer(base), len(dst), pos&0xff, fieldMask[T](pos, width), false)
}

// InsertEach inserts a field of its own into each lane: dst[i] is base[i] with
// the low width[i] bits of src[i] at pos[i].
//
// It is PTX bfi.b32 dst, src, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words, with every operand a register of each lane, and the same rule for
// shorter words. All slices have dst's length. dst may be any of the others of
// its own element size exactly, or not overlap it. InsertEach panics before it
// writes anything if lengths differ or dst overlaps a source otherwise.
//
// Source: PTX ISA, bfi.
func InsertEach[T Word](dst, src, base []T, pos, width []uint32) {
	if !(fits(dst, src) && fits(dst, base) && fits(dst, pos) && fits(dst, width)) {
		panic(misfit("InsertEach", operandOf("dst", dst), operandOf("src", src), operandOf("base", base),
			operandOf("pos", pos), operandOf("width", width)))
	}
	insertEach[T](pointer(dst), pointer(src), pointer(base), pointer(pos), pointer(width), len(dst), false)
}

// Fill inserts one value into all lanes: dst[i] is base[i] with the low width
// bits of value at pos.
//
// It is PTX bfi.b32 dst, value, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words, and the same rule for shorter ones. base has dst's length. dst
// may be base exactly, or not overlap it. Fill panics before it writes anything
// if lengths differ or dst overlaps base inexactly.
//
// Source: PTX ISA, bfi.
func Fill[T Word](dst []T, value T, base []T, pos, width uint32) {
	if !fits(dst, base) {
		panic(misfit("Fill", operandOf("dst", dst), operandOf("base", base)))
	}
	fill(pointer(dst), pointer(base), len(dst), Bfi(value, 0, pos, width), fieldMask[T](pos, width), false)
}

// Select takes each bit from src where mask has a one, from base where it has
// a zero: dst[i] = mask[i]&src[i] | ^mask[i]&base[i].
//
// It is AMD v_bfi_b32 dst, mask, src, base for 32-bit words, and the same on
// words of other widths. All slices have dst's length. dst may be any of the
// others exactly, or not overlap it. Select panics before it writes anything if
// lengths differ or dst overlaps a source inexactly.
//
// Source: AMD RDNA and GCN ISA, V_BFI_B32.
func Select[T Word](dst, mask, src, base []T) {
	if !(fits(dst, mask) && fits(dst, src) && fits(dst, base)) {
		panic(misfit("Select", operandOf("dst", dst), operandOf("mask", mask), operandOf("src", src), operandOf("base", base)))
	}
	selectBits[T](pointer(dst), pointer(mask), pointer(src), pointer(base), len(dst), false)
}

// Extract takes the same field out of all lanes: dst[i] is the width bits of
// src[i] from pos on, zero-extended for unsigned words, sign-extended for
// signed ones.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T, and
// the same rule for shorter words. The sign is the field's highest bit, or the
// word's where the field runs past it; width 0 gives 0. src has dst's length. dst
// may be src exactly, or not overlap it. Extract panics before it writes anything
// if lengths differ or dst overlaps src inexactly.
//
// AMD v_bfe_u32 and v_bfe_i32, of which only the low 5 bits of pos and width
// count, are Extract with pos&31 and width&31.
//
// Source: PTX ISA, bfe.
func Extract[T Word](dst, src []T, pos, width uint32) {
	if !fits(dst, src) {
		panic(misfit("Extract", operandOf("dst", dst), operandOf("src", src)))
	}
	pos, mask, sign := extraction[T](pos, width)
	extract(pointer(dst), pointer(src), len(dst), pos, mask, sign, false)
}

// ExtractEach takes a field of its own out of each lane: dst[i] is the width[i]
// bits of src[i] from pos[i] on, zero-extended for unsigned words,
// sign-extended for signed ones.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T,
// with every operand a register of each lane, and the same rule for shorter
// words. The sign is the field's highest bit, or the word's where the field runs
// past it; width 0 gives 0. All slices have dst's length. dst may be any of the
// others of its own element size exactly, or not overlap it. ExtractEach panics
// before it writes anything if lengths differ or dst overlaps a source otherwise.
//
// Source: PTX ISA, bfe.
func ExtractEach[T Word](dst, src []T, pos, width []uint32) {
	if !(fits(dst, src) && fits(dst, pos) && fits(dst, width)) {
		panic(misfit("ExtractEach", operandOf("dst", dst), operandOf("src", src), operandOf("pos", pos), operandOf("width", width)))
	}
	extractEach[T](pointer(dst), pointer(src), pointer(pos), pointer(width), len(dst), false)
}
