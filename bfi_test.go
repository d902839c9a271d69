package bfi

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// quick reports whether long tests should do less. With -short they should, as in
// emulators. Under a sanitizer they should too, because it checks every step of the tests.
func quick() bool { return testing.Short() || sanitized() }

// TestLanes is a first look at everything. It makes a hundred calls of every function, with
// random operands, fields, lengths, offsets and sharing. A wrong kernel seldom passes.
func TestLanes(t *testing.T) {
	m := heap(mostOps, widestLane*300)
	for _, e := range slices.Concat(entries, otherEntries) {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, 2))
			for i := range 100 {
				n := WarpSize
				if !e.warp {
					n = i
					if i > 50 {
						n = r.IntN(300)
					}
				}
				offset := e.anyOffsets(r)
				if i%2 == 0 && misaligns {
					for op := range offset {
						offset[op] = line + r.IntN(line)
					}
				}
				m.verify(t, &e, e.sample(r, n, e.anySharing(r)), n, offset)
			}
		})
	}
}

// TestGuardPages checks every length from 0 to more than two vectors. Each operand lies next
// to memory that must not be touched. Each length is tested with that memory after the
// operands, and with that memory before them.
func TestGuardPages(t *testing.T) {
	const most = 130
	segments, margin := guarded(t, mostOps, widestLane*most)
	m := newMemory(segments)
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(15, 15))
			head, tail := slices.Repeat([]int{margin}, len(e.ops)), make([]int, len(e.ops))
			// A kernel's longest step has four times as many lanes if words are bytes.
			lengths := e.lengths(most)
			if e.largest() < 4 {
				lengths = append(lengths, 191, 192, 193, 255, 256, 257, 300, 319, 320, 449, 511, 512, 513)
			}
			for _, share := range e.everySharing() {
				s := e.sample(r, most, share)
				for _, n := range lengths {
					for op, o := range e.ops {
						tail[op] = len(segments[op]) - margin - o.bytes(n)
					}
					m.verify(t, &e, s, n, tail)
					m.verify(t, &e, s, n, head)
					// The output starts a few lanes past a line, so even a short slice
					// has a head to align.
					for out := range e.outs {
						tail[out] = margin + n%8*e.ops[out].size
					}
					m.verify(t, &e, s, n, tail)
				}
			}
		})
	}
}

// TestScalar checks Bfi and Bfe for every pos and width.
func TestScalar(t *testing.T) {
	t.Run("uint8", scalar[uint8])
	t.Run("int8", scalar[int8])
	t.Run("uint16", scalar[uint16])
	t.Run("audio", scalar[audio])
	t.Run("uint32", scalar[uint32])
	t.Run("int32", scalar[int32])
	t.Run("uint64", scalar[uint64])
	t.Run("tick", scalar[tick])
	t.Run("uintptr", scalar[uintptr])
}

func scalar[T Word](t *testing.T) {
	bits, signed := int(8*unsafe.Sizeof(T(0))), ^T(0) < 0
	r := rand.New(rand.NewPCG(3, 3))
	for c := range uint32(256) {
		for d := range uint32(256) {
			high := r.Uint32() << 8
			for _, ab := range bitPatterns {
				a, b := ab[0], ab[1]
				for _, cd := range [][2]uint32{{c, d}, {c | high, d | ^high&^0xff}} {
					c, d := cd[0], cd[1]
					if have, want := Bfi(T(a), T(b), c, d), T(oracleBFI(bits, a, b, c, d)); have != want {
						t.Fatalf("Bfi(%#x, %#x, %#x, %#x) = %#x, want %#x", T(a), T(b), c, d, have, want)
					}
					if have, want := Bfe(T(a), c, d), T(oracleBFE(bits, signed, a, c, d)); have != want {
						t.Fatalf("Bfe(%#x, %#x, %#x) = %#x, want %#x", T(a), c, d, have, want)
					}
				}
			}
		}
	}
}

// bitPatterns are pairs of words that show where each bit of a result came from. There are
// five pairs, so no vector has a whole number of turns through them.
var bitPatterns = [5][2]uint64{
	{^uint64(0), 0},
	{0, ^uint64(0)},
	{0x5555555555555555, 0xaaaaaaaaaaaaaaaa},
	{0x6a09e667f3bcc908, 0xbb67ae8584caa73b},
	{0x3c6ef372fe94f82b, 0x510e527fade682d1},
}

