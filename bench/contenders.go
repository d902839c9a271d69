package main

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gobfi/bfi"
)

// The library picks its kernel once. The benchmark runs all of them in one
// process, and each with and without stores that bypass the cache, so it sets
// the library's own variables.

//go:linkname currentLevel github.com/gobfi/bfi.current
var currentLevel int

//go:linkname streamBytes github.com/gobfi/bfi.streamBytes
var streamBytes int

//go:linkname supportedLevels github.com/gobfi/bfi.supported
func supportedLevels() []int

var libraryStreamBytes = streamBytes

// kernelName names a level of the library.
func kernelName(level int) string {
	defer func(old int) { currentLevel = old }(currentLevel)
	currentLevel = level
	return bfi.Kernel()
}

type word interface{ uint32 | uint64 }

func wordBits[T word]() int { return int(8 * unsafe.Sizeof(T(0))) }

// A function is one of the library's. The C loops know the numbers.
type function int

const (
	insertFn function = iota
	insertEachFn
	fillFn
	selectFn
	extractFn
	extractEachFn
	packFn
	unpackFn
	insertWarpFn
	selectWarpFn
	extractWarpFn
)

var functionNames = [...]string{
	"Insert", "InsertEach", "Fill", "Select", "Extract", "ExtractEach", "Pack", "Unpack",
	"InsertWarp", "SelectWarp", "ExtractWarp",
}

func (f function) String() string { return functionNames[f] }

func (f function) warp() bool { return f >= insertWarpFn }

// each reports whether every lane has its own pos and width.
func (f function) each() bool {
	return f == insertEachFn || f == extractEachFn || f == insertWarpFn || f == extractWarpFn
}

// A place says how the operands lie in memory.
type place int

const (
	apartPlace      place = iota // out of place, every operand at the start of a cache line
	inPlacePlace                 // the same with dst one of the operands
	misalignedPlace              // out of place, every operand past the start of a cache line
)

var placeNames = [...]string{"out of place", "in place", "misaligned"}

func (p place) String() string { return placeNames[p] }

// operands are five streams of n lanes and what all lanes share. Streams 0 to 4
// are dst, src, base, mask or pos, and width; of Pack they are dst and the four
// columns, of Unpack src and the four columns.
type operands[T word] struct {
	place                place
	n                    int
	p                    [5][]T
	pos, width           []uint32 // streams 3 and 4 as 32-bit words
	value                T
	fieldPos, fieldWidth uint32
	active               uint32
}

func (o *operands[T]) stream(fn function, i int) unsafe.Pointer {
	switch {
	case fn.each() && i == 3:
		return unsafe.Pointer(unsafe.SliceData(o.pos))
	case fn.each() && i == 4:
		return unsafe.Pointer(unsafe.SliceData(o.width))
	}
	return unsafe.Pointer(unsafe.SliceData(o.p[i]))
}

// part is lanes lo to hi of the operands.
func (o *operands[T]) part(lo, hi int) *operands[T] {
	q := *o
	q.n = hi - lo
	for i := range q.p {
		q.p[i] = o.p[i][lo:hi]
	}
	q.pos, q.width = o.pos[lo:hi], o.width[lo:hi]
	return &q
}

// outputs are the slices that fn writes.
func (o *operands[T]) outputs(fn function) [][]T {
	if fn == unpackFn {
		return o.p[1:]
	}
	return o.p[:1]
}

// quarters are the fields of Pack and Unpack: four that make up the word.
func quarters[T word]() []bfi.Field {
	q := uint8(wordBits[T]() / 4)
	return []bfi.Field{{Pos: 0, Len: q}, {Pos: q, Len: q}, {Pos: 2 * q, Len: q}, {Pos: 3 * q, Len: q}}
}

// An expectation is what a contender shall leave in its outputs.
type expectation int

const (
	theFunction expectation = iota
	theXor
	theCopy
)

// A contender is one way to do the work of a function, or to run as fast as the
// function could.
type contender struct {
	name   string
	level  int  // of the library
	bypass bool // whether the library's stores may bypass the cache
	expect expectation
	run    func(iters int)
}

func (c *contender) choose() {
	currentLevel, streamBytes = c.level, libraryStreamBytes
	if !c.bypass {
		streamBytes = math.MaxInt
	}
}

