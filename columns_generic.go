package bfi

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Portable loops for the columns that most calls have. Their one idea is to put all
// fields of a word together in a register before they write it. If several words fit
// into the register, they process these at once. The loops in bfi_generic.go take any
// columns: they process the words that are left, and the calls that have no loop here.

// columns has up to four columns of a call, without the call's constants.
type columns struct {
	list  [fewFields]*Field
	count int
	equal bool // all elements have one size
}

// of sets c to the columns among fields. It reports false if there are none, more than
// four, or one of a kind that has no loop here.
func (c *columns) of(fields []Field) bool {
	c.equal = true
	for k := range fields {
		f := &fields[k]
		if f.form.constant() {
			continue
		}
		if c.count == fewFields || f.form.kind() >= signKind {
			return false
		}
		c.list[c.count] = (*Field)(noescape(unsafe.Pointer(f)))
		c.count++
		c.equal = c.equal && f.form.size() == c.list[0].form.size()
	}
	return c.count > 0
}

// same reports whether all fields are of one column.
func (c *columns) same() bool {
	for _, f := range c.list[:c.count] {
		if f.data != c.list[0].data {
			return false
		}
	}
	return true
}

// A part is a column in the form that the loops over registers need.
type part struct {
	data  unsafe.Pointer
	shift int
	mask  uint // ones in the field, for each word in the register
}

// parts returns the columns from lane lo on, for words that are size bytes apart in a
// register. Parts past the last column have an empty mask.
func (c *columns) parts(lo int, size uintptr) (p [fewFields]part) {
	for k := range p {
		f, mask := c.list[0], uint64(0)
		if k < c.count {
			f = c.list[k]
			mask = f.mask
		}
		p[k] = part{unsafe.Add(f.data, lo*int(f.form.size())), f.form.shift(), uint(replicated(mask, size))}
	}
	return p
}

// addresses returns the bits that are set in the address of some part.
func addresses(p *[fewFields]part) uintptr {
	return uintptr(p[0].data) | uintptr(p[1].data) | uintptr(p[2].data) | uintptr(p[3].data)
}

// bytes reports whether the columns are bytes that fill words of 32 bits. If so, it sets
// p to n lanes of the columns from lane lo on, in the order of their places.
func (c *columns) bytes(p *[4][]uint8, lo, n int) bool {
	if c.count != 4 {
		return false
	}
	places := 0
	for _, f := range c.list {
		pos := f.form.pos()
		if f.form.size() != 1 || f.form.from() != 0 || pos%8 != 0 || pos > 24 || f.mask != 0xff<<pos {
			return false
		}
		p[pos/8] = lanesOf[uint8](f.data, lo, n)
		places |= 1 << (pos / 8)
	}
	return places == 1<<4-1
}

// packFast packs words from the first on, and returns how many it packed.
func packFast[T Word](words []T, base unsafe.Pointer, fields []Field, lo int, keep, value uint64) int {
	var c columns
	if !c.of(fields) {
		return 0
	}
	size, element := unsafe.Sizeof(T(0)), c.list[0].form.size()
	switch {
	case c.equal && element == size:
		return packEqual(pointer(words), base, len(words), size, &c, lo, keep, value)
	case base != nil:
	case !c.equal && c.count == 2 && size == 8:
		packPair(slice[uint64](pointer(words), len(words)), &c, lo, value)
		return len(words)
	case c.equal && size == 4 && element == 1:
		var p [4][]uint8
		if c.bytes(&p, lo, len(words)) {
			joinBytes(slice[uint32](pointer(words), len(words)), &p)
			return len(words)
		}
	case c.equal && size == 2 && element == 1 && registerBytes == 8:
		p := c.parts(lo, 2)
		return packSpread(slice[uint16](pointer(words), len(words)), p[:c.count], uint(replicated(value, 2)))
	case c.equal && size == 2 && element == 4 && registerBytes == 8 && c.same():
		p := c.parts(lo, 4)
		return packNarrow(slice[uint16](pointer(words), len(words)), &p, uint(replicated(value, 4)))
	}
	return 0
}

