// Package target reads the pinned targets of interop/targets.json and runs
// mcpcheck on them.
package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Target is a pinned server or client. In the command, the environment and
// the URL {port} stands for a port that is free.
type Target struct {
	Name      string            `json:"name"`
	Kind      string            `json:"kind"` // server or client
	Command   []string          `json:"command"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`       // of a server over HTTP
	Transport string            `json:"transport"` // over which that server is to be found: http or sse
	Version   string            `json:"version"`
	Speaks    []string          `json:"speaks"`
}

// Over returns the transport that the target speaks: stdio, http or sse.
func (t Target) Over() string { return cmp.Or(t.Transport, "stdio") }

// A Report is what is read of mcpcheck's JSON report.
type Report struct {
	Revisions []struct {
		Revision string `json:"revision"`
		Spoken   bool   `json:"spoken"`
	} `json:"revisions"`
	Outcomes []Outcome `json:"outcomes"`
}

// An Outcome is what came of one check at one revision.
type Outcome struct {
	ID        string `json:"id"`
	Says      string `json:"says"`
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
	Verdict   string `json:"verdict"`
	Detail    string `json:"detail"`
	Rules     []struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	} `json:"rules"`
	Frames []json.RawMessage `json:"frames"`
}

// Spoken returns the revisions that the target spoke.
func (r *Report) Spoken() []string {
	var out []string
	for _, rev := range r.Revisions {
		if rev.Spoken {
			out = append(out, rev.Revision)
		}
	}
	return out
}

// Over returns the transports that the outcomes are of.
func (r *Report) Over() []string {
	over := map[string]bool{}
	for _, o := range r.Outcomes {
		over[o.Transport] = true
	}
	return slices.Sorted(maps.Keys(over))
}

// Root returns the directory of the module, to which targets.json is relative.
func Root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// A Bench is what a tool of interop works with.
type Bench struct {
	Root     string // directory of the module
	Mcpcheck string // the binary
	Targets  []Target
	done     func()
}

// Open returns the targets of those names, all without names, and the binary to
// run on them, which is built from the module where none is given. The caller
// closes the bench.
func Open(binary string, names []string) (*Bench, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	b := &Bench{Root: root, Mcpcheck: binary, done: func() {}}
	if b.Targets, err = Read(root, names); err != nil {
		return nil, err
	}
	if binary == "" {
		if b.Mcpcheck, b.done, err = Build(root); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Close removes what Open built.
func (b *Bench) Close() { b.done() }

// Read returns the targets of those names, or all without names, in the order
// of targets.json.
func Read(root string, names []string) ([]Target, error) {
	text, err := os.ReadFile(filepath.Join(root, "interop", "targets.json"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Targets []Target `json:"targets"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("targets.json: %w", err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(file.Targets, func(t Target) bool { return t.Name == name }) {
			return nil, fmt.Errorf("targets.json has no target %q", name)
		}
	}
	return slices.DeleteFunc(file.Targets, func(t Target) bool { return len(names) > 0 && !slices.Contains(names, t.Name) }), nil
}

// Build builds mcpcheck from the module at root. The caller calls done when it
// needs the binary no longer.
func Build(root string) (binary string, done func(), err error) {
	dir, err := os.MkdirTemp("", "mcpcheck-interop-")
	if err != nil {
		return "", nil, err
	}
	done = func() { os.RemoveAll(dir) }
	binary = filepath.Join(dir, "mcpcheck")
	build := exec.Command("go", "build", "-o", binary, "./cmd/mcpcheck")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		done()
		return "", nil, fmt.Errorf("build mcpcheck: %w", err)
	}
	return binary, done, nil
}

// Run runs mcpcheck on the target. Its exit code says no more than its report,
// so that only a code above 1 is an error.
func (t Target) Run(root, binary string) (*Report, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	place := strings.NewReplacer("{root}", root, "{port}", port)
	args := []string{t.Kind, "--quiet", "--json", "-", "--seed", "1", "--cwd", filepath.Join(root, t.Cwd)}
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		args = append(args, "--env", k+"="+place.Replace(t.Env[k]))
	}
	if t.URL != "" {
		args = append(args, "--url", place.Replace(t.URL))
	}
	args = append(args, "--")
	for _, arg := range t.Command {
		args = append(args, place.Replace(arg))
	}
	if t.Kind == "client" {
		args = append(args, "{server}")
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = root
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
		return nil, fmt.Errorf("mcpcheck: %w\n%s", err, log.String())
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("the report is not JSON: %w\n%s", err, log.String())
	}
	return &r, nil
}

// EachOf calls do with every target, as many at once as slots says: most of a
// run is waiting for the target.
func EachOf(targets []Target, slots int, do func(i int, t Target)) {
	free := make(chan struct{}, max(1, slots))
	var wait sync.WaitGroup
	for i, t := range targets {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			do(i, t)
		})
	}
	wait.Wait()
}
