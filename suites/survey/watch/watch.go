package watch

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Ended returns the response that ended a stream, if there is one, and whether
// notifications/cancelled told of its end.
func (w *Watch) Ended() (response wire.Entry, told bool) {
	if w.Stream == nil {
		return response, false
	}
	for _, e := range w.T.Frames(w.Stream.FrameIndex) {
		if e.From != wire.Server {
			continue
		}
		for _, m := range e.Message.Elements() {
			named := m.Params().Get("requestId")
			switch {
			case m.IsResponse() && m.ID().Equal(w.Stream.ID):
				response, response.Message = e, m
			case m.Method() == "notifications/cancelled" && named.Exists() &&
				w.Stream.ID.Equal(wire.ID{Raw: named.Raw}):
				told = true
			}
		}
	}
	return response, told
}

// Hears waits for a change on the stream that was told on another.
func (w *Watch) Hears(from int, what Notice) bool {
	if w.Over() {
		return false
	}
	_, ok := w.T.Await(from, func(m wire.Message) bool { return w.Carries(m, what) })
	return ok
}

// Over tells whether the server has ended the stream, which it may at any time.
func (w *Watch) Over() bool {
	response, told := w.Ended()
	return told || response.Message.IsResponse()
}

// A Filter says of which changes a client wants to be told
// (schema.ts#SubscriptionFilter).
type Filter struct {
	Lists []string // of tools, prompts, resources
	Uris  []string // of resources
}

// DeclaresChanges tells whether the server declares any notification of change.
// What one that declares none answers to subscriptions/listen is not said
// (basic/patterns/subscriptions).
func DeclaresChanges(t *check.T) bool { return len(DeclaredFilter(t).Lists) > 0 || DeclaresUpdates(t) }

func DeclaresUpdates(t *check.T) bool { return t.Declares("resources.subscribe") }

// DeclaredFilter is of all lists whose changes the server says that it tells.
func DeclaredFilter(t *check.T) (f Filter) {
	for _, list := range []string{"tools", "prompts", "resources"} {
		if t.Declares(list + ".listChanged") {
			f.Lists = append(f.Lists, list)
		}
	}
	return f
}

// ListedURIs returns resources that the server lists, the first of them if
// they are many.
func ListedURIs(t *check.T) (uris []string) {
	if !t.Declares("resources") {
		return nil
	}
	for _, entry := range offer.Walked(t, offer.ResourcesList).Items() {
		if uri := entry.Get("uri"); uri.Type == gjson.String && len(uris) < maxWatched {
			uris = append(uris, uri.Str)
		}
	}
	return uris
}

// A Watch is a filter that the server was given in the way of its era: by
// resources/subscribe (server/resources#subscriptions; changes of lists need
// no asking there), or by a request that stays open
// (basic/patterns/subscriptions, since 2026-07-28).
type Watch struct {
	T *check.T
	Filter
	Open   bool         // changes may come
	Stream *check.Call  // the open request, nil before 2026-07-28
	Got    wire.Message // the acknowledgment, or the response that came instead; zero if neither came

	Patient bool // waits to the deadline whatever became of others, and tells nothing of them
}

// Start gives the server a filter, under an id of the caller's if one is
// given.
func Start(t *check.T, f Filter, id ...wire.ID) *Watch {
	w := &Watch{T: t, Filter: f}
	if t.Facts.Stateless {
		w.Listen(f.Params(), id...)
		return w
	}
	w.Open = true
	w.Uris = slices.DeleteFunc(slices.Clone(f.Uris), func(uri string) bool {
		m, ok := t.Try("resources/subscribe", check.Params{"uri": uri}).Answer()
		return !ok || m.Kind != wire.Result
	})
	return w
}

// A Notice is a change that a notification tells of: of a list or of a resource.
type Notice struct{ List, Uri string }

// NoticeOf reads a notification of change.
func NoticeOf(m wire.Message) (what Notice, ok bool) {
	for list := range changingLists() {
		if m.Method() == "notifications/"+list+"/list_changed" {
			return Notice{List: list}, true
		}
	}
	if uri := m.Params().Get("uri"); uri.Type == gjson.String {
		what.Uri = uri.Str
	}
	return what, m.Method() == "notifications/resources/updated"
}
