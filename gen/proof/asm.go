package proof

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A function is one TEXT of an assembly file.
type function struct {
	name   string
	file   string
	arch   *arch
	frame  int // bytes of the function's frame
	params []param
	insts  []*inst
	static map[string][]byte // the file's read-only data

	sync.Mutex
	reached []bool // the instructions that a run has executed
	ways    []exit // the ways that the jumps went in any run
}

// An exit is a set of the ways that a jump goes.
type exit uint8

const (
	goesOn exit = 1 << iota
	jumps
)

// reach adds the instructions and ways that a proof has executed.
func (f *function) reach(r *record) {
	f.Lock()
	defer f.Unlock()
	if f.reached == nil {
		f.reached, f.ways = make([]bool, len(f.insts)), make([]exit, len(f.insts))
	}
	for i := range f.insts {
		f.reached[i] = f.reached[i] || r.Reached[i]
		f.ways[i] |= r.Ways[i]
	}
}

// depth returns how many loops a loop is in. Jumps to the same head belong to one loop.
func (f *function) depth(head, end int) int {
	heads := map[int]bool{}
	for i, in := range f.insts {
		for _, o := range in.operands {
			if o.kind == isLabel && in.target < head && end < i {
				heads[in.target] = true
			}
		}
	}
	return len(heads)
}

// unreached returns the first instruction that no run has executed, or nil.
func (f *function) unreached() *inst {
	if i := slices.Index(f.reached, false); i >= 0 {
		return f.insts[i]
	}
	return nil
}

// A param is an argument of a function, as Go declares it.
type param struct {
	name         string
	typ          string
	offset, size int
	pointer      bool
}

// An inst is one instruction.
type inst struct {
	line     int
	text     string
	mnemonic string
	operands []operand // in the text's order
	target   int       // of a branch: an index into the function's instructions
	needs    []string  // features of the processor, as cpuid calls them
	vector   bool      // it computes with vector registers
	even     bool      // its result is a sum of multiples of its operands
	post     int64     // arm64: how far the base of its operand in memory moves on
	run      meaning
}

// An operand is one operand of an instruction. Its kind says which fields have a meaning.
type operand struct {
	kind    kind
	reg     int       // the register's number
	size    int       // vector registers: bytes that count; general registers: bytes, 0 if the mnemonic says it
	lane    int       // arm64: bits of a lane by the arrangement, 0 if there is none
	element int       // arm64: the element of the vector, -1 for all of it
	imm     uint64    // immediates
	base    int       // memory: a register
	index   int       // memory: a register, or -1
	scale   uint64    // memory: the factor of the index
	disp    int64     // memory, arguments, static data: the displacement
	name    string    // labels, arguments, static data
	list    []operand // arm64: registers in parentheses or brackets
	shift   int       // arm64: the count by which a register is shifted to the left
}

// register reports whether two operands are the same register.
func (o operand) register(p operand) bool {
	return o.kind == p.kind && o.reg == p.reg && (o.kind == isGeneral || o.kind == isVector)
}

type kind int

const (
	isImmediate kind = iota
	isGeneral
	isVector
	isMask
	isMemory
	isArgument
	isStatic
	isLabel
	isList
	isCondition
)

var (
	declaration = regexp.MustCompile(`(?m)^func (\w+)\(([^()]*)\)$`) // in Go, without a body
	textStart   = regexp.MustCompile(`^TEXT ·(\w+)\(SB\), (?:NOSPLIT, \$0|\$(\d+))-(\d+)$`)
	dataLine    = regexp.MustCompile(`^DATA (\w+)<>\+(\d+)\(SB\)/(\d), \$(0x[0-9a-f]+|\d+)$`)
	labelLine   = regexp.MustCompile(`^(\w+):$`)
	// Lines that compute nothing.
	otherLine = regexp.MustCompile(`^(#include .*|GLOBL .*|PCALIGN .*|)$`)
	spaces    = regexp.MustCompile(`[ \t]+`)
)

// declarations returns the parameters of the functions that a Go file declares without a
// body.
func declarations(text string) map[string]string {
	list := map[string]string{}
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		list[m[1]] = strings.Join(strings.Fields(m[2]), " ")
	}
	return list
}

