package bfi

import (
	"math/bits"
	"strconv"
	"unsafe"
)

// Field is a bit field of every word that [Pack] makes or [Unpack] takes apart,
// and where its values are: in a [Column], or a [Constant].
type Field struct {
	// Four words, which Go keeps in registers: more it would copy through memory.
	// Kernels read them, by the layout that the generator has of them.
	data unsafe.Pointer
	n    uint64 // the length of a column, or a constant, extended by its sign
	mask uint64 // ones in the field
	form form
}

// A form is what a field has besides, a byte each from the lowest on: by how much
// its elements move to the left, which is pos less from, and from at most 64; pos;
// the elements' size less 1; the kind of column; whether elements have a sign.
// Above that is how many bits from that one on an element has more than the field,
// with a sign. The union of forms so tells the largest size, and whether all are
// even. Of a constant call all of it is known to the compiler.
type form uint64

const (
	sizeForm   form = 1 << 16
	kindForm   form = 1 << 24 // times the kind
	signedForm form = 1 << 32
	spareForm  form = 1 << 40
	unevenForm form = 1 << 63 // the sign of what is spare
)

// A kind is the elements' size as a power of two, and maybe one of these.
const (
	signKind     = 4 // it is the sign of the elements that Pack adds
	constantKind = 8
)

// formOf is written to cost little, so that Column is inlined: sizes 1, 2, 4 and 8
// become 0, 1, 2 and 3. Half of all ones has a sign only if E has.
func formOf[E Word](pos, width uint32) form {
	return form(uint8(pos))*0x101 - form(uint8(width))*spareForm +
		form(unsafe.Sizeof(E(0)))*(sizeForm+8*spareForm) - sizeForm +
		form(min(unsafe.Sizeof(E(0))>>1, 3))*kindForm + form(^E(0)>>1)>>63*signedForm
}

func (f form) shift() int    { return int(int8(f)) }
func (f form) pos() uint32   { return uint32(f >> 8 & 0xff) }
func (f form) from() uint32  { return uint32(uint8(f>>8 - f)) }
func (f form) width() uint32 { return uint32(8*f.size()) - f.from() - uint32(int64(f)>>40) }
func (f form) size() uintptr { return uintptr(f>>16&0xff) + 1 }
func (f form) kind() uint64  { return uint64(f >> 24 & 0xff) }

func (f form) constant() bool { return f&(constantKind*kindForm) != 0 }

// uneven reports whether the field, or one of them, has more bits than an element
// has from that bit on.
func (f form) uneven() bool { return f&unevenForm != 0 }

// Column is the field of width bits at pos whose value in word i is values[i]. Of
// pos and width only the low 8 bits count.
func Column[E Word](values []E, pos, width uint32) Field {
	// By pointer, a call more, it would cost too much to be inlined.
	return Field{unsafe.Pointer(unsafe.SliceData(values)), uint64(len(values)), fieldBits(pos, width), formOf[E](pos, width)}
}

// Constant is the field of width bits at pos whose value in every word is value.
// Of pos and width only the low 8 bits count.
func Constant[E Word](value E, pos, width uint32) Field {
	return Field{nil, uint64(value), fieldBits(pos, width), formOf[E](pos, width) | constantKind*kindForm}
}

// From is the field with only those bits of its elements that are at bit or
// above: [Pack] shifts each element right by bit, by its sign, and [Unpack]
// shifts what it extracts left by bit. A second From replaces the first.
func (f Field) From(bit uint32) Field {
	bit = min(bit, 64)
	f.form += (form(f.form.from()) - form(bit)) * spareForm
	f.form = f.form&^0xff | form(uint8(f.form.pos()-bit))
	return f
}

