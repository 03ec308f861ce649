package fuzz

import (
	"context"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An execution is what was recorded while a script was executed.
type execution struct {
	frames  []wire.Frame // the opening, and what followed up to the answer to the liveness request
	state   session.Liveness
	why     string   // how the peer ended, or what it did not answer
	anomaly string   // of the request that was not answered
	ended   string   // how the peer ended, if it did
	stderr  string   // the end of its standard error, if it ended
	sent    []string // methods of the readable requests and notifications of the script
	served  []string // methods of the requests that were answered with a result
	from    int      // index in the transcript of the session at which the script begins

	transcript *wire.Transcript // of frames
}

// A scriptRun is the state of one execution.
type scriptRun struct {
	conn    *connection
	script  script
	answers []answer // to requests of the server that are left
	tracker *answerTracker
	timeout time.Duration // of one answer
	next    int           // index of the first frame that was not examined yet
}

// execute sends a script, awaits the answers that the peer must give, and checks
// whether it still answers.
func (c *connection) execute(ctx context.Context, s script) (out execution) {
	c.plans++
	c.history = append(c.history, s)
	c.sentOddAnswer, c.answerFrames = false, nil
	stderrBefore := c.executor.server.stderrSoFar()
	r := &scriptRun{
		conn: c, script: s, answers: append([]answer(nil), s.answers...), tracker: newAnswerTracker(c, s),
		timeout: c.executor.answerTimeout(), next: c.Len(),
	}
	out.from, out.sent = r.next, r.tracker.sent
	switch {
	case s.overHTTP:
		r.post(ctx)
		r.settle(ctx, c.executor.settleTime()) // otherwise the liveness request may overtake the script
	case s.paced:
		r.writePaced(ctx)
	default:
		// If a write fails, the liveness request fails too.
		_, _ = c.SendChunksWithPause(ctx, func(int) { c.Drain(ctx) }, s.writes...)
	}
	r.checkLiveness(ctx, &out)
	if out.state == session.Dead {
		c.executor.server.describeEnd(&out, stderrBefore)
	}
	if out.state == session.Dead || out.state == session.OutOfSync {
		c.executor.server.markSuspect()
	}
	return out
}

// await awaits a frame from the next one on, and moves on behind it. If none is
// as match says, it moves on behind all frames so far.
func (r *scriptRun) await(ctx context.Context, match func(wire.Entry) bool) error {
	e, err := r.conn.await(ctx, r.next, r.timeout, r.answers, match)
	if err != nil {
		r.next = r.conn.Len()
		return err
	}
	r.next = e.Index + 1
	return nil
}

// writePaced writes a script to a stream, and awaits the required answers to each
// write before the next one.
func (r *scriptRun) writePaced(ctx context.Context) {
	for i, w := range r.script.writes {
		if _, err := r.conn.SendChunks(ctx, w); err != nil {
			return
		}
		wanted := requiredAnswers(script{writes: [][]byte{w}}.messages(), r.tracker.facts)
		r.tracker.removeAnswered(wanted)
		if len(wanted) == 0 || i == len(r.script.writes)-1 {
			continue
		}
		// r.next may be before this write: an answer to an earlier line may
		// follow an error without an id, at which waiting stops.
		err := r.await(ctx, func(e wire.Entry) bool {
			r.tracker.observe(e)
			delete(wanted, e.Message.ID().Key())
			return len(wanted) == 0 || isAnonymousError(e.Message)
		})
		if err != nil {
			return
		}
	}
}
