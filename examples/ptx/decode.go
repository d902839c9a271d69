package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/gobfi/bfi"
)

// typ is an integer type of size bytes, or that of predicates.
type typ struct {
	size   int
	rows   []row // the instructions with it in their name
	move   func(p *program, a *access) run
	within func(whole register, parts regs, store bool) run
}

func typeOf[T, W word]() typ {
	return typ{int(unsafe.Sizeof(T(0))), instructions[T, W](), move[T], within[T]}
}

var types = map[string]typ{
	"b8": typeOf[uint8, uint16](), "u8": typeOf[uint8, uint16](), "s8": typeOf[int8, int16](),
	"b16": typeOf[uint16, uint32](), "u16": typeOf[uint16, uint32](), "s16": typeOf[int16, int32](),
	"b32": typeOf[uint32, uint64](), "u32": typeOf[uint32, uint64](), "s32": typeOf[int32, int64](),
	"b64": typeOf[uint64, uint64](), "u64": typeOf[uint64, uint64](), "s64": typeOf[int64, int64](),
	"pred": {rows: logic, within: copyPredicate},
}

func ofSize(size int) typ { return types[choose(size == 0, "pred", fmt.Sprintf("b%d", 8*size))] }

// A register is what a name stands for: a word in each lane, or, of size 0, a
// predicate, which is a uint32 with a bit for each lane.
type register struct {
	size     int
	data     unsafe.Pointer
	readOnly bool
}

func newRegister(size int) register {
	return register{size: size, data: unsafe.Pointer(new(lanes[uint64]))}
}

// in is a register as words of its size; mask is a predicate's bits.
func in[T word](r register) *lanes[T] { return (*lanes[T])(r.data) }
func mask(r register) *uint32         { return (*uint32)(r.data) }

func (r register) String() string {
	return fmt.Sprintf(choose(r.size > 0, "a register of %d bits", "a predicate%.0d"), 8*r.size)
}

// constant is a register with the same value in every lane.
func constant(x uint64, size int) register {
	r := register{size, newRegister(size).data, true}
	r.fill(x)
	return r
}

func (r register) fill(x uint64) {
	*mask(r) = choose(x != 0, everyLane, 0)
	for i := range r.size * bfi.WarpSize {
		*(*byte)(unsafe.Add(r.data, i)) = byte(x >> (i & (r.size - 1) * 8))
	}
}

// integer is a number of so many bytes, signed or not.
func integer(text string, size int) (uint64, bool) {
	text = strings.TrimSuffix(text, "U")
	x, err := strconv.ParseUint(text, 0, 8*size)
	if err != nil {
		var signed int64
		signed, err = strconv.ParseInt(text, 0, 8*size)
		x = uint64(signed)
	}
	return x, err == nil && !strings.ContainsAny(text, "_oO") // Go's, not PTX's
}

// use says what a register is for.
type use int

const (
	reads   use = 0
	writes  use = 1
	orWider use = 2 // of more than the size, too
	orNone  use = 4 // _, a destination that is not kept
)

func (p *parser) operand(i, size int, u use) register { return p.register(i, p.operands[i], size, u) }

// register is the one that text, of operand i or, for -1, the guard, names, with
// words of so many bytes; an immediate is one with that value in every lane.
func (p *parser) register(i int, text string, size int, u use) register {
	what := choose(i < 0, "the guard", fmt.Sprintf("operand %d", i+1))
	if x, ok := integer(text, choose(size == 0, 4, size)); ok && u&writes == 0 {
		return constant(x, size)
	}
	if u&orNone != 0 && text == "_" {
		return newRegister(size)
	}
	want := fmt.Sprint(register{size: size}, choose(u&orWider != 0, " or more", ""), choose(u&writes == 0, " or an integer", ""))
	r, ok := p.find(text)
	p.check(ok || !registerPattern.MatchString(text), "%s, %s, is not declared", what, text)
	p.check(ok, "%s is %q, want %s", what, text, want)
	p.check(u&writes == 0 || !r.readOnly, "%s, %s, is read-only", what, text)
	p.check(r.size == size || r.size > size && size > 0 && u&orWider != 0, "%s, %s, is %v, want %s", what, text, r, want)
	return r
}

// find is the register of that name in the innermost block that has it.
func (p *parser) find(name string) (r register, ok bool) {
	for s := p.scope; s != nil && !ok; s = s.outer {
		r, ok = s.registers[name]
	}
	return r, ok
}

