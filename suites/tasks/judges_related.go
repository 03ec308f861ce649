package tasks

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judgesOfRelations returns the judges of #associating-task-related-messages.
func judgesOfRelations() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.related.result",
			Says:  "the result of tasks/result names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-result-related-task"},
			Idle:  noTaskResult,
			Hint:  offerTask,
			Judge: func(j *check.J) {
				check.Each(j, transcript.Results(j, "tasks/result"), func(r transcript.Answered) bool {
					id, named := r.Request.Params().Get("taskId").String(), relatedTask(r.Result)
					switch {
					case !named.Exists():
						j.Fail(r.Answer, "the result of task %q has no related-task in its _meta", wire.Clip(id, 80))
					case named.String() != id:
						j.Fail(r.Answer, "the result of task %q names the task %q", wire.Clip(id, 80),
							wire.Clip(named.String(), 80))
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.related.progress",
			Says:  "a progress notification of a task names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-related-task-metadata"},
			Idle:  "the server sent no progress notification of a task",
			Hint:  "offer a read-only tool that can be called as a task and reports progress" + check.OrAllow,
			Judge: func(j *check.J) {
				check.Each(j, progressOfTasks(j), func(p taskProgress) bool {
					id, named := p.of.id(), relatedTask(p.Message.Params())
					switch {
					case !named.Exists():
						j.Fail(p.Entry, "progress of task %q has no related-task in its _meta", wire.Clip(id, 80))
					case named.String() != id:
						j.Fail(p.Entry, "progress of task %q names the task %q", wire.Clip(id, 80),
							wire.Clip(named.String(), 80))
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.related.input",
			Says:  "a request of the server on behalf of a task names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-input-request-related-task"},
			Idle:  "the server sent no request on behalf of a task",
			Hint:  offerInput,
			Judge: func(j *check.J) {
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					m := e.Message
					if m.Kind != wire.Request || m.Method() != "sampling/createMessage" &&
						m.Method() != "elicitation/create" {
						return false
					}
					named := relatedTask(m.Params())
					switch {
					case named.Exists() && mayExist(j, e, named.String()):
						return true
					case !onlyTasksRun(j, e):
						return false
					case named.Exists():
						j.Fail(e, "%s names the task %q, which does not exist", m.Method(),
							wire.Clip(named.String(), 80))
					default:
						j.Fail(e, "the server sent %s while only a task was running, and its _meta names no task",
							m.Method())
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.related.answers",
			Says:  "the results of tasks/get, tasks/list and tasks/cancel do not repeat the task in their _meta",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-no-related-task-in-results"},
			Idle:  "the server answered no tasks/get, tasks/list or tasks/cancel with a result",
			Hint:  offerTask,
			Judge: func(j *check.J) {
				for _, method := range []string{"tasks/get", "tasks/list", "tasks/cancel"} {
					check.Each(j, transcript.Results(j, method), func(r transcript.Answered) bool {
						if relatedTask(r.Result).Exists() {
							j.Fail(r.Answer, "the result of %s has related-task in its _meta", method)
						}
						return true
					})
				}
			},
		},
		{
			ID:    "tasks.related.notification",
			Says:  "notifications/tasks/status does not repeat the task in its _meta",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-no-related-task-in-status"},
			Idle:  noNotification,
			Hint:  notifyStatus,
			Judge: func(j *check.J) {
				check.Each(j, statusNotifications(j), func(e wire.Entry) bool {
					if params := e.Message.Params(); relatedTask(params).Exists() {
						j.Fail(e, "the status of task %q has related-task in its _meta",
							wire.Clip(params.Get("taskId").String(), 80))
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.related.requests",
			Says:  "tasks/get, tasks/result and tasks/cancel of the server do not repeat the task in their _meta",
			Level: spec.Should,
			Rules: []string{"tasks-no-related-task-in-requests"},
			Idle:  "the server sent no tasks/get, tasks/result or tasks/cancel",
			Hint:  "offer a read-only tool that samples as a task and polls it with tasks/get" + check.OrAllow,
			Judge: func(j *check.J) {
				for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
					check.Each(j, transcript.SentRequests(j, method), func(e wire.Entry) bool {
						if relatedTask(e.Message.Params()).Exists() {
							j.Fail(e, "%s of the server has related-task in its _meta", method)
						}
						return true
					})
				}
			},
		},
	}
}

// relatedTask returns the id in the related-task metadata of params or a result; it
// does not exist if there is none.
func relatedTask(o gjson.Result) gjson.Result {
	return wire.Member(o.Get("_meta"), relatedTaskKey).Get("taskId")
}

// relatedTaskKey is the member of _meta that names the task of a message.
const relatedTaskKey = "io.modelcontextprotocol/related-task"

// mayExist reports whether a task with an id may have been created before a message.
func mayExist(j *check.J, before wire.Entry, id string) bool {
	return slices.ContainsFunc(createdTasks(j), func(s taskState) bool {
		return s.id() == id && !j.Follows(s.Entry, before)
	})
}

// onlyTasksRun reports whether, at a frame, a task was running and no request was open
// on whose behalf the server may send requests. A cancelled request counts as open:
// the server's request may have been under way. Without the opening of the session the
// requests before it are not known.
func onlyTasksRun(j *check.J, at wire.Entry) bool {
	if !j.Capabilities(wire.Server).Exists() || !taskRuns(j, at) {
		return false
	}
	answers := check.Derived(j, "last answers by id", func() map[string]wire.Entry {
		last := map[string]wire.Entry{}
		for _, e := range j.Sent() {
			if e.Message.IsResponse() {
				last[e.Message.ID().Key()] = e
			}
		}
		return last
	})
	return !slices.ContainsFunc(j.Received(), func(e wire.Entry) bool {
		answer, answered := answers[e.Message.ID().Key()]
		return e.Index < at.Index && e.Message.Kind == wire.Request &&
			(transcript.MayRequestInput(e.Message.Method()) || e.Message.Method() == "completion/complete") &&
			(!answered || !j.Follows(at, answer))
	})
}

// taskRuns reports whether the last state of a task before a frame was not final.
func taskRuns(j *check.J, at wire.Entry) bool {
	runs := false
	for _, s := range runningTasks(j) {
		if s.index >= at.Index {
			break
		}
		runs = s.any
	}
	return runs
}

// A running says whether any task runs after a frame.
type running struct {
	index int
	any   bool
}

// runningTasks returns whether any task runs after each answer that holds one.
func runningTasks(j *check.J) []running {
	return check.Derived(j, "running tasks", func() (all []running) {
		open := map[string]bool{} // by id
		for _, s := range taskStates(j) {
			switch {
			case s.taskID.Type != gjson.String:
				continue
			case taskcalls.IsFinal(s.task):
				delete(open, s.id())
			default:
				open[s.id()] = true
			}
			all = append(all, running{s.Index, len(open) > 0})
		}
		return all
	})
}
