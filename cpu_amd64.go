//go:build amd64 && gc && !purego && !noasm && !appengine

package bfi

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

func supported() []level {
	levels := []level{levelGeneric}
	if !cpuid.CPU.Supports(cpuid.AVX, cpuid.AVX2, cpuid.BMI2) {
		return levels
	}
	levels = append(levels, levelAVX2)
	// darwin enables AVX-512 for a thread when the thread first uses it. Until then
	// cpuid sees a system without support.
	if runtime.GOOS != "darwin" &&
		cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL) {
		levels = append(levels, levelAVX512)
	}
	return levels
}

// fastPEXT reports whether PEXT and PDEP are single operations. AMD's processors
// before Zen 3 have them in microcode, where a portable loop is faster.
var fastPEXT = !(cpuid.CPU.IsVendor(cpuid.AMD) && cpuid.CPU.Family < 0x19 || cpuid.CPU.IsVendor(cpuid.Hygon))

// vbmi reports whether the processor can permute bytes across a vector. Not every
// processor with the AVX-512 level can.
var vbmi = cpuid.CPU.Supports(cpuid.AVX512VBMI)

// shareOfCache is how much of the last-level cache one core has to itself. We measured
// it: calls that move more bytes are faster if they stream, even if the cache is larger.
const shareOfCache = 80 << 20

func init() {
	streamBytes = 32 << 20 // many virtual machines do not report the size of the cache
	if l3 := cpuid.CPU.Cache.L3; l3 > 0 {
		streamBytes = min(uintptr(l3), shareOfCache)
	}
}
