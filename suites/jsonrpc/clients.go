package jsonrpc

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// clientJudges returns the judges of basic/index#messages that apply to clients alone:
// how a client answers, and what it may send.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.client.request.answered",
			Says:  "the client answers every request of the server",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-every-request-answered"},
			Idle:  "the server sent no request but ping",
			Hint:  "let the client stay connected until the server has sent its requests",
			// ping.client.answered judges pings.
			Judge: func(j *check.J) {
				asks, answers := transcript.ServerRequests(j)
				for i, ask := range asks {
					switch {
					case ask.Message.Method() == "ping":
					case answers[i].Message.Kind != wire.Invalid:
						j.Saw()
					case transcript.IsOverdue(j, ask):
						j.Fail(ask, "the server's %s was not answered within %s", ask.Message.Summary(),
							j.AnswerTimeout())
					}
				}
			},
		},
		{
			ID:    "jsonrpc.client.method.unknown",
			Says:  "the client answers a request for a method that no client has with an error",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-method-not-found"},
			Idle:  "the client answered no request for an unknown method",
			Hint:  "let the client answer each request of the server, at least with an error",
			Judge: func(j *check.J) {
				check.Each(j, answersToUnknownMethods(j), func(e wire.Entry) bool {
					if e.Message.Kind != wire.Error {
						j.Fail(e, "a request for an unknown method was answered with %s", e.Message.Summary())
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.client.method.unknown.code",
			Says:  "the error of the client for a method that no client has is -32601",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-method-not-found-code"},
			Idle:  "the client answered no request for an unknown method with an error",
			Hint:  "let the client answer each request of the server, at least with an error",
			Judge: func(j *check.J) {
				check.Each(j, answersToUnknownMethods(j), func(e wire.Entry) bool {
					code, ok := e.Message.ErrorCode()
					if ok && code != spec.MethodNotFound {
						j.Fail(e, "a request for an unknown method was answered with %s", e.Message.Summary())
					}
					return ok
				})
			},
		},
		{
			ID:    "jsonrpc.client.notification.silent",
			Says:  "the client does not answer a notification",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-no-response-to-notification", "jsonrpc-no-error-for-bad-notification"},
			Idle:  "the client sent nothing after a notification of the server",
			Hint:  "let the client send a request after a notification of the server has come",
			// A response without a usable id answers a notification only if everything that
			// the client received could be read and every request has its own answer.
			Judge: func(j *check.J) {
				received := j.Received()
				first := slices.IndexFunc(received, func(e wire.Entry) bool {
					return e.Message.Kind == wire.Notification
				})
				if first < 0 {
					return
				}
				_, answers := transcript.ServerRequests(j)
				unanswered := slices.ContainsFunc(answers, func(e wire.Entry) bool {
					return e.Message.Kind == wire.Invalid
				})
				for _, e := range j.Sent() {
					m := e.Message
					if e.Index < received[first].Index {
						continue
					}
					answersNothing := m.IsResponse() && check.HasNoID(m)
					if answersNothing && !j.HasUnreadableBefore(e) && !unanswered {
						j.Fail(e, "the client sent a response with %s, which answers no request", m.ID())
						return
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "jsonrpc.client.request.id.in-flight",
			Says:  "no request of the client has the id of another that is still unanswered",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"jsonrpc-request-id-unique-in-flight"},
			Idle:  "the client sent no request with a usable id",
			Hint:  "let the client open a session and send a request",
			Judge: func(j *check.J) {
				open := map[string]bool{}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						key := m.ID().Key()
						switch {
						case !m.ID().IsValid():
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
			ID:    "jsonrpc.client.batch.initialize",
			Says:  "the client sends initialize outside of a batch",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_03_26),
			Rules: []string{"batching-initialize-not-in-batch"},
			Idle:  "the client did not send initialize",
			Hint:  "let the client send initialize",
			Judge: func(j *check.J) {
				check.Each(j, j.Entries(), func(e wire.Entry) bool {
					isInitialize := func(m wire.Message) bool { return m.Method() == "initialize" }
					if e.From != wire.Client || !slices.ContainsFunc(e.Message.Elements(), isInitialize) {
						return false
					}
					if e.Message.Kind == wire.Batch {
						j.Fail(e, "initialize came in a batch")
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.client.methods.requests",
			Says:  "the client sends no request that only servers send",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"schema-request-methods"},
			Idle:  "the client sent no request of the schema",
			Hint:  "let the client open a session and send a request",
			Judge: func(j *check.J) { judgeClientMethods(j, wire.Request) },
		},
		{
			ID:    "jsonrpc.client.methods.notifications",
			Says:  "the client sends no notification that only servers send",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-notification-methods"},
			Idle:  "the client sent no notification of the schema",
			Hint:  "let the client send a notification, such as notifications/cancelled",
			Judge: func(j *check.J) { judgeClientMethods(j, wire.Notification) },
		},
	}
}

// judgeClientMethods judges that the client sends no requests or notifications that
// the schema has for servers only. A method that the schema does not have at all may
// be one of an extension.
func judgeClientMethods(j *check.J, kind wire.Kind) {
	known := schema.For(j.Rev)
	check.Each(j, j.Sent(), func(e wire.Entry) bool {
		method := e.Message.Method()
		switch {
		case e.Message.Kind != kind:
			return false
		case known.CanSend(wire.Client, method):
			return true
		case known.CanSend(wire.Server, method):
			j.Fail(e, "only servers send %s", method)
			return true
		}
		return false
	})
}

// answersToUnknownMethods returns the answers of a client to requests for methods that no
// client has. A method of another prefix may be one of an extension that the client has.
func answersToUnknownMethods(j *check.J) (out []wire.Entry) {
	asks, answers := transcript.ServerRequests(j)
	for i, ask := range asks {
		method := ask.Message.Method()
		isUnknown := strings.HasPrefix(method, "mcpcheck/") && !schema.For(j.Rev).CanSend(wire.Server, method)
		if isUnknown && answers[i].Message.Kind != wire.Invalid {
			out = append(out, answers[i])
		}
	}
	return out
}
