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
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// An Env is where probes run: the sessions of one revision, and what may be done to the
// target.
type Env struct {
	Pool  *session.Pool
	Allow func(tool string) bool // allows tools that are not read-only; nil for none
	Given Given                  // what the user gives for the target
	// ChargedTo returns the check that reports a server that ends on valid messages of a
	// method; "" if there is none. It may be nil.
	ChargedTo func(method string) string
}

func (e Env) chargedTo(method string) string {
	if e.ChargedTo == nil {
		return ""
	}
	return e.ChargedTo(method)
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
//
// If the server ends, the body is repeated in a new instance. A server that ends
// there again on a message that breaks a rule fails the check. One that ends on valid use
// of what it offers does not: the outcome has a Charge to the check of the method, the
// message is not sent again, and the body is repeated without it. So it is with a valid
// request that the server does not answer, or after which it answers nothing more.
func Run(ctx context.Context, c Check, env Env) (out Outcome) {
	began := time.Now()
	defer func() { out.Took = time.Since(began) }()
	traits := env.Pool.TargetTraitCount()
	out, lost, end := run(ctx, c, env)
	if lost && ctx.Err() == nil {
		env.Pool.ClearCache() // computed in the session that ended
		first := out.Detail
		out, _, end = run(ctx, c, env)
		out.Notes = append(out.Notes, "the server ended the first session of this check: "+first)
	}
	var charges []Charge
	for len(charges) < maxCharges && end != nil && ctx.Err() == nil {
		if end, out = confirm(ctx, c, env, end, out); end == nil || !end.chargeable {
			break
		}
		charges = append(charges, end.charge())
		if end.IsSilence() {
			env.Pool.GiveUpSilent(end.Suspects[0].Message)
			env.Pool.DropTargetTraits(traits) // found out while the server did not answer
		} else {
			env.Pool.GiveUp(end.Suspects[0].Message)
		}
		out, _, end = run(ctx, c, env)
	}
	out.Charges = charges
	return out
}

// maxCharges bounds how many messages of one body are charged.
const maxCharges = 4

// run is Run without the repetition. It also reports whether the server ended the
// session over HTTP, which may be the cause of the outcome, and how the server ended.
func run(ctx context.Context, c Check, env Env) (out Outcome, lost bool, end *serverEnd) {
	if err := ctx.Err(); err != nil {
		return Outcome{State: NotRun, Cause: context.Cause(ctx).Error()}, false, nil
	}
	limited := env.Pool.RateLimitedCount()
	s, err := sessionFor(ctx, c, env.Pool)
	switch {
	case ctx.Err() != nil:
		return Outcome{State: NotRun, Cause: context.Cause(ctx).Error()}, false, nil
	case err != nil && env.Pool.RateLimitedCount() > limited:
		return rateLimitedOutcome(Outcome{Detail: err.Error()}), false, nil
	case err != nil:
		out = Outcome{State: NotRun, Cause: err.Error(), Detail: "no session could be opened for this check"}
		return out, false, endAtOpening(env)
	}
	if c.Session != UnopenedSession {
		if why := Applies(c, s.Rev, s.Declares); why != "" {
			return Outcome{State: NotApplicable, Detail: why}, false, nil
		}
	}
	t := &T{
		Rev: s.Rev, Facts: s.Facts(), ctx: ctx, s: s, pool: env.Pool, allow: env.Allow, given: env.Given,
		out: &Outcome{}, id: c.ID, hint: c.Hint, from: s.Len(), mark: -1, undo: &[]func(){}, others: &[]*T{},
		chargedTo: env.chargedTo,
	}
	s.NoteUser(c.ID)
	t.body(c.Probe)
	if t.out.State == Violated && t.out.gaveUp != "" {
		t.out.State, t.out.Cause = NotRun, t.chargedTo(t.out.gaveUp)
		t.out.Detail = "messages that it needs were not sent: " + t.out.Detail
	}
	if t.out.State == Kept && t.out.saw == 0 {
		t.out.State, t.out.Detail, t.out.Hint = NotObserved, c.Idle, c.Hint
	}
	for _, undo := range *t.undo {
		undo()
	}
	out = *t.out
	if out.State == Broken {
		out.Frames = Excerpt(s.Transcript, t.from, t.mark)
	}
	hung := t.checkSession(c, &out)
	if ctx.Err() == nil {
		end = t.serverEnd(hung)
	}
	switch {
	case c.Session.Alone():
		go s.Close()
	case out.EndedSession:
		env.Pool.Discard(s)
	}
	lost = (out.State == Violated || out.EndedSession) && s.EndedByServer()
	if env.Pool.RateLimitedCount() > limited && (out.State == Violated || out.State == Kept) {
		return rateLimitedOutcome(out), lost, nil
	}
	return out, lost, end
}

// rateLimitedOutcome returns the outcome of a body that met a limit on the rate of
// requests: neither a refusal nor a missing answer is due to its requests.
func rateLimitedOutcome(was Outcome) Outcome {
	out := Outcome{
		State: NotObserved, Detail: "the server limits the rate of requests: it answered with HTTP status 429",
		Hint: "lift the limit on requests for the run", Notes: was.Notes, EndedSession: was.EndedSession,
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

// checkSession tests whether a shared session still answers. It returns the session in
// which the server runs and answers no further request; nil if there is none.
func (t *T) checkSession(c Check, out *Outcome) (hung *session.Session) {
	if c.Session.Alone() || t.ctx.Err() != nil {
		return t.out.hung
	}
	if t.s.ConnectionError() == nil && !c.Malforms && out.State != Violated && !out.unsent && !out.unanswered {
		return nil // its last answer showed that the server still answers
	}
	live := session.OutOfSync
	if t.out.hung != t.s {
		live = t.s.CheckLiveness(t.ctx)
	}
	if live == session.Alive || t.ctx.Err() != nil {
		return nil
	}
	out.EndedSession = true
	if over := t.s.ConnectionError(); over != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("the session ended: %v", over))
		return nil
	}
	out.Notes = append(out.Notes, "the server answered no further request")
	return t.s
}

// Judge runs a judge over one transcript.
func Judge(c Check, rev spec.Revision, transcript *wire.Transcript) Outcome {
	return JudgeView(c, view.New(rev, transcript))
}

// JudgeView runs a judge over a prepared transcript.
func JudgeView(c Check, v *view.View) (out Outcome) {
	began := time.Now()
	defer func() { out.Took = time.Since(began) }()
	j := &J{Of: c.Of, View: v, out: &Outcome{}}
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
		out.State, out.Detail, out.Hint = NotObserved, c.Idle, c.Hint
	}
	return out
}

// JudgeAll runs a judge over the transcripts of several sessions. The first violation
// decides, and those of other sessions are noted; without any, a session that kept the
// rule decides. The judge applies to the server if it does in any session: in one that
// was not opened nothing is declared.
func JudgeAll(c Check, sessions []*view.View) Outcome {
	best := Outcome{State: NotObserved, Detail: c.Idle, Hint: c.Hint}
	for i, v := range sessions {
		o := JudgeView(c, v)
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
