package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// extending is a client with the tasks extension, and with elicitation.
const tasksCapabilities = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func openTasksExtension(t *testing.T) *testClient {
	t.Helper()
	return openOfficial(t, spec.V2026_07_28)
}

// begin calls a tool and returns the task that it becomes.
func (p *testClient) startExtensionTask(tool, args string) gjson.Result {
	p.t.Helper()
	o := wantResult(p.t, p.requestAs(tasksCapabilities, "tools/call", callParams(tool, args))).Result()
	if o.Get("resultType").String() != "task" || o.Get("status").String() != "working" || o.Get("result").Exists() {
		p.t.Fatalf("%s began as %s", tool, o.Raw)
	}
	return o
}

// about asks for a task, or has something done with it.
func (p *testClient) taskRequest(method string, task gjson.Result, members ...string) wire.Message {
	p.t.Helper()
	return p.requestAs(tasksCapabilities, method, append([]string{
		`"taskId":` + task.Get("taskId").Raw,
	}, members...)...)
}

// until polls a task until it has a status, or any that is final.
func (p *testClient) pollTask(task gjson.Result, status string) gjson.Result {
	p.t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		o := wantResult(p.t, p.taskRequest("tasks/get", task)).Result()
		if o.Get("resultType").String() != "complete" {
			p.t.Fatalf("tasks/get was answered with %s", o.Raw)
		}
		if s := o.Get("status").String(); s == status || isTerminal(s) {
			return o
		}
	}
	p.t.Fatalf("the task %s was never %s", task.Raw, status)
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
			t.Errorf("%s came to %s", c.tool, o.Raw)
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
			t.Errorf("%s: the task is %s, then %s", c.tool, task.Raw, o.Raw)
		}
	}
	wantText(
		t,
		p.requestAs(tasksCapabilities, "tools/call", callParams("greet", `{"name":"Ada"}`), `"task":{"ttl":1000}`),
		"Hello, Ada!",
	)
}

func wantText(t *testing.T, m wire.Message, text string) {
	t.Helper()
	if o := wantResult(t, m).Result(); o.Get("resultType").String() != "complete" ||
		o.Get("content.0.text").String() != text {
		t.Errorf("got %s, want the text %q", m.Raw, text)
	}
}

func TestNoTaskWithoutExtension(t *testing.T) {
	p := openTasksExtension(t)
	wantText(t, p.requestAs(`{}`, "tools/call", callParams("slow_compute", `{}`)), "Computed for 0 seconds: ")
	for _, line := range [][2]string{
		{"tools/call", callParams("failing_job", `{}`)}, {"tools/call", callParams("test_tool_with_task", `{}`)},
		{"tasks/get", `"taskId":"x"`}, {"tasks/update", `"taskId":"x","inputResponses":{}`},
		{"tasks/cancel", `"taskId":"x"`},
		{"subscriptions/listen", `"notifications":{"taskIds":["x"]}`},
	} {
		m := p.requestAs(`{"tasks":{},"elicitation":{}}`, line[0], line[1])
		wantCode(t, m, spec.MissingClientCapability)
		if got := m.Error().Get("data.requiredCapabilities").Raw; got != `{"extensions":{"io.modelcontextprotocol/tasks":{}}}` {
			t.Errorf("%s needs %s", line[0], got)
		}
	}
	wantCode(
		t,
		p.requestAs(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "tools/call", callParams("confirm_delete", `{"filename":"x"}`)),
		spec.MissingClientCapability,
	)
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
	if got := strings.Join(sorted(unsortedMembers(o.Get("inputRequests"))), " "); got != "sure who" ||
		o.Get("inputRequests.who.method").String() != "elicitation/create" {
		t.Fatalf("it asks for %s: %s", got, o.Raw)
	}
	update := func(responses string) wire.Message {
		return p.taskRequest("tasks/update", task, `"inputResponses":`+responses)
	}
	acknowledged := func(m wire.Message) {
		t.Helper()
		if got := strings.Join(sorted(unsortedMembers(wantResult(t, m).Result())), " "); got != "_meta resultType" {
			t.Errorf("the answer is %s", m.Raw)
		}
	}
	wantCode(t, p.taskRequest("tasks/update", task), spec.InvalidParams)
	wantCode(t, update(`{"who":"Ada"}`), spec.InvalidParams)
	wantCode(t, update(`{"who":{"action":"accept","content":{"name":7}}}`), spec.InvalidParams)
	acknowledged(update(`{"other":{"ignored":true}}`))
	acknowledged(update(`{"who":{"action":"accept","content":{"name":"Ada"}}}`))
	if o := p.pollTask(task, "input_required"); strings.Join(unsortedMembers(o.Get("inputRequests")), " ") != "sure" {
		t.Errorf("after the first answer it is %s", o.Raw)
	}
	acknowledged(
		update(`{"who":{"action":"accept","content":{"name":"Eve"}},"sure":{"action":"accept","content":{"confirm":true}}}`),
	)
	if o := p.pollTask(task, "completed"); o.Get("result.content.0.text").String() != "Both answers came, from Ada." || o.Get("inputRequests").Exists() {
		t.Errorf("it came to %s", o.Raw)
	}
	acknowledged(update(`{"sure":{"action":"decline"}}`))
}

