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

// dialHTTP makes a session at a site; over streamable HTTP nothing is sent for
// it yet.
func dialHTTP(ctx context.Context, site transport.Site, o Options, record func(wire.Frame) int) (link, error) {
	h := &httpLink{at: site.Endpoint, came: make(chan wire.Frame, 64), ended: make(chan struct{}), within: o.Timeout, grace: o.Grace}
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
		// A server that names no endpoint is judged by its first answer, which
		// cannot come; one that names another origin is not spoken to.
		named, done := context.WithTimeout(ctx, o.Timeout)
		defer done()
		if _, err := s.To(named); errors.Is(err, transport.ErrElsewhere) {
			h.end(err.Error()) // nobody will take what it goes on to say
			s.Close()
			return nil, err
		}
		h.session, h.stderrOf = legacy{s}, site.Stderr
		return h, nil
	}
	s := &transport.Streamable{Endpoint: site.Endpoint, Record: both, Lost: h.lost, Poll: o.Timeout, Settle: o.Grace}
	s.Open()
	h.session, h.stderrOf = s, site.Stderr
	return h, nil
}

// httpLink is a link over HTTP: its peer is a session at a server that lives
// on.
type httpLink struct {
	at       *transport.Endpoint
	session  httpSession
	rev      spec.Revision
	came     chan wire.Frame
	within   time.Duration // for one message to be taken
	grace    time.Duration
	stderrOf func() string // of the server, where we started it

	leaving sync.Once
	once    sync.Once
	ended   chan struct{}
	how     string
	forgot  bool // the server has ended the session
}

// httpSession is the client end of a session on one of the two transports.
type httpSession interface {
	Send(ctx context.Context, raw []byte) (int, error)
	Posting(ctx context.Context, m wire.Message) (transport.HTTPRequest, error)
	Fields() http.Header
	Exchange(ctx context.Context, r transport.HTTPRequest) (*transport.Exchange, error)
	ExchangeAt(ctx context.Context, address netip.Addr, r transport.HTTPRequest) (*transport.Exchange, error)
	Raw(ctx context.Context) (*transport.Raw, error)
	Close(ctx context.Context)
}

// legacy ends a session of HTTP+SSE, which has no request to do so.
type legacy struct{ *transport.LegacySSE }

func (l legacy) Close(context.Context) { l.LegacySSE.Close() }

func (h *httpLink) use(rev spec.Revision) {
	h.rev = rev
	if s, ok := h.session.(*transport.Streamable); ok {
		s.Rev = rev
	}
}

func (h *httpLink) send(ctx context.Context, raw []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.within)
	defer cancel()
	return h.session.Send(ctx, raw)
}

// withdraw closes the stream on which a request is answered, which is how it is
// cancelled over streamable HTTP since 2026-07-28 (basic/patterns/cancellation).
func (h *httpLink) withdraw(id wire.ID) bool {
	s, ok := h.session.(*transport.Streamable)
	if !ok || !h.rev.Facts().Stateless {
		return false
	}
	s.Abandon(id) // which may have ended by itself
	return true
}

var errNoBytes = errors.New("HTTP carries messages, not bytes")

func (h *httpLink) chunks(context.Context, func(int), [][]byte) (int, error) { return -1, errNoBytes }

// refused reads the exchange of a request to its end. A failure status is the
// end of it, and so is a stream that closed and cannot be taken up again, since a
// response may not come on another (basic/transports#listening-for-messages-from-the-server).
// HTTP+SSE answers on another always.
func (h *httpLink) refused(sent, got wire.Frame) error {
	if got.From != wire.Server || !got.Wordless() || got.HTTP.Exchange != sent.HTTP.Exchange {
		return nil
	}
	_, streamable := h.session.(*transport.Streamable)
	switch x := got.HTTP; {
	case x.Status >= 300 || x.Status != 0 && x.Streams() && x.Status != http.StatusOK:
		return &Refusal{Status: x.Status, Body: x.Body}
	case x.Status != 0 && x.Streams():
		return nil // its head
	case x.Last && (x.Status == 0 || streamable):
		return fmt.Errorf("%w (%s)", errClosed, x.End)
	case x.Status != 0 && streamable && (x.Status != http.StatusAccepted || h.rev.Facts().Stateless):
		return &Refusal{Status: x.Status, Body: x.Body}
	}
	return nil
}

// errClosed begins what is said of an exchange that was ended in place of an
// answer.
var errClosed = errors.New("the end of its exchange")

// A Refusal tells that a request was answered by HTTP alone, without a message.
type Refusal struct {
	Status int
	Body   string
}

func (r *Refusal) Error() string {
	text := fmt.Sprintf("HTTP status %d %s without a message", r.Status, http.StatusText(r.Status))
	if body := strings.Join(strings.Fields(r.Body), " "); body != "" {
		text += fmt.Sprintf(": %q", wire.Clip(body, 120))
	}
	return text
}

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

// leave ends the session at the server, where it has one, and the streams with
// it.
func (h *httpLink) leave() {
	h.farewell()
	h.end("session closed")
}

func (h *httpLink) terminate() { h.kill() }

// kill drops what is under way. The server is still told that the session is
// over, since it would be kept for ever.
func (h *httpLink) kill() {
	h.end("connection closed")
	h.farewell()
}

func (h *httpLink) farewell() {
	h.leaving.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.grace)
		defer cancel()
		h.session.Close(ctx)
	})
}

func (h *httpLink) lost(err error) { h.ends(err.Error(), errors.Is(err, transport.ErrForgotten)) }

func (h *httpLink) end(how string) { h.ends(how, false) }

func (h *httpLink) ends(how string, forgot bool) {
	h.once.Do(func() {
		h.how, h.forgot = how, forgot
		close(h.ended)
	})
}

func (h *httpLink) over() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

func (h *httpLink) done() <-chan struct{} { return h.ended }
func (h *httpLink) status() string        { return h.how }

func (h *httpLink) stderr() string {
	if h.stderrOf == nil {
		return ""
	}
	return h.stderrOf()
}
