package bfi_test

import (
	"fmt"
	"image/color"
	"time"

	"github.com/gobfi/bfi"
)

func ExampleWord() {
	// A type made from an integer type needs no conversion.
	type Pixel uint16
	pixels := []Pixel{0x1234, 0x5678}
	bfi.Fill(pixels, 0xf, pixels, 4, 4)
	fmt.Printf("%#x\n", pixels)
	// Output: [0x12f4 0x56f8]
}

func ExampleBfi() {
	// The low 8 bits of a replace bits 8 to 15 of b.
	fmt.Printf("%#x\n", bfi.Bfi(0xab, uint32(0x11223344), 8, 8))
	// A field past the most significant bit is cut off.
	fmt.Printf("%#x\n", bfi.Bfi(0xab, uint32(0x11223344), 28, 8))
	// Output:
	// 0x1122ab44
	// 0xb1223344
}

func ExampleBfe() {
	// Bits 4 to 7 of an unsigned word, and of a signed one.
	fmt.Println(bfi.Bfe(uint16(0x0f0), 4, 4), bfi.Bfe(int16(0x0f0), 4, 4))
	// Output: 15 -1
}

func ExampleInsert() {
	// The green of each pixel comes from another image.
	type Pixel uint32 // 0xAABBGGRR
	pixels := []Pixel{0xff000000, 0xff112233, 0xffffffff}
	green := []Pixel{0x80, 0x90, 0xa0}

	bfi.Insert(pixels, green, pixels, 8, 8)

	fmt.Printf("%#x\n", pixels)
	// Output: [0xff008000 0xff119033 0xffffa0ff]
}

func ExampleInsertEach() {
	// Each word gets one bit, each at another place.
	words := make([]uint64, 4)
	ones := []uint64{1, 1, 1, 1}
	bfi.InsertEach(words, ones, words, []uint32{0, 4, 32, 63}, []uint32{1, 1, 1, 1})
	fmt.Printf("%#x\n", words)
	// Output: [0x1 0x10 0x100000000 0x8000000000000000]
}

func ExampleFill() {
	// All rows get tag 5 in their top 4 bits.
	rows := []uint32{1, 0xf0000002, 3}
	bfi.Fill(rows, 5, rows, 28, 4)
	fmt.Printf("%#x\n", rows)
	// Output: [0x50000001 0x50000002 0x50000003]
}

func ExampleSelect() {
	// The bits where the mask has ones come from next, the others from old.
	mask := []uint32{0x0000ffff, 0xff0000ff}
	next := []uint32{0x11111111, 0x22222222}
	old := []uint32{0xaaaaaaaa, 0xbbbbbbbb}
	bfi.Select(old, mask, next, old)
	fmt.Printf("%#x\n", old)
	// Output: [0xaaaa1111 0x22bbbb22]
}

func ExampleExtract() {
	// These are the exponents of float32 values.
	bits := []uint32{0x3f800000, 0x40000000, 0x7f800000} // 1, 2, +Inf
	exponents := make([]uint32, len(bits))
	bfi.Extract(exponents, bits, 23, 8)
	fmt.Println(exponents)
	// Output: [127 128 255]
}

// Extract sign-extends the fields of signed words.
func ExampleExtract_signed() {
	words := []int32{0x0f0, 0x070, 0x080}
	fields := make([]int32, len(words))
	bfi.Extract(fields, words, 4, 4)
	fmt.Println(fields)
	// Output: [-1 7 -8]
}

func ExampleExtractEach() {
	// Result i is bit i of word i.
	words := []uint8{0b0001, 0b0001, 0b0100, 0b1000}
	bits := make([]uint8, len(words))
	bfi.ExtractEach(bits, words, []uint32{0, 1, 2, 3}, []uint32{1, 1, 1, 1})
	fmt.Println(bits)
	// Output: [1 0 1 1]
}

func ExampleMask() {
	// An element of a mask has 8 lanes if it is a byte, and 32 if it is a uint32. Here
	// both masks have lanes 0 and 9.
	words := make([]uint8, 10)
	bfi.FillMasked(words, 1, words, 0, 8, []uint8{1 << 0, 1 << 1})
	fmt.Println(words)
	bfi.FillMasked(words, 2, words, 0, 8, []uint32{1<<0 | 1<<9})
	fmt.Println(words)
	// Output:
	// [1 0 0 0 0 0 0 0 0 1]
	// [2 0 0 0 0 0 0 0 0 2]
}

func ExampleInsertMasked() {
	words := []uint16{0xaaaa, 0xbbbb, 0xcccc, 0xdddd}
	values := []uint16{1, 2, 3, 4}
	active := []uint8{0b1010} // lanes 1 and 3
	bfi.InsertMasked(words, values, words, 4, 8, active)
	fmt.Printf("%#x\n", words)
	// Output: [0xaaaa 0xb02b 0xcccc 0xd04d]
}

