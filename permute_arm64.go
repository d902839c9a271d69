//go:build arm64 && gc && !purego && !noasm && !appengine

package bfi

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// NEON's kernel for permute works in steps. A step loads one vector of 16 bytes from each of up to 4 sources. TBL
// looks up each byte that is stored in all of them together. So sources and one index for each byte describe a step.
// A move gives as many sources as vectors are needed to load its part of a step.

// permutes reports whether the current level has a kernel for permute.
func permutes() bool { return current == levelNEON }

// permutable reports whether there is such a kernel that is fast for n groups of d bytes. It is fast if one TBL finds
// all bytes of a vector.
func permutable(d, n int, gaps uint16, moves []move) bool {
	sources, groups := 0, stepGroups(d)
	for k := range moves {
		sources += (groups*moves[k].stride + vectorBytes - 1) / vectorBytes
	}
	return permutes() && sources <= mostSources && n >= 4*groups
}

// stepGroups returns the number of groups of d bytes that fit a vector, rounded down to a power of two.
func stepGroups(d int) int { return 1 << (bits.Len(uint(vectorBytes/d)) - 1) }

const (
	mostSources = 4 // the most vectors in one TBL
	vectorBytes = 16
	noByte      = 0xff // the index of a byte that is zero
)

// A source is where the steps load a vector from. Kernels read it; gen/kernels.go repeats its layout.
type source struct {
	data    unsafe.Pointer // for the first step
	advance int            // bytes from one step to the next
}

// steps are a call of permute without gaps, in the form that the kernel reads. They make the first groups of the call.
type steps struct {
	sources [mostSources]source
	indices [mostSources * vectorBytes / 8]uint64 // a byte for each byte of a step
	value   [groupBytes / 8]uint64                // the last source, if bytes come from the value
	k       int                                   // the number of sources
	vectors int                                   // how many a step stores: 1, 2 or 4
	groups  int                                   // how many a step makes
	count   int                                   // the steps for which the sources may be read and dst may be written
}

// A span is the part of a move's group that is used: its first byte, and the number of bytes, which may be 0.
type span struct{ first, bytes int }

// sourcesOf returns how many vectors hold the bytes of that many groups.
func (s span) sourcesOf(groups, stride int) int {
	return ((groups-1)*stride + s.bytes + vectorBytes - 1) / vectorBytes
}

// permuteVectors is permute with a kernel, if there are enough groups.
func permuteVectors(dst unsafe.Pointer, d, n int, low, high uint64, gaps uint16, moves []move) {
	written := (^gaps | given(moves)) & (1<<d - 1)
	if written != 1<<d-1 {
		permuteApart(dst, d, n, low, high, written, moves)
		return
	}
	var s steps
	done := 0
	if s.plan(dst, d, n, low, high, moves) {
		s.run(dst, d, 0, s.count)
		done = s.count * s.groups
	}
	permuteRest(dst, d, done, n, low, high, 0, moves)
}

// given returns ones for the bytes of a group that come from moves.
func given(moves []move) uint16 {
	all := uint16(0)
	for k := range moves {
		for j, from := range moves[k].from {
			if from >= 0 {
				all |= 1 << j
			}
		}
	}
	return all
}

// permuteRest makes the groups from done on, by the portable loop.
func permuteRest(dst unsafe.Pointer, d, done, n int, low, high uint64, gaps uint16, moves []move) {
	if done == n {
		return
	}
	var rest [groupBytes]move
	for k := range moves {
		m := &moves[k]
		rest[k] = move{noescape(unsafe.Add(m.data, done*m.stride)), m.stride, m.from}
	}
	permuteGeneric(unsafe.Add(dst, done*d), d, n-done, low, high, gaps, rest[:len(moves)])
}

