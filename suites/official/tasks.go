package official

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/taskcalls"
)

// tasksExtension identifies the tasks extension (SEP-2663). We declare it in
// the requests of these probes alone, so that in all other sessions a server
// may not answer by tasks: each stateless request says anew what its client
// can do.
const tasksExtension = "io.modelcontextprotocol/tasks"

// officialTasks are the tools of the contract that show the tasks extension,
// for servers that declare it.
func officialTasks() []check.Check {
	all := slices.Concat(officialTaskOffers(), officialTaskLives(), officialTaskInputs())
	for i := range all {
		all[i].In = spec.Stateless
		if all[i].Level == "" {
			all[i].Level = spec.Must
		}
	}
	return all
}

// officialTaskOffers are what the server declares, and what who does not
// declare the extension gets.
func officialTaskOffers() []check.Check {
	const negotiation, dispatch = "tasks-capability-negotiation", "tasks-dispatch-and-envelope"
	return []check.Check{
		{
			ID:   "official.tasks.declared",
			Says: "who offers the tools of the tasks extension declares it in server/discover, and not the capability tasks of 2025-11-25",
			Spec: negotiation,
			Probe: func(t *check.T) {
				capabilities := t.Opening().Capabilities
				if !declaresTasks(t) {
					for _, item := range offer.Walked(t, offer.ToolsList).Items() {
						if name := item.Get("name").String(); name == "slow_compute" || name == "failing_job" {
							t.Fail("the extension "+tasksExtension, contract.ShortJSON(capabilities.Get("extensions")), "the server offers %s and does not declare the extension", name)
						}
					}
				}
				needTasksExtension(t)
				if legacy := capabilities.Get("tasks"); legacy.Exists() {
					t.Fail("no capability tasks", contract.ShortJSON(legacy), "server/discover declares the capability tasks of 2025-11-25 beside the extension")
				}
			},
		},
		{
			ID:   "official.tasks.methods.undeclared",
			Says: "tasks/get, tasks/update and tasks/cancel are refused with error -32021 where the client does not declare the extension",
			Spec: negotiation,
			Probe: func(t *check.T) {
				needTasksExtension(t)
				for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
					params := check.Params{"taskId": "mcpcheck-no-task"}
					if method == "tasks/update" {
						params["inputResponses"] = check.Params{}
					}
					refusedUndeclared(t, method, t.Request(method, params))
				}
			},
		},
		{
			ID:   "official.tasks.call.undeclared",
			Says: "slow_compute is answered with its result where the client does not declare the extension",
			Spec: negotiation,
			Probe: func(t *check.T) {
				needTasksExtension(t)
				const tool = "slow_compute"
				r := contractSuccess(t, tool, t.Request("tools/call", contractParams(t, tool, check.Params{"seconds": 0, "label": "mcpcheck"})))
				if r.Get("resultType").String() == "task" || r.Get("taskId").Exists() || r.Get("task").Exists() || !r.Get("content").IsArray() {
					t.Fail("a complete result with content", contract.ShortJSON(r), "%s was answered with %s where the client does not declare the extension", tool, contract.ShortJSON(r))
				}
			},
		},
		{
			ID:   "official.tasks.required",
			Says: "failing_job is refused with error -32021 where the client does not declare the extension",
			Spec: "tasks-required-task-error",
			Probe: func(t *check.T) {
				needTasksExtension(t)
				const tool = "failing_job"
				refusedUndeclared(t, tool, t.Request("tools/call", contractParams(t, tool, check.Params{})))
			},
		},
		{
			ID:    "official.tasks.greet",
			Says:  "greet is answered at once, also where the client declares the extension",
			Spec:  "tasks-lifecycle",
			Probe: func(t *check.T) { contractGreet(t, nil) },
		},
		{
			ID:   "official.tasks.legacy-param",
			Says: "the parameter task of 2025-11-25 makes no task of greet",
			Spec: dispatch,
			Probe: func(t *check.T) {
				params := extendedParams(t, "greet", check.Params{"name": "World"})
				params["task"] = check.Params{"ttl": 60_000, "pollInterval": 100}
				plainGreeting(t, contractSuccess(t, "greet", t.Request("tools/call", params)))
			},
		},
		{
			ID:   "official.tasks.removed",
			Says: "tasks/result and tasks/list are answered with error -32601",
			Spec: dispatch,
			Probe: func(t *check.T) {
				for method, params := range map[string]check.Params{"tasks/result": {"taskId": "mcpcheck-no-task"}, "tasks/list": {}} {
					if m := t.Request(method, extending(t, params)); !hasCode(m, spec.MethodNotFound) {
						t.Fail(fmt.Sprint("error ", spec.MethodNotFound), m.Summary(), "%s was answered with %s", method, m.Summary())
					}
				}
			},
		},
		{
			ID:    "official.tasks.id.unknown",
			Says:  "tasks/get of a task that does not exist is answered with error -32602",
			Spec:  dispatch,
			Probe: func(t *check.T) { contractTaskUnknown(t, nil) },
		},
		{
			ID:   "official.tasks.name",
			Says: "tasks/get is refused with status 400 and error -32020 where the header Mcp-Name names another task than the body",
			On:   transport.OnHTTP,
			Spec: "tasks-request-headers",
			// contractTaskName asks for a task under the name of another. SEP-2663 has the
			// client repeat the id of the task in Mcp-Name, so that the server, as for any
			// header that repeats a member of the body, refuses one that does not
			// (basic/transports/streamable-http#server-validation).
			Probe: func(t *check.T) {
				task := computing(t, 60)
				defer task.drop()
				const other = "mcpcheck-no-such-task"
				x := t.HTTP().Post(t.Frame(t.NextID(), "tasks/get", task.params()), check.With("Mcp-Name", other))
				m, answered := t.HTTP().Response(x)
				if code, _ := m.Code(); x.Status != http.StatusBadRequest || !answered || code != spec.HeaderMismatch {
					t.Fail(fmt.Sprint("HTTP status 400 and error ", spec.HeaderMismatch), check.Describe(x), "tasks/get of a task, with Mcp-Name %s, was answered with %s", other, check.Describe(x))
				}
			},
		},
	}
}

