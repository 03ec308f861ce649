package check

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Params are the members of the params object of a message.
type Params = session.Params

// A Call is a request that was sent.
type Call = session.Call

// T is the handle of a probe: it sends messages to the server, waits for messages
// and records the outcome. What only some probes need is in the handles HTTP, Auth,
// Config, Sessions and Client. A method that waits for an answer ends the body if
// none comes before the deadline; the methods whose names begin with Try return the
// error instead. Gomega asserts on a T, see package match.
type T struct {
	Rev   spec.Revision
	Facts spec.Facts

	id, hint    string // of the check
	ctx         context.Context
	s           *session.Session
	pool        *session.Pool
	allow       func(tool string) bool
	given       Given
	out         *Outcome
	from        int              // first frame of the body
	mark        int              // the offending frame, or -1
	foreign     *wire.Transcript // the transcript of the offending frame in another session
	foreignMark int              // that frame
	undo        *[]func()        // called when the body has ended
	others      *[]*T            // the handles of further sessions
	chargedTo   func(method string) string
}

// Declares reports whether the server declared a capability ("tools",
// "tools.listChanged").
func (t *T) Declares(capability string) bool { return t.s.Declares(capability) }

// Capabilities returns the capabilities that the server declared.
func (t *T) Capabilities() gjson.Result { return t.s.ServerCapabilities() }

// Opening returns the outcome of the opening of the session.
func (t *T) Opening() session.Opening { return t.s.Opening }

// Transport returns the transport of the session.
func (t *T) Transport() transport.Kind { return t.pool.Transport() }

// Timeout returns how long an answer is waited for. It is longer than the timeout of the
// run if the server takes long for each answer and has several requests to answer.
func (t *T) Timeout() time.Duration { return t.s.Patience() }

// Request sends a request and returns its answer, a result or an error. A missing
// answer fails the check.
func (t *T) Request(method string, params Params) wire.Message {
	return t.RequireAnswer(t.Try(method, params))
}

// Try sends a request and returns its answer, or why there is none.
func (t *T) Try(method string, params Params) Reply {
	return t.reply(t.s.Request(t.ctx, method, params))
}

// RequireAnswer returns the message of a reply. A missing answer fails the check; a
// request that could not be sent makes it not observed.
func (t *T) RequireAnswer(r Reply) wire.Message {
	t.require(r.Err)
	t.mark = r.Index
	return r.Message
}

// RequireResult sends a request whose success is a condition of the rule and returns
// its result. An error makes the check not observed: another check judges whether
// the method works.
func RequireResult(t *T, method string, params Params) gjson.Result {
	m := t.Request(method, params)
	if m.Kind != wire.Result || !m.Result().IsObject() {
		t.NotObserved(fmt.Sprintf("%s was answered with %s", method, m.Summary()), "answer "+method+" with a result")
	}
	return m.Result()
}

// reply makes a Reply of what a session returns and marks the answer, or the request
// that got none.
func (t *T) reply(e wire.Entry, err error) Reply {
	t.interrupted()
	t.noteGivenUp(err)
	t.noteUnanswered(err)
	t.foreign = nil
	if none := (*session.NoAnswerError)(nil); errors.As(err, &none) && none.FrameIndex > 0 {
		t.mark = none.FrameIndex
	}
	if err == nil {
		t.mark = e.Index
		if took := t.s.Lateness(e.Index); took > 0 {
			t.Note("the answer in frame %d came after the deadline, within %s", e.Index, took.Round(time.Millisecond))
		}
	}
	return Reply{Entry: e, Err: err}
}

// keepOpen is what helps where a message could not be sent.
const keepOpen = "keep the connection open, and read what mcpcheck sends"

// require ends the body if a request failed.
func (t *T) require(err error) {
	if err == nil {
		return
	}
	if t.ctx.Err() == nil {
		t.interrupted()
	}
	var none *session.NoAnswerError
	var long *session.AnswerTooLongError
	var unsent *session.NotSentError
	var givenUp *session.GivenUpError
	switch {
	case t.ctx.Err() != nil:
		t.out.State, t.out.Cause = NotRun, context.Cause(t.ctx).Error()
		panic(stop{})
	case errors.As(err, &givenUp):
		t.out.State, t.out.Detail, t.out.Cause = NotRun, givenUp.Error(), t.chargedTo(givenUp.Method)
		panic(stop{})
	case errors.As(err, &none):
		if none.IsTimeout() {
			late := t.s.ExpectLater(none.FrameIndex, ResponseTo(none.ID))
			t.out.awaited = append(t.out.awaited, awaitedMessage{late, t.s.Transcript, none.FrameIndex, NotObserved})
		}
		t.Fail("an answer to "+none.Method, string(none.State), "%v", err)
	case errors.As(err, &long):
		t.NotObserved(err.Error(), "send shorter answers")
	case errors.As(err, &unsent):
		t.out.unsent = true
		t.NotObserved(err.Error(), keepOpen)
	default:
		// Whether a write succeeds while the server ends is a race; the check whose
		// request stays unanswered reports the end.
		t.out.unsent = true
		t.NotObserved(fmt.Sprintf("the stimulus could not be sent: %v", err), keepOpen)
	}
}

