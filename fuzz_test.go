package bfi

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// fuzzTargets has the fuzz target of each function, by the function's name.
var fuzzTargets = map[string]func(*testing.F){
	"Insert":            FuzzInsert,
	"InsertEach":        FuzzInsertEach,
	"Fill":              FuzzFill,
	"Select":            FuzzSelect,
	"Extract":           FuzzExtract,
	"ExtractEach":       FuzzExtractEach,
	"InsertMasked":      FuzzInsertMasked,
	"InsertEachMasked":  FuzzInsertEachMasked,
	"FillMasked":        FuzzFillMasked,
	"SelectMasked":      FuzzSelectMasked,
	"ExtractMasked":     FuzzExtractMasked,
	"ExtractEachMasked": FuzzExtractEachMasked,
	"Pack":              FuzzPack,
	"Unpack":            FuzzUnpack,
	"InsertWarp":        FuzzInsertWarp,
	"SelectWarp":        FuzzSelectWarp,
	"ExtractWarp":       FuzzExtractWarp,
}

func FuzzInsert(f *testing.F)            { fuzz(f, "Insert") }
func FuzzInsertEach(f *testing.F)        { fuzz(f, "InsertEach") }
func FuzzFill(f *testing.F)              { fuzz(f, "Fill") }
func FuzzSelect(f *testing.F)            { fuzz(f, "Select") }
func FuzzExtract(f *testing.F)           { fuzz(f, "Extract") }
func FuzzExtractEach(f *testing.F)       { fuzz(f, "ExtractEach") }
func FuzzInsertMasked(f *testing.F)      { fuzz(f, "InsertMasked") }
func FuzzInsertEachMasked(f *testing.F)  { fuzz(f, "InsertEachMasked") }
func FuzzFillMasked(f *testing.F)        { fuzz(f, "FillMasked") }
func FuzzSelectMasked(f *testing.F)      { fuzz(f, "SelectMasked") }
func FuzzExtractMasked(f *testing.F)     { fuzz(f, "ExtractMasked") }
func FuzzExtractEachMasked(f *testing.F) { fuzz(f, "ExtractEachMasked") }
func FuzzPack(f *testing.F)              { fuzz(f, "Pack") }
func FuzzUnpack(f *testing.F)            { fuzz(f, "Unpack") }
func FuzzInsertWarp(f *testing.F)        { fuzz(f, "InsertWarp") }
func FuzzSelectWarp(f *testing.F)        { fuzz(f, "SelectWarp") }
func FuzzExtractWarp(f *testing.F)       { fuzz(f, "ExtractWarp") }

// fuzz compares every kernel of a function with the oracle. The fuzzer chooses the fields
// and these:
//
//	variant    the types of the operands
//	data       the bytes of every operand, repeated
//	lanes      the number of lanes
//	offsets    where each operand lies, in a byte for each
//	sharing    how operands share memory, and for Pack and Unpack the types of columns
//	active     the active lanes of a warp
func fuzz(f *testing.F, fn string) {
	const most, mostFields = 300, 9
	var variants []entry
	for _, e := range entries {
		if e.fn == fn {
			variants = append(variants, e)
		}
	}
	m := heap(max(mostOps, mostFields+2), widestLane*most)
	for i := range 40 {
		r := rand.New(rand.NewPCG(19, uint64(i)))
		data := make([]byte, 1+r.IntN(200))
		for k := range data {
			data[k] = byte(r.Uint32())
		}
		pos, width := anyField(r, 64)
		f.Add(data, uint16(i*i/4), uint8(i), r.Uint64()&(0x3838383838383838|-uint64(i&1)), uint64(i), pos, width,
			r.Uint32N(70)*uint32(i&1), r.Uint64(), ^uint32(0)>>(i%32))
	}
	f.Fuzz(func(t *testing.T, data []byte, lanes uint16, variant uint8, offsets, sharing uint64,
		pos, width, from uint32, value uint64, active uint32) {
		e := &variants[int(variant)%len(variants)]
		r := rand.New(rand.NewPCG(20, sharing))
		if e.pack != nil && sharing&1 != 0 {
			e = anyColumns(r, fn, mostFields)
		}
		n := int(lanes) % (most + 1)
		if e.warp {
			n = WarpSize
		}
		s := &sample{lanes: n, share: e.anySharing(r)}
		s.active = active
		for k := range uint32(e.fields) {
			s.pos = append(s.pos, pos>>(3*k))
			s.width = append(s.width, width>>(3*k))
			s.from = append(s.from, from>>(2*k))
			s.value = append(s.value, value>>(5*k))
		}
		offset := make([]int, len(e.ops))
		for op, o := range e.ops {
			b := make([]byte, o.full(n))
			if len(data) > 0 {
				repeat(b, data[op%len(data):])
			}
			s.ops = append(s.ops, b)
			offset[op] = line + int(offsets>>(8*op%64))&(line-1)
		}
		for op := range s.ops {
			s.ops[op] = s.ops[s.share[op]]
		}
		e.answer(s)
		m.verify(t, e, s, n, offset)
	})
}

// anyColumns returns an entry of Pack or Unpack with up to most fields of random types.
func anyColumns(r *rand.Rand, fn string, most int) *entry {
	kinds := someKinds(r, r.IntN(most+1))
	mixed := slices.Clone(kinds)
	for k := range mixed {
		mixed[k].constant = r.IntN(4) == 0
	}
	list := slices.Concat(fieldEntries[uint8](kinds, mixed), fieldEntries[uint16](kinds, mixed),
		fieldEntries[uint32](kinds, mixed), fieldEntries[uint64](kinds, mixed))
	list = slices.DeleteFunc(list, func(e entry) bool { return e.fn != fn })
	return &list[r.IntN(len(list))]
}

// TestFuzzTargets checks that every function has a target, and that the target has the
// function's name.
func TestFuzzTargets(t *testing.T) {
	for _, e := range entries {
		target := fuzzTargets[e.fn]
		if target == nil {
			t.Fatalf("%s has no fuzz target", e.fn)
		}
		name := runtime.FuncForPC(reflect.ValueOf(target).Pointer()).Name()
		if !strings.HasSuffix(name, ".Fuzz"+e.fn) {
			t.Errorf("%s has the fuzz target %s", e.fn, name)
		}
	}
}

// FuzzRoundTrip packs columns and unpacks the words.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{0, 10, 0, 10, 0, 10, 0, 2}, uint8(33))
	f.Add([]byte{0, 12, 0, 5, 0, 5, 0, 41, 3, 1}, uint8(9))
	f.Add([]byte{1, 0, 1, 19, 1, 19, 1, 19, 1, 19}, uint8(100))
	f.Add([]byte{4, 18, 9, 17, 13, 12, 6, 11}, uint8(70))
	f.Fuzz(func(t *testing.T, layout []byte, lanes uint8) { roundTrips(t, layout, int(lanes)) })
}