// patterns returns the pairs of words to test with. If there is little time, it returns only
// the two pairs that show most.
func patterns() [][2]uint64 {
	if quick() {
		return bitPatterns[3:]
	}
	return bitPatterns[:]
}

// TestExhaustive checks every function with every pos and width, on words of every size. The
// operands are the patterns. Pack and Unpack have TestSingleFields instead.
//
// It tests one entry for each kernel. The sign of words selects a kernel only in Extract and
// its like. The size of a mask's elements selects none.
func TestExhaustive(t *testing.T) {
	for _, e := range entries {
		each := slices.ContainsFunc(e.ops, func(o op) bool { return o.kind == posKind })
		switch mask := e.ops[len(e.ops)-1]; {
		case e.fields == 0 && !each, e.pack != nil:
			continue
		case e.masked() && mask.size > 2:
			continue // masks of 1 and 2 bytes have words of both signs
		case strings.HasPrefix(e.fn, "Extract"):
		case e.masked() && mask.size > 1, !e.masked() && e.signed:
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			if each {
				exhaustEach(t, &e)
			} else {
				exhaustUniform(t, &e)
			}
		})
	}
}

// pattern puts the patterns into the sources, one pair in each lane.
func (s *sample) pattern(e *entry, from int) {
	list := patterns()
	for op := e.outs; op < len(e.ops); op++ {
		if e.ops[op].kind == wordKind {
			for i := range s.lanes {
				store(s.ops[op], e.ops[op].size, i, list[(i+from)%len(list)][op&1])
			}
		}
	}
}

// activate sets the mask. Its turns are: all lanes are active, some lanes, the other lanes.
func (s *sample) activate(e *entry, turn int) {
	mask := len(e.ops) - 1
	if o := e.ops[mask]; e.masked() {
		for i := range len(s.ops[mask]) / o.size {
			some := uint64(i+1) * 0x9e3779b97f4a7c15
			store(s.ops[mask], o.size, i, [...]uint64{^uint64(0), some, ^some}[turn%3])
		}
	}
}

// exhaustEach gives each lane a field of its own.
func exhaustEach(t *testing.T, e *entry) {
	lanes := 1 << 16
	if e.warp {
		lanes = WarpSize
	}
	m := e.heap(lanes)
	m.short = true
	offset := e.atLines()
	r := rand.New(rand.NewPCG(4, 4))
	s := e.sample(r, lanes, e.apart())
	pos := slices.IndexFunc(e.ops, func(o op) bool { return o.kind == posKind })
	for from := range patterns() {
		s.active = ^uint32(0)
		s.activate(e, from)
		for first := 0; first < 1<<16; first += lanes {
			s.pattern(e, from)
			for i := range lanes {
				c, d := uint64(first+i)>>8, uint64(first+i)&0xff
				if from&1 == 0 {
					c |= uint64(r.Uint32()) << 8
					d |= uint64(r.Uint32()) << 8
				}
				store(s.ops[pos], 4, i, c)
				store(s.ops[pos+1], 4, i, d)
			}
			e.answer(s)
			m.verify(t, e, s, lanes, offset)
		}
	}
}

// exhaustUniform makes one short call for each field.
func exhaustUniform(t *testing.T, e *entry) {
	// The lanes of three of the longest vectors, and some more.
	lanes := 200/e.largest() + 3
	if e.masked() {
		lanes = max(lanes, 70)
	}
	m := e.heap(lanes)
	m.short = true
	offset := e.atLines()
	r := rand.New(rand.NewPCG(5, 5))
	s := e.sample(r, len(patterns()), e.apart())
	word := uint32(8 * e.size)
	for c := range uint32(256) {
		for d := range uint32(256) {
			if quick() && (c > word || d > word) && r.IntN(16) != 0 {
				continue
			}
			s.pattern(e, 0)
			s.activate(e, int(c+d))
			high := [2]uint32{}
			if (c+d)&1 == 0 {
				high[0], high[1] = r.Uint32()<<8, r.Uint32()<<8
			}
			s.pos[0], s.width[0] = c|high[0], d|high[1]
			s.value[0] = bitPatterns[(c+d)%uint32(len(bitPatterns))][1]
			e.answer(s)
			m.verify(t, e, s, lanes, offset)
		}
	}
}

