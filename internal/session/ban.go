package session

import (
	"net/http"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Ban watches for an answer that is forbidden, such as one to a
// notification. It is looked for until the session's end, since a peer may
// give it at any time. An answer without a usable id is nobody's once we have
// sent something else that could be meant by it: from then on only answers with
// an id count.
type Ban struct {
	What     string // what must not come
	match    func(wire.Message) bool
	epoch    int  // how many anonymous frames we had sent
	exchange int  // of HTTP, in which the stimulus was sent; 0 on stdio
	hope     bool // it is no ban: a match is what should come

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
	return c.watch(&Ban{What: what, match: match}, from)
}

// Hope registers the opposite: a watch for what should come, from index on.
func (c *Conn) Hope(from int, match func(wire.Message) bool) *Ban {
	return c.watch(&Ban{match: match, hope: true}, from)
}

func (c *Conn) watch(b *Ban, from int) *Ban {
	b.exchange = exchangeOf(c.sentAt(from))
	c.mu.Lock()
	b.epoch = c.anonymous
	c.bans = append(c.bans, b)
	c.mu.Unlock()
	for _, e := range c.EntriesFrom(from) {
		if e.From == wire.Server {
			b.see(e, b.epoch, c.answersAnother(b.exchange, e.Frame))
		}
	}
	return b
}

// answersAnother tells whether a frame came in answer to a POST other than that
// of an exchange; 0 is that of no HTTP.
func (c *Conn) answersAnother(exchange int, got wire.Frame) bool {
	if exchange == 0 || got.HTTP == nil || got.HTTP.Exchange == exchange {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts[got.HTTP.Exchange]
}

// see looks at a frame. another tells that it came in answer to another POST, so
// that what in it has no id is meant for that.
func (b *Ban) see(e wire.Entry, epoch int, another bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hit != nil {
		return
	}
	for _, part := range e.Message.Elements() {
		// A server that cannot accept a message says so by a failure status, and
		// may do so in an error without id (basic/transports#sending-messages-to-the-server).
		if !part.ID().Usable() && (another || e.Refuses() && !b.hope) {
			continue
		}
		same := e.HTTP != nil && e.HTTP.Exchange == b.exchange
		if b.match(part) && (epoch == b.epoch || part.ID().Usable() || same) {
			b.hit = &e
			return
		}
	}
}

// check puts a new frame to every ban.
func (c *Conn) check(e wire.Entry) {
	c.mu.Lock()
	bans, epoch := c.bans, c.anonymous
	c.mu.Unlock()
	for _, b := range bans {
		b.see(e, epoch, c.answersAnother(b.exchange, e.Frame))
	}
}

// record adds a frame of ours to the transcript.
func (c *Conn) record(f wire.Frame) int {
	if f.HTTP != nil && f.HTTP.Method == http.MethodPost {
		c.mu.Lock()
		if c.posts == nil {
			c.posts = map[int]bool{}
		}
		c.posts[f.HTTP.Exchange] = true
		c.mu.Unlock()
	}
	at, m := c.Add(f)
	if f.Wordless() {
		return at
	}
	if !m.IsResponse() {
		c.since.reset()
	}
	if !m.Readable() || m.Kind == wire.Notification {
		c.mu.Lock()
		c.anonymous++
		c.mu.Unlock()
	}
	return at
}
