package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// A result is a whole run, as it is written to a file.
type result struct {
	CPU         string       `json:"cpu"`
	Family      int          `json:"family"`
	Model       int          `json:"model"`
	Cores       int          `json:"cores"`
	Caches      caches       `json:"caches"`
	System      string       `json:"system"`
	Go          string       `json:"go"`
	Kernels     []string     `json:"kernels"`
	C           string       `json:"c,omitempty"`
	Archsimd    string       `json:"archsimd,omitempty"`
	Commit      string       `json:"commit"`
	Date        string       `json:"date"`
	Command     string       `json:"command"`
	BenchTime   string       `json:"benchtime"`
	Rounds      int          `json:"rounds"`
	StreamBytes int          `json:"stream_bytes"` // from how many on the library's stores bypass the cache
	Comparisons []comparison `json:"-"`
	Series      []*series    `json:"-"`
}

// caches are the sizes in bytes that the processor tells, 0 where it does not.
type caches struct {
	L1D int `json:"l1d"`
	L2  int `json:"l2"`
	L3  int `json:"l3"`
}

// A series is one contender over all lengths of one function and place. Of the
// warp functions the lengths are those of the active mask, in set bits.
type series struct {
	Function  string    `json:"function"`
	Bits      int       `json:"bits"`
	Place     string    `json:"place"`
	Contender string    `json:"contender"`
	Lanes     []int     `json:"lanes"`
	Ns        []float64 `json:"ns"` // of one call: the median, and the quartiles
	Q1        []float64 `json:"ns_q1"`
	Q3        []float64 `json:"ns_q3"`
}

func (s *series) add(lanes int, t timing) {
	s.Lanes = append(s.Lanes, lanes)
	s.Ns = append(s.Ns, round(t.median))
	s.Q1 = append(s.Q1, round(t.q1))
	s.Q3 = append(s.Q3, round(t.q3))
}

// A comparison is how many times faster a kernel is than another contender in
// the same rounds.
type comparison struct {
	Kernel    string  `json:"kernel"`
	Function  string  `json:"function"`
	Bits      int     `json:"bits"`
	Place     string  `json:"place"`
	Lanes     int     `json:"lanes"`
	Contender string  `json:"contender"`
	Ratio     float64 `json:"ratio"`
	Q1        float64 `json:"ratio_q1"`
	Q3        float64 `json:"ratio_q3"`
	Bar       float64 `json:"bar,omitempty"` // what the kernel is held to
}

// round keeps four digits, more than a measurement is good for.
func round(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return y
}

func newResult(benchtime time.Duration, rounds int) *result {
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
		C:           cCompiler,
		Archsimd:    simdVectors,
		Commit:      commit(),
		Date:        time.Now().UTC().Format(time.DateOnly),
		Command:     "go -C bench run . " + strings.Join(os.Args[1:], " "),
		BenchTime:   benchtime.String(),
		Rounds:      rounds,
		StreamBytes: libraryStreamBytes,
	}
	r.Command = strings.TrimSpace(r.Command)
	if simdVectors != "" {
		r.Command = "GOEXPERIMENT=simd " + r.Command
	}
	if r.CPU == "" {
		r.CPU = "unknown " + runtime.GOARCH + " processor"
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		r.System += ", kernel " + strings.TrimSpace(string(release))
	}
	for _, level := range supportedLevels() {
		r.Kernels = append(r.Kernels, kernelName(level))
	}
	return r
}

// commit is what is measured: of the working directory's repository, or else
// what the go command stamped the program with.
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

// slug names files after the processor. Many virtual machines tell only the
// brand, so family and model are part of it.
func (r *result) slug() string {
	s := strings.ToLower(noise.ReplaceAllString(r.CPU, " "))
	s = strings.Trim(nonWord.ReplaceAllString(s, "-"), "-")
	return fmt.Sprintf("%s-f%dm%d", s, r.Family, r.Model)
}

