package streamablehttp

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// withVersionField are the revisions in which a session has MCP-Protocol-Version.
var withVersionField = spec.Between(spec.V2025_06_18, spec.V2025_11_25)

// versionProbes returns the probes of basic/transports#protocol-version-header of
// 2025-06-18 and 2025-11-25. In 2026-07-28 the field is one of those that repeat the
// message, which area headers checks.
func versionProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.version.invalid",
			Says:  "the server answers a request with an invalid MCP-Protocol-Version with status 400",
			Level: spec.Must,
			In:    withVersionField,
			Rules: []string{"streamable-http-version-header-invalid-400"},
			Idle:  "no message was posted",
			// No server can know these versions. The session tells the right one.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				for _, version := range []string{spec.UnknownVersion, spec.FutureVersion, "garbage"} {
					for _, raw := range []string{posting.BarrierFrame(t), posting.InitializedFrame} {
						x := posting.RequireServerStatus(t, b.Post(raw, check.With(posting.VersionField, version)))
						match.Expect(t, x.Status).To(match.BeStatus(http.StatusBadRequest),
							"%s with MCP-Protocol-Version: %s was posted", wire.Parse([]byte(raw)).Summary(), version)
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "streamable-http.version.invalid.get",
			Says:  "a server that opens streams answers a GET with an invalid MCP-Protocol-Version with status 400",
			Level: spec.Must,
			In:    withVersionField,
			Rules: []string{"streamable-http-version-header-invalid-400"},
			Idle:  "a GET opened no stream",
			Hint:  expect.HintGetStream,
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				if opensStream(b) {
					expectVersionRefused(t, b, "GET", func(edits ...check.Edit) (*check.PendingExchange, error) {
						return b.TryRequest(http.MethodGet, append(edits, posting.AcceptStream())...)
					})
				}
			},
		},
		{
			ID:    "streamable-http.version.invalid.delete",
			Says:  "a server that ends sessions answers a DELETE with an invalid MCP-Protocol-Version with status 400",
			Level: spec.Must,
			In:    withVersionField,
			Rules: []string{"streamable-http-version-header-invalid-400"},
			Idle:  "no session was ended by DELETE",
			Hint:  "let clients end sessions by DELETE",
			Probe: func(t *check.T) {
				endSession(t, openIdentifiedSession(t))
				b := openIdentifiedSession(t)
				defer b.End()
				expectVersionRefused(t, b, "DELETE", func(edits ...check.Edit) (*check.PendingExchange, error) {
					return b.TryRequest(http.MethodDelete, edits...)
				})
			},
		},
		{
			ID:    "streamable-http.version.absent",
			Says:  "the server serves a request without MCP-Protocol-Version",
			Level: spec.Should,
			In:    withVersionField,
			Rules: []string{"streamable-http-version-header-default"},
			Idle:  "no request was posted",
			Hint:  "serve a request without MCP-Protocol-Version",
			// Without a session nothing else tells the version, and the server should assume
			// 2025-03-26, which has no such field. A server that does not speak 2025-03-26
			// must refuse the request. A session may tell the version, and the page does not
			// state how the request is answered then.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				x := b.Post(posting.BarrierFrame(t), check.Without(posting.VersionField))
				posting.RequireServerStatus(t, x)
				switch {
				case posting.IsServed(t, x):
					t.Saw()
				case b.ID != "":
					t.NotObserved("the session may imply the version: a request without the header was answered with "+
						check.Describe(x), "")
				case x.Status == http.StatusBadRequest && !agreesTo(t, spec.V2025_03_26):
					t.NotApplicable("the server does not speak 2025-03-26, the version without MCP-Protocol-Version")
				default:
					posting.EndIfPolling(t, x)
					t.Fail("a result", check.Describe(x), "%s without MCP-Protocol-Version was posted",
						t.Facts.BarrierMethod)
				}
			},
		},
	}
}

// refuseVersion is what helps where an invalid version was not refused.
const refuseVersion = "refuse an invalid MCP-Protocol-Version with status 400"

// expectVersionRefused fails the check unless a request with an invalid version is
// answered with 400. That a POST with it is answered otherwise is reported by
// streamable-http.version.invalid. 405 is right in 2026-07-28, and a server of both eras
// may take the version for a later one.
func expectVersionRefused(t *check.T, b *posting.RawSession, what string,
	send func(edits ...check.Edit) (*check.PendingExchange, error)) {
	invalid := check.With(posting.VersionField, spec.UnknownVersion)
	post := posting.RequireServerStatus(t, b.Post(posting.BarrierFrame(t), invalid))
	if post.Status != http.StatusBadRequest {
		t.NotObserved("a POST with such a version was answered with "+check.Describe(post), refuseVersion)
	}
	x, err := send(invalid)
	if err != nil {
		t.NotObserved("a "+what+" was not answered: "+err.Error(), refuseVersion)
	}
	defer x.Close()
	if x.Status == http.StatusMethodNotAllowed {
		t.NotObserved("the server may have no "+what+" in later versions: it answered with "+check.Describe(x),
			refuseVersion)
	}
	match.Expect(t, posting.RequireServerStatus(t, x).Status).To(match.BeStatus(http.StatusBadRequest),
		"a %s with MCP-Protocol-Version: %s was sent", what, spec.UnknownVersion)
	t.Saw()
}

// agreesTo reports whether the server answers initialize of a revision with that
// revision.
func agreesTo(t *check.T, rev spec.Revision) bool {
	raw := t.Frame(t.NextID(), "initialize", check.InitializeParams(string(rev)))
	x, err := t.HTTP().TryPost(raw, check.Without(posting.SessionField), check.Without(posting.VersionField))
	if err != nil || !posting.IsServed(t, x) {
		return false
	}
	m, _ := t.HTTP().Response(x)
	(&posting.RawSession{T: t, ID: x.Header.Get(posting.SessionField)}).End()
	return m.Result().Get("protocolVersion").String() == string(rev)
}
