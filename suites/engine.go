package suites

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official"
	"github.com/mcpcheck/mcpcheck/suites/survey"
)

// Options say what to run and how.
type Options struct {
	Checks    []check.Check   // of servers; nil for all
	Revisions []spec.Revision // asked for; nil for all
	Allow     func(tool string) bool
	Given     check.Given // what the user says of the target
	Profile   string      // what the target promises to offer: "" or Official
	Session   session.Options
	Deadline  time.Duration // for the whole run; 0 for none
	Seed      uint64
	// Confirm repeats a failure alone that was seen while more than one
	// instance ran, for targets that are processes.
	Confirm bool
	// Progress is told every outcome as it comes; an outcome that changes
	// because of a late answer is told again.
	Progress func(reports.Outcome)
	// Rerun gives the command that runs a check alone.
	Rerun func(id string, rev spec.Revision) string
}

// The checks that fail when a target opens at no revision.
const (
	openingHandshake = "lifecycle.initialize.answered"
	openingStateless = "discover.answered"
)

// An engine runs checks against one target and keeps what they came to.
type engine struct {
	o        Options
	kind     transport.Kind
	launcher *session.Launcher
	ledger   *fixtures.Ledger
	official fixtures.Official
	pools    map[spec.Revision]*session.Pool
	closed   map[spec.Revision]bool // all sessions have ended
	ended    map[spec.Revision][]*check.View
	run      *reports.Run

	results []*result
	killers []string // checks that ended their session, one after another, without one between that did not
}

// patience is how many checks in a row may end their session before the
// target is given up at a revision: one cause is not told fifty times.
const patience = 3

// A result is the outcome of one check at one revision on its way to the
// report.
type result struct {
	check  check.Check
	rev    spec.Revision
	out    check.Outcome
	known  bool
	beside bool // other instances ran at the time, and it took one of its own
}

func newEngine(target transport.Target, o Options) (*engine, error) {
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		return nil, err
	}
	official, err := fixtures.ReadOfficial()
	if err != nil {
		return nil, err
	}
	if o.Checks == nil {
		o.Checks = InProfile(o.Profile, Of(wire.Server, All()))
	}
	if o.Revisions == nil {
		o.Revisions = spec.Revisions()
	}
	own := ""
	if site, ok := target.(transport.Site); ok {
		own = site.Endpoint.Bearer()
	}
	o.Given.Authorization = o.Given.Authorization.Guarded(own)
	if o.Session.Host == nil {
		o.Session.Host = session.Willing()
	}
	return &engine{
		o:        o,
		kind:     transport.KindOf(target),
		launcher: session.NewLauncher(target, o.Session),
		ledger:   ledger,
		official: official,
		pools:    map[spec.Revision]*session.Pool{},
		closed:   map[spec.Revision]bool{},
		ended:    map[spec.Revision][]*check.View{},
		run:      &reports.Run{Format: 1, Started: time.Now().UTC(), Seed: o.Seed, Ended: reports.Complete, Target: reports.Target{Role: "server"}},
	}, nil
}

// ErrNotStarted tells that the target could not be started or ended before it
// said anything.
var ErrNotStarted = errors.New("the target could not be started")

