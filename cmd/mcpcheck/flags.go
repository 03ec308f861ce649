package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/internal/secret"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// flags are the flags that verbs have in common, and what prepare reads from the
// files that they name. A verb declares those that apply to it.
type flags struct {
	secrets      *secret.Set // that no output shows
	specs        []string
	only, skip   []string
	allowTools   []string
	env          []string
	cwd          string
	timeout      time.Duration
	startTimeout time.Duration
	deadline     time.Duration
	serial       bool
	profile      string
	strict       string
	seed         uint64
	json         string
	junit        string
	html         string
	baselineFile string
	newBaseline  string
	configFile   string
	transport    string
	headers      []string
	url          string
	ca           string
	recorded     bool
	quiet        bool
	verbose      bool
	noColor      bool
	reference    string // the name of a fault, or noFault

	baseline      *reports.Baseline // of baselineFile, or nil
	given         check.Given       // of configFile
	authorization config.Authorization
}

// noFault is the value of --reference without a fault.
const noFault = "conforming"

// addJudging declares the flags of the verbs that run checks.
func (f *flags) addJudging(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringSliceVar(&f.specs, "spec", nil,
		"test these `revisions` only, or latest, or all (default: every revision that the target speaks)")
	s.StringSliceVar(&f.only, "only", nil, "run checks that match these `globs` only")
	s.StringSliceVar(&f.skip, "skip", nil, "leave out checks that match these `globs`")
	s.DurationVar(&f.deadline, "deadline", 10*time.Minute, "end the whole run after this time")
	s.StringVar(&f.strict, "strict", "", "exit 1 on warnings too; with =all, on not-observed too")
	s.Lookup("strict").NoOptDefVal = reports.StrictWarn
	s.Uint64Var(&f.seed, "seed", 0, "seed of all random choices (default: a new one, shown in the report)")
	s.StringVar(&f.baselineFile, "baseline", "", "excuse the known failures that this YAML `file` lists")
	s.StringVar(&f.newBaseline, "write-baseline", "",
		"write a baseline that excuses what fails in this run to `file`; with --strict also what warns")
	completeFlag(cmd, "spec", specNames)
	completeFlag(cmd, "only", checkNames)
	completeFlag(cmd, "skip", checkNames)
}

// addLaunch declares the flags that say how a target is started.
func (f *flags) addLaunch(cmd *cobra.Command, faults func() []string) {
	d := session.DefaultOptions()
	s := cmd.Flags()
	s.StringArrayVar(&f.env, "env", nil, "set `K=V` in the environment of the target (repeatable)")
	s.StringVar(&f.cwd, "cwd", "", "start the target in this `directory`")
	s.DurationVar(&f.timeout, "timeout", d.Timeout, "wait at most this long for an answer")
	s.DurationVar(&f.startTimeout, "start-timeout", d.StartTimeout,
		"wait at most this long for the first answer of a process")
	s.StringVar(&f.reference, "reference", "",
		"use the reference implementation as the target, or with =FAULT one with a seeded `fault`")
	s.Lookup("reference").NoOptDefVal = noFault
	completeFlag(cmd, "reference", faults)
}

// addOutputs declares the flags of reports and of the terminal.
func (f *flags) addOutputs(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.json, "json", "", "write the JSON report to `file` (- is stdout)")
	s.StringVar(&f.junit, "junit", "", "write the JUnit report to `file` (- is stdout)")
	s.StringVar(&f.html, "html", "", "write the HTML report to `file` (- is stdout)")
	s.BoolVar(&f.quiet, "quiet", false, "print what fails and warns and the conclusion only")
	s.BoolVar(&f.verbose, "verbose", false,
		"print each problem with its messages and rules, and all that was not judged")
	s.BoolVar(&f.noColor, "no-color", false, "print without colors")
}

// addServer declares the flags that apply to servers only.
func (f *flags) addServer(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringSliceVar(&f.allowTools, "allow-tools", nil,
		"call these tools although they are not read-only: `names`, or all")
	s.BoolVar(&f.serial, "serial", false, "never run two instances of the target at once")
}

// addProfile declares the flag of fixtures that a server offers.
func (f *flags) addProfile(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.profile, "profile", "",
		"also run the checks that need the fixtures of this `profile`: official, the public conformance contract")
	completeFlag(cmd, "profile", profileNames)
}

// prepare validates the flags and reads the files that they name, so that errors
// are reported before a target is started.
func (f *flags) prepare(cmd *cobra.Command, args []string) error {
	f.collectSecrets(args)
	if !cmd.Flags().Changed("seed") {
		f.seed = rand.Uint64() >> 11 // exact in every JSON reader
	}
	if err := f.validate(cmd); err != nil {
		return err
	}
	if f.baselineFile != "" {
		baseline, err := reports.LoadBaseline(f.baselineFile)
		if err != nil {
			return err
		}
		f.baseline = baseline
	}
	if f.configFile != "" {
		values, err := config.Read(f.configFile)
		if err != nil {
			return fmt.Errorf("--config: %w", err)
		}
		f.authorization = values.Authorization
		f.given = check.Given{
			Tools: values.Tools, Prompts: values.Prompts, Templates: values.Templates, Resources: values.Resources,
			Authorization: check.Authorization{
				Tokens: values.Authorization.Tokens, Private: values.Authorization.PrivateResources,
			},
		}
	}
	f.given.Authorization.Secrets = f.secrets
	return nil
}

