package server

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// cancelled stops the work on a request and sees to it that nothing more is
// sent for it (basic/utilities/cancellation). Unknown, finished and malformed
// ones are ignored.
func (c *conn) cancelled(m wire.Message) {
	id := wire.ID{Raw: m.Params().Get("requestId").Raw}
	c.mu.Lock()
	t := c.inflight[id.Key()]
	delete(c.inflight, id.Key()) // the id is free again
	c.mu.Unlock()
	if t == nil {
		return
	}
	c.out.Lock() // so that what is being sent is out before anything that follows
	t.cancelled.Store(true)
	c.out.Unlock()
	t.cancel(errCancelled)
}
