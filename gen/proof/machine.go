package proof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A vec is the lowest bytes of a vector register as lanes of equal width, lane 0
// first; the register's other bytes are zero.
type vec struct {
	bits  int
	lanes []*term
	views []*vec // the same bytes as lanes of other widths
}

func (v *vec) size() int { return v.bits / 8 * len(v.lanes) }

// A value is the content of a general register: a number, an expression of the arguments,
// or an address in a region. The register's bits above the term's are undefined.
type value struct {
	t      *term // if region is not nil, the offset
	region *region
}

func (v value) defined() bool { return v.t != nil }

// A region is one operand in memory. Nothing else can be accessed.
type region struct {
	name      string
	content   string        // the name of its content at first
	bits      int           // of each lane
	from, to  int           // the first byte, and the end of the bytes, that can be accessed
	align     int           // dst: the low bits of its address
	writable  bool          // it is dst, or a column that Unpack writes
	scratch   bool          // it is the function's frame; its content is unknown at first
	stands    *region       // dst, if dst is this operand
	data      []byte        // its content, if known
	pointers  map[int]value // the addresses that it holds, by offset
	fields    map[int]*term // the terms that it holds, by offset
	exact     bool          // dst may be this operand exactly
	reread    bool          // it was read where dst had been written before
	seen      bool          // the address was made a number
	cells     []cell        // the bytes, once one is written
	written   []byte        // 1 for each written byte
	unguarded []byte        // 1 for each byte that was written whether or not its lane is active
}

// A cell is a byte of memory: byte k of a term.
type cell struct {
	t *term
	k uint8
}

// A model holds what the runs of one function share.
type model struct {
	*terms
	function *function
	results  map[resultKey]*vec
	loads    map[loadKey]*vec
	vecs     map[string]*vec // by their lanes
	signBits map[*vec]*term
	*blindness
	granule int    // how many low bits of dst's address are known
	reached []bool // instructions that a run has executed
	news    int    // how often a run met something new
	ways    []exit // the ways that its jumps went
}

// A resultKey identifies an instruction's result by its sources.
type resultKey struct {
	in      *inst
	sources [5]*vec
	mask    *term
}

type loadKey struct {
	region             string
	offset, size, bits int
	mask               *term
}

func newModel(f *function) *model {
	return &model{
		terms: newTerms(), function: f, results: map[resultKey]*vec{}, loads: map[loadKey]*vec{}, vecs: map[string]*vec{}, signBits: map[*vec]*term{},
		reached: make([]bool, len(f.insts)), ways: make([]exit, len(f.insts)), blindness: newBlindness(f),
	}
}

// A machine is one run.
type machine struct {
	*model
	arguments map[string]value
	roles     map[string]Role
	regions   []*region
	dst       *region
	overlap   bool          // operands may overlap in any way
	used      map[Role]bool // the roles of arguments that were read
	general   [32]value
	vectors   [32]*vec
	masks     [8]*term
	nonzero   map[*term]bool // arguments that are not 0
	choices   string         // the outcomes, '0' and '1', of decisions to come that depend on arguments
	outcomes  []*term        // the conditions that arguments fulfil by the decisions so far
	flags     flags
	pc        int
	next      int
	ended     bool
	dirty     bool // the upper halves of vector registers are in use
	streamed  bool // stores bypassed the cache and are not ordered yet
	stored    bool
	progress  int    // bytes stored so far
	loops     *loops // if not nil, the state at the head of each loop is compared
	active    string // Masked: the operand that is the mask
	way       way
	apart     bool    // the run is on the way where no lane is active, and may not store
	skips     []*skip // the skips whose ways have not met
	sight
	touch  *touch                       // the instruction's touch, if that is being found out
	trace  uint64                       // a hash of all accesses by vectors
	stores func(offset, size int) error // if not nil, called after each store to dst
}

