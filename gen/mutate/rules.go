package main

import (
	"regexp"
	"strings"
)

// A rule replaces a few right lines of assembly by wrong lines. The patterns match whole
// lines, in which a single space separates words.
type rule struct {
	name     string
	from, to string
	in       string // if not empty, a pattern of the functions that the rule changes
}

// each matches the functions in which every lane has a field of its own.
const each = `Each|insertWarp|extractWarp`

// permutes matches the functions that permute bytes.
const permutes = `^permute`

// general matches the functions on general registers.
const general = `BMI2$`

// amd64Rules are for AVX2 and AVX-512 alike.
var amd64Rules = []rule{
	{name: "left shift goes right", from: `VPSLLV(.*)`, to: `VPSRLV$1`},
	{name: "right shift goes left", from: `VPSRLV(.*)`, to: `VPSLLV$1`},
	{name: "signed shift is unsigned", from: `VPSRAV(.*)`, to: `VPSRLV$1`},
	{name: "shift swaps value and count", from: `(VPS[LR][LA]V[DQ]) ([XYZ]\d+), ([XYZ]\d+), (.*)`, to: `$1 $3, $2, $4`},
	{name: "and-not is and", from: `VPANDN([DQ]?) (.*)`, to: `VPAND$1 $2`},
	{name: "and is or", from: `VPAND([DQ]?) (.*)`, to: `VPOR$1 $2`},
	{name: "or is and", from: `VPOR([DQ]?) (.*)`, to: `VPAND$1 $2`},
	{name: "xor is or", from: `VPXOR([DQ]?) (.*)`, to: `VPOR$1 $2`},
	{name: "operands swapped", from: `(VPANDN[DQ]?|VPSUBUSW|VPCMPGTQ) ([XYZ]\d+), ([XYZ]\d+), (.*)`, to: `$1 $3, $2, $4`},
	{name: "subtraction adds", from: `VPSUB([BWDQ] .*)`, to: `VPADD$1`},
	{name: "widened with zeros", from: `VPMOVSX(.*)`, to: `VPMOVZX$1`},
	{name: "packs swapped", from: `(VPACK\w+) ([YZ]\d+), ([YZ]\d+), (.*)`, to: `$1 $3, $2, $4`},
	{name: "packs out of order", from: `VPERMD .*`, to: ``},
	{name: "sign not moved", from: `RORQ CL, .*`, to: ``},
	{name: "sign below the highest bit", from: `NOTQ .*`, to: ``},
	{name: "gathered from another byte", from: `SHRL \$0x03, (.*)`, to: `SHRL $$0x02, $1`},
	{name: "part of a byte gathered", from: `JNZ shifted\d+\nSHRL (.*)`, to: `SHRL $1`},
	{name: "source's pointer wrong", from: `MOVQ src\+8\(FP\), (.*)`, to: `MOVQ dst+0(FP), $1`},

	{name: "address off by 4 bytes", from: `(.*[ ,])(\(\w+\)\(\w+\*\d\).*)`, to: `${1}4$2`},
	{name: "address off by a vector", from: `(.* )32(\(.*)`, to: `${1}64$2`},
	{name: "address of the first vector", from: `(.* )(64|96|128)(\(.*)`, to: `${1}0$3`},
	{name: "address of half the scale", from: `(.*)\*8\)(.*)`, to: `$1*4)$2`},
	{name: "address of double the scale", from: `(.*)\*4\)(.*)`, to: `$1*8)$2`},
	{name: "store dropped", from: `VMOV\w+ [XYZ]\d+, (K\d, )?\S*\(\S+`, to: ``},

	{name: "loop steps too far", from: `ADDQ \$0x([124])0, (\w+)\nSUBQ (.*)`, to: "ADDQ $$0x${1}1, $2\nSUBQ $3"},
	{name: "vector loop steps too far", from: `ADDQ \$0x0([48]), (\w+)\nSUBQ (.*)`, to: "ADDQ $$0x1$1, $2\nSUBQ $3"},
	{name: "loop counts too much", from: `SUBQ \$0x([124])0, (\w+)\nJAE (.*)`, to: "SUBQ $$0x${1}1, $2\nJAE $3"},
	{name: "loop's rest not restored", from: `(\w+Done\d+:)\nADDQ .*`, to: "$1\n"},
	{name: "column step wrong", from: `ADDQ \$0x20, (.*)\nDECQ (.*)`, to: "ADDQ $$0x10, $1\nDECQ $2"},
	{name: "jump on the contrary", from: `JB (.*)`, to: `JAE $1`},
	{name: "jump on the contrary", from: `JAE (.*)`, to: `JB $1`},
	{name: "jump on the contrary", from: `JZ (.*)`, to: `JNZ $1`},
	{name: "jump on the contrary", from: `JNZ (.*)`, to: `JZ $1`},
	{name: "skips if a lane is active", from: `TESTQ (\w+), (\w+)\nJZ (inactive\d+)`,
		to: "SHRQ $$1, $1; TESTQ $1, $2\nJZ $3"},
	{name: "skips by other lanes' bits", from: `(MOV\w+) \((\w+)\), (\w+)\nTESTQ (.*)`, to: "$1 1($2), $3\nTESTQ $4"},
	{name: "always skips", from: `JZ (inactive\d+)`, to: `JMP $1`},
	{name: "never skips", from: `JZ inactive\d+`, to: ``},
	{name: "alignment too weak", from: `ANDQ \$0x([13])f, (.*)`, to: `ANDQ $$0x0f, $2`},
	{name: "alignment too strong", from: `ANDQ \$0x([13])f, (.*)`, to: `ANDQ $$0x7f, $2`},
	{name: "alignment of the end", from: `NEGQ .*`, to: ``},
	{name: "alignment of wrong lanes", from: `SHRQ \$0x0[23], (.*)`, to: `SHRQ $$0x01, $1`},
}

