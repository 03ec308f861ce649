package server

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// httpStreams are the probes of the event streams of basic/transports#streamable-http
// (basic/transports/streamable-http since 2026-07-28). What a session shows of
// them by itself is judged in every one.
func httpStreams() []check.Check {
	sessions := spec.Since(spec.V2025_03_26) & spec.Handshake
	return []check.Check{
		{
			ID:    "streamable-http.stream.closed",
			Says:  "the stream of a request ends once its response was sent",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-sse-close-after-response"},
			Probe: streamClosed,
		},
		{
			ID:    "streamable-http.stream.disconnect",
			Says:  "a client that loses its connection has not cancelled its request",
			Level: spec.Should,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-disconnect-not-cancel"},
			Probe: disconnectKept,
		},
		{
			ID:    "streamable-http.replay.own",
			Says:  "who takes up a stream is sent nothing of another",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-replay-same-stream-only"},
			Probe: replayOwn,
		},
		{
			ID:    "streamable-http.replay.cursor",
			Says:  "who takes up a stream behind an event is sent what came behind it",
			Level: spec.Should,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-event-id-per-stream"},
			Probe: replayCursor,
		},
		{
			ID:    "streamable-http.change.once",
			Says:  "a change is told on one of the streams of a session only",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-one-stream-per-message", "streamable-http-no-broadcast"},
			Probe: changeOnce,
		},
		{
			ID:    "lifecycle.connections.closed",
			Says:  "a client that closes its connections ends its own session alone",
			Level: spec.Should,
			In:    spec.Handshake,
			On:    transport.OnHTTP | transport.OnSSE,
			Rules: []string{"lifecycle-http-shutdown"},
			Probe: connectionsClosed,
		},
	}
}

// asStream asks for the stream of a GET.
func asStream() check.Edit { return check.With("Accept", "text/event-stream") }

// streamClosed takes a request that is answered at once, or else a call that is
// reported on, which a server that has both can only answer by a stream. It is
// made in a session beside: what a server says of it on other streams is then none
// of the judges' who did not see it asked.
func streamClosed(t *check.T) {
	b := openSession(t)
	defer b.end()
	x := b.post(barrier(t))
	defer func() { x.Close() }()
	if !x.Streams() {
		one, ok := calledIfTools(t).worker()
		if !ok {
			t.NotObserved(t.Facts.Barrier+" was answered with "+check.Told(x)+", and no tool that may be called reports progress", allowHint(calledIfTools(t).held))
		}
		one.token = `"mcpcheck-closed"`
		if x = b.post(t.Frame(t.NextID(), "tools/call", one.params())); !x.Streams() {
			t.NotObserved("no request was answered with an event stream", "")
		}
	}
	if _, ok := t.Response(x); !ok {
		t.NotObserved("no response came on the stream", "") // judged in every session
	}
	if !t.Whole(x) {
		t.Fail("the end of the stream", "nothing", "the stream of a request was still open %s after its response", t.Timeout())
	}
}

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
	cursor int               // the event by which it was taken up, of those seen
	back   *check.Exchange   // the stream that took it up; nil where the server gave none
	why    string            // why it gave none
}

// cutOff makes the experiment, once at this revision.
func cutOff(t *check.T) *cut {
	return check.Memo(t, "cut off", func() *cut {
		c := called(t)
		one, ok := c.walker()
		if !ok {
			return &cut{why: fmt.Sprintf("no tool that may be called reports progress %d times within %s", fewestReports, longestWork), hint: allowHint(c.held)}
		}
		k := &cut{tool: one.tool.Get("name").String(), lost: lost{token: `"mcpcheck-lost"`}, twin: lost{token: `"mcpcheck-twin"`}}
		k.run(t, one)
		return k
	})
}

// walker returns the longest of the calls that can be broken off and are worth the
// time, so that its connection can be broken in its midst.
func (c *toolCalls) walker() (best toolCall, ok bool) {
	best, ok = c.worker()
	for _, one := range c.results {
		if one.reports >= fewestReports && one.took > best.took && one.took <= longestWork/2 && readOnly(one.tool) == readOnly(best.tool) {
			best = one
		}
	}
	return best, ok
}

