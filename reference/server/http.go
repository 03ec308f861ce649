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
	streamable = spec.Since(spec.V2025_03_26)
	ssing      = spec.Only(spec.V2024_11_05)
)

// A Web serves all revisions over HTTP: streamable HTTP of both eras on /mcp,
// and HTTP+SSE on /sse, for who has to do with older clients
// (basic/transports#backwards-compatibility).
type Web struct {
	o       Options
	ctx     context.Context
	stop    context.CancelCauseFunc
	handler http.Handler
	commons *conn // which all stateless requests share; nil if none are served

	mint    func() string
	lookup  func(r *http.Request) string
	route   Router
	replay  Replayer
	event   Eventer
	leave   Leaver
	guard   *protection // nil where everybody is served
	counter atomic.Int64

	mu       sync.Mutex
	sessions map[string]*webSession
	closed   bool
	closing  chan struct{}  // closed when no more requests are taken
	work     sync.WaitGroup // connections that are ending
}

// NewWeb returns a server that its caller lets listen, and closes.
func NewWeb(o Options) *Web {
	o.complete()
	o.HTTP.complete()
	ctx, stop := context.WithCancelCause(context.Background())
	h := &Web{
		o: o, ctx: ctx, stop: stop, sessions: map[string]*webSession{}, closing: make(chan struct{}),
		mint:   seam(rand.Text, o.HTTP.Mint),
		lookup: seam(named, o.HTTP.Lookup),
		route:  seam[Router](route, o.HTTP.Route),
		replay: seam[Replayer](replay, o.HTTP.Replay),
		event:  seam[Eventer](bytesOf, o.HTTP.Event),
		leave:  seam[Leaver](leave, o.HTTP.Disconnect),
	}
	h.guard = protectionOf(o.HTTP.Guard, o.HTTP.Hosts)
	h.handler = seam[http.Handler](http.HandlerFunc(h.serve), o.HTTP.Middleware)
	if o.Revisions&spec.Stateless != 0 {
		shared := h.optionsFor(streamable)
		ctx, stop := context.WithCancelCause(h.ctx)
		h.commons = newConn(ctx, stop, func(f Frame) {
			for _, s := range h.route(f, Places{Own: ownStream(f)}) {
				s.put(f)
			}
		}, shared)
		h.commons.start()
	}
	return h
}

// optionsFor returns the options for the revisions of an endpoint.
func (h *Web) optionsFor(in spec.Set) Options {
	o := h.o
	o.Revisions &= in
	return o
}

// spoken are the handshake revisions that /mcp speaks.
func (h *Web) spoken() spec.Set { return h.o.Revisions & streamable & spec.Handshake }

// ServeHTTP answers one HTTP request.
func (h *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler.ServeHTTP(w, r) }

func (h *Web) serve(w http.ResponseWriter, r *http.Request) {
	w = h.hurry(w, r)
	select {
	case <-h.closing:
		refuseHTTP(w, http.StatusServiceUnavailable, "The library closes")
		return
	default:
	}
	if why := h.foreign(r); why != "" {
		refuseHTTP(w, http.StatusForbidden, "%s", why)
		return
	}
	if r = h.guard.enter(w, r); r == nil {
		return
	}
	sse := h.o.Revisions&ssing != 0
	switch {
	case r.URL.Path == pathMCP && h.o.Revisions&streamable != 0:
		h.mcp(w, r)
	case r.URL.Path == pathSSE && sse:
		h.connect(w, r)
	case r.URL.Path == pathMessages && sse:
		h.message(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (h *Web) mcp(w http.ResponseWriter, r *http.Request) {
	// Of a server without sessions a GET or DELETE wants what it has not.
	lacking := h.spoken() == 0 || h.o.HTTP.SessionLess || spec.Stateless.Has(version(r))
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodGet && !lacking:
		h.get(w, r)
	case r.Method == http.MethodDelete && !lacking:
		h.delete(w, r)
	case lacking:
		notAllowed(w, "POST")
	default:
		notAllowed(w, "GET, POST, DELETE")
	}
}

// version is the one that a request names in its header, "" for none.
func version(r *http.Request) spec.Revision {
	return spec.Revision(r.Header.Get("MCP-Protocol-Version"))
}

func notAllowed(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	refuseHTTP(w, http.StatusMethodNotAllowed, "This is done with %s here", methods)
}

// refuseHTTP answers what is refused before any message is made out, by an
// error without id (basic/transports#sending-messages-to-the-server).
func refuseHTTP(w http.ResponseWriter, status int, format string, args ...any) {
	writeJSON(w, status, failure(wire.ID{}, errorf(spec.InvalidRequest, format, args...)))
}

// Close ends all sessions and streams: what is quickly done is still answered,
// and subscriptions are told. It returns when all work has ended, or a moment
// after work that does not end.
func (h *Web) Close() {
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
	h.sessions = map[string]*webSession{}
	h.mu.Unlock()
	if h.commons != nil {
		h.commons.drain()
	}
	h.work.Wait()
	h.stop(errStopped)
}
