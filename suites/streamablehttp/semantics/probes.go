package semantics

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes returns the probes of requests in forms that few clients write.
func probes() []check.Check {
	return []check.Check{
		{
			ID: "streamable-http.target.survived",
			Says: "the server still answers after requests whose target is no path of it or is malformed:" +
				" anybody who reaches it can send them",
			Level:    spec.Robust,
			In:       spec.Every,
			On:       transport.OnHTTP | transport.OnSSE,
			Spec:     "basic/transports",
			Malforms: true,
			Idle:     "no request was sent",
			Hint:     expect.HintReply,
			// No clause states how such a request is answered.
			Probe: func(t *check.T) {
				_, rest, _ := strings.Cut(t.HTTP().Bytes(http.MethodGet, ""), "\r\n")
				for _, target := range []string{"//", "/%", "/%zz?%", "http://[", "/\\..\\", "*"} {
					_, _ = t.HTTP().Raw("GET " + target + " HTTP/1.1\r\nConnection: close\r\n" + rest)
					t.Survives("a GET of the target " + target)
					t.Saw()
				}
			},
		},
		{
			ID: "streamable-http.body.forms",
			Says: "the server serves a request whose body comes in chunks, or is JSON of several lines, as many" +
				" HTTP clients send it",
			Level: spec.Robust,
			In:    streamable(),
			On:    transport.OnHTTP,
			Spec:  sendingMessages,
			Idle:  "a request of the usual form was not served",
			Hint:  expect.HintReply,
			// The chunks are cut within a UTF-8 sequence (RFC 9112 section 7.1).
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				serves := func(what string, request func(raw string) string) {
					id := wire.StringID("mcpcheck-pièce-" + t.NextID().Raw)
					raw := posting.BarrierFrame(t, id)
					reply, err := t.HTTP().Raw(request(raw))
					switch {
					case err != nil:
						t.Fail("a result", err.Error(), "%s %s was not answered", t.Facts.BarrierMethod, what)
					case posting.IsUnavailable(reply.Status):
						t.NotObserved(fmt.Sprintf("a request was answered with status %d", reply.Status), "")
					case !answers(reply, id):
						t.Fail("a result", fmt.Sprintf("HTTP status %d: %s", reply.Status,
							wire.Clip(string(reply.Body), 200)), "%s %s was posted, and got no result under its id",
							t.Facts.BarrierMethod, what)
					}
					t.Saw()
				}
				if x, err := b.TryPost(posting.BarrierFrame(t, wire.StringID("mcpcheck-pièce"))); err != nil ||
					!posting.IsServed(t, x) {
					return
				}
				usual := func(raw string) string { return t.HTTP().Bytes(http.MethodPost, raw, b.Edits()...) }
				serves("over several lines", func(raw string) string {
					return usual("\r\n" + strings.ReplaceAll(raw, `,"`, ",\r\n\t\"") + "\n")
				})
				serves("in chunks, one of which ends within a character,", func(raw string) string {
					return inChunks(usual(raw), raw)
				})
			},
		},
		{
			ID:       "streamable-http.body.empty.survived",
			Says:     "the server still answers after a POST without a body: anybody who reaches it can send one",
			Level:    spec.Robust,
			In:       streamable(),
			On:       transport.OnHTTP,
			Spec:     sendingMessages,
			Malforms: true,
			Idle:     "no POST was sent",
			Hint:     expect.HintReply,
			// No clause states how such a POST is answered.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				for _, body := range []string{"", "\n"} {
					_, _ = b.TryPost(body)
					t.Survives("a POST without a body")
					if x, err := b.TryPost(posting.BarrierFrame(t)); err != nil || !posting.IsServed(t, x) {
						t.Fail("a result", describe(x, err), "%s was posted after a POST without a body",
							t.Facts.BarrierMethod)
					}
					t.Saw()
				}
			},
		},
		{
			ID: "streamable-http.session.delete.answered",
			Says: "the server answers a DELETE of its session by ending it, or by status 405: a client that gets" +
				" another failure cannot tell whether the session lasts",
			Level: spec.Robust,
			In:    withSessions(),
			On:    transport.OnHTTP,
			Spec:  "basic/transports#session-management",
			Idle:  "the server gives no session ids",
			Hint:  "open sessions with Mcp-Session-Id",
			// Status 404 says too that the session has ended, and 401 and 403 that this client may
			// not end it. What happens after the end judge the checks of ended sessions.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				if b.ID == "" {
					return
				}
				x, err := b.TryRequest(http.MethodDelete)
				if err != nil {
					t.Survives("a DELETE")
					t.Fail("a status of success, or 405", "no answer", "a DELETE of a session: %v", err)
				}
				switch status := posting.RequireServerStatus(t, x).Status; status {
				case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
					http.StatusNotImplemented:
				default:
					if !posting.IsSuccess(x) {
						t.Fail("a status of success, or 405", check.Describe(x), "a DELETE of a session was sent")
					}
				}
				t.Saw()
			},
		},
		{
			ID: "streamable-http.replay.unknown",
			Says: "the server answers a GET that resumes a stream at an event which it did not send, and goes on:" +
				" a client sends one whose server was started again",
			Level: spec.Robust,
			In:    withSessions(),
			On:    transport.OnHTTP,
			Spec:  "basic/transports#resumability-and-redelivery",
			Idle:  "no GET was sent in a session that is alive",
			Hint:  "send ids with the events of streams, so that a client can resume them",
			// No clause states how the server answers; it may open a stream or refuse. A server that
			// does not answer any GET at once is judged by streamable-http.get.answered. One that
			// answers no GET that resumes a stream does not fail at the unknown event.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				ids, sent := []string{"mcpcheck-unknown", "0", "-1"}, ""
				x := b.Post(posting.BarrierFrame(t))
				t.HTTP().Response(x)
				for _, e := range x.Snapshot().Events() {
					if id := e.EventID(); id != "" {
						ids, sent = append(ids, unsentEventIDs(id)...), id
						break
					}
				}
				answersGet := tryGet(b) == nil && (sent == "" || tryGet(b, check.With("Last-Event-ID", sent)) == nil)
				for _, id := range ids {
					if err := tryGet(b, check.With("Last-Event-ID", id)); err != nil && answersGet && tryGet(b) == nil {
						t.Fail("a stream or a refusal", err.Error()+" for the id "+id,
							"a GET with the id of an event that the server did not send was not answered")
					}
					if x, err := b.TryPost(posting.BarrierFrame(t)); err != nil || !posting.IsServed(t, x) {
						t.Survives("a GET with the id of an event that it did not send")
						t.Fail("a result", describe(x, err),
							"%s was posted after a GET with the id of an event that the server did not send",
							t.Facts.BarrierMethod)
					}
					t.Saw()
				}
			},
		},
	}
}

