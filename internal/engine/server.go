package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official"
	"github.com/mcpcheck/mcpcheck/suites/survey"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// The checks that fail if a server answers no opening.
const (
	openingHandshake = "lifecycle.initialize.answered"
	openingStateless = "discover.answered"
)

// Limits of what may go wrong before a server is given up at a revision.
const (
	// maxUnserved is how many checks in a row may end their session or get none, and the
	// server is not started again.
	maxUnserved = 3
	// maxExits is how often the server may end or hang where it is started again.
	maxExits = 20
)

// A serverSubject is a server under test: a pool of sessions for each revision.
type serverSubject struct {
	*Engine
	launcher *session.Launcher
	process  transport.ServerProcess // nil unless mcpcheck started a server at a URL
	pools    map[spec.Revision]*session.Pool
	closed   map[spec.Revision]bool         // all sessions have ended
	refusals map[spec.Revision][]wire.Frame // the opening of a session at a revision that is not spoken
	ended    map[spec.Revision][]*view.View
	unserved []string                   // checks that ended their session or got none, without one between that did not
	enders   map[spec.Revision]string   // the first check in which the server ended
	released map[spec.Revision]bool     // what was recorded is dropped
	listed   map[string]map[string]bool // names by the member of the list; nil for a list that was not seen
}

// New returns an engine that judges a server.
func New(target transport.Target, o Options) (*Engine, error) {
	o.Given.Authorization = o.Given.Authorization.WithSecrets(target.Bearer())
	if o.Session.Host == nil {
		o.Session.Host = session.FullHost()
	}
	e, err := newEngine(o, wire.Server, target.Transport())
	if err != nil {
		return nil, err
	}
	e.subject = &serverSubject{
		Engine:   e,
		launcher: session.NewLauncher(target, o.Session),
		process:  target.Process(),
		pools:    map[spec.Revision]*session.Pool{},
		closed:   map[spec.Revision]bool{},
		refusals: map[spec.Revision][]wire.Frame{},
		ended:    map[spec.Revision][]*view.View{},
		enders:   map[spec.Revision]string{},
		released: map[spec.Revision]bool{},
		listed:   map[string]map[string]bool{},
	}
	return e, nil
}

// Run judges a server and returns the report, also if the context ends before the run
// does. An error says that the server could not be judged at all.
func Run(ctx context.Context, target transport.Target, o Options) (*reports.Run, error) {
	e, err := New(target, o)
	if err != nil {
		return nil, err
	}
	return e.Judge(ctx)
}

func (e *serverSubject) identify(o session.Opening) {
	if e.report.Target.Name == "" {
		e.report.Target.Name = o.ServerInfo.Get("name").String()
		e.report.Target.Version = o.ServerInfo.Get("version").String()
	}
}

// planAll plans the results: decided already where the revision is not spoken or
// nothing was opened.
func (e *serverSubject) planAll(openings map[spec.Revision]session.Opening) {
	culprit, at := e.culprit(openings)
	for _, rev := range e.o.Revisions {
		o := openings[rev]
		e.report.Revisions = append(e.report.Revisions,
			reports.RevisionRun{Revision: rev, Spoken: o.Spoken, Why: o.Reason})
		e.plan(rev, func(c check.Check) (check.Outcome, bool) {
			switch {
			case culprit != "" && c.ID == culprit && rev == at:
				return check.Outcome{
					State: check.Violated, Detail: openings[at].Reason,
					Expected: "an answer that opens a session", Frames: e.refusals[at],
				}, true
			case culprit != "":
				return check.Outcome{State: check.NotRun, Cause: culprit, Detail: "no session could be opened"}, true
			case !o.Spoken:
				return check.Outcome{
					State: check.NotApplicable, Detail: "the server does not speak this revision: " + o.Reason,
				}, true
			}
			return check.Outcome{}, false
		})
	}
}

// culprit returns the check that fails because no revision asked for gave a valid
// answer, and the revision that it fails at.
func (e *serverSubject) culprit(openings map[spec.Revision]session.Opening) (id string, at spec.Revision) {
	for _, o := range openings {
		if o.Spoken || o.ValidAnswer && (o.StatelessEra || o.OfferedRevision != "") {
			return "", ""
		}
	}
	for _, rev := range e.openingOrder() {
		if !openings[rev].ValidAnswer {
			if rev.Facts().Stateless {
				return openingStateless, rev
			}
			return openingHandshake, rev
		}
	}
	return "", ""
}

func (e *serverSubject) revisions() []spec.Revision {
	return slices.DeleteFunc(slices.Clone(e.o.Revisions), func(rev spec.Revision) bool { return e.pools[rev] == nil })
}

