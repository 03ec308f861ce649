package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A harness provides one scripted server to one client, which may connect any number
// of times.
type harness struct {
	server Server
	opts   Options

	mu           sync.Mutex
	conns        []*Conn
	endRequested bool         // this process is ending the client
	listener     net.Listener // of the bridges; nil for none
	dir          string       // of the socket of listener
	closed       bool
	http         *httpServer // nil for none
}

// newHarness returns a harness, which the caller closes.
func newHarness(s Server, o Options) *harness { return &harness{server: s, opts: o} }

// serve serves one connection until it has ended.
func (h *harness) serve(in input, out io.WriteCloser) {
	if c := h.connect(stdioLink{in, out}); c != nil {
		c.serve()
	}
}

// connect returns a new connection; nil if the harness is closed.
func (h *harness) connect(by link) *Conn {
	c := newConn(h.server, h.opts, by)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		by.close()
		return nil
	}
	h.conns = append(h.conns, c)
	c.endRequested = h.endRequested
	return c
}

// target returns the server as a target that a client in this process can start.
func (h *harness) target() transport.Starter {
	serve := func(ctx context.Context, in io.Reader, out io.Writer) error {
		h.serve(&pipeInput{ReadCloser: in.(io.ReadCloser), ctx: ctx}, out.(io.WriteCloser))
		return nil
	}
	return transport.InProcess{Name: "scripted server", Serve: serve}
}

// A pipeInput is the input of a server that runs in this process. The context ends
// when the client signals the server.
type pipeInput struct {
	io.ReadCloser
	ctx            context.Context
	closedByClient bool
}

func (p *pipeInput) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err != nil {
		p.closedByClient = errors.Is(err, io.EOF) && p.ctx.Err() == nil
		err = io.EOF
	}
	return n, err
}

func (p *pipeInput) ending() (string, bool) {
	if p.closedByClient {
		return "the client closed the input", true
	}
	return "a signal came before the input was closed", false
}

// maxSocketPath is the length of the path of a unix socket that every system
// accepts.
const maxSocketPath = 100

// listenUnix opens the socket that bridges connect to, and returns its path. Only
// this user can connect to it. close removes it.
func (h *harness) listenUnix() (string, error) {
	path, listener, err := openSocket()
	if err != nil {
		return "", fmt.Errorf("make the socket of the scripted server: %w", err)
	}
	h.mu.Lock()
	h.listener, h.dir = listener, filepath.Dir(path)
	h.mu.Unlock()
	go h.accept(listener)
	return path, nil
}

// openSocket opens a socket in a directory of its own.
func openSocket() (path string, listener net.Listener, err error) {
	dir, err := os.MkdirTemp("", "mcpcheck-")
	if err != nil {
		return "", nil, err
	}
	if path = filepath.Join(dir, "s"); len(path) > maxSocketPath {
		os.RemoveAll(dir)
		if dir, err = os.MkdirTemp("/tmp", "mcpcheck-"); err != nil {
			return "", nil, err
		}
		path = filepath.Join(dir, "s")
	}
	if listener, err = net.Listen("unix", path); err != nil {
		os.RemoveAll(dir)
	}
	return path, listener, err
}

func (h *harness) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go h.serve(&chunkReader{r: conn}, conn)
	}
}

// connections returns all connections so far, also those that have ended.
func (h *harness) connections() []*Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*Conn(nil), h.conns...)
}

// transcripts returns the transcripts of all connections so far.
func (h *harness) transcripts() []*wire.Transcript {
	var out []*wire.Transcript
	for _, c := range h.connections() {
		out = append(out, c.Transcript)
	}
	return out
}

// idleTime returns the time since the last activity on any connection, or since the
// given time if that is shorter.
func (h *harness) idleTime(since time.Time) time.Duration {
	least := time.Since(since)
	for _, c := range h.connections() {
		least = min(least, c.idleTime())
	}
	return least
}

// noteEndRequest notes that this process is ending the client. How its connections
// then end is no evidence.
func (h *harness) noteEndRequest() {
	h.mu.Lock()
	h.endRequested = true
	conns := h.conns
	h.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		c.endRequested = true
		c.mu.Unlock()
	}
}

// clientEnded notes that the client has ended, which ends its sessions over HTTP.
func (h *harness) clientEnded() {
	h.mu.Lock()
	server := h.http
	h.mu.Unlock()
	if server != nil {
		server.endSessions()
	}
}

// awaitConns waits until all connections have ended, at most the grace. A bridge
// reports how the client ended it only after the client has ended.
func (h *harness) awaitConns() {
	limit := time.NewTimer(h.opts.Grace)
	defer limit.Stop()
	for _, c := range h.connections() {
		select {
		case <-c.done:
		case <-limit.C:
			return
		}
	}
}

// close closes all connections and removes the socket.
func (h *harness) close() {
	h.noteEndRequest()
	h.mu.Lock()
	h.closed = true
	listener, dir, conns, server := h.listener, h.dir, h.conns, h.http
	h.mu.Unlock()
	if server != nil {
		defer server.close()
	}
	if listener != nil {
		listener.Close()
		os.RemoveAll(dir)
	}
	for _, c := range conns {
		c.Close()
		<-c.done
	}
}