// flags says what the condition flags say about the last two numbers that were compared, or
// about the last result and 0. A flag that is undefined is nil.
type flags struct {
	zero  *term // equal
	below *term // less, as unsigned numbers
	less  *term // less, as signed numbers
	x, y  *term // the two numbers
	even  bool  // the two numbers are sums of multiples of others
}

const mostSteps = 1 << 20

// run executes the function from its entry to RET.
func (m *machine) run() error {
	for range mostSteps {
		if m.pc >= len(m.function.insts) {
			return fmt.Errorf("%s runs past its end", m.function.name)
		}
		in := m.function.insts[m.pc]
		err := m.step(in)
		if skips, ok := err.(*errSkip); ok {
			err = m.skip(in, skips.lanes)
		}
		if err == nil {
			err = m.meet()
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %s: %w", m.function.file, in.line, in.text, err)
		}
		if m.ended {
			return nil
		}
		if m.blind && m.next <= m.pc {
			m.arrive()
		}
		if m.next <= m.pc && m.loops != nil && m.function.depth(m.next, m.pc) == 0 {
			if err := m.loops.arrive(m); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", m.function.file, in.line, in.text, err)
			}
		}
		m.pc = m.next
	}
	return fmt.Errorf("%s is still running after %d instructions", m.function.name, mostSteps)
}

// step executes an instruction.
func (m *machine) step(in *inst) error {
	m.reached[m.pc] = true
	m.next = m.pc + 1
	return m.execute(in)
}

// General registers.

func (m *machine) readGeneral(r, bits int) (value, error) {
	v := m.general[r]
	switch {
	case !v.defined():
		return v, fmt.Errorf("%s is undefined", m.function.arch.general[r])
	case v.region != nil && bits == 64, bits == v.t.bits:
		return v, nil
	case v.t.bits < bits:
		return v, fmt.Errorf("only %d bits of %s are defined, and %d are read", v.t.bits, m.function.arch.general[r], bits)
	}
	n, err := m.number(v)
	if err != nil {
		return v, err
	}
	return value{t: m.extract(n, 0, bits)}, nil
}

func (m *machine) writeGeneral(r int, v value) error {
	if why := m.function.arch.reserved[m.function.arch.general[r]]; why != "" {
		return fmt.Errorf("writes %s: %s", m.function.arch.general[r], why)
	}
	m.general[r] = v
	return nil
}

// number returns a value as a number. Of addresses, only dst's may become a number, because
// dst is tried with each alignment.
func (m *machine) number(v value) (*term, error) {
	if v.region == nil {
		return v.t, nil
	}
	if !v.region.writable {
		return nil, fmt.Errorf("something depends on the address of %s, want only on that of dst", v.region.name)
	}
	v.region.seen = true
	return m.add(m.addressOf(v.region), v.t), nil
}

// addressName names the symbol for the high bits of dst's address.
const addressName = "address:"

// addressOf returns the address of a region. Its low bits are known.
func (m *machine) addressOf(r *region) *term {
	return m.concat(m.constant(m.granule, uint64(r.align)), m.symbol(64-m.granule, addressName, 0))
}

// decide reports whether a bit that a jump depends on is set. If it depends on arguments, the
// situation is run with either outcome.
func (m *machine) decide(t *term) (bool, error) {
	switch {
	case t.op == opConst:
		return t.val == 1, nil
	case t.op == opEq && t.a.is(0) && m.nonzero[t.b]:
		return false, nil
	case t.op == opNot:
		is, err := m.decide(t.a)
		return !is, err
	}
	for _, x := range symbolsOf(t) {
		if !uniform(x.name) || x.name == addressName {
			return m.decideActive(t)
		}
	}
	// The same bit is not decided twice.
	not := m.not(t)
	switch {
	case slices.Contains(m.outcomes, t):
		return true, nil
	case slices.Contains(m.outcomes, not):
		return false, nil
	case len(m.choices) == 0:
		return false, errChoice
	}
	is := m.choices[0] == '1'
	m.choices = m.choices[1:]
	if is {
		m.outcomes = append(m.outcomes, t)
	} else {
		m.outcomes = append(m.outcomes, not)
	}
	return is, nil
}

