package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/gobfi/bfi/gen/proof"
)

// prove proves the kernels below root whose symbols match. If all is set, it includes
// kernels that were proved before.
func prove(w io.Writer, root string, symbols *regexp.Regexp, all bool) error {
	files, err := assembly(root)
	if err != nil {
		return err
	}
	list, err := specifications()
	if err != nil {
		return err
	}
	debug.SetGCPercent(400)       // the proof makes many small things that last
	debug.SetMemoryLimit(3 << 30) // collect more often if there are very many
	directory, err := os.UserCacheDir()
	if directory = filepath.Join(directory, "bfi-proof"); all || err != nil {
		directory = "" // nothing is remembered
	}
	return proof.Prove(w, files, list, symbols.MatchString, directory)
}

// assembly returns the assembly files in a directory and the Go files that declare it.
func assembly(root string) ([]proof.File, error) {
	var files []proof.File
	for _, name := range []string{"bfi_amd64.s", "bfi_arm64.s", "dispatch_amd64.go", "dispatch_arm64.go"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, proof.File{Name: name, Text: string(text)})
	}
	return files, nil
}

// specifications returns the table's specification of every function of the assembly.
func specifications() ([]proof.Kernel, error) {
	asked, err := features()
	if err != nil {
		return nil, err
	}
	constants, err := libraryConstants()
	if err != nil {
		return nil, err
	}
	var list []proof.Kernel
	for _, k := range kernels {
		for _, isa := range []isa{bmi2, avx2, avx512, neon} {
			for _, t := range k.targets(isa) {
				for _, spec := range k.specs(t) {
					p, err := k.specification(t, spec)
					if err != nil {
						return nil, err
					}
					p.Features = k.features(isa, asked)
					p.Most = k.most(spec, constants)
					p.ConstantKind = constants["constantKind"]
					list = append(list, p)
				}
			}
		}
	}
	return list, nil
}

// specs returns one function's specifications, one for each width that words may have.
func (k kernel) specs(t target) []proof.Spec {
	instruction := map[instruction]string{
		bfi: proof.BFI, bfiValue: proof.BFI, vBfi: proof.VBFI,
		bfe: proof.TakeField, bfeU: proof.BFEUnsigned, bfeS: proof.BFESigned,
		bfeAll: proof.PutField, gather: proof.Gather, scatter: proof.Scatter,
	}[k.equals]
	var list []proof.Spec
	if k.shape == denseShape {
		return []proof.Spec{{Instruction: instruction, Word: 8, Bits: 8, Lane: 8}}
	}
	for bits := 8; bits <= 64; bits *= 2 {
		switch {
		case k.shape == permuteShape:
			if bits == 8 {
				list = append(list, proof.Spec{Word: bits, Bits: bits, Lane: bits})
			}
		case k.lanes == anyLanes:
			list = append(list, proof.Spec{Instruction: instruction, Word: bits, Bits: bits, Lane: bits})
		case k.shape == packShape && bits <= t.lane:
			list = append(list, proof.Spec{Word: bits, Bits: bits, Lane: t.lane})
		case k.shape == unpackShape:
			list = append(list, proof.Spec{Instruction: instruction, Word: t.word, Bits: bits, Lane: max(t.word, bits)})
		case k.shape != packShape && bits == t.element:
			list = append(list, proof.Spec{Instruction: instruction, Word: t.word, Bits: bits, Lane: max(t.word, bits)})
		}
	}
	return list
}

// roles has the parts that arguments passed by value play in the specification.
var roles = map[string]proof.Role{
	"pos": proof.Pos, "mask": proof.FieldMask, "value": proof.FieldValue, "sign": proof.Sign,
	"n": proof.Count, "k": proof.Count, "lo": proof.Low, "hi": proof.High, "size": proof.Size, "keep": proof.Keep,
	"active": proof.Active, "stream": proof.Stream,
}

// pointerRoles has the parts that pointers play in the specification.
var pointerRoles = map[string]proof.Role{
	"dst": proof.Destination, "src": proof.Source, "base": proof.Base, "mask": proof.Mask,
	"pos": proof.Pos, "width": proof.Width, "active": proof.Active, "fields": proof.Columns,
}

// vbmi stands for the features that the variable vbmi in cpu_amd64.go requires.
const vbmi isa = "vbmi"

// features returns the features that a kernel of an instruction set may use.
func (k kernel) features(of isa, asked map[isa][]string) []string {
	if k.vbmi && of == avx512 {
		return slices.Concat(asked[of], asked[vbmi])
	}
	return asked[of]
}

