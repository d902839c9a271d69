package proof

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A meaning executes an instruction. Meanings of vector instructions take the sources in the
// order of the processor's manual, which is the reverse of the text's.
type meaning func(*machine, *inst) error

// An arch is an architecture's registers and instructions.
type arch struct {
	general  []string          // the names of general registers
	vector   string            // the beginning of the names of vector registers
	reserved map[string]string // registers that must not be written, and why
	operand  func(string) (operand, error)
	decode   func(*inst) error // finds an instruction's meaning
}

var amd64 = &arch{
	general: strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15"),
	vector:  "X",
	reserved: map[string]string{
		"SP": "it is the stack pointer", "BP": "it is the caller's frame pointer",
		"R14": "it is the goroutine's", "R15": "it is the dynamic linker's",
	},
}

func init() {
	amd64.operand, amd64.decode = amd64Operand, amd64Decode
}

var (
	amd64Memory   = regexp.MustCompile(`^(-?\d+|-?0x[0-9a-f]+)?\((\w+)\)(?:\((\w+)\*(\d)\))?$`)
	amd64Register = regexp.MustCompile(`^([XYZ])(\d+)$`)
	amd64Mask     = regexp.MustCompile(`^K(\d)$`)
	amd64Low      = map[string]string{"AL": "AX", "BL": "BX", "CL": "CX", "DL": "DX", "SIB": "SI", "DIB": "DI"}
)

func amd64Operand(s string) (operand, error) {
	if m := amd64Register.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[2])
		if n == 15 {
			return operand{}, errors.New("uses X15: it is zero in compiled code")
		}
		return operand{kind: isVector, reg: n, size: map[string]int{"X": 16, "Y": 32, "Z": 64}[m[1]]}, err
	}
	if m := amd64Mask.FindStringSubmatch(s); m != nil {
		return operand{kind: isMask, reg: int(m[1][0] - '0')}, nil
	}
	if r := amd64General(s); r >= 0 {
		return operand{kind: isGeneral, reg: r}, nil
	}
	if r, ok := amd64Low[s]; ok {
		return operand{kind: isGeneral, reg: amd64General(r), size: 1}, nil
	}
	if m := amd64Memory.FindStringSubmatch(s); m != nil {
		o := operand{kind: isMemory, base: amd64General(m[2]), index: -1}
		if o.base < 0 {
			return o, fmt.Errorf("%s is no register", m[2])
		}
		if m[3] != "" {
			if o.index = amd64General(m[3]); o.index < 0 {
				return o, fmt.Errorf("%s is no register", m[3])
			}
			o.scale = uint64(m[4][0] - '0')
		}
		if m[1] != "" {
			var err error
			if o.disp, err = strconv.ParseInt(m[1], 0, 64); err != nil {
				return o, err
			}
		}
		return o, nil
	}
	o, ok, err := parseCommon(s)
	if err == nil && !ok {
		err = fmt.Errorf("the proof does not know the operand %q", s)
	}
	return o, err
}

func amd64General(name string) int {
	for i, n := range amd64.general {
		if n == name {
			return i
		}
	}
	return -1
}

// amd64Decode finds the meaning of an instruction. The meaning reads the suffix after a dot in
// the mnemonic.
func amd64Decode(in *inst) error {
	name, suffix, _ := strings.Cut(in.mnemonic, ".")
	if suffix != "" && suffix != "Z" {
		return fmt.Errorf("the proof does not know the suffix of %q", in.mnemonic)
	}
	if in.run = amd64Table[name]; in.run == nil {
		return fmt.Errorf("the proof does not know what %q computes", in.mnemonic)
	}
	for _, o := range in.operands {
		// The assembler would silently extend the sign of an immediate of 32 bits.
		if o.kind == isImmediate && name != "MOVQ" && strings.HasSuffix(name, "Q") && int64(o.imm) != int64(int32(o.imm)) {
			return fmt.Errorf("%s: the immediate has more than 31 bits and a sign", in.text)
		}
	}
	in.needs = amd64Needs(in, name)
	return nil
}

// amd64Features gives the feature of AVX-512 that an instruction belongs to. Other
// instructions belong to AVX, AVX2 or BMI2, unless their operands are of AVX-512.
var amd64Features = map[string]string{
	"VMOVDQA64": "F", "VMOVDQU32": "F", "VMOVDQU64": "F", "VPANDD": "F", "VPANDQ": "F", "VPANDND": "F", "VPANDNQ": "F", "VPORD": "F", "VPORQ": "F",
	"VPXORD": "F", "VPXORQ": "F", "VPTERNLOGD": "F", "VPTERNLOGQ": "F", "VPSRAVQ": "F", "VPROLVQ": "F", "KMOVW": "F",
	"VPMOVDB": "F", "VPMOVQB": "F", "VPMOVDW": "F", "VPMOVQW": "F", "VPMOVQD": "F",
	"VMOVDQU8": "BW", "VMOVDQU16": "BW", "VPMOVWB": "BW", "VPMOVB2M": "BW", "VPMOVW2M": "BW", "VPMOVM2B": "BW", "VPMOVM2W": "BW", "VPTESTMB": "BW", "KMOVD": "BW", "KMOVQ": "BW",
	"KANDQ": "BW", "KORQ": "BW", "KXORQ": "BW", "KNOTQ": "BW", "VPERMB": "VBMI", "VPMULTISHIFTQB": "VBMI",
	"KMOVB": "DQ", "VPMOVD2M": "DQ", "VPMOVQ2M": "DQ", "VPMOVM2D": "DQ", "VPMOVM2Q": "DQ",
}

// amd64Wide matches the instructions on bytes and on words of 16 bits. In registers of 512
// bits or under a mask, they belong to AVX-512BW, and all others to AVX-512F.
var amd64Wide = regexp.MustCompile(`^(VP(ADD|SUB|CMPEQ|CMPGT|BROADCAST)[BW]|VPMOV[SZ]XBW|VPSUBUSW|VPMULLW|VPSRLW|VPMINUB|VPSHUFB|VPACK\w+|VPEXTR[BW])$`)

// amd64BMI2 matches the instructions on general registers that belong to BMI2.
var amd64BMI2 = regexp.MustCompile(`^(BZHI|PEXT|PDEP|SHLX|SHRX)Q$`)

