package official

import (
	"fmt"
	"maps"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// declaresTasks reports whether the server declares the extension.
func declaresTasks(t *check.T) bool {
	return wire.Member(t.Opening().Capabilities.Get("extensions"), tasksExtension).Exists()
}

// requireTasksExtension makes the check not applicable to a server that does not declare
// the extension.
func requireTasksExtension(t *check.T) {
	if !declaresTasks(t) {
		t.NotApplicable("the server does not declare the extension " + tasksExtension)
	}
}

// paramsWithTasks returns the params of a request of a client that declares the extension
// beside its other capabilities.
func paramsWithTasks(t *check.T, params check.Params) check.Params {
	requireTasksExtension(t)
	capabilities := maps.Clone(t.Client().Capabilities())
	if capabilities == nil {
		capabilities = check.Params{}
	}
	capabilities["extensions"] = check.Params{tasksExtension: check.Params{}}
	out := maps.Clone(params)
	out["_meta"] = check.Params{spec.MetaClientCapabilities: capabilities}
	return out
}

// A startedTask is a task that was created by a call of a tool of the contract.
type startedTask struct {
	t       *check.T
	tool    string
	created gjson.Result // the result that created it
}

// callParamsWithTasks returns the params of a call of a listed tool by a client that
// declares the extension.
func callParamsWithTasks(t *check.T, tool string, args check.Params) check.Params {
	requireTasksExtension(t) // a server without it need not list the tool
	return paramsWithTasks(t, callParams(t, tool, args))
}

// callWithTasks returns the result of such a call.
func callWithTasks(t *check.T, tool string, args check.Params) gjson.Result {
	return mustBeResult(t, tool, t.Request("tools/call", callParamsWithTasks(t, tool, args)))
}

// mustStartTask asserts that a call creates a task.
func mustStartTask(t *check.T, tool string, args check.Params) startedTask {
	created := callWithTasks(t, tool, args)
	mustCreateTask(t, tool, created)
	return startedTask{t, tool, created}
}

// mustCreateTask asserts that a result creates a task.
func mustCreateTask(t *check.T, tool string, r gjson.Result) {
	if !createsTask(r) {
		t.Fail("a result of type task with a taskId", contract.ShortJSON(r), "%s created no task", tool)
	}
}

// createsTask reports whether a result creates a task.
func createsTask(r gjson.Result) bool {
	return r.Get("resultType").String() == "task" && r.Get("taskId").Type == gjson.String
}

// isTask reports whether a result has a mark of a task.
func isTask(r gjson.Result) bool {
	return r.Get("resultType").String() == "task" || r.Get("taskId").Exists()
}

// startTask returns a task as a condition of the rule. The check of the tool asserts that
// its call creates one.
func startTask(t *check.T, tool string, args check.Params) startedTask {
	m := t.Request("tools/call", paramsWithTasks(t, check.Params{"name": tool, "arguments": args}))
	if !createsTask(m.Result()) {
		t.NotObserved(fmt.Sprintf("%s did not create a task: %s", tool, m.Summary()),
			"answer a call of "+tool+" with a task")
	}
	return startedTask{t, tool, m.Result()}
}

// startComputing returns a task of slow_compute that takes some seconds.
func startComputing(t *check.T, seconds int) startedTask {
	return startTask(t, "slow_compute", check.Params{"seconds": seconds, "label": "mcpcheck"})
}

// params returns the params of a request about the task.
func (c startedTask) params() check.Params {
	return paramsWithTasks(c.t, check.Params{"taskId": c.created.Get("taskId").Str})
}

// get returns the result of tasks/get.
func (c startedTask) get() gjson.Result { return check.RequireResult(c.t, "tasks/get", c.params()) }

// cancel cancels a task that is no longer needed.
func (c startedTask) cancel() { c.t.Try("tasks/cancel", c.params()) }

// update sends answers to the input requests of the task.
func (c startedTask) update(responses check.Params) wire.Message {
	params := c.params()
	params["inputResponses"] = responses
	return c.t.Request("tasks/update", params)
}

// defaultPoll is the time between two requests for a task that names none, and maxPoll
// the longest: the suite of the contract requests it every 200 ms in any case.
const (
	defaultPoll = 200 * time.Millisecond
	maxPoll     = time.Second
)

// waitUntil requests the task, as often as it allows, until it fulfils a condition. ok is
// false if the task or the time for an answer ends before.
func (c startedTask) waitUntil(condition func(task gjson.Result) bool) (task gjson.Result, ok bool) {
	for end := time.Now().Add(c.t.Timeout()); ; {
		if task = c.get(); condition(task) {
			return task, true
		}
		if taskcalls.IsFinal(task) || time.Now().After(end) {
			return task, false
		}
		interval := defaultPoll
		if ms := task.Get("pollIntervalMs"); ms.Type == gjson.Number && ms.Float() > 0 {
			interval = min(maxPoll, time.Duration(ms.Float()*float64(time.Millisecond)))
		}
		c.t.Await(c.t.Len(), func(wire.Message) bool { return false }, interval)
	}
}

// mustEnd asserts that the task ends with a status, and returns it.
func (c startedTask) mustEnd(status string) gjson.Result {
	task, _ := c.waitUntil(taskcalls.IsFinal)
	if got := task.Get("status").String(); got != status {
		c.t.Fail("a task that is "+status, contract.ShortJSON(task),
			"the task of %s is %s, not %s", c.tool, wire.Clip(got, 40), status)
	}
	return task
}
