package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The checked-in files must be what the generator writes.
func TestOutputs(t *testing.T) {
	for name, render := range outputs {
		want, err := render()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		have, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is not what the generator writes: run go generate in the library's root", name)
		}
	}
}

// A kernel may need no more of the processor than its level makes sure of.
func TestRequirements(t *testing.T) {
	guard, err := os.ReadFile("../dispatch_amd64.go")
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(guard), "levelAVX2)")
	if !found {
		t.Fatal("dispatch_amd64.go does not append levelAVX2")
	}
	baseline := []string{"MMX+"} // of SFENCE, which all of amd64 has
	features := func(s string) (list []string) {
		for _, m := range regexp.MustCompile(`cpuid\.([A-Z0-9]+)`).FindAllStringSubmatch(s, -1) {
			list = append(list, m[1])
		}
		return list
	}
	assured := map[string][]string{"AVX2": append(baseline, features(before)...)}
	assured["AVX512"] = append(slices.Clone(assured["AVX2"]), features(after)...)

	assembly, err := renderAMD64()
	if err != nil {
		t.Fatal(err)
	}
	functions := regexp.MustCompile(`// Requires: (.*)\nTEXT ·\w+?(AVX2|AVX512)\(SB\)`).FindAllSubmatch(assembly, -1)
	if want := bytes.Count(assembly, []byte("TEXT ")); len(functions) != want {
		t.Fatalf("%d functions say what they require, want all %d", len(functions), want)
	}
	for _, m := range functions {
		for _, feature := range strings.Split(string(m[1]), ", ") {
			if !slices.Contains(assured[string(m[2])], feature) {
				t.Errorf("%s requires %s; dispatch_amd64.go makes sure only of %v",
					bytes.TrimPrefix(m[0][bytes.Index(m[0], []byte("TEXT")):], []byte("TEXT ·")), feature, assured[string(m[2])])
			}
		}
	}
}
