package client

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An object is a JSON object.
type object = map[string]any

// A link carries messages to and from the server. It passes the messages of the
// server to conn.receive on goroutines of its own, so that requests of the server
// are answered while the client waits for a response.
type link interface {
	// open begins to read.
	open(ctx context.Context) error
	// send sends one message.
	send(m Message) error
	// setRevision sets the negotiated revision.
	setRevision(rev spec.Revision)
	// close ends the connection, and returns once nothing more is read.
	close(ctx context.Context)
}

// A conn is a connection to a server.
type conn struct {
	link               link
	options            Options
	send               Sender
	answerRequest      RequestHandler
	handleNotification NotificationHandler
	nextID             func() wire.ID

	mu        sync.Mutex
	lastID    int64
	pending   map[string]chan outcome // by the key of the request's id
	closed    chan struct{}           // closed once the server sends no more
	stateless bool                    // the era is the stateless one, whose clients send no responses
}

// An outcome is the response to a request, or the error that keeps it from coming.
type outcome struct {
	response wire.Message
	err      error
}

func newConn(o Options) *conn {
	c := &conn{options: o, pending: map[string]chan outcome{}, closed: make(chan struct{})}
	c.send = wrapped[Sender](func(m Message) error { return c.link.send(m) }, o.Send)
	c.nextID = wrapped(c.incrementID, o.NextID)
	c.answerRequest = wrapped[RequestHandler](c.conformingAnswer, o.HandleRequest)
	c.handleNotification = wrapped[NotificationHandler](func(wire.Message) []byte { return nil }, o.HandleNotification)
	return c
}

func (c *conn) incrementID() wire.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	return wire.IntID(c.lastID)
}

// conformingAnswer is the conforming RequestHandler. It answers a ping
// (basic/utilities/ping); every other request is of a capability that the client
// did not declare.
func (c *conn) conformingAnswer(m wire.Message) []byte {
	switch {
	case c.isStateless():
		return nil
	case m.Method() == "ping":
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
	}
	const format = `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Method not found"}}`
	return fmt.Appendf(nil, format, m.ID().Raw, spec.MethodNotFound)
}

func (c *conn) isStateless() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stateless
}

func (c *conn) setStateless() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stateless = true
}

// resolve gives a request its outcome.
func (c *conn) resolve(id wire.ID, o outcome) {
	c.mu.Lock()
	waiting := c.pending[id.Key()]
	delete(c.pending, id.Key())
	c.mu.Unlock()
	if waiting != nil {
		waiting <- o
	}
}

// receive handles one message of the server.
func (c *conn) receive(m wire.Message) {
	var out []byte
	switch {
	case m.IsResponse():
		c.resolve(m.ID(), outcome{response: m})
		return
	case m.Kind == wire.Request:
		out = c.answerRequest(m)
	case m.Kind == wire.Notification:
		out = c.handleNotification(m)
	}
	if out == nil {
		return
	}
	for line := range bytes.SplitSeq(out, []byte("\n")) { // a fault may send several messages
		// The answer is lost if the server does not read any more.
		_ = c.send(Message{Raw: line, Kind: wire.Parse(line).Kind})
	}
}

// request sends a request and waits for its response.
func (c *conn) request(
	ctx context.Context, method string, params object, within time.Duration,
) (wire.Message, error) {
	id := c.nextID()
	waiting := make(chan outcome, 1)
	c.mu.Lock()
	c.pending[id.Key()] = waiting
	c.mu.Unlock()
	raw := wire.EncodeCall(id, method, params)
	if err := c.send(Message{Raw: raw, Kind: wire.Request, Method: method}); err != nil {
		return wire.Message{}, fmt.Errorf("send %s: %w", method, err)
	}
	limit := time.NewTimer(within)
	defer limit.Stop()
	var got outcome
	select {
	case got = <-waiting:
	case <-c.closed:
		select {
		case got = <-waiting:
		default:
			got.err = errClosed
		}
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	case <-limit.C:
		return wire.Message{}, fmt.Errorf("%s was not answered within %s", method, within)
	}
	if got.err != nil {
		got.err = fmt.Errorf("%s was not answered: %w", method, got.err)
	}
	return got.response, got.err
}

func (c *conn) notify(method string, params object) error {
	raw := wire.EncodeCall(wire.ID{}, method, params)
	return c.send(Message{Raw: raw, Kind: wire.Notification, Method: method})
}
