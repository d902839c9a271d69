package bfi

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// Every function on every kernel against the loop that one would write instead,
// named function/type/size/kernel:
//
//	go test -run '^$' -bench 'Insert$/uint32/n=1024'

func BenchmarkInsert(b *testing.B)      { benchmark(b) }
func BenchmarkInsertEach(b *testing.B)  { benchmark(b) }
func BenchmarkFill(b *testing.B)        { benchmark(b) }
func BenchmarkSelect(b *testing.B)      { benchmark(b) }
func BenchmarkExtract(b *testing.B)     { benchmark(b) }
func BenchmarkExtractEach(b *testing.B) { benchmark(b) }
func BenchmarkPack(b *testing.B)        { benchmark(b) }
func BenchmarkUnpack(b *testing.B)      { benchmark(b) }
func BenchmarkInsertWarp(b *testing.B)  { benchmark(b) }
func BenchmarkSelectWarp(b *testing.B)  { benchmark(b) }
func BenchmarkExtractWarp(b *testing.B) { benchmark(b) }

// benchOperands are what the benchmarks work on. No kernel's time depends on the
// values.
type benchOperands[T Word] struct {
	dst, mask, src, base []T
	pos, width           []uint32
	fields               []Field
	cols                 [][]T
	active               uint32
}

// contenders are a function and the loop that it replaces.
type contenders[T Word] struct {
	call, loop func(*benchOperands[T])
}

// plain is B32 or B64, without the branch between them, which the loops would be
// slower by.
func plain[T Word](a, b T, c, d uint32) T {
	pos, width := c&0xff, d&0xff
	mask := ^(^T(0) << width) << pos
	return b ^ (b^a<<pos)&mask
}

func contendersOf[T Word]() map[string]contenders[T] {
	type operands = benchOperands[T]
	return map[string]contenders[T]{
		"Insert": {
			func(o *operands) { Insert(o.dst, o.src, o.base, o.pos[0], o.width[0]) },
			func(o *operands) {
				dst, src, base := o.dst, o.src, o.base
				pos, width := o.pos[0], o.width[0]
				for i := range dst {
					dst[i] = plain(src[i], base[i], pos, width)
				}
			},
		},
		"InsertEach": {
			func(o *operands) { InsertEach(o.dst, o.src, o.base, o.pos, o.width) },
			func(o *operands) {
				dst, src, base, pos, width := o.dst, o.src, o.base, o.pos, o.width
				for i := range dst {
					dst[i] = plain(src[i], base[i], pos[i], width[i])
				}
			},
		},
		"Fill": {
			func(o *operands) { Fill(o.dst, o.base, 5, o.pos[0], o.width[0]) },
			func(o *operands) {
				dst, base := o.dst, o.base
				pos, width := o.pos[0], o.width[0]
				for i := range dst {
					dst[i] = plain(5, base[i], pos, width)
				}
			},
		},
		"Select": {
			func(o *operands) { Select(o.dst, o.mask, o.src, o.base) },
			func(o *operands) {
				dst, mask, src, base := o.dst, o.mask, o.src, o.base
				for i := range dst {
					dst[i] = mask[i]&src[i] | ^mask[i]&base[i]
				}
			},
		},
		"Extract": {
			func(o *operands) { Extract(o.dst, o.src, o.pos[0], o.width[0]) },
			func(o *operands) {
				dst, src := o.dst, o.src
				pos, width := o.pos[0], o.width[0]
				for i := range dst {
					dst[i] = bfe(src[i], pos, width)
				}
			},
		},
		"ExtractEach": {
			func(o *operands) { ExtractEach(o.dst, o.src, o.pos, o.width) },
			func(o *operands) {
				dst, src, pos, width := o.dst, o.src, o.pos, o.width
				for i := range dst {
					dst[i] = bfe(src[i], pos[i], width[i])
				}
			},
		},
		"Pack": {
			func(o *operands) { Pack(o.dst, o.base, o.fields, o.cols...) },
			func(o *operands) {
				dst, base, fields, cols := o.dst, o.base, o.fields, o.cols
				for i := range dst {
					word := base[i]
					for k, f := range fields {
						word = plain(cols[k][i], word, uint32(f.Pos), uint32(f.Len))
					}
					dst[i] = word
				}
			},
		},
		"Unpack": {
			func(o *operands) { Unpack(o.src, o.fields, o.cols...) },
			func(o *operands) {
				src, fields, cols := o.src, o.fields, o.cols
				for i := range src {
					for k, f := range fields {
						cols[k][i] = bfe(src[i], uint32(f.Pos), uint32(f.Len))
					}
				}
			},
		},
		"InsertWarp": {
			func(o *operands) {
				InsertWarp((*[WarpSize]T)(o.dst), (*[WarpSize]T)(o.src), (*[WarpSize]T)(o.base),
					(*[WarpSize]uint32)(o.pos), (*[WarpSize]uint32)(o.width), o.active)
			},
			func(o *operands) {
				dst, src, base := (*[WarpSize]T)(o.dst), (*[WarpSize]T)(o.src), (*[WarpSize]T)(o.base)
				pos, width := (*[WarpSize]uint32)(o.pos), (*[WarpSize]uint32)(o.width)
				for i := range dst {
					if o.active>>i&1 != 0 {
						dst[i] = plain(src[i], base[i], pos[i], width[i])
					}
				}
			},
		},
		"SelectWarp": {
			func(o *operands) {
				SelectWarp((*[WarpSize]T)(o.dst), (*[WarpSize]T)(o.mask), (*[WarpSize]T)(o.src), (*[WarpSize]T)(o.base), o.active)
			},
			func(o *operands) {
				dst, mask, src, base := (*[WarpSize]T)(o.dst), (*[WarpSize]T)(o.mask), (*[WarpSize]T)(o.src), (*[WarpSize]T)(o.base)
				for i := range dst {
					if o.active>>i&1 != 0 {
						dst[i] = mask[i]&src[i] | ^mask[i]&base[i]
					}
				}
			},
		},
		"ExtractWarp": {
			func(o *operands) {
				ExtractWarp((*[WarpSize]T)(o.dst), (*[WarpSize]T)(o.src), (*[WarpSize]uint32)(o.pos), (*[WarpSize]uint32)(o.width), o.active)
			},
			func(o *operands) {
				dst, src := (*[WarpSize]T)(o.dst), (*[WarpSize]T)(o.src)
				pos, width := (*[WarpSize]uint32)(o.pos), (*[WarpSize]uint32)(o.width)
				for i := range dst {
					if o.active>>i&1 != 0 {
						dst[i] = bfe(src[i], pos[i], width[i])
					}
				}
			},
		},
	}
}

