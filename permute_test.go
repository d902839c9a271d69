package bfi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"
)

// A permutation is a call of permute, with the operands as slices.
type permutation struct {
	d, n      int
	low, high uint64
	gaps      uint16
	moves     []move
}

func (p permutation) String() string {
	text := fmt.Sprintf("d = %d, n = %d, value = %016x%016x, gaps = %#x", p.d, p.n, p.high, p.low, p.gaps)
	for _, m := range p.moves {
		text += fmt.Sprintf(", stride %d %v", m.stride, m.from[:p.d])
	}
	return text
}

// extent returns which bytes of a move's data the call may read.
func (p permutation) extent(m move) (from, to int) {
	from, to = 1<<30, 0
	for _, f := range m.from[:p.d] {
		if f >= 0 {
			from, to = min(from, int(f)), max(to, (p.n-1)*m.stride+int(f)+1)
		}
	}
	return min(from, to), to
}

// want returns dst as it must be after the call. Data that lies in dst is read before it is
// overwritten.
func (p permutation) want(dst []byte, data [][]byte) []byte {
	want := bytes.Clone(dst)
	for i := range p.n {
		for j := range p.d {
			value := byte(p.low >> (8 * (j % 8)))
			if j >= 8 {
				value = byte(p.high >> (8 * (j % 8)))
			}
			write := p.gaps>>j&1 == 0
			for k, m := range p.moves {
				if f := int(m.from[j]); f >= 0 {
					value, write = data[k][i*m.stride+f], true
				}
			}
			if write {
				want[i*p.d+j] = value
			}
		}
	}
	return want
}

// randomPermutation returns a random call. Its strides are often like those of Pack and
// Unpack.
func randomPermutation(r *rand.Rand, d, n int) permutation {
	p := permutation{d: d, n: n, low: r.Uint64(), high: r.Uint64()}
	count := 1 + r.IntN(min(d, []int{1, 2, 4, 16}[r.IntN(4)]))
	sizes := []int{1, 2, 3, 4, 6, 8, 16, d}
	for range count {
		m := move{stride: sizes[r.IntN(len(sizes))]}
		if r.IntN(4) == 0 {
			m.stride = 1 + r.IntN(groupBytes)
		}
		for j := range m.from {
			m.from[j] = -1
		}
		p.moves = append(p.moves, m)
	}
	// Portable loops are for bytes that keep their order, or reverse it.
	inOrder, backwards, all := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
	first := []int{0, r.IntN(groupBytes)}[r.IntN(2)]
	for j := range d {
		if all || r.IntN(4) > 0 || j < count {
			m := &p.moves[r.IntN(count)]
			from := r.IntN(m.stride)
			if inOrder {
				from = j
				if backwards && j < d/2*2 {
					from = d - 1 - j
				}
				from = (from + first) % m.stride
			}
			m.from[j] = int8(from)
		}
	}
	if r.IntN(2) == 0 {
		p.gaps = uint16(r.Uint32())
	}
	return p
}

// TestPermute compares permute with the definition, in random calls with groups of every
// size. Operands often lie next to memory that must not be touched, and dst may be one of
// them. Gaps at the ends of dst lie in that memory.
func TestPermute(t *testing.T) {
	const most = 1200
	segments, margin := guarded(t, 1+groupBytes, most*groupBytes+2*groupBytes)
	r := rand.New(rand.NewPCG(1, 2))
	randomize(r, segments...)
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	onEveryKernel(func(k kernel) {
		for d := 1; d <= groupBytes; d++ {
			for range rounds {
				n := r.IntN([]int{8, 40, 200, most}[r.IntN(4)])
				p := randomPermutation(r, d, n)
				checkPermute(t, k, r, p, segments, margin)
				if t.Failed() {
					return
				}
			}
		}
	})
}

// randomize fills memory with random bytes.
func randomize(r *rand.Rand, segments ...[]byte) {
	for _, s := range segments {
		for i := range len(s) / 8 {
			binary.LittleEndian.PutUint64(s[8*i:], r.Uint64())
		}
	}
}

