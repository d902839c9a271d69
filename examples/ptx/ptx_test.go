package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobfi/bfi"
)

const header = ".version 6.3\n.target sm_75\n.address_size 64\n"

const declarations = `.entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
	.reg .pred %p<4>;
	.reg .b32 %r<10>;
	.reg .b64 %rd<10>;
`

// bodyLine is the line of a test kernel on which its body starts.
const bodyLine = 9

func kernel(body string) string { return header + declarations + body + "\nret;\n}\n" }

// launch runs source in n threads and fails the test if it cannot.
func launch(t *testing.T, source string, threads int, args ...argument) counts {
	t.Helper()
	p, err := parse("test.ptx", source, false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.launch(threads, args)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPixels(t *testing.T) {
	for _, threads := range []int{1, 31, 32, 33, 100, 128, 129, 1000, 5003} {
		var out strings.Builder
		e, err := newExperiment("pixel.ptx", pixelPTX, threads)
		if err != nil {
			t.Fatal(err)
		}
		px := newPixels(threads)
		e.arguments = px.arguments()
		buffers, err := e.run(&out)
		if err != nil {
			t.Fatal(err)
		}
		if err := px.check(buffers); err != nil {
			t.Errorf("%d threads: %v", threads, err)
		}
		for i := range 3 {
			for _, at := range []int{0, len(buffers[i]) - 1} {
				buffers[i][at] ^= 1
				if px.check(buffers) == nil {
					t.Errorf("%d threads: a wrong byte %d in buffer %d passes the check", threads, at, i)
				}
				buffers[i][at] ^= 1
			}
		}
	}
}

func TestPixelsCounts(t *testing.T) {
	const threads = 1000 // 32 warps, the last of them divided by the bounds check
	px := newPixels(threads)
	c := launch(t, pixelPTX, threads, px.arguments()...)
	if c.blocks != 8 || c.warps != 32 || c.bfi != 32*8 || c.splits != 32+1 {
		t.Errorf("%+v, want 8 blocks, 32 warps, 256 bfi, 33 splits", c)
	}
	opaque, drawn := 0, 0
	for _, a := range px.alpha {
		if a > 0 {
			drawn++
		}
		if a == 3 {
			opaque++
		}
	}
	if want := 7*drawn + opaque; c.bfiLanes != want {
		t.Errorf("bfi was executed in %d lanes, want %d", c.bfiLanes, want)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, source string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pixel := write("pixel.ptx", pixelPTX)
	plain := write("plain.ptx", kernel(""))
	bad := write("bad.ptx", kernel("frob.b32 %r1;"))
	unchecked := write("unchecked.ptx", kernel(threadOffset+"st.global.u64 [%rd3+8], %rd3;"))

	for _, c := range []struct {
		args []string
		out  []string // in the output
		err  string   // or the error
	}{
		{args: nil, out: []string{"pack_pixels of pixel.ptx for n = 100003: 782 blocks of 128 threads", "25008 of the instructions were bfi",
			"the result is that of a Go loop", "one bfi, all lanes active"}},
		{args: []string{"-threads", "100"}, out: []string{"1 blocks of 100 threads", "4 warps"}},
		{args: []string{"-threads", "200", pixel}, out: []string{"the result is not checked", "pack_pixels_param_0  ",
			"3200 bytes, written to", "3200 bytes, unchanged", "one bfi, all lanes active"}},
		{args: []string{plain}, out: []string{"0 of the instructions were bfi\n", "there is no bfi to time"}},
		{args: []string{"-h"}, out: []string{"usage: ptx"}},
		{args: []string{"-threads", "0"}, err: "-threads 0, want 1 to 4194304"},
		{args: []string{"-threads", "-5"}, err: "-threads -5, want 1 to 4194304"},
		{args: []string{"-threads", "4194305"}, err: "-threads 4194305, want 1 to 4194304"},
		{args: []string{"-threads", "x"}, err: `invalid value "x" for flag -threads: parse error`},
		{args: []string{"-warps", "3"}, err: "flag provided but not defined: -warps"},
		{args: []string{pixel, plain}, err: "2 files, want one: flags come before it"},
		{args: []string{filepath.Join(dir, "none.ptx")}, err: "open " + filepath.Join(dir, "none.ptx") + ": no such file or directory"},
		{args: []string{bad}, err: bad + ":9: frob.b32: this instruction is not supported\n\tfrob.b32 %r1;"},
		{args: []string{"-threads", "3", unchecked}, err: unchecked + ":14: thread 1: a store of 8 bytes at 0x100000030 is outside the buffers: " +
			"48 bytes at 0x100000000, 48 bytes at 0x200000000\n\tst.global.u64 [%rd3+8], %rd3;"},
	} {
		var out strings.Builder
		err := emulate(c.args, &out)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q: %v", c.args, err)
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%q: error\n%v\nwant\n%v", c.args, err, c.err)
		}
		for _, want := range c.out {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: output\n%s\nwant %q in it", c.args, out.String(), want)
			}
		}
	}
}

// threadOffset leaves the address of 40 bytes a thread in %rd3, the thread in
// %r1. It has five lines.
const threadOffset = `mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 40;
	ld.param.u64 %rd2, [out];

	add.s64 %rd3, %rd2, %rd1;
	`

// TestInstructions compares each instruction with Go, on values at the edges.
func TestInstructions(t *testing.T) {
	edges32 := []uint32{0, 1, 2, 5, 8, 31, 32, 33, 63, 64, 0xff, 0x100, 0x120, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x12345678}
	n := len(edges32) * len(edges32)
	var x32, y32 []uint32
	var x64, y64 []uint64
	wide := func(x uint32) uint64 { return uint64(x)<<32 | uint64(x>>5^x&0x80000001) }
	for _, x := range edges32 {
		for _, y := range edges32 {
			x32, y32 = append(x32, x), append(y32, y)
			x64, y64 = append(x64, wide(x)), append(y64, wide(y))
		}
	}
	source := func(body string) string {
		return header + `.entry k(.param .u64 out, .param .u64 OUT, .param .u64 x, .param .u64 y, .param .u64 X, .param .u64 Y, .param .u32 n)
		{
			.reg .pred %p<4>;
			.reg .b32 %i, %x, %y, %r, %n;
			.reg .b64 %a, %o32, %o64, %X, %Y, %R;
			mov.u32 %i, %ctaid.x;
			mov.u32 %n, %ntid.x;
			mad.lo.u32 %i, %i, %n, %tid.x;
			ld.param.u32 %n, [n];
			setp.ge.u32 %p0, %i, %n;
			@%p0 ret;
			mul.wide.u32 %o32, %i, 4;
			mul.wide.u32 %o64, %i, 8;
			ld.param.u64 %a, [x]; add.u64 %a, %a, %o32; ld.global.u32 %x, [%a];
			ld.param.u64 %a, [y]; add.u64 %a, %a, %o32; ld.global.u32 %y, [%a];
			ld.param.u64 %a, [X]; add.u64 %a, %a, %o64; ld.global.u64 %X, [%a];
			ld.param.u64 %a, [Y]; add.u64 %a, %a, %o64; ld.global.u64 %Y, [%a];
			setp.lt.u32 %p1, %x, %y;
			setp.ne.u32 %p2, %x, %y;
			` + body + `
			ld.param.u64 %a, [out]; add.u64 %a, %a, %o32; st.global.u32 [%a], %r;
			ld.param.u64 %a, [OUT]; add.u64 %a, %a, %o64; st.global.u64 [%a], %R;
			ret;
		}`
	}
	test := func(body string, want func(x, y uint32, X, Y uint64) (uint32, uint64)) {
		t.Helper()
		out, OUT := make([]byte, 4*n), make([]byte, 8*n)
		launch(t, source(body), n, argument{buffer: out}, argument{buffer: OUT},
			argument{buffer: toBytes(x32)}, argument{buffer: toBytes(y32)},
			argument{buffer: toBytes64(x64)}, argument{buffer: toBytes64(y64)}, argument{number: uint32(n)})
		for i := range n {
			r, R := want(x32[i], y32[i], x64[i], y64[i])
			if got := binary.LittleEndian.Uint32(out[4*i:]); got != r {
				t.Errorf("%s\nx = %#x, y = %#x: %%r = %#x, want %#x", body, x32[i], y32[i], got, r)
				return
			}
			if got := binary.LittleEndian.Uint64(OUT[8*i:]); got != R {
				t.Errorf("%s\nX = %#x, Y = %#x, y = %#x: %%R = %#x, want %#x", body, x64[i], y64[i], y32[i], got, R)
				return
			}
		}
	}
	test32 := func(body string, want func(x, y uint32) uint32) {
		t.Helper()
		test(body, func(x, y uint32, _, _ uint64) (uint32, uint64) { return want(x, y), 0 })
	}
	test64 := func(body string, want func(x, y uint64) uint64) {
		t.Helper()
		test(body, func(_, _ uint32, x, y uint64) (uint32, uint64) { return 0, want(x, y) })
	}
	predicate := func(body string, want func(x, y uint32) bool) {
		t.Helper()
		test32(body+" selp.b32 %r, 1, 2, %p3;", func(x, y uint32) uint32 {
			if want(x, y) {
				return 1
			}
			return 2
		})
	}

	// Operands and scopes.
	test32("mov.u32 %r, %x;", func(x, y uint32) uint32 { return x })
	test32("mov.u32 %r, -2;", func(x, y uint32) uint32 { return 0xfffffffe })
	test32("mov.b32 %r, 4294967295;", func(x, y uint32) uint32 { return 0xffffffff })
	test32("mov.b32 %r, -2147483648;", func(x, y uint32) uint32 { return 1 << 31 })
	test32("add.u32 %r, 0x10U, 010; add.u32 %r, %r, 0b101;", func(x, y uint32) uint32 { return 16 + 8 + 5 })
	test64("mov.b64 %R, 0xffffffffffffffff;", func(x, y uint64) uint64 { return ^uint64(0) })
	test64("mov.b64 %R, -9223372036854775808;", func(x, y uint64) uint64 { return 1 << 63 })
	test32("mov.u32 %r, %x; { .reg .b32 %r; mov.u32 %r, %y; { mov.u32 %r, 3; } }", func(x, y uint32) uint32 { return x })
	test32("mov.u32 %r, %x; { .reg .b32 t; { .reg .b64 t; mov.b64 t, 1; } mov.u32 t, %y; mov.u32 %r, t; }", func(x, y uint32) uint32 { return y })
	test32("mov.u32 %r, 1; { bra over; mov.u32 %r, 2; over: } { bra over; mov.u32 %r, 3; over: }", func(x, y uint32) uint32 { return 1 })
	test32("/* a comment;\n */ mov.u32 %r, // another\n%x;", func(x, y uint32) uint32 { return x })
	test32("mov.u32 %r, %tid.y; add.u32 %r, %r, %ntid.z; add.u32 %r, %r, %nctaid.x; add.u32 %r, %r, %laneid; sub.u32 %r, %r, %tid.x; and.b32 %r, %r, 31;",
		func(x, y uint32) uint32 { return 4 })

	// Guards, predicates and selection.
	test32("mov.u32 %r, 1; @%p1 mov.u32 %r, %y; @!%p1 mov.u32 %r, %x;", func(x, y uint32) uint32 { return max(x, y) })
	test32("selp.b32 %r, %x, %y, %p1;", func(x, y uint32) uint32 { return min(x, y) })
	test32("mov.u32 %r, %x; selp.b32 %r, %y, %r, %p1;", func(x, y uint32) uint32 { return max(x, y) })
	test64("selp.u64 %R, %X, %Y, %p1; selp.s64 %R, %R, %X, %p1;", func(x, y uint64) uint64 { return x })
	predicate("mov.pred %p3, %p1;", func(x, y uint32) bool { return x < y })
	predicate("not.pred %p3, %p1;", func(x, y uint32) bool { return x >= y })
	predicate("and.pred %p3, %p1, %p2;", func(x, y uint32) bool { return x < y })
	predicate("not.pred %p1, %p1; and.pred %p3, %p1, %p2;", func(x, y uint32) bool { return x > y })
	predicate("or.pred %p3, %p1, %p2;", func(x, y uint32) bool { return x != y })
	predicate("xor.pred %p3, %p1, %p2;", func(x, y uint32) bool { return x > y })
	for _, c := range []struct {
		op                       string
		wantLess, wantEqual, not bool
	}{
		{"eq", false, true, false}, {"ne", false, true, true}, {"lt", true, false, false}, {"ge", true, false, true},
		{"le", true, true, false}, {"gt", true, true, true},
		{"lo", true, false, false}, {"hs", true, false, true}, {"ls", true, true, false}, {"hi", true, true, true},
	} {
		holds := func(less, equal bool) bool { return (c.wantLess && less || c.wantEqual && equal) != c.not }
		predicate("setp."+c.op+".u32 %p3, %x, %y;", func(x, y uint32) bool { return holds(x < y, x == y) })
		predicate("setp."+c.op+".u64 %p3, %X, %Y;", func(x, y uint32) bool { return holds(wide(x) < wide(y), x == y) })
		if c.op[0] == 'h' || c.op == "lo" || c.op == "ls" {
			continue
		}
		predicate("setp."+c.op+".s32 %p3, %x, %y;", func(x, y uint32) bool { return holds(int32(x) < int32(y), x == y) })
		predicate("setp."+c.op+".s64 %p3, %X, %Y;", func(x, y uint32) bool { return holds(int64(wide(x)) < int64(wide(y)), x == y) })
	}

	// Arithmetic.
	test32("add.s32 %r, %x, %y;", func(x, y uint32) uint32 { return x + y })
	test32("sub.s32 %r, %x, %y;", func(x, y uint32) uint32 { return x - y })
	test32("neg.s32 %r, %x;", func(x, y uint32) uint32 { return -x })
	test32("mul.lo.s32 %r, %x, %y;", func(x, y uint32) uint32 { return x * y })
	test32("mad.lo.s32 %r, %x, %y, %x;", func(x, y uint32) uint32 { return x*y + x })
	test32("min.u32 %r, %x, %y;", func(x, y uint32) uint32 { return min(x, y) })
	test32("max.u32 %r, %x, %y;", func(x, y uint32) uint32 { return max(x, y) })
	test32("min.s32 %r, %x, %y;", func(x, y uint32) uint32 { return uint32(min(int32(x), int32(y))) })
	test32("max.s32 %r, %x, %y;", func(x, y uint32) uint32 { return uint32(max(int32(x), int32(y))) })
	test64("add.u64 %R, %X, %Y;", func(x, y uint64) uint64 { return x + y })
	test64("sub.u64 %R, %X, %Y;", func(x, y uint64) uint64 { return x - y })
	test64("mul.lo.u64 %R, %X, %Y;", func(x, y uint64) uint64 { return x * y })
	test64("max.s64 %R, %X, %Y;", func(x, y uint64) uint64 { return uint64(max(int64(x), int64(y))) })
	test("mul.wide.u32 %R, %x, %y;", func(x, y uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(x) * uint64(y) })
	test("mul.wide.s32 %R, %x, %y;", func(x, y uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(int64(int32(x)) * int64(int32(y))) })
	test("mad.wide.u32 %R, %x, %y, %X;", func(x, y uint32, X, _ uint64) (uint32, uint64) { return 0, uint64(x)*uint64(y) + X })
	test("mad.wide.s32 %R, %x, %y, %X;", func(x, y uint32, X, _ uint64) (uint32, uint64) {
		return 0, uint64(int64(int32(x))*int64(int32(y))) + X
	})
	test("cvt.u64.u32 %R, %x;", func(x, _ uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(x) })
	test("cvt.u64.s32 %R, %x;", func(x, _ uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(int32(x)) })
	test("cvt.s64.s32 %R, %x;", func(x, _ uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(int32(x)) })
	test("cvt.u32.u64 %r, %X;", func(_, _ uint32, X, _ uint64) (uint32, uint64) { return uint32(X), 0 })
	test("cvt.s32.s64 %r, %X;", func(_, _ uint32, X, _ uint64) (uint32, uint64) { return uint32(X), 0 })

	// Bits.
	test32("and.b32 %r, %x, %y;", func(x, y uint32) uint32 { return x & y })
	test32("or.b32 %r, %x, %y;", func(x, y uint32) uint32 { return x | y })
	test32("xor.b32 %r, %x, %y;", func(x, y uint32) uint32 { return x ^ y })
	test32("not.b32 %r, %x;", func(x, y uint32) uint32 { return ^x })
	test32("shl.b32 %r, %x, %y;", func(x, y uint32) uint32 { return x << y })
	test32("shr.u32 %r, %x, %y;", func(x, y uint32) uint32 { return x >> y })
	test32("shr.b32 %r, %x, %y;", func(x, y uint32) uint32 { return x >> y })
	test32("shr.s32 %r, %x, %y;", func(x, y uint32) uint32 { return uint32(int32(x) >> y) })
	test("shl.b64 %R, %X, %y;", func(_, y uint32, X, _ uint64) (uint32, uint64) { return 0, X << y })
	test("shr.u64 %R, %X, %y;", func(_, y uint32, X, _ uint64) (uint32, uint64) { return 0, X >> y })
	test("shr.s64 %R, %X, %y;", func(_, y uint32, X, _ uint64) (uint32, uint64) { return 0, uint64(int64(X) >> y) })
	test64("not.b64 %R, %X; xor.b64 %R, %R, %Y;", func(x, y uint64) uint64 { return ^x ^ y })

	// bfi, with registers and immediates of which only the low 8 bits count, in
	// place and under a guard.
	test32("bfi.b32 %r, %x, 0x0f0f0f0f, %y, %x;", func(x, y uint32) uint32 { return insertBits32(x, 0x0f0f0f0f, y, x) })
	test32("bfi.b32 %r, %x, %y, 7, 12;", func(x, y uint32) uint32 { return insertBits32(x, y, 7, 12) })
	test32("bfi.b32 %r, %x, %y, 0x107, 0x10c;", func(x, y uint32) uint32 { return insertBits32(x, y, 7, 12) })
	test32("bfi.b32 %r, %x, %y, 28, 255;", func(x, y uint32) uint32 { return insertBits32(x, y, 28, 4) })
	test32("mov.u32 %r, %y; bfi.b32 %r, %x, %r, %x, 3;", func(x, y uint32) uint32 { return insertBits32(x, y, x, 3) })
	test32("mov.u32 %r, %y; @%p1 bfi.b32 %r, %x, %r, 4, 5;", func(x, y uint32) uint32 {
		if x < y {
			return insertBits32(x, y, 4, 5)
		}
		return y
	})
	test32("mov.u32 %r, %y; @!%p1 bfi.b32 %r, -1, %r, 4, 5;", func(x, y uint32) uint32 {
		if x >= y {
			return y | 0x1f0
		}
		return y
	})
	test("bfi.b64 %R, %X, %Y, %y, %x;", func(x, y uint32, X, Y uint64) (uint32, uint64) { return 0, insertBits64(X, Y, y, x) })
	test("bfi.b64 %R, %X, %Y, 300, 0x128;", func(x, y uint32, X, Y uint64) (uint32, uint64) { return 0, insertBits64(X, Y, 44, 40) })
	test("mov.b64 %R, %Y; @%p1 bfi.b64 %R, 1, %R, 63, 1;", func(x, y uint32, X, Y uint64) (uint32, uint64) {
		if x < y {
			return 0, Y | 1<<63
		}
		return 0, Y
	})
	test32("bfe.u32 %r, %x, 4, 9;", func(x, y uint32) uint32 { return x >> 4 & 0x1ff })
	test32("bfe.s32 %r, %x, 4, 9;", func(x, y uint32) uint32 { return uint32(int32(x<<19) >> 23) })
	test32("bfe.u32 %r, %x, %y, 0x103;", func(x, y uint32) uint32 { return x >> (y & 255) & 7 })
	test64("bfe.u64 %R, %X, 30, 9;", func(x, y uint64) uint64 { return x >> 30 & 0x1ff })
	test64("bfe.s64 %R, %X, 30, 9;", func(x, y uint64) uint64 { return uint64(int64(x<<25) >> 55) })
}

func toBytes64(words []uint64) (b []byte) {
	for _, x := range words {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// insertBits32 and insertBits64 are bfi as the PTX ISA writes it, bit by bit.
func insertBits32(a, b, c, d uint32) uint32 {
	return uint32(insertBits(uint64(a), uint64(b), c, d, 31))
}

func insertBits64(a, b uint64, c, d uint32) uint64 { return insertBits(a, b, c, d, 63) }

func insertBits(a, b uint64, c, d, msb uint32) uint64 {
	pos, width := c&0xff, d&0xff
	for i := uint32(0); i < width && pos+i <= msb; i++ {
		b = b&^(1<<(pos+i)) | a>>i&1<<(pos+i)
	}
	return b
}

// TestDivergence runs a loop that each lane leaves after a number of rounds of
// its own. The warp must stay together: it takes as many instructions as its
// longest lane, and what comes after the loop runs once.
func TestDivergence(t *testing.T) {
	source := kernel(`
	mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 7;
	mov.u32 %r3, 0;
LOOP:
	setp.eq.u32 %p1, %r2, 0;
	@%p1 bra DONE;
	bfi.b32 %r3, %r2, %r3, %r2, 8;
	sub.u32 %r2, %r2, 1;
	bra.uni LOOP;
DONE:
	mul.wide.u32 %rd1, %r1, 4;
	ld.param.u64 %rd2, [out];
	add.u64 %rd2, %rd2, %rd1;
	st.global.u32 [%rd2], %r3;`)
	const threads = 40 // a full warp and one of 8 lanes
	out := make([]byte, 4*threads)
	c := launch(t, source, threads, argument{buffer: out}, argument{}, argument{})
	for i := range threads {
		var want uint32
		for k := uint32(i % 8); k > 0; k-- {
			want = insertBits32(k, want, k, 8)
		}
		if got := binary.LittleEndian.Uint32(out[4*i:]); got != want {
			t.Errorf("thread %d: %#x, want %#x", i, got, want)
		}
	}
	// 3 before, 7 rounds of 5, the 2 that end the loop, 5 after, in 2 warps.
	want := counts{perBlock: threads, blocks: 1, warps: 2, instructions: 2 * (3 + 7*5 + 2 + 5),
		bfi: 2 * 7, bfiLanes: threads / 8 * (1 + 2 + 3 + 4 + 5 + 6 + 7), branches: 2 * (8 + 7), splits: 2 * 7}
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}

// TestBranches takes both ways of a branch forward and returns under a guard,
// in lanes that the others must not wait for.
func TestBranches(t *testing.T) {
	source := kernel(`
	mov.u32 %r1, %laneid;
	mul.wide.u32 %rd1, %r1, 4;
	ld.param.u64 %rd2, [out];
	add.u64 %rd2, %rd2, %rd1;
	setp.gt.u32 %p1, %r1, 20;
	@%p1 exit;
	and.b32 %r2, %r1, 1;
	setp.eq.u32 %p2, %r2, 0;
	@!%p2 bra ODD;
	mov.u32 %r3, 100;
	bra JOIN;
ODD:
	mov.u32 %r3, 200;
JOIN:
	st.global.u32 [%rd2], %r3;`)
	out := bytes.Repeat([]byte{0xee}, 4*bfi.WarpSize)
	c := launch(t, source, bfi.WarpSize, argument{buffer: out}, argument{}, argument{})
	for i := range bfi.WarpSize {
		want := []uint32{100, 200}[i%2]
		if i > 20 {
			want = 0xeeeeeeee
		}
		if got := binary.LittleEndian.Uint32(out[4*i:]); got != want {
			t.Errorf("lane %d: %#x, want %#x", i, got, want)
		}
	}
	if c.instructions != 14 {
		t.Errorf("%d instructions, want 14", c.instructions)
	}
}

// TestPartialWarp makes sure that lanes past the last thread do nothing.
func TestPartialWarp(t *testing.T) {
	source := kernel(`
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 4;
	ld.param.u64 %rd2, [out];
	add.u64 %rd2, %rd2, %rd1;
	bfi.b32 %r2, %r1, 0x55000000, 0, 8;
	st.global.u32 [%rd2], %r2;`)
	for threads := 1; threads <= blockSize; threads++ {
		out := make([]byte, 4*threads) // one lane more would be outside
		c := launch(t, source, threads, argument{buffer: out}, argument{}, argument{})
		if c.bfiLanes != threads {
			t.Errorf("%d threads: bfi in %d lanes", threads, c.bfiLanes)
		}
		for i := range threads {
			if got := binary.LittleEndian.Uint32(out[4*i:]); got != 0x55000000|uint32(i) {
				t.Errorf("%d threads: thread %d wrote %#x", threads, i, got)
			}
		}
	}
}

// TestFreshRegisters makes sure that no warp sees what one before it left.
func TestFreshRegisters(t *testing.T) {
	source := kernel(`
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 8;
	ld.param.u64 %rd2, [out];
	add.u64 %rd2, %rd2, %rd1;
	add.u32 %r3, %r3, 1;
	cvt.u64.u32 %rd4, %r3;
	add.u64 %rd3, %rd3, %rd4;
	@%p1 add.u64 %rd3, %rd3, 100;
	setp.eq.u32 %p1, %r3, 1;
	st.global.u64 [%rd2], %rd3;`)
	const threads = 3 * bfi.WarpSize
	out := make([]byte, 8*threads)
	launch(t, source, threads, argument{buffer: out}, argument{}, argument{})
	for i := range threads {
		if got := binary.LittleEndian.Uint64(out[8*i:]); got != 1 {
			t.Errorf("thread %d: %d, want 1", i, got)
		}
	}
}

func TestRuntimeErrors(t *testing.T) {
	const sizes = "is outside the buffers: 64 bytes at 0x100000000, 32 bytes at 0x200000000"
	for _, c := range []struct {
		name, body, want string
	}{
		{"load past the end", "ld.param.u64 %rd1, [in];\nld.global.u32 %r1, [%rd1+32];",
			"test.ptx:10: thread 0: a load of 4 bytes at 0x200000020 " + sizes + "\n\tld.global.u32 %r1, [%rd1+32];"},
		{"load across the end", "ld.param.u64 %rd1, [in];\nld.global.u64 %rd1, [%rd1+28];",
			"test.ptx:10: thread 0: a load of 8 bytes at 0x20000001c " + sizes + "\n\tld.global.u64 %rd1, [%rd1+28];"},
		{"load before the start", "ld.param.u64 %rd1, [in];\nld.global.nc.u32 %r1, [%rd1+-4];",
			"test.ptx:10: thread 0: a load of 4 bytes at 0x1fffffffc " + sizes + "\n\tld.global.nc.u32 %r1, [%rd1+-4];"},
		{"address 0", "ld.global.u32 %r1, [%rd1];",
			"test.ptx:9: thread 0: a load of 4 bytes at 0x0 " + sizes + "\n\tld.global.u32 %r1, [%rd1];"},
		{"store, one lane", "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 37;\n@%p1 st.global.u32 [%rd1+64], %r1;",
			"test.ptx:12: thread 37: a store of 4 bytes at 0x100000040 " + sizes + "\n\t@%p1 st.global.u32 [%rd1+64], %r1;"},
		{"past the last buffer", "ld.param.u64 %rd1, [in];\nshl.b64 %rd1, %rd1, 4;\nld.global.u32 %r1, [%rd1];",
			"test.ptx:11: thread 0: a load of 4 bytes at 0x2000000000 " + sizes + "\n\tld.global.u32 %r1, [%rd1];"},
		{"misaligned", "ld.param.u64 %rd1, [in];\nld.global.u64 %rd1, [%rd1+4];",
			"test.ptx:10: thread 0: a load of 8 bytes at 0x200000004 is not aligned\n\tld.global.u64 %rd1, [%rd1+4];"},
		{"endless loop", "L: bra L;",
			"test.ptx:9: threads 0 and up executed 1000 instructions: an endless loop?\n\tL: bra L;"},
	} {
		p, err := parse("test.ptx", kernel(c.body), false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p.limit = 1000
		_, err = p.launch(64, []argument{{buffer: make([]byte, 64)}, {buffer: make([]byte, 32)}, {}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error\n%v\nwant\n%s", c.name, err, c.want)
		}
	}
}

// TestBadLines has lines that are wrong in a kernel that is otherwise right.
func TestBadLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"bfi.b32 %rd1, %r2, %r3, 0, 8;", "bfi.b32: operand 1, %rd1, is a 64-bit register, want a 32-bit register"},
		{"bfi.b32 %r1, %rd2, %r3, 0, 8;", "bfi.b32: operand 2, %rd2, is a 64-bit register, want a 32-bit register"},
		{"bfi.b32 %r1, %r2, %rd3, 0, 8;", "bfi.b32: operand 3, %rd3, is a 64-bit register, want a 32-bit register"},
		{"bfi.b32 %r1, %r2, %r3, %rd4, 8;", "bfi.b32: operand 4, %rd4, is a 64-bit register, want a 32-bit register"},
		{"bfi.b32 %r1, %r2, %r3, 0, %rd5;", "bfi.b32: operand 5, %rd5, is a 64-bit register, want a 32-bit register"},
		{"bfi.b64 %r1, %rd2, %rd3, 0, 8;", "bfi.b64: operand 1, %r1, is a 32-bit register, want a 64-bit register"},
		{"bfi.b64 %rd1, %r2, %rd3, 0, 8;", "bfi.b64: operand 2, %r2, is a 32-bit register, want a 64-bit register"},
		{"bfi.b64 %rd1, %rd2, %r3, 0, 8;", "bfi.b64: operand 3, %r3, is a 32-bit register, want a 64-bit register"},
		{"bfi.b64 %rd1, %rd2, %rd3, %rd4, 8;", "bfi.b64: operand 4, %rd4, is a 64-bit register, want a 32-bit register"},
		{"bfi.b64 %rd1, %rd2, %rd3, 0, %rd5;", "bfi.b64: operand 5, %rd5, is a 64-bit register, want a 32-bit register"},
		{"bfi.b32 %r1, %p2, %r3, 0, 8;", "bfi.b32: operand 2, %p2, is a predicate, want a 32-bit register"},
		{"bfi.b32 7, %r2, %r3, 0, 8;", `bfi.b32: operand 1 is "7", want a register`},
		{"bfi.b32 %tid.x, %r2, %r3, 0, 8;", "bfi.b32: %tid.x is read-only"},
		{"bfi.b32 %r1, %r2, %r3, 0;", "bfi.b32: has 4 operands, want 5"},
		{"bfi.b32 %r1, %r2, %r3, 0, 8, 9;", "bfi.b32: has 6 operands, want 5"},
		{"bfi.b32 %r1, %r2, %r3, 0, 8,;", "bfi.b32: has 6 operands, want 5"},
		{"bfi.b32 %r1, %r2, , 0, 8;", `bfi.b32: operand 3 is "", want a register`},
		{"bfi.b32 %r1, %r2, %r3, 0x100000000, 8;", "bfi.b32: operand 4, 0x100000000, does not fit 32 bits"},
		{"bfi.b32 %r1, -2147483649, %r3, 0, 8;", "bfi.b32: operand 2, - 2147483649, does not fit 32 bits"},
		{"bfi.b32 %r1, 1.5, %r3, 0, 8;", `bfi.b32: operand 2 is "1.5", want a register or an integer of 32 bits`},
		{"bfi.b32 %r1, 0f3F800000, %r3, 0, 8;", `bfi.b32: operand 2 is "0f3F800000", want a register or an integer of 32 bits`},
		{"bfi.b32 %r1, 1_0, %r3, 0, 8;", `bfi.b32: operand 2 is "1_0", want a register or an integer`},
		{"bfi.b32 %r1, 0o7, %r3, 0, 8;", `bfi.b32: operand 2 is "0o7", want a register or an integer`},
		{"bfi.b32 %r1, 1 2, %r3, 0, 8;", `bfi.b32: operand 2 is "1 2", want a register or an integer`},
		{"bfi.b64 %rd1, 0x10000000000000000, %rd3, 0, 8;", `bfi.b64: operand 2 is "0x10000000000000000", want a register or an integer of 64 bits`},
		{"bfi.b32 %r1, [%rd1], %r3, 0, 8;", `bfi.b32: operand 2 is "[ %rd1 ]", want a register`},
		{"bfi.b32 %r1, %r99, %r3, 0, 8;", "bfi.b32: the register %r99 is not declared"},
		{"bfi.u32 %r1, %r2, %r3, 0, 8;", "bfi.u32: the type .u32 is not supported with it"},
		{"bfi.b16 %r1, %r2, %r3, 0, 8;", "bfi.b16: the type .b16 is not supported"},
		{"bfi %r1, %r2, %r3, 0, 8;", "bfi: this instruction is not supported"},
		{"bfi. %r1, %r2, %r3, 0, 8;", "bfi.: the type . is not supported with it"},
		{"bfi.cc.b32 %r1, %r2, %r3, 0, 8;", "bfi.cc.b32: this instruction is not supported"},
		{"bfe.b32 %r1, %r2, 0, 8;", "bfe.b32: the type .b32 is not supported with it"},
		{"bfe.u64 %rd1, %rd2, %rd3, 8;", "bfe.u64: operand 3, %rd3, is a 64-bit register, want a 32-bit register"},
		{"add.f32 %r1, %r2, %r3;", "add.f32: the type .f32 is not supported with it"},
		{"add.b32 %r1, %r2, %r3;", "add.b32: the type .b32 is not supported with it"},
		{"add.sat.s32 %r1, %r2, %r3;", "add.sat.s32: this instruction is not supported"},
		{"add.pred %p1, %p2, %p3;", "add.pred: the type .pred is not supported with it"},
		{"and.pred %p1, %p2, %r3;", "and.pred: operand 3, %r3, is a 32-bit register, want a predicate"},
		{"and.pred %r1, %p2, %p3;", "and.pred: operand 1, %r1, is a 32-bit register, want a predicate"},
		{"mov.p64 %rd1, %rd2;", "mov.p64: the type .p64 is not supported"},
		{"mov.b128 %rd1, %rd2;", "mov.b128: the type .b128 is not supported"},
		{"add.u32 %r1;", "add.u32: has 1 operands, want 3"},
		{"add.u32;", "add.u32: has 0 operands, want 3"},
		{"mul.wide.u64 %rd1, %rd2, %rd3;", "mul.wide.u64: is supported with factors of 32 bits only"},
		{"mul.wide.u32 %r1, %r2, %r3;", "mul.wide.u32: operand 1, %r1, is a 32-bit register, want a 64-bit register"},
		{"shl.b64 %rd1, %rd2, %rd3;", "shl.b64: operand 3, %rd3, is a 64-bit register, want a 32-bit register"},
		{"cvt.u64.u32 %rd1, %rd2;", "cvt.u64.u32: operand 2, %rd2, is a 64-bit register, want a 32-bit register"},
		{"cvt.rn.f32.u32 %r1, %r2;", "cvt.rn.f32.u32: this instruction is not supported"},
		{"setp.lt.b32 %p1, %r1, %r2;", "setp.lt.b32: the type .b32 is not supported with it"},
		{"setp.eq.u32 %r1, %r1, %r2;", "setp.eq.u32: operand 1, %r1, is a 32-bit register, want a predicate"},
		{"selp.b32 %r1, %r2, %r3, %r4;", "selp.b32: operand 4, %r4, is a 32-bit register, want a predicate"},
		{"mov.u32 %r1, out;", "mov.u32: the register out is not declared"},
		{"mov.u32 %r1, %clock;", "mov.u32: the register %clock is not declared"},
		{"ld.param.u32 %r1, [m];", "ld.param.u32: operand 2, [ m ], is not a parameter of the kernel"},
		{"ld.param.u32 %r1, [out];", "ld.param.u32: operand 2, [ out ], is a 64-bit register, want a 32-bit register"},
		{"ld.param.u32 %r1, n;", `ld.param.u32: operand 2 is "n", want an address in brackets`},
		{"ld.global.u32 %r1, [%r2];", "ld.global.u32: operand 2, [ %r2 ], is a 32-bit register, want a 64-bit register"},
		{"ld.global.u32 %r1, [%rd99];", "ld.global.u32: the register %rd99 is not declared"},
		{"ld.global.u32 %r1, [%rd1*4];", `unexpected character '*'`},
		{"ld.global.u32 %r1, [%rd1-4];", `ld.global.u32: operand 2 is "[ %rd1 - 4 ]", want [register] or [register+integer]`},
		{"ld.global.u32 %r1, [%rd1+%r2];", `ld.global.u32: operand 2 is "[ %rd1 + %r2 ]", want a register or an integer of 64 bits`},
		{"ld.global.u32 %r1, [];", `ld.global.u32: operand 2 is "[ ]", want an address in brackets`},
		{"ld.global.v2.u32 {%r1, %r2}, [%rd1];", "ld.global.v2.u32: this instruction is not supported"},
		{"ld.shared.u32 %r1, [%rd1];", "ld.shared.u32: this instruction is not supported"},
		{"st.global.u64 [%rd1], %r1;", "st.global.u64: operand 2, %r1, is a 32-bit register, want a 64-bit register"},
		{"bar.sync 0;", "bar.sync: this instruction is not supported"},
		{"bra NOWHERE;", "the label NOWHERE is not declared here"},
		{"bra INNER; { INNER: ret; }", "the label INNER is not declared here"},
		{"bra 5;", `bra: "5" is not a label`},
		{"bra;", "bra: has 0 operands, want 1"},
		{"ret 1;", "ret: has 1 operands, want 0"},
		{"@%p9 ret;", `the guard "%p9" is not declared`},
		{"@%r1 ret;", "the guard %r1 is a 32-bit register, want a predicate"},
		{"@ ret;", `the guard "ret" is not declared`},
		{"@%p1;", `";" instead of an instruction`},
		{";", `";" instead of an instruction`},
		{"L: L: ret;", "the label L is declared twice"},
		{"5: ret;", `"5" is not a label`},
		{".reg .b32 a, a;", "the register a is declared twice"},
		{".reg .b32 %r1;", "the register %r1 is declared twice"},
		{".reg .b64 %r<3>;", "the register %r0 is declared twice"},
		{".reg .f32 %f<3>;", `registers of type ".f32" are not supported`},
		{".reg .b16 %rs<3>;", `registers of type ".b16" are not supported`},
		{".reg .b32 %x<y>;", `"y" is not a number of registers`},
		{".reg .b32 %x<65537>;", "the kernel declares more than 65536 registers"},
		{".reg .b32 7;", `"7" instead of the name of a register`},
		{".reg .b32 a b;", `"b" after the declaration, want ";"`},
		{"{ .reg .b32 inner; } mov.u32 inner, 1;", "mov.u32: the register inner is not declared"},
		{".shared .b32 s;", "the directive .shared is not supported"},
		{"#", `unexpected character '#'`},
		{"/* to the end", "the comment is not terminated: */ is missing"},
	} {
		_, err := parse("bad.ptx", kernel(c.line), false)
		want := fmt.Sprintf("bad.ptx:%d: %s\n\t%s", bodyLine, c.want, c.line)
		if err == nil || err.Error() != want {
			t.Errorf("error\n%v\nwant\n%s", err, want)
		}
	}
}

// TestBadFiles has files that are wrong as a whole.
func TestBadFiles(t *testing.T) {
	const insert = declarations + "bfi.b32 %r1, %r2, %r3, 0, 8;\nret;\n}\n"
	const extract = declarations + "bfe.s32 %r1, %r2, 0, 8;\nret;\n}\n"
	for _, c := range []struct{ source, want string }{
		{"", "bad.ptx:1: the file has no kernel: .entry is missing\n\t"},
		{header, "bad.ptx:4: the file has no kernel: .entry is missing\n\t"},
		{declarations, "bad.ptx:1: .version, .target and .address_size 64 must come before .entry\n\t" +
			".entry k(.param .u64 out, .param .u64 in, .param .u32 n)"},
		{".version 1.4\n.target sm_75\n.address_size 64\n" + insert,
			"bad.ptx:9: bfi.b32: needs PTX ISA 2.0 or later, the file says .version 1.4\n\tbfi.b32 %r1, %r2, %r3, 0, 8;"},
		{".version 2.0\n.target sm_13\n.address_size 64\n" + insert,
			"bad.ptx:9: bfi.b32: needs sm_20 or later, the file says .target sm_13\n\tbfi.b32 %r1, %r2, %r3, 0, 8;"},
		{".version 1.5\n.target sm_20\n.address_size 64\n" + extract,
			"bad.ptx:9: bfe.s32: needs PTX ISA 2.0 or later, the file says .version 1.5\n\tbfe.s32 %r1, %r2, 0, 8;"},
		{".version 2.0\n.target sm_13\n.address_size 64\n" + extract,
			"bad.ptx:9: bfe.s32: needs sm_20 or later, the file says .target sm_13\n\tbfe.s32 %r1, %r2, 0, 8;"},
		{".version 6\n", "bad.ptx:1: \"6\" is not a .version, want one like 6.3\n\t.version 6"},
		{".version 6.3\n.target compute_75\n", "bad.ptx:2: \"compute_75\" is not a .target, want one like sm_75\n\t.target compute_75"},
		{".version 6.3\n.target sm_75, debug\n", "bad.ptx:2: \",\" is not supported outside a kernel\n\t.target sm_75, debug"},
		{".version 6.3\n.target sm_75\n.address_size 32\n", "bad.ptx:3: .address_size 32 is not supported, want 64\n\t.address_size 32"},
		{header + ".func f()\n{\n}\n", "bad.ptx:4: \".func\" is not supported outside a kernel\n\t.func f()"},
		{header + ".entry 5()\n", "bad.ptx:4: \"5\" instead of the name of a kernel\n\t.entry 5()"},
		{header + ".entry k\n", "bad.ptx:5: the file ends after the head of the kernel, want \"{\"\n\t"},
		{header + ".entry k(.param .f32 x)\n", "bad.ptx:4: a parameter of type \".f32\" is not supported\n\t.entry k(.param .f32 x)"},
		{header + ".entry k(.param .u32 x,\n.param .u32 x)\n", "bad.ptx:5: the parameter x is declared twice\n\t.param .u32 x)"},
		{header + ".entry k(.u32 x)\n", "bad.ptx:4: \".u32\" after \"(\" or \",\", want \".param\"\n\t.entry k(.u32 x)"},
		{header + ".entry k(.param .u32 x[3])\n", "bad.ptx:4: \"[\" after the parameters, want \")\"\n\t.entry k(.param .u32 x[3])"},
		{header + ".entry k()\n{\nret;\n", "bad.ptx:4: the kernel k is not terminated: } is missing\n\t.entry k()"},
		{header + ".entry k()\n{\n{\nret;\n}\n", "bad.ptx:4: the kernel k is not terminated: } is missing\n\t.entry k()"},
		{header + ".entry k()\n{\nret\n}\n", "bad.ptx:6: the instruction is not terminated: ; is missing\n\tret"},
		{header + ".entry k()\n{\n}\n", "bad.ptx:4: the kernel k can run past its end: its last instruction is not ret, exit or bra\n\t.entry k()"},
		{header + ".entry k()\n{\n.reg .b32 r;\nmov.u32 r, 1;\n}\n",
			"bad.ptx:4: the kernel k can run past its end: its last instruction is not ret, exit or bra\n\t.entry k()"},
		{header + ".entry k()\n{\n.reg .pred p;\n@p ret;\n}\n",
			"bad.ptx:4: the kernel k can run past its end: its last instruction is not ret, exit or bra\n\t.entry k()"},
		{header + ".entry k()\n{\nbra END;\nret;\nEND:\n}\n", "bad.ptx:6: the label has no instruction after it\n\tbra END;"},
		{header + ".entry k()\n{\nret;\n}\n}\n", "bad.ptx:8: \"}\" is not supported outside a kernel\n\t}"},
		{header + ".entry k()\n{\nret;\n}\n.entry l()\n{\nret;\n}\n", "bad.ptx:8: a second kernel: only one is supported\n\t.entry l()"},
	} {
		_, err := parse("bad.ptx", c.source, false)
		if err == nil || err.Error() != c.want {
			t.Errorf("error\n%v\nwant\n%s", err, c.want)
		}
	}
}

// TestAccepted has what the bad files are one step away from.
func TestAccepted(t *testing.T) {
	const insert = declarations + "bfi.b32 %r1, %r2, %r3, 0, 8;\nret;\n}\n"
	for _, source := range []string{
		".version 2.0\n.target sm_20\n.address_size 64\n" + insert,
		".version 8.7\n.target sm_90a\n.address_size 64\n" + insert,
		".version 1.4\n.target sm_13\n.address_size 64\n" + declarations + "ret;\n}\n",
		header + ".visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u64 .ptr .align 1 q)\n{\nexit;\n}\n",
		header + ".weak .entry k\n{\nL: bra L;\n}\n",
	} {
		if _, err := parse("good.ptx", source, false); err != nil {
			t.Errorf("%v\n%s", err, source)
		}
	}
}

// TestMutations cuts the built-in kernel short at every byte and changes each of
// its bytes. Whatever comes of it must be an error or run to its end.
func TestMutations(t *testing.T) {
	for size := range len(strings.TrimRight(pixelPTX, "\n")) {
		p, err := parse("cut.ptx", pixelPTX[:size], false)
		if err == nil && !strings.HasSuffix(strings.TrimSpace(stripComments(pixelPTX[:size])), "}") {
			t.Fatalf("the first %d bytes pass as the kernel %s", size, p.kernel)
		}
	}
	const threads = 40
	random := rand.New(rand.NewPCG(1, 1))
	const alphabet = "%{}()[]<>,;:@!+-.rdp0123456789 \n\"\x00\xffxU_$/*"
	ran := 0
	for i := range len(pixelPTX) {
		source := pixelPTX[:i] + alphabet[random.IntN(len(alphabet)):][:1] + pixelPTX[i+1:]
		p, err := parse("changed.ptx", source, false)
		if err != nil {
			continue
		}
		p.limit = 1000
		p.launch(threads, defaultArguments(p.params, threads))
		ran++
	}
	if ran == 0 {
		t.Error("no changed kernel was run")
	}
}

func stripComments(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(line, "//")
		b.WriteString(code + "\n")
	}
	return b.String()
}
