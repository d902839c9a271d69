package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/gobfi/bfi"
)

// typ is a type of integers, or the type of predicates, which have 1 bit.
type typ struct {
	bits     int
	rows     []row                                                   // the instructions whose name has the type
	exchange map[int]func(r register, k, n int, store bool) transfer // by the bits of r
}

func typeOf[T, W bfi.Word](bits int) typ {
	return typ{bits, instructions[T, W](), map[int]func(r register, k, n int, store bool) transfer{
		1: exchange[T, uint8], 8: exchange[T, uint8], 16: exchange[T, uint16], 32: exchange[T, uint32],
		64: exchange[T, uint64],
	}}
}

var types = map[string]typ{
	"b8": typeOf[uint8, uint16](8), "u8": typeOf[uint8, uint16](8), "s8": typeOf[int8, int16](8),
	"b16": typeOf[uint16, uint32](16), "u16": typeOf[uint16, uint32](16), "s16": typeOf[int16, int32](16),
	"b32": typeOf[uint32, uint64](32), "u32": typeOf[uint32, uint64](32), "s32": typeOf[int32, int64](32),
	"b64": typeOf[uint64, uint64](64), "u64": typeOf[uint64, uint64](64), "s64": typeOf[int64, int64](64),
	"pred": typeOf[uint8, uint8](1),
}

func ofBits(n int) typ { return types[choose(n == 1, "pred", fmt.Sprintf("b%d", n))] }

// A register has a word in each lane. A predicate has 1 bit, the lowest bit of a byte.
type register struct {
	bits     int
	data     unsafe.Pointer
	readOnly bool
}

// in returns a register as words of its size.
func in[T bfi.Word](r register) *lanes[T] { return (*lanes[T])(r.data) }

func (r register) bytes() []byte { return unsafe.Slice((*byte)(r.data), (r.bits+7)/8*bfi.WarpSize) }

func (r register) String() string {
	return choose(r.bits == 1, "a predicate", fmt.Sprintf("a register of %d bits", r.bits))
}

// newRegister returns a register with the same value in every lane. Instructions can only
// read it by its name.
func newRegister(bits int, x uint64) register {
	r := register{bits, unsafe.Pointer(new(lanes[uint64])), true}
	r.fill(x)
	return r
}

func (r register) fill(x uint64) {
	for i := range r.bytes() {
		r.bytes()[i] = byte(x >> (8 * i & (r.bits - 1)))
	}
}

// integer returns the value of a number in text. The number must fit in the given bits,
// signed or unsigned.
func integer(text string, bits int) (uint64, bool) {
	text = strings.TrimSuffix(text, "U")
	x, err := strconv.ParseUint(text, 0, bits)
	if signed, signedErr := strconv.ParseInt(text, 0, bits); signedErr == nil {
		x, err = uint64(signed), nil
	}
	return x, err == nil && !strings.ContainsAny(text, "_oO") // Go has these, PTX does not
}

// The uses of a register.
const (
	reads   = 0
	writes  = 1
	orWider = 2 // wider registers will do
)

func (p *parser) operand(i, bits, use int) register { return p.register(i, p.operands[i], bits, use) }

// register returns the register that text names. text is part of operand i, or the guard if
// i is -1. For an immediate, register returns a new register with its value in every lane.
// If an operand's part is named _, nothing reads the register again.
func (p *parser) register(i int, text string, bits, use int) register {
	what := choose(i < 0, "the guard", fmt.Sprintf("operand %d", i+1))
	if x, ok := integer(text, choose(bits == 1, 32, bits)); ok && use&writes == 0 {
		return newRegister(bits, choose(bits == 1, min(x, 1), x))
	}
	if text == "_" && i >= 0 && text != p.operands[i] && use&writes != 0 {
		return newRegister(bits, 0)
	}
	want := fmt.Sprint(register{bits: bits}, choose(use&orWider != 0, " or more", ""),
		choose(use&writes == 0, " or an integer", ""))
	r, ok := p.scope.find(text)
	if use&writes == 0 && bits == 32 && r.bits == 64 && r.readOnly {
		return newRegister(32, in[uint64](r)[0]) // a variable's address in its space
	}
	p.check(ok || p.skipped[text] == "", "%s, %s, is %s, which is not supported", what, text, p.skipped[text])
	p.check(ok || !registerPattern.MatchString(text), "%s, %s, is not declared", what, text)
	p.check(ok, "%s is %q, want %s", what, text, want)
	p.check(use&writes == 0 || !r.readOnly, "%s, %s, is read-only", what, text)
	p.check(r.bits == bits || r.bits > bits && use&orWider != 0, "%s, %s, is %v, want %s", what, text, r, want)
	return r
}

// parts returns the elements in an operand's braces. An operand without braces is one
// element.
func (p *parser) parts(i int) []string { return strings.Split(strings.Trim(p.operands[i], "{}"), ",") }

