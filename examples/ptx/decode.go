package main

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/gobfi/bfi"
)

// run executes a decoded instruction in the active lanes. What it works on was
// looked up when it was decoded.
type run func(active uint32) error

// types lists the instructions without a control flow of their own and, for
// each, the types it is supported with: b, u and s are .b32, .u32 and .s32 and
// those of 64 bits, p is .pred.
var types = map[string]string{
	"mov": "busp", "selp": "bus", "cvta.to.global": "u",
	"cvt.u32": "us", "cvt.s32": "us", "cvt.u64": "us", "cvt.s64": "us",
	"ld.param": "bus", "ld.global": "bus", "ld.global.nc": "bus", "st.global": "bus",
	"add": "us", "sub": "us", "min": "us", "max": "us", "neg": "s",
	"mul.lo": "us", "mul.wide": "us", "mad.lo": "us", "mad.wide": "us",
	"and": "bp", "or": "bp", "xor": "bp", "not": "bp", "shl": "b", "shr": "bus",
	"setp.eq": "bus", "setp.ne": "bus",
	"setp.lt": "us", "setp.le": "us", "setp.gt": "us", "setp.ge": "us",
	"setp.lo": "u", "setp.ls": "u", "setp.hi": "u", "setp.hs": "u",
	"bfi": "b", "bfe": "us",
}

// A decoder turns one instruction into code.
type decoder struct {
	*parser
	name     string     // as written: setp.ge.u32
	operands [][]string // the tokens of each
	line     int
}

func (d *decoder) failf(format string, args ...any) {
	d.fail(d.line, "%s: %s", d.name, fmt.Sprintf(format, args...))
}

func (d *decoder) decode(in *instruction) {
	switch d.name {
	case "bra", "bra.uni":
		in.kind = jump
		d.count(1)
		if len(d.operands[0]) != 1 || !isName(d.operands[0][0]) {
			d.failf("%q is not a label", d.text(0))
		}
		s := &d.scopes[len(d.scopes)-1]
		s.branches = append(s.branches, branch{len(d.code), d.line, d.operands[0][0]})
		return
	case "ret", "exit":
		in.kind = leave
		d.count(0)
		return
	}
	dot := max(strings.LastIndexByte(d.name, '.'), 0)
	op, typ := d.name[:dot], strings.TrimPrefix(d.name[dot:], ".")
	supported, ok := types[op]
	if !ok {
		d.failf("this instruction is not supported")
	}
	if typ == "" || !strings.Contains(supported, typ[:1]) {
		d.failf("the type .%s is not supported with it", typ)
	}
	in.bfi = op == "bfi"
	switch typ {
	case "b32", "u32", "s32":
		in.run = decodeWords[uint32, int32](d, op, typ[0] == 's')
	case "b64", "u64", "s64":
		in.run = decodeWords[uint64, int64](d, op, typ[0] == 's')
	case "pred":
		in.run = d.decodePredicates(op)
	default:
		d.failf("the type .%s is not supported", typ)
	}
}

