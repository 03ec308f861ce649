package fault

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// toolsFaults are the faults of server/tools.
func toolsFaults() []Fault {
	return slices.Concat(toolDefinitions(), toolSchemas(), toolLists(), toolCalls(), toolArguments(), toolResults(),
		[]Fault{
			exitsOn("tools/list", "tools.list.survived"), hangsOn("tools/list", "tools.list.survived"),
			exitsOn("tools/call", "tools.call.survived"), hangsOn("tools/call", "tools.call.survived"),
		})
}

// onTool changes the definition of a tool wherever it is listed.
func onTool(name string, edit func(tool server.Object)) apply {
	return onEntry("tools/list", "tools", "name", name, edit)
}

// onScanCard changes the tool without arguments wherever it is listed.
func onScanCard(edit func(tool server.Object)) apply { return onTool("scan_card", edit) }

// toolDefinitions are the faults of server/tools#tool.
func toolDefinitions() []Fault {
	return []Fault{
		{
			Name: "tool-without-name", Does: "lists a tool without a name",
			CaughtBy: []string{"tools.name.string"},
			Apply:    onScanCard(remove("name")),
		},
		{
			Name: "tool-name-twice", Does: "lists two tools of the same name",
			CaughtBy: []string{"tools.name.unique"},
			Apply:    onScanCard(set("name", "opening_hours")),
		},
		{
			Name: "tool-name-with-space", Does: "lists a tool whose name has a space",
			CaughtBy: []string{"tools.name.characters"},
			Apply:    onScanCard(set("name", "scan card")),
		},
		{
			Name: "tool-name-too-long", Does: "lists a tool whose name has 200 characters",
			CaughtBy: []string{"tools.name.length"},
			Apply:    onScanCard(set("name", strings.Repeat("scan", 50))),
		},
		{
			Name: "tool-title-null", Does: "writes the title of a tool as null",
			CaughtBy: []string{"tools.title.string"},
			Apply:    onScanCard(set("title", nil)),
		},
		{
			Name: "tool-description-null", Does: "writes the description of a tool as null",
			CaughtBy: []string{"tools.description.string"},
			Apply:    onScanCard(set("description", nil)),
		},
		{
			Name: "tool-hint-string", Does: "writes a hint of a tool as a string",
			CaughtBy: []string{"tools.annotations.types"},
			Apply:    onScanCard(set("annotations", server.Object{"readOnlyHint": "yes"})),
		},
		{
			Name: "tool-schema-in-annotations", Does: "lists the schema of the arguments of a tool as its annotations",
			CaughtBy: []string{"tools.annotations.schema"},
			Apply: onScanCard(set("annotations", server.Object{
				"type": "object", "properties": server.Object{"card": server.Object{"type": "string"}},
			})),
		},
	}
}

