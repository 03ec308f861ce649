package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Session is a connection that is used at one revision.
type Session struct {
	*Conn
	Rev     spec.Revision
	Opening Opening // set by Open

	host           *Host
	lifecycle      lifecycle
	firstTimeout   time.Duration           // for the first answer of the instance
	givenUp        *giveUpList             // of its pool; nil without one
	alternative    *atomic.Pointer[string] // of its pool: the method that tests liveness in place of the barrier
	requiresParams *atomic.Bool            // of its pool: no request is sent without params
	usesMutex      sync.Mutex
	uses           []use
}

// newSession makes a session at a revision, with a host, of a connection on which
// nothing was sent.
func (c *Conn) newSession(rev spec.Revision, host *Host) *Session {
	s := &Session{Conn: c, Rev: rev, host: host}
	c.link.setRevision(rev)
	if rev.Facts().Stateless {
		s.lifecycle = stateless{rev, host.capabilities(rev)}
	} else {
		s.lifecycle = handshake{rev, host.capabilities(rev)}
	}
	go s.answerRequests()
	return s
}

// Open opens the session as the era of its revision requires.
func (s *Session) Open(ctx context.Context, within time.Duration) Opening {
	s.Opening = s.lifecycle.open(ctx, s, within)
	return s.Opening
}

// ServerCapabilities returns the capabilities that the server declared.
func (s *Session) ServerCapabilities() gjson.Result { return s.Opening.Capabilities }

// Declares reports whether the server declared a capability, such as "tools" or
// "tools.listChanged".
func (s *Session) Declares(capability string) bool {
	return Declares(s.Opening.Capabilities, capability)
}

// Declares reports whether a capabilities object declares a capability, such as
// "tools" or "tools.listChanged": the first segment is declared by its presence, a
// further one by a value other than false.
func Declares(capabilities gjson.Result, capability string) bool {
	if capability == "" {
		return true
	}
	v := capabilities
	for i, part := range strings.Split(capability, ".") {
		v = wire.Member(v, part)
		if !v.Exists() || v.Type == gjson.Null || v.Type == gjson.False && i > 0 {
			return false
		}
	}
	return true
}

// ClientCapabilities returns the capabilities that the client declares in the
// session.
func (s *Session) ClientCapabilities() Params { return s.host.capabilities(s.Rev) }

// A Call is a request that was sent.
type Call struct {
	ID         wire.ID
	Method     string
	FrameIndex int // index of its frame
	session    *Session
}

// AddRequestMeta returns params with what every request of the revision must carry.
func (s *Session) AddRequestMeta(params Params) Params {
	if params == nil && s.requiresParams != nil && s.requiresParams.Load() {
		params = Params{}
	}
	return s.lifecycle.addRequestMeta(params)
}

// Start sends a request without waiting for the answer.
func (s *Session) Start(ctx context.Context, method string, params Params) (*Call, error) {
	return s.StartWithID(ctx, s.NextID(), method, params)
}

// StartWithID sends a request with an id of the caller. The error is a NoAnswerError
// if the peer has ended, a GivenUpError if messages like it are given up, otherwise a
// NotSentError.
func (s *Session) StartWithID(ctx context.Context, id wire.ID, method string, params Params) (*Call, error) {
	raw := wire.EncodeCall(id, method, s.AddRequestMeta(params))
	if err := s.checkGivenUp(raw); err != nil {
		return nil, err
	}
	at, err := s.Send(ctx, raw)
	switch {
	case err == nil:
	case s.exitError() != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, &NoAnswerError{Method: method, ID: id, State: Dead, Err: err}
	default:
		return nil, &NotSentError{Method: method, ID: id, Err: err}
	}
	return &Call{ID: id, Method: method, FrameIndex: at, session: s}, nil
}

// Answer waits for the answer to the call. After the deadline it still takes an answer
// that comes before the answer to the request which tests the liveness of the peer. The
// error is an AnswerTooLongError or a NoAnswerError.
func (c *Call) Answer(ctx context.Context) (wire.Entry, error) {
	s := c.session
	e, err := s.AwaitAnswer(ctx, c.FrameIndex, c.ID, s.AnswerTimeout())
	if tooLong := (*AnswerTooLongError)(nil); err == nil || errors.As(err, &tooLong) {
		return e, err
	}
	sent, _ := s.Entry(c.FrameIndex)
	none := s.withLiveness(ctx, &NoAnswerError{
		Method: c.Method, ID: c.ID, FrameIndex: c.FrameIndex, Waited: s.Elapsed() - sent.At, Err: err,
	})
	if errors.Is(err, errTimeout) {
		if late, err := s.AwaitAnswer(ctx, c.FrameIndex, c.ID, 0); err == nil {
			s.noteLate(late, c.FrameIndex)
			return late, nil
		}
	}
	return e, none
}

// AnswerTimeout returns the current timeout for an answer. It is longer while the
// instance has sent no message, since it may still be starting.
func (s *Session) AnswerTimeout() time.Duration {
	if s.receivedMessage.Load() {
		return s.Patience()
	}
	return max(s.opts.Timeout, s.firstTimeout)
}

// Request sends a request and waits for its answer, a result or an error.
func (s *Session) Request(ctx context.Context, method string, params Params) (wire.Entry, error) {
	call, err := s.Start(ctx, method, params)
	if err != nil {
		return wire.Entry{}, err
	}
	return call.Answer(ctx)
}

// Notify sends a notification. The error is a GivenUpError if messages like it are given
// up.
func (s *Session) Notify(ctx context.Context, method string, params Params) (int, error) {
	raw := wire.EncodeCall(wire.ID{}, method, params)
	if err := s.checkGivenUp(raw); err != nil {
		return -1, err
	}
	return s.Send(ctx, raw)
}

// checkGivenUp returns a GivenUpError if a message is not to be sent.
func (s *Session) checkGivenUp(raw []byte) error {
	if s.givenUp == nil {
		return nil
	}
	return s.givenUp.check(raw)
}

// Cancel cancels a request: with notifications/cancelled, or over streamable HTTP
// since 2026-07-28 by closing the stream of its answer
// (basic/patterns/cancellation).
func (s *Session) Cancel(ctx context.Context, c *Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.link.cancelRequest(c.ID) {
		return nil
	}
	_, err := s.Notify(ctx, "notifications/cancelled", Params{"requestId": json.RawMessage(c.ID.Raw)})
	return err
}

// AwaitBarrier sends a request that a conforming peer answers at any time, and waits
// for any answer to it. It shows nothing about earlier requests, since a server may
// answer in any order.
func (s *Session) AwaitBarrier(ctx context.Context) error {
	_, err := s.Request(ctx, s.livenessMethods()[0], nil)
	return err
}