var avx2Rules = []rule{
	{name: "skips if a lane of the rest is active", from: `TESTL \$0x0*([0-9a-f]+), (\w+)\nJZ (inactive\d+)`,
		to: "TESTL $$0x${1}0, $2\nJZ $3"},
	{name: "moved the wrong way", from: `NEGQ (\w+)\nCMOVQLT (.*)`, to: "TESTQ $1, $1\nCMOVQLT $2"},
	{name: "right shift goes left", from: `JLT right\d+`, to: ``},
	{name: "short too short, 8 lanes", from: `CMPQ (\w+), \$0x08\nJB (.*)`, to: "CMPQ $1, $$0x07\nJB $2"},
	{name: "short too short, 4 lanes", from: `CMPQ (\w+), \$0x04\nJB (.*)`, to: "CMPQ $1, $$0x03\nJB $2"},
	{name: "jump if equal too", from: `(CMPQ \w+, \$0x0[12])\nJB (.*)`, to: "$1\nJBE $2"},
	{name: "threshold too high", from: `CMPQ (\w+), \$0x(\w+)0\n(.*)`, to: "CMPQ $1, $$0x${2}1\n$3"},
	{name: "last vector a lane late", from: `LEAQ -(8|4|2)\((.*)`, to: `LEAQ 1-$1($2`},
	{name: "& 0xff lost, of words", from: `VPAND (.*), [XY]0, ([XY]\d+)`, to: `VMOVDQU $1, $2`, in: each},
	{name: "narrowed by another table", from: `VPSHUFB narrow32To8(.*)`, to: `VPSHUFB narrow32To16$1`},
	{name: "wrong half", from: `VEXTRACTI128 \$0x01, (.*)`, to: `VEXTRACTI128 $$0x00, $1`},
	{name: "lane bit of another lane", from: `(DATA .*, \$0x0*)[24](0*)`, to: `${1}1$2`},
	{name: "active lanes of the next", from: `VPSLLV([DQ]) toSign(\d+)<>\+(\d+)(.*)`, to: `VPSLLV$1 toSign$2<>+0$4`},
	{name: "active lanes moved too little", from: `SHRQ \$0x0([248]), (.*)\n(ADDQ .*)`, to: "SHRQ $$0x01, $2\n$3"},
	{name: "active mask lost", from: `VBLENDVP[SD] Y\d+, \S+, (Y\d+, Y\d+)`, to: `VMOVDQA $1`},
	{name: "blend by lanes of 64 bits", from: `VBLENDVPS (.*)`, to: `VBLENDVPD $1`},
}

