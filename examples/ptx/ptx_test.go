package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
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

func kernel(body string) string { return header + declarations + body + "\nret;\n}\n" }

// launch runs source in n threads and fails the test if it cannot.
func launch(t *testing.T, source string, threads int, args ...argument) counts {
	t.Helper()
	p, err := parse("test.ptx", source, "")
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
		px := newPixels(threads)
		args := px.arguments()
		launch(t, pixelPTX, threads, args...)
		if err := px.check(args); err != nil {
			t.Errorf("%d threads: %v", threads, err)
		}
		for i := range 3 {
			for _, at := range []int{0, len(args[i].buffer) - 1} {
				args[i].buffer[at] ^= 1
				if px.check(args) == nil {
					t.Errorf("%d threads: a wrong byte %d in buffer %d passes the check", threads, at, i)
				}
				args[i].buffer[at] ^= 1
			}
		}
	}
}

func TestPixelsCounts(t *testing.T) {
	const threads = 1000 // 32 warps; the bounds check divides the last warp
	px := newPixels(threads)
	c := launch(t, pixelPTX, threads, px.arguments()...)
	if c.blocks != 8 || c.warps != 32 || c.fields != 32*8 || c.splits != 32+1 {
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
	if want := 7*drawn + opaque; c.fieldLanes != want {
		t.Errorf("bfi was executed in %d lanes, want %d", c.fieldLanes, want)
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
	two := write("two.ptx", kernel("")+strings.Replace(declarations, ".entry k", ".entry other", 1)+"ret;\n}\n")
	tiny := write("tiny.bin", "abcd")
	const argWants = ": want a number of its size; for 64 bits also @FILE or zero:BYTES of at most 1073741824 bytes"

	for _, c := range []struct {
		args []string
		out  []string // texts in the output
		err  string   // the error begins with it
	}{
		{args: nil, out: []string{"pack_pixels of pixel.ptx for n = 100003: 782 blocks of 128 threads",
			"25008 of the instructions were bfi", "a Go loop over the same data gives the same result"}},
		{args: []string{"-threads", "100"}, out: []string{"1 blocks of 100 threads", "4 warps"}},
		{args: []string{"-threads", "200", pixel}, out: []string{"the result is not checked", "pack_pixels_param_0  ",
			"3200 bytes\n"}},
		{args: []string{plain}, out: []string{"0 of the instructions were bfi"}},
		{args: []string{"-h"}, out: []string{"usage: ptx", " bfi.T", " setp.hs.T"}},
		{args: []string{"-entry", "other", two}, out: []string{"other of "}},
		{args: []string{"-threads", "0"}, err: "-threads 0, want 1 to 4194304"},
		{args: []string{"-threads", "-5"}, err: "-threads -5, want 1 to 4194304"},
		{args: []string{"-threads", "4194305"}, err: "-threads 4194305, want 1 to 4194304"},
		{args: []string{"-threads", "x"}, err: `invalid value "x" for flag -threads: parse error`},
		{args: []string{"-warps", "3"}, err: "flag provided but not defined: -warps"},
		{args: []string{"-entry", "k"}, err: "-entry, -arg and -out need a file.ptx"},
		{args: []string{pixel, plain}, err: "2 files, want one file, and flags before it"},
		{args: []string{filepath.Join(dir, "none.ptx")},
			err: "open " + filepath.Join(dir, "none.ptx") + ": no such file or directory"},
		{args: []string{two},
			err: two + `:19: end of file: the file has the kernels ["k" "other"], want one kernel, or -entry`},
		{args: []string{"-entry", "none", two},
			err: two + `:19: end of file: the file has the kernels ["k" "other"], want "none"`},
		{args: []string{"-arg", "1", plain},
			err: "-arg was given 1 times, want 3: k has the parameters [out of 64 bits in of 64 bits n of 32 bits]"},
		{args: []string{"-arg", "1", "-arg", "x", "-arg", "1", plain}, err: "-arg x for in of 64 bits" + argWants},
		{args: []string{"-arg", "1", "-arg", "zero:x", "-arg", "1", plain}, err: "-arg zero:x for in of 64 bits" + argWants},
		{args: []string{"-arg", "1", "-arg", "zero:1073741825", "-arg", "1", plain},
			err: "-arg zero:1073741825 for in of 64 bits" + argWants},
		{args: []string{"-arg", "1", "-arg", "@" + filepath.Join(dir, "none"), "-arg", "1", plain},
			err: "-arg @" + filepath.Join(dir, "none") + " for in of 64 bits" + argWants},
		{args: []string{"-arg", "1", "-arg", "1", "-arg", "zero:4", plain}, err: "-arg zero:4 for n of 32 bits" + argWants},
		{args: []string{"-arg", "1", "-arg", "1", "-arg", "@" + tiny, plain},
			err: "-arg @" + tiny + " for n of 32 bits" + argWants},
		{args: []string{"-arg", "1", "-arg", "1", "-arg", "4294967296", plain},
			err: "-arg 4294967296 for n of 32 bits" + argWants},
		{args: []string{bad}, err: bad + ":9: frob.b32 %r1: not supported, want one of bra ret "},
		{args: []string{"-threads", "3", unchecked},
			err: unchecked + ":14: st.global.u64 [%rd3+8], %rd3: thread 1: 8 bytes at 0x100000030 are outside .global memory: " +
				".shared of 0 bytes, .local of 0, a buffer of 48 at 0x100000000, a buffer of 48 at 0x200000000"},
	} {
		var out strings.Builder
		err := emulate(c.args, &out)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q: %v", c.args, err)
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q: error\n%v\nwant\n%v", c.args, err, c.err)
		}
		for _, want := range c.out {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: output\n%s\nlacks %q", c.args, out.String(), want)
			}
		}
	}
}