// declaresTasks tells whether the server declares the extension.
func declaresTasks(t *check.T) bool {
	return wire.Member(t.Opening().Capabilities.Get("extensions"), tasksExtension).Exists()
}

// needTasksExtension ends the body of a check where the server does not declare
// the extension, which no server needs to.
func needTasksExtension(t *check.T) {
	if !declaresTasks(t) {
		t.NotApplicable("the server does not declare the extension " + tasksExtension)
	}
}

// extending are the params of a request of a client that declares the extension,
// beside what it declares anyway.
func extending(t *check.T, params check.Params) check.Params {
	needTasksExtension(t)
	capabilities := maps.Clone(t.Client().Capabilities())
	if capabilities == nil {
		capabilities = check.Params{}
	}
	capabilities["extensions"] = check.Params{tasksExtension: check.Params{}}
	out := maps.Clone(params)
	out["_meta"] = check.Params{spec.MetaClientCapabilities: capabilities}
	return out
}

// A contractTask is a task that a tool of the contract became.
type contractTask struct {
	t    *check.T
	tool string
	made gjson.Result // the answer that made it
}

// extendedParams are those of a call of a tool of the contract by a client that
// declares the extension.
func extendedParams(t *check.T, tool string, args check.Params) check.Params {
	needTasksExtension(t) // before the tool is missed
	return extending(t, contractParams(t, tool, args))
}

// extendedCall is the answer to such a call.
func extendedCall(t *check.T, tool string, args check.Params) gjson.Result {
	return contractResult(t, tool, t.Request("tools/call", extendedParams(t, tool, args)))
}

// becomesTask asserts that a call becomes a task.
func becomesTask(t *check.T, tool string, args check.Params) contractTask {
	made := extendedCall(t, tool, args)
	if made.Get("resultType").String() != "task" || made.Get("taskId").Type != gjson.String {
		t.Fail("a result of type task with a taskId", contract.ShortJSON(made), "%s was answered with %s, which is no task", tool, contract.ShortJSON(made))
	}
	return contractTask{t, tool, made}
}

// someTask is a task that the body needs; that the tool becomes one is asserted
// by the check that the tool is for.
func someTask(t *check.T, tool string, args check.Params) contractTask {
	m := t.Request("tools/call", extending(t, check.Params{"name": tool, "arguments": args}))
	if m.Result().Get("resultType").String() != "task" || m.Result().Get("taskId").Type != gjson.String {
		t.NotObserved(fmt.Sprintf("%s did not become a task: %s", tool, m.Summary()), "")
	}
	return contractTask{t, tool, m.Result()}
}

// computing is the task of slow_compute for some seconds.
func computing(t *check.T, seconds int) contractTask {
	return someTask(t, "slow_compute", check.Params{"seconds": seconds, "label": "mcpcheck"})
}

