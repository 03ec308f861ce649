package fault

import (
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// officialTasks are the faults of the tasks extension (SEP-2663).
func officialTasks() []Fault {
	return slices.Concat(overHTTP(taskExtensionHTTP()...), taskExtensionDeclared(), taskExtensionOffers(),
		taskExtensionCreated(), taskExtensionStates(), taskExtensionCancels(), taskExtensionInputs(),
		taskExtensionNotifications())
}

const tasksExtension = "io.modelcontextprotocol/tasks"

// declaresTasks reports whether the client of a request declares the tasks extension.
func declaresTasks(r *server.Request) bool {
	capabilities, _ := metaOf(r)[spec.MetaClientCapabilities].(server.Object)
	extensions, _ := capabilities["extensions"].(server.Object)
	return extensions[tasksExtension] != nil
}

// onNewTask changes the answers that create a task of a tool.
func onNewTask(tool string, edit func(o server.Object)) apply {
	return onCall(tool, whenMember("resultType", "task", edit))
}

// onTaskGet changes the results of tasks/get for the tasks of a tool.
func onTaskGet(tool string, edit func(o server.Object)) apply {
	return onTaskResultsOf("tasks/get", tool, edit)
}

// taskExtensionHTTP are faults that show over streamable HTTP.
func taskExtensionHTTP() []Fault {
	return []Fault{{
		Name: "contract-task-name-unread", Does: "ignores the header Mcp-Name of tasks/get",
		CaughtBy: []string{"official.tasks.name"},
		Apply: onHTTPRequest(func(r *http.Request) bool { return r.Header.Get(methodField) == "tasks/get" },
			func(r *http.Request) {
				if body, err := bodyOf(r); err == nil {
					r.Header.Set(nameField, gjson.GetBytes(body, "params.taskId").Str)
				}
			}),
	}}
}

// taskExtensionDeclared are faults of the declared extension, and of what clients that
// do not declare it get.
func taskExtensionDeclared() []Fault {
	onCapabilities := func(edit func(capabilities server.Object)) apply {
		return onResult("server/discover", func(o server.Object) { edit(o["capabilities"].(server.Object)) })
	}
	return []Fault{
		{
			Name: "contract-tasks-undeclared", Does: "serves the tasks extension without declaring it",
			CaughtBy: []string{"official.tasks.declared"},
			Apply:    onCapabilities(remove("extensions")),
		},
		{
			Name:     "contract-tasks-declared-twice",
			Does:     "declares the capability tasks of 2025-11-25 besides the extension",
			CaughtBy: []string{"official.tasks.declared"},
			Apply:    onCapabilities(set("tasks", server.Object{"cancel": server.Object{}})),
		},
		{
			Name:     "contract-tasks-cancel-undeclared-code",
			Does:     "answers tasks/cancel with error -32602 where the client does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.methods.undeclared"},
			Apply:    recode("tasks/cancel", hasCode(spec.MissingClientCapability), spec.InvalidParams),
		},
		{
			Name:     "contract-task-for-undeclared",
			Does:     "creates a task of slow_compute for a client that does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.call.undeclared"},
			Also: map[string]string{
				"jsonrpc.result-type.known": "no declared extension defines the type of the result",
			},
			Apply: onRequestWhen(isCall("slow_compute"), func(r *server.Request) {
				if capabilities, ok := metaOf(r)[spec.MetaClientCapabilities].(server.Object); ok {
					capabilities["extensions"] = server.Object{tasksExtension: server.Object{}}
				}
			}),
		},
		{
			Name:     "contract-task-not-required",
			Does:     "runs failing_job without a task where the client does not declare the tasks extension",
			CaughtBy: []string{"official.tasks.required"},
			Apply:    onLibraryTool("failing_job", func(t *server.Tool) { t.TaskSupport = "optional" }),
		},
		{
			Name:     "contract-task-requires-other",
			Does:     "names another extension where failing_job requires the tasks extension",
			CaughtBy: []string{"official.tasks.required"},
			Apply: requireCapability("failing_job", server.Object{
				"extensions": server.Object{"io.modelcontextprotocol/jobs": server.Object{}},
			}),
		},
	}
}

