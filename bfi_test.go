package bfi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// The oracle: the definitions of the instructions, bit by bit. Everything is
// compared with these, and nothing only with another kernel.

// oracleBFI is the loop by which the PTX ISA defines bfi.
func oracleBFI(bits int, a, b uint64, c, d uint32) uint64 {
	pos, length, msb := int(c&0xff), int(d&0xff), bits-1
	f := b
	for i := 0; i < length && pos+i <= msb; i++ {
		f &^= 1 << (pos + i)
		f |= (a >> i & 1) << (pos + i)
	}
	return f
}

// oracleBFE is the loop by which the PTX ISA defines bfe.
func oracleBFE(bits int, signed bool, a uint64, c, d uint32) uint64 {
	pos, length, msb := int(c&0xff), int(d&0xff), bits-1
	sbit := uint64(0)
	if signed && length != 0 {
		sbit = a >> min(pos+length-1, msb) & 1
	}
	f := uint64(0)
	for i := 0; i <= msb; i++ {
		bit := sbit
		if i < length && pos+i <= msb {
			bit = a >> (pos + i) & 1
		}
		f |= bit << i
	}
	return f
}

// oracleSelect is AMD's definition of v_bfi_b32.
func oracleSelect(s0, s1, s2 uint64) uint64 { return s0&s1 | ^s0&s2 }

// A kernel is one way in which this process can run every function. Adding one
// here adds it to every test and benchmark.
type kernel struct {
	level  level
	stream bool // whether stores bypass the cache at any length, or at none
}

var kernels = onThisMachine(
	kernel{levelGeneric, false},
	kernel{levelNEON, false},
	kernel{levelAVX2, false},
	kernel{levelAVX2, true},
	kernel{levelAVX512, false},
	kernel{levelAVX512, true},
)

// onThisMachine picks those that can run here. BFI_TEST_ONLY names the one to
// test where it is not worth it to test others: in an emulator.
func onThisMachine(all ...kernel) []kernel {
	only := os.Getenv("BFI_TEST_ONLY")
	return slices.DeleteFunc(all, func(k kernel) bool {
		return !slices.Contains(supported(), k.level) || only != "" && k.level.String() != only
	})
}

func (k kernel) String() string {
	if k.stream {
		return k.level.String() + "-stream"
	}
	return k.level.String()
}

// onEveryKernel calls f once with each kernel as what the process runs.
func onEveryKernel(f func(kernel)) {
	defer func(l level, b int) { current, streamBytes = l, b }(current, streamBytes)
	for _, k := range kernels {
		current, streamBytes = k.level, math.MaxInt
		if k.stream {
			streamBytes = 0
		}
		f(k)
	}
}

// An entry is a function of the package for one type, as the tests see it: what
// it is given, how it is called, and what is right. Adding one to entriesOf adds
// it to every test.
type entry struct {
	fn     string   // the function's name
	name   string   // tells entries apart
	ops    []string // its operands that have lanes: those written, then those read
	outs   int      // how many of them are written
	fields int      // how many fields it is given that are the same for all lanes
	warp   bool     // whether it takes one warp

	call   func(*args)
	stream func(*args) // its kernel alone, on at most one piece, with stores that bypass the cache
	want   func(a *args, out, lane int) uint64
	stack  func() // a call whose operands are arrays on the caller's stack

	typ  string
	size int // of a word in bytes
}

// args are the operands of one call.
type args struct {
	ops        [][]byte // in the order of the entry's
	pos, width []uint32 // one a field
	value      uint64
	active     uint32
	size       int
}

// word is a lane of an operand.
func (a *args) word(op, lane int) uint64 {
	if a.size == 4 {
		return uint64(binary.NativeEndian.Uint32(a.ops[op][4*lane:]))
	}
	return binary.NativeEndian.Uint64(a.ops[op][8*lane:])
}

// count is a lane of an operand that is a pos or a width.
func (a *args) count(op, lane int) uint32 { return binary.NativeEndian.Uint32(a.ops[op][4*lane:]) }

func (a *args) at(op int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.ops[op])) }

// lanes is how many the first operand has.
func (a *args) lanes() int { return len(a.ops[0]) / a.size }

func (a *args) layout() []Field {
	fields := make([]Field, len(a.pos))
	for k := range fields {
		fields[k] = Field{uint8(a.pos[k]), uint8(a.width[k])}
	}
	return fields
}

// words is memory as lanes.
func words[T Word](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(T(0))))
}

func columns[T Word](ops [][]byte) [][]T {
	cols := make([][]T, len(ops))
	for k, b := range ops {
		cols[k] = words[T](b)
	}
	return cols
}

// warpOf is memory as the lanes of a warp.
func warpOf[T Word](b []byte) *[WarpSize]T {
	return (*[WarpSize]T)(unsafe.Pointer(unsafe.SliceData(b)))
}