// expect tells the launcher how many instances the pending probes will take.
func (e *serverSubject) expect() {
	n := 0
	withoutCapabilities := map[spec.Revision]bool{}
	for _, r := range e.results {
		switch {
		case r.known:
		case r.check.Session.Alone():
			n++
		case r.check.Session == check.NoCapabilities && !withoutCapabilities[r.rev]:
			withoutCapabilities[r.rev] = true
			n++
		}
	}
	e.launcher.ExpectStarts(n)
}

func (e *serverSubject) run(ctx context.Context, r *result) {
	if !e.closed[r.rev] && !e.isGivenUp(r.rev) {
		e.pools[r.rev].LearnBarrier(ctx)
	}
	switch {
	case r.check.Judge != nil:
		e.survey(ctx, r.rev)
		e.closeRevision(ctx, r.rev)
		if !r.known { // the survey may have shown a violation
			r.decide(check.JudgeAll(r.check, e.views(r.rev)))
		}
	case e.isGivenUp(r.rev):
		r.decide(e.givenUpOutcome(r.rev))
	default:
		living, taken := e.launcher.RunningCount(), len(e.pools[r.rev].Sessions())
		ends := e.pools[r.rev].ExitCount()
		r.decide(check.Run(ctx, r.check, e.env(r.rev)))
		r.beside = living > 0 && len(e.pools[r.rev].Sessions()) > taken
		e.countUnserved(r, e.pools[r.rev].ExitCount() > ends && e.isRestartable())
		e.charge(r)
	}
	e.expect()
}

// survey uses what the server offers, so that the judges of a revision have subjects
// where the probes that were selected gave them none.
func (e *serverSubject) survey(ctx context.Context, rev spec.Revision) {
	if e.closed[rev] || e.isGivenUp(rev) {
		return
	}
	for _, c := range []check.Check{survey.UseServer(), survey.UseServerWithoutCapabilities()} {
		if c.In.Has(rev) {
			e.charge(&result{check: c, rev: rev, out: check.Run(ctx, c, e.env(rev))})
		}
	}
}

// env returns where the probes of a revision run. The tools of a profile may be
// called.
func (e *serverSubject) env(rev spec.Revision) check.Env {
	env := check.Env{
		Pool: e.pools[rev], Allow: e.o.Allow, Given: e.o.Given,
		ChargedTo: func(method string) string { return chargedTo(rev, method) },
	}
	if e.o.Profile == catalog.Official {
		env.Given = official.WithTools(env.Given)
	}
	return env
}

// isGivenUp reports whether no more probes run at a revision.
func (e *serverSubject) isGivenUp(rev spec.Revision) bool {
	return e.hasEndedTooOften(rev) || len(e.unserved) >= maxUnserved
}

func (e *serverSubject) hasEndedTooOften(rev spec.Revision) bool {
	return e.isRestartable() && e.pools[rev].ExitCount() > maxExits
}

// isRestartable reports whether mcpcheck starts the server, and so can start it again.
func (e *serverSubject) isRestartable() bool { return e.kind == transport.Stdio || e.process != nil }

// givenUpOutcome returns the outcome of a check that does not run because the server is
// given up.
func (e *serverSubject) givenUpOutcome(rev spec.Revision) check.Outcome {
	if e.hasEndedTooOften(rev) {
		return check.Outcome{
			State: check.NotRun, Cause: e.enders[rev],
			Detail: fmt.Sprintf("given up: the server ended more than %d times at this revision", maxExits),
		}
	}
	return check.Outcome{
		State: check.NotRun, Cause: e.unserved[0],
		Detail: fmt.Sprintf("given up: each of %s got no session, or the server answered nothing after it",
			strings.Join(e.unserved, ", ")),
	}
}

// countUnserved records whether the server survives its checks. A check that malforms
// does not count, since a server that ends on each invalid line is reported for each, nor
// does an end after which the server was started again.
func (e *serverSubject) countUnserved(r *result, startedAgain bool) {
	c := r.check
	if e.enders[r.rev] == "" && e.pools[r.rev].ExitCount() > 0 {
		e.enders[r.rev] = c.ID
	}
	switch {
	case c.Session.Alone() || c.Malforms || startedAgain:
	case r.out.EndedSession || r.out.State == check.NotRun:
		e.unserved = append(e.unserved, c.ID)
	default:
		e.unserved = nil
	}
}

// charge makes the checks of the methods on which the server ended fail.
func (e *serverSubject) charge(of *result) {
	for _, charge := range of.out.Charges {
		id := chargedTo(of.rev, charge.Method)
		at := slices.IndexFunc(e.results, func(r *result) bool { return r.check.ID == id && r.rev == of.rev })
		if at < 0 {
			e.report.Notes = append(e.report.Notes, fmt.Sprintf("%s at %s: %s (%s reports it)", of.check.ID, of.rev,
				charge.Outcome.Detail, id))
			continue
		}
		r := e.results[at]
		r.beside, r.charged = false, true
		switch {
		case !r.known:
			r.decide(charge.Outcome)
			e.announce(r)
		case r.out.State != check.Violated:
			e.revise(r, charge.Outcome)
		}
	}
}

