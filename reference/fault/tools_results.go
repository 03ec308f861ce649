package fault

import (
	"context"
	"maps"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// toolArguments are the faults of server/tools#security-considerations: a tool
// whose inputSchema requires more than the server checks.
func toolArguments() []Fault {
	query := server.Object{"type": "string", "minLength": 1, "maxLength": 200}
	limit := server.Object{"type": "integer", "minimum": 1, "maximum": 50}
	word := server.Object{"type": "string"}
	shelf := server.Object{"type": "object", "properties": server.Object{"shelf": word}, "required": []any{"shelf"}}
	unchecked := func(name, does string, listed server.Object) Fault {
		return newFault(name, does, "tools.call.arguments.validated", combine(acceptScope, listSearchSchema(listed)))
	}
	with := func(name string, schema server.Object) server.Object {
		return server.Object{"properties": server.Object{"query": query, "limit": limit, name: schema}}
	}
	// The results for another query differ, and before 2025-06-18 have no structured content:
	// they might tell of a failure.
	structured := func(f Fault) Fault {
		f.In = spec.Since(spec.V2025_06_18)
		return f
	}
	return []Fault{
		structured(unchecked("enum-unchecked", "accepts a query that is not in its enum",
			with("query", server.Object{"type": "string", "enum": []any{"harbour", "tide"}}))),
		structured(unchecked("pattern-unchecked", "accepts a query that its pattern excludes",
			with("query", server.Object{"type": "string", "pattern": "^[a-z ]+$", "minLength": 1, "maxLength": 200}))),
		unchecked("maximum-unchecked", "accepts a limit above its maximum",
			with("limit", server.Object{"type": "integer", "minimum": 1, "maximum": 10})),
		unchecked("nested-required-unchecked", "accepts a scope without the shelf that it requires",
			with("scope", shelf)),
		unchecked("items-unchecked", "accepts an array whose items are of another type",
			with("scope", server.Object{"type": "array", "items": word})),
		unchecked("union-unchecked", "accepts a scope that no branch of its union allows",
			with("scope", server.Object{"oneOf": []any{shelf, server.Object{"type": "null"}}})),
		unchecked("condition-unchecked", "accepts a limit without the scope that it then requires", server.Object{
			"properties": with("scope", word)["properties"],
			"if":         server.Object{"required": []any{"limit"}},
			"then":       server.Object{"required": []any{"scope"}},
		}),
	}
}

// acceptScope lets the search accept a scope of any kind, which it does not use.
func acceptScope(o *server.Options) {
	onLibraryTool("search_catalogue", func(tool *server.Tool) {
		properties := maps.Clone(tool.InputSchema["properties"].(server.Object))
		properties["scope"] = server.Object{}
		tool.InputSchema = server.Object{
			"type": "object", "properties": properties, "required": []any{"query"}, "additionalProperties": false,
		}
	})(o)
}

// listSearchSchema lists the search with an inputSchema that it does not check.
func listSearchSchema(keywords server.Object) apply {
	return onTool("search_catalogue", func(tool server.Object) {
		input := server.Object{"type": "object", "required": []any{"query"}, "additionalProperties": false}
		maps.Copy(input, keywords)
		tool["inputSchema"] = input
	})
}

// toolResults are the faults of server/tools#tool-result.
func toolResults() []Fault {
	return []Fault{
		{
			Name: "own-result-rejected", Does: "rejects the result of a tool",
			CaughtBy: []string{"tools.result.rejected"},
			Apply: answerWhen(func(r *server.Request) bool {
				return isCall("opening_hours")(r) && r.Params["task"] == nil
			}, reportFailure("Output validation error: the result has no structuredContent")),
		},
		{
			Name: "result-without-content", Does: "leaves content out of a result",
			CaughtBy: []string{"tools.result.content"},
			Apply:    onCall("opening_hours", remove("content")),
		},
		{
			Name: "is-error-string", Does: "writes isError as a string",
			CaughtBy: []string{"tools.result.is-error"},
			Apply:    onCall("opening_hours", set("isError", "false")),
		},
		{
			Name: "structured-array", Does: "returns an array as structured content",
			CaughtBy: []string{"tools.result.structured.object"},
			Apply:    onCall("opening_hours", set("structuredContent", []any{"9", "18"})),
		},
		{
			Name: "structured-text-missing", Does: "returns structured content without its text",
			CaughtBy: []string{"tools.result.structured.text"},
			Apply: onCall("search_catalogue",
				set("content", []any{server.Object{"type": "text", "text": "Books were found."}})),
		},
		{
			Name:     "structured-misses-schema",
			Does:     "returns structured content without a member that the outputSchema requires",
			CaughtBy: []string{"tools.result.structured.schema"},
			Apply: onLibraryTool("search_catalogue", func(tool *server.Tool) {
				tool.OutputSchema = server.Object{"type": "object", "required": []any{"shelf"}}
			}),
		},
		{
			Name: "structured-left-out", Does: "has an outputSchema and returns no structured content",
			CaughtBy: []string{"tools.result.structured.schema"},
			Apply:    onCall("search_catalogue", remove("structuredContent")),
		},
		{
			Name: "embeds-undeclared-resources", Does: "embeds resources in results without declaring resources",
			CaughtBy: []string{"tools.result.embedded"},
			Apply:    withoutCapability("resources"),
		},
		{
			Name: "link-leads-nowhere", Does: "links to a resource that cannot be read",
			CaughtBy: []string{"tools.link.readable"},
			Apply: onCall("show_exhibits", func(o server.Object) {
				for _, block := range o["content"].([]any) {
					if block := block.(server.Object); block["type"] == "resource_link" {
						block["uri"] = "library://books/none"
					}
				}
			}),
		},
		{
			Name:     "task-links-nowhere",
			Does:     "links to an unknown resource in the result of a tool that is always a task",
			In:       spec.Only(spec.V2025_11_25),
			CaughtBy: []string{"tools.link.readable"},
			Apply: onTaskResults("bind_catalogue", func(o server.Object) {
				link := server.Object{"type": "resource_link", "uri": "library://nowhere", "name": "nowhere"}
				o["content"] = append(o["content"].([]any), link)
			}),
		},
		{
			Name: "failure-as-protocol-error", Does: "answers a call of a tool that fails with error -32603",
			CaughtBy: []string{"tools.result.failure"},
			Apply: combine(offerFailingTool, answerWhen(isCall("test_error_handling"),
				failWith(spec.InternalError, "The tool failed"))),
		},
	}
}

// offerFailingTool offers the tool of the public conformance contract that fails.
func offerFailingTool(o *server.Options) {
	onLibrary(func(l *server.Features) {
		l.Tools = append(l.Tools, &server.Tool{
			Name: "test_error_handling", Description: "Fails.",
			InputSchema: server.Object{"type": "object"}, Annotations: server.Object{"readOnlyHint": true},
			Run: func(context.Context, *server.Call) server.Outcome { return server.Outcome{Failed: true} },
		})
	})(o)
}

// toolsClientFaults are the faults of the client in server/tools.
func toolsClientFaults() []ClientFault {
	return []ClientFault{{
		Name: "client-arguments-text", Does: "writes the arguments of a tool as a string",
		CaughtBy: []string{"tools.client.call.params"},
		Apply:    clientRewrites("tools/call", `"arguments":{"text":"text"}`, `"arguments":"{\"text\":\"text\"}"`),
	}}
}
