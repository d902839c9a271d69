package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// everyCase calls f with every function, word and place.
func everyCase(t *testing.T, f func(t *testing.T, c benchCase)) {
	opts, err := parse([]string{"-quick"})
	if err != nil {
		t.Fatal(err)
	}
	var last benchCase
	for i, c := range cases(opts) {
		c.lanes = 32
		if i > 0 && c == last {
			continue
		}
		last = c
		t.Run(c.String(), func(t *testing.T) { f(t, c) })
	}
}

func TestContendersAgree(t *testing.T) {
	t.Logf("kernels %v, C %q, archsimd %q", newResult(0, 0).Kernels, cCompiler, simdVectors)
	everyCase(t, func(t *testing.T, c benchCase) {
		if c.bits == 32 {
			testAgree[uint32](t, c)
		} else {
			testAgree[uint64](t, c)
		}
	})
}

func testAgree[T word](t *testing.T, c benchCase) {
	m := newMemory(splitLanes + harshLanes)
	if err := checkHarsh[T](m, c.fn, c.place); err != nil {
		t.Error(err)
	}
	lengths := []int{32}
	if !c.fn.warp() {
		lengths = []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1023, splitLanes + 3}
	}
	for _, n := range lengths {
		fill[T](m, c.fn, n, false)
		o := newOperands[T](m, c.fn, c.place, n)
		cs := contenders(c.fn, o)
		for i := range cs {
			if err := check(&cs[i], c.fn, o); err != nil {
				t.Error(err)
			}
		}
	}
}

// A contender with a wrong answer in any lane, or a lane that it leaves out, is
// found and named.
func TestCheckFindsWrongAnswers(t *testing.T) {
	everyCase(t, func(t *testing.T, c benchCase) {
		if c.bits == 32 {
			testWrong[uint32](t, c)
		} else {
			testWrong[uint64](t, c)
		}
	})
}

func testWrong[T word](t *testing.T, c benchCase) {
	m := newMemory(harshLanes)
	n := 32
	for k := range newOperands[T](m, c.fn, c.place, n).outputs(c.fn) {
		fill[T](m, c.fn, n, false)
		o := newOperands[T](m, c.fn, c.place, n)
		right := goLoop(c.fn, o)
		liar := contender{name: "liar", run: func(iters int) {
			right(iters)
			o.outputs(c.fn)[k][n-1] ^= 1 << 9
		}}
		err := check(&liar, c.fn, o)
		if err == nil {
			t.Fatalf("output %d: check found nothing", k)
		}
		for _, part := range []string{"liar", "lane 31", c.fn.String(), c.place.String(), "want 0x", "operands"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %q", err, part)
			}
		}
	}
}

func TestKernelsAreChosen(t *testing.T) {
	m := newMemory(harshLanes)
	o := newOperands[uint32](m, insertFn, apartPlace, 32)
	found := map[string]bool{}
	for _, c := range contenders(insertFn, o) {
		c.choose()
		if kernel, ok := strings.CutPrefix(c.name, "bfi "); ok {
			if have := kernelName(currentLevel); have != kernel {
				t.Errorf("%s runs kernel %s", c.name, have)
			}
			if streamBytes != libraryStreamBytes {
				t.Errorf("%s: streamBytes = %d, want %d", c.name, streamBytes, libraryStreamBytes)
			}
			found[kernel] = true
		}
	}
	for _, kernel := range newResult(0, 0).Kernels {
		if !found[kernel] {
			t.Errorf("no contender for kernel %s", kernel)
		}
	}
	cached := contender{level: 0, bypass: false}
	if cached.choose(); streamBytes != math.MaxInt {
		t.Errorf("without bypass streamBytes = %d, want none", streamBytes)
	}
}

func TestOperandsLie(t *testing.T) {
	m := newMemory(4096)
	for _, pl := range []place{apartPlace, inPlacePlace, misalignedPlace} {
		o := newOperands[uint32](m, insertFn, pl, 100)
		for i := range 5 {
			address := uintptr(o.stream(insertFn, i))
			if aligned := address%64 == 0; aligned == (pl == misalignedPlace) {
				t.Errorf("%s: stream %d is at %#x", pl, i, address)
			}
		}
		if same := &o.p[0][0] == &o.p[2][0]; same != (pl == inPlacePlace) {
			t.Errorf("%s: dst is base: %t", pl, same)
		}
	}
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		samples []float64
		q, want float64
	}{
		{[]float64{7}, 0.5, 7},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{5, 1, 4, 2, 3}, 0.25, 2},
		{[]float64{5, 1, 4, 2, 3}, 0.75, 4},
		{[]float64{5, 1, 4, 2, 3}, 1, 5},
	} {
		if have := quantile(test.samples, test.q); have != test.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", test.samples, test.q, have, test.want)
		}
	}
	samples := []float64{3, 1, 2}
	quantile(samples, 0.5)
	if !slices.Equal(samples, []float64{3, 1, 2}) {
		t.Errorf("quantile reordered its samples to %v", samples)
	}
}

func TestRatios(t *testing.T) {
	if have := ratios([]float64{10, 30}, []float64{5, 10}); !slices.Equal(have, []float64{2, 3}) {
		t.Errorf("ratios = %v, want [2 3]", have)
	}
}

