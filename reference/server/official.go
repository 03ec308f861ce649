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
const pace = 50 * time.Millisecond

// officialPage is the size of a page of tools: clients of the contract look
// for its tools on the first one.
const officialPage = 100

// paces is how many paces pass from one change of the watched resource to the
// next.
const paces = 50

// An annex is what the contract adds to a library, and what changes in it.
type annex struct {
	pace             time.Duration
	tool, prompt     atomic.Bool // whether those that come and go are there
	watchedResources atomic.Int64
}

// addOfficial offers what the contract asks for.
func (l *Library) addOfficial(step time.Duration) {
	if step == 0 {
		step = pace
	}
	a := &annex{pace: step}
	l.annex = a
	l.ToolPage = officialPage
	l.Capabilities["extensions"] = Object{tasksExtension: Object{}, skillsExtension: Object{"directoryRead": true}}
	l.Tools = append(l.Tools, a.tools()...)
	l.Tools = append(l.Tools, officialAsking()...)
	l.Tools = append(l.Tools, officialRounds()...)
	l.Tools = append(l.Tools, a.taskTools()...)
	l.Resources = append(l.Resources, a.resources()...)
	l.Templates = append(l.Templates, officialTemplate())
	l.Prompts = append(l.Prompts, a.prompts()...)
	l.Skills = skills()
}

// rest passes one pace, or less if the call ends before.
func (a *annex) rest(ctx context.Context, call *Call) { a.work(ctx, call, 1) }

// work passes as many paces.
func (a *annex) work(ctx context.Context, call *Call, paces int) {
	call.Park()
	t := time.NewTimer(time.Duration(paces) * a.pace)
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
func plainImage() Object {
	return Object{"type": "image", "mimeType": "image/png", "data": encode64(cover(1))}
}

// tools are the tools that need no input from the client.
func (a *annex) tools() []*Tool {
	outcome := func(blocks ...Object) func(context.Context, *Call) Outcome {
		return func(context.Context, *Call) Outcome { return Outcome{Content: blocks} }
	}
	return []*Tool{
		{
			Name: "test_simple_text", Description: "Says one sentence.", Input: nothing(), Hints: looks,
			Run: outcome(textBlock(simpleText)),
		},
		{
			Name: "test_image_content", Description: "Shows one picture.", Input: nothing(), Hints: looks,
			Run: outcome(plainImage()),
		},
		{
			Name: "test_audio_content", Description: "Plays one sound.", Input: nothing(), Hints: looks, In: spec.Since(spec.V2025_03_26),
			Run: outcome(audioBlock(bell())),
		},
		{
			Name: "test_embedded_resource", Description: "Holds one resource.", Input: nothing(), Hints: looks,
			Run: outcome(embeddedBlock(textContents("test://embedded-resource", "text/plain", "This is an embedded resource content."))),
		},
		{
			Name: "test_multiple_content_types", Description: "Says a sentence, shows a picture and holds a resource.", Input: nothing(), Hints: looks,
			Run: outcome(
				textBlock("Multiple content types test:"), plainImage(),
				embeddedBlock(textContents("test://mixed-content-resource", "application/json", mixedJSON)),
			),
		},
		{
			Name: "test_tool_with_logging", Description: "Logs three messages while it runs.", Input: nothing(), Hints: looks,
			Run: func(ctx context.Context, call *Call) Outcome {
				call.Log("info", "contract", "Tool execution started")
				a.rest(ctx, call)
				call.Log("info", "contract", "Tool processing data")
				a.rest(ctx, call)
				call.Log("info", "contract", "Tool execution completed")
				return said("Three messages were logged, for who wants messages of level info.")
			},
		},
		{
			Name: "test_error_handling", Description: "Fails.", Input: nothing(), Hints: looks,
			Run: func(context.Context, *Call) Outcome { return failed(errorText) },
		},
		{
			Name: "test_tool_with_progress", Description: "Reports its progress in three steps.", Input: nothing(), Hints: looks,
			Run: func(ctx context.Context, call *Call) Outcome {
				call.Progress(0, 100, "")
				a.rest(ctx, call)
				call.Progress(50, 100, "")
				a.rest(ctx, call)
				call.Progress(100, 100, "")
				return said("All steps are done.")
			},
		},
		{
			Name: "json_schema_2020_12_tool", Description: "Takes arguments that only JSON Schema 2020-12 describes.", Input: contactSchema(), Hints: looks, In: spec.Since(spec.V2025_11_25),
			Run: func(_ context.Context, call *Call) Outcome {
				return said("The arguments are " + string(encode(call.Args)))
			},
		},
		{
			Name: "test_reconnection", Description: "Where answers are streams, closes its own once and goes on when the client has come back.",
			Input: nothing(), Hints: looks, In: spec.Only(spec.V2025_11_25),
			Run: func(ctx context.Context, call *Call) Outcome {
				call.Poll(ctx)
				return said("The answer came, after a reconnection where there was a stream to close.")
			},
		},
		{
			Name: "test_logging_tool", Description: "Logs a message for who asked for messages.", Input: nothing(), Hints: looks, In: spec.Stateless,
			Run: func(_ context.Context, call *Call) Outcome {
				call.Log("info", "contract", "The logging tool was called")
				return said("A message was logged, if the request asked for messages.")
			},
		},
		{
			Name: "test_x_mcp_header", Description: "Says back a region, which over HTTP stands in a header too.", Hints: looks, In: spec.Stateless,
			Input: Object{
				"type": "object", "properties": Object{"region": Object{"type": "string", "x-mcp-header": "Region"}},
				"required": []any{"region"}, "additionalProperties": false,
			},
			Run: func(_ context.Context, call *Call) Outcome { return said("The region is " + text(call.Args["region"])) },
		},
		a.trigger("test_trigger_tool_change", "tools", &a.tool),
		a.trigger("test_trigger_prompt_change", "prompts", &a.prompt),
		{
			Name: "test_dynamic_tool", Description: "Comes and goes.", Input: nothing(), Hints: looks, In: spec.Stateless,
			Offered: a.tool.Load, Run: outcome(textBlock("I am still here.")),
		},
	}
}

// trigger is a tool that changes a list, and tells those who listen. That the
// change is what the call asks for is as with the reading room (desk.go).
func (a *annex) trigger(name, list string, there *atomic.Bool) *Tool {
	return &Tool{
		Name: name, Description: "Changes the list of " + list + ".", Input: nothing(), Hints: changes, In: spec.Stateless,
		Run: func(_ context.Context, call *Call) Outcome {
			there.Store(!there.Load())
			call.conn.listChanged(list)
			return said("The list of " + list + " has changed.")
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
