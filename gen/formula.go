package main

// A node is one value of a lane formula: what a kernel computes in each lane.
// Formulas are written with shifts as vector instructions have them: a count of
// the lane's width or more shifts everything out. What is the same in all lanes
// is shifted, and shifts, in lanes of 64 bits, whatever the words' width: masks
// leave out what comes over from the neighbours.
type node struct {
	op   op
	args []*node
	name string // opWord, opCount, opUniform: the operand or argument
	imm  uint64 // opConst: the value
	each bool   // differs from lane to lane, rather than being the same in all
}

type op int

const (
	opWord    op = iota // an operand's word
	opCount             // the low 8 bits of an operand's uint32
	opUniform           // an argument
	opConst             // a constant, cut to the lane's width
	opShl               // args[0] << args[1]
	opShr               // args[0] >> args[1], filled with zeros
	opSar               // args[0] >> args[1], filled with the sign
	opMove              // args[0] << args[1], or >> where that is negative; what comes in is unknown
	opSign              // the sign of args[0] in all bits
	opSub               // args[0] - args[1]
	opSubSat            // args[0] - args[1], or 0 where that is negative; both below 1<<16
	opMin               // the lesser of args[0], a count, and args[1], a constant
	opAnd               // args[0] & args[1]
	opAndNot            // args[0] &^ args[1]
	opOr                // args[0] | args[1]
	opXor               // args[0] ^ args[1]
	opSelect            // args[0]&args[1] | ^args[0]&args[2]
)

func (o op) logic() bool { return o >= opAnd }

// word is the word of the operand of that name.
func word(name string) *node { return &node{op: opWord, name: name, each: true} }

// count is the low 8 bits of the uint32 of the operand of that name.
func count(name string) *node { return &node{op: opCount, name: name, each: true} }

// uniform is the argument of that name.
func uniform(name string) *node { return &node{op: opUniform, name: name} }

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
func move(x, n *node) *node             { return apply(opMove, x, n) }
func signOf(x *node) *node              { return apply(opSign, x) }
func sub(x, y *node) *node              { return apply(opSub, x, y) }
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
	src, base := word("src"), word("base")
	pos, width := count("pos"), count("width")
	if t.isa == neon {
		// It has to negate the count of a right shift, and selects in one
		// instruction.
		low := xor(ones(), shl(ones(), width))
		return selectBits(shl(low, pos), shl(src, pos), base)
	}
	differ := xor(src, shr(base, pos))
	return xor(base, shl(andNot(differ, shl(ones(), width)), pos))
}

// insertFormula is bfi where the field's mask and position are the same in all
// lanes.
func insertFormula(t target) *node {
	src, base := word("src"), word("base")
	pos, mask := uniform("pos"), uniform("mask")
	if t.selects() {
		return selectBits(mask, shl(src, pos), base)
	}
	// Masking before the shift lets both operands be read from memory by the
	// instructions that mask them.
	return or(shl(and(src, shr(mask, pos)), pos), andNot(base, mask))
}

// fillFormula is bfi of a value that is in its place already.
func fillFormula(t target) *node {
	if t.selects() {
		return selectBits(uniform("mask"), uniform("value"), word("base"))
	}
	return or(andNot(word("base"), uniform("mask")), uniform("value"))
}

func selectFormula(target) *node {
	return selectBits(word("mask"), word("src"), word("base"))
}

// extractFormula is bfe of the same field in all lanes: the field moved to the
// lowest bits, and its sign extended by what subtracting it borrows. Where the sign
// counts for nothing it is 0.
func extractFormula(t target) *node {
	if t.isa == neon {
		// A shift to the right is one by a negative count, and the emitter makes it.
		return unpackFormula(t)
	}
	sign := uniform("sign")
	return sub(xor(and(shr(word("src"), uniform("pos")), uniform("mask")), sign), sign)
}

// unpackFormula is extractFormula where the field moves to any bit.
func unpackFormula(t target) *node {
	sign := uniform("sign")
	return sub(xor(unpackUnsignedFormula(t), sign), sign)
}

// unpackUnsignedFormula is unpackFormula for a field without a sign.
func unpackUnsignedFormula(t target) *node {
	src, shift, mask := word("src"), uniform("shift"), uniform("mask")
	if t.isa == neon {
		// Masking last needs no wider lanes than dst has.
		return and(move(src, shift), mask)
	}
	// Masking first lets words be read from memory by the instruction that masks
	// them, and takes the mask as it is.
	return move(and(src, mask), shift)
}

// extractEachFormula is bfe with a field of its own in each lane.
func extractEachFormula(signed bool) func(target) *node {
	return func(t target) *node {
		src, pos, width := word("src"), count("pos"), count("width")
		if !signed {
			return andNot(shr(src, pos), shl(ones(), width))
		}
		if t.isa == avx512 && t.lane == 64 {
			// From the last bit on it is all sign. This costs nothing, since it
			// does for the masking of pos too, and there are emulators that get
			// a VPSRAVQ by just 64 wrong.
			pos = least(pos, constant(63))
		}
		// Shift out what lies below the field, then move its highest bit to
		// the word's and back. An empty field is shifted out whole.
		above := subSat(constant(uint64(t.lane)), width)
		return sar(shl(sar(src, pos), above), above)
	}
}

// packFormula adds a column's bits to the words so far.
func packFormula(target) *node {
	return or(word("dst"), and(move(word("src"), uniform("shift")), uniform("mask")))
}

// packLeftFormula is packFormula where the shift is not negative. Masking before
// it lets the column be read from memory by the instruction that masks it.
func packLeftFormula(target) *node {
	shift := uniform("shift")
	return or(word("dst"), shl(and(word("src"), shr(uniform("mask"), shift)), shift))
}

// packRightFormula is packFormula where the shift is negative, and right is by how
// much.
func packRightFormula(target) *node {
	return or(word("dst"), and(shr(word("src"), uniform("right")), uniform("mask")))
}

// packSignFormula adds a column's sign to the words so far.
func packSignFormula(target) *node {
	return or(word("dst"), and(signOf(word("src")), uniform("mask")))
}
