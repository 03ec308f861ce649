package server

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// contract opens a session of a server that offers the public contract.
func openOfficial(t *testing.T, rev spec.Revision) *testClient {
	return openSession(t, rev, fullCapabilities, Options{Official: true, Pace: time.Millisecond})
}

var since0618, since1125, stateless = spec.Since(spec.V2025_06_18), spec.Since(spec.V2025_11_25), spec.Stateless

// contractTools are the tools of the contract: arguments, revisions, the types
// of the content and what its text is.
var officialToolCases = []struct {
	name, args string
	in         spec.Set
	types      string
	text       string
	failed     bool
}{
	{"test_simple_text", `{}`, spec.Every, "text", "This is a simple text response for testing.", false},
	{"test_image_content", `{}`, spec.Every, "image", "", false},
	{"test_audio_content", `{}`, spec.Since(spec.V2025_03_26), "audio", "", false},
	{"test_embedded_resource", `{}`, spec.Every, "resource", "", false},
	{"test_multiple_content_types", `{}`, spec.Every, "text image resource", "Multiple content types test:", false},
	{
		"test_tool_with_logging", `{}`, spec.Every, "text",
		"Three messages were logged, for who wants messages of level info.", false,
	},
	{"test_error_handling", `{}`, spec.Every, "text", "This tool intentionally returns an error for testing", true},
	{"test_tool_with_progress", `{}`, spec.Every, "text", "All steps are done.", false},
	{"test_sampling", `{"prompt":"Hm?"}`, spec.Every, "text", "LLM response: On Borrowing", false},
	{
		"test_elicitation", `{"message":"Who?"}`, since0618, "text",
		`User response: action=accept, content={"color":"blue","context":"tea","day":"2026-05-01","email":"ada@example.com","name":"Ada","ok":true,"people":2,"username":"ada"}`,
		false,
	},
	{
		"test_elicitation_sep1034_defaults", `{}`, since1125, "text",
		`Elicitation completed: action=accept, content={"color":"blue","context":"tea","day":"2026-05-01","email":"ada@example.com","name":"Ada","ok":true,"people":2,"username":"ada"}`,
		false,
	},
	{
		"test_elicitation_sep1330_enums", `{}`, since1125, "text",
		`Elicitation completed: action=accept, content={"color":"blue","context":"tea","day":"2026-05-01","email":"ada@example.com","name":"Ada","ok":true,"people":2,"username":"ada"}`,
		false,
	},
	{
		"json_schema_2020_12_tool", `{"contactMethod":"phone","phone":"1"}`, since1125, "text",
		`The arguments are {"contactMethod":"phone","phone":"1"}`, false,
	},
	{
		"json_schema_2020_12_tool", `{"contactMethod":"phone","email":"1"}`, since1125, "text",
		`The arguments do not fit: at '': missing property 'phone'`, true,
	},
	{
		"test_reconnection", `{}`, spec.Only(spec.V2025_11_25), "text",
		"The answer came, after a reconnection where there was a stream to close.", false,
	},
	{"test_missing_capability", `{}`, stateless, "text", "The client has sampling.", false},
	{"test_streaming_elicitation", `{}`, stateless, "text", "The user has answered.", false},
	{"test_logging_tool", `{}`, stateless, "text", "A message was logged, if the request asked for messages.", false},
	{"test_x_mcp_header", `{"region":"us-west1"}`, stateless, "text", "The region is us-west1", false},
	{"test_trigger_tool_change", `{}`, stateless, "text", "The list of tools has changed.", false},
	{"test_dynamic_tool", `{}`, stateless, "text", "I am still here.", false}, // after the trigger
	{"test_trigger_prompt_change", `{}`, stateless, "text", "The list of prompts has changed.", false},
	{"test_input_required_result_elicitation", `{}`, stateless, "text", "Hello, Ada!", false},
	{"test_input_required_result_sampling", `{}`, stateless, "text", "On Borrowing", false},
	{
		"test_input_required_result_list_roots", `{}`, stateless, "text",
		`The roots are [{"name":"home","uri":"file:///home/reader"}]`, false,
	},
	{"test_input_required_result_request_state", `{}`, stateless, "text", "state-ok", false},
	{"test_input_required_result_multiple_inputs", `{}`, stateless, "text", "On Borrowing, Ada!", false},
	{"test_input_required_result_multi_round", `{}`, stateless, "text", "Ada likes blue.", false},
	{"test_input_required_result_tampered_state", `{}`, stateless, "text", "The state came back whole.", false},
	{"test_input_required_result_capabilities", `{}`, stateless, "text", "All that was asked for came.", false},
}

