package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/gobfi/bfi"
)

// A scope holds the names declared between one pair of braces. They are registers,
// parameters in brackets, variables, and labels with their colons. The register of a
// variable or a label holds its address.
type scope struct {
	outer *scope
	depth int
	names map[string]register
}

// find returns the register that a name has in the innermost scope that declares it.
func (s *scope) find(name string) (r register, ok bool) {
	for ; s != nil && !ok; s = s.outer {
		r, ok = s.names[name]
	}
	return r, ok
}

// A place is a statement with its file and line, for error messages.
type place string

// A sourceError is a mistake at a place, in the source or in its execution.
type sourceError struct{ error }

// check panics with a mistake unless ok. rescue catches it.
func (at place) check(ok bool, format string, args ...any) {
	if !ok {
		panic(sourceError{fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))})
	}
}

func rescue(err *error) {
	if e := recover(); e != nil {
		*err = e.(sourceError)
	}
}

type parser struct {
	*program
	file       string
	statements [][]string        // the rest of the file
	line       int               // the line where the rest begins
	place                        // the place of the current statement
	text       string            // the current statement
	tight      string            // text without spaces around punctuation marks
	scope      *scope            // the innermost scope
	declared   int               // the number of registers so far
	skipped    map[string]string // names that no kernel may use, each with its directive, such as .extern .func
	in         instruction
	operands   []string // the operands of in
}

// These patterns read the file. The patterns of statements apply to text without spaces
// around punctuation marks.
var (
	commentPattern   = regexp.MustCompile(`//.*|/\*(?s:.*?)\*/|"[^"\n]*"`)
	statementPattern = regexp.MustCompile(`(\s*)(?:([a-zA-Z_$%][\w$%]*\s*:)|` +
		`([@a-z][^;]*|\.(?:version|target|address_size|file|loc)\b.*|[^;{}]*)((?s:.?)))`)
	spacePattern  = regexp.MustCompile(` ?([][{}()<>,+\-|!@]) ?`)
	headerPattern = regexp.MustCompile(`^\.(?:version [2-9]\.\d|address_size 64|target sm_(?:[2-9]\d|\d{3})[af]?` +
		`(?:,(?:debug|texmode_unified|texmode_independent|map_f64_to_f32))*)$`)
	entryPattern = regexp.MustCompile(`^(?:\.(?:visible|weak) )?\.entry ([\w$%]+) ?(?:\((.*)\))? ?` +
		`(?:\.(?:maxntid|reqntid|minnctapersm) [\d,]+ ?)*$`)
	paramPattern = regexp.MustCompile(`^\.param \.(\w+) (?:\.ptr (?:\.global )?(?:\.align \d+ )?)?` +
		`([a-zA-Z_$%][\w$%]*)$`)
	registerPattern = regexp.MustCompile(`^([a-zA-Z_$%][\w$%]*)(?:<(\d+)>)?$`)
	variablePattern = regexp.MustCompile(`^\.(shared|local) (?:\.align (\d+) )?\.(\w+) ` +
		`([a-zA-Z_$%][\w$%]*)(?:\[(\d+)\])?$`)
	instructionPattern = regexp.MustCompile(`^(?:@(!?)([\w$%]+) )?([a-z][\w.:]*) ?(.*)$`)
	operandPattern     = regexp.MustCompile(`(?:\{[^}]*\}?|[^,{])*`)
	typePattern        = regexp.MustCompile(`\b(?:[bus](?:8|16|32|64)|pred)\b`)
	modulePattern      = regexp.MustCompile(`^((?:\.(?:extern|visible|weak|common) )?\.(?:func|const|global|shared))\b ?` +
		`(?:\([^)]*\))?(.*)`)
	namePattern    = regexp.MustCompile(`(?:^| )([a-zA-Z_$%][\w$%]*)(?:[[(= ]|$)`)
	addressPattern = regexp.MustCompile(`^\[([\w$%.]+)(?:\+?([+-]?\w+))?\]$`)
)

