package bfi

import (
	"math/bits"
	"slices"
	"strconv"
	"unsafe"
)

// The operands of a call are checked in two steps. fits and maskFits are small
// enough to be inlined, and only report yes or no. If the answer is no, misfit
// looks for the reason and words it.
//
// The slow path must end in a panic. If it returned, the compiler would keep every
// operand alive across it.

// apart reports whether two ranges of memory have no byte in common. The first is m
// bytes long. The second is n bytes long and starts distance bytes before the first.
// The distance wraps if the second starts behind the first. Comparing distances
// avoids sums of addresses, which could overflow.
func apart(distance, m, n uintptr) bool { return distance >= n && -distance >= m }

// fits reports whether s has dst's length, and overlaps dst exactly or not at all.
func fits[T, U Word](dst []T, s []U) bool {
	distance := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return len(s) == len(dst) &&
		(apart(distance, uintptr(len(dst))*unsafe.Sizeof(T(0)), uintptr(len(dst))*unsafe.Sizeof(U(0))) ||
			distance == 0 && unsafe.Sizeof(T(0)) == unsafe.Sizeof(U(0)))
}

// maskFits reports whether active has the length of a mask for dst, and does not
// overlap dst.
func maskFits[T Word, M Mask](dst []T, active []M) bool {
	distance := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(active)))
	return len(active) == maskLen[M](len(dst)) &&
		apart(distance, uintptr(len(dst))*unsafe.Sizeof(T(0)), uintptr(len(active))*unsafe.Sizeof(M(0)))
}

// maskLen returns the number of elements of a mask for n lanes. It adds in uint,
// because the sum may overflow an int of 32 bits.
func maskLen[M Mask](n int) int {
	return int((uint(n) + uint(maskBits[M]()) - 1) / uint(maskBits[M]()))
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func address[T any](s []T) uintptr { return uintptr(pointer(s)) }

// from returns the address of lane i of a slice of T at p.
func from[T Word](p unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(p, i*int(unsafe.Sizeof(T(0))))
}

// throughCache is the stream argument of a call that has not been cut into pieces.
const throughCache = false

// streams reports whether a call of many pieces streams. It does if it moves at
// least streamBytes, if it is not in place, and if dst is aligned to its words of
// size bytes.
func streams(dst unsafe.Pointer, size, moved uintptr, sources ...unsafe.Pointer) bool {
	return moved >= streamBytes && !slices.Contains(sources, dst) && uintptr(dst)%size == 0
}

// An operand describes a slice, whatever its type, for misfit.
type operand struct {
	name string
	at   uintptr
	n    int
	size uintptr // of an element
}

func operandOf[T any](name string, s []T) operand {
	return operand{name, address(s), len(s), unsafe.Sizeof(*new(T))}
}

func (s operand) bytes() uintptr { return uintptr(s.n) * s.size }

func (s operand) apart(t operand) bool { return apart(s.at-t.at, s.bytes(), t.bytes()) }

// misfit returns the message about the first source that does not fit dst, or ""
// if all fit.
func misfit(fn string, dst operand, sources ...operand) string {
	for _, s := range sources {
		if s.n != dst.n {
			return wrongLen(fn, s, dst)
		}
		if !dst.apart(s) && (dst.at != s.at || dst.size != s.size) {
			return overlap(fn, dst, s, dst.size == s.size)
		}
	}
	return ""
}

// maskMisfit returns the message about the first source that does not fit dst. If all
// fit, it returns the message about the mask.
func maskMisfit[M Mask](fn string, active []M, dst operand, sources ...operand) string {
	if text := misfit(fn, dst, sources...); text != "" {
		return text
	}
	if want := maskLen[M](dst.n); len(active) != want {
		return "bfi: " + fn + ": len(active) = " + strconv.Itoa(len(active)) +
			", want " + strconv.Itoa(want) + " for " + strconv.Itoa(dst.n) + " lanes"
	}
	return overlap(fn, dst, operandOf("active", active), false)
}

func wrongLen(fn string, s, want operand) string {
	return "bfi: " + fn + ": len(" + s.name + ") = " + strconv.Itoa(s.n) +
		", want len(" + want.name + ") = " + strconv.Itoa(want.n)
}

func overlap(fn string, s, t operand, exactAllowed bool) string {
	text := "bfi: " + fn + ": " + s.name + " overlaps " + t.name
	if exactAllowed {
		text += " inexactly"
	}
	return text
}

// memory returns the field's elements and gaps as an operand without a name, because a name would be allocated.
func (f *Field) memory() operand { return operand{"", uintptr(f.data), int(f.n), f.form.size()} }

// named returns the memory of a call's field k, with the name that messages give it.
func (f *Field) named(k int) operand {
	s := f.memory()
	s.name = "fields[" + strconv.Itoa(k) + "]"
	return s
}

// survey checks columns and constants against n words of size bytes at address at. It returns the union of the
// columns' forms, the bits that are in any field, and the bits that constants set. The union is uneven if a field is,
// or if fields overlap. survey reports no fit if a field is an Array.
func survey(fields []Field, at uintptr, n int, size uintptr) (forms form, taken, value uint64, fit bool) {
	bytes := uintptr(n) * size
	var common uint64
	for k := range fields {
		f := &fields[k]
		common |= f.mask & taken
		taken |= f.mask
		if f.form.constant() {
			forms |= f.form & unevenForm
			// Unless the field is uneven, this equals f.value() and is faster.
			value |= bits.RotateLeft64(f.n, f.form.shift()) & f.mask
			continue
		}
		forms |= f.form
		distance, column := at-uintptr(f.data), uintptr(n)*f.form.size()
		if f.n != uint64(n) || !apart(distance, bytes, column) && (distance != 0 || bytes != column) {
			return forms, taken, value, false
		}
	}
	if common != 0 {
		forms |= unevenForm
	}
	return forms, taken, value, len(fields) <= maxFields && !forms.array()
}

// surveyColumns checks columns against n words of size bytes at address at. They are plain if each fits its element
// and the word, and only the last column may alias src. surveyColumns reports no fit if a field is an Array.
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
		case !f.apart(fields[:k]):
			return false, false
		}
	}
	// The words rarely lie among the columns.
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
	return plain, forms&((constantKind|arrayKind)*kindForm) == 0 && len(fields) <= maxFields
}