// tryGet sends a GET for a stream, closes it, and returns why there was no answer.
func tryGet(b *posting.RawSession, edits ...check.Edit) error {
	x, err := b.TryRequest(http.MethodGet, append(edits, posting.AcceptStream())...)
	if err == nil {
		x.Close()
	}
	return err
}

// describe returns an answer in words, or why there is none.
func describe(x *check.PendingExchange, err error) string {
	if err != nil {
		return err.Error()
	}
	return check.Describe(x)
}

// unsentEventIDs returns ids like one that a server sent, of events that it did not send:
// its last number is larger or smaller than any, or it is cut.
func unsentEventIDs(id string) []string {
	stem := strings.TrimRight(id, "0123456789")
	out := []string{id[:len(id)-1]}
	if stem != id {
		out = append(out, stem+"999999", stem+"-1", stem)
	}
	return out
}

// answers reports whether a raw response holds the result with an id.
func answers(reply *check.RawReply, id wire.ID) bool {
	for _, m := range posting.RawMessages(reply) {
		if m.Kind == wire.Result && m.ID().Equal(id) {
			return true
		}
	}
	return false
}

// inChunks returns a request whose body is sent in two chunks, cut within the first
// UTF-8 sequence of several bytes.
func inChunks(request, body string) string {
	head, _, _ := strings.Cut(request, "\r\n\r\n")
	var lines []string
	for _, line := range strings.Split(head, "\r\n") {
		if name, _, _ := strings.Cut(line, ":"); !strings.EqualFold(name, "Content-Length") {
			lines = append(lines, line)
		}
	}
	cut := strings.IndexFunc(body, func(r rune) bool { return r > 127 }) + 1
	return fmt.Sprintf("%s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n",
		strings.Join(lines, "\r\n"), cut, body[:cut], len(body)-cut, body[cut:])
}
