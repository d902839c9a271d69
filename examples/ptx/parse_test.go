package main

import (
	"strings"
	"testing"
)

// expected replaces the words in capitals by what error messages have there.
func expected(s string) string {
	return strings.NewReplacer(
		"ALL", "one of "+supported()+", where T is an integer type or pred",
		"STATEMENT", ".reg .local .shared .loc .pragma, an instruction, or a brace",
		"DIRECTIVE", ".version .target .address_size .shared .file .pragma .section or .entry name(.param .type name, ...)",
	).Replace(s)
}

// TestBadLines checks the errors about single wrong lines in a correct kernel. An error that
// begins with a colon here begins with the line.
func TestBadLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"bfi.b32 %rd1, %r2, %r3, 0, 8;", ": operand 1, %rd1, is a register of 64 bits, want a register of 32 bits"},
		{"bfi.b32 %r1, %rd2, %r3, 0, 8;",
			": operand 2, %rd2, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, %r2, %rd3, 0, 8;",
			": operand 3, %rd3, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, %r2, %r3, %rd4, 8;",
			": operand 4, %rd4, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, %r2, %r3, 0, %rd5;",
			": operand 5, %rd5, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"bfi.b64 %r1, %rd2, %rd3, 0, 8;", ": operand 1, %r1, is a register of 32 bits, want a register of 64 bits"},
		{"bfi.b64 %rd1, %r2, %rd3, 0, 8;",
			": operand 2, %r2, is a register of 32 bits, want a register of 64 bits or an integer"},
		{"bfi.b64 %rd1, %rd2, %r3, 0, 8;",
			": operand 3, %r3, is a register of 32 bits, want a register of 64 bits or an integer"},
		{"bfi.b64 %rd1, %rd2, %rd3, %rd4, 8;",
			": operand 4, %rd4, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"bfi.b64 %rd1, %rd2, %rd3, 0, %rd5;",
			": operand 5, %rd5, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, %p2, %r3, 0, 8;", ": operand 2, %p2, is a predicate, want a register of 32 bits or an integer"},
		{"bfi.b32 7, %r2, %r3, 0, 8;", ": operand 1 is \"7\", want a register of 32 bits"},
		{"bfi.b32 %tid.x, %r2, %r3, 0, 8;", ": operand 1, %tid.x, is read-only"},
		{"bfi.b32 %r1, %r2, %r3, 0;", ": 4 operands, want 5"},
		{"bfi.b32 %r1, %r2, %r3, 0, 8, 9;", ": 6 operands, want 5"},
		{"bfi.b32 %r1, %r2, %r3, 0, 8,;", ": 6 operands, want 5"},
		{"bfi.b32 %r1, %r2, , 0, 8;", ": operand 3 is \"\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, %r2, %r3, 0x100000000, 8;",
			": operand 4 is \"0x100000000\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, -2147483649, %r3, 0, 8;", ": operand 2 is \"-2147483649\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, 1.5, %r3, 0, 8;", ": operand 2 is \"1.5\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, 0f3F800000, %r3, 0, 8;", ": operand 2 is \"0f3F800000\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, 1_0, %r3, 0, 8;", ": operand 2 is \"1_0\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, 0o7, %r3, 0, 8;", ": operand 2 is \"0o7\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, 1 2, %r3, 0, 8;", ": operand 2 is \"1 2\", want a register of 32 bits or an integer"},
		{"bfi.b64 %rd1, 0x10000000000000000, %rd3, 0, 8;",
			": operand 2 is \"0x10000000000000000\", want a register of 64 bits or an integer"},
		{"bfi.b32 %r1, [%rd1], %r3, 0, 8;", ": operand 2 is \"[%rd1]\", want a register of 32 bits or an integer"},
		{"bfi.b32 %r1, %r99, %r3, 0, 8;", ": operand 2, %r99, is not declared"},
		{"bfi.u32 %r1, %r2, %r3, 0, 8;", ": \"u32\" is not supported, want one of b32 b64"},
		{"bfi.b16 %r1, %r2, %r3, 0, 8;", ": \"b16\" is not supported, want one of b32 b64"},
		{"bfi %r1, %r2, %r3, 0, 8;", ": not supported, want ALL"},
		{"bfi. %r1, %r2, %r3, 0, 8;", ": not supported, want ALL"},
		{"bfi.cc.b32 %r1, %r2, %r3, 0, 8;", ": not supported, want ALL"},
		{"bfe.b32 %r1, %r2, 0, 8;", ": \"b32\" is not supported, want one of u32 s32 u64 s64"},
		{"bfe.u64 %rd1, %rd2, %rd3, 8;",
			": operand 3, %rd3, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"add.f32 %r1, %r2, %r3;", ": not supported, want ALL"},
		{"add.b32 %r1, %r2, %r3;", ": \"b32\" is not supported, want one of u16 s16 u32 s32 u64 s64"},
		{"add.sat.s32 %r1, %r2, %r3;", ": not supported, want ALL"},
		{"add.pred %p1, %p2, %p3;", ": not supported, want ALL"},
		{"and.pred %p1, %p2, %r3;", ": operand 3, %r3, is a register of 32 bits, want a predicate or an integer"},
		{"and.pred %r1, %p2, %p3;", ": operand 1, %r1, is a register of 32 bits, want a predicate"},
		{"mov.p64 %rd1, %rd2;", ": \"p64\" is not supported, want one of b16 b32 b64 u16 s16 u32 s32 u64 s64"},
		{"mov.b128 %rd1, %rd2;", ": \"b128\" is not supported, want one of b16 b32 b64 u16 s16 u32 s32 u64 s64"},
		{"add.u32 %r1;", ": 1 operands, want 3"},
		{"add.u32;", ": 0 operands, want 3"},
		{"mul.wide.u64 %rd1, %rd2, %rd3;", ": \"u64\" is not supported, want one of u16 s16 u32 s32"},
		{"mul.wide.u32 %r1, %r2, %r3;", ": operand 1, %r1, is a register of 32 bits, want a register of 64 bits"},
		{"shl.b64 %rd1, %rd2, %rd3;",
			": operand 3, %rd3, is a register of 64 bits, want a register of 32 bits or an integer"},
		{"cvt.rn.f32.u32 %r1, %r2;", ": \"rn\" is not supported, want one of u8 s8 u16 s16 u32 s32 u64 s64"},
		{"setp.lt.b32 %p1, %r1, %r2;", ": \"b32\" is not supported, want one of u16 s16 u32 s32 u64 s64"},
		{"setp.eq.u32 %r1, %r1, %r2;", ": operand 1, %r1, is a register of 32 bits, want a predicate"},
		{"selp.b32 %r1, %r2, %r3, %r4;", ": operand 4, %r4, is a register of 32 bits, want a predicate or an integer"},
		{"mov.u32 %r1, out;", ": operand 2, out, is not declared"},
		{"mov.u32 %r1, %clock;", ": operand 2, %clock, is not declared"},
		{"ld.param.u32 %r1, [m];", ": \"[m]\", want a parameter of the kernel to read"},
		{"ld.param.u32 %r1, [out+8];", ": \"[out+8]\", want 32 bits of the parameter's 64, aligned"},
		{"ld.param.u32 %r1, [out+2];", ": \"[out+2]\", want 32 bits of the parameter's 64, aligned"},
		{"ld.param.u64 %rd1, [out+4];", ": \"[out+4]\", want 64 bits of the parameter's 64, aligned"},
		{"ld.param.u64 %rd1, [n];", ": \"[n]\", want 64 bits of the parameter's 32, aligned"},
		{"ld.param.u8 %r1, [n+-1];", ": \"[n+-1]\", want 8 bits of the parameter's 32, aligned"},
		{"ld.param.u8 %r1, [n+4294967296];", ": \"[n+4294967296]\", want 8 bits of the parameter's 32, aligned"},
		{"ld.param.u64 %r1, [out];", ": operand 1, %r1, is a register of 32 bits, want a register of 64 bits or more"},
		{"ld.param.u32 %r1, n;", ": \"n\", want a parameter of the kernel to read"},
		{"ld.global.u32 %r1, [%r2];", ": operand 2, %r2, is a register of 32 bits, want a register of 64 bits or an integer"},
		{"ld.global.u32 %r1, [%rd99];", ": operand 2, %rd99, is not declared"},
		{"ld.global.u32 %r1, [%rd1*4];", ": operand 2 is \"[%rd1*4]\", want [register] or [register+integer]"},
		{"ld.global.u32 %r1, [%rd1+%r2];", ": operand 2 is \"[%rd1+%r2]\", want [register] or [register+integer]"},
		{"ld.global.u32 %r1, [];", ": operand 2 is \"[]\", want [register] or [register+integer]"},
		{"st.global.u64 [%rd1], %r1;",
			": operand 2, %r1, is a register of 32 bits, want a register of 64 bits or more or an integer"},
		{"bar.sync 0;", ": not supported, want ALL"},
		{"bra NOWHERE;", ": the label is not declared here"},
		{"bra INNER; { INNER: ret; }", "bra INNER: the label is not declared here"},
		{"bra 5;", ": the label is not declared here"},
		{"bra;", ": 0 operands, want 1"},
		{"ret 1;", ": 1 operands, want 0"},
		{"@%p9 ret;", ": the guard, %p9, is not declared"},
		{"@%r1 ret;", ": the guard, %r1, is a register of 32 bits, want a predicate"},
		{"@ ret;", ": want an instruction"},
		{"@%p1;", ": want an instruction"},
		{";", ": want an instruction"},
		{"L: L: ret;", "L:: the label is declared twice"},
		{"5: ret;", ": want an instruction"},
		{".reg .b32 a, a;", ": a is declared twice"},
		{".reg .b32 %r1;", ": %r1 is declared twice"},
		{".reg .b64 %r<3>;", ": %r0 is declared twice"},
		{".reg .f32 %f<3>;", ": registers of type .f32 are not supported, want .pred or an integer of 8 to 64 bits"},
		{".reg .b32 %x<y>;", ": \"%x<y>\", want a name or name<count>"},
		{".reg .b32 %x<65537>;", ": \"%x<65537>\", want 1 to 65536 registers"},
		{".reg .b32 7;", ": \"7\", want a name or name<count>"},
		{".reg .b32 a b;", ": \"a b\", want a name or name<count>"},
		{"{ .reg .b32 inner; } mov.u32 inner, 1;", "mov.u32 inner, 1: operand 1, inner, is not declared"},
		{"#", "# ret: want an instruction"},
		{"/* to the end", "/* to the end ret: want an instruction"},
		{"selp.b32 %r1, %r2, %r3, !%p1;", ": operand 4 is \"!%p1\", want a predicate or an integer"},
		{"mov.pred %p1, !%p2;", ": operand 2 is \"!%p2\", want a predicate or an integer"},
		{"setp.lt.and.u32 %p1, %r1, %r2;", ": 3 operands, want 4"},
		{"setp.lt.mov.u32 %p1, %r1, %r2, %p3;", ": \"mov\" is not supported, want one of and or xor"},
		{"setp.lt.u32 %p1|%p2|%p3, %r1, %r2;", ": operand 1 is \"%p1|%p2|%p3\", want one predicate or two"},
		{"setp.lt.u32 _, %r1, %r2;", ": operand 1, _, is not declared"},
		{"lop3.b32 %r1, %r2, %r3, %r4, %r5;", ": operand 5 is \"%r5\", want an integer of 8 bits"},
		{"lop3.b32 %r1, %r2, %r3, %r4, 256;", ": operand 5 is \"256\", want an integer of 8 bits"},
		{"prmt.b32.f4f %r1, %r2, %r3, 1;", ": not supported, want ALL"},
		{"ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];",
			": \"v3\" is not supported, want one of global shared local param v2 v4 weak volatile nc ca cg cs lu cv wb wt"},
		{"ld.v2.u32 {%r1, %r2, %r3}, [%rd1];", ": operand 1 is \"{%r1,%r2,%r3}\", want 2 elements"},
		{"ld.v2.u32 %r1, [%rd1];", ": operand 1 is \"%r1\", want 2 elements"},
		{"st.param.u32 [n], %r1;", ": \"[n]\", want a parameter of the kernel to read"},
		{"ld.const.u32 %r1, [%rd1];",
			": \"const\" is not supported, want one of global shared local param v2 v4 weak volatile nc ca cg cs lu cv wb wt"},
		{"ld.global.f32 %r1, [%rd1];",
			": \"f32\" is not supported, want one of b8 u8 s8 b16 b32 b64 u16 s16 u32 s32 u64 s64"},
		{"mov.b64 {%r1, %r2, %r3}, %rd1;", ": not supported, want one register, and 2 or 4 in braces"},
		{"mov.b64 {%r1, %r2}, {%r3, %r4};", ": not supported, want one register, and 2 or 4 in braces"},
		{"mov.b32 {%r1, %r2}, %r3;", ": operand 1, %r1, is a register of 32 bits, want a register of 16 bits"},
		{"mov.b64 {%r1, %r2, %rd1;", ": 1 operands, want 2"},
		{"cvt.u32.f32 %r1, %r2;", ": \"f32\" is not supported, want one of u8 s8 u16 s16 u32 s32 u64 s64"},
		{"cvt.sat.u8.s32 %r1, %r2;", ": \"sat\" is not supported, want one of u8 s8 u16 s16 u32 s32 u64 s64"},
		{"cvta.param.u64 %rd1, %rd2;", ": \"param.u64\" is not supported, want one of global.u64 shared.u64 local.u64"},
		{"cvta.global.u32 %r1, %r2;", ": \"global.u32\" is not supported, want one of global.u64 shared.u64 local.u64"},
		{"call (%r1), f, (%r2);", ": not supported, want ALL"},
		{"atom.global.add.u32 %r1, [%rd1], 1;", ": not supported, want ALL"},
		{"tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [t, {%r5}];", ": not supported, want ALL"},
		{"bar.warp.sync 0xffffffff;", ": not supported, want ALL"},
		{"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", ": not supported, want ALL"},
		{".param .u32 x;", ": not supported, want STATEMENT"},
		{".const .u32 x = 1;", ": not supported, want STATEMENT"},
		{".shared .b32 x[0];", ": want an alignment and a count of up to 65536"},
		{".shared .b8 x[65537];", ": want an alignment and a count of up to 65536"},
		{".local .f32 x;", ": want .shared or .local, an integer type and a name[count]"},
		{".local .align 131072 .b8 x;", ": want an alignment and a count of up to 65536"},
		{".loc 1 2 3 4;", ".loc 1 2 3 4;: a directive needs a line of its own"},
		{".maxntid 5;", ": not supported, want STATEMENT"},
		{".reg .b32 %x<0>;", ": \"%x<0>\", want 1 to 65536 registers"},
		{".reg .b32 %x<99999999999999999999>;", ": \"%x<99999999999999999999>\", want 1 to 65536 registers"},
		{"ret", "ret ret: 1 operands, want 0"},
		{"add.u32 %r1, %r2, %r3, ;", "add.u32 %r1, %r2, %r3,: 4 operands, want 3"},
		{"@!%p1;", ": want an instruction"},
		{"%r1 = 5;", ": want an instruction"},
		{"mov.u32 %laneid, 1;", ": operand 1, %laneid, is read-only"},
		{"ld.u32 %r1, [%rd1+0x10000000000000000];", ": \"0x10000000000000000\", want an integer of 64 bits"},
		{"st.const.u32 [%rd1], %r1;",
			": \"const\" is not supported, want one of global shared local param v2 v4 weak volatile nc ca cg cs lu cv wb wt"},
		{"bfi.b32 %r1, %r2, %r3, 0, 8; .loc 1 2 3 add.u32 %r1, %r2, %r3;",
			".loc 1 2 3 add.u32 %r1, %r2, %r3;: a directive needs a line of its own"},
		{".shared .b8 x[65536]; .shared .b8 y;", ".shared .b8 y: the variables in shared take more than 65536 bytes"},
		{"ld.param.v2.u32 {%r1, %r2}, [n];", ": \"[n]\", want 64 bits of the parameter's 32, aligned"},
		{"st.v4.u32 [%rd1], {%r1, %r2, %r3, %p1};",
			": operand 2, %p1, is a predicate, want a register of 32 bits or more or an integer"},
		{"mov.u32 %p1, %r1;", ": operand 1, %p1, is a predicate, want a register of 32 bits"},
		{"mov.pred %r1, %p1;", ": operand 1, %r1, is a register of 32 bits, want a predicate"},
		{"ld.u32 %r1, [%r2];", ": operand 2, %r2, is a register of 32 bits, want a register of 64 bits or an integer"},
		{"st.shared.u32 [%p1], %r2;", ": operand 1, %p1, is a predicate, want a register of 64 bits or an integer"},
		{".shared .u32 s; mov.u16 %r1, s;",
			"mov.u16 %r1, s: operand 2, s, is a register of 64 bits, want a register of 16 bits or an integer"},
		{".shared .u32 s; mov.u32 s, %r1;", "mov.u32 s, %r1: operand 1, s, is read-only"},
		{"add.u64 %rd1, s, %rd9;", ": operand 2, s, is not declared"},
		{"bra L M;", ": the label is not declared here"},
		{"setp.eq.and.pred %p1, %p2, %p3;", ": not supported, want ALL"},
	} {
		want := expected(c.want)
		if want[0] == ':' {
			want = strings.TrimSuffix(c.line, ";") + want
		}
		_, err := parse("bad.ptx", kernel(c.line), "")
		if err == nil || err.Error() != "bad.ptx:9: "+want {
			t.Errorf("%s\nerror\n%v\nwant\n%s", c.line, err, want)
		}
	}
}

