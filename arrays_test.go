package bfi

import (
	"bytes"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"
)

// TestInterleavedColumns unpacks to columns that lie in each other's gaps, and compares them
// with separate columns. Elements that are in no column must keep their value.
func TestInterleavedColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 31))
	for _, layout := range []struct {
		stride int
		counts []int // the elements of each column in turn; a negative count is a gap
	}{
		{4, []int{1, 1, 1, 1}},
		{4, []int{1, 1, -1, 1}},
		{2, []int{1, 1}},
		{3, []int{2, 1}},
		{5, []int{-1, 3, 1}},
		{7, []int{2, -1, 1, -2, 1}},
	} {
		interleave[uint8](t, r, layout.stride, layout.counts)
		interleave[int16](t, r, layout.stride, layout.counts)
		interleave[uint32](t, r, layout.stride, layout.counts)
		interleave[int64](t, r, layout.stride, layout.counts)
	}
}

func interleave[E Word](t *testing.T, r *rand.Rand, stride int, counts []int) {
	t.Helper()
	for _, n := range []int{1, 2, 3, 40, 100, 1000} {
		src := make([]uint64, n)
		for i := range src {
			src[i] = r.Uint64()
		}
		before := make([]E, n*stride-r.IntN(stride))
		for i := range before {
			before[i] = E(r.Uint64())
		}
		var fields []Field
		have := make([]E, len(before))
		want := slices.Clone(before)
		start := 0
		for k, count := range counts {
			if count < 0 {
				start -= count
				continue
			}
			pos, width := uint32(11*k), [...]uint32{8, 5, 16}[r.IntN(3)]
			if first := (n-1)*stride + start; first < len(before) {
				fields = append(fields, Array(have[start:], count, pos, width).Every(stride))
				for j := range count {
					column := make([]E, n)
					Unpack(src, Column(column, pos+uint32(j)*width, width))
					for i, v := range column {
						if at := i*stride + start + j; at < len(want) {
							want[at] = v
						}
					}
				}
			}
			start += count
		}
		r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		onEveryKernel(func(k kernel) {
			copy(have, before)
			Unpack(src, fields...)
			if !slices.Equal(have, want) {
				t.Fatalf("%T on %s: %d words to columns of %v elements every %d:\nhave %v\nwant %v",
					have, k, n, counts, stride, have, want)
			}
		})
	}
}

// TestPanicInterleaved checks that Unpack panics if columns share an element, or if columns
// that interleave differ in stride or in the size of their elements.
func TestPanicInterleaved(t *testing.T) {
	v := make([]uint16, 80)
	bytes := unsafe.Slice((*uint8)(unsafe.Pointer(&v[0])), 160)
	src := make([]uint32, 10)
	const text = "bfi: Unpack: fields[1] overlaps fields[0]"
	for name, c := range map[string]struct {
		fields []Field
		want   string
	}{
		"the same element":         {[]Field{Column(v[:40], 0, 8).Every(4), Column(v[:40], 0, 8).Every(4)}, text},
		"a word later":             {[]Field{Column(v[4:44], 0, 8).Every(4), Column(v[:40], 0, 8).Every(4)}, text},
		"the first of two":         {[]Field{Array(v[1:41], 2, 0, 8).Every(4), Column(v[:38], 0, 8).Every(4)}, ""},
		"the second of two":        {[]Field{Array(v[:40], 2, 0, 8).Every(4), Column(v[1:40], 0, 8).Every(4)}, text},
		"into the next word":       {[]Field{Array(v[:40], 2, 0, 8).Every(4), Array(v[3:43], 2, 0, 8).Every(4)}, text},
		"other strides":            {[]Field{Column(v[:40], 0, 8).Every(4), Column(v[1:51], 0, 8).Every(5)}, text},
		"a plain column":           {[]Field{Column(v[:40], 0, 8).Every(4), Column(v[1:11], 0, 8)}, text},
		"elements of another size": {[]Field{Column(v[:40], 0, 8).Every(4), Column(bytes[2:42], 0, 8).Every(4)}, text},
		"side by side":             {[]Field{Column(bytes[1:81], 0, 8).Every(8), Column(bytes[2:82], 0, 8).Every(8)}, ""},
		"after the last word":      {[]Field{Column(v[:37], 0, 8).Every(4), Column(v[37:77], 0, 8).Every(4)}, ""},
		"the third overlaps": {[]Field{
			Column(v[:40], 0, 8).Every(4), Column(v[1:40], 0, 8).Every(4),
			Column(v[2:40], 0, 8).Every(4), Column(v[1:40], 0, 8).Every(4),
		}, "bfi: Unpack: fields[3] overlaps fields[1]"},
		"65 elements": {[]Field{Array(bytes[:160], 16, 0, 2), Array(bytes[:0], 49, 0, 1)},
			"bfi: Unpack: len(fields[1]) = 0, 49 to a word, is for 0 words, want len(src) = 10"},
		"too many elements, in all": {[]Field{Array(make([]uint8, 320), 32, 0, 2), Array(make([]uint8, 330), 33, 0, 1)},
			"bfi: Unpack: fields have 65 elements in a word, want at most 64"},
	} {
		t.Run(name, func(t *testing.T) { panics(t, c.want, func() { Unpack(src, c.fields...) }) })
	}
	// With one word, neither array reaches the elements that they would share.
	panics(t, "", func() { Unpack(src[:1], Array(v[:4], 2, 0, 8).Every(4), Array(v[3:5], 2, 0, 8).Every(4)) })
}