// onStack are operands that a caller has on its stack.
type onStack[T Word] struct {
	a, b, c, d [WarpSize]T
	pos, width [WarpSize]uint32
}

type (
	pixel uint32
	tick  int64
)

var (
	entries = slices.Concat(entriesOf[uint32](), entriesOf[int32](), entriesOf[uint64](), entriesOf[int64]())
	// Types that share the kernels of those above.
	otherEntries = slices.Concat(entriesOf[pixel](), entriesOf[tick](), entriesOf[int](), entriesOf[uint](), entriesOf[uintptr]())
)

func entriesOf[T Word]() []entry {
	bits := int(8 * unsafe.Sizeof(T(0)))
	signed := ^T(0) < 0
	list := []entry{
		{
			fn: "Insert", ops: []string{"dst", "src", "base"}, outs: 1, fields: 1,
			call: func(a *args) {
				Insert(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), a.pos[0], a.width[0])
			},
			stream: func(a *args) {
				insert[T](a.at(0), a.at(1), a.at(2), a.lanes(), a.pos[0], a.width[0], true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFI(bits, a.word(1, i), a.word(2, i), a.pos[0], a.width[0])
			},
			stack: func() { var s onStack[T]; Insert(s.a[:], s.b[:], s.c[:], 3, 7) },
		},
		{
			fn: "InsertEach", ops: []string{"dst", "src", "base", "pos", "width"}, outs: 1,
			call: func(a *args) {
				InsertEach(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[uint32](a.ops[3]), words[uint32](a.ops[4]))
			},
			stream: func(a *args) {
				insertEach[T](a.at(0), a.at(1), a.at(2), a.at(3), a.at(4), a.lanes(), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFI(bits, a.word(1, i), a.word(2, i), a.count(3, i), a.count(4, i))
			},
			stack: func() { var s onStack[T]; InsertEach(s.a[:], s.b[:], s.c[:], s.pos[:], s.width[:]) },
		},
		{
			fn: "Fill", ops: []string{"dst", "base"}, outs: 1, fields: 1,
			call: func(a *args) {
				Fill(words[T](a.ops[0]), words[T](a.ops[1]), T(a.value), a.pos[0], a.width[0])
			},
			stream: func(a *args) {
				fill(a.at(0), a.at(1), a.lanes(), T(a.value), a.pos[0], a.width[0], true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFI(bits, a.value, a.word(1, i), a.pos[0], a.width[0])
			},
			stack: func() { var s onStack[T]; Fill(s.a[:], s.b[:], 5, 3, 7) },
		},
		{
			fn: "Select", ops: []string{"dst", "mask", "src", "base"}, outs: 1,
			call: func(a *args) {
				Select(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[T](a.ops[3]))
			},
			stream: func(a *args) {
				selectBits[T](a.at(0), a.at(1), a.at(2), a.at(3), a.lanes(), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleSelect(a.word(1, i), a.word(2, i), a.word(3, i))
			},
			stack: func() { var s onStack[T]; Select(s.a[:], s.b[:], s.c[:], s.d[:]) },
		},
		{
			fn: "Extract", ops: []string{"dst", "src"}, outs: 1, fields: 1,
			call: func(a *args) {
				Extract(words[T](a.ops[0]), words[T](a.ops[1]), a.pos[0], a.width[0])
			},
			stream: func(a *args) {
				extract[T](a.at(0), a.at(1), a.lanes(), a.pos[0], a.width[0], true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFE(bits, signed, a.word(1, i), a.pos[0], a.width[0])
			},
			stack: func() { var s onStack[T]; Extract(s.a[:], s.b[:], 3, 7) },
		},
		{
			fn: "ExtractEach", ops: []string{"dst", "src", "pos", "width"}, outs: 1,
			call: func(a *args) {
				ExtractEach(words[T](a.ops[0]), words[T](a.ops[1]), words[uint32](a.ops[2]), words[uint32](a.ops[3]))
			},
			stream: func(a *args) {
				extractEach[T](a.at(0), a.at(1), a.at(2), a.at(3), a.lanes(), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFE(bits, signed, a.word(1, i), a.count(2, i), a.count(3, i))
			},
			stack: func() { var s onStack[T]; ExtractEach(s.a[:], s.b[:], s.pos[:], s.width[:]) },
		},
		packEntry[T](2, true),
		packEntry[T](3, false),
		unpackEntry[T](2),
		{
			fn: "InsertWarp", ops: []string{"dst", "src", "base", "pos", "width"}, outs: 1, warp: true,
			call: func(a *args) {
				InsertWarp(warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[T](a.ops[2]), warpOf[uint32](a.ops[3]), warpOf[uint32](a.ops[4]), a.active)
			},
			want: func(a *args, _, i int) uint64 {
				if a.active>>i&1 == 0 {
					return a.word(0, i)
				}
				return oracleBFI(bits, a.word(1, i), a.word(2, i), a.count(3, i), a.count(4, i))
			},
			stack: func() { var s onStack[T]; InsertWarp(&s.a, &s.b, &s.c, &s.pos, &s.width, 0xf0f) },
		},
		{
			fn: "SelectWarp", ops: []string{"dst", "mask", "src", "base"}, outs: 1, warp: true,
			call: func(a *args) {
				SelectWarp(warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[T](a.ops[2]), warpOf[T](a.ops[3]), a.active)
			},
			want: func(a *args, _, i int) uint64 {
				if a.active>>i&1 == 0 {
					return a.word(0, i)
				}
				return oracleSelect(a.word(1, i), a.word(2, i), a.word(3, i))
			},
			stack: func() { var s onStack[T]; SelectWarp(&s.a, &s.b, &s.c, &s.d, 0xf0f) },
		},
		{
			fn: "ExtractWarp", ops: []string{"dst", "src", "pos", "width"}, outs: 1, warp: true,
			call: func(a *args) {
				ExtractWarp(warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[uint32](a.ops[2]), warpOf[uint32](a.ops[3]), a.active)
			},
			want: func(a *args, _, i int) uint64 {
				if a.active>>i&1 == 0 {
					return a.word(0, i)
				}
				return oracleBFE(bits, signed, a.word(1, i), a.count(2, i), a.count(3, i))
			},
			stack: func() { var s onStack[T]; ExtractWarp(&s.a, &s.b, &s.pos, &s.width, 0xf0f) },
		},
	}
	return named[T](list...)
}

// named completes entries of functions of T.
func named[T Word](list ...entry) []entry {
	for i := range list {
		e := &list[i]
		if e.name == "" {
			e.name = e.fn
		}
		e.typ = strings.TrimPrefix(fmt.Sprintf("%T", T(0)), "bfi.")
		e.name += "/" + e.typ
		e.size = int(unsafe.Sizeof(T(0)))
	}
	return list
}

// packEntry is Pack of so many columns, with a base or without.
func packEntry[T Word](cols int, base bool) entry {
	bits := int(8 * unsafe.Sizeof(T(0)))
	e := entry{fn: "Pack", name: fmt.Sprintf("Pack-%d", cols), ops: []string{"dst"}, outs: 1, fields: cols}
	for k := range cols {
		e.ops = append(e.ops, colName(k))
	}
	if base {
		e.name += "-base"
		e.ops = append(e.ops, "base")
	}
	e.call = func(a *args) {
		var b []T
		if base {
			b = words[T](a.ops[1+cols])
		}
		Pack(words[T](a.ops[0]), b, a.layout(), columns[T](a.ops[1:1+cols])...)
	}
	e.want = func(a *args, _, i int) uint64 {
		var f uint64
		if base {
			f = a.word(1+cols, i)
		}
		for k := range cols {
			f = oracleBFI(bits, a.word(1+k, i), f, a.pos[k], a.width[k])
		}
		return f
	}
	e.stack = func() {
		var s onStack[T]
		Pack(s.a[:], s.b[:], []Field{{0, 5}, {9, 4}}, s.c[:], s.d[:])
	}
	return e
}

// unpackEntry is Unpack of so many columns.
func unpackEntry[T Word](cols int) entry {
	bits := int(8 * unsafe.Sizeof(T(0)))
	signed := ^T(0) < 0
	e := entry{fn: "Unpack", name: fmt.Sprintf("Unpack-%d", cols), outs: cols, fields: cols}
	for k := range cols {
		e.ops = append(e.ops, colName(k))
	}
	e.ops = append(e.ops, "src")
	e.call = func(a *args) {
		Unpack(words[T](a.ops[cols]), a.layout(), columns[T](a.ops[:cols])...)
	}
	e.want = func(a *args, out, i int) uint64 {
		return oracleBFE(bits, signed, a.word(cols, i), a.pos[out], a.width[out])
	}
	e.stack = func() {
		var s onStack[T]
		Unpack(s.a[:], []Field{{0, 5}, {9, 4}}, s.b[:], s.c[:])
	}
	return e
}

// run calls the entry on the current kernel. Where stores are to bypass the cache
// and the entry has them do so only in calls of more than one piece, it calls the
// entry's kernel.
func (e *entry) run(k kernel, a *args) {
	dst := uintptr(a.at(0))
	if !k.stream || e.stream == nil || len(a.ops[0]) > pieceBytes || dst%uintptr(e.size) != 0 {
		e.call(a)
		return
	}
	for op := range a.ops[1:] {
		if uintptr(a.at(1+op)) == dst {
			e.call(a)
			return
		}
	}
	e.stream(a)
}

// isCount reports whether an operand is a pos or a width rather than a word.
func (e *entry) isCount(op int) bool { return e.ops[op] == "pos" || e.ops[op] == "width" }

// laneSize is the size of an operand's lanes in bytes.
func (e *entry) laneSize(op int) int {
	if e.isCount(op) {
		return 4
	}
	return e.size
}

// lengths are the numbers of lanes up to most that the entry takes.
func (e *entry) lengths(most int) []int {
	if e.warp {
		return []int{WarpSize}
	}
	list := make([]int, most+1)
	for n := range list {
		list[n] = n
	}
	return list
}

// A sharing says for each operand in whose memory it lies.
type sharing []int

// apart has every operand in memory of its own.
func (e *entry) apart() sharing {
	share := make(sharing, len(e.ops))
	for op := range share {
		share[op] = op
	}
	return share
}

// inPlace are all the ways in which one output lies in the memory of one input.
func (e *entry) inPlace() []sharing {
	var list []sharing
	for out := range e.outs {
		for in := e.outs; in < len(e.ops); in++ {
			if e.laneSize(in) == e.laneSize(out) {
				share := e.apart()
				share[out] = in
				list = append(list, share)
			}
		}
	}
	return list
}

// anySharing picks one of the ways in which operands may share memory.
func (e *entry) anySharing(r *rand.Rand) sharing {
	share := e.apart()
	for in := e.outs + 1; in < len(e.ops); in++ {
		if other := e.outs + r.IntN(in-e.outs); r.IntN(4) == 0 && e.laneSize(in) == e.laneSize(other) {
			share[in] = share[other]
		}
	}
	if r.IntN(2) == 0 {
		return share
	}
	out, in := r.IntN(e.outs), e.outs+r.IntN(len(e.ops)-e.outs)
	if e.laneSize(out) == e.laneSize(in) {
		share[out] = share[in]
	}
	return share
}

// A sample is the values of a call's operands, and the right answer.
type sample struct {
	args
	share sharing
	want  [][]byte // one an output
}

// sample makes up operands for so many lanes.
func (e *entry) sample(r *rand.Rand, lanes int, share sharing) *sample {
	s := &sample{share: share}
	s.size = e.size
	s.value = r.Uint64()
	s.active = [...]uint32{0, 1 << r.IntN(32), 0x55555555, 0xffffffff, r.Uint32(), r.Uint32()}[r.IntN(6)]
	for range e.fields {
		pos, width := anyField(r, 8*e.size)
		s.pos, s.width = append(s.pos, pos), append(s.width, width)
	}
	for op := range e.ops {
		b := make([]byte, lanes*e.laneSize(op))
		for i := range lanes {
			switch pos, width := anyField(r, 8*e.size); {
			case e.ops[op] == "pos":
				binary.NativeEndian.PutUint32(b[4*i:], pos)
			case e.ops[op] == "width":
				binary.NativeEndian.PutUint32(b[4*i:], width)
			default:
				putWord(b, i, e.size, r.Uint64())
			}
		}
		s.ops = append(s.ops, b)
	}
	for op := range s.ops {
		s.ops[op] = s.ops[share[op]]
	}
	e.answer(s)
	return s
}

// answer asks the oracle.
func (e *entry) answer(s *sample) {
	lanes := len(s.ops[0]) / e.laneSize(0)
	if s.want == nil {
		s.want = make([][]byte, e.outs)
	}
	for out := range s.want {
		if len(s.want[out]) != lanes*e.size {
			s.want[out] = make([]byte, lanes*e.size)
		}
		for i := range lanes {
			putWord(s.want[out], i, e.size, e.want(&s.args, out, i))
		}
	}
}

func putWord(b []byte, lane, size int, v uint64) {
	if size == 4 {
		binary.NativeEndian.PutUint32(b[4*lane:], uint32(v))
	} else {
		binary.NativeEndian.PutUint64(b[8*lane:], v)
	}
}

// anyField is mostly a field that lies in the word, and often one of which the
// high bits are not 0.
func anyField(r *rand.Rand, bits int) (pos, width uint32) {
	v := r.Uint64()
	pos, width = uint32(v)%uint32(bits), 1+uint32(v>>8)%uint32(bits)
	if v>>16&7 == 0 {
		pos = uint32(v >> 20 & 0xff)
	}
	if v>>19&7 == 0 {
		width = uint32(v >> 28 & 0xff)
	}
	if v>>36&1 == 0 {
		pos |= uint32(v>>40) << 8
		width |= uint32(v>>37) << 8
	}
	return pos, width
}

// A memory holds the operands of a call, each in a segment of its own together
// with what lies around it.
type memory struct {
	live          [][]byte
	before, after [][]byte // what is in it before a call and should be after it

	// Of the call being verified; kept because there are millions.
	ops   [][]byte
	used  []int    // bytes up to which each segment is looked at
	want  [][]byte // what should be in each segment
	short bool     // leave out kernels that only stream what is longer
}

func newMemory(segments [][]byte) *memory {
	m := &memory{live: segments}
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range segments {
		noise := make([]byte, len(s))
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		m.before = append(m.before, noise)
		m.after = append(m.after, make([]byte, len(s)))
	}
	return m
}

// line is the alignment of segments.
const line = 64

// heap returns segments in ordinary memory, enough for the operands of any entry
// of the table with so many lanes at offsets up to two lines.
func heap(count, lanes int) *memory {
	size := (8*lanes + 4*line) &^ (line - 1)
	buf := make([]byte, count*size+line)
	buf = buf[-uintptr(unsafe.Pointer(&buf[0]))%line:]
	var list [][]byte
	for range count {
		list = append(list, buf[:size:size])
		buf = buf[size:]
	}
	return newMemory(list)
}

// mostOps is the number of operands of the entry that has the most.
var mostOps = len(slices.MaxFunc(entries, func(a, b entry) int { return len(a.ops) - len(b.ops) }).ops)

// repeat fills b with copies of lanes.
func repeat(b, lanes []byte) {
	for len(b) > 0 && len(lanes) > 0 {
		b = b[copy(b, lanes):]
	}
}

// verify calls e on every kernel with n lanes of a sample, over and over if it
// has less, each operand so many bytes into its segment. It insists that the
// outputs are right and that nothing else has changed.
func (m *memory) verify(t testing.TB, e *entry, s *sample, n int, offset []int) {
	t.Helper()
	a := s.args
	a.ops = slices.Grow(m.ops[:0], len(s.ops))[:len(s.ops)]
	m.ops, m.used, m.want = a.ops, m.used[:0], m.want[:0]
	for op, root := range s.share {
		lo, hi := offset[root], offset[root]+n*e.laneSize(op)
		a.ops[op] = m.live[root][lo:hi:hi]
		used := 0
		if op == root {
			repeat(m.before[op][lo:hi], s.ops[op])
			used = min(hi+line, len(m.live[op]))
		}
		m.used, m.want = append(m.used, used), append(m.want, m.before[op])
	}
	for out := range e.outs {
		root := s.share[out]
		lo, hi := offset[root], offset[root]+n*e.size
		copy(m.after[root][:m.used[root]], m.before[root])
		repeat(m.after[root][lo:hi], s.want[out])
		m.want[root] = m.after[root]
	}
	onEveryKernel(func(k kernel) {
		if k.stream && m.short {
			return
		}
		for i, used := range m.used {
			copy(m.live[i][:used], m.before[i])
		}
		e.run(k, &a)
		for i, used := range m.used {
			if !bytes.Equal(m.live[i][:used], m.want[i][:used]) {
				t.Helper()
				t.Fatalf("%s on %s: %d lanes at offsets %v, sharing %v, pos %v, width %v, active %#x:\n%s",
					e.name, k, n, offset, s.share, s.pos, s.width, s.active,
					e.difference(i, m.live[i][:used], m.want[i], offset[i], n))
			}
		}
	})
}

// difference tells where an operand's memory is not what it should be.
func (e *entry) difference(op int, have, want []byte, offset, n int) string {
	i := 0
	for have[i] == want[i] {
		i++
	}
	size := e.laneSize(op)
	if i < offset || i >= offset+n*size {
		return fmt.Sprintf("wrote outside %s: byte %d from its start, %d from its end", e.ops[op], i-offset, i-offset-n*size)
	}
	lane := (i - offset) / size
	at := offset + lane*size
	return fmt.Sprintf("%s[%d] is %x, want %x (bytes in memory)", e.ops[op], lane, have[at:at+size], want[at:at+size])
}

// TestLanes is a first look at everything: a few hundred calls of every function
// with operands, fields, lengths, offsets and sharing at random. A wrong kernel
// seldom gets past it.
func TestLanes(t *testing.T) {
	m := heap(mostOps, 300)
	for _, e := range slices.Concat(entries, otherEntries) {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, 2))
			offset := make([]int, len(e.ops))
			for i := range 100 {
				n := WarpSize
				if !e.warp {
					n = i
					if i > 50 {
						n = r.IntN(300)
					}
				}
				aligned := r.IntN(2) == 0
				for op := range offset {
					offset[op] = line + r.IntN(line)
					if aligned {
						offset[op] &^= e.laneSize(op) - 1
					}
				}
				m.verify(t, &e, e.sample(r, n, e.anySharing(r)), n, offset)
			}
		})
	}
}

// TestGuardPages is every length from 0 to 130 with each operand up against
// memory that must not be touched, first with its end, then with its start.
func TestGuardPages(t *testing.T) {
	const most = 130
	segments, margin := guarded(t, mostOps, 8*most)
	m := newMemory(segments)
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(15, 15))
			head, tail := slices.Repeat([]int{margin}, len(e.ops)), make([]int, len(e.ops))
			for _, share := range append(e.inPlace(), e.apart()) {
				s := e.sample(r, most, share)
				for _, n := range e.lengths(most) {
					for op := range tail {
						tail[op] = len(segments[op]) - margin - n*e.laneSize(op)
					}
					m.verify(t, &e, s, n, tail)
					m.verify(t, &e, s, n, head)
					// An output that starts a few lanes past a line, so that even
					// a short slice has a head to align.
					for out := range e.outs {
						tail[out] = margin + n%8*e.size
					}
					m.verify(t, &e, s, n, tail)
				}
			}
		})
	}
}

