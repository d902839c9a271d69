package bfi

import (
	"strconv"
	"unsafe"
)

// Field is a bit field of every word that [Pack] makes or [Unpack] takes apart,
// and where its values are: in a [Column], or a [Constant].
type Field struct {
	// Four words, which Go keeps in registers. More it would copy through memory.
	data unsafe.Pointer
	n    uint64 // the length of a column, or a constant, extended by its sign
	mask uint64 // ones in the field
	form form
}

// A form is what a field has besides, a byte each from the lowest on: pos, width,
// from (at most 64), the elements' size as a power of two, and flags. Of a constant
// call all of it is known to the compiler.
type form uint64

const (
	signedForm   form = 1 << 32
	constantForm form = 1 << 33
)

// formOf is written to cost little, so that Column is inlined: sizes 1, 2, 4 and 8
// become 0, 1, 2 and 3.
func formOf[E Word](pos, width uint32) form {
	f := form(uint8(pos)) | form(uint8(width))<<8 | form(unsafe.Sizeof(E(0))>>1-unsafe.Sizeof(E(0))>>3)<<24
	if ^E(0) < 0 {
		f |= signedForm
	}
	return f
}

func (f form) pos() uint32   { return uint32(f & 0xff) }
func (f form) width() uint32 { return uint32(f >> 8 & 0xff) }
func (f form) from() uint32  { return uint32(f >> 16 & 0xff) }
func (f form) kind() uint64  { return uint64(f >> 24 & 7) }

func (f form) size() uintptr { return 1 << f.kind() }

// exceeds reports whether the field has more bits than an element from that bit on.
func (f form) exceeds() bool { return f.width()+f.from() > 8<<f.kind() }

// Column is the field of width bits at pos whose value in word i is values[i]. Of
// pos and width only the low 8 bits count.
func Column[E Word](values []E, pos, width uint32) Field {
	return Field{pointer(values), uint64(len(values)), fieldBits(pos, width), formOf[E](pos, width)}
}

// Constant is the field of width bits at pos whose value in every word is value.
// Of pos and width only the low 8 bits count.
func Constant[E Word](value E, pos, width uint32) Field {
	return Field{nil, uint64(value), fieldBits(pos, width), formOf[E](pos, width) | constantForm}
}