func TestOfficialTools(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openOfficial(t, rev)
		page := wantResult(t, p.request("tools/list")).Result()
		if page.Get("nextCursor").Exists() {
			t.Error("the tools do not stand on one page")
		}
		for _, c := range officialToolCases {
			listed := strings.Contains(page.Raw, `"`+c.name+`"`)
			if listed != (c.in.Has(rev) && c.name != "test_dynamic_tool") {
				t.Errorf("%s is listed: %v", c.name, listed)
			}
			m := p.requestAnswering("tools/call", callParams(c.name, c.args))
			if !c.in.Has(rev) {
				wantCode(t, m, -32602)
				continue
			}
			var types []string
			for _, b := range wantResult(t, m).Result().Get("content").Array() {
				types = append(types, b.Get("type").String())
			}
			if got := strings.Join(types, " "); got != c.types || m.Result().Get("isError").Bool() != c.failed {
				t.Errorf("%s has content %q: %s", c.name, got, m.Raw)
			}
			if got := m.Result().Get("content.0.text").String(); got != c.text {
				t.Errorf("%s says %q, not %q", c.name, got, c.text)
			}
		}
		checkReceived(t, p)
	})
}

// valid holds everything that a server said against the official schema, which
// has no definitions of the skills extension.
func checkReceived(t *testing.T, p *testClient) {
	t.Helper()
	s := newSchemaChecker(t, p.revision)
	for _, m := range p.received {
		switch m.Kind {
		case wire.Result:
			method := p.methods[m.ID().Key()]
			if strings.HasPrefix(method, "skills/") || method == "resources/directory/read" {
				continue
			}
			definition := resultDefinitions[method]
			if m.Result().Get("resultType").String() == "input_required" {
				definition = "InputRequiredResult"
			}
			s.check(definition, m.Result().Raw)
		case wire.Error:
			s.check(s.errorDefinition(), string(m.Raw))
		default:
			s.check(s.byMethod[m.Method()], string(m.Raw))
		}
	}
}

func TestOfficialMedia(t *testing.T) {
	p := openOfficial(t, spec.V2025_06_18)
	for name, want := range map[string]string{
		"test_image_content": "\x89PNG\r\n\x1a\n", "test_audio_content": "RIFF",
	} {
		data, err := base64.StdEncoding.DecodeString(
			wantResult(t, p.requestAnswering("tools/call", callParams(name, "{}"))).Result().Get("content.0.data").String(),
		)
		if err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("%s: %v, %q", name, err, data)
		}
	}
	m := wantResult(t, p.requestAnswering("tools/call", callParams("test_multiple_content_types", "{}"))).Result()
	wantSameJSON(
		t, m.Get("content.2.resource").Raw,
		`{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}`,
	)
	m = wantResult(t, p.requestAnswering("tools/call", callParams("test_embedded_resource", "{}"))).Result()
	wantSameJSON(
		t, m.Get("content.0.resource").Raw,
		`{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}`,
	)
}

