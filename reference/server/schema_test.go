package server

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An official is the published schema of a revision, closed: an object that
// lists its properties has no others, so that a member of another revision is
// found too. JSON Schemas inside of messages stay open.
type schemaChecker struct {
	t        *testing.T
	compiler *jsonschema.Compiler
	defs     string // the name of the container of definitions
	byMethod map[string]string
}

func newSchemaChecker(t *testing.T, rev spec.Revision) *schemaChecker {
	t.Helper()
	dir := os.Getenv("MCPCHECK_SCHEMA_DIR")
	if dir == "" {
		t.Skip("MCPCHECK_SCHEMA_DIR is not set: the official schemas are not here")
	}
	raw, err := os.ReadFile(filepath.Join(dir, string(rev), "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	doc := v.(map[string]any)
	s := &schemaChecker{t: t, compiler: jsonschema.NewCompiler(), defs: "$defs", byMethod: map[string]string{}}
	// The library's own check refuses expressions in a query, which RFC 6570 has.
	s.compiler.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(v any) error {
		_, err := uritemplate.New(stringOf(v))
		return err
	}})
	if _, ok := doc["definitions"]; ok {
		s.defs = "definitions"
	}
	for name, v := range doc[s.defs].(map[string]any) {
		def := v.(map[string]any)
		closeObjects(def)
		properties, _ := def["properties"].(map[string]any)
		method, _ := properties["method"].(map[string]any)
		// A union of a single message is written like that message.
		if m, ok := method["const"].(string); ok && name != "ClientNotification" {
			s.byMethod[m] = name
			// The schemas of the first revisions leave the envelope to other definitions.
			for _, member := range []string{"jsonrpc", "id"} {
				if properties[member] == nil {
					properties[member] = true
				}
			}
			if strings.HasPrefix(m, "notifications/") {
				delete(properties, "id")
			}
			if properties["params"] == nil {
				properties["params"] = true
			}
		}
	}
	if err := s.compiler.AddResource("official.json", doc); err != nil {
		t.Fatal(err)
	}
	return s
}

func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			closeObjects(e)
		}
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			if _, open := v["additionalProperties"]; !open {
				v["additionalProperties"] = false
			}
			for name, p := range properties {
				if !slices.Contains([]string{"inputSchema", "outputSchema", "result"}, name) {
					closeObjects(p)
				}
			}
			return
		}
		for name, e := range v {
			if name != "properties" {
				closeObjects(e)
			}
		}
	}
}

// fits tells why a JSON text is no instance of a definition.
func (s *schemaChecker) validate(definition, raw string) error {
	s.t.Helper()
	compiled, err := s.compiler.Compile("official.json#/" + s.defs + "/" + definition)
	if err != nil {
		s.t.Fatalf("%s: %v", definition, err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		s.t.Fatalf("%v: %s", err, raw)
	}
	return compiled.Validate(v)
}

func (s *schemaChecker) check(definition, raw string) {
	s.t.Helper()
	if err := s.validate(definition, raw); err != nil {
		s.t.Errorf("no valid %s: %v\n%s", definition, err, raw)
	}
}

// The closed schema finds members of other revisions: each of these is valid
// from the revision on.
func TestClosedSchemaRejectsOtherMembers(t *testing.T) {
	for _, c := range []struct {
		definition, raw string
		since           spec.Revision
	}{
		{
			"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"annotations":{}}]}`,
			spec.V2025_03_26,
		},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"title":"X"}]}`, spec.V2025_06_18},
		{"ListToolsResult", `{"tools":[{"name":"x","inputSchema":{"type":"object"},"icons":[]}]}`, spec.V2025_11_25},
		{
			"ProgressNotification",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"x"}}`,
			spec.V2025_03_26,
		},
		{"CallToolResult", `{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`, spec.V2025_03_26},
		{"CallToolResult", `{"content":[{"type":"text","text":"","_meta":{}}]}`, spec.V2025_06_18},
	} {
		for _, rev := range spec.Handshake.Revisions() {
			if valid := newSchemaChecker(t, rev).validate(c.definition, c.raw) == nil; valid != spec.Since(c.since).Has(rev) {
				t.Errorf("%s: %s valid: %v", rev, c.raw, valid)
			}
		}
	}
}

// results names the definition of each method's result.
var resultDefinitions = map[string]string{
	"initialize": "InitializeResult", "ping": "EmptyResult", "server/discover": "DiscoverResult",
	"tools/list": "ListToolsResult", "tools/call": "CallToolResult",
	"resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult",
	"resources/read": "ReadResourceResult", "resources/subscribe": "EmptyResult",
	"resources/unsubscribe": "EmptyResult",
	"prompts/list":          "ListPromptsResult", "prompts/get": "GetPromptResult",
	"completion/complete": "CompleteResult",
	"tasks/get":           "GetTaskResult", "tasks/result": "CallToolResult", "tasks/list": "ListTasksResult",
	"tasks/cancel":         "CancelTaskResult",
	"tools/call as a task": "CreateTaskResult",
	"logging/setLevel":     "EmptyResult", "subscriptions/listen": "SubscriptionsListenResult",
}

