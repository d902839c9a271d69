package bfi_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/gobfi/bfi"
)

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
	// One bit into each word, every time another one.
	words := make([]uint64, 4)
	ones := []uint64{1, 1, 1, 1}
	bfi.InsertEach(words, ones, words, []uint32{0, 4, 32, 63}, []uint32{1, 1, 1, 1})
	fmt.Printf("%#x\n", words)
	// Output: [0x1 0x10 0x100000000 0x8000000000000000]
}

func ExampleFill() {
	// All rows get tag 5, in their four highest bits.
	rows := []uint32{1, 0xf0000002, 3}
	bfi.Fill(rows, 5, rows, 28, 4)
	fmt.Printf("%#x\n", rows)
	// Output: [0x50000001 0x50000002 0x50000003]
}

func ExampleSelect() {
	// Where the mask has a one, the bit of next; elsewhere that of old.
	mask := []uint32{0x0000ffff, 0xff0000ff}
	next := []uint32{0x11111111, 0x22222222}
	old := []uint32{0xaaaaaaaa, 0xbbbbbbbb}
	bfi.Select(old, mask, next, old)
	fmt.Printf("%#x\n", old)
	// Output: [0xaaaa1111 0x22bbbb22]
}

func ExampleExtract() {
	// The exponents of float32 values, from their bits.
	bits := []uint32{0x3f800000, 0x40000000, 0x7f800000} // 1, 2, +Inf
	exponents := make([]uint32, len(bits))
	bfi.Extract(exponents, bits, 23, 8)
	fmt.Println(exponents)
	// Output: [127 128 255]
}

// A field of signed words is sign-extended.
func ExampleExtract_signed() {
	words := []int32{0x0f0, 0x070, 0x080}
	fields := make([]int32, len(words))
	bfi.Extract(fields, words, 4, 4)
	fmt.Println(fields)
	// Output: [-1 7 -8]
}

func ExampleExtractEach() {
	// Bit i of word i.
	words := []uint8{0b0001, 0b0001, 0b0100, 0b1000}
	bits := make([]uint8, len(words))
	bfi.ExtractEach(bits, words, []uint32{0, 1, 2, 3}, []uint32{1, 1, 1, 1})
	fmt.Println(bits)
	// Output: [1 0 1 1]
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
	// The rows that a query has selected get flag 1, in their highest bit.
	rows := []uint32{10, 20, 30, 40}
	selected := []uint8{0b0110}
	bfi.FillMasked(rows, 1, rows, 31, 1, selected)
	fmt.Printf("%#x\n", rows)
	// Output: [0xa 0x80000014 0x8000001e 0x28]
}

