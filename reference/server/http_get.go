package server

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// serveGet opens a stream for the client of a session. If the request names an
// event, it resumes the stream of that event; otherwise the new stream carries
// messages that belong to no request
// (basic/transports#listening-for-messages-from-the-server).
func (h *HTTPHandler) serveGet(w http.ResponseWriter, r *http.Request) {
	if !h.checkWithoutMessage(w, r) {
		return
	}
	if !accepts(r, "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, "The client must accept text/event-stream")
		return
	}
	s := h.requireSession(w, r, wire.Message{})
	if s == nil {
		return
	}
	s.beginRequest()
	defer s.endRequest()
	stream, after := s.findResumable(r.Header.Get("Last-Event-ID"))
	var missed []Event
	next := 0
	if stream == nil {
		stream = s.newStream("g")
		stream.ofGet = true
		s.keepStream(stream)
	} else {
		state := stream.state(0, after+1)
		missed, next = h.replay(stream, state.events, s.otherStreams(stream)), state.next
	}
	writer := h.newStreamWriter(w, r, s.conn)
	if stream.primed {
		writer.pollAfter = h.options.HTTP.PollAfter
	}
	reader := stream.connect(next)
	if stream.ofGet {
		s.addGetStream(stream)
		defer s.removeGetStream(stream)
	}
	writer.writeStream(stream, reader, next, missed)
}

// findResumable returns the stream of an event, and the number of the event; nil if
// there is none, and the client is served as if it had not named it.
func (s *httpSession) findResumable(id string) (*Stream, int) {
	label, i, ok := parseEventID(id)
	if !ok {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.keptStreams {
		if stream.Label == label {
			return stream, i
		}
	}
	return nil, 0
}

// otherStreams returns the streams that the session keeps except for one.
func (s *httpSession) otherStreams(stream *Stream) []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Stream
	for _, other := range s.keptStreams {
		if other != stream {
			out = append(out, other)
		}
	}
	return out
}

// serveDelete ends a session (basic/transports#session-management).
func (h *HTTPHandler) serveDelete(w http.ResponseWriter, r *http.Request) {
	if !h.checkWithoutMessage(w, r) {
		return
	}
	s := h.requireSession(w, r, wire.Message{})
	if s == nil {
		return
	}
	h.endSession(s)
	w.WriteHeader(http.StatusNoContent)
}

// checkWithoutMessage reports whether a request without message may be served, and
// else refuses it. A body has no meaning in such a request (RFC 9110 section 9.3.1).
func (h *HTTPHandler) checkWithoutMessage(w http.ResponseWriter, r *http.Request) bool {
	if !h.authorization.checkScopes(w, r, wire.Message{}) {
		return false
	}
	_, ok := h.readBody(w, r)
	return ok
}
