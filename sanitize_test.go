package bfi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// The library tells the race detector and the sanitizers what assembly reads and writes.
// These tests check that. They make wrong calls in child processes, and look for the reports
// in their output.

// built reports whether the test was built with the given flag.
func built(flag string) bool {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == flag {
				return s.Value == "true"
			}
		}
	}
	return false
}

// sanitized reports whether the test was built with the race detector or a sanitizer.
var sanitized = sync.OnceValue(func() bool { return built("-race") || built("-asan") || built("-msan") })

// faults has the calls of child processes, by the value of BFI_TEST_FAULT.
var faults = map[string]func(){
	"race": raceCalls, "overrun": overrunCall, "uninitialized": uninitializedCall,
	"huge overlap": hugeOverlap, "huge mask": hugeMask, "huge columns": hugeColumns,
}

const mark = "bfi: call: "

// annotated returns an entry for each place in the source that announces what kernels read
// and write. Functions have their own places, and so have words of each size, masks and
// arrays.
func annotated() []entry {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		arrays := slices.ContainsFunc(e.ops, func(o op) bool { return o.array.stride > 0 })
		id := fmt.Sprint(e.fn, e.size, e.masked() && e.ops[len(e.ops)-1].size > 1, arrays)
		was := seen[id]
		seen[id] = true
		return was
	})
}

// all makes every lane active.
func (s *sample) all(e *entry) {
	s.active = ^uint32(0)
	if mask := len(e.ops) - 1; e.masked() {
		for i := range s.ops[mask] {
			s.ops[mask][i] = 0xff
		}
	}
}

// raceCalls calls the entries on every kernel, once for each operand. A goroutine uses the
// operand meanwhile. If the call reads the operand, the goroutine writes it. If the call
// writes the operand, the goroutine reads it.
func raceCalls() {
	for _, e := range annotated() {
		onEveryKernel(func(k kernel) {
			if k.stream {
				return // these kernels have no announcements of their own
			}
			for op, o := range e.ops {
				s := e.sample(rand.New(rand.NewPCG(21, 21)), WarpSize, e.apart())
				s.all(&e)
				for op, b := range s.ops {
					// No goroutine has used the copy yet.
					s.ops[op] = bytes.Clone(b)
				}
				fmt.Fprintf(os.Stderr, "%s%s\n", mark, callName(&e, k, op))
				called, done := make(chan bool), make(chan bool)
				go func() {
					// The detector remembers only the last few uses of a place. It may
					// know the call by its last lane, or an earlier part of the call by
					// the first lane.
					use(&s.ops[op][0], op >= e.outs)
					use(&s.ops[op][len(s.ops[op])-o.size], op >= e.outs)
					// The detector forgets a goroutine soon after its end.
					<-called
					close(done)
				}()
				e.call(&s.args)
				close(called)
				<-done
			}
		})
	}
}

var used byte

// use reads or writes the first byte of a lane.
func use(lane *byte, write bool) {
	if write {
		*lane = 1
	} else {
		used = *lane
	}
}

func TestRaceDetector(t *testing.T) {
	if !built("-race") {
		t.Skip("needs go test -race")
	}
	// GORACE makes the detector report each race, even if it resembles another. The detector
	// may miss two uses at the very same time. With one processor there are none.
	out, err := rerun(t, "BFI_TEST_FAULT=race", "GOMAXPROCS=1",
		"GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0").CombinedOutput()
	if err == nil {
		t.Error("the race detector found nothing")
	}
	reported := map[string]bool{}
	for _, call := range strings.Split(string(out), mark)[1:] {
		name, report, _ := strings.Cut(call, "\n")
		reported[name] = reported[name] || strings.Contains(report, "WARNING: DATA RACE")
	}
	for _, e := range annotated() {
		for op := range e.ops {
			for _, k := range kernels {
				if name := callName(&e, k, op); !k.stream && !reported[name] {
					t.Errorf("%s: no race reported", name)
				}
			}
		}
	}
}

