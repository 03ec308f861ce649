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

// A link is how the server is spoken to. What it says is taken by the conn on
// goroutines of the link's, so that requests of it are answered whatever the
// client waits for.
type link interface {
	// open begins to read.
	open(ctx context.Context) error
	// send gives the server one message.
	send(m Message) error
	// speaks is told the revision that was agreed on.
	speaks(rev spec.Revision)
	// close ends the connection and returns once nothing more is read.
	close(ctx context.Context)
}

// A conn is a connection to a server.
type conn struct {
	link   link
	o      Options
	send   Sender
	answer Answerer
	heard  Listener
	nextID func() wire.ID

	mu      sync.Mutex
	last    int64
	pending map[string]chan reply // by the key of the request's id
	gone    chan struct{}         // closed once the server says no more
	mute    bool                  // the era is one whose clients answer nothing
}

// A reply is the answer to a request, or why none will come.
type reply struct {
	m   wire.Message
	err error
}

func newConn(o Options) *conn {
	c := &conn{o: o, pending: map[string]chan reply{}, gone: make(chan struct{})}
	c.send = func(m Message) error { return c.link.send(m) }
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
	return c
}

// over sets what the connection goes over.
func (c *conn) over(l link) { c.link = l }

// child is a link to a server that was started.
type child struct {
	stream *transport.Stream
	c      *conn
}

func (l *child) open(context.Context) error {
	go l.read()
	return nil
}

func (l *child) read() {
	defer close(l.c.gone)
	for {
		line, err := l.stream.ReadLine()
		if err != nil {
			return
		}
		for _, m := range wire.Parse(line.Bytes).Elements() {
			l.c.take(m)
		}
	}
}

func (l *child) send(m Message) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.c.o.Timeout)
	defer cancel()
	return l.stream.WriteLine(ctx, m.Raw)
}

func (*child) speaks(spec.Revision) {}

// close ends the server: its input is closed, then it is waited for, then
// signalled (basic/lifecycle#shutdown).
func (l *child) close(ctx context.Context) {
	grace := l.c.o.Grace
	end := Closer(func(_ context.Context, s *transport.Stream) {
		s.CloseInput()
		if !done(s, grace) {
			s.Terminate()
			done(s, grace)
		}
	})
	if l.c.o.Close != nil {
		end = l.c.o.Close(end)
	}
	end(ctx, l.stream)
	l.stream.Kill()
	<-l.c.gone
}

func (c *conn) close(ctx context.Context) { c.link.close(ctx) }

// settle gives a request its answer, or tells why none will come.
func (c *conn) settle(id wire.ID, r reply) {
	c.mu.Lock()
	waiting := c.pending[id.Key()]
	delete(c.pending, id.Key())
	c.mu.Unlock()
	if waiting != nil {
		waiting <- r
	}
}

func (c *conn) take(m wire.Message) {
	var out []byte
	switch {
	case m.IsResponse():
		c.settle(m.ID(), reply{m: m})
		return
	case m.Kind == wire.Request:
		out = c.answer(m)
	case m.Kind == wire.Notification:
		out = c.heard(m)
	}
	if out == nil {
		return
	}
	for line := range bytes.SplitSeq(out, []byte("\n")) { // a fault may say more than one thing
		// A server that reads no more loses its answer.
		_ = c.send(Message{Raw: line, Kind: wire.Parse(line).Kind})
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
	waiting := make(chan reply, 1)
	c.mu.Lock()
	c.pending[id.Key()] = waiting
	c.mu.Unlock()
	if err := c.send(Message{Raw: message(id, method, params), Kind: wire.Request, Method: method}); err != nil {
		return wire.Message{}, fmt.Errorf("send %s: %w", method, err)
	}
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case r := <-waiting:
		return r.m, c.why(method, r.err)
	case <-c.gone:
		select {
		case r := <-waiting:
			return r.m, c.why(method, r.err)
		default:
			return wire.Message{}, fmt.Errorf("%s was not answered: %w", method, errClosed)
		}
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	case <-limit.C:
		return wire.Message{}, fmt.Errorf("%s was not answered within %s", method, within)
	}
}

func (c *conn) why(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s was not answered: %w", method, err)
}

func (c *conn) notify(method string, params object) error {
	return c.send(Message{Raw: message(wire.ID{}, method, params), Kind: wire.Notification, Method: method})
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
