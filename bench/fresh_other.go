//go:build !linux

package main

// forget clears s. On this system it keeps the pages.
func forget[T word](s []T) { clear(s) }
