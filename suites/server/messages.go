package server

import (
	. "github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// messages are the probes of basic/index#messages (basic/messages in
// 2024-11-05): how requests, responses and notifications are answered.
func messages() []check.Check {
	return []check.Check{
		{
			ID:    "jsonrpc.id.types",
			Says:  "requests with string and with integer ids are answered",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-id-types-accepted"},
			Probe: idTypes,
		},
		{
			ID:    "jsonrpc.method.unknown",
			Says:  "a request for an unknown method is answered with error -32601",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-method-not-found"},
			Probe: unknownMethod,
		},
		{
			ID:    "jsonrpc.notification.silent",
			Says:  "a notification is not answered",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"jsonrpc-no-response-to-notification", "jsonrpc-no-error-for-bad-notification"},
			Probe: notificationIsSilent,
		},
	}
}

// idTypes asks with every kind of id that the schema allows, and requires a
// result under that id.
func idTypes(t *check.T) {
	g := NewWithT(t)
	for _, id := range []wire.ID{wire.StringID("abc"), wire.StringID(""), wire.IntID(0), wire.IntID(-1), wire.IntID(9007199254740991)} {
		g.Expect(t.Answer(t.Start(t.Facts.Barrier, nil, id))).To(match.BeResult())
	}
}

func unknownMethod(t *check.T) {
	NewWithT(t).Expect(t.Request("mcpcheck/no-such-method", nil)).To(match.BeError(spec.MethodNotFound))
}

// notificationIsSilent sends a known and an unknown notification and one with
// ill-typed params. None has an id, so any response that is not to a request
// of ours answers one of them.
func notificationIsSilent(t *check.T) {
	from := t.Notify("notifications/mcpcheck/unknown", nil)
	t.Notify("notifications/cancelled", check.Params{"requestId": "mcpcheck-never-sent"})
	t.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`)
	t.Forbid(from, "no answer to a notification", func(m wire.Message) bool {
		return m.IsResponse() && (!m.ID().Present() || m.ID().Null() || m.ID().Equal(wire.StringID("mcpcheck-never-sent")))
	})
}
