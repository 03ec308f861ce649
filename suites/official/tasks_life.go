package official

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// officialTaskLives are what becomes of a task: its making, its states, its end.
func officialTaskLives() []check.Check {
	const lifecycle, dispatch, fields = "tasks-lifecycle", "tasks-dispatch-and-envelope", "tasks-wire-fields"
	return []check.Check{
		{
			ID:   "official.tasks.created",
			Says: "slow_compute becomes a task, whose members stand in the result itself",
			Spec: lifecycle,
			Probe: func(t *check.T) {
				c := becomesTask(t, "slow_compute", check.Params{"seconds": 60, "label": "mcpcheck"})
				defer c.drop()
				mustLack(t, "the result that makes a task", c.made, "task", "result", "error", "inputRequests")
				for _, member := range []string{"status", "createdAt", "lastUpdatedAt"} {
					contract.MustHaveText(t, "the "+member+" of the task", c.made.Get(member))
				}
				for _, member := range []string{"createdAt", "lastUpdatedAt"} {
					if at := c.made.Get(member).Str; !isTimestamp(at) {
						t.Fail("a time in ISO 8601", contract.AsJSON(wire.Clip(at, 60)), "the %s of the task is %s", member, contract.AsJSON(wire.Clip(at, 60)))
					}
				}
			},
		},
		{
			ID:   "official.tasks.immediate",
			Says: "slow_compute for no time becomes a task, or is answered with its content",
			Spec: dispatch,
			Probe: func(t *check.T) {
				r := extendedCall(t, "slow_compute", check.Params{"seconds": 0, "label": "mcpcheck"})
				if r.Get("resultType").String() == "task" {
					contract.MustHaveText(t, "the taskId of slow_compute for no time", r.Get("taskId"))
					return
				}
				if !r.Get("content").IsArray() {
					t.Fail("a task, or a result with content", contract.ShortJSON(r), "slow_compute for no time was answered with %s", contract.ShortJSON(r))
				}
			},
		},
		{
			ID:   "official.tasks.working",
			Says: "tasks/get knows the task of slow_compute as soon as it was made, as working",
			Spec: lifecycle,
			Probe: func(t *check.T) {
				c := computing(t, 60)
				defer c.drop()
				task := contractResult(t, "tasks/get", t.Request("tasks/get", c.params()))
				contract.MustDeclare(t, "the taskId in the answer to tasks/get", task.Get("taskId"), c.made.Get("taskId").Str)
				contract.MustDeclare(t, "the status of a task that was just made", task.Get("status"), "working")
			},
		},
		{
			ID:   "official.tasks.completed",
			Says: "the task of slow_compute is completed and has its result, as often as it is looked at",
			Spec: lifecycle,
			Probe: func(t *check.T) {
				c := computing(t, 1)
				for range 2 {
					task := c.ends("completed")
					if len(task.Get("result.content").Array()) == 0 {
						t.Fail("a result with content", contract.ShortJSON(task), "the completed task of %s has no result with content", c.tool)
					}
				}
			},
		},
		{
			ID:   "official.tasks.tool-error",
			Says: "failing_job becomes a task that is completed, with a result that has isError",
			Spec: lifecycle,
			Probe: func(t *check.T) {
				task := becomesTask(t, "failing_job", check.Params{}).ends("completed")
				if task.Get("result.isError").Type != gjson.True {
					t.Fail("a result with isError", contract.ShortJSON(task), "the result of failing_job is %s, without isError", contract.ShortJSON(task.Get("result")))
				}
			},
		},
		{
			ID:   "official.tasks.protocol-error",
			Says: "protocol_error_job becomes a task that is failed, with the error and without a result",
			Spec: lifecycle,
			Probe: func(t *check.T) {
				task := becomesTask(t, "protocol_error_job", check.Params{}).ends("failed")
				failure := task.Get("error")
				if failure.Get("code").Type != gjson.Number || failure.Get("message").Type != gjson.String {
					t.Fail("an error with code and message", contract.ShortJSON(task), "the error of the failed task is %s", contract.ShortJSON(failure))
				}
				mustLack(t, "the failed task", task, "result")
			},
		},
		{
			ID:    "official.tasks.cancel.acknowledged",
			Says:  "tasks/cancel is acknowledged with an empty result, and the task of slow_compute ends",
			Spec:  lifecycle,
			Probe: func(t *check.T) { contractTaskCancelled(t, nil) },
		},
		{
			ID:   "official.tasks.cancel.ended",
			Says: "tasks/cancel of a task that has ended is acknowledged too",
			Spec: lifecycle,
			Probe: func(t *check.T) {
				c := computing(t, 1)
				if _, ended := c.until(taskcalls.IsFinal); !ended {
					t.NotObserved("the task of slow_compute did not end", "")
				}
				contractResult(t, "tasks/cancel of a task that has ended", t.Request("tasks/cancel", c.params()))
			},
		},
		{
			ID:   "official.tasks.fields",
			Says: "a task has ttlMs and pollIntervalMs in whole milliseconds, and not the ttl and pollInterval of 2025-11-25",
			Spec: fields,
			Probe: func(t *check.T) {
				c := computing(t, 60)
				defer c.drop()
				for _, task := range []gjson.Result{c.made, c.get()} {
					mustLack(t, "the task", task, "ttl", "pollInterval")
					if ttl := task.Get("ttlMs"); ttl.Raw != "null" && !wholePositive(ttl) {
						t.Fail("ttlMs, a whole number above 0 or null", contract.ShortJSON(task), "ttlMs of the task is %s", contract.ShortJSON(ttl))
					}
					if poll := task.Get("pollIntervalMs"); poll.Exists() && !wholePositive(poll) {
						t.Fail("pollIntervalMs, a whole number above 0", contract.ShortJSON(task), "pollIntervalMs of the task is %s", contract.ShortJSON(poll))
					}
				}
			},
		},
		{
			ID:   "official.tasks.related",
			Says: "the result of a task does not name the task in its _meta",
			Spec: fields,
			Probe: func(t *check.T) {
				task, _ := computing(t, 1).until(taskcalls.IsFinal)
				if !task.Get("result").IsObject() {
					t.NotObserved("the task of slow_compute has no result", "")
				}
				mustLack(t, "the _meta of the result of a task", task.Get("result._meta"), "io.modelcontextprotocol/related-task")
			},
		},
		{
			ID:   "official.tasks.request-state",
			Says: "a task has no requestState",
			Spec: "tasks-request-state-removal",
			Probe: func(t *check.T) {
				c := computing(t, 60)
				defer c.drop()
				mustLack(t, "the result that makes a task", c.made, "requestState")
				mustLack(t, "the result of tasks/get", c.get(), "requestState")
			},
		},
		{
			ID:   "official.tasks.result-type",
			Says: "the results of tasks/get, tasks/update and tasks/cancel are complete",
			Spec: dispatch,
			Probe: func(t *check.T) {
				c := computing(t, 60)
				complete := func(method string, r gjson.Result) {
					if kind := r.Get("resultType"); kind.Str != "complete" {
						t.Fail(`resultType "complete"`, contract.ShortJSON(kind), "the result of %s has the resultType %s", method, contract.ShortJSON(kind))
					}
				}
				complete("tasks/get", c.get())
				params := c.params()
				params["inputResponses"] = check.Params{"mcpcheck-no-key": check.Params{"action": "accept"}}
				complete("tasks/update", check.RequireResult(t, "tasks/update", params))
				complete("tasks/cancel", check.RequireResult(t, "tasks/cancel", c.params()))
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

// mustBeAcknowledged asserts that an answer is a result that tells nothing of
// the task.
func mustBeAcknowledged(t *check.T, method string, m wire.Message) {
	mustLack(t, "the result of "+method, contractResult(t, method, m), "taskId", "status", "result", "error", "inputRequests")
}

// isTimestamp tells whether a string begins as a date and time in ISO 8601.
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

// contractTaskCancelled: that the task ends as cancelled is documented; whether
// it does is for the server to say (SEP-2663, task cancellation).
func contractTaskCancelled(t *check.T, s *scribe) {
	c := computing(t, 60)
	mustBeAcknowledged(t, "tasks/cancel", t.Request("tasks/cancel", c.params()))
	task, ended := c.until(taskcalls.IsFinal)
	if !ended {
		t.Fail("a task that has ended", contract.ShortJSON(task), "the task of %s was cancelled and is still %s", c.tool, task.Get("status").String())
	}
	s.text(t, "the status of slow_compute after tasks/cancel", task.Get("status"), "cancelled")
}

func wholePositive(v gjson.Result) bool {
	return v.Type == gjson.Number && v.Num > 0 && v.Num == float64(int64(v.Num))
}