const (
	goLoopName  = "Go loop"
	cLoopName   = "C loop"
	simdName    = "archsimd"
	copyName    = "copy"
	splitLanes  = 64 << 10 // slices from here on are also split over all cores
	cachedNote  = ", cached stores"
	coresNote   = " cores"
	insertsName = "four Inserts "
	extractName = "four Extracts "
)

// limitName says what the limit loop is made of.
func limitName() string {
	if cCompiler != "" {
		return "xor in C"
	}
	return "xor in Go"
}

// contenders are all that take part in fn over o.
func contenders[T word](fn function, o *operands[T]) []contender {
	levels := supportedLevels()
	best := levels[len(levels)-1]
	var cs []contender
	add := func(name string, level int, bypass bool, expect expectation, run func(int)) {
		if run != nil {
			cs = append(cs, contender{name, level, bypass, expect, run})
		}
	}
	for _, level := range levels {
		kernel := kernelName(level)
		add("bfi "+kernel, level, true, theFunction, libraryLoop(fn, o))
		if level != 0 && o.place != inPlacePlace && !fn.warp() && streams(fn)*o.n*wordBits[T]()/8 >= libraryStreamBytes {
			add("bfi "+kernel+cachedNote, level, false, theFunction, libraryLoop(fn, o))
		}
		switch fn {
		case packFn:
			add(insertsName+kernel, level, true, theFunction, fourInserts(o))
		case unpackFn:
			add(extractName+kernel, level, true, theFunction, fourExtracts(o))
		}
	}
	if cores := runtime.GOMAXPROCS(0); cores > 1 && o.n >= splitLanes {
		add(fmt.Sprint("bfi ", kernelName(best), ", ", cores, coresNote), best, true, theFunction, splitLoop(fn, o, cores))
	}
	add(goLoopName, best, true, theFunction, goLoop(fn, o))
	add(cLoopName, best, true, theFunction, cLoop(fn, o, false))
	if fn.warp() {
		return cs
	}
	add(simdName, best, true, theFunction, simdLoop(fn, o))
	if cCompiler != "" {
		add(limitName(), best, true, theXor, cLoop(fn, o, true))
	} else {
		add(limitName(), best, true, theXor, goLimit(fn, o))
	}
	if o.place != inPlacePlace {
		add(copyName, best, true, theCopy, copyLoop(fn, o))
	}
	return cs
}

// streams is how many slices of dst's size the library takes fn to move.
func streams(fn function) int {
	return [...]int{3, 5, 2, 4, 2, 4, 6, 5}[fn]
}

func libraryLoop[T word](fn function, o *operands[T]) func(iters int) {
	dst, src, base, mask, pos, width := o.p[0], o.p[1], o.p[2], o.p[3], o.pos, o.width
	fields := quarters[T]()
	switch fn {
	case insertFn:
		return func(iters int) {
			for range iters {
				bfi.Insert(dst, src, base, o.fieldPos, o.fieldWidth)
			}
		}
	case insertEachFn:
		return func(iters int) {
			for range iters {
				bfi.InsertEach(dst, src, base, pos, width)
			}
		}
	case fillFn:
		return func(iters int) {
			for range iters {
				bfi.Fill(dst, base, o.value, o.fieldPos, o.fieldWidth)
			}
		}
	case selectFn:
		return func(iters int) {
			for range iters {
				bfi.Select(dst, mask, src, base)
			}
		}
	case extractFn:
		return func(iters int) {
			for range iters {
				bfi.Extract(dst, src, o.fieldPos, o.fieldWidth)
			}
		}
	case extractEachFn:
		return func(iters int) {
			for range iters {
				bfi.ExtractEach(dst, src, pos, width)
			}
		}
	case packFn:
		return func(iters int) {
			for range iters {
				bfi.Pack(dst, nil, fields, o.p[1], o.p[2], o.p[3], o.p[4])
			}
		}
	case unpackFn:
		return func(iters int) {
			for range iters {
				bfi.Unpack(o.p[0], fields, o.p[1], o.p[2], o.p[3], o.p[4])
			}
		}
	}
	d, a, b, m, p, w := warp(dst), warp(src), warp(base), warp(mask), warp(pos), warp(width)
	switch fn {
	case insertWarpFn:
		return func(iters int) {
			for range iters {
				bfi.InsertWarp(d, a, b, p, w, o.active)
			}
		}
	case selectWarpFn:
		return func(iters int) {
			for range iters {
				bfi.SelectWarp(d, m, a, b, o.active)
			}
		}
	default:
		return func(iters int) {
			for range iters {
				bfi.ExtractWarp(d, a, p, w, o.active)
			}
		}
	}
}