func TestOfficialResourcesAndPrompts(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openOfficial(t, rev)
		for uri, want := range map[string]string{
			"test://static-text":        `{"uri":"test://static-text","mimeType":"text/plain","text":"This is the content of the static text resource."}`,
			"test://template/123/data":  `{"uri":"test://template/123/data","mimeType":"application/json","text":"{\"id\":\"123\",\"templateTest\":true,\"data\":\"Data for ID: 123\"}"}`,
			"test://template/%7B/data":  `{"uri":"test://template/%7B/data","mimeType":"application/json","text":"{\"id\":\"{\",\"templateTest\":true,\"data\":\"Data for ID: {\"}"}`,
			"test://static-binary":      fmt.Sprintf(`{"uri":"test://static-binary","mimeType":"image/png","blob":%q}`, encode64(coverPNG(1))),
			"test://nonexistent-x/data": "",
		} {
			m := p.request("resources/read", fmt.Sprintf(`"uri":%q`, uri))
			if want == "" {
				wantCode(t, m, rev.Facts().ResourceNotFound)
				continue
			}
			wantSameJSON(t, wantResult(t, m).Result().Get("contents.0").Raw, want)
		}
		for members, want := range map[string]string{
			`"name":"test_simple_prompt"`: `[{"role":"user","content":{"type":"text","text":"This is a simple prompt for testing."}}]`,
			`"name":"test_prompt_with_arguments","arguments":{"arg1":"a","arg2":"b"}`:                           `[{"role":"user","content":{"type":"text","text":"Prompt with arguments: arg1='a', arg2='b'"}}]`,
			`"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://example-resource"}`: `[{"role":"user","content":{"type":"resource","resource":{"uri":"test://example-resource","mimeType":"text/plain","text":"Embedded resource content for testing."}}},{"role":"user","content":{"type":"text","text":"Please process the embedded resource above."}}]`,
			`"name":"test_prompt_with_image"`: fmt.Sprintf(`[{"role":"user","content":{"type":"image","mimeType":"image/png","data":%q}},{"role":"user","content":{"type":"text","text":"Please analyze the image above."}}]`, encode64(coverPNG(1))),
		} {
			wantSameJSON(
				t,
				`{"m":`+wantResult(t, p.requestAnswering("prompts/get", members)).Result().Get("messages").Raw+`}`,
				`{"m":`+want+`}`,
			)
		}
		if elicitationRevisions.Has(rev) {
			m := wantResult(t, p.requestAnswering("prompts/get", `"name":"test_input_required_result_prompt"`))
			if got := m.Result().Get("messages.0.content.text").String(); got != "Answer in this context: tea" {
				t.Errorf("the prompt says %q", got)
			}
		}
		m := wantResult(
			t,
			p.request("completion/complete", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"test"}`),
		)
		if got := m.Result().Get("completion.values").Raw; got != `["testValue1","testValue2"]` {
			t.Errorf("the completion is %s", got)
		}
		checkReceived(t, p)
	})
}

func TestOfficialLogAndProgress(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openOfficial(t, rev)
		if !rev.Facts().Stateless {
			wantResult(t, p.request("logging/setLevel", `"level":"info"`))
		}
		p.requestAnswering("tools/call", callParams("test_tool_with_logging", "{}"))
		p.requestAnswering("tools/call", callParams("test_tool_with_progress", "{}"))
		var log, progress []string
		for _, m := range p.received {
			switch m.Method() {
			case "notifications/message":
				log = append(log, m.Params().Get("level").String()+": "+m.Params().Get("data").String())
			case "notifications/progress":
				progress = append(progress, m.Params().Get("progress").Raw+"/"+m.Params().Get("total").Raw)
			}
		}
		if got := strings.Join(log, ", "); got != "info: Tool execution started, info: Tool processing data, info: Tool execution completed" {
			t.Errorf("the log is %s", got)
		}
		if got := strings.Join(progress, " "); got != "0/100 50/100 100/100" {
			t.Errorf("the progress is %s", got)
		}
	})
}

func TestOfficialForms(t *testing.T) {
	eachRevision(t, since0618, func(t *testing.T, rev spec.Revision) {
		for name, want := range map[string]string{
			"test_elicitation": `{"type":"object","required":["username","email"],"properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}}`,
			"test_elicitation_sep1034_defaults": `{"type":"object","required":[],"properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
				"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
			"test_elicitation_sep1330_enums": `{"type":"object","required":[],"properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
				"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
				"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
				"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
				"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`,
		} {
			args := "{}"
			if name == "test_elicitation" {
				args = `{"message":"Who?"}`
			} else if !since1125.Has(rev) {
				continue
			}
			p := openOfficial(t, rev)
			p.requestAnswering("tools/call", callParams(name, args))
			wantSameJSON(t, clientRequests(t, p)[0].Get("params.requestedSchema").Raw, want)
		}
	})
}

// asked returns what the server asked the client for.
func clientRequests(t *testing.T, p *testClient) []gjson.Result {
	t.Helper()
	var out []gjson.Result
	for _, m := range p.received {
		if m.Kind == wire.Request {
			out = append(out, m.Value())
		}
		for _, entry := range m.Result().Get("inputRequests").Map() {
			out = append(out, entry)
		}
	}
	if len(out) == 0 {
		t.Fatal("the server asked for nothing")
	}
	return out
}

