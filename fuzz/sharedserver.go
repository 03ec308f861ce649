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
type sharedServer struct {
	isShared  bool
	openTimeout time.Duration                   // for the answer to an opening, where it is shared
	restartServer   func(ctx context.Context) error // starts the server again; nil where that cannot be done
	endedWithin   func(within time.Duration) string
	stderr  func() string

	mu      sync.Mutex
	generation     int  // how often the ground may have been lost
	suspect bool // the last thing seen of it was that it did not serve
}

func newSharedServer(target transport.Target, o session.Options, again func(ctx context.Context) error) *sharedServer {
	g := &sharedServer{openTimeout: o.Timeout, restartServer: again}
	if site, ok := target.(transport.Site); ok {
		g.isShared, g.stderr, g.endedWithin = true, site.Stderr, site.Ended
	}
	return g
}

// now returns the age of the grounds: sessions of another do not count any more.
func (g *sharedServer) currentGeneration() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.generation
}

// stands tells whether more can be said on the line: nothing has ended it, nor
// shaken what it stands on.
func (l *connection) isUsable() bool { return l.Over() == nil && l.generation == l.executor.server.currentGeneration() }

// doubt notes that the peer did not serve at the end of a script. Over HTTP other
// sessions may have ended with it.
func (g *sharedServer) markSuspect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShared {
		g.suspect = true
		g.generation++
	}
}

// before returns the age of the grounds, and how long an opening is waited for: not
// as long where it is in doubt and can be renewed.
func (g *sharedServer) beginOpening(p *executor) (age int, within time.Duration) {
	within = p.openTimeout()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.suspect && g.restartServer != nil {
		within = min(within, p.options.Timeout)
	}
	g.suspect = false
	return g.generation, within
}

// renew starts the server again after a session could not be opened, and tells
// whether it did. Where somebody else did since, that is as good.
func (g *sharedServer) restart(ctx context.Context, age int) bool {
	if g.restartServer == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.generation != age {
		return true
	}
	g.generation++
	return g.restartServer(ctx) == nil
}

// logged returns what the server wrote to its standard error so far.
func (g *sharedServer) stderrSoFar() string {
	if g.stderr == nil {
		return ""
	}
	return g.stderr()
}

// endWithin is how long the end of a server is waited for that cannot be reached.
const serverEndTimeout = 500 * time.Millisecond

// autopsy tells how the server itself ended, where it did and we started it, and
// leaves of its standard error what it wrote since.
func (g *sharedServer) describeEnd(out *execution, logged string) {
	if g.endedWithin != nil {
		if how := g.endedWithin(serverEndTimeout); how != "" {
			out.ended = "the server process ended: " + how
		}
	}
	if g.stderr == nil {
		return
	}
	out.stderr = g.stderr()
	if rest, ok := strings.CutPrefix(out.stderr, logged); ok {
		out.stderr = rest
	}
}

// alone tells whether a symptom is confirmed one session after another, the search
// resting meanwhile: also where they share a server, which what ends or hangs a
// session may break.
func (e *engine) confirmsSerially(symptom *Symptom) bool {
	breaks := symptom.Oracle == "liveness.dead" || symptom.Oracle == "liveness.desync"
	return e.options.Session.Serial || e.searcher.server.isShared && breaks
}
