package bfi

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// mustPanic calls e on every kernel. The call must panic with the wanted text and write
// nothing.
func mustPanic(t *testing.T, e *entry, a *args, memory []byte, want string) {
	t.Helper()
	before := bytes.Clone(memory)
	onEveryKernel(func(k kernel) {
		defer func() {
			t.Helper()
			if have := recover(); have != want {
				t.Errorf("%s on %s: panic(%v), want %q", e.name, k, have, want)
			}
			if !bytes.Equal(memory, before) {
				t.Errorf("%s on %s: wrote before it panicked with %q", e.name, k, want)
			}
		}()
		e.call(a)
	})
}

// reference returns the number of the operand whose length all others must have.
func (e *entry) reference() int {
	if e.fn == "Unpack" {
		return e.outs
	}
	return 0
}

// arena makes the operands of a call on n lanes, all in one memory. Before and after each
// operand is room for another operand.
func (e *entry) arena(r *rand.Rand, n int) (a *args, memory []byte, start []int) {
	s := e.sample(r, n, e.apart())
	room := 4 * e.largest() * n
	memory = make([]byte, len(e.ops)*room)
	for i := range room * len(e.ops) / 4 {
		store(memory, 4, i, uint64(r.Uint32()))
	}
	for op, b := range s.ops {
		start = append(start, op*room+room/2)
		s.ops[op] = memory[start[op]:][:len(b):len(b)]
	}
	return &s.args, memory, start
}

func TestPanicLength(t *testing.T) {
	const n = 100
	for _, e := range entries {
		if e.warp {
			continue
		}
		ref := e.reference()
		for op, o := range e.ops {
			if op == ref {
				continue
			}
			elements := o.bytes(n) / o.size
			stride := max(o.array.stride, 1)
			for _, have := range []int{0, 1, elements - 1, elements + 1, elements - stride, elements + stride, 2 * elements} {
				words := (have + stride - 1) / stride
				if have == elements || o.array.stride > 0 && words == n {
					continue // the mask has two elements, and the last word may lack some of an Array
				}
				a, memory, start := e.arena(rand.New(rand.NewPCG(16, 16)), n)
				size := o.size * have
				a.ops[op] = memory[start[op]:][:size:size]
				want := fmt.Sprintf("bfi: %s: len(%s) = %d, want len(%s) = %d", e.fn, o.name, have, e.ops[ref].name, n)
				switch {
				case o.kind == maskKind:
					want = fmt.Sprintf("bfi: %s: len(active) = %d, want %d for 100 lanes", e.fn, have, elements)
				case o.array.stride > 0:
					want = fmt.Sprintf("bfi: %s: len(%s) = %d, %d to a word, is for %d words, want len(%s) = %d",
						e.fn, o.name, have, stride, words, e.ops[ref].name, n)
				}
				mustPanic(t, &e, a, memory, want)
			}
		}
	}
}