// TestScalar is B32 and B64 for every pos and width.
func TestScalar(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for c := range uint32(256) {
		for d := range uint32(256) {
			high := r.Uint32() << 8
			for _, ab := range bitPatterns {
				a, b := ab[0], ab[1]
				for _, cd := range [][2]uint32{{c, d}, {c | high, d | ^high&^0xff}} {
					c, d := cd[0], cd[1]
					if have, want := B32(uint32(a), uint32(b), c, d), uint32(oracleBFI(32, a, b, c, d)); have != want {
						t.Fatalf("B32(%#x, %#x, %#x, %#x) = %#x, want %#x", uint32(a), uint32(b), c, d, have, want)
					}
					if have, want := B64(a, b, c, d), oracleBFI(64, a, b, c, d); have != want {
						t.Fatalf("B64(%#x, %#x, %#x, %#x) = %#x, want %#x", a, b, c, d, have, want)
					}
				}
			}
		}
	}
}

// bitPatterns are pairs of words that show of each bit of a result where it came
// from. Five do not fit into vectors evenly.
var bitPatterns = [5][2]uint64{
	{^uint64(0), 0},
	{0, ^uint64(0)},
	{0x5555555555555555, 0xaaaaaaaaaaaaaaaa},
	{0x6a09e667f3bcc908, 0xbb67ae8584caa73b},
	{0x3c6ef372fe94f82b, 0x510e527fade682d1},
}

