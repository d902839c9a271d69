//go:build !((amd64 || arm64) && gc && !purego && !noasm && !appengine)

package bfi

import "unsafe"

func supported() []level { return []level{levelGeneric} }

func insert[T Word](dst, src, base unsafe.Pointer, n int, pos, width uint32, _ bool) {
	insertGeneric(slice[T](dst, n), slice[T](src, n), slice[T](base, n), pos, width)
}

func insertEach[T Word](dst, src, base, pos, width unsafe.Pointer, n int, _ bool) {
	insertEachGeneric(slice[T](dst, n), slice[T](src, n), slice[T](base, n), slice[uint32](pos, n), slice[uint32](width, n))
}

func fill[T Word](dst, base unsafe.Pointer, n int, value T, pos, width uint32, _ bool) {
	fillGeneric(slice[T](dst, n), slice[T](base, n), value, pos, width)
}

func selectBits[T Word](dst, mask, src, base unsafe.Pointer, n int, _ bool) {
	selectBitsGeneric(slice[T](dst, n), slice[T](mask, n), slice[T](src, n), slice[T](base, n))
}

func extract[T Word](dst, src unsafe.Pointer, n int, pos, width uint32, _ bool) {
	extractGeneric(slice[T](dst, n), slice[T](src, n), pos, width)
}

func extractEach[T Word](dst, src, pos, width unsafe.Pointer, n int, _ bool) {
	extractEachGeneric(slice[T](dst, n), slice[T](src, n), slice[uint32](pos, n), slice[uint32](width, n))
}

func pack[T Word](dst, base []T, cols []column, lo, hi int, _ bool) {
	packGeneric(dst, base, cols, lo, hi)
}

func insertWarp[T Word](dst, src, base *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	insertWarpGeneric(dst, src, base, pos, width, active)
}

func selectWarp[T Word](dst, mask, src, base *[WarpSize]T, active uint32) {
	selectWarpGeneric(dst, mask, src, base, active)
}

func extractWarp[T Word](dst, src *[WarpSize]T, pos, width *[WarpSize]uint32, active uint32) {
	extractWarpGeneric(dst, src, pos, width, active)
}
