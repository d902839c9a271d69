package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gobfi/bfi/internal/tune"
	"github.com/klauspost/cpuid/v2"
)

// A result has the measurements of a run, as the file has them.
type result struct {
	CPU         string       `json:"cpu"`
	Family      int          `json:"family"`
	Model       int          `json:"model"`
	Cores       int          `json:"cores"`
	Caches      caches       `json:"caches"`
	System      string       `json:"system"`
	Go          string       `json:"go"`
	Kernels     []string     `json:"kernels"` // the worst first
	C           string       `json:"c,omitempty"`
	LeftOut     []string     `json:"left_out,omitempty"`
	Commit      string       `json:"commit"`
	Date        string       `json:"date"`
	Command     string       `json:"command"`
	BenchTime   string       `json:"benchtime"`
	StreamBytes uintptr      `json:"stream_bytes"` // calls that move at least this many bytes bypass the cache
	Comparisons []comparison `json:"comparisons"`
	Series      []*series    `json:"series"`

	samples bytes.Buffer // every round, in the Go benchmark format
}

// caches has the sizes in bytes that the processor reports. An unknown size is 0.
type caches struct {
	L1D int `json:"l1d"`
	L2  int `json:"l2"`
	L3  int `json:"l3"`
}

// A series has one contender's times for all lengths of one job and place. For warps, a length
// is the number of active lanes.
type series struct {
	Job       string    `json:"job"`
	Place     string    `json:"place"`
	Contender string    `json:"contender"`
	Lanes     []int     `json:"lanes"`
	Ns        []float64 `json:"ns"` // the median time of one call; Q1 and Q3 have the quartiles
	Q1        []float64 `json:"ns_q1"`
	Q3        []float64 `json:"ns_q3"`
}

// A comparison is the ratio of a kernel's speed to another contender's, in the same rounds.
type comparison struct {
	Kernel    string  `json:"kernel"`
	Job       string  `json:"job"`
	Place     string  `json:"place"`
	Lanes     int     `json:"lanes"`
	Contender string  `json:"contender"`
	Ratio     float64 `json:"ratio"`
	Q1        float64 `json:"ratio_q1"`
	Q3        float64 `json:"ratio_q3"`
	Bar       float64 `json:"bar,omitempty"` // the least ratio that is good enough
}

func (c *comparison) missed() bool { return c.Ratio < c.Bar }

func newResult(opts *options) *result {
	r := &result{
		CPU:    cpuid.CPU.BrandName,
		Family: cpuid.CPU.Family,
		Model:  cpuid.CPU.Model,
		Cores:  runtime.GOMAXPROCS(0),
		Caches: caches{
			L1D: max(cpuid.CPU.Cache.L1D, 0),
			L2:  max(cpuid.CPU.Cache.L2, 0),
			L3:  max(cpuid.CPU.Cache.L3, 0),
		},
		System:      runtime.GOOS + "/" + runtime.GOARCH,
		Go:          runtime.Version(),
		Kernels:     tune.Kernels,
		C:           cCompiler,
		LeftOut:     leftOut(),
		Commit:      commit(),
		Date:        time.Now().UTC().Format(time.DateOnly),
		Command:     command(),
		BenchTime:   opts.benchtime.String(),
		StreamBytes: libraryStreamBytes,
	}
	if _, experiment, ok := strings.Cut(r.Go, "-X:"); ok {
		r.Command = "GOEXPERIMENT=" + experiment + " " + r.Command
	}
	if r.CPU == "" {
		r.CPU = "unknown " + runtime.GOARCH + " processor"
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		r.System += ", kernel " + strings.TrimSpace(string(release))
	}
	fmt.Fprintf(&r.samples, "goos: %s\ngoarch: %s\npkg: github.com/gobfi/bfi\ncpu: %s\ncommit: %s\n\n",
		runtime.GOOS, runtime.GOARCH, r.CPU, r.Commit)
	return r
}

// command returns the command that runs this program, as one types it on an amd64 or arm64 machine.
func command() string {
	run := "go -C bench run . "
	switch runtime.GOARCH {
	case "386":
		run = "GOARCH=386 " + run
	case "wasm":
		run = "GOOS=js GOARCH=wasm go -C bench run -exec \"$(go env GOROOT)/lib/wasm/go_js_wasm_exec\" . "
	}
	return strings.TrimSpace(run + strings.Join(os.Args[1:], " "))
}

// commit returns the commit of the repository that has the working directory. If there is no
// repository, it returns the commit that the go command stamped the program with.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

var (
	noise   = regexp.MustCompile(`(?i)\((r|tm)\)|@.*|\bcpu\b|\bprocessor\b|\b\w+-core\b`)
	nonWord = regexp.MustCompile(`[^a-z0-9]+`)
)

// slug returns a name of the processor for files. Many virtual machines report only the brand,
// so the name has the family and the model too.
func (r *result) slug() string {
	s := strings.ToLower(noise.ReplaceAllString(r.CPU, " "))
	s = strings.Trim(nonWord.ReplaceAllString(s, "-"), "-")
	return fmt.Sprintf("%s-f%dm%d", s, r.Family, r.Model)
}

