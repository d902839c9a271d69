package proof

import (
	"fmt"
	"strings"
)

// A term is an expression of symbols, with a value of at most 64 bits. The methods of terms
// make terms. They simplify each term and make it only once, so equal pointers are equal
// expressions.
type term struct {
	op      op
	bits    int
	val     uint64 // opConst: the value; opExtract: the lowest bit; opSymbol: the lane
	name    string // opSymbol
	a, b, c *term
	id      uint32
}

type op uint8

const (
	opConst   op = iota
	opSymbol     // lane val of the operand name
	opExtract    // bits of a from bit val on
	opConcat     // a, and above it b
	opSext       // a with its highest bit repeated above it
	opNot
	opAnd
	opOr
	opXor
	opAdd
	opSub
	opShl  // a << b; if b is the width or more, everything is shifted out
	opLshr // a >> b, filled with zeros
	opAshr // a >> b, filled with the sign
	opEq   // the comparisons are 1 bit
	opUlt
	opSlt
	opIte // b if a, a single bit, is set, else c
)

// A terms is a set of terms.
type terms struct {
	known   map[termKey]*term
	shifted map[shiftKey]*term
	zero    *vec
	single  map[*term][]*term // the bits of terms
	small   [65][]*term       // small constants by bits and value, for speed
	words   map[uint64]*term  // the other constants of 64 bits
}

const smallConstants = 1 << 12

type termKey struct {
	op      op
	bits    int
	val     uint64
	name    string
	a, b, c *term
}

type shiftKey struct {
	t  *term
	by int
}

func newTerms() *terms {
	return &terms{known: map[termKey]*term{}, shifted: map[shiftKey]*term{}, words: map[uint64]*term{}}
}

func (s *terms) make(t term) *term {
	key := termKey{t.op, t.bits, t.val, t.name, t.a, t.b, t.c}
	if have := s.known[key]; have != nil {
		return have
	}
	made := new(term)
	*made = t
	made.id = uint32(len(s.known))
	s.known[key] = made
	return made
}

func ones(bits int) uint64 { return ^uint64(0) >> (64 - bits) }

func (s *terms) constant(bits int, v uint64) *term {
	v &= ones(bits)
	if v >= smallConstants && bits == 64 {
		t := s.words[v]
		if t == nil {
			t = s.make(term{op: opConst, bits: bits, val: v})
			s.words[v] = t
		}
		return t
	}
	if v >= smallConstants {
		return s.make(term{op: opConst, bits: bits, val: v})
	}
	if s.small[bits] == nil {
		s.small[bits] = make([]*term, min(smallConstants-1, ones(bits))+1)
	}
	if s.small[bits][v] == nil {
		s.small[bits][v] = s.make(term{op: opConst, bits: bits, val: v})
	}
	return s.small[bits][v]
}

func (s *terms) symbol(bits int, name string, lane int) *term {
	return s.make(term{op: opSymbol, bits: bits, name: name, val: uint64(lane)})
}

func (t *term) is(v uint64) bool { return t.op == opConst && t.val == v&ones(t.bits) }

func (s *terms) extract(t *term, low, bits int) *term {
	if low == 0 && bits == t.bits {
		return t
	}
	if low < 0 || low+bits > t.bits {
		panic(fmt.Sprintf("bits %d to %d of a term of %d", low, low+bits-1, t.bits))
	}
	switch t.op {
	case opConst:
		return s.constant(bits, t.val>>low)
	case opExtract:
		return s.extract(t.a, int(t.val)+low, bits)
	case opConcat:
		w := t.a.bits
		switch {
		case low >= w:
			return s.extract(t.b, low-w, bits)
		case low+bits <= w:
			return s.extract(t.a, low, bits)
		}
		return s.concat(s.extract(t.a, low, w-low), s.extract(t.b, 0, low+bits-w))
	case opSext:
		w := t.a.bits
		if low+bits <= w {
			return s.extract(t.a, low, bits)
		}
		low = min(low, w-1)
		return s.sext(s.extract(t.a, low, w-low), bits)
	case opNot:
		return s.not(s.extract(t.a, low, bits))
	case opAnd, opOr, opXor:
		return s.logic(t.op, s.extract(t.a, low, bits), s.extract(t.b, low, bits))
	case opAdd, opSub:
		if low == 0 {
			return s.sum(t.op, s.extract(t.a, low, bits), s.extract(t.b, low, bits))
		}
	case opIte:
		return s.ite(t.a, s.extract(t.b, low, bits), s.extract(t.c, low, bits))
	}
	return s.make(term{op: opExtract, bits: bits, val: uint64(low), a: t})
}

