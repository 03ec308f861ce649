package official

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// tasksExtension identifies the tasks extension (SEP-2663). Only the requests of these
// probes declare it, since each stateless request declares the capabilities of its
// client: a server may not answer other requests by tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskProbes returns the probes of the tools with the tasks extension, for servers that
// declare it.
func taskProbes() []check.Check {
	all := slices.Concat(taskDeclarationProbes(), taskLifecycleProbes(), taskInputProbes())
	for i := range all {
		all[i].In = spec.Stateless
		if all[i].Level == "" {
			all[i].Level = spec.Must
		}
	}
	return all
}

// The sections of the tasks extension that its checks name.
const (
	tasksNegotiation   = "tasks-capability-negotiation"
	tasksDispatch      = "tasks-dispatch-and-envelope"
	tasksLifecycle     = "tasks-lifecycle"
	tasksFields        = "tasks-wire-fields"
	tasksInput         = "tasks-mrtr-input"
	tasksNotifications = "tasks-status-notifications"
)

// taskDeclarationProbes returns the probes of the declaration of the extension and of
// requests that create no task.
func taskDeclarationProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.tasks.declared",
			Says: "a server with the tools of the tasks extension declares it, not the capability tasks of 2025-11-25",
			Spec: tasksNegotiation,
			Idle: "server/discover was not answered",
			Probe: func(t *check.T) {
				capabilities := t.Opening().Capabilities
				if !declaresTasks(t) {
					mustNotListTaskTools(t)
				}
				requireTasksExtension(t)
				if legacy := capabilities.Get("tasks"); legacy.Exists() {
					t.Fail("no capability tasks", contract.ShortJSON(legacy),
						"server/discover declares the capability tasks of 2025-11-25 beside the extension")
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.methods.undeclared",
			Says: "tasks/get, tasks/update and tasks/cancel return -32021 if the client does not declare the extension",
			Spec: tasksNegotiation,
			Idle: "no request about a task was sent",
			Probe: func(t *check.T) {
				requireTasksExtension(t)
				for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
					params := check.Params{"taskId": "mcpcheck-no-task"}
					if method == "tasks/update" {
						params["inputResponses"] = check.Params{}
					}
					mustRefuseUndeclared(t, method, t.Request(method, params))
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.call.undeclared",
			Says: "slow_compute returns its result, not a task, if the client does not declare the extension",
			Spec: tasksNegotiation,
			Idle: noCall,
			Probe: func(t *check.T) {
				requireTasksExtension(t)
				const tool = "slow_compute"
				params := callParams(t, tool, check.Params{"seconds": 0, "label": "mcpcheck"})
				r := mustSucceed(t, tool, t.Request("tools/call", params))
				if isTask(r) || r.Get("task").Exists() || !r.Get("content").IsArray() {
					got := contract.ShortJSON(r)
					t.Fail("a complete result with content", got,
						"%s was answered with %s to a client without the extension", tool, got)
				}
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.required",
			Says: "failing_job returns error -32021 if the client does not declare the extension",
			Spec: "tasks-required-task-error",
			Idle: noCall,
			Probe: func(t *check.T) {
				requireTasksExtension(t)
				const tool = "failing_job"
				mustRefuseUndeclared(t, tool, t.Request("tools/call", callParams(t, tool, check.Params{})))
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.greet",
			Says: "greet returns its result at once even if the client declares the extension",
			Spec: "tasks-lifecycle",
			Idle: noCall,
			Probe: func(t *check.T) {
				verifyGreet(t, nil)
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.legacy-param",
			Says: "greet ignores the parameter task of 2025-11-25 and returns its result at once",
			Spec: tasksDispatch,
			Idle: noCall,
			Probe: func(t *check.T) {
				params := callParamsWithTasks(t, "greet", check.Params{"name": "World"})
				params["task"] = check.Params{"ttl": 60_000, "pollInterval": 100}
				mustGreetAtOnce(t, mustSucceed(t, "greet", t.Request("tools/call", params)))
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.removed",
			Says: "tasks/result and tasks/list return error -32601",
			Spec: tasksDispatch,
			Idle: "no removed method was called",
			Probe: func(t *check.T) {
				m := t.Request("tasks/result", paramsWithTasks(t, check.Params{"taskId": "mcpcheck-no-task"}))
				match.Expect(t, m).To(match.BeError(spec.MethodNotFound), "tasks/result")
				m = t.Request("tasks/list", paramsWithTasks(t, check.Params{}))
				match.Expect(t, m).To(match.BeError(spec.MethodNotFound), "tasks/list")
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.id.unknown",
			Says: "tasks/get of a task that does not exist returns error -32602",
			Spec: tasksDispatch,
			Idle: "tasks/get was not called",
			Probe: func(t *check.T) {
				verifyUnknownTask(t, nil)
				t.Saw()
			},
		},
		{
			ID:   "official.tasks.name",
			Says: "tasks/get returns status 400 and error -32020 if Mcp-Name names another task than the body",
			On:   transport.OnHTTP,
			Spec: "tasks-request-headers",
			Idle: noTask,
			// SEP-2663 requires the client to repeat the id of the task in Mcp-Name. The
			// server rejects a header that differs from the member of the body that it
			// repeats (basic/transports/streamable-http#server-validation).
			Probe: func(t *check.T) {
				task := startComputing(t, 60)
				defer task.cancel()
				const other = "mcpcheck-no-such-task"
				x := t.HTTP().Post(t.Frame(t.NextID(), "tasks/get", task.params()), check.With("Mcp-Name", other))
				m, answered := t.HTTP().Response(x)
				if code, _ := m.ErrorCode(); x.Status != http.StatusBadRequest || !answered ||
					code != spec.HeaderMismatch {
					t.Fail(fmt.Sprint("HTTP status 400 and error ", spec.HeaderMismatch), check.Describe(x),
						"tasks/get of a task with Mcp-Name %s was answered with %s", other, check.Describe(x))
				}
				t.Saw()
			},
		},
	}
}

// mustNotListTaskTools asserts that the server lists no tool that needs the extension.
func mustNotListTaskTools(t *check.T) {
	for _, item := range offer.WalkOnce(t, offer.ToolsList).Items() {
		if name := item.Get("name").String(); name == "slow_compute" || name == "failing_job" {
			t.Fail("the extension "+tasksExtension, contract.ShortJSON(t.Opening().Capabilities.Get("extensions")),
				"the server offers %s and does not declare the extension", name)
		}
	}
}

// mustRefuseUndeclared asserts that an answer is the error for a client that did not
// declare the extension. The check lifecycle.capabilities.required.data judges missing
// data.
func mustRefuseUndeclared(t *check.T, what string, m wire.Message) {
	match.Expect(t, m).To(match.BeError(spec.MissingClientCapability), "%s by a client without the extension", what)
	data := m.Error().Get("data")
	named := wire.Member(data.Get("requiredCapabilities.extensions"), tasksExtension)
	if data.Exists() && data.Type != gjson.Null && !named.Exists() {
		t.Fail("requiredCapabilities with the extension "+tasksExtension, contract.ShortJSON(data),
			"the data of the error is %s, which does not name the extension", contract.ShortJSON(data))
	}
}

// mustGreetAtOnce asserts that greet returned its content and no task. It returns the
// text.
func mustGreetAtOnce(t *check.T, r gjson.Result) gjson.Result {
	if isTask(r) || len(r.Get("content").Array()) == 0 {
		t.Fail("a complete result with content", contract.ShortJSON(r), "greet was answered with %s",
			contract.ShortJSON(r))
	}
	return r.Get("content.0.text")
}

// verifyGreet asserts that greet is answered at once with its text.
func verifyGreet(t *check.T, diff *differences) {
	text := mustGreetAtOnce(t, callWithTasks(t, "greet", check.Params{"name": "World"}))
	diff.compareText(t, "the text of greet", text, "Hello, World!")
}

// verifyUnknownTask asserts the error of tasks/get alone: for tasks/update and
// tasks/cancel the code is a recommendation, which the suite does not assert.
func verifyUnknownTask(t *check.T, diff *differences) {
	unknown := paramsWithTasks(t, check.Params{"taskId": "mcpcheck-no-task", "inputResponses": check.Params{}})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		m := t.Request(method, unknown)
		if method == "tasks/get" {
			match.Expect(t, m).To(match.BeError(spec.InvalidParams), "tasks/get of a task that does not exist")
		}
		code, _ := m.ErrorCode()
		what := "the answer to " + method + " of a task that does not exist"
		diff.compare(t, what, code == spec.InvalidParams, gjson.Parse(contract.Quote(m.Summary())),
			fmt.Sprint("error ", spec.InvalidParams))
	}
}
