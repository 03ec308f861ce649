package cancellation

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// probes are the probes of basic/utilities/cancellation, and of
// basic/patterns/cancellation and basic/transports/stdio#cancellation since
// 2026-07-28.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "cancellation.unknown.ignored",
			Says:  "a cancellation of a request that was never sent is ignored",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.Any,
			Rules: []string{"cancellation-ignore-unknown-id"},
			Probe: func(t *check.T) {
				byNotification(t)
				text, number := wire.StringID("mcpcheck-never-asked"), wire.IntID(987654321)
				from := t.Notify("notifications/cancelled", check.Params{"requestId": "mcpcheck-never-asked", "reason": "mcpcheck never asked"})
				t.Notify("notifications/cancelled", check.Params{"requestId": 987654321})
				unanswered(t, from, "a cancellation of an unknown request", text, number)
			},
		},
		{
			ID:    "cancellation.completed.ignored",
			Says:  "a cancellation of a request that was answered is ignored",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.Any,
			Rules: []string{"cancellation-ignore-completed"},
			// completedCancelled has another request answered between, so that it is
			// certain that the server is done with the first.
			Probe: func(t *check.T) {
				byNotification(t)
				done := t.Start(t.Facts.Barrier, nil)
				t.Answer(done)
				t.Request(t.Facts.Barrier, nil)
				from := t.Notify("notifications/cancelled", check.Params{"requestId": raw(done.ID), "reason": "mcpcheck is late"})
				unanswered(t, from, "a cancellation of an answered request", done.ID)
			},
		},
		{
			ID:       "cancellation.malformed.ignored",
			Says:     "a cancellation that names no request is ignored",
			Level:    spec.Should,
			In:       spec.Every,
			On:       transport.Any,
			Rules:    []string{"cancellation-ignore-malformed"},
			Malforms: true,
			Probe: func(t *check.T) {
				byNotification(t)
				from := t.Notify("notifications/cancelled", nil)
				t.Notify("notifications/cancelled", check.Params{"reason": "mcpcheck names none"})
				t.Notify("notifications/cancelled", check.Params{"requestId": nil})
				t.Notify("notifications/cancelled", check.Params{"requestId": []any{1}, "reason": 5})
				unanswered(t, from, "a malformed cancellation")
			},
		},
		{
			ID:    "cancellation.race",
			Says:  "a cancellation that crosses the answer does no harm",
			Level: spec.Must,
			In:    spec.Every,
			On:    transport.Any,
			Rules: []string{"cancellation-race-handling"},
			// cancellationRace cancels requests right behind them. Whether they are
			// answered is for the server to say, and that none is answered twice is judged
			// in every session.
			Probe: func(t *check.T) {
				byNotification(t)
				for range races {
					running := t.Start(t.Facts.Barrier, nil)
					t.Notify("notifications/cancelled", check.Params{"requestId": raw(running.ID)})
				}
				t.Survives("a cancellation right behind its request")
			},
		},
		{
			ID:    "cancellation.call.unanswered",
			Says:  "a call that was cancelled and broken off is not answered",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "tools",
			Rules: []string{"cancellation-no-response"},
			// cancelledUnanswered judges what was broken off: a server may ignore the
			// cancellation of what cannot be cancelled (#behavior-requirements), and an
			// answer may have been on its way.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					slowUnanswered(t, w)
					return
				}
				w.Answered(t)
			},
		},
		{
			ID:    "cancellation.call.stopped",
			Says:  "the work on a call that was cancelled stops",
			Level: spec.Should,
			In:    spec.Handshake,
			Needs: "tools",
			Rules: []string{"cancellation-stop-processing", "cancellation-processing-ceases"},
			// cancelledStopped looks for work that goes on although the server took the
			// cancellation in: it withholds the answer.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				switch {
				case w.Why != "":
					t.NotObserved(w.Why, w.Hint)
				case w.Fate() == toolcalls.RanToEnd:
					w.Ignored(t)
				}
				w.Stopped(t, "no further reports")
			},
		},
		{
			ID:    "cancellation.call.silent",
			Says:  "for a call that was cancelled and broken off no further message comes",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio, // over HTTP the stream on which it could come is closed
			Needs: "tools",
			Rules: []string{"cancellation-no-further-messages"},
			// cancelledSilent: the transport page forbids any further message, and
			// basic/patterns/cancellation lets a server ignore the cancellation of what
			// cannot be cancelled. So only what was broken off is judged.
			Probe: func(t *check.T) {
				w := toolcalls.CancelOne(t)
				if w.Why != "" {
					slowUnanswered(t, w)
					return
				}
				w.Answered(t)
				w.Stopped(t, "no further messages")
			},
		},
		{
			ID:    "cancellation.subscription.unanswered",
			Says:  "a subscription that was cancelled is not answered",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio, // over HTTP the stream on which it could come is closed
			Rules: []string{"cancellation-no-further-messages"},
			// subscriptionUnanswered cancels a subscription that the server has
			// acknowledged and keeps open.
			Probe: func(t *check.T) {
				running := t.Start("subscriptions/listen", check.Params{"notifications": check.Params{
					"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
				}})
				answered := check.ResponseTo(running.ID)
				m, ok := t.Await(running.Sent, func(m wire.Message) bool {
					return m.Method() == "notifications/subscriptions/acknowledged" || answered(m)
				})
				if !ok || m.IsResponse() {
					t.NotObserved("the server opened no subscription", "")
				}
				t.Request(t.Facts.Barrier, nil)
				for _, m := range t.Received(running.Sent) {
					if answered(m) {
						t.NotObserved("the server does not keep the subscription open", "")
					}
				}
				from := t.Notify("notifications/cancelled", check.Params{"requestId": raw(running.ID), "reason": "mcpcheck has heard enough"})
				t.Forbid(from, "no answer to a cancelled subscription", answered)
			},
		},
	}
}

