package proof

import (
	"fmt"
	"strings"
)

// executePack runs a pack kernel. A turn of the loop over columns, by its kind, is
// taken to be the same whatever came before: claimColumns makes sure, with a column
// alone and in a row in which each kind comes after each.
func (s *subject) executePack() error {
	var kinds []int // of elements that are no larger than the lanes
	for size := 0; 8<<size <= s.Spec.Lane; size++ {
		kinds = append(kinds, size, size|SignKind)
	}
	lists := [][]int{{}}
	for _, kind := range kinds {
		lists = append(lists, []int{kind})
	}
	row := eachAfterEach(kinds)
	return s.lengths(func(n int, compare bool) error {
		run := func(at situation, low int) error {
			at.low, at.lanes = low, low+n
			_, err := s.alignments(at, compare)
			return err
		}
		// With and without lanes before the first.
		for _, low := range []int{0, 5} {
			for _, base := range []bool{false, true} {
				for _, list := range lists {
					if err := run(situation{kinds: list, base: base}, low); err != nil {
						return err
					}
				}
			}
		}
		if err := run(situation{kinds: row, base: true}, 0); err != nil {
			return err
		}
		if s.Spec.Bits < s.Spec.Lane {
			return nil // Go asks for no stream
		}
		// Here is a run for each alignment: the lengths take turns with all else.
		turn := n
		choose := func(of int) int {
			defer func() { turn /= of }()
			return turn % of
		}
		at := situation{stream: true, kinds: append(lists, row)[choose(len(lists)+1)], base: choose(2) > 0}
		return run(at, 5*choose(2))
	})
}

// eachAfterEach is a row in which each kind comes after each, itself too.
func eachAfterEach(kinds []int) []int {
	var row []int
	for i, kind := range kinds {
		row = append(row, kind)
		for _, other := range kinds[i+1:] {
			row = append(row, kind, other)
		}
	}
	return append(row, kinds[0])
}

// columns is the array that describes the columns.
func (s *subject) columns(m *machine, o Operand, at situation, operand func(string, int) *region) *region {
	array := operand(o.Name, 0)
	array.content = fmt.Sprint(o.Name, at.kinds)
	array.from, array.to = 0, len(at.kinds)*o.Size
	array.pointers, array.fields = map[int]value{}, map[int]*term{}
	for k, kind := range at.kinds {
		for _, f := range o.Fields {
			offset := k*o.Size + f.Offset
			switch f.Role {
			case Source:
				column := operand(columnName(f.Role, k), 8<<(kind&^SignKind))
				column.content = fmt.Sprint(column.name, "of", column.bits)
				column.exact = column.bits == s.Spec.Bits
				array.pointers[offset] = value{s.constant(64, 0), column}
			case Kind:
				array.fields[offset] = s.constant(64, uint64(kind))
			default:
				array.fields[offset] = s.symbol(64, columnName(f.Role, k)+":", 0)
			}
		}
	}
	return array
}

// columnName is the name of what a column is or has.
func columnName(role Role, k int) string {
	return fmt.Sprintf("%s%d", map[Role]string{Source: "column", Shift: "shift", MoveMask: "mask"}[role], k)
}

// claimColumns takes an expression apart: what each column makes of that before
// it, and the base at the bottom.
func (s *subject) claimColumns(key claimKey, lane int, at situation) error {
	key.same = fmt.Sprint(at.kinds, at.base)
	if s.packed[key] {
		return nil
	}
	have := key.have
	steps := make([]*term, len(at.kinds))
	for k := len(at.kinds) - 1; k >= 0; k-- {
		before, err := s.before(have, k)
		if err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
		steps[k] = s.replace(have, before, s.symbol(s.Spec.Bits, "before", 0))
		for _, role := range []Role{Source, Shift, MoveMask} {
			steps[k] = s.rename(steps[k], columnName(role, k), columnName(role, 0))
		}
		have = before
	}
	bottom := theorem{Spec: s.Spec, have: have, roles: map[string]Role{s.name(Keep): Keep, s.name(Constant): Constant}}
	bottom.Instruction = KeepBase
	if at.base {
		bottom.roles[s.name(Base)] = Base
	}
	s.add(claimKey{have: have, spec: bottom.Spec, same: fmt.Sprint(at.base)}, claim{bottom, lane, at})
	for k, step := range steps {
		th := theorem{Spec: s.Spec, have: step, roles: map[string]Role{"before": Before}}
		th.Word = 8 << (at.kinds[k] &^ SignKind)
		th.Instruction = Move
		if at.kinds[k]&SignKind != 0 {
			th.Instruction = AddSign
		}
		th.roles[fmt.Sprint(columnName(Source, 0), "of", th.Word)] = Source
		th.roles[columnName(Shift, 0)] = Shift
		th.roles[columnName(MoveMask, 0)] = MoveMask
		if s.add(claimKey{have: step, spec: th.Spec}, claim{th, lane, at}) && k > 0 {
			return fmt.Errorf("lane %d: column %d is not packed as it would be alone", lane, k)
		}
	}
	s.packed[key] = true
	return nil
}

// before is the greatest part of an expression that column k has no part in.
func (s *subject) before(t *term, k int) (*term, error) {
	of := map[*term]bool{nil: false} // whether the column has a part in it
	var uses func(t *term) bool
	uses = func(t *term) bool {
		if u, ok := of[t]; ok {
			return u
		}
		u := false
		if t.op == opSymbol {
			for _, role := range []Role{Source, Shift, MoveMask} {
				name := columnName(role, k)
				u = u || t.name == name+":" || role == Source && strings.HasPrefix(t.name, name+"of")
			}
		}
		for _, a := range []*term{t.a, t.b, t.c} {
			u = uses(a) || u
		}
		of[t] = u
		return u
	}
	var found *term
	var err error
	visited := map[*term]bool{nil: true}
	var visit func(t *term)
	visit = func(t *term) {
		switch {
		case visited[t] || t.op == opConst:
		case !uses(t) && t.op == opNot:
			visit(t.a)
		case !uses(t) && found == nil:
			found = t
		case !uses(t) && found != t:
			err = fmt.Errorf("column %d is packed into more than what was before it", k)
		case uses(t):
			visited[t] = true
			visit(t.a)
			visit(t.b)
			visit(t.c)
		}
	}
	visit(t)
	if found == nil && err == nil {
		err = fmt.Errorf("column %d is packed into nothing", k)
	}
	return found, err
}

// rename gives symbols whose names begin alike another beginning.
func (s *subject) rename(t *term, from, to string) *term {
	for _, x := range symbolsOf(t) {
		if rest, ok := strings.CutPrefix(x.name, from); ok {
			t = s.replace(t, x, s.symbol(x.bits, to+rest, int(int64(x.val))))
		}
	}
	return t
}