// checkPermute makes a call with operands at random places.
func checkPermute(t *testing.T, k kernel, r *rand.Rand, p permutation, segments [][]byte, margin int) {
	t.Helper()
	// The part of an operand that may be touched begins where the segment begins, ends
	// where it ends, or lies anywhere between.
	place := func(segment []byte, from, to int) int {
		room := len(segment) - 2*margin - (to - from)
		return margin - from + []int{0, room, r.IntN(room + 1)}[r.IntN(3)]
	}
	written := func(j int) bool {
		w := p.gaps>>j&1 == 0
		for _, m := range p.moves {
			w = w || m.from[j] >= 0
		}
		return w
	}
	first, last := 0, p.n*p.d
	for first < p.d && !written(first) {
		first++
	}
	for last > 0 && !written((last-1)%p.d) {
		last--
	}
	if first > last {
		first, last = 0, 0
	}
	at := place(segments[0], first, last)
	inPlace := -1
	data := make([][]byte, len(p.moves))
	for i := range p.moves {
		m := &p.moves[i]
		from, to := p.extent(*m)
		if m.stride == p.d && r.IntN(2) == 0 && from >= first && to <= last {
			inPlace = i
			m.data = unsafe.Add(unsafe.Pointer(&segments[0][0]), at)
			data[i] = viewOf(segments[0], at, from, to)
			continue
		}
		begin := place(segments[1+i], from, to)
		m.data = unsafe.Add(unsafe.Pointer(&segments[1+i][0]), begin)
		data[i] = viewOf(segments[1+i], begin, from, to)
	}
	view := viewOf(segments[0], at, first, last)
	want := p.want(view, data)
	around := bytes.Clone(segments[0])
	copy(around[at+first:at+last], want[first:last])
	permute(unsafe.Add(unsafe.Pointer(&segments[0][0]), at), p.d, p.n, p.low, p.high, p.gaps, p.moves)
	if !bytes.Equal(segments[0], around) {
		for i := range around {
			if around[i] != segments[0][i] {
				t.Errorf("%v, %v, dst is move %d: byte %d of group %d is %#x, want %#x",
					k, p, inPlace, (i-at)%p.d, (i-at)/p.d, segments[0][i], around[i])
				return
			}
		}
	}
}

// viewOf returns a copy of segment from at on. It has the segment's bytes from from to
// before to, and zeros elsewhere.
func viewOf(segment []byte, at, from, to int) []byte {
	view := make([]byte, max(to, 0)+2*groupBytes)
	if from < to {
		copy(view[from:to], segment[at+from:at+to])
	}
	return view
}

// TestPermuteLong makes calls of several pieces.
func TestPermuteLong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	onEveryKernel(func(k kernel) {
		for _, d := range []int{1, 3, 4, 8} {
			p := randomPermutation(r, d, 3*pieceBytes/d+r.IntN(99))
			segments := make([][]byte, 1+len(p.moves))
			for i := range segments {
				segments[i] = make([]byte, (p.n+4)*groupBytes)
			}
			randomize(r, segments...)
			checkPermute(t, k, r, p, segments, groupBytes)
		}
	})
}

// TestPermuteGaps checks that calls do not write to gaps. A goroutine writes to the gaps
// meanwhile.
func TestPermuteGaps(t *testing.T) {
	const n = 512
	calls := 20000
	if sanitized() {
		calls = 500
	}
	onEveryKernel(func(k kernel) {
		dst, src := make([]byte, 4*n), make([]byte, 4*n)
		var stop atomic.Bool
		done := make(chan bool)
		go func() {
			defer close(done)
			for round := byte(0); !stop.Load(); round++ {
				for i := 3; i < len(dst); i += 4 {
					dst[i] = round
				}
				runtime.Gosched()
				for i := 3; i < len(dst); i += 4 {
					if dst[i] != round {
						t.Errorf("%v: byte %d, a gap, was written", k, i)
						return
					}
				}
			}
		}()
		moves := []move{{data: pointer(src), stride: 4, from: [groupBytes]int8{2, 1, 0, -1}}}
		for range calls {
			permute(pointer(dst), 4, n, 0, 0, 1<<3, moves)
		}
		stop.Store(true)
		<-done
	})
}

func TestPermuteAllocates(t *testing.T) {
	if sanitized() {
		t.Skip("under a sanitizer, operands escape to the heap")
	}
	onEveryKernel(func(k kernel) {
		for _, count := range []int{1, 4, 8} {
			var dst [64]uint64
			var planes [8][64]byte
			if have := testing.AllocsPerRun(10, func() {
				var moves [8]move
				for i := range count {
					moves[i] = move{
						data: unsafe.Pointer(&planes[i]), stride: 1,
						from: [groupBytes]int8{-1, -1, -1, -1, -1, -1, -1, -1},
					}
					moves[i].from[i] = 0
				}
				permute(unsafe.Pointer(&dst), 8, 64, 0, 0, 0, moves[:count])
			}); have != 0 {
				t.Errorf("%v: permute of %d moves allocates %v times", k, count, have)
			}
		}
	})
}
