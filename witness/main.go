// Witness asks NVIDIA's assembler what instructions of PTX compute. If the operands
// of an instruction are constants, ptxas replaces the instruction by its result.
// Witness reads these results from the disassembly and writes them to testdata/ptxas
// and examples/ptx/testdata/ptxas. The READMEs there describe the files.
//
//	go -C witness run .
//
// It needs Python 3 with venv and pip, and the network. It makes a virtual environment
// and installs NVIDIA's packages there, in the versions that tools.go names. It takes
// about half an hour of processor time.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// targets are the processors to assemble for: Turing, Hopper, Blackwell, and the
// highest number that this ptxas knows.
var targets = []string{"sm_75", "sm_90", "sm_100", "sm_121"}

const (
	everyTarget = 0b1111
	fullTarget  = 1 // sm_90; even -sample folds everything for it
)

func main() {
	venv := flag.String("venv", "",
		"the virtual environment; made if missing (default: bfi-witness in the user's cache directory)")
	sample := flag.Bool("sample", false,
		"fold everything for sm_90, but only a sample for the other targets; takes a third of the time")
	only := flag.String("only", "", "write one corpus: fields or instructions (default: both)")
	flag.Parse()
	if err := witness(*venv, *only, *sample); err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(1)
	}
}

func witness(venv, only string, sample bool) error {
	if !slices.Contains([]string{"", "fields", "instructions"}, only) || flag.NArg() > 0 {
		return fmt.Errorf("-only %q and arguments %q, want -only fields or instructions, and no arguments", only, flag.Args())
	}
	cache, err := os.UserCacheDir()
	if venv == "" && err != nil {
		return err
	}
	t, err := install(cmp.Or(venv, filepath.Join(cache, "bfi-witness")))
	if err != nil {
		return err
	}
	fmt.Println(t.version)
	if only != "instructions" {
		if err := t.fields(filepath.Join("..", "testdata", "ptxas"), sample); err != nil {
			return err
		}
	}
	if only != "fields" {
		return t.instructions(filepath.Join("..", "examples", "ptx", "testdata", "ptxas"), sample)
	}
	return nil
}

// A source names the programs and the targets of a corpus.
type source struct {
	Packages map[string]string `json:"packages"`
	Build    string            `json:"build"` // the version that ptxas prints
	Targets  []string          `json:"targets"`
	Sampled  []string          `json:"sampled"` // the targets for which ptxas folded only a sample
}

func (t *tools) source(sample bool) source {
	s := source{map[string]string{}, t.version, targets, []string{}}
	if sample {
		s.Sampled = slices.Delete(slices.Clone(targets), fullTarget, fullTarget+1)
	}
	for _, p := range packages {
		s.Packages[p[0]] = p[1]
	}
	return s
}

// fields writes the corpus of bfi and bfe.
func (t *tools) fields(dir string, sample bool) error {
	for _, target := range targets {
		if err := cmp.Or(t.refusesWideImmediates(target), t.foldsNothing(target)); err != nil {
			return err
		}
	}
	listings := map[string]string{}
	var executed []uint64
	for _, target := range targets {
		for _, level := range levels {
			listing, err := t.listing(target, level)
			if err != nil {
				return err
			}
			name := target + level + ".sass"
			results, err := execute(listing, target)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if executed == nil {
				executed = results
			}
			if !slices.Equal(results, executed) {
				return fmt.Errorf("%s gives other results than %s%s", name, targets[0], levels[0])
			}
			listings[name] = listing
		}
	}
	fragments := fieldFragments()
	points := fieldPoints()
	var sampled func(i int) bool
	if sample {
		sampled = func(i int) bool { return points[i%len(points)].sampled() }
	}
	constants, err := t.foldAll(fragments, sampled)
	if err != nil {
		return err
	}
	var folded, machine bytes.Buffer
	for i, c := range constants {
		want := uint8(everyTarget)
		if sample && !sampled(i) {
			want = 1 << fullTarget
		}
		if c.folded != want {
			return fmt.Errorf("of the targets %v only some fold %[3]s: bits %[2]b", targets, c.folded, fragments[i].body)
		}
		appendWord(&folded, c.value, fragments[i].wide)
		appendWord(&machine, executed[i], fragments[i].wide)
	}
	for name, listing := range listings {
		if err := write(dir, name, []byte(listing)); err != nil {
			return err
		}
	}
	return cmp.Or(writeZipped(dir, "folded.gz", folded.Bytes()), writeZipped(dir, "executed.gz", machine.Bytes()),
		writeJSON(dir, struct {
			source
			Instructions []string    `json:"instructions"`
			Operands     [][2]uint64 `json:"operands"`
			Values       []uint32    `json:"values"`
		}{t.source(sample), fieldNames, fieldOperands, fieldValues}))
}

func appendWord(b *bytes.Buffer, x uint64, wide bool) {
	word := binary.LittleEndian.AppendUint64(nil, x)
	if !wide {
		word = word[:4]
	}
	b.Write(word)
}

func write(dir, name string, content []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), content, 0o666)
}

func writeZipped(dir, name string, content []byte) error {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return write(dir, name, b.Bytes())
}

func readZipped(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// writeJSON writes corpus.json.
func writeJSON(dir string, content any) error {
	b, err := json.MarshalIndent(content, "", "\t")
	if err != nil {
		return err
	}
	return write(dir, "corpus.json", append(b, '\n'))
}
