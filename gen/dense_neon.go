package main

// gatherOnes emits the kernel that packs one bit of each byte into n bytes of dst. In bit,
// this bit is set in each byte. Each byte becomes its bit's weight in the byte of dst, and
// ADDP adds the weights in pairs until 8 are one byte.
func (g *arm64) gatherOnes() {
	src, dst := g.arguments["src"], g.arguments["dst"]
	bit, weights := g.uniformBytes("bit"), g.weights()
	g.onesLoops(func(count int) {
		defer g.scope()()
		list := g.allocateAll(max(count/2, 1))
		g.transfer(false, src, 0, list, 8*count)
		for _, v := range list {
			g.lanewise("VCMTST", 8, bit, v, v)
		}
		for _, v := range list {
			g.lanewise("VAND", 8, weights, v, v)
		}
		for range 3 {
			list = g.addPairs(list)
		}
		g.transfer(true, dst, 0, list, count)
		g.op("ADD $%d, %s", 8*count, src)
		g.op("ADD $%d, %s", count, dst)
	})
}

// scatterOnes emits the kernel that makes a byte of each bit of n bytes at src. The byte is
// 0 or has the bits of ones.
func (g *arm64) scatterOnes() {
	src, dst := g.arguments["src"], g.arguments["dst"]
	ones, weights := g.uniformBytes("ones"), g.weights()
	spread := g.allocateAll(4)
	for i, v := range spread {
		const each = 0x0101010101010101
		g.op("VMOVQ $0x%016x, $0x%016x, %s", 2*i*each, (2*i+1)*each, v)
	}
	g.onesLoops(func(count int) {
		defer g.scope()()
		bytes := g.allocate()
		g.transfer(false, src, 0, []vreg{bytes}, count)
		list := g.allocateAll(max(count/2, 1))
		for i, v := range list {
			g.op("VTBL %s.B16, [%s.B16], %s.B16", spread[i], bytes, v)
		}
		for _, v := range list {
			g.lanewise("VCMTST", 8, weights, v, v)
		}
		for _, v := range list {
			g.lanewise("VAND", 8, ones, v, v)
		}
		g.transfer(true, dst, 0, list, 8*count)
		g.op("ADD $%d, %s", count, src)
		g.op("ADD $%d, %s", 8*count, dst)
	})
}

// onesLoops emits the loops of a kernel of single bits. turn emits a turn for so many of
// the n bytes.
func (g *arm64) onesLoops(turn func(count int)) {
	n := g.register()
	g.argument("n", n)
	g.op("SUBS $8, %s", n)
	g.op("BLT few")
	g.op("PCALIGN $32")
	g.label("many")
	g.comment("8 bytes of bits a turn.")
	turn(8)
	g.op("SUBS $8, %s", n)
	g.op("BGE many")
	g.label("few")
	g.op("ADDS $8, %s", n)
	g.op("BEQ done")
	g.label("one")
	g.comment("A byte of bits a turn.")
	turn(1)
	g.op("SUBS $1, %s", n)
	g.op("BNE one")
	g.label("done")
	g.op("RET")
}

// uniformBytes returns a vector with an argument's 8 bytes in each half.
func (g *arm64) uniformBytes(name string) vreg {
	v := g.allocate()
	g.argument(name, g.scratch)
	g.op("VDUP %s, %s.D2", g.scratch, v)
	return v
}

// weights returns a vector with the bits of a byte, from the first element's to the last's.
func (g *arm64) weights() vreg {
	v := g.allocate()
	set := func(bits uint64) { g.op("VMOVQ $0x%016x, $0x%016x, %s", bits, bits, v) }
	set(0x8040201008040201)
	g.argument("reversed", g.scratch)
	g.op("CBZ %s, weighed", g.scratch)
	set(0x0102040810204080)
	g.label("weighed")
	return v
}

// addPairs adds bytes to their neighbours. Two vectors become one.
func (g *arm64) addPairs(list []vreg) []vreg {
	var sums []vreg
	for i := 0; i < len(list); i += 2 {
		g.lanewise("VADDP", 8, list[min(i+1, len(list)-1)], list[i], list[i])
		sums = append(sums, list[i])
	}
	return sums
}
