package server

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A filter says of which changes a client wants to be told
// (schema.ts#SubscriptionFilter).
type filter struct {
	lists []string // of tools, prompts, resources
	uris  []string // of resources
}

// changingLists are the lists whose changes have a notification.
func changingLists() map[string]listing {
	return map[string]listing{"tools": toolsList, "prompts": promptsList, "resources": resourcesList}
}

// params are those of subscriptions/listen.
func (f filter) params() check.Params {
	wanted := check.Params{}
	for _, list := range f.lists {
		wanted[list+"ListChanged"] = true
	}
	if len(f.uris) > 0 {
		wanted["resourceSubscriptions"] = f.uris
	}
	return check.Params{"notifications": wanted}
}

// tellsOfChanges tells whether the server declares any notification of change.
// What one that declares none answers to subscriptions/listen is not said
// (basic/patterns/subscriptions).
func tellsOfChanges(t *check.T) bool { return len(declaredFilter(t).lists) > 0 || updates(t) }

func updates(t *check.T) bool { return t.Declares("resources.subscribe") }

// declaredFilter is of all lists whose changes the server says that it tells.
func declaredFilter(t *check.T) (f filter) {
	for _, list := range []string{"tools", "prompts", "resources"} {
		if t.Declares(list + ".listChanged") {
			f.lists = append(f.lists, list)
		}
	}
	return f
}

// maxWatched bounds the resources that are subscribed to at once.
const maxWatched = 12

// listedURIs returns resources that the server lists, the first of them if
// they are many.
func listedURIs(t *check.T) (uris []string) {
	if !t.Declares("resources") {
		return nil
	}
	for _, entry := range walked(t, resourcesList).items() {
		if uri := entry.Get("uri"); uri.Type == gjson.String && len(uris) < maxWatched {
			uris = append(uris, uri.Str)
		}
	}
	return uris
}

// A watch is a filter that the server was given in the way of its era: by
// resources/subscribe (server/resources#subscriptions; changes of lists need
// no asking there), or by a request that stays open
// (basic/patterns/subscriptions, since 2026-07-28).
type watch struct {
	t *check.T
	filter
	open   bool         // changes may come
	stream *check.Call  // the open request, nil before 2026-07-28
	got    wire.Message // the acknowledgment, or the response that came instead; zero if neither came

	patient bool // waits to the deadline whatever became of others, and tells nothing of them
}

// neverAcknowledged is what is learnt of a server that left a request for a
// stream without acknowledgment and answer.
const neverAcknowledged = "subscriptions/listen is waited for in vain"

// watchFor gives the server a filter, under an id of the caller's if one is
// given.
func watchFor(t *check.T, f filter, id ...wire.ID) *watch {
	w := &watch{t: t, filter: f}
	if t.Facts.Stateless {
		w.listen(f.params(), id...)
		return w
	}
	w.open = true
	w.uris = slices.DeleteFunc(slices.Clone(f.uris), func(uri string) bool {
		m, ok := t.Try("resources/subscribe", check.Params{"uri": uri})
		return !ok || m.Kind != wire.Result
	})
	return w
}

// listen opens a stream and waits for what is due first. Of the resources only
// those that the server agreed to count as watched.
func (w *watch) listen(params check.Params, id ...wire.ID) {
	within := w.t.Timeout()
	if w.t.Learnt(neverAcknowledged) && !w.patient {
		within /= 20
	}
	w.stream = w.t.Start("subscriptions/listen", params, id...)
	got, ok := w.t.AwaitWithin(w.stream.Sent, within, func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse() && m.ID().Equal(w.stream.ID)
	})
	if !ok && !w.patient {
		w.t.Learn(neverAcknowledged)
	}
	if !ok {
		return
	}
	w.got, w.open = got, !got.IsResponse()
	agreed := got.Params().Get("notifications.resourceSubscriptions").Array()
	w.uris = slices.DeleteFunc(slices.Clone(w.uris), func(uri string) bool {
		return !slices.ContainsFunc(agreed, func(v gjson.Result) bool { return v.Type == gjson.String && v.Str == uri })
	})
}

// stop ends the watch; a server that ended it itself is not told.
func (w *watch) stop() {
	switch {
	case w.stream == nil:
		for _, uri := range w.uris {
			_, _ = w.t.Try("resources/unsubscribe", check.Params{"uri": uri})
		}
	case !w.got.IsResponse():
		w.t.Cancel(w.stream)
	}
	w.open = false
}

// A told is a change that a notification tells of: of a list or of a resource.
type told struct{ list, uri string }

func (v told) String() string {
	if v.list != "" {
		return "changes of the list of " + v.list
	}
	return "updates of " + wire.Clip(v.uri, 100)
}

// filter asks for such changes.
func (v told) filter() filter {
	if v.list != "" {
		return filter{lists: []string{v.list}}
	}
	return filter{uris: []string{v.uri}}
}

// and asks for what either asks for.
func (f filter) and(other filter) filter {
	return filter{lists: slices.Concat(f.lists, other.lists), uris: slices.Concat(f.uris, other.uris)}
}

