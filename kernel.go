package bfi

import (
	"math"
	"os"
	"strconv"

	"github.com/gobfi/bfi/internal/tune"
)

// Terms of the internals:
//
//	word     a value of type T that fields are inserted into or extracted from
//	lane     one index i of a call: dst[i] and the elements that it is made from
//	field    bits of a word, given by pos and width
//	column   a slice with the values of one field, an element for each word
//	plain    of fields: each fits its elements and the word, and no two overlap
//	uneven   of fields: not plain; Pack and Unpack first make plain fields of them
//	kernel   the loop that does one function's work at one level, in assembly or Go
//	level    a set of kernels, one for each function: generic, neon, avx2 or avx512
//	piece    the part of a long call that one kernel run processes, without preemption
//	stream   to store past the cache
//	target   in gen: a level and the width of a kernel's lanes

// A level is a set of kernels. All but levelGeneric are assembly. On one
// architecture a higher level is a faster one.
type level int

const (
	levelGeneric level = iota
	levelNEON
	levelAVX2
	levelAVX512
)

var levelNames = [...]string{"generic", "neon", "avx2", "avx512"}

// levelList has the names for messages, the best first.
const levelList = "avx512, avx2, neon, generic"

func (l level) String() string { return levelNames[l] }

// current is the level that this process runs. Only tests and benchmarks change it
// after init.
var current = choose(os.Getenv("BFI_KERNEL"))

// streamBytes is the number of bytes that a call must read and write before it
// streams. Unless init lowers it, no call does.
var streamBytes uintptr = math.MaxInt

// pieceBytes bounds what one kernel run writes. The runtime cannot preempt assembly,
// so a garbage collection waits for at most one piece before it stops the world.
const pieceBytes = 64 << 10

// Kernel returns the name of the kernels that this process runs: "avx512", "avx2",
// "neon" or "generic".
//
// They are the best that the processor and the operating system support. The
// environment variable BFI_KERNEL caps the choice. If it names no kernel, a line on
// standard error says so, and it is ignored. With the build tags purego, noasm or
// appengine, or another compiler than gc, the name is "generic". It never changes
// while the process runs.
func Kernel() string { return current.String() }

// choose returns the best level of this machine that is not above the level named
// limit. If limit is empty, every level will do. If limit is unknown, choose reports
// that and ignores it, because a library must not end the program that links it.
func choose(limit string) level {
	most, known := parseLevel(limit)
	if !known {
		most = levelAVX512
		if limit != "" {
			os.Stderr.WriteString("bfi: BFI_KERNEL=" + strconv.Quote(limit) + " is none of " + levelList + "; ignored\n")
		}
	}
	best := levelGeneric
	for _, l := range supported() {
		if l <= most {
			best = max(best, l)
		}
	}
	return best
}

func parseLevel(name string) (l level, known bool) {
	for l, n := range levelNames {
		if n == name {
			return level(l), true
		}
	}
	return 0, false
}

func init() {
	tune.StreamBytes = &streamBytes
	tune.Use = func(kernel string) {
		l, known := parseLevel(kernel)
		if !known {
			panic("bfi: kernel " + strconv.Quote(kernel) + " is none of " + levelList)
		}
		current = l
	}
	for _, l := range supported() {
		tune.Kernels = append(tune.Kernels, l.String())
	}
}
