package proof

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A Dense kernel is executed with known arguments, which a layout of the fields gives. Only
// the content of memory is unknown. Each bit that the kernel writes must be the very bit that
// the layout says. No solver is needed.
//
// The jumps of a kernel of any width depend only on sizes and counts. So it is run with every
// size of a group, forwards and reversed, and with more words than each loop's exact ones. It
// is also run with every width and with nearly every first bit of a field, on a few words. A
// kernel of single bits is run with every bit of a byte, and with lengths past two turns of
// its longest loop. A kernel of bytes is run with all these sizes, widths and first bits, and
// with lengths past two turns. It gets the table that belongs to the layout. That Go makes
// this table is only tested. These runs are proved. For more words, each turn of a loop must leave the
// general registers as the turn before it did, except numbers that move on evenly. If one
// holds anything else, it becomes undefined, so the next turn cannot use it.

// A layout says where the fields of a group's elements are in a word.
type layout struct {
	word, element    int // bytes
	count            int // elements of a group
	width, from, pos int
	stride           int // bytes from one group to the next
	reversed, signed bool
}

func (l layout) group() int { return l.count * l.element }

// place returns the lowest bit in a word of element j's field.
func (l layout) place(j int) int {
	if l.reversed {
		j = l.count - 1 - j
	}
	return l.pos + j*l.width
}

// arguments returns a kernel's arguments for n words.
func (l layout) arguments(n int) map[string]uint64 {
	each := uint64(1)
	for shift := 8 * l.element; shift < 64; shift *= 2 {
		each |= each << shift
	}
	fields := (ones(l.width) << l.from) * each
	several, group := 8/l.element, l.group()
	whole := (group - 1) / 8 * 8 // the bytes that chunks before the odd one cover
	exact := 8/l.word - 1
	if group < 8 {
		exact = max(exact, (8-group+l.stride-1)/l.stride)
	}
	a := map[string]uint64{
		"n": uint64(n), "exact": uint64(min(exact, n)), "w": uint64(l.word), "bytes": uint64(group), "stride": uint64(l.stride),
		"fields": fields, "step": uint64(several * l.width), "pos": uint64(l.pos), "lastPos": uint64(l.pos), "signs": 0,
		"above": 2<<(8*l.element-l.from-l.width) - 2, "reversed": 0, "bit": fields, "ones": fields,
	}
	if l.reversed {
		a["reversed"] = 1
	}
	if group >= 8 {
		a["lastPos"] += uint64((l.count - several) * l.width)
	}
	if top := l.from + l.width; l.signed && top < 8*l.element {
		a["signs"] = each << (top - 1)
	}
	if l.signed {
		a["ones"] = (0xff << l.from & 0xff) * each
	}
	switch {
	case group >= 8:
		a["last"] = fields << (8 * (whole + 8 - group)) // Gather
	case l.reversed:
		a["last"] = fields << (64 - 8*group)
	default:
		a["last"] = fields & ones(8*group)
	}
	return a
}

// scatterArguments returns a scatter kernel's arguments for n words. The odd chunk's fields
// repeat others.
func (l layout) scatterArguments(n int) map[string]uint64 {
	a := l.arguments(n)
	if l.group() >= 8 {
		a["last"] = a["fields"]
	} else if l.group() < l.stride {
		a["exact"] = uint64(n) // bytes between groups must not be written
	}
	return a
}

// denseKernel reports whether the subject makes groups, and whether it is for single bits or
// for bytes.
func (s *subject) denseKernel() (scatter, bits, bytes bool) {
	has := func(name string) bool {
		return slices.ContainsFunc(s.function.params, func(p param) bool { return p.name == name })
	}
	return s.Spec.Instruction == Scatter, has("bit") || has("ones"), has("table")
}

// A byteTable is the table of a kernel of bytes. Its words have 64 bits.
type byteTable struct {
	data          []byte
	words, merges int // the words of a step, or 0 if the kernel is not for the layout
}

func (t *byteTable) put(at int, v uint64) { binary.LittleEndian.PutUint64(t.data[at:], v) }

// Offsets in a table.
const (
	tableSecond = 64
	tableMasks  = 128
	tableDown   = 144
	tableLow    = 168
	tableBytes  = 192
)

