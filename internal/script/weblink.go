package script

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A webLink is a link over HTTP: a session, or all that is said to a server without
// any. What the client posts is handled one after another, as over stdio. What
// the server says of itself goes on a stream that the client opened by GET; where
// it has none, on that of its next request, which is served after it.
type webLink struct {
	web    *web
	conn   *Conn
	id     string
	legacy bool // the server is of the handshake era

	mu       sync.Mutex
	n        int             // exchanges so far
	posts    map[int]*stream // that ask for an answer
	refused  map[int]bool    // exchanges that were answered by a status alone
	now      *stream         // whose message is handled; nil for one that asks nothing
	standing []*stream       // that the client opened by GET, or the one of HTTP+SSE
	only     *stream         // of HTTP+SSE
	backlog  [][]byte        // what is to be said on the next stream
	begun    bool            // the client sent initialize
	agreed   bool            // which was answered with a result
	rev      spec.Revision   // that this came to

	once   sync.Once
	over   chan struct{} // closed once the client will say no more
	what   string
	closed bool
}

// begin notes that the client opens the session, and tells whether it had before.
func (l *webLink) begin() (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, l.begun = l.begun, true
	return before
}

// hasSession tells whether initialize was answered with a result.
func (l *webLink) hasSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agreed
}

func (l *webLink) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

func (l *webLink) end(what string, closed bool) {
	l.once.Do(func() {
		l.what, l.closed = what, closed
		close(l.over)
	})
}

func (l *webLink) hang() { l.end("the server closed the session", false) }

func (l *webLink) ended() (string, bool) {
	select {
	case <-l.over:
		return l.what, l.closed
	default: // the client said more than is kept
		return "the client was left", false
	}
}

// read waits for the end: what the client says is heard where it is posted.
func (l *webLink) read(c *Conn) {
	<-l.over
	c.finish()
}

// record records a frame of the transport alone.
func (l *webLink) record(from wire.Role, h *wire.HTTP) int {
	at, _ := l.conn.Add(wire.Frame{From: from, HTTP: h})
	return at
}

func (l *webLink) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return l.n
}

// asks tells whether a message holds a request.
func asks(m wire.Message) bool {
	return slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
}

// post takes a message over streamable HTTP, and answers it.
func (l *webLink) post(out http.ResponseWriter, r *http.Request, m wire.Message) {
	h := request(r)
	h.Exchange = l.next()
	l.mu.Lock()
	early := l.legacy && !l.begun
	l.refused[h.Exchange] = early
	var s *stream
	if asks(m) && !early {
		s = newStream(h.Exchange)
		l.posts[h.Exchange] = s
	}
	l.mu.Unlock()
	if _, more := l.conn.hear(wire.Frame{From: wire.Client, Raw: m.Raw, HTTP: h}); !more {
		http.Error(out, "the session is over", http.StatusNotFound)
		return
	}
	switch {
	case early:
		// A server of the handshake era has nothing to say to a client without a
		// session, and no error of the other era.
		l.status(out, h.Exchange, http.StatusBadRequest, "Bad Request: no session was initialized")
	case m.Kind == wire.Invalid:
		l.status(out, h.Exchange, http.StatusBadRequest, "Bad Request: this is no message")
	case s == nil:
		l.status(out, h.Exchange, http.StatusAccepted, "")
	default:
		l.carry(out, r, s)
	}
}

// status answers by a status alone.
func (l *webLink) status(out http.ResponseWriter, exchange, status int, text string) {
	x := &wire.HTTP{Exchange: exchange, Status: status, Body: text, Header: map[string][]string{}}
	if text != "" {
		out.Header().Set("Content-Type", "text/plain; charset=utf-8")
		x.Header["Content-Type"] = []string{"text/plain; charset=utf-8"}
	}
	l.record(wire.Server, x)
	out.WriteHeader(status)
	_, _ = out.Write([]byte(text)) // who cannot be written to has left
}

// turnAway records a request of HTTP that is refused by its method.
func (l *webLink) turnAway(out http.ResponseWriter, r *http.Request, status int) {
	h := request(r)
	h.Exchange = l.next()
	l.record(wire.Client, h)
	out.Header().Set("Allow", http.MethodPost)
	l.status(out, h.Exchange, status, "")
}

// delete ends the session.
func (l *webLink) delete(out http.ResponseWriter, r *http.Request) {
	h := request(r)
	h.Exchange = l.next()
	l.record(wire.Client, h)
	l.status(out, h.Exchange, http.StatusOK, "")
	l.web.forget(l)
	l.end("the client ended the session by DELETE", true)
}

func (w *web) forget(l *webLink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, l.id)
}

