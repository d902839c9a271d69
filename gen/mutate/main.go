// Mutate shows that the tests catch wrong kernels. It makes small wrong ones out
// of the generated assembly, runs the library's tests on one at a time, and lists
// those that pass:
//
//	go -C gen run ./mutate [-isa avx2|avx512|neon] [-n COUNT] [-proof] [-v]
//
// With -proof it gives the same mutants to the proof instead of the tests, at least
// one of each rule, and some that the tests need not notice.
//
// It works in a copy of the library. For AVX-512 and NEON it needs an emulator
// where the processor lacks them: Bochs, by .ci/bochs, or qemu-aarch64. It fails
// if a wrong kernel passes that is not known to be equivalent to the right one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var spaces = regexp.MustCompile(`[ \t]+`)

// A suite is the tests of one instruction set's kernels.
type suite struct {
	goarch     string
	file       string // the file with the kernels
	symbols    string // a pattern of their names, and of the table they use
	rules      []rule
	proofRules []rule   // rules whose mutants only the proof is sure to refute
	count      int      // the number of mutants, unless -n says otherwise
	tests      []string // arguments of the test program
	emulator   string   // a path from the library's root, or a command
}

var suites = map[string]suite{
	"avx2": {
		goarch: "amd64", file: "bfi_amd64.s", symbols: `(AVX2|BMI2)$|^tables$`,
		rules: slices.Concat(avx2Rules, bmi2Rules, amd64Rules), proofRules: avx2ProofRules, count: 99,
	},
	"avx512": {
		goarch: "amd64", file: "bfi_amd64.s", symbols: `AVX512$`, rules: slices.Concat(avx512Rules, amd64Rules),
		proofRules: amd64ProofRules, count: 16,
		tests: []string{"-test.short", "-test.run=^Test(Lanes|GuardPages)$"}, emulator: ".ci/bochs",
	},
	"neon": {
		goarch: "arm64", file: "bfi_arm64.s", symbols: `NEON$`, rules: arm64Rules, proofRules: arm64ProofRules, count: 29,
		tests: []string{"-test.short"}, emulator: "qemu-aarch64",
	},
}

func main() {
	isa := flag.String("isa", "avx2", "the kernels to change: avx2, avx512 or neon")
	n := flag.Int("n", 0, "how many mutants to make, 0 for the usual number")
	prove := flag.Bool("proof", false, "let the proof refute the mutants instead of the tests catching them")
	verbose := flag.Bool("v", false, "list all mutants, not only those that were not caught")
	flag.Parse()
	s, ok := suites[*isa]
	if !ok {
		fail(fmt.Errorf("-isa %s, want avx2, avx512 or neon", *isa))
	}
	if *prove {
		s.rules = slices.Concat(s.proofRules, s.rules)
	}
	switch {
	case *n > 0:
		s.count = *n
	case *prove:
		s.count = max(s.count, len(s.rules)) // no emulator is waited for
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	survived, err := s.run(ctx, *isa, *prove, *verbose)
	if err != nil {
		fail(err)
	}
	if survived {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "mutate:", err)
	os.Exit(1)
}

// run reports whether a mutant that is not known to be equivalent survived.
func (s *suite) run(ctx context.Context, isa string, prove, verbose bool) (bool, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	b := &bench{suite: s, isa: isa, module: filepath.Join(dir, "bfi"), dir: dir}
	if err := copyModule(b.module, root); err != nil {
		return false, err
	}
	text, err := os.ReadFile(filepath.Join(b.module, b.file))
	if err != nil {
		return false, fmt.Errorf("no kernels above this directory, want to be run in gen: %w", err)
	}
	b.text = spaces.ReplaceAllString(strings.ReplaceAll(string(text), "\n\t", "\n"), " ")
	mutants, err := b.choose(ctx)
	if err != nil {
		return false, err
	}
	prepare := b.prepare
	if prove {
		prepare = b.prepareProof
	}
	if err := prepare(ctx, root); err != nil {
		return false, err
	}
	if err := b.tryAll(ctx, mutants); err != nil {
		return false, err
	}

	caught, equal, survived := 0, 0, 0
	for _, m := range mutants {
		switch {
		case m.caughtBy != "":
			caught++
			if verbose {
				fmt.Printf("caught by %s in %.1f s: %s\n", m.caughtBy, m.took.Seconds(), m)
			}
		case b.why(m) != "":
			equal++
			fmt.Printf("equivalent, %s: %s\n", b.why(m), m)
		default:
			survived++
			fmt.Printf("SURVIVED: %s\n", m)
		}
	}
	fmt.Printf("%d mutants: %d caught, %d equivalent, %d survived\n", len(mutants), caught, equal, survived)
	return survived > 0, nil
}

// copyModule copies what the library's tests are built from and read.
func copyModule(to, root string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"*.go", "*.s", "go.mod", "go.sum"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
				return err
			}
		}
	}
	if err := os.CopyFS(filepath.Join(to, "internal"), os.DirFS(filepath.Join(root, "internal"))); err != nil {
		return err
	}
	err := os.CopyFS(filepath.Join(to, "testdata"), os.DirFS(filepath.Join(root, "testdata")))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// A bench is where mutants are tried.