// excuse returns the outcome of a check that failed because the server ended on a method
// on which it also ends when that is used validly: another check reports that.
func (e *serverSubject) excuse(of *result, o check.Outcome) check.Outcome {
	if o.State != check.Violated {
		return o
	}
	for _, method := range o.EndedOn {
		id := chargedTo(of.rev, method)
		if slices.ContainsFunc(e.results, func(r *result) bool {
			return r != of && r.check.ID == id && r.rev == of.rev && r.known && r.out.State == check.Violated
		}) {
			o.State, o.Cause = check.NotRun, id
		}
	}
	return o
}

// chargedTo returns the check that reports a server that ends on valid messages of a
// method; "" if there is none.
func chargedTo(rev spec.Revision, method string) string {
	for _, c := range catalog.Checks() {
		if c.ChargedWith == method && c.In.Has(rev) {
			return c.ID
		}
	}
	return ""
}

// closeRevision ends the sessions of a revision once. Then it takes answers that came
// late into account and repeats alone what failed while more than one instance ran.
func (e *serverSubject) closeRevision(ctx context.Context, rev spec.Revision) {
	pool := e.pools[rev]
	if pool == nil || e.closed[rev] {
		return
	}
	e.closed[rev] = true
	e.unserved = nil
	pool.Close()
	for _, r := range e.results {
		if r.rev == rev && (r.check.Probe != nil || r.charged) && r.known {
			e.revise(r, e.excuse(r, r.out.AtSessionEnd()))
		}
	}
	if !e.o.Confirm || ctx.Err() != nil {
		return
	}
	pool.ClearCache() // shared results are computed again, too
	for _, r := range e.results {
		if r.rev != rev || !r.beside || r.out.State != check.Violated {
			continue
		}
		again := check.Run(ctx, r.check, e.env(r.rev))
		pool.Close()
		if again = again.AtSessionEnd(); again.State != check.Violated && again.State != check.NotRun {
			again.Notes = append(again.Notes,
				"it failed while another instance of the server ran, and not alone: "+r.out.Detail)
			e.revise(r, again)
		}
	}
}

// revise replaces the outcome of a result and announces it if its state changed.
func (e *serverSubject) revise(r *result, o check.Outcome) {
	before := r.out.State
	e.mu.Lock()
	r.out = o
	e.mu.Unlock()
	if o.State != before {
		e.announce(r)
	}
}

// views returns the ended sessions of a revision, ready for all its judges.
func (e *serverSubject) views(rev spec.Revision) []*view.View {
	if e.ended[rev] == nil {
		for _, s := range e.pools[rev].Sessions() {
			if s.Rev == rev {
				e.ended[rev] = append(e.ended[rev], view.Of(s))
			}
		}
	}
	return e.ended[rev]
}

// release drops the records of the sessions of a revision, of which everything was judged.
func (e *serverSubject) release(rev spec.Revision) {
	pool := e.pools[rev]
	if pool == nil || e.released[rev] {
		return
	}
	e.released[rev] = true
	e.noteLists(pool)
	if n, bytes := pool.Dropped(); n > 0 {
		e.report.Notes = append(e.report.Notes, fmt.Sprintf("the server sent so much at %s that mcpcheck dropped the "+
			"records of %d sessions (%d MB), which no judge examined", rev, n, bytes>>20))
	}
	pool.Release()
	delete(e.ended, rev)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.results {
		if r.rev == rev {
			r.out = r.out.WithoutSessions()
		}
	}
}

func (e *serverSubject) finish(ctx context.Context) {
	if ctx.Err() != nil {
		e.launcher.Close() // the sessions of all revisions at the same time
	}
	for rev := range e.pools {
		e.closeRevision(ctx, rev)
		e.release(rev)
	}
	e.launcher.Close()
	e.report.Target.Starts = e.launcher.StartCount()
	if why := e.launcher.SerialReason(); why != "" && why != "asked for" {
		e.report.Notes = append(e.report.Notes, "instances of the server were started one after another: "+why)
	}
	if n := e.launcher.RateLimitedCount(); n > 0 {
		e.report.Notes = append(e.report.Notes, fmt.Sprintf("the server limits the rate of requests: "+
			"%d were answered with HTTP status 429, and what they were to show is not observed; "+
			"lift the limit for the run", n))
	}
	e.report.Notes = append(e.report.Notes, e.unlisted()...)
}
