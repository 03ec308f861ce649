package fault

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// resourcesFaults are the faults of server/resources.
func resourcesFaults() []Fault {
	return slices.Concat(resourceLists(), resourceDefinitions(), templateDefinitions(), resourceContents(),
		resourceReads(), invalidURIs(), resourceExits(), overHTTP(resourcesHTTP()...))
}

// resourceExits are exits on requests for resources.
func resourceExits() []Fault {
	return []Fault{
		exitsOn("resources/list", "resources.list.survived"), hangsOn("resources/list", "resources.list.survived"),
		exitsOn("resources/templates/list", "resources.templates.survived"),
		hangsOn("resources/templates/list", "resources.templates.survived"),
		exitsOn("resources/read", "resources.read.survived"), hangsOn("resources/read", "resources.read.survived"),
		silentOn("resources/read", "resources.read.survived"),
		exitsOn("resources/subscribe", "resources.subscribe.survived"),
		hangsOn("resources/subscribe", "resources.subscribe.survived"),
		exitsOn("resources/unsubscribe", "resources.unsubscribe.survived"),
		hangsOn("resources/unsubscribe", "resources.unsubscribe.survived"),
		newFault("ends-at-near-match", "has a template of a list, and ends at a long URI that it nearly matches",
			"resources.template.match.survived", combine(
				onLibrary(func(l *server.Features) {
					l.Templates = append(l.Templates, &server.Template{
						URI: "library://aisles{/aisle*}", Name: "aisle", MIME: "text/plain",
						Read: func(*server.ResourceRead) []server.Object { return nil },
					})
				}),
				exitOn(func(m wire.Message) bool {
					return strings.Contains(m.Params().Get("uri").String(), "a,a,a,a,")
				}, "a template is matched in exponential time"))),
	}
}

// onResource changes a resource wherever it is listed.
func onResource(uri string, edit func(resource server.Object)) apply {
	return onEntry("resources/list", "resources", "uri", uri, edit)
}

// onTemplate changes a resource template wherever it is listed.
func onTemplate(name string, edit func(template server.Object)) apply {
	return onEntry("resources/templates/list", "resourceTemplates", "name", name, edit)
}

const (
	hoursURI = "library://desk/hours"
	// coverURI is of a template and in no list.
	coverURI = "library://covers/b10"
)

// resourceLists are the faults of #capabilities and #listing-resources.
func resourceLists() []Fault {
	embedded := map[string]string{"tools.result.embedded": "one of its tools embeds resources"}
	return []Fault{
		{
			Name: "resources-list-broken", Does: "answers resources/list with an error, in earlier revisions",
			CaughtBy: []string{"resources.list.succeeds"},
			Apply:    answerInstead("resources/list", failWith(spec.InternalError, "There is no list")),
		},
		{
			Name: "templates-unknown", Does: "answers resources/templates/list with error -32601",
			CaughtBy: []string{"resources.templates.succeeds"},
			Apply:    answerInstead("resources/templates/list", unknownMethod),
		},
		{
			Name: "resources-undeclared", Does: "lists resources without declaring the capability",
			CaughtBy: []string{"resources.capability.declared"}, Also: embedded,
			Apply: undeclaredList("resources"),
		},
		{
			Name: "templates-undeclared", Does: "lists resource templates alone, without declaring the capability",
			CaughtBy: []string{"resources.capability.declared"}, Also: embedded,
			Apply: combine(undeclaredList("resources"), answerInstead("resources/list", unknownMethod)),
		},
		{
			Name: "resources-as-object", Does: "lists resources as an object by URI",
			CaughtBy: []string{"resources.list.array"},
			Apply:    arrayToObject("resources/list", "resources", "uri"),
		},
		{
			Name: "resources-list-fails", Does: "declares resources and answers resources/list with an error",
			CaughtBy: []string{"resources.list.answered"},
			Apply:    answerInstead("resources/list", failWith(spec.InternalError, "The resources cannot be listed")),
		},
		{
			Name: "resources-by-connection", Does: "lists a resource on each connection that no other connection lists",
			CaughtBy: []string{"resources.list.everywhere"},
			Apply:    listByConnection("resources/list", addResource),
		},
		{
			Name:     "resources-as-side-effect",
			Does:     "lists one more resource on a connection once templates were listed",
			CaughtBy: []string{"resources.list.everywhere"},
			Apply:    listAfter("resources/templates/list", "resources/list", addResource),
		},
		{
			Name:     "resources-change-undeclared",
			Does:     "sends notifications of changes of resources without declaring resources.listChanged",
			CaughtBy: []string{"resources.list-changed.undeclared", "resources.list-changed.undeclared.advised"},
			Apply:    combine(undeclaredFeature("resources", "listChanged"), unacknowledged("resourcesListChanged")),
		},
	}
}

