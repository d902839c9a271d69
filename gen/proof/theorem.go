package proof

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A theorem says that a lane's expression is what a kernel is specified to give,
// whatever its operands hold.
type theorem struct {
	Spec
	have  *term
	roles map[string]Role // of the symbols of the lane itself
	is    [2]string       // an operand that is another one, if not empty
	// Only where the lane is active has it the value, and else it keeps its own.
	active bool
	// The sign is not 0, or of PutField the field has a sign.
	signed bool
	given  *term // what arguments are, nil if anything
}

// symbol is the symbol with a role.
func (th theorem) symbol(role Role) string {
	for name, r := range th.roles {
		if r == role {
			return name
		}
	}
	return ""
}

// symbolsOf is the symbols of a term.
func symbolsOf(t *term) []*term {
	var list []*term
	done := map[*term]bool{nil: true}
	var visit func(t *term)
	visit = func(t *term) {
		if done[t] {
			return
		}
		done[t] = true
		if t.op == opSymbol {
			list = append(list, t)
		}
		visit(t.a)
		visit(t.b)
		visit(t.c)
	}
	visit(t)
	return list
}

// cases is what there is to show, for each pos below the word's width, and for all
// that are not below, or for each shift: the solver takes long where it does not
// know them. Everything else is unknown to it.
func (th theorem) cases() []string {
	first, last := 0, 0
	switch th.Instruction {
	case BFI, BFEUnsigned, BFESigned, TakeField:
		last = th.Word
	case Move, PutField:
		first, last = -th.Word, th.farthest()
	}
	var list []string
	for c := first; c <= last; c++ {
		list = append(list, th.differ(c))
	}
	return list
}

// farthest is the least shift to the left that moves everything out of the lane:
// what Pack moves past the word is cut off.
func (th theorem) farthest() int {
	if th.symbol(Before) != "" {
		return th.Lane
	}
	return th.Bits
}

