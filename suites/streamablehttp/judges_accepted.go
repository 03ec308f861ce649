package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// acceptanceJudges are the judges of what is said by HTTP alone: that a notification or
// response was taken (basic/transports#sending-messages-to-the-server), and
// which session was opened (#session-management).
func acceptanceJudges() []check.Check {
	sessions := spec.Handshake & spec.Since(spec.V2025_03_26)
	return []check.Check{
		{
			ID:    "streamable-http.notification.accepted",
			Says:  "a notification that is accepted is answered with status 202 and no body",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-accepted-202"},
			Judge: func(j *check.J) {
				acceptedSilently(j, func(m wire.Message) bool { return m.Kind == wire.Notification })
			},
		},
		{
			ID:    "streamable-http.response.accepted",
			Says:  "a response that is accepted is answered with status 202 and no body",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-accepted-202", "streamable-http-response-202"},
			Judge: func(j *check.J) { acceptedSilently(j, wire.Message.IsResponse) },
		},
		{
			ID:    "streamable-http.session.id.characters",
			Says:  "a session id has visible ASCII characters only",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-id-visible-ascii"},
			Judge: func(j *check.J) {
				for _, x := range j.Exchanges() {
					if x.Head == nil || x.Begun.Message.Method() != "initialize" {
						continue
					}
					for _, id := range http.Header(x.Head.HTTP.Header).Values("Mcp-Session-Id") {
						if at := strings.IndexFunc(id, func(c rune) bool { return c < 0x21 || c > 0x7e }); at >= 0 {
							j.FailAt(*x.Head, "the session id %q has the byte 0x%02x", wire.Clip(id, 80), id[at])
							return
						}
						j.Saw()
					}
				}
			},
		},
	}
}

// acceptedSilently judges the answers to POSTs of messages of a kind alone, also
// in an array. A failure status refuses, and an error under a status of success
// is judged by streamable-http.refusal.status.
func acceptedSilently(j *check.J, kind func(wire.Message) bool) {

	for _, x := range j.Exchanges() {
		head := x.Head
		if head == nil || head.HTTP.Status < 200 || head.HTTP.Status > 299 || !consists(x.Posted(), kind) {
			continue
		}
		switch what := fmt.Sprintf("%s was answered with status %d", x.Begun.Message.Summary(), head.HTTP.Status); {
		case head.Message.Kind == wire.Error:
		case head.HTTP.Status != http.StatusAccepted:
			j.FailAt(*head, "%s rather than 202", what)
		case !head.Wordless():
			j.FailAt(*head, "%s and %s", what, head.Message.Summary())
		case head.HTTP.Body != "":
			j.FailAt(*head, "%s and the body %q", what, wire.Clip(head.HTTP.Body, 80))
		default:
			j.Saw()
		}
	}

}

// consists tells whether there are messages, and all of them are of a kind.
func consists(all []wire.Message, kind func(wire.Message) bool) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(m wire.Message) bool { return !kind(m) })
}
