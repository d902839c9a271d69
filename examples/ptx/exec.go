package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/gobfi/bfi"
)

// Limits of the emulator.
const (
	everyLane     = ^uint32(0)
	blockSize     = 128     // threads
	defaultLimit  = 1 << 24 // instructions that one warp may execute
	maxThreads    = 1 << 22
	maxBuffer     = 1 << 30 // bytes
	maxCount      = 1 << 16 // registers; also bytes of the variables of a space
	maxNesting    = 100     // of blocks
	shared, local = 0, 1    // a program's first spaces; its buffers follow
)

// run executes a decoded instruction in the active lanes.
type run func(active uint32)

type instruction struct {
	place
	steps  []run         // none if it is ret, exit or bra
	label  string        // bra: the label, with its colon
	scope  *scope        // bra: the scope in which the label is declared
	target int           // bra: the number of the label's instruction
	guard  *lanes[uint8] // the predicate of lanes that execute it; nil if all do
	flip   uint32        // all ones if lanes execute it whose guard is false
	field  bool          // whether it is bfi or bfe
}

type param struct {
	name  string
	value register
}

func (p param) String() string { return fmt.Sprintf("%s of %d bits", p.name, p.value.bits) }

// An argument is the value of a parameter: a buffer, or a number.
type argument struct {
	buffer []byte
	zero   bool // whether the buffer was given as zeros
	number uint64
}

// A space is a part of memory. The upper half of an address is the number of its space.
type space struct {
	name         string
	base         uint64
	size, copies int    // copies is 1, or a copy for each lane
	data         []byte // all copies, one after the other
}

// A program is a decoded kernel with the registers of the warp that executes it.
type program struct {
	kernel  string
	params  []param
	code    []instruction
	special map[string]register // registers with a thread's place in its block and grid
	slabs   [][]uint64          // the registers of each declaration
	spaces  []space
	memory  string   // describes the memory in error messages
	at      []uint32 // for each instruction, the lanes whose program counter is there
	limit   int      // how many instructions one warp may execute
	thread  int      // the number of lane 0's thread
}

func newProgram() *program {
	p := &program{limit: defaultLimit, spaces: []space{
		shared: {name: ".shared", base: 1 << 63, copies: 1},
		local:  {name: ".local", base: 1<<63 | 1<<62, copies: bfi.WarpSize},
	}}
	p.special = map[string]register{"WARP_SZ": newRegister(32, bfi.WarpSize), "%laneid": newRegister(32, 0)}
	for i := range bfi.WarpSize {
		in[uint32](p.special["%laneid"])[i] = uint32(i)
	}
	for _, axis := range []string{".x", ".y", ".z"} { // blocks and grids extend along .x only
		p.special["%tid"+axis], p.special["%ntid"+axis] = newRegister(32, 0), newRegister(32, 1)
		p.special["%ctaid"+axis], p.special["%nctaid"+axis] = newRegister(32, 0), newRegister(32, 1)
	}
	return p
}

// counts has the counts of one launch. fields counts bfi and bfe.
type counts struct {
	perBlock, blocks, warps, instructions, fields, fieldLanes, branches, splits int
}