func (s *terms) concat(low, high *term) *term {
	if low.op == opConcat {
		return s.concat(low.a, s.concat(low.b, high))
	}
	first, rest := high, (*term)(nil)
	if high.op == opConcat {
		first, rest = high.a, high.b
	}
	joined := s.merge(low, first)
	switch {
	case joined == nil:
		return s.make(term{op: opConcat, bits: low.bits + high.bits, a: low, b: high})
	case rest == nil:
		return joined
	}
	return s.concat(joined, rest)
}

// merge returns two terms as one if they are neighbouring parts of it, else nil.
func (s *terms) merge(low, high *term) *term {
	if low.op != high.op {
		return nil
	}
	switch low.op {
	case opConst:
		return s.constant(low.bits+high.bits, low.val|high.val<<low.bits)
	case opExtract:
		if low.a == high.a && int(low.val)+low.bits == int(high.val) {
			return s.extract(low.a, int(low.val), low.bits+high.bits)
		}
	case opNot:
		if a := s.merge(low.a, high.a); a != nil {
			return s.not(a)
		}
	case opAnd, opOr, opXor:
		for _, pair := range [2][2]*term{{high.a, high.b}, {high.b, high.a}} {
			a := s.merge(low.a, pair[0])
			if a == nil {
				continue
			}
			if b := s.merge(low.b, pair[1]); b != nil {
				return s.logic(low.op, a, b)
			}
		}
	case opIte:
		if low.a != high.a {
			return nil
		}
		if b, c := s.merge(low.b, high.b), s.merge(low.c, high.c); b != nil && c != nil {
			return s.ite(low.a, b, c)
		}
	}
	return nil
}

// join returns the parts, lowest first, as one term.
func (s *terms) join(parts []*term) *term {
	t := parts[len(parts)-1]
	for i := len(parts) - 2; i >= 0; i-- {
		t = s.concat(parts[i], t)
	}
	return t
}

func (s *terms) zext(t *term, bits int) *term {
	if t.bits == bits {
		return t
	}
	return s.concat(t, s.constant(bits-t.bits, 0))
}

func (s *terms) sext(t *term, bits int) *term {
	switch {
	case t.bits == bits:
		return t
	case t.op == opConst:
		return s.constant(bits, uint64(int64(t.val<<(64-t.bits))>>(64-t.bits)))
	case t.op == opSext:
		return s.sext(t.a, bits)
	}
	return s.make(term{op: opSext, bits: bits, a: t})
}

// resize returns t, cut or extended with zeros to the given width.
func (s *terms) resize(t *term, bits int) *term {
	if t.bits > bits {
		return s.extract(t, 0, bits)
	}
	return s.zext(t, bits)
}

func (s *terms) not(t *term) *term {
	switch t.op {
	case opConst:
		return s.constant(t.bits, ^t.val)
	case opNot:
		return t.a
	case opIte:
		if t.b.op == opConst || t.c.op == opConst {
			return s.ite(t.a, s.not(t.b), s.not(t.c))
		}
	case opConcat:
		if holed(t) {
			return s.concat(s.not(t.a), s.not(t.b))
		}
	}
	return s.make(term{op: opNot, bits: t.bits, a: t})
}

// holed reports whether a part of a concatenation is constant.
func holed(t *term) bool {
	for ; t.op == opConcat; t = t.b {
		if t.a.op == opConst || t.b.op == opConst {
			return true
		}
	}
	return false
}

