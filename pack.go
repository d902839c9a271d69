package bfi

import (
	"strconv"
	"unsafe"
)

// Field is a bit field of a word: its lowest bit and its width in bits, with the
// meaning that PTX gives them, so that a field is cut off at the word's most
// significant bit.
type Field struct{ Pos, Len uint8 }

// maxFields bounds the fields of one Pack or Unpack, whose columns are described
// to the kernel in an array on the stack.
const maxFields = 64

// column describes one column to a pack kernel. The generator knows its layout.
type column struct {
	data unsafe.Pointer
	pos  uint64
	mask uint64 // the field's ones, at pos
}

// Pack builds each word out of several columns: dst[i] is base[i], or 0 where
// base is nil, with the low bits of cols[k][i] inserted at fields[k], for each k
// in order.
//
// It is one PTX bfi.b32 or bfi.b64 after another, with cols[k], the result so
// far, fields[k].Pos and fields[k].Len, in one pass over memory: of fields that
// overlap the later wins. There is one column a field, and at most 64 of them;
// base and all columns have dst's length. dst may be base or any column exactly,
// or not overlap it. Pack panics before it writes anything if it is given
// something else.
//
// Source: PTX ISA, bfi.
func Pack[T Word](dst, base []T, fields []Field, cols ...[]T) {
	checkFields("Pack", len(fields), len(cols))
	stream := bypass(dst, len(cols)+2)
	if base != nil {
		check("Pack", dst, "base", base)
		reads[T](pointer(base), len(base))
		stream = stream && !same(dst, base)
	}
	for k, col := range cols {
		if !fits(dst, col) {
			check("Pack", dst, colName(k), col)
		}
		reads[T](pointer(col), len(col))
		stream = stream && !same(dst, col)
	}
	writes[T](pointer(dst), len(dst))
	// Few columns are the rule; they are spared the clearing of the long array.
	if len(cols) <= 8 {
		var array [8]column
		for k, col := range cols {
			array[k] = describe(col, fields[k])
		}
		packPieces(dst, base, array[:len(cols)], stream)
	} else {
		var array [maxFields]column
		for k, col := range cols {
			array[k] = describe(col, fields[k])
		}
		packPieces(dst, base, array[:len(cols)], stream)
	}
}

// Unpack takes each word apart into several columns: cols[k][i] is the field
// fields[k] of src[i], zero-extended for unsigned words, sign-extended for
// signed ones.
//
// It is PTX bfe.u32, bfe.s32, bfe.u64 or bfe.s64 cols[k], src, fields[k].Pos,
// fields[k].Len, by T, for each k, in one pass over memory. There is one column
// a field, and at most 64 of them; all columns have src's length. A column may
// be src exactly, or not overlap it; columns may not overlap each other. Unpack
// panics before it writes anything if it is given something else.
//
// Source: PTX ISA, bfe.
func Unpack[T Word](src []T, fields []Field, cols ...[]T) {
	checkFields("Unpack", len(fields), len(cols))
	for k, col := range cols {
		if len(col) != len(src) {
			panicLen("Unpack", colName(k), len(col), "src", len(src))
		}
		if len(src) > 0 && !fits(src, col) {
			panicOverlap("Unpack", colName(k), "src", true)
		}
		for j, other := range cols[:k] {
			if len(src) > 0 && (!fits(col, other) || same(col, other)) {
				panicOverlap("Unpack", colName(k), colName(j), false)
			}
		}
	}
	// While one piece of src is in the cache, the columns are written one after
	// the other; last the one that is src, if any is.
	for i := 0; i < len(src); i += pieceLanes[T]() {
		n := min(pieceLanes[T](), len(src)-i)
		inPlace := -1
		for k, col := range cols {
			if same(src, col) {
				inPlace = k
				continue
			}
			stream := bypass(col, len(cols)+1)
			extract[T](pointer(col[i:]), pointer(src[i:]), n, uint32(fields[k].Pos), uint32(fields[k].Len), stream)
		}
		if inPlace >= 0 {
			p := pointer(src[i:])
			extract[T](p, p, n, uint32(fields[inPlace].Pos), uint32(fields[inPlace].Len), false)
		}
	}
}

func describe[T Word](col []T, f Field) column {
	mask := bfi(^T(0), 0, uint32(f.Pos), uint32(f.Len))
	return column{data: pointer(col), pos: uint64(f.Pos), mask: uint64(mask)}
}

func packPieces[T Word](dst, base []T, cols []column, stream bool) {
	piece := packLanes[T](len(cols))
	for i := 0; i < len(dst); i += piece {
		pack(dst, base, cols, i, min(i+piece, len(dst)), stream)
	}
}

// packLanes is the piece of a call that packs so many columns, shorter the more
// of them there are, so that it takes about as long as other pieces. It is a
// whole number of cache lines.
func packLanes[T Word](cols int) int { return max(pieceLanes[T]()/(cols+1)&^63, 64) }

func checkFields(fn string, fields, cols int) {
	if cols != fields {
		panicLen(fn, "cols", cols, "fields", fields)
	}
	if fields > maxFields {
		panic("bfi: " + fn + ": len(fields) = " + strconv.Itoa(fields) + ", want at most " + strconv.Itoa(maxFields))
	}
}

func colName(k int) string { return "cols[" + strconv.Itoa(k) + "]" }
