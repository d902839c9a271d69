// Package bfi inserts and extracts bit fields, many lanes at a time, with the
// exact meaning of the GPU instructions: NVIDIA's PTX bfi and bfe, and AMD's
// v_bfi_b32.
//
// A bit field is given as PTX gives it, by the position pos of its lowest bit
// and its width in bits (PTX calls it len). Of both only the low 8 bits count.
// The field is cut off at the word's most significant bit, never wrapped; width
// 0, or a pos past the most significant bit, is an empty field.
//
// The slice functions work lane by lane on slices of one length; dst may be any
// of the sources exactly, or not overlap it at all. The warp functions work on
// 32 lanes under an active mask, as an emulator of a GPU executes one
// instruction. All of them take 32- and 64-bit words of any integer type, use
// the best assembly that the processor runs (see [Kernel]), allocate nothing,
// and are safe for concurrent calls on disjoint destinations.
package bfi

import (
	"strconv"
	"unsafe"
)

//go:generate go -C gen run .

// Word is a 32- or 64-bit integer, or a type made from one.
type Word interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64 | ~uintptr
}

// B32 inserts the low bits of a into b: bits pos to pos+width-1 of the result
// are the low width bits of a, the others those of b, where pos = c & 0xff and
// width = d & 0xff.
//
// It is PTX bfi.b32 f, a, b, c, d. Bits past 31 are cut off; width 0 or pos
// past 31 gives b.
//
// Source: PTX ISA, bfi.
func B32(a, b, c, d uint32) uint32 {
	return bfi(a, b, c, d)
}

// B64 inserts the low bits of a into b: bits pos to pos+width-1 of the result
// are the low width bits of a, the others those of b, where pos = c & 0xff and
// width = d & 0xff.
//
// It is PTX bfi.b64 f, a, b, c, d. Bits past 63 are cut off; width 0 or pos
// past 63 gives b.
//
// Source: PTX ISA, bfi.
func B64(a, b uint64, c, d uint32) uint64 {
	return bfi(a, b, c, d)
}

// Insert inserts the same field into all lanes: dst[i] is base[i] with the low
// width bits of src[i] at pos.
//
// It is PTX bfi.b32 dst, src, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words. src and base have dst's length. dst may be src or base exactly,
// or not overlap it. Insert panics before it writes anything if lengths differ
// or dst overlaps a source inexactly.
//
// Source: PTX ISA, bfi.
func Insert[T Word](dst, src, base []T, pos, width uint32) {
	if !(fits(dst, src) && fits(dst, base)) {
		check("Insert", dst, "src", src)
		check("Insert", dst, "base", base)
		return
	}
	if len(dst) <= pieceLanes[T]() {
		insert[T](pointer(dst), pointer(src), pointer(base), len(dst), pos, width, false)
		return
	}
	stream := bypass(dst, 3) && !same(dst, src) && !same(dst, base)
	for i := 0; i < len(dst); i += pieceLanes[T]() {
		insert[T](pointer(dst[i:]), pointer(src[i:]), pointer(base[i:]), min(pieceLanes[T](), len(dst)-i), pos, width, stream)
	}
}

// InsertEach inserts a field of its own into each lane: dst[i] is base[i] with
// the low width[i] bits of src[i] at pos[i].
//
// It is PTX bfi.b32 dst, src, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words, with every operand a register of each lane. All slices have
// dst's length. dst may be any of the others of its own element size exactly,
// or not overlap it. InsertEach panics before it writes anything if lengths
// differ or dst overlaps a source otherwise.
//
// Source: PTX ISA, bfi.
func InsertEach[T Word](dst, src, base []T, pos, width []uint32) {
	if !(fits(dst, src) && fits(dst, base) && fits(dst, pos) && fits(dst, width)) {
		check("InsertEach", dst, "src", src)
		check("InsertEach", dst, "base", base)
		check("InsertEach", dst, "pos", pos)
		check("InsertEach", dst, "width", width)
		return
	}
	if len(dst) <= pieceLanes[T]() {
		insertEach[T](pointer(dst), pointer(src), pointer(base), pointer(pos), pointer(width), len(dst), false)
		return
	}
	stream := bypass(dst, 5) && !same(dst, src) && !same(dst, base) && !same(dst, pos) && !same(dst, width)
	for i := 0; i < len(dst); i += pieceLanes[T]() {
		insertEach[T](pointer(dst[i:]), pointer(src[i:]), pointer(base[i:]), pointer(pos[i:]), pointer(width[i:]), min(pieceLanes[T](), len(dst)-i), stream)
	}
}