// logic returns x and y, x or y, or x xor y. It cuts bits that a constant decides out of the
// operation.
func (s *terms) logic(o op, x, y *term) *term {
	if y.op == opConst || x.op != opConst && x.id > y.id {
		x, y = y, x
	}
	if x == y {
		if o == opXor {
			return s.constant(x.bits, 0)
		}
		return x
	}
	if x.op == opConst {
		all := ones(x.bits)
		switch {
		case y.op == opConst && o == opAnd:
			return s.constant(x.bits, x.val&y.val)
		case y.op == opConst && o == opOr:
			return s.constant(x.bits, x.val|y.val)
		case y.op == opConst:
			return s.constant(x.bits, x.val^y.val)
		case o == opAnd && x.val == all, o != opAnd && x.val == 0:
			return y
		case o == opAnd && x.val == 0, o == opOr && x.val == all:
			return x
		case o == opXor && x.val == all:
			return s.not(y)
		}
		// The lowest bits of x that are alike decide their part of the result. The rest of x
		// is next.
		run := 1
		for x.val>>run&1 == x.val&1 {
			run++
		}
		return s.split(o, x, y, run)
	}
	if holed(x) {
		return s.split(o, x, y, x.a.bits)
	}
	if holed(y) {
		return s.split(o, y, x, y.a.bits)
	}
	for _, pair := range [2][2]*term{{x, y}, {y, x}} {
		t, u := pair[0], pair[1]
		if t.op == opIte && (u.op == opIte && t.a == u.a || o != opXor && t.b.op == opConst && t.c.op == opConst) {
			v, w := u, u
			if u.op == opIte && t.a == u.a {
				v, w = u.b, u.c
			}
			return s.ite(t.a, s.logic(o, t.b, v), s.logic(o, t.c, w))
		}
	}
	return s.make(term{op: o, bits: x.bits, a: x, b: y})
}

func (s *terms) split(o op, x, y *term, low int) *term {
	high := x.bits - low
	return s.concat(
		s.logic(o, s.extract(x, 0, low), s.extract(y, 0, low)),
		s.logic(o, s.extract(x, low, high), s.extract(y, low, high)))
}

func (s *terms) and(x, y *term) *term { return s.logic(opAnd, x, y) }
func (s *terms) or(x, y *term) *term  { return s.logic(opOr, x, y) }
func (s *terms) xor(x, y *term) *term { return s.logic(opXor, x, y) }

func (s *terms) add(x, y *term) *term { return s.sum(opAdd, x, y) }
func (s *terms) sub(x, y *term) *term { return s.sum(opSub, x, y) }

func (s *terms) sum(o op, x, y *term) *term {
	switch {
	case y.is(0):
		return x
	case x.op == opConst && y.op == opConst && o == opAdd:
		return s.constant(x.bits, x.val+y.val)
	case x.op == opConst && y.op == opConst:
		return s.constant(x.bits, x.val-y.val)
	case o == opSub && x == y:
		return s.constant(x.bits, 0)
	case o == opAdd && x.is(0):
		return y
	}
	if o == opAdd && x.id > y.id {
		x, y = y, x
	}
	return s.make(term{op: o, bits: x.bits, a: x, b: y})
}

// shift returns x shifted by n with opShl, opLshr or opAshr. n is unsigned and as wide as x.
func (s *terms) shift(o op, x, n *term) *term {
	if x.is(0) || n.is(0) {
		return x
	}
	if n.op != opConst {
		return s.make(term{op: o, bits: x.bits, a: x, b: n})
	}
	by := int(min(n.val, uint64(x.bits)))
	switch {
	case o == opAshr:
		by = min(by, x.bits-1)
		return s.sext(s.extract(x, by, x.bits-by), x.bits)
	case by == x.bits:
		return s.constant(x.bits, 0)
	case o == opShl:
		return s.concat(s.constant(by, 0), s.extract(x, 0, x.bits-by))
	}
	return s.concat(s.extract(x, by, x.bits-by), s.constant(by, 0))
}

func (s *terms) eq(x, y *term) *term {
	if y.op == opConst || x.op != opConst && x.id > y.id {
		x, y = y, x
	}
	switch {
	case x == y:
		return s.constant(1, 1)
	case x.op != opConst:
	case y.op == opConst:
		return s.constant(1, 0)
	case x.bits == 1 && x.val == 1:
		return y
	case x.bits == 1:
		return s.not(y)
	case y.op == opConcat:
		low := y.a.bits
		return s.and(s.eq(s.extract(x, 0, low), y.a), s.eq(s.extract(x, low, x.bits-low), y.b))
	case y.op == opIte && (y.b.op == opConst || y.c.op == opConst):
		return s.ite(y.a, s.eq(x, y.b), s.eq(x, y.c))
	}
	return s.make(term{op: opEq, bits: 1, a: x, b: y})
}

