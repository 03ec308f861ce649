package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A LegacySSE is the client end of a session over HTTP+SSE, the transport of
// 2024-11-05. The server sends all messages on one stream, whose first event names
// the URL that the client posts its messages to (basic/transports#http-with-sse).
type LegacySSE struct {
	Endpoint *Endpoint // of the stream
	// Record records a frame and returns its index. It is called from several
	// goroutines, but never by two at once.
	Record func(wire.Frame) int
	// OnSessionLost is called when the server closes the stream; it may be nil.
	OnSessionLost func(error)

	exchanger
	posts      postCount
	decided    chan struct{} // closed once messageURL or urlErr is set
	messageURL *url.URL
	urlErr     error
}

// Open opens the stream. It returns once the head of the stream has come.
func (s *LegacySSE) Open(ctx context.Context) error {
	s.begin(s.Endpoint, s.Record)
	s.decided = make(chan struct{})
	r := HTTPRequest{Method: http.MethodGet, Header: http.Header{"Accept": {"text/event-stream"}}}
	n, _ := s.log.recordRequest(s.Endpoint, r, nil)
	exchange, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	reply, err := s.Endpoint.Do(exchange, r)
	if err == nil && !mayBeSessionStream(reply) {
		defer cancel()
		defer stop() // after the body was read, which may have no end
		body, _, _ := reply.ReadAll()
		s.log.recordAnswer(n, reply, body)
		return fmt.Errorf("GET %s was answered with %d %s, not with a stream",
			s.Endpoint.Redacted(), reply.Status, reply.MediaType())
	}
	if !stop() && err == nil {
		reply.Close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		s.log.recordFailure(n, err)
		return err
	}
	s.log.recordHead(n, reply)
	s.readers.Go(func() {
		defer cancel()
		s.read(n, reply)
	})
	return nil
}

// mayBeSessionStream reports whether an answer is read as the stream of a session.
// It accepts a stream with a wrong media type or another status of success, so that
// the rest of the server can be checked; a check reports the wrong head. An HTML
// page or an error is no stream.
func mayBeSessionStream(r *HTTPResponse) bool {
	switch r.MediaType() {
	case "application/json", "text/html":
		return false
	}
	return r.Status >= 200 && r.Status < 300 && r.Status != http.StatusNoContent
}

// read reads the stream to its end, which ends the session.
func (s *LegacySSE) read(n int, reply *HTTPResponse) {
	defer reply.Close()
	for {
		f, err := reply.NextEvent()
		if err != nil {
			s.log.recordEnd(n, err, false)
			lost := fmt.Errorf("the server closed the stream of the session: %s", endReason(err))
			s.setMessageURL(nil, lost)
			s.awaitPosts()
			if s.ctx.Err() == nil && s.OnSessionLost != nil {
				s.OnSessionLost(lost)
			}
			return
		}
		f.HTTP.Exchange = n
		switch kind := f.HTTP.Event.Type; {
		case !f.IsDispatched(): // a client discards the data
			f.Raw = nil
		case kind == "endpoint":
			s.setMessageURL(s.resolve(string(f.Raw)))
			f = withoutMessage(f)
		case kind != "" && kind != "message":
			f = withoutMessage(f)
		}
		s.log.add(f)
	}
}

// maxPostTime is how long the answers to posts are awaited once the stream has ended.
const maxPostTime = 2 * time.Second

// awaitPosts waits for the answers to the posts under way, which may say why the server
// ended the stream: after the end of the session nothing is recorded.
func (s *LegacySSE) awaitPosts() {
	limit := time.NewTimer(maxPostTime)
	defer limit.Stop()
	select {
	case <-s.posts.none():
	case <-limit.C:
	case <-s.ctx.Done():
	}
}

// A postCount counts the posts under way.
type postCount struct {
	mu      sync.Mutex
	n       int
	waiting []chan struct{}
}

func (c *postCount) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += n; c.n == 0 {
		for _, w := range c.waiting {
			close(w)
		}
		c.waiting = nil
	}
}

// none returns a channel that is closed once no post is under way.
func (c *postCount) none() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := make(chan struct{})
	if c.n == 0 {
		close(w)
	} else {
		c.waiting = append(c.waiting, w)
	}
	return w
}

// resolve resolves the URI of an endpoint event against the URL of the stream. It
// removes white space around the URI and line breaks within, as URL parsers do
// (https://url.spec.whatwg.org/#url-parsing).
func (s *LegacySSE) resolve(uri string) (*url.URL, error) {
	return s.Endpoint.URL.Parse(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(strings.TrimSpace(uri)))
}

// ErrCrossOrigin is the error of a server that names a message URL of another origin.
// Messages would take the access token there.
var ErrCrossOrigin = errors.New("messages are not sent to another origin, since they carry the access token")

// setMessageURL sets the URL that messages are posted to, or why there is none.
// Only the first call has an effect.
func (s *LegacySSE) setMessageURL(to *url.URL, err error) {
	select {
	case <-s.decided:
		return
	default:
	}
	if s.messageURL, s.urlErr = to, err; err == nil && !sameOrigin(to, s.Endpoint.URL) {
		s.messageURL = nil
		s.urlErr = fmt.Errorf("the endpoint %s is of another origin than %s: %w",
			wire.Clip(to.Redacted(), 200), s.Endpoint.Redacted(), ErrCrossOrigin)
	}
	close(s.decided)
}

// MessageURL returns the URL that messages are posted to, once the server has named
// it.
func (s *LegacySSE) MessageURL(ctx context.Context) (*url.URL, error) {
	select {
	case <-s.decided:
		return s.messageURL, s.urlErr
	case <-ctx.Done():
		return nil, fmt.Errorf("no endpoint event came: %w", ctx.Err())
	}
}

// sameOrigin reports whether two URLs have the same origin (RFC 6454 section 4):
// hosts are compared without case, and a missing port is the default of the scheme.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOrDefault(a) == portOrDefault(b)
}

// Send posts one message. It returns the index of its frame once the head of the
// answer to the POST has come; a goroutine reads the body of that answer. The
// response to the message comes on the stream.
func (s *LegacySSE) Send(ctx context.Context, raw []byte) (at int, err error) {
	r, err := s.NewPostRequest(ctx, wire.Message{Raw: raw})
	if err != nil {
		return 0, err
	}
	s.posts.add(1)
	n, at := s.log.recordRequest(s.Endpoint, r, raw)
	exchange, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	reply, err := s.Endpoint.Do(exchange, r)
	stop()
	if err != nil {
		cancel()
		err = contextCause(ctx, err)
		s.log.recordFailure(n, err)
		s.posts.add(-1)
		return at, err
	}
	s.readers.Go(func() {
		defer s.posts.add(-1)
		defer cancel()
		body, _, err := reply.ReadAll()
		s.log.add(withoutMessage(answerFrame(n, reply, body, err)))
	})
	return at, nil
}

// NewPostRequest returns the request that posts a message, once the server has named
// the URL for it.
func (s *LegacySSE) NewPostRequest(ctx context.Context, m wire.Message) (HTTPRequest, error) {
	to, err := s.MessageURL(ctx)
	header := http.Header{"Content-Type": {"application/json"}}
	return HTTPRequest{Method: http.MethodPost, URL: to, Header: header, Body: m.Raw}, err
}

// SessionHeader returns the header fields of all requests of the session: none.
func (s *LegacySSE) SessionHeader() http.Header { return http.Header{} }

// Close closes the stream, which ends the session.
func (s *LegacySSE) Close() { s.end() }
