package jsonrpc

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// directionJudges are the judges of which methods a server sends
// (schema.ts#ServerRequest, schema.ts#ServerNotification). Methods of no
// revision are those of vendors and extensions: they are notes.
func directionJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.methods.notifications",
			Says:  "the server sends no notification that only clients send",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"schema-notification-methods"},
			// notificationMethods takes for a notification of clients what is one in any
			// revision: that 2026-07-28 did away with most of them makes them nobody's
			// extension.
			Judge: func(j *check.J) {
				strange := map[string]bool{}
				transcript.EachMessage(j, func(s transcript.Message) {
					if s.Message.Kind != wire.Notification {
						return
					}
					method := s.Message.Method()
					byServer, byClient := methodsOf(serverNotifications, method), methodsOf(clientNotifications, method)
					switch {
					case byClient != 0 && byServer == 0:
						j.Fail(s.Entry, "the server sent %s, which only clients send", method)
					case byServer.Has(j.Rev):
						j.Saw()
					case byServer == 0 && !strange[method]:
						strange[method] = true
						j.Note("the server sent the notification %q, which no revision has", wire.Clip(method, 80))
					}
				})
			},
		},
		{
			ID:    "schema.methods.requests",
			Says:  "the server sends no request that only clients send",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"schema-request-methods"},
			// requestMethods leaves out notifications that carry an id, which have a check
			// of their own.
			Judge: func(j *check.J) {
				strange := map[string]bool{}
				transcript.EachMessage(j, func(s transcript.Message) {
					method := s.Message.Method()
					if s.Message.Kind != wire.Request || strings.HasPrefix(method, "notifications/") {
						return
					}
					byServer, byClient := methodsOf(serverRequests, method), methodsOf(clientRequests, method)
					switch {
					case byClient != 0 && byServer == 0:
						j.Fail(s.Entry, "the server sent the request %s, which only clients send", method)
					case byServer.Has(j.Rev):
						j.Saw()
					case byServer == 0 && !strange[method]:
						strange[method] = true
						j.Note("the server sent the request %q, which no revision has", wire.Clip(method, 80))
					}
				})
			},
		},
		{
			ID:    "versioning.methods",
			Says:  "the server sends no request or notification that only other revisions have",
			Level: spec.Must,
			In:    spec.Between(spec.V2025_06_18, spec.V2025_11_25),
			Rules: []string{"versioning-respect-negotiated"},
			Judge: func(j *check.J) { methodsOfTheRevision(j) },
		},
		{
			ID:    "versioning.methods.advised",
			Says:  "the server sends no request or notification that only other revisions have",
			Level: spec.Should,
			In:    spec.Until(spec.V2025_03_26),
			Rules: []string{"versioning-respect-negotiated"},
			Judge: func(j *check.J) { methodsOfTheRevision(j) },
		},
	}
}

// methodsOf returns the revisions in which one side sends the method.
func methodsOf(side func(spec.Facts) []string, method string) (in spec.Set) {
	for _, rev := range spec.Revisions() {
		if slices.Contains(side(rev.Facts()), method) {
			in |= spec.Only(rev)
		}
	}
	return in
}

func serverNotifications(f spec.Facts) []string { return f.ServerNotifications }

func clientNotifications(f spec.Facts) []string { return f.ClientNotifications }

func serverRequests(f spec.Facts) []string { return f.ServerRequests }

func clientRequests(f spec.Facts) []string { return f.ClientRequests }

func methodsOfTheRevision(j *check.J) {
	transcript.EachMessage(j, func(s transcript.Message) {
		side := serverRequests
		switch {
		case s.Message.Kind == wire.Notification:
			side = serverNotifications
		case s.Message.Kind != wire.Request:
			return
		}
		switch in := methodsOf(side, s.Message.Method()); {
		case in.Has(j.Rev):
			j.Saw()
		case in != 0:
			j.Fail(s.Entry, "the server sent %s, which %s does not have (%s does)", s.Message.Method(), j.Rev, in)
		}
	})
}