var avx512Rules = []rule{
	{name: "rotation is a shift", from: `VPROLVQ (.*)`, to: `VPSLLVQ $1`},
	{name: "ternary immediate, one row", from: `(VPTERNLOG[DQ] \$0x\w)2(, .*)`, to: `${1}3$2`},
	{name: "ternary immediate, one row", from: `(VPTERNLOG[DQ] \$0x)(c|d)(\w, .*)`, to: `${1}8$3`},
	{name: "ternary sources swapped", from: `(VPTERNLOG[DQ] \$0x\w\w), ([XYZ]\d+), ([XYZ]\d+), (.*)`,
		to: `$1, $3, $2, $4`},
	{name: "& 0xff lost, of bytes", from: `VMOVDQU8\.Z (.*), K1, (.*)`, to: `VMOVDQU32 $1, $2`},
	{name: "& 0xff lost, of words", from: `VPANDQ (Z\d+), Z\d+, (Z\d+)`, to: `VMOVDQU64 $1, $2`, in: each},
	{name: "& 0xff lost, by minimum", from: `VPMINUB (Z\d+), Z\d+, (Z\d+)`, to: `VMOVDQU64 $1, $2`},
	{name: "& 0xff of all lanes", from: `SHLQ \$0x02, (.*)`, to: `SHLQ $$0x01, $1`},
	{name: "lane mask a lane short", from: `BZHIQ (\w+), (\w+), (\w+)`, to: `BZHIQ $1, $2, $3; SHRQ $$1, $3`},
	{name: "lane mask a lane long", from: `BZHIQ (\w+), (\w+), (\w+)`, to: `BZHIQ $1, $2, $3; STC; ADCQ $3, $3`},
	{name: "lane mask lost on load", from: `(VMOVDQU\d\d)\.Z (.*), K\d, (.*)`, to: `$1 $2, $3`},
	{name: "lane mask lost on store", from: `(VMOVDQU\d\d Z\d+), K\d, (\S*\(.*)`, to: `$1, $2`},
	{name: "active mask lost", from: `(VMOVDQU\d\d \S+\)), K\d, (Z\d+)`, to: `$1, $2`},
	{name: "active mask inverted", from: `NOTL .*`, to: ``},
	{name: "active lanes moved too little", from: `SHRL \$0x10, (.*)`, to: `SHRL $$0x0f, $1`},
	{name: "active lanes moved too little", from: `SHRL \$0x08, (.*)`, to: `SHRL $$0x07, $1`},
	{name: "active lanes moved too little", from: `SHRQ \$0x(08|10|20), (.*)`, to: `SHRQ $$0x01, $2`},
	{name: "another byte's shift", from: `VPMULTISHIFTQB (Z\d+), (Z\d+), (.*)`, to: `VPMULTISHIFTQB $2, $1, $3`},
	{name: "missing elements not zero", from: `VPERMB\.Z (.*), (Z\d+), K\d, (Z\d+)`, to: `VPERMB $1, $2, $3`},
	{name: "permuted into bytes of other moves", from: `VPERMB (.*), (Z\d+), K\d, (Z\d+)`, to: `VPERMB $1, $2, $3`,
		in: permutes},
	{name: "given bytes inverted", from: `KNOTQ .*`, to: ``, in: permutes},
	{name: "gives bytes of other chunks", from: `KANDQ (.*)`, to: `KORQ $1`, in: permutes},
	{name: "only bytes that all moves give are written", from: `KORQ (.*)`, to: `KANDQ $1`, in: permutes},
	{name: "stride added", from: `VPMULLW (.*)`, to: `VPADDW $1`, in: permutes},
	{name: "stride added", from: `IMULQ (.*)`, to: `ADDQ $1`, in: permutes},
	{name: "first byte added", from: `VPSUBB (.*)`, to: `VPADDB $1`, in: permutes},
	{name: "least of every second byte", from: `VPMINUB .*`, to: ``, in: permutes},
	{name: "upper bytes of a group lost", from: `VPINSRQ \$0x01(.*)`, to: `VPINSRQ $$0x00$1`, in: permutes},
	{name: "chunk of another size", from: `BSRQ .*`, to: ``, in: permutes},
	{name: "chunk too many", from: `JHI (.*)`, to: `JAE $1`, in: permutes},
	{name: "step longer than what is left", from: `CMOVQLT .*`, to: ``, in: permutes},
	{name: "loads past the data", from: `VMOVDQU8\.Z (.*), K\d, (.*)`, to: `VMOVDQU64 $1, $2`, in: permutes},
	{name: "gaps written", from: `VMOVDQU8 (Z\d+), K\d, (.*)`, to: `VMOVDQU64 $1, $2`, in: permutes},
}

