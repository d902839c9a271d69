package bfi

import (
	"math/bits"
	"strconv"
	"unsafe"
)

// Field is a bit field of every word of a call of [Pack] or [Unpack], together with its values. [Column], [Array] and
// [Constant] return one.
type Field struct {
	// Four words stay in registers; Go copies more through memory. Kernels read these words; gen/kernels.go repeats
	// the layout.
	//
	//	         column                array                        constant
	//	data     the first element     the first element            nil
	//	n        number of elements    number of elements           the value, sign-extended to 64 bits
	//	mask     ones in the field     elements from word to word   ones in the field
	data unsafe.Pointer
	n    uint64
	mask uint64
	form form
}

// A form holds the rest of a Field.
//
//	bits   0-7    shift: pos less from; from is at most 64
//	bits   8-15   pos
//	bits  16-23   the size of an element in bytes, less 1
//	bits  24-31   the kind: the binary logarithm of the size, and one of signKind, constantKind and arrayKind
//	bit   32      1 if elements are signed
//	bits  33-38   the number of elements in a word, less 1
//	bit   39      1 if the first element is highest
//	bits  40-63   spare, signed: the number of an element's bits from bit from up, less the width
//
// The OR of several forms tells the largest size, and whether a form is uneven. If the arguments of Column are
// constants, the compiler knows the whole form.
//
// A field is uneven if it has more bits than its elements have from bit from up. A column or a constant is plain if it
// is not uneven, does not run past the word, and shares no bit with another field. Kernels take plain columns.
type form uint64

const (
	sizeForm     form = 1 << 16
	kindForm     form = 1 << 24 // times the kind
	signedForm   form = 1 << 32
	countForm    form = 1 << 33
	reversedForm form = 1 << 39
	spareForm    form = 1 << 40
	unevenForm   form = 1 << 63 // the sign of spare
)

// A kind is the binary logarithm of the elements' size, plus at most one of these.
const (
	signKind     = 4  // Pack adds the sign of each element, in all bits of the field
	constantKind = 8  // every word has the same value
	arrayKind    = 16 // a word has several elements, or there are gaps between the words' elements
)

// maxFields bounds the fields of one call, so that plain fields made of them fit on the stack.
const (
	maxFields = 64
	fewFields = 4
)

// formOf returns the form of a column. It is one short expression, so that Column is inlined: min(size>>1, 3) turns the
// sizes 1, 2, 4 and 8 into 0, 1, 2 and 3, and ^E(0)>>1 is negative only if E is signed.
func formOf[E Word](pos, width uint32) form {
	return form(uint8(pos))*0x101 - form(uint8(width))*spareForm +
		form(unsafe.Sizeof(E(0)))*(sizeForm+8*spareForm) - sizeForm +
		form(min(unsafe.Sizeof(E(0))>>1, 3))*kindForm + form(^E(0)>>1)>>63*signedForm
}

func (f form) shift() int    { return int(int8(f)) }
func (f form) pos() uint32   { return uint32(f >> 8 & 0xff) }
func (f form) from() uint32  { return uint32(uint8(f>>8 - f)) }
func (f form) width() uint32 { return f.bits() - f.from() - uint32(int64(f)>>40) }
func (f form) size() uintptr { return uintptr(f>>16&0xff) + 1 }
func (f form) bits() uint32  { return 8 * uint32(f.size()) }
func (f form) kind() uint64  { return uint64(f >> 24 & 0xff) }
func (f form) count() int    { return int(f>>33&63) + 1 }

func (f form) constant() bool { return f&(constantKind*kindForm) != 0 }
func (f form) array() bool    { return f&(arrayKind*kindForm) != 0 }
func (f form) signed() bool   { return f&signedForm != 0 }
func (f form) reversed() bool { return f&reversedForm != 0 }

// uneven reports whether a field has more bits than its element has from bit from up. A union is uneven if one of its
// forms is; survey also marks overlap with this bit.
func (f form) uneven() bool { return f&unevenForm != 0 }

// Column returns the field at bits pos to pos+width-1, with values[i] as its value in word i. [Pack] reads values, and
// [Unpack] overwrites it. Only the low 8 bits of pos and width count.
//
// Several fields of one column may split its elements: Column(v, 0, 5) and Column(v, 20, 7).From(5) put the low 5
// bits of each element at bit 0 and the next 7 bits at bit 20. If v is an []int16, Column(v, pos, width).From(15) is
// the sign of each element, in all bits of the field.
func Column[E Word](values []E, pos, width uint32) Field {
	// A call of pointer here would make Column too costly to be inlined.
	return Field{unsafe.Pointer(unsafe.SliceData(values)), uint64(len(values)), fieldBits(pos, width),
		formOf[E](pos, width)}
}

