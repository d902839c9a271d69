package bfi

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A corpus has the results that NVIDIA's assembler gives for bfi and bfe.
// testdata/ptxas/README.md describes the files.
type corpus struct {
	Instructions []string              `json:"instructions"`
	Operands     [][2]uint64           `json:"operands"` // pairs of a and b
	Values       []uint32              `json:"values"`
	results      map[string][][]uint64 // of each instruction, for each pair, in the order of points
}

func readCorpus(t *testing.T, file string) *corpus {
	t.Helper()
	dir := filepath.Join("testdata", "ptxas")
	text, err := os.ReadFile(filepath.Join(dir, "corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &corpus{results: map[string][][]uint64{}}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	zipped, err := os.Open(filepath.Join(dir, file))
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
	for _, name := range c.Instructions {
		size := wordOf(name)
		for range c.Operands {
			list := make([]uint64, 1<<16+len(c.Values)*len(c.Values))
			for i := range list {
				if size == 4 {
					list[i] = uint64(binary.LittleEndian.Uint32(b))
				} else {
					list[i] = binary.LittleEndian.Uint64(b)
				}
				b = b[size:]
			}
			c.results[name] = append(c.results[name], list)
		}
	}
	if len(b) != 0 {
		t.Fatalf("%s has %d bytes more than results", file, len(b))
	}
	return c
}

// wordOf returns the size of an instruction's word in bytes.
func wordOf(instruction string) int {
	if strings.HasSuffix(instruction, "64") {
		return 8
	}
	return 4
}

// points returns the pos and len of each result.
func (c *corpus) points() [][2]uint32 {
	var list [][2]uint32
	for pos := range uint32(256) {
		for length := range uint32(256) {
			list = append(list, [2]uint32{pos, length})
		}
	}
	for _, pos := range c.Values {
		for _, length := range c.Values {
			list = append(list, [2]uint32{pos, length})
		}
	}
	return list
}

// at returns the result for a pos and len of up to 255.
func (c *corpus) at(instruction string, pair int, pos, length uint32) uint64 {
	return c.results[instruction][pair][pos<<8|length]
}

// text returns the result by the text of the PTX ISA, in which only the low 8 bits of
// pos and len count.
func (c *corpus) text(instruction string, pair int, pos, length uint32) uint64 {
	return c.at(instruction, pair, pos&0xff, length&0xff)
}

// TestWitnessWide checks where ptxas and the text of the PTX ISA differ for pos and len
// past 255. There the 32-bit forms of ptxas take the low 8 bits, as the text says. The
// 64-bit forms take all 32 bits, so every value above 255 acts as 255. TestWitness
// checks the values up to 255.
func TestWitnessWide(t *testing.T) {
	for _, file := range []string{"folded.gz", "executed.gz"} {
		c := readCorpus(t, file)
		for _, name := range c.Instructions {
			differ := 0
			for pair := range c.Operands {
				for i, p := range c.points() {
					have, text := c.results[name][pair][i], c.text(name, pair, p[0], p[1])
					want := text
					if wordOf(name) == 8 {
						want = c.at(name, pair, min(p[0], 0xff), min(p[1], 0xff))
					}
					if have != want {
						t.Fatalf("%s: %s with operands %d, pos %#x, len %#x is %#x, want %#x", file, name, pair, p[0], p[1], have, want)
					}
					if have != text {
						differ++
					}
				}
			}
			t.Logf("%s: %s: %d of %d results differ from the text", file, name, differ, len(c.Operands)*len(c.points()))
			if (differ > 0) != (wordOf(name) == 8) {
				t.Errorf("%s: %s: %d results differ from the text; only 64-bit forms may differ, and must", file, name, differ)
			}
		}
	}
}

// TestWitness compares every function, on every kernel, with NVIDIA's assembler. For
// pos and len past 255 the functions must follow the text of the PTX ISA. So there
// they must give the assembler's result for the low 8 bits of pos and len. The
// assembler itself gives another result in the 64-bit forms.
func TestWitness(t *testing.T) {
	folded, executed := readCorpus(t, "folded.gz"), readCorpus(t, "executed.gz")
	for _, name := range folded.Instructions {
		for pair := range folded.Operands {
			if !slices.Equal(folded.results[name][pair], executed.results[name][pair]) {
				t.Errorf("%s: ptxas folds constants to other results than its machine instructions give", name)
			}
		}
	}
	t.Run("Bfi/uint32", func(t *testing.T) { witnessScalar[uint32](t, folded, "bfi.b32", "bfe.u32") })
	t.Run("Bfi/int32", func(t *testing.T) { witnessScalar[int32](t, folded, "bfi.b32", "bfe.s32") })
	t.Run("Bfi/uint64", func(t *testing.T) { witnessScalar[uint64](t, folded, "bfi.b64", "bfe.u64") })
	t.Run("Bfi/int64", func(t *testing.T) { witnessScalar[int64](t, folded, "bfi.b64", "bfe.s64") })
	// Pack and Unpack have one column, as wide as the words.
	list := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		return e.size < 4 || strings.HasPrefix(e.fn, "Select") || len(e.pack) > 0
	})
	for _, f := range everyKind {
		switch f.size {
		case 4:
			list = append(list, named[uint32](packEntry[uint32](true, f), unpackEntry[uint32](f))...)
		case 8:
			list = append(list, named[uint64](packEntry[uint64](true, f), unpackEntry[uint64](f))...)
		}
	}
	for _, e := range list {
		t.Run(e.name, func(t *testing.T) {
			w := &witness{corpus: folded, e: &e, instruction: "bfi.b"}
			if strings.HasPrefix(e.fn, "Extract") || e.fn == "Unpack" {
				w.instruction = "bfe.u"
				if e.signed || e.fn == "Unpack" && e.pack[0].signed {
					w.instruction = "bfe.s"
				}
			}
			w.instruction += map[int]string{4: "32", 8: "64"}[e.size]
			if slices.ContainsFunc(e.ops, func(o op) bool { return o.kind == posKind }) {
				w.each(t)
			} else {
				w.uniform(t)
			}
		})
	}
}

