package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// A cut is what came of breaking the connection of a call in its midst while its
// twin ran to its end, and of coming back to either stream by one of its events.
type cut struct {
	why, hint string // why there is none
	tool      string
	lost      lost // whose connection was broken
	twin      lost // which came to its end
	midst     bool // the call was not answered when its connection was broken
	fine      bool // the twin was answered with a success
}

// A lost stream is one that was read up to an event, and then taken up again.
type lost struct {
	id     wire.ID
	token  string // as JSON
	x      *check.Exchange
	seen   []transport.Event // up to the end, or until it was broken off
	cursor int               // the event by which it was taken up first, of those seen
	back   []*check.Exchange // the streams that took it up, one behind the other; none where the server gave none
	why    string            // why it gave none, or no more
	open   bool              // the last of them had not ended when the time was over
}

var cutOffKey = check.NewKey[*cut]("cut off")

// cutOff makes the experiment, once at this revision.
func cutOff(t *check.T) *cut {
	return check.Once(t, cutOffKey, func() *cut {
		c := toolcalls.Calls(t)
		one, ok := c.Walker()
		if !ok {
			return &cut{why: fmt.Sprintf("no tool that may be called reports progress %d times within %s", toolcalls.MinReports, toolcalls.MaxWork), hint: check.AllowHint(c.Held)}
		}
		k := &cut{tool: one.Tool.Get("name").String(), lost: lost{token: `"mcpcheck-lost"`}, twin: lost{token: `"mcpcheck-twin"`}}
		k.run(t, one)
		return k
	})
}

// run makes the calls. What keeps it from an end is noted as why.
func (k *cut) run(t *check.T, one toolcalls.Call) {
	b, why := posting.TryOpenSession(t)
	if why != "" {
		k.why = "a second session could not be opened: " + why
		return
	}
	defer b.End()
	for _, l := range []*lost{&k.lost, &k.twin} {
		one.Token, l.id = l.token, t.NextID()
		x, err := b.TryPost(t.Frame(l.id, "tools/call", one.Params()))
		if err != nil || !x.Streams() {
			k.why = fmt.Sprintf("a call of %q was not answered with an event stream", k.tool)
			return
		}
		defer x.Close()
		l.x = x
	}
	t.HTTP().Await(k.lost.x, t.Timeout(), func(x *check.Exchange) bool {
		return len(numbered(x.Events())) >= 2 || len(numbered(x.Events())) == 0 && len(x.Messages()) >= 2
	})
	if len(numbered(k.lost.x.Events())) == 0 {
		k.why = "the events of streams have no ids, so that none can be taken up again"
		return
	}
	k.lost.x.Close()
	k.lost.seen = k.lost.x.Events()
	k.midst = !slices.ContainsFunc(messagesOf(k.lost.seen), wire.Message.IsResponse)
	answer, ok := t.HTTP().Response(k.twin.x)
	k.fine = ok && sound(answer)
	t.HTTP().Complete(k.twin.x)
	k.twin.seen = k.twin.x.Events()
	for _, l := range []*lost{&k.lost, &k.twin} {
		l.resume(b, max(2*one.Took, t.Timeout()/4))
	}
}

// numbered are the events that carry a message and have an id.
func numbered(all []transport.Event) (at []int) {
	for i, e := range all {
		if e.HasID && e.ID != "" && e.Dispatched() && len(e.Data) > 0 {
			at = append(at, i)
		}
	}
	return at
}

func messagesOf(all []transport.Event) (out []wire.Message) {
	for _, e := range all {
		if e.Dispatched() && len(e.Data) > 0 {
			out = append(out, wire.Parse(e.Data).Elements()...)
		}
	}
	return out
}

// sound tells whether an answer is a result that is no failure of a tool.
func sound(m wire.Message) bool {
	return m.Kind == wire.Result && !m.Result().Get("isError").Bool()
}

