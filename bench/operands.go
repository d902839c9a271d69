package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/gobfi/bfi"
)

// A place says where operands lie in memory.
type place int

const (
	apart      place = iota // every operand starts a cache line
	inPlace                 // every operand starts a cache line, and dst is also a source
	misaligned              // every operand starts past the start of a cache line
)

func (p place) String() string { return [...]string{"out of place", "in place", "misaligned"}[p] }

// operands has the operands of one case of a job: streams of n lanes, and the values that
// all lanes share.
type operands struct {
	job        *job
	place      place
	n          int
	p          [6]unsafe.Pointer
	pos, width uint32
	value      uint64
	active     uint32 // the active lanes of a warp
}

// of returns stream k as a slice.
func of[T word](x *operands, k int) []T {
	return unsafe.Slice((*T)(x.p[k]), x.job.operands[k].elements(x.n))
}

// mask returns stream k as an active mask.
func (x *operands) mask(k int) []uint64 { return unsafe.Slice((*uint64)(x.p[k]), (x.n+63)/64) }

func warp[T word](x *operands, k int) *[bfi.WarpSize]T { return (*[bfi.WarpSize]T)(x.p[k]) }

// at returns element i of stream k.
func (x *operands) at(k, i int) uint64 {
	switch x.job.operands[k].bits {
	case 1:
		return x.mask(k)[i/64] >> (i % 64) & 1
	case 8:
		return uint64(of[uint8](x, k)[i])
	case 16:
		return uint64(of[uint16](x, k)[i])
	case 32:
		return uint64(of[uint32](x, k)[i])
	}
	return of[uint64](x, k)[i]
}

// lane returns the elements of lane i in all streams that wanted reports true for.
func (x *operands) lane(i int, wanted func(o operand) bool) []uint64 {
	var v []uint64
	for k, o := range x.job.operands {
		for j := range o.elements(1) {
			if wanted(o) {
				v = append(v, x.at(k, o.elements(i)+j))
			}
		}
	}
	return v
}

// wanted returns the right outputs of lane i. v has the lane's elements in all streams before
// the call.
func (x *operands) wanted(i int, v []uint64) []uint64 {
	j := x.job
	switch {
	case j.fresh && v[j.active] == 0:
		return []uint64{0}
	case j.warp && x.active>>i&1 == 0, j.active != 0 && v[j.active] == 0:
		return v[:1]
	case j.want != nil:
		return []uint64{j.want(x, v)}
	case j.operands[0].kind == output:
		word := uint64(0)
		for _, f := range j.fields {
			value := v[f.column]
			if f.column == 0 {
				value = x.value
			}
			word = bfi.Bfi(value>>f.from, word, f.pos, f.width)
		}
		return []uint64{word}
	}
	var elements []uint64
	for _, f := range j.fields {
		elements = append(elements, bfi.Bfe(v[0], f.pos, f.width)<<f.from)
	}
	return elements
}

// laneBits returns the number of bits that a lane has in all operands together.
func (j *job) laneBits(at place) int {
	sum := 0
	for _, o := range j.operands {
		sum += o.laneBits()
	}
	if at == inPlace {
		sum -= j.operands[0].laneBits()
	}
	return sum
}

// A store holds the memory of operands. Each stream has room for the longest operand.
type store struct{ streams [6][]uint64 }

// Streams begin a few cache lines apart modulo the page, so no two compete for the same place
// in a cache. Misaligned streams begin a few lanes later.
const (
	pageWords = 4096 / 8
	skewWords = 10 * 64 / 8
	padWords  = 2*pageWords + 64
)

// newStore returns a store whose streams have the given number of words of 64 bits.
func newStore(words int) *store {
	var s store
	for k := range s.streams {
		s.streams[k] = make([]uint64, words+padWords)
	}
	return &s
}

// laneWords returns the most words of 64 bits that a lane takes in any stream, at least one.
func (j *job) laneWords() int {
	words := 1
	for _, o := range j.operands {
		words = max(words, (o.laneBits()+63)/64)
	}
	return words
}

