package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// install installs the releases that the bugs need, as many at once as jobs says.
func install(root string, bugs []bug, jobs int) error {
	needed := programs(bugs)
	free := make(chan struct{}, max(1, jobs))
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for _, r := range slices.SortedFunc(maps.Keys(needed), func(a, b release) int {
		return strings.Compare(a.name(), b.name())
	}) {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			err := installRelease(root, r, needed[r])
			if err != nil {
				mu.Lock()
				failed = append(failed, fmt.Errorf("install %s %s: %w", r.pkg, r.version, err))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

func installRelease(root string, r release, programs []string) error {
	dir := filepath.Join(root, r.dir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if r.isGo() {
		return buildGo(root, r, programs)
	}
	if err := installNPM(root, r); err != nil {
		return err
	}
	// Node looks for packages beside a script.
	return copyFiles(dir, filepath.Join(root, "interop", "bugs", "node"))
}

// buildGo builds the programs of a release. The Go tool finds out what has changed.
func buildGo(root string, r release, programs []string) error {
	source := filepath.Join(root, "interop", "bugs", "go", path.Base(r.pkg))
	for _, program := range programs {
		binary := filepath.Join(root, r.dir(), program)
		modules := filepath.Join("versions", r.version+".mod")
		err := runIn(source, "go", "build", "-trimpath", "-mod=readonly", "-modfile="+modules,
			"-o", binary, "./"+program)
		if err != nil {
			return err
		}
	}
	return nil
}

// installNPM installs the packages of the release's lock file. A release that
// interop/install has installed has no lock file of its own.
func installNPM(root string, r release) error {
	source, dir := filepath.Join(root, "interop", "bugs", "npm", r.name()), filepath.Join(root, r.dir())
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		return linkInstalled(root, r, modules)
	}
	npmrc := filepath.Join(root, "interop", "node", ".npmrc")
	sum, err := sumOf(filepath.Join(source, "package.json"), filepath.Join(source, "package-lock.json"), npmrc)
	if err != nil {
		return err
	}
	stamp := filepath.Join(dir, "installed")
	if was, err := os.ReadFile(stamp); err == nil && string(was) == sum {
		return nil
	}
	if err := errors.Join(os.RemoveAll(stamp), copyFiles(dir, source), copyFiles(dir, npmrc)); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bugs: installing %s\n", r.name())
	if err := runIn(dir, "npm", "ci", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(sum), 0o644)
}

// linkInstalled makes node_modules of a release a link to that of interop/install.
func linkInstalled(root string, r release, modules string) error {
	installed := filepath.Join(root, "interop", "build", "node", "node_modules")
	text, err := os.ReadFile(filepath.Join(installed, filepath.FromSlash(r.pkg), "package.json"))
	if err != nil {
		return fmt.Errorf("interop/bugs/npm has no %s, and interop/install has not installed it: %w", r.name(), err)
	}
	if !bytes.Contains(text, []byte(`"version": "`+r.version+`"`)) {
		return fmt.Errorf("interop/bugs/npm has no %s, and interop/install installs another version", r.name())
	}
	if link, err := os.Readlink(modules); err == nil && link == installed {
		return nil
	}
	if err := os.RemoveAll(modules); err != nil {
		return err
	}
	return os.Symlink(installed, modules)
}

// runIn runs a command in a directory. What it prints is in the error.
func runIn(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// copyFiles copies a file, or the files of a directory and below it, to a directory.
func copyFiles(to, from string) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if file == from && !entry.IsDir() {
			name = filepath.Base(from)
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
}

// sumOf returns a checksum of the contents of files.
func sumOf(files ...string) (string, error) {
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
