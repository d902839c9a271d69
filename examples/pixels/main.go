// Command pixels splits a picture into planes and packs them into pixels of 16 bits
// (RGB565), and of 10, 10, 10 and 2 bits. It checks both, and writes the picture made
// from the 16 bits.
//
//	pixels [-o OUT] [PNG]
//
// Without a PNG it uses a picture of its own.
package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"image"
	"image/color"
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

// maxPixels bounds the pixels of a picture. At the bound they take some 2 GB of memory.
const maxPixels = 1 << 26

func run(in, out string, stdout io.Writer) error {
	picture := sample()
	if in != "" {
		var err error
		if picture, err = read(in); err != nil {
			return err
		}
	}
	p, err := takeApart(picture)
	if err != nil {
		return err
	}
	rgb565, rgb10a2 := p.rgb565(), p.rgb10a2()
	back := fromRGB565(rgb565, p.alpha)
	if err := check(picture, p, rgb565, rgb10a2, back); err != nil {
		return err
	}
	bounds := picture.Bounds()
	fmt.Fprintf(stdout, "%d x %d pixels, taken apart and packed by the %s kernels and checked one by one\n",
		bounds.Dx(), bounds.Dy(), bfi.Kernel())

	rgba := image.NewNRGBA(bounds)
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

// read decodes a PNG, unless its header announces too many pixels. The decoder allocates
// memory for all of them before it reads the first.
func read(path string) (image.Image, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if int64(config.Width)*int64(config.Height) > maxPixels {
		return nil, fmt.Errorf("%s: %d x %d pixels, want at most %d in all", path, config.Width, config.Height, maxPixels)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return picture, nil
}

// sample returns a picture on which lost bits show: fading colors, and a gray disk with
// a translucent lower half.
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

// takeApart splits a picture into planes of 8 bits. It reads each type that package png
// returns without converting it. If it drew the picture into another type, colors would
// be premultiplied by alpha, and translucent colors would lose bits.
func takeApart(picture image.Image) (planes, error) {
	n := picture.Bounds().Dx() * picture.Bounds().Dy()
	p := planes{make([]uint8, n), make([]uint8, n), make([]uint8, n), bytes.Repeat([]byte{0xff}, n)}
	var err error
	switch m := picture.(type) {
	case *image.Gray:
		p.red, p.green, p.blue = m.Pix, m.Pix, m.Pix
	case *image.Gray16:
		words := make([]uint16, n)
		_, err = binary.Decode(m.Pix, binary.BigEndian, words)
		bfi.Unpack(words, bfi.Column(p.red, 8, 8))
		p.green, p.blue = p.red, p.red
	case *image.RGBA: // opaque, or it would be NRGBA
		err = p.unpack8(m.Pix)
	case *image.NRGBA:
		err = p.unpack8(m.Pix)
	case *image.RGBA64: // opaque, or it would be NRGBA64
		err = p.unpack16(m.Pix)
	case *image.NRGBA64:
		err = p.unpack16(m.Pix)
	case *image.Paletted:
		var pix []byte
		for _, index := range m.Pix {
			c := color.NRGBAModel.Convert(m.Palette[index]).(color.NRGBA) // exact: png's are NRGBA or opaque
			pix = append(pix, c.R, c.G, c.B, c.A)
		}
		err = p.unpack8(pix)
	default:
		err = fmt.Errorf("pictures of type %T are not supported", m)
	}
	return p, err
}

// unpack8 fills the planes from bytes red, green, blue, alpha.
func (p planes) unpack8(pix []byte) error {
	words := make([]uint32, len(p.red)) // 0xAABBGGRR
	_, err := binary.Decode(pix, binary.LittleEndian, words)
	bfi.Unpack(words, bfi.Column(p.red, 0, 8), bfi.Column(p.green, 8, 8), bfi.Column(p.blue, 16, 8),
		bfi.Column(p.alpha, 24, 8))
	return err
}

// unpack16 fills the planes from the high bytes of red, green, blue, alpha, each a
// big-endian word.
func (p planes) unpack16(pix []byte) error {
	words := make([]uint64, len(p.red)) // 0xRRrrGGggBBbbAAaa
	_, err := binary.Decode(pix, binary.BigEndian, words)
	bfi.Unpack(words, bfi.Column(p.red, 56, 8), bfi.Column(p.green, 40, 8), bfi.Column(p.blue, 24, 8),
		bfi.Column(p.alpha, 8, 8))
	return err
}

func (p planes) rgb565() []uint16 {
	words := make([]uint16, len(p.red))
	bfi.Pack(words, nil, bfi.Column(p.red, 11, 5).From(3), bfi.Column(p.green, 5, 6).From(2),
		bfi.Column(p.blue, 0, 5).From(3))
	return words
}

// rgb10a2 widens colors to 10 bits: it repeats their two high bits below their low bits,
// so 255 becomes 1023.
func (p planes) rgb10a2() []uint32 {
	words := make([]uint32, len(p.red))
	bfi.Pack(words, nil, bfi.Column(p.alpha, 30, 2).From(6),
		bfi.Column(p.red, 2, 8), bfi.Column(p.red, 0, 2).From(6),
		bfi.Column(p.green, 12, 8), bfi.Column(p.green, 10, 2).From(6),
		bfi.Column(p.blue, 22, 8), bfi.Column(p.blue, 20, 2).From(6))
	return words
}

// fromRGB565 widens colors to 8 bits. It repeats their high bits too, so 31 and 63 become
// 255.
func fromRGB565(rgb565 []uint16, alpha []uint8) []uint32 {
	words := make([]uint32, len(rgb565))
	bfi.Pack(words, nil, bfi.Column(alpha, 24, 8),
		bfi.Column(rgb565, 3, 5).From(11), bfi.Column(rgb565, 0, 3).From(13),
		bfi.Column(rgb565, 10, 6).From(5), bfi.Column(rgb565, 8, 2).From(9),
		bfi.Column(rgb565, 19, 5), bfi.Column(rgb565, 16, 3).From(2))
	return words
}

// check computes every pixel again, by arithmetic on the color that picture.At returns.
func check(picture image.Image, p planes, rgb565 []uint16, rgb10a2, back []uint32) error {
	ten := func(c uint32) uint32 { return c*4 + c/64 }
	bounds := picture.Bounds()
	for i := range rgb565 {
		c := picture.At(bounds.Min.X+i%bounds.Dx(), bounds.Min.Y+i/bounds.Dx())
		r, g, b, a := straight(c)
		r5, g6, b5 := r/8, g/4, b/8
		have := [...]uint32{uint32(p.red[i]), uint32(p.green[i]), uint32(p.blue[i]), uint32(p.alpha[i]),
			uint32(rgb565[i]), rgb10a2[i], back[i]}
		want := [...]uint32{r, g, b, a,
			r5*2048 + g6*32 + b5, ten(r) + ten(g)<<10 + ten(b)<<20 + a/64<<30, r5*33/4 + g6*65/16<<8 + b5*33/4<<16 + a<<24}
		if have != want {
			return fmt.Errorf("pixel %d, %v, became %#x, want %#x", i, c, have, want)
		}
	}
	return nil
}

// straight returns a color of a PNG in 8 bits each, not premultiplied by alpha. Colors of
// types other than NRGBA and NRGBA64 are opaque.
func straight(c color.Color) (r, g, b, a uint32) {
	switch c := c.(type) {
	case color.NRGBA:
		return uint32(c.R), uint32(c.G), uint32(c.B), uint32(c.A)
	case color.NRGBA64:
		return uint32(c.R / 256), uint32(c.G / 256), uint32(c.B / 256), uint32(c.A / 256)
	}
	r, g, b, a = c.RGBA()
	return r / 256, g / 256, b / 256, a / 256
}
