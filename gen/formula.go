package main

// A node is one value of a lane formula: what a kernel computes in each lane, in
// words of one width. Formulas are written with shifts as vector instructions
// have them: a count of the word's width or more shifts everything out.
type node struct {
	op   op
	args []*node
	name string // opWord, opCount: the operand
	imm  uint64 // opConst: the value
	each bool   // differs from lane to lane, rather than being the same in all
}

type op int

const (
	opWord   op = iota // an operand of the kernel's word type
	opCount            // the low 8 bits of an uint32 operand
	opConst            // a constant, cut to the word's width
	opShl              // args[0] << args[1]
	opShr              // args[0] >> args[1], filled with zeros
	opSar              // args[0] >> args[1], filled with the sign
	opAdd              // args[0] + args[1]
	opSubSat           // args[0] - args[1], or 0 where that is negative; both below 1<<16
	opMin              // the lesser of args[0], a count, and args[1], a constant
	opAnd              // args[0] & args[1]
	opAndNot           // args[0] &^ args[1]
	opOr               // args[0] | args[1]
	opXor              // args[0] ^ args[1]
	opSelect           // args[0]&args[1] | ^args[0]&args[2]
)

func (o op) logic() bool { return o >= opAnd }

// word is the operand of that name; its lanes differ if each is set.
func word(name string, each bool) *node { return &node{op: opWord, name: name, each: each} }

// count is the low 8 bits of the uint32 operand of that name.
func count(name string, each bool) *node { return &node{op: opCount, name: name, each: each} }

func constant(v uint64) *node { return &node{op: opConst, imm: v} }

func apply(o op, args ...*node) *node {
	n := &node{op: o, args: args}
	for _, a := range args {
		n.each = n.each || a.each
	}
	return n
}

func shl(x, n *node) *node              { return apply(opShl, x, n) }
func shr(x, n *node) *node              { return apply(opShr, x, n) }
func sar(x, n *node) *node              { return apply(opSar, x, n) }
func add(x, y *node) *node              { return apply(opAdd, x, y) }
func subSat(x, y *node) *node           { return apply(opSubSat, x, y) }
func least(x, y *node) *node            { return apply(opMin, x, y) }
func and(x, y *node) *node              { return apply(opAnd, x, y) }
func andNot(x, y *node) *node           { return apply(opAndNot, x, y) }
func or(x, y *node) *node               { return apply(opOr, x, y) }
func xor(x, y *node) *node              { return apply(opXor, x, y) }
func selectBits(mask, x, y *node) *node { return apply(opSelect, mask, x, y) }

func ones() *node { return constant(^uint64(0)) }

// insertEachFormula is bfi with a field of its own in each lane: what a and b
// differ by in the field, moved there, is what b must change by. Bits of a past
// the word's end are shifted out, and so is the field itself if it starts there.
func insertEachFormula(t target) *node {
	src, base := word("src", true), word("base", true)
	pos, width := count("pos", true), count("width", true)
	if t.isa == neon {
		// It has to negate the count of a right shift, and selects in one
		// instruction.
		return selectBits(fieldMask(pos, width), shl(src, pos), base)
	}
	differ := xor(src, shr(base, pos))
	return xor(base, shl(andNot(differ, shl(ones(), width)), pos))
}

// fieldFormula is bfi where the field's mask and position are the same in all
// lanes.
func fieldFormula(t target, src, base, pos, mask *node) *node {
	if t.selects() {
		return selectBits(mask, shl(src, pos), base)
	}
	// Masking before the shift lets both operands be read from memory by the
	// instructions that mask them.
	return or(shl(and(src, shr(mask, pos)), pos), andNot(base, mask))
}

func fieldMask(pos, width *node) *node {
	low := xor(ones(), shl(ones(), width))
	return shl(low, pos)
}

func insertFormula(t target) *node {
	pos := count("pos", false)
	return fieldFormula(t, word("src", true), word("base", true), pos, fieldMask(pos, count("width", false)))
}

func fillFormula(t target) *node {
	pos := count("pos", false)
	return fieldFormula(t, word("value", false), word("base", true), pos, fieldMask(pos, count("width", false)))
}

// packFormula inserts one column's field into dst, the words so far.
func packFormula(t target) *node {
	return fieldFormula(t, word("src", true), word("dst", true), count("pos", false), word("mask", false))
}

func selectFormula(target) *node {
	return selectBits(word("mask", true), word("src", true), word("base", true))
}

// extractFormula is bfe; each says whether each lane has its own field.
func extractFormula(each, signed bool) func(target) *node {
	return func(t target) *node {
		src := word("src", true)
		pos, width := count("pos", each), count("width", each)
		if !signed {
			return andNot(shr(src, pos), shl(ones(), width))
		}
		if t.isa == avx512 && t.bits == 64 {
			// From the last bit on it is all sign. This costs nothing, since it
			// does for the masking of pos too, and there are emulators that get
			// a VPSRAVQ by just 64 wrong.
			pos = least(pos, constant(63))
		}
		if each {
			// Shift out what lies below the field, then move its highest bit to
			// the word's and back. An empty field is shifted out whole.
			above := subSat(constant(uint64(t.bits)), width)
			return sar(shl(sar(src, pos), above), above)
		}
		// Shift out what lies above the field, then what lies below it with
		// the sign. A field that runs past the word's end has nothing above it.
		// An empty one is shifted out whole: 64 is set in its first count, which
		// never exceeds 64 otherwise.
		above := subSat(constant(uint64(t.bits)), add(pos, width))
		empty := shl(subSat(constant(1), width), constant(6))
		return sar(shl(src, or(above, empty)), add(above, pos))
	}
}
