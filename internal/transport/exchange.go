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

// An Exchange is one request of HTTP, made beside the messages of a session, and
// its answer as far as it has come. What goes over it is recorded as frames of
// the transport: to judges of messages it is none.
type Exchange struct {
	Sent   HTTPRequest
	At     int // index of its first frame
	Status int
	Proto  string      // HTTP/1.1, HTTP/2.0
	Header http.Header // of the answer

	log   *exchanges
	n     int
	reply *Reply

	mu     sync.Mutex
	news   chan struct{} // closed and renewed whenever something came
	body   []byte
	events []Event
	over   bool
	end    error // why it is over, io.EOF where the peer ended it properly
}

// Exchange sends a request as it is and returns once the head of the answer came;
// its body is read on meanwhile. The session ends it with itself.
func (s *Streamable) Exchange(ctx context.Context, r HTTPRequest) (*Exchange, error) {
	return exchange(ctx, s.ctx, &s.work, s.Endpoint, &s.log, r)
}

// ExchangeAt does the same at another address of the server.
func (s *Streamable) ExchangeAt(ctx context.Context, address netip.Addr, r HTTPRequest) (*Exchange, error) {
	return exchange(ctx, s.ctx, &s.work, s.Endpoint.At(address), &s.log, r)
}

// Exchange sends a request as it is and returns once the head of the answer came;
// its body is read on meanwhile. The session ends it with itself.
func (s *LegacySSE) Exchange(ctx context.Context, r HTTPRequest) (*Exchange, error) {
	return exchange(ctx, s.ctx, &s.work, s.Endpoint, &s.log, r)
}

// ExchangeAt does the same at another address of the server.
func (s *LegacySSE) ExchangeAt(ctx context.Context, address netip.Addr, r HTTPRequest) (*Exchange, error) {
	return exchange(ctx, s.ctx, &s.work, s.Endpoint.At(address), &s.log, r)
}

// exchange bounds the wait for the head by ctx, and the whole by session.
func exchange(ctx, session context.Context, work *sync.WaitGroup, e *Endpoint, log *exchanges, r HTTPRequest) (*Exchange, error) {
	whole, cancel := context.WithCancel(session)
	stop := context.AfterFunc(ctx, cancel)
	n, at := log.begin(e, r, nil)
	reply, err := e.Do(whole, r)
	if !stop() {
		if err == nil {
			reply.Close()
		}
		err = fmt.Errorf("%s %s: %w", r.Method, e.Shown(), context.Cause(ctx))
	}
	if err != nil {
		cancel()
		log.failed(n, err)
		return nil, err
	}
	x := &Exchange{
		Sent: r, At: at, Status: reply.Status, Proto: reply.Proto, Header: reply.Header,
		log: log, n: n, reply: reply, news: make(chan struct{}),
	}
	work.Go(func() {
		defer cancel()
		x.read()
	})
	return x, nil
}

// Begins tells whether a frame is that of the request: the header tells those of
// different sessions apart.
func (x *Exchange) Begins(f wire.Frame) bool {
	if f.From != wire.Client || f.HTTP == nil || f.HTTP.Exchange != x.n || f.HTTP.Method != x.Sent.Method {
		return false
	}
	for key, values := range x.Sent.Header {
		if !slices.Equal(f.HTTP.Header[key], values) {
			return false
		}
	}
	return true
}

// MediaType returns the media type of the body without parameters, in lower
// case; "" if none is named.
func (x *Exchange) MediaType() string { return x.reply.MediaType() }

// Streams tells whether the body is declared as an event stream.
func (x *Exchange) Streams() bool { return x.reply.Streams() }

func (x *Exchange) read() {
	defer x.reply.Close()
	if !x.Streams() {
		body, _, err := x.reply.All()
		x.log.whole(x.n, x.reply, body)
		if err == nil {
			err = io.EOF
		}
		x.came(func() { x.body, x.over, x.end = body, true, err })
		return
	}
	x.log.head(x.n, x.reply)
	kept := 0
	for {
		e, err := x.reply.Next()
		if err != nil {
			end := wire.EndedByPeer
			if !errors.Is(err, io.EOF) {
				end = plain(err).Error()
			}
			x.log.note(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: x.n, End: end, Last: true}})
			x.came(func() { x.over, x.end = true, err })
			return
		}
		if kept += e.size(); kept > maxEvents {
			x.log.note(wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: x.n, End: closedByUs}})
			x.came(func() { x.over, x.end = true, fmt.Errorf("the stream was left after %d bytes", maxEvents) })
			return
		}
		x.log.note(wire.Frame{From: wire.Server, HTTP: &wire.HTTP{Exchange: x.n, Event: eventOf(e), Body: text(e.Data)}})
		x.came(func() { x.events = append(x.events, e) })
	}
}

// maxEvents bounds what is kept of one stream, in bytes.
const maxEvents = 64 << 20

// came notes what came and wakes who waits for it.
func (x *Exchange) came(note func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	note()
	close(x.news)
	x.news = make(chan struct{})
}

// Events returns the blocks of the stream so far.
func (x *Exchange) Events() []Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.events)
}

// Messages returns the messages so far, those of batches one by one: the body,
// or what the events carry.
func (x *Exchange) Messages() (out []wire.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.body) > 0 {
		return wire.Parse(x.body).Elements()
	}
	for _, e := range x.events {
		if e.carries() {
			out = append(out, wire.Parse(e.Data).Elements()...)
		}
	}
	return out
}

// Body returns the body of an answer that is no stream, once it is over.
func (x *Exchange) Body() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.body
}

// Over tells whether the answer has come to its end, and which: io.EOF where the
// peer ended it properly.
func (x *Exchange) Over() (end error, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.end, x.over
}

// Await waits until the answer is as wished, looking whenever something came, at
// most so long, and tells whether it is. It ends with the answer.
func (x *Exchange) Await(ctx context.Context, within time.Duration, wished func(x *Exchange) bool) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		x.mu.Lock()
		news, over := x.news, x.over
		x.mu.Unlock()
		if wished(x) {
			return true
		}
		if over {
			return false
		}
		select {
		case <-news:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// Close ends the exchange from our side.
func (x *Exchange) Close() {
	if _, over := x.Over(); over {
		return
	}
	x.log.note(wire.Frame{From: wire.Client, HTTP: &wire.HTTP{Exchange: x.n, End: closedByUs}})
	x.reply.Close()
}

// closedByUs is the end of an exchange that the client closed.
const closedByUs = "closed by the client"
