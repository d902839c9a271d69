package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The AVX-512 kernel makes one step of dst at a time. A step is as many groups as fit a
// vector, rounded down to a power of two. It takes its bytes from terms. A term is a chunk
// of one move's groups: as many groups as fit a vector, again rounded down to a power of
// two. So all terms of a move share one vector of indices.
//
// The kernel first makes the terms, in its frame, and then runs the steps. If the groups
// that are left do not fill a step, it begins again with terms for these groups.

// A term in the frame.
const (
	termData    = 0  // where the first step loads from
	termAdvance = 8  // bytes from there to where the next step loads from
	termIndex   = 16 // the address of the indices, one for each byte of the step
	termGives   = 24 // a mask of the step's bytes that come from this term
	termBytes   = 32 // how many bytes are loaded
	termLoads   = 40 // a mask of the bytes that are loaded
	termSize    = 48
)

// A call has at most mostTerms terms. A group has at most 16 bytes, so at most 16 moves
// give a byte. If a group has fewer bytes, fewer moves can give one, but each of them has
// more chunks: four moves of stride 16, for example, have four chunks each.
const mostTerms = 16

// permuteTables holds constant vectors, one for each size of a group from 1 to 16.
type permuteTables struct {
	byteOf  Mem // for each byte of a step, its number in its group; 63 past the last group
	groupOf Mem // for each byte of a step, its group; 0 past the last group
	fifteen Mem // 15 in each of 16 bytes
}

// stepGroups returns how many groups of d bytes a step has.
func stepGroups(d, vector int) int {
	groups := vector
	for groups*d > vector {
		groups /= 2
	}
	return groups
}

func newPermuteTables(c *build.Context) permuteTables {
	table := func(name string, bytes []int) Mem {
		m := c.StaticGlobal(name)
		c.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := 0; i < len(bytes); i += 8 {
			var v uint64
			for j := range 8 {
				v |= uint64(bytes[i+j]) << (8 * j)
			}
			c.AppendDatum(U64(v))
		}
		return m
	}
	var byteOf, groupOf, fifteen []int
	for d := 1; d <= 16; d++ {
		for i := range 64 {
			b, group := i%d, i/d
			if group >= stepGroups(d, 64) {
				b, group = 63, 0
			}
			byteOf, groupOf = append(byteOf, b), append(groupOf, group)
		}
	}
	for range 16 {
		fifteen = append(fifteen, 15)
	}
	return permuteTables{table("byteOf", byteOf), table("groupOf", groupOf), table("fifteen", fifteen)}
}

