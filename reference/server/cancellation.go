package server

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// handleCancelled stops the work on the request that a notification names and
// keeps everything from being sent for it (basic/utilities/cancellation). A
// notification that names no request in flight is ignored.
func (c *conn) handleCancelled(m wire.Message) {
	id := wire.ID{Raw: m.Params().Get("requestId").Raw}
	c.mu.Lock()
	j := c.inflight[id.Key()]
	c.mu.Unlock()
	if j != nil {
		c.cancelJob(j)
	}
}

// cancelJob stops a job and keeps everything from being sent for it.
func (c *conn) cancelJob(j *job) {
	c.unregister(j)
	c.suppressOutput(j)
	j.cancel(errCancelled)
}

// suppressOutput keeps everything from being sent for a job. A frame that is being
// sent is written before suppressOutput returns.
func (c *conn) suppressOutput(j *job) {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	j.cancelled.Store(true)
}