// elements returns the registers or immediates in an operand's braces.
func (p *parser) elements(i, bits, use int) (r regs) {
	for _, text := range p.parts(i) {
		r = append(r, p.register(i, text, bits, use))
	}
	return r
}

func (p *parser) count(n int) {
	p.check(len(p.operands) == n, "%d operands, want %d", len(p.operands), n)
}

// typ returns the named type, which must be in list.
func (p *parser) typ(name, list string) typ {
	p.check(slices.Contains(strings.Fields(list), name), "%q is not supported, want one of %s", name, list)
	return types[name]
}

// decode turns an instruction, such as setp.ge.u32, into code.
func (p *parser) decode() {
	m := instructionPattern.FindStringSubmatch(p.tight)
	p.check(m != nil, "want an instruction")
	p.in = instruction{place: p.place, flip: choose(m[1] == "!", everyLane, 0)}
	p.operands = operandPattern.FindAllString(m[4], choose(m[4] == "", 0, -1))
	if m[2] != "" {
		p.in.guard = in[uint8](p.register(-1, m[2], 1, writes))
	}
	name := m[3]
	opcode, modifiers, _ := strings.Cut(name, ".")
	switch {
	case name == "bra" || name == "bra.uni":
		p.count(1)
		p.in.label, p.in.scope = p.operands[0]+":", p.scope
	case name == "ret" || name == "ret.uni" || name == "exit":
		p.count(0)
	case opcode == "mov" && modifiers != "pred":
		p.mov(p.typ(modifiers, all))
	case opcode == "cvta": // an address without its upper half gets it
		p.typ(strings.TrimPrefix(modifiers, "to."), "global.u64 shared.u64 local.u64")
		upper := map[string]uint64{"shared.u64": p.spaces[shared].base, "local.u64": p.spaces[local].base}[modifiers]
		p.count(2)
		p.compute("or.b64", p.operand(0, 64, writes), p.operand(1, 64, reads), newRegister(64, upper))
	case opcode == "cvt":
		p.count(2)
		to, from, _ := strings.Cut(modifiers, ".")
		t, f := p.typ(to, "u8 s8 "+ints), p.typ(from, "u8 s8 "+ints)
		dst, src := p.operand(0, t.bits, writes|orWider), p.operand(1, f.bits, orWider)
		extended := newRegister(max(f.bits, t.bits), 0) // f's sign extends src, then t's sign extends that
		p.emit(f.extend(extended, src))
		p.emit(t.extend(dst, extended))
	case opcode == "ld":
		p.transfer(strings.Split(modifiers, "."), 0, 1, writes|orWider)
	case opcode == "st":
		p.transfer(strings.Split(modifiers, "."), 1, 0, orWider)
	case opcode == "setp" && (strings.Count(modifiers, ".") == 2 || strings.Contains(p.tight, "|")):
		p.setp(strings.Split(name, "."))
	default:
		p.tabled(name)
	}
	p.code = append(p.code, p.in)
}

// row finds an instruction in the table. The table also has the instructions on predicates.
func (p *parser) row(name string) (row, typ) {
	t := typePattern.FindString(name)
	rows, general := types[t].rows, strings.Replace(name, t, "T", 1)
	i := slices.IndexFunc(rows, func(r row) bool {
		return r.name == general && (t != "pred" || strings.Contains(r.types, t))
	})
	p.check(i >= 0, "not supported, want one of %s, where T is an integer type or pred", supported())
	return rows[i], p.typ(t, rows[i].types)
}

var supported = sync.OnceValue(func() string {
	list := []string{"bra ret exit ld.T st.T cvt.T.T cvta.to.global.u64"}
	for _, r := range types["u32"].rows {
		list = append(list, r.name)
	}
	return strings.Join(list, " ")
})

func (p *parser) tabled(name string) {
	row, t := p.row(name)
	kinds := strings.Fields(row.operands)
	sizes := map[string]int{"T": t.bits, "2T": 2 * t.bits, "u32": 32, "imm": 32, "pred": 1}
	p.count(len(kinds))
	var r regs
	for i, kind := range kinds {
		_, ok := integer(p.operands[i], 8)
		p.check(ok || kind != "imm", "operand %d is %q, want an integer of 8 bits", i+1, p.operands[i])
		r = append(r, p.operand(i, sizes[kind], choose(i == 0, writes, reads)))
	}
	if byLibrary := library[name]; byLibrary != nil {
		_, pos := integer(p.operands[len(r)-2], 32)
		_, width := integer(p.operands[len(r)-1], 32)
		p.in.field = true
		p.emit(byLibrary(r, pos && width))
		return
	}
	p.compute(name, r...)
}

