package jsonrpc

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// unusualProbes returns the probes that send JSON which few clients send: long, deep, of
// another shape than a message, or with names that a language gives a meaning of its own.
func unusualProbes() []check.Check {
	return []check.Check{
		{
			ID: "jsonrpc.message.large",
			Says: "the server answers a request of 96 KiB, or refuses it: arguments such as the content of a file" +
				" are as long",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "basic/index#requests",
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			// The method is unknown, so that any server answers with an error. No clause states how
			// long a message may be.
			Probe: func(t *check.T) {
				const what = "a request of 96 KiB"
				if r := t.Try(unknownMethod, check.Params{"mcpcheck": "short"}); r.Err != nil &&
					posting.RefusalStatus(r.Err) == 0 {
					t.NotObserved("a short request of an unknown method is not answered either", "")
				}
				id, long := t.NextID(), strings.Repeat("long ", largeMessage/5)
				from := t.Send(t.Frame(id, unknownMethod, check.Params{"mcpcheck": long}))
				_, ok := t.Await(from, func(m wire.Message) bool {
					return m.IsResponse() && (m.ID().Equal(id) || check.IsErrorWithoutID(m))
				})
				if !ok && !posting.ReportHTTPRefusal(t, from, what) {
					t.Survives(what)
					t.Fail("an answer", "none", "%s was not answered", what)
				}
				t.Survives(what)
				t.Saw()
			},
		},
		{
			ID:       "jsonrpc.message.survived",
			Says:     "the server still answers after JSON that is no message, or has a method that is no string",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#messages",
			Malforms: true,
			Session:  check.OwnSession,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			// How the server answers such messages judges jsonrpc.request.invalid.
			Probe: func(t *check.T) { expectSurvival(t, nonMessages(t)...) },
		},
		{
			ID:       "jsonrpc.id.invalid.survived",
			Says:     "the server still answers after a request whose id is a boolean, an array or an object",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#messages",
			Malforms: true,
			Session:  check.OwnSession,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			Probe:    func(t *check.T) { expectSurvival(t, withInvalidIDs(t)...) },
		},
		{
			ID:       "jsonrpc.params.type.survived",
			Says:     "the server still answers after a request whose params are no object",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#messages",
			Malforms: true,
			Session:  check.OwnSession,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			Probe:    func(t *check.T) { expectSurvival(t, withInvalidParams(t)...) },
		},
		{
			ID:       "jsonrpc.message.nested.survived",
			Says:     "the server still answers after a message that holds deeply nested arrays, which it may refuse",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/index#messages",
			Malforms: true,
			Session:  check.OwnSession,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			Probe: func(t *check.T) {
				expect.RequireReadingOn(t)
				expectSurvival(t, nestedMessage(t))
			},
		},
		{
			ID: "jsonrpc.utf8.survived",
			Says: "the server still answers after a message with bytes that are no UTF-8, or with escapes of no" +
				" character, as files and terminals hold them",
			Level:    spec.Robust,
			In:       spec.Every,
			Spec:     "basic/transports",
			Malforms: true,
			Session:  check.OwnSession,
			Idle:     noMalformedSent,
			Hint:     expect.HintReply,
			// The server may refuse such a message, or replace what it cannot read.
			Probe: func(t *check.T) {
				for _, m := range []message{
					{"a message with the bytes FF FE", "\xff\xfe"}, {"a message with a cut UTF-8 sequence", "\xe6\xbc"},
					{"a message with half of a surrogate pair", `\ud800`}, {"a message with U+0000", `\u0000`},
				} {
					m.raw = barrierWith(t, `{"_meta":{"mcpcheck.dev/note":"`+m.raw+`"}}`)
					expectSurvival(t, m)
				}
			},
		},
		{
			ID: "jsonrpc.params.absent.survived",
			Says: "the server answers requests that lack the params which their method requires, and goes on: " +
				"a client that waits for such an answer waits for ever",
			Level:    spec.Robust,
			In:       spec.Handshake, // since 2026-07-28 each request has params
			Spec:     "basic/index#requests",
			Malforms: true,
			Idle:     noIllTypedSent,
			Hint:     "offer tools, resources, prompts or completions",
			// Over HTTP a status of 4xx is an answer.
			Probe: func(t *check.T) {
				for _, m := range []struct{ capability, method string }{
					{"tools", "tools/call"}, {"resources", "resources/read"}, {"prompts", "prompts/get"},
					{"resources.subscribe", "resources/subscribe"}, {"resources.subscribe", "resources/unsubscribe"},
					{"completions", "completion/complete"}, {"logging", "logging/setLevel"},
				} {
					if !t.Declares(m.capability) {
						continue
					}
					r := t.Try(m.method, nil)
					if r.Err != nil && posting.ClientErrorStatus(r.Err) == 0 {
						t.Survives(m.method + " without params")
						t.Fail("an answer", "none", "%s without params: %v", m.method, r.Err)
					}
					t.Saw()
				}
			},
		},
		{
			ID: "jsonrpc.params.extra",
			Says: "the server serves a request with a param that the schema does not name as it does without: " +
				"later revisions add params",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "basic/versioning",
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				methods := []string{t.Facts.BarrierMethod}
				for _, capability := range []string{"tools", "resources", "prompts"} {
					if t.Declares(capability) {
						methods = append(methods, capability+"/list")
					}
				}
				for _, method := range methods {
					if !t.Try(method, check.Params{}).Succeeded() {
						continue
					}
					what := method + " with a param that the schema does not name"
					r := t.Try(method, check.Params{"mcpcheck": check.Params{"note": []any{1, nil}}})
					if r.Err != nil {
						t.Fail("a result, as without it", "no answer", "%s: %v", what, r.Err)
					}
					match.Expect(t, r).To(match.BeResult(), what)
					t.Saw()
				}
			},
		},
		{
			ID:    "jsonrpc.method.inherited",
			Says:  "the server answers a request for a method whose name all objects of a language have with an error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-method-not-found"},
			Idle:  "a method of an ordinary unknown name gets no error either",
			Hint:  expect.HintReply,
			// jsonrpc.method.unknown judges unknown methods of ordinary names.
			Probe: func(t *check.T) { expectUnknown(t, "constructor", "__proto__", "toString") },
		},
		{
			ID: "jsonrpc.method.empty",
			Says: "the server answers a request whose method is empty with an error: a reader that takes it for a" +
				" response leaves the client without an answer",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "basic/index#requests",
			Idle:  "a method of an ordinary unknown name gets no error either",
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				if t.Facts.Stateless && t.Transport() != transport.Stdio {
					t.NotApplicable("a header field repeats the method, and cannot be empty")
				}
				expectUnknown(t, "")
			},
		},
	}
}

