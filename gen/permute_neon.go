package main

import (
	"fmt"
	"slices"
	"strings"
)

// NEON's permute kernel works in steps. A step loads a vector from each source, and looks up each byte that it stores in
// all of them together. Go makes the sources and the indices, so the kernel knows nothing of groups and moves.
// permute_arm64.go says how a call becomes steps.

// One TBL looks up bytes in at most mostSources vectors.
const mostSources = 4

// stepVectors are the numbers of vectors that a step may store.
var stepVectors = []int{1, 2, 4}

// permute emits the permute kernel. It has a loop for each number of sources with each number of vectors to store.
func (g *arm64) permute() {
	sources, indices := g.arguments["sources"], g.arguments["indices"]
	var data, advance []gpr
	for range mostSources {
		data, advance = append(data, g.register()), append(advance, g.register())
	}
	g.choose("sources", g.arguments["k"], 4, []int{1, 2, 3, 4}, func(k int) {
		for s := range k {
			g.op("MOVD %d(%s), %s", s*sourceSize+sourceData, sources, data[s])
			g.op("MOVD %d(%s), %s", s*sourceSize+sourceAdvance, sources, advance[s])
		}
		g.choose(fmt.Sprintf("vectors%d", k), g.arguments["vectors"], 4, stepVectors, func(vectors int) {
			defer g.scope()()
			g.comment("From %d sources to %d vectors.", k, vectors)
			index := g.allocateAll(vectors)
			g.transfer(false, indices, 0, index, vectors*vecBytes)
			g.steps(data[:k], advance[:k], index)
		})
	})
	g.label("done")
	g.op("RET")
}

// steps emits the loop over the steps. Each of its turns stores 4 vectors.
func (g *arm64) steps(data, advance []gpr, index []vreg) {
	n := g.arguments["n"]
	name := fmt.Sprintf("%d_%d", len(data), len(index))
	turn := slices.Max(stepVectors) / len(index)
	if turn > 1 {
		g.op("SUBS $%d, %s", turn, n)
		g.op("BLT few%s", name)
		g.op("PCALIGN $32")
		g.label("many%s", name)
		g.comment("%d steps a turn.", turn)
		g.stepTurn(turn, data, advance, index)
		g.op("SUBS $%d, %s", turn, n)
		g.op("BGE many%s", name)
		g.label("few%s", name)
		g.op("ADDS $%d, %s", turn, n)
		g.op("BEQ done")
	}
	if turn == 2 {
		g.comment("One step is left.")
		g.stepTurn(1, data, advance, index)
		g.op("RET")
		return
	}
	g.label("one%s", name)
	g.stepTurn(1, data, advance, index)
	g.op("SUBS $1, %s", n)
	g.op("BNE one%s", name)
	g.op("RET")
}

// stepTurn emits a turn of count steps. All loads come before the first store.
func (g *arm64) stepTurn(count int, data, advance []gpr, index []vreg) {
	defer g.scope()()
	dst, step := g.arguments["dst"], g.arguments["step"]
	var tables [][]vreg
	for range count {
		table := g.allocateAll(len(data))
		for s, v := range table {
			if v != table[0]+vreg(s) {
				panic("the vectors of a table are not in a row in " + g.symbol)
			}
			g.transfer(false, data[s], 0, table[s:s+1], vecBytes)
			g.op("ADD %s, %s", advance[s], data[s])
		}
		tables = append(tables, table)
	}
	results := make([][]vreg, count)
	for u, table := range tables {
		var list []string
		for _, v := range table {
			list = append(list, v.String()+".B16")
		}
		for _, i := range index {
			r := g.allocate()
			g.op("VTBL %s.B16, [%s], %s.B16", i, strings.Join(list, ", "), r)
			results[u] = append(results[u], r)
		}
	}
	for _, r := range results {
		g.transfer(true, dst, 0, r, len(r)*vecBytes)
		g.op("ADD %s, %s", step, dst)
	}
}
