package subscriptions

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judgeWithoutID judges a notification without a subscription id: an acknowledgment
// is taken as that of the first stream that has none, and a change as one on a stream
// whose filter requests it.
func (r *reader) judgeWithoutID(e wire.Entry) {
	method, uri := e.Message.Method(), e.Message.Params().Get("uri").String()
	at := slices.IndexFunc(r.streams, func(s *stream) bool {
		if method == transcript.AcknowledgedMethod {
			return !s.acked && !s.ended
		}
		return !s.isQuiet() && !s.ended && s.requests(method, uri)
	})
	if r.hasAmbiguous() {
		return
	}
	switch {
	case at >= 0:
		r.streams[at].acked = r.streams[at].acked || method == transcript.AcknowledgedMethod
		r.broke(e, idPresent, "%s has no subscription id", method)
	case method == transcript.AcknowledgedMethod:
		r.broke(e, idPresent, "an acknowledgment of no stream has no subscription id")
	default:
		r.broke(e, unsolicited, "%s came, and no stream is open whose filter requests it", method)
	}
}

// judgeWithID judges a notification with a subscription id. One on a stream that was
// cancelled or has ended may have been sent before that.
func (r *reader) judgeWithID(e wire.Entry, id gjson.Result) {
	method := e.Message.Method()
	s := r.stream(wire.ID{Raw: id.Raw})
	if s == nil {
		r.judgeUnknownID(e, id)
		return
	}
	if s.isQuiet() {
		s.here = append(s.here, changeOf(e))
	}
	if s.cancelled >= 0 || s.ended || s.ambiguous {
		return
	}
	r.kept(e, idPresent, idEqual)
	switch {
	case method == transcript.AcknowledgedMethod && !s.acked:
		s.acked = true
		r.kept(e, ackFirst)
		r.judgeAcknowledgment(e, s)
	case method == transcript.AcknowledgedMethod:
	case !s.acked:
		s.acked = true // a missing acknowledgment is reported once
		r.broke(e, ackFirst, "%s came on stream %s before its acknowledgment", method, s.id)
	default:
		r.judgeChange(e, s)
	}
}

// judgeUnknownID judges a subscription id that no stream has. The client may have
// sent something unreadable, from which the server took the id: other checks judge
// what it answers to that.
func (r *reader) judgeUnknownID(e wire.Entry, id gjson.Result) {
	if r.j.HasUnreadableBefore(e) || r.hasAmbiguous() {
		return
	}
	method := e.Message.Method()
	if method == transcript.AcknowledgedMethod {
		if at := slices.IndexFunc(r.streams, func(s *stream) bool { return !s.acked }); at >= 0 {
			r.streams[at].acked = true
		}
	}
	for _, s := range r.streams {
		if id.String() == gjson.Parse(s.id.Raw).String() {
			r.broke(e, idEqual, "%s has the subscription id %s, and the request had the id %s",
				method, wire.Clip(id.Raw, 60), s.id)
			return
		}
	}
	r.broke(e, idEqual, "%s has the subscription id %s, which is the id of no subscriptions/listen request",
		method, wire.Clip(id.Raw, 60))
}

// judgeAcknowledgment judges the filter of an acknowledgment. A member that requests
// nothing is treated as an absent one.
func (r *reader) judgeAcknowledgment(e wire.Entry, s *stream) {
	for _, v := range schema.For(r.j.Rev).Validate("SubscriptionsAcknowledgedNotification", e.Message.Raw) {
		if !transcript.PointerMatches(v.Pointer(), transcript.CommonPlaces) {
			r.broke(e, ackShape, "the acknowledgment is no %s: %s", v.Definition, v)
			return
		}
	}
	r.kept(e, ackShape)
	acknowledged := acknowledgedChanges(e.Message.Params().Get("notifications"))
	for _, c := range acknowledged {
		switch {
		case !s.requests(c.method, c.uri):
			r.broke(e, ackSubset, "the acknowledgment holds %s, which was not requested", c.what)
			return
		case r.j.Capabilities(r.j.Of).Exists() && !r.j.Declares(r.j.Of, c.feature):
			r.broke(e, ackSubset, "the acknowledgment holds %s, and %s is not declared", c.what, c.feature)
			return
		}
	}
	if len(acknowledged) > 0 {
		r.kept(e, ackSubset)
	}
}

// An acknowledgedChange is one kind of change in the filter of an acknowledgment.
type acknowledgedChange struct{ method, uri, feature, what string }

// acknowledgedChanges returns the changes that a filter requests.
func acknowledgedChanges(filter gjson.Result) []acknowledgedChange {
	var out []acknowledgedChange
	for method, member := range transcript.ListChangedMethods() {
		if filter.Get(member).Type == gjson.True {
			feature := strings.TrimSuffix(member, "ListChanged") + ".listChanged"
			out = append(out, acknowledgedChange{method, "", feature, member})
		}
	}
	for _, uri := range filter.Get("resourceSubscriptions").Array() {
		what := "the resource " + wire.Clip(uri.String(), 100)
		out = append(out, acknowledgedChange{transcript.UpdatedMethod, uri.String(), "resources.subscribe", what})
	}
	return out
}

// judgeChange judges a change on an open stream. A resource that was neither listed
// nor named by the client may be a part of one that the filter names.
func (r *reader) judgeChange(e wire.Entry, s *stream) {
	method, uri := e.Message.Method(), e.Message.Params().Get("uri").String()
	switch {
	case s.requests(method, uri):
		r.kept(e, requestedOnly, unsolicited)
		if method == transcript.UpdatedMethod {
			r.kept(e, updatedScope)
		}
		for _, other := range r.streams {
			if other.isQuiet() && s.opened > other.since && other.requests(method, uri) {
				other.newer = append(other.newer, changeOf(e))
			}
		}
	case method == transcript.UpdatedMethod && len(s.resources()) > 0:
		if r.known[uri] {
			r.broke(e, updatedScope, "stream %s, whose filter does not name %q, has an update of it",
				s.id, wire.Clip(uri, 100))
		}
	default:
		r.broke(e, requestedOnly, "%s came on stream %s, whose filter does not request it", method, s.id)
	}
}

// judgeCancelled judges the changes on cancelled streams. Servers may notify of a
// change some time after it, and of several at once: a change was sent after the
// cancellation for sure only if the same change had come before on a stream that was
// opened later.
func (r *reader) judgeCancelled() {
	for _, s := range r.streams {
		for _, newer := range s.newer {
			at := slices.IndexFunc(s.here, func(c change) bool { return c.what == newer.what && c.Index > newer.Index })
			if at < 0 {
				r.kept(newer.Entry, afterCancel)
				continue
			}
			r.broke(s.here[at].Entry, afterCancel,
				"%s came on stream %s, which the client had cancelled before it opened another one for it",
				s.here[at].what, s.id)
			return
		}
	}
}
