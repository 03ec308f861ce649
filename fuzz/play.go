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
type player struct {
	target transport.Target
	opts   session.Options
	wait   time.Duration // for an answer that is due, at most
	least  time.Duration // and at least, where the peer is known to be quick

	mu      sync.Mutex
	starts  int
	slowest time.Duration // the longest that answers were waited for and came
	closing sync.WaitGroup
	slots   chan struct{}
	grounds *grounds
}

func newPlayer(target transport.Target, opts session.Options, wait time.Duration) *player {
	// A session that is well is used for many plans.
	opts.MaxFrames = max(opts.MaxFrames, 100_000)
	return &player{target: target, opts: opts, wait: wait, slots: make(chan struct{}, 8), grounds: newGrounds(target, opts, nil)}
}

// A line is one open connection that scripts are played on, one after another.
type line struct {
	*session.Conn
	p       *player
	rev     spec.Revision
	opening []wire.Frame // everything said until it was open, by both sides
	used    map[string]bool
	plans   int
	misled  bool     // the peer was given an odd answer in the script that is played
	answers []int    // where our answers in that script are
	age     int      // of the grounds, when it was opened
	asked   int      // closing questions so far
	history []Script // what was played on it
}

// A Played is what came of playing a script.
type Played struct {
	Frames []wire.Frame // the opening and then what was said, up to the answer to the closing question
	State  session.Liveness
	Why    string   // how it died, or what was not answered
	Odd    string   // what is odd about the request that was not answered
	Ended  string   // how the peer ended, if it did
	Stderr string   // the end of its standard error, if it died
	Sent   []string // methods of the readable requests and notifications of the script
	Served []string // methods of those that were answered with a result
	From   int      // where in the transcript of the connection the script begins

	said *wire.Transcript // of Frames
}

// open starts an instance and speaks the opening of a script on it. It is an
// error if the peer does not open, which is for the caller to judge.
func (p *player) open(ctx context.Context, s Script) (*line, error) {
	age, opening := p.grounds.before(p)
	l, err := p.openWithin(ctx, s, opening)
	if err != nil && ctx.Err() == nil && p.grounds.renew(ctx, age) {
		l, err = p.openWithin(ctx, s, p.opening())
	}
	return l, err
}

func (p *player) openWithin(ctx context.Context, s Script, within time.Duration) (*line, error) {
	p.mu.Lock()
	p.starts++
	p.mu.Unlock()
	age := p.grounds.now()
	conn, err := session.NewLauncher(p.target, p.opts).Take(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.target, err)
	}
	conn.Speak(s.Rev)
	l := &line{Conn: conn, p: p, rev: s.Rev, used: map[string]bool{}, age: age}
	for _, f := range s.Opening {
		m := f.Message()
		at, err := l.Send(ctx, f.Raw)
		if err == nil && m.Kind == wire.Request {
			_, err = l.answerTo(ctx, at, m.ID(), within, s.Answers)
		}
		if err != nil {
			l.drop(false)
			return nil, fmt.Errorf("open a session at %s: no answer to %s: %w", s.Rev, m.Method(), err)
		}
	}
	l.opening = l.Frames(0)
	return l, nil
}

// opening is how long the answer to an opening is waited for: one that is
// started may take its time, a server that serves already may not.
func (p *player) opening() time.Duration {
	if p.grounds.shared {
		return max(p.grounds.opening, p.opts.Timeout)
	}
	return p.opts.StartTimeout
}

// answerTo waits for the answer to a request that was sent at an index.
func (l *line) answerTo(ctx context.Context, at int, id wire.ID, within time.Duration, answers []Answer) (wire.Entry, error) {
	if l.p.grounds.shared { // HTTP alone may refuse it
		return l.AwaitAnswer(ctx, at, id, within)
	}
	return l.await(ctx, at, within, answers, func(e wire.Entry) bool { return e.Message.IsResponse() && e.Message.ID().Equal(id) })
}

