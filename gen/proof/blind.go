package proof

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A blind run executes a function without lanes. General registers, flags, masks, addresses
// and the order of instructions are as in a run with lanes. A vector register holds a shade:
// a number for the way in which its value was made, and a lane from which the way is
// counted. The same instructions, on data loaded from the same places relative to a lane,
// give the same number. A stamp identifies a stored value in the same way, relative to the
// lane where it goes.
//
// Runs with lanes show which stamps are right: every value that they store in a lane must
// meet the specification. Equal stamps are equal expressions, except for the lane. So a blind
// run is right if all its stamps are known to be right. If a stamp is not known, or no run
// with lanes has executed an instruction of it, the same situation is run with lanes.
//
// Most turns of long loops are left out. If two turns differ only by even steps, they stand
// for all later turns whose jumps go the same way.

// A shade identifies the value of a vector register in a blind run.
type shade struct {
	id   uint32 // 0 if the register is undefined
	lane int32  // the lane from which it is counted
	lies bool   // it depends on the lane
}

// A part is one source of a value: a shade, a term or a place in memory.
type part struct {
	what uint32 // partShade, partTerm or partMemory, plus 1; for memory, also the bits past a lane
	id   uint32
	lane int32
}

const (
	partShade = iota
	partTerm
	partMemory
	partCount
)

// If a part depends on no lane, its lane is noLane.
const noLane = math.MinInt32

// A stamp is an instruction and its sources, with lanes counted from the first of them.
type stamp struct {
	pc    int32 // four times the instruction's number, plus the result's number
	store bool
	lane  int32  // store: the lane that it goes to, or noLane
	where uint32 // store: a number for all else that the theorem depends on
	parts [8]part
}

// A touch lists the vector registers and the memory that an instruction uses. A run with
// lanes finds them out.
type touch struct {
	at       value // the address of its operand in memory
	reads    []int // vector registers
	writes   []int
	accesses []access

	last stamp  // of the last result
	id   uint32 // its number
}

// An access is to size bytes. They begin from bytes after an operand's address.
type access struct {
	from       int64
	size, bits int
	guarded    bool
	store      bool
}

// A blindness holds what the blind runs of a model share.
type blindness struct {
	touches   []*touch
	stamps    map[stamp]uint32
	right     map[stamp]bool
	usedLog   []event // to be used again
	usedHeads []arrivals
	lastRight []stamp           // the last right stamp of each instruction, for speed
	names     map[string]uint32 // the numbers of regions' contents
	forms     map[*term]shade
	ends      map[guardKey][2]int
}

type guardKey struct {
	guard *term
	lanes int
}

func newBlindness(f *function) *blindness {
	return &blindness{
		touches: make([]*touch, len(f.insts)), stamps: map[stamp]uint32{}, right: map[stamp]bool{}, names: map[string]uint32{},
		lastRight: make([]stamp, len(f.insts)),
		forms:     map[*term]shade{}, ends: map[guardKey][2]int{},
	}
}

// errUnseen says that no run with lanes has executed an instruction yet.
var errUnseen = errors.New("no run with lanes has executed it")

// errReread says that a run reads what it wrote. A blind run does not follow that.
var errReread = errors.New("it reads what it wrote")

// A sight is the state that a blind run has instead of vectors.
type sight struct {
	blind   bool
	shades  [32]shade
	unknown []stamp // stamps of stores that are not known to be right
	covered []span  // the bytes of dst that were written, in order
	log     []event
	heads   []arrivals // at each loop
	theorem string     // what theorems depend on besides stored values and decisions
	where   uint32     // a number for theorem and the decisions
	decided int        // the number of decisions when where was set
	every   bool       // no turn is left out
	most    int        // lanes of the longest turn
}

// A span is the bytes at from and after it, and before to.
type span struct{ from, to int }

// visible reports whether an instruction computes with lanes.
func (in *inst) visible() bool {
	return slices.ContainsFunc(in.operands, func(o operand) bool {
		return o.kind == isVector || o.kind == isList && slices.ContainsFunc(o.list, func(o operand) bool { return o.kind == isVector })
	})
}

// shadeOf returns the shade of a term, counted from its first symbol's lane.
func (m *machine) shadeOf(t *term) shade {
	if s, ok := m.forms[t]; ok {
		return s
	}
	s := shade{id: t.id}
	for _, x := range symbolsOf(t) {
		if !uniform(x.name) {
			s = shade{id: m.relative(t, int(int64(x.val))).id, lane: int32(x.val), lies: true}
			break
		}
	}
	m.forms[t] = s
	return s
}

