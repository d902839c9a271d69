package proof

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A theorem says that a lane's expression equals the specification, whatever the operands
// hold.
type theorem struct {
	Spec
	have  *term
	roles map[string]Role // of the symbols of the lane itself
	is    [2]string       // two operands that are the same, if not empty
	// The lane gets the value only if it is active; else it keeps its own.
	active bool
	// The sign is not 0. PutField: the field has a sign.
	signed bool
	given  *term // a condition that arguments fulfil, nil if none
}

// symbol returns the name of the symbol with a role, or the empty string.
func (th theorem) symbol(role Role) string {
	for name, r := range th.roles {
		if r == role {
			return name
		}
	}
	return ""
}

// symbolsOf returns the symbols of a term.
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

// cases returns the cases that z3 must refute: one for each pos below the word's width and
// one for all others, or one for each shift. z3 takes long if pos or the shift is unknown.
// Everything else is unknown to it.
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

// farthest returns the least shift to the left that moves everything out of the lane. Pack
// cuts off the bits that move past the word.
func (th theorem) farthest() int {
	if th.symbol(Before) != "" {
		return th.Lane
	}
	return th.Bits
}

// A script is the text of a question to z3.
type script struct{ strings.Builder }

func (s *script) declare(name string, bits int) {
	fmt.Fprintf(s, "(declare-const %s (_ BitVec %d))\n", name, bits)
}

func (s *script) define(name string, bits int, value string) {
	fmt.Fprintf(s, "(define-fun %s () (_ BitVec %d) %s)\n", name, bits, value)
}

func (s *script) assert(format string, args ...any) {
	fmt.Fprintf(s, "(assert "+format+")\n", args...)
}

// differ declares the operands and asserts that the expression and the specification
// differ, for a pos or a shift. The last pos stands for all above it too. The first and the
// last shift stand for all that shift everything out.
//
// pos.low and len are the low bytes of pos and width; the ISAs use no other bits of them.
// Variables of one lane, such as mask.lane, define the arguments that Go computes.
func (th theorem) differ(c int) string {
	s := &script{}
	s.declare("pos.low", 8)
	s.declare("len", 8)
	s.declare("value.lane", th.Word)
	for _, name := range []string{"mask.lane", "sign.lane", "keep.lane", "constant.lane"} {
		s.declare(name, th.Lane)
	}
	field, shift := th.assumeCase(s, c)
	th.assumeSign(s)
	for _, t := range th.operands() {
		if name := symbolName(t); name != th.is[0] {
			th.define(s, t, name, field, shift, c)
		}
	}
	if th.is[0] != "" {
		s.define(th.is[0], th.Bits, th.is[1])
	}
	if th.given != nil {
		s.assert("(= %s #b1)", smt(th.given))
	}
	if th.symbol(Before) != "" {
		// Fields have no bits in common.
		s.assert("(= (bvand %s %s) %s)", th.symbol(Before), sized("mask.lane", th.Lane, th.Bits), literal(th.Bits, 0))
	}
	if th.Instruction == KeepBase {
		s.assert("(= (bvand keep.lane constant.lane) %s)", literal(th.Lane, 0))
	}
	want := th.want(c)
	if th.active {
		want = fmt.Sprintf("(ite (= %s #b1) %s %s)", th.symbol(Active), want, th.symbol(Destination))
	}
	s.define("want", th.Bits, want)
	s.define("have", th.Bits, smt(th.have))
	return s.String() + "(assert (distinct want have))\n"
}

