// Package proof proves the library's assembly: for all data, the checked-in text of every
// kernel computes in each lane the value that PTX or the AMD ISA specifies.
//
// # How it works
//
// The package reads the assembly files and the Go declarations of their functions. It
// knows nothing about how they were made.
//
//   - A run executes a function from its entry to RET in one situation: a length, an
//     alignment of dst, columns, and so on. General registers, flags and addresses are
//     numbers. Lanes are expressions of the operands' lanes, which are unknown. See
//     machine.go; amd64.go and arm64.go define the instructions.
//   - z3 shows that each stored expression equals the specification. Its lanes are counted
//     from the result's lane, so there are few different expressions. Each is proved once.
//     See theorem.go.
//   - A blind run executes the same function without lanes. It checks that each stored
//     value was made in a way that a run with lanes has shown to be right. See blind.go.
//     Blind runs are quick, so there is one for every length that Go asks for.
//
// The proof fails if an instruction
//
//   - reads an undefined register or flag,
//   - accesses memory outside the operands,
//   - writes memory other than dst and the function's frame,
//   - lets data other than a mask decide where it goes on or what it accesses,
//   - breaks the calling convention,
//   - belongs to another level than its function, or
//   - is never executed.
//
// It also fails if a conditional jump goes only one way in all runs. ways.go lists the
// exceptions, with the reason why no call from Go takes the other way. The error names the
// line and the situation.
//
// # What is run
//
// Slices, Pack and Unpack: every length up to the longest piece that Go hands out, with
// and without stream. Up to two turns and a vector past the last length at which a run met
// anything new, all of the following is combined with every alignment of dst. Longer
// lengths take turns with the alignments.
//
//   - Slices: with and without a sign. If the kernel reads an operand where it has written
//     dst, it is also run with dst as that operand.
//   - Pack: no column; one column of each kind, including constants; a sequence of columns
//     that contains every ordered pair of kinds other than constants. Long lengths have no
//     column, or three columns, one of them a constant. The first lane is 0, 5, 64 or 4096
//     in turn.
//   - Unpack: one column of each kind, alone and with another column before or after it; no
//     column; nine columns. The first lane is 0, 5, 64 or 4096 in turn.
//
// Masked kernels: all runs are with lanes. The lengths go up to two turns of the longest
// loop and a vector past the length at which the last instruction is first executed. For
// longer slices, the states at the head of each loop are compared. They must be the same in
// each turn, except for counters and lanes that move on evenly.
//
// A masked kernel may jump by bits of the mask (skip.go). Such a jump must go one way exactly
// if all lanes of some set are inactive. That way may not write. Where the two ways meet, dst
// must hold the same as at the jump if those lanes are inactive. Such a jump must guard each
// access to an operand: if all 64 lanes from a multiple of 64 on are inactive, the kernel
// accesses none of them.
//
// Dense kernels: see dense.go.
//
// A Permute kernel is run with each size of groups and each stride, but not with every table
// of the places that bytes come from. permute.go lists the calls. Each byte of dst must be the
// byte of a move, or of the value, that the call asks for, and no gap may be written. This
// needs no theorem.
//
// A Steps kernel is NEON's permute. Go makes its tables of indices, and it is proved for all
// tables: see steps.go. That Go makes the right tables for a call is only tested.
//
// # Why blind runs are enough
//
// A blind run differs from a run with lanes only in vector registers. The same code computes
// general registers, flags, masks, addresses and the order of instructions. Each vector is
// replaced with a number. It stands for the instruction that made the vector and for the
// numbers of its sources; the lanes of loaded data are counted from one lane. Two vectors with
// equal numbers hold equal expressions, except for that lane. So if a run with lanes has shown
// that a value stored at a lane is right, an equal value is right at any lane. If a blind run
// stores another value, the situation is run with lanes. A blind run also checks that its
// stores cover dst exactly.
//
// A blind run leaves out turns of loops. Take two turns that differ only by even steps of
// registers and accesses. While the numbers that their jumps compare keep their order, later
// turns do the same, shifted.
//
// # What is assumed
//
//   - The tables of instructions say what processors do. A test compares them with processors.
//   - Terms are simplified rightly. A test compares them with their values.
//   - z3 and Go's assembler are right.
//   - Go calls kernels as the table of kernels says.
//
// The Go code is only tested:
//
//   - In every lane, mask and value are those of the field.
//   - Shift, mask and sign are those of the field. Then the result is bfe, except with
//     Field.From: see extract.go.
//   - The fields of a Pack have no bit in common.
//   - The fields of an Unpack end in the words and the elements, or Go replaces them with
//     fields that do.
//   - The pieces of a slice together are the slice.
//
// # How to read a refusal
//
// "the proof does not know" means that a table lacks an instruction, or its form with such
// operands. It says nothing about the kernel. "wrong:" is followed by the line and the
// situation. If the error ends in "want = ..., have = ..., by INSTRUCTION", the lane of dst is
// wrong for the operands listed before; try them in a test. "no length executes it" means that
// the code is dead, or is for a situation that is not run. "never jumps" and "always jumps"
// mean the same for one way of a jump. Add the situation if Go asks for it; else simplify the
// kernel, or give the reason in ways.go. "something depends on the address of src" means that
// the kernel uses an address that the proof does not vary.
//
// # How to add to it
//
// An instruction: add a row to amd64Table or arm64Table. If every form of the instruction is
// of AVX-512, add it to amd64Features. If its wide form is of AVX-512BW, add it to amd64Wide.
// In the test of the model, call a kernel that has the instruction.
//
// A shape: add it to Shape and to subject.execute, and say there which situations Go asks
// for. subject.lengths runs lengths; subject.alignments runs one length. subject.blindly
// says whether runs of the shape can be blind.
//
// A specification: add its name beside BFI, and the value of a lane to theorem.want.
//
// Then break a kernel by hand in each way that the new part must refuse, and add these changes
// to the cases of TestProofRefutes.
package proof