// noteGivenUp records that a message was not sent because it is given up.
func (t *T) noteGivenUp(err error) {
	if givenUp := (*session.GivenUpError)(nil); errors.As(err, &givenUp) {
		t.out.gaveUp = givenUp.Method
	}
}

// noteUnanswered records that a request got no answer.
func (t *T) noteUnanswered(err error) {
	none := (*session.NoAnswerError)(nil)
	if t.out.unanswered = errors.As(err, &none) || t.out.unanswered; none != nil && none.IsTimeout() &&
		none.State == session.OutOfSync {
		t.out.hung = t.s
	}
}

// interrupted ends the body if the run has ended, or if this side ended the session since
// the body needs another one beside it and the target serves one at a time.
func (t *T) interrupted() {
	if t.ctx.Err() != nil {
		t.require(t.ctx.Err())
	}
	if t.s.IsDisplaced() {
		t.NotObserved("the session was ended for another one, since sessions are opened one after another: "+
			t.pool.SerialReason(), "let the server serve two sessions at once")
	}
}

// Start sends a request without waiting, with the given id if there is one.
func (t *T) Start(method string, params Params, id ...wire.ID) *Call {
	of := t.s.NextID()
	if len(id) > 0 {
		of, t.out.crafted = id[0], true
	}
	c, err := t.s.StartWithID(t.ctx, of, method, params)
	t.require(err)
	return c
}

// TryStart is like Start but returns why the request could not be sent.
func (t *T) TryStart(method string, params Params) (*Call, error) {
	call, err := t.s.Start(t.ctx, method, params)
	t.interrupted()
	t.noteGivenUp(err)
	return call, err
}

// Answer returns the answer to a call. A missing answer fails the check.
func (t *T) Answer(c *Call) wire.Message { return t.RequireAnswer(t.reply(c.Answer(t.ctx))) }

// TryAnswer returns the answer to a call if one comes in the given time.
func (t *T) TryAnswer(c *Call, within time.Duration) Reply {
	ctx, done := context.WithTimeout(t.ctx, within)
	defer done()
	return t.reply(c.Answer(ctx))
}

// Cancel cancels a request in the way of its revision and transport. If the
// connection has ended it does nothing.
func (t *T) Cancel(c *Call) {
	_ = t.s.Cancel(t.ctx, c)
	t.interrupted()
}

// Notify sends a notification and returns the index of its frame.
func (t *T) Notify(method string, params Params) int {
	at, err := t.s.Notify(t.ctx, method, params)
	t.require(err)
	return at
}

// TryNotify is like Notify but returns why the notification could not be sent.
func TryNotify(t *T, method string, params Params) error {
	_, err := t.s.Notify(t.ctx, method, params)
	t.interrupted()
	return err
}

// Send writes the bytes of one message unchanged and returns the index of its
// frame.
func (t *T) Send(raw string) int {
	t.out.crafted = true
	at, err := t.s.Send(t.ctx, []byte(raw))
	t.require(err)
	return at
}

// SendChunks writes bytes in several writes, newlines included, and returns the index
// of the first frame. Between two writes it calls pause, if it is not nil, with that
// index: to wait for the answer that shows that the first chunk was read.
func (t *T) SendChunks(pause func(first int), chunks ...string) int {
	t.out.crafted = true
	if pause == nil {
		pause = func(int) {}
	}
	raw := make([][]byte, len(chunks))
	for i, c := range chunks {
		raw[i] = []byte(c)
	}
	at, err := t.s.SendChunksWithPause(t.ctx, pause, raw...)
	t.require(err)
	return at
}

// Await returns the first message after a frame that matches; ok is false if none
// comes in the given time, or the connection ends. Without a time it waits for the time
// of an answer, and then until the server has answered a request sent now.
func (t *T) Await(from int, match func(wire.Message) bool, within ...time.Duration) (m wire.Message, ok bool) {
	r := Reply{}
	if len(within) > 0 {
		r = t.reply(t.s.AwaitMessage(t.ctx, from, within[0], match))
	} else {
		r = t.reply(t.s.AwaitDue(t.ctx, from, match))
	}
	return r.Message, r.Err == nil
}

