package invariant

import (
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// accepted are the judges of what is said by HTTP alone: that a notification or
// response was taken (basic/transports#sending-messages-to-the-server), and
// which session was opened (#session-management).
func accepted() []check.Check {
	sessions := spec.Handshake & spec.Since(spec.V2025_03_26)
	return []check.Check{
		{
			ID:    "streamable-http.notification.accepted",
			Says:  "a notification that is accepted is answered with status 202 and no body",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-accepted-202"},
			Judge: acceptedSilently(func(m wire.Message) bool { return m.Kind == wire.Notification }),
		},
		{
			ID:    "streamable-http.response.accepted",
			Says:  "a response that is accepted is answered with status 202 and no body",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-accepted-202", "streamable-http-response-202"},
			Judge: acceptedSilently(wire.Message.IsResponse),
		},
		{
			ID:    "streamable-http.session.id.characters",
			Says:  "a session id has visible ASCII characters only",
			Level: spec.Must,
			In:    sessions,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-session-id-visible-ascii"},
			Judge: sessionIDCharacters,
		},
	}
}

// acceptedSilently judges the answers to POSTs of messages of a kind alone, also
// in an array. A failure status refuses, and an error under a status of success
// is judged by streamable-http.refusal.status.
func acceptedSilently(kind func(wire.Message) bool) func(*check.J) {
	return func(j *check.J) {
		for _, e := range j.Entries() {
			head, ok := j.Answered(e)
			if !ok || e.From == j.Of || head.HTTP.Status < 200 || head.HTTP.Status > 299 || !consists(e.Message, kind) {
				continue
			}
			said := head.Message()
			switch what := fmt.Sprintf("%s was answered with status %d", e.Message.Summary(), head.HTTP.Status); {
			case !head.Wordless() && said.Kind == wire.Error:
			case head.HTTP.Status != http.StatusAccepted:
				j.Fail(e, "%s rather than 202", what)
			case !head.Wordless():
				j.Fail(e, "%s and %s", what, said.Summary())
			case head.HTTP.Body != "":
				j.Fail(e, "%s and the body %q", what, wire.Clip(head.HTTP.Body, 80))
			default:
				j.Saw()
			}
		}
	}
}

// consists tells whether all of a message is of a kind.
func consists(m wire.Message, kind func(wire.Message) bool) bool {
	for _, part := range m.Elements() {
		if !kind(part) {
			return false
		}
	}
	return len(m.Elements()) > 0
}

func sessionIDCharacters(j *check.J) {
	for _, e := range j.Received() {
		head, ok := j.Answered(e)
		if !ok || e.Message.Method() != "initialize" {
			continue
		}
		for _, id := range http.Header(head.HTTP.Header).Values("Mcp-Session-Id") {
			for i := range len(id) {
				if id[i] < 0x21 || id[i] > 0x7e {
					j.Fail(e, "the session id %q has the byte 0x%02x", wire.Clip(id, 80), id[i])
					return
				}
			}
			j.Saw()
		}
	}
}