// arm64Rules also change instructions that are WORDs, by the meaning of their bits.
var arm64Rules = []rule{
	{name: "shift is a subtraction", from: `WORD \$0x(6e\w\w)4(\w{3}) // ushl (.*)`, to: `WORD $$0x${1}8$2 // sub $3`},
	{name: "shift by another register", from: `WORD \$0x(6e\w)\w(\w{4}) // ushl (.*)`, to: `WORD $$0x${1}f$2 // ushl $3`},
	{name: "signed shift is unsigned", from: `WORD \$0x4e(\w{6}) // sshl (.*)`, to: `WORD $$0x6e$1 // ushl $2`},
	{name: "right shift goes left", from: `WORD \$0x6e(\w{6}) // neg (.*)`, to: `WORD $$0x4e$1 // abs $2`},
	{name: "and-not is and", from: `WORD \$0x4e6(\w{5}) // bic (.*)`, to: `WORD $$0x4e2$1 // and $2`},
	{name: "subtraction adds", from: `WORD \$0x(6e\w\w)2(\w{3}) // uqsub (.*)`, to: `WORD $$0x${1}0$2 // uqadd $3`},
	{name: "mask or sign not moved", from: `ROR .*`, to: ``},
	{name: "sign below the highest bit", from: `BIC (R.*)`, to: `AND $1`},
	{name: "count not limited", from: `VUMIN .*`, to: ``},
	{name: "minimum is maximum", from: `VUMIN (.*)`, to: `VUMAX $1`},
	{name: "select inverted", from: `VBIT (.*)`, to: `VBIF $1`},
	{name: "select swaps mask and source", from: `VBIT (\S+), (\S+), (.*)`, to: `VBIT $2, $1, $3`},
	{name: "xor is or", from: `VEOR (.*)`, to: `VORR $1`},
	{name: "subtraction adds", from: `VSUB (.*)`, to: `VADD $1`},
	{name: "narrowed to the first half", from: `VUZP1 (\S+), (\S+), (.*)`, to: `VUZP1 $2, $2, $3`},
	{name: "halves swapped", from: `VZIP1 (.*)`, to: `VZIP2 $1`},
	{name: "active lanes inverted", from: `VCMTST (.*)`, to: `VCMEQ $1`},
	{name: "active lanes wrong", from: `VSHL \$(\w+), (.*)`, to: `VSHL $$1+$1, $2`},
	{name: "active lanes moved too little", from: `LSR \$16, (.*)`, to: `LSR $$15, $1`},
	{name: "loaded pair swapped", from: `FLDP([QD]) (.*), \((F\d+), (F\d+)\)`, to: `FLDP$1 $2, ($4, $3)`},
	{name: "stored pair swapped", from: `FSTP([QD]) \((F\d+), (F\d+)\), (.*)`, to: `FSTP$1 ($3, $2), $4`},
	{name: "store dropped", from: `(FSTP\w|FMOV\w) [F(].*, \S*\(R\d+\)`, to: ``},
	{name: "address off by a vector", from: `(F.*[ ,])32(\(.*)`, to: `${1}48$2`},
	{name: "address off by a lane", from: `(F.*) -(16|8)(\(.*)`, to: `$1 4-$2$3`},
	{name: "address of double the scale", from: `ADD (R\d+)<<2, (.*)`, to: `ADD $1<<3, $2`},
	{name: "loop steps too far", from: `ADD \$(64|32|16), (.*)`, to: `ADD $$4+$1, $2`},
	{name: "loop counts too much", from: `SUBS \$(\d+), (R\d+)\n(BGE|BNE) (.*)`, to: "SUBS $$1+$1, $2\n$3 $4"},
	{name: "short too short", from: `CMP \$(\d+), (R\d+)\nBLT short(.*)`, to: "CMP $$$1-1, $2\nBLT short$3"},
	{name: "jump if equal too", from: `(CMP \$2, .*)\nBLT (.*)`, to: "$1\nBLE $2"},
	{name: "skips if a lane is active", from: `CBZ (\w+), inactive`, to: `TBZ $$0, $1, inactive`},
	{name: "always skips", from: `CBZ \w+, inactive`, to: `B inactive`},
	{name: "never skips", from: `CBZ \w+, inactive`, to: ``},
	{name: "skips too far", from: `(inactive:\n(?:.*\n)*?)ADD \$(\d+), (.*)`, to: `${1}ADD $$8+$2, $3`},
	{name: "jump on the contrary", from: `BEQ (.*)`, to: `BNE $1`},
	{name: "jump on the contrary", from: `CBZ (.*)`, to: `CBNZ $1`},
}

