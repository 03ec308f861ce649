package subscriptions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// A rule is one of those that a message on a stream may keep or break. A
// message breaks one of them at most, so that one deviation is told once.
type rule int

const (
	ackFirst rule = iota
	ackShape
	ackSubset
	idPresent
	idEqual
	idElsewhere
	requestedOnly
	updatedScope
	unsolicited
	afterCancel
	endShape
)

// A finding is a message that kept a rule or broke it.
type finding struct {
	wire.Entry
	rule  rule
	wrong string // how it broke the rule, "" if it kept it
}

// A stream is one subscriptions/listen request.
type stream struct {
	id        wire.ID
	wanted    gjson.Result // the filter
	unclear   bool         // what it was opened for, or by which request, is not known
	acked     bool
	ended     bool // the request was answered
	opened    int  // index of the request
	cancelled int  // index of the frame by which the client cancelled it, or -1
	past      int  // round trips since then
	since     int  // the frame from which the next round trip counts

	late, heirs []delivery // changes told since it is quiet: on it, and on streams opened since
}

// A delivery is a change that was told.
type delivery struct {
	wire.Entry
	what string // the method, and the URI if it has one
}

// quietAfter is how many round trips, one after the other, a client waits
// before it takes a stream that it has cancelled for quiet.
const quietAfter = 2

func (s *stream) quiet() bool { return s.past >= quietAfter }

// wants tells whether the stream was opened for what a notification tells. Of
// a resource, a part may be named (schema.ts#ResourceUpdatedNotificationParams).
func (s *stream) wants(method, uri string) bool {
	if method != transcript.UpdatedMethod {
		return s.wanted.Get(transcript.ListChangedMethods()[method]).Type == gjson.True
	}
	return slices.ContainsFunc(s.wanted.Get("resourceSubscriptions").Array(), func(v gjson.Result) bool { return covers(v, uri) })
}

// covers tells whether a URI that was subscribed to is that of a resource, or
// one that it may be a part of.
func covers(subscribed gjson.Result, uri string) bool {
	return subscribed.Type == gjson.String && strings.HasPrefix(uri, subscribed.Str)
}

// A reader goes through a session and notes what becomes of its streams.
type reader struct {
	j       *check.J
	streams []*stream
	known   map[string]bool // URIs of resources in their own right
	sent    map[string]int  // index of the requests that are not answered, by id
	out     []finding
}

func readStreams(j *check.J) []finding {
	r := &reader{j: j, known: map[string]bool{}, sent: map[string]int{}}
	for _, e := range j.Entries() {
		if e.Cut {
			continue
		}
		for _, m := range e.Message.Elements() {
			one := e
			one.Message = m
			switch {
			case m.Misfit != nil:
			case e.From != j.Of:
				r.asked(one)
			case m.IsResponse():
				r.answered(one)
			case m.Kind == wire.Notification:
				r.notified(one)
			}
		}
	}
	r.cancelled()
	return r.out
}

// cancelled takes a change that came on a cancelled stream for one that was not
// on its way only if one like it had come before on a stream that was opened
// later: servers may tell of a change some time after it, and gather several.
func (r *reader) cancelled() {
	for _, s := range r.streams {
		for _, heir := range s.heirs {
			at := slices.IndexFunc(s.late, func(d delivery) bool { return d.what == heir.what && d.Index > heir.Index })
			if at < 0 {
				r.find(heir.Entry, afterCancel, "")
				continue
			}
			r.find(s.late[at].Entry, afterCancel, "%s came on stream %s, which the client had cancelled before it opened another one for it", s.late[at].what, s.id)
			return
		}
	}
}

func deliveryOf(e wire.Entry) delivery {
	return delivery{e, strings.TrimSpace(e.Message.Method() + " " + e.Message.Params().Get("uri").String())}
}

func (r *reader) know(uri gjson.Result) {
	if uri.Type == gjson.String {
		r.known[uri.Str] = true
	}
}

func (r *reader) find(e wire.Entry, rule rule, wrong string, args ...any) {
	if wrong != "" {
		wrong = fmt.Sprintf(wrong, args...)
	}
	r.out = append(r.out, finding{e, rule, wrong})
}

// asked reads what the client sends: requests that open streams, and what ends
// them (on stdio, basic/patterns/subscriptions#cancellation).
func (r *reader) asked(e wire.Entry) {
	m := e.Message
	switch {
	case m.Kind == wire.Request:
		_, pending := r.sent[m.ID().Key()]
		r.sent[m.ID().Key()] = e.Index
		if m.Method() == "subscriptions/listen" {
			r.open(e)
			if pending {
				r.streams[len(r.streams)-1].unclear = true
			}
		} else if s := r.stream(m.ID()); s != nil {
			s.unclear = true // a result under the id may be of either
		}
	case m.Method() == "notifications/cancelled":
		if s := r.stream(wire.ID{Raw: m.Params().Get("requestId").Raw}); s != nil && s.cancelled < 0 {
			s.cancelled, s.since = e.Index, e.Index
		}
	}
}

