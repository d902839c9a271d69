package bfi

import (
	"bytes"
	"fmt"
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

// These tests put operands next to forbidden memory, or on it. They look at whether a call
// touches that memory, and where in the code the call is when it does.

// faulted reports whether call touched forbidden memory. If assembly touched it, faulted also
// returns the name of the assembly function, and its arguments from the stack trace. If the
// stack traces of this Go have another format, it returns no arguments.
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

// TestInactiveLanes puts inactive lanes of dst on a page that can only be read. The portable
// kernels and AVX-512 must not write to them. AVX2 and NEON may rewrite their old value; the
// test logs which kernels do.
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
					t.Fatalf("%s on %s: %d lanes, from lane %d on inactive: an inactive lane was written", e.name, k, n, before)
				}
			})
		}
	}
	for _, writer := range slices.Sorted(maps.Keys(writers)) {
		t.Logf("%s: inactive lanes are rewritten", writer)
	}
}

// TestPieceBound checks that assembly never gets more than one piece. It makes calls touch a
// forbidden page near the end of each of several pieces. Then it searches the arguments of
// the assembly function for a bound of the run. Most functions have the address in dst where
// the run begins. Pack and Unpack have the number of the lane where the run ends.
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
			// The page begins before the piece's end, whatever the size of pages.
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
					// Other arguments may look like numbers of later lanes. The end is
					// the least.
					last := uint64(math.MaxInt32)
					for _, v := range arguments {
						if uint64(lane-first) < v {
							last = min(last, v)
						}
					}
					run = (int(last) - lane + first) * e.size
				}
				if run < 1 || run > pieceBytes {
					t.Errorf("%s on %s: %s was called for %d bytes around byte %d, want 1 to %d",
						e.name, k, assembly, run, at, pieceBytes)
				}
			})
			protect(t, memory, readWrite)
		}
	}
}

// TestInactiveTurns checks that a call skips 64 lanes if none of them is active, counted in
// turns of 64 from the first lane. The inactive lanes lie on pages that fault.
func TestInactiveTurns(t *testing.T) {
	page := os.Getpagesize()
	for _, e := range entries {
		if !e.masked() {
			continue
		}
		mask := len(e.ops) - 1
		s := e.sample(rand.New(rand.NewPCG(28, 28)), 1, e.apart())
		var memory [][]byte
		for _, o := range e.ops[:mask] {
			b := pages(t, (page+2*page/o.size)*o.size)
			for i := range b {
				b[i] = byte(i*7 + i>>8)
			}
			memory = append(memory, b)
		}
		for _, before := range []int{0, 64, 192} {
			// From lane before on, a page of lanes is inactive. The call may end in it.
			for _, n := range []int{1, 7, 40, 63, 100, page, page + 201} {
				n += before
				for _, few := range []bool{false, true} {
					hole := min(n-before, page)
					s.ops[mask] = make([]byte, e.ops[mask].bytes(n))
					for lane := range 8 * len(s.ops[mask]) {
						// Bits past the last lane are ignored.
						if lane < before && (!few || lane == 5) || lane >= before+hole && (!few || lane == n-1 || lane >= n) {
							size := e.ops[mask].size
							v := load(s.ops[mask], size, lane/(8*size))
							store(s.ops[mask], size, lane/(8*size), v|1<<(lane%(8*size)))
						}
					}
					for op, b := range memory {
						size := e.ops[op].size
						s.ops[op] = b[page-before*size:][:n*size]
					}
					old := slices.Clone(s.ops[0])
					want := slices.Clone(old)
					for lane := range n {
						if isActive(s.ops[mask], e.ops[mask].size, lane) {
							store(want, e.size, lane, e.want(&s.args, 0, lane))
						}
					}
					for op, b := range memory {
						protect(t, b[page:][:page*e.ops[op].size], noAccess)
					}
					var wrong string
					onEveryKernel(func(k kernel) {
						if touched, assembly, _ := faulted(func() { e.call(&s.args) }); touched && wrong == "" {
							wrong = fmt.Sprintf("%s accessed an inactive lane, in %q", k, assembly)
						}
						for _, part := range [][2]int{{0, before}, {before + hole, n}} {
							lo, hi := part[0]*e.size, part[1]*e.size
							if !bytes.Equal(s.ops[0][lo:hi], want[lo:hi]) && wrong == "" {
								wrong = fmt.Sprintf("%s: dst is wrong in lanes from %d to before %d", k, part[0], part[1])
							}
							copy(s.ops[0][lo:hi], old[lo:hi])
						}
					})
					for op, b := range memory {
						protect(t, b[page:][:page*e.ops[op].size], readWrite)
					}
					if wrong != "" {
						t.Fatalf("%s: %d lanes, %d inactive from lane %d on: %s", e.name, n, hole, before, wrong)
					}
				}
			}
		}
	}
}
