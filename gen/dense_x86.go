package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of dense fields take groups of adjacent elements. Each group is for one
// word. PEXT and PDEP move the fields of 8 bytes of a group, called a chunk. All chunks
// but one are side by side. The odd chunk ends where the group ends, so it overlaps its
// neighbour unless the group is a multiple of 8 bytes. A group of fewer than 8 bytes is
// one chunk.
//
// If the first element has the highest field, elements are bytes, and BSWAP mirrors
// each chunk. Then chunks go from the group's end to its start, and the odd one is at
// the start.
//
// Most words and short groups are loaded and stored as 8 bytes. If a store goes on past
// a word or a group, the next store overwrites those bytes. The last words take another
// loop, which is exact, because 8 bytes would be out of bounds. Go passes their number.

// argumentMem returns where an argument is in memory.
func (g *amd64) argumentMem(name string) Mem {
	b, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// A denseLoop is one of the loops of a kernel of dense fields.
type denseLoop struct {
	reversed, exact, signed bool
	single                  bool // a group is one chunk
	word, group             Op   // the bytes to the next word and to the next group
}

func (l denseLoop) String() string {
	text := "Words and short groups as 8 bytes"
	if l.exact {
		text = "Exactly the words and the groups"
	}
	if l.single {
		text += ", one chunk"
	}
	if l.reversed {
		text += ", mirrored"
	}
	if l.signed {
		text += ", signed"
	}
	return text + "."
}

// denseLoops emits the loops, with a turn for each word. The last words take an exact
// loop, the others a loop that is not exact. A group is one chunk if odd is 0.
func (g *amd64) denseLoops(n, exact, odd reg.GPVirtual, signed bool, turn func(denseLoop)) {
	g.SUBQ(exact, n)
	emit := func(l denseLoop) {
		l.word, l.group = g.argumentMem("w"), g.argumentMem("stride")
		if l.single {
			l.word, l.group = g.argument("w"), g.argument("stride") // few other registers are needed
		}
		top := g.label("word")
		g.Comment(l.String())
		g.Label(top)
		turn(l)
		g.DECQ(n)
		g.JNZ(LabelRef(top))
	}
	fast := func(single bool) {
		g.either("reversed", func(reversed bool) {
			if signed {
				g.either("signs", func(signs bool) { emit(denseLoop{reversed: reversed, single: single, signed: signs}) })
			} else {
				emit(denseLoop{reversed: reversed, single: single})
			}
		})
	}
	last, end, single := g.label("last"), g.label("end"), g.label("single")
	g.TESTQ(n, n)
	g.JZ(LabelRef(last))
	g.TESTQ(odd, odd)
	g.JZ(LabelRef(single))
	fast(false)
	g.JMP(LabelRef(last))
	g.Label(single)
	fast(true)
	g.Label(last)
	g.MOVQ(g.argumentMem("exact"), n)
	g.TESTQ(n, n)
	g.JZ(LabelRef(end))
	g.either("reversed", func(reversed bool) { emit(denseLoop{reversed: reversed, exact: true, signed: signed}) })
	g.Label(end)
	g.RET()
}

// either emits code for an argument that is 0, code for one that is not, and the branch.
func (g *amd64) either(argument string, code func(is bool)) {
	is, done := g.label(argument), g.label("either")
	g.CMPQ(g.argumentMem(argument), U8(0))
	g.JNE(LabelRef(is))
	code(false)
	g.JMP(LabelRef(done))
	g.Label(is)
	code(true)
	g.Label(done)
}

// chunks returns registers for a loop over the chunks of a group. base is the address
// of the first chunk, and odd is the distance from there to the odd chunk.
func (g *amd64) chunks(group string) (base reg.Register, odd reg.GPVirtual) {
	base, odd = g.pointers[group], g.argument("bytes")
	long, mirrored := g.label("long"), g.label("chunks")
	g.SUBQ(U8(8), odd)
	g.JAE(LabelRef(long))
	g.XORL(odd.As32(), odd.As32())
	g.Label(long)
	g.CMPQ(g.argumentMem("reversed"), U8(0))
	g.JE(LabelRef(mirrored))
	g.ADDQ(odd, base)
	g.NEGQ(odd)
	g.Label(mirrored)
	return base, odd
}

// gatherBits emits the kernel that makes words of groups. It starts at the odd chunk and
// goes back to the first. Each chunk moves the word's bits up, and adds its own.
func (g *amd64) gatherBits() {
	dst, n, exact := g.pointers["dst"], g.argument("n"), g.argument("exact")
	base, odd := g.chunks("src")
	fields, step, pos := g.argument("fields"), g.argument("step"), g.argument("pos")
	g.Comment("From the first chunk to the one before the odd one, which may be none.")
	before, based := g.GP64(), g.label("based")
	g.MOVQ(g.argumentMem("bytes"), before)
	g.DECQ(before)
	g.ANDQ(I8(-8), before)
	g.SUBQ(U8(8), before)
	g.CMPQ(g.argumentMem("reversed"), U8(0))
	g.JE(LabelRef(based))
	g.NEGQ(before)
	g.Label(based)
	// moreChunks adds the chunks before the odd one.
	moreChunks := func(l denseLoop, word, chunk, x reg.GPVirtual) {
		top, done := g.label("chunk"), g.label("gathered")
		none, more, move := g.JLT, g.JGE, func() { g.SUBQ(U8(8), chunk) }
		if l.reversed {
			none, more, move = g.JGT, g.JLE, func() {
				g.ADDQ(U8(8), chunk)
				g.TESTQ(chunk, chunk)
			}
		}
		g.MOVQ(before, chunk)
		g.TESTQ(chunk, chunk)
		none(LabelRef(done))
		g.Label(top)
		g.MOVQ(Mem{Base: base, Index: chunk, Scale: 1}, x)
		if l.reversed {
			g.BSWAPQ(x)
		}
		g.SHLXQ(step, word, word)
		g.PEXTQ(fields, x, x)
		g.ORQ(x, word)
		move()
		more(LabelRef(top))
		g.Label(done)
	}
	g.denseLoops(n, exact, odd, false, func(l denseLoop) {
		word, chunk, x := g.GP64(), g.GP64(), g.GP64()
		whole := g.label("whole")
		if l.exact {
			short := g.label("long")
			g.MOVQ(g.argumentMem("bytes"), chunk)
			g.CMPQ(chunk, U8(8))
			g.JAE(LabelRef(short))
			g.loadShort(base, chunk, word, x)
			g.JMP(LabelRef(whole))
			g.Label(short)
		}
		if l.single {
			g.MOVQ(Mem{Base: base}, word)
		} else {
			g.MOVQ(Mem{Base: base, Index: odd, Scale: 1}, word)
		}
		if l.exact {
			g.Label(whole)
		}
		if l.reversed {
			g.BSWAPQ(word)
		}
		g.PEXTQ(g.argumentMem("last"), word, word)
		if !l.single {
			moreChunks(l, word, chunk, x)
		}
		g.SHLXQ(pos, word, word)
		if l.exact {
			g.MOVQ(g.argumentMem("w"), x)
			g.eachWidth(x, func(size int) { g.storeScalar(word, size, Mem{Base: dst}) })
		} else {
			g.MOVQ(word, Mem{Base: dst})
		}
		g.ADDQ(l.word, dst)
		g.ADDQ(l.group, base)
	})
}

// scatterBits emits the kernel that makes groups of words.
func (g *amd64) scatterBits() {
	src, n, exact := g.pointers["src"], g.argument("n"), g.argument("exact")
	base, odd := g.chunks("dst")
	fields, step, pos, lastPos := g.argument("fields"), g.argument("step"), g.argument("pos"), g.argument("lastPos")
	g.denseLoops(n, exact, odd, true, func(l denseLoop) {
		word, chunk, x, s := g.GP64(), g.GP64(), g.GP64(), g.GP64()
		// deposit makes a chunk of the word's lowest bits.
		deposit := func(from reg.GPVirtual, mask Op) {
			g.PDEPQ(mask, from, x)
			if l.signed {
				g.MOVQ(x, s)
				g.ANDQ(g.argumentMem("signs"), s)
				g.IMULQ(g.argumentMem("above"), s)
				g.ORQ(s, x)
			}
			if l.reversed {
				g.BSWAPQ(x)
			}
		}
		if l.exact {
			g.MOVQ(g.argumentMem("w"), x)
			g.eachWidth(x, func(size int) {
				g.loadScalar(Mem{Base: src}, word, size)
			})
		} else {
			g.MOVQ(Mem{Base: src}, word)
		}
		g.SHRXQ(lastPos, word, x)
		deposit(x, g.argumentMem("last"))
		stored := g.label("stored")
		if l.exact {
			long := g.label("long")
			g.MOVQ(g.argumentMem("bytes"), chunk)
			g.CMPQ(chunk, U8(8))
			g.JAE(LabelRef(long))
			g.storeShort(x, base, chunk, s)
			g.JMP(LabelRef(stored))
			g.Label(long)
		}
		if l.single {
			g.MOVQ(x, Mem{Base: base})
		} else {
			g.MOVQ(x, Mem{Base: base, Index: odd, Scale: 1})
			g.SHRXQ(pos, word, word)
			top, done := g.label("chunk"), g.label("scattered")
			compare, move := func() { g.CMPQ(chunk, odd) }, func() { g.ADDQ(U8(8), chunk) }
			if l.reversed {
				compare, move = func() { g.CMPQ(odd, chunk) }, func() { g.SUBQ(U8(8), chunk) }
			}
			g.XORL(chunk.As32(), chunk.As32())
			compare()
			g.JGE(LabelRef(done))
			g.Label(top)
			deposit(word, fields)
			g.SHRXQ(step, word, word)
			g.MOVQ(x, Mem{Base: base, Index: chunk, Scale: 1})
			move()
			compare()
			g.JLT(LabelRef(top))
			g.Label(done)
		}
		if l.exact {
			g.Label(stored)
		}
		g.ADDQ(l.word, src)
		g.ADDQ(l.group, base)
	})
}

// eachWidth emits code for each size, and a choice among them by a register.
func (g *amd64) eachWidth(size reg.Register, code func(size int)) {
	done := g.label("sized")
	g.choose(size, []int{1, 2, 4, 8}, func(size int) {
		code(size)
		g.JMP(LabelRef(done))
	})
	g.Label(done)
}

func (g *amd64) loadScalar(m Mem, r reg.GPVirtual, size int) {
	switch size {
	case 1:
		g.MOVBLZX(m, r.As32())
	case 2:
		g.MOVWLZX(m, r.As32())
	case 4:
		g.MOVL(m, r.As32())
	case 8:
		g.MOVQ(m, r)
	}
}

func (g *amd64) storeScalar(r reg.GPVirtual, size int, m Mem) {
	switch size {
	case 1:
		g.MOVB(r.As8(), m)
	case 2:
		g.MOVW(r.As16(), m)
	case 4:
		g.MOVL(r.As32(), m)
	case 8:
		g.MOVQ(r, m)
	}
}

// loadShort emits a load of 1 to 7 bytes.
func (g *amd64) loadShort(base reg.Register, bytes, r, scratch reg.GPVirtual) {
	g.XORL(r.As32(), r.As32())
	g.eachPart(bytes, []int{1, 2, 4}, func(size int) {
		at := g.partAt(base, bytes, scratch, size)
		if size == 1 {
			g.loadScalar(at, r, size)
			return
		}
		g.loadScalar(at, scratch, size)
		g.SHLQ(U8(8*size), r)
		g.ORQ(scratch, r)
	})
}

// storeShort emits a store of 1 to 7 bytes.
func (g *amd64) storeShort(r reg.GPVirtual, base reg.Register, bytes, scratch reg.GPVirtual) {
	g.eachPart(bytes, []int{4, 2, 1}, func(size int) {
		g.storeScalar(r, size, g.partAt(base, bytes, scratch, size))
		if size > 1 {
			g.SHRQ(U8(8*size), r)
		}
	})
}

// eachPart emits code for each of the sizes. The code for a size runs if the number of
// bytes has that bit.
func (g *amd64) eachPart(bytes reg.GPVirtual, sizes []int, code func(size int)) {
	for _, size := range sizes {
		none := g.label("part")
		g.TESTQ(U32(size), bytes)
		g.JZ(LabelRef(none))
		code(size)
		g.Label(none)
	}
}

// partAt returns where the part of the given size is. Longer parts come before it.
func (g *amd64) partAt(base reg.Register, bytes, scratch reg.GPVirtual, size int) Mem {
	switch size {
	case 1:
		return Mem{Base: base, Index: bytes, Scale: 1, Disp: -1}
	case 2:
		g.MOVQ(bytes, scratch)
		g.ANDQ(U8(4), scratch)
		return Mem{Base: base, Index: scratch, Scale: 1}
	}
	return Mem{Base: base}
}

// The kernels of bits pack one bit of each byte, or make a byte of each bit. If less than
// a vector is left, they process 8 bytes at a time.

// gatherOnes emits the kernel that packs one bit of each byte into n bytes of dst. In bit,
// this bit is set in each byte.
func (g *amd64) gatherOnes() {
	dst, src := g.pointers["dst"], g.pointers["src"]
	n, index := g.argument("n"), g.GP64()
	g.XORL(index.As32(), index.As32())
	g.either("reversed", func(reversed bool) {
		bit, mirror := g.vector(), g.vector()
		g.VPBROADCASTQ(g.argumentMem("bit"), bit)
		if reversed {
			g.asm(g.moves(g.vecBytes()), g.tables.mirror, mirror)
		}
		bytes := g.vecBytes() / 8
		for _, count := range []int{unroll, 1} {
			g.loop("vectors", vectorsATurn(count), count*bytes, index, n, func() {
				for i := range count {
					at := Mem{Base: src, Index: index, Scale: 8, Disp: i * g.vecBytes()}
					to := Mem{Base: dst, Index: index, Scale: 1, Disp: i * bytes}
					v := g.vector()
					source := Op(at)
					if reversed {
						g.asm(g.moves(g.vecBytes()), at, v)
						g.VPSHUFB(mirror, v, v)
						source = v
					}
					if g.wide() {
						k := g.K()
						g.VPTESTMB(source, bit, k)
						g.KMOVQ(k, to)
					} else {
						mask := g.GP32()
						g.VPAND(source, bit, v)
						g.VPCMPEQB(bit, v, v)
						g.VPMOVMSKB(v, mask)
						g.MOVL(mask, to)
					}
				}
			})
		}
		mask := g.argument("bit")
		g.loop("bytes", "8 bytes a turn.", 1, index, n, func() {
			x := g.GP64()
			g.MOVQ(Mem{Base: src, Index: index, Scale: 8}, x)
			if reversed {
				g.BSWAPQ(x)
			}
			g.PEXTQ(mask, x, x)
			g.MOVB(x.As8(), Mem{Base: dst, Index: index, Scale: 1})
		})
	})
	g.ret()
}

// scatterOnes emits the kernel that makes a byte of each bit of n bytes at src. The byte is
// 0 or has the bits of ones.
func (g *amd64) scatterOnes() {
	dst, src := g.pointers["dst"], g.pointers["src"]
	n, index := g.argument("n"), g.GP64()
	g.XORL(index.As32(), index.As32())
	g.either("reversed", func(reversed bool) {
		ones, mirror := g.vector(), g.vector()
		g.VPBROADCASTQ(g.argumentMem("ones"), ones)
		if reversed {
			g.asm(g.moves(g.vecBytes()), g.tables.mirror, mirror)
		}
		var spread, laneBit reg.VecVirtual
		if !g.wide() {
			spread, laneBit = g.vector(), g.vector()
			g.VMOVDQU(g.tables.spread, spread)
			g.VMOVDQU(g.tables.laneBit[8], laneBit)
		}
		bytes := g.vecBytes() / 8
		for _, count := range []int{unroll, 1} {
			g.loop("vectors", vectorsATurn(count), count*bytes, index, n, func() {
				for i := range count {
					at := Mem{Base: src, Index: index, Scale: 1, Disp: i * bytes}
					v := g.vector()
					if g.wide() {
						k := g.K()
						g.KMOVQ(at, k)
						g.VMOVDQU8_Z(ones, k, v)
					} else {
						g.VPBROADCASTD(at, v)
						g.VPSHUFB(spread, v, v)
						g.VPAND(laneBit, v, v)
						g.VPCMPEQB(laneBit, v, v)
						g.VPAND(ones, v, v)
					}
					if reversed {
						g.VPSHUFB(mirror, v, v)
					}
					g.asm(g.moves(g.vecBytes()), v, Mem{Base: dst, Index: index, Scale: 8, Disp: i * g.vecBytes()})
				}
			})
		}
		mask, value := g.GP64(), g.argument("ones")
		g.MOVQ(U64(lowBits), mask)
		g.ANDQ(U32(0xff), value)
		g.loop("bytes", "8 bytes a turn.", 1, index, n, func() {
			x := g.GP64()
			g.MOVBLZX(Mem{Base: src, Index: index, Scale: 1}, x.As32())
			g.PDEPQ(mask, x, x)
			g.IMULQ(value, x)
			if reversed {
				g.BSWAPQ(x)
			}
			g.MOVQ(x, Mem{Base: dst, Index: index, Scale: 8})
		})
	})
	g.ret()
}

// The kernels of bytes take elements of one byte, in groups that lie side by side. A step
// makes as many words, or as many groups, as fit 64 bytes. Go makes a table that says
// which byte goes where, so a step is the same few instructions for all layouts. In a
// step, each 64 bits of a register have the elements of eight bytes of a group, or of
// groups: an eight.

// byteSteps emits the loops over steps. process emits what a step does: it loads from an
// operand in memory, and returns what is stored. Most steps load and store 64 bytes, even
// if they need fewer, and the next step overwrites the rest. Go passes their number. The
// words after them are loaded and stored exactly. from and to name the arguments that have
// the bytes of src and of dst for a word.
func (g *amd64) byteSteps(from, to string, process func(from Op) reg.VecVirtual) {
	src, dst, steps := g.pointers["src"], g.pointers["dst"], g.argument("steps")
	words, load, store := g.argument("words"), g.GP64(), g.GP64()
	g.MOVQ(words, load)
	g.IMULQ(g.argumentMem(from), load)
	g.MOVQ(words, store)
	g.IMULQ(g.argumentMem(to), store)
	for _, count := range []int{unroll, 1} {
		g.loop("steps", fmt.Sprintf("Whole vectors, %d a turn.", count), count, nil, steps, func() {
			for range count {
				g.VMOVDQU64(process(Mem{Base: src}), Mem{Base: dst})
				g.ADDQ(load, src)
				g.ADDQ(store, dst)
			}
		})
	}
	rest, top, done := g.argument("n"), g.label("rest"), g.label("restDone")
	taken := g.argument("steps")
	g.IMULQ(words, taken)
	g.SUBQ(taken, rest)
	g.JZ(LabelRef(done))
	g.Comment("Exactly the words that are left.")
	g.Label(top)
	bytes, loaded := g.GP64(), g.ZMM()
	g.CMPQ(rest, words)
	g.CMOVQLT(rest, words)
	first := func(argument string) reg.Register {
		g.MOVQ(words, bytes)
		g.IMULQ(g.argumentMem(argument), bytes)
		return g.opmask(^uint64(0), bytes)
	}
	g.VMOVDQU8_Z(Mem{Base: src}, first(from), loaded)
	g.VMOVDQU8(process(loaded), first(to), Mem{Base: dst})
	g.ADDQ(load, src)
	g.ADDQ(store, dst)
	g.SUBQ(words, rest)
	g.JNZ(LabelRef(top))
	g.Label(done)
}

// table returns an operand at an offset in the table.
func (g *amd64) table(offset int) Mem { return Mem{Base: g.pointers["table"], Disp: offset} }

// tableVector loads a vector of the table.
func (g *amd64) tableVector(offset int) reg.VecVirtual {
	v := g.ZMM()
	g.VMOVDQU64(g.table(offset), v)
	return v
}

// tableMask loads a mask of the table.
func (g *amd64) tableMask(offset int) reg.Register {
	k := g.K()
	g.KMOVQ(g.table(offset), k)
	return k
}

// tableEach loads 64 bits of the table into each 64 bits of a vector.
func (g *amd64) tableEach(offset int) reg.VecVirtual {
	v := g.ZMM()
	g.VPBROADCASTQ(g.table(offset), v)
	return v
}

// gatherBytes emits the kernel that makes words of elements of bytes. It puts the elements
// into eights. Each merge closes up pairs of fields, then pairs of pairs, until the fields
// of an eight are whole bytes. These bytes make the words.
func (g *amd64) gatherBytes() {
	spread, close := g.tableVector(tableFirst), g.tableVector(tableSecond)
	present, covered := g.tableMask(tableMasks), g.tableMask(tableMasks+8)
	g.choose(g.argument("merges"), []int{1, 2, 3}, func(merges int) {
		var down, low []reg.VecVirtual
		for i := range merges {
			down, low = append(down, g.tableEach(tableDown+8*i)), append(low, g.tableEach(tableLow+8*i))
		}
		g.byteSteps("bytes", "w", func(from Op) reg.VecVirtual {
			v := g.ZMM()
			g.VPERMB_Z(from, spread, present, v)
			for i := range merges {
				upper, merged := g.ZMM(), g.ZMM()
				g.VPSRLVQ(down[i], v, upper)
				g.VMOVDQA64(low[i], merged)
				g.VPTERNLOGQ(U8(0xca), upper, v, merged) // where low[i] has ones, v, else upper
				v = merged
			}
			g.VPERMB_Z(v, close, covered, v)
			return v
		})
		g.ret()
	})
}

// scatterBytes emits the kernel that makes elements of bytes. For each eight it gets the
// bytes of words that the fields are in. Then each element gets 8 bits, from any bit on.
func (g *amd64) scatterBytes() {
	index, shifts, fields := g.tableVector(tableFirst), g.tableVector(tableSecond), g.tableEach(tableMasks)
	g.byteSteps("w", "bytes", func(from Op) reg.VecVirtual {
		v := g.ZMM()
		g.VPERMB(from, index, v)
		g.VPMULTISHIFTQB(v, shifts, v)
		g.VPANDQ(fields, v, v)
		return v
	})
	g.ret()
}

// lowBits has the lowest bit of each byte.
const lowBits = 0x0101010101010101

func vectorsATurn(count int) string {
	if count == 1 {
		return "One vector a turn."
	}
	return fmt.Sprintf("%d vectors a turn.", count)
}
