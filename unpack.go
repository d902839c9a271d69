package bfi

import "unsafe"

// Unpack extracts every field of each src[i]. A field goes to element i of its [Column], or to the elements for word i
// of its [Array]. It is sign-extended if elements are signed, and zero-extended if they are not. Elements may be of any
// integer types.
//
// It is equivalent to one PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 per field. T decides the width, and the elements
// decide the sign. The result is converted to the element's type as Go converts it.
//
// Unpack keeps the slice contract in the package doc. An Array has as many elements as src's words give. Arrays, and
// fields with [Field.Every], must not overlap src. A field may lie in the gaps that Every leaves in another field, if
// both have the same element size and the same n. Unpack panics if a field is a [Constant], or if there are more than
// 64 fields. An Array counts once for each element in a word.
func Unpack[T Word](src []T, fields ...Field) {
	plain, fit := surveyColumns(fields, address(src), len(src), unsafe.Sizeof(T(0)))
	if !fit {
		unpackArrays(src, fields)
		return
	}
	if instrumented {
		reads(pointer(src), len(src), unsafe.Sizeof(T(0)))
		touchFields(fields, len(src), writes)
	}
	unpackFit(src, fields, plain)
}

// unpackBytes bounds the piece of src that Unpack takes apart at a time. A piece stays in the first-level cache, next
// to the columns.
const unpackBytes = 4 << 10

// unpackFit unpacks columns that fit.
func unpackFit[T Word](src []T, fields []Field, plain bool) {
	switch {
	case !plain:
		unpackUneven(src, fields)
	case uintptr(len(src))*unsafe.Sizeof(T(0)) <= unpackBytes &&
		onePiece(len(src), 8, len(fields)): // 8 is the longest lane
		unpack[T](pointer(src), fields, 0, len(src), false)
	default:
		unpackPlain(src, fields)
	}
}

// unpackPlain unpacks plain columns, in pieces.
func unpackPlain[T Word](src []T, fields []Field) {
	size := unsafe.Sizeof(T(0))
	lane := size
	for k := range fields {
		lane = max(lane, fields[k].form.size())
	}
	// A piece of src stays in the first-level cache while the columns are written, one after the other. Portable kernels
	// do not gain from that.
	piece := min(unpackBytes/int(size), max(pieceBytes/int(lane)/(len(fields)+1)&^63, 64))
	if len(src) <= piece || current == levelGeneric {
		unpack[T](pointer(src), fields, 0, len(src), false)
		return
	}
	stream := streamsFields(pointer(src), uintptr(len(src))*size, fields, len(src))
	whole, narrow := stream, stream
	for k := range fields {
		// Only elements of the words' size can bypass the cache. Narrower columns use another loop if src is not in the
		// cache.
		whole = whole && fields[k].form.size() == size && uintptr(fields[k].data)%size == 0
		narrow = narrow && fields[k].form.size() < size
	}
	if !whole {
		for i := 0; i < len(src); i += piece {
			unpack[T](pointer(src), fields, i, min(i+piece, len(src)), narrow)
		}
		return
	}
	// Stores that bypass the cache are faster in long runs, with src in the second-level cache.
	for i := 0; i < len(src); i += pieceLanes[T]() {
		for k := range fields {
			unpack[T](pointer(src), fields[k:k+1], i, min(i+pieceLanes[T](), len(src)), true)
		}
	}
}

// unpackUneven unpacks columns that are not plain.
func unpackUneven[T Word](src []T, fields []Field) {
	if len(fields) <= fewFields {
		var array [fewFields]Field
		unpackPlain(src, unpackPlan(array[:len(fields)], fields, pointer(src), unsafe.Sizeof(T(0))))
	} else {
		var array [maxFields]Field
		unpackPlain(src, unpackPlan(array[:len(fields)], fields, pointer(src), unsafe.Sizeof(T(0))))
	}
}

