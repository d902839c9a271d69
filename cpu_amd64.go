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
	// The kernel of darwin enables AVX-512 only once a thread has used it, which
	// cpuid cannot tell from no support.
	if runtime.GOOS != "darwin" &&
		cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL) {
		levels = append(levels, levelAVX512)
	}
	return levels
}

// shareOfCache is what one core can count on of a last-level cache, whatever the
// whole socket's size: a call that moves more gains by bypassing it.
const shareOfCache = 80 << 20

func init() {
	streamBytes = 32 << 20 // where the processor does not tell, as many virtual machines do not
	if l3 := cpuid.CPU.Cache.L3; l3 > 0 {
		streamBytes = min(uintptr(l3), shareOfCache)
	}
}