type bench struct {
	*suite
	isa         string
	dir, module string
	launcher    []string // before the test program's path
	limit       time.Duration
	prover      string // the generator, if mutants are given to the proof
	goroot      string
	text        string // the right assembly, with single spaces
}

// A mutant is a wrong kernel: the rule that made it, and where.
type mutant struct {
	rule     string
	file     string
	line     int
	function string
	was, is  string
	before   string // the right text of the function before it
	lo, hi   int    // where was is in the right text
	caughtBy string
	took     time.Duration
}

// wrong returns the whole text of the assembly with a mutant in it.
func (b *bench) wrong(m *mutant) string { return b.text[:m.lo] + m.is + b.text[m.hi:] }

func (m *mutant) change() string {
	oneLine := func(s string) string {
		if s = strings.TrimSpace(s); s == "" {
			return "nothing"
		}
		return strings.ReplaceAll(s, "\n", "; ")
	}
	return oneLine(m.was) + " -> " + oneLine(m.is)
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", m.file, m.line, m.function, m.rule, m.change())
}

// why returns the reason why a mutant is equivalent to the right kernel, or "" if none is known.
func (b *bench) why(m *mutant) string {
	for _, e := range equivalents[b.isa] {
		if e.is(m) {
			return e.why
		}
	}
	return ""
}

// mostTime is less than .ci/bochs gives a program.
const mostTime = 9 * time.Minute

// prepare finds out how to run tests of these kernels, and for how long right
// ones take.
func (b *bench) prepare(ctx context.Context, root string) error {
	program, out, err := b.build(ctx, "right", b.text)
	if err != nil {
		return fmt.Errorf("the tests do not build: %w\n%s", err, out)
	}
	b.limit = mostTime
	native := b.goarch == runtime.GOARCH
	if native {
		out, err := b.test(ctx, program, "-test.run=^$")
		native = err == nil
		if !native && b.emulator == "" {
			return fmt.Errorf("%s kernels cannot run here: %w\n%s", b.isa, err, out)
		}
	}
	if !native {
		path := b.emulator
		if strings.Contains(path, "/") {
			path = filepath.Join(root, path)
		}
		if path, err = exec.LookPath(path); err != nil {
			return fmt.Errorf("%s kernels cannot run here without an emulator: %w", b.isa, err)
		}
		b.launcher = []string{path}
	}
	fmt.Fprintf(os.Stderr, "mutate: right kernels first\n")
	start := time.Now()
	out, err = b.test(ctx, program, b.tests...)
	if err != nil {
		return fmt.Errorf("the tests do not pass with right kernels: %w\n%s", err, out)
	}
	took := time.Since(start)
	// Two run at a time, and the machine may have other things to do.
	b.limit = min(4*took+10*time.Second, mostTime)
	fmt.Fprintf(os.Stderr, "mutate: passed in %.1f s; a wrong one may take %.0f s\n", took.Seconds(), b.limit.Seconds())
	return os.Remove(program)
}

// build builds the test program with other assembly. Its output says why it
// could not.
func (b *bench) build(ctx context.Context, name, text string) (program string, out []byte, err error) {
	source := filepath.Join(b.dir, name+".s")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(b.module, b.file): source}})
	if err != nil {
		return "", nil, err
	}
	list := filepath.Join(b.dir, name+".json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return "", nil, err
	}
	program = filepath.Join(b.dir, name+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay="+list, "-o="+program, ".")
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "GOARCH="+b.goarch, "CGO_ENABLED=0")
	out, err = cmd.CombinedOutput()
	return program, out, err
}

var errLimit = errors.New("took too long")

// test runs a test program. It returns its output, and an error unless it passed:
// errLimit, or how it ended.
func (b *bench) test(ctx context.Context, program string, args ...string) ([]byte, error) {
	limited, cancel := context.WithTimeoutCause(ctx, b.limit, errLimit)
	defer cancel()
	line := slices.Concat(b.launcher, []string{program, "-test.failfast"}, args)
	cmd := exec.CommandContext(limited, line[0], line[1:]...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "BFI_KERNEL=", "BFI_TEST_REQUIRE="+b.isa)
	if b.launcher != nil {
		cmd.Env = append(cmd.Env, "BFI_TEST_ONLY="+b.isa)
	}
	// An emulator has something to clear away.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return out, err
}