// drop ends the connection in the background: politely, or at once.
func (l *line) drop(now bool) {
	p := l.p
	p.closing.Add(1)
	p.slots <- struct{}{}
	end := func() {
		defer p.closing.Done()
		defer func() { <-p.slots }()
		if now {
			l.Kill()
			return
		}
		l.Close()
	}
	if p.opts.Serial {
		end()
		return
	}
	go end()
}

// started returns how often the target was started.
func (p *player) started() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// close waits until every connection that was dropped has ended.
func (p *player) close() { p.closing.Wait() }

// await waits for a frame of the server that is as wished, answering its requests
// meanwhile. Of a batch each message is shown; what belongs to HTTP alone is
// shown too, without a message.
func (l *line) await(ctx context.Context, from int, within time.Duration, answers []Answer, match func(wire.Entry) bool) (wire.Entry, error) {
	return l.Watch(ctx, from, within, func(e wire.Entry) (found bool) {
		if e.Wordless() {
			return match(e)
		}
		for _, part := range e.Message.Elements() {
			if part.Kind == wire.Request {
				l.answer(ctx, part, answers)
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
func (l *line) answer(ctx context.Context, ask wire.Message, answers []Answer) {
	if l.rev.Facts().Stateless || !ask.ID().Usable() {
		return
	}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"this client does not offer the method"}}`, ask.ID().Raw)
	for i, a := range answers {
		if a.Method != ask.Method() {
			continue
		}
		raw = withID(a.Raw, ask.ID())
		for _, later := range answers[i+1:] {
			if later.Method == a.Method {
				answers[i].Method = "" // used up
				l.misled = true
				break
			}
		}
		break
	}
	// A peer that does not read loses the answer; its liveness is asked next.
	if at, _ := l.Send(ctx, []byte(raw)); at >= 0 {
		l.answers = append(l.answers, at)
	}
}

// turnedAway tells whether an answer of ours was refused for the rate of what was
// sent: who asked goes on waiting for it.
func (l *line) turnedAway() bool {
	return slices.ContainsFunc(l.answers, func(at int) bool {
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
func (l *line) play(ctx context.Context, s Script) (out Played) {
	s.Answers = append([]Answer(nil), s.Answers...)
	l.plans++
	l.history = append(l.history, s)
	l.misled, l.answers = false, nil
	logged := l.p.grounds.logged()
	out.From = l.Len()
	b := l.book(s)
	out.Sent = b.sent
	patience := l.p.patience()
	from := out.From
	switch {
	case s.Posted:
		from = l.post(ctx, s, b, patience)
		from = l.settle(ctx, from, l.p.rest(), s.Answers, b) // else the closing question may overtake what it asks after
	case s.Paced:
		from = l.pace(ctx, s, b, patience)
	default:
		// A write that fails tells of an end that the closing question meets too.
		_, _ = l.SendPaused(ctx, func(int) { l.Drain(ctx) }, s.Writes...)
	}
	l.ask(ctx, s, &out, from, patience, b)
	if out.State == session.Dead {
		l.p.grounds.autopsy(&out, logged)
	}
	if out.State == session.Dead || out.State == session.Desync {
		l.p.grounds.doubt()
	}
	return out
}

// pace writes a script one write at a time and returns from which frame on the
// peer was not listened to.
func (l *line) pace(ctx context.Context, s Script, b *book, patience time.Duration) (from int) {
	from = l.Len()
	for i, w := range s.Writes {
		if _, err := l.SendChunks(ctx, w); err != nil {
			break
		}
		wanted := due(Script{Writes: [][]byte{w}}.Lines(), b.facts)
		last := i == len(s.Writes)-1
		b.stillOpen(wanted)
		if len(wanted) == 0 || last {
			continue
		}
		// From the last frame looked at on: an answer to an earlier line may
		// have come since, behind an error that named no request.
		e, err := l.await(ctx, from, patience, s.Answers, func(e wire.Entry) bool {
			b.take(e)
			delete(wanted, e.Message.ID().Key())
			return len(wanted) == 0 || anonymous(e.Message)
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
func (l *line) ask(ctx context.Context, s Script, out *Played, from int, patience time.Duration, b *book) {
	began := time.Now()
	answered, refused, err := l.question(ctx, s, &from, patience, b)
	for range askAgain {
		if !errors.Is(refused, errBrokeOff) || l.Over() != nil {
			break
		}
		// It may be about to end, or have closed the connection that we happened
		// to take.
		from = l.settle(ctx, from, restAtMost, s.Answers, nil)
		answered, refused, err = l.question(ctx, s, &from, patience, b)
	}
	switch {
	case !s.Posted || err != nil:
	case refused != nil: // which the news that the session is over may explain
		l.settle(ctx, from, restAtMost, s.Answers, nil)
	default:
		l.settle(ctx, from, l.p.rest(), s.Answers, b)
	}
	out.said = l.Part(len(l.opening), out.From)
	out.Frames = out.said.Frames(0)
	out.Served = b.served
	if err == nil && refused == nil {
		l.p.answeredAfter(time.Since(began))
	}
	over := l.Over()
	switch {
	case over != nil:
		out.State, out.Why, out.Stderr = session.Dead, over.Error(), l.Stderr()
		if e := l.Ending(); e != nil {
			out.Ended = e.What
		}
	case refused != nil:
		out.State, out.Why = session.Desync, fmt.Sprintf("%s was answered with %v", s.Rev.Facts().Barrier, refused)
	case !answered:
		out.State, out.Why = session.Desync, fmt.Sprintf("no answer to %s within %s", s.Rev.Facts().Barrier, patience)
	case err == nil && len(b.lost) == 0 || l.misled || l.turnedAway():
		// Who was given an odd answer, or none, may go on waiting for a good one.
		out.State = session.Alive
	default:
		out.State = session.Mute
		out.Why, out.Odd = b.unanswered(patience)
	}
}

// question sends a closing question, and waits for its answer and for those that are
// due. refused tells why HTTP alone answered it, the error that nothing came. from
// is the frame from which on the peer is listened to, and moves on.
func (l *line) question(ctx context.Context, s Script, from *int, patience time.Duration, b *book) (answered bool, refused, err error) {
	l.asked++
	id := wire.StringID(fmt.Sprintf("alive-%d", l.asked))
	at, err := l.Send(ctx, closing(s.Rev, id))
	if err != nil {
		if s.Posted && ctx.Err() == nil {
			return false, fmt.Errorf("%w: %w", errBrokeOff, err), nil
		}
		return false, nil, err
	}
	sent := l.Frames(at)[0]
	_, err = l.await(ctx, *from, patience, s.Answers, func(e wire.Entry) bool {
		if e.Message.IsResponse() && e.Message.ID().Equal(id) {
			answered = true
		}
		if s.Posted && !answered && refused == nil {
			answered, refused = closingRefused(s, l.Unanswered(sent, e.Frame), e, sent)
		}
		b.take(e)
		*from = e.Index + 1
		return refused != nil || answered && (l.misled || !b.pending())
	})
	return answered, refused, err
}

// closing returns the closing question.
func closing(rev spec.Revision, id wire.ID) []byte {
	var params session.Params
	if rev.Facts().Stateless {
		params = session.Params{"_meta": session.Meta(rev, nil)}
	}
	return session.Frame(id, rev.Facts().Barrier, params)
}

// patience is how long an answer is waited for now: many times as long as any
// took so far. A player that was given no least time always waits in full.
func (p *player) patience() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.least == 0 {
		return p.wait
	}
	return min(p.wait, max(p.least, 30*p.slowest))
}

// slower doubles the patience, up to a limit: the peer was taken for mute while
// it was at work.
func (p *player) slower(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait = min(2*p.wait, limit)
	p.least = min(2*p.least, p.wait)
}

func (p *player) answeredAfter(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slowest = max(p.slowest, took)
}

// clashes tells whether a script uses an id that the connection has seen.
func (l *line) clashes(lines []wire.Message) bool {
	for _, whole := range lines {
		for _, m := range whole.Elements() {
			if id := m.ID(); id.Usable() && l.used[id.Key()] {
				return true
			}
		}
	}
	return false
}
