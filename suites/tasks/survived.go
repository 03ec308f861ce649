package tasks

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// survivalJudges returns the checks that report a server that ends on valid
// requests of a method, whatever check sends them.
func survivalJudges() []check.Check {
	return []check.Check{
		{
			ID: "tasks.get.survived",
			Says: "the server answers tasks/get with the id of a task and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Between(spec.V2025_11_25, spec.V2025_11_25),
			Needs:       "tasks",
			Spec:        "basic/utilities/tasks#getting-tasks",
			ChargedWith: "tasks/get",
			Idle:        "no tasks/get had a result",
			Hint:        offerTask,
			Judge:       func(j *check.J) { transcript.SawResults(j, "tasks/get") },
		},
		{
			ID: "tasks.result.survived",
			Says: "the server answers tasks/result with the id of a task and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Between(spec.V2025_11_25, spec.V2025_11_25),
			Needs:       "tasks",
			Spec:        "basic/utilities/tasks#result-retrieval",
			ChargedWith: "tasks/result",
			Idle:        "no tasks/result had a result",
			Hint:        offerTask,
			Judge:       func(j *check.J) { transcript.SawResults(j, "tasks/result") },
		},
		{
			ID: "tasks.list.survived",
			Says: "the server answers tasks/list and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Between(spec.V2025_11_25, spec.V2025_11_25),
			Needs:       "tasks.list",
			Spec:        "basic/utilities/tasks#task-listing",
			ChargedWith: "tasks/list",
			Idle:        "no tasks/list had a result",
			Hint:        "answer tasks/list with a result",
			Judge:       func(j *check.J) { transcript.SawResults(j, "tasks/list") },
		},
		{
			ID: "tasks.cancel.survived",
			Says: "the server answers tasks/cancel with the id of a task and goes on; " +
				"otherwise its clients lose it",
			Level:       spec.Robust,
			In:          spec.Between(spec.V2025_11_25, spec.V2025_11_25),
			Needs:       "tasks.cancel",
			Spec:        "basic/utilities/tasks#task-cancellation",
			ChargedWith: "tasks/cancel",
			Idle:        "no tasks/cancel had a result",
			Hint:        "answer tasks/cancel of a running task with a result",
			Judge:       func(j *check.J) { transcript.SawResults(j, "tasks/cancel") },
		},
	}
}
