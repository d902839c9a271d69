package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gobfi/bfi"
)

// A testPicture has the color that each pixel must be read as, row by row.
type testPicture struct {
	image.Image
	want []color.NRGBA
}

// pictures returns a picture of each type that package png returns.
func pictures() []testPicture {
	const width, height = 101, 73 // primes
	r := rand.New(rand.NewPCG(20, 3))
	// Nearly transparent colors lose the most bits when they are premultiplied by alpha.
	alphas := []uint16{0, 0x0100, 0x4000, 0xffff}
	random := func() color.NRGBA64 {
		return color.NRGBA64{uint16(r.Uint32()), uint16(r.Uint32()), uint16(r.Uint32()), alphas[r.IntN(len(alphas))]}
	}
	high := func(c color.NRGBA64) color.NRGBA {
		return color.NRGBA{uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8), uint8(c.A >> 8)}
	}
	var palette color.Palette
	for range 256 {
		palette = append(palette, high(random()))
	}
	bounds := image.Rect(0, 0, width, height)
	gray, gray16 := image.NewGray(bounds), image.NewGray16(bounds)
	rgba, rgba64 := image.NewRGBA(bounds), image.NewRGBA64(bounds)
	nrgba, nrgba64 := image.NewNRGBA(bounds), image.NewNRGBA64(bounds)
	paletted := image.NewPaletted(bounds, palette)
	var shades, opaque, clear, indexed []color.NRGBA
	for y := range height {
		for x := range width {
			c := random()
			h := high(c)
			gray.SetGray(x, y, color.Gray{h.R})
			gray16.SetGray16(x, y, color.Gray16{c.R})
			shades = append(shades, color.NRGBA{h.R, h.R, h.R, 0xff})
			rgba.SetRGBA(x, y, color.RGBA{h.R, h.G, h.B, 0xff})
			rgba64.SetRGBA64(x, y, color.RGBA64{c.R, c.G, c.B, 0xffff})
			opaque = append(opaque, color.NRGBA{h.R, h.G, h.B, 0xff})
			nrgba.SetNRGBA(x, y, h)
			nrgba64.SetNRGBA64(x, y, c)
			clear = append(clear, h)
			paletted.SetColorIndex(x, y, uint8(c.G))
			indexed = append(indexed, palette[uint8(c.G)].(color.NRGBA))
		}
	}
	return []testPicture{{gray, shades}, {gray16, shades}, {rgba, opaque}, {rgba64, opaque},
		{nrgba, clear}, {nrgba64, clear}, {paletted, indexed}}
}

// write writes a picture to a file of its own.
func write(t *testing.T, m image.Image) (path string) {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, m); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "in.png")
	if err := os.WriteFile(path, data.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	for _, picture := range pictures() {
		t.Run(fmt.Sprintf("%T", picture.Image), func(t *testing.T) {
			in := write(t, picture.Image)
			if m, err := read(in); err != nil || fmt.Sprintf("%T", m) != fmt.Sprintf("%T", picture.Image) {
				t.Fatalf("read gives a %T and the error %v, want a %T", m, err, picture.Image)
			}
			runs(t, in, picture)
		})
	}
	t.Run("own", func(t *testing.T) {
		m := sample().(*image.NRGBA)
		var want []color.NRGBA
		for i := 0; i < len(m.Pix); i += 4 {
			want = append(want, color.NRGBA{m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3]})
		}
		runs(t, "", testPicture{m, want})
	})
	t.Run("one pixel", func(t *testing.T) {
		m := image.NewNRGBA64(image.Rect(0, 0, 1, 1))
		m.SetNRGBA64(0, 0, color.NRGBA64{0xc800, 0x6400, 0x3200, 0x4000})
		have := runs(t, write(t, m), testPicture{m, []color.NRGBA{{200, 100, 50, 64}}})
		if have[0] != (color.NRGBA{206, 101, 49, 64}) {
			t.Errorf("the pixel is %v, want {206 101 49 64}", have[0])
		}
	})
}