// differ declares the operands and asserts that the expression and the
// specification differ, for a pos or a shift. The last pos stands for all above it
// too, and the first and the last shift for all that shift everything out.
//
// pos.low and len are the low bytes of pos and width, as the ISAs have them. What
// the arguments mean, which Go computes, is said by variables of one lane.
func (th theorem) differ(c int) string {
	var b strings.Builder
	declare := func(name string, bits int) { fmt.Fprintf(&b, "(declare-const %s (_ BitVec %d))\n", name, bits) }
	define := func(name string, bits int, value string) {
		fmt.Fprintf(&b, "(define-fun %s () (_ BitVec %d) %s)\n", name, bits, value)
	}
	assert := func(format string, args ...any) { fmt.Fprintf(&b, "(assert "+format+")\n", args...) }
	declare("pos.low", 8)
	declare("len", 8)
	declare("value.lane", th.Word)
	for _, name := range []string{"mask.lane", "sign.lane", "keep.lane", "constant.lane"} {
		declare(name, th.Lane)
	}
	field, shift := "", ""
	// Only bits that the shift brings are in the mask, and of the element.
	reach := uint64(0)
	switch th.Instruction {
	case BFI, BFEUnsigned, BFESigned, TakeField:
		field = bfi(slices.Repeat([]string{"#b1"}, th.Word), slices.Repeat([]string{"#b0"}, th.Word), c)
		if c < th.Word {
			assert("(= pos.low #x%02x)", c)
			reach = ones(th.Word) >> c
		} else {
			assert("(bvuge pos.low #x%02x)", c)
		}
	case Move, PutField:
		if -th.Word < c && c < th.farthest() {
			shift = literal(8, uint64(c)&0xff)
			if th.Instruction == PutField {
				shift = literal(8, uint64(-c)&0xff)
			}
			reach = ones(th.Word) >> max(-c, 0) << max(c, 0) & ones(th.farthest())
		}
	}
	zero, one := literal(th.Lane, 0), literal(th.Lane, 1)
	switch th.Instruction {
	case TakeField, Move, PutField:
		assert("(= (bvand mask.lane (bvnot %s)) %s)", literal(th.Lane, reach), zero)
	}
	// The mask is one field, of TakeField from the lowest bit on.
	switch th.Instruction {
	case TakeField:
		assert("(= (bvand mask.lane (bvadd mask.lane %s)) %s)", one, zero)
	case PutField:
		filled := fmt.Sprintf("(bvor mask.lane (bvsub mask.lane %s))", one)
		assert("(or (= mask.lane %[1]s) (= (bvand %[2]s (bvadd %[2]s %[3]s)) %[1]s))", zero, filled, one)
	}
	// The sign is the highest bit of the mask, or 0.
	if !th.signed {
		assert("(= sign.lane %s)", zero)
	} else {
		assert("(= (bvand sign.lane (bvnot mask.lane)) %s)", zero)
		assert("(= (bvand sign.lane (bvsub sign.lane %s)) %s)", one, zero)
		assert("(= (bvand mask.lane (bvnot (bvsub (bvshl sign.lane %[1]s) %[1]s))) %[2]s)", one, zero)
		if th.Instruction == TakeField {
			assert("(distinct sign.lane %s)", zero)
		} else {
			assert("(or (= mask.lane %[1]s) (distinct sign.lane %[1]s))", zero)
		}
	}
	// What Go does not replicate.
	lowest := func(name string, bits int, lane string) {
		if bits > th.Lane {
			declare(name+".upper", bits-th.Lane)
			lane = fmt.Sprintf("(concat %s.upper %s)", name, lane)
		}
		define(name, bits, lane)
	}
	once := th.symbol(Before) != ""
	for _, t := range th.operands() {
		name := symbolName(t)
		repeat := func(lane string, bits int) string { return concat(slices.Repeat([]string{lane}, t.bits/bits)) }
		role, ok := th.roles[name]
		switch {
		case ok && name == th.is[0]:
			continue // after the one that it is
		case ok && role == Pos && uniform(t.name):
			define(name, t.bits, fmt.Sprintf("((_ zero_extend %d) pos.low)", t.bits-8))
		case ok && role == Pos:
			declare(name+".upper", t.bits-8)
			define(name, t.bits, fmt.Sprintf("(concat %s.upper pos.low)", name))
		case ok && role == Width:
			declare(name+".upper", t.bits-8)
			define(name, t.bits, fmt.Sprintf("(concat %s.upper len)", name))
		case ok && role == FieldMask:
			define(name, t.bits, repeat(field, th.Word))
		case ok && role == FieldValue:
			define(name, t.bits, repeat(bfi(bitsOf("value.lane", th.Word), slices.Repeat([]string{"#b0"}, th.Word), c), th.Word))
		case ok && role == MoveMask && th.Instruction == PutField:
			// In the words it is where the field is.
			define(name, t.bits, fmt.Sprintf("((_ rotate_left %d) ((_ zero_extend %d) mask.lane))", (64-c)%64, 64-th.Lane))
		case ok && once && role == MoveMask:
			lowest(name, t.bits, "mask.lane")
		case ok && role == MoveMask:
			define(name, t.bits, repeat("mask.lane", th.Lane))
		case ok && role == Sign:
			define(name, t.bits, repeat("sign.lane", th.Lane))
		case ok && role == Keep:
			lowest(name, t.bits, "keep.lane")
		case ok && role == Constant:
			lowest(name, t.bits, "constant.lane")
		case ok && role == Shift && shift != "":
			define(name, t.bits, shift)
		default:
			declare(name, t.bits)
		}
	}
	if th.is[0] != "" {
		define(th.is[0], th.Bits, th.is[1])
	}
	if th.given != nil {
		assert("(= %s #b1)", smt(th.given))
	}
	if th.symbol(Before) != "" {
		// Fields have no bits in common.
		assert("(= (bvand %s %s) %s)", th.symbol(Before), sized("mask.lane", th.Lane, th.Bits), literal(th.Bits, 0))
	}
	if th.Instruction == KeepBase {
		assert("(= (bvand keep.lane constant.lane) %s)", literal(th.Lane, 0))
	}
	want := th.want(c)
	if th.active {
		want = fmt.Sprintf("(ite (= %s #b1) %s %s)", th.symbol(Active), want, th.symbol(Destination))
	}
	define("want", th.Bits, want)
	define("have", th.Bits, smt(th.have))
	return b.String() + "(assert (distinct want have))\n"
}

