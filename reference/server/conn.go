package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A conn is one connection: what is in flight in both directions, and the
// order in which messages leave.
type conn struct {
	ctx      context.Context
	stop     context.CancelCauseFunc
	options  Options
	features *Library
	session  *Session
	methods  map[string]method
	// extension are the methods of the extensions that the library declares.
	extensionMethods map[string]method
	handle           Handler
	receive          Receiver

	sendMu sync.Mutex // serialises outgoing frames, so that notifications keep their order
	sink   FrameSink

	mu               sync.Mutex
	inflight         map[string]*job // by key of the id
	awaitedResponses map[string]chan wire.Message
	requestCount     int
	subscriptions    []*subscription
	callSlots        chan struct{} // a place for each tool call in progress
	tasks            taskStore
	work             sync.WaitGroup
	receiveTurn      chan struct{}            // held while an HTTP message is taken up
	receiving        atomic.Pointer[exchange] // the HTTP message that is being taken up
	sending          atomic.Pointer[exchange] // that the frame in the sink belongs to; nil where a seam lets one go later
	ending           bool                     // no new work is begun
	closing          chan struct{}            // closed when no more input is taken
}

// maxInFlight bounds the requests in progress, and with them the memory that a
// client can take.
const maxInFlight = 2000

// A job is a request being worked on.
type job struct {
	cancel    context.CancelCauseFunc
	key       string      // under which it is in flight
	cancelled atomic.Bool // nothing more is sent for it
	yielded   chan struct{}
	once      sync.Once
	reply     func(raw []byte, kind wire.Kind) // takes the response; nil raw for none
}

func (t *job) yield() { t.once.Do(func() { close(t.yielded) }) }

var (
	errCancelled = errors.New("cancelled by the client")
	errExpired   = errors.New("its time is over")
)

// newConn makes a connection whose messages leave through write.
func newConn(ctx context.Context, stop context.CancelCauseFunc, write FrameSink, o Options) *conn {
	c := &conn{
		ctx: ctx, stop: stop, options: o,
		features:         newFeatures(),
		session:          newSession(),
		methods:          methods(),
		inflight:         map[string]*job{},
		awaitedResponses: map[string]chan wire.Message{},
		closing:          make(chan struct{}),
		callSlots:        make(chan struct{}, maxCalls),
		receiveTurn:      make(chan struct{}, 1),
	}
	if o.Official {
		c.features.addOfficial(o.Pace)
	}
	if o.Library != nil {
		o.Library(c.features)
	}
	c.features.addSkillResources()
	c.extensionMethods = c.features.extensionMethods()
	c.sink, c.handle, c.receive = c.withSendingExchange(write), c.serveRequest, c.receiveMessage
	if o.Frames != nil {
		c.sink = o.Frames(c.sink)
	}
	if o.Handler != nil {
		c.handle = o.Handler(c.handle)
	}
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

// placing gives a frame that says nothing of where it belongs the place of the
// frame that it came along with, if a seam made it of that.
func (c *conn) withSendingExchange(write FrameSink) FrameSink {
	return func(f Frame) {
		if f.exchange == nil && f.Request == nil {
			f.exchange = c.sending.Load()
		}
		write(f)
	}
}

// start begins what the server does of itself.
func (c *conn) start() {
	if a := c.features.official; a != nil {
		c.work.Go(func() { c.changeWatchedResource(a) })
	}
}

// read takes lines until the input ends.
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
		if line.Cut() {
			b = append(b, 0) // the rest is gone, so that it can be no JSON text
		}
		if err := c.receive(b); err != nil {
			return err
		}
		if c.ctx.Err() != nil {
			return nil
		}
	}
}

// take handles one line, or the body of one POST. A blank line is no message
// and is passed over.
func (c *conn) receiveMessage(line []byte) error {
	x := c.receiving.Load()
	if x == nil && len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	m := wire.Parse(line)
	x.beginMessage()
	finally := func(f Frame) {
		if f.Raw != nil {
			if f.exchange == nil {
				f.exchange = x
			}
			c.send(f)
		}
		x.endMessage()
	}
	if m.Kind == wire.Batch {
		c.handleBatch(m, x, finally)
		return nil
	}
	c.dispatch(m, x, finally)
	return nil
}

// refusal is the frame of an error about a message that is no request.
func errorFrame(raw []byte) Frame { return Frame{Raw: raw, Kind: wire.Error} }

