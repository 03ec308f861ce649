package fuzz

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// livenessRetries is how often a liveness request is repeated whose exchange
// ended without an answer.
const livenessRetries = 2

// errNoAnswer says that an exchange ended without an answer.
var errNoAnswer = errors.New("the exchange ended without an answer")

// checkLiveness sends the liveness request, which a peer answers at any time, and
// records whether the peer is alive and gave the required answers.
func (r *scriptRun) checkLiveness(ctx context.Context, out *execution) {
	c := r.conn
	started := time.Now()
	answered, refused, err := r.requestLiveness(ctx)
	for range livenessRetries {
		if !errors.Is(refused, errNoAnswer) || c.ConnectionError() != nil {
			break
		}
		// The peer is about to end, or it closed an idle connection that the
		// request was sent on.
		r.awaitEnd(ctx, maxSettle)
		answered, refused, err = r.requestLiveness(ctx)
	}
	switch {
	case !r.script.overHTTP || err != nil:
	case refused != nil: // the session may be about to end
		r.awaitEnd(ctx, maxSettle)
	default:
		r.settle(ctx, c.executor.settleTime())
	}
	out.transcript = c.Excerpt(len(c.opening), out.from)
	out.frames = out.transcript.Frames(0)
	out.served = r.tracker.served
	if err == nil && refused == nil {
		c.executor.recordAnswerTime(time.Since(started))
	}
	r.setState(out, answered, refused, err)
}

// setState concludes the state of the peer from the answer to the liveness
// request.
func (r *scriptRun) setState(out *execution, answered bool, refused, err error) {
	c := r.conn
	method := r.script.rev.Facts().BarrierMethod
	over := c.ConnectionError()
	switch {
	case over != nil:
		out.state, out.why, out.stderr = session.Dead, over.Error(), c.Stderr()
		if e := c.Ending(); e != nil {
			out.ended = e.Reason
		}
	case refused != nil:
		out.state, out.why = session.OutOfSync, fmt.Sprintf("%s was refused: %v", method, refused)
	case !answered:
		out.state, out.why = session.OutOfSync, fmt.Sprintf("no answer to %s within %s", method, r.timeout)
	case err == nil && len(r.tracker.unanswerable) == 0 || c.sentOddAnswer || c.answerWasRateLimited():
		// A peer whose own request got a mutated answer, or none, may still
		// await a valid one before it answers.
		out.state = session.Alive
	default:
		out.state = session.Mute
		out.why, out.anomaly = r.tracker.describeUnanswered(r.timeout)
	}
}

// requestLiveness sends one liveness request, and awaits its answer and the
// required answers that are missing. refused says why HTTP alone answered the
// request; err says that no answer arrived.
func (r *scriptRun) requestLiveness(ctx context.Context) (answered bool, refused, err error) {
	c := r.conn
	c.livenessRequests++
	id := wire.StringID(fmt.Sprintf("%s%d", livenessIDPrefix, c.livenessRequests))
	at, err := c.Send(ctx, livenessRequest(r.script.rev, id))
	if err != nil {
		if r.script.overHTTP && ctx.Err() == nil {
			return false, fmt.Errorf("%w: %w", errNoAnswer, err), nil
		}
		return false, nil, err
	}
	sent := c.Frames(at)[0]
	_, err = c.await(ctx, r.next, r.timeout, r.answers, func(e wire.Entry) bool {
		if e.Message.IsResponse() && e.Message.ID().Equal(id) {
			answered = true
		}
		if r.script.overHTTP && !answered && refused == nil {
			answered, refused = r.refusesLiveness(c.UnansweredReason(sent, e.Frame), e, sent)
		}
		r.tracker.observe(e)
		r.next = e.Index + 1
		return refused != nil || answered && (c.sentOddAnswer || !r.tracker.isPending())
	})
	return answered, refused, err
}

const livenessIDPrefix = "alive-"

// livenessRequest returns the request of a revision that any peer answers at any
// time.
func livenessRequest(rev spec.Revision, id wire.ID) []byte {
	var params session.Params
	if rev.Facts().Stateless {
		params = session.Params{"_meta": session.RequestMeta(rev, nil)}
	}
	return wire.EncodeCall(id, rev.Facts().BarrierMethod, params)
}

// refusesLiveness reports what a frame over HTTP means for the liveness request
// that was sent: why says that no message will answer it, and the frame may be
// an error without an id. Such a refusal counts as an answer if the session was
// not opened, or if the server limits the rate of requests. Otherwise the server
// refuses what it served before.
func (r *scriptRun) refusesLiveness(why error, e wire.Entry, sent wire.Frame) (answered bool, refused error) {
	status := 0
	switch refusal := refusalOf(why); {
	case refusal != nil:
		status = refusal.Status
	case why != nil:
		return false, fmt.Errorf("%w: %w", errNoAnswer, why)
	case !e.IsTransportOnly() && isAnonymousError(e.Message) && e.HTTP.Exchange == sent.HTTP.Exchange:
		status, why = e.HTTP.Status, errors.New(e.Message.Summary())
	default:
		return false, nil
	}
	if len(r.script.opening) == 0 || status == http.StatusTooManyRequests {
		return true, nil
	}
	return false, why
}

func refusalOf(err error) (r *session.HTTPStatusError) {
	errors.As(err, &r)
	return r
}