// run makes the calls. What keeps it from an end is noted as why.
func (k *cut) run(t *check.T, one toolCall) {
	b, why := tryOpenSession(t)
	if why != "" {
		k.why = "a second session could not be opened: " + why
		return
	}
	defer b.end()
	for _, l := range []*lost{&k.lost, &k.twin} {
		one.token, l.id = l.token, t.NextID()
		x, err := b.tryPost(t.Frame(l.id, "tools/call", one.params()))
		if err != nil || !x.Streams() {
			k.why = fmt.Sprintf("a call of %q was not answered with an event stream", k.tool)
			return
		}
		defer x.Close()
		l.x = x
	}
	t.Until(k.lost.x, t.Timeout(), func(x *check.Exchange) bool { return len(numbered(x.Events())) >= 2 })
	k.lost.x.Close()
	k.lost.seen = k.lost.x.Events()
	k.midst = !slices.ContainsFunc(messagesOf(k.lost.seen), wire.Message.IsResponse)
	answer, ok := t.Response(k.twin.x)
	k.fine = ok && sound(answer)
	t.Whole(k.twin.x)
	k.twin.seen = k.twin.x.Events()
	for _, l := range []*lost{&k.lost, &k.twin} {
		l.resume(b, max(2*one.took, t.Timeout()/4))
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
// response, so long at most. A server need not keep streams.
func (l *lost) resume(b *beside, within time.Duration) {
	at := numbered(l.seen)
	if len(at) < 2 {
		l.why = "the events of the stream have no ids"
		return
	}
	l.cursor = at[0]
	x, err := b.tryAsk(http.MethodGet, asStream(), check.With("Last-Event-ID", l.seen[l.cursor].ID))
	switch {
	case err != nil:
		l.why = err.Error()
	case !x.Streams():
		l.why = "a GET with Last-Event-ID was answered with " + check.Told(x)
	default:
		defer x.Close()
		l.back = x
		b.t.Among(x, within, answerTo(l.id))
	}
}

// own tells whether a message is of the call: its answer, or a report on it.
func (l *lost) own(m wire.Message) bool { return answerTo(l.id)(m) || reports(m, l.token) }

// replayed returns the messages of the call that came when its stream was taken
// up.
func (l *lost) replayed() (out []wire.Message) {
	if l.back == nil {
		return nil
	}
	return slices.DeleteFunc(l.back.Messages(), func(m wire.Message) bool { return !l.own(m) })
}

// disconnectKept: that the rest of a stream is replayed shows that it is kept, and
// so that a missing answer was never given.
func disconnectKept(t *check.T) {
	k := cutOff(t)
	switch {
	case k.why != "":
		t.NotObserved(k.why, k.hint)
	case k.lost.back == nil:
		t.NotObserved("what became of the call cannot be seen: "+k.lost.why, "")
	case !k.midst:
		t.NotObserved(fmt.Sprintf("a call of %q was answered before its connection could be broken", k.tool), "")
	case !k.fine:
		t.NotObserved(fmt.Sprintf("a call of %q beside it did not succeed", k.tool), "")
	}
	replayed := k.lost.replayed()
	if at := slices.IndexFunc(replayed, wire.Message.IsResponse); at >= 0 {
		if answer := replayed[at]; !sound(answer) {
			t.Fail("the result of the call", answer.Summary(), "the connection of a call of %q was broken after its second report, and its stream, when it was taken up, brought %s; a call beside it succeeded", k.tool, failureOf(answer))
		}
		return
	}
	if _, over := k.lost.back.Over(); !over || len(replayed) == 0 {
		t.NotObserved("the stream was taken up, and its rest did not come", "")
	}
	t.Fail("the result of the call", "the end of the stream", "the connection of a call of %q was broken after its second report, and its stream, when it was taken up, ended without the answer; a call beside it succeeded", k.tool)
}

func failureOf(m wire.Message) string {
	if m.Kind == wire.Result {
		return "a result with isError true"
	}
	return m.Summary()
}

// replayOwn looks on each stream that was taken up for what is of the other call.
// Where that came on it before, it is what the server took for its own: which
// stream carries what is judged apart.
func replayOwn(t *check.T) {
	k := cutOff(t)
	seen := false
	eachBack(t, k, func(l, other *lost) {
		if slices.ContainsFunc(messagesOf(l.seen), other.own) {
			return
		}
		for _, m := range l.back.Messages() {
			if other.own(m) {
				t.Fail("messages of the call with id "+l.id.String(), m.Summary(), "the stream of one of two calls of %q was taken up by its event %q, and brought the %s of the other", k.tool, l.seen[l.cursor].ID, m.Summary())
			}
		}
		seen = seen || len(l.replayed()) > 0
	})
	if !seen {
		t.NotObserved("no stream that was taken up brought anything of its call", "")
	}
}

// eachBack gives the streams that were taken up; where there is none nothing is
// observed.
func eachBack(t *check.T, k *cut, look func(l, other *lost)) {
	switch {
	case k.why != "":
		t.NotObserved(k.why, k.hint)
	case k.lost.back == nil && k.twin.back == nil:
		t.NotObserved("no stream could be taken up: "+k.lost.why, "")
	}
	if k.lost.back != nil {
		look(&k.lost, &k.twin)
	}
	if k.twin.back != nil {
		look(&k.twin, &k.lost)
	}
}

// replayCursor looks for what the client had when it named the event: the event
// itself, and those before it.
func replayCursor(t *check.T) {
	k := cutOff(t)
	seen := false
	eachBack(t, k, func(l, _ *lost) {
		known := l.seen[:l.cursor+1]
		for _, e := range l.back.Events() {
			again := slices.ContainsFunc(known, func(had transport.Event) bool {
				return e.Dispatched() && len(e.Data) > 0 && string(had.Data) == string(e.Data)
			})
			if again {
				t.Fail("what came behind the event", wire.Parse(e.Data).Summary(), "a stream was taken up by its event %q, and brought the %s again, which the client had", l.seen[l.cursor].ID, wire.Parse(e.Data).Summary())
			}
		}
		seen = seen || len(l.replayed()) > 0
	})
	if !seen {
		t.NotObserved("no stream that was taken up brought anything of its call", "")
	}
}

// changeOnce makes the calls that changed something while one stream listens, and
// once more while two do: what is told as often on each of the two as on the one
// before is told twice. A server may spread what it has to tell over its streams.
func changeOnce(t *check.T) {
	c := called(t)
	if len(c.triggers) == 0 {
		t.NotObserved("no call had an effect that was told", allowHint(c.held))
	}
	before := changesTold(t, c, nil)
	if len(before) == 0 {
		t.NotObserved("no change was told on a stream", "")
	}
	second, err := t.TryAsk(http.MethodGet, asStream())
	if err != nil {
		t.NotObserved("a second stream was not opened: "+err.Error(), "")
	}
	defer second.Close()
	if !second.Streams() {
		t.NotObserved("a second stream was not opened: a GET was answered with "+check.Told(second), "")
	}
	first := changesTold(t, c, second)
	other := changesIn(second.Messages())
	for what, n := range before {
		if first[what] == n && other[what] == n {
			t.Fail("one notification on one stream", "one on each of two", "a change was told %d times while one stream listened, and as often on each of two: %s", n, wire.Clip(what, 200))
		}
	}
	if len(first)+len(other) == 0 {
		t.NotObserved("no change was told beside a second stream", "")
	}
}

// changesTold makes the calls and counts, by their bytes, the notifications of
// change that come to the session. Where a second stream listens it waits for one
// to come there, for a short time: it need not.
func changesTold(t *check.T, c *toolCalls, second *check.Exchange) map[string]int {
	from := c.again(t)
	if from < 0 {
		return nil
	}
	tells := func(m wire.Message) bool { _, ok := toldBy(m); return ok }
	if second == nil {
		t.AwaitWithin(from, t.Timeout(), tells)
	} else if _, ok := t.Among(second, t.Timeout()/4, tells); ok {
		t.AwaitWithin(from, t.Timeout()/20, tells)
	}
	// The last of several may come behind.
	_, _ = t.Try(t.Facts.Barrier, nil)
	return changesIn(t.Received(from))
}

func changesIn(all []wire.Message) map[string]int {
	n := map[string]int{}
	for _, m := range all {
		if _, ok := toldBy(m); ok {
			n[string(m.Raw)]++
		}
	}
	return n
}

// connectionsClosed has another client leave as the page has it, by closing its
// connections, and looks whether this one is served.
func connectionsClosed(t *check.T) {
	if t.Transport() == transport.SSE {
		other := t.Another(false)
		other.Request(t.Facts.Barrier, nil)
		other.End()
	} else {
		other := openSession(t)
		other.post(barrier(t))
		if listening, err := other.tryAsk(http.MethodGet, asStream()); err == nil {
			listening.Close()
		}
		defer other.end()
	}
	// It may take a server a moment to see that.
	for range servedAfter {
		t.Survives("another client had closed its connections")
	}
}

// servedAfter is how many requests are sent after a connection was closed.
const servedAfter = 5