// Constant returns the field at bits pos to pos+width-1 with the same value in every word. Only the low 8 bits of pos
// and width count.
func Constant[E Word](value E, pos, width uint32) Field {
	return Field{nil, uint64(value), fieldBits(pos, width), formOf[E](pos, width) | constantKind*kindForm}
}

// Array returns count adjacent fields of every word, with count adjacent elements of values as their values: word i has
// values[i*count+j] at bits pos+j*width to pos+(j+1)*width-1. [Pack] reads values, and [Unpack] overwrites it. Only the
// low 8 bits of pos and width count. A field that begins past the word is empty.
//
// The call has len(values)/count words, rounded up. If the last word has fewer elements, Pack leaves base's bits, or 0,
// in the fields without one.
//
// Array panics unless count is 1 to 64.
func Array[E Word](values []E, count int, pos, width uint32) Field {
	if uint(count-1) >= maxFields {
		panic("bfi: Array: count = " + strconv.Itoa(count) + ", want 1 to " + strconv.Itoa(maxFields))
	}
	f := Column(values, pos, width)
	if count > 1 {
		f.form += form(count-1)*countForm | arrayKind*kindForm
		f.mask = uint64(count)
	}
	return f
}

// Every returns f with n elements from the first element of one word to the first element of the next. The elements in
// the gaps between words do not belong to f. They are neither read nor written. A second Every replaces the first. On a
// [Constant] Every changes nothing.
//
// Every panics if n is less than the number of elements that a word has: 1 for a [Column].
func (f Field) Every(n int) Field {
	if f.form.constant() {
		return f
	}
	count := f.form.count()
	if n < count {
		panic("bfi: Every: n = " + strconv.Itoa(n) + ", want at least the count of elements in a word, " +
			strconv.Itoa(count))
	}
	if n == 1 {
		f.form &^= arrayKind * kindForm
		f.mask = fieldBits(f.form.pos(), f.form.width())
	} else {
		f.form |= arrayKind * kindForm
		f.mask = uint64(n)
	}
	return f
}

// Reversed returns f with the first element of each word highest: element j of count is at bits pos+(count-1-j)*width
// to pos+(count-j)*width-1. On a [Column] or a [Constant] it changes nothing.
func (f Field) Reversed() Field {
	if f.form.count() > 1 {
		f.form |= reversedForm
	}
	return f
}

// From returns f without the bits of its elements below bit: [Pack] shifts each element right, arithmetically if it
// is signed, and [Unpack] shifts each result left. A second From replaces the first.
func (f Field) From(bit uint32) Field {
	bit = min(bit, 64)
	f.form += (form(f.form.from()) - form(bit)) * spareForm
	f.form = f.form&^0xff | form(uint8(f.form.pos()-bit))
	return f
}

// Words returns the memory of s as words, in the machine's byte order. It copies nothing. If words must be the same on
// every machine, use an [Array] of bytes, which defines the byte order itself.
//
// Words panics unless s fills whole words and starts at a multiple of the word's size.
func Words[T Word, B ~uint8 | ~struct{ R, G, B, A uint8 }](s []B) []T {
	size, bytes := unsafe.Sizeof(T(0)), uintptr(len(s))*unsafe.Sizeof(*new(B))
	if bytes%size != 0 {
		panic("bfi: Words: s has " + strconv.FormatUint(uint64(bytes), 10) + " bytes, want a multiple of " +
			strconv.Itoa(int(size)))
	}
	if len(s) == 0 {
		return nil // it may start anywhere
	}
	if address(s)%size != 0 {
		panic("bfi: Words: s starts " + strconv.Itoa(int(address(s)%size)) + " bytes past a multiple of the word's size, " +
			strconv.Itoa(int(size)))
	}
	return unsafe.Slice((*T)(pointer(s)), bytes/size)
}

// value returns a constant's bits at their place in the word.
func (f *Field) value() uint64 {
	v := f.n >> f.form.from()
	if f.form.signed() {
		v = uint64(int64(f.n) >> f.form.from())
	}
	return v << f.form.pos() & f.mask
}

// stride returns the number of elements from the first of one word to the first of the next.
func (f *Field) stride() uint64 {
	if f.form.array() {
		return f.mask
	}
	return 1
}

// words returns the number of words that have elements.
func (f *Field) words() uint64 {
	words := f.n / f.stride()
	if f.n%f.stride() > 0 {
		words++
	}
	return words
}

// isFor reports whether words returns n, without a division.
func (f *Field) isFor(n int) bool {
	over, most := bits.Mul64(uint64(n), f.stride())
	return over == 0 && most-f.n < f.stride()
}