// listen opens a stream for what the server says of itself.
func (l *webLink) listen(out http.ResponseWriter, r *http.Request) {
	h := request(r)
	h.Exchange = l.next()
	l.record(wire.Client, h)
	s := newStream(h.Exchange)
	l.stand(s)
	defer l.leave(s)
	l.carry(out, r, s)
}

// stand makes a stream one of those for what the server says of itself, and puts on
// it what has waited for one.
func (l *webLink) stand(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.begin(l)
	l.standing = append(l.standing, s)
	l.flush(s)
}

func (l *webLink) leave(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.standing = slices.DeleteFunc(l.standing, func(other *stream) bool { return other == s })
}

// flush puts what has waited on a stream; l.mu is held.
func (l *webLink) flush(s *stream) {
	for _, raw := range l.backlog {
		s.event(l, raw)
	}
	l.backlog = nil
}

// carryAll serves a connection of HTTP+SSE: its first event tells where messages
// are posted, and all that the server says follows.
func (l *webLink) carryAll(out http.ResponseWriter, r *http.Request) {
	h := request(r)
	h.Exchange = l.next()
	l.record(wire.Client, h)
	s := newStream(h.Exchange)
	s.name = "message"
	l.mu.Lock()
	l.only = s
	s.begin(l)
	s.endpoint(l, pathMessages+"?session="+l.id)
	l.mu.Unlock()
	l.carry(out, r, s)
	l.web.forget(l)
	l.end("the client closed the stream of the session", true)
}

// mail takes a message over HTTP+SSE.
func (l *webLink) mail(out http.ResponseWriter, r *http.Request, body []byte) {
	h := request(r)
	h.Exchange = l.next()
	if _, more := l.conn.hear(wire.Frame{From: wire.Client, Raw: body, HTTP: h}); !more {
		http.Error(out, "the session is over", http.StatusNotFound)
		return
	}
	l.status(out, h.Exchange, http.StatusAccepted, "")
}

// taking waits for a stream where something is to be said before the request that
// comes now is served; the client may just be opening one.
func (l *webLink) taking(c *Conn, e wire.Entry) (serve bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.posts[e.HTTP.Exchange]
	if !l.legacy && l.only == nil { // of one that serves both eras each request tells its own
		if c.Rev = c.server.Rev; l.agreed && !namesEra(e.Message) {
			c.Rev = l.rev
		}
	}
	if l.refused[e.HTTP.Exchange] {
		return false
	}
	if l.now == nil || len(l.backlog) == 0 {
		return true
	}
	l.mu.Unlock()
	c.awaitQuiet(l.over, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.backlog) == 0
	})
	l.mu.Lock()
	l.flush(l.now)
	return true
}

func (l *webLink) taken(*Conn, wire.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = nil
}

// send puts a message where it belongs.
func (l *webLink) send(c *Conn, raw []byte) (index int) {
	m := wire.Parse(raw)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.only != nil:
		return l.only.event(l, raw)
	case l.now != nil && (m.IsResponse() || m.Kind == wire.Batch):
		return l.answer(c, m)
	case len(l.standing) > 0:
		return l.standing[len(l.standing)-1].event(l, raw)
	case l.now != nil:
		return l.now.event(l, raw)
	}
	l.backlog = append(l.backlog, raw)
	return c.Len()
}

// answer completes the exchange of a request: as JSON, or as a stream where one was
// begun, and for what a client calls, so that it meets both
// (basic/transports#sending-messages-to-the-server). l.mu is held.
func (l *webLink) answer(c *Conn, m wire.Message) (index int) {
	s := l.now
	header := http.Header{}
	if m.Result().Get("protocolVersion").Exists() && !c.Rev.Facts().Stateless {
		l.agreed, l.rev = true, c.Rev
		header.Set("Mcp-Session-Id", l.id)
	}
	if s.begun || m.Result().Get("content").Exists() || m.Result().Get("messages").Exists() {
		s.begin(l)
		index = s.event(l, m.Raw)
		s.finish(l)
		return index
	}
	status := http.StatusOK
	if code, failed := m.Code(); failed && c.Rev.Facts().Stateless {
		status = statusOf(code)
	}
	return s.whole(l, status, header, m.Raw)
}

// statusOf is the status that goes with an error of the stateless era
// (basic/transports/streamable-http#sending-messages).
func statusOf(code int) int {
	switch code {
	case spec.MethodNotFound:
		return http.StatusNotFound
	case spec.UnsupportedVersion, spec.MissingClientCapability:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// awaitQuiet waits for something that happens beside the messages, at most for the
// window.
func (c *Conn) awaitQuiet(over <-chan struct{}, happened func() bool) {
	limit := time.NewTimer(c.opts.Window)
	defer limit.Stop()
	look := time.NewTicker(max(c.opts.Window/20, time.Millisecond))
	defer look.Stop()
	for !happened() {
		select {
		case <-look.C:
		case <-limit.C:
			return
		case <-over:
			return
		}
	}
}
