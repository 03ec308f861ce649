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

// A rule is one that a message on a stream may keep or break. A message breaks one
// of them at most, so that one deviation is reported once.
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
	rule    rule
	problem string // how it broke the rule, "" if it kept it
}

// A stream is one subscriptions/listen request.
type stream struct {
	id        wire.ID
	filter    gjson.Result
	ambiguous bool // its filter, or the request that opened it, is not known
	acked     bool
	ended     bool // the request was answered
	opened    int  // frame of the request

	cancelled  int // frame by which the client cancelled it, or -1
	roundTrips int // since then
	since      int // frame from which the next round trip counts

	// Changes after these round trips: on this stream, and on streams opened since.
	here, newer []change
}

// A change is a change notification on a stream.
type change struct {
	wire.Entry
	what string // the method, and the URI if it has one
}

func changeOf(e wire.Entry) change {
	return change{e, strings.TrimSpace(e.Message.Method() + " " + e.Message.Params().Get("uri").String())}
}

// quietAfter is how many consecutive round trips after a cancellation, or the end of
// a subscription, what was sent before it may still come.
const quietAfter = 2

// isQuiet reports whether all that was sent on the stream before it was cancelled
// has come.
func (s *stream) isQuiet() bool { return s.roundTrips >= quietAfter }

// requests reports whether the filter requests a change. A resource may be a part of
// one that the filter names (schema.ts#ResourceUpdatedNotificationParams).
func (s *stream) requests(method, uri string) bool {
	if method != transcript.UpdatedMethod {
		return s.filter.Get(transcript.ListChangedMethods()[method]).Type == gjson.True
	}
	return slices.ContainsFunc(s.resources(), func(v gjson.Result) bool {
		return v.Type == gjson.String && strings.HasPrefix(uri, v.Str)
	})
}

// resources returns the resources that the filter names.
func (s *stream) resources() []gjson.Result { return s.filter.Get("resourceSubscriptions").Array() }

// A reader reads a session and records what the server sends on its streams.
type reader struct {
	j        *check.J
	streams  []*stream
	known    map[string]bool // URIs that were listed or named by the client
	pending  map[string]int  // frames of the requests that are not answered, by id
	findings []finding
}

// readStreams returns the findings on a session.
func readStreams(j *check.J) []finding {
	r := &reader{j: j, known: map[string]bool{}, pending: map[string]int{}}
	for _, e := range j.Entries() {
		if e.Truncated {
			continue
		}
		for _, m := range e.Message.Elements() {
			one := e
			one.Message = m
			switch {
			case m.EnvelopeError != nil:
			case e.From != j.Of:
				r.readSent(one)
			case m.IsResponse():
				r.readResponse(one)
			case m.Kind == wire.Notification:
				r.readNotification(one)
			}
		}
	}
	r.judgeCancelled()
	return r.findings
}

// kept records that a message kept rules.
func (r *reader) kept(e wire.Entry, rules ...rule) {
	for _, rule := range rules {
		r.findings = append(r.findings, finding{e, rule, ""})
	}
}

// broke records that a message broke a rule, and how.
func (r *reader) broke(e wire.Entry, rule rule, format string, args ...any) {
	r.findings = append(r.findings, finding{e, rule, fmt.Sprintf(format, args...)})
}

// readSent reads a message of the client: a request that opens a stream, and the
// notification that cancels one (on stdio, basic/patterns/subscriptions#cancellation).
func (r *reader) readSent(e wire.Entry) {
	m := e.Message
	switch {
	case m.Kind == wire.Request:
		_, repeated := r.pending[m.ID().Key()]
		r.pending[m.ID().Key()] = e.Index
		if m.Method() == "subscriptions/listen" {
			r.openStream(e, repeated)
		} else if s := r.stream(m.ID()); s != nil {
			s.ambiguous = true // a result with the id may answer either
		}
	case m.Method() == "notifications/cancelled":
		if s := r.stream(wire.ID{Raw: m.Params().Get("requestId").Raw}); s != nil && s.cancelled < 0 {
			s.cancelled, s.since = e.Index, e.Index
		}
	}
}

// openStream adds a stream. An invalid filter, repeated members and an id that is in
// use make it ambiguous: other checks judge what a server does with them.
func (r *reader) openStream(e wire.Entry, idInUse bool) {
	m := e.Message
	s := &stream{id: m.ID(), filter: m.Params().Get("notifications"), opened: e.Index, cancelled: -1}
	s.ambiguous = idInUse || len(r.j.Entry(e.Index).Message.DuplicateKeys) > 0 || !m.ID().IsValid() ||
		len(schema.For(r.j.Rev).Validate("SubscriptionFilter", []byte(s.filter.Raw))) > 0
	if before := r.stream(m.ID()); before != nil && !before.ended {
		s.ambiguous, before.ambiguous = true, true
	}
	r.streams = append(r.streams, s)
	for _, uri := range s.resources() {
		r.addKnown(uri)
	}
}

// addKnown adds the URI of a resource.
func (r *reader) addKnown(uri gjson.Result) {
	if uri.Type == gjson.String {
		r.known[uri.Str] = true
	}
}

// stream returns the last stream with an id, or nil.
func (r *reader) stream(id wire.ID) *stream {
	for _, s := range slices.Backward(r.streams) {
		if s.id.Equal(id) {
			return s
		}
	}
	return nil
}

// hasAmbiguous reports whether an ambiguous stream is open.
func (r *reader) hasAmbiguous() bool {
	return slices.ContainsFunc(r.streams, func(s *stream) bool { return s.ambiguous && !s.ended })
}

// readResponse counts round trips, records which resources are listed, and judges
// the result that ends a stream.
func (r *reader) readResponse(e wire.Entry) {
	key := e.Message.ID().Key()
	sent, ok := r.pending[key]
	delete(r.pending, key)
	for _, s := range r.streams {
		if ok && s.cancelled >= 0 && sent > s.since && !s.isQuiet() {
			s.roundTrips, s.since = s.roundTrips+1, e.Index
		}
	}
	result := e.Message.Result()
	for _, entry := range result.Get("resources").Array() {
		r.addKnown(entry.Get("uri"))
	}
	s := r.stream(e.Message.ID())
	if s == nil {
		return
	}
	s.ended = true
	if !s.acked || s.ambiguous || e.Message.Kind != wire.Result {
		return
	}
	switch id := transcript.SubscriptionIDOf(result); {
	case !id.Exists():
		r.broke(e, endShape, "the result that ends a subscription has no subscription id")
	case !s.id.Equal(wire.ID{Raw: id.Raw}):
		r.broke(e, endShape, "the result that ends subscription %s has the subscription id %s", s.id,
			wire.Clip(id.Raw, 60))
	default:
		r.kept(e, endShape)
	}
}

// readNotification reads a notification of the server. Those of vendors, and the one
// by which a server ends a stream, are not judged; logging.request.stream judges log
// messages.
func (r *reader) readNotification(e wire.Entry) {
	method, id := e.Message.Method(), transcript.SubscriptionIDOf(e.Message.Params())
	switch {
	case method == "notifications/progress" && id.Exists():
		r.broke(e, idElsewhere, "%s belongs to no stream, and has the subscription id %s", method,
			wire.Clip(id.Raw, 60))
	case method == "notifications/progress":
		r.kept(e, idElsewhere)
	case !transcript.IsChangeNotification(method):
	case !id.Exists():
		r.judgeWithoutID(e)
	default:
		r.judgeWithID(e, id)
	}
}
