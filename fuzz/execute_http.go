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
func (l *connection) postFrames(ctx context.Context, s script, b *answerTracker, patience time.Duration) (from int) {
	from = l.Len()
	for i, w := range s.writes {
		wanted := requiredAnswers([]wire.Message{wire.Parse(w)}, b.facts)
		b.removeAnswered(wanted)
		at, err := l.Send(ctx, w)
		if at >= 0 {
			if frame := l.Frames(at)[0]; frame.HTTP != nil {
				b.posts[frame.HTTP.Exchange] = postedFrame{frame, wanted}
				if !l.executor.sharesOneStream() && !bytes.Contains(w, []byte("subscriptions/listen")) { // which stays open
					b.openExchanges[frame.HTTP.Exchange] = true
				}
			}
		}
		if err != nil && l.Over() != nil {
			break
		}
		if !s.paced || len(wanted) == 0 || i == len(s.writes)-1 {
			continue
		}
		e, err := l.await(ctx, from, patience, s.answers, func(e wire.Entry) bool {
			b.observe(e)
			b.removeAnswered(wanted)
			return b.allUnanswerable(wanted)
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
	maxSettle  = 300 * time.Millisecond
	minSettle = 30 * time.Millisecond
	settleFactor  = 10
)

// settle waits at most so long for what is not due but may come all the same, each
// POST on its own stream, so that it is not met by the next script, and returns
// from which frame on the peer was not listened to. Without a book it waits until
// the session is over.
func (l *connection) settle(ctx context.Context, from int, within time.Duration, answers []answer, b *answerTracker) int {
	if b != nil && b.isQuiet() {
		return from
	}
	_, _ = l.await(ctx, from, within, answers, func(e wire.Entry) bool {
		from = e.Index + 1
		if b != nil {
			b.observe(e)
		}
		return b != nil && b.isQuiet()
	})
	return from
}

// rest is how long the rest of what is said to a script is waited for.
func (p *executor) settleTime() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(maxSettle, max(minSettle, settleFactor*p.slowestAnswer))
}

// oneStream tells whether all that the peer says comes on one stream.
func (p *executor) sharesOneStream() bool { return transport.KindOf(p.target) != transport.HTTP }

// quiet tells whether nothing more is to come in answer to the POSTs of a script.
func (b *answerTracker) isQuiet() bool { return len(b.openExchanges) == 0 }

// settled tells whether no answer to any of the requests will come any more.
func (b *answerTracker) allUnanswerable(wanted map[string]string) bool {
	for key := range wanted {
		if b.unanswerable[key] == "" {
			return false
		}
	}
	return true
}

// placed tells whether an error that names no request is known to be meant for
// those of one POST: over streamable HTTP by the exchange in which it came.
func (b *answerTracker) answersPost(e wire.Entry) bool {
	if e.HTTP == nil {
		return false
	}
	p, ok := b.posts[e.HTTP.Exchange]
	for key := range p.keys {
		delete(b.unanswered, key)
		delete(b.unanswerable, key)
	}
	return ok
}

// takeHTTP notes what HTTP itself says of the requests in a POST: a failure status
// answers them, the end of the exchange tells that nothing will.
func (b *answerTracker) observeHTTP(e wire.Entry) {
	p, ok := b.posts[e.HTTP.Exchange]
	if !ok {
		return
	}
	if x := e.HTTP; x.End != "" || x.Status != 0 && !x.Streams() {
		delete(b.openExchanges, x.Exchange)
	}
	why := b.conn.Unanswered(p.frame, e.Frame)
	if why == nil {
		return
	}
	for key := range p.keys {
		if _, open := b.unanswered[key]; !open {
			continue
		}
		if refusal := refusalOf(why); refusal != nil && refusal.Status >= http.StatusBadRequest {
			delete(b.unanswered, key)
			delete(b.unanswerable, key)
		} else {
			b.unanswerable[key] = why.Error()
		}
	}
}

func refusalOf(err error) (r *session.Refusal) {
	errors.As(err, &r)
	return r
}

// askAgain is how often a closing question is asked again whose connection broke
// off.
const livenessRetries = 2

// errBrokeOff tells that an exchange came to its end without any answer.
var errNoAnswer = errors.New("a connection that broke off")

// closingRefused tells what a frame means for the closing question where that was
// refused, by a status alone or by an error that names no request. Without a
// session it may be, and of a server that limits the rate of requests it says
// nothing; otherwise it was served before, and is not any more.
func livenessRefused(s script, why error, e wire.Entry, sent wire.Frame) (answered bool, refused error) {
	status := 0
	switch r := refusalOf(why); {
	case r != nil:
		status = r.Status
	case why != nil:
		return false, fmt.Errorf("%w: %w", errNoAnswer, why)
	case !e.Wordless() && isAnonymousError(e.Message) && e.HTTP.Exchange == sent.HTTP.Exchange:
		status, why = e.HTTP.Status, errors.New(e.Message.Summary())
	default:
		return false, nil
	}
	if len(s.opening) == 0 || status == http.StatusTooManyRequests {
		return true, nil
	}
	return false, why
}
