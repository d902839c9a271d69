package bfi

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func FuzzInsert(f *testing.F)      { fuzz(f, "Insert") }
func FuzzInsertEach(f *testing.F)  { fuzz(f, "InsertEach") }
func FuzzFill(f *testing.F)        { fuzz(f, "Fill") }
func FuzzSelect(f *testing.F)      { fuzz(f, "Select") }
func FuzzExtract(f *testing.F)     { fuzz(f, "Extract") }
func FuzzExtractEach(f *testing.F) { fuzz(f, "ExtractEach") }
func FuzzPack(f *testing.F)        { fuzz(f, "Pack") }
func FuzzUnpack(f *testing.F)      { fuzz(f, "Unpack") }
func FuzzInsertWarp(f *testing.F)  { fuzz(f, "InsertWarp") }
func FuzzSelectWarp(f *testing.F)  { fuzz(f, "SelectWarp") }
func FuzzExtractWarp(f *testing.F) { fuzz(f, "ExtractWarp") }

// fuzz compares every kernel of a function with the oracle, on operands that the
// fuzzer makes up: whose type is variant's, whose lanes are data over and over,
// which lie at offsets, a byte each, and share memory as chosen by sharing.
func fuzz(f *testing.F, fn string) {
	const most = 300
	var variants []entry
	for _, e := range entries {
		if e.fn == fn {
			variants = append(variants, e)
		}
	}
	m := heap(mostOps, most)
	for i := range 40 {
		r := rand.New(rand.NewPCG(19, uint64(i)))
		data := make([]byte, 1+r.IntN(200))
		for k := range data {
			data[k] = byte(r.Uint32())
		}
		pos, width := anyField(r, 64)
		f.Add(data, uint16(i*i/4), uint8(i), r.Uint64()&(0x3838383838383838|-uint64(i&1)), uint64(i), pos, width, r.Uint64(), ^uint32(0)>>(i%32))
	}
	f.Fuzz(func(t *testing.T, data []byte, lanes uint16, variant uint8, offsets, sharing uint64, pos, width uint32, value uint64, active uint32) {
		e := &variants[int(variant)%len(variants)]
		n := int(lanes) % (most + 1)
		if e.warp {
			n = WarpSize
		}
		s := &sample{share: e.anySharing(rand.New(rand.NewPCG(20, sharing)))}
		s.value, s.active, s.size = value, active, e.size
		for k := range uint32(e.fields) {
			s.pos = append(s.pos, pos>>(3*k))
			s.width = append(s.width, width>>(3*k))
		}
		offset := make([]int, len(e.ops))
		for op := range e.ops {
			b := make([]byte, n*e.laneSize(op))
			if len(data) > 0 {
				repeat(b, data[op%len(data):])
			}
			s.ops = append(s.ops, b)
			offset[op] = line + int(offsets>>(8*op))&(line-1)
		}
		for op := range s.ops {
			s.ops[op] = s.ops[s.share[op]]
		}
		e.answer(s)
		m.verify(t, e, s, n, offset)
	})
}

// TestFuzzTargets is whether every function has one.
func TestFuzzTargets(t *testing.T) {
	source, err := os.ReadFile("fuzz_test.go")
	if err != nil {
		t.Skipf("looks into the source, which is not here: %v", err)
	}
	for _, e := range entries {
		if !strings.Contains(string(source), "func Fuzz"+e.fn+"(") {
			t.Fatalf("%s has no fuzz target", e.fn)
		}
	}
}

// FuzzRoundTrip unpacks what was packed.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{0, 10, 0, 10, 0, 10, 0, 2}, uint8(33))
	f.Add([]byte{0, 12, 0, 5, 0, 5, 0, 41, 3, 1}, uint8(9))
	f.Add([]byte{1, 0, 1, 19, 1, 19, 1, 19, 1, 19}, uint8(100))
	f.Fuzz(func(t *testing.T, layout []byte, lanes uint8) {
		roundTrip[uint32](t, layout, int(lanes))
		roundTrip[int32](t, layout, int(lanes))
		roundTrip[uint64](t, layout, int(lanes))
		roundTrip[int64](t, layout, int(lanes))
	})
}
