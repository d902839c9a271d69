// Package bfi inserts and extracts bit fields in slices of integers, many at a
// time. [Pack] makes pixels, ids or blocks out of columns, [Unpack] takes them
// apart, and [Insert] and [Extract] set and get one field of every word. They
// use AVX-512, AVX2 or NEON where the processor has it.
//
// # Fields
//
// A field is width bits of a word, from bit pos up. Bit 0 is the lowest. An
// insert keeps the bits of base outside the field. An extract moves the field
// down to bit 0. Here pos is 6 and width is 5, in words of 16 bits:
//
//	bit      15 14 13 12 11 10  9  8  7  6  5  4  3  2  1  0
//	base      b  b  b  b  b  b  b  b  b  b  b  b  b  b  b  b
//	src       .  .  .  .  .  .  .  .  .  .  .  s  s  s  s  s
//	Insert    b  b  b  b  b  s  s  s  s  s  b  b  b  b  b  b
//
//	src       .  .  .  .  .  s  s  s  s  s  .  .  .  .  .  .
//	Extract   0  0  0  0  0  0  0  0  0  0  0  s  s  s  s  s
//
// The limits are the same everywhere:
//
//   - Only the low 8 bits of pos and of width count.
//   - If the field runs past the word, it is cut off there. It never wraps.
//   - If width is 0, the field is empty. Inserting it gives base, and extracting
//     it gives 0.
//   - If pos is past the word, inserting gives base. Extracting gives 0 from
//     unsigned words, and the word's sign in every bit from signed ones.
//   - An extract from signed words extends the field's sign, its top bit. If the
//     field runs past the word, the word's top bit is its sign.
//
// # Functions
//
// A lane is one index i: dst[i] and the elements that dst[i] is made from.
//
//   - [Insert], [InsertEach], [Fill], [Select], [Extract] and [ExtractEach] work
//     on slices of one length, lane by lane.
//   - [InsertMasked] and the other Masked functions do the same in active lanes,
//     and leave the other lanes of dst alone.
//   - [Pack] makes words out of columns and arrays of any integer types, and
//     [Unpack] makes columns and arrays out of words.
//   - [InsertWarp], [SelectWarp] and [ExtractWarp] execute one instruction for a
//     warp of 32 lanes.
//   - [Bfi] and [Bfe] work on one word.
//
// # The slice contract
//
// Every function over slices keeps this contract. dst is the slice that a function
// writes. Unpack writes its columns; their rules are below.
//
//   - Lengths. Every slice has dst's length. An active mask has one bit a lane,
//     rounded up to whole elements.
//   - Overlap. dst and a source with elements of the same size must overlap
//     exactly or not at all. dst must not overlap a source with elements of
//     another size, nor an active mask. Sources may overlap each other in any way.
//   - Unpack. Every column has src's length. A column and src overlap by the same
//     rule as dst and a source. Columns must not overlap each other.
//   - Arrays. An [Array], or a field with [Field.Every], has its own length, and
//     must not overlap the words of Pack or Unpack. Columns of one Unpack may
//     interleave if they have one element size and one stride.
//   - Panics. A call that breaks a rule above panics before it writes anything.
//   - Memory. Nothing outside dst is written, and nothing outside the operands is
//     read. Nothing is allocated. Any length will do, and a nil slice is a slice
//     of length 0.
//   - Alignment. Go aligns every slice that it makes. A slice that package unsafe
//     made may be misaligned if the processor loads misaligned words. Those of
//     mips and mips64 fault instead, and ARM before version 6 loads wrong words.
//   - Concurrency. Concurrent calls are safe if no dst overlaps another call's
//     operands. Inactive lanes may be rewritten with their old value, so calls
//     under disjoint masks need separate dst too.
//
// # Instructions
//
// The functions compute exactly what instructions of GPUs do:
//
//	Bfi, Insert, InsertEach, Fill    PTX bfi.b32, bfi.b64
//	Bfe, Extract, ExtractEach        PTX bfe.u32, bfe.u64; bfe.s32, bfe.s64 if T is signed
//	Select                           AMD v_bfi_b32
//	Pack, Unpack                     one bfi, or one bfe, for each field
//
// Words of other sizes follow the same rule. The sources are the sections bfi
// and bfe of NVIDIA's PTX ISA, and V_BFI_B32 of AMD's RDNA and GCN ISAs. The
// examples show authors of emulators how to do immediate and packed operands,
// AMD's bfe, wavefronts and grids, and how to lay out registers.
//
// # Kernels
//
// The library picks the best kernels when the process starts; see [Kernel]. The
// environment variable BFI_KERNEL caps the choice at avx512, avx2, neon or
// generic. It is the only switch: GODEBUG=cpu.* has no effect here.
package bfi

//go:generate go -C gen run .

