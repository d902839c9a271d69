package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An instruction is one line of a disassembly: @guard op args.
type instruction struct {
	guard string
	op    string // the name with its modifiers
	args  []string
	code  uint32 // the upper half of the first 8 bytes; immediates are there
}

func (in instruction) String() string {
	guard := in.guard
	if guard != "" {
		guard = "@" + guard + " "
	}
	return strings.TrimSpace(guard + in.op + " " + strings.Join(in.args, ", "))
}

var (
	functionPattern    = regexp.MustCompile(`^([a-z]\w*):$`)
	instructionPattern = regexp.MustCompile(`^(?:/\*[0-9a-f]+\*/)?\s*(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;` +
		`(?:\s*/\* 0x([0-9a-f]{8})[0-9a-f]{8} \*/)?$`)
)

// parseSASS splits a disassembly into its functions. It keeps a function's instructions
// up to EXIT, because only padding follows.
func parseSASS(text string) (map[string][]instruction, error) {
	functions := map[string][]instruction{}
	name, done := "", true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := functionPattern.FindStringSubmatch(line); m != nil {
			name, done = m[1], false
			continue
		}
		m := instructionPattern.FindStringSubmatch(line)
		if m == nil || done {
			continue
		}
		code, _ := strconv.ParseUint(m[4], 16, 32)
		in := instruction{guard: m[1], op: m[2], code: uint32(code)}
		if m[3] != "" {
			for arg := range strings.SplitSeq(strings.ReplaceAll(m[3], ".reuse", ""), ",") {
				in.args = append(in.args, strings.TrimSpace(arg))
			}
		}
		switch in.op {
		case "NOP":
			continue
		case "EXIT":
			if in.guard != "" {
				return nil, fmt.Errorf("%s: %v: EXIT with a guard is not supported", name, in)
			}
			done = true
		}
		functions[name] = append(functions[name], in)
	}
	if !done {
		return nil, fmt.Errorf("%s has no EXIT", name)
	}
	return functions, nil
}

// printSASS returns the text of functions. parseSASS reads it back.
func printSASS(names []string, functions map[string][]instruction) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s:\n", name)
		for _, in := range functions[name] {
			fmt.Fprintf(&b, "\t%v;\n", in)
		}
	}
	return b.String()
}

// A word is the content of a register.
type word struct {
	bits  uint32
	moved bool  // whether only moves brought it here from an instruction's immediate operand
	bank  int32 // if it was loaded from bank 0, its offset there, else 0
}

// Registers and predicates have numbers. UR0 is 256 more than R0, and UP0 is 8 more than
// P0.
const (
	zero        = 255
	uniformZero = 511
	always      = 7
	uniform     = 8
)

// A store has the words that a kernel wrote at an offset from the address in its first
// parameter.
type store struct {
	offset int
	words  []word
}

// A machine executes one thread of a kernel without branches.
type machine struct {
	registers  [512]word
	predicates [16]bool
	constants  map[int]uint32 // bank 0
	base       int            // the offset of the first parameter in bank 0
	stores     []store
	err        error // the first error
}

func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// A step executes an instruction.
type step func(m *machine)

// run executes a kernel from its start.
func (m *machine) run(steps []step) error {
	m.registers = [512]word{zero: {moved: true}, uniformZero: {moved: true}}
	m.predicates = [16]bool{always: true, uniform + always: true}
	m.stores = m.stores[:0]
	for _, s := range steps {
		s(m)
	}
	return m.err
}

// result runs a kernel that stores one result, of the given number of words, at the
// address in its parameter.
func (m *machine) result(steps []step, words int) (x uint64, err error) {
	if err := m.run(steps); err != nil {
		return 0, err
	}
	if len(m.stores) != 1 || m.stores[0].offset != 0 || len(m.stores[0].words) != words {
		return 0, fmt.Errorf("the kernel stores %v, want one result", m.stores)
	}
	for k, w := range m.stores[0].words {
		x |= uint64(w.bits) << (32 * k)
	}
	return x, nil
}

var (
	registerPattern = regexp.MustCompile(`^(U?)R(\d+|Z)$`)
	constantPattern = regexp.MustCompile(`^c\[0x0\]\[(?:(R\w+)\+)?(0x[0-9a-f]+)\]$`)
	addressPattern  = regexp.MustCompile(`^(?:desc\[UR\d+\])?\[(U?R\d+)(?:\.64)?(?:\+(-?0x[0-9a-f]+))?\]$`)
)

