package main

import (
	"fmt"
	"go/token"
	"go/types"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

const (
	// unroll is the number of vectors in one turn of a slice kernel's main loop.
	unroll = 4
	// alignVectors is the least number of vectors for which it pays to align dst.
	alignVectors = 16
)

// renderAMD64 returns bfi_amd64.s.
func renderAMD64() ([]byte, error) {
	c := build.NewContext()
	c.ConstraintExpr(asmTags("amd64"))
	tables := newTables(c)
	tables.permute = newPermuteTables(c)
	for _, k := range kernels {
		for _, isa := range []isa{bmi2, avx2, avx512} {
			for _, t := range k.targets(isa) {
				g := &amd64{Context: c, kernel: k, target: t, tables: tables}
				g.function()
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

// tables holds constant vectors. Most are keyed by the width of a lane; narrow and gather
// have the width of an element too.
type tables struct {
	toSign  map[int]Mem    // counts that shift bit i of a word to the sign of lane i, for 32 lanes
	laneBit map[int]Mem    // lane i has bit i modulo the lane's width
	mirror  Mem            // shuffles each 8 bytes to the opposite order
	spread  Mem            // shuffles 4 bytes to 8 lanes each
	narrow  map[[2]int]Mem // puts the lanes' low bytes side by side in each 16 bytes; the upper 16 leave room for the lower's
	gather  map[[2]int]Mem // for each vector, puts its lanes' low bytes side by side in each 16 bytes, after earlier vectors'
	inOrder map[[2]int]Mem // keyed by a vector's bytes and the vectors packed into one: where packing leaves each 32 bits
	permute permuteTables  // the permute kernel's tables
}

func newTables(c *build.Context) *tables {
	t := &tables{toSign: map[int]Mem{}, laneBit: map[int]Mem{}, narrow: map[[2]int]Mem{}, gather: map[[2]int]Mem{}, inOrder: map[[2]int]Mem{}}
	table := func(name string, lane, lanes int, value func(i int) uint64) Mem {
		m := c.StaticGlobal(name)
		c.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range lanes {
			v := value(i)
			c.AppendDatum(map[int]Constant{8: U8(v), 16: U16(v), 32: U32(v), 64: U64(v)}[lane])
		}
		return m
	}
	for _, lane := range []int{32, 64} {
		t.toSign[lane] = table(fmt.Sprintf("toSign%d", lane), lane, 32, func(i int) uint64 { return uint64(lane - 1 - i) })
	}
	for _, lane := range []int{8, 16} {
		t.laneBit[lane] = table(fmt.Sprintf("laneBit%d", lane), lane, 256/lane, func(i int) uint64 { return 1 << (i % lane) })
	}
	t.mirror = table("mirror", 8, 64, func(i int) uint64 { return uint64(i&8 + 7 - i%8) })
	t.spread = table("spread", 8, 32, func(i int) uint64 { return uint64(i / 8) })
	for _, lane := range []int{16, 32, 64} {
		for element := 8; element < lane; element *= 2 {
			half := 16 * element / lane // bytes that are left of 16
			together := func(block int) func(i int) uint64 {
				return func(i int) uint64 {
					at := i%16 - i/block*half
					if at < 0 || at >= half {
						return 0x80
					}
					return uint64(at*8/element*lane/8 + at%(element/8))
				}
			}
			t.narrow[[2]int{lane, element}] = table(fmt.Sprintf("narrow%dTo%d", lane, element), 8, 32, together(16))
			if lane <= 32 {
				t.gather[[2]int{lane, element}] = table(fmt.Sprintf("gather%dTo%d", lane, element), 8, 64*lane/element, together(64))
			}
		}
	}
	for _, size := range []int{32, 64} {
		for _, count := range []int{2, 4} {
			// Packing takes a chunk from the same 16 bytes of every vector in turn.
			chunk, parts := 4/count, size/16
			t.inOrder[[2]int{size, count}] = table(fmt.Sprintf("inOrder%dOf%d", size, count), 32, size/4, func(i int) uint64 {
				vector, part, rest := i/chunk/parts, i/chunk%parts, i%chunk
				return uint64(part*4 + vector*chunk + rest)
			})
		}
	}
	return t
}

// amd64 emits one function.
type amd64 struct {
	*build.Context
	*tables
	kernel kernel
	target target

	pointers map[string]reg.Register  // operands in memory
	uniform  map[*inst]reg.VecVirtual // values that are the same in all lanes
	lowBytes reg.Register             // AVX-512: selects the low byte of each 32-bit lane
	labels   int
}

func (g *amd64) function() {
	g.Function(g.kernel.symbol(g.target))
	large := g.kernel.shape == permuteShape && g.wide() // it has a large frame, and needs all registers
	if !large {
		g.Attributes(attr.NOSPLIT)
	}
	g.Signature(signature(g.kernel.params(g.target)))
	g.pointers = map[string]reg.Register{}
	g.uniform = map[*inst]reg.VecVirtual{}
	for _, p := range g.kernel.params(g.target) {
		if p.typ == "unsafe.Pointer" && !large {
			g.pointers[p.name] = g.argument(p.name)
		}
	}
	switch g.kernel.shape {
	case packShape:
		g.pack()
		return
	case unpackShape:
		g.unpack()
		return
	case denseShape:
		map[string]func(){"gatherBits": g.gatherBits, "scatterBits": g.scatterBits,
			"gatherOnes": g.gatherOnes, "scatterOnes": g.scatterOnes,
			"gatherBytes": g.gatherBytes, "scatterBytes": g.scatterBytes}[g.kernel.name]()
		return
	case permuteShape:
		if g.wide() {
			g.permute512()
		} else {
			g.permute256()
		}
		return
	}
	p := lower(g.kernel.formula(g.target), g.target)
	if slices.ContainsFunc(p, func(in *inst) bool { return in.op == "VMOVDQU8.Z" }) {
		g.lowBytes = g.opmask(lowBytes, nil)
	}
	g.hoist(p, g.broadcastArgument)
	vectors := func(index, rest reg.Register, stream bool) { g.vectors(p, unroll, index, rest, stream) }
	switch {
	case g.kernel.shape == maskedShape && g.wide():
		g.masked512(p)
	case g.kernel.shape == maskedShape:
		g.masked256(p)
	case g.kernel.shape == warpShape:
		g.warp(p)
	case g.wide():
		g.slice512(p, g.argument("n"), vectors, g.ret)
	default:
		g.slice256(p, g.argument("n"), vectors, g.ret)
	}
}

// ret ends the function.
func (g *amd64) ret() {
	g.VZEROUPPER()
	g.RET()
}

// wide reports whether vectors have 512 bits and mask registers.
func (g *amd64) wide() bool { return g.target.isa == avx512 }

// vecBytes returns the size of the instruction set's vectors.
func (g *amd64) vecBytes() int {
	if g.wide() {
		return 64
	}
	return 32
}

// any reports whether one kernel does lanes of all widths. Then it counts bytes.
func (g *amd64) any() bool { return g.kernel.lanes == anyLanes }

// laneBytes returns the bytes of a lane in a register: 1 if the kernel counts bytes.
func (g *amd64) laneBytes() int {
	if g.any() {
		return 1
	}
	return g.target.lane / 8
}

// vecLanes returns the number of lanes in a vector.
func (g *amd64) vecLanes() int { return g.vecBytes() / g.laneBytes() }

// dstBytes returns the bytes of a lane in dst.
func (g *amd64) dstBytes() int {
	if g.any() {
		return 1
	}
	return g.target.element / 8
}

// sourceBytes returns the bytes of a lane in an operand.
func (g *amd64) sourceBytes(in *inst) int {
	switch {
	case in.op == pseudoCount || in.op == "VMOVDQU8.Z":
		return 4
	case in.name == "dst":
		return g.dstBytes()
	case g.any():
		return 1
	}
	return g.target.word / 8
}

func (g *amd64) vector() reg.VecVirtual {
	if g.wide() {
		return g.ZMM()
	}
	return g.YMM()
}

// asm emits the named instruction.
func (g *amd64) asm(mnemonic string, ops ...Op) {
	method := reflect.ValueOf(g.Context).MethodByName(strings.ReplaceAll(mnemonic, ".", "_"))
	if !method.IsValid() {
		panic("avo has no " + mnemonic)
	}
	var args []reflect.Value
	for _, op := range ops {
		args = append(args, reflect.ValueOf(op))
	}
	method.Call(args)
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

// An access says which lanes a body works on, and how it reaches them.
type access struct {
	lanes int                       // the lanes of a vector; with AVX2 maybe a lesser power of two
	at    reg.Register              // index of the first lane, nil for 0
	more  int                       // lanes added to the index
	mask  reg.Register              // AVX-512: if not nil, only these lanes are touched
	low   reg.Register              // AVX-512: a byte mask of the low byte of each 32-bit lane
	bound map[string]reg.VecVirtual // operands that are in registers
}

func (g *amd64) whole(at reg.Register, more int) access {
	return access{lanes: g.vecLanes(), at: at, more: more, low: g.lowBytes}
}

// first returns an access to the first n lanes of a vector. If bits is not nil, it
// touches only the lanes whose bit is set. AVX-512 only.
func (g *amd64) first(n, at, bits reg.Register) access {
	a := g.whole(at, 0)
	if bits == nil {
		a.mask = g.opmask(^uint64(0), n)
	} else {
		a.mask = g.K()
		g.KMOVQ(bits, a.mask)
	}
	if g.lowBytes != nil {
		four := g.GP64()
		g.MOVQ(n, four)
		g.SHLQ(U8(2), four)
		a.low = g.opmask(lowBytes, four)
	}
	return a
}

// lowBytes is a byte mask of the low byte of each 32-bit lane.
const lowBytes = 0x1111111111111111

// opmask returns a mask register with v, or with the low n bits of v if n is not nil.
func (g *amd64) opmask(v uint64, n reg.Register) reg.Register {
	r, k := g.GP64(), g.K()
	g.MOVQ(I32(-1), r)
	if v != ^uint64(0) {
		g.MOVQ(U64(v), r)
	}
	if n != nil {
		g.BZHIQ(n, r, r)
	}
	g.KMOVQ(r, k)
	return k
}

// mem returns the place of an access in an operand whose lanes have size bytes.
func (g *amd64) mem(a access, name string, size int) Mem {
	m := Mem{Base: g.pointers[name], Disp: a.more * size}
	if a.at != nil {
		m.Index, m.Scale = a.at, uint8(size)
	}
	return m
}

// as returns the part of a vector register that has the given number of bytes.
func as(r reg.VecVirtual, bytes int) reg.Register {
	switch bytes {
	case 64:
		return r.AsZ()
	case 32:
		return r.AsY()
	}
	return r.AsX()
}

// part returns the part of a vector register that the lanes of an access take.
func (g *amd64) part(a access, r reg.VecVirtual) reg.Register { return as(r, a.lanes*g.laneBytes()) }

// load loads the words or counts of an access.
func (g *amd64) load(a access, in *inst) reg.VecVirtual {
	if r, ok := a.bound[in.name]; ok {
		return r
	}
	r := g.vector()
	size := g.sourceBytes(in)
	m, v := g.mem(a, in.name, size), g.part(a, r)
	extend := "VPMOVZX"
	if in.op == pseudoWord && g.kernel.signed == signed {
		extend = "VPMOVSX"
	}
	extend += suffixes[8*size] + suffixes[8*g.laneBytes()]
	switch {
	case in.op == "VMOVDQU8.Z":
		g.VMOVDQU8_Z(m, a.low, v)
	case a.mask != nil:
		// A masked VPMOVZX would do it alone, but in some emulators it faults on
		// lanes that it does not load.
		narrow := as(r, a.lanes*size)
		g.asm(fmt.Sprintf("VMOVDQU%d.Z", 8*size), m, a.mask, narrow)
		if size < g.laneBytes() {
			g.asm(extend, narrow, v)
		}
	case size == g.laneBytes():
		g.loadBytes(m, r, a.lanes*size)
	case a.lanes*g.laneBytes() >= 16:
		g.asm(extend, m, v)
	default:
		g.loadBytes(m, r, a.lanes*size)
		g.asm(extend, v, v)
	}
	return r
}

// loadBytes loads count bytes, a power of two.
func (g *amd64) loadBytes(m Mem, r reg.VecVirtual, count int) {
	switch count {
	case 1, 2:
		word := g.GP32()
		g.asm(map[int]string{1: "MOVBLZX", 2: "MOVWLZX"}[count], m, word)
		g.VMOVD(word, r.AsX())
	default:
		g.asm(g.moves(count), m, as(r, count))
	}
}

// storeBytes stores count bytes, a power of two.
func (g *amd64) storeBytes(r reg.VecVirtual, m Mem, count int) {
	switch count {
	case 1:
		g.VPEXTRB(U8(0), r.AsX(), m)
	case 2:
		g.VPEXTRW(U8(0), r.AsX(), m)
	default:
		g.asm(g.moves(count), as(r, count), m)
	}
}

// moves returns the instruction that moves count bytes, from 4 up to a whole vector.
func (g *amd64) moves(count int) string {
	switch {
	case count == 4:
		return "VMOVD"
	case count == 8:
		return "VMOVQ"
	case count == 64:
		return "VMOVDQU64"
	}
	return "VMOVDQU"
}

// store stores words, each narrowed to size bytes.
func (g *amd64) store(a access, r reg.VecVirtual, size int, stream bool) {
	m := g.mem(a, "dst", size)
	if stream {
		g.VMOVNTDQ(g.part(a, r), m)
		return
	}
	if size < g.laneBytes() {
		r = g.narrow(a, r, size)
	}
	if a.mask != nil {
		g.asm(fmt.Sprintf("VMOVDQU%d", 8*size), as(r, a.lanes*size), a.mask, m)
		return
	}
	g.storeBytes(r, m, a.lanes*size)
}

// narrow returns the low size bytes of each lane, side by side.
func (g *amd64) narrow(a access, r reg.VecVirtual, size int) reg.VecVirtual {
	n := g.vector()
	if g.wide() {
		g.asm("VPMOV"+suffixes[8*g.laneBytes()]+suffixes[8*size], g.part(a, r), as(n, a.lanes*size))
		return n
	}
	g.VPSHUFB(g.tables.narrow[[2]int{8 * g.laneBytes(), 8 * size}], g.part(a, r), g.part(a, n))
	if a.lanes*g.laneBytes() == 32 {
		high := g.XMM()
		g.VEXTRACTI128(U8(1), n.AsY(), high)
		g.VPOR(high, n.AsX(), n.AsX())
	}
	return n
}

// imm returns n as an operand of an instruction that takes 8 or 32 bits, sign-extended.
func imm(n int) Op {
	if n < 128 {
		return U8(n)
	}
	return U32(n)
}

// body emits the program for the lanes of one access and returns its result. The
// result is in out if out is not nil.
func (g *amd64) body(p program, a access, out reg.VecVirtual) reg.VecVirtual {
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
	for _, in := range p {
		if !in.each || loads(in) {
			continue
		}
		var sources []Op
		for i, arg := range in.args {
			if i > 0 && i == len(in.args)-1 && g.folds(a, arg) {
				sources = append(sources, g.mem(a, arg.name, g.sourceBytes(arg)))
			} else {
				sources = append(sources, g.part(a, value(arg)))
			}
		}
		dst := g.vector()
		if first := in.args[0]; overwrites(in) && first.each && first.uses == 1 {
			dst = value(first)
		} else if in == p.result() && out != nil {
			dst = out
		}
		g.instruction(in, sources, g.part(a, dst))
		values[in] = dst
	}
	return values[p.result()]
}

// loads reports whether an instruction only loads an operand.
func loads(in *inst) bool {
	return in.op == pseudoWord || in.op == pseudoCount || in.op == "VMOVDQU8.Z"
}

// folds reports whether the one use of an operand can read it from memory. It cannot if
// the lanes are fewer than a register's, because it would read past their end.
func (g *amd64) folds(a access, in *inst) bool {
	_, bound := a.bound[in.name]
	// If it read 512 bits from memory this way, Unpack to bytes took a quarter longer past the caches.
	apart := g.wide() && g.kernel.shape == unpackShape
	return (in.op == pseudoWord || in.op == pseudoCount) && g.sourceBytes(in) == g.laneBytes() &&
		in.uses == 1 && a.mask == nil && a.lanes*g.laneBytes() >= 16 && !bound && !apart
}

// overwrites reports whether the instruction's first source is its destination.
func overwrites(in *inst) bool { return strings.HasPrefix(in.op, "VPTERNLOG") }

// instruction emits one instruction. The sources are in the manual's order.
func (g *amd64) instruction(in *inst, sources []Op, dst Op) {
	switch {
	case overwrites(in):
		if sources[0] != dst {
			g.VMOVDQA64(sources[0], dst)
		}
		g.asm(in.op, U8(in.imm), sources[2], sources[1], dst)
	case strings.HasPrefix(in.op, "VPMOVM2"):
		k := g.K()
		lane := strings.TrimPrefix(in.op, "VPMOVM2")
		g.asm("VPMOV"+lane+"2M", sources[0], k)
		g.asm(in.op, k, dst)
	default:
		g.asm(in.op, sources[1], sources[0], dst)
	}
}

// hoist emits the instructions whose value is the same in all lanes. argument
// broadcasts an argument.
func (g *amd64) hoist(p program, argument func(in *inst, dst reg.VecVirtual)) {
	for _, in := range p {
		if in.each || g.uniform[in] != nil {
			continue
		}
		r := g.vector()
		g.uniform[in] = r
		switch in.op {
		case pseudoUniform, pseudoLeft, pseudoRight:
			argument(in, r)
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

// broadcastArgument broadcasts 64 bits of an argument.
func (g *amd64) broadcastArgument(in *inst, dst reg.VecVirtual) {
	b, err := g.Param(in.name).Resolve()
	if err != nil {
		panic(err)
	}
	g.VPBROADCASTQ(b.Addr, dst)
}

// broadcastBack broadcasts -shift of a field for pseudoUniform, max(-shift, 0) for
// pseudoLeft and max(shift, 0) for pseudoRight.
func (g *amd64) broadcastBack(in *inst, field reg.Register, dst reg.VecVirtual) {
	shift := Mem{Base: field, Disp: fieldShift}
	if in.op == pseudoUniform {
		// A rotation takes the low bits of its count.
		count := g.vector()
		g.VPBROADCASTQ(shift, count)
		g.constant(0, dst)
		g.VPSUBQ(count, dst, dst)
		return
	}
	positive, zero := g.GP64(), g.GP64()
	g.XORL(zero.As32(), zero.As32())
	g.MOVBQSX(shift, positive)
	if in.op == pseudoLeft {
		g.NEGQ(positive)
	} else {
		g.TESTQ(positive, positive)
	}
	g.CMOVQLT(zero, positive)
	g.broadcast(positive, 64, dst)
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

// broadcast copies the low lane bits of a general register to every lane.
func (g *amd64) broadcast(r reg.GP, lane int, dst reg.VecVirtual) {
	source := Op(r.As32())
	if lane == 64 {
		source = r.As64()
	}
	if !g.wide() {
		g.asm(map[bool]string{true: "VMOVQ", false: "VMOVD"}[lane == 64], source, dst.AsX())
		source = dst.AsX()
	}
	g.asm("VPBROADCAST"+suffixes[lane], source, dst)
}

// logic returns the instruction set's name for a logical instruction.
func (g *amd64) logic(mnemonic string) string {
	if g.wide() {
		return mnemonic + "Q"
	}
	return mnemonic
}

// constant puts v in every lane.
func (g *amd64) constant(v uint64, dst reg.VecVirtual) {
	switch {
	case v == 0 && g.wide():
		g.VPXORD(dst, dst, dst)
	case v == 0:
		g.VPXOR(dst, dst, dst)
	case v == ^uint64(0)>>(64-g.target.lane) && g.wide():
		g.VPTERNLOGD(U8(0xff), dst, dst, dst)
	case v == ^uint64(0)>>(64-g.target.lane):
		g.VPCMPEQD(dst, dst, dst)
	default:
		r := g.GP64()
		g.MOVL(U32(v), r.As32())
		g.broadcast(r, g.target.lane, dst)
	}
}

// label returns a name that no other label of the function has.
func (g *amd64) label(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// landing emits an aligned label. It is for labels that are only reached by jumps, where
// alignment costs nothing. Just before the end of a cache line, such a label can cost a
// short loop a fifth of its time.
func (g *amd64) landing(label string) {
	g.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []Op{U8(32)}})
	g.Label(label)
}

// loop emits a loop that runs body for lanes lanes at a time, while at least that many
// are left.
func (g *amd64) loop(name, comment string, lanes int, index, rest reg.Register, body func()) {
	top, done := g.label(name), g.label(name+"Done")
	g.SUBQ(imm(lanes), rest)
	g.JB(LabelRef(done))
	g.Comment(comment)
	g.Label(top)
	body()
	if index != nil {
		g.ADDQ(imm(lanes), index)
	}
	g.SUBQ(imm(lanes), rest)
	g.JAE(LabelRef(top))
	g.Label(done)
	g.ADDQ(imm(lanes), rest)
}

// vectors emits the loop over whole vectors, count of them at a time.
func (g *amd64) vectors(p program, count int, index, rest reg.Register, stream bool) {
	name, comment := "vectors", fmt.Sprintf("%d vectors a turn.", count)
	switch {
	case stream:
		name, comment = "stream", fmt.Sprintf("%d vectors a turn, stored past the cache.", count)
	case count == 1:
		name, comment = "vector", "One vector a turn."
	}
	g.loop(name, comment, count*g.vecLanes(), index, rest, func() {
		for i := range count {
			a := g.whole(index, i*g.vecLanes())
			g.store(a, g.body(p, a, nil), g.dstBytes(), stream)
		}
	})
}

// streaming emits code that runs only if the argument stream is set.
func (g *amd64) streaming(code func()) {
	done := g.label("cached")
	flag := g.Load(g.Param("stream"), g.GP8())
	g.TESTB(flag, flag)
	g.JZ(LabelRef(done))
	code()
	g.Label(done)
}

// aligns reports whether dst can be aligned to vectors. It can if lanes have their
// register's width in dst.
func (g *amd64) aligns() bool { return g.dstBytes() == g.laneBytes() }

// unaligned sets n to the number of lanes from an address to the next multiple of a
// vector's size. It counts whole words, so a misaligned dst stays misaligned by less
// than a word.
func (g *amd64) unaligned(address, n reg.Register) {
	g.MOVQ(address, n)
	g.NEGQ(n)
	g.ANDQ(U8(g.vecBytes()-1), n)
	if g.any() {
		size := g.argument("size")
		g.NEGQ(size)
		g.ANDQ(size, n)
	} else if shift := bits.TrailingZeros(uint(g.dstBytes())); shift > 0 {
		g.SHRQ(U8(shift), n)
	}
}

// slice512 emits a slice kernel with mask registers. vectors emits the loop over several
// whole vectors at a time. At both ends of the slice a masked vector touches only lanes
// of the slice. leave ends the code.
func (g *amd64) slice512(p program, rest reg.Register, vectors func(index, rest reg.Register, stream bool), leave func()) {
	long, cached, end := g.label("long"), g.label("cached"), g.label("end")
	index := g.GP64()
	masked := func(n, at reg.Register) {
		a := g.first(n, at, nil)
		g.store(a, g.body(p, a, nil), g.dstBytes(), false)
	}

	g.CMPQ(rest, imm(g.vecLanes()))
	g.JA(LabelRef(long))
	g.Comment("No more than one vector.")
	masked(rest, nil)
	leave()

	g.Label(long)
	g.XORL(index.As32(), index.As32())
	if g.aligns() {
		aligned := g.label("aligned")
		g.CMPQ(rest, imm(alignVectors*g.vecLanes()))
		g.JB(LabelRef(cached))
		g.Comment("The lanes before the first aligned one.")
		head := g.GP64()
		g.unaligned(g.pointers["dst"], head)
		g.JZ(LabelRef(aligned))
		masked(head, nil)
		g.ADDQ(head, index)
		g.SUBQ(head, rest)
		g.Label(aligned)
		g.streaming(func() {
			vectors(index, rest, true)
			// Stores past the cache are weakly ordered.
			g.SFENCE()
		})
		g.Label(cached)
	}
	vectors(index, rest, false)
	g.vectors(p, 1, index, rest, false)
	// Even an access to no lane can be slow if it is on another page.
	g.TESTQ(rest, rest)
	g.JZ(LabelRef(end))
	g.Comment("The lanes after the last vector.")
	masked(rest, index)
	g.Label(end)
	leave()
}

// slice256 emits a slice kernel without mask registers. The vectors at both ends of the
// slice overlap vectors of the loop. They are computed before anything is stored, because
// dst may be a source, and they are stored last.
func (g *amd64) slice256(p program, n reg.Register, vectors func(index, rest reg.Register, stream bool), leave func()) {
	short, cached, ending := g.label("short"), g.label("cached"), g.label("tail")
	g.CMPQ(n, imm(g.vecLanes()))
	g.JB(LabelRef(short))

	last := g.GP64()
	g.LEAQ(Mem{Base: n, Disp: -g.vecLanes()}, last)
	end := g.whole(last, 0)
	tail := g.body(p, end, nil)
	index, rest := g.GP64(), g.GP64()
	g.XORL(index.As32(), index.As32())
	g.MOVQ(n, rest)
	align := imm(alignVectors * g.vecLanes())
	start := g.whole(nil, 0)
	var head reg.VecVirtual
	if g.aligns() {
		g.CMPQ(n, align)
		g.JB(LabelRef(cached))
		head = g.body(p, start, nil)
		g.unaligned(g.pointers["dst"], index)
		g.SUBQ(index, rest)
		g.streaming(func() {
			vectors(index, rest, true)
			g.SFENCE()
		})
		g.Label(cached)
	}
	vectors(index, rest, false)
	g.vectors(p, 1, index, rest, false)
	if g.aligns() {
		g.CMPQ(n, align)
		g.JB(LabelRef(ending))
		g.Comment("The first vector, which is not aligned.")
		g.store(start, head, g.dstBytes(), false)
		g.Label(ending)
	}
	g.Comment("The last vector.")
	g.store(end, tail, g.dstBytes(), false)
	leave()

	g.Label(short)
	for lanes := g.vecLanes() / 2; lanes > 0; lanes /= 2 {
		less := g.label(fmt.Sprintf("under%d_", lanes))
		g.CMPQ(n, imm(lanes))
		g.JB(LabelRef(less))
		start := access{lanes: lanes}
		low := g.body(p, start, nil)
		if lanes > 1 {
			last := g.GP64()
			g.LEAQ(Mem{Base: n, Disp: -lanes}, last)
			end := access{lanes: lanes, at: last}
			high := g.body(p, end, nil)
			g.store(end, high, g.dstBytes(), false)
		}
		g.store(start, low, g.dstBytes(), false)
		leave()
		g.Label(less)
	}
	leave()
}

// masked512 emits a masked kernel. The mask's bits go to mask registers as they are.
func (g *amd64) masked512(p program) {
	rest := g.argument("n")
	index := g.GP64()
	g.XORL(index.As32(), index.As32())
	lanes := g.vecLanes()
	move := "KMOV" + suffixes[lanes]
	g.activeLoops(lanes, index, rest, func(first, count int, word reg.GPVirtual) {
		for lane := 0; lane < count; lane += lanes {
			a := g.whole(index, first+lane)
			r := g.body(p, a, nil)
			if lane > 0 {
				g.SHRQ(U8(lanes), word)
			}
			// From memory, the move would compete with the operands' loads.
			a.mask = g.K()
			if lanes == 64 {
				g.asm(move, word, a.mask)
			} else {
				g.asm(move, word.As32(), a.mask)
			}
			g.store(a, r, g.dstBytes(), false)
		}
	})
	g.TESTQ(rest, rest)
	g.JZ(LabelRef("return"))
	g.Comment("The lanes after the last vector.")
	word := g.loadBits(0, lanes)
	g.BZHIQ(rest, word, word)
	g.JZ(LabelRef("return"))
	a := g.first(rest, index, word)
	g.store(a, g.body(p, a, nil), g.dstBytes(), false)
	g.Label("return")
	g.ret()
}

// maskLanes is the most lanes that one test of the mask is for. If none of them is active,
// no operand is accessed: even a store to no lane is slow if its page was never written.
const maskLanes = 64

// activeLoops emits the loops of a masked kernel over groups of lanes: loops over ever
// smaller groups, down to least lanes. body emits the code for a group with an active lane.
// Its arguments are the lanes of the turn before the group, the lanes in the group, and
// the register with their bits of the mask.
func (g *amd64) activeLoops(least int, index, rest reg.Register, body func(first, lanes int, word reg.GPVirtual)) {
	loop := func(name string, groups, lanes int) {
		comment := fmt.Sprintf("%d lanes a turn.", groups*lanes)
		if groups > 1 {
			comment = fmt.Sprintf("%d times %d lanes a turn.", groups, lanes)
		}
		g.loop(name, comment, groups*lanes, index, rest, func() {
			for i := range groups {
				inactive := g.label("inactive")
				word := g.loadBits(i*lanes, lanes)
				g.TESTQ(word, word)
				g.JZ(LabelRef(inactive))
				body(i*lanes, lanes, word)
				g.Label(inactive)
			}
			g.ADDQ(U8(groups*lanes/8), g.pointers["active"])
		})
	}
	most := min(unroll*g.vecLanes(), maskLanes)
	if g.laneBytes() <= 2 {
		// A group has few vectors, so the loop costs much beside them.
		loop("groups", 2, most)
	}
	if most > least {
		loop("group", 1, most)
	}
	loop("vector", 1, least)
}

// loadBits loads the mask's bits of the given number of lanes. Before them are first lanes.
// The bits can be read even if fewer lanes are left, because the mask consists of whole
// 64-bit words, or at least covers these lanes.
func (g *amd64) loadBits(first, lanes int) reg.GPVirtual {
	word := g.GP64()
	m := Mem{Base: g.pointers["active"], Disp: first / 8}
	switch lanes {
	case 8:
		g.MOVBLZX(m, word.As32())
	case 16:
		g.MOVWLZX(m, word.As32())
	case 32:
		g.MOVL(m, word.As32())
	case 64:
		g.MOVQ(m, word)
	}
	return word
}

// masked256 emits a masked kernel. Masked stores are not fast everywhere, so it stores
// inactive lanes as they were. It does the lanes after the last vector in ever smaller
// parts of a vector.
func (g *amd64) masked256(p program) {
	rest := g.argument("n")
	index := g.GP64()
	g.XORL(index.As32(), index.As32())
	lanes := g.vecLanes()
	expand := g.expander()
	blended := func(a access, r reg.VecVirtual, active reg.VecVirtual) {
		old := g.load(a, &inst{op: pseudoWord, name: "dst"})
		g.blend(a, active, r, old)
		g.store(a, old, g.dstBytes(), false)
	}
	least := max(lanes, 8) // a turn takes whole bytes of the mask
	g.activeLoops(least, index, rest, func(first, count int, _ reg.GPVirtual) {
		// Wide lanes have room for the bits of all vectors.
		together := lanes
		if g.laneBytes() >= 4 {
			together = count
		}
		var bits reg.VecVirtual
		for lane := 0; lane < count; lane += lanes {
			a := g.whole(index, first+lane)
			r := g.body(p, a, nil)
			if lane%together == 0 {
				bits = g.YMM()
				g.asm("VPBROADCAST"+suffixes[together], Mem{Base: g.pointers["active"], Disp: (first + lane) / 8}, bits)
			}
			blended(a, r, expand(bits, lane%together))
		}
	})
	g.TESTQ(rest, rest)
	g.JZ(LabelRef("return"))
	g.Comment("The lanes after the last vector, of fewer than 64.")
	word := g.loadBits(0, least)
	for count := least / 2; count > 0; count /= 2 {
		none, inactive := fmt.Sprintf("no%d", count), g.label("inactive")
		g.TESTQ(U32(count), rest)
		g.JZ(LabelRef(none))
		g.TESTL(U32(1<<count-1), word.As32())
		g.JZ(LabelRef(inactive))
		a := access{lanes: count, at: index}
		r := g.body(p, a, nil)
		bits := g.YMM()
		g.VMOVQ(word, bits.AsX())
		g.asm("VPBROADCAST"+suffixes[least], bits.AsX(), bits)
		blended(a, r, expand(bits, 0))
		g.Label(inactive)
		g.SHRQ(U8(count), word)
		g.ADDQ(U8(count), index)
		g.Label(none)
	}
	g.Label("return")
	g.ret()
}

// expander loads the tables that turn bits of a mask into lanes, and returns a function
// that does so. Its argument bits is a vector with a copy of the bits in every lane, and
// from is the first lane's bit. The function returns a vector of lanes: a lane's sign says
// whether the lane is active. Lanes of 8 and 16 bits have all bits set if they are active.
func (g *amd64) expander() func(bits reg.VecVirtual, from int) reg.VecVirtual {
	lane := 8 * g.laneBytes()
	if lane >= 32 {
		return func(bits reg.VecVirtual, from int) reg.VecVirtual {
			active := g.YMM()
			g.asm("VPSLLV"+suffixes[lane], g.toSign[lane].Offset(from*lane/8), bits, active)
			return active
		}
	}
	table := func(m Mem) reg.VecVirtual {
		r := g.YMM()
		g.VMOVDQU(m, r)
		return r
	}
	bit := table(g.laneBit[lane])
	var spread reg.VecVirtual
	if lane == 8 {
		spread = table(g.spread)
	}
	return func(active reg.VecVirtual, _ int) reg.VecVirtual {
		if lane == 8 {
			g.VPSHUFB(spread, active, active)
		}
		g.VPAND(bit, active, active)
		g.asm("VPCMPEQ"+suffixes[lane], bit, active, active)
		return active
	}
}

// blend copies words to the active lanes of old.
func (g *amd64) blend(a access, active, words, old reg.VecVirtual) {
	mnemonic := map[int]string{8: "VPBLENDVB", 16: "VPBLENDVB", 32: "VBLENDVPS", 64: "VBLENDVPD"}[8*g.laneBytes()]
	g.asm(mnemonic, g.part(a, active), g.part(a, words), g.part(a, old), g.part(a, old))
}

// warp emits a warp kernel. All results are computed before the first one is stored. The
// results of inactive lanes are their old values.
func (g *amd64) warp(p program) {
	active := g.argument("active")
	all := g.vector()
	if g.wide() {
		g.NOTL(active.As32())
	} else {
		g.broadcast(active, g.target.lane, all)
	}
	var results []reg.VecVirtual
	for lane := 0; lane < 32; lane += g.vecLanes() {
		a := g.whole(nil, lane)
		r := g.body(p, a, nil)
		old := g.mem(a, "dst", g.dstBytes())
		if g.wide() {
			inactive := g.K()
			g.KMOVW(active.As32(), inactive)
			g.asm(fmt.Sprintf("VMOVDQU%d", g.target.lane), old, inactive, r)
			if lane+g.vecLanes() < 32 {
				g.SHRL(U8(g.vecLanes()), active.As32())
			}
		} else {
			sign, kept := g.YMM(), g.YMM()
			g.asm("VPSLLV"+suffixes[g.target.lane], g.toSign[g.target.lane].Offset(lane*g.laneBytes()), all, sign)
			g.VMOVDQU(old, kept)
			g.blend(a, sign, r, kept)
			r = kept
		}
		results = append(results, r)
	}
	for i, r := range results {
		g.store(g.whole(nil, i*g.vecLanes()), r, g.dstBytes(), false)
	}
	g.ret()
}

// pack emits a pack kernel. A tile of words stays in registers while a loop runs over the
// fields. Without mask registers the last vector overlaps vectors of the loop. It is
// computed before anything is stored, because dst may be a column, and it is stored last.
func (g *amd64) pack() {
	index, hi := g.argument("lo"), g.argument("hi")
	rest := g.GP64()
	g.MOVQ(hi, rest)
	g.SUBQ(index, rest)
	lanes := g.vecLanes()

	var tail []reg.VecVirtual
	last := g.GP64()
	if g.wide() {
		g.streaming(func() {
			g.Comment("The lanes before the first aligned one.")
			head := g.GP64()
			g.LEAQ(Mem{Base: g.pointers["dst"], Index: index, Scale: uint8(g.laneBytes())}, head)
			g.unaligned(head, head)
			g.JZ(LabelRef("aligned"))
			g.CMPQ(rest, imm(lanes))
			g.JB(LabelRef("aligned"))
			a := g.first(head, index, nil)
			// Only words as wide as the lanes are stored past the cache.
			g.store(a, g.tileWords(1, a, g.laneBytes())[0], g.laneBytes(), false)
			g.ADDQ(head, index)
			g.SUBQ(head, rest)
			g.Label("aligned")
		})
	} else {
		g.TESTQ(U32(lanes-1), rest)
		g.JZ(LabelRef("whole"))
		g.Comment("The last vector.")
		g.LEAQ(Mem{Base: hi, Disp: -lanes}, last)
		tail = g.tileWords(1, g.whole(last, 0), 1)
		g.Label("whole")
	}
	for _, count := range g.tiles() {
		g.loop("tile", fmt.Sprintf("Tiles of %d vectors.", count), count*lanes, index, rest, func() {
			a := g.whole(index, 0)
			g.storeTile(a, g.tileWords(count, a, 1), true)
		})
	}
	g.TESTQ(rest, rest)
	g.JZ(LabelRef("done"))
	if g.wide() {
		g.Comment("The lanes after the last vector.")
		a := g.first(rest, index, nil)
		g.storeTile(a, g.tileWords(1, a, 1), false)
	} else {
		g.storeTile(g.whole(last, 0), tail, false)
	}
	g.Label("done")
	if g.wide() {
		g.streaming(func() { g.SFENCE() })
	}
	g.ret()
}

// tiles returns the numbers of vectors of pack's tiles, the largest first. With 512 bits
// and narrow lanes four vectors have so many lanes that a larger tile does not pay.
func (g *amd64) tiles() []int {
	switch {
	case g.wide() && g.target.lane < 32:
		return []int{4, 2, 1}
	case g.wide():
		return []int{8, 4, 2, 1}
	}
	return []int{8, 4, 1}
}

// tileWords emits the code that makes count vectors of words. Words have at least least
// bytes in dst.
func (g *amd64) tileWords(count int, a access, least int) []reg.VecVirtual {
	words := make([]reg.VecVirtual, count)
	for i := range words {
		words[i] = g.vector()
	}
	each := func(f func(a access, r reg.VecVirtual)) {
		for i, r := range words {
			a := a
			a.more = i * g.vecLanes()
			f(a, r)
		}
	}
	g.startTile(each, least)

	g.eachField(func(field reg.GPVirtual) {
		data, kind := g.GP64(), g.GP64()
		g.pointers["src"] = data
		g.MOVQ(Mem{Base: field, Disp: fieldData}, data)
		g.MOVBLZX(Mem{Base: field, Disp: fieldKind}, kind.As32())
		added := g.label("added")
		g.CMPQ(kind, U8(2*signKind))
		g.JAE(LabelRef(added)) // value has the constants
		var kinds []int
		for size := range bits.Len(uint(g.laneBytes())) {
			kinds = append(kinds, size, size|signKind)
		}
		slices.Sort(kinds)
		saved, kernelSaved := g.target, g.kernel
		g.choose(kind, kinds, func(kind int) {
			g.target.word = 8 << (kind &^ signKind)
			add := func(formula func(target) *node, shift reg.GPVirtual) {
				p := lower(formula(g.target), g.target)
				g.hoist(p, func(in *inst, dst reg.VecVirtual) {
					switch {
					case in.name == "mask":
						g.asm("VPBROADCAST"+suffixes[g.target.lane], Mem{Base: field, Disp: fieldMask}, dst)
					case shift != nil:
						g.broadcast(shift, 64, dst)
					default:
						// A rotation takes the low bits of its count.
						g.VPBROADCASTQ(Mem{Base: field, Disp: fieldShift}, dst)
					}
				})
				each(func(a access, r reg.VecVirtual) {
					a.bound = map[string]reg.VecVirtual{"dst": r}
					g.body(p, a, r)
				})
				g.JMP(LabelRef(added))
			}
			switch {
			case kind&signKind != 0:
				g.kernel.signed = signed
				add(packSignFormula, nil)
			case g.wide():
				add(packFormula, nil)
			default:
				// AVX2 has no rotation.
				shift, right := g.GP64(), g.label("right")
				g.MOVBQSX(Mem{Base: field, Disp: fieldShift}, shift)
				g.TESTQ(shift, shift)
				g.JLT(LabelRef(right))
				add(packLeftFormula, shift)
				g.landing(right)
				g.NEGQ(shift)
				add(packRightFormula, shift)
			}
			g.target, g.kernel = saved, kernelSaved
		})
		g.Label(added)
	})
	return words
}

// eachField emits the loop over the fields.
func (g *amd64) eachField(code func(field reg.GPVirtual)) {
	name := g.label("field")
	done := name + "Last"
	field := g.GP64()
	g.MOVQ(g.pointers["fields"], field)
	left := g.argument("k")
	g.TESTQ(left, left)
	g.JZ(LabelRef(done))
	g.Comment("One field a turn, by its kind.")
	g.Label(name)
	code(field)
	g.ADDQ(U8(fieldSize), field)
	g.DECQ(left)
	g.JNZ(LabelRef(name))
	g.Label(done)
}

// choose emits code for each value that a register may have, and a tree of branches to
// the code. The values are in ascending order.
func (g *amd64) choose(r reg.Register, values []int, code func(value int)) {
	if len(values) == 1 {
		code(values[0])
		return
	}
	half := len(values) / 2
	less := g.label("less")
	g.CMPQ(r, imm(values[half]))
	g.JB(LabelRef(less))
	g.choose(r, values[half:], code)
	g.landing(less)
	g.choose(r, values[:half], code)
}

// startTile emits the code that sets words to value, and to the bits of base that pack
// keeps.
func (g *amd64) startTile(each func(func(access, reg.VecVirtual)), least int) {
	start := g.label("start")
	value := g.vector()
	g.broadcast(g.argument("value"), g.target.lane, value)
	move, and, or := "VMOVDQA", g.logic("VPAND"), g.logic("VPOR")
	if g.wide() {
		move = "VMOVDQA64"
	}
	each(func(_ access, r reg.VecVirtual) { g.asm(move, value, r) })
	g.TESTQ(g.pointers["base"], g.pointers["base"])
	g.JZ(LabelRef(start))
	keep := g.vector()
	g.broadcast(g.argument("keep"), g.target.lane, keep)
	saved := g.target
	g.eachSize(least, func(size int) {
		g.target.word = 8 * size
		each(func(a access, r reg.VecVirtual) {
			base := g.load(a, &inst{op: pseudoWord, name: "base"})
			g.asm(and, keep, base, base)
			g.asm(or, base, r, r)
		})
		g.target = saved
	})
	g.Label(start)
}

// eachSize emits code for each size that words may have in dst, from least on, and the
// branches to it.
func (g *amd64) eachSize(least int, code func(size int)) {
	var sizes []int
	for size := least; size <= g.laneBytes(); size *= 2 {
		sizes = append(sizes, size)
	}
	done := g.label("sized")
	g.choose(g.argument("size"), sizes, func(size int) {
		code(size)
		g.JMP(LabelRef(done))
	})
	g.Label(done)
}

// storeTile emits the stores of words. If dst is aligned and the argument stream is set,
// they bypass the cache.
func (g *amd64) storeTile(a access, words []reg.VecVirtual, aligned bool) {
	store := func(size int, stream bool) {
		for i, r := range words {
			a := a
			a.more = i * g.vecLanes()
			g.store(a, r, size, stream)
		}
	}
	stored := g.label("stored")
	if aligned && g.wide() {
		g.streaming(func() {
			store(g.laneBytes(), true)
			g.JMP(LabelRef(stored))
		})
	}
	g.eachSize(1, func(size int) { store(size, false) })
	g.Label(stored)
}

// unpack emits an unpack kernel. It makes one column after the other from the words, with
// the loops of a slice kernel.
func (g *amd64) unpack() {
	lo, n := g.argument("lo"), g.argument("hi")
	g.SUBQ(lo, n)
	src := g.pointers["src"]
	g.LEAQ(Mem{Base: src, Index: lo, Scale: uint8(g.target.word / 8)}, src)
	g.eachField(func(field reg.GPVirtual) {
		data, kind, sign := g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(Mem{Base: field, Disp: fieldData}, data)
		unsigned := g.label("unsigned")
		g.MOVBLZX(Mem{Base: field, Disp: fieldSigned}, sign.As32())
		g.TESTQ(sign, sign)
		g.JZ(LabelRef(unsigned))
		g.Comment("The top bit of the field, which moves with the words.")
		mask := g.GP64()
		g.MOVQ(Mem{Base: field, Disp: fieldMask}, mask)
		g.MOVQ(mask, sign)
		g.SHRQ(U8(1), sign)
		g.NOTQ(sign)
		g.ANDQ(mask, sign)
		g.MOVQ(Mem{Base: field, Disp: fieldShift}, reg.RCX)
		g.RORQ(reg.CL, sign)
		g.Label(unsigned)
		g.MOVBLZX(Mem{Base: field, Disp: fieldKind}, kind.As32())
		done := g.label("unpacked")
		saved := g.target
		g.choose(kind, []int{0, 1, 2, 3}, func(kind int) {
			g.target.element = 8 << kind
			g.target.lane = max(g.target.word, g.target.element)
			dst := g.GP64()
			g.LEAQ(Mem{Base: data, Index: lo, Scale: 1 << kind}, dst)
			g.pointers["dst"] = dst
			g.column(n, field, sign, func() { g.JMP(LabelRef(done)) })
			g.target = saved
		})
		g.Label(done)
	})
	g.ret()
}

// column emits the code that makes one column from n words. If its elements are narrower
// than the words, it packs several vectors of them into one.
func (g *amd64) column(n reg.Register, field, sign reg.GPVirtual, leave func()) {
	p := lower(unpackFormula(g.target), g.target)
	g.hoist(p, func(in *inst, dst reg.VecVirtual) {
		switch in.name {
		case "mask":
			g.asm("VPBROADCAST"+suffixes[g.target.lane], Mem{Base: field, Disp: fieldMask}, dst)
		case "sign":
			g.broadcast(sign, g.target.lane, dst)
		case "shift":
			g.broadcastBack(in, field, dst)
		}
	})
	unsigned := lower(unpackUnsignedFormula(g.target), g.target)
	for _, in := range unsigned {
		for _, of := range p {
			if !in.each && in.op == of.op && in.name == of.name {
				g.uniform[in] = g.uniform[of]
			}
		}
	}
	vectors := func(index, rest reg.Register, stream bool) {
		signed, done := g.label("signed"), g.label("whole")
		g.CMPQ(rest, imm(unroll*g.vecLanes()))
		g.JB(LabelRef(done))
		if g.packs() {
			shifted := g.label("shifted")
			g.gathered(field, index, rest, shifted)
			g.JMP(LabelRef(done))
			g.Label(shifted)
		}
		g.TESTQ(sign, sign)
		g.JNZ(LabelRef(signed))
		g.severalVectors(unsigned, "US", index, rest, stream)
		g.JMP(LabelRef(done))
		g.Label(signed)
		g.severalVectors(p, "SS", index, rest, stream)
		g.Label(done)
	}
	rest := g.GP64()
	g.MOVQ(n, rest)
	if g.wide() {
		g.slice512(p, rest, vectors, leave)
	} else {
		g.slice256(p, rest, vectors, leave)
	}
}

// packs reports whether several vectors of results are packed into one.
func (g *amd64) packs() bool { return g.target.element < g.target.lane && g.target.lane <= 32 }

// severalVectors emits the loop over several vectors at a time. Instructions that pack
// results also saturate them, which changes none.
func (g *amd64) severalVectors(p program, saturation string, index, rest reg.Register, stream bool) {
	if !g.packs() {
		g.vectors(p, unroll, index, rest, stream)
		return
	}
	g.packed("packs", index, rest, func(sources []access) reg.VecVirtual {
		var results []reg.VecVirtual
		for _, a := range sources {
			results = append(results, g.body(p, a, nil))
		}
		for lane := g.target.lane; lane > g.target.element; lane /= 2 {
			mnemonic := "VPACK" + saturation + suffixes[lane] + suffixes[lane/2]
			for j := range len(results) / 2 {
				g.asm(mnemonic, results[2*j+1], results[2*j], results[j])
			}
			results = results[:len(results)/2]
		}
		return results[0]
	})
}

// gathered emits the loop over several vectors at a time for elements that are whole
// bytes of the words. They need no shift and no mask. If they are not whole bytes, the
// code jumps to the label not. It also does so if the argument stream is set, which says
// that the words are in no cache: loads from memory would then delay the stores.
func (g *amd64) gathered(field, index, rest reg.Register, not string) {
	g.streaming(func() { g.JMP(LabelRef(not)) })
	mask := g.GP64()
	g.MOVBLZX(Mem{Base: field, Disp: fieldShift}, reg.ECX)
	g.TESTB(U8(7), reg.CL)
	g.JNZ(LabelRef(not))
	g.MOVQ(Mem{Base: field, Disp: fieldMask}, mask)
	g.RORQ(reg.CL, mask)
	g.CMPQ(mask, imm(1<<g.target.element-1))
	g.JNZ(LabelRef(not))
	g.SHRL(U8(3), reg.ECX)
	first := g.vector()
	g.broadcast(reg.RCX, 8, first)
	var patterns []reg.VecVirtual
	for j := range g.target.lane / g.target.element {
		r := g.vector()
		g.VPADDB(g.gather[[2]int{g.target.lane, g.target.element}].Offset(64*j), first, r)
		patterns = append(patterns, r)
	}
	or := g.logic("VPOR")
	g.packed("gathers", index, rest, func(sources []access) reg.VecVirtual {
		var result reg.VecVirtual
		for j, a := range sources {
			r := g.load(a, &inst{op: pseudoWord, name: "src"})
			g.VPSHUFB(patterns[j], r, r)
			if j > 0 {
				g.asm(or, result, r, r)
			}
			result = r
		}
		return result
	})
}

// packed emits the loop over several vectors at a time. code packs the sources into one
// vector: each 16 bytes of it have the results for the same 16 bytes of every source, one
// after the other.
func (g *amd64) packed(name string, index, rest reg.Register, code func(sources []access) reg.VecVirtual) {
	count := g.target.lane / g.target.element
	order := g.vector()
	g.asm(g.moves(g.vecBytes()), g.inOrder[[2]int{g.vecBytes(), count}], order)
	lanes := g.vecLanes()
	g.loop(name, fmt.Sprintf("%d vectors a turn, packed to %d.", unroll, unroll/count), unroll*lanes, index, rest, func() {
		for i := 0; i < unroll; i += count {
			var sources []access
			for j := range count {
				sources = append(sources, g.whole(index, (i+j)*lanes))
			}
			r := code(sources)
			g.VPERMD(r, order, r)
			g.asm(g.moves(g.vecBytes()), r, g.mem(sources[0], "dst", g.dstBytes()))
		}
	})
}
