package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges returns the judges of what HTTP alone says: that a notification or response
// was accepted (basic/transports#sending-messages-to-the-server), and which session
// was opened (#session-management).
func judges() []check.Check {
	sessions := spec.Handshake & spec.Since(spec.V2025_03_26)
	return []check.Check{
		{
			ID:    "streamable-http.notification.accepted",
			Says:  "the server answers a notification that it accepts with status 202 and no body",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			Rules: []string{"streamable-http-accepted-202"},
			Idle:  "the server accepted no notification",
			Hint:  "answer a notification with status 202",
			Judge: func(j *check.J) {
				judgeAccepted(j, func(m wire.Message) bool { return m.Kind == wire.Notification })
			},
		},
		{
			ID:    "streamable-http.response.accepted",
			Says:  "the server answers a response that it accepts with status 202 and no body",
			Level: spec.Must,
			In:    sessions,
			Rules: []string{"streamable-http-accepted-202", "streamable-http-response-202"},
			Idle:  "the server accepted no response",
			Hint:  "offer a read-only tool that samples, elicits or requests roots" + check.OrAllow,
			Judge: func(j *check.J) { judgeAccepted(j, wire.Message.IsResponse) },
		},
		{
			ID:    "streamable-http.session.id.characters",
			Says:  "a session id has only visible ASCII characters",
			Level: spec.Must,
			In:    sessions,
			Rules: []string{"streamable-http-session-id-visible-ascii"},
			Idle:  "the server gave no session id",
			Hint:  "give a session an id: Mcp-Session-Id in the answer to initialize",
			Judge: func(j *check.J) {
				for _, x := range j.Exchanges() {
					if x.Head == nil || x.Request.Message.Method() != "initialize" {
						continue
					}
					check.Each(j, x.Header().Values("Mcp-Session-Id"), func(id string) bool {
						if at := strings.IndexFunc(id, isInvisible); at >= 0 {
							j.Fail(*x.Head, "the session id %q has the byte 0x%02x", wire.Clip(id, 80), id[at])
						}
						return true
					})
				}
			},
		},
	}
}

// isInvisible reports whether a character is not one of visible ASCII.
func isInvisible(c rune) bool { return c < 0x21 || c > 0x7e }

// judgeAccepted judges the answers to POSTs that have only messages of a kind, also in
// an array. A failure status is a refusal, and an error with a status of success is
// judged by streamable-http.refusal.status.
func judgeAccepted(j *check.J, isKind func(wire.Message) bool) {
	check.Each(j, j.Exchanges(), func(x *wire.Exchange) bool {
		head := x.Head
		isOther := func(m wire.Message) bool { return !isKind(m) }
		switch {
		case x.Status() < 200 || x.Status() > 299:
			return false
		case len(x.PostedMessages()) == 0 || slices.ContainsFunc(x.PostedMessages(), isOther):
			return false
		case head.Message.Kind == wire.Error:
			return false
		}
		answered := fmt.Sprintf("%s was answered with status %d", x.Request.Message.Summary(), x.Status())
		switch {
		case x.Status() != http.StatusAccepted:
			j.Fail(*head, "%s rather than 202", answered)
		case !head.IsTransportOnly():
			j.Fail(*head, "%s and %s", answered, head.Message.Summary())
		case head.HTTP.Body != "":
			j.Fail(*head, "%s and the body %q", answered, wire.Clip(head.HTTP.Body, 80))
		}
		return true
	})
}
