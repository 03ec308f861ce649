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
func (h *HTTPHandler) servePost(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, "application/json", "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, "The client must accept application/json and text/event-stream")
		return
	}
	body, ok := h.readJSON(w, r)
	if !ok {
		return
	}
	m := wire.Parse(body)
	if !h.authorization.checkScopes(w, r, m) {
		return
	}
	switch {
	case h.isStateless(r, m):
		h.postStateless(w, r, m)
	case h.options.HTTP.SessionLess:
		h.postWithoutSession(w, r, m)
	default:
		h.postInSession(w, r, m)
	}
}

// body reads the body of a POST, or refuses it.
func (h *HTTPHandler) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if !isJSON(r) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, "The body must be application/json in UTF-8")
		return nil, false
	}
	return h.readBody(w, r)
}

// read reads a body of any kind, or refuses it. What goes on for long behind it has
// no deadline any more.
func (h *HTTPHandler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.options.HTTP.MaxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuseHTTP(w, http.StatusRequestEntityTooLarge, "The body is longer than %d bytes", long.Limit)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuseHTTP(w, http.StatusRequestTimeout, "The body did not come within %s", h.options.HTTP.Slow)
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
func (h *HTTPHandler) isStateless(r *http.Request, m wire.Message) bool {
	params, _ := decode(m.Params().Raw)
	switch {
	case h.statelessConn == nil:
		return false
	case h.handshakeRevisions() == 0, carriesProtocolFields(params):
		return true
	case m.Kind == wire.Request && m.Method() == "initialize":
		return false
	case spec.Stateless.Has(versionHeader(r)):
		return true
	}
	return m.Kind == wire.Request && versionHeader(r) == "" && h.requestedSessionID(r) == "" &&
		!h.statelessConn.hasMethod(m.Method(), spec.Handshake) && h.statelessConn.hasMethod(m.Method(), spec.Stateless)
}

// stateless serves a POST of a stateless revision. It mints no session, and
// ignores one that is named
// (basic/transports/streamable-http#earlier-streamable-http-revisions).
func (h *HTTPHandler) postStateless(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if m.IsResponse() {
		// basic/transports/streamable-http#sending-messages: clients send none.
		h.refuseMessage(w, http.StatusBadRequest, m, newError(spec.InvalidRequest, "This revision has no responses of clients"))
		return
	}
	x := &exchange{stateless: true, stream: newStream(), keyPrefix: fmt.Sprintf("%d ", h.postCount.Add(1))}
	h.serveExchange(h.statelessConn, x, w, r, m, func(p *responder) { p.sessionLostStatus = http.StatusServiceUnavailable })
}

// inSession serves a POST of a handshake revision: initialize opens a session,
// anything else names it (basic/transports#session-management).
func (h *HTTPHandler) postInSession(w http.ResponseWriter, r *http.Request, m wire.Message) {
	initial := m.Kind == wire.Request && m.Method() == "initialize" && h.requestedSessionID(r) == ""
	if initial {
		if e := h.checkVersionHeader(r, ""); e != nil {
			h.refuseMessage(w, http.StatusBadRequest, m, e)
			return
		}
	}
	var s *httpSession
	if !initial {
		if s = h.requireSession(w, r, m); s == nil {
			return
		}
	} else if s = h.openSession(h.optionsFor(streamableRevisions), grantOf(r).Subject, false); s == nil {
		w.Header().Set("Retry-After", "1")
		h.refuseMessage(w, http.StatusServiceUnavailable, m, newError(spec.InternalError, "Too many sessions are open"))
		return
	}
	s.beginRequest()
	defer s.endRequest()
	x := &exchange{stream: s.newStream("p")}
	x.canPoll = x.stream.primed
	h.serveExchange(s.conn, x, w, r, m, func(p *responder) {
		p.sessionLostStatus = http.StatusNotFound
		p.beforeStream = func() {
			x.stream.primed = pollingRevisions.Has(s.conn.session.Revision()) // which initialize may have settled
			s.keepStream(x.stream)
		}
		p.setHeaders = func(stream bool) {
			opens := s.conn.session.Revision() != "" || stream && !x.stream.isEnded() // where that is not yet known
			if initial && opens {
				w.Header().Set("Mcp-Session-Id", s.id)
			}
		}
	})
	if initial && x.stream.isEnded() && s.conn.session.Revision() == "" {
		h.endSession(s) // initialize was refused
	}
}

// alone serves a POST of a handshake revision without any session: each stands
// for itself, at the revision of its header
// (basic/transports#protocol-version-header).
func (h *HTTPHandler) postWithoutSession(w http.ResponseWriter, r *http.Request, m wire.Message) {
	initial := m.Kind == wire.Request && m.Method() == "initialize"
	if e := h.checkVersionHeader(r, ""); e != nil && !(initial && len(r.Header.Values("MCP-Protocol-Version")) == 0) {
		h.refuseMessage(w, http.StatusBadRequest, m, e)
		return
	}
	ctx, stop := context.WithCancelCause(h.ctx)
	c := newConn(ctx, stop, func(f Frame) {
		for _, s := range h.route(f, Places{Own: postStream(f)}) {
			s.append(f)
		}
	}, h.optionsFor(streamableRevisions))
	c.features.removeSessionCapabilities()
	if !initial {
		v := versionHeader(r)
		if v == "" {
			v = spec.V2025_03_26
		}
		c.session.Open(v, Peer{})
		c.session.setReady()
	}
	x := &exchange{stream: newStream()}
	h.serveExchange(c, x, w, r, m, func(p *responder) { p.sessionLostStatus = http.StatusServiceUnavailable })
	h.runInBackground(func() {
		defer stop(errStopped)
		defer c.drain()
		for l := x.stream.state(0, 0); !l.ended; l = x.stream.state(0, 0) { // the client left, which cancels nothing
			select {
			case <-l.change:
			case <-h.closing:
				return
			case <-ctx.Done():
				return
			}
		}
	})
}

// later does what is left to do behind an answer, which Close waits for.
func (h *HTTPHandler) runInBackground(work func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		go work() // which ends by itself, since no more requests are taken
		return
	}
	h.work.Go(work)
}

