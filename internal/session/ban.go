package session

import (
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Ban watches for an answer that is forbidden, such as one to a
// notification. It is looked for until the session's end, since a peer may
// give it at any time.
type Ban struct {
	What  string // what must not come
	match func(wire.Message) bool

	mu  sync.Mutex
	hit *wire.Entry
}

// Hit returns the first frame that broke the ban, or nil.
func (b *Ban) Hit() *wire.Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hit
}

// Forbid registers a ban on frames that come from index on.
func (c *Conn) Forbid(what string, from int, match func(wire.Message) bool) *Ban {
	b := &Ban{What: what, match: match}
	c.mu.Lock()
	c.bans = append(c.bans, b)
	c.mu.Unlock()
	for _, e := range c.EntriesFrom(from) {
		if e.From == wire.Server {
			b.see(e)
		}
	}
	return b
}

func (b *Ban) see(e wire.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hit != nil {
		return
	}
	for _, part := range e.Message.Elements() {
		if b.match(part) {
			b.hit = &e
			return
		}
	}
}

// check puts a new frame to every ban.
func (c *Conn) check(e wire.Entry) {
	c.mu.Lock()
	bans := c.bans
	c.mu.Unlock()
	for _, b := range bans {
		b.see(e)
	}
}
