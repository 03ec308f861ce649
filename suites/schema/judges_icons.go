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

// Why the judges of icons are not observed, and what helps.
const (
	noIcon    = "nothing that the server offers has an icon"
	offerIcon = "give a tool, prompt or resource an icon"
)

// iconJudges returns the judges of basic/index#icons, since 2025-11-25: of the server
// itself, its tools, prompts, resources, templates and links.
func iconJudges() []check.Check {
	return []check.Check{
		{
			ID:    "schema.icons.shape",
			Says:  "icons are an array of objects with a URI src; mimeType, sizes and theme have their types",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-icon-shape"},
			Idle:  noIcon,
			Hint:  offerIcon,
			Judge: func(j *check.J) {
				for _, list := range transcript.Members(j, "icons") {
					if !list.Value.IsArray() {
						j.Fail(list.Entry, "%s: %s is %s, not an array", list.Name, list.Path,
							wire.TypeName(list.Value))
						continue
					}
					check.Each(j, items(list), func(icon transcript.Part) bool {
						src := icon.Value.Get("src").String()
						if broken := schema.For(j.Rev).Validate("Icon", []byte(icon.Value.Raw)); len(broken) > 0 {
							j.Fail(list.Entry, "%s: %s%s", list.Name, icon.Pointer, broken[0])
						} else if !absoluteURI.MatchString(src) {
							j.Fail(list.Entry, "%s: %s/src is %q, no URI", list.Name, icon.Pointer, wire.Clip(src, 80))
						}
						return true
					})
				}
			},
		},
		{
			ID:    "schema.icons.source",
			Says:  "the src of an icon is an HTTP(S) URL or a base64 data: URI",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-icon-src-scheme"},
			Idle:  noIcon,
			Hint:  offerIcon,
			Judge: func(j *check.J) {
				check.Each(j, icons(j), func(i icon) bool {
					src := i.Value.Get("src")
					if src.Type != gjson.String || !absoluteURI.MatchString(src.Str) {
						return false // schema.icons.shape judges it
					}
					scheme, rest, _ := strings.Cut(src.Str, ":")
					head, _, _ := strings.Cut(rest, ",")
					switch strings.ToLower(scheme) {
					case "http", "https":
					case "data":
						if !strings.HasSuffix(strings.ToLower(head), ";base64") {
							j.Fail(i.message.Entry, "%s: %s/src is a data: URI without base64: %q",
								i.message.Name, i.Pointer, wire.Clip(src.Str, 60))
						}
					default:
						j.Fail(i.message.Entry, "%s: %s/src has the scheme %s: %q",
							i.message.Name, i.Pointer, scheme, wire.Clip(src.Str, 60))
					}
					return true
				})
			},
		},
		{
			ID:    "schema.icons.sizes",
			Says:  `the sizes of an icon are like "48x48", or "any"`,
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"schema-icon-sizes-format"},
			Idle:  "no icon has sizes",
			Hint:  "give an icon of a tool, prompt or resource its sizes",
			Judge: func(j *check.J) {
				for _, i := range icons(j) {
					check.Each(j, i.Member("sizes").Items(), func(size transcript.Part) bool {
						if size.Value.Type != gjson.String {
							return false // schema.icons.shape judges it
						}
						if !iconSize.MatchString(size.Value.Str) {
							j.Fail(i.message.Entry, "%s: %s is %q", i.message.Name, size.Pointer,
								wire.Clip(size.Value.Str, 40))
						}
						return true
					})
				}
			},
		},
	}
}

// absoluteURI matches a URI by its scheme, which a relative reference does not have
// (RFC 3986, section 3.1).
var absoluteURI = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// iconSize matches one of the sizes of an icon.
var iconSize = regexp.MustCompile(`^([0-9]+[xX][0-9]+|any)$`)

// An icon is an icon with the message that holds it.
type icon struct {
	transcript.Part
	message transcript.Message
}

// icons returns the icons that are objects.
func icons(j *check.J) (all []icon) {
	for _, list := range transcript.Members(j, "icons") {
		for _, i := range items(list) {
			if i.Value.IsObject() {
				all = append(all, icon{i, list.Message})
			}
		}
	}
	return all
}

// items returns the items of a member that is an array.
func items(list transcript.Member) []transcript.Part {
	return (transcript.Part{Pointer: list.Path, Value: list.Value}).Items()
}
