package bfi

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// The oracle defines the instructions bit by bit, for words of any width. Every test
// compares kernels with the oracle. No test compares them only with each other.

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
func oracleBFE(bits int, signed bool, a uint64, b, c uint32) uint64 {
	pos, length, msb := int(b&0xff), int(c&0xff), bits-1
	sbit := uint64(0)
	if signed && length != 0 {
		sbit = a >> min(pos+length-1, msb) & 1
	}
	d := uint64(0)
	for i := 0; i <= msb; i++ {
		bit := sbit
		if i < length && pos+i <= msb {
			bit = a >> (pos + i) & 1
		}
		d |= bit << i
	}
	return d
}

// oracleSelect is the formula by which AMD defines v_bfi_b32.
func oracleSelect(s0, s1, s2 uint64) uint64 { return s0&s1 | ^s0&s2 }

// oracleMoved returns x shifted right by by, or left by -by if by is negative. x is an
// integer of the given number of bits. If it is signed, copies of its sign come in.
func oracleMoved(bits int, signed bool, x uint64, by int64) uint64 {
	var f uint64
	for i := int64(0); i < 64; i++ {
		at := i + by
		switch {
		case at < 0:
			continue
		case at >= int64(bits) && signed:
			at = int64(bits) - 1
		case at >= int64(bits):
			continue
		}
		f |= (x >> at & 1) << i
	}
	return f
}

// A kind says what the elements of an operand are.
type kind int

const (
	wordKind kind = iota
	posKind
	widthKind
	maskKind // one bit a lane
)

// An op is an operand with an element for each lane.
type op struct {
	name  string
	size  int // of an element in bytes
	kind  kind
	array layout
}

// A layout says where the elements of an Array are. The zero layout is a plain column's.
type layout struct {
	count    int // elements of a word
	stride   int // elements from one word's first to the next word's
	short    int // elements, of gaps too, that the last word lacks
	reversed bool
}

// lane returns the number of bytes from one lane to the next.
func (o op) lane() int { return o.size * max(o.array.stride, 1) }

// bytes returns the number of bytes of n lanes.
func (o op) bytes(n int) int {
	if o.kind == maskKind {
		return (n + 8*o.size - 1) / (8 * o.size) * o.size
	}
	return max(n*o.lane()-o.array.short*o.size, 0)
}

// full returns the number of bytes of n lanes whose last word lacks no elements.
func (o op) full(n int) int { return o.bytes(n) + min(n*o.lane(), o.array.short*o.size) }

// opsOf returns operands of the given names. They are words, except for pos and width.
func opsOf(size int, names ...string) []op {
	var list []op
	for _, name := range names {
		switch name {
		case "pos":
			list = append(list, op{name: name, size: 4, kind: posKind})
		case "width":
			list = append(list, op{name: name, size: 4, kind: widthKind})
		default:
			list = append(list, op{name: name, size: size})
		}
	}
	return list
}

// An entry describes a function of the package for one type of words: its operands, how to
// call it, and its right results. Every test goes through the entries.
type entry struct {
	fn     string // the function's name
	name   string // unique among entries
	size   int    // of a word in bytes
	signed bool
	ops    []op // first the operands that it writes, then those that it reads
	outs   int  // the number of operands that it writes
	fields int  // the number of its fields that are the same for all lanes
	pack   []fieldKind
	warp   bool // whether its operands are warps

	call func(*args)
	// stream calls the kernel alone, with stores that bypass the cache. The call must
	// be at most one piece.
	stream func(*args)
	want   func(a *args, out, i int) uint64 // element i of an output
	stack  func()                           // makes a call whose operands are arrays on the caller's stack
}

// args are the operands of one call.
type args struct {
	ops              [][]byte // in the order of the entry's ops
	pos, width, from []uint32 // one for each field
	value            []uint64 // the values of constants, one for each field
	active           uint32   // the active lanes of a warp
	last             bool     // whether want is asked for the last lane, which may lack elements of an Array
	fields           []Field  // the fields, if they have been made
}

