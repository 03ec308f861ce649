package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fuzz"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// search are the flags of fuzz alone.
type search struct {
	time time.Duration
	runs int
	out  string
}

// The length of a search that was given none, and where its cases go.
const (
	searchTime = time.Minute
	casesDir   = "mcpcheck-findings"
)

func fuzzCommand() *cobra.Command {
	var f flags
	var s search
	cmd := &cobra.Command{
		Use:   "fuzz [flags] -- CMD ARGS… | URL | --url URL -- CMD ARGS…",
		Short: "Search for inputs that crash, hang or confuse a server",
		Long: "Send a server valid exchanges with mutations of all kinds, and report what kills it, what it never\n" +
			"answers, and what makes it break a rule that holds in every session. Findings are made small,\n" +
			"confirmed on fresh instances, and written as files that mcpcheck replay plays again. Over HTTP each\n" +
			"frame is a POST, and an instance is a session; a server that is started at its URL is started again\n" +
			"where it serves no more.\n\n" +
			"Exit codes: 0 nothing was found; 1 findings; 2 usage; 3 the target could not be started or speaks\n" +
			"no revision; 4 mcpcheck itself broke; 130 interrupted.",
		Example: "  mcpcheck fuzz --time 10m -- node build/index.js\n" +
			"  mcpcheck fuzz --seed 7 --runs 20000 --allow-tools search,convert -- ./my-server\n" +
			"  mcpcheck fuzz --url http://localhost:3000/mcp -- node build/http.js\n" +
			"  mcpcheck replay mcpcheck-findings/liveness-dead-2025-11-25-1a2b3c4d.jsonl -- ./my-server",
		RunE: func(cmd *cobra.Command, args []string) error { return fuzzServer(cmd, args, &f, &s) },
	}
	f.addTarget(cmd)
	f.addServer(cmd)
	f.addSite(cmd)
	n := cmd.Flags()
	n.DurationVar(&s.time, "time", 0, "search for this long (default: 1m, or until --runs are used up)")
	n.IntVar(&s.runs, "runs", 0, "play this many distinct plans")
	n.StringVar(&s.out, "out", casesDir, "write the cases of findings into this `directory`")
	n.StringSliceVar(&f.specs, "spec", nil, "fuzz these `revisions` only, or all (default: every revision that is spoken)")
	n.Uint64Var(&f.seed, "seed", 0, "seed of the plans; with --runs it repeats a run (default: a new one, which the report tells)")
	n.StringVar(&f.json, "json", "", "write the JSON report to `file` (- is stdout)")
	n.StringVar(&f.junit, "junit", "", "write the JUnit report to `file` (- is stdout)")
	n.StringVar(&f.html, "html", "", "write the HTML report to `file` (- is stdout)")
	n.BoolVar(&f.quiet, "quiet", false, "print the summary only")
	n.BoolVar(&f.noColor, "no-color", false, "print without colours")
	complete(cmd, "spec", func() []string { return append(revisionNames(), "all") })
	return cmd
}

// addTarget declares the flags of how a target is started and spoken to, for
// the verbs that play frames instead of running checks.
func (f *flags) addTarget(cmd *cobra.Command) {
	d := session.Defaults()
	s := cmd.Flags()
	s.StringArrayVar(&f.env, "env", nil, "set `K=V` in the environment of the target (repeatable)")
	s.StringVar(&f.cwd, "cwd", "", "start the target in this `directory`")
	s.DurationVar(&f.timeout, "timeout", d.Timeout, "wait at most this long for one answer")
	s.DurationVar(&f.start, "start-timeout", d.StartTimeout, "wait at most this long for the first answer of a process")
	s.StringVar(&f.reference, "reference", "", "take our own reference, or with =FAULT one of its seeded faults")
	s.Lookup("reference").NoOptDefVal = referenceHonest
	complete(cmd, "reference", faultNames)
	f.deadline = d.StartTimeout // not a flag here
}

// fuzzServer reads the whole command line before it starts anything.
func fuzzServer(cmd *cobra.Command, args []string, f *flags, s *search) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	switch {
	case s.time < 0 || cmd.Flags().Changed("time") && s.time == 0:
		return fmt.Errorf("--time must be more than zero, not %s", s.time)
	case s.runs < 0 || cmd.Flags().Changed("runs") && s.runs == 0:
		return fmt.Errorf("--runs must be more than zero, not %d", s.runs)
	case s.time == 0 && s.runs == 0:
		s.time = searchTime
	}
	if info, err := os.Stat(s.out); err == nil && !info.IsDir() {
		return fmt.Errorf("--out: %s is not a directory", s.out)
	}
	revisions, err := f.revisions()
	if err != nil {
		return err
	}
	at, err := f.site(cmd, args)
	if err != nil {
		return err
	}
	var target transport.Target
	var argv, words []string
	if at != nil {
		argv = at.words()
		words = argv
	} else if target, argv, err = f.target(cmd, args); err != nil {
		return err
	}
	out, err := f.outputs()
	if err != nil {
		return err
	}
	o := fuzz.Options{Target: words, Headers: headerFields(f.headers)}
	notes, end := "", func() string { return "" }
	began := time.Now()
	if at != nil {
		if target, notes, end, err = at.open(cmd.Context(), f); err != nil {
			end()
			return f.conclude(argv, unreached(cmd.Context(), began, f.seed), err, out)
		}
		o.Again = at.again
	}
	defer func() { end() }()
	target, stop, err := guarded(target)
	if err != nil {
		out.close()
		return exitError{exitBroken, err}
	}
	defer stop()

	o = fuzz.Options{
		Target: o.Target, Headers: o.Headers, Again: o.Again,
		Revisions: revisions, Runs: s.runs, Time: s.time, Seed: f.seed, Session: f.session(), Allow: f.allowed(), Out: s.out, Version: version,
		Command: func(file string) string {
			return transport.Quote(slices.Concat([]string{"mcpcheck", "replay", file}, f.startFlags(), argv))
		},
	}
	if !f.quiet {
		p := &progress{out: os.Stderr, terminal: f.text(os.Stderr).Terminal}
		o.Progress, o.Found = p.stats, p.found
		defer p.end()
	}
	res, failure := fuzz.Run(cmd.Context(), target, o)
	run := fuzzRun(res, s, transport.KindOf(target))
	if notes != "" {
		run.Notes = append(run.Notes, notes)
	}
	if failure != nil && len(run.Findings) > 0 { // what it came to counts, and is what ended it
		run.Notes = append(run.Notes, failure.Error())
		failure = nil
	}
	run.Started, run.MS, run.Seed = began, float64(time.Since(began).Microseconds())/1000, f.seed
	err = f.conclude(argv, run, failure, out)
	if res.Broken && err == nil {
		return exitError{code: exitBroken}
	}
	return err
}

