package server

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// createTask calls a tool as a task and returns the task.
func (p *testClient) createTask(tool, args string) gjson.Result {
	p.t.Helper()
	p.requestCount++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
	p.recordMethod(id, "tools/call as a task")
	const format = `{"jsonrpc":"2.0","id":%s,"method":"tools/call",` +
		`"params":{%s,"task":{"ttl":60000},"_meta":{"progressToken":%q}}}`
	p.send(format, id, callParams(tool, args), "of "+id.Raw)
	task := wantResult(p.t, p.responseTo(id)).Result().Get("task")
	if task.Get("status").String() != "working" {
		p.t.Errorf("the new task is %s, want status working", task.Raw)
	}
	return task
}

// taskResult returns the answer to tasks/result. It answers requests of the server.
func (p *testClient) taskResult(task gjson.Result) wire.Message {
	p.t.Helper()
	p.requestCount++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
	p.recordMethod(id, "tasks/result")
	p.send(`{"jsonrpc":"2.0","id":%s,"method":"tasks/result","params":{"taskId":%s}}`, id, task.Get("taskId").Raw)
	return p.answerUntil(id)
}

// getTask returns the result of tasks/get.
func (p *testClient) getTask(task gjson.Result) gjson.Result {
	p.t.Helper()
	return wantResult(p.t, p.request("tasks/get", `"taskId":`+task.Get("taskId").Raw)).Result()
}

// runAsTask calls a tool as a task and waits for its result.
func (p *testClient) runAsTask(tool string) {
	p.t.Helper()
	task := p.createTask(tool, toolArguments[tool])
	p.taskResult(task)
	p.getTask(task)
}

// notifiedStatuses returns the statuses of a task that the server sent, in order.
func (p *testClient) notifiedStatuses(task gjson.Result) string {
	var out []string
	for _, m := range p.received {
		if m.Method() == "notifications/tasks/status" &&
			m.Params().Get("taskId").String() == task.Get("taskId").String() {
			out = append(out, m.Params().Get("status").String())
		}
	}
	return strings.Join(out, " ")
}

func openTaskRevision(t *testing.T) *testClient {
	t.Helper()
	return openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
}

func TestTaskResultEqualsCallResult(t *testing.T) {
	for _, c := range []struct{ tool, statuses string }{
		{"stocktake", "completed"},
		{"bind_catalogue", "completed"},
		{"scan_card", "failed"},
		{"reset_stamp", "failed"},
		{"suggest_reading", "input_required working completed"},
		{"plan_visit", "input_required working input_required working completed"},
	} {
		p := openTaskRevision(t)
		task := p.createTask(c.tool, toolArguments[c.tool])
		m := p.taskResult(task)
		if got := p.notifiedStatuses(task); got != c.statuses {
			t.Errorf("the notified statuses of %s are %s, want %s", c.tool, got, c.statuses)
		}
		if got := p.getTask(task); !strings.HasSuffix(c.statuses, got.Get("status").String()) ||
			got.Get("statusMessage").String() == "" || got.Get("_meta").Exists() {
			t.Errorf("the task of %s is %s", c.tool, got.Raw)
		}
		again := p.taskResult(task)
		if again.Result().Raw != m.Result().Raw || again.Error().Raw != m.Error().Raw {
			t.Errorf("the second tasks/result of %s is %s, the first %s", c.tool, again.Raw, m.Raw)
		}
		if c.tool == "bind_catalogue" {
			continue // cannot be called directly
		}
		direct := p.requestAnswering("tools/call", callParams(c.tool, toolArguments[c.tool]))
		if m.Kind == wire.Error {
			wantSameJSON(t, `{"x":`+m.Error().Raw+`}`, `{"x":`+direct.Error().Raw+`}`)
			continue
		}
		const format = `%s,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%s}}}`
		want := fmt.Sprintf(format, strings.TrimSuffix(direct.Result().Raw, "}"), task.Get("taskId").Raw)
		wantSameJSON(t, m.Result().Raw, want)
	}
}

