package jsonrpc

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// noMalformedSent is why probes of malformed messages are not observed.
const noMalformedSent = "no malformed message was sent"

// malformedProbes returns the probes that send messages which break the schema.
func malformedProbes() []check.Check {
	return []check.Check{
		{
			ID:       "jsonrpc.parse-error",
			Says:     "the server answers text that is not JSON with error -32700",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-parse-error"},
			Malforms: true,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			// The text is invalid, not truncated: a reader that ignores newlines would take
			// truncated JSON for the beginning of the next message, and wait. Other checks judge
			// the id of the answer.
			Probe: func(t *check.T) {
				from := t.Send(`{"jsonrpc":"2.0","method":}`)
				m, ok := t.AwaitBarrier(from, func(m wire.Message) bool {
					return m.Kind == wire.Error && !answersFrameSince(t, from, m)
				})
				code, _ := m.ErrorCode()
				switch {
				case !ok:
					expectTextRefused(t, from)
				case code == spec.HeaderMismatch && t.Facts.Stateless && posting.OverHTTP(t):
					// The headers of the POST name a method that the text does not.
				default:
					match.Expect(t, m).To(match.BeError(spec.ParseError), "text that is not JSON")
				}
				t.Saw()
			},
		},
		{
			ID:       "jsonrpc.request.invalid",
			Says:     "the server answers JSON that is no valid request with an error, ideally -32600",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-invalid-request"},
			Malforms: true,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			Probe: func(t *check.T) {
				const want = "an error, ideally -32600"
				for _, edit := range []struct{ what, old, new string }{
					{"without jsonrpc", `"jsonrpc":"2.0",`, ``},
					{"with a numeric method", `"method":"` + t.Facts.BarrierMethod + `"`, `"method":5`},
				} {
					id, what := t.NextID(), "a request "+edit.what
					from := t.Send(strings.Replace(t.Frame(id, t.Facts.BarrierMethod, nil), edit.old, edit.new, 1))
					m, ok := t.AwaitBarrier(from, func(m wire.Message) bool {
						return m.IsResponse() && (m.ID().Equal(id) || check.IsErrorWithoutID(m))
					})
					switch {
					case !ok && posting.ReportHTTPRefusal(t, from, what):
					case !ok:
						t.Survives(what)
						t.Fail(want, "no answer", "%s was not answered", what)
					case m.Kind == wire.Result:
						t.Fail(want, m.Summary(), "%s was answered with a result", what)
					}
					t.Saw()
				}
			},
		},
		{
			ID:       "jsonrpc.id.fraction.survived",
			Says:     "the server still answers after a request whose id is a number with a fraction",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#requests",
			Malforms: true,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			// The server may refuse the request, serve it or drop it.
			Probe: func(t *check.T) {
				t.Send(t.Frame(wire.ID{Raw: t.NextID().Raw + ".5"}, t.Facts.BarrierMethod, nil))
				t.Survives("a request whose id is a number with a fraction")
				t.Saw()
			},
		},
		{
			ID: "jsonrpc.id.fraction.echoed",
			Says: "the server answers a request whose id has a fraction under no other id, " +
				"which another request may have",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#requests",
			Malforms: true,
			Session:  check.OwnSession,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			// An id is a string or an integer, so that the server owes no answer.
			Probe: func(t *check.T) {
				id := wire.ID{Raw: t.NextID().Raw + ".5"}
				at := t.Send(t.Frame(id, t.Facts.BarrierMethod, nil))
				t.Forbid(at, "the id "+id.Raw+", or no answer", func(m wire.Message) bool {
					return m.IsResponse() && isWithoutFraction(id, m.ID()) && !answersFrameSince(t, at+1, m)
				})
				// Servers answer out of order, and the session ends with the body.
				t.Try(t.Facts.BarrierMethod, nil)
				t.HTTP().Settle(at)
				t.Saw()
			},
		},
		{
			ID:       "jsonrpc.case",
			Says:     "the server compares the names of members and methods by case",
			Level:    spec.Should,
			In:       spec.Every,
			Rules:    []string{"jsonrpc-case-sensitive-members"},
			Malforms: true,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			// Only a result shows that the server ignored the case: it need not answer a
			// request whose member method is misspelled.
			Probe: func(t *check.T) {
				id := t.NextID()
				from := t.Send(strings.Replace(t.Frame(id, t.Facts.BarrierMethod, nil), `"method"`, `"Method"`, 1))
				upper := strings.ToUpper(t.Facts.BarrierMethod)
				call := t.Start(upper, nil)
				m, ok := t.Await(call.FrameIndex, check.ResponseTo(call.ID))
				switch {
				case ok && m.Kind == wire.Result && t.Try(unknownMethod, nil).Succeeded():
					t.NotObserved("any unknown method gets a result, which jsonrpc.method.unknown reports",
						refuseUnknown)
				case ok && m.Kind == wire.Result:
					t.Fail("error -32601", m.Summary(), "the method %s was served, in the wrong case", upper)
				case !ok && !t.HTTP().Refused(call.FrameIndex):
					t.NotObserved("the unknown method "+upper+" was not answered, as jsonrpc.method.unknown judges",
						refuseUnknown)
				}
				t.Forbid(from, "no result for a request whose member is called Method", func(m wire.Message) bool {
					return m.Kind == wire.Result && m.ID().Equal(id)
				})
				t.Saw()
			},
		},
	}
}

// expectTextRefused fails the check unless HTTP alone refused the text of a frame that
// is not JSON.
func expectTextRefused(t *check.T, from int) {
	const what = "text that is not JSON"
	if t.Transport() == transport.Stdio && t.Try(t.Facts.BarrierMethod, nil).Err != nil {
		t.NotObserved("the server answers nothing after it, which stdio.invalid-line.survived judges",
			"answer requests after a line that is no JSON")
	}
	t.Survives(what)
	if status := t.HTTP().Status(from); t.Facts.Stateless && status >= 300 && !posting.IsUnavailable(status) {
		t.Note("%s was answered by HTTP alone, with status %d", what, status)
		return
	}
	if !posting.ReportHTTPRefusal(t, from, what) {
		t.Fail("error -32700", "no answer", "a line that is not JSON was not answered")
	}
}
