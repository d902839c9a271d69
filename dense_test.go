package bfi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// oracleDense moves fields bit by bit, from groups into words. If scatter is set, it
// moves them from words into groups.
func oracleDense(words []byte, w int, groups []byte, e, stride, n int, d dense, scatter bool) {
	for i := range n {
		word := uint64(0)
		if scatter {
			word = load(words, w, i)
		}
		for j := range d.count {
			group, place := groups[i*stride:], j
			if d.reversed {
				place = d.count - 1 - j
			}
			element, at := uint64(0), d.pos+place*d.width
			if !scatter {
				element = load(group, e, j)
			}
			for k := range d.width {
				element |= (word >> (at + k) & 1) << (d.from + k)
				word |= (element >> (d.from + k) & 1) << (at + k)
			}
			for k := d.from + d.width; scatter && d.signed && k < 8*e; k++ {
				element |= (element >> (d.from + d.width - 1) & 1) << k
			}
			if scatter {
				store(group, e, j, element)
			}
		}
		if !scatter {
			store(words, w, i, word)
		}
	}
}

// A denseCase is one call of gatherBits or scatterBits.
type denseCase struct {
	w, e, stride, n int
	d               dense
}

func (c denseCase) String() string {
	return fmt.Sprintf("w = %d, e = %d, stride = %d, n = %d, %+v", c.w, c.e, c.stride, c.n, c.d)
}

// groupBytes returns the number of bytes from the first group's start to the last
// group's end.
func (c denseCase) groupBytes() int {
	if c.n == 0 {
		return 0
	}
	return (c.n-1)*c.stride + c.d.count*c.e
}

// check makes the call in both directions. The operands lie where the areas end, or
// where they start.
func (c denseCase) check(t *testing.T, r *rand.Rand, areas [][]byte, atEnd bool) {
	t.Helper()
	const around = 16
	place := func(area []byte, size int) (operand, inside []byte) {
		if atEnd {
			inside = area[len(area)-size-around:]
			return inside[around:], inside
		}
		inside = area[:size+around]
		return inside[:size], inside
	}
	for _, scatter := range []bool{false, true} {
		words, wordsInside := place(areas[0], c.n*c.w)
		groups, groupsInside := place(areas[1], c.groupBytes())
		for _, b := range [][]byte{wordsInside, groupsInside} {
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		}
		wantWords, wantGroups := bytes.Clone(wordsInside), bytes.Clone(groupsInside)
		var shift int
		if atEnd {
			shift = around
		}
		oracleDense(wantWords[shift:], c.w, wantGroups[shift:], c.e, c.stride, c.n, c.d, scatter)
		if scatter {
			scatterBits(pointer(groups), c.e, c.stride, pointer(words), c.w, c.n, &c.d)
		} else {
			gatherBits(pointer(words), c.w, c.n, pointer(groups), c.e, c.stride, &c.d)
		}
		if !bytes.Equal(wordsInside, wantWords) || !bytes.Equal(groupsInside, wantGroups) {
			t.Fatalf("%v, scatter: %t, at the end: %t:\nwords  %x\nwant   %x\ngroups %x\nwant   %x",
				c, scatter, atEnd, wordsInside, wantWords, groupsInside, wantGroups)
		}
	}
}

// onEveryLevel calls f once for each kernel, except for kernels that differ from
// another only in stores that bypass the cache.
func onEveryLevel(f func(kernel)) {
	onEveryKernel(func(k kernel) {
		if !k.stream {
			f(k)
		}
	})
}

// TestDense checks every size of words and of elements, with every width, from and
// count. The operands lie next to pages that fault.
func TestDense(t *testing.T) {
	areas, _ := guarded(t, 2, 1<<16)
	onEveryLevel(func(k kernel) {
		t.Run(k.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for _, w := range []int{1, 2, 4, 8} {
				for _, e := range []int{1, 2, 4, 8} {
					for width := 1; width <= 8*min(w, e); width++ {
						for from := 0; from+width <= 8*e; from++ {
							most := 8 * w / width
							for count := 1; count <= most; count++ {
								if testing.Short() && e > 1 {
									count += r.IntN(most - count + 1)
								}
								d := dense{count: count, width: width, from: from, reversed: r.IntN(2) == 0, signed: r.IntN(2) == 0}
								if room := 8*w - count*width; r.IntN(2) == 0 {
									d.pos = r.IntN(room + 1)
								}
								c := denseCase{w: w, e: e, stride: count * e, n: r.IntN(24), d: d}
								switch r.IntN(6) {
								case 0, 1:
									c.stride += e * r.IntN(10)
								case 2:
									c.n += 1 << 10 / c.stride // enough that a kernel may make a table for the call
								}
								c.check(t, r, areas, r.IntN(2) == 0)
							}
						}
					}
				}
			}
		})
	})
}