// amd64Needs returns the features of the processor that an instruction needs, named as by
// cpuid.
func amd64Needs(in *inst, name string) []string {
	feature, longest := amd64Features[name], 0
	wide := strings.HasSuffix(in.mnemonic, ".Z")
	for _, o := range in.operands {
		switch o.kind {
		case isMask:
			wide = true
		case isVector:
			wide = wide || o.size == 64 || o.reg > 15
			longest = max(longest, o.size)
		case isGeneral:
			wide = wide || strings.HasPrefix(name, "VPBROADCAST")
		}
	}
	switch {
	case amd64BMI2.MatchString(name):
		return []string{"BMI2"}
	case name[0] != 'V' && name[0] != 'K':
		return nil
	case feature == "" && !wide:
		return []string{"AVX", "AVX2"}
	case feature == "" && amd64Wide.MatchString(name):
		feature = "BW"
	case feature == "":
		feature = "F"
	}
	if longest == 16 || longest == 32 {
		return []string{"AVX512" + feature, "AVX512VL"}
	}
	return []string{"AVX512" + feature}
}

var errOperands = errors.New("the proof does not know it with such operands")

// Instructions on general registers.

// scalar reads an operand of an instruction on general registers.
func (m *machine) scalar(o operand, bits int) (value, error) {
	switch o.kind {
	case isImmediate:
		return value{t: m.constant(bits, o.imm)}, nil
	case isGeneral:
		return m.readGeneral(o.reg, bits)
	case isArgument:
		return m.argument(o, bits)
	case isMemory, isStatic:
		at, err := m.memory(o)
		if err != nil {
			return value{}, err
		}
		return m.loadValue(at, bits)
	}
	return value{}, errOperands
}

// setScalar writes an operand of an instruction on general registers. Writing 32 bits of a
// register clears its upper half. Writing fewer leaves the bits above them undefined.
func (m *machine) setScalar(o operand, v value, bits int) error {
	switch o.kind {
	case isGeneral:
		if bits == 32 {
			v = value{t: m.zext(v.t, 64)}
		}
		return m.writeGeneral(o.reg, v)
	case isMemory:
		at, err := m.memory(o)
		if err != nil {
			return err
		}
		if v.region != nil {
			r, offset, err := m.within(at, 8)
			if err != nil || !r.scratch {
				return errors.Join(err, fmt.Errorf("stores an address"))
			}
			r.pointers[offset] = v
			return nil
		}
		return m.store(at, &vec{bits: bits, lanes: []*term{v.t}}, nil)
	}
	return errOperands
}

// amd64Move returns the meaning of a move. extend, if not nil, extends the value.
func amd64Move(from, to int, extend func(*terms, *term, int) *term) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.scalar(in.operands[0], from)
		if err != nil {
			return err
		}
		if extend != nil {
			v = value{t: extend(m.terms, v.t, to)}
		}
		return m.setScalar(in.operands[1], v, to)
	}
}

// amd64Binary returns the meaning of dst = dst op src, with the flags of op.
func amd64Binary(bits int, f func(m *machine, dst, src value) (value, error), set flagSetter) meaning {
	return func(m *machine, in *inst) error {
		src, dst := in.operands[0], in.operands[len(in.operands)-1]
		var x, y value
		var err error
		if src.register(dst) && in.clears() {
			x = value{t: m.constant(bits, 0)}
			y = x
		} else {
			if y, err = m.scalar(src, bits); err != nil {
				return err
			}
			if x, err = m.scalar(dst, bits); err != nil {
				return err
			}
		}
		r, err := f(m, x, y)
		if err != nil {
			return err
		}
		if set != nil {
			set(m, x, y, r)
		}
		return m.setScalar(dst, r, bits)
	}
}

// clears reports whether an instruction on a register and itself gives zeros or ones,
// whatever the register holds.
func (in *inst) clears() bool {
	for _, name := range []string{"XOR", "KXOR", "VPXOR", "VPCMPEQ", "VEOR", "EOR"} {
		if strings.HasPrefix(in.mnemonic, name) {
			return true
		}
	}
	return false
}

func amd64Unary(bits int, f func(s *terms, x *term) *term, set flagSetter) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.scalar(in.operands[0], bits)
		if err != nil {
			return err
		}
		x, err := m.number(v)
		if err != nil {
			return err
		}
		r := value{t: f(m.terms, x)}
		if set != nil {
			set(m, value{t: x}, value{}, r)
		}
		return m.setScalar(in.operands[0], r, bits)
	}
}

// numbers makes a function on values from a function on numbers.
func numbers(f func(s *terms, x, y *term) *term) func(m *machine, x, y value) (value, error) {
	return func(m *machine, x, y value) (value, error) {
		a, err := m.number(x)
		if err != nil {
			return value{}, err
		}
		b, err := m.number(y)
		if err != nil {
			return value{}, err
		}
		return value{t: f(m.terms, a, b)}, nil
	}
}

// A flagSetter sets the flags of an operation on two numbers.
type flagSetter func(m *machine, x, y, result value)

// setLogic sets the flags of a result that neither borrows nor overflows.
func setLogic(m *machine, _, _, r value) {
	m.flags = flags{below: m.constant(1, 0)}
	if r.region == nil {
		zero := m.constant(r.t.bits, 0)
		m.flags.zero, m.flags.less = m.eq(r.t, zero), m.slt(r.t, zero)
		m.flags.x, m.flags.y = r.t, zero
	}
}

// setAdd sets the flags of a sum that follow from the result alone.
func setAdd(m *machine, _, _, r value) {
	setLogic(m, value{}, value{}, r)
	m.flags.below, m.flags.less, m.flags.even = nil, nil, true
}

// setSub sets the flags of x - y, which compare the two.
func setSub(m *machine, x, y, r value) {
	switch {
	case x.region != y.region:
		m.flags = flags{}
		if r.region == nil {
			m.flags.zero = m.eq(r.t, m.constant(r.t.bits, 0))
		}
	case x.region == nil:
		m.flags = flags{zero: m.eq(x.t, y.t), below: m.ult(x.t, y.t), less: m.slt(x.t, y.t), x: x.t, y: y.t, even: true}
	default:
		// Offsets are signed, because addresses before the operand are below it. less is
		// undefined, because the sign of an address is not known.
		m.flags = flags{zero: m.eq(x.t, y.t), below: m.slt(x.t, y.t), x: x.t, y: y.t, even: true}
	}
}

func addAny(m *machine, x, y value) (value, error) {
	if x.t.bits < 64 {
		return numbers((*terms).add)(m, x, y)
	}
	return m.addValues(x, y)
}

func subAny(m *machine, x, y value) (value, error) {
	if x.t.bits < 64 {
		return numbers((*terms).sub)(m, x, y)
	}
	return m.subValues(x, y)
}

// amd64Compare returns the meaning of a comparison, which sets flags only.
func amd64Compare(bits int, test bool) meaning {
	return func(m *machine, in *inst) error {
		x, err := m.scalar(in.operands[0], bits)
		if err != nil {
			return err
		}
		y, err := m.scalar(in.operands[1], bits)
		if err != nil {
			return err
		}
		if test && x == y && x.region != nil {
			// An operand is not at address 0.
			m.flags = flags{zero: m.constant(1, 0)}
			return nil
		}
		f, set := (*machine).subValues, setSub
		if test {
			f, set = numbers((*terms).and), setLogic
		}
		r, err := f(m, x, y)
		if err == nil {
			set(m, x, y, r)
		}
		return err
	}
}

