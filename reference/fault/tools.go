package fault

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// toolDefinitions are the faults of server/tools#tool.
func toolDefinitions() []Fault {
	return []Fault{
		{
			Name: "tool-without-name", Does: "lists a tool that has no name",
			CaughtBy: []string{"tools.name.string"},
			Apply:    onTool("scan_card", func(tool server.Object) { delete(tool, "name") }),
		},
		{
			Name: "tool-name-twice", Does: "calls two tools by the same name",
			CaughtBy: []string{"tools.name.unique"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["name"] = "opening_hours" }),
		},
		{
			Name: "tool-name-with-space", Does: "calls a tool by a name with a space",
			CaughtBy: []string{"tools.name.characters"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["name"] = "scan card" }),
		},
		{
			Name: "tool-name-too-long", Does: "calls a tool by a name of 200 characters",
			CaughtBy: []string{"tools.name.length"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["name"] = strings.Repeat("scan", 50) }),
		},
		{
			Name: "tool-title-null", Does: "gives a tool the title null",
			CaughtBy: []string{"tools.title.string"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["title"] = nil }),
		},
		{
			Name: "tool-description-null", Does: "gives a tool the description null",
			CaughtBy: []string{"tools.description.string"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["description"] = nil }),
		},
		{
			Name: "tool-hint-string", Does: "writes a hint of a tool as a string",
			CaughtBy: []string{"tools.annotations.types"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["annotations"] = server.Object{"readOnlyHint": "yes"} }),
		},
		{
			Name: "tool-input-schema-null", Does: "gives a tool without arguments the inputSchema null",
			CaughtBy: []string{"tools.input-schema.object"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["inputSchema"] = nil }),
		},
		{
			Name: "tool-property-true", Does: "gives a property of an inputSchema the schema true",
			CaughtBy: []string{"tools.input-schema.members"},
			Apply: onTool("scan_card", func(tool server.Object) {
				tool["inputSchema"] = server.Object{"type": "object", "properties": server.Object{"card": true}}
			}),
		},
		{
			Name: "tool-input-schema-invalid", Does: "gives a property the type text, which JSON Schema has not",
			CaughtBy: []string{"tools.input-schema.valid", "tools.input-schema.valid.advised"},
			Apply: onTool("scan_card", func(tool server.Object) {
				tool["inputSchema"] = server.Object{"type": "object", "properties": server.Object{"card": server.Object{"type": "text"}}}
			}),
		},
		{
			Name: "tool-output-schema-invalid", Does: "gives a property of an outputSchema the type text",
			CaughtBy: []string{"tools.output-schema.valid", "tools.output-schema.valid.advised"},
			Apply: onTool("search_catalogue", func(tool server.Object) {
				tool["outputSchema"] = server.Object{"type": "object", "properties": server.Object{"total": server.Object{"type": "text"}}}
			}),
		},
		{
			Name: "tool-output-schema-true", Does: "gives a tool the outputSchema true",
			CaughtBy: []string{"tools.output-schema.object"},
			Apply:    onTool("search_catalogue", func(tool server.Object) { tool["outputSchema"] = true }),
		},
		{
			Name: "tool-task-support-always", Does: "gives a tool a task support that does not exist",
			CaughtBy: []string{"tools.execution.task-support"},
			Apply:    onTool("scan_card", func(tool server.Object) { tool["execution"] = server.Object{"taskSupport": "always"} }),
		},
	}
}

