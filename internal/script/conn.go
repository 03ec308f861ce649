package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Conn is one start of a scripted server by a client, with everything that
// was said on it.
type Conn struct {
	*wire.Transcript
	// Rev is the revision whose messages the server writes now. Only handlers
	// read and set it.
	Rev spec.Revision

	server Server
	opts   Options
	link   link

	mu      sync.Mutex
	changed chan struct{} // closed and renewed whenever a frame came or the input ended
	over    bool          // nothing more will come
	busy    bool          // a handler is at work
	last    time.Time     // when the client last said something
	bytes   int
	asked   bool // we are ending the client
	flooded bool
	ended   chan struct{} // closed once all was said and recorded

	// Used by the goroutine of the handlers only.
	due   []question
	batch *[]json.RawMessage // answers of the batch that is being handled, or nil
}

// A question is a request of ours that the client must answer.
type question struct {
	id   wire.ID
	at   int // index of its frame
	sent time.Time
}

// A link is how the client is spoken to.
type link interface {
	// read gives the conn what the client says until its input ends.
	read(c *Conn)
	// taking is called before the server reacts to a frame of the client, and tells
	// whether it shall; taken is called once it has.
	taking(c *Conn, e wire.Entry) (serve bool)
	taken(c *Conn, e wire.Entry)
	// send records a message and gives it to the client. It returns the index of its
	// frame, or one before it if it is to be sent later.
	send(c *Conn, raw []byte) (index int)
	// ended tells how the input ended and whether the client closed it; valid
	// once read has returned.
	ended() (what string, closed bool)
	// hang ends the connection from our side.
	hang()
}

func newConn(s Server, o Options, by link) *Conn {
	c := &Conn{Transcript: wire.NewTranscript(), Rev: s.Rev, server: s, opts: o, link: by, changed: make(chan struct{}), last: time.Now(), ended: make(chan struct{})}
	c.Due = o.Due
	return c
}

// serve plays the server until the client ends the connection.
func (c *Conn) serve() {
	defer close(c.ended)
	go c.link.read(c)
	if c.server.Opened != nil {
		c.server.Opened(c)
	}
	for next := 0; ; {
		changed, over := c.state()
		entries := c.EntriesFrom(next)
		for _, e := range entries {
			next = e.Index + 1
			if e.From == wire.Client {
				if c.link.taking(c, e) {
					c.handle(e.Message)
				}
				c.link.taken(c, e)
			}
		}
		if len(entries) > 0 {
			continue
		}
		if over {
			break
		}
		<-changed
	}
	c.End(c.ending())
	c.link.hang()
}

func (c *Conn) ending() wire.Ending {
	what, closed := c.link.ended()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flooded {
		return wire.Ending{What: fmt.Sprintf("the client was left: more than %d frames or %d bytes", c.opts.MaxFrames, c.opts.MaxBytes), Asked: true}
	}
	return wire.Ending{What: what, Asked: c.asked, Graceful: closed}
}

// hear records what the client said, and returns its index and whether more is
// taken from it.
func (c *Conn) hear(f wire.Frame) (at int, more bool) {
	c.mu.Lock()
	c.bytes += len(f.Raw)
	full := c.bytes > c.opts.MaxBytes || c.Len() >= c.opts.MaxFrames
	if c.over {
		full = true
	} else if !full {
		at, _ = c.Add(f)
	}
	c.mu.Unlock()
	c.news(full, full)
	return at, !full
}

// finish notes that the client will say no more.
func (c *Conn) finish() { c.news(true, false) }

func (c *Conn) news(over, flooded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.last, c.over, c.flooded = time.Now(), over, flooded
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Conn) state() (<-chan struct{}, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.over
}

// idle returns how long the client has said nothing while nothing was owed to
// it; 0 while a handler is at work.
func (c *Conn) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return 0
	}
	return time.Since(c.last)
}

func (c *Conn) work(busy bool) {
	c.mu.Lock()
	c.busy, c.last = busy, time.Now()
	c.mu.Unlock()
}

