package bfi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mustPanic calls e on every kernel and insists on a panic with that text, before
// which nothing has been written.
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

// reference is the operand whose length all others must have.
func (e *entry) reference() int {
	if e.fn == "Unpack" {
		return e.outs
	}
	return 0
}

// arena lays a call's operands of n lanes into one piece of memory, each with
// room for another before and after it.
func (e *entry) arena(r *rand.Rand, n int) (a *args, memory []byte, start []int) {
	s := e.sample(r, n, e.apart())
	room := 4 * 8 * n
	memory = make([]byte, len(e.ops)*room)
	for i := range memory {
		memory[i] = byte(r.Uint32())
	}
	for op, b := range s.ops {
		start = append(start, op*room+room/2)
		s.ops[op] = memory[start[op]:][:len(b):len(b)]
	}
	return &s.args, memory, start
}

func TestPanicLength(t *testing.T) {
	const n = 37
	for _, e := range entries {
		if e.warp {
			continue
		}
		ref := e.reference()
		for op := range e.ops {
			if op == ref {
				continue
			}
			for _, have := range []int{0, 1, n - 1, n + 1} {
				a, memory, start := e.arena(rand.New(rand.NewPCG(16, 16)), n)
				size := e.laneSize(op) * have
				a.ops[op] = memory[start[op]:][:size:size]
				want := fmt.Sprintf("bfi: %s: len(%s) = %d, want len(%s) = %d", e.fn, e.ops[op], have, e.ops[ref], n)
				if e.ops[op] == "base" && e.fn == "Pack" && have == 0 {
					// A base of no lanes that is not nil.
					a.ops[op] = memory[start[op]:][:0]
				}
				mustPanic(t, &e, a, memory, want)
			}
		}
	}
}

func TestPanicOverlap(t *testing.T) {
	const n = 37
	for _, e := range entries {
		if e.warp {
			continue
		}
		for out := range e.outs {
			for op := range e.ops {
				if op == out {
					continue
				}
				exact := e.laneSize(op) == e.laneSize(out) && op >= e.outs
				size, outSize := n*e.laneSize(op), n*e.size
				shifts := map[int]bool{
					-size: false, -size + 1: true, -e.laneSize(op): true, -1: true, 0: !exact,
					1: true, e.size: true, outSize - 1: true, outSize: false,
				}
				for shift, panics := range shifts {
					a, memory, start := e.arena(rand.New(rand.NewPCG(17, 17)), n)
					a.ops[op] = memory[start[out]+shift:][:size:size]
					if !panics {
						e.call(a)
						continue
					}
					mustPanic(t, &e, a, memory, e.overlapText(out, op))
				}
			}
		}
	}
}

// overlapText is what an overlap of an output with another operand is answered
// with.
func (e *entry) overlapText(out, op int) string {
	if op < e.outs {
		// Columns are looked at in order.
		return fmt.Sprintf("bfi: %s: %s overlaps %s", e.fn, e.ops[max(out, op)], e.ops[min(out, op)])
	}
	text := fmt.Sprintf("bfi: %s: %s overlaps %s", e.fn, e.ops[out], e.ops[op])
	if e.laneSize(op) == e.laneSize(out) {
		text += " inexactly"
	}
	return text
}

func TestPanicFields(t *testing.T) {
	for _, typed := range [][]entry{
		fieldEntries[uint32](3), fieldEntries[uint64](3), fieldEntries[int32](3), fieldEntries[int64](3),
	} {
		for _, e := range typed {
			a, memory, _ := e.arena(rand.New(rand.NewPCG(18, 18)), 5)
			a.pos, a.width = a.pos[:2], a.width[:2]
			mustPanic(t, &e, a, memory, fmt.Sprintf("bfi: %s: len(cols) = 3, want len(fields) = 2", e.fn))
		}
	}
	for _, e := range fieldEntries[uint32](maxFields + 1) {
		a, memory, _ := e.arena(rand.New(rand.NewPCG(18, 18)), 5)
		mustPanic(t, &e, a, memory, fmt.Sprintf("bfi: %s: len(fields) = 65, want at most 64", e.fn))
	}
}