// plan sets s to the steps for n groups of d bytes. It reports whether there are any.
func (s *steps) plan(dst unsafe.Pointer, d, n int, low, high uint64, moves []move) bool {
	if len(moves) > mostSources {
		return false
	}
	var spans [mostSources]span
	var from [groupBytes]int8 // which move gives a byte, or -1
	for j := range from {
		from[j] = -1
	}
	exact := false // a step must not write past its groups, because the groups after them are still to be read
	for k := range moves {
		m := &moves[k]
		exact = exact || m.data == dst
		spans[k].first, spans[k].bytes = m.bytes(d)
		for j, f := range m.from[:d] {
			if f >= 0 {
				from[j] = int8(k)
			}
		}
	}
	s.value = [2]uint64{low, high}
	constant := 0 // 1 if a byte of the value is not zero
	for j := range d {
		if from[j] < 0 && s.valueByte(j) != 0 {
			constant = 1
		}
	}
	if !s.choose(d, exact, constant, spans[:len(moves)], moves) {
		return false
	}
	s.limit(d, n, spans[:len(moves)], moves)
	if s.count == 0 {
		return false
	}

	var pattern, grow [groupBytes]uint8 // of each byte of the first group: its index, and how much it grows by group
	base := 0
	for k := range moves {
		m, t := &moves[k], spans[k]
		if t.bytes == 0 {
			continue
		}
		for j, f := range m.from[:d] {
			if f >= 0 {
				pattern[j], grow[j] = uint8(base*vectorBytes+int(f)-t.first), uint8(m.stride)
			}
		}
		for r := range t.sourcesOf(s.groups, m.stride) {
			s.sources[base] = source{noescape(unsafe.Add(m.data, t.first+r*vectorBytes)), s.groups * m.stride}
			base++
		}
	}
	for j := range d {
		if from[j] < 0 {
			pattern[j] = noByte
			if s.valueByte(j) != 0 {
				pattern[j] = uint8(base*vectorBytes + j)
			}
		}
	}
	if constant != 0 {
		s.sources[base] = source{noescape(unsafe.Pointer(&s.value)), 0}
		base++
	}
	s.k = base
	s.index(d, &pattern, &grow)
	return true
}

func (s *steps) valueByte(j int) byte { return byte(s.value[j/8] >> (j % 8 * 8)) }

// choose sets the numbers of groups and vectors of a step. A step has as many vectors as it can with the sources that
// one vector needs. It reports whether there are few enough sources.
func (s *steps) choose(d int, exact bool, constant int, spans []span, moves []move) bool {
	count := func(groups int) int {
		sources := constant
		for k := range spans {
			if spans[k].bytes > 0 {
				sources += spans[k].sourcesOf(groups, moves[k].stride)
			}
		}
		return sources
	}
	s.vectors, s.groups = 1, stepGroups(d)
	one := count(s.groups)
	if s.groups*d == vectorBytes {
		for vectors := mostSources; vectors > 1; vectors /= 2 {
			if sources := count(vectors * s.groups); sources == one && sources <= mostSources {
				s.vectors, s.groups = vectors, vectors*s.groups
				return one > 0
			}
		}
	}
	for one > mostSources && s.groups > 1 {
		s.groups /= 2
		one = count(s.groups)
	}
	return one > 0 && one <= mostSources && !(exact && s.groups*d != vectorBytes)
}

// limit sets the number of steps, so that none reads past a move's last byte or writes past the last group.
func (s *steps) limit(d, n int, spans []span, moves []move) {
	upTo := func(room, step int) {
		if room < 0 {
			s.count = 0
		} else {
			s.count = min(s.count, room/step+1)
		}
	}
	s.count = n
	upTo(n*d-s.vectors*vectorBytes, s.groups*d)
	for k := range moves {
		if t := spans[k]; t.bytes > 0 {
			stride := moves[k].stride
			upTo((n-1)*stride+t.bytes-t.sourcesOf(s.groups, stride)*vectorBytes, s.groups*stride)
		}
	}
}

// index sets the indices of all bytes of a step.
func (s *steps) index(d int, pattern, grow *[groupBytes]uint8) {
	groups := s.groups / s.vectors // in a vector
	var first, more [vectorBytes]uint8
	at := 0
	for i := range groups {
		for j := range d {
			first[at] = pattern[j] + uint8(i)*grow[j]
			more[at] = uint8(groups) * grow[j]
			at++
		}
	}
	for ; at < vectorBytes; at++ {
		first[at] = noByte
	}
	for half := range vectorBytes / 8 {
		index, growth := binary.LittleEndian.Uint64(first[8*half:]), binary.LittleEndian.Uint64(more[8*half:])
		for v := range s.vectors {
			s.indices[v*vectorBytes/8+half] = index
			index += growth
		}
	}
}

