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

// These tests are of what the race detector and the sanitizers learn of the
// assembly. They run calls that are wrong in a child process, and read there
// what was found.

// built reports whether the test was built with a flag.
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

// sanitized is whether the test was built with the race detector or a sanitizer.
var sanitized = sync.OnceValue(func() bool { return built("-race") || built("-asan") || built("-msan") })

// faults are the calls of a child process, by the name that BFI_TEST_FAULT has.
var faults = map[string]func(){
	"race": raceCalls, "overrun": overrunCall, "uninitialized": uninitializedCall,
	"huge overlap": hugeOverlap, "huge mask": hugeMask, "huge columns": hugeColumns,
}

const mark = "bfi: call: "

// annotated are one entry for each function and width of words, whose kernels
// have what they read and write announced at places of their own.
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

// all has every lane take part.
func (s *sample) all(e *entry) {
	s.active = ^uint32(0)
	if mask := len(e.ops) - 1; e.masked() {
		for i := range s.ops[mask] {
			s.ops[mask][i] = 0xff
		}
	}
}

// raceCalls calls every entry on every kernel, for each operand once while a
// goroutine uses it: reads it if the call writes, writes it if the call reads.
func raceCalls() {
	for _, e := range annotated() {
		onEveryKernel(func(k kernel) {
			if k.stream {
				return // stands at the same places in the source
			}
			for op, o := range e.ops {
				s := e.sample(rand.New(rand.NewPCG(21, 21)), WarpSize, e.apart())
				s.all(&e)
				for op, b := range s.ops {
					// One that has not been used.
					s.ops[op] = bytes.Clone(b)
				}
				fmt.Fprintf(os.Stderr, "%s%s\n", mark, callName(&e, k, op))
				called, done := make(chan bool), make(chan bool)
				go func() {
					// The detector remembers few uses of a place: of the call's,
					// the last, and of those before it, the one that it meets
					// first.
					use(&s.ops[op][0], op >= e.outs)
					use(&s.ops[op][len(s.ops[op])-o.size], op >= e.outs)
					// What a goroutine did is forgotten soon after its end.
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

// use reads or writes a lane: its first byte, by which the detector knows it.
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
	// Each race is to be reported, even if one like it has been. On one processor
	// none is missed: the detector may miss uses at the very same time.
	out, err := rerun(t, "BFI_TEST_FAULT=race", "GOMAXPROCS=1", "GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0").CombinedOutput()
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
					t.Errorf("%s: no race was reported", name)
				}
			}
		}
	}
}

// theCall makes the call that BFI_TEST_CALL names, after prepare has changed one
// of its operands.
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

// eachCall calls f for each operand of a few entries on the best kernel, with what
// a child process prints that makes the call.
func eachCall(t *testing.T, fault string, f func(e *entry, op int, call, out string)) {
	for _, e := range annotated() {
		if e.size != 4 {
			continue // a process for each call takes its time
		}
		for op := range e.ops {
			// All assembly is announced at the same places in the source.
			call := callName(&e, kernels[len(kernels)-1], op)
			out, _ := rerun(t, "BFI_TEST_FAULT="+fault, "BFI_TEST_CALL="+call).CombinedOutput()
			f(&e, op, call, string(out))
		}
	}
}

// overrunCall is a call of which an operand ends a byte past its memory.
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

// uninitializedCall is a call of which an operand has never been written, as far
// as the memory sanitizer knows; it says so when one is read, the outputs after the
// call.
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

// kept keeps every other of freed's allocations.
var kept [][]byte

// freed is memory that the garbage collector has taken back, among some that is
// in use: the one way for Go to have any that is not initialized.
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
		// Of a warp the other lanes of dst are read as well.
		if input := op >= e.outs || e.warp; reported != input || reported == strings.Contains(out, "called") {
			t.Errorf("%s: an operand that was not initialized: reported %v, want %v:\n%s", call, reported, input, out)
		}
	})
}
