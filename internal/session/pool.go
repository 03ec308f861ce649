package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Pool provides the sessions of one revision: shared sessions, which several checks
// use, and sessions of the caller's own.
type Pool struct {
	Rev      spec.Revision
	launcher *Launcher
	opts     Options

	mu                  sync.Mutex
	shared              *Session
	withoutCapabilities *Session // shared too, of a client that declares no capability
	sessions            []*Session
	openTimeout         time.Duration // for the first answer in a session
	cached              map[string]any
	givenUp             giveUpList
	alternative         atomic.Pointer[string]
	requiresParams      atomic.Bool // the server serves no request without params
	learned             bool        // LearnBarrier was called
	exits               int         // how often an instance ended by itself
	dropped             volume      // sessions that trim dropped, and their bytes
}

// NewPool returns a pool of sessions at a revision.
func NewPool(l *Launcher, rev spec.Revision) *Pool {
	return &Pool{Rev: rev, launcher: l, opts: l.opts, openTimeout: l.opts.StartTimeout}
}

// OpenFirst opens the session that shows whether the server speaks the revision. It
// waits at most the given time for the first answer. If the server speaks the
// revision, the session becomes the shared one.
func (p *Pool) OpenFirst(ctx context.Context, within time.Duration) (Opening, *Session, error) {
	s, err := p.Unopened(ctx)
	if err != nil {
		return Opening{}, nil, err
	}
	o := s.Open(ctx, within)
	if !o.Answered && s.ConnectionError() != nil && p.launcher.RunningCount() > 0 {
		// Perhaps only one instance can run at a time: try again without the others.
		p.launcher.forceSerial(fmt.Sprintf("a second instance beside the first failed: %v", o.Err))
		return p.OpenFirst(ctx, within)
	}
	if o.Spoken {
		if p.launcher.RunningCount() > 1 {
			p.launcher.allowParallel()
		}
		p.mu.Lock()
		p.shared = s
		p.openTimeout = min(p.openTimeout, p.opts.FirstAnswerTimeout(o.Duration))
		p.mu.Unlock()
	}
	return o, s, nil
}

// Shared returns the open session that checks share. It opens another if the last one
// has ended.
func (p *Pool) Shared(ctx context.Context) (*Session, error) {
	return p.reuse(ctx, &p.shared, p.opts.Host)
}

// SharedWithoutCapabilities returns the shared session in which the client declares
// no capability.
func (p *Pool) SharedWithoutCapabilities(ctx context.Context) (*Session, error) {
	return p.reuse(ctx, &p.withoutCapabilities, nil)
}

// reuse returns the session in a place, or opens another and puts it there.
func (p *Pool) reuse(ctx context.Context, place **Session, host *Host) (*Session, error) {
	p.mu.Lock()
	s := *place
	p.mu.Unlock()
	if s != nil && s.ConnectionError() == nil {
		if !s.isNearLimit() {
			return s, nil
		}
		s.Close()
	}
	s, err := p.openParallel(ctx, host)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	*place = s
	p.mu.Unlock()
	return s, nil
}

// Discard ends a shared session, so that the next caller gets another.
func (p *Pool) Discard(s *Session) {
	p.mu.Lock()
	switch s {
	case p.shared:
		p.shared = nil
	case p.withoutCapabilities:
		p.withoutCapabilities = nil
	}
	p.mu.Unlock()
	s.Kill()
}

