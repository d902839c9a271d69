package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	integers = "u16 s16 u32 s32 u64 s64"
	untyped  = "b16 b32 b64"
	anyType  = untyped + " " + integers
	halves   = "u16 s16 u32 s32"
	found    = "u32 s32 u64 s64"
)

// forms are the instructions of the second corpus. T stands for each of the types, and
// 2T for the type that is twice as wide. The first operand is the destination. A number
// is an immediate operand.
var forms = []struct{ name, types, operands string }{
	{"mov.T", anyType + " pred", "T T"},
	{"add.T", integers, "T T T"},
	{"sub.T", integers, "T T T"},
	{"mul.lo.T", integers, "T T T"},
	{"mul.hi.T", integers, "T T T"},
	{"mul.wide.T", halves, "2T T T"},
	{"mad.lo.T", integers, "T T T T"},
	{"mad.hi.T", integers, "T T T T"},
	{"mad.wide.T", halves, "2T T T 2T"},
	{"min.T", integers, "T T T"},
	{"max.T", integers, "T T T"},
	{"abs.T", "s16 s32 s64", "T T"},
	{"neg.T", "s16 s32 s64", "T T"},
	{"and.T", untyped + " pred", "T T T"},
	{"or.T", untyped + " pred", "T T T"},
	{"xor.T", untyped + " pred", "T T T"},
	{"not.T", untyped + " pred", "T T"},
	{"cnot.T", untyped, "T T"},
	{"shl.T", untyped, "T T u32"},
	{"shr.T", anyType, "T T u32"},
	{"shf.l.clamp.T", "b32", "T T T u32"},
	{"shf.l.wrap.T", "b32", "T T T u32"},
	{"shf.r.clamp.T", "b32", "T T T u32"},
	{"shf.r.wrap.T", "b32", "T T T u32"},
	{"lop3.T", "b32", "T T T T 0xca"},
	{"brev.T", "b32 b64", "T T"},
	{"clz.T", "b32 b64", "u32 T"},
	{"popc.T", "b32 b64", "u32 T"},
	{"bfind.T", found, "u32 T"},
	{"bfind.shiftamt.T", found, "u32 T"},
	{"bmsk.clamp.T", "b32", "T T T"},
	{"bmsk.wrap.T", "b32", "T T T"},
	{"szext.clamp.T", "u32 s32", "T T u32"},
	{"szext.wrap.T", "u32 s32", "T T u32"},
	{"fns.T", "b32", "u32 T u32 s32"},
	{"prmt.T", "b32", "T T T T"},
	{"prmt.T.f4e", "b32", "T T T T"},
	{"prmt.T.b4e", "b32", "T T T T"},
	{"prmt.T.rc8", "b32", "T T T T"},
	{"prmt.T.ecl", "b32", "T T T T"},
	{"prmt.T.ecr", "b32", "T T T T"},
	{"prmt.T.rc16", "b32", "T T T T"},
	{"selp.T", anyType, "T T T pred"},
	{"slct.T.s32", anyType, "T T T s32"},
	{"setp.eq.T", anyType, "pred T T"},
	{"setp.ne.T", anyType, "pred T T"},
	{"setp.lt.T", integers, "pred T T"},
	{"setp.le.T", integers, "pred T T"},
	{"setp.gt.T", integers, "pred T T"},
	{"setp.ge.T", integers, "pred T T"},
	{"setp.lo.T", "u16 u32 u64", "pred T T"},
	{"setp.ls.T", "u16 u32 u64", "pred T T"},
	{"setp.hi.T", "u16 u32 u64", "pred T T"},
	{"setp.hs.T", "u16 u32 u64", "pred T T"},
	{"setp.lt.and.T", "s32 u64", "pred T T pred"},
	{"setp.eq.or.T", "b32", "pred T T pred"},
	{"setp.ge.xor.T", "s32 u64", "pred T T pred"},
	{"cvt.u8.T", "u8 s8 " + integers, "u8 T"},
	{"cvt.s8.T", "u8 s8 " + integers, "s8 T"},
	{"cvt.u16.T", "u8 s8 " + integers, "u16 T"},
	{"cvt.s16.T", "u8 s8 " + integers, "s16 T"},
	{"cvt.u32.T", "u8 s8 " + integers, "u32 T"},
	{"cvt.s32.T", "u8 s8 " + integers, "s32 T"},
	{"cvt.u64.T", "u8 s8 " + integers, "u64 T"},
	{"cvt.s64.T", "u8 s8 " + integers, "s64 T"},
}