// Word is any integer type, or a type whose underlying type is one.
type Word interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Bfi returns b with a field replaced by the low bits of a. The field has
// d&0xff bits, from bit c&0xff up.
//
// It is PTX bfi.b32 or bfi.b64, with the operands in PTX's order. If a and b are
// both untyped constants, T is int; write Bfi[uint32](a, b, c, d).
func Bfi[T Word](a, b T, c, d uint32) T {
	mask := fieldMask[T](c, d)
	return b ^ (b^a<<(c&0xff))&mask
}

// Bfe returns a field of a, moved down to bit 0. The field has c&0xff bits, from
// bit b&0xff up. The bits above it are 0 if T is unsigned, and copies of the
// field's sign if T is signed.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64, with the operands in PTX's
// order.
func Bfe[T Word](a T, b, c uint32) T {
	pos, width := b&0xff, c&0xff
	if width == 0 {
		return 0
	}
	// The left shift drops the bits above the field. The right shift drops the bits
	// below it and extends the sign, if T has one. A shift by the word's size or
	// more leaves only signs or zeros.
	above := bitsOf[T]() - min(pos+width, bitsOf[T]())
	return a << above >> (above + pos)
}

// Insert sets each dst[i] to base[i] with the field at pos replaced by the low
// width bits of src[i].
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width. The slice contract in
// the package doc says which lengths and overlaps panic.
func Insert[T Word](dst, src, base []T, pos, width uint32) {
	if !(fits(dst, src) && fits(dst, base)) {
		panic(misfit("Insert", operandOf("dst", dst), operandOf("src", src), operandOf("base", base)))
	}
	insert(pointer(dst), pointer(src), pointer(base), len(dst), pos&0xff, fieldMask[T](pos, width), throughCache)
}

// InsertEach is [Insert] with a field of its own in each lane: it sets each dst[i]
// to base[i] with the field at pos[i] replaced by the low width[i] bits of src[i].
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width, with every operand in
// a register. It keeps the slice contract.
func InsertEach[T Word](dst, src, base []T, pos, width []uint32) {
	if !(fits(dst, src) && fits(dst, base) && fits(dst, pos) && fits(dst, width)) {
		panic(misfit("InsertEach", operandOf("dst", dst), operandOf("src", src), operandOf("base", base),
			operandOf("pos", pos), operandOf("width", width)))
	}
	insertEach[T](pointer(dst), pointer(src), pointer(base), pointer(pos), pointer(width), len(dst), throughCache)
}

// Fill sets each dst[i] to base[i] with the field at pos replaced by the low width
// bits of value.
//
// It is PTX bfi.b32 or bfi.b64 dst, value, base, pos, width. It keeps the slice
// contract.
func Fill[T Word](dst []T, value T, base []T, pos, width uint32) {
	if !fits(dst, base) {
		panic(misfit("Fill", operandOf("dst", dst), operandOf("base", base)))
	}
	fill(pointer(dst), pointer(base), len(dst), Bfi(value, 0, pos, width), fieldMask[T](pos, width), throughCache)
}

// Select takes each bit from src where mask has a one, and from base where mask
// has a zero: dst[i] = mask[i]&src[i] | ^mask[i]&base[i].
//
// It is AMD v_bfi_b32 dst, mask, src, base. It keeps the slice contract.
func Select[T Word](dst, mask, src, base []T) {
	if !(fits(dst, mask) && fits(dst, src) && fits(dst, base)) {
		panic(misfit("Select", operandOf("dst", dst), operandOf("mask", mask), operandOf("src", src),
			operandOf("base", base)))
	}
	selectBits[T](pointer(dst), pointer(mask), pointer(src), pointer(base), len(dst), throughCache)
}

// Extract sets each dst[i] to the field of src[i] that has width bits from bit pos
// up. The result is zero-extended if T is unsigned, and sign-extended if T is
// signed.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width. AMD's
// v_bfe_u32 and v_bfe_i32 are Extract with pos&31 and width&31, because only the
// low 5 bits of their operands count. Extract keeps the slice contract.
func Extract[T Word](dst, src []T, pos, width uint32) {
	if !fits(dst, src) {
		panic(misfit("Extract", operandOf("dst", dst), operandOf("src", src)))
	}
	pos, mask, sign := extraction[T](pos, width)
	extract(pointer(dst), pointer(src), len(dst), pos, mask, sign, throughCache)
}

// ExtractEach is [Extract] with a field of its own in each lane: it sets each
// dst[i] to the field of src[i] that has width[i] bits from bit pos[i] up.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, with every
// operand in a register. It keeps the slice contract.
func ExtractEach[T Word](dst, src []T, pos, width []uint32) {
	if !(fits(dst, src) && fits(dst, pos) && fits(dst, width)) {
		panic(misfit("ExtractEach", operandOf("dst", dst), operandOf("src", src), operandOf("pos", pos),
			operandOf("width", width)))
	}
	extractEach[T](pointer(dst), pointer(src), pointer(pos), pointer(width), len(dst), throughCache)
}
