package fault

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// tasks are the faults of basic/utilities/tasks.
func tasks() []Fault {
	all := slices.Concat(taskCapabilities(), taskMembers(), taskLives(), taskEnds(), taskRequests(), taskNames())
	for i := range all {
		all[i].In = spec.Only(spec.V2025_11_25)
	}
	return all
}

// taskCapabilities are the faults of #capabilities, #tool-level-negotiation
// and #task-support-and-handling.
func taskCapabilities() []Fault {
	return []Fault{
		{
			Name: "tasks-undeclared", Does: "lists tasks without declaring them",
			CaughtBy: []string{"tasks.capability.declared"},
			Apply: all(func(o *server.Options) { o.Library = without("tasks") },
				instead("tasks/list", func(*server.Request) (any, *server.Error) { return server.Object{"tasks": []any{}}, nil })),
		},
		{
			Name: "tasks-list-capability-text", Does: "declares tasks.list by a text",
			CaughtBy: []string{"tasks.capability.shape"},
			Apply:    onCapability(func(tasks server.Object) { tasks["list"] = "yes" }),
		},
		{
			Name: "tasks-of-lists", Does: "makes a task of prompts/list",
			CaughtBy: []string{"tasks.undeclared.none"},
			Apply: augmented("prompts/list", func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
				v, problem := next(ctx, r)
				if o, ok := v.(server.Object); ok {
					o["task"] = server.Object{"taskId": "a-task-of-a-list", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": nil}
				}
				return v, problem
			}),
		},
		{
			Name: "tasks-member-refused", Does: "refuses resources/templates/list when it asks for a task",
			CaughtBy: []string{"tasks.undeclared.normal"},
			Apply: augmented("resources/templates/list", func(context.Context, *server.Request, server.Handler) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The parameter task is not known here"}
			}),
		},
		{
			Name: "task-not-required", Does: "calls a tool that requires a task without one",
			CaughtBy: []string{"tasks.tool.required"},
			Apply: onError("tools/call", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if r.Params["name"] == "bind_catalogue" && r.Params["task"] == nil {
					return server.Object{"content": []any{}}, nil
				}
				return nil, e
			}),
		},
		{
			Name: "task-forbidden-ignored", Does: "calls a tool that cannot be a task without one, when one is asked for",
			CaughtBy: []string{"tasks.tool.forbidden"},
			Apply: augmented("tools/call", func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
				v, problem := next(ctx, r)
				if problem == nil || problem.Code != spec.MethodNotFound {
					return v, problem
				}
				delete(r.Params, "task")
				return next(ctx, r)
			}),
		},
		{
			Name: "tasks-list-not-declared", Does: "serves tasks/list and does not declare tasks.list",
			CaughtBy: []string{"tasks.list.gated"},
			Apply:    onCapability(func(tasks server.Object) { delete(tasks, "list") }),
		},
		{
			Name: "tasks-list-not-served", Does: "declares tasks.list and does not know tasks/list",
			CaughtBy: []string{"tasks.list.gated"},
			Apply:    instead("tasks/list", unknownMethod),
		},
		{
			Name: "tasks-cancel-not-served", Does: "declares tasks.cancel and does not know tasks/cancel",
			CaughtBy: []string{"tasks.cancel.gated"},
			Apply:    instead("tasks/cancel", unknownMethod),
		},
	}
}

// taskMembers are the faults of the members of tasks.
func taskMembers() []Fault {
	member := func(name, does, row, check string, edit func(task server.Object)) Fault {
		return Fault{Name: name, Does: does, Breaks: []string{row}, CaughtBy: []string{check}, Apply: onResult("tasks/get", edit)}
	}
	return []Fault{
		member("task-poll-interval-text", "gives the poll interval as a text", "tasks-task-shape", "tasks.task.shape", func(task server.Object) {
			task["pollInterval"] = "soon"
		}),
		member("task-created-at-local", "gives the creation of a task as a person would write it", "tasks-created-at", "tasks.created-at", func(task server.Object) {
			task["createdAt"] = "Tuesday, 25 November"
		}),
		member("task-last-updated-missing", "does not tell when a task was last updated", "tasks-last-updated-at", "tasks.last-updated-at", func(task server.Object) {
			delete(task, "lastUpdatedAt")
		}),
		member("task-ttl-missing", "does not tell how long a task is kept", "tasks-ttl-reported", "tasks.ttl.reported", func(task server.Object) {
			delete(task, "ttl")
		}),
		member("task-failure-unexplained", "does not tell why a task failed", "tasks-failed-status-message", "tasks.failed.message", func(task server.Object) {
			if task["status"] == "failed" {
				delete(task, "statusMessage")
			}
		}),
		{
			Name: "task-id-number", Does: "gives a task a number for an id",
			CaughtBy: []string{"tasks.id.string"},
			Apply:    onCreated(func(task server.Object) { task["taskId"] = 7 }),
		},
		{
			Name: "task-id-counted", Does: "counts its tasks to name them",
			CaughtBy: []string{"tasks.id.secure"},
			Apply:    taskIDs(func(n int, _ *server.Request) string { return fmt.Sprintf("task-%06d", n) }),
		},
		{
			Name: "task-id-of-client", Does: "gives a task the id that the client asks for",
			CaughtBy: []string{"tasks.id.own"},
			Apply: taskIDs(func(_ int, r *server.Request) string {
				id, _ := r.Params["task"].(server.Object)["taskId"].(string)
				return id
			}),
		},
		{
			Name: "tasks-list-by-id", Does: "lists tasks as an object by their ids",
			CaughtBy: []string{"tasks.list.shape"},
			Apply: onResult("tasks/list", func(o server.Object) {
				byID := server.Object{}
				for _, task := range o["tasks"].([]any) {
					byID[task.(server.Object)["taskId"].(string)] = task
				}
				o["tasks"] = byID
			}),
		},
		{
			Name: "task-status-bare", Does: "tells of a status without the rest of the task",
			CaughtBy: []string{"tasks.notification.shape"},
			Apply: onNotified("notifications/tasks/status", func(params server.Object) {
				delete(params, "createdAt")
			}),
		},
	}
}
