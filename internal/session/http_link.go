package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An httpLink is a link over HTTP. The peer is a session at a server, not the server
// itself, which serves other sessions too.
type httpLink struct {
	endpoint *transport.Endpoint
	session  httpSession
	rev      spec.Revision
	record   func(wire.Frame) int // records a frame of the client
	frames   chan wire.Frame      // of the peer
	patience func() time.Duration // for one message to be delivered
	grace    time.Duration
	server   transport.ServerProcess // nil unless mcpcheck started the server

	closeOnce    sync.Once
	endOnce      sync.Once
	ended        chan struct{}
	endReason    string
	sessionEnded bool // by the server
}

// httpSession is the client end of a session over one of the two transports.
type httpSession interface {
	Send(ctx context.Context, raw []byte) (int, error)
	NewPostRequest(ctx context.Context, m wire.Message) (transport.HTTPRequest, error)
	SessionHeader() http.Header
	StartExchange(ctx context.Context, r transport.HTTPRequest) (*transport.PendingExchange, error)
	StartExchangeAt(
		ctx context.Context, address netip.Addr, r transport.HTTPRequest,
	) (*transport.PendingExchange, error)
	OpenRawConn(ctx context.Context) (*transport.RawConn, error)
	Close(ctx context.Context)
}

// sseSession is a session over HTTP+SSE, which is closed without a request.
type sseSession struct{ *transport.LegacySSE }

func (s sseSession) Close(context.Context) { s.LegacySSE.Close() }

// dialHTTP opens a session at a URL. Over streamable HTTP it sends nothing yet.
func dialHTTP(ctx context.Context, site transport.HTTPTarget, o Options, c *Conn) (link, error) {
	h := &httpLink{
		endpoint: site.Endpoint,
		record:   c.record,
		frames:   make(chan wire.Frame, 64),
		patience: c.Patience,
		grace:    o.Grace,
		server:   site.Server,
		ended:    make(chan struct{}),
	}
	if site.Kind == transport.SSE {
		s := &transport.LegacySSE{Endpoint: site.Endpoint, Record: h.receive, OnSessionLost: h.onLost}
		if err := h.openSSE(ctx, s, o); err != nil {
			return nil, err
		}
		h.session = sseSession{s}
		return h, nil
	}
	s := &transport.Streamable{
		Endpoint: site.Endpoint, Record: h.receive, OnSessionLost: h.onLost, ResumeTimeout: o.Timeout,
		ListenTimeout: o.Grace,
	}
	s.Open()
	h.session = s
	return h, nil
}

// openSSE opens a session over HTTP+SSE. A server that names no message URL gives no
// answer to the first request. One that names a URL of another origin is an error.
func (h *httpLink) openSSE(ctx context.Context, s *transport.LegacySSE, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	if err := s.Open(ctx); err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if _, err := s.MessageURL(ctx); errors.Is(err, transport.ErrCrossOrigin) {
		h.end(err.Error()) // drop further frames of the server
		s.Close()
		return err
	}
	return nil
}

// receive records a frame of the client, or passes one of the peer to next.
func (h *httpLink) receive(f wire.Frame) int {
	if f.From == wire.Client {
		return h.record(f)
	}
	select {
	case h.frames <- f:
	case <-h.ended:
	}
	return -1
}

func (h *httpLink) setRevision(rev spec.Revision) {
	h.rev = rev
	if s, ok := h.session.(*transport.Streamable); ok {
		s.Rev = rev
	}
}

func (h *httpLink) send(ctx context.Context, raw []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	return h.session.Send(ctx, raw)
}

var errNoBytes = errors.New("HTTP carries messages, not bytes")

func (h *httpLink) sendChunks(context.Context, func(int), [][]byte) (int, error) {
	return -1, errNoBytes
}

// drain returns at once: send returns when the server has the message.
func (h *httpLink) drain(context.Context, time.Duration) bool { return true }

// cancelRequest closes the stream that a request is answered on, which cancels the
// request over streamable HTTP since 2026-07-28 (basic/patterns/cancellation).
func (h *httpLink) cancelRequest(id wire.ID) bool {
	s, ok := h.session.(*transport.Streamable)
	if !ok || !h.rev.Facts().Stateless {
		return false
	}
	s.AbandonRequest(id) // which may have ended already
	return true
}

// unansweredReason reads one frame of the exchange of a request. A failure status
// ends the exchange. So does the end of a stream that cannot be resumed, since no
// other stream may carry the response
// (basic/transports#listening-for-messages-from-the-server). Over HTTP+SSE the
// response always comes on another stream.
func (h *httpLink) unansweredReason(sent, got wire.Frame) error {
	if got.From != wire.Server || !got.IsTransportOnly() || got.HTTP.Exchange != sent.HTTP.Exchange {
		return nil
	}
	_, streamable := h.session.(*transport.Streamable)
	switch x := got.HTTP; {
	case x.Status >= 300 || x.Status != 0 && x.IsEventStream() && x.Status != http.StatusOK:
		return &HTTPStatusError{Status: x.Status, Body: x.Body}
	case x.Status != 0 && x.IsEventStream():
		return nil // the head of the stream
	case x.Final && (x.Status == 0 || streamable):
		return fmt.Errorf("%w (%s)", errExchangeEnded, x.EndReason)
	case x.Status != 0 && streamable && (x.Status != http.StatusAccepted || h.rev.Facts().Stateless):
		return &HTTPStatusError{Status: x.Status, Body: x.Body}
	}
	return nil
}

// errExchangeEnded is the error of a request whose exchange ended without a
// response.
var errExchangeEnded = errors.New("the end of its exchange")

// HTTPStatusError is the error of a request that HTTP alone answered, without a
// message.
type HTTPStatusError struct {
	Status int
	Body   string
}

func (r *HTTPStatusError) Error() string {
	text := fmt.Sprintf("HTTP status %d %s without a message", r.Status, http.StatusText(r.Status))
	if body := strings.Join(strings.Fields(r.Body), " "); body != "" {
		text += fmt.Sprintf(": %q", wire.Clip(body, 120))
	}
	return text
}

func (h *httpLink) next() (wire.Frame, error) {
	select {
	case f := <-h.frames:
		return f, nil
	default:
	}
	select {
	case f := <-h.frames:
		return f, nil
	case <-h.ended:
		return wire.Frame{}, io.EOF
	}
}

// requestEnd ends the session at the server and closes its streams.
func (h *httpLink) requestEnd() {
	h.closeSession()
	h.end("session closed")
}

func (h *httpLink) terminate() { h.kill() }

// kill drops further frames. It still ends the session at the server, which would
// keep the session for ever.
func (h *httpLink) kill() {
	h.end("connection closed")
	h.closeSession()
}

func (h *httpLink) closeSession() {
	h.closeOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.grace)
		defer cancel()
		h.session.Close(ctx)
	})
}

func (h *httpLink) onLost(err error) {
	h.endWith(err.Error(), errors.Is(err, transport.ErrSessionEnded))
}

func (h *httpLink) end(reason string) { h.endWith(reason, false) }

func (h *httpLink) endWith(reason string, byServer bool) {
	h.endOnce.Do(func() {
		h.endReason, h.sessionEnded = reason, byServer
		close(h.ended)
	})
}

func (h *httpLink) hasEnded() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

func (h *httpLink) done() <-chan struct{} { return h.ended }
func (h *httpLink) status() string        { return h.endReason }

func (h *httpLink) stderr() string {
	if h.server == nil {
		return ""
	}
	return h.server.Stderr()
}
