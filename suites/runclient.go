package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/scenario"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// RunClient judges a client: it is run once against the server of each
// scenario, and every judge looks at what it did, by the revision that each
// session came to. It returns the report also when the context ends before the
// run does; the error tells that the client could not be judged at all. As
// with Run, only one may be under way in a process.
func RunClient(ctx context.Context, target script.Client, o Options) (*reports.Run, error) {
	return runClient(ctx, target, o, func(ctx context.Context, e *clientEngine) {
		runSpecs(e.o, func() {
			for _, rev := range e.o.Revisions {
				container(ctx, rev, e.kind, e.pending(rev), e.do)
			}
		})
	})
}

// RunClientDirect judges a client as RunClient does but without Ginkgo, so that
// many runs may go on side by side: the kill matrix.
func RunClientDirect(ctx context.Context, target script.Client, o Options) (*reports.Run, error) {
	return runClient(ctx, target, o, func(ctx context.Context, e *clientEngine) {
		for _, rev := range e.o.Revisions {
			for _, r := range e.pending(rev) {
				e.do(ctx, r)
			}
		}
	})
}

func runClient(ctx context.Context, target script.Client, o Options, drive func(context.Context, *clientEngine)) (*reports.Run, error) {
	if o.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Deadline, fmt.Errorf("the deadline of %s was reached: %w", o.Deadline, context.DeadlineExceeded))
		defer cancel()
	}
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		return nil, err
	}
	if o.Checks == nil {
		o.Checks = Of(wire.Client, All())
	}
	if o.Revisions == nil {
		o.Revisions = spec.Revisions()
	}
	kind := script.KindOf(target)
	asked := o.Revisions
	o.Revisions = slices.DeleteFunc(slices.Clone(asked), func(rev spec.Revision) bool { return !kind.Revisions().Has(rev) })
	e := &clientEngine{
		engine:   engine{o: o, kind: kind, ledger: ledger, run: &reports.Run{Format: 1, Started: time.Now().UTC(), Seed: o.Seed, Ended: reports.Complete, Target: reports.Target{Role: string(wire.Client)}}},
		sessions: map[spec.Revision][]transcript.ClientSession{},
		views:    map[spec.Revision][]*check.View{},
		whys:     map[spec.Revision]string{},
	}
	for _, rev := range asked {
		if !kind.Revisions().Has(rev) {
			e.run.Revisions = append(e.run.Revisions, reports.RevisionRun{Revision: rev, Why: "this revision does not define the transport"})
		}
	}
	err = e.play(ctx, target)
	e.plan(err == nil && ctx.Err() == nil)
	if err == nil && ctx.Err() == nil {
		drive(ctx, e)
	}
	return e.conclude(ctx), err
}

// A clientEngine judges one client: the engine's results and report, and the
// sessions that the client came to in all scenarios.
type clientEngine struct {
	engine
	sessions map[spec.Revision][]transcript.ClientSession // by the revision that governs them
	views    map[spec.Revision][]*check.View              // the same, ready for the judges
	stray    []transcript.ClientSession                   // opened at no revision that is published
	opened   bool                                         // the client opened any session
	whys     map[spec.Revision]string                     // what it did with a plain server
}

// play runs the client once against every scenario that may serve a revision
// that was asked for. An error tells that it cannot be judged.
func (e *clientEngine) play(ctx context.Context, target script.Client) error {
	for _, s := range scenario.Scenarios() {
		if !s.On.Has(e.kind) || !slices.ContainsFunc(e.o.Revisions, s.Serves.Has) {
			continue
		}
		first := e.run.Target.Starts == 0
		e.run.Target.Starts++
		p, err := script.Perform(ctx, target, s.Server, e.script(s))
		switch {
		case ctx.Err() != nil:
			return nil // what was said until then may be cut short anywhere
		case err != nil && (first || !errors.Is(err, script.ErrNeverConnected)):
			return fmt.Errorf("%w%s", err, howItWent(p))
		case err != nil:
			e.note("scenario %s, %s: %v%s", s.Name, s.Says, err, howItWent(p))
		case p.Ended != "":
			e.note("scenario %s, %s: the client was ended: %s", s.Name, s.Says, p.Ended)
		}
		for _, t := range p.Transcripts {
			e.add(s, transcript.ClientSessionOf(t))
		}
	}
	return nil
}

// scriptOptions derives the waits of the scripted servers. The answer to
// initialize is held back just long enough to see what a client sends that does
// not wait for it.
func scriptOptions(o session.Options) script.Options {
	return script.Options{
		Due: o.Timeout, Window: min(o.Timeout/50, 100*time.Millisecond),
		Start: o.StartTimeout, Idle: o.Timeout, Grace: o.Grace,
		MaxFrames: o.MaxFrames, MaxBytes: o.MaxBytes,
	}
}

