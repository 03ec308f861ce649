package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Session is one connection used at one revision.
type Session struct {
	*Conn
	Rev     spec.Revision
	Opening Opening // what the opening came to, once Open was called

	host *Host

	life   lifecycle
	first  time.Duration // for the first answer of the instance
	nextID atomic.Int64
}

// lifecycle is the era of a revision.
type lifecycle interface {
	// open establishes the revision on the connection.
	open(ctx context.Context, s *Session, within time.Duration) Opening
	// stamp adds what every request must carry to its params.
	stamp(params Params) Params
}

// use makes a session at a revision, with a host, of a connection that was not
// spoken on.
func (c *Conn) use(rev spec.Revision, host *Host) *Session {
	s := &Session{Conn: c, Rev: rev, host: host}
	c.link.use(rev)
	if rev.Facts().Stateless {
		s.life = stateless{rev, host.declares(rev)}
	} else {
		s.life = handshake{rev, host.declares(rev)}
	}
	go s.respond()
	return s
}

// Open speaks the opening of the revision's era.
func (s *Session) Open(ctx context.Context, within time.Duration) Opening {
	s.Opening = s.life.open(ctx, s, within)
	return s.Opening
}

// Capabilities returns what the server declared in the opening.
func (s *Session) Capabilities() gjson.Result { return s.Opening.Capabilities }

// Declares tells whether the server declared a capability: "tools" by being
// present, "tools.listChanged" by being true.
func (s *Session) Declares(capability string) bool {
	return Declares(s.Opening.Capabilities, capability)
}

// Declares tells whether a capabilities object declares a capability: its
// first segment by being present, a second one by being true or an object.
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

// Declared returns what we declare as the client of the session.
func (s *Session) Declared() Params { return s.host.declares(s.Rev) }

// A Call is one request that was sent.
type Call struct {
	ID     wire.ID
	Method string
	Sent   int // index of its frame
	s      *Session
}

// NextID returns a request id that this session has not used.
func (s *Session) NextID() wire.ID { return wire.IntID(s.nextID.Add(1)) }

// Stamp returns params with what a request of the revision must carry.
func (s *Session) Stamp(params Params) Params { return s.life.stamp(params) }

// Frame returns the bytes of a request (with an id) or notification.
func Frame(id wire.ID, method string, params Params) []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0"`...)
	if id.Present() {
		b = append(append(b, `,"id":`...), id.Raw...)
	}
	b = append(b, `,"method":`...)
	b = gjson.AppendJSONString(b, method)
	if params != nil {
		b = append(append(b, `,"params":`...), encode(params)...)
	}
	return append(b, '}')
}

// encode writes JSON without the HTML escapes of encoding/json; keys come
// sorted, so that equal values have equal bytes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("session: params cannot be encoded: %v", err))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Start sends a request and does not wait.
func (s *Session) Start(ctx context.Context, method string, params Params) (*Call, error) {
	return s.StartID(ctx, s.NextID(), method, params)
}

// StartID sends a request under an id of the caller's. What could not be sent is
// an Unsent, where the peer has ended a NoAnswer.
func (s *Session) StartID(ctx context.Context, id wire.ID, method string, params Params) (*Call, error) {
	at, err := s.Send(ctx, Frame(id, method, s.life.stamp(params)))
	switch {
	case err == nil:
	case s.departed() != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, &NoAnswer{Method: method, ID: id, State: Dead, Err: err}
	default:
		return nil, &Unsent{Method: method, ID: id, Err: err}
	}
	return &Call{ID: id, Method: method, Sent: at, s: s}, nil
}

// Answer waits for the answer to the call.
func (c *Call) Answer(ctx context.Context) (wire.Entry, error) {
	return c.s.answer(ctx, c, c.s.Patience())
}

// Patience returns how long an answer is waited for now: longer while the
// instance has said nothing yet, since it may still be starting.
func (s *Session) Patience() time.Duration {
	if s.heard.Load() {
		return s.opts.Timeout
	}
	return max(s.opts.Timeout, s.first)
}

// Request sends a request and waits for its answer, a result or an error.
func (s *Session) Request(ctx context.Context, method string, params Params) (wire.Entry, error) {
	call, err := s.Start(ctx, method, params)
	if err != nil {
		return wire.Entry{}, err
	}
	return call.Answer(ctx)
}

func (s *Session) answer(ctx context.Context, c *Call, within time.Duration) (wire.Entry, error) {
	began := time.Now()
	e, err := s.AwaitAnswer(ctx, c.Sent, c.ID, within)
	if long := (*TooLong)(nil); err == nil || errors.As(err, &long) {
		return e, err
	}
	return e, s.noAnswer(ctx, &NoAnswer{Method: c.Method, ID: c.ID, Waited: time.Since(began), Err: err})
}

