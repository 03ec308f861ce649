package fault

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// taskCreations are the faults of the answers that create tasks.
func taskCreations() []Fault {
	return []Fault{
		{
			Name: "task-not-made", Does: "runs stocktake without a task where the call asks for one",
			CaughtBy: []string{"tasks.create.result"},
			Apply: onRequestWhen(isCall("stocktake"), func(r *server.Request) {
				delete(r.Params, "task")
			}),
		},
		{
			Name: "task-made-late", Does: "does the work of stocktake before it answers with the task",
			CaughtBy: []string{"tasks.create.prompt"},
			Apply:    createTasksLate,
		},
	}
}

// taskResults are the faults of #result-retrieval and #task-execution-errors.
func taskResults() []Fault {
	return []Fault{
		{
			Name: "task-result-early", Does: "refuses tasks/result before the end of stocktake",
			CaughtBy: []string{"tasks.result.blocks"},
			Also:     map[string]string{"progress.task.ended": "the work that continues reports progress"},
			Apply:    refuseEarlyResults,
		},
		{
			Name: "task-result-once", Does: "forgets the result of a task after tasks/result",
			CaughtBy: []string{"tasks.result.kept"},
			Apply:    returnResultsOnce,
		},
		{
			Name: "task-result-other", Does: "returns another result of stocktake where it was a task",
			CaughtBy: []string{"tasks.result.identical"},
			Apply: onTaskResults("stocktake",
				set("content", []any{server.Object{"type": "text", "text": "The task is done."}})),
		},
		{
			Name: "task-result-wrapped", Does: "wraps the result of bind_catalogue in a member result",
			CaughtBy: []string{"tasks.result.structure"},
			Apply: onTaskResults("bind_catalogue", func(o server.Object) {
				o["result"] = server.Object{"content": o["content"]}
				delete(o, "content")
			}),
		},
		{
			Name: "task-failure-as-error", Does: "answers tasks/result with an error where the tool failed",
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
			Name: "task-error-other", Does: "answers tasks/result with another error than the call",
			CaughtBy: []string{"tasks.result.error"},
			Apply: onError("tasks/result", hasCode(spec.InternalError), func(e *server.Error) {
				*e = server.Error{Code: spec.InternalError, Message: "The task has failed"}
			}),
		},
	}
}

func returnResultsOnce(o *server.Options) {
	onHandler(func(next server.Handler) server.Handler {
		var returned sync.Map
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method != "tasks/result" {
				return next(ctx, r)
			}
			if _, again := returned.Load(r.Params["taskId"]); again {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "The result was returned before"}
			}
			v, problem := next(ctx, r)
			if problem == nil {
				returned.Store(r.Params["taskId"], true)
			}
			return v, problem
		}
	})(o)
}

// taskRequests are the faults of #task-listing, #protocol-errors and #getting-tasks.
func taskRequests() []Fault {
	return []Fault{
		{
			Name: "task-unknown-to-get", Does: "answers tasks/get with an internal error",
			CaughtBy: []string{"tasks.get.answered"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if r.Method == "tasks/get" && problem == nil {
						return nil, &server.Error{Code: spec.InternalError, Message: "The task cannot be read"}
					}
					return v, problem
				}
			}),
		},
		{
			Name: "task-unknown-as-request", Does: "answers tasks/get of an unknown task with error -32600",
			CaughtBy: []string{"tasks.id.unknown"},
			Apply:    recode("tasks/get", anyError, spec.InvalidRequest),
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
					return next(ctx, withCursor(r, nil))
				}
			}),
		},
		{
			Name: "tasks-next-page-hidden", Does: "leaves nextCursor out of tasks/list",
			Breaks:   []string{"tasks-list-next-cursor"},
			CaughtBy: []string{"tasks.list.complete"},
			Apply:    onResult("tasks/list", remove("nextCursor")),
		},
		{
			Name: "tasks-ended-unlisted", Does: "does not list ended tasks, which tasks/get returns",
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

// relatedTask is the key of _meta that names the task that a message belongs to.
const relatedTask = "io.modelcontextprotocol/related-task"

// nameTask names the task of a result or of params in its _meta.
func nameTask(o server.Object) {
	o["_meta"] = server.Object{relatedTask: server.Object{"taskId": o["taskId"]}}
}

// taskRelated are the faults of #associating-task-related-messages.
func taskRelated() []Fault {
	return []Fault{
		{
			Name: "task-id-from-meta", Does: "takes the task of the _meta for the one that tasks/get names",
			CaughtBy: []string{"tasks.related.ignored"},
			Apply: onRequest("tasks/get", func(r *server.Request) {
				if named, ok := metaOf(r)[relatedTask].(server.Object); ok {
					r.Params["taskId"] = named["taskId"]
				}
			}),
		},
		{
			Name: "task-result-unnamed", Does: "leaves the task out of the _meta of the answer to tasks/result",
			CaughtBy: []string{"tasks.related.result"},
			Apply:    onResult("tasks/result", remove("_meta")),
		},
		{
			Name: "task-progress-unnamed", Does: "leaves the task out of the _meta of progress notifications",
			CaughtBy: []string{"tasks.related.progress"},
			Apply:    onProgress(remove("_meta")),
		},
		{
			Name: "task-named-twice", Does: "names the task in the _meta of the answer to tasks/get",
			CaughtBy: []string{"tasks.related.answers"},
			Apply:    onResult("tasks/get", nameTask),
		},
		{
			Name: "task-status-named-twice", Does: "names the task in the _meta of notifications of a status",
			CaughtBy: []string{"tasks.related.notification"},
			Apply:    onNotification("notifications/tasks/status", nameTask),
		},
	}
}