// parse returns the functions of an assembly file. declared has their parameters in Go.
func parse(file, text string, a *arch, declared map[string]string) (map[string]*function, error) {
	functions := map[string]*function{}
	static := map[string][]byte{}
	var f *function
	labels := map[string]int{}
	finish := func() error {
		if f == nil {
			return nil
		}
		for _, in := range f.insts {
			for _, o := range in.operands {
				if o.kind != isLabel {
					continue
				}
				target, ok := labels[o.name]
				if !ok {
					return fmt.Errorf("%s:%d: no label %s", file, in.line, o.name)
				}
				in.target = target
			}
		}
		functions[f.name] = f
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) (map[string]*function, error) {
			return nil, fmt.Errorf("%s:%d: %s", file, i+1, fmt.Sprintf(format, args...))
		}
		line = spaces.ReplaceAllString(strings.TrimSpace(line), " ")
		line, _, _ = strings.Cut(line, "//")
		for _, s := range strings.Split(line, ";") {
			s = strings.TrimSpace(s)
			if m := textStart.FindStringSubmatch(s); m != nil {
				if err := finish(); err != nil {
					return nil, err
				}
				f = &function{name: m[1], file: file, arch: a, static: static}
				clear(labels)
				params, ok := declared[f.name]
				if !ok {
					return fail("no Go file declares %s", f.name)
				}
				var size int
				var err error
				if f.params, size, err = parseParams(params); err != nil {
					return fail("%v", err)
				}
				f.frame, _ = strconv.Atoi(m[2])
				if strconv.Itoa(size) != m[3] {
					return fail("TEXT %s has %s bytes of arguments, want %d by its declaration in Go", f.name, m[3], size)
				}
				continue
			}
			if m := dataLine.FindStringSubmatch(s); m != nil {
				offset, _ := strconv.Atoi(m[2])
				size, _ := strconv.Atoi(m[3])
				v, err := strconv.ParseUint(m[4], 0, 64)
				if err != nil || offset != len(static[m[1]]) {
					return fail("DATA %s, want the bytes in order", s)
				}
				for range size {
					static[m[1]] = append(static[m[1]], byte(v))
					v >>= 8
				}
				continue
			}
			if otherLine.MatchString(s) {
				continue
			}
			if f == nil {
				return fail("%q before the first TEXT", s)
			}
			if m := labelLine.FindStringSubmatch(s); m != nil {
				labels[m[1]] = len(f.insts)
				continue
			}
			in := &inst{line: i + 1, text: s}
			var rest string
			in.mnemonic, rest, _ = strings.Cut(s, " ")
			for _, o := range splitOperands(rest) {
				parsed, err := a.operand(o)
				if err != nil {
					return fail("%s: %v", s, err)
				}
				in.operands = append(in.operands, parsed)
			}
			if err := a.decode(in); err != nil {
				return fail("%v", err)
			}
			in.vector, in.even = in.visible(), in.sums()
			f.insts = append(f.insts, in)
		}
	}
	return functions, finish()
}

// splitOperands splits at commas that are not in parentheses or brackets.
func splitOperands(s string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range s {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if s = strings.TrimSpace(s[start:]); s != "" {
		list = append(list, s)
	}
	return list
}

// parseParams lays arguments out as Go does, and returns how many bytes they take.
func parseParams(s string) (list []param, size int, err error) {
	sizes := map[string]int{
		"unsafe.Pointer": 8, "int": 8, "int64": 8, "uint64": 8, "uint32": 4, "uint16": 2, "uint8": 1, "bool": 1,
	}
	typ := ""
	fields := strings.Split(s, ", ")
	types := make([]string, len(fields))
	for i := len(fields) - 1; i >= 0; i-- {
		if name, t, ok := strings.Cut(fields[i], " "); ok {
			fields[i], typ = name, t
		}
		types[i] = typ
	}
	for i, name := range fields {
		n := sizes[types[i]]
		if n == 0 {
			return nil, 0, fmt.Errorf("argument %s has type %q, want one that the proof knows", name, types[i])
		}
		size = (size + n - 1) / n * n
		list = append(list, param{name, types[i], size, n, types[i] == "unsafe.Pointer"})
		size += n
	}
	return list, size, nil
}

var (
	argumentOperand = regexp.MustCompile(`^(\w+)\+(\d+)\(FP\)$`)
	staticOperand   = regexp.MustCompile(`^(\w+)<>\+(\d+)\(SB\)$`)
	labelOperand    = regexp.MustCompile(`^[a-z]\w*$`)
)

// parseCommon parses operands that both architectures write alike.
func parseCommon(s string) (operand, bool, error) {
	if v, ok := strings.CutPrefix(s, "$"); ok {
		if n, err := strconv.ParseInt(v, 0, 64); err == nil {
			return operand{kind: isImmediate, imm: uint64(n)}, true, nil
		}
		n, err := strconv.ParseUint(v, 0, 64)
		return operand{kind: isImmediate, imm: n}, true, err
	}
	for pattern, kind := range map[*regexp.Regexp]kind{argumentOperand: isArgument, staticOperand: isStatic} {
		if m := pattern.FindStringSubmatch(s); m != nil {
			n, err := strconv.ParseInt(m[2], 10, 64)
			return operand{kind: kind, name: m[1], disp: n}, true, err
		}
	}
	if labelOperand.MatchString(s) {
		return operand{kind: isLabel, name: s}, true, nil
	}
	return operand{}, false, nil
}
