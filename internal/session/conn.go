package session

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Conn is a connection to one instance of the target, with its transcript. A
// goroutine reads from the start on, so that the transcript shows messages that a
// server sends before the first message of the client.
type Conn struct {
	*wire.Transcript
	link            link
	opts            Options
	receivedMessage atomic.Bool
	startupTime     atomic.Int64 // nanoseconds from the first frame of the client to the first message of the peer
	launcher        *Launcher    // nil for none
	number          int          // of the connection among those of the launcher, from 0
	lastID          atomic.Int64 // how many request ids were used
	hungAfter       atomic.Int64 // one more than the frames that came when the peer hung; 0 if it did not
	displaced       atomic.Bool  // the client ended it since another connection was to be opened

	mu                 sync.Mutex
	changed            chan struct{} // closed and renewed at every frame and at the end
	endErr             error         // why no more frames will come, or nil
	endRequested       time.Time     // when the client first asked the peer to end
	signalled          bool          // the client signalled the peer, or ended it for flooding
	exited             bool          // the peer ended by itself
	waitedBeforeSignal time.Duration
	hurried            bool                        // the peer had less time than usual to end
	override           func(HostRequest) HostReply // answers in place of the host; may be nil
	watches            []*Watch
	late               map[int]time.Duration // how long answers took that came after the deadline, by their frames

	pace pace

	requests  chan *pendingRequest // of the peer
	total     volume               // of what the peer sent
	kept      volume               // of all frames in the transcript
	sinceSent volume               // of what the peer sent since the last message of the client

	posts      map[int]bool  // exchanges that are POSTs of the client
	anonymous  int           // frames of the client that a response without id may answer
	readerDone chan struct{} // closed once the peer has ended and everything was read
	closeOnce  sync.Once
}

