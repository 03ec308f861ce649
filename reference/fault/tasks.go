package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"

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
			Breaks:   []string{"tasks-capability-declared"},
			CaughtBy: []string{"tasks.capability.declared"},
			Apply: all(func(o *server.Options) { o.Library = without("tasks") },
				instead("tasks/list", func(*server.Request) (any, *server.Error) { return server.Object{"tasks": []any{}}, nil })),
		},
		{
			Name: "tasks-list-capability-text", Does: "declares tasks.list by a text",
			Breaks:   []string{"tasks-capability-shape"},
			CaughtBy: []string{"tasks.capability.shape"},
			Apply:    onCapability(func(tasks server.Object) { tasks["list"] = "yes" }),
		},
		{
			Name: "tasks-of-lists", Does: "makes a task of prompts/list",
			Breaks:   []string{"tasks-requests-exhaustive"},
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
			Breaks:   []string{"tasks-undeclared-processed-normally"},
			CaughtBy: []string{"tasks.undeclared.normal"},
			Apply: augmented("resources/templates/list", func(context.Context, *server.Request, server.Handler) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The parameter task is not known here"}
			}),
		},
		{
			Name: "task-not-required", Does: "calls a tool that requires a task without one",
			Breaks:   []string{"tasks-required-tool-32601"},
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
			Breaks:   []string{"tasks-forbidden-tool-32601"},
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
			Breaks:   []string{"tasks-list-gated"},
			CaughtBy: []string{"tasks.list.gated"},
			Apply:    onCapability(func(tasks server.Object) { delete(tasks, "list") }),
		},
		{
			Name: "tasks-list-not-served", Does: "declares tasks.list and does not know tasks/list",
			Breaks:   []string{"tasks-list-gated"},
			CaughtBy: []string{"tasks.list.gated"},
			Apply:    instead("tasks/list", unknownMethod),
		},
		{
			Name: "tasks-cancel-not-served", Does: "declares tasks.cancel and does not know tasks/cancel",
			Breaks:   []string{"tasks-cancel-gated"},
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
			Breaks:   []string{"tasks-id-string"},
			CaughtBy: []string{"tasks.id.string"},
			Apply:    onCreated(func(task server.Object) { task["taskId"] = 7 }),
		},
		{
			Name: "task-id-counted", Does: "counts its tasks to name them",
			Breaks:   []string{"tasks-secure-ids-without-context"},
			CaughtBy: []string{"tasks.id.secure"},
			Apply:    renamed(func(n int, _ *server.Request) string { return fmt.Sprintf("task-%06d", n) }),
		},
		{
			Name: "task-id-of-client", Does: "gives a task the id that the client asks for",
			Breaks:   []string{"tasks-id-by-receiver"},
			CaughtBy: []string{"tasks.id.own"},
			Apply: renamed(func(_ int, r *server.Request) string {
				id, _ := r.Params["task"].(server.Object)["taskId"].(string)
				return id
			}),
		},
		{
			Name: "tasks-list-by-id", Does: "lists tasks as an object by their ids",
			Breaks:   []string{"tasks-list-result-shape"},
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
			Breaks:   []string{"tasks-status-notification-shape"},
			CaughtBy: []string{"tasks.notification.shape"},
			Apply: onNotified("notifications/tasks/status", func(params server.Object) {
				delete(params, "createdAt")
			}),
		},
	}
}