// theCall makes the call that BFI_TEST_CALL names. Before the call, prepare changes one
// operand.
func theCall(prepare func(e *entry, s *sample, op int)) (e *entry, s *sample, op int) {
	for i := range entries {
		for operand := range entries[i].ops {
			onEveryKernel(func(k kernel) {
				if os.Getenv("BFI_TEST_CALL") == callName(&entries[i], k, operand) {
					e, op = &entries[i], operand
					s = e.sample(rand.New(rand.NewPCG(22, 22)), WarpSize, e.apart())
					s.all(e)
					prepare(e, s, op)
					e.call(&s.args)
				}
			})
		}
	}
	return e, s, op
}

func callName(e *entry, k kernel, op int) string {
	return fmt.Sprintf("%s on %s, %s", e.name, k, e.ops[op].name)
}

// eachCall starts a child process for each operand of a few entries, on the best kernel. The
// process makes the call with the fault, and f gets its output.
func eachCall(t *testing.T, fault string, f func(e *entry, op int, call, out string)) {
	for _, e := range annotated() {
		if e.size != 4 {
			continue // each process takes long
		}
		for op := range e.ops {
			// All kernels share the announcements.
			call := callName(&e, kernels[len(kernels)-1], op)
			out, _ := rerun(t, "BFI_TEST_FAULT="+fault, "BFI_TEST_CALL="+call).CombinedOutput()
			f(&e, op, call, string(out))
		}
	}
}

// overrunCall makes a call with an operand that ends a byte past its memory.
func overrunCall() {
	theCall(func(e *entry, s *sample, op int) {
		size := e.ops[op].bytes(WarpSize)
		short := make([]byte, size-1)
		copy(short, s.ops[op])
		s.ops[op] = unsafe.Slice(&short[0], size)
	})
}

func TestAddressSanitizer(t *testing.T) {
	if !built("-asan") {
		t.Skip("needs go test -asan")
	}
	eachCall(t, "overrun", func(e *entry, op int, call, out string) {
		if !strings.Contains(out, "AddressSanitizer") {
			t.Errorf("%s: overrun not reported:\n%s", call, out)
		}
	})
}

// uninitializedCall makes a call with an operand that the memory sanitizer takes for
// uninitialized. The sanitizer reports it if the call reads it. If the operand is an output,
// uninitializedCall reads it after the call.
func uninitializedCall() {
	e, s, op := theCall(func(e *entry, s *sample, op int) {
		b := freed()[:len(s.ops[op])]
		s.ops[op] = b
	})
	if op < e.outs {
		for _, b := range s.ops[op] {
			used += b
		}
	}
	fmt.Println("called")
}

// kept keeps every other allocation of freed.
var kept [][]byte

// freed returns memory that the garbage collector has freed, between memory that is in use.
// The sanitizer takes no other memory in Go for uninitialized.
func freed() []byte {
	const size, count = 512, 1000
	var at uintptr
	for i := range count {
		b := make([]byte, size)
		if i%2 == 0 {
			kept = append(kept, b)
		} else if i < count/2 {
			at = uintptr(unsafe.Pointer(&b[0]))
		}
	}
	runtime.GC()
	runtime.GC()
	debug.SetGCPercent(-1)
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), size)
}

func TestMemorySanitizer(t *testing.T) {
	if !built("-msan") {
		t.Skip("needs CC=clang go test -msan")
	}
	eachCall(t, "uninitialized", func(e *entry, op int, call, out string) {
		reported := strings.Contains(out, "MemorySanitizer: use-of-uninitialized-value")
		// The functions of warps also read dst, for its inactive lanes.
		if input := op >= e.outs || e.warp; reported != input || reported == strings.Contains(out, "called") {
			t.Errorf("%s: uninitialized operand: reported %v, want %v:\n%s", call, reported, input, out)
		}
	})
}
