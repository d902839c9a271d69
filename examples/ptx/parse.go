package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/gobfi/bfi"
)

// What a kernel may declare.
const (
	maxCount   = 1 << 16 // registers, and bytes of the variables of a space
	maxNesting = 100     // of blocks
)

// A scope holds the names declared between one pair of braces: registers, parameters
// in brackets, variables as their address, and labels with their colons.
type scope struct {
	outer     *scope
	depth     int
	registers map[string]register
	labels    map[string]int
}

// A place is a statement of the file.
type place struct {
	file string
	line int
	text string
}

// A sourceError is a mistake at a place, or what the statement there does.
type sourceError struct{ error }

// check panics with a mistake, which rescue catches, unless ok.
func (at place) check(ok bool, format string, args ...any) {
	if !ok {
		panic(sourceError{fmt.Errorf("%s:%d: %.120s: %s", at.file, at.line, at.text, fmt.Sprintf(format, args...))})
	}
}

func rescue(err *error) {
	if e := recover(); e != nil {
		*err = e.(sourceError)
	}
}

type parser struct {
	*program
	place             // of the statement
	tight    string   // it without spaces around punctuation marks
	rest     string   // of the source after it, without comments
	restLine int      // where that begins
	scope    *scope   // the innermost
	declared int      // registers so far
	operands []string // of the instruction that is being decoded
	in       instruction
}

// parse decodes the kernel entry in source, or its only one.
func parse(file, source, entry string) (_ *program, err error) {
	defer rescue(&err)
	p := &parser{program: newProgram(), place: place{file: file}, restLine: 1}
	p.scope = &scope{registers: p.special}
	p.rest = commentPattern.ReplaceAllStringFunc(source, func(s string) string {
		return choose(s[0] == '"', s, " "+strings.Repeat("\n", strings.Count(s, "\n")))
	})
	p.module(entry)
	p.at = make([]uint32, len(p.code)+1)
	return p.program, nil
}

// What the file is read by. Spaces around punctuation marks are gone when the
// patterns of statements are applied.
var (
	commentPattern     = regexp.MustCompile(`//.*|/\*(?s:.*?)\*/|"[^"\n]*"`)
	statementPattern   = regexp.MustCompile(`^(?:([a-zA-Z_$%][\w$%]*)\s*(:)|([@a-z][^;]*|\.(?:version|target|address_size|file|loc)\b.*|[^;{}]*)((?s:.?)))`)
	spacePattern       = regexp.MustCompile(` ?([][{}()<>,+\-|!@]) ?`)
	headPattern        = regexp.MustCompile(`^(?:\.(?:visible|weak) )?\.entry ([\w$%]+) ?(?:\((.*)\))? ?(?:\.(?:maxntid|reqntid|minnctapersm) [\d,]+ ?)*$`)
	paramPattern       = regexp.MustCompile(`^\.param \.(\w+) (?:\.ptr (?:\.global )?(?:\.align \d+ )?)?([a-zA-Z_$%][\w$%]*)$`)
	registerPattern    = regexp.MustCompile(`^([a-zA-Z_$%][\w$%]*)(?:<(\d+)>)?$`)
	variablePattern    = regexp.MustCompile(`^\.(shared|local) (?:\.align (\d+) )?\.(\w+) ([a-zA-Z_$%][\w$%]*)(?:\[(\d+)\])?$`)
	instructionPattern = regexp.MustCompile(`^(?:@(!?)([\w$%]+) )?([a-z][\w.:]*) ?(.*)$`)
	operandPattern     = regexp.MustCompile(`(?:\{[^}]*\}?|[^,{])*`)
	addressPattern     = regexp.MustCompile(`^\[([\w$%.]+)(?:\+?([+-]?\w+))?\]$`)
)

