package script

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The paths of the endpoints: that of streamable HTTP, that of HTTP+SSE, and that
// which messages are posted to over HTTP+SSE.
const (
	pathMCP      = "/mcp"
	pathSSE      = "/sse"
	pathMessages = "/messages"
)

// An httpServer serves a harness over one of the transports of HTTP. It records
// mistakes of a client in HTTP itself, and tolerates them as far as the rest of the
// client can still be checked.
type httpServer struct {
	harness *harness
	kind    transport.Kind
	server  *http.Server

	mu            sync.Mutex
	statelessLink *httpLink // of requests of the stateless era
	openLink      *httpLink // of other requests that name no session
	sessions      map[string]*httpLink
}

// listenHTTP serves over streamable HTTP or HTTP+SSE on a port of the loopback
// interface until the harness is closed, and returns the URL.
func (h *harness) listenHTTP(kind transport.Kind) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the client: %w", err)
	}
	w := &httpServer{harness: h, kind: kind, sessions: map[string]*httpLink{}}
	path, mux := pathMCP, http.NewServeMux()
	if kind == transport.SSE {
		path = pathSSE
		mux.HandleFunc(pathSSE, w.serveStream)
		mux.HandleFunc(pathMessages, w.serveMessage)
	} else {
		mux.HandleFunc(pathMCP, w.serveMCP)
	}
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: h.opts.AnswerTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	h.mu.Lock()
	h.http = w
	h.mu.Unlock()
	go func() {
		if err := w.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			listener.Close() // the client then reports a refused connection
		}
	}()
	return "http://" + listener.Addr().String() + path, nil
}

// close closes all connections.
func (w *httpServer) close() { w.server.Close() }

// endSessions ends all sessions of a client that has ended.
func (w *httpServer) endSessions() {
	for _, l := range w.snapshot() {
		l.endWith("the client ended", false)
	}
}

func (w *httpServer) snapshot() []*httpLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*httpLink
	for _, l := range w.sessions {
		out = append(out, l)
	}
	return out
}

// newLink returns a new session; nil if the harness is closed. The caller holds w.mu.
func (w *httpServer) newLink() *httpLink {
	l := &httpLink{
		server:  w,
		id:      rand.Text(),
		pending: map[int]*httpStream{},
		refused: map[int]bool{},
		ended:   make(chan struct{}),
	}
	if l.conn = w.harness.connect(l); l.conn == nil {
		return nil
	}
	l.handshakeEra = !l.conn.Rev.Facts().Stateless
	w.sessions[l.id] = l
	go l.conn.serve()
	return l
}

func (w *httpServer) removeSession(l *httpLink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, l.id)
}

// linkFor returns the session of a request: the session with the id, or that for
// requests without an id. opens reports that the request opens a session; stateless,
// that it is of the stateless era. linkFor returns nil for an unknown id.
func (w *httpServer) linkFor(id string, opens, stateless bool) *httpLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case stateless && w.statelessLink != nil && !w.statelessLink.hasEnded():
		return w.statelessLink
	case id != "":
		return w.sessions[id]
	}
	if w.openLink == nil || w.openLink.hasEnded() || opens && w.openLink.beginInitialize() {
		w.openLink = w.newLink()
		if w.openLink != nil && opens {
			w.openLink.beginInitialize()
		}
		if w.statelessLink == nil || w.statelessLink.hasEnded() {
			w.statelessLink = w.openLink
		}
	}
	return w.openLink
}

// requestFrame returns the HTTP part of the frame of a request.
func requestFrame(r *http.Request) *wire.HTTP {
	h := r.Header.Clone()
	h.Set("Host", r.Host)
	return &wire.HTTP{Conn: r.RemoteAddr, Method: r.Method, URL: r.URL.RequestURI(), Header: h}
}

// namesVersion reports whether a message names the protocol version in _meta, as a
// request of the stateless era does.
func namesVersion(m wire.Message) bool {
	return wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).Exists()
}

// serveMCP serves the endpoint of streamable HTTP.
func (w *httpServer) serveMCP(out http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		w.servePost(out, r)
	case http.MethodGet, http.MethodDelete:
		l := w.linkFor(r.Header.Get(headerSessionID), false, false)
		switch {
		case l == nil:
			http.Error(out, noSession, http.StatusNotFound)
		case !l.isInitialized(): // as a server of the stateless era
			l.refuseMethod(out, r)
		case r.Method == http.MethodGet:
			l.serveGET(out, r)
		default:
			l.delete(out, r)
		}
	default:
		http.Error(out, needsPost, http.StatusMethodNotAllowed)
	}
}

const (
	headerSessionID = "Mcp-Session-Id"

	noSession = "there is no such session"
	needsPost = "this is done with POST"
	noBody    = "the body cannot be read"
)

// servePost serves a message over streamable HTTP.
func (w *httpServer) servePost(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, transport.DefaultLineLimit))
	if err != nil {
		http.Error(out, noBody, http.StatusBadRequest)
		return
	}
	m := wire.Parse(body)
	opens := slices.ContainsFunc(m.Elements(), func(e wire.Message) bool {
		return e.Kind == wire.Request && e.Method() == "initialize"
	})
	l := w.linkFor(r.Header.Get(headerSessionID), opens, namesVersion(m))
	if l == nil {
		http.Error(out, noSession, http.StatusNotFound)
		return
	}
	l.servePost(out, r, m)
}

// serveStream serves the endpoint of HTTP+SSE.
func (w *httpServer) serveStream(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(out, "this is done with GET", http.StatusMethodNotAllowed)
		return
	}
	w.mu.Lock()
	l := w.newLink()
	w.mu.Unlock()
	if l != nil {
		l.beginInitialize()
		l.serveSSE(out, r)
	}
}

// serveMessage serves the endpoint that messages are posted to over HTTP+SSE.
func (w *httpServer) serveMessage(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	l := w.sessions[r.URL.Query().Get("session")]
	w.mu.Unlock()
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, transport.DefaultLineLimit))
	switch {
	case r.Method != http.MethodPost:
		http.Error(out, needsPost, http.StatusMethodNotAllowed)
	case l == nil:
		http.Error(out, noSession, http.StatusNotFound)
	case err != nil:
		http.Error(out, noBody, http.StatusBadRequest)
	default:
		l.serveSSEPost(out, r, body)
	}
}
