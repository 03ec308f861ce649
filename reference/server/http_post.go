package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// servePost serves one POST to /mcp, in the era of its message
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
	case h.options.HTTP.Sessionless:
		h.postWithoutSession(w, r, m)
	default:
		h.postInSession(w, r, m)
	}
}

// isStateless reports whether a POST is of a stateless revision: if its message
// carries protocol fields or its header names one, unless the message is an
// initialize; and if neither a version nor a session is named, if only stateless
// revisions have the method.
func (h *HTTPHandler) isStateless(r *http.Request, m wire.Message) bool {
	switch {
	case h.statelessConn == nil:
		return false
	case h.handshakeRevisions() == 0, hasProtocolFields(m.Params()):
		return true
	case m.Kind == wire.Request && m.Method() == "initialize":
		return false
	case spec.Stateless.Has(versionHeader(r)):
		return true
	}
	return m.Kind == wire.Request && versionHeader(r) == "" && sessionIDHeader(r) == "" &&
		h.statelessConn.isStatelessOnly(m.Method())
}

// postStateless serves a POST of a stateless revision. It creates no session, and
// ignores one that is named
// (basic/transports/streamable-http#earlier-streamable-http-revisions).
func (h *HTTPHandler) postStateless(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if m.IsResponse() {
		// basic/transports/streamable-http#sending-messages: clients send none.
		problem := newError(spec.InvalidRequest, "This revision has no responses of clients")
		refuseMessage(w, http.StatusBadRequest, m, problem)
		return
	}
	x := &exchange{stateless: true, stream: newStream(), keyPrefix: fmt.Sprintf("%d ", h.postCount.Add(1))}
	h.serveExchange(h.statelessConn, x, w, r, m, func(p *responder) {
		p.sessionLostStatus = http.StatusServiceUnavailable
	})
}

// postInSession serves a POST of a handshake revision: initialize opens a session,
// any other message names it (basic/transports#session-management).
func (h *HTTPHandler) postInSession(w http.ResponseWriter, r *http.Request, m wire.Message) {
	opens := isInitialize(m) && sessionIDHeader(r) == ""
	var s *httpSession
	if opens {
		s = h.openInitialSession(w, r, m)
	} else {
		s = h.requireSession(w, r, m)
	}
	if s == nil {
		return
	}
	s.beginRequest()
	defer s.endRequest()
	x := &exchange{stream: s.newStream("p")}
	x.canPoll = x.stream.primed
	session := s.conn.session
	h.serveExchange(s.conn, x, w, r, m, func(p *responder) {
		p.sessionLostStatus = http.StatusNotFound
		p.beforeStream = func() {
			x.stream.primed = pollingRevisions.Has(session.Revision()) // initialize may have negotiated it
			s.keepStream(x.stream)
		}
		p.setHeaders = func(stream bool) {
			// The headers of a stream are sent before initialize is answered.
			opened := session.Revision() != "" || stream && !x.stream.isEnded()
			if opens && opened {
				w.Header().Set("Mcp-Session-Id", s.id)
			}
		}
	})
	if opens && x.stream.isEnded() && session.Revision() == "" {
		h.endSession(s) // initialize was refused
	}
}

// openInitialSession opens the session of an initialize, or refuses it.
func (h *HTTPHandler) openInitialSession(w http.ResponseWriter, r *http.Request, m wire.Message) *httpSession {
	if e := h.checkVersionHeader(r, ""); e != nil {
		refuseMessage(w, http.StatusBadRequest, m, e)
		return nil
	}
	s := h.openSession(h.optionsFor(streamableRevisions), grantOf(r).Subject, false)
	if s == nil {
		w.Header().Set("Retry-After", "1")
		refuseMessage(w, http.StatusServiceUnavailable, m, newError(spec.InternalError, "Too many sessions are open"))
	}
	return s
}

// postWithoutSession serves a POST of a handshake revision on a connection of its
// own, at the revision of its header (basic/transports#protocol-version-header).
func (h *HTTPHandler) postWithoutSession(w http.ResponseWriter, r *http.Request, m wire.Message) {
	hasVersion := len(r.Header.Values("MCP-Protocol-Version")) > 0
	if e := h.checkVersionHeader(r, ""); e != nil && (hasVersion || !isInitialize(m)) {
		refuseMessage(w, http.StatusBadRequest, m, e)
		return
	}
	c := h.newSessionlessConn()
	c.features.removeSessionCapabilities()
	if !isInitialize(m) {
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
		defer c.stop(errStopped)
		defer c.drain()
		// A client that left has not cancelled its request.
		for s := x.stream.state(0, 0); !s.ended; s = x.stream.state(0, 0) {
			select {
			case <-s.change:
			case <-h.closing:
				return
			case <-c.ctx.Done():
				return
			}
		}
	})
}

// serveExchange receives the body of a POST on a connection and writes the messages
// that belong to it. configure sets what is particular to the responder.
func (h *HTTPHandler) serveExchange(
	c *conn, x *exchange, w http.ResponseWriter, r *http.Request, m wire.Message, configure func(*responder),
) {
	if e := requestProblem(m); e != nil && isUnanswerable(m) {
		// basic/transports#sending-messages-to-the-server: the status reports that
		// the message is not accepted.
		x.stream.end()
		refuseMessage(w, http.StatusBadRequest, m, e)
		return
	}
	x.header, x.needsAnswer = r.Header, mayNeedAnswer(m)
	x.authorization, x.subject = h.authorization, grantOf(r).Subject
	stop := context.AfterFunc(r.Context(), func() { h.clientLeft(x.stateless, func() { x.cancelJobs(c) }) })
	defer stop()
	ctx := c.ctx // messages of a client that left are handled in the handshake revisions
	if x.stateless {
		ctx = r.Context()
	}
	c.receivePost(ctx, x, m)
	p := responder{
		streamWriter: h.newStreamWriter(w, r, c),
		preferStream: h.options.HTTP.PreferSSE,
		setHeaders:   func(bool) {},
		beforeStream: func() {},
	}
	if x.canPoll {
		p.pollAfter = h.options.HTTP.PollAfter
	}
	configure(&p)
	x.respond(p)
	if x.stateless && !x.isComplete() {
		// The client left, maybe before there was a job to cancel, or it fell so far
		// behind that its stream ended
		// (basic/transports/streamable-http#cancellation).
		h.clientLeft(true, func() { x.cancelJobs(c) })
	}
}

func isInitialize(m wire.Message) bool { return m.Kind == wire.Request && m.Method() == "initialize" }

// mayNeedAnswer reports whether a part of the body may have to be answered.
func mayNeedAnswer(m wire.Message) bool {
	if m.Kind == wire.Batch {
		return slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
	}
	return m.Kind != wire.Notification && !m.IsResponse()
}

// refuseMessage answers a message by an error, with its id if it is a request that
// has one.
func refuseMessage(w http.ResponseWriter, status int, m wire.Message, e *Error) {
	id := wire.ID{}
	if m.Kind == wire.Request && m.ID().IsValid() {
		id = m.ID()
	}
	writeJSON(w, status, errorMessage(id, e))
}