// choose makes the wanted number of mutants. The rules take turns, and each mutates
// the function with the fewest mutants so far.
func (b *bench) choose(ctx context.Context) ([]*mutant, error) {
	r := rand.New(rand.NewPCG(1, 1))
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	b.goroot = strings.TrimSpace(string(goroot))
	var sites [][]*mutant
	for _, rule := range b.rules {
		list := b.sites(rule)
		if len(list) == 0 {
			return nil, fmt.Errorf("rule %q applies nowhere: %s", rule.name, rule.from)
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		sites = append(sites, list)
	}
	for _, e := range equivalents[b.isa] {
		if !slices.ContainsFunc(slices.Concat(sites...), func(m *mutant) bool { return e.is(m) }) {
			return nil, fmt.Errorf("no mutant is like the known equivalent %s: %s", e.function, e.change)
		}
	}
	var chosen []*mutant
	made := map[string]int{}
	for left := true; left && len(chosen) < b.count; {
		left = false
		for i, rule := range b.rules[:min(len(b.rules), b.count-len(chosen))] {
			m, err := b.pick(ctx, &sites[i], chosen, made)
			if err != nil {
				return nil, err
			}
			if m != nil {
				left = true
				made[m.function]++
				chosen = append(chosen, m)
			} else if !slices.ContainsFunc(chosen, func(m *mutant) bool { return m.rule == rule.name }) {
				return nil, fmt.Errorf("rule %q makes nothing that assembles: %s", rule.name, rule.to)
			}
		}
	}
	return chosen, nil
}

// pick takes one of a rule's mutants, of the function with the fewest mutants so far.
// It returns nil if none is left.
func (b *bench) pick(ctx context.Context, sites *[]*mutant, chosen []*mutant, made map[string]int) (*mutant, error) {
	for len(*sites) > 0 {
		m := slices.MinFunc(*sites, func(m, o *mutant) int { return made[m.function] - made[o.function] })
		*sites = slices.DeleteFunc(*sites, func(o *mutant) bool { return o == m })
		text := b.wrong(m)
		if slices.ContainsFunc(chosen, func(o *mutant) bool { return b.wrong(o) == text }) {
			continue
		}
		if ok, err := b.assembles(ctx, text); err != nil || ok {
			return m, err
		}
	}
	return nil, nil
}

var textLine = regexp.MustCompile(`(?m)^TEXT ·(\w+)`)

// sites returns all mutants that a rule can make.
func (b *bench) sites(r rule) []*mutant {
	symbols, in := regexp.MustCompile(b.symbols), regexp.MustCompile(r.in)
	from := whole(r.from)
	starts := textLine.FindAllStringSubmatchIndex(b.text, -1)
	var list []*mutant
	for _, at := range from.FindAllStringSubmatchIndex(b.text, -1) {
		// The tables of data precede the functions.
		function, start := "tables", 0
		for _, s := range starts {
			if s[0] <= at[0] {
				function, start = b.text[s[2]:s[3]], s[0]
			}
		}
		was, is := b.text[at[0]:at[1]], sums(string(from.ExpandString(nil, r.to, b.text, at)))
		if was != is && symbols.MatchString(function) && in.MatchString(function) {
			list = append(list, &mutant{
				rule: r.name, file: b.file, line: 1 + strings.Count(b.text[:at[0]], "\n"), function: function,
				was: was, is: is, before: b.text[start:at[0]], lo: at[0], hi: at[1],
			})
		}
	}
	return list
}

var sum = regexp.MustCompile(`\b(\d+)([+-]\d+)\b`)

// sums works out what a rule adds to a number: the assembler would, but not the
// proof.
func sums(s string) string {
	return sum.ReplaceAllStringFunc(s, func(s string) string {
		m := sum.FindStringSubmatch(s)
		x, _ := strconv.Atoi(m[1]) // the pattern lets only numbers through
		y, _ := strconv.Atoi(m[2])
		return strconv.Itoa(x + y)
	})
}

// assembles reports whether the assembler takes a text.
func (b *bench) assembles(ctx context.Context, text string) (bool, error) {
	source := filepath.Join(b.dir, "mutant.s")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return false, err
	}
	include := filepath.Join(b.goroot, "pkg", "include")
	cmd := exec.CommandContext(ctx, "go", "tool", "asm", "-p=bfi", "-I="+include,
		"-o="+filepath.Join(b.dir, "mutant.o"), source)
	cmd.Env = append(os.Environ(), "GOARCH="+b.goarch)
	err := cmd.Run()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil, nil
}

