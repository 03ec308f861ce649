// Package engine judges a target: it opens sessions with a server or runs a client
// against scripted servers, runs the checks that apply at each revision, and reports
// their outcomes. It uses no test framework; suites and suites/ginkgosuite present
// the outcomes to those.
//
// A run is: New or NewClient → Open (find out which revisions the target speaks and
// plan a result for each check and revision) → RunRevision for each of Revisions
// (probes, then judges over the ended sessions) → Finish (the report).
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Options say what to run and how.
type Options struct {
	Checks    []check.Check   // of the role under test; nil for all
	Revisions []spec.Revision // asked for; nil for all
	Allow     func(tool string) bool
	Given     check.Given // what the user says of the target
	Profile   string      // what the target promises to offer: "" or catalog.Official
	Session   session.Options
	Deadline  time.Duration // for the whole run; 0 for none
	Strict    bool          // test frameworks fail on warnings, too
	Seed      uint64
	// Confirm repeats a failure alone that was seen while more than one instance
	// ran, for targets that are processes.
	Confirm bool
	// Progress receives every outcome when it is known, and again if a later answer
	// changes it.
	Progress func(reports.Outcome)
	// Notice receives what the user should know before the run ends; nil for nobody.
	Notice func(text string)
	// Rerun returns the command that runs some checks alone.
	Rerun func(ids []string, rev spec.Revision) string
}

// An Engine judges one target.
type Engine struct {
	o       Options
	subject subject
	kind    transport.Kind
	ledger  *fixtures.Ledger
	mapping fixtures.Official
	report  *reports.Run
	results []*result
	opened  bool
	mu      sync.Mutex // guards the outcomes that Wait reads
}

// A subject is the side of the protocol under test.
type subject interface {
	// open finds out which revisions the target speaks and plans the results. An
	// error says that the target cannot be judged at all.
	open(ctx context.Context) error
	// revisions returns the revisions that are judged, in the order asked for.
	revisions() []spec.Revision
	// run decides one result.
	run(ctx context.Context, r *result)
	// closeRevision ends the sessions of a revision, after which no late answer comes.
	closeRevision(ctx context.Context, rev spec.Revision)
	release(rev spec.Revision) // drops the records of the sessions; everything was judged
	// finish ends everything and adds notes to the report.
	finish(ctx context.Context)
}

// A result is the outcome of one check at one revision on its way to the report.
type result struct {
	check   check.Check
	rev     spec.Revision
	out     check.Outcome
	known   bool
	decided chan struct{} // closed when the outcome is known
	charged bool          // another check came upon its violation
	beside  bool          // other instances ran at the time, and it took one of its own
}

func (r *result) decide(o check.Outcome) {
	r.out = o
	if !r.known {
		r.known = true
		close(r.decided)
	}
}

// newEngine returns an engine without a subject.
func newEngine(o Options, role wire.Role, kind transport.Kind) (*Engine, error) {
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		return nil, err
	}
	mapping, err := fixtures.ReadOfficial()
	if err != nil {
		return nil, err
	}
	if o.Checks == nil {
		o.Checks = catalog.InProfile(o.Profile, catalog.Of(role, catalog.Checks()))
	}
	if o.Revisions == nil {
		o.Revisions = spec.Revisions()
	}
	return &Engine{
		o: o, kind: kind, ledger: ledger, mapping: mapping,
		report: &reports.Run{
			Format: 1, Started: time.Now().UTC(), Seed: o.Seed, Ended: reports.Complete,
			Target: reports.Target{Role: string(role)},
		},
	}, nil
}

// Judge runs everything and returns the report, also if the context ends before the
// run does. An error says that the target could not be judged at all.
func (e *Engine) Judge(ctx context.Context) (*reports.Run, error) {
	ctx, cancel := e.WithDeadline(ctx)
	defer cancel()
	err := e.Open(ctx)
	if err == nil {
		for _, rev := range e.Revisions() {
			e.RunRevision(ctx, rev, nil)
		}
	}
	return e.Finish(ctx), err
}

// WithDeadline returns a context that ends at the deadline of the options, if there
// is one.
func (e *Engine) WithDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.o.Deadline <= 0 {
		return context.WithCancel(ctx)
	}
	cause := fmt.Errorf("the deadline of %s was reached: %w", e.o.Deadline, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, e.o.Deadline, cause)
}

// Options returns the options of the run.
func (e *Engine) Options() Options { return e.o }

// Kind returns the transport of the target.
func (e *Engine) Kind() transport.Kind { return e.kind }

// Open finds out which revisions the target speaks and plans a result for each check
// and revision. An error says that the target cannot be judged at all. A second call
// does nothing.
func (e *Engine) Open(ctx context.Context) error {
	if e.opened {
		return nil
	}
	e.opened = true
	return e.subject.open(ctx)
}

// Revisions returns the revisions that are judged, in the order asked for.
func (e *Engine) Revisions() []spec.Revision { return e.subject.revisions() }

// RunRevision runs the selected checks of a revision, all if selected is nil, and
// ends its sessions.
func (e *Engine) RunRevision(ctx context.Context, rev spec.Revision, selected func(check.Check) bool) {
	for _, r := range e.pending(rev) {
		if ctx.Err() != nil {
			return
		}
		if !r.known && (selected == nil || selected(r.check)) { // a charge may have decided it
			e.subject.run(ctx, r)
			e.announce(r)
		}
	}
	e.subject.closeRevision(ctx, rev)
	if !slices.ContainsFunc(e.results, func(r *result) bool { return r.rev == rev && !r.known }) {
		e.subject.release(rev)
	}
}

