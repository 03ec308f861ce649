package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

const finalMessage = `{"role":"assistant","model":"m","content":{"type":"text","text":"Mara Quist"}}`

// toolUseMessage returns a message of a model that uses a tool.
func toolUseMessage(id string) string {
	return fmt.Sprintf(`{"role":"assistant","model":"m","stopReason":"toolUse","content":[%s]}`,
		fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"look_up","input":{"word":"fog"}}`, id))
}

// wantToolResult checks that the last message holds only the result of a tool use.
func wantToolResult(t *testing.T, params gjson.Result, id string) {
	t.Helper()
	messages := params.Get("messages").Array()
	last := messages[len(messages)-1].Get("content")
	if len(last.Array()) != 1 || last.Get("0.type").String() != "tool_result" ||
		last.Get("0.toolUseId").String() != id ||
		!strings.Contains(last.Get("0.structuredContent").Raw, "A Field Guide to Fog") {
		t.Errorf("the last message after the use %s holds %s", id, last.Raw)
	}
}

func TestBoundsTurnsOfToolUse(t *testing.T) {
	const question = `{"question":"Who wrote about fog?"}`
	for _, turns := range []int{1, 2, 4} { // the last turn answers, unless it is the fourth
		p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
		request := p.startCall(callParams("answer_question", question))
		for i := 1; i <= turns; i++ {
			if i > 1 {
				request = p.nextMessage()
			}
			if request.Method() != "sampling/createMessage" ||
				request.Params().Get("tools.0.name").String() != "look_up" {
				t.Fatalf("turn %d: received %s, want a request for sampling", i, request.Raw)
			}
			if i > 1 {
				wantToolResult(t, request.Params(), fmt.Sprintf("use-%d", i-1))
			}
			answer := toolUseMessage(fmt.Sprintf("use-%d", i))
			if i == turns && turns < 4 {
				answer = finalMessage
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID(), answer)
		}
		r := wantResult(t, p.nextMessage()).Result()
		if r.Get("isError").Bool() != (turns == 4) || strings.Contains(r.Raw, "Mara Quist") != (turns < 4) {
			t.Errorf("after %d turns the result is %s", turns, r.Raw)
		}
	}
}

func TestStatelessToolUse(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	params := callParams("answer_question", `{"question":"Who wrote about fog?"}`)
	r := wantInputRequired(t, p.requestAs(fullCapabilities, "tools/call", params))
	m := p.retry(params, r.Get("requestState").String(), `{"turn-1":`+toolUseMessage("use-1")+`}`)
	r = wantInputRequired(t, m)
	wantToolResult(t, r.Get("inputRequests.turn-2.params"), "use-1")
	m = p.retry(params, r.Get("requestState").String(), `{"turn-2":`+finalMessage+`}`)
	if !strings.Contains(m.Result().Raw, "Mara Quist") {
		t.Errorf("the result lacks the answer of the model: %s", m.Raw)
	}
}

func TestToolUseRequiresCapability(t *testing.T) {
	params := callParams("answer_question", `{"question":"Who?"}`)
	p := openSession(t, spec.V2025_11_25, `{"sampling":{}}`, Options{})
	wantToolError(t, p.request("tools/call", params))
	for _, m := range p.received {
		if m.Kind == wire.Request {
			t.Errorf("the server sent %s", m.Raw)
		}
	}
	stateless := openSession(t, spec.V2026_07_28, "{}", Options{})
	wantRequired(t, stateless.requestAs(`{"sampling":{}}`, "tools/call", params), `{"sampling":{"tools":{}}}`)
}
