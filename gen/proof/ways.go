package proof

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Each conditional jump of a proved function must have gone both ways in some run, or be in
// this list. So no way of a jump is left out without a reason.

// A oneWay is a jump that need not go one of its two ways, because nothing that Go asks
// for leads there.
type oneWay struct {
	function string // a pattern for all of its name
	jump     string // a pattern for all of the jump and the two instructions before it
	never    exit   // the way that it need not go
	why      string
}

var oneWays = []oneWay{
	{`\w+AVX(2|512)`, `JZ cached\d+; SUBQ .*; JB streamDone\d+`, jumps,
		"the loops that bypass the cache are for slices of several turns, with the lanes before the first aligned one"},
	{`unpack\w+AVX(2|512)`, `JZ cached\d+; CMPQ .*; JB whole\d+`, jumps,
		"the same, of columns"},
	{`unpack\w+AVX(2|512)`, `(JNZ signed|JMP whole)\d+; SUBQ .*; JB (stream|vectors)Done\d+`, jumps,
		"a jump to whole came first, if there are fewer lanes than a turn has"},
	{`unpack\w+AVX(2|512)`, `VMOVDQU(64)? inOrder.*; SUBQ .*; JB (packs|gathers)Done\d+`, jumps,
		"columns of fewer lanes than a turn has go another way"},
	{`pack\w+AVX(2|512)`, `ADDQ .*; SUBQ .*; JAE tile\d+`, jumps,
		"a tile of half the length has one turn at most, after those of all the length"},
	{`\w+Masked\w*AVX(2|512)`, `ADDQ .*; SUBQ .*; JAE (group|vector)\d+`, jumps,
		"a loop of half the length has one turn at most, after one of all the length"},
	{`unpack\d+NEON`, `ADD .*; SUBS \$1, .*; BNE few_\d+`, jumps,
		"a loop of half the length has one turn at most, after one of all the length"},
	{`gatherBitsBMI2`, `MOVQ .*; TESTQ .*; J(LT|GT) gathered\d+`, jumps,
		"groups of one chunk go another way, unless they are among the last words"},
	{`scatterBitsBMI2`, `XORL .*; CMPQ .*; JGE scattered\d+`, jumps,
		"groups of one chunk go another way, unless they are among the last words"},
}

// is reports whether an entry is about a jump of a function.
func (w oneWay) is(f *function, i int) bool {
	var text []string
	for _, in := range f.insts[max(i-2, 0) : i+1] {
		text = append(text, in.text)
	}
	whole := func(pattern, s string) bool { return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(s) }
	return whole(w.function, f.name) && whole(w.jump, strings.Join(text, "; "))
}

// conditional reports whether an instruction is a jump that may go on.
func (in *inst) conditional() bool {
	return in.mnemonic != "JMP" && in.mnemonic != "B" &&
		slices.ContainsFunc(in.operands, func(o operand) bool { return o.kind == isLabel })
}

// bothWays fails if a conditional jump of a proved function has never gone a way that it must
// go.
func (f *function) bothWays() error {
	if f.ways == nil {
		return nil // it was not proved
	}
	for i, in := range f.insts {
		missed := (goesOn | jumps) &^ f.ways[i]
		if !in.conditional() || missed == 0 {
			continue
		}
		for _, w := range oneWays {
			if missed&w.never != 0 && w.is(f, i) {
				missed &^= w.never
			}
		}
		what := "always jumps"
		switch {
		case missed == 0:
			continue
		case missed&jumps != 0:
			what = "never jumps"
		}
		return fmt.Errorf("%s:%d: %s: wrong: %s %s in what Go asks for, and oneWays gives no reason", f.file, in.line, f.name, in.text, what)
	}
	return nil
}

// neededWays fails if an entry of oneWays is about no jump.
func neededWays(functions map[string]*function) error {
	for _, w := range oneWays {
		needed := false
		for _, f := range functions {
			for i, in := range f.insts {
				needed = needed || in.conditional() && w.is(f, i)
			}
		}
		if !needed {
			return fmt.Errorf("oneWays explains the jump %s of %s, and there is none", w.jump, w.function)
		}
	}
	return nil
}
