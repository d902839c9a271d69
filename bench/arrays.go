package main

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/gobfi/bfi"
)

const (
	row      = 1920    // the pixels of a row of a picture
	pictures = 2 << 20 // the pixels of a picture
)

// arrayBars returns the bars of a job with adjacent elements: over the Go loop and over C by
// hand, in cache and in memory. It leaves out bars of 0. The bars of AVX2 over Go are 0.6 of
// the bars of AVX-512, and AVX2 has no bars over C by hand.
func arrayBars(lanes int, overGo, overHand [2]float64) []bar {
	var bars []bar
	for i, n := range []int{lanes, pictures} {
		if overGo[i] > 0 {
			bars = append(bars, bar{apart, n, goLoop, overGo[i], 0.6 * overGo[i], 0})
		}
		if overHand[i] > 0 {
			bars = append(bars, bar{apart, n, byHand, overHand[i], 0, 0})
		}
	}
	if overGo[0] > 0 {
		bars = append(bars, bar{apart, lanes, "bfi generic", 0, 0, 0})
	}
	return bars
}

// arrayJobs returns the jobs that make words from adjacent elements or elements at a stride,
// and the jobs that do the reverse.
func arrayJobs() []job {
	js := append(pixelJobs(), wireJobs()...)
	js = append(js, swapJob[uint32]("Pack/swap32", bits.ReverseBytes32),
		swapJob[uint64]("Pack/swap64", bits.ReverseBytes64))
	js = append(js, denseJobs("5-bit", 12, 5, 342, [2]float64{8, 6}, [2]float64{0.5, 0.5}, func(dst []uint64, v []uint8) {
		for i := range dst {
			var w uint64
			for j, e := range v[12*i : 12*i+12 : 12*i+12] {
				w |= uint64(e&31) << (5 * j & 63)
			}
			dst[i] = w
		}
	}, func(v []uint8, src []uint64) {
		for i, w := range src {
			p := v[12*i : 12*i+12 : 12*i+12]
			for j := range p {
				p[j] = uint8(w >> (5 * j & 63) & 31)
			}
		}
	})...)
	js = append(js, denseJobs("7-bit", 9, 7, 456, [2]float64{8, 6}, [2]float64{0.5, 0.5}, func(dst []uint64, v []uint8) {
		for i := range dst {
			var w uint64
			for j, e := range v[9*i : 9*i+9 : 9*i+9] {
				w |= uint64(e&127) << (7 * j & 63)
			}
			dst[i] = w
		}
	}, func(v []uint8, src []uint64) {
		for i, w := range src {
			p := v[9*i : 9*i+9 : 9*i+9]
			for j := range p {
				p[j] = uint8(w >> (7 * j & 63) & 127)
			}
		}
	})...)
	js = append(js, denseJobs("4-bit", 16, 4, 256, [2]float64{20, 15}, [2]float64{0.5, 0.5},
		func(dst []uint64, v []uint8) {
			for i := range dst {
				var w uint64
				for j, e := range v[16*i : 16*i+16 : 16*i+16] {
					w |= uint64(e&15) << (4 * j & 63)
				}
				dst[i] = w
			}
		}, func(v []uint8, src []uint64) {
			for i, w := range src {
				p := v[16*i : 16*i+16 : 16*i+16]
				for j := range p {
					p[j] = uint8(w >> (4 * j & 63) & 15)
				}
			}
		})...)
	js = append(js, denseJobs("1-bit", 64, 1, 64, [2]float64{25, 10}, [2]float64{0.2, 0}, func(dst []uint64, v []uint8) {
		for i := range dst {
			var w uint64
			for j, e := range v[64*i : 64*i+64 : 64*i+64] {
				w |= uint64(e&1) << (1 * j & 63)
			}
			dst[i] = w
		}
	}, func(v []uint8, src []uint64) {
		for i, w := range src {
			p := v[64*i : 64*i+64 : 64*i+64]
			for j := range p {
				p[j] = uint8(w >> (1 * j & 63) & 1)
			}
		}
	})...)
	js = append(js, denseJobs("15-bit", 4, 15, 1024, [2]float64{0, 6}, [2]float64{0.5, 0.5},
		func(dst []uint64, v []uint16) {
			for i := range dst {
				var w uint64
				for j, e := range v[4*i : 4*i+4 : 4*i+4] {
					w |= uint64(e&32767) << (15 * j & 63)
				}
				dst[i] = w
			}
		}, func(v []uint16, src []uint64) {
			for i, w := range src {
				p := v[4*i : 4*i+4 : 4*i+4]
				for j := range p {
					p[j] = uint16(w >> (15 * j & 63) & 32767)
				}
			}
		})...)
	return js
}

var (
	toU16 = operand{bits: 16, kind: output}
	toU32 = operand{bits: 32, kind: output}
	toU64 = operand{bits: 64, kind: output}
)

// byteElements returns an operand with count bytes for each lane.
func byteElements(count int, kind kind) operand { return operand{8, kind, count - 1} }