// toolLists are the faults of server/tools#capabilities and
// #list-changed-notification.
func toolLists() []Fault {
	return []Fault{
		{
			Name: "tools-undeclared", Does: "lists tools without declaring the capability",
			CaughtBy: []string{"tools.capability.declared"},
			Also:     map[string]string{"subscriptions.ack.subset": "it acknowledges changes of tools as any other"},
			Apply:    undeclared("tools"),
		},
		{
			Name: "tools-as-object", Does: "lists tools as an object by their names",
			CaughtBy: []string{"tools.list.array"},
			Apply: onResult("tools/list", func(o server.Object) {
				byName := server.Object{}
				for _, tool := range o["tools"].([]any) {
					byName[tool.(server.Object)["name"].(string)] = tool
				}
				o["tools"] = byName
			}),
		},
		{
			Name: "tools-list-fails", Does: "declares tools and answers tools/list with an error",
			CaughtBy: []string{"tools.list.answered"},
			Apply: instead("tools/list", func(*server.Request) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InternalError, Message: "The tools are locked away"}
			}),
		},
		{
			Name: "tools-shuffled", Does: "lists the tools of a page in turned order every second time",
			CaughtBy: []string{"tools.list.order"},
			Apply:    toolsShuffled,
		},
		{
			Name: "tools-by-connection", Does: "lists a tool on each connection that no other has",
			CaughtBy: []string{"tools.list.everywhere"},
			Apply:    byConnection("tools/list", addTool),
		},
		{
			Name: "tools-as-side-effect", Does: "lists one tool more on a connection on which prompts were listed",
			CaughtBy: []string{"tools.list.everywhere"},
			Apply:    asSideEffect("prompts/list", "tools/list", addTool),
		},
		{
			Name: "tools-changed-silently", Does: "does not tell of changes of the list of tools",
			CaughtBy: []string{"tools.list-changed.sent"},
			Apply:    silent("notifications/tools/list_changed"),
		},
	}
}

// undeclared leaves a capability out of what is declared, and offers what it
// stands for all the same.
func undeclared(capability string) apply {
	return openingEdited(func(capabilities server.Object) { delete(capabilities, capability) })
}

// openingEdited changes what is declared, and nothing of what is offered.
func openingEdited(edit func(capabilities server.Object)) apply {
	declared := func(o server.Object) { edit(o["capabilities"].(server.Object)) }
	return all(onResult("initialize", declared), onResult("server/discover", declared))
}

// onTool changes the definition of a tool wherever it is listed.
func onTool(name string, edit func(tool server.Object)) apply {
	return onResult("tools/list", func(o server.Object) {
		for _, tool := range o["tools"].([]any) {
			if tool, ok := tool.(server.Object); ok && tool["name"] == name {
				edit(tool)
			}
		}
	})
}

// toolsShuffled turns the pages of every second walk.
func toolsShuffled(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var walks atomic.Int64
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if list, ok := v.(server.Object); ok && r.Method == "tools/list" {
				if r.Params["cursor"] == nil {
					walks.Add(1)
				}
				if walks.Load()%2 == 0 {
					slices.Reverse(list["tools"].([]any))
				}
			}
			return v, problem
		}
	})(o)
}

// addTool puts a tool on the last page of the list.
func addTool(list server.Object, name string) {
	if list["nextCursor"] == nil {
		list["tools"] = append(list["tools"].([]any), server.Object{"name": name, "inputSchema": server.Object{"type": "object", "additionalProperties": false}})
	}
}

// toolCalls are the faults of server/tools#calling-tools and #error-handling.
func toolCalls() []Fault {
	return []Fault{
		{
			Name: "unknown-tool-as-result", Does: "reports an unknown tool in a result",
			CaughtBy: []string{"tools.call.unknown"},
			Apply: onError("tools/call", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if strings.HasPrefix(e.Message, "Unknown tool") {
					return complained(e.Message), nil
				}
				return nil, e
			}),
		},
		{
			Name: "no-tools-as-result", Does: "has no tools and reports that in the result of a call",
			CaughtBy: []string{"tools.call.unsupported"},
			Apply: all(
				func(o *server.Options) { o.Library = without("tools") },
				instead("tools/call", func(*server.Request) (any, *server.Error) {
					return complained("There are no tools here"), nil
				})),
		},
		{
			Name: "nameless-call-as-result", Does: "reports a call that names no tool in a result",
			CaughtBy: []string{"tools.call.malformed", "tools.call.malformed.advised"},
			Apply: onError("tools/call", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if _, named := r.Params["name"].(string); !named {
					return complained("Which tool?"), nil
				}
				return nil, e
			}),
		},
		{
			Name: "arguments-unchecked", Does: "searches without a query as if there were one",
			CaughtBy: []string{"tools.call.arguments.validated"},
			Apply:    onLibraryTool("search_catalogue", func(tool *server.Tool) { tool.Lenient = true }),
		},
		{
			Name: "arguments-refused-as-error", Does: "answers arguments that do not fit with error -32602",
			CaughtBy: []string{"tools.call.arguments.reported"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if result, ok := v.(server.Object); ok && r.Method == "tools/call" && strings.Contains(string(encode(result["content"])), "The arguments do not fit") {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "The arguments do not fit"}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "tool-names-folded", Does: "takes the names of tools in any case",
			CaughtBy: []string{"tools.name.case"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if name, ok := r.Params["name"].(string); ok {
					r.Params["name"] = strings.ToLower(name)
				}
			}),
		},
	}
}