// apart reports whether a field of Unpack has no element in common with the others.
func (f *Field) apart(others []Field) bool {
	for k := range others {
		if !f.memory().apart(others[k].memory()) && !f.interleaves(&others[k]) {
			return false
		}
	}
	return true
}

// interleaves reports whether two fields whose slices overlap have no element in common: each lies in the other's
// gaps.
func (f *Field) interleaves(g *Field) bool {
	size, stride := f.form.size(), f.stride()
	if stride == 1 || g.stride() != stride || g.form.size() != size {
		return false
	}
	if uintptr(f.data) > uintptr(g.data) {
		f, g = g, f
	}
	distance := uintptr(g.data) - uintptr(f.data)
	if distance%size != 0 {
		return false
	}
	word, at := uint64(distance/size)/stride, uint64(distance/size)%stride
	if at < uint64(f.form.count()) {
		return false // g's first element is one of f's
	}
	return at+uint64(g.form.count()) <= stride || word+1 >= f.words()
}

// fits reports whether a field has elements for n words of size bytes at address at, and does not overlap them. A
// column may also overlap the words exactly.
func (f *Field) fits(at uintptr, n int, size uintptr) bool {
	if f.form.constant() {
		return true
	}
	distance, element := at-uintptr(f.data), f.form.size()
	return f.isFor(n) && (apart(distance, uintptr(n)*size, uintptr(f.n)*element) ||
		!f.form.array() && distance == 0 && size == element)
}

// fieldMisfit returns the message that fn panics with if it cannot take the fields, or "" if it can.
func fieldMisfit(fn string, words operand, fields []Field) string {
	if len(fields) > maxFields {
		return "bfi: " + fn + ": len(fields) = " + strconv.Itoa(len(fields)) + ", want at most " + strconv.Itoa(maxFields)
	}
	count := 0
	for k := range fields {
		f := &fields[k]
		count += f.form.count()
		switch {
		case f.form.constant() && fn == "Unpack":
			return "bfi: " + fn + ": " + f.named(k).name + " is a Constant, want a Column"
		case f.fits(words.at, words.n, words.size):
		case !f.form.array():
			return misfit(fn, words, f.named(k))
		case !f.isFor(words.n):
			return f.wrongWords(fn, f.named(k), words)
		default:
			return overlap(fn, words, f.named(k), false)
		}
		if fn == "Pack" || f.apart(fields[:k]) {
			continue
		}
		for j := range k {
			if !f.apart(fields[j : j+1]) {
				return overlap(fn, f.named(k), fields[j].named(j), false)
			}
		}
	}
	if count > maxFields {
		return "bfi: " + fn + ": fields have " + strconv.Itoa(count) + " elements in a word, want at most " +
			strconv.Itoa(maxFields)
	}
	return ""
}

// wrongWords returns the message that fn panics with if an Array has elements for another number of words.
func (f *Field) wrongWords(fn string, s, words operand) string {
	return "bfi: " + fn + ": len(" + s.name + ") = " + strconv.Itoa(s.n) + ", " + strconv.FormatUint(f.stride(), 10) +
		" to a word, is for " + strconv.FormatUint(f.words(), 10) +
		" words, want len(" + words.name + ") = " + strconv.Itoa(words.n)
}

// touchFields calls touch for every element that Pack reads or Unpack writes, so that a sanitizer knows of it.
func touchFields(fields []Field, n int, touch func(p unsafe.Pointer, n int, size uintptr)) {
	for k := range fields {
		f := &fields[k]
		count, size := uint64(f.form.count()), f.form.size()
		switch {
		case f.form.constant():
		case f.stride() == count:
			touch(f.data, int(f.n), size)
		default:
			for at := uint64(0); at < f.n; at += f.stride() {
				touch(unsafe.Add(f.data, uintptr(at)*size), int(min(count, f.n-at)), size)
			}
		}
	}
}
