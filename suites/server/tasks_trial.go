package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// tasking are the revisions that have tasks (basic/utilities/tasks).
var tasking = spec.Only(spec.V2025_11_25)

var tasksList = listing{"tasks/list", "tasks", "tasks.list", "taskId"}

// A taskTrial is one tool called as a task from its making to its end, and
// beside it without a task where the tool allows that. An answer that did not
// come has no Raw.
type taskTrial struct {
	tool   gjson.Result
	args   string
	direct []timed // answers to the call without a task

	created timed
	early   wire.Entry // tasks/get behind the making
	result  wire.Entry // tasks/result
	late    wire.Entry // tasks/get behind the result
	again   wire.Entry // tasks/result once more

	running []*check.Call // the direct calls
	making  *check.Call
	waiting *check.Call // tasks/result
}

// A timed entry is an answer and how long it took.
type timed struct {
	wire.Entry
	took time.Duration
}

func (tr *taskTrial) name() string { return tr.tool.Get("name").String() }
func (tr *taskTrial) id() string   { return tr.created.Message.Result().Get("task.taskId").String() }

// made tells whether a task came of the call.
func (tr *taskTrial) made() bool {
	return tr.created.Message.Result().Get("task.taskId").Type == gjson.String
}

// ended tells whether the task had come to its end when its result came.
func (tr *taskTrial) ended() bool { return over(tr.late.Message.Result()) }

