package stdio

import (
	"bytes"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of basic/transports#stdio (basic/transports/stdio since
// 2026-07-28).
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "stdio.stdout.pure",
			Says:  "the server writes nothing to stdout but MCP messages, one a line",
			Level: spec.Must,
			In:    spec.Every,
			On:    transport.OnStdio, // HTTP has no standard output
			Rules: []string{"stdio-stdout-only-mcp", "stdio-no-embedded-newlines"},
			Judge: func(j *check.J) { linesPure(j, "stdout") },
		},
		{
			ID:    "stdio.notifications.related",
			Says:  "each notification belongs to a request in flight",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio, // over HTTP the stream tells what it belongs to, which has rules of its own
			Rules: []string{"stdio-server-messages-kinds"},
			// notificationsRelated takes notice only of notifications that come while no
			// request at all is unanswered: which one they belong to is judged with the
			// page of each, as that of subscriptions does it for all changes. An open subscription is a request without answer, and so is one
			// that was cancelled.
			Judge: func(j *check.J) {
				inFlight := map[string]bool{}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						switch {
						case e.From == wire.Client && m.Kind == wire.Request:
							inFlight[m.ID().Key()] = true
						case e.From == wire.Client:
						case m.IsResponse():
							delete(inFlight, m.ID().Key())
							j.Saw()
						case m.Kind == wire.Notification && len(inFlight) == 0 && !transcript.IsChangeNotification(m.Method()):
							j.Fail(e, "the notification %s came while no request was in flight", m.Method())
						}
					}
				}
			},
		},
	}
}

// linesPure takes every line for itself. JSON that is no message is judged
// with the messages. Empty lines and CRLF are tolerated; a rest without newline
// after we ended the peer may be cut by that.
func linesPure(j *check.J, channel string) {
	for _, e := range j.Entries() {
		switch m := e.Message; {
		case e.From != j.Of || e.Cut || len(bytes.TrimSpace(e.Raw)) == 0:
		case e.Unterminated && j.Ending() != nil && j.Ending().Asked:
		case m.Fault != nil && m.Fault.Encoding && j.Facts.UTF8: // has a rule of its own
		case m.Fault != nil:
			j.Fail(e, "a line on %s is no message: %v", channel, m.Fault)
		default:
			j.Saw()
		}
	}
}