func witnessScalar[T Word](t *testing.T, c *corpus, insert, extract string) {
	for pair, operands := range c.Operands {
		a, b := T(operands[0]), T(operands[1])
		for _, p := range c.points() {
			if have, want := Bfi(a, b, p[0], p[1]), T(c.text(insert, pair, p[0], p[1])); have != want {
				t.Fatalf("Bfi(%#x, %#x, %#x, %#x) = %#x, want %#x", a, b, p[0], p[1], have, want)
			}
			if have, want := Bfe(a, p[0], p[1]), T(c.text(extract, pair, p[0], p[1])); have != want {
				t.Fatalf("Bfe(%#x, %#x, %#x) = %#x, want %#x", a, p[0], p[1], have, want)
			}
		}
	}
}

// A witness compares an entry with an instruction of the corpus.
type witness struct {
	*corpus
	e           *entry
	instruction string
}

// lane sets the operands of lane i to a pair, and its right result to the corpus's.
func (w *witness) lane(s *sample, i, pair int, p [2]uint32) {
	e, words := w.e, 0
	for op := e.outs; op < len(e.ops); op++ {
		o := e.ops[op]
		switch o.kind {
		case posKind:
			store(s.ops[op], 4, i, uint64(p[0]))
		case widthKind:
			store(s.ops[op], 4, i, uint64(p[1]))
		case wordKind: // src or a column, base
			x := w.Operands[pair][words]
			if strings.HasPrefix(e.fn, "Fill") {
				x = w.Operands[pair][1]
			}
			store(s.ops[op], o.size, i, x)
			words++
		}
	}
	want := w.text(w.instruction, pair, p[0], p[1])
	if o := e.ops[len(e.ops)-1]; e.masked() && !isActive(s.ops[len(e.ops)-1], o.size, i) || e.warp && s.active>>i&1 == 0 {
		want = load(s.ops[0], e.ops[0].size, i)
	}
	store(s.want[0], e.ops[0].size, i, want)
}

// each gives each lane a point of its own. It makes one call with all points, and calls
// of less than a vector.
func (w *witness) each(t *testing.T) {
	list := w.points()
	lengths := []int{len(list), 7}
	if w.e.warp {
		lengths = []int{WarpSize}
	}
	r := rand.New(rand.NewPCG(27, 1))
	for _, lanes := range lengths {
		m := w.e.heap(lanes)
		m.short = true
		s := w.e.sample(r, lanes, w.e.apart())
		for pair := range w.Operands {
			for first := 0; first < len(list); first += lanes {
				s.active = ^uint32(0) << (first & 3)
				s.activate(w.e, pair)
				for i := range lanes {
					w.lane(s, i, pair, list[(first+i)%len(list)])
				}
				m.verify(t, w.e, s, lanes, w.e.atLines())
			}
		}
	}
}

// uniform makes a call for each point. The lanes have all pairs of operands in turn.
// Fill has one value a call, so it makes a call for each pair.
func (w *witness) uniform(t *testing.T) {
	pairs, turns := len(w.Operands), 1
	if strings.HasPrefix(w.e.fn, "Fill") {
		pairs, turns = 1, pairs
	}
	lanes := 200/w.e.largest() + 3
	if w.e.masked() {
		lanes = 70
	}
	m := w.e.heap(lanes)
	m.short = true
	offset := w.e.atLines()
	r := rand.New(rand.NewPCG(27, 2))
	s := w.e.sample(r, 8*pairs, w.e.apart())
	bits := uint32(8 * w.e.size)
	for i, p := range w.points() {
		if quick() && i < 1<<16 && (p[0] > bits || p[1] > bits) && r.IntN(16) != 0 {
			continue
		}
		for turn := range turns {
			s.activate(w.e, i)
			s.pos[0], s.width[0], s.from[0], s.value[0] = p[0], p[1], 0, w.Operands[turn][0]
			for lane := range s.lanes {
				w.lane(s, lane, turn+lane%pairs, p)
			}
			m.verify(t, w.e, s, lanes, offset)
		}
	}
}
