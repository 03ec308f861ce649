package tasks

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judgesOfMembers returns the judges of #task-id-requirements and of the members of a
// task.
func judgesOfMembers() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.task.shape",
			Says:  "a task has the members of the schema",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-task-shape"},
			Idle:  noTaskAnswer,
			Hint:  offerTask,
			// Some members have checks of their own.
			Judge: func(j *check.J) {
				check.Each(j, taskStates(j), func(s taskState) bool {
					elsewhere := []string{"/taskId", "/createdAt", "/lastUpdatedAt"}
					if s.method == "tasks/get" {
						elsewhere = append(elsewhere, "/ttl")
					}
					v := taskViolation(j, s.task, func(place string) bool {
						return !transcript.PointerMatches(place, elsewhere)
					})
					if v != "" {
						j.Fail(s.Entry, "the task in the answer to %s: %s", s.method, v)
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.id.string",
			Says:  "the id of a task is a string",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-id-string"},
			Idle:  noTaskAnswer,
			Hint:  offerTask,
			Judge: func(j *check.J) { judgeMember(j, taskStates(j), "/taskId") },
		},
		{
			ID:    "tasks.id.unique",
			Says:  "no two tasks have the same id",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-id-unique"},
			Idle:  "the server did not create two tasks",
			Hint:  offerTask,
			Judge: func(j *check.J) {
				requests := map[string]int{} // the request that created the task, by id
				check.Each(j, createdTasks(j), func(s taskState) bool {
					id := s.task.Get("taskId")
					if id.Type != gjson.String {
						return false
					}
					request, known := requests[id.Str]
					if known && request != s.request.Index {
						j.Fail(s.Entry, "a second task has the id %q", wire.Clip(id.Str, 80))
					}
					isSecondTask := !known && len(requests) > 0
					requests[id.Str] = s.request.Index
					return isSecondTask
				})
			},
		},
		{
			ID:    "tasks.id.secure",
			Says:  "the id of a task is not a short word, a counter or a time",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-secure-ids-without-context"},
			Idle:  "the server did not create two tasks",
			Hint:  offerTask,
			// How hard an id is to guess can only be estimated: ids that look random pass.
			Judge: func(j *check.J) {
				var ids []string
				for _, s := range createdTasks(j) {
					id := s.task.Get("taskId")
					if id.Type != gjson.String || slices.Contains(ids, id.Str) {
						continue
					}
					if ids = append(ids, id.Str); len(id.Str) < shortestID {
						j.Fail(s.Entry, "the id %q has %d characters", id.Str, len(id.Str))
						return
					}
					if len(ids) < 2 {
						continue
					}
					before := ids[len(ids)-2]
					if a, b, ok := counters(before, id.Str); ok {
						j.Fail(s.Entry, "the ids %q and %q differ only by %d",
							wire.Clip(before, 80), wire.Clip(id.Str, 80), max(a, b)-min(a, b))
						return
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "tasks.created-at",
			Says:  "an answer about a task has the time in ISO 8601 when it was created, always the same",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-created-at"},
			Idle:  noTaskAnswer,
			Hint:  offerTask,
			// The precision may differ from answer to answer.
			Judge: func(j *check.J) {
				first := map[string]time.Time{}
				check.Each(j, taskStates(j), func(s taskState) bool {
					at, problem := parseTime(s.task.Get("createdAt"))
					before, known := first[s.id()]
					switch {
					case problem != "":
						j.Fail(s.Entry, "createdAt in the answer to %s %s", s.method, problem)
					case known && at.Sub(before).Abs() > time.Second:
						j.Fail(s.Entry, "the createdAt of task %q was %s, and is %s now",
							wire.Clip(s.id(), 80), before.Format(time.RFC3339), at.Format(time.RFC3339))
					}
					if !known {
						first[s.id()] = at
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.last-updated-at",
			Says:  "an answer about a task has the time in ISO 8601 of its last update, not before its creation",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-last-updated-at"},
			Idle:  noTaskAnswer,
			Hint:  offerTask,
			Judge: func(j *check.J) {
				check.Each(j, taskStates(j), func(s taskState) bool {
					at, problem := parseTime(s.task.Get("lastUpdatedAt"))
					created, createdProblem := parseTime(s.task.Get("createdAt"))
					switch {
					case problem != "":
						j.Fail(s.Entry, "lastUpdatedAt in the answer to %s %s", s.method, problem)
					case createdProblem == "" && created.Sub(at) > time.Second:
						j.Fail(s.Entry, "task %q was last updated %s before it was created", wire.Clip(s.id(), 80),
							created.Sub(at))
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.ttl.reported",
			Says:  "the answer to tasks/get has the ttl of the task, a number or null",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-ttl-reported"},
			Idle:  "the server answered no tasks/get with a task",
			Hint:  offerTask,
			Judge: func(j *check.J) {
				isGet := func(s taskState) bool { return s.method == "tasks/get" }
				judgeMember(j, transcript.Filter(taskStates(j), isGet), "/ttl")
			},
		},
	}
}

// judgeMember judges one member of tasks by the schema.
func judgeMember(j *check.J, states []taskState, pointer string) {
	check.Each(j, states, func(s taskState) bool {
		if v := taskViolation(j, s.task, func(place string) bool { return place == pointer }); v != "" {
			j.Fail(s.Entry, "the task in the answer to %s: %s", s.method, v)
		}
		return true
	})
}