// parts are the elements of an operand in braces; another is its own one.
func (p *parser) parts(i int) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(p.operands[i], "{"), "}"), ",")
}

func (p *parser) count(n int) {
	p.check(len(p.operands) == n, "%d operands, want %d", len(p.operands), n)
}

// typ is the type of that name, which must be in a list.
func (p *parser) typ(name, list string) typ {
	p.check(slices.Contains(strings.Fields(list), name), "%q is not supported, want one of %s", name, list)
	return types[name]
}

// decode turns the instruction of that name, such as setp.ge.u32, into code.
func (p *parser) decode(name string) {
	opcode, modifiers, _ := strings.Cut(name, ".")
	switch {
	case name == "bra" || name == "bra.uni":
		p.count(1)
		p.in.label, p.in.scope = p.operands[0]+":", p.scope
	case name == "ret" || name == "ret.uni" || name == "exit":
		p.count(0)
	case opcode == "mov" && modifiers != "pred":
		p.in.run = p.mov(p.typ(modifiers, all))
	case opcode == "cvta": // an address in its space is the same as in all
		p.typ(strings.TrimPrefix(modifiers, "to."), "global.u64 shared.u64 local.u64")
		p.in.run = p.mov(types["u64"])
	case opcode == "cvt":
		p.count(2)
		to, from, _ := strings.Cut(modifiers, ".")
		t, f := p.typ(to, "u8 s8 "+ints), p.typ(from, "u8 s8 "+ints)
		p.in.run = convert(p.operand(0, t.size, writes|orWider), t, p.operand(1, f.size, orWider), f)
	case opcode == "ld" || opcode == "st":
		p.in.run = p.transfer(opcode == "st", strings.Split(modifiers, "."))
	default:
		p.in.run = p.tabled(name)
	}
}

// tabled decodes an instruction of the table.
func (p *parser) tabled(name string) run {
	parts, boolean, typeName := strings.Split(name, "."), "", ""
	if parts[0] == "setp" && len(parts) == 4 {
		boolean = parts[2]
		p.typ(boolean, "and or xor")
		parts = slices.Delete(parts, 2, 3)
	}
	if i := slices.IndexFunc(parts, func(part string) bool { return types[part].rows != nil }); i >= 0 {
		typeName, parts[i] = parts[i], "T"
	}
	rows := types[typeName].rows
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == strings.Join(parts, ".") })
	p.check(i >= 0, "not supported, want one of %s, where T is an integer type or pred", supported())
	row := rows[i]
	size := p.typ(typeName, row.types).size
	kinds, sizes := strings.Fields(row.operands), map[string]int{"T": size, "2T": 2 * size, "u32": 4, "imm": 4}
	p.count(len(kinds) + len(strings.Fields(boolean)))
	if parts[0] == "setp" {
		return p.comparison(row, size, boolean)
	}
	r, uniform := regs{p.operand(0, sizes[kinds[0]], writes)}, true
	for i := 1; i < len(kinds); i++ {
		_, immediate := integer(p.operands[i], choose(kinds[i] == "imm", 1, 4))
		p.check(immediate || kinds[i] != "imm", "operand %d is %q, want an integer of 8 bits", i+1, p.operands[i])
		uniform = uniform && (immediate || kinds[i] != "u32")
		r = append(r, p.operand(i, sizes[kinds[i]], reads))
	}
	if byLibrary := library[name]; byLibrary != nil {
		p.in.field = true
		return byLibrary(r, uniform)
	}
	return underMask(r, row.meaning)
}

// supported lists what instructions there are.
func supported() string {
	list := "bra ret exit ld.T st.T cvt.T.T cvta.to.global.u64"
	for _, r := range types["u32"].rows {
		list += " " + r.name
	}
	return list
}

// comparison decodes setp p|q, a, b, c: p is the result combined with c, q its
// opposite combined with c.
func (p *parser) comparison(compare row, size int, boolean string) run {
	names := strings.Split(p.operands[0], "|")
	p.check(len(names) <= 2, "operand 1 is %q, want one predicate or two", p.operands[0])
	var dst regs
	for _, name := range names {
		dst = append(dst, p.register(0, name, 0, choose(len(names) == 2, writes|orNone, writes)))
	}
	r := regs{newRegister(0), p.operand(1, size, reads), p.operand(2, size, reads)}
	c, flip, combine := constant(0, 0), uint32(0), func(a, _ uint32) uint32 { return a }
	if boolean != "" {
		name, negated := strings.CutPrefix(p.operands[3], "!")
		c, flip, combine = p.register(3, name, 0, reads), choose(negated, everyLane, 0), booleans[boolean]
	}
	return func(active uint32) {
		compare.meaning(r)
		found, with := *mask(r[0]), *mask(c)^flip
		for _, d := range dst {
			*mask(d) = *mask(d)&^active | combine(found, with)&active
			found = ^found
		}
	}
}