// amd64Shift returns the meaning of a shift by an immediate.
func amd64Shift(bits int, o op) meaning {
	return func(m *machine, in *inst) error {
		if in.operands[0].kind != isImmediate || in.operands[0].imm == 0 || in.operands[0].imm >= uint64(bits) {
			return fmt.Errorf("shift by something else than 1 to %d", bits-1)
		}
		n := in.operands[0].imm
		x, err := m.scalar(in.operands[1], bits)
		if err != nil {
			return err
		}
		t, err := m.number(x)
		if err != nil {
			return err
		}
		r := value{t: m.shift(o, t, m.constant(bits, n))}
		setLogic(m, value{}, value{}, r)
		m.flags.below, m.flags.less = nil, nil
		return m.setScalar(in.operands[1], r, bits)
	}
}

// amd64Rotate executes a rotation to the right by the count in CL.
func amd64Rotate(m *machine, in *inst) error {
	count, err := m.scalar(in.operands[0], 8)
	if err != nil {
		return err
	}
	x, err := m.scalar(in.operands[1], 64)
	if err != nil {
		return err
	}
	r, err := numbers(func(s *terms, x, n *term) *term { return rotate(s, x, negate(s, s.zext(n, 64))) })(m, x, count)
	if err != nil {
		return err
	}
	m.flags = flags{}
	return m.setScalar(in.operands[1], r, 64)
}

// amd64Keep returns the meaning of BZHI. It keeps as many low bits of the source as the first
// operand's low byte says.
func amd64Keep(bits int) meaning {
	return func(m *machine, in *inst) error {
		count, err := m.scalar(in.operands[0], bits)
		if err != nil {
			return err
		}
		n, err := known(count)
		if err != nil {
			return err
		}
		x, err := m.scalar(in.operands[1], bits)
		if err != nil {
			return err
		}
		t, err := m.number(x)
		if err != nil {
			return err
		}
		n &= 0xff
		if n < uint64(bits) {
			t = m.and(t, m.constant(bits, 1<<n-1))
		}
		r := value{t: t}
		setLogic(m, value{}, value{}, r)
		m.flags.below = nil
		return m.setScalar(in.operands[2], r, bits)
	}
}

// highestBit executes BSR: it finds the highest bit of a number that must be known and not 0.
func highestBit(m *machine, in *inst) error {
	x, err := m.scalar(in.operands[0], 64)
	if err != nil {
		return err
	}
	n, err := known(x)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("there is no highest bit of 0")
	}
	m.flags = flags{}
	return m.setScalar(in.operands[1], value{t: m.constant(64, uint64(bits.Len64(n)-1))}, 64)
}

func amd64Address(m *machine, in *inst) error {
	at, err := m.memory(in.operands[0])
	if err != nil {
		return err
	}
	return m.setScalar(in.operands[1], at, 64)
}

// A condition is one bit made of flags.
type condition func(m *machine, f flags) *term

func always(m *machine, _ flags) *term  { return m.constant(1, 1) }
func isZero(_ *machine, f flags) *term  { return f.zero }
func isBelow(_ *machine, f flags) *term { return f.below }
func isLess(_ *machine, f flags) *term  { return f.less }

func isAtMost(m *machine, f flags) *term { return either(m, f.below, f.zero) }
func isNoMore(m *machine, f flags) *term { return either(m, f.less, f.zero) }

func either(m *machine, x, y *term) *term {
	if x == nil || y == nil {
		return nil
	}
	return m.or(x, y)
}

func opposite(c condition) condition {
	return func(m *machine, f flags) *term {
		if t := c(m, f); t != nil {
			return m.not(t)
		}
		return nil
	}
}

// jump returns the meaning of a jump on a condition.
func jump(c condition) meaning {
	return func(m *machine, in *inst) error {
		t := c(m, m.flags)
		if t == nil {
			return errFlag
		}
		m.logCompared(m.flags)
		return m.branch(t, in.target)
	}
}

var errFlag = errors.New("depends on a flag that is undefined")

// branch goes on at the target if decide says that a bit is 1.
func (m *machine) branch(t *term, target int) error {
	taken, err := m.decide(t)
	to := goesOn
	if taken {
		m.next, to = target, jumps
	}
	if err == nil && m.ways[m.pc]&to == 0 {
		m.ways[m.pc] |= to
		m.news++
	}
	return err
}

// amd64Choose returns the meaning of a move on a condition.
func amd64Choose(c condition) meaning {
	return func(m *machine, in *inst) error {
		t := c(m, m.flags)
		if t == nil {
			return errFlag
		}
		m.logCompared(m.flags)
		v, err := m.scalar(in.operands[0], 64)
		if err != nil {
			return err
		}
		old, err := m.scalar(in.operands[1], 64)
		if err != nil {
			return err
		}
		r, err := numbers(func(s *terms, x, y *term) *term { return s.ite(t, x, y) })(m, v, old)
		if err != nil {
			return err
		}
		return m.setScalar(in.operands[1], r, 64)
	}
}

func amd64Return(m *machine, _ *inst) error {
	switch {
	case m.dirty:
		return fmt.Errorf("no VZEROUPPER since a vector register was written")
	case m.streamed:
		return fmt.Errorf("no SFENCE since stores bypassed the cache")
	}
	m.ended = true
	return nil
}

func zeroUpper(m *machine, _ *inst) error {
	for r := range 16 {
		if m.vectors[r] != nil {
			m.vectors[r] = m.view(m.vectors[r], 16, 0)
		}
		if s := m.shades[r]; s.id != 0 {
			p, of, err := m.stampOf(m.pc*4, []source{{partShade, s.id, s.lane, s.lies}})
			if err != nil {
				return err
			}
			m.shades[r] = shade{m.idOf(p), of.lane, of.lies}
		}
	}
	m.dirty = false
	return nil
}

// Vector registers.

// A vectorForm holds the operands of a vector instruction.
type vectorForm struct {
	dst     operand
	mask    *term // nil if there is none
	sources []operand
	imm     uint64
}

func (m *machine) form(in *inst) (vectorForm, error) {
	ops := in.operands
	var f vectorForm
	if len(ops) > 0 && ops[0].kind == isImmediate {
		f.imm, ops = ops[0].imm, ops[1:]
	}
	if len(ops) < 2 {
		return f, fmt.Errorf("%d operands, want at least two", len(in.operands))
	}
	f.dst, ops = ops[len(ops)-1], ops[:len(ops)-1]
	if last := ops[len(ops)-1]; last.kind == isMask && len(ops) > 1 {
		if f.mask = m.masks[last.reg]; f.mask == nil {
			return f, fmt.Errorf("mask K%d is undefined", last.reg)
		}
		ops = ops[:len(ops)-1]
	}
	for i := len(ops) - 1; i >= 0; i-- {
		f.sources = append(f.sources, ops[i])
	}
	return f, nil
}

