package streams

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// A resumption is the outcome of an experiment with two concurrent calls of a tool:
// the connection of one is closed before its answer, the other runs to its end, and
// the streams of both are resumed at one of their events.
type resumption struct {
	why, hint      string // why there is no outcome
	tool           string
	broken         resumedCall // its connection was closed
	whole          resumedCall // it ran to its end
	unfinished     bool        // the broken call was not answered when its connection was closed
	wholeSucceeded bool
}

// A resumedCall is a call whose stream was read up to an event and then resumed.
type resumedCall struct {
	id       wire.ID
	token    string // as JSON
	exchange *check.PendingExchange
	events   []wire.Entry             // received before the stream was resumed
	at       int                      // index of the event at which it was resumed first
	resumed  []*check.PendingExchange // the streams that resumed it, in order
	why      string                   // why there is none, or no further one
	open     bool                     // the last of them had not ended when the time was over
}

var resumptionKey = check.NewKey[*resumption]("resumed calls")

// resumeCalls makes the experiment, once at this revision.
func resumeCalls(t *check.T) *resumption {
	return check.Once(t, resumptionKey, func() *resumption {
		c := toolcalls.Calls(t)
		call, ok := c.LongestCancellable()
		if !ok {
			why := fmt.Sprintf("no tool that may be called reports progress %d times within %s",
				toolcalls.MinReports, toolcalls.MaxWork)
			return &resumption{why: why, hint: cmp.Or(check.AllowHint(c.NotAllowed), offerLongCall)}
		}
		r := &resumption{
			tool:   call.Tool.Get("name").String(),
			broken: resumedCall{token: `"mcpcheck-lost-` + t.NextID().Raw + `"`},
			whole:  resumedCall{token: `"mcpcheck-twin-` + t.NextID().Raw + `"`},
		}
		r.run(t, call)
		return r
	})
}

// run makes the calls in a second session.
func (r *resumption) run(t *check.T, call toolcalls.Call) {
	b, why := posting.TryOpenSession(t)
	if why != "" {
		r.why, r.hint = "a second session could not be opened: "+why, "let the server open several sessions at once"
		return
	}
	defer b.End()
	for _, c := range r.calls() {
		call.Token, c.id = c.token, t.NextID()
		x, err := b.TryPost(t.Frame(c.id, "tools/call", call.Params()))
		if err != nil || !x.IsEventStream() {
			r.why = fmt.Sprintf("a call of %q was not answered with an event stream", r.tool)
			r.hint = streamAnswer
			return
		}
		defer x.Close()
		c.exchange = x
	}
	t.HTTP().Await(r.broken.exchange, t.Timeout(), func(known *wire.Exchange) bool {
		n := len(identifiedMessages(known.Events()))
		return n >= 2 || n == 0 && len(known.Messages()) >= 2
	})
	if len(identifiedMessages(r.broken.exchange.Snapshot().Events())) == 0 {
		r.why = "the events of streams have no ids, so that no stream can be resumed"
		return
	}
	r.broken.exchange.Close()
	r.broken.events = r.broken.exchange.Snapshot().Events()
	r.unfinished = !slices.ContainsFunc(messagesOf(r.broken.events), wire.Message.IsResponse)
	answer, ok := t.HTTP().Response(r.whole.exchange)
	r.wholeSucceeded = ok && isSuccess(answer)
	t.HTTP().Complete(r.whole.exchange)
	r.whole.events = r.whole.exchange.Snapshot().Events()
	for _, c := range r.calls() {
		c.resume(b, max(2*call.Took, t.Timeout()/4))
	}
}

// calls returns both calls.
func (r *resumption) calls() []*resumedCall { return []*resumedCall{&r.broken, &r.whole} }

// other returns the call beside one of the two.
func (r *resumption) other(c *resumedCall) *resumedCall {
	if c == &r.broken {
		return &r.whole
	}
	return &r.broken
}

// requireResumed returns the calls whose streams were resumed. Without any the check
// is not observed.
func (r *resumption) requireResumed(t *check.T) []*resumedCall {
	if r.why != "" {
		t.NotObserved(r.why, r.hint)
	}
	resumed := slices.DeleteFunc(r.calls(), func(c *resumedCall) bool { return len(c.resumed) == 0 })
	if len(resumed) == 0 {
		t.NotObserved("no stream could be resumed: "+r.broken.why, resumeStreams)
	}
	return resumed
}

