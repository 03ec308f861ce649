package tasks

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// probesOfResults returns the probes of #result-retrieval and #task-execution-errors.
func probesOfResults() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.result.blocks",
			Says:  "the server answers tasks/result when the task has ended, not before",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-blocks"},
			Idle:  noSlowTask,
			Hint:  offerSlow,
			// tasks/get right after the result shows whether the task has ended.
			Probe: func(t *check.T) {
				for _, task := range taskcalls.RequireTasks(t) {
					if task.Result.Raw == nil || task.StatusAfter.Message.Kind != wire.Result {
						continue
					}
					if !task.HasEnded() {
						t.Mark(task.Result)
						t.Fail("an answer when the task has ended", task.Result.Message.Summary(),
							"tasks/result of the task of tool %q was answered while the task was %s",
							task.Name(), task.StatusAfter.Message.Result().Get("status"))
					}
					if wasWorking(task) {
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.result.kept",
			Says:  "the server answers tasks/result of a task that has ended with the same result each time",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-terminal-final"},
			Idle:  "no result of a task that had ended was requested twice",
			Hint:  keepTask,
			// A task may be deleted after its ttl (#ttl-and-resource-management).
			Probe: func(t *check.T) {
				for _, task := range taskcalls.RequireTasks(t) {
					if !task.HasEnded() || task.SecondResult.Raw == nil || isExpired(task) {
						continue
					}
					if a, b := task.Result.Message, task.SecondResult.Message; !taskcalls.SameOutcome(a, b) {
						t.Mark(task.SecondResult)
						t.Fail(a.Summary(), b.Summary(),
							"tasks/result of the task of tool %q was answered in another way the second time",
							task.Name())
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "tasks.result.identical",
			Says:  "the result of a task is the result of the same call without a task",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-identical"},
			Idle:  "no tool returned the same result twice without a task and a result as a task",
			Hint:  "offer a read-only tool whose taskSupport is optional" + check.OrAllow,
			Probe: func(t *check.T) {
				for _, task := range taskcalls.RequireTasks(t) {
					switch {
					case hasOtherResult(task) && task.IsRepeatable(t, hasOtherResult):
						t.Mark(task.Result)
						t.Fail(task.Direct[0].Message.Summary(), task.Result.Message.Summary(),
							"tool %q returns the same result twice without a task, and another one as a task",
							task.Name())
					case !hasOtherResult(task) && task.HasEnded() && task.DirectAnswersAgree(wire.Result) &&
						task.Result.Message.Kind == wire.Result:
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.result.response",
			Says:  "the server answers tasks/result of a call that ended in a result with it, even if the tool failed",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-success-response"},
			Idle:  "no call as a task ended in a result",
			Hint:  offerTask,
			Probe: func(t *check.T) {
				for _, task := range taskcalls.RequireTasks(t) {
					switch {
					case lacksResult(task) && task.IsRepeatable(t, lacksResult):
						t.Mark(task.Result)
						t.Fail("a result", task.Result.Message.Summary(),
							"the call of tool %q ends in a result, and tasks/result was answered with %s",
							task.Name(), task.Result.Message.Summary())
					case task.HasEnded() && task.HasResult() && task.Result.Message.Kind == wire.Result:
						t.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.result.error",
			Says:  "the server answers tasks/result of a call that ended in a protocol error with that error",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-result-same-error"},
			Idle:  "no call of a tool that can be a task ended in a protocol error",
			Hint: "offer a read-only tool that can be called as a task and answers with a protocol error" +
				check.OrAllow,
			Probe: func(t *check.T) {
				for _, task := range taskcalls.RequireTasks(t) {
					switch {
					case hasOtherError(task) && task.IsRepeatable(t, hasOtherError):
						direct, result := task.Direct[0].Message.Summary(), task.Result.Message.Summary()
						t.Mark(task.Result)
						t.Fail(direct, result, "tool %q without a task was answered with %s, and tasks/result with %s",
							task.Name(), direct, result)
					case !hasOtherError(task) && task.HasEnded() && task.DirectAnswersAgree(wire.Error) &&
						task.Result.Message.Kind == wire.Error:
						t.Saw()
					}
				}
			},
		},
	}
}

// wasWorking reports whether tasks/get right after the creation of a task showed that
// it had not ended.
func wasWorking(task *taskcalls.Task) bool {
	early := task.StatusBefore.Message
	return early.Kind == wire.Result && !taskcalls.IsFinal(early.Result())
}

// isExpired reports whether the ttl of a task was over when its result was requested
// again.
func isExpired(task *taskcalls.Task) bool {
	ttl := task.StatusAfter.Message.Result().Get("ttl")
	age := task.SecondResult.At - task.Created.At
	return ttl.Type == gjson.Number && age >= time.Duration(ttl.Float())*time.Millisecond
}

// hasOtherResult reports whether tasks/result has another result than the calls without
// a task, which returned the same result twice.
func hasOtherResult(task *taskcalls.Task) bool {
	return task.HasEnded() && task.DirectAnswersAgree(wire.Result) && task.Result.Message.Kind == wire.Result &&
		!taskcalls.SameOutcome(task.Direct[0].Message, task.Result.Message)
}

// lacksResult reports whether tasks/result was answered with an error though the call
// ended in a result: the task is completed, or the call returns a result without a
// task.
func lacksResult(task *taskcalls.Task) bool {
	return task.HasEnded() && task.HasResult() && task.Result.Message.Kind == wire.Error
}

// hasOtherError reports whether tasks/result was answered in another way than the calls
// without a task, which were answered with the same error twice.
func hasOtherError(task *taskcalls.Task) bool {
	return task.HasEnded() && task.DirectAnswersAgree(wire.Error) && task.Result.Raw != nil &&
		!taskcalls.SameOutcome(task.Direct[0].Message, task.Result.Message)
}
