package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages are the names and versions of NVIDIA's packages. The corpora name them too.
var packages = [][2]string{
	{"nvidia-cuda-nvcc", "13.5.37"},
	{"nvidia-cuda-nvdisasm", "13.5.37"},
}

// tools are the programs in a virtual environment.
type tools struct {
	ptxas, nvdisasm string
	version         string // the version that ptxas prints
	scratch         string // a directory for disassemblies
}

// install installs the packages in the virtual environment in dir. If there is none, it
// makes one.
func install(dir string) (*tools, error) {
	python := filepath.Join(dir, "bin", "python")
	if _, err := os.Stat(python); err != nil {
		if _, err := output("python3", "-m", "venv", dir); err != nil {
			return nil, err
		}
	}
	args := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"}
	for _, p := range packages {
		args = append(args, p[0]+"=="+p[1])
	}
	if _, err := output(python, args...); err != nil {
		return nil, err
	}
	t := &tools{scratch: filepath.Join(dir, "scratch")}
	if err := os.MkdirAll(t.scratch, 0o777); err != nil {
		return nil, err
	}
	for name, path := range map[string]*string{"ptxas": &t.ptxas, "nvdisasm": &t.nvdisasm} {
		found, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages", "nvidia", "*", "bin", name))
		if err != nil || len(found) != 1 {
			return nil, fmt.Errorf("%d programs named %s in %s (%v), want one", len(found), name, dir, err)
		}
		*path = found[0]
	}
	text, err := output(t.ptxas, "--version")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	t.version = lines[len(lines)-1]
	return t, nil
}

// output runs a program and returns what it prints.
func output(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return string(out), nil
}

// assemble assembles PTX for a target and returns the functions in the disassembly. It
// keeps the disassembly in scratch, so an interrupted run can continue.
func (t *tools) assemble(ptx, target, level string) (map[string][]instruction, error) {
	key := fmt.Sprintf("%x.sass.gz", sha256.Sum256(fmt.Append(nil, t.version, target, level, ptx)))
	text, err := readZipped(filepath.Join(t.scratch, key))
	if err == nil {
		return parseSASS(string(text))
	}
	dir, err := os.MkdirTemp(t.scratch, target)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, object := filepath.Join(dir, "k.ptx"), filepath.Join(dir, "k.cubin")
	if err := os.WriteFile(source, []byte(ptx), 0o666); err != nil {
		return nil, err
	}
	if _, err := output(t.ptxas, level, "-arch", target, source, "-o", object); err != nil {
		return nil, err
	}
	disassembly, err := output(t.nvdisasm, "-c", "-hex", object)
	if err != nil {
		return nil, err
	}
	if err := writeZipped(dir, key, []byte(disassembly)); err != nil {
		return nil, err
	}
	if err := os.Rename(filepath.Join(dir, key), filepath.Join(t.scratch, key)); err != nil {
		return nil, err
	}
	return parseSASS(disassembly)
}
