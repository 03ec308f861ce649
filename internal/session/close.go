package session

import (
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// shortGraceDivisor divides the grace where it should be short: for a peer that has
// not answered a request, and for the reader of a peer that has exited.
const shortGraceDivisor = 4

// Close ends the peer as the specification requires of a client: it closes the
// input of the peer, waits, sends SIGTERM, waits and sends SIGKILL
// (basic/lifecycle#shutdown). The Ending of the transcript has the result.
//
// A peer that has not answered a request may be working on it. How it ends is no
// evidence, so it gets a part of the grace only. Any other peer gets at least the
// timeout to exit, so that no peer fails on a busy machine.
//
// Close may be called more than once.
func (c *Conn) Close() {
	c.closeOnce.Do(func() {
		grace, busy := c.exitGrace(), c.hasUnanswered()
		if busy {
			grace /= shortGraceDivisor
			c.noteHurry()
		} else {
			grace = max(grace, c.opts.Timeout)
		}
		c.noteEndRequest(false)
		c.link.requestEnd()
		if !waitFor(c.link.done(), grace) {
			c.noteEndRequest(true)
			c.link.terminate()
			waitFor(c.link.done(), c.opts.Grace)
		}
		c.awaitReader()
		c.link.kill()
	})
	<-c.readerDone
}

// Kill ends the peer at once.
func (c *Conn) Kill() {
	c.closeOnce.Do(func() {
		c.noteEndRequest(true)
		c.link.kill()
	})
	<-c.readerDone
}

// exitGrace returns how long a peer may take to exit once its input was closed: the
// grace, or more for a peer that was slow to start, since a busy machine slows both.
func (c *Conn) exitGrace() time.Duration {
	return max(c.opts.Grace, min(3*time.Duration(c.startupTime.Load()), maxPatience*c.opts.Timeout))
}

// hasUnanswered reports whether the peer has not answered some request.
func (c *Conn) hasUnanswered() bool {
	open := map[string]bool{}
	for e := range c.Walk(0) {
		for _, m := range e.Message.Elements() {
			switch {
			case e.From == wire.Client && m.Method() == "subscriptions/listen":
				// The server answers it at the end of the stream
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

// noteEndRequest notes when the client first asked the peer to end, and whether it
// did so by a signal.
func (c *Conn) noteEndRequest(signal bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.endRequested.IsZero():
		c.endRequested = time.Now()
	case signal && !c.signalled:
		c.waitedBeforeSignal = time.Since(c.endRequested)
	}
	c.signalled = c.signalled || signal
}

// noteHurry notes that the peer gets less time than usual to end.
func (c *Conn) noteHurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hurried = true
}

func (c *Conn) endWasRequested() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.endRequested.IsZero()
}

// awaitReader waits until everything was read that the peer wrote before it exited.
// The wait is short, since a descendant of the peer may hold its output open.
func (c *Conn) awaitReader() { waitFor(c.readerDone, c.opts.Grace/shortGraceDivisor) }

// recordEnding records how the connection ended. A peer that closed its output gets
// the grace to exit, so that its status is known. If the client has asked it to end,
// recordEnding waits until it has.
func (c *Conn) recordEnding() {
	what := c.awaitStatus()
	c.mu.Lock()
	requested := !c.endRequested.IsZero()
	c.exited = c.exited || !requested && !c.signalled
	e := wire.Ending{
		Reason: what, Requested: requested, Graceful: requested && !c.signalled,
		WaitedBeforeSignal: c.waitedBeforeSignal, Hurried: c.hurried,
	}
	if requested {
		e.ShutdownTime = time.Since(c.endRequested)
	}
	c.End(e) // before endErr, since a caller that sees endErr may read the Ending
	if c.endErr == nil {
		c.endErr = fmt.Errorf("server closed the connection (%s)", what)
	}
	c.mu.Unlock()
	c.notify()
}

// awaitStatus waits for the end of the peer and returns how it ended.
func (c *Conn) awaitStatus() string {
	grace := time.NewTimer(c.opts.Grace)
	defer grace.Stop()
	for {
		select {
		case <-c.link.done():
			return c.link.status()
		case <-grace.C:
			if !c.endWasRequested() {
				return "closed its output but keeps running"
			}
		}
	}
}

// exitError returns why the connection has ended, as ConnectionError does. It also
// notices a peer that has ended while one of its descendants holds its output open.
func (c *Conn) exitError() error {
	select {
	case <-c.link.done():
	default:
		return c.ConnectionError()
	}
	c.awaitReader()
	c.mu.Lock()
	c.exited = c.exited || c.endRequested.IsZero() && !c.signalled
	c.mu.Unlock()
	c.fail(fmt.Errorf("server ended (%s), while a process that it started holds its output open", c.link.status()))
	return c.ConnectionError()
}

// ExitReason returns how the server ended by itself, such as "exit status 1"; "" if it
// runs, or the client ended it. A session over HTTP that is lost is no exit of the
// server: that shows only where mcpcheck started the server.
func (c *Conn) ExitReason() string {
	c.mu.Lock()
	exited := c.exited
	c.mu.Unlock()
	if !exited {
		return ""
	}
	if h, ok := c.link.(*httpLink); ok {
		if h.server == nil {
			return ""
		}
		return h.server.WaitForExit(h.grace)
	}
	return c.link.status()
}

// waitFor waits until done is closed, at most the given time, and reports whether
// it was closed.
func waitFor(done <-chan struct{}, within time.Duration) bool {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}