// packEqual packs columns that are as wide as the words.
func packEqual(dst, base unsafe.Pointer, words int, size uintptr, c *columns, lo int, keep, value uint64) int {
	p := c.parts(lo, size)
	if base == nil {
		base, keep = p[0].data, 0 // any readable words will do
	} else {
		base = unsafe.Add(base, lo*int(size))
	}
	n := inRegisters(words, size, uintptr(dst)|uintptr(base)|addresses(&p))
	packRegisters(dst, base, n, &p, c.count, uint(replicated(keep, size)), uint(replicated(value, size)))
	return int(n / size)
}

func packRegisters(dst, base unsafe.Pointer, n uintptr, p *[fewFields]part, count int, keep, value uint) {
	d0, d1, d2, d3 := p[0].data, p[1].data, p[2].data, p[3].data
	switch {
	case count <= 2 && keep == 0:
		for i := uintptr(0); i < n; i += registerBytes {
			*register(dst, i) = value |
				bits.RotateLeft(*register(d0, i), p[0].shift)&p[0].mask |
				bits.RotateLeft(*register(d1, i), p[1].shift)&p[1].mask
		}
	case count <= 2:
		for i := uintptr(0); i < n; i += registerBytes {
			*register(dst, i) = *register(base, i)&keep | value |
				bits.RotateLeft(*register(d0, i), p[0].shift)&p[0].mask |
				bits.RotateLeft(*register(d1, i), p[1].shift)&p[1].mask
		}
	default:
		for i := uintptr(0); i < n; i += registerBytes {
			*register(dst, i) = *register(base, i)&keep | value |
				bits.RotateLeft(*register(d0, i), p[0].shift)&p[0].mask |
				bits.RotateLeft(*register(d1, i), p[1].shift)&p[1].mask |
				bits.RotateLeft(*register(d2, i), p[2].shift)&p[2].mask |
				bits.RotateLeft(*register(d3, i), p[3].shift)&p[3].mask
		}
	}
}

// joinBytes shifts by constants only, because the columns are in the order of their
// places.
func joinBytes(words []uint32, p *[4][]uint8) {
	a, b, c, d := p[0][:len(words)], p[1][:len(words)], p[2][:len(words)], p[3][:len(words)]
	for i := range words {
		words[i] = uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
	}
}

// packSpread packs columns of bytes into words of 16 bits, four at a time.
func packSpread(words []uint16, parts []part, value uint) int {
	i := 0
	for ; i <= len(words)-4; i += 4 {
		four := uint64(value)
		for k := range parts {
			p := &parts[k]
			x := uint64(binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p.data, i))[:]))
			x = (x | x<<16) & 0x0000ffff_0000ffff
			x |= x << 8 // each byte is the low one of 16 bits, and no field takes the high one
			four |= bits.RotateLeft64(x, p.shift) & uint64(p.mask)
		}
		w := (*[4]uint16)(unsafe.Add(pointer(words), 2*i))
		w[0], w[1], w[2], w[3] = uint16(four), uint16(four>>16), uint16(four>>32), uint16(four>>48)
	}
	return i
}

// packNarrow packs fields of one column of 32 bits into words of 16 bits, two at a
// time. It loads each element once.
func packNarrow(words []uint16, p *[fewFields]part, value uint) int {
	i := 0
	for ; i <= len(words)-2; i += 2 {
		e := (*[2]uint32)(unsafe.Add(p[0].data, 4*i))
		x := uint64(e[0]) | uint64(e[1])<<32
		two := uint64(value) |
			bits.RotateLeft64(x, p[0].shift)&uint64(p[0].mask) |
			bits.RotateLeft64(x, p[1].shift)&uint64(p[1].mask) |
			bits.RotateLeft64(x, p[2].shift)&uint64(p[2].mask) |
			bits.RotateLeft64(x, p[3].shift)&uint64(p[3].mask)
		w := (*[2]uint16)(unsafe.Add(pointer(words), 2*i))
		w[0], w[1] = uint16(two), uint16(two>>32)
	}
	return i
}

