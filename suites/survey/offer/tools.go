package offer

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// SlowTool is what is learnt of a tool that takes long.
func SlowTool(tool gjson.Result) check.Trait {
	return "slow tool " + check.Trait(tool.Get("name").String())
}

// Tools returns the tools that the server lists, each an object with a
// name.
func Tools(t *check.T) []gjson.Result {
	if !t.Declares("tools") {
		return nil
	}
	return slices.DeleteFunc(Walked(t, ToolsList).Items(), func(tool gjson.Result) bool {
		return tool.Get("name").Type != gjson.String
	})
}

// ReadOnly tells whether a tool says that it changes nothing.
func ReadOnly(tool gjson.Result) bool { return tool.Get("annotations.readOnlyHint").Bool() }

// OnlyAsTask tells whether a tool can only be called as a task, which is said
// only where the server makes tasks of calls
// (basic/utilities/tasks#tool-level-negotiation, in 2025-11-25).
func OnlyAsTask(t *check.T, tool gjson.Result) bool {
	return MakesTasks(t) && tool.Get("execution.taskSupport").String() == "required"
}

// TaskRevisions are the revisions that have tasks (basic/utilities/tasks).
var TaskRevisions = spec.Only(spec.V2025_11_25)

// CanBeTask tells whether a tool may be called as a task
// (basic/utilities/tasks#tool-level-negotiation).
func CanBeTask(tool gjson.Result) bool {
	support := tool.Get("execution.taskSupport").String()
	return support == "optional" || support == "required"
}

// MakesTasks tells whether the server makes tasks of tool calls.
func MakesTasks(t *check.T) bool {
	return TaskRevisions.Has(t.Rev) && t.Declares("tasks.requests.tools.call")
}
