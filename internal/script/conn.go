package script

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Conn is one connection of a client to a scripted server, with its transcript.
type Conn struct {
	*wire.Transcript
	// Rev is the revision of the messages that the server sends. Only handlers read
	// and set it.
	Rev spec.Revision

	server Server
	opts   Options
	link   link

	mu           sync.Mutex
	changed      chan struct{} // closed and renewed at every frame and at the end of the input
	inputEnded   bool
	handling     bool      // a handler runs
	lastActivity time.Time // last frame of the client or change of handling
	bytes        int       // that the client sent
	endRequested bool      // this process is ending the client
	flooded      bool
	done         chan struct{} // closed once everything was sent and recorded

	// Only the goroutine of the handlers uses the fields below.
	pending      []pendingRequest
	batchAnswers *[]json.RawMessage // answers to the current batch; nil outside of one
	sentPing     bool               // by RequestingStatelessServer
}

// A pendingRequest is a request of the server that the client must answer.
type pendingRequest struct {
	id   wire.ID
	at   int // index of its frame
	sent time.Time
}

// A link is the transport of a connection.
type link interface {
	// read passes the messages of the client to the connection until the input ends.
	read(c *Conn)
	// beforeHandling is called before a frame of the client is handled, and reports
	// whether it shall be; afterHandling is called afterwards.
	beforeHandling(c *Conn, e wire.Entry) (handle bool)
	afterHandling(c *Conn, e wire.Entry)
	// send records a message and sends it to the client. It returns the index of its
	// frame, or a smaller one if the message is sent later.
	send(c *Conn, raw []byte) (index int)
	// ending returns how the input ended and whether the client closed it. It is
	// valid once read has returned.
	ending() (what string, closed bool)
	// close closes the connection from this side.
	close()
}

func newConn(s Server, o Options, by link) *Conn {
	c := &Conn{
		Transcript:   wire.NewTranscript(),
		Rev:          s.Rev,
		server:       s,
		opts:         o,
		link:         by,
		changed:      make(chan struct{}),
		lastActivity: time.Now(),
		done:         make(chan struct{}),
	}
	c.AnswerTimeout = o.AnswerTimeout
	return c
}

// serve runs the server until the client ends the connection.
func (c *Conn) serve() {
	defer close(c.done)
	go c.link.read(c)
	for next := 0; ; {
		changed, ended := c.state()
		entries := c.EntriesFrom(next)
		for _, e := range entries {
			next = e.Index + 1
			if e.From == wire.Client {
				if c.link.beforeHandling(c, e) {
					c.handle(e.Message)
				}
				c.link.afterHandling(c, e)
			}
		}
		if len(entries) > 0 {
			continue
		}
		if ended {
			break
		}
		<-changed
	}
	c.End(c.ending())
	c.link.close()
}

func (c *Conn) ending() wire.Ending {
	what, closed := c.link.ending()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flooded {
		return wire.Ending{
			Reason: fmt.Sprintf("the client sent more than %d frames or %d bytes", c.opts.MaxFrames,
				c.opts.MaxBytes),
			Requested: true,
		}
	}
	return wire.Ending{Reason: what, Requested: c.endRequested, Graceful: closed}
}

// receive records a frame of the client. It returns the index of the frame, and
// whether the connection accepts further frames.
func (c *Conn) receive(f wire.Frame) (at int, more bool) {
	c.mu.Lock()
	c.bytes += len(f.Raw)
	full := c.bytes > c.opts.MaxBytes || c.Len() >= c.opts.MaxFrames
	if c.inputEnded {
		full = true
	} else if !full {
		at, _ = c.Add(f)
	}
	c.mu.Unlock()
	c.update(full, full)
	return at, !full
}

// endInput notes that the client will send no more.
func (c *Conn) endInput() { c.update(true, false) }

func (c *Conn) update(ended, flooded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inputEnded {
		return
	}
	c.lastActivity, c.inputEnded, c.flooded = time.Now(), ended, flooded
	close(c.changed)
	c.changed = make(chan struct{})
}