// taskLives are the faults of #task-status-lifecycle and #task-cancellation.
func taskLives() []Fault {
	return []Fault{
		{
			Name: "task-begins-waiting", Does: "begins a task as input_required",
			Breaks:   []string{"tasks-initial-working"},
			CaughtBy: []string{"tasks.status.initial"},
			Apply:    onCreated(func(task server.Object) { task["status"] = "input_required" }),
		},
		{
			Name: "task-works-again", Does: "lists completed tasks as working",
			Breaks:   []string{"tasks-valid-transitions", "tasks-terminal-final"},
			CaughtBy: []string{"tasks.status.final"},
			Apply:    onListedTasks(func(task server.Object) { replace(task, "completed", "working") }),
		},
		{
			Name: "task-cancelled-completes", Does: "lists cancelled tasks as completed",
			Breaks:   []string{"tasks-cancelled-stays"},
			CaughtBy: []string{"tasks.cancel.final"},
			Apply:    onListedTasks(func(task server.Object) { replace(task, "cancelled", "completed") }),
		},
		{
			Name: "task-cancelled-goes-on", Does: "goes on with a task when it is cancelled",
			Breaks:   []string{"tasks-cancel-stops"},
			CaughtBy: []string{"tasks.cancel.stops"},
			Apply:    goesOn,
		},
		{
			Name: "task-cancelled-later", Does: "answers tasks/cancel with a task that is still working",
			Breaks:   []string{"tasks-cancel-transitions-first"},
			CaughtBy: []string{"tasks.cancel.status"},
			Apply:    onResult("tasks/cancel", func(task server.Object) { replace(task, "cancelled", "working") }),
		},
		{
			Name: "task-ended-cancelled", Does: "accepts that a task that has ended is cancelled, and leaves it as it is",
			Breaks:   []string{"tasks-cancel-terminal-32602"},
			CaughtBy: []string{"tasks.cancel.terminal"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if problem == nil || r.Method != "tasks/cancel" {
						return v, problem
					}
					return next(ctx, as(r, "tasks/get"))
				}
			}),
		},
		{
			Name: "task-failed-completed", Does: "calls a task completed whose tool failed",
			Breaks:   []string{"tasks-iserror-failed"},
			CaughtBy: []string{"tasks.failed.status"},
			Apply: aboutTasksOf("scan_card", func(_ *server.Request, v any, problem *server.Error) (any, *server.Error) {
				if task, ok := v.(server.Object); ok {
					replace(task, "failed", "completed")
				}
				return v, problem
			}),
		},
	}
}

// taskEnds are the faults of #result-retrieval and #task-execution-errors.
func taskEnds() []Fault {
	return []Fault{
		{
			Name: "task-not-made", Does: "calls stocktake without a task, when one is asked for",
			Breaks:   []string{"tasks-create-result"},
			CaughtBy: []string{"tasks.create.result"},
			Apply: augmented("tools/call", func(ctx context.Context, r *server.Request, next server.Handler) (any, *server.Error) {
				if r.Params["name"] == "stocktake" {
					delete(r.Params, "task")
				}
				return next(ctx, r)
			}),
		},
		{
			Name: "task-made-late", Does: "does the work of stocktake before it answers with the task",
			Breaks:   []string{"tasks-create-result-prompt"},
			CaughtBy: []string{"tasks.create.prompt"},
			Apply:    madeLate,
		},
		{
			Name: "task-result-early", Does: "does not wait for the end of stocktake to answer tasks/result",
			Breaks:   []string{"tasks-result-blocks"},
			CaughtBy: []string{"tasks.result.blocks"},
			Apply:    resultEarly,
		},
		{
			Name: "task-result-once", Does: "forgets the result of a task when it was asked for",
			Breaks:   []string{"tasks-result-terminal-final"},
			CaughtBy: []string{"tasks.result.kept"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				var given sync.Map
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if _, again := given.Load(r.Params["taskId"]); again && r.Method == "tasks/result" {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "The result was taken"}
					}
					v, problem := next(ctx, r)
					if r.Method == "tasks/result" && problem == nil {
						given.Store(r.Params["taskId"], true)
					}
					return v, problem
				}
			}),
		},
		{
			Name: "task-result-other", Does: "gives another result of stocktake when it was a task",
			Breaks:   []string{"tasks-result-identical"},
			CaughtBy: []string{"tasks.result.identical"},
			Apply: ofResults("stocktake", func(o server.Object) {
				o["content"] = []any{server.Object{"type": "text", "text": "The task is done."}}
			}),
		},
		{
			Name: "task-result-wrapped", Does: "wraps the result of bind_catalogue",
			Breaks:   []string{"tasks-result-structure"},
			CaughtBy: []string{"tasks.result.structure"},
			Apply: ofResults("bind_catalogue", func(o server.Object) {
				o["result"] = server.Object{"content": o["content"]}
				delete(o, "content")
			}),
		},
		{
			Name: "task-links-nowhere", Does: "links to a resource that there is not in the result of a tool that is always a task",
			Breaks:   []string{"tools-resource-link-readable"},
			CaughtBy: []string{"tools.link.readable"},
			Apply: ofResults("bind_catalogue", func(o server.Object) {
				o["content"] = append(o["content"].([]any), server.Object{"type": "resource_link", "uri": "library://nowhere", "name": "nowhere"})
			}),
		},
		{
			Name: "task-failure-as-error", Does: "answers tasks/result with an error when the tool failed",
			Breaks:   []string{"tasks-result-success-response"},
			CaughtBy: []string{"tasks.result.response"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if o, ok := v.(server.Object); ok && r.Method == "tasks/result" && o["isError"] == true {
						return nil, &server.Error{Code: spec.InternalError, Message: "The tool failed"}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "task-error-other", Does: "answers tasks/result with an error of its own where the call had another",
			Breaks:   []string{"tasks-result-same-error"},
			CaughtBy: []string{"tasks.result.error"},
			Apply: onError("tasks/result", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.InternalError {
					return nil, &server.Error{Code: spec.InternalError, Message: "The task has failed"}
				}
				return nil, e
			}),
		},
	}
}