// resume comes back by the first message that had an id, and reads up to the
// response, so long at most. A server need not keep streams; one that does may end
// them at any time, and the client comes back behind what it has
// (basic/transports#listening-for-messages-from-the-server).
func (l *lost) resume(b *posting.Beside, within time.Duration) {
	at := numbered(l.seen)
	if len(at) < 2 {
		l.why = "fewer than two events of the stream had a message and an id"
		return
	}
	l.cursor = at[0]
	behind, limit := l.seen[l.cursor].ID, time.Now().Add(within)
	for left := within; left > 0; left = time.Until(limit) {
		x, err := b.TryAsk(http.MethodGet, asStream(), check.With("Last-Event-ID", behind))
		if err != nil {
			l.why = err.Error()
			return
		}
		defer x.Close()
		if !x.Streams() {
			l.why = "a GET with Last-Event-ID was answered with " + check.Describe(x)
			return
		}
		l.back = append(l.back, x)
		_, answered := b.T.HTTP().AwaitMessage(x, left, check.ResponseTo(l.id))
		_, over := x.Over()
		if l.open = !over; answered || l.open {
			return
		}
		pause := comeBackAfter
		for _, e := range x.Events() {
			if e.HasID && e.ID != "" && !e.Unterminated {
				behind = e.ID
			}
			if ms, err := strconv.Atoi(e.Retry); e.HasRetry && err == nil {
				pause = max(pause, time.Duration(ms)*time.Millisecond)
			}
		}
		b.T.Await(b.T.Len(), func(wire.Message) bool { return false }, min(pause, time.Until(limit)))
	}
}

// comeBackAfter is how long a stream that ended is left alone at least before it is
// taken up again.
const comeBackAfter = 100 * time.Millisecond

// events are those that came when the stream was taken up.
func (l *lost) events() (out []transport.Event) {
	for _, x := range l.back {
		out = append(out, x.Events()...)
	}
	return out
}

// wordlessEnds is how often a stream that is taken up must end without anything on
// it before it is taken for one that has come to its end.
const wordlessEnds = 3

// done tells whether the stream has come to its end: it was taken up again and
// again, to the end of the time, and ended without anything more. Who asks to come
// back may have something later.
func (l *lost) done() bool {
	if l.open || l.why != "" || slices.ContainsFunc(l.events(), func(e transport.Event) bool { return e.HasRetry }) {
		return false
	}
	last := l.back[max(0, len(l.back)-wordlessEnds):]
	return len(last) == wordlessEnds && !slices.ContainsFunc(last, func(x *check.Exchange) bool {
		return slices.ContainsFunc(x.Events(), func(e transport.Event) bool { return e.HasID || e.Dispatched() })
	})
}

// own tells whether a message is of the call: its answer, or a report on it.
func (l *lost) own(m wire.Message) bool {
	return check.ResponseTo(l.id)(m) || toolcalls.ReportsProgress(m, l.token)
}

// had tells whether a message came on the stream of the call, before it was taken
// up or then.
func (l *lost) had(m wire.Message) bool {
	all := append(messagesOf(l.seen), messagesOf(l.events())...)
	return slices.ContainsFunc(all, func(known wire.Message) bool { return string(known.Raw) == string(m.Raw) })
}

// replayed returns the messages of the call that came when its stream was taken
// up.
func (l *lost) replayed() (out []wire.Message) {
	return slices.DeleteFunc(messagesOf(l.events()), func(m wire.Message) bool { return !l.own(m) })
}

func failureOf(m wire.Message) string {
	if m.Kind == wire.Result {
		return "a result with isError true"
	}
	return m.Summary()
}

// eachBack gives the streams that were taken up; where there is none nothing is
// observed.
func eachBack(t *check.T, k *cut, look func(l, other *lost)) {
	switch {
	case k.why != "":
		t.NotObserved(k.why, k.hint)
	case len(k.lost.back) == 0 && len(k.twin.back) == 0:
		t.NotObserved("no stream could be taken up: "+k.lost.why, "")
	}
	if len(k.lost.back) > 0 {
		look(&k.lost, &k.twin)
	}
	if len(k.twin.back) > 0 {
		look(&k.twin, &k.lost)
	}
}
