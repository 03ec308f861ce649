package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Streamable is the client end of a session over streamable HTTP
// (basic/transports#streamable-http, since 2025-03-26). Each message is a POST
// of its own, made and read beside others. Up to 2025-11-25 it carries the
// session id and the agreed version, listens on a GET stream and takes up
// streams that broke; from 2026-07-28 on it mirrors the message into headers.
//
// Everything that goes over it is recorded as frames, those of ours before they
// are sent.
type Streamable struct {
	Endpoint *Endpoint
	Rev      spec.Revision
	// Record records a frame and returns its index. It is called from several
	// goroutines, never by two at once.
	Record func(wire.Frame) int
	// Lost is told if the server cannot be reached any more, or does not know
	// the session any more.
	Lost func(error)
	// Poll bounds how long a stream that the server closed early is taken up
	// again.
	Poll time.Duration
	// Settle bounds how long the head of the stream for what the server says on
	// its own is waited for, so that nothing is said before it is listened to.
	Settle time.Duration

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	log     exchanges
	mu      sync.Mutex
	session string // id that the server gave, or ""
	agreed  bool   // initialize was answered with a result
	posts   map[int]*post
}

// A post is an exchange whose answer is being read.
type post struct {
	cancel  context.CancelFunc
	id      wire.ID // of the request in it
	forgone bool    // the client has cancelled that
}

// Open makes the link ready; it sends nothing.
func (s *Streamable) Open() {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.log.record = s.Record
	s.posts = map[int]*post{}
}

// Send posts one message. It returns the index of its frame once the request
// was written, for a message that asks nothing once the head of the answer came
// or the context ended: what is sent after it is read after it.
func (s *Streamable) Send(ctx context.Context, raw []byte) (int, error) {
	m := wire.Parse(raw)
	r, err := s.Posting(ctx, m)
	if err != nil {
		return -1, err
	}
	n, at := s.log.begin(s.Endpoint, r, raw)
	if m.Method() == "notifications/cancelled" {
		s.forgo(wire.ID{Raw: m.Params().Get("requestId").Raw})
	}
	written := make(chan struct{})
	wrote := sync.OnceFunc(func() { close(written) })
	answered := make(chan error, 1)
	exchange, cancel := context.WithCancel(s.ctx)
	s.track(n, &post{cancel: cancel, id: m.ID()})
	s.work.Go(func() {
		defer s.untrack(n)
		trace := &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				wrote()
			}
		}}
		reply, err := s.Endpoint.Do(httptrace.WithClientTrace(exchange, trace), r)
		if err != nil {
			s.failed(n, err)
			answered <- err
			return
		}
		s.head(n, m, reply)
		answered <- nil
		s.read(n, m, reply)
	})
	err = handedOver(ctx, asks(m), written, answered)
	if err != nil {
		cancel()
	}
	if err == nil && m.Kind == wire.Notification && m.Method() == "notifications/initialized" {
		s.listen()
	}
	return at, err
}

// asks tells whether a message holds a request that a server may take its time
// for; what has a flaw it will refuse at once.
func asks(m wire.Message) bool {
	return slices.ContainsFunc(m.Elements(), func(part wire.Message) bool { return part.Kind == wire.Request && part.Flaw() == nil })
}

// handedOver waits until a message was given to the server: one that asks for
// an answer once it was written, another once the head of the answer came.
func handedOver(ctx context.Context, asks bool, written <-chan struct{}, answered <-chan error) error {
	select {
	case err := <-answered:
		select {
		case <-written:
			if asks {
				return nil // the end of the exchange says what became of it
			}
		default:
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-written:
	}
	if asks {
		return nil
	}
	select {
	case err := <-answered:
		return err
	case <-ctx.Done(): // the server has it, and is slow to say so
		return nil
	}
}

// Abandon closes the stream on which the answer to a request is awaited: up to
// 2025-11-25 a lost connection, from 2026-07-28 on how a request is cancelled.
// It is recorded as the end of the exchange by us. It tells whether there was one.
func (s *Streamable) Abandon(id wire.ID) bool {
	n, p := s.awaiting(id)
	if p == nil {
		return false
	}
	s.log.note(wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: n, End: closedByUs}})
	p.cancel()
	return true
}

// forgo notes that no answer to a request is awaited any more: its stream is not
// taken up again.
func (s *Streamable) forgo(id wire.ID) {
	if _, p := s.awaiting(id); p != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.forgone = true
	}
}

// forgone tells whether the client has cancelled the request of a message.
func (s *Streamable) forgone(m wire.Message) bool {
	_, p := s.awaiting(m.ID())
	s.mu.Lock()
	defer s.mu.Unlock()
	return p != nil && p.forgone
}

// awaiting returns the exchange whose answer to a request is being read, or nil.
func (s *Streamable) awaiting(id wire.ID) (n int, p *post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, p := range s.posts {
		if p.id.Present() && p.id.Equal(id) {
			return n, p
		}
	}
	return 0, nil
}

// Posting returns the request by which a message is posted.
func (s *Streamable) Posting(_ context.Context, m wire.Message) (HTTPRequest, error) {
	return HTTPRequest{Method: http.MethodPost, Header: s.header(m), Body: m.Raw}, nil
}

