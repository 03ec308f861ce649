package tasks

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judgesOfLifecycle returns the judges of #task-status-lifecycle and
// #task-execution-errors.
func judgesOfLifecycle() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.status.initial",
			Says:  "the first status of a task is working",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-initial-working"},
			Idle:  noTaskCreated,
			Hint:  offerTask,
			Judge: func(j *check.J) {
				check.Each(j, createdTasks(j), func(s taskState) bool {
					if s.status() != "working" {
						j.Fail(s.Entry, "the first status of the task is %s", wire.Clip(s.task.Get("status").Raw, 60))
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.status.final",
			Says:  "the status of a task that is completed or failed does not change",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-valid-transitions", "tasks-terminal-final"},
			Idle:  "no task that was completed or failed was requested again",
			Hint:  offerTask,
			Judge: func(j *check.J) { judgeFinal(j, "completed", "failed") },
		},
		{
			ID:    "tasks.cancel.final",
			Says:  "the status of a task that is cancelled does not change",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancelled-stays"},
			Idle:  "no task that was cancelled was requested again",
			Hint:  offerSlow,
			Judge: func(j *check.J) { judgeFinal(j, "cancelled") },
		},
		{
			ID:    "tasks.cancel.stops",
			Says:  "the server stops the work on a task that is cancelled",
			Level: spec.Should,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-stops"},
			Idle:  "no task was cancelled whose call reports progress when it is not cancelled",
			Hint:  "offer a read-only tool that can be called as a task and reports progress" + check.OrAllow,
			// The work shows in the progress of the task. Missing progress shows something
			// only if the same call reports progress when it is not cancelled.
			Judge: func(j *check.J) {
				cancelled := cancelAnswers(j)
				reportsProgress := map[string]bool{} // by call
				after := map[string][]wire.Entry{}   // progress after the cancellation, by id
				for _, p := range progressOfTasks(j) {
					id := p.of.id()
					switch answer, ok := cancelled[id]; {
					case !ok:
						reportsProgress[p.of.call()] = true
					case j.Follows(p.Entry, answer):
						after[id] = append(after[id], p.Entry)
					}
				}
				check.Each(j, createdTasks(j), func(s taskState) bool {
					if late := after[s.id()]; len(late) > progressUnderWay {
						j.Fail(late[len(late)-1],
							"the server sent %d progress notifications after task %q was cancelled",
							len(late), wire.Clip(s.id(), 80))
					}
					_, ok := cancelled[s.id()]
					return ok && reportsProgress[s.call()]
				})
			},
		},
		{
			ID:    "tasks.failed.status",
			Says:  "the status of a task whose tool failed is failed",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-iserror-failed"},
			Idle:  "no task was requested again after its tool failed",
			Hint:  "offer a read-only tool that can be called as a task and fails" + check.OrAllow,
			// The first state that was requested after the result decides.
			Judge: func(j *check.J) {
				check.Each(j, transcript.Results(j, "tasks/result"), func(r transcript.Answered) bool {
					id := r.Request.Params().Get("taskId").String()
					states := taskStates(j)
					i := slices.IndexFunc(states, func(s taskState) bool {
						return s.id() == id && s.request.Index >= r.Answer.Index
					})
					if r.Result.Get("isError").Type != gjson.True || i < 0 {
						return false
					}
					status := states[i].status()
					if status == "completed" {
						j.Fail(states[i].Entry, "the tool of task %q failed, and the status of the task is completed",
							wire.Clip(id, 80))
					}
					return status == "completed" || status == "failed"
				})
			},
		},
		{
			ID:    "tasks.failed.message",
			Says:  "the answer to tasks/get for a failed task has a statusMessage",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-failed-status-message"},
			Idle:  "the server answered no tasks/get with a failed task",
			Hint:  "offer a read-only tool that can be called as a task and fails" + check.OrAllow,
			Judge: func(j *check.J) {
				check.Each(j, taskStates(j), func(s taskState) bool {
					if s.method != "tasks/get" || s.status() != "failed" {
						return false
					}
					message := s.task.Get("statusMessage")
					if !message.Exists() || message.Type == gjson.String && message.Str == "" {
						j.Fail(s.Entry, "the failed task %q has no statusMessage", wire.Clip(s.id(), 80))
					}
					return true
				})
			},
		},
	}
}

// judgeFinal judges that a task which has one of some statuses keeps it in the answers
// to later requests. Notifications are not judged: one may be under way for long.
func judgeFinal(j *check.J, statuses ...string) {
	type end struct {
		status string
		index  int
	}
	ended := map[string]end{} // by id
	for _, s := range taskStates(j) {
		was, known := ended[s.id()]
		switch {
		case s.method == "tools/call": // a new task; tasks.id.unique judges its id
			delete(ended, s.id())
		case known && s.request.Index < was.index: // requested before the end was known
		case known && s.status() != was.status:
			j.Fail(s.Entry, "task %q was %s, and is now %s", wire.Clip(s.id(), 80), was.status,
				wire.Clip(s.status(), 40))
			return
		case known:
			j.Saw()
		case slices.Contains(statuses, s.status()):
			ended[s.id()] = end{s.status(), s.Index}
		}
	}
}

// cancelAnswers returns the first answers to tasks/cancel that say that the task is
// cancelled, by id.
func cancelAnswers(j *check.J) map[string]wire.Entry {
	out := map[string]wire.Entry{}
	for _, s := range taskStates(j) {
		if _, known := out[s.id()]; !known && s.method == "tasks/cancel" && s.status() == "cancelled" {
			out[s.id()] = s.Entry
		}
	}
	return out
}

// A taskProgress is a progress notification of a task.
type taskProgress struct {
	wire.Entry
	of taskState // the answer that created the task
}

// progressOfTasks returns the progress notifications for the token of a request that
// created a task, after its answer.
func progressOfTasks(j *check.J) []taskProgress {
	return check.Derived(j, "progress of tasks", func() (out []taskProgress) {
		for _, e := range j.Sent() {
			if e.Message.Kind != wire.Notification || e.Message.Method() != "notifications/progress" {
				continue
			}
			token := e.Message.Params().Get("progressToken")
			tasks := transcript.Filter(createdTasks(j), func(s taskState) bool {
				own := s.request.Message.Params().Get("_meta.progressToken")
				return own.Exists() && transcript.EqualJSON(own, token) && s.task.Get("taskId").Type == gjson.String
			})
			if len(tasks) == 1 && e.Index > tasks[0].Index {
				out = append(out, taskProgress{e, tasks[0]})
			}
		}
		return out
	})
}

// progressUnderWay is how many notifications may be under way when a task is
// cancelled.
const progressUnderWay = 1
