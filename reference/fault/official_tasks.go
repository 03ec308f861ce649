package fault

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// officialTasks are the faults of the tasks extension (SEP-2663).
func officialTasks() []Fault {
	faults := slices.Concat(officialTaskOffers(), officialTaskLives(), officialTaskInputs())
	for i := range faults {
		faults[i].In = spec.Stateless
	}
	return faults
}

const tasksExtension = "io.modelcontextprotocol/tasks"

// declaring tells whether the client of a request declares the tasks extension.
func declaring(r *server.Request) bool {
	meta, _ := r.Params["_meta"].(server.Object)
	capabilities, _ := meta[spec.MetaClientCapabilities].(server.Object)
	extensions, _ := capabilities["extensions"].(server.Object)
	return extensions[tasksExtension] != nil
}

// recode gives the errors of a method another code.
func recode(method string, from, to int) apply {
	return onError(method, func(_ *server.Request, e *server.Error) (any, *server.Error) {
		if e.Code == from {
			return nil, &server.Error{Code: to, Message: e.Message}
		}
		return nil, e
	})
}

// onCalled changes requests that call a tool.
func onCalled(tool string, edit func(r *server.Request)) apply {
	return onRequest("tools/call", func(r *server.Request) {
		if r.Params["name"] == tool {
			edit(r)
		}
	})
}

// onMade changes the answers that make a task of a tool.
func onMade(tool string, edit func(o server.Object)) apply {
	return onCall(tool, func(o server.Object) {
		if o["resultType"] == "task" {
			edit(o)
		}
	})
}

// onLooked changes what tasks/get tells of the tasks of a tool.
func onLooked(tool string, edit func(o server.Object)) apply {
	return aboutTasksOf(tool, func(r *server.Request, v any, problem *server.Error) (any, *server.Error) {
		if o, ok := v.(server.Object); ok && r.Method == "tasks/get" {
			edit(o)
		}
		return v, problem
	})
}

// unnamedTask gives each tasks/get the name of the task that its body names.
func unnamedTask(o *server.Options) {
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "tasks/get" {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadRequest)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				r.Header.Set("Mcp-Name", gjson.GetBytes(body, "params.taskId").Str)
			}
			next.ServeHTTP(w, r)
		})
	}
}

func officialTaskOffers() []Fault {
	return []Fault{
		{
			Name: "contract-task-name-unread", Does: "does not look at the header Mcp-Name of tasks/get", Over: transport.HTTP,
			CaughtBy: []string{"official.tasks.name"},
			Apply:    unnamedTask,
		},
		{
			Name: "contract-tasks-undeclared", Does: "does not declare the tasks extension that it serves",
			CaughtBy: []string{"official.tasks.declared"},
			Apply: onResult("server/discover", func(o server.Object) {
				delete(o["capabilities"].(server.Object), "extensions")
			}),
		},
		{
			Name: "contract-tasks-declared-twice", Does: "declares the capability tasks of 2025-11-25 beside the extension",
			CaughtBy: []string{"official.tasks.declared"},
			Apply: onResult("server/discover", func(o server.Object) {
				o["capabilities"].(server.Object)["tasks"] = server.Object{"cancel": server.Object{}}
			}),
		},
		{
			Name: "contract-tasks-open-to-all", Does: "answers tasks/cancel with error -32602 where the client does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.methods.undeclared"},
			Apply:    recode("tasks/cancel", spec.MissingClientCapability, spec.InvalidParams),
		},
		{
			Name: "contract-task-for-all", Does: "makes a task of slow_compute for a client that does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.call.undeclared"},
			Also:     map[string]string{"jsonrpc.result-type.known": "a result of a type that no declared extension defines"},
			Apply: onCalled("slow_compute", func(r *server.Request) {
				meta, _ := r.Params["_meta"].(server.Object)
				if capabilities, ok := meta[spec.MetaClientCapabilities].(server.Object); ok {
					capabilities["extensions"] = server.Object{tasksExtension: server.Object{}}
				}
			}),
		},
		{
			Name: "contract-task-not-required", Does: "runs failing_job without a task where the client does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.required"},
			Apply:    onLibraryTool("failing_job", func(t *server.Tool) { t.TaskSupport = "optional" }),
		},
		{
			Name: "contract-task-requires-other", Does: "refuses failing_job for want of another extension",
			CaughtBy: []string{"official.tasks.required"},
			Apply: onError("tools/call", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if r.Params["name"] == "failing_job" && e.Code == spec.MissingClientCapability {
					e.Data = server.Object{"requiredCapabilities": server.Object{"extensions": server.Object{"io.modelcontextprotocol/jobs": server.Object{}}}}
				}
				return nil, e
			}),
		},
		{
			Name: "contract-greet-as-task", Does: "makes a task of greet where the client declares the tasks extension",
			CaughtBy: []string{"official.tasks.greet"},
			Also:     map[string]string{"official.tasks.legacy-param": "the same call with the parameter task"},
			Apply:    onLibraryTool("greet", func(t *server.Tool) { t.TaskSupport = "optional" }),
		},
		{
			Name: "contract-greet-reworded", Does: "greets in other words in greet",
			CaughtBy: []string{"official.documented"},
			Apply:    insteadSaying("greet", "Good morning"),
		},
		{
			Name: "contract-task-param-heeded", Does: "takes the parameter task of greet for a wish for a task",
			CaughtBy: []string{"official.tasks.legacy-param"},
			Apply: onCalled("greet", func(r *server.Request) {
				if r.Params["task"] != nil {
					r.Params["name"], r.Params["arguments"] = "slow_compute", server.Object{}
				}
			}),
		},
		{
			Name: "contract-task-result-known", Does: "answers tasks/result with error -32602",
			CaughtBy: []string{"official.tasks.removed"},
			Apply:    recode("tasks/result", spec.MethodNotFound, spec.InvalidParams),
		},
		{
			Name: "contract-task-unknown-as-internal", Does: "answers tasks/get of a task that does not exist with error -32603",
			CaughtBy: []string{"official.tasks.id.unknown"},
			Apply:    recode("tasks/get", spec.InvalidParams, spec.InternalError),
		},
		{
			Name: "contract-task-unknown-cancelled", Does: "acknowledges tasks/cancel of a task that does not exist",
			CaughtBy: []string{"official.documented"},
			Apply: onError("tasks/cancel", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				if e.Code == spec.InvalidParams {
					return complete(server.Object{}), nil
				}
				return nil, e
			}),
		},
	}
}

