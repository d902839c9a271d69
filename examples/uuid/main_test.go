package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gobfi/bfi"
)

// uuid7 matches the text form. Its groups are the time, the variant's digit, and the
// random bits around it.
var uuid7 = regexp.MustCompile(`^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-([89ab])([0-9a-f]{3})-([0-9a-f]{12})$`)

// checkUUIDs checks that text has n lines, that each is a UUID of version 7 made between
// start and now, that no two are equal, and that their times do not decrease.
func checkUUIDs(t *testing.T, text string, n int, start time.Time) {
	t.Helper()
	end := time.Now().UnixMilli()
	if text != "" && !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line has no end: %q", text[max(0, len(text)-50):])
	}
	if lines := strings.Count(text, "\n"); lines != n {
		t.Errorf("%d lines, want %d", lines, n)
	}
	seen := map[string]bool{}
	last := start.UnixMilli()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		m := uuid7.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%q is no UUID of version 7", line)
		}
		ms, err := strconv.ParseInt(m[1]+m[2], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if ms < last || ms > end {
			t.Fatalf("%s has time %d, want %d to %d", line, ms, last, end)
		}
		last = ms
		if seen[line] {
			t.Fatalf("%s comes twice", line)
		}
		seen[line] = true
	}
}

func TestPrint(t *testing.T) {
	tests := []struct {
		args []string
		n    int
	}{
		{nil, 5},
		{[]string{"-n", "0"}, 0},
		{[]string{"-n", "1"}, 1},
		{[]string{"-n", strconv.Itoa(batch)}, batch},
		{[]string{"-n", strconv.Itoa(2*batch + 3), "-o", "-"}, 2*batch + 3},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			start := time.Now()
			var stdout, stderr strings.Builder
			if err := run(test.args, &stdout, &stderr); err != nil {
				t.Fatal(err)
			}
			checkUUIDs(t, stdout.String(), test.n, start)
			if stderr.Len() > 0 {
				t.Errorf("standard error: %q, want nothing", stderr.String())
			}
		})
	}
}

// TestRandomBits checks that each of the 74 random bits has both values in 1,000 UUIDs. It
// fails by chance once in 2^993 runs.
func TestRandomBits(t *testing.T) {
	var stdout strings.Builder
	if err := run([]string{"-n", "1000"}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	var ones, zeros [2]uint64
	for line := range strings.Lines(stdout.String()) {
		m := uuid7.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("%q is no UUID of version 7", line)
		}
		for i, digits := range []string{m[3], m[4] + m[5] + m[6]} {
			random, err := strconv.ParseUint(digits, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			ones[i] |= random
			zeros[i] |= ^random
		}
	}
	for i, mask := range []uint64{1<<12 - 1, 1<<62 - 1} {
		if both := ones[i] & zeros[i] & mask; both != mask {
			t.Errorf("random bits that vary: %#x, want %#x", both, mask)
		}
	}
}

func summary(n string) *regexp.Regexp {
	return regexp.MustCompile(`^` + n + ` UUIDs: [0-9]+\.[0-9] million/s in all, [0-9]+\.[0-9] million/s ` +
		`in bfi alone \(kernel ` +
		bfi.Kernel() + `\)\n$`)
}

func TestQuiet(t *testing.T) {
	for _, n := range []string{"0", "5", "100000"} {
		var stdout, stderr strings.Builder
		if err := run([]string{"-n", n, "-q"}, &stdout, &stderr); err != nil {
			t.Fatal(err)
		}
		if want := summary(n); !want.MatchString(stdout.String()) {
			t.Errorf("-n %s -q prints %q, want %s", n, stdout.String(), want)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uuids")
	for _, n := range []int{batch + 1, 7} { // the shorter one replaces the longer
		start := time.Now()
		var stdout strings.Builder
		if err := run([]string{"-o", path, "-n", strconv.Itoa(n)}, &stdout, io.Discard); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkUUIDs(t, string(text), n, start)
		if want := summary(strconv.Itoa(n)); !want.MatchString(stdout.String()) {
			t.Errorf("printed %q, want %s", stdout.String(), want)
		}
	}
}

func TestProgress(t *testing.T) {
	defer func(d time.Duration) { progressInterval = d }(progressInterval)
	path := filepath.Join(t.TempDir(), "uuids")
	tests := []struct {
		args     []string
		interval time.Duration
		want     string
	}{
		{[]string{"-n", "20000", "-o", path}, 0, "8192 of 20000 UUIDs\n16384 of 20000 UUIDs\n20000 of 20000 UUIDs\n"},
		{[]string{"-n", "20000", "-q"}, 0, "8192 of 20000 UUIDs\n16384 of 20000 UUIDs\n20000 of 20000 UUIDs\n"},
		{[]string{"-n", "20000"}, 0, ""},
		{[]string{"-n", "20000", "-o", path}, time.Hour, ""},
	}
	for _, test := range tests {
		progressInterval = test.interval
		var stderr strings.Builder
		if err := run(test.args, io.Discard, &stderr); err != nil {
			t.Fatal(err)
		}
		if stderr.String() != test.want {
			t.Errorf("%v, a line every %v: %q, want %q", test.args, test.interval, stderr.String(), test.want)
		}
	}
}

func TestBadFlags(t *testing.T) {
	const number = ` for flag -n: want a whole number from 0 to 2^64-1`
	tests := []struct{ args, want string }{
		{"-n -1", `invalid value "-1"` + number},
		{"-n five", `invalid value "five"` + number},
		{"-n 1.5", `invalid value "1.5"` + number},
		{"-n 18446744073709551616", `invalid value "18446744073709551616"` + number},
		{"-n", `flag needs an argument: -n`},
		{"-x", `flag provided but not defined: -x`},
		{"7", `unexpected argument "7", want flags only: -n, -o, -q`},
		{"-q -o x", `-q prints no UUIDs and -o writes them, want only one of the two`},
	}
	for _, test := range tests {
		var stdout, stderr strings.Builder
		err := run(strings.Fields(test.args), &stdout, &stderr)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.args, err, test.want)
		}
		if stdout.Len()+stderr.Len() > 0 {
			t.Errorf("%s: printed %q and %q, want the error alone", test.args, stdout.String(), stderr.String())
		}
	}
}

func TestHelp(t *testing.T) {
	var stdout strings.Builder
	if err := run([]string{"-h"}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"usage: ", "-n many", "-o file", "-q"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("-h prints %q, want it to tell of %q", stdout.String(), want)
		}
	}
}

