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

// changingLists are the lists whose changes have a notification.
func changingLists() map[string]offer.List {
	return map[string]offer.List{
		"tools": offer.ToolsList, "prompts": offer.PromptsList, "resources": offer.ResourcesList,
	}
}

// Params are those of subscriptions/listen.
func (f Filter) Params() check.Params {
	wanted := check.Params{}
	for _, list := range f.Lists {
		wanted[list+"ListChanged"] = true
	}
	if len(f.Uris) > 0 {
		wanted["resourceSubscriptions"] = f.Uris
	}
	return check.Params{"notifications": wanted}
}

// maxWatched bounds the resources that are subscribed to at once.
const maxWatched = 12

// neverAcknowledged is what is learnt of a server that left a request for a
// stream without acknowledgment and answer.
const neverAcknowledged = "subscriptions/listen is waited for in vain"

// Listen opens a stream and waits for what is due first. Of the resources only
// those that the server agreed to count as watched.
func (w *Watch) Listen(params check.Params, id ...wire.ID) {
	within := w.T.Timeout()
	if check.Has(w.T, neverAcknowledged) && !w.Patient {
		within /= 20
	}
	w.Stream = w.T.Start("subscriptions/listen", params, id...)
	got, ok := w.T.Await(w.Stream.FrameIndex, func(m wire.Message) bool {
		return m.Method() == "notifications/subscriptions/acknowledged" || m.IsResponse() && m.ID().Equal(w.Stream.ID)
	}, within)
	if !ok && !w.Patient {
		check.Learn(w.T, neverAcknowledged)
	}
	if !ok {
		return
	}
	w.Got, w.Open = got, !got.IsResponse()
	agreed := got.Params().Get("notifications.resourceSubscriptions").Array()
	w.Uris = slices.DeleteFunc(slices.Clone(w.Uris), func(uri string) bool {
		return !slices.ContainsFunc(agreed, func(v gjson.Result) bool { return v.Type == gjson.String && v.Str == uri })
	})
}

// Stop ends the watch; a server that ended it itself is not told.
func (w *Watch) Stop() {
	switch {
	case w.Stream == nil:
		for _, uri := range w.Uris {
			w.T.Try("resources/unsubscribe", check.Params{"uri": uri})
		}
	case !w.Got.IsResponse():
		w.T.Cancel(w.Stream)
	}
	w.Open = false
}

func (v Notice) String() string {
	if v.List != "" {
		return "changes of the list of " + v.List
	}
	return "updates of " + wire.Clip(v.Uri, 100)
}

// Filter asks for such changes.
func (v Notice) Filter() Filter {
	if v.List != "" {
		return Filter{Lists: []string{v.List}}
	}
	return Filter{Uris: []string{v.Uri}}
}

// And asks for what either asks for.
func (f Filter) And(other Filter) Filter {
	return Filter{Lists: slices.Concat(f.Lists, other.Lists), Uris: slices.Concat(f.Uris, other.Uris)}
}

// Events returns what the server told from a frame on: on the stream, or to the
// session.
func (w *Watch) Events(from int) (out []Notice) {
	for _, m := range w.T.Received(from) {
		if what, ok := NoticeOf(m); ok && w.Carries(m, what) {
			out = append(out, what)
		}
	}
	return out
}

// Carries tells whether a message tells of a change on the stream, or to the
// session. An id of the wrong type is judged apart.
func (w *Watch) Carries(m wire.Message, what Notice) bool {
	v, ok := NoticeOf(m)
	tag := wire.Member(m.Params().Get("_meta"), spec.MetaSubscriptionID)
	return ok && v == what && (w.Stream == nil || tag.Exists() && tag.String() == gjson.Parse(w.Stream.ID.Raw).String())
}

// look asks for the lists, and for the resources that are watched as long as
// that does not take too long.
func (o *Observer) look() {
	o.lists = map[string]*offer.Walk{}
	for _, list := range DeclaredFilter(o.t).Lists {
		w := offer.WalkNow(o.t, changingLists()[list])
		o.lists[list] = w
		o.At = max(o.At, w.Last.Index)
	}
	began, contents := time.Now(), map[string]wire.Entry{}
	for _, uri := range o.W.Uris {
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

func (o *Observer) read(uri string) (wire.Entry, bool) {
	e, err := o.t.Try("resources/read", check.Params{"uri": uri}).Get()
	return e, err == nil && e.Message.Kind == wire.Result
}

// Settle leaves out resources that have changed while only tools were called
// that change nothing: what changes with time shows nothing of a call.
func (o *Observer) Settle() {
	before := o.contents
	o.look()
	o.W.Uris = slices.DeleteFunc(o.W.Uris, func(uri string) bool {
		return contentOf(before[uri]) != contentOf(o.contents[uri])
	})
}

// After looks for what a call has changed since the look before, and whether
// that was told. trigger tells whether the call had any such effect.
func (o *Observer) After(tool string) (changes []Change, trigger bool) {
	from, lists, contents := o.At, o.lists, o.contents
	if o.look(); o.W.Over() {
		return nil, false
	}
	for list, after := range o.lists {
		before := lists[list]
		if sameList(before, after) {
			continue
		}
		if again := offer.WalkNow(o.t, changingLists()[list]); sameList(after, again) {
			changes = append(changes, Change{Notice{List: list}, tool, after.Last, o.told(from, Notice{List: list})})
		}
	}
	for uri, after := range o.contents {
		before, known := contents[uri]
		if !known || contentOf(before) == contentOf(after) {
			continue
		}
		if again, ok := o.read(uri); ok && contentOf(again) == contentOf(after) {
			changes = append(changes, Change{Notice{Uri: uri}, tool, after, o.told(from, Notice{Uri: uri})})
		}
	}
	return changes, len(changes) > 0 || len(o.W.Events(from)) > 0
}

// told waits for a notification. Of each kind one is waited for in vain, since
// the next would be missing for the same cause.
func (o *Observer) told(from int, what Notice) bool {
	is := func(m wire.Message) bool {
		v, ok := NoticeOf(m)
		// A part of the resource may be named; a name that is none is judged apart.
		return ok && v.List == what.List && (v.Uri == "" || strings.HasPrefix(v.Uri, what.Uri))
	}
	if slices.ContainsFunc(o.t.Received(from), is) {
		return true
	}
	if o.silent[what.List] {
		return false
	}
	_, ok := o.t.Await(from, is)
	o.silent[what.List] = !ok
	return ok || o.W.Over()
}
