package fault

import (
	"context"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// taskExtensionStates are faults in the results of tasks/get.
func taskExtensionStates() []Fault {
	return []Fault{
		{
			Name:     "contract-task-submitted",
			Does:     "answers the first tasks/get of a task of slow_compute with the status submitted",
			CaughtBy: []string{"official.tasks.working"},
			Apply: onFirstTaskGet("slow_compute", func(o server.Object) (any, *server.Error) {
				replace("status", "working", "submitted")(o)
				return o, nil
			}),
		},
		{
			Name: "contract-task-known-later", Does: "refuses the first tasks/get of a task of slow_compute",
			CaughtBy: []string{"official.tasks.working"},
			Apply: onFirstTaskGet("slow_compute", func(server.Object) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "There is no such task yet"}
			}),
		},
		{
			Name: "contract-task-result-missing", Does: "leaves the result out of a completed task of slow_compute",
			CaughtBy: []string{"official.tasks.completed"},
			Apply:    onTaskGet("slow_compute", remove("result")),
		},
		{
			Name: "contract-task-tool-error-failed", Does: "reports the task of failing_job as failed",
			CaughtBy: []string{"official.tasks.tool-error"},
			Apply: onTaskGet("failing_job", func(o server.Object) {
				if replace("status", "completed", "failed")(o); o["status"] == "failed" {
					delete(o, "result")
					o["error"] = server.Object{"code": spec.InternalError, "message": "The job has failed."}
				}
			}),
		},
		{
			Name: "contract-task-error-completed", Does: "reports the task of protocol_error_job as completed",
			CaughtBy: []string{"official.tasks.protocol-error"},
			Apply: onTaskGet("protocol_error_job", func(o server.Object) {
				if replace("status", "failed", "completed")(o); o["status"] == "completed" {
					delete(o, "error")
					o["result"] = failedTool("The job has failed")
				}
			}),
		},
		{
			Name: "contract-task-poll-fraction", Does: "writes pollIntervalMs of the tasks of slow_compute as 20.5",
			CaughtBy: []string{"official.tasks.fields"},
			Apply:    onTaskGet("slow_compute", set("pollIntervalMs", 20.5)),
		},
		{
			Name: "contract-task-named-in-result", Does: "names the task in the _meta of the result of slow_compute",
			CaughtBy: []string{"official.tasks.related"},
			Apply: onTaskGet("slow_compute", func(o server.Object) {
				if result, ok := o["result"].(server.Object); ok {
					result["_meta"] = server.Object{relatedTask: server.Object{"taskId": o["taskId"]}}
				}
			}),
		},
		{
			Name: "contract-task-with-state", Does: "returns a requestState with the tasks of slow_compute",
			CaughtBy: []string{"official.tasks.request-state"},
			Apply:    onTaskGet("slow_compute", set("requestState", "x")),
		},
		{
			Name: "contract-task-get-type-task", Does: "answers tasks/get with a result of the type task",
			CaughtBy: []string{"official.tasks.result-type"},
			Apply:    onResult("tasks/get", set("resultType", "task")),
		},
	}
}

// onFirstTaskGet answers the first tasks/get of each task of a tool in another way.
func onFirstTaskGet(tool string, answer func(o server.Object) (any, *server.Error)) apply {
	var seen sync.Map
	return onTasksOf(tool, func(r *server.Request, v any, problem *server.Error) (any, *server.Error) {
		if o, ok := v.(server.Object); ok && r.Method == "tasks/get" {
			if _, again := seen.LoadOrStore(o["taskId"], true); !again {
				return answer(o)
			}
		}
		return v, problem
	})
}

// taskExtensionCancels are faults of tasks/cancel.
func taskExtensionCancels() []Fault {
	return []Fault{
		{
			Name: "contract-task-unknown-cancelled", Does: "acknowledges tasks/cancel of an unknown task",
			In:       oneRevision,
			CaughtBy: documented,
			Apply:    errorToResult("tasks/cancel", hasCode(spec.InvalidParams), succeedWith(nil)),
		},
		{
			Name: "contract-task-cancel-returns-task", Does: "returns the task in the answer to tasks/cancel",
			CaughtBy: []string{"official.tasks.cancel.acknowledged"},
			Apply:    onResult("tasks/cancel", func(o server.Object) { o["taskId"], o["status"] = "x", "cancelled" }),
		},
		{
			Name: "contract-task-cancelled-completed",
			Does: "reports a cancelled task of slow_compute as completed", In: oneRevision,
			CaughtBy: documented,
			Apply:    onTaskGet("slow_compute", replace("status", "cancelled", "completed")),
		},
		{
			Name: "contract-task-cancelled-once", Does: "answers tasks/cancel of an ended task with error -32602",
			CaughtBy: []string{"official.tasks.cancel.ended"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Method == "tasks/cancel" {
						v, _ := next(ctx, withMethod(r, "tasks/get"))
						if o, ok := v.(server.Object); ok &&
							(o["status"] == "completed" || o["status"] == "cancelled") {
							return nil, &server.Error{Code: spec.InvalidParams, Message: "The task has ended"}
						}
					}
					return next(ctx, r)
				}
			}),
		},
	}
}

// taskExtensionInputs are faults in what tasks request of the client.
func taskExtensionInputs() []Fault {
	return []Fault{
		{
			Name: "contract-task-asks-nothing", Does: "leaves inputRequests out of the task of confirm_delete",
			CaughtBy: []string{"official.tasks.input.asked"},
			Apply:    onTaskGet("confirm_delete", remove("inputRequests")),
		},
		{
			Name: "contract-task-asks-twice", Does: "has two inputRequests in confirm_delete", In: oneRevision,
			CaughtBy: documented,
			Apply: onToolAsks("confirm_delete", func(asks []server.InputRequest) []server.InputRequest {
				second := asks[0]
				second.Key = "again"
				return append(asks, second)
			}),
		},
		{
			Name: "contract-task-update-returns-task", Does: "returns the task in the answer to tasks/update",
			CaughtBy: []string{"official.tasks.input.answered"},
			Apply:    onResult("tasks/update", func(o server.Object) { o["taskId"], o["status"] = "x", "working" }),
		},
		{
			Name: "contract-task-one-answer-enough", Does: "continues multi_input after one of its two responses",
			CaughtBy: []string{"official.tasks.input.partly"},
			Apply: onRequest("tasks/update", func(r *server.Request) {
				responses := responsesOf(r)
				for key, other := range map[string]string{"who": "sure", "sure": "who"} {
					if responses[key] != nil && responses[other] == nil {
						responses[other] = server.Object{"action": "decline"}
						return
					}
				}
			}),
		},
	}
}

// taskExtensionNotifications are faults of notifications/tasks.
func taskExtensionNotifications() []Fault {
	return []Fault{
		{
			Name: "contract-task-end-not-notified", Does: "sends no notification of the end of a task",
			CaughtBy: []string{"official.tasks.notifications"},
			Apply:    withhold(isNotification("notifications/tasks")),
		},
		{
			Name:     "contract-task-notified-without-result",
			Does:     "leaves the result out of notifications of a completed task",
			CaughtBy: []string{"official.tasks.notifications"},
			Apply:    onNotification("notifications/tasks", remove("result")),
		},
		{
			Name:     "contract-task-listen-undeclared",
			Does:     "accepts taskIds in subscriptions/listen of a client that does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.notifications.undeclared"},
			Apply: onRequest(listenMethod, func(r *server.Request) {
				if filter := filterOf(r); filter != nil && !declaresTasks(r) {
					delete(filter, "taskIds")
				}
			}),
		},
	}
}