// dispatch routes one message. reply is called exactly once, with the
// response or an empty frame if there is none; it may be called later.
func (c *conn) dispatch(m wire.Message, x *exchange, reply func(Frame)) {
	problem := requestProblem(m)
	switch {
	case problem != nil && !isUnanswerable(m):
		reply(errorFrame(c.errorResponse(m, problem)))
	case m.Kind == wire.Request:
		c.handleRequest(m, x, reply)
		return
	case m.Kind == wire.Notification && problem == nil:
		c.handleNotification(m)
		reply(Frame{})
	case m.IsResponse():
		c.handleResponse(m)
		reply(Frame{})
	default:
		reply(Frame{})
	}
}

// request starts work on a request and returns once it was answered or waits.
func (c *conn) handleRequest(m wire.Message, x *exchange, reply func(Frame)) {
	params := Object{}
	if p := m.Params(); p.Exists() {
		var err error
		if params, err = decode(p.Raw); err != nil {
			reply(errorFrame(c.errorResponse(m, invalidParams("Params cannot be read: %v", err))))
			return
		}
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	t := &job{cancel: cancel, yielded: make(chan struct{})}
	r := &Request{ID: m.ID(), Method: m.Method(), Params: params, Session: c.session, conn: c, job: t, exchange: x}
	t.reply = func(raw []byte, kind wire.Kind) { reply(Frame{Raw: raw, Kind: kind, Method: r.Method, Request: r}) }
	r.Revision, r.Modern = c.eraOf(r)
	key := x.jobKeyPrefix() + r.ID.Key()
	t.key = key
	c.mu.Lock()
	busy, full := c.inflight[key] != nil, len(c.inflight) >= maxInFlight
	if !busy && !full {
		c.inflight[key] = t
		x.addJob(t)
	}
	c.mu.Unlock()
	switch {
	case full:
		cancel(nil)
		t.reply(errorMessage(r.ID, newError(spec.InternalError, "Too many requests are in progress")), wire.Error)
		return
	case busy:
		// basic/index#requests: an id in flight names that request alone.
		cancel(nil)
		t.reply(errorMessage(r.ID, newError(spec.InvalidRequest, "A request with this id is still in progress")), wire.Error)
		return
	}
	c.startJob(t, func() {
		defer cancel(nil)
		v, problem := callRecovering(func() (any, *Error) { return c.handle(ctx, r) })
		c.finishRequest(r, v, problem)
	})
}

// begin starts work and returns once it is done or waits. When the server is
// ending it does nothing.
func (c *conn) startJob(t *job, work func()) {
	c.mu.Lock()
	if c.ending {
		c.mu.Unlock()
		return
	}
	c.work.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.work.Done()
		defer t.yield()
		work()
	}()
	<-t.yielded
}

// guarded serves and turns a panic into an internal error.
func callRecovering(serve func() (any, *Error)) (v any, problem *Error) {
	defer func() {
		if p := recover(); p != nil {
			v, problem = nil, newError(spec.InternalError, "Internal error")
			if err, ok := p.(error); !ok || !errors.Is(err, errDeliberatePanic) {
				debug.PrintStack()
			}
		}
	}()
	return serve()
}

// errMechanism is what the tool that breaks on purpose panics with.
var errDeliberatePanic = errors.New("the date stamp is jammed")

// finish answers a request, unless it was cancelled.
func (c *conn) finishRequest(r *Request, v any, problem *Error) {
	c.mu.Lock()
	if c.inflight[r.job.key] == r.job {
		delete(c.inflight, r.job.key)
	}
	c.mu.Unlock()
	switch {
	case r.job.cancelled.Load():
		r.job.reply(nil, wire.Invalid)
	case problem != nil:
		r.job.reply(errorMessage(r.ID, problem), wire.Error)
	default:
		r.job.reply(resultMessage(r.ID, v), wire.Result)
	}
	if r.after != nil {
		r.after()
	}
}

// emit hands one frame to the sink. What belongs to a cancelled request is
// not sent any more; sent tells whether it was.
func (c *conn) send(f Frame) (sent bool) {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if f.Request != nil && f.Request.job.cancelled.Load() {
		return false
	}
	c.sending.Store(f.postExchange())
	c.sink(f)
	c.sending.Store(nil)
	return true
}

// revision is the one that faulty messages are judged by: the negotiated one,
// or the newest the server speaks.
func (c *conn) errorRevision() spec.Revision {
	if v := c.session.Revision(); v != "" {
		return v
	}
	return c.options.Revisions.Newest()
}

// drain ends the work in flight: quickly finished requests are still
// answered, subscriptions are closed, the rest is dropped.
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

// within waits for done at most for the grace period, and no longer than
// until hurry is closed.
func (c *conn) waitGrace(done, hurry <-chan struct{}) bool {
	timer := time.NewTimer(c.options.Grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-hurry:
	}
	return false
}

var errStopped = errors.New("the server stopped")

// drop marks all that is in flight as not to be answered.
func (c *conn) discardInFlight() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.inflight {
		t.cancelled.Store(true)
	}
}