// source reads size bytes of a vector operand, as lanes of the given width. If there is a
// mask, it reads lanes of memory only at the mask's ones.
func (m *machine) source(o operand, size, bits int, mask *term) (*vec, error) {
	switch o.kind {
	case isVector:
		return m.readVector(o.reg, size, bits)
	case isMemory, isStatic:
		at, err := m.memory(o)
		if err != nil {
			return nil, err
		}
		if mask == nil && at.region != nil && at.region.bits >= 8 {
			// Load the region's own lanes. Most instructions work on these.
			v, err := m.load(at, size, 0, nil)
			if err != nil {
				return nil, err
			}
			return m.view(v, size, bits), nil
		}
		return m.load(at, size, bits, mask)
	case isGeneral, isArgument:
		v, err := m.scalar(o, size*8)
		if err != nil {
			return nil, err
		}
		if v.region != nil {
			return nil, fmt.Errorf("an address in a vector")
		}
		return m.scalarVec(v.t), nil
	}
	return nil, errOperands
}

// scalarVec returns a vector of one lane, the same for the same term.
func (m *machine) scalarVec(t *term) *vec {
	key := loadKey{bits: t.bits, mask: t}
	if m.loads[key] == nil {
		m.loads[key] = &vec{bits: t.bits, lanes: []*term{t}}
	}
	return m.loads[key]
}

// masked returns v. If a lane's bit in the mask is 0, the lane comes from old instead, the
// destination before the instruction. If old is nil, the lane is 0.
func (m *machine) masked(in *inst, v, old *vec, mask *term) *vec {
	w := &vec{bits: v.bits}
	for i, t := range v.lanes {
		rest := m.constant(v.bits, 0)
		if old != nil {
			rest = old.lanes[i]
		}
		w.lanes = append(w.lanes, m.ite(m.extract(mask, i, 1), t, rest))
	}
	return w
}

// amd64Vector returns the meaning of an instruction whose destination is a vector register.
// A mask's bits select lanes, each as wide as bits says. f computes the result from the sources,
// whose lanes have width bits. If width is 0, sources keep their lanes.
func amd64Vector(bits, width int, f func(m *machine, imm uint64, sources []*vec) *vec) meaning {
	return func(m *machine, in *inst) error {
		form, err := m.form(in)
		if err != nil {
			return err
		}
		if form.dst.kind != isVector {
			return errOperands
		}
		size, width := form.dst.size, width
		if form.mask != nil {
			width = bits
		}
		overwrites := strings.HasPrefix(in.mnemonic, "VPTERNLOG")
		operands := form.sources
		if overwrites {
			operands = append([]operand{form.dst}, operands...)
		}
		var sources []*vec
		same := len(operands) > 1
		for _, o := range operands {
			same = same && o.register(operands[0])
		}
		if same && (in.clears() || overwrites && (form.imm == 0 || form.imm == 0xff)) {
			for range operands {
				sources = append(sources, m.view(m.zeros(size), size, width))
			}
		} else {
			for _, o := range operands {
				v, err := m.source(o, size, width, form.mask)
				if err != nil {
					return err
				}
				sources = append(sources, v)
			}
		}
		keys := sources
		var old *vec
		if form.mask != nil && !strings.HasSuffix(in.mnemonic, ".Z") {
			if old, err = m.readVector(form.dst.reg, size, bits); err != nil {
				return err
			}
			if !overwrites {
				keys = append(keys, old)
			}
		}
		v, err := m.result(in, form.mask, func() (*vec, error) {
			v := f(m, form.imm, sources)
			if v == nil {
				return nil, errOperands
			}
			if form.mask != nil {
				v = m.masked(in, m.view(v, size, bits), old, form.mask)
			}
			return v, nil
		}, keys...)
		if err != nil {
			return err
		}
		m.writeVector(form.dst.reg, v)
		return nil
	}
}

// lanes2 makes a meaning from a function of two lanes.
func lanes2(bits int, f func(s *terms, x, y *term) *term) meaning {
	return amd64Vector(bits, bits, func(m *machine, _ uint64, v []*vec) *vec {
		return each(bits, func(l []*term) *term { return f(m.terms, l[0], l[1]) }, v...)
	})
}

// bitwise makes a meaning from a function that works bit by bit.
func bitwise(bits int, f func(s *terms, x, y *term) *term) meaning {
	return amd64Vector(bits, 0, func(m *machine, _ uint64, v []*vec) *vec {
		return m.bitwise(func(l []*term) *term { return f(m.terms, l[0], l[1]) }, v...)
	})
}

// bitwise applies a function that works bit by bit. It uses the narrowest lanes of the
// sources.
func (m *machine) bitwise(f func(l []*term) *term, v ...*vec) *vec {
	bits, size := 64, 0
	for _, x := range v {
		bits, size = min(bits, x.bits), x.size()
	}
	var views []*vec
	for _, x := range v {
		views = append(views, m.view(x, size, bits))
	}
	return each(bits, f, views...)
}

func andNot(s *terms, x, y *term) *term { return s.and(s.not(x), y) }

func shifts(o op) func(s *terms, x, y *term) *term {
	return func(s *terms, x, y *term) *term { return s.shift(o, x, y) }
}

func least(s *terms, x, y *term) *term { return s.ite(s.ult(x, y), x, y) }

// subtractToZero returns x - y, or 0 if that is negative.
func subtractToZero(s *terms, x, y *term) *term {
	return s.ite(s.ult(x, y), s.constant(x.bits, 0), s.sub(x, y))
}

// truth returns a lane of ones if c is 1, else of zeros.
func truth(s *terms, c *term, bits int) *term {
	return s.ite(c, s.constant(bits, ^uint64(0)), s.constant(bits, 0))
}

func equal(s *terms, x, y *term) *term   { return truth(s, s.eq(x, y), x.bits) }
func greater(s *terms, x, y *term) *term { return truth(s, s.slt(y, x), x.bits) }

