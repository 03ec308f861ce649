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

// create calls a tool as a task and returns the task.
func (p *peer) create(tool, args string) gjson.Result {
	p.t.Helper()
	p.asked++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.asked))
	p.sent(id, "tools/call as a task")
	p.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s,"task":{"ttl":60000},"_meta":{"progressToken":%q}}}`, id, call(tool, args), "of "+id.Raw)
	task := wantResult(p.t, p.answer(id)).Result().Get("task")
	if task.Get("status").String() != "working" {
		p.t.Errorf("the task begins as %s", task.Raw)
	}
	return task
}

// see waits for the result of a task, answering what the server asks.
func (p *peer) see(task gjson.Result) wire.Message {
	p.t.Helper()
	p.asked++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.asked))
	p.sent(id, "tasks/result")
	p.send(`{"jsonrpc":"2.0","id":%s,"method":"tasks/result","params":{"taskId":%s}}`, id, task.Get("taskId").Raw)
	for {
		m := p.next()
		if m.Kind == wire.Request {
			p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID(), answers[m.Method()])
		}
		if m.IsResponse() && m.ID().Equal(id) {
			return m
		}
	}
}

func (p *peer) get(task gjson.Result) gjson.Result {
	p.t.Helper()
	return wantResult(p.t, p.ask("tasks/get", `"taskId":`+task.Get("taskId").Raw)).Result()
}

// asTask sees a call through as a task.
func (p *peer) asTask(tool string) {
	p.t.Helper()
	task := p.create(tool, arguments[tool])
	p.see(task)
	p.get(task)
}

// statuses are those that the server told of a task, in order.
func (p *peer) statuses(task gjson.Result) string {
	var out []string
	for _, m := range p.seen {
		if m.Method() == "notifications/tasks/status" && m.Params().Get("taskId").String() == task.Get("taskId").String() {
			out = append(out, m.Params().Get("status").String())
		}
	}
	return strings.Join(out, " ")
}

func tasked(t *testing.T) *peer { t.Helper(); return open(t, spec.V2025_11_25, rich, Options{}) }

func TestATaskHasTheResultOfItsCall(t *testing.T) {
	for _, c := range []struct{ tool, statuses string }{
		{"stocktake", "completed"},
		{"bind_catalogue", "completed"},
		{"scan_card", "failed"},
		{"reset_stamp", "failed"},
		{"suggest_reading", "input_required working completed"},
		{"plan_visit", "input_required working input_required working completed"},
	} {
		p := tasked(t)
		task := p.create(c.tool, arguments[c.tool])
		m := p.see(task)
		if got := p.statuses(task); got != c.statuses {
			t.Errorf("%s was %s, want %s", c.tool, got, c.statuses)
		}
		if got := p.get(task); !strings.HasSuffix(c.statuses, got.Get("status").String()) || got.Get("statusMessage").String() == "" || got.Get("_meta").Exists() {
			t.Errorf("%s: the task is %s", c.tool, got.Raw)
		}
		if again := p.see(task); string(again.Raw[len(`{"jsonrpc":"2.0","id":"ask-nn"`):]) != string(m.Raw[len(`{"jsonrpc":"2.0","id":"ask-nn"`):]) && len(again.ID().Raw) == len(m.ID().Raw) {
			t.Errorf("%s: the second time %s, first %s", c.tool, again.Raw, m.Raw)
		}
		if c.tool == "bind_catalogue" {
			continue // cannot be called directly
		}
		direct := p.conversation("tools/call", call(c.tool, arguments[c.tool]))
		if m.Kind == wire.Error {
			same(t, `{"x":`+m.Error().Raw+`}`, `{"x":`+direct.Error().Raw+`}`)
			continue
		}
		same(t, m.Result().Raw, strings.TrimSuffix(direct.Result().Raw, "}")+`,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":`+task.Get("taskId").Raw+`}}}`)
	}
}

func TestArgumentsThatDoNotFitFailTheTask(t *testing.T) {
	p := tasked(t)
	task := p.create("stocktake", `{"steps":0}`)
	if m := p.see(task); !wantResult(t, m).Result().Get("isError").Bool() {
		t.Errorf("got %s", m.Raw)
	}
	if got := p.get(task); got.Get("status").String() != "failed" || !strings.Contains(got.Get("statusMessage").String(), "steps") {
		t.Errorf("got %s", got.Raw)
	}
}

func TestMessagesOfATaskNameIt(t *testing.T) {
	p := tasked(t)
	wantResult(t, p.ask("logging/setLevel", `"level":"debug"`))
	for _, tool := range []string{"stocktake", "bind_catalogue", "plan_visit"} {
		from := len(p.seen)
		task := p.create(tool, arguments[tool])
		p.see(task)
		named := map[string]bool{}
		for _, m := range p.seen[from:] {
			related := wire.Member(m.Params().Get("_meta"), relatedTask).Get("taskId").String()
			if m.IsResponse() || m.Method() == "notifications/tasks/status" {
				if related != "" {
					t.Errorf("names the task twice: %s", m.Raw)
				}
				continue
			}
			named[m.Method()] = true
			if related != task.Get("taskId").String() {
				t.Errorf("does not name the task: %s", m.Raw)
			}
		}
		want := map[string]string{"stocktake": "notifications/progress", "bind_catalogue": "notifications/message", "plan_visit": "elicitation/create"}[tool]
		if !named[want] {
			t.Errorf("%s sent no %s", tool, want)
		}
	}
}

