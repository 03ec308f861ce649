package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// streamProbes are the probes of the event streams of basic/transports#streamable-http
// (basic/transports/streamable-http since 2026-07-28). What a session shows of
// them by itself is judged in every one.
func streamProbes() []check.Check {
	sessions := spec.Since(spec.V2025_03_26) & spec.Handshake
	return []check.Check{
		{
			ID:    "streamable-http.stream.closed",
			Says:  "the stream of a request ends once its response was sent",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-sse-close-after-response"},
			// streamClosed takes a request that is answered at once, or else a call that is
			// reported on, which a server that has both can only answer by a stream. It is
			// made in a session beside: what a server says of it on other streams is then none
			// of the judges' who did not see it asked.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				x := b.Post(posting.Barrier(t))
				defer func() { x.Close() }()
				if !x.Streams() {
					one, ok := toolcalls.CallsIfDeclared(t).Worker()
					if !ok {
						t.NotObserved(t.Facts.Barrier+" was answered with "+check.Describe(x)+", and no tool that may be called reports progress", check.AllowHint(toolcalls.CallsIfDeclared(t).Held))
					}
					one.Token = `"mcpcheck-closed"`
					if x = b.Post(t.Frame(t.NextID(), "tools/call", one.Params())); !x.Streams() {
						t.NotObserved("no request was answered with an event stream", "")
					}
				}
				if _, ok := t.HTTP().Response(x); !ok {
					t.NotObserved("no response came on the stream", "") // judged in every session
				}
				if !t.HTTP().Complete(x) {
					t.Fail("the end of the stream", "nothing", "the stream of a request was still open %s after its response", t.Timeout())
				}
			},
		},
		{
			ID:    "streamable-http.stream.disconnect",
			Says:  "a client that loses its connection has not cancelled its request",
			Level: spec.Should,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-disconnect-not-cancel"},
			// disconnectKept: that the rest of a stream is replayed shows that it is kept, and
			// so that a missing answer was never given.
			Probe: func(t *check.T) {
				k := cutOff(t)
				switch {
				case k.why != "":
					t.NotObserved(k.why, k.hint)
				case len(k.lost.back) == 0:
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
				if !k.lost.done() || len(replayed) == 0 {
					t.NotObserved("the stream was taken up, and its rest did not come", "")
				}
				t.Fail("the result of the call", "the end of the stream", "the connection of a call of %q was broken after its second report, and its stream, when it was taken up, ended without the answer, and came to nothing the next %d times; a call beside it succeeded", k.tool, len(k.lost.back)-1)
			},
		},
		{
			ID:    "streamable-http.replay.own",
			Says:  "who takes up a stream is sent nothing of another",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-replay-same-stream-only"},
			// replayOwn looks on each stream that was taken up for what is of the other call
			// and came on its stream too. What came there alone was not replayed: which stream
			// carries what is judged apart.
			Probe: func(t *check.T) {
				k := cutOff(t)
				seen := false
				eachBack(t, k, func(l, other *lost) {
					for _, m := range messagesOf(l.events()) {
						if other.own(m) && other.had(m) {
							t.Fail("messages of the call with id "+l.id.String(), m.Summary(), "the stream of one of two calls of %q was taken up by its event %q, and brought the %s of the other", k.tool, l.seen[l.cursor].ID, m.Summary())
						}
					}
					seen = seen || len(l.replayed()) > 0
				})
				if !seen {
					t.NotObserved("no stream that was taken up brought anything of its call", "")
				}
			},
		},
		{
			ID:    "streamable-http.replay.cursor",
			Says:  "who takes up a stream behind an event is sent what came behind it",
			Level: spec.Should,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-event-id-per-stream"},
			// replayCursor looks for what the client had when it named the event: the event
			// itself, and those before it. What is logged may be logged again in the same words;
			// what is reported of a call, and its answer, is not.
			Probe: func(t *check.T) {
				k := cutOff(t)
				seen := false
				eachBack(t, k, func(l, _ *lost) {
					known := l.seen[:l.cursor+1]
					for _, e := range l.events() {
						again := slices.ContainsFunc(known, func(had transport.Event) bool {
							m := wire.Parse(e.Data)
							same := e.Dispatched() && m.Readable() && string(had.Data) == string(e.Data)
							return same && (l.own(m) || e.HasID && had.HasID && e.ID == had.ID)
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
			},
		},
		{
			ID:    "streamable-http.change.once",
			Says:  "a change is told on one of the streams of a session only",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-one-stream-per-message", "streamable-http-no-broadcast"},
			// changeOnce makes the calls that changed something while one stream listens, and
			// once more while two do: what is told as often on each of the two as on the one
			// before is told twice. A server may spread what it has to tell over its streams.
			// It may as well have one stream at a time, and end the older: what is then said
			// where that was taken up again was on its way to it, and is none of the two.
			Probe: func(t *check.T) {
				c := toolcalls.Calls(t)
				if len(c.Triggers) == 0 || len(c.Heard) == 0 {
					t.NotObserved("no call had an effect that was told", check.AllowHint(c.Held))
				}
				before := changesTold(t, c, nil)
				if len(before) == 0 {
					t.NotObserved("no change was told on a stream", "")
				}
				second, err := t.HTTP().TryRequest(http.MethodGet, asStream())
				if err != nil {
					t.NotObserved("a second stream was not opened: "+err.Error(), "")
				}
				defer second.Close()
				if !second.Streams() {
					t.NotObserved("a second stream was not opened: a GET was answered with "+check.Describe(second), "")
				}
				var first, other []toldOn
				for _, one := range changesTold(t, c, second) {
					if !one.own && !slices.ContainsFunc(before, func(b toldOn) bool { return b.on == one.on }) {
						t.NotObserved("the stream of the session ended beside a second one, and was taken up again", "")
					}
					first = append(first, one)
				}
				for _, m := range second.Messages() {
					if _, ok := watch.NoticeOf(m); ok {
						other = append(other, toldOn{told: string(m.Raw)})
					}
				}
				for _, b := range before {
					if n := count(before, b.told); count(first, b.told) == n && count(other, b.told) == n {
						t.Fail("one notification on one stream", "one on each of two", "a change was told %d times while one stream listened, and as often on each of two: %s", n, wire.Clip(b.told, 200))
					}
				}
				if len(first)+len(other) == 0 {
					t.NotObserved("no change was told beside a second stream", "")
				}
			},
		},
		{
			ID:    "lifecycle.connections.closed",
			Says:  "a client that closes its connections ends its own session alone",
			Level: spec.Should,
			In:    spec.Handshake,
			On:    transport.OnHTTP | transport.OnSSE,
			Rules: []string{"lifecycle-http-shutdown"},
			// connectionsClosed has another client leave as the page has it, by closing its
			// connections, and looks whether this one is served.
			Probe: func(t *check.T) {
				if t.Transport() == transport.SSE {
					other := t.Sessions().Another()
					other.Request(t.Facts.Barrier, nil)
					other.Sessions().End()
				} else {
					other := posting.OpenSession(t)
					other.Post(posting.Barrier(t))
					if listening, err := other.TryAsk(http.MethodGet, asStream()); err == nil {
						listening.Close()
					}
					defer other.End()
				}
				// It may take a server a moment to see that.
				for range servedAfter {
					t.Survives("another client had closed its connections")
				}
			},
		},
	}
}

// asStream asks for the stream of a GET.
func asStream() check.Edit { return check.With("Accept", "text/event-stream") }

// A toldOn is a notification of a change, and where it came.
type toldOn struct {
	told string // its bytes
	on   int    // the exchange of HTTP that it came in
	own  bool   // that is one of a POST
}

func count(all []toldOn, told string) (n int) {
	for _, c := range all {
		if c.told == told {
			n++
		}
	}
	return n
}

// changesTold makes the calls and returns the notifications of change that come to
// the session. Where a second stream listens it waits for one to come there, for a
// short time: it need not.
func changesTold(t *check.T, c *toolcalls.All, second *check.Exchange) (out []toldOn) {
	from := c.Again(t)
	if from < 0 {
		return nil
	}
	tells := func(m wire.Message) bool { _, ok := watch.NoticeOf(m); return ok }
	if second == nil {
		t.Await(from, tells, t.Timeout()/4)
	} else if _, ok := t.HTTP().AwaitMessage(second, t.Timeout()/4, tells); ok {
		t.Await(from, tells, t.Timeout()/20)
	}
	// The last of several may come behind.
	t.Try(t.Facts.Barrier, nil)
	posts := map[int]bool{}
	for _, e := range t.Frames(from) {
		if e.HTTP == nil {
			continue
		}
		if e.From == wire.Client {
			posts[e.HTTP.Exchange] = true
			continue
		}
		for _, m := range e.Message.Elements() {
			if tells(m) {
				out = append(out, toldOn{string(m.Raw), e.HTTP.Exchange, posts[e.HTTP.Exchange]})
			}
		}
	}
	return out
}

// servedAfter is how many requests are sent after a connection was closed.
const servedAfter = 5