// script returns the options of a scenario. A client that is given a URL learns
// from its environment what is played, as it does from the public conformance suite,
// where a client that knows no other scenario by its name knows this one.
func (e *clientEngine) script(s scenario.Scenario) script.Options {
	o := scriptOptions(e.o.Session)
	rev := s.Plain
	if rev == "" {
		for _, r := range e.o.Revisions {
			if s.Serves.Has(r) {
				rev = r
			}
		}
	}
	name, err := json.Marshal(s.Name)
	if err != nil {
		panic(fmt.Sprintf("suites: a scenario's name cannot be encoded: %v", err)) // it is text of ours
	}
	o.Env = []string{"MCP_CONFORMANCE_SCENARIO=initialize", "MCP_CONFORMANCE_PROTOCOL_VERSION=" + string(rev), `MCP_CONFORMANCE_CONTEXT={"name":"initialize","mcpcheck":` + string(name) + `}`}
	return o
}

func howItWent(p script.Performance) string {
	var out strings.Builder
	if p.Ended != "" {
		fmt.Fprintf(&out, "; it was ended: %s", p.Ended)
	} else if p.Status != "" {
		fmt.Fprintf(&out, "; it ended with %s", p.Status)
	}
	if p.Output != "" {
		lines := strings.Split(p.Output, "\n")
		fmt.Fprintf(&out, "\nits output ended with:\n  %s", strings.Join(lines[max(0, len(lines)-10):], "\n  "))
	}
	return out.String()
}

func (e *clientEngine) note(format string, args ...any) {
	e.run.Notes = append(e.run.Notes, fmt.Sprintf(format, args...))
}

func (e *clientEngine) add(in scenario.Scenario, s transcript.ClientSession) {
	if e.opened = e.opened || s.Opened; s.Opened && in.Plain != "" {
		e.whys[in.Plain] = s.Instead()
	}
	if s.Rev == "" {
		e.stray = append(e.stray, s)
	} else {
		e.sessions[s.Rev] = append(e.sessions[s.Rev], s)
	}
	if e.run.Target.Name == "" {
		e.run.Target.Name, e.run.Target.Version = s.Client()
	}
}

// spoken tells whether the client spoke a revision in any session, and else
// what it did with a plain server of it.
func (e *clientEngine) spoken(rev spec.Revision) (ok bool, why string) {
	if slices.ContainsFunc(e.sessions[rev], func(s transcript.ClientSession) bool { return s.Spoken }) {
		return true, ""
	}
	if why = e.whys[rev]; why == "" {
		why = "the client opened no session with a server of this revision"
	}
	return false, why
}

// The checks that fail when a client opens no session at all.
const (
	clientOpeningHandshake = "client.lifecycle.initialize.first"
	clientOpeningStateless = "client.meta.required"
)

// plan makes a result for every check and revision, decided already where all
// scenarios were played and the client does not speak the revision or opened
// nothing.
func (e *clientEngine) plan(played bool) {
	culprit, at := "", spec.Revision("")
	if played && len(e.stray) > 0 && !e.opened {
		culprit, at = clientOpeningStateless, e.o.Revisions[len(e.o.Revisions)-1]
		for _, rev := range e.o.Revisions {
			if !rev.Facts().Stateless {
				culprit, at = clientOpeningHandshake, rev
			}
		}
	}
	for _, rev := range e.o.Revisions {
		ok, why := e.spoken(rev)
		if !ok && !played {
			why = "not all scenarios were played"
		}
		e.run.Revisions = append(e.run.Revisions, reports.RevisionRun{Revision: rev, Spoken: ok, Why: why})
		for _, c := range e.o.Checks {
			if !c.In.Has(rev) {
				continue
			}
			r := &result{check: c, rev: rev}
			switch {
			case !c.On.Has(e.kind):
				r.decide(check.Outcome{State: check.NotApplicable, Detail: "not of this transport"})
			case culprit == c.ID && at == rev:
				r.decide(check.Outcome{State: check.Violated, Detail: e.stray[0].Why, Expected: "a request that opens a session", Frames: e.stray[0].Frames(0)})
			case culprit != "":
				r.decide(check.Outcome{State: check.NotRun, Cause: culprit, Detail: "the client opened no session"})
			case !ok && played:
				r.decide(check.Outcome{State: check.NotApplicable, Detail: "the client does not speak this revision: " + why})
			}
			e.results = append(e.results, r)
		}
	}
}

// pending returns what is to be judged at a revision.
func (e *clientEngine) pending(rev spec.Revision) []*result {
	return slices.DeleteFunc(slices.Clone(e.results), func(r *result) bool { return r.rev != rev || r.known })
}

func (e *clientEngine) do(_ context.Context, r *result) {
	if e.views[r.rev] == nil {
		for _, s := range e.sessions[r.rev] {
			e.views[r.rev] = append(e.views[r.rev], check.NewView(r.rev, s.Transcript))
		}
	}
	r.decide(check.LookAll(r.check, e.views[r.rev]))
	e.tell(r)
}
