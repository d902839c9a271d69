package main

import (
	"fmt"
	"slices"
)

// An inst is one instruction of a lowered formula, or one operand made ready for
// the instructions. The emitters give it registers; the proof gives it its
// meaning in one lane.
type inst struct {
	op   string  // the mnemonic, or one of the pseudo-instructions below
	imm  uint8   // VPTERNLOG: the truth table
	args []*inst // sources, in the order of the processor's manual
	name string  // loads: the operand
	val  uint64  // pseudoConst: the value
	each bool
	uses int
}

// Pseudo-instructions, which every emitter expands in its own way.
const (
	pseudoWord  = "word"  // a word of the operand
	pseudoCount = "count" // an uint32 of the operand, zero-extended, with only its low 8 bits kept where the inst is uniform
	pseudoConst = "const" // a constant
)

// A program is a lowered formula: instructions in an order to execute them in,
// the last of which gives the result. Those that are the same for all lanes can
// be executed once.
type program []*inst

func (p program) result() *inst { return p[len(p)-1] }

// lower turns a formula into instructions of the target.
func lower(root *node, t target) program {
	l := lowering{target: t, done: map[*node]*inst{}, consts: map[uint64]*inst{}, refs: map[*node]int{}}
	if !t.selects() {
		root = expandSelects(root, map[*node]*node{})
	}
	l.countRefs(root)
	l.lower(root)
	for _, in := range l.program {
		for _, a := range in.args {
			a.uses++
		}
	}
	return l.program
}

type lowering struct {
	target
	program program
	done    map[*node]*inst
	consts  map[uint64]*inst
	refs    map[*node]int
}

// expandSelects writes each select as two masks and an or.
func expandSelects(n *node, done map[*node]*node) *node {
	if m, ok := done[n]; ok {
		return m
	}
	m := *n
	m.args = nil
	for _, a := range n.args {
		m.args = append(m.args, expandSelects(a, done))
	}
	if n.op == opSelect {
		m = *or(and(m.args[1], m.args[0]), andNot(m.args[2], m.args[0]))
	}
	done[n] = &m
	return &m
}

func (l *lowering) countRefs(n *node) {
	l.refs[n]++
	if l.refs[n] == 1 {
		for _, a := range n.args {
			l.countRefs(a)
		}
	}
}

func (l *lowering) emit(in inst) *inst {
	for _, a := range in.args {
		in.each = in.each || a.each
	}
	l.program = append(l.program, &in)
	return &in
}

func (l *lowering) op(mnemonic string, args ...*inst) *inst {
	return l.emit(inst{op: mnemonic, args: args})
}

func (l *lowering) constant(v uint64) *inst {
	if l.bits == 32 {
		v = uint64(uint32(v))
	}
	if l.consts[v] == nil {
		l.consts[v] = l.emit(inst{op: pseudoConst, val: v})
	}
	return l.consts[v]
}

func (l *lowering) lower(n *node) *inst {
	if in, ok := l.done[n]; ok {
		return in
	}
	var in *inst
	switch n.op {
	case opWord:
		in = l.emit(inst{op: pseudoWord, name: n.name, each: n.each})
	case opConst:
		in = l.constant(n.imm)
	default:
		if l.isa == neon {
			in = l.lowerARM64(n)
		} else {
			in = l.lowerAMD64(n)
		}
	}
	l.done[n] = in
	return in
}

// lowerAMD64 lowers all but plain operands and constants for AVX2 and AVX-512.
func (l *lowering) lowerAMD64(n *node) *inst {
	// Words of 32 and 64 bits are D and Q to the mnemonics.
	suffix := map[int]string{32: "D", 64: "Q"}[l.bits]
	if l.isa == avx512 && n.op.logic() {
		return l.ternary(n, suffix)
	}
	if n.op == opCount {
		counts := l.emit(inst{op: pseudoCount, name: n.name, each: n.each})
		switch {
		case !n.each:
			return counts
		case l.isa == avx512 && l.bits == 32:
			// A load of bytes that leaves out the upper three of each lane.
			counts.op = "VMOVDQU8.Z"
			return counts
		default:
			return l.logic(opAnd, suffix, l.constant(0xff), counts)
		}
	}
	if n.op == opMin {
		// The operand is a count, which the constant's zeros mask, byte by byte.
		count := n.args[0]
		return l.op("VPMINUB", l.lower(n.args[1]), l.emit(inst{op: pseudoCount, name: count.name, each: count.each}))
	}
	var args []*inst
	for _, a := range n.args {
		args = append(args, l.lower(a))
	}
	switch n.op {
	case opShl:
		return l.op("VPSLLV"+suffix, args...)
	case opShr:
		return l.op("VPSRLV"+suffix, args...)
	case opSar:
		if l.isa == avx2 && l.bits == 64 {
			// AVX2 has no VPSRAVQ: shift zeros into the absolute bits.
			sign := l.op("VPCMPGTQ", l.constant(0), args[0])
			shifted := l.op("VPSRLVQ", l.op("VPXOR", sign, args[0]), args[1])
			return l.op("VPXOR", sign, shifted)
		}
		return l.op("VPSRAV"+suffix, args...)
	case opAdd:
		return l.op("VPADD"+suffix, args...)
	case opSubSat:
		return l.op("VPSUBUSW", args...)
	}
	return l.logic(n.op, suffix, args[0], args[1])
}

// logic emits a plain instruction of logic, whose mnemonic has the word's suffix
// in AVX-512 only.
func (l *lowering) logic(o op, suffix string, x, y *inst) *inst {
	mnemonic := map[op]string{opAnd: "VPAND", opAndNot: "VPANDN", opOr: "VPOR", opXor: "VPXOR"}[o]
	if mnemonic == "" {
		panic(fmt.Sprintf("no lowering of op %d for %s", o, l.isa))
	}
	if l.isa == avx512 {
		mnemonic += suffix
	}
	// The instruction can read its last source from memory. That of VPANDN is not
	// the one that it negates.
	if o == opAndNot || x.op == pseudoWord {
		x, y = y, x
	}
	return l.op(mnemonic, x, y)
}

// ternary lowers a tree of logic to one instruction on up to three values.
func (l *lowering) ternary(root *node, suffix string) *inst {
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
		return l.logic(root.op, suffix, args[0], args[1])
	}
	// The first source is overwritten: best a value that nobody else wants, and
	// a computed one rather than a load. The last may be read from memory.
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
		// Nothing may be overwritten but a load: take the first of them.
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
	return l.emit(inst{op: "VPTERNLOG" + suffix, imm: truthTable(root, patterns), args: sources})
}

// truthTable evaluates a tree of logic on the bit patterns of its leaves.
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