// panics checks that call panics with the wanted text. If the text is empty, call must not
// panic.
func panics(t *testing.T, want string, call func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if have := recover(); want == "" && have != nil || want != "" && have != want {
			t.Errorf("panic(%v), want %q", have, want)
		}
	}()
	call()
}

func TestPanicArray(t *testing.T) {
	w := make([]uint32, 9)
	for want, call := range map[string]func(){
		"bfi: Array: count = 0, want 1 to 64":                                 func() { Array(w, 0, 0, 1) },
		"bfi: Array: count = -1, want 1 to 64":                                func() { Array(w, -1, 0, 1) },
		"bfi: Array: count = 65, want 1 to 64":                                func() { Array(w, 65, 0, 1) },
		"bfi: Every: n = 0, want at least the count of elements in a word, 1": func() { Column(w, 0, 1).Every(0) },
		"bfi: Every: n = 2, want at least the count of elements in a word, 3": func() { Array(w, 3, 0, 1).Every(2) },
		"bfi: Pack: len(fields[0]) = 9, 4 to a word, is for 3 words, want len(dst) = 2": func() {
			Pack(make([]uint8, 2), nil, Array(w, 4, 0, 1))
		},
		"bfi: Pack: dst overlaps fields[0]": func() { Pack(w[:3], nil, Array(w[:9], 3, 0, 1)) },
		"bfi: Pack: dst overlaps fields[1]": func() {
			Pack(w[6:9], nil, Constant(0, 0, 1), Column(w[:7], 0, 1).Every(3))
		},
		"bfi: Unpack: src overlaps fields[0]": func() { Unpack(w[:3], Array(w[:9], 3, 0, 1)) },
		"bfi: Pack: fields have 65 elements in a word, want at most 64": func() {
			Pack(w[:1], nil, Array(make([]uint8, 64), 64, 0, 1), Constant(0, 0, 1))
		},
		"bfi: Words: s has 6 bytes, want a multiple of 4":                    func() { Words[uint32](make([]uint8, 6)) },
		"bfi: Words: s starts 1 bytes past a multiple of the word's size, 2": func() { Words[uint16](words8(w)[1:5]) },
	} {
		panics(t, want, call)
	}
}

