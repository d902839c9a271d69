package bfi

import (
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// These tests let calls run into memory that they may not touch, on purpose, and
// look at where they were when they did.

// faulted reports whether call ran into such memory, and the stack there.
func faulted(call func()) (stack string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			stack = string(debug.Stack())
		}
	}()
	call()
	return ""
}

// TestInactiveLanes is which levels write to inactive lanes of dst: those lanes
// lie on a page that can only be read. Portable kernels and AVX-512 promise not to.
// The others may write back what was there, see InsertMasked.
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
		// So many lanes before the page, in which some are active.
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
				if k.stream || faulted(func() { e.call(&s.args) }) == "" {
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

// TestPieceBound is whether assembly gets no more than a piece at a time: a call is
// let run into a page near the end of one piece after the other, and the assembly
// on the stack is asked where its piece began.
func TestPieceBound(t *testing.T) {
	const pieces = 4
	memory := pages(t, (pieces+1)*8*pieceBytes)
	frame := regexp.MustCompile(`\.(\w+)(?:AVX512|AVX2|BMI2|NEON)\(([^)]*)\)`)
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
		for piece := 1; piece <= pieces; piece++ {
			// Before the end, and a whole page on any machine.
			lane := piece*pieceBytes/e.size - 1
			at := lane * e.ops[0].size &^ (os.Getpagesize() - 1)
			lane = at / e.ops[0].size
			protect(t, memory[at:], noAccess)
			onEveryKernel(func(k kernel) {
				if k.level == levelGeneric {
					return // can be preempted anywhere
				}
				stack := faulted(func() { e.call(&s.args) })
				match := frame.FindStringSubmatch(stack)
				if match == nil {
					t.Fatalf("%s on %s: no assembly touched byte %d of %s:\n%s", e.name, k, at, e.ops[0].name, stack)
				}
				arguments := strings.Split(match[2], ", ")
				number := func(i int) int {
					v, err := strconv.ParseUint(strings.TrimSuffix(arguments[i], "?"), 0, 64)
					if err != nil {
						t.Fatalf("%s on %s: %s: %v", e.name, k, match[0], err)
					}
					return int(v)
				}
				// Pack's and Unpack's have the lanes from one number to the other, the
				// others' begin at the first argument.
				got, bytes := lane-(number(0)-int(uintptr(unsafe.Pointer(&memory[0]))))/e.ops[0].size+1, e.size
				switch {
				case strings.HasPrefix(match[1], "pack"):
					got = number(5) - number(4)
				case strings.HasPrefix(match[1], "unpack"):
					got, bytes = number(4)-number(3), number(2)*e.largest()
				}
				if got < 1 || got*bytes > pieceBytes {
					t.Errorf("%s on %s: %s got %d lanes of %d bytes, want 1 to %d", e.name, k, match[1], got, bytes, pieceBytes/bytes)
				}
			})
			protect(t, memory, readWrite)
		}
	}
}