// find returns the series of a contender, or nil.
func (r *result) find(job string, at place, contender string) *series {
	for _, s := range r.Series {
		if s.Job == job && s.Place == at.String() && s.Contender == contender {
			return s
		}
	}
	return nil
}

// add adds the measurements of a case. samples has the nanoseconds of a call, for each
// contender and round.
func (r *result) add(c benchCase, cs []contender, samples [][]float64) {
	byName := map[string][]float64{}
	for i := range cs {
		name := cs[i].name()
		byName[name] = samples[i]
		s := r.find(c.job.name, c.place, name)
		if s == nil {
			s = &series{Job: c.job.name, Place: c.place.String(), Contender: name}
			r.Series = append(r.Series, s)
		}
		q1, median, q3 := quartiles(samples[i])
		s.Lanes = append(s.Lanes, c.lanes)
		s.Ns, s.Q1, s.Q3 = append(s.Ns, median), append(s.Q1, q1), append(s.Q3, q3)
		function, kind, _ := strings.Cut(c.job.name, "/")
		for _, ns := range samples[i] {
			fmt.Fprintf(&r.samples, "Benchmark%s\t1\t%.5g ns/op\n",
				sampleName(function, kind, c.place.String(), c.lanes, name), ns)
		}
	}
	for _, kernel := range r.Kernels {
		for _, b := range c.job.bars {
			than := b.than
			switch than {
			case cachedStores, c.job.replaces:
				than = (&contender{kind: than, kernel: kernel}).name()
			}
			theirs := byName[than]
			if b.place != c.place || b.lanes != c.lanes || theirs == nil {
				continue
			}
			q1, median, q3 := quartiles(ratios(theirs, byName[library+" "+kernel]))
			held := map[string]float64{"avx512": b.avx512, "avx2": b.avx2}
			value, ok := held[kernel]
			if !ok {
				value = b.others
			}
			r.Comparisons = append(r.Comparisons, comparison{
				Kernel: kernel, Job: c.job.name, Place: c.place.String(), Lanes: c.lanes,
				Contender: than, Ratio: median, Q1: q1, Q3: q3, Bar: value,
			})
		}
	}
}

// sampleName returns the name of a benchmark, without the word Benchmark. It must not end in a
// hyphen and a number, because benchstat would read the number as GOMAXPROCS.
func sampleName(function, kind, place string, lanes int, contender string) string {
	value := strings.NewReplacer(",", "", " ", "_")
	return fmt.Sprintf("%s/of=%s/place=%s/lanes=%d/by=%s", function, kind, value.Replace(place), lanes,
		value.Replace(contender))
}

// write writes two files: r as JSON with each object on its own line, and all samples in the
// Go benchmark format.
func (r *result) write(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	text = append(bytes.ReplaceAll(text, []byte(`{"`), []byte("\n{\"")), '\n')
	if err := os.WriteFile(path+".json", text[1:], 0o666); err != nil {
		return err
	}
	return os.WriteFile(path+".bench", r.samples.Bytes(), 0o666)
}

// print writes the measurements as tables.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "%s (family %d, model %d), %d cores, L1 %s, L2 %s, L3 %s\n", r.CPU, r.Family, r.Model, r.Cores,
		size(r.Caches.L1D), size(r.Caches.L2), size(r.Caches.L3))
	fmt.Fprintf(w, "%s, %s, C %s, kernels %s, commit %s, %s\n",
		r.System, r.Go, r.C, strings.Join(r.Kernels, " "), r.Commit, r.Date)
	for _, missing := range r.LeftOut {
		fmt.Fprintln(w, missing)
	}
	for i := 0; i < len(r.Series); {
		k := i + 1
		for k < len(r.Series) && r.Series[k].Job == r.Series[i].Job && r.Series[k].Place == r.Series[i].Place {
			k++
		}
		printGroup(w, r.Series[i:k])
		i = k
	}
	fmt.Fprint(w, "\nTimes as fast, median (quartiles) over the rounds:\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kernel\tjob\tplace\tlanes\tas\tratio\tbar\t")
	held, missed := 0, 0
	for _, c := range r.Comparisons {
		bar := ""
		if c.Bar > 0 {
			held++
			bar = fmt.Sprint(c.Bar)
		}
		if c.missed() {
			missed++
			bar += " missed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.2f (%.2f-%.2f)\t%s\t\n",
			c.Kernel, c.Job, c.Place, size(c.Lanes), c.Contender, c.Ratio, c.Q1, c.Q3, bar)
	}
	t.Flush()
	fmt.Fprintf(w, "%d of %d bars missed\n", missed, held)
}

// tableLanes has the lengths that the printed tables show. The files have all lengths.
var tableLanes = map[int]bool{1: true, 8: true, 32: true, 128: true, cached: true, 64 << 10: true, 1 << 20: true,
	memory: true}