func officialTaskLives() []Fault {
	related := func(o server.Object) {
		if result, ok := o["result"].(server.Object); ok {
			result["_meta"] = server.Object{relatedTask: server.Object{"taskId": o["taskId"]}}
		}
	}
	return []Fault{
		{
			Name: "contract-task-wrapped", Does: "wraps the task of slow_compute in a member task as well",
			CaughtBy: []string{"official.tasks.created"},
			Apply:    onMade("slow_compute", func(o server.Object) { o["task"] = server.Object{"taskId": o["taskId"], "status": o["status"]} }),
		},
		{
			Name: "contract-task-timeless", Does: "tells when the task of slow_compute was made as a number",
			CaughtBy: []string{"official.tasks.created"},
			Apply:    onMade("slow_compute", set("createdAt", 1_767_225_600)),
		},
		{
			Name: "contract-task-nameless", Does: "makes a task without an id of slow_compute for no time",
			CaughtBy: []string{"official.tasks.immediate"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					args, _ := r.Params["arguments"].(server.Object)
					if o, ok := v.(server.Object); ok && r.Params["name"] == "slow_compute" && o["resultType"] == "task" && string(encode(args["seconds"])) == "0" {
						delete(o, "taskId")
					}
					return v, problem
				}
			}),
		},
		{
			Name: "contract-task-submitted", Does: "calls a task of slow_compute submitted when it is first looked at",
			CaughtBy: []string{"official.tasks.working"},
			Apply: aboutTasksOf("slow_compute", onFirstLook(func(o server.Object) (any, *server.Error) {
				replace(o, "working", "submitted")
				return o, nil
			})),
		},
		{
			Name: "contract-task-known-later", Does: "does not know a task of slow_compute when it is first looked at",
			CaughtBy: []string{"official.tasks.working"},
			Apply: aboutTasksOf("slow_compute", onFirstLook(func(server.Object) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InvalidParams, Message: "There is no such task yet"}
			})),
		},
		{
			Name: "contract-task-resultless", Does: "does not tell the result of a completed task of slow_compute",
			CaughtBy: []string{"official.tasks.completed"},
			Apply:    onLooked("slow_compute", func(o server.Object) { delete(o, "result") }),
		},
		{
			Name: "contract-task-tool-error-failed", Does: "calls the task of failing_job failed",
			CaughtBy: []string{"official.tasks.tool-error"},
			Apply: onLooked("failing_job", func(o server.Object) {
				if replace(o, "completed", "failed"); o["status"] == "failed" {
					delete(o, "result")
					o["error"] = server.Object{"code": spec.InternalError, "message": "The job has failed."}
				}
			}),
		},
		{
			Name: "contract-task-error-completed", Does: "calls the task of protocol_error_job completed",
			CaughtBy: []string{"official.tasks.protocol-error"},
			Apply: onLooked("protocol_error_job", func(o server.Object) {
				if replace(o, "failed", "completed"); o["status"] == "completed" {
					delete(o, "error")
					o["result"] = complained("The job broke down")
				}
			}),
		},
		{
			Name: "contract-task-cancel-tells", Does: "tells the task in the answer to tasks/cancel",
			CaughtBy: []string{"official.tasks.cancel.acknowledged"},
			Apply:    onResult("tasks/cancel", func(o server.Object) { o["taskId"], o["status"] = "x", "cancelled" }),
		},
		{
			Name: "contract-task-cancelled-completed", Does: "calls a cancelled task of slow_compute completed",
			CaughtBy: []string{"official.documented"},
			Apply:    onLooked("slow_compute", func(o server.Object) { replace(o, "cancelled", "completed") }),
		},
		{
			Name: "contract-task-cancelled-once", Does: "answers tasks/cancel of a task that has ended with error -32602",
			CaughtBy: []string{"official.tasks.cancel.ended"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Method == "tasks/cancel" {
						v, _ := next(ctx, as(r, "tasks/get"))
						if o, ok := v.(server.Object); ok && (o["status"] == "completed" || o["status"] == "cancelled") {
							return nil, &server.Error{Code: spec.InvalidParams, Message: "The task has ended"}
						}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "contract-task-ttl-renamed", Does: "tells the ttl of a new task of slow_compute as in 2025-11-25",
			CaughtBy: []string{"official.tasks.fields"},
			Apply: onMade("slow_compute", func(o server.Object) {
				o["ttl"] = o["ttlMs"]
				delete(o, "ttlMs")
			}),
		},
		{
			Name: "contract-task-poll-fraction", Does: "wants the tasks of slow_compute looked at every 20.5 milliseconds",
			CaughtBy: []string{"official.tasks.fields"},
			Apply:    onLooked("slow_compute", set("pollIntervalMs", 20.5)),
		},
		{
			Name: "contract-task-named-in-result", Does: "names the task in the _meta of the result of slow_compute",
			CaughtBy: []string{"official.tasks.related"},
			Apply:    onLooked("slow_compute", related),
		},
		{
			Name: "contract-task-with-state", Does: "hands out a requestState with the tasks of slow_compute",
			CaughtBy: []string{"official.tasks.request-state"},
			Apply:    onLooked("slow_compute", set("requestState", "x")),
		},
		{
			Name: "contract-task-type-of-look", Does: "answers tasks/get with a result of type task",
			CaughtBy: []string{"official.tasks.result-type"},
			Apply:    onResult("tasks/get", set("resultType", "task")),
		},
	}
}

