package check

import (
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Open performs the opening in a session that was not opened yet and returns its
// outcome.
func (s Sessions) Open() session.Opening { return s.t.s.Open(s.t.ctx, s.t.pool.StartTimeout()) }

// Another returns the handle of a second session at the same revision.
func (s Sessions) Another() *T { return s.t.handleOn(s.t.pool.NewSession(s.t.ctx)) }

// Unopened returns the handle of a second session in which nothing was sent.
func (s Sessions) Unopened() *T { return s.t.handleOn(s.t.pool.Unopened(s.t.ctx)) }

// UnopenedAt returns the handle of a second session in which nothing was sent and
// that is used at another revision. The judges of this revision do not see it.
func (s Sessions) UnopenedAt(rev spec.Revision) *T {
	return s.t.handleOn(s.t.pool.UnopenedAt(s.t.ctx, rev))
}

// AreSerial reports whether a second session would end the first.
func (s Sessions) AreSerial() bool { return s.t.pool.SerialReason() != "" }

// As returns the handle of a second session at the same revision, in which the
// client is another host.
func (s Sessions) As(host *session.Host) *T {
	return s.t.handleOn(s.t.pool.NewSessionWithHost(s.t.ctx, host))
}

// User returns the handle of a second session at the same revision, whose requests
// carry another bearer token.
func (s Sessions) User(token string) *T {
	return s.t.handleOn(s.t.pool.NewSessionWithToken(s.t.ctx, token))
}

// TryUser is like User but returns why no session could be opened.
func (s Sessions) TryUser(token string) (*T, error) {
	opened, err := s.t.pool.NewSessionWithToken(s.t.ctx, token)
	s.t.interrupted()
	if err != nil {
		return nil, err
	}
	return s.t.handleOn(opened, nil), nil
}

// Use returns the handle of this check on the session of another handle, such as
// one that a shared result keeps: failures are those of this check, with the frames
// of that session.
func (s Sessions) Use(other *T) *T {
	same := *other
	same.ctx, same.out, same.undo = s.t.ctx, s.t.out, s.t.undo
	return &same
}

// CloseLater ends a second session without waiting for its end.
func (s Sessions) CloseLater() { go s.t.s.Close() }

// End closes the input of the server and returns how it ended.
func (s Sessions) End() wire.Ending {
	s.t.s.Close()
	return *s.t.s.Ending()
}

// handleOn returns the handle of this check on another session.
func (t *T) handleOn(s *session.Session, err error) *T {
	if err != nil {
		t.out.State, t.out.Cause, t.out.Detail = NotRun, err.Error(), "no other session for this check"
		panic(stop{})
	}
	s.NoteUser(t.id)
	other := *t
	other.s, other.from, other.mark = s, s.Len(), -1
	other.Rev, other.Facts = s.Rev, s.Facts()
	*t.others = append(*t.others, &other)
	return &other
}
