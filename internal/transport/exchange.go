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
	readers  *workers // read answers
}

// begin starts the session.
func (s *exchanger) begin(e *Endpoint, record func(wire.Frame) int) {
	s.endpoint, s.log.record = e, record
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.readers = newWorkers(s.ctx)
}

// end ends the session and waits for its readers.
func (s *exchanger) end() {
	s.cancel()
	s.readers.Wait()
}

// StartExchange sends a request unchanged and returns once the head of the answer has
// come. A goroutine reads the body; it ends with the session.
func (s *exchanger) StartExchange(ctx context.Context, r HTTPRequest) (*PendingExchange, error) {
	return s.start(ctx, s.endpoint, r)
}

// StartExchangeAt sends the request to another address of the server.
func (s *exchanger) StartExchangeAt(ctx context.Context, address netip.Addr, r HTTPRequest) (*PendingExchange, error) {
	return s.start(ctx, s.endpoint.atAddress(address), r)
}

// start starts an exchange. ctx bounds the wait for the head, the session the whole
// exchange.
func (s *exchanger) start(ctx context.Context, e *Endpoint, r HTTPRequest) (*PendingExchange, error) {
	whole, cancel := context.WithCancel(s.ctx)
	stop := context.AfterFunc(ctx, cancel)
	request := requestFrame(e, r, nil)
	n, at := s.log.begin(request)
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
	x := newPendingExchange(&s.log, wire.NewEntry(at, request), reply)
	s.readers.Go(func() {
		defer cancel()
		x.read()
	})
	return x, nil
}

// A PendingExchange is one HTTP request that carries no message of the session, while
// its answer comes. Its frames are recorded as frames without a message, so that no
// judge takes them for messages of the session, and long bodies are cut in the record.
// The PendingExchange keeps them as they came.
type PendingExchange struct {
	FrameIndex int // index of the frame of the request
	Status     int
	Header     http.Header // of the answer

	log      *exchangeLog
	response *HTTPResponse

	mu      sync.Mutex
	changed chan struct{} // closed and renewed at every change of known
	known   wire.Exchange
}

// newPendingExchange returns an exchange whose answer has a head and no body so far.
func newPendingExchange(log *exchangeLog, request wire.Entry, reply *HTTPResponse) *PendingExchange {
	x := &PendingExchange{
		FrameIndex: request.Index, Status: reply.Status, Header: reply.Header,
		log: log, response: reply, changed: make(chan struct{}), known: *wire.NewExchange(request),
	}
	head := wire.NewEntry(-1, headFrame(x.known.Number, reply))
	x.known.Head = &head
	return x
}

// IsRequestFrame reports whether a frame of a transcript is the request of the
// exchange. The frame of another session may have the same exchange number.
func (x *PendingExchange) IsRequestFrame(f wire.Frame) bool { return f.HTTP == x.known.Request.HTTP }

// MediaType returns the media type of the body without parameters, in lower case;
// "" if the answer names none.
func (x *PendingExchange) MediaType() string { return x.response.MediaType() }

// IsEventStream reports whether the answer declares its body as an event stream.
func (x *PendingExchange) IsEventStream() bool { return x.response.IsEventStream() }

// Snapshot returns the exchange as far as it has come. The indexes of the frames of
// the answer are not known.
func (x *PendingExchange) Snapshot() *wire.Exchange {
	known, _ := x.state()
	return known
}

// state returns the exchange as far as it has come, and a channel that is closed at
// the next change.
func (x *PendingExchange) state() (*wire.Exchange, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.known
	known.Body = slices.Clip(known.Body)
	return &known, x.changed
}

// maxStreamBytes bounds what a PendingExchange keeps of one stream.
const maxStreamBytes = 16 << 20

// read reads the answer to its end.
func (x *PendingExchange) read() {
	defer x.response.Close()
	n := x.known.Number
	if !x.IsEventStream() {
		body, cut, err := x.response.ReadAll()
		f := answerFrame(n, x.response, body, err)
		f.Truncated = cut
		x.add(f)
		return
	}
	x.log.recordHead(n, x.response)
	kept := 0
	for {
		f, err := x.response.NextEvent()
		if kept += f.Size(); err == nil && kept > maxStreamBytes {
			x.add(closedFrame(n))
			err = fmt.Errorf("the stream was closed after %d bytes", maxStreamBytes)
		}
		if err != nil {
			x.add(endFrame(n, err, true))
			return
		}
		f.HTTP.Exchange = n
		x.add(f)
	}
}

// add records a frame of the exchange and wakes Await.
func (x *PendingExchange) add(f wire.Frame) {
	recorded := f
	if f.Raw != nil {
		recorded = withoutMessage(f)
	}
	x.log.add(recorded)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known.Add(wire.NewEntry(-1, f))
	close(x.changed)
	x.changed = make(chan struct{})
}

// Await waits at most the given time until a condition on the exchange holds, and
// reports whether it does. It tests the condition at every change, and stops at the
// end of the answer.
func (x *PendingExchange) Await(
	ctx context.Context, within time.Duration, condition func(known *wire.Exchange) bool,
) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		known, changed := x.state()
		if condition(known) {
			return true
		}
		if known.HasEnded() {
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
func (x *PendingExchange) Close() {
	if x.Snapshot().HasEnded() {
		return
	}
	x.add(closedFrame(x.known.Number))
	x.response.Close()
}

// endReason returns the end of a stream as a frame records it.
func endReason(err error) string {
	if errors.Is(err, io.EOF) {
		return wire.EndedByPeer
	}
	return unwrapURLError(err).Error()
}
