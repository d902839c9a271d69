package main

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/gobfi/bfi"
)

// blockSize is the number of threads of a block.
const blockSize = 128

// defaultLimit is how many instructions one warp may execute.
const defaultLimit = 1 << 24

// A kind says what an instruction does to the program counter.
type kind int

const (
	compute kind = iota // goes on to the next instruction
	jump                // bra
	leave               // ret, exit
)

// An instruction is decoded once and executed by each warp.
type instruction struct {
	kind   kind
	run    run        // of compute
	target int        // of jump
	guard  *predicate // nil: executed by all lanes
	negate bool       // executed where the guard is false
	bfi    bool
	line   int
}

// A param is a kernel parameter; value is a register that has the same value in
// every lane.
type param struct {
	name  string
	value any // *lanes[uint32] or *lanes[uint64]
}

func (p param) pointer() bool {
	_, ok := p.value.(*lanes[uint64])
	return ok
}

// A program is a decoded kernel with the registers of the one warp that
// executes at a time.
type program struct {
	file   string
	lines  []string
	kernel string
	params []param
	code   []instruction

	words32    []*lanes[uint32]
	words64    []*lanes[uint64]
	predicates []*predicate
	special    special

	buffers [][]byte
	thread  int // of lane 0
	limit   int
}

func newProgram(file, source string) *program {
	return &program{file: file, lines: strings.Split(source, "\n"), limit: defaultLimit}
}

// at is a message about a line of the file.
func (p *program) at(line int, msg string) string {
	return fmt.Sprintf("%s:%d: %s\n\t%s", p.file, line, msg, strings.TrimSpace(p.lines[line-1]))
}

// special are the registers that tell a thread where it is. Blocks and grids
// have one dimension.
type special struct {
	tid, ntid, ctaid, nctaid, laneid, zero, one lanes[uint32]
}

func (s *special) registers() map[string]register {
	m := map[string]register{}
	for name, value := range map[string]*lanes[uint32]{
		"%tid.x": &s.tid, "%tid.y": &s.zero, "%tid.z": &s.zero,
		"%ntid.x": &s.ntid, "%ntid.y": &s.one, "%ntid.z": &s.one,
		"%ctaid.x": &s.ctaid, "%ctaid.y": &s.zero, "%ctaid.z": &s.zero,
		"%nctaid.x": &s.nctaid, "%nctaid.y": &s.one, "%nctaid.z": &s.one,
		"%laneid": &s.laneid,
	} {
		m[name] = register{value, true}
	}
	return m
}

// An argument is what a parameter is bound to: a buffer, or a number.
type argument struct {
	buffer []byte
	number uint32
}

// base is the address of buffer i. Buffers lie far apart, so that an address
// past the end of one is in none.
func base(i int) uint64 { return uint64(i+1) << 32 }

// counts are those of one launch.
type counts struct {
	perBlock, blocks, warps int
	instructions            int // executed, each by a warp
	bfi, bfiLanes           int // bfi among them, and the lanes they were executed in
	branches, splits        int // bra among them, and how many of those divided their warp
}

