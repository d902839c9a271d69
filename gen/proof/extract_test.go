package proof

import (
	"os/exec"
	"strings"
	"testing"
)

// The theorem about arguments must fail if they are wrong.
func TestExtractionRefutes(t *testing.T) {
	if _, err := exec.LookPath("z3"); err != nil {
		t.Skipf("z3 is not asked: %v", err)
	}
	e := extraction{8, 16, true}
	if err := e.prove(); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"bvsub (bvxor", "bvadd (bvxor"}, // the sign subtracted
		{"(bvlshr kept", "(bvshl kept"},  // another bit is the sign
		{"(bvlshr field", "(bvshl field"},
	} {
		out, err := z3(strings.ReplaceAll(e.script(), change[0], change[1]))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains("\n"+out, "\nsat") {
			t.Errorf("proved with %s for %s", change[1], change[0])
		}
	}
}