// directives are those of the file as a whole, with what they must look like.
var directives = map[string]struct {
	pattern *regexp.Regexp
	want    string
}{
	".version\n":      {regexp.MustCompile(`^\.version [2-9]\.\d$`), "one from 2.0 on, which bfi came with"},
	".target\n":       {regexp.MustCompile(`^\.target sm_(?:[2-9]\d|\d{3})[af]?(?:,debug)?$`), "one from sm_20 on, which bfi came with"},
	".address_size\n": {regexp.MustCompile(`^\.address_size 64$`), "64"},
}

// skip moves on in the file, and past white space.
func (p *parser) skip(n int) {
	n = len(p.rest) - len(strings.TrimLeft(p.rest[n:], " \t\r\n"))
	p.restLine += strings.Count(p.rest[:n], "\n")
	p.rest = p.rest[n:]
}

// next reads a label, or a statement up to a semicolon or a brace, the end of the
// line, or, which is empty, of the file.
func (p *parser) next() (end string) {
	p.skip(0)
	p.line = p.restLine
	m := statementPattern.FindStringSubmatch(p.rest)
	p.skip(len(m[0]))
	p.text = strings.Join(strings.Fields(m[1]+m[2]+m[3]), " ")
	p.tight = spacePattern.ReplaceAllString(p.text, "$1")
	p.check(m[4] != "\n" || !strings.Contains(p.text, ";"), "want a line of its own")
	return m[2] + m[4]
}

// module parses the file, of whose kernels one is wanted, or there is one.
func (p *parser) module(wanted string) {
	var names []string
	read := map[string]bool{}
	for end := p.next(); end != "" || p.text != ""; end = p.next() {
		directive, _, _ := strings.Cut(p.text, " ")
		head, inside := headPattern.FindStringSubmatch(p.tight), p.scope.depth > 0
		switch word := directive + end; {
		case word == ".pragma;", word == ".file\n", word == ".loc\n" && inside: // nothing to a kernel's results
		case word == ".shared;", word == ".local;" && inside:
			p.variable()
		case word == ".reg;" && inside:
			p.registers()
		case word == "{" && inside:
			p.open()
		case word == "}" && inside:
			if p.scope = p.scope.outer; p.scope.depth == 0 {
				p.link()
			}
		case end == ":" && inside:
			_, ok := p.scope.labels[p.text]
			p.check(!ok, "the label is declared twice")
			p.scope.labels[p.text] = len(p.code)
		case inside:
			p.check(end == ";" && !strings.HasPrefix(p.text, "."), "not supported, want .reg .local .shared .loc .pragma, an instruction, or a brace")
			p.statement()
		case directives[word].pattern != nil:
			p.check(directives[word].pattern.MatchString(p.tight), "want %s", directives[word].want)
			read[word] = true
		case head != nil && end == "{":
			p.check(read[".version\n"] && read[".target\n"], ".version and .target must come first")
			p.check(!slices.Contains(names, head[1]), "the kernel is declared twice")
			if names = append(names, head[1]); wanted != head[1] && (wanted != "" || len(names) > 1) {
				p.pass()
				break
			}
			p.kernel = head[1]
			p.open()
			p.parameters(head[2])
		default:
			p.check(word == ".section{", "not supported, want .version .target .address_size .shared .file .pragma .section or .entry name(.param .type name, ...)")
			p.pass()
		}
	}
	p.text = "end of file"
	p.check(p.scope.depth == 0, "the kernel %s is not terminated: ; or } is missing", p.kernel)
	p.check(wanted != "" || len(names) == 1, "the file has the kernels %q, want one, or -entry", names)
	p.check(p.kernel != "", "the file has the kernels %q, want %s", names, wanted)
}

// pass skips the block that was begun: another kernel, or a section.
func (p *parser) pass() {
	for depth := 1; depth > 0; {
		i := strings.IndexAny(p.rest, "{}")
		p.check(i >= 0, "} is missing")
		depth += choose(p.rest[i] == '{', 1, -1)
		p.skip(i + 1)
	}
}

// open begins a block of the kernel.
func (p *parser) open() {
	p.check(p.scope.depth < maxNesting, "more than %d blocks inside one another", maxNesting)
	p.scope = &scope{p.scope, p.scope.depth + 1, map[string]register{}, map[string]int{}}
}