// taskExtensionOffers are faults in which calls create tasks, and in which methods
// exist.
func taskExtensionOffers() []Fault {
	return []Fault{
		{
			Name:     "contract-greet-as-task",
			Does:     "creates a task of greet where the client declares the tasks extension",
			CaughtBy: []string{"official.tasks.greet"},
			Also:     map[string]string{"official.tasks.legacy-param": "it is the same call with the parameter task"},
			Apply:    onLibraryTool("greet", func(t *server.Tool) { t.TaskSupport = "optional" }),
		},
		{
			Name: "contract-greet-reworded", Does: "returns another sentence in greet", In: oneRevision,
			CaughtBy: documented,
			Apply:    onText("greet", "Good morning"),
		},
		{
			Name: "contract-task-param-obeyed", Does: "creates a task of greet for the parameter task of 2025-11-25",
			CaughtBy: []string{"official.tasks.legacy-param"},
			Apply: onRequestWhen(isCall("greet"), func(r *server.Request) {
				if r.Params["task"] != nil {
					r.Params["name"], r.Params["arguments"] = "slow_compute", server.Object{}
				}
			}),
		},
		{
			Name: "contract-task-result-known", Does: "answers tasks/result with error -32602",
			CaughtBy: []string{"official.tasks.removed"},
			Apply:    recode("tasks/result", hasCode(spec.MethodNotFound), spec.InvalidParams),
		},
		{
			Name: "contract-task-unknown-as-internal", Does: "answers tasks/get of an unknown task with error -32603",
			CaughtBy: []string{"official.tasks.id.unknown"},
			Apply:    recode("tasks/get", hasCode(spec.InvalidParams), spec.InternalError),
		},
	}
}

// taskExtensionCreated are faults in the answers that create tasks.
func taskExtensionCreated() []Fault {
	return []Fault{
		{
			Name: "contract-task-wrapped", Does: "writes the task of slow_compute in a member task as well",
			CaughtBy: []string{"official.tasks.created"},
			Apply: onNewTask("slow_compute", func(o server.Object) {
				o["task"] = server.Object{"taskId": o["taskId"], "status": o["status"]}
			}),
		},
		{
			Name: "contract-task-created-at-number", Does: "writes createdAt of the task of slow_compute as a number",
			CaughtBy: []string{"official.tasks.created"},
			Apply:    onNewTask("slow_compute", set("createdAt", 1_767_225_600)),
		},
		{
			Name: "contract-task-id-missing", Does: "leaves the id out of a task of slow_compute with 0 seconds",
			CaughtBy: []string{"official.tasks.immediate"},
			Apply: onResultWhen(isCall("slow_compute"), func(r *server.Request, result server.Object) {
				args, _ := r.Params["arguments"].(server.Object)
				if result["resultType"] == "task" && string(wire.Encode(args["seconds"])) == "0" {
					delete(result, "taskId")
				}
			}),
		},
		{
			Name: "contract-task-ttl-renamed", Does: "writes the ttl of a new task of slow_compute as in 2025-11-25",
			CaughtBy: []string{"official.tasks.fields"},
			Apply:    onNewTask("slow_compute", rename("ttlMs", "ttl")),
		},
		{
			Name:     "contract-task-asks-later",
			Does:     "creates the task of test_tool_with_task before it requests user_name",
			CaughtBy: []string{"official.tasks.rounds"},
			Apply:    onLibraryTool("test_tool_with_task", func(t *server.Tool) { t.InputBeforeTask = false }),
		},
		{
			Name: "contract-task-state-leaks", Does: "returns a requestState with the new task of test_tool_with_task",
			CaughtBy: []string{"official.tasks.rounds"},
			Apply:    onNewTask("test_tool_with_task", set("requestState", "x")),
		},
	}
}
