// Gen writes the library's assembly and the Go code that calls it. To run it, call
// go generate in the library's root.
//
// With -prove it writes nothing. It proves that the assembly, as it is checked in,
// computes what PTX and the AMD ISA say, for all operands. Package proof says how.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	proof := flag.Bool("prove", false, "prove the assembly instead of writing it")
	symbols := flag.String("kernel", "", "prove only functions whose names match this regular `expression`")
	all := flag.Bool("all", false, "prove also what was proved before, and remember nothing")
	root := flag.String("root", "..", "prove the assembly in this `directory`")
	flag.Parse()
	run := generate
	if *proof {
		run = func() error {
			pattern, err := regexp.Compile(*symbols)
			if err != nil {
				return fmt.Errorf("-kernel: %w", err)
			}
			return prove(os.Stdout, *root, pattern, *all)
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// outputs maps each generated file's path in the library to the function that renders it.
var outputs = map[string]func() ([]byte, error){
	"bfi_amd64.s":         renderAMD64,
	"bfi_arm64.s":         renderARM64,
	"dispatch_amd64.go":   func() ([]byte, error) { return renderDispatch(amd64Arch) },
	"dispatch_arm64.go":   func() ([]byte, error) { return renderDispatch(arm64Arch) },
	"dispatch_generic.go": func() ([]byte, error) { return renderDispatch(genericArch) },
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
