package taskcalls

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// Name returns the name of the tool.
func (tr *Task) Name() string { return tr.Tool.Get("name").String() }

// ID returns the id of the task.
func (tr *Task) ID() string { return tr.Created.Message.Result().Get("task.taskId").String() }

// HasTask reports whether the call created a task.
func (tr *Task) HasTask() bool {
	return tr.Created.Message.Result().Get("task.taskId").Type == gjson.String
}

// HasEnded reports whether the task had a final status after its result arrived.
func (tr *Task) HasEnded() bool { return IsFinal(tr.StatusAfter.Message.Result()) }

// maxTaskTools bounds the tools that are called as tasks.
const maxTaskTools = 6

// cancel creates a task and cancels it at once.
func (all *Tasks) cancel(t *check.T, tr *Task) {
	created, err := t.Try("tools/call", withProgressToken(t, CallParams(tr, nil))).Get()
	if err != nil || created.Message.Result().Get("task.taskId").Type != gjson.String {
		return
	}
	id := created.Message.Result().Get("task.taskId").String()
	c := CancelledTask{Tool: tr.Name(), created: created}
	c.before, _ = t.Try("tasks/get", TaskParams(id)).Get()
	c.Answer, _ = t.Try("tasks/cancel", TaskParams(id)).Get()
	c.After, _ = t.Try("tasks/get", TaskParams(id)).Get()
	all.Cancelled = append(all.Cancelled, c)
}

// awaitAnswers waits for the result and then for the answers to the direct calls.
func (tr *Task) awaitAnswers(t *check.T) {
	if tr.resultCall != nil {
		tr.awaitResult(t)
	}
	for _, running := range tr.directCalls {
		if d := AnswerTo(t, running, t.Timeout()/2); d.Raw != nil {
			tr.Direct = append(tr.Direct, d)
		} else {
			check.SetTrait(t, offer.SlowTool(tr.Tool))
			t.Cancel(running)
		}
	}
}

// awaitResult waits for the result of the task. A task that takes longer is cancelled,
// and its tool is not called again.
func (tr *Task) awaitResult(t *check.T) {
	if tr.Result = AnswerTo(t, tr.resultCall, t.Timeout()/2).Entry; tr.Result.Raw == nil {
		check.SetTrait(t, offer.SlowTool(tr.Tool))
		t.Cancel(tr.resultCall)
		if t.Declares("tasks.cancel") {
			t.Try("tasks/cancel", TaskParams(tr.ID()))
		}
		return
	}
	if tr.StatusAfter, _ = t.Try("tasks/get", TaskParams(tr.ID())).Get(); tr.HasEnded() {
		if second, err := t.TryStart("tasks/result", TaskParams(tr.ID())); err == nil {
			tr.SecondResult = AnswerTo(t, second, t.Timeout()/2).Entry
		}
	}
}
