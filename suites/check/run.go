package check

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An Env is where probes run: the sessions of one revision, and what may be done to the
// target.
type Env struct {
	Pool  *session.Pool
	Allow func(tool string) bool // allows tools that are not read-only; nil for none
	Given Given                  // what the user gives for the target
}

// Applies returns why a check does not apply to the server, or "". What depends on the
// server is known only in a session.
func Applies(c Check, rev spec.Revision, declares func(string) bool) (why string) {
	if c.Needs != "" && !declares(c.Needs) {
		return fmt.Sprintf("the server does not declare %s", c.Needs)
	}
	return ""
}

// Run runs the body of a probe and returns its outcome. The probe gets a session of the
// kind that its check names. Then a session that no longer answers is ended, and the
// outcome says so. Over HTTP a server may end a session at any time, and the client
// must open another one (basic/transports#session-management): the check is only
// charged if that session ends too.
func Run(ctx context.Context, c Check, env Env) (out Outcome) {
	began := time.Now()
	defer func() { out.Took = time.Since(began) }()
	out, ended := run(ctx, c, env)
	if !ended || ctx.Err() != nil {
		return out
	}
	env.Pool.ClearCache() // computed in the session that ended
	again, _ := run(ctx, c, env)
	again.Notes = append(again.Notes, "the server ended the first session of this check: "+out.Detail)
	return again
}

// run is Run without the repetition. It also reports whether the server ended the
// session, which may be the cause of the outcome.
func run(ctx context.Context, c Check, env Env) (out Outcome, ended bool) {
	if err := ctx.Err(); err != nil {
		return Outcome{State: NotRun, Cause: context.Cause(ctx).Error()}, false
	}
	limited := env.Pool.RateLimitedCount()
	s, err := sessionFor(ctx, c, env.Pool)
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{State: NotRun, Cause: context.Cause(ctx).Error()}, false
		}
		if env.Pool.RateLimitedCount() > limited {
			return rateLimitedOutcome(Outcome{Detail: err.Error()}), false
		}
		return Outcome{State: NotRun, Cause: err.Error(), Detail: "no session could be opened for this check"}, false
	}
	if c.Session != UnopenedSession {
		if why := Applies(c, s.Rev, s.Declares); why != "" {
			return Outcome{State: NotApplicable, Detail: why}, false
		}
	}
	allow := env.Allow
	if allow == nil {
		allow = func(string) bool { return false }
	}
	t := &T{
		Rev: s.Rev, Facts: s.Rev.Facts(), ctx: ctx, s: s, pool: env.Pool, allow: allow, given: env.Given,
		out: &Outcome{}, from: s.Len(), mark: -1, undo: &[]func(){},
	}
	t.body(c.Probe)
	if t.out.State == Kept && t.out.saw == 0 {
		t.out.State, t.out.Detail, t.out.Hint = NotObserved, c.Idle, c.Hint
	}
	for _, undo := range *t.undo {
		undo()
	}
	out = *t.out
	if out.State == Broken {
		out.Frames = excerpt(s.Transcript, t.from, t.mark)
	}
	t.checkSession(c, &out)
	ended = (out.State == Violated || out.EndedSession) && s.EndedByServer()
	if env.Pool.RateLimitedCount() > limited && (out.State == Violated || out.State == Kept) {
		return rateLimitedOutcome(out), ended
	}
	return out, ended
}

// rateLimitedOutcome returns the outcome of a body that met a limit on the rate of
// requests: neither a refusal nor a missing answer is due to its requests.
func rateLimitedOutcome(was Outcome) Outcome {
	out := Outcome{
		State: NotObserved, Detail: "the server limits the rate of requests: it answered with HTTP status 429",
		Hint: "lift the limit for the run", Notes: was.Notes, EndedSession: was.EndedSession,
	}
	if was.Detail != "" {
		out.Notes = append(out.Notes, "beside the limit: "+was.Detail)
	}
	return out
}

