package session

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// dialHTTP makes a session at a site; over streamable HTTP nothing is sent for
// it yet.
func dialHTTP(ctx context.Context, site transport.Site, o Options, record func(wire.Frame) int) (link, error) {
	h := &httpLink{came: make(chan wire.Frame, 64), ended: make(chan struct{}), grace: o.Grace}
	both := func(f wire.Frame) int {
		if f.From == wire.Client {
			return record(f)
		}
		select {
		case h.came <- f:
		case <-h.ended:
		}
		return -1
	}
	if site.Kind == transport.SSE {
		s := &transport.LegacySSE{Endpoint: site.Endpoint, Record: both, Lost: h.lost}
		ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
		defer cancel()
		if err := s.Open(ctx); err != nil {
			return nil, err
		}
		h.session = legacy{s}
		return h, nil
	}
	s := &transport.Streamable{Endpoint: site.Endpoint, Record: both, Lost: h.lost, Poll: o.Timeout}
	s.Open()
	h.session = s
	return h, nil
}

// httpLink is a link over HTTP: its peer is a session at a server that lives
// on.
type httpLink struct {
	session httpSession
	came    chan wire.Frame
	grace   time.Duration

	once  sync.Once
	ended chan struct{}
	how   string
}

// httpSession is the client end of a session on one of the two transports.
type httpSession interface {
	Send(ctx context.Context, raw []byte, edits ...transport.Edit) (int, error)
	Close(ctx context.Context)
}

// legacy ends a session of HTTP+SSE, which has no request to do so.
type legacy struct{ *transport.LegacySSE }

func (l legacy) Close(context.Context) { l.LegacySSE.Close() }

func (h *httpLink) use(rev spec.Revision) {
	if s, ok := h.session.(*transport.Streamable); ok {
		s.Rev = rev
	}
}

func (h *httpLink) send(ctx context.Context, raw []byte) (int, error) {
	return h.session.Send(ctx, raw)
}

var errNoBytes = errors.New("HTTP carries messages, not bytes")

func (h *httpLink) write(context.Context, []byte) error { return errNoBytes }

// drain has nothing to wait for: what was sent was taken.
func (h *httpLink) drain(context.Context, time.Duration) bool { return true }

func (h *httpLink) next() (wire.Frame, error) {
	select {
	case f := <-h.came:
		return f, nil
	default:
	}
	select {
	case f := <-h.came:
		return f, nil
	case <-h.ended:
		return wire.Frame{}, io.EOF
	}
}

// leave ends the session at the server, and the streams with it.
func (h *httpLink) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), h.grace)
	defer cancel()
	h.session.Close(ctx)
	h.end("session closed")
}

func (h *httpLink) terminate() { h.kill() }

// kill drops the streams, and leaves the session to the server.
func (h *httpLink) kill() {
	h.end("connection closed")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	h.session.Close(gone)
}

func (h *httpLink) lost(err error) { h.end(err.Error()) }

func (h *httpLink) end(how string) {
	h.once.Do(func() {
		h.how = how
		close(h.ended)
	})
}

func (h *httpLink) done() <-chan struct{} { return h.ended }
func (h *httpLink) status() string        { return h.how }
func (h *httpLink) stderr() string        { return "" }
