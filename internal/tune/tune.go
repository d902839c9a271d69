// Package tune lets the benchmarks of this repository change what the library
// fixes once, when a process starts.
package tune

var (
	// Kernels names the kernels that this process can run, worst first.
	Kernels []string
	// Use makes the library run a kernel.
	Use func(kernel string)
	// StreamBytes is how much a call must move for its stores to bypass the cache.
	StreamBytes *uintptr
)
