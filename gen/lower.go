package main

// An inst is one instruction of a lowered formula, or a pseudo-instruction that loads
// an operand. The emitters give it registers.
type inst struct {
	op   string  // the mnemonic, or one of the pseudo-instructions below
	imm  uint8   // VPTERNLOG: the truth table
	args []*inst // sources, in the order of the processor's manual
	name string  // pseudo-instructions: the operand or argument
	val  uint64  // pseudoConst: the value
	each bool
	uses int
}

// Pseudo-instructions. Each emitter expands them in its own way.
const (
	pseudoWord    = "word"    // a word of the operand, extended to the lane
	pseudoCount   = "count"   // a uint32 of the operand, zero-extended to the lane
	pseudoUniform = "uniform" // an argument
	pseudoLeft    = "left"    // an argument, or 0 if it is negative
	pseudoRight   = "right"   // minus an argument, or 0 if the argument is positive
	pseudoConst   = "const"   // a constant
)

// A program is a lowered formula: instructions in the order of their execution. The
// last one gives the result. Instructions whose value is the same in all lanes can be
// executed once, before the loop.
type program []*inst

func (p program) result() *inst { return p[len(p)-1] }

// lower translates a formula to instructions of the target.
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

// expandSelects returns n with two masks and an or in place of each select.
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

// constant returns the instruction that makes v in each lane.
func (l *lowering) constant(v uint64) *inst {
	v &= ^uint64(0) >> (64 - l.lane)
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
		in = l.emit(inst{op: pseudoWord, name: n.name, each: true})
	case opUniform:
		in = l.emit(inst{op: pseudoUniform, name: n.name})
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

// countLane returns the width of the lanes that a shift by count works on: 64 bits if
// the count is the same in all lanes.
func (l *lowering) countLane(count *node) int {
	if !count.each {
		return 64
	}
	return l.lane
}