// connect starts an instance of the target. It is the one with a number of a launcher,
// which may be nil.
func connect(
	ctx context.Context, target transport.Target, opts Options, l *Launcher, number int,
) (*Conn, error) {
	c := &Conn{
		Transcript: wire.NewTranscript(),
		opts:       opts,
		launcher:   l,
		number:     number,
		changed:    make(chan struct{}),
		requests:   make(chan *pendingRequest, 256),
		readerDone: make(chan struct{}),
	}
	var err error
	if c.link, err = dial(ctx, target, opts, c); err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

// read reads frames until no more can come.
func (c *Conn) read() {
	defer close(c.readerDone)
	defer close(c.requests)
	for {
		f, err := c.link.next()
		if err != nil {
			c.recordEnding() // io.EOF, or a read on a link that this side ended
			return
		}
		if c.isFlooding(f) {
			c.endForFlooding()
			return
		}
		override := c.currentOverride() // before anyone can see the frame and change the override
		c.kept.add(f)
		at, m := c.Add(f)
		if !f.IsTransportOnly() {
			c.handle(wire.Entry{Index: at, Frame: f, Message: m}, override)
		}
		c.notify()
	}
}

// handle puts the requests in a message of the peer in the queue for the host, and
// shows the message to the watches.
func (c *Conn) handle(e wire.Entry, override func(HostRequest) HostReply) {
	if !c.receivedMessage.Swap(true) {
		first, _ := c.Entry(0)
		c.startupTime.Store(int64(c.Elapsed() - first.At))
	}
	for _, part := range e.Message.Elements() {
		c.pace.came(part)
		if c.isForeign(part) {
			c.MarkForeign(e.Index)
			c.launcher.forceSerial("an answer came in another session than its request")
		}
		if part.Kind != wire.Request {
			continue
		}
		select {
		case c.requests <- &pendingRequest{wire.Entry{Index: e.Index, Frame: e.Frame, Message: part}, override}:
		default: // a peer that floods the queue gets no answers
		}
	}
	c.inspectFrame(e)
}

// record adds a frame of the client to the transcript.
func (c *Conn) record(f wire.Frame) int {
	if f.HTTP != nil && f.HTTP.Method == http.MethodPost {
		c.mu.Lock()
		if c.posts == nil {
			c.posts = map[int]bool{}
		}
		c.posts[f.HTTP.Exchange] = true
		c.mu.Unlock()
	}
	c.kept.add(f)
	at, m := c.Add(f)
	if f.IsTransportOnly() {
		return at
	}
	c.pace.sent(m)
	if !m.IsResponse() {
		c.sinceSent.reset()
	}
	if !m.IsIdentifiable() || m.Kind == wire.Notification {
		c.mu.Lock()
		c.anonymous++
		c.mu.Unlock()
	}
	return at
}

func (c *Conn) notify() {
	c.mu.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// state returns a channel that is closed at the next change, and why no more frames
// will come, or nil.
func (c *Conn) state() (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.endErr
}

// ConnectionError returns why the connection has ended; nil while it is open.
func (c *Conn) ConnectionError() error {
	_, err := c.state()
	return err
}

// Stderr returns the end of what the server wrote to its standard error.
func (c *Conn) Stderr() string { return c.link.stderr() }

// UseRevision sets the revision of a connection that is used without a Session. It
// must be called before the first message.
func (c *Conn) UseRevision(rev spec.Revision) { c.link.setRevision(rev) }

// IsDisplaced reports whether the client ended the connection since another one was to
// be opened and the target does not serve two.
func (c *Conn) IsDisplaced() bool { return c.displaced.Load() }

// EndedByServer reports whether the server has ended the session by itself, as it may
// do over HTTP at any time (basic/transports#session-management).
func (c *Conn) EndedByServer() bool {
	h, ok := c.link.(*httpLink)
	return ok && h.hasEnded() && h.sessionEnded
}

// Send sends one message and returns the index of its frame. It records the frame
// first, so that no answer can precede it in the transcript. After the end of the
// context it neither records nor sends anything.
func (c *Conn) Send(ctx context.Context, raw []byte) (int, error) {
	at, err := c.link.send(ctx, raw)
	return at, c.explainSendError(ctx, err)
}

// SendChunks writes chunks one after another, and records one frame for each line
// that they form together. It returns the index of the first frame. Over HTTP it
// returns an error.
func (c *Conn) SendChunks(ctx context.Context, chunks ...[]byte) (int, error) {
	return c.SendChunksWithPause(ctx, func(int) {}, chunks...)
}

// SendChunksWithPause sends chunks as SendChunks does. Between two chunks it calls
// pause with the index of the first frame.
func (c *Conn) SendChunksWithPause(ctx context.Context, pause func(first int), chunks ...[]byte) (int, error) {
	first, err := c.link.sendChunks(ctx, pause, chunks)
	return first, c.explainSendError(ctx, err)
}

// Drain waits until the peer has read everything that was sent, at most the grace.
// It serves as a pause of SendPaused, without which a peer may read two chunks at
// once.
func (c *Conn) Drain(ctx context.Context) { c.link.drain(ctx, c.opts.Grace) }

// explainSendError returns why the server ended in place of EPIPE, if it ended. Over
// HTTP that is known by the time of the call.
func (c *Conn) explainSendError(ctx context.Context, err error) error {
	if h, ok := c.link.(*httpLink); ok && !h.hasEnded() {
		return err
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		ctx, cancel := context.WithTimeout(ctx, c.Patience())
		defer cancel()
		if endErr := c.AwaitEnd(ctx); endErr != nil {
			return endErr
		}
	}
	if partial := (*transport.PartialWriteError)(nil); errors.As(err, &partial) {
		c.fail(partial)
	}
	return err
}

// fail records that nothing more can be sent on the connection.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.endErr == nil {
		c.endErr, c.signalled = err, true
	}
	c.mu.Unlock()
	c.notify()
}

// AwaitEnd waits until the connection has ended and returns why; nil if the context
// ended first.
func (c *Conn) AwaitEnd(ctx context.Context) error {
	for {
		changed, endErr := c.state()
		if endErr != nil {
			return endErr
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}