// runs runs the program on a file and returns the pixels that the program wrote. It checks
// that their colors lost only the bits that RGB565 has no room for, and alpha lost none.
func runs(t *testing.T, in string, picture testPicture) (have []color.NRGBA) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.png")
	var stdout strings.Builder
	if err := run(in, out, &stdout); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "by the "+bfi.Kernel()+" kernels") || !strings.Contains(stdout.String(), out) {
		t.Errorf("printed %q, want the kernel and the file named", stdout.String())
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Size()
	if m.Bounds().Size() != size {
		t.Fatalf("the picture is %v, want %v", m.Bounds().Size(), size)
	}
	for i, c := range picture.want {
		h := color.NRGBAModel.Convert(m.At(i%size.X, i/size.X)).(color.NRGBA)
		have = append(have, h)
		if want := (color.NRGBA{c.R>>3<<3 | c.R>>5, c.G>>2<<2 | c.G>>6, c.B>>3<<3 | c.B>>5, c.A}); h != want {
			t.Fatalf("pixel %d, %v, became %v, want %v", i, c, h, want)
		}
	}
	return have
}

// TestForgedSize changes the size in a header. The program must refuse the file before
// it asks for that much memory.
func TestForgedSize(t *testing.T) {
	for _, test := range []struct {
		width, height uint32
		refused       bool
	}{
		{1 << 20, 1 << 20, true}, {1<<31 - 1, 1 << 16, true}, {maxPixels + 1, 1, true}, {1 << 13, 1<<13 + 1, true},
		{1, 2, false}, // the size is allowed, but too few pixels follow
	} {
		path := write(t, image.NewGray(image.Rect(0, 0, 1, 1)))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// The header has a signature of 8 bytes and 4 bytes of length. The checksum covers the
		// rest: IHDR, width, height and 5 bytes more.
		binary.BigEndian.PutUint32(data[16:], test.width)
		binary.BigEndian.PutUint32(data[20:], test.height)
		binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		err = run(path, filepath.Join(t.TempDir(), "out.png"), io.Discard)
		want := fmt.Sprintf("%s: %d x %d pixels, want at most 67108864 in all", path, test.width, test.height)
		if err == nil || (err.Error() == want) != test.refused {
			t.Errorf("%d x %d: error %v, want %q: %v", test.width, test.height, err, want, test.refused)
		}
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no picture"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ in, out, name string }{
		{filepath.Join(dir, "missing"), filepath.Join(dir, "out"), "missing"},
		{text, filepath.Join(dir, "out"), text},
		{"", dir, dir},
	} {
		err := run(test.in, test.out, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.name) {
			t.Errorf("run(%q, %q): error %v, want one about %s", test.in, test.out, err, test.name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("a picture is written where none was read")
	}
}

// TestCheck inverts each bit of each result once. The check must see it.
func TestCheck(t *testing.T) {
	m := image.NewNRGBA(image.Rect(5, 7, 7, 8))
	m.SetNRGBA(5, 7, color.NRGBA{0x12, 0xff, 0xc0, 0x80})
	for bit := range 4*8 + 16 + 2*32 {
		p, err := takeApart(m)
		if err != nil {
			t.Fatal(err)
		}
		rgb565, rgb10a2 := p.rgb565(), p.rgb10a2()
		back := fromRGB565(rgb565, p.alpha)
		if err := check(m, p, rgb565, rgb10a2, back); err != nil {
			t.Fatal(err)
		}
		switch {
		case bit < 32:
			[][]uint8{p.red, p.green, p.blue, p.alpha}[bit/8][1] ^= 1 << (bit % 8)
		case bit < 48:
			rgb565[1] ^= 1 << (bit - 32)
		case bit < 80:
			rgb10a2[1] ^= 1 << (bit - 48)
		default:
			back[1] ^= 1 << (bit - 80)
		}
		if err := check(m, p, rgb565, rgb10a2, back); err == nil || !strings.HasPrefix(err.Error(), "pixel 1, ") {
			t.Errorf("bit %d wrong: error %v, want one about pixel 1", bit, err)
		}
	}
}

// TestCheckBegins takes planes from a drawn picture, whose colors were premultiplied by
// alpha. The check must see that, because it begins with the picture.
func TestCheckBegins(t *testing.T) {
	for _, picture := range pictures()[4:] { // pictures with alpha
		premultiplied, drawn := image.NewRGBA(picture.Bounds()), image.NewNRGBA(picture.Bounds())
		draw.Draw(premultiplied, drawn.Rect, picture, image.Point{}, draw.Src)
		draw.Draw(drawn, drawn.Rect, premultiplied, image.Point{}, draw.Src)
		p, err := takeApart(drawn)
		if err != nil {
			t.Fatal(err)
		}
		rgb565 := p.rgb565()
		err = check(picture, p, rgb565, p.rgb10a2(), fromRGB565(rgb565, p.alpha))
		if err == nil {
			t.Errorf("%T: error %v, want one about colors that drawing lost", picture.Image, err)
		}
	}
}
