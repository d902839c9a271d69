package bfi

import (
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
// The distance wraps if it starts behind. Comparing distances avoids sums of
// addresses, which could overflow.
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
