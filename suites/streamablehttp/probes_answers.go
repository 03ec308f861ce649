package streamablehttp

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// answerProbes are the probes of
// basic/transports#sending-messages-to-the-server
// (basic/transports/streamable-http#sending-messages since 2026-07-28).
func answerProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.answer.type",
			Says:  "a request is answered as application/json or as text/event-stream, also to a client that takes more than these",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-request-content-type"},
			// answerType: a failure status says that the request is not served, in a form
			// that is not stated.
			Probe: func(t *check.T) {
				seen := 0
				for _, a := range accepted(t) {
					switch {
					case a.x == nil:
					case !posting.Ok2xx(a.x):
						if a.x.Status == http.StatusNotAcceptable {
							t.Note("%s was refused with %s", a, check.Describe(a.x))
						}
					case a.x.MediaType() != "application/json" && !a.x.Streams():
						t.HTTP().Mark(a.x)
						t.Fail("application/json or text/event-stream", check.Describe(a.x), "%s was answered with %s", a, check.Describe(a.x))
					case a.x.Streams() && a.whole && !heldEvents(a.x):
						t.HTTP().Mark(a.x)
						t.Fail("an event stream", "something else", "the answer to %s is declared as text/event-stream, but holds no event", a)
					default:
						seen++
					}
				}
				if seen == 0 {
					t.NotObserved("no request was answered with a status of success", "")
				}
			},
		},
		{
			ID:    "streamable-http.answer.single",
			Says:  "an answer as application/json is one object, the response to the request",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-json-single-object"},
			Probe: func(t *check.T) {
				seen := 0
				for _, a := range accepted(t) {
					if a.x == nil || !posting.Ok2xx(a.x) || a.x.MediaType() != "application/json" || !a.whole {
						continue
					}
					t.HTTP().Mark(a.x)
					body := bytes.TrimSpace(a.x.Body())
					m := wire.Parse(body)
					switch {
					case m.Fault != nil:
						t.Fail("one JSON object", wire.Clip(string(body), 200), "the body of the answer to %s is no JSON object: %v", a, m.Fault)
					case m.Kind == wire.Batch:
						t.Fail("one JSON object", m.Summary(), "%s was answered with an array", a)
					case !m.IsResponse() || !m.ID().Equal(a.request.ID()):
						t.Fail("the response to the request", m.Summary(), "%s was answered with %s", a, m.Summary())
					}
					seen++
				}
				if seen == 0 {
					t.NotObserved("no request was answered as application/json", "")
				}
			},
		},
		{
			ID:    "streamable-http.refusal.status",
			Says:  "a notification that the server cannot accept gets a status of failure",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-rejected-4xx"},
			// refusalStatus posts notifications that a server may refuse, of a method that
			// no revision has and into a session that has ended, and looks whether what is
			// refused has a status that says so.
			Probe: func(t *check.T) {
				unknown := `{"jsonrpc":"2.0","method":"notifications/mcpcheck/none"}`
				b := posting.OpenSession(t)
				defer b.End()
				refused := refuses(t, "a notification of an unknown method", b.Post(unknown))
				if b.End() {
					x := b.Post(posting.Initialized)
					refused = refuses(t, "a notification into a session that has ended", x) || refused
				}
				if !refused {
					t.NotObserved("the server accepted every notification", "")
				}
			},
		},
		{
			ID:       "streamable-http.batch.refused",
			Says:     "an array of requests is refused where the revision has no batches",
			Level:    spec.Robust,
			In:       spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			On:       transport.OnHTTP,
			Spec:     "basic/transports#sending-messages-to-the-server",
			Malforms: true,
			// batchRefused: an array in answer is judged by jsonrpc.batch.none. What no
			// clause states is what a server does with an array that no client may send;
			// one that processes or swallows it speaks another revision than agreed.
			Probe: func(t *check.T) {
				ids, elements := check.PingBatch(t, 2)
				b := posting.OpenSession(t)
				defer b.End()
				x := b.Post(check.Batch(elements...))
				if !posting.Ok2xx(x) {
					return
				}
				m, ok := t.HTTP().AwaitMessage(x, t.Timeout(), func(m wire.Message) bool { return m.IsResponse() })
				switch {
				case ok && m.Kind == wire.Result && bytes.HasPrefix(bytes.TrimSpace(x.Body()), []byte("[")):
					t.NotObserved("the array was answered with an array, which is judged apart", "")
				case ok && m.Kind == wire.Result && (m.ID().Equal(ids[0]) || m.ID().Equal(ids[1])):
					t.Fail("a refusal", check.Describe(x), "an array of two requests was processed, though %s has no batches: it was answered with %s", t.Rev, check.Describe(x))
				case !ok:
					t.Fail("a refusal", check.Describe(x), "an array of two requests was swallowed: it was answered with %s and nothing else", check.Describe(x))
				}
			},
		},
		{
			ID:       "streamable-http.odd-fields.survived",
			Says:     "a session goes on after requests with media types that the server may refuse",
			Level:    spec.Robust,
			In:       spec.Since(spec.V2025_03_26),
			On:       transport.OnHTTP,
			Spec:     "basic/transports#sending-messages-to-the-server",
			Malforms: true,
			// oddFieldsSurvived notes what the server makes of media types, since no clause
			// states it.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				var processed, refused []string
				for _, odd := range []struct {
					what  string
					edits []check.Edit
				}{
					{"Content-Type text/plain", []check.Edit{check.With("Content-Type", "text/plain")}},
					{"Content-Type application/x-www-form-urlencoded", []check.Edit{check.With("Content-Type", "application/x-www-form-urlencoded")}},
					{"no Content-Type", []check.Edit{check.Without("Content-Type")}},
					{"Content-Type application/json; charset=utf-8", []check.Edit{check.With("Content-Type", "application/json; charset=utf-8")}},
					{"Accept application/json alone", []check.Edit{check.With("Accept", "application/json")}},
					{"Accept text/event-stream alone", []check.Edit{check.With("Accept", "text/event-stream")}},
					{"Accept */*", []check.Edit{check.With("Accept", "*/*")}},
					{"no Accept", []check.Edit{check.Without("Accept")}},
				} {
					x, err := b.TryPost(posting.Barrier(t), odd.edits...)
					switch {
					case err != nil:
						refused = append(refused, fmt.Sprintf("%s (%v)", odd.what, err))
					case posting.Served(t, x):
						processed = append(processed, odd.what)
					default:
						refused = append(refused, fmt.Sprintf("%s (%d)", odd.what, x.Status))
					}
				}
				t.Note("served: %s; refused: %s", inWords(processed), inWords(refused))
				if x, err := b.TryPost(posting.Barrier(t)); err != nil || !posting.Served(t, x) {
					told := "no answer"
					if err == nil {
						told = check.Describe(x)
					}
					t.Fail("a result", told, "after requests with odd media types %s is answered with %s", t.Facts.Barrier, told)
				}
			},
		},
	}
}