// open opens one session per revision asked for, and plans the results. It
// returns an error only if the target cannot be judged at all.
func (e *engine) open(ctx context.Context) error {
	answered, tried, dead := false, 0, 0
	var failure error
	within := e.o.Session.StartTimeout
	openings := map[spec.Revision]session.Opening{}
	var unsent *session.Unsent
	// Newest handshake revision first: a server that answers nothing shows it
	// there, and the wait for a first answer is not repeated in full.
	for _, rev := range e.openingOrder() {
		if e.kind == transport.SSE && rev.Facts().Stateless {
			// basic/transports of 2026-07-28 has stdio and streamable HTTP alone.
			openings[rev] = session.Opening{Valid: true, Why: "the revision has no HTTP+SSE"}
			continue
		}
		pool := session.NewPool(e.launcher, rev)
		tried++
		o, s, err := pool.OpenFirst(ctx, within)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %v", ErrNotStarted, err)
		}
		if o.Refusal != nil && o.Refusal.Status == http.StatusTooManyRequests {
			return fmt.Errorf("it cannot be told what the server speaks, since it limits the rate of requests: its opening at %s was answered with %w; lift the limit for the run", rev, o.Refusal)
		}
		openings[rev] = o
		switch {
		case o.Answered || o.Refusal != nil:
			answered = true
			within = e.o.Session.First(o.Took)
		case errors.As(o.Err, &unsent) && !heard(s):
			dead++
			failure = fmt.Errorf("%w: %w%s", ErrNotStarted, o.Err, stderrOf(s))
		case s.Over() != nil && !heard(s):
			dead++
			failure = fmt.Errorf("%w: it ended before it answered %s: %v%s", ErrNotStarted, "anything", s.Over(), stderrOf(s))
		default:
			within = min(within, e.o.Session.Timeout)
		}
		if o.Spoken {
			e.pools[rev] = pool
			e.identify(o)
		} else {
			s.Close()
		}
	}
	if !answered && dead == tried {
		return failure
	}
	for _, rev := range e.o.Revisions {
		o := openings[rev]
		e.run.Revisions = append(e.run.Revisions, reports.RevisionRun{Revision: rev, Spoken: o.Spoken, Why: o.Why})
	}
	e.plan(openings)
	return nil
}

func heard(s *session.Session) bool {
	return slices.ContainsFunc(s.Entries(), func(e wire.Entry) bool { return e.From == wire.Server })
}

func stderrOf(s *session.Session) string {
	text := strings.TrimSpace(s.Stderr())
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "\nits standard error ended with:\n  " + strings.Join(lines[max(0, len(lines)-10):], "\n  ")
}

func (e *engine) openingOrder() []spec.Revision {
	order := slices.Clone(e.o.Revisions)
	slices.SortStableFunc(order, func(a, b spec.Revision) int {
		if x, y := a.Facts().Stateless, b.Facts().Stateless; x != y {
			if y {
				return -1
			}
			return 1
		}
		return strings.Compare(string(b), string(a))
	})
	return order
}

func (e *engine) identify(o session.Opening) {
	if e.run.Target.Name == "" {
		e.run.Target.Name = o.Info.Get("name").String()
		e.run.Target.Version = o.Info.Get("version").String()
	}
}

// plan makes a result for every check and revision, decided already where the
// revision is not spoken or where nothing was opened.
func (e *engine) plan(openings map[spec.Revision]session.Opening) {
	culprit, at := e.culprit(openings)
	for _, rev := range e.o.Revisions {
		for _, c := range e.o.Checks {
			if !c.In.Has(rev) {
				continue
			}
			r := &result{check: c, rev: rev}
			switch {
			case !c.On.Has(e.kind):
				r.decide(check.Outcome{State: check.NotApplicable, Detail: "not of this transport"})
			case culprit != "" && c.ID == culprit && rev == at:
				r.decide(check.Outcome{State: check.Violated, Detail: openings[at].Why, Expected: "an answer that opens a session", Frames: []wire.Frame{}})
			case culprit != "":
				r.decide(check.Outcome{State: check.NotRun, Cause: culprit, Detail: "no session could be opened"})
			case !openings[rev].Spoken:
				r.decide(check.Outcome{State: check.NotApplicable, Detail: "the server does not speak this revision: " + openings[rev].Why})
			}
			e.results = append(e.results, r)
		}
	}
}

// culprit names the check that fails because no revision asked for gave a
// valid answer, and the revision that it fails at.
func (e *engine) culprit(openings map[spec.Revision]session.Opening) (id string, at spec.Revision) {
	for _, o := range openings {
		if o.Spoken || o.Valid && (o.Modern || o.Offered != "") {
			return "", ""
		}
	}
	for _, rev := range e.openingOrder() {
		if !openings[rev].Valid {
			if rev.Facts().Stateless {
				return openingStateless, rev
			}
			return openingHandshake, rev
		}
	}
	return "", ""
}