// patterns are the pairs of words to test with. An emulator gets those that show
// most.
func patterns() [][2]uint64 {
	if testing.Short() {
		return bitPatterns[3:]
	}
	return bitPatterns[:]
}

// TestExhaustive is every entry with every pos and width, and the pairs of words
// above.
func TestExhaustive(t *testing.T) {
	for _, e := range entries {
		each := slices.Contains(e.ops, "pos")
		if e.fields == 0 && !each || e.fn == "Pack" && !slices.Contains(e.ops, "base") {
			continue
		}
		if strings.HasPrefix(e.typ, "int") && !strings.Contains(e.fn, "Extract") && e.fn != "Unpack" {
			continue // the sign makes no difference, of which other tests see to it
		}
		t.Run(e.name, func(t *testing.T) {
			if each {
				exhaustEach(t, &e)
			} else {
				exhaustUniform(t, &e)
			}
		})
	}
}

// pattern puts the bit patterns into operands, of each lane a pair.
func (s *sample) pattern(e *entry, lanes, from int) {
	list := patterns()
	for op := e.outs; op < len(e.ops); op++ {
		if !e.isCount(op) {
			for i := range lanes {
				putWord(s.ops[op], i, e.size, list[(i+from)%len(list)][op&1])
			}
		}
	}
}

