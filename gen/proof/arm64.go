package proof

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var arm64 = &arch{
	vector: "V",
	reserved: map[string]string{
		"R18": "it is the operating system's", "R26": "it is the closure's", "R27": "it is the assembler's",
		"R28": "it is the goroutine's", "R29": "it is the frame pointer", "R30": "it is the return address",
	},
}

func init() {
	for r := range 31 {
		arm64.general = append(arm64.general, fmt.Sprintf("R%d", r))
	}
	arm64.operand, arm64.decode = arm64Operand, arm64Decode
}

var (
	arm64General = regexp.MustCompile(`^R(\d+)(?:<<(\d+))?$`)
	arm64Vector  = regexp.MustCompile(`^([VF])(\d+)(?:\.([BHSD])(\d+)?(?:\[(\d+)\])?)?$`)
	arm64Memory  = regexp.MustCompile(`^(-?\d+)?\(R(\d+)\)$`)
	arm64List    = regexp.MustCompile(`^[(\[](.*)[)\]]$`)
	arm64Bits    = map[string]int{"B": 8, "H": 16, "S": 32, "D": 64}
)

func arm64Operand(s string) (operand, error) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // the patterns let only digits through
		return n
	}
	if m := arm64General.FindStringSubmatch(s); m != nil && number(m[1]) <= 30 {
		return operand{kind: isGeneral, reg: number(m[1]), shift: number(m[2])}, nil
	}
	if m := arm64Vector.FindStringSubmatch(s); m != nil && number(m[2]) <= 31 {
		o := operand{kind: isVector, reg: number(m[2]), lane: arm64Bits[m[3]], element: -1}
		o.size = o.lane / 8 * number(m[4])
		if m[5] != "" {
			o.element = number(m[5])
		}
		return o, nil
	}
	if m := arm64Memory.FindStringSubmatch(s); m != nil && number(m[2]) <= 30 {
		return operand{kind: isMemory, base: number(m[2]), index: -1, disp: int64(number(m[1]))}, nil
	}
	if m := arm64List.FindStringSubmatch(s); m != nil {
		o := operand{kind: isList}
		for _, part := range splitOperands(m[1]) {
			p, err := arm64Operand(part)
			if err != nil {
				return o, err
			}
			o.list = append(o.list, p)
		}
		return o, nil
	}
	if arm64Conditions[s] != nil {
		return operand{kind: isCondition, name: s}, nil
	}
	o, ok, err := parseCommon(s)
	if err == nil && !ok {
		err = fmt.Errorf("the proof does not know the operand %q", s)
	}
	return o, err
}

var arm64Conditions = map[string]condition{
	"EQ": isZero, "NE": opposite(isZero), "LT": isLess, "GE": opposite(isLess),
}

// arm64Shifted lists the instructions whose first operand may be a shifted register.
var arm64Shifted = []string{"ADD", "ADDS", "SUB", "SUBS", "CMP", "AND", "TST", "BIC"}

// arm64Decode finds the meaning of an instruction. If the mnemonic ends in .P, the base of the
// operand in memory moves on by the displacement after the access.
func arm64Decode(in *inst) error {
	if in.mnemonic == "WORD" {
		if len(in.operands) != 1 || in.operands[0].kind != isImmediate {
			return fmt.Errorf("%s, want a WORD and a number", in.text)
		}
		return arm64Word(in, uint32(in.operands[0].imm))
	}
	for i, o := range in.operands {
		if o.shift != 0 && (i > 0 || !slices.Contains(arm64Shifted, in.mnemonic)) {
			return fmt.Errorf("the proof does not know %q with a register shifted", in.text)
		}
	}
	name, post := strings.CutSuffix(in.mnemonic, ".P")
	in.run = arm64Table[name]
	if post && in.run != nil && len(in.operands) == 2 && in.operands[0].kind == isMemory {
		in.run = postIndexed(in.run, in.operands[0])
		in.post = in.operands[0].disp
		in.operands[0].disp = 0
		return nil
	}
	if in.run == nil || post {
		return fmt.Errorf("the proof does not know what %q computes", in.mnemonic)
	}
	return nil
}

