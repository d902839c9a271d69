//go:build amd64 && gc && !purego && !noasm && !appengine

package bfi

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// The kernels of dense fields take the groups, the words, their number and:
//
//	exact     how many of the last words must not be accessed as 8 bytes
//	w         the bytes of a word
//	bytes     the bytes of a group
//	stride    the bytes from one group to the next
//	fields    the bits of fields in 8 bytes of a group
//	last      the same in the odd chunk, which ends where the group ends
//	step      the bits of a word that 8 bytes of a group make
//	pos       where in the word these bits begin
//	lastPos   where the bits of the odd chunk begin
//	signs     the highest bit of each field, if fields are signed
//	above     times a bit of signs, it is all bits above the field
//	reversed  1 if the first element has the highest field, else 0
//
// Kernels of single bits take n bytes of words and bytes of groups. They also take bit
// or ones, the bits of a byte of a group.
//
// Kernels of bytes take a byteTable, n, w and bytes, and:
//
//	steps   how many steps come first, which access 64 bytes at a time
//	words   the words of a step
//	merges  how many merges the table has

// gatherBitsKernel calls a kernel for gatherBits, if there is one.
func gatherBitsKernel(dst unsafe.Pointer, w, n int, data unsafe.Pointer, e, stride int, d *dense) bool {
	if d.ones(w, e, stride) {
		bit, reversed := uint64(eachByte)<<d.from, truth(d.reversed)
		for i := 0; i < n*w; i += pieceBytes / 8 {
			m := uint64(min(pieceBytes/8, n*w-i))
			if current == levelAVX512 {
				gatherOnesAVX512(unsafe.Add(dst, i), unsafe.Add(data, 8*i), m, bit, reversed)
			} else {
				gatherOnesAVX2(unsafe.Add(dst, i), unsafe.Add(data, 8*i), m, bit, reversed)
			}
		}
		return true
	}
	if d.moveBytes(dst, data, w, n, e, stride, false) || d.packs(dst, w, n, data, e, stride) {
		return true
	}
	if !fastPEXT || d.reversed && e != 1 {
		return false
	}
	bytes := d.count * e
	fields := d.fields(e) << d.from
	last := d.lastFields(fields, bytes)
	if missing := -bytes & 7; bytes > 8 {
		last = fields << (8 * missing) // the chunk before has the rest
	}
	piece := pieceWords(n, max(bytes, w))
	for n > 0 {
		m := min(n, piece)
		gatherBitsBMI2(dst, data, uint64(m), uint64(d.exact(w, m, bytes, stride)), uint64(w), uint64(bytes), uint64(stride),
			fields, last, uint64(8/e*d.width), uint64(d.pos), truth(d.reversed))
		if n -= m; n > 0 {
			dst, data = unsafe.Add(dst, m*w), unsafe.Add(data, m*stride)
		}
	}
	return true
}

// scatterBitsKernel calls a kernel for scatterBits, if there is one.
func scatterBitsKernel(data unsafe.Pointer, e, stride int, src unsafe.Pointer, w, n int, d *dense) bool {
	if d.ones(w, e, stride) {
		ones, reversed := d.oneValue(), truth(d.reversed)
		for i := 0; i < n*w; i += pieceBytes / 8 {
			m := uint64(min(pieceBytes/8, n*w-i))
			if current == levelAVX512 {
				scatterOnesAVX512(unsafe.Add(data, 8*i), unsafe.Add(src, i), m, ones, reversed)
			} else {
				scatterOnesAVX2(unsafe.Add(data, 8*i), unsafe.Add(src, i), m, ones, reversed)
			}
		}
		return true
	}
	if d.moveBytes(data, src, w, n, e, stride, true) || d.unpacks(data, e, stride, src, w, n) {
		return true
	}
	if !fastPEXT || d.reversed && e != 1 {
		return false
	}
	bytes := d.count * e
	fields := d.fields(e) << d.from
	lastPos := d.pos
	if bytes > 8 {
		lastPos += (d.count - 8/e) * d.width
	}
	var signs uint64
	if d.signed && d.from+d.width < 8*e {
		signs = fields &^ (fields >> 1)
	}
	above := uint64(2)<<(8*e-d.from-d.width) - 2
	piece := pieceWords(n, max(bytes, w))
	for n > 0 {
		m := min(n, piece)
		exact := m // do not write between groups
		if bytes >= 8 || bytes == stride {
			exact = d.exact(w, m, bytes, stride)
		}
		scatterBitsBMI2(data, src, uint64(m), uint64(exact), uint64(w), uint64(bytes), uint64(stride),
			fields, d.lastFields(fields, bytes), uint64(8/e*d.width), uint64(d.pos), uint64(lastPos), signs, above,
			truth(d.reversed))
		if n -= m; n > 0 {
			data, src = unsafe.Add(data, m*stride), unsafe.Add(src, m*w)
		}
	}
	return true
}

