package subscriptions

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/changes"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// probes are the probes of basic/patterns/subscriptions, since
// 2026-07-28. What is delivered on a stream is judged in every session.
func probes() []check.Check {
	return append(changeNotifications(), []check.Check{
		{
			ID:    "subscriptions.acknowledged",
			Says:  "subscriptions/listen is acknowledged",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-first"},
			// listenAcknowledged leaves what comes before the acknowledgment to the judges.
			Probe: func(t *check.T) {
				w := changes.Offered(t, true)
				defer w.Stop()
				switch {
				case w.Got.Kind == wire.Error:
					t.NotObserved("subscriptions/listen was answered with "+w.Got.Summary(), "")
				case w.Got.IsResponse():
					t.Fail("notifications/subscriptions/acknowledged", w.Got.Summary(), "subscriptions/listen was answered at once, and never acknowledged")
				case !w.Open:
					t.Fail("notifications/subscriptions/acknowledged", "nothing", "subscriptions/listen was neither acknowledged nor answered")
				}
			},
		},
		{
			ID:    "subscriptions.stays-open",
			Says:  "a stream with something to tell is not ended as soon as it is acknowledged",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-stream-stays-open"},
			// streamStaysOpen asks for nothing but what the server declares: a server that
			// has nothing to tell may as well end the stream. When else it ends one is its
			// own choice (basic/patterns/subscriptions#cancellation).
			Probe: func(t *check.T) {
				w := changes.Subscribed(t)
				defer w.Stop()
				if _, ok := t.Try(t.Facts.Barrier, nil).Answer(); !ok {
					t.NotObserved("the server answers nothing beside the stream", "")
				}
				for _, m := range t.Received(w.Stream.Sent) {
					if m.IsResponse() && m.ID().Equal(w.Stream.ID) {
						w.Got = m
						t.Fail("an open stream", m.Summary(), "the stream was acknowledged, and ended at once")
					}
				}
			},
		},
		{
			ID:    "subscriptions.filter.empty",
			Says:  "subscriptions/listen with an empty filter is acknowledged",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-all-filter-fields-optional"},
			Probe: func(t *check.T) {
				changes.Subscribed(t).Stop() // that streams are opened at all is a condition
				w := watch.Start(t, watch.Filter{})
				defer w.Stop()
				switch {
				case w.Got.Kind == wire.Error:
					t.Fail("notifications/subscriptions/acknowledged", w.Got.Summary(), "a filter with no member, all of which are optional, was refused")
				case !w.Open && !w.Got.IsResponse():
					t.Fail("notifications/subscriptions/acknowledged", "nothing", "a filter with no member was neither acknowledged nor refused")
				}
			},
		},
		{
			ID:       "subscriptions.filter.missing",
			Says:     "subscriptions/listen without a filter is answered with an error",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"subscriptions-listen-missing-filter-rejected"},
			Malforms: true,
			Probe: func(t *check.T) {
				changes.Subscribed(t).Stop()
				w := &watch.Watch{T: t}
				w.Listen(check.Params{})
				defer w.Stop()
				switch {
				case w.Got.Kind == wire.Error:
				case w.Got.Kind == wire.Invalid:
					t.Fail("an error", "nothing", "subscriptions/listen without notifications was not answered")
				default:
					t.Fail("an error", w.Got.Summary(), "subscriptions/listen without notifications was answered with %s", w.Got.Summary())
				}
			},
		},
		{
			ID:      "subscriptions.end.result",
			Says:    "a subscription that the server ends is not ended by an error",
			Level:   spec.Should,
			In:      spec.Stateless,
			On:      transport.OnStdio, // a server over HTTP lives on when a client goes
			Session: check.OwnSession,
			Rules:   []string{"subscriptions-graceful-close-result"},
			// endedByResult ends the input while streams are open. A server may take that
			// for the end of the transport and say nothing. One that says how it ends a
			// stream uses a result or, by basic/patterns/cancellation, a notification.
			Probe: func(t *check.T) {
				streams := []*watch.Watch{changes.Subscribed(t), watch.Start(t, watch.DeclaredFilter(t), wire.StringID("mcpcheck-listen"))}
				t.Sessions().End()
				graceful := false
				for _, w := range streams {
					end, told := w.Ended()
					if end.Message.Kind == wire.Error && !told && w.Open {
						t.Mark(end)
						t.Fail("a result", end.Message.Summary(), "when its input ended, the server ended a subscription by an error")
					}
					graceful = graceful || told || end.Message.Kind == wire.Result
				}
				if !graceful {
					t.NotObserved("when its input ended, the server said nothing of its open subscriptions", "")
				}
			},
		},
		{
			ID:    "subscriptions.delivered",
			Says:  "a change is told on each stream that is open for it",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-list-changed-delivered"},
			Probe: func(t *check.T) {
				if s := streamsTold(t); s.Only != 0 {
					t.Fail("a notification on both", "one on the "+[]string{"first", "second"}[s.Only-1], "of two streams that were open for %s, only one was told of a change", s.Kind)
				}
			},
		},
		{
			ID:    "lifecycle.listen.scoped",
			Says:  "a subscription goes on, whatever becomes of others on its connection",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-listen-state-request-scoped"},
			// listenScoped takes a stream for ended with another only if one that was
			// opened after that is told of a change, and this one not.
			Probe: func(t *check.T) {
				switch s := streamsTold(t); {
				case !s.Heir:
					t.NotObserved("no change was told on a stream that was opened when another one was cancelled", "")
				case !s.Continued:
					t.Fail("a notification on the second stream", "one on a new stream", "a stream open for %s, on which a change was told before, fell silent when another stream was cancelled and a new one opened", s.Kind)
				}
			},
		},
	}...)
}

// streamsTold returns what came of several streams, and ends the body where no
// change was told.
func streamsTold(t *check.T) changes.Streams {
	if !watch.DeclaresChanges(t) {
		t.NotApplicable("the server declares no notifications of change")
	}
	s := changes.Rewatch(t)
	if s.Kind == nil {
		t.NotObserved("no call that was made again changed what a stream was opened for", check.AllowHint(toolcalls.CallsIfDeclared(t).Held))
	}
	return s
}