// An entry is an instruction of the second corpus.
type entry struct {
	Name     string   `json:"name"`
	Operands []string `json:"operands"`
	Targets  []string `json:"targets,omitempty"` // the targets that have results; empty if all have
}

// entries returns the forms with each of their types.
func entries() []entry {
	var list []entry
	for _, f := range forms {
		for t := range strings.FieldsSeq(f.types) {
			twice := map[string]string{"16": "32", "32": "64"}[t[1:]]
			operands := strings.NewReplacer("2T", t[:1]+twice, "T", t).Replace(f.operands)
			list = append(list, entry{strings.Replace(f.name, "T", t, 1), strings.Fields(operands), nil})
		}
	}
	return list
}

// caseEdges are the operands of the first cases, each combined with each.
var caseEdges = []uint64{
	0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x123456789abcdef0,
}

// cases returns the operands for every instruction: first combinations of caseEdges, then
// 2,000 random cases. An instruction cuts them to the widths of its operands.
func cases() [][3]uint64 {
	var list [][3]uint64
	n := len(caseEdges)
	for i, x := range caseEdges {
		for k, y := range caseEdges {
			list = append(list, [3]uint64{x, y, caseEdges[(5*i+7*k)%n]})
		}
	}
	r := rand.New(rand.NewPCG(27, 27))
	for range 2000 {
		var c [3]uint64
		for i := range c {
			switch r.IntN(4) {
			case 0:
				c[i] = r.Uint64()
			case 1:
				c[i] = r.Uint64() >> r.IntN(64)
			case 2:
				c[i] = uint64(r.Int64() >> r.IntN(64))
			case 3:
				c[i] = uint64(r.IntN(70)) | r.Uint64()<<32
			}
		}
		list = append(list, c)
	}
	return list
}

// registerType returns the PTX type of the register that has an operand. For an immediate
// it returns an empty string.
func registerType(operand string) string {
	switch {
	case operand[0] == '0':
		return ""
	case operand == "pred":
		return "pred"
	case operand[1:] == "8":
		return "b16"
	}
	return "b" + operand[1:]
}

// fragment returns the instruction with a case's operands.
func (e *entry) fragment(c [3]uint64) fragment {
	var b strings.Builder
	text := e.Name
	for i, operand := range e.Operands {
		t := registerType(operand)
		if t == "" {
			text += ", " + operand
			continue
		}
		fmt.Fprintf(&b, ".reg .%s %%s%d; ", t, i)
		text += fmt.Sprintf("%s %%s%d", strings.Repeat(",", min(i, 1)), i)
		if i == 0 {
			continue
		}
		switch x := c[i-1]; t {
		case "pred":
			fmt.Fprintf(&b, "setp.ne.u32 %%s%d, %d, 0; ", i, x&1)
		case "b16":
			fmt.Fprintf(&b, "mov.b16 %%s%d, %#x; ", i, x&0xffff)
		case "b32":
			fmt.Fprintf(&b, "mov.b32 %%s%d, %#x; ", i, x&0xffffffff)
		case "b64":
			fmt.Fprintf(&b, "mov.b64 %%s%d, %#x; ", i, x)
		}
	}
	b.WriteString(text + "; ")
	switch registerType(e.Operands[0]) {
	case "pred":
		b.WriteString("selp.b32 %r, 1, 0, %s0;")
	case "b16":
		b.WriteString("cvt.u32.u16 %r, %s0;")
	case "b32":
		b.WriteString("mov.b32 %r, %s0;")
	case "b64":
		b.WriteString("mov.b64 %R, %s0;")
	}
	return fragment{b.String(), registerType(e.Operands[0]) == "b64"}
}

