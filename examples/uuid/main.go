// Command uuid makes version 7 UUIDs (RFC 9562) in bulk.
//
//	uuid                          prints five, one a line
//	uuid -n 10000000 -o FILE      writes ten million to FILE
//	uuid -n 10000000 -q           prints only how fast it made them
//
// A UUID is two words of 64 bits:
//
//	high    48 bits of time in Unix milliseconds, 4 of the version, 12 random bits
//	low     2 bits of the variant, 62 random bits
//
// Times never decrease. UUIDs of one millisecond have no order.
package main

import (
	"bufio"
	"cmp"
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/gobfi/bfi"
)

const (
	version = 7       // time in Unix milliseconds, then random
	variant = 2       // the layout of RFC 9562
	batch   = 8 << 10 // UUIDs made at a time, within a fraction of a millisecond
)

// The program prints its progress once in each progressInterval.
var progressInterval = time.Second

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "uuid:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	n := uint64(5)
	flags := flag.NewFlagSet("uuid", flag.ContinueOnError)
	flags.Func("n", "make this `many` UUIDs (default 5)", func(s string) (err error) {
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			return errors.New("want a whole number from 0 to 2^64-1")
		}
		return nil
	})
	path := flags.String("o", "-", "write the UUIDs to this `file`; - is standard output")
	quiet := flags.Bool("q", false, "print no UUIDs, only their count, the rate and the kernel")
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err == flag.ErrHelp {
		fmt.Fprintln(stdout, "usage: uuid [-n many] [-o file | -q]")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q, want flags only: -n, -o, -q", flags.Arg(0))
	}
	if *quiet && *path != "-" {
		return errors.New("-q prints no UUIDs and -o writes them, want only one of the two")
	}

	start := time.Now()
	var inBFI time.Duration
	var err error
	switch {
	case *quiet:
		inBFI, err = generate(n, nil, stderr)
	case *path == "-":
		_, err = generate(n, stdout, io.Discard)
		return err
	default:
		// os.Create also opens for reading, and then a pipe would not break.
		file, openErr := os.OpenFile(*path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if openErr != nil {
			return openErr
		}
		inBFI, err = generate(n, file, stderr)
		err = cmp.Or(err, file.Close())
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d UUIDs: %.1f million/s in all, %.1f million/s in bfi alone (kernel %s)\n",
		n, millions(n, time.Since(start)), millions(n, inBFI), bfi.Kernel())
	return err
}

// millions returns the rate of n in a time, in millions a second.
func millions(n uint64, t time.Duration) float64 {
	return float64(n) / 1e6 / max(t.Seconds(), 1e-9)
}

// generate makes n UUIDs and checks them all. If out is not nil, it writes them to out. It
// returns the time that the calls of bfi took.
func generate(n uint64, out, progress io.Writer) (inBFI time.Duration, err error) {
	// ChaCha8 is cryptographically strong, so no UUID can be guessed from others. Only the
	// seed comes from the system's randomness, which is slow.
	var seed [32]byte
	crand.Read(seed[:])
	random := rand.NewChaCha8(seed)

	var now uint64
	var p printer
	if out != nil {
		p.out = bufio.NewWriterSize(out, 64<<10)
	}
	high, low := make([]uint64, batch), make([]uint64, batch)
	reported := time.Now()
	for done := uint64(0); done < n; done += uint64(len(high)) {
		size := min(n-done, batch)
		high, low = high[:size], low[:size]
		for i := range high {
			high[i], low[i] = random.Uint64(), random.Uint64()
		}

		start := time.Now()
		// If the clock is set back, the time stands still.
		now = max(now, uint64(start.UnixMilli()))
		bfi.Pack(high, high, bfi.Constant(now, 16, 48), bfi.Constant(version, 12, 4))
		bfi.Fill(low, variant, low, 62, 2)
		inBFI += time.Since(start)

		if err := p.print(high, low); err != nil {
			return 0, err
		}
		if time.Since(reported) >= progressInterval {
			reported = time.Now()
			fmt.Fprintf(progress, "%d of %d UUIDs\n", done+size, n)
		}
	}
	if out != nil {
		err = p.out.Flush()
	}
	return inBFI, err
}

// A printer checks UUIDs in the order in which they were made. If it has a writer, it
// prints those that pass, one a line.
type printer struct {
	out  *bufio.Writer
	last uint64 // time of the previous UUID
}

func (p *printer) print(high, low []uint64) error {
	for i := range high {
		if err := p.check(high[i], low[i]); err != nil {
			return fmt.Errorf("made a wrong UUID, %s: %w", appendUUID(nil, high[i], low[i]), err)
		}
		if p.out == nil {
			continue
		}
		line := append(appendUUID(p.out.AvailableBuffer(), high[i], low[i]), '\n')
		if _, err := p.out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) check(high, low uint64) error {
	if v := high >> 12 & 0xf; v != version {
		return fmt.Errorf("its version is %d, want %d", v, version)
	}
	if v := low >> 62; v != variant {
		return fmt.Errorf("its variant is %d, want %d", v, variant)
	}
	t := high >> 16
	if t < p.last {
		return fmt.Errorf("its time is %d ms, want at least %d as in the one before", t, p.last)
	}
	p.last = t
	return nil
}

// appendUUID appends the text form: 8, 4, 4, 4 and 12 hexadecimal digits.
func appendUUID(line []byte, high, low uint64) []byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	line = append(hex.AppendEncode(line, id[:4]), '-')
	line = append(hex.AppendEncode(line, id[4:6]), '-')
	line = append(hex.AppendEncode(line, id[6:8]), '-')
	line = append(hex.AppendEncode(line, id[8:10]), '-')
	return hex.AppendEncode(line, id[10:])
}
