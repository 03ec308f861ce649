package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/fuzz"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// fuzzFlags are the flags of fuzz alone.
type fuzzFlags struct {
	time time.Duration
	runs int
	out  string
}

const (
	defaultFuzzTime = time.Minute
	defaultCasesDir = "mcpcheck-findings"
)

const fuzzHelp = `Send a server valid exchanges with mutations of all kinds. Report which inputs end it, which
requests it does not answer, and which inputs make it break a rule that holds in every session.
Each finding is minimized, confirmed on fresh instances, and written to a file that mcpcheck
replay executes again. Over HTTP each frame is a POST, and an instance is a session; a server that
mcpcheck starts at its URL is started again when it ends.

Exit codes: 0 no finding; 1 findings; 2 usage; 3 the target could not be started or reached, or
speaks no revision; 4 internal error of mcpcheck; 130 interrupted.`

func fuzzCommand() *cobra.Command {
	var f flags
	var s fuzzFlags
	cmd := &cobra.Command{
		Use:   "fuzz [flags] -- CMD ARGS… | URL | --url URL -- CMD ARGS…",
		Short: "Search for inputs that crash, hang or confuse a server",
		Long:  fuzzHelp,
		Example: "  mcpcheck fuzz --time 10m -- node build/index.js\n" +
			"  mcpcheck fuzz --seed 7 --runs 20000 --allow-tools search,convert -- ./my-server\n" +
			"  mcpcheck fuzz --url http://localhost:3000/mcp -- node build/http.js\n" +
			"  mcpcheck replay mcpcheck-findings/liveness-dead-2025-11-25-1a2b3c4d.jsonl -- ./my-server",
		RunE: func(cmd *cobra.Command, args []string) error { return f.hideIn(fuzzServer(cmd, args, &f, &s)) },
	}
	f.addLaunch(cmd, faultNames)
	f.addOutputs(cmd)
	f.addServer(cmd)
	f.addHTTP(cmd)
	n := cmd.Flags()
	n.DurationVar(&s.time, "time", 0, "search for this long (default: 1m, or until --runs are used up)")
	n.IntVar(&s.runs, "runs", 0, "execute this many distinct plans")
	n.StringVar(&s.out, "out", defaultCasesDir, "write the case files of findings into this `directory`")
	n.StringSliceVar(&f.specs, "spec", nil,
		"fuzz these `revisions` only, or all (default: every revision that the target speaks)")
	n.Uint64Var(&f.seed, "seed", 0,
		"seed of the plans; with --runs it repeats a run (default: a new one, shown in the report)")
	completeFlag(cmd, "spec", func() []string { return append(revisionNames(), "all") })
	return cmd
}

func (s *fuzzFlags) validate(cmd *cobra.Command) error {
	switch {
	case s.time < 0 || cmd.Flags().Changed("time") && s.time == 0:
		return fmt.Errorf("--time must be more than zero, not %s", s.time)
	case s.runs < 0 || cmd.Flags().Changed("runs") && s.runs == 0:
		return fmt.Errorf("--runs must be more than zero, not %d", s.runs)
	case s.time == 0 && s.runs == 0:
		s.time = defaultFuzzTime
	}
	if info, err := os.Stat(s.out); err == nil && !info.IsDir() {
		return fmt.Errorf("--out: %s is not a directory", s.out)
	}
	return nil
}

// fuzzServer reads the whole command line before it starts anything.
func fuzzServer(cmd *cobra.Command, args []string, f *flags, s *fuzzFlags) error {
	if err := f.prepare(cmd, args); err != nil {
		return err
	}
	if err := s.validate(cmd); err != nil {
		return err
	}
	revisions, err := f.revisions()
	if err != nil {
		return err
	}
	server, err := f.serverTarget(cmd, args)
	if err != nil {
		return err
	}
	out, err := f.openOutputs()
	if err != nil {
		return err
	}
	began := time.Now()
	note, end, err := server.open(cmd.Context(), f)
	defer func() { end() }()
	if err != nil {
		return f.conclude("fuzz", server.words, unreachedRun(cmd.Context(), began, f.seed), err, out)
	}
	target, guard, err := server.target.WithGuard(startGuard)
	if err != nil {
		out.close()
		return exitError{exitBroken, err}
	}
	defer guard.Close()

	o := f.fuzzOptions(s, &server, revisions)
	if !f.quiet {
		p := &fuzzProgress{hide: f.secrets.Hide, out: os.Stderr, terminal: f.textOptions(os.Stderr).Terminal}
		o.OnProgress, o.OnFinding = p.stats, p.found
		defer p.endLine()
	}
	res, failure := fuzz.Run(cmd.Context(), target, o)
	run := fuzzRun(res, target.Transport())
	if note != "" {
		run.Notes = append(run.Notes, note)
	}
	if failure != nil && len(run.Findings) > 0 {
		// The findings decide the exit code: one of them ended the search.
		run.Notes = append(run.Notes, failure.Error())
		failure = nil
	}
	run.Started, run.MS, run.Seed = began, float64(time.Since(began).Microseconds())/1000, f.seed
	err = f.conclude("fuzz", server.words, run, failure, out)
	if res.Broken && err == nil {
		return exitError{code: exitBroken}
	}
	return err
}

