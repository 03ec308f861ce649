package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Pool gives out sessions of one revision: the shared one, and fresh ones.
type Pool struct {
	Rev      spec.Revision
	launcher *Launcher
	opts     Options

	mu     sync.Mutex
	shared *Session
	plain  *Session // shared likewise, by a client that declares nothing
	all    []*Session
	within time.Duration // for the answer to an opening
	memo   map[string]any
}

// NewPool returns a pool of sessions at a revision.
func NewPool(l *Launcher, rev spec.Revision) *Pool {
	return &Pool{Rev: rev, launcher: l, opts: l.opts, within: l.opts.StartTimeout}
}

// OpenFirst opens the session that decides whether the revision is spoken,
// waiting at most so long for the first answer. If it is, that session is the
// shared one.
func (p *Pool) OpenFirst(ctx context.Context, within time.Duration) (Opening, *Session, error) {
	s, err := p.Bare(ctx)
	if err != nil {
		return Opening{}, nil, err
	}
	o := s.Open(ctx, within)
	if !o.Answered && s.Over() != nil && p.launcher.Living() > 0 {
		// It may be that only one instance can live: try again alone.
		p.launcher.GoSerial(fmt.Sprintf("a second instance beside the first failed: %v", o.Err))
		return p.OpenFirst(ctx, within)
	}
	if o.Spoken {
		if p.launcher.Living() > 1 {
			p.launcher.SideBySide()
		}
		p.mu.Lock()
		p.shared = s
		p.within = min(p.within, p.opts.First(o.Took))
		p.mu.Unlock()
	}
	return o, s, nil
}

// Shared returns the open session that checks share, opening another where
// the last one has ended.
func (p *Pool) Shared(ctx context.Context) (*Session, error) {
	return p.kept(ctx, &p.shared, p.opts.Host)
}

// Plain returns the open session that checks share in which the client
// declares no capability.
func (p *Pool) Plain(ctx context.Context) (*Session, error) { return p.kept(ctx, &p.plain, nil) }

func (p *Pool) kept(ctx context.Context, place **Session, host *Host) (*Session, error) {
	p.mu.Lock()
	s := *place
	p.mu.Unlock()
	if s != nil && s.Over() == nil {
		if !s.Worn() {
			return s, nil
		}
		s.Close()
	}
	s, err := p.beside(ctx, host)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	*place = s
	p.mu.Unlock()
	return s, nil
}

// Retire ends a shared session, so that the next check gets another.
func (p *Pool) Retire(s *Session) {
	p.mu.Lock()
	switch s {
	case p.shared:
		p.shared = nil
	case p.plain:
		p.plain = nil
	}
	p.mu.Unlock()
	s.Kill()
}

// Fresh returns an open session of the caller's own.
func (p *Pool) Fresh(ctx context.Context) (*Session, error) { return p.beside(ctx, p.opts.Host) }

// FreshAs returns one with another host.
func (p *Pool) FreshAs(ctx context.Context, host *Host) (*Session, error) { return p.beside(ctx, host) }

// beside opens a session beside those that live, or alone if that cannot be.
func (p *Pool) beside(ctx context.Context, host *Host) (*Session, error) {
	s, err := p.open(ctx, host)
	if err != nil && p.launcher.Serial() == "" && p.launcher.Living() > 0 {
		p.launcher.GoSerial(fmt.Sprintf("a second instance beside the first failed: %v", err))
		return p.open(ctx, host)
	}
	if err == nil && p.launcher.Living() > 1 {
		p.launcher.SideBySide()
	}
	return s, err
}

// Bare returns a session on a started instance to which nothing was sent.
func (p *Pool) Bare(ctx context.Context) (*Session, error) { return p.BareAt(ctx, p.Rev) }

// BareAt returns a bare session that is used as one of another revision, and
// so is no evidence for this one.
func (p *Pool) BareAt(ctx context.Context, rev spec.Revision) (*Session, error) {
	return p.take(ctx, rev, p.opts.Host)
}

func (p *Pool) take(ctx context.Context, rev spec.Revision, host *Host) (*Session, error) {
	c, err := p.launcher.Take(ctx)
	if err != nil {
		return nil, err
	}
	return p.used(c, rev, host), nil
}

func (p *Pool) used(c *Conn, rev spec.Revision, host *Host) *Session {
	s := c.use(rev, host)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.first = p.within
	p.all = append(p.all, s)
	return s
}

// User returns an open session over HTTP of somebody who has another bearer
// token. The session of the pool itself has that of the target.
func (p *Pool) User(ctx context.Context, token string) (*Session, error) {
	c, err := p.launcher.as(ctx, token)
	if err != nil {
		return nil, err
	}
	return p.opened(ctx, p.used(c, p.Rev, p.opts.Host))
}

func (p *Pool) open(ctx context.Context, host *Host) (*Session, error) {
	s, err := p.take(ctx, p.Rev, host)
	if err != nil {
		return nil, err
	}
	return p.opened(ctx, s)
}

// opened speaks the opening on a session.
func (p *Pool) opened(ctx context.Context, s *Session) (*Session, error) {
	o := s.Open(ctx, p.within)
	if o.Spoken {
		return s, nil
	}
	s.Kill()
	if o.Err != nil {
		return nil, fmt.Errorf("open a session at %s: %w", p.Rev, o.Err)
	}
	return nil, errors.New("open a session at " + string(p.Rev) + ": " + o.Why)
}

// Sessions returns all sessions given out so far, ended ones too.
func (p *Pool) Sessions() []*Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*Session(nil), p.all...)
}

// Close ends all sessions of the pool, side by side.
func (p *Pool) Close() {
	var wait sync.WaitGroup
	for _, s := range p.Sessions() {
		wait.Go(s.Close)
	}
	wait.Wait()
}

// Transport returns what the target is spoken to over.
func (p *Pool) Transport() transport.Kind { return transport.KindOf(p.launcher.target) }

// Timeout is how long an answer that is due is waited for, StartTimeout how
// long the first answer of a started instance.
func (p *Pool) Timeout() time.Duration      { return p.opts.Timeout }
func (p *Pool) StartTimeout() time.Duration { return p.opts.StartTimeout }

// Memo returns what was remembered under a key, Remember stores it. It lives
// as long as the pool: what was learnt of the target at this revision.
func (p *Pool) Memo(key string) (any, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.memo[key]
	return v, ok
}

func (p *Pool) Remember(key string, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memo == nil {
		p.memo = map[string]any{}
	}
	p.memo[key] = v
}

// Forget drops what was remembered, so that it is tried anew.
func (p *Pool) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memo = nil
}

// Limited returns how many requests a limit on their rate turned away so far, at
// any revision.
func (p *Pool) Limited() int64 { return p.launcher.Limited() }

// Learn notes something of the target that holds at every revision, and Learnt
// tells whether it was noted.
func (p *Pool) Learn(what string)       { p.launcher.Learn(what) }
func (p *Pool) Learnt(what string) bool { return p.launcher.Learnt(what) }
