// Ptx runs a PTX kernel in a small emulator of a GPU, a warp of 32 lanes at a
// time, whose bfi instructions are calls of [bfi.InsertWarp].
//
//	ptx [-threads n] [file.ptx]
//
// Without a file it runs kernel/pixel.ptx, which clang made of kernel/pixel.c: it
// packs the channels of pixels into 10-10-10-2 words. Its result is compared with
// that of a Go loop. Then the kernel is timed with its bfi on bfi.InsertWarp and
// in a plain loop over the lanes.
//
// Another file is run and timed in the same way; there is nothing to compare its
// result with, so that hashes of its buffers are printed. It must hold one kernel.
// Each of its 64-bit parameters is bound to a buffer of its own, of 16 bytes a
// thread, filled with pseudo-random bits, the same in every run; each 32-bit
// parameter to n. The n threads are rounded up to whole blocks of 128 (or one
// block of n, if n is less), as in CUDA, while the buffers are not: a kernel must
// check its bounds.
//
// What a kernel may use (anything else is an error, not a guess):
//
//   - registers and parameters of 32 and 64 bits (.b, .u, .s), and .pred
//     registers; blocks in braces with registers and labels of their own; guards
//     @p and @!p; %tid, %ntid, %ctaid, %nctaid, %laneid
//   - ld.param, ld.global, ld.global.nc, st.global, cvta.to.global
//   - mov, selp, cvt between integers, add, sub, mul.lo, mul.wide, mad.lo,
//     mad.wide, min, max, neg, and, or, xor, not, shl, shr, bfi, bfe, setp (one
//     comparison)
//   - bra, ret, exit
//
// A register that was not written is 0. Memory is global memory; threads do not
// communicate, so that each warp runs from its start to its end.
package main

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/gobfi/bfi"
)

//go:embed kernel/pixel.ptx
var pixelPTX string

const (
	maxThreads     = 1 << 22
	bytesPerThread = 16 // of the buffers for another file
	rounds         = 11 // of the timing
)

const usage = `usage: ptx [-threads n] [file.ptx]

Runs the PTX kernel in the file, or a built-in one, in n threads (default 100003),
with bfi executed by bfi.InsertWarp, and times it against a loop over the lanes.

The result of the built-in kernel is checked. For a file, each 64-bit parameter of
its kernel is a buffer of 16 pseudo-random bytes a thread, each 32-bit parameter
is n, and hashes of the buffers are printed. Threads are rounded up to whole blocks
of 128, so that the kernel must check its bounds.

Supported, on integers of 32 and 64 bits and predicates, with guards and blocks:
  ld.param ld.global ld.global.nc st.global cvta.to.global mov selp cvt add sub
  mul.lo mul.wide mad.lo mad.wide min max neg and or xor not shl shr bfi bfe setp
  bra ret exit; %tid %ntid %ctaid %nctaid %laneid
`

func main() {
	if err := emulate(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ptx:", err)
		os.Exit(1)
	}
}

func emulate(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ptx", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	threads := flags.Int("threads", 100003, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err := io.WriteString(out, usage)
		return err
	case err != nil:
		return err
	case *threads < 1 || *threads > maxThreads:
		return fmt.Errorf("-threads %d, want 1 to %d", *threads, maxThreads)
	case flags.NArg() > 1:
		return fmt.Errorf("%d files, want one: flags come before it", flags.NArg())
	}
	if flags.NArg() == 1 {
		file := flags.Arg(0)
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return runFile(out, file, string(source), *threads)
	}
	return runPixels(out, *threads)
}

// runPixels runs the built-in kernel and checks its result.
func runPixels(out io.Writer, threads int) error {
	e, err := newExperiment("pixel.ptx", pixelPTX, threads)
	if err != nil {
		return err
	}
	px := newPixels(threads)
	e.arguments = px.arguments()
	buffers, err := e.run(out)
	if err != nil {
		return err
	}
	if err := px.check(buffers); err != nil {
		return err
	}
	fmt.Fprintln(out, "the result is that of a Go loop over the same data")
	return e.time(out)
}

// runFile runs another kernel and prints hashes of its buffers.
func runFile(out io.Writer, file, source string, threads int) error {
	e, err := newExperiment(file, source, threads)
	if err != nil {
		return err
	}
	e.arguments = defaultArguments(e.fast.params, threads)
	buffers, err := e.run(out)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the result is not checked; FNV-1a hashes of the buffers:")
	for i, p := range e.fast.params {
		if buffers[i] == nil {
			continue
		}
		change := "written to"
		if bytes.Equal(buffers[i], e.arguments[i].buffer) {
			change = "unchanged"
		}
		h := fnv.New64a()
		h.Write(buffers[i])
		fmt.Fprintf(out, "  %s  %016x  %d bytes, %s\n", p.name, h.Sum64(), len(buffers[i]), change)
	}
	return e.time(out)
}