func (a *args) at(op int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.ops[op])) }

// load returns element i of memory, in the machine's byte order.
func load(b []byte, size, i int) uint64 {
	switch size {
	case 1:
		return uint64(b[i])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b[2*i:]))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return binary.NativeEndian.Uint64(b[8*i:])
}

func store(b []byte, size, i int, v uint64) {
	switch size {
	case 1:
		b[i] = byte(v)
	case 2:
		binary.NativeEndian.PutUint16(b[2*i:], uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(b[4*i:], uint32(v))
	default:
		binary.NativeEndian.PutUint64(b[8*i:], v)
	}
}

// isActive reports whether a lane's bit of a mask is set.
func isActive(b []byte, size, lane int) bool {
	return load(b, size, lane/(8*size))>>(lane%(8*size))&1 != 0
}

// words returns memory as a slice of elements.
func words[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// warpOf returns memory as the lanes of a warp.
func warpOf[T Word](b []byte) *[WarpSize]T {
	return (*[WarpSize]T)(unsafe.Pointer(unsafe.SliceData(b)))
}

// onStack has operands for the caller's stack.
type onStack[T Word] struct {
	a, b, c, d [WarpSize]T
	pos, width [WarpSize]uint32
}

// These types are made from integer types. They use the same kernels.
type (
	gray     uint8
	audio    int16
	pixel    uint32
	tick     int64
	execMask uint64
)

var (
	entries = slices.Concat(
		entriesOf[uint8](), entriesOf[int8](), entriesOf[uint16](), entriesOf[int16](),
		entriesOf[uint32](), entriesOf[int32](), entriesOf[uint64](), entriesOf[int64](),
		// Words of every size have masks of every size. The sign of the words changes
		// from mask to mask.
		maskedOf[uint8, uint8](), maskedOf[int8, uint16](), maskedOf[uint8, uint32](), maskedOf[int8, uint64](),
		maskedOf[int16, uint8](), maskedOf[uint16, uint16](), maskedOf[int16, uint32](), maskedOf[uint16, uint64](),
		maskedOf[uint32, uint8](), maskedOf[int32, uint16](), maskedOf[int32, uint32](), maskedOf[uint32, uint64](),
		maskedOf[int64, uint8](), maskedOf[uint64, uint16](), maskedOf[uint64, uint32](), maskedOf[int64, uint64](),
		columnsOf[uint8](), columnsOf[int8](), columnsOf[uint16](), columnsOf[int16](),
		columnsOf[uint32](), columnsOf[int32](), columnsOf[uint64](), columnsOf[int64](),
		arraysOf[uint8](), arraysOf[int16](), arraysOf[uint32](), arraysOf[uint64](),
		warpsOf[uint32](), warpsOf[int32](), warpsOf[uint64](), warpsOf[int64](),
	)
	otherEntries = slices.Concat(
		entriesOf[gray](), entriesOf[audio](), entriesOf[pixel](), entriesOf[tick](),
		entriesOf[int](), entriesOf[uint](), entriesOf[uintptr](),
		maskedOf[pixel, execMask](), maskedOf[uintptr, execMask](),
		columnsOf[gray](), columnsOf[pixel](), columnsOf[int](),
		warpsOf[pixel](), warpsOf[tick](), warpsOf[int](), warpsOf[uintptr](),
	)
)

// entriesOf returns the entries of the functions over slices.
func entriesOf[T Word]() []entry {
	size, signed := int(unsafe.Sizeof(T(0))), ^T(0) < 0
	bits := 8 * size
	word := func(a *args, op, i int) uint64 { return load(a.ops[op], size, i) }
	count := func(a *args, op, i int) uint32 { return uint32(load(a.ops[op], 4, i)) }
	n := func(a *args) int { return len(a.ops[0]) / size }
	return named[T](
		entry{
			fn: "Insert", ops: opsOf(size, "dst", "src", "base"), fields: 1,
			call: func(a *args) {
				Insert(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), a.pos[0], a.width[0])
			},
			stream: func(a *args) {
				insert(a.at(0), a.at(1), a.at(2), n(a), a.pos[0]&0xff, fieldMask[T](a.pos[0], a.width[0]), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFI(bits, word(a, 1, i), word(a, 2, i), a.pos[0], a.width[0])
			},
			stack: func() { var s onStack[T]; Insert(s.a[:], s.b[:], s.c[:], 3, 7) },
		},
		entry{
			fn: "InsertEach", ops: opsOf(size, "dst", "src", "base", "pos", "width"),
			call: func(a *args) {
				InsertEach(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[uint32](a.ops[3]),
					words[uint32](a.ops[4]))
			},
			stream: func(a *args) {
				insertEach[T](a.at(0), a.at(1), a.at(2), a.at(3), a.at(4), n(a), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFI(bits, word(a, 1, i), word(a, 2, i), count(a, 3, i), count(a, 4, i))
			},
			stack: func() { var s onStack[T]; InsertEach(s.a[:], s.b[:], s.c[:], s.pos[:], s.width[:]) },
		},
		entry{
			fn: "Fill", ops: opsOf(size, "dst", "base"), fields: 1,
			call: func(a *args) {
				Fill(words[T](a.ops[0]), T(a.value[0]), words[T](a.ops[1]), a.pos[0], a.width[0])
			},
			stream: func(a *args) {
				fill(a.at(0), a.at(1), n(a), Bfi(T(a.value[0]), 0, a.pos[0], a.width[0]), fieldMask[T](a.pos[0], a.width[0]), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFI(bits, a.value[0], word(a, 1, i), a.pos[0], a.width[0])
			},
			stack: func() { var s onStack[T]; Fill(s.a[:], 5, s.b[:], 3, 7) },
		},
		entry{
			fn: "Select", ops: opsOf(size, "dst", "mask", "src", "base"),
			call: func(a *args) {
				Select(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[T](a.ops[3]))
			},
			stream: func(a *args) {
				selectBits[T](a.at(0), a.at(1), a.at(2), a.at(3), n(a), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleSelect(word(a, 1, i), word(a, 2, i), word(a, 3, i))
			},
			stack: func() { var s onStack[T]; Select(s.a[:], s.b[:], s.c[:], s.d[:]) },
		},
		entry{
			fn: "Extract", ops: opsOf(size, "dst", "src"), fields: 1,
			call: func(a *args) {
				Extract(words[T](a.ops[0]), words[T](a.ops[1]), a.pos[0], a.width[0])
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFE(bits, signed, word(a, 1, i), a.pos[0], a.width[0])
			},
			stack: func() { var s onStack[T]; Extract(s.a[:], s.b[:], 3, 7) },
		},
		entry{
			fn: "ExtractEach", ops: opsOf(size, "dst", "src", "pos", "width"),
			call: func(a *args) {
				ExtractEach(words[T](a.ops[0]), words[T](a.ops[1]), words[uint32](a.ops[2]), words[uint32](a.ops[3]))
			},
			stream: func(a *args) {
				extractEach[T](a.at(0), a.at(1), a.at(2), a.at(3), n(a), true)
			},
			want: func(a *args, _, i int) uint64 {
				return oracleBFE(bits, signed, word(a, 1, i), count(a, 2, i), count(a, 3, i))
			},
			stack: func() { var s onStack[T]; ExtractEach(s.a[:], s.b[:], s.pos[:], s.width[:]) },
		},
	)
}

// named completes the entries of functions for words of type T.
func named[T Word](list ...entry) []entry {
	for i := range list {
		e := &list[i]
		if e.name == "" {
			e.name = e.fn
		}
		e.name += "/" + typeName[T]()
		e.size, e.signed = int(unsafe.Sizeof(T(0))), ^T(0) < 0
		if e.fn != "Unpack" {
			e.outs = 1
		}
	}
	return list
}

func typeName[T any]() string { return strings.TrimPrefix(fmt.Sprintf("%T", *new(T)), "bfi.") }

// pick returns the entries of the named functions.
func pick(list []entry, fns ...string) []entry {
	var picked []entry
	for _, fn := range fns {
		picked = append(picked, list[slices.IndexFunc(list, func(e entry) bool { return e.fn == fn })])
	}
	return picked
}

// maskedOf returns the entries of the functions over slices under a mask. In active lanes
// the function without a mask gives the right result.
func maskedOf[T Word, M Mask]() []entry {
	active := func(a *args) []M { return words[M](a.ops[len(a.ops)-1]) }
	type masked struct {
		call  func(a *args)
		stack func()
	}
	functions := map[string]masked{
		"Insert": {
			func(a *args) {
				InsertMasked(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), a.pos[0], a.width[0], active(a))
			},
			func() { var s onStack[T]; var m onStackMask[M]; InsertMasked(s.a[:], s.b[:], s.c[:], 3, 7, m.warp()) },
		},
		"InsertEach": {
			func(a *args) {
				InsertEachMasked(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[uint32](a.ops[3]),
					words[uint32](a.ops[4]), active(a))
			},
			func() {
				var s onStack[T]
				var m onStackMask[M]
				InsertEachMasked(s.a[:], s.b[:], s.c[:], s.pos[:], s.width[:], m.warp())
			},
		},
		"Fill": {
			func(a *args) {
				FillMasked(words[T](a.ops[0]), T(a.value[0]), words[T](a.ops[1]), a.pos[0], a.width[0], active(a))
			},
			func() { var s onStack[T]; var m onStackMask[M]; FillMasked(s.a[:], 5, s.b[:], 3, 7, m.warp()) },
		},
		"Select": {
			func(a *args) {
				SelectMasked(words[T](a.ops[0]), words[T](a.ops[1]), words[T](a.ops[2]), words[T](a.ops[3]), active(a))
			},
			func() { var s onStack[T]; var m onStackMask[M]; SelectMasked(s.a[:], s.b[:], s.c[:], s.d[:], m.warp()) },
		},
		"Extract": {
			func(a *args) {
				ExtractMasked(words[T](a.ops[0]), words[T](a.ops[1]), a.pos[0], a.width[0], active(a))
			},
			func() { var s onStack[T]; var m onStackMask[M]; ExtractMasked(s.a[:], s.b[:], 3, 7, m.warp()) },
		},
		"ExtractEach": {
			func(a *args) {
				ExtractEachMasked(words[T](a.ops[0]), words[T](a.ops[1]), words[uint32](a.ops[2]), words[uint32](a.ops[3]),
					active(a))
			},
			func() {
				var s onStack[T]
				var m onStackMask[M]
				ExtractEachMasked(s.a[:], s.b[:], s.pos[:], s.width[:], m.warp())
			},
		},
	}
	list := entriesOf[T]()
	for i := range list {
		e := &list[i]
		f, mask, unmasked := functions[e.fn], len(e.ops), e.want
		e.fn += "Masked"
		e.name = e.fn + "/" + typeName[T]() + "/" + typeName[M]()
		e.ops = append(e.ops, op{name: "active", size: int(unsafe.Sizeof(M(0))), kind: maskKind})
		e.call, e.stream, e.stack = f.call, nil, f.stack
		e.want = func(a *args, out, i int) uint64 {
			if isActive(a.ops[mask], int(unsafe.Sizeof(M(0))), i) {
				return unmasked(a, out, i)
			}
			return load(a.ops[out], int(unsafe.Sizeof(T(0))), i)
		}
	}
	return list
}

// onStackMask has a mask of a warp's lanes for the caller's stack.
type onStackMask[M Mask] [4]M

func (m *onStackMask[M]) warp() []M { return m[:maskLen[M](WarpSize)] }

// warpsOf returns the entries of the functions of warps. In active lanes the function over
// slices gives the right result.
func warpsOf[T Register]() []entry {
	type warp struct {
		call  func(a *args)
		stack func()
	}
	functions := map[string]warp{
		"InsertEach": {
			func(a *args) {
				InsertWarp(warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[T](a.ops[2]), warpOf[uint32](a.ops[3]),
					warpOf[uint32](a.ops[4]), a.active)
			},
			func() { var s onStack[T]; InsertWarp(&s.a, &s.b, &s.c, &s.pos, &s.width, 0xf0f) },
		},
		"Select": {
			func(a *args) {
				SelectWarp(warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[T](a.ops[2]), warpOf[T](a.ops[3]), a.active)
			},
			func() { var s onStack[T]; SelectWarp(&s.a, &s.b, &s.c, &s.d, 0xf0f) },
		},
		"ExtractEach": {
			func(a *args) {
				ExtractWarp(warpOf[T](a.ops[0]), warpOf[T](a.ops[1]), warpOf[uint32](a.ops[2]), warpOf[uint32](a.ops[3]), a.active)
			},
			func() { var s onStack[T]; ExtractWarp(&s.a, &s.b, &s.pos, &s.width, 0xf0f) },
		},
	}
	list := pick(entriesOf[T](), "InsertEach", "Select", "ExtractEach")
	for i := range list {
		e := &list[i]
		f, each := functions[e.fn], e.want
		e.fn = strings.TrimSuffix(e.fn, "Each") + "Warp"
		e.name = e.fn + "/" + typeName[T]()
		e.warp = true
		e.call, e.stream, e.stack = f.call, nil, f.stack
		e.want = func(a *args, out, i int) uint64 {
			if a.active>>i&1 != 0 {
				return each(a, out, i)
			}
			return load(a.ops[out], int(unsafe.Sizeof(T(0))), i)
		}
	}
	return list
}

// A fieldKind says what a Field of an entry is made from.
type fieldKind struct {
	size     int // of an element in bytes
	signed   bool
	constant bool
	layout
}

// everyKind has a column of every type.
var everyKind = []fieldKind{
	{size: 1}, {size: 1, signed: true}, {size: 2}, {size: 2, signed: true},
	{size: 4}, {size: 4, signed: true}, {size: 8}, {size: 8, signed: true},
}

// constantKind returns f as a constant.
func (f fieldKind) constantKind() fieldKind {
	f.constant = true
	return f
}

func (f fieldKind) String() string {
	name := fmt.Sprint(8 * f.size)
	if f.signed {
		name = "i" + name
	} else {
		name = "u" + name
	}
	if f.constant {
		name = "constant " + name
	}
	if f.stride > 0 {
		name += fmt.Sprintf("x%dof%d", f.count, f.stride)
	}
	if f.reversed {
		name += "r"
	}
	return name
}

// field returns field k of a call. If it is no constant, its values are in b.
func (f fieldKind) field(a *args, k int, b []byte) Field {
	var field Field
	switch v, pos, width := a.value[k], a.pos[k], a.width[k]; {
	case f.signed && f.size == 1:
		field = fieldOf[int8](f, b, v, pos, width)
	case f.signed && f.size == 2:
		field = fieldOf[int16](f, b, v, pos, width)
	case f.signed && f.size == 4:
		field = fieldOf[int32](f, b, v, pos, width)
	case f.signed:
		field = fieldOf[int64](f, b, v, pos, width)
	case f.size == 1:
		field = fieldOf[uint8](f, b, v, pos, width)
	case f.size == 2:
		field = fieldOf[uint16](f, b, v, pos, width)
	case f.size == 4:
		field = fieldOf[uint32](f, b, v, pos, width)
	default:
		field = fieldOf[uint64](f, b, v, pos, width)
	}
	if a.from[k] != 0 {
		field = field.From(a.from[k])
	}
	return field
}

func fieldOf[E Word](f fieldKind, b []byte, v uint64, pos, width uint32) Field {
	switch {
	case f.constant:
		return Constant(E(v), pos, width)
	case f.stride == 0:
		return Column(words[E](b), pos, width)
	}
	field := Array(words[E](b), f.count, pos, width)
	if f.stride != f.count {
		field = field.Every(f.stride)
	}
	if f.reversed {
		field = field.Reversed()
	}
	return field
}

// place returns the position of a word's element j. Only the low 8 bits of pos and width
// count. The sum does not wrap.
func (f fieldKind) place(j int, pos, width uint32) int {
	if f.reversed {
		j = f.count - 1 - j
	}
	return int(pos&0xff) + j*int(width&0xff)
}

// columnsOf returns entries of Pack and Unpack, with columns of every type and with a few
// columns.
func columnsOf[T Word]() []entry {
	size, signed := int(unsafe.Sizeof(T(0))), ^T(0) < 0
	same := fieldKind{size: size, signed: signed}
	var constants []fieldKind
	for _, f := range everyKind {
		constants = append(constants, f.constantKind())
	}
	return slices.Concat(
		named[T](
			packEntry[T](true, everyKind...), packEntry[T](false, same, fieldKind{size: 1}),
			packEntry[T](true, same, same.constantKind(), same), packEntry[T](false, constants...),
			unpackEntry[T](everyKind...), unpackEntry[T](same, fieldKind{size: 1}), unpackEntry[T](same, same)),
	)
}

// array returns the kind of an Array of unsigned elements.
func array(size, count, stride, short int) fieldKind {
	return fieldKind{size: size, layout: layout{count: count, stride: stride, short: short}}
}

// ofSigned returns f with signed elements.
func (f fieldKind) ofSigned() fieldKind { f.signed = true; return f }

// reversedKind returns f with the first element highest.
func (f fieldKind) reversedKind() fieldKind { f.reversed = true; return f }

// widestLane bounds the bytes that a lane of an operand takes.
const widestLane = 64

// arraysOf returns entries of Pack and Unpack with arrays: alone, at a stride, with elements
// missing in the last word, and among other fields. The arrays of one entry differ in size
// or stride. Otherwise one could lie in the gaps of another.
func arraysOf[T Word]() []entry {
	u8 := fieldKind{size: 1}
	lists := [][]fieldKind{
		{array(1, 3, 3, 0)},
		{array(1, 4, 4, 0).reversedKind()},
		{array(1, 12, 12, 5)},
		{array(1, 20, 64, 5)},
		{array(1, 16, 16, 0)},
		{array(2, 4, 4, 1).ofSigned()},
		{array(4, 2, 3, 2).reversedKind()},
		{array(1, 1, 4, 2), array(2, 1, 2, 0), u8},
		{array(1, 2, 17, 16).ofSigned(), array(8, 1, 2, 1), fieldKind{size: 4, signed: true}, array(2, 3, 5, 0)},
	}
	var list []entry
	for i, kinds := range lists {
		mixed := append(slices.Clone(kinds), fieldKind{size: 8, constant: true})
		list = append(list, packEntry[T](i%2 > 0, kinds...), packEntry[T](i%2 == 0, mixed...), unpackEntry[T](kinds...))
	}
	return named[T](list...)
}

// fieldName returns the name of field k in messages.
func fieldName(k int) string { return fmt.Sprintf("fields[%d]", k) }

// fieldsOf returns the fields of a call.
func (e *entry) fieldsOf(a *args) []Field {
	if a.fields != nil {
		return a.fields
	}
	var fields []Field
	op := e.firstColumn()
	for k, f := range e.pack {
		var b []byte
		if !f.constant {
			b = a.ops[op]
			op++
		}
		fields = append(fields, f.field(a, k, b))
	}
	return fields
}

// firstColumn returns the number of the first operand that is a column. The other columns
// are next.
func (e *entry) firstColumn() int {
	if e.fn == "Pack" {
		return 1
	}
	return 0
}

// packEntry returns an entry of Pack with fields of the given kinds, and with a base or nil.
func packEntry[T Word](base bool, kinds ...fieldKind) entry {
	size := int(unsafe.Sizeof(T(0)))
	e := &entry{fn: "Pack", ops: opsOf(size, "dst"), fields: len(kinds), pack: kinds}
	name := fmt.Sprint(kinds)
	for k, f := range kinds {
		if !f.constant {
			e.ops = append(e.ops, op{name: fieldName(k), size: f.size, array: f.layout})
		}
	}
	baseOp := len(e.ops)
	if base {
		e.ops = append(e.ops, op{name: "base", size: size})
		name += " base"
	}
	e.name = e.fn + strings.ReplaceAll(name, " ", ",")
	e.call = func(a *args) {
		var b []T
		if base {
			b = words[T](a.ops[baseOp])
		}
		Pack(words[T](a.ops[0]), b, e.fieldsOf(a)...)
	}
	e.want = func(a *args, _, i int) uint64 {
		var w uint64
		if base {
			w = load(a.ops[baseOp], size, i)
		}
		op := e.firstColumn()
		for k, f := range kinds {
			insert := func(v uint64, j int) {
				if pos := f.place(j, a.pos[k], a.width[k]); pos < 8*size {
					w = oracleBFI(8*size, oracleMoved(8*f.size, f.signed, v, int64(a.from[k])), w, uint32(pos), a.width[k])
				}
			}
			if f.constant {
				insert(a.value[k], 0)
				continue
			}
			stride := max(f.stride, 1)
			for j := range max(f.count, 1) {
				if !a.last || j < stride-f.short {
					insert(load(a.ops[op], f.size, i*stride+j), j)
				}
			}
			op++
		}
		return w
	}
	e.stack = func() {
		var s onStack[T]
		Pack(s.a[:], s.b[:], Column(s.c[:], 0, 5), Column(s.pos[:], 4, 4).From(2), Constant(-1, 7, 1))
	}
	return *e
}

// unpackEntry returns an entry of Unpack with columns of the given kinds.
func unpackEntry[T Word](kinds ...fieldKind) entry {
	size := int(unsafe.Sizeof(T(0)))
	e := &entry{fn: "Unpack", outs: len(kinds), fields: len(kinds), pack: kinds}
	for k, f := range kinds {
		e.ops = append(e.ops, op{name: fieldName(k), size: f.size, array: f.layout})
	}
	e.ops = append(e.ops, op{name: "src", size: size})
	e.name = e.fn + strings.ReplaceAll(fmt.Sprint(kinds), " ", ",")
	e.call = func(a *args) {
		Unpack(words[T](a.ops[len(kinds)]), e.fieldsOf(a)...)
	}
	e.want = func(a *args, k, i int) uint64 {
		f := kinds[k]
		stride := max(f.stride, 1)
		if i%stride >= max(f.count, 1) {
			return load(a.ops[k], f.size, i) // a gap
		}
		pos := min(f.place(i%stride, a.pos[k], a.width[k]), 255)
		x := oracleBFE(8*size, f.signed, load(a.ops[len(kinds)], size, i/stride), uint32(pos), a.width[k])
		return oracleMoved(8*size, f.signed, x, -int64(a.from[k]))
	}
	e.stack = func() {
		var s onStack[T]
		Unpack(s.a[:], Column(s.b[:], 0, 5), Column(s.pos[:], 4, 4).From(2))
	}
	return *e
}
