// Bench times every function of bfi, on every kernel of this machine, against
// what a user would write instead and against the limits of the machine, all in
// one process and in turn. It prints a table and writes a file and plots. See
// README.md for how to read them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

const usage = "usage: go -C bench run . [-quick] [-run REGEXP] [-benchtime DURATION] [-o DIR]"

// options are what the command line says.
type options struct {
	quick     bool
	run       *regexp.Regexp
	benchtime time.Duration
	rounds    int
	dir       string
}

func main() {
	opts, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		fmt.Println(usage)
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n%s\n", err, usage)
		os.Exit(2)
	}
	if err := bench(opts, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	var opts options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&opts.quick, "quick", false, "few lengths, little time each")
	run := fs.String("run", "", "only cases whose name matches")
	fs.DurationVar(&opts.benchtime, "benchtime", 0, "time for each contender of each case")
	fs.StringVar(&opts.dir, "o", "results", "directory to write to")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	var err error
	if opts.run, err = regexp.Compile(*run); err != nil {
		return nil, fmt.Errorf("-run: %v", err)
	}
	if opts.benchtime < 0 {
		return nil, fmt.Errorf("-benchtime is %v, want more than 0", opts.benchtime)
	}
	opts.rounds = 25
	standard := 30 * time.Millisecond
	if opts.quick {
		opts.rounds = 3
		standard = time.Millisecond
	}
	if opts.benchtime == 0 {
		opts.benchtime = standard
	}
	return &opts, nil
}

// A benchCase is one function over slices of one length.
type benchCase struct {
	fn    function
	bits  int
	place place
	lanes int // of warp functions, those that are active
}

// String is what -run is matched with.
func (c benchCase) String() string {
	return fmt.Sprintf("%s/u%d/%s/%d", c.fn, c.bits, strings.ReplaceAll(c.place.String(), " ", "-"), c.lanes)
}

var (
	fullLanes  = []int{1, 2, 4, 8, 16, 31, 64, 128, 256, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 24 << 20, 64 << 20}
	quickLanes = []int{1, 8, 64, 512, 1 << 10, 64 << 10, 4 << 20}
	warpLanes  = []int{1, 2, 4, 8, 16, 32}
)

// memoryLanes is the length at which the comparisons look at memory, larger than
// any cache: in quick runs larger than most.
func memoryLanes(quick bool) int {
	if quick {
		return 4 << 20
	}
	return 24 << 20
}

// firstLevelLanes is the length at which the comparisons look at the first-level
// cache: every stream has 4 KiB.
func firstLevelLanes(bits int) int { return 4 << 10 * 8 / bits }

func cases(opts *options) []benchCase {
	var cs []benchCase
	for fn := range function(len(functionNames)) {
		for _, bits := range []int{32, 64} {
			for pl := range place(len(placeNames)) {
				lanes := fullLanes
				switch {
				case fn.warp() && pl != apartPlace:
					continue
				case fn.warp():
					lanes = warpLanes
				case opts.quick:
					lanes = quickLanes
				}
				for _, n := range lanes {
					// The longest slices are about memory, which does not care.
					if pl == misalignedPlace && n == lanes[len(lanes)-1] {
						continue
					}
					if c := (benchCase{fn, bits, pl, n}); opts.run.MatchString(c.String()) {
						cs = append(cs, c)
					}
				}
			}
		}
	}
	return cs
}

func bench(opts *options, stdout, stderr io.Writer) error {
	todo := cases(opts)
	if len(todo) == 0 {
		return fmt.Errorf("-run %q matches no case; cases are named like %s", opts.run, benchCase{insertFn, 32, apartPlace, 1024})
	}
	res := newResult(opts.benchtime, opts.rounds)
	name := res.slug()
	if opts.quick || opts.run.String() != "" {
		name += "-partial" // to keep the results of a whole run
	}
	figures := filepath.Join(opts.dir, name)
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return err
	}
	if cCompiler == "" {
		fmt.Fprintln(stderr, "C is left out: the go command found no C compiler")
	}
	if simdVectors == "" {
		fmt.Fprintln(stderr, "archsimd is left out: set GOEXPERIMENT=simd on amd64 with AVX2 to have it")
	}

	words := 0
	for _, c := range todo {
		words = max(words, (max(c.lanes, 32)*c.bits+63)/64)
	}
	debug.SetGCPercent(-1) // nothing but the operands is of any size
	b := &benchmark{opts: opts, result: res, memory: newMemory(words), small: newMemory(harshLanes)}
	start := time.Now()
	progress := newProgress(stderr, len(todo))
	for i, c := range todo {
		progress(i, c.String())
		fresh := i == 0 || todo[i-1].fn != c.fn || todo[i-1].bits != c.bits
		freshPlace := fresh || todo[i-1].place != c.place
		var err error
		if c.bits == 32 {
			err = runCase[uint32](b, c, longest(todo[i:], c), fresh, freshPlace)
		} else {
			err = runCase[uint64](b, c, longest(todo[i:], c), fresh, freshPlace)
		}
		if err != nil {
			return fmt.Errorf("wrong answer: %w", err)
		}
	}
	progress(len(todo), fmt.Sprintf("done in %v", time.Since(start).Round(time.Second)))

	res.print(stdout)
	path := filepath.Join(opts.dir, name+".json")
	if err := res.write(path); err != nil {
		return err
	}
	if err := res.plot(figures); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "wrote %s and the plots in %s\n", path, figures)
	return nil
}