// gatherTable returns the table that makes words. Each 8 bytes of a group, an eight, become
// the bytes of width bits.
func (l layout) gatherTable() byteTable {
	t := byteTable{data: make([]byte, tableBytes)}
	if l.from > 0 || l.pos%8 > 0 || l.width == 8 {
		return t
	}
	eights := (l.count + 7) / 8
	t.words = 8 / eights
	apart, bits := 8, l.width // how far fields are apart, and how many bits of them are together
	for ; bits%8 != 0; apart, bits = 2*apart, 2*bits {
		low := uint64(0)
		for at := 0; at < 64; at += 2 * apart {
			low |= ones(bits) << at
		}
		t.put(tableDown+8*t.merges, uint64(apart-bits))
		t.put(tableLow+8*t.merges, low)
		t.merges++
	}
	var present, covered uint64
	for word := range t.words {
		for j := range l.count {
			at := 8*eights*word + (l.place(j)-l.pos)/l.width
			t.data[at], present = byte(word*l.count+j), present|1<<at
		}
		for bit := 0; bit < l.count*l.width; bit += 8 {
			at, part := word*l.word+(l.pos+bit)/8, bit/bits
			t.data[tableSecond+at], covered = byte(8*eights*word+part*apart/8+bit%bits/8), covered|1<<at
		}
	}
	t.put(tableMasks, present)
	t.put(tableMasks+8, covered)
	return t
}

// scatterTable returns the table that makes groups.
func (l layout) scatterTable() byteTable {
	t := byteTable{data: make([]byte, tableBytes)}
	words := min(64/l.count, 64/l.word)
	for eight := 0; eight < words*l.count; eight += 8 {
		var bytes []int // that have a bit of the eight's fields
		lowest := func(at int) int { return 8*l.word*(at/l.count) + l.place(at%l.count) }
		elements := min(8, words*l.count-eight)
		for i := range elements {
			bit := lowest(eight + i)
			bytes = append(bytes, bit/8, (bit+l.width-1)/8)
		}
		slices.Sort(bytes)
		if bytes = slices.Compact(bytes); len(bytes) > 8 {
			return t
		}
		for i, b := range bytes {
			t.data[eight+i] = byte(b)
		}
		for i := range elements {
			bit := lowest(eight + i)
			t.data[tableSecond+eight+i] = byte(8*slices.Index(bytes, bit/8)+bit%8-l.from) & 63
		}
	}
	t.words = words
	t.put(tableMasks, ones(l.width)<<l.from*0x0101010101010101)
	return t
}

// bytesTable returns the table of a kernel of bytes.
func (s *subject) bytesTable(l layout) byteTable {
	if scatter, _, _ := s.denseKernel(); scatter {
		return l.scatterTable()
	}
	return l.gatherTable()
}

// tableArguments adds the arguments of a kernel of bytes for n words.
func (l layout) tableArguments(a map[string]uint64, t byteTable, n int) {
	steps, least := 0, min(l.word, l.count)
	if n*least >= 64 {
		steps = (n*least-64)/(t.words*least) + 1
	}
	a["steps"], a["words"], a["merges"] = uint64(steps), uint64(t.words), uint64(t.merges)
}

// denseMachine returns a machine before its first instruction.
func (s *subject) denseMachine(l layout, n int) (*machine, error) {
	scatter, _, ofBytes := s.denseKernel()
	m := &machine{model: s.model, arguments: map[string]value{}, used: map[Role]bool{}, roles: map[string]Role{}, nonzero: map[*term]bool{}}
	arguments := l.arguments(n)
	if scatter {
		arguments = l.scatterArguments(n)
	}
	var table byteTable
	if ofBytes {
		table = s.bytesTable(l)
		l.tableArguments(arguments, table, n)
	}
	words, groups := n*l.word, max(n-1, 0)*l.stride+min(n, 1)*l.group()
	for _, p := range s.function.params {
		if !p.pointer {
			v, ok := arguments[p.name]
			if !ok {
				return nil, fmt.Errorf("argument %s of %s is not known", p.name, s.Symbol)
			}
			m.arguments[p.name] = value{t: s.constant(64, v)}
			continue
		}
		r := &region{name: p.name, content: p.name, bits: 8, to: words}
		switch {
		case p.name == "table":
			r.data, r.to = table.data, len(table.data)
			r.content += string(table.data) // the content's name keys m.loads
		case (p.name == "dst") == scatter:
			r.to = groups
		}
		if p.name == "dst" {
			r.writable = true
			m.dst = r
		}
		m.regions = append(m.regions, r)
		m.arguments[p.name] = value{s.constant(64, 0), r}
	}
	return m, nil
}

