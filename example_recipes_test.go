package bfi_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/gobfi/bfi"
)

// Four planes of bytes become RGBA words, and the words become planes again.
func Example_planes() {
	red, green, blue, alpha := []uint8{0x11, 0x55}, []uint8{0x22, 0x66}, []uint8{0x33, 0x77}, []uint8{0x44, 0x88}
	pixels := make([]uint32, 2)
	fields := []bfi.Field{
		bfi.Column(red, 0, 8), bfi.Column(green, 8, 8), bfi.Column(blue, 16, 8), bfi.Column(alpha, 24, 8),
	}

	bfi.Pack(pixels, nil, fields...)
	fmt.Printf("%#x\n", pixels)

	clear(green)
	bfi.Unpack(pixels, fields...)
	fmt.Printf("green % x\n", green)
	// Output:
	// [0x44332211 0x88776655]
	// green 22 66
}

// Pixels of 3 bytes become opaque RGBA words, and the words become bytes again.
func Example_rgb24() {
	rgb := []byte{0x11, 0x22, 0x33, 0x44, 0x55, 0x66} // two pixels
	pixels := make([]uint32, len(rgb)/3)

	bfi.Pack(pixels, nil, bfi.Array(rgb, 3, 0, 8), bfi.Constant(0xff, 24, 8))
	fmt.Printf("%#x\n", pixels)

	clear(rgb)
	bfi.Unpack(pixels, bfi.Array(rgb, 3, 0, 8))
	fmt.Printf("% x\n", rgb)
	// Output:
	// [0xff332211 0xff665544]
	// 11 22 33 44 55 66
}

// The high bits of RGBA bytes become words of 5, 6 and 5 bits. Some displays want
// each word as two bytes, the high byte first.
func Example_rgb565() {
	pix := []byte{0xff, 0x80, 0x08, 0xff, 0x12, 0x34, 0x56, 0xff} // two pixels
	red, green, blue := pix[0:], pix[1:], pix[2:]
	fields := []bfi.Field{
		bfi.Column(red, 11, 5).From(3).Every(4),
		bfi.Column(green, 5, 6).From(2).Every(4),
		bfi.Column(blue, 0, 5).From(3).Every(4),
	}
	rgb565 := make([]uint16, len(pix)/4)
	bfi.Pack(rgb565, nil, fields...)
	fmt.Printf("%#x\n", rgb565)

	// The words become bytes in either order, whatever the machine's order is.
	littleEndian, bigEndian := make([]byte, 2*len(rgb565)), make([]byte, 2*len(rgb565))
	bfi.Unpack(rgb565, bfi.Array(littleEndian, 2, 0, 8))
	bfi.Unpack(rgb565, bfi.Array(bigEndian, 2, 0, 8).Reversed())
	fmt.Printf("% x, % x\n", littleEndian, bigEndian)

	// The words become bytes again. The dropped bits are 0, and alpha keeps its value.
	bfi.Unpack(rgb565, fields...)
	fmt.Printf("% x\n", pix)
	// Output:
	// [0xfc01 0x11aa]
	// 01 fc aa 11, fc 01 11 aa
	// f8 80 08 ff 10 34 50 ff
}

// A picture of BGRA bytes becomes RGBA in place: red and blue change places. Words
// takes the bytes as words. The place of a byte in its word depends on the machine.
func Example_bgra() {
	pix := []byte{0x33, 0x22, 0x11, 0xff, 0x66, 0x55, 0x44, 0xff}
	first, third := uint32(0), uint32(16)
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 { // the first byte is highest
		first, third = 24, 8
	}

	words := bfi.Words[uint32](pix)
	bfi.Pack(words, words, bfi.Column(words, first, 8).From(third), bfi.Column(words, third, 8).From(first))

	fmt.Printf("% x\n", pix)
	// Output: 11 22 33 ff 44 55 66 ff
}

// YUY2 has two pixels in four bytes: Y0, U, Y1, V. It becomes three planes.
func Example_yuy2() {
	yuy2 := []byte{10, 1, 11, 2, 12, 3, 13, 4}
	y, u, v := make([]uint8, 4), make([]uint8, 2), make([]uint8, 2)

	bfi.Pack(y, nil, bfi.Column(yuy2, 0, 8).Every(2))
	bfi.Pack(u, nil, bfi.Column(yuy2[1:], 0, 8).Every(4))
	bfi.Pack(v, nil, bfi.Column(yuy2[3:], 0, 8).Every(4))

	fmt.Println(y, u, v)
	// Output: [10 11 12 13] [1 3] [2 4]
}

// Stereo samples lie left, right, left, right. They become two slices, and one
// slice again.
func Example_stereo() {
	samples := []int16{1, -1, 2, -2, 3, -3}
	left, right := make([]int16, 3), make([]int16, 3)

	bfi.Pack(left, nil, bfi.Column(samples, 0, 16).Every(2))
	bfi.Pack(right, nil, bfi.Column(samples[1:], 0, 16).Every(2))
	fmt.Println(left, right)

	clear(samples)
	bfi.Unpack(left, bfi.Column(samples, 0, 16).Every(2))
	bfi.Unpack(right, bfi.Column(samples[1:], 0, 16).Every(2))
	fmt.Println(samples)
	// Output:
	// [1 2 3] [-1 -2 -3]
	// [1 -1 2 -2 3 -3]
}