// headers has the directives that a file begins with, and the values that they may have.
var headers = map[string]string{
	".version\n":      "2.0 or later, because bfi came with 2.0",
	".target\n":       "sm_20 or later, because bfi came with sm_20, and options of PTX",
	".address_size\n": "64",
}

// parse decodes the wanted kernel of source, or its only kernel.
func parse(file, source, wanted string) (_ *program, err error) {
	defer rescue(&err)
	p := &parser{program: newProgram(), file: file, line: 1, skipped: map[string]string{}}
	p.scope = &scope{names: p.special}
	source = commentPattern.ReplaceAllStringFunc(source, func(s string) string {
		return choose(s[0] == '"', s, " "+strings.Repeat("\n", strings.Count(s, "\n")))
	})
	p.statements = append(statementPattern.FindAllStringSubmatch(source, -1), make([]string, 5)) // the end of the file
	var names []string
	read := map[string]bool{}
	for word := p.next(); word != ""; word = p.next() {
		p.tight = spacePattern.ReplaceAllString(p.text, "$1")
		entry, outside := entryPattern.FindStringSubmatch(p.tight), p.scope.depth == 0
		switch {
		case word == ".pragma;" || word == ".loc\n" || word == ".file\n": // these do not change results
		case word == ".shared;" || word == ".local;":
			p.variable()
		case outside && headers[word] != "":
			p.check(headerPattern.MatchString(p.tight), "want %s", headers[word])
			read[word] = true
		case outside && entry != nil && strings.HasSuffix(word, "{"):
			p.check(read[".version\n"] && read[".target\n"], ".version and .target must come first")
			p.check(!slices.Contains(names, entry[1]), "the kernel is declared twice")
			if names = append(names, entry[1]); wanted != entry[1] && (wanted != "" || len(names) > 1) {
				p.pass()
				break
			}
			p.kernel = entry[1]
			p.open()
			for _, text := range strings.FieldsFunc(entry[2], func(c rune) bool { return c == ',' }) {
				m := paramPattern.FindStringSubmatch(text)
				p.check(m != nil && types[m[1]].bits > 1, "%q is not supported, want .param, an integer type and a name", text)
				p.params = append(p.params, param{m[2], newRegister(types[m[1]].bits, 0)})
				p.declare("["+m[2]+"]", p.params[len(p.params)-1].value)
			}
		case outside && modulePattern.MatchString(p.tight):
			m := modulePattern.FindStringSubmatch(p.tight)
			most := choose(strings.HasSuffix(m[1], "func"), 1, -1)
			for _, name := range namePattern.FindAllStringSubmatch(strings.ReplaceAll(m[2], ",", " , "), most) {
				p.skipped[name[1]] = m[1]
			}
			if strings.HasSuffix(word, "{") {
				p.pass()
			}
		case outside && word == ";": // it ends an initializer
		case outside:
			p.check(word == ".section{",
				"not supported, want .version .target .address_size .shared .file .pragma .section "+
					"or .entry name(.param .type name, ...)")
			p.pass()
		case word == ".reg;":
			p.registers()
		case word == "{":
			p.open()
		case word == "}":
			if p.scope = p.scope.outer; p.scope.depth == 0 {
				p.link()
			}
		case strings.HasSuffix(word, ":"):
			p.declare(word, newRegister(64, uint64(len(p.code))))
		default:
			p.check(strings.HasSuffix(word, ";") && word[0] != '.',
				"not supported, want .reg .local .shared .loc .pragma, an instruction, or a brace")
			p.decode()
		}
	}
	p.check(p.scope.depth == 0, "the kernel %s is not terminated: ; or } is missing", p.kernel)
	p.check(wanted != "" || len(names) == 1, "the file has the kernels %q, want one kernel, or -entry", names)
	p.check(p.kernel != "", "the file has the kernels %q, want %q", names, wanted)
	return p.program, nil
}

