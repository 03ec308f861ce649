package fuzz

import (
	"context"
	"fmt"
	"maps"
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
}

func newPlayer(target transport.Target, opts session.Options, wait time.Duration) *player {
	// A session that is well is used for many plans.
	opts.MaxFrames = max(opts.MaxFrames, 100_000)
	return &player{target: target, opts: opts, wait: wait, slots: make(chan struct{}, 8)}
}

// A line is one open connection that scripts are played on, one after another.
type line struct {
	*session.Conn
	p       *player
	rev     spec.Revision
	opening []wire.Frame // everything said until it was open, by both sides
	used    map[string]bool
	plans   int
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
	p.mu.Lock()
	p.starts++
	p.mu.Unlock()
	conn, err := session.NewLauncher(p.target, p.opts).Take(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.target, err)
	}
	l := &line{Conn: conn, p: p, rev: s.Rev, used: map[string]bool{}}
	for _, f := range s.Opening {
		m := f.Message()
		at, err := l.Send(ctx, f.Raw)
		if err == nil && m.Kind == wire.Request {
			_, err = l.await(ctx, at, p.opts.StartTimeout, s.Answers, func(answer wire.Message) bool { return answer.IsResponse() && answer.ID().Equal(m.ID()) })
		}
		if err != nil {
			l.drop(false)
			return nil, fmt.Errorf("open a session at %s: no answer to %s: %w", s.Rev, m.Method(), err)
		}
	}
	l.opening = l.Frames(0)
	return l, nil
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

// await waits for a message of the server, answering its requests meanwhile.
func (l *line) await(ctx context.Context, from int, within time.Duration, answers []Answer, match func(wire.Message) bool) (wire.Entry, error) {
	return l.Await(ctx, from, within, func(m wire.Message) bool {
		if m.Kind == wire.Request {
			l.answer(ctx, m, answers)
		}
		return match(m)
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
				break
			}
		}
		break
	}
	// A peer that does not read loses the answer; its liveness is asked next.
	_, _ = l.Send(ctx, []byte(raw))
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
	lines := s.Lines()
	facts := s.Rev.Facts()
	if len(s.Opening) == 0 {
		facts.Batches = false // they come with the revision, which is not agreed on
	}
	open := due(lines, facts)
	out.From = l.Len()
	patience := l.p.patience()
	methods := map[string]string{}
	for _, whole := range lines {
		for _, m := range whole.Elements() {
			if method := m.Method(); method != "" && m.Flaw() == nil {
				out.Sent = append(out.Sent, method)
				methods[m.ID().Key()] = method
			}
			if id := m.ID(); id.Usable() {
				l.used[id.Key()] = true
			}
		}
	}
	unread := 0 // errors that name no request: each answers one that could not be read
	took := func(m wire.Message) {
		if !m.IsResponse() {
			return
		}
		key := m.ID().Key()
		if m.Kind == wire.Error && !m.ID().Usable() {
			before := len(open)
			maps.DeleteFunc(open, func(_, odd string) bool { return odd == inBatch })
			if before == len(open) {
				unread++
			}
		}
		if m.Kind == wire.Result && methods[key] != "" {
			out.Served = append(out.Served, methods[key])
		}
		delete(open, key)
	}
	pending := func() bool { return len(open) > unread }

	from := out.From
	if s.Paced {
		for i, w := range s.Writes {
			if _, err := l.SendChunks(ctx, w); err != nil {
				break
			}
			wanted := due(Script{Writes: [][]byte{w}}.Lines(), facts)
			last := i == len(s.Writes)-1
			for key := range wanted {
				if _, ok := open[key]; !ok {
					delete(wanted, key)
				}
			}
			if len(wanted) == 0 || last {
				continue
			}
			// From the last frame looked at on: an answer to an earlier line may
			// have come since, behind an error that named no request.
			e, err := l.await(ctx, from, patience, s.Answers, func(m wire.Message) bool {
				took(m)
				delete(wanted, m.ID().Key())
				return len(wanted) == 0 || m.Kind == wire.Error && !m.ID().Usable()
			})
			if err != nil {
				from = l.Len()
				break
			}
			from = e.Index + 1
		}
	} else {
		// A write that fails tells of an end that the closing question meets too.
		_, _ = l.SendPaused(ctx, func(int) { l.Drain(ctx) }, s.Writes...)
	}
	l.ask(ctx, s, &out, from, patience, took, pending, open)
	return out
}

// ask sends the closing question: a request that any peer answers at any time.
// The peer lives if anything answers it.
func (l *line) ask(ctx context.Context, s Script, out *Played, from int, patience time.Duration, took func(wire.Message), pending func() bool, open map[string]string) {
	l.asked++
	question := wire.StringID(fmt.Sprintf("alive-%d", l.asked))
	began := time.Now()
	answered := false
	_, err := l.Send(ctx, closing(s.Rev, question))
	if err == nil {
		_, err = l.await(ctx, from, patience, s.Answers, func(m wire.Message) bool {
			if m.IsResponse() && m.ID().Equal(question) {
				answered = true
			}
			took(m)
			return answered && !pending()
		})
	}
	out.said = l.Part(len(l.opening), out.From)
	out.Frames = out.said.Frames(0)
	if err == nil {
		l.p.answeredAfter(time.Since(began))
	}
	over := l.Over()
	switch {
	case over != nil:
		out.State, out.Why, out.Stderr = session.Dead, over.Error(), l.Stderr()
		if e := l.Ending(); e != nil {
			out.Ended = e.What
		}
	case err == nil:
		out.State = session.Alive
	case !answered:
		out.State, out.Why = session.Desync, fmt.Sprintf("no answer to %s within %s", s.Rev.Facts().Barrier, patience)
	default:
		out.State = session.Mute
		for key, odd := range open {
			if out.Why == "" || key < out.Why {
				out.Why, out.Odd = key, odd
			}
		}
		out.Why = fmt.Sprintf("no answer to the request with id %s within %s", out.Why[2:], patience)
	}
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
