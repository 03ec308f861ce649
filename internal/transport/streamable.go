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
// (basic/transports#streamable-http, since 2025-03-26). It sends each message as a
// POST of its own, whose answer a goroutine reads. Up to 2025-11-25 it sends the
// session id and the negotiated version, listens on a GET stream, and resumes
// streams that broke. From 2026-07-28 on it repeats parts of the message in header
// fields.
//
// It records all frames; those of this side before they are sent.
type Streamable struct {
	Endpoint *Endpoint
	Rev      spec.Revision
	// Record records a frame and returns its index. It is called from several
	// goroutines, but never by two at once.
	Record func(wire.Frame) int
	// OnSessionLost is called if the server cannot be reached any more, or has ended
	// the session; it may be nil.
	OnSessionLost func(error)
	// ResumeTimeout bounds the time in which a stream is resumed that the server
	// closed before the response.
	ResumeTimeout time.Duration
	// ListenTimeout bounds the wait for the head of the GET stream. Messages that the
	// server sends before that head could be missed.
	ListenTimeout time.Duration

	exchanger
	mu          sync.Mutex
	sessionID   string // "" for none
	initialized bool   // initialize was answered with a result
	posts       map[int]*pendingPost
}

// A pendingPost is a POST whose answer is being read.
type pendingPost struct {
	cancel    context.CancelFunc
	id        wire.ID // of the request in it
	cancelled bool    // the client has cancelled that request
}

// Open prepares the session. It sends nothing.
func (s *Streamable) Open() {
	s.begin(s.Endpoint, s.Record)
	s.posts = map[int]*pendingPost{}
}

// Send posts one message and returns the index of its frame. A message with a
// request is sent once the POST was written. Any other message is sent once the
// head of the answer has come or the context has ended, so that the server reads it
// before the next message.
func (s *Streamable) Send(ctx context.Context, raw []byte) (int, error) {
	m := wire.Parse(raw)
	r, err := s.NewPostRequest(ctx, m)
	if err != nil {
		return -1, err
	}
	n, at := s.log.recordRequest(s.Endpoint, r, raw)
	if m.Method() == "notifications/cancelled" {
		s.markCancelled(wire.ID{Raw: m.Params().Get("requestId").Raw})
	}
	exchange, cancel := context.WithCancel(s.ctx)
	s.track(n, &pendingPost{cancel: cancel, id: m.ID()})
	if err = s.post(exchange, n, m, r).await(ctx, hasValidRequest(m)); err != nil {
		cancel()
	}
	if err == nil && m.Kind == wire.Notification && m.Method() == "notifications/initialized" {
		s.listen()
	}
	return at, err
}

// A delivery is the progress of a POST.
type delivery struct {
	written  chan struct{} // closed once the request was written
	answered chan error    // receives nil once the head of the answer has come, or why it will not
}

// post sends a POST and reads its answer in a goroutine.
func (s *Streamable) post(exchange context.Context, n int, m wire.Message, r HTTPRequest) delivery {
	d := delivery{written: make(chan struct{}), answered: make(chan error, 1)}
	closeWritten := sync.OnceFunc(func() { close(d.written) })
	s.readers.Go(func() {
		defer s.untrack(n)
		trace := &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				closeWritten()
			}
		}}
		reply, err := s.Endpoint.Do(httptrace.WithClientTrace(exchange, trace), r)
		if err != nil {
			s.recordFailure(n, err)
			d.answered <- err
			return
		}
		s.readHead(n, m, reply)
		d.answered <- nil
		s.readAnswer(n, m, reply)
	})
	return d
}

// hasValidRequest reports whether a message has a request that a server may take
// time to answer. It refuses a malformed request at once.
func hasValidRequest(m wire.Message) bool {
	return slices.ContainsFunc(m.Elements(), func(part wire.Message) bool {
		return part.Kind == wire.Request && part.FormatError() == nil
	})
}

// await waits until the server has the message: one with a request once it was
// written, any other once the head of the answer has come.
func (d delivery) await(ctx context.Context, hasRequest bool) error {
	select {
	case err := <-d.answered:
		select {
		case <-d.written:
			if hasRequest {
				return nil // the end of the exchange is recorded
			}
		default:
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-d.written:
	}
	if hasRequest {
		return nil
	}
	select {
	case err := <-d.answered:
		return err
	case <-ctx.Done(): // the server has the message and is slow to answer
		return nil
	}
}

// AbandonRequest closes the stream that the answer to a request comes on, and records
// that this side ended the exchange. Up to 2025-11-25 the server sees a lost
// connection; from 2026-07-28 on this cancels the request. It reports whether there
// was such a stream.
func (s *Streamable) AbandonRequest(id wire.ID) bool {
	n, p := s.findPost(id)
	if p == nil {
		return false
	}
	s.log.recordClosedByClient(n)
	p.cancel()
	return true
}

// markCancelled notes that the client cancelled a request, whose stream is not
// resumed any more.
func (s *Streamable) markCancelled(id wire.ID) {
	if _, p := s.findPost(id); p != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.cancelled = true
	}
}

// isCancelled reports whether the client has cancelled the request of a message.
func (s *Streamable) isCancelled(m wire.Message) bool {
	_, p := s.findPost(m.ID())
	s.mu.Lock()
	defer s.mu.Unlock()
	return p != nil && p.cancelled
}

