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

// The benchmarks compare every function on every kernel with the plain loop that it replaces.
// A benchmark's name has the function, the type of words, the size and the kernel:
//
//	go test -run '^$' -bench 'Insert$/uint32/n=1024'

func BenchmarkInsert(b *testing.B)            { benchmark(b) }
func BenchmarkInsertEach(b *testing.B)        { benchmark(b) }
func BenchmarkFill(b *testing.B)              { benchmark(b) }
func BenchmarkSelect(b *testing.B)            { benchmark(b) }
func BenchmarkExtract(b *testing.B)           { benchmark(b) }
func BenchmarkExtractEach(b *testing.B)       { benchmark(b) }
func BenchmarkInsertMasked(b *testing.B)      { benchmark(b) }
func BenchmarkInsertEachMasked(b *testing.B)  { benchmark(b) }
func BenchmarkFillMasked(b *testing.B)        { benchmark(b) }
func BenchmarkSelectMasked(b *testing.B)      { benchmark(b) }
func BenchmarkExtractMasked(b *testing.B)     { benchmark(b) }
func BenchmarkExtractEachMasked(b *testing.B) { benchmark(b) }
func BenchmarkPack(b *testing.B)              { benchmark(b) }
func BenchmarkUnpack(b *testing.B)            { benchmark(b) }
func BenchmarkInsertWarp(b *testing.B)        { benchmark(b) }
func BenchmarkSelectWarp(b *testing.B)        { benchmark(b) }
func BenchmarkExtractWarp(b *testing.B)       { benchmark(b) }

// loopsOf returns the loops that the functions replace, by the functions' names. Pack and
// Unpack have packLoop and unpackLoop. If all lanes share a mask or a shift, a loop computes
// it before the first lane.
func loopsOf[T Word]() map[string]func(a *args) {
	return map[string]func(a *args){
		"Insert": func(a *args) {
			dst, src, base := words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2])
			src, base = src[:len(dst)], base[:len(dst)]
			pos, mask := a.pos[0]&63, fieldMask[T](a.pos[0], a.width[0])
			for i := range dst {
				dst[i] = base[i]&^mask | src[i]<<pos&mask
			}
		},
		"InsertEach": func(a *args) {
			dst, src, base := words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2])
			pos, width := words[uint32](a.ops[3]), words[uint32](a.ops[4])
			for i := range dst {
				dst[i] = Bfi(src[i], base[i], pos[i], width[i])
			}
		},
		"Fill": func(a *args) {
			dst, base := words[T](a.ops[0]), words[T](a.ops[1])
			base = base[:len(dst)]
			value, mask := Bfi(T(a.value[0]), 0, a.pos[0], a.width[0]), fieldMask[T](a.pos[0], a.width[0])
			for i := range dst {
				dst[i] = base[i]&^mask | value
			}
		},
		"Select": func(a *args) {
			dst, mask, src, base := words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[T](a.ops[3])
			mask, src, base = mask[:len(dst)], src[:len(dst)], base[:len(dst)]
			for i := range dst {
				dst[i] = mask[i]&src[i] | ^mask[i]&base[i]
			}
		},
		"Extract": func(a *args) {
			dst, src := words[T](a.ops[0]), words[T](a.ops[1])
			src = src[:len(dst)]
			pos, mask := a.pos[0]&63, fieldMask[T](0, a.width[0])
			for i := range dst {
				dst[i] = src[i] >> pos & mask
			}
		},
		"ExtractEach": func(a *args) {
			dst, src := words[T](a.ops[0]), words[T](a.ops[1])
			pos, width := words[uint32](a.ops[2]), words[uint32](a.ops[3])
			for i := range dst {
				dst[i] = Bfe(src[i], pos[i], width[i])
			}
		},
		"InsertMasked": func(a *args) {
			dst, src, base, active := words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[uint64](a.ops[3])
			src, base = src[:len(dst)], base[:len(dst)]
			pos, mask := a.pos[0]&63, fieldMask[T](a.pos[0], a.width[0])
			for i := range dst {
				if active[i/64]>>(i%64)&1 != 0 {
					dst[i] = base[i]&^mask | src[i]<<pos&mask
				}
			}
		},
		"InsertEachMasked": func(a *args) {
			dst, src, base := words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2])
			pos, width, active := words[uint32](a.ops[3]), words[uint32](a.ops[4]), words[uint64](a.ops[5])
			for i := range dst {
				if active[i/64]>>(i%64)&1 != 0 {
					dst[i] = Bfi(src[i], base[i], pos[i], width[i])
				}
			}
		},
		"FillMasked": func(a *args) {
			dst, base, active := words[T](a.ops[0]), words[T](a.ops[1]), words[uint64](a.ops[2])
			base = base[:len(dst)]
			value, mask := Bfi(T(a.value[0]), 0, a.pos[0], a.width[0]), fieldMask[T](a.pos[0], a.width[0])
			for i := range dst {
				if active[i/64]>>(i%64)&1 != 0 {
					dst[i] = base[i]&^mask | value
				}
			}
		},
		"SelectMasked": func(a *args) {
			dst, mask, src, base := words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[T](a.ops[3])
			mask, src, base = mask[:len(dst)], src[:len(dst)], base[:len(dst)]
			active := words[uint64](a.ops[4])
			for i := range dst {
				if active[i/64]>>(i%64)&1 != 0 {
					dst[i] = mask[i]&src[i] | ^mask[i]&base[i]
				}
			}
		},
		"ExtractMasked": func(a *args) {
			dst, src, active := words[T](a.ops[0]), words[T](a.ops[1]), words[uint64](a.ops[2])
			src = src[:len(dst)]
			pos, mask := a.pos[0]&63, fieldMask[T](0, a.width[0])
			for i := range dst {
				if active[i/64]>>(i%64)&1 != 0 {
					dst[i] = src[i] >> pos & mask
				}
			}
		},
		"ExtractEachMasked": func(a *args) {
			dst, src := words[T](a.ops[0]), words[T](a.ops[1])
			pos, width, active := words[uint32](a.ops[2]), words[uint32](a.ops[3]), words[uint64](a.ops[4])
			for i := range dst {
				if active[i/64]>>(i%64)&1 != 0 {
					dst[i] = Bfe(src[i], pos[i], width[i])
				}
			}
		},
		"InsertWarp": func(a *args) {
			dst, src, base := warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[T](a.ops[2])
			pos, width := warpOf[uint32](a.ops[3]), warpOf[uint32](a.ops[4])
			for i := range dst {
				if a.active>>i&1 != 0 {
					dst[i] = Bfi(src[i], base[i], pos[i], width[i])
				}
			}
		},
		"SelectWarp": func(a *args) {
			dst, mask, src, base := warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[T](a.ops[2]), warpOf[T](a.ops[3])
			for i := range dst {
				if a.active>>i&1 != 0 {
					dst[i] = mask[i]&src[i] | ^mask[i]&base[i]
				}
			}
		},
		"ExtractWarp": func(a *args) {
			dst, src, pos, width := warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[uint32](a.ops[2]), warpOf[uint32](a.ops[3])
			for i := range dst {
				if a.active>>i&1 != 0 {
					dst[i] = Bfe(src[i], pos[i], width[i])
				}
			}
		},
	}
}