// From is the field with only those bits of its elements that are at bit or
// above: [Pack] shifts each element right by bit, by its sign, and [Unpack]
// shifts what it extracts left by bit. A second From replaces the first.
func (f Field) From(bit uint32) Field {
	f.form = f.form&^(0xff<<16) | form(min(bit, 64))<<16
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
	// Few fields are the rule; they are spared the clearing of the long array.
	if len(fields) <= fewFields {
		var array [2 * fewFields]part
		packFields(dst, base, fields, array[:])
	} else {
		var array [2 * maxFields]part
		packFields(dst, base, fields, array[:])
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
	if len(fields) <= fewFields {
		var array [fewFields]part
		unpackFields(src, fields, array[:])
	} else {
		var array [maxFields]part
		unpackFields(src, fields, array[:])
	}
}

// maxFields bounds the fields of one call, which are described to the kernel in
// an array on the stack.
const (
	maxFields = 64
	fewFields = 4
)

// unpackBytes is how much of src Unpack takes apart at a time: what stays in the
// first-level cache beside the columns.
const unpackBytes = 4 << 10

// A part is what one column has to do with the words: what Pack adds to them from
// it, or what Unpack puts there. The parts of a Pack have no bit in common, so
// that their order does not matter. The generator knows their layout.
type part struct {
	data  unsafe.Pointer
	shift int64  // by how much the column's elements move, or the words, left if positive
	mask  uint64 // which bits of them count after that, in every lane
	kind  uint64 // the elements' size, as a power of two, and maybe partSign
}

// partSign says that the sign of the elements is added instead, or that the field
// is signed.
const partSign = 4

func (f *Field) operand(k int) operand {
	return operand{"fields[" + strconv.Itoa(k) + "]", uintptr(f.data), int(f.n), f.form.size()}
}

// fieldsFit reports whether there are no more fields than may be, and the columns
// among them fit n words of so many bytes at an address. It and the loops that
// follow are apart, since in one they would run out of registers.
func fieldsFit(fields []Field, at uintptr, n int, size uintptr) bool {
	for k := range fields {
		f := &fields[k]
		if f.form&constantForm != 0 {
			continue
		}
		distance := at - uintptr(f.data)
		if f.n != uint64(n) || !apart(distance, uintptr(n)*size, uintptr(n)<<f.form.kind()) && (distance != 0 || size != f.form.size()) {
			return false
		}
	}
	return len(fields) <= maxFields
}

// columnsApart reports whether all fields are columns, of n elements, apart from
// each other.
func columnsApart(fields []Field, n int) bool {
	for k := range fields {
		f := &fields[k]
		if f.form&constantForm != 0 {
			return false
		}
		at, size := uintptr(f.data), uintptr(n)<<f.form.kind()
		for j := range fields[:k] {
			if !apart(at-uintptr(fields[j].data), size, uintptr(n)<<fields[j].form.kind()) {
				return false
			}
		}
	}
	return true
}

// fieldMisfit is what to panic with where fields are not what fn takes.
func fieldMisfit(fn string, words operand, fields []Field) string {
	if len(fields) > maxFields {
		return "bfi: " + fn + ": len(fields) = " + strconv.Itoa(len(fields)) + ", want at most " + strconv.Itoa(maxFields)
	}
	for k := range fields {
		f := fields[k].operand(k)
		switch {
		case fields[k].form&constantForm != 0 && fn == "Unpack":
			return "bfi: " + fn + ": " + f.name + " is a Constant, want a Column"
		case fields[k].form&constantForm != 0:
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
func streamsFields(words unsafe.Pointer, moved uintptr, parts []part, n int) bool {
	for k := range parts {
		if parts[k].data == words {
			return false
		}
		moved += uintptr(n) << (parts[k].kind &^ partSign)
	}
	return moved >= streamBytes
}

// packFields is Pack; parts has room for the parts of the fields.
func packFields[T Word](dst, base []T, fields []Field, parts []part) {
	size := unsafe.Sizeof(T(0))
	if !fieldsFit(fields, address(dst), len(dst), size) {
		panic(fieldMisfit("Pack", operandOf("dst", dst), fields))
	}
	lane := size
	for k := range fields {
		if fields[k].form&constantForm == 0 {
			lane = max(lane, fields[k].form.size())
			reads(fields[k].data, len(dst), fields[k].form.size())
		}
	}
	parts, keep, value := plan(parts, fields, uint32(8*size), everyLane[lane])
	if base != nil {
		reads(pointer(base), len(base), size)
	}
	writes(pointer(dst), len(dst), size)
	if uintptr(len(dst))*lane*uintptr(len(parts)+1) <= pieceBytes {
		pack(dst, base, parts, 0, len(dst), int(lane), keep, value, false)
		return
	}
	stream := lane == size && address(dst)%size == 0 && pointer(dst) != pointer(base) &&
		streamsFields(pointer(dst), 2*uintptr(len(dst))*size, parts, len(dst))
	piece := max(pieceBytes/int(lane)/(len(parts)+1)&^63, 64)
	for i := 0; i < len(dst); {
		n := len(dst) - i
		if n >= 2*piece {
			n = piece
		}
		pack(dst, base, parts, i, i+n, int(lane), keep, value, stream)
		i += n
	}
}

// plan sets parts to what the columns add to words of so many bits, in every lane.
// What is left is the bits that base keeps, and the value that the constants make.
func plan(parts []part, fields []Field, wordBits uint32, everyLane uint64) (_ []part, keep, value uint64) {
	free := low(wordBits)
	count := 0
	// From the last field on back, each gets what the later ones leave of it.
	for k := len(fields) - 1; k >= 0; k-- {
		f := &fields[k]
		form := f.form
		mask := f.mask & free
		free &^= mask
		if form&constantForm != 0 {
			v := f.n >> form.from()
			if form&signedForm != 0 {
				v = uint64(int64(f.n) >> form.from())
			}
			value |= v << form.pos() & mask
			continue
		}
		if form.exceeds() {
			// The element's bits end here; above is its sign.
			end := max(int64(form.pos())+8<<form.kind()-int64(form.from()), 0)
			beyond := mask &^ low(uint32(end))
			mask &^= beyond
			if beyond != 0 && form&signedForm != 0 {
				parts[count] = part{noescape(f.data), 0, beyond * everyLane, form.kind() | partSign}
				count++
			}
		}
		if mask != 0 {
			parts[count] = part{noescape(f.data), int64(form.pos()) - int64(form.from()), mask * everyLane, form.kind()}
			count++
		}
	}
	return parts[:count], free * everyLane, value * everyLane
}

// noescape is p, unseen by escape analysis, which takes whatever is stored in a
// slice to be on the heap. Parts lie on the stack, in a frame below those of what
// they point at.
func noescape(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// unpackFields is Unpack; parts has room for the fields.
func unpackFields[T Word](src []T, fields []Field, parts []part) {
	size := unsafe.Sizeof(T(0))
	if !fieldsFit(fields, address(src), len(src), size) || !columnsApart(fields, len(src)) {
		panic(fieldMisfit("Unpack", operandOf("src", src), fields))
	}
	parts = unpackPlan(parts[:len(fields)], fields, pointer(src), size)
	// While a piece of src is in the cache, the columns are written one after the
	// other: in the first-level cache, or in the second where stores that bypass it
	// want long runs.
	piece := unpackBytes / int(size)
	if len(src) <= piece {
		unpack[T](pointer(src), parts, 0, len(src), false)
		return
	}
	stream := streamsFields(pointer(src), uintptr(len(src))*size, parts, len(src))
	for k := range fields {
		// Only elements of the words' size are stored as they are.
		stream = stream && fields[k].form.size() == size
	}
	if stream {
		piece = pieceLanes[T]()
	}
	for i := 0; i < len(src); {
		n := min(piece, len(src)-i)
		unpack[T](pointer(src[i:]), parts, i, n, stream)
		i += n
	}
}

// unpackPlan sets parts, one a field, to what the columns get of words of so many
// bytes. The column that is the words, if there is one, comes last.
func unpackPlan(parts []part, fields []Field, words unsafe.Pointer, size uintptr) []part {
	wordBits := uint32(8 * size)
	for k := range parts {
		f := &fields[k]
		form := f.form
		pos, kind, mask := form.pos(), form.kind(), f.mask&low(wordBits)
		if form&signedForm != 0 {
			kind |= partSign
			if pos >= wordBits && form.width() > 0 {
				// Past the word's last bit all is sign.
				pos = wordBits - 1
				mask = 1 << pos
			}
		}
		mask = mask >> (pos & 63) << form.from() & (^uint64(0) >> ((64 - 8<<form.kind()) & 63))
		parts[k] = part{noescape(f.data), int64(form.from()) - int64(pos), mask * everyLane[max(size, form.size())], kind}
	}
	for k := range parts {
		if last := len(parts) - 1; parts[k].data == words {
			parts[k], parts[last] = parts[last], parts[k]
		}
	}
	return parts
}