// given returns the conjunction of the outcomes whose symbols all satisfy of.
func (m *machine) given(of func(symbol *term) bool) *term {
	given := m.constant(1, 1)
	for _, t := range m.outcomes {
		if !slices.ContainsFunc(symbolsOf(t), func(x *term) bool { return !of(x) }) {
			given = m.and(given, t)
		}
	}
	return given
}

// errChoice says that an argument decides where a run goes on, and no outcome is chosen.
var errChoice = errors.New("an argument decides where it goes on")

// known returns a value that must be a known number, because control flow or an address
// depends on it.
func known(v value) (uint64, error) {
	if v.region != nil || v.t.op != opConst {
		return 0, fmt.Errorf("%v decides something, want only lengths and addresses to", v)
	}
	return v.t.val, nil
}

func (v value) String() string {
	switch {
	case !v.defined():
		return "an undefined value"
	case v.region != nil:
		return fmt.Sprintf("%s%+d", v.region.name, int64(v.t.val))
	case v.t.op == opConst:
		return fmt.Sprintf("0x%x", v.t.val)
	}
	return "an operand"
}

// addValues returns a sum of 64 bits. One of the two values may be an address.
func (m *machine) addValues(v, w value) (value, error) {
	if v.region != nil && w.region != nil {
		return value{}, fmt.Errorf("sum of the addresses %v and %v", v, w)
	}
	region := v.region
	if region == nil {
		region = w.region
	}
	sum := value{m.add(v.t, w.t), region}
	if region != nil && sum.t.op != opConst {
		return value{}, fmt.Errorf("an address depends on an operand's value")
	}
	return sum, nil
}

// subValues returns a difference of 64 bits. If both values are addresses in one region, it
// is a number. An address less a number is an address.
func (m *machine) subValues(v, w value) (value, error) {
	difference := value{m.sub(v.t, w.t), v.region}
	switch {
	case v.region == w.region:
		difference.region = nil
	case w.region != nil:
		n, err := m.number(w)
		if err != nil {
			return value{}, err
		}
		x, err := m.number(v)
		if err != nil {
			return value{}, err
		}
		return value{t: m.sub(x, n)}, nil
	}
	return difference, nil
}

// Vector registers.

func (m *machine) readVector(r, size, bits int) (*vec, error) {
	if m.touch != nil && !slices.Contains(m.touch.reads, r) {
		m.touch.reads = append(m.touch.reads, r)
	}
	if m.vectors[r] == nil {
		return nil, fmt.Errorf("%s%d is undefined", m.function.arch.vector, r)
	}
	return m.view(m.vectors[r], size, bits), nil
}

func (m *machine) writeVector(r int, v *vec) {
	if m.touch != nil {
		m.touch.writes = append(m.touch.writes, r)
	}
	m.vectors[r] = v
	m.dirty = true
}

// view returns the lowest size bytes of a register as lanes of the given width. If bits is 0,
// lanes keep their width.
func (s *terms) view(v *vec, size, bits int) *vec {
	if bits == 0 {
		bits = min(v.bits, size*8)
	}
	if v.size() == size && v.bits == bits {
		return v
	}
	for _, have := range v.views {
		if have.size() == size && have.bits == bits {
			return have
		}
	}
	w := &vec{bits: bits}
	for low := 0; low < size*8; low += bits {
		w.lanes = append(w.lanes, s.bitsOf(v, low, bits))
	}
	v.views = append(v.views, w)
	return w
}

// bitsOf returns bits of a register, from low on.
func (s *terms) bitsOf(v *vec, low, bits int) *term {
	var parts []*term
	for bits > 0 {
		lane, at := low/v.bits, low%v.bits
		n := min(v.bits-at, bits)
		if lane < len(v.lanes) {
			parts = append(parts, s.extract(v.lanes[lane], at, n))
		} else {
			parts = append(parts, s.constant(n, 0))
		}
		low, bits = low+n, bits-n
	}
	return s.join(parts)
}