// Fill inserts one value into all lanes: dst[i] is base[i] with the low width
// bits of value at pos.
//
// It is PTX bfi.b32 dst, value, base, pos, width for 32-bit words, bfi.b64 for
// 64-bit words. base has dst's length. dst may be base exactly, or not overlap
// it. Fill panics before it writes anything if lengths differ or dst overlaps
// base inexactly.
//
// Source: PTX ISA, bfi.
func Fill[T Word](dst, base []T, value T, pos, width uint32) {
	if !fits(dst, base) {
		check("Fill", dst, "base", base)
		return
	}
	if len(dst) <= pieceLanes[T]() {
		fill[T](pointer(dst), pointer(base), len(dst), value, pos, width, false)
		return
	}
	stream := bypass(dst, 2) && !same(dst, base)
	for i := 0; i < len(dst); i += pieceLanes[T]() {
		fill[T](pointer(dst[i:]), pointer(base[i:]), min(pieceLanes[T](), len(dst)-i), value, pos, width, stream)
	}
}

// Select takes each bit from src where mask has a one, from base where it has
// a zero: dst[i] = mask[i]&src[i] | ^mask[i]&base[i].
//
// It is AMD v_bfi_b32 dst, mask, src, base for 32-bit words, and the same on
// twice the bits for 64-bit words. All slices have dst's length. dst may be any
// of the others exactly, or not overlap it. Select panics before it writes
// anything if lengths differ or dst overlaps a source inexactly.
//
// Source: AMD RDNA and GCN ISA, V_BFI_B32.
func Select[T Word](dst, mask, src, base []T) {
	if !(fits(dst, mask) && fits(dst, src) && fits(dst, base)) {
		check("Select", dst, "mask", mask)
		check("Select", dst, "src", src)
		check("Select", dst, "base", base)
		return
	}
	if len(dst) <= pieceLanes[T]() {
		selectBits[T](pointer(dst), pointer(mask), pointer(src), pointer(base), len(dst), false)
		return
	}
	stream := bypass(dst, 4) && !same(dst, mask) && !same(dst, src) && !same(dst, base)
	for i := 0; i < len(dst); i += pieceLanes[T]() {
		selectBits[T](pointer(dst[i:]), pointer(mask[i:]), pointer(src[i:]), pointer(base[i:]), min(pieceLanes[T](), len(dst)-i), stream)
	}
}

// Extract takes the same field out of all lanes: dst[i] is the width bits of
// src[i] from pos on, zero-extended for unsigned words, sign-extended for
// signed ones.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T.
// The sign is the field's highest bit, or the word's where the field runs past
// it; width 0 gives 0. src has dst's length. dst may be src exactly, or not
// overlap it. Extract panics before it writes anything if lengths differ or dst
// overlaps src inexactly.
//
// Source: PTX ISA, bfe.
func Extract[T Word](dst, src []T, pos, width uint32) {
	if !fits(dst, src) {
		check("Extract", dst, "src", src)
		return
	}
	if len(dst) <= pieceLanes[T]() {
		extract[T](pointer(dst), pointer(src), len(dst), pos, width, false)
		return
	}
	stream := bypass(dst, 2) && !same(dst, src)
	for i := 0; i < len(dst); i += pieceLanes[T]() {
		extract[T](pointer(dst[i:]), pointer(src[i:]), min(pieceLanes[T](), len(dst)-i), pos, width, stream)
	}
}

