package bfi

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// A kernel is one way in which this process can run every function. Every test and
// benchmark goes through the kernels.
type kernel struct {
	level  level
	stream bool // whether stores bypass the cache, whatever the length
}

var kernels = onThisMachine(
	kernel{levelGeneric, false},
	kernel{levelNEON, false},
	kernel{levelAVX2, false},
	kernel{levelAVX2, true},
	kernel{levelAVX512, false},
	kernel{levelAVX512, true},
)

// onThisMachine returns the kernels that can run here. If BFI_TEST_ONLY is set, it names the
// only level to test. Emulators use it, because other levels are not worth their time.
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

// onEveryKernel calls f once for each kernel, while the process runs that kernel.
func onEveryKernel(f func(kernel)) {
	defer func(l level, b uintptr) { current, streamBytes = l, b }(current, streamBytes)
	for _, k := range kernels {
		current, streamBytes = k.level, math.MaxInt
		if k.stream {
			streamBytes = 0
		}
		f(k)
	}
}

// run calls the entry on the current kernel. Some entries have stores that bypass the cache
// only in calls of more than one piece. If the stores of a shorter call must bypass it, run
// calls the kernel directly.
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

// streams reports whether the entry has stores that bypass the cache.
func (e *entry) streams() bool { return !e.warp && !e.masked() }

// masked reports whether the entry has a mask, which is its last operand.
func (e *entry) masked() bool { return e.ops[len(e.ops)-1].kind == maskKind }

// lengths returns the numbers of lanes up to most that the entry can have.
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

// largest returns the most bytes that a lane takes in an operand other than the mask.
func (e *entry) largest() int {
	size := e.size
	for _, o := range e.ops {
		if o.kind != maskKind {
			size = max(size, o.lane())
		}
	}
	return size
}

// A sharing has a number for each operand: the number of the operand in whose memory it lies.
type sharing []int

// apart returns the sharing in which every operand has memory of its own.
func (e *entry) apart() sharing {
	share := make(sharing, len(e.ops))
	for op := range share {
		share[op] = op
	}
	return share
}

// mayShare reports whether two operands may be the same slice.
func (e *entry) mayShare(a, b int) bool {
	return e.ops[a].lane() == e.ops[a].size && e.ops[b].lane() == e.ops[b].size && e.ops[a].size == e.ops[b].size &&
		e.ops[a].kind != maskKind && e.ops[b].kind != maskKind
}

// inPlace returns all sharings in which one output lies in the memory of one input.
func (e *entry) inPlace() []sharing {
	var list []sharing
	for out := range e.outs {
		for in := e.outs; in < len(e.ops); in++ {
			if e.mayShare(out, in) {
				share := e.apart()
				share[out] = in
				list = append(list, share)
			}
		}
	}
	return list
}

// everySharing returns all sharings of inPlace, and apart.
func (e *entry) everySharing() []sharing { return append(e.inPlace(), e.apart()) }

// anySharing returns a random sharing.
func (e *entry) anySharing(r *rand.Rand) sharing {
	share := e.apart()
	for in := e.outs + 1; in < len(e.ops); in++ {
		if other := e.outs + r.IntN(in-e.outs); r.IntN(4) == 0 && e.mayShare(in, other) {
			share[in] = share[other]
		}
	}
	if r.IntN(2) == 0 || e.outs == 0 || e.outs == len(e.ops) {
		return share
	}
	out, in := r.IntN(e.outs), e.outs+r.IntN(len(e.ops)-e.outs)
	if e.mayShare(out, in) {
		share[out] = share[in]
	}
	return share
}

// A sample has the values of a call's operands, and the right results.
type sample struct {
	args
	lanes int
	share sharing
	want  [][]byte // the right results, for each output
}

