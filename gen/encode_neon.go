package main

import (
	"fmt"
	"strings"
)

// Go's assembler lacks some NEON instructions. They are written as WORDs, with the
// mnemonic in a comment.

// A vreg is the number of a vector register.
type vreg uint32

func (v vreg) String() string { return fmt.Sprintf("V%d", uint32(v)) }

// An encoding is an encoded instruction and its text.
type encoding struct {
	code uint32
	text string
}

func (e encoding) String() string { return fmt.Sprintf("WORD $0x%08x // %s", e.code, e.text) }

// threeSame encodes an instruction with two sources and a destination of one
// arrangement. All such instructions have the same bits 31, 28 to 24, 21 and 10. Bit 30
// says that vectors have 128 bits.
func threeSame(u, size, opcode uint32, mnemonic, lanes string, d, n, m vreg) encoding {
	checkRegisters(mnemonic, d, n, m)
	return encoding{
		1<<30 | u<<29 | 0b01110<<24 | size<<22 | 1<<21 | uint32(m)<<16 | opcode<<11 | 1<<10 | uint32(n)<<5 | uint32(d),
		fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s", mnemonic, d, lanes, n, lanes, m, lanes),
	}
}

// ushl encodes d = n << m, or n >> -m filled with zeros if m is negative. Only m's low
// byte counts.
func ushl(bits int, d, n, m vreg) encoding {
	size, lanes := arrangement(bits)
	return threeSame(1, size, 0b01000, "ushl", lanes, d, n, m)
}

// sshl encodes the same as ushl, but right shifts are filled with the sign.
func sshl(bits int, d, n, m vreg) encoding {
	size, lanes := arrangement(bits)
	return threeSame(0, size, 0b01000, "sshl", lanes, d, n, m)
}

// uqsub encodes d = n - m, or 0 if that is negative.
func uqsub(bits int, d, n, m vreg) encoding {
	size, lanes := arrangement(bits)
	return threeSame(1, size, 0b00101, "uqsub", lanes, d, n, m)
}

// bic encodes d = n &^ m.
func bic(d, n, m vreg) encoding {
	return threeSame(0, 0b01, 0b00011, "bic", "16b", d, n, m)
}

// neg encodes d = -n.
func neg(bits int, d, n vreg) encoding {
	checkRegisters("neg", d, n)
	size, lanes := arrangement(bits)
	return encoding{
		0b0110_1110<<24 | size<<22 | 0b10000_01011_10<<10 | uint32(n)<<5 | uint32(d),
		fmt.Sprintf("neg v%d.%s, v%d.%s", d, lanes, n, lanes),
	}
}

// arrangement returns the encoding and the name of a vector with lanes of so many bits.
func arrangement(bits int) (size uint32, lanes string) {
	switch bits {
	case 8:
		return 0b00, "16b"
	case 16:
		return 0b01, "8h"
	case 32:
		return 0b10, "4s"
	case 64:
		return 0b11, "2d"
	}
	panic(fmt.Sprintf("no arrangement of %d-bit lanes, want 8, 16, 32 or 64", bits))
}

// goArrangement returns arrangement's name in the syntax of Go's assembler.
func goArrangement(bits int) string {
	_, lanes := arrangement(bits)
	return strings.ToUpper(lanes[len(lanes)-1:] + lanes[:len(lanes)-1])
}

func checkRegisters(mnemonic string, registers ...vreg) {
	for _, r := range registers {
		if r > 31 {
			panic(fmt.Sprintf("%s: no register v%d, want v0 to v31", mnemonic, uint32(r)))
		}
	}
}
