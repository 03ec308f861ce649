package fuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Over HTTP each frame of a script is a POST of its own. What is sent at once may
// arrive in any order, so that nothing is concluded from it; a request may be
// answered by a status alone, and a stream that ends without an answer tells at
// once that none will come.

// post posts the frames of a script and returns from which frame on the peer was
// not listened to.
func (l *line) post(ctx context.Context, s Script, b *book, patience time.Duration) (from int) {
	from = l.Len()
	for i, w := range s.Writes {
		wanted := due([]wire.Message{wire.Parse(w)}, b.facts)
		b.stillOpen(wanted)
		at, err := l.Send(ctx, w)
		if at >= 0 {
			if frame := l.Frames(at)[0]; frame.HTTP != nil {
				b.posts[frame.HTTP.Exchange] = posted{frame, wanted}
				if !l.p.oneStream() && !bytes.Contains(w, []byte("subscriptions/listen")) { // which stays open
					b.speaking[frame.HTTP.Exchange] = true
				}
			}
		}
		if err != nil && l.Over() != nil {
			break
		}
		if !s.Paced || len(wanted) == 0 || i == len(s.Writes)-1 {
			continue
		}
		e, err := l.await(ctx, from, patience, s.Answers, func(e wire.Entry) bool {
			b.take(e)
			b.stillOpen(wanted)
			return b.settled(wanted)
		})
		if err != nil {
			return l.Len()
		}
		from = e.Index + 1
	}
	return from
}

// The longest and the shortest time that the rest of what is said to a script is
// waited for, once it was given all that is due, and how many times as long as any
// answer took.
const (
	restAtMost  = 300 * time.Millisecond
	restAtLeast = 30 * time.Millisecond
	restFactor  = 10
)

// settle waits at most so long for what is not due but may come all the same, each
// POST on its own stream, so that it is not met by the next script, and returns
// from which frame on the peer was not listened to. Without a book it waits until
// the session is over.
func (l *line) settle(ctx context.Context, from int, within time.Duration, answers []Answer, b *book) int {
	if b != nil && b.quiet() {
		return from
	}
	_, _ = l.await(ctx, from, within, answers, func(e wire.Entry) bool {
		from = e.Index + 1
		if b != nil {
			b.take(e)
		}
		return b != nil && b.quiet()
	})
	return from
}

// rest is how long the rest of what is said to a script is waited for.
func (p *player) rest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(restAtMost, max(restAtLeast, restFactor*p.slowest))
}

// oneStream tells whether all that the peer says comes on one stream.
func (p *player) oneStream() bool { return transport.KindOf(p.target) != transport.HTTP }

// quiet tells whether nothing more is to come in answer to the POSTs of a script.
func (b *book) quiet() bool { return len(b.speaking) == 0 }

// settled tells whether no answer to any of the requests will come any more.
func (b *book) settled(wanted map[string]string) bool {
	for key := range wanted {
		if b.lost[key] == "" {
			return false
		}
	}
	return true
}

// placed tells whether an error that names no request is known to be meant for
// those of one POST: over streamable HTTP by the exchange in which it came.
func (b *book) placed(e wire.Entry) bool {
	if e.HTTP == nil {
		return false
	}
	p, ok := b.posts[e.HTTP.Exchange]
	for key := range p.keys {
		delete(b.open, key)
		delete(b.lost, key)
	}
	return ok
}

// takeHTTP notes what HTTP itself says of the requests in a POST: a failure status
// answers them, the end of the exchange tells that nothing will.
func (b *book) takeHTTP(e wire.Entry) {
	p, ok := b.posts[e.HTTP.Exchange]
	if !ok {
		return
	}
	if x := e.HTTP; x.End != "" || x.Status != 0 && !x.Streams() {
		delete(b.speaking, x.Exchange)
	}
	why := b.l.Unanswered(p.frame, e.Frame)
	if why == nil {
		return
	}
	for key := range p.keys {
		if _, open := b.open[key]; !open {
			continue
		}
		if refusal := refusalOf(why); refusal != nil && refusal.Status >= http.StatusBadRequest {
			delete(b.open, key)
			delete(b.lost, key)
		} else {
			b.lost[key] = why.Error()
		}
	}
}

func refusalOf(err error) (r *session.Refusal) {
	errors.As(err, &r)
	return r
}

// askAgain is how often a closing question is asked again whose connection broke
// off.
const askAgain = 2

// errBrokeOff tells that an exchange came to its end without any answer.
var errBrokeOff = errors.New("a connection that broke off")

// closingRefused tells what a frame means for the closing question where that was
// refused, by a status alone or by an error that names no request. Without a
// session it may be, and of a server that limits the rate of requests it says
// nothing; otherwise it was served before, and is not any more.
func closingRefused(s Script, why error, e wire.Entry, sent wire.Frame) (answered bool, refused error) {
	status := 0
	switch r := refusalOf(why); {
	case r != nil:
		status = r.Status
	case why != nil:
		return false, fmt.Errorf("%w: %w", errBrokeOff, why)
	case !e.Wordless() && anonymous(e.Message) && e.HTTP.Exchange == sent.HTTP.Exchange:
		status, why = e.HTTP.Status, errors.New(e.Message.Summary())
	default:
		return false, nil
	}
	if len(s.Opening) == 0 || status == http.StatusTooManyRequests {
		return true, nil
	}
	return false, why
}
