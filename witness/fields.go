package main

import (
	"fmt"
	"strings"
)

// fieldNames are the instructions of the first corpus, in the order of its results.
var fieldNames = []string{"bfi.b32", "bfi.b64", "bfe.u32", "bfe.s32", "bfe.u64", "bfe.s64"}

// fieldOperands are pairs of a and b. In a, all runs of six bits are different. The
// second a is the complement of the first, so the two results differ exactly in the
// bits that come from a.
var fieldOperands = [][2]uint64{
	{0x022fdd63cc95386d, 0x9e3779b97f4a7c15},
	{^uint64(0x022fdd63cc95386d), 0x9e3779b97f4a7c15},
}

// fieldValues are the values of pos and len that are combined besides 0 to 255. They are
// values past 255, and smaller values to combine with these.
var fieldValues = []uint32{
	0, 1, 3, 8, 31, 32, 33, 63, 64, 65, 127, 128, 254,
	255, 256, 257, 258, 0x108, 0x11e, 0x11f, 0x120, 0x121, 0x13f, 0x140, 0x1fe, 0x1ff, 0x200, 0xffff, 0x10000, 0x10001,
	0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
}

func is64(name string) bool { return strings.HasSuffix(name, "64") }

// A point is a pos and a len.
type point struct {
	pos, length uint32
	immediate   bool // whether they are immediate operands
}

// sampled reports whether a point is in the sample. The sample has every pos and len up
// to 66, and some larger ones.
func (p point) sampled() bool {
	few := func(x uint32) bool { return x <= 66 || x >= 254 || x%32 == 0 }
	return few(p.pos) && few(p.length)
}

// fieldPoints returns all pos and len up to 255, as immediates, and then all pairs of
// fieldValues, in registers. ptxas takes no immediates past 255.
func fieldPoints() []point {
	var list []point
	for pos := range uint32(256) {
		for length := range uint32(256) {
			list = append(list, point{pos, length, true})
		}
	}
	for _, pos := range fieldValues {
		for _, length := range fieldValues {
			list = append(list, point{pos, length, false})
		}
	}
	return list
}

// fieldFragment returns an instruction with a point's pos and len.
func fieldFragment(name string, operands [2]uint64, p point) fragment {
	dst, a, b := "%r", uint64(uint32(operands[0])), uint64(uint32(operands[1]))
	if is64(name) {
		dst, a, b = "%R", operands[0], operands[1]
	}
	sources := fmt.Sprintf("%#x, %#x", a, b)
	if name[:3] == "bfe" {
		sources = fmt.Sprintf("%#x", a)
	}
	if p.immediate {
		return fragment{fmt.Sprintf("%s %s, %s, %d, %d;", name, dst, sources, p.pos, p.length), is64(name)}
	}
	return fragment{fmt.Sprintf(".reg .b32 %%c, %%d; mov.b32 %%c, %#x; mov.b32 %%d, %#x; %s %s, %s, %%c, %%d;",
		p.pos, p.length, name, dst, sources), is64(name)}
}

// fieldFragments returns the fragments of the first corpus, in the order of its results.
// Each instruction has each pair of operands, and each pair has all points.
func fieldFragments() []fragment {
	var list []fragment
	for _, name := range fieldNames {
		for _, operands := range fieldOperands {
			for _, p := range fieldPoints() {
				list = append(list, fieldFragment(name, operands, p))
			}
		}
	}
	return list
}

// refusesWideImmediates checks that ptxas refuses an immediate pos or len past 255.
func (t *tools) refusesWideImmediates(target string) error {
	for _, name := range fieldNames {
		for _, p := range []point{{256, 1, true}, {1, 256, true}} {
			_, err := t.fold([]fragment{fieldFragment(name, fieldOperands[0], p)}, 1, target, "-O3")
			if err == nil || !strings.Contains(err.Error(), "expected to be in range [0..255]") {
				return fmt.Errorf("%s: %s with pos %d and len %d: %v, want an error that names the range",
					target, name, p.pos, p.length, err)
			}
		}
	}
	return nil
}

// foldsNothing checks that ptxas -O0 does not fold bfi and bfe.
func (t *tools) foldsNothing(target string) error {
	var list []fragment
	for _, name := range fieldNames {
		for _, p := range []point{{0, 0, true}, {0, 32, true}, {3, 7, true}, {70, 70, true}} {
			list = append(list, fieldFragment(name, fieldOperands[0], p))
		}
	}
	results, err := t.fold(list, 1, target, "-O0")
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.folded != 0 {
			return fmt.Errorf("%s: ptxas -O0 folds %s", target, list[i].body)
		}
	}
	return nil
}

// levels are the levels of optimization that the corpus has listings for.
var levels = []string{"-O0", "-O3"}

// function returns the name of an instruction's function in a listing.
func function(name string) string { return strings.Replace(name, ".", "_", 1) }

// listing returns the machine instructions of kernels, one for each instruction. Their
// operands are the kernels' parameters.
func (t *tools) listing(target, level string) (string, error) {
	ptx := header
	var names []string
	for _, name := range fieldNames {
		names = append(names, function(name))
		size, sources := name[5:], "%a, %b"
		if name[:3] == "bfe" {
			sources = "%a"
		}
		ptx += fmt.Sprintf(`.visible .entry %s(
			.param .u64 out, .param .b%[2]s a, .param .b%[2]s b, .param .b32 c, .param .b32 d) {
			.reg .b%[2]s %%a, %%b, %%f; .reg .b32 %%c, %%d; .reg .b64 %%o;
			ld.param.u64 %%o, [out]; ld.param.b%[2]s %%a, [a]; ld.param.b%[2]s %%b, [b];
			ld.param.b32 %%c, [c]; ld.param.b32 %%d, [d];
			%[3]s %%f, %[4]s, %%c, %%d;
			st.global.b%[2]s [%%o], %%f;
			ret;
		}
		`, function(name), size, name, sources)
	}
	functions, err := t.assemble(ptx, target, level)
	return printSASS(names, functions), err
}

// execute executes a listing with all operands and points, in the order of the corpus.
func execute(listing, target string) ([]uint64, error) {
	functions, err := parseSASS(listing)
	if err != nil {
		return nil, err
	}
	var results []uint64
	for _, name := range fieldNames {
		steps, err := compile(functions[function(name)])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		words, base := 1, parameters(target)
		if is64(name) {
			words = 2
		}
		m := machine{base: base, constants: map[int]uint32{}}
		for _, operands := range fieldOperands {
			for k := range words {
				m.constants[base+8+4*k] = uint32(operands[0] >> (32 * k))
				m.constants[base+8+4*words+4*k] = uint32(operands[1] >> (32 * k))
			}
			for _, p := range fieldPoints() {
				m.constants[base+8+8*words] = p.pos
				m.constants[base+8+8*words+4] = p.length
				x, err := m.result(steps, words)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				results = append(results, x)
			}
		}
	}
	return results, nil
}
