package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListings executes the listings of testdata/ptxas again.
func TestListings(t *testing.T) {
	dir := filepath.Join("..", "testdata", "ptxas")
	want, err := readZipped(filepath.Join(dir, "executed.gz"))
	if err != nil {
		t.Fatal(err)
	}
	fragments := fieldFragments()
	for _, target := range targets {
		for _, level := range levels {
			if testing.Short() && (target != targets[fullTarget] || level != "-O3") {
				continue
			}
			listing, err := os.ReadFile(filepath.Join(dir, target+level+".sass"))
			if err != nil {
				t.Fatal(err)
			}
			results, err := execute(string(listing), target)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			for i, f := range fragments {
				appendWord(&b, results[i], f.wide)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s%s gives other results than executed.gz has", target, level)
			}
		}
	}
}

// sass returns a kernel k0 that loads its parameter and then executes body.
func sass(body string) string {
	return "k0:\n" + "/*0000*/ LDC.64 R2, c[0x0][0x210] ;\n" + body + "\n/*0100*/ EXIT ;\n"
}

// TestReadConstants checks which stored words are folded results, and which kernels
// readConstants refuses.
func TestReadConstants(t *testing.T) {
	word, pair := []fragment{{"", false}}, []fragment{{"", true}}
	for _, c := range []struct {
		body      string
		fragments []fragment
		want      string // the constants, or a part of the error
	}{
		{"MOV R4, 0x12345678 ;\nSTG.E desc[UR4][R2.64], R4 ;", word, "[{305419896 1}]"},
		{"IMAD.MOV.U32 R4, RZ, RZ, -0x2 ;\nSTG.E desc[UR4][R2.64], R4 ;", word, "[{4294967294 1}]"},
		{"UMOV UR6, 0x7 ;\nIMAD.U32 R4, RZ, RZ, UR6 ;\nSTG.E [R2.64], R4 ;", word, "[{7 1}]"},
		{"STG.E [R2.64], RZ ;", word, "[{0 1}]"},
		{"MOV R4, 0x1 ;\nMOV R5, 0x2 ;\nSTG.E.64 [R2.64], R4 ;", pair, "[{8589934593 1}]"},
		{"MOV.64 R4, -0x2 ;\nSTG.E.64 [R2.64], R4 ;", pair, "[{18446744073709551614 1}]"},
		{"HFMA2.MMA R4, -RZ, RZ, -0.00328826904296875, -444 ; /* 0x9abcdef0ff047435 */\nSTG.E [R2.64], R4 ;",
			word, "[{2596069104 1}]"},
		{"HFMA2 R4, -RZ, RZ, -0.0 , +QNAN ; /* 0x80007fffff047431 */\nSTG.E [R2.64], R4 ;", word, "[{2147516415 1}]"},
		{"HFMA2 R4, -RZ, RZ, 0, +QNAN ; /* 0x00007f01ff047431 */\nSTG.E [R2.64], R4 ;", word, "[{0 0}]"},
		{"HFMA2 R4, -RZ, RZ, 0, 1 ; /* 0x00003c01ff047431 */\nSTG.E [R2.64], R4 ;", word, "[{0 0}]"},
		{"MOV R4, 0x1 ;\nSTG.E [R2.64], R4 ;\nSTG.E [R2.64+0x8], R4 ;", append(word, word...), "[{1 1} {1 1}]"},

		// Not folded.
		{"MOV R4, 0x1 ;\nSHF.L.U32 R4, R4, 0x1, RZ ;\nSTG.E [R2.64], R4 ;", word, "[{0 0}]"},
		{"MOV R4, 0x1 ;\nMOV R5, 0x1 ;\nIMAD.WIDE.U32 R4, R4, R4, RZ ;\nSTG.E.64 [R2.64], R4 ;", pair, "[{0 0}]"},
		{"MOV R4, 0x1 ;\nMOV R5, 0x1 ;\nIMNMX.U64 PT, PT, R4, RZ, 0x10, PT, !PT ;\nSTG.E.64 [R2.64], R4 ;", pair, "[{0 0}]"},
		{"MOV R5, 0x1 ;\nPOPC R4, R4 ;\nSTG.E.64 [R2.64], R4 ;", pair, "[{0 0}]"},
		{"MOV R4, 0x1 ;\n@P0 MOV R4, 0x2 ;\nSTG.E [R2.64], R4 ;", word, "[{0 0}]"},
		{"MOV R4, c[0x0][0x218] ;\nSTG.E [R2.64], R4 ;", word, "[{0 0}]"},
		{"STG.E [R2.64], R9 ;", word, "[{0 0}]"},
		{"MOV R4, 0x1 ;\nBRA `(.L_x_0) ;\nSTG.E [R2.64], R4 ;", word, "[{0 0}]"},

		// Refused.
		{"MOV R4, 0x1 ;", word, "no store to offset 0"},
		{"MOV R4, 0x1 ;\nSTG.E [R2.64], R4 ;", pair, "no store to offset 4"},
		{"MOV R4, 0x1 ;\nSTG.E [R2.64], R4 ;\nSTG.E [R2.64], R4 ;", word, "two stores to offset 0"},
		{"MOV R4, 0x1 ;\nSTG.E [R2.64], R4 ;\nSTG.E [R2.64+0x10], R4 ;", word, "2 words stored, want 1"},
		{"MOV R4, 0x1 ;\nSTG.E [R4.64], R4 ;", word, "the address is not the kernel's parameter"},
	} {
		functions, err := parseSASS(sass(c.body))
		if err != nil {
			t.Fatal(err)
		}
		results, err := readConstants(functions["k0"], c.fragments, "sm_90")
		have := fmt.Sprint(results)
		if err != nil {
			have = err.Error()
		}
		if err == nil && have != c.want || err != nil && !strings.Contains(have, c.want) {
			t.Errorf("%s\ngives %s, want %s", c.body, have, c.want)
		}
	}
	functions, err := parseSASS(sass("@!P0 MOV R4, 0x1 ;\nHFMA2 R4, -RZ, RZ, -0.0 , 1 ; /* 0x80003c00ff047431 */"))
	want := "k0:\n\tLDC.64 R2, c[0x0][0x210];\n\t@!P0 MOV R4, 0x1;\n\tHFMA2 R4, -RZ, RZ, -0.0, 1;\n\tEXIT;\n"
	if have := printSASS([]string{"k0"}, functions); err != nil || have != want {
		t.Errorf("printSASS returns %q, %v, want %q", have, err, want)
	}
	for _, text := range []string{"k0:\nMOV R4, 0x1 ;\n", sass("@P0 EXIT ;")} {
		if _, err := parseSASS(text); err == nil {
			t.Errorf("parseSASS(%q) returns no error", text)
		}
	}
}

