package cancellation

import (
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// noneSent is why several probes are not observed.
const noneSent = "no cancellation was sent"

// probes returns the probes of basic/utilities/cancellation, and since 2026-07-28 of
// basic/patterns/cancellation and basic/transports/stdio#cancellation.
func probes() []check.Check { return slices.Concat(notificationProbes(), callProbes()) }

// notificationProbes returns the probes of cancellations that have no effect.
func notificationProbes() []check.Check {
	return []check.Check{
		{
			ID:    "cancellation.unknown.ignored",
			Says:  "the server ignores a cancellation of a request that was never sent",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.Any,
			Rules: []string{"cancellation-ignore-unknown-id"},
			Idle:  noneSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				requireNotifications(t)
				text, number := wire.StringID("mcpcheck-never-asked"), wire.IntID(987654321)
				from := notifyCancelled(t, check.Params{
					"requestId": "mcpcheck-never-asked", "reason": "mcpcheck never asked",
				})
				notifyCancelled(t, check.Params{"requestId": 987654321})
				expectIgnored(t, from, "a cancellation of an unknown request", text, number)
			},
		},
		{
			ID:    "cancellation.completed.ignored",
			Says:  "the server ignores a cancellation of a request that it has answered",
			Level: spec.Should,
			In:    spec.Every,
			On:    transport.Any,
			Rules: []string{"cancellation-ignore-completed"},
			Idle:  noneSent,
			Hint:  expect.HintReply,
			// Another request is answered in between: the server has then completed the first.
			Probe: func(t *check.T) {
				requireNotifications(t)
				done := t.Start(t.Facts.BarrierMethod, nil)
				t.Answer(done)
				t.Request(t.Facts.BarrierMethod, nil)
				from := notifyCancelled(t, check.Params{"requestId": rawID(done.ID), "reason": "mcpcheck is late"})
				expectIgnored(t, from, "a cancellation of an answered request", done.ID)
			},
		},
		{
			ID:       "cancellation.malformed.ignored",
			Says:     "the server ignores a cancellation without a valid request id",
			Level:    spec.Should,
			In:       spec.Every,
			On:       transport.Any,
			Rules:    []string{"cancellation-ignore-malformed"},
			Idle:     noneSent,
			Hint:     expect.HintReply,
			Malforms: true,
			Probe: func(t *check.T) {
				requireNotifications(t)
				from := notifyCancelled(t, nil)
				notifyCancelled(t, check.Params{"reason": "mcpcheck names none"})
				notifyCancelled(t, check.Params{"requestId": nil})
				notifyCancelled(t, check.Params{"requestId": []any{1}, "reason": 5})
				expectIgnored(t, from, "a malformed cancellation")
			},
		},
		{
			ID:    "cancellation.race",
			Says:  "the server survives a cancellation that arrives right after its request",
			Level: spec.Must,
			In:    spec.Every,
			On:    transport.Any,
			Rules: []string{"cancellation-race-handling"},
			Idle:  noneSent,
			Hint:  expect.HintReply,
			// A server may answer such a request or not; judges judge that it does not answer
			// one twice.
			Probe: func(t *check.T) {
				const races = 5
				requireNotifications(t)
				for range races {
					running := t.Start(t.Facts.BarrierMethod, nil)
					notifyCancelled(t, check.Params{"requestId": rawID(running.ID)})
				}
				t.Survives("a cancellation right after its request")
				t.Saw()
			},
		},
	}
}

// requireNotifications ends the body if a client does not cancel by a notification:
// over HTTP it closes the stream of the request since 2026-07-28
// (basic/patterns/cancellation).
func requireNotifications(t *check.T) {
	if t.Facts.Stateless && t.Transport() != transport.Stdio {
		t.NotApplicable("over HTTP a request of this revision is cancelled by closing its stream")
	}
}

// notifyCancelled sends a cancellation and returns the index of its frame.
func notifyCancelled(t *check.T, params check.Params) int {
	return t.Notify("notifications/cancelled", params)
}

// expectIgnored fails the check if the server answers what was sent from a frame on,
// with no id or with one of some ids, or if it ends.
func expectIgnored(t *check.T, from int, what string, ids ...wire.ID) {
	t.Survives(what)
	if reactsToUnmatched(t) {
		t.NotObserved("the server answers any cancellation or ends at it, which a check of the messages reports",
			"do not answer notifications/cancelled")
	}
	t.Forbid(from, "no answer to "+what, func(m wire.Message) bool {
		mine := check.HasNoID(m) || slices.ContainsFunc(ids, func(id wire.ID) bool { return m.ID().Equal(id) })
		return m.IsResponse() && mine
	})
	t.Saw()
}

var reactsToUnmatchedKey = check.NewKey[bool]("reacts to unmatched cancellations")

// reactsToUnmatched reports whether the server answers, or ends at, cancellations
// that the judges of JSON-RPC messages judge. The probes here do not report the same
// deviation again.
func reactsToUnmatched(t *check.T) bool {
	return check.Once(t, reactsToUnmatchedKey, func() bool {
		from := check.SendUnmatchedCancellations(t)
		r := t.Try(t.Facts.BarrierMethod, nil)
		return r.Err != nil || slices.ContainsFunc(t.Received(from), func(m wire.Message) bool {
			return m.IsResponse() && check.HasNoID(m)
		})
	})
}

// rawID returns an id as a value of params.
func rawID(id wire.ID) json.RawMessage { return json.RawMessage(id.Raw) }
