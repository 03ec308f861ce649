package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// post takes the messages of one POST to /mcp, in the era that it opens in
// (basic/versioning#backward-compatibility-with-initialization-based-versions).
func (h *Web) post(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, "application/json", "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, "The client must accept application/json and text/event-stream")
		return
	}
	body, ok := h.body(w, r)
	if !ok {
		return
	}
	m := wire.Parse(body)
	if !h.guard.permits(w, r, m) {
		return
	}
	switch {
	case h.isModern(r, m):
		h.stateless(w, r, m)
	case h.o.HTTP.SessionLess:
		h.alone(w, r, m)
	default:
		h.inSession(w, r, m)
	}
}

// body reads the body of a POST, or refuses it.
func (h *Web) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if !isJSON(r) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, "The body must be application/json in UTF-8")
		return nil, false
	}
	return h.read(w, r)
}

// read reads a body of any kind, or refuses it. What goes on for long behind it has
// no deadline any more.
func (h *Web) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.HTTP.MaxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuseHTTP(w, http.StatusRequestEntityTooLarge, "The body is longer than %d bytes", long.Limit)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuseHTTP(w, http.StatusRequestTimeout, "The body did not come within %s", h.o.HTTP.Slow)
		return nil, false
	case err != nil:
		refuseHTTP(w, http.StatusBadRequest, "The body cannot be read")
		return nil, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, true
}

// isModern tells whether a POST is of a stateless revision: if its message
// carries protocol fields, or its header names one, but for an initialize; and
// where nothing tells of a session, if only stateless revisions have the method.
func (h *Web) isModern(r *http.Request, m wire.Message) bool {
	params, _ := decode(m.Params().Raw)
	switch {
	case h.commons == nil:
		return false
	case h.spoken() == 0, carriesProtocolFields(params):
		return true
	case m.Kind == wire.Request && m.Method() == "initialize":
		return false
	case spec.Stateless.Has(version(r)):
		return true
	}
	return m.Kind == wire.Request && version(r) == "" && h.lookup(r) == "" &&
		!h.commons.serves(m.Method(), spec.Handshake) && h.commons.serves(m.Method(), spec.Stateless)
}

// stateless serves a POST of a stateless revision. It mints no session, and
// ignores one that is named
// (basic/transports/streamable-http#earlier-streamable-http-revisions).
func (h *Web) stateless(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if m.IsResponse() {
		// basic/transports/streamable-http#sending-messages: clients send none.
		h.refuse(w, http.StatusBadRequest, m, errorf(spec.InvalidRequest, "This revision has no responses of clients"))
		return
	}
	x := &exchange{modern: true, stream: newStream(), prefix: fmt.Sprintf("%d ", h.counter.Add(1))}
	h.exchange(h.commons, x, w, r, m, func(p *responder) { p.lost = http.StatusServiceUnavailable })
}

// inSession serves a POST of a handshake revision: initialize opens a session,
// anything else names it (basic/transports#session-management).
func (h *Web) inSession(w http.ResponseWriter, r *http.Request, m wire.Message) {
	initial := m.Kind == wire.Request && m.Method() == "initialize" && h.lookup(r) == ""
	if initial {
		if e := h.unsupported(r, ""); e != nil {
			h.refuse(w, http.StatusBadRequest, m, e)
			return
		}
	}
	var s *webSession
	if !initial {
		if s = h.sessionOf(w, r, m); s == nil {
			return
		}
	} else if s = h.open(h.optionsFor(streamable), grantOf(r).Subject, false); s == nil {
		w.Header().Set("Retry-After", "1")
		h.refuse(w, http.StatusServiceUnavailable, m, errorf(spec.InternalError, "Too many sessions are open"))
		return
	}
	s.enter()
	defer s.exit()
	x := &exchange{stream: s.stream("p")}
	x.polls = x.stream.primed
	h.exchange(s.conn, x, w, r, m, func(p *responder) {
		p.lost = http.StatusNotFound
		p.kept = func() {
			x.stream.primed = polling.Has(s.conn.session.Revision()) // which initialize may have settled
			s.keep(x.stream)
		}
		p.head = func(stream bool) {
			opens := s.conn.session.Revision() != "" || stream && !x.stream.over() // where that is not yet known
			if initial && opens {
				w.Header().Set("Mcp-Session-Id", s.id)
			}
		}
	})
	if initial && x.stream.over() && s.conn.session.Revision() == "" {
		h.end(s) // initialize was refused
	}
}

// alone serves a POST of a handshake revision without any session: each stands
// for itself, at the revision of its header
// (basic/transports#protocol-version-header).
func (h *Web) alone(w http.ResponseWriter, r *http.Request, m wire.Message) {
	initial := m.Kind == wire.Request && m.Method() == "initialize"
	if e := h.unsupported(r, ""); e != nil && !(initial && len(r.Header.Values("MCP-Protocol-Version")) == 0) {
		h.refuse(w, http.StatusBadRequest, m, e)
		return
	}
	ctx, stop := context.WithCancelCause(h.ctx)
	c := newConn(ctx, stop, func(f Frame) {
		for _, s := range h.route(f, Places{Own: ownStream(f)}) {
			s.put(f)
		}
	}, h.optionsFor(streamable))
	c.library.forgetSessions()
	if !initial {
		v := version(r)
		if v == "" {
			v = spec.V2025_03_26
		}
		c.session.Open(v, Peer{})
		c.session.setReady()
	}
	x := &exchange{stream: newStream()}
	h.exchange(c, x, w, r, m, func(p *responder) { p.lost = http.StatusServiceUnavailable })
	h.later(func() {
		defer stop(errStopped)
		defer c.drain()
		for l := x.stream.look(0, 0); !l.ended; l = x.stream.look(0, 0) { // the client left, which cancels nothing
			select {
			case <-l.wake:
			case <-h.closing:
				return
			case <-ctx.Done():
				return
			}
		}
	})
}

