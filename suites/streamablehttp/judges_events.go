package streamablehttp

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func streamEvents() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.event.data",
			Says:  "each message on a stream is the data of one event",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-sse-data-json"},
			// eventData looks at the events that clients take for messages, and at lines that
			// the format passes over and that would be messages. What is no UTF-8 has a rule
			// of its own, and JSON that is no message is judged with the messages.
			Judge: func(j *check.J) {
				for _, f := range flowsOf(j) {
					for _, m := range f.came() {
						if m.HTTP.Event == nil || m.Cut {
							continue
						}
						for _, line := range m.HTTP.Event.Odd {
							if v := gjson.Parse(line); gjson.Valid(line) && v.Get("jsonrpc").Exists() {
								j.FailAt(m, "a message stands in a line that is no field of an event: %s", wire.Clip(line, 80))
							}
						}
						switch fault := m.Message.Fault; {
						case m.Wordless():
						case fault == nil:
							j.Saw()
						case !fault.Encoding:
							j.FailAt(m, "the data of an event is no message: %v", fault)
						}
					}
				}
			},
		},
		{
			ID:    "streamable-http.event.id.unique",
			Says:  "no two events on the streams of a session have the same id",
			Level: spec.Must,
			In:    sessions(),
			Rules: []string{"streamable-http-event-id-unique"},
			// eventIDUnique takes an event that a resumed stream repeats for the same one, and
			// so what a stream says twice without a message. Sessions are told apart: other
			// checks may open further ones.
			Judge: func(j *check.J) {
				type key struct{ session, id string }
				first := map[key]occurrence{}
				for _, n := range numberedEvents(j) {
					k, data := key{sessionOf(n.on), eventID(n.Moment)}, dataOf(n.Moment)
					before, known := first[k]
					again := known && bytes.Equal(before.data, data) && (n.on.Field("Last-Event-ID") != "" || before.of == n.of)
					switch {
					case !known:
						first[k] = occurrence{n.of, data}
						j.Saw()
					case again:
					case before.of != n.of:
						j.FailAt(n.Moment, "the event id %q stood on another stream of the session before", wire.Clip(k.id, 80))
					case len(before.data) > 0 && len(data) > 0:
						j.FailAt(n.Moment, "the event id %q stood at another message of the stream before", wire.Clip(k.id, 80))
					}
				}
			},
		},
		{
			ID:    "streamable-http.event.priming",
			Says:  "the stream of a request begins with an event that has an id and empty data",
			Level: spec.Should,
			In:    polled(),
			Rules: []string{"streamable-http-sse-priming-event"},
			// primedFirst leaves out initialize, before whose answer no revision is agreed on,
			// and comments.
			Judge: func(j *check.J) {
				eachAnswering(j, func(f *flow, posted []wire.Message) {
					if posted[0].Method() == "initialize" {
						return
					}
					for _, m := range f.first().Came {
						e := m.HTTP.Event
						switch {
						case e == nil || e.Lost:
						case e.NoData && e.ID == nil && e.Retry == "":
							continue
						case m.Wordless() && eventID(m) != "" && !e.NoData:
							j.Saw()
						default:
							j.FailAt(m, "the stream opened for the %s begins with %s, not with an event that has an id and empty data", posted[0].Summary(), heldBy(m))
						}
						return
					}
				})
			},
		},
	}
}

// An occurrence is where an id stood first.
type occurrence struct {
	of   *flow
	data []byte
}

// A numberedEvent is an event with an id, the exchange and the stream it came in.
type numberedEvent struct {
	check.Moment
	on *check.Heard
	of *flow
}

// numberedEvents returns the events with ids in the order in which they came.
func numberedEvents(j *check.J) (all []numberedEvent) {
	for _, f := range flowsOf(j) {
		for _, h := range f.parts {
			for _, m := range h.Came {
				if eventID(m) != "" {
					all = append(all, numberedEvent{m, h, f})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b numberedEvent) int { return cmp.Compare(a.At, b.At) })
	return all
}

// sessionOf returns the id of the session of an exchange; of each initialize that
// opened none, one of its own.
func sessionOf(h *check.Heard) string {
	id, posted := h.Session(), h.Posted()
	if id == "" && len(posted) > 0 && posted[0].Method() == "initialize" {
		return fmt.Sprintf("exchange %d", h.Number)
	}
	return id
}

// dataOf returns the data of an event: a message, or in an exchange of a check's
// own what was kept of it.
func dataOf(m check.Moment) []byte {
	if m.Wordless() {
		return []byte(m.HTTP.Body)
	}
	return m.Raw
}

// heldBy names what an event holds.
func heldBy(m check.Moment) string {
	switch e := m.HTTP.Event; {
	case !m.Wordless():
		return "the " + m.Message.Summary()
	case e.ID == nil:
		return "an event without id"
	case e.NoData:
		return "an event without a data field"
	}
	return "an event with an empty id"
}