// taskRequests are the faults of #task-listing, #protocol-errors and
// #getting-tasks.
func taskRequests() []Fault {
	return []Fault{
		{
			Name: "task-unknown-to-get", Does: "answers tasks/get with an internal error",
			Breaks:   []string{"tasks-get-answered"},
			CaughtBy: []string{"tasks.get.answered"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if r.Method == "tasks/get" && problem == nil {
						return nil, &server.Error{Code: spec.InternalError, Message: "The shelf of tasks is locked"}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "task-unknown-as-request", Does: "answers tasks/get of a task that does not exist with -32600",
			Breaks:   []string{"tasks-unknown-id-32602"},
			CaughtBy: []string{"tasks.id.unknown"},
			Apply: onError("tasks/get", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InvalidRequest, Message: e.Message}
			}),
		},
		{
			Name: "tasks-cursor-ignored", Does: "answers tasks/list with an invalid cursor with the first page",
			Breaks:   []string{"tasks-list-invalid-cursor-32602"},
			CaughtBy: []string{"tasks.list.cursor"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if r.Method != "tasks/list" || problem == nil {
						return v, problem
					}
					return next(ctx, uncursored(r))
				}
			}),
		},
		{
			Name: "tasks-next-page-hidden", Does: "does not tell that there are more tasks",
			Breaks:   []string{"tasks-list-next-cursor"},
			CaughtBy: []string{"tasks.list.complete"},
			Apply:    onResult("tasks/list", func(o server.Object) { delete(o, "nextCursor") }),
		},
		{
			Name: "tasks-ended-unlisted", Does: "does not list tasks that have ended, which tasks/get knows",
			Breaks:   []string{"tasks-list-contains-gettable"},
			CaughtBy: []string{"tasks.list.complete"},
			Apply: onResult("tasks/list", func(o server.Object) {
				o["tasks"] = slices.DeleteFunc(o["tasks"].([]any), func(v any) bool {
					status := v.(server.Object)["status"]
					return status == "completed" || status == "failed"
				})
			}),
		},
	}
}

// taskNames are the faults of #associating-task-related-messages.
func taskNames() []Fault {
	return []Fault{
		{
			Name: "task-of-meta", Does: "takes the task of the _meta for the one that tasks/get is about",
			Breaks:   []string{"tasks-taskid-param-authoritative", "tasks-related-task-ignored"},
			CaughtBy: []string{"tasks.related.ignored"},
			Apply: onRequest("tasks/get", func(r *server.Request) {
				meta, _ := r.Params["_meta"].(server.Object)
				if named, ok := meta[relatedTask].(server.Object); ok {
					r.Params["taskId"] = named["taskId"]
				}
			}),
		},
		{
			Name: "task-result-unnamed", Does: "does not name the task in the answer to tasks/result",
			Breaks:   []string{"tasks-result-related-task"},
			CaughtBy: []string{"tasks.related.result"},
			Apply:    onResult("tasks/result", func(o server.Object) { delete(o, "_meta") }),
		},
		{
			Name: "task-progress-unnamed", Does: "does not name the task in its progress",
			Breaks:   []string{"tasks-related-task-metadata"},
			CaughtBy: []string{"tasks.related.progress"},
			Apply:    onNotified("notifications/progress", func(params server.Object) { delete(params, "_meta") }),
		},
		{
			Name: "task-named-twice", Does: "names the task in the _meta of the answer to tasks/get",
			Breaks:   []string{"tasks-no-related-task-in-results"},
			CaughtBy: []string{"tasks.related.answers"},
			Apply: onResult("tasks/get", func(task server.Object) {
				task["_meta"] = server.Object{relatedTask: server.Object{"taskId": task["taskId"]}}
			}),
		},
		{
			Name: "task-status-named-twice", Does: "names the task in the _meta of a status notification",
			Breaks:   []string{"tasks-no-related-task-in-status"},
			CaughtBy: []string{"tasks.related.notification"},
			Apply: onNotified("notifications/tasks/status", func(params server.Object) {
				params["_meta"] = server.Object{relatedTask: server.Object{"taskId": params["taskId"]}}
			}),
		},
	}
}