// TestDenseLengths checks many lengths, with groups of every size.
func TestDenseLengths(t *testing.T) {
	areas, _ := guarded(t, 2, 1<<19)
	onEveryLevel(func(k kernel) {
		t.Run(k.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for _, w := range []int{1, 2, 4, 8} {
				for count := 1; count <= 8*w; count++ {
					if testing.Short() {
						count = min(count+r.IntN(8), 8*w)
					}
					for n := 0; n <= 300; n += 1 + n/8 {
						e := 1 << r.IntN(4)
						width := 1 + r.IntN(8*w/count)
						width = min(width, 8*e)
						d := dense{
							count: count, width: width, from: r.IntN(8*e - width + 1), pos: r.IntN(8*w - count*width + 1),
							reversed: n%3 == 0, signed: n%2 == 0,
						}
						c := denseCase{w: w, e: e, stride: count * e, n: n, d: d}
						if n%5 == 0 {
							c.stride += e * (1 + r.IntN(3))
						}
						c.check(t, r, areas, n%2 == 0)
						if count == 8*w {
							c.e, c.stride, c.d.from, c.d.pos = 1, count, r.IntN(8), 0
							c.check(t, r, areas, n%2 == 0)
						}
					}
				}
			}
			// These calls have more than one piece.
			c := denseCase{w: 8, e: 1, stride: 12, n: 3*pieceBytes/12 + 5, d: dense{count: 12, width: 5}}
			c.check(t, r, areas, true)
			for width := 1; width <= 4; width *= 2 {
				for w := 1; w <= 8; w *= 2 {
					d := dense{count: 8 * w / width, width: width, from: 8 - width, reversed: w == 1 && width < 4}
					c = denseCase{w: w, e: 1, stride: d.count, n: 2*pieceBytes/d.count + 5, d: d}
					c.check(t, r, areas, true)
				}
			}
		})
	})
}

// BenchmarkDense measures gatherBits and scatterBits on every kernel.
func BenchmarkDense(b *testing.B) {
	for _, c := range []denseCase{
		{w: 8, e: 1, d: dense{count: 12, width: 5}},
		{w: 8, e: 1, d: dense{count: 9, width: 7}},
		{w: 8, e: 1, d: dense{count: 16, width: 4}},
		{w: 8, e: 1, d: dense{count: 32, width: 2}},
		{w: 8, e: 1, d: dense{count: 64, width: 1}},
		{w: 8, e: 2, d: dense{count: 4, width: 15}},
		{w: 1, e: 1, d: dense{count: 8, width: 1}},
		{w: 1, e: 1, d: dense{count: 8, width: 1, reversed: true}},
		{w: 8, e: 1, d: dense{count: 12, width: 5, reversed: true}},
	} {
		for _, elements := range []int{24, 4096} {
			c.n, c.stride = elements/c.d.count, c.d.count*c.e
			words, groups := make([]byte, c.n*c.w), make([]byte, c.groupBytes())
			onEveryLevel(func(k kernel) {
				name := fmt.Sprintf("%dx%d.of%d.to%d,reversed=%t/n=%d/%v", c.d.count, c.d.width, c.e, c.w, c.d.reversed,
					elements, k)
				b.Run("gather/"+name, func(b *testing.B) {
					for b.Loop() {
						gatherBits(pointer(words), c.w, c.n, pointer(groups), c.e, c.stride, &c.d)
					}
				})
				b.Run("scatter/"+name, func(b *testing.B) {
					for b.Loop() {
						scatterBits(pointer(groups), c.e, c.stride, pointer(words), c.w, c.n, &c.d)
					}
				})
			})
		}
	}
}

// TestDenseAllocates checks that operands on the caller's stack stay there.
func TestDenseAllocates(t *testing.T) {
	if sanitized() {
		t.Skip("under a sanitizer, operands escape to the heap")
	}
	onEveryLevel(func(k kernel) {
		got := testing.AllocsPerRun(10, func() {
			var words [20]uint64
			var groups [240]uint8
			d := dense{count: 12, width: 5}
			gatherBits(unsafe.Pointer(&words), 8, len(words), unsafe.Pointer(&groups), 1, 12, &d)
			scatterBits(unsafe.Pointer(&groups), 1, 12, unsafe.Pointer(&words), 8, len(words), &d)
		})
		if got != 0 {
			t.Errorf("%v: %v allocations, want none", k, got)
		}
	})
}
