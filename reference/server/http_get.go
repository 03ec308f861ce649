package server

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// get gives a client of a session a stream: the one of which it names an
// event, from there on, else one for what belongs to none of its requests
// (basic/transports#listening-for-messages-from-the-server).
func (h *Web) get(w http.ResponseWriter, r *http.Request) {
	if !h.bare(w, r) {
		return
	}
	if !accepts(r, "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, "The client must accept text/event-stream")
		return
	}
	s := h.sessionOf(w, r, wire.Message{})
	if s == nil {
		return
	}
	s.enter()
	defer s.exit()
	t, after := s.resumed(r.Header.Get("Last-Event-ID"))
	var missed []Event
	next := 0
	if t == nil {
		t = s.stream("g")
		t.standing = true
		s.keep(t)
	} else {
		l := t.look(0, after+1)
		missed, next = h.replay(t, l.events, s.others(t)), l.next
	}
	c := h.carrier(w, r, s.conn)
	if t.primed {
		c.hold = h.o.HTTP.Hold
	}
	reader := t.connect(next)
	if t.standing {
		s.stand(t)
		defer s.leave(t)
	}
	c.carry(t, reader, next, missed)
}

// resumed returns the stream of an event, and the place of the event in it; nil
// where there is none, and the client is served as if it had not asked.
func (s *webSession) resumed(id string) (*Stream, int) {
	label, i, ok := eventPlace(id)
	if !ok {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.kept {
		if t.Label == label {
			return t, i
		}
	}
	return nil, 0
}

// others are the streams that the session keeps but for one.
func (s *webSession) others(t *Stream) []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Stream
	for _, other := range s.kept {
		if other != t {
			out = append(out, other)
		}
	}
	return out
}

// delete ends a session (basic/transports#session-management).
func (h *Web) delete(w http.ResponseWriter, r *http.Request) {
	if !h.bare(w, r) {
		return
	}
	s := h.sessionOf(w, r, wire.Message{})
	if s == nil {
		return
	}
	h.end(s)
	w.WriteHeader(http.StatusNoContent)
}

// bare tells whether a request without message may be served; a body that it has
// nevertheless means nothing (RFC 9110 section 9.3.1).
func (h *Web) bare(w http.ResponseWriter, r *http.Request) bool {
	if !h.guard.permits(w, r, wire.Message{}) {
		return false
	}
	_, ok := h.read(w, r)
	return ok
}