// zeros returns a vector of zeros, always the same for a size.
func (s *terms) zeros(size int) *vec {
	if s.zero == nil {
		s.zero = &vec{bits: 64, lanes: []*term{s.constant(64, 0)}}
	}
	return s.view(s.zero, size, 0)
}

// Memory.

// within returns the region that an access is in, and the offset.
func (m *machine) within(v value, size int) (*region, int, error) {
	if v.region == nil {
		return nil, 0, fmt.Errorf("access to %v, want an operand's address", v)
	}
	offset := int(int64(v.t.val))
	if r := v.region; offset < r.from || offset+size > r.to {
		return nil, 0, fmt.Errorf("access to bytes %d to %d of %s, which has bytes %d to %d", offset, offset+size-1, r.name, r.from, r.to-1)
	}
	return v.region, offset, nil
}

// memory returns the address of an operand in memory.
func (m *machine) memory(o operand) (value, error) {
	if o.kind == isStatic {
		r, err := m.constantRegion(o.name)
		at := value{m.constant(64, uint64(o.disp)), r}
		if m.touch != nil {
			m.touch.at = at
		}
		return at, err
	}
	sum, err := m.readGeneral(o.base, 64)
	if err == nil && o.index >= 0 {
		var index value
		if index, err = m.readGeneral(o.index, 64); err == nil {
			if o.scale > 1 {
				var n uint64
				if n, err = known(index); err != nil {
					return value{}, err
				}
				index = value{t: m.constant(64, n*o.scale)}
			}
			sum, err = m.addValues(sum, index)
		}
	}
	if err != nil {
		return value{}, err
	}
	sum, err = m.addValues(sum, value{t: m.constant(64, uint64(o.disp))})
	if err == nil && sum.region == nil {
		_, err = known(sum)
	}
	if m.touch != nil {
		m.touch.at = sum
	}
	return sum, err
}

// load loads lanes of the given width. If bits is 0, it loads the region's lanes, or bytes if
// the access is not of whole lanes. If there is a guard, lanes that are zero in it are not
// accessed, and are loaded as zeros.
func (m *machine) load(v value, size, bits int, guard *term) (*vec, error) {
	if bits == 0 {
		bits = 8
		if r := v.region; r != nil && r.bits > 8 && int(v.t.val)*8%r.bits == 0 && size*8%r.bits == 0 {
			bits = r.bits
		}
	}
	m.learn(v, access{size: size, bits: bits, guarded: guard != nil})
	n := bits / 8
	first, end := m.guarded(guard, size/n)
	if first == end {
		return m.zeros(size), nil
	}
	r, offset, err := m.within(value{m.constant(64, v.t.val+uint64(first*n)), v.region}, (end-first)*n)
	if err != nil {
		return nil, err
	}
	if err := m.reads(r, offset, (end-first)*n); err != nil {
		return nil, err
	}
	if err := m.guardedBySkip(r, offset, (end-first)*n); err != nil {
		return nil, err
	}
	if m.touch != nil {
		m.follow(r, offset, size)
	}
	offset -= first * n
	key := loadKey{r.content, offset, size, bits, guard}
	if have := m.loads[key]; have != nil && r.fixed() {
		return have, nil
	}
	loaded := &vec{bits: bits}
	for lane := range size / n {
		t := m.constant(bits, 0)
		if guard == nil || !m.extract(guard, lane, 1).is(0) {
			if t, err = m.loadTerm(r, offset+lane*n, bits); err != nil {
				return nil, err
			}
		}
		loaded.lanes = append(loaded.lanes, t)
	}
	if r.fixed() {
		m.loads[key] = loaded
		return loaded, nil
	}
	return m.once(loaded), nil
}

