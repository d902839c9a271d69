package bfi

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Fields of whole bytes. If every byte of a word comes whole from one byte of one element, from base or from a
// constant, Pack and Unpack move bytes instead of fields. Then all fields of one column, and all elements of one
// Array, take one load.

// mostMoves is the most columns that the bytes of a word may come from.
const mostMoves = 8

// wholeMoves are the moves that make a group of bytes: a word for Pack, the elements of a word for Unpack.
type wholeMoves struct {
	list  [mostMoves]move
	from  [mostMoves]uint64 // for Pack: a byte for each byte of a word: its source in the move's group
	count int
	value uint64 // the bytes that come from no move
	gaps  uint16 // ones in the bytes that are not written
}

// run makes n groups of d bytes.
func (m *wholeMoves) run(dst unsafe.Pointer, d, n int) {
	permute(dst, d, n, m.value, 0, m.gaps, m.list[:m.count])
}

// Special numbers in from:
const (
	eachByte = 0x0101010101010101 // eachByte*n has n in each byte
	inOrder  = 0x0706050403020100
	fromNone = ^uint64(0)
)

// wholeBytes reports whether a field takes whole bytes of its elements and of the word.
func (f *Field) wholeBytes() bool {
	return (f.form.pos()|f.form.width()|f.form.from())&7 == 0 && f.groupBytes() <= groupBytes
}

// groupBytes returns the distance in bytes from one word's first element to the next word's. If the
// distance is too large for a move, it returns more than a move can have.
func (f *Field) groupBytes() uint64 { return min(f.stride(), groupBytes+1) * uint64(f.form.size()) }

// bytesFrom returns where in a group an integer's bytes are, from its byte number first on. The integer has size
// bytes and lies start bytes after the start of the group.
func bytesFrom(start, size, first int) uint64 {
	if bigEndian {
		return eachByte*uint64(start+size-1-first) - inOrder
	}
	return eachByte*uint64(start+first) + inOrder
}

// byteInMemory returns where byte number b of an integer of size bytes is in memory. Byte 0 is the lowest.
func byteInMemory(b, size int) int {
	if bigEndian {
		return size - 1 - b
	}
	return b
}

// inMemory turns the lowest size bytes of x from the order of their numbers to the order of memory.
func inMemory(x uint64, size int) uint64 {
	if bigEndian {
		return bits.ReverseBytes64(x) >> (64 - 8*size)
	}
	return x
}

// source returns the number of the move that takes bytes of groups at data, and how far into the move's groups data is.
// Columns at one stride may lie in one group. It returns -1 if there are too many moves.
func (m *wholeMoves) source(data unsafe.Pointer, stride, bytes int) (source, ahead int) {
	for k := range m.list[:m.count] {
		have := &m.list[k]
		if distance := uintptr(data) - uintptr(have.data); have.stride == stride && distance <= uintptr(stride-bytes) {
			return k, int(distance)
		}
	}
	if m.count == mostMoves {
		return -1, 0
	}
	m.list[m.count].data, m.list[m.count].stride, m.from[m.count] = noescape(data), stride, fromNone
	m.count++
	return m.count - 1, 0
}

// take sets where the bytes of a word from pos on come from: an integer's bytes, from its byte number first on. The
// integer has size bytes and lies start bytes into the groups of a move. there has ones in the bytes of the word that
// are set.
func (m *wholeMoves) take(source, start, size, first int, pos uint32, there uint64) {
	m.from[source] = m.from[source]&^there | bytesFrom(start, size, first)<<pos&there
}