func ExampleInsertEachMasked() {
	words := make([]uint32, 4)
	values := []uint32{1, 2, 3, 4}
	pos := []uint32{0, 4, 8, 12}
	width := []uint32{4, 4, 4, 4}
	active := []uint8{0b0111} // all lanes but the last
	bfi.InsertEachMasked(words, values, words, pos, width, active)
	fmt.Printf("%#x\n", words)
	// Output: [0x1 0x20 0x300 0x0]
}

func ExampleFillMasked() {
	// The rows that a query has selected get a flag in their top bit.
	rows := []uint32{10, 20, 30, 40}
	selected := []uint8{0b0110}
	bfi.FillMasked(rows, 1, rows, 31, 1, selected)
	fmt.Printf("%#x\n", rows)
	// Output: [0xa 0x80000014 0x8000001e 0x28]
}

func ExampleSelectMasked() {
	// This is v_bfi_b32 with lanes 0 and 2 active.
	dst := make([]uint32, 4)
	mask := []uint32{0xff, 0xff, 0xff00, 0xff00}
	src := []uint32{0x1111, 0x1111, 0x1111, 0x1111}
	base := []uint32{0xaaaa, 0xaaaa, 0xaaaa, 0xaaaa}
	bfi.SelectMasked(dst, mask, src, base, []uint32{0b0101})
	fmt.Printf("%#x\n", dst)
	// Output: [0xaa11 0x0 0x11aa 0x0]
}

func ExampleExtractMasked() {
	words := []uint32{0x12345678, 0x23456789, 0x3456789a}
	fields := make([]uint32, len(words))
	bfi.ExtractMasked(fields, words, 16, 8, []uint8{0b101})
	fmt.Printf("%#x\n", fields)
	// Output: [0x34 0x0 0x56]
}

func ExampleExtractEachMasked() {
	words := []uint32{0x12345678, 0x12345678, 0x12345678}
	fields := make([]uint32, len(words))
	bfi.ExtractEachMasked(fields, words, []uint32{0, 8, 16}, []uint32{8, 8, 16}, []uint8{0b110})
	fmt.Printf("%#x\n", fields)
	// Output: [0x0 0x56 0x1234]
}

func ExampleField() {
	// One list of fields packs words and unpacks them.
	year, month := []uint16{1999, 2024}, []uint8{12, 2}
	fields := []bfi.Field{bfi.Column(year, 4, 12), bfi.Column(month, 0, 4)}
	dates := make([]uint16, 2)
	bfi.Pack(dates, nil, fields...)
	clear(year)
	bfi.Unpack(dates, fields...)
	fmt.Println(year, month)
	// Output: [1999 2024] [12 2]
}

func ExampleColumn() {
	// Elements and words may differ in size and in sign.
	temperature := []int8{-3, 20} // 8 bits of the word, with the sign
	pressure := []uint16{1013, 998}
	words := make([]uint32, 2)
	bfi.Pack(words, nil, bfi.Column(pressure, 0, 16), bfi.Column(temperature, 16, 8))
	fmt.Printf("%#x\n", words)
	// Output: [0xfd03f5 0x1403e6]
}

func ExampleConstant() {
	// All words get the same node, and keep their other bits.
	words := []uint64{0x1, 0x2}
	bfi.Pack(words, words, bfi.Constant(0xabc, 52, 12))
	fmt.Printf("%#x\n", words)
	// Output: [0xabc0000000000001 0xabc0000000000002]
}

func ExampleField_From() {
	// Pack takes the high 4 bits of each byte. Unpack puts them back there.
	bytes := []uint8{0x12, 0xab}
	words := make([]uint16, 2)
	bfi.Pack(words, nil, bfi.Column(bytes, 0, 4).From(4))
	fmt.Printf("%#x\n", words)

	bfi.Unpack(words, bfi.Column(bytes, 0, 4).From(4))
	fmt.Printf("% x\n", bytes)
	// Output:
	// [0x1 0xa]
	// 10 a0
}

func ExampleArray() {
	// Three elements go into each word, the first element lowest. The last word has only
	// two, and its third field stays 0.
	digits := []uint8{1, 2, 3, 4, 5}
	words := make([]uint16, 2)
	bfi.Pack(words, nil, bfi.Array(digits, 3, 0, 4))
	fmt.Printf("%#x\n", words)
	// Output: [0x321 0x54]
}

func ExampleField_Every() {
	// Word i takes element 3*i. Unpack writes the same elements and does not touch the
	// elements between them.
	values := []uint8{1, 10, 100, 2, 20, 200}
	words := make([]uint16, 2)
	bfi.Pack(words, nil, bfi.Column(values, 0, 8).Every(3))
	fmt.Println(words)

	bfi.Unpack([]uint16{7, 8}, bfi.Column(values, 0, 8).Every(3))
	fmt.Println(values)
	// Output:
	// [1 2]
	// [7 10 100 8 20 200]
}