func TestInvalidArgumentsFailTask(t *testing.T) {
	p := openTaskRevision(t)
	task := p.createTask("stocktake", `{"steps":0}`)
	wantToolError(t, p.taskResult(task))
	if got := p.getTask(task); got.Get("status").String() != "failed" ||
		!strings.Contains(got.Get("statusMessage").String(), "steps") {
		t.Errorf("the task is %s, want a failed one that names steps", got.Raw)
	}
}

func TestTaskMessagesNameTask(t *testing.T) {
	p := openTaskRevision(t)
	wantResult(t, p.request("logging/setLevel", `"level":"debug"`))
	for _, tool := range []string{"stocktake", "bind_catalogue", "plan_visit"} {
		from := len(p.received)
		task := p.createTask(tool, toolArguments[tool])
		p.taskResult(task)
		named := map[string]bool{}
		for _, m := range p.received[from:] {
			related := wire.Member(m.Params().Get("_meta"), relatedTask).Get("taskId").String()
			if m.IsResponse() || m.Method() == "notifications/tasks/status" {
				if related != "" {
					t.Errorf("the message has related-task metadata, but names the task itself: %s", m.Raw)
				}
				continue
			}
			named[m.Method()] = true
			if related != task.Get("taskId").String() {
				t.Errorf("the message does not name its task: %s", m.Raw)
			}
		}
		want := map[string]string{
			"stocktake": "notifications/progress", "bind_catalogue": "notifications/message",
			"plan_visit": "elicitation/create",
		}[tool]
		if !named[want] {
			t.Errorf("%s sent no %s", tool, want)
		}
	}
}

func TestCancelledClientRequestNamesTask(t *testing.T) {
	p := openTaskRevision(t)
	task := p.createTask("plan_visit", `{}`)
	for p.nextMessage().Kind != wire.Request {
	}
	p.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":{"taskId":%s}}`, task.Get("taskId").Raw)
	for {
		if m := p.nextMessage(); m.Method() == "notifications/cancelled" {
			related := wire.Member(m.Params().Get("_meta"), relatedTask).Get("taskId").String()
			if related != task.Get("taskId").String() {
				t.Errorf("the message does not name its task: %s", m.Raw)
			}
			return
		}
	}
}

func TestTaskResultWaits(t *testing.T) {
	t.Parallel()
	p := openTaskRevision(t)
	task := p.createTask("stocktake", `{"duration_ms":300}`)
	p.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":%s}}`, task.Get("taskId").Raw)
	if got := p.getTask(task).Get("status").String(); got != "working" {
		t.Errorf("the task is %s", got)
	}
	wantResult(t, p.responseTo(wire.IntID(7)))
	if got := p.notifiedStatuses(task); got != "completed" {
		t.Errorf("the notified statuses before the result are %q, want completed", got)
	}
	// A cancelled tasks/result does not end the task.
	task = p.createTask("stocktake", `{"duration_ms":5000}`)
	p.send(`{"jsonrpc":"2.0","id":8,"method":"tasks/result","params":{"taskId":%s}}`, task.Get("taskId").Raw)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	if got := p.getTask(task).Get("status").String(); got != "working" {
		t.Errorf("the task is %s", got)
	}
}

func TestCancelledTaskStaysCancelled(t *testing.T) {
	p := openTaskRevision(t)
	task := p.createTask("stocktake", `{"duration_ms":5000,"steps":1}`)
	began := time.Now()
	m := p.request("tasks/cancel", `"taskId":`+task.Get("taskId").Raw)
	if got := wantResult(t, m).Result().Get("status").String(); got != "cancelled" {
		t.Errorf("the answer to tasks/cancel is %s", m.Raw)
	}
	wantToolError(t, p.taskResult(task))
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the result of the cancelled task took %s", took)
	}
	if got := p.getTask(task).Get("status").String(); got != "cancelled" || p.notifiedStatuses(task) != "cancelled" {
		t.Errorf("the task is %s, its notified statuses are %s", got, p.notifiedStatuses(task))
	}
	wantCode(t, p.request("tasks/cancel", `"taskId":`+task.Get("taskId").Raw), spec.InvalidParams)
	done := p.createTask("scan_card", `{}`)
	p.taskResult(done)
	wantCode(t, p.request("tasks/cancel", `"taskId":`+done.Get("taskId").Raw), spec.InvalidParams)
}

