package bfi

import "unsafe"

// Pack sets each dst[i] to base[i], or to 0 if base is nil, with every field replaced by its value for word i. A
// [Column] gives one element a word, and an [Array] several. Elements may be of any integer types.
//
// It is equivalent to one PTX bfi.b32 or bfi.b64 per field, in order, of the element converted to T as Go converts it.
// Where fields overlap, the later one wins.
//
// Pack keeps the slice contract in the package doc. An Array has as many elements as dst's words take. dst must not
// overlap an Array, or a field with [Field.Every]. Pack panics if there are more than 64 fields. An Array counts once
// for each element in a word.
func Pack[T Word](dst, base []T, fields ...Field) {
	if base != nil && !fits(dst, base) {
		panic(misfit("Pack", operandOf("dst", dst), operandOf("base", base)))
	}
	size := unsafe.Sizeof(T(0))
	forms, taken, value, fit := survey(fields, address(dst), len(dst), size)
	if !fit {
		packArrays(dst, base, fields)
		return
	}
	if instrumented {
		touchFields(fields, len(dst), reads)
		reads(pointer(base), len(base), size)
		writes(pointer(dst), len(dst), size)
	}
	packFit(dst, base, fields, forms, taken, value)
}

// packFit packs columns and constants that fit, given what survey returned.
//
//	plan           for                                                    by
//	packWhole      whole bytes of elements and words, from wholeLanes on  permute
//	packUneven     fields that are not plain                              pack, of plain fields
//	packPlain      all others                                             pack
func packFit[T Word](dst, base []T, fields []Field, forms form, taken, value uint64) {
	lane := max(unsafe.Sizeof(T(0)), forms.size())
	switch {
	case len(dst) >= wholeLanes && forms.whole(taken) && packWhole(dst, base, fields, taken, value):
	case forms.uneven():
		packUneven(dst, base, fields, lane)
	default:
		packPlain(dst, base, fields, lane, ^taken, value)
	}
}

// onePiece reports whether n lanes of lane bytes are few enough for one run of a kernel.
func onePiece(n int, lane uintptr, fields int) bool {
	return uintptr(n)*lane*uintptr(fields+1) <= pieceBytes
}

