package subscriptions

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/changes"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// probes returns the probes of change notifications in all revisions and of
// basic/patterns/subscriptions, since 2026-07-28.
func probes() []check.Check { return slices.Concat(changeProbes(), streamProbes()) }

// streamProbes returns the probes of how streams are opened, kept open and ended.
// Judges judge what a server sends on them.
func streamProbes() []check.Check {
	return []check.Check{
		{
			ID:    "subscriptions.acknowledged",
			Says:  "the server acknowledges subscriptions/listen",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-first"},
			Idle:  "no stream was requested",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				w := changes.RequestStream(t, true)
				defer w.Stop()
				switch {
				case w.First.Kind == wire.Error:
					t.NotObserved("subscriptions/listen was answered with "+w.First.Summary(),
						"acknowledge subscriptions/listen")
				case w.First.IsResponse():
					t.Fail(transcript.AcknowledgedMethod, w.First.Summary(),
						"subscriptions/listen was answered at once, and never acknowledged")
				case !w.Open:
					t.Fail(transcript.AcknowledgedMethod, "nothing",
						"subscriptions/listen was neither acknowledged nor answered")
				}
				t.Saw()
			},
		},
		{
			ID:    "subscriptions.open",
			Says:  "the server does not end a stream as soon as it is acknowledged",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-stream-stays-open"},
			Idle:  "no stream was opened",
			Hint:  "declare change notifications, such as tools.listChanged",
			// The filter requests only what the server declares: a server may end a stream on
			// which it never sends anything. It may end any stream later
			// (basic/patterns/subscriptions#cancellation).
			Probe: func(t *check.T) {
				w := changes.RequireStream(t)
				defer w.Stop()
				if t.Try(t.Facts.BarrierMethod, nil).Err != nil {
					t.NotObserved("the server answers no other request while the stream is open",
						"answer requests while a subscription is open")
				}
				for _, m := range t.Received(w.Stream.FrameIndex) {
					if m.IsResponse() && m.ID().Equal(w.Stream.ID) {
						w.First = m
						t.Fail("an open stream", m.Summary(), "the stream was acknowledged, and ended at once")
					}
				}
				t.Saw()
			},
		},
		{
			ID:    "subscriptions.filter.empty",
			Says:  "the server accepts subscriptions/listen with an empty filter",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-all-filter-fields-optional"},
			Idle:  "no stream was requested",
			Hint:  expect.HintReply,
			// The rule has a subject only at a server that opens streams.
			Probe: func(t *check.T) {
				changes.RequireStream(t).Stop()
				w := watch.Start(t, watch.Filter{})
				defer w.Stop()
				switch {
				case w.First.Kind == wire.Error:
					t.Fail(transcript.AcknowledgedMethod, w.First.Summary(),
						"a filter with no member, all of which are optional, was refused")
				case !w.Open && !w.First.IsResponse():
					t.Fail(transcript.AcknowledgedMethod, "nothing",
						"a filter with no member was neither acknowledged nor refused")
				}
				t.Saw()
			},
		},
		{
			ID:       "subscriptions.filter.missing",
			Says:     "the server answers subscriptions/listen without a filter with an error",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"subscriptions-listen-missing-filter-rejected"},
			Idle:     "no stream was requested",
			Hint:     expect.HintReply,
			Malforms: true,
			Probe: func(t *check.T) {
				changes.RequireStream(t).Stop()
				w := &watch.Watch{T: t}
				w.Listen(check.Params{})
				defer w.Stop()
				if w.First.Kind == wire.Invalid {
					t.Fail("an error", "nothing", "subscriptions/listen without notifications was not answered")
				}
				match.Expect(t, w.First).To(match.BeError(), "subscriptions/listen without notifications")
				t.Saw()
			},
		},
		{
			ID:      "subscriptions.end.result",
			Says:    "the server does not end a subscription by an error",
			Level:   spec.Should,
			In:      spec.Stateless,
			On:      transport.OnStdio, // a server over HTTP stays up when a client leaves
			Session: check.OwnSession,
			Rules:   []string{"subscriptions-graceful-close-result"},
			Idle:    "when its input ended, the server sent nothing about its open subscriptions",
			Hint:    "end an open subscription with a result when standard input is closed",
			// A server may take the end of its input as the end of the transport and send
			// nothing. One that ends a stream sends a result or, by
			// basic/patterns/cancellation, a notification.
			Probe: func(t *check.T) {
				second := wire.StringID("mcpcheck-listen")
				streams := []*watch.Watch{changes.RequireStream(t), watch.Start(t, watch.DeclaredFilter(t), second)}
				t.Sessions().End()
				for _, w := range streams {
					end, cancelled := w.Ended()
					if end.Message.Kind == wire.Error && !cancelled && w.Open {
						t.Mark(end)
						t.Fail("a result", end.Message.Summary(),
							"when its input ended, the server ended a subscription by an error")
					}
					if cancelled || end.Message.Kind == wire.Result {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "subscriptions.delivered",
			Says:  "the server sends a change notification on each open stream whose filter requests it",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-list-changed-delivered"},
			Idle:  "no change was notified on two streams",
			Hint:  "offer a tool that changes a list" + check.AndAllow,
			Probe: func(t *check.T) {
				if s := requireChange(t); s.OnlyStream != 0 {
					t.Fail("a notification on both", "one on the "+[]string{"first", "second"}[s.OnlyStream-1],
						"two streams were open for %s, and a change was notified on one of them", s.Kind)
				}
				t.Saw()
			},
		},
		{
			ID:    "subscriptions.listen.scoped",
			Says:  "a stream stays open when another stream of the connection ends",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-listen-state-request-scoped"},
			Idle:  "no change was notified on a stream that was opened after another one was cancelled",
			Hint:  "offer a tool that changes a list" + check.AndAllow,
			// The stream ended with the other one only if a change is notified on a stream that
			// was opened after that, and not on this one.
			Probe: func(t *check.T) {
				s := requireChange(t)
				if !s.OnThird {
					return
				}
				if !s.Continued {
					t.Fail("a notification on the second stream", "one on a new stream",
						"no change was notified on a stream open for %s after another stream was cancelled", s.Kind)
				}
				t.Saw()
			},
		},
	}
}

// requireChange returns what several streams received. If no change was notified the
// body ends.
func requireChange(t *check.T) changes.Streams {
	if !watch.DeclaresChanges(t) {
		t.NotApplicable("the server declares no change notifications")
	}
	s := changes.RepeatWatched(t)
	if s.Kind == nil {
		t.NotObserved("no call that was repeated changed what a stream was open for",
			check.AllowHint(toolcalls.CallsIfDeclared(t).NotAllowed))
	}
	return s
}