// forgetSessions takes back what can only be kept in a session.
func (l *Library) removeSessionCapabilities() {
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
func (h *HTTPHandler) serveExchange(c *conn, x *exchange, w http.ResponseWriter, r *http.Request, m wire.Message, with func(*responder)) {
	if e := requestProblem(m); e != nil && isUnanswerable(m) {
		// basic/transports#sending-messages-to-the-server: what cannot be
		// accepted is told by the status.
		x.stream.end()
		h.refuseMessage(w, http.StatusBadRequest, m, e)
		return
	}
	x.header, x.needsAnswer = r.Header, mayNeedAnswer(m)
	x.authorization, x.subject = h.authorization, grantOf(r).Subject
	gone := context.AfterFunc(r.Context(), func() { h.clientLeft(x.stateless, func() { x.cancelJobs(c) }) })
	defer gone()
	ctx := c.ctx // a client that leaves has its messages handled all the same
	if x.stateless {
		ctx = r.Context()
	}
	c.receivePost(ctx, x, m.Raw)
	p := responder{
		streamWriter: h.newStreamWriter(w, r, c),
		preferStream: h.options.HTTP.PreferSSE,
		setHeaders:   func(bool) {},
		beforeStream: func() {},
	}
	if x.canPoll {
		p.pollAfter = h.options.HTTP.Hold
	}
	with(&p)
	x.respond(p)
	if x.stateless && !x.isComplete() {
		// The client left, maybe before there was anything to cancel, or it fell
		// behind by so much that its stream was cut off
		// (basic/transports/streamable-http#cancellation).
		h.clientLeft(true, func() { x.cancelJobs(c) })
	}
}

// carrier returns what carries streams of a connection to a client.
func (h *HTTPHandler) newStreamWriter(w http.ResponseWriter, r *http.Request, c *conn) streamWriter {
	return streamWriter{
		w: w, clientGone: r.Context().Done(), serverDone: c.ctx.Done(), encodeEvent: h.encodeEvent,
		keepAlive: h.options.HTTP.KeepAlive, retry: h.options.HTTP.Retry, writeLimit: h.options.HTTP.Slow,
	}
}

// asks tells whether anything in the body may have to be answered.
func mayNeedAnswer(m wire.Message) bool {
	if m.Kind == wire.Batch {
		return slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
	}
	return m.Kind != wire.Notification && !m.IsResponse()
}

// unsupported tells what is wrong with the version that the header names, or
// nil: it must be one that is spoken here, from the revisions on that have the
// header (basic/transports#protocol-version-header). negotiated is that of the
// session, "" for none.
func (h *HTTPHandler) checkVersionHeader(r *http.Request, negotiated spec.Revision) *Error {
	v := versionHeader(r)
	switch {
	case negotiated != "" && !versionHeaderRevisions.Has(negotiated):
		return nil
	case v == "" && negotiated == "" && h.options.HTTP.SessionLess && !h.handshakeRevisions().Has(spec.V2025_03_26):
		return newError(spec.InvalidRequest, "The header MCP-Protocol-Version is missing")
	case len(r.Header.Values("MCP-Protocol-Version")) == 0, (h.options.Revisions & streamableRevisions).Has(v):
		return nil
	}
	e := newError(spec.InvalidRequest, "The version in MCP-Protocol-Version is not spoken here")
	if h.statelessConn != nil && negotiated == "" {
		e.Code = spec.UnsupportedVersion // to a client of either era
		e.Data = Object{"supported": h.statelessConn.versions(), "requested": clip(string(v))}
	}
	return e
}

// versioned are the revisions in which requests name their version in a header.
var versionHeaderRevisions = spec.Since(spec.V2025_06_18)

// sessionOf returns the session that a request names, or refuses it: 400 where
// it names none, 404 where it names one that is not
// (basic/transports#session-management).
func (h *HTTPHandler) requireSession(w http.ResponseWriter, r *http.Request, m wire.Message) *httpSession {
	id := h.requestedSessionID(r)
	if id == "" {
		e := h.checkVersionHeader(r, "")
		if e == nil {
			e = newError(spec.InvalidRequest, "The header Mcp-Session-Id is missing")
		}
		h.refuseMessage(w, http.StatusBadRequest, m, e)
		return nil
	}
	s := h.findSession(id)
	if s != nil && s.sseStream == nil && s.conn.ctx.Err() != nil { // it has failed
		h.endSession(s)
		s = nil
	}
	if s == nil || s.sseStream != nil || !h.authorization.isUsableBy(BoundSession, s.owner, grantOf(r).Subject) {
		h.refuseMessage(w, http.StatusNotFound, m, newError(spec.InvalidRequest, "There is no such session, or it has ended"))
		return nil
	}
	if e := h.checkVersionHeader(r, s.conn.session.Revision()); e != nil {
		h.refuseMessage(w, http.StatusBadRequest, m, e)
		return nil
	}
	return s
}

// refuse answers a message by an error, with its id if it is a request that
// has one.
func (h *HTTPHandler) refuseMessage(w http.ResponseWriter, status int, m wire.Message, e *Error) {
	id := wire.ID{}
	if m.Kind == wire.Request && m.ID().Usable() {
		id = m.ID()
	}
	writeJSON(w, status, errorMessage(id, e))
}
