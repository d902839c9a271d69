package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gobfi/bfi/gen/proof"
)

func requireZ3(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("z3"); err != nil {
		if strings.Contains(os.Getenv("BFI_TEST_REQUIRE"), "z3") {
			t.Fatalf("BFI_TEST_REQUIRE asks for z3: %v", err)
		}
		t.Skipf("nothing is proved: %v", err)
	}
}

// proveChanged proves a function after one change of its text. from matches a line that
// has a single space between words. The symbol may end in a slash and the bits of dst, to
// prove only that one of the function's specifications, because others take longer.
func proveChanged(t *testing.T, symbol, from, to string) (string, error) {
	t.Helper()
	files, list := checkedIn(t)
	symbol, bits, one := strings.Cut(symbol, "/")
	list = slices.DeleteFunc(list, func(k proof.Kernel) bool {
		return one && k.Symbol == symbol && strconv.Itoa(k.Spec.Bits) != bits
	})
	changed := false
	for i, f := range files {
		text := regexp.MustCompile(`[ \t]+`).ReplaceAllString(strings.ReplaceAll(f.Text, "\n\t", "\n"), " ")
		start := strings.Index(text, "TEXT ·"+symbol+"(SB)")
		if start < 0 {
			continue
		}
		pattern := regexp.MustCompile(`(?m)^(?:` + from + `)$`)
		at := pattern.FindStringSubmatchIndex(text[start:])
		if at == nil {
			t.Fatalf("no %s in %s", from, symbol)
		}
		text, body := text[:start], text[start:]
		wrong := pattern.ExpandString(nil, to, body, at)
		files[i].Text = text + body[:at[0]] + string(wrong) + body[at[1]:]
		changed = true
	}
	if !changed {
		t.Fatalf("no %s in the assembly", symbol)
	}
	var out bytes.Buffer
	err := proof.Prove(&out, files, list, regexp.MustCompile(`^`+symbol+`$`).MatchString, "")
	return out.String(), err
}

