package streamablehttp

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// streamJudges are the judges of the event streams of basic/transports#streamable-http
// (basic/transports/streamable-http since 2026-07-28): how long a stream lasts,
// what its events are, and which of them carries what.
func streamJudges() []check.Check {
	checks := slices.Concat(streamEnds(), streamEvents(), streamRoutes())
	for i := range checks {
		checks[i].On = transport.OnHTTP
	}
	return checks
}

// polled are the revisions in which a server may close the connection of a
// stream that is not at its end (basic/transports#sending-messages-to-the-server).
func polled() spec.Set { return spec.Only(spec.V2025_11_25) }

// withoutPolling are those before, since the transport is there.
func withoutPolling() spec.Set { return spec.Between(spec.V2025_03_26, spec.V2025_06_18) }

func streamEnds() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.stream.early-close",
			Says:  "the stream of a request is not closed before the response was sent",
			Level: spec.Should,
			In:    withoutPolling(),
			Rules: []string{"streamable-http-sse-no-early-close", "streamable-http-sse-carries-response"},
			Judge: func(j *check.J) {
				eachAnswering(j, func(f *flow, posted []wire.Message) {
					h := f.first()
					if h.End == nil {
						return
					}
					switch open := owed(j, posted, h.Came, h.End.At); {
					case len(open) == 0:
						j.Saw()
					case closedEarly(j, h):
						j.FailAt(*h.End, "the stream opened for the %s was closed before its response came", open[0].Summary())
					}
				})
			},
		},
		{
			ID:    "streamable-http.stream.response",
			Says:  "the stream of a request carries its response",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"streamable-http-sse-carries-response"},
			// streamCarriesResponse leaves open what may still come: a server may close the
			// connection of a stream that can be taken up again, up to 2025-11-25.
			Judge: func(j *check.J) {
				eachAnswering(j, func(f *flow, posted []wire.Message) {
					h := f.last()
					if h.End == nil {
						return
					}
					resumable := f.has() && !j.Facts.Stateless && (f.refused == nil || !decided(f.refused))
					switch open := owed(j, posted, f.came(), h.End.At); {
					case len(open) == 0:
						j.Saw()
					case !resumable && closedEarly(j, h):
						j.FailAt(*h.End, "the stream opened for the %s ended without its response", open[0].Summary())
					}
				})
			},
		},
		{
			ID:    "streamable-http.stream.retry",
			Says:  "a connection that is closed before its stream has ended told when to come back",
			Level: spec.Should,
			In:    polled(),
			Rules: []string{"streamable-http-retry-before-close"},
			// retryBeforeClose takes a retry at any place of the connection: a client keeps
			// the last that it was told. A stream without event ids cannot be taken up again;
			// that it was closed is judged apart.
			Judge: func(j *check.J) {
				eachAnswering(j, func(f *flow, posted []wire.Message) {
					var came []check.Moment
					told := false
					for _, h := range f.parts {
						came = append(came, h.Came...)
						if h.End == nil || len(owed(j, posted, came, h.End.At)) == 0 || !f.has() || !closedEarly(j, h) {
							continue
						}
						told = slices.ContainsFunc(h.Came, func(m check.Moment) bool { return m.HTTP.Event != nil && m.HTTP.Event.Retry != "" })
						if !told {
							j.FailAt(*h.End, "the connection of the stream opened for the %s was closed, to be taken up again, and no event told when", posted[0].Summary())
							continue
						}
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "streamable-http.get.answer",
			Says:  "a GET is answered with an event stream or with 405",
			Level: spec.Must,
			In:    sessions(),
			Rules: []string{"streamable-http-get-sse-or-405"},
			// getAnswered looks at the first GET of a session, made with all that a client
			// has to send: of a second stream beside it nothing is said.
			Judge: func(j *check.J) {
				at := slices.IndexFunc(j.Exchanges(), func(h *check.Heard) bool { return h.Begun.HTTP.Method == http.MethodGet })
				if at < 0 {
					return
				}
				h := j.Exchanges()[at]
				switch {
				case h.Head == nil || h.Field("Last-Event-ID") != "" || h.Field("Accept") != "text/event-stream" || !initialized(j, h):
				case h.Streams(), h.Head.HTTP.Status == http.StatusMethodNotAllowed:
					j.Saw()
				case decided(h):
					kind := http.Header(h.Head.HTTP.Header).Get("Content-Type")
					j.FailAt(*h.Head, "a GET was answered with HTTP status %d %s and the type %q, not with an event stream or 405", h.Head.HTTP.Status, http.StatusText(h.Head.HTTP.Status), kind)
				}
			},
		},
		{
			ID:    "tasks.get.plain",
			Says:  "tasks/get is not answered with an event stream by a server that can do without",
			Level: spec.Should,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"tasks-no-sse-for-get"},
			// taskPolledPlainly takes a server for one that can do without a stream if it
			// answered another request as plain JSON: the page says where possible.
			Judge: func(j *check.J) {
				plain := slices.ContainsFunc(j.Exchanges(), func(h *check.Heard) bool {
					posted := h.Posted()
					return len(posted) == 1 && posted[0].Kind == wire.Request && h.Head != nil && h.Head.HTTP.Status == http.StatusOK && !h.Streams()
				})
				for _, h := range j.Exchanges() {
					posted := h.Posted()
					if len(posted) != 1 || posted[0].Method() != "tasks/get" || h.Head == nil || h.Head.HTTP.Status != http.StatusOK {
						continue
					}
					switch {
					case !h.Streams():
						j.Saw()
					case plain:
						j.FailAt(*h.Head, "tasks/get (id %s) was answered with an event stream, and other requests with plain JSON", posted[0].ID())
					}
				}
			},
		},
	}
}

// sessions are the revisions of streamable HTTP with a stream of GET, and with
// event ids.
func sessions() spec.Set { return spec.Since(spec.V2025_03_26) & spec.Handshake }

// A flow is one event stream over all the connections that carried it: a GET
// takes up the one on which the event was that it names
// (basic/transports#resumability-and-redelivery).
type flow struct {
	parts   []*check.Heard
	refused *check.Heard // the GET that should have taken it up, and was answered otherwise
}

func (f *flow) first() *check.Heard { return f.parts[0] }

func (f *flow) last() *check.Heard { return f.parts[len(f.parts)-1] }

// came returns what came on the stream, and has tells whether an event of it had
// an id.
func (f *flow) came() (all []check.Moment) {
	for _, h := range f.parts {
		all = append(all, h.Came...)
	}
	return all
}

func (f *flow) has() bool {
	return slices.ContainsFunc(f.came(), func(m check.Moment) bool { return eventID(m) != "" })
}

// listens tells whether the stream was opened by a GET.
func (f *flow) listens() bool { return f.first().Begun.HTTP.Method == http.MethodGet }

// eventID returns the id of an event that a client has seen whole, "" for none.
func eventID(m check.Moment) string {
	if e := m.HTTP.Event; e != nil && e.ID != nil && !e.Lost {
		return *e.ID
	}
	return ""
}

// flowsOf returns the event streams of a session in the order in which they were
// begun.
func flowsOf(j *check.J) []*flow {
	return check.Derived(j, "event streams", func() (all []*flow) {
		type event struct{ session, id string }
		by := map[event]*flow{}
		for _, h := range j.Exchanges() {
			f := by[event{sessionOf(h), h.Field("Last-Event-ID")}]
			switch {
			case f != nil && h.Streams():
				f.parts = append(f.parts, h)
			case f != nil:
				f.refused = h
				continue
			case !h.Streams():
				continue
			default:
				f = &flow{parts: []*check.Heard{h}}
				all = append(all, f)
			}
			for _, m := range h.Came {
				if id := eventID(m); id != "" && by[event{sessionOf(h), id}] == nil {
					by[event{sessionOf(h), id}] = f
				}
			}
		}
		return all
	})
}

// flowOf returns the stream that an exchange is a part of, or nil.
func flowOf(j *check.J, h *check.Heard) *flow {
	for _, f := range flowsOf(j) {
		if h != nil && slices.Contains(f.parts, h) {
			return f
		}
	}
	return nil
}

// owed returns the requests of a stream that were not answered on these
// connections of it, and that the client did not take back before it closed. A
// response that has no id, or one that no request had, may answer any of them:
// that it has is judged apart. A subscription is ended as its own page has it
// (basic/patterns/subscriptions#graceful-closure).
func owed(j *check.J, posted []wire.Message, came []check.Moment, end int) (open []wire.Message) {
	answered := map[string]bool{}
	strange := 0
	for _, m := range came {
		for _, part := range m.Message.Elements() {
			switch {
			case !part.IsResponse():
			case part.ID().Usable() && asked(j, part.ID()):
				answered[part.ID().Key()] = true
			default:
				strange++
			}
		}
	}
	for _, request := range posted {
		switch {
		case request.Kind != wire.Request || request.Method() == "subscriptions/listen" || !request.ID().Usable():
		case answered[request.ID().Key()], takenBack(j, request.ID(), end):
		case strange > 0:
			strange--
		default:
			open = append(open, request)
		}
	}
	return open
}

// asked tells whether a request of the client had an id.
func asked(j *check.J, id wire.ID) bool {
	ids := check.Derived(j, "ids of requests", func() map[string]bool {
		all := map[string]bool{}
		for _, e := range j.Received() {
			if e.Message.Kind == wire.Request {
				all[e.Message.ID().Key()] = true
			}
		}
		return all
	})
	return ids[id.Key()]
}

// takenBack tells whether the client cancelled a request before a frame.
func takenBack(j *check.J, id wire.ID, before int) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
		return e.Message.Method() == "notifications/cancelled" && j.FrameOf(e) < before &&
			id.Equal(wire.ID{Raw: e.Message.Params().Get("requestId").Raw})
	})
}

