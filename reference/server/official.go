package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The public conformance contract: tools, resources, templates and prompts of
// fixed names and results, which suites that need fixtures look for. They are
// offered beside the library where Options.Official is set, in the revisions
// that can express them; what the contract has in one revision alone is offered
// there alone.

// pace is the usual pause between the steps of a tool of the contract.
const defaultStepDelay = 50 * time.Millisecond

// officialPage is the size of a page of tools: clients of the contract look
// for its tools on the first one.
const officialToolPageSize = 100

// paces is how many paces pass from one change of the watched resource to the
// next.
const stepsPerWatchedChange = 50

// An annex is what the contract adds to a library, and what changes in it.
type officialFeatures struct {
	stepDelay                time.Duration
	toolListed, promptListed atomic.Bool // whether those that come and go are there
	watchedChanges           atomic.Int64
}

// addOfficial offers what the contract asks for.
func (l *Library) addOfficial(step time.Duration) {
	if step == 0 {
		step = defaultStepDelay
	}
	a := &officialFeatures{stepDelay: step}
	l.official = a
	l.toolPageSize = officialToolPageSize
	l.Capabilities["extensions"] = Object{tasksExtension: Object{}, skillsExtension: Object{"directoryRead": true}}
	l.Tools = append(l.Tools, a.tools()...)
	l.Tools = append(l.Tools, officialInputTools()...)
	l.Tools = append(l.Tools, officialRoundTools()...)
	l.Tools = append(l.Tools, a.taskTools()...)
	l.Resources = append(l.Resources, a.resources()...)
	l.Templates = append(l.Templates, officialTemplate())
	l.Prompts = append(l.Prompts, a.prompts()...)
	l.Skills = librarySkills()
}

// rest passes one pace, or less if the call ends before.
func (a *officialFeatures) pause(ctx context.Context, call *Call) { a.pauseSteps(ctx, call, 1) }