// kernel returns a kernel that executes the instruction. The operands are the kernel's
// parameters.
func (e *entry) kernel() string {
	params, loads, text := ".param .u64 out", "ld.param.u64 %o, [out]; ", e.Name
	for i, operand := range e.Operands {
		t := registerType(operand)
		if t == "" {
			text += ", " + operand
			continue
		}
		loads += fmt.Sprintf(".reg .%s %%s%d; ", t, i)
		text += fmt.Sprintf("%s %%s%d", strings.Repeat(",", min(i, 1)), i)
		if i > 0 {
			params += fmt.Sprintf(", .param .%s s%d", t, i)
			loads += fmt.Sprintf("ld.param.%s %%s%d, [s%d]; ", t, i, i)
		}
	}
	return fmt.Sprintf(".visible .entry %s(%s) {\n.reg .b64 %%o; %s\n%s;\nst.global.%s [%%o], %%s0;\nret;\n}\n",
		strings.ReplaceAll(e.Name, ".", "_"), params, loads, text, registerType(e.Operands[0]))
}

// listNotFolded returns a listing of the machine instructions of entries. ptxas does not
// fold these entries.
func (t *tools) listNotFolded(list []entry, target string) (string, error) {
	var names, kernels []string
	for _, e := range list {
		names = append(names, strings.ReplaceAll(e.Name, ".", "_"))
		kernels = append(kernels, e.kernel())
	}
	functions, err := t.assemble(header+strings.Join(kernels, ""), target, "-O3")
	return printSASS(names, functions), err
}