// operands places n lanes of a job's operands in s.
func (s *store) operands(j *job, at place, n int) *operands {
	x := &operands{job: j, place: at, n: n, value: 0x5bd1e995, pos: 5, width: 11, active: math.MaxUint32}
	if j.operands[0].bits <= 16 {
		x.pos, x.width = 3, 4
	}
	for k, o := range j.operands {
		stream := s.streams[k]
		address := uintptr(unsafe.Pointer(unsafe.SliceData(stream)))
		x.p[k] = unsafe.Pointer(&stream[int(-address%4096)/8+k*skewWords])
		if at == misaligned {
			x.p[k] = unsafe.Add(x.p[k], (1+k)*o.bits/8)
		}
	}
	if at == inPlace {
		x.p[j.inPlace] = x.p[0]
	}
	return x
}

// fill fills the streams of a job with random bits, as far as its longest operands reach. If
// harsh is not set, the field of each lane lies in the word.
func (s *store) fill(j *job, lanes int, harsh bool) {
	state := uint64(1)
	random := func() uint64 { // xorshift64*
		state ^= state >> 12
		state ^= state << 25
		state ^= state >> 27
		return state * 0x2545f4914f6cdd1d
	}
	wordBits := uint32(j.operands[0].bits)
	for k, o := range j.operands {
		stream := s.streams[k]
		stream = stream[:min(lanes*o.laneBits()/64+padWords, len(stream))]
		for i := range stream {
			stream[i] = random()
		}
		if j.sparse > half && k == j.active && !harsh {
			clear(stream)
			for i := random() % uint64(j.sparse); i < uint64(64*len(stream)); i += 1 + random()%uint64(2*min(j.sparse, none/4)) {
				stream[i/64] |= 1 << (i % 64)
			}
		}
		counts := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(stream))), 2*len(stream))
		for i := range counts {
			switch {
			case harsh:
			case o.kind == posOf:
				counts[i] = uint32(random()>>32) % wordBits
			case o.kind == widthOf:
				counts[i] = uint32(random()>>32)%wordBits + 1
			}
		}
	}
}

const harshLanes = 301

// checkHarsh checks every contender of a job on short slices of random bits. Some fields lie
// in the word, some end where it ends, some run past it, and some are empty.
func checkHarsh(s *store, j *job, at place) error {
	fields := [][2]uint32{{0, 0}, {0, 32}, {0, 64}, {3, 7}, {31, 1}, {5, 200}, {32, 1}, {40, 24}, {63, 1}, {64, 9},
		{255, 255}, {0x105, 0x107}}
	masks := []uint32{0xffffffff, 0x55555555, 0x80000001, 0, 0x13579bdf}
	n := harshLanes
	if j.warp {
		n = bfi.WarpSize
	}
	for i, f := range fields {
		s.fill(j, n, true)
		x := s.operands(j, at, n)
		x.pos, x.width, x.active = f[0], f[1], masks[i%len(masks)]
		for _, c := range contenders(x) {
			if err := c.check(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// check does the job once and compares the answers with the scalar functions. In a long slice
// it compares both ends and some lanes between them.
func (c *contender) check(x *operands) error {
	if c.kind == limit || c.kind == x.job.replaces && x.job.active != 0 {
		return nil // the limit gives other answers, and so does a call without the mask
	}
	const end, step = 1 << 10, 9973
	var indices []int
	for i := 0; i < x.n; i++ {
		if i == end && x.n > 3*end {
			for ; i < x.n-end; i += step {
				indices = append(indices, i)
			}
			i = x.n - end
		}
		indices = append(indices, i)
	}
	before := make([][]uint64, len(indices))
	for j, i := range indices {
		before[j] = x.lane(i, func(operand) bool { return true })
	}
	c.choose()
	c.run(1)
	for j, i := range indices {
		want := x.wanted(i, before[j])
		have := x.lane(i, func(o operand) bool { return o.kind == output })
		if !slices.Equal(have, want) {
			return fmt.Errorf("wrong answer: %s: %s: lane %d of %d is %#x, want %#x; "+
				"operands %#x, pos %d, width %d, value %#x, active %#x",
				caseName(x.job, x.place, x.n), c.name(), i, x.n, have, want, before[j], x.pos, x.width, x.value, x.active)
		}
	}
	return nil
}

// caseName returns the name of a case. -run matches it.
func caseName(j *job, at place, lanes int) string {
	return fmt.Sprintf("%s/%s/%d", j.name, strings.ReplaceAll(at.String(), " ", "-"), lanes)
}
