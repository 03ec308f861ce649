package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

var (
	errNoMatch = errors.New("not what is awaited")
	errTimeout = errors.New("nothing came before the deadline")
)

// AwaitMessage returns the first frame of the peer from an index on with a message
// that matches. It returns an error when the time is over, when no more frames can
// come, or when HTTP alone answered the message of the client at that index with a
// failure.
func (c *Conn) AwaitMessage(
	ctx context.Context, from int, within time.Duration, match func(wire.Message) bool,
) (wire.Entry, error) {
	stimulus := c.sentFrame(from)
	return c.await(ctx, from, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From != wire.Server {
			return e, errNoMatch
		}
		for _, part := range e.Message.Elements() {
			if match(part) && !(lacksID(part) && c.answersOtherPost(exchangeNumber(stimulus), e.Frame)) {
				e.Message = part
				return e, nil
			}
		}
		if refusal := c.statusError(stimulus, e.Frame); refusal != nil {
			return e, refusal
		}
		return e, errNoMatch
	})
}

// AwaitDue returns the first frame of the peer from an index on with a message that
// matches and is due. It waits for the time of an answer, and then until the peer has
// answered a request sent now.
func (s *Session) AwaitDue(ctx context.Context, from int, match func(wire.Message) bool) (wire.Entry, error) {
	e, err := s.AwaitMessage(ctx, from, s.AnswerTimeout(), match)
	if !errors.Is(err, errTimeout) || s.AwaitBarrier(ctx) != nil {
		return e, err
	}
	if e, err = s.AwaitMessage(ctx, from, 0, match); err == nil {
		s.noteLate(e, from)
	}
	return e, err
}

// lacksID reports whether a message is an error response without a valid id.
func lacksID(m wire.Message) bool { return m.Kind == wire.Error && !m.ID().IsValid() }

// exchangeNumber returns the number of the exchange of a frame; 0 for none.
func exchangeNumber(f *wire.Frame) int {
	if f == nil || f.HTTP == nil {
		return 0
	}
	return f.HTTP.Exchange
}

// AwaitFrame returns the first frame of the peer from an index on that matches, also
// one without a message. It returns an error when the time is over or no more frames
// can come.
func (c *Conn) AwaitFrame(
	ctx context.Context, from int, within time.Duration, match func(wire.Entry) bool,
) (wire.Entry, error) {
	return c.await(ctx, from, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From != wire.Server || !match(e) {
			return e, errNoMatch
		}
		return e, nil
	})
}

// AwaitAnswer returns the answer to a request of the client by the index of its
// frame: the response with its id, or over HTTP an error without id in the answer to
// its POST, which can only be meant for it. It returns an error if there is none: an
// HTTPStatusError if HTTP alone answered, an AnswerTooLongError if what may be the
// answer is longer than what is kept of a message.
func (c *Conn) AwaitAnswer(ctx context.Context, sent int, id wire.ID, within time.Duration) (wire.Entry, error) {
	first, _ := c.Entry(sent)
	request := first.Frame
	return c.await(ctx, sent, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From != wire.Server {
			return e, errNoMatch
		}
		if err := c.link.unansweredReason(request, e.Frame); err != nil {
			return e, err
		}
		for _, part := range e.Message.Elements() {
			inAnswer := e.HTTP != nil && e.HTTP.Exchange == request.HTTP.Exchange && lacksID(part)
			if part.IsResponse() && part.ID().Equal(id) || inAnswer {
				e.Message = part
				return e, nil
			}
		}
		if e.Truncated && mayBeMessage(e.Raw) && !c.answersOtherPost(exchangeNumber(&request), e.Frame) {
			return e, &AnswerTooLongError{KeptBytes: len(e.Raw)}
		}
		return e, errNoMatch
	})
}

// mayBeMessage reports whether the beginning of a frame may be that of a message.
func mayBeMessage(beginning []byte) bool {
	beginning = bytes.TrimLeft(beginning, " \t\r\n")
	return len(beginning) > 0 && (beginning[0] == '{' || beginning[0] == '[')
}

// AnswerTooLongError is the error of a message that may be the answer and is longer
// than what is kept of a message. It is no failure of the server, since no limit is
// stated.
type AnswerTooLongError struct{ KeptBytes int }

func (e *AnswerTooLongError) Error() string {
	return fmt.Sprintf("a message that may be the answer is longer than what is kept of one: %d bytes are kept",
		e.KeptBytes)
}

// await returns the first frame from an index on that look accepts. look returns
// errNoMatch for a frame to skip, and any other error to end the wait.
func (c *Conn) await(
	ctx context.Context, from int, within time.Duration, look func(wire.Entry) (wire.Entry, error),
) (wire.Entry, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		changed, endErr := c.state()
		for e := range c.WalkAll(from) {
			from = e.Index + 1
			if found, err := look(e); !errors.Is(err, errNoMatch) {
				return found, err
			}
		}
		if endErr != nil {
			return wire.Entry{}, endErr
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

// AwaitExchangeEnd waits until the exchange of a message of the client has ended, at
// most the given time, so that all frames of the exchange are known. On stdio it
// returns at once.
func (c *Conn) AwaitExchangeEnd(ctx context.Context, at int, within time.Duration) {
	sent := c.sentFrame(at)
	if sent == nil || sent.HTTP == nil {
		return
	}
	// The caller finds out itself if the exchange has not ended.
	_, _ = c.await(ctx, at, within, func(e wire.Entry) (wire.Entry, error) {
		if e.From == wire.Server && e.HTTP.Exchange == sent.HTTP.Exchange && e.HTTP.EndsExchange() {
			return e, nil
		}
		return e, errNoMatch
	})
}

// UnansweredReason returns why a request of the client will get no message as an
// answer, as far as a later frame of the peer shows it: an HTTPStatusError if HTTP
// alone answered. It returns nil otherwise, and always on stdio.
func (c *Conn) UnansweredReason(sent, got wire.Frame) error {
	return c.link.unansweredReason(sent, got)
}

// FailureStatus returns the failure status with which HTTP alone answered the message
// of the client at an index; nil if it did not so far.
func (c *Conn) FailureStatus(at int) *HTTPStatusError {
	sent := c.sentFrame(at)
	for e := range c.WalkAll(at) {
		if refusal := c.statusError(sent, e.Frame); refusal != nil {
			return refusal
		}
	}
	return nil
}

// statusError returns the failure status with which a frame answers a message of the
// client; nil if the frame has none or carries a message.
func (c *Conn) statusError(sent *wire.Frame, got wire.Frame) (refusal *HTTPStatusError) {
	if sent == nil || !errors.As(c.link.unansweredReason(*sent, got), &refusal) || refusal.Status < 400 {
		return nil
	}
	return refusal
}

// sentFrame returns the frame of the client at an index; nil if there is none or it
// carries no message.
func (c *Conn) sentFrame(at int) *wire.Frame {
	e, ok := c.Entry(at)
	if !ok || e.From != wire.Client || e.IsTransportOnly() {
		return nil
	}
	return &e.Frame
}
