package jsonrpc

import (
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// directionJudges returns the judges of the methods that a server sends
// (schema.ts#ServerRequest, schema.ts#ServerNotification). Methods of no revision
// belong to vendors and extensions: they are noted.
func directionJudges() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.methods.notifications",
			Says:  "the server sends no notification that only clients send",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-notification-methods"},
			Idle:  "the server sent no notification of the schema",
			Hint:  sendNotification,
			// A notification that clients send in any revision counts as one of clients: that
			// 2026-07-28 removed most of them does not make them methods of an extension.
			Judge: func(j *check.J) {
				judgeDirection(j, serverNotifications, clientNotifications, "notification", func(m wire.Message) bool {
					return m.Kind == wire.Notification
				})
			},
		},
		{
			ID:    "jsonrpc.methods.requests",
			Says:  "the server sends no request that only clients send",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"schema-request-methods"},
			Idle:  "the server sent no request of the schema",
			Hint:  sendRequest,
			// jsonrpc.notification.no-id judges notifications that carry an id.
			Judge: func(j *check.J) {
				judgeDirection(j, serverRequests, clientRequests, "request", func(m wire.Message) bool {
					return m.Kind == wire.Request && !strings.HasPrefix(m.Method(), "notifications/")
				})
			},
		},
		revisionJudge(),
		check.Advised(revisionJudge(), spec.Until(spec.V2025_03_26)),
	}
}

// revisionJudge returns the judge of methods of other revisions.
func revisionJudge() check.Check {
	return check.Check{
		ID:    "jsonrpc.methods.revision",
		Says:  "the server sends no request or notification that only other revisions have",
		Level: spec.Must,
		In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
		Rules: []string{"versioning-respect-negotiated"},
		Idle:  "the server sent no request or notification of any revision",
		Hint:  "offer a read-only tool that reports progress, samples or elicits" + check.OrAllow,
		Judge: func(j *check.J) {
			check.Each(j, transcript.Messages(j), func(s transcript.Message) bool {
				side := serverRequests
				switch s.Message.Kind {
				case wire.Request:
				case wire.Notification:
					side = serverNotifications
				default:
					return false
				}
				in := side()[s.Message.Method()]
				if in != 0 && !in.Has(j.Rev) {
					j.Fail(s.Entry, "the server sent %s, which %s does not have (%s does)", s.Message.Method(), j.Rev,
						in)
				}
				return in != 0
			})
		},
	}
}

// judgeDirection judges that no method of the messages that are subjects is one that
// only clients send. Methods that no revision has are noted.
func judgeDirection(
	j *check.J, ofServers, ofClients func() map[string]spec.Set, kind string, isSubject func(wire.Message) bool,
) {
	noted := map[string]bool{}
	check.Each(j, transcript.Messages(j), func(s transcript.Message) bool {
		if !isSubject(s.Message) {
			return false
		}
		method := s.Message.Method()
		byServer, byClient := ofServers()[method], ofClients()[method]
		switch {
		case byClient != 0 && byServer == 0:
			j.Fail(s.Entry, "the server sent the %s %s, which only clients send", kind, method)
			return true
		case byServer == 0 && !noted[method]:
			noted[method] = true
			j.Note("the server sent the %s %q, which no revision has", kind, wire.Clip(method, 80))
		}
		return byServer.Has(j.Rev)
	})
}

// The methods that servers and clients send, with the revisions in which they do.
var (
	serverNotifications = methodsOf(func(f spec.Facts) []string { return f.ServerNotifications })
	clientNotifications = methodsOf(func(f spec.Facts) []string { return f.ClientNotifications })
	serverRequests      = methodsOf(func(f spec.Facts) []string { return f.ServerRequests })
	clientRequests      = methodsOf(func(f spec.Facts) []string { return f.ClientRequests })
)

// methodsOf returns the revisions of the methods of one side.
func methodsOf(side func(spec.Facts) []string) func() map[string]spec.Set {
	return sync.OnceValue(func() map[string]spec.Set {
		in := map[string]spec.Set{}
		for _, rev := range spec.Revisions() {
			for _, method := range side(rev.Facts()) {
				in[method] |= spec.Only(rev)
			}
		}
		return in
	})
}
