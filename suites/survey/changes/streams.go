package changes

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// Subscribed opens a stream for all that the server tells of; where it tells
// of nothing the rules have no subject. A stream that is refused is none: which
// features are really there is judged by what they are.
func Subscribed(t *check.T) *watch.Watch {
	w := Offered(t, false)
	switch {
	case w.Got.Kind == wire.Error:
		t.NotObserved("subscriptions/listen was answered with "+w.Got.Summary(), "")
	case !w.Open:
		t.NotObserved("subscriptions/listen was not acknowledged", "")
	}
	return w
}

func Offered(t *check.T, patient bool) *watch.Watch {
	if !watch.DeclaresChanges(t) {
		t.NotApplicable("the server declares no notifications of change")
	}
	f := watch.DeclaredFilter(t)
	if uris := watch.ListedURIs(t); watch.DeclaresUpdates(t) && len(uris) > 0 {
		f.Uris = uris[:1]
	}
	w := &watch.Watch{T: t, Filter: f, Patient: patient}
	w.Listen(f.Params())
	return w
}

// Streams is what came of streams that were open at once for one kind of
// change, which calls bring about.
type Streams struct {
	Kind      *watch.Notice // that was told on one of the two, or nil
	Only      int           // the one it was told on (1 or 2), 0 for both
	Heir      bool          // a change was told on a third one, opened when the first was cancelled,
	Continued bool          // and on the second
}

var watchedAgainKey = check.NewKey[Streams]("watched again")

// Rewatch gives judges something to look at that only changes can give:
// calls that changed something are made again while other things are watched,
// and while nothing is watched any more.
func Rewatch(t *check.T) Streams {
	return check.Once(t, watchedAgainKey, func() (s Streams) {
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

// watchOtherResource watches a resource that the calls do not change, and then none.
func watchOtherResource(t *check.T) {
	c := toolcalls.CallsIfDeclared(t)
	if !slices.ContainsFunc(c.Heard, func(v watch.Notice) bool { return v.Uri != "" }) {
		return
	}
	w := watch.Start(t, watch.Filter{Uris: c.Unchanged(t)})
	c.Again(t)
	w.Stop()
	c.Again(t)
}

// severalStreams opens a stream for one kind of change, and a second one for
// that and another. Then it cancels the first one and opens a third, for the
// same kind and for a resource that is not changed; then it cancels all.
func severalStreams(t *check.T) (s Streams) {
	c := toolcalls.CallsIfDeclared(t)
	kind, another := c.Kinds(t)
	if kind == (watch.Notice{}) {
		return s
	}
	first := watch.Start(t, kind.Filter(), wire.StringID("mcpcheck-watch"))
	second := watch.Start(t, kind.Filter().And(another.Filter()))
	if !first.Open || !second.Open {
		first.Stop()
		second.Stop()
		return s
	}
	if from := c.Again(t); from >= 0 && noticedOnAny(from, kind, first, second) {
		s.Kind = &kind
		switch {
		case !first.Hears(from, kind) && !first.Over():
			s.Only = 2
		case !second.Hears(from, kind) && !second.Over():
			s.Only = 1
		}
	}
	first.Stop()
	past(t)
	third := kind.Filter()
	if watch.DeclaresUpdates(t) {
		third.Uris = append(third.Uris, c.Unchanged(t)...)
	}
	heir := watch.Start(t, third)
	if from := c.Again(t); from >= 0 && s.Kind != nil && s.Only == 0 && noticedOnAny(from, kind, heir) {
		s.Heir, s.Continued = true, second.Hears(from, kind) || second.Over()
	}
	second.Stop()
	heir.Stop()
	past(t)
	c.Again(t)
	return s
}

// past is two round trips: what was on its way before has come.
func past(t *check.T) {
	for range 2 {
		t.Try(t.Facts.BarrierMethod, nil)
	}
}

// noticedOnAny waits for a change on one of the streams. That calls bring it about
// every time is not certain, so that it is not waited for as long as what is due.
func noticedOnAny(from int, what watch.Notice, streams ...*watch.Watch) bool {
	t := streams[0].T
	_, ok := t.Await(from, func(m wire.Message) bool {
		return slices.ContainsFunc(streams, func(w *watch.Watch) bool { return w.Carries(m, what) })
	}, t.Timeout()/5)
	return ok
}