// setp decodes setp.comparison.boolean.type p|q, a, b, c. p gets the result, combined with
// c. q gets the opposite of the result, combined with c.
func (p *parser) setp(parts []string) {
	combine, operands := "or", 3
	if len(parts) == 4 {
		combine, operands = parts[2], 4
		p.typ(combine, "and or xor")
		parts = slices.Delete(parts, 2, 3)
	}
	compare := strings.Join(parts, ".")
	_, t := p.row(compare)
	p.count(operands)
	names := strings.Split(p.operands[0], "|")
	p.check(len(names) <= 2, "operand 1 is %q, want one predicate or two", p.operands[0])
	found, c := newRegister(1, 0), newRegister(1, 0)
	p.compute(compare, found, p.operand(1, t.bits, reads), p.operand(2, t.bits, reads))
	if operands == 4 {
		name, negated := strings.CutPrefix(p.operands[3], "!")
		p.compute(choose(negated, "not.pred", "mov.pred"), c, p.register(3, name, 1, reads))
	}
	for _, name := range names {
		p.compute(combine+".pred", p.register(0, name, 1, writes), found, c)
		p.compute("not.pred", found, found)
	}
}

func (p *parser) emit(step run) { p.in.steps = append(p.in.steps, step) }

// compute emits an instruction of the table. The warp executes it in all lanes, and keeps
// the results of active lanes.
func (p *parser) compute(name string, r ...register) {
	row, _ := p.row(name)
	all := newRegister(r[0].bits, 0)
	inAll := append(regs{all}, r[1:]...)
	keep := ofBits(all.bits).extend(r[0], all)
	p.emit(func(active uint32) {
		if active == everyLane {
			row.meaning(r)
			return
		}
		row.meaning(inAll)
		keep(active)
	})
}

// within returns an instruction that moves the k-th word of whole to part. If store is set,
// it moves part to that word.
func (t typ) within(whole register, k int, part register, store bool) run {
	memory, exchange := whole.bytes(), t.exchange[part.bits](part, k, whole.bits/t.bits, store)
	return func(active uint32) { exchange(memory, 0, active) }
}

// extend returns an instruction that extends the low part of src, of type t, into dst.
func (t typ) extend(dst, src register) run { return t.within(src, 0, dst, false) }

// mov decodes mov of a word. It also decodes mov between a word and its parts {a, b}, the
// lowest first.
func (p *parser) mov(t typ) {
	p.count(2)
	to, from := len(p.parts(0)), len(p.parts(1))
	n := max(to, from)
	p.check(min(to, from) == 1 && n <= 4 && n != 3 && 8*n <= t.bits,
		"not supported, want one register, and 2 or 4 in braces")
	whole, parts := p.elements(1, t.bits/from, reads), p.elements(0, t.bits/to, writes)
	if from > 1 {
		whole, parts = parts, whole
	}
	for k, part := range parts {
		p.emit(ofBits(t.bits/n).within(whole[0], k, part, from > 1))
	}
}

// transfer decodes ld and st.
func (p *parser) transfer(modifiers []string, value, memory, use int) {
	p.count(2)
	last, space, elements := len(modifiers)-1, "", 1
	t := p.typ(modifiers[last], "b8 u8 s8 "+all)
	for _, m := range modifiers[:last] {
		p.typ(m, "global shared local param v2 v4 weak volatile nc ca cg cs lu cv wb wt")
		switch m {
		case "global", "shared", "local", "param":
			space = "." + m
		case "v2", "v4":
			elements = int(m[1] - '0')
		}
	}
	p.check(len(p.parts(value)) == elements, "operand %d is %q, want %d elements", value+1, p.operands[value], elements)
	m := addressPattern.FindStringSubmatch(p.operands[memory])
	p.check(m != nil || space == ".param", "operand %d is %q, want [register] or [register+integer]",
		memory+1, p.operands[memory])
	m = append(m, "", "", "")
	offset, ok := integer(cmp.Or(m[2], "0"), 64)
	p.check(ok, "%q, want an integer of 64 bits", m[2])
	size := uint64(t.bits / 8)
	if space == ".param" {
		param, known := p.scope.find("[" + m[1] + "]")
		p.check(known && value == 0, "%q, want a parameter of the kernel to read", p.operands[memory])
		p.check(offset%size == 0 && offset < 8 && int(offset)*8+elements*t.bits <= param.bits,
			"%q, want %d bits of the parameter's %d, aligned", p.operands[memory], elements*t.bits, param.bits)
		for k, r := range p.elements(value, t.bits, use) {
			p.emit(t.within(param, int(offset/size)+k, r, false))
		}
		return
	}
	base := newRegister(64, 0)
	if r, _ := p.scope.find(m[1]); r.bits == 32 && (space == ".shared" || space == ".local") {
		p.emit(types["b32"].extend(base, r))
	} else {
		base = p.register(memory, m[1], 64, reads)
	}
	a := &access{p.place, p.program, space, in[uint64](base), offset, size * uint64(elements), nil}
	for k, r := range p.elements(value, t.bits, use) {
		a.elements = append(a.elements, t.exchange[r.bits](r, k, elements, value == 1))
	}
	p.emit(a.run)
}
