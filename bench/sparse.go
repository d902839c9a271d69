package main

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/gobfi/bfi"
)

// Sparsities of masks: without an active lane, and with half of the lanes active at random.
const (
	none = math.MaxInt
	half = 2
)

// someLanes is the length of the jobs under sparse masks. Only ExtractMasked has more lanes,
// which lie in memory.
const someLanes = 1 << 20

// sparseJobs returns the jobs of all masked functions under masks with few active lanes, and
// with half of them active. dst was either written before or is fresh from the system. The
// loop runs over the set bits of the mask.
func sparseJobs[T word](name string) []job {
	// The functions without a mask have the same operands and results.
	plain := append([]job{insertJob[T](name, nil)}, sliceJobs[T](name)...)
	works := []sparseWork{
		insertSparse[T], insertEachSparse[T], fillSparse[T], selectSparse[T], extractSparse[T], extractEachSparse[T],
	}
	var list []job
	for i, j := range plain {
		lanes := someLanes
		if strings.HasPrefix(j.name, "Extract/") {
			lanes = memory
		}
		for _, sparse := range []int{none, 100_000, 3000, 500, half} {
			least, density := 0.8, fmt.Sprintf("1of%d", sparse)
			switch sparse {
			case none:
				density = "none"
			case 500:
				least = 0.5
			case half:
				least = 0
			}
			for _, fresh := range []bool{false, true} {
				state := map[bool]string{false: "written", true: "fresh"}[fresh]
				list = append(list, job{
					name:     strings.Replace(j.name, "/", "Masked/", 1) + "/" + density + "/" + state,
					operands: append(j.operands[:len(j.operands):len(j.operands)], operand{bits: 1, kind: input}),
					active:   len(j.operands), sparse: sparse, fresh: fresh, want: j.want,
					bars: []bar{{apart, lanes, goLoop, least, least, least}},
					work: sparseCalls[T](works[i], fresh),
				})
			}
		}
	}
	return list
}

// A sparseWork returns a call of a masked function and the loop that does the same.
type sparseWork func(x *operands, active []uint64) (ours, loop func())

// sparseCalls returns a job's work. If fresh is set, each call first gives dst back to the
// system.
func sparseCalls[T word](work sparseWork, fresh bool) func(x *operands) (ours, loop func(n int)) {
	return func(x *operands) (ours, loop func(n int)) {
		dst := of[T](x, 0)
		calls := func(call func()) func(n int) {
			return func(n int) {
				for range n {
					if fresh {
						forget(dst)
					}
					call()
				}
			}
		}
		a, b := work(x, x.mask(x.job.active))
		return calls(a), calls(b)
	}
}

// eachActive calls f with the active lanes among n, in order. It is inlined, and so is f.
func eachActive(active []uint64, n int, f func(i int)) {
	for k, m := range active {
		for ; m != 0; m &= m - 1 {
			if i := 64*k + bits.TrailingZeros64(m); i < n {
				f(i)
			}
		}
	}
}

//go:noinline
func insertSparse[T word](x *operands, active []uint64) (ours, loop func()) {
	dst, src, base := of[T](x, 0), of[T](x, 1), of[T](x, 2)
	return func() { bfi.InsertMasked(dst, src, base, x.pos, x.width, active) }, func() {
		mask, shift, src, base := fieldMask[T](x.pos, x.width), shiftOf[T](x.pos), src[:len(dst)], base[:len(dst)]
		eachActive(active, len(dst), func(i int) { dst[i] = base[i] ^ (base[i]^src[i]<<shift)&mask })
	}
}

//go:noinline
func insertEachSparse[T word](x *operands, active []uint64) (ours, loop func()) {
	dst, src, base, pos, width := of[T](x, 0), of[T](x, 1), of[T](x, 2), of[uint32](x, 3), of[uint32](x, 4)
	return func() { bfi.InsertEachMasked(dst, src, base, pos, width, active) }, func() {
		src, base, pos, width := src[:len(dst)], base[:len(dst)], pos[:len(dst)], width[:len(dst)]
		eachActive(active, len(dst), func(i int) {
			dst[i] = base[i] ^ (base[i]^src[i]<<(pos[i]&0xff))&fieldMask[T](pos[i], width[i])
		})
	}
}

//go:noinline
func fillSparse[T word](x *operands, active []uint64) (ours, loop func()) {
	dst, base, value := of[T](x, 0), of[T](x, 1), T(x.value)
	return func() { bfi.FillMasked(dst, value, base, x.pos, x.width, active) }, func() {
		mask, base := fieldMask[T](x.pos, x.width), base[:len(dst)]
		bits := value << shiftOf[T](x.pos) & mask
		eachActive(active, len(dst), func(i int) { dst[i] = base[i]&^mask | bits })
	}
}

//go:noinline
func selectSparse[T word](x *operands, active []uint64) (ours, loop func()) {
	dst, mask, src, base := of[T](x, 0), of[T](x, 1), of[T](x, 2), of[T](x, 3)
	return func() { bfi.SelectMasked(dst, mask, src, base, active) }, func() {
		mask, src, base := mask[:len(dst)], src[:len(dst)], base[:len(dst)]
		eachActive(active, len(dst), func(i int) { dst[i] = base[i] ^ (base[i]^src[i])&mask[i] })
	}
}

//go:noinline
func extractSparse[T word](x *operands, active []uint64) (ours, loop func()) {
	dst, src := of[T](x, 0), of[T](x, 1)
	return func() { bfi.ExtractMasked(dst, src, x.pos, x.width, active) }, func() {
		shift, src := shiftOf[T](x.pos), src[:len(dst)]
		mask := fieldMask[T](x.pos, x.width) >> shift
		eachActive(active, len(dst), func(i int) { dst[i] = src[i] >> shift & mask })
	}
}

//go:noinline
func extractEachSparse[T word](x *operands, active []uint64) (ours, loop func()) {
	dst, src, pos, width := of[T](x, 0), of[T](x, 1), of[uint32](x, 2), of[uint32](x, 3)
	return func() { bfi.ExtractEachMasked(dst, src, pos, width, active) }, func() {
		src, pos, width := src[:len(dst)], pos[:len(dst)], width[:len(dst)]
		eachActive(active, len(dst), func(i int) {
			dst[i] = src[i] >> (pos[i] & 0xff) &^ (^T(0) << (width[i] & 0xff))
		})
	}
}
