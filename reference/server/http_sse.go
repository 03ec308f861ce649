package server

import (
	"net/http"
	"net/url"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// serveSSE opens a connection of HTTP+SSE: its first event names the endpoint of
// the client's messages, and all messages of the server follow
// (basic/transports#http-with-sse of 2024-11-05). The session ends with the
// connection.
func (h *HTTPHandler) serveSSE(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet:
		refuseMethod(w, "GET")
		return
	case !accepts(r, "text/event-stream"):
		refuseHTTP(w, http.StatusNotAcceptable, "The client must accept text/event-stream")
		return
	case !h.checkWithoutMessage(w, r):
		return
	}
	s := h.openSession(h.optionsFor(sseRevisions), grantOf(r).Subject, true)
	if s == nil {
		w.Header().Set("Retry-After", "1")
		refuseHTTP(w, http.StatusServiceUnavailable, "Too many sessions are open")
		return
	}
	s.beginRequest()
	defer s.endRequest()
	defer h.endSession(s)
	endpoint := pathMessages + "?" + url.Values{"session": {s.id}}.Encode()
	h.newStreamWriter(w, r, s.conn).writeStream(s.sseStream, s.sseStream.connect(1), 1,
		[]Event{{Stream: s.sseStream, Name: "endpoint", Data: []byte(endpoint)}})
}

// serveSSEMessage receives a message of a client that is connected over HTTP+SSE.
// The specification names no status for it; the answer to the message is an event.
func (h *HTTPHandler) serveSSEMessage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		refuseMethod(w, "POST")
		return
	}
	body, ok := h.readJSON(w, r)
	if !ok {
		return
	}
	s := h.findSession(r.URL.Query().Get("session"))
	user := grantOf(r).Subject
	if s == nil || s.sseStream == nil || !h.authorization.isUsableBy(OwnedSession, s.owner, user) {
		refuseHTTP(w, http.StatusNotFound, "There is no such session, or it has ended")
		return
	}
	m := wire.Parse(body)
	if !h.authorization.checkScopes(w, r, m) {
		return
	}
	if !s.conn.receivePost(s.conn.ctx, nil, m) {
		refuseHTTP(w, http.StatusNotFound, "The session has ended")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
