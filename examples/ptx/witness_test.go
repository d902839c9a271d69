package main

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A corpus has the results that NVIDIA's assembler gives for the instructions of the
// table. testdata/ptxas/README.md describes the files.
type corpus struct {
	Cases        int         `json:"cases"`
	Instructions []witnessed `json:"instructions"` // ptxas folded them
	Executed     []witnessed `json:"executed"`     // their machine instructions were executed
	Unknown      []string    `json:"unknown"`      // there are no results of them
	operands     []byte      // three words of 64 bits for each case
}

// witnessed is an instruction with its results.
type witnessed struct {
	Name     string   `json:"name"`
	Operands []string `json:"operands"` // the operands' types, the destination's first
	results  []byte   // for each case a word as wide as the destination; a predicate is a byte
}

func readCorpus(t *testing.T) *corpus {
	t.Helper()
	dir := filepath.Join("testdata", "ptxas")
	text, err := os.ReadFile(filepath.Join(dir, "corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := new(corpus)
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	folded, executed := unzip(t, filepath.Join(dir, "folded.gz")), unzip(t, filepath.Join(dir, "executed.gz"))
	c.operands, folded = folded[:24*c.Cases], folded[24*c.Cases:]
	for i := range c.Instructions {
		folded = c.Instructions[i].take(c.Cases, folded)
	}
	for i := range c.Executed {
		executed = c.Executed[i].take(c.Cases, executed)
	}
	if len(folded)+len(executed) != 0 {
		t.Fatalf("folded.gz and executed.gz have %d and %d bytes more than results", len(folded), len(executed))
	}
	return c
}

// operand returns operand k of case i.
func (c *corpus) operand(i, k int) uint64 { return binary.LittleEndian.Uint64(c.operands[24*i+8*k:]) }

func unzip(t *testing.T, file string) []byte {
	t.Helper()
	zipped, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close()
	r, err := gzip.NewReader(zipped)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// take takes the results of all cases from the start of b and returns the rest.
func (w *witnessed) take(cases int, b []byte) []byte {
	n := cases * w.size()
	w.results = b[:n]
	return b[n:]
}

// operandBits returns the size of an operand's register. Operands of 8 bits have a register
// of 16 bits.
func operandBits(operand string) int {
	if operand == "pred" {
		return 1
	}
	return max(types[operand].bits, 16)
}

// size returns the size of a result in bytes.
func (w *witnessed) size() int { return (operandBits(w.Operands[0]) + 7) / 8 }

// kernel returns PTX in which thread i executes the instruction for case i.
func (w *witnessed) kernel() string {
	var b strings.Builder
	b.WriteString(header + `.entry k(.param .u64 out, .param .u64 in, .param .u32 n)
	{
		.reg .pred %p;
		.reg .b32 %i, %n, %t;
		.reg .b64 %a, %b;
		mov.u32 %i, %ctaid.x;
		mov.u32 %n, %ntid.x;
		mad.lo.u32 %i, %i, %n, %tid.x;
		ld.param.u32 %n, [n];
		setp.ge.u32 %p, %i, %n;
		@%p ret;
		ld.param.u64 %a, [in];
		mul.wide.u32 %b, %i, 24;
		add.u64 %a, %a, %b;
	`)
	instruction := w.Name
	for k, operand := range w.Operands {
		if operand[0] == '0' {
			instruction += ", " + operand
			continue
		}
		bits := operandBits(operand)
		instruction += fmt.Sprintf("%s %%s%d", strings.Repeat(",", min(k, 1)), k)
		if bits == 1 {
			fmt.Fprintf(&b, ".reg .pred %%s%d;\n", k)
		} else {
			fmt.Fprintf(&b, ".reg .b%d %%s%d;\n", bits, k)
		}
		switch {
		case k == 0:
		case bits == 1:
			fmt.Fprintf(&b, "ld.global.b32 %%t, [%%a+%d]; and.b32 %%t, %%t, 1; setp.ne.u32 %%s%d, %%t, 0;\n", 8*(k-1), k)
		default:
			fmt.Fprintf(&b, "ld.global.b%d %%s%d, [%%a+%d];\n", bits, k, 8*(k-1))
		}
	}
	fmt.Fprintf(&b, "%s;\nld.param.u64 %%a, [out];\nmul.wide.u32 %%b, %%i, %d;\nadd.u64 %%a, %%a, %%b;\n",
		instruction, w.size())
	if operandBits(w.Operands[0]) == 1 {
		b.WriteString("selp.b32 %t, 1, 0, %s0;\nst.global.u8 [%a], %t;\n")
	} else {
		fmt.Fprintf(&b, "st.global.b%d [%%a], %%s0;\n", 8*w.size())
	}
	b.WriteString("ret;\n}\n")
	return b.String()
}

// TestWitness compares each instruction with NVIDIA's assembler: with the results that it
// folds, or else with the results of the machine instructions that it chooses.
func TestWitness(t *testing.T) {
	c := readCorpus(t)
	for _, w := range slices.Concat(c.Instructions, c.Executed) {
		out := make([]byte, len(w.results))
		launch(t, w.kernel(), c.Cases, argument{buffer: out}, argument{buffer: slices.Clone(c.operands)},
			argument{number: uint64(c.Cases)})
		size, wrong := w.size(), 0
		for i := range c.Cases {
			have, want := out[size*i:][:size], w.results[size*i:][:size]
			if w.Name == "fns.b32" && int32(c.operand(i, 2)) == math.MinInt32 {
				// ptxas folds this to 0. No bit is that far away, so the PTX ISA asks for
				// all ones.
				if want = []byte{0, 0, 0, 0}; !slices.Equal(w.results[size*i:][:size], want) {
					t.Errorf("fns.b32 with the offset -2147483648 is folded to %x, want %x", w.results[size*i:][:size], want)
				}
				want = []byte{0xff, 0xff, 0xff, 0xff}
			}
			if slices.Equal(have, want) {
				continue
			}
			if wrong++; wrong <= 3 {
				var operands []string
				for k := range 3 {
					operands = append(operands, fmt.Sprintf("%#x", c.operand(i, k)))
				}
				t.Errorf("%s with operands from %s is %x, want %x (bytes in memory)",
					w.Name, strings.Join(operands, ", "), have, want)
			}
		}
		if wrong > 3 {
			t.Errorf("%s is wrong in %d of %d cases", w.Name, wrong, c.Cases)
		}
	}
}

// TestWitnessed checks that the corpus has every instruction of the table, or lists it
// as unknown. bfi and bfe have a corpus in the library's tests.
func TestWitnessed(t *testing.T) {
	c := readCorpus(t)
	known := map[string]bool{}
	for _, w := range slices.Concat(c.Instructions, c.Executed) {
		known[w.Name] = true
	}
	for _, name := range c.Unknown {
		known[name] = true
	}
	for name, typ := range types {
		for _, r := range typ.rows {
			instruction := strings.Replace(r.name, "T", name, 1)
			if slices.Contains(strings.Fields(r.types), name) && r.meaning != nil && !known[instruction] {
				t.Errorf("the corpus has no %s: add it to witness/instructions.go", instruction)
			}
		}
	}
}
