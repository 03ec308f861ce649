package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Conn is one started instance of the target with everything that was said
// on it. Its output is read from the start on, so that what a server says
// before it is spoken to is known as such.
type Conn struct {
	*wire.Transcript
	link  link
	opts  Options
	heard atomic.Bool  // the peer said something
	start atomic.Int64 // nanoseconds from our first frame to its first
	stays *atomic.Bool // an instance of the target did not exit in all the time that we have

	mu      sync.Mutex
	changed chan struct{} // closed and renewed whenever a frame came or the connection ended
	over    error         // why nothing more will come, or nil
	asked   time.Time     // when we asked the peer to end
	forced  bool          // we signalled it, or it was ended for flooding
	waited  time.Duration // how long we waited before we signalled it
	asks    chan question
	instead func(Asked) Reply // answers in place of the host
	bans    []*Ban

	all   amount // of what the peer said
	since amount // of what it said since our last message

	posts     map[int]bool  // exchanges of HTTP that are POSTs of ours
	anonymous int           // frames of ours that an answer without id may be meant for: what is unreadable, and notifications
	ended     chan struct{} // closed once the peer is gone and everything was read
	ending    sync.Once
}

// connect starts an instance.
func connect(ctx context.Context, target transport.Target, opts Options, stays *atomic.Bool) (*Conn, error) {
	c := &Conn{
		Transcript: wire.NewTranscript(),
		opts:       opts,
		stays:      stays,
		changed:    make(chan struct{}),
		asks:       make(chan question, 256),
		ended:      make(chan struct{}),
	}
	var err error
	if c.link, err = dial(ctx, target, opts, c.record); err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

// read takes frames until no more can come.
func (c *Conn) read() {
	defer close(c.ended)
	defer close(c.asks)
	for {
		f, err := c.link.next()
		if err != nil {
			c.finish() // io.EOF, or a read on a link that we ended
			return
		}
		if c.floods(f) {
			c.mu.Lock()
			c.over, c.forced = fmt.Errorf("server flooded its output: more than %d frames or %d bytes since our last message, or %d times as much in one session", c.opts.MaxFrames, c.opts.MaxBytes, wholeSession), true
			c.mu.Unlock()
			c.link.kill()
			c.finish()
			return
		}
		instead := c.answering() // before anybody can see the frame and change it
		at, m := c.Add(f)
		if f.Wordless() {
			c.signal()
			continue
		}
		if !c.heard.Swap(true) {
			c.start.Store(int64(c.Elapsed() - c.Frames(0)[0].At))
		}
		e := wire.Entry{Index: at, Frame: f, Message: m}
		for _, part := range m.Elements() {
			if part.Kind == wire.Request {
				select {
				case c.asks <- question{wire.Entry{Index: at, Frame: f, Message: part}, instead}:
				default: // a peer that floods us with requests gets no answers
				}
			}
		}
		c.check(e)
		c.signal()
	}
}

// An amount is of frames and their bytes.
type amount struct{ frames, bytes atomic.Int64 }

func (a *amount) add(f wire.Frame) {
	a.frames.Add(1)
	a.bytes.Add(int64(sizeOf(f)))
}

func (a *amount) reset() {
	a.frames.Store(0)
	a.bytes.Store(0)
}

// over tells whether it is more than a share of the limits.
func (a *amount) over(o Options, share float64) bool {
	return float64(a.frames.Load()) > share*float64(o.MaxFrames) || float64(a.bytes.Load()) > share*float64(o.MaxBytes)
}

// wholeSession is how many times the limits a peer may say in all of a session,
// which bounds what is kept of one; at half of the limits a session is Worn.
const (
	wholeSession = 4
	worn         = 0.5
)

// floods counts a frame and tells whether the peer says more than anybody could
// have asked it for. The heads and ends of exchanges that we began count in all
// alone.
func (c *Conn) floods(f wire.Frame) bool {
	c.all.add(f)
	if !f.Wordless() || f.HTTP.Event != nil {
		c.since.add(f)
	}
	return c.since.over(c.opts, 1) || c.all.over(c.opts, wholeSession)
}

// Worn tells whether so much was said in the session that another should be used
// for what is to come.
func (c *Conn) Worn() bool { return c.all.over(c.opts, worn) }

// Forgotten tells whether the server has ended the session by itself, as it may
// over HTTP at any time (basic/transports#session-management).
func (c *Conn) Forgotten() bool {
	h, ok := c.link.(*httpLink)
	return ok && h.over() && h.forgot
}

// finish records that the connection is over. A peer that closed its output
// is given the grace to exit, so that its status can be told; one that we have
// asked to end is waited for, since it will be made to.
func (c *Conn) finish() {
	grace := time.NewTimer(c.opts.Grace)
	defer grace.Stop()
	what := ""
	for what == "" {
		select {
		case <-c.link.done():
			what = c.link.status()
		case <-grace.C:
			if !c.wasAsked() {
				what = "closed its output but goes on running"
			}
		}
	}
	c.mu.Lock()
	e := wire.Ending{What: what, Asked: !c.asked.IsZero(), Graceful: !c.asked.IsZero() && !c.forced, Waited: c.waited}
	if e.Asked {
		e.After = time.Since(c.asked)
	}
	c.End(e) // first: who sees that it is over may ask how it ended
	if c.over == nil {
		c.over = fmt.Errorf("server closed the connection (%s)", what)
	}
	c.mu.Unlock()
	c.signal()
}

func (c *Conn) wasAsked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.asked.IsZero()
}

func (c *Conn) signal() {
	c.mu.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}