func postIndexed(access meaning, memory operand) meaning {
	return func(m *machine, in *inst) error {
		base, err := m.readGeneral(memory.base, 64)
		if err != nil {
			return err
		}
		if err := access(m, in); err != nil {
			return err
		}
		base, err = m.addValues(base, value{t: m.constant(64, uint64(memory.disp))})
		if err != nil {
			return err
		}
		return m.writeGeneral(memory.base, base)
	}
}

// An encoding gives the bits that an instruction on two or three vectors has, whatever its
// registers and lanes.
type encoding struct {
	mask, bits uint32
	mnemonic   string
	sized      bool // bits 22 and 23 give the lanes' width; else they are part of the encoding
	unary      bool
}

// arm64Encodings has encodings of "Advanced SIMD three same" and "two-register miscellaneous"
// in the Arm Architecture Reference Manual. Bit 30 says that all of the register counts.
var arm64Encodings = []encoding{
	{0xbf20fc00, 0x2e204400, "VUSHL", true, false},
	{0xbf20fc00, 0x0e204400, "VSSHL", true, false},
	{0xbf20fc00, 0x2e202c00, "VUQSUB", true, false},
	{0xbf20fc00, 0x2e200c00, "VUQADD", true, false},
	{0xbf20fc00, 0x2e208400, "VSUB", true, false},
	{0xbfe0fc00, 0x0e601c00, "VBIC", false, false},
	{0xbfe0fc00, 0x0e201c00, "VAND", false, false},
	{0xbf3ffc00, 0x2e20b800, "VNEG", true, true},
}

// arm64Word decodes an instruction given as a number, by its bits.
func arm64Word(in *inst, word uint32) error {
	for _, e := range arm64Encodings {
		if word&e.mask != e.bits {
			continue
		}
		size := 8 << (word >> 30 & 1)
		lane := 8
		if e.sized {
			lane <<= word >> 22 & 3
		}
		if size == 8 && lane == 64 {
			break
		}
		register := func(at int) operand {
			return operand{kind: isVector, reg: int(word >> at & 31), lane: lane, size: size, element: -1}
		}
		in.mnemonic = e.mnemonic
		in.operands = []operand{register(16), register(5), register(0)}
		if e.unary {
			in.operands = in.operands[1:]
		}
		in.run = arm64Table[e.mnemonic]
		return nil
	}
	return fmt.Errorf("the proof does not know what WORD $0x%08x computes", word)
}

// arm64Scalar reads an operand of an instruction on general registers.
func (m *machine) arm64Scalar(o operand) (value, error) {
	switch o.kind {
	case isImmediate:
		return value{t: m.constant(64, o.imm)}, nil
	case isGeneral:
		v, err := m.readGeneral(o.reg, 64)
		if err != nil || o.shift == 0 {
			return v, err
		}
		n, err := m.number(v)
		if err != nil {
			return v, err
		}
		return value{t: m.shift(opShl, n, m.constant(64, uint64(o.shift)))}, nil
	}
	return value{}, errOperands
}

// arm64Move returns the meaning of a load that extends with zeros, of a move of a register or
// a constant, or of a store.
func arm64Move(bits int) meaning {
	return func(m *machine, in *inst) error {
		src, dst := in.operands[0], in.operands[1]
		var v value
		var err error
		switch src.kind {
		case isArgument:
			v, err = m.argument(src, bits)
		case isMemory:
			var at value
			if at, err = m.memory(src); err == nil {
				v, err = m.loadValue(at, bits)
			}
		default:
			v, err = m.arm64Scalar(src)
		}
		if err != nil {
			return err
		}
		if dst.kind == isMemory {
			at, err := m.memory(dst)
			if err != nil {
				return err
			}
			t, err := m.number(v)
			if err != nil {
				return err
			}
			return m.store(at, &vec{bits: bits, lanes: []*term{m.extract(t, 0, bits)}}, nil)
		}
		if v.region == nil {
			v = value{t: m.zext(m.extract(v.t, 0, bits), 64)}
		}
		return m.writeGeneral(dst.reg, v)
	}
}

