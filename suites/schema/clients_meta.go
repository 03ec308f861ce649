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

// clientJudges are the judges of basic/index#per-request-protocol-fields, since
// 2026-07-28.
func clientJudges() []check.Check {
	return []check.Check{
		{
			ID:    "client.meta.required",
			Says:  "every request names the protocol version and the client's capabilities in _meta",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-required-fields"},
			Judge: func(j *check.J) {
				for _, e := range transcript.StatelessRequests(j) {
					for _, key := range []string{spec.MetaProtocolVersion, spec.MetaClientCapabilities} {
						if !transcript.MetaField(e.Message, key).Exists() {
							j.Fail(e, "%s has no %s in _meta", e.Message.Method(), key)
						}
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "client.meta.version",
			Says:  "the protocol version in _meta is the string of a revision",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-protocol-version-string", "versioning-identifier"},
			// clientMetaVersion takes a version for good that is a published revision, looks
			// like a later one, or is one that the server listed.
			Judge: func(j *check.J) {
				for _, e := range transcript.StatelessRequests(j) {
					v := transcript.MetaField(e.Message, spec.MetaProtocolVersion)
					switch {
					case !v.Exists():
					case v.Type != gjson.String:
						j.Fail(e, "the protocol version in _meta is %s, not a string", wire.TypeName(v))
					case !date.MatchString(v.String()) && !listed(j, v.String()):
						j.Fail(e, "the protocol version in _meta is %q, which names no revision", wire.Clip(v.String(), 40))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "client.meta.capabilities",
			Says:  "the client's capabilities in _meta are an object",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-capabilities-object"},
			Judge: func(j *check.J) {
				for _, e := range transcript.StatelessRequests(j) {
					switch v := transcript.MetaField(e.Message, spec.MetaClientCapabilities); {
					case !v.Exists():
					case !v.IsObject():
						j.Fail(e, "the client's capabilities in _meta are %s, not an object", wire.TypeName(v))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "client.meta.info",
			Says:  "every request carries the client's information in _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-info"},
			Judge: func(j *check.J) {
				for _, e := range transcript.StatelessRequests(j) {
					if !transcript.MetaField(e.Message, spec.MetaClientInfo).Exists() {
						j.Fail(e, "%s has no %s in _meta", e.Message.Method(), spec.MetaClientInfo)
					}
					j.Saw()
				}
			},
		},
	}
}

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

func listed(j *check.J, version string) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool { return transcript.ListsVersion(e.Message, version) })
}