// AwaitBarrier looks for a message after a frame that the server should send, such
// as the error for what it cannot read, until it has answered a request sent now;
// over HTTP until the exchange is complete. If the body fails because the message
// is missing and it comes later in the session, the failure is withdrawn: servers
// answer out of order.
func (t *T) AwaitBarrier(from int, match func(wire.Message) bool) (m wire.Message, ok bool) {
	expected := t.s.ExpectLater(from, match)
	if expected.Found() == nil {
		_ = t.s.AwaitBarrier(t.ctx)
		t.HTTP().Settle(from)
	}
	if hit := expected.Found(); hit != nil {
		t.mark = hit.Index
		for _, part := range hit.Message.Elements() {
			if match(part) {
				return part, true
			}
		}
	}
	t.out.awaited = append(t.out.awaited, awaitedMessage{expected, t.s.Transcript, from, Kept})
	return wire.Message{}, false
}

// Forbid fails the check if a message comes after a frame that must not come. It
// looks until the server has answered a request sent now, and then until the
// session ends.
func (t *T) Forbid(from int, what string, match func(wire.Message) bool) {
	forbidden := t.s.Forbid(what, from, match)
	t.out.forbidden = append(t.out.forbidden, awaitedMessage{forbidden, t.s.Transcript, from, Violated})
	if err := t.s.AwaitBarrier(t.ctx); err != nil && forbidden.Found() == nil {
		t.NotObserved(fmt.Sprintf("the request after the stimulus was not answered: %v", err),
			"go on answering requests after what was sent")
	}
	if hit := forbidden.Found(); hit != nil {
		t.mark = hit.Index
		t.Fail(what, hit.Message.Summary(), "a forbidden answer was received: %s", hit.Message.Summary())
	}
}

// Attempt runs a body whose outcome does not count.
func Attempt(t *T, body func(*T)) {
	attempt := *t
	attempt.out, attempt.mark = &Outcome{}, -1
	defer func() {
		t.out.crafted = t.out.crafted || attempt.out.crafted
		t.out.unanswered = t.out.unanswered || attempt.out.unanswered
		if attempt.out.gaveUp != "" {
			t.out.gaveUp = attempt.out.gaveUp
		}
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			t.interrupted()
		}
	}()
	body(&attempt)
}

// Survives fails the check if the server no longer answers.
func (t *T) Survives(stimulus string) {
	t.out.crafted = true
	at, end := t.lastStimulus(), t.Len()
	if live := t.s.CheckLiveness(t.ctx); live != session.Alive {
		t.interrupted()
		t.requireStream(end)
		why := string(live)
		if over := t.s.ConnectionError(); over != nil {
			why += ": " + over.Error()
		}
		t.mark = at
		t.Fail("the server still answers", why, "after %s the server no longer answers (%s)", stimulus, why)
	}
}

// lastStimulus returns the index of the last frame of the body, of a request of a barrier
// only if it sent nothing else; -1 if it sent nothing.
func (t *T) lastStimulus() int {
	last, barrier := -1, -1
	for e := range t.s.Walk(t.from) {
		m := e.Message
		switch {
		case e.From != wire.Client:
		case m.Kind == wire.Request && m.Method() == t.Rev.Facts().BarrierMethod:
			barrier = e.Index
		default:
			last = e.Index
		}
	}
	if last < 0 {
		return barrier
	}
	return last
}

// requireStream ends the body if a server of HTTP+SSE ended the stream of the session
// with a message that it refused by a status. Frames from end on were sent afterwards.
func (t *T) requireStream(end int) {
	for at := end - 1; at >= 0 && t.Transport() == transport.SSE; at-- {
		t.HTTP().Settle(at)
		switch status := t.HTTP().Status(at); {
		case status >= 200 && status < 300:
			return
		case status >= 400 && status < 500 && status != http.StatusNotFound:
			t.NotObserved("the server ended the stream with a refusal, which http-sse.refused.survived reports", "")
		}
	}
}

// Over returns why the connection has ended, or nil.
func (t *T) Over() error { return t.s.ConnectionError() }

// Received returns the messages of the server from a frame on, batches taken apart.
func (t *T) Received(from int) []wire.Message {
	var out []wire.Message
	for e := range t.s.Walk(from) {
		if e.From == wire.Server {
			out = append(out, e.Message.Elements()...)
		}
	}
	return out
}

// Frames iterates over the frames of both sides from an index on that carry a message.
func (t *T) Frames(from int) iter.Seq[wire.Entry] { return t.s.Walk(from) }

// FrameAt returns the frame at an index, of either side.
func FrameAt(t *T, index int) wire.Entry {
	e, _ := t.s.Entry(index)
	return e
}

// Len returns how many frames there are so far.
func (t *T) Len() int { return t.s.Len() }

// NextID returns an unused request id.
func (t *T) NextID() wire.ID { return t.s.NextID() }

// Frame returns the bytes of a request as this revision requires it.
func (t *T) Frame(id wire.ID, method string, params Params) string {
	return string(wire.EncodeCall(id, method, t.s.AddRequestMeta(params)))
}
