// Command pixels takes a picture apart into planes, packs them into pixels of 16
// bits (RGB565) and of 10, 10, 10 and 2, checks those, and writes the picture that
// is left in 16 bits.
//
//	pixels [-o OUT] [PNG]
//
// Without a PNG it takes a picture of its own.
package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"github.com/gobfi/bfi"
)

func main() {
	out := flag.String("o", filepath.Join(os.TempDir(), "pixels.png"), "write the picture to this `file`")
	flag.Parse()
	if err := run(flag.Arg(0), *out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pixels:", err)
		os.Exit(1)
	}
}

func run(in, out string, stdout io.Writer) error {
	picture := sample()
	if in != "" {
		data, err := os.ReadFile(in)
		if err != nil {
			return err
		}
		if picture, err = png.Decode(bytes.NewReader(data)); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
	}
	bounds := picture.Bounds()
	rgba := image.NewNRGBA(bounds)
	draw.Draw(rgba, bounds, picture, bounds.Min, draw.Src)

	words := make([]uint32, len(rgba.Pix)/4) // 0xAABBGGRR
	if _, err := binary.Decode(rgba.Pix, binary.LittleEndian, words); err != nil {
		return err
	}
	p := takeApart(words)
	rgb565, rgb10a2 := p.rgb565(), p.rgb10a2()
	back := fromRGB565(rgb565, p.alpha)
	if err := check(words, p, rgb565, rgb10a2, back); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d x %d pixels, taken apart and packed by the %s kernels and checked one by one\n",
		bounds.Dx(), bounds.Dy(), bfi.Kernel())

	if _, err := binary.Encode(rgba.Pix, binary.LittleEndian, back); err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := cmp.Or(png.Encode(file, rgba), file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: the picture with RGB565 colors\n", out)
	return err
}

// sample is a picture in which lost bits show: fading colors, and on them a gray
// disk, the lower half of which can be seen through.
func sample() image.Image {
	const width, height, radius = 320, 240, 80
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{uint8(255 * x / width), uint8(255 * y / height), uint8(255 - 255*x/width), 255}
			if dx, dy := x-width/2, y-height/2; dx*dx+dy*dy < radius*radius {
				gray := uint8(255 * (dx + radius) / (2 * radius))
				c = color.NRGBA{gray, gray, gray, uint8(255 - 3*max(dy, 0))}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

type planes struct{ red, green, blue, alpha []uint8 }

func takeApart(words []uint32) planes {
	n := len(words)
	p := planes{make([]uint8, n), make([]uint8, n), make([]uint8, n), make([]uint8, n)}
	bfi.Unpack(words, bfi.Column(p.red, 0, 8), bfi.Column(p.green, 8, 8), bfi.Column(p.blue, 16, 8), bfi.Column(p.alpha, 24, 8))
	return p
}

func (p planes) rgb565() []uint16 {
	words := make([]uint16, len(p.red))
	bfi.Pack(words, nil, bfi.Column(p.red, 11, 5).From(3), bfi.Column(p.green, 5, 6).From(2), bfi.Column(p.blue, 0, 5).From(3))
	return words
}

// rgb10a2 repeats the high bits of a color below its low ones, so that 255 becomes
// 1023.
func (p planes) rgb10a2() []uint32 {
	words := make([]uint32, len(p.red))
	bfi.Pack(words, nil, bfi.Column(p.alpha, 30, 2).From(6),
		bfi.Column(p.red, 2, 8), bfi.Column(p.red, 0, 2).From(6),
		bfi.Column(p.green, 12, 8), bfi.Column(p.green, 10, 2).From(6),
		bfi.Column(p.blue, 22, 8), bfi.Column(p.blue, 20, 2).From(6))
	return words
}

// fromRGB565 repeats high bits too, so that 31 and 63 become 255.
func fromRGB565(rgb565 []uint16, alpha []uint8) []uint32 {
	words := make([]uint32, len(rgb565))
	bfi.Pack(words, nil, bfi.Column(alpha, 24, 8),
		bfi.Column(rgb565, 3, 5).From(11), bfi.Column(rgb565, 0, 3).From(13),
		bfi.Column(rgb565, 10, 6).From(5), bfi.Column(rgb565, 8, 2).From(9),
		bfi.Column(rgb565, 19, 5), bfi.Column(rgb565, 16, 3).From(2))
	return words
}

// check computes every pixel again, by arithmetic.
func check(words []uint32, p planes, rgb565 []uint16, rgb10a2, back []uint32) error {
	ten := func(c uint32) uint32 { return c*4 + c/64 }
	for i, w := range words {
		r, g, b, a := w%256, w/256%256, w/256/256%256, w/256/256/256
		r5, g6, b5 := r/8, g/4, b/8
		have := [...]uint32{uint32(p.red[i]), uint32(p.green[i]), uint32(p.blue[i]), uint32(p.alpha[i]),
			uint32(rgb565[i]), rgb10a2[i], back[i]}
		want := [...]uint32{r, g, b, a,
			r5*2048 + g6*32 + b5, ten(r) + ten(g)<<10 + ten(b)<<20 + a/64<<30, r5*33/4 + g6*65/16<<8 + b5*33/4<<16 + a<<24}
		if have != want {
			return fmt.Errorf("pixel %d, %#08x, became %#x, want %#x", i, w, have, want)
		}
	}
	return nil
}
