package server

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// get gives a client of a session a stream: the one of which it names an
// event, from there on, else one for what belongs to none of its requests
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
	t, after := s.findResumable(r.Header.Get("Last-Event-ID"))
	var missed []Event
	next := 0
	if t == nil {
		t = s.newStream("g")
		t.ofGet = true
		s.keepStream(t)
	} else {
		l := t.state(0, after+1)
		missed, next = h.replay(t, l.events, s.otherStreams(t)), l.next
	}
	c := h.newStreamWriter(w, r, s.conn)
	if t.primed {
		c.pollAfter = h.options.HTTP.Hold
	}
	reader := t.connect(next)
	if t.ofGet {
		s.addGetStream(t)
		defer s.removeGetStream(t)
	}
	c.writeStream(t, reader, next, missed)
}

// resumed returns the stream of an event, and the place of the event in it; nil
// where there is none, and the client is served as if it had not asked.
func (s *httpSession) findResumable(id string) (*Stream, int) {
	label, i, ok := parseEventID(id)
	if !ok {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.keptStreams {
		if t.Label == label {
			return t, i
		}
	}
	return nil, 0
}

// others are the streams that the session keeps but for one.
func (s *httpSession) otherStreams(t *Stream) []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Stream
	for _, other := range s.keptStreams {
		if other != t {
			out = append(out, other)
		}
	}
	return out
}

// delete ends a session (basic/transports#session-management).
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

// bare tells whether a request without message may be served; a body that it has
// nevertheless means nothing (RFC 9110 section 9.3.1).
func (h *HTTPHandler) checkWithoutMessage(w http.ResponseWriter, r *http.Request) bool {
	if !h.authorization.checkScopes(w, r, wire.Message{}) {
		return false
	}
	_, ok := h.readBody(w, r)
	return ok
}
