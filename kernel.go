package bfi

import (
	"math"
	"os"
	"strconv"

	"github.com/gobfi/bfi/internal/tune"
)

// The words of the internals:
//
//	lane     one position of a slice, a warp or a vector, and what is done there
//	word     what dst has in a lane: T
//	field    bits of a word, given by pos and width
//	column   a slice with one field's values, an element a lane
//	kernel   the loop that does one function's work at one level: assembly or Go
//	level    a set of kernels, one for each function: generic, neon, avx2, avx512
//	piece    what one run of a kernel does of a long slice, while no one can stop it
//	stream   to store past the cache
//	target   in gen: a level and the widths of a kernel's lanes

// A level is a set of kernels. Those above levelGeneric are assembly for one
// architecture, each better than the one before it.
type level int

const (
	levelGeneric level = iota
	levelNEON
	levelAVX2
	levelAVX512
)

var levelNames = [...]string{"generic", "neon", "avx2", "avx512"}

// levelList is levelNames as messages have them, the best first.
const levelList = "avx512, avx2, neon, generic"

func (l level) String() string { return levelNames[l] }

// current is the level that this process runs. It is fixed at init; only tests
// and benchmarks change it.
var current = choose(os.Getenv("BFI_KERNEL"))

// streamBytes is how much a call must move for its stores to bypass the cache.
// Few levels can.
var streamBytes uintptr = math.MaxInt

// pieceBytes bounds how much of dst one run of a kernel writes. The runtime
// cannot preempt assembly, so a garbage collection that wants to stop the world
// waits for at most one piece.
const pieceBytes = 64 << 10

// Kernel names the kernels that this process runs: "avx512", "avx2", "neon" or
// "generic".
//
// It is the best of those that the processor and the operating system support,
// unless the environment variable BFI_KERNEL caps the choice or build tags left
// the assembly out. It never changes while the process runs. A BFI_KERNEL that
// names no kernel is reported on standard error and ignored.
func Kernel() string { return current.String() }

// choose picks the best level of this machine that is not above the one named
// limit. An empty limit is none. An unknown one is reported and is none either: a
// library does not end the program that links it.
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