// once returns the vector that first had the same lanes.
func (m *model) once(v *vec) *vec {
	key := make([]byte, 0, 4*len(v.lanes))
	for _, t := range v.lanes {
		key = binary.LittleEndian.AppendUint32(key, t.id)
	}
	if have := m.vecs[string(key)]; have != nil {
		return have
	}
	m.vecs[string(key)] = v
	return v
}

// guarded returns the first lane that a guard lets be accessed, and the end of these lanes.
func (m *machine) guarded(guard *term, lanes int) (first, end int) {
	if guard == nil {
		return 0, lanes
	}
	for lane := range lanes {
		if !m.extract(guard, lane, 1).is(0) {
			if end == 0 {
				first = lane
			}
			end = lane + 1
		}
	}
	return first, end
}

// fixed reports whether a region holds the same in every run and at all times.
func (r *region) fixed() bool { return !r.writable && !r.scratch && r.stands == nil }

// reads checks the order of reads and writes.
func (m *machine) reads(r *region, offset, size int) error {
	if m.blind {
		return m.readsBlind(r, offset, size)
	}
	if !m.stored || m.dst.written == nil {
		return nil
	}
	if m.overlap && !r.writable && r.data == nil {
		return fmt.Errorf("reads %s after dst was written, which it may overlap", r.name)
	}
	if !m.overlap && !(r.exact && r.stands == nil) {
		return nil
	}
	if r.writable || r.exact {
		if bytes.IndexByte(m.dst.written[offset:offset+size], 1) < 0 {
			return nil
		}
		if r.writable && m.overlap {
			return fmt.Errorf("reads bytes %d to %d of dst after it wrote some of them, which may be another operand", offset, offset+size-1)
		}
		r.reread = true
	}
	return nil
}

func (m *machine) loadTerm(r *region, offset, bits int) (*term, error) {
	if _, ok := r.pointers[offset]; ok {
		return nil, fmt.Errorf("loads an address as data")
	}
	if t := r.fields[offset]; t != nil && bits <= t.bits {
		return m.extract(t, 0, bits), nil
	}
	if r.stands != nil {
		r = r.stands
	}
	var parts []*term
	for i := 0; i < bits/8; {
		c, err := m.byteAt(r, offset+i)
		if err != nil {
			return nil, err
		}
		n := 1
		for i+n < bits/8 && int(c.k)+n < c.t.bits/8 {
			next, err := m.byteAt(r, offset+i+n)
			if err != nil {
				return nil, err
			}
			if next != (cell{c.t, c.k + uint8(n)}) {
				break
			}
			n++
		}
		parts = append(parts, m.extract(c.t, int(c.k)*8, n*8))
		i += n
	}
	return m.join(parts), nil
}

// byteAt returns the content of a byte of memory.
func (m *machine) byteAt(r *region, offset int) (cell, error) {
	switch {
	case r.cells != nil && r.cells[offset].t != nil:
		return r.cells[offset], nil
	case r.data != nil:
		return cell{m.constant(8, uint64(r.data[offset])), 0}, nil
	case r.bits == 0:
		return cell{}, fmt.Errorf("nothing is known of byte %d of %s", offset, r.name)
	case r.bits < 8:
		var lanes []*term
		for i := range 8 / r.bits {
			lanes = append(lanes, m.symbol(r.bits, r.content, offset*8/r.bits+i))
		}
		return cell{m.join(lanes), 0}, nil
	}
	n := r.bits / 8
	return cell{m.symbol(r.bits, r.content, offset/n), uint8(offset % n)}, nil
}