// TestLengths checks every length from 0 to 300, apart and in place over each operand. It
// moves every operand through all offsets in a cache line at which its elements are aligned.
func TestLengths(t *testing.T) {
	const most = 300
	few := 40 // if quick, longer lengths are a sample
	if sanitized() {
		few = 8
	}
	m := heap(mostOps, widestLane*most)
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(6, 6))
			smallest := slices.MinFunc(e.ops, func(a, b op) int { return a.size - b.size }).size
			turns := line / smallest
			for i, share := range e.everySharing() {
				var s *sample
				for turn := range turns {
					if sanitized() && turn%4 != i%4 {
						continue
					}
					if s == nil || turn%8 == 0 || !quick() {
						s = e.sample(r, most, share)
					}
					offset := make([]int, len(e.ops))
					for op, o := range e.ops {
						// Two operands that start a line in one turn do not both
						// start a line in the next.
						offset[op] = line + (turn*(2*op+1)+op)*o.size%line
					}
					for _, n := range e.lengths(most) {
						// If there are many offsets, test each with some of the lengths.
						if n%(turns/8) != turn%(turns/8) || quick() && n > few && n%16 != turn%16 {
							continue
						}
						m.verify(t, &e, s, n, offset)
					}
				}
			}
		})
	}
}

// TestMisaligned checks slices whose elements are not aligned.
func TestMisaligned(t *testing.T) {
	if !misaligns {
		t.Skip("this processor faults on misaligned words")
	}
	const most = 300
	step := 1
	if sanitized() {
		step = 21
	}
	m := heap(mostOps, widestLane*most)
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			for _, share := range e.everySharing() {
				s := e.sample(r, most, share)
				offset := make([]int, len(e.ops))
				for at := 0; at < line; at += step {
					for op := range offset {
						offset[op] = line + (at+op*r.IntN(line))%line
					}
					for _, n := range []int{1, 5, 33, 70, r.IntN(most)} {
						if e.warp {
							n = WarpSize
						}
						m.verify(t, &e, s, n, offset)
					}
				}
			}
			if !e.streams() {
				return
			}
			// Shorter calls do not bypass the cache. Stores that bypass it need aligned
			// words, so a misaligned output must go through the cache.
			n := pieceBytes/e.size + 33
			long := e.heap(n)
			s := e.sample(r, 251, e.apart())
			for _, at := range []int{1, 2, 4} {
				offset := e.anyOffsets(r)
				for out := range e.outs {
					offset[out] = line + at
				}
				long.verify(t, &e, s, n, offset)
				if sanitized() {
					break
				}
			}
		})
	}
}

// pieceLengths returns lengths around the limits at which a call is cut into pieces.
func (e *entry) pieceLengths() []int {
	piece := pieceBytes / e.size
	list := []int{piece - 1, piece, piece + 1, 2*piece - 1, 2 * piece, 2*piece + 33}
	together := func(fields int) int { return pieceBytes / e.largest() / (fields + 1) &^ 63 }
	switch e.fn {
	case "Pack":
		// Pack may make two plain fields of a column.
		list = nil
		for fields := 1; fields <= 2*len(e.pack); fields += 1 + fields/4 {
			piece := together(fields)
			list = append(list, 2*piece, 2*piece+33, 3*piece+1)
		}
	case "Unpack":
		piece := min(unpackBytes/e.size, together(len(e.ops)-1))
		list = append(list, piece-1, piece, piece+1, 2*piece, 2*piece+33)
	}
	return list
}

// TestPieces checks lengths around the limits at which a call is cut into pieces.
func TestPieces(t *testing.T) {
	for _, e := range entries {
		if e.warp {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, 8))
			m := e.heap(2*pieceBytes/e.size + line)
			shares := e.everySharing()
			for i, n := range e.pieceLengths() {
				if sanitized() && i%3 > 0 {
					continue
				}
				// Test each length with some of the sharings, and each sharing with
				// some of the lengths.
				for ; i < len(shares) || i < len(e.pieceLengths()); i += len(e.pieceLengths()) {
					// The number of lanes is prime, so a piece at a wrong place shows.
					m.verify(t, &e, e.sample(r, 251, shares[i%len(shares)]), n, e.anyOffsets(r))
					if quick() {
						break
					}
				}
			}
			if e.streams() && e.stream == nil && !quick() {
				// Shorter calls do not bypass the cache.
				s, n := e.sample(r, 251, e.apart()), pieceBytes/e.size+33
				for at := 0; at < line; at += e.size {
					offset := e.anyOffsets(r)
					for out := range e.outs {
						offset[out] = line + at&^(e.ops[out].size-1)
					}
					m.verify(t, &e, s, n+at, offset)
				}
			}
		})
	}
}

