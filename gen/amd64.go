package main

import (
	"fmt"
	"go/token"
	"go/types"
	"math/bits"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

const (
	// unroll is the vectors of one turn of a slice kernel's main loop.
	unroll = 4
	// tile is the vectors that pack holds in registers at a time.
	tile = 8
	// alignVectors is the number of vectors from which on it pays to align dst.
	alignVectors = 16
)

// renderAMD64 returns bfi_amd64.s.
func renderAMD64() ([]byte, error) {
	c := build.NewContext()
	c.ConstraintExpr(buildTags("amd64"))
	laneBits := laneBitData(c)
	for _, k := range kernels {
		for _, isa := range []isa{avx2, avx512} {
			for _, width := range widths {
				t := target{isa, width}
				g := &amd64{Context: c, target: t, kernel: k, program: lower(k.formula(t), t), laneBits: laneBits[width]}
				g.emit()
			}
		}
	}
	f, err := c.Result()
	if err != nil {
		return nil, err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, err
	}
	return printer.NewGoAsm(printer.Config{Name: generatedBy, Pkg: "bfi"}).Print(f)
}

// laneBitData builds, for each width, an AVX2 vector with bit i set in lane i.
// AVX2 makes its lane masks of them.
func laneBitData(c *build.Context) map[int]Mem {
	data := map[int]Mem{}
	for _, width := range widths {
		data[width] = c.StaticGlobal(fmt.Sprintf("laneBits%d", width))
		c.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 256 / width {
			if width == 32 {
				c.AppendDatum(U32(1 << i))
			} else {
				c.AppendDatum(U64(1 << i))
			}
		}
	}
	return data
}

// amd64 emits one kernel.
type amd64 struct {
	*build.Context
	target
	kernel
	program
	laneBits Mem

	pointers map[string]reg.Register  // operands in memory
	uniform  map[*inst]reg.VecVirtual // what is the same in all lanes
	lowBytes reg.Register             // AVX-512: selects the low byte of each 32-bit lane
	labels   int
}

// vecBytes is the size of the instruction set's vectors.
func (g *amd64) vecBytes() int {
	if g.isa == avx512 {
		return 64
	}
	return 32
}

// vecLanes is the number of lanes of one vector.
func (g *amd64) vecLanes() int { return g.vecBytes() / g.size() }

func (g *amd64) vector() reg.VecVirtual {
	if g.isa == avx512 {
		return g.ZMM()
	}
	return g.YMM()
}

func (g *amd64) emit() {
	g.Function(g.symbol(g.target))
	g.Attributes(attr.NOSPLIT)
	g.Signature(signature(g.params(g.target)))
	g.pointers = map[string]reg.Register{}
	g.uniform = map[*inst]reg.VecVirtual{}
	for _, p := range g.params(g.target) {
		if p.typ == "unsafe.Pointer" {
			g.pointers[p.name] = g.argument(p.name)
		}
	}
	if slices.ContainsFunc(g.program, func(in *inst) bool { return in.op == "VMOVDQU8.Z" }) {
		g.lowBytes = g.opmask(lowBytes, nil)
	}
	switch {
	case g.shape == packShape:
		g.pack()
	case g.shape == warpShape:
		g.hoist(g.splat)
		g.warp()
	case g.isa == avx512:
		g.hoist(g.splat)
		g.slice512()
	default:
		g.hoist(g.splat)
		g.slice256()
	}
	g.VZEROUPPER()
	g.RET()
}

func signature(params []param) *gotypes.Signature {
	kinds := map[string]types.BasicKind{
		"unsafe.Pointer": types.UnsafePointer, "int": types.Int, "bool": types.Bool,
		"uint32": types.Uint32, "uint64": types.Uint64,
	}
	var vars []*types.Var
	for _, p := range params {
		vars = append(vars, types.NewVar(token.NoPos, nil, p.name, types.Typ[kinds[p.typ]]))
	}
	return gotypes.NewSignature(nil, types.NewSignatureType(nil, nil, nil, types.NewTuple(vars...), nil, false))
}

// An access says which lanes a body works on, and how it gets at them.
type access struct {
	bytes int          // of each vector, from 4 to 64
	at    reg.Register // index of the first lane, nil for 0
	more  int          // lanes to add to the index
	mask  reg.Register // if not nil, the only lanes to touch
	low   reg.Register // AVX-512: the low byte of each of these 32-bit lanes
	bound map[string]reg.VecVirtual
}

func (g *amd64) whole(at reg.Register, more int) access {
	return access{bytes: g.vecBytes(), at: at, more: more, low: g.lowBytes}
}

// first is the first n lanes, less than a vector, of one vector's.
func (g *amd64) first(n, at reg.Register) access {
	a := g.whole(at, 0)
	if g.isa == avx512 {
		a.mask = g.opmask(^uint64(0), n)
		if g.lowBytes != nil {
			four := g.GP64()
			g.MOVQ(n, four)
			g.SHLQ(U8(2), four)
			a.low = g.opmask(lowBytes, four)
		}
		return a
	}
	set, m := g.GP64(), g.YMM()
	g.MOVQ(I32(-1), set)
	g.BZHIQ(n, set, set)
	g.broadcast(set, m)
	g.VPAND(g.laneBits, m, m)
	pick(g.bits, g.VPCMPEQD, g.VPCMPEQQ)(g.laneBits, m, m)
	a.mask = m
	return a
}

// lowBytes is a byte mask of the low byte of each 32-bit lane.
const lowBytes = 0x1111111111111111

// opmask returns a mask register with v, of which only the low n bits are kept
// if n is not nil.
func (g *amd64) opmask(v uint64, n reg.Register) reg.Register {
	r, k := g.GP64(), g.K()
	g.MOVQ(U64(v), r)
	if n != nil {
		g.BZHIQ(n, r, r)
	}
	g.KMOVQ(r, k)
	return k
}

// mem is where an access finds an operand with lanes of the given size.
func (g *amd64) mem(a access, name string, size int) Mem {
	m := Mem{Base: g.pointers[name], Disp: a.more * size}
	if a.at != nil {
		m.Index, m.Scale = a.at, uint8(size)
	}
	return m
}

// as is the part of a vector register that an access uses.
func as(r reg.VecVirtual, bytes int) reg.Register {
	switch bytes {
	case 64:
		return r.AsZ()
	case 32:
		return r.AsY()
	}
	return r.AsX()
}

// load loads the words or counts of an access.
func (g *amd64) load(a access, in *inst) reg.VecVirtual {
	if r, ok := a.bound[in.name]; ok {
		return r
	}
	r := g.vector()
	v := as(r, a.bytes)
	switch {
	case in.op == "VMOVDQU8.Z":
		g.VMOVDQU8_Z(g.mem(a, in.name, 4), a.low, v)
	case in.op == pseudoCount && g.bits == 64:
		m := g.mem(a, in.name, 4)
		switch {
		case a.mask != nil:
			// Not in one instruction: there are emulators that let the masked
			// VPMOVZXDQ fault on lanes that it does not load.
			g.VMOVDQU32_Z(m, a.mask, r.AsY())
			g.VPMOVZXDQ(r.AsY(), v)
		case a.bytes == 8:
			g.VMOVD(m, v)
		default:
			g.VPMOVZXDQ(m, v)
		}
	default:
		g.move(a, g.mem(a, in.name, g.size()), v)
	}
	return r
}

// store stores words.
func (g *amd64) store(a access, r reg.VecVirtual, name string, stream bool) {
	m, v := g.mem(a, name, g.size()), as(r, a.bytes)
	if stream {
		g.VMOVNTDQ(v, m)
		return
	}
	g.move(a, v, m)
}

// move moves words between a register and memory, either way.
func (g *amd64) move(a access, src, dst Op) {
	switch {
	case g.isa == avx512 && a.mask != nil:
		if _, loading := src.(Mem); loading {
			pick(g.bits, g.VMOVDQU32_Z, g.VMOVDQU64_Z)(src, a.mask, dst)
		} else {
			pick(g.bits, g.VMOVDQU32, g.VMOVDQU64)(src, a.mask, dst)
		}
	case g.isa == avx512:
		pick(g.bits, g.VMOVDQU32, g.VMOVDQU64)(src, dst)
	case a.mask != nil:
		pick(g.bits, g.VPMASKMOVD, g.VPMASKMOVQ)(src, a.mask, dst)
	case a.bytes == 4:
		g.VMOVD(src, dst)
	case a.bytes == 8:
		g.VMOVQ(src, dst)
	default:
		g.VMOVDQU(src, dst)
	}
}

// imm is an operand of an instruction that takes 8 or 32 bits, sign-extended.
func imm(n int) Op {
	if n < 128 {
		return U8(n)
	}
	return U32(n)
}

// pick picks the instruction for 32- or 64-bit words.
func pick[F any](bits int, d, q F) F {
	if bits == 32 {
		return d
	}
	return q
}

// body emits the program for the lanes of one access and returns its result, in
// out if that is not nil.
func (g *amd64) body(a access, out reg.VecVirtual) reg.VecVirtual {
	values := map[*inst]reg.VecVirtual{}
	value := func(in *inst) reg.VecVirtual {
		if !in.each {
			return g.uniform[in]
		}
		if values[in] == nil {
			values[in] = g.load(a, in)
		}
		return values[in]
	}
	for _, in := range g.program {
		if !in.each || loads(in) {
			continue
		}
		var sources []Op
		for i, arg := range in.args {
			if i == len(in.args)-1 && g.folds(a, arg) {
				sources = append(sources, g.mem(a, arg.name, g.size()))
			} else {
				sources = append(sources, as(value(arg), a.bytes))
			}
		}
		dst := g.vector()
		if first := in.args[0]; overwrites(in) && first.each && first.uses == 1 {
			dst = value(first)
		} else if in == g.result() && out != nil {
			dst = out
		}
		g.instruction(in, sources, as(dst, a.bytes))
		values[in] = dst
	}
	return values[g.result()]
}

// loads reports whether an instruction only loads an operand.
func loads(in *inst) bool {
	return in.op == pseudoWord || in.op == pseudoCount || in.op == "VMOVDQU8.Z"
}

// folds reports whether an operand's only use can read it from memory. A vector
// shorter than a register would read past its end.
func (g *amd64) folds(a access, in *inst) bool {
	_, bound := a.bound[in.name]
	sameSize := in.op == pseudoWord || in.op == pseudoCount && g.bits == 32
	return sameSize && in.each && in.uses == 1 && a.mask == nil && a.bytes >= 16 && !bound
}

// overwrites reports whether the instruction's first source is its destination.
func overwrites(in *inst) bool { return in.op == "VPTERNLOGD" || in.op == "VPTERNLOGQ" }

// instruction emits one instruction; sources are in the manual's order.
func (g *amd64) instruction(in *inst, sources []Op, dst Op) {
	if overwrites(in) {
		if sources[0] != dst {
			g.VMOVDQA64(sources[0], dst)
		}
		pick(g.bits, g.VPTERNLOGD, g.VPTERNLOGQ)(U8(in.imm), sources[2], sources[1], dst)
		return
	}
	fixed := func(f func(_, _, _ Op)) func(...Op) { return func(ops ...Op) { f(ops[0], ops[1], ops[2]) } }
	emit := map[string]func(...Op){
		"VPSLLVD": g.VPSLLVD, "VPSLLVQ": g.VPSLLVQ,
		"VPSRLVD": g.VPSRLVD, "VPSRLVQ": g.VPSRLVQ,
		"VPSRAVD": g.VPSRAVD, "VPSRAVQ": g.VPSRAVQ,
		"VPADDD": g.VPADDD, "VPADDQ": g.VPADDQ, "VPSUBUSW": g.VPSUBUSW, "VPMINUB": g.VPMINUB,
		"VPAND": fixed(g.VPAND), "VPANDD": g.VPANDD, "VPANDQ": g.VPANDQ,
		"VPANDN": fixed(g.VPANDN), "VPANDND": g.VPANDND, "VPANDNQ": g.VPANDNQ,
		"VPOR": fixed(g.VPOR), "VPORD": g.VPORD, "VPORQ": g.VPORQ,
		"VPXOR": fixed(g.VPXOR), "VPXORD": g.VPXORD, "VPXORQ": g.VPXORQ,
		"VPCMPGTQ": g.VPCMPGTQ,
	}[in.op]
	if emit == nil {
		panic("no emitter for " + in.op)
	}
	emit(sources[1], sources[0], dst)
}

// hoist emits what is the same in all lanes. operand broadcasts an operand.
func (g *amd64) hoist(operand func(in *inst, dst reg.VecVirtual)) {
	for _, in := range g.program {
		if in.each {
			continue
		}
		r := g.vector()
		g.uniform[in] = r
		switch in.op {
		case pseudoWord, pseudoCount:
			operand(in, r)
		case pseudoConst:
			g.constant(in.val, r)
		default:
			var sources []Op
			for _, a := range in.args {
				sources = append(sources, g.uniform[a])
			}
			g.instruction(in, sources, r)
		}
	}
}

// splat broadcasts an argument: a word, or the low 8 bits of a count.
func (g *amd64) splat(in *inst, dst reg.VecVirtual) {
	r := g.argument(in.name)
	if in.op == pseudoCount {
		g.MOVBLZX(r.As8L(), r.As32())
	}
	g.broadcast(r, dst)
}

// argument loads an argument of 4 or 8 bytes.
func (g *amd64) argument(name string) reg.GPVirtual {
	b, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	r := g.GP64()
	if b.Type.Kind() == types.Uint32 {
		g.MOVL(b.Addr, r.As32())
	} else {
		g.MOVQ(b.Addr, r)
	}
	return r
}

func (g *amd64) broadcast(r reg.GPVirtual, dst reg.VecVirtual) {
	switch {
	case g.isa == avx2 && g.bits == 32:
		g.VMOVD(r.As32(), dst.AsX())
		g.VPBROADCASTD(dst.AsX(), dst)
	case g.isa == avx2:
		g.VMOVQ(r.As64(), dst.AsX())
		g.VPBROADCASTQ(dst.AsX(), dst)
	case g.bits == 32:
		g.VPBROADCASTD(r.As32(), dst)
	default:
		g.VPBROADCASTQ(r.As64(), dst)
	}
}

func (g *amd64) constant(v uint64, dst reg.VecVirtual) {
	switch {
	case v == 0 && g.isa == avx512:
		g.VPXORD(dst, dst, dst)
	case v == 0:
		g.VPXOR(dst, dst, dst)
	case v == ^uint64(0)>>(64-g.bits) && g.isa == avx512:
		g.VPTERNLOGD(U8(0xff), dst, dst, dst)
	case v == ^uint64(0)>>(64-g.bits):
		g.VPCMPEQD(dst, dst, dst)
	default:
		r := g.GP64()
		g.MOVL(U32(v), r.As32())
		g.broadcast(r, dst)
	}
}

// label returns a name that no other label of the function has.
func (g *amd64) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// unaligned sets n to the number of lanes from base up to the next address that
// is a multiple of a vector's size, and the zero flag if that is 0.
func (g *amd64) unaligned(base, n reg.Register) {
	if base != n {
		g.MOVQ(base, n)
	}
	g.NEGQ(n)
	g.ANDQ(U8(g.vecBytes()-1), n)
	g.SHRQ(U8(bits.TrailingZeros(uint(g.size()))), n)
}

// loop runs body over lanes at a time while at least that many are left.
func (g *amd64) loop(lanes int, index, rest reg.Register, body func()) {
	top, done := g.label("loop"), g.label("done")
	g.SUBQ(imm(lanes), rest)
	g.JB(LabelRef(done))
	g.Label(top)
	body()
	g.ADDQ(imm(lanes), index)
	g.SUBQ(imm(lanes), rest)
	g.JAE(LabelRef(top))
	g.Label(done)
	g.ADDQ(imm(lanes), rest)
}

// vectors is the loop over whole vectors, count of them at a time.
func (g *amd64) vectors(count int, index, rest reg.Register, stream bool) {
	g.loop(count*g.vecLanes(), index, rest, func() {
		for i := range count {
			a := g.whole(index, i*g.vecLanes())
			g.store(a, g.body(a, nil), "dst", stream)
		}
	})
}

// streaming is the main loop with stores that bypass the cache, if the argument
// stream asks for it.
func (g *amd64) streaming(loop func()) {
	done := g.label("cached")
	flag := g.Load(g.Param("stream"), g.GP8())
	g.TESTB(flag, flag)
	g.JZ(LabelRef(done))
	loop()
	// These stores are weakly ordered.
	g.SFENCE()
	g.Label(done)
}

// slice512 is a slice kernel with masks: whole vectors, and at both ends of the
// slice vectors that touch only the lanes that are there.
func (g *amd64) slice512() {
	rest := g.argument("n")
	index := g.GP64()
	g.XORQ(index, index)
	masked := func(n reg.Register) {
		a := g.first(n, index)
		g.store(a, g.body(a, nil), "dst", false)
	}

	g.CMPQ(rest, imm(alignVectors*g.vecLanes()))
	g.JB(LabelRef("vectors"))
	head := g.GP64()
	g.unaligned(g.pointers["dst"], head)
	g.JZ(LabelRef("aligned"))
	masked(head)
	g.ADDQ(head, index)
	g.SUBQ(head, rest)
	g.Label("aligned")
	g.streaming(func() { g.vectors(unroll, index, rest, true) })

	g.Label("vectors")
	g.vectors(unroll, index, rest, false)
	g.vectors(1, index, rest, false)
	g.TESTQ(rest, rest)
	g.JZ(LabelRef("return"))
	masked(rest)
	g.Label("return")
}

// slice256 is a slice kernel without masks. The vectors at the ends overlap
// those of the loop: they are computed before anything is stored, so that dst
// may be a source, and stored last.
func (g *amd64) slice256() {
	n := g.argument("n")
	g.CMPQ(n, imm(g.vecLanes()))
	g.JB(LabelRef("short"))

	last := g.GP64()
	g.LEAQ(Mem{Base: n, Disp: -g.vecLanes()}, last)
	end := g.whole(last, 0)
	tail := g.body(end, nil)
	index, rest := g.GP64(), g.GP64()
	g.XORQ(index, index)
	g.MOVQ(n, rest)
	align := imm(alignVectors * g.vecLanes())
	g.CMPQ(n, align)
	g.JB(LabelRef("vectors"))
	start := g.whole(nil, 0)
	head := g.body(start, nil)
	g.unaligned(g.pointers["dst"], index)
	g.SUBQ(index, rest)
	g.streaming(func() { g.vectors(unroll, index, rest, true) })

	g.Label("vectors")
	g.vectors(unroll, index, rest, false)
	g.vectors(1, index, rest, false)
	g.CMPQ(n, align)
	g.JB(LabelRef("tail"))
	g.store(start, head, "dst", false)
	g.Label("tail")
	g.store(end, tail, "dst", false)
	g.JMP(LabelRef("return"))

	g.Label("short")
	for size := 16; size >= g.size(); size /= 2 {
		lanes := size / g.size()
		next := g.label("short")
		g.CMPQ(n, imm(lanes))
		g.JB(LabelRef(next))
		start := access{bytes: size}
		low := g.body(start, nil)
		if lanes > 1 {
			last := g.GP64()
			g.LEAQ(Mem{Base: n, Disp: -lanes}, last)
			end := access{bytes: size, at: last}
			high := g.body(end, nil)
			g.store(end, high, "dst", false)
		}
		g.store(start, low, "dst", false)
		g.JMP(LabelRef("return"))
		g.Label(next)
	}
	g.Label("return")
}

// warp is a warp kernel: inactive lanes of the result are replaced by what dst
// holds.
func (g *amd64) warp() {
	active := g.argument("active")
	all, none, bits := g.vector(), g.vector(), g.vector()
	if g.isa == avx2 {
		g.broadcast(active, all)
		g.constant(0, none)
		g.VMOVDQU(g.laneBits, bits)
	} else {
		g.NOTL(active.As32())
	}
	for lane := 0; lane < 32; lane += g.vecLanes() {
		a := g.whole(nil, lane)
		r := g.body(a, nil)
		old := g.mem(a, "dst", g.size())
		if g.isa == avx2 {
			inactive := g.YMM()
			g.VPAND(bits, all, inactive)
			pick(g.bits, g.VPCMPEQD, g.VPCMPEQQ)(none, inactive, inactive)
			pick(g.bits, g.VBLENDVPS, g.VBLENDVPD)(inactive, old, r, r)
			if lane+g.vecLanes() < 32 {
				pick(g.bits, g.VPSRLD, g.VPSRLQ)(U8(g.vecLanes()), all, all)
			}
		} else {
			inactive := g.K()
			g.KMOVW(active.As32(), inactive)
			pick(g.bits, g.VMOVDQU32, g.VMOVDQU64)(old, inactive, r)
			if lane+g.vecLanes() < 32 {
				g.SHRL(U8(g.vecLanes()), active.As32())
			}
		}
		g.store(a, r, "dst", false)
	}
}

// pack is a pack kernel: a tile of words stays in registers while a loop runs
// over the columns.
func (g *amd64) pack() {
	index, rest, k := g.argument("lo"), g.argument("hi"), g.argument("k")
	g.SUBQ(index, rest)
	tiles := func(count int, stream bool) {
		g.loop(count*g.vecLanes(), index, rest, func() { g.packTile(count, g.whole(index, 0), k, stream) })
	}
	partial := func(n reg.Register) { g.packTile(1, g.first(n, index), k, false) }

	g.streaming(func() {
		head := g.GP64()
		g.LEAQ(Mem{Base: g.pointers["dst"], Index: index, Scale: uint8(g.size())}, head)
		g.unaligned(head, head)
		g.JZ(LabelRef("aligned"))
		// So few lanes make no tile, aligned or not.
		g.CMPQ(rest, head)
		g.JBE(LabelRef("aligned"))
		partial(head)
		g.ADDQ(head, index)
		g.SUBQ(head, rest)
		g.Label("aligned")
		tiles(tile, true)
	})
	tiles(tile, false)
	tiles(1, false)
	g.TESTQ(rest, rest)
	g.JZ(LabelRef("return"))
	partial(rest)
	g.Label("return")
}

// columns loops over the k columns; body finds what is the same in all lanes in
// registers, and the column's address among the pointers.
func (g *amd64) columns(k reg.Register, body func()) {
	column, left, data := g.GP64(), g.GP64(), g.GP64()
	g.pointers["src"] = data
	g.MOVQ(g.pointers["cols"], column)
	g.MOVQ(k, left)
	top := g.label("column")
	g.Label(top)
	g.MOVQ(Mem{Base: column, Disp: columnData}, data)
	g.hoist(func(in *inst, dst reg.VecVirtual) {
		// Of pos there is no more than the low 8 bits.
		field := Mem{Base: column, Disp: map[string]int{"pos": columnPos, "mask": columnMask}[in.name]}
		pick(g.bits, g.VPBROADCASTD, g.VPBROADCASTQ)(field, dst)
	})
	body()
	g.ADDQ(U8(columnSize), column)
	g.DECQ(left)
	g.JNZ(LabelRef(top))
}

// packTile builds count vectors of words out of all columns.
func (g *amd64) packTile(count int, a access, k reg.Register, stream bool) {
	zero, start, done := g.label("zero"), g.label("start"), g.label("packed")
	words := make([]reg.VecVirtual, count)
	for i := range words {
		words[i] = g.vector()
	}
	g.TESTQ(g.pointers["base"], g.pointers["base"])
	g.JZ(LabelRef(zero))
	for i, r := range words {
		a.more = i * g.vecLanes()
		g.move(a, g.mem(a, "base", g.size()), as(r, a.bytes))
	}
	g.JMP(LabelRef(start))
	g.Label(zero)
	for _, r := range words {
		g.constant(0, r)
	}
	g.Label(start)
	g.TESTQ(k, k)
	g.JZ(LabelRef(done))
	g.columns(k, func() {
		for i, r := range words {
			a.more = i * g.vecLanes()
			a.bound = map[string]reg.VecVirtual{"dst": r}
			g.body(a, r)
		}
	})
	g.Label(done)
	for i, r := range words {
		a.more = i * g.vecLanes()
		g.store(a, r, "dst", stream)
	}
}
