package fuzz

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A player starts instances of a target and plays scripts on them.
type executor struct {
	target transport.Target
	options   session.Options
	maxTimeout   time.Duration // for an answer that is due, at most
	minTimeout  time.Duration // and at least, where the peer is known to be quick

	mu      sync.Mutex
	starts  int
	slowestAnswer time.Duration // the longest that answers were waited for and came
	ending sync.WaitGroup
	endingSlots   chan struct{}
	server *sharedServer
}

func newExecutor(target transport.Target, opts session.Options, wait time.Duration) *executor {
	// A session that is well is used for many plans.
	opts.MaxFrames = max(opts.MaxFrames, 100_000)
	return &executor{target: target, options: opts, maxTimeout: wait, endingSlots: make(chan struct{}, 8), server: newSharedServer(target, opts, nil)}
}

// A line is one open connection that scripts are played on, one after another.
type connection struct {
	*session.Conn
	executor       *executor
	rev     spec.Revision
	opening []wire.Frame // everything said until it was open, by both sides
	usedIDs    map[string]bool
	plans   int
	sentOddAnswer  bool     // the peer was given an odd answer in the script that is played
	answerFrames []int    // where our answers in that script are
	generation     int      // of the grounds, when it was opened
	livenessRequests   int      // closing questions so far
	history []script // what was played on it
}

// A Played is what came of playing a script.
type execution struct {
	frames []wire.Frame // the opening and then what was said, up to the answer to the closing question
	state  session.Liveness
	why    string   // how it died, or what was not answered
	anomaly    string   // what is odd about the request that was not answered
	ended  string   // how the peer ended, if it did
	stderr string   // the end of its standard error, if it died
	sent   []string // methods of the readable requests and notifications of the script
	served []string // methods of those that were answered with a result
	from   int      // where in the transcript of the connection the script begins

	transcript *wire.Transcript // of Frames
}

// open starts an instance and speaks the opening of a script on it. It is an
// error if the peer does not open, which is for the caller to judge.
func (p *executor) open(ctx context.Context, s script) (*connection, error) {
	age, opening := p.server.beginOpening(p)
	l, err := p.openWithin(ctx, s, opening)
	if err != nil && ctx.Err() == nil && p.server.restart(ctx, age) {
		l, err = p.openWithin(ctx, s, p.openTimeout())
	}
	return l, err
}

func (p *executor) openWithin(ctx context.Context, s script, within time.Duration) (*connection, error) {
	p.mu.Lock()
	p.starts++
	p.mu.Unlock()
	age := p.server.currentGeneration()
	conn, err := session.NewLauncher(p.target, p.options).Take(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.target, err)
	}
	conn.Speak(s.rev)
	l := &connection{Conn: conn, executor: p, rev: s.rev, usedIDs: map[string]bool{}, generation: age}
	for _, f := range s.opening {
		m := f.Message()
		at, err := l.Send(ctx, f.Raw)
		if err == nil && m.Kind == wire.Request {
			_, err = l.answerTo(ctx, at, m.ID(), within, s.answers)
		}
		if err != nil {
			l.end(false)
			return nil, fmt.Errorf("open a session at %s: no answer to %s: %w", s.rev, m.Method(), err)
		}
	}
	l.opening = l.Frames(0)
	return l, nil
}

// opening is how long the answer to an opening is waited for: one that is
// started may take its time, a server that serves already may not.
func (p *executor) openTimeout() time.Duration {
	if p.server.isShared {
		return max(p.server.openTimeout, p.options.Timeout)
	}
	return p.options.StartTimeout
}

// answerTo waits for the answer to a request that was sent at an index.
func (l *connection) answerTo(ctx context.Context, at int, id wire.ID, within time.Duration, answers []answer) (wire.Entry, error) {
	if l.executor.server.isShared { // HTTP alone may refuse it
		return l.AwaitAnswer(ctx, at, id, within)
	}
	return l.await(ctx, at, within, answers, func(e wire.Entry) bool { return e.Message.IsResponse() && e.Message.ID().Equal(id) })
}

// drop ends the connection in the background: politely, or at once.
func (l *connection) end(now bool) {
	p := l.executor
	p.ending.Add(1)
	p.endingSlots <- struct{}{}
	end := func() {
		defer p.ending.Done()
		defer func() { <-p.endingSlots }()
		if now {
			l.Kill()
			return
		}
		l.Close()
	}
	if p.options.Serial {
		end()
		return
	}
	go end()
}

// started returns how often the target was started.
func (p *executor) startCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// close waits until every connection that was dropped has ended.
func (p *executor) close() { p.ending.Wait() }