// Wait waits for the outcome of a check at a revision; ok is false if the context
// ends before, or the check is not planned there. An outcome may still change until
// the revision's sessions have ended.
func (e *Engine) Wait(ctx context.Context, id string, rev spec.Revision) (o reports.Outcome, ok bool) {
	at := slices.IndexFunc(e.results, func(r *result) bool { return r.check.ID == id && r.rev == rev })
	if at < 0 {
		return o, false
	}
	r := e.results[at]
	select {
	case <-r.decided:
	case <-ctx.Done():
		return o, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.outcome(r), true
}

// Finish ends everything and returns the report. What was not decided was not run.
func (e *Engine) Finish(ctx context.Context) *reports.Run {
	e.subject.finish(ctx)
	if cause := context.Cause(ctx); cause != nil {
		e.report.Ended = reports.Interrupted
		if errors.Is(cause, context.DeadlineExceeded) {
			e.report.Ended = reports.Deadline
		}
	}
	for _, r := range e.results {
		if !r.known {
			cause := "the run ended before"
			if err := context.Cause(ctx); err != nil {
				cause = err.Error()
			}
			r.decide(check.Outcome{State: check.NotRun, Cause: cause})
		}
		e.report.Outcomes = append(e.report.Outcomes, e.outcome(r))
	}
	if e.report.Target.Role == string(wire.Server) {
		noteKnown(e.report)
	}
	e.report.MS = float64(time.Since(e.report.Started).Microseconds()) / 1000
	e.report.Count()
	return e.report
}

// plan makes a result for each check that is stated at a revision. decided returns
// the outcome of a check that needs no run, if there is one.
func (e *Engine) plan(rev spec.Revision, decided func(c check.Check) (check.Outcome, bool)) {
	for _, c := range e.o.Checks {
		if !c.In.Has(rev) {
			continue
		}
		r := &result{check: c, rev: rev, decided: make(chan struct{})}
		if !c.On.Has(e.kind) {
			r.decide(check.Outcome{State: check.NotApplicable, Detail: "not of this transport"})
		} else if o, ok := decided(c); ok {
			r.decide(o)
		}
		e.results = append(e.results, r)
	}
}

// pending returns what is to be run at a revision: probes of the shared sessions,
// then those of sessions of their own, then those that malform, which may cost a
// session, and judges last.
func (e *Engine) pending(rev spec.Revision) []*result {
	rank := func(r *result) int {
		switch c := r.check; {
		case c.Judge != nil:
			return 4
		case c.Malforms && !c.Session.Alone():
			return 3
		case c.Session.Alone():
			return 2
		case c.Session == check.NoCapabilities:
			return 1
		}
		return 0
	}
	var out []*result
	for _, r := range e.results {
		if r.rev == rev && !r.known {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *result) int { return rank(a) - rank(b) })
	return out
}

// announce reports an outcome to the receiver of the progress.
func (e *Engine) announce(r *result) {
	if e.o.Progress != nil {
		e.o.Progress(e.outcome(r))
	}
}

// outcome makes the report's outcome of a result: the level of the check makes the
// verdict.
func (e *Engine) outcome(r *result) reports.Outcome {
	c, o := r.check, e.o.Given.Authorization.HideAll(r.out)
	out := reports.Outcome{
		ID: c.ID, Area: c.Area(), Says: c.Says, Level: c.Level, Revision: r.rev, Transport: string(e.kind),
		Detail: o.Detail, Expected: o.Expected, Got: o.Got, Notes: o.Notes, Cause: o.Cause, Hint: o.Hint,
		Rules: e.rules(c, r.rev), Spec: RelatedClause(c, r.rev), Official: e.mapping.Of(c.ID, r.rev),
		Where: Where(c), MS: float64(o.Took.Microseconds()) / 1000, Frames: o.Frames,
	}
	switch o.State {
	case check.Kept:
		out.Verdict = reports.Pass
	case check.Violated:
		out.Verdict = reports.Warn
		if c.Level == spec.Must {
			out.Verdict = reports.Fail
		}
		if out.Expected == "" {
			out.Expected = c.Says
		}
		if e.o.Rerun != nil {
			out.Rerun = e.o.Rerun(e.neededFor(c, o), r.rev)
		}
	case check.NotObserved:
		out.Verdict = reports.NotObserved
	case check.NotApplicable:
		out.Verdict = reports.NotApplicable
	case check.NotRun:
		out.Verdict = reports.NotRun
	default:
		out.Verdict = reports.Broken
	}
	return out
}

// neededFor returns the checks that show an outcome again: a judge needs the check that
// sent what it objects to, unless the survey did.
func (e *Engine) neededFor(c check.Check, o check.Outcome) []string {
	isProbe := slices.ContainsFunc(e.o.Checks, func(p check.Check) bool { return p.ID == o.SentBy && p.Probe != nil })
	if c.Judge != nil && isProbe {
		return []string{o.SentBy, c.ID}
	}
	return []string{c.ID}
}

func (e *Engine) rules(c check.Check, rev spec.Revision) []reports.Rule {
	var out []reports.Rule
	for _, id := range c.Rules {
		if i, ok := e.ledger.Rows[id].At(rev); ok {
			out = append(out, reports.Rule{ID: id, Says: i.Text, Section: i.Section, URL: i.URL(rev)})
		}
	}
	return out
}

// RelatedClause returns the section that a Robust check without rules refers to, at a
// revision; nil for any other check.
func RelatedClause(c check.Check, rev spec.Revision) *reports.Clause {
	if c.Level != spec.Robust || c.Spec == "" {
		return nil
	}
	return &reports.Clause{Section: c.Spec, URL: fixtures.Instance{Section: c.Spec}.URL(rev)}
}
