package tasks

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// The reasons why several judges are not observed, and what helps.
const (
	noTaskAnswer   = "no answer of the server holds a task"
	noTaskCreated  = "the server created no task"
	noTaskResult   = "the server answered no tasks/result with a result"
	noNotification = "the server sent no notifications/tasks/status"
	offerTask      = taskcalls.HintTask
	keepTask       = "keep a task and its result until its ttl has passed"
	notifyStatus   = "send notifications/tasks/status for a task"
)

// judges returns the judges of basic/utilities/tasks.
func judges() []check.Check {
	all := slices.Concat(judgesOfCapability(), judgesOfMembers(), judgesOfMessages(), judgesOfLifecycle(),
		judgesOfInput(), judgesOfRelations(), judgesOfPolls())
	for i := range all {
		all[i].In = offer.TaskRevisions
	}
	return all
}

// judgesOfCapability returns the judges of #capabilities.
func judgesOfCapability() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.capability.declared",
			Says:  "a server that creates tasks or answers requests about tasks declares the capability tasks",
			Level: spec.Must,
			Rules: []string{"tasks-capability-declared"},
			Idle:  "the server answered no request that asks for a task or is about one",
			Hint:  expect.HintReply,
			// A server without the capability may refuse such requests.
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Server).Exists() {
					return
				}
				declared := j.Declares(wire.Server, "tasks")
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					request, ok := j.RequestOf(e)
					if !ok || !e.Message.IsResponse() {
						return false
					}
					method := request.Message.Method()
					isAboutTask := strings.HasPrefix(method, "tasks/")
					if !isAboutTask && !request.Message.Params().Get("task").Exists() {
						return false
					}
					hasTask := e.Message.Result().Get("task.taskId").Exists()
					served := e.Message.Kind == wire.Result && (isAboutTask || hasTask)
					if served && !declared {
						j.Fail(e, "the server serves %s for a task, but does not declare tasks", method)
					}
					return served || !declared
				})
			},
		},
		{
			ID:    "tasks.capability.shape",
			Says:  "the capability tasks holds no other than the objects list, cancel and requests.tools.call",
			Level: spec.Must,
			Rules: []string{"tasks-capability-shape"},
			Idle:  "the server does not declare the capability tasks",
			Hint:  "declare tasks in the capabilities",
			Judge: func(j *check.J) {
				check.Each(j, transcript.ResultsOf(j, transcript.OpeningMethod(j)), func(e wire.Entry) bool {
					capabilities := e.Message.Result().Get("capabilities")
					if !wire.Member(capabilities, "tasks").Exists() {
						return false
					}
					for _, v := range schema.For(j.Rev).Validate("ServerCapabilities", []byte(capabilities.Raw)) {
						switch {
						// lifecycle.capabilities.types
						case !transcript.PointerMatches(v.Pointer(), []string{"/tasks/**"}):
						case isBooleanMember(capabilities, v.InstancePath):
							j.Note("the capability %s is a boolean; the schema has an object", v.InstancePath)
						default:
							j.Fail(e, "capabilities: %v", v)
						}
					}
					return true
				})
			},
		},
	}
}

// isBooleanMember reports whether a member of the capability tasks is a boolean: the
// page calls the members boolean properties, and shows objects.
func isBooleanMember(capabilities gjson.Result, pointer string) bool {
	path := strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
	return pointer != "/tasks" && capabilities.Get(path).IsBool()
}

// judgesOfMessages returns the judges of the other messages that hold tasks or their
// results.
func judgesOfMessages() []check.Check {
	return []check.Check{
		{
			ID:    "tasks.list.shape",
			Says:  "the result of tasks/list has an array of tasks",
			Level: spec.Must,
			Needs: "tasks.list",
			Rules: []string{"tasks-list-result-shape"},
			Idle:  "the server returned no list of tasks",
			Hint:  "answer tasks/list with a result",
			Judge: func(j *check.J) {
				check.Each(j, transcript.Results(j, "tasks/list"), func(r transcript.Answered) bool {
					tasks := r.Result.Get("tasks")
					if !tasks.IsArray() {
						j.Fail(r.Answer, "tasks is %s, not an array", wire.TypeName(tasks))
						return true
					}
					for i, task := range tasks.Array() {
						if !task.IsObject() {
							j.Fail(r.Answer, "tasks/%d is %s, not a task", i, wire.TypeName(task))
							break
						}
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.result.structure",
			Says:  "the result of a task of tools/call is a result of tools/call",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-result-structure"},
			Idle:  noTaskResult,
			Hint:  offerTask,
			// All tasks that a client creates are of tools/call.
			Judge: func(j *check.J) {
				check.Each(j, transcript.Results(j, "tasks/result"), func(r transcript.Answered) bool {
					for _, v := range schema.For(j.Rev).Validate("CallToolResult", []byte(r.Result.Raw)) {
						if !transcript.PointerMatches(v.Pointer(), []string{"**/_meta/**"}) {
							j.Fail(r.Answer, "the result of the task is not a CallToolResult: %s", v)
							break
						}
					}
					return true
				})
			},
		},
		{
			ID:    "tasks.notification.shape",
			Says:  "notifications/tasks/status holds the whole task",
			Level: spec.Must,
			Needs: "tasks",
			Rules: []string{"tasks-status-notification-shape"},
			Idle:  noNotification,
			Hint:  notifyStatus,
			Judge: func(j *check.J) {
				check.Each(j, statusNotifications(j), func(e wire.Entry) bool {
					params := e.Message.Params()
					if !params.IsObject() {
						j.Fail(e, "params is %s, not a task", wire.TypeName(params))
					} else if v := taskViolation(j, params, func(string) bool { return true }); v != "" {
						j.Fail(e, "params is not a task: %s", v)
					}
					return true
				})
			},
		},
	}
}