// expectUnknown expects errors for requests of methods that no server has, if an unknown
// method of an ordinary name gets one.
func expectUnknown(t *check.T, methods ...string) {
	if r := t.Try(unknownMethod, nil); r.Succeeded() || r.Err != nil && posting.RefusalStatus(r.Err) == 0 {
		return
	}
	for _, method := range methods {
		r := t.Try(method, nil)
		if r.Err != nil && posting.RefusalStatus(r.Err) == 0 {
			t.Fail("an error", "no answer", "a request for the method %q: %v", method, r.Err)
		}
		if r.Err == nil {
			match.Expect(t, r).To(match.BeError(), "a request for the method %q", method)
		}
		t.Saw()
	}
}

// largeMessage is the length of a message in bytes that buffers of a fixed length are
// often too short for: 64 KiB is a usual one. What a reader leaves of it that ends there
// fits into a pipe, so that it can be sent.
const largeMessage = 96 << 10

// A message is the bytes of a message, with its name in reports.
type message struct{ what, raw string }

// expectSurvival sends messages, and expects the server to answer a request after each.
func expectSurvival(t *check.T, messages ...message) {
	for _, m := range messages {
		t.Send(m.raw)
		t.Survives(m.what)
		t.Saw()
	}
}

// nonMessages returns JSON that is no message, and messages whose method is no string.
func nonMessages(t *check.T) (out []message) {
	for _, raw := range []string{`42`, `"mcpcheck"`, `null`, `true`, `{}`, `{"jsonrpc":"2.0"}`} {
		out = append(out, message{"the message " + raw, raw})
	}
	for _, method := range []string{`null`, `true`, `{}`} {
		raw := `{"jsonrpc":"2.0","id":` + t.NextID().Raw + `,"method":` + method + `,"params":{}}`
		out = append(out, message{"a request whose method is " + method, raw})
	}
	return out
}

// withInvalidIDs returns requests whose ids are neither strings nor numbers. It leaves out
// null, under which a server may answer.
func withInvalidIDs(t *check.T) (out []message) {
	for _, id := range []string{`true`, `[]`, `{}`} {
		out = append(out, message{"a request whose id is " + id, t.Frame(wire.ID{Raw: id}, t.Facts.BarrierMethod, nil)})
	}
	return out
}

// withInvalidParams returns requests whose params are no object.
func withInvalidParams(t *check.T) (out []message) {
	for _, params := range []string{`null`, `"mcpcheck"`, `5`, `true`, `[1]`} {
		out = append(out, message{"a request whose params are " + params, barrierWith(t, params)})
	}
	return out
}

// nestedMessage returns a request with arrays that are nested deeper than many readers
// allow, and than those can read that call themselves for each.
func nestedMessage(t *check.T) message {
	const depth = 20_000
	arrays := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	return message{
		fmt.Sprintf("a request with %d nested arrays", depth),
		barrierWith(t, `{"_meta":{"mcpcheck.dev/note":`+arrays+`}}`),
	}
}

// barrierWith returns a request with these params that any server answers if they are
// valid.
func barrierWith(t *check.T, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, t.NextID().Raw, t.Facts.BarrierMethod,
		params)
}