// findPost returns the pending POST of a request, or nil.
func (s *Streamable) findPost(id wire.ID) (n int, p *pendingPost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, p := range s.posts {
		if p.id.IsPresent() && p.id.Equal(id) {
			return n, p
		}
	}
	return 0, nil
}

// NewPostRequest returns the request that posts a message.
func (s *Streamable) NewPostRequest(_ context.Context, m wire.Message) (HTTPRequest, error) {
	return HTTPRequest{Method: http.MethodPost, Header: s.requestHeader(m), Body: m.Raw}, nil
}

// SessionHeader returns the header fields of all requests of the session.
func (s *Streamable) SessionHeader() http.Header { return s.requestHeader(wire.Message{}) }

// Close ends the session as a client should: with DELETE if it has an id
// (basic/transports#session-management). It then closes all streams.
func (s *Streamable) Close(ctx context.Context) {
	header := s.SessionHeader()
	if header.Get("Mcp-Session-Id") != "" && ctx.Err() == nil {
		s.delete(ctx, header)
	}
	s.end()
}

// delete sends the DELETE and records the answer. A server may refuse it with 405.
func (s *Streamable) delete(ctx context.Context, header http.Header) {
	r := HTTPRequest{Method: http.MethodDelete, Header: header}
	n, _ := s.log.recordRequest(s.Endpoint, r, nil)
	reply, err := s.Endpoint.Do(ctx, r)
	if err != nil {
		s.recordFailure(n, err)
		return
	}
	body, _, _ := reply.ReadAll()
	s.log.recordAnswer(n, reply, body)
}

// readHead records the head of a stream, and keeps the session id of the answer to
// initialize.
func (s *Streamable) readHead(n int, m wire.Message, reply *HTTPResponse) {
	id := reply.Header.Get("Mcp-Session-Id")
	if id != "" && m.Method() == "initialize" && reply.Status < 300 && !s.Rev.Facts().Stateless {
		s.mu.Lock()
		s.sessionID = id
		s.mu.Unlock()
	}
	if reply.IsEventStream() {
		s.log.recordHead(n, reply)
	}
}

// readAnswer reads the answer to a POST.
func (s *Streamable) readAnswer(n int, m wire.Message, reply *HTTPResponse) {
	if reply.IsEventStream() {
		state := streamState{
			request: m, pending: countRequests(m),
			reconnectDelay: defaultReconnectDelay, deadline: time.Now().Add(s.ResumeTimeout),
		}
		s.readStream(n, state, reply)
		return
	}
	body, cut, err := reply.ReadAll()
	f := answerFrame(n, reply, body, err)
	f.Truncated = cut
	if err == nil && isMessageBody(reply, body) { // an incomplete body is no message
		s.storeResult(m, body)
	} else {
		f = withoutMessage(f)
	}
	s.log.add(f)
	if endsSession(m, reply, f.Raw) {
		s.reportLost(fmt.Errorf("%w: HTTP status 404", ErrSessionEnded))
	}
}

// ErrSessionEnded is the error of a session that the server has ended, as it may do
// at any time (basic/transports#session-management).
var ErrSessionEnded = errors.New("the server no longer knows the session")

// endsSession reports whether an answer means that the server has ended the session
// (basic/transports#session-management): status 404 without a response to the
// request itself.
func endsSession(m wire.Message, reply *HTTPResponse, answer []byte) bool {
	if reply.Status != http.StatusNotFound || reply.RequestHeader.Get("Mcp-Session-Id") == "" {
		return false
	}
	responds := m.ID().IsPresent() && wire.Parse(answer).ID().Equal(m.ID())
	return !responds
}

// isMessageBody reports whether a body is taken for a message: its media type is
// JSON and, if the status is a failure, it is a batch or a response. The
// specification does not state what else such an answer holds.
func isMessageBody(reply *HTTPResponse, body []byte) bool {
	if len(body) == 0 || reply.MediaType() != "application/json" {
		return false
	}
	if reply.Status < 300 {
		return true
	}
	m := wire.Parse(body)
	return m.Kind == wire.Batch || m.IsResponse() && m.Get("jsonrpc").Exists()
}

// storeResult keeps what later requests need of a result: that the session is
// initialized, and which arguments of a tool are repeated in header fields.
func (s *Streamable) storeResult(m wire.Message, answer []byte) {
	switch m.Method() {
	case "initialize":
		if wire.Parse(answer).Kind == wire.Result {
			s.mu.Lock()
			s.initialized = true
			s.mu.Unlock()
		}
	case "tools/list":
		if !s.Rev.Facts().Stateless {
			return // only stateless revisions repeat arguments in header fields
		}
		tools := wire.Parse(answer).Result().Get("tools").Array()
		for _, tool := range tools {
			s.Endpoint.toolHeaders.Store(tool.Get("name").String(), toolHeadersOf(tool.Get("inputSchema")))
		}
	}
}

// recordFailure records why an exchange has no answer. A refused connection means
// that the server has ended.
func (s *Streamable) recordFailure(n int, err error) {
	if s.ctx.Err() != nil {
		return
	}
	s.log.recordFailure(n, err)
	if isConnectionRefused(err) {
		s.reportLost(fmt.Errorf("the server cannot be reached any more: %w", err))
	}
}

func (s *Streamable) reportLost(err error) {
	if s.OnSessionLost != nil {
		s.OnSessionLost(err)
	}
}

func (s *Streamable) track(n int, p *pendingPost) {
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
