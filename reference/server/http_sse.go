package server

import (
	"net/http"
	"net/url"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// connect opens a connection of HTTP+SSE: its first event tells where the
// client sends its messages, and all that the server says follows
// (basic/transports#http-with-sse of 2024-11-05). The session ends with it.
func (h *Web) connect(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet:
		notAllowed(w, "GET")
		return
	case !accepts(r, "text/event-stream"):
		refuseHTTP(w, http.StatusNotAcceptable, "The client must accept text/event-stream")
		return
	case !h.bare(w, r):
		return
	}
	s := h.open(h.optionsFor(ssing), grantOf(r).Subject, true)
	if s == nil {
		w.Header().Set("Retry-After", "1")
		refuseHTTP(w, http.StatusServiceUnavailable, "Too many sessions are open")
		return
	}
	s.enter()
	defer s.exit()
	defer h.end(s)
	endpoint := pathMessages + "?" + url.Values{"session": {s.id}}.Encode()
	h.carrier(w, r, s.conn).carry(s.only, s.only.connect(1), 1,
		[]Event{{Stream: s.only, Name: "endpoint", Data: []byte(endpoint)}})
}

// message takes a message of a client that is connected over HTTP+SSE. The
// text names no status for it; what is to be said to the message is an event.
func (h *Web) message(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		notAllowed(w, "POST")
		return
	}
	body, ok := h.body(w, r)
	if !ok {
		return
	}
	s := h.find(r.URL.Query().Get("session"))
	if s == nil || s.only == nil || !h.guard.owned(BoundSession, s.owner, grantOf(r).Subject) {
		refuseHTTP(w, http.StatusNotFound, "There is no such session, or it has ended")
		return
	}
	if !h.guard.permits(w, r, wire.Parse(body)) {
		return
	}
	if !s.conn.hand(s.conn.ctx, nil, body) {
		refuseHTTP(w, http.StatusNotFound, "The session has ended")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
