package main

import (
	"unsafe"

	"github.com/gobfi/bfi"
)

// A job is work over many lanes. The library does it, and so does the code that a user would
// write or pick instead. The table of jobs has the work, the right answers, and the bars of
// the comparisons.
type job struct {
	name     string // the loop in C has the same name
	operands []operand
	inPlace  int                                        // the operand that may be dst, which is operand 0; 0 for none
	warp     bool                                       // whether a call is for 32 lanes, under the operands' active mask
	active   int                                        // the operand that is an active mask; 0 for none
	sparse   int                                        // if not 0, one lane in this number is active
	fresh    bool                                       // whether each call first gives dst's pages back to the system
	want     func(x *operands, v []uint64) uint64       // the right answer of a lane
	fields   []field                                    // instead of want: the fields of words and columns
	work     func(x *operands) (ours, loop func(n int)) // the library's call and the Go loop, n times
	replaces string                                     // the calls of the library that the call replaces
	replaced func(x *operands) func(n int)
	libyuv   string // libyuv's function for this job, if there is one
	byHand   bool   // whether there is a loop in C with a specialist's vector instructions
	bars     []bar
}

// repeat calls f n times. The compiler must inline repeat and f. Otherwise the Go loops would
// not be the best that a programmer would write.
func repeat(n int, f func()) {
	for range n {
		f()
	}
}

// An operand is a slice with one or more elements for each lane.
type operand struct {
	bits int // of an element
	kind kind
	more int // the number of a lane's elements after the first
}

// elements returns the number of elements that n lanes have.
func (o operand) elements(n int) int { return n * (1 + o.more) }

// laneBits returns the number of bits that a lane has in the operand.
func (o operand) laneBits() int { return o.elements(1) * o.bits }

type kind int

const (
	input  kind = iota
	output      // dst, or the columns of Unpack
	posOf
	widthOf
)

// A field has a column's place in words, and the bit of the values that it starts from.
// Column 0 of Pack is a constant.
type field struct {
	column           int
	pos, width, from uint32
}

// A bar is the least ratio that is good enough. The ratio is how many times as fast as a
// contender the library is, in calls on the given number of lanes. If a bar is 0, the
// comparison is printed without a bar.
type bar struct {
	place                place
	lanes                int // for warps, the active lanes
	than                 string
	avx512, avx2, others float64
}

const (
	cached = 1 << 10  // the lanes of a call whose operands lie in the first-level cache
	memory = 16 << 20 // the lanes of a call whose operands lie in memory
)

type word interface {
	uint8 | uint16 | uint32 | uint64
}

func bitsOf[T word]() int { return int(8 * unsafe.Sizeof(T(0))) }

// fieldMask returns a word with ones in the field.
func fieldMask[T word](pos, width uint32) T { return ^(^T(0) << (width & 0xff)) << (pos & 0xff) }

// shiftOf returns pos if it lies in the word. If it does not, the field is empty, and shiftOf
// returns some shift within the word.
func shiftOf[T word](pos uint32) uint32 { return pos & 0xff % uint32(8*unsafe.Sizeof(T(0))) }

// jobs returns the table.
func jobs() []job {
	overC := []bar{{apart, cached, cLoop, 0.9, 0.9, 0}, {apart, memory, cLoop, 0.9, 0.9, 0}}
	js := []job{insertJob[uint8]("u8", overC), insertJob[uint16]("u16", overC), insertJob[uint32]("u32", []bar{
		{apart, 1, goLoop, 0.6, 0.6, 0}, {apart, 2, goLoop, 0.6, 0.6, 0}, {apart, 3, goLoop, 0.6, 0.6, 0},
		{apart, 8, goLoop, 1, 1, 0}, {apart, 16, goLoop, 1.4, 1.4, 0},
		{apart, cached, goLoop, 0, 0, 0}, {apart, cached, cLoop, 1, 0, 0},
		{apart, cached, limit, 0.95, 0, 0}, {apart, cached, archsimdLoop, 4, 0, 0},
		{apart, memory, goLoop, 0, 0, 0}, {apart, memory, cLoop, 1.25, 0, 0},
		{apart, memory, cachedStores, 1.25, 1.25, 0},
		{inPlace, memory, limit, 0.97, 0, 0}, {misaligned, cached, cLoop, 1, 0, 0},
	})}
	js = append(js, sliceJobs[uint32]("u32")...)
	js = append(js, insertJob[uint64]("u64", nil))
	js = append(js, sliceJobs[uint64]("u64")...)
	js = append(js, maskedJobs()...)
	js = append(js, sparseJobs[uint8]("u8")...)
	js = append(js, sparseJobs[uint32]("u32")...)
	js = append(js, sparseJobs[uint64]("u64")...)
	js = append(js, warpJobs[uint32]("u32")...)
	js = append(js, warpJobs[uint64]("u64")...)
	js = append(js, columnJobs()...)
	return append(js, arrayJobs()...)
}