// Signed samples of 24 bits, the low byte first, become int32s. The array moves the
// bytes, and Extract extends the sign.
func Example_samples24() {
	wav := []byte{0x01, 0x00, 0x00, 0xff, 0xff, 0xff, 0x00, 0x00, 0x80} // 1, -1 and the least
	samples := make([]int32, len(wav)/3)

	bfi.Pack(samples, nil, bfi.Array(wav, 3, 0, 8))
	bfi.Extract(samples, samples, 0, 24)

	fmt.Println(samples)
	// Output: [1 -1 -8388608]
}

// A section of 4,096 blocks of 5 bits fills 342 words. Each word has twelve blocks, and
// the last word has four.
func Example_blocks() {
	blocks := make([]uint16, 4096)
	for i := range blocks {
		blocks[i] = uint16(i % 32)
	}
	section := make([]uint64, (len(blocks)+11)/12)

	bfi.Pack(section, nil, bfi.Array(blocks, 12, 0, 5))
	fmt.Printf("%d words, the first %#x, the last %#x\n", len(section), section[0], section[len(section)-1])

	back := make([]uint16, len(blocks))
	bfi.Unpack(section, bfi.Array(back, 12, 0, 5))
	fmt.Println(slices.Equal(back, blocks))
	// Output:
	// 342 words, the first 0x5a928398a418820, the last 0xffbbc
	// true
}

// PNG has two pixels of 4 bits in a byte, the first one in the high bits.
func Example_png() {
	row := []byte{0x12, 0x34, 0x50} // five pixels
	pixels := make([]uint8, 5)

	bfi.Unpack(row, bfi.Array(pixels, 2, 0, 4).Reversed())
	fmt.Println(pixels)

	clear(row)
	bfi.Pack(row, nil, bfi.Array(pixels, 2, 0, 4).Reversed())
	fmt.Printf("% x\n", row)
	// Output:
	// [1 2 3 4 5]
	// 12 34 50
}

// Quantized weights are signed and have 4 bits. A byte has two: the first half of a
// block is in the low bits of the bytes, and the second half is in the high bits.
func Example_nibbles() {
	weights := []int8{-8, -1, 0, 1, 2, 7}
	half := len(weights) / 2
	quantized := make([]uint8, half)
	bfi.Pack(quantized, nil, bfi.Column(weights[:half], 0, 4), bfi.Column(weights[half:], 4, 4))
	fmt.Printf("% x\n", quantized)

	// The columns are signed, so Unpack sign-extends.
	back := make([]int8, len(weights))
	bfi.Unpack(quantized, bfi.Column(back[:half], 0, 4), bfi.Column(back[half:], 4, 4))
	fmt.Println(back)
	// Output:
	// 18 2f 70
	// [-8 -1 0 1 2 7]
}

// A bool is a byte that is 0 or 1. A slice of them becomes a bitmap.
func Example_bools() {
	bools := []bool{true, false, false, true, true, false, false, false, true}
	bytes := unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(bools))), len(bools))
	bitmap := make([]uint64, (len(bools)+63)/64)

	bfi.Pack(bitmap, nil, bfi.Array(bytes, 64, 0, 1))

	fmt.Printf("%b\n", bitmap)
	// Output: [100011001]
}

// A bitmap is read from bit k on. Each result has bits of two neighboring words.
func Example_bitmap() {
	bitmap := []uint64{0xfedcba9876543210, 0x0123456789abcdef, 0x5}
	const k = 12
	shifted := make([]uint64, len(bitmap)-1)

	bfi.Pack(shifted, nil, bfi.Column(bitmap[:len(shifted)], 0, 64-k).From(k), bfi.Column(bitmap[1:], 64-k, k))

	fmt.Printf("%#x\n", shifted)
	// Output: [0xdeffedcba9876543 0x50123456789abc]
}

// Bytes in big-endian order become uint64s, and bytes again, on any machine.
func Example_bigEndian() {
	wire := []byte{0, 0, 0, 0, 0, 0, 1, 2, 0x80, 0, 0, 0, 0, 0, 0, 3}
	words := make([]uint64, len(wire)/8)

	bfi.Pack(words, nil, bfi.Array(wire, 8, 0, 8).Reversed())
	fmt.Printf("%#x\n", words)

	clear(wire)
	bfi.Unpack(words, bfi.Array(wire, 8, 0, 8).Reversed())
	fmt.Printf("% x\n", wire)
	// Output:
	// [0x102 0x8000000000000003]
	// 00 00 00 00 00 00 01 02 80 00 00 00 00 00 00 03
}

// The bytes of words change their order in place. Each field takes one byte.
func Example_byteOrder() {
	words := []uint32{0x11223344, 0xaabbccdd}

	bfi.Pack(words, nil, bfi.Column(words, 24, 8), bfi.Column(words, 16, 8).From(8),
		bfi.Column(words, 8, 8).From(16), bfi.Column(words, 0, 8).From(24))

	fmt.Printf("%#x\n", words)
	// Output: [0x44332211 0xddccbbaa]
}

