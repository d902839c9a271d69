package bfi

import (
	"strconv"
	"unsafe"
)

// What a call is given is checked in two steps: fits and maskFits are inlined and
// only answer; where one says no, misfit finds out what to say. A check before a
// kernel must end in a panic, or Go keeps all operands across it.

// apart reports whether m bytes have none in common with n bytes that lie
// distance before them. The distance wraps where they lie behind, so that no sum
// is needed that could.
func apart(distance, m, n uintptr) bool { return distance >= n && -distance >= m }

// fits reports whether s has dst's length and is either dst exactly or apart
// from it.
func fits[T, U Word](dst []T, s []U) bool {
	distance := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	return len(s) == len(dst) &&
		(apart(distance, uintptr(len(dst))*unsafe.Sizeof(T(0)), uintptr(len(dst))*unsafe.Sizeof(U(0))) ||
			distance == 0 && unsafe.Sizeof(T(0)) == unsafe.Sizeof(U(0)))
}

// maskFits reports whether active has a bit for each lane of dst, is no longer
// than it must be, and is apart from dst.
func maskFits[T Word, M Mask](dst []T, active []M) bool {
	distance := uintptr(unsafe.Pointer(unsafe.SliceData(dst))) - uintptr(unsafe.Pointer(unsafe.SliceData(active)))
	return len(active) == maskLen[M](len(dst)) &&
		apart(distance, uintptr(len(dst))*unsafe.Sizeof(T(0)), uintptr(len(active))*unsafe.Sizeof(M(0)))
}

// maskLen is how many elements a mask of n lanes has. The sum may be more than an
// int of 32 bits holds.
func maskLen[M Mask](n int) int {
	return int((uint(n) + uint(maskBits[M]()) - 1) / uint(maskBits[M]()))
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func address[T any](s []T) uintptr { return uintptr(pointer(s)) }

// An operand is a slice as misfit sees it.
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

// misfit is what to panic with where a source does not fit dst: it is about the
// first that does not.
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

// maskMisfit is misfit for a function with a mask.
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
