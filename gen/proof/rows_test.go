package proof

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// mutantRows lists the rows that only mutants of kernels use. The proof must know an
// instruction to refute it.
var mutantRows = strings.Fields("ADCQ JBE STC VPADDD VPADDQ VPADDW VPORD BLE VADD VBIF VCMEQ VUMAX VUQADD")

// TestRowsAreUsed checks that a kernel or a mutant uses each row of the tables.
func TestRowsAreUsed(t *testing.T) {
	used := map[string]bool{}
	for _, arch := range []string{"amd64", "arm64"} {
		var files []File
		for _, name := range []string{"bfi_" + arch + ".s", "dispatch_" + arch + ".go"} {
			text, err := os.ReadFile("../../" + name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, File{name, string(text)})
		}
		functions, err := parseAll(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range functions {
			for _, in := range f.insts {
				name, _, _ := strings.Cut(in.mnemonic, ".")
				used[name] = true
			}
		}
	}
	for _, table := range []map[string]meaning{amd64Table, arm64Table} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if !used[name] && !slices.Contains(mutantRows, name) {
				t.Errorf("no kernel uses the row of %s", name)
			}
		}
	}
	for _, name := range mutantRows {
		if used[name] {
			t.Errorf("a kernel uses the row of %s, want it only among the kernels' rows", name)
		}
	}
}
