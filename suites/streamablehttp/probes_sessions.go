package streamablehttp

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
)

// withSessions are the revisions whose sessions have an id.
var withSessions = spec.Handshake & spec.Since(spec.V2025_03_26)

// sessionProbes returns the probes of basic/transports#session-management, which
// 2026-07-28 removed.
func sessionProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.session.id.secure",
			Says:  "the server gives each session a different id that cannot be guessed",
			Level: spec.Should,
			In:    withSessions,
			Rules: []string{"streamable-http-session-id-secure", "security-session-id-non-deterministic"},
			Idle:  "too few sessions could be opened to compare their ids",
			Hint:  "let clients open 20 sessions, each with an Mcp-Session-Id",
			// The ids vary in at most as many bits as the characters seen at each place allow.
			// Counters and clocks vary only in their last places.
			Probe: func(t *check.T) {
				ids := collectSessionIDs(t)
				expectDistinct(t, ids)
				if len(ids) >= someSessions || variety(ids) >= bitsOfMany {
					expectUnguessable(t, ids)
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.session.isolated",
			Says:  "a session continues unchanged while another one is opened, used and ended",
			Level: spec.Should,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"streamable-http-session-isolation"},
			Idle:  "no second session was opened",
			// Requests with the same id in both sessions are judged by streamable-http.clients.
			Probe: func(t *check.T) {
				kept := openIdentifiedSession(t)
				defer kept.End()
				if x := kept.Post(posting.BarrierFrame(t)); !posting.IsServed(t, x) {
					t.NotObserved("a second session does not serve requests: "+check.Describe(x),
						"serve the requests of a second session")
				}
				other := posting.OpenSession(t)
				expectServed(t, kept, "after another session was opened")
				t.Saw()
				expectNoForeignProgress(t, kept, other)
				if other.End() {
					expectServed(t, kept, "after another session was ended")
				}
			},
		},
	}
}

// openIdentifiedSession opens a session that has an id. If the server gives none, the
// rules of ids do not apply.
func openIdentifiedSession(t *check.T) *posting.RawSession {
	b := posting.OpenSession(t)
	if b.ID == "" {
		t.NotApplicable("the server gives its sessions no id")
	}
	return b
}

// expectServed fails the check unless a session serves a request.
func expectServed(t *check.T, b *posting.RawSession, when string) {
	if x := posting.RequireServerStatus(t, b.Post(posting.BarrierFrame(t))); !posting.IsServed(t, x) {
		posting.EndIfPolling(t, x)
		t.Fail("a result", check.Describe(x), "%s was posted in a session %s", t.Facts.BarrierMethod, when)
	}
}

// expectNoForeignProgress calls a tool that reports progress in one session, and fails
// the check if the stream of another session carries the progress.
func expectNoForeignProgress(t *check.T, listening, working *posting.RawSession) {
	const token = `"mcpcheck-beside"`
	call, ok := toolcalls.CallsIfDeclared(t).ShortestCancellable()
	if !ok {
		return
	}
	get, err := listening.TryRequest(http.MethodGet, posting.AcceptStream())
	if err != nil {
		return
	}
	defer get.Close()
	call.Token = token
	x, err := working.TryPost(t.Frame(t.NextID(), "tools/call", call.Params()))
	if err != nil || get.Status != http.StatusOK {
		return
	}
	t.HTTP().Response(x)
	if _, err := listening.TryPost(posting.BarrierFrame(t)); err != nil {
		return
	}
	for _, m := range get.Snapshot().Messages() {
		if toolcalls.ReportsProgress(m, token) {
			t.HTTP().Mark(get)
			t.Fail("nothing of another session", m.Summary(),
				"the stream of a session carried the progress of a call in another session")
		}
	}
}
