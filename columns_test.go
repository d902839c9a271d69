package bfi

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// someKinds returns count kinds of columns in a random order.
func someKinds(r *rand.Rand, count int) []fieldKind {
	kinds := make([]fieldKind, count)
	for k := range kinds {
		kinds[k] = everyKind[r.IntN(len(everyKind))]
	}
	return kinds
}

// TestFieldCounts checks Pack and Unpack with every number of fields from 0 to 64, of any
// types.
func TestFieldCounts(t *testing.T) {
	const lanes = 150
	m := heap(maxFields+2, 8*lanes)
	for count := range maxFields + 1 {
		r := rand.New(rand.NewPCG(10, uint64(count)))
		kinds := someKinds(r, count)
		mixed := someKinds(r, count)
		for k := range mixed {
			mixed[k].constant = r.IntN(4) == 0
		}
		for _, e := range [][]entry{
			fieldEntries[uint8](kinds, mixed), fieldEntries[int16](kinds, mixed),
			fieldEntries[uint32](kinds, mixed), fieldEntries[int64](kinds, mixed),
		} {
			for _, e := range e {
				shares := []sharing{e.apart()}
				if in := e.inPlace(); len(in) > 0 {
					shares = append(shares, in[r.IntN(len(in))])
				}
				for _, share := range shares {
					s := e.sample(r, lanes, share)
					m.verify(t, &e, s, lanes, e.anyOffsets(r))
					m.verify(t, &e, s, lanes/5, e.anyOffsets(r))
				}
			}
		}
	}
}

// TestPlainConstants packs a constant of each type among columns of each type. The fields
// are plain, so kernels get all of them as they are, even the constants.
func TestPlainConstants(t *testing.T) {
	plainConstants[uint8](t)
	plainConstants[uint16](t)
	plainConstants[uint32](t)
	plainConstants[uint64](t)
}

func plainConstants[T Word](t *testing.T) {
	const lanes = 251
	// The lengths reach each loop of a kernel. The long call streams.
	lengths, long := []int{5, 40, 70, 100, 150, 333, 700}, pieceBytes/4+65*8
	m := heap(mostOps, long)
	r := rand.New(rand.NewPCG(14, uint64(unsafe.Sizeof(T(0)))))
	for _, constant := range everyKind {
		for _, column := range everyKind {
			for place := range 3 {
				kinds := slices.Insert(slices.Repeat([]fieldKind{column}, 2), place, constant.constantKind())
				for _, e := range named[T](packEntry[T](true, kinds...), packEntry[T](false, kinds...)) {
					s := e.sample(r, lanes, e.apart())
					for k, f := range kinds {
						room := 8 * e.size / len(kinds)
						s.pos[k], s.width[k], s.from[k] = uint32(k*room), uint32(min(room, 8*f.size)), 0
					}
					e.answer(s)
					for _, n := range lengths {
						m.verify(t, &e, s, n, e.anyOffsets(r))
					}
					if column.size == e.size {
						m.verify(t, &e, s, long/e.size, e.anyOffsets(r))
					}
				}
			}
		}
	}
}

// TestNarrowColumns checks Unpack in several pieces to columns with elements narrower than
// the words. If the words come from memory, kernels use another loop for such columns.
func TestNarrowColumns(t *testing.T) {
	entries := slices.Concat(
		named[uint16](unpackEntry[uint16](everyKind[:2]...)), named[uint32](unpackEntry[uint32](everyKind[:4]...)),
		named[int64](unpackEntry[int64](everyKind[:6]...)))
	for _, e := range entries {
		n := 2*unpackBytes/e.size + 33
		r := rand.New(rand.NewPCG(13, uint64(e.size)))
		m := e.heap(n)
		s := e.sample(r, 251, e.apart())
		m.verify(t, &e, s, n, e.anyOffsets(r))
		for k := range s.pos {
			// Now all fields are whole bytes.
			s.pos[k], s.width[k], s.from[k] = uint32(8*(k%e.size)), 8, 0
		}
		e.answer(s)
		m.verify(t, &e, s, n, e.anyOffsets(r))
	}
}