// onLibraryTool changes a tool before the server starts.
func onLibraryTool(name string, edit func(tool *server.Tool)) apply {
	return func(o *server.Options) {
		o.Library = func(l *server.Library) {
			for _, tool := range l.Tools {
				if tool.Name == name {
					edit(tool)
				}
			}
		}
	}
}

// complained is the result of a tool that failed.
func complained(why string) server.Object {
	return complete(server.Object{"isError": true, "content": []any{server.Object{"type": "text", "text": why}}})
}

// toolResults are the faults of server/tools#tool-result.
func toolResults() []Fault {
	return []Fault{
		{
			Name: "result-without-content", Does: "answers a call that has nothing to say without content",
			CaughtBy: []string{"tools.result.content"},
			Apply:    onCall("opening_hours", func(o server.Object) { delete(o, "content") }),
		},
		{
			Name: "is-error-string", Does: "writes isError as a string",
			CaughtBy: []string{"tools.result.is-error"},
			Apply:    onCall("opening_hours", func(o server.Object) { o["isError"] = "false" }),
		},
		{
			Name: "structured-array", Does: "returns an array as structured content",
			CaughtBy: []string{"tools.result.structured.object"},
			Apply:    onCall("opening_hours", func(o server.Object) { o["structuredContent"] = []any{"9", "18"} }),
		},
		{
			Name: "structured-only", Does: "returns structured content beside prose",
			CaughtBy: []string{"tools.result.structured.text"},
			Apply: onCall("search_catalogue", func(o server.Object) {
				o["content"] = []any{server.Object{"type": "text", "text": "Books were found."}}
			}),
		},
		{
			Name: "structured-misses-schema", Does: "returns structured content that lacks what the outputSchema requires",
			CaughtBy: []string{"tools.result.structured.schema"},
			Apply: onLibraryTool("search_catalogue", func(tool *server.Tool) {
				tool.Output = server.Object{"type": "object", "required": []any{"shelf"}}
			}),
		},
		{
			Name: "structured-left-out", Does: "has an outputSchema and returns text only",
			CaughtBy: []string{"tools.result.structured.schema"},
			Apply:    onCall("search_catalogue", func(o server.Object) { delete(o, "structuredContent") }),
		},
		{
			Name: "embeds-undeclared-resources", Does: "embeds resources in results without declaring resources",
			CaughtBy: []string{"tools.result.embedded"},
			Apply:    func(o *server.Options) { o.Library = without("resources") },
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
			Name: "failure-as-protocol-error", Does: "answers a call of a tool that fails with error -32603",
			CaughtBy: []string{"tools.result.failure"},
			Apply:    all(failingTool, onFailure("test_error_handling")),
		},
	}
}

// onCall changes the results of a tool.
func onCall(name string, edit func(result server.Object)) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if o, ok := v.(server.Object); ok && r.Method == "tools/call" && r.Params["name"] == name {
				edit(o)
			}
			return v, problem
		}
	})
}

// failingTool offers the tool of the public conformance contract that fails.
func failingTool(o *server.Options) {
	o.Library = func(l *server.Library) {
		l.Tools = append(l.Tools, &server.Tool{
			Name: "test_error_handling", Description: "Fails.", Input: server.Object{"type": "object"}, Hints: server.Object{"readOnlyHint": true},
			Run: func(context.Context, *server.Call) server.Outcome { return server.Outcome{Failed: true} },
		})
	}
}

// onFailure answers calls of a tool with a protocol error.
func onFailure(name string) apply {
	return onHandler(func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "tools/call" && r.Params["name"] == name {
				return nil, &server.Error{Code: spec.InternalError, Message: "The tool failed"}
			}
			return next(ctx, r)
		}
	})
}
