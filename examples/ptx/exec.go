package main

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/gobfi/bfi"
)

const (
	blockSize    = 128     // threads
	defaultLimit = 1 << 24 // instructions that one warp may execute
	everyLane    = ^uint32(0)
)

// run executes a decoded instruction in the active lanes.
type run func(active uint32)

type instruction struct {
	place
	run    run     // nil: ret, exit or bra
	label  string  // of bra, with its colon
	scope  *scope  // of bra
	target int     // of label
	guard  *uint32 // nil: executed by all lanes
	flip   uint32  // all ones: executed where the guard is false
	field  bool    // bfi or bfe
}

type param struct {
	name  string
	value register
}

func (p param) String() string { return fmt.Sprintf("%s of %d bits", p.name, 8*p.value.size) }

// An argument is what a parameter is bound to: a buffer, or a number.
type argument struct {
	buffer []byte
	zero   bool // the buffer was given as zeros
	number uint64
}

// A space is memory. The upper half of an address says which it is in.
type space struct {
	name         string
	base         uint64
	size, copies int    // copies: 1, or one for each lane
	data         []byte // copy after copy
}

// The first spaces of a program; its buffers come after them.
const shared, local = 0, 1

// A program is a decoded kernel with the registers of the one warp that
// executes at a time.
type program struct {
	kernel  string
	params  []param
	code    []instruction
	special map[string]register // that tell a thread where it is
	slabs   [][]uint64          // registers, of a declaration each
	spaces  []space
	at      []uint32 // the lanes whose program counter is there
	limit   int
	thread  int // of lane 0
}

func newProgram() *program {
	p := &program{limit: defaultLimit, spaces: []space{
		shared: {name: ".shared", base: 1 << 63, copies: 1},
		local:  {name: ".local", base: 1<<63 | 1<<62, copies: bfi.WarpSize},
	}}
	p.special = map[string]register{"WARP_SZ": constant(bfi.WarpSize, 4), "%laneid": constant(0, 4)}
	for i := range bfi.WarpSize {
		in[uint32](p.special["%laneid"])[i] = uint32(i)
	}
	for _, axis := range []string{".x", ".y", ".z"} { // of which blocks and grids have one
		p.special["%tid"+axis], p.special["%ntid"+axis] = constant(0, 4), constant(1, 4)
		p.special["%ctaid"+axis], p.special["%nctaid"+axis] = constant(0, 4), constant(1, 4)
	}
	return p
}

// counts are those of one launch: bit fields are bfi and bfe.
type counts struct {
	perBlock, blocks, warps, instructions, fields, fieldLanes, branches, splits int
}

// launch runs the kernel in at least so many threads, rounded up to whole
// blocks.
func (p *program) launch(threads int, args []argument) (c counts, err error) {
	defer rescue(&err)
	c.perBlock = min(threads, blockSize)
	c.blocks = (threads + c.perBlock - 1) / c.perBlock
	p.special["%ntid.x"].fill(uint64(c.perBlock))
	p.special["%nctaid.x"].fill(uint64(c.blocks))
	p.spaces = p.spaces[:local+1]
	for i := range p.spaces {
		p.spaces[i].data = make([]byte, p.spaces[i].size*p.spaces[i].copies)
	}
	for i, param := range p.params {
		param.value.fill(args[i].number)
		if b := args[i].buffer; b != nil {
			base := uint64(len(p.spaces)-local) << 32
			p.spaces = append(p.spaces, space{".global", base, len(b), 1, b})
			param.value.fill(base)
		}
	}
	tid := in[uint32](p.special["%tid.x"])
	for block := range c.blocks {
		p.special["%ctaid.x"].fill(uint64(block))
		clear(p.spaces[shared].data)
		for first := 0; first < c.perBlock; first += bfi.WarpSize {
			for i := range tid {
				tid[i] = uint32(first + i)
			}
			p.thread = block*c.perBlock + first
			p.warp(everyLane>>max(0, first+bfi.WarpSize-c.perBlock), &c)
		}
	}
	return c, nil
}

// warp executes the kernel in the live lanes of one warp.
//
// Lanes diverge at branches. The ones with the lowest program counter run, until
// they reach others, which join them, or jump past others, which run then. So
// lanes that took different ways meet again where the ways do.
func (p *program) warp(live uint32, c *counts) {
	for _, slab := range p.slabs {
		clear(slab)
	}
	clear(p.spaces[local].data)
	clear(p.at)
	p.at[0] = live
	c.warps++
	for pc, limit := 0, c.instructions+p.limit; pc < len(p.code); {
		here, in := p.at[pc], &p.code[pc]
		p.at[pc] = 0
		if pc++; here == 0 {
			continue
		}
		if c.instructions++; c.instructions > limit {
			in.check(false, "thread %d: %d instructions executed: an endless loop?", p.thread, p.limit)
		}
		active := here
		if in.guard != nil {
			active &= *in.guard ^ in.flip
		}
		if in.field {
			c.fields++
			c.fieldLanes += bits.OnesCount32(active)
		}
		if in.run == nil {
			p.at[pc] |= here &^ active
		} else if p.at[pc] |= here; active != 0 {
			in.run(active)
		}
		if in.scope == nil {
			continue
		}
		if c.branches++; active != 0 {
			c.splits += choose(active != here, 1, 0)
			p.at[in.target] |= active
			pc = min(pc, in.target)
		}
	}
}