// TestOverlappingSources checks sources that overlap each other in any way, masks too.
func TestOverlappingSources(t *testing.T) {
	for _, e := range entries {
		if len(e.ops)-e.outs < 2 {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 9))
			for _, n := range e.lengths(80) {
				s := e.sample(r, n, e.apart())
				shared := make([]byte, widestLane*(n+1)+line)
				for i := range len(shared) / 8 {
					// Each element may be read as a word or as a pos or width.
					pos, width := anyField(r, 8*e.size)
					store(shared, 4, 2*i, uint64(pos))
					store(shared, 4, 2*i+1, uint64(width))
				}
				source := bytes.Clone(shared)
				unit := 4
				if !misaligns {
					unit = 8
				}
				for op := e.outs; op < len(e.ops); op++ {
					s.ops[op] = shared[unit*r.IntN(line/unit):][:e.ops[op].full(n)]
				}
				e.answer(s)
				var dst [][]byte
				for out := range e.outs {
					dst = append(dst, bytes.Clone(s.ops[out]))
				}
				onEveryKernel(func(k kernel) {
					for out := range e.outs {
						copy(s.ops[out], dst[out])
					}
					e.run(k, &s.args)
					if !bytes.Equal(shared, source) {
						t.Fatalf("%s on %s: %d lanes: a source was written", e.name, k, n)
					}
					for out := range e.outs {
						if !bytes.Equal(s.ops[out], s.want[out]) {
							t.Fatalf("%s on %s: %d lanes: %s is wrong", e.name, k, n, e.ops[out].name)
						}
					}
				})
			}
		})
	}
}

// TestConcurrent has many goroutines call a function, each on its own part of one slice.
func TestConcurrent(t *testing.T) {
	const parts = 8
	for _, e := range entries {
		if e.warp {
			continue
		}
		lanes := 77
		if e.masked() {
			lanes = 128 // whole elements of any mask
		}
		t.Run(e.name, func(t *testing.T) {
			s := e.sample(rand.New(rand.NewPCG(13, 13)), parts*lanes, e.apart())
			var dst [][]byte
			for out := range e.outs {
				dst = append(dst, bytes.Clone(s.ops[out]))
			}
			onEveryKernel(func(k kernel) {
				for out := range e.outs {
					copy(s.ops[out], dst[out])
				}
				var group sync.WaitGroup
				for part := range parts {
					a := s.args
					a.ops = nil
					for op, b := range s.ops {
						size := e.ops[op].full(lanes)
						a.ops = append(a.ops, b[part*size:][:size])
					}
					group.Add(1)
					go func() {
						defer group.Done()
						e.call(&a)
					}()
				}
				group.Wait()
				for out := range e.outs {
					if !bytes.Equal(s.ops[out], s.want[out]) {
						t.Fatalf("%s on %s: %s is wrong", e.name, k, e.ops[out].name)
					}
				}
			})
		})
	}
}

// TestEmpty makes calls on no lanes, with slices that are nil and slices that are not.
func TestEmpty(t *testing.T) {
	for _, e := range slices.Concat(entries, otherEntries) {
		if e.warp {
			continue
		}
		s := e.sample(rand.New(rand.NewPCG(14, 14)), 1, e.apart())
		onEveryKernel(func(kernel) {
			for _, empty := range [][]byte{nil, {}, make([]byte, 8)[8:], make([]byte, 8)[:0]} {
				for op := range s.ops {
					a := s.args
					a.ops = make([][]byte, len(s.ops))
					a.ops[op] = empty
					e.call(&a)
				}
				// All operands are at the same place. Empty operands never overlap.
				a := s.args
				a.ops = slices.Repeat([][]byte{empty}, len(s.ops))
				e.call(&a)
			}
		})
	}
}
