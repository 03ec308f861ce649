package changes

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// acknowledge is what helps where no stream was opened.
const acknowledge = "acknowledge subscriptions/listen"

// RequireStream opens a stream for every kind of change that the server declares. If
// the server declares none, or does not open the stream, it ends the body: other checks
// judge the refusal.
func RequireStream(t *check.T) *watch.Watch {
	w := RequestStream(t, false)
	switch {
	case w.First.Kind == wire.Error:
		t.NotObserved("subscriptions/listen was answered with "+w.First.Summary(), acknowledge)
	case !w.Open:
		t.NotObserved("subscriptions/listen was not acknowledged", acknowledge)
	}
	return w
}

// RequestStream requests a stream for every kind of change that the server declares,
// but for one resource only. A server that declares none ends the body. With alwaysWait
// it waits to the deadline.
func RequestStream(t *check.T, patient bool) *watch.Watch {
	if !watch.DeclaresChanges(t) {
		t.NotApplicable("the server declares no notifications of change")
	}
	f := watch.DeclaredFilter(t)
	if uris := watch.ListedURIs(t); watch.DeclaresUpdates(t) && len(uris) > 0 {
		f.URIs = uris[:1]
	}
	w := &watch.Watch{T: t, Filter: f, AlwaysWaits: patient}
	w.Listen(f.Params())
	return w
}

// Streams is the outcome of several open streams for one kind of change, which tool
// calls bring about.
type Streams struct {
	Kind       *watch.Notice // announced on one of the first two, or nil
	OnlyStream int           // that announced it (1 or 2), 0 for both
	OnThird    bool          // a change was announced on a third one, opened after the first was cancelled
	Continued  bool          // and also on the second
}

var repeatedKey = check.NewKey[Streams]("repeated changes")

// RepeatWatched repeats the calls that changed something, while other things are
// watched and while nothing is watched. Judges thus have subjects that only changes
// bring about.
func RepeatWatched(t *check.T) Streams {
	return check.Once(t, repeatedKey, func() (s Streams) {
		switch {
		case !watch.DeclaresChanges(t):
		case t.Facts.Stateless:
			s = severalStreams(t)
		default:
			watchOtherResource(t)
		}
		return s
	})
}

// watchOtherResource repeats the calls while a resource is watched that they do not
// change, and then while none is.
func watchOtherResource(t *check.T) {
	c := toolcalls.CallsIfDeclared(t)
	if !slices.ContainsFunc(c.Announced, func(v watch.Notice) bool { return v.URI != "" }) {
		return
	}
	w := watch.Start(t, watch.Filter{URIs: c.UnchangedResource(t)})
	c.RepeatChanges(t)
	w.Stop()
	c.RepeatChanges(t)
}

// severalStreams opens a stream for one kind of change, and a second one for that kind
// and another. Then it cancels the first stream and opens a third for the same kind and
// for a resource that does not change. At the end it cancels all.
func severalStreams(t *check.T) (s Streams) {
	c := toolcalls.CallsIfDeclared(t)
	kind, another := c.TwoKinds(t)
	if kind == (watch.Notice{}) {
		return s
	}
	first := watch.Start(t, kind.Filter(), wire.StringID("mcpcheck-watch"))
	second := watch.Start(t, kind.Filter().Union(another.Filter()))
	if !first.Open || !second.Open {
		first.Stop()
		second.Stop()
		return s
	}
	if from := c.RepeatChanges(t); from >= 0 && noticedOnAny(from, kind, first, second) {
		s.Kind = &kind
		switch {
		case !first.Receives(from, kind) && !first.HasEnded():
			s.OnlyStream = 2
		case !second.Receives(from, kind) && !second.HasEnded():
			s.OnlyStream = 1
		}
	}
	first.Stop()
	awaitPending(t)
	filter := kind.Filter()
	if watch.DeclaresUpdates(t) {
		filter.URIs = append(filter.URIs, c.UnchangedResource(t)...)
	}
	third := watch.Start(t, filter)
	if from := c.RepeatChanges(t); from >= 0 && s.Kind != nil && s.OnlyStream == 0 && noticedOnAny(from, kind, third) {
		s.OnThird, s.Continued = true, second.Receives(from, kind) || second.HasEnded()
	}
	second.Stop()
	third.Stop()
	awaitPending(t)
	c.RepeatChanges(t)
	return s
}

// awaitPending sends two requests one after the other. What the server sent before has
// then arrived.
func awaitPending(t *check.T) {
	for range 2 {
		t.Try(t.Facts.BarrierMethod, nil)
	}
}

// noticedOnAny waits for a change on one of the streams. The calls may not bring it
// about every time, so that the wait is shorter than that for an answer.
func noticedOnAny(from int, what watch.Notice, streams ...*watch.Watch) bool {
	t := streams[0].T
	_, ok := t.Await(from, func(m wire.Message) bool {
		return slices.ContainsFunc(streams, func(w *watch.Watch) bool { return w.Carries(m, what) })
	}, t.Timeout()/5)
	return ok
}