// threadOffset puts the thread's number into %r1, and the address of the thread's 40 bytes
// of out into %rd3. It has five lines.
const threadOffset = `mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 40;
	ld.param.u64 %rd2, [out];

	add.s64 %rd3, %rd2, %rd1;
	`

// TestInstructions compares each instruction with Go code, at the limits of its operands.
func TestInstructions(t *testing.T) {
	edges32 := []uint32{0, 1, 2, 5, 8, 31, 32, 33, 63, 64, 0xff, 0x100, 0x120, 0x7fffffff, 0x80000000, 0x80000001,
		0xfffffffe, 0xffffffff, 0x12345678}
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
		return header + `.entry k(.param .u64 out, .param .u64 OUT,
			.param .u64 x, .param .u64 y, .param .u64 X, .param .u64 Y, .param .u32 n)
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
			argument{buffer: toBytes64(x64)}, argument{buffer: toBytes64(y64)}, argument{number: uint64(n)})
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
	test32("mov.u32 %r, %x; { .reg .b32 t; { .reg .b64 t; mov.b64 t, 1; } mov.u32 t, %y; mov.u32 %r, t; }",
		func(x, y uint32) uint32 { return y })
	test32("mov.u32 %r, 1; { bra over; mov.u32 %r, 2; over: } { bra over; mov.u32 %r, 3; over: }",
		func(x, y uint32) uint32 { return 1 })
	test32("/* a comment;\n */ mov.u32 %r, // another\n%x;", func(x, y uint32) uint32 { return x })
	test32("mov.u32 %r, %tid.y; add.u32 %r, %r, %ntid.z; add.u32 %r, %r, %nctaid.x; "+
		"add.u32 %r, %r, %laneid; sub.u32 %r, %r, %tid.x; and.b32 %r, %r, 31;",
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
		predicate("setp."+c.op+".s64 %p3, %X, %Y;",
			func(x, y uint32) bool { return holds(int64(wide(x)) < int64(wide(y)), x == y) })
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
	test("mul.wide.s32 %R, %x, %y;",
		func(x, y uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(int64(int32(x)) * int64(int32(y))) })
	test("mad.wide.u32 %R, %x, %y, %X;",
		func(x, y uint32, X, _ uint64) (uint32, uint64) { return 0, uint64(x)*uint64(y) + X })
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

	// Words of 16 bits and of 8 bits. Most of them are in registers of 16 bits.
	narrow := func(body string, want func(x, y uint32) uint16) {
		t.Helper()
		test32("{ .reg .b16 x, y, r; .reg .s8 b; cvt.u16.u32 x, %x; cvt.u16.u32 y, %y; "+body+" cvt.u32.u16 %r, r; }",
			func(x, y uint32) uint32 { return uint32(want(x, y)) })
	}
	narrow("add.s16 r, x, y;", func(x, y uint32) uint16 { return uint16(x + y) })
	narrow("mul.lo.u16 r, x, y;", func(x, y uint32) uint16 { return uint16(x * y) })
	narrow("mul.hi.u16 r, x, y;", func(x, y uint32) uint16 { return uint16(uint32(uint16(x)) * uint32(uint16(y)) >> 16) })
	narrow("mul.hi.s16 r, x, y;", func(x, y uint32) uint16 { return uint16(int32(int16(x)) * int32(int16(y)) >> 16) })
	narrow("mad.lo.s16 r, x, y, -3;", func(x, y uint32) uint16 { return uint16(x*y - 3) })
	narrow("min.s16 r, x, y;", func(x, y uint32) uint16 { return uint16(min(int16(x), int16(y))) })
	narrow("max.u16 r, x, y;", func(x, y uint32) uint16 { return max(uint16(x), uint16(y)) })
	narrow("shr.s16 r, x, %y;", func(x, y uint32) uint16 { return uint16(int16(x) >> y) })
	narrow("shl.b16 r, x, 3;", func(x, y uint32) uint16 { return uint16(x << 3) })
	narrow("xor.b16 r, x, -1;", func(x, y uint32) uint16 { return ^uint16(x) })
	narrow("cnot.b16 r, x;", func(x, y uint32) uint16 { return choose(uint16(x) == 0, uint16(1), 0) })
	narrow("setp.lt.s16 %p3, x, y; selp.b16 r, x, y, %p3;",
		func(x, y uint32) uint16 { return uint16(min(int16(x), int16(y))) })
	narrow("cvt.s16.s8 r, x;", func(x, y uint32) uint16 { return uint16(int8(x)) })
	narrow("cvt.u16.u8 r, %x;", func(x, y uint32) uint16 { return uint16(uint8(x)) })
	narrow("cvt.s8.s32 b, %x; cvt.u16.s8 r, b;", func(x, y uint32) uint16 { return uint16(int8(x)) })
	narrow("cvt.u8.u16 r, x;", func(x, y uint32) uint16 { return uint16(uint8(x)) })
	narrow("cvt.s8.u16 r, x;", func(x, y uint32) uint16 { return uint16(int8(x)) })
	narrow("mov.b32 %r, {y, x}; mov.b32 {_, r}, %r;", func(x, y uint32) uint16 { return uint16(x) })
	test32("{ .reg .b16 x; cvt.u16.u32 x, %x; mul.wide.s16 %r, x, -3; }",
		func(x, y uint32) uint32 { return uint32(int32(int16(x)) * -3) })
	test32("{ .reg .b16 a, b; mov.b32 {a, b}, %x; mov.b32 %r, {b, a}; }",
		func(x, y uint32) uint32 { return x<<16 | x>>16 })
	test32("{ .reg .b8 a<4>; mov.b32 {a0, a1, a2, a3}, %x; mov.b32 %r, {a3, a2, a1, a0}; }",
		func(x, y uint32) uint32 { return bits.ReverseBytes32(x) })
	test("mov.b64 %R, {%x, %y}; mov.b64 {%r, _}, %X;",
		func(x, y uint32, X, _ uint64) (uint32, uint64) { return uint32(X), uint64(y)<<32 | uint64(x) })
	test("cvt.s64.s8 %R, %x; cvt.u32.s16 %r, %X;", func(x, _ uint32, X, _ uint64) (uint32, uint64) {
		return uint32(int32(int16(X))), uint64(int64(int8(x)))
	})
	test("cvt.u32.s8 %R, %x;",
		func(x, _ uint32, _, _ uint64) (uint32, uint64) { return 0, uint64(uint32(int32(int8(x)))) })
	test("cvt.s32.u8 %R, -1;", func(x, _ uint32, _, _ uint64) (uint32, uint64) { return 0, 0xff })

	// Instructions that take several operations of Go.
	test("mul.hi.u32 %r, %x, %y; mul.hi.u64 %R, %X, %Y;", func(x, y uint32, X, Y uint64) (uint32, uint64) {
		h, _ := bits.Mul64(X, Y)
		return uint32(uint64(x) * uint64(y) >> 32), h
	})
	signedHigh := func(x, y uint64) uint64 {
		product := new(big.Int).Mul(big.NewInt(int64(x)), big.NewInt(int64(y)))
		return uint64(product.Rsh(product, 64).Int64())
	}
	test("mul.hi.s32 %r, %x, %y; mul.hi.s64 %R, %X, %Y;", func(x, y uint32, X, Y uint64) (uint32, uint64) {
		return uint32(int64(int32(x)) * int64(int32(y)) >> 32), signedHigh(X, Y)
	})
	test64("mad.hi.s64 %R, %X, %Y, %X;", func(x, y uint64) uint64 { return signedHigh(x, y) + x })
	test("abs.s32 %r, %x; abs.s64 %R, %X;", func(x, y uint32, X, Y uint64) (uint32, uint64) {
		return choose(int32(x) < 0, -x, x), choose(int64(X) < 0, -X, X)
	})
	test("cnot.b32 %r, %x; cnot.b64 %R, %X;", func(x, y uint32, X, Y uint64) (uint32, uint64) {
		return choose[uint32](x == 0, 1, 0), choose[uint64](X == 0, 1, 0)
	})
	test("brev.b32 %r, %x; brev.b64 %R, %X;",
		func(x, y uint32, X, Y uint64) (uint32, uint64) { return bits.Reverse32(x), bits.Reverse64(X) })
	test32("clz.b32 %r, %x;", func(x, y uint32) uint32 { return uint32(bits.LeadingZeros32(x)) })
	test32("clz.b64 %r, %X;", func(x, y uint32) uint32 { return uint32(bits.LeadingZeros64(wide(x))) })
	test32("popc.b32 %r, %x;", func(x, y uint32) uint32 { return uint32(bits.OnesCount32(x)) })
	test32("popc.b64 %r, %X;", func(x, y uint32) uint32 { return uint32(bits.OnesCount64(wide(x))) })
	// find is the loop by which the PTX ISA defines bfind. It finds the highest bit that
	// differs from the sign.
	find := func(x uint64, msb int, signed bool) uint32 {
		if signed && x>>msb&1 != 0 {
			x = ^x
		}
		for i := msb; i >= 0; i-- {
			if x>>i&1 != 0 {
				return uint32(i)
			}
		}
		return ^uint32(0)
	}
	shift := func(d, msb uint32) uint32 { return choose(d == ^uint32(0), d, msb-d) }
	test32("bfind.u32 %r, %x;", func(x, y uint32) uint32 { return find(uint64(x), 31, false) })
	test32("bfind.s32 %r, %x;", func(x, y uint32) uint32 { return find(uint64(x), 31, true) })
	test32("bfind.u64 %r, %X;", func(x, y uint32) uint32 { return find(wide(x), 63, false) })
	test32("bfind.s64 %r, %X;", func(x, y uint32) uint32 { return find(wide(x), 63, true) })
	test32("bfind.shiftamt.u32 %r, %x;", func(x, y uint32) uint32 { return shift(find(uint64(x), 31, false), 31) })
	test32("bfind.shiftamt.s64 %r, %X;", func(x, y uint32) uint32 { return shift(find(wide(x), 63, true), 63) })
	test32("shf.l.clamp.b32 %r, %x, 0x9abcdef1, %y;", func(x, y uint32) uint32 {
		n := min(y, 32)
		return uint32(0x9abcdef1)<<n | uint32(uint64(x)>>(32-n))
	})
	test32("shf.r.clamp.b32 %r, %x, 0x9abcdef1, %y;", func(x, y uint32) uint32 {
		n := min(y, 32)
		return uint32(uint64(0x9abcdef1)<<(32-n)) | x>>n
	})
	test32("shf.l.wrap.b32 %r, %x, %x, %y;", func(x, y uint32) uint32 { return bits.RotateLeft32(x, int(y&31)) })
	test32("shf.r.wrap.b32 %r, %x, %x, %y;", func(x, y uint32) uint32 { return bits.RotateLeft32(x, -int(y&31)) })
	// maskBits is the definition of bmsk in the PTX ISA.
	maskBits := func(a, b uint32, clamp bool) uint32 {
		from, to := ^uint32(0)<<(a&31), ^uint32(0)<<(a&31+b&31)
		if clamp && a >= 32 {
			from = 0
		}
		if clamp && (a >= 32 || b >= 32) {
			to = 0
		}
		return from &^ to
	}
	test32("bmsk.clamp.b32 %r, %x, %y;", func(x, y uint32) uint32 { return maskBits(x, y, true) })
	test32("bmsk.wrap.b32 %r, %x, %y;", func(x, y uint32) uint32 { return maskBits(x, y, false) })
	extend := func(a, b uint32, signed bool) uint32 {
		return uint32(extractBits(uint64(a), 0, b, 31, signed))
	}
	test32("szext.clamp.u32 %r, %x, %y;", func(x, y uint32) uint32 { return extend(x, min(y, 32), false) })
	test32("szext.clamp.s32 %r, %x, %y;", func(x, y uint32) uint32 { return extend(x, min(y, 32), true) })
	test32("szext.wrap.u32 %r, %x, %y;", func(x, y uint32) uint32 { return extend(x, y&31, false) })
	test32("szext.wrap.s32 %r, %x, %y;", func(x, y uint32) uint32 { return extend(x, y&31, true) })
	for _, offset := range []int{0, 1, 2, 3, -1, -2, -5, -2147483648} {
		test32(fmt.Sprintf("fns.b32 %%r, %%x, %%y, %d;", offset), func(mask, base uint32) uint32 {
			step, count := 1, offset // the loop of the PTX ISA
			if offset < 0 {
				step, count = -1, -offset
			}
			if offset == 0 {
				return choose(base < 32 && mask>>base&1 != 0, base, ^uint32(0))
			}
			for pos := int(base); pos >= 0 && pos < 32; pos += step {
				if mask>>pos&1 != 0 {
					if count--; count == 0 {
						return uint32(pos)
					}
				}
			}
			return ^uint32(0)
		})
	}
	test("slct.u32.s32 %r, %x, 7, %y; slct.b64.s32 %R, %X, %Y, %y;", func(x, y uint32, X, Y uint64) (uint32, uint64) {
		return choose(int32(y) >= 0, x, 7), choose(int32(y) >= 0, X, Y)
	})
	// lop3 with every table, and with the tables of two well-known functions.
	for table := range uint32(256) {
		test32(fmt.Sprintf("lop3.b32 %%r, %%x, %%y, 0x0ff00ff0, %d;", table), func(x, y uint32) (r uint32) {
			for i := range 32 {
				r |= table >> (x>>i&1<<2 | y>>i&1<<1 | 0x0ff00ff0>>i&1) & 1 << i
			}
			return r
		})
	}
	test32("lop3.b32 %r, %x, %y, %x, 0xc0;", func(x, y uint32) uint32 { return x & y })
	test32("lop3.b32 %r, %x, %y, 0x00ffff00, 0xca;", func(x, y uint32) uint32 { return x&y | ^x&0x00ffff00 })
	// prmt in each mode, with selectors from the tables of the PTX ISA.
	for mode, selectors := range map[string][4]uint32{
		".f4e": {0x3210, 0x4321, 0x5432, 0x6543}, ".b4e": {0x5670, 0x6701, 0x7012, 0x0123},
		".ecl": {0x3210, 0x3211, 0x3222, 0x3333}, ".ecr": {0x0000, 0x1110, 0x2210, 0x3210},
		".rc8": {0x0000, 0x1111, 0x2222, 0x3333}, ".rc16": {0x1010, 0x3232, 0x1010, 0x3232},
		"": {},
	} {
		test32("prmt.b32"+mode+" %r, 0x83c2a190, 0x7f6e5d4c, %x;", func(x, _ uint32) (r uint32) {
			bytes, s := [8]byte{0x90, 0xa1, 0xc2, 0x83, 0x4c, 0x5d, 0x6e, 0x7f}, x
			if mode != "" {
				s = selectors[x&3]
			}
			for k := range 4 {
				b := bytes[s>>(4*k)&7]
				if s>>(4*k)&8 != 0 {
					b = choose(b>>7 != 0, byte(0xff), 0)
				}
				r |= uint32(b) << (8 * k)
			}
			return r
		})
	}

	// setp with a second destination, and with a third predicate to combine with.
	predicate("setp.lt.u32 %p0|%p3, %x, %y;", func(x, y uint32) bool { return x >= y })
	predicate("setp.lt.u32 _|%p3, %x, %y;", func(x, y uint32) bool { return x >= y })
	predicate("setp.lt.u32 %p3|_, %x, %y;", func(x, y uint32) bool { return x < y })
	predicate("setp.eq.and.u32 %p3, %x, 8, %p1;", func(x, y uint32) bool { return x == 8 && x < y })
	predicate("setp.eq.or.u32 %p3, %x, 8, !%p1;", func(x, y uint32) bool { return x == 8 || x >= y })
	predicate("setp.eq.xor.u32 %p3, %x, 8, %p1;", func(x, y uint32) bool { return (x == 8) != (x < y) })
	predicate("setp.eq.and.u32 %p0|%p3, %x, 8, !%p1;", func(x, y uint32) bool { return x != 8 && x >= y })
	predicate("mov.pred %p3, 1; @%p1 mov.pred %p3, 0;", func(x, y uint32) bool { return x >= y })
	predicate("setp.ne.u32 %p3, %x, %x; @!%p1 setp.eq.u32 %p3, %x, %x;", func(x, y uint32) bool { return x >= y })

	// bfi and bfe with pos and width in registers and as immediates, past 255 too, in place,
	// and under a guard.
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
	test("bfi.b64 %R, %X, %Y, %y, %x;",
		func(x, y uint32, X, Y uint64) (uint32, uint64) { return 0, insertBits64(X, Y, y, x) })
	test("bfi.b64 %R, %X, %Y, 300, 0x128;",
		func(x, y uint32, X, Y uint64) (uint32, uint64) { return 0, insertBits64(X, Y, 44, 40) })
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

func toBytes(words []uint32) (b []byte) {
	for _, x := range words {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func toBytes64(words []uint64) (b []byte) {
	for _, x := range words {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// insertBits32 and insertBits64 are the PTX ISA's definition of bfi, bit by bit.
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

// TestDivergence runs a loop that lanes leave after different numbers of rounds. The warp
// must stay together: it must take as many instructions as its longest lane, and run the
// code after the loop once.
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
	// Each of the 2 warps executes 3 instructions before the loop, 7 rounds of 5, 2 that end
	// the loop, and 5 after it.
	want := counts{perBlock: threads, blocks: 1, warps: 2, instructions: 2 * (3 + 7*5 + 2 + 5),
		fields: 2 * 7, fieldLanes: threads / 8 * (1 + 2 + 3 + 4 + 5 + 6 + 7), branches: 2 * (8 + 7), splits: 2 * 7}
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}

// TestBranches takes both ways of a forward branch, and exits under a guard. The other lanes
// must not wait for the lanes that exit.
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

// TestPartialWarp checks that lanes past the last thread execute nothing.
func TestPartialWarp(t *testing.T) {
	source := kernel(`
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 4;
	ld.param.u64 %rd2, [out];
	add.u64 %rd2, %rd2, %rd1;
	bfi.b32 %r2, %r1, 0x55000000, 0, 8;
	st.global.u32 [%rd2], %r2;`)
	for threads := 1; threads <= blockSize; threads++ {
		out := make([]byte, 4*threads) // another lane would be outside
		c := launch(t, source, threads, argument{buffer: out}, argument{}, argument{})
		if c.fieldLanes != threads {
			t.Errorf("%d threads: bfi in %d lanes", threads, c.fieldLanes)
		}
		for i := range threads {
			if got := binary.LittleEndian.Uint32(out[4*i:]); got != 0x55000000|uint32(i) {
				t.Errorf("%d threads: thread %d wrote %#x", threads, i, got)
			}
		}
	}
}

// TestFreshRegisters checks that registers are 0 when a warp begins.
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
	const global = ".shared of 16 bytes, .local of 8, a buffer of 64 at 0x100000000, a buffer of 32 at 0x200000000"
	for _, c := range []struct {
		name, body, want string
	}{
		{"load past the end", "ld.param.u64 %rd1, [in];\nld.global.u32 %r1, [%rd1+32];",
			"11: ld.global.u32 %r1, [%rd1+32]: thread 0: 4 bytes at 0x200000020 are outside .global memory: " + global},
		{"load across the end", "ld.param.u64 %rd1, [in];\nld.u64 %rd1, [%rd1+28];",
			"11: ld.u64 %rd1, [%rd1+28]: thread 0: 8 bytes at 0x20000001c are not aligned"},
		{"vector across the end", "ld.param.u64 %rd1, [in];\nld.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+32];",
			"11: ld.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+32]: thread 0: " +
				"16 bytes at 0x200000020 are outside all memory: " + global},
		{"load before the start", "ld.param.u64 %rd1, [in];\nld.global.nc.u32 %r1, [%rd1+-4];",
			"11: ld.global.nc.u32 %r1, [%rd1+-4]: thread 0: 4 bytes at 0x1fffffffc are outside .global memory: " + global},
		{"address 0", "ld.global.u32 %r1, [%rd1];",
			"10: ld.global.u32 %r1, [%rd1]: thread 0: 4 bytes at 0x0 are outside .global memory: " + global},
		{"store, one lane",
			"ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 37;\n@%p1 st.global.u32 [%rd1+64], %r1;",
			"13: @%p1 st.global.u32 [%rd1+64], %r1: thread 37: 4 bytes at 0x100000040 are outside .global memory: " + global},
		{"past the last buffer", "ld.param.u64 %rd1, [in];\nshl.b64 %rd1, %rd1, 4;\nld.global.u32 %r1, [%rd1];",
			"12: ld.global.u32 %r1, [%rd1]: thread 0: 4 bytes at 0x2000000000 are outside .global memory: " + global},
		{"shared by a global address", "ld.param.u64 %rd1, [in];\nld.shared.u32 %r1, [%rd1];",
			"11: ld.shared.u32 %r1, [%rd1]: thread 0: 4 bytes at 0x200000000 are outside .shared memory: " + global},
		{"past .shared", "st.shared.u32 [s+16], %r1;",
			"10: st.shared.u32 [s+16], %r1: thread 0: 4 bytes at 0x8000000000000010 are outside .shared memory: " + global},
		{"past .local", "st.u64 [l+8], %rd1;",
			"10: st.u64 [l+8], %rd1: thread 0: 8 bytes at 0xc000000000000008 are outside all memory: " + global},
		{"endless loop", "L: bra L;", "10: bra L: thread 0: 1000 instructions executed: an endless loop?"},
	} {
		p, err := parse("test.ptx", kernel(".shared .b32 s[4]; .local .b64 l;\n"+c.body), "")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p.limit = 1000
		_, err = p.launch(64, []argument{{buffer: make([]byte, 64)}, {buffer: make([]byte, 32)}, {}})
		if err == nil || err.Error() != "test.ptx:"+c.want {
			t.Errorf("%s: error\n%v\nwant\ntest.ptx:%s", c.name, err, c.want)
		}
	}
}

// TestSpaces stores to one kind of address and loads from another.
func TestSpaces(t *testing.T) {
	source := kernel(`
	.shared .align 8 .b8 before[3], after;
	`)
	if _, err := parse("test.ptx", source, ""); err == nil {
		t.Error("two variables in one declaration pass")
	}
	source = strings.Replace(kernel(`
	.local .align 4 .b8 depot[12];
	.reg .b16 %s<4>;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd1, %r1, 8;
	ld.param.u64 %rd2, [out];
	cvta.to.global.u64 %rd2, %rd2;
	add.u64 %rd2, %rd2, %rd1;
	mov.u64 %rd3, depot;
	cvta.local.u64 %rd4, %rd3;
	ld.local.u32 %r5, [depot+8];            // 0
	st.u32 [%rd4+4], %r1;                   // generic
	add.u32 %r2, %r1, 1000;
	st.local.v2.b16 [%rd3], {%s0, 7};       // s0 is 0
	st.volatile.local.u32 [depot+8], %r2;
	ld.local.u32 %r3, [depot+4];
	ld.v2.u16 {%s1, %s2}, [depot];
	cvt.u32.u16 %r4, %s2;
	mad.lo.u32 %r3, %r4, 0x10000, %r3;
	add.u32 %r3, %r3, %r5;
	ld.shared.u32 %r4, [count];             // of the threads of the block up to here, by warps
	and.b32 %r5, %r1, 31;
	setp.eq.u32 %p1, %r5, 0;
	add.u32 %r6, %r4, 1;
	mov.u64 %rd5, count;
	@%p1 st.shared.u32 [%rd5], %r6;
	st.global.v2.u32 [%rd2], {%r3, %r4};`), ".entry", ".shared .u32 count;\n.entry", 1)
	const threads = 2 * blockSize
	out := make([]byte, 8*threads)
	launch(t, source, threads, argument{buffer: out[:8*blockSize]}, argument{}, argument{})
	for i := range blockSize {
		got, want := binary.LittleEndian.Uint64(out[8*i:]), uint64(0x70000+i)|uint64(i/32)<<32
		if got != want {
			t.Errorf("thread %d: %#x, want %#x", i, got, want)
		}
	}
}

// TestShortAddresses uses addresses of 32 bits, which are valid only in accesses that name
// .shared or .local. It also converts such addresses with cvta.
func TestShortAddresses(t *testing.T) {
	source := kernel(`
	.shared .align 4 .b8 pad[8];
	.shared .u32 s[4];
	.local .u64 l[2];
	mov.u32 %r9, pad;
	mov.u32 %r1, s;                         // 8
	st.shared.u32 [%r1], 5;
	add.u32 %r2, %r1, 8;
	st.shared.u32 [%r2+-4], 6;
	ld.shared.u32 %r3, [s];                 // 5
	ld.shared.u32 %r4, [%r1+4];             // 6
	mov.u32 %r5, l;
	mov.u32 %r6, %laneid;
	st.local.u32 [%r5+8], %r6;
	ld.local.u32 %r6, [l+8];                // the lane
	cvt.u64.u32 %rd1, %r1;
	ld.shared.u32 %r7, [%rd1];              // 5
	cvta.shared.u64 %rd1, %rd1;
	ld.u32 %r8, [%rd1+4];                   // 6
	cvt.u64.u32 %rd2, %r5;
	cvta.local.u64 %rd2, %rd2;
	st.u32 [%rd2+12], %r1;
	ld.local.u32 %r2, [%r5+12];             // 8
	ld.param.u64 %rd3, [out];
	mad.wide.u32 %rd3, %r6, 32, %rd3;
	st.v4.u32 [%rd3], {%r1, %r3, %r4, %r6};
	st.v4.u32 [%rd3+16], {%r7, %r8, %r2, %r9};`)
	out := make([]byte, 32*bfi.WarpSize)
	launch(t, source, bfi.WarpSize, argument{buffer: out}, argument{}, argument{})
	var want []uint32
	for lane := range uint32(bfi.WarpSize) {
		want = append(want, 8, 5, 6, lane, 5, 6, 8, 0)
	}
	if !bytes.Equal(out, toBytes(want)) {
		t.Errorf("%x, want %x", out, toBytes(want))
	}
	for _, line := range []string{
		"ld.shared.u32 %r1, [%r2+-4];", "mov.u32 %r1, l; ld.shared.u32 %r2, [%r1+4];", "ld.local.u32 %r1, [%r2+8];",
	} {
		p, err := parse("test.ptx", kernel(".shared .u32 s; .local .u64 l;\n"+line), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.launch(1, make([]argument, 3)); err == nil || !strings.Contains(err.Error(), "are outside ") {
			t.Errorf("%s: error %v, want an error about memory outside", line, err)
		}
	}
}

// TestParameterParts loads parts of parameters.
func TestParameterParts(t *testing.T) {
	source := kernel(`
	ld.param.u64 %rd1, [out+0];
	ld.param.u32 %r1, [in];
	ld.param.u32 %r2, [in+4];
	ld.param.s8 %r3, [in+7];
	ld.param.u16 %r4, [n+2];
	ld.param.v2.u32 {%r5, %r6}, [in];
	ld.param.v2.b16 {%r7, %r8}, [n];
	st.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
	st.v4.u32 [%rd1+16], {%r5, %r6, %r7, %r8};`)
	out := make([]byte, 32)
	launch(t, source, 1, argument{buffer: out}, argument{number: 0x8081828384858687}, argument{number: 0x12345678})
	want := toBytes([]uint32{0x84858687, 0x80818283, 0xffffff80, 0x1234, 0x84858687, 0x80818283, 0x5678, 0x1234})
	if !bytes.Equal(out, want) {
		t.Errorf("%x, want %x", out, want)
	}
}

// TestAccesses loads and stores words of each size, in all lanes and in some lanes. The
// lanes' words are adjacent, apart, in reverse order, or all at one place.
func TestAccesses(t *testing.T) {
	for _, size := range []int{1, 2, 4, 8} {
		for _, vector := range []int{1, 2, 4} {
			for _, stride := range []int{0, 1, 2, -1} {
				for _, guard := range []uint32{0xffffffff, 0xfffffffe, 0x00ffff00, 0xa5a5a5a5, 0x80000001, 0x00010000} {
					testAccess(t, size, vector, stride, guard)
				}
			}
		}
	}
}

func testAccess(t *testing.T, size, vector, stride int, guard uint32) {
	t.Helper()
	bits, list, modifier := 8*size, "%d0", ""
	if vector > 1 {
		list, modifier = "{"+strings.Join([]string{"%d0", "%d1", "%d2", "%d3"}[:vector], ", ")+"}",
			fmt.Sprintf("v%d.", vector)
	}
	source := kernel(fmt.Sprintf(`
	.reg .b%d %%d<4>;
	ld.param.u64 %%rd1, [in];
	ld.param.u64 %%rd2, [out];
	mov.u32 %%r1, %%laneid;
	shr.u32 %%r3, %d, %%r1;
	and.b32 %%r3, %%r3, 1;
	setp.eq.u32 %%p1, %%r3, 1;
	mad.wide.s32 %%rd1, %%r1, %d, %%rd1;
	mad.wide.s32 %%rd2, %%r1, %d, %%rd2;
	@%%p1 ld.%su%d %s, [%%rd1+%d];
	@%%p1 st.global.%su%d [%%rd2+%d], %s;`, bits, guard, stride*size*vector, stride*size*vector,
		modifier, bits, list, 32*size*vector, modifier, bits, 32*size*vector, list))
	in, out := make([]byte, 128*size*vector), make([]byte, 128*size*vector)
	for i := range in {
		in[i], out[i] = byte(i*7+1), byte(i)
	}
	want := bytes.Clone(out)
	for lane := range 32 {
		if guard>>lane&1 != 0 {
			at := (32 + lane*stride) * size * vector
			copy(want[at:at+size*vector], in[at:])
		}
	}
	launch(t, source, 32, argument{buffer: out}, argument{buffer: in}, argument{})
	if !bytes.Equal(out, want) {
		t.Errorf("%d words of %d bytes, stride %d, lanes %#x:\n%x, want\n%x", vector, size, stride, guard, out, want)
	}
}

// TestArguments checks a kernel with an input file, by -arg and -out.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	source := header + `.visible .entry first(
		.param .u64 in, .param .u64 out, .param .u64 sum, .param .s8 add, .param .u64 scale)
	.maxntid 128, 1, 1 .minnctapersm 2
	{
		.reg .b64 %rd<6>; .reg .b32 %r<4>; .reg .b16 %s<2>;
		mov.u32 %r1, %tid.x;
		mul.wide.u32 %rd1, %r1, 4;
		ld.param.u64 %rd2, [in]; add.u64 %rd2, %rd2, %rd1;
		ld.param.u64 %rd3, [out]; add.u64 %rd3, %rd3, %rd1;
		ld.u32 %r2, [%rd2];
		ld.param.s8 %r3, [add]; ld.param.u64 %rd5, [scale]; cvt.u32.u64 %r0, %rd5;
		mad.lo.u32 %r2, %r2, %r0, %r3;
		st.u32 [%rd3], %r2;
		ld.param.u64 %rd4, [sum]; st.u32 [%rd4], %r2;
		st.u32 [%rd2], %r1;
		ret;
	}
	.visible .entry second() { ret; }`
	write := func(name, content string) {
		if err := os.WriteFile(path(name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("k.ptx", source)
	write("in.bin", string(toBytes([]uint32{5, 6, 7, 0xffffffff})))
	emulated := func(args ...string) []byte {
		t.Helper()
		var out strings.Builder
		args = append(args, "-threads", "4", "-out", path("out.bin"), "-entry", "first", path("k.ptx"))
		if err := emulate(args, &out); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path("out.bin"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := toBytes([]uint32{8, 10, 12, 0xfffffffc})
	sum := toBytes([]uint32{0xfffffffc})
	in, changed := "@"+path("in.bin"), toBytes([]uint32{0, 1, 2, 3})
	got := emulated("-arg", in, "-arg", "zero:16", "-arg", "zero:0x4", "-arg", "-2", "-arg", "2")
	if !bytes.Equal(got, append(want, sum...)) {
		t.Errorf("the buffers of zeros are %x, want %x %x", got, want, sum)
	}
	if got := emulated("-arg", in, "-arg", in, "-arg", in, "-arg", "0xfe", "-arg", "2"); !bytes.Equal(got,
		append(append(changed, want...), append(sum, toBytes([]uint32{6, 7, 0xffffffff})...)...)) {
		t.Errorf("all buffers are %x", got)
	}
	if b, err := os.ReadFile(path("in.bin")); err != nil || b[0] != 5 {
		t.Errorf("the input file is %x (%v)", b, err)
	}
}

// TestLoops runs the built-in kernel with the library, and with loops over the lanes.
func TestLoops(t *testing.T) {
	const threads = 1000
	fast, slow := newPixels(threads).arguments(), newPixels(threads).arguments()
	launch(t, pixelPTX, threads, fast...)
	withLoops(func() { launch(t, pixelPTX, threads, slow...) })
	for i := range fast {
		if !bytes.Equal(fast[i].buffer, slow[i].buffer) {
			t.Errorf("buffer %d differs", i)
		}
	}
}

// withLoops calls f. In kernels that f parses, loops over the lanes execute bfi.
func withLoops(f func()) {
	saved := library
	defer func() { library = saved }()
	library = map[string]func(r regs, uniform bool) run{
		"bfi.b32": insertLoop[uint32], "bfi.b64": insertLoop[uint64],
	}
	f()
}

func insertLoop[T bfi.Register](r regs, _ bool) run {
	dst, src, base, pos, width := in[T](r[0]), in[T](r[1]), in[T](r[2]), in[uint32](r[3]), in[uint32](r[4])
	return func(active uint32) {
		for i := range dst {
			if active>>i&1 != 0 {
				dst[i] = bfi.Bfi(src[i], base[i], pos[i], width[i])
			}
		}
	}
}

// BenchmarkPixels runs the built-in kernel. The library executes bfi, and then loops over the
// lanes do.
func BenchmarkPixels(b *testing.B) {
	const threads = 100003
	run := func(b *testing.B) {
		p, err := parse("pixel.ptx", pixelPTX, "")
		if err != nil {
			b.Fatal(err)
		}
		args := newPixels(threads).arguments()
		for b.Loop() {
			if _, err := p.launch(threads, args); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/threads, "ns/thread")
	}
	b.Run("library", run)
	b.Run("loops", func(b *testing.B) { withLoops(func() { run(b) }) })
}
