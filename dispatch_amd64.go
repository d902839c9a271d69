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
