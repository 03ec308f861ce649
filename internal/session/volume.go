package session

import (
	"fmt"
	"slices"
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
func (v *volume) exceeds(o Options, frames, bytes float64) bool {
	return float64(v.frames.Load()) > frames*float64(o.MaxFrames) ||
		float64(v.bytes.Load()) > bytes*float64(o.MaxBytes)
}

const (
	// These times the limits bound what a peer may send in a whole session, and so what is
	// kept of one.
	sessionFrames = 4
	sessionBytes  = 2
	// These shares of the limits in a session are near the limit.
	nearLimitFrames = 1
	nearLimitBytes  = 0.5
	// endedShare of the limits is what a pool keeps of its sessions that have ended.
	endedShare = 1
)

// isFlooding counts a frame and reports whether the peer sends more than any client
// could have asked for. The heads and ends of exchanges that the client began count
// for the whole session only.
func (c *Conn) isFlooding(f wire.Frame) bool {
	c.total.add(f)
	if !f.IsTransportOnly() || f.HTTP.Event != nil {
		c.sinceSent.add(f)
	}
	return c.sinceSent.exceeds(c.opts, 1, 1) || c.total.exceeds(c.opts, sessionFrames, sessionBytes)
}

// endForFlooding ends a peer that floods its output.
func (c *Conn) endForFlooding() {
	c.mu.Lock()
	c.endErr = fmt.Errorf("server flooded its output: more than %d frames or %d bytes since the client's last "+
		"message, or %d times as many frames or %d times as many bytes in one session", c.opts.MaxFrames,
		c.opts.MaxBytes, sessionFrames, sessionBytes)
	c.signalled = true
	c.mu.Unlock()
	c.link.kill()
	c.recordEnding()
}

// isNearLimit reports whether so much was sent in the session that further requests should
// use another session.
func (c *Conn) isNearLimit() bool { return c.kept.exceeds(c.opts, nearLimitFrames, nearLimitBytes) }

// trim drops the records of sessions that have ended, the largest first, while the pool
// keeps more of them than its limit. The newest two stay: they show how the server ended.
// What was dropped is not judged as a whole, and noted.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		var ended int64
		largest := -1
		for i, s := range p.sessions[:max(0, len(p.sessions)-2)] {
			if s.ConnectionError() == nil {
				continue
			}
			n := s.kept.bytes.Load()
			ended += n
			if largest < 0 || n > p.sessions[largest].kept.bytes.Load() {
				largest = i
			}
		}
		if ended <= int64(endedShare*p.opts.MaxBytes) || largest < 0 {
			return
		}
		dropped := p.sessions[largest]
		p.sessions = slices.Delete(p.sessions, largest, largest+1)
		p.launcher.forget(dropped.Conn)
		dropped.Drop()
		p.dropped.frames.Add(1)
		p.dropped.bytes.Add(dropped.kept.bytes.Load())
	}
}

// Dropped returns how many sessions were dropped because the pool kept too much, and
// their bytes.
func (p *Pool) Dropped() (sessions, bytes int64) {
	return p.dropped.frames.Load(), p.dropped.bytes.Load()
}

// Release drops everything that was kept of the sessions, which must have ended.
func (p *Pool) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		p.launcher.forget(s.Conn)
	}
	p.sessions, p.cached, p.shared, p.withoutCapabilities = nil, nil, nil, nil
}