// launch runs the kernel in the given number of threads, rounded up to whole blocks.
func (p *program) launch(threads int, args []argument) (c counts, err error) {
	defer rescue(&err)
	c.perBlock = min(threads, blockSize)
	c.blocks = (threads + c.perBlock - 1) / c.perBlock
	p.special["%ntid.x"].fill(uint64(c.perBlock))
	p.special["%nctaid.x"].fill(uint64(c.blocks))
	p.spaces = p.spaces[:local+1]
	p.spaces[local].data = make([]byte, p.spaces[local].size*bfi.WarpSize)
	p.memory = fmt.Sprintf(".shared of %d bytes, .local of %d", p.spaces[shared].size, p.spaces[local].size)
	for i, param := range p.params {
		value := args[i].number
		if b := args[i].buffer; b != nil {
			value = uint64(len(p.spaces)-local) << 32
			p.spaces = append(p.spaces, space{".global", value, len(b), 1, b})
			p.memory += fmt.Sprintf(", a buffer of %d at %#x", len(b), value)
		}
		param.value.fill(value)
	}
	tid := in[uint32](p.special["%tid.x"])
	for block := range c.blocks {
		p.special["%ctaid.x"].fill(uint64(block))
		p.spaces[shared].data = make([]byte, p.spaces[shared].size)
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
// Lanes diverge at branches. The lanes with the lowest program counter always run first. If
// they reach the program counter of other lanes, all of these run together. So lanes that
// took different ways meet again where the ways meet.
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
			active &= mask(in.guard) ^ in.flip
		}
		if in.field {
			c.fields++
			c.fieldLanes += bits.OnesCount32(active)
		}
		if in.steps == nil {
			p.at[pc] |= here &^ active
		} else if p.at[pc] |= here; active != 0 {
			for _, step := range in.steps {
				step(active)
			}
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

// mask returns a mask with a bit for each lane in which a predicate holds.
func mask(predicate *lanes[uint8]) (m uint32) {
	for i, x := range predicate[:] {
		m |= uint32(x&1) << i
	}
	return m
}

// A transfer moves the active lanes of a register to memory or from memory. The first words
// of memory belong to lane first.
type transfer func(memory []byte, first int, active uint32)

// exchange returns a transfer between r and memory. Each lane has n words in memory, and the
// transfer moves word k.
func exchange[T, R bfi.Word](r register, k, n int, store bool) transfer {
	register, whole := in[R](r), n == 1 && unsafe.Sizeof(T(0)) == unsafe.Sizeof(R(0))
	return func(memory []byte, first int, active uint32) {
		words := unsafe.Slice((*T)(unsafe.Pointer(&memory[0])), len(memory)/int(unsafe.Sizeof(T(0))))
		if whole && len(words) > 1 {
			to, from := in[T](r)[first:][:len(words)], words
			if store {
				to, from = from, to
			}
			bfi.SelectMasked(to, from, from, from, []uint32{active >> first})
			return
		}
		for m := active; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m)
			if word := &words[(i-first)*n+k]; store {
				*word = T(register[i])
			} else {
				register[i] = R(*word)
			}
		}
	}
}

// An access is a load or store of size bytes at base + offset.
type access struct {
	place
	*program
	space        string // the space that the instruction names; empty if it names none
	base         *lanes[uint64]
	offset, size uint64
	elements     []transfer
}

func (a *access) run(active uint32) {
	first, apart := bits.TrailingZeros32(active), uint64(0)
	for m := active; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		apart |= a.base[i] - a.base[first] - uint64(i-first)*a.size // 0 if lane after lane is adjacent
	}
	for active != 0 {
		first := bits.TrailingZeros32(active)
		n := choose(apart == 0, bits.Len32(active)-first, 1)
		memory := a.find(first, n)
		if memory == nil {
			apart = 1
			continue
		}
		lanes := active & ((1<<n - 1) << first)
		for _, exchange := range a.elements {
			exchange(memory, first, lanes)
		}
		active &^= lanes
	}
}

// find returns the memory that lanes access: as many lanes as lanes says, from lane on. If
// they are several, find may return nil. Then each must be asked for alone.
func (a *access) find(lane, lanes int) []byte {
	address, size := a.base[lane]+a.offset, a.size*uint64(lanes)
	for i := range a.spaces {
		s := &a.spaces[i]
		start := address - s.base
		if i <= local && a.space == s.name && address>>32 == 0 {
			start = address // the instruction names the space, so the upper half may be missing
		}
		if start>>32 == 0 && start+size <= uint64(s.size) && address%a.size == 0 &&
			(a.space == "" || a.space == s.name) && (lanes == 1 || s.copies == 1) {
			return s.data[lane%s.copies*s.size:][start:][:size]
		}
	}
	if lanes == 1 {
		thread := a.thread + lane
		a.check(address%size == 0, "thread %d: %d bytes at %#x are not aligned", thread, size, address)
		a.check(false, "thread %d: %d bytes at %#x are outside %s memory: %s",
			thread, size, address, cmp.Or(a.space, "all"), a.memory)
	}
	return nil
}