// rich is a client that declares everything.
const fullCapabilities = `{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`

// answers are what that client says to requests of the server.
var clientAnswers = map[string]string{
	"roots/list":             `{"roots":[{"uri":"file:///home/reader","name":"home"}]}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"On Borrowing"},"model":"m"}`,
	"elicitation/create": `{"action":"accept","content":{"name":"Ada","day":"2026-05-01","people":2,` +
		`"username":"ada","email":"ada@example.com","ok":true,"color":"blue","context":"tea"}}`,
}

// everything lets the server say all that it can say in a revision: every
// method with its variants, every tool, every page, every resource, errors.
func useEverything(t *testing.T, rev spec.Revision) *testClient {
	p := openSession(t, rev, fullCapabilities, Options{})
	stateless := rev.Facts().Stateless
	if stateless {
		p.recordMethod(wire.StringID("stream"), "subscriptions/listen")
		p.send(`{"jsonrpc":"2.0","id":"stream","method":"subscriptions/listen","params":%s}`,
			p.params("{}", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["library://books/b1"]}`))
		wantResult(t, p.request("server/discover"))
	} else {
		wantResult(t, p.request("ping"))
		wantResult(t, p.request("logging/setLevel", `"level":"debug"`))
		wantResult(t, p.request("resources/subscribe", `"uri":"library://books/b1"`))
	}
	p.requestAnswering("tools/call", `"name":"set_reading_room","arguments":{"open":true}`)
	for method, member := range listMembers {
		for _, item := range p.listAll(method, member) {
			switch method {
			case "resources/list":
				wantResult(t, p.request("resources/read", `"uri":`+item.Get("uri").Raw))
			case "prompts/list":
				p.requestAnswering(
					"prompts/get",
					`"name":`+item.Get("name").Raw+`,"arguments":`+string(encode(promptArguments(item.Get("arguments").Raw))),
				)
			case "tools/list":
				switch item.Get("execution.taskSupport").String() {
				case "required":
					p.runAsTask(item.Get("name").String())
					continue
				case "optional":
					p.runAsTask(item.Get("name").String())
				}
				p.requestAnswering(
					"tools/call",
					`"name":`+item.Get("name").Raw+`,"arguments":`+toolArguments[item.Get("name").String()],
				)
			}
		}
	}
	if taskRevisions.Has(rev) {
		p.listAll("tasks/list", "tasks")
		p.request("tasks/cancel", `"taskId":`+p.createTask("stocktake", `{"duration_ms":5000}`).Get("taskId").Raw)
	}
	if elicitationRevisions.Has(rev) {
		wantResult(t, p.requestAnswering("resources/read", `"uri":"library://desk/visitors-book"`))
	}
	p.requestAnswering("tools/call", `"name":"return_book","arguments":{"book":"b1"}`)
	wantResult(
		t,
		p.request("completion/complete", `"ref":{"type":"ref/resource","uri":"library://shelves/{shelf}"},"argument":{"name":"shelf","value":""}`),
	)
	for _, c := range [][2]string{
		{"no/such", ``}, {"tools/call", `"name":"no-such"`},
		{"tools/call", `"name":"search_catalogue","arguments":{"limit":0}`},
		{"resources/read", `"uri":"library://nowhere"`}, {"resources/read", `"uri":"library://desk/stamp"`},
		{"resources/read", ``},
		{"prompts/get", `"name":"no-such"`}, {"prompts/get", `"name":"recommend_book"`},
		{"tools/list", `"cursor":"x"`},
		{"completion/complete", ``},
	} {
		p.request(c[0], c[1])
	}
	p.send(`{"jsonrpc":"1.0","id":99,"method":"ping"}`)
	if stateless {
		p.requestAnswering("tools/call", `"name":"register_reader"`) // asks again
		p.requestAs("{}", "tools/call", `"name":"register_reader"`)
		p.send(
			`{"jsonrpc":"2.0","id":98,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		)
	}
	p.stream.CloseInput()
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				return p
			}
			p.received = append(p.received, wire.Parse([]byte(l)))
		case <-time.After(testTimeout):
			t.Fatal("the server does not end")
		}
	}
}

// arguments are valid ones for each tool.
var toolArguments = map[string]string{
	"opening_hours": `{}`, "search_catalogue": `{"query":"fog","limit":1}`, "new_arrivals": `{}`,
	"show_exhibits": `{}`,
	"stocktake":     `{"duration_ms":5,"steps":3}`, "check_shelfmark": `{"mark":["A",3]}`, "scan_card": `{}`,
	"read_desk_log": `{}`,
	"borrow_book":   `{"book":"b1","reader":"ada"}`, "return_book": `{"book":"b3"}`,
	"set_reading_room": `{"open":true}`,
	"reset_stamp":      `{}`, "reserve_seat": `{}`, "suggest_reading": `{"mood":"foggy"}`,
	"check_file":      `{"uri":"file:///home/reader/list.txt"}`,
	"register_reader": `{}`, "plan_visit": `{}`, "bind_catalogue": `{}`, "read_archive": `{}`, "renew_card": `{}`,
	"check_branch":    `{"branch":"Harbour","to":{"desk":"maps"}}`,
	"answer_question": `{"question":"Who wrote about fog?"}`,
}