// handle reacts to one frame. The answers to a batch go out as one batch where
// the revision has them, else one by one: such a client is judged, and served
// all the same so that the rest of it can be judged too.
func (c *Conn) handle(m wire.Message) {
	c.work(true)
	defer c.work(false)
	if m.Kind != wire.Batch {
		c.one(m)
		return
	}
	var answers []json.RawMessage
	if c.Rev.Facts().Batches {
		c.batch = &answers
		defer func() {
			if c.batch = nil; len(answers) > 0 {
				c.Send(encode(answers))
			}
		}()
	}
	for _, part := range m.Elements() {
		c.one(part)
	}
}

func (c *Conn) one(m wire.Message) {
	switch m.Kind {
	case wire.Request:
		c.settle()
		if h := c.server.Handlers[m.Method()]; h != nil {
			h(c, m)
		} else if c.server.Else != nil {
			c.server.Else(c, m)
		} else {
			Refuse(spec.MethodNotFound, "Method not found", nil)(c, m)
		}
	case wire.Notification:
		if h := c.server.Heard[m.Method()]; h != nil {
			h(c, m)
		}
	}
}

// settle waits for the answers to our requests, each until it was due: a
// client that waits for us has time to give them, and one that does not give
// them is known to have had it.
func (c *Conn) settle() {
	for _, q := range c.due {
		c.Await(q.at, c.opts.Due-time.Since(q.sent), func(m wire.Message) bool { return m.IsResponse() && m.ID().Equal(q.id) })
	}
	c.due = nil
}

// Await waits until the client has sent a message that matches, in a frame from
// index on; ok is false if none came in time or none can come any more.
func (c *Conn) Await(from int, within time.Duration, match func(wire.Message) bool) (ok bool) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		changed, over := c.state()
		for _, e := range c.EntriesFrom(from) {
			from = e.Index + 1
			for _, part := range e.Message.Elements() {
				if e.From == wire.Client && match(part) {
					return true
				}
			}
		}
		if over {
			return false
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		}
	}
}

// Send sends one message and records it first. A client that does not read, or
// has gone, loses it: what it does then is judged by what it sends.
func (c *Conn) Send(raw []byte) (index int) { return c.link.send(c, raw) }

// Close closes the connection from our side, as a server does that exits.
func (c *Conn) Close() { c.link.hang() }

// Answer answers a request of the client with a result, to which the members
// that the revision puts into every result are added.
func (c *Conn) Answer(m wire.Message, result Object) {
	c.reply(m, "result", seal(c.Rev, m.Method(), result))
}

func (c *Conn) reply(m wire.Message, member string, value any) {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, m.ID().Raw, member, encode(value))
	if c.batch != nil {
		*c.batch = append(*c.batch, raw)
		return
	}
	c.Send(raw)
}

// Ask sends a request of ours. The client's next request is answered only once
// this one was, or it was given up.
func (c *Conn) Ask(id wire.ID, method string, params Object) {
	at := c.Send(message(id, method, params))
	// Its time runs from here: no earlier than from the recording, by which judges
	// reckon.
	c.due = append(c.due, question{id: id, at: at, sent: time.Now()})
}

// Notify sends a notification of ours.
func (c *Conn) Notify(method string, params Object) { c.Send(message(wire.ID{}, method, params)) }

func message(id wire.ID, method string, params Object) []byte {
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

// encode writes JSON without the HTML escapes of encoding/json; keys come
// sorted, so that equal values have equal bytes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("script: %v", err)) // our own data
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Answered is a handler that always gives this result.
func Answered(result Object) Handler {
	return func(c *Conn, m wire.Message) { c.Answer(m, result) }
}

// Refuse is a handler that always answers with this error; data may be nil.
func Refuse(code int, text string, data any) Handler {
	return func(c *Conn, m wire.Message) {
		e := Object{"code": code, "message": text}
		if data != nil {
			e["data"] = data
		}
		c.reply(m, "error", e)
	}
}

// An Object is a JSON object.
type Object = map[string]any
