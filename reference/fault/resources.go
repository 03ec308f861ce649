package fault

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// resources are the faults of server/resources.
func resources() []Fault {
	return slices.Concat(resourceLists(), resourceDefinitions(), templateDefinitions(), resourceContents(), resourceReads())
}

// onResource changes a resource wherever it is listed.
func onResource(uri string, edit func(resource server.Object)) apply {
	return onEntries("resources/list", "resources", func(r server.Object) {
		if r["uri"] == uri {
			edit(r)
		}
	})
}

// onTemplate changes a resource template wherever it is listed.
func onTemplate(name string, edit func(template server.Object)) apply {
	return onEntries("resources/templates/list", "resourceTemplates", func(r server.Object) {
		if r["name"] == name {
			edit(r)
		}
	})
}

const (
	hoursURI = "library://desk/hours"
	// coverURI is what a template leads to and no list has.
	coverURI = "library://covers/b10"
)

// resourceLists are the faults of #capabilities and #listing-resources.
func resourceLists() []Fault {
	return []Fault{
		{
			Name: "resources-undeclared", Does: "lists resources without declaring the capability",
			CaughtBy: []string{"resources.capability.declared"},
			Also:     map[string]string{"tools.result.embedded": "a tool of it embeds resources"},
			Apply:    unspoken("resources"),
		},
		{
			Name: "templates-undeclared", Does: "lists resource templates alone, without declaring the capability",
			CaughtBy: []string{"resources.capability.declared"},
			Also:     map[string]string{"tools.result.embedded": "a tool of it embeds resources"},
			Apply:    all(unspoken("resources"), instead("resources/list", unknownMethod)),
		},
		{
			Name: "resources-as-object", Does: "lists resources as an object by their uri",
			CaughtBy: []string{"resources.list.array"},
			Apply:    listAsObject("resources/list", "resources", "uri"),
		},
		{
			Name: "resources-list-fails", Does: "declares resources and answers resources/list with an error",
			CaughtBy: []string{"resources.list.answered"},
			Apply:    instead("resources/list", outOfOrder),
		},
		{
			Name: "resources-by-connection", Does: "lists a resource on each connection that no other has",
			CaughtBy: []string{"resources.list.everywhere"},
			Apply:    byConnection("resources/list", addResource),
		},
		{
			Name: "resources-as-side-effect", Does: "lists one resource more on a connection on which templates were listed",
			CaughtBy: []string{"resources.list.everywhere"},
			Apply:    asSideEffect("resources/templates/list", "resources/list", addResource),
		},
	}
}

// addResource puts a resource on the last page of the list.
func addResource(list server.Object, name string) {
	if list["nextCursor"] == nil {
		list["resources"] = append(list["resources"].([]any), server.Object{"uri": "library://desk/" + name, "name": name})
	}
}