// sample makes random operands for the given number of lanes.
func (e *entry) sample(r *rand.Rand, lanes int, share sharing) *sample {
	s := &sample{lanes: lanes, share: share}
	s.active = [...]uint32{0, 1 << r.IntN(32), 0x55555555, 0xffffffff, r.Uint32(), r.Uint32()}[r.IntN(6)]
	narrow, whole := e.fields > 2 && r.IntN(2) == 0, r.IntN(3) == 0
	for k := range e.fields {
		pos, width := anyField(r, 8*e.size)
		from := [...]uint32{0, 0, r.Uint32N(70), r.Uint32()}[r.IntN(4)]
		if narrow {
			// Wide fields of many columns would hide each other.
			width %= uint32(8*e.size/e.fields + 2)
		}
		if e.pack != nil && e.pack[k].count > 1 && r.IntN(3) > 0 {
			// Wide fields of an array would not fit in the word.
			pos, width = r.Uint32N(3), uint32(r.IntN(8*e.size)/e.pack[k].count+1)
		}
		if whole {
			// Kernels have other loops for whole bytes.
			pos, width, from = pos&^7, (width+7)&^7, [...]uint32{0, 0, 8, 16}[r.IntN(4)]
		}
		s.pos, s.width = append(s.pos, pos), append(s.width, width)
		s.from, s.value = append(s.from, from), append(s.value, r.Uint64())
	}
	for _, o := range e.ops {
		b := make([]byte, o.full(lanes))
		for i := range len(b) / o.size {
			switch pos, width := anyField(r, 8*e.size); o.kind {
			case posKind:
				store(b, o.size, i, uint64(pos))
			case widthKind:
				store(b, o.size, i, uint64(width))
			case maskKind:
				// Kernels may have code of their own for all lanes and for none.
				store(b, o.size, i, [...]uint64{0, ^uint64(0), r.Uint64(), r.Uint64(), 1 << r.IntN(64)}[r.IntN(5)])
			default:
				store(b, o.size, i, r.Uint64())
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

// answer sets the right results, which the oracle gives.
func (e *entry) answer(s *sample) {
	if s.want == nil {
		s.want = make([][]byte, e.outs)
	}
	for out := range s.want {
		size := e.ops[out].full(s.lanes)
		if len(s.want[out]) != size {
			s.want[out] = make([]byte, size)
		}
		for i := range size / e.ops[out].size {
			store(s.want[out], e.ops[out].size, i, e.want(&s.args, out, i))
		}
	}
}

// anyField returns a random pos and width. Most fields lie in the word. In half of the
// fields, the high bits of pos and width are random too.
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

// A memory holds the operands of a call. Each lies in a segment of its own, with other
// bytes around it.
type memory struct {
	live          [][]byte
	before, after [][]byte // the bytes before a call, and the bytes that it should leave
	short         bool     // leave out kernels that only stream longer calls

	// The other members belong to the call that is verified. Memory keeps their arrays,
	// because there are millions of calls.
	ops    [][]byte
	lo, hi []int    // the bytes of each segment that are checked
	want   [][]byte // the bytes that should be in each segment
}

func newMemory(segments [][]byte) *memory {
	m := &memory{live: segments}
	r := rand.NewChaCha8([32]byte{1})
	for _, s := range segments {
		noise := make([]byte, len(s))
		r.Read(noise)
		m.before = append(m.before, noise)
		m.after = append(m.after, make([]byte, len(s)))
	}
	return m
}

// misaligns reports whether the processor loads and stores misaligned words. If it does not,
// tests leave them out.
var misaligns = !strings.HasPrefix(runtime.GOARCH, "mips")

// line is the alignment of segments.
const line = 64

// heap returns segments in ordinary memory for count operands. Each has room for size bytes
// at any offset up to two lines.
func heap(count, size int) *memory {
	size = (size + 4*line) &^ (line - 1)
	buf := make([]byte, count*size+line)
	buf = buf[-uintptr(unsafe.Pointer(&buf[0]))%line:]
	var list [][]byte
	for range count {
		list = append(list, buf[:size:size])
		buf = buf[size:]
	}
	return newMemory(list)
}

// mostOps is the most operands that an entry has.
var mostOps = len(slices.MaxFunc(entries, func(a, b entry) int { return len(a.ops) - len(b.ops) }).ops)

// heap returns segments for the entry's operands of the given number of lanes.
func (e *entry) heap(lanes int) *memory { return heap(len(e.ops), e.largest()*lanes) }

// atLines returns offsets at which every operand starts a cache line.
func (e *entry) atLines() []int { return slices.Repeat([]int{line}, len(e.ops)) }

// anyOffsets returns random offsets in a cache line at which elements are aligned.
func (e *entry) anyOffsets(r *rand.Rand) []int {
	offset := make([]int, len(e.ops))
	for op, o := range e.ops {
		offset[op] = line + o.size*r.IntN(line/o.size)
	}
	return offset
}

// repeat fills b with lanes, over and over.
func repeat(b, lanes []byte) {
	for len(b) > 0 && len(lanes) > 0 {
		b = b[copy(b, lanes):]
	}
}

// repeatMask fills b with a mask for n lanes. If mask has fewer, it repeats mask's, of which
// there are lanes. It fills the bits past lane n too.
func repeatMask(b, mask []byte, size, lanes, n int) {
	if n <= lanes {
		copy(b, mask)
		return
	}
	lane := 0
	for i := range len(b) / size {
		var v uint64
		for bit := range 8 * size {
			if isActive(mask, size, lane) {
				v |= 1 << bit
			}
			if lane++; lane == lanes {
				lane = 0
			}
		}
		store(b, size, i, v)
	}
}

// verify calls e on every kernel with n lanes. If the sample has fewer, verify repeats it.
// Each operand lies at its offset in its segment. verify checks that the outputs are right
// and that nothing else has changed.
func (m *memory) verify(t testing.TB, e *entry, s *sample, n int, offset []int) {
	t.Helper()
	a := s.args
	a.ops = slices.Grow(m.ops[:0], len(s.ops))[:len(s.ops)]
	m.ops, m.lo, m.hi, m.want = a.ops, m.lo[:0], m.hi[:0], m.want[:0]
	for op, root := range s.share {
		o := e.ops[op]
		lo, hi := offset[root], offset[root]+o.bytes(n)
		a.ops[op] = m.live[root][lo:hi:hi]
		from, to := 0, 0
		if op == root {
			if o.kind == maskKind {
				repeatMask(m.before[op][lo:hi], s.ops[op], o.size, s.lanes, n)
			} else {
				repeat(m.before[op][lo:hi], s.ops[op])
			}
			from, to = max(lo-line, 0), min(hi+line, len(m.live[op]))
		}
		m.lo, m.hi, m.want = append(m.lo, from), append(m.hi, to), append(m.want, m.before[op])
	}
	for out := range e.outs {
		root := s.share[out]
		lo, hi := offset[root], offset[root]+e.ops[out].bytes(n)
		copy(m.after[root][m.lo[root]:m.hi[root]], m.before[root][m.lo[root]:])
		repeat(m.after[root][lo:hi], s.want[out])
		if e.fn == "Pack" && n > 0 {
			// Some elements of the last word may be missing.
			s.last = true
			store(m.after[root][lo:hi], e.size, n-1, e.want(&s.args, out, (n-1)%s.lanes))
			s.last = false
		}
		m.want[root] = m.after[root]
	}
	onEveryKernel(func(k kernel) {
		if k.stream && (m.short || !e.streams()) {
			return
		}
		for i, from := range m.lo {
			copy(m.live[i][from:m.hi[i]], m.before[i][from:])
		}
		e.run(k, &a)
		for i, from := range m.lo {
			if have, want := m.live[i][from:m.hi[i]], m.want[i][from:m.hi[i]]; !bytes.Equal(have, want) {
				t.Helper()
				t.Fatalf("%s on %s: %d lanes at offsets %v, sharing %v, pos %v, width %v, from %v, active %#x:\n%s",
					e.name, k, n, offset, s.share, s.pos, s.width, s.from, s.active,
					e.difference(i, have, want, offset[i]-from, n))
			}
		}
	})
}

// difference describes the first place at which an operand's memory is wrong.
func (e *entry) difference(op int, have, want []byte, offset, n int) string {
	i := 0
	for have[i] == want[i] {
		i++
	}
	o := e.ops[op]
	if i < offset || i >= offset+o.bytes(n) {
		return fmt.Sprintf("wrote outside %s: byte %d from its start, %d from its end", o.name, i-offset, i-offset-o.bytes(n))
	}
	at := (i - offset) / o.size
	b := offset + at*o.size
	return fmt.Sprintf("%s[%d] is %x, want %x (bytes in memory)", o.name, at, have[b:b+o.size], want[b:b+o.size])
}

// TestFewActive checks masks with one active lane, at every place. It also checks masks with
// one run of inactive lanes, at every place.
func TestFewActive(t *testing.T) {
	const n = 64*4 + 37
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, e := range entries {
		if !e.masked() {
			continue
		}
		mask := len(e.ops) - 1
		s := e.sample(rand.New(rand.NewPCG(29, 29)), n, e.apart())
		old := slices.Clone(s.ops[0])
		fill := func(active byte) {
			for i := range s.ops[mask] {
				s.ops[mask][i] = active
			}
		}
		flip := func(lane int) {
			size := e.ops[mask].size
			v := load(s.ops[mask], size, lane/(8*size))
			store(s.ops[mask], size, lane/(8*size), v^1<<(lane%(8*size)))
		}
		fill(0xff)
		every := slices.Clone(old) // the dst of a call with every lane active
		for lane := range n {
			store(every, e.size, lane, e.want(&s.args, 0, lane))
		}
		check := func(what string, want []byte) {
			onEveryKernel(func(k kernel) {
				e.call(&s.args)
				if !bytes.Equal(s.ops[0], want) {
					t.Fatalf("%s on %s: %d lanes, %s: dst is wrong", e.name, k, n, what)
				}
				copy(s.ops[0], old)
			})
		}
		for lane := 0; lane < n; lane += step {
			fill(0)
			flip(lane)
			want := slices.Clone(old)
			copy(want[lane*e.size:][:e.size], every[lane*e.size:])
			check(fmt.Sprintf("only lane %d active", lane), want)
			for _, run := range []int{1, 8, 31, 64, 65, 128, 200} {
				end := min(lane+run, n)
				fill(0xff)
				want := slices.Clone(every)
				for i := lane; i < end; i++ {
					flip(i)
				}
				copy(want[lane*e.size:end*e.size], old[lane*e.size:])
				check(fmt.Sprintf("lanes %d to %d inactive", lane, end-1), want)
			}
		}
	}
}

// TestCountActive compares countActive with a count of the lanes that the test activates.
func TestCountActive(t *testing.T) {
	countActiveOf[uint8](t)
	countActiveOf[uint16](t)
	countActiveOf[uint32](t)
	countActiveOf[uint64](t)
}

func countActiveOf[M Mask](t *testing.T) {
	r := rand.New(rand.NewPCG(30, 30))
	for n := 0; n < 5000; n += 1 + n/40 {
		for range 20 {
			active := make([]M, maskLen[M](n))
			for i := n; i < len(active)*maskBits[M](); i++ {
				active[i/maskBits[M]()] |= 1 << (i % maskBits[M]())
			}
			want := 0
			for range min(n, r.IntN(n/sparseLanes+3)) {
				lane := r.IntN(n)
				if active[lane/maskBits[M]()]>>(lane%maskBits[M]())&1 == 0 {
					want++
				}
				active[lane/maskBits[M]()] |= 1 << (lane % maskBits[M]())
			}
			have := countActive(active, n)
			if most := n / sparseLanes; have != want && (want <= most || have <= most) {
				t.Fatalf("%d lanes, elements of %d bits, %d active: countActive = %d; any result over %d means too many",
					n, maskBits[M](), want, have, most)
			}
		}
	}
}
