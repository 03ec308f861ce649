package streams

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// What helps where several probes are not observed.
const (
	streamAnswer  = "answer a request with an event stream, for example to report progress"
	resumeStreams = "resume a stream at a GET with Last-Event-ID"
	offerLongCall = "offer a read-only tool that takes a second and reports progress" + check.OrAllow
)

// nothingResumed is why several checks of resumed streams are not observed.
const nothingResumed = "no resumed stream carried a message of its call"

// probes returns the probes of event streams. What the streams of any session show is
// left to judges.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.stream.closed",
			Says:  "the server ends the stream of a request after its response",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-sse-close-after-response"},
			Idle:  "no response came on the stream of a request",
			Hint:  streamAnswer,
			// The request runs in a second session: judges of the shared session do not see
			// the request, and could not judge what the server sends about it.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				x := streamedAnswer(t, b)
				defer x.Close()
				if _, ok := t.HTTP().Response(x); !ok {
					return
				}
				if !t.HTTP().Complete(x) {
					t.Fail("the end of the stream", "nothing",
						"the stream of a request was still open %s after its response",
						t.Timeout())
				}
				t.Saw()
			},
		},
		{
			ID:    "streamable-http.stream.disconnect",
			Says:  "the server does not cancel a request whose connection is lost",
			Level: spec.Should,
			In:    handshake(),
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-disconnect-not-cancel"},
			Idle:  "the rest of the resumed stream did not come",
			Hint:  "send ids with the events of streams, so that a client can resume them",
			// A stream whose rest is replayed is kept: an answer that it lacks was never given.
			Probe: func(t *check.T) {
				r := resumeCalls(t)
				switch {
				case r.why != "":
					t.NotObserved(r.why, r.hint)
				case len(r.broken.resumed) == 0:
					t.NotObserved("the stream of the call could not be resumed: "+r.broken.why, resumeStreams)
				case !r.unfinished:
					t.NotObserved(fmt.Sprintf("a call of %q was answered before its connection was closed", r.tool),
						offerLongCall)
				case !r.wholeSucceeded:
					t.NotObserved(fmt.Sprintf("a concurrent call of %q did not succeed", r.tool),
						"let two calls of a tool run at once")
				}
				replayed := r.broken.replayed()
				at := slices.IndexFunc(replayed, wire.Message.IsResponse)
				switch {
				case at >= 0 && !isSuccess(replayed[at]):
					t.Fail("the result of the call", replayed[at].Summary(),
						"one of two calls of %q lost its connection: its resumed stream carried %s, "+
							"and the other call succeeded", r.tool, describeFailure(replayed[at]))
				case at >= 0:
					t.Saw()
				case len(replayed) > 0 && r.broken.isFinished():
					t.Fail("the result of the call", "the end of the stream",
						"one of two calls of %q lost its connection: its stream ended without the answer, "+
							"and the other call succeeded", r.tool)
				}
			},
		},
		{
			ID:    "streamable-http.replay.own",
			Says:  "the server sends nothing of another stream to a client that resumes a stream",
			Level: spec.Must,
			In:    handshake(),
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-replay-same-stream-only"},
			Idle:  nothingResumed,
			Hint:  "send ids with the events of streams, so that a client can resume them",
			// Only a message that came on the stream of the other call too was replayed. Which
			// stream carries which message is judged by streamable-http.stream.related.
			Probe: func(t *check.T) {
				r := resumeCalls(t)
				for _, c := range r.requireResumed(t) {
					other := r.other(c)
					for _, m := range messagesOf(c.resumedEvents()) {
						if other.isOwn(m) && other.received(m) {
							t.Fail("messages of the call with id "+c.id.String(), m.Summary(),
								"the stream of one of two calls of %q was resumed at its event %q and carried "+
									"the %s of the other call", r.tool, c.cursor().EventID(), m.Summary())
						}
					}
					if len(c.replayed()) > 0 {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.replay.cursor",
			Says:  "the server sends a client that resumes a stream only what followed the event that it names",
			Level: spec.Should,
			In:    handshake(),
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-event-id-per-stream"},
			Idle:  nothingResumed,
			Hint:  "send ids with the events of streams, so that a client can resume them",
			// A log message may be sent twice in the same words; progress of a call and its
			// answer may not.
			Probe: func(t *check.T) {
				for _, c := range resumeCalls(t).requireResumed(t) {
					for _, e := range c.resumedEvents() {
						if c.isBeforeCursor(e) {
							t.Fail("the messages after the event", e.Message.Summary(),
								"a stream was resumed at its event %q and carried the %s again",
								c.cursor().EventID(), e.Message.Summary())
						}
					}
					if len(c.replayed()) > 0 {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.change.once",
			Says:  "the server sends a change notification on only one of the streams of a session",
			Level: spec.Must,
			In:    handshake(),
			On:    transport.OnHTTP,
			Needs: "tools",
			Rules: []string{"streamable-http-one-stream-per-message", "streamable-http-no-broadcast"},
			Idle:  "no change notification came while two streams were open",
			Hint:  "offer a tool that changes a list" + check.AndAllow,
			// The calls that change something are made while one stream is open, and again
			// while two are. A server may distribute its messages over the streams: a
			// notification is sent twice if each of the two carries it as often as the one did.
			Probe: func(t *check.T) {
				c := toolcalls.Calls(t)
				if len(c.Triggers) == 0 || len(c.Announced) == 0 {
					t.NotObserved("no call caused a change notification", check.AllowHint(c.NotAllowed))
				}
				alone := changesOf(t, c, nil)
				if len(alone) == 0 {
					t.NotObserved("no change notification came on a stream",
						"send change notifications on the stream of a GET")
				}
				second := openSecondStream(t)
				defer second.Close()
				first := changesOf(t, c, second)
				requireSameStream(t, alone, first)
				other := changesIn(second)
				for _, one := range alone {
					n := countRaw(alone, one.raw)
					if countRaw(first, one.raw) == n && countRaw(other, one.raw) == n {
						t.Fail("one notification on one stream", "one on each of two",
							"a change notification was sent %d times on one stream, and as often on each of two: %s",
							n, wire.Clip(one.raw, 200))
					}
				}
				if len(first)+len(other) > 0 {
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.connections.closed",
			Says:  "a client that closes its connections ends only its own session",
			Level: spec.Should,
			In:    spec.Handshake,
			On:    transport.OnHTTP | transport.OnSSE,
			Rules: []string{"lifecycle-http-shutdown"},
			Idle:  "no second client closed its connections",
			Hint:  expect.HintReply,
			// The server may notice a little later that a connection was closed: several
			// requests follow.
			Probe: func(t *check.T) {
				if t.Transport() == transport.SSE {
					other := t.Sessions().Another()
					other.Request(t.Facts.BarrierMethod, nil)
					other.Sessions().End()
				} else {
					other := posting.OpenSession(t)
					defer other.End()
					other.Post(posting.BarrierFrame(t))
					if stream, err := other.TryRequest(http.MethodGet, posting.AcceptStream()); err == nil {
						stream.Close()
					}
				}
				for range requestsAfterClose {
					t.Survives("another client had closed its connections")
				}
				t.Saw()
			},
		},
	}
}

// requestsAfterClose is how many requests are sent after a connection was closed.
const requestsAfterClose = 5

// streamedAnswer posts a request that is answered with a stream: one that is answered
// at once, or else the call of a tool that reports progress, which a server with
// streams answers with one.
func streamedAnswer(t *check.T, b *posting.RawSession) *check.PendingExchange {
	x := b.Post(posting.BarrierFrame(t))
	if x.IsEventStream() {
		return x
	}
	c := toolcalls.CallsIfDeclared(t)
	call, ok := c.ShortestCancellable()
	if !ok {
		t.NotObserved(fmt.Sprintf("%s was answered with %s, and no tool that may be called reports progress",
			t.Facts.BarrierMethod, check.Describe(x)), check.AllowHint(c.NotAllowed))
	}
	call.Token = `"mcpcheck-closed-` + t.NextID().Raw + `"`
	if x = b.Post(t.Frame(t.NextID(), "tools/call", call.Params())); !x.IsEventStream() {
		t.NotObserved("no request was answered with an event stream", streamAnswer)
	}
	return x
}