// longest is the most lanes of the cases that share c's function and word.
func longest(todo []benchCase, c benchCase) int {
	n := 32
	for _, d := range todo {
		if d.fn != c.fn || d.bits != c.bits {
			break
		}
		n = max(n, d.lanes)
	}
	return n
}

// newProgress returns a function that shows how far the run is: in one line of
// a terminal, or in a line for each group of cases.
func newProgress(w io.Writer, total int) func(done int, what string) {
	terminal := false
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	last := ""
	return func(done int, what string) {
		if terminal {
			fmt.Fprintf(w, "\r\x1b[K[%d/%d] %s", done, total, what)
			if done == total {
				fmt.Fprintln(w)
			}
			return
		}
		if i := strings.LastIndex(what, "/"); i >= 0 {
			what = what[:i]
		}
		if what != last {
			fmt.Fprintf(w, "[%d/%d] %s\n", done, total, what)
			last = what
		}
	}
}

// A benchmark is a run under way.
type benchmark struct {
	opts   *options
	result *result
	memory *memory
	small  *memory // for checks with harsh operands
}

// runCase measures one case. The first of a function and word also fills the
// memory for all of them, and the first of a place has every contender's answers
// checked on operands that expose each bit.
func runCase[T word](b *benchmark, c benchCase, longest int, fresh, freshPlace bool) error {
	if fresh {
		fill[T](b.memory, c.fn, longest, false)
	}
	if freshPlace {
		if err := checkHarsh[T](b.small, c.fn, c.place); err != nil {
			return err
		}
	}
	n := c.lanes
	if c.fn.warp() {
		n = 32
	}
	o := newOperands[T](b.memory, c.fn, c.place, n)
	if c.fn.warp() {
		o.active = activeMask(c.lanes)
	}
	cs := contenders(c.fn, o)
	for i := range cs {
		if err := check(&cs[i], c.fn, o); err != nil {
			return err
		}
	}
	samples := measure(cs, b.opts.benchtime, b.opts.rounds)
	for i := range cs {
		b.result.series(c, cs[i].name).add(c.lanes, newTiming(samples[i]))
	}
	b.result.compare(c, b.opts.quick, cs, samples)
	return nil
}

// series is that of a contender in c, made if it is the first.
func (r *result) series(c benchCase, contender string) *series {
	for _, s := range r.Series {
		if s.Function == c.fn.String() && s.Bits == c.bits && s.Place == c.place.String() && s.Contender == contender {
			return s
		}
	}
	s := &series{Function: c.fn.String(), Bits: c.bits, Place: c.place.String(), Contender: contender}
	r.Series = append(r.Series, s)
	return s
}

// activeMask has n lanes of 32 active, spread evenly: 32 is all, 16 is every
// other.
func activeMask(n int) uint32 {
	var mask uint32
	for i := range n {
		mask |= 1 << (i * 32 / n)
	}
	return mask
}

const harshLanes = 301

