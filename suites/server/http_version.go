package server

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// httpVersions are the probes of basic/transports#protocol-version-header, which
// 2025-06-18 and 2025-11-25 have; what 2026-07-28 states of the field is judged
// with the other fields that repeat the message.
func httpVersions() []check.Check {
	in := spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	return []check.Check{
		{
			ID:    "streamable-http.version.invalid",
			Says:  "a request of a version that does not exist is answered with status 400",
			Level: spec.Must,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-version-header-invalid-400"},
			Probe: versionInvalid,
		},
		{
			ID:    "streamable-http.version.absent",
			Says:  "a request that names no version is served all the same",
			Level: spec.Should,
			In:    in,
			On:    transport.OnHTTP,
			Rules: []string{"streamable-http-version-header-default"},
			Probe: versionAbsent,
		},
	}
}

// versionInvalid names versions that no server can know, in a session whose
// version it knows otherwise, by a request and by a notification.
func versionInvalid(t *check.T) {
	b := openSession(t)
	defer b.end()
	for _, version := range []string{unknownVersion, futureVersion, "garbage"} {
		for _, raw := range []string{barrier(t), initialized} {
			if x := sayingSomething(t, b.post(raw, check.With(versionField, version))); x.Status != http.StatusBadRequest {
				t.Fail("HTTP status 400", check.Told(x), "%s with MCP-Protocol-Version: %s was answered with %s", wire.Parse([]byte(raw)).Summary(), version, check.Told(x))
			}
		}
	}
}

// versionAbsent: without a session nothing else tells the version, and the server
// should take it for 2025-03-26, which has no such field. Who does not speak that
// must refuse it. A session may tell the version, and what becomes of the request
// then is not stated.
func versionAbsent(t *check.T) {
	b := openSession(t)
	defer b.end()
	x := sayingSomething(t, b.post(barrier(t), check.Without(versionField)))
	switch {
	case served(t, x):
	case b.id != "":
		t.NotObserved("in a session, which may tell the version, a request without MCP-Protocol-Version was answered with "+check.Told(x), "")
	case x.Status == http.StatusBadRequest && !agreesTo(t, spec.V2025_03_26):
		t.NotApplicable("the server does not speak 2025-03-26, which a request without MCP-Protocol-Version is of")
	default:
		leftToPoll(t, x)
		t.Fail("a result", check.Told(x), "%s without MCP-Protocol-Version was answered with %s", t.Facts.Barrier, check.Told(x))
	}
}

// agreesTo tells whether the server answers initialize of a revision with that
// revision.
func agreesTo(t *check.T, rev spec.Revision) bool {
	x, err := t.TryPost(t.Frame(t.NextID(), "initialize", greeting(string(rev))), check.Without(sessionField), check.Without(versionField))
	if err != nil || !served(t, x) {
		return false
	}
	m, _ := t.Response(x)
	(&beside{t: t, id: x.Header.Get(sessionField)}).end()
	return m.Result().Get("protocolVersion").String() == string(rev)
}