// write writes r as JSON with one series a line.
func (r *result) write(path string) error {
	head, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(head, []byte("\n}")))
	b.WriteString(",\n\t\"comparisons\": ")
	if err := writeLines(&b, r.Comparisons); err != nil {
		return err
	}
	b.WriteString(",\n\t\"series\": ")
	if err := writeLines(&b, r.Series); err != nil {
		return err
	}
	b.WriteString("\n}\n")
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// writeLines writes a JSON array with one element a line.
func writeLines[E any](b *bytes.Buffer, elements []E) error {
	for i, e := range elements {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i == 0 {
			b.WriteString("[\n\t\t")
		} else {
			b.WriteString(",\n\t\t")
		}
		b.Write(line)
	}
	if len(elements) == 0 {
		b.WriteString("[")
	}
	b.WriteString("\n\t]")
	return nil
}

// print writes what was measured as tables.
func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "%s (family %d, model %d), %d cores, L1 %s, L2 %s, L3 %s\n", r.CPU, r.Family, r.Model, r.Cores,
		size(r.Caches.L1D), size(r.Caches.L2), size(r.Caches.L3))
	fmt.Fprintf(w, "%s, %s, kernels %s, commit %s, %s\n", r.System, r.Go, strings.Join(r.Kernels, " "), r.Commit, r.Date)
	fmt.Fprintf(w, "C: %s; archsimd: %s\n", or(r.C, "left out"), or(r.Archsimd, "left out"))
	for i := 0; i < len(r.Series); {
		j := i + 1
		for j < len(r.Series) && r.Series[j].group() == r.Series[i].group() {
			j++
		}
		printGroup(w, r.Series[i:j])
		i = j
	}
	if len(r.Comparisons) > 0 {
		fmt.Fprint(w, "\nTimes faster, median (quartiles) over the rounds:\n")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "kernel\tfunction\tplace\tlanes\tthan\tratio\tbar\t")
		for _, c := range r.Comparisons {
			bar := ""
			if c.Bar > 0 {
				bar = fmt.Sprint(c.Bar)
				if c.Ratio < c.Bar {
					bar += " missed"
				}
			}
			fmt.Fprintf(t, "%s\t%s u%d\t%s\t%s\t%s\t%.2f (%.2f-%.2f)\t%s\t\n",
				c.Kernel, c.Function, c.Bits, c.Place, size(c.Lanes), c.Contender, c.Ratio, c.Q1, c.Q3, bar)
		}
		t.Flush()
	}
}

type group struct {
	function string
	bits     int
	place    string
}

func (s *series) group() group { return group{s.Function, s.Bits, s.Place} }

// tableLanes are the lengths that the tables show; files have them all.
var tableLanes = map[int]bool{1: true, 8: true, 31: true, 512: true, 1 << 10: true, 64 << 10: true, 4 << 20: true, 24 << 20: true, 64 << 20: true}

func printGroup(w io.Writer, all []*series) {
	isWarp := strings.HasSuffix(all[0].Function, "Warp")
	unit := "billion lanes a second"
	if isWarp {
		unit = "nanoseconds a call"
	}
	fmt.Fprintf(w, "\n%s u%d, %s, %s (± half the interquartile range):\n", all[0].Function, all[0].Bits, all[0].Place, unit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var columns []int
	for _, s := range all {
		if len(s.Lanes) > len(columns) {
			columns = s.Lanes
		}
	}
	fmt.Fprint(t, "\t")
	for _, n := range columns {
		if isWarp {
			fmt.Fprintf(t, "%d active\t", n)
		} else if tableLanes[n] {
			fmt.Fprintf(t, "%s\t", size(n))
		}
	}
	fmt.Fprintln(t)
	for _, s := range all {
		fmt.Fprintf(t, "%s\t", s.Contender)
		for _, n := range columns {
			if !isWarp && !tableLanes[n] {
				continue
			}
			cell := ""
			for i, m := range s.Lanes {
				if m == n {
					value := s.Ns[i]
					if !isWarp {
						value = float64(n) / s.Ns[i]
					}
					cell = fmt.Sprintf("%.3g ±%.0f%%", value, 50*(s.Q3[i]-s.Q1[i])/s.Ns[i])
				}
			}
			fmt.Fprintf(t, "%s\t", cell)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// size writes a number as whole Ki or Mi where it is one.
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

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