// ternary returns the meaning of VPTERNLOG. If the sources' bits make the number i, the result
// is bit i of imm.
func ternary(bits int) meaning {
	return amd64Vector(bits, 0, func(m *machine, imm uint64, v []*vec) *vec {
		return m.bitwise(func(l []*term) *term {
			// chosen returns the result for a part of imm, chosen by the sources from i on.
			var chosen func(i int, table uint64, rows int) *term
			chosen = func(i int, table uint64, rows int) *term {
				bits := l[0].bits
				if table == 0 {
					return m.constant(bits, 0)
				}
				if table == 1<<rows-1 {
					return m.constant(bits, ^uint64(0))
				}
				low, high := table&(1<<(rows/2)-1), table>>(rows/2)
				zero, one := chosen(i+1, low, rows/2), chosen(i+1, high, rows/2)
				switch {
				case zero == one:
					return zero
				case one.is(ones(bits)):
					return m.or(l[i], zero) // so a long chain does not double at each step
				}
				return m.or(m.and(l[i], one), m.and(m.not(l[i]), zero))
			}
			return chosen(0, imm, 8)
		}, v...)
	})
}

// copyVector returns the meaning of a move of whole vectors between registers and memory. bits
// is the width of a mask's lanes.
func copyVector(bits int) meaning {
	load := amd64Vector(bits, 0, func(_ *machine, _ uint64, v []*vec) *vec { return v[0] })
	return func(m *machine, in *inst) error {
		if in.operands[len(in.operands)-1].kind == isVector {
			return load(m, in)
		}
		return m.storeVector(in, bits)
	}
}

// betweenRegisters returns a move for registers only. In memory, it would need alignment.
func betweenRegisters(move meaning) meaning {
	return func(m *machine, in *inst) error {
		if in.operands[0].kind != isVector || in.operands[1].kind != isVector {
			return errOperands
		}
		return move(m, in)
	}
}

func (m *machine) storeVector(in *inst, bits int) error {
	form, err := m.form(in)
	if err != nil {
		return err
	}
	if form.sources[0].kind != isVector {
		return errOperands
	}
	if form.mask == nil {
		bits = 0
	}
	v, err := m.readVector(form.sources[0].reg, form.sources[0].size, bits)
	if err != nil {
		return err
	}
	at, err := m.memory(form.dst)
	if err != nil {
		return err
	}
	return m.store(at, v, form.mask)
}

// amd64Stream executes a store that bypasses the cache.
func amd64Stream(m *machine, in *inst) error {
	at, err := m.memory(in.operands[1])
	if err != nil {
		return err
	}
	if err := m.aligned(at, in.operands[0].size); err != nil {
		return err
	}
	m.streamed = true
	return m.storeVector(in, 0)
}

// aligned fails unless an address is a multiple of a vector's size.
func (m *machine) aligned(at value, size int) error {
	n, err := m.number(at)
	if err != nil {
		return err
	}
	if low := m.extract(n, 0, bits.TrailingZeros(uint(size))); !low.is(0) {
		return fmt.Errorf("to an address that is no multiple of %d", size)
	}
	return nil
}

// lowMove returns the meaning of a move of the lowest bits between a vector register and
// another operand.
func lowMove(bits int) meaning {
	return func(m *machine, in *inst) error {
		src, dst := in.operands[0], in.operands[1]
		v, err := m.source(src, bits/8, bits, nil)
		if err != nil {
			return err
		}
		if dst.kind == isVector {
			m.writeVector(dst.reg, v)
			return nil
		}
		return m.setScalar(dst, value{t: v.lanes[0]}, bits)
	}
}

// broadcast returns the meaning of an instruction that repeats the lowest lane of the source.
func broadcast(bits int) meaning {
	return func(m *machine, in *inst) error {
		form, err := m.form(in)
		if err != nil {
			return err
		}
		if form.mask != nil {
			return errOperands
		}
		v, err := m.source(form.sources[0], bits/8, bits, nil)
		if err != nil {
			return err
		}
		r, err := m.result(in, nil, func() (*vec, error) {
			w := &vec{bits: bits}
			for range form.dst.size * 8 / bits {
				w.lanes = append(w.lanes, v.lanes[0])
			}
			return w, nil
		}, v)
		if err != nil {
			return err
		}
		m.writeVector(form.dst.reg, r)
		return nil
	}
}

// widen returns the meaning of an instruction that extends the low lanes of the source.
func widen(from, to int, extend func(*terms, *term, int) *term) meaning {
	return func(m *machine, in *inst) error {
		form, err := m.form(in)
		if err != nil {
			return err
		}
		if form.mask != nil {
			return errOperands
		}
		v, err := m.source(form.sources[0], form.dst.size*from/to, from, nil)
		if err != nil {
			return err
		}
		r, err := m.result(in, nil, func() (*vec, error) {
			return each(to, func(l []*term) *term { return extend(m.terms, l[0], to) }, v), nil
		}, v)
		if err != nil {
			return err
		}
		m.writeVector(form.dst.reg, r)
		return nil
	}
}

// blend returns the meaning of an instruction that takes lanes of two sources. The third is a
// mask. If the highest bit of its lane is set, the second source's lane is taken.
func blend(bits int) meaning {
	return func(m *machine, in *inst) error {
		mask, second, first, dst := in.operands[0], in.operands[1], in.operands[2], in.operands[3]
		var sources []*vec
		for _, o := range []operand{first, second, mask} {
			v, err := m.source(o, dst.size, bits, nil)
			if err != nil {
				return err
			}
			sources = append(sources, v)
		}
		r, err := m.result(in, nil, func() (*vec, error) {
			return each(bits, func(l []*term) *term {
				return m.ite(m.extract(l[2], bits-1, 1), l[1], l[0])
			}, sources...), nil
		}, sources...)
		if err != nil {
			return err
		}
		m.writeVector(dst.reg, r)
		return nil
	}
}

// maskMove returns the meaning of a move of low bits to or from a mask register.
func maskMove(bits int) meaning {
	return func(m *machine, in *inst) error {
		src, dst := in.operands[0], in.operands[1]
		if src.kind == isMask {
			if m.masks[src.reg] == nil {
				return errMask(src)
			}
			return m.setScalar(dst, value{t: m.extract(m.masks[src.reg], 0, bits)}, bits)
		}
		if dst.kind != isMask {
			return errOperands
		}
		from := bits
		if src.kind == isGeneral {
			from = max(bits, 32) // the instruction names a register of 32 bits
		}
		v, err := m.scalar(src, from)
		if err != nil {
			return err
		}
		t, err := m.number(v)
		if err != nil {
			return err
		}
		m.masks[dst.reg] = m.zext(m.extract(t, 0, bits), 64)
		return nil
	}
}

func errMask(o operand) error { return fmt.Errorf("mask K%d is undefined", o.reg) }