func warp[T word](s []T) *[bfi.WarpSize]T { return (*[bfi.WarpSize]T)(s) }

// splitLoop makes each call on as many goroutines as there are cores, each with
// a part of the slices.
func splitLoop[T word](fn function, o *operands[T], cores int) func(iters int) {
	lanes := (o.n/cores + 63) &^ 63
	var parts []func(int)
	for lo := 0; lo < o.n; lo += lanes {
		parts = append(parts, libraryLoop(fn, o.part(lo, min(lo+lanes, o.n))))
	}
	return func(iters int) {
		for range iters {
			var wg sync.WaitGroup
			for _, part := range parts {
				wg.Go(func() { part(1) })
			}
			wg.Wait()
		}
	}
}

// fourInserts does Pack's work in four passes over dst. The fields make up the
// word, so nothing is left of what dst held before.
func fourInserts[T word](o *operands[T]) func(iters int) {
	return func(iters int) {
		for range iters {
			for k, f := range quarters[T]() {
				bfi.Insert(o.p[0], o.p[1+k], o.p[0], uint32(f.Pos), uint32(f.Len))
			}
		}
	}
}

// fourExtracts does Unpack's work in four passes over src, the last of them over
// the column that is src where Unpack works in place.
func fourExtracts[T word](o *operands[T]) func(iters int) {
	return func(iters int) {
		fields := quarters[T]()
		for range iters {
			for k := len(fields) - 1; k >= 0; k-- {
				bfi.Extract(o.p[1+k], o.p[0], uint32(fields[k].Pos), uint32(fields[k].Len))
			}
		}
	}
}

// insertLane is bfi.B32 or bfi.B64. A function that calls one or the other is too
// large to be inlined; in a loop over words of one width, those are.
func insertLane[T word](a, b T, c, d uint32) T {
	pos, width := c&0xff, d&0xff
	mask := ^(^T(0) << width) << pos
	return b ^ (b^a<<pos)&mask
}

// extractLane is PTX bfe for unsigned words.
func extractLane[T word](a T, c, d uint32) T {
	pos, width := c&0xff, d&0xff
	return a >> pos &^ (^T(0) << width)
}

// goLoop is the loop that a Go programmer would write, in a function of its own.
func goLoop[T word](fn function, o *operands[T]) func(iters int) {
	p := o.p
	switch fn {
	case insertFn:
		return repeat(func() { goInsert(p[0], p[1], p[2], o.fieldPos, o.fieldWidth) })
	case insertEachFn:
		return repeat(func() { goInsertEach(p[0], p[1], p[2], o.pos, o.width) })
	case fillFn:
		return repeat(func() { goFill(p[0], p[2], o.value, o.fieldPos, o.fieldWidth) })
	case selectFn:
		return repeat(func() { goSelect(p[0], p[3], p[1], p[2]) })
	case extractFn:
		return repeat(func() { goExtract(p[0], p[1], o.fieldPos, o.fieldWidth) })
	case extractEachFn:
		return repeat(func() { goExtractEach(p[0], p[1], o.pos, o.width) })
	case packFn:
		return repeat(func() { goPack(p[0], p[1], p[2], p[3], p[4]) })
	case unpackFn:
		return repeat(func() { goUnpack(p[0], p[1], p[2], p[3], p[4]) })
	}
	d, a, b, m, pos, width := warp(p[0]), warp(p[1]), warp(p[2]), warp(p[3]), warp(o.pos), warp(o.width)
	switch fn {
	case insertWarpFn:
		return repeat(func() { goInsertWarp(d, a, b, pos, width, o.active) })
	case selectWarpFn:
		return repeat(func() { goSelectWarp(d, m, a, b, o.active) })
	default:
		return repeat(func() { goExtractWarp(d, a, pos, width, o.active) })
	}
}

func repeat(call func()) func(iters int) {
	return func(iters int) {
		for range iters {
			call()
		}
	}
}

//go:noinline
func goInsert[T word](dst, src, base []T, pos, width uint32) {
	src, base = src[:len(dst)], base[:len(dst)]
	for i := range dst {
		dst[i] = insertLane(src[i], base[i], pos, width)
	}
}