func TestTaskSupport(t *testing.T) {
	p := openTaskRevision(t)
	support := map[string]string{}
	for _, tool := range p.listAll("tools/list", "tools") {
		support[tool.Get("name").String()] = tool.Get("execution.taskSupport").String()
	}
	for name, task := range map[string]string{
		"opening_hours": "forbidden", "new_arrivals": "", "stocktake": "optional", "bind_catalogue": "required",
	} {
		if support[name] != task {
			t.Errorf("the taskSupport of %s is %q, want %q", name, support[name], task)
		}
		plain := p.request("tools/call", callParams(name, `{}`))
		augmented := p.request("tools/call", callParams(name, `{}`)+`,"task":{}`)
		if got, _ := plain.ErrorCode(); (got == spec.MethodNotFound) != (task == "required") {
			t.Errorf("the answer to a call of %s is %s", name, plain.Raw)
		}
		if got, _ := augmented.ErrorCode(); (got == spec.MethodNotFound) != (task == "" || task == "forbidden") {
			t.Errorf("the answer to a call of %s as a task is %s", name, augmented.Raw)
		}
	}
	for _, invalid := range []string{`5`, `[]`, `null`, `{"ttl":"long"}`} {
		wantCode(t, p.request("tools/call", callParams("stocktake", `{}`)+`,"task":`+invalid), spec.InvalidParams)
	}
	wantCode(t, p.request("tools/call", callParams("no-such", `{}`)+`,"task":{}`), spec.InvalidParams)
}

func TestIgnoresTasksInOtherRevisions(t *testing.T) {
	withoutTasks := Options{ChangeFeatures: func(l *Features) { delete(l.Capabilities, "tasks") }}
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		o := Options{}
		if taskRevisions.Has(rev) {
			o = withoutTasks
		}
		p := openSession(t, rev, fullCapabilities, o)
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"} {
			wantCode(t, p.request(method, `"taskId":"x"`), spec.MethodNotFound)
		}
		if !taskRevisions.Has(rev) {
			for _, tool := range p.listAll("tools/list", "tools") {
				if tool.Get("execution").Exists() || tool.Get("name").String() == "bind_catalogue" {
					t.Errorf("tools/list has %s", tool.Raw)
				}
			}
		}
		m := p.request("tools/call", callParams("stocktake", `{"duration_ms":1}`)+`,"task":{}`)
		if !wantResult(t, m).Result().Get("content").Exists() {
			t.Errorf("the parameter task is not ignored: %s", m.Raw)
		}
	})
}

