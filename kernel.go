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
// the assembly out. It never changes while the process runs.
func Kernel() string { return current.String() }

// choose picks the best level of this machine that is not above the one named
// limit. The empty name is no limit.
func choose(limit string) level {
	most := levelAVX512
	if limit != "" {
		most = parseLevel(limit)
	}
	best := levelGeneric
	for _, l := range supported() {
		if l <= most {
			best = max(best, l)
		}
	}
	return best
}

func parseLevel(name string) level {
	for l, n := range levelNames {
		if n == name {
			return level(l)
		}
	}
	panic("bfi: BFI_KERNEL = " + strconv.Quote(name) + ", want avx512, avx2, neon or generic")
}

func init() {
	tune.StreamBytes = &streamBytes
	tune.Use = func(kernel string) { current = parseLevel(kernel) }
	for _, l := range supported() {
		tune.Kernels = append(tune.Kernels, l.String())
	}
}
