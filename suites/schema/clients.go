package schema

import (
	"regexp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// noClientRequest is why the judges of the metadata of requests are not observed.
const noClientRequest = "the client sent no request of the stateless era"

// clientJudges returns the judges of clients of
// basic/index#per-request-protocol-fields, since 2026-07-28.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.client.meta.required",
			Says:  "every request of the client names the protocol version and its capabilities in _meta",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-required-fields"},
			Idle:  noClientRequest,
			Hint:  "let the client send a request of 2026-07-28",
			Judge: func(j *check.J) { judgeHasMeta(j, spec.MetaProtocolVersion, spec.MetaClientCapabilities) },
		},
		{
			ID:    "schema.client.meta.version",
			Says:  "the protocol version that the client names in _meta is the string of a revision",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-protocol-version-string", "versioning-identifier"},
			Idle:  "no request of the client names a protocol version in _meta",
			Hint:  "let the client send a request of 2026-07-28",
			// A date may name a later revision, and a server may list any other version.
			Judge: func(j *check.J) {
				check.Each(j, transcript.StatelessRequests(j), func(e wire.Entry) bool {
					v := transcript.MetaMember(e.Message, spec.MetaProtocolVersion)
					switch {
					case !v.Exists():
					case v.Type != gjson.String:
						j.Fail(e, "the protocol version in _meta is %s, not a string", wire.TypeName(v))
					case !date.MatchString(v.String()) && !serverLists(j, v.String()):
						j.Fail(e, "the protocol version in _meta is %q, which names no revision",
							wire.Clip(v.String(), 40))
					}
					return v.Exists()
				})
			},
		},
		{
			ID:    "schema.client.meta.capabilities",
			Says:  "the capabilities that the client declares in _meta are an object",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-capabilities-object"},
			Idle:  "no request of the client declares capabilities in _meta",
			Hint:  "let the client send a request of 2026-07-28",
			Judge: func(j *check.J) {
				check.Each(j, transcript.StatelessRequests(j), func(e wire.Entry) bool {
					v := transcript.MetaMember(e.Message, spec.MetaClientCapabilities)
					if v.Exists() && !v.IsObject() {
						j.Fail(e, "the client's capabilities in _meta are %s, not an object", wire.TypeName(v))
					}
					return v.Exists()
				})
			},
		},
		{
			ID:    "schema.client.meta.info",
			Says:  "every request of the client has the client's information in _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-info"},
			Idle:  noClientRequest,
			Hint:  "let the client send a request of 2026-07-28",
			Judge: func(j *check.J) { judgeHasMeta(j, spec.MetaClientInfo) },
		},
	}
}

// judgeHasMeta judges that every request of the client has keys in _meta.
func judgeHasMeta(j *check.J, keys ...string) {
	check.Each(j, transcript.StatelessRequests(j), func(e wire.Entry) bool {
		for _, key := range keys {
			if !transcript.MetaMember(e.Message, key).Exists() {
				j.Fail(e, "%s has no %s in _meta", e.Message.Method(), key)
			}
		}
		return true
	})
}

// date matches the form of the names of revisions.
var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// serverLists reports whether the server listed a version.
func serverLists(j *check.J, version string) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
		return transcript.ListsVersion(e.Message, version)
	})
}
