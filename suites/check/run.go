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

// An Env is where probes run: the sessions of one revision, and what manners
// allow.
type Env struct {
	Pool  *session.Pool
	Allow func(tool string) bool // tools that may be called though they are not read-only; nil for none
	Given Given                  // what the user says of the target
}

// Applies tells whether a check is of the revision, and else why not; what
// depends on the server is known only in a session.
func Applies(c Check, rev spec.Revision, declares func(string) bool) (why string) {
	if c.Needs != "" && !declares(c.Needs) {
		return fmt.Sprintf("the server does not declare %s", c.Needs)
	}
	return ""
}

// Run runs the body of a probe and returns what it came to. It gets a shared
// session, a fresh or a bare one as the check asks; afterwards a session that
// no longer answers is ended, and the check that ended it is told. Over HTTP a
// server may end a session at any time, and the client is to open another
// (basic/transports#session-management): only where that one ends too has the
// check ended it.
func Run(ctx context.Context, c Check, env Env) (out Outcome) {
	began := time.Now()
	defer func() { out.Took = time.Since(began) }()
	out, forgotten := run(ctx, c, env)
	if !forgotten || ctx.Err() != nil {
		return out
	}
	env.Pool.ClearCache() // what was learnt in the session that ended
	again, _ := run(ctx, c, env)
	again.Notes = append(again.Notes, "the server had ended the session in which it ran at first: "+out.Detail)
	return again
}

// run is Run once. It tells whether the server ended the session, and so may
// have done for what the check came to.
func run(ctx context.Context, c Check, env Env) (out Outcome, forgotten bool) {
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
		return Outcome{State: NotRun, Cause: err.Error(), Detail: "no session for this check"}, false
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
	forgotten = (out.State == Violated || out.EndedSession) && s.EndedByServer()
	if env.Pool.RateLimitedCount() > limited && (out.State == Violated || out.State == Kept) {
		return rateLimitedOutcome(out), forgotten
	}
	return out, forgotten
}

// turnedAway is what a body comes to that met a limit on the rate of requests:
// neither a refusal nor a missing answer is for what it asked.
func rateLimitedOutcome(was Outcome) Outcome {
	out := Outcome{State: NotObserved, Detail: "the server limits the rate of requests: it answered with HTTP status 429", Hint: "lift the limit for the run", Notes: was.Notes, EndedSession: was.EndedSession}
	if was.Detail != "" {
		out.Notes = append(out.Notes, "with it: "+was.Detail)
	}
	return out
}

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

// body runs the probe; a panic of its own is our bug, not the server's.
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

// after leaves the sessions as the next check may find them. A session of the
// check's own is ended. A shared one is asked whether it lives.
func (t *T) checkSession(c Check, out *Outcome) {
	if c.Session.Alone() {
		go t.s.Close()
		return
	}
	if t.ctx.Err() != nil {
		return
	}
	if t.s.ConnectionError() == nil && !c.Malforms && out.State != Violated && !out.unsent {
		return // its last answer showed that it lives
	}
	live := t.s.CheckLiveness(t.ctx)
	if live == session.Alive || t.ctx.Err() != nil {
		return
	}
	out.EndedSession = true
	if over := t.s.ConnectionError(); over != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("it ended the session: %v", over))
	} else {
		out.Notes = append(out.Notes, "It answered no further request.")
	}
	t.pool.Discard(t.s)
}

// Look runs a judge over one transcript.
func Judge(c Check, rev spec.Revision, transcript *wire.Transcript) Outcome {
	return NewView(rev, transcript).Judge(c)
}

// Look runs a judge over the transcript.
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

// LookAll runs a judge over the transcripts of several sessions: the first that
// violates decides, and what others violate is noted; else one that kept it. It
// applies to the server if it does in any of them: in one that was not opened
// nothing is declared.
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