// TestArrayLimits checks Arrays that run past the word, and the greatest stride.
func TestArrayLimits(t *testing.T) {
	onEveryKernel(func(k kernel) {
		dst := []uint32{7}
		Pack(dst, nil, Column([]uint8{0xab, 0xcd}, 0, 8).Every(math.MaxInt))
		if dst[0] != 0xab {
			t.Errorf("%s: Every(%d) packs %#x, want 0xab", k, math.MaxInt, dst[0])
		}
		// 255 is the greatest width. The second element's field begins far past the word.
		wide := []uint64{5, 6}
		dst64 := []uint64{1}
		Pack(dst64, dst64, Array(wide, 2, 1, 255))
		if dst64[0] != 11 {
			t.Errorf("%s: two fields of 255 bits at 1 give %d, want 11", k, dst64[0])
		}
		Unpack([]uint64{11}, Array(wide, 2, 1, 255))
		if !slices.Equal(wide, []uint64{5, 0}) {
			t.Errorf("%s: two fields of 255 bits at 1 come back as %v, want [5 0]", k, wide)
		}
	})
}

// TestFullWords packs and unpacks Arrays that fill whole words. Some kernels take only such Arrays.
func TestFullWords(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 33))
	fullWords[uint8](t, r)
	fullWords[uint16](t, r)
	fullWords[uint32](t, r)
	fullWords[uint64](t, r)
}

func fullWords[T Word](t *testing.T, r *rand.Rand) {
	t.Helper()
	bits := 8 * int(unsafe.Sizeof(T(0)))
	for _, width := range []int{1, 2, 4, 8} {
		count := bits / width
		for _, element := range []fieldKind{
			array(1, count, count, 0), array(2, count, count, 0),
			array(1, count, count, 0).ofSigned(), array(1, count, count, 0).reversedKind(),
		} {
			for _, e := range named[T](packEntry[T](false, element), unpackEntry[T](element)) {
				for _, n := range []int{1, 2, 7, 64, 65, 150, 1000} {
					s := e.sample(r, n, e.apart())
					s.pos[0], s.width[0], s.from[0] = 0, uint32(width), [...]uint32{0, 0, 3}[r.IntN(3)]
					e.answer(s)
					e.heap(n).verify(t, &e, s, n, e.anyOffsets(r))
				}
			}
		}
	}
}

// TestPartsOfBytes packs a column and a constant. Together they fill the words, but one byte
// has bits of both.
func TestPartsOfBytes(t *testing.T) {
	values := make([]uint16, 200)
	for i := range values {
		values[i] = uint16(uint32(i) * 2654435761 >> 3)
	}
	onEveryKernel(func(k kernel) {
		dst := make([]uint16, len(values))
		Pack(dst, nil, Column(values, 0, 12), Constant(5, 12, 4))
		for i, have := range dst {
			if want := values[i]&0xfff | 0x5000; have != want {
				t.Fatalf("%s: dst[%d] = %#x, want %#x", k, i, have, want)
			}
		}
	})
}

// TestStridesOfOneSlice packs bytes of one slice at two strides.
func TestStridesOfOneSlice(t *testing.T) {
	onEveryKernel(func(k kernel) {
		for n := range 70 {
			v, have := make([]uint8, 4*n), make([]uint16, n)
			for i := range v {
				v[i] = uint8(i)
			}
			Pack(have, nil, Column(v[:2*n], 0, 8).Every(2), Column(v, 8, 8).Every(4))
			for i := range have {
				if want := uint16(v[2*i]) | uint16(v[4*i])<<8; have[i] != want {
					t.Fatalf("%s, %d words: word %d is %#x, want %#x", k, n, i, have[i], want)
				}
			}
		}
	})
}

// TestArrayIsColumn compares an Array of one element with a Column.
func TestArrayIsColumn(t *testing.T) {
	v := []int16{1, -2, 3}
	column := Column(v, 5, 9)
	if array := Array(v, 1, 5, 9); array != column {
		t.Errorf("Array(v, 1, 5, 9) = %v, want %v", array, column)
	}
	if again := column.Every(3).Every(1).Reversed(); again != column {
		t.Errorf("Every(3).Every(1).Reversed() = %v, want %v", again, column)
	}
	constant := Constant(3, 5, 9)
	if again := constant.Every(0).Reversed(); again != constant {
		t.Errorf("Constant: Every(0).Reversed() = %v, want %v", again, constant)
	}
}