// insertJob returns the job of Insert. The compiler must not inline it. If it did, it would
// not inline repeat into the functions that insertJob returns.
//
//go:noinline
func insertJob[T word](name string, bars []bar) job {
	in := operand{bits: bitsOf[T](), kind: input}
	return job{
		name: "Insert/" + name, operands: []operand{{bits: in.bits, kind: output}, in, in}, inPlace: 2, bars: bars,
		want: func(x *operands, v []uint64) uint64 { return uint64(bfi.Bfi(T(v[1]), T(v[2]), x.pos, x.width)) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, base := of[T](x, 0), of[T](x, 1), of[T](x, 2)
			return func(n int) { repeat(n, func() { bfi.Insert(dst, src, base, x.pos, x.width) }) }, func(n int) {
				repeat(n, func() {
					mask, shift, src, base := fieldMask[T](x.pos, x.width), shiftOf[T](x.pos), src[:len(dst)], base[:len(dst)]
					for i := range dst {
						dst[i] = base[i] ^ (base[i]^src[i]<<shift)&mask
					}
				})
			}
		},
	}
}

// sliceJobs returns the other functions over slices. The bars are for words of 32 bits.
func sliceJobs[T word](name string) []job {
	in := operand{bits: bitsOf[T](), kind: input}
	out := operand{bits: in.bits, kind: output}
	pos, width := operand{bits: 32, kind: posOf}, operand{bits: 32, kind: widthOf}
	js := []job{{
		name: "InsertEach/" + name, operands: []operand{out, in, in, pos, width}, inPlace: 2,
		bars: []bar{{apart, cached, goLoop, 25, 8, 0}, {apart, cached, cLoop, 1.35, 0, 0},
			{apart, cached, archsimdLoop, 4, 0, 0}},
		want: func(x *operands, v []uint64) uint64 {
			return uint64(bfi.Bfi(T(v[1]), T(v[2]), uint32(v[3]), uint32(v[4])))
		},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, base, pos, width := of[T](x, 0), of[T](x, 1), of[T](x, 2), of[uint32](x, 3), of[uint32](x, 4)
			return func(n int) { repeat(n, func() { bfi.InsertEach(dst, src, base, pos, width) }) }, func(n int) {
				repeat(n, func() {
					src, base, pos, width := src[:len(dst)], base[:len(dst)], pos[:len(dst)], width[:len(dst)]
					for i := range dst {
						dst[i] = base[i] ^ (base[i]^src[i]<<(pos[i]&0xff))&fieldMask[T](pos[i], width[i])
					}
				})
			}
		},
	}, {
		name: "Fill/" + name, operands: []operand{out, in}, inPlace: 1,
		bars: []bar{{apart, cached, goLoop, 0, 0, 0}, {apart, cached, cLoop, 0, 0, 0}},
		want: func(x *operands, v []uint64) uint64 { return uint64(bfi.Bfi(T(x.value), T(v[1]), x.pos, x.width)) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, base, value := of[T](x, 0), of[T](x, 1), T(x.value)
			return func(n int) { repeat(n, func() { bfi.Fill(dst, value, base, x.pos, x.width) }) }, func(n int) {
				repeat(n, func() {
					mask, base := fieldMask[T](x.pos, x.width), base[:len(dst)]
					bits := value << shiftOf[T](x.pos) & mask
					for i := range dst {
						dst[i] = base[i]&^mask | bits
					}
				})
			}
		},
	}, {
		name: "Select/" + name, operands: []operand{out, in, in, in}, inPlace: 3,
		bars: []bar{{apart, cached, goLoop, 0, 0, 0}, {apart, cached, cLoop, 0, 0, 0}},
		want: func(x *operands, v []uint64) uint64 { return v[1]&v[2] | ^v[1]&v[3] },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, mask, src, base := of[T](x, 0), of[T](x, 1), of[T](x, 2), of[T](x, 3)
			return func(n int) { repeat(n, func() { bfi.Select(dst, mask, src, base) }) }, func(n int) {
				repeat(n, func() {
					mask, src, base := mask[:len(dst)], src[:len(dst)], base[:len(dst)]
					for i := range dst {
						dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
					}
				})
			}
		},
	}, {
		name: "Extract/" + name, operands: []operand{out, in}, inPlace: 1,
		bars: []bar{{apart, cached, goLoop, 0, 0, 0}, {apart, cached, cLoop, 1, 0, 0}},
		want: func(x *operands, v []uint64) uint64 { return uint64(bfi.Bfe(T(v[1]), x.pos, x.width)) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src := of[T](x, 0), of[T](x, 1)
			return func(n int) { repeat(n, func() { bfi.Extract(dst, src, x.pos, x.width) }) }, func(n int) {
				repeat(n, func() {
					shift, src := shiftOf[T](x.pos), src[:len(dst)]
					mask := fieldMask[T](x.pos, x.width) >> shift
					for i := range dst {
						dst[i] = src[i] >> shift & mask
					}
				})
			}
		},
	}, {
		name: "ExtractEach/" + name, operands: []operand{out, in, pos, width}, inPlace: 1,
		bars: []bar{{apart, cached, goLoop, 15, 0, 0}, {apart, cached, cLoop, 1.3, 0, 0}},
		want: func(x *operands, v []uint64) uint64 { return uint64(bfi.Bfe(T(v[1]), uint32(v[2]), uint32(v[3]))) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, pos, width := of[T](x, 0), of[T](x, 1), of[uint32](x, 2), of[uint32](x, 3)
			return func(n int) { repeat(n, func() { bfi.ExtractEach(dst, src, pos, width) }) }, func(n int) {
				repeat(n, func() {
					src, pos, width := src[:len(dst)], pos[:len(dst)], width[:len(dst)]
					for i := range dst {
						dst[i] = src[i] >> (pos[i] & 0xff) &^ (^T(0) << (width[i] & 0xff))
					}
				})
			}
		},
	}}
	if in.bits != 32 {
		for i := range js {
			js[i].bars = nil
		}
	}
	return js
}