// nameOf returns a number for a region's content.
func (m *machine) nameOf(content string) uint32 {
	id, ok := m.names[content]
	if !ok {
		id = uint32(len(m.names)) + 1
		m.names[content] = id
	}
	return id
}

// A source is a part whose lane is not yet counted from another.
type source struct {
	what, id uint32
	lane     int32
	lies     bool
}

// stampOf returns the stamp of an instruction with these sources. The shade that it returns
// has the lane of a result, and no number yet.
func (m *machine) stampOf(pc int, sources []source) (stamp, shade, error) {
	p := stamp{pc: int32(pc)}
	var s shade
	if len(sources) > len(p.parts) {
		return p, s, errors.New("the proof does not know it with so many sources")
	}
	for _, x := range sources {
		if x.lies {
			s.lane, s.lies = x.lane, true
			break
		}
	}
	for i, x := range sources {
		p.parts[i] = part{x.what + 1, x.id, noLane}
		if x.lies {
			p.parts[i].lane = x.lane - s.lane
		}
	}
	return p, s, nil
}

// idOf returns a stamp's number.
func (m *machine) idOf(p stamp) uint32 {
	id, ok := m.stamps[p]
	if !ok {
		id = uint32(len(m.stamps)) + 1
		m.stamps[p] = id
	}
	return id
}

// stepBlind executes an instruction on vectors.
func (m *machine) stepBlind(in *inst) error {
	t := m.touches[m.pc]
	if t == nil {
		return errUnseen
	}
	var list [8]source
	sources := list[:0]
	for _, r := range t.reads {
		s := m.shades[r]
		if s.id == 0 {
			return fmt.Errorf("%s%d is undefined", m.function.arch.vector, r)
		}
		sources = append(sources, source{partShade, s.id, s.lane, s.lies})
	}
	var guard *term
	last := len(in.operands) - 1
	for i, o := range in.operands {
		var x *term
		switch {
		case o.kind == isMask && i < last:
			if x = m.masks[o.reg]; x == nil {
				return fmt.Errorf("mask K%d is undefined", o.reg)
			}
			guard = x
		case o.kind == isGeneral && i < last:
			v := m.general[o.reg]
			if !v.defined() {
				return fmt.Errorf("%s is undefined", m.function.arch.general[o.reg])
			}
			var err error
			if x, err = m.number(v); err != nil {
				return err
			}
		case o.kind == isArgument:
			v, ok := m.arguments[o.name]
			if !ok || v.region != nil {
				return errUnseen
			}
			m.used[m.roles[o.name]] = true
			x = v.t
		default:
			continue
		}
		s := m.shadeOf(x)
		sources = append(sources, source{partTerm, s.id, s.lane, s.lies})
	}
	var at value
	if len(t.accesses) > 0 {
		for _, o := range in.operands {
			if o.kind == isMemory || o.kind == isStatic {
				var err error
				if at, err = m.memory(o); err != nil {
					return err
				}
			}
		}
		if in.mnemonic == "VMOVNTDQ" {
			if err := m.aligned(at, in.operands[0].size); err != nil {
				return err
			}
			m.streamed = true
		}
	}
	for _, a := range t.accesses {
		if a.store {
			continue
		}
		s, ok, err := m.loadBlind(at, a, guard)
		if err != nil {
			return err
		}
		if ok {
			sources = append(sources, s)
		}
	}
	p, s, err := m.stampOf(m.pc*4, sources)
	if err != nil {
		return err
	}
	for i, a := range t.accesses {
		if a.store {
			p.pc = int32(m.pc*4 + i)
			if err := m.storeBlind(at, a, guard, p, s); err != nil {
				return err
			}
		}
	}
	for i, r := range t.writes {
		p.pc = int32(m.pc*4 + i)
		if i > 0 || t.last != p {
			t.last, t.id = p, m.idOf(p)
		}
		m.shades[r] = shade{t.id, s.lane, s.lies}
		m.dirty = true
	}
	switch o := in.operands[last]; {
	case o.kind == isGeneral:
		if err := m.writeGeneral(o.reg, value{t: m.unknownTerm(p, s)}); err != nil {
			return err
		}
		m.logValue(m.general[o.reg])
	case o.kind == isMask:
		m.masks[o.reg] = m.unknownTerm(p, s)
	}
	if in.post != 0 {
		base := in.operands[0].base
		moved, err := m.addValues(m.general[base], value{t: m.constant(64, uint64(in.post))})
		if err != nil {
			return err
		}
		return m.writeGeneral(base, moved)
	}
	return nil
}