// full reports whether the last of n words has all of its elements. The field must be for n words, at least one.
func (f *Field) full(n int) bool { return f.n-uint64(n-1)*f.stride() >= uint64(f.form.count()) }

// place returns the position in the word of a word's element j.
func (f *Field) place(j int) uint32 {
	if f.form.reversed() {
		j = f.form.count() - 1 - j
	}
	return f.form.pos() + uint32(j)*f.form.width()
}

// bits returns the position and width of an Array's fields together, cut to a word of wordBits bits.
func (f *Field) bits(wordBits uint32) (pos, width uint32) {
	pos = min(f.form.pos(), wordBits)
	return pos, min(uint32(f.form.count())*f.form.width(), wordBits-pos)
}

// at returns the value that the field puts into word i, and ones in the bits that it sets. Missing elements set none.
func (f *Field) at(i int) (value, mask uint64) {
	if f.form.constant() {
		return f.value(), f.mask
	}
	width, first := f.form.width(), uint64(i)*f.stride()
	for j := range min(f.n-first, uint64(f.form.count())) {
		field := low(width) << f.place(int(j))
		value |= f.element(first+j) << f.place(int(j)) & field
		mask |= field
	}
	return value, mask
}

// element returns element i shifted right by from.
func (f *Field) element(i uint64) uint64 {
	size := f.form.size()
	v := loadElement(unsafe.Add(f.data, uintptr(i)*size), int(size))
	if f.form.signed() {
		above := 64 - 8*size
		return uint64(int64(v<<above) >> above >> f.form.from())
	}
	return v >> f.form.from()
}

// put writes word i's elements, which are the fields of word. A word has wordBits bits.
func (f *Field) put(word uint64, wordBits uint32, i int) {
	width, first := f.form.width(), uint64(i)*f.stride()
	for j := range min(f.n-first, uint64(f.form.count())) {
		pos := f.place(int(j))
		above := wordBits - min(pos+width, wordBits)
		v := word << (64 - wordBits) << above
		if f.form.signed() {
			v = uint64(int64(v) >> (64 - wordBits + above) >> pos)
		} else {
			v = v >> (64 - wordBits + above) >> pos
		}
		if width == 0 {
			v = 0
		}
		size := f.form.size()
		storeElement(unsafe.Add(f.data, uintptr(first+j)*size), int(size), v<<f.form.from())
	}
}

// mostStride bounds the strides at which kernels may read on into a gap. A longer gap may hold a whole page that is not
// readable.
const mostStride = 256

// dense returns how the elements share a word of wordBits bits. It reports false unless each field fits its element and
// the word.
func (f *Field) dense(wordBits int) (dense, bool) {
	count, width, from, pos := f.form.count(), int(f.form.width()), int(f.form.from()), int(f.form.pos())
	if width == 0 || f.form.uneven() || pos+count*width > wordBits || f.stride() > mostStride {
		return dense{}, false
	}
	return dense{count, width, from, pos, f.form.reversed(), f.form.signed()}, true
}

// wide returns a column with the field's values for words i to i+n-1, and reports whether there is one. The column's
// elements are the field's elements, or words as wide as its stride, which include the gap after an element.
func (f *Field) wide(i, n int) (Field, bool) {
	size := f.form.size()
	if !f.form.array() {
		return Field{noescape(unsafe.Add(f.data, uintptr(i)*size)), uint64(n), f.mask, f.form}, true
	}
	bytes := uintptr(min(f.mask, 16)) * size
	if f.form.count() > 1 || bytes > 8 || bytes&(bytes-1) != 0 || f.form.uneven() || instrumented {
		return Field{}, false // a sanitizer would see a portable kernel read gaps
	}
	if !anyAlignment && uintptr(f.data)%bytes != 0 {
		return Field{}, false // the processor may fault on a misaligned word
	}
	pos, width, from := f.form.pos(), f.form.width(), f.form.from()
	if bigEndian {
		from += 8 * uint32(bytes-size)
	}
	var c form
	switch bytes {
	case 2:
		c = formOf[uint16](pos, width)
	case 4:
		c = formOf[uint32](pos, width)
	case 8:
		c = formOf[uint64](pos, width)
	}
	data := noescape(unsafe.Add(f.data, uintptr(i)*bytes))
	return Field{data, uint64(n), fieldBits(pos, width), c}.From(from), true
}

// noescape returns p and hides it from escape analysis. That is safe here: the copies live in frames below the ones
// they point to.
func noescape(p unsafe.Pointer) unsafe.Pointer {
	if instrumented {
		return p // between the next two lines a sanitizer is called, and the stack may move
	}
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}
