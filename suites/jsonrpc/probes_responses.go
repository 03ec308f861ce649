package jsonrpc

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// noResponseSent is why probes of responses of the client are not observed.
const noResponseSent = "no response was sent"

// responseProbes returns the probes that send responses to requests that the server did
// not send. Only until 2025-11-25 clients send responses. A client without capabilities
// sends them: a server requests nothing of it that they could seem to answer.
func responseProbes() []check.Check {
	return []check.Check{
		{
			ID:      "jsonrpc.response.silent",
			Says:    "the server does not answer a response with a result, even if it requested nothing",
			Level:   spec.Must,
			In:      spec.Handshake,
			On:      transport.OnStdio | transport.OnSSE, // over HTTP each POST has an answer
			Session: check.NoCapabilities,
			Rules:   []string{"jsonrpc-response-id-match"},
			Idle:    noResponseSent,
			Hint:    expect.HintReply,
			Probe:   func(t *check.T) { forbidAnswers(t, unrequestedResult) },
		},
		{
			ID:      "jsonrpc.response.error.silent",
			Says:    "the server does not answer a response with an error, even if it requested nothing",
			Level:   spec.Must,
			In:      spec.Handshake,
			On:      transport.OnStdio | transport.OnSSE, // over HTTP each POST has an answer
			Session: check.NoCapabilities,
			Rules:   []string{"jsonrpc-response-id-match"},
			Idle:    noResponseSent,
			Hint:    expect.HintReply,
			Probe:   func(t *check.T) { forbidAnswers(t, unrequestedError) },
		},
		{
			ID:      "jsonrpc.response.survived",
			Says:    "the server still answers after responses to requests that it did not send, as late ones are",
			Level:   spec.Robust,
			In:      spec.Handshake,
			Session: check.NoCapabilities,
			Spec:    "basic/index#responses",
			Idle:    noResponseSent,
			Hint:    expect.HintReply,
			Probe: func(t *check.T) {
				sendUnrequested(t, unrequestedResult)
				sendUnrequested(t, unrequestedError)
				t.Survives("responses to requests that the server did not send")
				t.Saw()
			},
		},
	}
}

// An unrequested is a response to no request: its member and the ids that it is sent
// under, which no request has.
type unrequested struct {
	member string
	ids    []wire.ID
}

// The ids differ, since the probes share a session.
var (
	unrequestedResult = unrequested{`"result":{}`, []wire.ID{
		wire.StringID("mcpcheck-not-requested"), wire.StringID(""), wire.IntID(0), wire.IntID(-7),
	}}
	unrequestedError = unrequested{`"error":{"code":-32603,"message":"mcpcheck failed"}`, []wire.ID{
		wire.StringID("mcpcheck-failed"), wire.IntID(-8),
	}}
)

// forbidAnswers sends responses and fails the check if one is answered.
func forbidAnswers(t *check.T, of unrequested) {
	from := sendUnrequested(t, of)
	t.Forbid(from, "no answer to a response", func(m wire.Message) bool {
		return m.IsResponse() && slices.ContainsFunc(of.ids, m.ID().Equal)
	})
	t.Saw()
}

// sendUnrequested sends a response under each of its ids and returns the index of the
// first frame.
func sendUnrequested(t *check.T, of unrequested) (from int) {
	from = t.Len()
	for _, id := range of.ids {
		t.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id.Raw, of.member))
	}
	return from
}
