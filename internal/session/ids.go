package session

import (
	"strconv"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// idsPerConn is the number of request ids that a connection has for itself.
const idsPerConn = 100_000

// NextID returns a request id that no connection of the launcher has used, so that an
// answer which belongs to another session is recognized.
func (c *Conn) NextID() wire.ID {
	return wire.IntID(int64(c.number)*idsPerConn + c.lastID.Add(1))
}

// isForeign reports whether a message is the response to a request that another
// connection of the launcher has sent. The ids of the first connection do not count:
// they are small numbers, which a server may make of an invalid id.
func (c *Conn) isForeign(m wire.Message) bool {
	if c.launcher == nil || !m.IsResponse() {
		return false
	}
	id, err := strconv.ParseInt(m.ID().Key(), 10, 64)
	if err != nil || id <= idsPerConn || id/idsPerConn == int64(c.number) {
		return false
	}
	return c.launcher.hasSent(int(id/idsPerConn), id%idsPerConn)
}

// hasSent reports whether the connection of a number has used the n-th of its ids.
func (l *Launcher) hasSent(number int, n int64) bool {
	for _, c := range l.snapshot() {
		if c.number == number {
			return n >= 1 && n <= c.lastID.Load()
		}
	}
	return false
}
