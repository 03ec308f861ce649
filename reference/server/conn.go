package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A conn is one connection: what is in flight in both directions, and the order in
// which messages leave.
type conn struct {
	ctx      context.Context
	stop     context.CancelCauseFunc
	options  Options
	features *Features
	session  *Session
	methods  map[string]method
	// extensionMethods are the methods of the extensions that the library declares.
	extensionMethods map[string]method
	handle           Handler
	receive          Receiver

	sendMu sync.Mutex // serializes outgoing frames, so that notifications keep their order
	sink   FrameSink

	mu               sync.Mutex
	inflight         map[string]*job              // by key of the id
	awaitedResponses map[string]chan wire.Message // to requests of the server, by key of the id
	requestCount     int                          // of requests of the server
	subscriptions    []*subscription
	callSlots        chan struct{} // holds an element for each tool call in progress
	tasks            taskStore
	work             sync.WaitGroup
	receiveTurn      chan struct{}            // held while an HTTP message is received
	receiving        atomic.Pointer[exchange] // the exchange of the HTTP message that is being received
	sending          atomic.Pointer[exchange] // the exchange of the frame in the sink
	ending           bool                     // no new work begins
	closing          chan struct{}            // closed when no more input is taken
}

// maxInFlight bounds the requests in progress, and with them the memory that a
// client can take.
const maxInFlight = 2000

// A job is the work on one request.
type job struct {
	cancel    context.CancelCauseFunc
	key       string      // under which it is in flight
	cancelled atomic.Bool // nothing more is sent for it
	yielded   chan struct{}
	once      sync.Once
	reply     func(raw []byte, kind wire.Kind) // takes the response; nil raw for none
}

// yield lets the connection take up the next message.
func (j *job) yield() { j.once.Do(func() { close(j.yielded) }) }

var (
	errCancelled = errors.New("cancelled by the client")
	errExpired   = errors.New("its time is over")
	errStopped   = errors.New("the server stopped")
)

// newConn makes a connection whose messages leave through write.
func newConn(ctx context.Context, stop context.CancelCauseFunc, write FrameSink, o Options) *conn {
	c := &conn{
		ctx: ctx, stop: stop, options: o,
		features:         newFeatures(o),
		session:          newSession(),
		methods:          methods(),
		inflight:         map[string]*job{},
		awaitedResponses: map[string]chan wire.Message{},
		closing:          make(chan struct{}),
		callSlots:        make(chan struct{}, maxCalls),
		receiveTurn:      make(chan struct{}, 1),
	}
	if o.Official {
		c.features.addOfficial(o.StepDelay)
	}
	if o.ChangeFeatures != nil {
		o.ChangeFeatures(c.features)
	}
	c.features.addSkillResources()
	c.extensionMethods = c.features.extensionMethods()
	c.sink = wrapped(c.withSendingExchange(write), o.Frames)
	c.handle = wrapped[Handler](c.serveRequest, o.Handler)
	c.receive = c.receiveMessage
	if o.Incoming != nil {
		c.receive = o.Incoming(c.receive, func(f Frame) {
			if f.exchange == nil {
				f.exchange = c.receiving.Load()
			}
			write(f)
		})
	}
	return c
}

// withSendingExchange puts a frame that a hook made of another one on the exchange
// of that other frame.
func (c *conn) withSendingExchange(write FrameSink) FrameSink {
	return func(f Frame) {
		if f.exchange == nil && f.Request == nil {
			f.exchange = c.sending.Load()
		}
		write(f)
	}
}

// start starts the work that no request asks for.
func (c *conn) start() {
	if official := c.features.official; official != nil {
		c.work.Go(func() { c.changeWatchedResource(official) })
	}
}

// readLines receives lines until the input ends.
func (c *conn) readLines(lines *transport.LineReader) error {
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read from client: %w", err)
		}
		b := line.Bytes
		if line.IsTruncated() {
			b = append(b, 0) // the rest is lost: what is left must not parse as JSON
		}
		if err := c.receive(b); err != nil {
			return err
		}
		if c.ctx.Err() != nil {
			return nil
		}
	}
}

// drain ends the work in flight: requests that end within the grace period are
// answered, subscriptions are closed, the rest is discarded.
func (c *conn) drain() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	close(c.closing)
	done := make(chan struct{})
	go func() { c.work.Wait(); close(done) }()
	if c.waitGrace(done, c.ctx.Done()) {
		return
	}
	c.discardInFlight()
	c.stop(errStopped)
	c.waitGrace(done, nil)
}

// waitGrace waits for done, at most for the grace period and until giveUp is
// closed. It reports whether done was closed.
func (c *conn) waitGrace(done, giveUp <-chan struct{}) bool {
	timer := time.NewTimer(c.options.Grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-giveUp:
	}
	return false
}

// discardInFlight keeps every request in flight from being answered.
func (c *conn) discardInFlight() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.inflight {
		j.cancelled.Store(true)
	}
}
