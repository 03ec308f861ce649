package server

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// subscriptions are the probes of basic/patterns/subscriptions, since
// 2026-07-28. What is delivered on a stream is judged in every session.
func subscriptions() []check.Check {
	return append(changeNotifications(), []check.Check{
		{
			ID:    "subscriptions.acknowledged",
			Says:  "subscriptions/listen is acknowledged",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-first"},
			Probe: listenAcknowledged,
		},
		{
			ID:    "subscriptions.stays-open",
			Says:  "a stream with something to tell is not ended as soon as it is acknowledged",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-stream-stays-open"},
			Probe: streamStaysOpen,
		},
		{
			ID:    "subscriptions.filter.empty",
			Says:  "subscriptions/listen with an empty filter is acknowledged",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-all-filter-fields-optional"},
			Probe: emptyFilter,
		},
		{
			ID:       "subscriptions.filter.missing",
			Says:     "subscriptions/listen without a filter is answered with an error",
			Level:    spec.Should,
			In:       spec.Stateless,
			Rules:    []string{"subscriptions-listen-missing-filter-rejected"},
			Malforms: true,
			Probe:    missingFilter,
		},
		{
			ID:    "subscriptions.end.result",
			Says:  "a subscription that the server ends is not ended by an error",
			Level: spec.Should,
			In:    spec.Stateless,
			Fresh: true,
			Rules: []string{"subscriptions-graceful-close-result"},
			Probe: endedByResult,
		},
		{
			ID:    "lifecycle.listen.scoped",
			Says:  "a subscription goes on when another one on its connection was cancelled",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-listen-state-request-scoped"},
			Probe: listenScoped,
		},
	}...)
}

// subscribed opens a stream for all that the server tells of; where it tells
// of nothing the rules have no subject. A stream that is refused is none: which
// features are really there is judged by what they are.
func subscribed(t *check.T) *watch {
	w := offered(t)
	switch {
	case w.got.Kind == wire.Error:
		t.NotObserved("subscriptions/listen was answered with "+w.got.Summary(), "")
	case !w.open:
		t.NotObserved("subscriptions/listen was not acknowledged", "")
	}
	return w
}

func offered(t *check.T) *watch {
	if !tellsOfChanges(t) {
		t.NotObserved("the server declares no notifications of change", "")
	}
	f := declaredFilter(t)
	if uris := listedURIs(t); updates(t) && len(uris) > 0 {
		f.uris = uris[:1]
	}
	return watchFor(t, f)
}

// listenAcknowledged leaves what comes before the acknowledgment to the judges.
func listenAcknowledged(t *check.T) {
	w := offered(t)
	defer w.stop()
	switch {
	case w.got.Kind == wire.Error:
		t.NotObserved("subscriptions/listen was answered with "+w.got.Summary(), "")
	case w.got.IsResponse():
		t.Fail("notifications/subscriptions/acknowledged", w.got.Summary(), "subscriptions/listen was answered at once, and never acknowledged")
	case !w.open:
		t.Fail("notifications/subscriptions/acknowledged", "nothing", "subscriptions/listen was neither acknowledged nor answered")
	}
}

// streamStaysOpen asks for nothing but what the server declares: a server that
// has nothing to tell may as well end the stream. When else it ends one is its
// own choice (basic/patterns/subscriptions#cancellation).
func streamStaysOpen(t *check.T) {
	w := subscribed(t)
	defer w.stop()
	if _, ok := t.Try(t.Facts.Barrier, nil); !ok {
		t.NotObserved("the server answers nothing beside the stream", "")
	}
	for _, m := range t.Received(w.stream.Sent) {
		if m.IsResponse() && m.ID().Equal(w.stream.ID) {
			w.got = m
			t.Fail("an open stream", m.Summary(), "the stream was acknowledged, and ended at once")
		}
	}
}

func emptyFilter(t *check.T) {
	subscribed(t).stop() // that streams are opened at all is a condition
	w := watchFor(t, filter{})
	defer w.stop()
	switch {
	case w.got.Kind == wire.Error:
		t.Fail("notifications/subscriptions/acknowledged", w.got.Summary(), "a filter with no member, all of which are optional, was refused")
	case !w.open && !w.got.IsResponse():
		t.Fail("notifications/subscriptions/acknowledged", "nothing", "a filter with no member was neither acknowledged nor refused")
	}
}

func missingFilter(t *check.T) {
	subscribed(t).stop()
	w := &watch{t: t}
	w.listen(check.Params{})
	defer w.stop()
	switch {
	case w.got.Kind == wire.Error:
	case w.got.Kind == wire.Invalid:
		t.Fail("an error", "nothing", "subscriptions/listen without notifications was not answered")
	default:
		t.Fail("an error", w.got.Summary(), "subscriptions/listen without notifications was answered with %s", w.got.Summary())
	}
}

// endedByResult ends the input while streams are open. A server may take that
// for the end of the transport and say nothing. One that says how it ends a
// stream uses a result or, by basic/patterns/cancellation, a notification.
func endedByResult(t *check.T) {
	streams := []*watch{subscribed(t), watchFor(t, declaredFilter(t), wire.StringID("mcpcheck-listen"))}
	t.End()
	graceful := false
	for _, w := range streams {
		end, told := w.ended()
		if end.Message.Kind == wire.Error && !told && w.open {
			t.Mark(end)
			t.Fail("a result", end.Message.Summary(), "when its input ended, the server ended a subscription by an error")
		}
		graceful = graceful || told || end.Message.Kind == wire.Result
	}
	if !graceful {
		t.NotObserved("when its input ended, the server said nothing of its open subscriptions", "")
	}
}