// unpackPlan makes a plain column of each field, for words of size bytes. If a column aliases the words, it comes last.
func unpackPlan(plain, fields []Field, words unsafe.Pointer, size uintptr) []Field {
	wordBits := uint32(8 * size)
	for k := range fields {
		f := &fields[k]
		pos, width, sign := f.form.pos(), f.form.width(), f.form&signedForm
		if pos >= wordBits && width > 0 {
			// Past the word's last bit there are only copies of its sign, or zeros.
			pos, width = wordBits-1, uint32(sign/signedForm)
		}
		width = min(width, wordBits-min(pos, wordBits))
		if room := max(8*uint32(f.form.size()), f.form.from()) - f.form.from(); width >= room {
			// The elements end before the sign.
			width, sign = room, 0
		}
		plain[k] = Field{noescape(f.data), f.n, fieldBits(pos, width),
			f.form&(0xff*(kindForm|sizeForm)) | form(uint8(pos-f.form.from())) | sign}
	}
	for k := range plain {
		if last := len(plain) - 1; plain[k].data == words {
			plain[k], plain[last] = plain[last], plain[k]
		}
	}
	return plain
}

// unpackArrays unpacks fields with at least one Array. It panics if they do not fit. Columns come last, because one may
// alias the words.
func unpackArrays[T Word](src []T, fields []Field) {
	if text := fieldMisfit("Unpack", operandOf("src", src), fields); text != "" {
		panic(text)
	}
	if instrumented {
		reads(pointer(src), len(src), unsafe.Sizeof(T(0)))
		touchFields(fields, len(src), writes)
	}
	var done uint64 // a bit for each field
	rest := 0
	for k := range fields {
		switch {
		case done>>k&1 != 0:
		case fields[k].form.array():
			done |= scatter(src, fields[k:]) << k
		default:
			rest++
		}
	}
	if rest > 0 {
		unpackRest(src, fields)
	}
}

// unpackRest unpacks all fields except Arrays.
func unpackRest[T Word](src []T, fields []Field) {
	var array [maxFields]Field
	columns := array[:0]
	for k := range fields {
		if f := &fields[k]; !f.form.array() {
			columns = append(columns, Field{noescape(f.data), f.n, f.mask, f.form})
		}
	}
	plain, _ := surveyColumns(columns, address(src), len(src), unsafe.Sizeof(T(0)))
	unpackFit(src, columns, plain)
}

// scatter unpacks words to the elements of fields[0], an Array. If it can move bytes to several fields together, it
// unpacks the other fields too. It returns a bit for each field that is done.
func scatter[T Word](src []T, fields []Field) (done uint64) {
	size := int(unsafe.Sizeof(T(0)))
	f := &fields[0]
	d, isDense := f.dense(8 * size)
	if f.wholeElements(size) && !(isDense && denseFirst(size, len(src))) {
		var m wholeMoves
		start, done := m.unpack(pointer(src), fields, size)
		if !isDense || m.beatsDense(int(f.groupBytes()), len(src)) {
			m.run(start, int(f.groupBytes()), unpackLast(src, fields, done))
			return done
		}
	}
	n := unpackLast(src, fields, 1)
	if isDense {
		stride := int(f.stride()) * int(f.form.size())
		scatterBits(f.data, int(f.form.size()), stride, pointer(src), size, n, &d)
		return 1
	}
	for i := range n {
		f.put(uint64(src[i])&low(bitsOf[T]()), bitsOf[T](), i)
	}
	return 1
}

// unpackLast unpacks the last word to the fields that have a bit, if one of them lacks elements for it. It returns how
// many words are left.
func unpackLast[T Word](src []T, fields []Field, done uint64) int {
	n := len(src)
	if n == 0 {
		return 0
	}
	lack := false
	for k := range fields {
		lack = lack || done>>k&1 != 0 && !fields[k].full(n)
	}
	if !lack {
		return n
	}
	for k := range fields {
		if done>>k&1 != 0 {
			fields[k].put(uint64(src[n-1])&low(bitsOf[T]()), bitsOf[T](), n-1)
		}
	}
	return n - 1
}