// TestWords compares the words of Words with the bytes in the machine's order.
func TestWords(t *testing.T) {
	pixels := []color.RGBA{{1, 2, 3, 4}, {5, 6, 7, 8}}
	have := Words[uint32](pixels)
	want := make([]uint32, 2)
	order := Array([]uint8{1, 2, 3, 4, 5, 6, 7, 8}, 4, 0, 8)
	if bigEndian {
		order = order.Reversed()
	}
	Pack(want, nil, order)
	if !slices.Equal(have, want) {
		t.Errorf("Words of pixels = %#x, want %#x", have, want)
	}
	have[1] = 0
	if pixels[1] != (color.RGBA{}) {
		t.Errorf("pixels[1] = %v after its word was cleared", pixels[1])
	}
	if n := len(Words[int64](words8(want)[1:1])); n != 0 {
		t.Errorf("Words of no bytes has %d words", n)
	}
	if !bytes.Equal(unsafe.Slice((*byte)(pointer(Words[uint16](words8(want)))), 8), words8(want)) {
		t.Error("Words of bytes does not share the bytes' memory")
	}
}

// TestGapsAreFree has a goroutine write to gaps between elements during each call. The race
// detector reports a call that touches them.
func TestGapsAreFree(t *testing.T) {
	const n, stride = 200, 5
	onEveryKernel(func(k kernel) {
		elements := make([]uint8, n*stride)
		words := make([]uint32, n)
		for _, call := range []func(){
			func() { Pack(words, nil, Array(elements, 2, 0, 8).Every(stride)) },
			func() { Pack(words, nil, Array(elements, 2, 0, 5).Every(stride), Constant(1, 31, 1)) },
			func() { Pack(words, nil, Column(elements[:n*4], 0, 5).Every(4)) },
			func() { Unpack(words, Array(elements, 2, 0, 8).Every(stride)) },
			func() { Unpack(words, Array(elements, 2, 0, 5).Every(stride)) },
		} {
			done := make(chan bool)
			go func() {
				for i := range elements {
					if i%20 == 3 {
						elements[i]++
					}
				}
				close(done)
			}()
			call()
			<-done
		}
		for i := range elements {
			if have := elements[i]; i%20 == 3 && have != 5 {
				t.Fatalf("%s: element %d, in a gap, is %d after 5 additions", k, i, have)
			}
		}
	})
}

// TestGapPages checks calls with elements on both sides of pages that must not be touched.
func TestGapPages(t *testing.T) {
	page := os.Getpagesize()
	memory := pages(t, 9*page)
	r := rand.New(rand.NewPCG(32, 32))
	for _, count := range []int{1, 2, 3, 7, 8, 12} {
		// The call has four words. The elements of each end where a page ends, or begin
		// where it begins. The pages between them are closed.
		for name, first := range map[string]int{"before": page - count, "after": 0} {
			before := bytes.Clone(memory[:8*page])
			for i := range before {
				before[i] = byte(r.Uint32())
			}
			for gap := range 4 {
				protect(t, memory[(2*gap+1)*page:][:page], noAccess)
			}
			elements := memory[first:][:6*page+count]
			for _, width := range []uint32{8, 5} {
				onEveryKernel(func(k kernel) {
					have, want := make([]uint64, 4), make([]uint64, 4)
					for i := range want {
						group := elements[2*page*i:][:count]
						copy(group, before[2*page*i:])
						Pack(want[i:i+1], nil, Array(group, count, 0, width))
					}
					Pack(have, nil, Array(elements, count, 0, width).Every(2*page))
					if !slices.Equal(have, want) {
						t.Errorf("%s: %d elements of %d bits %s a closed page: Pack gives %x, want %x", k, count, width, name, have, want)
					}
					Unpack(have, Array(elements, count, 0, width).Every(2*page))
					Pack(want, nil, Array(elements, count, 0, width).Every(2*page))
					if !slices.Equal(have, want) {
						t.Errorf("%s: %d elements of %d bits %s a closed page: Unpack and Pack give %x, want %x",
							k, count, width, name, want, have)
					}
				})
			}
			for gap := range 4 {
				protect(t, memory[(2*gap+1)*page:][:page], readWrite)
			}
		}
	}
}