// execute executes the entry's function in a listing, for all cases.
func (e *entry) execute(listing, target string, operands [][3]uint64) ([]uint64, error) {
	functions, err := parseSASS(listing)
	if err != nil {
		return nil, err
	}
	steps, err := compile(functions[strings.ReplaceAll(e.Name, ".", "_")])
	if err != nil {
		return nil, err
	}
	base := parameters(target)
	m := machine{base: base, constants: map[int]uint32{}}
	var results []uint64
	for _, c := range operands {
		at := base + 8
		for i, operand := range e.Operands[1:] {
			switch registerType(operand) {
			case "":
			case "b32":
				m.constants[at] = uint32(c[i])
				at += 4
			default:
				return nil, fmt.Errorf("%s has an operand of type %s, want only 32 bits", e.Name, operand)
			}
		}
		x, err := m.result(steps, 1)
		if err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	return results, nil
}

// executeAll executes the entry for each target whose machine instructions have a known
// meaning. If they have none for some target, it sets the entry's targets. It returns an
// error if two targets give different results.
func (e *entry) executeAll(listings map[string]string, operands [][3]uint64) ([]uint64, error) {
	var all []uint64
	var last error
	for _, target := range targets {
		results, err := e.execute(listings[target], target, operands)
		if err != nil {
			last = fmt.Errorf("%s cannot be executed for %s: %w", e.Name, target, err)
			fmt.Println(last)
			continue
		}
		if all != nil && !slices.Equal(all, results) {
			return nil, fmt.Errorf("%s: %s computes other results than %v", e.Name, target, e.Targets)
		}
		all, e.Targets = results, append(e.Targets, target)
	}
	if last == nil {
		e.Targets = nil
	}
	return all, nil
}

// instructions writes the corpus of the instructions that examples/ptx executes. First it
// assembles all kernels of the example.
func (t *tools) instructions(dir string, sample bool) error {
	if err := t.assembleKernels(filepath.Join("..", "examples", "ptx")); err != nil {
		return err
	}
	operands := cases()
	var values bytes.Buffer
	for _, c := range operands {
		for _, x := range c {
			appendWord(&values, x, true)
		}
	}
	all := entries()
	var fragments []fragment
	for _, e := range all {
		for _, c := range operands {
			fragments = append(fragments, e.fragment(c))
		}
	}
	var sampled func(i int) bool
	if sample {
		sampled = func(i int) bool { return i%7 == 0 }
	}
	constants, err := t.foldAll(fragments, sampled)
	if err != nil {
		return err
	}
	var folded []entry
	var notFolded []entry
	first := 0 // the number of an entry's first fragment
	for _, e := range all {
		results, by := new(bytes.Buffer), uint8(everyTarget)
		for i, r := range constants[:len(operands)] {
			if sample && !sampled(first+i) {
				r.folded |= everyTarget &^ (1 << fullTarget) // the sample decides for these targets
			}
			by &= r.folded
			e.appendResult(results, r.value)
		}
		constants, first = constants[len(operands):], first+len(operands)
		if by == 0 || sample && by>>fullTarget&1 == 0 {
			notFolded = append(notFolded, e)
			continue
		}
		for bit, target := range targets {
			if by != everyTarget && by>>bit&1 != 0 {
				e.Targets = append(e.Targets, target)
			}
		}
		folded = append(folded, e)
		values.Write(results.Bytes())
	}
	executed, unknown, err := t.notFolded(dir, notFolded, operands)
	if err != nil {
		return err
	}
	if err := writeZipped(dir, "folded.gz", values.Bytes()); err != nil {
		return err
	}
	return writeJSON(dir, struct {
		source
		Cases        int      `json:"cases"`
		Instructions []entry  `json:"instructions"`
		Executed     []entry  `json:"executed"` // entries that no target folds in all cases
		Unknown      []string `json:"unknown"`  // likewise, and their machine instructions have no known meaning
	}{t.source(sample), len(operands), folded, executed, unknown})
}

// notFolded writes listings of entries that no target folds. If the machine instructions
// of an entry have a known meaning, it also writes the entry's results. It returns these
// entries, and the names of the others.
func (t *tools) notFolded(dir string, list []entry, operands [][3]uint64) (
	executed []entry, unknown []string, err error) {
	listings := map[string]string{}
	for _, target := range targets {
		if listings[target], err = t.listNotFolded(list, target); err != nil {
			return nil, nil, err
		}
		if err := write(dir, target+"-O3.sass", []byte(listings[target])); err != nil {
			return nil, nil, err
		}
	}
	unknown = []string{}
	var results bytes.Buffer
	for _, e := range list {
		words, err := e.executeAll(listings, operands)
		if err != nil {
			return nil, nil, err
		}
		if words == nil {
			unknown = append(unknown, e.Name)
			continue
		}
		executed = append(executed, e)
		for _, x := range words {
			e.appendResult(&results, x)
		}
	}
	return executed, unknown, writeZipped(dir, "executed.gz", results.Bytes())
}

// appendResult adds a result to b, as a word as wide as the destination. A predicate is a
// byte.
func (e *entry) appendResult(b *bytes.Buffer, x uint64) {
	word := binary.LittleEndian.AppendUint64(nil, x)
	switch registerType(e.Operands[0]) {
	case "pred":
		word = word[:1]
	case "b16":
		word = word[:2]
	case "b32":
		word = word[:4]
	}
	b.Write(word)
}

// assembleKernels assembles every PTX file of the example for each target.
func (t *tools) assembleKernels(dir string) error {
	var files []string
	for _, under := range []string{"kernel", "testdata"} {
		list, err := filepath.Glob(filepath.Join(dir, under, "*.ptx"))
		if err != nil || len(list) == 0 {
			return fmt.Errorf("%d PTX files in %s/%s (%v), want at least one", len(list), dir, under, err)
		}
		files = append(files, list...)
	}
	for _, file := range files {
		for _, target := range targets {
			object := filepath.Join(t.scratch, "kernel.cubin")
			if _, err := output(t.ptxas, "-arch", target, file, "-o", object); err != nil {
				return err
			}
			if err := os.Remove(object); err != nil {
				return err
			}
		}
		fmt.Printf("%s assembles for %s\n", file, strings.Join(targets, ", "))
	}
	return nil
}