// pack sets m to the moves that make words of size bytes, from word i of the call on. It reports whether there are such
// moves.
func (m *wholeMoves) pack(base unsafe.Pointer, fields []Field, size, i int) bool {
	covered := uint64(0)
	for k := range fields {
		f := &fields[k]
		constant := f.form.constant()
		if !f.wholeBytes() || f.form.signed() && f.form.uneven() && !constant {
			return false // copies of the sign are not a byte of an element
		}
		count, element := f.form.count(), int(f.form.size())
		source, ahead := 0, 0
		if !constant {
			group := int(f.groupBytes())
			if source, ahead = m.source(unsafe.Add(f.data, i*group), group, count*element); source < 0 {
				return false
			}
		}
		width, first := f.form.width(), min(f.form.from(), f.form.bits())
		for j := range count {
			pos := f.place(j)
			field := low(width) << pos
			covered |= field
			m.value &^= field
			for k := range m.from[:m.count] {
				m.from[k] |= field // the last field wins
			}
			if constant {
				m.value |= f.value()
			} else {
				m.take(source, ahead+j*element, element, int(first/8), pos, low(min(width, f.form.bits()-first))<<pos)
			}
		}
	}
	return m.finish(base, size, i, covered)
}

// packPlain sets m as pack does, for plain fields of whole bytes. Its arguments are the bits that they take and
// the value that constants set.
func (m *wholeMoves) packPlain(base unsafe.Pointer, fields []Field, size int, taken, value uint64) bool {
	for k := range fields {
		f := &fields[k]
		if f.form.constant() {
			continue
		}
		element := int(f.form.size())
		source, _ := m.source(f.data, element, element)
		if source < 0 || f.mask != f.mask&eachByte*0xff {
			return false // a constant may set the rest of a byte
		}
		m.take(source, 0, element, int(f.form.from()/8), f.form.pos(), f.mask)
	}
	m.value = value
	return m.finish(base, size, 0, taken)
}

// finish takes the bytes that no field covers from base, and removes moves that take no bytes.
func (m *wholeMoves) finish(base unsafe.Pointer, size, i int, covered uint64) bool {
	word := low(uint32(8 * size))
	if rest := word &^ covered; base != nil && rest != 0 {
		source, ahead := m.source(unsafe.Add(base, i*size), size, size)
		if source < 0 {
			return false
		}
		m.take(source, ahead, size, 0, 0, rest)
	}
	sources := m.count
	m.count = 0
	for k := range sources {
		from := m.from[k] | ^word
		if from == fromNone {
			continue
		}
		taken := &m.list[m.count]
		taken.data, taken.stride, taken.from = m.list[k].data, m.list[k].stride, noBytes
		binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Pointer(&taken.from))[:], inMemory(from, size)|^word)
		m.count++
	}
	m.value = inMemory(m.value, size)
	return true
}