// later does what is left to do behind an answer, which Close waits for.
func (h *Web) later(work func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		go work() // which ends by itself, since no more requests are taken
		return
	}
	h.work.Go(work)
}

// forgetSessions takes back what can only be kept in a session.
func (l *Library) forgetSessions() {
	delete(l.Capabilities, "tasks")
	delete(l.Capabilities, "logging")
	for _, name := range []string{"prompts", "resources", "tools"} {
		if _, ok := l.Capabilities[name]; ok {
			l.Capabilities[name] = Object{}
		}
	}
}

// exchange hands the body of a POST to a connection and responds with what is
// said to it.
func (h *Web) exchange(c *conn, x *exchange, w http.ResponseWriter, r *http.Request, m wire.Message, with func(*responder)) {
	if e := flaw(m); e != nil && silent(m) {
		// basic/transports#sending-messages-to-the-server: what cannot be
		// accepted is told by the status.
		x.stream.end()
		h.refuse(w, http.StatusBadRequest, m, e)
		return
	}
	x.header, x.asks = r.Header, asks(m)
	x.guard, x.subject = h.guard, grantOf(r).Subject
	gone := context.AfterFunc(r.Context(), func() { h.leave(x.modern, func() { x.cancel(c) }) })
	defer gone()
	ctx := c.ctx // a client that leaves has its messages handled all the same
	if x.modern {
		ctx = r.Context()
	}
	c.hand(ctx, x, m.Raw)
	p := responder{
		carrier: h.carrier(w, r, c),
		prefer:  h.o.HTTP.PreferSSE,
		head:    func(bool) {},
		kept:    func() {},
	}
	if x.polls {
		p.hold = h.o.HTTP.Hold
	}
	with(&p)
	x.respond(p)
	if x.modern && !x.done() {
		// The client left, maybe before there was anything to cancel, or it fell
		// behind by so much that its stream was cut off
		// (basic/transports/streamable-http#cancellation).
		h.leave(true, func() { x.cancel(c) })
	}
}

// carrier returns what carries streams of a connection to a client.
func (h *Web) carrier(w http.ResponseWriter, r *http.Request, c *conn) carrier {
	return carrier{
		w: w, gone: r.Context().Done(), over: c.ctx.Done(), event: h.event,
		keepAlive: h.o.HTTP.KeepAlive, retry: h.o.HTTP.Retry, slow: h.o.HTTP.Slow,
	}
}

// asks tells whether anything in the body may have to be answered.
func asks(m wire.Message) bool {
	if m.Kind == wire.Batch {
		return slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
	}
	return m.Kind != wire.Notification && !m.IsResponse()
}

// unsupported tells what is wrong with the version that the header names, or
// nil: it must be one that is spoken here, from the revisions on that have the
// header (basic/transports#protocol-version-header). negotiated is that of the
// session, "" for none.
func (h *Web) unsupported(r *http.Request, negotiated spec.Revision) *Error {
	v := version(r)
	switch {
	case negotiated != "" && !versioned.Has(negotiated):
		return nil
	case v == "" && negotiated == "" && h.o.HTTP.SessionLess && !h.spoken().Has(spec.V2025_03_26):
		return errorf(spec.InvalidRequest, "The header MCP-Protocol-Version is missing")
	case len(r.Header.Values("MCP-Protocol-Version")) == 0, (h.o.Revisions & streamable).Has(v):
		return nil
	}
	e := errorf(spec.InvalidRequest, "The version in MCP-Protocol-Version is not spoken here")
	if h.commons != nil && negotiated == "" {
		e.Code = spec.UnsupportedVersion // to a client of either era
		e.Data = Object{"supported": h.commons.versions(), "requested": clip(string(v))}
	}
	return e
}

// versioned are the revisions in which requests name their version in a header.
var versioned = spec.Since(spec.V2025_06_18)

// sessionOf returns the session that a request names, or refuses it: 400 where
// it names none, 404 where it names one that is not
// (basic/transports#session-management).
func (h *Web) sessionOf(w http.ResponseWriter, r *http.Request, m wire.Message) *webSession {
	id := h.lookup(r)
	if id == "" {
		e := h.unsupported(r, "")
		if e == nil {
			e = errorf(spec.InvalidRequest, "The header Mcp-Session-Id is missing")
		}
		h.refuse(w, http.StatusBadRequest, m, e)
		return nil
	}
	s := h.find(id)
	if s != nil && s.only == nil && s.conn.ctx.Err() != nil { // it has failed
		h.end(s)
		s = nil
	}
	if s == nil || s.only != nil || !h.guard.owned(BoundSession, s.owner, grantOf(r).Subject) {
		h.refuse(w, http.StatusNotFound, m, errorf(spec.InvalidRequest, "There is no such session, or it has ended"))
		return nil
	}
	if e := h.unsupported(r, s.conn.session.Revision()); e != nil {
		h.refuse(w, http.StatusBadRequest, m, e)
		return nil
	}
	return s
}

// refuse answers a message by an error, with its id if it is a request that
// has one.
func (h *Web) refuse(w http.ResponseWriter, status int, m wire.Message, e *Error) {
	id := wire.ID{}
	if m.Kind == wire.Request && m.ID().Usable() {
		id = m.ID()
	}
	writeJSON(w, status, failure(id, e))
}
