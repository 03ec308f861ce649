package streamablehttp

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// versionProbes are the probes of basic/transports#protocol-version-header, which
// 2025-06-18 and 2025-11-25 have; what 2026-07-28 states of the field is judged
// with the other fields that repeat the message.
func versionProbes() []check.Check {
	in := spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	return []check.Check{
		{
			ID:    "streamable-http.version.invalid",
			Says:  "a request of a version that does not exist is answered with status 400",
			Level: spec.Must,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-version-header-invalid-400"},
			// versionInvalid names versions that no server can know, in a session whose
			// version it knows otherwise, by a request and by a notification.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				for _, version := range []string{spec.UnknownVersion, spec.FutureVersion, "garbage"} {
					for _, raw := range []string{posting.Barrier(t), posting.Initialized} {
						if x := posting.SayingSomething(t, b.Post(raw, check.With(posting.VersionField, version))); x.Status != http.StatusBadRequest {
							t.Fail("HTTP status 400", check.Describe(x), "%s with MCP-Protocol-Version: %s was answered with %s", wire.Parse([]byte(raw)).Summary(), version, check.Describe(x))
						}
					}
				}
			},
		},
		{
			ID:    "streamable-http.version.absent",
			Says:  "a request that names no version is served all the same",
			Level: spec.Should,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-version-header-default"},
			// versionAbsent: without a session nothing else tells the version, and the server
			// should take it for 2025-03-26, which has no such field. Who does not speak that
			// must refuse it. A session may tell the version, and what becomes of the request
			// then is not stated.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				x := posting.SayingSomething(t, b.Post(posting.Barrier(t), check.Without(posting.VersionField)))
				switch {
				case posting.Served(t, x):
				case b.Id != "":
					t.NotObserved("in a session, which may tell the version, a request without MCP-Protocol-Version was answered with "+check.Describe(x), "")
				case x.Status == http.StatusBadRequest && !agreesTo(t, spec.V2025_03_26):
					t.NotApplicable("the server does not speak 2025-03-26, which a request without MCP-Protocol-Version is of")
				default:
					posting.LeftToPoll(t, x)
					t.Fail("a result", check.Describe(x), "%s without MCP-Protocol-Version was answered with %s", t.Facts.Barrier, check.Describe(x))
				}
			},
		},
	}
}

// agreesTo tells whether the server answers initialize of a revision with that
// revision.
func agreesTo(t *check.T, rev spec.Revision) bool {
	x, err := t.HTTP().TryPost(t.Frame(t.NextID(), "initialize", check.InitializeParams(string(rev))), check.Without(posting.SessionField), check.Without(posting.VersionField))
	if err != nil || !posting.Served(t, x) {
		return false
	}
	m, _ := t.HTTP().Response(x)
	(&posting.Beside{T: t, Id: x.Header.Get(posting.SessionField)}).End()
	return m.Result().Get("protocolVersion").String() == string(rev)
}