// isActive reports whether the bit of lane i is set.
func isActive(active []uint64, i int) bool { return active[i/64]>>(i%64)&1 != 0 }

// maskedJobs returns the jobs under a mask in which a random half of the lanes is active. The
// Go loops test each lane's bit, and the portable kernels loop over the set bits.
func maskedJobs() []job {
	in, out, active := operand{bits: 32, kind: input}, operand{bits: 32, kind: output}, operand{bits: 1, kind: input}
	insert := insertJob[uint32]("u32", nil)
	return []job{{
		name: "InsertMasked/u32", operands: []operand{out, in, in, active}, active: 3, want: insert.want,
		replaces: "Insert", replaced: func(x *operands) func(n int) { ours, _ := insert.work(x); return ours },
		bars: []bar{
			{apart, 64, goLoop, 5, 4, 0}, {apart, cached, goLoop, 15, 10, 0}, {apart, cached, "bfi generic", 0, 0, 0},
			{apart, cached, cLoop, 4.5, 3, 0}, {apart, cached, "Insert", 0.7, 0.6, 0},
			{apart, memory, goLoop, 1.8, 1.8, 0}, {apart, memory, "bfi generic", 0, 0, 0}, {apart, memory, cLoop, 1.1, 1.1, 0},
		},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, base, active := of[uint32](x, 0), of[uint32](x, 1), of[uint32](x, 2), x.mask(3)
			return func(n int) { repeat(n, func() { bfi.InsertMasked(dst, src, base, x.pos, x.width, active) }) }, func(n int) {
				repeat(n, func() {
					mask, shift := fieldMask[uint32](x.pos, x.width), shiftOf[uint32](x.pos)
					src, base := src[:len(dst)], base[:len(dst)]
					for i := range dst {
						if isActive(active, i) {
							dst[i] = base[i] ^ (base[i]^src[i]<<shift)&mask
						}
					}
				})
			}
		},
	}, {
		name: "FillMasked/u32", operands: []operand{out, in, active}, active: 2,
		want: func(x *operands, v []uint64) uint64 {
			return uint64(bfi.Bfi(uint32(x.value), uint32(v[1]), x.pos, x.width))
		},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, base, active, value := of[uint32](x, 0), of[uint32](x, 1), x.mask(2), uint32(x.value)
			return func(n int) { repeat(n, func() { bfi.FillMasked(dst, value, base, x.pos, x.width, active) }) }, func(n int) {
				repeat(n, func() {
					mask, base := fieldMask[uint32](x.pos, x.width), base[:len(dst)]
					bits := value << shiftOf[uint32](x.pos) & mask
					for i := range dst {
						if isActive(active, i) {
							dst[i] = base[i]&^mask | bits
						}
					}
				})
			}
		},
	}, {
		name: "SelectMasked/u32", operands: []operand{out, in, in, in, active}, active: 4,
		want: func(x *operands, v []uint64) uint64 { return v[1]&v[2] | ^v[1]&v[3] },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, mask, src, base, active := of[uint32](x, 0), of[uint32](x, 1), of[uint32](x, 2), of[uint32](x, 3), x.mask(4)
			return func(n int) { repeat(n, func() { bfi.SelectMasked(dst, mask, src, base, active) }) }, func(n int) {
				repeat(n, func() {
					mask, src, base := mask[:len(dst)], src[:len(dst)], base[:len(dst)]
					for i := range dst {
						if isActive(active, i) {
							dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
						}
					}
				})
			}
		},
	}, {
		name: "ExtractMasked/u32", operands: []operand{out, in, active}, active: 2,
		want: func(x *operands, v []uint64) uint64 { return uint64(bfi.Bfe(uint32(v[1]), x.pos, x.width)) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, active := of[uint32](x, 0), of[uint32](x, 1), x.mask(2)
			return func(n int) { repeat(n, func() { bfi.ExtractMasked(dst, src, x.pos, x.width, active) }) }, func(n int) {
				repeat(n, func() {
					shift, src := shiftOf[uint32](x.pos), src[:len(dst)]
					mask := fieldMask[uint32](x.pos, x.width) >> shift
					for i := range dst {
						if isActive(active, i) {
							dst[i] = src[i] >> shift & mask
						}
					}
				})
			}
		},
	}}
}

