package script

import (
	"context"
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

// The paths of the endpoints: of streamable HTTP, and of HTTP+SSE with the one
// that messages are posted to.
const (
	pathMCP      = "/mcp"
	pathSSE      = "/sse"
	pathMessages = "/messages"
)

// A web serves a stage over HTTP, on one of its two transports. It tolerates what a
// client does wrong with HTTP itself, which is recorded, as far as the rest of it
// can still be judged.
type web struct {
	stage  *Stage
	kind   transport.Kind
	server *http.Server

	mu       sync.Mutex
	first    *webLink // takes what is of the stateless era
	open     *webLink // takes what else names no session
	sessions map[string]*webLink
}

// ListenHTTP has the stage serve on a port of the loopback interface, over
// streamable HTTP or HTTP+SSE, until it is closed, and returns the URL.
func (s *Stage) ListenHTTP(kind transport.Kind) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for the client: %w", err)
	}
	w := &web{stage: s, kind: kind, sessions: map[string]*webLink{}}
	path, mux := pathMCP, http.NewServeMux()
	if kind == transport.SSE {
		path = pathSSE
		mux.HandleFunc(pathSSE, w.stream)
		mux.HandleFunc(pathMessages, w.message)
	} else {
		mux.HandleFunc(pathMCP, w.mcp)
	}
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: s.opts.Due, ErrorLog: log.New(io.Discard, "", 0)}
	s.mu.Lock()
	s.web = w
	s.mu.Unlock()
	go func() {
		if err := w.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			listener.Close() // clients are refused from now on, which they tell
		}
	}()
	return "http://" + listener.Addr().String() + path, nil
}

// close drops every connection.
func (w *web) close() { w.server.Close() }

// left ends every session, since the client has ended.
func (w *web) left() {
	for _, l := range w.links() {
		l.end("the client ended", false)
	}
}

func (w *web) links() []*webLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*webLink
	for _, l := range w.sessions {
		out = append(out, l)
	}
	return out
}

// connect makes a session; nil where the stage was closed.
func (w *web) connect() *webLink {
	l := &webLink{web: w, id: rand.Text(), posts: map[int]*stream{}, refused: map[int]bool{}, over: make(chan struct{})}
	if l.conn = w.stage.connect(l); l.conn == nil {
		return nil
	}
	l.legacy = !l.conn.Rev.Facts().Stateless
	w.sessions[l.id] = l
	go l.conn.serve()
	return l
}

// find returns the session that a request belongs to: the one that it names, else
// the one that takes what names none. fresh tells that the request opens a session,
// stateless that it is of the era without any. nil: there is none of that name.
func (w *web) find(id string, fresh, stateless bool) *webLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case stateless && w.first != nil && !w.first.isOver():
		return w.first
	case id != "":
		return w.sessions[id]
	}
	if w.open == nil || w.open.isOver() || fresh && w.open.begin() {
		w.open = w.connect()
		if w.open != nil && fresh {
			w.open.begin()
		}
		if w.first == nil || w.first.isOver() {
			w.first = w.open
		}
	}
	return w.open
}

// request records a request of HTTP as a frame would show it.
func request(r *http.Request) *wire.HTTP {
	h := r.Header.Clone()
	h.Set("Host", r.Host)
	return &wire.HTTP{Conn: r.RemoteAddr, Method: r.Method, URL: r.URL.RequestURI(), Header: h}
}

// namesEra tells whether a message names the version that it is to be served by, as
// those of the stateless era do.
func namesEra(m wire.Message) bool {
	return wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).Exists()
}

// mcp serves the endpoint of streamable HTTP.
func (w *web) mcp(out http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	switch r.Method {
	case http.MethodPost:
		body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, transport.DefaultLineLimit))
		if err != nil {
			http.Error(out, "the body cannot be read", http.StatusBadRequest)
			return
		}
		m := wire.Parse(body)
		opens := slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request && e.Method() == "initialize" })
		l := w.find(id, opens, namesEra(m))
		if l == nil {
			http.Error(out, "there is no such session", http.StatusNotFound)
			return
		}
		l.post(out, r, m)
	case http.MethodGet, http.MethodDelete:
		l := w.find(id, false, false)
		switch {
		case l == nil:
			http.Error(out, "there is no such session", http.StatusNotFound)
		case !l.hasSession(): // as of a server of the stateless era
			l.turnAway(out, r, http.StatusMethodNotAllowed)
		case r.Method == http.MethodGet:
			l.listen(out, r)
		default:
			l.delete(out, r)
		}
	default:
		http.Error(out, "this is done with POST", http.StatusMethodNotAllowed)
	}
}

// stream serves the endpoint of HTTP+SSE.
func (w *web) stream(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		http.Error(out, "this is done with GET", http.StatusMethodNotAllowed)
		return
	}
	w.mu.Lock()
	l := w.connect()
	w.mu.Unlock()
	if l != nil {
		l.begin()
		l.carryAll(out, r)
	}
}

// message serves the endpoint that messages are posted to over HTTP+SSE.
func (w *web) message(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	l := w.sessions[r.URL.Query().Get("session")]
	w.mu.Unlock()
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, transport.DefaultLineLimit))
	switch {
	case r.Method != http.MethodPost:
		http.Error(out, "this is done with POST", http.StatusMethodNotAllowed)
	case l == nil:
		http.Error(out, "there is no such session", http.StatusNotFound)
	case err != nil:
		http.Error(out, "the body cannot be read", http.StatusBadRequest)
	default:
		l.mail(out, r, body)
	}
}

// A Site is a client that is given a URL: a program whose arguments hold it.
type Site struct {
	transport.Command
	Kind transport.Kind // HTTP or SSE
}

// Against has the stage listen and puts the URL into the arguments.
func (c Site) Against(s *Stage) (transport.Starter, error) {
	url, err := s.ListenHTTP(c.Kind)
	if err != nil {
		return nil, err
	}
	command := c.Command
	command.Argv, err = ExpandURL(command.Argv, url)
	command.Env = append(s.opts.Env[:len(s.opts.Env):len(s.opts.Env)], command.Env...)
	return command, err
}

// InProcessURL is a client that is a function of this process and is given a URL.
type InProcessURL struct {
	Name string
	Kind transport.Kind
	// Run runs the client once against the server at a URL.
	Run func(ctx context.Context, url string) error
}

// Against has the stage listen.
func (c InProcessURL) Against(s *Stage) (transport.Starter, error) {
	url, err := s.ListenHTTP(c.Kind)
	if err != nil {
		return nil, err
	}
	return transport.InProcess{Name: c.Name, Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		return c.Run(ctx, url)
	}}, nil
}

func (c InProcessURL) String() string { return c.Name }
