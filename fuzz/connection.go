package fuzz

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An executor starts instances of a target and executes scripts on them.
type executor struct {
	target  transport.Target
	options session.Options
	server  *sharedServer

	ending      sync.WaitGroup // connections that are being ended
	endingSlots chan struct{}  // bounds them

	mu            sync.Mutex
	starts        int
	maxTimeout    time.Duration // of one answer
	minTimeout    time.Duration // of one answer, if the target is known to be fast; 0 for maxTimeout always
	slowestAnswer time.Duration // how long the slowest answer so far took
}

// maxFrames is how many frames a session may hold: many plans are executed in
// one.
const maxFrames = 100_000

func newExecutor(target transport.Target, options session.Options, timeout time.Duration) *executor {
	options.MaxFrames = max(options.MaxFrames, maxFrames)
	return &executor{
		target: target, options: options, server: newSharedServer(target, options, nil),
		endingSlots: make(chan struct{}, 8), maxTimeout: timeout,
	}
}

// A connection is an open session in which scripts are executed, one after
// another.
type connection struct {
	*session.Conn
	executor   *executor
	rev        spec.Revision
	opening    []wire.Frame // all frames of the opening, of both sides
	generation int          // of the shared server when the session was opened
	usedIDs    map[string]bool
	plans      int      // executed in the session
	history    []script // the same as scripts

	livenessRequests int
	// Of the script that is executed:
	sentOddAnswer bool  // a mutated answer was sent to the peer
	answerFrames  []int // indices of our answers
}

// open starts an instance of the target and opens a session as a script says. It
// fails if the peer does not answer the opening.
func (x *executor) open(ctx context.Context, s script) (*connection, error) {
	generation, within := x.server.beginOpening(x)
	c, err := x.openWithin(ctx, s, within)
	if err != nil && ctx.Err() == nil && x.server.restart(ctx, generation) {
		c, err = x.openWithin(ctx, s, x.openTimeout())
	}
	return c, err
}

func (x *executor) openWithin(ctx context.Context, s script, within time.Duration) (*connection, error) {
	x.mu.Lock()
	x.starts++
	x.mu.Unlock()
	generation := x.server.currentGeneration()
	conn, err := session.NewLauncher(x.target, x.options).Take(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", x.target, err)
	}
	conn.UseRevision(s.rev)
	c := &connection{Conn: conn, executor: x, rev: s.rev, usedIDs: map[string]bool{}, generation: generation}
	answers := slices.Clone(s.answers)
	for _, f := range s.opening {
		m := f.Message()
		at, err := c.Send(ctx, f.Raw)
		if err == nil && m.Kind == wire.Request {
			_, err = c.answerTo(ctx, at, m.ID(), within, answers)
		}
		if err != nil {
			c.end(false)
			return nil, fmt.Errorf("open a session at %s: no answer to %s: %w", s.rev, m.Method(), err)
		}
	}
	c.opening = c.Frames(0)
	return c, nil
}

// openTimeout returns how long the answer to an opening is awaited: longer if a
// process is started for it.
func (x *executor) openTimeout() time.Duration {
	if x.server.isShared {
		return max(x.server.openTimeout, x.options.Timeout)
	}
	return x.options.StartTimeout
}

// startCount returns how often the target was started.
func (x *executor) startCount() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.starts
}

// close waits until all connections that are being ended have ended.
func (x *executor) close() { x.ending.Wait() }

// isUsable reports whether another script can be executed in the session: it is
// open, and the server was not suspect since it was opened.
func (c *connection) isUsable() bool {
	return c.ConnectionError() == nil && c.generation == c.executor.server.currentGeneration()
}

// reusesID reports whether one of the messages has an id that was used in the
// session.
func (c *connection) reusesID(messages []wire.Message) bool {
	for _, whole := range messages {
		for _, m := range whole.Elements() {
			if id := m.ID(); id.IsValid() && c.usedIDs[id.Key()] {
				return true
			}
		}
	}
	return false
}

