package resources

import (
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// probesOfTemplates returns the probe of URIs that are matched against templates.
func probesOfTemplates() []check.Check {
	return []check.Check{
		{
			ID: "resources.template.match.survived",
			Says: "the server answers resources/read for a long URI that a template nearly matches, and goes on:" +
				" anybody who reaches it can send one",
			Level: spec.Robust,
			In:    spec.Every,
			Needs: "resources",
			Spec:  "server/resources#resource-templates",
			Idle:  "no template has a variable that stands for a list",
			Hint:  "offer a resource template with an exploded variable, such as {/path*}",
			// A regular expression with nested repetition takes time that doubles with each item
			// of the list (CVE-2026-0621).
			Probe: func(t *check.T) {
				for _, template := range usage.Entries(t, offer.TemplatesList) {
					uri := nearMatch(template.Get("uriTemplate").Str)
					if uri == "" {
						continue
					}
					what := "resources/read for a long URI that the template " + template.Get("uriTemplate").Str +
						" nearly matches"
					id := t.NextID()
					from := t.Send(t.Frame(id, "resources/read", check.Params{"uri": uri}))
					_, ok := t.Await(from, check.ResponseTo(id))
					t.Survives(what)
					if !ok && !posting.ReportHTTPRefusal(t, from, what) {
						t.Fail("an answer", "none", "%s was not answered", what)
					}
					t.Saw()
				}
			},
		},
	}
}

// expression matches an expression of a template (RFC 6570 section 2.2).
var expression = regexp.MustCompile(`\{([+#./;?&]?)([^{}]*)\}`)

// nearMatch returns a URI that matches a template up to its first exploded variable, in
// whose place it has a long list and then what no variable matches; "" if there is none.
func nearMatch(template string) string {
	var uri strings.Builder
	rest := template
	for {
		at := expression.FindStringSubmatchIndex(rest)
		if at == nil {
			return ""
		}
		operator, names := rest[at[2]:at[3]], rest[at[4]:at[5]]
		uri.WriteString(rest[:at[0]])
		if operator != "+" && operator != "#" {
			uri.WriteString(operator)
		}
		if strings.HasSuffix(names, "*") {
			return uri.String() + strings.Repeat("a,", listItems) + "a/ /"
		}
		uri.WriteString("a")
		rest = rest[at[1]:]
	}
}

// listItems is how many items the list in a near match has: matching takes no time that
// can be measured if it grows with their number, and for ever if it doubles with each.
const listItems = 50
