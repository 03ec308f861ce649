package jsonrpc

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// noMessage is why judges of every message are not observed.
const noMessage = "no message was sent"

// messageJudges returns the judges of basic/index#messages (basic/messages in
// 2024-11-05): the shape of requests, notifications and responses.
func messageJudges() []check.Check {
	return slices.Concat(envelopeJudges(), requestJudges(), responseJudges(), resultJudges(), errorJudges(),
		codeJudges())
}

// envelopeJudges returns the judges of what all messages have in common.
func envelopeJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.message.shape",
			Says:  "every message is one JSON-RPC request, notification or response",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-messages-follow-spec"},
			Idle:  noMessage,
			Hint:  expect.HintReply,
			// The checks of the transport judge what is no JSON, and jsonrpc.response.member
			// an object with an id and nothing else.
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					if m.SyntaxError != nil || isBareResponse(m) || m.Kind == wire.Batch {
						return false
					}
					if m.Kind == wire.Invalid {
						j.Fail(e, "%s", m.EnvelopeError.Problem)
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.version",
			Says:  `every message has a jsonrpc member that is the string "2.0"`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-version-literal"},
			Idle:  noMessage,
			Hint:  expect.HintReply,
			Judge: func(j *check.J) { judgeMember(j, "jsonrpc", isMessage) },
		},
		{
			ID:    "jsonrpc.utf8",
			Says:  "every message is encoded in UTF-8",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"jsonrpc-utf8"},
			Idle:  noMessage,
			Hint:  expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					fault := e.Message.SyntaxError
					if fault != nil && fault.NotUTF8 {
						j.Fail(e, "a message is %v", fault)
					}
					return fault == nil
				})
			},
		},
		batchJudge(),
		advisedBatchJudge(),
	}
}

// advisedBatchJudge returns the judge of arrays in 2024-11-05, which only its message type
// excludes.
func advisedBatchJudge() check.Check {
	c := check.Advised(batchJudge(), spec.Only(spec.V2024_11_05))
	c.Says = "no array is sent as a message, since the message type of the revision has none"
	return c
}

// batchJudge returns the judge of arrays in revisions without batches.
func batchJudge() check.Check {
	return check.Check{
		ID:    "jsonrpc.batch.none",
		Says:  "no array is sent as a message, since the revision has no batches",
		Level: spec.Must,
		In:    spec.Since(spec.V2025_06_18),
		Rules: []string{"jsonrpc-no-batch-arrays"},
		Idle:  noMessage,
		Hint:  expect.HintReply,
		// An array that may answer one of ours is left out: no revision states how an array
		// is answered that may not be sent, and batching.served judges a server that serves
		// one.
		Judge: func(j *check.J) {
			received := false
			check.Each(j, j.Entries(), func(e wire.Entry) bool {
				isArray := e.Message.Kind == wire.Batch
				switch {
				case e.From != j.Of:
					received = received || isArray
					return false
				case isArray && received:
					return false
				case isArray:
					j.Fail(e, "an array of %d messages was sent", len(e.Message.Elements()))
				}
				return isMessage(e.Message)
			})
		},
	}
}

// isMessage reports whether a frame is a single message.
func isMessage(m wire.Message) bool { return m.Kind != wire.Invalid && m.Kind != wire.Batch }

// hasMethod reports whether a message is a request or a notification.
func hasMethod(m wire.Message) bool { return m.Kind == wire.Request || m.Kind == wire.Notification }

// isBareResponse reports whether a message is an object with an id that has neither
// method nor result nor error.
func isBareResponse(m wire.Message) bool {
	return m.Kind == wire.Invalid && m.Value().IsObject() && m.ID().IsPresent() && !m.Get("method").Exists()
}

// judgeMember judges one member of the messages that are its subjects.
func judgeMember(j *check.J, member string, isSubject func(wire.Message) bool) {
	check.Each(j, j.Sent(), func(e wire.Entry) bool { return judgeMemberOf(j, e, member, isSubject) })
}

// judgeMemberOf judges one member of a message, and reports whether the message is a
// subject.
func judgeMemberOf(j *check.J, e wire.Entry, member string, isSubject func(wire.Message) bool) bool {
	m := e.Message
	if m.EnvelopeError != nil && m.EnvelopeError.Member == member && m.Kind != wire.Invalid {
		j.Fail(e, "%s", m.EnvelopeError.Problem)
	}
	return isSubject(m)
}