// end ends the connection in the background: in order, or at once by a kill.
func (c *connection) end(kill bool) {
	x := c.executor
	x.ending.Add(1)
	x.endingSlots <- struct{}{}
	end := func() {
		defer x.ending.Done()
		defer func() { <-x.endingSlots }()
		if kill {
			c.Kill()
			return
		}
		c.Close()
	}
	if x.options.Serial {
		end()
		return
	}
	go end()
}

// answerTo awaits the answer to the request that was sent as the frame at an
// index. Over HTTP a status alone may refuse the request.
func (c *connection) answerTo(
	ctx context.Context, at int, id wire.ID, within time.Duration, answers []answer,
) (wire.Entry, error) {
	if c.executor.server.isShared {
		return c.AwaitAnswer(ctx, at, id, within)
	}
	return c.await(ctx, at, within, answers, func(e wire.Entry) bool {
		return e.Message.IsResponse() && e.Message.ID().Equal(id)
	})
}

// await returns the first frame of the server from an index on for which match
// returns true. It answers the requests of the server. match gets the messages
// of a batch one by one, and frames without a message.
func (c *connection) await(
	ctx context.Context, from int, within time.Duration, answers []answer, match func(wire.Entry) bool,
) (wire.Entry, error) {
	return c.AwaitFrame(ctx, from, within, func(e wire.Entry) (found bool) {
		if e.IsTransportOnly() {
			return match(e)
		}
		for _, element := range e.Message.Elements() {
			if element.Kind == wire.Request {
				c.answerRequest(ctx, element, answers)
			}
			one := e
			one.Message = element
			if match(one) {
				found = true
			}
		}
		return found
	})
}

// methodNotFound answers a request whose method no answer is for.
const methodNotFound = `{"jsonrpc":"2.0","id":0,` +
	`"error":{"code":-32601,"message":"this client does not offer the method"}}`

// answerRequest answers a request of the server with the first of the answers
// for its method. It removes that answer if there is another one. In the
// stateless era no server may send a request, so that none is answered.
func (c *connection) answerRequest(ctx context.Context, request wire.Message, answers []answer) {
	id := request.ID()
	if c.rev.Facts().Stateless || !id.IsValid() {
		return
	}
	raw := withID(methodNotFound, id)
	hasMethod := func(a answer) bool { return a.method == request.Method() }
	if i := slices.IndexFunc(answers, hasMethod); i >= 0 {
		raw = withID(answers[i].raw, id)
		if slices.ContainsFunc(answers[i+1:], hasMethod) {
			answers[i].method = ""
			c.sentOddAnswer = true
		}
	}
	// If the peer does not read, the answer is lost. The liveness request shows it.
	if at, _ := c.Send(ctx, []byte(raw)); at >= 0 {
		c.answerFrames = append(c.answerFrames, at)
	}
}

// answerWasRateLimited reports whether the server refused an answer of ours
// because of a rate limit. It then goes on waiting for the answer.
func (c *connection) answerWasRateLimited() bool {
	return slices.ContainsFunc(c.answerFrames, func(at int) bool {
		r := c.FailureStatus(at)
		return r != nil && r.Status == http.StatusTooManyRequests
	})
}

// withID returns an answer with the id of a request in place of its own, if it
// has one.
func withID(raw string, id wire.ID) string {
	own := gjson.Get(raw, "id")
	if !own.Exists() || own.Index == 0 {
		return raw
	}
	return raw[:own.Index] + id.Raw + raw[own.Index+len(own.Raw):]
}

// answerTimeout returns how long an answer is awaited now: many times as long as
// the slowest answer so far took.
func (x *executor) answerTimeout() time.Duration {
	const factor = 30
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.minTimeout == 0 {
		return x.maxTimeout
	}
	return min(x.maxTimeout, max(x.minTimeout, factor*x.slowestAnswer))
}

// doubleTimeout doubles the time that an answer is awaited, up to a limit. It is
// called after an answer that was taken for missing arrived late.
func (x *executor) doubleTimeout(limit time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.maxTimeout = min(2*x.maxTimeout, limit)
	x.minTimeout = min(2*x.minTimeout, x.maxTimeout)
}

// recordAnswerTime records how long an answer took.
func (x *executor) recordAnswerTime(took time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slowestAnswer = max(x.slowestAnswer, took)
}
