package jsonrpc

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// Why probes of well-formed messages are not observed.
const (
	noRequestSent      = "no request was sent"
	noNotificationSent = "no notification was sent"
)

// probes returns the probes of basic/index#messages (basic/messages in 2024-11-05): how
// a server answers requests, notifications and malformed messages.
func probes() []check.Check {
	return slices.Concat(messageProbes(), responseProbes(), paramsProbes(),
		omittedParamsProbes(), malformedProbes(), unusualProbes())
}

// messageProbes returns the probes that send well-formed messages.
func messageProbes() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.id.types",
			Says:  "the server answers requests with string ids and with integer ids",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-id-types-accepted"},
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			// jsonrpc.response.id judges an answer under another id in every session: here it
			// counts as the answer, so that one cause is one failure.
			Probe: func(t *check.T) {
				sent := map[string]bool{}
				for _, id := range validIDs() {
					sent[id.Key()] = true
					call := t.Start(t.Facts.BarrierMethod, nil, id)
					m, ok := t.Await(call.FrameIndex, func(m wire.Message) bool {
						return m.IsResponse() &&
							(m.ID().Equal(id) || !sent[m.ID().Key()] && !answersFrameSince(t, 0, m))
					})
					if ok {
						match.Expect(t, m).To(match.BeResult(), "%s with the id %s", t.Facts.BarrierMethod,
							wire.Clip(id.Raw, 40))
					} else {
						t.Answer(call) // fails with the state of the server
					}
					t.Saw()
				}
			},
		},
		{
			ID: "jsonrpc.id.large",
			Says: "the server answers a request whose id is an integer beyond 2^53 under that id, or refuses it: " +
				"a client that counts so waits for its id",
			Level:   spec.Robust,
			In:      spec.Every,
			Session: check.OwnSession,
			Spec:    "basic/index#requests",
			Idle:    noRequestSent,
			Hint:    expect.HintReply,
			// RequestId is a number of TypeScript, which holds no such integer, and readers
			// differ on it (RFC 8259 section 6). An error without an id refuses it.
			Probe: func(t *check.T) {
				const want = "an answer under the same id"
				call := t.Start(t.Facts.BarrierMethod, nil, wire.IntID(9007199254740993))
				isRight := func(m wire.Message) bool {
					return check.ResponseTo(call.ID)(m) || check.IsErrorWithoutID(m)
				}
				t.Forbid(call.FrameIndex, want, func(m wire.Message) bool {
					return m.IsResponse() && !isRight(m) && !answersFrameSince(t, call.FrameIndex+1, m)
				})
				_, ok := t.AwaitBarrier(call.FrameIndex, isRight)
				t.Survives("a request with the id " + call.ID.Raw)
				if !ok && !t.HTTP().Refused(call.FrameIndex) {
					t.Fail(want, "no answer", "a request with the id %s, beyond 2^53, was not answered", call.ID)
				}
				t.Saw()
			},
		},
		{
			ID:    "jsonrpc.response.each",
			Says:  "the server answers each of many concurrent requests",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-every-request-answered"},
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			// All requests are sent before an answer is read; the answers may come in any
			// order.
			Probe: func(t *check.T) {
				var calls []*check.Call
				for range 20 {
					calls = append(calls, t.Start(t.Facts.BarrierMethod, nil))
				}
				for _, c := range calls {
					t.Answer(c)
					t.Saw()
				}
			},
		},
		{
			ID:    "jsonrpc.method.unknown",
			Says:  "the server answers a request for an unknown method with an error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-method-not-found"},
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				match.Expect(t, t.Request(unknownMethod, nil)).To(match.BeError(), unknownMethod)
				t.Saw()
			},
		},
		{
			ID:    "jsonrpc.method.unknown.code",
			Says:  "the error for an unknown method is -32601",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-method-not-found-code"},
			Idle:  "an unknown method was not answered with an error",
			Hint:  refuseUnknown,
			Probe: func(t *check.T) { probeUnknownMethodCode(t) },
		},
		{
			ID:    "jsonrpc.method.unknown.code.advised",
			Says:  "the error for an unknown method is -32601",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-method-not-found-code"},
			Idle:  "an unknown method was not answered with an error",
			Hint:  refuseUnknown,
			Probe: func(t *check.T) { probeUnknownMethodCode(t) },
		},
		{
			ID:    "jsonrpc.method.unadvertised",
			Says:  "the server answers a method of a capability that it does not declare with error -32601",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-method-not-found-unadvertised"},
			Idle:  "the server declares tools, prompts and resources",
			Hint:  "nothing has to be done: the check is for a server that lacks tools, prompts or resources",
			// A list with entries shows a feature that is not declared: the checks of that
			// feature judge it.
			Probe: func(t *check.T) {
				for _, list := range []string{"tools", "prompts", "resources"} { // each a capability by that name
					if t.Declares(list) {
						continue
					}
					m := t.Request(list+"/list", nil)
					if m.Kind == wire.Result && len(m.Result().Get(list).Array()) > 0 {
						continue
					}
					match.Expect(t, m).To(match.BeError(spec.MethodNotFound), "%s/list", list)
					t.Saw()
				}
			},
		},
		{
			ID:    "jsonrpc.params.invalid",
			Says:  "the server answers a known method without a required parameter with an error",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-invalid-params"},
			Idle:  "the server serves none of resources, prompts and completions",
			Hint:  "declare resources, prompts or completions",
			// tools/call has rules of its own, and other checks judge that a declared method is
			// known. The rule requires an error; the code is only advised, by the pages of the
			// methods.
			Probe: func(t *check.T) {
				for _, m := range []struct{ capability, method string }{
					{"resources", "resources/read"}, {"prompts", "prompts/get"}, {"completions", "completion/complete"},
				} {
					if !t.Declares(m.capability) {
						continue
					}
					answer := t.Request(m.method, check.Params{})
					code, _ := answer.ErrorCode()
					if code == spec.MethodNotFound {
						continue
					}
					match.Expect(t, answer).To(match.BeError(), m.method)
					t.Saw()
					if code != spec.InvalidParams {
						t.Note("%s without its parameters was answered with %d rather than -32602", m.method, code)
					}
				}
			},
		},
		{
			ID:    "jsonrpc.notification.silent",
			Says:  "the server does not answer a notification, even if it is unknown or malformed",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-no-response-to-notification", "jsonrpc-no-error-for-bad-notification"},
			Idle:  noNotificationSent,
			Hint:  expect.HintReply,
			// No notification has an id, so that a response which names no request answers one
			// of them.
			Probe: func(t *check.T) {
				neverSent := wire.StringID("mcpcheck-never-sent")
				from := sendUnusualNotifications(t)
				t.Forbid(from, "no answer to a notification", func(m wire.Message) bool {
					return m.IsResponse() && (check.HasNoID(m) || m.ID().Equal(neverSent))
				})
				t.Saw()
			},
		},
		{
			ID:    "jsonrpc.notification.survived",
			Says:  "the server still answers after a notification that is unknown or malformed",
			Level: spec.Robust,
			In:    spec.Every,
			Spec:  "basic/index#notifications",
			Idle:  noNotificationSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				sendUnusualNotifications(t)
				t.Survives("a notification that is unknown or malformed")
				t.Saw()
			},
		},
	}
}