func fieldEntries[T Word](columns, mixed []fieldKind) []entry {
	return named[T](packEntry[T](true, mixed...), packEntry[T](false, mixed...), unpackEntry[T](columns...))
}

// TestSecondFrom checks that a second From replaces the first.
func TestSecondFrom(t *testing.T) {
	dst := make([]uint16, 1)
	Pack(dst, nil, Column([]uint16{0xabcd}, 0, 16).From(8).From(4))
	if dst[0] != 0xabc {
		t.Errorf("From(8).From(4) packs %#x of 0xabcd, want 0xabc", dst[0])
	}
}

// TestRoundTrip packs fields that do not overlap, and unpacks the words. Unpack must give
// back the bits of every element that Pack took.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for range 100 {
		seed := make([]byte, 100)
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		roundTrips(t, seed, 67)
	}
}

func roundTrips(t *testing.T, seed []byte, n int) {
	roundTrip[uint8](t, seed, n)
	roundTrip[int16](t, seed, n)
	roundTrip[uint32](t, seed, n)
	roundTrip[int32](t, seed, n)
	roundTrip[uint64](t, seed, n)
	roundTrip[int64](t, seed, n)
}

// roundTrip packs and unpacks n lanes. seed chooses the layout: gaps and fields in turn
// until the word is full, then shuffled.
func roundTrip[T Word](t *testing.T, seed []byte, n int) {
	t.Helper()
	sum := uint64(n)
	for _, b := range seed {
		sum = sum*257 + uint64(b)
	}
	r := rand.New(rand.NewPCG(12, sum))
	bits := int(8 * unsafe.Sizeof(T(0)))
	var a args
	at := 0
	for i := 0; i+1 < len(seed) && at < bits && len(a.pos) < maxFields; i += 2 {
		at += int(seed[i]) % 4
		length := min(int(seed[i+1])%20, bits-at)
		if at < bits {
			a.pos, a.width = append(a.pos, uint32(at)), append(a.width, uint32(length))
			a.from, a.value = append(a.from, uint32(seed[i])/4%3*uint32(seed[i+1])/20), append(a.value, 0)
		}
		at += length
	}
	r.Shuffle(len(a.pos), func(i, j int) {
		a.pos[i], a.pos[j] = a.pos[j], a.pos[i]
		a.width[i], a.width[j] = a.width[j], a.width[i]
		a.from[i], a.from[j] = a.from[j], a.from[i]
	})
	words, base := make([]T, n), make([]T, n)
	for i := range base {
		base[i] = T(r.Uint64())
	}
	kinds := someKinds(r, len(a.pos))
	var columns, back [][]byte
	for _, f := range kinds {
		b := make([]byte, n*f.size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		columns, back = append(columns, b), append(back, make([]byte, len(b)))
	}
	var pack, unpack []Field
	for k, f := range kinds {
		pack, unpack = append(pack, f.field(&a, k, columns[k])), append(unpack, f.field(&a, k, back[k]))
	}
	onEveryKernel(func(kernel kernel) {
		Pack(words, base, pack...)
		for _, b := range back {
			clear(b)
		}
		Unpack(words, unpack...)
		for k, f := range kinds {
			want := make([]byte, f.size)
			for i := range n {
				// Pack takes these bits of the element. Unpack extends their sign.
				x := oracleBFE(8*f.size, f.signed, load(columns[k], f.size, i), a.from[k], a.width[k])
				store(want, f.size, 0, oracleMoved(8*f.size, f.signed, x, -int64(a.from[k])))
				if have := load(back[k], f.size, i); have != load(want, f.size, 0) {
					t.Fatalf("%T on %s: pos %v, width %v, from %v, kinds %v:\n"+
						"element %d of field %d is %#x, want %#x (packed from %#x)",
						words, kernel, a.pos, a.width, a.from, kinds,
						i, k, have, load(want, f.size, 0), load(columns[k], f.size, i))
				}
			}
		}
	})
}
