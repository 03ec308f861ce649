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
const extending = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func extended(t *testing.T) *peer { t.Helper(); return contract(t, spec.V2026_07_28) }

// begin calls a tool and returns the task that it becomes.
func (p *peer) begin(tool, args string) gjson.Result {
	p.t.Helper()
	o := wantResult(p.t, p.askAs(extending, "tools/call", call(tool, args))).Result()
	if o.Get("resultType").String() != "task" || o.Get("status").String() != "working" || o.Get("result").Exists() {
		p.t.Fatalf("%s began as %s", tool, o.Raw)
	}
	return o
}

// about asks for a task, or has something done with it.
func (p *peer) about(method string, task gjson.Result, members ...string) wire.Message {
	p.t.Helper()
	return p.askAs(extending, method, append([]string{`"taskId":` + task.Get("taskId").Raw}, members...)...)
}

// until polls a task until it has a status, or any that is final.
func (p *peer) until(task gjson.Result, status string) gjson.Result {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		o := wantResult(p.t, p.about("tasks/get", task)).Result()
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

func TestACallBecomesATaskForWhoKnowsTheExtension(t *testing.T) {
	p := extended(t)
	for _, c := range []struct{ tool, args, status, says string }{
		{"slow_compute", `{"seconds":1,"label":"x"}`, "completed", `"text":"Computed for 1 seconds: x"`},
		{"failing_job", `{}`, "completed", `"isError":true`},
		{"protocol_error_job", `{}`, "failed", `"error":{"code":-32603,"message":"The job broke down"}`},
	} {
		task := p.begin(c.tool, c.args)
		o := p.until(task, c.status)
		if o.Get("status").String() != c.status || !strings.Contains(o.Raw, c.says) || o.Get("result").Exists() == o.Get("error").Exists() {
			t.Errorf("%s came to %s", c.tool, o.Raw)
		}
		for _, member := range []string{"ttl", "pollInterval", "requestState", "task", "result._meta.io\\.modelcontextprotocol/related-task"} {
			if task.Get(member).Exists() || o.Get(member).Exists() {
				t.Errorf("%s has the member %s", c.tool, member)
			}
		}
		if task.Get("ttlMs").Int() != defaultTTL.Milliseconds() || task.Get("pollIntervalMs").Int() != pollInterval.Milliseconds() || task.Get("createdAt").Raw != o.Get("createdAt").Raw {
			t.Errorf("%s: the task is %s, then %s", c.tool, task.Raw, o.Raw)
		}
	}
	wantText(t, p.askAs(extending, "tools/call", call("greet", `{"name":"Ada"}`), `"task":{"ttl":1000}`), "Hello, Ada!")
}

func wantText(t *testing.T, m wire.Message, text string) {
	t.Helper()
	if o := wantResult(t, m).Result(); o.Get("resultType").String() != "complete" || o.Get("content.0.text").String() != text {
		t.Errorf("got %s, want the text %q", m.Raw, text)
	}
}

func TestWhoDoesNotKnowTheExtensionGetsNoTask(t *testing.T) {
	p := extended(t)
	wantText(t, p.askAs(`{}`, "tools/call", call("slow_compute", `{}`)), "Computed for 0 seconds: ")
	for _, line := range [][2]string{
		{"tools/call", call("failing_job", `{}`)}, {"tools/call", call("test_tool_with_task", `{}`)},
		{"tasks/get", `"taskId":"x"`}, {"tasks/update", `"taskId":"x","inputResponses":{}`}, {"tasks/cancel", `"taskId":"x"`},
		{"subscriptions/listen", `"notifications":{"taskIds":["x"]}`},
	} {
		m := p.askAs(`{"tasks":{},"elicitation":{}}`, line[0], line[1])
		wantCode(t, m, spec.MissingClientCapability)
		if got := m.Error().Get("data.requiredCapabilities").Raw; got != `{"extensions":{"io.modelcontextprotocol/tasks":{}}}` {
			t.Errorf("%s needs %s", line[0], got)
		}
	}
	wantCode(t, p.askAs(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "tools/call", call("confirm_delete", `{"filename":"x"}`)), spec.MissingClientCapability)
}

func TestMethodsOfTasksByRevision(t *testing.T) {
	p := extended(t)
	for _, method := range []string{"tasks/result", "tasks/list"} {
		wantCode(t, p.askAs(extending, method, `"taskId":"x"`), spec.MethodNotFound)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		wantCode(t, p.askAs(extending, method, `"taskId":"x"`, `"inputResponses":{}`), spec.InvalidParams)
	}
	plain := open(t, spec.V2026_07_28, rich, Options{})
	wantCode(t, plain.askAs(extending, "tasks/get", `"taskId":"x"`), spec.MethodNotFound)
	old := contract(t, spec.V2025_11_25)
	wantCode(t, old.ask("tasks/update", `"taskId":"x"`, `"inputResponses":{}`), spec.MethodNotFound)
	wantCode(t, old.ask("tools/call", call("greet", `{"name":"Ada"}`)), spec.InvalidParams)
}

func TestATaskAsksByItsEntries(t *testing.T) {
	p := extended(t)
	task := p.begin("multi_input", `{}`)
	o := p.until(task, "input_required")
	if got := strings.Join(sorted(membersOf(o.Get("inputRequests"))), " "); got != "sure who" || o.Get("inputRequests.who.method").String() != "elicitation/create" {
		t.Fatalf("it asks for %s: %s", got, o.Raw)
	}
	update := func(responses string) wire.Message {
		return p.about("tasks/update", task, `"inputResponses":`+responses)
	}
	acknowledged := func(m wire.Message) {
		t.Helper()
		if got := strings.Join(sorted(membersOf(wantResult(t, m).Result())), " "); got != "_meta resultType" {
			t.Errorf("the answer is %s", m.Raw)
		}
	}
	wantCode(t, p.about("tasks/update", task), spec.InvalidParams)
	wantCode(t, update(`{"who":"Ada"}`), spec.InvalidParams)
	wantCode(t, update(`{"who":{"action":"accept","content":{"name":7}}}`), spec.InvalidParams)
	acknowledged(update(`{"other":{"ignored":true}}`))
	acknowledged(update(`{"who":{"action":"accept","content":{"name":"Ada"}}}`))
	if o := p.until(task, "input_required"); strings.Join(membersOf(o.Get("inputRequests")), " ") != "sure" {
		t.Errorf("after the first answer it is %s", o.Raw)
	}
	acknowledged(update(`{"who":{"action":"accept","content":{"name":"Eve"}},"sure":{"action":"accept","content":{"confirm":true}}}`))
	if o := p.until(task, "completed"); o.Get("result.content.0.text").String() != "Both answers came, from Ada." || o.Get("inputRequests").Exists() {
		t.Errorf("it came to %s", o.Raw)
	}
	acknowledged(update(`{"sure":{"action":"decline"}}`))
}

func membersOf(o gjson.Result) (out []string) {
	for name := range o.Map() {
		out = append(out, name)
	}
	return out
}

func TestAnExtendedTaskIsCancelledOnceAndAcknowledgedTwice(t *testing.T) {
	p := extended(t)
	for _, tool := range []string{"slow_compute", "confirm_delete"} {
		task := p.begin(tool, map[string]string{"slow_compute": `{"seconds":60}`, "confirm_delete": `{"filename":"x"}`}[tool])
		for range 2 {
			if got := membersOf(wantResult(t, p.about("tasks/cancel", task)).Result()); len(got) != 2 {
				t.Errorf("the answer has the members %v", got)
			}
			if o := p.until(task, "cancelled"); o.Get("status").String() != "cancelled" || o.Get("result").Exists() || o.Get("inputRequests").Exists() {
				t.Errorf("the task is %s", o.Raw)
			}
		}
	}
}

func TestRoundsComeBeforeTheTask(t *testing.T) {
	p := extended(t)
	first := wantResult(t, p.askAs(extending, "tools/call", call("test_tool_with_task", `{}`))).Result()
	if first.Get("resultType").String() != "input_required" || first.Get("taskId").Exists() {
		t.Fatalf("the first round came to %s", first.Raw)
	}
	second := wantResult(t, p.askAs(extending, "tools/call", call("test_tool_with_task", `{}`),
		`"requestState":`+first.Get("requestState").Raw, `"inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}}`)).Result()
	if second.Get("resultType").String() != "task" || second.Get("requestState").Exists() {
		t.Fatalf("the second round came to %s", second.Raw)
	}
	if o := p.until(second, "completed"); o.Get("result.content.0.text").String() != "Hello, Ada!" {
		t.Errorf("the task came to %s", o.Raw)
	}
}

func TestWhoListensIsToldOfATask(t *testing.T) {
	p := extended(t)
	task, other := p.begin("confirm_delete", `{"filename":"x"}`), p.begin("confirm_delete", `{"filename":"y"}`)
	p.until(task, "input_required")
	p.until(other, "input_required")
	p.send(`{"jsonrpc":"2.0","id":"tasks","method":"subscriptions/listen","params":{"notifications":{"taskIds":[%s,"x"]},%s}}`, task.Get("taskId").Raw, meta(extending))
	if ack := p.next(); ack.Params().Get("notifications").Raw != fmt.Sprintf(`{"taskIds":[%s]}`, task.Get("taskId").Raw) {
		t.Fatalf("the acknowledgment is %s", ack.Raw)
	}
	from := len(p.seen)
	for _, of := range []gjson.Result{other, task} {
		wantResult(t, p.about("tasks/update", of, `"inputResponses":{"confirmation":{"action":"decline"}}`))
	}
	p.until(other, "completed")
	last := p.until(task, "completed")
	ended := func(m wire.Message) bool { return m.Params().Get("status").String() == "completed" }
	for !slices.ContainsFunc(p.seen[from:], ended) {
		p.next()
	}
	var told []string
	for _, m := range p.seen[from:] {
		if m.Method() != "notifications/tasks" {
			continue
		}
		told = append(told, m.Params().Get("status").String())
		if m.Params().Get("taskId").Raw != task.Get("taskId").Raw || !strings.Contains(m.Params().Get("_meta").Raw, `"tasks"`) {
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

func TestTasksOfOneEraAreUnknownToTheOther(t *testing.T) {
	p := contract(t, spec.V2025_11_25)
	task := p.create("stocktake", `{}`)
	wantCode(t, p.send2026("tasks/get", task), spec.InvalidParams)
	p.see(task)
}

// send2026 asks for a task by a stateless request in a session.
func (p *peer) send2026(method string, task gjson.Result) wire.Message {
	id := wire.StringID("modern")
	p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"taskId":%s,%s}}`, id, method, task.Get("taskId").Raw, meta(extending))
	return p.answer(id)
}
