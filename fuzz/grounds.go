package fuzz

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// Grounds are what sessions stand on. On stdio each is a process of its own. Over
// HTTP all share a server: what one does to that the others feel, so that a
// session in which it broke may be the last, unless the server can be started
// again.
type grounds struct {
	shared  bool
	opening time.Duration                   // for the answer to an opening, where it is shared
	again   func(ctx context.Context) error // starts the server again; nil where that cannot be done
	ended   func(within time.Duration) string
	stderr  func() string

	mu      sync.Mutex
	age     int  // how often the ground may have been lost
	doubted bool // the last thing seen of it was that it did not serve
}

func newGrounds(target transport.Target, o session.Options, again func(ctx context.Context) error) *grounds {
	g := &grounds{opening: o.Timeout, again: again}
	if site, ok := target.(transport.Site); ok {
		g.shared, g.stderr, g.ended = true, site.Stderr, site.Ended
	}
	return g
}

// now returns the age of the grounds: sessions of another do not count any more.
func (g *grounds) now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.age
}

// stands tells whether more can be said on the line: nothing has ended it, nor
// shaken what it stands on.
func (l *line) stands() bool { return l.Over() == nil && l.age == l.p.grounds.now() }

// doubt notes that the peer did not serve at the end of a script. Over HTTP other
// sessions may have ended with it.
func (g *grounds) doubt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shared {
		g.doubted = true
		g.age++
	}
}

// before returns the age of the grounds, and how long an opening is waited for: not
// as long where it is in doubt and can be renewed.
func (g *grounds) before(p *player) (age int, within time.Duration) {
	within = p.opening()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.doubted && g.again != nil {
		within = min(within, p.opts.Timeout)
	}
	g.doubted = false
	return g.age, within
}

// renew starts the server again after a session could not be opened, and tells
// whether it did. Where somebody else did since, that is as good.
func (g *grounds) renew(ctx context.Context, age int) bool {
	if g.again == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.age != age {
		return true
	}
	g.age++
	return g.again(ctx) == nil
}

// logged returns what the server wrote to its standard error so far.
func (g *grounds) logged() string {
	if g.stderr == nil {
		return ""
	}
	return g.stderr()
}

// endWithin is how long the end of a server is waited for that cannot be reached.
const endWithin = 500 * time.Millisecond

// autopsy tells how the server itself ended, where it did and we started it, and
// leaves of its standard error what it wrote since.
func (g *grounds) autopsy(out *Played, logged string) {
	if g.ended != nil {
		if how := g.ended(endWithin); how != "" {
			out.Ended = "the server process ended: " + how
		}
	}
	if g.stderr == nil {
		return
	}
	out.Stderr = g.stderr()
	if rest, ok := strings.CutPrefix(out.Stderr, logged); ok {
		out.Stderr = rest
	}
}

// alone tells whether a symptom is confirmed one session after another, the search
// resting meanwhile: also where they share a server, which what ends or hangs a
// session may break.
func (e *engine) alone(symptom *Symptom) bool {
	breaks := symptom.Oracle == "liveness.dead" || symptom.Oracle == "liveness.desync"
	return e.o.Session.Serial || e.p.grounds.shared && breaks
}
