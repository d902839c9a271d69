package proof

import (
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Proofs are remembered in files of a directory. A file's name is a hash of all that the
// proof of a kernel depends on: the function's instructions and arguments, the data that it
// uses, its specification, this package's sources and z3's version. If the file is there, the
// kernel is not proved again.

//go:embed *.go
var sources embed.FS

// A cache is a directory of proofs. The zero cache remembers nothing.
type cache struct {
	dir   string
	tools []byte // a hash of this package's sources and of z3's version
}

// newCache returns the cache in a directory, or one that remembers nothing if dir is
// empty.
func newCache(dir string) (cache, error) {
	if dir == "" {
		return cache{}, nil
	}
	h := sha256.New()
	version, err := exec.Command("z3", "--version").Output()
	if err != nil {
		return cache{}, err
	}
	h.Write(version)
	names, err := fs.Glob(sources, "*.go")
	for _, name := range names {
		text, fail := sources.ReadFile(name)
		err = errors.Join(err, fail)
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	return cache{dir, h.Sum(nil)}, errors.Join(err, os.MkdirAll(dir, 0o777))
}

// A record holds the facts from a proof that checks of all kernels together need.
type record struct {
	Reached []bool // the instructions that were executed
	Ways    []exit // the ways that the jumps went
}

// A proof can be remembered by a cache.
type proof interface {
	identity(w io.Writer) // writes all that the proof depends on, except the tools
}

// path returns the path of a proof's file.
func (c cache) path(p proof) string {
	h := sha256.New()
	h.Write(c.tools)
	p.identity(h)
	return filepath.Join(c.dir, fmt.Sprintf("%x", h.Sum(nil)))
}

func (e extraction) identity(w io.Writer) { io.WriteString(w, e.script()) }

func (s *subject) identity(h io.Writer) {
	fmt.Fprintf(h, "%+v\n%+v\n", s.Kernel, s.function.params)
	used := map[string]bool{}
	for _, in := range s.function.insts {
		fmt.Fprintf(h, "%s -> %d\n", in.text, in.target)
		for _, o := range in.operands {
			used[o.name] = used[o.name] || o.kind == isStatic
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if used[name] {
			fmt.Fprintf(h, "%s %x\n", name, s.function.static[name])
		}
	}
}

// find returns a proof's record, or nil if the cache has none.
func (c cache) find(p proof) *record {
	if c.dir == "" {
		return nil
	}
	text, err := os.ReadFile(c.path(p))
	r := new(record)
	if err != nil || json.Unmarshal(text, r) != nil {
		return nil
	}
	return r
}

// add remembers a proof.
func (c cache) add(p proof, r record) error {
	if c.dir == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// Another process may write the same file.
	f, err := os.CreateTemp(c.dir, "new")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), c.path(p))
}

// line writes a line that says how a kernel was proved.
func (s *subject) line(w io.Writer) {
	if s.remembered {
		fmt.Fprintf(w, "%s: proved before\n", s)
		return
	}
	fmt.Fprintf(w, "%s: proved in %d runs and %d blind ones, in every situation up to %d lanes, %d expressions, %.1f + %.1f s\n",
		s, s.runs, s.looks, s.longest, len(s.claims), s.executing.Seconds(), s.solving.Seconds())
}
