//go:build arm64 && gc && !purego && !noasm && !appengine

package bfi

// supported needs to detect nothing: every arm64 processor that Go runs on has
// NEON.
func supported() []level { return []level{levelGeneric, levelNEON} }