// Pack makes each word out of one element of each column: dst[i] is base[i], or 0
// where base is nil, with the low bits of each field's value i inserted at the
// field's place, for each field in order.
//
// It is one PTX bfi.b32 or bfi.b64 after another, with the element converted to T
// as Go converts it, the word so far, the field's pos and width; of fields that
// overlap the later wins. Columns may have elements of any integer types, and
// constants too. There are at most 64 fields; base and all columns have dst's
// length. dst may be base, or any column of its own element size, exactly, or not
// overlap it. Pack panics before it writes anything if it is given something
// else.
//
// Source: PTX ISA, bfi.
func Pack[T Word](dst, base []T, fields ...Field) {
	if base != nil && !fits(dst, base) {
		panic(misfit("Pack", operandOf("dst", dst), operandOf("base", base)))
	}
	size := unsafe.Sizeof(T(0))
	forms, taken, value, fit := survey(fields, address(dst), len(dst), size)
	if !fit {
		panic(fieldMisfit("Pack", operandOf("dst", dst), fields))
	}
	if instrumented {
		for k := range fields {
			if !fields[k].form.constant() {
				reads(fields[k].data, len(dst), fields[k].form.size())
			}
		}
		reads(pointer(base), len(base), size)
		writes(pointer(dst), len(dst), size)
	}
	lane := max(size, forms.size())
	switch {
	case forms.uneven():
		packUneven(dst, base, fields, lane)
	case onePiece(len(dst), lane, fields):
		pack[T](pointer(dst), pointer(base), fields, 0, len(dst), int(lane), ^taken, value, false)
	default:
		packPlain(dst, base, fields, lane, ^taken, value)
	}
}

// Unpack takes each word apart into one element of each column: element i is the
// field of src[i], zero-extended for columns of unsigned elements, sign-extended
// for signed ones.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 element, src, pos, width, by the
// element's sign and the width of T, for each field, converted to the element's
// type as Go converts it. Columns may have elements of any integer types. There
// are at most 64 fields, none of them a [Constant]; all columns have src's length.
// A column may be src exactly, if its elements have the size of src's, or not
// overlap it; columns may not overlap each other. Unpack panics before it writes
// anything if it is given something else.
//
// Source: PTX ISA, bfe.
func Unpack[T Word](src []T, fields ...Field) {
	size := unsafe.Sizeof(T(0))
	plain, fit := surveyColumns(fields, address(src), len(src), size)
	if !fit {
		panic(fieldMisfit("Unpack", operandOf("src", src), fields))
	}
	if instrumented {
		reads(pointer(src), len(src), size)
		for k := range fields {
			writes(fields[k].data, len(src), fields[k].form.size())
		}
	}
	switch {
	case !plain:
		unpackUneven(src, fields)
	case uintptr(len(src))*size <= unpackBytes && onePiece(len(src), 8, fields): // 8 is the longest lane
		unpack[T](pointer(src), fields, 0, len(src), false)
	default:
		unpackPlain(src, fields)
	}
}

// maxFields bounds the fields of one call, so that what plan makes of them finds
// room on the stack.
const (
	maxFields = 64
	fewFields = 4
)

// unpackBytes is how much of src Unpack takes apart at a time: what stays in the
// first-level cache beside the columns.
const unpackBytes = 4 << 10

func (f *Field) operand(k int) operand {
	return operand{"fields[" + strconv.Itoa(k) + "]", uintptr(f.data), int(f.n), f.form.size()}
}

// survey reports whether Pack can take the fields for n words of so many bytes at
// an address. Then it tells the union of the columns' forms, the bits that are in a
// field, and those that constants put there. The union is uneven if a field is, or
// if fields have bits in common.
func survey(fields []Field, at uintptr, n int, size uintptr) (forms form, taken, value uint64, fit bool) {
	bytes := uintptr(n) * size
	var common uint64
	for k := range fields {
		f := &fields[k]
		common |= f.mask & taken
		taken |= f.mask
		if f.form.constant() {
			forms |= f.form & unevenForm
			// Unless it is uneven, that is value, which would take longer.
			value |= bits.RotateLeft64(f.n, f.form.shift()) & f.mask
			continue
		}
		if f.n != uint64(n) {
			return forms, taken, value, false
		}
		forms |= f.form
		distance, column := at-uintptr(f.data), uintptr(n)*f.form.size()
		if !apart(distance, bytes, column) && (distance != 0 || bytes != column) {
			return forms, taken, value, false
		}
	}
	if common != 0 {
		forms |= unevenForm
	}
	return forms, taken, value, len(fields) <= maxFields
}

