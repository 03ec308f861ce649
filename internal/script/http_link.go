package script

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An httpLink is a link over HTTP: one session, or all messages to a server without
// sessions. Posted messages are handled one after another, as over stdio. A message
// of the server that is no answer goes on a GET stream of the client. Without one it
// goes on the stream of the client's next request, before the answer.
type httpLink struct {
	server       *httpServer
	conn         *Conn
	id           string
	handshakeEra bool // the server has a handshake

	mu             sync.Mutex
	lastExchange   int                 // number
	pending        map[int]*httpStream // answers to requests of the client, by exchange
	refused        map[int]bool        // exchanges that were answered with a status alone
	current        *httpStream         // answer to the message being handled; nil if it has no request
	getStreams     []*httpStream       // that the client opened with GET
	sseStream      *httpStream         // of HTTP+SSE; nil over streamable HTTP
	queued         [][]byte            // messages for the next stream
	initializeSeen bool                // the client sent initialize
	initialized    bool                // initialize was answered with a result
	rev            spec.Revision       // that initialize chose

	endOnce        sync.Once
	ended          chan struct{} // closed once the client will send no more
	endReason      string
	closedByClient bool
}

// beginInitialize notes that the client sends initialize, and reports whether it did
// so before.
func (l *httpLink) beginInitialize() (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.initializeSeen = l.initializeSeen, true
	return before
}

// isInitialized reports whether initialize was answered with a result.
func (l *httpLink) isInitialized() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.initialized
}

func (l *httpLink) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

func (l *httpLink) endWith(what string, byClient bool) {
	l.endOnce.Do(func() {
		l.endReason, l.closedByClient = what, byClient
		close(l.ended)
	})
}

func (l *httpLink) close() { l.endWith("the server closed the session", false) }

func (l *httpLink) ending() (string, bool) {
	select {
	case <-l.ended:
		return l.endReason, l.closedByClient
	default:
		return "the client sent more than is kept", false
	}
}

// read waits for the end of the session. The handlers of HTTP record the messages.
func (l *httpLink) read(c *Conn) {
	<-l.ended
	c.endInput()
}

// record records a frame without a message.
func (l *httpLink) record(from wire.Role, h *wire.HTTP) int {
	at, _ := l.conn.Add(wire.Frame{From: from, HTTP: h})
	return at
}

