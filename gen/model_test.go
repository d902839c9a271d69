package main

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gobfi/bfi/gen/proof"
)

// TestModel checks that the proof's model of the instructions agrees with processors, bit
// for bit. It calls each kernel on random operands, here or in an emulator.
func TestModel(t *testing.T) {
	files, list := checkedIn(t)
	for _, c := range []struct {
		goarch, symbols string
		emulator        []string
	}{
		{"amd64", "AVX2$", nil}, {"amd64", "AVX512$", nil}, {"amd64", "BMI2$", nil},
		{"arm64", "NEON$", []string{"qemu-aarch64"}},
	} {
		t.Run(strings.TrimSuffix(c.symbols, "$"), func(t *testing.T) {
			samples, err := proof.Samples(files, list, 40, regexp.MustCompile(c.symbols).MatchString)
			if err != nil {
				t.Fatal(err)
			}
			if len(samples) == 0 {
				t.Fatalf("no kernel matches %s", c.symbols)
			}
			if runtime.GOARCH == c.goarch {
				c.emulator = nil
			}
			out := callKernels(t, c.goarch, c.emulator, samples)
			if strings.Contains(out, "no kernels") {
				t.Skipf("this processor does not run %s kernels", c.symbols)
			}
			if want := fmt.Sprintf("%d calls\nPASS\n", len(samples)); out != want {
				t.Errorf("the processor differs from the model:\n%s", out)
			}
		})
	}
}

// callKernels calls kernels in a copy of the library, and returns the differences.
func callKernels(t *testing.T, goarch string, emulator []string, samples []proof.Sample) string {
	dir := t.TempDir()
	for _, pattern := range []string{"*.go", "*.s", "go.mod", "go.sum"} {
		names, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "internal"), os.DirFS("../internal")); err != nil {
		t.Fatal(err)
	}
	source, err := format.Source([]byte(caller(samples)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(samples)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"model_test.go": source, "samples.json": data} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "test", "-c", "-o=model.test", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOARCH="+goarch, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line := append(slices.Clone(emulator), "./model.test")
	if _, err := exec.LookPath(line[0]); err != nil && emulator != nil {
		t.Skipf("no %s kernels here: %v", goarch, err)
	}
	run := exec.Command(line[0], line[1:]...)
	run.Dir = dir
	out, err := run.Output()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out)
}

// caller returns a test of the library that calls its assembly on samples.
func caller(samples []proof.Sample) string {
	var calls strings.Builder
	done := map[string]bool{}
	for _, s := range samples {
		if done[s.Symbol] {
			continue
		}
		done[s.Symbol] = true
		var args []string
		for i, typ := range s.Types {
			switch typ {
			case "unsafe.Pointer":
				args = append(args, fmt.Sprintf("p[%d]", i))
			case "bool":
				args = append(args, fmt.Sprintf("a[%d].Number != 0", i))
			default:
				args = append(args, fmt.Sprintf("%s(a[%d].Number)", typ, i))
			}
		}
		fmt.Fprintf(&calls, "case %q:\n%s(%s)\n", s.Symbol, s.Symbol, strings.Join(args, ", "))
	}
	level := map[bool]string{true: "levelAVX512", false: "levelAVX2"}[strings.HasSuffix(samples[0].Symbol, string(avx512))]
	if strings.HasSuffix(samples[0].Symbol, string(neon)) {
		level = "levelNEON"
	}
	lacks := "false"
	if level == "levelAVX512" {
		lacks = "!vbmi" // one of this level's kernels also needs it
	}
	return strings.NewReplacer("LEVEL", level, "LACKS", lacks, "CALLS", calls.String()).Replace(`package bfi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"unsafe"
)

type sample struct {
	Symbol    string
	Arguments []argument
	Column    int
	Want      []byte
}

type argument struct {
	Number   uint64
	Memory   []byte
	Align    int
	Pointers map[int][]byte
}

const guard = 128

// place returns memory with data in it, align bytes past a multiple of 64, between other
// bytes.
func place(data []byte, align int) []byte {
	room := bytes.Repeat([]byte{0xa5}, len(data)+4*guard)
	at := guard + (64-int(uintptr(unsafe.Pointer(&room[guard]))%64))%64 + align
	copy(room[at:], data)
	return room[at-64 : at+len(data)+64]
}

func TestModel(t *testing.T) {
	if !slices.Contains(supported(), LEVEL) || LACKS {
		fmt.Println("no kernels")
		return
	}
	data, err := os.ReadFile("samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	if err := json.Unmarshal(data, &samples); err != nil {
		t.Fatal(err)
	}
	for i, s := range samples {
		var placed [][]byte
		var have []byte
		p := make([]unsafe.Pointer, len(s.Arguments))
		for k, a := range s.Arguments {
			room := place(a.Memory, a.Align)
			placed = append(placed, room)
			if len(a.Memory) > 0 {
				p[k] = unsafe.Pointer(&room[64])
			} else if a.Memory != nil {
				p[k] = unsafe.Pointer(&room[0])
			}
			for offset, data := range a.Pointers {
				to := place(data, a.Align)
				placed = append(placed, to)
				*(*unsafe.Pointer)(unsafe.Add(p[k], offset)) = unsafe.Pointer(&to[64])
				if offset == s.Column {
					have = to
				}
			}
		}
		call(s.Symbol, s.Arguments, p)
		if have == nil {
			have = placed[0]
		}
		if !bytes.Equal(have[64:len(have)-64], s.Want) {
			t.Errorf("call %d, %s: %x, want %x", i, s.Symbol, have[64:len(have)-64], s.Want)
		}
	}
	fmt.Printf("%d calls\n", len(samples))
}

func call(symbol string, a []argument, p []unsafe.Pointer) {
	switch symbol {
	CALLS
	}
}
`)
}
