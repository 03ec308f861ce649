package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
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
	profile    string
	strict     string
	seed       uint64
	json       string
	junit      string
	html       string
	baseline   string
	config     string
	transport  string
	headers    []string
	url        string
	ca         string
	recorded   bool
	quiet      bool
	noColor    bool

	reference string // name of a fault, or referenceHonest
	seedGiven bool
	known     *reports.Baseline // what --baseline names, or nil
	given     check.Given       // what --config says
	authority config.Authorization
}

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
	complete(cmd, "spec", func() []string { return append(revisionNames(), "all") })
	complete(cmd, "only", checkNames)
	complete(cmd, "skip", checkNames)
}

// addServer declares the flags that only make sense for servers.
func (f *flags) addServer(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringSliceVar(&f.allowTools, "allow-tools", nil, "tools that may be called although they are not read-only: `names`, or all")
	s.BoolVar(&f.serial, "serial", false, "never run two instances of the target at once")
}

// addProfile declares the flag of what only servers promise.
func (f *flags) addProfile(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.profile, "profile", "", "run the checks of the fixtures too that the target offers by this `profile`: official, the public conformance contract")
	complete(cmd, "profile", profileNames)
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
	if f.profile != "" && f.profile != catalog.Official {
		return fmt.Errorf("--profile takes official, not %q", f.profile)
	}
	for _, limit := range []struct {
		name string
		d    time.Duration
	}{{"timeout", f.timeout}, {"start-timeout", f.start}, {"deadline", f.deadline}} {
		if limit.d <= 0 {
			return fmt.Errorf("--%s must be more than zero, not %s", limit.name, limit.d)
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
	if f.baseline != "" {
		known, err := reports.LoadBaseline(f.baseline)
		if err != nil {
			return err
		}
		f.known = known
	}
	if f.config != "" {
		values, err := config.Read(f.config)
		if err != nil {
			return fmt.Errorf("--config: %w", err)
		}
		f.given = check.Given{
			Tools: values.Tools, Prompts: values.Prompts, Templates: values.Templates, Resources: values.Resources,
			Authorization: check.Authorization{Tokens: values.Authorization.Tokens, Private: values.Authorization.Private},
		}
		f.authority = values.Authorization
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

func profileNames() []string { return []string{catalog.Official} }

func checkNames() []string {
	var out []string
	for _, c := range catalog.Checks() {
		out = append(out, c.ID)
	}
	return out
}
