package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// tasksCapabilities are those of a client with the tasks extension and elicitation.
const tasksCapabilities = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func openTasksExtension(t *testing.T) *testClient {
	t.Helper()
	return openOfficial(t, spec.V2026_07_28)
}

// startExtensionTask calls a tool and returns the task that the call becomes.
func (p *testClient) startExtensionTask(tool, args string) gjson.Result {
	p.t.Helper()
	o := wantResult(p.t, p.requestAs(tasksCapabilities, "tools/call", callParams(tool, args))).Result()
	if o.Get("resultType").String() != "task" || o.Get("status").String() != "working" || o.Get("result").Exists() {
		p.t.Fatalf("the answer to %s is %s, want a working task", tool, o.Raw)
	}
	return o
}

// taskRequest sends a request that names a task.
func (p *testClient) taskRequest(method string, task gjson.Result, members ...string) wire.Message {
	p.t.Helper()
	members = append([]string{`"taskId":` + task.Get("taskId").Raw}, members...)
	return p.requestAs(tasksCapabilities, method, members...)
}

// pollTask polls a task until it has a status, or a terminal one.
func (p *testClient) pollTask(task gjson.Result, status string) gjson.Result {
	p.t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		o := wantResult(p.t, p.taskRequest("tasks/get", task)).Result()
		if o.Get("resultType").String() != "complete" {
			p.t.Fatalf("the answer to tasks/get is %s", o.Raw)
		}
		if s := o.Get("status").String(); s == status || isTerminal(s) {
			return o
		}
	}
	p.t.Fatalf("the task %s did not become %s", task.Raw, status)
	return gjson.Result{}
}

func TestCallBecomesTaskIfExtensionDeclared(t *testing.T) {
	p := openTasksExtension(t)
	for _, c := range []struct{ tool, args, status, says string }{
		{"slow_compute", `{"seconds":1,"label":"x"}`, "completed", `"text":"Computed for 1 seconds: x"`},
		{"failing_job", `{}`, "completed", `"isError":true`},
		{"protocol_error_job", `{}`, "failed", `"error":{"code":-32603,"message":"The job broke down"}`},
	} {
		task := p.startExtensionTask(c.tool, c.args)
		o := p.pollTask(task, c.status)
		if o.Get("status").String() != c.status || !strings.Contains(o.Raw, c.says) ||
			o.Get("result").Exists() == o.Get("error").Exists() {
			t.Errorf("the task of %s ended as %s", c.tool, o.Raw)
		}
		for _, member := range []string{
			"ttl", "pollInterval", "requestState", "task", "result._meta.io\\.modelcontextprotocol/related-task",
		} {
			if task.Get(member).Exists() || o.Get(member).Exists() {
				t.Errorf("%s has the member %s", c.tool, member)
			}
		}
		if task.Get("ttlMs").Int() != defaultTTL.Milliseconds() ||
			task.Get("pollIntervalMs").Int() != pollInterval.Milliseconds() ||
			task.Get("createdAt").Raw != o.Get("createdAt").Raw {
			t.Errorf("the task of %s is %s, then %s", c.tool, task.Raw, o.Raw)
		}
	}
	greet := callParams("greet", `{"name":"Ada"}`)
	wantText(t, p.requestAs(tasksCapabilities, "tools/call", greet, `"task":{"ttl":1000}`), "Hello, Ada!")
}

func TestNoTaskWithoutExtension(t *testing.T) {
	const tasksOnly = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	p := openTasksExtension(t)
	wantText(t, p.requestAs(`{}`, "tools/call", callParams("slow_compute", `{}`)), "Computed for 0 seconds: ")
	for _, line := range [][2]string{
		{"tools/call", callParams("failing_job", `{}`)}, {"tools/call", callParams("test_tool_with_task", `{}`)},
		{"tasks/get", `"taskId":"x"`}, {"tasks/update", `"taskId":"x","inputResponses":{}`},
		{"tasks/cancel", `"taskId":"x"`},
		{"subscriptions/listen", `"notifications":{"taskIds":["x"]}`},
	} {
		m := p.requestAs(`{"tasks":{},"elicitation":{}}`, line[0], line[1])
		wantRequired(t, m, tasksOnly)
	}
	m := p.requestAs(tasksOnly, "tools/call", callParams("confirm_delete", `{"filename":"x"}`))
	wantCode(t, m, spec.MissingClientCapability)
}

