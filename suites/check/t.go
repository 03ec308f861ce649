package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
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

// T is the handle of a probe. Its methods that wait end the body when what is
// due does not come; gomega may be built on it by NewWithT.
type T struct {
	Rev   spec.Revision
	Facts spec.Facts

	ctx   context.Context
	s     *session.Session
	pool  *session.Pool
	allow func(tool string) bool
	given Given
	out   *Outcome
	from  int       // first frame of the body
	mark  int       // the offending frame, or -1
	undo  *[]func() // once the body has ended
}

type watched struct {
	ban        *session.Ban
	transcript *wire.Transcript
	from       int
}

// stop unwinds a body; the outcome is already written.
type stop struct{}

// Helper is there for gomega.
func (t *T) Helper() {}

// Fatalf says that the rule is broken and ends the body.
func (t *T) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.out.State = Violated
	t.out.Detail, t.out.Expected, t.out.Got = split(text)
	t.tellRefusal()
	t.out.Frames = excerpt(t.s.Transcript, t.from, t.mark)
	panic(stop{})
}

// tellRefusal notes where HTTP alone refused something of the body's, which may
// be why an answer is missing.
func (t *T) tellRefusal() {
	for _, e := range t.s.EntriesFrom(t.from) {
		if e.From != wire.Client {
			continue
		}
		if r := t.s.Refused(e.Index); r != nil {
			if told := r.Error(); !strings.Contains(t.out.Detail, told) {
				t.Note("the %s was refused with %s", e.Message.Summary(), told)
			}
			return
		}
	}
}

// split takes gomega's message apart: matchers of internal/match write
// "Expected …\n to …" with the parts on lines of their own.
func split(text string) (detail, expected, got string) {
	text = strings.TrimSpace(text)
	if head, rest, ok := strings.Cut(text, "\nexpected: "); ok {
		if want, have, ok := strings.Cut(rest, "\ngot: "); ok {
			return strings.Join(strings.Split(strings.TrimSpace(head), "\n"), ": "), want, have
		}
	}
	return strings.Join(strings.Fields(text), " "), "", ""
}

// Fail says that the rule is broken: what was expected, what came instead, and
// what happened in one sentence.
func (t *T) Fail(expected, got, format string, args ...any) {
	t.Fatalf("%s\nexpected: %s\ngot: %s", fmt.Sprintf(format, args...), expected, got)
}

// NotObserved says that nothing gave the rule a subject, what would, and ends
// the body.
func (t *T) NotObserved(why, hint string) {
	t.out.State, t.out.Detail, t.out.Hint = NotObserved, why, hint
	panic(stop{})
}

// NotApplicable says that the rule is not for this server, and ends the body.
func (t *T) NotApplicable(why string) {
	t.out.State, t.out.Detail = NotApplicable, why
	panic(stop{})
}

// Note adds what no clause judges but a reader wants to know.
func (t *T) Note(format string, args ...any) {
	t.out.Notes = append(t.out.Notes, fmt.Sprintf(format, args...))
}

// Mark names the frame at fault. A frame of another session, as what Memo
// remembers may be, stays unmarked.
func (t *T) Mark(e wire.Entry) {
	if here := t.s.EntriesFrom(e.Index); len(here) > 0 && here[0].At == e.At && bytes.Equal(here[0].Raw, e.Raw) {
		t.mark = e.Index
	}
}

// Marked returns the index of the frame that was marked last: by Mark, or as
// the answer to a request; -1 for none.
func (t *T) Marked() int { return t.mark }

// Declares tells whether the server declared a capability ("tools",
// "tools.listChanged").
func (t *T) Declares(capability string) bool { return t.s.Declares(capability) }

// Opening returns what the opening of the session came to.
func (t *T) Opening() session.Opening { return t.s.Opening }

func (t *T) due(err error) {
	if err == nil {
		return
	}
	var none *session.NoAnswer
	var long *session.TooLong
	var unsent *session.Unsent
	switch {
	case t.ctx.Err() != nil:
		t.out.State, t.out.Cause = NotRun, context.Cause(t.ctx).Error()
		panic(stop{})
	case errors.As(err, &none):
		t.Fail("an answer to "+none.Method, string(none.State), "%v", err)
	case errors.As(err, &long):
		t.NotObserved(err.Error(), "")
	case errors.As(err, &unsent):
		t.out.unsent = true
		t.NotObserved(err.Error(), "")
	default:
		// Whether a write reaches a server that is ending is a matter of luck;
		// what ended it is for the check whose request stays unanswered.
		t.out.unsent = true
		t.NotObserved(fmt.Sprintf("the stimulus could not be sent: %v", err), "")
	}
}

