// Bench measures each job of a table in several ways: bfi on every kernel of this machine,
// the code that a user would write or pick instead, and the limit of the machine. They take
// turns in one process. Bench prints tables and writes files and plots. README.md says how to
// read them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gobfi/bfi"
	"github.com/gobfi/bfi/internal/tune"
)

const usage = "usage: go -C bench run . [-quick] [-stream] [-run REGEXP] [-benchtime DURATION] [-o DIR] | -readme FILE"

// options are the flags of the command line.
type options struct {
	quick, stream bool
	run           *regexp.Regexp
	benchtime     time.Duration
	rounds        int
	dir           string
	readme        string
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
	fs.BoolVar(&opts.quick, "quick", false, "only lengths that have bars, with little time for each")
	fs.BoolVar(&opts.stream, "stream", false, "print how much stores that bypass the cache gain, by bytes moved")
	run := fs.String("run", "", "only cases whose name matches")
	fs.DurationVar(&opts.benchtime, "benchtime", 0, "time for each contender of each case")
	fs.StringVar(&opts.dir, "o", "results", "directory to write to")
	fs.StringVar(&opts.readme, "readme", "", "print the table of a results file for the README")
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
		opts.rounds = 9
		standard = 3 * time.Millisecond
	}
	if opts.benchtime == 0 {
		opts.benchtime = standard
	}
	return &opts, nil
}

// A benchCase is a job over slices of one length.
type benchCase struct {
	job   *job
	place place
	lanes int // for warps, the active lanes
}

func (c benchCase) String() string { return caseName(c.job, c.place, c.lanes) }

func (c benchCase) length() int {
	if c.job.warp {
		return bfi.WarpSize
	}
	return c.lanes
}

var (
	lengths = []int{1, 2, 3, 4, 8, 16, 32, 64, 128, 256, cached, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
		4 << 20, memory}
	warpLengths = []int{1, 2, 4, 8, 16, 32}
)

// cases returns the cases of the jobs in js that opts asks for.
func cases(js []job, opts *options) []benchCase {
	var cs []benchCase
	for i := range js {
		j := &js[i]
		lanes := lengths
		if j.warp {
			lanes = warpLengths
		}
		places := []place{apart}
		if j.inPlace != 0 && j.operands[0].bits >= 32 {
			places = append(places, inPlace, misaligned)
		}
		for _, at := range places {
			for _, n := range j.lengths(lanes) {
				c := benchCase{j, at, n}
				held := slices.ContainsFunc(j.bars, func(b bar) bool { return b.place == at && b.lanes == n })
				if opts.run.MatchString(c.String()) && (held || !opts.quick || n == cached) {
					cs = append(cs, c)
				}
			}
		}
	}
	return cs
}

// lengths returns the lengths of list and the lengths that have bars. It leaves out lengths at
// which an operand would be longer than memory words of 64 bits.
func (j *job) lengths(list []int) []int {
	lengths := slices.Clone(list)
	if j.sparse != 0 {
		lengths = nil // there are many such jobs, so only lengths with bars
	}
	for _, b := range j.bars {
		lengths = append(lengths, b.lanes)
	}
	slices.Sort(lengths)
	return slices.DeleteFunc(slices.Compact(lengths), func(n int) bool { return n*j.laneWords() > memory })
}