// noAnswer adds the state of the peer, and how it ended where it has.
func (s *Session) noAnswer(ctx context.Context, none *NoAnswer) *NoAnswer {
	none.State = s.stateAfter(ctx, none.Err)
	if over := s.Over(); none.State == Dead && over != nil && errors.Is(none.Err, errTimeout) {
		none.Err = over
	}
	return none
}

// Notify sends a notification.
func (s *Session) Notify(ctx context.Context, method string, params Params) (int, error) {
	return s.Send(ctx, Frame(wire.ID{}, method, params))
}

// Cancel takes back a request, as its revision and transport have it: by
// notifications/cancelled, over streamable HTTP since 2026-07-28 by closing the
// stream of its answer (basic/patterns/cancellation).
func (s *Session) Cancel(ctx context.Context, c *Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.link.withdraw(c.ID) {
		return nil
	}
	_, err := s.Notify(ctx, "notifications/cancelled", Params{"requestId": json.RawMessage(c.ID.Raw)})
	return err
}

// Barrier sends a request that a conforming peer answers at any time and waits
// for any answer to it. It says nothing of requests sent before, since servers
// answer out of order.
func (s *Session) Barrier(ctx context.Context) error {
	_, err := s.Request(ctx, s.Rev.Facts().Barrier, nil)
	return err
}

// A Liveness is the state of a peer.
type Liveness string

// The states: alive answers; mute answers other requests but not this one;
// desync runs but answers no request, or the wrong one; dead has ended.
const (
	Alive  Liveness = "alive"
	Mute   Liveness = "mute"
	Desync Liveness = "desync"
	Dead   Liveness = "dead"
)

// Liveness asks for the state of the peer now.
func (s *Session) Liveness(ctx context.Context) Liveness {
	if s.departed() != nil {
		return Dead
	}
	id := s.NextID()
	at, err := s.Send(ctx, Frame(id, s.Rev.Facts().Barrier, s.life.stamp(nil)))
	if err == nil {
		_, err = s.AwaitAnswer(ctx, at, id, s.opts.Timeout)
	}
	var refusal *Refusal
	var long *TooLong
	switch {
	case err == nil, errors.As(err, &long), errors.As(err, &refusal) && refusal.Status == http.StatusTooManyRequests:
		return Alive
	case s.departed() != nil:
		return Dead
	default:
		return Desync
	}
}

func (s *Session) stateAfter(ctx context.Context, err error) Liveness {
	var refusal *Refusal
	switch {
	case s.departed() != nil:
		return Dead
	case !errors.Is(err, errTimeout) && !errors.Is(err, errClosed) && !errors.As(err, &refusal):
		return Desync
	}
	if live := s.Liveness(ctx); live != Alive {
		return live
	}
	return Mute
}

// Unsent tells that a request did not reach the peer, so that no answer to it is
// due.
type Unsent struct {
	Method string
	ID     wire.ID
	Err    error
}

func (e *Unsent) Error() string {
	return fmt.Sprintf("%s (id %s) could not be sent: %v", e.Method, e.ID, e.Err)
}

func (e *Unsent) Unwrap() error { return e.Err }

// NoAnswer tells that a request was not answered, and the state of the peer.
type NoAnswer struct {
	Method string
	ID     wire.ID
	Waited time.Duration
	State  Liveness
	Err    error
}

func (e *NoAnswer) Error() string {
	request := fmt.Sprintf("%s (id %s)", e.Method, e.ID)
	told := errors.Is(e.Err, errClosed) || e.Refused() != nil
	switch e.State {
	case Mute:
		if told {
			return fmt.Sprintf("%s was answered with %v; the server answers other requests (mute)", request, e.Err)
		}
		return fmt.Sprintf("no answer to %s within %s; the server answers other requests (mute)", request, e.Waited.Round(time.Millisecond))
	case Desync:
		if told {
			return fmt.Sprintf("%s was answered with %v, and a barrier after it not at all (desync)", request, e.Err)
		}
		return fmt.Sprintf("no answer to %s within %s, nor to a %s after it; the process runs on (desync)", request, e.Waited.Round(time.Millisecond), "barrier")
	case Dead:
		return fmt.Sprintf("no answer to %s: %v (dead)", request, e.Err)
	}
	return fmt.Sprintf("no answer to %s: %v", request, e.Err)
}

// Refused returns what HTTP alone answered the request with; nil if it did not.
func (e *NoAnswer) Refused() (r *Refusal) {
	errors.As(e.Err, &r)
	return r
}

func (e *NoAnswer) Unwrap() error { return e.Err }
