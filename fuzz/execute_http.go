package fuzz

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Over HTTP each frame of a script is a POST. POSTs that are sent at once may
// arrive in any order, so that the order of the answers shows nothing. A status
// alone may answer a request. A stream that ends without an answer shows that
// none will follow.

// post posts the frames of a script. If the script is paced, it awaits the
// required answers to each frame before the next one.
func (r *scriptRun) post(ctx context.Context) {
	for i, w := range r.script.writes {
		wanted := requiredAnswers([]wire.Message{wire.Parse(w)}, r.tracker.facts)
		r.tracker.removeAnswered(wanted)
		at, err := r.conn.Send(ctx, w)
		if at >= 0 {
			r.trackPost(r.conn.Frames(at)[0], wanted)
		}
		if err != nil && r.conn.ConnectionError() != nil {
			return
		}
		if !r.script.paced || len(wanted) == 0 || i == len(r.script.writes)-1 {
			continue
		}
		err = r.await(ctx, func(e wire.Entry) bool {
			r.tracker.observe(e)
			r.tracker.removeAnswered(wanted)
			return r.tracker.allUnanswerable(wanted)
		})
		if err != nil {
			return
		}
	}
}

// trackPost records a frame that was posted and the answers that it requires.
func (r *scriptRun) trackPost(frame wire.Frame, wanted map[string]string) {
	if frame.HTTP == nil {
		return
	}
	r.tracker.posts[frame.HTTP.Exchange] = postedFrame{frame, wanted}
	staysOpen := bytes.Contains(frame.Raw, []byte("subscriptions/listen"))
	if !r.conn.executor.usesOneStream() && !staysOpen {
		r.tracker.openExchanges[frame.HTTP.Exchange] = true
	}
}

// After the required answers, the messages that may still follow are awaited for
// settleFactor times as long as the slowest answer took, between minSettle and
// maxSettle.
const (
	maxSettle    = 300 * time.Millisecond
	minSettle    = 30 * time.Millisecond
	settleFactor = 10
)

// settle waits until all exchanges of the script have ended, so that their
// messages do not arrive during the next script.
func (r *scriptRun) settle(ctx context.Context, within time.Duration) {
	if len(r.tracker.openExchanges) == 0 {
		return
	}
	_, _ = r.conn.await(ctx, r.next, within, r.answers, func(e wire.Entry) bool {
		r.next = e.Index + 1
		r.tracker.observe(e)
		return len(r.tracker.openExchanges) == 0
	})
}

// awaitEnd waits until the session is over, for a time at most.
func (r *scriptRun) awaitEnd(ctx context.Context, within time.Duration) {
	_, _ = r.conn.await(ctx, r.next, within, r.answers, func(e wire.Entry) bool {
		r.next = e.Index + 1
		return false
	})
}

// settleTime returns how long messages that may still follow are awaited.
func (x *executor) settleTime() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return min(maxSettle, max(minSettle, settleFactor*x.slowestAnswer))
}

// usesOneStream reports whether all messages of the peer arrive on one stream.
func (x *executor) usesOneStream() bool { return x.target.Transport() != transport.HTTP }

// allUnanswerable reports whether no answer to any of the requests will follow.
func (t *answerTracker) allUnanswerable(wanted map[string]string) bool {
	for key := range wanted {
		if t.unanswerable[key] == "" {
			return false
		}
	}
	return true
}

// answersPost reports whether an error without an id is in the exchange of a POST
// of the script. It then answers all requests of that POST.
func (t *answerTracker) answersPost(e wire.Entry) bool {
	if e.HTTP == nil {
		return false
	}
	p, ok := t.posts[e.HTTP.Exchange]
	for key := range p.required {
		delete(t.unanswered, key)
		delete(t.unanswerable, key)
	}
	return ok
}

// observeHTTP records what a frame shows of the requests of a POST beside its
// message: a failure status answers them, and the end of the exchange means that
// nothing will.
func (t *answerTracker) observeHTTP(e wire.Entry) {
	p, ok := t.posts[e.HTTP.Exchange]
	if !ok {
		return
	}
	if e.HTTP.EndsExchange() {
		delete(t.openExchanges, e.HTTP.Exchange)
	}
	why := t.conn.UnansweredReason(p.frame, e.Frame)
	if why == nil {
		return
	}
	for key := range p.required {
		if _, isOpen := t.unanswered[key]; !isOpen {
			continue
		}
		if refusal := refusalOf(why); refusal != nil && refusal.Status >= http.StatusBadRequest {
			delete(t.unanswered, key)
			delete(t.unanswerable, key)
		} else {
			t.unanswerable[key] = why.Error()
		}
	}
}
