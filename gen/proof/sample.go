package proof

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	mathbits "math/bits"
	"math/rand/v2"
	"slices"
)

// A Sample is a call of a kernel, and the bytes that it leaves in dst by the model. Samples
// are for comparing the model with processors.
type Sample struct {
	Symbol    string
	Types     []string // of the arguments, in Go
	Arguments []Argument
	Column    int // the offset of the pointer to dst if no argument points there, else -1
	Want      []byte
}

// An Argument is a number or memory.
type Argument struct {
	Number   uint64
	Memory   []byte
	Align    int            // of Memory, in bytes past a multiple of 64
	Pointers map[int][]byte // the memory that Memory points to, by the offset of the pointer
}

// Samples executes each kernel count times on random operands and lengths.
func Samples(files []File, kernels []Kernel, count int, chosen func(symbol string) bool) ([]Sample, error) {
	functions, err := parseAll(files)
	if err != nil {
		return nil, err
	}
	var list []Sample
	for _, k := range kernels {
		f := functions[k.Symbol]
		if f == nil || !chosen(k.Symbol) {
			continue
		}
		s := newSubject(k, f)
		for i := range count {
			draw := s.sample
			if k.Shape == Dense {
				draw = s.sampleDense
			}
			sample, err := draw(rand.New(rand.NewPCG(uint64(i), uint64(k.Spec.Bits))))
			if err != nil {
				return nil, err
			}
			list = append(list, sample)
		}
	}
	return list, nil
}

// sample executes a kernel once, in a random situation.
func (s *subject) sample(r *rand.Rand) (Sample, error) {
	at := situation{lanes: s.Least + r.IntN(2+8*8<<s.granule/s.Spec.Lane), align: r.IntN(64), signed: r.IntN(2) == 0, base: r.IntN(3) > 0}
	if s.Shape == Warp {
		at.lanes = 32
	}
	if r.IntN(2) == 0 {
		at.lanes = s.Least + r.IntN(40)
		if s.Shape == Warp {
			at.lanes = 32
		}
	}
	if at.stream = r.IntN(2) == 0 && s.Spec.Bits == s.Spec.Lane; at.stream {
		at.align &^= s.Spec.Bits/8 - 1
	}
	align := at.align
	at.align %= 1 << s.granule
	switch s.Shape {
	case Unpack:
		kind := mathbits.TrailingZeros(uint(s.Spec.Bits / 8))
		at.kinds = []int{kind | r.IntN(2)*signedKind, r.IntN(4) | r.IntN(2)*signedKind}
		if at.stream {
			at.kinds = at.kinds[:1] // as Go calls it
		} else if at.dst = r.IntN(2); at.dst == 1 {
			slices.Reverse(at.kinds)
		}
		at.low = min(at.lanes, r.IntN(6))
	case Pack:
		for range r.IntN(4) {
			at.kinds = append(at.kinds, r.IntN(4))
		}
		for k, kind := range at.kinds {
			for 8<<kind > s.Spec.Lane {
				kind--
			}
			at.kinds[k] = kind | r.IntN(2)*SignKind
		}
		at.low = min(at.lanes-s.Least, r.IntN(6))
	}
	seed := r.Uint64()
	value := func(t *term) uint64 { return random(seed, t) }
	var m *machine
	choices := func(c string) error {
		at.choices = c
		var err error
		if m, err = s.machine(at); err != nil {
			return err
		}
		if err = m.run(); err == nil && eval(m.given(func(*term) bool { return true }), value) == 0 {
			return errChoice // the operands choose otherwise
		}
		return err
	}
	var err error
	switch s.Shape {
	case Permute:
		d := 1 + r.IntN(groupBytes)
		p := randomPermutation(r, d, 1+r.IntN(1+20*s.vector()/d), false)
		if s.halves() {
			p = randomHalves(r, d, 1+r.IntN(60), false)
		}
		m, _ = s.permuteMachine(p)
		err = m.run()
	case Steps:
		m, _ = s.stepsMachine(randomStepping(r))
		err = m.run()
	default:
		err = choices("")
	}
	// Try each list of outcomes, beginning with the shortest.
	for count := 1; errors.Is(err, errChoice) && count <= 8; count++ {
		for outcomes := 0; errors.Is(err, errChoice) && outcomes < 1<<count; outcomes++ {
			err = choices(fmt.Sprintf("%0*b", count, outcomes))
		}
	}
	if err != nil {
		return Sample{}, err
	}
	sample := Sample{Symbol: s.Symbol, Column: -1}
	bytesOf := func(r *region) []byte {
		data := make([]byte, r.to)
		for i := r.from; i < r.to; i++ {
			if _, ok := r.pointers[i&^7]; ok || r.bits == 0 && r.fields[i&^7] == nil {
				continue
			}
			if t := r.fields[i&^7]; t != nil {
				data[i] = byte(eval(t, value) >> (i & 7 * 8))
				continue
			}
			c, _ := m.byteAt(r, i) // it cannot fail: unknown bytes are skipped above
			data[i] = byte(eval(c.t, value) >> (c.k * 8))
		}
		return data
	}
	before := func(r *region) []byte {
		unwritten := *r
		unwritten.cells = nil
		return bytesOf(&unwritten)
	}
	sample.Want = bytesOf(m.dst)
	for _, p := range s.function.params {
		v := m.arguments[p.name]
		sample.Types = append(sample.Types, p.typ)
		var a Argument
		switch {
		case v.region == nil:
			a.Number = eval(v.t, value)
		case v.region == m.dst:
			a.Memory, a.Align = before(m.dst), align
		default:
			a.Memory, a.Align = bytesOf(v.region), r.IntN(64)
			for _, offset := range slices.Sorted(maps.Keys(v.region.pointers)) {
				if a.Pointers == nil {
					a.Pointers = map[int][]byte{}
				}
				to := v.region.pointers[offset].region
				if to == m.dst {
					sample.Column, a.Align = offset, align
				}
				a.Pointers[offset] = before(to)
			}
		}
		sample.Arguments = append(sample.Arguments, a)
	}
	return sample, nil
}

// random returns the value of a symbol: random bits, or a small number, positive or negative.
// Counts that make a difference are small.
func random(seed uint64, t *term) uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.name))
	r := rand.New(rand.NewPCG(seed+t.val, h.Sum64()))
	v := r.Uint64()
	switch r.IntN(4) {
	case 0:
		v = uint64(r.IntN(80))
	case 1:
		v = -uint64(r.IntN(80))
	}
	return v & ones(t.bits)
}
