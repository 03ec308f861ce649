package watch

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Ended returns the response that ended a stream, if there is one, and whether
// notifications/cancelled ended it.
func (w *Watch) Ended() (response wire.Entry, cancelled bool) {
	if w.Stream == nil {
		return response, false
	}
	for e := range w.T.Frames(w.Stream.FrameIndex) {
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
				cancelled = true
			}
		}
	}
	return response, cancelled
}

// Receives waits for a change on the stream that was announced on another.
func (w *Watch) Receives(from int, what Notice) bool {
	if w.HasEnded() {
		return false
	}
	_, ok := w.T.Await(from, func(m wire.Message) bool { return w.Carries(m, what) })
	return ok
}

// HasEnded reports whether the server has ended the stream, which it may do at any
// time.
func (w *Watch) HasEnded() bool {
	response, cancelled := w.Ended()
	return cancelled || response.Message.IsResponse()
}

// A Filter names the changes that a client wants to be notified of
// (schema.ts#SubscriptionFilter).
type Filter struct {
	Lists []string // of tools, prompts, resources
	URIs  []string // of resources
}

// DeclaresChanges reports whether the server declares any notification of change. The
// specification does not state how a server that declares none answers
// subscriptions/listen (basic/patterns/subscriptions).
func DeclaresChanges(t *check.T) bool { return len(DeclaredFilter(t).Lists) > 0 || DeclaresUpdates(t) }

// DeclaresUpdates reports whether the server declares subscriptions to resources.
func DeclaresUpdates(t *check.T) bool { return t.Declares("resources.subscribe") }

// DeclaredFilter returns a filter of all lists whose changes the server declares.
func DeclaredFilter(t *check.T) (f Filter) {
	for _, list := range []string{"tools", "prompts", "resources"} {
		if t.Declares(list + ".listChanged") {
			f.Lists = append(f.Lists, list)
		}
	}
	return f
}

// ListedURIs returns the URIs of the first resources that the server lists.
func ListedURIs(t *check.T) (uris []string) {
	if !t.Declares("resources") {
		return nil
	}
	for _, entry := range offer.WalkOnce(t, offer.ResourcesList).Items() {
		if uri := entry.Get("uri"); uri.Type == gjson.String && len(uris) < maxWatched {
			uris = append(uris, uri.Str)
		}
	}
	return uris
}

// A Watch is a filter that the server was given in the way of its era: by
// resources/subscribe (server/resources#subscriptions), where changes of lists need no
// request, or by a request that stays open (basic/patterns/subscriptions, since
// 2026-07-28).
type Watch struct {
	T *check.T
	Filter
	Open   bool         // changes may come
	Stream *check.Call  // the open request, nil before 2026-07-28
	First  wire.Message // the acknowledgment or the response received instead; zero if there is none

	AlwaysWaits bool // waits to the deadline, whatever was learnt from other streams
}

// Start gives the server a filter, with the given id if there is one.
func Start(t *check.T, f Filter, id ...wire.ID) *Watch {
	w := &Watch{T: t, Filter: f}
	if t.Facts.Stateless {
		w.Listen(f.Params(), id...)
		return w
	}
	w.Open = true
	w.URIs = slices.DeleteFunc(slices.Clone(f.URIs), func(uri string) bool {
		m, ok := t.Try("resources/subscribe", check.Params{"uri": uri}).Answer()
		return !ok || m.Kind != wire.Result
	})
	return w
}

// A Notice is a change that a notification announces: of a list or of a resource.
type Notice struct{ List, URI string }

// NoticeOf returns the change that a notification announces.
func NoticeOf(m wire.Message) (what Notice, ok bool) {
	for list := range listsByName() {
		if m.Method() == "notifications/"+list+"/list_changed" {
			return Notice{List: list}, true
		}
	}
	if uri := m.Params().Get("uri"); uri.Type == gjson.String {
		what.URI = uri.Str
	}
	return what, m.Method() == "notifications/resources/updated"
}
