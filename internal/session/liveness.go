package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// CheckLiveness sends a request that a conforming peer answers at any time, and
// returns the state of the peer.
func (s *Session) CheckLiveness(ctx context.Context) Liveness {
	if s.exitError() != nil {
		return Dead
	}
	id := s.NextID()
	at, err := s.Send(ctx, wire.EncodeCall(id, s.Rev.Facts().BarrierMethod, s.lifecycle.addRequestMeta(nil)))
	if err == nil {
		_, err = s.AwaitAnswer(ctx, at, id, s.opts.Timeout)
	}
	var refusal *HTTPStatusError
	var tooLong *AnswerTooLongError
	rateLimited := errors.As(err, &refusal) && refusal.Status == http.StatusTooManyRequests
	switch {
	case err == nil, errors.As(err, &tooLong), rateLimited:
		return Alive
	case s.exitError() != nil:
		return Dead
	default:
		return OutOfSync
	}
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
	Method string
	ID     wire.ID
	Waited time.Duration
	State  Liveness
	Err    error
}

func (e *NoAnswerError) Error() string {
	request := fmt.Sprintf("%s (id %s)", e.Method, e.ID)
	byHTTP := errors.Is(e.Err, errExchangeEnded) || e.StatusError() != nil
	within := e.Waited.Round(time.Millisecond)
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
