package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// probesOfRequests returns the probes of #associating-task-related-messages and
// #protocol-errors.
func probesOfRequests() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.id.unknown",
			Says:  "the server answers a request about a task that does not exist with error -32602",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-unknown-id-32602"},
			Idle:  "the server knows no method of tasks",
			Hint:  "answer tasks/get and tasks/result",
			// Other checks judge whether the server knows the method.
			Probe: func(t *check.T) {
				methods := []string{"tasks/get", "tasks/result"}
				if t.Declares("tasks.cancel") {
					methods = append(methods, "tasks/cancel")
				}
				for _, method := range methods {
					m := t.Request(method, taskcalls.TaskParams(missingTask))
					if code, _ := m.ErrorCode(); code == spec.MethodNotFound {
						continue
					}
					match.Expect(t, m).To(match.BeError(spec.InvalidParams), "%s for a task that does not exist",
						method)
					t.Saw()
				}
			},
		},
		{
			ID:    "tasks.related.ignored",
			Says:  "the server answers tasks/get with the task that its parameter names, whatever its _meta names",
			Level: spec.Must,
			Needs: "tasks.requests.tools.call",
			Rules: []string{"tasks-taskid-param-authoritative", "tasks-related-task-ignored"},
			Idle:  "the server no longer knew the task",
			Hint:  keepTask,
			// The _meta names another task, and one that does not exist.
			Probe: func(t *check.T) {
				tasks := taskcalls.RequireTasks(t)
				id, others := tasks[0].ID(), []string{missingTask}
				if last := tasks[len(tasks)-1].ID(); last != id {
					others = append(others, last)
				}
				for _, other := range others {
					r := getWithRelated(t, id, other)
					if r.Message.Result().Get("taskId").String() == id {
						t.Saw()
						continue
					}
					got := "no answer"
					if r.Err == nil {
						got = r.Message.Summary()
					}
					if knowsTask(t, id) {
						t.Mark(r.Entry)
						t.Fail("task "+id, got, "tasks/get for task %q, with %q in its _meta", id, other)
					}
				}
				if !knowsTask(t, id) {
					t.NotObserved("the server no longer knows the task", keepTask)
				}
			},
		},
	}
}

// getWithRelated sends tasks/get for a task with related-task metadata of another.
func getWithRelated(t *check.T, id, other string) check.Reply {
	meta := check.Params{relatedTaskKey: check.Params{"taskId": other}}
	return t.Try("tasks/get", check.Params{"taskId": id, "_meta": meta})
}

// probesOfLists returns the probes of #task-listing.
func probesOfLists() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.list.complete",
			Says:  "a task that tasks/get returns is on a page of tasks/list",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-next-cursor", "tasks-list-contains-gettable"},
			Idle:  "no task was still known when the tasks were listed",
			Hint:  keepTask,
			// A missing task is confirmed by a second list: tasks may expire.
			Probe: func(t *check.T) {
				tasks := taskcalls.RequireTasks(t)
				first := taskcalls.Run(t).List
				if !first.IsComplete() {
					t.NotObserved("tasks/list could not be read to its end",
						"answer each page of tasks/list with a result")
				}
				for _, task := range tasks {
					switch id := task.ID(); {
					case listsTask(first, id):
						t.Saw()
					case knowsTask(t, id):
						again := offer.WalkNow(t, taskcalls.TasksList)
						if again.IsComplete() && !listsTask(again, id) && knowsTask(t, id) {
							t.Mark(again.Last)
							t.Fail("task "+id, "not on any page",
								"tasks/get returns the task of tool %q, and the %d pages of tasks/list do not",
								task.Name(), len(again.Pages))
						}
					}
				}
			},
		},
		{
			ID:    "tasks.list.cursor",
			Says:  "the server answers tasks/list with an invalid cursor with error -32602",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-invalid-cursor-32602"},
			Idle:  "the server does not know tasks/list",
			Hint:  "answer tasks/list with a result",
			Probe: func(t *check.T) {
				m := t.Request("tasks/list", check.Params{"cursor": "mcpcheck-invalid"})
				if code, _ := m.ErrorCode(); code == spec.MethodNotFound {
					return
				}
				match.Expect(t, m).To(match.BeError(spec.InvalidParams),
					"tasks/list with a cursor that the server never returned")
				t.Saw()
			},
		},
	}
}

// listsTask reports whether a task is on a page of a list.
func listsTask(w *offer.Walk, id string) bool {
	return slices.Contains(taskcalls.TasksList.Names(w.Items()), id)
}

// probesOfCancellation returns the probes of #task-cancellation.
func probesOfCancellation() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.cancel.status",
			Says:  "the answer to tasks/cancel, and tasks/get after it, return the task as cancelled",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-transitions-first"},
			Idle:  noCancelledTask,
			Hint:  offerSlow,
			// The task may have ended just before, and may be deleted when it is cancelled.
			Probe: func(t *check.T) {
				all := taskcalls.Run(t)
				cancelled := false
				for _, c := range all.Cancelled {
					if c.Answer.Message.Kind != wire.Result {
						continue
					}
					cancelled = true
					for i, e := range []wire.Entry{c.Answer, c.After} {
						if e.Message.Kind == wire.Result && !taskcalls.IsFinal(e.Message.Result()) {
							status := e.Message.Result().Get("status").Raw
							t.Mark(e)
							t.Fail("the status cancelled", status,
								"the task of tool %q was cancelled, and in %s its status is %s",
								c.Tool, []string{"the answer", "the answer to tasks/get after it"}[i], status)
						}
					}
					t.Saw()
				}
				if !cancelled {
					t.NotObserved(noCancelledTask, check.AllowHint(all.NotAllowed))
				}
			},
		},
		{
			ID:    "tasks.cancel.terminal",
			Says:  "the server answers tasks/cancel for a task that has ended with error -32602",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-terminal-32602"},
			Idle:  "no task had ended and was still known",
			Hint:  keepTask,
			Probe: func(t *check.T) {
				for _, task := range taskcalls.RequireTasks(t) {
					if !task.HasEnded() || !knowsTask(t, task.ID()) {
						continue
					}
					m := t.Request("tasks/cancel", taskcalls.TaskParams(task.ID()))
					if code, _ := m.ErrorCode(); code == spec.MethodNotFound {
						t.NotObserved("the server does not know tasks/cancel", "answer tasks/cancel with error -32602")
					}
					match.Expect(t, m).To(match.BeError(spec.InvalidParams),
						"tasks/cancel for the task of tool %q, which had ended", task.Name())
					t.Saw()
					return
				}
			},
		},
	}
}

// noCancelledTask says why tasks.cancel.status is not observed.
const noCancelledTask = "no task was cancelled before it ended"
