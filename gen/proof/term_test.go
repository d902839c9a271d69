package proof

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// A pair is a term, which was simplified when it was made, and its value by the definition of
// its operation.
type pair struct {
	t *term
	v uint64
}

// randomTerms makes terms from other terms, and hands each to check.
func randomTerms(seed uint64, steps int, check func(p pair, made string)) (*terms, func(*term) uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	s := newTerms()
	value := func(t *term) uint64 { return random(seed, t) }
	byBits := map[int][]pair{}
	add := func(p pair, made string) {
		p.v &= ones(p.t.bits)
		check(p, made)
		byBits[p.t.bits] = append(byBits[p.t.bits], p)
	}
	widths := []int{1, 3, 8, 16, 32, 64}
	for _, bits := range widths {
		for lane := range 3 {
			t := s.symbol(bits, fmt.Sprintf("x%d.%d", bits, lane), lane)
			add(pair{t, value(t)}, "symbol")
		}
		for _, v := range []uint64{0, 1, ones(bits), 0x0f0f0f0f0f0f0f0f, 0xff00, 1 << (bits - 1)} {
			add(pair{s.constant(bits, v), v}, "constant")
		}
	}
	pick := func(bits int) pair { return byBits[bits][r.IntN(len(byBits[bits]))] }
	signed := func(p pair) int64 { return int64(p.v<<(64-p.t.bits)) >> (64 - p.t.bits) }
	truth := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	for range steps {
		bits := widths[r.IntN(len(widths))]
		x, y, z, c := pick(bits), pick(bits), pick(bits), pick(1)
		low := r.IntN(bits)
		n := 1 + r.IntN(bits-low)
		small := s.constant(bits, uint64(r.IntN(bits+2)))
		for _, m := range []struct {
			t    *term
			v    uint64
			made string
		}{
			{s.not(x.t), ^x.v, "not"},
			{s.and(x.t, y.t), x.v & y.v, "and"},
			{s.or(x.t, y.t), x.v | y.v, "or"},
			{s.xor(x.t, y.t), x.v ^ y.v, "xor"},
			{s.add(x.t, y.t), x.v + y.v, "add"},
			{s.sub(x.t, y.t), x.v - y.v, "sub"},
			{s.shift(opShl, x.t, y.t), x.v << y.v, "shl"},
			{s.shift(opLshr, x.t, y.t), x.v >> y.v, "lshr"},
			{s.shift(opAshr, x.t, y.t), uint64(signed(x) >> y.v), "ashr"},
			{s.shift(opShl, x.t, small), x.v << small.val, "shl by a constant"},
			{s.shift(opAshr, x.t, small), uint64(signed(x) >> small.val), "ashr by a constant"},
			{s.ite(c.t, x.t, y.t), c.v*x.v | (1-c.v)*y.v, "ite"},
			{s.ite(c.t, s.and(x.t, z.t), s.ite(c.t, y.t, z.t)), c.v*(x.v&z.v) | (1-c.v)*z.v, "ite of ite"},
			{s.eq(x.t, y.t), truth(x.v == y.v), "eq"},
			{s.ult(x.t, y.t), truth(x.v < y.v), "ult"},
			{s.slt(x.t, y.t), truth(signed(x) < signed(y)), "slt"},
			{s.sext(s.extract(x.t, 0, n), bits), uint64(int64(x.v<<(64-n)) >> (64 - n)), "sext"},
			{s.zext(s.extract(x.t, low, n), bits), x.v >> low & ones(n), "zext"},
		} {
			add(pair{m.t, m.v}, m.made)
		}
		if low > 0 {
			t := s.concat(s.extract(x.t, 0, low), s.extract(y.t, 0, bits-low))
			add(pair{t, x.v&ones(low) | y.v<<low}, "concat")
		}
		if list := byBits[bits]; len(list) > 300 {
			byBits[bits] = list[len(list)-200:]
		}
	}
	return s, value
}

// Terms have the same value after they are simplified.
func TestTermsSimplify(t *testing.T) {
	for seed := range uint64(20) {
		failed := false
		var value func(*term) uint64
		var checks []pair
		var mades []string
		_, value = randomTerms(seed, 300, func(p pair, made string) {
			checks, mades = append(checks, p), append(mades, made)
		})
		for i, p := range checks {
			if have := eval(p.t, value); have != p.v && !failed {
				failed = true
				t.Errorf("seed %d: %s is 0x%x simplified to %s, want 0x%x", seed, mades[i], have, smt(p.t), p.v)
			}
		}
	}
}

// Terms have the same value in z3 as in eval.
func TestTermsInSMT(t *testing.T) {
	if _, err := exec.LookPath("z3"); err != nil {
		t.Skipf("z3 is not asked: %v", err)
	}
	var script strings.Builder
	n := 0
	var checks []pair
	_, value := randomTerms(5, 40, func(p pair, _ string) { checks = append(checks, p) })
	for i, p := range checks {
		if i%3 > 0 {
			continue
		}
		script.WriteString("(push)\n")
		for _, x := range symbolsOf(p.t) {
			fmt.Fprintf(&script, "(define-fun %s () (_ BitVec %d) %s)\n", symbolName(x), x.bits, literal(x.bits, value(x)))
		}
		fmt.Fprintf(&script, "(assert (distinct %s %s))\n(check-sat)\n(pop)\n", smt(p.t), literal(p.t.bits, p.v))
		n++
	}
	out, err := z3(script.String())
	if err != nil {
		t.Fatal(err)
	}
	if have := strings.Count(out, "unsat"); have != n || strings.Count(out, "\n") != n {
		t.Errorf("z3 agrees on %d of %d terms:\n%.2000s", have, n, out)
	}
}
