package offer

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// SlowTool returns the trait of a tool that takes long.
func SlowTool(tool gjson.Result) check.Trait {
	return "slow tool " + check.Trait(tool.Get("name").String())
}

// Tools returns the tools that the server lists and that have a name.
func Tools(t *check.T) []gjson.Result {
	if !t.Declares("tools") {
		return nil
	}
	return slices.DeleteFunc(WalkOnce(t, ToolsList).Items(), func(tool gjson.Result) bool {
		return tool.Get("name").Type != gjson.String
	})
}

// IsReadOnly reports whether a tool declares that it changes nothing.
func IsReadOnly(tool gjson.Result) bool { return tool.Get("annotations.readOnlyHint").Bool() }

// RequiresTask reports whether a tool can only be called as a task, which counts only
// if the server supports tasks for tool calls
// (basic/utilities/tasks#tool-level-negotiation, in 2025-11-25).
func RequiresTask(t *check.T, tool gjson.Result) bool {
	return SupportsTaskCalls(t) && tool.Get("execution.taskSupport").String() == "required"
}

// TaskRevisions are the revisions that have tasks (basic/utilities/tasks).
var TaskRevisions = spec.Only(spec.V2025_11_25)

// SupportsTask reports whether a tool may be called as a task
// (basic/utilities/tasks#tool-level-negotiation).
func SupportsTask(tool gjson.Result) bool {
	support := tool.Get("execution.taskSupport").String()
	return support == "optional" || support == "required"
}

// SupportsTaskCalls reports whether the server supports tasks for tool calls.
func SupportsTaskCalls(t *check.T) bool {
	return TaskRevisions.Has(t.Rev) && t.Declares("tasks.requests.tools.call")
}