func (f *flags) validate(cmd *cobra.Command) error {
	if !slices.Contains([]string{reports.StrictOff, reports.StrictWarn, reports.StrictAll}, f.strict) {
		return fmt.Errorf("--strict takes no value, or all; not %q", f.strict)
	}
	if f.profile != "" && f.profile != catalog.Official {
		return fmt.Errorf("--profile must be official, not %q", f.profile)
	}
	for _, limit := range []struct {
		flag  string
		value time.Duration
	}{{"timeout", f.timeout}, {"start-timeout", f.startTimeout}, {"deadline", f.deadline}} {
		if limit.value <= 0 && cmd.Flags().Lookup(limit.flag) != nil {
			return fmt.Errorf("--%s must be more than zero, not %s", limit.flag, limit.value)
		}
	}
	for _, e := range f.env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" {
			return fmt.Errorf("--env must be K=V, not %q", e)
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

// revisions returns the revisions that --spec names, all where it names none.
func (f *flags) revisions() ([]spec.Revision, error) { return revisionsNamed(f.specs) }

// specNames are the values of --spec.
func specNames() []string { return append(revisionNames(), "latest", "all") }

// revisionsNamed returns the revisions of a list of values of --spec, all where it is empty.
func revisionsNamed(names []string) ([]spec.Revision, error) {
	var dates []string
	for _, name := range names {
		switch name {
		case "all":
		case "latest":
			dates = append(dates, string(spec.Every.Newest()))
		default:
			dates = append(dates, name)
		}
	}
	out, err := parseRevisions(dates)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 || slices.Contains(names, "all") {
		return spec.Revisions(), nil
	}
	return out, nil
}

func parseRevisions(names []string) ([]spec.Revision, error) {
	var out []spec.Revision
	for _, name := range names {
		rev, err := spec.ParseRevision(name)
		if err != nil {
			return nil, fmt.Errorf("--spec: %w", err)
		}
		out = append(out, rev)
	}
	return out, nil
}

// selectChecks returns the revisions and the checks of a role that the flags
// select, and narrows the baseline to them.
func (f *flags) selectChecks(role wire.Role) ([]spec.Revision, []check.Check, error) {
	revisions, err := f.revisions()
	if err != nil {
		return nil, nil, err
	}
	all := catalog.Of(role, catalog.Checks())
	checks, err := catalog.Select(all, f.only, f.skip)
	if err != nil {
		return nil, nil, explainUnmatched(err)
	}
	if checks = catalog.InProfile(f.profile, checks); len(checks) == 0 && len(f.only) > 0 {
		return nil, nil, fmt.Errorf("--only %s selects only checks that need --profile %s",
			strings.Join(f.only, ","), catalog.Official)
	}
	if f.baseline != nil {
		for _, id := range f.baseline.Checks() {
			if !hasCheck(all, id) {
				return nil, nil, fmt.Errorf("--baseline: there is no check %q; %s", id,
					suggest(id, explainable(), checksHint))
			}
		}
		f.baseline = f.baseline.Selected(func(id string) bool { return hasCheck(checks, id) })
	}
	return revisions, checks, nil
}

func hasCheck(checks []check.Check, id string) bool {
	return slices.ContainsFunc(checks, func(c check.Check) bool { return c.ID == id })
}

func (f *flags) session() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Serial = f.timeout, f.startTimeout, f.serial
	return o
}

// allow returns a function that reports whether a tool may be called although it
// is not read-only. Every tool of the reference server may.
func (f *flags) allow() func(tool string) bool {
	allowed := map[string]bool{}
	for _, name := range f.allowTools {
		allowed[name] = true
	}
	all := allowed["all"] || f.reference != ""
	return func(tool string) bool { return all || allowed[tool] }
}

// launchFlags are the flags that start and reach the target in the same way
// again.
func (f *flags) launchFlags() []string {
	var out []string
	for _, list := range []struct {
		flag   string
		values []string
	}{{"--env", f.env}, {"--header", f.headers}} {
		for _, v := range list.values {
			out = append(out, list.flag, v)
		}
	}
	if f.transport != "" && f.transport != transportAuto {
		out = append(out, "--transport", f.transport)
	}
	d := session.DefaultOptions()
	if f.timeout != 0 && f.timeout != d.Timeout {
		out = append(out, "--timeout", f.timeout.String())
	}
	if f.startTimeout != 0 && f.startTimeout != d.StartTimeout {
		out = append(out, "--start-timeout", f.startTimeout.String())
	}
	if f.serial {
		out = append(out, "--serial")
	}
	if f.ca != "" {
		out = append(out, "--ca", f.ca)
	}
	if f.cwd != "" {
		out = append(out, "--cwd", f.cwd)
	}
	return out
}

// completeFlag gives the shell the values of a flag; in a list it completes the
// last element.
func completeFlag(cmd *cobra.Command, flag string, values func() []string) {
	complete := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var out []string
		for _, v := range values() {
			out = append(out, before+v)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not declared: a bug of mcpcheck
	}
}

func profileNames() []string { return []string{catalog.Official} }

func checkNames() []string {
	var out []string
	for _, c := range catalog.Checks() {
		out = append(out, c.ID)
	}
	return out
}

func revisionNames() []string {
	var out []string
	for _, r := range spec.Revisions() {
		out = append(out, string(r))
	}
	return out
}
