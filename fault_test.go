package bfi

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// These tests make calls touch memory that they must not touch, and look at where the
// calls were when they did.

// faulted reports whether call touched such memory. If assembly did, faulted also returns the
// name of its function, and its arguments as the stack trace shows them. If this Go shows
// them in another way, there are none.
func faulted(call func()) (touched bool, assembly string, arguments []uint64) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() == nil {
			return
		}
		touched = true
		callers := make([]uintptr, 50)
		frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
		for more := true; more && assembly == ""; {
			var frame runtime.Frame
			frame, more = frames.Next()
			// The runtime has assembly too.
			if strings.HasSuffix(frame.File, ".s") && strings.Contains(frame.Function, "/bfi.") {
				assembly = frame.Function
			}
		}
		if assembly == "" {
			return
		}
		_, list, _ := strings.Cut(string(debug.Stack()), "\n"+assembly+"(")
		list, _, _ = strings.Cut(list, ")")
		for text := range strings.SplitSeq(list, ", ") {
			v, err := strconv.ParseUint(strings.TrimSuffix(text, "?"), 0, 64)
			if err != nil {
				return
			}
			arguments = append(arguments, v)
		}
	}()
	call()
	return
}

// TestInactiveLanes checks which levels write to inactive lanes of dst, which lie on a page
// that can only be read. Portable kernels and AVX-512 must not write to them. The others may
// write their old value.
func TestInactiveLanes(t *testing.T) {
	page := os.Getpagesize()
	memory := pages(t, 2*page)
	protect(t, memory[page:], readOnly)
	writers := map[string]bool{}
	for _, e := range entries {
		if !e.masked() {
			continue
		}
		mask := len(e.ops) - 1
		// Only lanes before the page are active.
		for before := 1; before <= 130; before++ {
			n := before + 200
			s := e.sample(rand.New(rand.NewPCG(26, uint64(before))), n, e.apart())
			for i := range n {
				if size := e.ops[mask].size; i >= before {
					v := load(s.ops[mask], size, i/(8*size))
					store(s.ops[mask], size, i/(8*size), v&^(1<<(i%(8*size))))
				}
			}
			s.ops[0] = memory[page-before*e.size:][:n*e.size]
			onEveryKernel(func(k kernel) {
				if k.stream {
					return
				}
				if touched, _, _ := faulted(func() { e.call(&s.args) }); !touched {
					return
				}
				writers[k.String()+", words of "+strconv.Itoa(8*e.size)+" bits"] = true
				if k.level == levelGeneric || k.level == levelAVX512 {
					t.Fatalf("%s on %s: %d lanes: one after the %d that are active was written", e.name, k, n, before)
				}
			})
		}
	}
	for _, writer := range slices.Sorted(maps.Keys(writers)) {
		t.Logf("inactive lanes are written by %s", writer)
	}
}

// TestPieceBound checks that assembly never gets more than one piece. It makes calls touch a
// forbidden page near the end of each of several pieces. Then it looks among the arguments of
// the assembly function for the one that bounds the run. That is the address in dst where the
// run begins, or for Pack and Unpack the number of the lane where it ends.
func TestPieceBound(t *testing.T) {
	const pieces = 4
	most := 0
	for _, e := range entries {
		most = max(most, e.ops[0].bytes((pieces+1)*pieceBytes/e.size))
	}
	memory := pages(t, most)
	begin := uint64(uintptr(unsafe.Pointer(&memory[0])))
	for _, e := range entries {
		if e.warp || e.masked() && e.ops[len(e.ops)-1].size != 8 {
			continue
		}
		lanes := (pieces + 1) * pieceBytes / e.size
		s := e.sample(rand.New(rand.NewPCG(27, 27)), 1, e.apart())
		for op, o := range e.ops {
			s.ops[op] = make([]byte, o.bytes(lanes))
		}
		s.ops[0] = memory[:e.ops[0].bytes(lanes)]
		s.all(&e)
		clear(s.value) // no value may look like the number of a lane
		for piece := 1; piece <= pieces; piece++ {
			// The page is before the piece's end, whatever the size of pages.
			lane := piece*pieceBytes/e.size - 1
			at := lane * e.ops[0].lane() &^ (os.Getpagesize() - 1)
			lane = at / e.ops[0].lane()
			protect(t, memory[at:], noAccess)
			onEveryKernel(func(k kernel) {
				touched, assembly, arguments := faulted(func() { e.call(&s.args) })
				arrays := slices.ContainsFunc(e.pack, func(f fieldKind) bool { return f.count > 0 })
				switch {
				case touched && assembly == "" && (k.level == levelGeneric || arrays):
					return // portable code, which can be preempted anywhere
				case assembly == "":
					t.Fatalf("%s on %s: no assembly touched byte %d of %s", e.name, k, at, e.ops[0].name)
				case arguments == nil:
					t.Skipf("the stack traces of %s show no arguments that this test can read", runtime.Version())
				}
				first := 0 // the run's first lane
				if i := slices.IndexFunc(arguments, func(v uint64) bool { return begin <= v && v <= begin+uint64(at) }); i >= 0 {
					first = int(arguments[i]-begin) / e.ops[0].lane()
				} else if e.pack == nil {
					t.Fatalf("%s on %s: %s has no address in dst among its arguments, %#x", e.name, k, assembly, arguments)
				}
				run := (lane - first + 1) * e.size
				if e.pack != nil {
					// Masks may look like the numbers of later lanes.
					last := uint64(math.MaxInt32)
					for _, v := range arguments {
						if uint64(lane-first) < v {
							last = min(last, v)
						}
					}
					run = (int(last) - lane + first) * e.size
				}
				if run < 1 || run > pieceBytes {
					t.Errorf("%s on %s: %s was called for %d bytes around byte %d, want 1 to %d", e.name, k, assembly, run, at, pieceBytes)
				}
			})
			protect(t, memory, readWrite)
		}
	}
}