// TestPanicFirst checks which fault a message is about if a call has several.
func TestPanicFirst(t *testing.T) {
	w := make([]uint32, 9)
	for want, call := range map[string]func(){
		"bfi: InsertEach: len(src) = 3, want len(dst) = 4":    func() { InsertEach(w[:4], w[:3], w[1:5], w[:2], w[:1]) },
		"bfi: InsertEach: dst overlaps base inexactly":        func() { InsertEach(w[:4], w[:4], w[1:5], w[:2], w[:1]) },
		"bfi: InsertMasked: len(base) = 5, want len(dst) = 4": func() { InsertMasked(w[:4], w[:4], w[:5], 0, 1, w[:0]) },
		"bfi: InsertMasked: len(active) = 1, want 2 for 100 lanes": func() {
			l := make([]uint16, 100)
			InsertMasked(l, l, l, 0, 1, make([]uint64, 1))
		},
		"bfi: InsertMasked: dst overlaps active":         func() { InsertMasked(w[:4], w[:4], w[:4], 0, 1, w[3:4]) },
		"bfi: ExtractEach: dst overlaps width inexactly": func() { ExtractEach(w[:4], w[:4], w[:4], w[3:7]) },
		"bfi: ExtractEach: dst overlaps pos":             func() { ExtractEach(words8(w)[:4], words8(w)[:4], w[:4], w[4:8]) },
		"bfi: Pack: len(base) = 0, want len(dst) = 4":    func() { Pack(w[:4], w[:0], Column(w[:3], 0, 1)) },
		"bfi: Pack: dst overlaps base inexactly":         func() { Pack(w[:4], w[1:5], Column(w[:3], 0, 1)) },
		"bfi: Pack: len(fields[2]) = 3, want len(dst) = 4": func() {
			Pack(w[:4], nil, Constant(1, 0, 1), Column(w[4:8], 0, 1), Column(w[:3], 0, 1), Column(w[1:5], 0, 1))
		},
		"bfi: Pack: dst overlaps fields[1] inexactly": func() {
			Pack(w[:4], nil, Constant(1, 0, 1), Column(w[1:5], 0, 1), Column(w[:3], 0, 1))
		},
		"bfi: Pack: dst overlaps fields[0]": func() { Pack(w[:4], nil, Column(words8(w)[:4], 0, 1)) },
		"bfi: Unpack: fields[1] is a Constant, want a Column": func() {
			Unpack(w[:4], Column(w[4:8], 0, 1), Constant(1, 0, 1), Column(w[:3], 0, 1))
		},
		"bfi: Unpack: len(fields[0]) = 3, want len(src) = 4": func() {
			Unpack(w[:4], Column(w[4:7], 0, 1), Constant(1, 0, 1))
		},
		"bfi: Unpack: fields[1] overlaps fields[0]": func() {
			Unpack(w[:4], Column(w[4:8], 0, 1), Column(w[4:8], 1, 1))
		},
		"bfi: Unpack: src overlaps fields[0] inexactly": func() { Unpack(w[:4], Column(w[1:5], 0, 1), Column(w[4:8], 1, 1)) },
		"bfi: Unpack: src overlaps fields[0]": func() {
			Unpack(w[:4], Column(words8(w)[:4], 0, 1), Column(w[4:8], 1, 1))
		},
		"bfi: Pack: len(fields) = 65, want at most 64": func() {
			Pack(w[:4], nil, slices.Repeat([]Field{Column(w[:3], 0, 1)}, 65)...)
		},
		"bfi: Unpack: len(fields) = 65, want at most 64": func() {
			Unpack(w[:4], slices.Repeat([]Field{Constant(1, 0, 1)}, 65)...)
		},
		"bfi: ExtractEachMasked: len(width) = 2, want len(dst) = 4": func() {
			ExtractEachMasked(w[:4], w[:4], w[:4], w[:2], w[:0])
		},
		"bfi: SelectMasked: len(active) = 3, want 2 for 9 lanes": func() { SelectMasked(w, w, w, w, words8(w)[:3]) },
		"bfi: FillMasked: dst overlaps active":                   func() { FillMasked(w, 1, w, 0, 1, words8(w)[34:]) },
	} {
		func() {
			defer func() {
				if have := recover(); have != want {
					t.Errorf("panic(%v), want %q", have, want)
				}
			}()
			call()
		}()
	}
	if slices.ContainsFunc(w, func(x uint32) bool { return x != 0 }) {
		t.Errorf("something was written: %v", w)
	}
}

// words8 returns the bytes of words.
func words8(w []uint32) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(w))), 4*len(w))
}

func TestPanicOverlap(t *testing.T) {
	const n = 37
	for _, e := range entries {
		if e.warp {
			continue
		}
		for out := range e.outs {
			for op, o := range e.ops {
				if op == out {
					continue
				}
				exact := e.mayShare(op, out) && op >= e.outs
				size, outSize := o.full(n), e.ops[out].full(n)
				for _, shift := range []int{
					-size, -size + 1, -o.size, -1, 0, 1, e.ops[out].size, outSize - 1, outSize,
				} {
					panics := -size < shift && shift < outSize && !(exact && shift == 0)
					a, memory, start := e.arena(rand.New(rand.NewPCG(17, 17)), n)
					a.ops[op] = memory[start[out]+shift:][:size:size]
					if !panics {
						if misaligns || (start[out]+shift)%o.size == 0 {
							e.call(a)
						}
						continue
					}
					mustPanic(t, &e, a, memory, e.overlapText(out, op))
				}
			}
		}
	}
}

