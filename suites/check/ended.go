package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/internal/session"
)

// A Charge is the violation of the check of a method: the server ended or went silent on
// a valid message of that method.
type Charge struct {
	Method  string
	Outcome Outcome
}

// A serverEnd is the end of the server during a body.
type serverEnd struct {
	*exit.End
	chargeable bool // all that the body sent is valid use, and a check reports its method
}

// serverEnd returns how the server ended during the body in one of its sessions, that it
// hangs in one, or that it does not answer a request; nil if it does none of that.
func (t *T) serverEnd(hung *session.Session) *serverEnd {
	for _, h := range append([]*T{t}, *t.others...) {
		if end := exit.Of(h.s, h.from, h.s == hung, t.pool); end != nil {
			return &serverEnd{end, !t.out.crafted && end.AllOrdinary() && t.chargedTo(end.Method()) != ""}
		}
	}
	if t.out.unanswered {
		if end := exit.SilenceOf(t.s, t.from, t.pool); end != nil {
			return &serverEnd{End: end}
		}
	}
	return nil
}

// endAtOpening returns how the server ended in the newest session of a pool, which could
// not be opened; nil if it did not end.
func endAtOpening(env Env) *serverEnd {
	all := env.Pool.Sessions()
	if len(all) == 0 {
		return nil
	}
	end := exit.Of(all[len(all)-1], 0, false, env.Pool)
	if end == nil {
		return nil
	}
	return &serverEnd{end, end.AllOrdinary() && env.chargedTo(end.Method()) != ""}
}

// charge returns the violation that the end is, for the check of the method.
func (x *serverEnd) charge() Charge {
	last := x.Suspects[0]
	from := max(x.From, last.Index-framesBefore)
	out := Outcome{
		State: Violated, Detail: x.OnValid(), Expected: "the server answers and goes on", Got: "the server " + x.Reason,
		Notes: x.notes(), Frames: Excerpt(x.Session.Transcript, from, last.Index),
	}
	if x.IsSilence() { // an answer that comes before the sessions end was late
		late := x.Session.ExpectLater(last.Index, ResponseTo(last.Message.ID()))
		out.awaited = []awaitedMessage{{late, x.Session.Transcript, last.Index, NotObserved}}
	}
	return Charge{x.Method(), out}
}

// notes returns what the server wrote to its standard error before it ended.
func (x *serverEnd) notes() []string {
	if x.Stderr != "" {
		return []string{"its standard error ended with: " + strings.ReplaceAll(x.Stderr, "\n", " / ")}
	}
	return nil
}

// confirm finds out whether the message that the server ended on ends it again: alone in
// a new instance, with the body, or with all messages of the session. It returns the end
// that counts, nil if the server does not end again, and the outcome that counts. An end
// in a repetition is not counted as a further one.
func confirm(ctx context.Context, c Check, env Env, first *serverEnd, was Outcome) (*serverEnd, Outcome) {
	was.EndedOn = first.Methods()
	if first.IsSilence() {
		return confirmSilence(ctx, env, first), was
	}
	env.Pool.CountExit()
	env.Pool.ClearCache() // computed in the session that ended
	was.Notes = append(was.Notes, first.notes()...)
	if alone := first.Isolate(ctx, env.Pool, env.chargedTo); alone != nil {
		return &serverEnd{alone, true}, was
	}
	if first.Alone && !first.chargeable {
		return first, was
	}
	out, _, again := run(ctx, c, env)
	if again != nil {
		env.Pool.ClearCache()
		if alone := again.Isolate(ctx, env.Pool, env.chargedTo); alone != nil {
			return &serverEnd{alone, true}, was
		}
		out.EndedOn = again.Methods()
		out.Notes = append(out.Notes, again.notes()...)
		again.Again = "again in a new instance"
		return again, out
	}
	if replayed := first.Replay(ctx, env.Pool); replayed != nil {
		if !first.chargeable {
			out = was
		}
		return &serverEnd{replayed, first.chargeable}, out
	}
	out.Notes = append(out.Notes, fmt.Sprintf("the server %s once, at %s, and not when that was repeated",
		first.Reason, first.Describe()))
	return nil, out
}

// confirmSilence finds out whether the server goes silent on a message alone in a new
// instance, and returns that; nil if it does not, or if it did so on too many methods.
func confirmSilence(ctx context.Context, env Env, first *serverEnd) *serverEnd {
	if !env.Pool.MaySilence() {
		return nil
	}
	alone := first.IsolateSilence(ctx, env.Pool, env.chargedTo)
	if alone == nil {
		return nil
	}
	env.Pool.CountExit()
	env.Pool.ClearCache() // computed in the session that hangs
	return &serverEnd{alone, true}
}