// operands is the symbols of the expression, and those that the specification is
// about.
func (th theorem) operands() []*term {
	list := symbolsOf(th.have)
	if th.given != nil {
		for _, t := range symbolsOf(th.given) {
			if !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	for name, role := range th.roles {
		bits := map[Role]int{Source: th.Word, Base: th.Bits, Mask: th.Word, Destination: th.Bits, Before: th.Bits, Active: 1}[role]
		if bits > 0 && !slices.ContainsFunc(list, func(t *term) bool { return symbolName(t) == name }) {
			list = append(list, &term{op: opSymbol, bits: bits, name: name})
		}
	}
	slices.SortFunc(list, func(t, u *term) int { return strings.Compare(symbolName(t), symbolName(u)) })
	return list
}

// want is what the lane must be.
func (th theorem) want(c int) string {
	src := th.symbol(Source)
	switch th.Instruction {
	case BFI:
		if src == "" {
			src = "value.lane"
		}
		return bfi(bitsOf(src, th.Word), bitsOf(th.symbol(Base), th.Word), c)
	case BFEUnsigned:
		return bfe(bitsOf(src, th.Word), c, false)
	case BFESigned:
		return bfe(bitsOf(src, th.Word), c, true)
	case VBFI:
		return fmt.Sprintf("(bvor (bvand %[1]s %[2]s) (bvand (bvnot %[1]s) %[3]s))", th.symbol(Mask), src, th.symbol(Base))
	case TakeField, Move, PutField:
		shift, by := "bvshl", max(c, 0)
		if th.Instruction == TakeField {
			shift = "bvlshr"
		} else if c < 0 {
			shift, by = "bvlshr", -c
		}
		moved := fmt.Sprintf("(bvand (%s %s %s) mask.lane)", shift, sized(src, th.Word, th.Lane), literal(th.Lane, uint64(min(by, th.Lane-1))))
		if before := th.symbol(Before); before != "" {
			return fmt.Sprintf("(bvor %s %s)", before, sized(moved, th.Lane, th.Bits))
		}
		return sized(fmt.Sprintf("(bvsub (bvxor %s sign.lane) sign.lane)", moved), th.Lane, th.Bits)
	case AddSign:
		return fmt.Sprintf("(bvor %s (ite (bvslt %s %s) %s %s))", th.symbol(Before), src, literal(th.Word, 0),
			sized("mask.lane", th.Lane, th.Bits), literal(th.Bits, 0))
	case KeepBase:
		base := literal(th.Bits, 0)
		if name := th.symbol(Base); name != "" {
			base = fmt.Sprintf("(bvand %s %s)", name, sized("keep.lane", th.Lane, th.Bits))
		}
		return fmt.Sprintf("(bvor %s %s)", base, sized("constant.lane", th.Lane, th.Bits))
	}
	panic("no specification of " + th.Instruction)
}

// sized is a value cut or extended to other bits.
func sized(value string, bits, to int) string {
	if bits >= to {
		return fmt.Sprintf("((_ extract %d 0) %s)", to-1, value)
	}
	return fmt.Sprintf("((_ zero_extend %d) %s)", to-bits, value)
}

// bitsOf is the bits of a word, lowest first.
func bitsOf(word string, bits int) []string {
	list := make([]string, bits)
	for i := range list {
		list[i] = fmt.Sprintf("((_ extract %d %d) %s)", i, i, word)
	}
	return list
}

// key is the same for theorems that say the same.
func (th theorem) key() string {
	text := fmt.Sprint(th.Spec, th.roles, th.is, th.active, th.signed) + smt(th.have)
	if th.given != nil {
		text += smt(th.given)
	}
	return text
}

// prove returns a case in which the theorem is wrong, as operands for which it is,
// or the empty string if there is none.
func (th theorem) prove() (string, error) {
	cases := th.cases()
	var script strings.Builder
	script.WriteString("(set-logic QF_BV)\n")
	for _, c := range cases {
		fmt.Fprintf(&script, "(push)\n%s(check-sat-using qfbv)\n(pop)\n", c)
	}
	out, err := z3(script.String())
	if err != nil {
		return "", err
	}
	answers := strings.Split(strings.TrimSpace(out), "\n")
	for i, answer := range answers {
		if answer == "sat" && i < len(cases) {
			return th.counterexample(cases[i])
		}
		if answer != "unsat" {
			return "", fmt.Errorf("z3 answers %q in case %d of %d, want sat or unsat", answer, i+1, len(cases))
		}
	}
	if len(answers) != len(cases) {
		return "", fmt.Errorf("z3 gives %d answers, want %d", len(answers), len(cases))
	}
	return "", nil
}

// counterexample solves one case, of which it is known that it is wrong.
func (th theorem) counterexample(c string) (string, error) {
	var names []string
	for _, t := range th.operands() {
		names = append(names, symbolName(t))
	}
	names = append(names, "want", "have")
	script := c + "(check-sat-using qfbv)\n"
	for _, name := range names {
		script += fmt.Sprintf("(eval %s :completion true)\n", name)
	}
	out, err := z3(script)
	if err != nil {
		return "", err
	}
	words := regexp.MustCompile(`(?m)^#(x[0-9a-f]+|b[01]+)$`).FindAllString(out, -1)
	if len(words) != len(names) {
		return "", fmt.Errorf("z3 answers %q, want the values of %s", out, strings.Join(names, ", "))
	}
	var parts []string
	for i, name := range names {
		v, err := strconv.ParseUint("0"+words[i][1:], 0, 64)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("%s = 0x%x", name, v))
	}
	return strings.Join(parts, ", "), nil
}

// z3 runs a script.
func z3(script string) (string, error) {
	cmd := exec.Command("z3", "-in")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	// An error of the script is in the output, where an answer is missed.
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return "", err
	}
	return string(out), nil
}