func ExampleSelectMasked() {
	// v_bfi_b32 with lanes 0 and 2 active.
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

func ExampleColumn() {
	// Elements and words may differ in width and in sign.
	temperature := []int8{-3, 20} // 8 bits of the word, sign included
	pressure := []uint16{1013, 998}
	words := make([]uint32, 2)
	bfi.Pack(words, nil, bfi.Column(pressure, 0, 16), bfi.Column(temperature, 16, 8))
	fmt.Printf("%#x\n", words)
	// Output: [0xfd03f5 0x1403e6]
}

func ExampleConstant() {
	// The node is the same in all words; what base has elsewhere stays.
	words := []uint64{0x1, 0x2}
	bfi.Pack(words, words, bfi.Constant(0xabc, 52, 12))
	fmt.Printf("%#x\n", words)
	// Output: [0xabc0000000000001 0xabc0000000000002]
}

func ExampleField_From() {
	// The high nibble of each byte, and where it came from.
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
	// Snowflake ids are taken apart into columns of the types that fit.
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

func ExampleInsertWarp() {
	// bfi.b32 r3, r1, r2, pos, width in lanes 0 and 2 of a warp.
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
	// The result may be an operand.
	bfi.SelectWarp(&base, &mask, &src, &base, 0b110)
	fmt.Printf("%#x\n", base[:4])
	// Output: [0xaaaa 0xaa11 0xaa11 0xaaaa]
}

func ExampleExtractWarp() {
	// bfe.s32: signed words are sign-extended.
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

// Four planes of bytes become RGBA words.
func Example_planes() {
	red, green, blue, alpha := []uint8{0x11, 0x55}, []uint8{0x22, 0x66}, []uint8{0x33, 0x77}, []uint8{0x44, 0x88}
	pixels := make([]uint32, 2)

	bfi.Pack(pixels, nil,
		bfi.Column(red, 0, 8), bfi.Column(green, 8, 8), bfi.Column(blue, 16, 8), bfi.Column(alpha, 24, 8))

	fmt.Printf("%#x\n", pixels)
	// Output: [0x44332211 0x88776655]
}

// Words of 5, 6 and 5 bits out of the high bits of bytes, and back.
func Example_rgb565() {
	red, green, blue := []uint8{0xff, 0x12}, []uint8{0x80, 0x34}, []uint8{0x08, 0x56}
	rgb565 := make([]uint16, 2)
	fields := []bfi.Field{
		bfi.Column(red, 11, 5).From(3), bfi.Column(green, 5, 6).From(2), bfi.Column(blue, 0, 5).From(3),
	}

	bfi.Pack(rgb565, nil, fields...)
	fmt.Printf("%#x\n", rgb565)

	bfi.Unpack(rgb565, fields...)
	fmt.Printf("red % x, green % x, blue % x\n", red, green, blue)
	// Output:
	// [0xfc01 0x11aa]
	// red f8 10, green 80 34, blue 08 50
}

// Ids are made of a time, the number of the node that makes them, and a sequence
// number.
func Example_ids() {
	ms := []uint64{367597485448, 367597485449}
	sequence := []uint16{0, 7}
	ids := make([]uint64, 2)

	bfi.Pack(ids, nil, bfi.Column(ms, 22, 41), bfi.Constant(378, 12, 10), bfi.Column(sequence, 0, 12))

	fmt.Println(ids)
	// Output: [1541815603606036480 1541815603610230791]
}

// Weights of 4 bits, two in a byte: the first half of a block in the low
// nibbles, the second half in the high ones.
func Example_nibbles() {
	weights := []int8{-8, -1, 0, 1, 2, 7}
	half := len(weights) / 2
	quantized := make([]uint8, half)
	bfi.Pack(quantized, nil, bfi.Column(weights[:half], 0, 4), bfi.Column(weights[half:], 4, 4))
	fmt.Printf("% x\n", quantized)

	// The columns are signed, so that the nibbles are sign-extended.
	back := make([]int8, len(weights))
	bfi.Unpack(quantized, bfi.Column(back[:half], 0, 4), bfi.Column(back[half:], 4, 4))
	fmt.Println(back)
	// Output:
	// 18 2f 70
	// [-8 -1 0 1 2 7]
}

// One field is set in the rows that have a value. The bitmap is laid out as
// Arrow's: row i has bit i%8 of byte i/8. Of a padded buffer a mask is the bytes
// that have rows.
func Example_validity() {
	rows := []uint32{0xa0000, 0xb0000, 0xc0000, 0xd0000, 0xe0000, 0xf0000, 0xa0000, 0xb0000, 0xc0000, 0xd0000}
	prices := []uint32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	validity := []uint8{0b00001001, 0b10, 0, 0, 0, 0, 0, 0}

	bfi.InsertMasked(rows, prices, rows, 0, 16, validity[:(len(rows)+7)/8])

	fmt.Printf("%#x\n", rows)
	// Output: [0xa000a 0xb0000 0xc0000 0xd000d 0xe0000 0xf0000 0xa0000 0xb0000 0xc0000 0xd0013]
}

// An instruction with an immediate field is executed by a wavefront of 64 lanes,
// under its exec mask.
func Example_wavefront() {
	var v0, v1, v2 [64]uint32
	for lane := range v1 {
		v1[lane], v2[lane] = uint32(lane), 0xff00ff
	}
	exec := [1]uint64{1<<63 | 1<<40 | 1<<7}

	bfi.InsertMasked(v0[:], v1[:], v2[:], 8, 8, exec[:]) // v0 = bfi(v1, v2, 8, 8)

	fmt.Printf("%#x %#x %#x %#x\n", v0[0], v0[7], v0[40], v0[63])
	// Output: 0x0 0xff07ff 0xff28ff 0xff3fff
}

// An emulator may run an instruction for a whole block or grid at once, if it
// keeps one register of all threads in one slice. Each warp has its own element
// of the active mask.
func Example_grid() {
	const threads = 4 * bfi.WarpSize
	var r1, r2, r3 [threads]uint32
	for thread := range r1 {
		r1[thread] = uint32(thread)
	}
	active := []uint32{0xffffffff, 0, 0x0000ffff, 0x80000000} // one element a warp

	bfi.InsertMasked(r3[:], r1[:], r2[:], 4, 8, active) // bfi.b32 %r3, %r1, %r2, 4, 8

	fmt.Printf("%#x %#x %#x %#x %#x\n", r3[31], r3[32], r3[79], r3[80], r3[127])
	// Output: 0x1f0 0x0 0x4f0 0x0 0x7f0
}

// AMD's v_bfe_u32 and v_bfe_i32 take only the low 5 bits of pos and width.
// Where these are immediate, mask them when the instruction is decoded; where
// they are registers, mask each lane's.
func Example_amdBfe() {
	v1 := []uint32{0x12345678, 0x12345678, 0x12345678}
	v0 := make([]uint32, len(v1))

	pos, width := uint32(36), uint32(32+8)
	bfi.Extract(v0, v1, pos&31, width&31) // v_bfe_u32 v0, v1, 36, 40
	fmt.Printf("%#x\n", v0)

	v2, v3 := []uint32{0, 36, 8}, []uint32{32, 40, 4}
	bfi.Extract(v2, v2, 0, 5)
	bfi.Extract(v3, v3, 0, 5)
	bfi.ExtractEach(v0, v1, v2, v3) // v_bfe_u32 v0, v1, v2, v3
	fmt.Printf("%#x\n", v0)         // a width of 32 is 0
	// Output:
	// [0x67 0x67 0x67]
	// [0x0 0x67 0x6]
}

// An instruction with one immediate operand and one in a register has a field of
// its own in each lane. The immediate becomes a register with that value in every
// lane once, when the instruction is decoded.
func Example_immediate() {
	splat := func(x uint32) (r [bfi.WarpSize]uint32) {
		for lane := range r {
			r[lane] = x
		}
		return r
	}
	width := splat(4)

	var r3, r4 [bfi.WarpSize]uint32
	r1, r2 := splat(0xf), splat(0x10000)
	for lane := range r4 {
		r4[lane] = uint32(lane)
	}
	bfi.InsertWarp(&r3, &r1, &r2, &r4, &width, 0b1101) // bfi.b32 %r3, %r1, %r2, %r4, 4
	fmt.Printf("%#x\n", r3[:5])
	// Output: [0x1000f 0x0 0x1003c 0x10078 0x0]
}

// Maxwell's machine instruction BFI has position and length packed in one
// operand x, in bits 0 to 7 and 8 to 15. Only the low 8 bits of c and d count, so
// that they are x and x >> 8.
func Example_maxwell() {
	x := uint32(0x0c_04) // 12 bits from bit 4 on
	fmt.Printf("%#x\n", bfi.Bfi(0xabc, uint32(0x11223344), x, x>>8))

	// With a field of its own in each lane:
	r1, r2, r3 := []uint32{0xabc, 0xabc}, []uint32{0x11223344, 0x11223344}, []uint32{0x0c04, 0x0408}
	length := make([]uint32, len(r3))
	bfi.Extract(length, r3, 8, 8)
	bfi.InsertEach(r2, r1, r2, r3, length)
	fmt.Printf("%#x\n", r2)
	// Output:
	// 0x1122abc4
	// [0x1122abc4 0x11223c44]
}

// An emulator should keep its registers lane-minor: the lanes of one register
// side by side, so that a register is a slice. In a lane-major file the lanes of
// one register lie 512 bytes to 2 KiB apart, and compete for the same few sets of
// the first-level cache. Gather and scatter do not help: for 64 lanes they took
// 40 ns where a scalar loop in C took 82, and at strides of 1 and 2 KiB they
// lost to it.
func Example_registers() {
	const registers, lanes = 256, 64
	file := new([registers][lanes]uint32) // not [lanes][registers]uint32
	v := func(r int) []uint32 { return file[r][:] }

	bfi.Fill(v(1), 0x12345678, v(1), 0, 32) // v1 = 0x12345678
	bfi.Extract(v(0), v(1), 8, 16)          // v0 = bfe(v1, 8, 16)

	fmt.Printf("%#x %#x\n", file[0][0], file[0][lanes-1])
	// Output: 0x3456 0x3456
}

// A slice of many megabytes is worth a goroutine for each core: calls on parts of
// it that do not overlap may run at the same time. Parts that begin at whole
// cache lines do not get into each other's way. Under a mask, parts of a multiple
// of 64 lanes begin at whole elements of it.
func Example_goroutines() {
	words, ids := make([]uint64, 1<<20), make([]uint64, 1<<20)
	for i := range ids {
		ids[i] = uint64(i)
	}
	const lanes = 1 << 16
	var group sync.WaitGroup
	for i := 0; i < len(words); i += lanes {
		part := func(s []uint64) []uint64 { return s[i:min(i+lanes, len(s))] }
		group.Add(1)
		go func() {
			defer group.Done()
			bfi.Insert(part(words), part(ids), part(words), 40, 24)
		}()
	}
	group.Wait()
	fmt.Printf("%#x\n", words[len(words)-1])
	// Output: 0xfffff0000000000
}
