package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Where the built-in kernel puts the depth.
const depthPos, depthLen = 32, 24

// pixels are what the built-in kernel reads: a plane for each channel.
type pixels struct{ red, green, blue, alpha, depth []uint32 }

func newPixels(n int) pixels {
	random := rand.New(rand.NewPCG(10, 2))
	plane := func(bits int) []uint32 {
		p := make([]uint32, n)
		for i := range p {
			p[i] = random.Uint32N(1 << bits)
		}
		return p
	}
	return pixels{plane(10), plane(10), plane(10), plane(2), plane(depthLen)}
}

// arguments are those of pack_pixels in kernel/pixel.c.
func (px pixels) arguments() []argument {
	n := len(px.red)
	args := []argument{{buffer: make([]byte, 4*n)}, {buffer: make([]byte, 4*n)}, {buffer: make([]byte, 8*n)}}
	for _, plane := range [][]uint32{px.red, px.green, px.blue, px.alpha, px.depth} {
		b, _ := binary.Append(nil, binary.LittleEndian, plane)
		args = append(args, argument{buffer: b})
	}
	return append(args, argument{number: depthPos}, argument{number: depthLen}, argument{number: uint64(n)})
}

// check compares what the kernel wrote with a loop over the pixels.
func (px pixels) check(args []argument) error {
	for i, a := range px.alpha {
		var word, small uint32
		var nearest uint64
		if a != 0 {
			r, g, b := px.red[i], px.green[i], px.blue[i]
			word = r | g<<10 | b<<20 | a<<30
			small = r>>2 | g>>2<<8 | b>>2<<16 | a*85<<24
			nearest = uint64(word) | uint64(px.depth[i])<<depthPos | uint64(a/3)<<63
		}
		r, s := binary.LittleEndian.Uint32(args[0].buffer[4*i:]), binary.LittleEndian.Uint32(args[1].buffer[4*i:])
		if v := binary.LittleEndian.Uint64(args[2].buffer[8*i:]); r != word || s != small || v != nearest {
			return fmt.Errorf("pixel %d: the kernel made %#x, %#x and %#x, the Go loop %#x, %#x and %#x", i, r, s, v, word, small, nearest)
		}
	}
	return nil
}