// TestBadFiles checks the errors about files that are wrong as a whole.
func TestBadFiles(t *testing.T) {
	const insert = declarations + "bfi.b32 %r1, %r2, %r3, 0, 8;\nret;\n}\n"
	for _, c := range []struct{ source, want string }{
		{"", "1: end of file: the file has the kernels [], want one kernel, or -entry"},
		{header, "4: end of file: the file has the kernels [], want one kernel, or -entry"},
		{declarations, "1: .entry k(.param .u64 out, .param .u64 in, .param .u32 n): .version and .target must come first"},
		{".version 1.4\n.target sm_75\n" + insert, "1: .version 1.4: want 2.0 or later, because bfi came with 2.0"},
		{".version 2.0\n.target sm_13\n" + insert,
			"2: .target sm_13: want sm_20 or later, because bfi came with sm_20, and options of PTX"},
		{".version 6\n", "1: .version 6: want 2.0 or later, because bfi came with 2.0"},
		{".version 6.3x\n", "1: .version 6.3x: want 2.0 or later, because bfi came with 2.0"},
		{".version 6.3\n.target compute_75\n",
			"2: .target compute_75: want sm_20 or later, because bfi came with sm_20, and options of PTX"},
		{".version 6.3\n.target sm_75, texmode_other\n",
			"2: .target sm_75, texmode_other: want sm_20 or later, because bfi came with sm_20, and options of PTX"},
		{".version 6.3\n.target sm_75\n.address_size 32\n", "3: .address_size 32: want 64"},
		{header + ".entry 5()\n", "4: .entry 5(): not supported, want DIRECTIVE"},
		{header + ".entry k\n", "4: .entry k: not supported, want DIRECTIVE"},
		{header + ".entry k(.param .f32 x)\n{\nret;\n}\n",
			"4: .entry k(.param .f32 x): \".param .f32 x\" is not supported, want .param, an integer type and a name"},
		{header + ".entry k(.param .u32 x,\n.param .u32 x)\n{\nret;\n}\n",
			"4: .entry k(.param .u32 x, .param .u32 x): [x] is declared twice"},
		{header + ".entry k(.u32 x)\n{\nret;\n}\n",
			"4: .entry k(.u32 x): \".u32 x\" is not supported, want .param, an integer type and a name"},
		{header + ".entry k(.param .align 4 .b8 x[3])\n{\nret;\n}\n",
			"4: .entry k(.param .align 4 .b8 x[3]): \".param .align 4 .b8 x[3]\" is not supported, " +
				"want .param, an integer type and a name"},
		{header + ".entry k()\n{\nret;\n", "7: end of file: the kernel k is not terminated: ; or } is missing"},
		{header + ".entry k()\n{\n{\nret;\n}\n", "9: end of file: the kernel k is not terminated: ; or } is missing"},
		{header + ".entry k()\n{\nret\n}\n", "6: ret }: not supported, want STATEMENT"},
		{header + ".entry k()\n{\n}\n", "6: : the kernel can run past its end: its last instruction is not ret, exit or bra"},
		{header + ".entry k()\n{\n.reg .b32 r;\nmov.u32 r, 1;\n}\n",
			"8: : the kernel can run past its end: its last instruction is not ret, exit or bra"},
		{header + ".entry k()\n{\n.reg .pred p;\n@p ret;\n}\n",
			"8: : the kernel can run past its end: its last instruction is not ret, exit or bra"},
		{header + ".entry k()\n{\nbra END;\nret;\nEND:\n}\n", "6: bra END: the label has no instruction after it"},
		{header + ".entry k()\n{\nret;\n}\n}\n", "8: : not supported, want DIRECTIVE"},
		{insert, "1: .entry k(.param .u64 out, .param .u64 in, .param .u32 n): .version and .target must come first"},
		{header + insert + insert,
			"12: .entry k(.param .u64 out, .param .u64 in, .param .u32 n): the kernel is declared twice"},
		{header + ".func f()\n{\n", "4: .func f(): } is missing"},
		{header + ".const .b8 table[2] = {1, 2\n", "4: .const .b8 table[2] =: } is missing"},
		{header + ".section .debug {\n", "4: .section .debug: } is missing"},
		{header + ".tex .u32 t;\n", "4: .tex .u32 t: not supported, want DIRECTIVE"},
		{header + ".entry k()\n{\n.maxnreg 5;\nret;\n}\n", "6: .maxnreg 5: not supported, want STATEMENT"},
		{header + "\x00\n", "4: \x00: not supported, want DIRECTIVE"},
		{header + "\"open\n", "4: \"open: not supported, want DIRECTIVE"},
		{header + ".entry k()\n{\n" + strings.Repeat("{", 200), "6: : blocks are nested more than 100 deep"},
	} {
		_, err := parse("bad.ptx", c.source, "")
		if want := expected(c.want); err == nil || err.Error() != "bad.ptx:"+want {
			t.Errorf("%s\nerror\n%v\nwant\n%s", c.source, err, want)
		}
	}
}

