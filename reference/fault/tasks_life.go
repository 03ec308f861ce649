package fault

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// taskLives are the faults of #task-status-lifecycle and #task-cancellation.
func taskLives() []Fault {
	return []Fault{
		{
			Name: "task-begins-waiting", Does: "begins a task as input_required",
			CaughtBy: []string{"tasks.status.initial"},
			Apply:    onCreated(func(task server.Object) { task["status"] = "input_required" }),
		},
		{
			Name: "task-works-again", Does: "lists completed tasks as working",
			CaughtBy: []string{"tasks.status.final"},
			Apply:    onListedTasks(func(task server.Object) { replace(task, "completed", "working") }),
		},
		{
			Name: "task-cancelled-completes", Does: "lists cancelled tasks as completed",
			CaughtBy: []string{"tasks.cancel.final"},
			Apply:    onListedTasks(func(task server.Object) { replace(task, "cancelled", "completed") }),
		},
		{
			Name: "task-cancelled-goes-on", Does: "goes on with a task when it is cancelled",
			CaughtBy: []string{"tasks.cancel.stops"},
			Also:     map[string]string{"progress.task.ended": "the work that goes on reports its progress"},
			Apply:    taskGoesOn,
		},
		{
			Name: "task-cancelled-later", Does: "answers tasks/cancel with a task that is still working",
			CaughtBy: []string{"tasks.cancel.status"},
			Apply:    onResult("tasks/cancel", func(task server.Object) { replace(task, "cancelled", "working") }),
		},
		{
			Name: "task-ended-cancelled", Does: "accepts that a task that has ended is cancelled, and leaves it as it is",
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
			CaughtBy: []string{"tasks.create.prompt"},
			Apply:    madeLate,
		},
		{
			Name: "task-result-early", Does: "does not wait for the end of stocktake to answer tasks/result",
			CaughtBy: []string{"tasks.result.blocks"},
			Also:     map[string]string{"progress.task.ended": "the work goes on behind its result and reports its progress"},
			Apply:    resultEarly,
		},
		{
			Name: "task-result-once", Does: "forgets the result of a task when it was asked for",
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
			CaughtBy: []string{"tasks.result.identical"},
			Apply: ofResults("stocktake", func(o server.Object) {
				o["content"] = []any{server.Object{"type": "text", "text": "The task is done."}}
			}),
		},
		{
			Name: "task-result-wrapped", Does: "wraps the result of bind_catalogue",
			CaughtBy: []string{"tasks.result.structure"},
			Apply: ofResults("bind_catalogue", func(o server.Object) {
				o["result"] = server.Object{"content": o["content"]}
				delete(o, "content")
			}),
		},
		{
			Name: "task-links-nowhere", Does: "links to a resource that there is not in the result of a tool that is always a task",
			CaughtBy: []string{"tools.link.readable"},
			Apply: ofResults("bind_catalogue", func(o server.Object) {
				o["content"] = append(o["content"].([]any), server.Object{"type": "resource_link", "uri": "library://nowhere", "name": "nowhere"})
			}),
		},
		{
			Name: "task-failure-as-error", Does: "answers tasks/result with an error when the tool failed",
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
			CaughtBy: []string{"tasks.id.unknown"},
			Apply: onError("tasks/get", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InvalidRequest, Message: e.Message}
			}),
		},
		{
			Name: "tasks-cursor-ignored", Does: "answers tasks/list with an invalid cursor with the first page",
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
			CaughtBy: []string{"tasks.related.result"},
			Apply:    onResult("tasks/result", func(o server.Object) { delete(o, "_meta") }),
		},
		{
			Name: "task-progress-unnamed", Does: "does not name the task in its progress",
			CaughtBy: []string{"tasks.related.progress"},
			Apply:    onNotified("notifications/progress", func(params server.Object) { delete(params, "_meta") }),
		},
		{
			Name: "task-named-twice", Does: "names the task in the _meta of the answer to tasks/get",
			CaughtBy: []string{"tasks.related.answers"},
			Apply: onResult("tasks/get", func(task server.Object) {
				task["_meta"] = server.Object{relatedTask: server.Object{"taskId": task["taskId"]}}
			}),
		},
		{
			Name: "task-status-named-twice", Does: "names the task in the _meta of a status notification",
			CaughtBy: []string{"tasks.related.notification"},
			Apply: onNotified("notifications/tasks/status", func(params server.Object) {
				params["_meta"] = server.Object{relatedTask: server.Object{"taskId": params["taskId"]}}
			}),
		},
	}
}