// exhaustEach gives each lane another field.
func exhaustEach(t *testing.T, e *entry) {
	lanes := 1 << 16
	if e.warp {
		lanes = WarpSize
	}
	m := heap(mostOps, lanes)
	offset := slices.Repeat([]int{line}, len(e.ops))
	r := rand.New(rand.NewPCG(4, 4))
	s := e.sample(r, lanes, e.apart())
	pos, width := slices.Index(e.ops, "pos"), slices.Index(e.ops, "width")
	for from := range patterns() {
		s.active = ^uint32(0)
		for first := 0; first < 1<<16; first += lanes {
			s.pattern(e, lanes, from)
			for i := range lanes {
				c, d := uint32(first+i)>>8, uint32(first+i)&0xff
				if from&1 == 0 {
					c |= r.Uint32() << 8
					d |= r.Uint32() << 8
				}
				binary.NativeEndian.PutUint32(s.ops[pos][4*i:], c)
				binary.NativeEndian.PutUint32(s.ops[width][4*i:], d)
			}
			e.answer(s)
			m.verify(t, e, s, lanes, offset)
		}
	}
}

// exhaustUniform makes one short call for each field.
func exhaustUniform(t *testing.T, e *entry) {
	// Enough lanes for the widest vector, and some more.
	const lanes = 25
	m := heap(mostOps, lanes)
	m.short = true
	offset := slices.Repeat([]int{line}, len(e.ops))
	r := rand.New(rand.NewPCG(5, 5))
	s := e.sample(r, len(patterns()), e.apart())
	for c := range uint32(256) {
		for d := range uint32(256) {
			s.pattern(e, len(patterns()), 0)
			s.value = bitPatterns[(c+d)%uint32(len(bitPatterns))][1]
			high := [2]uint32{}
			if (c+d)&1 == 0 {
				high[0], high[1] = r.Uint32()<<8, r.Uint32()<<8
			}
			// The fields of more than one column differ, and meet.
			for k := range uint32(e.fields) {
				s.pos[k] = (c+k*11)&0xff | high[0]
				s.width[k] = (d+k*37)&0xff | high[1]
			}
			e.answer(s)
			m.verify(t, e, s, lanes, offset)
		}
	}
}