func pixelJobs() []job {
	u32 := operand{bits: 32}
	return []job{{
		name: "Pack/rgb24", operands: []operand{toU32, byteElements(3, input)}, byHand: true,
		bars: arrayBars(row, [2]float64{6, 3}, [2]float64{0.55, 0.8}),
		want: func(x *operands, v []uint64) uint64 { return v[1] | v[2]<<8 | v[3]<<16 | 0xff<<24 },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, rgb := of[uint32](x, 0), of[uint8](x, 1)
			return func(n int) {
					repeat(n, func() { bfi.Pack(dst, nil, bfi.Array(rgb, 3, 0, 8), bfi.Constant(0xff, 24, 8)) })
				}, func(n int) {
					repeat(n, func() {
						for i := range dst {
							p := rgb[3*i : 3*i+3 : 3*i+3]
							dst[i] = uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | 0xff<<24
						}
					})
				}
		},
	}, {
		name: "Unpack/rgb24", operands: []operand{u32, byteElements(3, output)}, byHand: true,
		bars: arrayBars(row, [2]float64{6, 3}, [2]float64{0.5, 0.8}), fields: denseFields(3, 8),
		work: func(x *operands) (ours, loop func(n int)) {
			src, rgb := of[uint32](x, 0), of[uint8](x, 1)
			return func(n int) { repeat(n, func() { bfi.Unpack(src, bfi.Array(rgb, 3, 0, 8)) }) }, func(n int) {
				repeat(n, func() {
					for i, w := range src {
						p := rgb[3*i : 3*i+3 : 3*i+3]
						p[0], p[1], p[2] = uint8(w), uint8(w>>8), uint8(w>>16)
					}
				})
			}
		},
	}, {
		name: "Pack/rgb565-rgba", operands: []operand{toU16, byteElements(4, input)}, byHand: true,
		bars:   arrayBars(row, [2]float64{8, 4}, [2]float64{0.5, 0.8}),
		fields: []field{{1, 11, 5, 3}, {2, 5, 6, 2}, {3, 0, 5, 3}},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, pix := of[uint16](x, 0), of[uint8](x, 1)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(dst, nil, bfi.Column(pix, 11, 5).From(3).Every(4), bfi.Column(pix[1:], 5, 6).From(2).Every(4),
							bfi.Column(pix[2:], 0, 5).From(3).Every(4))
					})
				}, func(n int) {
					repeat(n, func() {
						for i := range dst {
							p := pix[4*i : 4*i+4 : 4*i+4]
							dst[i] = uint16(p[0]>>3)<<11 | uint16(p[1]>>2)<<5 | uint16(p[2]>>3)
						}
					})
				}
		},
	}}
}

// wireJobs returns the jobs with samples, and with bytes in another order.
func wireJobs() []job {
	u32 := operand{bits: 32}
	return []job{{
		name: "Pack/samples24", operands: []operand{toU32, byteElements(3, input)},
		bars: arrayBars(row, [2]float64{4, 1.5}, [2]float64{}),
		want: func(x *operands, v []uint64) uint64 {
			return uint64(uint32(int32(v[1]<<8|v[2]<<16|v[3]<<24) >> 8))
		},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, wire := unsafe.Slice((*int32)(x.p[0]), x.n), of[uint8](x, 1)
			return func(n int) {
					repeat(n, func() { bfi.Pack(dst, nil, bfi.Array(wire, 3, 0, 8)); bfi.Extract(dst, dst, 0, 24) })
				}, func(n int) {
					repeat(n, func() {
						for i := range dst {
							p := wire[3*i : 3*i+3 : 3*i+3]
							dst[i] = int32(uint32(p[0])<<8|uint32(p[1])<<16|uint32(p[2])<<24) >> 8
						}
					})
				}
		},
	}, {
		name: "Pack/stereo-apart", operands: []operand{u32, toU16, toU16},
		bars:   arrayBars(row, [2]float64{4, 1.3}, [2]float64{}),
		fields: []field{{1, 0, 16, 0}, {2, 16, 16, 0}},
		work: func(x *operands) (ours, loop func(n int)) {
			stereo, left, right := unsafe.Slice((*uint16)(x.p[0]), 2*x.n), of[uint16](x, 1), of[uint16](x, 2)
			return func(n int) {
					repeat(n, func() {
						bfi.Pack(left, nil, bfi.Column(stereo, 0, 16).Every(2))
						bfi.Pack(right, nil, bfi.Column(stereo[1:], 0, 16).Every(2))
					})
				}, func(n int) {
					repeat(n, func() {
						right := right[:len(left)]
						for i := range left {
							p := stereo[2*i : 2*i+2 : 2*i+2]
							left[i], right[i] = p[0], p[1]
						}
					})
				}
		},
	}, {
		name: "Pack/big-endian", operands: []operand{toU64, byteElements(8, input)},
		bars: arrayBars(cached, [2]float64{3, 0}, [2]float64{}),
		want: func(x *operands, v []uint64) uint64 {
			var w uint64
			for _, b := range v[1:] {
				w = w<<8 | b
			}
			return w
		},
		work: func(x *operands) (ours, loop func(n int)) {
			dst, wire := of[uint64](x, 0), of[uint8](x, 1)
			return func(n int) { repeat(n, func() { bfi.Pack(dst, nil, bfi.Array(wire, 8, 0, 8).Reversed()) }) }, func(n int) {
				repeat(n, func() {
					for i := range dst {
						dst[i] = binary.BigEndian.Uint64(wire[8*i : 8*i+8 : 8*i+8])
					}
				})
			}
		},
	}, {
		name: "Pack/bgra", operands: []operand{toU32, u32}, inPlace: 1, byHand: true,
		bars: []bar{{inPlace, row, goLoop, 10, 6, 0}, {inPlace, row, byHand, 0.7, 0, 0},
			{inPlace, pictures, byHand, 0.8, 0, 0}},
		want: func(x *operands, v []uint64) uint64 { return v[1]&0xff00ff00 | v[1]>>16&0xff | v[1]<<16&0xff0000 },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src := of[uint32](x, 0), of[uint32](x, 1)
			return func(n int) {
					repeat(n, func() { bfi.Pack(dst, src, bfi.Column(src, 16, 8), bfi.Column(src, 0, 8).From(16)) })
				}, func(n int) {
					repeat(n, func() {
						src := src[:len(dst)]
						for i := range dst {
							dst[i] = src[i]&0xff00ff00 | src[i]>>16&0xff | src[i]&0xff<<16
						}
					})
				}
		},
	}}
}

