package main

import (
	"fmt"
	"slices"
	"strings"
)

// meaning is what an instruction computes in one lane, given terms for its
// arguments. Shifts by the word's width or more are defined in SMT-LIB: they
// shift everything out.
func meaning(in *inst, t target, args []string) (string, error) {
	constant := func(v uint64) string {
		if t.bits == 32 {
			return fmt.Sprintf("#x%08x", uint32(v))
		}
		return fmt.Sprintf("#x%016x", v)
	}
	zero, ones := constant(0), constant(^uint64(0))
	// extended is a term of so many bits as a word.
	extended := func(bits int, term string) string {
		return fmt.Sprintf("((_ zero_extend %d) %s)", t.bits-bits, term)
	}
	format := func(f string) string {
		for i, a := range args {
			f = strings.ReplaceAll(f, fmt.Sprintf("$%d", i), a)
		}
		return f
	}
	suffix := map[int]string{32: "D", 64: "Q"}[t.bits]
	switch in.op {
	case pseudoConst:
		return constant(in.val), nil
	case pseudoWord:
		return in.name, nil
	case pseudoCount:
		switch {
		case !in.each:
			return extended(8, fmt.Sprintf("((_ extract 7 0) %s)", in.name)), nil
		case t.isa == neon && t.bits == 64:
			// The counts of two neighbouring lanes, this one the odd or the even.
			return fmt.Sprintf("(ite odd (concat %[1]s %[1]s.neighbour) (concat %[1]s.neighbour %[1]s))", in.name), nil
		}
		return extended(32, in.name), nil
	case "VMOVDQU8.Z":
		return extended(8, fmt.Sprintf("((_ extract 7 0) %s)", in.name)), nil

	case "VPSLLV" + suffix:
		return format("(bvshl $0 $1)"), nil
	case "VPSRLV" + suffix:
		return format("(bvlshr $0 $1)"), nil
	case "VPSRAV" + suffix:
		return format("(bvashr $0 $1)"), nil
	case "VPADD" + suffix, "ADD":
		return format("(bvadd $0 $1)"), nil
	case "VPSUBUSW":
		return t.parts(16, args[0], args[1], "(ite (bvult %[1]s %[2]s) #x0000 (bvsub %[1]s %[2]s))"), nil
	case "VPCMPGT" + suffix:
		return format("(ite (bvsgt $0 $1) " + ones + " " + zero + ")"), nil
	case "VPAND", "VPAND" + suffix, "AND":
		return format("(bvand $0 $1)"), nil
	case "VPANDN", "VPANDN" + suffix:
		return format("(bvand (bvnot $0) $1)"), nil
	case "VPOR", "VPOR" + suffix, "ORR":
		return format("(bvor $0 $1)"), nil
	case "VPXOR", "VPXOR" + suffix, "EOR":
		return format("(bvxor $0 $1)"), nil
	case "VPTERNLOG" + suffix:
		// Bit i of imm is the result where the sources' bits make the number i.
		terms := []string{zero}
		for i := range 8 {
			if in.imm>>i&1 == 0 {
				continue
			}
			sources := slices.Clone(args)
			for s := range sources {
				if i>>(2-s)&1 == 0 {
					sources[s] = "(bvnot " + sources[s] + ")"
				}
			}
			terms = append(terms, "(bvand "+strings.Join(sources, " ")+")")
		}
		return "(bvor " + strings.Join(terms, " ") + " " + zero + ")", nil

	case "USHL", "SSHL":
		// A negative count in the low byte shifts to the right.
		left := format(extended(8, "((_ extract 7 0) $1)"))
		right := format(extended(8, "(bvneg ((_ extract 7 0) $1))"))
		shift := map[string]string{"USHL": "bvlshr", "SSHL": "bvashr"}[in.op]
		return format(fmt.Sprintf("(ite (bvslt ((_ extract 7 0) $1) #x00) (%s $0 %s) (bvshl $0 %s))", shift, right, left)), nil
	case "NEG":
		return format("(bvneg $0)"), nil
	case "BIC":
		return format("(bvand $0 (bvnot $1))"), nil
	case "BSL":
		return format("(bvor (bvand $0 $1) (bvand (bvnot $0) $2))"), nil
	case "UQSUB":
		return format("(ite (bvult $0 $1) " + zero + " (bvsub $0 $1))"), nil
	case "UMIN", "VPMINUB":
		return t.parts(8, args[0], args[1], "(ite (bvult %[1]s %[2]s) %[1]s %[2]s)"), nil
	case "ZIP1":
		return format("(concat (half odd $1) (half odd $0))"), nil
	}
	return "", fmt.Errorf("the proof does not know what %q computes", in.op)
}
