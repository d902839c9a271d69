// Package proof proves the library's assembly: the checked-in text of every kernel
// computes in each lane what PTX or the AMD ISA says, for all data.
//
// # How it works
//
// The package reads the assembly files and the Go declarations of their functions. It
// knows nothing about how they were made.
//
//   - A run executes a function from its entry to RET in one situation: a length, an
//     alignment of dst, columns, and so on. General registers, flags and addresses are
//     numbers. Lanes are expressions of the operands' lanes, which are unknown. See
//     machine.go; amd64.go and arm64.go are the instructions.
//   - z3 shows that each expression that is stored, with lanes counted from the result's
//     own, equals the specification. See theorem.go. Lanes have few different
//     expressions, so each is proved once.
//   - A blind run executes the same without lanes, and checks that each value that is
//     stored was made in a way that a run with lanes has shown to be right. See blind.go.
//     Blind runs are quick, so there is one for every length that Go asks for.
//
// It is an error if an instruction reads an undefined register or flag, accesses memory
// outside the operands, writes anything but dst, lets data other than a mask decide where
// it goes on or what it accesses, breaks the calling convention, belongs to another level
// than its function, or is never executed. It is also an error if a conditional jump goes
// only one of its ways: ways.go lists the exceptions, with the reason why nothing that Go
// asks for leads there. The error names the line and the situation.
//
// # What is run
//
// Slices, Pack and Unpack: every length up to the longest piece that Go hands out, with
// and without stream. Up to two turns and a vector past the last length at which anything
// new was met, all that follows is combined with every alignment of dst; from there on
// the lengths take turns with the alignments.
//
//   - Slices: with and without a sign. dst is an operand if the order of reads and writes
//     lets that make a difference.
//   - Pack: no column; one of each kind, constants among them; a row in which each kind
//     comes after each. Long lengths have no column, or three of which one is a constant.
//     The first lane is 0, 5, 64 or 4096 in turn.
//   - Unpack: one column of each kind, and another one before or after it; none, and nine.
//     The first lane is 0, 5, 64 or 4096 in turn.
//
// Masked kernels, whose runs are all with lanes: lengths up to two turns of the longest
// loop past where the last of the instructions is first executed. For longer slices, the
// states at the head of each loop are compared: they must be the same in each turn but
// for counters and lanes that move on evenly. A masked kernel may jump by bits of the mask
// (skip.go). Such a jump must go one way exactly when some lanes are all inactive. That
// way may not write. Where the two ways meet, dst must hold what it held at the jump if
// those lanes are inactive. It is also an error if a masked kernel accesses an operand but
// where such a jump skips the access: if none of 64 lanes is active, counted from a
// multiple of 64, none of them is accessed.
//
// Dense kernels: see dense.go.
//
// A Permute kernel is run on calls with each size of groups and each stride, but not with
// every table of where bytes come from: permute.go says which. Each byte of dst must be the
// byte of a move, or of the value, that the call asks for, and no gap may be written. No
// theorem is needed for that.
//
// A Steps kernel is NEON's permute. Go makes the tables of indices for it, so it is proved for whatever tables:
// steps.go. What remains to Go, and is tested only, is that the tables are those of the call.
//
// # Why blind runs are enough
//
// A blind run differs from a run with lanes only in vector registers: general registers,
// flags, masks, addresses and the order of instructions are computed by the same code. In
// place of a vector it has a number for the instruction that made it and the numbers of
// the sources, with the lanes of what was loaded counted from a lane. Two vectors with
// equal numbers hold equal expressions, but for that lane. So if a run with lanes has shown
// that a value stored at a lane is right, an equal one is right at any lane. If a blind run
// stores another value, the situation is run with lanes. A blind run also checks that what
// it stores covers dst exactly. In a loop it leaves out turns: if two turns differ only by
// even steps of registers and accesses, and the numbers that their jumps compare keep their
// order for so many more turns, those turns do the same, shifted.
//
// # What is assumed
//
// The tables of instructions say what processors do; a test compares them with processors.
// Terms are simplified rightly; a test compares them with their values. Besides: z3, Go's
// assembler, and that Go calls kernels as the table of kernels says. The Go code is tested
// only: mask and value are the field's in every lane; shift, mask and sign are those of
// the field (extract.go shows that bfe comes out then, but for Field.From); the fields of
// a Pack have no bit in common; those of an Unpack end in the words and the elements, or
// Go makes others of them that do; pieces of a slice are handed out as one.
//
// # How to read a refusal
//
// "the proof does not know" says that a table lacks an instruction, or one with such
// operands: nothing is said about the kernel. "wrong:" is followed by the line and the
// situation. If it ends in "want = ..., have = ..., by INSTRUCTION", the lane of dst is
// wrong for the operands that come before; try them in a test. "no length executes it"
// means that code is dead, or that it is for
// a situation that is not run. "never jumps" and "always jumps" mean the same of one way of
// a jump. Add the situation if Go asks for it; else simplify the kernel, or give the reason
// in ways.go. "something depends on the address of src" and the like
// mean that a kernel looks at what the proof does not vary.
//
// # How to add to it
//
// An instruction: add a row to amd64Table or arm64Table. If the instruction is of
// AVX-512 in every form, add it to amd64Features; if its wide form is of AVX-512BW, to
// amd64Wide. Call a kernel that has the instruction in the test of the model.
//
// A shape: add it to Shape and to subject.execute, and say there which situations Go asks
// for. subject.lengths runs lengths; subject.alignments runs one length. subject.blindly
// says whether runs of the shape can be blind.
//
// A specification: add its name beside BFI, and what a lane must be to theorem.want.
//
// Then break a kernel by hand in each way that the new part is to refuse, and add that to
// the cases of TestProofRefutes.
package proof