// params are those of a request about the task.
func (c contractTask) params() check.Params {
	return extending(c.t, check.Params{"taskId": c.made.Get("taskId").Str})
}

// get returns what tasks/get tells of the task.
func (c contractTask) get() gjson.Result { return check.RequireResult(c.t, "tasks/get", c.params()) }

// drop cancels a task that is not needed any more.
func (c contractTask) drop() { c.t.Try("tasks/cancel", c.params()) }

// update sends answers to what the task asks.
func (c contractTask) update(responses check.Params) wire.Message {
	params := c.params()
	params["inputResponses"] = responses
	return c.t.Request("tasks/update", params)
}

// The time between two looks at a task where it names none, and the longest:
// the suite of the contract looks every 200 ms whatever is named.
const (
	usualPoll   = 200 * time.Millisecond
	longestPoll = time.Second
)

// until looks at the task, as often as it wants, until it is as wished or the
// time for an answer is over; ok tells which.
func (c contractTask) until(wished func(task gjson.Result) bool) (task gjson.Result, ok bool) {
	for end := time.Now().Add(c.t.Timeout()); ; {
		if task = c.get(); wished(task) {
			return task, true
		}
		if taskcalls.IsFinal(task) || time.Now().After(end) {
			return task, false
		}
		interval := usualPoll
		if ms := task.Get("pollIntervalMs"); ms.Type == gjson.Number && ms.Float() > 0 {
			interval = min(longestPoll, time.Duration(ms.Float()*float64(time.Millisecond)))
		}
		c.t.Await(c.t.Len(), func(wire.Message) bool { return false }, interval)
	}
}

// ends asserts that the task comes to an end, and that it is the one wished.
func (c contractTask) ends(status string) gjson.Result {
	task, _ := c.until(taskcalls.IsFinal)
	if got := task.Get("status").String(); got != status {
		c.t.Fail("a task that is "+status, contract.ShortJSON(task), "the task of %s is %s, not %s", c.tool, wire.Clip(got, 40), status)
	}
	return task
}

// refusedUndeclared asserts that an answer is the error for a client that did
// not declare the extension. Data that is missing is the business of
// lifecycle.capabilities.required.data.
func refusedUndeclared(t *check.T, what string, m wire.Message) {
	if code, _ := m.Code(); code != spec.MissingClientCapability {
		t.Fail(fmt.Sprint("error ", spec.MissingClientCapability), m.Summary(), "%s was answered with %s where the client does not declare the extension", what, m.Summary())
	}
	data := m.Error().Get("data")
	named := wire.Member(data.Get("requiredCapabilities.extensions"), tasksExtension)
	if data.Exists() && data.Type != gjson.Null && !named.Exists() {
		t.Fail("requiredCapabilities with the extension "+tasksExtension, contract.ShortJSON(data), "the data of the error is %s, which does not name the extension", contract.ShortJSON(data))
	}
}

// plainGreeting asserts that greet was answered at once, and returns the text.
func plainGreeting(t *check.T, r gjson.Result) gjson.Result {
	if r.Get("resultType").String() == "task" || r.Get("taskId").Exists() || len(r.Get("content").Array()) == 0 {
		t.Fail("a complete result with content", contract.ShortJSON(r), "greet was answered with %s", contract.ShortJSON(r))
	}
	return r.Get("content.0.text")
}

func contractGreet(t *check.T, s *scribe) {
	said := plainGreeting(t, extendedCall(t, "greet", check.Params{"name": "World"}))
	s.text(t, "the text of greet", said, "Hello, World!")
}

func hasCode(m wire.Message, want int) bool {
	code, ok := m.Code()
	return ok && code == want
}

// contractTaskUnknown: for tasks/update and tasks/cancel the code is a
// recommendation, which the suite does not look at.
func contractTaskUnknown(t *check.T, s *scribe) {
	unknown := extending(t, check.Params{"taskId": "mcpcheck-no-task", "inputResponses": check.Params{}})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		m := t.Request(method, unknown)
		right := hasCode(m, spec.InvalidParams)
		if method == "tasks/get" && !right {
			t.Fail(fmt.Sprint("error ", spec.InvalidParams), m.Summary(), "%s of a task that does not exist was answered with %s", method, m.Summary())
		}
		s.note(t, "the answer to "+method+" of a task that does not exist", right, gjson.Parse(contract.AsJSON(m.Summary())), fmt.Sprint("error ", spec.InvalidParams))
	}
}