// Request sends a request and returns its answer, a result or an error. No
// answer before the deadline breaks the rule.
func (t *T) Request(method string, params Params) wire.Message {
	e, err := t.s.Request(t.ctx, method, params)
	t.due(err)
	t.mark = e.Index
	return e.Message
}

// TryFrame is Try for who needs the frame of the answer, or why none came.
func (t *T) TryFrame(method string, params Params) (wire.Entry, error) {
	e, err := t.s.Request(t.ctx, method, params)
	t.interrupted()
	return e, err
}

// TryStart is TryFrame without waiting.
func (t *T) TryStart(method string, params Params) (*Call, error) {
	call, err := t.s.Start(t.ctx, method, params)
	t.interrupted()
	return call, err
}

// TryAnswer waits for the answer to a call, at most so long; that none came is
// an error.
func (t *T) TryAnswer(call *Call, within time.Duration) (wire.Entry, error) {
	ctx, done := context.WithTimeout(t.ctx, within)
	defer done()
	e, err := call.Answer(ctx)
	t.interrupted()
	return e, err
}

// TryNotify sends a notification; that it could not be sent is an error.
func (t *T) TryNotify(method string, params Params) error {
	_, err := t.s.Notify(t.ctx, method, params)
	t.interrupted()
	return err
}

// Cancel takes back a request, as its revision and transport have it; if the
// connection is over there is nothing to take back.
func (t *T) Cancel(c *Call) {
	_ = t.s.Cancel(t.ctx, c)
	t.interrupted()
}

// interrupted ends the body when the run has ended.
func (t *T) interrupted() {
	if t.ctx.Err() != nil {
		t.due(t.ctx.Err())
	}
}

// Try sends a request whose answer is judged elsewhere, or later; ok is false
// if none came before the deadline or the connection ended.
func (t *T) Try(method string, params Params) (m wire.Message, ok bool) {
	e, err := t.s.Request(t.ctx, method, params)
	if err != nil {
		if t.ctx.Err() != nil {
			t.due(err)
		}
		return wire.Message{}, false
	}
	t.mark = e.Index
	return e.Message, true
}

// Result sends a request whose success is a condition of the rule, and returns
// the result. An error answer makes the rule not observed, since whether the
// method works has a check of its own.
func (t *T) Result(method string, params Params) gjson.Result {
	m := t.Request(method, params)
	if m.Kind != wire.Result || !m.Result().IsObject() {
		t.NotObserved(fmt.Sprintf("%s was answered with %s", method, m.Summary()), "")
	}
	return m.Result()
}

// Start sends a request without waiting, under an id of the caller's if one is
// given.
func (t *T) Start(method string, params Params, id ...wire.ID) *session.Call {
	call := t.s.NextID()
	if len(id) > 0 {
		call = id[0]
	}
	c, err := t.s.StartID(t.ctx, call, method, params)
	t.due(err)
	return c
}

// Answer waits for the answer to a call.
func (t *T) Answer(c *session.Call) wire.Message {
	e, err := c.Answer(t.ctx)
	t.due(err)
	t.mark = e.Index
	return e.Message
}

// Notify sends a notification and returns the index of its frame.
func (t *T) Notify(method string, params Params) int {
	at, err := t.s.Notify(t.ctx, method, params)
	t.due(err)
	return at
}

// Send writes the bytes of one message as they are and returns the index of
// its frame.
func (t *T) Send(raw string) int {
	at, err := t.s.Send(t.ctx, []byte(raw))
	t.due(err)
	return at
}

// SendChunks writes bytes in several writes, newlines included.
func (t *T) SendChunks(chunks ...string) int {
	return t.SendPaused(func(int) {}, chunks...)
}

