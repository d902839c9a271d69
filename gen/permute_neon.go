package main

import (
	"fmt"
	"slices"
	"strings"
)

// NEON's permute kernel works in steps. A step loads a vector from each source, and looks up each byte that it stores
// in all of them together. Go makes the sources and the indices, so the kernel knows nothing of groups and moves.
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

// A stepLoop says what a loop takes advantage of. The zero stepLoop takes any sources and any step.
type stepLoop struct {
	name     string
	side     bool // results lie side by side, so they are stored in pairs
	adjacent bool // so do the vectors of the only source, which are loaded in pairs
	constant bool // the last source stays where it is, so it is loaded before the loop
}

// steps emits the loop over the steps. Each of its turns stores 4 vectors.
func (g *arm64) steps(data, advance []gpr, index []vreg) {
	n, step := g.arguments["n"], g.arguments["step"]
	name := fmt.Sprintf("%d_%d", len(data), len(index))
	turn := slices.Max(stepVectors) / len(index)
	if turn > 1 {
		g.op("SUBS $%d, %s", turn, n)
		g.op("BLT few%s", name)
		if len(index) == 1 {
			g.op("CMP $%d, %s", vecBytes, step)
			g.op("BNE many%s", name)
			last := advance[len(advance)-1]
			special := stepLoop{name: "constant", side: true, constant: true}
			if len(data) == 1 {
				special = stepLoop{name: "adjacent", side: true, adjacent: true}
				g.op("CMP $%d, %s", vecBytes, last)
				g.op("BNE side%s", name)
			} else {
				g.op("CBNZ %s, side%s", last, name)
			}
			g.manySteps(turn, data, advance, index, special)
			g.op("B few%s", name)
			g.manySteps(turn, data, advance, index, stepLoop{name: "side", side: true})
			g.op("B few%s", name)
		}
		g.manySteps(turn, data, advance, index, stepLoop{name: "many"})
		g.label("few%s", name)
		g.op("ADDS $%d, %s", turn, n)
		g.op("BEQ done")
	}
	if turn == 2 {
		g.comment("One step is left.")
		g.stepTurn(g.stepTables(1, len(data)), data, advance, index, stepLoop{})
		g.op("RET")
		return
	}
	g.label("one%s", name)
	g.stepTurn(g.stepTables(1, len(data)), data, advance, index, stepLoop{})
	g.op("SUBS $1, %s", n)
	g.op("BNE one%s", name)
	g.op("RET")
}

// manySteps emits a loop of turns of count steps. It has a label of the loop's name.
func (g *arm64) manySteps(count int, data, advance []gpr, index []vreg, loop stepLoop) {
	defer g.scope()()
	n := g.arguments["n"]
	name := fmt.Sprintf("%s%d_%d", loop.name, len(data), len(index))
	tables := g.stepTables(count, len(data))
	if loop.constant {
		for _, table := range tables {
			g.transfer(false, data[len(data)-1], 0, table[len(data)-1:], vecBytes)
		}
	}
	g.op("PCALIGN $32")
	g.label("%s", name)
	g.comment("%d steps a turn.", count)
	g.stepTurn(tables, data, advance, index, loop)
	g.op("SUBS $%d, %s", count, n)
	g.op("BGE %s", name)
}

// stepTables allocates the vectors in which each of count steps looks up bytes.
func (g *arm64) stepTables(count, sources int) [][]vreg {
	all := g.allocateAll(count * sources)
	for i, v := range all {
		if v != all[0]+vreg(i) {
			panic("the vectors of a table are not in a row in " + g.symbol)
		}
	}
	return slices.Collect(slices.Chunk(all, sources))
}

// stepTurn emits a turn of as many steps as there are tables. All loads come before the first store.
func (g *arm64) stepTurn(tables [][]vreg, data, advance []gpr, index []vreg, loop stepLoop) {
	defer g.scope()()
	dst, step := g.arguments["dst"], g.arguments["step"]
	moving := len(data)
	if loop.constant {
		moving--
	}
	if loop.adjacent {
		bytes := len(tables) * vecBytes
		g.transfer(false, data[0], 0, slices.Concat(tables...), bytes)
		g.op("ADD $%d, %s", bytes, data[0])
		moving = 0
	}
	for _, table := range tables {
		for s := range moving {
			g.transfer(false, data[s], 0, table[s:s+1], vecBytes)
			g.op("ADD %s, %s", advance[s], data[s])
		}
	}
	results := make([][]vreg, len(tables))
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
	if loop.side {
		bytes := len(tables) * vecBytes
		g.transfer(true, dst, 0, slices.Concat(results...), bytes)
		g.op("ADD $%d, %s", bytes, dst)
		return
	}
	for _, r := range results {
		g.transfer(true, dst, 0, r, len(r)*vecBytes)
		g.op("ADD %s, %s", step, dst)
	}
}
