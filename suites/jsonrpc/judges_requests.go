package jsonrpc

import (
	"bytes"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// Why judges of requests and notifications are not observed, and what helps.
const (
	noMethod         = "no request or notification was sent"
	sendNotification = "offer a read-only tool that reports progress or sends log messages" + check.OrAllow
	sendRequest      = "offer a read-only tool that samples, elicits or requests roots" + check.OrAllow
)

// requestJudges returns the judges of requests and notifications.
func requestJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.method.string",
			Says:  "the method of a request or notification is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-method-string"},
			Idle:  noMethod,
			Hint:  sendNotification,
			Judge: func(j *check.J) { judgeMember(j, "method", hasMethod) },
		},
		{
			ID:    "jsonrpc.method.reserved",
			Says:  `no method name starts with "rpc."`,
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-rpc-prefix-reserved"},
			Idle:  noMethod,
			Hint:  sendNotification,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if method := e.Message.Method(); strings.HasPrefix(method, "rpc.") {
						j.Fail(e, "the method %q is reserved by JSON-RPC", wire.Clip(method, 80))
					}
					return hasMethod(e.Message)
				})
			},
		},
		{
			ID:    "jsonrpc.params.object",
			Says:  "params, where present, is an object",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-params-object"},
			Idle:  "no request or notification with params was sent",
			Hint:  sendNotification,
			// roots.request.params judges the params of requests for roots, of which there is
			// nothing else to judge.
			Judge: func(j *check.J) {
				hasParams := func(m wire.Message) bool { return hasMethod(m) && m.Params().Exists() }
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					return !transcript.IsRootsRequest(j, e.Message) && judgeMemberOf(j, e, "params", hasParams)
				})
			},
		},
		{
			ID:    "jsonrpc.request.id",
			Says:  "the id of a request of the server is a string or an integer",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-request-id-required", "jsonrpc-request-id-not-null"},
			Idle:  "no request was sent",
			Hint:  sendRequest,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if !isRequest(e.Message) {
						return false
					}
					if id := e.Message.ID(); !id.IsValid() {
						j.Fail(e, "the id of a request is %s", wire.Clip(id.String(), 80))
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.request.id.unique",
			Says:  "no request of the server repeats an id",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"jsonrpc-request-id-unique"},
			Idle:  "no request with a usable id was sent",
			Hint:  sendRequest,
			// The same bytes in another exchange of HTTP are the same request: other checks
			// judge which streams may carry it.
			Judge: func(j *check.J) {
				first := map[string]wire.Entry{}
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					if m.Kind != wire.Request || !m.ID().IsValid() {
						return false
					}
					before, repeated := first[m.ID().Key()]
					switch {
					case repeated && !e.SameExchange(before.Frame) && bytes.Equal(m.Raw, before.Message.Raw):
						return false
					case repeated:
						j.Fail(e, "the id %s was used before in this session", m.ID())
					default:
						first[m.ID().Key()] = e
					}
					return true
				})
			},
		},
		{
			ID:    "jsonrpc.request.none",
			Says:  "the server sends no requests",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{
				"jsonrpc-server-no-requests", "jsonrpc-binding-directions", "mrtr-server-input-via-result",
				"streamable-http-no-server-requests",
			},
			Idle: noMessage,
			Hint: expect.HintReply,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if isRequest(e.Message) {
						j.Fail(e, "the server sent a %s", e.Message.Summary())
					}
					return isMessage(e.Message)
				})
			},
		},
		{
			ID:    "jsonrpc.notification.no-id",
			Says:  "a notification has no id",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-notification-no-id"},
			Idle:  "no notification was sent",
			Hint:  sendNotification,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					if !hasNotificationMethod(m) {
						return false
					}
					if m.ID().IsPresent() {
						j.Fail(e, "%s has the id %s", m.Method(), m.ID())
					}
					return true
				})
			},
		},
	}
}

// hasNotificationMethod reports whether the method of a message is one of
// notifications.
func hasNotificationMethod(m wire.Message) bool {
	return strings.HasPrefix(m.Method(), "notifications/")
}

// isRequest reports whether a message is a request, and not a notification that has an
// id, which jsonrpc.notification.no-id judges.
func isRequest(m wire.Message) bool { return m.Kind == wire.Request && !hasNotificationMethod(m) }