// checkHarsh checks every contender on short slices of any bits, pos and width,
// and on fields that lie in the word, end it, run past it and are none.
func checkHarsh[T word](m *memory, fn function, pl place) error {
	fields := [][2]uint32{{0, 0}, {0, 32}, {0, 64}, {3, 7}, {31, 1}, {5, 200}, {32, 1}, {40, 24}, {63, 1}, {64, 9}, {255, 255}, {0x105, 0x107}}
	masks := []uint32{0xffffffff, 0x55555555, 0x80000001, 0, 0x13579bdf}
	n := harshLanes
	if fn.warp() {
		n = 32
	}
	for i, f := range fields {
		fill[T](m, fn, n, true)
		o := newOperands[T](m, fn, pl, n)
		o.fieldPos, o.fieldWidth = f[0], f[1]
		o.active = masks[i%len(masks)]
		cs := contenders(fn, o)
		for j := range cs {
			if err := check(&cs[j], fn, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// A bar is a comparison that the tables end with: how much faster than another
// contender a kernel shall be over 32-bit words, and the warp functions over
// either, or 0 where nothing holds it to a figure.
type bar struct {
	fn           function
	place        place
	lanes        int // firstLevel, inMemory, or of warp functions those that are active
	than         string
	avx512, avx2 float64
}

const (
	firstLevel = -1
	inMemory   = -2
)

var bars = []bar{
	{insertFn, apartPlace, firstLevel, goLoopName, 20, 10},
	{insertFn, apartPlace, firstLevel, cLoopName, 1, 0},
	{insertFn, apartPlace, firstLevel, limitName(), 0.95, 0},
	{insertFn, apartPlace, firstLevel, simdName, 4, 0},
	{insertFn, apartPlace, inMemory, cLoopName, 1.25, 0},
	{insertFn, apartPlace, inMemory, cachedNote, 1.25, 1.25},
	{insertFn, inPlacePlace, inMemory, limitName(), 0.97, 0},
	{insertFn, misalignedPlace, firstLevel, cLoopName, 1, 0},
	{insertEachFn, apartPlace, firstLevel, goLoopName, 25, 8},
	{insertEachFn, apartPlace, firstLevel, cLoopName, 1.35, 0},
	{insertEachFn, apartPlace, firstLevel, simdName, 4, 0},
	{extractFn, apartPlace, firstLevel, goLoopName, 15, 0},
	{extractFn, apartPlace, firstLevel, cLoopName, 1, 0},
	{extractEachFn, apartPlace, firstLevel, goLoopName, 15, 0},
	{extractEachFn, apartPlace, firstLevel, cLoopName, 1.3, 0},
	{packFn, apartPlace, firstLevel, insertsName, 2, 0},
	{packFn, apartPlace, firstLevel, cLoopName, 0.9, 0},
	{packFn, apartPlace, inMemory, insertsName, 1.9, 0},
	{packFn, apartPlace, inMemory, cLoopName, 0.9, 0},
	{unpackFn, apartPlace, firstLevel, extractName, 2, 0},
	{unpackFn, apartPlace, firstLevel, cLoopName, 0.9, 0},
	{unpackFn, apartPlace, inMemory, extractName, 1.9, 0},
	{unpackFn, apartPlace, inMemory, cLoopName, 0.9, 0},
	{insertWarpFn, apartPlace, 32, goLoopName, 15, 7.5},
	{insertWarpFn, apartPlace, 16, goLoopName, 8, 4},
	{insertWarpFn, apartPlace, 2, goLoopName, 3, 1.5},
	{insertWarpFn, apartPlace, 32, cLoopName, 1.5, 0},
	{insertWarpFn, apartPlace, 16, cLoopName, 1.5, 0},
	{insertWarpFn, apartPlace, 2, cLoopName, 1.5, 0},
	{selectWarpFn, apartPlace, 32, goLoopName, 15, 7.5},
	{selectWarpFn, apartPlace, 16, goLoopName, 8, 4},
	{selectWarpFn, apartPlace, 2, goLoopName, 3, 1.5},
	{selectWarpFn, apartPlace, 32, cLoopName, 1.5, 0},
	{selectWarpFn, apartPlace, 16, cLoopName, 1.5, 0},
	{selectWarpFn, apartPlace, 2, cLoopName, 1.5, 0},
	{extractWarpFn, apartPlace, 32, goLoopName, 0, 0},
	{extractWarpFn, apartPlace, 16, goLoopName, 0, 0},
	{extractWarpFn, apartPlace, 2, goLoopName, 0, 0},
	{extractWarpFn, apartPlace, 32, cLoopName, 0, 0},
	{extractWarpFn, apartPlace, 16, cLoopName, 0, 0},
	{extractWarpFn, apartPlace, 2, cLoopName, 0, 0},
}

// compare appends the comparisons of every kernel that c has data for.
func (r *result) compare(c benchCase, quick bool, cs []contender, samples [][]float64) {
	find := func(name string) []float64 {
		for i := range cs {
			if cs[i].name == name {
				return samples[i]
			}
		}
		return nil
	}
	for _, kernel := range r.Kernels {
		ours := find("bfi " + kernel)
		for _, bar := range bars {
			lanes := bar.lanes
			switch lanes {
			case firstLevel:
				lanes = firstLevelLanes(c.bits)
			case inMemory:
				lanes = memoryLanes(quick)
			}
			if bar.fn != c.fn || bar.place != c.place || lanes != c.lanes {
				continue
			}
			than := bar.than
			switch than {
			case cachedNote:
				than = "bfi " + kernel + cachedNote
			case insertsName, extractName:
				than += kernel
			}
			theirs := find(than)
			if theirs == nil {
				continue
			}
			t := newTiming(ratios(theirs, ours))
			x := comparison{
				Kernel: kernel, Function: c.fn.String(), Bits: c.bits, Place: c.place.String(), Lanes: c.lanes,
				Contender: than, Ratio: round(t.median), Q1: round(t.q1), Q3: round(t.q3),
			}
			if c.bits == 32 || c.fn.warp() {
				x.Bar = map[string]float64{"avx512": bar.avx512, "avx2": bar.avx2}[kernel]
			}
			r.Comparisons = append(r.Comparisons, x)
		}
	}
}
