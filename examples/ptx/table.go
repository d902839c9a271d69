package main

import (
	"math/bits"
	"unsafe"

	"github.com/gobfi/bfi"
)

// lanes is a register: its value in each lane of the warp.
type lanes[T bfi.Word] = [bfi.WarpSize]T

// A row describes an instruction.
type row struct {
	name     string // T stands for the type
	types    string // the supported types
	operands string // the types of the destination and the sources; 2T is twice as wide as T
	meaning  func(r regs)
}

// regs are the operands of an instruction. The instruction's meaning writes r[0] in all
// lanes.
type regs = []register

const (
	ints   = "u16 s16 u32 s32 u64 s64"
	plain  = "b16 b32 b64"
	all    = plain + " " + ints
	signed = "s16 s32 s64"
)

// instructions returns the rows of instructions in which no lane depends on another.
func instructions[T, W bfi.Word]() []row {
	size := int(8 * unsafe.Sizeof(T(0)))
	return []row{
		{"mov.T", all + " pred", "T T", func(r regs) { *in[T](r[0]) = *in[T](r[1]) }},
		{"add.T", ints, "T T T", func(r regs) { each2(r, func(x, y T) T { return x + y }) }},
		{"sub.T", ints, "T T T", func(r regs) { each2(r, func(x, y T) T { return x - y }) }},
		{"mul.lo.T", ints, "T T T", func(r regs) { each2(r, func(x, y T) T { return x * y }) }},
		{"mul.hi.T", ints, "T T T", func(r regs) { each2(r, high[T]) }},
		{"mul.wide.T", "u16 s16 u32 s32", "2T T T", func(r regs) { each2(r, func(x, y T) W { return W(x) * W(y) }) }},
		{"mad.lo.T", ints, "T T T T", func(r regs) { each3(r, func(x, y, z T) T { return x*y + z }) }},
		{"mad.hi.T", ints, "T T T T", func(r regs) { each3(r, func(x, y, z T) T { return high(x, y) + z }) }},
		{"mad.wide.T", "u16 s16 u32 s32", "2T T T 2T",
			func(r regs) { each3(r, func(x, y T, z W) W { return W(x)*W(y) + z }) }},
		{"min.T", ints, "T T T", func(r regs) { each2(r, func(x, y T) T { return min(x, y) }) }},
		{"max.T", ints, "T T T", func(r regs) { each2(r, func(x, y T) T { return max(x, y) }) }},
		{"abs.T", signed, "T T", func(r regs) { each1(r, func(x T) T { return max(x, -x) }) }},
		{"neg.T", signed, "T T", func(r regs) { each1(r, func(x T) T { return -x }) }},

		{"and.T", plain + " pred", "T T T", func(r regs) { each2(r, func(x, y T) T { return x & y }) }},
		{"or.T", plain + " pred", "T T T", func(r regs) { each2(r, func(x, y T) T { return x | y }) }},
		{"xor.T", plain + " pred", "T T T", func(r regs) { each2(r, func(x, y T) T { return x ^ y }) }},
		{"not.T", plain + " pred", "T T", func(r regs) { each1(r, func(x T) T { return ^x }) }},
		{"cnot.T", plain, "T T", func(r regs) { each1(r, func(x T) T { return choose(x == 0, T(1), 0) }) }},
		{"shl.T", plain, "T T u32", func(r regs) { each2(r, func(x T, n uint32) T { return x << n }) }},
		{"shr.T", all, "T T u32", func(r regs) { each2(r, func(x T, n uint32) T { return x >> n }) }},
		{"shf.l.clamp.T", "b32", "T T T u32",
			func(r regs) { each3(r, func(x, y, n uint32) uint32 { return funnel(x, y, 32-min(n, 32)) }) }},
		{"shf.l.wrap.T", "b32", "T T T u32",
			func(r regs) { each3(r, func(x, y, n uint32) uint32 { return funnel(x, y, 32-n&31) }) }},
		{"shf.r.clamp.T", "b32", "T T T u32",
			func(r regs) { each3(r, func(x, y, n uint32) uint32 { return funnel(x, y, min(n, 32)) }) }},
		{"shf.r.wrap.T", "b32", "T T T u32",
			func(r regs) { each3(r, func(x, y, n uint32) uint32 { return funnel(x, y, n&31) }) }},
		{"lop3.T", "b32", "T T T T imm",
			func(r regs) { each3(r, func(x, y, z T) T { return lookUp(x, y, z, in[uint32](r[4])[0]) }) }},

		{"brev.T", "b32 b64", "T T",
			func(r regs) { each1(r, func(x T) T { return T(bits.Reverse64(uint64(x)) >> (64 - size)) }) }},
		{"clz.T", "b32 b64", "u32 T",
			func(r regs) { each1(r, func(x T) uint32 { return uint32(size - bits.Len64(uint64(x))) }) }},
		{"popc.T", "b32 b64", "u32 T",
			func(r regs) { each1(r, func(x T) uint32 { return uint32(bits.OnesCount64(uint64(x))) }) }},
		{"bfind.T", "u32 s32 u64 s64", "u32 T",
			func(r regs) { each1(r, func(x T) uint32 { return uint32(significant(x) - 1) }) }},
		{"bfind.shiftamt.T", "u32 s32 u64 s64", "u32 T", func(r regs) {
			each1(r, func(x T) uint32 { return choose(significant(x) == 0, ^uint32(0), uint32(size-significant(x))) })
		}},
		{"bmsk.clamp.T", "b32", "T T T", func(r regs) {
			each2(r, func(pos, n uint32) uint32 { return bfi.Bfi(^uint32(0), 0, min(pos, 32), min(n, 32)) })
		}},
		{"bmsk.wrap.T", "b32", "T T T",
			func(r regs) { each2(r, func(pos, n uint32) uint32 { return bfi.Bfi(^uint32(0), 0, pos&31, n&31) }) }},
		{"szext.clamp.T", "u32 s32", "T T u32",
			func(r regs) { each2(r, func(x T, n uint32) T { return bfi.Bfe(x, 0, min(n, 32)) }) }},
		{"szext.wrap.T", "u32 s32", "T T u32",
			func(r regs) { each2(r, func(x T, n uint32) T { return bfi.Bfe(x, 0, n&31) }) }},
		{"fns.T", "b32", "u32 T u32 u32", func(r regs) { each3(r, findNth) }},
		{"prmt.T", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return c >> (4 * k) }) }},
		{"prmt.T.f4e", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return c&3 + k }) }},
		{"prmt.T.b4e", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return (c&3 - k) & 7 }) }},
		{"prmt.T.rc8", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return c & 3 }) }},
		{"prmt.T.ecl", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return max(c&3, k) }) }},
		{"prmt.T.ecr", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return min(c&3, k) }) }},
		{"prmt.T.rc16", "b32", "T T T T", func(r regs) { permute(r, func(c, k uint32) uint32 { return c&1*2 + k&1 }) }},
		{"bfi.T", "b32 b64", "T T T u32 u32", nil}, // the library executes these
		{"bfe.T", "u32 s32 u64 s64", "T T u32 u32", nil},

		{"selp.T", all, "T T T pred", func(r regs) { each3(r, func(x, y T, p uint8) T { return choose(p&1 != 0, x, y) }) }},
		{"slct.T.s32", all, "T T T u32", func(r regs) { each3(r, func(x, y T, n int32) T { return choose(n >= 0, x, y) }) }},
		{"setp.eq.T", all, "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x == y) }) }},
		{"setp.ne.T", all, "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x != y) }) }},
		{"setp.lt.T", ints, "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x < y) }) }},
		{"setp.le.T", ints, "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x <= y) }) }},
		{"setp.gt.T", ints, "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x > y) }) }},
		{"setp.ge.T", ints, "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x >= y) }) }},
		{"setp.lo.T", "u16 u32 u64", "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x < y) }) }},
		{"setp.ls.T", "u16 u32 u64", "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x <= y) }) }},
		{"setp.hi.T", "u16 u32 u64", "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x > y) }) }},
		{"setp.hs.T", "u16 u32 u64", "pred T T", func(r regs) { each2(r, func(x, y T) uint8 { return truth(x >= y) }) }},
	}
}

// library has the code for bfi and bfe. It runs in active lanes only.
var library = map[string]func(r regs, uniform bool) run{
	"bfi.b32": insertLanes[uint32], "bfi.b64": insertLanes[uint64],
	"bfe.u32": extractLanes[uint32], "bfe.u64": extractLanes[uint64],
	"bfe.s32": extractLanes[int32], "bfe.s64": extractLanes[int64],
}

// insertLanes returns code for bfi. uniform says that pos and width are immediates.
func insertLanes[T bfi.Register](r regs, uniform bool) run {
	dst, src, base, pos, width := in[T](r[0]), in[T](r[1]), in[T](r[2]), in[uint32](r[3]), in[uint32](r[4])
	if uniform {
		return func(active uint32) { bfi.InsertMasked(dst[:], src[:], base[:], pos[0], width[0], []uint32{active}) }
	}
	return func(active uint32) { bfi.InsertWarp(dst, src, base, pos, width, active) }
}

// extractLanes returns code for bfe. uniform says that pos and width are immediates.
func extractLanes[T bfi.Register](r regs, uniform bool) run {
	dst, src, pos, width := in[T](r[0]), in[T](r[1]), in[uint32](r[2]), in[uint32](r[3])
	if uniform {
		return func(active uint32) { bfi.ExtractMasked(dst[:], src[:], pos[0], width[0], []uint32{active}) }
	}
	return func(active uint32) { bfi.ExtractWarp(dst, src, pos, width, active) }
}

// each1, each2 and each3 are short, so the compiler inlines them into the rows, together
// with the functions that the rows pass. They slice the registers so that nil is checked
// once, not in each lane.
func each1[D, A bfi.Word](r regs, f func(A) D) {
	d, a := (*lanes[D])(r[0].data)[:], (*lanes[A])(r[1].data)[:]
	for i := range d {
		d[i] = f(a[i])
	}
}

func each2[D, A, B bfi.Word](r regs, f func(A, B) D) {
	d, a, b := (*lanes[D])(r[0].data)[:], (*lanes[A])(r[1].data)[:], (*lanes[B])(r[2].data)[:]
	for i := range d {
		d[i] = f(a[i], b[i])
	}
}

func each3[D, A, B, C bfi.Word](r regs, f func(A, B, C) D) {
	d, a, b, c := (*lanes[D])(r[0].data)[:], (*lanes[A])(r[1].data)[:], (*lanes[B])(r[2].data), (*lanes[C])(r[3].data)
	for i := range d {
		d[i] = f(a[i], b[i], c[i])
	}
}

func choose[T any](first bool, x, y T) T {
	if first {
		return x
	}
	return y
}

// truth returns a predicate's value in one lane.
func truth(b bool) uint8 { return choose[uint8](b, 1, 0) }

// high returns the upper half of the product.
func high[T bfi.Word](x, y T) T {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	// Mul64 is unsigned. To it, a negative factor is too large by 2^64.
	hi -= choose(x < 0, uint64(y), 0) + choose(y < 0, uint64(x), 0)
	size := 8 * unsafe.Sizeof(x)
	return T(hi<<(64-size) | lo>>size)
}

// funnel shifts the 64 bits of high and low right by n, and returns the low half.
func funnel(low, high, n uint32) uint32 { return uint32((uint64(high)<<32 | uint64(low)) >> n) }

// significant returns the number of bits of x, without the bits that repeat its sign.
func significant[T bfi.Word](x T) int { return bits.Len64(uint64(choose(x < 0, ^x, x))) }

// lookUp executes lop3. At each place, the bits of x, y and z are a number of 3 bits. The
// result's bit at that place is the bit of table with that number.
func lookUp[T bfi.Word](x, y, z T, table uint32) (r T) {
	for k := range 8 {
		if table>>k&1 != 0 {
			r |= choose(k&4 != 0, x, ^x) & choose(k&2 != 0, y, ^y) & choose(k&1 != 0, z, ^z)
		}
	}
	return r
}

// permute executes prmt. Selector k of c is the number of a byte among the 8 bytes of a and
// b. The result's byte k is that byte. If bit 3 of the selector is set, all bits of byte k
// are the sign of that byte.
func permute(r regs, selector func(c, k uint32) uint32) {
	each3(r, func(a, b, c uint32) (d uint32) {
		for k := range uint32(4) {
			s := selector(c, k)
			x := int8(funnel(a, b, 8*(s&7)))
			d |= uint32(uint8(choose(s&8 != 0, x>>7, x))) << (8 * k)
		}
		return d
	})
}

// findNth executes fns. It returns the position of the n-th set bit of mask, counted upwards
// from base. If n is negative, it counts downwards. If n is 0, it looks only at bit base. If
// there is no such bit, it returns all ones.
func findNth(mask, base uint32, n int32) uint32 {
	if n == 0 {
		mask, n = mask&(1<<base), 1
	}
	step := choose[int32](n < 0, -1, 1)
	for ; base < 32; base += uint32(step) {
		if n -= step * int32(mask>>base&1); n == 0 {
			return base
		}
	}
	return ^uint32(0)
}