// Forget ends a session that shows nothing, and drops what was kept of it.
func (p *Pool) Forget(s *Session) {
	p.Discard(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = slices.DeleteFunc(p.sessions, func(kept *Session) bool { return kept == s })
	p.launcher.forget(s.Conn)
}

// NewSession returns an open session of the caller's own.
func (p *Pool) NewSession(ctx context.Context) (*Session, error) {
	return p.openParallel(ctx, p.opts.Host)
}

// NewSessionWithHost returns an open session of the caller's own with another host.
func (p *Pool) NewSessionWithHost(ctx context.Context, host *Host) (*Session, error) {
	return p.openParallel(ctx, host)
}

// openParallel opens a session while others are open, or after it has closed the
// others if the target cannot run two instances at the same time. It starts a server at
// a URL again that answers no opening, if mcpcheck started it.
func (p *Pool) openParallel(ctx context.Context, host *Host) (*Session, error) {
	s, err := p.openNew(ctx, host)
	process := p.launcher.target.Process()
	// A server that ended is no reason to open one session after another.
	if errors.Is(err, errUnopened) && process != nil && process.WaitForExit(p.opts.Grace) != "" {
		s, err = p.openAfterRestart(ctx, host)
	}
	if err != nil && p.launcher.SerialReason() == "" && p.launcher.RunningCount() > 0 {
		p.launcher.forceSerial(fmt.Sprintf("a second instance beside the first failed: %v", err))
		return p.openNew(ctx, host)
	}
	if errors.Is(err, errUnopened) && process != nil && ctx.Err() == nil {
		s, err = p.openAfterRestart(ctx, host)
	}
	if err == nil && p.launcher.RunningCount() > 1 {
		p.launcher.allowParallel()
	}
	return s, err
}

// openAfterRestart starts a server at a URL again, and opens a session.
func (p *Pool) openAfterRestart(ctx context.Context, host *Host) (*Session, error) {
	if err := p.launcher.restart(ctx); err != nil {
		return nil, err
	}
	return p.openNew(ctx, host)
}

// errUnopened is the error of a session whose opening was not answered.
var errUnopened = errors.New("the opening was not answered")

// Unopened returns a session on a started instance to which nothing was sent.
func (p *Pool) Unopened(ctx context.Context) (*Session, error) { return p.UnopenedAt(ctx, p.Rev) }

// UnopenedAt returns a session at another revision on a started instance to which
// nothing was sent. The session is no evidence for the revision of the pool.
func (p *Pool) UnopenedAt(ctx context.Context, rev spec.Revision) (*Session, error) {
	return p.take(ctx, rev, p.opts.Host)
}

func (p *Pool) take(ctx context.Context, rev spec.Revision, host *Host) (*Session, error) {
	c, err := p.launcher.Take(ctx)
	if err != nil {
		return nil, err
	}
	return p.newSession(c, rev, host), nil
}

func (p *Pool) newSession(c *Conn, rev spec.Revision, host *Host) *Session {
	s := c.newSession(rev, host)
	s.givenUp, s.alternative, s.requiresParams = &p.givenUp, &p.alternative, &p.requiresParams
	p.trim()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.firstTimeout = p.openTimeout
	p.sessions = append(p.sessions, s)
	return s
}

// NewSessionWithToken returns an open session over HTTP with another access token
// than that of the target.
func (p *Pool) NewSessionWithToken(ctx context.Context, token string) (*Session, error) {
	c, err := p.launcher.connectAs(ctx, token)
	if err != nil {
		return nil, err
	}
	return p.openSession(ctx, p.newSession(c, p.Rev, p.opts.Host))
}

func (p *Pool) openNew(ctx context.Context, host *Host) (*Session, error) {
	s, err := p.take(ctx, p.Rev, host)
	if err != nil {
		return nil, err
	}
	return p.openSession(ctx, s)
}

// openSession opens a session; it is an error if the server does not speak the
// revision.
func (p *Pool) openSession(ctx context.Context, s *Session) (*Session, error) {
	o := s.Open(ctx, p.openTimeout)
	if o.Spoken {
		return s, nil
	}
	s.Kill()
	if o.Err != nil {
		return nil, fmt.Errorf("open a session at %s: %w: %w", p.Rev, errUnopened, o.Err)
	}
	return nil, errors.New("open a session at " + string(p.Rev) + ": " + o.Reason)
}

// Sessions returns all sessions so far, also those that have ended.
func (p *Pool) Sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Session(nil), p.sessions...)
}

// Close ends all sessions of the pool at the same time.
func (p *Pool) Close() {
	var wait sync.WaitGroup
	for _, s := range p.Sessions() {
		wait.Go(s.Close)
	}
	wait.Wait()
}

// Transport returns the transport of the target.
func (p *Pool) Transport() transport.Kind { return p.launcher.target.Transport() }

// Timeout returns the timeout for one answer.
func (p *Pool) Timeout() time.Duration { return p.opts.Timeout }

// StartTimeout returns the timeout for the first answer of a started instance.
func (p *Pool) StartTimeout() time.Duration { return p.opts.StartTimeout }

// Cached returns the value that was stored under a key: something that was found out
// about the target at this revision.
func (p *Pool) Cached(key string) (any, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.cached[key]
	return v, ok
}

// Cache stores a value under a key.
func (p *Pool) Cache(key string, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cached == nil {
		p.cached = map[string]any{}
	}
	p.cached[key] = v
}

// Drop drops the value of one key.
func (p *Pool) Drop(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cached, key)
}

// ClearCache drops all stored values.
func (p *Pool) ClearCache() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cached = nil
}

// GiveUp makes the sessions of the pool send no more messages like m: StartWithID and
// Notify return a GivenUpError instead.
func (p *Pool) GiveUp(m wire.Message) { p.givenUp.add(m) }

// GiveUpSilent is like GiveUp for a message on which the server goes silent. At the second
// one of a method all messages of the method are given up.
func (p *Pool) GiveUpSilent(m wire.Message) { p.givenUp.addSilence(m) }

// MaySilence reports whether a further message on which the server goes silent may be
// looked for: each costs the time for an answer.
func (p *Pool) MaySilence() bool { return p.givenUp.silenceCount() < maxSilences }

// maxSilences is how often the server may go silent at a revision: twice on each of three
// methods.
const maxSilences = 6

// CountExit counts an instance that ended.
func (p *Pool) CountExit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exits++
}

// ExitCount returns how many instances ended by themselves.
func (p *Pool) ExitCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// SerialReason returns why sessions are opened one after another; "" if they need not be.
func (p *Pool) SerialReason() string { return p.launcher.SerialReason() }

// RateLimitedCount returns the number of answers with HTTP status 429 at any
// revision.
func (p *Pool) RateLimitedCount() int64 { return p.launcher.RateLimitedCount() }

// SetTargetTrait notes a property of the target that holds at every revision.
func (p *Pool) SetTargetTrait(what string) { p.launcher.setTrait(what) }

// TargetTraitCount returns the number of properties that were noted so far.
func (p *Pool) TargetTraitCount() int { return p.launcher.traitCount() }

// DropTargetTraits drops the properties that were noted since there were so many.
func (p *Pool) DropTargetTraits(since int) { p.launcher.dropTraits(since) }

// HasTargetTrait reports whether a property of the target was noted.
func (p *Pool) HasTargetTrait(what string) bool { return p.launcher.hasTrait(what) }
