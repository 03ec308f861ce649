package streamablehttp

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// answerProbes returns the probes of basic/transports#sending-messages-to-the-server
// (basic/transports/streamable-http#sending-messages since 2026-07-28).
func answerProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.answer.type",
			Says:  "the server answers as application/json or text/event-stream, whatever else the client accepts",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-request-content-type"},
			Idle:  "no request was answered with a status of success",
			Hint:  "answer a posted request with a status of success",
			// With a failure status the server does not serve the request, and the page does
			// not state the form of the answer; streamable-http.accept.forms judges that.
			Probe: func(t *check.T) {
				t, answers := answersByAccept(t)
				for _, a := range answers {
					switch {
					case a.x == nil:
					case !posting.IsSuccess(a.x):
					case a.x.MediaType() != "application/json" && !a.x.IsEventStream():
						t.HTTP().Mark(a.x)
						t.Fail("application/json or text/event-stream", check.Describe(a.x), "%s was posted", a)
					case a.x.IsEventStream() && a.complete && !hasValidEvents(a.x):
						t.HTTP().Mark(a.x)
						t.Fail("an event stream", "no event",
							"the answer to %s has type text/event-stream and holds no event", a)
					default:
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.answer.single",
			Says:  "an answer as application/json is one object, the response to the request",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-json-single-object"},
			Idle:  "no request was answered as application/json",
			Hint:  "answer requests as application/json",
			Probe: func(t *check.T) {
				t, answers := answersByAccept(t)
				for _, a := range answers {
					if a.x == nil || !posting.IsSuccess(a.x) || a.x.MediaType() != "application/json" || !a.complete {
						continue
					}
					t.HTTP().Mark(a.x)
					body := bytes.TrimSpace(a.x.Snapshot().PlainBody())
					m := wire.Parse(body)
					switch {
					case m.SyntaxError != nil:
						t.Fail("one JSON object", wire.Clip(string(body), 200), "the answer to %s is no JSON: %v", a,
							m.SyntaxError)
					case m.Kind == wire.Batch:
						t.Fail("one JSON object", m.Summary(), "%s was answered with an array", a)
					case !m.IsResponse() || !m.ID().Equal(a.request.ID()):
						t.Fail("the response to the request", m.Summary(), "%s was answered with %s", a, m.Summary())
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.refusal.status",
			Says:  "the server answers a notification that it refuses with a status of failure",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-rejected-4xx"},
			Idle:  "the server accepted every notification",
			Hint:  expect.HintOptional,
			// A server may refuse a notification of a method that no revision has, and one in
			// a session that has ended.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				unknown := b.Post(`{"jsonrpc":"2.0","method":"notifications/mcpcheck/none"}`)
				if isRefused(t, "a notification of an unknown method", unknown) {
					t.Saw()
				}
				if b.End() && isRefused(t, "a notification in an ended session", b.Post(posting.InitializedFrame)) {
					t.Saw()
				}
			},
		},
		{
			ID:       "streamable-http.batch.answered",
			Says:     "the server does not accept an array of requests without an answer: a client waits for ever",
			Level:    spec.Robust,
			In:       spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Spec:     "basic/transports#sending-messages-to-the-server",
			Malforms: true,
			Idle:     "no array was sent",
			Hint:     expect.HintReply,
			// No clause states how an array is answered that no client may send; batching.served
			// judges one that is served.
			Probe: func(t *check.T) {
				_, elements := check.PingBatch(t, 2)
				b := posting.OpenSession(t)
				defer b.End()
				x := posting.RequireServerStatus(t, b.Post(check.Batch(elements...)))
				if posting.IsSuccess(x) {
					if _, ok := t.HTTP().Response(x); !ok {
						t.Fail("a refusal or an answer", check.Describe(x),
							"an array of two requests was accepted and not answered")
					}
				}
				t.Saw()
			},
		},
		{
			ID:       "streamable-http.media-types.survived",
			Says:     "a session continues after requests with media types that the server may refuse",
			Level:    spec.Robust,
			In:       spec.Since(spec.V2025_03_26),
			Spec:     "basic/transports#sending-messages-to-the-server",
			Malforms: true,
			Idle:     "no request was posted",
			Hint:     expect.HintReply,
			// No clause states which of these requests are served.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				var served, refused []string
				for _, f := range mediaTypeFields() {
					x, err := b.TryPost(posting.BarrierFrame(t), f.edit)
					switch {
					case err != nil:
						refused = append(refused, fmt.Sprintf("%s (%v)", f.what, err))
					case posting.IsServed(t, x):
						served = append(served, f.what)
					default:
						refused = append(refused, fmt.Sprintf("%s (%d)", f.what, x.Status))
					}
				}
				t.Note("served: %s; refused: %s", joinOrNone(served), joinOrNone(refused))
				x, err := b.TryPost(posting.BarrierFrame(t))
				switch {
				case err != nil:
					t.Fail("a result", "no answer", "%s was posted after requests with unusual media types: %v",
						t.Facts.BarrierMethod, err)
				case !posting.IsServed(t, x):
					t.Fail("a result", check.Describe(x), "%s was posted after requests with unusual media types",
						t.Facts.BarrierMethod)
				}
				t.Saw()
			},
		},
	}
}

// An acceptedAnswer is the answer to a request with an Accept field.
type acceptedAnswer struct {
	accept   string
	request  wire.Message
	x        *check.PendingExchange // nil if there is none
	complete bool
}

func (a acceptedAnswer) String() string {
	return fmt.Sprintf("%s with Accept: %s", a.request.Summary(), a.accept)
}

// acceptFields returns Accept fields with both of the media types that a client must
// accept, in different orders and with more beside them.
func acceptFields() []string {
	return []string{
		"application/json, text/event-stream",
		"text/event-stream, application/json",
		"text/event-stream;q=0.5, application/json;q=0.4, */*;q=0.1",
		"text/html, application/json, text/event-stream",
	}
}

// acceptedAnswers are the answers to all Accept fields, in one session.
type acceptedAnswers struct {
	session *check.T
	all     []acceptedAnswer
}

var acceptedAnswersKey = check.NewKey[acceptedAnswers]("answers by accept field")

// answersByAccept posts requests with each Accept field, one that is answered with a
// result and one that is answered with an error. It returns the handle of t on the
// session of the answers: in a session with notifications some servers answer each
// request on a stream.
func answersByAccept(t *check.T) (*check.T, []acceptedAnswer) {
	kept := check.Once(t, acceptedAnswersKey, func() acceptedAnswers {
		t := t.Sessions().Another()
		var all []acceptedAnswer
		for _, accept := range acceptFields() {
			for _, method := range []string{t.Facts.BarrierMethod, "mcpcheck/no-such-method"} {
				raw := t.Frame(t.NextID(), method, nil)
				a := acceptedAnswer{accept: accept, request: wire.Parse([]byte(raw))}
				if x, err := t.HTTP().TryPost(raw, check.With("Accept", accept)); err == nil {
					a.x = x
					if x.IsEventStream() {
						t.HTTP().Response(x) // the stream may stay open
					} else {
						t.HTTP().Complete(x)
					}
					a.complete = x.Snapshot().HasEnded()
				}
				all = append(all, a)
			}
		}
		return acceptedAnswers{t, all}
	})
	return t.Sessions().Use(kept.session), kept.all
}

// hasValidEvents reports whether a complete stream holds an event, or nothing: other
// checks judge that the answer is missing.
func hasValidEvents(x *check.PendingExchange) bool {
	hasOddLines := false
	for _, f := range x.Snapshot().Events() {
		e := f.HTTP.Event
		if f.IsDispatched() || e.ID != nil || e.Retry != "" || len(e.Comments) > 0 {
			return true
		}
		hasOddLines = hasOddLines || len(e.IgnoredLines) > 0
	}
	return !hasOddLines
}

// isRefused reports whether a notification was refused. It fails the check if an error
// comes with a status of success.
func isRefused(t *check.T, what string, x *check.PendingExchange) bool {
	if !posting.IsSuccess(x) {
		return !posting.IsUnavailable(x.Status)
	}
	if x.Status == http.StatusAccepted && !x.IsEventStream() && !t.HTTP().Complete(x) {
		return false
	}
	m, ok := t.HTTP().AwaitMessage(x, t.Timeout(), wire.Message.IsResponse)
	if ok && m.Kind == wire.Error {
		t.Fail("a status of failure", check.Describe(x), "%s was refused by an error with a status of success", what)
	}
	return false
}

// A mediaTypeField is a change of the Content-Type or Accept field of a POST.
type mediaTypeField struct {
	what string
	edit check.Edit
}

// mediaTypeFields returns fields that a server may refuse or accept.
func mediaTypeFields() []mediaTypeField {
	return []mediaTypeField{
		{"Content-Type text/plain", check.With("Content-Type", "text/plain")},
		{
			"Content-Type application/x-www-form-urlencoded",
			check.With("Content-Type", "application/x-www-form-urlencoded"),
		},
		{"no Content-Type", check.Without("Content-Type")},
		{"Accept application/json alone", check.With("Accept", "application/json")},
		{"Accept text/event-stream alone", check.With("Accept", "text/event-stream")},
		{"Accept */*", check.With("Accept", "*/*")},
		{"no Accept", check.Without("Accept")},
	}
}

// joinOrNone returns the texts with commas between them, or "none".
func joinOrNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