// toolSchemas are faults in the schemas of tools.
func toolSchemas() []Fault {
	properties := func(name string, schema any) server.Object {
		return server.Object{"type": "object", "properties": server.Object{name: schema}}
	}
	typeText := server.Object{"type": "text"}
	return []Fault{
		{
			Name: "tool-input-schema-null", Does: "writes the inputSchema of a tool without arguments as null",
			CaughtBy: []string{"tools.input-schema.object"},
			Apply:    onScanCard(set("inputSchema", nil)),
		},
		{
			Name: "tool-property-true", Does: "writes the schema of a property of an inputSchema as true",
			CaughtBy: []string{"tools.input-schema.members"},
			Apply:    onScanCard(set("inputSchema", properties("card", true))),
		},
		{
			Name:     "tool-input-schema-invalid",
			Does:     "gives a property of an inputSchema the type text, which JSON Schema does not have",
			CaughtBy: []string{"tools.input-schema.valid", "tools.input-schema.valid.advised"},
			Apply:    onScanCard(set("inputSchema", properties("card", typeText))),
		},
		{
			Name:     "tool-output-schema-invalid",
			Does:     "gives a property of an outputSchema the type text, which JSON Schema does not have",
			CaughtBy: []string{"tools.output-schema.valid", "tools.output-schema.valid.advised"},
			Apply:    onTool("search_catalogue", set("outputSchema", properties("total", typeText))),
		},
		newFault("tool-input-reference-dangling", "refers in an inputSchema to a definition that it does not have",
			"tools.input-schema.references",
			onScanCard(set("inputSchema", properties("card", server.Object{"$ref": "#/$defs/Card"})))),
		newFault("tool-output-reference-dangling", "refers in an outputSchema to a definition that it does not have",
			"tools.output-schema.references", onTool("search_catalogue",
				set("outputSchema", properties("total", server.Object{"$ref": "#/$defs/Total"})))),
		{
			Name: "tool-output-schema-true", Does: "writes the outputSchema of a tool as true",
			CaughtBy: []string{"tools.output-schema.object"},
			Apply:    onTool("search_catalogue", set("outputSchema", true)),
		},
		{
			Name: "tool-task-support-always", Does: "gives a tool a task support that does not exist",
			CaughtBy: []string{"tools.execution.task-support"},
			Apply:    onScanCard(set("execution", server.Object{"taskSupport": "always"})),
		},
	}
}

// toolLists are the faults of server/tools#capabilities and
// #list-changed-notification.
func toolLists() []Fault {
	return []Fault{
		{
			Name: "tools-list-broken", Does: "answers tools/list with an error, in earlier revisions",
			CaughtBy: []string{"tools.list.succeeds"},
			Apply:    answerInstead("tools/list", failWith(spec.InternalError, "There is no list")),
		},
		{
			Name: "tools-undeclared", Does: "lists tools without declaring the capability",
			CaughtBy: []string{"tools.capability.declared"},
			Also: map[string]string{
				"subscriptions.ack.subset": "it acknowledges subscriptions to changes of tools",
			},
			Apply: undeclared("tools"),
		},
		{
			Name: "tools-as-object", Does: "lists tools as an object by name",
			CaughtBy: []string{"tools.list.array"},
			Apply:    arrayToObject("tools/list", "tools", "name"),
		},
		{
			Name: "tools-list-fails", Does: "declares tools and answers tools/list with an error",
			CaughtBy: []string{"tools.list.answered"},
			Apply:    answerInstead("tools/list", failWith(spec.InternalError, "The tools cannot be listed")),
		},
		{
			Name: "tools-shuffled", Does: "reverses the tools of a page in every other list",
			CaughtBy: []string{"tools.list.order"},
			Apply:    reverseEveryOtherList,
		},
		{
			Name: "tools-by-connection", Does: "lists a tool on each connection that no other connection lists",
			CaughtBy: []string{"tools.list.everywhere"},
			Apply:    listByConnection("tools/list", addTool),
		},
		{
			Name: "tools-as-side-effect", Does: "lists one more tool on a connection once prompts were listed",
			CaughtBy: []string{"tools.list.everywhere"},
			Apply:    listAfter("prompts/list", "tools/list", addTool),
		},
		{
			Name: "tools-changed-silently", Does: "sends no notification when the list of tools changes",
			CaughtBy: []string{"tools.list-changed.sent"},
			Apply:    withhold(isNotification("notifications/tools/list_changed")),
		},
		{
			Name:     "tools-change-undeclared",
			Does:     "sends notifications of changes of tools without declaring tools.listChanged",
			CaughtBy: []string{"tools.list-changed.undeclared", "tools.list-changed.undeclared.advised"},
			Apply:    combine(undeclaredFeature("tools", "listChanged"), unacknowledged("toolsListChanged")),
		},
	}
}

// reverseEveryOtherList reverses the pages of every second list of tools.
func reverseEveryOtherList(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var lists atomic.Int64
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			if list, ok := v.(server.Object); ok && r.Method == "tools/list" {
				if r.Params["cursor"] == nil {
					lists.Add(1)
				}
				if lists.Load()%2 == 0 {
					slices.Reverse(list["tools"].([]any))
				}
			}
			return v, problem
		}
	})(o)
}