// over tells whether a task is in a final status.
func over(task gjson.Result) bool {
	switch task.Get("status").String() {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}

// taskTrials is what came of calling tools as tasks.
type taskTrials struct {
	trials    []*taskTrial
	cancelled []cancelTrial
	list      *walk // tasks/list, after all of these; nil where it is not declared
	held      []string
}

// A cancelTrial is a task that was cancelled right after it was made.
type cancelTrial struct {
	tool    string
	before  wire.Entry // tasks/get
	answer  wire.Entry // to tasks/cancel
	behind  wire.Entry // tasks/get
	created wire.Entry
}

// maxTasked bounds the tools that are called as tasks.
const maxTasked = 6

// canBeTask tells whether a tool may be called as a task
// (basic/utilities/tasks#tool-level-negotiation).
func canBeTask(tool gjson.Result) bool {
	support := tool.Get("execution.taskSupport").String()
	return support == "optional" || support == "required"
}

// makesTasks tells whether the server makes tasks of tool calls.
func makesTasks(t *check.T) bool {
	return tasking.Has(t.Rev) && t.Declares("tasks.requests.tools.call")
}

// tasked returns what came of calling each tool as a task that may be called
// so, which is done once.
func tasked(t *check.T) *taskTrials {
	return check.Memo(t, "tasks", func() *taskTrials { return tryTasks(t) })
}

func tryTasks(t *check.T) *taskTrials {
	all := &taskTrials{}
	var reading, writing []*taskTrial
	for _, tool := range knownTools(t) {
		args := arguments(t, tool, 1)
		switch {
		case !makesTasks(t) || !canBeTask(tool):
		case !t.MayCall(tool):
			all.held = append(all.held, tool.Get("name").String())
		case len(args) == 0 || t.Learnt(slow(tool)) || len(reading)+len(writing) == maxTasked:
		case readOnly(tool):
			reading = append(reading, &taskTrial{tool: tool, args: args[0]})
		default:
			writing = append(writing, &taskTrial{tool: tool, args: args[0]})
		}
	}
	if t.Declares("tasks.cancel") {
		for _, tr := range slices.Concat(reading, writing) {
			all.cancel(t, tr)
		}
	}
	try(t, reading...)
	for _, tr := range writing {
		try(t, tr)
	}
	all.trials = append(reading, writing...)
	for _, c := range all.cancelled {
		_, _ = t.TryFrame("tasks/get", taskParams(c.created.Message.Result().Get("task.taskId").String())) // is it still so
	}
	if t.Declares("tasks.list") {
		all.list = walkNow(t, tasksList)
	}
	return all
}

// asTask are the params that make a task of a call. The time asked for is that
// of the longest run of checks.
func asTask(tr *taskTrial, own check.Params) check.Params {
	p := callParams(tr.tool, tr.args)
	task := check.Params{"ttl": 120_000}
	for k, v := range own {
		task[k] = v
	}
	p["task"] = task
	return p
}

func taskParams(id string) check.Params { return check.Params{"taskId": id} }

// cancel makes a task and cancels it at once.
func (all *taskTrials) cancel(t *check.T, tr *taskTrial) {
	created, err := t.TryFrame("tools/call", reporting(t, asTask(tr, nil)))
	if err != nil || created.Message.Result().Get("task.taskId").Type != gjson.String {
		return
	}
	id := created.Message.Result().Get("task.taskId").String()
	c := cancelTrial{tool: tr.name(), created: created}
	c.before, _ = t.TryFrame("tasks/get", taskParams(id))
	c.answer, _ = t.TryFrame("tasks/cancel", taskParams(id))
	c.behind, _ = t.TryFrame("tasks/get", taskParams(id))
	all.cancelled = append(all.cancelled, c)
}

// reporting adds a progress token that no other request has.
func reporting(t *check.T, p check.Params) check.Params {
	p["_meta"] = check.Params{"progressToken": fmt.Sprintf("mcpcheck-task-%s", t.NextID().Raw)}
	return p
}

// try calls tools as tasks, at once: first the tasks, so that no direct call
// keeps them waiting.
func try(t *check.T, trials ...*taskTrial) {
	for _, tr := range trials {
		tr.making, _ = t.TryStart("tools/call", reporting(t, asTask(tr, nil)))
	}
	for _, tr := range trials {
		for range 2 {
			if tr.tool.Get("execution.taskSupport").String() == "optional" {
				if running, err := t.TryStart("tools/call", callParams(tr.tool, tr.args)); err == nil {
					tr.running = append(tr.running, running)
				}
			}
		}
	}
	for _, tr := range trials {
		if tr.created = answered(t, tr.making, t.Timeout()/2); tr.made() {
			tr.early, _ = t.TryFrame("tasks/get", taskParams(tr.id()))
			tr.waiting, _ = t.TryStart("tasks/result", taskParams(tr.id()))
		}
	}
	for _, tr := range trials {
		tr.end(t)
	}
}

// end waits for what was begun, first for the result, behind which the task is
// looked at.
func (tr *taskTrial) end(t *check.T) {
	if tr.waiting != nil {
		tr.finish(t)
	}
	for _, running := range tr.running {
		if d := answered(t, running, t.Timeout()/2); d.Raw != nil {
			tr.direct = append(tr.direct, d)
		} else {
			t.Learn(slow(tr.tool))
			t.Cancel(running)
		}
	}
}

// finish waits for the result of the task. A task that takes longer is
// cancelled, and its tool not called again.
func (tr *taskTrial) finish(t *check.T) {
	if tr.result = answered(t, tr.waiting, t.Timeout()/2).Entry; tr.result.Raw == nil {
		t.Learn(slow(tr.tool))
		t.Cancel(tr.waiting)
		if t.Declares("tasks.cancel") {
			_, _ = t.TryFrame("tasks/cancel", taskParams(tr.id()))
		}
		return
	}
	if tr.late, _ = t.TryFrame("tasks/get", taskParams(tr.id())); tr.ended() {
		if again, err := t.TryStart("tasks/result", taskParams(tr.id())); err == nil {
			tr.again = answered(t, again, t.Timeout()/2).Entry
		}
	}
}

// answered waits for an answer for a while; none has no Raw.
func answered(t *check.T, call *check.Call, within time.Duration) timed {
	if call == nil {
		return timed{}
	}
	e, err := t.TryAnswer(call, within)
	if err != nil {
		return timed{}
	}
	return timed{e, e.At - t.Frames(call.Sent)[0].At}
}

// needTasks returns the trials that came to a task, and ends the body if there
// are none.
func needTasks(t *check.T) []*taskTrial {
	all := tasked(t)
	var out []*taskTrial
	for _, tr := range all.trials {
		if tr.made() {
			out = append(out, tr)
		}
	}
	if len(out) == 0 {
		t.NotObserved("no tool was called as a task", allowHint(all.held))
	}
	return out
}