func TestTaskMethodsPerRevision(t *testing.T) {
	p := openTasksExtension(t)
	for _, method := range []string{"tasks/result", "tasks/list"} {
		wantCode(t, p.requestAs(tasksCapabilities, method, `"taskId":"x"`), spec.MethodNotFound)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		wantCode(t, p.requestAs(tasksCapabilities, method, `"taskId":"x"`, `"inputResponses":{}`), spec.InvalidParams)
	}
	plain := openSession(t, spec.V2026_07_28, fullCapabilities, Options{})
	wantCode(t, plain.requestAs(tasksCapabilities, "tasks/get", `"taskId":"x"`), spec.MethodNotFound)
	old := openOfficial(t, spec.V2025_11_25)
	wantCode(t, old.request("tasks/update", `"taskId":"x"`, `"inputResponses":{}`), spec.MethodNotFound)
	wantCode(t, old.request("tools/call", callParams("greet", `{"name":"Ada"}`)), spec.InvalidParams)
}

func TestExtensionTaskAsksForInput(t *testing.T) {
	p := openTasksExtension(t)
	task := p.startExtensionTask("multi_input", `{}`)
	o := p.pollTask(task, "input_required")
	if got := memberNames(t, o.Get("inputRequests").Raw); got != "sure who" ||
		o.Get("inputRequests.who.method").String() != "elicitation/create" {
		t.Fatalf("the task asks for %s: %s", got, o.Raw)
	}
	update := func(responses string) wire.Message {
		return p.taskRequest("tasks/update", task, `"inputResponses":`+responses)
	}
	wantAcknowledged := func(m wire.Message) {
		t.Helper()
		if got := memberNames(t, wantResult(t, m).Result().Raw); got != "_meta resultType" {
			t.Errorf("the answer to tasks/update is %s", m.Raw)
		}
	}
	wantCode(t, p.taskRequest("tasks/update", task), spec.InvalidParams)
	wantCode(t, update(`{"who":"Ada"}`), spec.InvalidParams)
	wantCode(t, update(`{"who":{"action":"accept","content":{"name":7}}}`), spec.InvalidParams)
	const sure = `"sure":{"action":"accept","content":{"confirm":true}}`
	wantAcknowledged(update(`{"other":{"ignored":true}}`))
	wantAcknowledged(update(`{"who":{"action":"accept","content":{"name":"Ada"}}}`))
	o = p.pollTask(task, "input_required")
	if got := memberNames(t, o.Get("inputRequests").Raw); got != "sure" {
		t.Errorf("after the first answer the task asks for %s: %s", got, o.Raw)
	}
	wantAcknowledged(update(`{"who":{"action":"accept","content":{"name":"Eve"}},` + sure + `}`))
	o = p.pollTask(task, "completed")
	if o.Get("result.content.0.text").String() != "Both answers came, from Ada." || o.Get("inputRequests").Exists() {
		t.Errorf("the task ended as %s", o.Raw)
	}
	wantAcknowledged(update(`{"sure":{"action":"decline"}}`)) // ignored after the end
}

func TestCancelsExtensionTaskIdempotently(t *testing.T) {
	p := openTasksExtension(t)
	for tool, args := range map[string]string{
		"slow_compute": `{"seconds":60}`, "confirm_delete": `{"filename":"x"}`,
	} {
		task := p.startExtensionTask(tool, args)
		for range 2 {
			m := wantResult(t, p.taskRequest("tasks/cancel", task))
			if got := memberNames(t, m.Result().Raw); got != "_meta resultType" {
				t.Errorf("the answer to tasks/cancel has the members %s", got)
			}
			if o := p.pollTask(task, "cancelled"); o.Get("status").String() != "cancelled" ||
				o.Get("result").Exists() || o.Get("inputRequests").Exists() {
				t.Errorf("the task is %s", o.Raw)
			}
		}
	}
}

