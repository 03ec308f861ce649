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

// Why the judges of extensions are not observed, and what helps.
const (
	noExtension      = "the server declares no extension"
	declareExtension = "declare an extension in the capabilities"
)

// judges returns the judges of basic/lifecycle#version-negotiation, and of
// basic/versioning since 2026-07-28.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "versioning.echo",
			Says:  "the server answers initialize with the version of the request if it supports that version",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-server-echo"},
			Idle:  "no initialize with the version of this revision was answered with a result",
			Hint:  "answer initialize with a protocolVersion",
			// The server supports the revision that is judged: otherwise nothing is judged.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ResultsOf(j, "initialize"), func(e wire.Entry) bool {
					request, _ := j.RequestOf(e)
					chosen := e.Message.Result().Get("protocolVersion")
					if request.Message.Params().Get("protocolVersion").String() != string(j.Rev) ||
						chosen.Type != gjson.String { // lifecycle.initialize.result judges the type
						return false
					}
					if chosen.String() != string(j.Rev) {
						j.Fail(e, "the server supports %s, but answered a request for it with %s", j.Rev, chosen)
					}
					return true
				})
			},
		},
		identifierJudge(),
		check.Advised(identifierJudge(), spec.Handshake),
		{
			ID:    "versioning.extensions.names",
			Says:  "the identifier of an extension has a prefix and follows the grammar of _meta keys",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-extension-id-naming"},
			Idle:  noExtension,
			Hint:  declareExtension,
			Judge: func(j *check.J) {
				check.Each(j, extensions(j), func(x extension) bool {
					if !extensionID.MatchString(x.id) {
						j.Fail(x.answer,
							"%q is no extension identifier: it needs a prefix of dotted labels, a slash and a name",
							x.id)
					}
					return true
				})
			},
		},
		{
			ID:    "versioning.extensions.settings",
			Says:  "the settings of each extension are an object",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-extension-settings-object"},
			Idle:  noExtension,
			Hint:  declareExtension,
			Judge: func(j *check.J) {
				check.Each(j, extensions(j), func(x extension) bool {
					if !x.settings.IsObject() {
						j.Fail(x.answer, "the settings of the extension %q are %s, not an object",
							x.id, wire.TypeName(x.settings))
					}
					return true
				})
			},
		},
	}
}

// identifierJudge returns the judge of the names of revisions.
func identifierJudge() check.Check {
	return check.Check{
		ID:    "versioning.identifier",
		Says:  "the server names revisions exactly as they are published",
		Level: spec.Must,
		In:    spec.Stateless,
		Rules: []string{"versioning-identifier"},
		Idle:  "the server named no version by the name of this revision",
		Hint:  "name the version: protocolVersion of initialize, or supportedVersions of server/discover",
		// In the stateless era only this revision is bound to its name: lists of versions
		// may hold any other string.
		Judge: func(j *check.J) {
			for _, e := range j.Sent() {
				for _, v := range namedVersions(e.Message) {
					if v.String() == string(j.Rev) {
						j.Saw()
						continue
					}
					meant := misspelled(v.String())
					if meant != "" && (!j.Facts.Stateless || meant == j.Rev) {
						j.Fail(e, "the version %q is no name of %s", v.String(), meant)
					}
				}
			}
		},
	}
}

// dateSpelling matches the ways to write a date, of which one names a revision.
var dateSpelling = regexp.MustCompile(`^\s*[vV]?(\d{4})[-./_ ]?(\d{1,2})[-./_ ]?(\d{1,2})\s*$`)

// misspelled returns the published revision that a version spells in another way, or
// "". No clause is about versions of other kinds, such as drafts.
func misspelled(version string) spec.Revision {
	parts := dateSpelling.FindStringSubmatch(version)
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

// extensionID matches a _meta key with a prefix (basic/index#_meta).
var extensionID = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*` +
	`/([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)

// An extension is an entry of the extensions that a server declares.
type extension struct {
	answer   wire.Entry
	id       string
	settings gjson.Result
}

// extensions returns the extensions that the server declares in the answers of the
// opening.
func extensions(j *check.J) (all []extension) {
	for _, e := range transcript.ResultsOf(j, transcript.OpeningMethod(j)) {
		declared := e.Message.Result().Get("capabilities.extensions")
		if !declared.IsObject() {
			continue
		}
		declared.ForEach(func(id, settings gjson.Result) bool {
			all = append(all, extension{e, id.String(), settings})
			return true
		})
	}
	return all
}
