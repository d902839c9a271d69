//go:build goexperiment.simd && amd64

package main

import "simd/archsimd"

// archsimdWork returns Insert or InsertEach of 32-bit words, written with Go's own vectors
// of 512 bits. The shifts take a vector of counts. A shift by one count for all lanes would
// move the count from an integer register each time.
func archsimdWork(x *operands) func(n int) {
	switch {
	case !archsimd.X86.AVX512():
		return nil
	case x.job.name == "Insert/u32":
		return func(n int) {
			for range n {
				simdInsert(of[uint32](x, 0), of[uint32](x, 1), of[uint32](x, 2), x.pos, x.width)
			}
		}
	case x.job.name == "InsertEach/u32":
		return func(n int) {
			for range n {
				simdInsertEach(of[uint32](x, 0), of[uint32](x, 1), of[uint32](x, 2), of[uint32](x, 3), of[uint32](x, 4))
			}
		}
	}
	return nil
}

func simdInsert(dst, src, base []uint32, pos, width uint32) {
	count := archsimd.BroadcastUint32x16(pos & 0xff)
	mask := archsimd.BroadcastUint32x16(fieldMask[uint32](pos, width))
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		a := archsimd.LoadUint32x16Slice(src[i:])
		b := archsimd.LoadUint32x16Slice(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint32x16SlicePart(src[i:])
		b := archsimd.LoadUint32x16SlicePart(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdInsertEach(dst, src, base []uint32, pos, width []uint32) {
	low := archsimd.BroadcastUint32x16(0xff)
	ones := archsimd.BroadcastUint32x16(^uint32(0))
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		a := archsimd.LoadUint32x16Slice(src[i:])
		b := archsimd.LoadUint32x16Slice(base[i:])
		p := archsimd.LoadUint32x16Slice(pos[i:]).And(low)
		w := archsimd.LoadUint32x16Slice(width[i:]).And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint32x16SlicePart(src[i:])
		b := archsimd.LoadUint32x16SlicePart(base[i:])
		p := archsimd.LoadUint32x16SlicePart(pos[i:]).And(low)
		w := archsimd.LoadUint32x16SlicePart(width[i:]).And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}