// tryAll runs the tests on each mutant, two at a time.
func (b *bench) tryAll(ctx context.Context, mutants []*mutant) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan int)
	go func() {
		defer close(queue)
		for i := range mutants {
			select {
			case queue <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var group sync.WaitGroup
	for range min(2, runtime.NumCPU()) {
		group.Go(func() {
			for i := range queue {
				m := mutants[i]
				try := b.try
				if b.prover != "" {
					try = b.refute
				}
				if err := try(ctx, fmt.Sprint(i), m); err != nil {
					cancel(err)
					return
				}
				result := "NOT CAUGHT"
				if m.caughtBy != "" {
					result = "caught"
				}
				fmt.Fprintf(os.Stderr, "mutate: %d of %d: %s in %.1f s\n", i+1, len(mutants), result, m.took.Seconds())
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// verdict matches the line of a test program's output that says why it failed.
var verdict = regexp.MustCompile(`(?m)^(--- FAIL: \w+|unexpected fault|fatal error: .*|panic: .*|SIG\w+)`)

// unrelated reports whether a test program ended for a reason other than the kernels:
// an emulator failed by itself, or someone else killed the program.
func unrelated(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return exit.ExitCode() == 125 || ok && status.Signal() == syscall.SIGKILL
}

// try runs the tests on one mutant.
func (b *bench) try(ctx context.Context, name string, m *mutant) error {
	program, out, err := b.build(ctx, name, b.wrong(m))
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", m, err, out)
	}
	defer os.Remove(program)
	start := time.Now()
	out, err = b.test(ctx, program, b.tests...)
	m.took = time.Since(start)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.Is(err, errLimit):
		m.caughtBy = "the time limit"
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit) && !unrelated(exit):
		m.caughtBy = exit.String()
		if line := verdict.Find(out); line != nil {
			m.caughtBy = strings.TrimPrefix(string(line), "--- FAIL: ")
		}
	default:
		return fmt.Errorf("%s: %w\n%s", m, err, out)
	}
	return nil
}

// mostProofTime is more than the proof of a right kernel takes on a busy machine.
const mostProofTime = 5 * time.Minute

// prepareProof builds the generator, which proves, and proves a right kernel.
func (b *bench) prepareProof(ctx context.Context, root string) error {
	b.prover = filepath.Join(b.dir, "gen")
	build := exec.CommandContext(ctx, "go", "build", "-o="+b.prover, ".")
	build.Dir = filepath.Join(root, "gen")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("the generator does not build: %w\n%s", err, out)
	}
	first := textLine.FindAllStringSubmatch(b.text, -1)
	for _, m := range first {
		if regexp.MustCompile(b.symbols).MatchString(m[1]) {
			if out, err := b.prove(ctx, "right", b.text, m[1]); err != nil {
				return fmt.Errorf("the right %s is not proved: %w\n%s", m[1], err, out)
			}
			return nil
		}
	}
	return fmt.Errorf("no kernel matches %s", b.symbols)
}

// prove proves the kernels that match a pattern in other assembly.
func (b *bench) prove(ctx context.Context, name, text, pattern string) ([]byte, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, file := range []string{"bfi_amd64.s", "bfi_arm64.s", "dispatch_amd64.go", "dispatch_arm64.go"} {
		right, err := os.ReadFile(filepath.Join(b.module, file))
		if err != nil {
			return nil, err
		}
		if file == b.file {
			right = []byte(text)
		}
		if err := os.WriteFile(filepath.Join(dir, file), right, 0o644); err != nil {
			return nil, err
		}
	}
	return exec.CommandContext(ctx, b.prover, "-prove", "-root="+dir, "-kernel=^("+pattern+")$").CombinedOutput()
}

// refutation matches the line of the proof's output that says what is wrong. A mutant
// that the proof cannot read is not refuted.
var refutation = regexp.MustCompile(
	`(?m)^.*(: wrong: |: no length executes it$|: the immediate has more than 31 bits).*`)

var dataLine = regexp.MustCompile(`^DATA (\w+)<>`)

// refute gives one mutant to the proof: the mutated kernel or, if data is mutated, some
// of the kernels that use the data.
func (b *bench) refute(ctx context.Context, name string, m *mutant) error {
	pattern := m.function
	if data := dataLine.FindStringSubmatch(m.was); data != nil {
		var users []string
		for _, f := range strings.Split(b.text, "TEXT ·")[1:] {
			symbol, _, _ := strings.Cut(f, "(")
			if strings.Contains(f, data[1]+"<>") && len(users) < 8 {
				users = append(users, symbol)
			}
		}
		pattern = strings.Join(users, "|")
	}
	start := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, mostProofTime, errLimit)
	defer cancel()
	out, err := b.prove(limited, name, b.wrong(m), pattern)
	m.took = time.Since(start)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.Is(context.Cause(limited), errLimit):
		m.caughtBy = "the time limit" // right kernels have few expressions, and take less
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit) && refutation.Match(out) && !bytes.Contains(out, []byte("the proof does not know")):
		m.caughtBy = string(refutation.Find(out))
	default:
		return fmt.Errorf("%s: %w\n%s", m, err, out)
	}
	return nil
}