// unknownTerm returns a symbol for a result that is in no vector register.
func (m *machine) unknownTerm(p stamp, s shade) *term {
	if !s.lies {
		return m.symbol(64, fmt.Sprint("made", m.idOf(p), ":"), 0)
	}
	return m.symbol(64, fmt.Sprint("made", m.idOf(p)), int(s.lane))
}

// bounds returns the first lane that a guard lets be accessed, and the end of these lanes.
func (m *machine) bounds(guard *term, lanes int) (first, end int) {
	if guard == nil {
		return 0, lanes
	}
	key := guardKey{guard, lanes}
	have, ok := m.ends[key]
	if !ok {
		have[0], have[1] = m.guarded(guard, lanes)
		m.ends[key] = have
	}
	return have[0], have[1]
}

// loadBlind returns the place that an access reads, and whether it reads anything.
func (m *machine) loadBlind(at value, a access, guard *term) (source, bool, error) {
	if !a.guarded {
		guard = nil
	}
	n := a.bits / 8
	first, end := m.bounds(guard, a.size/n)
	if first == end {
		return source{}, false, nil
	}
	from := uint64(int64(at.t.val) + a.from)
	r, offset, err := m.within(value{m.constant(64, from+uint64(first*n)), at.region}, (end-first)*n)
	if err != nil {
		return source{}, false, err
	}
	if err := m.readsBlind(r, offset, (end-first)*n); err != nil {
		return source{}, false, err
	}
	if m.every {
		m.follow(r, offset, a.size)
	}
	offset -= first * n
	switch {
	case r.fields != nil:
		t, err := m.loadTerm(r, offset, a.size*8)
		if err != nil {
			return source{}, false, err
		}
		s := m.shadeOf(t)
		return source{partTerm, s.id, s.lane, s.lies}, true, nil
	case r.data != nil || r.bits == 0:
		return source{partMemory + uint32(offset)*partCount, m.nameOf(r.content), 0, false}, true, nil
	}
	lane, rest := floor(offset*8, r.bits)
	return source{partMemory + uint32(rest)*partCount, m.nameOf(r.content), int32(lane), true}, true, nil
}

func floor(x, by int) (quotient, rest int) {
	quotient, rest = x/by, x%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}

// readsBlind does what reads does, in a blind run.
func (m *machine) readsBlind(r *region, offset, size int) error {
	if r == m.dst || r.exact {
		m.log = append(m.log, event{kind: eventRead, pc: m.pc, from: offset, to: offset + size})
	}
	if len(m.covered) == 0 {
		return nil
	}
	if m.overlap && !r.writable && r.data == nil {
		return fmt.Errorf("reads %s after dst was written, which it may overlap", r.name)
	}
	if r == m.dst || r.exact {
		for _, s := range m.covered {
			if s.from < offset+size && offset < s.to {
				return errReread
			}
		}
	}
	return nil
}

// storeBlind stores a value, given its stamp and the shade whose lane the stamp is counted
// from.
func (m *machine) storeBlind(at value, a access, guard *term, p stamp, s shade) error {
	if !a.guarded {
		guard = nil
	}
	n := a.bits / 8
	first, end := m.bounds(guard, a.size/n)
	if first == end {
		return nil
	}
	from := uint64(int64(at.t.val) + a.from)
	r, offset, err := m.within(value{m.constant(64, from+uint64(first*n)), at.region}, (end-first)*n)
	if err != nil {
		return err
	}
	if !r.writable {
		return fmt.Errorf("writes %s, want only dst written", r.name)
	}
	if m.every && m.function.insts[m.pc].vector {
		m.follow(r, offset, a.size)
	}
	if r != m.dst {
		return nil // another situation is about that column
	}
	size := (end - first) * n
	for lane := first; guard != nil && lane < end; lane++ {
		if m.extract(guard, lane, 1).is(0) {
			return errUnseen // a run with lanes must say which lanes are written
		}
	}
	m.stored = true
	m.cover(span{offset, offset + size})
	lane, rest := floor((offset-first*n)*8, r.bits)
	if rest != 0 || size*8%r.bits != 0 {
		return fmt.Errorf("stores a part of a lane")
	}
	if m.decided != len(m.outcomes) || m.where == 0 {
		given := m.given(func(*term) bool { return true })
		m.decided, m.where = len(m.outcomes), m.nameOf(fmt.Sprint(m.theorem, " ", given.id))
	}
	p.store, p.lane, p.where = true, noLane, m.where
	if s.lies {
		p.lane = int32(lane) - s.lane
	}
	if m.lastRight[m.pc] != p {
		if m.right[p] {
			m.lastRight[m.pc] = p
		} else {
			m.unknown = append(m.unknown, p)
		}
	}
	m.log = append(m.log, event{kind: eventStore, pc: m.pc, from: offset, to: offset + size})
	return nil
}