// A byteTable tells gatherBytes and scatterBytes which byte goes where in a step. A step
// is as many words as fit a vector, with their groups. Elements have one byte. Each 8
// bytes of a vector have the elements of 8 bytes of groups: an eight.
//
//	         for gatherBytes                                for scatterBytes
//	first    for each byte of eights, an element            for each byte of eights, a byte of words
//	second   for each byte of words, a byte of eights       for each element, its lowest bit in its eight
//	masks    the bytes of eights, and of words, that count  the fields' bits in 8 elements
//	down     how far each merge moves upper fields down
//	low      the bits that each merge does not move
//
// gen/kernels.go repeats the layout.
type byteTable struct {
	first, second [64]uint8
	masks         [2]uint64
	down, low     [3]uint64
	merges        int
	words         int // the words of a step; 0 if scatterBytes cannot make these groups
}

// byteTables has the tables of earlier calls, because making one takes longer than many
// calls. A table stays for good.
var byteTables [64]struct {
	shape atomic.Uint64 // says what the table is for, as shapeOf does
	table byteTable
}

// Special shapes:
const (
	noShape   = 0
	busyShape = 1 // a call is making the table
)

// anewBytes is the least number of bytes in groups for which it pays to make a table for
// one call.
const anewBytes = 1 << 10

// moveBytes calls gatherBytes or scatterBytes, if there is one for the call.
func (d *dense) moveBytes(dst, src unsafe.Pointer, w, n, e, stride int, scatter bool) bool {
	if !d.bytes(w, n, e, stride, scatter) {
		return false
	}
	if t := d.byteTable(w, scatter); t != nil {
		return t.run(dst, src, w, n, d.count, scatter)
	}
	if n*d.count < anewBytes {
		return false
	}
	var t byteTable
	t.make(w, d, scatter)
	return t.run(dst, src, w, n, d.count, scatter)
}

// bytes reports whether moveBytes may have a kernel. Words must be many enough for a step.
func (d *dense) bytes(w, n, e, stride int, scatter bool) bool {
	if !vbmi || current != levelAVX512 || e != 1 || stride != d.count || n*min(w, d.count) < stepBytes {
		return false
	}
	if scatter {
		return !d.signed || d.from+d.width == 8
	}
	return d.from == 0 && d.pos&7 == 0 && d.width < 8
}

// stepBytes is how many bytes most steps load, and store.
const stepBytes = 64

// shapeOf returns a number for everything that a table depends on.
func (d *dense) shapeOf(w int, scatter bool) uint64 {
	return uint64(w|d.count<<7|d.width<<14|d.from<<21|d.pos<<28) | truth(d.reversed)<<35 | truth(scatter)<<36
}

// byteTable returns the table for words of w bytes. It returns nil if there is no room for
// it.
func (d *dense) byteTable(w int, scatter bool) *byteTable {
	const probes = 4
	shape := d.shapeOf(w, scatter)
	hash := shape * 0x9e3779b97f4a7c15 >> 32
	for i := range uint64(probes) {
		slot := &byteTables[(hash+i)%uint64(len(byteTables))]
		have := slot.shape.Load()
		if have == noShape && slot.shape.CompareAndSwap(noShape, busyShape) {
			slot.table.make(w, d, scatter)
			slot.shape.Store(shape)
			have = shape
		}
		if have == shape {
			return &slot.table
		}
	}
	return nil
}