// resume resumes the stream at its first message with an id and reads up to the
// response, for at most the given time. A server need not keep streams. One that does
// may end them at any time, and the client resumes them at the last event that it
// received (basic/transports#listening-for-messages-from-the-server).
func (c *resumedCall) resume(b *posting.RawSession, within time.Duration) {
	identified := identifiedMessages(c.events)
	if len(identified) < 2 {
		c.why = "fewer than two events of the stream had a message and an id"
		return
	}
	c.at = identified[0]
	last, deadline := c.cursor().EventID(), time.Now().Add(within)
	for left := within; left > 0; left = time.Until(deadline) {
		x, err := b.TryRequest(http.MethodGet, posting.AcceptStream(), check.With("Last-Event-ID", last))
		if err != nil {
			c.why = err.Error()
			return
		}
		defer x.Close()
		if !x.IsEventStream() {
			c.why = "a GET with Last-Event-ID was answered with " + check.Describe(x)
			return
		}
		c.resumed = append(c.resumed, x)
		_, answered := b.T.HTTP().AwaitMessage(x, left, check.ResponseTo(c.id))
		if c.open = !x.Snapshot().HasEnded(); answered || c.open {
			return
		}
		var pause time.Duration
		last, pause = reconnection(x.Snapshot().Events(), last)
		b.T.Await(b.T.Len(), func(wire.Message) bool { return false }, min(pause, time.Until(deadline)))
	}
}

// leastPause is how long a client waits at least before it resumes a stream that
// ended.
const leastPause = 100 * time.Millisecond

// reconnection returns the id of the last event that has one, and how long the client
// waits before it resumes the stream.
func reconnection(events []wire.Entry, before string) (last string, pause time.Duration) {
	last, pause = before, leastPause
	for _, e := range events {
		if id := e.EventID(); id != "" {
			last = id
		}
		if ms, err := strconv.Atoi(e.HTTP.Event.Retry); err == nil {
			pause = max(pause, time.Duration(ms)*time.Millisecond)
		}
	}
	return last, pause
}

// cursor returns the event at which the stream was resumed first.
func (c *resumedCall) cursor() wire.Entry { return c.events[c.at] }

// resumedEvents returns the events of the streams that resumed this one.
func (c *resumedCall) resumedEvents() []wire.Entry {
	var all []wire.Entry
	for _, x := range c.resumed {
		all = append(all, x.Snapshot().Events()...)
	}
	return all
}

// replayed returns the messages of the call on the streams that resumed this one.
func (c *resumedCall) replayed() []wire.Message {
	return slices.DeleteFunc(messagesOf(c.resumedEvents()), func(m wire.Message) bool { return !c.isOwn(m) })
}

// isOwn reports whether a message is the answer to the call or progress of it.
func (c *resumedCall) isOwn(m wire.Message) bool {
	return check.ResponseTo(c.id)(m) || toolcalls.ReportsProgress(m, c.token)
}

// received reports whether a message came on the stream of the call, before it was
// resumed or after.
func (c *resumedCall) received(m wire.Message) bool {
	all := append(messagesOf(c.events), messagesOf(c.resumedEvents())...)
	return slices.ContainsFunc(all, func(other wire.Message) bool { return string(other.Raw) == string(m.Raw) })
}

// isBeforeCursor reports whether an event is one that the client had received when it
// resumed the stream: the event that it named, or one before it.
func (c *resumedCall) isBeforeCursor(e wire.Entry) bool {
	if !e.IsDispatched() || !e.Message.IsIdentifiable() {
		return false
	}
	return slices.ContainsFunc(c.events[:c.at+1], func(before wire.Entry) bool {
		id, other := e.HTTP.Event.ID, before.HTTP.Event.ID
		isSameID := id != nil && other != nil && *id == *other
		return bytes.Equal(before.Raw, e.Raw) && (c.isOwn(e.Message) || isSameID)
	})
}

// emptyEnds is how often a resumed stream must end without any event before it counts
// as finished.
const emptyEnds = 3

// isFinished reports whether the stream is finished: it was resumed until the time was
// over and ended without an event each time. A stream with a retry field may have
// something later.
func (c *resumedCall) isFinished() bool {
	if c.open || c.why != "" || slices.ContainsFunc(c.resumedEvents(), hasRetry) {
		return false
	}
	last := c.resumed[max(0, len(c.resumed)-emptyEnds):]
	isEvent := func(e wire.Entry) bool { return e.HTTP.Event.ID != nil || e.IsDispatched() }
	return len(last) == emptyEnds && !slices.ContainsFunc(last, func(x *check.PendingExchange) bool {
		return slices.ContainsFunc(x.Snapshot().Events(), isEvent)
	})
}

// identifiedMessages returns the indexes of the events that have a message and an id.
func identifiedMessages(events []wire.Entry) []int {
	var at []int
	for i, e := range events {
		if e.EventID() != "" && e.IsDispatched() && len(e.Raw) > 0 {
			at = append(at, i)
		}
	}
	return at
}

// messagesOf returns the messages in the data of events.
func messagesOf(events []wire.Entry) []wire.Message {
	var all []wire.Message
	for _, e := range events {
		if e.IsDispatched() && len(e.Raw) > 0 {
			all = append(all, e.Message.Elements()...)
		}
	}
	return all
}

// isSuccess reports whether an answer is a result without isError.
func isSuccess(m wire.Message) bool {
	return m.Kind == wire.Result && !m.Result().Get("isError").Bool()
}

// describeFailure names an answer that is no success.
func describeFailure(m wire.Message) string {
	if m.Kind == wire.Result {
		return "a result with isError true"
	}
	return m.Summary()
}
