package tasks

import (
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// probesOfCreation returns the probes of #creating-tasks, #task-id-requirements and of
// tasks/get right after the creation of a task.
func probesOfCreation() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.create.result",
			Says:  "the server answers a call as a task with the task, not with the result of the tool",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-create-result"},
			Idle:  noAcceptedCall,
			Hint:  offerTask,
			// A server may refuse the call with an error.
			Probe: func(t *check.T) {
				all := taskcalls.Run(t)
				accepted := false
				for _, task := range all.Trials {
					m := task.Created.Message
					if m.Kind != wire.Result {
						continue
					}
					accepted = true
					if !m.Result().Get("task").IsObject() || m.Result().Get("content").Exists() {
						t.Mark(task.Created.Entry)
						t.Fail("a result with task and without content", m.Summary(), "tool %q was called as a task",
							task.Name())
					}
					t.Saw()
				}
				if !accepted {
					t.NotObserved(noAcceptedCall, check.AllowHint(all.NotAllowed))
				}
			},
		},
		{
			ID:    "tasks.create.prompt",
			Says:  "the server answers a call as a task before the tool has finished",
			Level: spec.Should,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-create-result-prompt"},
			Idle:  noSlowTask,
			Hint:  offerSlow,
			// The server waited for the tool if the creation took about as long as the call
			// without a task and the task had ended then. A second call, with no request
			// beside it, confirms this.
			Probe: func(t *check.T) {
				trip := roundTrip(t)
				for _, task := range taskcalls.RequireTasks(t) {
					if wasWorking(task) {
						t.Saw()
					}
					if waitedForTool(task, task.UsualDuration(), trip) {
						if again := createAlone(t, task); waitedForTool(again, task.UsualDuration(), trip) {
							t.Mark(again.Created.Entry)
							t.Fail("the task, as soon as the call is accepted", "the task, when it had ended",
								"tool %q takes %s; called as a task it was answered after %s, and %s after %s",
								task.Name(),
								task.UsualDuration().Round(time.Millisecond),
								again.Created.Took.Round(time.Millisecond),
								t.Facts.BarrierMethod, trip.Round(time.Millisecond))
						}
					}
				}
			},
		},
		{
			ID:    "tasks.id.own",
			Says:  "the server chooses the id of a task itself, even if the client asks for one",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-id-by-receiver"},
			Idle:  "the server created no task for a call that asks for an id",
			Hint:  offerTask,
			// The schema has no id in the member task.
			Probe: func(t *check.T) {
				const ownID = "mcpcheck-own-task"
				for _, task := range taskcalls.RequireTasks(t) {
					r := t.Try("tools/call", taskcalls.CallParams(task, check.Params{"taskId": ownID}))
					id := r.Message.Result().Get("task.taskId")
					if r.Err != nil || !id.Exists() {
						continue
					}
					if id.String() == ownID {
						t.Mark(r.Entry)
						t.Fail("an id of the server's own", id.Raw,
							"the task of tool %q has the id that the client asked for", task.Name())
					}
					if t.Declares("tasks.cancel") {
						t.Try("tasks/cancel", taskcalls.TaskParams(id.String()))
					}
					t.Saw()
					return
				}
			},
		},
		{
			ID:    "tasks.get.answered",
			Says:  "the server answers tasks/get with the task that the request names",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-get-answered"},
			Idle:  noTask,
			Hint:  offerTask,
			Probe: func(t *check.T) {
				answered := false
				for _, task := range taskcalls.RequireTasks(t) {
					if task.StatusBefore.Raw == nil {
						continue
					}
					answered = true
					t.Mark(task.StatusBefore)
					if task.StatusBefore.Message.Result().Get("taskId").String() != task.ID() {
						t.Fail("task "+task.ID(), task.StatusBefore.Message.Summary(),
							"tasks/get for the task of tool %q, right after its creation", task.Name())
					}
					t.Saw()
				}
				if !answered {
					t.Fail("an answer to tasks/get", "none", "tasks/get was not answered")
				}
			},
		},
	}
}

// noAcceptedCall says why tasks.create.result is not observed.
const noAcceptedCall = "the server accepted no call as a task"

// minWork is how long a tool must take for the time of an answer to show whether the
// server waited for it.
const minWork = 80 * time.Millisecond

// roundTrip returns the longest time of a few answers for which the server does no
// work.
func roundTrip(t *check.T) (longest time.Duration) {
	for range 3 {
		began := time.Now()
		t.Try(t.Facts.BarrierMethod, nil)
		longest = max(longest, time.Since(began))
	}
	return longest
}

// waitedForTool reports whether the server seems to have created a task only when the
// tool had finished. It takes how long the tool takes without a task, and how long the
// longest answer without work took.
func waitedForTool(task *taskcalls.Task, usual, trip time.Duration) bool {
	work := usual - trip
	isFinal := taskcalls.IsFinal(task.StatusBefore.Message.Result())
	return work >= minWork && isFinal && task.Created.Took-trip >= work*4/5
}

// createAlone creates a task like another one, with no request beside it.
func createAlone(t *check.T, like *taskcalls.Task) *taskcalls.Task {
	alone := &taskcalls.Task{Tool: like.Tool, Args: like.Args}
	call := t.Start("tools/call", taskcalls.CallParams(alone, nil))
	alone.Created = taskcalls.AnswerTo(t, call, t.Timeout())
	alone.StatusBefore = t.Try("tasks/get", taskcalls.TaskParams(alone.ID())).Entry
	return alone
}