// denseJobs returns the jobs that put count elements of width bits into words of 64 bits,
// and the jobs that take them out again. The width is a constant in the loops.
//
//go:noinline
func denseJobs[E uint8 | uint16](name string, count int, width uint32, lanes int, overGo, overHand [2]float64,
	into func(dst []uint64, v []E), out func(v []E, src []uint64)) []job {
	elements := func(kind kind) operand { return operand{bitsOf[E](), kind, count - 1} }
	return []job{{
		name: "Pack/" + name, operands: []operand{{bits: 64, kind: output}, elements(input)},
		fields: denseFields(count, width),
		byHand: true, bars: arrayBars(lanes, [2]float64{overGo[0], 0}, [2]float64{overHand[0], 0}),
		work: func(x *operands) (ours, loop func(n int)) {
			dst, v := of[uint64](x, 0), of[E](x, 1)
			return func(n int) { repeat(n, func() { bfi.Pack(dst, nil, bfi.Array(v, count, 0, width)) }) },
				func(n int) { repeat(n, func() { into(dst, v) }) }
		},
	}, {
		name: "Unpack/" + name, operands: []operand{{bits: 64}, elements(output)}, fields: denseFields(count, width),
		byHand: true, bars: arrayBars(lanes, [2]float64{overGo[1], 0}, [2]float64{overHand[1], 0}),
		work: func(x *operands) (ours, loop func(n int)) {
			src, v := of[uint64](x, 0), of[E](x, 1)
			return func(n int) { repeat(n, func() { bfi.Unpack(src, bfi.Array(v, count, 0, width)) }) },
				func(n int) { repeat(n, func() { out(v, src) }) }
		},
	}}
}

// denseFields returns count adjacent fields of one width.
func denseFields(count int, width uint32) []field {
	var fields []field
	for j := range count {
		fields = append(fields, field{1 + j, uint32(j) * width, width, 0})
	}
	return fields
}

// swapJob returns the job that reverses the bytes of words. Each byte is a field.
//
//go:noinline
func swapJob[T word](name string, reverse func(T) T) job {
	size := int(unsafe.Sizeof(T(0)))
	return job{
		name: name, operands: []operand{{bits: 8 * size, kind: output}, {bits: 8 * size}},
		bars: []bar{{apart, cached, goLoop, 3, 1.8, 0}},
		want: func(x *operands, v []uint64) uint64 { return uint64(reverse(T(v[1]))) },
		work: func(x *operands) (ours, loop func(n int)) {
			dst, src := of[T](x, 0), of[T](x, 1)
			return func(n int) {
				repeat(n, func() {
					var fields [8]bfi.Field
					for k := range size {
						fields[k] = bfi.Column(src, uint32(8*(size-1-k)), 8).From(uint32(8 * k))
					}
					bfi.Pack(dst, nil, fields[:size]...)
				})
			}, reverseLoop(dst, src)
		},
	}
}

// reverseLoop returns a loop that reverses the bytes of words. It calls functions of
// math/bits by name, so the compiler inlines them.
//
//go:noinline
func reverseLoop[T word](dst, src []T) func(n int) {
	switch dst := any(dst).(type) {
	case []uint32:
		src := any(src).([]uint32)
		return func(n int) {
			repeat(n, func() {
				for i, w := range src {
					dst[i] = bits.ReverseBytes32(w)
				}
			})
		}
	case []uint64:
		src := any(src).([]uint64)
		return func(n int) {
			repeat(n, func() {
				for i, w := range src {
					dst[i] = bits.ReverseBytes64(w)
				}
			})
		}
	}
	panic("bench: no loop reverses the bytes of words of this size")
}