// parameter returns the place of an argument in memory.
func (g *amd64) parameter(name string) Mem {
	b, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// pair loads two words of 64 bits one by one. Go has often just stored them so, and a load
// of both at once would have to wait for these stores.
func (g *amd64) pair(low, high Mem, dst reg.VecVirtual) {
	g.VMOVQ(low, dst.AsX())
	g.VPINSRQ(U8(1), high, dst.AsX(), dst.AsX())
}

// permute256 emits the AVX2 kernel. A group is up to 16 bytes: if groups are short, Go passes several as one. Each move takes
// one load of 16 bytes and one shuffle a group.
func (g *amd64) permute256() {
	dst, size, at, n := g.pointers["dst"], g.argument("d"), g.argument("lo"), g.argument("n")
	moves, end := g.pointers["moves"], g.argument("k")
	start := g.YMM()
	g.pair(g.parameter("low"), g.parameter("high"), start)
	g.VINSERTI128(U8(1), start.AsX(), start, start)
	g.SHLQ(U8(5), end)
	g.ADDQ(moves, end)
	first := g.GP64()
	g.MOVQ(at, first)
	g.IMULQ(size, first)
	g.ADDQ(first, dst)
	loaded := []reg.VecVirtual{g.YMM(), g.YMM(), g.YMM()} // used in turn
	for _, vectors := range []int{8, 2, 0} {              // each of two groups
		groups := max(2*vectors, 1)
		g.loop("groups", "One move after the other.", groups, at, n, func() {
			var steps []reg.VecVirtual
			for range max(vectors, 1) {
				r := g.YMM()
				g.VMOVDQA(start, r)
				steps = append(steps, r)
			}
			move, data, stride, index := g.GP64(), g.GP64(), g.GP64(), g.YMM()
			g.MOVQ(moves, move)
			next := g.label("move")
			g.Label(next)
			g.MOVQ(Mem{Base: move, Disp: moveStride}, stride)
			g.MOVQ(stride, data)
			g.IMULQ(at, data)
			g.ADDQ(Mem{Base: move, Disp: moveData}, data)
			g.VBROADCASTI128(Mem{Base: move, Disp: moveFrom}, index)
			add := func(r, bytes reg.VecVirtual, size int) {
				g.VPSHUFB(as(index, size), as(bytes, size), as(bytes, size))
				g.VPOR(as(bytes, size), as(r, size), as(r, size))
			}
			if vectors == 0 {
				g.VMOVDQU(Mem{Base: data}, loaded[0].AsX())
				add(steps[0], loaded[0], 16)
			} else {
				apart, added := g.label("apart"), g.label("added")
				g.CMPQ(stride, U8(16))
				g.JNE(LabelRef(apart))
				for i, r := range steps {
					bytes := loaded[i%len(loaded)]
					g.VMOVDQU(Mem{Base: data, Disp: 32 * i}, bytes)
					add(r, bytes, 32)
				}
				g.JMP(LabelRef(added))
				g.Label(apart)
				for i, r := range steps {
					bytes := loaded[i%len(loaded)]
					g.VMOVDQU(Mem{Base: data}, bytes.AsX())
					g.VINSERTI128(U8(1), Mem{Base: data, Index: stride, Scale: 1}, bytes, bytes)
					add(r, bytes, 32)
					g.LEAQ(Mem{Base: data, Index: stride, Scale: 2}, data)
				}
				g.Label(added)
			}
			g.ADDQ(U8(moveSize), move)
			g.CMPQ(move, end)
			g.JB(LabelRef(next))
			if vectors == 0 {
				g.VMOVDQU(steps[0].AsX(), Mem{Base: dst})
				g.ADDQ(size, dst)
				return
			}
			short, stored := g.label("short"), g.label("stored")
			g.CMPQ(size, U8(16))
			g.JNE(LabelRef(short))
			for i, r := range steps {
				g.VMOVDQU(r, Mem{Base: dst, Disp: 32 * i})
			}
			g.ADDQ(imm(16*groups), dst)
			g.JMP(LabelRef(stored))
			g.Comment("The next group overwrites the bytes past a short one.")
			g.Label(short)
			for _, r := range steps {
				g.VMOVDQU(r.AsX(), Mem{Base: dst})
				g.VEXTRACTI128(U8(1), r, Mem{Base: dst, Index: size, Scale: 1})
				g.LEAQ(Mem{Base: dst, Index: size, Scale: 2}, dst)
			}
			g.Label(stored)
		})
	}
	g.ret()
}

// permute512 emits the AVX-512 kernel.
func (g *amd64) permute512() {
	p := permuter{
		amd64:   g,
		indices: g.AllocLocal(64 * mostTerms), terms: g.AllocLocal(termSize * mostTerms),
		left: g.AllocLocal(8), at: g.AllocLocal(8), groups: g.AllocLocal(8), indexAt: g.AllocLocal(8),
		byteOf: g.ZMM(), groupOf: g.ZMM(), start: g.ZMM(), given: g.K(),
	}
	table, size := g.GP64(), g.argument("d")
	g.SHLQ(U8(6), size)
	g.LEAQ(g.tables.permute.byteOf, table)
	g.VMOVDQU64(Mem{Base: table, Index: size, Scale: 1, Disp: -64}, p.byteOf)
	g.LEAQ(g.tables.permute.groupOf, table)
	g.VMOVDQU64(Mem{Base: table, Index: size, Scale: 1, Disp: -64}, p.groupOf)
	g.pair(g.parameter("low"), g.parameter("high"), p.start)
	g.VPERMB(p.start, p.byteOf, p.start)
	g.MOVQ(g.argument("lo"), p.at)
	n := g.argument("n")

	g.Label("pass")
	g.MOVQ(n, p.left)
	groups := g.argument("groups")
	g.CMPQ(n, groups)
	g.CMOVQLT(n, groups)
	g.MOVQ(groups, p.groups)
	end := p.makeTerms()
	p.run(end)

	// The groups that are left do not fill a step, and get terms of their own.
	groups = g.GP64()
	g.MOVQ(p.left, n)
	g.MOVQ(g.parameter("groups"), groups)
	g.DECQ(groups)
	done := g.GP64()
	g.MOVQ(n, done)
	g.ANDQ(groups, n)
	g.SUBQ(n, done)
	g.JZ(LabelRef("done"))
	g.ADDQ(done, p.at)
	g.TESTQ(n, n)
	g.JNZ(LabelRef("pass"))
	g.Label("done")
	g.streaming(func() { g.SFENCE() })
	g.ret()
}

// A permuter emits a permute kernel.
type permuter struct {
	*amd64
	// The frame.
	indices, terms Mem
	left           Mem // groups to do in this pass and the next
	at             Mem // the group at which this pass begins
	groups         Mem // in a step of this pass
	indexAt        Mem // where the next vector of indices goes

	byteOf, groupOf reg.VecVirtual // of each byte of a step
	start           reg.VecVirtual // a step before any term is added
	given           reg.Register   // a mask of the bytes of a step that come from a term
}

// makeTerms emits code that makes the terms of all moves. It returns the address of
// their end.
func (g *permuter) makeTerms() reg.GPVirtual {
	term, move, end, next := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	g.KXORQ(g.given, g.given, g.given)
	g.LEAQ(g.indices, next)
	g.MOVQ(next, g.indexAt)
	g.LEAQ(g.terms, term)
	g.MOVQ(g.parameter("moves"), move)
	g.JMP(LabelRef("anyMove"))

	g.Label("move")
	stride, first, mask, span, c := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	from := g.ZMM()
	g.pair(Mem{Base: move, Disp: moveFrom}, Mem{Base: move, Disp: moveFrom + 8}, from)
	g.Comment("The first and the last byte of a group that are read.")
	g.leastByte(from, first)
	g.CMPQ(first, U8(16))
	g.JAE(LabelRef("moved"))
	last := g.XMM()
	g.VPXOR(g.tables.permute.fifteen, from.AsX(), last)
	g.leastByte(last, span)
	g.MOVQ(Mem{Base: move, Disp: moveStride}, stride)
	// From the first byte to the last of m groups it is m*stride+span bytes.
	g.NEGQ(span)
	g.ADDQ(U8(16), span)
	g.SUBQ(stride, span)
	g.SUBQ(first, span)
	data := g.GP64()
	g.MOVQ(g.at, data)
	g.IMULQ(stride, data)
	g.ADDQ(Mem{Base: move, Disp: moveData}, data)
	g.ADDQ(first, data)
	index, number, grown := g.ZMM(), g.ZMM(), g.ZMM()
	g.VPBROADCASTB(first.As32(), grown)
	gives := g.K()
	g.VPERMB(from, g.byteOf, index)
	g.VPMOVB2M(index, gives)
	g.KNOTQ(gives, gives)
	g.KORQ(gives, g.given, g.given)
	g.VPSUBB(grown, index, index)

	g.Comment("A chunk has as many groups as fit a vector, or as a step has.")
	g.LEAQ(Mem{Base: stride, Index: stride, Scale: 1, Disp: -1}, first)
	g.BSRQ(first, first)
	g.MOVL(U32(64), c.As32())
	g.SHRXQ(first, c, c)
	inStep := g.argument("groups")
	g.CMPQ(inStep, c)
	g.CMOVQLT(inStep, c)

	g.LEAQ(Mem{Base: c, Disp: -1}, first)
	g.VPBROADCASTB(first.As32(), number)
	g.VPANDQ(g.groupOf, number, number)
	g.VPBROADCASTW(stride.As32(), grown)
	// No product reaches the next byte.
	g.VPMULLW(grown, number, number)
	g.VPADDB(number, index, index)
	at := g.GP64()
	g.MOVQ(g.indexAt, at)
	g.VMOVDQU64(index, Mem{Base: at})
	g.ADDQ(U8(64), at)
	g.MOVQ(at, g.indexAt)

	g.Comment("One term for each chunk.")
	rest, bytes, some := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(g.groups, rest)
	chunk := g.GP64()
	g.MOVQ(c, bytes)
	g.IMULQ(g.parameter("d"), bytes)
	g.MOVQ(I32(-1), chunk)
	g.BZHIQ(bytes, chunk, chunk)
	g.Label("chunk")
	g.MOVQ(c, some)
	g.CMPQ(rest, some)
	g.CMOVQLT(rest, some)
	g.IMULQ(stride, some)
	g.ADDQ(span, some)
	g.MOVQ(I32(-1), mask)
	g.BZHIQ(some, mask, mask)
	g.MOVQ(mask, Mem{Base: term, Disp: termLoads})
	g.MOVQ(some, Mem{Base: term, Disp: termBytes})
	g.MOVQ(data, Mem{Base: term, Disp: termData})
	g.MOVQ(g.indexAt, some)
	g.ADDQ(I8(-64), some)
	g.MOVQ(some, Mem{Base: term, Disp: termIndex})
	g.MOVQ(g.parameter("groups"), some)
	g.IMULQ(stride, some)
	g.MOVQ(some, Mem{Base: term, Disp: termAdvance})
	part := g.K()
	g.KMOVQ(chunk, part)
	g.KANDQ(gives, part, part)
	g.KMOVQ(part, Mem{Base: term, Disp: termGives})
	g.ADDQ(U8(termSize), term)
	g.MOVQ(c, some)
	g.IMULQ(stride, some)
	g.ADDQ(some, data)
	g.MOVQ(c, some)
	g.IMULQ(g.parameter("d"), some)
	g.SHLXQ(some, chunk, chunk)
	g.SUBQ(c, rest)
	g.JHI(LabelRef("chunk"))

	g.Label("moved")
	g.ADDQ(U8(moveSize), move)
	g.Label("anyMove")
	g.MOVQ(g.parameter("k"), end)
	g.SHLQ(U8(5), end)
	g.ADDQ(g.parameter("moves"), end)
	g.CMPQ(move, end)
	g.JB(LabelRef("move"))
	return term
}

// leastByte emits code that finds the least of 16 bytes.
func (g *permuter) leastByte(bytes reg.VecVirtual, least reg.GPVirtual) {
	r := g.XMM()
	g.VPSRLW(U8(8), bytes.AsX(), r)
	g.VPMINUB(bytes.AsX(), r, r)
	g.VPHMINPOSUW(r, r)
	g.VMOVD(r, least.As32())
	g.MOVBLZX(least.As8(), least.As32())
}

// run emits code that runs the steps of a pass.
func (g *permuter) run(end reg.GPVirtual) {
	mask, step, rest, dst := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	write := g.K()
	g.Comment("The mask of the bytes of a step that are written.")
	g.MOVQ(I32(-1), mask)
	gaps := g.argument("gaps")
	g.TESTQ(gaps, gaps)
	g.JZ(LabelRef("noGaps"))
	each := g.ZMM()
	g.KMOVQ(gaps, write)
	g.VPMOVM2B(write, each.AsX())
	g.VPERMB(each, g.byteOf, each)
	g.VPMOVB2M(each, write)
	g.KNOTQ(write, write)
	g.KORQ(g.given, write, write)
	g.KMOVQ(write, mask)
	g.Label("noGaps")
	g.MOVQ(g.groups, step)
	g.IMULQ(g.parameter("d"), step)
	g.BZHIQ(step, mask, mask)
	g.KMOVQ(mask, write)

	g.MOVQ(g.parameter("d"), dst)
	g.IMULQ(g.at, dst)
	g.ADDQ(g.parameter("dst"), dst)
	g.MOVQ(g.left, rest)
	shift := g.argument("shift")
	g.SHRXQ(shift, rest, rest)
	at, one := g.GP64(), g.GP64()
	g.XORL(at.As32(), at.As32())
	g.MOVL(U32(1), one.As32())
	g.CMPQ(rest, one)
	g.CMOVQLT(one, rest)

	over := g.GP64()
	g.XORL(over.As32(), over.As32())
	apart := g.Load(g.Param("apart"), g.GP8())
	g.TESTB(apart, apart)
	g.JZ(LabelRef("exact"))
	g.Comment("Without gaps whole vectors can be stored: the next step overwrites the bytes past this one.")
	ones := g.GP64()
	g.MOVQ(I32(-1), ones)
	g.BZHIQ(step, ones, ones)
	g.CMPQ(ones, mask)
	g.JNE(LabelRef("exact"))
	g.MOVL(U32(1), over.As32())
	g.Label("exact")

	store := func(steps []reg.Register) {
		masked, stored, whole := g.label("masked"), g.label("stored"), g.label("whole")
		g.CMPQ(mask, I8(-1))
		g.JNE(LabelRef(masked))
		g.streaming(func() {
			for i, r := range steps {
				g.VMOVNTDQ(r, Mem{Base: dst, Disp: i * 64})
			}
			g.ADDQ(imm(64*len(steps)), dst)
			g.JMP(LabelRef(stored))
		})
		g.Label(whole)
		for _, r := range steps {
			g.VMOVDQU64(r, Mem{Base: dst})
			g.ADDQ(step, dst)
		}
		g.JMP(LabelRef(stored))
		g.Label(masked)
		exact := g.label("exact")
		g.TESTQ(over, over)
		g.JZ(LabelRef(exact))
		g.TESTQ(rest, rest)
		g.JNZ(LabelRef(whole))
		g.Label(exact)
		for _, r := range steps {
			g.VMOVDQU8(r, write, Mem{Base: dst})
			g.ADDQ(step, dst)
		}
		g.Label(stored)
	}
	term := g.GP64()
	g.LEAQ(g.terms, term)
	g.ADDQ(U8(termSize), term)
	g.CMPQ(term, end)
	g.JNE(LabelRef("several"))
	g.LEAQ(g.terms, term)
	only := g.term(term, at)
	loops := func(size int) {
		for _, count := range []int{4, 1} {
			g.loop("only", "The only term stays in registers.", count, at, rest, func() {
				steps := g.tile(count)
				g.add(only, size, steps)
				store(steps)
			})
		}
		g.JMP(LabelRef("ran"))
	}
	g.CMPQ(only.bytes, U8(64))
	g.JNE(LabelRef("part"))
	loops(64)
	g.Label("part")
	loops(0)

	g.Label("several")
	for _, count := range []int{len(tileRegisters), 4, 1} {
		g.loop("tile", "One term after the other, for some steps at a time.", count, at, rest, func() {
			steps := g.tile(count)
			g.LEAQ(g.terms, term)
			next, added, last := g.label("term"), g.label("added"), g.label("terms")
			g.CMPQ(term, end)
			g.JE(LabelRef(last))
			g.Label(next)
			t := g.term(term, at)
			// If fewer bytes are enough, a whole vector would cross cache lines more often.
			sizes := []int{16, 32, 64}
			if count == 1 {
				sizes = nil
			}
			for _, size := range sizes {
				other := g.label("other")
				g.CMPQ(t.bytes, U8(size))
				g.JNE(LabelRef(other))
				g.add(t, size, steps)
				g.JMP(LabelRef(added))
				g.Label(other)
			}
			g.add(t, 0, steps)
			g.Label(added)
			g.ADDQ(U8(termSize), term)
			g.CMPQ(term, end)
			g.JNE(LabelRef(next))
			g.Label(last)
			store(steps)
		})
	}
	g.Label("ran")
}

// tileRegisters hold the steps that one tile makes at a time. No other code uses them.
var tileRegisters = []reg.Register{
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// tile returns the registers of count steps, and sets them to what steps start from.
func (g *permuter) tile(count int) []reg.Register {
	steps := tileRegisters[:count]
	for _, r := range steps {
		g.VMOVDQA64(g.start, r)
	}
	return steps
}

// add emits code that adds a term to steps. It loads size bytes a step. If size is 0, it
// loads the bytes of the term's mask.
func (g *permuter) add(t permuteTerm, size int, steps []reg.Register) {
	loads := g.K()
	if size == 0 {
		g.KMOVQ(Mem{Base: t.at, Disp: termLoads}, loads)
	}
	for _, r := range steps {
		loaded := g.ZMM()
		m := Mem{Base: t.data}
		switch size {
		case 0:
			g.VMOVDQU8_Z(m, loads, loaded)
			g.VPERMB(loaded, t.index, t.gives, r)
		case 64:
			g.VPERMB(m, t.index, t.gives, r)
		default:
			g.asm(g.moves(size), m, as(loaded, size))
			g.VPERMB(loaded, t.index, t.gives, r)
		}
		g.ADDQ(t.advance, t.data)
	}
}

// A permuteTerm is a term in registers.
type permuteTerm struct {
	at                   reg.Register // where it is in the frame
	data, advance, bytes reg.GPVirtual
	index                reg.VecVirtual
	gives                reg.Register
}

// term emits code that loads a term. Its data is the address where step at loads from.
func (g *permuter) term(term, at reg.Register) permuteTerm {
	t := permuteTerm{term, g.GP64(), g.GP64(), g.GP64(), g.ZMM(), g.K()}
	g.MOVQ(Mem{Base: term, Disp: termIndex}, t.data)
	g.VMOVDQU64(Mem{Base: t.data}, t.index)
	g.KMOVQ(Mem{Base: term, Disp: termGives}, t.gives)
	g.MOVQ(Mem{Base: term, Disp: termBytes}, t.bytes)
	g.MOVQ(Mem{Base: term, Disp: termAdvance}, t.advance)
	g.MOVQ(t.advance, t.data)
	g.IMULQ(at, t.data)
	g.ADDQ(Mem{Base: term, Disp: termData}, t.data)
	return t
}