func warpJobs[T interface{ uint32 | uint64 }](name string) []job {
	in := operand{bits: bitsOf[T](), kind: input}
	out := operand{bits: in.bits, kind: output}
	pos, width := operand{bits: 32, kind: posOf}, operand{bits: 32, kind: widthOf}
	slices := sliceJobs[T](name)
	js := []job{{
		name: "InsertWarp/" + name, operands: []operand{out, in, in, pos, width}, warp: true, want: slices[0].want,
		bars: []bar{
			{apart, 32, goLoop, 15, 7.5, 0}, {apart, 16, goLoop, 8, 4, 0}, {apart, 2, goLoop, 2.5, 1.25, 0},
			{apart, 32, cLoop, 1.5, 0, 0}, {apart, 16, cLoop, 1.5, 0, 0}, {apart, 2, cLoop, 1.5, 0, 0},
		},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, base, pos, width := warp[T](x, 0), warp[T](x, 1), warp[T](x, 2), warp[uint32](x, 3), warp[uint32](x, 4)
			return func(n int) { repeat(n, func() { bfi.InsertWarp(dst, src, base, pos, width, x.active) }) }, func(n int) {
				repeat(n, func() {
					active := x.active
					for i := range dst {
						if active>>i&1 != 0 {
							dst[i] = base[i] ^ (base[i]^src[i]<<(pos[i]&0xff))&fieldMask[T](pos[i], width[i])
						}
					}
				})
			}
		},
	}, {
		name: "SelectWarp/" + name, operands: []operand{out, in, in, in}, warp: true, want: slices[2].want,
		work: func(x *operands) (ours, loop func(n int)) {
			dst, mask, src, base := warp[T](x, 0), warp[T](x, 1), warp[T](x, 2), warp[T](x, 3)
			return func(n int) { repeat(n, func() { bfi.SelectWarp(dst, mask, src, base, x.active) }) }, func(n int) {
				repeat(n, func() {
					active := x.active
					for i := range dst {
						if active>>i&1 != 0 {
							dst[i] = base[i] ^ (base[i]^src[i])&mask[i]
						}
					}
				})
			}
		},
	}, {
		name: "ExtractWarp/" + name, operands: []operand{out, in, pos, width}, warp: true, want: slices[4].want,
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src, pos, width := warp[T](x, 0), warp[T](x, 1), warp[uint32](x, 2), warp[uint32](x, 3)
			return func(n int) { repeat(n, func() { bfi.ExtractWarp(dst, src, pos, width, x.active) }) }, func(n int) {
				repeat(n, func() {
					active := x.active
					for i := range dst {
						if active>>i&1 != 0 {
							dst[i] = src[i] >> (pos[i] & 0xff) &^ (^T(0) << (width[i] & 0xff))
						}
					}
				})
			}
		},
	}}
	for i := range js {
		if i > 0 || in.bits != 32 {
			js[i].bars = nil
			for _, active := range []int{32, 16, 2} {
				js[i].bars = append(js[i].bars, bar{apart, active, goLoop, 0, 0, 0}, bar{apart, active, cLoop, 0, 0, 0})
			}
		}
	}
	return js
}