// arm64Store returns the meaning of a store of the low bits of a register.
func arm64Store(bits int) meaning {
	move := arm64Move(bits)
	return func(m *machine, in *inst) error {
		if in.operands[1].kind != isMemory {
			return errOperands // loads extend the sign
		}
		return move(m, in)
	}
}

func arm64Unary(f func(s *terms, x *term) *term) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.readGeneral(in.operands[0].reg, 64)
		if err != nil {
			return err
		}
		x, err := m.number(v)
		if err != nil {
			return err
		}
		return m.writeGeneral(in.operands[1].reg, value{t: f(m.terms, x)})
	}
}

func reverse(s *terms, x *term) *term {
	var parts []*term
	for i := x.bits - 1; i >= 0; i-- {
		parts = append(parts, s.extract(x, i, 1))
	}
	return s.join(parts)
}

func leadingZeros(s *terms, x *term) *term {
	n := s.constant(x.bits, uint64(x.bits))
	for i := range x.bits {
		n = s.ite(s.extract(x, i, 1), s.constant(x.bits, uint64(x.bits-1-i)), n)
	}
	return n
}

// arm64Select selects the second operand if the condition holds, else the third.
func arm64Select(m *machine, in *inst) error {
	t := arm64Conditions[in.operands[0].name](m, m.flags)
	if t == nil {
		return errFlag
	}
	m.logCompared(m.flags)
	x, err := m.readGeneral(in.operands[1].reg, 64)
	if err != nil {
		return err
	}
	y, err := m.readGeneral(in.operands[2].reg, 64)
	if err != nil {
		return err
	}
	r, err := numbers(func(s *terms, x, y *term) *term { return s.ite(t, x, y) })(m, x, y)
	if err != nil {
		return err
	}
	return m.writeGeneral(in.operands[3].reg, r)
}

// testBit returns the meaning of a branch by one bit of a register.
func testBit(zero bool) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.readGeneral(in.operands[1].reg, 64)
		if err != nil {
			return err
		}
		x, err := m.number(v)
		if err != nil {
			return err
		}
		t := m.extract(x, int(in.operands[0].imm), 1)
		m.logCompared(flags{x: x})
		if zero {
			t = m.not(t)
		}
		return m.branch(t, in.target)
	}
}

// arm64Binary returns the meaning of an instruction that sets the last operand to x op y. y is
// the first operand, x the second. If set is not nil, it sets flags.
func arm64Binary(f func(m *machine, x, y value) (value, error), set func(m *machine, x, y, result value)) meaning {
	return func(m *machine, in *inst) error {
		ops := in.operands
		y, err := m.arm64Scalar(ops[0])
		if err != nil {
			return err
		}
		x, err := m.arm64Scalar(ops[1])
		if err != nil {
			return err
		}
		r, err := f(m, x, y)
		if err != nil {
			return err
		}
		if set != nil {
			set(m, x, y, r)
		}
		if in.mnemonic == "CMP" || in.mnemonic == "TST" {
			return nil
		}
		return m.writeGeneral(ops[len(ops)-1].reg, r)
	}
}

// branchZero returns the meaning of a branch if a register is zero, or if it is not.
func branchZero(zero bool) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.readGeneral(in.operands[0].reg, 64)
		if err != nil {
			return err
		}
		t := m.constant(1, 0) // an operand is not at address 0
		if v.region == nil {
			t = m.eq(v.t, m.constant(64, 0))
			m.logCompared(flags{x: v.t, y: m.constant(64, 0), zero: t, even: true})
		}
		if !zero {
			t = m.not(t)
		}
		return m.branch(t, in.target)
	}
}

// arm64Float returns the meaning of a move of a vector register's low bits from or to memory.
func arm64Float(bits int) meaning {
	return func(m *machine, in *inst) error {
		return m.arm64Registers(in.operands[0], in.operands[1], bits, 1)
	}
}

// arm64Pair returns the meaning of a move of two registers from or to memory.
func arm64Pair(bits int) meaning {
	return func(m *machine, in *inst) error {
		return m.arm64Registers(in.operands[0], in.operands[1], bits, 2)
	}
}