// accepting are headers by which a client takes both of the media types that it
// must, some in another order, some with more beside them.
func accepting() []string {
	return []string{
		"application/json, text/event-stream",
		"text/event-stream, application/json",
		"text/event-stream;q=0.5, application/json;q=0.4, */*;q=0.1",
		"text/html, application/json, text/event-stream",
	}
}

// An acceptance is a request that was posted with one of these headers.
type acceptance struct {
	accept  string
	request wire.Message
	x       *check.Exchange // nil if there was no answer
	whole   bool
}

func (a acceptance) String() string {
	return fmt.Sprintf("%s with Accept: %s", a.request.Summary(), a.accept)
}

var answersOverHTTPKey = check.NewKey[[]acceptance]("answers over HTTP")

// accepted returns what came of them, of requests that are answered with a
// result and of ones that are not.
func accepted(t *check.T) []acceptance {
	return check.Once(t, answersOverHTTPKey, func() (all []acceptance) {
		for _, accept := range accepting() {
			for _, method := range []string{t.Facts.Barrier, "mcpcheck/no-such-method"} {
				raw := t.Frame(t.NextID(), method, nil)
				a := acceptance{accept: accept, request: wire.Parse([]byte(raw))}
				if x, err := t.HTTP().TryPost(raw, check.With("Accept", accept)); err == nil {
					a.x = x
					if x.Streams() {
						t.HTTP().Response(x) // behind which it need not end
					} else {
						t.HTTP().Complete(x)
					}
					_, a.whole = x.Over()
				}
				all = append(all, a)
			}
		}
		return all
	})
}

// heldEvents tells whether a stream that is over held an event, or nothing: that an
// answer is missing is judged apart.
func heldEvents(x *check.Exchange) bool {
	odd := false
	for _, e := range x.Events() {
		if e.Dispatched() || e.HasID || e.HasRetry || len(e.Comments) > 0 {
			return true
		}
		odd = odd || len(e.Odd) > 0
	}
	return !odd
}

// refuses tells whether a notification was refused, and fails where that is said
// under a status of success.
func refuses(t *check.T, what string, x *check.Exchange) bool {
	if !posting.Ok2xx(x) {
		return true
	}
	if x.Status == http.StatusAccepted && !x.Streams() && !t.HTTP().Complete(x) {
		return false
	}
	m, ok := t.HTTP().AwaitMessage(x, t.Timeout(), wire.Message.IsResponse)
	if ok && m.Kind == wire.Error {
		t.Fail("a status of failure", check.Describe(x), "%s was refused with %s", what, check.Describe(x))
	}
	return false
}

func inWords(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
