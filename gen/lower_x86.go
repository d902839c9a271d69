package main

import (
	"fmt"
	"slices"
)

// suffixes are the letters of lane widths in mnemonics.
var suffixes = map[int]string{8: "B", 16: "W", 32: "D", 64: "Q"}

// logicSuffix returns the lane letter of AVX-512's logical instructions. The letter does
// not change their results.
func (l *lowering) logicSuffix() string {
	if l.lane == 32 {
		return "D"
	}
	return "Q"
}

// lowerAMD64 lowers a node for AVX2 or AVX-512. Words, arguments and constants are
// lowered elsewhere.
func (l *lowering) lowerAMD64(n *node) *inst {
	if l.isa == avx512 && n.op.logic() {
		return l.ternary(n)
	}
	if n.op == opCount {
		counts := l.emit(inst{op: pseudoCount, name: n.name, each: true})
		if l.isa == avx512 && l.lane == 32 {
			// The load has a mask of bytes, which clears the upper three of each lane.
			counts.op = "VMOVDQU8.Z"
			return counts
		}
		return l.logic(opAnd, l.constant(0xff), counts)
	}
	if n.op == opMin {
		// The operand is a count. The constant's upper bytes are 0, so the minimum of
		// bytes also masks the count.
		return l.op("VPMINUB", l.lower(n.args[1]), l.emit(inst{op: pseudoCount, name: n.args[0].name, each: true}))
	}
	if n.op == opMove && l.isa == avx2 {
		// AVX2 has no rotation. One of these two shifts is by 0.
		x, name := l.lower(n.args[0]), n.args[1].name
		left := l.op("VPSLLVQ", x, l.emit(inst{op: pseudoLeft, name: name}))
		return l.op("VPSRLVQ", left, l.emit(inst{op: pseudoRight, name: name}))
	}
	var args []*inst
	for _, a := range n.args {
		args = append(args, l.lower(a))
	}
	switch n.op {
	case opShl:
		return l.op("VPSLLV"+suffixes[l.countLane(n.args[1])], args...)
	case opShr:
		return l.op("VPSRLV"+suffixes[l.countLane(n.args[1])], args...)
	case opSar:
		if l.isa == avx2 && l.lane == 64 {
			// AVX2 has no VPSRAVQ. The value is inverted if it is negative, shifted,
			// and inverted back.
			sign := l.op("VPCMPGTQ", l.constant(0), args[0])
			shifted := l.op("VPSRLVQ", l.op("VPXOR", sign, args[0]), args[1])
			return l.op("VPXOR", sign, shifted)
		}
		return l.op("VPSRAV"+suffixes[l.lane], args...)
	case opMove:
		return l.op("VPROLVQ", args...)
	case opSign:
		if l.isa == avx512 {
			// The emitter makes the mask register that this takes.
			return l.op("VPMOVM2"+suffixes[l.lane], args...)
		}
		return l.op("VPCMPGT"+suffixes[l.lane], l.constant(0), args[0])
	case opSub:
		return l.op("VPSUB"+suffixes[l.lane], args...)
	case opSubSat:
		return l.op("VPSUBUSW", args...)
	}
	return l.logic(n.op, args[0], args[1])
}

// logic emits a logical instruction on two values. Only AVX-512's mnemonics have a
// letter for the lanes.
func (l *lowering) logic(o op, x, y *inst) *inst {
	mnemonic := map[op]string{opAnd: "VPAND", opAndNot: "VPANDN", opOr: "VPOR", opXor: "VPXOR"}[o]
	if mnemonic == "" {
		panic(fmt.Sprintf("no lowering of op %d for %s", o, l.isa))
	}
	if l.isa == avx512 {
		mnemonic += l.logicSuffix()
	}
	// The instruction can read its last source from memory. VPANDN negates the other
	// source.
	if o == opAndNot || x.op == pseudoWord {
		x, y = y, x
	}
	return l.op(mnemonic, x, y)
}

// ternary lowers a tree of logic on up to three values to one VPTERNLOG, or to a plain
// instruction if one suffices.
func (l *lowering) ternary(root *node) *inst {
	unique := func(list []*node) []*node {
		var u []*node
		for _, n := range list {
			if !slices.Contains(u, n) {
				u = append(u, n)
			}
		}
		return u
	}
	leaves := unique(root.args)
	plain := root.op != opSelect
	for i := 0; i < len(leaves); i++ {
		n := leaves[i]
		if !n.op.logic() || l.refs[n] > 1 || n.each != root.each {
			continue
		}
		wider := unique(slices.Concat(leaves[:i], n.args, leaves[i+1:]))
		if len(wider) <= 3 {
			plain = false
			leaves = wider
			i = -1
		}
	}
	args := make([]*inst, len(leaves))
	for i, n := range leaves {
		args[i] = l.lower(n)
	}
	if plain && len(leaves) == 2 {
		return l.logic(root.op, args[0], args[1])
	}
	// The instruction overwrites its first source, which is best a computed value that
	// has no other use. It can read its last source from memory.
	rank := func(n *node) int {
		switch {
		case n.name == "dst":
			return 0
		case n.each && l.refs[n] == 1 && n.op != opWord:
			return 1
		case !n.each:
			return 2
		default:
			return 3
		}
	}
	order := slices.Clone(leaves)
	slices.SortStableFunc(order, func(a, b *node) int { return rank(a) - rank(b) })
	if rank(order[0]) == 2 {
		// Only loads may be overwritten. Take the first one.
		i := slices.IndexFunc(order, func(n *node) bool { return n.each })
		if i > 0 {
			order[0], order[i] = order[i], order[0]
		}
	}
	sources := make([]*inst, 3)
	patterns := map[*node]uint8{}
	for i, n := range order {
		sources[i] = args[slices.Index(leaves, n)]
		patterns[n] = []uint8{0xf0, 0xcc, 0xaa}[i]
	}
	if len(order) == 2 {
		sources[2] = sources[1]
	}
	return l.emit(inst{op: "VPTERNLOG" + l.logicSuffix(), imm: truthTable(root, patterns), args: sources})
}

// truthTable returns the value of a tree of logic for the bit patterns of its leaves.
func truthTable(n *node, leaves map[*node]uint8) uint8 {
	if v, ok := leaves[n]; ok {
		return v
	}
	x, y := truthTable(n.args[0], leaves), truthTable(n.args[1], leaves)
	switch n.op {
	case opAnd:
		return x & y
	case opAndNot:
		return x &^ y
	case opOr:
		return x | y
	case opXor:
		return x ^ y
	case opSelect:
		return x&y | ^x&truthTable(n.args[2], leaves)
	}
	panic("not logic")
}
