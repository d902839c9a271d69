package main

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShapes runs the PTX that clang makes of testdata/shapes.cu.
func TestShapes(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "shapes.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	// The kernels check that a thread's number is below n.
	const n = 3*blockSize + 45
	random := rand.New(rand.NewPCG(5, 65))
	input := func(size int) []byte {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	u16 := func(b []byte, i int) uint32 { return uint32(binary.LittleEndian.Uint16(b[2*i:])) }
	u32 := func(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	saturated := func(x int8) byte { return byte(min(max(x, -8), 7)) }
	for _, c := range []struct {
		entry   string
		in      [][]byte // the buffers after the output
		numbers []uint64 // the arguments between the buffers and n
		size    int      // the bytes that a thread outputs
		want    func(in [][]byte, i int) []byte
	}{
		{"rgba", [][]byte{input(n), input(n), input(n)}, nil, 4, func(in [][]byte, i int) []byte {
			return []byte{in[0][i], in[1][i], in[2][i], 0xff}
		}},
		{"rgb565", [][]byte{input(n), input(n), input(n)}, nil, 2, func(in [][]byte, i int) []byte {
			return binary.LittleEndian.AppendUint16(nil, uint16(in[0][i]>>3)<<11|uint16(in[1][i]>>2)<<5|uint16(in[2][i])>>3)
		}},
		{"unpack565", [][]byte{input(2 * n)}, nil, 3, func(in [][]byte, i int) []byte {
			v := u16(in[0], i)
			return []byte{byte(v >> 11 * 255 / 31), byte(v >> 5 & 63 * 255 / 63), byte(v & 31 * 255 / 31)}
		}},
		{"nibbles", [][]byte{input(2 * n)}, nil, 1, func(in [][]byte, i int) []byte {
			return []byte{saturated(int8(in[0][2*i]))&15 | saturated(int8(in[0][2*i+1]))<<4}
		}},
		{"quantized", [][]byte{input(32 * n)}, nil, 8, func(in [][]byte, i int) []byte {
			var word uint64
			for k := range 16 {
				word |= uint64(in[0][32*i+2*k]&15) << (4 * k)
			}
			return binary.LittleEndian.AppendUint64(nil, word)
		}},
		{"lengths", [][]byte{input(n + 255), input(n)}, nil, 4, func(in [][]byte, i int) []byte {
			var hash uint32
			for k := range int(in[1][i]) {
				hash = hash*31 + uint32(in[0][i+k])
			}
			return binary.LittleEndian.AppendUint32(nil, hash)
		}},
		{"vectors", [][]byte{input(4 * n), input(4 * n)}, nil, 16, func(in [][]byte, i int) []byte {
			a, b := in[0][4*i:], in[1]
			return toBytes([]uint32{uint32(a[0]) | uint32(a[1])<<8, uint32(a[2])<<4 | uint32(a[3]), u16(b, 2*i), u16(b, 2*i+1)})
		}},
		{"histogram", [][]byte{input(16 * n)}, nil, 4, func(in [][]byte, i int) []byte {
			var count [8]uint32
			for _, x := range in[0][16*i:][:16] {
				count[x&7]++
			}
			var sum uint32
			for _, c := range count {
				sum = sum*3 + c
			}
			return binary.LittleEndian.AppendUint32(nil, sum)
		}},
		{"scalars", nil, []uint64{200, 0xfff0, 0x123456789abcdef0}, 1, func(_ [][]byte, i int) []byte {
			// A shift by 64 or more is undefined in C, but not in PTX.
			return []byte{byte(200 - 16 + uint64(0x123456789abcdef0)>>min(i, 64))}
		}},
		{"bits", [][]byte{input(4 * n)}, nil, 4, func(in [][]byte, i int) []byte {
			x := u32(in[0], i)
			return binary.LittleEndian.AppendUint32(nil, uint32(bits.OnesCount32(x)+bits.LeadingZeros32(x|1))+
				bits.Reverse32(x)+bits.ReverseBytes32(x)+bits.RotateLeft32(x, 7)+x/7)
		}},
	} {
		p, err := parse("shapes.ptx", string(source), c.entry)
		if err != nil {
			t.Error(err)
			continue
		}
		out := make([]byte, c.size*n)
		args := []argument{{buffer: out}}
		for _, b := range c.in {
			args = append(args, argument{buffer: b})
		}
		for _, x := range append(c.numbers, n) {
			args = append(args, argument{number: x})
		}
		if _, err := p.launch(n, args); err != nil {
			t.Error(err)
			continue
		}
		for i := range n {
			if got, want := out[c.size*i:][:c.size], c.want(c.in, i); string(got) != string(want) {
				t.Errorf("%s: thread %d made %x, want %x", c.entry, i, got, want)
				break
			}
		}
	}
}

// extractBits is the PTX ISA's definition of bfe.
func extractBits(a uint64, b, c, msb uint32, signed bool) (d uint64) {
	pos, width := b&0xff, c&0xff
	sign := uint64(0)
	if signed && width > 0 {
		sign = a >> min(pos+width-1, msb) & 1
	}
	for i := range msb + 1 {
		bit := sign
		if i < width && pos+i <= msb {
			bit = a >> (pos + i) & 1
		}
		d |= bit << i
	}
	return d
}

// TestFields runs bfi and bfe of all six types, with every pos and width. One kernel has pos
// and width in registers, and another has them as immediates.
func TestFields(t *testing.T) {
	const kernel = `.version 6.5
.target sm_30
.visible .entry k(.param .u64 input, .param .u64 output, .param .u32 n)
{
	.reg .u64 in, out, i;
	.reg .b64 a64, b64, d64;
	.reg .b32 a32, b32, d32, pos, len, t, n;
	.reg .pred outside;
	ld.param.u64 in, [input];
	ld.param.u64 out, [output];
	ld.param.u32 n, [n];
	mov.u32 t, %%ctaid.x;
	mad.lo.u32 t, t, %%ntid.x, %%tid.x;
	setp.ge.u32 outside, t, n;
	@outside ret;
	mul.wide.u32 i, t, 32;
	add.u64 in, in, i;
	mul.wide.u32 i, t, 8;
	add.u64 out, out, i;
	ld.u64 a64, [in];
	ld.u64 b64, [in+8];
	ld.u32 a32, [in];
	ld.u32 b32, [in+8];
	ld.u32 pos, [in+16];
	ld.u32 len, [in+24];
	%s d%s, a%[2]s, %s%s, %s;
	st.b%[2]s [out], d%[2]s;
	ret;
}`
	values := []uint64{0x0123456789abcdef, 0xfedcba9876543210, 0xffffffffffffffff, 0x8000000080000001, 0x5555aaaa5555aaaa}
	pairs := [][2]uint32{}
	for _, pos := range []uint32{0, 1, 4, 7, 8, 16, 31, 32, 33, 40, 63, 64, 100, 255, 256, 0x108, 0xffffff04} {
		for _, width := range []uint32{0, 1, 4, 8, 24, 31, 32, 33, 48, 63, 64, 65, 255, 256, 0x110} {
			pairs = append(pairs, [2]uint32{pos, width})
		}
	}
	var input []uint64
	for i, pair := range pairs {
		input = append(input, values[i%5], values[i/5%5], uint64(pair[0]), uint64(pair[1]))
	}
	for _, c := range []struct {
		name string
		want func(a, b uint64, pos, width uint32) uint64
	}{
		{"bfi.b32", func(a, b uint64, pos, width uint32) uint64 { return insertBits(a, b&0xffffffff, pos, width, 31) }},
		{"bfi.b64", func(a, b uint64, pos, width uint32) uint64 { return insertBits(a, b, pos, width, 63) }},
		{"bfe.u32", func(a, _ uint64, pos, width uint32) uint64 { return extractBits(a, pos, width, 31, false) }},
		{"bfe.s32", func(a, _ uint64, pos, width uint32) uint64 { return extractBits(a, pos, width, 31, true) }},
		{"bfe.u64", func(a, _ uint64, pos, width uint32) uint64 { return extractBits(a, pos, width, 63, false) }},
		{"bfe.s64", func(a, _ uint64, pos, width uint32) uint64 { return extractBits(a, pos, width, 63, true) }},
	} {
		size := c.name[len(c.name)-2:]
		base := ""
		if strings.HasPrefix(c.name, "bfi") {
			base = "b" + size + ", "
		}
		test := func(pos, width string, field func(i int) [2]uint32) {
			out := make([]byte, 8*len(pairs))
			launch(t, fmt.Sprintf(kernel, c.name, size, base, pos, width), len(pairs),
				argument{buffer: toBytes64(input)}, argument{buffer: out}, argument{number: uint64(len(pairs))})
			for i := range pairs {
				a, b, f := input[4*i], input[4*i+1], field(i)
				if got, want := binary.LittleEndian.Uint64(out[8*i:]), c.want(a, b, f[0], f[1]); got != want {
					t.Fatalf("%s of %#x, %#x at %d, %d in thread %d: %#x, want %#x", c.name, a, b, f[0], f[1], i, got, want)
				}
			}
		}
		test("pos", "len", func(i int) [2]uint32 { return pairs[i] })
		for _, pair := range pairs {
			test(fmt.Sprint(pair[0]), fmt.Sprint(pair[1]), func(int) [2]uint32 { return pair })
		}
	}
}
