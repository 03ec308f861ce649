package check

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/exit"
)

// A Charge is the violation of the check of a method: the server ended on a
// valid message of that method.
type Charge struct {
	Method  string
	Outcome Outcome
}

// A serverEnd is the end of the server during a body.
type serverEnd struct {
	*exit.End
	chargeable bool // all that the body sent is valid use, and a check reports its method
}

// serverEnd returns how the server ended during the body in one of its sessions; nil if it
// did not. A server that runs and does not answer fails the check that waits.
func (t *T) serverEnd() *serverEnd {
	for _, h := range append([]*T{t}, *t.others...) {
		if end := exit.Of(h.s, h.from, false, t.pool); end != nil {
			return &serverEnd{end, !t.out.crafted && end.AllOrdinary() && t.chargedTo(end.Method()) != ""}
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
	detail := fmt.Sprintf("the server %s on a valid %s: %s", x.Reason, last.Message.Kind, x.Describe())
	if x.Again != "" {
		detail += "; " + x.Again
	}
	return Charge{Method: x.Method(), Outcome: Outcome{
		State: Violated, Detail: detail, Expected: "the server answers and goes on", Got: "the server " + x.Reason,
		Notes: x.notes(), EndedSession: true, Frames: Excerpt(x.Session.Transcript, from, last.Index),
	}}
}

// notes returns what the server wrote to its standard error before it ended.
func (x *serverEnd) notes() []string {
	if x.Stderr != "" {
		return []string{"its standard error ended with: " + strings.ReplaceAll(x.Stderr, "\n", " / ")}
	}
	return nil
}