func TestMeasure(t *testing.T) {
	var order []int
	sleeper := func(i int, d time.Duration) contender {
		return contender{run: func(iters int) {
			order = append(order, i)
			time.Sleep(time.Duration(iters) * d)
		}}
	}
	samples := measure([]contender{sleeper(0, time.Millisecond), sleeper(1, 4*time.Millisecond)}, 12*time.Millisecond, 3)
	for i, want := range []float64{1e6, 4e6} {
		if len(samples[i]) != 3 {
			t.Errorf("%d rounds, want 3", len(samples[i]))
		}
		// A busy machine may take longer, none takes less.
		for _, ns := range samples[i] {
			if ns < want {
				t.Errorf("a call of %v ns measured as %v ns", want, ns)
			}
		}
	}
	turns := slices.Compact(order)
	if len(turns) < 4 {
		t.Errorf("the contenders took turns as %v", turns)
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		args string
		want string
	}{
		{"-fast", "flag provided but not defined: -fast"},
		{"-benchtime soon", `invalid value "soon" for flag -benchtime`},
		{"-benchtime -1s", "-benchtime is -1s, want more than 0"},
		{"-run (", "-run: error parsing regexp"},
		{"quick", `unexpected argument "quick"`},
	} {
		_, err := parse(strings.Fields(test.args))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.args, err, test.want)
		}
	}
	opts, err := parse(strings.Fields("-quick -run ^Fill -benchtime 7ms -o dir"))
	if err != nil {
		t.Fatal(err)
	}
	if !opts.quick || opts.run.String() != "^Fill" || opts.benchtime != 7*time.Millisecond || opts.dir != "dir" {
		t.Errorf("options are %+v", opts)
	}
}

func TestActiveMask(t *testing.T) {
	for n, want := range map[int]uint32{32: 0xffffffff, 16: 0x55555555, 2: 0x00010001, 1: 1} {
		if have := activeMask(n); have != want {
			t.Errorf("activeMask(%d) = %#x, want %#x", n, have, want)
		}
	}
}

func TestSlug(t *testing.T) {
	for _, test := range []struct {
		cpu           string
		family, model int
		want          string
	}{
		{"AMD EPYC", 25, 1, "amd-epyc-f25m1"},
		{"AMD EPYC 7763 64-Core Processor", 25, 1, "amd-epyc-7763-f25m1"},
		{"AMD Ryzen 5 5600X 6-Core Processor", 25, 33, "amd-ryzen-5-5600x-f25m33"},
		{"Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", 6, 106, "intel-xeon-platinum-8370c-f6m106"},
		{"AMD Ryzen Threadripper 1900X Eight-Core Processor", 23, 1, "amd-ryzen-threadripper-1900x-f23m1"},
	} {
		r := result{CPU: test.cpu, Family: test.family, Model: test.model}
		if have := r.slug(); have != test.want {
			t.Errorf("slug of %q = %q, want %q", test.cpu, have, test.want)
		}
	}
}

// One small run writes everything that a whole run does.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	opts, err := parse([]string{"-quick", "-run", "^(Insert/u32/.*/(8|1024)|SelectWarp/u64/.*)$", "-o", dir})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if err := bench(opts, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Insert u32, out of place", "Insert u32, in place", "Insert u32, misaligned", "SelectWarp u64", goLoopName, "Times faster"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &stdout)
		}
	}
	if !strings.Contains(stderr.String(), "Insert/u32/out-of-place") {
		t.Errorf("no progress on standard error:\n%s", &stderr)
	}
	path := filepath.Join(dir, newResult(0, 0).slug()+"-partial")
	data, err := os.ReadFile(path + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var have struct {
		result
		Series      []series
		Comparisons []comparison
	}
	if err := json.Unmarshal(data, &have); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if have.CPU == "" || have.Commit == "" || have.Go == "" || len(have.Kernels) == 0 || len(have.Comparisons) == 0 {
		t.Errorf("the file lacks something:\n%s", data)
	}
	for _, s := range have.Series {
		for i := range s.Lanes {
			if !(0 < s.Q1[i] && s.Q1[i] <= s.Ns[i] && s.Ns[i] <= s.Q3[i]) {
				t.Errorf("%+v: point %d is no measurement", s, i)
			}
		}
	}
	for _, name := range []string{"insert-u32.svg", "insert-u32.png", "warp-u64.svg", "warp-u64.png"} {
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Size() == 0 {
			t.Errorf("plot %s: %v", name, err)
		}
	}
}

func TestBenchErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"-run Nothing", `-run "Nothing" matches no case`},
		{"-run ^Fill/u32/in-place/8$ -quick -o " + file, "not a directory"},
	} {
		opts, err := parse(strings.Fields(test.args))
		if err != nil {
			t.Fatal(err)
		}
		if err := bench(opts, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.args, err, test.want)
		}
	}
}

// A call that is interrupted the first two times is not taken for a long one.
func TestCalibrate(t *testing.T) {
	calls := 0
	call := calibrate(func(iters int) {
		if calls++; calls <= 2 {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(iters) * 10 * time.Microsecond)
	}, 10*time.Millisecond)
	if call < 10e3 || call > 2e6 {
		t.Errorf("a call of some 10,000 ns taken for one of %v ns", call)
	}
}
