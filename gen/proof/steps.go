package proof

import (
	"fmt"
	"math/rand/v2"
)

// A stepping is a call of a Steps kernel. Each of its n steps loads a vector from every source
// and stores vectors. An index, the same in all steps, says which loaded byte each stored byte
// is. If there is no such byte, 0 is stored.
type stepping struct {
	vectors, n int
	step       int // bytes from one step to the next, in dst
	sources    []stepSource
	indices    []byte // nil: any
}

// A stepSource is a source of a stepping. It moves on by advance bytes in each step. If inPlace
// is set, it lies in dst, start bytes from the beginning of dst.
type stepSource struct {
	advance int
	inPlace bool
	start   int
}

func (p stepping) String() string {
	return fmt.Sprintf("%d vectors, n = %d, step = %d, sources %v", p.vectors, p.n, p.step, p.sources)
}

// A SourceLayout is the layout of the description of a source of a Steps kernel. It gives the
// offsets of the address of its data, and of the bytes from one step to the next.
type SourceLayout struct{ Data, Advance, Size int }

const (
	stepBytes = 16 // of a vector
	maxSteps  = 64 << 10 / stepBytes
)

// executeSteps runs a Steps kernel. Data and indices are unknown: whatever the indices are,
// the kernel must store the bytes that they say. Every number of sources is run with every
// number of vectors, with each length up to several turns and with the length of a piece.
// Sources move on by a random number of bytes, and lie in dst or not.
func (s *subject) executeSteps() error {
	r := rand.New(rand.NewPCG(7, 8))
	for k := 1; k <= 4; k++ {
		for _, vectors := range []int{1, 2, 4} {
			lengths := []int{maxSteps / vectors}
			for n := 1; n <= 13; n++ {
				lengths = append(lengths, n)
			}
			for _, n := range lengths {
				for i, step := range []int{stepBytes, 1 + r.IntN(stepBytes), 12} {
					if n == lengths[0] && i > 0 {
						break // runs of this length take long
					}
					if vectors > 1 {
						step = vectors * stepBytes // then Go lets the kernel write whole vectors
					}
					p := stepping{vectors: vectors, n: n, step: step}
					for range k {
						p.sources = append(p.sources, stepSource{advance: r.IntN(65)})
					}
					p.sources[k-1].advance = []int{0, stepBytes, r.IntN(65)}[n%3] // 0 and a vector have loops of their own
					if step == vectors*stepBytes && r.IntN(2) == 0 {
						for i := range p.sources[:1+r.IntN(k)] {
							p.sources[i] = stepSource{advance: step, inPlace: true, start: r.IntN(2) * r.IntN(64)}
						}
					}
					s.runs++
					s.longest = max(s.longest, n)
					if err := s.steps(p); err != nil {
						return fmt.Errorf("%w (%v)", err, p)
					}
				}
			}
		}
	}
	return nil
}

// stepsMachine returns a machine before its first instruction, and the sources' data.
func (s *subject) stepsMachine(p stepping) (m *machine, data []*region) {
	m = &machine{
		model: s.model, arguments: map[string]value{}, used: map[Role]bool{}, roles: map[string]Role{}, nonzero: map[*term]bool{},
	}
	newRegion := func(name string, to int) *region {
		r := &region{name: name, content: name, bits: 8, to: to}
		m.regions = append(m.regions, r)
		return r
	}
	at := func(r *region, offset int) value { return value{s.constant(64, uint64(offset)), r} }
	m.dst = newRegion("dst", (p.n-1)*p.step+p.vectors*stepBytes)
	m.dst.writable = true
	sources := newRegion("sources", len(p.sources)*s.Source.Size)
	sources.data, sources.pointers = make([]byte, sources.to), map[int]value{}
	for k, source := range p.sources {
		r := newRegion(fmt.Sprint("source", k, "of"), source.start+(p.n-1)*source.advance+stepBytes)
		if source.inPlace {
			m.dst.to = max(m.dst.to, r.to)
			r.content, r.stands = m.dst.content, m.dst
		}
		data = append(data, r)
		sources.pointers[k*s.Source.Size+s.Source.Data] = at(r, source.start)
		sources.data[k*s.Source.Size+s.Source.Advance] = byte(source.advance)
	}
	sources.content += string(sources.data) // the content's name keys m.loads
	indices := newRegion("index", p.vectors*stepBytes)
	if p.indices != nil {
		indices.data = p.indices
		indices.content += string(p.indices)
	}
	for name, v := range map[string]value{
		"dst": at(m.dst, 0), "sources": at(sources, 0), "indices": at(indices, 0),
		"k": at(nil, len(p.sources)), "vectors": at(nil, p.vectors), "step": at(nil, p.step), "n": at(nil, p.n),
	} {
		m.arguments[name] = v
	}
	return m, data
}

// steps runs one call and checks the bytes that it leaves in dst.
func (s *subject) steps(p stepping) error {
	m, data := s.stepsMachine(p)
	if err := m.run(); err != nil {
		return err
	}
	end := (p.n-1)*p.step + p.vectors*stepBytes
	for i := range p.n {
		var table []*term
		for k, source := range p.sources {
			for b := range stepBytes {
				table = append(table, s.symbol(8, data[k].content, source.start+i*source.advance+b))
			}
		}
		name := tableName(table)
		last := p.step // the next step overwrites the bytes after it
		if i == p.n-1 {
			last = p.vectors * stepBytes
		}
		for b := range last {
			have, err := m.loadTerm(m.dst, i*p.step+b, 8)
			if err != nil {
				return err
			}
			if have != s.lookedUp(table, name, s.symbol(8, "index", b)) || m.dst.written[i*p.step+b] == 0 {
				return fmt.Errorf("byte %d of step %d is wrong", b, i)
			}
		}
	}
	for at := end; at < m.dst.to; at++ {
		if m.dst.written[at] != 0 {
			return fmt.Errorf("byte %d is written, which is %d bytes after the last step", at, at-end)
		}
	}
	return nil
}

// randomStepping returns a random call that is not in place, with indices.
func randomStepping(r *rand.Rand) stepping {
	p := stepping{vectors: []int{1, 2, 4}[r.IntN(3)], n: 1 + r.IntN(20)}
	p.step = p.vectors * stepBytes
	if p.vectors == 1 {
		p.step = 1 + r.IntN(stepBytes)
	}
	for range 1 + r.IntN(4) {
		p.sources = append(p.sources, stepSource{advance: r.IntN(65)})
	}
	for range p.vectors * stepBytes {
		p.indices = append(p.indices, byte(r.IntN(16*len(p.sources)+8)))
	}
	return p
}
