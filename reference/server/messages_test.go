package server

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// resultDefinitions names the definition of each method's result.
var resultDefinitions = map[string]string{
	"initialize":               "InitializeResult",
	"ping":                     "EmptyResult",
	"server/discover":          "DiscoverResult",
	"tools/list":               "ListToolsResult",
	"tools/call":               "CallToolResult",
	"tools/call as a task":     "CreateTaskResult",
	"resources/list":           "ListResourcesResult",
	"resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":           "ReadResourceResult",
	"resources/subscribe":      "EmptyResult",
	"resources/unsubscribe":    "EmptyResult",
	"prompts/list":             "ListPromptsResult",
	"prompts/get":              "GetPromptResult",
	"completion/complete":      "CompleteResult",
	"tasks/get":                "GetTaskResult",
	"tasks/result":             "CallToolResult",
	"tasks/list":               "ListTasksResult",
	"tasks/cancel":             "CancelTaskResult",
	"logging/setLevel":         "EmptyResult",
	"subscriptions/listen":     "SubscriptionsListenResult",
}

// resultDefinition returns the definition of a received result.
func (p *testClient) resultDefinition(m wire.Message) string {
	if m.Result().Get("resultType").String() == "input_required" {
		return "InputRequiredResult"
	}
	return resultDefinitions[p.methods[m.ID().Key()]]
}

// useEverything makes the server send everything that it can send in a revision:
// every method with its variants, every tool, every page, every resource, errors.
func useEverything(t *testing.T, rev spec.Revision) *testClient {
	p := openSession(t, rev, fullCapabilities, Options{})
	if rev.Facts().Stateless {
		p.recordMethod(wire.StringID("stream"), "subscriptions/listen")
		p.subscribe(`"stream"`, `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,`+
			`"resourceSubscriptions":["library://books/b1"]}`)
		wantResult(t, p.request("server/discover"))
	} else {
		wantResult(t, p.request("ping"))
		wantResult(t, p.request("logging/setLevel", `"level":"debug"`))
		wantResult(t, p.request("resources/subscribe", `"uri":"library://books/b1"`))
	}
	p.requestAnswering("tools/call", callParams("set_reading_room", `{"open":true}`))
	for method, member := range listMembers {
		for _, item := range p.listAll(method, member) {
			p.useFeature(method, item)
		}
	}
	if taskRevisions.Has(rev) {
		p.listAll("tasks/list", "tasks")
		p.request("tasks/cancel", `"taskId":`+p.createTask("stocktake", `{"duration_ms":5000}`).Get("taskId").Raw)
	}
	if elicitationRevisions.Has(rev) {
		wantResult(t, p.requestAnswering("resources/read", `"uri":"library://desk/visitors-book"`))
	}
	p.requestAnswering("tools/call", callParams("return_book", `{"book":"b1"}`))
	wantResult(t, p.request("completion/complete",
		`"ref":{"type":"ref/resource","uri":"library://shelves/{shelf}"}`, `"argument":{"name":"shelf","value":""}`))
	p.causeErrors()
	p.stream.CloseInput()
	p.readRest()
	return p
}

// useFeature uses an entry of a list.
func (p *testClient) useFeature(method string, item gjson.Result) {
	p.t.Helper()
	name := item.Get("name").String()
	switch method {
	case "resources/list":
		wantResult(p.t, p.request("resources/read", `"uri":`+item.Get("uri").Raw))
	case "prompts/list":
		p.requestAnswering("prompts/get", callParams(name, promptArguments(item)))
	case "tools/list":
		support := item.Get("execution.taskSupport").String()
		if support == "required" || support == "optional" {
			p.runAsTask(name)
		}
		if support != "required" {
			p.requestAnswering("tools/call", callParams(name, toolArguments[name]))
		}
	}
}

// causeErrors sends requests that the server refuses.
func (p *testClient) causeErrors() {
	p.t.Helper()
	for _, c := range [][2]string{
		{"no/such", ``}, {"tools/call", `"name":"no-such"`},
		{"tools/call", callParams("search_catalogue", `{"limit":0}`)},
		{"resources/read", `"uri":"library://nowhere"`}, {"resources/read", `"uri":"library://desk/stamp"`},
		{"resources/read", ``}, {"prompts/get", `"name":"no-such"`}, {"prompts/get", `"name":"recommend_book"`},
		{"tools/list", `"cursor":"x"`}, {"completion/complete", ``},
	} {
		p.request(c[0], c[1])
	}
	p.send(`{"jsonrpc":"1.0","id":99,"method":"ping"}`)
	if p.revision.Facts().Stateless {
		p.requestAs("{}", "tools/call", callParams("register_reader", `{}`))
		p.send(unsupportedVersionFormat, 98, "1900-01-01")
	}
}