func (s *terms) ult(x, y *term) *term {
	switch {
	case x.op == opConst && y.op == opConst && x.val < y.val:
		return s.constant(1, 1)
	case x.op == opConst && y.op == opConst, x == y, y.is(0):
		return s.constant(1, 0)
	}
	return s.make(term{op: opUlt, bits: 1, a: x, b: y})
}

func (s *terms) slt(x, y *term) *term {
	switch {
	case x.op == opConst && y.op == opConst:
		shift := 64 - x.bits
		if int64(x.val<<shift) < int64(y.val<<shift) {
			return s.constant(1, 1)
		}
		return s.constant(1, 0)
	case x == y:
		return s.constant(1, 0)
	case y.is(0):
		return s.extract(x, x.bits-1, 1)
	}
	return s.make(term{op: opSlt, bits: 1, a: x, b: y})
}

func (s *terms) ite(c, x, y *term) *term {
	switch {
	case c.is(1) || x == y:
		return x
	case c.is(0):
		return y
	case c.op == opNot:
		return s.ite(c.a, y, x)
	case x.op == opIte && x.a == c:
		return s.ite(c, x.b, y)
	case y.op == opIte && y.a == c:
		return s.ite(c, x, y.c)
	case x.bits == 1 && x.is(1) && y.is(0):
		return c
	case x.bits == 1 && x.is(0) && y.is(1):
		return s.not(c)
	}
	return s.make(term{op: opIte, bits: x.bits, a: c, b: x, c: y})
}

// rebuild applies a term's operation to other arguments.
func (s *terms) rebuild(t *term, arg func(*term) *term) *term {
	switch t.op {
	case opExtract:
		return s.extract(arg(t.a), int(t.val), t.bits)
	case opConcat:
		return s.concat(arg(t.a), arg(t.b))
	case opSext:
		return s.sext(arg(t.a), t.bits)
	case opNot:
		return s.not(arg(t.a))
	case opAnd, opOr, opXor:
		return s.logic(t.op, arg(t.a), arg(t.b))
	case opAdd, opSub:
		return s.sum(t.op, arg(t.a), arg(t.b))
	case opShl, opLshr, opAshr:
		return s.shift(t.op, arg(t.a), arg(t.b))
	case opEq:
		return s.eq(arg(t.a), arg(t.b))
	case opUlt:
		return s.ult(arg(t.a), arg(t.b))
	case opSlt:
		return s.slt(arg(t.a), arg(t.b))
	case opIte:
		return s.ite(arg(t.a), arg(t.b), arg(t.c))
	}
	return t
}

// relative returns a term with the lanes of its symbols counted from the given lane. Uniform
// symbols stay as they are.
func (s *terms) relative(t *term, lane int) *term {
	if t.op == opConst || lane == 0 {
		return t
	}
	key := shiftKey{t, lane}
	if have := s.shifted[key]; have != nil {
		return have
	}
	var r *term
	switch {
	case t.op == opSymbol && uniform(t.name):
		r = t
	case t.op == opSymbol:
		r = s.symbol(t.bits, t.name, int(t.val)-lane)
	default:
		r = s.rebuild(t, func(a *term) *term { return s.relative(a, lane) })
	}
	s.shifted[key] = r
	return r
}

// uniform reports whether a symbol is an argument rather than an operand's lane.
// The names of arguments end in a colon.
func uniform(name string) bool { return strings.HasSuffix(name, ":") }

// replace returns t with old replaced by another term.
func (s *terms) replace(t, old, by *term) *term { return s.replaceAll(t, map[*term]*term{old: by}) }

// replaceAll returns t with the terms in done replaced. It adds all parts of t to done.
func (s *terms) replaceAll(t *term, done map[*term]*term) *term {
	var replaced func(*term) *term
	replaced = func(t *term) *term {
		if r := done[t]; r != nil {
			return r
		}
		r := s.rebuild(t, replaced)
		done[t] = r
		return r
	}
	return replaced(t)
}

