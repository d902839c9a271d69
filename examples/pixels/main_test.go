package main

import (
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

func TestRun(t *testing.T) {
	noise := image.NewNRGBA(image.Rect(-3, 5, 98, 78)) // of a size and place that nothing divides
	for i := range noise.Pix {
		noise.Pix[i] = uint8(rand.Uint32())
	}
	gray := image.NewGray16(image.Rect(0, 0, 1, 300))
	draw.Draw(gray, gray.Rect, sample(), image.Point{}, draw.Src)
	paletted := image.NewPaletted(image.Rect(0, 0, 64, 64), color.Palette{color.White, color.Transparent, color.Black})
	draw.Draw(paletted, paletted.Rect, sample(), image.Point{}, draw.Src)

	tests := []struct {
		name    string
		picture image.Image // nil is the program's own
	}{{"own", nil}, {"noise", noise}, {"gray", gray}, {"paletted", paletted}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, out := "", filepath.Join(t.TempDir(), "out.png")
			if test.picture == nil {
				test.picture = sample()
			} else {
				in = filepath.Join(t.TempDir(), "in.png")
				file, err := os.Create(in)
				if err != nil {
					t.Fatal(err)
				}
				if err := png.Encode(file, test.picture); err != nil {
					t.Fatal(err)
				}
				file.Close()
			}
			var stdout strings.Builder
			if err := run(in, out, &stdout); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(stdout.String(), "by the "+bfi.Kernel()+" kernels") || !strings.Contains(stdout.String(), out) {
				t.Errorf("printed %q, want the kernel and the file named", stdout.String())
			}
			compare(t, out, test.picture)
		})
	}
}

// compare insists that the colors in a file lost no more than their low bits, and
// alpha nothing.
func compare(t *testing.T, path string, want image.Image) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	have, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if have.Bounds().Size() != want.Bounds().Size() {
		t.Fatalf("the picture is %v, want %v", have.Bounds(), want.Bounds())
	}
	from := want.Bounds().Min
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			h := color.NRGBAModel.Convert(have.At(x, y)).(color.NRGBA)
			w := color.NRGBAModel.Convert(want.At(from.X+x, from.Y+y)).(color.NRGBA)
			if h.R>>3 != w.R>>3 || h.G>>2 != w.G>>2 || h.B>>3 != w.B>>3 || h.A != w.A {
				t.Fatalf("(%d, %d) is %v, was %v", x, y, h, w)
			}
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

// A wrong bit, in whatever was made, must be seen.
func TestCheck(t *testing.T) {
	words := []uint32{0x80c0ff12, 0}
	for bit := range 4*8 + 16 + 2*32 {
		p := takeApart(words)
		rgb565, rgb10a2 := p.rgb565(), p.rgb10a2()
		back := fromRGB565(rgb565, p.alpha)
		if err := check(words, p, rgb565, rgb10a2, back); err != nil {
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
		if err := check(words, p, rgb565, rgb10a2, back); err == nil || !strings.HasPrefix(err.Error(), "pixel 1, ") {
			t.Errorf("bit %d wrong: error %v, want one about pixel 1", bit, err)
		}
	}
}
