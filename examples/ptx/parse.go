package main

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/gobfi/bfi"
)

// word is what a register holds of one lane.
type word interface{ uint32 | uint64 }

// lanes is a register: its value in each lane of the warp.
type lanes[T word] = [bfi.WarpSize]T

// predicate is a predicate register: one bit a lane.
type predicate uint32

// A register is what a name stands for.
type register struct {
	value    any // *lanes[uint32], *lanes[uint64] or *predicate
	readOnly bool
}

func class(value any) string {
	switch value.(type) {
	case *lanes[uint32]:
		return "32-bit register"
	case *lanes[uint64]:
		return "64-bit register"
	}
	return "predicate"
}

// maxRegisters bounds what one kernel may declare.
const maxRegisters = 1 << 16

// A scope holds the names declared between one pair of braces.
type scope struct {
	registers map[string]register
	labels    map[string]int
	branches  []branch // those whose label is not found yet
}

// A branch is a bra whose target is to be filled in.
type branch struct {
	instruction, line int
	label             string
}

// A token is a word, a number or a punctuation mark; at the end of the file it
// is empty.
type token struct {
	text string
	line int
}

// A sourceError is a mistake in the PTX file. The parser panics with it and
// parse recovers it.
type sourceError struct{ msg string }

func (e *sourceError) Error() string { return e.msg }

type parser struct {
	*program
	tokens       []token
	isa          [2]int // .version, major and minor
	target       int    // the number of .target sm_*
	addressSize  bool   // .address_size was given
	scopes       []scope
	declared     int  // registers so far
	scalarInsert bool // bfi by a plain loop instead of bfi.InsertWarp
}

// parse decodes the kernel in source. With scalarInsert its bfi instructions run
// as a plain loop over the lanes, without it on [bfi.InsertWarp].
func parse(file, source string, scalarInsert bool) (_ *program, err error) {
	p := &parser{program: newProgram(file, source), scalarInsert: scalarInsert}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *sourceError:
			err = e
		default:
			panic(e)
		}
	}()
	p.tokenize(source)
	p.module()
	return p.program, nil
}

// fail reports a mistake on a line of the file.
func (p *parser) fail(line int, format string, args ...any) {
	panic(&sourceError{p.at(line, fmt.Sprintf(format, args...))})
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("_$%.", c) >= 0
}

