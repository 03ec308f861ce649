package taskcalls

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

func (tr *Task) Name() string { return tr.Tool.Get("name").String() }

func (tr *Task) Id() string { return tr.Created.Message.Result().Get("task.taskId").String() }

// Made tells whether a task came of the call.
func (tr *Task) Made() bool {
	return tr.Created.Message.Result().Get("task.taskId").Type == gjson.String
}

// Ended tells whether the task had come to its end when its result came.
func (tr *Task) Ended() bool { return IsFinal(tr.Late.Message.Result()) }

// maxTasked bounds the tools that are called as tasks.
const maxTasked = 6

// cancel makes a task and cancels it at once.
func (all *Tasks) cancel(t *check.T, tr *Task) {
	created, err := t.Try("tools/call", withProgressToken(t, CallParams(tr, nil))).Get()
	if err != nil || created.Message.Result().Get("task.taskId").Type != gjson.String {
		return
	}
	id := created.Message.Result().Get("task.taskId").String()
	c := CancelledTask{Tool: tr.Name(), created: created}
	c.before, _ = t.Try("tasks/get", TaskParams(id)).Get()
	c.Answer, _ = t.Try("tasks/cancel", TaskParams(id)).Get()
	c.Behind, _ = t.Try("tasks/get", TaskParams(id)).Get()
	all.Cancelled = append(all.Cancelled, c)
}

// end waits for what was begun, first for the result, behind which the task is
// looked at.
func (tr *Task) end(t *check.T) {
	if tr.waiting != nil {
		tr.finish(t)
	}
	for _, running := range tr.running {
		if d := AnswerTo(t, running, t.Timeout()/2); d.Raw != nil {
			tr.Direct = append(tr.Direct, d)
		} else {
			check.Learn(t, offer.SlowTool(tr.Tool))
			t.Cancel(running)
		}
	}
}

// finish waits for the result of the task. A task that takes longer is
// cancelled, and its tool not called again.
func (tr *Task) finish(t *check.T) {
	if tr.Result = AnswerTo(t, tr.waiting, t.Timeout()/2).Entry; tr.Result.Raw == nil {
		check.Learn(t, offer.SlowTool(tr.Tool))
		t.Cancel(tr.waiting)
		if t.Declares("tasks.cancel") {
			t.Try("tasks/cancel", TaskParams(tr.Id()))
		}
		return
	}
	if tr.Late, _ = t.Try("tasks/get", TaskParams(tr.Id())).Get(); tr.Ended() {
		if again, err := t.TryStart("tasks/result", TaskParams(tr.Id())); err == nil {
			tr.Again = AnswerTo(t, again, t.Timeout()/2).Entry
		}
	}
}
