// Gen writes the library's assembly and the Go that calls it. Run it by go
// generate in the library's root.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// outputs are the generated files, named from the library's root.
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