// SendPaused does the same, and calls pause with the index of the first frame
// between one write and the next: for an answer that shows that the first was
// read before the second is written.
func (t *T) SendPaused(pause func(first int), chunks ...string) int {
	raw := make([][]byte, len(chunks))
	for i, c := range chunks {
		raw[i] = []byte(c)
	}
	at, err := t.s.SendPaused(t.ctx, pause, raw...)
	t.due(err)
	return at
}

// Await returns the first message after a frame that matches; ok is false if
// none came before the deadline or the connection ended.
func (t *T) Await(from int, match func(wire.Message) bool) (m wire.Message, ok bool) {
	return t.AwaitWithin(from, t.s.Patience(), match)
}

// AwaitWithin is Await for what need not come, at most so long.
func (t *T) AwaitWithin(from int, within time.Duration, match func(wire.Message) bool) (m wire.Message, ok bool) {
	e, err := t.s.Await(t.ctx, from, within, match)
	if err != nil {
		if t.ctx.Err() != nil {
			t.due(err)
		}
		return wire.Message{}, false
	}
	t.mark = e.Index
	return e.Message, true
}

// TryAwait tells whether a message that matches comes after a frame, at most so
// long.
func (t *T) TryAwait(from int, within time.Duration, match func(wire.Message) bool) bool {
	_, err := t.s.Await(t.ctx, from, within, match)
	t.interrupted()
	return err == nil
}

// AwaitBehind looks for an answer that only should come, such as one to what
// could not be read: up to a barrier sent now, over HTTP to the end of its exchange. The body fails where it is
// missing; should it come later in the session, that failure is taken back,
// since servers answer out of order.
func (t *T) AwaitBehind(from int, match func(wire.Message) bool) (m wire.Message, ok bool) {
	hope := t.s.Hope(from, match)
	if hope.Hit() == nil {
		_ = t.s.Barrier(t.ctx)
		t.Settle(from)
	}
	if hit := hope.Hit(); hit != nil {
		t.mark = hit.Index
		for _, part := range hit.Message.Elements() {
			if match(part) {
				return part, true
			}
		}
	}
	t.out.hopes = append(t.out.hopes, watched{hope, t.s.Transcript, from})
	return wire.Message{}, false
}

// Settle waits until the exchange of HTTP is whole in which we sent a message, at
// most as long as for an answer; another exchange may have come to its end before
// it. On stdio nothing is waited for.
func (t *T) Settle(at int) { t.s.Settle(t.ctx, at, t.s.Patience()) }

// Refused tells whether HTTP alone refused what was sent at a frame: a failure
// status without a message, which is how a server says that it cannot accept it
// (basic/transports#sending-messages-to-the-server).
func (t *T) Refused(at int) bool { return t.s.Refused(at) != nil }

// Judgeable ends the body where HTTP alone refused what was sent at a frame:
// the rule is about a message that need not be there then.
func (t *T) Judgeable(at int) {
	if r := t.s.Refused(at); r != nil {
		t.NotObserved(fmt.Sprintf("it was refused with %v", r), "")
	}
}

// Forbid looks for messages that must not come after a frame, up to a barrier
// sent now and then until the session's end.
func (t *T) Forbid(from int, what string, match func(wire.Message) bool) {
	ban := t.s.Forbid(what, from, match)
	t.out.bans = append(t.out.bans, watched{ban, t.s.Transcript, from})
	if err := t.s.Barrier(t.ctx); err != nil && ban.Hit() == nil {
		t.NotObserved(fmt.Sprintf("the barrier behind the stimulus was not answered: %v", err), "")
	}
	if hit := ban.Hit(); hit != nil {
		t.mark = hit.Index
		t.Fail(what, hit.Message.Summary(), "a forbidden answer came: %s", hit.Message.Summary())
	}
}

// Trial runs a body whose failure decides nothing.
func (t *T) Trial(body func(*T)) {
	trial := *t
	trial.out, trial.mark = &Outcome{}, -1
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stop); !ok {
				panic(r)
			}
			t.interrupted()
		}
	}()
	body(&trial)
}

// Survives asserts that the server still answers.
func (t *T) Survives(stimulus string) {
	if live := t.s.Liveness(t.ctx); live != session.Alive {
		if t.ctx.Err() != nil {
			t.due(t.ctx.Err())
		}
		why := string(live)
		if over := t.s.Over(); over != nil {
			why += ": " + over.Error()
		}
		t.Fail("the server still answers", why, "after %s the server no longer answers (%s)", stimulus, why)
	}
}

