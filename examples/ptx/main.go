// Ptx runs PTX kernels in a small emulator of a GPU, a warp of 32 lanes at a time. The
// library executes bfi and bfe:
//
//	pos and width     bfi                   bfe
//	immediates        [bfi.InsertMasked]    [bfi.ExtractMasked]
//	in registers      [bfi.InsertWarp]      [bfi.ExtractWarp]
//
// usage.txt says how to run it.
package main

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/gobfi/bfi"
)

// pixelPTX is the PTX that clang makes of kernel/pixel.c.
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
		return fmt.Errorf("%d files, want one file, and flags before it", flags.NArg())
	case builtIn && (*entry != "" || *outFile != "" || values != nil):
		return errors.New("-entry, -arg and -out need a file.ptx")
	}
	file, source, px := "pixel.ptx", []byte(pixelPTX), newPixels(*threads)
	if !builtIn {
		file = flags.Arg(0)
		if source, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	p, err := parse(file, string(source), *entry)
	arguments := px.arguments()
	if err == nil && !builtIn {
		arguments, err = parseArguments(p, values, *threads)
	}
	if err != nil {
		return err
	}
	start := time.Now()
	c, err := p.launch(*threads, arguments)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s of %s for n = %d: %d blocks of %d threads, bfi.Kernel() = %s\n",
		p.kernel, file, *threads, c.blocks, c.perBlock, bfi.Kernel())
	fmt.Fprintf(out, "%d warps executed %d instructions in %.2f ms; %d branches, %d of them divided a warp\n",
		c.warps, c.instructions, time.Since(start).Seconds()*1e3, c.branches, c.splits)
	fmt.Fprintf(out, "%d of the instructions were bfi or bfe, in %.1f of 32 lanes on average\n",
		c.fields, float64(c.fieldLanes)/float64(max(c.fields, 1)))
	if builtIn {
		if err = px.check(arguments); err == nil {
			_, err = fmt.Fprintln(out, "a Go loop over the same data gives the same result")
		}
		return err
	}
	fmt.Fprintln(out, "the result is not checked; the buffers:")
	var zeros, all []byte
	for i, a := range arguments {
		if a.buffer != nil {
			fmt.Fprintf(out, "  %s  %d bytes\n", p.params[i].name, len(a.buffer))
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

// parseArguments returns the values of -arg. Without -arg, it makes up the values.
func parseArguments(p *program, values []string, threads int) ([]argument, error) {
	args := make([]argument, len(p.params))
	if values != nil && len(values) != len(p.params) {
		return nil, fmt.Errorf("-arg was given %d times, want %d: %s has the parameters %v",
			len(values), len(p.params), p.kernel, p.params)
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
			n, isNumber := integer(count, 64)
			ok, a.zero, a.buffer = ok && isNumber, true, make([]byte, min(n, maxBuffer+1))
		} else {
			a.number, ok = integer(values[i], p.value.bits)
		}
		if err != nil || !ok || len(a.buffer) > maxBuffer {
			return nil, fmt.Errorf("-arg %s for %v: want a number of its size; "+
				"for 64 bits also @FILE or zero:BYTES of at most %d bytes (%v)", values[i], p, maxBuffer, err)
		}
	}
	return args, nil
}

// The built-in kernel puts the depth in this field.
const depthPos, depthLen = 32, 24

// pixels has the planes that the built-in kernel reads, one for each channel.
type pixels struct{ red, green, blue, alpha, depth []uint32 }

func newPixels(n int) pixels {
	random := rand.New(rand.NewPCG(10, 2))
	plane := func(bits int) []uint32 {
		p := make([]uint32, n)
		for i := range p {
			p[i] = random.Uint32N(1 << bits)
		}
		return p
	}
	return pixels{plane(10), plane(10), plane(10), plane(2), plane(depthLen)}
}

// arguments returns the arguments of pack_pixels in kernel/pixel.c.
func (px pixels) arguments() []argument {
	n := len(px.red)
	args := []argument{{buffer: make([]byte, 4*n)}, {buffer: make([]byte, 4*n)}, {buffer: make([]byte, 8*n)}}
	for _, plane := range [][]uint32{px.red, px.green, px.blue, px.alpha, px.depth} {
		b, _ := binary.Append(nil, binary.LittleEndian, plane)
		args = append(args, argument{buffer: b})
	}
	return append(args, argument{number: depthPos}, argument{number: depthLen}, argument{number: uint64(n)})
}

// check compares the kernel's results with those of a loop over the pixels.
func (px pixels) check(args []argument) error {
	for i, a := range px.alpha {
		var word, small uint32
		var nearest uint64
		if a != 0 {
			r, g, b := px.red[i], px.green[i], px.blue[i]
			word = r | g<<10 | b<<20 | a<<30
			small = r>>2 | g>>2<<8 | b>>2<<16 | a*85<<24
			nearest = uint64(word) | uint64(px.depth[i])<<depthPos | uint64(a/3)<<63
		}
		r, s := binary.LittleEndian.Uint32(args[0].buffer[4*i:]), binary.LittleEndian.Uint32(args[1].buffer[4*i:])
		if v := binary.LittleEndian.Uint64(args[2].buffer[8*i:]); r != word || s != small || v != nearest {
			return fmt.Errorf("pixel %d: the kernel made %#x, %#x and %#x, the Go loop %#x, %#x and %#x",
				i, r, s, v, word, small, nearest)
		}
	}
	return nil
}
