package proof

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A permutation is a call of a permute kernel.
type permutation struct {
	d, lo, n int
	gaps     uint64
	moves    []permuteMove
	apart    bool // no move is in place
	stream   bool
}

// A permuteMove describes a move. from has an entry for each byte of a group: the byte
// of the move's group that goes there, or -1.
type permuteMove struct {
	stride  int
	from    [groupBytes]int8
	inPlace bool
}

const groupBytes = 16

func (p permutation) String() string {
	return fmt.Sprintf("d = %d, lo = %d, n = %d, gaps = %#x, moves %v, apart: %t, stream: %t", p.d, p.lo, p.n, p.gaps, p.moves, p.apart, p.stream)
}

// groups returns how many groups a step has, and the logarithm of that.
func (p permutation) groups(vector int) (groups, shift int) {
	for 2<<shift*p.d <= vector {
		shift++
	}
	return 1 << shift, shift
}

// maxPermuteSteps is the number of steps of the longest calls, which are for a piece.
const maxPermuteSteps = 64 << 10 / 64

// executePermute runs a permute kernel. Data and the value are unknown. All else is a
// number: the groups' size, the strides, the places of bytes, the gaps and the number of
// groups. There are calls with each size of groups and each stride, with bytes in order,
// reversed and at random, from one move and from several, in place and not, with gaps and
// without. The numbers of groups let each loop make no turn, one and several.
func (s *subject) executePermute() error {
	r := rand.New(rand.NewPCG(5, 6))
	run := func(p permutation) error {
		s.runs++
		s.longest = max(s.longest, p.n)
		if err := s.permutes(p); err != nil {
			return fmt.Errorf("%w (%v)", err, p)
		}
		return nil
	}
	if s.halves() {
		return executeHalves(r, run)
	}
	for d := 1; d <= groupBytes; d++ {
		groups, _ := permutation{d: d}.groups(s.vector())
		steps := []int{0, 0, 1, 2, 5, 16, 21}
		for stride := 1; stride <= groupBytes; stride++ {
			for kind := range 3 {
				n := steps[r.IntN(len(steps))]*groups + r.IntN(groups)
				m := permuteMove{stride: stride, from: noBytes}
				for j := range d {
					m.from[j] = int8([]int{j % stride, (stride - 1 - j%stride), r.IntN(stride+1) - 1}[kind])
				}
				p := permutation{d: d, n: max(n, 1), moves: []permuteMove{m}, apart: true}
				if err := run(p); err != nil {
					return err
				}
				if stride == d {
					p.moves = []permuteMove{m}
					p.moves[0].inPlace, p.apart = true, false
					if err := run(p); err != nil {
						return err
					}
				}
			}
			for range 2 {
				n := steps[r.IntN(len(steps))]*groups + r.IntN(groups)
				if err := run(randomPermutation(r, d, max(n, 1), true)); err != nil {
					return err
				}
			}
		}
	}
	// The commonest calls, and others that reach the remaining instructions. They have up to
	// two tiles, or as many steps as a piece.
	for _, p := range []permutation{
		{d: 4, moves: movesOf(4, []int8{2, 1, 0, 3})},
		{d: 4, moves: movesOf(3, []int8{2, 1, 0, -1})},
		{d: 4, moves: movesOf(1, []int8{0}, []int8{-1, 0}, []int8{-1, -1, 0}, []int8{-1, -1, -1, 0})},
		{d: 4, moves: movesOf(4, []int8{2, 1, 0, -1}), gaps: 1 << 3},
		{d: 4, moves: movesOf(3, []int8{2, 1, 0, -1}), gaps: 1 << 3},
		{d: 4, moves: movesOf(2, []int8{0, 1, -1, -1}, []int8{-1, -1, 1, -1}), gaps: 1 << 3},
		{d: 4, moves: movesOf(4, []int8{3, 1, 0, -1}), gaps: 1 << 3},
		{d: 2, moves: movesOf(4, []int8{0, 3})},
		{d: 3, moves: movesOf(1, []int8{0}, []int8{-1, 0}, []int8{-1, -1, 0})},
		{d: 3, moves: movesOf(4, []int8{0, 1, 2})},
		{d: 3, moves: movesOf(4, []int8{3, 1, 0})},
		{d: 1, moves: movesOf(4, []int8{1})},
	} {
		groups, _ := p.groups(s.vector())
		p.apart = true
		for n := 1; n < 2*16*groups; n += 1 + n/4 {
			p.n = n
			if err := run(p); err != nil {
				return err
			}
		}
		// Whole steps, so no step is left after a tile of each length.
		for _, steps := range []int{1, 4, 16, 20, maxPermuteSteps} {
			p.n = steps * groups
			if err := run(p); err != nil {
				return err
			}
		}
		if groups*p.d == s.vector() && p.gaps == 0 && s.name(Stream) != "" {
			p.stream = true
			for _, steps := range []int{1, 3, 4, 16, 37} {
				p.n = steps*groups + 1
				if err := run(p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// halves reports whether the kernel makes each group from loads of 16 bytes, and stores 16
// bytes. It may touch the 16 bytes from the start of each group. Its moves have any stride. No
// group has gaps, and the value is 0 in the bytes that are moved.
func (s *subject) halves() bool {
	return !slices.ContainsFunc(s.function.params, func(p param) bool { return p.name == "gaps" })
}

// executeHalves runs such a kernel with each size of groups, with one to four moves of any
// bytes and strides, in place and not. The numbers of groups let each loop make no turn, one
// turn and several.
func executeHalves(r *rand.Rand, run func(permutation) error) error {
	for d := 1; d <= groupBytes; d++ {
		for n := range 3 * 16 {
			if err := run(randomHalves(r, d, n+1, true)); err != nil {
				return err
			}
		}
	}
	for _, p := range []permutation{
		{d: 16, moves: movesOf(12, []int8{0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1})},
		{d: 16, moves: movesOf(16, []int8{2, 1, 0, 3, 6, 5, 4, 7, 10, 9, 8, 11, 14, 13, 12, 15})},
		{d: 12, moves: movesOf(16, []int8{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14})},
		{d: 16, moves: movesOf(32, []int8{0, 1, 4, 5, 8, 9, 12, 13}, []int8{-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9, 12, 13})},
	} {
		p.n = 64 << 10 / groupBytes // the groups of a piece
		if err := run(p); err != nil {
			return err
		}
	}
	return nil
}

// randomHalves returns a random call of such a kernel.
func randomHalves(r *rand.Rand, d, n int, inPlace bool) permutation {
	p := permutation{d: d, n: n, apart: true, lo: r.IntN(3)}
	for range 1 + r.IntN(4) {
		m := permuteMove{stride: groupBytes, from: noBytes}
		switch {
		case inPlace && p.apart && d == groupBytes && r.IntN(2) == 0:
			m.inPlace, p.apart = true, false
		case r.IntN(2) == 0:
			m.stride = 1 + r.IntN(groupBytes*groupBytes)
		}
		p.moves = append(p.moves, m)
	}
	for j := range d {
		if r.IntN(4) > 0 {
			p.moves[r.IntN(len(p.moves))].from[j] = int8(r.IntN(groupBytes))
		}
	}
	return p
}

// valueByte returns byte j of the value.
func (s *subject) valueByte(p permutation, j int) *term {
	if s.halves() && slices.ContainsFunc(p.moves, func(m permuteMove) bool { return m.from[j] >= 0 }) {
		return s.constant(8, 0)
	}
	return s.symbol(8, "value", j)
}

// vector returns the size of the kernel's vectors.
func (s *subject) vector() int { return 1 << s.granule }

var noBytes = [groupBytes]int8{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// movesOf returns moves of one stride.
func movesOf(stride int, from ...[]int8) []permuteMove {
	var list []permuteMove
	for _, f := range from {
		m := permuteMove{stride: stride, from: noBytes}
		copy(m.from[:], f)
		list = append(list, m)
	}
	return list
}

// randomPermutation returns a random call. If inPlace is set, one of its moves may be in place.
func randomPermutation(r *rand.Rand, d, n int, inPlace bool) permutation {
	p := permutation{d: d, n: n, apart: true, lo: r.IntN(3)}
	for range 1 + r.IntN(d) {
		m := permuteMove{stride: 1 + r.IntN(groupBytes), from: noBytes}
		if inPlace && p.apart && r.IntN(4) == 0 {
			m.stride, m.inPlace, p.apart = d, true, false
		}
		p.moves = append(p.moves, m)
	}
	for j := range d {
		if r.IntN(4) > 0 {
			m := &p.moves[r.IntN(len(p.moves))]
			m.from[j] = int8(r.IntN(m.stride))
		}
	}
	if r.IntN(2) == 0 {
		p.gaps = uint64(r.Uint32()) & 0xffff
	}
	return p
}

// permuteMachine returns a machine before its first instruction, and the data of the
// moves.
func (s *subject) permuteMachine(p permutation) (m *machine, data []*region) {
	m = &machine{
		model: s.model, arguments: map[string]value{}, used: map[Role]bool{}, roles: map[string]Role{}, nonzero: map[*term]bool{},
	}
	newRegion := func(name string, from, to int) *region {
		r := &region{name: name, content: name, bits: 8, from: from, to: to}
		m.regions = append(m.regions, r)
		return r
	}
	pointer := func(r *region) value { return value{s.constant(64, 0), r} }
	m.dst = newRegion("dst", p.lo*p.d, (p.lo+p.n)*p.d)
	m.dst.writable = true
	if s.halves() {
		m.dst.to += groupBytes - p.d
	}
	moves := newRegion("moves", 0, len(p.moves)*s.Move.Size)
	moves.data, moves.pointers = make([]byte, moves.to), map[int]value{}
	for k, move := range p.moves {
		first, last := groupBytes, -1
		for j, f := range move.from[:p.d] {
			if f >= 0 {
				first, last = min(first, int(f)), max(last, int(f))
			}
			moves.data[k*s.Move.Size+s.Move.From+j] = byte(f)
		}
		for j := p.d; j < groupBytes; j++ {
			moves.data[k*s.Move.Size+s.Move.From+j] = 0xff
		}
		binary.LittleEndian.PutUint16(moves.data[k*s.Move.Size+s.Move.Stride:], uint16(move.stride))
		if s.halves() {
			first, last = 0, groupBytes-1
		}
		r := newRegion(fmt.Sprint("move", k, "of"), p.lo*move.stride+first, (p.lo+p.n-1)*move.stride+last+1)
		if move.inPlace {
			r.stands, m.dst.content = m.dst, r.content
		}
		data = append(data, r)
		moves.pointers[k*s.Move.Size+s.Move.Data] = pointer(r)
	}
	moves.content += string(moves.data) // the content's name keys m.loads
	groups, shift := p.groups(s.vector())
	var bytes []*term
	for j := range groupBytes {
		bytes = append(bytes, s.valueByte(p, j))
	}
	number := func(bits int, v uint64) value { return value{t: s.constant(bits, v)} }
	flag := map[bool]uint64{true: 1}
	for name, v := range map[string]value{
		"dst": pointer(m.dst), "moves": pointer(moves), "k": number(64, uint64(len(p.moves))), "lo": number(64, uint64(p.lo)), "n": number(64, uint64(p.n)),
		"d": number(64, uint64(p.d)), "groups": number(64, uint64(groups)), "shift": number(64, uint64(shift)),
		"low": {t: s.join(bytes[:8])}, "high": {t: s.join(bytes[8:])}, "gaps": number(64, p.gaps),
		"apart": number(8, flag[p.apart]), "stream": number(8, flag[p.stream]),
	} {
		m.arguments[name] = v
	}
	if s.function.frame > 0 {
		frame := &region{name: "frame", content: "frame", to: s.function.frame, scratch: true, pointers: map[int]value{}}
		m.general[slices.Index(s.function.arch.general, "SP")] = pointer(frame)
	}
	return m, data
}

// permutes runs one call and checks the bytes that it leaves in dst.
func (s *subject) permutes(p permutation) error {
	m, data := s.permuteMachine(p)
	if err := m.run(); err != nil {
		return err
	}
	for at := p.lo * p.d; at < (p.lo+p.n)*p.d; at++ {
		i, j := at/p.d, at%p.d
		want, gap := s.valueByte(p, j), p.gaps>>j&1 != 0
		for k, move := range p.moves {
			if f := move.from[j]; f >= 0 {
				want, gap = s.symbol(8, data[k].content, i*move.stride+int(f)), false
			}
		}
		written := m.dst.written != nil && m.dst.written[at] != 0
		switch {
		case gap && written:
			return fmt.Errorf("byte %d of group %d is written, which is a gap", j, i)
		case gap:
		case !written:
			return fmt.Errorf("byte %d of group %d is not written", j, i)
		default:
			have, err := m.loadTerm(m.dst, at, 8)
			if err != nil {
				return err
			}
			if have != want {
				return fmt.Errorf("byte %d of group %d is wrong", j, i)
			}
		}
	}
	return nil
}