// next reads a label or a statement. A statement ends at a semicolon, a brace, or the end of
// the line or file. next returns the first word with the character that ends the statement.
func (p *parser) next() string {
	m := p.statements[0]
	p.statements = p.statements[1:]
	line := p.line + strings.Count(m[1], "\n")
	p.line += strings.Count(m[0], "\n")
	p.text = strings.Join(strings.Fields(m[2]+m[3]), " ")
	word, _, _ := strings.Cut(p.text, " ")
	p.place = place(fmt.Sprintf("%s:%d: %.120s", p.file, line, choose(word+m[4] == "", "end of file", p.text)))
	p.check(m[4] != "\n" || !strings.Contains(p.text, ";"), "a directive needs a line of its own")
	return word + m[4]
}

// pass skips a block: another kernel, a function, an initializer, or a section.
func (p *parser) pass() {
	begin := p.place
	for depth := 1; depth > 0; {
		word := p.next()
		begin.check(word != "", "} is missing")
		depth += map[byte]int{'{': 1, '}': -1}[word[len(word)-1]]
	}
}

func (p *parser) open() {
	p.check(p.scope.depth < maxNesting, "blocks are nested more than %d deep", maxNesting)
	p.scope = &scope{p.scope, p.scope.depth + 1, map[string]register{}}
}

// link finds the labels of the kernel's branches.
func (p *parser) link() {
	p.at = make([]uint32, len(p.code)+1)
	end := len(p.code) - 1
	p.check(end >= 0 && p.code[end].steps == nil && p.code[end].guard == nil,
		"the kernel can run past its end: its last instruction is not ret, exit or bra")
	for i := range p.code {
		if branch := &p.code[i]; branch.scope != nil {
			label, ok := branch.scope.find(branch.label)
			branch.check(ok, "the label is not declared here")
			branch.target = int(in[uint64](label)[0])
			branch.check(branch.target <= end, "the label has no instruction after it")
		}
	}
}

// declare gives a name a meaning in the innermost scope.
func (p *parser) declare(name string, r register) {
	_, ok := p.scope.names[name]
	p.check(!ok, "%s is declared twice", choose(strings.HasSuffix(name, ":"), "the label", name))
	p.scope.names[name] = r
}

// registers parses .reg .type name, name<count>, ...
func (p *parser) registers() {
	words := strings.SplitN(p.tight, " ", 3)
	p.check(len(words) == 3, "want .reg .type name")
	t, ok := types[strings.TrimPrefix(words[1], ".")]
	p.check(ok && words[1][0] == '.',
		"registers of type %s are not supported, want .pred or an integer of 8 to 64 bits", words[1])
	for _, text := range strings.Split(words[2], ",") {
		m := registerPattern.FindStringSubmatch(text)
		p.check(m != nil, "%q, want a name or name<count>", text)
		count, _ := strconv.Atoi(cmp.Or(m[2], "1"))
		p.check(count > 0 && count <= maxCount, "%q, want 1 to %d registers", text, maxCount)
		p.declared += count
		p.check(p.declared <= maxCount, "the kernel declares more than %d registers", maxCount)
		size := (t.bits + 7) / 8 * bfi.WarpSize / 8
		slab := make([]uint64, size*count)
		p.slabs = append(p.slabs, slab)
		for i := range count {
			p.declare(m[1]+choose(m[2] == "", "", strconv.Itoa(i)), register{bits: t.bits, data: unsafe.Pointer(&slab[size*i])})
		}
	}
}

// variable parses .space [.align n] .type name[count]. It declares the name as a register
// that holds the variable's address.
func (p *parser) variable() {
	m := variablePattern.FindStringSubmatch(p.tight)
	p.check(m != nil && types[m[3]].bits > 1, "want .shared or .local, an integer type and a name[count]")
	size, s := types[m[3]].bits/8, &p.spaces[choose(m[1] == "local", local, shared)]
	align, _ := strconv.Atoi(cmp.Or(m[2], "1"))
	count, _ := strconv.Atoi(cmp.Or(m[5], "1"))
	align = max(align, size)
	p.check(align <= maxCount && count <= maxCount && count > 0, "want an alignment and a count of up to %d", maxCount)
	start := (s.size + align - 1) / align * align
	p.check(start+size*count <= maxCount, "the variables in %s take more than %d bytes", m[1], maxCount)
	s.size = start + size*count
	p.declare(m[4], newRegister(64, s.base+uint64(start)))
}
