package main

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gobfi/bfi"
)

// none is the sparsity of a mask without an active lane.
const none = math.MaxInt

// sparseJobs returns the jobs under masks with few active lanes, with dst written before and with dst
// fresh from the system. The loop runs over the set bits of the mask.
func sparseJobs[T word](name string) []job {
	var list []job
	for _, sparse := range []int{none, 100_000, 3000, 500} {
		least, density := 0.8, fmt.Sprintf("1of%d", sparse)
		switch sparse {
		case none:
			density = "none"
		case 500:
			least = 0.5
		}
		for _, fresh := range []bool{false, true} {
			state := map[bool]string{false: "written", true: "fresh"}[fresh]
			list = append(list, sparseJob[T]("ExtractMasked/"+name+"/"+density+"/"+state, sparse, fresh, least))
		}
	}
	return list
}

//go:noinline
func sparseJob[T word](name string, sparse int, fresh bool, least float64) job {
	in := operand{bits: bitsOf[T](), kind: input}
	return job{
		name: name, operands: []operand{{bits: in.bits, kind: output}, in, {bits: 1, kind: input}}, active: 2,
		sparse: sparse, fresh: fresh, bars: []bar{{apart, memory, goLoop, least, least, least}},
		want: func(x *operands, v []uint64) uint64 { return uint64(bfi.Bfe(T(v[1]), x.pos, x.width)) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, active := of[T](x, 0), of[T](x, 1), x.mask(2)
			return func(n int) {
					repeat(n, func() {
						if fresh {
							forget(dst)
						}
						bfi.ExtractMasked(dst, src, x.pos, x.width, active)
					})
				}, func(n int) {
					repeat(n, func() {
						if fresh {
							forget(dst)
						}
						shift, src := shiftOf[T](x.pos), src[:len(dst)]
						mask := fieldMask[T](x.pos, x.width) >> shift
						for k, m := range active {
							for ; m != 0; m &= m - 1 {
								if i := 64*k + bits.TrailingZeros64(m); i < len(dst) {
									dst[i] = src[i] >> shift & mask
								}
							}
						}
					})
				}
		},
	}
}