func TestInputRequiredPrecedesTask(t *testing.T) {
	p := openTasksExtension(t)
	call := callParams("test_tool_with_task", `{}`)
	first := wantResult(t, p.requestAs(tasksCapabilities, "tools/call", call)).Result()
	if first.Get("resultType").String() != "input_required" || first.Get("taskId").Exists() {
		t.Fatalf("the result of the first round is %s", first.Raw)
	}
	second := wantResult(t, p.requestAs(tasksCapabilities, "tools/call", call,
		`"requestState":`+first.Get("requestState").Raw,
		`"inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}}`)).Result()
	if second.Get("resultType").String() != "task" || second.Get("requestState").Exists() {
		t.Fatalf("the result of the second round is %s", second.Raw)
	}
	if o := p.pollTask(second, "completed"); o.Get("result.content.0.text").String() != "Hello, Ada!" {
		t.Errorf("the task ended as %s", o.Raw)
	}
}

func TestNotifiesTaskSubscribers(t *testing.T) {
	p := openTasksExtension(t)
	task := p.startExtensionTask("confirm_delete", `{"filename":"x"}`)
	other := p.startExtensionTask("confirm_delete", `{"filename":"y"}`)
	p.pollTask(task, "input_required")
	p.pollTask(other, "input_required")
	id := task.Get("taskId").Raw
	const format = `{"jsonrpc":"2.0","id":"tasks","method":"subscriptions/listen",` +
		`"params":{"notifications":{"taskIds":[%s,"x"]},%s}}`
	p.send(format, id, statelessMeta(tasksCapabilities))
	if ack := p.nextMessage(); ack.Params().Get("notifications").Raw != `{"taskIds":[`+id+`]}` {
		t.Fatalf("the acknowledgment is %s", ack.Raw)
	}
	from := len(p.received)
	for _, of := range []gjson.Result{other, task} {
		wantResult(t, p.taskRequest("tasks/update", of, `"inputResponses":{"confirmation":{"action":"decline"}}`))
	}
	p.pollTask(other, "completed")
	last := p.pollTask(task, "completed")
	isCompleted := func(m wire.Message) bool { return m.Params().Get("status").String() == "completed" }
	for !slices.ContainsFunc(p.received[from:], isCompleted) {
		p.nextMessage()
	}
	var notified []string
	for _, m := range p.received[from:] {
		if m.Method() != "notifications/tasks" {
			continue
		}
		notified = append(notified, m.Params().Get("status").String())
		if m.Params().Get("taskId").Raw != id || !strings.Contains(m.Params().Get("_meta").Raw, `"tasks"`) {
			t.Errorf("received %s, want a notification of task %s", m.Raw, id)
		}
		if isCompleted(m) && m.Params().Get("result").Raw != last.Get("result").Raw {
			t.Errorf("received %s, the task is %s", m.Raw, last.Raw)
		}
	}
	if got := strings.Join(notified, " "); got != "working completed" {
		t.Errorf("the notified statuses are %q, want working completed", got)
	}
}

func TestTasksBelongToEra(t *testing.T) {
	p := openOfficial(t, spec.V2025_11_25)
	task := p.createTask("stocktake", `{}`)
	wantCode(t, p.statelessTaskRequest("tasks/get", task), spec.InvalidParams)
	p.taskResult(task)
}

// statelessTaskRequest sends a stateless request that names a task, in a session.
func (p *testClient) statelessTaskRequest(method string, task gjson.Result) wire.Message {
	id := wire.StringID("stateless")
	const format = `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"taskId":%s,%s}}`
	p.send(format, id, method, task.Get("taskId").Raw, statelessMeta(tasksCapabilities))
	return p.responseTo(id)
}
