package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An object is a JSON object.
type object = map[string]any

// A conn is a started server. What it sends is read on a goroutine of its own,
// so that requests of it are answered whatever the client waits for.
type conn struct {
	stream *transport.Stream
	o      Options
	send   Sender
	answer Answerer
	heard  Listener
	nextID func() wire.ID

	mu      sync.Mutex
	last    int64
	pending map[string]chan wire.Message // by the key of the request's id
	gone    chan struct{}                // closed once the server says no more
	mute    bool                         // the era is one whose clients answer nothing
}

func newConn(stream *transport.Stream, o Options) *conn {
	c := &conn{stream: stream, o: o, pending: map[string]chan wire.Message{}, gone: make(chan struct{})}
	c.send = func(m Message) error {
		ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
		defer cancel()
		return stream.WriteLine(ctx, m.Raw)
	}
	c.answer = func(m wire.Message) []byte {
		if c.silent() {
			return nil
		}
		return answer(m)
	}
	c.heard = func(wire.Message) []byte { return nil }
	c.nextID = func() wire.ID {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.last++
		return wire.IntID(c.last)
	}
	if o.Send != nil {
		c.send = o.Send(c.send)
	}
	if o.NextID != nil {
		c.nextID = o.NextID(c.nextID)
	}
	if o.Answer != nil {
		c.answer = o.Answer(c.answer)
	}
	if o.Heard != nil {
		c.heard = o.Heard(c.heard)
	}
	go c.read()
	return c
}

func (c *conn) read() {
	defer close(c.gone)
	for {
		line, err := c.stream.ReadLine()
		if err != nil {
			return
		}
		for _, m := range wire.Parse(line.Bytes).Elements() {
			c.take(m)
		}
	}
}

func (c *conn) take(m wire.Message) {
	var out []byte
	switch {
	case m.IsResponse():
		c.mu.Lock()
		waiting := c.pending[m.ID().Key()]
		delete(c.pending, m.ID().Key())
		c.mu.Unlock()
		if waiting != nil {
			waiting <- m
		}
		return
	case m.Kind == wire.Request:
		out = c.answer(m)
	case m.Kind == wire.Notification:
		out = c.heard(m)
	}
	if out != nil {
		// A server that reads no more loses its answer.
		_ = c.send(Message{Raw: out, Kind: wire.Parse(out).Kind})
	}
}

func (c *conn) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mute
}

// answer answers a ping (basic/utilities/ping); every other request is of a
// capability that the client did not declare.
func answer(m wire.Message) []byte {
	if m.Method() == "ping" {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Method not found"}}`, m.ID().Raw, spec.MethodNotFound)
}

// request sends a request and waits for its answer.
func (c *conn) request(ctx context.Context, method string, params object, within time.Duration) (wire.Message, error) {
	id := c.nextID()
	waiting := make(chan wire.Message, 1)
	c.mu.Lock()
	c.pending[id.Key()] = waiting
	c.mu.Unlock()
	if err := c.send(Message{Raw: message(id, method, params), Kind: wire.Request, Method: method}); err != nil {
		return wire.Message{}, fmt.Errorf("send %s: %w", method, err)
	}
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case m := <-waiting:
		return m, nil
	case <-c.gone:
		select {
		case m := <-waiting:
			return m, nil
		default:
			return wire.Message{}, fmt.Errorf("%s was not answered: %w", method, errClosed)
		}
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	case <-limit.C:
		return wire.Message{}, fmt.Errorf("%s was not answered within %s", method, within)
	}
}

func (c *conn) notify(method string, params object) error {
	return c.send(Message{Raw: message(wire.ID{}, method, params), Kind: wire.Notification, Method: method})
}

// close ends the server: its input is closed, then it is waited for, then
// signalled (basic/lifecycle#shutdown).
func (c *conn) close(ctx context.Context) {
	end := Closer(func(_ context.Context, s *transport.Stream) {
		s.CloseInput()
		if !done(s, c.o.Grace) {
			s.Terminate()
			done(s, c.o.Grace)
		}
	})
	if c.o.Close != nil {
		end = c.o.Close(end)
	}
	end(ctx, c.stream)
	c.stream.Kill()
	<-c.gone
}

func done(s *transport.Stream, within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-s.Done():
		return true
	case <-limit.C:
		return false
	}
}

func message(id wire.ID, method string, params object) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id.Present() {
		b = append(append(b, `,"id":`...), id.Raw...)
	}
	b = append(append(b, `,"method":`...), encode(method)...)
	if params != nil {
		b = append(append(b, `,"params":`...), encode(params)...)
	}
	return append(b, '}')
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("client: %v", err)) // our own data
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
