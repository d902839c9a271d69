package main

import "fmt"

// A kernel is one entry point of the assembly. Adding one here adds it to every
// instruction set, to the Go stubs and to the proof.
type kernel struct {
	name     string // of the Go function that calls it
	variant  string // tells kernels of one name apart
	shape    shape
	operands []operand
	formula  func(target) *node
}

// A shape is the loop around a formula.
type shape int

const (
	sliceShape shape = iota // n lanes of each slice
	warpShape               // 32 lanes under an active mask
	packShape               // one word out of several columns
)

type operand struct {
	name  string
	count bool // an uint32 of which the low 8 bits count, rather than a word
	each  bool // one a lane, rather than one for all
}

func words(names ...string) []operand {
	var list []operand
	for _, name := range names {
		list = append(list, operand{name: name, each: true})
	}
	return list
}

func fields(each bool) []operand {
	return []operand{{"pos", true, each}, {"width", true, each}}
}

var kernels = []kernel{
	{"insert", "", sliceShape, append(words("src", "base"), fields(false)...), insertFormula},
	{"insertEach", "", sliceShape, append(words("src", "base"), fields(true)...), insertEachFormula},
	{"fill", "", sliceShape, append(words("base"), append([]operand{{name: "value"}}, fields(false)...)...), fillFormula},
	{"selectBits", "", sliceShape, words("mask", "src", "base"), selectFormula},
	{"extract", "Unsigned", sliceShape, append(words("src"), fields(false)...), extractFormula(false, false)},
	{"extract", "Signed", sliceShape, append(words("src"), fields(false)...), extractFormula(false, true)},
	{"extractEach", "Unsigned", sliceShape, append(words("src"), fields(true)...), extractFormula(true, false)},
	{"extractEach", "Signed", sliceShape, append(words("src"), fields(true)...), extractFormula(true, true)},
	{"pack", "", packShape, nil, packFormula},
	{"insertWarp", "", warpShape, append(words("src", "base"), fields(true)...), insertEachFormula},
	{"selectWarp", "", warpShape, words("mask", "src", "base"), selectFormula},
	{"extractWarp", "Unsigned", warpShape, append(words("src"), fields(true)...), extractFormula(true, false)},
	{"extractWarp", "Signed", warpShape, append(words("src"), fields(true)...), extractFormula(true, true)},
}

// A target is an instruction set and a word width.
type target struct {
	isa  isa
	bits int
}

type isa string

const (
	avx2   isa = "AVX2"
	avx512 isa = "AVX512"
	neon   isa = "NEON"
)

var widths = []int{32, 64}

// selects reports whether the instruction set selects bits in one instruction.
func (t target) selects() bool { return t.isa != avx2 }

// size is the size of a word in bytes.
func (t target) size() int { return t.bits / 8 }

// symbol is the assembly function's name.
func (k kernel) symbol(t target) string {
	return fmt.Sprintf("%s%s%d%s", k.name, k.variant, t.bits, t.isa)
}

type param struct{ name, typ string }

// params is the assembly function's signature: the destination, the operands
// that have a lane each, those that are the same for all lanes, how many lanes.
func (k kernel) params(t target) []param {
	pointer := func(name string) param { return param{name, "unsafe.Pointer"} }
	if k.shape == packShape {
		// The k columns, and the lanes from lo up to hi.
		list := []param{pointer("dst"), pointer("base"), pointer("cols"), {"k", "int"}, {"lo", "int"}, {"hi", "int"}}
		return append(list, streamParam(t)...)
	}
	list := []param{pointer("dst")}
	for _, o := range k.operands {
		if o.each {
			list = append(list, pointer(o.name))
		}
	}
	if k.shape == warpShape {
		return append(list, param{"active", "uint32"})
	}
	list = append(list, param{"n", "int"})
	for _, o := range k.operands {
		switch {
		case o.each:
		case o.count:
			list = append(list, param{o.name, "uint32"})
		default:
			list = append(list, param{o.name, fmt.Sprintf("uint%d", t.bits)})
		}
	}
	return append(list, streamParam(t)...)
}

// streamParam says whether stores bypass the cache, where they can.
func streamParam(t target) []param {
	if t.isa == neon {
		return nil
	}
	return []param{{"stream", "bool"}}
}

// The layout of a column in Go.
const (
	columnData = 0
	columnPos  = 8
	columnMask = 16
	columnSize = 24
)