// columnBars returns the bars of a job with columns. overGo and overC have the bars in cache
// and in memory. The bar over the Go loop is 1 for 32, 64 and 128 lanes. The portable kernels
// have no bars over the Go loop, because its fields are constants.
func columnBars(overGo, overC [2]float64, more ...bar) []bar {
	bars := []bar{
		{apart, cached, goLoop, overGo[0], overGo[0], 0}, {apart, memory, goLoop, overGo[1], overGo[1], 0},
		{apart, cached, cLoop, overC[0], overC[0], 0}, {apart, memory, cLoop, overC[1], overC[1], 0},
	}
	for _, n := range []int{32, 64, 128} {
		bars = append(bars, bar{apart, n, goLoop, 1, 1, 0})
	}
	return append(bars, more...)
}

// columnJobs returns the jobs that make words from columns, and columns from words. In the
// loops, fields are constants. The library's calls make the fields each time.
func columnJobs() []job {
	u8, u16 := operand{bits: 8, kind: input}, operand{bits: 16, kind: input}
	u32, u64 := operand{bits: 32, kind: input}, operand{bits: 64, kind: input}
	toU8, toU16 := operand{bits: 8, kind: output}, operand{bits: 16, kind: output}
	toU32, toU64 := operand{bits: 32, kind: output}, operand{bits: 64, kind: output}
	rgba := []field{{1, 0, 8, 0}, {2, 8, 8, 0}, {3, 16, 8, 0}, {4, 24, 8, 0}}
	nibbles := []field{{1, 0, 4, 0}, {2, 4, 4, 0}}
	rgb10a2 := []field{{1, 0, 10, 0}, {2, 10, 10, 0}, {3, 20, 10, 0}, {4, 30, 2, 0}}
	return []job{{
		name: "Pack/rgba", operands: []operand{toU32, u8, u8, u8, u8}, fields: rgba, libyuv: "MergeARGBPlane",
		bars: columnBars([2]float64{3.5, 1.6}, [2]float64{1.8, 1}, bar{apart, cached, libyuv, 0.5, 0.5, 0},
			bar{apart, memory, libyuv, 0.95, 0.95, 0}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, r, g, b, a := of[uint32](x, 0), of[uint8](x, 1), of[uint8](x, 2), of[uint8](x, 3), of[uint8](x, 4)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(dst, nil, bfi.Column(r, 0, 8), bfi.Column(g, 8, 8), bfi.Column(b, 16, 8), bfi.Column(a, 24, 8))
					})
				}, func(n int) {
					repeat(n, func() {
						r, g, b, a := r[:len(dst)], g[:len(dst)], b[:len(dst)], a[:len(dst)]
						for i := range dst {
							dst[i] = uint32(r[i]) | uint32(g[i])<<8 | uint32(b[i])<<16 | uint32(a[i])<<24
						}
					})
				}
		},
	}, {
		name: "Unpack/rgba", operands: []operand{u32, toU8, toU8, toU8, toU8}, fields: rgba, libyuv: "SplitARGBPlane",
		bars: columnBars([2]float64{5, 2}, [2]float64{0.65, 1}, bar{apart, cached, libyuv, 0.4, 0.4, 0},
			bar{apart, memory, libyuv, 0.8, 0.8, 0}),
		work: func(x *operands) (ours, loop func(n int)) {
			src, r, g, b, a := of[uint32](x, 0), of[uint8](x, 1), of[uint8](x, 2), of[uint8](x, 3), of[uint8](x, 4)
			return func(n int) {
					repeat(n, func() {
						bfi.Unpack(src, bfi.Column(r, 0, 8), bfi.Column(g, 8, 8), bfi.Column(b, 16, 8), bfi.Column(a, 24, 8))
					})
				}, func(n int) {
					repeat(n, func() {
						r, g, b, a := r[:len(src)], g[:len(src)], b[:len(src)], a[:len(src)]
						for i, w := range src {
							r[i], g[i], b[i], a[i] = uint8(w), uint8(w>>8), uint8(w>>16), uint8(w>>24)
						}
					})
				}
		},
	}, {
		name: "Pack/rgb565-planes", operands: []operand{toU16, u8, u8, u8},
		fields: []field{{1, 11, 5, 3}, {2, 5, 6, 2}, {3, 0, 5, 3}},
		bars:   columnBars([2]float64{4, 2.5}, [2]float64{0.5, 0.7}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, r, g, b := of[uint16](x, 0), of[uint8](x, 1), of[uint8](x, 2), of[uint8](x, 3)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(dst, nil, bfi.Column(r, 11, 5).From(3), bfi.Column(g, 5, 6).From(2), bfi.Column(b, 0, 5).From(3))
					})
				}, func(n int) {
					repeat(n, func() {
						r, g, b := r[:len(dst)], g[:len(dst)], b[:len(dst)]
						for i := range dst {
							dst[i] = uint16(r[i]>>3)<<11 | uint16(g[i]>>2)<<5 | uint16(b[i]>>3)
						}
					})
				}
		},
	}, {
		name: "Pack/rgb565-argb", operands: []operand{toU16, u32},
		fields: []field{{1, 11, 5, 19}, {1, 5, 6, 10}, {1, 0, 5, 3}}, libyuv: "ARGBToRGB565",
		bars: columnBars([2]float64{1, 1}, [2]float64{}, bar{apart, cached, libyuv, 0.9, 0.9, 0},
			bar{apart, memory, libyuv, 0.9, 0.9, 0}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, argb := of[uint16](x, 0), of[uint32](x, 1)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(dst, nil, bfi.Column(argb, 11, 5).From(19), bfi.Column(argb, 5, 6).From(10),
							bfi.Column(argb, 0, 5).From(3))
					})
				}, func(n int) {
					repeat(n, func() {
						argb := argb[:len(dst)]
						for i := range dst {
							dst[i] = uint16(argb[i]>>8&0xf800 | argb[i]>>5&0x7e0 | argb[i]>>3&0x1f)
						}
					})
				}
		},
	}, { // snowflakes: 41 bits of time, 10 bits of a constant node, 12 bits of a sequence number
		name: "Pack/ids", operands: []operand{toU64, u64, u16},
		fields: []field{{1, 22, 41, 0}, {0, 12, 10, 0}, {2, 0, 12, 0}},
		bars:   columnBars([2]float64{2.2, 1.3}, [2]float64{0.6, 1}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, times, sequence := of[uint64](x, 0), of[uint64](x, 1), of[uint16](x, 2)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(dst, nil, bfi.Column(times, 22, 41), bfi.Constant(x.value, 12, 10), bfi.Column(sequence, 0, 12))
					})
				}, func(n int) {
					repeat(n, func() {
						times, sequence, node := times[:len(dst)], sequence[:len(dst)], x.value&0x3ff<<12
						for i := range dst {
							dst[i] = times[i]&(1<<41-1)<<22 | node | uint64(sequence[i]&0xfff)
						}
					})
				}
		},
	}, {
		name: "Pack/nibbles", operands: []operand{toU8, u8, u8}, fields: nibbles,
		bars: columnBars([2]float64{1, 1}, [2]float64{}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, low, high := of[uint8](x, 0), of[uint8](x, 1), of[uint8](x, 2)
			return func(n int) {
					repeat(n, func() { bfi.Pack(dst, nil, bfi.Column(low, 0, 4), bfi.Column(high, 4, 4)) })
				}, func(n int) {
					repeat(n, func() {
						low, high := low[:len(dst)], high[:len(dst)]
						for i := range dst {
							dst[i] = low[i]&15 | high[i]<<4
						}
					})
				}
		},
	}, {
		name: "Unpack/nibbles", operands: []operand{u8, toU8, toU8}, fields: nibbles,
		bars: columnBars([2]float64{6, 2.5}, [2]float64{0.3, 0.7}),
		work: func(x *operands) (ours, loop func(n int)) {
			src, low, high := of[uint8](x, 0), of[uint8](x, 1), of[uint8](x, 2)
			return func(n int) {
					repeat(n, func() { bfi.Unpack(src, bfi.Column(low, 0, 4), bfi.Column(high, 4, 4)) })
				}, func(n int) {
					repeat(n, func() {
						low, high := low[:len(src)], high[:len(src)]
						for i, w := range src {
							low[i], high[i] = w&15, w>>4
						}
					})
				}
		},
	}, {
		name: "Pack/rgb10a2", operands: []operand{toU32, u32, u32, u32, u32}, fields: rgb10a2,
		replaces: "four Inserts", replaced: func(x *operands) func(n int) {
			return func(n int) {
				repeat(n, func() {
					for _, f := range rgb10a2 {
						bfi.Insert(of[uint32](x, 0), of[uint32](x, f.column), of[uint32](x, 0), f.pos, f.width)
					}
				})
			}
		},
		bars: columnBars([2]float64{1, 1}, [2]float64{0.85, 1}, bar{apart, 8, "four Inserts", 1, 1, 1},
			bar{apart, 64, "four Inserts", 1, 1, 1},
			bar{apart, cached, "four Inserts", 1.8, 1.8, 1}, bar{apart, memory, "four Inserts", 1.9, 1.9, 1}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, r, g, b, a := of[uint32](x, 0), of[uint32](x, 1), of[uint32](x, 2), of[uint32](x, 3), of[uint32](x, 4)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(dst, nil, bfi.Column(r, 0, 10), bfi.Column(g, 10, 10), bfi.Column(b, 20, 10), bfi.Column(a, 30, 2))
					})
				}, func(n int) {
					repeat(n, func() {
						r, g, b, a := r[:len(dst)], g[:len(dst)], b[:len(dst)], a[:len(dst)]
						for i := range dst {
							dst[i] = r[i]&0x3ff | g[i]&0x3ff<<10 | b[i]&0x3ff<<20 | a[i]<<30
						}
					})
				}
		},
	}, {
		name: "Unpack/rgb10a2", operands: []operand{u32, toU32, toU32, toU32, toU32}, fields: rgb10a2,
		replaces: "four Extracts", replaced: func(x *operands) func(n int) {
			return func(n int) {
				repeat(n, func() {
					for _, f := range rgb10a2 {
						bfi.Extract(of[uint32](x, f.column), of[uint32](x, 0), f.pos, f.width)
					}
				})
			}
		},
		bars: columnBars([2]float64{1, 1}, [2]float64{0.85, 1}, bar{apart, 8, "four Extracts", 1, 1, 1},
			bar{apart, 64, "four Extracts", 1, 1, 1},
			bar{apart, cached, "four Extracts", 0.95, 0.95, 0.95}, bar{apart, memory, "four Extracts", 1.9, 1.9, 1}),
		work: func(x *operands) (ours, loop func(n int)) {
			src, r, g, b, a := of[uint32](x, 0), of[uint32](x, 1), of[uint32](x, 2), of[uint32](x, 3), of[uint32](x, 4)
			return func(n int) {
					repeat(n, func() {
						bfi.Unpack(src, bfi.Column(r, 0, 10), bfi.Column(g, 10, 10), bfi.Column(b, 20, 10), bfi.Column(a, 30, 2))
					})
				}, func(n int) {
					repeat(n, func() {
						r, g, b, a := r[:len(src)], g[:len(src)], b[:len(src)], a[:len(src)]
						for i, w := range src {
							r[i], g[i], b[i], a[i] = w&0x3ff, w>>10&0x3ff, w>>20&0x3ff, w>>30
						}
					})
				}
		},
	}}
}