// arm64Single executes FMOVS: it moves 32 bits between a vector register and memory or a
// general register.
func arm64Single(m *machine, in *inst) error {
	src, dst := in.operands[0], in.operands[1]
	switch {
	case src.kind == isGeneral && dst.kind == isVector:
		v, err := m.readGeneral(src.reg, 32)
		if err != nil {
			return err
		}
		m.writeVector(dst.reg, m.scalarVec(v.t))
		return nil
	case src.kind == isVector && dst.kind == isGeneral:
		v, err := m.readVector(src.reg, 4, 32)
		if err != nil {
			return err
		}
		return m.writeGeneral(dst.reg, value{t: m.zext(v.lanes[0], 64)})
	}
	return m.arm64Registers(src, dst, 32, 1)
}

// arm64Replicate executes VLD1R: it loads a lane from memory into every lane.
func arm64Replicate(m *machine, in *inst) error {
	if in.operands[1].kind != isList || len(in.operands[1].list) != 1 {
		return errOperands
	}
	at, err := m.memory(in.operands[0])
	if err != nil {
		return err
	}
	dst := in.operands[1].list[0]
	v, err := m.load(at, dst.lane/8, dst.lane, nil)
	if err != nil {
		return err
	}
	r, err := m.result(in, nil, func() (*vec, error) {
		return &vec{bits: dst.lane, lanes: slices.Repeat(v.lanes, dst.size*8/dst.lane)}, nil
	}, v)
	if err != nil {
		return err
	}
	m.writeVector(dst.reg, r)
	return nil
}

// arm64Immediate executes VMOVI: it puts a byte into every byte.
func arm64Immediate(m *machine, in *inst) error {
	dst := in.operands[1]
	if in.operands[0].kind != isImmediate || dst.lane != 8 {
		return errOperands
	}
	r, err := m.result(in, nil, func() (*vec, error) {
		return &vec{bits: 8, lanes: slices.Repeat([]*term{m.constant(8, in.operands[0].imm)}, dst.size)}, nil
	})
	if err != nil {
		return err
	}
	m.writeVector(dst.reg, r)
	return nil
}

// lookUp executes VTBL: it takes the bytes of a table that the first source selects, or 0 past
// the table's end. The table is up to four registers in a row.
func lookUp(m *machine, in *inst) error {
	index, list, dst := in.operands[0], in.operands[1].list, in.operands[2]
	if len(list) < 1 || len(list) > 4 || dst.lane != 8 {
		return errOperands
	}
	at, err := m.readVector(index.reg, dst.size, 8)
	if err != nil {
		return err
	}
	sources := []*vec{at}
	var table []*term
	for i, o := range list {
		if o.reg != (list[0].reg+i)%32 || o.lane != 8 || o.size != 16 {
			return errOperands
		}
		v, err := m.readVector(o.reg, 16, 8)
		if err != nil {
			return err
		}
		sources, table = append(sources, v), append(table, v.lanes...)
	}
	r, err := m.result(in, nil, func() (*vec, error) {
		w, name := &vec{bits: 8}, tableName(table)
		for _, i := range at.lanes {
			w.lanes = append(w.lanes, m.lookedUp(table, name, i))
		}
		return w, nil
	}, sources...)
	if err != nil {
		return err
	}
	m.writeVector(dst.reg, r)
	return nil
}

// lookedUp returns the byte of a table at an index, or 0 past the table's end. If the index is
// unknown, the byte is a symbol, the same for the same index and table.
func (s *terms) lookedUp(table []*term, name string, index *term) *term {
	switch {
	case index.op != opConst:
		return s.symbol(8, name, int(index.id))
	case index.val < uint64(len(table)):
		return table[index.val]
	}
	return s.constant(8, 0)
}

// tableName returns a name that only tables of the same terms have.
func tableName(table []*term) string {
	name := []byte("table:")
	for _, t := range table {
		name = binary.LittleEndian.AppendUint32(name, t.id)
	}
	return string(name)
}