// store stores lanes. If there is a guard, lanes that are zero in it are not accessed. If a
// lane's bit in the guard depends on an operand, the lane may keep its old value.
func (m *machine) store(v value, x *vec, guard *term) error {
	if m.blind {
		return m.storeScalar(v, x.lanes[0])
	}
	m.learn(v, access{size: x.size(), bits: x.bits, guarded: guard != nil, store: true})
	n := x.bits / 8
	first, end := m.guarded(guard, len(x.lanes))
	if first == end {
		return nil
	}
	r, at, err := m.within(value{m.constant(64, v.t.val+uint64(first*n)), v.region}, (end-first)*n)
	if err != nil {
		return err
	}
	if !r.writable && !r.scratch {
		return fmt.Errorf("writes %s, want only dst written", r.name)
	}
	if m.apart {
		return errors.New("stores, want dst left as it was")
	}
	if err := m.guardedBySkip(r, at, (end-first)*n); err != nil {
		return err
	}
	if m.touch != nil {
		m.follow(r, at, x.size())
	}
	if r.cells == nil {
		r.cells = make([]cell, r.to)
		r.written = make([]byte, r.to)
		r.unguarded = make([]byte, r.to)
	}
	m.stored = m.stored || r.writable
	for lane := first; lane < end; lane++ {
		t, offset := x.lanes[lane], at+(lane-first)*n
		conditional := false
		if guard != nil {
			g := m.extract(guard, lane, 1)
			if g.is(0) {
				continue
			}
			if conditional = !g.is(1); conditional {
				old, err := m.loadTerm(r, offset, x.bits)
				if err != nil {
					return err
				}
				t = m.ite(g, t, old)
			}
		}
		m.progress += n
		for k := range n {
			delete(r.pointers, offset+k)
			r.cells[offset+k] = cell{t, uint8(k)}
			r.written[offset+k] = 1
			if !conditional {
				r.unguarded[offset+k] = 1
			}
		}
	}
	if m.stores != nil && r == m.dst {
		return m.stores(at, (end-first)*n)
	}
	return nil
}

// loadValue loads a general register. If the memory holds an address, it returns that.
func (m *machine) loadValue(v value, bits int) (value, error) {
	r, offset, err := m.within(v, bits/8)
	if err != nil {
		return value{}, err
	}
	if p, ok := r.pointers[offset]; ok && bits == 64 {
		return p, nil
	}
	loaded, err := m.load(v, bits/8, bits, nil)
	if err != nil {
		return value{}, err
	}
	return value{t: loaded.lanes[0]}, nil
}

// argument returns the argument that an operand names. The operand must read all of it.
func (m *machine) argument(o operand, bits int) (value, error) {
	for _, p := range m.function.params {
		if p.name != o.name {
			continue
		}
		if int64(p.offset) != o.disp || p.size*8 != bits {
			return value{}, fmt.Errorf("reads %d bytes at %d, want the %d of %s at %d", bits/8, o.disp, p.size, p.name, p.offset)
		}
		m.used[m.roles[p.name]] = true
		return m.arguments[p.name], nil
	}
	return value{}, fmt.Errorf("no argument %s", o.name)
}

// constantRegion returns a region for a file's read-only data.
func (m *machine) constantRegion(name string) (*region, error) {
	data, ok := m.function.static[name]
	if !ok {
		return nil, fmt.Errorf("no data %s", name)
	}
	return &region{name: name, content: name, bits: 8, to: len(data), data: data}, nil
}

// result returns an instruction's result, which is computed once for the same sources.
func (m *machine) result(in *inst, mask *term, compute func() (*vec, error), sources ...*vec) (*vec, error) {
	key := resultKey{in: in, mask: mask}
	copy(key.sources[:], sources)
	if have := m.results[key]; have != nil {
		return have, nil
	}
	v, err := compute()
	if err == nil {
		m.results[key] = v
	}
	return v, err
}

// each computes a vector lane by lane.
func each(bits int, f func(lanes []*term) *term, sources ...*vec) *vec {
	v := &vec{bits: bits}
	lanes := make([]*term, len(sources))
	for i := range sources[0].lanes {
		for s, source := range sources {
			lanes[s] = source.lanes[i]
		}
		v.lanes = append(v.lanes, f(lanes))
	}
	return v
}
