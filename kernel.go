package bfi

import (
	"os"
	"strconv"

	"github.com/klauspost/cpuid/v2"
)

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
// change it.
var current = choose(os.Getenv("BFI_KERNEL"))

// streamBytes is how much a call must move for its stores to bypass the cache:
// what the last-level cache holds.
var streamBytes = lastLevelCache()

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

// lastLevelCache is the size of the last-level cache, or a common size where the
// processor does not tell, as many virtual machines do not.
func lastLevelCache() int {
	if l3 := cpuid.CPU.Cache.L3; l3 > 0 {
		return l3
	}
	return 32 << 20
}