func (m *machine) arm64Registers(src, dst operand, bits, count int) error {
	mem, regs := src, dst
	storing := dst.kind == isMemory
	if storing {
		mem, regs = dst, src
	}
	list := regs.list
	if count == 1 {
		list = []operand{regs}
	}
	if mem.kind != isMemory || len(list) != count {
		return errOperands
	}
	at, err := m.memory(mem)
	if err != nil {
		return err
	}
	for i, o := range list {
		if o.kind != isVector || o.size != 0 {
			return errOperands
		}
		next := value{m.constant(64, at.t.val+uint64(i*bits/8)), at.region}
		if storing {
			v, err := m.readVector(o.reg, bits/8, 0)
			if err != nil {
				return err
			}
			if err := m.store(next, v, nil); err != nil {
				return err
			}
			continue
		}
		v, err := m.load(next, bits/8, 0, nil)
		if err != nil {
			return err
		}
		m.writeVector(o.reg, v)
	}
	return nil
}

// arm64Constant executes a move of constants to both halves of a vector.
func arm64Constant(m *machine, in *inst) error {
	low, high := in.operands[0], in.operands[1]
	if low.kind != isImmediate || high.kind != isImmediate {
		return errOperands
	}
	r, err := m.result(in, nil, func() (*vec, error) {
		return &vec{bits: 64, lanes: []*term{m.constant(64, low.imm), m.constant(64, high.imm)}}, nil
	})
	if err != nil {
		return err
	}
	m.writeVector(in.operands[2].reg, r)
	return nil
}

// arm64Duplicate puts a general register's low bits into every lane.
func arm64Duplicate(m *machine, in *inst) error {
	src, dst := in.operands[0], in.operands[1]
	if src.kind != isGeneral || dst.size == 0 {
		return errOperands
	}
	v, err := m.readGeneral(src.reg, 64)
	if err != nil {
		return err
	}
	t, err := m.number(v)
	if err != nil {
		return err
	}
	r, err := m.result(in, t, func() (*vec, error) {
		w := &vec{bits: dst.lane}
		for range dst.size * 8 / dst.lane {
			w.lanes = append(w.lanes, m.extract(t, 0, dst.lane))
		}
		return w, nil
	})
	if err != nil {
		return err
	}
	m.writeVector(dst.reg, r)
	return nil
}

// arm64Lanes returns the meaning of an instruction on vectors alone, after an immediate if it
// has one. f gets the sources in the order of the manual. If old is set, the destination is the
// last source.
func arm64Lanes(old bool, f func(m *machine, in *inst, sources []*vec) *vec) meaning {
	return func(m *machine, in *inst) error {
		ops := in.operands
		if ops[0].kind == isImmediate {
			ops = ops[1:]
		}
		dst := ops[len(ops)-1]
		same := len(ops) == 3 && ops[0].register(ops[1]) && in.clears()
		var sources []*vec
		for i := len(ops) - 2; i >= 0; i-- {
			if ops[i].kind != isVector || ops[i].lane != dst.lane || ops[i].size != dst.size || dst.size == 0 {
				return errOperands
			}
			if same {
				sources = append(sources, m.zeros(dst.size))
				continue
			}
			v, err := m.readVector(ops[i].reg, dst.size, 0)
			if err != nil {
				return err
			}
			sources = append(sources, v)
		}
		if old {
			v, err := m.readVector(dst.reg, dst.size, 0)
			if err != nil {
				return err
			}
			sources = append(sources, v)
		}
		r, err := m.result(in, nil, func() (*vec, error) { return f(m, in, sources), nil }, sources...)
		if err != nil {
			return err
		}
		m.writeVector(dst.reg, r)
		return nil
	}
}

// arm64Each makes a meaning from a function of a lane of each source.
func arm64Each(f func(s *terms, l []*term) *term) meaning {
	return arm64Lanes(false, func(m *machine, in *inst, sources []*vec) *vec {
		dst := in.operands[len(in.operands)-1]
		var views []*vec
		for _, v := range sources {
			views = append(views, m.view(v, dst.size, dst.lane))
		}
		return each(dst.lane, func(l []*term) *term { return f(m.terms, l) }, views...)
	})
}

