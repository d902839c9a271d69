// Gen writes the library's assembly and the Go that calls it. Run it by go
// generate in the library's root.
//
// With -prove it proves instead, by z3, that every lane formula it emits equals
// the PTX or AMD instruction for all operands.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	proof := flag.Bool("prove", false, "prove the lane formulas by z3 instead of writing files")
	flag.Parse()
	run := generate
	if *proof {
		run = func() error { return prove(os.Stdout) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// outputs are the generated files, named from the library's root.
var outputs = map[string]func() ([]byte, error){
	"bfi_amd64.s":    renderAMD64,
	"bfi_arm64.s":    renderARM64,
	"stubs_amd64.go": func() ([]byte, error) { return renderStubs("amd64", avx512, avx2) },
	"stubs_arm64.go": func() ([]byte, error) { return renderStubs("arm64", neon) },
}

func generate() error {
	for name, render := range outputs {
		text, err := render()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile("../"+name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

const generatedBy = "go generate from gen"

// buildTags is the constraint of an architecture's assembly, as a line of the
// tags that must all hold.
func buildTags(arch string) string { return arch + ",gc,!purego,!noasm,!appengine" }