// booleans combine the result of setp with one more predicate.
var booleans = map[string]func(a, b uint32) uint32{
	"and": func(a, b uint32) uint32 { return a & b },
	"or":  func(a, b uint32) uint32 { return a | b },
	"xor": func(a, b uint32) uint32 { return a ^ b },
}

// underMask makes an instruction of a meaning that finds r[0] in all lanes; those
// of the active ones are kept.
func underMask(r regs, meaning func(regs)) run {
	dst, all, inAll := r[0], newRegister(r[0].size), slices.Clone(r)
	inAll[0] = all
	keep := ofSize(dst.size).load(dst, all)
	return func(active uint32) {
		if active == everyLane {
			meaning(r)
			return
		}
		meaning(inAll)
		keep(active)
	}
}

// mov decodes mov of a register, an immediate or the address of a variable, and
// mov between a register and its parts, the lowest first: {a, b}.
func (p *parser) mov(t typ) run {
	p.count(2)
	to, from := len(p.parts(0)), len(p.parts(1))
	if to+from == 2 {
		return t.load(p.operand(0, t.size, writes), p.operand(1, t.size, reads))
	}
	n := max(to, from)
	p.check(min(to, from) == 1 && (n == 2 || n == 4) && n <= t.size, "not supported, want one register, and 2 or 4 in braces")
	sources, destinations := p.elements(1, t.size/from, reads), p.elements(0, t.size/to, writes|orNone)
	if to == 1 {
		return ofSize(t.size/n).within(destinations[0], sources, true)
	}
	return ofSize(t.size/n).within(sources[0], destinations, false)
}

// load makes an instruction that extends the low part of src, of type t, into dst.
func (t typ) load(dst, src register) run { return t.within(src, regs{dst}, false) }

// convert makes an instruction that extends the low part of src by the sign of one
// type, and the low part of that by the sign of another.
func convert(dst register, to typ, src register, from typ) run {
	switch {
	case from.size >= to.size:
		return to.load(dst, src)
	case dst.size == to.size:
		return from.load(dst, src)
	}
	extended := newRegister(to.size)
	first, second := from.load(extended, src), to.load(dst, extended)
	return func(active uint32) {
		first(active)
		second(active)
	}
}

// elements are the registers, or immediates, in an operand's braces.
func (p *parser) elements(i, size int, u use) (r regs) {
	for _, text := range p.parts(i) {
		r = append(r, p.register(i, text, size, u))
	}
	return r
}

// transfer decodes ld and st.
func (p *parser) transfer(store bool, modifiers []string) run {
	p.count(2)
	last, memory, value, u := len(modifiers)-1, 1, 0, writes|orWider|orNone
	if store {
		memory, value, u = 0, 1, orWider
	}
	t, elements := p.typ(modifiers[last], "b8 u8 s8 "+all), 1
	a := &access{place: p.place, store: store}
	for _, m := range modifiers[:last] {
		p.typ(m, "global shared local param v2 v4 weak volatile nc ca cg cs lu cv wb wt")
		switch m {
		case "global", "shared", "local", "param":
			a.space = "." + m
		case "v2", "v4":
			elements = int(m[1] - '0')
		}
	}
	p.check(len(p.parts(value)) == elements, "operand %d is %q, want %d elements", value+1, p.operands[value], elements)
	if a.space == ".param" {
		_, known := p.find(p.operands[1])
		p.check(known && !store && p.operands[1][0] == '[', "%q, want a parameter of the kernel to read", p.operands[memory])
		return t.load(p.operand(0, t.size, u), p.operand(1, t.size, reads))
	}
	m := addressPattern.FindStringSubmatch(p.operands[memory])
	p.check(m != nil, "operand %d is %q, want [register] or [register+integer]", memory+1, p.operands[memory])
	a.base = in[uint64](p.register(memory, m[1], 8, reads))
	if m[2] != "" {
		var ok bool
		a.offset, ok = integer(m[2], 8)
		p.check(ok, "%q, want an integer of 64 bits", m[2])
	}
	a.registers = p.elements(value, t.size, u)
	return t.move(p.program, a)
}
