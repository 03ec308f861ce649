package watch

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// listsByName returns the lists whose changes have a notification.
func listsByName() map[string]offer.List {
	return map[string]offer.List{
		"tools": offer.ToolsList, "prompts": offer.PromptsList, "resources": offer.ResourcesList,
	}
}

// Params returns the params of subscriptions/listen.
func (f Filter) Params() check.Params {
	wanted := check.Params{}
	for _, list := range f.Lists {
		wanted[list+"ListChanged"] = true
	}
	if len(f.URIs) > 0 {
		wanted["resourceSubscriptions"] = f.URIs
	}
	return check.Params{"notifications": wanted}
}

// maxWatched bounds the resources that are subscribed to at once.
const maxWatched = 12

// neverAcknowledged is the trait of a server that neither acknowledged nor answered
// subscriptions/listen.
const neverAcknowledged = "does not acknowledge subscriptions/listen"

// Listen opens a stream and waits for the first message. Only resources that the server
// agreed to count as watched.
func (w *Watch) Listen(params check.Params, id ...wire.ID) {
	within := w.T.Timeout()
	if check.HasTrait(w.T, neverAcknowledged) && !w.AlwaysWaits {
		within /= 20
	}
	w.Stream = w.T.Start("subscriptions/listen", params, id...)
	got, ok := w.T.Await(w.Stream.FrameIndex, func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse() && m.ID().Equal(w.Stream.ID)
	}, within)
	if !ok && !w.AlwaysWaits {
		check.SetTrait(w.T, neverAcknowledged)
	}
	if !ok {
		return
	}
	w.First, w.Open = got, !got.IsResponse()
	agreed := got.Params().Get("notifications.resourceSubscriptions").Array()
	w.URIs = slices.DeleteFunc(slices.Clone(w.URIs), func(uri string) bool {
		return !slices.ContainsFunc(agreed, func(v gjson.Result) bool { return v.Type == gjson.String && v.Str == uri })
	})
}

// Stop ends the watch. A stream that the server has ended is not cancelled.
func (w *Watch) Stop() {
	switch {
	case w.Stream == nil:
		for _, uri := range w.URIs {
			w.T.Try("resources/unsubscribe", check.Params{"uri": uri})
		}
	case !w.First.IsResponse():
		w.T.Cancel(w.Stream)
	}
	w.Open = false
}

// String names the change in messages.
func (v Notice) String() string {
	if v.List != "" {
		return "changes of the list of " + v.List
	}
	return "updates of " + wire.Clip(v.URI, 100)
}

// Filter returns a filter for such changes.
func (v Notice) Filter() Filter {
	if v.List != "" {
		return Filter{Lists: []string{v.List}}
	}
	return Filter{URIs: []string{v.URI}}
}

// Union returns a filter for what either filter names.
func (f Filter) Union(other Filter) Filter {
	return Filter{Lists: slices.Concat(f.Lists, other.Lists), URIs: slices.Concat(f.URIs, other.URIs)}
}

// Events returns the changes that the server announced from a frame on, on the stream
// or in the session.
func (w *Watch) Events(from int) (out []Notice) {
	for _, m := range w.T.Received(from) {
		if what, ok := NoticeOf(m); ok && w.Carries(m, what) {
			out = append(out, what)
		}
	}
	return out
}

// Carries reports whether a message announces a change on the stream or in the session.
// Another check judges an id of the wrong type.
func (w *Watch) Carries(m wire.Message, what Notice) bool {
	v, ok := NoticeOf(m)
	tag := wire.Member(m.Params().Get("_meta"), spec.MetaSubscriptionID)
	return ok && v == what && (w.Stream == nil || tag.Exists() && tag.String() == gjson.Parse(w.Stream.ID.Raw).String())
}

// readAll reads the lists, and the watched resources as far as time allows.
func (o *Observer) readAll() {
	o.lists = map[string]*offer.Walk{}
	for _, list := range DeclaredFilter(o.t).Lists {
		w := offer.WalkNow(o.t, listsByName()[list])
		o.lists[list] = w
		o.At = max(o.At, w.Last.Index)
	}
	began, contents := time.Now(), map[string]wire.Entry{}
	for _, uri := range o.Watch.URIs {
		if o.reading+time.Since(began) > o.t.Timeout()/2 {
			break
		}
		if e, ok := o.read(uri); ok {
			contents[uri] = e
			o.At = max(o.At, e.Index)
		}
	}
	o.contents = contents
	o.reading += time.Since(began)
}

// read reads one resource.
func (o *Observer) read(uri string) (wire.Entry, bool) {
	e, err := o.t.Try("resources/read", check.Params{"uri": uri}).Get()
	return e, err == nil && e.Message.Kind == wire.Result
}

// ExcludeVolatile stops comparing resources that changed while only read-only tools
// were called: the calls did not cause these changes.
func (o *Observer) ExcludeVolatile() {
	before := o.contents
	o.readAll()
	o.Watch.URIs = slices.DeleteFunc(o.Watch.URIs, func(uri string) bool {
		return contentOf(before[uri]) != contentOf(o.contents[uri])
	})
}

// ChangesAfter returns what a call has changed since the last reading, with whether it
// was announced. isTrigger reports whether the call had any such effect.
func (o *Observer) ChangesAfter(tool string) (changes []Change, trigger bool) {
	from, lists, contents := o.At, o.lists, o.contents
	if o.readAll(); o.Watch.HasEnded() {
		return nil, false
	}
	for list, after := range o.lists {
		before := lists[list]
		if mayBeSameList(before, after) {
			continue
		}
		if again := offer.WalkNow(o.t, listsByName()[list]); mayBeSameList(after, again) {
			notice := Notice{List: list}
			changes = append(changes, Change{notice, tool, after.Last, o.awaitNotice(from, notice)})
		}
	}
	for uri, after := range o.contents {
		before, known := contents[uri]
		if !known || contentOf(before) == contentOf(after) {
			continue
		}
		if again, ok := o.read(uri); ok && contentOf(again) == contentOf(after) {
			changes = append(changes, Change{Notice{URI: uri}, tool, after, o.awaitNotice(from, Notice{URI: uri})})
		}
	}
	return changes, len(changes) > 0 || len(o.Watch.Events(from)) > 0
}

// awaitNotice waits for a notification of a change. Of each kind only one is awaited in
// vain, because the next would be missing for the same reason.
func (o *Observer) awaitNotice(from int, what Notice) bool {
	is := func(m wire.Message) bool {
		v, ok := NoticeOf(m)
		// The URI may be that of a part of the resource. Another check judges an invalid URI.
		return ok && v.List == what.List && (v.URI == "" || strings.HasPrefix(v.URI, what.URI))
	}
	if slices.ContainsFunc(o.t.Received(from), is) {
		return true
	}
	if o.missing[what.List] {
		return false
	}
	_, ok := o.t.Await(from, is)
	o.missing[what.List] = !ok
	return ok || o.Watch.HasEnded()
}