// unknownMethod is a method that no server has.
const unknownMethod = "mcpcheck/no-such-method"

// probeUnknownMethodCode fails the check if the error for an unknown method has another
// code than -32601.
func probeUnknownMethodCode(t *check.T) {
	if r := t.Try(unknownMethod, nil); r.Err == nil && r.Message.Kind == wire.Error {
		match.Expect(t, r).To(match.BeError(spec.MethodNotFound), unknownMethod)
		t.Saw()
	}
}

// validIDs returns ids of the kinds that the schema allows.
func validIDs() []wire.ID {
	return []wire.ID{
		wire.StringID("abc"), wire.StringID(""), wire.StringID("7"), wire.StringID(strings.Repeat("long-id-", 32)),
		wire.StringID("žluťoučký 漢字 \u2028"), wire.IntID(0), wire.IntID(-1), wire.IntID(9007199254740991),
	}
}

// sendUnusualNotifications sends an unknown notification, one that refers to nothing,
// and two with params of wrong types, and returns the index of the first frame.
func sendUnusualNotifications(t *check.T) (from int) {
	from = t.Notify("notifications/mcpcheck/unknown", nil)
	check.SendUnmatchedCancellations(t)
	if !t.Facts.Stateless {
		t.Notify("notifications/progress", nil)
	}
	return from
}

// answersFrameSince reports whether a response has the id of a message that we sent
// from a frame on.
func answersFrameSince(t *check.T, from int, m wire.Message) bool {
	hasItsID := func(sent wire.Message) bool { return m.ID().IsValid() && sent.ID().Equal(m.ID()) }
	for e := range t.Frames(from) {
		if e.From == wire.Client && slices.ContainsFunc(e.Message.Elements(), hasItsID) {
			return true
		}
	}
	return false
}
