package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Liveness is the state of a peer.
type Liveness string

// The states of a peer. It is mute if it answers other requests, but not the one in
// question; desync if it runs but answers no request, or the wrong one.
const (
	Alive     Liveness = "alive"
	Mute      Liveness = "mute"
	OutOfSync Liveness = "desync"
	Dead      Liveness = "dead"
)

// CheckLiveness sends a request that a conforming peer answers at any time, or one that
// the peer answered before, and returns the state of the peer.
func (s *Session) CheckLiveness(ctx context.Context) Liveness {
	if s.exitError() != nil {
		return Dead
	}
	methods := s.livenessMethods()
	for i, method := range methods {
		if s.answers(ctx, method) {
			if i > 0 && s.answers(ctx, methods[0]) {
				return OutOfSync // it answers the first method now, and lost the request before
			}
			s.useForLiveness(method)
			return Alive
		}
		if s.exitError() != nil {
			return Dead
		}
	}
	s.noteHang()
	return OutOfSync
}

// AnswersAnyRequest reports whether a peer that did not answer the opening answers a
// request that it must answer at any time, or a list.
func (s *Session) AnswersAnyRequest(ctx context.Context) bool {
	methods := []string{"tools/list"}
	if !s.Rev.Facts().Stateless { // there the barrier is the opening
		methods = append(methods, s.Rev.Facts().BarrierMethod)
	}
	first, ids := 0, []wire.ID{}
	for _, method := range methods {
		id := s.NextID()
		at, err := s.Send(ctx, wire.EncodeCall(id, method, s.AddRequestMeta(nil)))
		if err != nil {
			return false
		}
		if len(ids) == 0 {
			first = at
		}
		ids = append(ids, id)
	}
	_, err := s.AwaitMessage(ctx, first, s.Patience(), func(m wire.Message) bool {
		return m.IsResponse() && slices.ContainsFunc(ids, m.ID().Equal)
	})
	return err == nil
}

// answers reports whether the peer answers a request without params, which is not
// counted as a use of the method.
func (s *Session) answers(ctx context.Context, method string) bool {
	id := s.NextID()
	at, err := s.Send(ctx, wire.EncodeCall(id, method, s.AddRequestMeta(nil)))
	if err == nil {
		_, err = s.AwaitAnswer(ctx, at, id, s.Patience())
	}
	var refusal *HTTPStatusError
	var tooLong *AnswerTooLongError
	rateLimited := errors.As(err, &refusal) && refusal.Status == http.StatusTooManyRequests
	return err == nil || errors.As(err, &tooLong) || rateLimited
}

// livenessMethods returns the methods that show whether the peer still answers: the
// barrier of the revision, then one that the peer answered in this session; or the one
// that showed it where the barrier was not answered.
func (s *Session) livenessMethods() []string {
	if s.alternative != nil {
		if method := s.alternative.Load(); method != nil {
			return []string{*method}
		}
	}
	barrier := s.Rev.Facts().BarrierMethod
	if s.checkGivenUp(wire.EncodeCall(wire.IntID(1), barrier, nil)) != nil {
		return []string{cmp.Or(s.answeredMethod(), s.declaredList(), barrier)}
	}
	if answered := s.answeredMethod(); answered != "" {
		return []string{barrier, answered}
	}
	return []string{barrier}
}

// declaredList returns the method of a list that the peer declares; "" if there is none.
func (s *Session) declaredList() string {
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if s.Declares(capability) {
			return capability + "/list"
		}
	}
	return ""
}

// useForLiveness makes all sessions of the pool test liveness by a method, if that is
// not the barrier of the revision.
func (s *Session) useForLiveness(method string) {
	if s.alternative != nil && method != s.Rev.Facts().BarrierMethod {
		s.alternative.Store(&method)
	}
}

// answeredMethod returns a method that changes nothing and that the peer answered in
// this session; "" if there is none.
func (s *Session) answeredMethod() string {
	sent := map[string]string{}
	for e := range s.Walk(0) {
		switch m := e.Message; {
		case e.From == wire.Client && m.Kind == wire.Request && strings.HasSuffix(m.Method(), "/list"):
			sent[m.ID().Key()] = m.Method()
		case e.From == wire.Server && m.IsResponse() && sent[m.ID().Key()] != "":
			return sent[m.ID().Key()]
		}
	}
	return ""
}

// livenessAfter returns the state of the peer after a request without an answer.
func (s *Session) livenessAfter(ctx context.Context, err error) Liveness {
	var refusal *HTTPStatusError
	switch {
	case s.exitError() != nil:
		return Dead
	case !errors.Is(err, errTimeout) && !errors.Is(err, errExchangeEnded) && !errors.As(err, &refusal):
		return OutOfSync
	}
	if live := s.CheckLiveness(ctx); live != Alive {
		return live
	}
	return Mute
}

// withLiveness adds the state of the peer, and why the connection ended if it has.
func (s *Session) withLiveness(ctx context.Context, none *NoAnswerError) *NoAnswerError {
	none.State = s.livenessAfter(ctx, none.Err)
	if endErr := s.ConnectionError(); none.State == Dead && endErr != nil && errors.Is(none.Err, errTimeout) {
		none.Err = endErr
	}
	return none
}

// NotSentError is the error of a request that did not reach the peer, which therefore
// owes no answer.
type NotSentError struct {
	Method string
	ID     wire.ID
	Err    error
}

func (e *NotSentError) Error() string {
	return fmt.Sprintf("%s (id %s) could not be sent: %v", e.Method, e.ID, e.Err)
}

func (e *NotSentError) Unwrap() error { return e.Err }

// NoAnswerError is the error of a request without an answer.
type NoAnswerError struct {
	Method     string
	ID         wire.ID
	FrameIndex int // of the request
	Waited     time.Duration
	State      Liveness
	Err        error
}

// IsTimeout reports whether the answer may still come.
func (e *NoAnswerError) IsTimeout() bool { return errors.Is(e.Err, errTimeout) }

func (e *NoAnswerError) Error() string {
	request := fmt.Sprintf("%s (id %s)", e.Method, e.ID)
	byHTTP := errors.Is(e.Err, errExchangeEnded) || e.StatusError() != nil
	within := e.Waited.Round(max(time.Millisecond, e.Waited/50)) // equal in each session
	switch {
	case e.State == Mute && byHTTP:
		return fmt.Sprintf("%s was answered with %v; the server answers other requests (mute)", request, e.Err)
	case e.State == Mute:
		return fmt.Sprintf("no answer to %s within %s; the server answers other requests (mute)", request, within)
	case e.State == OutOfSync && byHTTP:
		return fmt.Sprintf("%s was answered with %v, and the server did not answer a further request (desync)",
			request, e.Err)
	case e.State == OutOfSync:
		return fmt.Sprintf("no answer to %s within %s, nor to a further request; the server keeps running (desync)",
			request, within)
	case e.State == Dead:
		return fmt.Sprintf("no answer to %s: %v (dead)", request, e.Err)
	}
	return fmt.Sprintf("no answer to %s: %v", request, e.Err)
}

// StatusError returns the answer of HTTP alone; nil if there was none.
func (e *NoAnswerError) StatusError() (r *HTTPStatusError) {
	errors.As(e.Err, &r)
	return r
}

func (e *NoAnswerError) Unwrap() error { return e.Err }
