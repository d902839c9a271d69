package bfi

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMain prints the kernels that the tests run on. BFI_TEST_REQUIRE is a list of names with
// commas between them. If the tests do not run on all kernels of the list, they fail.
func TestMain(m *testing.M) {
	if os.Getenv("BFI_TEST_PRINT_KERNEL") != "" {
		fmt.Println(Kernel(), supported())
		return
	}
	if fault := faults[os.Getenv("BFI_TEST_FAULT")]; fault != nil {
		fault()
		return
	}
	var have, lack []string
	for l, name := range levelNames {
		if slices.ContainsFunc(kernels, func(k kernel) bool { return k.level == level(l) }) {
			have = append(have, name)
		} else {
			lack = append(lack, name)
		}
	}
	fmt.Printf("bfi: this process runs %s; tested here: %s", Kernel(), strings.Join(have, ", "))
	if len(lack) > 0 {
		fmt.Printf("; not tested: %s (this machine, this build or BFI_TEST_ONLY leaves them out)", strings.Join(lack, ", "))
	}
	fmt.Println()
	if len(have) == 0 {
		fmt.Printf("bfi: BFI_TEST_ONLY = %q leaves no kernel to test\n", os.Getenv("BFI_TEST_ONLY"))
		os.Exit(1)
	}
	if list := os.Getenv("BFI_TEST_REQUIRE"); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			if !slices.Contains(have, name) {
				fmt.Printf("bfi: BFI_TEST_REQUIRE = %q: %q is not among %s\n", list, name, strings.Join(have, ", "))
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// TestKernel checks the choice of a kernel. It calls choose, and starts child processes.
func TestKernel(t *testing.T) {
	// The best is first.
	order := []string{"avx512", "avx2", "neon", "generic"}
	var have []string
	for _, l := range supported() {
		have = append(have, l.String())
	}
	best := func(names []string) string {
		return names[slices.IndexFunc(names, func(name string) bool { return slices.Contains(have, name) })]
	}
	if want := best(order[max(0, slices.Index(order, os.Getenv("BFI_KERNEL"))):]); Kernel() != want {
		t.Errorf("BFI_KERNEL = %q, kernels %v: Kernel() = %q, want %q", os.Getenv("BFI_KERNEL"), have, Kernel(), want)
	}
	for i, limit := range append(order, "") {
		want := best(order[i%len(order):])
		if got := choose(limit).String(); got != want {
			t.Errorf("choose(%q) = %s, want %s of %v", limit, got, want, have)
		}
		out, err := rerun(t, "BFI_KERNEL="+limit, "BFI_TEST_PRINT_KERNEL=1").Output()
		if have, _, _ := strings.Cut(string(out), " "); err != nil || have != want {
			t.Errorf("with BFI_KERNEL=%s: Kernel() = %q, %v, want %q of %v", limit, have, err, want, supported())
		}
	}
}

// TestUnknownKernel checks that a BFI_KERNEL that names no kernel costs the program
// one line on standard error and nothing else.
func TestUnknownKernel(t *testing.T) {
	unset, err := rerun(t, "BFI_KERNEL=", "BFI_TEST_PRINT_KERNEL=1").Output()
	if err != nil {
		t.Fatal(err)
	}
	best := slices.Clone(levelNames[:])
	slices.Reverse(best)
	for _, name := range []string{"sse9", "AVX2", "avx2 ", "two\nlines", "0", "\xff"} {
		cmd := rerun(t, "BFI_KERNEL="+name, "BFI_TEST_PRINT_KERNEL=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || string(out) != string(unset) {
			t.Errorf("with BFI_KERNEL=%q: %v, output %q, want %q as without it", name, err, out, unset)
		}
		want := fmt.Sprintf("bfi: BFI_KERNEL=%q is none of %s; ignored\n", name, strings.Join(best, ", "))
		if stderr.String() != want {
			t.Errorf("with BFI_KERNEL=%q: standard error %q, want %q", name, stderr.String(), want)
		}
	}
	for _, name := range append(best, "") {
		cmd := rerun(t, "BFI_KERNEL="+name, "BFI_TEST_PRINT_KERNEL=1")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "BFI_KERNEL") {
			t.Errorf("with BFI_KERNEL=%q: %v, output %q, want nothing about BFI_KERNEL", name, err, out)
		}
	}
}

func TestRequire(t *testing.T) {
	out, err := rerun(t, "BFI_TEST_REQUIRE=generic,sse9", "BFI_TEST_ONLY=", "BFI_KERNEL=").CombinedOutput()
	if err == nil || !strings.Contains(string(out), `"sse9" is not among`) {
		t.Errorf("with BFI_TEST_REQUIRE=generic,sse9: %v, output:\n%s\nwant a failure that names sse9", err, out)
	}
}

// rerun returns a command that runs this test binary without tests, with env added to its
// environment. If that is not possible, rerun skips the test. For example, an emulator may
// run child processes on the machine itself, which has another processor.
func rerun(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Skipf("cannot start itself here: %v", err)
	}
	command := func(env ...string) *exec.Cmd {
		cmd := exec.Command(exe, "-test.run=^$")
		cmd.Env = append(os.Environ(), env...)
		return cmd
	}
	out, err := command("BFI_KERNEL=", "BFI_TEST_PRINT_KERNEL=1").Output()
	if err != nil {
		t.Skipf("cannot start itself here: %v", err)
	}
	if _, have, _ := strings.Cut(strings.TrimSpace(string(out)), " "); have != fmt.Sprint(supported()) {
		t.Skipf("child processes run on another processor here: it has %s, this one %v", have, supported())
	}
	return command(env...)
}
