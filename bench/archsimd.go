//go:build goexperiment.simd && amd64

package main

import (
	"simd/archsimd"
	"unsafe"
)

// simdVectors describes the vectors of the archsimd contender; it is empty where
// there is none.
var simdVectors = func() string {
	switch {
	case archsimd.X86.AVX512():
		return "512-bit vectors"
	case archsimd.X86.AVX2():
		return "256-bit vectors"
	}
	return ""
}()

// simdLoop is fn written with Go's own vectors, the widest that the processor
// has. Their types cannot be type parameters, so that each width of vector and
// word has functions of its own. Shifts take their counts from vectors: those by
// one count for all lanes move it from an integer register each time.
func simdLoop[T word](fn function, o *operands[T]) func(iters int) {
	if simdVectors == "" {
		return nil
	}
	wide := archsimd.X86.AVX512()
	if wordBits[T]() == 32 {
		p := [5][]uint32{}
		for i := range p {
			p[i] = unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(o.p[i]))), o.n)
		}
		if wide {
			return simdLoop32x16(fn, p, uint32(o.value), o.pos, o.width, o.fieldPos, o.fieldWidth)
		}
		return simdLoop32x8(fn, p, uint32(o.value), o.pos, o.width, o.fieldPos, o.fieldWidth)
	}
	p := [5][]uint64{}
	for i := range p {
		p[i] = unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(o.p[i]))), o.n)
	}
	if wide {
		return simdLoop64x8(fn, p, uint64(o.value), o.pos, o.width, o.fieldPos, o.fieldWidth)
	}
	return simdLoop64x4(fn, p, uint64(o.value), o.pos, o.width, o.fieldPos, o.fieldWidth)
}

func simdLoop32x8(fn function, p [5][]uint32, value uint32, each, widths []uint32, pos, width uint32) func(iters int) {
	return repeat([...]func(){
		insertFn:      func() { simdInsert32x8(p[0], p[1], p[2], pos, width) },
		insertEachFn:  func() { simdInsertEach32x8(p[0], p[1], p[2], each, widths) },
		fillFn:        func() { simdFill32x8(p[0], p[2], value, pos, width) },
		selectFn:      func() { simdSelect32x8(p[0], p[3], p[1], p[2]) },
		extractFn:     func() { simdExtract32x8(p[0], p[1], pos, width) },
		extractEachFn: func() { simdExtractEach32x8(p[0], p[1], each, widths) },
		packFn:        func() { simdPack32x8(p[0], p[1], p[2], p[3], p[4]) },
		unpackFn:      func() { simdUnpack32x8(p[0], p[1], p[2], p[3], p[4]) },
	}[fn])
}

