package main

import (
	"fmt"
	"slices"
)

// A kernel is one entry of the table that the library's kernels are made from. A new
// kernel takes an entry here and a portable loop of its name in bfi_generic.go. Its
// assembly for every level, the Go function that calls it and its proof follow. Without
// the loop the library does not compile.
type kernel struct {
	name      string     // the name of the Go function that calls it
	signed    signedness // the signedness of its words
	shape     shape
	isas      []isa // the instruction sets that have it; nil means AVX2, AVX-512 and NEON
	vbmi      bool  // its AVX-512 kernel also needs VBMI
	lanes     lanes
	operands  []operand  // slices with an element for each lane, except dst
	arguments []argument // values that are the same for all lanes
	formula   func(target) *node
	equals    instruction // each lane of dst must equal its result
}

// A shape is the loop around a formula.
type shape int

const (
	sliceShape   shape = iota // n lanes of each slice
	maskedShape               // the same, in the lanes whose bit in a mask is set
	warpShape                 // 32 lanes under an active mask; all are read before any is written
	packShape                 // several columns to words
	unpackShape               // words to several columns
	denseShape                // words of groups of adjacent elements, or groups of words
	permuteShape              // groups of bytes, each byte from one of several moves
)

// lanes says which widths a kernel's words may have.
type lanes int

const (
	anyLanes  lanes = iota // all widths; one kernel computes them in 64-bit lanes
	wordLanes              // all widths, with a kernel for each
	wideLanes              // 32 and 64 bits, with a kernel for each
)

type signedness int

const (
	eitherSign signedness = iota
	unsigned
	signed
)

// An operand is a slice.
type operand struct {
	name  string
	count bool // elements are uint32s, and only their low 8 bits are used; otherwise elements are words
}

func words(names ...string) []operand {
	var list []operand
	for _, name := range names {
		list = append(list, operand{name: name})
	}
	return list
}

// fieldOperands returns words and the operands that give each lane its field.
func fieldOperands(words []operand) []operand {
	return append(words, operand{"pos", true}, operand{"width", true})
}

// An argument is a value that is the same for all lanes.
type argument struct {
	name string
	typ  string // in Go; the assembly gets a T in each lane of 64 bits
}

var (
	insertArguments  = []argument{{"pos", "uint32"}, {"mask", "T"}}
	fillArguments    = []argument{{"value", "T"}, {"mask", "T"}}
	extractArguments = []argument{{"pos", "uint32"}, {"mask", "T"}, {"sign", "T"}}

	// dense_amd64.go explains these arguments.
	gatherArguments  = numbers("n", "exact", "w", "bytes", "stride", "fields", "last", "step", "pos", "reversed")
	scatterArguments = numbers("n", "exact", "w", "bytes", "stride", "fields", "last", "step", "pos", "lastPos",
		"signs", "above", "reversed")
)

// numbers returns arguments of 64 bits.
func numbers(names ...string) []argument {
	var list []argument
	for _, name := range names {
		list = append(list, argument{name, "uint64"})
	}
	return list
}

// An instruction names the operation of PTX or the AMD ISA that a kernel must compute.
type instruction string

const (
	bfi      instruction = "bfi"    // PTX bfi: src into base
	bfiValue instruction = "fill"   // PTX bfi: value, already in the field's place, into base
	vBfi     instruction = "v_bfi"  // AMD v_bfi: the bits of src where mask is 1, and of base elsewhere
	bfe      instruction = "bfe"    // PTX bfe of src, signed if sign is not 0
	bfeU     instruction = "bfe.u"  // PTX bfe of src, unsigned
	bfeS     instruction = "bfe.s"  // PTX bfe of src, signed
	bfiAll   instruction = "pack"   // PTX bfi, of one column after another
	bfeAll   instruction = "unpack" // PTX bfe, to one column after another

	gather  instruction = "gather"  // PTX bfi, of one element of a group after another
	scatter instruction = "scatter" // PTX bfe, to one element of a group after another
)

