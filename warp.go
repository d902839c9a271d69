package bfi

// WarpSize is the number of lanes of a warp.
const WarpSize = 32

// Register is an integer type of 32 or 64 bits, the sizes of a GPU's registers, or a
// type whose underlying type is one.
type Register interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~uintptr
}

// InsertWarp does what [InsertEach] does in the active lanes of a warp. Lane i is
// active if bit i of active is set. Other lanes of dst keep their value.
//
// It is PTX bfi.b32 or bfi.b64 dst, src, base, pos, width, executed by one warp. All
// lanes are read before any is written, so operands may overlap in any way. All of
// dst is rewritten, inactive lanes with their old value. InsertWarp panics if an
// operand is nil.
func InsertWarp[T Register](dst, src, base *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	_, _, _, _, _ = *dst, *src, *base, *pos, *width
	insertWarp(dst, src, base, pos, width, active)
}

// SelectWarp does what [Select] does in the active lanes of a warp. Lane i is active
// if bit i of active is set. Other lanes of dst keep their value.
//
// It is AMD v_bfi_b32 dst, mask, src, base, executed by half a wavefront of 64 lanes.
// Overlap, rewriting and panics are as in [InsertWarp].
func SelectWarp[T Register](dst, mask, src, base *[WarpSize]T, active uint32) {
	_, _, _, _ = *dst, *mask, *src, *base
	selectWarp(dst, mask, src, base, active)
}

// ExtractWarp does what [ExtractEach] does in the active lanes of a warp. Lane i is
// active if bit i of active is set. Other lanes of dst keep their value.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, executed by one
// warp. Overlap, rewriting and panics are as in [InsertWarp].
func ExtractWarp[T Register](dst, src *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	_, _, _, _ = *dst, *src, *pos, *width
	extractWarp(dst, src, pos, width, active)
}