func simdInsert32x8(dst, src, base []uint32, pos, width uint32) {
	count := archsimd.BroadcastUint32x8(uint32(pos & 0xff))
	mask := archsimd.BroadcastUint32x8(insertLane(^uint32(0), 0, pos, width))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a := archsimd.LoadUint32x8Slice(src[i:])
		b := archsimd.LoadUint32x8Slice(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint32x8SlicePart(src[i:])
		b := archsimd.LoadUint32x8SlicePart(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdInsertEach32x8(dst, src, base []uint32, pos, width []uint32) {
	low := archsimd.BroadcastUint32x8(0xff)
	ones := archsimd.BroadcastUint32x8(^uint32(0))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a := archsimd.LoadUint32x8Slice(src[i:])
		b := archsimd.LoadUint32x8Slice(base[i:])
		p := archsimd.LoadUint32x8Slice(pos[i:]).And(low)
		w := archsimd.LoadUint32x8Slice(width[i:]).And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint32x8SlicePart(src[i:])
		b := archsimd.LoadUint32x8SlicePart(base[i:])
		p := archsimd.LoadUint32x8SlicePart(pos[i:]).And(low)
		w := archsimd.LoadUint32x8SlicePart(width[i:]).And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdFill32x8(dst, base []uint32, value uint32, pos, width uint32) {
	mask := archsimd.BroadcastUint32x8(insertLane(^uint32(0), 0, pos, width))
	field := archsimd.BroadcastUint32x8(insertLane(value, 0, pos, width))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		archsimd.LoadUint32x8Slice(base[i:]).AndNot(mask).Or(field).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint32x8SlicePart(base[i:]).AndNot(mask).Or(field).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdSelect32x8(dst, mask, src, base []uint32) {
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		m := archsimd.LoadUint32x8Slice(mask[i:])
		a := archsimd.LoadUint32x8Slice(src[i:])
		b := archsimd.LoadUint32x8Slice(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		m := archsimd.LoadUint32x8SlicePart(mask[i:])
		a := archsimd.LoadUint32x8SlicePart(src[i:])
		b := archsimd.LoadUint32x8SlicePart(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtract32x8(dst, src []uint32, pos, width uint32) {
	count := archsimd.BroadcastUint32x8(uint32(pos & 0xff))
	mask := archsimd.BroadcastUint32x8(insertLane(^uint32(0), 0, 0, width))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		archsimd.LoadUint32x8Slice(src[i:]).ShiftRight(count).And(mask).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint32x8SlicePart(src[i:]).ShiftRight(count).And(mask).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtractEach32x8(dst, src []uint32, pos, width []uint32) {
	low := archsimd.BroadcastUint32x8(0xff)
	ones := archsimd.BroadcastUint32x8(^uint32(0))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a := archsimd.LoadUint32x8Slice(src[i:])
		p := archsimd.LoadUint32x8Slice(pos[i:]).And(low)
		w := archsimd.LoadUint32x8Slice(width[i:]).And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint32x8SlicePart(src[i:])
		p := archsimd.LoadUint32x8SlicePart(pos[i:]).And(low)
		w := archsimd.LoadUint32x8SlicePart(width[i:]).And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdPack32x8(dst, c0, c1, c2, c3 []uint32) {
	low := archsimd.BroadcastUint32x8(1<<8 - 1)
	n1, n2, n3 := archsimd.BroadcastUint32x8(8), archsimd.BroadcastUint32x8(2*8), archsimd.BroadcastUint32x8(3*8)
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		f0 := archsimd.LoadUint32x8Slice(c0[i:]).And(low)
		f1 := archsimd.LoadUint32x8Slice(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint32x8Slice(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint32x8Slice(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		f0 := archsimd.LoadUint32x8SlicePart(c0[i:]).And(low)
		f1 := archsimd.LoadUint32x8SlicePart(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint32x8SlicePart(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint32x8SlicePart(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdUnpack32x8(src, c0, c1, c2, c3 []uint32) {
	low := archsimd.BroadcastUint32x8(1<<8 - 1)
	n1, n2, n3 := archsimd.BroadcastUint32x8(8), archsimd.BroadcastUint32x8(2*8), archsimd.BroadcastUint32x8(3*8)
	i := 0
	for ; i+8 <= len(src); i += 8 {
		word := archsimd.LoadUint32x8Slice(src[i:])
		word.And(low).StoreSlice(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlice(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlice(c2[i:])
		word.ShiftRight(n3).StoreSlice(c3[i:])
	}
	if i < len(src) {
		word := archsimd.LoadUint32x8SlicePart(src[i:])
		word.And(low).StoreSlicePart(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlicePart(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlicePart(c2[i:])
		word.ShiftRight(n3).StoreSlicePart(c3[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdLoop32x16(fn function, p [5][]uint32, value uint32, each, widths []uint32, pos, width uint32) func(iters int) {
	return repeat([...]func(){
		insertFn:      func() { simdInsert32x16(p[0], p[1], p[2], pos, width) },
		insertEachFn:  func() { simdInsertEach32x16(p[0], p[1], p[2], each, widths) },
		fillFn:        func() { simdFill32x16(p[0], p[2], value, pos, width) },
		selectFn:      func() { simdSelect32x16(p[0], p[3], p[1], p[2]) },
		extractFn:     func() { simdExtract32x16(p[0], p[1], pos, width) },
		extractEachFn: func() { simdExtractEach32x16(p[0], p[1], each, widths) },
		packFn:        func() { simdPack32x16(p[0], p[1], p[2], p[3], p[4]) },
		unpackFn:      func() { simdUnpack32x16(p[0], p[1], p[2], p[3], p[4]) },
	}[fn])
}

func simdInsert32x16(dst, src, base []uint32, pos, width uint32) {
	count := archsimd.BroadcastUint32x16(uint32(pos & 0xff))
	mask := archsimd.BroadcastUint32x16(insertLane(^uint32(0), 0, pos, width))
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

func simdInsertEach32x16(dst, src, base []uint32, pos, width []uint32) {
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

func simdFill32x16(dst, base []uint32, value uint32, pos, width uint32) {
	mask := archsimd.BroadcastUint32x16(insertLane(^uint32(0), 0, pos, width))
	field := archsimd.BroadcastUint32x16(insertLane(value, 0, pos, width))
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		archsimd.LoadUint32x16Slice(base[i:]).AndNot(mask).Or(field).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint32x16SlicePart(base[i:]).AndNot(mask).Or(field).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdSelect32x16(dst, mask, src, base []uint32) {
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		m := archsimd.LoadUint32x16Slice(mask[i:])
		a := archsimd.LoadUint32x16Slice(src[i:])
		b := archsimd.LoadUint32x16Slice(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		m := archsimd.LoadUint32x16SlicePart(mask[i:])
		a := archsimd.LoadUint32x16SlicePart(src[i:])
		b := archsimd.LoadUint32x16SlicePart(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtract32x16(dst, src []uint32, pos, width uint32) {
	count := archsimd.BroadcastUint32x16(uint32(pos & 0xff))
	mask := archsimd.BroadcastUint32x16(insertLane(^uint32(0), 0, 0, width))
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		archsimd.LoadUint32x16Slice(src[i:]).ShiftRight(count).And(mask).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint32x16SlicePart(src[i:]).ShiftRight(count).And(mask).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtractEach32x16(dst, src []uint32, pos, width []uint32) {
	low := archsimd.BroadcastUint32x16(0xff)
	ones := archsimd.BroadcastUint32x16(^uint32(0))
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		a := archsimd.LoadUint32x16Slice(src[i:])
		p := archsimd.LoadUint32x16Slice(pos[i:]).And(low)
		w := archsimd.LoadUint32x16Slice(width[i:]).And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint32x16SlicePart(src[i:])
		p := archsimd.LoadUint32x16SlicePart(pos[i:]).And(low)
		w := archsimd.LoadUint32x16SlicePart(width[i:]).And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdPack32x16(dst, c0, c1, c2, c3 []uint32) {
	low := archsimd.BroadcastUint32x16(1<<8 - 1)
	n1, n2, n3 := archsimd.BroadcastUint32x16(8), archsimd.BroadcastUint32x16(2*8), archsimd.BroadcastUint32x16(3*8)
	i := 0
	for ; i+16 <= len(dst); i += 16 {
		f0 := archsimd.LoadUint32x16Slice(c0[i:]).And(low)
		f1 := archsimd.LoadUint32x16Slice(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint32x16Slice(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint32x16Slice(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		f0 := archsimd.LoadUint32x16SlicePart(c0[i:]).And(low)
		f1 := archsimd.LoadUint32x16SlicePart(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint32x16SlicePart(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint32x16SlicePart(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdUnpack32x16(src, c0, c1, c2, c3 []uint32) {
	low := archsimd.BroadcastUint32x16(1<<8 - 1)
	n1, n2, n3 := archsimd.BroadcastUint32x16(8), archsimd.BroadcastUint32x16(2*8), archsimd.BroadcastUint32x16(3*8)
	i := 0
	for ; i+16 <= len(src); i += 16 {
		word := archsimd.LoadUint32x16Slice(src[i:])
		word.And(low).StoreSlice(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlice(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlice(c2[i:])
		word.ShiftRight(n3).StoreSlice(c3[i:])
	}
	if i < len(src) {
		word := archsimd.LoadUint32x16SlicePart(src[i:])
		word.And(low).StoreSlicePart(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlicePart(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlicePart(c2[i:])
		word.ShiftRight(n3).StoreSlicePart(c3[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdLoop64x4(fn function, p [5][]uint64, value uint64, each, widths []uint32, pos, width uint32) func(iters int) {
	return repeat([...]func(){
		insertFn:      func() { simdInsert64x4(p[0], p[1], p[2], pos, width) },
		insertEachFn:  func() { simdInsertEach64x4(p[0], p[1], p[2], each, widths) },
		fillFn:        func() { simdFill64x4(p[0], p[2], value, pos, width) },
		selectFn:      func() { simdSelect64x4(p[0], p[3], p[1], p[2]) },
		extractFn:     func() { simdExtract64x4(p[0], p[1], pos, width) },
		extractEachFn: func() { simdExtractEach64x4(p[0], p[1], each, widths) },
		packFn:        func() { simdPack64x4(p[0], p[1], p[2], p[3], p[4]) },
		unpackFn:      func() { simdUnpack64x4(p[0], p[1], p[2], p[3], p[4]) },
	}[fn])
}

func simdInsert64x4(dst, src, base []uint64, pos, width uint32) {
	count := archsimd.BroadcastUint64x4(uint64(pos & 0xff))
	mask := archsimd.BroadcastUint64x4(insertLane(^uint64(0), 0, pos, width))
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		a := archsimd.LoadUint64x4Slice(src[i:])
		b := archsimd.LoadUint64x4Slice(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint64x4SlicePart(src[i:])
		b := archsimd.LoadUint64x4SlicePart(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdInsertEach64x4(dst, src, base []uint64, pos, width []uint32) {
	low := archsimd.BroadcastUint64x4(0xff)
	ones := archsimd.BroadcastUint64x4(^uint64(0))
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		a := archsimd.LoadUint64x4Slice(src[i:])
		b := archsimd.LoadUint64x4Slice(base[i:])
		p := archsimd.LoadUint32x4Slice(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x4Slice(width[i:]).ExtendToUint64().And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint64x4SlicePart(src[i:])
		b := archsimd.LoadUint64x4SlicePart(base[i:])
		p := archsimd.LoadUint32x4SlicePart(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x4SlicePart(width[i:]).ExtendToUint64().And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdFill64x4(dst, base []uint64, value uint64, pos, width uint32) {
	mask := archsimd.BroadcastUint64x4(insertLane(^uint64(0), 0, pos, width))
	field := archsimd.BroadcastUint64x4(insertLane(value, 0, pos, width))
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		archsimd.LoadUint64x4Slice(base[i:]).AndNot(mask).Or(field).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint64x4SlicePart(base[i:]).AndNot(mask).Or(field).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdSelect64x4(dst, mask, src, base []uint64) {
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		m := archsimd.LoadUint64x4Slice(mask[i:])
		a := archsimd.LoadUint64x4Slice(src[i:])
		b := archsimd.LoadUint64x4Slice(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		m := archsimd.LoadUint64x4SlicePart(mask[i:])
		a := archsimd.LoadUint64x4SlicePart(src[i:])
		b := archsimd.LoadUint64x4SlicePart(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtract64x4(dst, src []uint64, pos, width uint32) {
	count := archsimd.BroadcastUint64x4(uint64(pos & 0xff))
	mask := archsimd.BroadcastUint64x4(insertLane(^uint64(0), 0, 0, width))
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		archsimd.LoadUint64x4Slice(src[i:]).ShiftRight(count).And(mask).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint64x4SlicePart(src[i:]).ShiftRight(count).And(mask).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtractEach64x4(dst, src []uint64, pos, width []uint32) {
	low := archsimd.BroadcastUint64x4(0xff)
	ones := archsimd.BroadcastUint64x4(^uint64(0))
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		a := archsimd.LoadUint64x4Slice(src[i:])
		p := archsimd.LoadUint32x4Slice(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x4Slice(width[i:]).ExtendToUint64().And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint64x4SlicePart(src[i:])
		p := archsimd.LoadUint32x4SlicePart(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x4SlicePart(width[i:]).ExtendToUint64().And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdPack64x4(dst, c0, c1, c2, c3 []uint64) {
	low := archsimd.BroadcastUint64x4(1<<16 - 1)
	n1, n2, n3 := archsimd.BroadcastUint64x4(16), archsimd.BroadcastUint64x4(2*16), archsimd.BroadcastUint64x4(3*16)
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		f0 := archsimd.LoadUint64x4Slice(c0[i:]).And(low)
		f1 := archsimd.LoadUint64x4Slice(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint64x4Slice(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint64x4Slice(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		f0 := archsimd.LoadUint64x4SlicePart(c0[i:]).And(low)
		f1 := archsimd.LoadUint64x4SlicePart(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint64x4SlicePart(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint64x4SlicePart(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdUnpack64x4(src, c0, c1, c2, c3 []uint64) {
	low := archsimd.BroadcastUint64x4(1<<16 - 1)
	n1, n2, n3 := archsimd.BroadcastUint64x4(16), archsimd.BroadcastUint64x4(2*16), archsimd.BroadcastUint64x4(3*16)
	i := 0
	for ; i+4 <= len(src); i += 4 {
		word := archsimd.LoadUint64x4Slice(src[i:])
		word.And(low).StoreSlice(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlice(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlice(c2[i:])
		word.ShiftRight(n3).StoreSlice(c3[i:])
	}
	if i < len(src) {
		word := archsimd.LoadUint64x4SlicePart(src[i:])
		word.And(low).StoreSlicePart(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlicePart(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlicePart(c2[i:])
		word.ShiftRight(n3).StoreSlicePart(c3[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdLoop64x8(fn function, p [5][]uint64, value uint64, each, widths []uint32, pos, width uint32) func(iters int) {
	return repeat([...]func(){
		insertFn:      func() { simdInsert64x8(p[0], p[1], p[2], pos, width) },
		insertEachFn:  func() { simdInsertEach64x8(p[0], p[1], p[2], each, widths) },
		fillFn:        func() { simdFill64x8(p[0], p[2], value, pos, width) },
		selectFn:      func() { simdSelect64x8(p[0], p[3], p[1], p[2]) },
		extractFn:     func() { simdExtract64x8(p[0], p[1], pos, width) },
		extractEachFn: func() { simdExtractEach64x8(p[0], p[1], each, widths) },
		packFn:        func() { simdPack64x8(p[0], p[1], p[2], p[3], p[4]) },
		unpackFn:      func() { simdUnpack64x8(p[0], p[1], p[2], p[3], p[4]) },
	}[fn])
}

func simdInsert64x8(dst, src, base []uint64, pos, width uint32) {
	count := archsimd.BroadcastUint64x8(uint64(pos & 0xff))
	mask := archsimd.BroadcastUint64x8(insertLane(^uint64(0), 0, pos, width))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a := archsimd.LoadUint64x8Slice(src[i:])
		b := archsimd.LoadUint64x8Slice(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint64x8SlicePart(src[i:])
		b := archsimd.LoadUint64x8SlicePart(base[i:])
		b.Xor(b.Xor(a.ShiftLeft(count)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdInsertEach64x8(dst, src, base []uint64, pos, width []uint32) {
	low := archsimd.BroadcastUint64x8(0xff)
	ones := archsimd.BroadcastUint64x8(^uint64(0))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a := archsimd.LoadUint64x8Slice(src[i:])
		b := archsimd.LoadUint64x8Slice(base[i:])
		p := archsimd.LoadUint32x8Slice(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x8Slice(width[i:]).ExtendToUint64().And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint64x8SlicePart(src[i:])
		b := archsimd.LoadUint64x8SlicePart(base[i:])
		p := archsimd.LoadUint32x8SlicePart(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x8SlicePart(width[i:]).ExtendToUint64().And(low)
		mask := ones.AndNot(ones.ShiftLeft(w)).ShiftLeft(p)
		b.Xor(b.Xor(a.ShiftLeft(p)).And(mask)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdFill64x8(dst, base []uint64, value uint64, pos, width uint32) {
	mask := archsimd.BroadcastUint64x8(insertLane(^uint64(0), 0, pos, width))
	field := archsimd.BroadcastUint64x8(insertLane(value, 0, pos, width))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		archsimd.LoadUint64x8Slice(base[i:]).AndNot(mask).Or(field).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint64x8SlicePart(base[i:]).AndNot(mask).Or(field).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdSelect64x8(dst, mask, src, base []uint64) {
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		m := archsimd.LoadUint64x8Slice(mask[i:])
		a := archsimd.LoadUint64x8Slice(src[i:])
		b := archsimd.LoadUint64x8Slice(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		m := archsimd.LoadUint64x8SlicePart(mask[i:])
		a := archsimd.LoadUint64x8SlicePart(src[i:])
		b := archsimd.LoadUint64x8SlicePart(base[i:])
		m.And(a).Or(b.AndNot(m)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtract64x8(dst, src []uint64, pos, width uint32) {
	count := archsimd.BroadcastUint64x8(uint64(pos & 0xff))
	mask := archsimd.BroadcastUint64x8(insertLane(^uint64(0), 0, 0, width))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		archsimd.LoadUint64x8Slice(src[i:]).ShiftRight(count).And(mask).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		archsimd.LoadUint64x8SlicePart(src[i:]).ShiftRight(count).And(mask).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdExtractEach64x8(dst, src []uint64, pos, width []uint32) {
	low := archsimd.BroadcastUint64x8(0xff)
	ones := archsimd.BroadcastUint64x8(^uint64(0))
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		a := archsimd.LoadUint64x8Slice(src[i:])
		p := archsimd.LoadUint32x8Slice(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x8Slice(width[i:]).ExtendToUint64().And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		a := archsimd.LoadUint64x8SlicePart(src[i:])
		p := archsimd.LoadUint32x8SlicePart(pos[i:]).ExtendToUint64().And(low)
		w := archsimd.LoadUint32x8SlicePart(width[i:]).ExtendToUint64().And(low)
		a.ShiftRight(p).AndNot(ones.ShiftLeft(w)).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdPack64x8(dst, c0, c1, c2, c3 []uint64) {
	low := archsimd.BroadcastUint64x8(1<<16 - 1)
	n1, n2, n3 := archsimd.BroadcastUint64x8(16), archsimd.BroadcastUint64x8(2*16), archsimd.BroadcastUint64x8(3*16)
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		f0 := archsimd.LoadUint64x8Slice(c0[i:]).And(low)
		f1 := archsimd.LoadUint64x8Slice(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint64x8Slice(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint64x8Slice(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlice(dst[i:])
	}
	if i < len(dst) {
		f0 := archsimd.LoadUint64x8SlicePart(c0[i:]).And(low)
		f1 := archsimd.LoadUint64x8SlicePart(c1[i:]).And(low).ShiftLeft(n1)
		f2 := archsimd.LoadUint64x8SlicePart(c2[i:]).And(low).ShiftLeft(n2)
		f3 := archsimd.LoadUint64x8SlicePart(c3[i:]).ShiftLeft(n3)
		f0.Or(f1).Or(f2).Or(f3).StoreSlicePart(dst[i:])
	}
	archsimd.ClearAVXUpperBits()
}

func simdUnpack64x8(src, c0, c1, c2, c3 []uint64) {
	low := archsimd.BroadcastUint64x8(1<<16 - 1)
	n1, n2, n3 := archsimd.BroadcastUint64x8(16), archsimd.BroadcastUint64x8(2*16), archsimd.BroadcastUint64x8(3*16)
	i := 0
	for ; i+8 <= len(src); i += 8 {
		word := archsimd.LoadUint64x8Slice(src[i:])
		word.And(low).StoreSlice(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlice(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlice(c2[i:])
		word.ShiftRight(n3).StoreSlice(c3[i:])
	}
	if i < len(src) {
		word := archsimd.LoadUint64x8SlicePart(src[i:])
		word.And(low).StoreSlicePart(c0[i:])
		word.ShiftRight(n1).And(low).StoreSlicePart(c1[i:])
		word.ShiftRight(n2).And(low).StoreSlicePart(c2[i:])
		word.ShiftRight(n3).StoreSlicePart(c3[i:])
	}
	archsimd.ClearAVXUpperBits()
}