var kernels = []kernel{
	{name: "insert", lanes: anyLanes, operands: words("src", "base"), arguments: insertArguments,
		formula: insertFormula, equals: bfi},
	{name: "insertEach", lanes: wordLanes, operands: fieldOperands(words("src", "base")), formula: insertEachFormula,
		equals: bfi},
	{name: "fill", lanes: anyLanes, operands: words("base"), arguments: fillArguments, formula: fillFormula,
		equals: bfiValue},
	{name: "selectBits", lanes: anyLanes, operands: words("mask", "src", "base"), formula: selectFormula, equals: vBfi},
	{name: "extractEach", signed: unsigned, lanes: wordLanes, operands: fieldOperands(words("src")),
		formula: extractEachFormula(false), equals: bfeU},
	{name: "extractEach", signed: signed, lanes: wordLanes, operands: fieldOperands(words("src")),
		formula: extractEachFormula(true), equals: bfeS},
	{name: "extract", lanes: wordLanes, operands: words("src"), arguments: extractArguments, formula: extractFormula,
		equals: bfe},

	{name: "insertMasked", shape: maskedShape, lanes: wordLanes, operands: words("src", "base"),
		arguments: insertArguments, formula: insertFormula, equals: bfi},
	{name: "insertEachMasked", shape: maskedShape, lanes: wordLanes, operands: fieldOperands(words("src", "base")),
		formula: insertEachFormula, equals: bfi},
	{name: "fillMasked", shape: maskedShape, lanes: wordLanes, operands: words("base"), arguments: fillArguments,
		formula: fillFormula, equals: bfiValue},
	{name: "selectMasked", shape: maskedShape, lanes: wordLanes, operands: words("mask", "src", "base"),
		formula: selectFormula, equals: vBfi},
	{name: "extractMasked", shape: maskedShape, lanes: wordLanes, operands: words("src"), arguments: extractArguments,
		formula: extractFormula, equals: bfe},
	{name: "extractEachMasked", signed: unsigned, shape: maskedShape, lanes: wordLanes,
		operands: fieldOperands(words("src")), formula: extractEachFormula(false), equals: bfeU},
	{name: "extractEachMasked", signed: signed, shape: maskedShape, lanes: wordLanes,
		operands: fieldOperands(words("src")), formula: extractEachFormula(true), equals: bfeS},

	{name: "insertWarp", shape: warpShape, lanes: wideLanes, operands: fieldOperands(words("src", "base")),
		formula: insertEachFormula, equals: bfi},
	{name: "selectWarp", shape: warpShape, lanes: wideLanes, operands: words("mask", "src", "base"),
		formula: selectFormula, equals: vBfi},
	{name: "extractWarp", signed: unsigned, shape: warpShape, lanes: wideLanes, operands: fieldOperands(words("src")),
		formula: extractEachFormula(false), equals: bfeU},
	{name: "extractWarp", signed: signed, shape: warpShape, lanes: wideLanes, operands: fieldOperands(words("src")),
		formula: extractEachFormula(true), equals: bfeS},

	{name: "pack", shape: packShape, lanes: wordLanes, formula: packFormula, equals: bfiAll},
	{name: "unpack", shape: unpackShape, lanes: wordLanes, operands: words("src"), formula: unpackFormula, equals: bfeAll},

	{name: "gatherBits", shape: denseShape, equals: gather, isas: []isa{bmi2}, operands: words("src"),
		arguments: gatherArguments},
	{name: "scatterBits", shape: denseShape, equals: scatter, isas: []isa{bmi2}, operands: words("src"),
		arguments: scatterArguments},
	{name: "gatherOnes", shape: denseShape, equals: gather, isas: []isa{avx512, avx2, neon}, operands: words("src"),
		arguments: numbers("n", "bit", "reversed")},
	{name: "scatterOnes", shape: denseShape, equals: scatter, isas: []isa{avx512, avx2, neon}, operands: words("src"),
		arguments: numbers("n", "ones", "reversed")},

	{name: "gatherBytes", shape: denseShape, equals: gather, isas: []isa{avx512}, vbmi: true,
		operands: words("src", "table"), arguments: numbers("n", "steps", "words", "w", "bytes", "merges")},
	{name: "scatterBytes", shape: denseShape, equals: scatter, isas: []isa{avx512}, vbmi: true,
		operands: words("src", "table"), arguments: numbers("n", "steps", "words", "w", "bytes")},

	{name: "permute", shape: permuteShape, isas: []isa{avx512, avx2, neon}, vbmi: true},
}

type isa string

const (
	avx2   isa = "AVX2"
	avx512 isa = "AVX512"
	bmi2   isa = "BMI2" // general registers, at the levels of AVX
	neon   isa = "NEON"
)

// A target describes one assembly function: its instruction set, and the bits of a lane
// in the operands and in registers.
type target struct {
	isa     isa
	word    int // bits of a word in the sources
	element int // bits of a lane of dst
	lane    int // bits of a lane in registers
}