// TestAllocations is calls with operands on the caller's stack.
func TestAllocations(t *testing.T) {
	if built("-race") || built("-asan") || built("-msan") {
		t.Skip("what the sanitizers are told of escapes to the heap")
	}
	for _, e := range append(entries, otherEntries...) {
		onEveryKernel(func(k kernel) {
			if n := testing.AllocsPerRun(10, e.stack); n != 0 {
				t.Errorf("%s on %s: %v allocations, want none", e.name, k, n)
			}
		})
	}
}

// TestInline is whether the scalar functions cost no call.
func TestInline(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("asks the compiler, which is not here: %v", err)
	}
	out, err := exec.Command(goCommand, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, fn := range []string{"B32", "B64"} {
		if !strings.Contains(string(out), "can inline "+fn+"\n") {
			t.Errorf("%s is not inlined", fn)
		}
	}
}

// TestPieceBound is whether no assembly call gets more than a piece. It runs
// TestPieces in a build of which the kernels are portable ones that refuse more
// than BFI_TEST_BOUND bytes of a destination.
func TestPieceBound(t *testing.T) {
	host, err := exec.Command("go", "env", "GOHOSTARCH").Output()
	if err != nil {
		t.Skipf("builds a program, without a go command: %v", err)
	}
	if strings.TrimSpace(string(host)) != runtime.GOARCH {
		t.Skipf("builds a program for %s, not this machine's own architecture", runtime.GOARCH)
	}
	const file = "dispatch_noasm.go"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("builds a program from source that is not here: %v", err)
	}
	var guarded []string
	kernelFunc := regexp.MustCompile(`(?m)^func (\w+)\[T Word\]\(.*(n|lo, hi) int.*\{$`)
	text := kernelFunc.ReplaceAllStringFunc(string(source), func(line string) string {
		m := kernelFunc.FindStringSubmatch(line)
		guarded = append(guarded, m[1])
		lanes := map[string]string{"n": "n", "lo, hi": "hi-lo"}[m[2]]
		return line + "\n\tif bound, _ := strconv.Atoi(os.Getenv(\"BFI_TEST_BOUND\")); (" + lanes +
			")*int(unsafe.Sizeof(T(0))) > bound {\n\t\tpanic(\"" + m[1] + " got more than a piece\")\n\t}"
	})
	text = strings.Replace(text, `import "unsafe"`, `import ("os"; "strconv"; "unsafe")`, 1)
	if want := []string{"insert", "insertEach", "fill", "selectBits", "extract", "extractEach", "pack"}; !slices.Equal(guarded, want) {
		t.Fatalf("%s has kernels %v, want %v", file, guarded, want)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: write(file, []byte(text))}})
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "bfi.test.exe")
	build := exec.Command("go", "test", "-c", "-tags=purego", "-overlay="+write("overlay.json", overlay), "-o="+binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	pieces := func(bound int) ([]byte, error) {
		cmd := exec.Command(binary, "-test.run=^TestPieces$")
		cmd.Env = append(os.Environ(), "BFI_TEST_BOUND="+strconv.Itoa(bound), "BFI_KERNEL=", "BFI_TEST_REQUIRE=")
		return cmd.CombinedOutput()
	}
	if out, err := pieces(pieceBytes); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := pieces(pieceBytes - 1); err == nil {
		t.Error("no kernel got a whole piece, so that this test shows nothing")
	}
}

// TestPackLanes is whether a piece of Pack, of all columns together, is about as
// long as other pieces, and whole cache lines.
func TestPackLanes(t *testing.T) {
	for cols := range maxFields + 1 {
		for size, lanes := range map[int]int{4: packLanes[uint32](cols), 8: packLanes[uint64](cols)} {
			if bytes := lanes * size * (cols + 1); bytes > pieceBytes || bytes < pieceBytes/2 || lanes*size%line != 0 {
				t.Errorf("%d columns of %d-byte words: %d lanes, %d bytes", cols, size, lanes, bytes)
			}
		}
	}
}