// register returns the number of the register that text names.
func register(text string) (int, bool) {
	m := registerPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n := zero
	if m[2] != "Z" {
		n, _ = strconv.Atoi(m[2])
	}
	if m[1] != "" {
		n += 256
	}
	return n, n%256 != zero || m[2] == "Z"
}

// predicate returns the number of the predicate that text names, and whether it is
// negated.
func predicate(text string) (n int, negated, ok bool) {
	text, negated = strings.CutPrefix(text, "!")
	text, isUniform := strings.CutPrefix(text, "U")
	text, ok = strings.CutPrefix(text, "P")
	n = always
	if text != "T" {
		digit, err := strconv.Atoi(text)
		n, ok = digit, ok && err == nil && digit < always
	}
	if isUniform {
		n += uniform
	}
	return n, negated, ok
}

// A reader reads word k of an operand.
type reader func(m *machine, k int) word

// operand returns the reader of the operand in text. If the operand is an immediate, its
// words above the lowest repeat its sign.
func operand(text string) (reader, error) {
	if n, ok := register(text); ok {
		return func(m *machine, k int) word {
			if n%256 == zero {
				return m.registers[n]
			}
			return m.registers[n+k]
		}, nil
	}
	if c := constantPattern.FindStringSubmatch(text); c != nil {
		offset, err := strconv.ParseInt(c[2], 0, 32)
		index, ok := zero, true
		if c[1] != "" {
			index, ok = register(c[1])
		}
		if err != nil || !ok {
			return nil, fmt.Errorf("constant %q is not supported", text)
		}
		return func(m *machine, k int) word {
			at := int(m.registers[index].bits) + int(offset) + 4*k
			return word{bits: m.constants[at], bank: int32(at)}
		}, nil
	}
	if rest, ok := strings.CutPrefix(text, "-"); ok && !strings.HasPrefix(rest, "0x") {
		return inverse(rest, func(x uint32) uint32 { return -x })
	}
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		return inverse(rest, func(x uint32) uint32 { return ^x })
	}
	x, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		u, unsignedErr := strconv.ParseUint(text, 0, 64)
		x, err = int64(u), unsignedErr
	}
	if err != nil {
		return nil, fmt.Errorf("operand %q is not supported", text)
	}
	return func(m *machine, k int) word {
		return word{bits: uint32(x >> (32 * k)), moved: true}
	}, nil
}

// inverse returns the reader of f of the operand in text. Such an operand has one word.
func inverse(text string, f func(uint32) uint32) (reader, error) {
	s, err := operand(text)
	return func(m *machine, k int) word {
		w := s(m, k)
		if k > 0 {
			m.fail("%s has one word, and two are read", text)
		}
		return word{bits: f(w.bits)}
	}, err
}

