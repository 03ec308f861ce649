package fault

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// tasksFaults are the faults of basic/utilities/tasks.
func tasksFaults() []Fault {
	return slices.Concat(taskCapabilities(), taskMembers(), taskStatuses(), taskCreations(), taskResults(),
		taskRequests(), taskRelated(), []Fault{
			exitsOn("tasks/get", "tasks.get.survived"), hangsOn("tasks/get", "tasks.get.survived"),
			exitsOn("tasks/result", "tasks.result.survived"), hangsOn("tasks/result", "tasks.result.survived"),
			exitsOn("tasks/list", "tasks.list.survived"), hangsOn("tasks/list", "tasks.list.survived"),
			exitsOn("tasks/cancel", "tasks.cancel.survived"), hangsOn("tasks/cancel", "tasks.cancel.survived"),
		})
}

// onTasksCapability changes the declared capability tasks, and nothing of what is
// offered.
func onTasksCapability(edit func(tasks server.Object)) apply {
	return onResult("initialize", func(o server.Object) {
		if tasks, ok := o["capabilities"].(server.Object)["tasks"].(server.Object); ok {
			edit(tasks)
		}
	})
}

// asksForTask matches requests of the method that ask for a task.
func asksForTask(method string) requestMatcher {
	return func(r *server.Request) bool { return r.Method == method && r.Params["task"] != nil }
}