// bmi2Rules change the kernels on general registers.
var bmi2Rules = []rule{
	{name: "bits spread instead of gathered", from: `PEXTQ (.*)`, to: `PDEPQ $1`, in: general},
	{name: "bits gathered instead of spread", from: `PDEPQ (.*)`, to: `PEXTQ $1`, in: general},
	{name: "chunk moved the wrong way", from: `SHLXQ (.*)`, to: `SHRXQ $1`, in: general},
	{name: "chunk not moved", from: `SHRXQ (\w+), (\w+), (\w+)`, to: `MOVQ $2, $3`, in: general},
	{name: "sign not copied", from: `IMULQ .*`, to: ``, in: general},
	{name: "odd chunk with all fields", from: `(PEXTQ|PDEPQ) last\+64\(FP\), (.*)`, to: `$1 fields+56(FP), $2`,
		in: general},
	{name: "written between groups", from: `MOVW (\w+), (\S*\(.*)`, to: `MOVL $1, $2`, in: general},
}

// The rules below make kernels that are wrong in few situations. Earlier proofs let such
// kernels pass. The tests need not notice all of them.

// unmasked matches the kernels over slices that the proof runs at every length.
const unmasked = `^(insert(Each\d+)?|fill|selectBits|extract(\d+|Each(Unsigned|Signed)\d+))(AVX|NEON)`

// columns matches the functions of several columns.
const columns = `^(un)?pack\d`