// eval returns a term's value, given the values of its symbols.
func eval(t *term, symbol func(*term) uint64) uint64 {
	done := map[*term]uint64{}
	var value func(*term) uint64
	value = func(t *term) uint64 {
		if v, ok := done[t]; ok {
			return v
		}
		v := apply(t, symbol, value) & ones(t.bits)
		done[t] = v
		return v
	}
	return value(t)
}

func apply(t *term, symbol, value func(*term) uint64) uint64 {
	signed := func(t *term) int64 { return int64(value(t)<<(64-t.bits)) >> (64 - t.bits) }
	truth := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	switch t.op {
	case opConst:
		return t.val
	case opSymbol:
		return symbol(t)
	case opExtract:
		return value(t.a) >> t.val
	case opConcat:
		return value(t.a) | value(t.b)<<t.a.bits
	case opSext:
		return uint64(signed(t.a))
	case opNot:
		return ^value(t.a)
	case opAnd:
		return value(t.a) & value(t.b)
	case opOr:
		return value(t.a) | value(t.b)
	case opXor:
		return value(t.a) ^ value(t.b)
	case opAdd:
		return value(t.a) + value(t.b)
	case opSub:
		return value(t.a) - value(t.b)
	case opShl:
		return value(t.a) << value(t.b)
	case opLshr:
		return value(t.a) >> value(t.b)
	case opAshr:
		return uint64(signed(t.a) >> value(t.b))
	case opEq:
		return truth(value(t.a) == value(t.b))
	case opUlt:
		return truth(value(t.a) < value(t.b))
	case opSlt:
		return truth(signed(t.a) < signed(t.b))
	case opIte:
		if value(t.a) == 1 {
			return value(t.b)
		}
		return value(t.c)
	}
	panic("no such operation")
}

// smt returns a term in SMT-LIB, with a let for each part of it.
func smt(t *term) string {
	var lets strings.Builder
	names := map[*term]string{}
	var name func(*term) string
	name = func(t *term) string {
		if n := names[t]; n != "" {
			return n
		}
		n := ""
		switch t.op {
		case opConst:
			n = literal(t.bits, t.val)
		case opSymbol:
			n = symbolName(t)
		default:
			var args []any
			for _, a := range []*term{t.a, t.b, t.c} {
				if a != nil {
					args = append(args, name(a))
				}
			}
			n = fmt.Sprintf("v%d", len(names))
			fmt.Fprintf(&lets, "(let ((%s %s))\n", n, fmt.Sprintf(pattern(t), args...))
		}
		names[t] = n
		return n
	}
	result := name(t)
	return lets.String() + result + strings.Repeat(")", strings.Count(lets.String(), "\n"))
}

// pattern returns an operation in SMT-LIB, with a place for each argument.
func pattern(t *term) string {
	switch t.op {
	case opExtract:
		return fmt.Sprintf("((_ extract %d %d) %%s)", int(t.val)+t.bits-1, t.val)
	case opSext:
		return fmt.Sprintf("((_ sign_extend %d) %%s)", t.bits-t.a.bits)
	case opEq:
		return "(ite (= %s %s) #b1 #b0)"
	case opUlt:
		return "(ite (bvult %s %s) #b1 #b0)"
	case opSlt:
		return "(ite (bvslt %s %s) #b1 #b0)"
	case opIte:
		return "(ite (= %s #b1) %s %s)"
	case opConcat:
		return "(concat %[2]s %[1]s)"
	}
	return "(" + map[op]string{
		opNot: "bvnot", opAnd: "bvand", opOr: "bvor", opXor: "bvxor", opAdd: "bvadd", opSub: "bvsub",
		opShl: "bvshl", opLshr: "bvlshr", opAshr: "bvashr",
	}[t.op] + strings.Repeat(" %s", map[bool]int{true: 1, false: 2}[t.b == nil]) + ")"
}

func literal(bits int, v uint64) string { return fmt.Sprintf("(_ bv%d %d)", v, bits) }

// symbolName returns a symbol in SMT-LIB: the operand's name, followed by the lane if that is
// not the result's own.
func symbolName(t *term) string {
	name := strings.TrimSuffix(t.name, ":")
	if lane := int(t.val); lane != 0 {
		return fmt.Sprintf("%s.%+d", name, lane)
	}
	return name
}
