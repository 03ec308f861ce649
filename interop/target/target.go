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
// the URL {port} stands for a port that is free, {root} for the directory of the
// module and {mcpcheck} for the binary that runs.
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
	Nightly   bool              `json:"nightly"` // left out of the gate: slow, or of an SDK that others there use

	// Flags are further arguments of mcpcheck. With them a target needs no
	// command: --reference and a URL name one.
	Flags []string `json:"-"`
}

// TransportName returns the transport that the target speaks: stdio, http or sse.
func (t Target) TransportName() string { return cmp.Or(t.Transport, "stdio") }

// Root returns the directory of the module, to which targets.json is relative.
func Root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// An Environment is the module, the binary and the targets of an interop tool.
type Environment struct {
	Root     string // directory of the module
	Mcpcheck string // the binary
	Targets  []Target
	done     func()
}

// Open returns the targets of those names, all without names, and the binary to
// run on them, which is built from the module where none is given. The further
// targets are treated as if targets.json began with them. The caller closes the
// environment.
func Open(binary string, names []string, further ...Target) (*Environment, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	b := &Environment{Root: root, Mcpcheck: binary, done: func() {}}
	if b.Targets, err = Read(root, names, further...); err != nil {
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
func (b *Environment) Close() { b.done() }

// Read returns the targets of those names, or all without names, in the order
// of targets.json. The further targets come before those.
func Read(root string, names []string, further ...Target) ([]Target, error) {
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
	targets := slices.Concat(further, file.Targets)
	for _, name := range names {
		if !slices.ContainsFunc(targets, func(t Target) bool { return t.Name == name }) {
			return nil, fmt.Errorf("targets.json has no target %q", name)
		}
	}
	isUnnamed := func(t Target) bool { return len(names) > 0 && !slices.Contains(names, t.Name) }
	return slices.DeleteFunc(targets, isUnnamed), nil
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

// Run runs mcpcheck on the target and returns its report. An exit code above 1
// is an error: a run that ends so has not judged everything.
func (t Target) Run(root, binary string) (*Report, error) {
	r, err := t.Execute(root, binary)
	if err == nil && r.Exit > 1 {
		return nil, fmt.Errorf("mcpcheck: exit code %d\n%s", r.Exit, r.Log)
	}
	return r, err
}

// Execute runs mcpcheck on the target and returns its report, whatever the exit
// code is. An error means that there is no report.
func (t Target) Execute(root, binary string) (*Report, error) {
	args, err := t.args(root, binary)
	if err != nil {
		return nil, err
	}
	return execute(root, exec.Command(binary, args...))
}

// Rerun runs the command that a report names to show an outcome again, and returns
// its report. The command stands on one line as a shell reads it, and refers to the
// environment of the target.
func (t Target) Rerun(root, binary, command string) (*Report, error) {
	verb, rest, ok := strings.Cut(strings.TrimPrefix(command, "mcpcheck "), " ")
	if !ok {
		return nil, fmt.Errorf("%q is no command of mcpcheck", command)
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`"$0" %s --quiet --json - %s`, verb, rest), binary)
	cmd.Env = os.Environ()
	for k, v := range t.Env {
		cmd.Env = append(cmd.Env, k+"="+strings.NewReplacer("{root}", root, "{mcpcheck}", binary).Replace(v))
	}
	return execute(root, cmd)
}

// execute runs mcpcheck and reads the report that it writes to standard output.
func execute(root string, cmd *exec.Cmd) (*Report, error) {
	cmd.Dir = root
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("mcpcheck: %w\n%s", err, log.String())
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("the report is not JSON: %w; mcpcheck ended with %v\n%s", err, cmd.ProcessState,
			log.String())
	}
	r.Exit, r.Log = cmd.ProcessState.ExitCode(), log.String()
	return &r, nil
}

// args returns the arguments of mcpcheck that judge the target.
func (t Target) args(root, binary string) ([]string, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	place := strings.NewReplacer("{root}", root, "{port}", port, "{mcpcheck}", binary)
	args := []string{t.Kind, "--quiet", "--json", "-", "--seed", "1", "--cwd", filepath.Join(root, t.Cwd)}
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		args = append(args, "--env", k+"="+place.Replace(t.Env[k]))
	}
	if t.URL != "" {
		args = append(args, "--url", place.Replace(t.URL))
	}
	args = append(args, t.Flags...)
	if len(t.Command) == 0 {
		return args, nil
	}
	args = append(args, "--")
	for _, arg := range t.Command {
		args = append(args, place.Replace(arg))
	}
	if t.Kind == "client" && !slices.ContainsFunc(t.Command, isServerPlace) {
		args = append(args, "{server}")
	}
	return args, nil
}

// isServerPlace reports whether mcpcheck puts its server in the place of an argument.
func isServerPlace(arg string) bool { return arg == "{server}" || arg == "{url}" }

// ForEach calls do with every target, as many at once as slots says: most of a
// run is waiting for the target.
func ForEach(targets []Target, slots int, do func(i int, t Target)) {
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
