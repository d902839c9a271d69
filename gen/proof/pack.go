package proof

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// executePack runs a pack kernel. It assumes that a turn of the loop over columns depends on
// the column's kind, but not on the turns before. claimColumns checks that, with a column alone
// and in a sequence of columns that contains every ordered pair of kinds.
func (s *subject) executePack() error {
	lists := [][]int{{}}
	type turn struct {
		kind    int
		outcome string // of the decision on the sign of its shift, if there is one
	}
	var turns []turn
	for size := 0; 8<<size <= s.Spec.Lane; size++ {
		lists = append(lists, []int{size}, []int{size | SignKind})
		turns = append(turns, turn{size, "0"}, turn{size | SignKind, ""})
		if s.Forks {
			turns = append(turns, turn{size, "1"})
		}
	}
	var row situation
	for _, t := range eachAfterEach(turns) {
		row.kinds = append(row.kinds, t.kind)
		row.choices += t.outcome
	}
	row.base = true
	// Every length is run with no column, and with these three; one is a constant.
	few := situation{kinds: []int{lists[len(lists)-2][0], constantKind | 1, SignKind}, base: true}
	for size := range 4 {
		lists = append(lists, []int{constantKind | size})
	}
	return s.lengths(func(n int, compare bool) error {
		run := func(at situation, low int) error {
			if at.stream && (s.Spec.Bits < s.Spec.Lane || s.name(Stream) == "") {
				return nil // Go asks for no stream
			}
			at.low, at.lanes = low, low+n
			_, err := s.alignments(at, compare)
			return err
		}
		if s.sparse {
			// Calls with more columns have shorter pieces.
			low := []int{0, 5, 64, 4096}[n%4]
			for _, at := range []situation{{}, few} {
				if n*(len(at.kinds)+1) > s.most() {
					break
				}
				for _, at.stream = range []bool{false, true} {
					if err := run(at, low); err != nil {
						return err
					}
				}
			}
			return nil
		}
		for _, list := range lists {
			if err := run(situation{kinds: list}, 0); err != nil {
				return err
			}
		}
		// Without and with lanes before the first.
		for _, low := range []int{0, 5} {
			if err := run(row, low); err != nil {
				return err
			}
		}
		for _, stream := range []bool{false, true} {
			few.stream = stream
			if err := run(few, []int{0, 5, 64, 4096}[n%4]); err != nil {
				return err
			}
		}
		// One more situation is run with each alignment. Lengths take turns with all else.
		left := n
		choose := func(of int) int {
			defer func() { left /= of }()
			return left % of
		}
		at := row
		if i := choose(len(lists) + 1); i < len(lists) {
			at = situation{kinds: lists[i]}
		}
		at.stream, at.base = true, choose(2) > 0
		return run(at, 5*choose(2))
	})
}

// eachAfterEach returns a sequence that contains every ordered pair of the list's elements,
// including an element twice.
func eachAfterEach[T any](list []T) []T {
	var row []T
	for i, x := range list {
		row = append(row, x)
		for _, other := range list[i+1:] {
			row = append(row, x, other)
		}
	}
	return append(row, list[0])
}

