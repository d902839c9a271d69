package bfi

import (
	"fmt"
	"os"
	"testing"
	"unsafe"
)

// A choice of c picks about one call in c.
type choice uint32

// someCalls returns the choice of the calls that these tests make. With BFI_TEST_WHOLE they
// make all calls.
func someCalls() choice {
	switch {
	case os.Getenv("BFI_TEST_WHOLE") != "":
		return 1
	case quick():
		return 1000
	}
	return 10
}

// has reports whether call i is chosen. The chosen calls are spread as if at random, so they
// have every value of every parameter.
func (c choice) has(i int) bool { return uint32(i)*2654435761>>8%uint32(c) == 0 }

// withLevels calls f with all levels. f sets current to each level itself, so it can make
// millions of short calls. Stores of short calls never bypass the cache, so withLevels needs
// no kernels with such stores.
func withLevels(f func(levels []level)) {
	defer func(l level) { current = l }(current)
	var levels []level
	for _, k := range kernels {
		if !k.stream {
			levels = append(levels, k.level)
		}
	}
	f(levels)
}

// A result has the right results of a call, room for the call's results, and wrong values.
type result[T Word] struct{ want, have, wrong []T }

func newResult[T Word](n int) result[T] {
	r := result[T]{make([]T, n), make([]T, n), make([]T, n)}
	for i := range r.wrong {
		r.wrong[i] = T(uint64(0x6a09e667f3bcc908) >> (i % 8))
	}
	return r
}

// of returns the result for the first n lanes.
func (r result[T]) of(n int) result[T] { return result[T]{r.want[:n], r.have[:n], r.wrong[:n]} }

// fresh returns a dst that holds wrong values.
func (r result[T]) fresh() []T {
	copy(r.have, r.wrong)
	return r.have
}

func (r result[T]) right() bool { return bytesOf(r.have) == bytesOf(r.want) }

// bytesOf returns the memory of a slice as a string, because strings are quick to compare.
func bytesOf[T Word](s []T) string {
	return unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(T(0))))
}

// oneHot returns every value with a single bit, then the value with all bits. It repeats
// these few values until kernels run their loops.
func oneHot[T Word]() (few int, all []T) {
	for i := range 8 * unsafe.Sizeof(T(0)) {
		all = append(all, 1<<i)
	}
	all = append(all, ^T(0))
	few = len(all)
	for len(all) < 130 {
		all = append(all, all[:few]...)
	}
	return few, all
}

// mostFrom is past the last bit of every element.
const mostFrom = 64

// TestSingleFields packs and unpacks one field alone, for every pos and width from 0
// to 255 and every From from 0 to 64. Elements have all types and words all sizes. In
// each element of Pack and in each word of Unpack, one bit is set or all are.
//
// The right answers come from Bfi and Bfe, which TestScalar compares with the oracle.
func TestSingleFields(t *testing.T) {
	t.Run("uint8", singleFields[uint8, int8])
	t.Run("uint16", singleFields[uint16, int16])
	t.Run("uint32", singleFields[uint32, int32])
	t.Run("uint64", singleFields[uint64, int64])
}

// singleFields tests words of type T. S is the signed type of the same size.
func singleFields[T, S Word](t *testing.T) {
	withLevels(func(levels []level) {
		singleField[T, S, uint8](t, levels)
		singleField[T, S, int8](t, levels)
		singleField[T, S, uint16](t, levels)
		singleField[T, S, int16](t, levels)
		singleField[T, S, uint32](t, levels)
		singleField[T, S, int32](t, levels)
		singleField[T, S, uint64](t, levels)
		singleField[T, S, int64](t, levels)
	})
}

func singleField[T, S, E Word](t *testing.T, levels []level) {
	fewElements, elements := oneHot[E]()
	fewWords, words := oneHot[T]()
	base := make([]T, len(elements))
	for i := range base {
		base[i] = T(uint64(i+1) * 0x9e3779b97f4a7c15 >> 8)
	}
	// shifted has what each From leaves of the elements.
	var shifted [mostFrom + 1][]T
	for from := range shifted {
		for _, e := range elements {
			shifted[from] = append(shifted[from], T(e>>from))
		}
	}
	allPacked, allUnpacked := newResult[T](len(elements)), newResult[E](len(words))
	values := make([]E, len(words))
	call, chosen := 0, someCalls()
	for pos := range uint32(256) {
		for width := range uint32(256) {
			mask := Bfi(^T(0), 0, pos, width)
			for i, w := range words[:fewWords] {
				if ^E(0) < 0 {
					values[i] = E(Bfe(S(w), pos, width))
				} else {
					values[i] = E(Bfe(w, pos, width))
				}
			}
			for n := fewWords; n < len(values); {
				n += copy(values[n:], values[:fewWords])
			}
			for from := range uint32(mostFrom + 1) {
				if call++; !chosen.has(call) {
					continue
				}
				elements, base, keep, words := elements, base, ^mask, words
				if call&7 != 0 {
					elements, base, words = elements[:fewElements], base[:fewElements], words[:fewWords]
				}
				if call&8 != 0 {
					base, keep = nil, 0
				}
				packed, unpacked := allPacked.of(len(elements)), allUnpacked.of(len(words))
				for i, e := range shifted[from][:len(elements)] {
					packed.want[i] = e << pos & mask
				}
				for i, b := range base {
					packed.want[i] |= b & keep
				}
				for i, v := range values[:len(words)] {
					unpacked.want[i] = v << from
				}
				for _, current = range levels {
					Pack(packed.fresh(), base, Column(elements, pos, width).From(from))
					if !packed.right() {
						t.Fatalf("Pack %x as %T into %x at %d, width %d, from %d on %s:\n%x, want\n%x",
							elements, E(0), base, pos, width, from, current, packed.have, packed.want)
					}
					Unpack(words, Column(unpacked.fresh(), pos, width).From(from))
					if !unpacked.right() {
						t.Fatalf("Unpack %x to %T at %d, width %d, from %d on %s:\n%x, want\n%x",
							words, E(0), pos, width, from, current, unpacked.have, unpacked.want)
					}
				}
			}
		}
	}
}

