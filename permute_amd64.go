//go:build amd64 && gc && !purego && !noasm && !appengine

package bfi

import (
	"encoding/binary"
	"unsafe"
)

// Which kernel a call of permute takes:
//
//	level                kernel           for
//	avx512 with VBMI     permuteAVX512    all calls
//	avx512, avx2         permuteAVX2      calls without gaps that take few shuffles
//	all                  permuteGeneric   the rest

// permutes reports whether the current level has a kernel for permute.
func permutes() bool { return current >= levelAVX2 }

// permutable reports whether there is such a kernel that is fast for n groups of d bytes.
func permutable(d, n int, gaps uint16, moves []move) bool {
	return permutesAll() || permutes() && gaps == 0 && n*d >= halvesBytes && shuffles(d, moves) <= mostShuffles
}

// permutesAll reports whether the level permutes bytes across whole vectors.
func permutesAll() bool { return current == levelAVX512 && vbmi }

// permuteVectors is permute at a level that has a kernel.
func permuteVectors(dst unsafe.Pointer, d, n int, low, high uint64, gaps uint16, moves []move) {
	if !permutesAll() {
		if gaps != 0 || n*d < halvesBytes || !permuteHalves(dst, d, n, low, high, moves) {
			permuteGeneric(dst, d, n, low, high, gaps, moves)
		}
		return
	}
	groups, shift := int(stepGroups[d].groups), int(stepGroups[d].shift)
	apart := true
	for k := range moves {
		apart = apart && moves[k].data != dst
	}
	switch {
	case n == 0: // the kernel begins with a step
	case n*d < alignBytes:
		permuteAVX512(dst, pointer(moves), len(moves), 0, n, d, groups, shift, low, high, uint64(gaps), apart, false)
	default:
		permuteLong(dst, d, n, groups, shift, low, high, gaps, moves, apart)
	}
}

// stepGroups has, for groups of d bytes, the number of groups that the kernel makes at
// a time, and its logarithm. The number is what fits a vector, rounded down to a power
// of two.
var stepGroups = [1 + groupBytes]struct{ groups, shift uint8 }{
	1: {64, 6}, {32, 5}, {16, 4}, {16, 4}, {8, 3}, {8, 3}, {8, 3}, {8, 3},
	{4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2}, {4, 2},
}

// alignBytes is the least number of bytes for which it pays to align dst.
const alignBytes = 4 << 10

// permuteLong is permute in pieces. The first piece ends where dst is aligned.
func permuteLong(dst unsafe.Pointer, d, n, groups, shift int, low, high uint64, gaps uint16, moves []move, apart bool) {
	at := 0
	stream := false
	if address := uintptr(dst); groups*d == 64 && address%uintptr(d) == 0 {
		at = int(-address%64) / d
		if at > 0 {
			permuteAVX512(dst, pointer(moves), len(moves), 0, at, d, groups, shift, low, high, uint64(gaps), apart, false)
		}
		stream = apart && streamsMoves(d, n, moves)
	}
	for at < n {
		count := min(n-at, pieceBytes>>6<<shift)
		permuteAVX512(dst, pointer(moves), len(moves), at, count, d, groups, shift, low, high, uint64(gaps), apart, stream)
		at += count
	}
}

// streamsMoves reports whether a call moves enough bytes to stream.
func streamsMoves(d, n int, moves []move) bool {
	moved := 2 * d
	for k := range moves {
		moved += moves[k].stride
	}
	return uintptr(n)*uintptr(moved) >= streamBytes
}

// permuteAVX2 makes groups of up to 16 bytes. If groups are short, it gets wide groups: as many groups as fit 16 bytes,
// rounded down to a power of two. It takes a move's groups for a wide group in chunks: as many groups as fit one load.

const (
	mostShuffles = 4   // the most shuffles for a wide group that are faster than other kernels
	halvesBytes  = 128 // how many bytes a call must write for permuteAVX2 to pay
)

// wideShift returns the logarithm of the number of groups in a wide one.
func wideShift(d int) int { return int(stepGroups[d].shift) - 2 }

// chunk returns how many groups a chunk has, given how many a wide group has.
func (m *move) chunk(span, groups int) int {
	for groups > 1 && (groups-1)*m.stride+span > groupBytes {
		groups /= 2
	}
	return groups
}

// shuffles returns the number of shuffles that a wide group takes.
func shuffles(d int, moves []move) int {
	groups, count := 1<<wideShift(d), 0
	for k := range moves {
		if _, span := moves[k].bytes(d); span > 0 {
			count += groups / moves[k].chunk(span, groups)
		}
	}
	return count
}

