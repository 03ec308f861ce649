package fuzz

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A sharedServer is the server that all sessions over HTTP use. What one session
// does to it affects the others: a session in which it stops serving is the last
// one, unless the server can be restarted. On stdio isShared is false, since each
// session has a process of its own.
type sharedServer struct {
	isShared      bool
	openTimeout   time.Duration                   // of the answer to an opening
	restartServer func(ctx context.Context) error // nil if mcpcheck cannot restart it
	process       transport.ServerProcess         // nil unless mcpcheck started the server

	mu         sync.Mutex
	generation int  // how often all sessions may have been lost
	suspect    bool // the server did not serve when it was last used
}

func newSharedServer(
	target transport.Target, o session.Options, restart func(ctx context.Context) error,
) *sharedServer {
	return &sharedServer{
		isShared: target.Transport() != transport.Stdio, process: target.Process(),
		openTimeout: o.Timeout, restartServer: restart,
	}
}

// currentGeneration returns the generation of sessions that are opened now.
// Sessions of an earlier generation are not used again.
func (s *sharedServer) currentGeneration() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}

// markSuspect records that the peer did not serve at the end of a script. If the
// server is shared, the other sessions may have ended too.
func (s *sharedServer) markSuspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isShared {
		s.suspect = true
		s.generation++
	}
}

// beginOpening returns the generation, and how long the answer to an opening is
// awaited: with a suspect server that can be restarted not longer than any other
// answer.
func (s *sharedServer) beginOpening(x *executor) (generation int, within time.Duration) {
	within = x.openTimeout()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suspect && s.restartServer != nil {
		within = min(within, x.options.Timeout)
	}
	s.suspect = false
	return s.generation, within
}

// restart restarts the server after a session of a generation could not be
// opened. It reports whether the server was restarted, here or by another
// caller since.
func (s *sharedServer) restart(ctx context.Context, generation int) bool {
	if s.restartServer == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != generation {
		return true
	}
	s.generation++
	return s.restartServer(ctx) == nil
}

// stderrSoFar returns what the server wrote to its standard error so far.
func (s *sharedServer) stderrSoFar() string {
	if s.process == nil {
		return ""
	}
	return s.process.Stderr()
}

// serverEndTimeout is how long the exit of a server that does not serve is
// awaited.
const serverEndTimeout = 500 * time.Millisecond

// describeEnd sets how the server process ended, if it did and mcpcheck started
// it, and what it wrote to its standard error since stderrBefore.
func (s *sharedServer) describeEnd(out *execution, stderrBefore string) {
	if s.process == nil {
		return
	}
	if how := s.process.WaitForExit(serverEndTimeout); how != "" {
		out.ended = "the server process ended: " + how
	}
	out.stderr = s.process.Stderr()
	if rest, ok := strings.CutPrefix(out.stderr, stderrBefore); ok {
		out.stderr = rest
	}
}
