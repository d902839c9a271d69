package main

// A node is one value of a formula. A formula says what a kernel computes in each
// lane.
//
// Shifts work as vector instructions do: a count of the lane's width or more shifts
// everything out. A value that is the same in all lanes shifts, and is shifted, in
// lanes of 64 bits, whatever the words' width. Masks then clear the bits that come
// from neighboring words.
type node struct {
	op   op
	args []*node
	name string // opWord, opCount, opUniform: the operand or argument
	imm  uint64 // opConst: the value
	each bool   // whether the value differs from lane to lane
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
	opMove              // args[0] << args[1], or >> -args[1] if args[1] is negative; the bits shifted in are unknown
	opSign              // the sign of args[0] in all bits
	opSub               // args[0] - args[1]
	opSubSat            // args[0] - args[1], or 0 if that is negative; both are below 1<<16
	opMin               // the lesser of args[0], a count, and args[1], a constant
	opAnd               // args[0] & args[1]
	opAndNot            // args[0] &^ args[1]
	opOr                // args[0] | args[1]
	opXor               // args[0] ^ args[1]
	opSelect            // args[0]&args[1] | ^args[0]&args[2]
)

func (o op) logic() bool { return o >= opAnd }

// word returns the word of the named operand.
func word(name string) *node { return &node{op: opWord, name: name, each: true} }

// count returns the low 8 bits of the uint32 of the named operand.
func count(name string) *node { return &node{op: opCount, name: name, each: true} }

// uniform returns the named argument.
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

// insertEachFormula returns bfi with another field in each lane. It xors base with the
// bits in which src and the field differ, moved to the field's place. Shifts drop the
// bits past the word's end, and the whole field if it starts there.
func insertEachFormula(t target) *node {
	src, base := word("src"), word("base")
	pos, width := count("pos"), count("width")
	if t.isa == neon {
		// NEON must negate the count of a right shift, so this form has none. NEON
		// selects bits in one instruction.
		low := xor(ones(), shl(ones(), width))
		return selectBits(shl(low, pos), shl(src, pos), base)
	}
	differ := xor(src, shr(base, pos))
	return xor(base, shl(andNot(differ, shl(ones(), width)), pos))
}

// insertFormula returns bfi with the same field in all lanes.
func insertFormula(t target) *node {
	src, base := word("src"), word("base")
	pos, mask := uniform("pos"), uniform("mask")
	if t.selects() {
		return selectBits(mask, shl(src, pos), base)
	}
	// The mask comes before the shift, so the instructions that mask the operands can
	// read them from memory.
	return or(shl(and(src, shr(mask, pos)), pos), andNot(base, mask))
}

// fillFormula returns bfi of a value that has been moved to the field's place.
func fillFormula(t target) *node {
	if t.selects() {
		return selectBits(uniform("mask"), uniform("value"), word("base"))
	}
	return or(andNot(word("base"), uniform("mask")), uniform("value"))
}

func selectFormula(target) *node {
	return selectBits(word("mask"), word("src"), word("base"))
}

// extractFormula returns bfe of the same field in all lanes. It moves the field to the
// lowest bits. Then x^sign - sign extends the sign, the field's top bit; sign is 0 if
// the field is unsigned.
func extractFormula(t target) *node {
	if t.isa == neon {
		// NEON shifts right by a negative count, which the emitter makes.
		return unpackFormula(t)
	}
	sign := uniform("sign")
	return sub(xor(and(shr(word("src"), uniform("pos")), uniform("mask")), sign), sign)
}

// unpackFormula returns extractFormula for a field that may move to any bit.
func unpackFormula(t target) *node {
	sign := uniform("sign")
	return sub(xor(unpackUnsignedFormula(t), sign), sign)
}

// unpackUnsignedFormula returns unpackFormula for an unsigned field.
func unpackUnsignedFormula(t target) *node {
	src, shift, mask := word("src"), uniform("shift"), uniform("mask")
	if t.isa == neon {
		// The mask comes last, because then it works on dst's lanes, which may be
		// narrower.
		return and(move(src, shift), mask)
	}
	// The mask comes first, so the instruction that masks the words can read them from
	// memory, and the mask needs no shift.
	return move(and(src, mask), shift)
}

// extractEachFormula returns bfe with another field in each lane.
func extractEachFormula(signed bool) func(target) *node {
	return func(t target) *node {
		src, pos, width := word("src"), count("pos"), count("width")
		if !signed {
			return andNot(shr(src, pos), shl(ones(), width))
		}
		if t.isa == avx512 && t.lane == 64 {
			// A shift by 63 or more gives the sign in all bits. The minimum also
			// masks pos, so it costs nothing. Some emulators get a VPSRAVQ by exactly
			// 64 wrong.
			pos = least(pos, constant(63))
		}
		// The first shift drops the bits below the field. The second moves the field's
		// top bit to the word's top bit, and the third moves it back, with its sign. An
		// empty field is shifted out.
		above := subSat(constant(uint64(t.lane)), width)
		return sar(shl(sar(src, pos), above), above)
	}
}

// packFormula returns the words so far, ORed with a column's bits.
func packFormula(target) *node {
	return or(word("dst"), and(move(word("src"), uniform("shift")), uniform("mask")))
}

// packLeftFormula returns packFormula for a shift that is not negative. The mask comes
// before the shift, so the instruction that masks the column can read it from memory.
func packLeftFormula(target) *node {
	shift := uniform("shift")
	return or(word("dst"), shl(and(word("src"), shr(uniform("mask"), shift)), shift))
}

// packRightFormula returns packFormula for a negative shift; right is -shift.
func packRightFormula(target) *node {
	return or(word("dst"), and(shr(word("src"), uniform("right")), uniform("mask")))
}

// packSignFormula returns the words so far, with a column's sign ORed into all bits of
// the field.
func packSignFormula(target) *node {
	return or(word("dst"), and(signOf(word("src")), uniform("mask")))
}