// TestLengths is every length from 0 to 300 with every operand at every offset
// from a cache line at which its words are aligned, apart and in place over each
// operand.
func TestLengths(t *testing.T) {
	const most = 300
	m := heap(mostOps, most)
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(6, 6))
			for _, share := range append(e.inPlace(), e.apart()) {
				for turn := range line / 4 {
					s := e.sample(r, most, share)
					offset := make([]int, len(e.ops))
					for op := range offset {
						// Of two operands that start a line together here, one is
						// elsewhere in the next turn.
						offset[op] = line + (turn*(2*op+1)+op)*e.laneSize(op)%line
					}
					for _, n := range e.lengths(most) {
						if testing.Short() && n > 40 && n%16 != turn {
							continue
						}
						m.verify(t, &e, s, n, offset)
					}
				}
			}
		})
	}
}

// TestMisaligned is slices of which the words are not aligned.
func TestMisaligned(t *testing.T) {
	const most = 300
	m := heap(mostOps, most)
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			for _, share := range append(e.inPlace(), e.apart()) {
				s := e.sample(r, most, share)
				offset := make([]int, len(e.ops))
				for at := range line {
					for op := range offset {
						offset[op] = line + (at+op*r.IntN(line))%line
					}
					for _, n := range []int{1, 5, 33, 70, r.IntN(most)} {
						if e.warp {
							n = WarpSize
						}
						m.verify(t, &e, s, n, offset)
					}
				}
			}
		})
	}
}

