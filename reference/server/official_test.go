package server

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// openOfficial opens a session of a server that offers the public contract.
func openOfficial(t *testing.T, rev spec.Revision) *testClient {
	return openSession(t, rev, fullCapabilities, Options{Official: true, StepDelay: time.Millisecond})
}

var since0618, since1125, stateless = spec.Since(spec.V2025_06_18), spec.Since(spec.V2025_11_25), spec.Stateless

// elicitedContentJSON is the content of the client's answer to an elicitation.
const elicitedContentJSON = `{"color":"blue","context":"tea","day":"2026-05-01","email":"ada@example.com",` +
	`"name":"Ada","ok":true,"people":2,"username":"ada"}`

// officialToolCases are calls of the tools of the contract, and their results.
var officialToolCases = []struct {
	name, args string
	in         spec.Set
	types      string // of the content
	text       string // of the first block
	isError    bool
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
		"User response: action=accept, content=" + elicitedContentJSON,
		false,
	},
	{
		"test_elicitation_sep1034_defaults", `{}`, since1125, "text",
		"Elicitation completed: action=accept, content=" + elicitedContentJSON,
		false,
	},
	{
		"test_elicitation_sep1330_enums", `{}`, since1125, "text",
		"Elicitation completed: action=accept, content=" + elicitedContentJSON,
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
			t.Error("the tools are on more than one page")
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
			if got := strings.Join(types, " "); got != c.types || m.Result().Get("isError").Bool() != c.isError {
				t.Errorf("the content of %s has the types %q, want %q: %s", c.name, got, c.types, m.Raw)
			}
			if got := m.Result().Get("content.0.text").String(); got != c.text {
				t.Errorf("the text of %s is %q, want %q", c.name, got, c.text)
			}
		}
		checkReceived(t, p)
	})
}

func TestOfficialMedia(t *testing.T) {
	p := openOfficial(t, spec.V2025_06_18)
	for name, want := range map[string]string{
		"test_image_content": "\x89PNG\r\n\x1a\n", "test_audio_content": "RIFF",
	} {
		r := wantResult(t, p.requestAnswering("tools/call", callParams(name, "{}"))).Result()
		data, err := base64.StdEncoding.DecodeString(r.Get("content.0.data").String())
		if err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("the data of %s is %q: %v", name, data, err)
		}
	}
	m := wantResult(t, p.requestAnswering("tools/call", callParams("test_multiple_content_types", "{}"))).Result()
	wantSameJSON(
		t, m.Get("content.2.resource").Raw,
		`{"uri":"test://mixed-content-resource","mimeType":"application/json",`+
			`"text":"{\"test\":\"data\",\"value\":123}"}`,
	)
	m = wantResult(t, p.requestAnswering("tools/call", callParams("test_embedded_resource", "{}"))).Result()
	wantSameJSON(
		t, m.Get("content.0.resource").Raw,
		`{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}`,
	)
}

// textContentsJSON returns the contents of a text resource.
func textContentsJSON(uri, mimeType, text string) string {
	return string(wire.Encode(textContents(uri, mimeType, text)))
}

// userMessagesJSON returns the messages of a prompt with these blocks.
func userMessagesJSON(blocks ...Object) string {
	messages := []any{}
	for _, b := range blocks {
		messages = append(messages, Object{"role": "user", "content": b})
	}
	return string(wire.Encode(messages))
}

func TestOfficialResources(t *testing.T) {
	const data123 = `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`
	const dataBrace = `{"id":"{","templateTest":true,"data":"Data for ID: {"}`
	cover := Object{"uri": "test://static-binary", "mimeType": "image/png", "blob": encode64(coverPNG(1))}
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openOfficial(t, rev)
		for uri, want := range map[string]string{
			"test://static-text": textContentsJSON("test://static-text", "text/plain",
				"This is the content of the static text resource."),
			"test://template/123/data":  textContentsJSON("test://template/123/data", "application/json", data123),
			"test://template/%7B/data":  textContentsJSON("test://template/%7B/data", "application/json", dataBrace),
			"test://static-binary":      string(wire.Encode(cover)),
			"test://nonexistent-x/data": "",
		} {
			m := p.request("resources/read", fmt.Sprintf(`"uri":%q`, uri))
			if want == "" {
				wantCode(t, m, rev.Facts().ResourceNotFound)
				continue
			}
			wantSameJSON(t, wantResult(t, m).Result().Get("contents.0").Raw, want)
		}
		checkReceived(t, p)
	})
}

