package main

import (
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// prove shows by the SMT solver z3 that the instructions of every kernel, on
// every target, compute in each lane what the kernel is specified to compute,
// for all operands. It writes a line for each, with a counterexample where they
// do not, and fails if there is one.
func prove(w io.Writer) error {
	var list []theorem
	for _, k := range kernels {
		for _, width := range widths {
			for _, isa := range []isa{avx2, avx512, neon} {
				t := target{isa, width}
				th, err := newTheorem(k, t, lower(k.formula(t), t))
				if err != nil {
					return err
				}
				list = append(list, th)
			}
		}
	}
	// Many kernels have the same instructions: solve each theorem once.
	type result struct {
		sync.Once
		counterexample values
		err            error
	}
	results := map[string]*result{}
	for _, th := range list {
		results[th.key()] = new(result)
	}
	var workers sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for _, th := range list {
		workers.Go(func() {
			r := results[th.key()]
			r.Do(func() {
				free <- true
				r.counterexample, r.err = th.prove()
				<-free
			})
		})
	}
	workers.Wait()
	wrong := 0
	for _, th := range list {
		r := results[th.key()]
		if r.err != nil {
			return fmt.Errorf("%s: %w", th.name, r.err)
		}
		if r.counterexample != nil {
			wrong++
			fmt.Fprintf(w, "%s: wrong: %s\n", th.name, th.describe(r.counterexample))
		} else {
			fmt.Fprintf(w, "%s: proved\n", th.name)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d kernels compute something else than they are specified to", wrong, len(list))
	}
	return nil
}

// A theorem says that a program computes what a specification says. Words are
// bit-vectors of SMT-LIB.
type theorem struct {
	name string
	target
	spec
	operands []string // of the program or the specification
	function string   // the program, as an SMT function of the operands
	pairs    bool     // counts are computed for two lanes at a time
}

// A spec is what a kernel must compute: an instruction of the ISAs, and which
// operands it is given as a and b.
type spec struct{ instruction, a, b string }

// specOf gives each kernel its specification, apart from its formula.
func specOf(k kernel) (spec, error) {
	switch k.name {
	case "insert", "insertEach", "insertWarp":
		return spec{"bfi", "src", "base"}, nil
	case "fill":
		return spec{"bfi", "value", "base"}, nil
	case "pack":
		return spec{"bfi", "src", "dst"}, nil
	case "selectBits", "selectWarp":
		return spec{"v_bfi", "src", "base"}, nil
	case "extract", "extractEach", "extractWarp":
		switch k.variant {
		case "Unsigned":
			return spec{"bfe.u", "src", ""}, nil
		case "Signed":
			return spec{"bfe.s", "src", ""}, nil
		}
	}
	return spec{}, fmt.Errorf("no specification of %s%s to prove it by", k.name, k.variant)
}

func newTheorem(k kernel, t target, p program) (theorem, error) {
	th := theorem{name: fmt.Sprintf("%s%s %d %s", k.name, k.variant, t.bits, t.isa), target: t}
	var err error
	if th.spec, err = specOf(k); err != nil {
		return th, err
	}
	th.operands = []string{th.a}
	if th.b != "" {
		th.operands = append(th.operands, th.b)
	}
	if k.shape == packShape || th.instruction == "v_bfi" {
		th.operands = append(th.operands, "mask")
	}
	if th.instruction != "v_bfi" {
		th.operands = append(th.operands, "pos", "width")
	}
	// The function names each instruction's result, in the program's order.
	names := map[*inst]string{}
	var lets strings.Builder
	for i, in := range p {
		var args []string
		for _, a := range in.args {
			args = append(args, names[a])
		}
		value, err := meaning(in, t, args)
		if err != nil {
			return th, fmt.Errorf("%s: %w", th.name, err)
		}
		th.pairs = th.pairs || in.op == "ZIP1"
		names[in] = fmt.Sprintf("v%d", i)
		fmt.Fprintf(&lets, "  (let ((%s %s))\n", names[in], value)
	}
	var params strings.Builder
	for _, name := range th.operands {
		fmt.Fprintf(&params, "(%s %s) ", name, th.sort(name))
	}
	th.function = fmt.Sprintf("(define-fun program (%s(odd Bool)) (_ BitVec %d)\n%s  %s%s)\n",
		params.String(), t.bits, lets.String(), names[p.result()], strings.Repeat(")", len(p)))
	return th, nil
}

// sort is the SMT sort of an operand.
func (th theorem) sort(operand string) string {
	if operand == "pos" || operand == "width" {
		return "(_ BitVec 32)"
	}
	return fmt.Sprintf("(_ BitVec %d)", th.bits)
}

// key is the same for theorems that say the same.
func (th theorem) key() string { return fmt.Sprint(th.spec, th.function) }

// prove returns operands for which the program and the specification differ, or
// nil if there are none. The solver's work is divided into cases, because it
// takes long where it does not know pos: one case for each pos below the word's
// width, and one for all that are not below. All words, width and the upper 24
// bits of pos are unknown to it.
func (th theorem) prove() (values, error) {
	most := 0
	if slices.Contains(th.operands, "pos") {
		most = th.bits
	}
	odds := []string{"false"}
	if th.pairs {
		odds = []string{"false", "true"}
	}
	var cases []string
	for pos := range most + 1 {
		for _, odd := range odds {
			cases = append(cases, th.differ(pos, odd))
		}
	}
	var script strings.Builder
	script.WriteString(th.preamble())
	for _, c := range cases {
		fmt.Fprintf(&script, "(push)\n%s(check-sat-using qfbv)\n(pop)\n", c)
	}
	out, err := z3(script.String())
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSpace(out), "\n")
	for i, answer := range answers {
		if answer == "sat" && i < len(cases) {
			return th.model(cases[i])
		}
		if answer != "unsat" {
			return nil, fmt.Errorf("z3 answers %q in case %d of %d, want sat or unsat", answer, i+1, len(cases))
		}
	}
	if len(answers) != len(cases) {
		return nil, fmt.Errorf("z3 gives %d answers, want %d", len(answers), len(cases))
	}
	return nil, nil
}

// preamble declares what all cases have in common. The bits of a word w are w.0,
// w.1 and so on; len is the low byte of width, as the ISAs call it.
func (th theorem) preamble() string {
	var b strings.Builder
	b.WriteString("(set-logic QF_BV)\n")
	if th.pairs {
		b.WriteString("(define-fun half ((odd Bool) (pair (_ BitVec 64))) (_ BitVec 32)\n" +
			"  (ite odd ((_ extract 63 32) pair) ((_ extract 31 0) pair)))\n")
	}
	for _, name := range th.operands {
		switch name {
		case "pos":
			b.WriteString("(declare-const pos.upper (_ BitVec 24))\n(declare-const pos.low (_ BitVec 8))\n")
			b.WriteString("(declare-const pos.neighbour (_ BitVec 32))\n")
		case "width":
			b.WriteString("(declare-const width (_ BitVec 32))\n(declare-const width.neighbour (_ BitVec 32))\n")
			b.WriteString("(define-fun len () (_ BitVec 8) ((_ extract 7 0) width))\n")
		default:
			fmt.Fprintf(&b, "(declare-const %s %s)\n", name, th.sort(name))
			for i := range th.bits {
				fmt.Fprintf(&b, "(define-fun %s.%d () (_ BitVec 1) ((_ extract %d %d) %s))\n", name, i, i, i, name)
			}
		}
	}
	return b.String() + th.function
}

// differ asserts that program and specification differ where the low byte of pos
// is this; the word's width stands for it and all above.
func (th theorem) differ(pos int, odd string) string {
	var b strings.Builder
	a, c := th.bitsOf(th.a), th.bitsOf(th.b)
	var want string
	switch th.instruction {
	case "bfi":
		want = bfi(a, c, pos)
	case "bfe.u":
		want = bfe(a, pos, false)
	case "bfe.s":
		want = bfe(a, pos, true)
	case "v_bfi":
		want = "(bvor (bvand mask src) (bvand (bvnot mask) base))"
	}
	var args []string
	for _, name := range th.operands {
		arg := name
		switch {
		case name == "pos" && pos < th.bits:
			arg = fmt.Sprintf("(concat pos.upper #x%02x)", pos)
		case name == "pos":
			arg = "(concat pos.upper pos.low)"
			fmt.Fprintf(&b, "(assert (bvuge pos.low #x%02x))\n", th.bits)
		case name == "mask" && th.instruction == "bfi":
			// What Go gives pack is the mask of the field.
			arg = bfi(slices.Repeat([]string{"#b1"}, th.bits), slices.Repeat([]string{"#b0"}, th.bits), pos)
		}
		fmt.Fprintf(&b, "(define-fun %s.given () %s %s)\n", name, th.sort(name), arg)
		args = append(args, name+".given")
	}
	fmt.Fprintf(&b, "(define-fun want () (_ BitVec %d) %s)\n", th.bits, want)
	fmt.Fprintf(&b, "(define-fun have () (_ BitVec %d) (program %s %s))\n", th.bits, strings.Join(args, " "), odd)
	return b.String() + "(assert (distinct want have))\n"
}

func (th theorem) bitsOf(word string) []string {
	list := make([]string, th.bits)
	for i := range list {
		list[i] = fmt.Sprintf("%s.%d", word, i)
	}
	return list
}

// values are those of the operands, of what is wanted and of what the program
// has instead.
type values map[string]uint64

// model solves one case, which the program gets wrong, and returns the values.
func (th theorem) model(c string) (values, error) {
	script := th.preamble() + c + "(check-sat-using qfbv)\n"
	names := slices.Concat(th.operands, []string{"want", "have"})
	for _, name := range names {
		if slices.Contains(th.operands, name) {
			name += ".given"
		}
		script += fmt.Sprintf("(eval %s :completion true)\n", name)
	}
	out, err := z3(script)
	if err != nil {
		return nil, err
	}
	words := regexp.MustCompile(`(?m)^#x[0-9a-f]+$`).FindAllString(out, -1)
	if len(words) != len(names) {
		return nil, fmt.Errorf("z3 answers %q, want the values of %s", out, strings.Join(names, ", "))
	}
	v := values{}
	for i, name := range names {
		if v[name], err = strconv.ParseUint(words[i][2:], 16, 64); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (th theorem) describe(v values) string {
	var parts []string
	for _, name := range th.operands {
		parts = append(parts, fmt.Sprintf("%s = 0x%x", name, v[name]))
	}
	return fmt.Sprintf("%s gives 0x%x, want 0x%x by %s", strings.Join(parts, ", "), v["have"], v["want"], th.instruction)
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
	reversed := slices.Clone(parts)
	slices.Reverse(reversed)
	return "(concat " + strings.Join(reversed, " ") + ")"
}

// parts applies an operation to each part of so many bits of two words.
func (t target) parts(bits int, x, y, format string) string {
	var list []string
	for low := 0; low < t.bits; low += bits {
		cut := func(v string) string { return fmt.Sprintf("((_ extract %d %d) %s)", low+bits-1, low, v) }
		list = append(list, fmt.Sprintf(format, cut(x), cut(y)))
	}
	return concat(list)
}
