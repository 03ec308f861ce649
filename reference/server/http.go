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

// streamable are the revisions that have streamable HTTP, with sessions or
// without; HTTP+SSE is of the one before them (basic/transports of each).
var (
	streamableRevisions = spec.Since(spec.V2025_03_26)
	sseRevisions        = spec.Only(spec.V2024_11_05)
)

// A Web serves all revisions over HTTP: streamable HTTP of both eras on /mcp,
// and HTTP+SSE on /sse, for who has to do with older clients
// (basic/transports#backwards-compatibility).
type HTTPHandler struct {
	options       Options
	ctx           context.Context
	stop          context.CancelCauseFunc
	handler       http.Handler
	statelessConn *conn // which all stateless requests share; nil if none are served

	newSessionID       func() string
	requestedSessionID func(r *http.Request) string
	route              Router
	replay             Replayer
	encodeEvent        Eventer
	clientLeft         Leaver
	authorization      *authorization // nil where everybody is served
	postCount          atomic.Int64

	mu       sync.Mutex
	sessions map[string]*httpSession
	closed   bool
	closing  chan struct{}  // closed when no more requests are taken
	work     sync.WaitGroup // connections that are ending
}

// NewWeb returns a server that its caller lets listen, and closes.
func NewWeb(o Options) *HTTPHandler {
	o.complete()
	o.HTTP.complete()
	ctx, stop := context.WithCancelCause(context.Background())
	h := &HTTPHandler{
		options: o, ctx: ctx, stop: stop, sessions: map[string]*httpSession{}, closing: make(chan struct{}),
		newSessionID:       wrapped(rand.Text, o.HTTP.Mint),
		requestedSessionID: wrapped(sessionIDHeader, o.HTTP.Lookup),
		route:              wrapped[Router](routeFrame, o.HTTP.Route),
		replay:             wrapped[Replayer](replayMissed, o.HTTP.Replay),
		encodeEvent:        wrapped[Eventer](encodeEvent, o.HTTP.Event),
		clientLeft:         wrapped[Leaver](cancelIfStateless, o.HTTP.Disconnect),
	}
	h.authorization = newAuthorization(o.HTTP.Guard, o.HTTP.Hosts)
	h.handler = wrapped[http.Handler](http.HandlerFunc(h.serve), o.HTTP.Middleware)
	if o.Revisions&spec.Stateless != 0 {
		shared := h.optionsFor(streamableRevisions)
		ctx, stop := context.WithCancelCause(h.ctx)
		h.statelessConn = newConn(ctx, stop, func(f Frame) {
			for _, s := range h.route(f, Places{Own: postStream(f)}) {
				s.append(f)
			}
		}, shared)
		h.statelessConn.start()
	}
	return h
}

// optionsFor returns the options for the revisions of an endpoint.
func (h *HTTPHandler) optionsFor(in spec.Set) Options {
	o := h.options
	o.Revisions &= in
	return o
}

// spoken are the handshake revisions that /mcp speaks.
func (h *HTTPHandler) handshakeRevisions() spec.Set {
	return h.options.Revisions & streamableRevisions & spec.Handshake
}

// ServeHTTP answers one HTTP request.
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

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
	// Of a server without sessions a GET or DELETE wants what it has not.
	lacking := h.handshakeRevisions() == 0 || h.options.HTTP.SessionLess || spec.Stateless.Has(versionHeader(r))
	switch {
	case r.Method == http.MethodPost:
		h.servePost(w, r)
	case r.Method == http.MethodGet && !lacking:
		h.serveGet(w, r)
	case r.Method == http.MethodDelete && !lacking:
		h.serveDelete(w, r)
	case lacking:
		refuseMethod(w, "POST")
	default:
		refuseMethod(w, "GET, POST, DELETE")
	}
}

// version is the one that a request names in its header, "" for none.
func versionHeader(r *http.Request) spec.Revision {
	return spec.Revision(r.Header.Get("MCP-Protocol-Version"))
}

func refuseMethod(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	refuseHTTP(w, http.StatusMethodNotAllowed, "This is done with %s here", methods)
}

// refuseHTTP answers what is refused before any message is made out, by an
// error without id (basic/transports#sending-messages-to-the-server).
func refuseHTTP(w http.ResponseWriter, status int, format string, args ...any) {
	writeJSON(w, status, errorMessage(wire.ID{}, newError(spec.InvalidRequest, format, args...)))
}

// Close ends all sessions and streams: what is quickly done is still answered,
// and subscriptions are told. It returns when all work has ended, or a moment
// after work that does not end.
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
