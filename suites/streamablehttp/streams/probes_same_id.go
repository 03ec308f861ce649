package streams

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// minInFlight is how long a call takes during which another request can be sent.
const minInFlight = 100 * time.Millisecond

// sameIDProbes returns the probes of requests that share an id.
func sameIDProbes() []check.Check {
	return []check.Check{
		{
			ID: "streamable-http.answer.same-id",
			Says: "of two requests of a session that have one id, and of which one is in progress, each POST gets " +
				"the answer to its own request or a refusal: otherwise a client takes one answer for the other",
			Level:   spec.Robust,
			In:      handshake(),
			On:      transport.OnHTTP,
			Session: check.OwnSession,
			Spec:    "basic/index#requests",
			Idle:    "no tool that may be called takes long enough for a request to be sent meanwhile",
			Hint: "offer a read-only tool that takes between a tenth of a second and two seconds, or allow one: " +
				"--allow-tools NAME,…",
			// The client must not use an id twice, so that the server may refuse either request
			// by an error or by the status. The answers differ: only the result of a call has
			// content.
			Probe: func(t *check.T) {
				one, ok := longCall(t)
				if !ok {
					return
				}
				b := posting.OpenSession(t)
				defer b.End()
				id := t.NextID()
				// The second request is sent when the server has answered one that was sent at
				// the same time as the call.
				after := func(*transport.HTTPRequest) { _, _ = b.TryPost(posting.BarrierFrame(t)) }
				call := posting.CallPosting(one.Tool, one.Args)
				both := t.HTTP().Together([]check.Posting{
					{Raw: t.Frame(id, call.Method, call.Params), Edits: b.Edits(call.Edits()...)},
					{Raw: posting.BarrierFrame(t, id), Edits: b.Edits(after)},
				})
				for i, what := range []string{"the call", t.Facts.BarrierMethod} {
					if both[i] != nil {
						t.HTTP().Complete(both[i])
						posting.EndIfPolling(t, both[i])
					}
					if got := notOwnAnswer(t, both[i], i == 0); got != "" {
						t.Fail("its own answer, or a refusal", got,
							"a call of %q and %s during it were posted with one id; %s got %s",
							one.Tool.Get("name").Str, t.Facts.BarrierMethod, what, got)
					}
				}
				t.Saw()
			},
		},
	}
}

// longCall returns the longest call of a tool that takes enough time and not too much; ok is
// false if there is none. Read-only tools come before those that the user allowed.
func longCall(t *check.T) (best toolcalls.Call, ok bool) {
	for _, one := range toolcalls.CallsIfDeclared(t).Results {
		if offer.RequiresTask(t, one.Tool) || one.Took < minInFlight || one.Took > toolcalls.MaxWork ||
			!check.Succeeded(t, one.Answer.Message) {
			continue
		}
		better := one.Took > best.Took
		if a, b := offer.IsReadOnly(one.Tool), offer.IsReadOnly(best.Tool); a != b {
			better = a
		}
		if !ok || better {
			best, ok = one, true
		}
	}
	return best, ok
}

// notOwnAnswer returns what an exchange has in place of the answer to its own request,
// which is a call or not; "" if it has the answer, an error or a status of failure.
func notOwnAnswer(t *check.T, x *check.PendingExchange, isCall bool) string {
	if x == nil {
		return "no answer"
	}
	if x.Status >= 300 {
		return ""
	}
	answers := 0
	for _, m := range x.Snapshot().Messages() {
		if !m.IsResponse() {
			continue
		}
		answers++
		if m.Kind == wire.Result && m.Result().Get("content").Exists() != isCall {
			return "the answer to the other: " + m.Summary()
		}
	}
	switch answers {
	case 0:
		return check.Describe(x) + " without a response"
	case 1:
		return ""
	}
	return fmt.Sprintf("%d responses", answers)
}
