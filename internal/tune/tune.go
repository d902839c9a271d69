// Package tune has the choices that the library makes once, when a process starts. The
// benchmarks of this repository can change them.
package tune

var (
	// Kernels has the names of the kernels that this process can run, the worst first.
	Kernels []string
	// Use makes the library run the named kernel.
	Use func(kernel string)
	// StreamBytes is the number of bytes that a call must move before its stores bypass
	// the cache.
	StreamBytes *uintptr
)