// resourceDefinitions are the faults of #resource.
func resourceDefinitions() []Fault {
	return []Fault{
		{
			Name: "resource-without-name", Does: "lists a resource that has no name",
			CaughtBy: []string{"resources.resource.required"},
			Apply:    onResource(hoursURI, func(r server.Object) { delete(r, "name") }),
		},
		{
			Name: "resource-uri-as-url", Does: "lists a resource whose URI stands in a member url",
			CaughtBy: []string{"resources.resource.required"},
			Apply: onResource(hoursURI, func(r server.Object) {
				r["url"] = r["uri"]
				delete(r, "uri")
			}),
		},
		{
			Name: "resource-mime-null", Does: "gives a resource the mimeType null",
			CaughtBy: []string{"resources.resource.optional"},
			Apply:    onResource(hoursURI, func(r server.Object) { r["mimeType"] = nil }),
		},
		{
			Name: "size-with-unit", Does: "gives the size of resources with its unit",
			CaughtBy: []string{"resources.resource.optional"},
			Apply: onEntries("resources/list", "resources", func(r server.Object) {
				if r["size"] != nil {
					r["size"] = "1 kB"
				}
			}),
		},
		{
			Name: "resource-annotations-list", Does: "gives a resource a list of annotations",
			CaughtBy: []string{"resources.resource.optional"},
			Apply:    onResource(hoursURI, func(r server.Object) { r["annotations"] = []any{"user"} }),
		},
		{
			Name: "resource-uri-relative", Does: "lists a resource by a path, and reads it so",
			Breaks:   []string{"resources-uri-format"},
			CaughtBy: []string{"resources.uri.syntax"},
			Apply:    renamed(hoursURI, "desk/hours"),
		},
		{
			Name: "resource-uri-with-space", Does: "lists a resource by a URI with a space, and reads it so",
			Breaks:   []string{"resources-uri-format"},
			CaughtBy: []string{"resources.uri.syntax"},
			Apply:    renamed(hoursURI, "library://desk/opening hours"),
		},
		{
			Name: "resource-scheme-underscore", Does: "lists a resource under a scheme with an underscore, and reads it so", In: spec.Since(spec.V2025_06_18),
			Breaks:   []string{"resources-custom-scheme-rfc3986"},
			CaughtBy: []string{"resources.uri.syntax"},
			Apply:    renamed(hoursURI, "lending_desk://hours"),
		},
		{
			Name: "resource-uri-twice", Does: "lists two resources by the same URI",
			CaughtBy: []string{"resources.uri.unique"},
			Apply:    onResource("library://books/b2", func(r server.Object) { r["uri"] = "library://books/b1" }),
		},
		{
			Name: "size-in-kilobytes", Does: "tells the size of resources in kilobytes",
			CaughtBy: []string{"resources.size.bytes"},
			Apply:    onResource(hoursURI, func(r server.Object) { r["size"] = 1 }),
		},
	}
}

// renamed lists a resource by another URI, and reads it by that.
func renamed(from, to string) apply {
	return all(
		onResource(from, func(r server.Object) { r["uri"] = to }),
		onRequest("resources/read", func(r *server.Request) {
			if r.Params["uri"] == to {
				r.Params["uri"] = from
			}
		}))
}

// templateDefinitions are the faults of #resource-templates.
func templateDefinitions() []Fault {
	return []Fault{
		{
			Name: "templates-as-object", Does: "lists resource templates as an object by their names",
			CaughtBy: []string{"resources.templates.array"},
			Apply:    listAsObject("resources/templates/list", "resourceTemplates", "name"),
		},
		{
			Name: "template-without-name", Does: "lists a resource template that has no name",
			CaughtBy: []string{"resources.template.required"},
			Apply:    onTemplate("loans", func(r server.Object) { delete(r, "name") }),
		},
		{
			Name: "template-mime-list", Does: "gives a resource template a list of media types",
			CaughtBy: []string{"resources.template.optional"},
			Apply:    onTemplate("loans", func(r server.Object) { r["mimeType"] = []any{"application/json"} }),
		},
		{
			Name: "template-unclosed", Does: "lists a resource template with a brace that is not closed",
			CaughtBy: []string{"resources.template.syntax"},
			Apply:    onTemplate("loans", func(r server.Object) { r["uriTemplate"] = "library://loans/{reader" }),
		},
		{
			Name: "template-variable-hyphen", Does: "lists a resource template with a hyphen in the name of a variable",
			CaughtBy: []string{"resources.template.syntax"},
			Apply:    onTemplate("loans", func(r server.Object) { r["uriTemplate"] = "library://loans/{reader-id}" }),
		},
		{
			Name: "template-names-wrong-type", Does: "names a media type for a template that nothing behind it has",
			CaughtBy: []string{"resources.template.uniform"},
			Apply:    onTemplate("cover", func(r server.Object) { r["mimeType"] = "image/jpeg" }),
		},
	}
}

// onRead changes the contents of a resource.
func onRead(uri string, edit func(item server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && r.Method == "resources/read" && r.Params["uri"] == uri {
				for _, item := range o["contents"].([]any) {
					edit(item.(server.Object))
				}
			}
			return v, problem
		}
	})
}

// unknownResource tells whether an error says that a resource is not there.
func unknownResource(e *server.Error) bool { return strings.HasPrefix(e.Message, "Resource not found") }