// decodeWords decodes an instruction whose type has the width of T and S.
func decodeWords[T word, S int32 | int64](d *decoder, op string, signed bool) run {
	switch op {
	case "bfi":
		d.count(5)
		d.needs([2]int{2, 0}, 20)
		dst, src, base, pos, width := dest[T](d), source[T](d, 1), source[T](d, 2), source[uint32](d, 3), source[uint32](d, 4)
		if d.scalarInsert {
			return func(active uint32) error {
				insertLanes(dst, src, base, pos, width, active)
				return nil
			}
		}
		return func(active uint32) error {
			bfi.InsertWarp(dst, src, base, pos, width, active)
			return nil
		}
	case "bfe":
		d.count(4)
		d.needs([2]int{2, 0}, 20)
		dst, src, pos, width := dest[T](d), source[T](d, 1), source[uint32](d, 2), source[uint32](d, 3)
		if signed {
			dst, src := asSigned[S](dst), asSigned[S](src)
			return func(active uint32) error {
				bfi.ExtractWarp(dst, src, pos, width, active)
				return nil
			}
		}
		return func(active uint32) error {
			bfi.ExtractWarp(dst, src, pos, width, active)
			return nil
		}
	case "mov", "cvta.to.global": // global addresses are the generic ones
		d.count(2)
		return move(dest[T](d), source[T](d, 1))
	case "ld.param":
		d.count(2)
		return move(dest[T](d), parameter[T](d, 1))
	case "ld.global", "ld.global.nc":
		d.count(2)
		dst := dest[T](d)
		base, offset := d.address(1)
		return func(active uint32) error { return load(d.program, dst, base, offset, active) }
	case "st.global":
		d.count(2)
		base, offset := d.address(0)
		src := source[T](d, 1)
		return func(active uint32) error { return store(d.program, src, base, offset, active) }
	case "selp":
		d.count(4)
		dst, a, b, p := dest[T](d), source[T](d, 1), source[T](d, 2), d.predicate(3)
		return func(active uint32) error {
			first := active & uint32(*p)
			bfi.SelectWarp(dst, a, a, a, first)
			bfi.SelectWarp(dst, b, b, b, active&^first)
			return nil
		}
	case "cvt.u32", "cvt.s32":
		return convert[uint32](d, source[T](d, 1), signed)
	case "cvt.u64", "cvt.s64":
		return convert[uint64](d, source[T](d, 1), signed)
	case "mul.wide", "mad.wide":
		return d.wide(op, signed)
	case "mad.lo":
		d.count(4)
		a, b, c := source[T](d, 1), source[T](d, 2), source[T](d, 3)
		return underMask(dest[T](d), func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i]*b[i] + c[i]
			}
		})
	case "not":
		d.count(2)
		a := source[T](d, 1)
		return underMask(dest[T](d), func(t *lanes[T]) {
			for i := range t {
				t[i] = ^a[i]
			}
		})
	case "neg":
		d.count(2)
		a := source[T](d, 1)
		return underMask(dest[T](d), func(t *lanes[T]) {
			for i := range t {
				t[i] = -a[i]
			}
		})
	case "shl", "shr":
		return shift[T, S](d, op, signed)
	}
	if relation, ok := strings.CutPrefix(op, "setp."); ok {
		return compare[T](d, relation, signed)
	}
	return arithmetic[T](d, op, signed)
}

// arithmetic decodes an instruction with two sources of one type.
func arithmetic[T word](d *decoder, op string, signed bool) run {
	d.count(3)
	dst, a, b := dest[T](d), source[T](d, 1), source[T](d, 2)
	bias := signBit[T](signed)
	var result func(t *lanes[T])
	switch op {
	case "add":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] + b[i]
			}
		}
	case "sub":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] - b[i]
			}
		}
	case "mul.lo":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] * b[i]
			}
		}
	case "and":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] & b[i]
			}
		}
	case "or":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] | b[i]
			}
		}
	case "xor":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] ^ b[i]
			}
		}
	case "min":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = min(a[i]^bias, b[i]^bias) ^ bias
			}
		}
	case "max":
		result = func(t *lanes[T]) {
			for i := range t {
				t[i] = max(a[i]^bias, b[i]^bias) ^ bias
			}
		}
	}
	return underMask(dst, result)
}

// shift decodes shl and shr. A shift by more than the width leaves zeros, or
// copies of the sign, as in Go.
func shift[T word, S int32 | int64](d *decoder, op string, signed bool) run {
	d.count(3)
	dst, a, n := dest[T](d), source[T](d, 1), source[uint32](d, 2)
	switch {
	case op == "shl":
		return underMask(dst, func(t *lanes[T]) {
			for i := range t {
				t[i] = a[i] << n[i]
			}
		})
	case signed:
		return underMask(dst, func(t *lanes[T]) {
			for i := range t {
				t[i] = T(S(a[i]) >> n[i])
			}
		})
	}
	return underMask(dst, func(t *lanes[T]) {
		for i := range t {
			t[i] = a[i] >> n[i]
		}
	})
}

// wide decodes mul.wide and mad.wide, whose product has twice the width of its
// factors.
func (d *decoder) wide(op string, signed bool) run {
	if strings.HasSuffix(d.name, "64") {
		d.failf("is supported with factors of 32 bits only")
	}
	a, b := source[uint32](d, 1), source[uint32](d, 2)
	c := new(lanes[uint64])
	if op == "mad.wide" {
		d.count(4)
		c = source[uint64](d, 3)
	} else {
		d.count(3)
	}
	if signed {
		return underMask(dest[uint64](d), func(t *lanes[uint64]) {
			for i := range t {
				t[i] = uint64(int64(int32(a[i]))*int64(int32(b[i]))) + c[i]
			}
		})
	}
	return underMask(dest[uint64](d), func(t *lanes[uint64]) {
		for i := range t {
			t[i] = uint64(a[i])*uint64(b[i]) + c[i]
		}
	})
}

// convert decodes cvt from one integer type to another.
func convert[T, From word](d *decoder, a *lanes[From], signed bool) run {
	d.count(2)
	// Sign extension of From in 64 bits: move the sign up and back.
	above := 64 - 8*unsafe.Sizeof(From(0))
	return underMask(dest[T](d), func(t *lanes[T]) {
		for i := range t {
			x := uint64(a[i])
			if signed {
				x = uint64(int64(x<<above) >> above)
			}
			t[i] = T(x)
		}
	})
}