// state returns a channel that is closed at the next change, and whether the input
// has ended.
func (c *Conn) state() (<-chan struct{}, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.inputEnded
}

// idleTime returns the time since the last activity; 0 while a handler runs.
func (c *Conn) idleTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handling {
		return 0
	}
	return time.Since(c.lastActivity)
}

func (c *Conn) setHandling(handling bool) {
	c.mu.Lock()
	c.handling, c.lastActivity = handling, time.Now()
	c.mu.Unlock()
}

// handle handles one frame. It answers a batch with a batch if the revision has
// them. Otherwise it answers each element, so that the rest of a client that sends
// batches can be checked too.
func (c *Conn) handle(m wire.Message) {
	c.setHandling(true)
	defer c.setHandling(false)
	if m.Kind != wire.Batch {
		c.handleMessage(m)
		return
	}
	var answers []json.RawMessage
	if c.Rev.Facts().Batches {
		c.batchAnswers = &answers
		defer func() {
			if c.batchAnswers = nil; len(answers) > 0 {
				c.Send(wire.Encode(answers))
			}
		}()
	}
	for _, part := range m.Elements() {
		c.handleMessage(part)
	}
}

func (c *Conn) handleMessage(m wire.Message) {
	switch m.Kind {
	case wire.Request:
		c.awaitAnswers()
		if h := c.server.RequestHandlers[m.Method()]; h != nil {
			h(c, m)
		} else if c.server.DefaultHandler != nil {
			c.server.DefaultHandler(c, m)
		} else {
			RefuseWith(spec.MethodNotFound, "Method not found", nil)(c, m)
		}
	case wire.Notification:
		if h := c.server.NotificationHandlers[m.Method()]; h != nil {
			h(c, m)
		}
	}
}

// awaitAnswers waits for the answers to the requests of the server, each at most for
// the answer timeout. A client that waits for the server thus has had the time to
// answer.
func (c *Conn) awaitAnswers() {
	for _, r := range c.pending {
		c.Await(r.at, c.opts.AnswerTimeout-time.Since(r.sent), func(m wire.Message) bool {
			return m.IsResponse() && m.ID().Equal(r.id)
		})
	}
	c.pending = nil
}

// Await waits at most the given time for a message of the client from an index on
// that matches, and reports whether one came.
func (c *Conn) Await(from int, within time.Duration, match func(wire.Message) bool) (ok bool) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	for {
		changed, ended := c.state()
		for e := range c.Walk(from) {
			from = e.Index + 1
			for _, part := range e.Message.Elements() {
				if e.From == wire.Client && match(part) {
					return true
				}
			}
		}
		if ended {
			return false
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		}
	}
}

// Send records one message and sends it. A client that does not read does not get
// it.
func (c *Conn) Send(raw []byte) (index int) { return c.link.send(c, raw) }

// Close closes the connection from this side, as a server that exits.
func (c *Conn) Close() { c.link.close() }

// Answer answers a request of the client with a result. It adds the members that
// every result of the revision has.
func (c *Conn) Answer(m wire.Message, result Object) {
	c.reply(m, "result", completeResult(c.Rev, m.Method(), result))
}

func (c *Conn) reply(m wire.Message, member string, value any) {
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"%s":%s}`, m.ID().Raw, member, wire.Encode(value))
	if c.batchAnswers != nil {
		*c.batchAnswers = append(*c.batchAnswers, raw)
		return
	}
	c.Send(raw)
}

// Request sends a request of the server. The next request of the client is answered
// only once the client has answered this one or the answer timeout is over.
func (c *Conn) Request(id wire.ID, method string, params Object) {
	at := c.Send(wire.EncodeCall(id, method, params))
	// The timeout starts after the frame was recorded: checks compute it from the time
	// of the frame.
	c.pending = append(c.pending, pendingRequest{id: id, at: at, sent: time.Now()})
}

// Notify sends a notification of the server.
func (c *Conn) Notify(method string, params Object) {
	c.Send(wire.EncodeCall(wire.ID{}, method, params))
}