func ExampleField_Reversed() {
	// Of the four elements of a word the first is highest.
	bytes := []uint8{0x11, 0x22, 0x33, 0x44}
	words := make([]uint32, 1)
	bfi.Pack(words, nil, bfi.Array(bytes, 4, 0, 8).Reversed())
	fmt.Printf("%#x\n", words)
	// Output: [0x11223344]
}

func ExampleWords() {
	// The words are the memory of the picture, so Fill writes to its pixels.
	picture := make([]color.RGBA, 2)
	words := bfi.Words[uint32](picture)
	bfi.Fill(words, 0x7f7f7f7f, words, 0, 32)
	fmt.Println(picture)
	// Output: [{127 127 127 127} {127 127 127 127}]
}

func ExamplePack() {
	// Channels become pixels of 10, 10, 10 and 2 bits.
	red := []uint16{1023, 0, 512}
	green := []uint16{0, 1023, 256}
	blue := []uint16{0, 0, 128}
	pixels := make([]uint32, 3)
	bfi.Pack(pixels, nil,
		bfi.Column(red, 0, 10), bfi.Column(green, 10, 10), bfi.Column(blue, 20, 10), bfi.Constant(3, 30, 2))
	fmt.Printf("%#x\n", pixels)
	// Output: [0xc00003ff 0xc00ffc00 0xc8040200]
}

func ExampleUnpack() {
	// Snowflake ids become columns, each of a type that fits.
	ids := []uint64{1541815603606036480, 1541815603610230791}
	ms, machine, sequence := make([]int64, 2), make([]uint16, 2), make([]uint16, 2)
	bfi.Unpack(ids, bfi.Column(ms, 22, 41), bfi.Column(machine, 12, 10), bfi.Column(sequence, 0, 12))

	epoch := time.UnixMilli(1288834974657).UTC() // Twitter's
	for i := range ids {
		at := epoch.Add(time.Duration(ms[i]) * time.Millisecond)
		fmt.Println(at.Format(time.StampMilli), machine[i], sequence[i])
	}
	// Output:
	// Jun 28 16:07:40.105 378 0
	// Jun 28 16:07:40.106 378 7
}

func ExampleRegister() {
	// A register of 64 bits may be of any integer type of that size.
	type address uint64
	var base, offset, result [bfi.WarpSize]address
	var pos, width [bfi.WarpSize]uint32
	for lane := range base {
		base[lane], offset[lane], width[lane] = 0xabc000, address(lane), 12
	}
	bfi.InsertWarp(&result, &offset, &base, &pos, &width, 1<<31)
	fmt.Printf("%#x %#x\n", result[30], result[31])
	// Output: 0x0 0xabc01f
}

func ExampleInsertWarp() {
	// This is bfi.b32 r3, r1, r2, pos, width in lanes 0 and 2 of a warp.
	var r1, r2, r3, pos, width [bfi.WarpSize]uint32
	for lane := range r1 {
		r1[lane], r2[lane], pos[lane], width[lane] = 0xff, 0x10000, uint32(lane), 4
	}
	bfi.InsertWarp(&r3, &r1, &r2, &pos, &width, 0b101)
	fmt.Printf("%#x\n", r3[:4])
	// Output: [0x1000f 0x0 0x1003c 0x0]
}

func ExampleSelectWarp() {
	var mask, src, base [bfi.WarpSize]uint32
	for lane := range mask {
		mask[lane], src[lane], base[lane] = 0xff, 0x1111, 0xaaaa
	}
	// dst may be an operand.
	bfi.SelectWarp(&base, &mask, &src, &base, 0b110)
	fmt.Printf("%#x\n", base[:4])
	// Output: [0xaaaa 0xaa11 0xaa11 0xaaaa]
}

func ExampleExtractWarp() {
	// Signed words make it bfe.s32, which sign-extends.
	var src, dst [bfi.WarpSize]int32
	var pos, width [bfi.WarpSize]uint32
	for lane := range src {
		src[lane], pos[lane], width[lane] = 0x0f70, uint32(4*lane), 4
	}
	bfi.ExtractWarp(&dst, &src, &pos, &width, ^uint32(0))
	fmt.Println(dst[:4])
	// Output: [0 7 -1 0]
}

func ExampleKernel() {
	fmt.Println("kernels:", bfi.Kernel()) // such as "kernels: avx2"
}

// Arrow pads a bitmap to 64 bytes. The padded bitmap is cut to the lanes.
func ExampleInsertMasked_padded() {
	dst := []uint16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	valid := make([]uint8, 64)
	valid[0], valid[1] = 0b0000_0101, 0b10
	bfi.InsertMasked(dst, dst, make([]uint16, len(dst)), 8, 4, valid[:(len(dst)+7)/8])
	fmt.Println(dst)
	// Output: [256 2 768 4 5 6 7 8 9 2560]
}