// newExchange returns the HTTP part of the frame of a request, with the number of a
// new exchange.
func (l *httpLink) newExchange(r *http.Request) *wire.HTTP {
	h := requestFrame(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastExchange++
	h.Exchange = l.lastExchange
	return h
}

// recordExchange records a request without a message and returns the number of its
// exchange.
func (l *httpLink) recordExchange(r *http.Request) int {
	h := l.newExchange(r)
	l.record(wire.Client, h)
	return h.Exchange
}

// hasRequest reports whether a message is or contains a request.
func hasRequest(m wire.Message) bool {
	return slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
}

// servePost receives a message over streamable HTTP and answers it.
func (l *httpLink) servePost(out http.ResponseWriter, r *http.Request, m wire.Message) {
	h := l.newExchange(r)
	l.mu.Lock()
	early := l.handshakeEra && !l.initializeSeen
	l.refused[h.Exchange] = early
	var s *httpStream
	if hasRequest(m) && !early {
		s = newHTTPStream(h.Exchange)
		l.pending[h.Exchange] = s
	}
	l.mu.Unlock()
	if _, more := l.conn.receive(wire.Frame{From: wire.Client, Raw: m.Raw, HTTP: h}); !more {
		http.Error(out, "the session is over", http.StatusNotFound)
		return
	}
	switch {
	case early:
		// A server with a handshake refuses a message without a session by the status
		// alone: an error response would look like one of the stateless era.
		l.writeStatus(out, h.Exchange, http.StatusBadRequest, "Bad Request: no session was initialized")
	case m.Kind == wire.Invalid:
		l.writeStatus(out, h.Exchange, http.StatusBadRequest, "Bad Request: this is no message")
	case s == nil:
		l.writeStatus(out, h.Exchange, http.StatusAccepted, "")
	default:
		l.writeStream(out, r, s)
	}
}

// writeStatus answers with a status and a text.
func (l *httpLink) writeStatus(out http.ResponseWriter, exchange, status int, text string) {
	x := &wire.HTTP{Exchange: exchange, Status: status, Body: text, Header: map[string][]string{}}
	if text != "" {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		x.Header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	}
	l.record(wire.Server, x)
	out.WriteHeader(status)
	_, _ = out.Write([]byte(text)) // fails only if the client has closed the connection
}

// refuseMethod refuses a request because of its HTTP method.
func (l *httpLink) refuseMethod(out http.ResponseWriter, r *http.Request) {
	n := l.recordExchange(r)
	out.Header().Set("Allow", http.MethodPost)
	l.writeStatus(out, n, http.StatusMethodNotAllowed, "")
}

// delete ends the session.
func (l *httpLink) delete(out http.ResponseWriter, r *http.Request) {
	l.writeStatus(out, l.recordExchange(r), http.StatusOK, "")
	l.server.removeSession(l)
	l.endWith("the client ended the session by DELETE", true)
}

// serveGET serves a stream for messages of the server that are no answers.
func (l *httpLink) serveGET(out http.ResponseWriter, r *http.Request) {
	s := newHTTPStream(l.recordExchange(r))
	l.addStream(s)
	defer l.removeStream(s)
	l.writeStream(out, r, s)
}

// addStream adds a GET stream and sends the queued messages on it.
func (l *httpLink) addStream(s *httpStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.beginEvents(l)
	l.getStreams = append(l.getStreams, s)
	l.flushQueued(s)
}

func (l *httpLink) removeStream(s *httpStream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.getStreams = slices.DeleteFunc(l.getStreams, func(other *httpStream) bool { return other == s })
}

// flushQueued sends the queued messages on a stream. The caller holds l.mu.
func (l *httpLink) flushQueued(s *httpStream) {
	for _, raw := range l.queued {
		s.sendEvent(l, raw)
	}
	l.queued = nil
}

// serveSSE serves the stream of HTTP+SSE. Its first event names the URL for messages;
// all messages of the server follow.
func (l *httpLink) serveSSE(out http.ResponseWriter, r *http.Request) {
	s := newHTTPStream(l.recordExchange(r))
	s.eventName = "message"
	l.mu.Lock()
	l.sseStream = s
	s.beginEvents(l)
	s.sendEndpoint(l, pathMessages+"?session="+l.id)
	l.mu.Unlock()
	l.writeStream(out, r, s)
	l.server.removeSession(l)
	l.endWith("the client closed the stream of the session", true)
}

// serveSSEPost receives a message over HTTP+SSE.
func (l *httpLink) serveSSEPost(out http.ResponseWriter, r *http.Request, body []byte) {
	h := l.newExchange(r)
	if _, more := l.conn.receive(wire.Frame{From: wire.Client, Raw: body, HTTP: h}); !more {
		http.Error(out, "the session is over", http.StatusNotFound)
		return
	}
	l.writeStatus(out, h.Exchange, http.StatusAccepted, "")
}

// beforeHandling selects the revision and the stream of the answer. If messages are
// queued, it waits for a GET stream, which the client may be opening, and otherwise
// sends them on the stream of the answer.
func (l *httpLink) beforeHandling(c *Conn, e wire.Entry) (handle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = l.pending[e.HTTP.Exchange]
	if !l.handshakeEra && l.sseStream == nil { // each request selects its era
		if c.Rev = c.server.Rev; l.initialized && !namesVersion(e.Message) {
			c.Rev = l.rev
		}
	}
	if l.refused[e.HTTP.Exchange] {
		return false
	}
	if l.current == nil || len(l.queued) == 0 {
		return true
	}
	l.mu.Unlock()
	l.awaitFlush(c.opts.InitializeDelay)
	l.mu.Lock()
	l.flushQueued(l.current)
	return true
}

// awaitFlush waits until a GET stream has taken the queued messages, at most the
// given time.
func (l *httpLink) awaitFlush(within time.Duration) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	poll := time.NewTicker(max(within/20, time.Millisecond))
	defer poll.Stop()
	for l.hasQueued() {
		select {
		case <-poll.C:
		case <-limit.C:
			return
		case <-l.ended:
			return
		}
	}
}

func (l *httpLink) hasQueued() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queued) > 0
}

func (l *httpLink) afterHandling(*Conn, wire.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = nil
}

// send sends a message on the stream that it belongs to, or queues it.
func (l *httpLink) send(c *Conn, raw []byte) (index int) {
	m := wire.Parse(raw)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.sseStream != nil:
		return l.sseStream.sendEvent(l, raw)
	case l.current != nil && (m.IsResponse() || m.Kind == wire.Batch):
		return l.completeExchange(c, m)
	case len(l.getStreams) > 0:
		return l.getStreams[len(l.getStreams)-1].sendEvent(l, raw)
	case l.current != nil:
		return l.current.sendEvent(l, raw)
	}
	l.queued = append(l.queued, raw)
	return c.Len()
}

// completeExchange answers a request with JSON or on a stream. It uses a stream if
// events were sent before, and for results of tools and prompts, so that the client
// meets both forms (basic/transports#sending-messages-to-the-server). The caller
// holds l.mu.
func (l *httpLink) completeExchange(c *Conn, m wire.Message) (index int) {
	s := l.current
	header := http.Header{}
	if m.Result().Get("protocolVersion").Exists() && !c.Rev.Facts().Stateless {
		l.initialized, l.rev = true, c.Rev
		header.Set(headerSessionID, l.id)
	}
	if s.hasEvents || m.Result().Get("content").Exists() || m.Result().Get("messages").Exists() {
		s.beginEvents(l)
		index = s.sendEvent(l, m.Raw)
		s.end(l)
		return index
	}
	status := http.StatusOK
	if code, failed := m.ErrorCode(); failed && c.Rev.Facts().Stateless {
		status = errorStatus(code)
	}
	return s.sendJSON(l, status, header, m.Raw)
}

// errorStatus returns the HTTP status of an error of the stateless era
// (basic/transports/streamable-http#sending-messages).
func errorStatus(code int) int {
	switch code {
	case spec.MethodNotFound:
		return http.StatusNotFound
	case spec.UnsupportedVersion, spec.MissingClientCapability:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
