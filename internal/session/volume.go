package session

import (
	"fmt"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A volume is a number of frames and of their bytes.
type volume struct{ frames, bytes atomic.Int64 }

func (v *volume) add(f wire.Frame) {
	v.frames.Add(1)
	v.bytes.Add(int64(f.Size()))
}

func (v *volume) reset() {
	v.frames.Store(0)
	v.bytes.Store(0)
}

// exceeds reports whether the volume is more than a share of the limits.
func (v *volume) exceeds(o Options, share float64) bool {
	return float64(v.frames.Load()) > share*float64(o.MaxFrames) || float64(v.bytes.Load()) > share*float64(o.MaxBytes)
}

const (
	// sessionFactor times the limits bound what a peer may send in a whole session,
	// and so what is kept of one.
	sessionFactor = 4
	// nearLimitShare of the limits in a session is near the limit.
	nearLimitShare = 0.5
)

// isFlooding counts a frame and reports whether the peer sends more than any client
// could have asked for. The heads and ends of exchanges that the client began count
// for the whole session only.
func (c *Conn) isFlooding(f wire.Frame) bool {
	c.total.add(f)
	if !f.IsTransportOnly() || f.HTTP.Event != nil {
		c.sinceSent.add(f)
	}
	return c.sinceSent.exceeds(c.opts, 1) || c.total.exceeds(c.opts, sessionFactor)
}

// endForFlooding ends a peer that floods its output.
func (c *Conn) endForFlooding() {
	c.mu.Lock()
	c.endErr = fmt.Errorf("server flooded its output: more than %d frames or %d bytes since the client's last "+
		"message, or %d times as much in one session", c.opts.MaxFrames, c.opts.MaxBytes, sessionFactor)
	c.signalled = true
	c.mu.Unlock()
	c.link.kill()
	c.recordEnding()
}

// isNearLimit reports whether the peer sent so much in the session that further
// requests should use another session.
func (c *Conn) isNearLimit() bool { return c.total.exceeds(c.opts, nearLimitShare) }