// await waits for a frame of the server that is as wished, answering its requests
// meanwhile. Of a batch each message is shown; what belongs to HTTP alone is
// shown too, without a message.
func (l *connection) await(ctx context.Context, from int, within time.Duration, answers []answer, match func(wire.Entry) bool) (wire.Entry, error) {
	return l.Watch(ctx, from, within, func(e wire.Entry) (found bool) {
		if e.Wordless() {
			return match(e)
		}
		for _, part := range e.Message.Elements() {
			if part.Kind == wire.Request {
				l.answerRequest(ctx, part, answers)
			}
			one := e
			one.Message = part
			if match(one) {
				found = true
			}
		}
		return found
	})
}

// answer answers a request of the server. In the stateless era a server sends
// none; one that does is judged, not answered.
func (l *connection) answerRequest(ctx context.Context, ask wire.Message, answers []answer) {
	if l.rev.Facts().Stateless || !ask.ID().Usable() {
		return
	}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"this client does not offer the method"}}`, ask.ID().Raw)
	for i, a := range answers {
		if a.method != ask.Method() {
			continue
		}
		raw = withID(a.raw, ask.ID())
		for _, later := range answers[i+1:] {
			if later.method == a.method {
				answers[i].method = "" // used up
				l.sentOddAnswer = true
				break
			}
		}
		break
	}
	// A peer that does not read loses the answer; its liveness is asked next.
	if at, _ := l.Send(ctx, []byte(raw)); at >= 0 {
		l.answerFrames = append(l.answerFrames, at)
	}
}

// turnedAway tells whether an answer of ours was refused for the rate of what was
// sent: who asked goes on waiting for it.
func (l *connection) answerWasRateLimited() bool {
	return slices.ContainsFunc(l.answerFrames, func(at int) bool {
		r := l.Refused(at)
		return r != nil && r.Status == http.StatusTooManyRequests
	})
}

// withID puts the id of a request into an answer that has one.
func withID(raw string, id wire.ID) string {
	own := gjson.Get(raw, "id")
	if !own.Exists() || own.Index == 0 {
		return raw
	}
	return raw[:own.Index] + id.Raw + raw[own.Index+len(own.Raw):]
}

// play sends a script, asks whether the peer lives, and waits for the answers
// that are due.
func (l *connection) execute(ctx context.Context, s script) (out execution) {
	s.answers = append([]answer(nil), s.answers...)
	l.plans++
	l.history = append(l.history, s)
	l.sentOddAnswer, l.answerFrames = false, nil
	logged := l.executor.server.stderrSoFar()
	out.from = l.Len()
	b := l.newTracker(s)
	out.sent = b.sent
	patience := l.executor.answerTimeout()
	from := out.from
	switch {
	case s.overHTTP:
		from = l.postFrames(ctx, s, b, patience)
		from = l.settle(ctx, from, l.executor.settleTime(), s.answers, b) // else the closing question may overtake what it asks after
	case s.paced:
		from = l.writePaced(ctx, s, b, patience)
	default:
		// A write that fails tells of an end that the closing question meets too.
		_, _ = l.SendPaused(ctx, func(int) { l.Drain(ctx) }, s.writes...)
	}
	l.checkLiveness(ctx, s, &out, from, patience, b)
	if out.state == session.Dead {
		l.executor.server.describeEnd(&out, logged)
	}
	if out.state == session.Dead || out.state == session.Desync {
		l.executor.server.markSuspect()
	}
	return out
}

// pace writes a script one write at a time and returns from which frame on the
// peer was not listened to.
func (l *connection) writePaced(ctx context.Context, s script, b *answerTracker, patience time.Duration) (from int) {
	from = l.Len()
	for i, w := range s.writes {
		if _, err := l.SendChunks(ctx, w); err != nil {
			break
		}
		wanted := requiredAnswers(script{writes: [][]byte{w}}.messages(), b.facts)
		last := i == len(s.writes)-1
		b.removeAnswered(wanted)
		if len(wanted) == 0 || last {
			continue
		}
		// From the last frame looked at on: an answer to an earlier line may
		// have come since, behind an error that named no request.
		e, err := l.await(ctx, from, patience, s.answers, func(e wire.Entry) bool {
			b.observe(e)
			delete(wanted, e.Message.ID().Key())
			return len(wanted) == 0 || isAnonymousError(e.Message)
		})
		if err != nil {
			return l.Len()
		}
		from = e.Index + 1
	}
	return from
}

// ask sends the closing question: a request that any peer answers at any time.
// The peer lives if anything answers it.
func (l *connection) checkLiveness(ctx context.Context, s script, out *execution, from int, patience time.Duration, b *answerTracker) {
	began := time.Now()
	answered, refused, err := l.sendLivenessRequest(ctx, s, &from, patience, b)
	for range livenessRetries {
		if !errors.Is(refused, errNoAnswer) || l.Over() != nil {
			break
		}
		// It may be about to end, or have closed the connection that we happened
		// to take.
		from = l.settle(ctx, from, maxSettle, s.answers, nil)
		answered, refused, err = l.sendLivenessRequest(ctx, s, &from, patience, b)
	}
	switch {
	case !s.overHTTP || err != nil:
	case refused != nil: // which the news that the session is over may explain
		l.settle(ctx, from, maxSettle, s.answers, nil)
	default:
		l.settle(ctx, from, l.executor.settleTime(), s.answers, b)
	}
	out.transcript = l.Part(len(l.opening), out.from)
	out.frames = out.transcript.Frames(0)
	out.served = b.served
	if err == nil && refused == nil {
		l.executor.noteAnswerTime(time.Since(began))
	}
	over := l.Over()
	switch {
	case over != nil:
		out.state, out.why, out.stderr = session.Dead, over.Error(), l.Stderr()
		if e := l.Ending(); e != nil {
			out.ended = e.What
		}
	case refused != nil:
		out.state, out.why = session.Desync, fmt.Sprintf("%s was answered with %v", s.rev.Facts().Barrier, refused)
	case !answered:
		out.state, out.why = session.Desync, fmt.Sprintf("no answer to %s within %s", s.rev.Facts().Barrier, patience)
	case err == nil && len(b.unanswerable) == 0 || l.sentOddAnswer || l.answerWasRateLimited():
		// Who was given an odd answer, or none, may go on waiting for a good one.
		out.state = session.Alive
	default:
		out.state = session.Mute
		out.why, out.anomaly = b.describeUnanswered(patience)
	}
}

// question sends a closing question, and waits for its answer and for those that are
// due. refused tells why HTTP alone answered it, the error that nothing came. from
// is the frame from which on the peer is listened to, and moves on.
func (l *connection) sendLivenessRequest(ctx context.Context, s script, from *int, patience time.Duration, b *answerTracker) (answered bool, refused, err error) {
	l.livenessRequests++
	id := wire.StringID(fmt.Sprintf("alive-%d", l.livenessRequests))
	at, err := l.Send(ctx, livenessRequest(s.rev, id))
	if err != nil {
		if s.overHTTP && ctx.Err() == nil {
			return false, fmt.Errorf("%w: %w", errNoAnswer, err), nil
		}
		return false, nil, err
	}
	sent := l.Frames(at)[0]
	_, err = l.await(ctx, *from, patience, s.answers, func(e wire.Entry) bool {
		if e.Message.IsResponse() && e.Message.ID().Equal(id) {
			answered = true
		}
		if s.overHTTP && !answered && refused == nil {
			answered, refused = livenessRefused(s, l.Unanswered(sent, e.Frame), e, sent)
		}
		b.observe(e)
		*from = e.Index + 1
		return refused != nil || answered && (l.sentOddAnswer || !b.isPending())
	})
	return answered, refused, err
}

// closing returns the closing question.
func livenessRequest(rev spec.Revision, id wire.ID) []byte {
	var params session.Params
	if rev.Facts().Stateless {
		params = session.Params{"_meta": session.Meta(rev, nil)}
	}
	return session.Frame(id, rev.Facts().Barrier, params)
}

// patience is how long an answer is waited for now: many times as long as any
// took so far. A player that was given no least time always waits in full.
func (p *executor) answerTimeout() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.minTimeout == 0 {
		return p.maxTimeout
	}
	return min(p.maxTimeout, max(p.minTimeout, 30*p.slowestAnswer))
}

// slower doubles the patience, up to a limit: the peer was taken for mute while
// it was at work.
func (p *executor) doubleTimeout(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.maxTimeout = min(2*p.maxTimeout, limit)
	p.minTimeout = min(2*p.minTimeout, p.maxTimeout)
}

func (p *executor) noteAnswerTime(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowestAnswer = max(p.slowestAnswer, took)
}

// clashes tells whether a script uses an id that the connection has seen.
func (l *connection) reusesID(lines []wire.Message) bool {
	for _, whole := range lines {
		for _, m := range whole.Elements() {
			if id := m.ID(); id.Usable() && l.usedIDs[id.Key()] {
				return true
			}
		}
	}
	return false
}