// run makes the groups of count steps, from step i on.
func (s *steps) run(dst unsafe.Pointer, d, i, count int) {
	start := s.sources
	step := s.groups * d
	for done := 0; done < count; {
		m := min(count-done, pieceBytes/(s.vectors*vectorBytes))
		for k := range s.k {
			s.sources[k].data = noescape(unsafe.Add(start[k].data, (i+done)*start[k].advance))
		}
		permuteNEON(unsafe.Add(dst, done*step), unsafe.Pointer(&s.sources), unsafe.Pointer(&s.indices),
			s.k, s.vectors, step, m)
		done += m
	}
	s.sources = start
}

// apartBytes is the size of the memory for groups without gaps. It stays in the first-level cache.
const apartBytes = 1 << 10

// permuteApart is permute with gaps. It makes groups of the bytes that are written, side by side, and stores them
// apart.
func permuteApart(dst unsafe.Pointer, d, n int, low, high uint64, written uint16, moves []move) {
	var array [mostSources]move
	var s steps
	var tile [apartBytes + mostSources*vectorBytes]byte // the last step may write past its groups
	done, c := 0, bits.OnesCount16(written)
	if len(moves) <= mostSources && c > 0 {
		together, low, high := closeUp(&array, d, low, high, written, moves)
		if s.plan(unsafe.Pointer(&tile), c, n, low, high, together) {
			for i := 0; i < s.count; {
				count := min(s.count-i, apartBytes/(s.groups*c))
				s.run(unsafe.Pointer(&tile), c, i, count)
				storeApart(unsafe.Add(dst, done*d), d, unsafe.Pointer(&tile), c, count*s.groups, written)
				i, done = i+count, done+count*s.groups
			}
		}
	}
	permuteRest(dst, d, done, n, low, high, ^written, moves)
}

// closeUp returns the moves, and the value, of groups that have only the bytes that are written.
func closeUp(array *[mostSources]move, d int, low, high uint64, written uint16, moves []move) ([]move, uint64, uint64) {
	for k := range moves {
		array[k] = move{noescape(moves[k].data), moves[k].stride, noBytes}
	}
	var value [2]uint64
	at := 0
	for j := range d {
		if written>>j&1 == 0 {
			continue
		}
		for k := range moves {
			array[k].from[at] = moves[k].from[j]
		}
		b := low >> (8 * j)
		if j >= 8 {
			b = high >> (8 * (j - 8))
		}
		value[at/8] |= b & 0xff << (at % 8 * 8)
		at++
	}
	return array[:len(moves)], value[0], value[1]
}

// storeApart stores n groups of c bytes to the bytes that are written of groups of d bytes.
func storeApart(dst unsafe.Pointer, d int, groups unsafe.Pointer, c, n int, written uint16) {
	at := 0
	for j := 0; written>>j != 0; {
		run := bits.TrailingZeros16(^(written >> j))
		to, from := unsafe.Add(dst, j), unsafe.Add(groups, at)
		switch {
		case run == 0:
			j++
			continue
		case run >= 8:
			run = 8
			storeStrided[uint64](to, d, from, c, n)
		case run >= 4:
			run = 4
			storeStrided[uint32](to, d, from, c, n)
		case run >= 2:
			run = 2
			storeStrided[uint16](to, d, from, c, n)
		default:
			storeStrided[uint8](to, d, from, c, n)
		}
		j, at = j+run, at+run
	}
}

// storeStrided copies n elements from every c bytes to every d bytes.
func storeStrided[E Word](to unsafe.Pointer, d int, from unsafe.Pointer, c, n int) {
	for i := range n {
		*(*E)(unsafe.Add(to, i*d)) = *(*E)(unsafe.Add(from, i*c))
	}
}