// open notes a stream. What a server makes of a filter that is none, of members
// that stand twice or of an id that is in use is not judged here.
func (r *reader) open(e wire.Entry) {
	m := e.Message
	s := &stream{id: m.ID(), wanted: m.Params().Get("notifications"), opened: e.Index, cancelled: -1}
	s.unclear = len(r.j.Entries()[e.Index].Message.Duplicates) > 0 || !m.ID().Usable() ||
		len(schema.For(r.j.Rev).Validate("SubscriptionFilter", []byte(s.wanted.Raw))) > 0
	if before := r.stream(m.ID()); before != nil && !before.ended {
		s.unclear, before.unclear = true, true
	}
	r.streams = append(r.streams, s)
	for _, uri := range s.wanted.Get("resourceSubscriptions").Array() {
		r.know(uri)
	}
}

// stream returns the last stream under an id, or nil.
func (r *reader) stream(id wire.ID) *stream {
	for _, s := range slices.Backward(r.streams) {
		if s.id.Equal(id) {
			return s
		}
	}
	return nil
}

// answered counts round trips, notes which resources are listed, and looks at
// the result that ends a stream.
func (r *reader) answered(e wire.Entry) {
	key := e.Message.ID().Key()
	at, ok := r.sent[key]
	delete(r.sent, key)
	for _, s := range r.streams {
		if ok && s.cancelled >= 0 && at > s.since && !s.quiet() {
			s.past, s.since = s.past+1, e.Index
		}
	}
	result := e.Message.Result()
	for _, entry := range result.Get("resources").Array() {
		r.know(entry.Get("uri"))
	}
	s := r.stream(e.Message.ID())
	if s == nil {
		return
	}
	s.ended = true
	if !s.acked || s.unclear || e.Message.Kind != wire.Result {
		return
	}
	switch tag := transcript.SubscriptionIDOf(result); {
	case !tag.Exists():
		r.find(e, endShape, "the result that ends the subscription carries no subscription id")
	case !s.id.Equal(wire.ID{Raw: tag.Raw}):
		r.find(e, endShape, "the result that ends subscription %s carries the subscription id %s", s.id, wire.Clip(tag.Raw, 60))
	default:
		r.find(e, endShape, "")
	}
}

// notified looks at one notification; those of vendors, and the one by which a
// server ends a stream, are not judged.
func (r *reader) notified(e wire.Entry) {
	method, tag := e.Message.Method(), transcript.SubscriptionIDOf(e.Message.Params())
	switch {
	case method == "notifications/message": // logging.request.stream
	case method == "notifications/progress":
		if tag.Exists() {
			r.find(e, idElsewhere, "%s is delivered on no stream, and carries the subscription id %s", method, wire.Clip(tag.Raw, 60))
		} else {
			r.find(e, idElsewhere, "")
		}
	case !transcript.IsChangeNotification(method):
	case !tag.Exists():
		r.untagged(e)
	default:
		r.tagged(e, tag)
	}
}

// untagged takes an acknowledgment for that of the first stream that waits for
// one, and a change for one on a stream that was opened for it.
func (r *reader) untagged(e wire.Entry) {
	method, uri := e.Message.Method(), e.Message.Params().Get("uri").String()
	at := slices.IndexFunc(r.streams, func(s *stream) bool {
		if method == transcript.AcknowledgedMethod {
			return !s.acked && !s.ended
		}
		return !s.quiet() && !s.ended && s.wants(method, uri)
	})
	if r.unclear() {
		return
	}
	switch {
	case at >= 0:
		r.streams[at].acked = r.streams[at].acked || method == transcript.AcknowledgedMethod
		r.find(e, idPresent, "%s carries no subscription id", method)
	case method == transcript.AcknowledgedMethod:
		r.find(e, idPresent, "an acknowledgment of no stream carries no subscription id")
	default:
		r.find(e, unsolicited, "%s came, and no stream is open that was opened for it", method)
	}
}