func packLoop[T Register](a *args) {
	dst := words[T](a.ops[0])
	c0, c1, c2, c3 := words[uint8](a.ops[1]), words[uint8](a.ops[2]), words[uint8](a.ops[3]), words[uint8](a.ops[4])
	c0, c1, c2, c3 = c0[:len(dst)], c1[:len(dst)], c2[:len(dst)], c3[:len(dst)]
	for i := range dst {
		dst[i] = T(c0[i]) | T(c1[i])<<8 | T(c2[i])<<16 | T(c3[i])<<24
	}
}

func unpackLoop[T Register](a *args) {
	c0, c1, c2, c3 := words[uint8](a.ops[0]), words[uint8](a.ops[1]), words[uint8](a.ops[2]), words[uint8](a.ops[3])
	src := words[T](a.ops[4])
	c0, c1, c2, c3 = c0[:len(src)], c1[:len(src)], c2[:len(src)], c3[:len(src)]
	for i, w := range src {
		c0[i], c1[i], c2[i], c3[i] = uint8(w), uint8(w>>8), uint8(w>>16), uint8(w>>24)
	}
}

// benchmarked returns entries of a few types to benchmark, and their loops. Pack and Unpack
// have four columns of bytes.
func benchmarked(fn string) (list []entry, loops []func(*args)) {
	bytes := make([]fieldKind, 4)
	for k := range bytes {
		bytes[k] = fieldKind{size: 1}
	}
	add := func(e entry, loop func(*args)) { list, loops = append(list, e), append(loops, loop) }
	switch {
	case fn == "Pack":
		add(named[uint32](packEntry[uint32](false, bytes...))[0], packLoop[uint32])
		add(named[uint64](packEntry[uint64](false, bytes...))[0], packLoop[uint64])
		return list, loops
	case fn == "Unpack":
		add(named[uint32](unpackEntry[uint32](bytes...))[0], unpackLoop[uint32])
		add(named[uint64](unpackEntry[uint64](bytes...))[0], unpackLoop[uint64])
		return list, loops
	case strings.HasSuffix(fn, "Masked"):
		list = slices.Concat(maskedOf[uint8, uint64](), maskedOf[uint32, uint64](), maskedOf[uint64, uint64]())
	case strings.HasSuffix(fn, "Warp"):
		list = slices.Concat(warpsOf[uint32](), warpsOf[uint64]())
	default:
		list = slices.Concat(entriesOf[uint8](), entriesOf[uint32](), entriesOf[uint64]())
	}
	list = slices.DeleteFunc(list, func(e entry) bool { return e.fn != fn })
	for _, e := range list {
		bySize := map[int]func(*args){1: loopsOf[uint8]()[fn], 4: loopsOf[uint32]()[fn], 8: loopsOf[uint64]()[fn]}
		loops = append(loops, bySize[e.size])
	}
	return list, loops
}

