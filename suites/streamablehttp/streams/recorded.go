package streams

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A stream is an event stream of a recorded session, over all exchanges that carried
// it: a GET with Last-Event-ID resumes the stream that has the event
// (basic/transports#resumability-and-redelivery).
type stream struct {
	exchanges []*check.Heard
	refused   *check.Heard // the GET that should have resumed it and opened no stream
}

func (s *stream) first() *check.Heard { return s.exchanges[0] }

func (s *stream) last() *check.Heard { return s.exchanges[len(s.exchanges)-1] }

// moments returns the frames of the stream.
func (s *stream) moments() []check.Moment {
	var all []check.Moment
	for _, h := range s.exchanges {
		all = append(all, h.Came...)
	}
	return all
}

// hasEventIDs reports whether an event of the stream has an id.
func (s *stream) hasEventIDs() bool {
	return slices.ContainsFunc(s.moments(), func(m check.Moment) bool { return eventID(m) != "" })
}

// isOpenedByGet reports whether the stream was opened by a GET.
func (s *stream) isOpenedByGet() bool { return s.first().Begun.HTTP.Method == http.MethodGet }

// eventID returns the id of an event that a client has received completely, "" for
// none.
func eventID(m check.Moment) string {
	if e := m.HTTP.Event; e != nil && e.ID != nil && !e.Unterminated {
		return *e.ID
	}
	return ""
}

// sessionOf returns the id of the session of an exchange. An initialize that got no
// id has a session of its own.
func sessionOf(h *check.Heard) string {
	id, posted := h.Session(), h.Posted()
	if id == "" && len(posted) > 0 && posted[0].Method() == "initialize" {
		return fmt.Sprintf("exchange %d", h.Number)
	}
	return id
}

// streamsOf returns the event streams of a session in the order in which they began.
func streamsOf(j *check.J) []*stream {
	return check.Derived(j, "event streams", func() []*stream {
		type event struct{ session, id string }
		var all []*stream
		byEvent := map[event]*stream{}
		for _, h := range j.Exchanges() {
			s := byEvent[event{sessionOf(h), h.Field("Last-Event-ID")}]
			switch {
			case s != nil && h.Streams():
				s.exchanges = append(s.exchanges, h)
			case s != nil:
				s.refused = h
				continue
			case !h.Streams():
				continue
			default:
				s = &stream{exchanges: []*check.Heard{h}}
				all = append(all, s)
			}
			for _, m := range h.Came {
				if id := eventID(m); id != "" && byEvent[event{sessionOf(h), id}] == nil {
					byEvent[event{sessionOf(h), id}] = s
				}
			}
		}
		return all
	})
}

// streamOf returns the stream that an exchange carried, or nil.
func streamOf(j *check.J, h *check.Heard) *stream {
	for _, s := range streamsOf(j) {
		if h != nil && slices.Contains(s.exchanges, h) {
			return s
		}
	}
	return nil
}

// A requestStream is a stream that was opened for requests.
type requestStream struct {
	*stream
	posted []wire.Message
}

// requestStreams returns the streams that were opened for requests of the session.
func requestStreams(j *check.J) []requestStream {
	var all []requestStream
	for _, s := range streamsOf(j) {
		posted := s.first().Posted()
		if slices.ContainsFunc(posted, func(m wire.Message) bool { return m.Kind == wire.Request }) {
			all = append(all, requestStream{s, posted})
		}
	}
	return all
}

// unanswered returns the requests of a stream that none of its frames answers, and
// that the client did not cancel before the stream was closed. A response without id,
// or with one that no request has, may answer any of them: other checks judge its id.
// How a subscription ends is judged with its page
// (basic/patterns/subscriptions#graceful-closure).
func unanswered(j *check.J, posted []wire.Message, moments []check.Moment, end int) []wire.Message {
	answered := map[string]bool{}
	unmatched := 0 // responses
	for _, m := range moments {
		for _, part := range m.Message.Elements() {
			switch {
			case !part.IsResponse():
			case part.ID().IsValid() && isRequestID(j, part.ID()):
				answered[part.ID().Key()] = true
			default:
				unmatched++
			}
		}
	}
	var open []wire.Message
	for _, request := range posted {
		switch {
		case request.Kind != wire.Request || request.Method() == "subscriptions/listen" || !request.ID().IsValid():
		case answered[request.ID().Key()], isCancelledBefore(j, request.ID(), end):
		case unmatched > 0:
			unmatched--
		default:
			open = append(open, request)
		}
	}
	return open
}

// isRequestID reports whether a request of the client has an id.
func isRequestID(j *check.J, id wire.ID) bool {
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

// isCancelledBefore reports whether the client cancelled a request before a frame.
func isCancelledBefore(j *check.J, id wire.ID, frame int) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
		return e.Message.Method() == "notifications/cancelled" && j.FrameOf(e) < frame &&
			id.Equal(wire.ID{Raw: e.Message.Params().Get("requestId").Raw})
	})
}

// isClosedInSession reports whether the server closed a connection properly while its
// session continued. A session ends if the client ends it, if the server answers 404,
// or if the server answers nothing any more.
func isClosedInSession(j *check.J, h *check.Heard) bool {
	if h.End == nil || h.End.HTTP.EndReason != wire.EndedByPeer || h.Left != nil || !hasResponseAfter(j, h.End.At) {
		return false
	}
	return !slices.ContainsFunc(j.Exchanges(), func(other *check.Heard) bool {
		deleted := other.Begun.HTTP.Method == http.MethodDelete && other.Begun.At < h.End.At
		notFound := other.Head != nil && other.Head.HTTP.Status == http.StatusNotFound
		return (deleted || notFound) && other.Session() != "" && other.Session() == h.Session()
	})
}

// hasResponseAfter reports whether the server sent a response after a frame.
func hasResponseAfter(j *check.J, frame int) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool {
		return e.Message.IsResponse() && j.FrameOf(e) > frame
	})
}

// isFinalRefusal reports whether the answer to a GET shows that the server offers no
// stream: other statuses have reasons of their own.
func isFinalRefusal(h *check.Heard) bool {
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

// followsInitialized reports whether an exchange was begun after the session was
// open, and names the session as the exchange of notifications/initialized did.
func followsInitialized(j *check.J, h *check.Heard) bool {
	return slices.ContainsFunc(j.Exchanges(), func(other *check.Heard) bool {
		posted := other.Posted()
		return other.Number < h.Number && len(posted) == 1 && posted[0].Method() == "notifications/initialized" &&
			other.Head != nil && other.Head.HTTP.Status/100 == 2 && other.Session() == h.Session() &&
			other.Field("Mcp-Protocol-Version") == h.Field("Mcp-Protocol-Version") &&
			other.Field("Origin") == h.Field("Origin")
	})
}