// storeScalar stores a term in a blind run.
func (m *machine) storeScalar(at value, t *term) error {
	form := m.shadeOf(t)
	p, s, err := m.stampOf(m.pc*4, []source{{partTerm, form.id, form.lane, form.lies}})
	if err != nil {
		return err
	}
	return m.storeBlind(at, access{size: t.bits / 8, bits: t.bits}, nil, p, s)
}

// execute executes one instruction.
func (m *machine) execute(in *inst) error {
	switch {
	case m.blind && in.vector:
		return m.stepBlind(in)
	case m.blind:
		err := in.run(m, in)
		m.logResult(in)
		return err
	case !in.vector || m.blindness == nil:
		return in.run(m, in)
	}
	m.touch = &touch{}
	err := in.run(m, in)
	if err == nil && m.touches[m.pc] == nil {
		m.touches[m.pc] = m.touch
	}
	m.touch = nil
	return err
}

// learn adds an access to the instruction's touch, if that is being found out.
func (m *machine) learn(v value, a access) {
	if m.touch != nil && m.touch.at.t != nil {
		a.from = int64(v.t.val - m.touch.at.t.val)
		m.touch.accesses = append(m.touch.accesses, a)
	}
}

// cover adds to the bytes of dst that were written.
func (m *machine) cover(s span) {
	i := 0
	for i < len(m.covered) && m.covered[i].to < s.from {
		i++
	}
	j := i
	for j < len(m.covered) && m.covered[j].from <= s.to {
		s.from, s.to = min(s.from, m.covered[j].from), max(s.to, m.covered[j].to)
		j++
	}
	m.covered = slices.Replace(m.covered, i, j, s)
}

// follow adds an access to the trace, which must be the same with lanes and without.
func (m *machine) follow(r *region, offset, size int) {
	for _, x := range [...]uint64{uint64(m.pc), uint64(m.nameOf(r.name)), uint64(offset), uint64(size)} {
		m.trace = (m.trace ^ x) * 0x100000001b3
	}
}

// Turns that are left out.

// A turn depends on its events. An event is a comparison for a jump, a value that need not
// move on evenly, or an access.
type event struct {
	kind     eventKind
	pc       int
	x, y     *term
	from, to int
}

type eventKind int

const (
	eventCompared eventKind = iota // x and y are numbers that are compared
	eventValue                     // x is a value
	eventRead
	eventStore
	eventLeft // turns were left out
)

// A head is the state at the start of a turn.
type head struct {
	at      int // the loop's first instruction
	general [32]value
	masks   [8]*term
	shades  [32]shade
	events  int // the number of events in the log so far
}

// logCompared logs the flags, on which the next jump depends.
func (m *machine) logCompared(f flags) {
	if !m.blind {
		return
	}
	if f.even && f.x != nil && f.x.op == opConst && f.y.op == opConst && f.x.bits == 64 {
		m.log = append(m.log, event{kind: eventCompared, pc: m.pc, x: f.x, y: f.y})
		return
	}
	for _, t := range []*term{f.x, f.y, f.zero, f.below, f.less} {
		if t != nil {
			m.log = append(m.log, event{kind: eventValue, pc: m.pc, x: t})
		}
	}
}

func (m *machine) logValue(v value) {
	if v.t != nil {
		m.log = append(m.log, event{kind: eventValue, pc: m.pc, x: v.t})
	}
}

// evenly lists the instructions whose results are sums of multiples of their operands.
var evenly = strings.Fields("MOVQ MOVD ADDQ SUBQ LEAQ DECQ CMPQ NEGQ ADD ADDS SUB SUBS CMP NEG")

