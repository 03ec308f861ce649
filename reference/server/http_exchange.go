package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An exchange is one POST of streamable HTTP: the messages of its body, and the
// stream of the messages that belong to them. Its methods do nothing on a nil
// exchange, as on stdio.
type exchange struct {
	stateless bool        // of a stateless revision
	header    http.Header // of the POST
	// authorization is that of the server, nil for none; subject is the user that
	// the token was issued for.
	authorization *authorization
	subject       string
	keyPrefix     string // of the keys of its jobs
	needsAnswer   bool   // its body is a request, or no message
	stream        *Stream
	canPoll       bool // the server may close its stream to make the client poll

	mu            sync.Mutex
	openMessages  int  // messages in progress
	takenMessages int  // messages taken up
	bodyTaken     bool // the whole body was taken up
	jobs          []*job
}

// jobKeyPrefix distinguishes the requests of one stateless POST from those of
// another: their ids are unique among those of one client only.
func (x *exchange) jobKeyPrefix() string {
	if x == nil {
		return ""
	}
	return x.keyPrefix
}

// beginMessage begins the work on one message of the exchange, or on a batch.
func (x *exchange) beginMessage() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.openMessages++
	x.takenMessages++
}

// endMessage ends the work that beginMessage began.
func (x *exchange) endMessage() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.openMessages--
	x.endStreamIfComplete()
}

// setBodyTaken records that the whole body was read.
func (x *exchange) setBodyTaken() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bodyTaken = true
	x.endStreamIfComplete()
}

// endStreamIfComplete ends the stream once no more messages belong to it. The stream
// of a request that a hook did not pass on stays open. x.mu is held.
func (x *exchange) endStreamIfComplete() {
	if x.bodyTaken && x.openMessages == 0 && (x.takenMessages > 0 || !x.needsAnswer) {
		x.stream.end()
	}
}

// isComplete reports whether the work on all messages has ended.
func (x *exchange) isComplete() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bodyTaken && x.openMessages == 0
}

func (x *exchange) addJob(j *job) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.jobs = append(x.jobs, j)
}

// cancelJobs ends the work on the requests of the exchange.
func (x *exchange) cancelJobs(c *conn) {
	x.mu.Lock()
	jobs := slices.Clone(x.jobs)
	x.mu.Unlock()
	for _, j := range jobs {
		c.cancelJob(j)
	}
}

// receivePost receives the body of a POST. It returns when the next one may be
// received, and reports whether the body was: not if ctx or the connection ended
// before.
func (c *conn) receivePost(ctx context.Context, x *exchange, m wire.Message) bool {
	if c.ctx.Err() != nil || ctx.Err() != nil {
		return false
	}
	select {
	case c.receiveTurn <- struct{}{}:
	case <-ctx.Done():
		return false
	case <-c.ctx.Done():
		return false
	}
	defer func() { <-c.receiveTurn }()
	if c.options.Incoming == nil {
		c.handleMessage(m, x)
	} else if err := c.receiveOn(x, m.Raw); err != nil {
		c.stop(err)
		return false
	}
	if x != nil {
		x.setBodyTaken()
	}
	return true
}

// receiveOn passes the body of a POST to the hook Incoming, which may change it.
func (c *conn) receiveOn(x *exchange, body []byte) error {
	c.receiving.Store(x)
	defer c.receiving.Store(nil)
	return c.receive(body)
}

// isAnswer reports whether a frame answers what the client sent, and so can be the
// only message of an exchange.
func (f Frame) isAnswer() bool {
	return f.Kind == wire.Result || f.Kind == wire.Error || f.Kind == wire.Batch
}

// httpStatus returns the status of an exchange whose only message is the frame.
func (x *exchange) httpStatus(f Frame) int {
	switch {
	case f.Kind == wire.Batch && !x.needsAnswer:
		return http.StatusBadRequest // every element was refused
	case f.Kind != wire.Error:
		return http.StatusOK
	case f.Request == nil:
		return http.StatusBadRequest // the body is no request
	case f.Request.status != 0:
		return f.Request.status
	case x.stateless:
		code, _ := wire.Parse(f.Raw).ErrorCode()
		return statusOf(code)
	}
	return http.StatusOK
}
