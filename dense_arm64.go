//go:build arm64 && gc && !purego && !noasm && !appengine

package bfi

import "unsafe"

// gatherBitsKernel calls a kernel for gatherBits, if there is one.
func gatherBitsKernel(dst unsafe.Pointer, w, n int, data unsafe.Pointer, e, stride int, d *dense) bool {
	if d.ones(w, e, stride) {
		bit, reversed := uint64(eachByte)<<d.from, truth(d.reversed)
		for i := 0; i < n*w; i += pieceBytes / 8 {
			gatherOnesNEON(unsafe.Add(dst, i), unsafe.Add(data, 8*i), uint64(min(pieceBytes/8, n*w-i)), bit, reversed)
		}
		return true
	}
	return d.packs(dst, w, n, data, e, stride)
}

// scatterBitsKernel calls a kernel for scatterBits, if there is one.
func scatterBitsKernel(data unsafe.Pointer, e, stride int, src unsafe.Pointer, w, n int, d *dense) bool {
	if d.ones(w, e, stride) {
		ones, reversed := d.oneValue(), truth(d.reversed)
		for i := 0; i < n*w; i += pieceBytes / 8 {
			scatterOnesNEON(unsafe.Add(data, 8*i), unsafe.Add(src, i), uint64(min(pieceBytes/8, n*w-i)), ones, reversed)
		}
		return true
	}
	return d.unpacks(data, e, stride, src, w, n)
}
