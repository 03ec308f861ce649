package schema

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// iconJudges are the judges of basic/index#icons, since 2025-11-25: on the server
// itself, its tools, prompts, resources, templates and links.
func iconJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.icons.shape",
			Says:  "icons are an array of objects with a URI src, and where given a string mimeType, strings as sizes, and light or dark as theme",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-icon-shape"},
			Judge: func(j *check.J) {
				transcript.EachMember(j, "icons", func(list transcript.Member) {
					if !list.Value.IsArray() {
						j.Fail(list.Entry, "%s: %s is %s, not an array", list.Name, list.Path, wire.TypeName(list.Value))
						return
					}
					for _, icon := range (transcript.Part{Pointer: list.Path, Value: list.Value}).Items() {
						if broken := schema.For(j.Rev).Validate("Icon", []byte(icon.Value.Raw)); len(broken) > 0 {
							j.Fail(list.Entry, "%s: %s%s", list.Name, icon.Pointer, broken[0])
							continue
						}
						if src := icon.Value.Get("src").String(); !absoluteURI.MatchString(src) {
							j.Fail(list.Entry, "%s: %s/src is %q, no URI", list.Name, icon.Pointer, wire.Clip(src, 80))
							continue
						}
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "schema.icons.source",
			Says:  "the src of an icon is an HTTP(S) URL or a base64 data: URI",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-icon-src-scheme"},
			Judge: func(j *check.J) {
				eachIcon(j, func(s transcript.Message, icon transcript.Part) {
					src := icon.Value.Get("src")
					if src.Type != gjson.String || !absoluteURI.MatchString(src.Str) {
						return
					}
					scheme, rest, _ := strings.Cut(src.Str, ":")
					head, _, _ := strings.Cut(rest, ",")
					switch strings.ToLower(scheme) {
					case "http", "https":
					case "data":
						if !strings.HasSuffix(strings.ToLower(head), ";base64") {
							j.Fail(s.Entry, "%s: %s/src is a data: URI without base64: %q", s.Name, icon.Pointer, wire.Clip(src.Str, 60))
							return
						}
					default:
						j.Fail(s.Entry, "%s: %s/src has the scheme %s: %q", s.Name, icon.Pointer, scheme, wire.Clip(src.Str, 60))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "schema.icons.sizes",
			Says:  `the sizes of an icon are like "48x48", or "any"`,
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-icon-sizes-format"},
			Judge: func(j *check.J) {
				eachIcon(j, func(s transcript.Message, icon transcript.Part) {
					for _, size := range icon.Member("sizes").Items() {
						switch {
						case size.Value.Type != gjson.String:
						case !iconSize.MatchString(size.Value.Str):
							j.Fail(s.Entry, "%s: %s is %q", s.Name, size.Pointer, wire.Clip(size.Value.Str, 40))
						default:
							j.Saw()
						}
					}
				})
			},
		},
	}
}

// absoluteURI is what sets a URI off from a relative reference: its scheme
// (RFC 3986, section 3.1).
var absoluteURI = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// eachIcon gives the icons that are objects.
func eachIcon(j *check.J, look func(s transcript.Message, icon transcript.Part)) {
	transcript.EachMember(j, "icons", func(list transcript.Member) {
		for _, icon := range (transcript.Part{Pointer: list.Path, Value: list.Value}).Items() {
			if icon.Value.IsObject() {
				look(list.Message, icon)
			}
		}
	})
}

var iconSize = regexp.MustCompile(`^([0-9]+[xX][0-9]+|any)$`)