// addResource puts a resource on the last page of a list.
func addResource(list server.Object, name string) {
	if list["nextCursor"] == nil {
		list["resources"] = append(list["resources"].([]any),
			server.Object{"uri": "library://desk/" + name, "name": name})
	}
}

// resourceDefinitions are the faults of #resource.
func resourceDefinitions() []Fault {
	return []Fault{
		{
			Name: "resource-without-name", Does: "lists a resource without a name",
			CaughtBy: []string{"resources.resource.required"},
			Apply:    onResource(hoursURI, remove("name")),
		},
		{
			Name: "resource-uri-as-url", Does: "lists a resource whose URI is in a member url",
			CaughtBy: []string{"resources.resource.required"},
			Apply:    onResource(hoursURI, rename("uri", "url")),
		},
		{
			Name: "resource-mime-null", Does: "writes the mimeType of a resource as null",
			CaughtBy: []string{"resources.resource.optional"},
			Apply:    onResource(hoursURI, set("mimeType", nil)),
		},
		{
			Name: "size-with-unit", Does: "writes the size of resources with its unit",
			CaughtBy: []string{"resources.resource.optional"},
			Apply: onEntries("resources/list", "resources", func(r server.Object) {
				if r["size"] != nil {
					r["size"] = "1 kB"
				}
			}),
		},
		{
			Name: "resource-annotations-list", Does: "writes the annotations of a resource as an array",
			CaughtBy: []string{"resources.resource.optional"},
			Apply:    onResource(hoursURI, set("annotations", []any{"user"})),
		},
		{
			Name: "resource-uri-relative", Does: "lists and reads a resource by a path",
			Breaks:   []string{"resources-uri-format"},
			CaughtBy: []string{"resources.uri.syntax"},
			Apply:    moveResource(hoursURI, "desk/hours"),
		},
		{
			Name: "resource-uri-with-space", Does: "lists and reads a resource by a URI with a space",
			Breaks:   []string{"resources-uri-format"},
			CaughtBy: []string{"resources.uri.syntax"},
			Apply:    moveResource(hoursURI, "library://desk/opening hours"),
		},
		{
			Name:     "resource-scheme-underscore",
			Does:     "lists and reads a resource by a URI whose scheme has an underscore",
			In:       spec.Since(spec.V2025_06_18),
			Breaks:   []string{"resources-custom-scheme-rfc3986"},
			CaughtBy: []string{"resources.uri.syntax"},
			Apply:    moveResource(hoursURI, "lending_desk://hours"),
		},
		{
			Name: "resource-uri-twice", Does: "lists two resources by the same URI",
			CaughtBy: []string{"resources.uri.unique"},
			Apply:    onResource("library://books/b2", set("uri", "library://books/b1")),
		},
		{
			Name: "size-in-kilobytes", Does: "writes the size of resources in kilobytes",
			CaughtBy: []string{"resources.size.bytes"},
			Apply:    onResource(hoursURI, set("size", 1)),
		},
	}
}

// moveResource lists and reads a resource by another URI.
func moveResource(from, to string) apply {
	return combine(
		onResource(from, set("uri", to)),
		onRequestWhen(isRead(to), func(r *server.Request) { r.Params["uri"] = from }))
}

// templateDefinitions are the faults of #resource-templates.
func templateDefinitions() []Fault {
	return []Fault{
		{
			Name: "templates-as-object", Does: "lists resource templates as an object by name",
			CaughtBy: []string{"resources.templates.array"},
			Apply:    arrayToObject("resources/templates/list", "resourceTemplates", "name"),
		},
		{
			Name: "template-without-name", Does: "lists a resource template without a name",
			CaughtBy: []string{"resources.template.required"},
			Apply:    onTemplate("loans", remove("name")),
		},
		{
			Name: "template-mime-list", Does: "writes the mimeType of a resource template as an array",
			CaughtBy: []string{"resources.template.optional"},
			Apply:    onTemplate("loans", set("mimeType", []any{"application/json"})),
		},
		{
			Name: "template-unclosed", Does: "lists a resource template with a brace that is not closed",
			CaughtBy: []string{"resources.template.syntax"},
			Apply:    onTemplate("loans", set("uriTemplate", "library://loans/{reader")),
		},
		{
			Name: "template-variable-hyphen", Does: "lists a resource template with a hyphen in the name of a variable",
			CaughtBy: []string{"resources.template.syntax"},
			Apply:    onTemplate("loans", set("uriTemplate", "library://loans/{reader-id}")),
		},
		{
			Name:     "template-names-wrong-type",
			Does:     "lists a resource template with a mimeType that none of its resources has",
			CaughtBy: []string{"resources.template.uniform"},
			Apply:    onTemplate("cover", set("mimeType", "image/jpeg")),
		},
	}
}