// compare decodes setp: all relations are made of "equal" and "less".
func compare[T word](d *decoder, relation string, signed bool) run {
	d.count(3)
	dst, a, b := d.destPredicate(), source[T](d, 1), source[T](d, 2)
	bias := signBit[T](signed)
	if relation == "gt" || relation == "hi" || relation == "le" || relation == "ls" {
		a, b = b, a
	}
	var flip uint32
	switch relation {
	case "ne", "le", "ls", "ge", "hs":
		flip = ^flip
	}
	if relation == "eq" || relation == "ne" {
		return setPredicate(dst, func() uint32 { return equal(a, b) ^ flip })
	}
	return setPredicate(dst, func() uint32 { return less(a, b, bias) ^ flip })
}

// equal has a bit set for each lane where a and b are the same.
func equal[T word](a, b *lanes[T]) (m uint32) {
	for i := range a {
		if a[i] == b[i] {
			m |= 1 << i
		}
	}
	return m
}

// less has a bit set for each lane where a is less than b.
func less[T word](a, b *lanes[T], bias T) (m uint32) {
	for i := range a {
		if a[i]^bias < b[i]^bias {
			m |= 1 << i
		}
	}
	return m
}

func (d *decoder) decodePredicates(op string) run {
	dst, a := d.destPredicate(), d.predicate(1)
	switch op {
	case "mov":
		d.count(2)
		return setPredicate(dst, func() uint32 { return uint32(*a) })
	case "not":
		d.count(2)
		return setPredicate(dst, func() uint32 { return ^uint32(*a) })
	}
	d.count(3)
	b := d.predicate(2)
	switch op {
	case "and":
		return setPredicate(dst, func() uint32 { return uint32(*a & *b) })
	case "or":
		return setPredicate(dst, func() uint32 { return uint32(*a | *b) })
	}
	return setPredicate(dst, func() uint32 { return uint32(*a ^ *b) }) // xor
}

// setPredicate makes an instruction of a function that finds the bits of all
// lanes; those of the active ones go to dst.
func setPredicate(dst *predicate, result func() uint32) run {
	return func(active uint32) error {
		*dst = *dst&^predicate(active) | predicate(result()&active)
		return nil
	}
}

// signBit is what turns the order of signed numbers into that of unsigned ones,
// by exclusive or.
func signBit[T word](signed bool) T {
	if !signed {
		return 0
	}
	return ^(^T(0) >> 1)
}

// asSigned is the same register, of signed words.
func asSigned[S int32 | int64, T word](r *lanes[T]) *[bfi.WarpSize]S {
	return (*[bfi.WarpSize]S)(unsafe.Pointer(r))
}

// underMask makes an instruction of a function that finds the results of all
// lanes; those of the active ones go to dst.
func underMask[T word](dst *lanes[T], result func(t *lanes[T])) run {
	t := new(lanes[T])
	return func(active uint32) error {
		result(t)
		bfi.SelectWarp(dst, t, t, t, active)
		return nil
	}
}

// move copies the active lanes: selecting between a word and itself gives it.
func move[T word](dst, src *lanes[T]) run {
	return func(active uint32) error {
		bfi.SelectWarp(dst, src, src, src, active)
		return nil
	}
}

// insertLanes is bfi as a plain loop, to compare bfi.InsertWarp with.
func insertLanes[T word](dst, src, base *lanes[T], pos, width *lanes[uint32], active uint32) {
	for i := range dst {
		if active>>i&1 == 0 {
			continue
		}
		if unsafe.Sizeof(dst[i]) == 4 {
			dst[i] = T(bfi.B32(uint32(src[i]), uint32(base[i]), pos[i], width[i]))
		} else {
			dst[i] = T(bfi.B64(uint64(src[i]), uint64(base[i]), pos[i], width[i]))
		}
	}
}

// needs refuses the instruction below a PTX ISA version and a target.
func (d *decoder) needs(isa [2]int, target int) {
	if d.isa[0] < isa[0] || d.isa[0] == isa[0] && d.isa[1] < isa[1] {
		d.failf("needs PTX ISA %d.%d or later, the file says .version %d.%d", isa[0], isa[1], d.isa[0], d.isa[1])
	}
	if d.target < target {
		d.failf("needs sm_%d or later, the file says .target sm_%d", target, d.target)
	}
}