func arm64Two(f func(s *terms, x, y *term) *term) meaning {
	return arm64Each(func(s *terms, l []*term) *term { return f(s, l[0], l[1]) })
}

// arm64Bitwise makes a meaning from a function that works bit by bit on the sources. If old is
// set, the destination is the last source.
func arm64Bitwise(old bool, f func(s *terms, l []*term) *term) meaning {
	return arm64Lanes(old, func(m *machine, _ *inst, sources []*vec) *vec {
		return m.bitwise(func(l []*term) *term { return f(m.terms, l) }, sources...)
	})
}

// insertWhere returns the bits of x at the mask's ones, and of old elsewhere.
func insertWhere(s *terms, mask, x, old *term) *term {
	return s.or(s.and(mask, x), s.and(s.not(mask), old))
}

// byRegister returns the meaning of USHL or SSHL. The count is the lane's low byte. If it is
// negative, the shift is to the right.
func byRegister(right op) meaning {
	return arm64Two(func(s *terms, x, n *term) *term {
		count := s.extract(n, 0, 8)
		negative := s.sub(s.constant(8, 0), count)
		return s.ite(s.slt(count, s.constant(8, 0)),
			s.shift(right, x, s.resize(negative, x.bits)),
			s.shift(opShl, x, s.resize(count, x.bits)))
	})
}

// zip returns the meaning of an instruction that interleaves the lower or the upper halves of
// two vectors.
func zip(upper bool) meaning {
	return arm64Lanes(false, func(m *machine, in *inst, v []*vec) *vec {
		dst := in.operands[2]
		x, y := m.view(v[0], dst.size, dst.lane), m.view(v[1], dst.size, dst.lane)
		half := len(x.lanes) / 2
		from := 0
		if upper {
			from = half
		}
		w := &vec{bits: dst.lane}
		for i := range half {
			w.lanes = append(w.lanes, x.lanes[from+i], y.lanes[from+i])
		}
		return w
	})
}

// unzip takes the even lanes of two vectors.
var unzip = arm64Lanes(false, func(m *machine, in *inst, v []*vec) *vec {
	dst := in.operands[2]
	w := &vec{bits: dst.lane}
	for _, x := range v {
		lanes := m.view(x, dst.size, dst.lane).lanes
		for i := 0; i < len(lanes); i += 2 {
			w.lanes = append(w.lanes, lanes[i])
		}
	}
	return w
})

// addPairs adds each even lane of two vectors to the odd lane after it.
var addPairs = arm64Lanes(false, func(m *machine, in *inst, v []*vec) *vec {
	dst := in.operands[2]
	w := &vec{bits: dst.lane}
	for _, x := range v {
		lanes := m.view(x, dst.size, dst.lane).lanes
		for i := 0; i < len(lanes); i += 2 {
			w.lanes = append(w.lanes, addApart(m.terms, lanes[i], lanes[i+1]))
		}
	}
	return w
})

// addApart returns x + y. If no bit can be set in both, the sum is their union.
func addApart(s *terms, x, y *term) *term {
	zero, union := s.constant(1, 0), slices.Clone(s.bitsOfTerm(x))
	for i, bit := range s.bitsOfTerm(y) {
		switch {
		case union[i] == zero:
			union[i] = bit
		case bit != zero:
			return s.add(x, y)
		}
	}
	return s.join(union)
}

func testBits(s *terms, x, y *term) *term {
	return s.not(truth(s, s.eq(s.and(x, y), s.constant(x.bits, 0)), x.bits))
}

// addSaturated returns x + y, or all ones if that does not fit.
func addSaturated(s *terms, x, y *term) *term {
	sum := s.add(x, y)
	return s.ite(s.ult(sum, x), s.constant(x.bits, ^uint64(0)), sum)
}

func negate(s *terms, x *term) *term { return s.sub(s.constant(x.bits, 0), x) }

