//go:build !cgo

package main

const cCompiler = ""

func cLoop[T word](function, *operands[T], bool) func(iters int) { return nil }
