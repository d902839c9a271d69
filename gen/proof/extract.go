package proof

import (
	"fmt"
	"slices"
	"strings"
)

// An extraction is the theorem that TakeField and PutField give PTX bfe, converted to the
// element, if Go computes their arguments from pos and width as follows: The mask is the
// field's ones, moved to bit 0. The shift moves the field there. If the field is signed, the
// sign is the mask's highest bit. A pos past the word counts as the word's last bit.
type extraction struct {
	word, element int
	signed        bool
}

func (e extraction) script() string {
	lane := max(e.word, e.element)
	var b strings.Builder
	b.WriteString("(set-logic QF_BV)\n")
	for pos := range e.word + 1 {
		b.WriteString("(push)\n(declare-const len (_ BitVec 8))\n")
		fmt.Fprintf(&b, "(declare-const src (_ BitVec %d))\n", e.word)
		at := pos
		if e.signed {
			at = min(pos, e.word-1)
		}
		// The word's width stands for every pos past the word. The field is then empty, or
		// a copy of the sign.
		field := bfi(slices.Repeat([]string{"#b1"}, e.word), slices.Repeat([]string{"#b0"}, e.word), at)
		define := func(name, value string) {
			fmt.Fprintf(&b, "(define-fun %s () (_ BitVec %d) %s)\n", name, lane, value)
		}
		by := literal(lane, uint64(min(at, lane-1)))
		define("field", sized(field, e.word, lane))
		define("kept", sized(sized("(bvlshr field "+by+")", lane, e.element), e.element, lane))
		moved := "(bvand (bvlshr " + sized("src", e.word, lane) + " " + by + ") kept)"
		if at == lane {
			moved = literal(lane, 0)
		}
		sign := literal(lane, 0)
		if e.signed {
			sign = "(bvand kept (bvnot (bvlshr kept " + literal(lane, 1) + ")))"
		}
		define("sign", sign)
		have := sized(fmt.Sprintf("(bvsub (bvxor %s sign) sign)", moved), lane, e.element)
		want := bfe(bitsOf("src", e.word), pos, e.signed)
		if e.signed && e.element > e.word {
			want = fmt.Sprintf("((_ sign_extend %d) %s)", e.element-e.word, want)
		} else {
			want = sized(want, e.word, e.element)
		}
		fmt.Fprintf(&b, "(assert (distinct %s %s))\n(check-sat-using qfbv)\n(pop)\n", have, want)
	}
	return b.String()
}

// prove fails if there is an operand for which the theorem is wrong.
func (e extraction) prove() error {
	out, err := z3(e.script())
	if err != nil {
		return err
	}
	if want := strings.Repeat("unsat\n", e.word+1); out != want {
		return fmt.Errorf("bfe of words of %d bits to elements of %d, signed %t: z3 answers %q, want %q", e.word, e.element, e.signed, out, want)
	}
	return nil
}