func (d *decoder) count(n int) {
	if len(d.operands) != n {
		d.failf("has %d operands, want %d", len(d.operands), n)
	}
}

// tokens of operand i; the instruction may have fewer of them.
func (d *decoder) operand(i int) []string {
	if i >= len(d.operands) {
		d.failf("has %d operands, want more", len(d.operands))
	}
	return d.operands[i]
}

func (d *decoder) text(i int) string { return strings.Join(d.operand(i), " ") }

// register looks up an operand that must be a register.
func (d *decoder) register(i int) register {
	tokens := d.operand(i)
	if len(tokens) != 1 || !isWordByte(tokens[0][0]) || isDigit(tokens[0][0]) {
		d.failf("operand %d is %q, want a register", i+1, d.text(i))
	}
	r, ok := d.lookup(tokens[0])
	if !ok {
		d.failf("the register %s is not declared", tokens[0])
	}
	return r
}

// value is operand i as a register of the class of R.
func value[R any](d *decoder, i int, r register) *R {
	v, ok := r.value.(*R)
	if !ok {
		d.failf("operand %d, %s, is a %s, want a %s", i+1, d.text(i), class(r.value), class(new(R)))
	}
	return v
}

func writable[R any](d *decoder) *R {
	r := d.register(0)
	if r.readOnly {
		d.failf("%s is read-only", d.text(0))
	}
	return value[R](d, 0, r)
}

// dest is operand 0, which the instruction writes.
func dest[T word](d *decoder) *lanes[T] { return writable[lanes[T]](d) }

func (d *decoder) destPredicate() *predicate { return writable[predicate](d) }

func (d *decoder) predicate(i int) *predicate { return value[predicate](d, i, d.register(i)) }

// source is operand i, a register or an immediate. An immediate becomes a
// register with that value in every lane.
func source[T word](d *decoder, i int) *lanes[T] {
	tokens := d.operand(i)
	if len(tokens) > 0 && (tokens[0] == "-" || isDigit(tokens[0][0])) {
		return splat(T(d.immediate(i, tokens, int(unsafe.Sizeof(T(0))))))
	}
	return value[lanes[T]](d, i, d.register(i))
}

func splat[T word](x T) *lanes[T] {
	r := new(lanes[T])
	for i := range r {
		r[i] = x
	}
	return r
}

// immediate is an integer of so many bytes, signed or not.
func (d *decoder) immediate(i int, tokens []string, size int) uint64 {
	negative := tokens[0] == "-"
	if negative {
		tokens = tokens[1:]
	}
	if len(tokens) != 1 || strings.ContainsAny(tokens[0], "_oO") {
		d.failf("operand %d is %q, want a register or an integer", i+1, d.text(i))
	}
	x, err := strconv.ParseUint(strings.TrimSuffix(tokens[0], "U"), 0, 64)
	if err != nil {
		d.failf("operand %d is %q, want a register or an integer of %d bits", i+1, d.text(i), 8*size)
	}
	limit := ^uint64(0) >> (64 - 8*size)
	if negative {
		limit = limit/2 + 1
	}
	if x > limit {
		d.failf("operand %d, %s, does not fit %d bits", i+1, d.text(i), 8*size)
	}
	if negative {
		x = -x
	}
	return x
}

// bracketed is the inside of operand i, which must be in brackets.
func (d *decoder) bracketed(i int) []string {
	tokens := d.operand(i)
	if len(tokens) < 3 || tokens[0] != "[" || tokens[len(tokens)-1] != "]" {
		d.failf("operand %d is %q, want an address in brackets", i+1, d.text(i))
	}
	return tokens[1 : len(tokens)-1]
}

// parameter is an operand [name].
func parameter[T word](d *decoder, i int) *lanes[T] {
	tokens := d.bracketed(i)
	for _, p := range d.params {
		if len(tokens) == 1 && p.name == tokens[0] {
			return value[lanes[T]](d, i, register{value: p.value})
		}
	}
	d.failf("operand %d, %s, is not a parameter of the kernel", i+1, d.text(i))
	return nil
}

// address is an operand [register] or [register+offset].
func (d *decoder) address(i int) (base *lanes[uint64], offset uint64) {
	tokens := d.bracketed(i)
	r, ok := d.lookup(tokens[0])
	if !ok {
		d.failf("the register %s is not declared", tokens[0])
	}
	if len(tokens) > 1 {
		if tokens[1] != "+" || len(tokens) == 2 {
			d.failf("operand %d is %q, want [register] or [register+integer]", i+1, d.text(i))
		}
		offset = d.immediate(i, tokens[2:], 8)
	}
	return value[lanes[uint64]](d, i, r), offset
}