// assumeCase asserts that pos is c and that the mask is one that Go computes for c. It returns
// the ones of a field at c, or the value of the shift, if the specification has one.
func (th theorem) assumeCase(s *script, c int) (field, shift string) {
	// The mask has only bits that the shift brings, and only bits of the element.
	reach := uint64(0)
	switch th.Instruction {
	case BFI, BFEUnsigned, BFESigned, TakeField:
		field = bfi(slices.Repeat([]string{"#b1"}, th.Word), slices.Repeat([]string{"#b0"}, th.Word), c)
		if c < th.Word {
			s.assert("(= pos.low #x%02x)", c)
			reach = ones(th.Word) >> c
		} else {
			s.assert("(bvuge pos.low #x%02x)", c)
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
		s.assert("(= (bvand mask.lane (bvnot %s)) %s)", literal(th.Lane, reach), zero)
	}
	// The mask is one field. The field of TakeField begins at the lowest bit.
	switch th.Instruction {
	case TakeField:
		s.assert("(= (bvand mask.lane (bvadd mask.lane %s)) %s)", one, zero)
	case PutField:
		filled := fmt.Sprintf("(bvor mask.lane (bvsub mask.lane %s))", one)
		s.assert("(or (= mask.lane %[1]s) (= (bvand %[2]s (bvadd %[2]s %[3]s)) %[1]s))", zero, filled, one)
	}
	return field, shift
}

// assumeSign asserts that the sign is the highest bit of the mask, or 0.
func (th theorem) assumeSign(s *script) {
	zero, one := literal(th.Lane, 0), literal(th.Lane, 1)
	if !th.signed {
		s.assert("(= sign.lane %s)", zero)
		return
	}
	s.assert("(= (bvand sign.lane (bvnot mask.lane)) %s)", zero)
	s.assert("(= (bvand sign.lane (bvsub sign.lane %s)) %s)", one, zero)
	s.assert("(= (bvand mask.lane (bvnot (bvsub (bvshl sign.lane %[1]s) %[1]s))) %[2]s)", one, zero)
	if th.Instruction == TakeField {
		s.assert("(distinct sign.lane %s)", zero)
	} else {
		s.assert("(or (= mask.lane %[1]s) (distinct sign.lane %[1]s))", zero)
	}
}

// define defines an operand by the role of its name. If the name has no role, the operand may
// be anything.
func (th theorem) define(s *script, t *term, name, field, shift string, c int) {
	repeat := func(lane string, bits int) string { return concat(slices.Repeat([]string{lane}, t.bits/bits)) }
	// Go replicates these arguments no further than one lane.
	lowest := func(lane string) {
		if t.bits > th.Lane {
			s.declare(name+".upper", t.bits-th.Lane)
			lane = fmt.Sprintf("(concat %s.upper %s)", name, lane)
		}
		s.define(name, t.bits, lane)
	}
	once := th.symbol(Before) != ""
	role, ok := th.roles[name]
	switch {
	case ok && role == Pos && uniform(t.name):
		s.define(name, t.bits, fmt.Sprintf("((_ zero_extend %d) pos.low)", t.bits-8))
	case ok && role == Pos:
		s.declare(name+".upper", t.bits-8)
		s.define(name, t.bits, fmt.Sprintf("(concat %s.upper pos.low)", name))
	case ok && role == Width:
		s.declare(name+".upper", t.bits-8)
		s.define(name, t.bits, fmt.Sprintf("(concat %s.upper len)", name))
	case ok && role == FieldMask:
		s.define(name, t.bits, repeat(field, th.Word))
	case ok && role == FieldValue:
		s.define(name, t.bits, repeat(bfi(bitsOf("value.lane", th.Word), slices.Repeat([]string{"#b0"}, th.Word), c), th.Word))
	case ok && role == MoveMask && th.Instruction == PutField:
		// The mask of an Unpack is at the field's place in the words.
		s.define(name, t.bits, fmt.Sprintf("((_ rotate_left %d) ((_ zero_extend %d) mask.lane))", (64-c)%64, 64-th.Lane))
	case ok && once && role == MoveMask:
		lowest("mask.lane")
	case ok && role == MoveMask:
		s.define(name, t.bits, repeat("mask.lane", th.Lane))
	case ok && role == Sign:
		s.define(name, t.bits, repeat("sign.lane", th.Lane))
	case ok && role == Keep:
		lowest("keep.lane")
	case ok && role == Constant:
		lowest("constant.lane")
	case ok && role == Shift && shift != "":
		s.define(name, t.bits, shift)
	default:
		s.declare(name, t.bits)
	}
}

// operands returns the symbols of the expression, the condition and the specification.
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

// want returns the value that the lane must have.
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

// sized returns a value of the given width, cut or extended with zeros to another width.
func sized(value string, bits, to int) string {
	if bits >= to {
		return fmt.Sprintf("((_ extract %d 0) %s)", to-1, value)
	}
	return fmt.Sprintf("((_ zero_extend %d) %s)", to-bits, value)
}

// bitsOf returns the bits of a word, lowest first.
func bitsOf(word string, bits int) []string {
	list := make([]string, bits)
	for i := range list {
		list[i] = fmt.Sprintf("((_ extract %d %d) %s)", i, i, word)
	}
	return list
}

// key returns a text. Theorems with the same text say the same.
func (th theorem) key() string {
	text := fmt.Sprint(th.Spec, th.roles, th.is, th.active, th.signed) + smt(th.have)
	if th.given != nil {
		text += smt(th.given)
	}
	return text
}

// prove returns operands for which the theorem is wrong, or the empty string if there are
// none.
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

// counterexample returns operands for which a case is wrong. It is known that there are some.
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
	// If the script has an error, the output lacks an answer, and the caller reports it.
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return "", err
	}
	return string(out), nil
}

// The specifications are the loops of the ISA on terms for single bits, lowest first. pos is
// known, and len is not.

// bfi returns PTX bfi: f = b; for (i = 0; i < len && pos+i <= msb; i++) f[pos+i] = a[i].
func bfi(a, b []string, pos int) string {
	msb := len(a) - 1
	f := slices.Clone(b)
	for i := 0; pos+i <= msb; i++ {
		f[pos+i] = fmt.Sprintf("(ite (bvult #x%02x len) %s %s)", i, a[i], f[pos+i])
	}
	return concat(f)
}

// bfe returns PTX bfe: d[i] = (i < len && pos+i <= msb) ? a[pos+i] : sbit. If the type is
// unsigned or len is 0, sbit is 0. Otherwise it is a[min(pos+len-1, msb)].
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

// concat returns the word that parts make, lowest first. Parts are bits or larger.
func concat(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	reversed := slices.Clone(parts)
	slices.Reverse(reversed)
	return "(concat " + strings.Join(reversed, " ") + ")"
}
