package proof

import "fmt"

// loops compares the states at the head of each loop, turn after turn. If they are the same,
// except that counters and lanes move on by the same step in each turn, then one turn stands
// for all. A loop within a loop is part of its turns.
type loops struct {
	last  map[int]*turn // by the loop's first instruction
	most  int           // lanes of the longest turn
	dense *denseLoop    // Dense: it compares the states instead
}

// A turn holds the state at the end of a turn.
type turn struct {
	general  [32]value
	vectors  [32]*vec
	masks    [8]*term
	progress int
	steps    *[32]uint64 // by how much each general register moved on
}

// arrive runs at the end of each turn. It returns an error if the turn differs from the last
// one in more than even steps.
func (l *loops) arrive(m *machine) error {
	if l.dense != nil {
		return l.dense.arrive(m)
	}
	now := &turn{general: m.general, vectors: m.vectors, masks: m.masks, progress: m.progress}
	before := l.last[m.next]
	l.last[m.next] = now
	if before == nil {
		return nil
	}
	lanes := (now.progress - before.progress) * 8 / m.dst.bits
	if lanes == 0 {
		return nil // the loop is over columns; their expressions are compared instead
	}
	l.most = max(l.most, lanes)
	now.steps = new([32]uint64)
	for r, v := range now.general {
		w := before.general[r]
		if v == w || v.defined() && w.defined() && v.region == w.region && m.relative(v.t, lanes) == w.t {
			continue
		}
		if !v.defined() || !w.defined() || v.region != w.region || v.t.op != opConst || w.t.op != opConst {
			return fmt.Errorf("%s is %v after a turn and %v after the next", m.function.arch.general[r], w, v)
		}
		now.steps[r] = v.t.val - w.t.val
	}
	if before.steps != nil && *before.steps != *now.steps {
		return fmt.Errorf("counters move on by %v in a turn and by %v in the next", *before.steps, *now.steps)
	}
	for r, v := range now.vectors {
		if !m.movedOn(before.vectors[r], v, lanes) {
			return fmt.Errorf("%s%d is not the same after a turn and the next", m.function.arch.vector, r)
		}
	}
	for r, t := range now.masks {
		if w := before.masks[r]; t != w && (t == nil || w == nil || m.relative(t, lanes) != w) {
			return fmt.Errorf("mask K%d is not the same after a turn and the next", r)
		}
	}
	return nil
}

// movedOn reports whether a vector is the same as before, or the same moved on by lanes.
func (m *machine) movedOn(before, now *vec, lanes int) bool {
	if before == now {
		return true
	}
	if before == nil || now == nil || before.size() != now.size() {
		return false
	}
	before = m.view(before, before.size(), now.bits)
	same, moved := true, true
	for i, t := range now.lanes {
		same = same && t == before.lanes[i]
		moved = moved && m.relative(t, lanes) == before.lanes[i]
	}
	return same || moved
}