// onMasks returns the meaning of a logic instruction on mask registers of 64 bits.
func onMasks(f func(s *terms, x, y *term) *term) meaning {
	return func(m *machine, in *inst) error {
		ops := in.operands
		dst := ops[len(ops)-1]
		var sources [2]*term
		for i, o := range ops[:len(ops)-1] {
			if o.kind != isMask {
				return errOperands
			}
			sources[i] = m.masks[o.reg]
			if in.clears() && ops[0].reg == ops[1].reg {
				sources[i] = m.constant(64, 0)
			}
			if sources[i] == nil {
				return errMask(o)
			}
		}
		m.masks[dst.reg] = f(m.terms, sources[0], sources[1])
		return nil
	}
}

// signsToMask returns the meaning of a move of each lane's highest bit to a mask register.
func signsToMask(bits int) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.readVector(in.operands[0].reg, in.operands[0].size, bits)
		if err != nil {
			return err
		}
		m.masks[in.operands[1].reg] = m.zext(m.signs(v), 64)
		return nil
	}
}

// signs returns the highest bit of each lane.
func (m *machine) signs(v *vec) *term {
	if m.signBits[v] == nil {
		var parts []*term
		for _, l := range v.lanes {
			parts = append(parts, m.extract(l, v.bits-1, 1))
		}
		m.signBits[v] = m.join(parts)
	}
	return m.signBits[v]
}

// maskToSigns returns the meaning of an instruction that makes lanes of ones and zeros from a
// mask.
func maskToSigns(bits int) meaning {
	return func(m *machine, in *inst) error {
		mask := m.masks[in.operands[0].reg]
		if mask == nil {
			return fmt.Errorf("mask K%d is undefined", in.operands[0].reg)
		}
		dst := in.operands[1]
		r, err := m.result(in, mask, func() (*vec, error) {
			v := &vec{bits: bits}
			for lane := range dst.size * 8 / bits {
				v.lanes = append(v.lanes, truth(m.terms, m.extract(mask, lane, 1), bits))
			}
			return v, nil
		})
		if err != nil {
			return err
		}
		m.writeVector(dst.reg, r)
		return nil
	}
}

// narrow returns the meaning of an instruction that keeps the low bits of each lane.
func narrow(from, to int) meaning {
	return func(m *machine, in *inst) error {
		src, dst := in.operands[0], in.operands[1]
		if len(in.operands) != 2 || src.kind != isVector || dst.kind != isVector {
			return errOperands
		}
		v, err := m.readVector(src.reg, src.size, from)
		if err != nil {
			return err
		}
		r, err := m.result(in, nil, func() (*vec, error) {
			w := each(to, func(l []*term) *term { return m.extract(l[0], 0, to) }, v)
			return m.view(w, max(w.size(), 16), to), nil
		}, v)
		if err != nil {
			return err
		}
		m.writeVector(dst.reg, r)
		return nil
	}
}

// rotate returns x rotated left by the low bits of n.
func rotate(s *terms, x, n *term) *term {
	left := s.and(n, s.constant(n.bits, uint64(n.bits-1)))
	right := s.and(negate(s, n), s.constant(n.bits, uint64(n.bits-1)))
	return s.or(s.shift(opShl, x, left), s.shift(opLshr, x, right))
}

// shuffleBytes computes VPSHUFB: in each 16 bytes, the bytes that the second source selects.
// If the highest bit of a selector is set, the byte is 0.
func shuffleBytes(m *machine, _ uint64, v []*vec) *vec {
	w := &vec{bits: 8}
	for i, control := range v[1].lanes {
		index, part := m.extract(control, 0, 4), v[0].lanes[i&^15:][:16]
		t := part[0]
		for k, b := range part {
			t = m.ite(m.eq(index, m.constant(4, uint64(k))), b, t)
		}
		w.lanes = append(w.lanes, m.ite(m.extract(control, 7, 1), m.constant(8, 0), t))
	}
	return w
}

// pack returns the meaning of an instruction that halves the width of two vectors' lanes. Of
// each 16 bytes, the first vector's lanes come first. A lane, as a signed number, that does not
// fit becomes the least or the greatest number that does.
func pack(bits int, signed bool) meaning {
	least, greatest := uint64(0), ones(bits/2)
	if signed {
		least, greatest = ^uint64(0)<<(bits/2-1), ones(bits/2-1)
	}
	narrow := func(s *terms, x *term) *term {
		low, high := s.constant(bits, least), s.constant(bits, greatest)
		return s.extract(s.ite(s.slt(x, low), low, s.ite(s.slt(high, x), high, x)), 0, bits/2)
	}
	return amd64Vector(bits/2, 0, func(m *machine, _ uint64, v []*vec) *vec {
		x, y := m.view(v[0], v[0].size(), bits), m.view(v[1], v[1].size(), bits)
		w := &vec{bits: bits / 2}
		part := 128 / bits
		for i := 0; i < len(x.lanes); i += part {
			for _, of := range []*vec{x, y} {
				for _, t := range of.lanes[i : i+part] {
					w.lanes = append(w.lanes, narrow(m.terms, t))
				}
			}
		}
		return w
	})
}

// permute computes VPERMD: the lanes of the second source that the first selects.
func permute(_ *machine, _ uint64, v []*vec) *vec {
	w := &vec{bits: 32}
	for _, index := range v[0].lanes {
		if index.op != opConst {
			return nil
		}
		w.lanes = append(w.lanes, v[1].lanes[int(index.val)%len(v[1].lanes)])
	}
	return w
}

// permuteBytes executes VPERMB: it takes the bytes of the second source that the first selects.
// Selectors must be known, except at the mask's zeros. The mask does not limit the load.
func permuteBytes(m *machine, in *inst) error {
	form, err := m.form(in)
	if err != nil {
		return err
	}
	size := form.dst.size
	index, err := m.source(form.sources[0], size, 8, nil)
	if err != nil {
		return err
	}
	data, err := m.source(form.sources[1], size, 8, nil)
	if err != nil {
		return err
	}
	old := m.zeros(size)
	if form.mask != nil && !strings.HasSuffix(in.mnemonic, ".Z") {
		if old, err = m.readVector(form.dst.reg, size, 8); err != nil {
			return err
		}
	}
	r, err := m.result(in, form.mask, func() (*vec, error) {
		w := &vec{bits: 8}
		for i, at := range index.lanes {
			active := m.constant(1, 1)
			if form.mask != nil {
				active = m.extract(form.mask, i, 1)
			}
			t := m.constant(8, 0)
			if !active.is(0) {
				if at.op != opConst {
					return nil, errOperands
				}
				t = data.lanes[int(at.val)%size]
			}
			w.lanes = append(w.lanes, m.ite(active, t, m.view(old, size, 8).lanes[i]))
		}
		return w, nil
	}, index, data, old)
	if err != nil {
		return err
	}
	m.writeVector(form.dst.reg, r)
	return nil
}