// addTool puts a tool on the last page of a list.
func addTool(list server.Object, name string) {
	if list["nextCursor"] == nil {
		input := server.Object{"type": "object", "additionalProperties": false}
		list["tools"] = append(list["tools"].([]any), server.Object{"name": name, "inputSchema": input})
	}
}

// toolCalls are the faults of server/tools#calling-tools and #error-handling.
func toolCalls() []Fault {
	return []Fault{
		{
			Name: "unknown-tool-as-result", Does: "reports an unknown tool in a result",
			CaughtBy: []string{"tools.call.unknown"},
			Apply:    errorToResult("tools/call", hasMessage("Unknown tool"), reportFailure("Unknown tool")),
		},
		{
			Name: "unknown-tool-internal-error", Does: "answers a call of an unknown tool with error -32603",
			CaughtBy: []string{"tools.call.unknown.code"},
			Apply:    recode("tools/call", hasMessage("Unknown tool"), spec.InternalError),
		},
		{
			Name: "absent-arguments-refused", Does: "refuses the call of a tool without the member arguments",
			CaughtBy: []string{"tools.call.arguments.optional"},
			Apply: answerWhen(func(r *server.Request) bool {
				return isCall("opening_hours")(r) && r.Params["arguments"] == nil
			}, failWith(spec.InvalidParams, "The arguments are missing")),
		},
		{
			Name: "no-tools-as-result", Does: "has no tools and reports that in the result of a call",
			CaughtBy: []string{"tools.call.unsupported"},
			Apply: combine(withoutCapability("tools"),
				answerInstead("tools/call", reportFailure("There are no tools here"))),
		},
		{
			Name: "nameless-call-as-result", Does: "reports a call that names no tool in a result",
			CaughtBy: []string{"tools.call.malformed"},
			Apply: errorToResult("tools/call",
				func(r *server.Request, _ *server.Error) bool { _, named := r.Params["name"].(string); return !named },
				reportFailure("The name is missing")),
		},
		{
			Name: "arguments-unchecked", Does: "searches without the required query",
			CaughtBy: []string{"tools.call.arguments.validated"},
			Apply:    onLibraryTool("search_catalogue", func(tool *server.Tool) { tool.Lenient = true }),
		},
		{
			Name: "arguments-refused-as-error", Does: "answers invalid arguments with error -32602",
			CaughtBy: []string{"tools.call.arguments.reported"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					const refusal = "The arguments do not fit"
					v, problem := next(ctx, r)
					result, ok := v.(server.Object)
					isRefused := bytes.Contains(wire.Encode(result["content"]), []byte(refusal))
					if ok && r.Method == "tools/call" && isRefused {
						return nil, &server.Error{Code: spec.InvalidParams, Message: refusal}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "tool-names-folded", Does: "accepts the names of tools in any case",
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
	return onLibrary(func(l *server.Features) {
		for _, tool := range l.Tools {
			if tool.Name == name {
				edit(tool)
			}
		}
	})
}

// beforeRun does something before a tool runs, and may replace its outcome.
func beforeRun(tool string, do func(ctx context.Context, call *server.Call) (out server.Outcome, done bool)) apply {
	return onLibraryTool(tool, func(t *server.Tool) {
		inner := t.Run
		t.Run = func(ctx context.Context, call *server.Call) server.Outcome {
			if out, done := do(ctx, call); done {
				return out
			}
			return inner(ctx, call)
		}
	})
}

// textOutcome is the outcome of a tool that returns a text.
func textOutcome(text string) server.Outcome {
	return server.Outcome{Content: []server.Object{{"type": "text", "text": text}}}
}

// onCall changes the results of a tool.
func onCall(tool string, edit func(result server.Object)) apply {
	return onResultWhen(isCall(tool), func(_ *server.Request, result server.Object) { edit(result) })
}