// surveyColumns reports whether Unpack can take the fields. They are plain if none
// has more bits than its elements or than the words have there, and if none but
// the last is where the words are.
func surveyColumns(fields []Field, at uintptr, n int, size uintptr) (plain, fit bool) {
	var forms form
	var taken, start, end uint64 // of all columns so far
	for k := range fields {
		f := &fields[k]
		if f.n != uint64(n) {
			return false, false
		}
		forms |= f.form
		taken |= f.mask
		first := uint64(uintptr(f.data))
		switch last := first + uint64(n)*uint64(f.form.size()); {
		case k == 0:
			start, end = first, last
		case first >= end:
			end = last
		case last <= start:
			start = first
		case !f.apart(fields[:k], n):
			return false, false
		}
	}
	// Seldom are the words among the columns.
	if bytes := uintptr(n) * size; uint64(at) < end && start < uint64(at)+uint64(bytes) {
		for k := range fields {
			f := &fields[k]
			distance, column := at-uintptr(f.data), uintptr(n)*f.form.size()
			if apart(distance, bytes, column) {
				continue
			}
			if distance != 0 || bytes != column {
				return false, false
			}
			if k+1 < len(fields) {
				forms |= unevenForm
			}
		}
	}
	plain = !forms.uneven() && uintptr(forms.pos()) < 8*size && taken>>(8*size) == 0
	return plain, !forms.constant() && len(fields) <= maxFields
}

// apart reports whether a column of n elements is apart from others.
func (f *Field) apart(others []Field, n int) bool {
	for k := range others {
		g := &others[k]
		if !apart(uintptr(f.data)-uintptr(g.data), uintptr(n)*f.form.size(), uintptr(n)*g.form.size()) {
			return false
		}
	}
	return true
}

// value is what a constant puts in its field.
func (f *Field) value() uint64 {
	v := f.n >> f.form.from()
	if f.form&signedForm != 0 {
		v = uint64(int64(f.n) >> f.form.from())
	}
	return v << f.form.pos() & f.mask
}

// fieldMisfit is what to panic with where fields are not what fn takes.
func fieldMisfit(fn string, words operand, fields []Field) string {
	if len(fields) > maxFields {
		return "bfi: " + fn + ": len(fields) = " + strconv.Itoa(len(fields)) + ", want at most " + strconv.Itoa(maxFields)
	}
	for k := range fields {
		f := fields[k].operand(k)
		switch {
		case fields[k].form.constant() && fn == "Unpack":
			return "bfi: " + fn + ": " + f.name + " is a Constant, want a Column"
		case fields[k].form.constant():
			continue
		}
		if text := misfit(fn, words, f); text != "" {
			return text
		}
		for j := range k {
			if g := fields[j].operand(j); fn == "Unpack" && !f.apart(g) {
				return overlap(fn, f, g, false)
			}
		}
	}
	return ""
}

// streamsFields reports whether stores to words had better bypass the cache: where
// the call moves a lot, counting so much besides the columns, and no column is
// where the words are.
func streamsFields(words unsafe.Pointer, moved uintptr, fields []Field, n int) bool {
	for k := range fields {
		f := &fields[k]
		if f.form.constant() {
			continue
		}
		if f.data == words {
			return false
		}
		moved += uintptr(n) * f.form.size()
	}
	return moved >= streamBytes
}

// onePiece reports whether n lanes are few enough for one run of a kernel.
func onePiece(n int, lane uintptr, fields []Field) bool {
	return uintptr(n)*lane*uintptr(len(fields)+1) <= pieceBytes
}

// packPlain packs plain fields into what base keeps and the constants' value.
func packPlain[T Word](dst, base []T, fields []Field, lane uintptr, keep, value uint64) {
	if onePiece(len(dst), lane, fields) {
		pack[T](pointer(dst), pointer(base), fields, 0, len(dst), int(lane), keep, value, false)
		return
	}
	size := unsafe.Sizeof(T(0))
	stream := lane == size && address(dst)%size == 0 && pointer(dst) != pointer(base) &&
		streamsFields(pointer(dst), 2*uintptr(len(dst))*size, fields, len(dst))
	piece := max(pieceBytes/int(lane)/(len(fields)+1)&^63, 64)
	for i := 0; i < len(dst); {
		n := len(dst) - i
		if n >= 2*piece {
			n = piece
		}
		pack[T](pointer(dst), pointer(base), fields, i, i+n, int(lane), keep, value, stream)
		i += n
	}
}

// packUneven packs fields that are not plain.
func packUneven[T Word](dst, base []T, fields []Field, lane uintptr) {
	// Few fields are the rule; they are spared the clearing of the long array.
	if len(fields) <= fewFields {
		var array [2 * fewFields]Field
		plain, keep, value := plan(array[:], fields)
		packPlain(dst, base, plain, lane, keep, value)
	} else {
		var array [2 * maxFields]Field
		plain, keep, value := plan(array[:], fields)
		packPlain(dst, base, plain, lane, keep, value)
	}
}