// work passes as many paces.
func (a *officialFeatures) pauseSteps(ctx context.Context, call *Call, paces int) {
	call.Park()
	t := time.NewTimer(time.Duration(paces) * a.stepDelay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

const (
	simpleText = "This is a simple text response for testing."
	errorText  = "This tool intentionally returns an error for testing"
	mixedJSON  = `{"test":"data","value":123}`
)

// plainImage is an image without annotations.
func unannotatedImage() Object {
	return Object{"type": "image", "mimeType": "image/png", "data": encode64(coverPNG(1))}
}

// tools are the tools that need no input from the client.
func (a *officialFeatures) tools() []*Tool {
	outcome := func(blocks ...Object) func(context.Context, *Call) Outcome {
		return func(context.Context, *Call) Outcome { return Outcome{Content: blocks} }
	}
	return []*Tool{
		{
			Name: "test_simple_text", Description: "Says one sentence.", Input: noArguments(), Hints: readOnlyTool,
			Run: outcome(textBlock(simpleText)),
		},
		{
			Name: "test_image_content", Description: "Shows one picture.", Input: noArguments(), Hints: readOnlyTool,
			Run: outcome(unannotatedImage()),
		},
		{
			Name: "test_audio_content", Description: "Plays one sound.", Input: noArguments(), Hints: readOnlyTool, In: spec.Since(spec.V2025_03_26),
			Run: outcome(audioBlock(bellWAV())),
		},
		{
			Name: "test_embedded_resource", Description: "Holds one resource.", Input: noArguments(), Hints: readOnlyTool,
			Run: outcome(embeddedBlock(textContents("test://embedded-resource", "text/plain", "This is an embedded resource content."))),
		},
		{
			Name: "test_multiple_content_types", Description: "Says a sentence, shows a picture and holds a resource.", Input: noArguments(), Hints: readOnlyTool,
			Run: outcome(
				textBlock("Multiple content types test:"), unannotatedImage(),
				embeddedBlock(textContents("test://mixed-content-resource", "application/json", mixedJSON)),
			),
		},
		{
			Name: "test_tool_with_logging", Description: "Logs three messages while it runs.", Input: noArguments(), Hints: readOnlyTool,
			Run: func(ctx context.Context, call *Call) Outcome {
				call.Log("info", "contract", "Tool execution started")
				a.pause(ctx, call)
				call.Log("info", "contract", "Tool processing data")
				a.pause(ctx, call)
				call.Log("info", "contract", "Tool execution completed")
				return textOutcome("Three messages were logged, for who wants messages of level info.")
			},
		},
		{
			Name: "test_error_handling", Description: "Fails.", Input: noArguments(), Hints: readOnlyTool,
			Run: func(context.Context, *Call) Outcome { return errorOutcome(errorText) },
		},
		{
			Name: "test_tool_with_progress", Description: "Reports its progress in three steps.", Input: noArguments(), Hints: readOnlyTool,
			Run: func(ctx context.Context, call *Call) Outcome {
				call.Progress(0, 100, "")
				a.pause(ctx, call)
				call.Progress(50, 100, "")
				a.pause(ctx, call)
				call.Progress(100, 100, "")
				return textOutcome("All steps are done.")
			},
		},
		{
			Name: "json_schema_2020_12_tool", Description: "Takes arguments that only JSON Schema 2020-12 describes.", Input: contactSchema(), Hints: readOnlyTool, In: spec.Since(spec.V2025_11_25),
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("The arguments are " + string(encode(call.Args)))
			},
		},
		{
			Name: "test_reconnection", Description: "Where answers are streams, closes its own once and goes on when the client has come back.",
			Input: noArguments(), Hints: readOnlyTool, In: spec.Only(spec.V2025_11_25),
			Run: func(ctx context.Context, call *Call) Outcome {
				call.closeStreamToPoll(ctx)
				return textOutcome("The answer came, after a reconnection where there was a stream to close.")
			},
		},
		{
			Name: "test_logging_tool", Description: "Logs a message for who asked for messages.", Input: noArguments(), Hints: readOnlyTool, In: spec.Stateless,
			Run: func(_ context.Context, call *Call) Outcome {
				call.Log("info", "contract", "The logging tool was called")
				return textOutcome("A message was logged, if the request asked for messages.")
			},
		},
		{
			Name: "test_x_mcp_header", Description: "Says back a region, which over HTTP stands in a header too.", Hints: readOnlyTool, In: spec.Stateless,
			Input: Object{
				"type": "object", "properties": Object{"region": Object{"type": "string", "x-mcp-header": "Region"}},
				"required": []any{"region"}, "additionalProperties": false,
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("The region is " + stringOf(call.Args["region"]))
			},
		},
		a.listChangeTool("test_trigger_tool_change", "tools", &a.toolListed),
		a.listChangeTool("test_trigger_prompt_change", "prompts", &a.promptListed),
		{
			Name: "test_dynamic_tool", Description: "Comes and goes.", Input: noArguments(), Hints: readOnlyTool, In: spec.Stateless,
			Offered: a.toolListed.Load, Run: outcome(textBlock("I am still here.")),
		},
	}
}

// trigger is a tool that changes a list, and tells those who listen. That the
// change is what the call asks for is as with the reading room (desk.go).
func (a *officialFeatures) listChangeTool(name, list string, there *atomic.Bool) *Tool {
	return &Tool{
		Name: name, Description: "Changes the list of " + list + ".", Input: noArguments(), Hints: stateChangingTool, In: spec.Stateless,
		Run: func(_ context.Context, call *Call) Outcome {
			there.Store(!there.Load())
			call.conn.notifyListChanged(list)
			return textOutcome("The list of " + list + " has changed.")
		},
	}
}

// contactSchema uses what JSON Schema 2020-12 has beyond the older drafts.
func contactSchema() Object {
	required := func(name string) Object { return Object{"required": []any{name}} }
	str := Object{"type": "string"}
	return Object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type":    "object",
		"$defs": Object{"address": Object{
			"$anchor": "addressDef", "type": "object", "properties": Object{"street": str, "city": str},
		}},
		"properties": Object{
			"name": str, "address": Object{"$ref": "#/$defs/address"},
			"contactMethod": Object{"type": "string", "enum": []any{"phone", "email"}}, "phone": str, "email": str,
		},
		"allOf":                []any{Object{"anyOf": []any{required("phone"), required("email")}}},
		"if":                   Object{"properties": Object{"contactMethod": Object{"const": "phone"}}, "required": []any{"contactMethod"}},
		"then":                 required("phone"),
		"else":                 required("email"),
		"additionalProperties": false,
	}
}