// products computes VPMULLW of known numbers.
func products(m *machine, _ uint64, v []*vec) *vec {
	w := &vec{bits: 16}
	for i, x := range v[0].lanes {
		y := v[1].lanes[i]
		if x.op != opConst || y.op != opConst {
			return nil
		}
		w.lanes = append(w.lanes, m.constant(16, x.val*y.val&0xffff))
	}
	return w
}

// leastLane executes VPHMINPOSUW on known numbers: it finds the least number and, above it, the
// number of its lane.
func leastLane(m *machine, in *inst) error {
	v, err := m.source(in.operands[0], 16, 16, nil)
	if err != nil {
		return err
	}
	least := 0
	for i, t := range v.lanes {
		if t.op != opConst {
			return errOperands
		}
		if t.val < v.lanes[least].val {
			least = i
		}
	}
	r := &vec{bits: 64, lanes: []*term{m.constant(64, v.lanes[least].val|uint64(least)<<16), m.constant(64, 0)}}
	m.writeVector(in.operands[1].reg, m.once(r))
	return nil
}

// insertLane executes VPINSRQ: the result is the second source with one lane from the first.
func insertLane(m *machine, in *inst) error {
	x, err := m.scalar(in.operands[1], 64)
	if err != nil {
		return err
	}
	t, err := m.number(x)
	if err != nil {
		return err
	}
	v, err := m.readVector(in.operands[2].reg, 16, 64)
	if err != nil {
		return err
	}
	r := &vec{bits: 64, lanes: append([]*term{}, v.lanes...)}
	r.lanes[in.operands[0].imm&1] = t
	m.writeVector(in.operands[3].reg, m.once(r))
	return nil
}

// extractHalf moves the half of the source that the immediate selects to a register or to
// memory.
func extractHalf(m *machine, in *inst) error {
	src, dst := in.operands[1], in.operands[2]
	if src.kind != isVector || dst.kind == isVector && src.size != 2*dst.size {
		return errOperands
	}
	v, err := m.readVector(src.reg, src.size, 0)
	if err != nil {
		return err
	}
	r, err := m.result(in, nil, func() (*vec, error) {
		half := len(v.lanes) / 2
		at := half * int(in.operands[0].imm&1)
		return &vec{bits: v.bits, lanes: v.lanes[at : at+half]}, nil
	}, v)
	if err != nil {
		return err
	}
	if dst.kind == isVector {
		m.writeVector(dst.reg, r)
		return nil
	}
	at, err := m.memory(dst)
	if err != nil {
		return err
	}
	return m.store(at, r, nil)
}

// insertHalf executes VINSERTI128: the result is the second source with the first as its upper
// half.
func insertHalf(m *machine, in *inst) error {
	if in.operands[0].imm != 1 {
		return errOperands
	}
	x, err := m.source(in.operands[1], 16, 8, nil)
	if err != nil {
		return err
	}
	v, err := m.readVector(in.operands[2].reg, 16, 8)
	if err != nil {
		return err
	}
	m.writeVector(in.operands[3].reg, m.once(&vec{bits: 8, lanes: slices.Concat(v.lanes, x.lanes)}))
	return nil
}

// repeatHalf executes VBROADCASTI128: it puts 16 bytes of memory in both halves.
func repeatHalf(m *machine, in *inst) error {
	v, err := m.source(in.operands[0], 16, 8, nil)
	if err != nil {
		return err
	}
	m.writeVector(in.operands[1].reg, m.once(&vec{bits: 8, lanes: slices.Concat(v.lanes, v.lanes)}))
	return nil
}

// extractLane returns the meaning of a move to memory of the lane that the immediate selects.
func extractLane(bits int) meaning {
	return func(m *machine, in *inst) error {
		src, dst := in.operands[1], in.operands[2]
		if src.kind != isVector || dst.kind != isMemory {
			return errOperands
		}
		v, err := m.readVector(src.reg, 16, bits)
		if err != nil {
			return err
		}
		at, err := m.memory(dst)
		if err != nil {
			return err
		}
		return m.store(at, &vec{bits: bits, lanes: []*term{v.lanes[int(in.operands[0].imm)%len(v.lanes)]}}, nil)
	}
}

