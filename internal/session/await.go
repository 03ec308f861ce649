package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Await returns the first frame of the peer from index on that matches. It
// returns an error when the deadline passed or nothing more can come, also where
// HTTP alone answered what we sent at that index.
func (c *Conn) Await(ctx context.Context, from int, within time.Duration, match func(wire.Message) bool) (wire.Entry, error) {
	stimulus := c.sentAt(from)
	return c.await(ctx, from, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From != wire.Server {
			return e, errNotThis
		}
		for _, part := range e.Message.Elements() {
			if match(part) && !(part.Kind == wire.Error && !part.ID().Usable() && c.answersAnother(exchangeOf(stimulus), e.Frame)) {
				e.Message = part
				return e, nil
			}
		}
		if refusal := c.refusal(stimulus, e.Frame); refusal != nil {
			return e, refusal
		}
		return e, errNotThis
	})
}

// exchangeOf returns the number of the exchange of HTTP of a frame; 0 for none.
func exchangeOf(f *wire.Frame) int {
	if f == nil || f.HTTP == nil {
		return 0
	}
	return f.HTTP.Exchange
}

// Watch returns the first frame of the peer from index on that is as wished,
// those of the transport alone included. It returns an error when the deadline
// passed or nothing more can come.
func (c *Conn) Watch(ctx context.Context, from int, within time.Duration, wished func(wire.Entry) bool) (wire.Entry, error) {
	return c.await(ctx, from, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From != wire.Server || !wished(e) {
			return e, errNotThis
		}
		return e, nil
	})
}

// Unanswered tells why the request in a frame of ours will not be answered by a
// message any more, where a frame that came says so: a Refusal where HTTP alone
// answered it. It is nil otherwise, and always on stdio.
func (c *Conn) Unanswered(sent, got wire.Frame) error { return c.link.refused(sent, got) }

// sentAt returns the message of ours at an index; nil if there is none.
func (c *Conn) sentAt(at int) *wire.Frame {
	if at < 0 {
		return nil
	}
	if frames := c.Frames(at); len(frames) > 0 && frames[0].From == wire.Client && !frames[0].Wordless() {
		return &frames[0]
	}
	return nil
}

// Settle waits until the exchange of HTTP in which we sent a message has ended,
// at most so long: what was said in it is known then. On stdio there is none.
func (c *Conn) Settle(ctx context.Context, at int, within time.Duration) {
	sent := c.sentAt(at)
	if sent == nil || sent.HTTP == nil {
		return
	}
	// That it did not end is for the caller to judge.
	_, _ = c.await(ctx, at, within, func(e wire.Entry) (wire.Entry, error) {
		h := e.HTTP
		if e.From == wire.Server && h.Exchange == sent.HTTP.Exchange && (h.End != "" || h.Status != 0 && !h.Streams()) {
			return e, nil
		}
		return e, errNotThis
	})
}

// Refused returns why what we sent at an index was answered by HTTP alone, by a
// failure status; nil where it was not, or not yet.
func (c *Conn) Refused(at int) *Refusal {
	sent := c.sentAt(at)
	for _, f := range c.Frames(at) {
		if refusal := c.refusal(sent, f); refusal != nil {
			return refusal
		}
	}
	return nil
}

// refusal returns what a frame says of a message of ours, if that is that HTTP
// alone refused it.
func (c *Conn) refusal(sent *wire.Frame, got wire.Frame) (refusal *Refusal) {
	if sent == nil || !errors.As(c.link.refused(*sent, got), &refusal) || refusal.Status < 400 {
		return nil
	}
	return refusal
}

// AwaitAnswer returns the answer to a request of ours that was sent at an index:
// the response with its id, and over HTTP also an error without any id that came
// in answer to its POST, which can only be meant for it. An error tells that none
// came, a Refusal that HTTP alone answered, TooLong that what may be it was not
// read to its end.
func (c *Conn) AwaitAnswer(ctx context.Context, sent int, id wire.ID, within time.Duration) (wire.Entry, error) {
	request := c.Frames(sent)[0]
	return c.await(ctx, sent, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From != wire.Server {
			return e, errNotThis
		}
		if err := c.link.refused(request, e.Frame); err != nil {
			return e, err
		}
		for _, part := range e.Message.Elements() {
			anonymous := e.HTTP != nil && e.HTTP.Exchange == request.HTTP.Exchange && part.Kind == wire.Error && !part.ID().Usable()
			if part.IsResponse() && part.ID().Equal(id) || anonymous {
				e.Message = part
				return e, nil
			}
		}
		if e.Cut && begins(e.Raw) && !c.answersAnother(exchangeOf(&request), e.Frame) {
			return e, &TooLong{Kept: len(e.Raw)}
		}
		return e, errNotThis
	})
}

// begins tells whether what was cut may be the beginning of a message.
func begins(cut []byte) bool {
	cut = bytes.TrimLeft(cut, " \t\r\n")
	return len(cut) > 0 && (cut[0] == '{' || cut[0] == '[')
}

// TooLong tells that a message came which may be the answer and is longer than
// what is kept of one: it says nothing of the server, which may be as long as it
// likes.
type TooLong struct{ Kept int }

func (e *TooLong) Error() string {
	return fmt.Sprintf("what came may be the answer, and is longer than is read of a message: %d bytes are kept", e.Kept)
}

var errNotThis = errors.New("not what is awaited")

// await returns the first frame from index on that look takes, or the error that
// it returns in place of errNotThis.
func (c *Conn) await(ctx context.Context, from int, within time.Duration, look func(wire.Entry) (wire.Entry, error)) (wire.Entry, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		changed, over := c.state()
		for _, e := range c.AllFrom(from) {
			from = e.Index + 1
			if found, err := look(e); !errors.Is(err, errNotThis) {
				return found, err
			}
		}
		if over != nil {
			return wire.Entry{}, over
		}
		select {
		case <-changed:
		case <-deadline.C:
			return wire.Entry{}, errTimeout
		case <-ctx.Done():
			return wire.Entry{}, ctx.Err()
		}
	}
}

var errTimeout = errors.New("nothing came before the deadline")

// departed returns why the connection is over, as Over does, and also notes that
// where the peer has ended and its output stays open, since a process that it
// started holds it.
func (c *Conn) departed() error {
	select {
	case <-c.link.done():
	default:
		return c.Over()
	}
	c.lastWords()
	c.breakOff(fmt.Errorf("server ended (%s), while a process that it started holds its output open", c.link.status()))
	return c.Over()
}