// arm64Table has the instructions that the proof knows. Vector instructions have the names of
// Go's assembly, even if they are given as words.
var arm64Table = map[string]meaning{
	"RET": func(m *machine, _ *inst) error { m.ended = true; return nil },
	"B":   jump(always),
	"BEQ": jump(isZero), "BNE": jump(opposite(isZero)),
	"BLT": jump(isLess), "BGE": jump(opposite(isLess)),
	"BLE": jump(isNoMore),
	"CBZ": branchZero(true), "CBNZ": branchZero(false),

	"MOVD": arm64Move(64), "MOVWU": arm64Move(32), "MOVHU": arm64Move(16), "MOVBU": arm64Move(8),
	"MOVH": arm64Store(16), "MOVB": arm64Store(8),
	"CSEL": arm64Select, "TBZ": testBit(true), "TBNZ": testBit(false),
	"RBIT": arm64Unary(reverse), "CLZ": arm64Unary(leadingZeros), "NEG": arm64Unary(negate),
	"ADD": arm64Binary(addAny, nil), "ADDS": arm64Binary(addAny, setAdd),
	"SUB": arm64Binary(subAny, nil), "SUBS": arm64Binary(subAny, setSub), "CMP": arm64Binary(subAny, setSub),
	"AND": arm64Binary(numbers((*terms).and), nil), "TST": arm64Binary(numbers((*terms).and), setLogic),
	"BIC": arm64Binary(numbers(func(s *terms, x, y *term) *term { return s.and(x, s.not(y)) }), nil),
	"ROR": arm64Binary(numbers(func(s *terms, x, n *term) *term { return rotate(s, x, negate(s, n)) }), nil),
	"LSR": arm64Binary(numbers(func(s *terms, x, n *term) *term { return s.shift(opLshr, x, s.and(n, s.constant(64, 63))) }), nil),

	"FMOVS": arm64Single, "FMOVD": arm64Float(64), "FMOVQ": arm64Float(128),
	"FLDPQ": arm64Pair(128), "FSTPQ": arm64Pair(128),
	"VLD1R": arm64Replicate, "VMOVI": arm64Immediate, "VTBL": lookUp,
	"VMOV":  arm64Bitwise(false, func(_ *terms, l []*term) *term { return l[0] }),
	"VMOVQ": arm64Constant, "VDUP": arm64Duplicate,

	"VAND": arm64Bitwise(false, func(s *terms, l []*term) *term { return s.and(l[0], l[1]) }),
	"VORR": arm64Bitwise(false, func(s *terms, l []*term) *term { return s.or(l[0], l[1]) }),
	"VEOR": arm64Bitwise(false, func(s *terms, l []*term) *term { return s.xor(l[0], l[1]) }),
	"VBIC": arm64Bitwise(false, func(s *terms, l []*term) *term { return s.and(l[0], s.not(l[1])) }),
	"VBIT": arm64Bitwise(true, func(s *terms, l []*term) *term { return insertWhere(s, l[1], l[0], l[2]) }),
	"VBIF": arm64Bitwise(true, func(s *terms, l []*term) *term { return insertWhere(s, l[1], l[2], l[0]) }),

	"VUSHL": byRegister(opLshr), "VSSHL": byRegister(opAshr),
	"VADD": arm64Two((*terms).add), "VSUB": arm64Two((*terms).sub),
	"VUQSUB": arm64Two(subtractToZero), "VUQADD": arm64Two(addSaturated),
	"VUMIN":  arm64Two(least),
	"VUMAX":  arm64Two(func(s *terms, x, y *term) *term { return s.ite(s.ult(x, y), y, x) }),
	"VCMTST": arm64Two(testBits), "VCMEQ": arm64Two(equal),
	"VNEG": arm64Each(func(s *terms, l []*term) *term { return negate(s, l[0]) }),
	"VSHL": arm64Lanes(false, func(m *machine, in *inst, v []*vec) *vec {
		dst := in.operands[2]
		n := m.constant(dst.lane, in.operands[0].imm)
		return each(dst.lane, func(l []*term) *term { return m.shift(opShl, l[0], n) }, m.view(v[0], dst.size, dst.lane))
	}),
	"VZIP1": zip(false), "VZIP2": zip(true), "VUZP1": unzip, "VADDP": addPairs,
}
