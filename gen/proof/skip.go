package proof

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// The bits of a mask may decide one thing: whether a kernel skips a set of lanes. A jump by
// these bits must go one way exactly if all lanes of the set are inactive. That way is run
// apart, up to the end of the loop's turn, the next such jump or the function's end. It may
// not write, since dst must stay as it was. The run goes on in the other way, with the lanes'
// bits unknown. The two ways meet at the first instruction that the way apart has come to as
// well. From there both must go on alike. So if the lanes are inactive, dst must hold the
// same there as at the jump. Registers that differ between the two ways become undefined, and
// nothing can read them.

// skippedLanes limits the lanes that guard an access. An operand may be accessed only if a
// jump skips the access. The lanes that the jump tests must include the accessed ones, and all
// must be in one block of skippedLanes, counted from a multiple of it.
const skippedLanes = 64

// A skip is a jump over inactive lanes whose two ways have not met yet.
type skip struct {
	lanes   map[*term]bool // the bits of the lanes that the jump skips
	cells   []cell         // dst at the jump, nil if it was not written
	at      map[int]state  // the instructions that the way apart comes to, and the state there
	returns bool           // the way apart comes to RET
}

// A state is all that the rest of a run can depend on, except memory and arguments.
type state struct {
	general [32]value
	vectors [32]*vec
	masks   [8]*term
	flags   flags
	dirty   bool
}

func (m *machine) state() state { return state{m.general, m.vectors, m.masks, m.flags, m.dirty} }

// A way is the choice at a jump by bits of the mask.
type way int

const (
	notChosen   way = iota
	allInactive     // as if none of the lanes was active
	someActive
)

// errSkip says that a jump skips these lanes if none of them is active, and that no way is
// chosen.
type errSkip struct{ lanes map[*term]bool }

func (*errSkip) Error() string { return "bits of the mask decide where it goes on" }

// decideActive does what decide does, for a bit that depends on data.
func (m *machine) decideActive(t *term) (bool, error) {
	lanes := map[*term]bool{}
	value, ok := m.ifInactive(t, lanes)
	switch {
	case !ok:
		return false, errors.New("data decides where it goes on")
	case m.way == notChosen:
		return false, &errSkip{lanes}
	case m.way == someActive:
		value = !value
	}
	return value, nil
}

// ifInactive reports whether a bit says if all lanes of some set are inactive. If so, it
// returns the bit's value for inactive lanes, and adds their bits to lanes.
func (m *machine) ifInactive(t *term, lanes map[*term]bool) (value, ok bool) {
	if t.op == opEq && t.a.is(0) {
		return true, m.collect(t.b, lanes)
	}
	if t.op == opSymbol {
		return false, m.collect(t, lanes)
	}
	// opNot compares one bit with 0, and opAnd joins comparisons.
	var all func(t *term) bool
	all = func(t *term) bool {
		switch t.op {
		case opNot:
			return m.collect(t.a, lanes)
		case opAnd:
			return all(t.a) && all(t.b)
		}
		return t.op == opEq && t.a.is(0) && m.collect(t.b, lanes)
	}
	return true, all(t)
}

// collect reports whether a term is 0 exactly if all lanes of some set are inactive, and adds
// these lanes' bits.
func (m *machine) collect(t *term, lanes map[*term]bool) bool {
	switch t.op {
	case opSymbol:
		lanes[t] = true
		return m.active != "" && t.name == m.active
	case opConst:
		return t.val == 0
	case opConcat, opOr:
		return m.collect(t.a, lanes) && m.collect(t.b, lanes)
	}
	return false
}

// skip runs the way of a jump on which none of the lanes is active, and then takes the other
// way.
func (m *machine) skip(in *inst, lanes map[*term]bool) error {
	s := &skip{lanes: lanes, cells: slices.Clone(m.dst.cells), at: map[int]state{}}
	apart := *m
	apart.way, apart.apart, apart.loops = allInactive, true, nil
	for range mostSteps {
		in := m.function.insts[apart.pc]
		err := apart.step(in)
		if next := new(errSkip); errors.As(err, &next) {
			break
		}
		if errors.Is(err, errChoice) {
			err = errors.New("an argument decides where it goes on, want nothing decided")
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %s: where no lane is active: %w", m.function.file, in.line, in.text, err)
		}
		apart.way = notChosen
		if s.returns = apart.ended; s.returns {
			break
		}
		back := apart.next <= apart.pc
		apart.pc = apart.next
		s.at[apart.pc] = apart.state()
		if back {
			break
		}
	}
	if len(apart.outcomes) != len(m.outcomes) || apart.streamed != m.streamed {
		return errors.New("the way where no lane is active does more than go on")
	}
	m.way = someActive
	err := m.step(in)
	m.way = notChosen
	m.skips = append(slices.Clip(m.skips), s)
	return err
}

// meet ends the skips whose ways meet at the next instruction, or at RET.
func (m *machine) meet() error {
	for i := len(m.skips) - 1; i >= 0; i-- {
		s := m.skips[i]
		apart, ok := s.at[m.next]
		if m.ended {
			apart, ok = m.state(), s.returns
		}
		switch {
		case !ok && m.ended:
			return errors.New("the ways of a jump by the mask do not meet")
		case !ok:
			continue
		}
		if err := m.unchanged(s); err != nil {
			return err
		}
		for r := range m.general {
			if m.general[r] != apart.general[r] {
				m.general[r] = value{}
			}
		}
		for r := range m.vectors {
			if m.vectors[r] != apart.vectors[r] {
				m.vectors[r] = nil
			}
		}
		for r := range m.masks {
			if m.masks[r] != apart.masks[r] {
				m.masks[r] = nil
			}
		}
		if m.flags != apart.flags {
			m.flags = flags{}
		}
		m.dirty = m.dirty || apart.dirty
		m.skips = slices.Delete(slices.Clone(m.skips), i, i+1)
	}
	return nil
}

// unchanged checks that dst holds the same as at a jump if the lanes that the jump skips are
// inactive.
func (m *machine) unchanged(s *skip) error {
	inactive := map[*term]*term{}
	for t := range s.lanes {
		inactive[t] = m.constant(1, 0)
	}
	before := *m.dst
	before.cells = s.cells
	for i := range m.dst.cells {
		now := m.dst.cells[i]
		if now.t == nil || s.cells != nil && now == s.cells[i] {
			continue
		}
		was, err := m.byteAt(&before, i)
		if err != nil {
			return err
		}
		kept := m.replaceAll(now.t, inactive)
		if (cell{kept, now.k}) != was && m.extract(kept, int(now.k)*8, 8) != m.extract(was.t, int(was.k)*8, 8) {
			return fmt.Errorf("byte %d of dst is another than if the jump is taken that skips %d lanes, want it alike where they are inactive", i, len(s.lanes))
		}
	}
	return nil
}

// guardedBySkip checks that a jump skips an access to an operand, as skippedLanes says.
func (m *machine) guardedBySkip(r *region, offset, size int) error {
	if m.active == "" || r.name == m.active || r.data != nil {
		return nil
	}
	for _, s := range m.skips {
		first, last := offset*8/r.bits, (offset*8+size*8-1)/r.bits
		skips := first/skippedLanes == last/skippedLanes
		for lane := range maps.Keys(s.lanes) {
			skips = skips && int(lane.val)/skippedLanes == first/skippedLanes
		}
		for lane := first; skips && lane <= last; lane++ {
			skips = s.lanes[m.symbol(1, m.active, lane)]
		}
		if skips {
			return nil
		}
	}
	return fmt.Errorf("accesses %s whether or not one of the lanes is active", r.name)
}