// state returns a channel that is closed at the next change, and why nothing
// more will come, if so.
func (c *Conn) state() (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed, c.over
}

// Send sends one message and records it first, so that no answer to it can
// stand before it in the transcript. After the end of the context nothing is
// recorded or sent.
func (c *Conn) Send(ctx context.Context, raw []byte) (int, error) {
	at, err := c.link.send(ctx, raw)
	return at, c.why(ctx, err)
}

// SendChunks writes the chunks one after another as they are, recorded as one
// frame per line that they make up; only stdio has lines.
func (c *Conn) SendChunks(ctx context.Context, chunks ...[]byte) (int, error) {
	return c.SendPaused(ctx, func(int) {}, chunks...)
}

// SendPaused does the same, and calls pause with the index of the first frame
// between one chunk and the next.
func (c *Conn) SendPaused(ctx context.Context, pause func(first int), chunks ...[]byte) (int, error) {
	first, err := c.link.chunks(ctx, pause, chunks)
	return first, c.why(ctx, err)
}

// Drain waits until the peer has taken what was written, at most the grace: a
// pause for SendPaused, without which a peer may get two chunks at once.
func (c *Conn) Drain(ctx context.Context) { c.link.drain(ctx, c.opts.Grace) }

// Speak tells the revision at which a connection is used by who speaks on it
// without a Session, before anything is sent.
func (c *Conn) Speak(rev spec.Revision) { c.link.use(rev) }

// why says how the server ended rather than EPIPE, where it did. Over HTTP it is
// known by then whether it did.
func (c *Conn) why(ctx context.Context, err error) error {
	if h, ok := c.link.(*httpLink); ok && !h.over() {
		return err
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
		defer cancel()
		if gone := c.gone(ctx); gone != nil {
			return gone
		}
	}
	if torn := (*transport.Torn)(nil); errors.As(err, &torn) {
		c.breakOff(torn)
	}
	return err
}

// breakOff notes that nothing more can be said on the connection.
func (c *Conn) breakOff(why error) {
	c.mu.Lock()
	if c.over == nil {
		c.over, c.forced = why, true
	}
	c.mu.Unlock()
	c.signal()
}

// gone waits until the reader saw the end and returns what it was.
func (c *Conn) gone(ctx context.Context) error {
	for {
		changed, over := c.state()
		if over != nil {
			return over
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Over returns why the connection is over, or nil while it stands.
func (c *Conn) Over() error {
	_, over := c.state()
	return over
}

// Stderr returns the last of what the server wrote to its standard error.
func (c *Conn) Stderr() string { return c.link.stderr() }

// Close ends the peer as the specification tells a client to: close its
// input, wait, SIGTERM, wait, SIGKILL (basic/lifecycle#shutdown). What came of
// it is the transcript's Ending. A peer that still owes an answer may be at work
// on it, and how it ends is no evidence: it is not waited for as long. Of the
// others, one that outstays the grace may be slow or may stay for ever: until
// one stayed for all of the timeout, each is given that, so that a busy machine
// accuses no one. Safe to call more than once.
func (c *Conn) Close() {
	c.ending.Do(func() {
		grace, busy := c.leave(), c.busy()
		switch {
		case busy:
			grace /= busyShare
		case !c.stays.Load():
			grace = max(grace, c.opts.Timeout)
		}
		c.ask(false)
		c.link.leave()
		if !c.exits(grace) {
			if !busy {
				c.stays.Store(true)
			}
			c.ask(true)
			c.link.terminate()
			c.exits(c.opts.Grace)
		}
		c.lastWords()
		c.link.kill()
	})
	<-c.ended
}

// busyShare divides the grace of a peer that still owes an answer, and that of
// the reader of one that has exited.
const busyShare = 4

// lastWords waits until what a peer wrote before it exited was read. Its output
// stays open as long as a child of its own holds it, so that there is a limit.
func (c *Conn) lastWords() {
	limit := time.NewTimer(c.opts.Grace / busyShare)
	defer limit.Stop()
	select {
	case <-c.ended:
	case <-limit.C:
	}
}

// busy tells whether a request of ours was never answered.
func (c *Conn) busy() bool {
	open := map[string]bool{}
	for _, e := range c.Entries() {
		for _, m := range e.Message.Elements() {
			switch {
			case e.From == wire.Client && m.Method() == "subscriptions/listen":
				// Its answer is due when the stream ends
				// (basic/patterns/subscriptions).
			case e.From == wire.Client && m.Kind == wire.Request:
				open[m.ID().Key()] = true
			case e.From == wire.Server && m.IsResponse():
				delete(open, m.ID().Key())
			}
		}
	}
	return len(open) > 0
}

// leave is how long a peer may take to exit once its input was closed: the
// grace, or more if it was slow to start, since what makes one slow, such as a
// busy machine, makes the other so.
func (c *Conn) leave() time.Duration {
	return max(c.opts.Grace, min(3*time.Duration(c.start.Load()), c.opts.Timeout))
}

// ask notes when we first asked the peer to end, and whether by a signal.
func (c *Conn) ask(forced bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.asked.IsZero():
		c.asked = time.Now()
	case forced && !c.forced:
		c.waited = time.Since(c.asked)
	}
	c.forced = c.forced || forced
}

func (c *Conn) exits(within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-c.link.done():
		return true
	case <-limit.C:
		return false
	}
}

// Kill ends the peer at once.
func (c *Conn) Kill() {
	c.ending.Do(func() {
		c.ask(true)
		c.link.kill()
	})
	<-c.ended
}