// ExtractEach takes a field of its own out of each lane: dst[i] is the width[i]
// bits of src[i] from pos[i] on, zero-extended for unsigned words,
// sign-extended for signed ones.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 dst, src, pos, width, by T,
// with every operand a register of each lane. The sign is the field's highest
// bit, or the word's where the field runs past it; width 0 gives 0. All slices
// have dst's length. dst may be any of the others of its own element size
// exactly, or not overlap it. ExtractEach panics before it writes anything if
// lengths differ or dst overlaps a source otherwise.
//
// Source: PTX ISA, bfe.
func ExtractEach[T Word](dst, src []T, pos, width []uint32) {
	if !(fits(dst, src) && fits(dst, pos) && fits(dst, width)) {
		check("ExtractEach", dst, "src", src)
		check("ExtractEach", dst, "pos", pos)
		check("ExtractEach", dst, "width", width)
		return
	}
	if len(dst) <= pieceLanes[T]() {
		extractEach[T](pointer(dst), pointer(src), pointer(pos), pointer(width), len(dst), false)
		return
	}
	stream := bypass(dst, 4) && !same(dst, src) && !same(dst, pos) && !same(dst, width)
	for i := 0; i < len(dst); i += pieceLanes[T]() {
		extractEach[T](pointer(dst[i:]), pointer(src[i:]), pointer(pos[i:]), pointer(width[i:]), min(pieceLanes[T](), len(dst)-i), stream)
	}
}

// pieceBytes bounds how much of dst one assembly call writes. The runtime
// cannot preempt assembly, so a garbage collection that wants to stop the world
// waits for at most one piece.
const pieceBytes = 64 << 10

func pieceLanes[T Word]() int { return pieceBytes / int(unsafe.Sizeof(T(0))) }

// bypass reports whether a call over this many operands of dst's size moves so
// much that stores had better bypass the cache. They can only where dst is
// aligned to its words, which makes it reachable in whole cache lines.
func bypass[T Word](dst []T, operands int) bool {
	return len(dst)*operands*int(unsafe.Sizeof(T(0))) >= streamBytes && address(dst)%unsafe.Sizeof(T(0)) == 0
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func slice[T Word](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

func address[T Word](s []T) uintptr { return uintptr(pointer(s)) }

func same[T, U Word](s []T, t []U) bool { return address(s) == address(t) }

// fits reports whether s has dst's length and is either dst exactly or apart
// from it; for empty slices it may be false. It is written to be inlined.
func fits[T, U Word](dst []T, s []U) bool {
	m, n := uintptr(len(dst))*unsafe.Sizeof(T(0)), uintptr(len(s))*unsafe.Sizeof(U(0))
	// The distance wraps around where s is above dst, so that one comparison
	// does for both sides.
	distance := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return len(s) == len(dst) &&
		(distance+m-1 >= m+n-1 || distance == 0 && unsafe.Sizeof(T(0)) == unsafe.Sizeof(U(0)))
}

// check panics unless s fits dst or both are empty. Callers whose operands do not
// all fit are done when it returns: there is no lane.
func check[T, U Word](fn string, dst []T, name string, s []U) {
	if len(s) != len(dst) {
		panicLen(fn, name, len(s), "dst", len(dst))
	}
	if len(dst) > 0 && !fits(dst, s) {
		panicOverlap(fn, "dst", name, unsafe.Sizeof(T(0)) == unsafe.Sizeof(U(0)))
	}
}

//go:noinline
func panicLen(fn, name string, have int, wantName string, want int) {
	panic("bfi: " + fn + ": len(" + name + ") = " + strconv.Itoa(have) +
		", want len(" + wantName + ") = " + strconv.Itoa(want))
}

//go:noinline
func panicOverlap(fn, dst, name string, exactAllowed bool) {
	msg := "bfi: " + fn + ": " + dst + " overlaps " + name
	if exactAllowed {
		msg += " inexactly"
	}
	panic(msg)
}
