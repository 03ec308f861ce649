package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/scenario"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// A clientSubject is a client under test: the sessions that it opened with the
// scripted servers of all scenarios.
type clientSubject struct {
	*Engine
	target   script.Client
	sessions map[spec.Revision][]transcript.ClientSession // by the revision that governs them
	views    map[spec.Revision][]*view.View               // the same, ready for the judges
	stray    []transcript.ClientSession                   // opened at no revision that is published
	opened   bool                                         // the client opened any session
	whys     map[spec.Revision]string                     // what it did with the ordinary server of a revision
	complete bool                                         // all scenarios were run
}

// NewClient returns an engine that judges a client.
func NewClient(target script.Client, o Options) (*Engine, error) {
	asked := o.Revisions
	if asked == nil {
		asked = spec.Revisions()
	}
	kind := target.Transport()
	o.Revisions = slices.DeleteFunc(slices.Clone(asked), func(rev spec.Revision) bool {
		return !kind.Revisions().Has(rev)
	})
	e, err := newEngine(o, wire.Client, kind)
	if err != nil {
		return nil, err
	}
	for _, rev := range asked {
		if !kind.Revisions().Has(rev) {
			e.report.Revisions = append(e.report.Revisions,
				reports.RevisionRun{Revision: rev, Why: "this revision does not define the transport"})
		}
	}
	e.subject = &clientSubject{
		Engine: e, target: target,
		sessions: map[spec.Revision][]transcript.ClientSession{},
		views:    map[spec.Revision][]*view.View{},
		whys:     map[spec.Revision]string{},
	}
	return e, nil
}

// RunClient judges a client: it runs the client once against the server of each
// scenario, and each judge looks at what the client did, by the revision that governs
// each session. It returns the report also if the context ends before the run does.
// An error says that the client could not be judged at all.
func RunClient(ctx context.Context, target script.Client, o Options) (*reports.Run, error) {
	e, err := NewClient(target, o)
	if err != nil {
		return nil, err
	}
	return e.Judge(ctx)
}

func (e *clientSubject) open(ctx context.Context) error {
	err := e.play(ctx, e.target)
	e.complete = err == nil && ctx.Err() == nil
	e.planAll()
	return err
}

// revisions returns the revisions to judge: none if not all scenarios were run.
func (e *clientSubject) revisions() []spec.Revision {
	if !e.complete {
		return nil
	}
	return e.o.Revisions
}

func (e *clientSubject) closeRevision(context.Context, spec.Revision) {}

func (e *clientSubject) release(spec.Revision) {}

// finishTime bounds the judging after the end of a run that ended before its time.
const finishTime = 5 * time.Second

// finish judges what the client did until the run ended before its time. A check that
// observed nothing was not run: a scenario that was left out may show it something.
func (e *clientSubject) finish(ctx context.Context) {
	if ctx.Err() == nil {
		return
	}
	limit := time.Now().Add(finishTime)
	for _, r := range e.results {
		if r.known || time.Now().After(limit) {
			continue
		}
		if o := e.judge(r); e.complete || o.State != check.NotObserved {
			r.decide(o)
			e.announce(r)
		}
	}
}

// play runs the client once against every scenario that may serve a revision
// that was asked for. An error tells that it cannot be judged.
func (e *clientSubject) play(ctx context.Context, target script.Client) error {
	for _, s := range scenario.Scenarios() {
		if !s.On.Has(e.kind) || !slices.ContainsFunc(e.o.Revisions, s.Serves.Has) {
			continue
		}
		first := e.report.Target.Starts == 0
		e.report.Target.Starts++
		p, err := script.RunClient(ctx, target, s.Server, e.script(s))
		switch {
		case ctx.Err() != nil:
			return nil // what was said until then may be cut short anywhere
		case err != nil && (first || !errors.Is(err, script.ErrNeverConnected)):
			return fmt.Errorf("%w%s", err, howItWent(p))
		case err != nil:
			e.note("scenario %s, %s: %v%s", s.Name, s.Says, err, howItWent(p))
		case p.StopReason != "":
			e.note("scenario %s, %s: the client was ended: %s", s.Name, s.Says, p.StopReason)
		}
		for _, t := range p.Transcripts {
			e.add(s, transcript.ClientSessionOf(t))
		}
	}
	return nil
}

// maxClientFrames bounds the frames of one connection of a client. Ordinary use needs a
// hundred at most, and the time of judging grows with the square of their number.
const maxClientFrames = 2000