// amd64ProofRules are for AVX2 and AVX-512 alike.
var amd64ProofRules = []rule{
	{name: "a length of its own", from: `(MOVQ n\+\d+\(FP\), (\w+))`,
		to: "$1\nCMPQ $2, $$3001\nJNE other\nDECQ $2\nother:", in: unmasked},
	{name: "lengths from 4,096 on cut", from: `(MOVQ n\+\d+\(FP\), (\w+))`,
		to: "$1\nCMPQ $2, $$0x1000\nJB other\nDECQ $2\nother:", in: unmasked},
	{name: "length of 13 bits", from: `(MOVQ n\+\d+\(FP\), (\w+))`, to: "$1\nANDQ $$0x1fff, $2", in: unmasked},
	{name: "constant packed", from: `CMPQ (\w+), \$0x08\nJAE added\d+`, to: ``, in: columns},
	{name: "threshold of constants", from: `CMPQ (\w+), \$0x08\n(JAE added\d+)`, to: "CMPQ $1, $$0x09\n$2", in: columns},
	{name: "threshold of constants", from: `CMPQ (\w+), \$0x08\n(JAE added\d+)`, to: "CMPQ $1, $$0x0a\n$2", in: columns},
	{name: "count of columns of 3 bits", from: `(MOVQ k\+\d+\(FP\), (\w+))`, to: "$1\nANDQ $$0x07, $2", in: columns},
	{name: "no columns not looked for", from: `TESTQ (\w+), (\w+)\nJZ field\d+Last`, to: ``, in: columns},
	{name: "columns' step right for two", from: `ADDQ \$0x20, (\w+)\nDECQ (\w+)`,
		to: "ADDQ $$0x20, $1\nDECQ $2\nCMPQ $2, $$0x02\nJNE other\nADDQ $$0x20, $1\nother:\nTESTQ $2, $2", in: columns},
	{name: "first lanes forgotten", from: `LEAQ \((\w+)\)\((\w+)\*\d\), (\w+)`, to: `MOVQ $1, $3`, in: columns},
	{name: "nothing done from lane 4,096 on", from: `(MOVQ lo\+\d+\(FP\), (\w+))`,
		to: "$1\nCMPQ $2, $$0x1000\nJB other\nRET\nother:", in: columns},
	{name: "misaligned column a byte late", from: `(LEAQ \((?:[B-Z]\w|R\d+)\)\(\w+\*2\), (\w+))`,
		to: "$1\nTESTQ $$0x01, $2\nJZ other\nADDQ $$0x01, $2\nother:", in: `^unpack\d`},
	{name: "wrong if dst is src", from: `(MOVQ src\+8\(FP\), (\w+))`,
		to: "$1\nCMPQ $2, AX\nJNE other\nADDQ $$0x01, $2\nother:", in: unmasked},
	{name: "arguments swapped", from: `MOVQ src\+8(.*)\nMOVQ base\+16(.*)`, to: "MOVQ base+8$1\nMOVQ src+16$2",
		in: unmasked},
	{name: "immediate that the assembler extends", from: `ANDQ \$0x[13]f, (.*)`, to: `ANDQ $$0xffffffff, $1`,
		in: unmasked},
}

// avx2ProofRules also use instructions and registers of another level.
var avx2ProofRules = append([]rule{
	{name: "instruction of another level", from: `VPXOR (Y\d+), (Y\d+), (Y\d+)`, to: `VPXORD $1, $2, $3`},
	{name: "register of another level", from: `VPXOR (Y\d+), (Y\d+), Y\d+`, to: `VPXORD $1, $2, Y17`},
}, amd64ProofRules...)