func TestUnwritableFile(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "missing", "uuids"), t.TempDir()} {
		var stdout strings.Builder
		err := run([]string{"-o", path}, &stdout, io.Discard)
		var pathErr *fs.PathError
		if !errors.As(err, &pathErr) || pathErr.Path != path {
			t.Errorf("-o %s: error %v, want one about this path", path, err)
		}
		if stdout.Len() > 0 {
			t.Errorf("-o %s: printed %q, want nothing", path, stdout.String())
		}
	}
}

var errFull = errors.New("full")

// A fullWriter is a writer with room for a number of bytes.
type fullWriter int

func (w *fullWriter) Write(b []byte) (int, error) {
	if len(b) > int(*w) {
		return 0, errFull
	}
	*w -= fullWriter(len(b))
	return len(b), nil
}

func TestFullOutput(t *testing.T) {
	tests := []struct {
		args string
		room fullWriter
	}{
		{"", 0},                // fails when it is flushed
		{"-n 100000", 0},       // fails at the first full buffer
		{"-n 100000", 1 << 20}, // fails later
		{"-n 100000", 100000*37 - 1},
		{"-n 18446744073709551615", 0}, // would take centuries if it went on
		{"-q", 0},
	}
	for _, test := range tests {
		room := test.room
		if err := run(strings.Fields(test.args), &room, io.Discard); !errors.Is(err, errFull) {
			t.Errorf("%q with room for %d bytes: error %v, want %v", test.args, test.room, err, errFull)
		}
	}
}

func TestFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /dev/full; TestFullOutput tests the rest")
	}
	for _, n := range []string{"5", "100000"} {
		var stdout strings.Builder
		err := run([]string{"-n", n, "-o", "/dev/full"}, &stdout, io.Discard)
		if want := "write /dev/full: no space left on device"; err == nil || err.Error() != want {
			t.Errorf("-n %s: error %v, want %s", n, err, want)
		}
		if stdout.Len() > 0 {
			t.Errorf("-n %s: printed %q, want nothing", n, stdout.String())
		}
	}
}

// TestBrokenPipe checks that a pipe given by name breaks as soon as its reader has gone.
func TestBrokenPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does opening /dev/fd/N open a pipe anew")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	path := fmt.Sprintf("/dev/fd/%d", w.Fd())
	done := make(chan error)
	go func() { done <- run([]string{"-n", "1000000", "-o", path}, io.Discard, io.Discard) }()
	if _, err := r.Read(make([]byte, 37)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	select {
	case err := <-done:
		if want := "write " + path + ": broken pipe"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Error("still writing, 10 s after the reader has gone")
	}
}

func TestPrinterRejects(t *testing.T) {
	// The example of RFC 9562, appendix A.6.
	const high, low = 0x017f22e279b07cc3, 0x98c4dc0c0c07398f
	const good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n"
	tests := []struct {
		name      string
		high, low uint64
		want      string
	}{
		{"the same again", high, low, ""},
		{"a later time", high + 1<<16, low, ""},
		{"version 6", high ^ 1<<12, low, "made a wrong UUID, 017f22e2-79b0-6cc3-98c4-dc0c0c07398f: its version is 6, want 7"},
		{"version 15", high ^ 8<<12, low,
			"made a wrong UUID, 017f22e2-79b0-fcc3-98c4-dc0c0c07398f: its version is 15, want 7"},
		{"variant 3", high, low ^ 1<<62, "made a wrong UUID, 017f22e2-79b0-7cc3-d8c4-dc0c0c07398f: its variant is 3, want 2"},
		{"variant 0", high, low ^ 2<<62, "made a wrong UUID, 017f22e2-79b0-7cc3-18c4-dc0c0c07398f: its variant is 0, want 2"},
		{"an earlier time", high - 1<<16, low,
			"made a wrong UUID, 017f22e2-79af-7cc3-98c4-dc0c0c07398f: " +
				"its time is 1645557741999 ms, want at least 1645557742000 as in the one before"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var text bytes.Buffer
			p := printer{out: bufio.NewWriter(&text)}
			if err := p.print([]uint64{high}, []uint64{low}); err != nil {
				t.Fatal(err)
			}
			// The order of times is checked across calls.
			err := p.print([]uint64{test.high}, []uint64{test.low})
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err := p.out.Flush(); err != nil {
				t.Fatal(err)
			}
			if test.want != "" && text.String() != good {
				t.Errorf("printed %q, want only %q", text.String(), good)
			}

			quiet := printer{}
			err = quiet.print([]uint64{high, test.high}, []uint64{low, test.low})
			if (err == nil) != (test.want == "") {
				t.Errorf("without output: error %v, want %q", err, test.want)
			}
		})
	}
}