// executeUnpack runs an unpack kernel on a column of elements of the spec's width:
// alone, and before and after a column of another kind.
func (s *subject) executeUnpack() error {
	size := bits.TrailingZeros(uint(s.Spec.Bits / 8))
	return s.lengths(func(n int, compare bool) error {
		for _, kind := range []int{size, size | signedKind} {
			// Without and with lanes before the first. Their number depends on the length.
			lows := []int{0, []int{5, 64, 4096}[n%3]}
			if s.sparse {
				lows = lows[n%2 : n%2+1]
			}
			for _, low := range lows {
				at := situation{low: low, lanes: low + n, kinds: []int{kind}}
				streams, err := s.alignments(at, compare)
				if at.stream = true; err == nil && streams {
					_, err = s.alignments(at, compare)
				}
				if err != nil {
					return err
				}
			}
			if s.sparse {
				continue
			}
			if n < 3 {
				if err := s.manyColumns(n, kind); err != nil {
					return err
				}
			}
			at := situation{low: 5, lanes: 5 + n}
			// The other column's kind and the choices depend on the length.
			other := n%4 | n/4%2*signedKind
			at.stream = n/8%2 > 0 && s.Spec.Bits < s.Spec.Word && elementBits(other) < s.Spec.Word // as Go calls it
			for at.dst = range 2 {
				at.kinds = []int{kind, other}
				if at.dst == 1 {
					slices.Reverse(at.kinds)
				}
				at.choices = strings.Repeat("01", 8)[n%2:]
				if _, err := s.run(at, false); err != nil {
					return fmt.Errorf("%v: %w", at, err)
				}
			}
		}
		return nil
	})
}

// manyColumns runs an unpack kernel on no column, and on nine.
func (s *subject) manyColumns(n, kind int) error {
	if _, err := s.run(situation{lanes: n, kinds: []int{}}, false); err != nil {
		return err
	}
	at := situation{lanes: n, kinds: slices.Repeat([]int{kind}, 9), choices: strings.Repeat("01", 64)}
	for at.dst = range at.kinds {
		if _, err := s.run(at, false); err != nil {
			return err
		}
	}
	return nil
}

// columns returns the array that describes the columns.
func (s *subject) columns(m *machine, o Operand, at situation, operand func(string, int) *region) *region {
	array := operand(o.Name, 0)
	array.content = fmt.Sprint(o.Name, at.kinds)
	array.from, array.to = 0, len(at.kinds)*o.Size
	array.pointers, array.fields = map[int]value{}, map[int]*term{}
	if len(at.kinds) == 0 && s.Shape == Unpack {
		m.dst = &region{name: "no column", bits: s.Spec.Bits} // nothing may be written
	}
	for k, kind := range at.kinds {
		known := map[int]*term{}
		for _, f := range o.Fields {
			offset := k*o.Size + f.Offset
			switch f.Role {
			case Source:
				if kind&constantKind != 0 {
					array.fields[offset] = s.constant(64, 0) // it is no address
					continue
				}
				column := operand(columnName(f.Role, k), elementBits(kind))
				column.content = fmt.Sprint(column.name, "of", column.bits)
				column.exact = column.bits == s.Spec.Bits
				if column.writable = s.Shape == Unpack; column.writable && k == at.dst {
					m.dst = column
					column.align = at.align
				}
				array.pointers[offset] = value{s.constant(64, 0), column}
			case MoveMask:
				array.fields[offset] = s.symbol(64, columnName(f.Role, k)+":", 0)
			case Kind:
				v := kind &^ signedKind &^ constantKind
				if kind&constantKind != 0 {
					v |= s.ConstantKind
				}
				known[offset] = s.constant(8, uint64(v))
			case Signed:
				if s.Shape == Unpack {
					known[offset] = s.constant(8, uint64(kind/signedKind))
				}
			case Shift:
				known[offset] = s.symbol(8, columnName(f.Role, k)+":", 0)
			}
		}
		// The shift is the first of 8 bytes that kernels may load together. Some of the other
		// bytes are known.
		for _, f := range o.Fields {
			if f.Role != Shift {
				continue
			}
			var bytes []*term
			for i := range 8 {
				offset := k*o.Size + f.Offset + i
				t := known[offset]
				if t == nil {
					t = s.symbol(8, fmt.Sprint("byte", offset, ":"), 0)
				}
				array.fields[offset] = t
				bytes = append(bytes, t)
			}
			array.fields[k*o.Size+f.Offset] = s.join(bytes)
		}
	}
	return array
}

// columnName returns the name of column k's elements, shift or mask.
func columnName(role Role, k int) string {
	return fmt.Sprintf("%s%d", map[Role]string{Source: "column", Shift: "shift", MoveMask: "mask"}[role], k)
}

