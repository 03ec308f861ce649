package server

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// cancelled stops the work on a request and sees to it that nothing more is
// sent for it (basic/utilities/cancellation). Unknown, finished and malformed
// ones are ignored.
func (c *conn) handleCancelled(m wire.Message) {
	id := wire.ID{Raw: m.Params().Get("requestId").Raw}
	c.mu.Lock()
	t := c.inflight[id.Key()]
	c.mu.Unlock()
	if t != nil {
		c.cancelJob(t)
	}
}

// abort stops a job and sees to it that nothing more is sent for it.
func (c *conn) cancelJob(t *job) {
	c.mu.Lock()
	if c.inflight[t.key] == t {
		delete(c.inflight, t.key) // the id is free again
	}
	c.mu.Unlock()
	c.suppressOutput(t)
	t.cancel(errCancelled)
}

// silence sees to it that nothing more is sent for a job. What is being sent
// is out before anything that follows.
func (c *conn) suppressOutput(t *job) {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	t.cancelled.Store(true)
}
