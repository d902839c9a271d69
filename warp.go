package bfi

// WarpSize is the number of lanes of a warp.
const WarpSize = 32

// Register is a word that a lane of a GPU has in a register: a 32- or 64-bit
// integer, or a type made from one.
type Register interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~uintptr
}

// InsertWarp inserts a field of its own into each active lane: where bit i of
// active is set, dst[i] is base[i] with the low width[i] bits of src[i] at
// pos[i]; elsewhere dst[i] keeps its value.
//
// It is PTX bfi.b32 dst, src, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words, executed by one warp: all lanes are read before any is written,
// so that operands may overlap in any way. The whole of dst is rewritten, the
// other lanes with what they held. A nil operand panics.
//
// Source: PTX ISA, bfi.
func InsertWarp[T Register](dst, src, base *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	_, _, _, _, _ = *dst, *src, *base, *pos, *width
	insertWarp(dst, src, base, pos, width, active)
}

// SelectWarp takes each bit of an active lane from src where mask has a one,
// from base where it has a zero: where bit i of active is set,
// dst[i] = mask[i]&src[i] | ^mask[i]&base[i]; elsewhere dst[i] keeps its value.
//
// It is AMD v_bfi_b32 dst, mask, src, base for 32-bit words, and the same on
// twice the bits for 64-bit words, executed by half a wavefront of 64 lanes: all
// lanes are read before any is written, so that operands may overlap in any way.
// The whole of dst is rewritten, the other lanes with what they held. A nil
// operand panics.
//
// Source: AMD RDNA and GCN ISA, V_BFI_B32.
func SelectWarp[T Register](dst, mask, src, base *[WarpSize]T, active uint32) {
	_, _, _, _ = *dst, *mask, *src, *base
	selectWarp(dst, mask, src, base, active)
}

// ExtractWarp takes a field of its own out of each active lane: where bit i of
// active is set, dst[i] is the width[i] bits of src[i] from pos[i] on,
// zero-extended for unsigned words, sign-extended for signed ones; elsewhere
// dst[i] keeps its value.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T,
// executed by one warp: all lanes are read before any is written, so that
// operands may overlap in any way. The whole of dst is rewritten, the other lanes
// with what they held. A nil operand panics.
//
// Source: PTX ISA, bfe.
func ExtractWarp[T Register](dst, src *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	_, _, _, _ = *dst, *src, *pos, *width
	extractWarp(dst, src, pos, width, active)
}