// ended returns the response that ended a stream, if there is one, and whether
// notifications/cancelled told of its end.
func (w *watch) ended() (response wire.Entry, told bool) {
	for _, e := range w.t.Frames(w.stream.Sent) {
		if e.From != wire.Server {
			continue
		}
		for _, m := range e.Message.Elements() {
			named := m.Params().Get("requestId")
			switch {
			case m.IsResponse() && m.ID().Equal(w.stream.ID):
				response, response.Message = e, m
			case m.Method() == "notifications/cancelled" && named.Exists() && w.stream.ID.Equal(wire.ID{Raw: named.Raw}):
				told = true
			}
		}
	}
	return response, told
}

// streams is what came of two streams on one connection, of which one was
// cancelled.
type streams struct {
	told, after int  // changes told on the second one, before the first was cancelled and after
	control     *int // told at the end on a stream opened then, while the second one was silent
}

// rewatched gives judges something to look at that only changes can give:
// calls that changed something are made again while other things are watched,
// and while nothing is watched any more.
func rewatched(t *check.T) streams {
	return check.Memo(t, "watched again", func() (s streams) {
		switch {
		case !tellsOfChanges(t):
		case t.Facts.Stateless:
			s = twoStreams(t)
		default:
			otherResource(t)
		}
		return s
	})
}

// otherResource watches a resource that the calls do not change, and then none.
func otherResource(t *check.T) {
	c := calledIfTools(t)
	if !slices.ContainsFunc(c.heard, func(v told) bool { return v.uri != "" }) {
		return
	}
	w := watchFor(t, filter{uris: c.unchanged(t)})
	c.again(t)
	w.stop()
	c.again(t)
}

func calledIfTools(t *check.T) *toolCalls {
	if !t.Declares("tools") {
		return &toolCalls{}
	}
	return called(t)
}

// unchanged returns a listed resource of which no change was told, if there is
// one.
func (c *toolCalls) unchanged(t *check.T) []string {
	for _, uri := range listedURIs(t) {
		if !slices.Contains(c.heard, told{uri: uri}) {
			return []string{uri}
		}
	}
	return nil
}

// twoStreams opens a stream for one kind of change, and a second one for that
// and another; then it cancels the first, then the second. A third one is for
// a resource that is not changed.
func twoStreams(t *check.T) (s streams) {
	c := calledIfTools(t)
	one, two := c.filters(t)
	first := watchFor(t, one, wire.StringID("mcpcheck-watch"))
	second := watchFor(t, two)
	if !first.open || !second.open {
		first.stop()
		second.stop()
		return s
	}
	if from := c.again(t); from >= 0 {
		s.told = len(second.events(from))
	}
	first.stop()
	third := &watch{t: t}
	if uris := c.unchanged(t); updates(t) && uris != nil {
		third = watchFor(t, filter{uris: uris})
	}
	past(t)
	if from := c.again(t); from >= 0 {
		s.after = len(second.events(from))
	}
	if s.told > 0 && s.after == 0 {
		control := watchFor(t, two)
		told := 0
		if from := c.again(t); len(second.events(from)) == 0 {
			told = len(control.events(from))
		}
		s.control = &told
		control.stop()
	}
	second.stop()
	if third.stream != nil {
		third.stop()
	}
	past(t)
	c.again(t)
	return s
}

// past is two round trips: what was on its way before has come.
func past(t *check.T) {
	for range 2 {
		_, _ = t.Try(t.Facts.Barrier, nil)
	}
}

// filters returns a filter of one kind of change, and one of that and another:
// of those that calls bring about, else of those that are declared.
func (c *toolCalls) filters(t *check.T) (one, two filter) {
	var lists, uris []string
	for _, v := range c.heard {
		if v.list != "" && !slices.Contains(lists, v.list) {
			lists = append(lists, v.list)
		} else if v.uri != "" && uris == nil && slices.Contains(listedURIs(t), v.uri) {
			uris = []string{v.uri}
		}
	}
	if len(lists) == 0 && uris == nil {
		if lists = declaredFilter(t).lists; len(lists) == 0 {
			uris = listedURIs(t)
			uris = uris[:min(1, len(uris))]
		}
	}
	if len(lists) == 0 {
		return filter{uris: uris}, filter{uris: uris}
	}
	return filter{lists: lists[:1]}, filter{lists: lists[:min(2, len(lists))], uris: uris}
}

// listenScoped takes a stream for ended with the other only if a new one is
// told of what it is not.
func listenScoped(t *check.T) {
	if !tellsOfChanges(t) {
		t.NotObserved("the server declares no notifications of change", "")
	}
	s := rewatched(t)
	switch {
	case s.after > 0:
	case s.control != nil && *s.control > 0:
		t.Fail("the changes that are told on a new stream", "nothing", "a stream on which %s told fell silent when another one on the connection was cancelled", count(s.told, "change was", "changes were"))
	default:
		t.NotObserved("no change was told on two streams", allowHint(calledIfTools(t).held))
	}
}

// count names a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
