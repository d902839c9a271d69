package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gobfi/bfi/gen/proof"
)

// TestOutputs checks that the generator writes the checked-in files.
func TestOutputs(t *testing.T) {
	for name, render := range outputs {
		want, err := render()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		have, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is not what the generator writes: run go generate in the library's root", name)
		}
	}
}

// TestRequirements checks that kernels need only features that their level requires.
func TestRequirements(t *testing.T) {
	assured, err := features()
	if err != nil {
		t.Fatal(err)
	}
	if len(assured) != 4 {
		t.Fatalf("cpu_amd64.go asks for features of %d instruction sets, want 3, and for VBMI", len(assured)-1)
	}
	byName := map[string][]string{}
	for _, k := range kernels {
		for isa := range assured {
			for _, target := range k.targets(isa) {
				byName[k.symbol(target)] = k.features(isa, assured)
			}
		}
	}
	baseline := []string{"MMX+", "CMOV"} // SFENCE and CMOVQLT; every amd64 processor has them

	assembly, err := renderAMD64()
	if err != nil {
		t.Fatal(err)
	}
	functions := regexp.MustCompile(`// Requires: (.*)\nTEXT ·\w+?(AVX2|AVX512|BMI2)\(SB\)`).FindAllSubmatch(assembly, -1)
	if want := bytes.Count(assembly, []byte("TEXT ")); len(functions) != want {
		t.Fatalf("%d functions say what they require, want all %d", len(functions), want)
	}
	files, _ := checkedIn(t)
	needs, err := proof.Needs(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range functions {
		name := string(bytes.TrimSuffix(m[0][bytes.Index(m[0], []byte("TEXT"))+len("TEXT ·"):], []byte("(SB)")))
		requires := slices.DeleteFunc(strings.Split(string(m[1]), ", "), func(f string) bool {
			return slices.Contains(baseline, f)
		})
		for _, feature := range requires {
			if !slices.Contains(byName[name], feature) {
				t.Errorf("%s requires %s; cpu_amd64.go makes sure only of %v", name, feature, byName[name])
			}
		}
		// The proof finds out by itself what an instruction needs, but does not tell AVX
		// from AVX2.
		isAVX := func(f string) bool { return f == "AVX" || f == "AVX2" }
		if !slices.Equal(slices.DeleteFunc(requires, isAVX), slices.DeleteFunc(needs[name], isAVX)) {
			t.Errorf("%s requires %v by avo, and %v by the proof", name, requires, needs[name])
		}
	}
}

// TestToyKernel adds a kernel to the table. It must only need a portable loop, and without
// the loop the library must not build.
func TestToyKernel(t *testing.T) {
	defer func(saved []kernel) { kernels = saved }(kernels)
	kernels = append(slices.Clone(kernels), kernel{
		name: "clearBits", lanes: anyLanes, operands: words("base"), arguments: []argument{{"mask", "T"}},
		formula: func(target) *node { return andNot(word("base"), uniform("mask")) }, equals: bfiValue,
	})
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "internal"), os.DirFS("../internal")); err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range append(sources, "../go.mod", "../go.sum") {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Base(source), text)
	}
	for name, render := range outputs {
		text, err := render()
		if err != nil {
			t.Fatal(err)
		}
		write(name, text)
	}
	build := func(env ...string) string {
		cmd := exec.Command("go", "build", ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	targets := [][]string{{"GOARCH=amd64"}, {"GOARCH=arm64"}, {"GOARCH=riscv64"}}
	for _, target := range targets {
		if out := build(target...); !strings.Contains(out, "undefined: clearBitsGeneric") {
			t.Errorf("%s, without a portable loop: %q, want clearBitsGeneric to be undefined", target, out)
		}
	}
	write("toy.go", []byte("package bfi\n\nfunc clearBitsGeneric[T Word](dst, base []T, mask T) {\n"+
		"\tfor i := range dst {\n\t\tdst[i] = base[i] &^ mask\n\t}\n}\n"))
	for _, target := range targets {
		if out := build(target...); out != "" {
			t.Errorf("%s: %s", target, out)
		}
	}
}

// TestInlined checks that the compiler inlines what must be inlined: the functions of one
// lane, fields, and the checks of a correct call.
func TestInlined(t *testing.T) {
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	user := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module user\n\ngo 1.24.0\n\n" +
			"require github.com/gobfi/bfi v0.0.0\n\nreplace github.com/gobfi/bfi => " + dir + "\n",
		"main.go": `package main

import "github.com/gobfi/bfi"

func main() {
	words, columns := make([]uint32, 3), make([]uint8, 3)
	bfi.Pack(words, nil, bfi.Column(columns, 0, 8).From(1), bfi.Constant(uint8(5), 8, 8))
	bfi.InsertMasked(words, words, words, 1, 2, columns[:1])
	println(bfi.Bfi(words[0], 2, 3, 4), bfi.Bfe(words[0], 2, 3))
}
`,
	} {
		if err := os.WriteFile(filepath.Join(user, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-gcflags=-m", "-o", os.DevNull, ".")
	cmd.Dir = user
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	for _, name := range []string{"Bfi", "Bfe", "Column", "Constant", "fits", "maskFits"} {
		if !regexp.MustCompile(`can inline (bfi\.)?` + name + `\[go\.shape`).Match(out) {
			t.Errorf("%s cannot be inlined", name)
		}
	}
}
