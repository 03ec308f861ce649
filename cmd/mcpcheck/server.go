package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/ginkgosuite"
)

func serverCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "server [flags] -- CMD ARGS… | URL | --url URL -- CMD ARGS…",
		Short: "Judge a server",
		Long: "Judge a server at every protocol revision that it speaks: one that is started and speaks on its\n" +
			"standard input and output, one that serves at a URL, or one that is started and then serves there.\n\n" +
			"Exit codes: 0 conforms; 1 a check fails, or a baseline entry no longer holds; 2 usage;\n" +
			"3 the target could not be started, or nothing was judged; 4 mcpcheck itself broke; 130 interrupted.\n\n" +
			"A configuration gives values that are used before any that mcpcheck makes; tools given arguments are\n" +
			"called with these though they are not read-only:\n\n" +
			"  tools:     {search: {arguments: [{query: harbour}]}}\n" +
			"  prompts:   {greet: {arguments: [{name: Ada}]}}\n" +
			"  templates: {\"file:///{path}\": {variables: [{path: notes.txt}]}}\n" +
			"  resources: [\"file:///notes.txt\"]\n\n" +
			"A protected server over HTTP is judged by one good token (--header), and wholly by others beside it:\n\n" +
			"  authorization: {second: \"${OTHER_USER}\", expired: …, audience: …, narrow: …, broad: …}",
		Example: "  mcpcheck server -- node build/index.js\n" +
			"  mcpcheck server --header 'Authorization: Bearer …' http://localhost:3000/mcp\n" +
			"  mcpcheck server --url http://localhost:3000/mcp -- node build/http.js\n" +
			"  mcpcheck server --junit report.xml --html report.html -- python -m my_server\n" +
			"  mcpcheck server --spec 2025-11-25 --only tools -- ./my-server --stdio\n" +
			"  mcpcheck server --config mcpcheck.yaml --allow-tools search -- ./my-server\n" +
			"  mcpcheck server --reference",
		RunE: func(cmd *cobra.Command, args []string) error { return judgeServer(cmd, args, &f) },
	}
	f.add(cmd)
	f.addServer(cmd)
	f.addSite(cmd)
	cmd.Flags().StringVar(&f.config, "config", "", "arguments, prompts and resources that suit the target, in this YAML `file`")
	f.addProfile(cmd)
	complete(cmd, "reference", faultNames)
	return cmd
}

// judgeServer reads the whole command line before it starts anything.
func judgeServer(cmd *cobra.Command, args []string, f *flags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	revisions, checks, err := f.selected(wire.Server)
	if err != nil {
		return err
	}
	at, err := f.site(cmd, args)
	if err != nil {
		return err
	}
	var target transport.Target
	var argv []string
	if at != nil {
		argv = at.words()
		if at.endpoint, err = f.authorize(cmd.Context(), at.endpoint); err != nil {
			return err
		}
	} else if target, argv, err = f.target(cmd, args); err != nil {
		return err
	}
	out, err := f.outputs()
	if err != nil {
		return err
	}
	notes, end := "", func() string { return "" }
	if at != nil {
		began := time.Now()
		if target, notes, end, err = at.open(cmd.Context(), f); err != nil {
			end()
			return f.conclude(argv, unreached(cmd.Context(), began, f.seed), err, out)
		}
	}
	target, stop, err := guarded(target)
	if err != nil {
		end()
		out.close()
		return exitError{exitBroken, err}
	}
	defer stop()
	run, err := judge(cmd.Context(), target, engine.Options{
		Checks: checks, Revisions: revisions, Allow: f.allowed(), Given: f.given, Profile: f.profile, Session: f.session(), Deadline: f.deadline, Seed: f.seed,
		Confirm: f.reference == "", Progress: out.live.Outcome, Rerun: rerun("server", f, argv),
	})
	early := end()
	if run != nil && notes != "" {
		run.Notes = append(run.Notes, notes)
	}
	if run != nil && early != "" {
		run.Notes = append(run.Notes, "the server ended during the run: "+early)
	}
	return f.conclude(argv, run, err, out)
}

// judge runs the Ginkgo suite of a server.
func judge(ctx context.Context, target transport.Target, o engine.Options) (*reports.Run, error) {
	e, err := engine.New(target, o)
	if err != nil {
		return nil, err
	}
	return ginkgosuite.Run(ctx, engine.AsTarget(e).(suites.Target))
}

// allowed is like allow, but of our own server every tool may be called.
func (f *flags) allowed() func(string) bool {
	if f.reference != "" {
		return func(string) bool { return true }
	}
	return f.allow()
}

// selected returns the revisions and the checks of a role that are asked for,
// and narrows the baseline to them.
func (f *flags) selected(role wire.Role) ([]spec.Revision, []check.Check, error) {
	revisions, err := f.revisions()
	if err != nil {
		return nil, nil, err
	}
	all := catalog.Of(role, catalog.Checks())
	checks, err := catalog.Select(all, f.only, f.skip)
	if err != nil {
		return nil, nil, err
	}
	if checks = catalog.InProfile(f.profile, checks); len(checks) == 0 && len(f.only) > 0 {
		return nil, nil, fmt.Errorf("--only %s chooses checks of a profile alone: say --profile %s", strings.Join(f.only, ","), catalog.Official)
	}
	if f.known != nil {
		if err := knownChecks(f.known, all); err != nil {
			return nil, nil, err
		}
		f.known = f.known.Selected(func(id string) bool {
			return slices.ContainsFunc(checks, func(c check.Check) bool { return c.ID == id })
		})
	}
	return revisions, checks, nil
}