// overlapText returns the message about an output that overlaps another operand.
func (e *entry) overlapText(out, op int) string {
	if op < e.outs {
		// Each column is compared with the columns before it.
		return fmt.Sprintf("bfi: %s: %s overlaps %s", e.fn, e.ops[max(out, op)].name, e.ops[min(out, op)].name)
	}
	first, second := out, op
	if e.fn == "Unpack" {
		first, second = op, out
	}
	text := fmt.Sprintf("bfi: %s: %s overlaps %s", e.fn, e.ops[first].name, e.ops[second].name)
	if e.mayShare(op, out) {
		text += " inexactly"
	}
	return text
}

// TestApart compares the overlap check with the definition of an overlap. It goes through
// every pair of slices in a memory of 256 bytes. An address is the top bits of a uintptr,
// so that distances wrap as they do in a uintptr.
func TestApart(t *testing.T) {
	end := uintptr(256)
	if quick() {
		end = 32
	}
	unit := ^uintptr(0)/end + 1
	for d := range end {
		for s := range end {
			distance := (d - s) * unit
			// The address after the last byte must be in the memory too.
			for m := uintptr(1); d+m < end; m++ {
				for n := uintptr(1); s+n < end; n++ {
					want := d+m <= s || s+n <= d
					if apart(distance, m*unit, n*unit) != want {
						t.Fatalf("%d bytes at %d and %d bytes at %d: apart = %v, want %v", m, d, n, s, !want, want)
					}
				}
			}
			if !apart(distance, 0, 0) {
				t.Fatalf("no bytes at %d and at %d: not apart", d, s)
			}
		}
	}
}

// TestHugeOperands makes calls with operands of gigabytes on a 32-bit machine. Sums of their
// lengths and addresses overflow. Each call has a child process, because a process ends if
// it cannot get the memory.
func TestHugeOperands(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 4 {
		t.Skip("needs addresses of 32 bits: GOARCH=386 go test")
	}
	if quick() {
		t.Skip("needs gigabytes of memory: go test without -short and sanitizers")
	}
	for fault, want := range map[string]string{
		"huge overlap": "bfi: Fill: dst overlaps base inexactly",
		"huge columns": "unpacked",
		"huge mask":    "bfi: InsertMasked: len(active) = 1, want 33554432 for 2147483640 lanes",
	} {
		out, err := rerun(t, "BFI_TEST_FAULT="+fault).CombinedOutput()
		switch text, _, _ := strings.Cut(string(out), "\n"); {
		case strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate"):
			t.Skipf("%s: %s", fault, text)
		case err != nil || text != want:
			t.Errorf("%s: %v, %q, want %q", fault, err, out, want)
		}
	}
}

// hugeOverlap makes a call with operands that overlap. Together they are longer than all
// addresses of 32 bits.
func hugeOverlap() {
	defer func() { fmt.Println(recover()) }()
	s := make([]uint32, 560_000_001)
	Fill(s[:560_000_000], 1, s[1:], 0, 8)
}

// most32 is nearly the greatest int of 32 bits.
const most32 = 1<<31 - 8

// hugeMask makes a call on most32 lanes, with a mask that is too short.
func hugeMask() {
	defer func() { fmt.Println(recover()) }()
	s := make([]uint8, most32)
	InsertMasked(s, s, s, 0, 8, make([]uint64, 1))
}

// hugeColumns unpacks most32 words into no columns.
func hugeColumns() {
	Unpack(make([]uint8, most32))
	fmt.Println("unpacked")
}

// TestAllocations checks that calls with operands on the caller's stack allocate nothing.
func TestAllocations(t *testing.T) {
	if sanitized() {
		t.Skip("under a sanitizer, operands escape to the heap")
	}
	for _, e := range slices.Concat(entries, otherEntries) {
		onEveryKernel(func(k kernel) {
			if n := testing.AllocsPerRun(10, e.stack); n != 0 {
				t.Errorf("%s on %s: %v allocations, want none", e.name, k, n)
			}
		})
	}
}

