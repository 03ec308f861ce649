package server

import (
	"context"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// stepsPerSecond is the number of steps in a second of the contract.
const stepsPerSecond = 20

// taskTools returns the tools of the contract that show the tasks extension. Those
// that do not require it serve clients without it at once.
func (o *officialFeatures) taskTools() []*Tool {
	list := []*Tool{
		{
			Name: "greet", Description: "Greets, at once.", InputSchema: stringArgument("name"), Annotations: readOnly,
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("Hello, " + stringOf(call.Args["name"]) + "!")
			},
		},
		o.slowComputeTool(),
		{
			Name: "failing_job", Description: "Fails after a second.",
			InputSchema: noArguments(), Annotations: readOnly, TaskSupport: "required",
			Run: func(ctx context.Context, call *Call) Outcome {
				o.waitSteps(ctx, call, stepsPerSecond)
				return errorOutcome("The job has failed.")
			},
		},
		{
			Name: "protocol_error_job", Description: "Ends in an error of the protocol.",
			InputSchema: noArguments(), Annotations: readOnly, TaskSupport: "optional",
			Run: func(context.Context, *Call) Outcome {
				return Outcome{Problem: newError(spec.InternalError, "The job broke down")}
			},
		},
		confirmDeleteTool(),
		{
			Name: "multi_input", Description: "Asks the user for two things at once.",
			InputSchema: noArguments(), Annotations: readOnly, TaskSupport: "optional",
			InputRequests: fixedInput(nameElicitation("who"),
				fieldElicitation("sure", "Are you sure?", "confirm", "boolean")),
			Run: func(_ context.Context, call *Call) Outcome {
				return textOutcome("Both answers came, from " + elicitedField(call, "who", "name") + ".")
			},
		},
		{
			Name: "test_tool_with_task", Description: "Asks the user for a name, and then greets in a task.",
			InputSchema: noArguments(), Annotations: readOnly, TaskSupport: "required", InputBeforeTask: true,
			InputRequests: fixedInput(nameElicitation("user_name")),
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

func (o *officialFeatures) slowComputeTool() *Tool {
	return &Tool{
		Name: "slow_compute", Description: "Computes for as many seconds.", Annotations: readOnly,
		TaskSupport: "optional",
		InputSchema: closedSchema(Object{
			"seconds": Object{"type": "integer", "minimum": 0, "maximum": 3600, "default": 0, "examples": []any{0}},
			"label":   Object{"type": "string", "maxLength": 200, "default": "", "examples": []any{"sum"}},
		}),
		Run: func(ctx context.Context, call *Call) Outcome {
			seconds := intOr(call.Args["seconds"], 0)
			if o.waitSteps(ctx, call, seconds*stepsPerSecond); ctx.Err() != nil {
				return errorOutcome("The computation was broken off.")
			}
			label, _ := call.Args["label"].(string)
			return textOutcome(fmt.Sprintf("Computed for %d seconds: %s", seconds, label))
		},
	}
}

func confirmDeleteTool() *Tool {
	return &Tool{
		Name: "confirm_delete", Description: "Asks whether a file shall be deleted, and deletes none.",
		InputSchema: stringArgument("filename"), Annotations: readOnly, TaskSupport: "optional",
		InputRequests: func(call *Call) []InputRequest {
			message := "Delete " + stringOf(call.Args["filename"]) + "?"
			return []InputRequest{fieldElicitation("confirmation", message, "confirm", "boolean")}
		},
		Run: func(_ context.Context, call *Call) Outcome {
			if o, ok := call.Answers["confirmation"]["content"].(Object); ok && o["confirm"] == true {
				return textOutcome("Deleted: " + stringOf(call.Args["filename"]))
			}
			return textOutcome("Kept: " + stringOf(call.Args["filename"]))
		},
	}
}