// onFirstLook answers the first tasks/get of each task in another way.
func onFirstLook(answer func(o server.Object) (any, *server.Error)) change {
	var seen sync.Map
	return func(r *server.Request, v any, problem *server.Error) (any, *server.Error) {
		if o, ok := v.(server.Object); ok && r.Method == "tasks/get" {
			if _, again := seen.LoadOrStore(o["taskId"], true); !again {
				return answer(o)
			}
		}
		return v, problem
	}
}

func officialTaskInputs() []Fault {
	return []Fault{
		{
			Name: "contract-task-asks-nothing", Does: "does not tell what the task of confirm_delete asks",
			CaughtBy: []string{"official.tasks.input.asked"},
			Apply:    onLooked("confirm_delete", func(o server.Object) { delete(o, "inputRequests") }),
		},
		{
			Name: "contract-task-asks-twice", Does: "asks two things in confirm_delete",
			CaughtBy: []string{"official.documented"},
			Apply: onAsks("confirm_delete", func(_ *server.Call, asks []server.Ask) []server.Ask {
				second := asks[0]
				second.Key = "again"
				return append(asks, second)
			}),
		},
		{
			Name: "contract-task-update-tells", Does: "tells the task in the answer to tasks/update",
			CaughtBy: []string{"official.tasks.input.answered"},
			Apply:    onResult("tasks/update", func(o server.Object) { o["taskId"], o["status"] = "x", "working" }),
		},
		{
			Name: "contract-task-one-answer-enough", Does: "goes on with multi_input when one of its two questions was answered",
			CaughtBy: []string{"official.tasks.input.partly"},
			Apply: onRequest("tasks/update", func(r *server.Request) {
				responses, _ := r.Params["inputResponses"].(server.Object)
				for key, other := range map[string]string{"who": "sure", "sure": "who"} {
					if responses[key] != nil && responses[other] == nil {
						responses[other] = server.Object{"action": "decline"}
						return
					}
				}
			}),
		},
		{
			Name: "contract-task-asks-later", Does: "makes a task of test_tool_with_task before it asks for user_name",
			CaughtBy: []string{"official.tasks.rounds"},
			Apply:    onLibraryTool("test_tool_with_task", func(t *server.Tool) { t.AsksFirst = false }),
		},
		{
			Name: "contract-task-state-leaks", Does: "hands out the requestState of the rounds with the task of test_tool_with_task",
			CaughtBy: []string{"official.tasks.rounds"},
			Apply:    onMade("test_tool_with_task", set("requestState", "x")),
		},
		{
			Name: "contract-task-end-untold", Does: "does not tell who listens that a task has ended",
			CaughtBy: []string{"official.tasks.notifications"},
			Apply:    swallowed("notifications/tasks"),
		},
		{
			Name: "contract-task-told-without-result", Does: "tells who listens that a task is completed without its result",
			CaughtBy: []string{"official.tasks.notifications"},
			Apply:    onParams("notifications/tasks", func(params server.Object) { delete(params, "result") }),
		},
		{
			Name: "contract-task-told-to-all", Does: "has a client listen for tasks that does not declare the tasks extension, and tells it nothing",
			CaughtBy: []string{"official.tasks.notifications.undeclared"},
			Apply: onRequest("subscriptions/listen", func(r *server.Request) {
				if filter, ok := r.Params["notifications"].(server.Object); ok && !declaring(r) {
					delete(filter, "taskIds")
				}
			}),
		},
	}
}