// noBytes is a from that takes no byte.
var noBytes = [groupBytes]int8{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// wholeLanes is the least number of words for which it pays to look whether bytes can be moved.
const wholeLanes = 64

// whole reports whether fields take whole bytes, and whether no two of them share a bit. f is the union of the fields;
// taken has the bits that they and the constants take.
func (f form) whole(taken uint64) bool {
	return !f.uneven() && (f.shift()|int(f.pos()))&7 == 0 && taken == taken&eachByte*0xff
}

// packWhole packs fields of whole bytes if the current level moves them faster than it packs them.
func packWhole[T Word](dst, base []T, fields []Field, taken, value uint64) bool {
	var m wholeMoves
	size := int(unsafe.Sizeof(T(0)))
	if !m.packPlain(pointer(base), fields, size, taken, value) || !m.pays(size, len(dst)) {
		return false
	}
	m.run(pointer(dst), size, len(dst))
	return true
}

// pays reports whether moving bytes is faster than packing n words of plain fields. It is faster if all bytes come
// from one column. Packing has the lower fixed cost, so a kernel must be fast for an eighth of the words too. On
// NEON, moving is also faster if one TBL finds all bytes: constants take one of its 4 vectors.
func (m *wholeMoves) pays(d, n int) bool {
	if current == levelNEON {
		return (m.count < 4 || m.value == 0) && m.permutable(d, n)
	}
	return m.count == 1 && (current == levelGeneric || m.permutable(d, n/8))
}

// permutable reports whether permute has a kernel that is fast for n groups of d bytes.
func (m *wholeMoves) permutable(d, n int) bool {
	return permutable(d, n, m.gaps, m.list[:m.count])
}

// movesBytes reports whether moving n groups of d bytes may be faster than packing fields. tiles is the number of
// fields that need a tile.
//
//	level                 what it has                                                   faster
//	avx512 with VBMI      permute, by VPERMB                                            moving
//	avx512, avx2          permute, by VPSHUFB, for some moves                           moving, if it has
//	neon                  permute, by TBL, and pack                                     moving, if there are tiles
//	generic               portable Go for all, and one load of a word for its fields    moving
func movesBytes(tiles, d, n int) bool {
	return current == levelGeneric || mayPermute(d, n) && (current != levelNEON || tiles > 0)
}

// mayPermute reports whether permute may have a kernel that is fast for n groups of d bytes. If not, short
// calls gain by leaving out the search for moves.
func mayPermute(d, n int) bool { return permutable(d, n, 0, nil) }

// quick reports whether permute has a kernel that is fast for n groups of d bytes, or no kernel at all.
func (m *wholeMoves) quick(d, n int) bool { return !permutes() || m.permutable(d, n) }

// denseFirst reports whether the current level gathers and scatters dense fields faster than it moves n groups of d
// bytes by any moves.
func denseFirst(d, n int) bool { return current >= levelAVX2 && !mayPermute(d, n) }

// beatsDense reports whether the current level moves n groups of d bytes faster than it gathers or scatters dense
// fields.
func (m *wholeMoves) beatsDense(d, n int) bool { return current < levelAVX2 || m.permutable(d, n) }

// wholeElements reports whether every byte of a field's elements is a byte of a word of size bytes, or zero.
func (f *Field) wholeElements(size int) bool {
	end := f.form.pos() + uint32(f.form.count())*f.form.width()
	return f.wholeBytes() && !(f.form.signed() && (f.form.from()+f.form.width() < f.form.bits() || end > 8*uint32(size)))
}

// unpack sets m to the move that makes the elements of the first field from words of size bytes. The move also makes
// the elements of other fields in the same groups. It returns where the first group starts, and a bit for each of
// these fields. It returns no bits if there is no such move.
func (m *wholeMoves) unpack(src unsafe.Pointer, fields []Field, size int) (start unsafe.Pointer, done uint64) {
	f := &fields[0]
	if !f.wholeElements(size) {
		return nil, 0
	}
	start = f.data
	end := uintptr(f.form.count()) * f.form.size() // of the elements, from start on
	for k := range fields {
		g := &fields[k]
		if g.form.size() != f.form.size() || g.stride() != f.stride() || !g.wholeElements(size) {
			continue
		}
		before, after := uintptr(start)-uintptr(g.data), uintptr(g.data)-uintptr(start)
		elements := uintptr(g.form.count()) * g.form.size()
		switch group := uintptr(f.groupBytes()); {
		case before <= group && before+end <= group:
			start, end = g.data, max(before+end, elements)
		case after <= group && after+elements <= group:
			end = max(end, after+elements)
		default:
			continue
		}
		done |= 1 << k
	}
	m.list[0], m.count = move{noescape(src), size, noBytes}, 1
	m.gaps = ^uint16(0)
	for k := range fields {
		if done>>k&1 != 0 {
			g := &fields[k]
			m.fill(g, size, int(uintptr(g.data)-uintptr(start)))
		}
	}
	m.gaps &= 1<<f.groupBytes() - 1
	return start, done
}

// fill takes a field's elements from words of size bytes. The elements start that many bytes into the group.
func (m *wholeMoves) fill(f *Field, size, at int) {
	element, first, width := int(f.form.size()), int(f.form.from()/8), int(f.form.width()/8)
	for j := range f.form.count() {
		pos := int(f.place(j) / 8)
		for b := first; b < min(element, first+width, first+size-pos); b++ {
			m.list[0].from[at+j*element+byteInMemory(b, element)] = int8(byteInMemory(pos+b-first, size))
		}
	}
	m.gaps &^= (1<<(f.form.count()*element) - 1) << at
}
