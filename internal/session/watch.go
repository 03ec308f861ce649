package session

import (
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Watch watches for a message of the peer until the end of the session: for a
// forbidden one, such as an answer to a notification, or for an expected one. The
// peer may send either at any time.
//
// An answer without a valid id may be meant for any message that has no id. A watch
// ignores such an answer once the client has sent another message that it may be
// meant for.
type Watch struct {
	Description     string // the forbidden message; "" for an expected one
	match           func(wire.Message) bool
	expected        bool
	exchange        int // in which the stimulus was sent; 0 on stdio
	anonymousBefore int // frames that an answer without id may be meant for, up to the stimulus

	mu    sync.Mutex
	found *wire.Entry
}

// Found returns the first matching frame, or nil.
func (b *Watch) Found() *wire.Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.found
}

// Forbid watches for a forbidden message from an index on. The stimulus is the
// frame of the client at that index.
func (c *Conn) Forbid(what string, from int, match func(wire.Message) bool) *Watch {
	return c.addWatch(&Watch{Description: what, match: match}, from)
}

// ExpectLater watches for an expected message from an index on. The stimulus is the
// frame of the client at that index.
func (c *Conn) ExpectLater(from int, match func(wire.Message) bool) *Watch {
	return c.addWatch(&Watch{match: match, expected: true}, from)
}

// addWatch registers a watch and shows it the frames that have come already.
func (c *Conn) addWatch(b *Watch, from int) *Watch {
	b.exchange = exchangeNumber(c.sentFrame(from))
	c.mu.Lock()
	b.anonymousBefore = c.anonymous
	c.watches = append(c.watches, b)
	c.mu.Unlock()
	for e := range c.Walk(from) {
		if e.From == wire.Server {
			b.inspect(e, b.anonymousBefore, c.answersOtherPost(b.exchange, e.Frame))
		}
	}
	return b
}

// inspectFrame shows a new frame to every watch.
func (c *Conn) inspectFrame(e wire.Entry) {
	c.mu.Lock()
	watches, anonymous := c.watches, c.anonymous
	c.mu.Unlock()
	for _, b := range watches {
		b.inspect(e, anonymous, c.answersOtherPost(b.exchange, e.Frame))
	}
}

// answersOtherPost reports whether a frame came in the answer to another POST than
// that of an exchange. It returns false for exchange 0.
func (c *Conn) answersOtherPost(exchange int, got wire.Frame) bool {
	if exchange == 0 || got.HTTP == nil || got.HTTP.Exchange == exchange {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts[got.HTTP.Exchange]
}

// inspect keeps a frame that matches. anonymous is the number of frames so far that
// an answer without id may be meant for. otherPost reports that the frame came in
// the answer to another POST, which answers without id in it are meant for.
func (b *Watch) inspect(e wire.Entry, anonymous int, otherPost bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.found != nil {
		return
	}
	sameExchange := e.HTTP != nil && e.HTTP.Exchange == b.exchange
	unambiguous := anonymous == b.anonymousBefore || sameExchange
	for _, part := range e.Message.Elements() {
		hasID := part.ID().IsValid()
		// A server may refuse any message with a failure status and an error without
		// id (basic/transports#sending-messages-to-the-server).
		if !hasID && (otherPost || e.HasFailureStatus() && !b.expected) {
			continue
		}
		if b.match(part) && (hasID || unambiguous) {
			b.found = &e
			return
		}
	}
}