// promptArguments fills in the arguments of a prompt.
func promptArguments(raw string) Object {
	out := Object{}
	list, _ := decode(`{"x":` + cmpOr(raw, "[]") + `}`)
	for _, a := range list["x"].([]any) {
		name := stringOf(a.(Object)["name"])
		out[name] = "b1"
	}
	return out
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// conversation sends a request with a progress token and sees it through:
// requests of the server are answered, an input_required result is retried.
func (p *testClient) requestAnswering(method, members string) wire.Message {
	p.t.Helper()
	extra := ""
	for {
		p.requestCount++
		id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
		params := fmt.Sprintf(`{%s%s,"_meta":{"progressToken":%d}}`, members, extra, p.requestCount)
		if p.revision.Facts().Stateless {
			params = fmt.Sprintf(
				`{%s%s,%s}`, members, extra,
				statelessMeta(fullCapabilities, fmt.Sprintf(`,"progressToken":%d,"io.modelcontextprotocol/logLevel":"debug"`, p.requestCount)),
			)
		}
		p.recordMethod(id, method)
		p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
		m := p.nextMessage()
		for !m.IsResponse() || !m.ID().Equal(id) {
			if m.Kind == wire.Request {
				p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID(), clientAnswers[m.Method()])
			}
			m = p.nextMessage()
		}
		if m.Result().Get("resultType").String() != "input_required" {
			return m
		}
		responses := Object{}
		o, _ := decode(m.Result().Get("inputRequests").Raw)
		for key, v := range o {
			answer, _ := decode(clientAnswers[stringOf(v.(Object)["method"])])
			responses[key] = answer
		}
		extra = fmt.Sprintf(`,"inputResponses":%s`, encode(responses))
		if state := m.Result().Get("requestState"); state.Exists() {
			extra += `,"requestState":` + state.Raw
		}
	}
}

func TestMessagesMatchOfficialSchema(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		s := newSchemaChecker(t, rev)
		p := useEverything(t, rev)
		said := map[string]bool{}
		for _, m := range p.received {
			raw := string(m.Raw)
			switch m.Kind {
			case wire.Result:
				definition := resultDefinitions[p.methods[m.ID().Key()]]
				if m.Result().Get("resultType").String() == "input_required" {
					definition = "InputRequiredResult"
				}
				said[definition] = true
				s.check(definition, m.Result().Raw)
			case wire.Error:
				said["error"] = true
				if m.ID().Null() {
					continue // JSON-RPC 2.0 section 5 against the schema of the older revisions
				}
				s.check(s.errorDefinition(), raw)
				for _, visit := range m.Error().Get("data.elicitations").Array() {
					said["URLElicitationRequiredError"] = true
					s.check("ElicitRequestURLParams", visit.Raw) // the error itself cannot be closed: it is an allOf
				}
			case wire.Request, wire.Notification:
				definition := s.byMethod[m.Method()]
				if definition == "" {
					t.Errorf("%s is no method of %s", m.Method(), rev)
					continue
				}
				said[definition] = true
				if definition == "TaskStatusNotification" { // its params cannot be closed: they are an allOf
					definition, raw = "Task", m.Params().Raw
				}
				s.check(definition, raw)
			default:
				t.Errorf("no message: %s", raw)
			}
		}
		want := []string{"error", "ListToolsResult", "CallToolResult", "ListResourcesResult",
			"ListResourceTemplatesResult", "ReadResourceResult",
			"ListPromptsResult", "GetPromptResult", "CompleteResult", "ProgressNotification",
			"LoggingMessageNotification",
			"ToolListChangedNotification", "PromptListChangedNotification", "ResourceListChangedNotification",
			"ResourceUpdatedNotification"}
		if rev.Facts().Stateless {
			want = append(
				want, "DiscoverResult", "InputRequiredResult", "SubscriptionsAcknowledgedNotification",
				"SubscriptionsListenResult", "CancelledNotification",
			)
		} else {
			want = append(want, "EmptyResult", "CreateMessageRequest", "ListRootsRequest")
		}
		if urlRequiredErrorRevisions.Has(rev) {
			want = append(want, "CreateTaskResult", "GetTaskResult", "ListTasksResult", "CancelTaskResult",
				"TaskStatusNotification",
				"ElicitationCompleteNotification", "URLElicitationRequiredError")
		}
		if slices.Contains(rev.Facts().ServerRequests, "elicitation/create") {
			want = append(want, "ElicitRequest")
		}
		for _, name := range want {
			if !said[name] {
				t.Errorf("the session had no %s: %v", name, slices.Sorted(maps.Keys(said)))
			}
		}
	})
}

func (s *schemaChecker) errorDefinition() string {
	if _, err := s.compiler.Compile("official.json#/" + s.defs + "/JSONRPCErrorResponse"); err == nil {
		return "JSONRPCErrorResponse"
	}
	return "JSONRPCError"
}
