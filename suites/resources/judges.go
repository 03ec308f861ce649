package resources

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of server/resources: of what a server lists, and of the
// contents that it returns.
func judges() []check.Check {
	return slices.Concat(judgesOfResources(), judgesOfTemplates(), judgesOfContents())
}

// The reasons why several checks are not observed, and what helps.
const (
	noList        = "the server returned no list of resources"
	noListed      = "the server listed no resource"
	offerResource = "list a resource"
	noTemplate    = "the server listed no resource template"
	offerTemplate = "list a resource template"
)

// judgesOfResources returns the judges of #listing-resources and #resource.
func judgesOfResources() []check.Check {
	return []check.Check{
		{
			ID:    "resources.list.array",
			Says:  "the result of resources/list has an array resources",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-list-result"},
			Idle:  noList,
			Hint:  "offer resources, and answer resources/list",
			Judge: func(j *check.J) { transcript.JudgeShape(j, "ListResourcesResult", "", []string{"/resources"}) },
		},
		{
			ID:    "resources.resource.required",
			Says:  "every resource has a string uri and a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-resource-required-fields"},
			Idle:  noListed,
			Hint:  offerResource,
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourcesResult", "resources",
					[]string{"/resources/*", "/resources/*/uri", "/resources/*/name"})
			},
		},
		{
			ID:    "resources.resource.optional",
			Says:  "the optional members of a resource have the types of the schema",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-resource-optional-types"},
			Idle:  noListed,
			Hint:  offerResource,
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourcesResult", "resources", []string{"/resources/*/**"},
					"/resources/*", "/resources/*/uri", "/resources/*/name")
			},
		},
		{
			ID:    "resources.uri.syntax",
			Says:  "the uri of a resource is a URI according to RFC 3986",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-uri-format", "resources-custom-scheme-rfc3986"},
			Idle:  noListed,
			Hint:  offerResource,
			Judge: func(j *check.J) {
				check.Each(j, transcript.DistinctEntries(j, "resources/list", "resources"),
					func(l transcript.ListEntry) bool {
						uri := l.Item.Get("uri")
						if uri.Type != gjson.String {
							return false
						}
						if problem := format.URIProblem(uri.Str); problem != "" {
							j.Fail(l.Answer, "the uri %q of a resource %s", wire.Clip(uri.Str, 80), problem)
						}
						return true
					})
			},
		},
		{
			ID:    "resources.uri.unique",
			Says:  "no two resources have the same uri",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"resources-uri-unique"},
			Idle:  noListed,
			Hint:  offerResource,
			Judge: func(j *check.J) {
				transcript.JudgeUnique(j, "resources/list", "resources", "uri", "resources have the uri")
			},
		},
	}
}

// judgesOfTemplates returns the judges of #resource-templates.
func judgesOfTemplates() []check.Check {
	return []check.Check{
		{
			ID:    "resources.templates.array",
			Says:  "the result of resources/templates/list has an array resourceTemplates",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-templates-list-result"},
			Idle:  "the server returned no list of resource templates",
			Hint:  "answer resources/templates/list with a result",
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourceTemplatesResult", "", []string{"/resourceTemplates"})
			},
		},
		{
			ID:    "resources.template.required",
			Says:  "every resource template has a string uriTemplate and a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-template-required-fields"},
			Idle:  noTemplate,
			Hint:  offerTemplate,
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourceTemplatesResult", "resourceTemplates",
					[]string{"/resourceTemplates/*", "/resourceTemplates/*/uriTemplate", "/resourceTemplates/*/name"})
			},
		},
		{
			ID:    "resources.template.optional",
			Says:  "the optional members of a resource template have the types of the schema",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-template-optional-types"},
			Idle:  noTemplate,
			Hint:  offerTemplate,
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourceTemplatesResult", "resourceTemplates",
					[]string{"/resourceTemplates/*/**"},
					"/resourceTemplates/*", "/resourceTemplates/*/uriTemplate", "/resourceTemplates/*/name")
			},
		},
		{
			ID:    "resources.template.syntax",
			Says:  "the uriTemplate of a resource template is a URI template according to RFC 6570",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-template-uri-template-format"},
			Idle:  noTemplate,
			Hint:  offerTemplate,
			Judge: func(j *check.J) {
				listed := transcript.DistinctEntries(j, "resources/templates/list", "resourceTemplates")
				check.Each(j, listed, func(l transcript.ListEntry) bool {
					template := l.Item.Get("uriTemplate")
					if template.Type == gjson.String && !format.TemplateSyntax.MatchString(template.Str) {
						j.Fail(l.Answer, "%q is not a URI template according to RFC 6570", wire.Clip(template.Str, 80))
					}
					return template.Type == gjson.String
				})
			},
		},
	}
}