// packPair packs two columns of elements of two sizes into words of 64 bits.
func packPair(words []uint64, c *columns, lo int, value uint64) {
	f, g := c.list[0], c.list[1]
	if f.form.kind() < g.form.kind() {
		f, g = g, f
	}
	switch f.form.kind()<<4 | g.form.kind() {
	case 0x10:
		packTwo[uint16, uint8](words, f, g, lo, value)
	case 0x20:
		packTwo[uint32, uint8](words, f, g, lo, value)
	case 0x21:
		packTwo[uint32, uint16](words, f, g, lo, value)
	case 0x30:
		packTwo[uint64, uint8](words, f, g, lo, value)
	case 0x31:
		packTwo[uint64, uint16](words, f, g, lo, value)
	case 0x32:
		packTwo[uint64, uint32](words, f, g, lo, value)
	}
}

func packTwo[E, F Word](words []uint64, f, g *Field, lo int, value uint64) {
	first, second := lanesOf[E](f.data, lo, len(words)), lanesOf[F](g.data, lo, len(words))
	fShift, gShift := f.form.shift(), g.form.shift()
	fMask, gMask := f.mask, g.mask
	if fShift < 0 || gShift < 0 {
		for i := range words {
			words[i] = value | bits.RotateLeft64(uint64(first[i]), fShift)&fMask |
				bits.RotateLeft64(uint64(second[i]), gShift)&gMask
		}
		return
	}
	fFactor, gFactor := uint64(1)<<fShift, uint64(1)<<gShift
	for i := range words {
		words[i] = value | uint64(first[i])*fFactor&fMask | uint64(second[i])*gFactor&gMask
	}
}

// unpackFast unpacks words from the first on, and returns how many it unpacked.
func unpackFast[T Word](words []T, fields []Field, lo int) int {
	var c columns
	if !c.of(fields) || !c.equal {
		return 0
	}
	for _, f := range c.list[:c.count] {
		if f.form.signed() {
			return 0
		}
	}
	size, element := unsafe.Sizeof(T(0)), c.list[0].form.size()
	switch {
	case element == size:
		p := c.parts(lo, size)
		src := pointer(words)
		n := inRegisters(len(words), size, uintptr(src)|addresses(&p))
		unpackRegisters(src, n, &p, c.count)
		return int(n / size)
	case size == 4 && element == 1:
		var p [4][]uint8
		if c.bytes(&p, lo, len(words)) {
			splitBytes(slice[uint32](pointer(words), len(words)), &p)
			return len(words)
		}
	}
	return 0
}

func unpackRegisters(src unsafe.Pointer, n uintptr, p *[fewFields]part, count int) {
	d0, d1, d2, d3 := p[0].data, p[1].data, p[2].data, p[3].data
	switch count {
	case 1:
		for i := uintptr(0); i < n; i += registerBytes {
			*register(d0, i) = bits.RotateLeft(*register(src, i)&p[0].mask, -p[0].shift)
		}
	case 2:
		for i := uintptr(0); i < n; i += registerBytes {
			x := *register(src, i)
			*register(d0, i) = bits.RotateLeft(x&p[0].mask, -p[0].shift)
			*register(d1, i) = bits.RotateLeft(x&p[1].mask, -p[1].shift)
		}
	case 3:
		for i := uintptr(0); i < n; i += registerBytes {
			x := *register(src, i)
			*register(d0, i) = bits.RotateLeft(x&p[0].mask, -p[0].shift)
			*register(d1, i) = bits.RotateLeft(x&p[1].mask, -p[1].shift)
			*register(d2, i) = bits.RotateLeft(x&p[2].mask, -p[2].shift)
		}
	case 4:
		for i := uintptr(0); i < n; i += registerBytes {
			x := *register(src, i)
			*register(d0, i) = bits.RotateLeft(x&p[0].mask, -p[0].shift)
			*register(d1, i) = bits.RotateLeft(x&p[1].mask, -p[1].shift)
			*register(d2, i) = bits.RotateLeft(x&p[2].mask, -p[2].shift)
			*register(d3, i) = bits.RotateLeft(x&p[3].mask, -p[3].shift)
		}
	}
}

func splitBytes(words []uint32, p *[4][]uint8) {
	a, b, c, d := p[0][:len(words)], p[1][:len(words)], p[2][:len(words)], p[3][:len(words)]
	for i, w := range words {
		a[i], b[i], c[i], d[i] = uint8(w), uint8(w>>8), uint8(w>>16), uint8(w>>24)
	}
}
