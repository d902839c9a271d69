package bfi

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// warps returns the entries of warps.
func warps() []entry {
	var list []entry
	for _, e := range entries {
		if e.warp {
			list = append(list, e)
		}
	}
	return list
}

// TestWarpOverlap makes calls with operands that overlap in any way. A call reads all lanes
// before it writes any, so its results must be the same as with copies of the operands.
func TestWarpOverlap(t *testing.T) {
	for _, e := range warps() {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(24, 24))
			size := WarpSize * e.size
			// dst overlaps each operand in turn, at every distance.
			for op := 1; op < len(e.ops); op++ {
				for shift := -size - 1; shift <= size+1; shift++ {
					if quick() && shift%4 != 0 {
						continue
					}
					start := make([]int, len(e.ops))
					for other := range start {
						start[other] = (other + 1) * 3 * size
					}
					start[0] = start[op] + shift
					warpOverlap(t, &e, r, start)
				}
			}
			// All operands lie anywhere near each other.
			for range 1000 {
				start := make([]int, len(e.ops))
				for op := range start {
					start[op] = r.IntN(size)
					if r.IntN(2) == 0 {
						start[op] &^= e.size - 1
					}
				}
				warpOverlap(t, &e, r, start)
			}
		})
	}
}

// warpOverlap calls e on every kernel with all operands in one memory, at the given offsets.
func warpOverlap(t *testing.T, e *entry, r *rand.Rand, start []int) {
	t.Helper()
	s := e.sample(r, WarpSize, e.apart())
	before := make([]byte, (len(e.ops)+3)*3*WarpSize*e.size)
	for i := range len(before) / 4 {
		// Each element may be read as a word or as a pos or width.
		pos, _ := anyField(r, 8*e.size)
		store(before, 4, i, uint64(pos))
	}
	for op, o := range e.ops {
		s.ops[op] = bytes.Clone(before[start[op]:][:o.bytes(WarpSize)])
	}
	e.answer(s)
	want := bytes.Clone(before)
	copy(want[start[0]:], s.want[0])
	memory := make([]byte, len(before))
	for op, o := range e.ops {
		s.ops[op] = memory[start[op]:][:o.bytes(WarpSize)]
	}
	onEveryKernel(func(k kernel) {
		copy(memory, before)
		e.call(&s.args)
		if !bytes.Equal(memory, want) {
			t.Fatalf("%s on %s: operands at %v, active %#x: copies of the operands give another result",
				e.name, k, start, s.active)
		}
	})
}

// TestWarpNil checks that a nil operand panics, even if no lane is active.
func TestWarpNil(t *testing.T) {
	for _, e := range warps() {
		for op, o := range e.ops {
			for _, active := range []uint32{0, 1, ^uint32(0)} {
				onEveryKernel(func(k kernel) {
					s := e.sample(rand.New(rand.NewPCG(25, 25)), WarpSize, e.apart())
					s.active = active
					s.ops[op] = nil
					dst := bytes.Clone(s.ops[0])
					defer func() {
						err, _ := recover().(runtime.Error)
						if err == nil || !strings.Contains(err.Error(), "nil pointer") {
							t.Errorf("%s on %s: %s nil, active %#x: panic(%v), want a panic about a nil pointer",
								e.name, k, o.name, active, err)
						}
						if !bytes.Equal(s.ops[0], dst) {
							t.Errorf("%s on %s: %s nil, active %#x: wrote before it panicked", e.name, k, o.name, active)
						}
					}()
					e.call(&s.args)
				})
			}
		}
	}
}