// sums reports whether an instruction's result is a sum of multiples of its operands.
func (in *inst) sums() bool {
	return slices.Contains(evenly, in.mnemonic) &&
		(in.mnemonic == "LEAQ" || !slices.ContainsFunc(in.operands, func(o operand) bool { return o.kind == isMemory }))
}

// logResult logs the result of an instruction on general registers or masks, if it need not
// move on evenly.
func (m *machine) logResult(in *inst) {
	if in.even || len(in.operands) == 0 {
		return
	}
	switch o := in.operands[len(in.operands)-1]; {
	case o.kind == isGeneral:
		m.logValue(m.general[o.reg])
	case o.kind == isMask:
		m.logValue(value{t: m.masks[o.reg]})
	}
}

// arrivals holds the states at the last three arrivals at a loop's head.
type arrivals struct {
	count int
	list  [3]head
}

// arrive runs at the end of each turn. If it can, it leaves out the turns that follow.
func (m *machine) arrive() {
	i := 0
	for i < len(m.heads) && m.heads[i].list[0].at != m.next {
		i++
	}
	if i == len(m.heads) {
		if i < cap(m.heads) {
			m.heads = m.heads[:i+1]
		} else {
			m.heads = append(m.heads, arrivals{})
		}
		m.heads[i].count = 0
	}
	a := &m.heads[i]
	if a.count == len(a.list) {
		a.list[0], a.list[1] = a.list[1], a.list[2]
		a.count--
	}
	a.list[a.count] = head{m.next, m.general, m.masks, m.shades, len(m.log)}
	if a.count++; a.count == len(a.list) && m.leaveOut(a.list[:]) {
		m.heads = m.heads[:0]
	}
}

// leaveOut finds how many turns are sure to be like the last two. It leaves out all but two
// of them, and reports whether there were any.
func (m *machine) leaveOut(list []head) bool {
	before := m.log[list[0].events:list[1].events]
	now := m.log[list[1].events:list[2].events]
	if len(now) != len(before) {
		return false
	}
	bytesOf := func(events []event, kind eventKind) span {
		s := span{math.MaxInt, math.MinInt}
		for _, e := range events {
			if e.kind == kind {
				s.from, s.to = min(s.from, e.from), max(s.to, e.to)
			}
		}
		return s
	}
	stored, storedBefore := bytesOf(now, eventStore), bytesOf(before, eventStore)
	step := stored.from - storedBefore.from
	if stored.to < stored.from || step <= 0 || stored.to-storedBefore.to != step || stored.to-stored.from < step ||
		len(m.covered) == 0 || m.covered[len(m.covered)-1].to != stored.to || m.covered[len(m.covered)-1].from > stored.from {
		return false
	}
	lanes := step * 8 / m.dst.bits
	if lanes*m.dst.bits != step*8 {
		return false
	}
	m.most = max(m.most, lanes)
	if m.every || bytesOf(now, eventRead).from < stored.from {
		return false
	}
	// moves reports whether a term moved on by lanes in both turns, or in neither.
	moves := func(a, b, c *term) bool {
		if a == b && b == c {
			return true
		}
		if a == nil || b == nil || c == nil || a.op == opConst || b.op == opConst || c.op == opConst {
			return false
		}
		x, y, z := m.shadeOf(a), m.shadeOf(b), m.shadeOf(c)
		return x.lies && x.id == y.id && y.id == z.id && int(z.lane-y.lane) == lanes && int(y.lane-x.lane) == lanes
	}
	const most = 1 << 40
	turns := uint64(most)
	for i, e := range now {
		b := before[i]
		if e.kind != b.kind || e.pc != b.pc {
			return false
		}
		switch e.kind {
		case eventLeft:
			return false
		case eventRead, eventStore:
			if e.from-b.from != step || e.to-b.to != step {
				return false
			}
		case eventValue:
			if e.x != b.x && !m.moved(b.x, e.x, lanes) {
				return false
			}
		case eventCompared:
			x, y, dx, dy := int64(e.x.val), int64(e.y.val), int64(e.x.val-b.x.val), int64(e.y.val-b.y.val)
			if dx == 0 && dy == 0 {
				continue
			}
			if min(x, y) < 0 || max(x, y) > most || max(dx, dy) > most || min(dx, dy) < -most {
				return false
			}
			turns = min(turns, sameSign(x, dx), sameSign(y, dy), sameSign(x-y, dx-dy))
		}
	}
	if turns == most || turns < 3 {
		return false
	}
	left := turns - 2
	next := *m
	for r, v := range list[2].general {
		w, u := list[1].general[r], list[0].general[r]
		switch {
		case v == w && w == u:
		case !v.defined() || !w.defined() || !u.defined() || v.region != w.region || w.region != u.region:
			return false
		case v.t.op == opConst && w.t.op == opConst && u.t.op == opConst && v.t.bits == 64 && v.t.val-w.t.val == w.t.val-u.t.val:
			next.general[r] = value{m.constant(64, v.t.val+left*(v.t.val-w.t.val)), v.region}
		case v.region == nil && moves(u.t, w.t, v.t):
			next.general[r] = value{t: m.relative(v.t, -int(left)*lanes)}
		default:
			return false
		}
	}
	for r, t := range list[2].masks {
		w, u := list[1].masks[r], list[0].masks[r]
		if !moves(u, w, t) {
			return false
		}
		if t != w {
			next.masks[r] = m.relative(t, -int(left)*lanes)
		}
	}
	for r, s := range list[2].shades {
		w, u := list[1].shades[r], list[0].shades[r]
		if s.id != w.id || w.id != u.id || s.lies != w.lies || w.lies != u.lies || s.lane-w.lane != w.lane-u.lane {
			return false
		}
		next.shades[r].lane += int32(left) * (s.lane - w.lane)
	}
	*m = next
	m.flags = flags{}
	m.cover(span{stored.from, stored.to + int(left)*step})
	m.log = append(m.log, event{kind: eventLeft})
	return true
}

