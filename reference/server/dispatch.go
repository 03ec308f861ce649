package server

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// receiveMessage is the conforming Receiver: it handles one line, or the body of
// one POST. A blank line is no message and is skipped.
func (c *conn) receiveMessage(line []byte) error {
	c.handleMessage(wire.Parse(line), c.receiving.Load())
	return nil
}

// handleMessage handles a message of a line, or of the body of a POST.
func (c *conn) handleMessage(m wire.Message, x *exchange) {
	if x == nil && len(bytes.TrimSpace(m.Raw)) == 0 {
		return
	}
	x.beginMessage()
	reply := func(f Frame) {
		if f.Raw != nil {
			if f.exchange == nil {
				f.exchange = x
			}
			c.send(f)
		}
		x.endMessage()
	}
	if m.Kind == wire.Batch {
		c.handleBatch(m, x, reply)
		return
	}
	c.dispatch(m, x, reply)
}

// dispatch routes one message. reply is called exactly once, with the response or
// an empty frame if there is none; it may be called after dispatch returned.
func (c *conn) dispatch(m wire.Message, x *exchange, reply func(Frame)) {
	problem := requestProblem(m)
	switch {
	case problem != nil && !isUnanswerable(m):
		reply(errorFrame(c.errorResponse(m, problem)))
	case m.Kind == wire.Request:
		c.handleRequest(m, x, reply)
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

// handleRequest starts work on a request and returns once it is answered or
// yields.
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
	j := &job{cancel: cancel, key: x.jobKeyPrefix() + m.ID().Key(), yielded: make(chan struct{})}
	r := &Request{
		ID: m.ID(), Method: m.Method(), Params: params, Session: c.session,
		conn: c, job: j, exchange: x,
	}
	j.reply = func(raw []byte, kind wire.Kind) {
		reply(Frame{Raw: raw, Kind: kind, Method: r.Method, Request: r})
	}
	r.Revision, r.Stateless = c.eraOf(r)
	if problem := c.register(j, x); problem != nil {
		cancel(nil)
		j.reply(errorMessage(r.ID, problem), wire.Error)
		return
	}
	c.startJob(j, func() {
		defer cancel(nil)
		v, problem := callRecovering(func() (any, *Error) { return c.handle(ctx, r) })
		c.finishRequest(r, v, problem)
	})
}

// register puts a job in flight, or returns why it cannot be.
func (c *conn) register(j *job, x *exchange) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.inflight) >= maxInFlight:
		return newError(spec.InternalError, "Too many requests are in progress")
	case c.inflight[j.key] != nil:
		// basic/index#requests: an id in flight names that request alone.
		return newError(spec.InvalidRequest, "A request with this id is still in progress")
	}
	c.inflight[j.key] = j
	x.addJob(j)
	return nil
}

// unregister takes a job out of flight; its id is free again.
func (c *conn) unregister(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inflight[j.key] == j {
		delete(c.inflight, j.key)
	}
}

// startJob starts work and returns once it is done or yields. When the server is
// ending it does nothing.
func (c *conn) startJob(j *job, work func()) {
	c.mu.Lock()
	if c.ending {
		c.mu.Unlock()
		return
	}
	c.work.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.work.Done()
		defer j.yield()
		work()
	}()
	<-j.yielded
}

// callRecovering calls serve and turns a panic into an internal error.
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

// errDeliberatePanic is what the tools and resources panic with that show how the
// server survives a panic.
var errDeliberatePanic = errors.New("the date stamp is jammed")

// finishRequest answers a request, unless it was cancelled.
func (c *conn) finishRequest(r *Request, v any, problem *Error) {
	c.unregister(r.job)
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

// handleNotification handles a notification; an unknown or malformed one is
// ignored (basic/index#notifications: it may not be answered).
func (c *conn) handleNotification(m wire.Message) {
	switch m.Method() {
	case "notifications/initialized":
		c.session.setReady()
	case "notifications/cancelled":
		c.handleCancelled(m)
	case "notifications/roots/list_changed":
		c.refreshRoots()
	}
}

// send passes one frame to the sink and reports whether it did. Frames of a
// cancelled request are not sent any more.
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