// scriptOptions derives the waits of the scripted servers. The answer to
// initialize is held back just long enough to see what a client sends that does
// not wait for it.
func scriptOptions(o session.Options) script.Options {
	return script.Options{
		AnswerTimeout: o.Timeout, InitializeDelay: min(o.Timeout/50, 100*time.Millisecond),
		StartTimeout: o.StartTimeout, IdleTimeout: o.Timeout, Grace: o.Grace,
		MaxFrames: min(o.MaxFrames, maxClientFrames), MaxBytes: o.MaxBytes,
	}
}

// script returns the options of a scenario. A client that is given a URL learns
// from its environment what is played, as it does from the public conformance suite,
// where a client that knows no other scenario by its name knows this one.
func (e *clientSubject) script(s scenario.Scenario) script.Options {
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
	o.Env = []string{
		"MCP_CONFORMANCE_SCENARIO=initialize", "MCP_CONFORMANCE_PROTOCOL_VERSION=" + string(rev),
		`MCP_CONFORMANCE_CONTEXT={"name":"initialize","mcpcheck":` + string(name) + `}`,
	}
	return o
}

func howItWent(p script.ClientRun) string {
	var out strings.Builder
	if p.StopReason != "" {
		fmt.Fprintf(&out, "; it was ended: %s", p.StopReason)
	} else if p.Status != "" {
		fmt.Fprintf(&out, "; it ended with %s", p.Status)
	}
	if p.Output != "" {
		lines := strings.Split(p.Output, "\n")
		fmt.Fprintf(&out, "\nits output ended with:\n  %s", strings.Join(lines[max(0, len(lines)-10):], "\n  "))
	}
	return out.String()
}

func (e *clientSubject) note(format string, args ...any) {
	e.report.Notes = append(e.report.Notes, fmt.Sprintf(format, args...))
}

func (e *clientSubject) add(in scenario.Scenario, s transcript.ClientSession) {
	if e.opened = e.opened || s.Opened; s.Opened && in.Plain != "" {
		e.whys[in.Plain] = s.Summary()
	}
	if s.Rev == "" {
		e.stray = append(e.stray, s)
	} else {
		e.sessions[s.Rev] = append(e.sessions[s.Rev], s)
	}
	if e.report.Target.Name == "" {
		e.report.Target.Name, e.report.Target.Version = s.Client()
	}
}

// spoken tells whether the client spoke a revision in any session, and else
// what it did with a plain server of it.
func (e *clientSubject) spoken(rev spec.Revision) (ok bool, why string) {
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
	clientOpeningHandshake = "lifecycle.client.initialize.first"
	clientOpeningStateless = "schema.client.meta.required"
)

// planAll plans the results: decided already where all scenarios were run and the
// client does not speak the revision or opened nothing.
func (e *clientSubject) planAll() {
	culprit, at := "", spec.Revision("")
	if e.complete && len(e.stray) > 0 && !e.opened {
		culprit, at = clientOpeningStateless, e.o.Revisions[len(e.o.Revisions)-1]
		for _, rev := range e.o.Revisions {
			if !rev.Facts().Stateless {
				culprit, at = clientOpeningHandshake, rev
			}
		}
	}
	for _, rev := range e.o.Revisions {
		ok, why := e.spoken(rev)
		if !ok && !e.complete {
			why = "the run ended before all scenarios were run"
		}
		e.report.Revisions = append(e.report.Revisions, reports.RevisionRun{Revision: rev, Spoken: ok, Why: why})
		e.plan(rev, func(c check.Check) (check.Outcome, bool) {
			switch {
			case culprit == c.ID && at == rev:
				return check.Outcome{
					State: check.Violated, Detail: e.stray[0].Why,
					Expected: "a request that opens a session", Frames: e.stray[0].Frames(0),
				}, true
			case culprit != "":
				return check.Outcome{State: check.NotRun, Cause: culprit, Detail: "the client opened no session"}, true
			case !ok && e.complete:
				return check.Outcome{
					State: check.NotApplicable, Detail: "the client does not speak this revision: " + why,
				}, true
			}
			return check.Outcome{}, false
		})
	}
}

func (e *clientSubject) run(_ context.Context, r *result) { r.decide(e.judge(r)) }

func (e *clientSubject) judge(r *result) check.Outcome {
	if e.views[r.rev] == nil {
		for _, s := range e.sessions[r.rev] {
			e.views[r.rev] = append(e.views[r.rev], view.New(r.rev, s.Transcript))
		}
	}
	return check.JudgeAll(r.check, e.views[r.rev])
}
