package stdio

import (
	"bytes"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of basic/transports#stdio (basic/transports/stdio since
// 2026-07-28).
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "stdio.stdout.pure",
			Says:  "the server writes only MCP messages to stdout, each on a line of its own",
			Level: spec.Must,
			In:    spec.Every,
			On:    transport.OnStdio, // HTTP has no standard output
			Rules: []string{"stdio-stdout-only-mcp", "stdio-no-embedded-newlines"},
			Idle:  "the server wrote nothing to stdout",
			Hint:  expect.HintReply,
			Judge: func(j *check.J) { judgeLines(j, "stdout") },
		},
		{
			ID:    "stdio.notifications.related",
			Says:  "the server sends a notification only while a request is in flight",
			Level: spec.Should,
			In:    spec.Stateless,
			On:    transport.OnStdio, // over HTTP each stream belongs to a request, and rules of their own say so
			Rules: []string{"stdio-server-messages-kinds"},
			Idle:  "the server sent no notification besides those of subscriptions",
			Hint:  "offer a read-only tool that reports progress or sends log messages" + check.OrAllow,
			// Which of several requests in flight a notification belongs to is judged with
			// the page of the notification, and so are changes, which belong to
			// subscriptions. A cancelled request stays in flight: it may have no answer.
			Judge: func(j *check.J) {
				inFlight := map[string]bool{} // by id
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						switch {
						case e.From == wire.Client && m.Kind == wire.Request:
							inFlight[m.ID().Key()] = true
						case e.From == wire.Client:
						case m.IsResponse():
							delete(inFlight, m.ID().Key())
						case m.Kind != wire.Notification || transcript.IsChangeNotification(m.Method()):
						case len(inFlight) == 0:
							j.Fail(e, "the server sent %s while no request was in flight", m.Method())
						default:
							j.Saw()
						}
					}
				}
			},
		},
	}
}

// judgeLines judges that each line holds a message. JSON that is no message is judged
// with the messages, and invalid UTF-8 by a rule of its own. Empty lines and CRLF
// are accepted. A last line without newline may be cut if we ended the peer.
func judgeLines(j *check.J, channel string) {
	check.Each(j, j.Entries(), func(e wire.Entry) bool {
		fault := e.Message.SyntaxError
		switch {
		case e.From != j.Of || e.Truncated || len(bytes.TrimSpace(e.Raw)) == 0:
			return false
		case e.Unterminated && j.Ending() != nil && j.Ending().Requested:
			return false
		case fault != nil && fault.NotUTF8 && j.Facts.UTF8:
			return false
		case fault != nil:
			j.Fail(e, "a line on %s is no message: %v", channel, fault)
		}
		return true
	})
}
