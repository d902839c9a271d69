package bfi

import (
	"math/rand/v2"
	"testing"
)

// TestPlainColumns compares Pack and Unpack of up to four plain columns with the
// oracle. Some portable loops take only such calls.
func TestPlainColumns(t *testing.T) {
	onEveryKernel(func(k kernel) {
		r := rand.New(rand.NewPCG(31, 31))
		for range 2000 {
			plainColumns[uint8](t, r, k)
			plainColumns[uint16](t, r, k)
			plainColumns[uint32](t, r, k)
			plainColumns[uint64](t, r, k)
		}
	})
}

// A plainColumn is a column of unsigned elements. Its field shares no bit with other
// fields of the call.
type plainColumn struct {
	size             int
	values           []byte
	pos, width, from uint32
}

func (c *plainColumn) field() Field {
	switch c.size {
	case 1:
		return Column(words[uint8](c.values), c.pos, c.width).From(c.from)
	case 2:
		return Column(words[uint16](c.values), c.pos, c.width).From(c.from)
	case 4:
		return Column(words[uint32](c.values), c.pos, c.width).From(c.from)
	}
	return Column(words[uint64](c.values), c.pos, c.width).From(c.from)
}

// plainColumns makes up columns, and compares a call of Pack and a call of Unpack with
// the oracle.
func plainColumns[T Word](t *testing.T, r *rand.Rand, kernel kernel) {
	t.Helper()
	bits, n := bitsOf[T](), r.IntN(50)
	count := 1 + r.IntN(4)
	room := bits / uint32(count)
	size := 1 << r.IntN(4)
	equal, whole, one := r.IntN(3) > 0, r.IntN(2) == 0, r.IntN(4) == 0
	list := make([]plainColumn, count)
	for k, place := range r.Perm(count) {
		if !equal {
			size = 1 << r.IntN(4)
		}
		c := &list[k]
		*c = plainColumn{size: size, values: make([]byte, n*size)}
		for i := range c.values {
			c.values[i] = byte(r.Uint32())
		}
		most := min(room, 8*uint32(size))
		c.width = most
		if !whole {
			c.width = 1 + r.Uint32N(most)
			c.from = r.Uint32N(8*uint32(size) - c.width + 1)
			c.pos = r.Uint32N(room - c.width + 1)
		}
		c.pos += uint32(place) * room
		if r.IntN(16) == 0 {
			c.pos += bits // past the word
		}
	}
	var fields []Field
	want := make([]T, n)
	var base []T
	if r.IntN(2) == 0 {
		base = make([]T, n)
		for i := range base {
			base[i] = T(r.Uint64())
		}
		copy(want, base)
	}
	for k := range list {
		c := &list[k]
		if one && equal {
			c.values = list[0].values
		}
		fields = append(fields, c.field())
		for i := range want {
			want[i] = T(oracleBFI(int(bits), load(c.values, c.size, i)>>c.from, uint64(want[i]), c.pos, c.width))
		}
	}
	got := make([]T, n)
	Pack(got, base, fields...)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: Pack of %d words of %d bits, base %t: word %d is %#x, want %#x; columns %+v",
				kernel, n, bits, base != nil, i, got[i], want[i], list)
		}
	}
	if one && equal && count > 1 {
		return // columns of Unpack must not overlap
	}
	Unpack(want, fields...)
	for k := range list {
		c := &list[k]
		for i := range want {
			field := oracleBFE(int(bits), false, uint64(want[i]), c.pos, c.width) << c.from
			if element := load(c.values, c.size, i); element != field {
				t.Fatalf("%s: Unpack of %d words of %d bits: element %d of column %d is %#x, want %#x; columns %+v",
					kernel, n, bits, i, k, element, field, list)
			}
		}
	}
}