// A wideMove is a move of wide groups in the form that permuteAVX2 reads. If a byte is not moved, its entry in from has
// the highest bit set.
type wideMove struct {
	data   unsafe.Pointer
	stride int
	from   [2]uint64
}

// permuteHalves makes all groups with permuteAVX2, if it can.
//
// The kernel loads and stores 16 bytes, even if a chunk or a wide group has fewer. So the last wide groups are made
// apart from the others, by loads that end where chunks end, in memory that has room. They are made first, because
// dst may be the data of a move.
func permuteHalves(dst unsafe.Pointer, d, n int, low, high uint64, moves []move) bool {
	shift := wideShift(d)
	groups, step := 1<<shift, d<<shift
	last := 1 // how many wide groups are made apart
	if step+d < groupBytes {
		last = 2
	}
	var wide [mostShuffles]wideMove
	var unused [mostShuffles]int // bytes after a chunk that a load has room for
	count := 0
	for k := range moves {
		m := &moves[k]
		first, span := m.bytes(d)
		if span == 0 {
			continue
		}
		chunk := m.chunk(span, groups)
		if count+groups/chunk > mostShuffles || m.data == dst && step < groupBytes {
			return false // in place, a store of a short step would go on into bytes that are read later
		}
		from := [2]uint64{
			binary.LittleEndian.Uint64((*[8]byte)(unsafe.Pointer(&m.from[0]))[:]),
			binary.LittleEndian.Uint64((*[8]byte)(unsafe.Pointer(&m.from[8]))[:]),
		}
		low, high = low&^movedBytes(from[0]), high&^movedBytes(from[1])
		from[0], from[1] = fromFirst(from[0], first), fromFirst(from[1], first)
		for at := 0; at < groups; at += chunk {
			for (last*groups-at)*m.stride+span < groupBytes {
				last++
			}
			w := &wide[count]
			w.data, w.stride = noescape(unsafe.Add(m.data, first+at*m.stride)), m.stride<<shift
			w.from[0], w.from[1] = from[0], from[1]
			if d <= 8 {
				w.from[0], w.from[1] = repeated(from[0]^highBits, d, at, chunk, uint64(m.stride))
				w.from[0], w.from[1] = w.from[0]^highBits, w.from[1]^highBits
			}
			unused[count] = groupBytes - (chunk-1)*m.stride - span
			count++
		}
	}
	begin := n - last*groups // the first group that is made apart
	if begin <= 0 || count == 0 {
		return false
	}
	var rest [mostShuffles]wideMove
	for k := range wide[:count] {
		w := &wide[k]
		skip := begin*(w.stride>>shift) - unused[k]
		if skip < 0 {
			return false
		}
		more := uint64(unused[k]) * eachByte
		rest[k] = wideMove{noescape(unsafe.Add(w.data, skip)), w.stride, [2]uint64{w.from[0] + more, w.from[1] + more}}
	}
	if d <= 8 {
		low, high = repeated(low, d, 0, groups, 0)
	}
	var made [groupBytes * groupBytes]byte
	permuteAVX2(unsafe.Pointer(&made), unsafe.Pointer(&rest), count, 0, last, step, low, high)
	steps := (begin + groups - 1) >> shift
	for at := 0; at < steps; at += pieceBytes / groupBytes {
		permuteAVX2(dst, unsafe.Pointer(&wide), count, at, min(steps-at, pieceBytes/groupBytes), step, low, high)
	}
	copy(unsafe.Slice((*byte)(unsafe.Add(dst, begin*d)), last*step), made[:])
	return true
}

// highBits is the highest bit of each byte.
const highBits = eachByte << 7

// movedBytes returns ones in the bytes that from moves.
func movedBytes(from uint64) uint64 { return ^from & highBits >> 7 * 0xff }

// fromFirst returns from with its entries counted from the first byte that is moved. Entries of bytes that are not
// moved become 0x80, so that adding to them does not carry.
func fromFirst(from uint64, first int) uint64 {
	moved := movedBytes(from)
	return ((from|highBits)-uint64(first)*eachByte)&moved&^highBits | highBits&^moved
}

// repeated returns 16 bytes with the low d bytes of x, 1 to 8, in count groups from one on. Each byte grows by more
// from one group to the next.
func repeated(x uint64, d, group, count int, more uint64) (low, high uint64) {
	mask := ^uint64(0) >> (64 - 8*d)
	at := uint(8 * d * group)
	for range count {
		low |= x & mask << at
		high |= x&mask<<(at-64) | x&mask>>(64-at)
		x += more * eachByte
		at += uint(8 * d)
	}
	return low, high
}