// plan makes plain fields of others, in an array that has room for two each. What
// is left is the bits that base keeps, and the value that the constants make.
func plan(array, fields []Field) (plain []Field, keep, value uint64) {
	free := ^uint64(0)
	count := 0
	add := func(f *Field, kind form, mask uint64) {
		if mask != 0 {
			array[count] = Field{noescape(f.data), f.n, mask, f.form | kind}
			count++
		}
	}
	// From the last field on back, each gets what the later ones leave of it.
	for k := len(fields) - 1; k >= 0; k-- {
		f := &fields[k]
		mask := f.mask & free
		free &^= mask
		if f.form.constant() {
			value |= f.value() & mask
			continue
		}
		if f.form.uneven() {
			// The element's bits end here; above is its sign.
			end := max(int(f.form.pos())+8*int(f.form.size())-int(f.form.from()), 0)
			beyond := mask &^ low(uint32(end))
			mask &^= beyond
			if f.form&signedForm != 0 {
				add(f, signKind*kindForm, beyond)
			}
		}
		add(f, 0, mask)
	}
	return array[:count], free, value
}

// noescape is p, unseen by escape analysis, which takes whatever is stored in a
// slice to be on the heap. Plain fields lie on the stack, in a frame below those of
// what they point at.
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// unpackPlain unpacks plain fields.
func unpackPlain[T Word](src []T, fields []Field) {
	size := unsafe.Sizeof(T(0))
	lane := size
	for k := range fields {
		lane = max(lane, fields[k].form.size())
	}
	// While a piece of src is in the first-level cache, the columns are written one
	// after the other. Portable kernels are not bound by that.
	piece := min(unpackBytes/int(size), max(pieceBytes/int(lane)/(len(fields)+1)&^63, 64))
	if len(src) <= piece || current == levelGeneric {
		unpack[T](pointer(src), fields, 0, len(src), false)
		return
	}
	stream := streamsFields(pointer(src), uintptr(len(src))*size, fields, len(src))
	whole, narrow := stream, stream
	for k := range fields {
		// Only elements of the words' size are stored as they are. Narrower ones are made
		// otherwise where words come from memory.
		whole = whole && fields[k].form.size() == size && uintptr(fields[k].data)%size == 0
		narrow = narrow && fields[k].form.size() < size
	}
	if !whole {
		for i := 0; i < len(src); i += piece {
			unpack[T](pointer(src), fields, i, min(i+piece, len(src)), narrow)
		}
		return
	}
	// Stores that bypass the cache want long runs: src stays in the second level.
	for i := 0; i < len(src); i += pieceLanes[T]() {
		for k := range fields {
			unpack[T](pointer(src), fields[k:k+1], i, min(i+pieceLanes[T](), len(src)), true)
		}
	}
}

// unpackUneven unpacks fields that are not plain.
func unpackUneven[T Word](src []T, fields []Field) {
	if len(fields) <= fewFields {
		var array [fewFields]Field
		unpackPlain(src, unpackPlan(array[:len(fields)], fields, pointer(src), unsafe.Sizeof(T(0))))
	} else {
		var array [maxFields]Field
		unpackPlain(src, unpackPlan(array[:len(fields)], fields, pointer(src), unsafe.Sizeof(T(0))))
	}
}

// unpackPlan makes plain fields of others, as many, of words of so many bytes.
func unpackPlan(plain, fields []Field, words unsafe.Pointer, size uintptr) []Field {
	wordBits := uint32(8 * size)
	for k := range fields {
		f := &fields[k]
		pos, width, sign := f.form.pos(), f.form.width(), f.form&signedForm
		if pos >= wordBits && width > 0 {
			// Past the word's last bit all is sign, or zeros.
			pos, width = wordBits-1, uint32(sign/signedForm)
		}
		width = min(width, wordBits-min(pos, wordBits))
		if room := max(8*uint32(f.form.size()), f.form.from()) - f.form.from(); width >= room {
			// The elements end before the sign.
			width, sign = room, 0
		}
		plain[k] = Field{noescape(f.data), f.n, fieldBits(pos, width), f.form&(0xff*(kindForm|sizeForm)) | form(uint8(pos-f.form.from())) | sign}
	}
	for k := range plain {
		if last := len(plain) - 1; plain[k].data == words {
			plain[k], plain[last] = plain[last], plain[k]
		}
	}
	return plain
}