// sessionFor returns the session that a check runs in.
func sessionFor(ctx context.Context, c Check, pool *session.Pool) (*session.Session, error) {
	switch c.Session {
	case UnopenedSession:
		return pool.Unopened(ctx)
	case OwnSession:
		return pool.NewSession(ctx)
	case NoCapabilities:
		return pool.SharedWithoutCapabilities(ctx)
	}
	return pool.Shared(ctx)
}

// body runs the probe. A panic in it is our bug, not the server's.
func (t *T) body(probe func(*T)) {
	defer func() {
		switch r := recover().(type) {
		case nil, stop:
		default:
			t.out.State = Broken
			t.out.Detail = fmt.Sprintf("the check itself failed: %v", r)
			t.out.Notes = append(t.out.Notes, string(debug.Stack()))
		}
	}()
	probe(t)
}

// checkSession prepares the sessions for the next check: it ends a session of this
// check alone, and tests whether a shared one still answers.
func (t *T) checkSession(c Check, out *Outcome) {
	if c.Session.Alone() {
		go t.s.Close()
		return
	}
	if t.ctx.Err() != nil {
		return
	}
	if t.s.ConnectionError() == nil && !c.Malforms && out.State != Violated && !out.unsent {
		return // its last answer showed that the server still answers
	}
	live := t.s.CheckLiveness(t.ctx)
	if live == session.Alive || t.ctx.Err() != nil {
		return
	}
	out.EndedSession = true
	if over := t.s.ConnectionError(); over != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("the session ended: %v", over))
	} else {
		out.Notes = append(out.Notes, "the server answered no further request")
	}
	t.pool.Discard(t.s)
}

// Judge runs a judge over one transcript.
func Judge(c Check, rev spec.Revision, transcript *wire.Transcript) Outcome {
	return NewView(rev, transcript).Judge(c)
}

// Judge runs a judge over the transcript.
func (v *View) Judge(c Check) (out Outcome) {
	began := time.Now()
	defer func() { out.Took = time.Since(began) }()
	j := &J{Rev: v.rev, Facts: v.facts, Of: c.Of, View: v, out: &Outcome{}}
	defer func() {
		if r := recover(); r != nil {
			out = Outcome{
				State: Broken, Detail: fmt.Sprintf("the check itself failed: %v", r),
				Notes: []string{string(debug.Stack())},
			}
		}
	}()
	if c.Needs != "" && !j.Declares(wire.Server, c.Needs) {
		return Outcome{State: NotApplicable, Detail: fmt.Sprintf("the server does not declare %s", c.Needs)}
	}
	c.Judge(j)
	out = *j.out
	if out.State == Kept && j.saw == 0 {
		out.State = NotObserved
		out.Detail, out.Hint = c.Idle, c.Hint
	}
	return out
}

// JudgeAll runs a judge over the transcripts of several sessions. The first violation
// decides, and those of other sessions are noted; without any, a session that kept the
// rule decides. The judge applies to the server if it does in any session: in one that
// was not opened nothing is declared.
func JudgeAll(c Check, sessions []*View) Outcome {
	best := Outcome{State: NotObserved, Detail: c.Idle, Hint: c.Hint}
	for i, v := range sessions {
		o := v.Judge(c)
		o.Took += best.Took
		switch {
		case o.State == Broken:
			return o
		case best.State == Violated:
			best.Took = o.Took
			if o.State == Violated {
				best.noteFurther(o.Detail)
			}
		case o.State == Violated:
			best = o
		case o.State == Kept:
			notes := best.Notes
			for _, n := range o.Notes {
				if !slices.Contains(notes, n) {
					notes = append(notes, n)
				}
			}
			best = o
			best.Notes = notes
		case o.State == NotApplicable && i == 0:
			best = o
		case o.State == NotObserved && best.State == NotApplicable:
			best = Outcome{State: NotObserved, Detail: c.Idle, Hint: c.Hint, Took: o.Took}
		}
	}
	return best
}
