package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/interop/target"
)

// readTable returns the root of the module and all bugs of bugs.jsonl.
func readTable(t *testing.T) (string, []bug) {
	t.Helper()
	root, err := target.Root()
	if err != nil {
		t.Fatal(err)
	}
	bugs, err := readBugs(root, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return root, bugs
}

func TestLinesOfTheTableAreComplete(t *testing.T) {
	root, bugs := readTable(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "ids.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Fields(string(text))
	slugs := map[string]bool{}
	for _, b := range bugs {
		if slugs[b.Slug] {
			t.Errorf("%s: stands twice", b.Slug)
		}
		slugs[b.Slug] = true
		if b.Side != "server" && b.Side != "client" || len(b.Transports) == 0 || b.Symptom == "" {
			t.Errorf("%s: lacks its side, transports or symptom", b.Slug)
		}
		if (b.Missed == "") != b.Detected || b.Detected && (len(b.Checks) == 0 || b.Hidden) {
			t.Errorf("%s: a detected bug has checks, and any other says why it is missed", b.Slug)
		}
		for _, check := range b.Checks {
			if !slices.Contains(ids, check) {
				t.Errorf("%s: there is no check %s", b.Slug, check)
			}
		}
	}
}

func TestClausesAreSectionsOfTheSpecification(t *testing.T) {
	_, bugs := readTable(t)
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bugs {
		rev, err := spec.ParseRevision(b.Revision)
		if err != nil {
			t.Errorf("%s: %v", b.Slug, err)
			continue
		}
		known := slices.ContainsFunc(ledger.IDs(), func(id string) bool {
			at, ok := ledger.Rows[id].At(rev)
			return ok && at.Section == b.Clause
		})
		if !known {
			t.Errorf("%s: no rule of %s stands in %s", b.Slug, b.Revision, b.Clause)
		}
	}
}

func TestEachReleaseIsPinned(t *testing.T) {
	root, bugs := readTable(t)
	used := map[string]bool{}
	for r, programs := range programs(bugs) {
		if r.isGo() {
			source := filepath.Join(root, "interop", "bugs", "go", path.Base(r.pkg))
			text, err := os.ReadFile(filepath.Join(source, "versions", r.version+".mod"))
			if err != nil || !bytes.Contains(text, []byte(r.pkg+" "+r.version+"\n")) {
				t.Errorf("%s %s is not pinned: %v", r.pkg, r.version, err)
			}
			for _, program := range programs {
				if _, err := os.Stat(filepath.Join(source, program, "main.go")); err != nil {
					t.Error(err)
				}
			}
			continue
		}
		used[r.name()] = true
		source := filepath.Join(root, "interop", "bugs", "npm", r.name())
		if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
			source = filepath.Join(root, "interop", "node") // interop/install installs it
		}
		if version := pinnedVersion(t, source, r.pkg); version != r.version {
			t.Errorf("%s pins %s %q, not %s", source, r.pkg, version, r.version)
		}
	}
	dirs, err := os.ReadDir(filepath.Join(root, "interop", "bugs", "npm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if !used[dir.Name()] {
			t.Errorf("no bug needs npm/%s", dir.Name())
		}
	}
}

// pinnedVersion returns the version that package.json and the lock file of a
// directory agree on, "" if they do not. A lock file names no address of a package.
func pinnedVersion(t *testing.T, dir, pkg string) string {
	t.Helper()
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	var lock struct {
		Packages map[string]struct {
			Version  string `json:"version"`
			Resolved string `json:"resolved"`
		} `json:"packages"`
	}
	for name, into := range map[string]any{"package.json": &manifest, "package-lock.json": &lock} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("%s: the lock file names the address of %s", dir, name)
		}
	}
	if lock.Packages["node_modules/"+pkg].Version != manifest.Dependencies[pkg] {
		return ""
	}
	return manifest.Dependencies[pkg]
}

func TestQuickSubsetHasEachTransportAndSide(t *testing.T) {
	_, bugs := readTable(t)
	covered := map[string]bool{}
	for _, b := range bugs {
		if b.Quick {
			covered[b.Side] = true
			for _, transport := range b.transports() {
				covered[transport] = true
			}
		}
	}
	for _, what := range []string{"server", "client", "stdio", "http", "sse"} {
		if !covered[what] {
			t.Errorf("the quick subset has no bug with %s", what)
		}
	}
}