// TestModule declares functions and variables outside the kernel. A kernel that uses one is
// refused, and the error has its name. Any other kernel parses.
func TestModule(t *testing.T) {
	for _, c := range []struct{ declaration, use, want string }{
		{".func f()\n{\nL: .reg .b32 %r<5>;\n{ bra L; }\nret;\n}\n", "mov.u64 %rd1, f;", "f, is .func"},
		{".visible .func (.param .b32 r) f (.param .b32 a, .param .b64 b)\n{\nret;\n}\n",
			"mov.u64 %rd1, f;", "f, is .visible .func"},
		{".extern .func (.param .b32 r) vprintf (.param .b64 a)\n;\n", "mov.u64 %rd1, vprintf;", "vprintf, is .extern .func"},
		{".const .align 4 .b8 table[4] = {1, 2, 3, 4};\n", "ld.u8 %r1, [table+1];", "table, is .const"},
		{".const .u32 a = 1;\n", "ld.u32 %r1, [a];", "a, is .const"},
		{".global .u32 x;\n", "mov.u64 %rd1, x;", "x, is .global"},
		{".visible .global .align 8 .b8 x[2][3];\n", "mov.u64 %rd1, x;", "x, is .visible .global"},
		{".global .u32 x, y;\n", "mov.u64 %rd1, y;", "y, is .global"},
		{".extern .shared .align 16 .b8 s[];\n", "mov.u32 %r1, s;", "s, is .extern .shared"},
		{".extern .shared .align 16 .b8 s[];\n", "st.shared.u32 [s+4], 1;", "s, is .extern .shared"},
	} {
		if _, err := parse("good.ptx", header+c.declaration+declarations+"ret;\n}\n", ""); err != nil {
			t.Errorf("%s\n%v", c.declaration, err)
		}
		_, err := parse("bad.ptx", header+c.declaration+declarations+c.use+"\nret;\n}\n", "")
		if err == nil || !strings.HasSuffix(err.Error(), c.want+", which is not supported") {
			t.Errorf("%s\nerror\n%v\nwant\n%s, which is not supported", c.use, err, c.want)
		}
	}
}

