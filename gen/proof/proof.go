package proof

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Kernel specifies a function of the assembly.
type Kernel struct {
	Symbol   string
	Shape    Shape
	Spec     Spec
	Operands []Operand    // all arguments, in any order
	Overlap  bool         // operands may overlap dst in any way; else only exactly
	Guarded  bool         // inactive lanes are not even rewritten
	Least    int          // the fewest lanes that it is called with
	Most     int          // the most lanes that it is called with, 0 for a piece
	Forks    bool         // Pack: it branches on the sign of a column's shift
	Features []string     // the features of processors that it is called on, named as by cpuid
	Move     MoveLayout   // Permute: the layout of a move's description
	Source   SourceLayout // Steps: the layout of a source's description
	// Pack: the bits that a constant's kind has besides its size
	ConstantKind int
}

// A Spec gives the value that each lane must have.
type Spec struct {
	Instruction string
	Word        int // bits of sources
	Bits        int // bits of dst
	Lane        int // bits after which arguments repeat: the greater of Word and Bits, or more
}

// The instructions that kernels must equal. Go builds instructions of an ISA from those
// that belong to none:
//
//	TakeField  src, shifted right and masked, with its sign extended
//	Move       a column of Pack: src, shifted by a signed count and masked
//	AddSign    a column of Pack: the mask, if src is negative
//	KeepBase   the base and the constants, to which Pack adds columns
//	PutField   a column of Unpack: TakeField with a signed count and a mask that moves along
//	Gather     words made of the fields of groups: see dense.go
//	Scatter    groups made of the fields of words: see dense.go
const (
	BFI         = "bfi"   // PTX
	BFEUnsigned = "bfe.u" // PTX
	BFESigned   = "bfe.s" // PTX
	VBFI        = "v_bfi" // AMD
	TakeField   = "take"
	Move        = "move"
	AddSign     = "sign"
	KeepBase    = "keep"
	PutField    = "put"
	Gather      = "gather"
	Scatter     = "scatter"
)

// A MoveLayout is the layout of a move's description. It gives the offsets of the address
// of its data, of the stride, and of the places that 16 bytes come from.
type MoveLayout struct{ Data, Stride, From, Size int }

// A Shape says which lanes of dst a kernel writes.
type Shape int

const (
	Slice   Shape = iota // as many as Count or Bytes says
	Masked               // the same, but inactive lanes keep their value
	Warp                 // 32, but inactive lanes keep their value
	Pack                 // the lanes from Low up to High, made of Columns
	Unpack               // the lanes from Low up to High of each of the Columns, which are dst
	Dense                // words of groups of elements, or groups of words: see dense.go
	Permute              // bytes, each from one of several moves
	Steps                // bytes, each looked up in vectors from several sources: see steps.go
)

// An Operand is an argument and its role in the instruction.
type Operand struct {
	Name   string
	Role   Role
	Bits   int     // of each lane in memory, 0 for an argument by value
	Size   int     // Columns: bytes of each element; Active: the mask's size in bytes is a multiple of it
	Fields []Field // Columns: the fields of an element
}

// A Field is a field of each element of the array that an operand points to. It begins
// Offset bytes from the element's start.
type Field struct {
	Offset int
	Role   Role
}

// A Role says how a kernel uses an operand.
type Role int

const (
	Destination Role = iota
	Source           // a of PTX, S1 of AMD
	Base             // b of PTX, S2 of AMD
	Mask             // S0 of AMD
	Pos              // only its low 8 bits count in memory; an argument has no other bits
	Width            // only its low 8 bits count
	FieldMask        // the ones of the field at pos of width bits, in every lane
	FieldValue       // a value at the field's place, in every lane
	Shift            // Columns: a byte, the count by which elements move left; 7 more bytes follow
	MoveMask         // the bits to keep after the move (PutField: before it), in every lane, or once in Columns
	Sign             // TakeField: the highest bit of MoveMask if the field is signed, else 0, in every lane
	Keep             // Pack: the bits of base that remain
	Constant         // Pack: bits to add
	Kind             // Columns: a byte, the elements' size as a power of two, and maybe SignKind
	Signed           // Columns: a byte, 1 if Unpack's field has a sign, else 0
	Before           // Pack: the word before a column
	Active           // a bit for each lane
	Columns          // an array that describes the columns
	Count            // lanes, or elements of Columns
	Bytes            // lanes, as bytes
	Size             // bytes of a lane of dst
	Low              // the first lane
	High             // the end of lanes
	Stream           // stores bypass the cache
)