// runDense runs one layout and checks each bit.
func (s *subject) runDense(l layout, n int) error {
	s.runs++
	s.longest = max(s.longest, n)
	m, err := s.denseMachine(l, n)
	if err == nil {
		m.loops = &loops{dense: &denseLoop{last: map[int]*denseTurn{}}}
		err = m.run()
	}
	if err == nil {
		err = s.checkDense(m, l, n)
	}
	if err != nil {
		return fmt.Errorf("%w (n = %d, %+v)", err, n, l)
	}
	return nil
}

func (s *subject) checkDense(m *machine, l layout, n int) error {
	bitOf := func(offset, i int) *term { return s.extract(s.symbol(8, "src", offset+i/8), i%8, 1) }
	zero := s.constant(1, 0)
	scatter, _, _ := s.denseKernel()
	check := func(offset, size int, want []*term) error {
		for i := range size {
			if m.dst.written == nil || m.dst.written[offset+i] == 0 {
				return fmt.Errorf("byte %d of dst is not written", offset+i)
			}
			m.dst.written[offset+i] = 2
			c := m.dst.cells[offset+i]
			for k, have := range s.bitsOfTerm(c.t)[8*c.k:][:8] {
				if have != want[8*i+k] {
					return fmt.Errorf("bit %d of byte %d of dst is not the bit that %s says", k, offset+i, s.Spec.Instruction)
				}
			}
		}
		return nil
	}
	for i := range n {
		if !scatter {
			want := slices.Repeat([]*term{zero}, 8*l.word)
			for j := range l.count {
				for k := range l.width {
					want[l.place(j)+k] = bitOf(i*l.stride+j*l.element, l.from+k)
				}
			}
			if err := check(i*l.word, l.word, want); err != nil {
				return err
			}
			continue
		}
		for j := range l.count {
			want := slices.Repeat([]*term{zero}, 8*l.element)
			for k := range want {
				switch at := k - l.from; {
				case 0 <= at && at < l.width:
					want[k] = bitOf(i*l.word, l.place(j)+at)
				case at >= l.width && l.signed:
					want[k] = bitOf(i*l.word, l.place(j)+l.width-1)
				}
			}
			if err := check(i*l.stride+j*l.element, l.element, want); err != nil {
				return err
			}
		}
	}
	if i := slices.Index(m.dst.written, 1); i >= 0 {
		return fmt.Errorf("byte %d of dst is written, between groups", i)
	}
	return nil
}

