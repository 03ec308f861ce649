package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// second is how many paces a second of the contract has.
const stepsPerSecond = 20

// taskTools are the tools of the contract that show the tasks extension. But
// for those that need it they serve clients without it at once.
func (a *officialFeatures) taskTools() []*Tool {
	list := []*Tool{
		{
			Name: "greet", Description: "Greets, at once.", Input: stringArgument("name"), Hints: readOnlyTool,
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("Hello, " + stringOf(call.Args["name"]) + "!")
			},
		},
		{
			Name: "slow_compute", Description: "Computes for as many seconds.", Hints: readOnlyTool, TaskSupport: "optional",
			Input: Object{
				"type": "object",
				"properties": Object{
					"seconds": Object{"type": "integer", "minimum": 0, "maximum": 3600, "default": 0, "examples": []any{0}},
					"label":   Object{"type": "string", "maxLength": 200, "default": "", "examples": []any{"sum"}},
				},
				"additionalProperties": false,
			},
			Run: func(ctx context.Context, call *Call) Outcome {
				seconds := intOr(call.Args["seconds"], 0)
				if a.pauseSteps(ctx, call, seconds*stepsPerSecond); ctx.Err() != nil {
					return errorOutcome("The computation was broken off.")
				}
				label, _ := call.Args["label"].(string)
				return textOutcome(fmt.Sprintf("Computed for %d seconds: %s", seconds, label))
			},
		},
		{
			Name: "failing_job", Description: "Fails after a second.", Input: noArguments(), Hints: readOnlyTool, TaskSupport: "required",
			Run: func(ctx context.Context, call *Call) Outcome {
				a.pauseSteps(ctx, call, stepsPerSecond)
				return errorOutcome("The job has failed.")
			},
		},
		{
			Name: "protocol_error_job", Description: "Ends in an error of the protocol.", Input: noArguments(), Hints: readOnlyTool, TaskSupport: "optional",
			Run: func(context.Context, *Call) Outcome {
				return Outcome{Problem: newError(spec.InternalError, "The job broke down")}
			},
		},
		{
			Name: "confirm_delete", Description: "Asks whether a file shall be deleted, and deletes none.", Input: stringArgument("filename"), Hints: readOnlyTool, TaskSupport: "optional",
			Asks: func(call *Call) []Ask {
				return []Ask{fieldElicitation("confirmation", "Delete "+stringOf(call.Args["filename"])+"?", "confirm", "boolean")}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				if o, ok := call.Answers["confirmation"]["content"].(Object); ok && o["confirm"] == true {
					return textOutcome("Deleted: " + stringOf(call.Args["filename"]))
				}
				return textOutcome("Kept: " + stringOf(call.Args["filename"]))
			},
		},
		{
			Name: "multi_input", Description: "Asks the user for two things at once.", Input: noArguments(), Hints: readOnlyTool, TaskSupport: "optional",
			Asks: func(*Call) []Ask {
				return []Ask{
					fieldElicitation("who", "What is your name?", "name", "string"),
					fieldElicitation("sure", "Are you sure?", "confirm", "boolean"),
				}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("Both answers came, from " + elicitedField(call, "who", "name") + ".")
			},
		},
		{
			Name: "test_tool_with_task", Description: "Asks the user for a name, and then greets in a task.", Input: noArguments(), Hints: readOnlyTool, TaskSupport: "required", AsksFirst: true,
			Asks: func(*Call) []Ask { return []Ask{fieldElicitation("user_name", "What is your name?", "name", "string")} },
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("Hello, " + elicitedField(call, "user_name", "name") + "!")
			},
		},
	}
	for _, t := range list {
		t.In = spec.Stateless
	}
	return list
}
