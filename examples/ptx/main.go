// Ptx runs PTX kernels in a small emulator of a GPU, a warp of 32 lanes at a time,
// whose bfi and bfe are calls of the library: [bfi.InsertMasked] and
// [bfi.ExtractMasked] where pos and width are immediates, otherwise
// [bfi.InsertWarp] and [bfi.ExtractWarp]. usage.txt says how to run it.
package main

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gobfi/bfi"
)

// pixelPTX is what clang made of kernel/pixel.c.
//
//go:embed kernel/pixel.ptx
var pixelPTX string

//go:embed usage.txt
var usage string

func main() {
	if err := emulate(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ptx:", err)
		os.Exit(1)
	}
}

func emulate(args []string, out io.Writer) error {
	var values []string
	flags := flag.NewFlagSet("ptx", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	threads, entry, outFile := flags.Int("threads", 100003, ""), flags.String("entry", "", ""), flags.String("out", "", "")
	flags.Func("arg", "", func(value string) error { values = append(values, value); return nil })
	err := flags.Parse(args)
	builtIn := flags.NArg() == 0
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, err = fmt.Fprintf(out, "%s%s\n", usage, supported())
		return err
	case err != nil:
		return err
	case binary.NativeEndian.Uint16([]byte{1, 0}) != 1:
		return errors.New("PTX memory is little-endian, and this machine is not")
	case *threads < 1 || *threads > maxThreads:
		return fmt.Errorf("-threads %d, want 1 to %d", *threads, maxThreads)
	case flags.NArg() > 1:
		return fmt.Errorf("%d files, want one: flags come before it", flags.NArg())
	case builtIn && (*entry != "" || *outFile != "" || values != nil):
		return errors.New("-entry, -arg and -out are for a file.ptx, and there is none")
	}
	file, source, px := "pixel.ptx", []byte(pixelPTX), newPixels(*threads)
	if !builtIn {
		file = flags.Arg(0)
		if source, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	p, err := parse(file, string(source), *entry)
	if err != nil {
		return err
	}
	arguments := px.arguments()
	if !builtIn {
		if arguments, err = parseArguments(p, values, *threads); err != nil {
			return err
		}
	}
	start := time.Now()
	c, err := p.launch(*threads, arguments)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s of %s for n = %d: %d blocks of %d threads, bfi.Kernel() = %s\n", p.kernel, file, *threads, c.blocks, c.perBlock, bfi.Kernel())
	fmt.Fprintf(out, "%d warps executed %d instructions in %.2f ms; %d branches, of which %d divided their warp\n",
		c.warps, c.instructions, time.Since(start).Seconds()*1e3, c.branches, c.splits)
	fmt.Fprintf(out, "%d of the instructions were bfi or bfe, in %.1f of 32 lanes on average\n", c.fields, float64(c.fieldLanes)/float64(max(c.fields, 1)))
	if builtIn {
		if err = px.check(arguments); err == nil {
			_, err = fmt.Fprintln(out, "the result is that of a Go loop over the same data")
		}
		return err
	}
	fmt.Fprintln(out, "the result is not checked; FNV-1a hashes of the buffers:")
	var zeros, all []byte
	for i, a := range arguments {
		if a.buffer != nil {
			h := fnv.New64a()
			h.Write(a.buffer)
			fmt.Fprintf(out, "  %s  %016x  %d bytes\n", p.params[i].name, h.Sum64(), len(a.buffer))
		}
		if all = append(all, a.buffer...); a.zero {
			zeros = append(zeros, a.buffer...)
		}
	}
	if *outFile == "" {
		return nil
	}
	return os.WriteFile(*outFile, choose(zeros == nil, all, zeros), 0o666)
}

// parseArguments reads the values of -arg, or makes arguments up if there are none.
func parseArguments(p *program, values []string, threads int) ([]argument, error) {
	args := make([]argument, len(p.params))
	if values != nil && len(values) != len(p.params) {
		return nil, fmt.Errorf("-arg was given %d times, want %d: %s has the parameters %v", len(values), len(p.params), p.kernel, p.params)
	}
	for i, p := range p.params {
		a, is64 := &args[i], p.value.bits == 64
		if values == nil {
			if a.number = uint64(threads); is64 {
				a.buffer = make([]byte, 16*threads)
				rand.NewChaCha8([32]byte{byte(i)}).Read(a.buffer)
			}
			continue
		}
		ok, err := is64, error(nil)
		if file, isFile := strings.CutPrefix(values[i], "@"); isFile {
			a.buffer, err = os.ReadFile(file)
		} else if count, isZero := strings.CutPrefix(values[i], "zero:"); isZero {
			var n uint64
			n, err = strconv.ParseUint(count, 0, 64)
			a.buffer, a.zero = make([]byte, min(n, maxBuffer+1)), true
		} else {
			a.number, ok = integer(values[i], p.value.bits)
		}
		if err != nil || !ok || len(a.buffer) > maxBuffer {
			return nil, fmt.Errorf("-arg %s for %v: want a number of its size or, for 64 bits, @FILE or zero:BYTES, of at most %d bytes (%v)",
				values[i], p, maxBuffer, err)
		}
	}
	return args, nil
}