//go:noinline
func goInsertEach[T word](dst, src, base []T, pos, width []uint32) {
	src, base, pos, width = src[:len(dst)], base[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = insertLane(src[i], base[i], pos[i], width[i])
	}
}

//go:noinline
func goFill[T word](dst, base []T, value T, pos, width uint32) {
	base = base[:len(dst)]
	for i := range dst {
		dst[i] = insertLane(value, base[i], pos, width)
	}
}

//go:noinline
func goSelect[T word](dst, mask, src, base []T) {
	mask, src, base = mask[:len(dst)], src[:len(dst)], base[:len(dst)]
	for i := range dst {
		dst[i] = mask[i]&src[i] | base[i]&^mask[i]
	}
}

//go:noinline
func goExtract[T word](dst, src []T, pos, width uint32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = extractLane(src[i], pos, width)
	}
}

//go:noinline
func goExtractEach[T word](dst, src []T, pos, width []uint32) {
	src, pos, width = src[:len(dst)], pos[:len(dst)], width[:len(dst)]
	for i := range dst {
		dst[i] = extractLane(src[i], pos[i], width[i])
	}
}

//go:noinline
func goPack[T word](dst, c0, c1, c2, c3 []T) {
	quarter := uint32(8 * unsafe.Sizeof(T(0)) / 4)
	low := T(1)<<quarter - 1
	c0, c1, c2, c3 = c0[:len(dst)], c1[:len(dst)], c2[:len(dst)], c3[:len(dst)]
	for i := range dst {
		dst[i] = c0[i]&low | c1[i]&low<<quarter | c2[i]&low<<(2*quarter) | c3[i]<<(3*quarter)
	}
}

//go:noinline
func goUnpack[T word](src, c0, c1, c2, c3 []T) {
	quarter := uint32(8 * unsafe.Sizeof(T(0)) / 4)
	low := T(1)<<quarter - 1
	c0, c1, c2, c3 = c0[:len(src)], c1[:len(src)], c2[:len(src)], c3[:len(src)]
	for i, word := range src {
		c0[i] = word & low
		c1[i] = word >> quarter & low
		c2[i] = word >> (2 * quarter) & low
		c3[i] = word >> (3 * quarter)
	}
}

//go:noinline
func goInsertWarp[T word](dst, src, base *[bfi.WarpSize]T, pos, width *[bfi.WarpSize]uint32, active uint32) {
	for i := range dst {
		if active>>i&1 != 0 {
			dst[i] = insertLane(src[i], base[i], pos[i], width[i])
		}
	}
}

//go:noinline
func goSelectWarp[T word](dst, mask, src, base *[bfi.WarpSize]T, active uint32) {
	for i := range dst {
		if active>>i&1 != 0 {
			dst[i] = mask[i]&src[i] | base[i]&^mask[i]
		}
	}
}

//go:noinline
func goExtractWarp[T word](dst, src *[bfi.WarpSize]T, pos, width *[bfi.WarpSize]uint32, active uint32) {
	for i := range dst {
		if active>>i&1 != 0 {
			dst[i] = extractLane(src[i], pos[i], width[i])
		}
	}
}

// goLimit is the limit where there is no C compiler: a loop over the streams
// of fn that joins them by xor.
func goLimit[T word](fn function, o *operands[T]) func(iters int) {
	dst, a, b, c, d, pos, width, value := o.p[0], o.p[1], o.p[2], o.p[3], o.p[4], o.pos, o.width, o.value
	var call func()
	switch fn {
	case insertFn:
		call = func() {
			for i := range dst {
				dst[i] = a[i] ^ b[i]
			}
		}
	case insertEachFn:
		call = func() {
			for i := range dst {
				dst[i] = a[i] ^ b[i] ^ T(pos[i]) ^ T(width[i])
			}
		}
	case fillFn:
		call = func() {
			for i := range dst {
				dst[i] = b[i] ^ value
			}
		}
	case selectFn:
		call = func() {
			for i := range dst {
				dst[i] = a[i] ^ b[i] ^ c[i]
			}
		}
	case extractFn:
		call = func() {
			for i := range dst {
				dst[i] = a[i] ^ value
			}
		}
	case extractEachFn:
		call = func() {
			for i := range dst {
				dst[i] = a[i] ^ T(pos[i]) ^ T(width[i])
			}
		}
	case packFn:
		call = func() {
			for i := range dst {
				dst[i] = a[i] ^ b[i] ^ c[i] ^ d[i]
			}
		}
	default:
		call = func() {
			for i, word := range dst {
				word ^= value
				a[i], b[i], c[i], d[i] = word, word, word, word
			}
		}
	}
	return repeat(call)
}