// TestPieces is lengths around those at which a call is cut into pieces.
func TestPieces(t *testing.T) {
	for _, e := range entries {
		if e.warp {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			piece := pieceBytes / e.size
			if e.fn == "Pack" || e.fn == "Unpack" {
				piece = packLanes[uint32](e.fields)
				if e.size == 8 {
					piece = packLanes[uint64](e.fields)
				}
			}
			m := heap(len(e.ops), 2*piece+line)
			r := rand.New(rand.NewPCG(8, 8))
			for _, share := range append(e.inPlace(), e.apart()) {
				// A prime number of lanes, so that a piece out of place shows.
				s := e.sample(r, 251, share)
				for _, n := range []int{piece - 1, piece, piece + 1, piece + 33, 2*piece - 1, 2 * piece, 2*piece + 7} {
					offset := make([]int, len(e.ops))
					for op := range offset {
						offset[op] = line + e.laneSize(op)*r.IntN(line/e.laneSize(op))
					}
					m.verify(t, &e, s, n, offset)
				}
			}
		})
	}
}

// TestOverlappingSources has sources that overlap each other in any way.
func TestOverlappingSources(t *testing.T) {
	for _, e := range entries {
		if len(e.ops)-e.outs < 2 {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(9, 9))
			for _, n := range e.lengths(80) {
				s := e.sample(r, n, e.apart())
				shared := make([]byte, 8*n+line)
				for i := range n {
					// Whatever lies here is a field as well as a word.
					pos, width := anyField(r, 8*e.size)
					binary.NativeEndian.PutUint32(shared[8*i:], pos)
					binary.NativeEndian.PutUint32(shared[8*i+4:], width)
				}
				source := bytes.Clone(shared)
				for op := e.outs; op < len(e.ops); op++ {
					s.ops[op] = shared[4*r.IntN(line/4):][:n*e.laneSize(op)]
				}
				e.answer(s)
				var dst [][]byte
				for out := range e.outs {
					dst = append(dst, bytes.Clone(s.ops[out]))
				}
				onEveryKernel(func(k kernel) {
					for out := range e.outs {
						copy(s.ops[out], dst[out])
					}
					e.run(k, &s.args)
					if !bytes.Equal(shared, source) {
						t.Fatalf("%s on %s: %d lanes: a source was written", e.name, k, n)
					}
					for out := range e.outs {
						if !bytes.Equal(s.ops[out], s.want[out]) {
							t.Fatalf("%s on %s: %d lanes: %s is wrong", e.name, k, n, e.ops[out])
						}
					}
				})
			}
		})
	}
}