func (p *parser) tokenize(source string) {
	line := 1
	for i := 0; i < len(source); {
		rest := source[i:]
		size := 1
		switch c := source[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case strings.HasPrefix(rest, "//"):
			size = len(rest)
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				size = end
			}
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				p.fail(line, "the comment is not terminated: */ is missing")
			}
			size = end + 4
		case isWordByte(c):
			for size < len(rest) && isWordByte(rest[size]) {
				size++
			}
			p.tokens = append(p.tokens, token{rest[:size], line})
		case strings.IndexByte("{}()[]<>,;:@!+-", c) >= 0:
			p.tokens = append(p.tokens, token{rest[:1], line})
		default:
			p.fail(line, "unexpected character %q", c)
		}
		line += strings.Count(rest[:size], "\n")
		i += size
	}
	p.tokens = append(p.tokens, token{"", line})
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.text != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) accept(text string) bool {
	if p.peek().text == text {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(text, after string) {
	if t := p.next(); t.text != text {
		p.fail(t.line, "%s after %s, want %q", describe(t.text), after, text)
	}
}

// name reads a name that is being declared.
func (p *parser) name(what string) token {
	t := p.next()
	if !isName(t.text) {
		p.fail(t.line, "%s instead of the name of a %s", describe(t.text), what)
	}
	return t
}

func isName(text string) bool {
	return text != "" && isWordByte(text[0]) && !isDigit(text[0]) && !strings.Contains(text, ".")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func describe(text string) string {
	if text == "" {
		return "the file ends"
	}
	return strconv.Quote(text)
}

// module parses the file.
func (p *parser) module() {
	for {
		switch t := p.next(); t.text {
		case ".version":
			p.version(p.next())
		case ".target":
			p.targetArch(p.next())
		case ".address_size":
			if size := p.next(); size.text != "64" {
				p.fail(t.line, ".address_size %s is not supported, want 64", size.text)
			}
			p.addressSize = true
		case ".visible", ".weak": // linkage, before .entry
		case ".entry":
			if p.isa == [2]int{} || p.target == 0 || !p.addressSize {
				p.fail(t.line, ".version, .target and .address_size 64 must come before .entry")
			}
			if p.kernel != "" {
				p.fail(t.line, "a second kernel: only one is supported")
			}
			p.entry(t.line)
		case "":
			if p.kernel == "" {
				p.fail(t.line, "the file has no kernel: .entry is missing")
			}
			return
		default:
			p.fail(t.line, "%q is not supported outside a kernel", t.text)
		}
	}
}

func (p *parser) version(t token) {
	major, minor, _ := strings.Cut(t.text, ".")
	var err1, err2 error
	p.isa[0], err1 = strconv.Atoi(major)
	p.isa[1], err2 = strconv.Atoi(minor)
	if err1 != nil || err2 != nil || p.isa[0] < 1 {
		p.fail(t.line, "%s is not a .version, want one like 6.3", describe(t.text))
	}
}

func (p *parser) targetArch(t token) {
	number, ok := strings.CutPrefix(t.text, "sm_")
	number = strings.TrimRight(number, "af") // sm_90a, sm_100f
	var err error
	p.target, err = strconv.Atoi(number)
	if !ok || err != nil || p.target < 1 {
		p.fail(t.line, "%s is not a .target, want one like sm_75", describe(t.text))
	}
}

// entry parses a kernel, from its name on.
func (p *parser) entry(line int) {
	p.kernel = p.name("kernel").text
	p.scopes = []scope{newScope()} // of what is there without a declaration
	maps.Copy(p.scopes[0].registers, p.special.registers())
	if p.accept("(") && !p.accept(")") {
		for more := true; more; more = p.accept(",") {
			p.param()
		}
		p.expect(")", "the parameters")
	}
	p.expect("{", "the head of the kernel")
	p.scopes = append(p.scopes, newScope())
	for len(p.scopes) > 1 {
		t := p.next()
		switch {
		case t.text == "":
			p.fail(line, "the kernel %s is not terminated: } is missing", p.kernel)
		case t.text == "{":
			p.scopes = append(p.scopes, newScope())
		case t.text == "}":
			p.closeScope()
		case t.text == ".reg":
			p.declare()
		case t.text[0] == '.':
			p.fail(t.line, "the directive %s is not supported", t.text)
		case p.peek().text == ":":
			p.label(t)
		default:
			p.statement(t)
		}
	}
	for _, b := range p.scopes[0].branches {
		p.fail(b.line, "the label %s is not declared here", b.label)
	}
	p.checkEnd(line)
}

func newScope() scope {
	return scope{registers: map[string]register{}, labels: map[string]int{}}
}

// param parses one kernel parameter: .param .u64 [.ptr [.global] [.align n]] name.
func (p *parser) param() {
	p.expect(".param", `"(" or ","`)
	t := p.next()
	var value any
	switch t.text {
	case ".b32", ".u32", ".s32":
		value = new(lanes[uint32])
	case ".b64", ".u64", ".s64":
		value = new(lanes[uint64])
	default:
		p.fail(t.line, "a parameter of type %s is not supported", describe(t.text))
	}
	if p.accept(".ptr") {
		p.accept(".global")
		if p.accept(".align") {
			p.next()
		}
	}
	name := p.name("parameter")
	for _, other := range p.params {
		if other.name == name.text {
			p.fail(name.line, "the parameter %s is declared twice", name.text)
		}
	}
	p.params = append(p.params, param{name.text, value})
}

// declare parses .reg .type name, name<count>, ...;
func (p *parser) declare() {
	t := p.next()
	var alloc func() any
	switch t.text {
	case ".b32", ".u32", ".s32":
		alloc = func() any { return allocate(&p.words32) }
	case ".b64", ".u64", ".s64":
		alloc = func() any { return allocate(&p.words64) }
	case ".pred":
		alloc = func() any { return allocate(&p.predicates) }
	default:
		p.fail(t.line, "registers of type %s are not supported", describe(t.text))
	}
	registers := p.scopes[len(p.scopes)-1].registers
	add := func(name string, line int) {
		if _, ok := registers[name]; ok {
			p.fail(line, "the register %s is declared twice", name)
		}
		if p.declared++; p.declared > maxRegisters {
			p.fail(line, "the kernel declares more than %d registers", maxRegisters)
		}
		registers[name] = register{value: alloc()}
	}
	for more := true; more; more = p.accept(",") {
		name := p.name("register")
		if !p.accept("<") {
			add(name.text, name.line)
			continue
		}
		n := p.next()
		count, err := strconv.Atoi(n.text)
		if err != nil {
			p.fail(n.line, "%s is not a number of registers", describe(n.text))
		}
		p.expect(">", "the number of registers")
		for i := range count {
			add(name.text+strconv.Itoa(i), name.line)
		}
	}
	p.expect(";", "the declaration")
}

func allocate[T any](list *[]*T) *T {
	value := new(T)
	*list = append(*list, value)
	return value
}

func (p *parser) label(t token) {
	p.next() // the colon
	if !isName(t.text) {
		p.fail(t.line, "%q is not a label", t.text)
	}
	labels := p.scopes[len(p.scopes)-1].labels
	if _, ok := labels[t.text]; ok {
		p.fail(t.line, "the label %s is declared twice", t.text)
	}
	labels[t.text] = len(p.code)
}

// closeScope fills in the branches to the labels of the innermost scope. The
// labels of the others may be of a scope around it.
func (p *parser) closeScope() {
	last := len(p.scopes) - 1
	inner, outer := p.scopes[last], &p.scopes[last-1]
	for _, b := range inner.branches {
		if target, ok := inner.labels[b.label]; ok {
			p.code[b.instruction].target = target
		} else {
			outer.branches = append(outer.branches, b)
		}
	}
	p.scopes = p.scopes[:last]
}

// checkEnd makes sure that no lane runs past the last instruction.
func (p *parser) checkEnd(line int) {
	last := len(p.code) - 1
	if last < 0 || p.code[last].kind == compute || p.code[last].guard != nil {
		p.fail(line, "the kernel %s can run past its end: its last instruction is not ret, exit or bra", p.kernel)
	}
	for _, in := range p.code {
		if in.kind == jump && in.target > last {
			p.fail(in.line, "the label has no instruction after it")
		}
	}
}

// lookup finds a register in the innermost scope that declares it.
func (p *parser) lookup(name string) (register, bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if r, ok := p.scopes[i].registers[name]; ok {
			return r, true
		}
	}
	return register{}, false
}

// statement parses one instruction, from its guard or its name on.
func (p *parser) statement(t token) {
	in := instruction{line: t.line}
	if t.text == "@" {
		in.negate = p.accept("!")
		name := p.next().text
		r, ok := p.lookup(name)
		if !ok {
			p.fail(t.line, "the guard %s is not declared", describe(name))
		}
		if in.guard, ok = r.value.(*predicate); !ok {
			p.fail(t.line, "the guard %s is a %s, want a predicate", name, class(r.value))
		}
		t = p.next()
	}
	if t.text == "" || !isWordByte(t.text[0]) {
		p.fail(t.line, "%s instead of an instruction", describe(t.text))
	}
	d := decoder{parser: p, name: t.text, line: t.line}
	for operand, end := []string(nil), false; !end; {
		switch t := p.next(); t.text {
		case "":
			p.fail(in.line, "the instruction is not terminated: ; is missing")
		case ",", ";":
			end = t.text == ";"
			if !end || operand != nil || d.operands != nil {
				d.operands = append(d.operands, operand)
			}
			operand = nil
		default:
			operand = append(operand, t.text)
		}
	}
	d.decode(&in)
	p.code = append(p.code, in)
}