// TestAccepted parses files that barely differ from bad files. It also parses statements that
// the emulator ignores.
func TestAccepted(t *testing.T) {
	const insert = declarations + "bfi.b32 %r1, %r2, %r3, 0, 8;\nret;\n}\n"
	const section = ".section .debug_info\n{\n.b32 12, 34\n.b8 1 // abbreviation\n{ .b8 0 }\n}\n"
	for _, source := range []string{
		".version 2.0\n.target sm_20\n.address_size 64\n" + insert,
		".version 8.7\n.target sm_90a\n" + insert,
		".version 8.7\n.target sm_100f, debug\n" + insert + section,
		".version 4.0\n.target sm_35, texmode_independent\n" + insert,
		".version 4.0\n.target sm_35, map_f64_to_f32 , debug\n" + insert,
		header + ".file\t1 \"file.c\", 123, 45\n" + insert,
		header + ".visible .entry k(.param .u64 .ptr .global .align 4 p, .param .u64 .ptr .align 1 q)\n{\nexit;\n}\n",
		header + ".weak .entry k\n{\nL: bra L;\n}\n",
		header + ".entry k()\n.maxntid 256, 1, 1\n.reqntid 32\n.minnctapersm 4\n{\nret.uni;\n}\n",
		kernel(".pragma \"nounroll\";\n.loc 1 4 0\nA:\n.loc\t1 2 3, function_name B, inlined_at 1 2 3\nC: D: bra.uni D;"),
		kernel("ld.volatile.global.ca.u32 %r1, [%rd1+ -4]; st.wb.u8 [%rd1], %r1; cvta.to.global.u64 %rd1, %rd2;"),
		kernel("{ { bra OUT; } OUT: ret; }"),
	} {
		if _, err := parse("good.ptx", source, ""); err != nil {
			t.Errorf("%v\n%s", err, source)
		}
	}
}

