// Judge runs mcpcheck on the pinned targets of targets.json and compares every
// fail and warn with the ledger of adjudicated verdicts. It exits 1 for a
// verdict that is new, that has vanished, or that nobody has adjudicated.
//
//	go run ./interop/judge [-mcpcheck PATH] [-write] [NAME…]
//
// With -write it puts the present verdicts into the ledger, keeps what was
// adjudicated, and leaves the rest to be.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

type target struct {
	Name    string            `json:"name"`
	Kind    string            `json:"kind"` // server or client
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	Version string            `json:"version"`
	Speaks  []string          `json:"speaks"`
}

// An entry is a verdict of one check on one target at some revisions, and what
// came of looking at it by hand.
type entry struct {
	Target    string   `json:"target"`
	Version   string   `json:"version"`
	Check     string   `json:"check"`
	Verdict   string   `json:"verdict"`
	Transport string   `json:"transport"`
	Revisions []string `json:"revisions"`
	Evidence  string   `json:"evidence"` // what mcpcheck saw
	Clause    string   `json:"clause"`   // the clause it was held against
	Holds     string   `json:"holds"`    // why the verdict is right
}

func (e entry) key() string {
	return strings.Join([]string{e.Version, e.Check, e.Verdict, e.Transport}, " ")
}

type report struct {
	Revisions []struct {
		Revision string `json:"revision"`
		Spoken   bool   `json:"spoken"`
	} `json:"revisions"`
	Outcomes []struct {
		ID        string `json:"id"`
		Revision  string `json:"revision"`
		Transport string `json:"transport"`
		Verdict   string `json:"verdict"`
		Detail    string `json:"detail"`
	} `json:"outcomes"`
}

func main() {
	binary := flag.String("mcpcheck", "", "the mcpcheck to run (default: built from this module)")
	write := flag.Bool("write", false, "put the present verdicts into the ledger")
	flag.Parse()
	if err := run(*binary, *write, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "judge: %v\n", err)
		os.Exit(1)
	}
}

func run(binary string, write bool, names []string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	targets, err := read(root, names)
	if err != nil {
		return err
	}
	if binary == "" {
		dir, err := os.MkdirTemp("", "mcpcheck-judge-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "mcpcheck")
		build := exec.Command("go", "build", "-o", binary, "./cmd/mcpcheck")
		build.Dir, build.Stderr = root, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build mcpcheck: %w", err)
		}
	}
	// Most of a run is waiting for the target, so that several go at once.
	wrong := make([][]string, len(targets))
	slots := make(chan struct{}, 3)
	var wait sync.WaitGroup
	for i, t := range targets {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			wrong[i] = judge(root, binary, t, write)
		})
	}
	wait.Wait()
	passed := 0
	for i, t := range targets {
		for _, w := range wrong[i] {
			fmt.Printf("%s: %s\n", t.Name, w)
		}
		if len(wrong[i]) == 0 {
			passed++
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, len(targets)-passed)
	if passed < len(targets) {
		return errors.New("verdicts differ from interop/verdicts")
	}
	return nil
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

func read(root string, names []string) ([]target, error) {
	text, err := os.ReadFile(filepath.Join(root, "interop", "targets.json"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Targets []target `json:"targets"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("targets.json: %w", err)
	}
	all := file.Targets
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t target) bool { return t.Name == name }) {
			return nil, fmt.Errorf("targets.json has no target %q", name)
		}
	}
	return slices.DeleteFunc(all, func(t target) bool { return len(names) > 0 && !slices.Contains(names, t.Name) }), nil
}

// judge runs mcpcheck on a target and returns what is wrong with its verdicts.
func judge(root, binary string, t target, write bool) []string {
	r, err := outcomes(root, binary, t)
	if err != nil {
		return []string{err.Error()}
	}
	var wrong []string
	var spoken []string
	for _, rev := range r.Revisions {
		if rev.Spoken {
			spoken = append(spoken, rev.Revision)
		}
	}
	if !slices.Equal(spoken, t.Speaks) {
		wrong = append(wrong, fmt.Sprintf("speaks %v, not %v as targets.json says", spoken, t.Speaks))
	}
	now := map[string]entry{}
	for _, o := range r.Outcomes {
		if o.Verdict != "fail" && o.Verdict != "warn" {
			if o.Verdict == "broken" || o.Verdict == "not-run" {
				wrong = append(wrong, fmt.Sprintf("%s at %s is %s: %s", o.ID, o.Revision, o.Verdict, o.Detail))
			}
			continue
		}
		e := entry{Target: t.Name, Version: t.Version, Check: o.ID, Verdict: o.Verdict, Transport: o.Transport, Evidence: o.Detail}
		if known, ok := now[e.key()]; ok {
			e = known
		}
		e.Revisions = append(e.Revisions, o.Revision)
		now[e.key()] = e
	}
	path := filepath.Join(root, "interop", "verdicts", t.Name+".jsonl")
	then, err := ledger(path)
	if err != nil {
		return append(wrong, err.Error())
	}
	if write {
		if err := save(path, now, then); err != nil {
			wrong = append(wrong, err.Error())
		}
		return wrong
	}
	return append(wrong, compare(now, then)...)
}

func compare(now, then map[string]entry) []string {
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(now)) {
		was := then[key]
		for _, rev := range now[key].Revisions {
			if !slices.Contains(was.Revisions, rev) {
				wrong = append(wrong, fmt.Sprintf("new: %s is a %s at %s: %s", now[key].Check, now[key].Verdict, rev, now[key].Evidence))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(then)) {
		e := then[key]
		for _, rev := range e.Revisions {
			if !slices.Contains(now[key].Revisions, rev) {
				wrong = append(wrong, fmt.Sprintf("vanished: %s is no %s at %s any more", e.Check, e.Verdict, rev))
			}
		}
		if e.Clause == "" || e.Holds == "" {
			wrong = append(wrong, fmt.Sprintf("not adjudicated: %s (%s)", e.Check, e.Verdict))
		}
	}
	return wrong
}

// outcomes runs mcpcheck, whose exit code says no more than its report.
func outcomes(root, binary string, t target) (*report, error) {
	args := []string{t.Kind, "--quiet", "--json", "-", "--seed", "1", "--cwd", filepath.Join(root, t.Cwd)}
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		args = append(args, "--env", k+"="+strings.ReplaceAll(t.Env[k], "{root}", root))
	}
	args = append(append(args, "--"), t.Command...)
	if t.Kind == "client" {
		args = append(args, "{server}")
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = root
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
		return nil, fmt.Errorf("mcpcheck: %w\n%s", err, log.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("the report is not JSON: %w\n%s", err, log.String())
	}
	return &r, nil
}

func ledger(path string) (map[string]entry, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]entry{}
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out[e.key()] = e
	}
	return out, nil
}

func save(path string, now, then map[string]entry) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, key := range slices.Sorted(maps.Keys(now)) {
		line := now[key]
		if was, ok := then[key]; ok {
			line.Clause, line.Holds = was.Clause, was.Holds
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
