package bfi_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/gobfi/bfi"
)

func ExampleB32() {
	// The low 8 bits of a replace bits 8 to 15 of b.
	fmt.Printf("%#x\n", bfi.B32(0xab, 0x11223344, 8, 8))
	// A field past the most significant bit is cut off.
	fmt.Printf("%#x\n", bfi.B32(0xab, 0x11223344, 28, 8))
	// Output:
	// 0x1122ab44
	// 0xb1223344
}

// Maxwell's machine instruction BFI takes position and length in one register x,
// in bits 0 to 7 and 8 to 15. Only the low 8 bits of c and d count, so that x and
// x >> 8 are they.
func ExampleB32_maxwell() {
	x := uint32(0x0c_04) // 12 bits from bit 4 on
	fmt.Printf("%#x\n", bfi.B32(0xabc, 0x11223344, x, x>>8))
	// Output: 0x1122abc4
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
	bfi.Fill(rows, rows, 5, 28, 4)
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

// An emulator executes bfi.b32 %r3, %r1, %r2, 8, 4: the immediates are registers
// with one value in every lane, made once, when the instruction is decoded.
func ExampleInsertWarp_immediate() {
	splat := func(x uint32) *[bfi.WarpSize]uint32 {
		var r [bfi.WarpSize]uint32
		for lane := range r {
			r[lane] = x
		}
		return &r
	}
	pos, width := splat(8), splat(4)

	var r3 [bfi.WarpSize]uint32
	r1, r2 := splat(0xf), splat(0x10000)
	active := uint32(0b101) // lanes 0 and 2
	bfi.InsertWarp(&r3, r1, r2, pos, width, active)
	fmt.Printf("%#x\n", r3[:4])
	// Output: [0x10f00 0x0 0x10f00 0x0]
}

// A wavefront of 64 lanes, as AMD has them, is two calls, each with half of the
// registers and half of the EXEC mask.
func ExampleSelectWarp_wavefront() {
	type register [2][bfi.WarpSize]uint32 // lanes 0 to 31, lanes 32 to 63
	var v0, v1, v2, v3 register
	for lane := range 64 {
		half, i := lane/32, lane%32
		v1[half][i] = 0xffff0000
		v2[half][i] = 0x11111111
		v3[half][i] = uint32(lane)
	}
	exec := uint64(1<<63 | 1<<40 | 1<<7)

	// v_bfi_b32 v0, v1, v2, v3
	bfi.SelectWarp(&v0[0], &v1[0], &v2[0], &v3[0], uint32(exec))
	bfi.SelectWarp(&v0[1], &v1[1], &v2[1], &v3[1], uint32(exec>>32))

	for lane := range 64 {
		if x := v0[lane/32][lane%32]; x != 0 {
			fmt.Printf("lane %d: %#x\n", lane, x)
		}
	}
	// Output:
	// lane 7: 0x11110007
	// lane 40: 0x11110028
	// lane 63: 0x1111003f
}

// Channels, one slice each, become pixels of 10, 10, 10 and 2 bits.
func ExamplePack() {
	rgb10a2 := []bfi.Field{{Pos: 0, Len: 10}, {Pos: 10, Len: 10}, {Pos: 20, Len: 10}, {Pos: 30, Len: 2}}
	red := []uint32{1023, 0, 512}
	green := []uint32{0, 1023, 256}
	blue := []uint32{0, 0, 128}
	alpha := []uint32{3, 3, 1}
	pixels := make([]uint32, 3)
	bfi.Pack(pixels, nil, rgb10a2, red, green, blue, alpha)
	fmt.Printf("%#x\n", pixels)
	// Output: [0xc00003ff 0xc00ffc00 0x48040200]
}

// Snowflake ids are made of a time, a machine and a sequence number, and taken
// apart again.
func ExampleUnpack() {
	snowflake := []bfi.Field{
		{Pos: 22, Len: 41}, // milliseconds
		{Pos: 12, Len: 10}, // machine
		{Pos: 0, Len: 12},  // sequence
	}
	ids := make([]uint64, 2)
	bfi.Pack(ids, nil, snowflake, []uint64{367597485448, 367597485449}, []uint64{378, 378}, []uint64{0, 7})
	fmt.Println(ids)

	ms, machine, sequence := make([]uint64, 2), make([]uint64, 2), make([]uint64, 2)
	bfi.Unpack(ids, snowflake, ms, machine, sequence)
	epoch := time.UnixMilli(1288834974657).UTC() // Twitter's
	for i := range ids {
		at := epoch.Add(time.Duration(ms[i]) * time.Millisecond)
		fmt.Println(at.Format(time.StampMilli), machine[i], sequence[i])
	}
	// Output:
	// [1541815603606036480 1541815603610230791]
	// Jun 28 16:07:40.105 378 0
	// Jun 28 16:07:40.106 378 7
}

// A slice of many megabytes is worth a goroutine for each core: calls on parts of
// it that do not overlap may run at the same time. Parts that begin at whole
// cache lines do not get into each other's way.
func ExampleInsert_parallel() {
	words, ids := make([]uint64, 1<<20), make([]uint64, 1<<20)
	for i := range ids {
		ids[i] = uint64(i)
	}
	const lanes = 1 << 16
	var group sync.WaitGroup
	for i := 0; i < len(words); i += lanes {
		part := func(s []uint64) []uint64 { return s[i:min(i+lanes, len(s))] }
		group.Go(func() { bfi.Insert(part(words), part(ids), part(words), 40, 24) })
	}
	group.Wait()
	fmt.Printf("%#x\n", words[len(words)-1])
	// Output: 0xfffff0000000000
}