func TestAQuestionThatIsGivenUpNamesItsTask(t *testing.T) {
	p := tasked(t)
	task := p.create("plan_visit", `{}`)
	for p.next().Kind != wire.Request {
	}
	p.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":{"taskId":%s}}`, task.Get("taskId").Raw)
	for {
		if m := p.next(); m.Method() == "notifications/cancelled" {
			if got := wire.Member(m.Params().Get("_meta"), relatedTask).Get("taskId").String(); got != task.Get("taskId").String() {
				t.Errorf("got %s", m.Raw)
			}
			return
		}
	}
}

func TestAResultIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := tasked(t)
	task := p.create("stocktake", `{"duration_ms":300}`)
	p.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":%s}}`, task.Get("taskId").Raw)
	if got := p.get(task).Get("status").String(); got != "working" {
		t.Errorf("the task is %s", got)
	}
	wantResult(t, p.answer(wire.IntID(7)))
	if got := p.statuses(task); got != "completed" {
		t.Errorf("the result came while the task was %q", got)
	}
	// A wait can be given up without ending the task.
	task = p.create("stocktake", `{"duration_ms":5000}`)
	p.send(`{"jsonrpc":"2.0","id":8,"method":"tasks/result","params":{"taskId":%s}}`, task.Get("taskId").Raw)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	if got := p.get(task).Get("status").String(); got != "working" {
		t.Errorf("the task is %s", got)
	}
}

func TestACancelledTaskStaysSo(t *testing.T) {
	p := tasked(t)
	task := p.create("stocktake", `{"duration_ms":5000,"steps":1}`)
	began := time.Now()
	m := p.ask("tasks/cancel", `"taskId":`+task.Get("taskId").Raw)
	if got := wantResult(t, m).Result().Get("status").String(); got != "cancelled" {
		t.Errorf("got %s", m.Raw)
	}
	if m := p.see(task); !wantResult(t, m).Result().Get("isError").Bool() || time.Since(began) > 4*time.Second {
		t.Errorf("after %s: %s", time.Since(began), m.Raw)
	}
	if got := p.get(task).Get("status").String(); got != "cancelled" || p.statuses(task) != "cancelled" {
		t.Errorf("the task is %s after %s", got, p.statuses(task))
	}
	wantCode(t, p.ask("tasks/cancel", `"taskId":`+task.Get("taskId").Raw), spec.InvalidParams)
	done := p.create("scan_card", `{}`)
	p.see(done)
	wantCode(t, p.ask("tasks/cancel", `"taskId":`+done.Get("taskId").Raw), spec.InvalidParams)
}

func TestWhichToolsCanBeTasks(t *testing.T) {
	p := tasked(t)
	support := map[string]string{}
	for _, tool := range p.all("tools/list", "tools") {
		support[tool.Get("name").String()] = tool.Get("execution.taskSupport").String()
	}
	for name, task := range map[string]string{"opening_hours": "forbidden", "new_arrivals": "", "stocktake": "optional", "bind_catalogue": "required"} {
		if support[name] != task {
			t.Errorf("%s says %q, want %q", name, support[name], task)
		}
		plain := p.ask("tools/call", call(name, `{}`))
		augmented := p.ask("tools/call", call(name, `{}`)+`,"task":{}`)
		if got, _ := plain.Code(); (got == spec.MethodNotFound) != (task == "required") {
			t.Errorf("%s: %s", name, plain.Raw)
		}
		if got, _ := augmented.Code(); (got == spec.MethodNotFound) != (task == "" || task == "forbidden") {
			t.Errorf("%s as a task: %s", name, augmented.Raw)
		}
	}
	for _, bad := range []string{`5`, `[]`, `null`, `{"ttl":"long"}`} {
		wantCode(t, p.ask("tools/call", call("stocktake", `{}`)+`,"task":`+bad), spec.InvalidParams)
	}
	wantCode(t, p.ask("tools/call", call("no-such", `{}`)+`,"task":{}`), spec.InvalidParams)
}