// TestFieldCounts is Pack and Unpack of every number of fields from 0 to 64.
func TestFieldCounts(t *testing.T) {
	const lanes = 150
	m := heap(maxFields+2, lanes)
	for cols := range maxFields + 1 {
		for _, e := range slices.Concat(fieldEntries[uint32](cols), fieldEntries[int64](cols)) {
			r := rand.New(rand.NewPCG(10, 10))
			offset := make([]int, len(e.ops))
			for op := range offset {
				offset[op] = line + e.size*r.IntN(line/e.size)
			}
			shares := []sharing{e.apart()}
			if in := e.inPlace(); len(in) > 0 {
				shares = append(shares, in[r.IntN(len(in))])
			}
			for _, share := range shares {
				s := e.sample(r, lanes, share)
				m.verify(t, &e, s, lanes, offset)
				m.verify(t, &e, s, lanes/5, offset)
			}
		}
	}
}

func fieldEntries[T Word](cols int) []entry {
	return named[T](packEntry[T](cols, true), packEntry[T](cols, false), unpackEntry[T](cols))
}

// TestRoundTrip is Unpack of what Pack made of fields that do not overlap: it
// gives the low bits of every column back.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for range 100 {
		seed := make([]byte, 100)
		for i := range seed {
			seed[i] = byte(r.Uint32())
		}
		roundTrip[uint32](t, seed, 67)
		roundTrip[int32](t, seed, 67)
		roundTrip[uint64](t, seed, 67)
		roundTrip[int64](t, seed, 67)
	}
}

// roundTrip packs and unpacks n lanes with a layout that it makes of the seed:
// gaps and fields in turn, until the word is full, in an order of their own.
func roundTrip[T Word](t *testing.T, seed []byte, n int) {
	bits := int(8 * unsafe.Sizeof(T(0)))
	var fields []Field
	at := 0
	for i := 0; i+1 < len(seed) && at < bits && len(fields) < maxFields; i += 2 {
		at += int(seed[i]) % 4
		length := int(seed[i+1]) % 20
		if at < bits {
			fields = append(fields, Field{uint8(at), uint8(length)})
		}
		at += length
	}
	sum := uint64(n)
	for _, b := range seed {
		sum = sum*257 + uint64(b)
	}
	r := rand.New(rand.NewPCG(12, sum))
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	dst, base := make([]T, n), make([]T, n)
	var cols, back [][]T
	for i := range base {
		base[i] = T(r.Uint64())
	}
	for range fields {
		col := make([]T, n)
		for i := range col {
			col[i] = T(r.Uint64())
		}
		cols, back = append(cols, col), append(back, make([]T, n))
	}
	onEveryKernel(func(k kernel) {
		Pack(dst, base, fields, cols...)
		for _, col := range back {
			clear(col)
		}
		Unpack(dst, fields, back...)
		for c, f := range fields {
			for i := range n {
				// The field's low bits, extended from its highest one.
				want := T(oracleBFE(bits, ^T(0) < 0, uint64(cols[c][i]), 0, uint32(min(int(f.Len), bits-int(f.Pos)))))
				if back[c][i] != want {
					t.Fatalf("%T on %s: fields %v: Unpack gives cols[%d][%d] = %#x, want %#x of what was packed",
						dst, k, fields, c, i, back[c][i], want)
				}
			}
		}
	})
}

// TestConcurrent has many goroutines call a function on parts of one slice.
func TestConcurrent(t *testing.T) {
	const parts, lanes = 8, 77
	for _, e := range entries {
		if e.warp {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			s := e.sample(rand.New(rand.NewPCG(13, 13)), parts*lanes, e.apart())
			onEveryKernel(func(k kernel) {
				for out := range e.outs {
					clear(s.ops[out])
				}
				var group sync.WaitGroup
				for part := range parts {
					a := s.args
					a.ops = nil
					for op, b := range s.ops {
						size := lanes * e.laneSize(op)
						a.ops = append(a.ops, b[part*size:][:size])
					}
					group.Go(func() { e.call(&a) })
				}
				group.Wait()
				for out := range e.outs {
					if !bytes.Equal(s.ops[out], s.want[out]) {
						t.Fatalf("%s on %s: %s is wrong", e.name, k, e.ops[out])
					}
				}
			})
		})
	}
}

// TestEmpty is calls on no lanes, with slices that are nil and that are not.
func TestEmpty(t *testing.T) {
	for _, e := range slices.Concat(entries, otherEntries) {
		if e.warp {
			continue
		}
		s := e.sample(rand.New(rand.NewPCG(14, 14)), 1, e.apart())
		onEveryKernel(func(kernel) {
			for _, empty := range [][]byte{nil, {}, make([]byte, 8)[8:]} {
				for op := range s.ops {
					a := s.args
					a.ops = make([][]byte, len(s.ops))
					a.ops[op] = empty
					e.call(&a)
				}
			}
		})
	}
}