func (r *reader) tagged(e wire.Entry, tag gjson.Result) {
	method := e.Message.Method()
	s := r.stream(wire.ID{Raw: tag.Raw})
	if s == nil {
		r.strange(e, tag)
		return
	}
	if s.quiet() {
		s.late = append(s.late, deliveryOf(e))
	}
	if s.cancelled >= 0 || s.ended || s.unclear {
		return // it may have been on its way
	}
	r.find(e, idPresent, "")
	r.find(e, idEqual, "")
	switch {
	case method == transcript.AcknowledgedMethod && !s.acked:
		s.acked = true
		r.find(e, ackFirst, "")
		r.filter(e, s)
	case method == transcript.AcknowledgedMethod:
	case !s.acked:
		s.acked = true // told once
		r.find(e, ackFirst, "%s came on stream %s before its acknowledgment", method, s.id)
	default:
		r.change(e, s)
	}
}

// strange is a subscription id that no stream has. One that a server has made of
// what could not be read is judged with what it answers to that.
func (r *reader) strange(e wire.Entry, tag gjson.Result) {
	if r.j.Unreadable(e) || r.unclear() {
		return
	}
	if e.Message.Method() == transcript.AcknowledgedMethod {
		if at := slices.IndexFunc(r.streams, func(s *stream) bool { return !s.acked }); at >= 0 {
			r.streams[at].acked = true
		}
	}
	for _, s := range r.streams {
		if tag.String() == gjson.Parse(s.id.Raw).String() {
			r.find(e, idEqual, "%s carries the subscription id %s, and the request had the id %s", e.Message.Method(), wire.Clip(tag.Raw, 60), s.id)
			return
		}
	}
	r.find(e, idEqual, "%s carries the subscription id %s, which is that of no subscriptions/listen request", e.Message.Method(), wire.Clip(tag.Raw, 60))
}

// unclear tells whether a stream is open of which it is not known what it is for.
func (r *reader) unclear() bool {
	return slices.ContainsFunc(r.streams, func(s *stream) bool { return s.unclear && !s.ended })
}

// filter looks at what is acknowledged. Members that switch nothing on are as
// good as absent ones.
func (r *reader) filter(e wire.Entry, s *stream) {
	for _, v := range schema.For(r.j.Rev).Validate("SubscriptionsAcknowledgedNotification", e.Message.Raw) {
		if !transcript.PointerMatches(v.Place(), transcript.CommonPlaces) {
			r.find(e, ackShape, "the acknowledgment is no %s: %s", v.Definition, v)
			return
		}
	}
	r.find(e, ackShape, "")
	agreed := e.Message.Params().Get("notifications")
	declares := func(feature string) bool {
		return !r.j.Capabilities(r.j.Of).Exists() || r.j.Declares(r.j.Of, feature)
	}
	for method, member := range transcript.ListChangedMethods() {
		feature := strings.TrimSuffix(member, "ListChanged") + ".listChanged"
		switch {
		case agreed.Get(member).Type != gjson.True:
		case !s.wants(method, ""):
			r.find(e, ackSubset, "%s is acknowledged, and was not asked for", member)
			return
		case !declares(feature):
			r.find(e, ackSubset, "%s is acknowledged, and %s is not declared", member, feature)
			return
		}
	}
	for _, uri := range agreed.Get("resourceSubscriptions").Array() {
		switch {
		case !s.wants(transcript.UpdatedMethod, uri.String()):
			r.find(e, ackSubset, "a subscription to %q is acknowledged, and was not asked for", wire.Clip(uri.String(), 100))
			return
		case !declares("resources.subscribe"):
			r.find(e, ackSubset, "a subscription to %q is acknowledged, and resources.subscribe is not declared", wire.Clip(uri.String(), 100))
			return
		}
	}
	r.find(e, ackSubset, "")
}

// change looks at a change on an open stream. A resource that nobody listed or
// named may be a part of one that the stream was opened for.
func (r *reader) change(e wire.Entry, s *stream) {
	method, uri := e.Message.Method(), e.Message.Params().Get("uri").String()
	switch {
	case s.wants(method, uri):
		r.find(e, requestedOnly, "")
		r.find(e, unsolicited, "")
		if method == transcript.UpdatedMethod {
			r.find(e, updatedScope, "")
		}
		for _, other := range r.streams {
			if other.quiet() && s.opened > other.since && other.wants(method, uri) {
				other.heirs = append(other.heirs, deliveryOf(e))
			}
		}
	case method == transcript.UpdatedMethod && len(s.wanted.Get("resourceSubscriptions").Array()) > 0:
		if r.known[uri] {
			r.find(e, updatedScope, "stream %s tells of %q, which it was not opened for", s.id, wire.Clip(uri, 100))
		}
	default:
		r.find(e, requestedOnly, "%s came on stream %s, which was not opened for it", method, s.id)
	}
}
