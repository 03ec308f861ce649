package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A LegacySSE is the client end of a session over HTTP+SSE, the transport of
// 2024-11-05: one stream for all that the server says, whose first event names
// where messages are posted (basic/transports#http-with-sse).
type LegacySSE struct {
	Endpoint *Endpoint // of the stream
	Record   func(wire.Frame) int
	Lost     func(error)

	log    exchanges
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	named chan struct{} // closed once it is known where messages go, or that nowhere
	to    *url.URL
	why   error
}

// Open opens the stream; it returns once its head came.
func (s *LegacySSE) Open(ctx context.Context) error {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.named = make(chan struct{})
	s.log.record = s.Record
	r := HTTPRequest{Method: http.MethodGet, Header: http.Header{"Accept": {"text/event-stream"}}}
	n, _ := s.log.begin(s.Endpoint, r, nil)
	exchange, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	reply, err := s.Endpoint.Do(exchange, r)
	if err == nil && !readable(reply) {
		defer cancel()
		defer stop() // the body may have no end
		body, _, _ := reply.All()
		s.log.whole(n, reply, body)
		return fmt.Errorf("GET %s was answered with %d %s, not with a stream", s.Endpoint.URL.Redacted(), reply.Status, reply.MediaType())
	}
	if !stop() && err == nil {
		reply.Close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		s.log.failed(n, err)
		return err
	}
	s.log.head(n, reply)
	s.work.Go(func() {
		defer cancel()
		s.read(n, reply)
	})
	return nil
}

// readable tells whether an answer may be read as the stream of a session. One
// that is not declared as such, or has another status of success, is read all
// the same, so that what else the server does can be seen; what it should have
// said is for others to judge. A page or an error is none.
func readable(r *Reply) bool {
	switch r.MediaType() {
	case "application/json", "text/html":
		return false
	}
	return r.Status >= 200 && r.Status < 300 && r.Status != http.StatusNoContent
}

// read reads the stream to its end, which is the end of the session.
func (s *LegacySSE) read(n int, reply *Reply) {
	defer reply.Close()
	for {
		e, err := reply.Next()
		if err != nil {
			end := wire.EndedByPeer
			if !errors.Is(err, io.EOF) {
				end = plain(err).Error()
			}
			s.log.note(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, End: end}})
			lost := fmt.Errorf("the server closed the stream of the session: %s", end)
			s.name(nil, lost)
			if s.ctx.Err() == nil && s.Lost != nil {
				s.Lost(lost)
			}
			return
		}
		f := wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: n, Event: eventOf(e)}, Cut: e.Cut}
		switch {
		case e.Dispatched() && e.Type == "endpoint":
			f.HTTP.Body = text(e.Data)
			s.name(s.resolve(string(e.Data)))
		case e.Dispatched() && (e.Type == "" || e.Type == "message"):
			f.Raw = e.Data
		case e.Dispatched():
			f.HTTP.Body = text(e.Data)
		}
		s.log.note(f)
	}
}

// resolve returns the URI of an endpoint event against the URL of the stream.
// White space around it and line breaks in it are passed over, as those who read
// URLs do (https://url.spec.whatwg.org/#url-parsing).
func (s *LegacySSE) resolve(uri string) (*url.URL, error) {
	return s.Endpoint.URL.Parse(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(strings.TrimSpace(uri)))
}

// ErrElsewhere tells that a server wants messages sent to another origin than
// its own.
var ErrElsewhere = errors.New("messages, and tokens with them, are not taken to another origin")

// name tells where messages are posted; the first word counts.
func (s *LegacySSE) name(to *url.URL, err error) {
	select {
	case <-s.named:
		return
	default:
	}
	if s.to, s.why = to, err; err == nil && !sameOrigin(to, s.Endpoint.URL) {
		s.to, s.why = nil, fmt.Errorf("the endpoint %s is of another origin than %s: %w", wire.Clip(to.Redacted(), 200), s.Endpoint.URL.Redacted(), ErrElsewhere)
	}
	close(s.named)
}

// To returns where messages are posted, once the server has said it.
func (s *LegacySSE) To(ctx context.Context) (*url.URL, error) {
	select {
	case <-s.named:
		return s.to, s.why
	case <-ctx.Done():
		return nil, fmt.Errorf("no endpoint event came: %w", ctx.Err())
	}
}

// sameOrigin compares as RFC 6454 section 4 has it: case and the port that a
// scheme has anyway make no difference.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

// Send posts one message. It returns the index of its frame once the head of
// the answer came, which says nothing of the message: that is answered on the
// stream. What else the answer to the POST says is read beside.
func (s *LegacySSE) Send(ctx context.Context, raw []byte) (at int, err error) {
	r, err := s.Posting(ctx, wire.Message{Raw: raw})
	if err != nil {
		return 0, err
	}
	n, at := s.log.begin(s.Endpoint, r, raw)
	exchange, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	reply, err := s.Endpoint.Do(exchange, r)
	stop()
	if err != nil {
		cancel()
		err = stopped(ctx, err)
		s.log.failed(n, err)
		return at, err
	}
	s.work.Go(func() {
		defer cancel()
		body, _, err := reply.All()
		s.log.note(wire.Frame{From: wire.Server, HTTP: wholeOf(n, reply, body, err), Note: reply.note()})
	})
	return at, nil
}

// Posting returns the request by which a message is posted, once it is known
// where to.
func (s *LegacySSE) Posting(ctx context.Context, m wire.Message) (HTTPRequest, error) {
	to, err := s.To(ctx)
	return HTTPRequest{Method: http.MethodPost, URL: to, Header: http.Header{"Content-Type": {"application/json"}}, Body: m.Raw}, err
}

// Fields returns the header fields that all requests of the session have: none.
func (s *LegacySSE) Fields() http.Header { return http.Header{} }

// Close closes the stream, which ends the session.
func (s *LegacySSE) Close() {
	s.cancel()
	s.work.Wait()
}