// SignKind in a column's kind says that AddSign adds the column, rather than Move.
const SignKind = 4

// In a situation's kind, signedKind says that Unpack's field is signed. constantKind says
// that Pack's field is a constant, which kernels pass over; in a column's kind, Go says that
// with Kernel.ConstantKind.
const (
	signedKind   = 8
	constantKind = 16
)

// elementBits returns the width of elements of a kind.
func elementBits(kind int) int { return 8 << (kind & 3) }

// A File is an assembly file, or a Go file that declares functions of one.
type File struct{ Name, Text string }

// Prove proves the chosen kernels, and writes a line for each. If directory is not empty,
// Prove remembers proofs there, and does not repeat them.
func Prove(w io.Writer, files []File, kernels []Kernel, chosen func(symbol string) bool, directory string) error {
	functions, err := parseAll(files)
	if err != nil {
		return err
	}
	known, err := newCache(directory)
	if err != nil {
		return err
	}
	specified := map[string]bool{}
	var subjects []*subject
	for _, k := range kernels {
		if specified[k.Symbol] = true; !chosen(k.Symbol) {
			continue
		}
		f := functions[k.Symbol]
		if f == nil {
			return fmt.Errorf("no TEXT of %s, which is in the table of kernels", k.Symbol)
		}
		if err := f.runsOn(k.Features); err != nil {
			return err
		}
		subjects = append(subjects, newSubject(k, f))
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if !specified[name] {
			return fmt.Errorf("TEXT %s is not in the table of kernels", name)
		}
	}
	if len(subjects) == 0 {
		return errors.New("no kernel is chosen")
	}
	shared := &solver{results: map[string]*result{}}
	errs := make([]error, len(subjects))
	var mutex sync.Mutex
	inParallel(len(subjects), func(i int) {
		s := subjects[len(subjects)-1-i] // the last ones have several columns and take long
		f := s.function
		left := known.find(s)
		if s.remembered = left != nil; !s.remembered {
			if errs[i] = s.prove(shared); errs[i] == nil {
				left = &record{s.reached, s.ways}
				errs[i] = known.add(s, *left)
			}
		}
		s.model = nil // it is large
		mutex.Lock()
		defer mutex.Unlock()
		if errs[i] != nil {
			fmt.Fprintf(w, "%s: wrong: %v\n", s, errs[i])
		} else {
			f.reach(left)
			s.line(w)
		}
	})
	wrong := 0
	for _, err := range errs {
		if err != nil {
			wrong++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := functions[name]
		if in := f.unreached(); in != nil && wrong == 0 {
			return fmt.Errorf("%s:%d: %s: no length executes it", f.file, in.line, in.text)
		}
		if err := f.bothWays(); err != nil && wrong == 0 {
			return err
		}
	}
	if err := neededWays(functions); err != nil && wrong == 0 {
		return err
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d kernels are not proved", wrong, len(subjects))
	}
	extractions := map[extraction]bool{}
	for _, s := range subjects {
		if s.Spec.Instruction == TakeField || s.Spec.Instruction == PutField {
			extractions[extraction{s.Spec.Word, s.Spec.Bits, false}] = true
			extractions[extraction{s.Spec.Word, s.Spec.Bits, true}] = true
		}
	}
	list := slices.Collect(maps.Keys(extractions))
	failed := make([]error, len(list))
	inParallel(len(list), func(i int) {
		if known.find(list[i]) == nil {
			if failed[i] = list[i].prove(); failed[i] == nil {
				failed[i] = known.add(list[i], record{})
			}
		}
	})
	if err := errors.Join(failed...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d kernels are proved, by %d theorems\n", len(subjects), len(shared.results)+len(list))
	return err
}

// parseAll returns the functions of all assembly files, with the arguments that Go files
// declare.
func parseAll(files []File) (map[string]*function, error) {
	declared := map[string]map[string]string{}
	for _, f := range files {
		if arch, ok := strings.CutSuffix(f.Name, ".go"); ok {
			declared[arch[strings.LastIndex(arch, "_")+1:]] = declarations(f.Text)
		}
	}
	functions := map[string]*function{}
	for _, f := range files {
		if !strings.HasSuffix(f.Name, ".s") {
			continue
		}
		a, name := amd64, "amd64"
		if strings.HasSuffix(f.Name, "_arm64.s") {
			a, name = arm64, "arm64"
		}
		parsed, err := parse(f.Name, f.Text, a, declared[name])
		if err != nil {
			return nil, err
		}
		maps.Copy(functions, parsed)
	}
	return functions, nil
}

// Needs returns the features of the processor that each function needs, in order.
func Needs(files []File) (map[string][]string, error) {
	functions, err := parseAll(files)
	if err != nil {
		return nil, err
	}
	needs := map[string][]string{}
	for name, f := range functions {
		for _, in := range f.insts {
			needs[name] = append(needs[name], in.needs...)
		}
		slices.Sort(needs[name])
		needs[name] = slices.Compact(needs[name])
	}
	return needs, nil
}

// runsOn fails if an instruction needs a feature of the processor that is not in
// features.
func (f *function) runsOn(features []string) error {
	for _, in := range f.insts {
		for _, need := range in.needs {
			if !slices.Contains(features, need) {
				return fmt.Errorf("%s:%d: %s: wrong: %s needs %s, and is called where there is %s", f.file, in.line, f.name, in.text, need, strings.Join(features, ", "))
			}
		}
	}
	return nil
}

// inParallel calls f with each number below n. There are as many calls at a time as
// processors.
func inParallel(n int, f func(i int)) {
	var workers sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// A solver solves each theorem once.
type solver struct {
	sync.Mutex
	results map[string]*result
}

type result struct {
	sync.Once
	counterexample string
	err            error
}

func (s *solver) solve(th theorem) (string, error) {
	s.Lock()
	r := s.results[th.key()]
	if r == nil {
		r = new(result)
		s.results[th.key()] = r
	}
	s.Unlock()
	r.Do(func() { r.counterexample, r.err = th.prove() })
	return r.counterexample, r.err
}

// A situation is all that a kernel is run with, except data.
type situation struct {
	lanes   int // their number; if low is not 0, their end
	low     int // the first lane
	align   int // the low bits of dst's address
	stream  bool
	kinds   []int  // of the columns
	dst     int    // Unpack: the column that dst is
	base    bool   // Pack: the base is not nil
	signed  bool   // TakeField: the sign is not 0
	choices string // the outcomes, '0' and '1', of decisions that depend on arguments
	same    string // the operand that dst is
}

func (s situation) String() string {
	text := fmt.Sprintf("n = %d, dst %d bytes past alignment", s.lanes, s.align)
	if s.low > 0 {
		text += fmt.Sprintf(", lo = %d", s.low)
	}
	if s.kinds != nil {
		text += fmt.Sprintf(", columns of kinds %v, base given: %t", s.kinds, s.base)
	}
	if s.dst > 0 {
		text += fmt.Sprintf(", dst is column %d", s.dst)
	}
	if s.signed {
		text += ", signed"
	}
	if s.stream {
		text += ", stream"
	}
	if s.same != "" {
		text += ", dst is " + s.same
	}
	return text
}

// A subject is a kernel being proved.
type subject struct {
	Kernel
	*model
	runs, looks int  // with lanes and without
	longest     int  // the most lanes that are run in every situation
	sparse      bool // each length is run with one alignment of dst only
	remembered  bool // it was proved before
	executing   time.Duration
	solving     time.Duration
	turn        int                   // lanes of the longest turn of a loop
	checked     map[laneKey]*term     // a lane's expression, relative to the lane
	met         map[claimKey][][]cell // the cells that each lane has held; keys have no expression
	claims      map[claimKey]claim
	order       []claimKey // of claims
	solved      int        // the number of claims that are solved, in order
	shared      *solver
	apart       map[claimKey]bool // Pack, Unpack: expressions that have been taken apart
}

// A claimKey is a lane's expression, and all else that its theorem depends on.
type claimKey struct {
	have   *term
	spec   Spec
	same   string // the operand that dst is; Pack, Unpack: the columns
	signed bool
	given  *term // a condition that arguments fulfil
}

type laneKey struct {
	c    cell
	lane int
}

// A claim is a theorem, and the lane and the situation where it was first met.
type claim struct {
	theorem
	lane  int
	where situation
}

func newSubject(k Kernel, f *function) *subject {
	s := &subject{Kernel: k, model: newModel(f), checked: map[laneKey]*term{}, claims: map[claimKey]claim{}, apart: map[claimKey]bool{}, met: map[claimKey][][]cell{}}
	most := 1
	for _, in := range f.insts {
		for _, o := range in.operands {
			if o.kind == isVector {
				most = max(most, o.size)
			}
		}
	}
	s.granule = bits.Len(uint(most)) - 1
	return s
}

// String names the subject. If one function is for words of every width, it adds the
// width.
func (s *subject) String() string {
	if s.name(Size) != "" {
		return fmt.Sprintf("%s, %d bits", s.Symbol, s.Spec.Bits)
	}
	return s.Symbol
}

func (s *subject) prove(shared *solver) error {
	s.shared = shared
	start := time.Now()
	err := s.execute()
	s.executing = time.Since(start) - s.solving
	if err != nil {
		return err
	}
	return s.solve()
}

// solve solves the new claims. It is called after each length, so the first lengths refute a
// wrong kernel, and the others need not be run.
func (s *subject) solve() error {
	start := time.Now()
	defer func() { s.solving += time.Since(start) }()
	for ; s.solved < len(s.order); s.solved++ {
		c := s.claims[s.order[s.solved]]
		counterexample, err := s.shared.solve(c.theorem)
		if err != nil {
			return err
		}
		if counterexample != "" {
			return fmt.Errorf("lane %d, %s: %s, by %s", c.lane, c.where, counterexample, c.Instruction)
		}
	}
	return nil
}

// The search for a length that executes an instruction ends at mostBytes.
const mostBytes = 2048

// execute runs the kernel in every situation.
func (s *subject) execute() error {
	switch s.Shape {
	case Warp:
		return s.situations(situation{lanes: 32}, false)
	case Pack:
		return s.executePack()
	case Unpack:
		return s.executeUnpack()
	case Dense:
		return s.executeDense()
	case Permute:
		return s.executePermute()
	case Steps:
		return s.executeSteps()
	}
	return s.lengths(func(n int, compare bool) error { return s.situations(situation{lanes: n}, compare) })
}

// lengths runs every length that is wanted. If runs can be blind, it runs every length that
// Go asks for. It combines each length with everything else that makes a difference, up to
// two turns and a vector past the last length at which a run met anything new. Longer
// lengths take turns with the alignments of dst.
func (s *subject) lengths(run func(n int, compare bool) error) error {
	if !s.blindly(situation{}) {
		return s.someLengths(run)
	}
	vector := 1 << s.granule * 8 / s.Spec.Bits
	last := s.Least // the last length at which a run met anything new
	for n := s.Least; n <= s.most(); n++ {
		met, turn := s.news, s.turn
		s.longest = last + 2*s.turn + vector
		s.sparse = n > s.longest
		if err := run(n, false); err != nil {
			return err
		}
		if err := s.solve(); err != nil {
			return err
		}
		switch {
		case s.sparse && s.news > met:
			last = n
			n-- // run it again, with all that makes a difference
		case s.news > met:
			last = n
		case s.turn > turn:
			n = last
		}
	}
	s.sparse = false
	return nil
}

// most returns the most lanes that are run.
func (s *subject) most() int {
	if s.Most > 0 {
		return s.Most
	}
	return 64 << 10 * 8 / s.Spec.Lane
}

// someLengths does what lengths does, for kernels whose runs are all with lanes. First it
// runs lengths further and further apart. They show which instructions can be executed, and
// how long the turns of loops are. Then it runs every length until all of these instructions
// have been executed again. For that to end, run must do the same each time for a length.
func (s *subject) someLengths(run func(n int, compare bool) error) error {
	for n := s.Least; n <= mostBytes*8/s.Spec.Lane; n += 1 + n/4 {
		if err := run(n, true); err != nil {
			return err
		}
		if err := s.solve(); err != nil {
			return err
		}
	}
	wanted := slices.Clone(s.reached)
	clear(s.reached)
	last := 0 // the least length by which all wanted instructions are executed
	vector := 1 << s.granule * 8 / s.Spec.Bits
	for n := s.Least; n <= last+2*s.turn+vector; n++ {
		before := count(s.reached)
		if err := run(n, false); err != nil {
			return err
		}
		if count(s.reached) > before {
			last = n
		}
		for i, is := range wanted {
			if is && !s.reached[i] {
				last = n // some length above executes it
				break
			}
		}
		s.longest = n
	}
	return nil
}

func count(list []bool) int {
	n := 0
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// situations runs a length with each alignment of dst, with and without stream, with and
// without a sign, and with dst as each operand, if these make a difference.
func (s *subject) situations(at situation, compare bool) error {
	streams, err := s.alignments(at, compare)
	if err == nil && streams {
		at.stream = true
		_, err = s.alignments(at, compare)
	}
	if err == nil && s.name(Sign) != "" && !at.signed {
		at.stream, at.signed = false, true
		return s.situations(at, compare)
	}
	return err
}

// alignments runs a length with each alignment of dst, and with dst as each operand that the
// kernel reads after it wrote dst there. It reports whether stream makes a difference.
func (s *subject) alignments(at situation, compare bool) (streams bool, err error) {
	granules := 1 << s.granule
	first, end := 0, granules
	if s.sparse {
		first = (at.lanes + at.lanes/granules) % granules
		if end = first + 1; at.stream && !s.narrow() {
			first &^= s.Spec.Bits/8 - 1
		}
	}
	for at.align = first; at.align < end; at.align++ {
		if at.stream && at.align*8%s.Spec.Bits != 0 && !s.narrow() {
			continue // Go asks for stream only if dst is aligned to its lanes
		}
		seen := false
		reread := map[string]bool{}
		err := s.choices(at, compare, func(m *machine) {
			streams = streams || m.used[Stream]
			seen = seen || m.dst.seen
			for _, r := range m.regions {
				if r.reread {
					reread[r.name] = true
				}
			}
		})
		if err != nil {
			return false, err
		}
		if len(reread) > 1 && !at.stream {
			return false, fmt.Errorf("it reads %s where dst was written, and dst may be more than one of them", strings.Join(slices.Sorted(maps.Keys(reread)), " and "))
		}
		for name, is := range reread {
			if is && !at.stream { // Go asks for no stream if dst is an operand
				same := at
				same.same = name
				if err := s.choices(same, compare, func(*machine) {}); err != nil {
					return false, err
				}
			}
		}
		if !seen {
			break
		}
	}
	return streams, nil
}

// narrow reports whether the subject unpacks columns that are narrower than words. For
// them, stream says only that the words are not in the cache.
func (s *subject) narrow() bool { return s.Shape == Unpack && s.Spec.Bits < s.Spec.Word }

// choices runs one situation with each outcome of the decisions that depend on arguments.
func (s *subject) choices(at situation, compare bool, done func(*machine)) error {
	m, err := s.run(at, compare)
	if errors.Is(err, errChoice) {
		for _, outcome := range []string{"0", "1"} {
			next := at
			next.choices += outcome
			if err := s.choices(next, compare, done); err != nil {
				return err
			}
		}
		return nil
	}
	if err == nil {
		done(m)
	}
	return err
}

// run runs one situation and checks the values that it leaves in dst.
func (s *subject) run(at situation, compare bool) (*machine, error) {
	blind := s.blindly(at)
	if blind {
		s.looks++
		m, err := s.look(at, false)
		if err == nil && len(m.unknown) == 0 || errors.Is(err, errChoice) {
			return m, err
		}
		compare = false
	}
	s.runs++
	m, err := s.machine(at)
	if err == nil {
		if compare {
			m.loops = &loops{last: map[int]*turn{}}
		}
		if blind {
			n := s.Spec.Bits / 8
			m.stores = func(offset, size int) error {
				if offset%n != 0 || size%n != 0 {
					return errors.New("stores a part of a lane")
				}
				return s.check(m, at, offset/n, (offset+size)/n)
			}
		}
		err = m.run()
	}
	if err == nil && compare {
		s.turn = max(s.turn, m.loops.most)
	}
	if err == nil {
		err = s.check(m, at, at.low, at.lanes)
	}
	if err == nil && blind {
		err = s.see(m, at)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, at)
	}
	return m, nil
}

// machine returns a machine before its first instruction.
func (s *subject) machine(at situation) (*machine, error) {
	m := &machine{
		model: s.model, arguments: map[string]value{}, used: map[Role]bool{}, overlap: s.Overlap,
		roles: map[string]Role{}, nonzero: map[*term]bool{}, choices: at.choices,
	}
	operand := func(name string, bits int) *region {
		r := &region{name: name, content: name, bits: bits, from: at.low * bits / 8, to: (at.lanes*bits + 7) / 8}
		m.regions = append(m.regions, r)
		return r
	}
	number := func(bits int, v int) value { return value{t: s.constant(bits, uint64(v))} }
	pointer := func(r *region) value { return value{s.constant(64, 0), r} }
	for _, p := range s.function.params {
		i := slices.IndexFunc(s.Operands, func(o Operand) bool { return o.Name == p.name })
		if i < 0 {
			return nil, fmt.Errorf("argument %s of %s is not in the table of kernels", p.name, s.Symbol)
		}
		o := s.Operands[i]
		m.roles[o.Name] = o.Role
		v := value{t: s.symbol(p.size*8, o.Name+":", 0)}
		switch o.Role {
		case Destination:
			m.dst = operand(o.Name, o.Bits)
			m.dst.writable = true
			m.dst.align = at.align
			v = pointer(m.dst)
		case Columns:
			v = pointer(s.columns(m, o, at, operand))
		case Count:
			v = number(64, at.lanes)
			if s.name(Columns) != "" {
				v = number(64, len(at.kinds))
			}
		case Bytes:
			v = number(64, at.lanes*s.Spec.Bits/8)
		case Size:
			v = number(64, s.Spec.Bits/8)
		case High:
			v = number(64, at.lanes)
		case Low:
			v = number(64, at.low)
		case Stream:
			v = number(8, 0)
			if at.stream {
				v = number(8, 1)
			}
		case Sign:
			if !at.signed {
				v = number(64, 0)
			}
			m.nonzero[v.t] = at.signed
		case Active:
			if p.pointer {
				r := operand(o.Name, 1)
				r.from, r.to = 0, (r.to+o.Size-1)/o.Size*o.Size
				m.active = o.Name
				v = pointer(r)
				break
			}
			var lanes []*term
			for i := range p.size * 8 {
				lanes = append(lanes, s.symbol(1, o.Name, i))
			}
			v = value{t: s.join(lanes)}
		default:
			switch {
			case !p.pointer:
			case s.Shape == Pack && o.Role == Base && !at.base:
				v = number(64, 0)
			default:
				r := operand(o.Name, o.Bits)
				r.exact = o.Bits == s.Spec.Bits && !s.Overlap
				v = pointer(r)
			}
		}
		m.arguments[p.name] = v
	}
	for _, r := range m.regions {
		if at.same == r.name {
			r.stands = m.dst
			m.dst.content = r.content
		}
	}
	return m, nil
}

// If lanes are computed alike, they have at most mostClaims different expressions.
const mostClaims = 200

// check makes claims of the expressions in dst's lanes, from one lane up to another.
func (s *subject) check(m *machine, at situation, from, to int) error {
	if s.Guarded && slices.Contains(m.dst.unguarded, 1) {
		return errors.New("writes lanes whether they are active or not")
	}
	key := claimKey{spec: s.Spec, signed: at.signed, given: m.given(func(*term) bool { return true })}
	if s.Shape == Warp || s.Shape == Masked {
		key.same = at.same // inactive lanes keep that operand's value
	}
	switch s.Shape {
	case Pack:
		key.same = fmt.Sprint(at.kinds, at.base)
	case Unpack:
		key.same = fmt.Sprint(at.kinds, at.dst)
	}
	met := s.met[key]
	for len(met) < at.lanes {
		met = append(met, nil)
	}
	s.met[key] = met
	n := s.Spec.Bits / 8
	if s.Shape == Unpack && len(at.kinds) == 0 {
		return nil
	}
	for lane := from; lane < to; lane++ {
		if slices.ContainsFunc(met[lane], func(c cell) bool { return s.same(m, lane*n, n, c) }) {
			continue
		}
		have, err := s.lane(m, lane)
		if err != nil {
			return err
		}
		if m.dst.cells != nil {
			met[lane] = append(met[lane], m.dst.cells[lane*n])
		}
		claimed := key
		claimed.have = have
		if err := s.claim(m, claimed, lane, at); err != nil {
			return err
		}
		if len(s.claims) > mostClaims {
			return fmt.Errorf("more than %d different expressions, want lanes to be computed alike", mostClaims)
		}
	}
	return nil
}

// same reports whether bytes of dst are the bytes of c's term from byte k on.
func (s *subject) same(m *machine, offset, size int, c cell) bool {
	if m.dst.cells == nil || c.t == nil {
		return false
	}
	for k := range size {
		if m.dst.cells[offset+k] != (cell{c.t, c.k + uint8(k)}) {
			return false
		}
	}
	return true
}

// lane returns the expression in a lane of dst, with lanes of operands counted from it.
func (s *subject) lane(m *machine, lane int) (*term, error) {
	n := s.Spec.Bits / 8
	var key laneKey
	if m.dst.cells != nil {
		key = laneKey{m.dst.cells[lane*n], lane}
	}
	whole := s.same(m, lane*n, n, key.c)
	if have := s.checked[key]; whole && have != nil {
		return have, nil
	}
	t, err := m.loadTerm(m.dst, lane*n, s.Spec.Bits)
	if err != nil {
		return nil, err
	}
	have := s.relative(t, lane)
	if whole {
		s.checked[key] = have
	}
	return have, nil
}

// claim makes a theorem of a lane's expression, unless it has been made already.
func (s *subject) claim(m *machine, key claimKey, lane int, at situation) error {
	switch s.Shape {
	case Pack:
		return s.claimColumns(m, key, lane, at)
	case Unpack:
		return s.claimElement(m, key, lane, at)
	}
	if _, ok := s.claims[key]; ok {
		return nil
	}
	have := key.have
	th := theorem{Spec: s.Spec, have: have, roles: map[string]Role{}, signed: key.signed, active: s.Shape == Warp || s.Shape == Masked}
	for _, o := range s.Operands {
		if o.Role <= Active && (o.Role != Destination || th.active) {
			th.roles[o.Name] = o.Role
		}
	}
	th.given = key.given
	dst := s.symbol(s.Spec.Bits, s.name(Destination), 0)
	if key.same != "" {
		th.is = [2]string{s.name(Destination), key.same}
		dst = s.symbol(s.Spec.Bits, key.same, 0)
	}
	if active := s.symbol(1, s.name(Active), 0); th.active && have.op == opIte && have.a == active && have.c == dst {
		// An inactive lane keeps its value. An active one is like a lane of a slice.
		th.active, th.have, th.is = false, s.replace(have.b, active, s.constant(1, 1)), [2]string{}
		delete(th.roles, s.name(Destination))
		delete(th.roles, s.name(Active))
	}
	s.add(key, claim{th, lane, at})
	return nil
}

// name returns the name of the operand with a role, or the empty string.
func (s *subject) name(role Role) string {
	for _, o := range s.Operands {
		if o.Role == role {
			return o.Name
		}
	}
	return ""
}

// add adds a claim, unless there is one with its key. It reports whether it did.
func (s *subject) add(key claimKey, c claim) bool {
	if _, ok := s.claims[key]; ok {
		return false
	}
	s.claims[key] = c
	s.order = append(s.order, key)
	return true
}
