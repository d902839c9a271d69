package main

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"
)

// TestARM64WordsDecode checks that every WORD decodes to the instruction in its comment.
func TestARM64WordsDecode(t *testing.T) {
	text, err := renderARM64()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^\tWORD \$0x([0-9a-f]{8}) // (.+)$`)
	seen := map[string]bool{}
	for i, s := range strings.Split(string(text), "\n") {
		if !strings.Contains(s, "WORD") {
			continue
		}
		m := line.FindStringSubmatch(s)
		if m == nil {
			t.Errorf("line %d: %q, want a WORD and its mnemonic", i+1, s)
			continue
		}
		code, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		if have := disassemble(uint32(code)); have != m[2] {
			t.Errorf("line %d: 0x%s is %s, want %s", i+1, m[1], have, m[2])
		}
		mnemonic, _, _ := strings.Cut(m[2], " ")
		seen[mnemonic] = true
	}
	for _, mnemonic := range []string{"ushl", "sshl", "uqsub", "bic", "neg"} {
		if !seen[mnemonic] {
			t.Errorf("no %s in bfi_arm64.s", mnemonic)
		}
	}
}

// TestARM64Encoders checks all encodings, with each register in each place.
func TestARM64Encoders(t *testing.T) {
	for r := range vreg(32) {
		for _, places := range [][3]vreg{{r, 1, 2}, {1, r, 2}, {1, 2, r}} {
			d, n, m := places[0], places[1], places[2]
			list := []encoding{bic(d, n, m)}
			for _, bits := range []int{8, 16, 32, 64} {
				list = append(list, ushl(bits, d, n, m), sshl(bits, d, n, m), uqsub(bits, d, n, m), neg(bits, d, n))
			}
			for _, e := range list {
				if have := disassemble(e.code); have != e.text {
					t.Errorf("0x%08x is %s, want %s", e.code, have, e.text)
				}
			}
		}
	}
}

func disassemble(code uint32) string {
	inst, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, code))
	if err != nil {
		return err.Error()
	}
	return arm64asm.GNUSyntax(inst)
}

func TestARM64EncodersCheckRange(t *testing.T) {
	const noRegister, noLanes = "no register v32, want v0 to v31", "no arrangement of 4-bit lanes, want 8, 16, 32 or 64"
	for name, c := range map[string]struct {
		encode func()
		want   string
	}{
		"ushl d":     {func() { ushl(32, 32, 0, 0) }, "ushl: " + noRegister},
		"ushl n":     {func() { ushl(32, 0, 32, 0) }, "ushl: " + noRegister},
		"ushl m":     {func() { ushl(32, 0, 0, 32) }, "ushl: " + noRegister},
		"sshl":       {func() { sshl(64, 0, 0, 32) }, "sshl: " + noRegister},
		"uqsub":      {func() { uqsub(64, 0, 32, 0) }, "uqsub: " + noRegister},
		"bic":        {func() { bic(32, 0, 0) }, "bic: " + noRegister},
		"neg d":      {func() { neg(32, 32, 0) }, "neg: " + noRegister},
		"neg n":      {func() { neg(64, 0, 32) }, "neg: " + noRegister},
		"ushl lanes": {func() { ushl(4, 0, 0, 0) }, noLanes},
		"sshl lanes": {func() { sshl(4, 0, 0, 0) }, noLanes},
		"neg lanes":  {func() { neg(4, 0, 0) }, noLanes},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if have := fmt.Sprint(recover()); have != c.want {
					t.Errorf("panic %q, want %q", have, c.want)
				}
			}()
			c.encode()
		})
	}
}
