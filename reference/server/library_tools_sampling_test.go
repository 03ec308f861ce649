package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// use is an answer of a model that uses a tool.
func toolUseMessage(id string) string {
	return fmt.Sprintf(
		`{"role":"assistant","model":"m","stopReason":"toolUse","content":[{"type":"tool_use","id":%q,"name":"look_up","input":{"word":"fog"}}]}`,
		id,
	)
}

// balanced tells whether the last message holds the result of that use alone.
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
	for _, turns := range []int{1, 2, 4} { // the last answers, unless it is the fourth
		p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
		p.send(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, callParams("answer_question", question),
		)
		for i := 1; i <= turns; i++ {
			asked := p.nextMessage()
			if asked.Method() != "sampling/createMessage" ||
				asked.Params().Get("tools.0.name").String() != "look_up" {
				t.Fatalf("turn %d: %s", i, asked.Raw)
			}
			if i > 1 {
				wantToolResult(t, asked.Params(), fmt.Sprintf("use-%d", i-1))
			}
			answer := toolUseMessage(fmt.Sprintf("use-%d", i))
			if i == turns && turns < 4 {
				answer = `{"role":"assistant","model":"m","content":{"type":"text","text":"Mara Quist"}}`
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, asked.ID(), answer)
		}
		r := wantResult(t, p.nextMessage()).Result()
		if r.Get("isError").Bool() != (turns == 4) || strings.Contains(r.Raw, "Mara Quist") != (turns < 4) {
			t.Errorf("after %d turns: %s", turns, r.Raw)
		}
	}
}

func TestStatelessToolUse(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	args := callParams("answer_question", `{"question":"Who wrote about fog?"}`)
	p.send("%s", statelessLine(1, fullCapabilities, "tools/call", args))
	r := wantResult(t, p.nextMessage()).Result()
	p.send(
		"%s",
		statelessLine(2, fullCapabilities, "tools/call", args+`,"requestState":`+r.Get("requestState").Raw+`,"inputResponses":{"turn-1":`+toolUseMessage("use-1")+`}`),
	)
	r = wantResult(t, p.nextMessage()).Result()
	wantToolResult(t, r.Get("inputRequests.turn-2.params"), "use-1")
	p.send(
		"%s",
		statelessLine(3, fullCapabilities, "tools/call", args+`,"requestState":`+r.Get("requestState").Raw+`,"inputResponses":{"turn-2":{"role":"assistant","model":"m","content":{"type":"text","text":"Mara Quist"}}}`),
	)
	if m := p.nextMessage(); !strings.Contains(m.Result().Raw, "Mara Quist") {
		t.Errorf("got %s", m.Raw)
	}
}

func TestToolUseRequiresCapability(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, `{"sampling":{}}`, Options{})
	if m := p.request("tools/call", callParams("answer_question", `{"question":"Who?"}`)); !wantResult(t, m).Result().Get("isError").Bool() {
		t.Errorf("got %s", m.Raw)
	}
	for _, m := range p.received {
		if m.Kind == wire.Request {
			t.Errorf("it asked %s", m.Raw)
		}
	}
	q := openSession(t, spec.V2026_07_28, "{}", Options{})
	q.send(
		"%s",
		statelessLine(1, `{"sampling":{}}`, "tools/call", callParams("answer_question", `{"question":"Who?"}`)),
	)
	m := q.nextMessage()
	wantCode(t, m, spec.MissingClientCapability)
	if got := m.Error().Get("data.requiredCapabilities").Raw; got != `{"sampling":{"tools":{}}}` {
		t.Errorf("it requires %s", got)
	}
}