// The specifications are the loops of the ISA on terms for single bits, lowest
// first, where pos is known and len is not.

// bfi is PTX bfi: f = b; for (i = 0; i < len && pos+i <= msb; i++) f[pos+i] = a[i].
func bfi(a, b []string, pos int) string {
	msb := len(a) - 1
	f := slices.Clone(b)
	for i := 0; pos+i <= msb; i++ {
		f[pos+i] = fmt.Sprintf("(ite (bvult #x%02x len) %s %s)", i, a[i], f[pos+i])
	}
	return concat(f)
}

// bfe is PTX bfe: d[i] = (i < len && pos+i <= msb) ? a[pos+i] : sbit, where sbit
// is 0 if the type is unsigned or len is 0, and a[min(pos+len-1, msb)] otherwise.
func bfe(a []string, pos int, signed bool) string {
	msb := len(a) - 1
	sbit := "#b0"
	if signed {
		// A len above msb gives a[msb] as well.
		sbit = a[msb]
		for length := msb; length > 0; length-- {
			sbit = fmt.Sprintf("(ite (= len #x%02x) %s %s)", length, a[min(pos+length-1, msb)], sbit)
		}
		sbit = fmt.Sprintf("(ite (= len #x00) #b0 %s)", sbit)
	}
	d := slices.Repeat([]string{"sbit"}, len(a))
	for i := 0; pos+i <= msb; i++ {
		d[i] = fmt.Sprintf("(ite (bvult #x%02x len) %s sbit)", i, a[pos+i])
	}
	return fmt.Sprintf("(let ((sbit %s)) %s)", sbit, concat(d))
}

// concat is the word that bits or larger parts make, lowest first.
func concat(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	reversed := slices.Clone(parts)
	slices.Reverse(reversed)
	return "(concat " + strings.Join(reversed, " ") + ")"
}
