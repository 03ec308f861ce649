package jsonrpc

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges are the judges of basic/index#messages that are of clients alone:
// how a client answers, and what it may send.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.jsonrpc.request.answered",
			Says:  "every request of the server is answered",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-every-request-answered"},
			// answered leaves pings to their own check.
			Judge: func(j *check.J) {
				asks, answers := transcript.ServerRequests(j)
				for i, ask := range asks {
					switch {
					case ask.Message.Method() == "ping":
					case answers[i].Message.Kind != wire.Invalid:
						j.Saw()
					case transcript.IsOverdue(j, ask):
						j.Fail(ask, "the server's %s was not answered within %s", ask.Message.Summary(), j.Due())
					}
				}
			},
		},
		{
			ID:    "client.jsonrpc.method.unknown",
			Says:  "a request for a method that no client has is answered with error -32601",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-method-not-found"},
			// clientUnknownMethod judges methods that the schema gives to neither side.
			Judge: func(j *check.J) {
				asks, answers := transcript.ServerRequests(j)
				known := schema.For(j.Rev)
				for i, ask := range asks {
					method, answer := ask.Message.Method(), answers[i].Message
					if !strings.HasPrefix(method, "mcpcheck/") || known.SentBy(wire.Server, method) || answer.Kind == wire.Invalid {
						continue
					}
					if code, _ := answer.Code(); answer.Kind != wire.Error || code != spec.MethodNotFound {
						j.Fail(answers[i], "%s was answered with %s", method, answer.Summary())
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "client.jsonrpc.notification.silent",
			Says:  "a notification is not answered",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-no-response-to-notification", "jsonrpc-no-error-for-bad-notification"},
			// notificationSilent takes a response without a usable id for one to a
			// notification, where everything that was sent could be read and every request
			// has its own answer.
			Judge: func(j *check.J) {
				asks, answers := transcript.ServerRequests(j)
				open := false
				for i := range asks {
					open = open || answers[i].Message.Kind == wire.Invalid
				}
				notified := -1
				for _, e := range j.Received() {
					if e.Message.Kind == wire.Notification && notified < 0 {
						notified = e.Index
					}
				}
				if notified < 0 {
					return
				}
				for _, e := range j.Sent() {
					m := e.Message
					if e.Index < notified {
						continue
					}
					if m.IsResponse() && (!m.ID().Present() || m.ID().Null()) && !j.Unreadable(e) && !open {
						j.Fail(e, "the client sent a response with %s, which answers no request", m.ID())
						return
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "client.jsonrpc.request.id.in-flight",
			Says:  "no request has the id of another that is still unanswered",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-request-id-unique-in-flight"},
			Judge: func(j *check.J) {
				open := map[string]bool{}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						key := m.ID().Key()
						switch {
						case !m.ID().Usable():
						case e.From == wire.Server && m.IsResponse():
							delete(open, key)
						case e.From == wire.Client && m.Kind == wire.Request:
							if open[key] {
								j.Fail(e, "the id %s is that of a request that was not answered yet", m.ID())
								return
							}
							open[key] = true
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "client.batching.initialize",
			Says:  "initialize is not part of a batch",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_03_26),
			Rules: []string{"batching-initialize-not-in-batch"},
			Judge: func(j *check.J) {
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						if e.From != wire.Client || m.Method() != "initialize" {
							continue
						}
						if e.Message.Kind == wire.Batch {
							j.Fail(e, "initialize came in a batch")
							return
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "client.methods.requests",
			Says:  "the client sends no request that only servers send",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"schema-request-methods"},
			Judge: func(j *check.J) { direction(j, wire.Request) },
		},
		{
			ID:    "client.methods.notifications",
			Says:  "the client sends no notification that only servers send",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-notification-methods"},
			Judge: func(j *check.J) { direction(j, wire.Notification) },
		},
	}
}

// direction objects to methods that the schema knows from servers only. One
// that it does not know at all may be of an extension.
func direction(j *check.J, kind wire.Kind) {
	known := schema.For(j.Rev)
	for _, e := range j.Sent() {
		m := e.Message
		switch {
		case m.Kind != kind:
		case known.SentBy(wire.Client, m.Method()):
			j.Saw()
		case known.SentBy(wire.Server, m.Method()):
			j.Fail(e, "%s is sent by servers only", m.Method())
		}
	}
}