func bench(opts *options, stdout, stderr io.Writer) error {
	if opts.readme != "" {
		text, err := readmeTable(opts.readme)
		if err == nil {
			_, err = io.WriteString(stdout, text)
		}
		return err
	}
	js := jobs()
	todo := cases(js, opts)
	if len(todo) == 0 {
		return fmt.Errorf("-run %q matches no case; cases are named like %s", opts.run, benchCase{&js[0], apart, cached})
	}
	for _, missing := range leftOut() {
		fmt.Fprintln(stderr, missing)
	}
	debug.SetGCPercent(-1) // little more than the operands is allocated
	if opts.stream {
		return gains(todo, opts, stdout)
	}
	res := newResult(opts)
	name := res.slug()
	if opts.quick || opts.run.String() != "" {
		name += "-partial" // the results of a whole run must stay
	}
	path := filepath.Join(opts.dir, name)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	start := time.Now()
	longest, harsh := 0, 0
	for _, c := range todo {
		longest = max(longest, c.length()*c.job.laneWords())
		harsh = max(harsh, harshLanes*c.job.laneWords())
	}
	s, small := newStore(longest), newStore(harsh)
	for i, c := range todo {
		// Check the answers once for each place, and fill the streams once for each job.
		if i == 0 || todo[i-1].job != c.job || todo[i-1].place != c.place {
			fmt.Fprintf(stderr, "[%d/%d] %s, %s\n", i, len(todo), c.job.name, c.place)
			if err := checkHarsh(small, c.job, c.place); err != nil {
				return err
			}
		}
		if i == 0 || todo[i-1].job != c.job {
			lanes := 0
			for _, o := range todo[i:] {
				if o.job == c.job {
					lanes = max(lanes, o.length())
				}
			}
			s.fill(c.job, lanes, false)
		}
		x := s.operands(c.job, c.place, c.length())
		if c.job.warp {
			x.active = spread(c.lanes)
		}
		cs := contenders(x)
		for k := range cs {
			if err := cs[k].check(x); err != nil {
				return err
			}
		}
		res.add(c, cs, measure(cs, opts.benchtime, opts.rounds))
	}
	res.print(stdout)
	if err := res.write(path); err != nil {
		return err
	}
	if err := res.plot(js, path); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "wrote %s.json, %[1]s.bench and the plots in %[1]s after %v\n",
		path, time.Since(start).Round(time.Second))
	return nil
}

// leftOut returns notes about the contenders that cannot take part in this process.
func leftOut() []string {
	var list []string
	insert := insertJob[uint32]("u32", nil)
	x := newStore(1).operands(&insert, apart, 1)
	if cCompiler == "" {
		list = append(list, "no C, libyuv and limit: the go command found no C compiler")
	} else if cWork("MergeARGBPlane", x) == nil {
		list = append(list, "no libyuv: its shared library is missing (Debian: libyuv0)")
	}
	if archsimdWork(x) == nil {
		list = append(list, "no archsimd: it needs GOEXPERIMENT=simd, amd64 and AVX-512")
	}
	return list
}

// spread returns a mask with n of 32 lanes active, evenly spread. If n is 16, every other lane
// is active.
func spread(n int) uint32 {
	var mask uint32
	for i := range n {
		mask |= 1 << (i * bfi.WarpSize / n)
	}
	return mask
}

// gains prints how much stores that bypass the cache gain over stores that do not, for each job
// and kernel, by how much a call moves. The library's threshold should be where the ratio
// becomes more than 1.
func gains(todo []benchCase, opts *options, stdout io.Writer) error {
	if len(tune.Kernels) == 1 {
		return errors.New("-stream: the portable kernels have no stores that bypass the cache")
	}
	fmt.Fprintf(stdout, "Calls with stores that bypass the cache, times as fast as with other stores, "+
		"by how much a call moves.\nThe library has such stores from %d MiB on.\n", libraryStreamBytes>>20)
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "job\tkernel\t")
	for _, moved := range movedMebibytes {
		fmt.Fprintf(t, "%d MiB\t", moved)
	}
	fmt.Fprintln(t)
	for i, c := range todo {
		if c.job.warp || i > 0 && todo[i-1].job == c.job {
			continue
		}
		bits := c.job.laneBits(apart)
		most := movedMebibytes[len(movedMebibytes)-1] << 23 / bits
		s := newStore(most * c.job.laneWords())
		s.fill(c.job, most, false)
		for _, kernel := range tune.Kernels[1:] {
			fmt.Fprintf(t, "%s\t%s\t", c.job.name, kernel)
			for _, moved := range movedMebibytes {
				x := s.operands(c.job, apart, moved<<23/bits)
				run, _ := c.job.work(x)
				samples := measure([]contender{{library, kernel, 0, run}, {cachedStores, kernel, math.MaxInt, run}},
					5*opts.benchtime, opts.rounds)
				fmt.Fprintf(t, "%.2f\t", quantile(ratios(samples[1], samples[0]), 0.5))
			}
			fmt.Fprintln(t)
		}
		runtime.GC() // this job's operands may be large
	}
	return t.Flush()
}

var movedMebibytes = []int{24, 48, 72, 96, 144, 192, 384}