// executeDense runs a kernel with all the layouts.
func (s *subject) executeDense() error {
	scatter, single, ofBytes := s.denseKernel()
	if ofBytes {
		return s.executeBytes()
	}
	run := func(l layout, lengths ...int) error {
		for _, n := range lengths {
			if err := s.runDense(l, n); err != nil {
				return err
			}
			if l.signed = scatter; l.signed {
				if err := s.runDense(l, n); err != nil {
					return err
				}
			}
			l.signed = false
		}
		return nil
	}
	for _, reversed := range []bool{false, true} {
		if single {
			for from := range 8 {
				l := layout{word: 1, element: 1, count: 8, width: 1, from: from, stride: 8, reversed: reversed}
				lengths := []int{8, 9}
				if from == 3 {
					lengths = nil
					// A vector of 64 bytes makes 8 words, and a turn has 4 vectors.
					for n := range 2*4*8 + 2*8 {
						lengths = append(lengths, n)
					}
				}
				if err := run(l, lengths...); err != nil {
					return err
				}
			}
			continue
		}
		for _, element := range []int{1, 2, 4, 8} {
			if reversed && element > 1 {
				continue // Go has no kernel for it
			}
			for count := 1; count <= 64; count++ {
				if element > 1 && !slices.Contains([]int{1, 2, 3, 5, 8, 13, 64}, count) {
					continue // with bytes, groups have every size
				}
				for word := max(1, 1<<bits.Len(uint(count-1))/8); word <= 8; word *= 2 {
					l := layout{word: word, element: element, count: count, width: 1, from: count % 8, pos: 8*word - count, reversed: reversed}
					l.stride = l.group()
					lengths := []int{10}
					if element == 1 {
						lengths = []int{0, 2, 10}
					}
					if err := run(l, lengths...); err != nil {
						return err
					}
					l.stride += 3 * element
					if err := run(l, 4); err != nil {
						return err
					}
				}
			}
			for width := 1; width <= 8*element; width++ {
				for from := 0; from+width <= 8*element; from++ {
					if element == 8 && from%8 > 1 && from+width < 64 {
						continue // an element's bits are all alike
					}
					most := 64 / width
					l := layout{word: 8, element: element, count: 1 + (from+7*width)%most, width: width, from: from, reversed: reversed}
					l.pos, l.stride = (64-l.count*width)*(from%3)/2, l.group()
					if err := run(l, 2); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// executeBytes runs a kernel of bytes. Each layout is run with too few words for a whole step,
// and with numbers of words for which each loop makes no turn, one and several.
func (s *subject) executeBytes() error {
	for _, reversed := range []bool{false, true} {
		for word := 1; word <= 8; word *= 2 {
			for count := 1; count <= 8*word; count++ {
				l := layout{word: word, element: 1, count: count, stride: count, reversed: reversed}
				l.width = min(8*word/count, 8-count%3)
				l.pos = (8*word - count*l.width) * (count % 2) / 8 * 8
				t := s.bytesTable(l)
				if t.words == 0 {
					continue // Go takes another kernel
				}
				whole := (63 + min(word, count)) / min(word, count) // words for a step
				for _, more := range []int{1 - whole, -1, 0, t.words + 1, 3 * t.words, 8*t.words + t.words/2} {
					if err := s.runDense(l, max(whole+more, 1)); err != nil {
						return err
					}
				}
			}
			for width := 1; width <= 8; width++ {
				for from := 0; from+width <= 8; from++ {
					most := 8 * word / width
					l := layout{word: word, element: 1, width: width, from: from, reversed: reversed}
					l.count = 1 + (5*from+7*width)%most
					if from == 0 && word == 8 {
						l.count = 8 // then no words are left after the steps
					}
					l.stride, l.pos = l.count, (8*word-l.count*width)*(from%3)/2
					if s.bytesTable(l).words == 0 {
						continue
					}
					if err := s.runDense(l, 2*64/min(word, l.count)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// A denseLoop compares the states at the ends of a loop's turns.
type denseLoop struct{ last map[int]*denseTurn }

type denseTurn struct {
	general [32]value
	steps   *[32]uint64
}

func (l *denseLoop) arrive(m *machine) error {
	m.flags = flags{}
	for r, v := range m.general {
		if v.defined() && v.t.op != opConst {
			m.general[r] = value{} // the next turn cannot use it
		}
	}
	now := &denseTurn{general: m.general}
	before := l.last[m.next]
	l.last[m.next] = now
	if before == nil {
		return nil
	}
	now.steps = new([32]uint64)
	for r, v := range now.general {
		w := before.general[r]
		if !v.defined() && !w.defined() {
			continue
		}
		if !v.defined() || !w.defined() || v.region != w.region {
			return fmt.Errorf("%s is %v after a turn and %v after the next", m.function.arch.general[r], w, v)
		}
		now.steps[r] = v.t.val - w.t.val
	}
	if before.steps != nil && *before.steps != *now.steps {
		return fmt.Errorf("counters move on by %v in a turn and by %v in the next", *before.steps, *now.steps)
	}
	return nil
}

// sampleDense executes a kernel once with a random layout.
func (s *subject) sampleDense(r *rand.Rand) (Sample, error) {
	scatter, single, ofBytes := s.denseKernel()
	l := layout{word: 1, element: 1, count: 8, width: 1, from: r.IntN(8), stride: 8, reversed: r.IntN(2) == 0}
	n := r.IntN(100)
	if !single {
		l.word, l.element = 1<<r.IntN(4), 1<<r.IntN(4)
		l.reversed = l.reversed && l.element == 1
		l.width = 1 + r.IntN(8*min(l.word, l.element))
		l.from = r.IntN(8*l.element - l.width + 1)
		l.count = 1 + r.IntN(8*l.word/l.width)
		l.pos = r.IntN(8*l.word - l.count*l.width + 1)
		l.stride = l.group() + r.IntN(2)*r.IntN(4)*l.element
		n = r.IntN(20)
	}
	l.signed = scatter && r.IntN(2) == 0
	for ofBytes && (l.element > 1 || l.stride > l.count || l.signed || s.bytesTable(l).words == 0) {
		l.element, l.signed = 1, false
		l.width = 1 + r.IntN(8)
		l.from = r.IntN(8 - l.width + 1)
		l.count = 1 + r.IntN(8*l.word/l.width)
		l.pos, l.stride = 0, l.count
	}
	m, err := s.denseMachine(l, n)
	if err == nil {
		err = m.run()
	}
	if err != nil {
		return Sample{}, err
	}
	seed := r.Uint64()
	value := func(t *term) uint64 { return random(seed, t) }
	bytesOf := func(region *region) ([]byte, error) {
		data := make([]byte, region.to)
		for i := range data {
			c, err := m.byteAt(region, i)
			if err != nil {
				return nil, err
			}
			data[i] = byte(eval(c.t, value) >> (c.k * 8))
		}
		return data, nil
	}
	sample := Sample{Symbol: s.Symbol, Column: -1}
	if sample.Want, err = bytesOf(m.dst); err != nil {
		return Sample{}, err
	}
	m.dst.cells = nil
	for _, p := range s.function.params {
		a := Argument{}
		if v := m.arguments[p.name]; v.region == nil {
			a.Number = v.t.val
		} else {
			a.Align = r.IntN(64)
			if a.Memory, err = bytesOf(v.region); err != nil {
				return Sample{}, err
			}
		}
		sample.Types = append(sample.Types, p.typ)
		sample.Arguments = append(sample.Arguments, a)
	}
	return sample, nil
}

// The instructions that only these kernels have.

// bitsOfTerm returns the bits of a term, the lowest first, each as a term.
func (s *terms) bitsOfTerm(t *term) []*term {
	if s.single == nil {
		s.single = map[*term][]*term{}
	}
	if have := s.single[t]; have != nil {
		return have
	}
	var list []*term
	if t.op == opConcat {
		list = slices.Concat(s.bitsOfTerm(t.a), s.bitsOfTerm(t.b))
	} else {
		for i := range t.bits {
			list = append(list, s.extract(t, i, 1))
		}
	}
	s.single[t] = list
	return list
}

func gatherBits(s *terms, x *term, mask uint64) *term {
	var parts []*term
	for i, bit := range s.bitsOfTerm(x) {
		if mask>>i&1 == 1 {
			parts = append(parts, bit)
		}
	}
	for len(parts) < 64 {
		parts = append(parts, s.constant(1, 0))
	}
	return s.join(parts)
}

func scatterBits(s *terms, x *term, mask uint64) *term {
	parts, from := slices.Clone(s.bitsOfTerm(x)), 0
	for i, bits := 0, s.bitsOfTerm(x); i < len(bits); i++ {
		parts[i] = s.constant(1, 0)
		if mask>>i&1 == 1 {
			parts[i] = bits[from]
			from++
		}
	}
	return s.join(parts)
}

// amd64Bits returns the meaning of PEXT or PDEP. The mask must be known.
func amd64Bits(f func(s *terms, x *term, mask uint64) *term) meaning {
	return func(m *machine, in *inst) error {
		mask, err := m.scalar(in.operands[0], 64)
		if err != nil {
			return err
		}
		n, err := known(mask)
		if err != nil {
			return err
		}
		x, err := m.scalar(in.operands[1], 64)
		if err != nil {
			return err
		}
		t, err := m.number(x)
		if err != nil {
			return err
		}
		return m.setScalar(in.operands[2], value{t: f(m.terms, t, n)}, 64)
	}
}

func swapBytes(s *terms, x *term) *term {
	var parts []*term
	for i := 56; i >= 0; i -= 8 {
		parts = append(parts, s.extract(x, i, 8))
	}
	return s.join(parts)
}

// amd64ShiftBy returns the meaning of a shift by the low 6 bits of a register, which must be
// known.
func amd64ShiftBy(o op) meaning {
	return func(m *machine, in *inst) error {
		count, err := m.scalar(in.operands[0], 64)
		if err != nil {
			return err
		}
		n, err := known(count)
		if err != nil {
			return err
		}
		x, err := m.scalar(in.operands[1], 64)
		if err != nil {
			return err
		}
		t, err := m.number(x)
		if err != nil {
			return err
		}
		return m.setScalar(in.operands[2], value{t: m.shift(o, t, m.constant(64, n%64))}, 64)
	}
}

// amd64Multiply executes a product with a number that must be known.
func amd64Multiply(m *machine, in *inst) error {
	factor, err := m.scalar(in.operands[0], 64)
	if err != nil {
		return err
	}
	n, err := known(factor)
	if err != nil {
		return err
	}
	v, err := m.scalar(in.operands[1], 64)
	if err != nil {
		return err
	}
	x, err := m.number(v)
	if err != nil {
		return err
	}
	m.flags = flags{}
	return m.setScalar(in.operands[1], value{t: product(m.terms, x, n)}, 64)
}

// product returns x times n as a sum of shifts. If no two shifts have a bit in common, it is
// their union.
func product(s *terms, x *term, n uint64) *term {
	zero := s.constant(1, 0)
	union, sum := slices.Repeat([]*term{zero}, 64), s.constant(64, 0)
	for i := range 64 {
		if n>>i&1 == 0 {
			continue
		}
		for k, bit := range s.bitsOfTerm(x)[:64-i] {
			switch {
			case bit == zero || union == nil:
			case union[i+k] == zero:
				union[i+k] = bit
			default:
				union = nil
			}
		}
	}
	if union != nil {
		return s.join(union)
	}
	for i := range 64 {
		if n>>i&1 == 1 {
			sum = s.add(sum, s.shift(opShl, x, s.constant(64, uint64(i))))
		}
	}
	return sum
}

// shiftBytes computes VPMULTISHIFTQB: each byte of the result is the 8 bits of the second
// source's 64 bits from a bit on, which the first source says. Bit 0 follows bit 63. The first
// source must be known.
func shiftBytes(m *machine, _ uint64, v []*vec) *vec {
	w := &vec{bits: 8}
	for i, counts := range v[0].lanes {
		if counts.op != opConst {
			return nil
		}
		bits := m.bitsOfTerm(v[1].lanes[i])
		for at := range 8 {
			from := int(counts.val >> (8 * at) % 64)
			w.lanes = append(w.lanes, m.join(slices.Concat(bits, bits)[from:][:8]))
		}
	}
	return w
}

// testToMask returns the meaning of VPTESTM: the mask of the lanes that have a bit in common.
func testToMask(bits int) meaning {
	return func(m *machine, in *inst) error {
		if len(in.operands) != 3 || in.operands[1].kind != isVector || in.operands[2].kind != isMask {
			return errOperands
		}
		size := in.operands[1].size
		x, err := m.source(in.operands[0], size, bits, nil)
		if err != nil {
			return err
		}
		y, err := m.readVector(in.operands[1].reg, size, bits)
		if err != nil {
			return err
		}
		var parts []*term
		for lane := range x.lanes {
			common, any := m.and(x.lanes[lane], y.lanes[lane]), m.constant(1, 0)
			for i := range bits {
				any = m.or(any, m.extract(common, i, 1))
			}
			parts = append(parts, any)
		}
		m.masks[in.operands[2].reg] = m.zext(m.join(parts), 64)
		return nil
	}
}

// signsToGeneral returns the meaning of VPMOVMSK: the highest bit of each lane.
func signsToGeneral(bits int) meaning {
	return func(m *machine, in *inst) error {
		v, err := m.readVector(in.operands[0].reg, in.operands[0].size, bits)
		if err != nil {
			return err
		}
		return m.setScalar(in.operands[1], value{t: m.zext(m.signs(v), 32)}, 32)
	}
}