func (f *flags) fuzzOptions(s *fuzzFlags, server *serverTarget, revisions []spec.Revision) fuzz.Options {
	o := fuzz.Options{
		Revisions: revisions, Runs: s.runs, Time: s.time, Seed: f.seed, Session: f.session(), AllowTool: f.allow(),
		Restart: server.restart(), Headers: f.headerNames(), CaseDir: s.out, Version: version,
		Hide: f.secrets.Hide,
		ReplayCommand: func(file string) string {
			return f.commandLine(slices.Concat([]string{"mcpcheck", "replay", file}, f.launchFlags(),
				server.words))
		},
	}
	if server.http != nil {
		o.Target = server.words
	}
	return o
}

// fuzzRun returns the report of a search.
func fuzzRun(res *fuzz.Result, over transport.Kind) *reports.Run {
	run := &reports.Run{
		Format: 1, Ended: res.Ended, Revisions: res.Revisions, Plans: res.Stats.Plans, Notes: res.Notes,
		Target: reports.Target{Role: "server", Name: res.Name, Version: res.Version, Starts: res.Stats.Starts},
	}
	for _, found := range res.Findings {
		run.Findings = append(run.Findings, found.Finding)
	}
	run.Notes = append(run.Notes, fuzzNotes(res.Stats, over)...)
	run.Count()
	return run
}

func fuzzNotes(s fuzz.Stats, over transport.Kind) []string {
	starts := "starts"
	if over != transport.Stdio {
		starts = "sessions"
	}
	notes := []string{
		fmt.Sprintf("%d distinct plans were executed, %.0f per second, after a survey of %s; %d %s",
			s.Plans, s.Rate(), s.Preparation.Round(time.Millisecond), s.Starts, starts),
		fmt.Sprintf(
			"plans that repeated a finding: %d; plans answered late: %d; plans not executed because they would repeat "+
				"a finding that ends the session: %d, or call a tool that is not allowed: %d",
			s.Known, s.Slow, s.Skipped, s.Withheld),
	}
	for _, rev := range spec.Revisions() {
		if counts := s.Methods[rev]; counts != nil {
			notes = append(notes, fmt.Sprintf("%s: methods sent (answered with a result): %s",
				rev, methodCounts(rev, counts)))
		}
	}
	if len(s.WithheldTools) > 0 {
		notes = append(notes, fmt.Sprintf("tools not called, because they are not read-only or because no valid "+
			"arguments could be made: %s; to allow calls, give --allow-tools NAME,…",
			strings.Join(s.WithheldTools, ", ")))
	}
	return notes
}

// methodCounts lists the methods of a revision with how often they were sent and
// answered with a result.
func methodCounts(rev spec.Revision, counts map[string]fuzz.MethodCount) string {
	facts := rev.Facts()
	known := slices.Concat(facts.ClientRequests, facts.ClientNotifications)
	isUnknown := func(method string) bool { return !slices.Contains(known, method) }
	names := slices.DeleteFunc(slices.Collect(maps.Keys(counts)), isUnknown)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(counts[b].Sent-counts[a].Sent, strings.Compare(a, b))
	})
	for i, m := range names {
		names[i] = fmt.Sprintf("%s %d (%d)", m, counts[m].Sent, counts[m].Served)
	}
	return strings.Join(names, ", ")
}

// fuzzProgress shows the progress of a search: on a terminal a line that is
// redrawn, elsewhere a line every progressInterval.
type fuzzProgress struct {
	hide     func(string) string // without the secrets in it
	out      *os.File
	terminal bool
	shown    time.Time // last
	hasLine  bool      // a line that is redrawn is on the terminal
}

const progressInterval = 10 * time.Second

func (p *fuzzProgress) stats(s fuzz.Stats) {
	if !p.terminal && time.Since(p.shown) < progressInterval {
		return
	}
	p.shown = time.Now()
	methods := map[string]bool{}
	for _, counts := range s.Methods {
		for m, c := range counts {
			if c.Served > 0 {
				methods[m] = true
			}
		}
	}
	text := fmt.Sprintf("plans: %d (%.0f/s), methods answered with a result: %d, findings: %d", s.Plans, s.Rate(),
		len(methods), s.Findings)
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		p.hasLine = true
		return
	}
	fmt.Fprintln(p.out, text)
}

func (p *fuzzProgress) found(f *fuzz.Finding) {
	p.endLine()
	// The text may be of the target. Quoted, it cannot control the terminal.
	fmt.Fprintf(p.out, "FINDING %s at %s (%s): %q\n", f.Oracle, f.Revision, f.Reproduced,
		p.hide(f.Says))
}

func (p *fuzzProgress) endLine() {
	if p.hasLine {
		fmt.Fprintln(p.out)
		p.hasLine = false
	}
}
