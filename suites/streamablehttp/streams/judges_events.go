package streams

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// eventJudges returns the judges of the events of streams.
func eventJudges() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.event.data",
			Says:  "the server sends each message on a stream as the data of one event",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-sse-data-json"},
			Idle:  "no message came on an event stream",
			Hint:  streamAnswer,
			// Invalid UTF-8 has a rule of its own, and JSON that is no message is judged with
			// the messages.
			Judge: func(j *check.J) {
				for _, s := range streamsOf(j) {
					check.Each(j, s.frames(), func(f wire.Entry) bool {
						if f.HTTP.Event == nil || f.Truncated {
							return false
						}
						for _, line := range f.HTTP.Event.IgnoredLines {
							if v := gjson.Parse(line); gjson.Valid(line) && v.Get("jsonrpc").Exists() {
								j.Fail(f, "a message is a line that is no field of an event: %s", wire.Clip(line, 80))
							}
						}
						fault := f.Message.SyntaxError
						if !f.IsTransportOnly() && fault != nil && !fault.NotUTF8 {
							j.Fail(f, "the data of an event is no message: %v", fault)
						}
						return !f.IsTransportOnly() && fault == nil
					})
				}
			},
		},
		{
			ID:    "streamable-http.event.data.empty",
			Says:  "the server sends no event with empty data, which clients of this revision read as a message",
			Level: spec.Robust,
			In:    spec.Since(spec.V2025_03_26) &^ polling(),
			Spec:  "basic/transports#sending-messages-to-the-server",
			Idle:  "no event came on a stream",
			Hint:  streamAnswer,
			// 2025-11-25 alone defines such events. Before the answer to initialize no
			// revision is agreed on, and a server of both eras may stream sessions of
			// 2025-11-25.
			Judge: func(j *check.J) {
				for _, s := range streamsOf(j) {
					posted := s.first().PostedMessages()
					switch {
					case len(posted) > 0 && posted[0].Method() == "initialize":
						continue
					case j.Facts.Stateless && (len(posted) == 0 || !transcript.IsUnderRevision(j, posted[0], false)):
						continue
					}
					check.Each(j, s.frames(), func(f wire.Entry) bool {
						if !f.IsDispatched() || f.HTTP.Event.Type != "" && f.HTTP.Event.Type != "message" {
							return false
						}
						if len(f.Data()) == 0 {
							j.Fail(f, "the data of an event is empty")
						}
						return true
					})
				}
			},
		},
		{
			ID:    "streamable-http.event.id.unique",
			Says:  "the server gives no two events on the streams of a session the same id",
			Level: spec.Must,
			In:    handshake(),
			Rules: []string{"streamable-http-event-id-unique"},
			Idle:  "no two events of a session have an id",
			Hint:  "send ids with the events of streams, so that a client can resume them",
			// A resumed stream may repeat an event, and a stream an event without message.
			// Events are compared within a session: other checks may open further ones. After
			// the end of a session its id may be that of another one.
			Judge: func(j *check.J) {
				type key struct{ session, id string }
				first, ids := map[key]identifiedEvent{}, map[string]int{}
				check.Each(j, identifiedEvents(j), func(e identifiedEvent) bool {
					k := key{sessionOf(e.exchange), e.EventID()}
					before, known := first[k]
					isResumed := e.exchange.RequestField("Last-Event-ID") != ""
					isRepeated := bytes.Equal(before.Data(), e.Data()) && (isResumed || before.stream == e.stream)
					switch {
					case !known:
						first[k] = e
						ids[k.session]++
						return ids[k.session] > 1
					case isRepeated:
					case before.stream != e.stream:
						j.Fail(e.Entry, "the event id %q was used on another stream of the session before",
							wire.Clip(k.id, 80))
					case len(before.Data()) > 0 && len(e.Data()) > 0:
						j.Fail(e.Entry, "the event id %q was used for another message of the stream before",
							wire.Clip(k.id, 80))
					}
					return false
				})
			},
		},
		{
			ID:    "streamable-http.event.priming",
			Says:  "the server begins the stream of a request with an event that has an id and empty data",
			Level: spec.Should,
			In:    polling(),
			Rules: []string{"streamable-http-sse-priming-event"},
			Idle:  "no request was answered with an event stream",
			Hint:  streamAnswer,
			// Before the answer to initialize no revision is agreed on. Comments are no events.
			Judge: func(j *check.J) {
				check.Each(j, requestStreams(j), func(s requestStream) bool {
					if s.posted[0].Method() == "initialize" {
						return false
					}
					first, ok := firstEvent(s.first())
					if !ok {
						return false
					}
					isPriming := first.IsTransportOnly() && first.EventID() != "" && !first.HTTP.Event.NoData
					if !isPriming {
						j.Fail(first, "the stream for the %s begins with %s, not with an event with an id and no data",
							s.posted[0].Summary(), describeEvent(first))
					}
					return isPriming
				})
			},
		},
	}
}

// firstEvent returns the first event of an exchange that has a field; ok is false if
// there is none that was received completely.
func firstEvent(x *wire.Exchange) (first wire.Entry, ok bool) {
	for _, f := range x.Body {
		e := f.HTTP.Event
		switch {
		case e == nil || e.Unterminated:
			return first, false
		case e.NoData && e.ID == nil && e.Retry == "":
			continue
		}
		return f, true
	}
	return first, false
}

// An identifiedEvent is an event with an id.
type identifiedEvent struct {
	wire.Entry
	exchange *wire.Exchange
	stream   *stream
}

// identifiedEvents returns the events with ids of open sessions in the order in which
// they were received.
func identifiedEvents(j *check.J) []identifiedEvent {
	var all []identifiedEvent
	for _, s := range streamsOf(j) {
		for _, x := range s.exchanges {
			if isAfterEnd(j, x) {
				continue
			}
			for _, f := range x.Body {
				if f.EventID() != "" {
					all = append(all, identifiedEvent{f, x, s})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b identifiedEvent) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

// describeEvent names what an event lacks to begin a stream, or the message in it.
func describeEvent(f wire.Entry) string {
	switch e := f.HTTP.Event; {
	case !f.IsTransportOnly():
		return "the " + f.Message.Summary()
	case e.ID == nil:
		return "an event without id"
	case e.NoData:
		return "an event without a data field"
	}
	return "an event with an empty id"
}