func copyLoop[T word](fn function, o *operands[T]) func(iters int) {
	to, from := o.p[0], o.p[1]
	switch fn {
	case fillFn:
		from = o.p[2]
	case unpackFn:
		to, from = from, to
	}
	return func(iters int) {
		for range iters {
			copy(to, from)
		}
	}
}

// A lane is what the operands of one lane held before a call.
type lane[T word] struct {
	p          [5]T
	pos, width uint32
	active     bool
}

func (o *operands[T]) lane(i int) lane[T] {
	l := lane[T]{pos: o.pos[i], width: o.width[i], active: o.active>>(i%bfi.WarpSize)&1 != 0}
	for k := range o.p {
		l.p[k] = o.p[k][i]
	}
	return l
}

// want is what the outputs of one lane shall hold after a call.
func want[T word](fn function, expect expectation, o *operands[T], l lane[T]) []T {
	p := l.p
	switch expect {
	case theCopy:
		if fn == fillFn {
			return p[2:3]
		}
		if fn == unpackFn {
			return p[:1]
		}
		return p[1:2]
	case theXor:
		switch fn {
		case insertFn:
			return []T{p[1] ^ p[2]}
		case insertEachFn:
			return []T{p[1] ^ p[2] ^ T(l.pos) ^ T(l.width)}
		case fillFn:
			return []T{p[2] ^ o.value}
		case selectFn:
			return []T{p[1] ^ p[2] ^ p[3]}
		case extractFn:
			return []T{p[1] ^ o.value}
		case extractEachFn:
			return []T{p[1] ^ T(l.pos) ^ T(l.width)}
		case packFn:
			return []T{p[1] ^ p[2] ^ p[3] ^ p[4]}
		default:
			word := p[0] ^ o.value
			return []T{word, word, word, word}
		}
	}
	if fn.warp() && !l.active {
		return p[:1]
	}
	switch fn {
	case insertFn:
		return []T{insertScalar(p[1], p[2], o.fieldPos, o.fieldWidth)}
	case insertEachFn, insertWarpFn:
		return []T{insertScalar(p[1], p[2], l.pos, l.width)}
	case fillFn:
		return []T{insertScalar(o.value, p[2], o.fieldPos, o.fieldWidth)}
	case selectFn, selectWarpFn:
		return []T{p[3]&p[1] | ^p[3]&p[2]}
	case extractFn:
		return []T{extractBits(p[1], o.fieldPos, o.fieldWidth)}
	case extractEachFn, extractWarpFn:
		return []T{extractBits(p[1], l.pos, l.width)}
	case packFn:
		var word T
		for k, f := range quarters[T]() {
			word = insertScalar(p[1+k], word, uint32(f.Pos), uint32(f.Len))
		}
		return []T{word}
	default:
		var fields []T
		for _, f := range quarters[T]() {
			fields = append(fields, extractBits(p[0], uint32(f.Pos), uint32(f.Len)))
		}
		return fields
	}
}

// insertScalar is the library's scalar insert, which other tests hold to the
// letter of the ISA.
func insertScalar[T word](a, b T, c, d uint32) T {
	if wordBits[T]() == 32 {
		return T(bfi.B32(uint32(a), uint32(b), c, d))
	}
	return T(bfi.B64(uint64(a), uint64(b), c, d))
}

// extractBits is PTX bfe for unsigned words, bit by bit.
func extractBits[T word](a T, c, d uint32) T {
	pos, width := int(c&0xff), int(d&0xff)
	var f T
	for i := 0; i < width && pos+i < wordBits[T](); i++ {
		f |= a >> (pos + i) & 1 << i
	}
	return f
}

