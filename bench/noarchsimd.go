//go:build !goexperiment.simd || !amd64

package main

const simdVectors = ""

func simdLoop[T word](function, *operands[T]) func(iters int) { return nil }