// closedEarly tells whether the server closed a connection properly, and in a
// session that went on: not because the client ended it, nor because the server
// did, which may say so by 404 or answer nothing any more.
func closedEarly(j *check.J, h *check.Heard) bool {
	if h.End == nil || h.End.HTTP.End != wire.EndedByPeer || h.Left != nil || !answersAfter(j, h.End.At) {
		return false
	}
	return !slices.ContainsFunc(j.Exchanges(), func(other *check.Heard) bool {
		ends := other.Begun.HTTP.Method == http.MethodDelete && other.Begun.At < h.End.At
		gone := other.Head != nil && other.Head.HTTP.Status == http.StatusNotFound
		return (ends || gone) && other.Session() != "" && other.Session() == h.Session()
	})
}

// answersAfter tells whether the server gave any response after a frame.
func answersAfter(j *check.J, at int) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool { return e.Message.IsResponse() && j.FrameOf(e) > at })
}

// eachAnswering gives the streams that were opened for requests of the session.
func eachAnswering(j *check.J, look func(f *flow, posted []wire.Message)) {
	for _, f := range flowsOf(j) {
		if posted := f.first().Posted(); slices.ContainsFunc(posted, func(m wire.Message) bool { return m.Kind == wire.Request }) {
			look(f, posted)
		}
	}
}

// decided tells whether the answer to a GET says that there will be no stream,
// for no other reason than that the server gives none.
func decided(h *check.Heard) bool {
	if h.Head == nil {
		return false
	}
	switch status := h.Head.HTTP.Status; status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	default:
		return status < 500
	}
}

// initialized tells whether the session was open when an exchange was begun, and
// the exchange names it as one of those before did.
func initialized(j *check.J, h *check.Heard) bool {
	return slices.ContainsFunc(j.Exchanges(), func(other *check.Heard) bool {
		posted := other.Posted()
		return other.Number < h.Number && len(posted) == 1 && posted[0].Method() == "notifications/initialized" &&
			other.Head != nil && other.Head.HTTP.Status/100 == 2 && other.Session() == h.Session() &&
			other.Field("Mcp-Protocol-Version") == h.Field("Mcp-Protocol-Version") && other.Field("Origin") == h.Field("Origin")
	})
}