// startFlags are the flags of how the target is started, to be given again.
func (f *flags) startFlags() []string {
	var out []string
	for _, e := range f.env {
		out = append(out, "--env", e)
	}
	if f.cwd != "" {
		out = append(out, "--cwd", f.cwd)
	}
	for _, h := range f.headerNames() {
		out = append(out, "--header", h)
	}
	if f.transport != "" && f.transport != transportAuto {
		out = append(out, "--transport", f.transport)
	}
	return out
}

// guarded has the process of a target ended should this one be killed.
func guarded(target transport.Target) (transport.Target, func(), error) {
	c, ok := target.(transport.Command)
	if !ok {
		return target, func() {}, nil
	}
	guard, err := startGuard()
	if err != nil {
		return nil, nil, err
	}
	c.Guard = guard
	return c, guard.Close, nil
}

// fuzzRun makes a report of a search.
func fuzzRun(res *fuzz.Result, s *search, over transport.Kind) *reports.Run {
	run := &reports.Run{
		Format: 1, Ended: res.Ended, Revisions: res.Revisions, Plans: res.Stats.Plans, Notes: res.Notes,
		Target: reports.Target{Role: "server", Name: res.Name, Version: res.Version, Starts: res.Stats.Starts},
	}
	for _, found := range res.Findings {
		run.Findings = append(run.Findings, found.Finding)
	}
	st := res.Stats
	starts := "starts"
	if over != transport.Stdio {
		starts = "sessions"
	}
	run.Notes = append(run.Notes, fmt.Sprintf("%d distinct plans were played, %.0f a second, after %s of getting to know the target; %d %s; %d plans met a finding again, %d were set aside for one, %d were held back by manners, %d were answered late",
		st.Plans, st.Rate(), st.Prepared.Round(time.Millisecond), st.Starts, starts, st.Again, st.SetAside, st.Held, st.Slow))
	for _, rev := range spec.Revisions() {
		if counts := st.Methods[rev]; counts != nil {
			run.Notes = append(run.Notes, fmt.Sprintf("%s: methods sent (answered with a result): %s", rev, reached(rev, counts)))
		}
	}
	if len(st.HeldTools) > 0 {
		run.Notes = append(run.Notes, fmt.Sprintf("tools not called, since they are not read-only or no valid arguments could be made: %s (--allow-tools)", strings.Join(st.HeldTools, ", ")))
	}
	run.Count()
	return run
}

// reached lists the methods of a revision with how often they were sent and
// served.
func reached(rev spec.Revision, counts map[string]fuzz.Count) string {
	facts := rev.Facts()
	known := slices.Concat(facts.ClientRequests, facts.ClientNotifications)
	names := slices.DeleteFunc(slices.Collect(maps.Keys(counts)), func(m string) bool { return !slices.Contains(known, m) })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(counts[b].Sent-counts[a].Sent, strings.Compare(a, b)) })
	for i, m := range names {
		names[i] = fmt.Sprintf("%s %d (%d)", m, counts[m].Sent, counts[m].Served)
	}
	return strings.Join(names, ", ")
}

// progress tells how a search goes: a line that is redrawn on a terminal, else
// one now and then.
type progress struct {
	out      *os.File
	terminal bool
	told     time.Time
	drawn    bool
}

const progressEvery = 10 * time.Second

func (p *progress) stats(s fuzz.Stats) {
	if !p.terminal && time.Since(p.told) < progressEvery {
		return
	}
	p.told = time.Now()
	methods := map[string]bool{}
	for _, counts := range s.Methods {
		for m, c := range counts {
			if c.Served > 0 {
				methods[m] = true
			}
		}
	}
	text := fmt.Sprintf("%d plans, %.0f/s, %d methods reached, %d findings", s.Plans, s.Rate(), len(methods), s.Findings)
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.out, text)
}

func (p *progress) found(f *fuzz.Found) {
	p.end()
	// Text of the target is in it, quoted so that it cannot steer a terminal.
	fmt.Fprintf(p.out, "FINDING %s at %s (%s): %q\n", f.Oracle, f.Revision, f.Reproduced, f.Says)
}

func (p *progress) end() {
	if p.drawn {
		fmt.Fprintln(p.out)
		p.drawn = false
	}
}

var errReplayArgs = errors.New("replay takes one case file, as in mcpcheck replay FILE -- CMD ARGS…, or mcpcheck replay FILE URL")