// A RISC-V store has its offset in two places: bits 7 to 11, and bits 25 to 31 with
// the sign. The words are signed, so From extends the sign.
func Example_splitField() {
	stores := []int32{0x112623, -0x1edd1dd} // sw x1, 12(x2); sw x1, -4(x4)
	offsets := make([]int32, len(stores))

	bfi.Pack(offsets, nil, bfi.Column(stores, 0, 5).From(7), bfi.Column(stores, 5, 27).From(25))

	fmt.Println(offsets)
	// Output: [12 -4]
}

// Ids have a time, the number of the node that makes them, and a sequence number.
func Example_ids() {
	ms := []uint64{367597485448, 367597485449}
	sequence := []uint16{0, 7}
	ids := make([]uint64, 2)

	bfi.Pack(ids, nil, bfi.Column(ms, 22, 41), bfi.Constant(378, 12, 10), bfi.Column(sequence, 0, 12))

	fmt.Println(ids)
	// Output: [1541815603606036480 1541815603610230791]
}

// Rows are sorted by country, then by day. Rows that are equal in both keep their order.
// One key has the country in its highest bits, then the day, then the row's number.
func Example_sortKey() {
	country := []uint8{2, 1, 2, 1}
	day := []uint16{300, 200, 100, 200}
	row := []uint32{0, 1, 2, 3}
	keys := make([]uint64, len(row))

	bfi.Pack(keys, nil, bfi.Column(country, 48, 8), bfi.Column(day, 32, 16), bfi.Column(row, 0, 32))
	slices.Sort(keys)
	bfi.Unpack(keys, bfi.Column(row, 0, 32))

	fmt.Println(row)
	// Output: [1 3 2 0]
}

// Signed values do not sort as unsigned fields do: negative values would come last. If
// their top bit is flipped, they sort. Select flips it. Where a value has a one, Select
// takes the bit of others. Where it has a zero, Select takes the bit of top.
func Example_biased() {
	values := []int32{-2, 3, -1}
	row := []uint32{0, 1, 2}
	top, others := make([]int32, len(values)), make([]int32, len(values))
	bfi.Pack(top, nil, bfi.Constant(1, 31, 1))
	bfi.Pack(others, nil, bfi.Constant(-1, 0, 31))

	bfi.Select(values, values, others, top) // values ^ top
	keys := make([]uint64, len(values))
	bfi.Pack(keys, nil, bfi.Column(values, 32, 32), bfi.Column(row, 0, 32))
	slices.Sort(keys)
	bfi.Unpack(keys, bfi.Column(row, 0, 32))

	fmt.Println(row)
	// Output: [0 2 1]
}

// A dictionary code has 15 bits, and bit 15 says that the row is null.
func Example_dictionary() {
	codes := []uint16{7, 0, 9}
	null := []uint8{0, 1, 0}
	column := make([]uint16, len(codes))

	bfi.Pack(column, nil, bfi.Column(codes, 0, 15), bfi.Column(null, 15, 1))
	fmt.Printf("%#x\n", column)

	// The null bit is a field of one bit.
	bfi.Unpack(column, bfi.Column(null, 15, 1))
	fmt.Println(null)
	// Output:
	// [0x7 0x8000 0x9]
	// [0 1 0]
}

// Bits that do not fit in a field are cut off silently. Check the range first, or
// saturate.
func Example_range() {
	const width = 10
	sequence := []uint16{3, 1023, 1024}
	words := make([]uint16, len(sequence))

	if most := slices.Max(sequence); most >= 1<<width {
		fmt.Println(most, "has more than 10 bits")
	}
	for i, v := range sequence {
		sequence[i] = min(v, 1<<width-1)
	}
	bfi.Pack(words, nil, bfi.Column(sequence, 0, width))

	fmt.Println(words)
	// Output:
	// 1024 has more than 10 bits
	// [3 1023 1023]
}

// A field is set only in rows that have a value. The bitmap is laid out as in Arrow: row
// i has bit i%8 of byte i/8. Arrow pads its buffers, so the buffer is cut to the bytes
// that have rows.
func Example_validity() {
	rows := []uint32{0xa0000, 0xb0000, 0xc0000, 0xd0000, 0xe0000, 0xf0000, 0xa0000, 0xb0000, 0xc0000, 0xd0000}
	prices := []uint32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	validity := []uint8{0b00001001, 0b10, 0, 0, 0, 0, 0, 0}

	bfi.InsertMasked(rows, prices, rows, 0, 16, validity[:(len(rows)+7)/8])

	fmt.Printf("%#x\n", rows)
	// Output: [0xa000a 0xb0000 0xc0000 0xd000d 0xe0000 0xf0000 0xa0000 0xb0000 0xc0000 0xd0013]
}

// A slice of many megabytes is worth a goroutine for each core. Calls on parts that
// do not overlap may run at the same time. If the parts begin at cache lines, they do
// not slow each other down. Under a mask, a part should have a multiple of 64 lanes, so
// that the next part begins with an element of the mask.
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