// run moves the fields of n words of w bytes, in pieces. It reports whether the kernel can
// move them.
func (t *byteTable) run(dst, src unsafe.Pointer, w, n, count int, scatter bool) bool {
	if t.words == 0 {
		return false
	}
	from, to := count, w
	if scatter {
		from, to = w, count
	}
	piece := pieceWords(n, max(w, count))
	for least := min(w, count); n > 0; {
		m := min(n, piece)
		steps := 0 // that stay inside of the memory
		if more := m*least - stepBytes; more >= 0 {
			steps = int(uint32(more)/uint32(t.words*least)) + 1
		}
		if scatter {
			scatterBytesAVX512(dst, src, unsafe.Pointer(t), uint64(m), uint64(steps), uint64(t.words), uint64(w),
				uint64(count))
		} else {
			gatherBytesAVX512(dst, src, unsafe.Pointer(t), uint64(m), uint64(steps), uint64(t.words), uint64(w),
				uint64(count), uint64(t.merges))
		}
		if n -= m; n > 0 {
			dst, src = unsafe.Add(dst, m*to), unsafe.Add(src, m*from)
		}
	}
	return true
}

// make sets a zero table to the one for words of w bytes.
func (t *byteTable) make(w int, d *dense, scatter bool) {
	if scatter {
		t.makeScatter(w, d)
	} else {
		t.makeGather(w, d)
	}
}

// makeGather makes the table of gatherBytes. Each merge makes parts that are twice as wide,
// until their fields are whole bytes.
func (t *byteTable) makeGather(w int, d *dense) {
	eights := (d.count + 7) / 8 // of a group
	t.words = 8 / eights
	part, bits := 8, d.width // of a part, and of its fields
	for ; bits%8 != 0; part, bits = 2*part, 2*bits {
		t.down[t.merges], t.low[t.merges] = uint64(part-bits), low(uint32(bits))*everyBits(2*part)
		t.merges++
	}
	part, bits = part/8, bits/8 // in bytes
	for i := range t.words {
		first := 8 * i * eights
		for j := range d.count {
			at := first + d.order(j)
			t.first[at] = uint8(i*d.count + j)
			t.masks[0] |= 1 << at
		}
		for b := range (d.count*d.width + 7) / 8 {
			at := i*w + d.pos/8 + b
			t.second[at] = uint8(first + b/bits*part + b%bits)
			t.masks[1] |= 1 << at
		}
	}
}

// makeScatter makes the table of scatterBytes. Each eight gets the bytes of words that its
// fields are in, from the lowest on, so the two bytes of a field are neighbours. It leaves
// words 0 if these are more than 8 bytes.
func (t *byteTable) makeScatter(w int, d *dense) {
	words := min(stepBytes/d.count, stepBytes/w)
	var lowest [stepBytes]int // the lowest bit of each element's field, among all words
	var taken [8]uint64       // for each eight, a bit for each byte of words
	for at := range words * d.count {
		bit := 8*w*(at/d.count) + d.pos + d.order(at%d.count)*d.width
		lowest[at] = bit
		taken[at/8] |= 1<<(bit/8) | 1<<((bit+d.width-1)/8)
	}
	for at := range words * d.count {
		before := bits.OnesCount64(taken[at/8] & low(uint32(lowest[at]/8)))
		t.second[at] = uint8(8*before+lowest[at]%8-d.from) % 64
	}
	for i, bytes := range taken {
		if bits.OnesCount64(bytes) > 8 {
			return
		}
		for at := 8 * i; bytes != 0; at++ {
			t.first[at] = uint8(bits.TrailingZeros64(bytes))
			bytes &= bytes - 1
		}
	}
	t.masks[0] = d.fields(1) << d.from
	t.words = words
}

// pieceWords returns how many of n words are a piece if a word and its group have at most
// that many bytes each. Most calls do without the division.
func pieceWords(n, bytes int) int {
	if n*bytes <= pieceBytes {
		return n
	}
	return max(pieceBytes/bytes, 1)
}

// exact returns how many of the last words, or of their groups, must not be accessed as
// 8 bytes, because the memory may end sooner.
func (d *dense) exact(w, n, bytes, stride int) int {
	exact := 8/w - 1
	switch missing := 8 - bytes; {
	case missing > stride:
		exact = max(exact, (missing+stride-1)/stride)
	case missing > 0:
		exact = max(exact, 1)
	}
	return min(exact, n)
}

// lastFields returns the fields of the odd chunk. If the chunk has less than 8 bytes, these
// are the lowest bytes, or the highest if the chunk is mirrored.
func (d *dense) lastFields(fields uint64, bytes int) uint64 {
	switch {
	case bytes >= 8:
		return fields
	case d.reversed:
		return fields << (64 - 8*bytes)
	}
	return fields & low(uint32(8*bytes))
}
