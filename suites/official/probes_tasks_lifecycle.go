package official

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// taskLifecycleProbes returns the probes of the creation, the states and the end of a
// task.
func taskLifecycleProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.tasks.created",
			Says: "slow_compute becomes a task, and the members of the task are members of the result",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := mustStartTask(t, "slow_compute", check.Params{"seconds": 60, "label": "mcpcheck"})
				defer c.cancel()
				mustLack(t, "the result that creates a task", c.created, "task", "result", "error", "inputRequests")
				for _, member := range []string{"status", "createdAt", "lastUpdatedAt"} {
					contract.MustBeNonEmpty(t, "the "+member+" of the task", c.created.Get(member))
				}
				for _, member := range []string{"createdAt", "lastUpdatedAt"} {
					if at := c.created.Get(member).Str; !isTimestamp(at) {
						got := contract.Quote(wire.Clip(at, 60))
						t.Fail("a time in ISO 8601", got, "the %s of the task is %s", member, got)
					}
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.immediate",
			Says: "slow_compute with 0 seconds becomes a task or returns its content",
			Spec: tasksDispatch,
			Idle: noCall,
			Probe: func(t *check.T) {
				r := callWithTasks(t, "slow_compute", check.Params{"seconds": 0, "label": "mcpcheck"})
				if r.Get("resultType").String() == "task" {
					contract.MustBeNonEmpty(t, "the taskId of slow_compute with 0 seconds", r.Get("taskId"))
				} else if !r.Get("content").IsArray() {
					got := contract.ShortJSON(r)
					t.Fail("a task, or a result with content", got, "slow_compute with 0 seconds was answered with %s",
						got)
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.working",
			Says: "tasks/get returns the task of slow_compute with status working right after its creation",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 60)
				defer c.cancel()
				task := mustBeResult(t, "tasks/get", t.Request("tasks/get", c.params()))
				contract.MustBeString(t, "the taskId in the answer to tasks/get", task.Get("taskId"),
					c.created.Get("taskId").Str)
				contract.MustBeString(t, "the status of a task that was just created", task.Get("status"), "working")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.completed",
			Says: "the task of slow_compute completes, and each tasks/get then returns its result",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 1)
				for range 2 {
					task := c.mustEnd("completed")
					if len(task.Get("result.content").Array()) == 0 {
						t.Fail("a result with content", contract.ShortJSON(task),
							"the completed task of %s has no result with content", c.tool)
					}
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.tool-error",
			Says: "failing_job becomes a task that completes with a result with isError",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				task := mustStartTask(t, "failing_job", check.Params{}).mustEnd("completed")
				if task.Get("result.isError").Type != gjson.True {
					t.Fail("a result with isError", contract.ShortJSON(task),
						"the result of failing_job is %s, without isError", contract.ShortJSON(task.Get("result")))
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.protocol-error",
			Says: "protocol_error_job becomes a task that fails with an error and without a result",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				task := mustStartTask(t, "protocol_error_job", check.Params{}).mustEnd("failed")
				failure := task.Get("error")
				if failure.Get("code").Type != gjson.Number || failure.Get("message").Type != gjson.String {
					t.Fail("an error with code and message", contract.ShortJSON(task),
						"the error of the failed task is %s", contract.ShortJSON(failure))
				}
				mustLack(t, "the failed task", task, "result")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.cancel.acknowledged",
			Says: "tasks/cancel returns an empty result, and the task of slow_compute ends",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				verifyCancelledTask(t, nil)
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.cancel.ended",
			Says: "tasks/cancel of a task that has ended returns a result",
			Spec: tasksLifecycle,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 1)
				if _, ended := c.waitUntil(taskcalls.IsFinal); !ended {
					t.NotObserved("the task of slow_compute did not end", "")
				}
				mustBeResult(t, "tasks/cancel of a task that has ended", t.Request("tasks/cancel", c.params()))
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.fields",
			Says: "a task has ttlMs and pollIntervalMs as integers, and not the ttl and pollInterval of 2025-11-25",
			Spec: tasksFields,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 60)
				defer c.cancel()
				for _, task := range []gjson.Result{c.created, c.get()} {
					mustLack(t, "the task", task, "ttl", "pollInterval")
					if ttl := task.Get("ttlMs"); ttl.Raw != "null" && !isWholePositive(ttl) {
						t.Fail("ttlMs, a whole number above 0 or null", contract.ShortJSON(task),
							"ttlMs of the task is %s", contract.ShortJSON(ttl))
					}
					if poll := task.Get("pollIntervalMs"); poll.Exists() && !isWholePositive(poll) {
						t.Fail("pollIntervalMs, a whole number above 0", contract.ShortJSON(task),
							"pollIntervalMs of the task is %s", contract.ShortJSON(poll))
					}
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.related",
			Says: "the result of a task does not name the task in its _meta",
			Spec: tasksFields,
			Idle: noTask,
			Probe: func(t *check.T) {
				task, _ := startComputing(t, 1).waitUntil(taskcalls.IsFinal)
				if !task.Get("result").IsObject() {
					t.NotObserved("the task of slow_compute has no result", "")
				}
				mustLack(t, "the _meta of the result of a task", task.Get("result._meta"),
					"io.modelcontextprotocol/related-task")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.request-state",
			Says: "a task has no requestState",
			Spec: "tasks-request-state-removal",
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 60)
				defer c.cancel()
				mustLack(t, "the result that creates a task", c.created, "requestState")
				mustLack(t, "the result of tasks/get", c.get(), "requestState")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.result-type",
			Says: "the results of tasks/get, tasks/update and tasks/cancel have the resultType complete",
			Spec: tasksDispatch,
			Idle: noTask,
			Probe: func(t *check.T) {
				c := startComputing(t, 60)
				mustBeComplete := func(method string, r gjson.Result) {
					contract.MustBeString(t, "resultType in the result of "+method, r.Get("resultType"), "complete")
				}
				mustBeComplete("tasks/get", c.get())
				params := c.params()
				params["inputResponses"] = check.Params{"mcpcheck-no-key": check.Params{"action": "accept"}}
				mustBeComplete("tasks/update", check.RequireResult(t, "tasks/update", params))
				mustBeComplete("tasks/cancel", check.RequireResult(t, "tasks/cancel", c.params()))
				t.Saw()
			},
		},
	}
}

