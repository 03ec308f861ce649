package server

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// streamableRevisions are the revisions that have streamable HTTP, with sessions or
// without; sseRevisions has the one before them, with HTTP+SSE (basic/transports of
// each).
var (
	streamableRevisions = spec.Since(spec.V2025_03_26)
	sseRevisions        = spec.Only(spec.V2024_11_05)
)

// The paths of the endpoints.
const (
	pathMCP      = "/mcp"
	pathSSE      = "/sse"
	pathMessages = "/messages"
)

// An HTTPHandler serves all revisions over HTTP: streamable HTTP of both eras on
// /mcp, and HTTP+SSE on /sse for older clients
// (basic/transports#backwards-compatibility).
type HTTPHandler struct {
	options       Options
	ctx           context.Context
	stop          context.CancelCauseFunc
	handler       http.Handler
	statelessConn *conn // shared by all stateless requests; nil if none are served

	newSessionID  func() string
	route         Router
	replay        Replayer
	encodeEvent   EventEncoder
	clientLeft    DisconnectHandler
	authorization *authorization // nil: no tokens are required
	postCount     atomic.Int64

	mu       sync.Mutex
	sessions map[string]*httpSession
	closed   bool
	closing  chan struct{}  // closed when no more requests are taken
	work     sync.WaitGroup // connections that are ending
}

// NewHTTPHandler returns a handler. The caller serves it, and closes it at the end.
func NewHTTPHandler(o Options) *HTTPHandler {
	o.setDefaults()
	o.HTTP.setDefaults()
	ctx, stop := context.WithCancelCause(context.Background())
	h := &HTTPHandler{
		options: o, ctx: ctx, stop: stop, sessions: map[string]*httpSession{}, closing: make(chan struct{}),
		newSessionID:  wrapped(rand.Text, o.HTTP.NewSessionID),
		route:         wrapped[Router](routeFrame, o.HTTP.Route),
		replay:        wrapped[Replayer](replayMissed, o.HTTP.Replay),
		encodeEvent:   wrapped[EventEncoder](encodeEvent, o.HTTP.EncodeEvent),
		clientLeft:    wrapped[DisconnectHandler](cancelIfStateless, o.HTTP.Disconnect),
		authorization: newAuthorization(o.HTTP.Authorization, o.HTTP.AllowedHosts),
	}
	h.handler = wrapped[http.Handler](http.HandlerFunc(h.serve), o.HTTP.Middleware)
	if o.Revisions&spec.Stateless != 0 {
		h.statelessConn = h.newSessionlessConn()
		h.statelessConn.start()
	}
	return h
}

// optionsFor returns the options with the revisions of an endpoint.
func (h *HTTPHandler) optionsFor(in spec.Set) Options {
	o := h.options
	o.Revisions &= in
	return o
}

// newSessionlessConn returns a connection of streamable HTTP whose messages belong
// to no session.
func (h *HTTPHandler) newSessionlessConn() *conn {
	ctx, stop := context.WithCancelCause(h.ctx)
	return newConn(ctx, stop, func(f Frame) {
		for _, s := range h.route(f, OpenStreams{Own: postStream(f)}) {
			s.append(f)
		}
	}, h.optionsFor(streamableRevisions))
}

// handshakeRevisions returns the handshake revisions that /mcp speaks.
func (h *HTTPHandler) handshakeRevisions() spec.Set {
	return h.options.Revisions & streamableRevisions & spec.Handshake
}

// ServeHTTP answers one HTTP request.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

// serve is the conforming part of ServeHTTP.
func (h *HTTPHandler) serve(w http.ResponseWriter, r *http.Request) {
	w = h.withDeadlines(w, r)
	select {
	case <-h.closing:
		refuseHTTP(w, http.StatusServiceUnavailable, "The library closes")
		return
	default:
	}
	if why := h.foreignCaller(r); why != "" {
		refuseHTTP(w, http.StatusForbidden, "%s", why)
		return
	}
	if r = h.authorization.authenticate(w, r); r == nil {
		return
	}
	sse := h.options.Revisions&sseRevisions != 0
	switch {
	case r.URL.Path == pathMCP && h.options.Revisions&streamableRevisions != 0:
		h.serveMCP(w, r)
	case r.URL.Path == pathSSE && sse:
		h.serveSSE(w, r)
	case r.URL.Path == pathMessages && sse:
		h.serveSSEMessage(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (h *HTTPHandler) serveMCP(w http.ResponseWriter, r *http.Request) {
	// GET and DELETE need a session, which some servers do not have.
	withoutSessions := h.handshakeRevisions() == 0 || h.options.HTTP.Sessionless ||
		spec.Stateless.Has(versionHeader(r))
	switch {
	case r.Method == http.MethodPost:
		h.servePost(w, r)
	case r.Method == http.MethodGet && !withoutSessions:
		h.serveGet(w, r)
	case r.Method == http.MethodDelete && !withoutSessions:
		h.serveDelete(w, r)
	case withoutSessions:
		refuseMethod(w, "POST")
	default:
		refuseMethod(w, "GET, POST, DELETE")
	}
}

// versionHeader returns the version that a request names in its header, "" for
// none.
func versionHeader(r *http.Request) spec.Revision {
	return spec.Revision(r.Header.Get("MCP-Protocol-Version"))
}

// refuseMethod refuses a request whose HTTP method is not one of the given.
func refuseMethod(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	refuseHTTP(w, http.StatusMethodNotAllowed, "This is done with %s here", methods)
}

// refuseHTTP refuses a request before its message is parsed, by an error without id
// (basic/transports#sending-messages-to-the-server).
func refuseHTTP(w http.ResponseWriter, status int, format string, args ...any) {
	writeJSON(w, status, errorMessage(wire.ID{}, newError(spec.InvalidRequest, format, args...)))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client has left
}

// runInBackground runs work that continues after an answer. Close waits for it.
func (h *HTTPHandler) runInBackground(work func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		go work() // ends by itself, since no more requests are taken
		return
	}
	h.work.Go(work)
}

// Close ends all sessions and streams: requests that end within the grace period
// are answered, and subscriptions get their final result. It returns when all work
// has ended, or after the grace period.
func (h *HTTPHandler) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	close(h.closing)
	for _, s := range h.sessions {
		h.work.Go(s.close)
	}
	h.sessions = map[string]*httpSession{}
	h.mu.Unlock()
	if h.statelessConn != nil {
		h.statelessConn.drain()
	}
	h.work.Wait()
	h.stop(errStopped)
}
