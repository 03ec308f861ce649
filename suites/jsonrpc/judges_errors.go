package jsonrpc

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why judges of errors are not observed, and what helps.
const (
	noError       = "no error was sent"
	refuseUnknown = "answer a request for an unknown method with an error"
)

// errorJudges returns the judges of basic/index#error-responses.
func errorJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.error.members",
			Says:  "the error of a response is an object with a code and a message",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-code-message"},
			Idle:  noError,
			Hint:  refuseUnknown,
			// jsonrpc.response.not-both judges an error beside a result.
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					if m.Kind != wire.Error || m.EnvelopeError != nil && m.EnvelopeError.Member == "result" {
						return false
					}
					switch err := m.Error(); {
					case !err.IsObject():
						j.Fail(e, "error is %s, not an object", wire.TypeName(err))
					case !err.Get("code").Exists():
						j.Fail(e, "the error has no code")
					case !err.Get("message").Exists():
						j.Fail(e, "the error has no message")
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.error.code.integer",
			Says:  "the code of an error is an integer",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-code-integer"},
			Idle:  noError,
			Hint:  refuseUnknown,
			Judge: func(j *check.J) { judgeErrorMember(j, "code", "an integer", wire.IsInteger) },
		},
		{
			ID:    "jsonrpc.error.message.string",
			Says:  "the message of an error is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-message-string"},
			Idle:  noError,
			Hint:  refuseUnknown,
			Judge: func(j *check.J) {
				judgeErrorMember(j, "message", "a string", func(v gjson.Result) bool { return v.Type == gjson.String })
			},
		},
		{
			ID:    "jsonrpc.error.message.concise",
			Says:  "the message of an error is one line of text",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-message-concise"},
			Idle:  noError,
			Hint:  refuseUnknown,
			// The rule asks for one sentence: an empty message and one of several lines are
			// certainly none.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
					message := e.Message.Error().Get("message")
					if message.Type != gjson.String {
						return false
					}
					text := strings.TrimSpace(message.String())
					if text == "" {
						j.Fail(e, "the message of the error is empty")
					} else if strings.ContainsAny(text, "\n\r") {
						j.Fail(e, "the message of the error has %d lines", strings.Count(text, "\n")+1)
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.error.id",
			Says:  "an error for a request whose id could be read carries that id",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-error-has-id"},
			Idle:  "no error with an id was sent",
			Hint:  refuseUnknown,
			// An error without id breaks the rule if everything before it could be read and a
			// request before it got no answer. With a failure status of HTTP it may refuse what
			// was not read as a message (basic/transports#sending-messages-to-the-server).
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					switch {
					case m.Kind != wire.Error:
					case !check.HasNoID(m):
						j.Saw()
					case e.HasFailureStatus() || j.HasUnreadableBefore(e):
					default:
						if id, ok := unanswered(j, e); ok {
							j.Fail(e, "the error carries %s, and the request with id %s got no answer", m.ID(), id)
						}
					}
				}
			},
		},
		{
			ID:    "jsonrpc.error.id.unreadable",
			Says:  "an error for what could not be read has the id null, no id, or an id that was sent",
			Level: spec.Should,
			In:    spec.Until(spec.V2025_06_18),
			Rules: []string{"jsonrpc-error-null-id-when-unreadable"},
			Idle:  "no error for what could not be read was sent",
			Hint:  "answer bytes that are no JSON with error -32700",
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					if m.Kind != wire.Error || !j.HasUnreadableBefore(e) {
						return false
					}
					if !check.HasNoID(m) && !j.HasRequest(e) && !answersLargeID(j, e) {
						j.Fail(e, "the error carries id %s, which was in nothing that was sent",
							wire.Clip(m.ID().String(), 80))
					}
					return check.HasNoID(m)
				})
			},
		},
	}
}

// judgeErrorMember judges the type of a member of errors that have it.
func judgeErrorMember(j *check.J, name, want string, isRight func(gjson.Result) bool) {
	check.Each(j, transcript.ErrorResponses(j), func(e wire.Entry) bool {
		v := e.Message.Error().Get(name)
		if v.Exists() && !isRight(v) {
			j.Fail(e, "the %s of the error is %s, not %s", name, wire.Clip(v.Raw, 80), want)
		}
		return v.Exists()
	})
}

// unanswered returns the id of a request before a frame that no response of the
// session carries. A request that was cancelled need not be answered, and
// jsonrpc.id.large judges one whose id is beyond 2^53.
func unanswered(j *check.J, before wire.Entry) (wire.ID, bool) {
	settled := map[string]bool{}
	for _, e := range j.Sent() {
		if e.Message.IsResponse() {
			settled[e.Message.ID().Key()] = true
		}
	}
	for _, e := range j.Received() {
		if e.Message.Method() == "notifications/cancelled" {
			settled[wire.ID{Raw: e.Message.Params().Get("requestId").Raw}.Key()] = true
		}
	}
	for _, e := range j.Received() {
		id := e.Message.ID()
		if e.Index < before.Index && e.Message.Kind == wire.Request && !settled[id.Key()] && !id.IsLarge() {
			return id, true
		}
	}
	return wire.ID{}, false
}