func unsortedMembers(o gjson.Result) (out []string) {
	for name := range o.Map() {
		out = append(out, name)
	}
	return out
}

func TestCancelsExtensionTaskIdempotently(t *testing.T) {
	p := openTasksExtension(t)
	for _, tool := range []string{"slow_compute", "confirm_delete"} {
		task := p.startExtensionTask(tool, map[string]string{
			"slow_compute": `{"seconds":60}`, "confirm_delete": `{"filename":"x"}`,
		}[tool])
		for range 2 {
			if got := unsortedMembers(wantResult(t, p.taskRequest("tasks/cancel", task)).Result()); len(got) != 2 {
				t.Errorf("the answer has the members %v", got)
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
	first := wantResult(t, p.requestAs(tasksCapabilities, "tools/call", callParams("test_tool_with_task", `{}`))).Result()
	if first.Get("resultType").String() != "input_required" || first.Get("taskId").Exists() {
		t.Fatalf("the first round came to %s", first.Raw)
	}
	second := wantResult(t, p.requestAs(tasksCapabilities, "tools/call", callParams("test_tool_with_task", `{}`),
		`"requestState":`+first.Get("requestState").Raw,
		`"inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}}`)).Result()
	if second.Get("resultType").String() != "task" || second.Get("requestState").Exists() {
		t.Fatalf("the second round came to %s", second.Raw)
	}
	if o := p.pollTask(second, "completed"); o.Get("result.content.0.text").String() != "Hello, Ada!" {
		t.Errorf("the task came to %s", o.Raw)
	}
}

func TestNotifiesTaskSubscribers(t *testing.T) {
	p := openTasksExtension(t)
	task, other := p.startExtensionTask(
		"confirm_delete", `{"filename":"x"}`,
	), p.startExtensionTask("confirm_delete", `{"filename":"y"}`)
	p.pollTask(task, "input_required")
	p.pollTask(other, "input_required")
	p.send(
		`{"jsonrpc":"2.0","id":"tasks","method":"subscriptions/listen","params":{"notifications":{"taskIds":[%s,"x"]},%s}}`,
		task.Get("taskId").Raw, statelessMeta(tasksCapabilities),
	)
	if ack := p.nextMessage(); ack.Params().Get("notifications").Raw != fmt.Sprintf(`{"taskIds":[%s]}`, task.Get("taskId").Raw) {
		t.Fatalf("the acknowledgment is %s", ack.Raw)
	}
	from := len(p.received)
	for _, of := range []gjson.Result{other, task} {
		wantResult(t, p.taskRequest("tasks/update", of, `"inputResponses":{"confirmation":{"action":"decline"}}`))
	}
	p.pollTask(other, "completed")
	last := p.pollTask(task, "completed")
	ended := func(m wire.Message) bool { return m.Params().Get("status").String() == "completed" }
	for !slices.ContainsFunc(p.received[from:], ended) {
		p.nextMessage()
	}
	var told []string
	for _, m := range p.received[from:] {
		if m.Method() != "notifications/tasks" {
			continue
		}
		told = append(told, m.Params().Get("status").String())
		if m.Params().Get("taskId").Raw != task.Get("taskId").Raw ||
			!strings.Contains(m.Params().Get("_meta").Raw, `"tasks"`) {
			t.Errorf("told was %s", m.Raw)
		}
		if told[len(told)-1] == "completed" && m.Params().Get("result").Raw != last.Get("result").Raw {
			t.Errorf("told was %s, the task is %s", m.Raw, last.Raw)
		}
	}
	if got := strings.Join(told, " "); got != "working completed" {
		t.Errorf("told was %q", got)
	}
}

func TestTasksBelongToEra(t *testing.T) {
	p := openOfficial(t, spec.V2025_11_25)
	task := p.createTask("stocktake", `{}`)
	wantCode(t, p.statelessTaskRequest("tasks/get", task), spec.InvalidParams)
	p.taskResult(task)
}

// send2026 asks for a task by a stateless request in a session.
func (p *testClient) statelessTaskRequest(method string, task gjson.Result) wire.Message {
	id := wire.StringID("modern")
	p.send(
		`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"taskId":%s,%s}}`, id, method, task.Get("taskId").Raw,
		statelessMeta(tasksCapabilities),
	)
	return p.responseTo(id)
}
