package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// A bug is a line of bugs.jsonl: a protocol bug in a released package.
type bug struct {
	Slug    string `json:"slug"`
	Side    string `json:"side"` // server or client
	Package string `json:"package"`
	Buggy   string `json:"buggy"` // a release with the bug

	// Fixed is a release without the bug, as VERSION or PACKAGE@VERSION. It is
	// empty for a live bug.
	Fixed string `json:"fixed"`

	// Transports has the command over each transport that shows the bug. In it
	// {release} stands for the directory of the release and {port} for a free port.
	Transports map[string][]string `json:"transports"`
	Env        map[string]string   `json:"env,omitempty"`

	Revision string   `json:"revision"` // one that the bug violates
	Clause   string   `json:"clause"`   // page#section of that revision
	Symptom  string   `json:"symptom"`
	Checks   []string `json:"checks"` // that name the bug
	Detected bool     `json:"detected"`

	// Missed says why the bug is not detected.
	Missed string `json:"missed,omitempty"`

	// Hidden reports whether nothing outside the package shows the bug.
	Hidden bool `json:"hidden,omitempty"`
	Quick  bool `json:"quick,omitempty"` // whether the bug is in the quick subset
}

// isLive reports whether no release fixes the bug.
func (b bug) isLive() bool { return b.Fixed == "" }

// releases returns the buggy release and the fixed one, if there is one.
func (b bug) releases() []release {
	out := []release{{b.Package, b.Buggy}}
	if b.isLive() {
		return out
	}
	if at := strings.LastIndex(b.Fixed, "@"); at > 0 {
		return append(out, release{b.Fixed[:at], b.Fixed[at+1:]})
	}
	return append(out, release{b.Package, b.Fixed})
}

// A release is a version of a package.
type release struct{ pkg, version string }

// isGo reports whether the package is a Go module. Others are npm packages.
func (r release) isGo() bool {
	host, _, _ := strings.Cut(r.pkg, "/")
	return strings.Contains(host, ".")
}

// name returns the name of the directory that the release is installed into.
func (r release) name() string { return path.Base(r.pkg) + "-" + r.version }

// releases is where releases are installed, relative to the root of the module.
var releases = filepath.Join("interop", "build", "bugs")

// dir returns the directory of the release, relative to the root of the module.
func (r release) dir() string { return filepath.Join(releases, r.name()) }

// programs returns the Go programs of a release that the bugs need.
func programs(bugs []bug) map[release][]string {
	out := map[release][]string{}
	for _, b := range bugs {
		for _, command := range b.Transports {
			program := strings.TrimPrefix(command[0], "{release}/")
			for _, r := range b.releases() {
				if !slices.Contains(out[r], program) {
					out[r] = append(out[r], program)
				}
			}
		}
	}
	return out
}

// targetOn returns the program of the bug on a release, as mcpcheck is run on it.
// The releases are in the directory installed.
func (b bug) targetOn(installed string, r release, transport string) target.Target {
	t := target.Target{
		Name: b.Slug, Kind: b.Side, Version: r.version, Cwd: r.dir(), Env: b.Env, Transport: transport,
		Flags: []string{"--timeout", "5s"},
	}
	for _, arg := range b.Transports[transport] {
		t.Command = append(t.Command, strings.ReplaceAll(arg, "{release}", filepath.Join(installed, r.name())))
	}
	if b.Side == "server" {
		t.Flags = append(t.Flags, "--allow-tools", "all")
	}
	switch transport {
	case "http":
		t.Flags = append(t.Flags, "--transport", "streamable-http")
	case "sse":
		t.Flags = append(t.Flags, "--transport", "sse")
	}
	if b.Side == "server" && transport != "stdio" {
		t.URL = "http://127.0.0.1:{port}/" + map[string]string{"http": "mcp", "sse": "sse"}[transport]
	}
	return t
}

// transports returns the transports of the bug, sorted.
func (b bug) transports() []string { return slices.Sorted(maps.Keys(b.Transports)) }

// readBugs returns the bugs of those names, or without names all, or those of the
// quick subset.
func readBugs(root string, names []string, quick bool) ([]bug, error) {
	bugs, err := target.ReadLines[bug](filepath.Join(root, "interop", "bugs", "bugs.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(bugs, func(b bug) bool { return b.Slug == name }) {
			return nil, fmt.Errorf("bugs.jsonl has no bug %q", name)
		}
	}
	isOther := func(b bug) bool {
		return len(names) > 0 && !slices.Contains(names, b.Slug) || quick && !b.Quick
	}
	bugs = slices.DeleteFunc(bugs, isOther)
	slices.SortStableFunc(bugs, func(x, y bug) int { return -cmp.Compare(x.Side, y.Side) })
	return bugs, nil
}
