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
	return []argument{
		{buffer: make([]byte, 4*n)}, {buffer: make([]byte, 4*n)}, {buffer: make([]byte, 8*n)},
		{buffer: toBytes(px.red)}, {buffer: toBytes(px.green)}, {buffer: toBytes(px.blue)},
		{buffer: toBytes(px.alpha)}, {buffer: toBytes(px.depth)},
		{number: depthPos}, {number: depthLen}, {number: uint32(n)},
	}
}

func toBytes(plane []uint32) (b []byte) {
	for _, x := range plane {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// check compares what the kernel wrote with a loop over the pixels.
func (px pixels) check(buffers [][]byte) error {
	rgb10a2, preview, visible := buffers[0], buffers[1], buffers[2]
	for i, a := range px.alpha {
		var word, small uint32
		var nearest uint64
		if a != 0 {
			r, g, b := px.red[i], px.green[i], px.blue[i]
			word = r | g<<10 | b<<20 | a<<30
			small = r>>2 | g>>2<<8 | b>>2<<16 | a*85<<24
			nearest = uint64(word) | uint64(px.depth[i])<<depthPos
			if a == 3 {
				nearest |= 1 << 63
			}
		}
		if got := binary.LittleEndian.Uint32(rgb10a2[4*i:]); got != word {
			return fmt.Errorf("pixel %d: the kernel made the 10-10-10-2 word %#x, the Go loop %#x", i, got, word)
		}
		if got := binary.LittleEndian.Uint32(preview[4*i:]); got != small {
			return fmt.Errorf("pixel %d: the kernel made the preview %#x, the Go loop %#x", i, got, small)
		}
		if got := binary.LittleEndian.Uint64(visible[8*i:]); got != nearest {
			return fmt.Errorf("pixel %d: the kernel made the visible word %#x, the Go loop %#x", i, got, nearest)
		}
	}
	return nil
}
