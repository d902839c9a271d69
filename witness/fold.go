package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	header = ".version 7.8\n.target sm_75\n.address_size 64\n"

	resultsPerKernel = 512 // if a kernel has many more, ptxas takes longer for each result
	resultsPerModule = 16 * resultsPerKernel
)

// A fragment is PTX whose result is a constant.
type fragment struct {
	body string
	wide bool // whether the result is in %R, which has 64 bits, or in %r, which has 32
}

// module returns PTX with kernels that store the results of fragments, 8 bytes apart.
// Each kernel has perKernel fragments.
func module(fragments []fragment, perKernel int) string {
	var b strings.Builder
	b.WriteString(header)
	for k := 0; len(fragments) > 0; k++ {
		n := min(perKernel, len(fragments))
		fmt.Fprintf(&b, ".visible .entry k%d(.param .u64 out) {\n.reg .b64 %%o;\nld.param.u64 %%o, [out];\n", k)
		for i, f := range fragments[:n] {
			address, result := "%o", "b32 [%s], %%r"
			if i > 0 { // ptxas -O0 has an instruction that adds the offset, even 0
				address = fmt.Sprintf("%%o+%d", 8*i)
			}
			if f.wide {
				result = "b64 [%s], %%R"
			}
			fmt.Fprintf(&b, "{ .reg .b32 %%r; .reg .b64 %%R; %s st.global."+result+"; }\n", f.body, address)
		}
		b.WriteString("ret;\n}\n")
		fragments = fragments[n:]
	}
	return b.String()
}

// A constant is a fragment's result.
type constant struct {
	value  uint64 // 0 if ptxas folded it for no target
	folded uint8  // bit i is set if ptxas folded it for targets[i]
}

// fold assembles fragments with ptxas, and reads their results from the disassembly.
func (t *tools) fold(fragments []fragment, perKernel int, target, level string) ([]constant, error) {
	functions, err := t.assemble(module(fragments, perKernel), target, level)
	if err != nil {
		return nil, err
	}
	var results []constant
	for k := 0; len(fragments) > 0; k++ {
		n := min(perKernel, len(fragments))
		list, err := readConstants(functions[fmt.Sprintf("k%d", k)], fragments[:n], target)
		if err != nil {
			return nil, fmt.Errorf("%s %s: kernel %d: %w", target, level, k, err)
		}
		results = append(results, list...)
		fragments = fragments[n:]
	}
	return results, nil
}

// branches are the instructions that may jump.
var branches = []string{"BRA", "BRX", "BRXU", "JMP", "JMX", "CALL", "RET", "BSSY", "BSYNC", "BREAK", "WARPSYNC",
	"YIELD", "KILL", "BPT"}

// readConstants returns the constants that a kernel stores. A stored word is a constant
// only if moves alone brought it there. A kernel that branches has no constants.
func readConstants(code []instruction, fragments []fragment, target string) ([]constant, error) {
	var steps []step
	for _, in := range code {
		name, _, _ := strings.Cut(in.op, ".")
		if slices.Contains(branches, name) {
			return make([]constant, len(fragments)), nil
		}
		s, err := compile([]instruction{in})
		if err != nil || in.guard != "" {
			s = []step{in.forget}
		}
		steps = append(steps, s...)
	}
	m := machine{base: parameters(target), constants: map[int]uint32{}}
	if err := m.run(steps); err != nil {
		return nil, err
	}
	words := map[int]word{}
	for _, s := range m.stores {
		for k, w := range s.words {
			if _, twice := words[s.offset+4*k]; twice {
				return nil, fmt.Errorf("two stores to offset %d", s.offset+4*k)
			}
			words[s.offset+4*k] = w
		}
	}
	results := make([]constant, len(fragments))
	stored := 0
	for i, f := range fragments {
		n := 1
		if f.wide {
			n = 2
		}
		r := constant{folded: 1}
		for k := range n {
			w, ok := words[8*i+4*k]
			if !ok {
				return nil, fmt.Errorf("no store to offset %d", 8*i+4*k)
			}
			if !w.moved {
				r.folded = 0
			}
			r.value |= uint64(w.bits) << (32 * k)
		}
		if r.folded != 0 {
			results[i] = r
		}
		stored += n
	}
	if stored != len(words) {
		return nil, fmt.Errorf("%d words stored, want %d", len(words), stored)
	}
	return results, nil
}

// forget clears the registers that an unknown instruction may have written. Then they
// hold no constants. The destination is the instruction's first register, with only
// predicates before it. The instruction's name says how wide the destination is.
func (in instruction) forget(m *machine) {
	words := 1
	switch {
	case strings.Contains(in.op, "SETP"):
		return
	case strings.Contains(in.op, "64"), strings.Contains(in.op, ".WIDE"):
		words = 2
	case strings.Contains(in.op, "128"):
		words = 4
	}
	for _, arg := range in.args {
		n, ok := register(arg)
		if _, _, isPredicate := predicate(arg); isPredicate {
			continue
		}
		if ok && n%256 != zero {
			for k := n; k < min(n+words, n|255); k++ {
				m.registers[k] = word{}
			}
		}
		return
	}
}

// foldAll folds fragments for each target. If sampled is not nil, it picks the fragments
// for the targets other than targets[fullTarget]. If two targets give different results,
// foldAll returns an error.
func (t *tools) foldAll(fragments []fragment, sampled func(i int) bool) ([]constant, error) {
	type job struct {
		bit  int
		list []int
	}
	var jobs []job
	for bit := range targets {
		var list []int
		for i := range fragments {
			if bit == fullTarget || sampled == nil || sampled(i) {
				list = append(list, i)
			}
		}
		for part := range slices.Chunk(list, resultsPerModule) {
			jobs = append(jobs, job{bit, part})
		}
	}
	all := make([]constant, len(fragments))
	var mu sync.Mutex
	began, done := time.Now(), 0
	err := parallel(len(jobs), func(i int) error {
		j, target := jobs[i], targets[jobs[i].bit]
		var part []fragment
		for _, i := range j.list {
			part = append(part, fragments[i])
		}
		results, err := t.fold(part, resultsPerKernel, target, "-O3")
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for k, r := range results {
			c := &all[j.list[k]]
			if r.folded == 0 {
				continue
			}
			if c.folded != 0 && r.value != c.value {
				return fmt.Errorf("%s folds %q to %#x, and another target folds it to %#x", target, part[k].body, r.value, c.value)
			}
			*c = constant{r.value, c.folded | 1<<j.bit}
		}
		done++
		fmt.Printf("%d of %d modules, after %.0f s\n", done, len(jobs), time.Since(began).Seconds())
		return nil
	})
	return all, err
}

// parallel calls f with 0 to n-1 on all processors. If calls fail, it returns the error of
// one of them.
func parallel(n int, f func(i int) error) error {
	var group sync.WaitGroup
	next, failed := make(chan int), make(chan error, n)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range n {
		if len(failed) > 0 {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// parameters returns the offset of a kernel's parameters in bank 0.
func parameters(target string) int {
	switch {
	case len(target) > len("sm_90"): // from sm_100 on
		return 0x380
	case target >= "sm_90":
		return 0x210
	}
	return 0x160
}