// Rounds of the contract that an ordinary client does not play.
func TestOfficialRounds(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	say := func(client, tool, members string) wire.Message {
		return p.requestAs(client, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{}%s`, "test_"+tool, members))
	}
	const elicitation = "input_required_result_elicitation"
	alice := `"user_name":{"action":"accept","content":{"name":"Alice"}}`
	for _, c := range []struct{ name, client, tool, members, want string }{
		{
			"an answer in a first request", fullCapabilities, elicitation,
			`,"inputResponses":{` + alice + `,"other":{"action":"accept"}}`, "Hello, Alice!",
		},
		{
			"a wrong key", fullCapabilities, elicitation,
			`,"inputResponses":{"other":{"action":"accept","content":{}}}`, "input_required user_name",
		},
		{"a number for an answer", fullCapabilities, elicitation, `,"inputResponses":{"user_name":5}`, "-32602"},
		{"null for the answers", fullCapabilities, elicitation, `,"inputResponses":null`, "-32602"},
		{
			"an answer without the state that was kept", fullCapabilities, "input_required_result_request_state",
			`,"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}}`, "input_required confirm",
		},
		{
			"only sampling declared", `{"sampling":{}}`, "input_required_result_capabilities", ``,
			"input_required capital_question",
		},
		{"nothing declared", `{}`, "input_required_result_capabilities", ``, `-32021 {"sampling":{}}`},
		{"a capability that is missing", `{}`, "missing_capability", ``, `-32021 {"sampling":{}}`},
		{
			"three things at once", fullCapabilities, "input_required_result_multiple_inputs", ``,
			"input_required client_roots greeting user_name",
		},
	} {
		if got := summary(say(c.client, c.tool, c.members)); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
	first := say(fullCapabilities, "input_required_result_tampered_state", "").Result()
	answer := `,"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}},"requestState":`
	wantCode(
		t,
		say(fullCapabilities, "input_required_result_tampered_state", answer+fmt.Sprintf("%q", first.Get("requestState").String()+"-TAMPERED")),
		-32602,
	)
	first = say(fullCapabilities, "input_required_result_multi_round", "").Result()
	second := say(fullCapabilities, "input_required_result_multi_round", `,"inputResponses":{"step1":{"action":"accept","content":{"name":"Ada"}}},"requestState":`+first.Get("requestState").Raw).Result()
	if first.Get("requestState").Raw == second.Get("requestState").Raw ||
		!second.Get("inputRequests.step2").Exists() || second.Get("inputRequests.step1").Exists() {
		t.Errorf("the second round is %s", second.Raw)
	}
}

// told is the gist of an answer.
func summary(m wire.Message) string {
	if code, ok := m.Code(); ok {
		return strings.TrimSpace(fmt.Sprint(code, " ", m.Error().Get("data.requiredCapabilities").Raw))
	}
	if r := m.Result(); r.Get("resultType").String() == "input_required" {
		var keys []string
		for key := range r.Get("inputRequests").Map() {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		return "input_required " + strings.Join(keys, " ")
	}
	return m.Result().Get("content.0.text").String()
}

func TestOfficialWatchedResourceChanges(t *testing.T) {
	p := openOfficial(t, spec.V2025_11_25)
	read := func() string {
		return wantResult(t, p.request("resources/read", `"uri":"test://watched-resource"`)).Result().Get("contents.0.text").String()
	}
	before := read()
	wantResult(t, p.request("resources/subscribe", `"uri":"test://watched-resource"`))
	for m := p.nextMessage(); m.Method() != "notifications/resources/updated"; m = p.nextMessage() {
	}
	if read() == before {
		t.Errorf("it still says %q", before)
	}
}

func TestOfficialTriggersNotifySubscribers(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	for list, tool := range map[string]string{
		"tools": "test_trigger_tool_change", "prompts": "test_trigger_prompt_change",
	} {
		p.recordMethod(wire.StringID(list), "subscriptions/listen")
		p.send(
			`{"jsonrpc":"2.0","id":%q,"method":"subscriptions/listen","params":%s}`, list,
			p.params("{}", fmt.Sprintf(`"notifications":{"%sListChanged":true}`, list)),
		)
		for range 2 {
			before := len(p.listAll(list+"/list", list))
			wantResult(t, p.request("tools/call", callParams(tool, "{}")))
			if after := len(p.listAll(list+"/list", list)); after == before {
				t.Errorf("there are still %d %s", after, list)
			}
		}
	}
	told := map[string]int{}
	for _, m := range p.received {
		if strings.HasSuffix(m.Method(), "list_changed") {
			told[m.Params().Get(`_meta.io\.modelcontextprotocol/subscriptionId`).String()+" "+m.Method()]++
		}
	}
	if len(told) != 2 || told["tools notifications/tools/list_changed"] != 2 ||
		told["prompts notifications/prompts/list_changed"] != 2 {
		t.Errorf("those who listen were told %v", told)
	}
}

// The ordinary library knows nothing of the contract.
func TestOmitsOfficialFeaturesByDefault(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	for method, member := range listMembers {
		for _, item := range p.listAll(method, member) {
			if strings.Contains(item.Raw, `"test_`) || strings.Contains(item.Raw, `"test://`) {
				t.Errorf("%s shows %s", method, item.Raw)
			}
		}
	}
}
