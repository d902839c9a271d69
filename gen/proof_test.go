package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func requireZ3(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("z3"); err != nil {
		if strings.Contains(os.Getenv("BFI_TEST_REQUIRE"), "z3") {
			t.Fatalf("BFI_TEST_REQUIRE asks for z3: %v", err)
		}
		t.Skipf("the lane formulas are not proved: %v", err)
	}
}

func TestProve(t *testing.T) {
	requireZ3(t)
	if testing.Short() {
		t.Skip("the proof of all lane formulas takes a minute, and -short is given")
	}
	var out bytes.Buffer
	if err := prove(&out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if have, want := strings.Count(out.String(), ": proved\n"), len(kernels)*len(widths)*3; have != want {
		t.Errorf("%d kernels are proved, want %d", have, want)
	}
}

// Programs that are wrong must be refuted by operands for which they are wrong.
func TestProofRefutes(t *testing.T) {
	requireZ3(t)
	src, base := word("src", true), word("base", true)
	pos, width := count("pos", false), count("width", false)
	mask := fieldMask(pos, width)
	change := func(op string, f func(*inst)) func(program) {
		return func(p program) {
			for _, in := range p {
				if in.op == op {
					f(in)
					return
				}
			}
			t.Errorf("no %s to change", op)
		}
	}
	for _, c := range []struct {
		name    string
		kernel  string
		target  target
		formula *node         // instead of the kernel's, if not nil
		change  func(program) // to its instructions, if not nil
		// What the wrong program computes, if given by formula.
		computes func(v values) uint64
	}{
		{name: "missing shift", kernel: "insert", target: target{avx512, 64}, formula: selectBits(mask, src, base),
			computes: func(v values) uint64 { m := maskOf(v); return v["src"]&m | v["base"]&^m }},
		{name: "swapped operands", kernel: "insert", target: target{avx2, 32}, formula: selectBits(mask, base, shl(src, pos)),
			computes: func(v values) uint64 {
				m := maskOf(v)
				return v["base"]&m | uint64(uint32(v["src"]<<(v["pos"]&0xff)))&^m&0xffffffff
			}},
		{name: "logical right shift", kernel: "extractSigned", target: target{neon, 64}, formula: andNot(shr(src, pos), shl(ones(), width)),
			computes: func(v values) uint64 { return v["src"] >> (v["pos"] & 0xff) &^ (^uint64(0) << (v["width"] & 0xff)) }},
		{name: "one shift too many", kernel: "pack", target: target{neon, 32}, formula: selectBits(word("mask", false), shl(word("src", true), add(pos, constant(1))), word("dst", true)),
			computes: func(v values) uint64 {
				return v["src"]<<(v["pos"]&0xff+1)&v["mask"] | v["dst"]&^v["mask"]
			}},
		{name: "swapped selection", kernel: "selectBits", target: target{neon, 64}, formula: selectBits(word("mask", true), base, src),
			computes: func(v values) uint64 { return v["base"]&v["mask"] | v["src"]&^v["mask"] }},
		{name: "truth table", kernel: "insert", target: target{avx512, 32},
			change: change("VPTERNLOGD", func(in *inst) { in.imm ^= 0x08 })},
		{name: "missing & 0xff, AVX2", kernel: "insertEach", target: target{avx2, 32},
			change: change("VPAND", func(in *inst) { in.args[0].val = 0xffffffff })},
		{name: "missing & 0xff, AVX-512", kernel: "extractEachUnsigned", target: target{avx512, 32},
			change: change("VMOVDQU8.Z", func(in *inst) { in.op = pseudoCount })},
		{name: "missing limit of counts", kernel: "extractEachUnsigned", target: target{neon, 64},
			change: change("UMIN", func(in *inst) { in.args[1].val = 0xff<<32 | 0xff })},
		{name: "limit of the odd lanes' counts", kernel: "insertEach", target: target{neon, 64},
			change: change("UMIN", func(in *inst) { in.args[1].val = 0xff<<32 | 127 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			var k kernel
			for _, k = range kernels {
				if k.name+k.variant == c.kernel {
					break
				}
			}
			if c.formula == nil {
				c.formula = k.formula(c.target)
			}
			p := lower(c.formula, c.target)
			if c.change != nil {
				c.change(p)
			}
			th, err := newTheorem(k, c.target, p)
			if err != nil {
				t.Fatal(err)
			}
			v, err := th.prove()
			if err != nil {
				t.Fatal(err)
			}
			if v == nil {
				t.Fatal("proved, want a counterexample")
			}
			t.Log(th.describe(v))
			if want := specified(th, v); v["want"] != want {
				t.Errorf("the counterexample wants 0x%x, the instruction gives 0x%x", v["want"], want)
			}
			if v["have"] == v["want"] {
				t.Error("both sides are equal")
			}
			if c.computes != nil {
				if have := c.computes(v) & (^uint64(0) >> (64 - c.target.bits)); v["have"] != have {
					t.Errorf("the counterexample has 0x%x, the program gives 0x%x", v["have"], have)
				}
			}
		})
	}
}

// specified evaluates a theorem's specification.
func specified(th theorem, v values) uint64 {
	a, b := v[th.a], v[th.b]
	msb, pos, length := th.bits-1, int(v["pos"]&0xff), int(v["width"]&0xff)
	bit := func(w uint64, i int) uint64 { return w >> i & 1 }
	switch th.instruction {
	case "v_bfi":
		return v["mask"]&a | ^v["mask"]&b
	case "bfi":
		f := b
		for i := 0; i < length && pos+i <= msb; i++ {
			f = f&^(1<<(pos+i)) | bit(a, i)<<(pos+i)
		}
		return f
	}
	var sbit, d uint64
	if th.instruction == "bfe.s" && length != 0 {
		sbit = bit(a, min(pos+length-1, msb))
	}
	for i := 0; i <= msb; i++ {
		if i < length && pos+i <= msb {
			d |= bit(a, pos+i) << i
		} else {
			d |= sbit << i
		}
	}
	return d
}

// maskOf is the mask of the field in a 64-bit word.
func maskOf(v values) uint64 {
	return ^(^uint64(0) << (v["width"] & 0xff)) << (v["pos"] & 0xff)
}

func TestProofNeedsMeanings(t *testing.T) {
	tg := target{avx2, 32}
	p := lower(kernels[0].formula(tg), tg)
	p.result().op = "VPMULLD"
	_, err := newTheorem(kernels[0], tg, p)
	const want = `insert 32 AVX2: the proof does not know what "VPMULLD" computes`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, err = newTheorem(kernel{name: "rotate"}, tg, p)
	if err == nil || err.Error() != "no specification of rotate to prove it by" {
		t.Errorf("error %v, want one that says that there is no specification", err)
	}
}