// toldBy reads a notification of change.
func toldBy(m wire.Message) (what told, ok bool) {
	for list := range changingLists() {
		if m.Method() == "notifications/"+list+"/list_changed" {
			return told{list: list}, true
		}
	}
	if uri := m.Params().Get("uri"); uri.Type == gjson.String {
		what.uri = uri.Str
	}
	return what, m.Method() == "notifications/resources/updated"
}

// events returns what the server told from a frame on: on the stream, or to the
// session.
func (w *watch) events(from int) (out []told) {
	for _, m := range w.t.Received(from) {
		if what, ok := toldBy(m); ok && w.carries(m, what) {
			out = append(out, what)
		}
	}
	return out
}

// carries tells whether a message tells of a change on the stream, or to the
// session. An id of the wrong type is judged apart.
func (w *watch) carries(m wire.Message, what told) bool {
	v, ok := toldBy(m)
	tag := wire.Member(m.Params().Get("_meta"), spec.MetaSubscriptionID)
	return ok && v == what && (w.stream == nil || tag.Exists() && tag.String() == gjson.Parse(w.stream.ID.Raw).String())
}

// A change is what a call did to a list or a resource.
type change struct {
	told            // what changed
	tool string     // whose call did it
	seen wire.Entry // the answer that shows it
	sent bool       // a notification told of it
}

// An observer looks at what the server offers between one call and the next,
// for changes that it should tell of.
type observer struct {
	t        *check.T
	w        *watch
	at       int // the last frame of the last look
	lists    map[string]*walk
	contents map[string]wire.Entry // of the resources that are watched
	silent   map[string]bool       // kinds of which a change was waited for in vain
	reading  time.Duration         // spent on reading resources
}

// observe begins to watch all that the server tells of; nil where it tells of
// nothing.
func observe(t *check.T) *observer {
	if !tellsOfChanges(t) {
		return nil
	}
	f := filter{lists: []string{"tools", "prompts", "resources"}}
	if updates(t) {
		f.uris = listedURIs(t)
	}
	o := &observer{t: t, w: watchFor(t, f), silent: map[string]bool{}}
	if !o.w.open {
		return nil
	}
	o.look()
	return o
}

// look asks for the lists, and for the resources that are watched as long as
// that does not take too long.
func (o *observer) look() {
	o.lists = map[string]*walk{}
	for _, list := range declaredFilter(o.t).lists {
		w := walkNow(o.t, changingLists()[list])
		o.lists[list] = w
		o.at = max(o.at, w.last.Index)
	}
	began, contents := time.Now(), map[string]wire.Entry{}
	for _, uri := range o.w.uris {
		if o.reading+time.Since(began) > o.t.Timeout()/2 {
			break
		}
		if e, ok := o.read(uri); ok {
			contents[uri] = e
			o.at = max(o.at, e.Index)
		}
	}
	o.contents = contents
	o.reading += time.Since(began)
}

func (o *observer) read(uri string) (wire.Entry, bool) {
	e, err := o.t.TryFrame("resources/read", check.Params{"uri": uri})
	return e, err == nil && e.Message.Kind == wire.Result
}

// settle leaves out resources that have changed while only tools were called
// that change nothing: what changes with time shows nothing of a call.
func (o *observer) settle() {
	before := o.contents
	o.look()
	o.w.uris = slices.DeleteFunc(o.w.uris, func(uri string) bool { return contentOf(before[uri]) != contentOf(o.contents[uri]) })
}

func contentOf(e wire.Entry) string { return e.Message.Result().Get("contents").Raw }

// after looks for what a call has changed since the look before, and whether
// that was told. trigger tells whether the call had any such effect.
func (o *observer) after(tool string) (changes []change, trigger bool) {
	from, lists, contents := o.at, o.lists, o.contents
	if o.look(); o.w.over() {
		return nil, false
	}
	for list, after := range o.lists {
		before := lists[list]
		if sameList(before, after) {
			continue
		}
		if again := walkNow(o.t, changingLists()[list]); sameList(after, again) {
			changes = append(changes, change{told{list: list}, tool, after.last, o.told(from, told{list: list})})
		}
	}
	for uri, after := range o.contents {
		before, known := contents[uri]
		if !known || contentOf(before) == contentOf(after) {
			continue
		}
		if again, ok := o.read(uri); ok && contentOf(again) == contentOf(after) {
			changes = append(changes, change{told{uri: uri}, tool, after, o.told(from, told{uri: uri})})
		}
	}
	return changes, len(changes) > 0 || len(o.w.events(from)) > 0
}

// sameList tells whether two walks show the same entries, or show too little to
// tell.
func sameList(a, b *walk) bool {
	return !a.whole() || !b.whole() || sameSet(a.names(a.items()), b.names(b.items()))
}

// told waits for a notification. Of each kind one is waited for in vain, since
// the next would be missing for the same cause.
func (o *observer) told(from int, what told) bool {
	is := func(m wire.Message) bool {
		v, ok := toldBy(m)
		// A part of the resource may be named; a name that is none is judged apart.
		return ok && v.list == what.list && (v.uri == "" || strings.HasPrefix(v.uri, what.uri))
	}
	if slices.ContainsFunc(o.t.Received(from), is) {
		return true
	}
	if o.silent[what.list] {
		return false
	}
	_, ok := o.t.Await(from, is)
	o.silent[what.list] = !ok
	return ok || o.w.over()
}