var arm64ProofRules = []rule{
	{name: "a length of its own", from: `(MOVD n\+\d+\(FP\), (\w+))`,
		to: "$1\nCMP $$3001, $2\nBNE other\nSUB $$1, $2\nother:", in: unmasked},
	{name: "lengths from 4,096 on cut", from: `(MOVD n\+\d+\(FP\), (\w+))`,
		to: "$1\nCMP $$4096, $2\nBLT other\nSUB $$1, $2\nother:", in: unmasked},
	{name: "length of 13 bits", from: `(MOVD n\+\d+\(FP\), (\w+))`, to: "$1\nAND $$0x1fff, $2", in: unmasked},
	{name: "constant packed", from: `TBNZ \$3, (\w+), field\w+`, to: ``, in: columns},
	{name: "count of columns of 3 bits", from: `(MOVD k\+\d+\(FP\), (\w+))`, to: "$1\nAND $$7, $2", in: columns},
	{name: "nothing done from lane 4,096 on", from: `(MOVD lo\+\d+\(FP\), (\w+))`,
		to: "$1\nCMP $$4096, $2\nBLT other\nRET\nother:", in: columns},
	{name: "arguments swapped", from: `MOVD src\+8(.*)\nMOVD base\+16(.*)`, to: "MOVD base+8$1\nMOVD src+16$2",
		in: unmasked},
}

// An equivalent is a change that leaves a kernel right. The patterns match the whole name
// of a function and the whole text of a change.
type equivalent struct {
	function, change string
	skipped          string // if not empty, the change must lie between a jump to this label and the label
	why              string
}

func (e equivalent) is(m *mutant) bool {
	skipped := strings.Contains(m.before, " "+e.skipped+"\n") && !strings.Contains(m.before, "\n"+e.skipped+":\n")
	return whole(e.function).MatchString(m.function) && whole(e.change).MatchString(m.change()) &&
		(e.skipped == "" || skipped)
}

// equivalents has the known equivalents, by instruction set.
var equivalents = map[string][]equivalent{
	"avx2": {
		{
			function: `(gather|scatter)OnesAVX2`, change: `bytesDone\d+:; ADDQ .* -> .*`,
			why: "nothing reads the rest after the last loop",
		},
		{
			function: `permuteAVX2`, change: `groupsDone\d+:; ADDQ \$0x01, .* -> .*`,
			why: "nothing reads the rest after the last loop",
		},
		{
			function: `permuteAVX2`, change: `CMPQ \w+, \$0x10; JNE (short|apart)\d+ -> CMPQ \w+, \$0x11; .*`,
			why: "the other way does the same, but takes longer",
		},
		{
			function: `(insert|fill|selectBits|extract|unpack)\w*AVX2`, change: `vectorDone\d+:; ADDQ .* -> .*`,
			why: "nothing reads the rest after the last loop",
		},
		{
			function: `\w+AVX2`, change: `JB streamDone\d+ -> .*`,
			why: "the loop with ordinary stores does the lanes that the loop past the cache leaves",
		},
		{
			function: `extractEachMaskedSigned(8|16)AVX2`, change: `VPMOVSX[BW]D \(AX\)\S* .* -> .*`,
			why: "the widened elements are dst's old values, and only their low bits are stored again",
		},
	},
	"avx512": {
		{
			function: `(gather|scatter)(Ones|Bytes)AVX512`, change: `(bytes|steps)Done\d+:; ADDQ \$0x01, .* -> .*`,
			why: "nothing reads the rest after the last loop",
		},
		{
			function: `\w+AVX512`, change: `JB streamDone\d+ -> .*`,
			why: "the loop with ordinary stores does the lanes that the loop past the cache leaves",
		},
		{
			function: `\w+AVX512`, change: `JB cached\d+ -> .*`,
			why: "the kernel can also align shorter slices, and store longer slices unaligned",
		},
		{
			function: `\w+AVX512`, change: `VPTERNLOG[DQ] \$0xf8, .* -> VPTERNLOG[DQ] \$0xf8, .*`,
			why: "the immediate means the same if the sources are swapped",
		},
		{
			function: `\w+AVX512`, change: `VMOVDQU\d+\.Z .* -> VMOVDQU.*`, skipped: "aligned",
			why: "the slice has at least a vector, and the code stores only the lanes before the first aligned vector",
		},
	},
}

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:` + pattern + `)$`) }