// mustLack asserts that an object has none of some members.
func mustLack(t *check.T, what string, o gjson.Result, members ...string) {
	for _, member := range members {
		if v := wire.Member(o, member); v.Exists() {
			t.Fail(what+" without "+member, contract.ShortJSON(o), "%s has the member %s", what, member)
		}
	}
}

// mustBeAcknowledged asserts that an answer is a result without members of the task.
func mustBeAcknowledged(t *check.T, method string, m wire.Message) {
	r := mustBeResult(t, method, m)
	mustLack(t, "the result of "+method, r, "taskId", "status", "result", "error", "inputRequests")
}

// isTimestamp reports whether a string begins as a date and time in ISO 8601.
func isTimestamp(s string) bool {
	const like = "0000-00-00T00:00:00"
	if len(s) <= len(like) {
		return false
	}
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, s[:len(like)])
	return digits == like
}

// verifyCancelledTask asserts that a cancelled task ends. The contract documents that it
// ends as cancelled, but the server may choose (SEP-2663, task cancellation).
func verifyCancelledTask(t *check.T, diff *differences) {
	c := startComputing(t, 60)
	mustBeAcknowledged(t, "tasks/cancel", t.Request("tasks/cancel", c.params()))
	task, ended := c.waitUntil(taskcalls.IsFinal)
	if !ended {
		t.Fail("a task that has ended", contract.ShortJSON(task),
			"the task of %s was cancelled and is still %s", c.tool, task.Get("status").String())
	}
	diff.compareText(t, "the status of slow_compute after tasks/cancel", task.Get("status"), "cancelled")
}

// isWholePositive reports whether a value is a whole number above 0.
func isWholePositive(v gjson.Result) bool {
	return v.Type == gjson.Number && v.Num > 0 && v.Num == float64(int64(v.Num))
}