// launch runs the kernel in at least so many threads, rounded up to whole
// blocks.
func (p *program) launch(threads int, args []argument) (counts, error) {
	perBlock := min(threads, blockSize)
	c := counts{blocks: (threads + perBlock - 1) / perBlock, perBlock: perBlock}
	p.bind(args)
	p.special.one = *splat(uint32(1))
	p.special.ntid = *splat(uint32(perBlock))
	p.special.nctaid = *splat(uint32(c.blocks))
	for i := range p.special.laneid {
		p.special.laneid[i] = uint32(i)
	}
	for block := range c.blocks {
		p.special.ctaid = *splat(uint32(block))
		for first := 0; first < perBlock; first += bfi.WarpSize {
			for i := range p.special.tid {
				p.special.tid[i] = uint32(first + i)
			}
			p.thread = block*perBlock + first
			live := ^uint32(0) >> (bfi.WarpSize - min(perBlock-first, bfi.WarpSize))
			c.warps++
			if err := p.warp(live, &c); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// bind gives the parameters their arguments.
func (p *program) bind(args []argument) {
	p.buffers = nil
	for i, param := range p.params {
		switch value := param.value.(type) {
		case *lanes[uint32]:
			*value = *splat(args[i].number)
		case *lanes[uint64]:
			*value = *splat(base(len(p.buffers)))
			p.buffers = append(p.buffers, args[i].buffer)
		}
	}
}

// warp executes the kernel in the live lanes of one warp.
//
// Lanes diverge at branches. The ones with the lowest program counter run, until
// they reach others, which join them, or jump past others, which run then. So
// lanes that took different ways meet again where the ways do.
func (p *program) warp(live uint32, c *counts) error {
	for _, r := range p.words32 {
		*r = lanes[uint32]{}
	}
	for _, r := range p.words64 {
		*r = lanes[uint64]{}
	}
	for _, r := range p.predicates {
		*r = 0
	}
	at := make([]uint32, len(p.code)+1) // the lanes whose program counter is there
	at[0] = live
	executed := 0
	for pc := 0; pc < len(p.code); {
		here := at[pc]
		if here == 0 {
			pc++
			continue
		}
		at[pc] = 0
		in := &p.code[pc]
		if executed++; executed > p.limit {
			return fmt.Errorf("%s", p.at(in.line, fmt.Sprintf("threads %d and up executed %d instructions: an endless loop?", p.thread, p.limit)))
		}
		active := here
		if in.guard != nil {
			active &= uint32(*in.guard)
			if in.negate {
				active = here &^ active
			}
		}
		pc++
		switch in.kind {
		case compute:
			if in.bfi {
				c.bfi++
				c.bfiLanes += bits.OnesCount32(active)
			}
			if err := in.run(active); err != nil {
				return fmt.Errorf("%s", p.at(in.line, err.Error()))
			}
			at[pc] |= here
		case jump:
			c.branches++
			if active != 0 && active != here {
				c.splits++
			}
			at[pc] |= here &^ active
			at[in.target] |= active
			if active != 0 {
				pc = min(pc, in.target)
			}
		case leave:
			at[pc] |= here &^ active
		}
	}
	c.instructions += executed
	return nil
}

// bytes are those of one lane at an address in memory.
func (p *program) bytes(lane int, address, size uint64, access string) ([]byte, error) {
	i, offset := address>>32-1, address&(1<<32-1)
	if i >= uint64(len(p.buffers)) || offset+size > uint64(len(p.buffers[i])) {
		var sizes []string
		for i, b := range p.buffers {
			sizes = append(sizes, fmt.Sprintf("%d bytes at %#x", len(b), base(i)))
		}
		return nil, fmt.Errorf("thread %d: %s of %d bytes at %#x is outside the buffers: %s",
			p.thread+lane, access, size, address, strings.Join(sizes, ", "))
	}
	if address%size != 0 {
		return nil, fmt.Errorf("thread %d: %s of %d bytes at %#x is not aligned", p.thread+lane, access, size, address)
	}
	return p.buffers[i][offset : offset+size], nil
}

func load[T word](p *program, dst *lanes[T], base *lanes[uint64], offset uint64, active uint32) error {
	for m := active; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		b, err := p.bytes(i, base[i]+offset, uint64(unsafe.Sizeof(dst[i])), "a load")
		if err != nil {
			return err
		}
		if len(b) == 4 {
			dst[i] = T(binary.LittleEndian.Uint32(b))
		} else {
			dst[i] = T(binary.LittleEndian.Uint64(b))
		}
	}
	return nil
}

func store[T word](p *program, src *lanes[T], base *lanes[uint64], offset uint64, active uint32) error {
	for m := active; m != 0; m &= m - 1 {
		i := bits.TrailingZeros32(m)
		b, err := p.bytes(i, base[i]+offset, uint64(unsafe.Sizeof(src[i])), "a store")
		if err != nil {
			return err
		}
		if len(b) == 4 {
			binary.LittleEndian.PutUint32(b, uint32(src[i]))
		} else {
			binary.LittleEndian.PutUint64(b, uint64(src[i]))
		}
	}
	return nil
}
