package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An exchanger sends the requests of one session over HTTP. It is the part that
// both transports share.
type exchanger struct {
	endpoint *Endpoint
	log      exchangeLog
	ctx      context.Context // ends with the session
	cancel   context.CancelFunc
	readers  sync.WaitGroup // goroutines that read answers
}

// begin starts the session.
func (s *exchanger) begin(e *Endpoint, record func(wire.Frame) int) {
	s.endpoint, s.log.record = e, record
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// end ends the session and waits for its readers.
func (s *exchanger) end() {
	s.cancel()
	s.readers.Wait()
}

// StartExchange sends a request unchanged and returns once the head of the answer has
// come. A goroutine reads the body; it ends with the session.
func (s *exchanger) StartExchange(ctx context.Context, r HTTPRequest) (*Exchange, error) {
	return s.start(ctx, s.endpoint, r)
}

// StartExchangeAt sends the request to another address of the server.
func (s *exchanger) StartExchangeAt(ctx context.Context, address netip.Addr, r HTTPRequest) (*Exchange, error) {
	return s.start(ctx, s.endpoint.atAddress(address), r)
}

// start starts an exchange. ctx bounds the wait for the head, the session the whole
// exchange.
func (s *exchanger) start(ctx context.Context, e *Endpoint, r HTTPRequest) (*Exchange, error) {
	whole, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	n, at := s.log.recordRequest(e, r, nil)
	reply, err := e.Do(whole, r)
	if !stop() {
		if err == nil {
			reply.Close()
		}
		err = fmt.Errorf("%s %s: %w", r.Method, e.Redacted(), context.Cause(ctx))
	}
	if err != nil {
		cancel()
		s.log.recordFailure(n, err)
		return nil, err
	}
	x := &Exchange{
		FrameIndex: at, Status: reply.Status, Header: reply.Header,
		log: &s.log, number: n, request: r, response: reply, changed: make(chan struct{}),
	}
	s.readers.Go(func() {
		defer cancel()
		x.read()
	})
	return x, nil
}

// An Exchange is one HTTP request that carries no message of the session, and its
// answer as far as it has come. Its frames are recorded as frames without a
// message, so that no check takes them for messages.
type Exchange struct {
	FrameIndex int // index of the frame of the request
	Status     int
	Header     http.Header // of the answer

	log      *exchangeLog
	number   int
	request  HTTPRequest
	response *HTTPResponse

	mu        sync.Mutex
	changed   chan struct{} // closed and renewed at every change of the fields below
	body      []byte
	events    []Event
	ended     bool
	endReason error // io.EOF if the peer ended the answer properly
}

// IsRequestFrame reports whether a frame is the request of the exchange. It also
// compares the header fields, since another session may use the same exchange number.
func (x *Exchange) IsRequestFrame(f wire.Frame) bool {
	if f.From != wire.Client || f.HTTP == nil || f.HTTP.Exchange != x.number || f.HTTP.Method != x.request.Method {
		return false
	}
	for key, values := range x.request.Header {
		if !slices.Equal(f.HTTP.Header[key], values) {
			return false
		}
	}
	return true
}

// MediaType returns the media type of the body without parameters, in lower case;
// "" if the answer names none.
func (x *Exchange) MediaType() string { return x.response.MediaType() }

// IsEventStream reports whether the answer declares its body as an event stream.
func (x *Exchange) IsEventStream() bool { return x.response.IsEventStream() }

// maxStreamBytes bounds what an Exchange keeps of one stream.
const maxStreamBytes = 64 << 20

// read reads the answer to its end.
func (x *Exchange) read() {
	defer x.response.Close()
	if !x.IsEventStream() {
		body, _, err := x.response.ReadAll()
		x.log.recordAnswer(x.number, x.response, body)
		if err == nil {
			err = io.EOF
		}
		x.update(func() { x.body, x.ended, x.endReason = body, true, err })
		return
	}
	x.log.recordHead(x.number, x.response)
	kept := 0
	for {
		e, err := x.response.NextEvent()
		if err != nil {
			x.log.recordEnd(x.number, err, true)
			x.update(func() { x.ended, x.endReason = true, err })
			return
		}
		if kept += e.size(); kept > maxStreamBytes {
			x.log.recordClosedByClient(x.number)
			err := fmt.Errorf("the stream was closed after %d bytes", maxStreamBytes)
			x.update(func() { x.ended, x.endReason = true, err })
			return
		}
		x.log.add(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{
			Exchange: x.number, Event: wireEvent(e), Body: recordedText(e.Data),
		}})
		x.update(func() { x.events = append(x.events, e) })
	}
}

// update changes the state of the answer and wakes Await.
func (x *Exchange) update(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
	close(x.changed)
	x.changed = make(chan struct{})
}

// Events returns the blocks of the stream so far.
func (x *Exchange) Events() []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.events)
}

// Messages returns the messages of the body or of the events so far; a batch counts
// as its elements.
func (x *Exchange) Messages() (out []wire.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.body) > 0 {
		return wire.Parse(x.body).Elements()
	}
	for _, e := range x.events {
		if e.isMessage() {
			out = append(out, wire.Parse(e.Data).Elements()...)
		}
	}
	return out
}

// Body returns the body of an answer that is no stream, once it has ended.
func (x *Exchange) Body() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.body
}

// Ended reports whether the answer has ended, and why: io.EOF if the peer ended it
// properly.
func (x *Exchange) Ended() (reason error, ended bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.endReason, x.ended
}

// Await waits at most the given time until a condition holds, and reports whether
// it does. It tests the condition at every change of the answer, and stops at the
// end of the answer.
func (x *Exchange) Await(ctx context.Context, within time.Duration, condition func(x *Exchange) bool) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		x.mu.Lock()
		changed, ended := x.changed, x.ended
		x.mu.Unlock()
		if condition(x) {
			return true
		}
		if ended {
			return false
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Close ends the exchange from this side.
func (x *Exchange) Close() {
	if _, ended := x.Ended(); ended {
		return
	}
	x.log.recordClosedByClient(x.number)
	x.response.Close()
}

// endReason returns the end of a stream as a frame records it.
func endReason(err error) string {
	if errors.Is(err, io.EOF) {
		return wire.EndedByPeer
	}
	return unwrapURLError(err).Error()
}
