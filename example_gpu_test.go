package bfi_test

import (
	"fmt"

	"github.com/gobfi/bfi"
)

// A wavefront of 64 lanes executes an instruction under its exec mask. The field is
// immediate.
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

// If a slice holds one register of all threads, an emulator may execute an instruction
// for a whole block or grid at once. Each warp has an element of the active mask.
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

// AMD's v_bfe_u32 and v_bfe_i32 take only the low 5 bits of pos and width. If pos and
// width are immediate, mask them when the instruction is decoded. If they are in
// registers, mask the values of each lane.
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

// If pos is in a register and width is immediate, each lane has a field of its own.
// When the instruction is decoded, the immediate becomes a register with that value in
// every lane.
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

// Maxwell's machine instruction BFI has position and length in one operand x, in bits
// 0 to 7 and 8 to 15. Only the low 8 bits of c and d count, so c is x and d is x >> 8.
func Example_maxwell() {
	x := uint32(0x0c_04) // 12 bits from bit 4 on
	fmt.Printf("%#x\n", bfi.Bfi(0xabc, uint32(0x11223344), x, x>>8))

	// Here each lane has a field of its own.
	r1, r2, r3 := []uint32{0xabc, 0xabc}, []uint32{0x11223344, 0x11223344}, []uint32{0x0c04, 0x0408}
	length := make([]uint32, len(r3))
	bfi.Extract(length, r3, 8, 8)
	bfi.InsertEach(r2, r1, r2, r3, length)
	fmt.Printf("%#x\n", r2)
	// Output:
	// 0x1122abc4
	// [0x1122abc4 0x11223c44]
}

// An emulator should keep its registers lane-minor: if the lanes of a register lie side
// by side, a register is a slice. In a lane-major file the lanes of one register lie 512
// bytes to 2 KiB apart, and compete for the same few sets of the first-level cache.
// Gather and scatter help too little. For 64 lanes they took 40 ns, and a scalar loop in
// C took 82. At strides of 1 and 2 KiB they were slower than the loop.
func Example_registers() {
	const registers, lanes = 256, 64
	file := new([registers][lanes]uint32) // not [lanes][registers]uint32
	v := func(r int) []uint32 { return file[r][:] }

	bfi.Fill(v(1), 0x12345678, v(1), 0, 32) // v1 = 0x12345678
	bfi.Extract(v(0), v(1), 8, 16)          // v0 = bfe(v1, 8, 16)

	fmt.Printf("%#x %#x\n", file[0][0], file[0][lanes-1])
	// Output: 0x3456 0x3456
}