func TestTasksBelongToConnection(t *testing.T) {
	p, other := openTaskRevision(t), openTaskRevision(t)
	task := p.createTask("stocktake", `{}`)
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		wantCode(t, other.request(method, `"taskId":`+task.Get("taskId").Raw), spec.InvalidParams)
		for _, invalid := range []string{`"taskId":"no-such"`, `"taskId":""`, `"taskId":5`, ``} {
			wantCode(t, p.request(method, invalid), spec.InvalidParams)
		}
		meta := `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + task.Get("taskId").Raw + `}}`
		wantCode(t, p.request(method, `"taskId":"no-such"`, meta), spec.InvalidParams)
	}
	if got := other.listAll("tasks/list", "tasks"); len(got) != 0 {
		t.Errorf("tasks/list of another connection has %v", got)
	}
}

func TestListsTasksInPages(t *testing.T) {
	p := openTaskRevision(t)
	var created, listed []string
	for range 10 {
		created = append(created, p.createTask("stocktake", `{"duration_ms":0}`).Get("taskId").String())
	}
	if n := len(wantResult(t, p.request("tasks/list")).Result().Get("tasks").Array()); n != 6 {
		t.Errorf("the first page has %d tasks, want 6", n)
	}
	for _, task := range p.listAll("tasks/list", "tasks") {
		listed = append(listed, task.Get("taskId").String())
	}
	if !slices.Equal(created, listed) {
		t.Errorf("created %v, listed %v", created, listed)
	}
	if slices.Sort(created); len(slices.Compact(created)) != 10 {
		t.Errorf("the ids are not unique: %v", created)
	}
	wantCode(t, p.request("tasks/list", `"cursor":"x"`), spec.InvalidParams)
}

func TestTaskTTL(t *testing.T) {
	t.Parallel()
	p := openTaskRevision(t)
	for requested, want := range map[string]int64{
		`{}`: 300000, `{"ttl":60000}`: 60000, `{"ttl":1}`: 1000, `{"ttl":-5}`: 1000, `{"ttl":1e300}`: 600000,
	} {
		m := p.request("tools/call", callParams("stocktake", `{}`)+`,"task":`+requested)
		if got := wantResult(t, m).Result().Get("task.ttl").Int(); got != want {
			t.Errorf("the ttl for %s is %d, want %d", requested, got, want)
		}
	}
	m := p.request("tools/call", callParams("stocktake", `{"duration_ms":5000,"steps":1}`)+`,"task":{"ttl":1}`)
	task := m.Result().Get("task")
	wantCode(t, p.taskResult(task), spec.InvalidParams) // the task expires meanwhile
	wantCode(t, p.request("tasks/get", `"taskId":`+task.Get("taskId").Raw), spec.InvalidParams)
	for _, left := range p.listAll("tasks/list", "tasks") {
		if left.Get("taskId").String() == task.Get("taskId").String() {
			t.Errorf("tasks/list has the expired task %s", left.Raw)
		}
	}
}

func TestTaskStoreLimit(t *testing.T) {
	s := taskStore{}
	at := time.Now()
	for range maxTasks {
		if !s.add(&task{created: at, ttl: time.Hour}) {
			t.Fatal("the store is full before the limit")
		}
	}
	if s.add(&task{created: at, ttl: time.Hour}) {
		t.Error("the store has no limit")
	}
	s.listed[3].created = at.Add(-2 * time.Hour)
	if !s.add(&task{created: at, ttl: time.Hour}) || s.listed[3] != nil {
		t.Error("an expired task still counts")
	}
}

// Tasks of the extension are in no list: there is room for any number of them, one
// after another, and cursors into the list stay valid.
func TestExpiredExtensionTasksDoNotFillStore(t *testing.T) {
	s := taskStore{}
	at := time.Now()
	listed := &task{id: "listed", created: at, ttl: time.Hour}
	s.add(listed)
	for n := range 2 * math.MaxUint16 {
		task := &task{id: fmt.Sprint(n), created: at, ttl: time.Hour, extended: true}
		if !s.add(task) || s.find(task.id) != task {
			t.Fatalf("there is no room for task %d", n)
		}
		task.created = at.Add(-2 * time.Hour)
		if s.find(task.id) != nil {
			t.Fatalf("task %d is found though it has expired", n)
		}
	}
	if got := s.list(); len(got) != 1 || got[0] != listed || s.find("listed") != listed {
		t.Errorf("the list has %d positions, want 1", len(got))
	}
	for range maxTasks - 1 {
		s.add(&task{created: at, ttl: time.Hour, extended: true})
	}
	if s.add(&task{created: at, ttl: time.Hour, extended: true}) || s.add(&task{created: at, ttl: time.Hour}) {
		t.Error("the store has no limit for tasks of the extension")
	}
}

func TestTasksEndWithTheServer(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{Grace: 50 * time.Millisecond})
	p.createTask("stocktake", `{"duration_ms":5000}`)
	p.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`)
	p.responseTo(wire.IntID(7))
	p.stream.CloseInput()
	select {
	case <-p.stream.Done():
	case <-time.After(3 * time.Second):
		t.Fatal("the server waits for the task")
	}
}