// moved reports whether now is before, moved on by lanes.
func (m *machine) moved(before, now *term, lanes int) bool {
	if before.op == opConst || now.op == opConst {
		return false
	}
	x, y := m.shadeOf(before), m.shadeOf(now)
	return x.lies && x.id == y.id && int(y.lane-x.lane) == lanes
}

// sameSign returns for how many turns a number that moves on by d keeps its sign.
func sameSign(x, d int64) uint64 {
	switch {
	case d == 0:
		return math.MaxInt64
	case x == 0:
		return 0
	case x > 0 && d > 0 || x < 0 && d < 0:
		return math.MaxInt64
	}
	// The last turn before the number is 0 or has passed 0.
	n := uint64(max(x, -x)-1) / uint64(max(d, -d))
	return n
}

// blindly reports whether a situation can be run without lanes.
func (s *subject) blindly(at situation) bool {
	return (s.Shape == Slice || s.Shape == Pack || s.Shape == Unpack) && at.same == ""
}

// look runs a situation without lanes. If every is set, it leaves out no turn.
func (s *subject) look(at situation, every bool) (*machine, error) {
	m, err := s.machine(at)
	if err != nil {
		return nil, err
	}
	m.blind, m.every = true, every
	m.theorem = fmt.Sprint(at.signed, at.kinds, at.dst, at.base)
	m.log, m.heads = s.usedLog[:0], s.usedHeads[:0]
	defer func() { s.usedLog, s.usedHeads = m.log, m.heads }()
	if err = m.run(); err == nil {
		err = s.whole(m, at)
	}
	s.turn = max(s.turn, m.most)
	return m, err
}

// see remembers the stamps that a run with lanes has shown to be right.
func (s *subject) see(seen *machine, at situation) error {
	m, err := s.look(at, true)
	switch {
	case errors.Is(err, errReread):
		return nil // a situation that rereads is always run with lanes
	case err != nil:
		return err
	case m.trace != seen.trace:
		return errors.New("runs with lanes and without access other memory")
	}
	for _, p := range m.unknown {
		if !s.right[p] {
			s.right[p] = true
			s.news++
		}
	}
	return nil
}

// whole fails unless a blind run has written all of dst.
func (s *subject) whole(m *machine, at situation) error {
	want := span{at.low * m.dst.bits / 8, at.lanes * m.dst.bits / 8}
	if s.Shape == Unpack && len(at.kinds) == 0 {
		want = span{}
	}
	if want.from == want.to && len(m.covered) == 0 || len(m.covered) == 1 && m.covered[0] == want {
		return nil
	}
	return fmt.Errorf("writes the bytes %v of dst, want %v", m.covered, want)
}
