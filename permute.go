package bfi

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// A move says where bytes of each group of dst come from. A group is the bytes of one
// word, or the bytes from one word's first element to the next word's.
type move struct {
	data   unsafe.Pointer // the bytes of the first group
	stride int            // bytes from one group to the next, 1 to 16

	// from has an entry for each byte of a group of dst: the number of the byte at data
	// that goes there, 0 to stride-1. If the byte does not come from this move, or the
	// group is shorter, the entry is -1. Kernels read a move; gen/kernels.go repeats its
	// layout.
	from [groupBytes]int8
}

// groupBytes is the most bytes that a group may have, in dst and in a move.
const groupBytes = 16

// bytes returns the first of a group's bytes that are moved, and the number of bytes from it to the last one that is
// moved. The number is 0 if no byte is moved.
func (m *move) bytes(d int) (first, span int) {
	first, last := groupBytes, -1
	for _, from := range m.from[:d] {
		if from >= 0 {
			first, last = min(first, int(from)), max(last, int(from))
		}
	}
	return first, max(last+1-first, 0)
}

// An origin is where one byte of each group comes from.
type origin struct {
	data   unsafe.Pointer
	stride int
	shift  uint // of the byte in its half of a group
}

// permuteGeneric is the portable permute, and the reference for the kernels. permute
// writes n groups of d bytes, 1 to 16, to dst. Byte j of group i is:
//
//	if a move k has from[j] >= 0   byte i*stride+from[j] of the move's data
//	else if bit j of gaps is 0     byte j of the value
//	else                           not written at all
//
// The value's bytes 0 to 7 are those of low, the least significant first. Bytes 8 to 15
// are those of high. No byte of a group may come from two moves.
//
// A move's data may be dst if its stride is d. Otherwise the two must not overlap. In a
// move's data, permute reads nothing before the first byte that it moves, and nothing
// after the last.
func permuteGeneric(dst unsafe.Pointer, d, n int, low, high uint64, gaps uint16, moves []move) {
	lo, hi := 0, 0
	// permuteWords also reads bytes that no move takes. A sanitizer would report this.
	if gaps == 0 && d <= 8 && !instrumented {
		lo, hi = permuteWords(dst, d, n, low, moves)
		if lo == 0 && hi == n {
			return
		}
	}
	var origins [groupBytes]origin
	count, lows := 0, 0
	for j := range d {
		if j == 8 {
			lows = count
		}
		for k := range moves {
			if moves[k].from[j] < 0 {
				continue
			}
			shift := uint(j % 8 * 8)
			origins[count] = origin{unsafe.Add(moves[k].data, moves[k].from[j]), moves[k].stride, shift}
			count++
			gaps &^= 1 << j
			if j < 8 {
				low &^= 0xff << shift
			} else {
				high &^= 0xff << shift
			}
		}
	}
	if d <= 8 {
		lows = count
	}
	gaps &= 1<<d - 1
	// The last group's last gaps may lie past the memory.
	end := bits.Len16(^gaps & (1<<d - 1))
	for i := 0; i < n; i++ {
		if i == lo && hi > lo {
			i = hi
			if i == n {
				return
			}
		}
		x, y := low, high
		for k := range origins[:lows] {
			o := &origins[k]
			x |= uint64(*(*uint8)(unsafe.Add(o.data, i*o.stride))) << o.shift
		}
		for k := range origins[lows:count] {
			o := &origins[lows+k]
			y |= uint64(*(*uint8)(unsafe.Add(o.data, i*o.stride))) << o.shift
		}
		group := unsafe.Slice((*byte)(unsafe.Add(dst, i*d)), end)
		switch {
		case gaps != 0:
			storeGroup(group, x, y, gaps)
		case d == 1:
			group[0] = byte(x)
		case d == 2:
			binary.LittleEndian.PutUint16(group, uint16(x))
		case d == 4:
			binary.LittleEndian.PutUint32(group, uint32(x))
		case d == 8:
			binary.LittleEndian.PutUint64(group, x)
		default:
			storeGroup(group, x, y, 0)
		}
	}
}

// storeGroup writes the bytes of a group that are not gaps.
func storeGroup(group []byte, low, high uint64, gaps uint16) {
	for j := range group {
		if gaps>>j&1 == 0 {
			group[j] = byte(low)
		}
		low = low>>8 | high<<56
		high >>= 8
	}
}