// byNotification ends the body where a client does not cancel by
// notifications/cancelled: over HTTP it closes the stream of the request since
// 2026-07-28 (basic/patterns/cancellation).
func byNotification(t *check.T) {
	if t.Facts.Stateless && t.Transport() != transport.Stdio {
		t.NotApplicable("over HTTP a request of this revision is cancelled by closing its stream")
	}
}

// unanswered asserts that what was sent from a frame on is not answered, under
// no id or one of those, and leaves the server as it was.
func unanswered(t *check.T, from int, what string, ids ...wire.ID) {
	t.Survives(what)
	if judgedApart(t) {
		t.NotObserved("the server minds cancellations of any kind, which is judged with the messages", "")
	}
	t.Forbid(from, "no answer to "+what, func(m wire.Message) bool {
		mine := !m.ID().Present() || m.ID().Null()
		for _, one := range ids {
			mine = mine || m.ID().Equal(one)
		}
		return m.IsResponse() && mine
	})
}

var oddCancellationsKey = check.NewKey[bool]("odd cancellations")

// judgedApart tells whether the server answers, or ends at, the cancellations
// that are judged with the messages: then that is told there, and not once more.
func judgedApart(t *check.T) bool {
	return check.Once(t, oddCancellationsKey, func() bool {
		from := check.SendUnmatchedCancellations(t)
		_, err := t.Try(t.Facts.Barrier, nil).Get()
		return err != nil || slices.ContainsFunc(t.Received(from), func(m wire.Message) bool {
			return m.IsResponse() && (!m.ID().Present() || m.ID().Null())
		})
	})
}

// raw is an id as it was sent.
func raw(id wire.ID) json.RawMessage { return json.RawMessage(id.Raw) }

// races is how often the race is run, and cheap enough to be.
const races = 5

// slowUnanswered cancels a tool that was found to take longer than a quarter of
// the time that an answer is waited for. A failure within a tenth of that time
// comes of the cancellation. That none comes shows nothing: the work may go on.
// The call gives no progress token, since whether a report would come in the time
// that the session has left is a matter of luck.
func slowUnanswered(t *check.T, w *toolcalls.Cancelled) {
	for _, tool := range offer.Tools(t) {
		args := offer.Arguments(t, tool, 1)
		if !check.Has(t, offer.SlowTool(tool)) || !offer.ReadOnly(tool) || offer.OnlyAsTask(t, tool) || len(args) == 0 {
			continue
		}
		running := t.Start("tools/call", offer.CallParams(tool, args[0]))
		t.Request(t.Facts.Barrier, nil)
		if _, err := t.TryAnswer(running, t.Timeout()/20).Get(); err == nil {
			continue // it is not slow now
		}
		t.Cancel(running)
		if e, err := t.TryAnswer(running, t.Timeout()/20).Get(); err == nil && (e.Message.Kind == wire.Error || e.Message.Result().Get("isError").Bool()) {
			toolcalls.ClosesStream(t, e)
			t.Mark(e)
			t.Fail("no answer", e.Message.Summary(), "a call of %q, which takes long, was cancelled and then at once answered with %s", tool.Get("name").String(), e.Message.Summary())
		}
		t.NotObserved(fmt.Sprintf("a call of %q was cancelled, and how long it would have run on is not known", tool.Get("name").String()), w.Hint)
	}
	t.NotObserved(w.Why, w.Hint)
}
