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
	exchanges []*wire.Exchange
	refused   *wire.Exchange // the GET that should have resumed it and opened no stream
}

func (s *stream) first() *wire.Exchange { return s.exchanges[0] }

func (s *stream) last() *wire.Exchange { return s.exchanges[len(s.exchanges)-1] }

// frames returns the frames of the stream.
func (s *stream) frames() []wire.Entry {
	var all []wire.Entry
	for _, x := range s.exchanges {
		all = append(all, x.Body...)
	}
	return all
}

// hasEventIDs reports whether an event of the stream has an id.
func (s *stream) hasEventIDs() bool {
	return slices.ContainsFunc(s.frames(), func(f wire.Entry) bool { return f.EventID() != "" })
}

// isOpenedByGet reports whether the stream was opened by a GET.
func (s *stream) isOpenedByGet() bool { return s.first().Method() == http.MethodGet }

// sessionOf returns the id of the session of an exchange. An initialize that got no
// id has a session of its own.
func sessionOf(x *wire.Exchange) string {
	id, posted := x.SessionID(), x.PostedMessages()
	if id == "" && len(posted) > 0 && posted[0].Method() == "initialize" {
		return fmt.Sprintf("exchange %d", x.Number)
	}
	return id
}

// streamsOf returns the event streams of a session in the order in which they began.
func streamsOf(j *check.J) []*stream {
	return check.Derived(j, "event streams", func() []*stream {
		type event struct{ session, id string }
		var all []*stream
		byEvent := map[event]*stream{}
		for _, x := range j.Exchanges() {
			s := byEvent[event{sessionOf(x), x.RequestField("Last-Event-ID")}]
			switch {
			case s != nil && x.OpensStream():
				s.exchanges = append(s.exchanges, x)
			case s != nil:
				s.refused = x
				continue
			case !x.OpensStream():
				continue
			default:
				s = &stream{exchanges: []*wire.Exchange{x}}
				all = append(all, s)
			}
			for _, f := range x.Body {
				if id := f.EventID(); id != "" && byEvent[event{sessionOf(x), id}] == nil {
					byEvent[event{sessionOf(x), id}] = s
				}
			}
		}
		return all
	})
}

// streamOf returns the stream that an exchange carried, or nil.
func streamOf(j *check.J, x *wire.Exchange) *stream {
	for _, s := range streamsOf(j) {
		if x != nil && slices.Contains(s.exchanges, x) {
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
		posted := s.first().PostedMessages()
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
func unanswered(j *check.J, posted []wire.Message, frames []wire.Entry, end int) []wire.Message {
	answered := map[string]bool{}
	unmatched := 0 // responses
	for _, f := range frames {
		for _, part := range f.Message.Elements() {
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
		return e.Message.Method() == "notifications/cancelled" && e.Index < frame &&
			id.Equal(wire.ID{Raw: e.Message.Params().Get("requestId").Raw})
	})
}

// isClosedInSession reports whether the server closed a connection properly while its
// session continued. A session ends if the client ends it, if the server answers 404,
// or if the server answers no further request.
func isClosedInSession(j *check.J, x *wire.Exchange) bool {
	if x.End == nil || x.End.HTTP.EndReason != wire.EndedByPeer || x.ClosedByClient != nil ||
		!hasResponseAfter(j, x.End.Index) {
		return false
	}
	return !slices.ContainsFunc(j.Exchanges(), func(other *wire.Exchange) bool {
		deleted := other.Method() == http.MethodDelete && other.Request.Index < x.End.Index
		notFound := other.Status() == http.StatusNotFound
		return (deleted || notFound) && other.SessionID() != "" && other.SessionID() == x.SessionID()
	})
}

// isAfterEnd reports whether an exchange began after the client had ended its session
// with a DELETE that succeeded.
func isAfterEnd(j *check.J, x *wire.Exchange) bool {
	return x.SessionID() != "" && slices.ContainsFunc(j.Exchanges(), func(other *wire.Exchange) bool {
		return other.Method() == http.MethodDelete && other.SessionID() == x.SessionID() && other.Status()/100 == 2 &&
			other.Head.Index < x.Request.Index
	})
}

// hasResponseAfter reports whether the server sent a response after a frame.
func hasResponseAfter(j *check.J, frame int) bool {
	return slices.ContainsFunc(j.Sent(), func(e wire.Entry) bool {
		return e.Message.IsResponse() && e.Index > frame
	})
}

// isFinalRefusal reports whether the answer to a GET shows that the server offers no
// stream: other statuses have reasons of their own.
func isFinalRefusal(x *wire.Exchange) bool {
	if x.Head == nil {
		return false
	}
	switch status := x.Status(); status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	default:
		return status < 500
	}
}

// followsInitialized reports whether an exchange was begun after the session was
// open, and names the session as the exchange of notifications/initialized did.
func followsInitialized(j *check.J, x *wire.Exchange) bool {
	return slices.ContainsFunc(j.Exchanges(), func(other *wire.Exchange) bool {
		posted := other.PostedMessages()
		return other.Number < x.Number && len(posted) == 1 && posted[0].Method() == "notifications/initialized" &&
			other.Status()/100 == 2 && other.SessionID() == x.SessionID() &&
			other.RequestField("Mcp-Protocol-Version") == x.RequestField("Mcp-Protocol-Version") &&
			other.RequestField("Origin") == x.RequestField("Origin")
	})
}