// Fields returns the header fields that all requests of the session have.
func (s *Streamable) Fields() http.Header { return s.header(wire.Message{}) }

// Request sends a request of HTTP that is no message, such as DELETE, and
// returns its answer with the body read. The session's header fields are added
// where the request has none of its own.
func (s *Streamable) Request(ctx context.Context, r HTTPRequest) (*Reply, []byte, error) {
	header := s.header(wire.Message{})
	for key, values := range r.Header {
		header[http.CanonicalHeaderKey(key)] = values
	}
	r.Header = header
	n, _ := s.log.begin(s.Endpoint, r, nil)
	reply, err := s.Endpoint.Do(ctx, r)
	if err != nil {
		s.failed(n, err)
		return nil, nil, err
	}
	body, _, err := reply.All()
	s.log.whole(n, reply, body)
	return reply, body, err
}

// Session returns the id that the server gave the session, or "".
func (s *Streamable) Session() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// Close ends the session as a client should: DELETE where there is an id
// (basic/transports#session-management), then all streams.
func (s *Streamable) Close(ctx context.Context) {
	if s.Session() != "" && ctx.Err() == nil {
		// A server may refuse it with 405; what it answers is recorded.
		_, _, _ = s.Request(ctx, HTTPRequest{Method: http.MethodDelete})
	}
	s.cancel()
	s.work.Wait()
}

// head records the head of an answer, and takes from it what the session needs.
func (s *Streamable) head(n int, m wire.Message, reply *Reply) {
	if id := reply.Header.Get("Mcp-Session-Id"); id != "" && m.Method() == "initialize" && reply.Status < 300 && !s.Rev.Facts().Stateless {
		s.mu.Lock()
		s.session = id
		s.mu.Unlock()
	}
	if reply.Streams() {
		s.log.head(n, reply)
	}
}

// read reads the answer to a post.
func (s *Streamable) read(n int, m wire.Message, reply *Reply) {
	if reply.Streams() {
		s.stream(n, reading{of: m, owed: requests(m), wait: reconnectAfter, until: time.Now().Add(s.Poll)}, reply)
		return
	}
	body, cut, err := reply.All()
	f := wire.Frame{From: wire.Server, Cut: cut, Note: reply.note()}
	if err == nil && message(reply, body) { // what broke off is none, whoever broke it off
		f.HTTP, f.Raw = headOf(n, reply), body
		s.learn(m, body)
	} else {
		f.HTTP = wholeOf(n, reply, body, err)
	}
	s.log.note(f)
	if forgotten(m, reply, f.Raw) {
		s.lose(fmt.Errorf("%w: HTTP status 404", ErrForgotten))
	}
}

// ErrForgotten tells that the server has ended the session, as it may at any time
// (basic/transports#session-management).
var ErrForgotten = errors.New("the server no longer knows the session")

// forgotten tells whether an answer says that the session has ended
// (basic/transports#session-management): by 404, and not by an error of the
// request's own.
func forgotten(m wire.Message, reply *Reply, answer []byte) bool {
	own := m.ID().Present() && wire.Parse(answer).ID().Equal(m.ID())
	return reply.Status == http.StatusNotFound && reply.Sent.Get("Mcp-Session-Id") != "" && !own
}

// message tells whether a body is taken as a message: one that is said to be
// JSON, and where the status says failure looks like a message too, since what
// else stands there is not stated.
func message(reply *Reply, body []byte) bool {
	if len(body) == 0 || reply.MediaType() != "application/json" {
		return false
	}
	if reply.Status < 300 {
		return true
	}
	m := wire.Parse(body)
	return m.Kind == wire.Batch || m.IsResponse() && m.Get("jsonrpc").Exists()
}

// learn takes from a result what later requests need: that the session is
// open, and which arguments of tools go into headers.
func (s *Streamable) learn(m wire.Message, answer []byte) {
	switch m.Method() {
	case "initialize":
		if wire.Parse(answer).Kind == wire.Result {
			s.mu.Lock()
			s.agreed = true
			s.mu.Unlock()
		}
	case "tools/list":
		if !s.Rev.Facts().Stateless {
			return // no header of those revisions repeats an argument
		}
		tools := wire.Parse(answer).Result().Get("tools").Array()
		for _, tool := range tools {
			s.Endpoint.mirrors.Store(tool.Get("name").String(), mirroredBy(tool.Get("inputSchema")))
		}
	}
}

// failed records why an exchange came to nothing; that nobody listens means
// that the server is gone.
func (s *Streamable) failed(n int, err error) {
	if s.ctx.Err() != nil {
		return
	}
	s.log.failed(n, err)
	if unreachable(err) {
		s.lose(fmt.Errorf("the server cannot be reached any more: %w", err))
	}
}

func (s *Streamable) lose(err error) {
	if s.Lost != nil {
		s.Lost(err)
	}
}

func (s *Streamable) track(n int, p *post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[n] = p
}

func (s *Streamable) untrack(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[n].cancel()
	delete(s.posts, n)
}