// link finds the labels of the kernel's branches.
func (p *parser) link() {
	end := len(p.code) - 1
	p.check(end >= 0 && p.code[end].run == nil && p.code[end].guard == nil,
		"the kernel can run past its end: its last instruction is not ret, exit or bra")
	for i := range p.code {
		in := &p.code[i]
		found := in.scope == nil
		for s := in.scope; s != nil && !found; s = s.outer {
			in.target, found = s.labels[in.label]
		}
		in.check(found, "the label is not declared here")
		in.check(in.target <= end, "the label has no instruction after it")
	}
}

// parameters declares those of the kernel.
func (p *parser) parameters(list string) {
	for _, text := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' }) {
		m := paramPattern.FindStringSubmatch(text)
		p.check(m != nil && types[m[1]].size > 0, "%q is not supported, want .param, an integer type and a name", text)
		r := constant(0, types[m[1]].size)
		p.params = append(p.params, param{m[2], r})
		p.declare("["+m[2]+"]", r)
	}
}

// declare gives a name a meaning in the innermost scope.
func (p *parser) declare(name string, r register) {
	_, ok := p.scope.registers[name]
	p.check(!ok, "%s is declared twice", name)
	p.scope.registers[name] = r
}

// registers parses .reg .type name, name<count>, ...
func (p *parser) registers() {
	words := strings.SplitN(p.tight, " ", 3)
	p.check(len(words) == 3, "want .reg .type name")
	kind, ok := types[strings.TrimPrefix(words[1], ".")]
	p.check(ok && words[1][0] == '.', "registers of type %s are not supported, want .pred or an integer of 8 to 64 bits", words[1])
	for _, text := range strings.Split(words[2], ",") {
		m := registerPattern.FindStringSubmatch(text)
		p.check(m != nil, "%q, want a name or name<count>", text)
		count, _ := strconv.Atoi(choose(m[2] == "", "1", m[2]))
		p.check(count > 0 && count <= maxCount, "%q, want 1 to %d registers", text, maxCount)
		p.declared += count
		p.check(p.declared <= maxCount, "the kernel declares more than %d registers", maxCount)
		size := max(1, kind.size*bfi.WarpSize/8)
		slab := make([]uint64, size*count)
		p.slabs = append(p.slabs, slab)
		for i := range count {
			name := choose(m[2] == "", m[1], m[1]+strconv.Itoa(i))
			p.declare(name, register{size: kind.size, data: unsafe.Pointer(&slab[size*i])})
		}
	}
}

// variable parses .space [.align n] .type name[count], which then stands for its
// address.
func (p *parser) variable() {
	m := variablePattern.FindStringSubmatch(p.tight)
	p.check(m != nil && types[m[3]].size > 0, "want .shared or .local, an integer type and a name[count]")
	size, s := types[m[3]].size, &p.spaces[choose(m[1] == "local", local, shared)]
	align, _ := strconv.Atoi("0" + m[2])
	count, _ := strconv.Atoi(choose(m[5] == "", "1", m[5]))
	align = max(align, size)
	p.check(align <= maxCount && count <= maxCount && count > 0, "want an alignment and a count of up to %d", maxCount)
	start := (s.size + align - 1) / align * align
	p.check(start+size*count <= maxCount, "the variables in %s take more than %d bytes", m[1], maxCount)
	s.size = start + size*count
	p.declare(m[4], constant(s.base+uint64(start), 8))
}

// statement parses an instruction.
func (p *parser) statement() {
	m := instructionPattern.FindStringSubmatch(p.tight)
	p.check(m != nil, "want an instruction")
	p.in, p.operands = instruction{place: p.place, flip: choose(m[1] == "!", everyLane, 0)}, nil
	if m[4] != "" {
		p.operands = operandPattern.FindAllString(m[4], -1)
	}
	if m[2] != "" {
		p.in.guard = mask(p.register(-1, m[2], 0, writes))
	}
	p.decode(m[3])
	p.code = append(p.code, p.in)
}