// defaultArguments are those for a kernel that nothing is known of.
func defaultArguments(params []param, threads int) []argument {
	args := make([]argument, len(params))
	for i, p := range params {
		args[i].number = uint32(threads)
		if !p.pointer() {
			continue
		}
		random := rand.New(rand.NewPCG(0, uint64(i)))
		for range threads * bytesPerThread / 8 {
			args[i].buffer = binary.LittleEndian.AppendUint64(args[i].buffer, random.Uint64())
		}
	}
	return args
}

// An experiment is a kernel decoded twice, with bfi on bfi.InsertWarp and in a
// loop over the lanes, and what it is run with.
type experiment struct {
	fast, scalar *program
	threads      int
	arguments    []argument // copied for each launch, which may write to them
}

func newExperiment(file, source string, threads int) (*experiment, error) {
	fast, err := parse(file, source, false)
	if err != nil {
		return nil, err
	}
	scalar, err := parse(file, source, true)
	return &experiment{fast: fast, scalar: scalar, threads: threads}, err
}

// launch runs one of the two programs and times it. It gives the buffers of
// each argument as the kernel left them.
func (e *experiment) launch(p *program) (buffers [][]byte, c counts, d time.Duration, err error) {
	args := slices.Clone(e.arguments)
	for i := range args {
		args[i].buffer = slices.Clone(args[i].buffer)
		buffers = append(buffers, args[i].buffer)
	}
	start := time.Now()
	c, err = p.launch(e.threads, args)
	return buffers, c, time.Since(start), err
}

// run runs both programs once, compares their results and prints what they did.
func (e *experiment) run(out io.Writer) ([][]byte, error) {
	buffers, c, _, err := e.launch(e.fast)
	if err != nil {
		return nil, err
	}
	other, _, _, err := e.launch(e.scalar)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s of %s for n = %d: %d blocks of %d threads, bfi.Kernel() = %s\n",
		e.fast.kernel, e.fast.file, e.threads, c.blocks, c.perBlock, bfi.Kernel())
	fmt.Fprintf(out, "%d warps executed %d instructions; %d branches, of which %d divided their warp\n",
		c.warps, c.instructions, c.branches, c.splits)
	fmt.Fprintf(out, "%d of the instructions were bfi", c.bfi)
	if c.bfi > 0 {
		fmt.Fprintf(out, ", in %.1f of 32 lanes on average", float64(c.bfiLanes)/float64(c.bfi))
	}
	fmt.Fprintln(out)
	for i := range buffers {
		if !bytes.Equal(buffers[i], other[i]) {
			return nil, fmt.Errorf("parameter %s: bfi.InsertWarp and the loop over the lanes differ", e.fast.params[i].name)
		}
	}
	return buffers, nil
}

// time times the two programs against each other: the whole kernel, and its bfi
// instructions alone, in all lanes.
func (e *experiment) time(out io.Writer) error {
	inserts := e.fast.inserts()
	if len(inserts) == 0 {
		fmt.Fprintln(out, "there is no bfi to time")
		return nil
	}
	var failed error
	whole := func(p *program) time.Duration {
		_, _, d, err := e.launch(p)
		failed = errors.Join(failed, err)
		return d
	}
	fast, scalar := medians(whole, e.fast, e.scalar)
	if failed != nil {
		return failed
	}
	fmt.Fprintf(out, "medians of %d rounds:       bfi.InsertWarp   loop over lanes\n", rounds)
	fmt.Fprintf(out, "  the kernel                 %10.2f ms     %10.2f ms   %5.2fx\n",
		fast.Seconds()*1e3, scalar.Seconds()*1e3, float64(scalar)/float64(fast))

	const repeats = 5000
	alone := func(p *program) time.Duration {
		inserts := p.inserts()
		start := time.Now()
		for range repeats {
			for _, run := range inserts {
				run(^uint32(0))
			}
		}
		return time.Since(start)
	}
	fast, scalar = medians(alone, e.fast, e.scalar)
	each := float64(repeats * len(inserts))
	fmt.Fprintf(out, "  one bfi, all lanes active  %10.2f ns     %10.2f ns   %5.2fx\n",
		float64(fast)/each, float64(scalar)/each, float64(scalar)/float64(fast))
	return nil
}

// inserts are the bfi instructions of the program.
func (p *program) inserts() (runs []run) {
	for _, in := range p.code {
		if in.bfi {
			runs = append(runs, in.run)
		}
	}
	return runs
}

// medians times f of both programs in turn.
func medians(f func(*program) time.Duration, a, b *program) (time.Duration, time.Duration) {
	var ofA, ofB []time.Duration
	for range rounds {
		ofA = append(ofA, f(a))
		ofB = append(ofB, f(b))
	}
	slices.Sort(ofA)
	slices.Sort(ofB)
	return ofA[rounds/2], ofB[rounds/2]
}
