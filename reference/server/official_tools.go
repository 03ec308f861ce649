package server

import (
	"context"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// fixedOutcome returns a tool implementation that always has the same result.
func fixedOutcome(blocks ...Object) func(context.Context, *Call) Outcome {
	return func(context.Context, *Call) Outcome { return Outcome{Content: blocks} }
}

// tools returns the tools of the contract that need no input from the client.
func (o *officialFeatures) tools() []*Tool {
	return []*Tool{
		{
			Name: "test_simple_text", Description: "Says one sentence.",
			InputSchema: noArguments(), Annotations: readOnly,
			Run: fixedOutcome(textBlock("This is a simple text response for testing.")),
		},
		{
			Name: "test_image_content", Description: "Shows one picture.",
			InputSchema: noArguments(), Annotations: readOnly,
			Run: fixedOutcome(unannotatedImage()),
		},
		{
			Name: "test_audio_content", Description: "Plays one sound.",
			InputSchema: noArguments(), Annotations: readOnly,
			In: spec.Since(spec.V2025_03_26), Run: fixedOutcome(audioBlock(bellWAV())),
		},
		{
			Name: "test_embedded_resource", Description: "Holds one resource.",
			InputSchema: noArguments(), Annotations: readOnly,
			Run: fixedOutcome(embeddedBlock(textContents(
				"test://embedded-resource", "text/plain", "This is an embedded resource content."))),
		},
		{
			Name: "test_multiple_content_types", Description: "Says a sentence, shows a picture and holds a resource.",
			InputSchema: noArguments(), Annotations: readOnly,
			Run: fixedOutcome(textBlock("Multiple content types test:"), unannotatedImage(), embeddedBlock(textContents(
				"test://mixed-content-resource", jsonType, `{"test":"data","value":123}`))),
		},
		{
			Name: "test_tool_with_logging", Description: "Logs three messages while it runs.",
			InputSchema: noArguments(), Annotations: readOnly, Run: o.runWithLogging,
		},
		{
			Name: "test_error_handling", Description: "Fails.",
			InputSchema: noArguments(), Annotations: readOnly,
			Run: func(context.Context, *Call) Outcome {
				return errorOutcome("This tool intentionally returns an error for testing")
			},
		},
		{
			Name: "test_tool_with_progress", Description: "Reports its progress in three steps.",
			InputSchema: noArguments(), Annotations: readOnly, Run: o.runWithProgress,
		},
		{
			Name:        "json_schema_2020_12_tool",
			Description: "Takes arguments that only JSON Schema 2020-12 describes.",
			InputSchema: contactSchema(), Annotations: readOnly, In: spec.Since(spec.V2025_11_25),
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("The arguments are " + string(wire.Encode(call.Args)))
			},
		},
		{
			Name: "test_reconnection",
			Description: "Where answers are streams, " +
				"closes its own once and goes on when the client has come back.",
			InputSchema: noArguments(), Annotations: readOnly, In: spec.Only(spec.V2025_11_25),
			Run: func(ctx context.Context, call *Call) Outcome {
				call.closeStreamToPoll(ctx)
				return textOutcome("The answer came, after a reconnection where there was a stream to close.")
			},
		},
		{
			Name: "test_logging_tool", Description: "Logs a message for who asked for messages.",
			InputSchema: noArguments(), Annotations: readOnly, In: spec.Stateless,
			Run: func(_ context.Context, call *Call) Outcome {
				call.Log("info", "contract", "The logging tool was called")
				return textOutcome("A message was logged, if the request asked for messages.")
			},
		},
		{
			Name: "test_x_mcp_header", Description: "Says back a region, which over HTTP stands in a header too.",
			InputSchema: closedSchema(Object{"region": Object{"type": "string", "x-mcp-header": "Region"}}, "region"),
			Annotations: readOnly, In: spec.Stateless,
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("The region is " + stringOf(call.Args["region"]))
			},
		},
		listChangeTool("test_trigger_tool_change", "tools", &o.toolListed),
		listChangeTool("test_trigger_prompt_change", "prompts", &o.promptListed),
		{
			Name: "test_dynamic_tool", Description: "Comes and goes.",
			InputSchema: noArguments(), Annotations: readOnly,
			In: spec.Stateless, Offered: func(*Features) bool { return o.toolListed.Load() },
			Run: fixedOutcome(textBlock("I am still here.")),
		},
	}
}

func (o *officialFeatures) runWithLogging(ctx context.Context, call *Call) Outcome {
	call.Log("info", "contract", "Tool execution started")
	o.waitSteps(ctx, call, 1)
	call.Log("info", "contract", "Tool processing data")
	o.waitSteps(ctx, call, 1)
	call.Log("info", "contract", "Tool execution completed")
	return textOutcome("Three messages were logged, for who wants messages of level info.")
}

func (o *officialFeatures) runWithProgress(ctx context.Context, call *Call) Outcome {
	call.Progress(0, 100, "")
	o.waitSteps(ctx, call, 1)
	call.Progress(50, 100, "")
	o.waitSteps(ctx, call, 1)
	call.Progress(100, 100, "")
	return textOutcome("All steps are done.")
}

// listChangeTool returns a tool that changes a list and notifies the subscribers.
// The change is the purpose of the call, as with the reading room
// (setReadingRoomTool).
func listChangeTool(name, list string, listed *atomic.Bool) *Tool {
	return &Tool{
		Name: name, Description: "Changes the list of " + list + ".",
		InputSchema: noArguments(), Annotations: changesState, In: spec.Stateless,
		Run: func(_ context.Context, call *Call) Outcome {
			listed.Store(!listed.Load())
			call.conn.notifyListChanged(list)
			return textOutcome("The list of " + list + " has changed.")
		},
	}
}

// contactSchema uses what JSON Schema 2020-12 has beyond the older drafts.
func contactSchema() Object {
	required := func(name string) Object { return Object{"required": []any{name}} }
	str := Object{"type": "string"}
	byPhone := Object{"contactMethod": Object{"const": "phone"}}
	return Object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type":    "object",
		"$defs": Object{"address": Object{
			"$anchor": "addressDef", "type": "object", "properties": Object{"street": str, "city": str},
		}},
		"properties": Object{
			"name": str, "address": Object{"$ref": "#/$defs/address"}, "phone": str, "email": str,
			"contactMethod": Object{"type": "string", "enum": []any{"phone", "email"}},
		},
		"allOf":                []any{Object{"anyOf": []any{required("phone"), required("email")}}},
		"if":                   Object{"properties": byPhone, "required": []any{"contactMethod"}},
		"then":                 required("phone"),
		"else":                 required("email"),
		"additionalProperties": false,
	}
}
