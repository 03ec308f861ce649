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

// judges are the judges of server/resources: what a server lists, and what
// it reads (resources_contents.go).
func judges() []check.Check {
	return slices.Concat(resourcesListed(), resourcesRead())
}

// resourcesListed are the judges of #resource and #resource-templates.
func resourcesListed() []check.Check {
	return []check.Check{
		{
			ID:    "resources.list.array",
			Says:  "the result of resources/list has an array resources",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-list-result"},
			Judge: func(j *check.J) { transcript.JudgeShape(j, "ListResourcesResult", "", []string{"/resources"}) },
		},
		{
			ID:    "resources.resource.required",
			Says:  "every resource has a string uri and a string name",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-resource-required-fields"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourcesResult", "resources", []string{"/resources/*", "/resources/*/uri", "/resources/*/name"})
			},
		},
		{
			ID:    "resources.resource.optional",
			Says:  "the optional members of a resource are of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-resource-optional-types"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourcesResult", "resources", []string{"/resources/*/**"}, "/resources/*", "/resources/*/uri", "/resources/*/name")
			},
		},
		{
			ID:    "resources.uri.syntax",
			Says:  "the uri of a resource is a URI by RFC 3986, of whatever scheme",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-uri-format", "resources-custom-scheme-rfc3986"},
			Judge: func(j *check.J) {
				transcript.EachListEntry(j, "resources/list", "resources", func(e wire.Entry, r gjson.Result) {
					uri := r.Get("uri")
					if uri.Type != gjson.String {
						return
					}
					if why := format.URIProblem(uri.Str); why != "" {
						j.Fail(e, "the uri %q of a resource %s", wire.Clip(uri.Str, 80), why)
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "resources.uri.unique",
			Says:  "no two resources have the same uri",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"resources-uri-unique"},
			Judge: func(j *check.J) {
				transcript.JudgeUnique(j, "resources/list", "resources", "uri", "resources have the uri")
			},
		},
		{
			ID:    "resources.templates.array",
			Says:  "the result of resources/templates/list has an array resourceTemplates",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-templates-list-result"},
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
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourceTemplatesResult", "resourceTemplates", []string{"/resourceTemplates/*", "/resourceTemplates/*/uriTemplate", "/resourceTemplates/*/name"})
			},
		},
		{
			ID:    "resources.template.optional",
			Says:  "the optional members of a resource template are of their types",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-template-optional-types"},
			Judge: func(j *check.J) {
				transcript.JudgeShape(j, "ListResourceTemplatesResult", "resourceTemplates", []string{"/resourceTemplates/*/**"}, "/resourceTemplates/*", "/resourceTemplates/*/uriTemplate", "/resourceTemplates/*/name")
			},
		},
		{
			ID:    "resources.template.syntax",
			Says:  "uriTemplate is a URI template by RFC 6570",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"resources-template-uri-template-format"},
			Judge: func(j *check.J) {
				transcript.EachListEntry(j, "resources/templates/list", "resourceTemplates", func(e wire.Entry, r gjson.Result) {
					switch template := r.Get("uriTemplate"); {
					case template.Type != gjson.String:
					case !format.TemplateSyntax.MatchString(template.Str):
						j.Fail(e, "%q is no URI template by RFC 6570", wire.Clip(template.Str, 80))
					default:
						j.Saw()
					}
				})
			},
		},
	}
}
