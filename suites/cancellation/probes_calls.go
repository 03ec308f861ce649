package cancellation

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// noneCancelled is why several probes are not observed.
const noneCancelled = "no call of a tool was cancelled"

// callProbes returns the probes of what a server does with a call or a subscription
// that is cancelled.
func callProbes() []check.Check {
	return []check.Check{
		{
			ID:    "cancellation.call.unanswered",
			Says:  "the server does not answer a call that it stopped because it was cancelled",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "tools",
			Rules: []string{"cancellation-no-response"},
			Idle:  noneCancelled,
			Hint:  "offer a read-only tool that takes a second and reports progress" + check.OrAllow,
			// A server may ignore the cancellation of what cannot be cancelled
			// (#behavior-requirements), and an answer may have been under way: only a call that
			// was stopped is judged.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					judgeSlowCall(t, w)
					return
				}
				w.RequireNoAnswer(t)
				t.Saw()
			},
		},
		{
			ID:    "cancellation.call.stopped",
			Says:  "the server stops the work on a call that was cancelled",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "tools",
			Rules: []string{"cancellation-stop-processing", "cancellation-processing-ceases"},
			Idle:  noneCancelled,
			Hint:  "offer a read-only tool that takes a second and reports progress" + check.OrAllow,
			// A server that answers the call at its end may have ignored the cancellation. One
			// that sends no answer, or an early one, has processed it: then the work must not
			// go on.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					t.NotObserved(w.Why, w.Hint)
				}
				if w.CallEnd() == toolcalls.RanToEnd {
					w.EndAsIgnored(t)
				}
				w.RequireNoReports(t, "no further reports")
				t.Saw()
			},
		},
		{
			ID:    "cancellation.call.silent",
			Says:  "the server sends no message for a call that it stopped because it was cancelled",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio, // over HTTP the stream on which it could come is closed
			Needs: "tools",
			Rules: []string{"cancellation-no-further-messages"},
			Idle:  noneCancelled,
			Hint:  "offer a read-only tool that takes a second and reports progress" + check.OrAllow,
			// The transport page forbids any further message, and basic/patterns/cancellation
			// allows a server to ignore the cancellation of what cannot be cancelled: only a
			// call that was stopped is judged.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					judgeSlowCall(t, w)
					return
				}
				w.RequireNoAnswer(t)
				w.RequireNoReports(t, "no further messages")
				t.Saw()
			},
		},
		{
			ID:    "cancellation.subscription.unanswered",
			Says:  "the server does not answer a subscription that was cancelled",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio, // over HTTP the stream on which it could come is closed
			Rules: []string{"cancellation-no-further-messages"},
			Idle:  "no subscription was cancelled",
			Hint:  "acknowledge subscriptions/listen, and keep the subscription open until it is cancelled",
			// Only a subscription that the server acknowledged and keeps open is cancelled.
			Probe: func(t *check.T) {
				running := t.Start("subscriptions/listen", check.Params{"notifications": check.Params{
					"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
				}})
				isAnswer := check.ResponseTo(running.ID)
				m, ok := t.Await(running.FrameIndex, func(m wire.Message) bool {
					return m.Method() == "notifications/subscriptions/acknowledged" || isAnswer(m)
				})
				if !ok || m.IsResponse() {
					t.NotObserved("the server opened no subscription", "")
				}
				t.Request(t.Facts.BarrierMethod, nil)
				for _, m := range t.Received(running.FrameIndex) {
					if isAnswer(m) {
						t.NotObserved("the server does not keep the subscription open", "")
					}
				}
				params := check.Params{"requestId": rawID(running.ID), "reason": "mcpcheck has heard enough"}
				t.Forbid(notifyCancelled(t, params), "no answer to a cancelled subscription", isAnswer)
				t.Saw()
			},
		},
	}
}

// judgeSlowCall cancels a call of a tool that takes longer than a quarter of the time
// for an answer. A failure within a twentieth of that time is an answer to the
// cancellation. No answer is no evidence: the work may go on. The call has no
// progress token: whether progress is reported before the session ends is chance.
func judgeSlowCall(t *check.T, w *toolcalls.Cancellation) {
	for _, tool := range offer.Tools(t) {
		args, name := offer.Arguments(t, tool, 1), tool.Get("name").String()
		isSlow := check.HasTrait(t, offer.SlowTool(tool)) && offer.IsReadOnly(tool) && !offer.RequiresTask(t, tool)
		if !isSlow || len(args) == 0 {
			continue
		}
		running := t.Start("tools/call", offer.CallParams(tool, args[0]))
		t.Request(t.Facts.BarrierMethod, nil)
		if t.TryAnswer(running, t.Timeout()/20).Err == nil {
			continue // it is not slow this time
		}
		t.Cancel(running)
		r := t.TryAnswer(running, t.Timeout()/20)
		if r.Err == nil && (r.Message.Kind == wire.Error || r.Message.Result().Get("isError").Bool()) {
			toolcalls.EndIfOverHTTP(t)
			t.Mark(r.Entry)
			t.Fail("no answer", r.Message.Summary(),
				"a call of %q, which takes long, was cancelled and then at once answered with %s", name,
				r.Message.Summary())
		}
		t.NotObserved(fmt.Sprintf("a call of %q was cancelled, and how long it would have run is not known", name),
			w.Hint)
	}
	t.NotObserved(w.Why, w.Hint)
}