// Over returns why the connection is over, or nil.
func (t *T) Over() error { return t.s.Over() }

// Received returns the messages of the server from an index on, batches taken
// apart.
func (t *T) Received(from int) []wire.Message {
	var out []wire.Message
	for _, e := range t.s.EntriesFrom(from) {
		if e.From == wire.Server {
			out = append(out, e.Message.Elements()...)
		}
	}
	return out
}

// Sent returns the messages that we sent from an index on.
func (t *T) Sent(from int) []wire.Message {
	var out []wire.Message
	for _, e := range t.s.EntriesFrom(from) {
		if e.From == wire.Client {
			out = append(out, e.Message.Elements()...)
		}
	}
	return out
}

// Frames returns the frames of both sides from an index on, as they are.
func (t *T) Frames(from int) []wire.Entry { return t.s.EntriesFrom(from) }

// Transport returns what the server is spoken to over.
func (t *T) Transport() transport.Kind { return t.pool.Transport() }

// Len returns how many frames there are so far.
func (t *T) Len() int { return t.s.Len() }

// Timeout is how long an answer is waited for.
func (t *T) Timeout() time.Duration { return t.pool.Timeout() }

// NextID returns an unused request id.
func (t *T) NextID() wire.ID { return t.s.NextID() }

// Frame returns the bytes of a request as this revision wants it.
func (t *T) Frame(id wire.ID, method string, params Params) string {
	return string(session.Frame(id, method, t.s.Stamp(params)))
}

// Open speaks the opening on a bare session and returns what came of it.
func (t *T) Open() session.Opening { return t.s.Open(t.ctx, t.pool.StartTimeout()) }

// Another returns the handle of a second session beside the first: bare, or
// open at the same revision.
func (t *T) Another(bare bool) *T {
	take := t.pool.Fresh
	if bare {
		take = t.pool.Bare
	}
	return t.beside(take(t.ctx))
}

// Elsewhere returns the handle of a bare second session that is used at
// another revision. The judges of this one do not look at it.
func (t *T) Elsewhere(rev spec.Revision) *T { return t.beside(t.pool.BareAt(t.ctx, rev)) }

func (t *T) beside(s *session.Session, err error) *T {
	if err != nil {
		t.out.State, t.out.Cause, t.out.Detail = NotRun, err.Error(), "no other session for this check"
		panic(stop{})
	}
	other := *t
	other.s, other.from, other.mark = s, s.Len(), -1
	other.Rev, other.Facts = s.Rev, s.Rev.Facts()
	return &other
}

// On returns the handle of this check on the session of another handle, such
// as one that a Memo kept: what it says is said of this check, with the frames
// of that session.
func (t *T) On(other *T) *T {
	same := *other
	same.ctx, same.out, same.undo = t.ctx, t.out, t.undo
	return &same
}

// Leave ends the session of a handle got by Another, without waiting for it.
func (t *T) Leave() { go t.s.Close() }

// End closes the input of the server and returns how it ended.
func (t *T) End() wire.Ending {
	t.s.Close()
	return *t.s.Ending()
}

// Capabilities returns what the server declared.
func (t *T) Capabilities() gjson.Result { return t.s.Capabilities() }

// Memo returns what make returned when it was first called under a key at this
// revision: what several checks look at is asked for once. A make that ends
// the body, or that a limit on the rate of requests turned away, is called again
// by the next check.
func Memo[V any](t *T, key string, make func() V) V {
	if v, ok := t.pool.Memo(key); ok {
		return v.(V)
	}
	limited := t.pool.Limited()
	v := make()
	if t.pool.Limited() == limited {
		t.pool.Remember(key, v)
	}
	return v
}

// Recall returns what Memo keeps under a key; ok is false if nothing is.
func Recall[V any](t *T, key string) (v V, ok bool) {
	kept, ok := t.pool.Memo(key)
	if ok {
		v = kept.(V)
	}
	return v, ok
}

// Learn notes something of the server that holds at every revision, and Learnt
// tells whether it was noted: what costs time is found out once.
func (t *T) Learn(what string)       { t.pool.Learn(what) }
func (t *T) Learnt(what string) bool { return t.pool.Learnt(what) }
