package tasks

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
	"github.com/tidwall/gjson"
)

// tasking are the revisions that have tasks (basic/utilities/tasks).
var tasking = spec.Only(spec.V2025_11_25)

// judges are the judges of basic/utilities/tasks.
func judges() []check.Check {
	all := slices.Concat(taskShapes(), taskLives(), taskRelations(), taskPolls())
	for i := range all {
		all[i].In = tasking
	}
	return all
}

// taskShapes are the judges of #capabilities, #task-id-requirements and of the
// members of a task.
func taskShapes() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.capability.declared",
			Says:  "a server that makes tasks, or answers for them, declares the capability tasks",
			Level: spec.Must,
			Rules: []string{"tasks-capability-declared"},
			// tasksDeclared looks at what the server makes of requests about tasks. That
			// it does not know them is right without the capability.
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Server).Exists() {
					return
				}
				declared := j.Declares(wire.Server, "tasks")
				for _, e := range j.Sent() {
					request, ok := j.RequestOf(e)
					if !ok || !e.Message.IsResponse() {
						continue
					}
					method, params := request.Message.Method(), request.Message.Params()
					made := e.Message.Kind == wire.Result && (strings.HasPrefix(method, "tasks/") || e.Message.Result().Get("task.taskId").Exists())
					switch {
					case !strings.HasPrefix(method, "tasks/") && !params.Get("task").Exists():
					case made && !declared:
						j.Fail(e, "%s is answered as a server of tasks would, which declares no tasks", method)
					case made == declared:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.capability.shape",
			Says:  "the capability tasks holds the objects list, cancel and requests.tools.call, or some of these",
			Level: spec.Must,
			Rules: []string{"tasks-capability-shape"},
			// tasksCapability leaves booleans alone: the page speaks of boolean
			// properties, and shows objects.
			Judge: func(j *check.J) {
				for _, e := range transcript.ResultsOf(j, transcript.OpeningMethod(j)) {
					if !wire.Member(e.Message.Result().Get("capabilities"), "tasks").Exists() {
						continue
					}
					wrong := false
					for _, v := range schema.For(j.Rev).Validate("ServerCapabilities", []byte(e.Message.Result().Get("capabilities").Raw)) {
						if !transcript.PointerMatches(v.Place(), []string{"/tasks/**"}) {
							continue // lifecycle.capabilities.types
						}
						if at := e.Message.Result().Get("capabilities" + strings.ReplaceAll(v.InstancePath, "/", ".")); at.IsBool() && v.InstancePath != "/tasks" {
							j.Note("the capability %s is a boolean; the schema has an object", v.InstancePath)
							continue
						}
						j.Fail(e, "capabilities: %v", v)
						wrong = true
					}
					if !wrong {
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.task.shape",
			Says:  "a task has the members of the schema",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-task-shape"},
			// taskShape leaves to others the members that have rules of their own.
			Judge: func(j *check.J) {
				for _, s := range taskStates(j) {
					elsewhere := []string{"/taskId", "/createdAt", "/lastUpdatedAt"}
					if s.method == "tasks/get" {
						elsewhere = append(elsewhere, "/ttl")
					}
					if v := brokenTask(j, s.task, func(place string) bool { return !transcript.PointerMatches(place, elsewhere) }); v != "" {
						j.Fail(s.Entry, "the task in the answer to %s: %s", s.method, v)
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "tasks.id.string",
			Says:  "the id of a task is a string",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-id-string"},
			Judge: func(j *check.J) { taskMember(j, "/taskId", func(s taskState) bool { return true }) },
		},
		{
			ID:    "tasks.id.unique",
			Says:  "no two tasks have the same id",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-id-unique"},
			Judge: func(j *check.J) {
				seen := map[string]int{} // by id, the request that it came of
				for _, s := range createdTasks(j) {
					id := s.task.Get("taskId")
					if id.Type != gjson.String {
						continue
					}
					switch request, again := seen[id.Str]; {
					case again && request != s.request.Index:
						j.Fail(s.Entry, "a second task gets the id %q", wire.Clip(id.Str, 80))
					case !again && len(seen) > 0:
						j.Saw()
					}
					seen[id.Str] = s.request.Index
				}
			},
		},
		{
			ID:    "tasks.id.secure",
			Says:  "the id of a task cannot be guessed: it is no short word, counter or time",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-secure-ids-without-context"},
			// taskIDSecure estimates: it objects to ids that are short, and to ids that
			// differ in a decimal number alone, as those of a counter or a clock do. What
			// looks random passes.
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
					if a, b, counted := counters(ids[len(ids)-2], id.Str); counted {
						j.Fail(s.Entry, "the ids %q and %q differ by %d alone", wire.Clip(ids[len(ids)-2], 80), wire.Clip(id.Str, 80), max(a, b)-min(a, b))
						return
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "tasks.created-at",
			Says:  "an answer about a task tells in ISO 8601 when it was created, and always the same",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-created-at"},
			// taskCreatedAt tolerates a second, since the precision may differ.
			Judge: func(j *check.J) {
				first := map[string]time.Time{}
				for _, s := range taskStates(j) {
					at, wrong := timestamp(s.task.Get("createdAt"))
					before, known := first[s.id()]
					switch {
					case wrong != "":
						j.Fail(s.Entry, "createdAt in the answer to %s %s", s.method, wrong)
					case known && at.Sub(before).Abs() > time.Second:
						j.Fail(s.Entry, "task %q was created at %s, and now at %s", wire.Clip(s.id(), 80), before.Format(time.RFC3339), at.Format(time.RFC3339))
					default:
						j.Saw()
					}
					if !known {
						first[s.id()] = at
					}
				}
			},
		},
		{
			ID:    "tasks.last-updated-at",
			Says:  "an answer about a task tells in ISO 8601 when it was last updated, which is not before it was created",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-last-updated-at"},
			Judge: func(j *check.J) {
				for _, s := range taskStates(j) {
					at, wrong := timestamp(s.task.Get("lastUpdatedAt"))
					created, broken := timestamp(s.task.Get("createdAt"))
					switch {
					case wrong != "":
						j.Fail(s.Entry, "lastUpdatedAt in the answer to %s %s", s.method, wrong)
					case broken == "" && created.Sub(at) > time.Second:
						j.Fail(s.Entry, "task %q was last updated %s before it was created", wire.Clip(s.id(), 80), created.Sub(at))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.ttl.reported",
			Says:  "tasks/get tells how long the task is kept, or null for ever",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-ttl-reported"},
			Judge: func(j *check.J) { taskMember(j, "/ttl", func(s taskState) bool { return s.method == "tasks/get" }) },
		},
		{
			ID:    "tasks.list.shape",
			Says:  "tasks/list is answered with an array of tasks",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-result-shape"},
			Judge: func(j *check.J) {
				transcript.EachResult(j, "tasks/list", func(e wire.Entry, _ wire.Message, result gjson.Result) {
					all := result.Get("tasks")
					switch n := slices.IndexFunc(list(all), func(v gjson.Result) bool { return !v.IsObject() }); {
					case !all.IsArray():
						j.Fail(e, "tasks is %s, not an array", wire.TypeName(all))
					case n >= 0:
						j.Fail(e, "tasks/%d is %s, not a task", n, wire.TypeName(all.Array()[n]))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "tasks.result.structure",
			Says:  "the result of a task of tools/call is one of tools/call",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-result-structure"},
			// taskResultStructure: the tasks that a client makes are all of tools/call.
			Judge: func(j *check.J) {
				transcript.EachResult(j, "tasks/result", func(e wire.Entry, _ wire.Message, result gjson.Result) {
					for _, v := range schema.For(j.Rev).Validate("CallToolResult", []byte(result.Raw)) {
						if !transcript.PointerMatches(v.Place(), []string{"**/_meta/**"}) {
							j.Fail(e, "the result of the task is no CallToolResult: %s", v)
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "tasks.notification.shape",
			Says:  "notifications/tasks/status carries the whole task",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-status-notification-shape"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Kind != wire.Notification || e.Message.Method() != "notifications/tasks/status" {
						continue
					}
					params := e.Message.Params()
					if !params.IsObject() {
						j.Fail(e, "params is %s, not a task", wire.TypeName(params))
						continue
					}
					if v := brokenTask(j, params, func(string) bool { return true }); v != "" {
						j.Fail(e, "params is no task: %s", v)
						continue
					}
					j.Saw()
				}
			},
		},
	}
}

// taskLives are the judges of #task-status-lifecycle, #input-required-status
// and #task-execution-errors.
func taskLives() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.status.initial",
			Says:  "a task begins as working",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-initial-working"},
			Judge: func(j *check.J) {
				for _, s := range createdTasks(j) {
					if status := s.task.Get("status"); status.String() != "working" {
						j.Fail(s.Entry, "the task begins with the status %s", wire.Clip(status.Raw, 60))
						continue
					}
					j.Saw()
				}
			},
		},
		{
			ID:    "tasks.status.final",
			Says:  "a task that is completed or failed stays so",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-valid-transitions", "tasks-terminal-final"},
			Judge: func(j *check.J) { taskStays(j, "completed", "failed") },
		},
		{
			ID:    "tasks.cancel.final",
			Says:  "a task that is cancelled stays so",
			Level: spec.Must,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancelled-stays"},
			Judge: func(j *check.J) { taskStays(j, "cancelled") },
		},
		{
			ID:    "tasks.cancel.stops",
			Says:  "the work on a task stops when it is cancelled",
			Level: spec.Should,
			Needs: "tasks.cancel",
			Rules: []string{"tasks-cancel-stops"},
			// taskStops judges by the progress of a task: that none comes shows something
			// only where the same call reports progress when it is left alone.
			Judge: func(j *check.J) {
				before, after := map[string]int{}, map[string][]taskProgress{}
				cancelled := map[string]wire.Entry{} // by id, the answer
				for _, s := range taskStates(j) {
					if _, known := cancelled[s.id()]; !known && s.method == "tasks/cancel" && s.status() == "cancelled" {
						cancelled[s.id()] = s.Entry
					}
				}
				same := func(s taskState) string {
					p := s.request.Message.Params()
					return p.Get("name").Raw + p.Get("arguments").Raw
				}
				for _, p := range progressOfTasks(j) {
					switch answer, ok := cancelled[p.of.id()]; {
					case !ok:
						before[same(p.of)]++
					case j.Follows(p.Entry, answer):
						after[p.of.id()] = append(after[p.of.id()], p)
					}
				}
				for _, s := range createdTasks(j) {
					late := after[s.id()]
					switch _, ok := cancelled[s.id()]; {
					case len(late) > lateProgress:
						j.Fail(late[len(late)-1].Entry, "%d progress notifications came after task %q was cancelled", len(late), wire.Clip(s.id(), 80))
					case ok && before[same(s)] > 0:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.failed.status",
			Says:  "a task whose tool failed is failed",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-iserror-failed"},
			// taskFailedStatus takes the first state that was asked for after the result.
			Judge: func(j *check.J) {
				transcript.EachResult(j, "tasks/result", func(e wire.Entry, request wire.Message, result gjson.Result) {
					if result.Get("isError").Type != gjson.True {
						return
					}
					id := request.Params().Get("taskId").String()
					for _, s := range taskStates(j) {
						if s.id() != id || s.request.Index < e.Index {
							continue
						}
						switch s.status() {
						case "completed":
							j.Fail(s.Entry, "the tool of task %q failed, and the task is completed", wire.Clip(id, 80))
						case "failed":
							j.Saw()
						}
						return
					}
				})
			},
		},
		{
			ID:    "tasks.failed.message",
			Says:  "tasks/get of a failed task tells in a statusMessage what went wrong",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-failed-status-message"},
			Judge: func(j *check.J) {
				for _, s := range taskStates(j) {
					switch message := s.task.Get("statusMessage"); {
					case s.method != "tasks/get" || s.status() != "failed":
					case !message.Exists() || message.Type == gjson.String && message.Str == "":
						j.Fail(s.Entry, "the failed task %q has no statusMessage", wire.Clip(s.id(), 80))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.input.status",
			Says:  "a task that waits for the client is input_required",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-input-required-status"},
			// taskInputStatus judges what is asked and answered while input is waited for.
			// A status notification before the request is as good.
			Judge: func(j *check.J) {
				for _, in := range inputsOfTasks(j) {
					for _, e := range j.Sent() {
						p := e.Message.Params()
						if e.Message.Method() == "notifications/tasks/status" && e.Index < in.Index && p.Get("taskId").String() == in.id && p.Get("status").String() == "input_required" {
							j.Saw()
						}
					}
					for _, s := range taskStates(j) {
						waits := s.request.Index > in.Index && (in.answer.Index == 0 || s.Index < in.answer.Index)
						switch {
						case s.id() != in.id || !waits:
						case slices.Contains([]string{"completed", "failed", "cancelled"}, s.status()): // it waits no longer
						case s.status() != "input_required":
							j.Fail(s.Entry, "task %q waits for the answer to %s, and is %s", wire.Clip(in.id, 80), in.Message.Method(), wire.Clip(s.status(), 40))
						default:
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "tasks.input.left",
			Says:  "a task that was given all input is no longer input_required",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-input-required-leave"},
			Judge: func(j *check.J) {
				inputs := inputsOfTasks(j)
				for _, s := range taskStates(j) {
					var last wire.Entry
					open := false
					for _, in := range inputs {
						if in.id == s.id() && in.Index < s.Index {
							open = open || in.pending(s.request.Index, s.Index)
							last = in.answer
						}
					}
					switch {
					case last.Index == 0 || open:
					case s.status() != "input_required":
						j.Saw()
					case s.At-last.At > toGoOn:
						j.Fail(s.Entry, "task %q was answered %s ago, and is still input_required", wire.Clip(s.id(), 80), (s.At - last.At).Round(time.Millisecond))
					}
				}
			},
		},
		{
			ID:    "tasks.augment.declared",
			Says:  "the server makes tasks of its requests only where the client declared that it can",
			Level: spec.Should,
			Rules: []string{"tasks-augment-only-declared", "tasks-no-creation-without-capability"},
			// augmentsDeclared looks at the requests of the server that could be tasks.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					capability := map[string]string{"sampling/createMessage": "tasks.requests.sampling.createMessage", "elicitation/create": "tasks.requests.elicitation.create"}[m.Method()]
					switch {
					case m.Kind != wire.Request || capability == "" || j.Declares(wire.Client, capability):
					case m.Params().Get("task").Exists():
						j.Fail(e, "%s asks for a task, and the client did not declare %s", m.Method(), capability)
					default:
						j.Saw()
					}
				}
			},
		},
	}
}

// taskRelations are the judges of #associating-task-related-messages.
func taskRelations() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.related.result",
			Says:  "the answer to tasks/result names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-result-related-task"},
			Judge: func(j *check.J) {
				transcript.EachResult(j, "tasks/result", func(e wire.Entry, request wire.Message, result gjson.Result) {
					switch id, named := request.Params().Get("taskId").String(), relatedTask(result); {
					case !named.Exists():
						j.Fail(e, "the result of task %q has no related-task in its _meta", wire.Clip(id, 80))
					case named.String() != id:
						j.Fail(e, "the result of task %q names the task %q", wire.Clip(id, 80), wire.Clip(named.String(), 80))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "tasks.related.progress",
			Says:  "a progress notification of a task names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-related-task-metadata"},
			Judge: func(j *check.J) {
				for _, p := range progressOfTasks(j) {
					switch named := relatedTask(p.Message.Params()); {
					case !named.Exists():
						j.Fail(p.Entry, "progress of task %q has no related-task in its _meta", wire.Clip(p.of.id(), 80))
					case named.String() != p.of.id():
						j.Fail(p.Entry, "progress of task %q names the task %q", wire.Clip(p.of.id(), 80), wire.Clip(named.String(), 80))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.related.input",
			Says:  "what the server asks the client for a task names the task in its _meta",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-input-request-related-task"},
			// relatedInput takes a question for one of a task where no request is open for
			// which it could be asked, and a task is. A request that was cancelled counts
			// as open: the question may have been under way.
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					m := e.Message
					if m.Kind != wire.Request || m.Method() != "sampling/createMessage" && m.Method() != "elicitation/create" {
						continue
					}
					named := relatedTask(m.Params())
					switch known := knownTask(j, e, named); {
					case named.Exists() && known:
						j.Saw()
					case !taskAlone(j, e):
					case named.Exists():
						j.Fail(e, "%s names the task %q, which is none", m.Method(), wire.Clip(named.String(), 80))
					default:
						j.Fail(e, "%s is asked while only a task is open, and names none in its _meta", m.Method())
					}
				}
			},
		},
		{
			ID:    "tasks.related.answers",
			Says:  "answers to tasks/get, tasks/list and tasks/cancel do not name the task in their _meta once more",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-no-related-task-in-results"},
			Judge: func(j *check.J) {
				for _, method := range []string{"tasks/get", "tasks/list", "tasks/cancel"} {
					transcript.EachResult(j, method, func(e wire.Entry, _ wire.Message, result gjson.Result) {
						if named := relatedTask(result); named.Exists() {
							j.Fail(e, "the answer to %s has related-task in its _meta", method)
							return
						}
						j.Saw()
					})
				}
			},
		},
		{
			ID:    "tasks.related.notification",
			Says:  "notifications/tasks/status does not name the task in its _meta once more",
			Level: spec.Should,
			Needs: "tasks",
			Rules: []string{"tasks-no-related-task-in-status"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch {
					case e.Message.Kind != wire.Notification || e.Message.Method() != "notifications/tasks/status":
					case relatedTask(e.Message.Params()).Exists():
						j.Fail(e, "the status of task %q has related-task in its _meta", wire.Clip(e.Message.Params().Get("taskId").String(), 80))
					default:
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "tasks.related.requests",
			Says:  "tasks/get, tasks/result and tasks/cancel of the server do not name the task in their _meta once more",
			Level: spec.Should,
			Rules: []string{"tasks-no-related-task-in-requests"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					switch m := e.Message; {
					case m.Kind != wire.Request || !slices.Contains([]string{"tasks/get", "tasks/result", "tasks/cancel"}, m.Method()):
					case relatedTask(m.Params()).Exists():
						j.Fail(e, "%s of the server has related-task in its _meta", m.Method())
					default:
						j.Saw()
					}
				}
			},
		},
	}
}
