package server

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An exchange is one POST of streamable HTTP: the messages that came in it,
// and the stream of what is said to them. Its methods do nothing where there
// is none, as on stdio.
type exchange struct {
	stateless bool        // it is served statelessly
	header    http.Header // of the POST
	// guard is that of the server, nil for none; subject who its token was issued
	// for.
	authorization *authorization
	subject       string
	keyPrefix     string // of the keys of its requests
	needsAnswer   bool   // it brought a request, or what is no message
	stream        *Stream
	canPoll       bool // its client can be told to come back for the rest

	mu            sync.Mutex
	openMessages  int  // messages that are not done with
	takenMessages int  // messages taken up
	bodyTaken     bool // the whole body was handed over
	jobs          []*job
}

// scope sets the requests of one stateless POST apart from those of another:
// their ids are unique among those of one client only.
func (x *exchange) jobKeyPrefix() string {
	if x == nil {
		return ""
	}
	return x.keyPrefix
}

// begin and end enclose the work on one message of the exchange, or on a batch.
func (x *exchange) beginMessage() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.openMessages++
	x.takenMessages++
}

func (x *exchange) endMessage() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.openMessages--
	x.endStreamIfComplete()
}

// settle ends the stream when all was said. What brought a request that was
// never taken up goes on without an answer.
func (x *exchange) endStreamIfComplete() {
	if x.bodyTaken && x.openMessages == 0 && (x.takenMessages > 0 || !x.needsAnswer) {
		x.stream.end()
	}
}

// done tells whether nothing is left to do.
func (x *exchange) isComplete() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bodyTaken && x.openMessages == 0
}

// handed tells that all of the body was handed over.
func (x *exchange) setBodyTaken() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.bodyTaken = true
	x.endStreamIfComplete()
}

func (x *exchange) addJob(t *job) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.jobs = append(x.jobs, t)
}

// cancel ends the work on the requests of the exchange.
func (x *exchange) cancelJobs(c *conn) {
	x.mu.Lock()
	jobs := slices.Clone(x.jobs)
	x.mu.Unlock()
	for _, t := range jobs {
		c.cancelJob(t)
	}
}

// hand gives the body of a POST to the connection and returns when the next
// one may be taken up; false if the context ended before, or the connection.
func (c *conn) receivePost(ctx context.Context, x *exchange, body []byte) bool {
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
	c.receiving.Store(x)
	err := c.receive(body)
	c.receiving.Store(nil)
	if err != nil {
		c.stop(err)
		return false
	}
	if x != nil {
		x.setBodyTaken()
	}
	return true
}

// answers tells whether a frame answers what the client sent, and so can be
// all that is said in an exchange.
func (f Frame) isAnswer() bool {
	return f.Kind == wire.Result || f.Kind == wire.Error || f.Kind == wire.Batch
}

// status is that of HTTP for an exchange that holds nothing but the frame.
func (x *exchange) httpStatus(f Frame) int {
	switch {
	case f.Kind == wire.Batch && !x.needsAnswer:
		return http.StatusBadRequest // all of it was refused
	case f.Kind != wire.Error:
		return http.StatusOK
	case f.Request == nil:
		return http.StatusBadRequest // no request was made out
	case f.Request.status != 0:
		return f.Request.status
	case x.stateless:
		code, _ := wire.Parse(f.Raw).Code()
		return statusOf(code)
	}
	return http.StatusOK
}

// A responder answers one POST.
type responder struct {
	streamWriter
	preferStream bool // a stream where there is a choice
	// head adds to the headers of a successful answer; kept is called before a
	// stream is begun, so that it can be resumed.
	setHeaders        func(stream bool)
	beforeStream      func()
	sessionLostStatus int // the status if the session ends before anything was said
}

// respond waits for what is said in the exchange and writes it as the one JSON
// object or as a stream, or the status alone where nothing is to be said
// (basic/transports#sending-messages-to-the-server).
func (x *exchange) respond(p responder) {
	for last := false; ; {
		l := x.stream.state(0, 0)
		n := len(l.events)
		var first Frame
		status := http.StatusOK
		if n > 0 {
			first = *l.events[0].Frame
			status = x.httpStatus(first)
		}
		stream := p.preferStream && status == http.StatusOK
		switch {
		case l.ended && n == 0 && !x.needsAnswer:
			p.setHeaders(false)
			p.w.WriteHeader(http.StatusAccepted)
			return
		case l.ended && n == 1 && first.isAnswer() && !stream:
			if first.Kind != wire.Error {
				p.setHeaders(false)
			}
			writeJSON(p.w, status, first.Raw)
			return
		case n > 1, n == 1 && !first.isAnswer(), l.ended, l.closeRequested, n == 0 && p.preferStream && x.needsAnswer:
			p.setHeaders(true)
			p.beforeStream()
			p.writeStream(x.stream, x.stream.connect(0), 0, nil)
			return
		case last:
			p.w.WriteHeader(p.sessionLostStatus)
			return
		}
		select {
		case <-l.change:
		case <-p.clientGone:
			return
		case <-p.serverDone:
			last = true
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who cannot be written to has left
}

// polling are the revisions in which a server may close the connection of a
// stream and have the client come back
// (basic/transports#sending-messages-to-the-server).
var pollingRevisions = spec.Only(spec.V2025_11_25)

// Poll closes the connection of the stream on which the request is answered,
// where client and transport know that, and waits until the client has come
// back, at most for Options.Patience.
func (r *Request) closeStreamToPoll(ctx context.Context) {
	x := r.exchange
	if x == nil || !x.canPoll {
		return
	}
	r.Park()
	s := x.stream
	s.mu.Lock()
	before := s.readerCount
	s.mu.Unlock()
	if before == 0 {
		before = 1 // the connection that is still to be made of the POST
	}
	s.requestClose()
	patience := time.NewTimer(r.conn.options.Patience)
	defer patience.Stop()
	for {
		s.mu.Lock()
		back, wake := s.readerCount > before, s.change
		s.mu.Unlock()
		if back {
			return
		}
		select {
		case <-wake:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