// compile returns the steps of a kernel.
func compile(code []instruction) ([]step, error) {
	var steps []step
	for _, in := range code {
		if in.op == "EXIT" {
			continue
		}
		s, err := in.compile()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", in, err)
		}
		if in.guard != "" {
			n, negated, ok := predicate(in.guard)
			if !ok {
				return nil, fmt.Errorf("%v: the guard is not a predicate", in)
			}
			always := s
			s = func(m *machine) {
				if m.predicates[n] != negated {
					always(m)
				}
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// An operation has the operands of an instruction by kind.
type operation struct {
	dst     int      // the register that it writes
	set     []int    // the predicates that it writes
	sources []reader // the sources in order
	tests   []test   // the predicates that it reads
	table   uint32   // the last immediate
}

// A test is a predicate that an instruction reads.
type test struct {
	n       int
	negated bool
}

func (t test) holds(m *machine) bool { return m.predicates[t.n] != t.negated }

// sort sorts the operands of in by kind. in writes the predicates before the first source,
// and reads the predicates after it. If the first operand is a register, in writes it.
func (in instruction) sort() (*operation, error) {
	o := &operation{dst: zero}
	args := in.args
	if len(args) > 0 {
		if n, ok := register(args[0]); ok {
			o.dst, args = n, args[1:]
		}
	}
	for _, arg := range args {
		if n, negated, ok := predicate(arg); ok && len(o.sources) == 0 {
			o.set = append(o.set, n)
		} else if ok {
			o.tests = append(o.tests, test{n, negated})
		} else if s, err := operand(arg); err != nil {
			return nil, err
		} else {
			o.sources = append(o.sources, s)
			x, _ := strconv.ParseUint(arg, 0, 32)
			o.table = uint32(x)
		}
	}
	return o, nil
}

func (o *operation) write(m *machine, k int, w word) {
	if o.dst%256 != zero {
		m.registers[o.dst+k] = w
	}
}

func (o *operation) writePredicate(m *machine, k int, x bool) {
	if k < len(o.set) && o.set[k]%uniform != always {
		m.predicates[o.set[k]] = x
	}
}

// pair returns two words of source i.
func (o *operation) pair(m *machine, i int) uint64 {
	return uint64(o.sources[i](m, 1).bits)<<32 | uint64(o.sources[i](m, 0).bits)
}

func (o *operation) bits(m *machine, i int) uint32 { return o.sources[i](m, 0).bits }

// computed returns a step that writes one word to the destination.
func (o *operation) computed(f func(m *machine) uint32) step {
	return func(m *machine) { o.write(m, 0, word{bits: f(m)}) }
}

func (o *operation) computed64(f func(m *machine) uint64) step {
	return func(m *machine) {
		x := f(m)
		o.write(m, 0, word{bits: uint32(x)})
		o.write(m, 1, word{bits: uint32(x >> 32)})
	}
}

// move returns a step that copies the given number of words of source i.
func (o *operation) move(i, words int) step {
	return func(m *machine) {
		var w [4]word
		for k := range words {
			w[k] = o.sources[i](m, k)
		}
		for k := range words {
			o.write(m, k, w[k])
		}
	}
}

// compile returns the step of an instruction. It is the table of meanings that we assume.
// NVIDIA publishes only the names of machine instructions ("CUDA Binary Utilities",
// instruction sets). Two public sources have meanings: the PTX ISA, if PTX has an
// instruction that is named for the same thing, and Mesa's compiler for these processors
// (src/nouveau/compiler/nak/ir.rs):
//
//	instruction          PTX                              Mesa
//	MOV UMOV R2UR        mov                              OpMov, OpR2UR
//	IMAD.MOV IMAD.U32    mad.lo; only 0*0+x here          OpIMad
//	HFMA2                fma.rn.f16x2; only -0*0+x here   OpHFma2
//	LDC LDCU ULDC        ld.param                         OpLdc
//	STG                  st.global                        OpSt
//	SHF USHF             shf                              OpShf
//	BMSK                 bmsk.clamp                       OpBMsk
//	BMSK.W               bmsk.wrap                        OpBMsk
//	SGXT                 szext.clamp                      OpSgxt
//	SGXT.W               szext.wrap                       OpSgxt
//	LOP3 ULOP3           lop3                             OpLop3
//	PRMT                 prmt in the mode of that name    OpPrmt
//	IADD IADD3 UIADD3    add, add.cc of three sources     OpIAdd3
//	IADD3.X UIADD3.X     addc of three sources            OpIAdd3X
//	ISETP UISETP         setp                             OpISetP
//	ISETP.EX UISETP.EX   setp of upper words              OpISetP
//	SEL                  selp                             OpSel
//
// A kernel's parameters are in a bank of constants. SHF cuts its count to the bits of its
// type. The last operand of ISETP.EX has the result for the lower words. A U before a name
// means one result for the whole warp, and .64 means two registers. In nak/hw_tests.rs,
// Mesa compares the meanings that it folds with processors.
func (in instruction) compile() (step, error) {
	name, modifiers, _ := strings.Cut(in.op, ".")
	has := func(m string) bool { return strings.Contains("."+modifiers+".", "."+m+".") }
	words := 1
	switch {
	case has("64"):
		words = 2
	case has("128"):
		words = 4
	}
	switch name {
	case "STG":
		return in.compileStore(words)
	case "HFMA2":
		return in.compileHalves()
	}
	o, err := in.sort()
	if err != nil {
		return nil, err
	}
	// want reports whether the instruction has the given number of sources, and no other
	// modifiers than the allowed ones.
	want := func(sources int, allowed ...string) bool {
		rest := "." + modifiers
		for _, m := range allowed {
			rest = strings.Replace(rest, "."+m, "", 1)
		}
		return len(o.sources) == sources && strings.Trim(rest, ".") == ""
	}
	limit := func(n uint32) uint32 {
		if has("W") {
			return n & 31
		}
		return min(n, 32)
	}
	switch name {
	case "MOV", "UMOV", "R2UR":
		if want(1, "64") && len(o.set) == 0 {
			return o.move(0, words), nil
		}
	case "LDC", "LDCU", "ULDC":
		if want(1, "64", "128") {
			return o.move(0, words), nil
		}
	case "IMAD":
		if (want(3, "MOV", "U32") || want(3, "U32")) && in.args[1] == "RZ" && in.args[2] == "RZ" {
			return o.move(2, 1), nil
		}
	case "SHF", "USHF":
		if want(3, "L", "R", "U32", "S32", "U64", "S64", "HI") && has("L") != has("R") {
			return o.shift(has("R"), has("S32") || has("S64"), has("U64") || has("S64"), has("HI")), nil
		}
	case "BMSK":
		if want(2, "W") {
			return o.computed(func(m *machine) uint32 {
				return uint32((uint64(1)<<limit(o.bits(m, 1)) - 1) << limit(o.bits(m, 0)))
			}), nil
		}
	case "SGXT":
		if want(2, "U32", "W") {
			return o.computed(func(m *machine) uint32 {
				x, n := o.bits(m, 0), 32-limit(o.bits(m, 1))
				if has("U32") {
					return x << n >> n
				}
				return uint32(int32(x<<n) >> n)
			}), nil
		}
	case "LOP3", "ULOP3":
		if want(4, "LUT") && len(o.set) == 0 {
			return o.computed(func(m *machine) (r uint32) {
				x, y, z := o.bits(m, 0), o.bits(m, 1), o.bits(m, 2)
				for k := range 8 {
					if o.table>>k&1 != 0 {
						r |= (x ^ (uint32(k>>2&1) - 1)) & (y ^ (uint32(k>>1&1) - 1)) & (z ^ (uint32(k&1) - 1))
					}
				}
				return r
			}), nil
		}
	case "PRMT":
		if selector, ok := selectors[modifiers]; ok && len(o.sources) == 3 {
			return o.computed(func(m *machine) (r uint32) {
				bytes, c := uint64(o.bits(m, 2))<<32|uint64(o.bits(m, 0)), o.bits(m, 1)
				for k := range uint32(4) {
					s := selector(c, k)
					x := uint8(bytes >> (8 * (s & 7)))
					if s&8 != 0 {
						x = uint8(int8(x) >> 7)
					}
					r |= uint32(x) << (8 * k)
				}
				return r
			}), nil
		}
	case "IADD", "IADD3", "UIADD3":
		carries := slices.DeleteFunc(slices.Clone(o.set), func(n int) bool { return n%uniform == always })
		negative := slices.ContainsFunc(in.args, func(arg string) bool {
			return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "-0x")
		})
		if (want(3, "X") || want(2) && name == "IADD") &&
			(len(carries) == 0 || len(carries) == 1 && carries[0] == o.set[0] && !negative) {
			return o.sum(), nil
		}
		if (want(3, "64") || want(2, "64")) && len(carries) == 0 {
			return o.computed64(func(m *machine) (r uint64) {
				for i := range o.sources {
					r += o.pair(m, i)
				}
				return r
			}), nil
		}
	case "ISETP", "UISETP":
		if want(2, "EQ", "NE", "U32", "AND", "EX") && has("EQ") != has("NE") {
			return o.compare(has("EQ"), has("EX"), func(m *machine, i int) uint64 { return uint64(o.bits(m, i)) })
		}
		if want(2, "EQ", "NE", "U64", "AND") && has("EQ") != has("NE") {
			return o.compare(has("EQ"), false, o.pair)
		}
	case "SEL":
		if want(2, "64") && len(o.tests) == 1 {
			return func(m *machine) {
				i := 1
				if o.tests[0].holds(m) {
					i = 0
				}
				var w [2]uint32
				for k := range words {
					w[k] = o.sources[i](m, k).bits
				}
				for k := range words {
					o.write(m, k, word{bits: w[k]})
				}
			}, nil
		}
	}
	return nil, fmt.Errorf("its meaning is not in the table")
}

// selectors has a function for each mode of PRMT. It returns the number of the byte that
// becomes byte k, by the tables of PTX prmt. In the mode without a name, bit 3 asks for
// the sign of that byte.
var selectors = map[string]func(c, k uint32) uint32{
	"":     func(c, k uint32) uint32 { return c >> (4 * k) & 15 },
	"F4E":  func(c, k uint32) uint32 { return c&3 + k },
	"B4E":  func(c, k uint32) uint32 { return (c&3 - k) & 7 },
	"RC8":  func(c, k uint32) uint32 { return c & 3 },
	"ECL":  func(c, k uint32) uint32 { return max(c&3, k) },
	"ECR":  func(c, k uint32) uint32 { return min(c&3, k) },
	"RC16": func(c, k uint32) uint32 { return c&1*2 + k&1 },
}

// shift returns the step of a funnel shift of sources 2 and 0 by source 1.
func (o *operation) shift(right, signed, wide, high bool) step {
	most := uint32(32)
	if wide {
		most = 64
	}
	return o.computed(func(m *machine) uint32 {
		x, n := uint64(o.bits(m, 2))<<32|uint64(o.bits(m, 0)), min(o.bits(m, 1), most)
		switch {
		case right && signed:
			x = uint64(int64(x) >> n)
		case right:
			x >>= n
		default:
			x <<= n
		}
		if high {
			x >>= 32
		}
		return uint32(x)
	})
}

// sum returns the step that adds the sources and the predicates that it reads. It writes
// the carry to the first predicate.
func (o *operation) sum() step {
	return func(m *machine) {
		var sum uint64
		for i := range o.sources {
			sum += uint64(o.bits(m, i))
		}
		for _, t := range o.tests {
			if t.holds(m) {
				sum++
			}
		}
		o.write(m, 0, word{bits: uint32(sum)})
		o.writePredicate(m, 0, sum>>32 != 0)
	}
}

// compare returns the step of a comparison. With upper, it compares the upper words, and
// the last predicate has the result for the lower words.
func (o *operation) compare(equal, upper bool, read func(m *machine, i int) uint64) (step, error) {
	if len(o.set) != 2 || o.set[1]%uniform != always || len(o.tests) < 1 || upper != (len(o.tests) == 2) {
		return nil, fmt.Errorf("want predicates p, PT before the sources; after them one predicate, or two with .EX")
	}
	return func(m *machine) {
		same := read(m, 0) == read(m, 1)
		holds := same == equal
		if upper && same {
			holds = o.tests[1].holds(m)
		}
		o.writePredicate(m, 0, holds && o.tests[0].holds(m))
	}, nil
}

// compileStore returns the step of a store. The address must be the kernel's first
// parameter plus an offset.
func (in instruction) compileStore(words int) (step, error) {
	if len(in.args) != 2 {
		return nil, fmt.Errorf("want an address and a register")
	}
	a := addressPattern.FindStringSubmatch(in.args[0])
	value, err := operand(in.args[1])
	if a == nil || err != nil {
		return nil, fmt.Errorf("the address or the value is not supported")
	}
	address, _ := register(a[1])
	offset, _ := strconv.ParseInt(a[2], 0, 32)
	return func(m *machine) {
		if int(m.registers[address].bank) != m.base {
			m.fail("%v: the address is not the kernel's parameter", in)
		}
		s := store{offset: int(offset)}
		for k := range words {
			s.words = append(s.words, value(m, k))
		}
		m.stores = append(m.stores, s)
	}, nil
}

// compileHalves returns the step of HFMA2 r, -RZ, RZ, high, low. It moves two immediates
// of 16 bits, which the disassembly prints as floating-point numbers. The product is -0,
// and the sum of -0 and any number x is x. Processors turn every NaN into the NaN with all
// bits set but the sign, so compileHalves supports no other NaN.
func (in instruction) compileHalves() (step, error) {
	n, ok := register(in.args[0])
	if len(in.args) != 5 || !ok || in.args[1] != "-RZ" || in.args[2] != "RZ" {
		return nil, fmt.Errorf("its meaning is not in the table")
	}
	for k, text := range in.args[3:] {
		half := uint16(in.code >> (16 - 16*k))
		x, err := strconv.ParseFloat(text, 64)
		if text == "+QNAN" && half == 0x7fff {
			continue
		}
		if err != nil || x != halfValue(half) || math.Signbit(x) != (half>>15 != 0) {
			return nil, fmt.Errorf("%q is not the number that %#x encodes", text, in.code)
		}
	}
	return func(m *machine) { m.registers[n] = word{bits: in.code, moved: true} }, nil
}

// halfValue returns the value of a floating-point number of 16 bits.
func halfValue(half uint16) float64 {
	fraction, exponent := float64(half&0x3ff), int(half>>10&31)
	x := math.Ldexp(1024+fraction, exponent-25)
	switch exponent {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		x = math.Inf(1)
		if fraction != 0 {
			x = math.NaN()
		}
	}
	if half>>15 != 0 {
		x = -x
	}
	return x
}