func printGroup(w io.Writer, all []*series) {
	isWarp := strings.Contains(all[0].Job, "Warp")
	unit := "billion lanes a second"
	if isWarp {
		unit = "nanoseconds a call, by active lanes"
	}
	fmt.Fprintf(w, "\n%s, %s, %s (± half the interquartile range):\n", all[0].Job, all[0].Place, unit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var columns []int
	for _, n := range all[0].Lanes {
		if isWarp || tableLanes[n] {
			columns = append(columns, n)
			fmt.Fprintf(t, "\t%s", size(n))
		}
	}
	fmt.Fprintln(t, "\t")
	for _, s := range all {
		fmt.Fprint(t, s.Contender)
		for _, n := range columns {
			cell := ""
			if i := slices.Index(s.Lanes, n); i >= 0 {
				value := s.Ns[i]
				if !isWarp {
					value = float64(n) / value
				}
				cell = fmt.Sprintf("%.3g ±%.0f%%", value, 50*(s.Q3[i]-s.Q1[i])/s.Ns[i])
			}
			fmt.Fprintf(t, "\t%s", cell)
		}
		fmt.Fprintln(t, "\t")
	}
	t.Flush()
}

// size returns a number as text. If the number is a multiple of Ki or Mi, it uses them.
func size(n int) string {
	switch {
	case n == 0:
		return "unknown"
	case n%(1<<20) == 0:
		return fmt.Sprint(n>>20, "Mi")
	case n%(1<<10) == 0:
		return fmt.Sprint(n>>10, "Ki")
	}
	return fmt.Sprint(n)
}

// readmeTable returns the README's table of speed for a results file. The ratios come
// first, then lanes a second.
func readmeTable(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return "", fmt.Errorf("%s: %v", path, err)
	}
	if len(r.Kernels) == 0 || r.find("Insert/u32", apart, goLoop) == nil {
		return "", fmt.Errorf("%s: not the results of a whole run by this version of bench", path)
	}
	ours := library + " " + r.Kernels[len(r.Kernels)-1]
	// ns returns the nanoseconds of one call. If they were not measured, it returns NaN. If
	// lanes is memory, it returns the time of the longest call that was measured.
	ns := func(job, contender string, lanes int) float64 {
		s := r.find(job, apart, contender)
		if s == nil {
			return math.NaN()
		}
		if lanes == memory {
			return s.Ns[len(s.Ns)-1]
		}
		if i := slices.Index(s.Lanes, lanes); i >= 0 {
			return s.Ns[i]
		}
		return math.NaN()
	}
	longest := func(job string) float64 {
		s := r.find(job, apart, ours)
		return float64(s.Lanes[len(s.Lanes)-1])
	}
	var b strings.Builder
	cell := func(format string, value float64) {
		if math.IsNaN(value) {
			b.WriteString(" |")
		} else {
			fmt.Fprintf(&b, " "+format+" |", value)
		}
	}
	fmt.Fprintf(&b, "The columns Go and C say how many times as fast as the Go loop and the C loop `%s` is,\n"+
		"for calls on 8 lanes, 64 lanes and so on. Calls in memory are the longest calls measured, of up to %s lanes.\n"+
		"The last two columns have billions of lanes a second.\n\n", ours, size(memory))
	fmt.Fprintln(&b, "| job | Go, 8 | Go, 64 | Go, 1 Ki | Go, memory | C, 1 Ki | C, memory | G lanes/s, 1 Ki | memory |")
	fmt.Fprintln(&b, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	var list, others []job
	for _, j := range jobs() {
		switch {
		case r.find(j.name, apart, ours) == nil: // not measured
		case strings.HasPrefix(j.name, "Pack/"), strings.HasPrefix(j.name, "Unpack/"):
			list = append(list, j)
		case !j.warp && strings.HasSuffix(j.name, "/u32"):
			others = append(others, j)
		}
	}
	list = append(list, others...)
	for _, j := range list {
		fmt.Fprintf(&b, "| `%s` |", j.name)
		for _, lanes := range []int{8, 64, cached, memory} {
			cell("%.1f", ns(j.name, goLoop, lanes)/ns(j.name, ours, lanes))
		}
		for _, lanes := range []int{cached, memory} {
			cell("%.1f", ns(j.name, cLoop, lanes)/ns(j.name, ours, lanes))
		}
		cell("%.3g", cached/ns(j.name, ours, cached))
		cell("%.3g", longest(j.name)/ns(j.name, ours, memory))
		fmt.Fprintln(&b)
	}
	compiler := ""
	if r.C != "" {
		compiler = ", " + r.C
	}
	name := filepath.Base(path)
	fmt.Fprintf(&b, "\n%s (family %d, model %d), %s%s, commit %s, %s: [bench/results/%s](bench/results/%[8]s).\n",
		r.CPU, r.Family, r.Model, r.Go, compiler, r.Commit, r.Date, name)
	return b.String(), nil
}