// targets returns the kernel's targets of an instruction set.
func (k kernel) targets(isa isa) []target {
	var list []target
	add := func(word, element, lane int) { list = append(list, target{isa, word, element, lane}) }
	if k.isas != nil && !slices.Contains(k.isas, isa) || k.isas == nil && (isa == bmi2 || isa == vbmi) {
		return nil
	}
	for _, word := range []int{8, 16, 32, 64} {
		switch k.lanes {
		case anyLanes:
			if word == 64 {
				add(64, 64, 64)
			}
		case wordLanes:
			// Lanes with counts have at least the 32 bits of a count.
			add(word, word, max(word, k.leastLane()))
		case wideLanes:
			if word >= 32 {
				add(word, word, word)
			}
		}
	}
	return list
}

// leastLane returns the fewest bits that the kernel's lanes can have in registers.
func (k kernel) leastLane() int {
	if slices.ContainsFunc(k.operands, func(o operand) bool { return o.count }) {
		return 32
	}
	return 8
}

// selects reports whether the instruction set selects bits in one instruction.
func (t target) selects() bool { return t.isa != avx2 }

// symbol returns the name of the assembly function.
func (k kernel) symbol(t target) string {
	name := k.name + []string{"", "Unsigned", "Signed"}[k.signed]
	if k.lanes != anyLanes {
		name += fmt.Sprint(t.word)
	}
	return name + string(t.isa)
}

type param struct{ name, typ string }

// params returns the assembly function's parameters:
//
//	the slices    as pointers
//	n             the number of lanes, or of bytes if one kernel does all widths
//	the arguments
//	size          on amd64, the size of a word: kernels align dst by whole words
//	stream        on amd64, whether the kernel streams; if it unpacks to narrower
//	              elements, whether the words are in no cache
func (k kernel) params(t target) []param {
	var list []param
	add := func(typ string, names ...string) {
		for _, name := range names {
			list = append(list, param{name, typ})
		}
	}
	if k.shape != unpackShape {
		add("unsafe.Pointer", "dst")
	}
	for _, o := range k.operands {
		add("unsafe.Pointer", o.name)
	}
	switch {
	case k.shape == permuteShape && t.isa == neon:
		// The kernel does n steps. Each step makes the given number of vectors from k sources. Then dst moves on by step
		// bytes.
		add("unsafe.Pointer", "sources", "indices")
		add("int", "k", "vectors", "step", "n")
		return list
	}
	switch k.shape {
	case warpShape:
		add("uint32", "active")
		return list
	case packShape:
		// The kernel does lanes lo to hi-1, of words of size bytes.
		add("unsafe.Pointer", "base", "fields")
		add("int", "k", "lo", "hi", "size")
		add("uint64", "keep", "value")
	case unpackShape:
		// The kernel does lanes lo to hi-1.
		add("unsafe.Pointer", "fields")
		add("int", "k", "lo", "hi")
	case permuteShape:
		// The kernel makes n groups of d bytes, from group lo on. A step has 1<<shift groups.
		add("unsafe.Pointer", "moves")
		add("int", "k", "lo", "n", "d")
		if t.isa == avx2 {
			add("uint64", "low", "high")
			break
		}
		add("int", "groups", "shift")
		add("uint64", "low", "high", "gaps")
		add("bool", "apart") // no move is in place
	case maskedShape:
		add("unsafe.Pointer", "active")
		add("int", "n")
	case sliceShape:
		add("int", "n")
	}
	for _, a := range k.arguments {
		add("uint64", a.name)
	}
	if t.isa != neon && k.shape == sliceShape && k.lanes == anyLanes {
		add("int", "size")
	}
	if k.streams(t.isa) {
		add("bool", "stream")
	}
	return list
}

// streams reports whether the kernel can stream. AVX2's pack kernels cannot: they store
// half a cache line at a time, and were slower with it.
func (k kernel) streams(isa isa) bool {
	return isa != neon && (k.shape == sliceShape || k.shape == unpackShape) ||
		isa == avx512 && (k.shape == packShape || k.shape == permuteShape)
}

// columns reports whether the kernel is for several columns, each with a field.
func (k kernel) columns() bool { return k.shape == packShape || k.shape == unpackShape }

// The layout of a Field in Go: offsets of its words and bytes.
const (
	fieldData   = 0
	fieldMask   = 16
	fieldShift  = 24 // a signed byte
	fieldKind   = 27 // a byte: the binary logarithm of the elements' size, and maybe signKind
	fieldSigned = 28 // a byte: 1 or 0
	fieldSize   = 32
	signKind    = 4
)

// The layout of a move in Go.
const (
	moveData   = 0
	moveStride = 8
	moveFrom   = 16
	moveSize   = 32
)

// The layout of a source in Go.
const (
	sourceData    = 0
	sourceAdvance = 8
	sourceSize    = 16
)

// The layout of a byteTable in Go.
const (
	tableFirst  = 0
	tableSecond = 64
	tableMasks  = 128
	tableDown   = 144
	tableLow    = 168
)