// farBytes is more than most caches hold.
const farBytes = 96 << 20

func benchmark(b *testing.B) {
	list, loops := benchmarked(strings.TrimPrefix(b.Name(), "Benchmark"))
	for i, e := range list {
		b.Run(fmt.Sprintf("uint%d", 8*e.size), func(b *testing.B) {
			if e.warp {
				for _, warp := range []struct {
					name   string
					active uint32
				}{{"all", 0xffffffff}, {"half", 0x55555555}, {"two", 0x00100004}} {
					b.Run("active="+warp.name, func(b *testing.B) { benchmarkSize(b, &e, loops[i], WarpSize, warp.active) })
				}
				return
			}
			for _, n := range []int{1, 2, 3, 4, 8, 16, 33, 64, 1024, farBytes / e.size} {
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { benchmarkSize(b, &e, loops[i], n, 0) })
			}
		})
	}
}

func benchmarkSize(b *testing.B, e *entry, loop func(*args), n int, active uint32) {
	// The mask is the only operand whose values change a kernel's time. Half of its lanes
	// are active.
	a := &args{active: active}
	for k := range max(e.fields, 1) {
		a.pos, a.width = append(a.pos, uint32(8*k)), append(a.width, 8)
		a.from, a.value = append(a.from, 0), append(a.value, 5)
	}
	for _, o := range e.ops {
		a.ops = append(a.ops, aligned(o.bytes(n)))
	}
	a.fields = e.fieldsOf(a)
	far := n == farBytes/e.size
	run := func(name string, f func(*args)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(a)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "lanes/s")
		})
	}
	run("loop", loop)
	onEveryKernel(func(k kernel) {
		// A call of one piece never streams.
		if !k.stream || far && e.streams() {
			run(k.String(), e.call)
		}
	})
}

// aligned returns memory that starts at a cache line and has been written.
func aligned(size int) []byte {
	b := make([]byte, size+line)
	b = b[-uintptr(unsafe.Pointer(&b[0]))%line:][:size]
	for i := range b {
		b[i] = byte(i * 0x9d >> 3)
	}
	return b
}

// BenchmarkStopTheWorld measures the time to stop all goroutines, as a garbage collection
// does. Meanwhile one goroutine is in a call over 512 MiB, and then in a plain loop over the
// same slice. The benchmark reports the 90th percentiles. Assembly cannot be preempted, but a
// call works in pieces, so stopping it should take no longer than stopping the loop.
func BenchmarkStopTheWorld(b *testing.B) {
	const lanes = 512 << 20 / 4
	s, active := words[uint32](aligned(4*lanes)), words[uint64](aligned(lanes/8))
	loop := func() {
		for i := range s {
			s[i] = Bfi(s[i], s[i], 3, 7)
		}
	}
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Insert", func() { Insert(s, s, s, 3, 7) }},
		{"Extract", func() { Extract(s[:lanes/2], s[lanes/2:], 3, 7) }},
		{"InsertMasked", func() { InsertMasked(s, s, s, 3, 7, active) }},
	} {
		onEveryKernel(func(k kernel) {
			b.Run(c.name+"/"+k.String(), func(b *testing.B) {
				var inLoop, inCall []time.Duration
				for b.Loop() {
					// The call and the loop take turns, so other work of the machine disturbs both.
					inLoop = append(inLoop, stops(loop)...)
					inCall = append(inCall, stops(c.call)...)
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

// stops runs work over and over and stops the world several times meanwhile. It returns the
// time of each stop.
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
