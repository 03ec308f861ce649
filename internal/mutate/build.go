package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A build is the binaries that hold all mutants of a sample.
type build struct {
	root   string // of the module
	folder string // of the binaries
	tests  []string
	byFile map[string][]mutant
}

// others are the packages outside of suites whose tests run checks.
var others = []string{"internal/engine", "internal/selftest", "fuzz"}

// newBuild writes the mutated files and builds the binaries.
func newBuild(
	ctx context.Context, root, folder string, sources []*source, all []listed, sample []mutant,
) (*build, error) {
	b := &build{root: root, folder: folder, byFile: map[string][]mutant{}}
	for _, m := range sample {
		b.byFile[m.path] = append(b.byFile[m.path], m)
	}
	overlay, err := b.writeFiles(sources)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if len(l.TestGoFiles) > 0 && strings.HasPrefix(l.name(), "suites") {
			b.tests = append(b.tests, l.name())
		}
	}
	b.tests = append(b.tests, others...)
	for _, args := range [][]string{
		{"build", "-overlay", overlay, "-o", b.worker(), "./internal/mutate"},
		append([]string{"test", "-c", "-vet=off", "-overlay", overlay, "-o", folder + "/"}, paths(b.tests)...),
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, out)
		}
	}
	return b, nil
}

func paths(names []string) (out []string) {
	for _, name := range names {
		out = append(out, "./"+name)
	}
	return out
}

// writeFiles writes the mutated files, and returns the file for the flag -overlay.
func (b *build) writeFiles(sources []*source) (overlay string, err error) {
	replace := map[string]string{}
	write := func(path, text string) error {
		name := filepath.Join(b.folder, fmt.Sprintf("source%d.go", len(replace)))
		replace[filepath.Join(b.root, path)] = name
		return os.WriteFile(name, []byte(text), 0o600)
	}
	for _, s := range sources {
		mutants := b.byFile[s.path]
		if len(mutants) == 0 {
			continue
		}
		if err := write(s.path, rewrite(s.text, mutants)); err != nil {
			return "", err
		}
		helper := mutants[0].dir() + "/" + helperFile
		if _, done := replace[filepath.Join(b.root, helper)]; done {
			continue
		}
		if err := write(helper, helpers(s.file.Name.Name)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(b.folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// worker returns the path of this program with the mutants.
func (b *build) worker() string { return filepath.Join(b.folder, "mutate") }

// hasTests reports whether a package has tests.
func (b *build) hasTests(name string) bool {
	_, err := os.Stat(b.binary(name))
	return err == nil
}

// binary returns the path of the test binary of a package.
func (b *build) binary(name string) string {
	return filepath.Join(b.folder, filepath.Base(name)+".test")
}

// command returns a command with mutants in effect, in the folder of a package.
func (b *build) command(ctx context.Context, in []mutant, dir, path string, args ...string) *exec.Cmd {
	var ids []string
	for _, m := range in {
		ids = append(ids, fmt.Sprint(m.id))
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = filepath.Join(b.root, dir)
	cmd.Env = append(os.Environ(), selection+"="+strings.Join(ids, ","))
	return cmd
}