// TestManyFields checks that calls with the most fields allocate nothing.
func TestManyFields(t *testing.T) {
	if sanitized() {
		t.Skip("under a sanitizer, operands escape to the heap")
	}
	onEveryKernel(func(k kernel) {
		n := testing.AllocsPerRun(10, func() {
			var dst [40]uint64
			var columns [maxFields][40]uint8
			var fields [maxFields]Field
			for i := range fields {
				fields[i] = Column(columns[i][:], uint32(i), 1)
			}
			Pack(dst[:], nil, fields[:]...)
			Unpack(dst[:], fields[:]...)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want none", k, n)
		}
	})
}

// TestStopTheWorld checks that the runtime can stop a goroutine in the middle of a long
// call, as a garbage collection does. Assembly cannot be stopped, but the Go code between
// the pieces of a call can. That code is the same for all levels, so the test measures only
// the best one.
func TestStopTheWorld(t *testing.T) {
	if quick() {
		t.Skip("measures time: go test without -short and sanitizers")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	// If a call cannot be stopped, a stop waits for its end, which takes half of the call's
	// time or more. If it can be stopped, a stop takes microseconds. Other processes may
	// delay a stop too, so there are several rounds.
	const rounds, most = 5, 0.25
	const size = 64 << 20
	source := make([]byte, size)
	for _, fn := range functions() {
		e := longest(fn)
		if e.warp {
			continue
		}
		lanes := size / e.largest()
		if e.outs > 1 {
			lanes /= 2
		}
		var a args
		for op, o := range e.ops {
			b := source[:o.bytes(lanes)]
			if op < e.outs {
				b = make([]byte, len(b))
			} else if o.kind == maskKind {
				b = bytes.Repeat([]byte{0x55}, len(b))
			}
			a.ops = append(a.ops, b)
		}
		for k := range e.fields {
			a.pos, a.width = append(a.pos, uint32(k)), append(a.width, 7)
			a.from, a.value = append(a.from, 0), append(a.value, 5)
		}
		var have []float64
		for len(have) < rounds && (len(have) == 0 || have[len(have)-1] > most) {
			have = append(have, stopOfCall(func() { e.call(&a) }))
		}
		if have[len(have)-1] > most {
			t.Errorf("%s on %s: stops of the world took %.2f of a call on %d lanes, want at most %v in one round",
				e.name, Kernel(), have, lanes, most)
		}
	}
}

// functions returns the names of all functions, in the order of the entries.
func functions() []string {
	var fns []string
	for _, e := range entries {
		if !slices.Contains(fns, e.fn) {
			fns = append(fns, e.fn)
		}
	}
	return fns
}

// longest returns that entry of a function which has the longest words.
func longest(fn string) *entry {
	var best *entry
	for i := range entries {
		if e := &entries[i]; e.fn == fn && (best == nil || e.size > best.size) {
			best = e
		}
	}
	return best
}

// stopOfCall makes one call after another and stops the world meanwhile. It returns the
// median time of a stop, as a fraction of the time of a call.
func stopOfCall(call func()) float64 {
	var calls, stop atomic.Int64
	done := make(chan bool)
	begin := time.Now()
	go func() {
		defer close(done)
		for stop.Load() == 0 {
			call()
			calls.Add(1)
		}
	}()
	var list []time.Duration
	var stats runtime.MemStats
	for range 15 {
		time.Sleep(2 * time.Millisecond)
		start := time.Now()
		runtime.ReadMemStats(&stats) // stops the world
		list = append(list, time.Since(start))
	}
	stop.Store(1)
	<-done
	slices.Sort(list)
	return float64(list[len(list)/2]) * float64(calls.Load()) / float64(time.Since(begin))
}

// TestProfiles makes calls while a CPU profile and an execution trace are taken. Both walk
// the stack wherever they interrupt a call.
func TestProfiles(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Skipf("a profile is being taken already: %v", err)
	}
	defer pprof.StopCPUProfile()
	if err := trace.Start(io.Discard); err != nil {
		t.Logf("a trace is being taken already: %v", err)
	} else {
		defer trace.Stop()
	}
	for _, fn := range functions() {
		e := longest(fn)
		n := 1000
		if e.warp {
			n = WarpSize
		}
		s := e.sample(rand.New(rand.NewPCG(23, 23)), n, e.apart())
		onEveryKernel(func(kernel) {
			for end := time.Now().Add(15 * time.Millisecond); time.Now().Before(end); {
				e.call(&s.args)
			}
		})
	}
}