// FuzzParse parses any file, and runs it if it parses.
func FuzzParse(f *testing.F) {
	f.Add(pixelPTX)
	f.Add(header + ".file 1 \"x\"\n.section .s { .b8 1 }\n.shared .align 4 .b8 s[8];\n" + declarations +
		".local .u64 l; .reg .b16 a, b; L: @!%p1 setp.lt.and.s32 %p1|_, %r1, -3, !%p2;\n" +
		"st.v2.u32 [s], {%r1, 0}; ld.local.u8 %r2, [l+1]; mov.b32 {a, b}, %r2; " +
		"lop3.b32 %r1, %r2, %r3, %r4, 0x1e; @%p2 bra L; ret; }")
	f.Add(kernel("prmt.b32.f4e %r1, %r2, %r3, 1; fns.b32 %r1, %r2, %r3, -1; " +
		"mad.wide.s32 %rd1, %r1, %r2, %rd3; bfe.s64 %rd1, %rd2, %r1, 7;"))
	f.Fuzz(func(t *testing.T, source string) {
		p, err := parse("fuzz.ptx", source, "")
		if err != nil {
			if strings.Contains(strings.ReplaceAll(err.Error(), source, ""), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		const threads = 40
		p.limit = 1000
		args, err := parseArguments(p, nil, threads)
		if err != nil {
			t.Fatal(err)
		}
		p.launch(threads, args)
	})
}

// TestCut parses the built-in kernel's first bytes, up to every 7th. No such part may parse.
func TestCut(t *testing.T) {
	end := strings.LastIndex(pixelPTX, "}")
	for size := 0; size < end; size += 7 {
		if _, err := parse("cut.ptx", pixelPTX[:size], ""); err == nil {
			t.Fatalf("the first %d bytes pass", size)
		}
	}
}