// An access is what a load or store does to memory: it moves registers to or from
// the words at base + offset.
type access struct {
	place
	store     bool
	space     string // that the instruction names, or empty
	base      *lanes[uint64]
	offset    uint64
	registers regs
}

// memory is what lies at an address for so many lanes from one on, to the end of its
// space.
func (p *program) memory(name string, address uint64, lane, lanes int) []byte {
	for i := range p.spaces {
		s := &p.spaces[i]
		if s.base>>32 == address>>32 && (name == "" || name == s.name) && (lanes == 1 || s.copies == 1) {
			return s.data[lane%s.copies*s.size:][:s.size][min(address-s.base, uint64(s.size)):]
		}
	}
	return nil
}

// move makes an instruction of an access to words of type T.
func move[T word](p *program, a *access) run {
	n := len(a.registers)
	exchange := exchangeAll[T](a.registers, n, a.store)
	size := uint64(n) * uint64(unsafe.Sizeof(T(0)))
	words := func(lane, lanes int) []T { // of so many lanes from one on, or nil
		address := a.base[lane] + a.offset
		data := p.memory(a.space, address, lane, lanes)
		if address%size != 0 || uint64(len(data)) < size*uint64(lanes) {
			return nil
		}
		return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), n*lanes)
	}
	return func(active uint32) {
		first, last := bits.TrailingZeros32(active), bits.Len32(active)-1
		apart, expected, m := uint64(0), a.base[first]-uint64(first)*size, active
		for i := range a.base {
			apart |= (a.base[i] - expected) & -uint64(m&1) // 0 if the active lanes' words lie one after the other
			expected += size
			m >>= 1
		}
		if apart == 0 {
			if all := words(first, last-first+1); all != nil {
				exchange(all, first, active)
				return
			}
		}
		for m := active; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			lane := words(i, 1)
			if lane == nil {
				thread, address := p.thread+i, a.base[i]+a.offset
				a.check(address%size == 0, "thread %d: %d bytes at %#x are not aligned", thread, size, address)
				a.check(false, "thread %d: %d bytes at %#x are outside %s memory: %s", thread, size, address, a.space, p.described())
			}
			exchange(lane, i, 1<<i)
		}
	}
}

// within makes an instruction that takes a register for memory in which its parts lie,
// lane after lane.
func within[T word](whole register, parts regs, store bool) run {
	n := whole.size / int(unsafe.Sizeof(T(0)))
	words, exchange := unsafe.Slice((*T)(whole.data), bfi.WarpSize*n), exchangeAll[T](parts, n, store)
	return func(active uint32) { exchange(words, 0, active) }
}

func copyPredicate(src register, dst regs, _ bool) run {
	to, from := mask(dst[0]), mask(src)
	return func(active uint32) { *to = *to&^active | *from&active }
}

// exchangeAll moves the active lanes of registers to or from memory, in which their
// words lie side by side, and n words after those of lane first are those of the next.
func exchangeAll[T word](registers regs, n int, store bool) func(memory []T, first int, active uint32) {
	bySize := map[int]func(r register, n int, store bool) func(memory []T, first int, active uint32){
		1: exchange[T, uint8], 2: exchange[T, uint16], 4: exchange[T, uint32], 8: exchange[T, uint64],
	}
	each := make([]func(memory []T, first int, active uint32), len(registers))
	for k, r := range registers {
		each[k] = bySize[r.size](r, n, store)
	}
	if len(each) == 1 {
		return each[0]
	}
	return func(memory []T, first int, active uint32) {
		for k, exchange := range each {
			exchange(memory[k:], first, active)
		}
	}
}

func exchange[T, R word](r register, n int, store bool) func(memory []T, first int, active uint32) {
	register, whole := in[R](r), n == 1 && unsafe.Sizeof(T(0)) == unsafe.Sizeof(R(0))
	return func(memory []T, first int, active uint32) {
		if whole && len(memory) > 1 {
			to, from := in[T](r)[first:][:len(memory)], memory
			if store {
				to, from = from, to
			}
			bfi.SelectMasked(to, from, from, from, []uint32{active >> first})
			return
		}
		for m := active; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			if word := &memory[(i-first)*n]; store {
				*word = T(register[i])
			} else {
				register[i] = R(*word)
			}
		}
	}
}

// described is what memory there is, for errors.
func (p *program) described() string {
	list := fmt.Sprintf(".shared of %d bytes, .local of %d", p.spaces[shared].size, p.spaces[local].size)
	for _, s := range p.spaces[local+1:] {
		list += fmt.Sprintf(", a buffer of %d at %#x", s.size, s.base)
	}
	return list
}
