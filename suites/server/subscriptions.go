package server

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
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
			On:    transport.OnStdio, // a server over HTTP lives on when a client goes
			Fresh: true,
			Rules: []string{"subscriptions-graceful-close-result"},
			Probe: endedByResult,
		},
		{
			ID:    "subscriptions.delivered",
			Says:  "a change is told on each stream that is open for it",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-list-changed-delivered"},
			Probe: toldOnEach,
		},
		{
			ID:    "lifecycle.listen.scoped",
			Says:  "a subscription goes on, whatever becomes of others on its connection",
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
	w := offered(t, false)
	switch {
	case w.got.Kind == wire.Error:
		t.NotObserved("subscriptions/listen was answered with "+w.got.Summary(), "")
	case !w.open:
		t.NotObserved("subscriptions/listen was not acknowledged", "")
	}
	return w
}

func offered(t *check.T, patient bool) *watch {
	if !tellsOfChanges(t) {
		t.NotApplicable("the server declares no notifications of change")
	}
	f := declaredFilter(t)
	if uris := listedURIs(t); updates(t) && len(uris) > 0 {
		f.uris = uris[:1]
	}
	w := &watch{t: t, filter: f, patient: patient}
	w.listen(f.params())
	return w
}

// listenAcknowledged leaves what comes before the acknowledgment to the judges.
func listenAcknowledged(t *check.T) {
	w := offered(t, true)
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
	if w.stream == nil {
		return response, false
	}
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

// streams is what came of streams that were open at once for one kind of
// change, which calls bring about.
type streams struct {
	kind      *told // that was told on one of the two, or nil
	only      int   // the one it was told on (1 or 2), 0 for both
	heir      bool  // a change was told on a third one, opened when the first was cancelled,
	continued bool  // and on the second
}

// rewatched gives judges something to look at that only changes can give:
// calls that changed something are made again while other things are watched,
// and while nothing is watched any more.
func rewatched(t *check.T) streams {
	return check.Memo(t, "watched again", func() (s streams) {
		switch {
		case !tellsOfChanges(t):
		case t.Facts.Stateless:
			s = severalStreams(t)
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

// severalStreams opens a stream for one kind of change, and a second one for
// that and another. Then it cancels the first one and opens a third, for the
// same kind and for a resource that is not changed; then it cancels all.
func severalStreams(t *check.T) (s streams) {
	c := calledIfTools(t)
	kind, another := c.kinds(t)
	if kind == (told{}) {
		return s
	}
	first := watchFor(t, kind.filter(), wire.StringID("mcpcheck-watch"))
	second := watchFor(t, kind.filter().and(another.filter()))
	if !first.open || !second.open {
		first.stop()
		second.stop()
		return s
	}
	if from := c.again(t); from >= 0 && toldOnAny(from, kind, first, second) {
		s.kind = &kind
		switch {
		case !first.hears(from, kind) && !first.over():
			s.only = 2
		case !second.hears(from, kind) && !second.over():
			s.only = 1
		}
	}
	first.stop()
	past(t)
	third := kind.filter()
	if updates(t) {
		third.uris = append(third.uris, c.unchanged(t)...)
	}
	heir := watchFor(t, third)
	if from := c.again(t); from >= 0 && s.kind != nil && s.only == 0 && toldOnAny(from, kind, heir) {
		s.heir, s.continued = true, second.hears(from, kind) || second.over()
	}
	second.stop()
	heir.stop()
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

// toldOnAny waits for a change on one of the streams. That calls bring it about
// every time is not certain, so that it is not waited for as long as what is due.
func toldOnAny(from int, what told, streams ...*watch) bool {
	t := streams[0].t
	_, ok := t.AwaitWithin(from, t.Timeout()/5, func(m wire.Message) bool {
		return slices.ContainsFunc(streams, func(w *watch) bool { return w.carries(m, what) })
	})
	return ok
}

// hears waits for a change on the stream that was told on another.
func (w *watch) hears(from int, what told) bool {
	if w.over() {
		return false
	}
	_, ok := w.t.Await(from, func(m wire.Message) bool { return w.carries(m, what) })
	return ok
}

// over tells whether the server has ended the stream, which it may at any time.
func (w *watch) over() bool {
	response, told := w.ended()
	return told || response.Message.IsResponse()
}

// kinds returns a kind of change and another one, if there are two: a list and a
// resource rather than two lists, and rather of those that calls bring about than
// of those that are only declared.
func (c *toolCalls) kinds(t *check.T) (kind, another told) {
	var lists, resources []told
	for _, v := range c.heard {
		if v.list != "" {
			lists = append(lists, v)
		} else if slices.Contains(listedURIs(t), v.uri) {
			resources = append(resources, v)
		}
	}
	all := slices.Concat(lists[:min(1, len(lists))], resources, lists)
	for _, list := range declaredFilter(t).lists {
		all = append(all, told{list: list})
	}
	if uris := listedURIs(t); updates(t) && len(uris) > 0 {
		all = append(all, told{uri: uris[0]})
	}
	if len(all) == 0 {
		return told{}, told{}
	}
	another = all[0]
	if at := slices.IndexFunc(all, func(v told) bool { return v != all[0] }); at > 0 {
		another = all[at]
	}
	return all[0], another
}

// streamsTold returns what came of several streams, and ends the body where no
// change was told.
func streamsTold(t *check.T) streams {
	if !tellsOfChanges(t) {
		t.NotApplicable("the server declares no notifications of change")
	}
	s := rewatched(t)
	if s.kind == nil {
		t.NotObserved("no call that was made again changed what a stream was opened for", allowHint(calledIfTools(t).held))
	}
	return s
}

func toldOnEach(t *check.T) {
	if s := streamsTold(t); s.only != 0 {
		t.Fail("a notification on both", "one on the "+[]string{"first", "second"}[s.only-1], "of two streams that were open for %s, only one was told of a change", s.kind)
	}
}

// listenScoped takes a stream for ended with another only if one that was
// opened after that is told of a change, and this one not.
func listenScoped(t *check.T) {
	switch s := streamsTold(t); {
	case !s.heir:
		t.NotObserved("no change was told on a stream that was opened when another one was cancelled", "")
	case !s.continued:
		t.Fail("a notification on the second stream", "one on a new stream", "a stream open for %s, on which a change was told before, fell silent when another stream was cancelled and a new one opened", s.kind)
	}
}
