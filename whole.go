package bfi

import "unsafe"

// Fields of whole bytes: where every byte of a word comes whole from one byte of one element, from base or from a
// constant, Pack and Unpack move bytes instead of fields. Fields of one column, and elements of one Array, then take
// one load.

// mostMoves bounds the columns that the bytes of a word come from.
const mostMoves = 8

// wholeMoves are the moves that make a group of bytes: a word for Pack, the elements of a word for Unpack.
type wholeMoves struct {
	list  [mostMoves]move
	count int
	value uint64 // the bytes that come from no move
	gaps  uint16 // ones in the bytes that are not written
}

// run makes n groups of d bytes.
func (m *wholeMoves) run(dst unsafe.Pointer, d, n int) {
	permute(dst, d, n, m.value, 0, m.gaps&(1<<d-1), m.list[:m.count])
}

// wholeBytes reports whether a field takes whole bytes of its elements and of the word.
func (f *Field) wholeBytes() bool {
	return (f.form.pos()|f.form.width()|f.form.from())&7 == 0 && f.groupBytes() <= groupBytes
}

// groupBytes returns the bytes from one word's first element to the next word's, or more than a move can have.
func (f *Field) groupBytes() uint64 { return min(f.stride(), groupBytes+1) * uint64(f.form.size()) }

// byteInMemory returns where byte number b of an integer of size bytes is in memory, the lowest byte being number 0.
func byteInMemory(b, size int) int {
	if bigEndian {
		return size - 1 - b
	}
	return b
}

// eachByte calls f with the bytes of a field in a word of size bytes: where they are in the memory of the word and of
// its elements. element is -1 for a byte that the elements do not have.
func (f *Field) eachByte(size int, each func(word, element int)) {
	elementSize, width, from := int(f.form.size()), int(f.form.width()/8), int(f.form.from()/8)
	for j := range f.form.count() {
		first := int(f.place(j) / 8)
		for b := range min(width, size-first) {
			element := -1
			if from+b < elementSize {
				element = j*elementSize + byteInMemory(from+b, elementSize)
			}
			each(byteInMemory(first+b, size), element)
		}
	}
}

// from returns the move that takes bytes of groups at data, and how far into that move's groups data is: columns at one
// stride may be in one group. It returns nil if there are too many moves.
func (m *wholeMoves) from(data unsafe.Pointer, stride, bytes int) (source *move, ahead int) {
	for k := range m.list[:m.count] {
		source = &m.list[k]
		distance := uintptr(data) - uintptr(source.data)
		if source.stride == stride && distance <= uintptr(stride-bytes) {
			return source, int(distance)
		}
	}
	if m.count == mostMoves {
		return nil, 0
	}
	source = &m.list[m.count]
	m.count++
	*source = move{data: noescape(data), stride: stride, from: noBytes}
	return source, 0
}

// noBytes takes no byte from a move.
var noBytes = [groupBytes]int8{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// pack sets m to the moves that make words of size bytes, from word i of the call on. It reports whether there are
// such moves.
func (m *wholeMoves) pack(base unsafe.Pointer, fields []Field, size, i int) bool {
	covered := 0 // a bit for each byte of a word that a field has
	for k := range fields {
		f := &fields[k]
		if !f.wholeBytes() || f.form.signed() && f.form.uneven() && !f.form.constant() {
			return false // a sign is no byte of an element
		}
		var source *move
		var ahead int
		if !f.form.constant() {
			bytes, group := f.form.count()*int(f.form.size()), int(f.groupBytes())
			if source, ahead = m.from(unsafe.Add(f.data, i*group), group, bytes); source == nil {
				return false
			}
		}
		f.eachByte(size, func(word, element int) {
			for k := range m.list[:m.count] {
				m.list[k].from[word] = -1 // the last field wins
			}
			covered |= 1 << word
			m.value &^= 0xff << (8 * word)
			switch {
			case element >= 0 && source != nil:
				source.from[word] = int8(ahead + element)
			case source == nil:
				m.value |= f.value() >> (8 * byteInMemory(word, size)) & 0xff << (8 * word)
			}
		})
	}
	if base != nil && covered != 1<<size-1 {
		source, ahead := m.from(unsafe.Add(base, i*size), size, size)
		if source == nil {
			return false
		}
		for b := range size {
			if covered>>b&1 == 0 {
				source.from[b] = int8(ahead + b)
			}
		}
	}
	m.drop()
	return true
}

// wholeElements reports whether every byte of a field's elements is a byte of a word of size bytes, or zero.
func (f *Field) wholeElements(size int) bool {
	end := f.form.pos() + uint32(f.form.count())*f.form.width()
	return f.wholeBytes() && !(f.form.signed() && (f.form.from()+f.form.width() < f.form.bits() || end > 8*uint32(size)))
}

// unpack sets m to the move that makes a field's elements of words of size bytes, and with them those of other fields in
// the same groups. It returns where the first group starts, and a bit for each field that is among them: none if the
// first is not.
func (m *wholeMoves) unpack(src unsafe.Pointer, fields []Field, size int) (start unsafe.Pointer, done uint64) {
	f := &fields[0]
	if !f.wholeElements(size) {
		return nil, 0
	}
	start = f.data
	end := uintptr(f.form.count()) * f.form.size() // of the elements, from start on
	for k := range fields {
		g := &fields[k]
		if !g.form.array() || g.form.size() != f.form.size() || g.stride() != f.stride() || !g.wholeElements(size) {
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
	source, _ := m.from(src, size, size)
	m.gaps = ^uint16(0)
	for k := range fields {
		if done>>k&1 == 0 {
			continue
		}
		g := &fields[k]
		at := int(uintptr(g.data) - uintptr(start))
		g.eachByte(size, func(word, element int) {
			if element >= 0 {
				source.from[at+element] = int8(word)
			}
		})
		m.gaps &^= (1<<(g.form.count()*int(g.form.size())) - 1) << at
	}
	return start, done
}

// drop removes the moves that take no byte.
func (m *wholeMoves) drop() {
	count := 0
	for k := range m.list[:m.count] {
		if m.list[k].from != noBytes {
			m.list[count] = m.list[k]
			count++
		}
	}
	m.count = count
}