// TestMeanings executes instructions at the limits of their operands, and checks that
// others have no meaning.
func TestMeanings(t *testing.T) {
	const setup = "MOV R10, 0x89abcdef ;\nMOV R11, 0x81234567 ;\n"
	for body, want := range map[string]uint64{
		"SHF.L.U32 R4, R10, 0x4, RZ ;":                                     0x9abcdef0,
		"SHF.L.U32 R4, R10, 0x20, RZ ;":                                    0,
		"SHF.L.U32 R4, R10, 0xffffffff, RZ ;":                              0,
		"SHF.L.U64.HI R4, R10, 0x4, R11 ;":                                 0x12345678,
		"SHF.L.U64.HI R4, R10, 0x20, R11 ;":                                0x89abcdef,
		"SHF.L.U64.HI R4, R10, 0x40, R11 ;":                                0,
		"SHF.R.U64 R4, R10, 0x4, R11 ;":                                    0x789abcde,
		"SHF.R.U64 R4, R10, 0x3f, R11 ;":                                   1,
		"SHF.R.U64 R4, R10, 0x40, R11 ;":                                   0,
		"SHF.R.S64 R4, R10, 0x41, R11 ;":                                   0xffffffff,
		"SHF.R.S64 R4, R10, 0x20, R11 ;":                                   0x81234567,
		"SHF.R.S32.HI R4, RZ, 0x4, R11 ;":                                  0xf8123456,
		"SHF.R.S32.HI R4, RZ, 0x100, R11 ;":                                0xffffffff,
		"SHF.R.U32.HI R4, RZ, 0x20, R11 ;":                                 0,
		"USHF.R.U32.HI UR6, URZ, 0x1, R11 ;\nMOV R4, UR6 ;":                0x4091a2b3,
		"BMSK.W R4, 0x24, 0x28 ;":                                          0xff0,
		"SGXT.W R4, R10, 0x28 ;":                                           0xffffffef,
		"SGXT.W.U32 R4, R10, 0x20 ;":                                       0,
		"PRMT.F4E R4, R10, 0x1, R11 ;":                                     0x6789abcd,
		"PRMT.B4E R4, R10, 0x1, R11 ;":                                     0x2381efcd,
		"PRMT.RC8 R4, R10, 0x2, R11 ;":                                     0xabababab,
		"PRMT.ECL R4, R10, 0x2, R11 ;":                                     0x89ababab,
		"PRMT.ECR R4, R10, 0x2, R11 ;":                                     0xababcdef,
		"PRMT.RC16 R4, R10, 0x1, R11 ;":                                    0x89ab89ab,
		"BMSK R4, 0x4, 0x8 ;":                                              0xff0,
		"BMSK R4, 0x1c, 0x8 ;":                                             0xf0000000,
		"BMSK R4, 0x0, 0xff ;":                                             0xffffffff,
		"BMSK R4, 0x20, 0x8 ;":                                             0,
		"SGXT R4, R10, 0x8 ;":                                              0xffffffef,
		"SGXT R4, R10, 0x0 ;":                                              0,
		"SGXT R4, R10, 0xff ;":                                             0x89abcdef,
		"SGXT.U32 R4, R10, 0x8 ;":                                          0xef,
		"LOP3.LUT R4, R10, 0xffff, R11, 0xe2, !PT ;":                       0x8123cdef,
		"PRMT R4, R10, 0x7604, R11 ;":                                      0x8123ef67,
		"PRMT R4, RZ, 0x5, R11 ;":                                          0x45,
		"PRMT R4, R10, 0xb, R11 ;":                                         0xefefefff,
		"IADD3 R4, R10, -0x1, RZ ;":                                        0x89abcdee,
		"IADD3 R4, -R10, 0x1, RZ ;":                                        0x76543212,
		"IADD3 R5, P0, R10, R10, RZ ;\nIADD3.X R4, RZ, RZ, RZ, P0, !PT ;":  1,
		"IADD3 R5, P0, R10, 0x1, RZ ;\nIADD3.X R4, RZ, 0x5, RZ, P0, !PT ;": 5,
		"UIADD3 UR5, UP0, UPT, R10, R10, URZ ;\n" +
			"UIADD3.X UR4, UPT, UPT, URZ, URZ, URZ, UP0, !UPT ;\nMOV R4, UR4 ;": 1,
		"ISETP.NE.U32.AND P0, PT, R10, R11, PT ;\nSEL R4, R10, R11, P0 ;": 0x89abcdef,
		"ISETP.EQ.U32.AND P0, PT, R10, R11, PT ;\nSEL R4, R10, R11, P0 ;": 0x81234567,
		"ISETP.EQ.U32.AND P0, PT, R10, R11, PT ;\n" +
			"ISETP.EQ.U32.AND.EX P0, PT, RZ, RZ, PT, P0 ;\nSEL R4, 0x1, 0x2, P0 ;": 2,
		"ISETP.NE.U32.AND P0, PT, RZ, RZ, PT ;\n" +
			"ISETP.NE.U32.AND.EX P0, PT, R10, RZ, PT, P0 ;\nSEL R4, 0x1, 0x2, P0 ;": 1,
		"ISETP.NE.U64.AND P0, PT, RZ, R10, PT ;\nMOV R4, 0x1 ;\n@!P0 MOV R4, 0x2 ;": 1,
	} {
		functions, err := parseSASS(sass(setup + body + "\nSTG.E [R2.64], R4 ;"))
		if err != nil {
			t.Fatal(err)
		}
		steps, err := compile(functions["k0"])
		if err != nil {
			t.Error(err)
			continue
		}
		m := machine{base: parameters("sm_90"), constants: map[int]uint32{}}
		if err := m.run(steps); err != nil {
			t.Error(err)
			continue
		}
		if have := uint64(m.stores[0].words[0].bits); have != want {
			t.Errorf("%s\nR4 is %#x, want %#x", body, have, want)
		}
	}
	for _, body := range []string{
		"SHF.L.W.U32 R4, R10, 0x4, RZ ;", "BMSK.X R4, R10, R10 ;", "PRMT.XYZ R4, R10, R10, R10 ;",
		"LOP3.LUT P0, R4, R10, R10, R10, 0xe2, !PT ;",
		"IADD3 R4, P0, -R10, 0x1, RZ ;", "IADD3 R4, P0, P1, R10, R10, R10 ;", "FADD R4, R10, R10 ;",
		"HFMA2 R4, R10, R10, 0, 0 ;",
		"ISETP.LT.U32.AND P0, PT, R10, R11, PT ;", "MOV R4, c[0x3][0x10] ;",
	} {
		functions, err := parseSASS(sass(body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compile(functions["k0"]); err == nil {
			t.Errorf("%s has a meaning, want none", body)
		}
	}
}