func TestOfficialPrompts(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openOfficial(t, rev)
		for members, want := range map[string]string{
			`"name":"test_simple_prompt"`: userMessagesJSON(textBlock("This is a simple prompt for testing.")),
			`"name":"test_prompt_with_arguments","arguments":{"arg1":"a","arg2":"b"}`: userMessagesJSON(
				textBlock("Prompt with arguments: arg1='a', arg2='b'")),
			`"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://a"}`: userMessagesJSON(
				embeddedBlock(textContents("test://a", "text/plain", "Embedded resource content for testing.")),
				textBlock("Please process the embedded resource above.")),
			`"name":"test_prompt_with_image"`: userMessagesJSON(
				unannotatedImage(), textBlock("Please analyze the image above.")),
		} {
			got := wantResult(t, p.requestAnswering("prompts/get", members)).Result().Get("messages").Raw
			wantSameJSON(t, `{"messages":`+got+`}`, `{"messages":`+want+`}`)
		}
		if elicitationRevisions.Has(rev) {
			m := wantResult(t, p.requestAnswering("prompts/get", `"name":"test_input_required_result_prompt"`))
			if got := m.Result().Get("messages.0.content.text").String(); got != "Answer in this context: tea" {
				t.Errorf("the prompt is %q", got)
			}
		}
		completion := wantResult(t, p.request("completion/complete",
			`"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"}`,
			`"argument":{"name":"arg1","value":"test"}`))
		if got := completion.Result().Get("completion.values").Raw; got != `["testValue1","testValue2"]` {
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
		const wantLog = "info: Tool execution started, info: Tool processing data, info: Tool execution completed"
		if got := strings.Join(log, ", "); got != wantLog {
			t.Errorf("the log is %s, want %s", got, wantLog)
		}
		if got := strings.Join(progress, " "); got != "0/100 50/100 100/100" {
			t.Errorf("the progress is %s", got)
		}
	})
}

func TestOfficialForms(t *testing.T) {
	eachRevision(t, since0618, func(t *testing.T, rev spec.Revision) {
		for name, want := range map[string]string{
			"test_elicitation": `{"type":"object","required":["username","email"],"properties":{
				"username":{"type":"string","description":"User's response"},
				"email":{"type":"string","description":"User's email address"}}}`,
			"test_elicitation_sep1034_defaults": `{"type":"object","required":[],"properties":{
				"name":{"type":"string","default":"John Doe"},
				"age":{"type":"integer","default":30},
				"score":{"type":"number","default":95.5},
				"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
				"verified":{"type":"boolean","default":true}}}`,
			"test_elicitation_sep1330_enums": `{"type":"object","required":[],"properties":{
				"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
				"titledSingle":{"type":"string","oneOf":[
					{"const":"value1","title":"First Option"},
					{"const":"value2","title":"Second Option"},
					{"const":"value3","title":"Third Option"}]},
				"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
					"enumNames":["Option One","Option Two","Option Three"]},
				"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
				"titledMulti":{"type":"array","items":{"anyOf":[
					{"const":"value1","title":"First Choice"},
					{"const":"value2","title":"Second Choice"},
					{"const":"value3","title":"Third Choice"}]}}}}`,
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

// clientRequests returns the requests of a server to its client.
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
		t.Fatal("the server sent no request")
	}
	return out
}

func TestOfficialWatchedResourceChanges(t *testing.T) {
	p := openOfficial(t, spec.V2025_11_25)
	read := func() string {
		r := wantResult(t, p.request("resources/read", `"uri":"test://watched-resource"`)).Result()
		return r.Get("contents.0.text").String()
	}
	before := read()
	wantResult(t, p.request("resources/subscribe", `"uri":"test://watched-resource"`))
	for m := p.nextMessage(); m.Method() != "notifications/resources/updated"; m = p.nextMessage() {
	}
	if read() == before {
		t.Errorf("after the notification the resource is still %q", before)
	}
}

func TestOfficialTriggersNotifySubscribers(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	for list, tool := range map[string]string{
		"tools": "test_trigger_tool_change", "prompts": "test_trigger_prompt_change",
	} {
		p.recordMethod(wire.StringID(list), "subscriptions/listen")
		p.subscribe(`"`+list+`"`, `{"`+list+`ListChanged":true}`)
		for range 2 {
			before := len(p.listAll(list+"/list", list))
			wantResult(t, p.request("tools/call", callParams(tool, "{}")))
			if after := len(p.listAll(list+"/list", list)); after == before {
				t.Errorf("after the trigger the list still has %d %s", after, list)
			}
		}
	}
	notified := map[string]int{}
	for _, m := range p.received {
		if strings.HasSuffix(m.Method(), "list_changed") {
			notified[m.Params().Get(subscriptionIDPath).String()+" "+m.Method()]++
		}
	}
	want := map[string]int{"tools notifications/tools/list_changed": 2, "prompts notifications/prompts/list_changed": 2}
	if !maps.Equal(notified, want) {
		t.Errorf("the server sent the notifications %v, want %v", notified, want)
	}
}

func TestOmitsOfficialFeaturesByDefault(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	for method, member := range listMembers {
		for _, item := range p.listAll(method, member) {
			if strings.Contains(item.Raw, `"test_`) || strings.Contains(item.Raw, `"test://`) {
				t.Errorf("%s lists %s", method, item.Raw)
			}
		}
	}
}