// packPlain packs plain fields, in pieces. keep has the bits that base keeps, and value the bits that constants set.
func packPlain[T Word](dst, base []T, fields []Field, lane uintptr, keep, value uint64) {
	if onePiece(len(dst), lane, len(fields)) {
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

// streamsFields reports whether stores to words should bypass the cache. They should if the call moves at least
// streamBytes, counting moved and the columns, and if no column aliases the words.
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

// packUneven packs columns and constants that are not plain.
func packUneven[T Word](dst, base []T, fields []Field, lane uintptr) {
	// Most calls have few fields. A short array for them takes less time to clear.
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

// plan makes plain fields of any fields. array has room for two per field. plan also returns the bits that base keeps,
// and the bits that constants set.
//
// It works backwards, because later fields win: each field keeps the bits that no later field takes.
func plan(array, fields []Field) (plain []Field, keep, value uint64) {
	free := ^uint64(0)
	count := 0
	add := func(f *Field, kind form, mask uint64) {
		if mask != 0 {
			array[count] = Field{noescape(f.data), f.n, mask, f.form | kind}
			count++
		}
	}
	for k := len(fields) - 1; k >= 0; k-- {
		f := &fields[k]
		mask := f.mask & free
		free &^= mask
		if f.form.constant() {
			value |= f.value() & mask
			continue
		}
		if f.form.uneven() {
			// The element's bits end here. The field's bits above are copies of its sign, or zeros.
			end := max(int(f.form.pos())+8*int(f.form.size())-int(f.form.from()), 0)
			beyond := mask &^ low(uint32(end))
			mask &^= beyond
			if f.form.signed() {
				add(f, signKind*kindForm, beyond)
			}
		}
		add(f, 0, mask)
	}
	return array[:count], free, value
}

// packArrays packs fields with at least one Array. It panics if they do not fit.
func packArrays[T Word](dst, base []T, fields []Field) {
	if text := fieldMisfit("Pack", operandOf("dst", dst), fields); text != "" {
		panic(text)
	}
	if instrumented {
		touchFields(fields, len(dst), reads)
		reads(pointer(base), len(base), unsafe.Sizeof(T(0)))
		writes(pointer(dst), len(dst), unsafe.Sizeof(T(0)))
	}
	n := len(dst)
	if n > 0 && !allFull(fields, n) {
		n--
		packWord(dst, base, fields, n)
	}
	if base != nil {
		base = base[:n]
	}
	if len(fields) <= fewFields {
		var array [fewFields]Field
		packTiles(dst[:n], base, fields, array[:len(fields)])
	} else {
		var array [maxFields]Field
		packTiles(dst[:n], base, fields, array[:len(fields)])
	}
}

// allFull reports whether every field has all its elements in the last of n words, and the gap after them.
func allFull(fields []Field, n int) bool {
	for k := range fields {
		if f := &fields[k]; f.form.array() && f.n != uint64(n)*f.mask {
			return false
		}
	}
	return true
}

// packWord packs word i alone. Fields may lack elements for it.
func packWord[T Word](dst, base []T, fields []Field, i int) {
	var word uint64
	if base != nil {
		word = uint64(base[i])
	}
	for k := range fields {
		f := &fields[k]
		value, mask := f.at(i)
		word = word&^mask | value
	}
	dst[i] = T(word)
}

// tileBytes is the size of a tile: memory for words of Arrays, small enough to stay in the first-level cache.
const tileBytes = 2 << 10

// packTiles makes columns of the Arrays in columns, and then packs all fields. An Array becomes a column of words in a
// tile, unless wide returns a column for it.
func packTiles[T Word](dst, base []T, fields, columns []Field) {
	size := int(unsafe.Sizeof(T(0)))
	if len(fields) == 1 && base == nil {
		if _, ok := fields[0].wide(0, 0); !ok {
			gather(dst, &fields[0], 0)
			return
		}
	}
	tiles := 0
	for k := range fields {
		if _, ok := fields[k].wide(0, 0); fields[k].form.array() && !ok {
			tiles++
		}
	}
	var m wholeMoves
	if movesBytes(tiles, size, len(dst)) && m.pack(pointer(base), fields, size, 0) && m.quick(size, len(dst)) {
		m.run(pointer(dst), size, len(dst))
		return
	}
	var tile [tileBytes / 8]uint64
	piece := len(dst)
	if tiles > 0 {
		piece = min(piece, tileBytes/size/tiles)
	}
	for i := 0; i < len(dst); i += piece {
		n := min(piece, len(dst)-i)
		used := 0
		for k := range fields {
			f := &fields[k]
			if f.form.constant() {
				columns[k] = Field{nil, f.n, f.mask, f.form}
				continue
			}
			c, ok := f.wide(i, n)
			if !ok {
				words := unsafe.Add(unsafe.Pointer(&tile), used*piece*size)
				gather(slice[T](words, n), f, i)
				pos, width := f.bits(8 * uint32(size))
				c = Column(slice[T](noescape(words), n), pos, width).From(pos)
				used++
			}
			columns[k] = c
		}
		var some []T
		if base != nil {
			some = base[i : i+n]
		}
		forms, taken, value, _ := survey(columns, address(dst[i:]), n, uintptr(size))
		packFit(dst[i:i+n], some, columns, forms, taken, value)
	}
}

// gather makes words that have only an Array's elements, from word i of the call on.
func gather[T Word](words []T, f *Field, i int) {
	size := int(unsafe.Sizeof(T(0)))
	d, isDense := f.dense(8 * size)
	if f.wholeBytes() && !(isDense && denseFirst(size, len(words))) {
		var m wholeMoves
		if m.pack(nil, unsafe.Slice(f, 1), size, i) && (!isDense || m.beatsDense(size, len(words))) {
			m.run(pointer(words), size, len(words))
			return
		}
	}
	if isDense {
		stride := int(f.stride()) * int(f.form.size())
		gatherBits(pointer(words), size, len(words), unsafe.Add(f.data, i*stride), int(f.form.size()), stride, &d)
		return
	}
	for k := range words {
		value, _ := f.at(i + k)
		words[k] = T(value)
	}
}
