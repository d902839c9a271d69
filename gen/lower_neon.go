package main

import "fmt"

// lowerARM64 lowers a node for NEON. Words, arguments and constants are lowered
// elsewhere. These are the instructions, with n and m for a lane's sources in the
// manual's order, and s for the low byte of m as an int8:
//
//	USHL   n << s if s >= 0, else n >> -s filled with zeros;
//	       0 if |s| is the width or more
//	SSHL   the same, but right shifts are filled with the sign
//	NEG    -n
//	SUB    n - m
//	UQSUB  n - m, or 0 if that is negative
//	UMIN   the lesser of n and m, byte by byte
//	CMTST  ones if n and m have a bit in common, else 0
//	ZIP1   for counts of 64-bit lanes: the 32 bits of n, and above them the 32 bits of m
//	UZP1   n cut to dst's width
//	AND, ORR, EOR, BIC
//	       n & m, n | m, n ^ m, n &^ m
//	BSL    d & n | ^d & m, with d for the first of the three sources
//
// Counts that differ from lane to lane are cut to 127, and right shifts negate them.
// Counts that are the same in all lanes may be anything. If such a count does not stand
// for a shift by fewer than 64 bits, the mask is empty, and the result does not matter.
func (l *lowering) lowerARM64(n *node) *inst {
	if n.op == opCount {
		counts := l.emit(inst{op: pseudoCount, name: n.name, each: true})
		// The minimum with these bytes also clears the upper three bytes.
		if l.lane == 64 {
			counts = l.op("UMIN", counts, l.constant(127<<32|127))
			return l.op("ZIP1", counts, l.constant(0))
		}
		return l.op("UMIN", counts, l.constant(127))
	}
	if n.op == opOr && n.args[0].name == "dst" && n.args[1].op == opAnd {
		// The words have no bits yet in Pack's field, so one BSL adds them.
		added := n.args[1]
		return l.op("BSL", l.lower(added.args[1]), l.lower(added.args[0]), l.lower(n.args[0]))
	}
	var args []*inst
	for _, a := range n.args {
		args = append(args, l.lower(a))
	}
	switch n.op {
	case opShl:
		return l.op("USHL", args...)
	case opShr:
		return l.op("USHL", args[0], l.negation(args[1]))
	case opSar:
		if !n.args[1].each {
			// Arguments that shift right are negative already.
			return l.op("SSHL", args...)
		}
		return l.op("SSHL", args[0], l.negation(args[1]))
	case opMove:
		moved := l.op("USHL", args...)
		if l.element < l.lane {
			// The rest of the formula works on dst's lanes, which are narrower.
			return l.op("UZP1", moved)
		}
		return moved
	case opSign:
		return l.op("CMTST", args[0], l.constant(1<<(l.lane-1)))
	case opSub:
		return l.op("SUB", args...)
	case opSubSat:
		return l.op("UQSUB", args...)
	case opAnd:
		return l.op("AND", args...)
	case opAndNot:
		return l.op("BIC", args...)
	case opOr:
		return l.op("ORR", args...)
	case opXor:
		return l.op("EOR", args...)
	case opSelect:
		return l.op("BSL", args...)
	}
	panic(fmt.Sprintf("no lowering of op %d for %s", n.op, l.isa))
}

// negation returns a count's negation. All shifts by the count share it.
func (l *lowering) negation(count *inst) *inst {
	for _, in := range l.program {
		if in.op == "NEG" && in.args[0] == count {
			return in
		}
	}
	return l.op("NEG", count)
}