// target returns what is to be judged, and how to name it on a command line.
func (f *flags) target(cmd *cobra.Command, args []string) (transport.Target, []string, error) {
	if f.reference != "" {
		if len(args) > 0 {
			return nil, nil, fmt.Errorf("--reference judges our own server; %q is too much (a fault is named by --reference=FAULT)", args[0])
		}
		over, err := f.kind()
		if err != nil {
			return nil, nil, err
		}
		target, err := referenceTarget(f.reference, f.profile, over, &f.given)
		argv := []string{"--reference"}
		if f.reference != referenceHonest {
			argv[0] += "=" + f.reference
		}
		return target, argv, err
	}
	if len(args) == 0 {
		return nil, nil, errors.New("no target: say the command that starts the server after --, as in mcpcheck server -- node build/index.js")
	}
	if cmd.ArgsLenAtDash() != 0 {
		return nil, nil, fmt.Errorf("the command of the target goes after --, as in mcpcheck server -- %s", transport.Quote(args))
	}
	return transport.Command{Argv: args, Env: f.env, Dir: f.cwd}, append([]string{"--"}, args...), nil
}

// conclude completes a run that ended, however it did, and writes what is
// known of it.
func (f *flags) conclude(argv []string, run *reports.Run, failure error, out *outputs) error {
	if run == nil {
		out.close()
		return exitError{exitBroken, failure}
	}
	run.Tool = reports.Tool{Name: "mcpcheck", Version: version}
	run.Target.URL, run.Target.Argv = named(argv)
	run.Options = f.options()
	run.Harness = harness()
	if f.known != nil {
		f.known.Apply(run)
	}
	run.Exit = reports.ExitCode(run, f.strict)
	if failure != nil && run.Exit != exitInterrupted {
		run.Exit = exitUnreachable
		run.Notes = append(run.Notes, failure.Error())
	}
	for i, note := range run.Notes {
		run.Notes[i] = f.given.Authorization.Hide(note) // the last words of a server may tell tokens
	}
	if err := out.tell(run); err != nil {
		return exitError{exitBroken, err}
	}
	if run.Exit != exitConforms {
		return exitError{code: run.Exit}
	}
	return nil
}

// named takes the words that name a target apart: its URL, and the command that
// starts it.
func named(words []string) (at string, argv []string) {
	switch {
	case len(words) == 1 && isURL(words[0]):
		return words[0], nil
	case len(words) > 2 && words[0] == "--url":
		at, words = words[1], words[2:]
	}
	if words[0] == "--" {
		words = words[1:]
	}
	return at, words
}

// harness measures this process.
func harness() *reports.Harness {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	ms := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e6 }
	return &reports.Harness{CPUMS: ms(u.Utime) + ms(u.Stime), PeakBytes: u.Maxrss << 10}
}

// options are the flags that bear on verdicts, for the report.
func (f *flags) options() map[string]any {
	o := map[string]any{"timeout": f.timeout.String(), "start-timeout": f.start.String(), "deadline": f.deadline.String()}
	for name, list := range map[string][]string{"spec": f.specs, "only": f.only, "skip": f.skip, "allow-tools": f.allowTools} {
		if len(list) > 0 {
			o[name] = list
		}
	}
	if f.strict != "" {
		o["strict"] = f.strict
	}
	if f.config != "" {
		o["config"] = f.config
	}
	if f.profile != "" {
		o["profile"] = f.profile
	}
	if f.serial {
		o["serial"] = true
	}
	if f.transport != "" && f.transport != transportAuto {
		o["transport"] = f.transport
	}
	if names := f.headerNames(); len(names) > 0 {
		o["header"] = names
	}
	return o
}

// rerun returns the command that runs one check alone.
func rerun(verb string, f *flags, target []string) func(id string, rev spec.Revision) string {
	return func(id string, rev spec.Revision) string {
		args := []string{"mcpcheck", verb, "--only", id, "--spec", string(rev)}
		if f.seedGiven {
			args = append(args, "--seed", fmt.Sprint(f.seed))
		}
		for _, list := range []struct {
			flag   string
			values []string
		}{{"--allow-tools", f.allowTools}, {"--env", f.env}, {"--header", f.headerNames()}} {
			for _, v := range list.values {
				args = append(args, list.flag, v)
			}
		}
		if f.profile != "" {
			args = append(args, "--profile", f.profile)
		}
		if f.transport != "" && f.transport != transportAuto {
			args = append(args, "--transport", f.transport)
		}
		if f.ca != "" {
			args = append(args, "--ca", f.ca)
		}
		if f.cwd != "" {
			args = append(args, "--cwd", f.cwd)
		}
		if f.config != "" {
			args = append(args, "--config", f.config)
		}
		return transport.Quote(append(args, target...))
	}
}

// knownChecks returns an error for an entry of a baseline that names no check.
func knownChecks(b *reports.Baseline, all []check.Check) error {
	for _, id := range b.Checks() {
		if !slices.ContainsFunc(all, func(c check.Check) bool { return c.ID == id }) {
			return fmt.Errorf("--baseline: there is no check %q%s", id, nearest(id, explainable()))
		}
	}
	return nil
}