// A pairField is one of two fields of words of 8 bits.
type pairField struct {
	Field
	name string
	mask uint8   // the bits of a word that are in the field
	want []uint8 // the bits that Pack puts there, or the elements that Unpack gives
}

// pairFields returns the fields that of makes for each pos, width and From up to 9. Greater
// values give nothing new, because words have 8 bits.
func pairFields(of func(pos, width, from uint32) []pairField) (list []pairField) {
	for pos := range uint32(10) {
		for width := range uint32(10) {
			for from := range uint32(10) {
				for _, f := range of(pos, width, from) {
					f.Field = f.From(from)
					f.name += fmt.Sprintf(" at %d, width %d, from %d", pos, width, from)
					f.mask = Bfi[uint8](0xff, 0, pos, width)
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// TestFieldPairs packs and unpacks every pair of fields of words of 8 bits. Fields are
// columns of 8-bit elements, and constants.
func TestFieldPairs(t *testing.T) {
	withLevels(func(levels []level) {
		packPairs(t, levels)
		unpackPairs(t, levels)
	})
}

// packPairs packs pairs of elements. One element of a pair has a single bit and the other is
// 0, or each is 0 or all ones. The base is all zeros and then all ones.
func packPairs(t *testing.T, levels []level) {
	var first, second, base []uint8
	for _, b := range []uint8{0, 0xff} {
		for bit := range 8 {
			first, second, base = append(first, 1<<bit, 0), append(second, 0, 1<<bit), append(base, b, b)
		}
		first, second, base = append(first, 0xff, 0, 0xff), append(second, 0, 0xff, 0xff), append(base, b, b, b)
	}
	fieldsOf := func(elements []uint8) []pairField {
		signed := unsafe.Slice((*int8)(unsafe.Pointer(&elements[0])), len(elements))
		const constant8, constant16 = int8(-0x5b), uint16(0x535a)
		return pairFields(func(pos, width, from uint32) []pairField {
			fields := []pairField{
				{Field: Column(elements, pos, width), name: "uint8"}, {Field: Column(signed, pos, width), name: "int8"},
				{Field: Constant(constant8, pos, width), name: "constant int8"},
				{Field: Constant(constant16, pos, width), name: "constant uint16"},
			}
			for i, e := range elements {
				for k, v := range []uint8{
					e >> from, uint8(signed[i] >> from), uint8(constant8 >> from), uint8(constant16 >> from),
				} {
					fields[k].want = append(fields[k].want, Bfi(v, 0, pos, width))
				}
			}
			return fields
		})
	}
	firsts, seconds := fieldsOf(first), fieldsOf(second)
	r, call, chosen := newResult[uint8](len(base)), 0, someCalls()
	for i := range firsts {
		for k := range seconds {
			if call++; !chosen.has(call) {
				continue
			}
			f, g := &firsts[i], &seconds[k]
			base := base
			if call&8 != 0 {
				base = nil
			}
			for i, v := range f.want {
				r.want[i] = v&^g.mask | g.want[i]
			}
			for i, b := range base {
				r.want[i] |= b &^ (f.mask | g.mask)
			}
			for _, current = range levels {
				Pack(r.fresh(), base, f.Field, g.Field)
				if !r.right() {
					t.Fatalf("Pack %x as %s, then %x as %s into %x on %s:\n%x, want\n%x",
						first, f.name, second, g.name, base, current, r.have, r.want)
				}
			}
		}
	}
}

func unpackPairs(t *testing.T, levels []level) {
	_, words := oneHot[uint8]()
	words = words[:40]
	fieldsOf := func(column []uint8) []pairField {
		signed := unsafe.Slice((*int8)(unsafe.Pointer(&column[0])), len(column))
		return pairFields(func(pos, width, from uint32) []pairField {
			fields := []pairField{
				{Field: Column(column, pos, width), name: "uint8"},
				{Field: Column(signed, pos, width), name: "int8"},
			}
			for _, w := range words {
				fields[0].want = append(fields[0].want, Bfe(w, pos, width)<<from)
				fields[1].want = append(fields[1].want, uint8(Bfe(int8(w), pos, width))<<from)
			}
			return fields
		})
	}
	first, second := newResult[uint8](len(words)), newResult[uint8](len(words))
	firsts, seconds := fieldsOf(first.have), fieldsOf(second.have)
	call, chosen := 0, someCalls()
	for i := range firsts {
		for k := range seconds {
			if call++; !chosen.has(call) {
				continue
			}
			f, g := &firsts[i], &seconds[k]
			first.want, second.want = f.want, g.want
			for _, current = range levels {
				first.fresh()
				second.fresh()
				Unpack(words, f.Field, g.Field)
				if !first.right() || !second.right() {
					t.Fatalf("Unpack %x to %s and %s on %s:\n%x and %x, want\n%x and %x",
						words, f.name, g.name, current, first.have, second.have, first.want, second.want)
				}
			}
		}
	}
}