// amd64Table has the instructions that the proof knows.
var amd64Table = map[string]meaning{
	"RET": amd64Return, "VZEROUPPER": zeroUpper,
	"SFENCE": func(m *machine, _ *inst) error { m.streamed = false; return nil },

	"JMP": jump(always),
	"JB":  jump(isBelow), "JAE": jump(opposite(isBelow)),
	"JBE": jump(isAtMost), "JA": jump(opposite(isAtMost)), "JHI": jump(opposite(isAtMost)),
	"JZ": jump(isZero), "JE": jump(isZero), "JNZ": jump(opposite(isZero)), "JNE": jump(opposite(isZero)),
	"JLT": jump(isLess), "JGE": jump(opposite(isLess)), "JLE": jump(isNoMore), "JGT": jump(opposite(isNoMore)),
	"CMOVQLT": amd64Choose(isLess),

	"MOVQ": amd64Move(64, 64, nil), "MOVL": amd64Move(32, 32, nil), "MOVW": amd64Move(16, 16, nil), "MOVB": amd64Move(8, 8, nil),
	"MOVBLZX": amd64Move(8, 32, (*terms).zext), "MOVWLZX": amd64Move(16, 32, (*terms).zext),
	"MOVBQSX": amd64Move(8, 64, (*terms).sext),
	"LEAQ":    amd64Address,

	"ADDQ": amd64Binary(64, addAny, setAdd), "SUBQ": amd64Binary(64, subAny, setSub),
	"ADCQ": amd64Binary(64, func(m *machine, x, y value) (value, error) {
		if m.flags.below == nil {
			return value{}, errFlag
		}
		return numbers(func(s *terms, x, y *term) *term { return s.add(s.add(x, y), s.zext(m.flags.below, 64)) })(m, x, y)
	}, setAdd),
	"STC":  func(m *machine, _ *inst) error { m.flags.below = m.constant(1, 1); return nil },
	"ANDQ": amd64Binary(64, numbers((*terms).and), setLogic), "ORQ": amd64Binary(64, numbers((*terms).or), setLogic),
	"XORL": amd64Binary(32, numbers((*terms).xor), setLogic),
	"NEGQ": amd64Unary(64, negate, func(m *machine, x, _, r value) { setSub(m, value{t: m.constant(64, 0)}, x, r) }),
	"NOTL": amd64Unary(32, (*terms).not, nil), "NOTQ": amd64Unary(64, (*terms).not, nil),
	"DECQ": amd64Unary(64, func(s *terms, x *term) *term { return s.sub(x, s.constant(64, 1)) },
		func(m *machine, x, _, r value) {
			setSub(m, x, value{t: m.constant(64, 1)}, r)
			m.flags.below = nil // it keeps its old value, which no kernel needs
		}),
	"BSRQ": highestBit,
	"SHLQ": amd64Shift(64, opShl), "SHRQ": amd64Shift(64, opLshr), "SHRL": amd64Shift(32, opLshr),
	"RORQ":  amd64Rotate,
	"BZHIQ": amd64Keep(64),
	"PEXTQ": amd64Bits(gatherBits), "PDEPQ": amd64Bits(scatterBits), "BSWAPQ": amd64Unary(64, swapBytes, nil),
	"SHLXQ": amd64ShiftBy(opShl), "SHRXQ": amd64ShiftBy(opLshr), "IMULQ": amd64Multiply,
	"CMPQ": amd64Compare(64, false), "TESTQ": amd64Compare(64, true), "TESTL": amd64Compare(32, true), "TESTB": amd64Compare(8, true),
	"KMOVB": maskMove(8), "KMOVW": maskMove(16), "KMOVD": maskMove(32), "KMOVQ": maskMove(64),
	"KANDQ": onMasks((*terms).and), "KORQ": onMasks((*terms).or), "KXORQ": onMasks((*terms).xor),
	"KNOTQ":    onMasks(func(s *terms, x, _ *term) *term { return s.not(x) }),
	"VPMOVB2M": signsToMask(8), "VPMOVW2M": signsToMask(16), "VPMOVD2M": signsToMask(32), "VPMOVQ2M": signsToMask(64),
	"VPMOVM2B": maskToSigns(8), "VPMOVM2W": maskToSigns(16), "VPMOVM2D": maskToSigns(32), "VPMOVM2Q": maskToSigns(64),

	"VMOVDQU": copyVector(0), "VMOVDQA": betweenRegisters(copyVector(0)), "VMOVDQA64": betweenRegisters(copyVector(64)),
	"VMOVDQU8": copyVector(8), "VMOVDQU16": copyVector(16), "VMOVDQU32": copyVector(32), "VMOVDQU64": copyVector(64),
	"VMOVNTDQ": amd64Stream,
	"VMOVD":    lowMove(32), "VMOVQ": lowMove(64),
	"VPBROADCASTB": broadcast(8), "VPBROADCASTW": broadcast(16),
	"VPBROADCASTD": broadcast(32), "VPBROADCASTQ": broadcast(64),
	"VPMOVZXBW": widen(8, 16, (*terms).zext), "VPMOVZXBD": widen(8, 32, (*terms).zext), "VPMOVZXBQ": widen(8, 64, (*terms).zext),
	"VPMOVZXWD": widen(16, 32, (*terms).zext), "VPMOVZXWQ": widen(16, 64, (*terms).zext), "VPMOVZXDQ": widen(32, 64, (*terms).zext),
	"VPMOVSXBW": widen(8, 16, (*terms).sext), "VPMOVSXBD": widen(8, 32, (*terms).sext), "VPMOVSXBQ": widen(8, 64, (*terms).sext),
	"VPMOVSXWD": widen(16, 32, (*terms).sext), "VPMOVSXWQ": widen(16, 64, (*terms).sext), "VPMOVSXDQ": widen(32, 64, (*terms).sext),
	"VPMOVWB": narrow(16, 8), "VPMOVDB": narrow(32, 8), "VPMOVQB": narrow(64, 8),
	"VPMOVDW": narrow(32, 16), "VPMOVQW": narrow(64, 16), "VPMOVQD": narrow(64, 32),
	"VPSHUFB": amd64Vector(8, 8, shuffleBytes), "VPERMD": amd64Vector(32, 32, permute), "VEXTRACTI128": extractHalf, "VINSERTI128": insertHalf,
	"VBROADCASTI128": repeatHalf,
	"VPERMB":         permuteBytes, "VPMULTISHIFTQB": amd64Vector(64, 64, shiftBytes),
	"VPMULLW": amd64Vector(16, 16, products), "VPHMINPOSUW": leastLane, "VPINSRQ": insertLane,
	"VPSRLW": amd64Vector(16, 16, func(m *machine, imm uint64, v []*vec) *vec {
		return each(16, func(l []*term) *term { return m.shift(opLshr, l[0], m.constant(16, imm)) }, v...)
	}),
	"VPACKUSDW": pack(32, false), "VPACKSSDW": pack(32, true), "VPACKUSWB": pack(16, false), "VPACKSSWB": pack(16, true),
	"VPEXTRB": extractLane(8), "VPEXTRW": extractLane(16),

	"VPAND": bitwise(0, (*terms).and), "VPANDD": bitwise(32, (*terms).and), "VPANDQ": bitwise(64, (*terms).and),
	"VPANDN": bitwise(0, andNot), "VPANDND": bitwise(32, andNot), "VPANDNQ": bitwise(64, andNot),
	"VPOR": bitwise(0, (*terms).or), "VPORD": bitwise(32, (*terms).or), "VPORQ": bitwise(64, (*terms).or),
	"VPXOR": bitwise(0, (*terms).xor), "VPXORD": bitwise(32, (*terms).xor), "VPXORQ": bitwise(64, (*terms).xor),
	"VPTERNLOGD": ternary(32), "VPTERNLOGQ": ternary(64),

	"VPSLLVD": lanes2(32, shifts(opShl)), "VPSLLVQ": lanes2(64, shifts(opShl)),
	"VPSRLVD": lanes2(32, shifts(opLshr)), "VPSRLVQ": lanes2(64, shifts(opLshr)),
	"VPSRAVD": lanes2(32, shifts(opAshr)), "VPSRAVQ": lanes2(64, shifts(opAshr)), "VPROLVQ": lanes2(64, rotate),
	"VPADDB": lanes2(8, (*terms).add), "VPADDW": lanes2(16, (*terms).add),
	"VPADDD": lanes2(32, (*terms).add), "VPADDQ": lanes2(64, (*terms).add),
	"VPSUBB": lanes2(8, (*terms).sub), "VPSUBW": lanes2(16, (*terms).sub),
	"VPSUBD": lanes2(32, (*terms).sub), "VPSUBQ": lanes2(64, (*terms).sub),
	"VPSUBUSW": lanes2(16, subtractToZero), "VPMINUB": lanes2(8, least),
	"VPTESTMB": testToMask(8), "VPMOVMSKB": signsToGeneral(8),
	"VPCMPEQB": lanes2(8, equal), "VPCMPEQW": lanes2(16, equal), "VPCMPEQD": lanes2(32, equal),
	"VPCMPGTB": lanes2(8, greater), "VPCMPGTW": lanes2(16, greater), "VPCMPGTD": lanes2(32, greater), "VPCMPGTQ": lanes2(64, greater),
	"VPBLENDVB": blend(8), "VBLENDVPS": blend(32), "VBLENDVPD": blend(64),
}