// features returns the names of the features, in cpuid's terms, that cpu_amd64.go
// requires before a level's kernels run. It is indexed by the level's instruction set.
func features() (map[isa][]string, error) {
	text, err := os.ReadFile("../cpu_amd64.go")
	if err != nil {
		return nil, err
	}
	asked := map[isa][]string{}
	var list []string
	if m := regexp.MustCompile(`var vbmi = cpuid\.CPU\.Supports\(cpuid\.(\w+)\)`).FindSubmatch(text); m != nil {
		asked[vbmi] = []string{string(m[1])}
	}
	pattern := regexp.MustCompile(`cpuid\.([A-Z0-9]+)\b|append\(levels, level(\w+)\)`)
	for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[2] != "":
			asked[isa(m[2])] = slices.Clone(list)
		case m[1] != "CPU":
			list = append(list, m[1])
		}
	}
	asked[bmi2] = asked[avx2] // these kernels run at both levels
	return asked, nil
}

// libraryConstants returns the library's constants that are decimal numbers, perhaps
// shifted to the left. With them, the proof is about the calls that Go makes.
func libraryConstants() (map[string]int, error) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		return nil, err
	}
	constants := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range libraryConstant.FindAllSubmatch(text, -1) {
			n, err := strconv.Atoi(string(m[2]))
			if err != nil {
				return nil, err
			}
			shift, _ := strconv.Atoi(string(m[3])) // 0 if there is none
			constants[string(m[1])] = n << shift
		}
	}
	for _, name := range []string{"pieceBytes", "unpackBytes", "constantKind"} {
		if _, ok := constants[name]; !ok {
			return nil, fmt.Errorf("the library has no constant %s", name)
		}
	}
	return constants, nil
}

var libraryConstant = regexp.MustCompile(`(?m)^(?:const |\t)(\w+) += (\d+)(?: << (\d+))?(?: +//.*)?$`)

// most returns the most lanes that Go calls a kernel with.
func (k kernel) most(spec proof.Spec, constants map[string]int) int {
	piece := constants["pieceBytes"] // the most that one run processes
	switch {
	case k.shape == packShape:
		return 2*piece*8/spec.Lane - 1 // without columns; the rest of a slice is less than two pieces
	case k.shape == unpackShape && spec.Bits != spec.Word:
		return constants["unpackBytes"] * 8 / spec.Word
	}
	return piece * 8 / spec.Bits
}

func (k kernel) specification(t target, spec proof.Spec) (proof.Kernel, error) {
	if k.shape == denseShape {
		return proof.Kernel{Symbol: k.symbol(t), Shape: proof.Dense, Spec: spec}, nil
	}
	p := proof.Kernel{Symbol: k.symbol(t), Spec: spec, Overlap: k.shape == warpShape,
		Guarded: k.shape == maskedShape && t.isa == avx512}
	p.Shape = map[shape]proof.Shape{
		sliceShape: proof.Slice, maskedShape: proof.Masked, warpShape: proof.Warp, packShape: proof.Pack,
		unpackShape: proof.Unpack, denseShape: proof.Dense, permuteShape: proof.Permute,
	}[k.shape]
	if k.shape == permuteShape && t.isa == neon {
		p.Shape = proof.Steps
		p.Source = proof.SourceLayout{Data: sourceData, Advance: sourceAdvance, Size: sourceSize}
		return p, nil
	}
	if k.shape == permuteShape {
		p.Move = proof.MoveLayout{Data: moveData, Stride: moveStride, From: moveFrom, Size: moveSize}
		if k.streams(t.isa) {
			p.Operands = []proof.Operand{{Name: "stream", Role: proof.Stream}}
		}
		return p, nil
	}
	if k.shape == packShape && t.isa == avx2 {
		p.Least, p.Forks = 256/t.lane, true // the portable kernel packs fewer lanes
	}
	for _, param := range k.params(t) {
		o := proof.Operand{Name: param.name}
		var ok bool
		if param.typ == "unsafe.Pointer" {
			o.Role, ok = pointerRoles[param.name]
		} else {
			o.Role, ok = roles[param.name]
		}
		switch {
		case !ok:
			return p, fmt.Errorf("%s: no role of argument %s for the proof", p.Symbol, param.name)
		case o.Role == proof.Columns:
			o.Size = fieldSize
			o.Fields = []proof.Field{
				{Offset: fieldData, Role: proof.Source}, {Offset: fieldMask, Role: proof.MoveMask},
				{Offset: fieldShift, Role: proof.Shift},
				{Offset: fieldKind, Role: proof.Kind}, {Offset: fieldSigned, Role: proof.Signed},
			}
		case o.Role == proof.Pos || o.Role == proof.Width:
			o.Bits = 32
		case o.Role == proof.Destination || o.Role == proof.Base:
			o.Bits = spec.Bits
		case o.Role == proof.Active:
			o.Bits, o.Size = 1, 64/spec.Bits
			if t.isa == neon {
				o.Size = 8
			}
		case o.Role == proof.Count && k.lanes == anyLanes:
			o.Role = proof.Bytes
		case o.Role == proof.FieldMask && spec.Instruction == proof.TakeField:
			o.Role = proof.MoveMask
		case o.Role == proof.FieldValue && k.shape == packShape:
			o.Role = proof.Constant
		default:
			o.Bits = spec.Word
		}
		p.Operands = append(p.Operands, o)
	}
	return p, nil
}
