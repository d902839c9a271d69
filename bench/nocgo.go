//go:build !cgo

package main

const cCompiler = ""

func cWork(string, *operands) func(iters int) { return nil }

func cLimit([]move, *operands) func(iters int) { return nil }