// taskCapabilities are the faults of #capabilities, #tool-level-negotiation and
// #task-support-and-handling.
func taskCapabilities() []Fault {
	return []Fault{
		{
			Name: "tasks-undeclared", Does: "serves tasks/list without declaring tasks",
			CaughtBy: []string{"tasks.capability.declared"},
			Apply: combine(withoutCapability("tasks"),
				answerInstead("tasks/list", succeedWithOnly(server.Object{"tasks": []any{}}))),
		},
		{
			Name: "tasks-list-capability-text", Does: "declares tasks.list as a string",
			CaughtBy: []string{"tasks.capability.shape"},
			Apply:    onTasksCapability(set("list", "yes")),
		},
		{
			Name: "task-of-list-request", Does: "creates a task for prompts/list",
			CaughtBy: []string{"tasks.undeclared.none"},
			Apply: onResultWhen(asksForTask("prompts/list"), func(_ *server.Request, result server.Object) {
				const created = "2026-01-01T00:00:00Z"
				result["task"] = server.Object{
					"taskId": "a-task-of-a-list", "status": "working", "createdAt": created, "lastUpdatedAt": created,
					"ttl": nil,
				}
			}),
		},
		{
			Name: "task-param-refused", Does: "refuses resources/templates/list with the parameter task",
			CaughtBy: []string{"tasks.undeclared.normal"},
			Apply: answerWhen(asksForTask("resources/templates/list"),
				failWith(spec.InvalidParams, "The parameter task is not known here")),
		},
		{
			Name: "task-not-required", Does: "runs a tool that requires a task without one",
			CaughtBy: []string{"tasks.tool.required"},
			Apply: errorToResult("tools/call", func(r *server.Request, _ *server.Error) bool {
				return r.Params["name"] == "bind_catalogue" && r.Params["task"] == nil
			}, succeedWithOnly(server.Object{"content": []any{}})),
		},
		{
			Name:     "task-forbidden-ignored",
			Does:     "runs a tool that forbids tasks without one where the call asks for a task",
			CaughtBy: []string{"tasks.tool.forbidden"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					asked := asksForTask("tools/call")(r)
					v, problem := next(ctx, r)
					if !asked || problem == nil || problem.Code != spec.MethodNotFound {
						return v, problem
					}
					delete(r.Params, "task")
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "tasks-list-not-declared", Does: "serves tasks/list without declaring tasks.list",
			CaughtBy: []string{"tasks.list.gated"},
			Apply:    onTasksCapability(remove("list")),
		},
		{
			Name: "tasks-list-not-served", Does: "declares tasks.list and answers tasks/list with error -32601",
			CaughtBy: []string{"tasks.list.gated"},
			Apply:    answerInstead("tasks/list", unknownMethod),
		},
		{
			Name: "tasks-cancel-not-served", Does: "declares tasks.cancel and answers tasks/cancel with error -32601",
			CaughtBy: []string{"tasks.cancel.gated"},
			Apply:    answerInstead("tasks/cancel", unknownMethod),
		},
	}
}

// onCreatedTask changes a task in the answer that creates it.
func onCreatedTask(edit func(task server.Object)) apply {
	return onResult("tools/call", func(o server.Object) {
		if task, ok := o["task"].(server.Object); ok {
			edit(task)
		}
	})
}

// taskMembers are the faults of the members of tasks.
func taskMembers() []Fault {
	return []Fault{
		{
			Name: "task-poll-interval-text", Does: "writes the poll interval as a string",
			CaughtBy: []string{"tasks.task.shape"},
			Apply:    onResult("tasks/get", set("pollInterval", "soon")),
		},
		{
			Name: "task-created-at-local", Does: "writes createdAt in words",
			CaughtBy: []string{"tasks.created-at"},
			Apply:    onResult("tasks/get", set("createdAt", "Tuesday, 25 November")),
		},
		{
			Name: "task-last-updated-missing", Does: "leaves lastUpdatedAt out of a task",
			CaughtBy: []string{"tasks.last-updated-at"},
			Apply:    onResult("tasks/get", remove("lastUpdatedAt")),
		},
		{
			Name: "task-ttl-missing", Does: "leaves ttl out of a task",
			CaughtBy: []string{"tasks.ttl.reported"},
			Apply:    onResult("tasks/get", remove("ttl")),
		},
		{
			Name: "task-failure-unexplained", Does: "leaves statusMessage out of a failed task",
			CaughtBy: []string{"tasks.failed.message"},
			Apply: onResult("tasks/get", func(task server.Object) {
				if task["status"] == "failed" {
					delete(task, "statusMessage")
				}
			}),
		},
		{
			Name: "task-id-number", Does: "writes the id of a task as a number",
			CaughtBy: []string{"tasks.id.string"},
			Apply:    onCreatedTask(set("taskId", 7)),
		},
		{
			Name: "task-id-counted", Does: "counts its tasks to make their ids",
			CaughtBy: []string{"tasks.id.secure"},
			Apply:    replaceTaskIDs(func(n int, _ *server.Request) string { return fmt.Sprintf("task-%06d", n) }),
		},
		{
			Name: "task-id-of-client", Does: "gives a task the id that the client names",
			CaughtBy: []string{"tasks.id.own"},
			Apply: replaceTaskIDs(func(_ int, r *server.Request) string {
				return asText(r.Params["task"].(server.Object)["taskId"])
			}),
		},
		{
			Name: "tasks-list-by-id", Does: "lists tasks as an object by id",
			CaughtBy: []string{"tasks.list.shape"},
			Apply:    arrayToObject("tasks/list", "tasks", "taskId"),
		},
		{
			Name: "task-status-incomplete", Does: "leaves createdAt out of notifications of a status",
			CaughtBy: []string{"tasks.notification.shape"},
			Apply:    onNotification("notifications/tasks/status", remove("createdAt")),
		},
	}
}

// taskStatuses are the faults of #task-status-lifecycle and #task-cancellation.
func taskStatuses() []Fault {
	onListed := func(edit func(task server.Object)) apply { return onEntries("tasks/list", "tasks", edit) }
	return []Fault{
		{
			Name: "task-begins-waiting", Does: "begins a task as input_required",
			CaughtBy: []string{"tasks.status.initial"},
			Apply:    onCreatedTask(set("status", "input_required")),
		},
		{
			Name: "task-works-again", Does: "lists completed tasks as working",
			CaughtBy: []string{"tasks.status.final"},
			Apply:    onListed(replace("status", "completed", "working")),
		},
		{
			Name: "task-cancelled-completes", Does: "lists cancelled tasks as completed",
			CaughtBy: []string{"tasks.cancel.final"},
			Apply:    onListed(replace("status", "cancelled", "completed")),
		},
		{
			Name: "task-cancelled-goes-on", Does: "continues the work of a cancelled task",
			CaughtBy: []string{"tasks.cancel.stops"},
			Also:     map[string]string{"progress.task.ended": "the work that continues reports progress"},
			Apply:    reportAfterTaskCancel,
		},
		{
			Name: "task-cancelled-later", Does: "answers tasks/cancel with a working task",
			CaughtBy: []string{"tasks.cancel.status"},
			Apply:    onResult("tasks/cancel", replace("status", "cancelled", "working")),
		},
		{
			Name: "task-ended-cancelled", Does: "accepts tasks/cancel of an ended task and leaves it as it is",
			CaughtBy: []string{"tasks.cancel.terminal"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if problem == nil || r.Method != "tasks/cancel" {
						return v, problem
					}
					return next(ctx, withMethod(r, "tasks/get"))
				}
			}),
		},
		{
			Name: "task-failed-completed", Does: "reports a task as completed whose tool failed",
			CaughtBy: []string{"tasks.failed.status"},
			Apply: onTasksOf("scan_card", func(_ *server.Request, v any, problem *server.Error) (any, *server.Error) {
				if task, ok := v.(server.Object); ok {
					replace("status", "failed", "completed")(task)
				}
				return v, problem
			}),
		},
	}
}