// ofColumn reports whether a symbol is an argument of column k.
func ofColumn(k int) func(x *term) bool {
	return func(x *term) bool {
		return x.name == columnName(Shift, k)+":" || x.name == columnName(MoveMask, k)+":"
	}
}

// asFirst returns column k's expression as it would be for column 0.
func (s *subject) asFirst(t *term, k int) *term {
	for _, role := range []Role{Source, Shift, MoveMask} {
		t = s.rename(t, columnName(role, k), columnName(role, 0))
	}
	return t
}

// claimElement makes a claim of a lane of a column.
func (s *subject) claimElement(m *machine, key claimKey, lane int, at situation) error {
	if s.apart[key] {
		return nil
	}
	s.apart[key] = true
	signed := at.kinds[at.dst]&signedKind != 0
	th := theorem{Spec: s.Spec, have: s.asFirst(key.have, at.dst), given: s.asFirst(m.given(ofColumn(at.dst)), at.dst), signed: signed}
	th.roles = map[string]Role{s.name(Source): Source, columnName(Shift, 0): Shift, columnName(MoveMask, 0): MoveMask}
	if s.add(claimKey{have: th.have, spec: th.Spec, signed: signed, given: th.given}, claim{th, lane, at}) && len(at.kinds) > 1 {
		return fmt.Errorf("lane %d: column %d is not as it would be alone", lane, at.dst)
	}
	return nil
}

// claimColumns takes an expression apart. It makes a claim of each column's step, which adds to
// the word before the column, and of the base at the bottom.
func (s *subject) claimColumns(m *machine, key claimKey, lane int, at situation) error {
	if s.apart[key] {
		return nil
	}
	have := key.have
	steps := make([]*term, len(at.kinds))
	for k := len(at.kinds) - 1; k >= 0; k-- {
		if at.kinds[k]&constantKind != 0 {
			continue // it is in Constant already
		}
		before, err := s.before(have, k)
		if err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
		steps[k] = s.asFirst(s.replace(have, before, s.symbol(s.Spec.Bits, "before", 0)), k)
		have = before
	}
	bottom := theorem{Spec: s.Spec, have: have, roles: map[string]Role{s.name(Keep): Keep, s.name(Constant): Constant}}
	bottom.Instruction = KeepBase
	if at.base {
		bottom.roles[s.name(Base)] = Base
	}
	s.add(claimKey{have: have, spec: bottom.Spec, same: fmt.Sprint(at.base)}, claim{bottom, lane, at})
	for k, step := range steps {
		if step == nil {
			continue
		}
		th := theorem{Spec: s.Spec, have: step, roles: map[string]Role{"before": Before}, given: s.asFirst(m.given(ofColumn(k)), k)}
		th.Word = elementBits(at.kinds[k])
		th.Instruction = Move
		if at.kinds[k]&SignKind != 0 {
			th.Instruction = AddSign
		}
		th.roles[fmt.Sprint(columnName(Source, 0), "of", th.Word)] = Source
		th.roles[columnName(Shift, 0)] = Shift
		th.roles[columnName(MoveMask, 0)] = MoveMask
		if s.add(claimKey{have: step, spec: th.Spec, given: th.given}, claim{th, lane, at}) && k > 0 {
			return fmt.Errorf("lane %d: column %d is not packed as it would be alone", lane, k)
		}
	}
	s.apart[key] = true
	return nil
}

// before returns the word before column k: the greatest part of an expression that does not
// depend on the column.
func (s *subject) before(t *term, k int) (*term, error) {
	of := map[*term]bool{nil: false} // whether a term depends on the column
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

// rename replaces the beginning of the names of symbols.
func (s *subject) rename(t *term, from, to string) *term {
	for _, x := range symbolsOf(t) {
		if rest, ok := strings.CutPrefix(x.name, from); ok {
			t = s.replace(t, x, s.symbol(x.bits, to+rest, int(int64(x.val))))
		}
	}
	return t
}