func (r *result) decide(o check.Outcome) { r.out, r.known = o, true }

// spoken returns the revisions that are judged, in the order asked for.
func (e *engine) spoken() []spec.Revision {
	return slices.DeleteFunc(slices.Clone(e.o.Revisions), func(rev spec.Revision) bool { return e.pools[rev] == nil })
}

// pending returns what is to be run at a revision: probes of the shared
// sessions, then those of sessions of their own, then those that malform, which
// may cost a session, and judges last.
func (e *engine) pending(rev spec.Revision) []*result {
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

// expect tells the launcher how many instances the pending probes will take.
func (e *engine) expect() {
	n := 0
	plain := map[spec.Revision]bool{}
	for _, r := range e.results {
		switch {
		case r.known:
		case r.check.Session.Alone():
			n++
		case r.check.Session == check.NoCapabilities && !plain[r.rev]:
			plain[r.rev] = true
			n++
		}
	}
	e.launcher.Expect(n)
}

// do runs one result.
func (e *engine) do(ctx context.Context, r *result) {
	if r.check.Judge != nil {
		e.tour(ctx, r.rev)
		e.close(ctx, r.rev)
		r.decide(check.LookAll(r.check, e.views(r.rev)))
	} else if len(e.killers) >= patience {
		r.decide(check.Outcome{State: check.NotRun, Cause: e.killers[0], Detail: fmt.Sprintf("given up: the server answered nothing any more after each of %s", strings.Join(e.killers, ", "))})
	} else {
		living, taken := e.launcher.Living(), len(e.pools[r.rev].Sessions())
		r.decide(check.Run(ctx, r.check, e.env(r.rev)))
		r.beside = living > 0 && len(e.pools[r.rev].Sessions()) > taken
		e.count(r)
	}
	e.expect()
	e.tell(r)
}

// tour gives the judges of a revision something to look at where the probes
// that were selected have not.
func (e *engine) tour(ctx context.Context, rev spec.Revision) {
	if !e.closed[rev] && len(e.killers) < patience {
		for _, c := range []check.Check{survey.Tour(), survey.PlainTour()} {
			if c.In.Has(rev) {
				check.Run(ctx, c, e.env(rev))
			}
		}
	}
}

// env is where the probes of a revision run. The tools of a profile are there
// to be called.
func (e *engine) env(rev spec.Revision) check.Env {
	env := check.Env{Pool: e.pools[rev], Allow: e.o.Allow, Given: e.o.Given}
	if e.o.Profile == Official {
		env.Given = official.OfContract(env.Given)
	}
	return env
}

// count notes whether the target survives its checks. Those that malform do
// not count: a server that ends on each bad line is told so each time.
func (e *engine) count(r *result) {
	c := r.check
	switch {
	case c.Session.Alone() || c.Malforms:
	case r.out.Killed || r.out.State == check.NotRun:
		e.killers = append(e.killers, c.ID)
	default:
		e.killers = nil
	}
}

// close ends the sessions of a revision once, after which no late answer can
// come, and repeats alone what failed while more than one instance ran.
func (e *engine) close(ctx context.Context, rev spec.Revision) {
	pool := e.pools[rev]
	if pool == nil || e.closed[rev] {
		return
	}
	e.closed[rev] = true
	e.killers = nil
	pool.Close()
	for _, r := range e.results {
		if r.rev != rev || r.check.Probe == nil || !r.known {
			continue
		}
		before := r.out.State
		if r.out = r.out.Late(); r.out.State != before {
			e.tell(r)
		}
	}
	if !e.o.Confirm || ctx.Err() != nil {
		return
	}
	pool.Forget() // a trial that several checks share is made again too
	for _, r := range e.results {
		if r.rev == rev && r.beside && r.out.State == check.Violated {
			again := check.Run(ctx, r.check, e.env(r.rev))
			pool.Close()
			if again = again.Late(); again.State != check.Violated && again.State != check.NotRun {
				again.Notes = append(again.Notes, "it failed while another instance of the server ran beside, and not alone: "+r.out.Detail)
				r.out = again
				e.tell(r)
			}
		}
	}
}

// views returns the ended sessions of a revision, ready for all its judges.
func (e *engine) views(rev spec.Revision) []*check.View {
	if e.ended[rev] == nil {
		for _, s := range e.pools[rev].Sessions() {
			if s.Rev == rev {
				e.ended[rev] = append(e.ended[rev], check.NewView(rev, s.Transcript))
			}
		}
	}
	return e.ended[rev]
}

func (e *engine) tell(r *result) {
	if e.o.Progress != nil {
		e.o.Progress(e.outcome(r))
	}
}

// finish closes everything and returns the report.
func (e *engine) finish(ctx context.Context) *reports.Run {
	for rev := range e.pools {
		e.close(ctx, rev)
	}
	e.launcher.Close()
	e.run.Target.Starts = e.launcher.Starts()
	if why := e.launcher.Serial(); why != "" && why != "asked for" {
		e.run.Notes = append(e.run.Notes, "instances of the server were started one after another: "+why)
	}
	if n := e.launcher.Limited(); n > 0 {
		e.run.Notes = append(e.run.Notes, fmt.Sprintf("the server limits the rate of requests: %d were answered with HTTP status 429, and what they were to show is not observed; lift the limit for the run", n))
	}
	e.run.Notes = append(e.run.Notes, e.unlisted()...)
	return e.conclude(ctx)
}

// conclude puts the results into the report. What was not decided was not run.
func (e *engine) conclude(ctx context.Context) *reports.Run {
	if cause := context.Cause(ctx); cause != nil {
		e.run.Ended = reports.Interrupted
		if errors.Is(cause, context.DeadlineExceeded) {
			e.run.Ended = reports.Deadline
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
		e.run.Outcomes = append(e.run.Outcomes, e.outcome(r))
	}
	e.run.MS = float64(time.Since(e.run.Started).Microseconds()) / 1000
	e.run.Count()
	return e.run
}

// outcome makes the report's outcome of a result: the level of the check makes
// the verdict.
func (e *engine) outcome(r *result) reports.Outcome {
	c, o := r.check, e.o.Given.Authorization.HideAll(r.out)
	out := reports.Outcome{
		ID: c.ID, Area: c.Area(), Says: c.Says, Level: c.Level, Revision: r.rev, Transport: string(e.kind),
		Detail: o.Detail, Expected: o.Expected, Got: o.Got, Notes: o.Notes, Cause: o.Cause, Hint: o.Hint,
		Rules: e.rules(c, r.rev), Official: e.official.Of(c.ID, r.rev), Where: Where(c), MS: float64(o.Took.Microseconds()) / 1000, Frames: o.Frames,
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
			out.Rerun = e.o.Rerun(c.ID, r.rev)
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

func (e *engine) rules(c check.Check, rev spec.Revision) []reports.Rule {
	var out []reports.Rule
	for _, id := range c.Rules {
		if i, ok := e.ledger.Rows[id].At(rev); ok {
			out = append(out, reports.Rule{ID: id, Says: i.Text, Section: i.Section, URL: i.URL(rev)})
		}
	}
	return out
}

// Where returns the file and line of a check's body, from the module's root.
func Where(c check.Check) string {
	file, line := location(c)
	if i := strings.LastIndex(file, "/suites/"); i >= 0 {
		file = file[i+1:]
	}
	return fmt.Sprintf("%s:%d", file, line)
}

func location(c check.Check) (file string, line int) {
	body := reflect.ValueOf(c.Probe)
	if c.Judge != nil {
		body = reflect.ValueOf(c.Judge)
	}
	f := runtime.FuncForPC(body.Pointer())
	return f.FileLine(f.Entry())
}
