package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reports"
)

// flags are the flags that the verbs which judge have in common.
type flags struct {
	specs      []string
	only, skip []string
	allowTools []string
	env        []string
	cwd        string
	timeout    time.Duration
	start      time.Duration
	deadline   time.Duration
	serial     bool
	strict     string
	seed       uint64
	json       string
	junit      string
	html       string
	baseline   string
	quiet      bool
	noColor    bool

	reference string // name of a fault, or referenceHonest
	seedGiven bool
}

// referenceHonest stands for --reference without a fault.
const referenceHonest = "honest"

// add declares the flags on a verb.
func (f *flags) add(cmd *cobra.Command) {
	d := session.Defaults()
	s := cmd.Flags()
	s.StringSliceVar(&f.specs, "spec", nil, "judge these `revisions` only, or all (default: every revision that is spoken)")
	s.StringSliceVar(&f.only, "only", nil, "run checks that match these `globs` only")
	s.StringSliceVar(&f.skip, "skip", nil, "leave out checks that match these `globs`")
	s.StringArrayVar(&f.env, "env", nil, "set `K=V` in the environment of the target (repeatable)")
	s.StringVar(&f.cwd, "cwd", "", "start the target in this `directory`")
	s.DurationVar(&f.timeout, "timeout", d.Timeout, "wait at most this long for one answer")
	s.DurationVar(&f.start, "start-timeout", d.StartTimeout, "wait at most this long for the first answer of a process")
	s.DurationVar(&f.deadline, "deadline", 10*time.Minute, "end the whole run after this long")
	s.StringVar(&f.strict, "strict", "", "exit 1 on warnings too; =all: on rules not observed too")
	s.Lookup("strict").NoOptDefVal = reports.StrictWarn
	s.Uint64Var(&f.seed, "seed", 0, "seed of all that is random (default: a new one, which the report tells)")
	s.StringVar(&f.json, "json", "", "write the JSON report to `file` (- is stdout)")
	s.StringVar(&f.junit, "junit", "", "write the JUnit report to `file` (- is stdout)")
	s.StringVar(&f.html, "html", "", "write the HTML report to `file` (- is stdout)")
	s.StringVar(&f.baseline, "baseline", "", "excuse the known failures that this YAML `file` lists")
	s.BoolVar(&f.quiet, "quiet", false, "print the summary only")
	s.BoolVar(&f.noColor, "no-color", false, "print without colours")
	s.StringVar(&f.reference, "reference", "", "judge our own reference, or with =FAULT one of its seeded faults")
	s.Lookup("reference").NoOptDefVal = referenceHonest
}

// addServer declares the flags that only make sense for servers.
func (f *flags) addServer(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringSliceVar(&f.allowTools, "allow-tools", nil, "tools that may be called although they are not read-only: `names`, or all")
	s.BoolVar(&f.serial, "serial", false, "never run two instances of the target at once")
}

// check reads the flags; what is wrong is told before anything is started.
func (f *flags) check(cmd *cobra.Command) error {
	f.seedGiven = cmd.Flags().Changed("seed")
	if !f.seedGiven {
		f.seed = rand.Uint64() >> 11 // exact in every JSON reader
	}
	switch f.strict {
	case "", reports.StrictWarn, reports.StrictAll:
	default:
		return fmt.Errorf("--strict takes no value, or all; not %q", f.strict)
	}
	for name, d := range map[string]time.Duration{"timeout": f.timeout, "start-timeout": f.start, "deadline": f.deadline} {
		if d <= 0 {
			return fmt.Errorf("--%s must be more than zero, not %s", name, d)
		}
	}
	for _, e := range f.env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" {
			return fmt.Errorf("--env takes K=V, not %q", e)
		}
	}
	if f.cwd != "" {
		if info, err := os.Stat(f.cwd); err != nil {
			return fmt.Errorf("--cwd: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--cwd: %s is not a directory", f.cwd)
		}
	}
	return nil
}

// revisions returns the revisions asked for.
func (f *flags) revisions() ([]spec.Revision, error) {
	var out []spec.Revision
	for _, name := range f.specs {
		if name == "all" {
			return spec.Revisions(), nil
		}
		rev, err := spec.ParseRevision(name)
		if err != nil {
			return nil, fmt.Errorf("--spec: %w", err)
		}
		out = append(out, rev)
	}
	if len(out) == 0 {
		return spec.Revisions(), nil
	}
	return out, nil
}

func (f *flags) session() session.Options {
	o := session.Defaults()
	o.Timeout, o.StartTimeout, o.Serial = f.timeout, f.start, f.serial
	return o
}

// allow tells which tools may be called although they are not read-only.
func (f *flags) allow() func(string) bool {
	allowed := map[string]bool{}
	for _, name := range f.allowTools {
		allowed[name] = true
	}
	return func(tool string) bool { return allowed["all"] || allowed[tool] }
}

// outputs are the report files of a run, opened before the target is started
// so that one that cannot be written is told in time.
type outputs struct {
	files  []output
	text   io.Writer // the summary
	live   io.Writer // the progress
	colour bool
	width  int
}

type output struct {
	name  string
	w     io.WriteCloser
	write func(io.Writer, *reports.Run) error
}

func (f *flags) outputs() (*outputs, error) {
	o := &outputs{text: os.Stdout, live: os.Stderr}
	stdout := 0
	for _, r := range []struct {
		name  string
		write func(io.Writer, *reports.Run) error
	}{{f.json, reports.WriteJSON}, {f.junit, reports.WriteJUnit}, {f.html, reports.WriteHTML}} {
		switch r.name {
		case "":
		case "-":
			stdout++
			o.text = os.Stderr
			o.files = append(o.files, output{r.name, keepOpen{os.Stdout}, r.write})
		default:
			w, err := os.Create(r.name)
			if err != nil {
				o.close()
				return nil, fmt.Errorf("report cannot be written: %w", err)
			}
			o.files = append(o.files, output{r.name, w, r.write})
		}
	}
	if stdout > 1 {
		o.close()
		return nil, errors.New("only one report can go to stdout (-)")
	}
	o.width = 100
	if file := o.text.(*os.File); term.IsTerminal(int(file.Fd())) {
		o.colour = !f.noColor && os.Getenv("NO_COLOR") == ""
		if w, _, err := term.GetSize(int(file.Fd())); err == nil && w > 40 {
			o.width = w
		}
	}
	return o, nil
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

func (o *outputs) close() {
	for _, f := range o.files {
		f.w.Close()
	}
}

// write writes every report; all are tried, the errors joined.
func (o *outputs) write(run *reports.Run) error {
	var errs []error
	for _, f := range o.files {
		err := f.write(f.w, run)
		if cerr := f.w.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}

// rerun returns the command that runs one check alone.
func rerun(verb string, f *flags, target []string) func(id string, rev spec.Revision) string {
	return func(id string, rev spec.Revision) string {
		args := []string{"mcpcheck", verb, "--only", id, "--spec", string(rev)}
		if f.seedGiven {
			args = append(args, "--seed", fmt.Sprint(f.seed))
		}
		for _, t := range f.allowTools {
			args = append(args, "--allow-tools", t)
		}
		for _, e := range f.env {
			args = append(args, "--env", e)
		}
		if f.cwd != "" {
			args = append(args, "--cwd", filepath.Clean(f.cwd))
		}
		return quote(append(args, target...))
	}
}
