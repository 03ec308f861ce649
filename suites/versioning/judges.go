package versioning

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of basic/lifecycle#version-negotiation, and of
// basic/versioning since 2026-07-28.
func judges() []check.Check {
	identifier := check.Check{
		ID:    "versioning.identifier",
		Says:  "revisions are named exactly as they are published",
		Level: spec.Must,
		In:    spec.Stateless,
		Rules: []string{"versioning-identifier"},
		// identifierExact looks at the versions that the server names. In the
		// stateless era only this revision is bound to its name; lists may hold any
		// other string.
		Judge: func(j *check.J) {
			for _, e := range j.Sent() {
				for _, v := range namedVersions(e.Message) {
					switch other := meant(v.String()); {
					case v.String() == string(j.Rev):
						j.Saw()
					case other == "" || j.Facts.Stateless && other != j.Rev:
					default:
						j.Fail(e, "the version %q is no name of %s", v.String(), other)
					}
				}
			}
		},
	}
	advised := identifier
	advised.ID, advised.Level, advised.In = "versioning.identifier.advised", spec.Should, spec.Handshake
	return []check.Check{
		{
			ID:    "versioning.echo",
			Says:  "initialize with a version that the server supports is answered with that version",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-server-echo"},
			// versionEchoed takes the revision that is judged for one that the server
			// supports, since nothing else is judged.
			Judge: func(j *check.J) {
				for _, e := range transcript.ResultsOf(j, "initialize") {
					r, _ := j.RequestOf(e)
					got := e.Message.Result().Get("protocolVersion")
					switch {
					case r.Message.Params().Get("protocolVersion").String() != string(j.Rev):
					case got.Type != gjson.String: // has a rule of its own
					case got.String() != string(j.Rev):
						j.Fail(e, "the server supports %s, but answered a request for it with %s", j.Rev, got)
					default:
						j.Saw()
					}
				}
			},
		},
		identifier,
		advised,
		{
			ID:    "versioning.extensions.names",
			Says:  "the identifiers of extensions have a prefix and follow the grammar of _meta keys",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-extension-id-naming"},
			Judge: func(j *check.J) {
				eachExtension(j, func(e wire.Entry, name string, _ gjson.Result) string {
					if !extensionID.MatchString(name) {
						return fmt.Sprintf("%q is no extension identifier: it needs a prefix of dotted labels, a slash and a name", name)
					}
					return ""
				})
			},
		},
		{
			ID:    "versioning.extensions.settings",
			Says:  "the settings of each extension are an object",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-extension-settings-object"},
			Judge: func(j *check.J) {
				eachExtension(j, func(e wire.Entry, name string, settings gjson.Result) string {
					if !settings.IsObject() {
						return fmt.Sprintf("the settings of the extension %q are %s, not an object", name, wire.TypeName(settings))
					}
					return ""
				})
			},
		},
	}
}

// spelling is how a date may be written besides the one way that names a
// revision.
var spelling = regexp.MustCompile(`^\s*[vV]?(\d{4})[-./_ ]?(\d{1,2})[-./_ ]?(\d{1,2})\s*$`)

// meant returns the published revision that a version spells in another way,
// or "". Versions of other kinds, such as drafts, are nobody's business.
func meant(version string) spec.Revision {
	parts := spelling.FindStringSubmatch(version)
	if parts == nil {
		return ""
	}
	month, _ := strconv.Atoi(parts[2])
	day, _ := strconv.Atoi(parts[3])
	v := spec.Revision(fmt.Sprintf("%s-%02d-%02d", parts[1], month, day))
	if !spec.Every.Has(v) || string(v) == version {
		return ""
	}
	return v
}

// namedVersions returns the versions that a message of a server names.
func namedVersions(m wire.Message) []gjson.Result {
	versions := append(m.Result().Get("supportedVersions").Array(), m.Error().Get("data.supported").Array()...)
	if v := m.Result().Get("protocolVersion"); v.Type == gjson.String {
		versions = append(versions, v)
	}
	return versions
}

// extensionID is a _meta key with its prefix (basic/index#_meta).
var extensionID = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)

func eachExtension(j *check.J, wrong func(e wire.Entry, name string, settings gjson.Result) string) {
	for _, e := range transcript.ResultsOf(j, transcript.OpeningMethod(j)) {
		extensions := e.Message.Result().Get("capabilities.extensions")
		if !extensions.IsObject() {
			continue
		}
		extensions.ForEach(func(name, settings gjson.Result) bool {
			if why := wrong(e, name.String(), settings); why != "" {
				j.Fail(e, "%s", why)
			} else {
				j.Saw()
			}
			return true
		})
	}
}