// check runs c once and compares its answers with the scalar reference: all of
// them, or of a long slice both ends and some between.
func check[T word](c *contender, fn function, o *operands[T]) error {
	const end, step = 1 << 10, 9973
	var indices []int
	for i := 0; i < o.n; i++ {
		if i == end && o.n > 3*end {
			for ; i < o.n-end; i += step {
				indices = append(indices, i)
			}
			i = o.n - end
		}
		indices = append(indices, i)
	}
	before := make([]lane[T], len(indices))
	for j, i := range indices {
		before[j] = o.lane(i)
	}
	c.choose()
	c.run(1)
	for j, i := range indices {
		for k, have := range o.outputs(fn) {
			if w := want(fn, c.expect, o, before[j]); k < len(w) && have[i] != w[k] {
				return fmt.Errorf("%s u%d, %s, %d lanes: %s: lane %d, output %d is %#x, want %#x; operands %s",
					fn, wordBits[T](), o.place, o.n, c.name, i, k, have[i], w[k], before[j].describe(fn, o))
			}
		}
	}
	return nil
}

// describe words the operands of fn in one lane.
func (l lane[T]) describe(fn function, o *operands[T]) string {
	s := fmt.Sprintf("%#x", l.p)
	if fn.each() {
		s = fmt.Sprintf("%#x, pos %d, width %d", l.p[:3], l.pos, l.width)
	} else if !fn.warp() {
		s += fmt.Sprintf(", pos %d, width %d, value %#x", o.fieldPos, o.fieldWidth, o.value)
	}
	if fn.warp() {
		s += fmt.Sprintf(", active %#x", o.active)
	}
	return s
}

// A memory holds the five streams of the longest operands.
type memory struct{ streams [5][]uint64 }

// Streams begin a few cache lines apart modulo the page, and misaligned ones
// some lanes past that, so that no two contend for one place of a cache.
const (
	pageWords = 4096 / 8
	skewWords = 10 * 64 / 8
	padWords  = 2*pageWords + 64
)

func newMemory(words int) *memory {
	var m memory
	for i := range m.streams {
		m.streams[i] = make([]uint64, words+padWords)
	}
	return &m
}

// fill fills the first lanes of every stream: with random words, and streams 3
// and 4 of a function that reads a field from each lane with a random one that
// fits in the word, or with harsh with words of any value.
func fill[T word](m *memory, fn function, lanes int, harsh bool) {
	state := uint64(1)
	random := func() uint64 { // xorshift64*
		state ^= state >> 12
		state ^= state << 25
		state ^= state >> 27
		return state * 0x2545f4914f6cdd1d
	}
	words := min(lanes*wordBits[T]()/64+padWords, len(m.streams[0]))
	for i := range m.streams {
		s := m.streams[i][:words]
		for j := range s {
			s[j] = random()
		}
	}
	if !fn.each() || harsh {
		return
	}
	size := uint64(wordBits[T]())
	pos, width := uint32s(m.streams[3][:words]), uint32s(m.streams[4][:words])
	for i := range min(lanes+2*padWords, len(pos)) {
		r := random()
		p, _ := bits.Mul64(r, size)
		w, _ := bits.Mul64(r<<32, size-p)
		pos[i], width[i] = uint32(p), uint32(w)+1
	}
}

func uint32s(s []uint64) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s))), 2*len(s))
}

// slice is n words of stream i, skip words past its start.
func slice[T word](m *memory, i, skip, n int) []T {
	s := m.streams[i]
	address := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	start := int(-address%4096)/8 + i*skewWords
	all := unsafe.Slice((*T)(unsafe.Pointer(&s[start])), (len(s)-start)*64/wordBits[T]())
	return all[skip : skip+n : skip+n]
}

// newOperands lays out operands of n lanes of fn in m.
func newOperands[T word](m *memory, fn function, pl place, n int) *operands[T] {
	o := &operands[T]{
		place: pl, n: n,
		value:    0x5bd1e995,
		fieldPos: 5, fieldWidth: 11,
		active: math.MaxUint32,
	}
	for i := range o.p {
		skip := 0
		if pl == misalignedPlace {
			skip = 1 + i
		}
		o.p[i] = slice[T](m, i, skip, n)
		switch i {
		case 3:
			o.pos = slice[uint32](m, i, skip, n)
		case 4:
			o.width = slice[uint32](m, i, skip, n)
		}
	}
	if pl == inPlacePlace {
		// The words that a field is put into or taken out of are overwritten.
		switch fn {
		case extractFn, extractEachFn, extractWarpFn, packFn, unpackFn:
			o.p[1] = o.p[0]
		default:
			o.p[2] = o.p[0]
		}
	}
	return o
}