// TestProofRefutes checks that the proof refutes wrong code, for the right reason and at
// the right place.
func TestProofRefutes(t *testing.T) {
	requireZ3(t)
	for _, c := range []struct {
		name, symbol, from, to, want string
	}{
		{"right", "insertEach64NEON", `VBIT (.*)`, `VBIT $1`, ""},
		// Wrong results.
		{"operands swapped", "insertEach32AVX2", `VPSRLVD (\w+), (\w+), (.*)`, `VPSRLVD $2, $1, $3`,
			`want = 0x\w+, have = 0x\w+, by bfi`},
		{"ternary immediate", "insertEach32AVX512", `VPTERNLOGD \$0x12, (.*)`, `VPTERNLOGD $$0x1a, $1`, `want = .*, by bfi`},
		{"displacement of 64 made 0", "insertEach32AVX2", `(VPSRLVD.*\n(?:.*\n)*?VPXOR) 64\((.*)`, `$1 0($2`, `by bfi`},
		{"mask and source exchanged", "insertEach32NEON", `VBIT (\S+), (\S+), (.*)`, `VBIT $2, $1, $3`, `by bfi`},
		{"lane mask a lane long", "insertEach32AVX512", `BZHIQ (\w+), (\w+), (\w+)`, `BZHIQ $1, $2, $3; STC; ADCQ $3, $3`,
			`by bfi|access to bytes`},
		{"WORD by its bits, not its comment", "extractEachSigned32NEON", `WORD \$0x4e(\w+) // sshl (.*)`,
			`WORD $$0x6e$1 // sshl $2`, `by bfe`},
		{"lanes of another width", "extractEachUnsigned32NEON", `WORD \$0x6ea(.*)`, `WORD $$0x6ee$1`, `by bfe`},
		// Memory.
		{"tail past the end", "insertEach32AVX2", `LEAQ -8\((\w+)\), (\w+)`, `LEAQ -7($1), $2`,
			`bfi_amd64.s:\d+: .*access to bytes .* of \w+, which has`},
		{"store dropped", "insertEach32NEON", `FSTPQ .*`, ``, `writes the bytes .* of dst, want`},
		{"store to a source", "insertEach32NEON", `FSTPQ (.*), \(R0\)`, `FSTPQ $1, (R1)`, `writes src, want only dst`},
		{"unaligned streaming", "insertEach32AVX512", `ANDQ \$0x3f, (.*)`, `ANDQ $$0x1f, $1`, `VMOVNTDQ .*no multiple of 64`},
		{"store before the load", "insertWarp32AVX2", `(VMOVDQU Y\d+, \(AX\))(\n(?:.*\n)*?)(VZEROUPPER)`,
			"$2$3", `by bfi|want`},
		{"last lane's sign", "pack64NEON", `(tile1:\n(?:.*\n)*?)VCMTST (.*)`, `${1}VCMEQ $2`, `by sign`},
		{"zeros lost after a column", "pack32NEON", `(tile1:\n(?:.*\n)*?add1_4:\n(?:.*\n)*?VBIT .*)`,
			"$1\nVMOVI $$255, V0.B16", `column \d is not packed as it would be alone`},
		{"shift's sign ignored", "pack8AVX2", `JLT right\d+`, ``, `by move`},
		{"sign below the highest bit", "unpack64AVX512/8", `NOTQ .*`, ``, `by put`},
		{"packs swapped", "unpack16AVX2/8", `(VPACK\w+) (Y\d+), (Y\d+), (.*)`, `$1 $3, $2, $4`, `by put`},
		{"part of a byte gathered", "unpack32AVX512/16", `JNZ shifted\d+\nSHRL (.*)`, `SHRL $1`, `by put`},
		{"second column's field", "unpack32AVX2", `ADDQ \$0x20, (.*)\nDECQ (.*)`, "ADDQ $$0x10, $1\nDECQ $2", `of fields`},
		{"masked store not masked", "insertEachMasked32AVX512", `VMOVDQU32 (Z\d+), K\d, (.*)`, `VMOVDQU32 $1, $2`,
			`byte 0 of dst is another than if the jump is taken`},
		{"inactive lanes rewritten", "insertEachMasked32AVX512", `(VMOVDQU32 (Z\d+), K\d, (.*))`,
			`$1; VMOVDQU32 $3, $2; VMOVDQU32 $2, $3`, `whether they are active or not`},
		// Jumps over lanes that are not active.
		{"skips if lane 0 is active", "insertMasked32AVX512", `TESTQ (\w+), (\w+)\nJZ (inactive\d+)`,
			"SHRQ $$1, $1; TESTQ $1, $2\nJZ $3", `accesses src whether or not one of the lanes is active`},
		{"skips if lane 40 is active", "fillMasked16AVX2", `TESTQ (\w+), (\w+)\nJZ (inactive\d+)`, "TESTL $1, $2\nJZ $3",
			`accesses base whether or not`},
		{"skips if a lane of the rest is active", "fillMasked8AVX2", `TESTL \$0x0000000f, (\w+)`,
			`TESTL $$0x0000000e, $1`, `accesses base whether or not`},
		{"skips by the next lanes' bits", "extractMasked64AVX2", `MOVWLZX \((\w+)\), (\w+)\nTESTQ (.*)`,
			"MOVWLZX 2($1), $2\nTESTQ $3", `access to bytes .* of active|accesses src whether or not`},
		{"skips the second group by the first's bits",
			"fillMasked16AVX512", `MOVQ 8\((\w+)\), (\w+)\nTESTQ (.*)`, "MOVQ ($1), $2\nTESTQ $3",
			`accesses base whether or not`},
		{"second vector stored by the first's bits", "fillMasked32AVX512", `SHRQ \$0x10, (.*)`, ``, `by bfi`},
		{"skips if lanes are active", "selectMasked64AVX512", `JZ inactive(\d+)`, `JNZ inactive$1`,
			`where no lane is active: accesses mask whether or not`},
		{"always skips", "selectMasked64AVX512", `JZ inactive(\d+)`, `JMP inactive$1`,
			`want = .*, by v_bfi|no length executes`},
		{"never skips", "extractEachMaskedSigned8AVX512", `JZ inactive\d+`, ``, `accesses \w+ whether or not`},
		{"never skips the rest", "insertMasked8AVX512", `(JZ return\n(?:.*\n)*?)JZ return`, `$1`,
			`accesses src whether or not`},
		{"skips a store only", "insertMasked32AVX2", `(JZ (inactive\d+)\n(?:.*\n)*?)(VMOVDQU Y\d+, \(AX\).*)`,
			"${1}JMP $2\n$3", `by bfi|no length`},
		{"skips and stays", "fillMasked32AVX2", `(group\d+):\n((?:.*\n)*?)JZ inactive\d+`,
			"$1:\n${2}JZ $1", `the ways of a jump by the mask do not meet`},
		{"skips too far", "insertMasked32NEON", `(inactive:\n(?:.*\n)*?)ADD \$256, (.*)`, `${1}ADD $$260, $2`,
			`is undefined`},
		{"skips an operand too few", "selectMasked8NEON", `(inactive:\n(?:.*\n)*?)ADD \$64, .*`, `$1`, `is undefined`},
		{"skips past the end", "fillMasked64NEON", `(inactive:\n(?:.*\n)*?)CBNZ (\w+), word`,
			`${1}B word`, `the ways of a jump by the mask do not meet`},
		{"skips and stores", "fillMasked8NEON", `(inactive:)`, "$1\nMOVB R0, (R0)",
			`where no lane is active: stores, want dst left as it was`},
		{"data decides", "insertMasked32AVX512", `JZ (inactive\d+)`, "JZ $1\nMOVL (CX)(DI*4), R8; TESTL R8, R8; JZ $1",
			`data decides`},
		{"chunks not moved up", "gatherBitsBMI2", `SHLXQ .*`, ``, `is not the bit that gather says`},
		{"odd chunk with all fields", "gatherBitsBMI2", `PEXTQ last\+64\(FP\), (.*)`, `PEXTQ fields+56(FP), $1`,
			`is not the bit`},
		{"sign not copied", "scatterBitsBMI2", `IMULQ .*`, ``, `is not the bit that scatter says`},
		{"written between groups", "scatterBitsBMI2", `MOVW (\w+), (.*)`, `MOVL $1, $2`,
			`is written, between groups|access to bytes`},
		{"bits of another value", "scatterOnesAVX2", `VPAND (Y\d+), (Y\d+), (Y\d+)\nVMOVDQU (.*)`,
			`VMOVDQU $4`, `is not the bit that scatter says`},
		{"shifts taken for data", "scatterBytesAVX512", `VPMULTISHIFTQB (Z\d+), (Z\d+), (.*)`,
			`VPMULTISHIFTQB $2, $1, $3`, `operands`},
		{"whole vectors after the steps", "scatterBytesAVX512", `VMOVDQU8 (Z\d+), K\d, (.*)`, `VMOVDQU64 $1, $2`,
			`access to bytes`},
		{"fields merged from the wrong side", "gatherBytesAVX512", `VPTERNLOGQ \$0xca, (Z\d+), (Z\d+), (.*)`,
			`VPTERNLOGQ $$0xca, $2, $1, $3`, `is not the bit that gather says`},
		{"halves of a pair of groups exchanged", "permuteAVX2",
			`(VMOVDQU) \((\w+)\), (X\d+)\n(VINSERTI128 \$0x01,) \((\w+)\)\((\w+)\*1\)(.*)`,
			"$1 ($2)($6*1), $3\n$4 ($5)$7", `byte \d+ of group \d+ is wrong`},
		{"short groups stored as if they were long",
			"permuteAVX2", `JNE short\d+`, ``, `access to bytes|is wrong|is not written`},
		{"bytes of the second move alone", "permuteAVX2", `VPOR (X\d+), (X\d+), (X\d+)`, `VMOVDQU $1, $3`, `is wrong`},
		{"pairs added in another order", "gatherOnesNEON", `VADDP (V3.B16), (V2.B16), (.*)`, `VADDP $2, $1, $3`,
			`is not the bit that gather says`},
		{"value of another bit", "scatterOnesNEON", `VTBL V3(.*)`, `VTBL V4$1`, `is not the bit that scatter says`},
		// Steps.
		{"another source's advance", "permuteNEON", `MOVD 24\((R\d+)\), (R\d+)`, `MOVD 8($1), $2`,
			`byte \d+ of step \d+ is wrong|access to bytes`},
		{"vectors of a table in another order", "permuteNEON", `VTBL (.*), \[(V\d+.B16), (V\d+.B16)\], (.*)`,
			`VTBL $1, [$3, $2], $4`, `operands`},
		{"table too short", "permuteNEON", `VTBL (.*), \[(V\d+.B16), (V\d+.B16)\], (.*)`,
			`VTBL $1, [$2], $4`, `byte \d+ of step \d+ is wrong`},
		{"step moves on by a vector", "permuteNEON", `ADD R5, R0`, `ADD $$16, R0`,
			`byte \d+ of step \d+ is wrong|access to bytes`},
		{"turns without a store", "permuteNEON", `FMOVQ (F\d+), \(R0\)`, ``,
			`byte \d+ of step \d+ is wrong|nothing is known|written`},
		{"constant taken for a source that moves on",
			"permuteNEON", `CBNZ R\d+, side2_1`, ``, `byte \d+ of step \d+ is wrong`},
		{"steps taken for adjacent ones", "permuteNEON", `BNE side1_1`, ``, `byte \d+ of step \d+ is wrong|access to bytes`},
		{"loads after a store", "permuteNEON", `FLDPQ \((R8)\), (.*)`, `FMOVQ F0, (R0); FLDPQ ($1), $2`,
			`byte \d+ of step \d+ is wrong`},
		// The calling convention.
		{"no VZEROUPPER", "insertEach32AVX2", `VZEROUPPER`, ``, `RET: no VZEROUPPER`},
		{"no SFENCE", "insertEach32AVX2", `SFENCE`, ``, `RET: no SFENCE`},
		{"goroutine's register", "insertEach32AVX2", `XORL (\w+), (\w+)`, `XORL $1, $2; MOVQ $1, R14`,
			`writes R14: it is the goroutine's`},
		{"compiled code's zero", "insertEach32AVX2", `VPSRLVD (\w+), (\w+), (.*)`, `VPSRLVD $1, $2, $3; VMOVDQU $3, Y15`,
			`uses X15`},
		{"platform's register", "insertEach32NEON", `MOVD dst\+0\(FP\), R0`, `MOVD dst+0(FP), R18`, `writes R18`},
		{"argument of another offset", "insertEach32AVX2", `MOVQ src\+8\(FP\), (.*)`, `MOVQ src+16(FP), $1`,
			`reads 8 bytes at 16, want the 8 of src at 8`},
		{"argument too wide", "insertWarp32AVX2", `MOVL active\+40\(FP\), (.*)`, `MOVQ active+40(FP), $1`,
			`reads 8 bytes at 40, want the 4 of active`},
		{"arguments swapped", "insertEach32AVX2", `MOVQ src\+8(.*)\nMOVQ base\+16(.*)`, "MOVQ base+8$1\nMOVQ src+16$2",
			`reads 8 bytes at 8, want the 8 of base at 16`},
		{"instruction of another level", "insertEach32AVX2", `VPCMPEQD (.*)`, `VPTERNLOGD $$0xff, $1`, `needs AVX512F`},
		{"register of another level", "insertEach32AVX2", `VPCMPEQD (.*), \w+`, `VPCMPEQD $1, Y17`, `needs AVX512F`},
		{"undefined register", "insertEach32AVX2", `MOVQ base\+16\(FP\), (.*)`, ``, `is undefined`},
		{"undefined flag", "insertEach32AVX2", `CMPQ .*`, ``, `depends on a flag that is undefined`},
		// Control flow.
		{"turns that move on unevenly", "insertEach32NEON", `ADD \$64, R1`, `ADD $$60, R1`, `different expressions|by bfi`},
		{"endless loop", "insertEach32AVX2", `SUBQ \$0x20, (\w+)\nJAE (vectors.*)`, "CMPQ AX, AX\nJAE $2",
			`access to|still running`},
		{"a length of its own", "insertEach32AVX2", `(CMPQ (\w+), \$0x08\nJB (short\w+))`, "CMPQ $2, $$0xbb9\nJZ $3\n$1",
			`n = 3001`},
		{"a length of its own, NEON", "insertEach32NEON", `(CMP \$\d+, (R\d+)\nBLT (short\w*))`,
			"CMP $$3001, $2\nBEQ $3\n$1", `n = 3001`},
		{"long slices taken for short ones", "insertEach32AVX2", `(CMPQ (\w+), \$0x08\nJB (short\w+))`,
			"CMPQ $2, $$0x1000\nJAE $3\n$1", `n = 4096`},
		{"length cut", "insertEach32AVX2", `MOVQ n\+40\(FP\), (\w+)`, "MOVQ n+40(FP), $1\nANDQ $$0x1fff, $1", `n = 8192`},
		{"constant packed", "pack8AVX512", `CMPQ (\w+), \$0x08\nJAE added\d+`, ``, `access to|is undefined|column 0`},
		{"threshold of constants", "pack8AVX512", `CMPQ (\w+), \$0x08\nJAE (added\d+)`, "CMPQ $1, $$0x09\nJAE $2",
			`access to`},
		{"count of columns cut", "pack8AVX512", `MOVQ k\+24\(FP\), (\w+)`, "MOVQ k+24(FP), $1\nANDQ $$3, $1",
			`column \d+ is not packed as it would be alone`},
		{"no columns not looked for", "unpack32AVX2", `TESTQ \w+, \w+\nJZ field1Last`, ``, `of fields|still running`},
		{"first lanes forgotten", "pack32AVX512/32", `LEAQ \(AX\)\(BX\*4\), (\w+)`, `MOVQ AX, $1`, `no multiple of 64`},
		{"a way that no length goes", "insertEach64NEON", `(CMP \$\d+, (R\d+)\nBLT (short\w*))`,
			"CMP $$8193, $2\nBGE $3\n$1", `wrong: BGE short\w* never jumps`},
		{"code that nothing reaches", "insertEach64NEON", `RET`, "RET\nADD $$1, R0", `no length executes it`},
		{"unknown instruction", "insertEach32AVX2", `VPSRLVD (.*)`, `VPMULLD $1`,
			`bfi_amd64.s:\d+: the proof does not know what "VPMULLD" computes`},
		{"addresses compared", "insertEach32AVX2", `CMPQ .*`, `CMPQ AX, CX`, `something depends on the address of src`},
		{"addresses compared the other way", "insertEach32AVX2", `CMPQ .*`, `CMPQ CX, AX`,
			`something depends on the address of src`},
		{"end compared with a start before it", "insertEach32AVX2", `CMPQ (\w+), .*`, `LEAQ -8(AX), R13; CMPQ R13, AX`,
			`wrong: `},
		{"immediate that the assembler extends", "insertEach32AVX512", `ANDQ \$0x3f, (.*)`, `ANDQ $$0xffffffff, $1`,
			`the immediate has more than 31 bits`},
		{"shifted register that would be ignored", "extract32NEON", `NEG (R\d+), (.*)`, `NEG $1<<1, $2`,
			`with a register shifted`},
		{"unknown word", "insertEach32NEON", `WORD \$0x6e(.*)`, `WORD $$0x6f$1`,
			`bfi_arm64.s:\d+: the proof does not know what WORD \$0x6f\w+ computes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := proveChanged(t, c.symbol, c.from, c.to)
			if err != nil {
				out += err.Error()
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s, want it proved", out)
			case c.want == "":
			case err == nil:
				t.Errorf("proved, want it refuted:\n%s", out)
			case !regexp.MustCompile(c.want).MatchString(out):
				t.Errorf("%s, want %s", out, c.want)
			default:
				t.Log(out)
			}
		})
	}
}

// TestProofMissesSituations checks that the proof refuses a kernel if a situation is left
// out. Without it some jump goes only one way.
func TestProofMissesSituations(t *testing.T) {
	requireZ3(t)
	files, list := checkedIn(t)
	const symbol = "selectBitsNEON"
	for _, c := range []struct {
		most int
		want string
	}{
		{14, `wrong: BGE many never jumps`}, // the loop has one turn at most
		{64, ""},
	} {
		for i := range list {
			if list[i].Symbol == symbol {
				list[i].Most = c.most
			}
		}
		err := proof.Prove(new(bytes.Buffer), files, list, regexp.MustCompile(`^`+symbol+`$`).MatchString, "")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("up to %d lanes: %v, want it proved", c.most, err)
		case c.want != "" && (err == nil || !regexp.MustCompile(c.want).MatchString(err.Error())):
			t.Errorf("up to %d lanes: %v, want %s", c.most, err, c.want)
		}
	}
}

func TestProofNeedsTable(t *testing.T) {
	files, list := checkedIn(t)
	none := func(string) bool { return false }
	err := proof.Prove(new(bytes.Buffer), files, list[1:], none, "")
	want := "TEXT " + list[0].Symbol + " is not in the table of kernels"
	if len(list) > 1 && list[1].Symbol != list[0].Symbol && (err == nil || err.Error() != want) {
		t.Errorf("error %v, want %s", err, want)
	}
	list[0].Symbol = "rotateAVX2"
	err = proof.Prove(new(bytes.Buffer), files, list, func(symbol string) bool { return symbol == "rotateAVX2" }, "")
	if want := "no TEXT of rotateAVX2, which is in the table of kernels"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestLibraryConstants checks that the proof reads the constants that Go calls kernels by.
func TestLibraryConstants(t *testing.T) {
	constants, err := libraryConstants()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"pieceBytes": 64 << 10, "unpackBytes": 4 << 10, "constantKind": 2 * signKind, "signKind": signKind,
	} {
		if n := constants[name]; n != want {
			t.Errorf("%s is %d, want %d", name, n, want)
		}
	}
}

// checkedIn returns the input of the proof: the assembly as it is checked in, and the
// table's specifications of it.
func checkedIn(t *testing.T) ([]proof.File, []proof.Kernel) {
	t.Helper()
	in, err := input()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(in.files), slices.Clone(in.list)
}

// An inputOf is what the proof is given.
type inputOf struct {
	files []proof.File
	list  []proof.Kernel
}

// input reads the input of the proof once, because many tests need it.
var input = sync.OnceValues(func() (in inputOf, err error) {
	if in.files, err = assembly(".."); err == nil {
		in.list, err = specifications()
	}
	return in, err
})