func benchmark(b *testing.B) {
	fn := strings.TrimPrefix(b.Name(), "Benchmark")
	b.Run("uint32", func(b *testing.B) { benchmarkWord[uint32](b, fn) })
	b.Run("uint64", func(b *testing.B) { benchmarkWord[uint64](b, fn) })
}

// farLanes are too many for any cache.
const farLanes = 24 << 20

func benchmarkWord[T Word](b *testing.B, fn string) {
	c := contendersOf[T]()[fn]
	if strings.HasSuffix(fn, "Warp") {
		for _, warp := range []struct {
			name   string
			active uint32
		}{{"all", 0xffffffff}, {"half", 0x55555555}, {"two", 0x00100004}} {
			b.Run("active="+warp.name, func(b *testing.B) {
				benchmarkSize(b, c, fn, WarpSize, warp.active)
			})
		}
		return
	}
	for _, n := range []int{1, 2, 3, 4, 8, 16, 33, 1024, farLanes} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { benchmarkSize(b, c, fn, n, 0) })
	}
}

func benchmarkSize[T Word](b *testing.B, c contenders[T], fn string, n int, active uint32) {
	// Only what the function uses: far operands are large.
	e := entriesOf[T]()[slices.IndexFunc(entries, func(e entry) bool { return e.fn == fn })]
	words := func(name string) []T {
		if !slices.Contains(e.ops, name) {
			return nil
		}
		return aligned[T](n)
	}
	counts := func(name string) []uint32 {
		if !slices.Contains(e.ops, name) {
			return []uint32{7}
		}
		return aligned[uint32](n)
	}
	o := &benchOperands[T]{
		dst: words("dst"), mask: words("mask"), src: words("src"), base: words("base"),
		pos: counts("pos"), width: counts("width"),
		active: active,
	}
	if fn == "Pack" || fn == "Unpack" {
		o.fields = []Field{{0, 8}, {8, 8}, {16, 8}, {24, 8}}
		for range o.fields {
			o.cols = append(o.cols, aligned[T](n))
		}
	}
	run := func(name string, f func(*benchOperands[T])) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(o)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lanes/s")
		})
	}
	run("loop", c.loop)
	onEveryKernel(func(k kernel) {
		// Calls of one piece never bypass the cache.
		if !k.stream || n == farLanes {
			run(k.String(), c.call)
		}
	})
}

// aligned returns n lanes that start a cache line, in memory that has been
// touched.
func aligned[T Word](n int) []T {
	size := int(unsafe.Sizeof(T(0)))
	b := make([]byte, n*size+line)
	for i := range b {
		b[i] = byte(i)
	}
	return words[T](b[-uintptr(unsafe.Pointer(&b[0]))%line:][:n*size])
}

// BenchmarkStopTheWorld is how long all goroutines take to stop, as a garbage
// collection asks them to, at the 90th percentile, while one of them is in a call
// over 512 MiB, and while it is in a plain loop over the same slice.
func BenchmarkStopTheWorld(b *testing.B) {
	const lanes = 512 << 20 / 4
	s := aligned[uint32](lanes)
	loop := func() {
		for i := range s {
			s[i] = B32(s[i], s[i], 3, 7)
		}
	}
	calls := map[string]func(){
		"Insert":  func() { Insert(s, s, s, 3, 7) },
		"Extract": func() { Extract(s[:lanes/2], s[lanes/2:], 3, 7) },
	}
	for _, name := range []string{"Insert", "Extract"} {
		onEveryKernel(func(k kernel) {
			b.Run(name+"/"+k.String(), func(b *testing.B) {
				var inLoop, inCall []time.Duration
				for b.Loop() {
					// In turns, so that whatever else the machine does falls on both.
					inLoop = append(inLoop, stops(loop)...)
					inCall = append(inCall, stops(calls[name])...)
				}
				p90 := func(list []time.Duration) float64 {
					slices.Sort(list)
					return float64(list[len(list)*9/10].Nanoseconds()) / 1000
				}
				b.ReportMetric(p90(inLoop), "loop-p90-µs")
				b.ReportMetric(p90(inCall), "call-p90-µs")
				b.ReportMetric(p90(inCall)/p90(inLoop), "ratio")
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

// stops stops the world some times while work runs over and over, and returns how
// long each took.
func stops(work func()) []time.Duration {
	var stop atomic.Bool
	started, done := make(chan bool), make(chan bool)
	go func() {
		close(started)
		for !stop.Load() {
			work()
		}
		close(done)
	}()
	<-started
	var list []time.Duration
	var stats runtime.MemStats
	for range 50 {
		time.Sleep(2 * time.Millisecond)
		start := time.Now()
		runtime.ReadMemStats(&stats) // stops the world
		list = append(list, time.Since(start))
	}
	stop.Store(true)
	<-done
	return list
}