func TestElsewhereThereAreNoTasks(t *testing.T) {
	none := Options{Library: func(l *Library) { delete(l.Capabilities, "tasks") }}
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		o := Options{}
		if taskRevisions.Has(rev) {
			o = none
		}
		p := open(t, rev, rich, o)
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"} {
			wantCode(t, p.ask(method, `"taskId":"x"`), spec.MethodNotFound)
		}
		if !taskRevisions.Has(rev) {
			for _, tool := range p.all("tools/list", "tools") {
				if tool.Get("execution").Exists() || tool.Get("name").String() == "bind_catalogue" {
					t.Errorf("lists %s", tool.Raw)
				}
			}
		}
		if m := p.ask("tools/call", call("stocktake", `{"duration_ms":1}`)+`,"task":{}`); !wantResult(t, m).Result().Get("content").Exists() {
			t.Errorf("the augmentation is not ignored: %s", m.Raw)
		}
	})
}

func TestTasksOfOneConnectionAreUnknownOnAnother(t *testing.T) {
	p, other := tasked(t), tasked(t)
	task := p.create("stocktake", `{}`)
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		wantCode(t, other.ask(method, `"taskId":`+task.Get("taskId").Raw), spec.InvalidParams)
		for _, bad := range []string{`"taskId":"no-such"`, `"taskId":""`, `"taskId":5`, ``} {
			wantCode(t, p.ask(method, bad), spec.InvalidParams)
		}
		meta := `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":` + task.Get("taskId").Raw + `}}`
		wantCode(t, p.ask(method, `"taskId":"no-such"`, meta), spec.InvalidParams)
	}
	if got := other.all("tasks/list", "tasks"); len(got) != 0 {
		t.Errorf("lists %v", got)
	}
}

func TestTasksAreListedInPages(t *testing.T) {
	p := tasked(t)
	var made, listed []string
	for range 10 {
		made = append(made, p.create("stocktake", `{"duration_ms":0}`).Get("taskId").String())
	}
	if n := len(wantResult(t, p.ask("tasks/list")).Result().Get("tasks").Array()); n != 4 {
		t.Errorf("the first page has %d tasks", n)
	}
	for _, task := range p.all("tasks/list", "tasks") {
		listed = append(listed, task.Get("taskId").String())
	}
	if !slices.Equal(made, listed) {
		t.Errorf("made %v, listed %v", made, listed)
	}
	if slices.Sort(made); len(slices.Compact(made)) != 10 {
		t.Errorf("ids come again: %v", made)
	}
	wantCode(t, p.ask("tasks/list", `"cursor":"x"`), spec.InvalidParams)
}

func TestTheLifetimeOfATask(t *testing.T) {
	t.Parallel()
	p := tasked(t)
	for asked, want := range map[string]int64{`{}`: 300000, `{"ttl":60000}`: 60000, `{"ttl":1}`: 1000, `{"ttl":-5}`: 1000, `{"ttl":1e300}`: 600000} {
		m := p.ask("tools/call", call("stocktake", `{}`)+`,"task":`+asked)
		if got := wantResult(t, m).Result().Get("task.ttl").Int(); got != want {
			t.Errorf("asked for %s got %d, want %d", asked, got, want)
		}
	}
	m := p.ask("tools/call", call("stocktake", `{"duration_ms":5000,"steps":1}`)+`,"task":{"ttl":1}`)
	task := m.Result().Get("task")
	wantCode(t, p.see(task), spec.InvalidParams) // it expires while it is waited for
	wantCode(t, p.ask("tasks/get", `"taskId":`+task.Get("taskId").Raw), spec.InvalidParams)
	for _, left := range p.all("tasks/list", "tasks") {
		if left.Get("taskId").String() == task.Get("taskId").String() {
			t.Errorf("still lists %s", left.Raw)
		}
	}
}

func TestThereIsALimitToTasks(t *testing.T) {
	s := taskStore{}
	at := time.Now()
	for range maxTasks {
		if !s.add(&task{created: at, ttl: time.Hour}) {
			t.Fatal("full too early")
		}
	}
	if s.add(&task{created: at, ttl: time.Hour}) {
		t.Error("there is no limit")
	}
	s.listed[3].created = at.Add(-2 * time.Hour)
	if !s.add(&task{created: at, ttl: time.Hour}) || s.listed[3] != nil {
		t.Error("the place of an expired task is not used")
	}
}

// Tasks of the extension are in no list, so that there is room for any number of
// them, one after another, and cursors into the list stay good.
func TestExpiredTasksOfTheExtensionLeaveNoPlace(t *testing.T) {
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
		t.Errorf("%d places are listed", len(got))
	}
	for range maxTasks - 1 {
		s.add(&task{created: at, ttl: time.Hour, extended: true})
	}
	if s.add(&task{created: at, ttl: time.Hour, extended: true}) || s.add(&task{created: at, ttl: time.Hour}) {
		t.Error("there is no limit to those that live")
	}
}

func TestTasksEndWithTheServer(t *testing.T) {
	p := open(t, spec.V2025_11_25, rich, Options{Grace: 50 * time.Millisecond})
	p.create("stocktake", `{"duration_ms":5000}`)
	p.send(`{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`)
	p.answer(wire.IntID(7))
	p.s.CloseInput()
	select {
	case <-p.s.Done():
	case <-time.After(3 * time.Second):
		t.Fatal("the server lives on")
	}
}