// readRest receives messages until the server closes its output.
func (p *testClient) readRest() {
	p.t.Helper()
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return
			}
			p.received = append(p.received, wire.Parse([]byte(line)))
		case <-time.After(testTimeout):
			p.t.Fatal("the server did not end")
		}
	}
}

// wantDefinitions returns the definitions of the messages that a session of
// useEverything holds.
func wantDefinitions(rev spec.Revision) []string {
	want := []string{
		"error", "ListToolsResult", "CallToolResult", "ListResourcesResult", "ListResourceTemplatesResult",
		"ReadResourceResult", "ListPromptsResult", "GetPromptResult", "CompleteResult", "ProgressNotification",
		"LoggingMessageNotification", "ToolListChangedNotification", "PromptListChangedNotification",
		"ResourceListChangedNotification", "ResourceUpdatedNotification",
	}
	if rev.Facts().Stateless {
		want = append(want, "DiscoverResult", "InputRequiredResult", "SubscriptionsAcknowledgedNotification",
			"SubscriptionsListenResult", "CancelledNotification")
	} else {
		want = append(want, "EmptyResult", "CreateMessageRequest", "ListRootsRequest")
	}
	if urlRequiredErrorRevisions.Has(rev) {
		want = append(want, "CreateTaskResult", "GetTaskResult", "ListTasksResult", "CancelTaskResult",
			"TaskStatusNotification", "ElicitationCompleteNotification", "URLElicitationRequiredError")
	}
	if slices.Contains(rev.Facts().ServerRequests, "elicitation/create") {
		want = append(want, "ElicitRequest")
	}
	return want
}

func TestMessagesMatchOfficialSchema(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		s := newSchemaChecker(t, rev)
		p := useEverything(t, rev)
		seen := map[string]bool{}
		for _, m := range p.received {
			for _, definition := range s.checkMessage(p, m) {
				seen[definition] = true
			}
		}
		for _, name := range wantDefinitions(rev) {
			if !seen[name] {
				t.Errorf("the session had no %s: %v", name, slices.Sorted(maps.Keys(seen)))
			}
		}
	})
}

// checkMessage validates a message of a server and returns its definitions, "error"
// for an error.
func (s *schemaChecker) checkMessage(p *testClient, m wire.Message) (definitions []string) {
	s.t.Helper()
	raw := string(m.Raw)
	switch m.Kind {
	case wire.Result:
		definition := p.resultDefinition(m)
		s.check(definition, m.Result().Raw)
		return []string{definition}
	case wire.Error:
		definitions = []string{"error"}
		if m.ID().IsNull() {
			return definitions // JSON-RPC 2.0 section 5 differs from the schema of the older revisions
		}
		s.check(s.errorDefinition(), raw)
		for _, elicitation := range m.Error().Get("data.elicitations").Array() {
			definitions = append(definitions, "URLElicitationRequiredError")
			s.check("ElicitRequestURLParams", elicitation.Raw) // the error itself is an allOf, which cannot be closed
		}
		return definitions
	case wire.Request, wire.Notification:
		definition := s.byMethod[m.Method()]
		switch definition {
		case "":
			s.t.Errorf("%s is no method of %s", m.Method(), p.revision)
			return nil
		case "TaskStatusNotification": // its params are an allOf, which cannot be closed
			s.check("Task", m.Params().Raw)
		default:
			s.check(definition, raw)
		}
		return []string{definition}
	}
	s.t.Errorf("the server sent no message: %s", raw)
	return nil
}

// checkReceived validates all messages of a server with the official schema, which has
// no definitions of the skills extension.
func checkReceived(t *testing.T, p *testClient) {
	t.Helper()
	s := newSchemaChecker(t, p.revision)
	for _, m := range p.received {
		method := p.methods[m.ID().Key()]
		if m.Kind == wire.Result && (strings.HasPrefix(method, "skills/") || method == "resources/directory/read") {
			continue
		}
		s.checkMessage(p, m)
	}
}
