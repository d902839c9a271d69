package bfi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// These tests are of what the race detector and the address sanitizer learn of
// the assembly. They run calls that are wrong in a child process, and read there
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

// faults are the calls of a child process, by the name that BFI_TEST_FAULT has.
var faults = map[string]func(){"race": raceCalls, "overrun": overrunCall}

const mark = "bfi: call: "

// raceCalls calls every entry on every kernel, for each operand once while a
// goroutine uses it: reads it if the call writes, writes it if the call reads.
func raceCalls() {
	for _, e := range entries {
		onEveryKernel(func(k kernel) {
			if k.stream {
				return // stands at the same places in the source
			}
			for op := range e.ops {
				s := e.sample(rand.New(rand.NewPCG(21, 21)), WarpSize, e.apart())
				for op, b := range s.ops {
					// The detector remembers few uses of a place: give it a new one.
					s.ops[op] = bytes.Clone(b)
				}
				fmt.Fprintf(os.Stderr, "%s%s on %s, %s\n", mark, e.name, k, e.ops[op])
				called, done := make(chan bool), make(chan bool)
				go func() {
					use(&s.ops[op][(WarpSize-1)*e.laneSize(op)], op >= e.outs)
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
	// Each race is to be reported, even if one like it has been.
	out, err := rerun(t, "BFI_TEST_FAULT=race", "GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0").CombinedOutput()
	if err == nil {
		t.Error("the race detector found nothing")
	}
	calls := strings.Split(string(out), mark)[1:]
	for _, call := range calls {
		if !strings.Contains(call, "WARNING: DATA RACE") {
			name, _, _ := strings.Cut(call, "\n")
			t.Errorf("%s: no race was reported", name)
		}
	}
	want := 0
	for _, e := range entries {
		want += len(e.ops) * len(supported())
	}
	if len(calls) != want {
		t.Errorf("%d calls were made, want %d:\n%s", len(calls), want, out)
	}
}

// overrunCall is one call, BFI_TEST_CALL, of which an operand ends a word past
// its memory.
func overrunCall() {
	for _, e := range entries {
		for op := range e.ops {
			onEveryKernel(func(k kernel) {
				if os.Getenv("BFI_TEST_CALL") != fmt.Sprintf("%s on %s, %s", e.name, k, e.ops[op]) {
					return
				}
				s := e.sample(rand.New(rand.NewPCG(22, 22)), WarpSize, e.apart())
				size := WarpSize * e.laneSize(op)
				short := make([]byte, size-4)
				s.ops[op] = unsafe.Slice(&short[0], size)
				e.call(&s.args)
			})
		}
	}
}

func TestAddressSanitizer(t *testing.T) {
	if !built("-asan") {
		t.Skip("needs go test -asan")
	}
	for _, e := range entries {
		if e.typ != "uint32" {
			continue // a process for each call takes its time
		}
		for op := range e.ops {
			onEveryKernel(func(k kernel) {
				call := fmt.Sprintf("%s on %s, %s", e.name, k, e.ops[op])
				out, err := rerun(t, "BFI_TEST_FAULT=overrun", "BFI_TEST_CALL="+call).CombinedOutput()
				if err == nil || !strings.Contains(string(out), "AddressSanitizer") {
					t.Errorf("%s: overrun not reported: %v\n%s", call, err, out)
				}
			})
		}
	}
}
