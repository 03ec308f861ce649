package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// second is how many paces a second of the contract has.
const second = 20

// taskTools are the tools of the contract that show the tasks extension. But
// for those that need it they serve clients without it at once.
func (a *annex) taskTools() []*Tool {
	list := []*Tool{
		{
			Name: "greet", Description: "Greets, at once.", Input: word("name"), Hints: looks,
			Run: func(_ context.Context, call *Call) Outcome { return said("Hello, " + text(call.Args["name"]) + "!") },
		},
		{
			Name: "slow_compute", Description: "Computes for as many seconds.", Hints: looks, TaskSupport: "optional",
			Input: Object{
				"type": "object",
				"properties": Object{
					"seconds": Object{"type": "integer", "minimum": 0, "maximum": 3600, "default": 0, "examples": []any{0}},
					"label":   Object{"type": "string", "maxLength": 200, "default": "", "examples": []any{"sum"}},
				},
				"additionalProperties": false,
			},
			Run: func(ctx context.Context, call *Call) Outcome {
				seconds := integer(call.Args["seconds"], 0)
				if a.work(ctx, call, seconds*second); ctx.Err() != nil {
					return failed("The computation was broken off.")
				}
				label, _ := call.Args["label"].(string)
				return said(fmt.Sprintf("Computed for %d seconds: %s", seconds, label))
			},
		},
		{
			Name: "failing_job", Description: "Fails after a second.", Input: nothing(), Hints: looks, TaskSupport: "required",
			Run: func(ctx context.Context, call *Call) Outcome {
				a.work(ctx, call, second)
				return failed("The job has failed.")
			},
		},
		{
			Name: "protocol_error_job", Description: "Ends in an error of the protocol.", Input: nothing(), Hints: looks, TaskSupport: "optional",
			Run: func(context.Context, *Call) Outcome {
				return Outcome{Problem: errorf(spec.InternalError, "The job broke down")}
			},
		},
		{
			Name: "confirm_delete", Description: "Asks whether a file shall be deleted, and deletes none.", Input: word("filename"), Hints: looks, TaskSupport: "optional",
			Asks: func(call *Call) []Ask {
				return []Ask{ask("confirmation", "Delete "+text(call.Args["filename"])+"?", "confirm", "boolean")}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				if o, ok := call.Answers["confirmation"]["content"].(Object); ok && o["confirm"] == true {
					return said("Deleted: " + text(call.Args["filename"]))
				}
				return said("Kept: " + text(call.Args["filename"]))
			},
		},
		{
			Name: "multi_input", Description: "Asks the user for two things at once.", Input: nothing(), Hints: looks, TaskSupport: "optional",
			Asks: func(*Call) []Ask {
				return []Ask{
					ask("who", "What is your name?", "name", "string"),
					ask("sure", "Are you sure?", "confirm", "boolean"),
				}
			},
			Run: func(_ context.Context, call *Call) Outcome {
				return said("Both answers came, from " + filled(call, "who", "name") + ".")
			},
		},
		{
			Name: "test_tool_with_task", Description: "Asks the user for a name, and then greets in a task.", Input: nothing(), Hints: looks, TaskSupport: "required", AsksFirst: true,
			Asks: func(*Call) []Ask { return []Ask{ask("user_name", "What is your name?", "name", "string")} },
			Run: func(_ context.Context, call *Call) Outcome {
				return said("Hello, " + filled(call, "user_name", "name") + "!")
			},
		},
	}
	for _, t := range list {
		t.In = spec.Stateless
	}
	return list
}
