package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gobfi/bfi"
	"github.com/gobfi/bfi/internal/tune"
	"golang.org/x/perf/benchfmt"
)

// manyLanes is longer than a piece.
const manyLanes = 64 << 10

// everyPlace calls f for every job in every place.
func everyPlace(t *testing.T, f func(t *testing.T, j *job, at place)) {
	opts, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	js := jobs()
	var last benchCase
	for _, c := range cases(js, opts) {
		if c.job == last.job && c.place == last.place {
			continue
		}
		last = c
		t.Run(c.job.name+"/"+c.place.String(), func(t *testing.T) { f(t, c.job, c.place) })
	}
}

// mostWords is the most words of 64 bits that a lane of any job takes.
var mostWords = func() int {
	most := 0
	for _, j := range jobs() {
		most = max(most, j.laneWords())
	}
	return most
}()

func TestContendersAgree(t *testing.T) {
	t.Logf("kernels %v, C %q; %s", tune.Kernels, cCompiler, strings.Join(leftOut(), "; "))
	s := newStore((manyLanes + harshLanes) * mostWords)
	everyPlace(t, func(t *testing.T, j *job, at place) {
		if err := checkHarsh(s, j, at); err != nil {
			t.Error(err)
		}
		lengths := []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1023, manyLanes + 3}
		if j.warp {
			lengths = []int{bfi.WarpSize}
		}
		for _, n := range lengths {
			s.fill(j, n, false)
			x := s.operands(j, at, n)
			for _, c := range contenders(x) {
				if err := c.check(x); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestCheckFindsWrongAnswers makes a contender with one wrong answer in each output in turn.
// check must find it, and its error must name it.
func TestCheckFindsWrongAnswers(t *testing.T) {
	s := newStore(harshLanes * mostWords)
	everyPlace(t, func(t *testing.T, j *job, at place) {
		for k, o := range j.operands {
			if o.kind != output {
				continue
			}
			s.fill(j, 32, false)
			x := s.operands(j, at, 32)
			_, loop := j.work(x)
			liar := contender{kind: "liar", run: func(n int) {
				loop(n)
				*(*byte)(unsafe.Add(x.p[k], 31*o.laneBits()/8)) ^= 1
			}}
			err := liar.check(x)
			if err == nil {
				t.Fatalf("output %d: check found nothing", k)
			}
			for _, part := range []string{"liar", "lane 31 of 32", j.name, "want [", "operands"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %q", err, part)
				}
			}
		}
	})
}

// TestTable checks that every job has all contenders that can take part. It also checks that
// each bar compares with one of them, in a case that a run measures.
func TestTable(t *testing.T) {
	opts, err := parse([]string{"-quick"})
	if err != nil {
		t.Fatal(err)
	}
	js := jobs()
	todo := cases(js, opts)
	s := newStore(memory) // its memory is never touched
	out := leftOut()
	for i := range js {
		j := &js[i]
		var kinds []string
		for _, c := range contenders(s.operands(j, apart, memory/8)) {
			kinds = append(kinds, c.kind)
		}
		want := []string{library, goLoop}
		if cCompiler != "" && j.sparse == 0 {
			want = append(want, cLoop)
		}
		if j.libyuv != "" && !slices.ContainsFunc(out, func(s string) bool { return strings.Contains(s, "libyuv") }) {
			want = append(want, libyuv)
		}
		for _, kind := range want {
			if !slices.Contains(kinds, kind) {
				t.Errorf("%s: no contender %s", j.name, kind)
			}
		}
		for _, b := range j.bars {
			if !slices.Contains(append(kinds, cLoop, cachedStores, archsimdLoop, libyuv, limit), b.than) &&
				b.than != "bfi generic" {
				t.Errorf("%s: a bar over %q, but it does not take part", j.name, b.than)
			}
			if !slices.Contains(todo, benchCase{j, b.place, b.lanes}) {
				t.Errorf("%s: no case for the bar over %s, %s, %d lanes", j.name, b.than, b.place, b.lanes)
			}
		}
	}
}

// TestRepeatIsInlined checks that the compiler inlines repeat everywhere. Otherwise a loop
// would pay for calls of repeat's argument.
func TestRepeatIsInlined(t *testing.T) {
	program := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	symbols, err := exec.Command("go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(symbols, []byte(" main.jobs\n")) || bytes.Contains(symbols, []byte(" main.repeat\n")) {
		t.Error("main.repeat is not inlined everywhere")
	}
}

func TestKernelsAreChosen(t *testing.T) {
	s := newStore(harshLanes)
	var found []string
	for _, c := range contenders(s.operands(&jobs()[0], apart, 32)) {
		c.choose()
		if c.kind != library {
			continue
		}
		if bfi.Kernel() != c.kernel || *tune.StreamBytes != libraryStreamBytes {
			t.Errorf("%s runs kernel %s and streams from %d bytes", c.name(), bfi.Kernel(), *tune.StreamBytes)
		}
		found = append(found, c.kernel)
	}
	if !slices.Equal(found, tune.Kernels) {
		t.Errorf("contenders for kernels %v, want %v", found, tune.Kernels)
	}
	plain := contender{streamFrom: math.MaxInt}
	if plain.choose(); *tune.StreamBytes != math.MaxInt {
		t.Errorf("cached stores stream from %d bytes, want none", *tune.StreamBytes)
	}
}

func TestOperandsLie(t *testing.T) {
	s := newStore(4096)
	j := insertJob[uint32]("u32", nil)
	for _, at := range []place{apart, inPlace, misaligned} {
		x := s.operands(&j, at, 100)
		for k := range j.operands {
			address := uintptr(x.p[k])
			if aligned := address%64 == 0; aligned == (at == misaligned) {
				t.Errorf("%s: stream %d is at %#x", at, k, address)
			}
		}
		if same := x.p[0] == x.p[2]; same != (at == inPlace) {
			t.Errorf("%s: dst is base: %t", at, same)
		}
	}
}

// TestLimit checks that the limit reads every byte of the inputs and writes every byte of
// the outputs.
func TestLimit(t *testing.T) {
	const n = 64
	s := newStore(n)
	everyPlace(t, func(t *testing.T, j *job, at place) {
		if j.warp || !j.limited() {
			return
		}
		x := s.operands(j, at, n)
		var read, written [len(x.p)]int
		for _, m := range limitMoves(x) {
			written[m.dst%8] += int(m.bytes)
			for _, src := range m.src {
				if src >= 0 {
					read[src%8] += int(m.bytes)
				}
			}
		}
		for k, o := range j.operands {
			switch want := n * o.laneBits() / 8; {
			case o.bits == 1:
			case o.kind == output && written[k] != want:
				t.Errorf("%d bytes of output %d written, want %d", written[k], k, want)
			case o.kind != output && read[k] < want:
				t.Errorf("%d bytes of input %d read, want %d", read[k], k, want)
			}
		}
	})
	j := insertJob[uint32]("u32", nil)
	s.fill(&j, n, true)
	x := s.operands(&j, inPlace, n)
	src, base := of[uint32](x, 1), slices.Clone(of[uint32](x, 2))
	run := cLimit(limitMoves(x), x)
	if run == nil {
		t.Skip("no C compiler")
	}
	run(1)
	for i, have := range of[uint32](x, 0) {
		if want := src[i] ^ base[i]; have != want {
			t.Fatalf("lane %d is %#x, want %#x", i, have, want)
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
		{[]float64{5, 1, 4, 2, 3}, 1, 5},
	} {
		before := slices.Clone(test.samples)
		if have := quantile(test.samples, test.q); have != test.want || !slices.Equal(before, test.samples) {
			t.Errorf("quantile(%v, %v) = %v and left %v, want %v", before, test.q, have, test.samples, test.want)
		}
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
		// A busy machine may take longer, but no machine takes less.
		for _, ns := range samples[i] {
			if ns < want {
				t.Errorf("a call of %v ns measured as %v ns", want, ns)
			}
		}
	}
	// First each contender is calibrated. Then they take turns at being first in a round.
	if turns := slices.Compact(order); !slices.Equal(turns, []int{0, 1, 0, 1, 0, 1}) {
		t.Errorf("the contenders took turns as %v", turns)
	}
}

// TestCalibrate interrupts a short call the first two times. calibrate must not take it for a
// long call.
func TestCalibrate(t *testing.T) {
	calls := 0
	call := calibrate(func(iters int) {
		if calls++; calls <= 2 {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(iters) * 10 * time.Microsecond)
	}, 10*time.Millisecond)
	if call < 10e3 || call > 2e6 {
		t.Errorf("a call of some 10,000 ns is measured as %v ns", call)
	}
}

// TestCompare checks that a comparison is the median of the rounds' ratios, and that it has the
// bar of its kernel.
func TestCompare(t *testing.T) {
	j := insertJob[uint32]("u32", []bar{{apart, 8, goLoop, 3, 2, 0}, {apart, 8, cachedStores, 1, 1, 1},
		{apart, 16, goLoop, 1, 1, 1}, {inPlace, 8, goLoop, 1, 1, 1}})
	r := &result{Kernels: []string{"generic", "avx2", "avx512"}}
	cs := []contender{{kind: goLoop}, {kind: library, kernel: "generic"}, {kind: library, kernel: "avx2"},
		{kind: library, kernel: "avx512"}}
	r.add(benchCase{&j, apart, 8}, cs, [][]float64{{10, 20, 300}, {10, 10, 10}, {5, 10, 150}, {4, 10, 100}})
	var have []comparison
	for _, c := range r.Comparisons {
		have = append(have, comparison{Kernel: c.Kernel, Contender: c.Contender, Ratio: c.Ratio, Bar: c.Bar})
	}
	want := []comparison{
		{Kernel: "generic", Contender: goLoop, Ratio: 2},
		{Kernel: "avx2", Contender: goLoop, Ratio: 2, Bar: 2},
		{Kernel: "avx512", Contender: goLoop, Ratio: 2.5, Bar: 3},
	}
	if !slices.Equal(have, want) {
		t.Errorf("comparisons are\n%+v, want\n%+v", have, want)
	}
	var b bytes.Buffer
	if r.print(&b); !strings.Contains(b.String(), "3 missed") || !strings.Contains(b.String(), "1 of 2 bars missed") {
		t.Errorf("the tables do not say that one bar is missed:\n%s", &b)
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct{ args, want string }{
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
}

func TestSpread(t *testing.T) {
	for n, want := range map[int]uint32{32: 0xffffffff, 16: 0x55555555, 2: 0x00010001, 1: 1} {
		if have := spread(n); have != want {
			t.Errorf("spread(%d) = %#x, want %#x", n, have, want)
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
		{"AMD Ryzen 5 5600X 6-Core Processor", 25, 33, "amd-ryzen-5-5600x-f25m33"},
		{"Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", 6, 106, "intel-xeon-platinum-8370c-f6m106"},
	} {
		r := result{CPU: test.cpu, Family: test.family, Model: test.model}
		if have := r.slug(); have != test.want {
			t.Errorf("slug of %q = %q, want %q", test.cpu, have, test.want)
		}
	}
}

// TestBench checks that a small run writes everything that a whole run writes. It also makes
// the README's table from the small run.
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
	for _, want := range []string{"Insert/u32, out of place", "Insert/u32, in place", "Insert/u32, misaligned",
		"SelectWarp/u64", goLoop, "Times as fast", "bars missed"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &stdout)
		}
	}
	if !strings.Contains(stderr.String(), "Insert/u32, out of place") {
		t.Errorf("no progress on standard error:\n%s", &stderr)
	}
	path := filepath.Join(dir, newResult(opts).slug()+"-partial")
	data, err := os.ReadFile(path + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var have result
	if err := json.Unmarshal(data, &have); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if have.CPU == "" || have.Commit == "" || have.Go == "" || len(have.Kernels) == 0 || len(have.Comparisons) == 0 ||
		len(have.Series) == 0 {
		t.Errorf("the file is not complete:\n%s", data)
	}
	for _, s := range have.Series {
		for i := range s.Lanes {
			if !(0 < s.Q1[i] && s.Q1[i] <= s.Ns[i] && s.Ns[i] <= s.Q3[i]) {
				t.Errorf("%+v: point %d is no measurement", s, i)
			}
		}
	}
	for _, name := range []string{"insert-u32.svg", "insert-u32.png", "selectwarp-u64.svg", "selectwarp-u64.png"} {
		if info, err := os.Stat(filepath.Join(path, name)); err != nil || info.Size() == 0 {
			t.Errorf("plot %s: %v", name, err)
		}
	}
	testSamples(t, path+".bench", have.Series)

	stdout.Reset()
	if err := bench(&options{readme: path + ".json"}, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `Insert/u32` \\| [0-9.]+ \\| \\| [0-9.]+ \\|")
	if !row.MatchString(stdout.String()) {
		t.Errorf("the README's table has no row of figures for Insert/u32:\n%s", &stdout)
	}
}

func TestGains(t *testing.T) {
	defer func(old []int) { movedMebibytes = old }(movedMebibytes)
	movedMebibytes = []int{1, 2}
	opts, err := parse([]string{"-stream", "-quick", "-run", "^Fill/u32/"})
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	err = bench(opts, &stdout, io.Discard)
	if len(tune.Kernels) == 1 {
		if err == nil || !strings.Contains(err.Error(), "-stream: the portable kernels") {
			t.Errorf("with no kernel that streams: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, kernel := range tune.Kernels[1:] {
		row := regexp.MustCompile(`(?m)^Fill/u32 +` + kernel + ` +[0-9.]+ +[0-9.]+ *$`)
		if !row.MatchString(stdout.String()) {
			t.Errorf("no row of gains of %s:\n%s", kernel, &stdout)
		}
	}
}

// testSamples reads a file as benchstat does, and compares its medians with series.
func testSamples(t *testing.T, path string, all []*series) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	samples := map[string][]float64{}
	for r := benchfmt.NewReader(f, path); r.Scan(); {
		switch record := r.Result().(type) {
		case *benchfmt.Result:
			if _, parts := record.Name.Parts(); strings.HasPrefix(string(parts[len(parts)-1]), "-") {
				t.Errorf("%s ends in a number that benchstat reads as GOMAXPROCS", record.Name)
			}
			seconds, _ := record.Value("sec/op")
			samples[string(record.Name)] = append(samples[string(record.Name)], seconds*1e9)
		case *benchfmt.SyntaxError:
			t.Error(record)
		}
	}
	points := 0
	for _, s := range all {
		function, kind, _ := strings.Cut(s.Job, "/")
		for i, n := range s.Lanes {
			points++
			name := sampleName(function, kind, s.Place, n, s.Contender)
			if have := quantile(samples[name], 0.5); math.Abs(have/s.Ns[i]-1) > 0.001 {
				t.Errorf("the median of %s is %v ns, want %v", name, have, s.Ns[i])
			}
		}
	}
	if points != len(samples) {
		t.Errorf("%d benchmarks, want %d", len(samples), points)
	}
}

func TestBenchErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"-run Nothing", `-run "Nothing" matches no case`},
		{"-run ^Fill/u32/in-place/1024$ -quick -o " + file, "not a directory"},
		{"-readme " + file, "file: not the results of a whole run by this version of bench"},
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

// TestREADME checks that the README has the table of the results file that it names.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	have, err := markedTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile(`bench/(results/[\w.-]+\.json)`).FindStringSubmatch(have)
	if file == nil {
		t.Fatalf("README.md: no results file is named between the marks:\n%s", have)
	}
	want, err := readmeTable(file[1])
	if err != nil {
		t.Fatal(err)
	}
	if have != want {
		t.Errorf("README.md is not what go -C bench run . -readme %s prints:\n%s", file[1], want)
	}
}

// markedTable returns the text between the marks, without the empty lines around it.
func markedTable(readme string) (string, error) {
	_, rest, begun := strings.Cut(readme, "<!-- speed -->\n")
	table, _, ended := strings.Cut(rest, "<!-- /speed -->")
	if !begun || !ended {
		return "", errors.New("README.md lacks the marks <!-- speed --> and <!-- /speed -->, each at the start of a line")
	}
	return strings.TrimSpace(table) + "\n", nil
}
