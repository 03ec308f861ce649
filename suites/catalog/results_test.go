package catalog

import (
	"fmt"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judgeFrames runs a judge over the frames of a session, which the client and the server
// send in turn.
func judgeFrames(t *testing.T, id string, rev spec.Revision, frames ...string) check.Outcome {
	t.Helper()
	var all []wire.Frame
	for i, raw := range frames {
		from := wire.Client
		if i%2 == 1 {
			from = wire.Server
		}
		all = append(all, wire.Frame{From: from, Raw: []byte(raw)})
	}
	for _, c := range Judges() {
		if c.ID == id {
			return check.Judge(c, rev, wire.TranscriptOf(all))
		}
	}
	t.Fatalf("no check %s", id)
	return check.Outcome{}
}

func listedTool(schema string) []string {
	return []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"look","inputSchema":%s}]}}`, schema)}
}

func calledTool(params, result string) []string {
	return []string{
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` + params + `}`,
		`{"jsonrpc":"2.0","id":2,"result":` + result + `}`,
	}
}

var toolCases = map[string]struct {
	check  string
	rev    spec.Revision
	frames []string
	want   check.State
}{
	"unknown dialect": {
		"tools.input-schema.valid", spec.V2025_11_25,
		listedTool(`{"type":"object","$schema":"urn:mine","properties":{"a":{"type":"text"}}}`), check.NotObserved,
	},
	"external reference": {
		"tools.input-schema.valid", spec.V2025_11_25,
		listedTool(`{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}}}`), check.NotObserved,
	},
	"pattern that the engine does not support": {
		"tools.input-schema.valid", spec.V2025_11_25,
		listedTool(`{"type":"object","properties":{"a":{"pattern":"(?!x)"}}}`), check.NotObserved,
	},
	"draft-04 keyword without a dialect": {
		"tools.input-schema.valid.advised", spec.V2025_06_18,
		listedTool(`{"type":"object","properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`),
		check.Kept,
	},
	"true as a schema": {
		"tools.input-schema.valid", spec.V2026_07_28, listedTool(`{"type":"object","properties":{"a":true}}`),
		check.Kept,
	},
	"call with a task as result": {
		"tools.result.content", spec.V2025_11_25, calledTool(`{"name":"look","task":{}}`, `{"task":{"taskId":"1"}}`),
		check.NotObserved,
	},
	"input_required result": {
		"tools.result.content", spec.V2026_07_28,
		calledTool(`{"name":"look"}`, `{"resultType":"input_required","inputRequests":{}}`), check.NotObserved,
	},
	"request of another revision": {
		"tools.result.structured.object", spec.V2025_11_25,
		calledTool(`{"name":"look","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
			`{"content":[],"structuredContent":[1]}`), check.NotObserved,
	},
	"text beside an array": {
		"tools.result.structured.text", spec.V2026_07_28,
		calledTool(`{"name":"look"}`, `{"content":[{"type":"text","text":"one"}],"structuredContent":[1]}`),
		check.NotObserved,
	},
	"equal value in another notation": {
		"tools.result.structured.text", spec.V2025_06_18,
		calledTool(`{"name":"look"}`,
			`{"content":[{"type":"text","text":"{ \"n\": 1.0 }"}],"structuredContent":{"n":1}}`),
		check.Kept,
	},
	"failing tool with arguments": {
		"tools.result.failure", spec.V2025_06_18,
		calledTool(`{"name":"test_error_handling","arguments":{"a":1}}`, `{"content":[]}`), check.NotObserved,
	},
	"failing tool on a server that does not list it": {
		"tools.result.failure", spec.V2025_06_18,
		calledTool(`{"name":"test_error_handling","arguments":{}}`, `{"content":[]}`), check.NotObserved,
	},
	"prompt with the name of the failing tool": {
		"tools.result.failure", spec.V2025_06_18, []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"test_error_handling",` +
				`"inputSchema":{"type":"object"}}]}}`,
			`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"test_error_handling"}}`,
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`,
		}, check.NotObserved,
	},
	"embedded resource without known capabilities": {
		"tools.result.embedded", spec.V2025_06_18,
		calledTool(`{"name":"look"}`, `{"content":[{"type":"resource","resource":{"uri":"a:b","text":""}}]}`),
		check.NotObserved,
	},
	"page without a cursor": {
		"pagination.next-cursor.string", spec.V2025_06_18, listedTool(`{"type":"object"}`), check.NotObserved,
	},
	"rejected result made of the client's input": {
		"tools.result.rejected", spec.V2026_07_28, calledTool(`{"name":"look","inputResponses":{"a":"b"}}`,
			`{"content":[{"type":"text","text":"Invalid tools/call result: x"}],"isError":true}`), check.NotObserved,
	},
	"error about the input of a tool": {
		"tools.result.rejected", spec.V2025_06_18,
		calledTool(`{"name":"look"}`, `{"content":[{"type":"text","text":"Input validation error: no path"}],`+
			`"isError":true}`), check.Kept,
	},
	"result about the validation of outputs": {
		"tools.result.rejected", spec.V2025_06_18,
		calledTool(`{"name":"look"}`, `{"content":[{"type":"text","text":"Output validation error: a book"}]}`),
		check.Kept,
	},
	"annotations with the schema of inputSchema": {
		"tools.annotations.schema", spec.V2025_06_18,
		listedTool(`{"type":"object","properties":{"a":{}}},"annotations":{"type":"object","properties":{"a":{}}}`),
		check.Kept,
	},
	"annotations with further members": {
		"tools.annotations.schema", spec.V2025_06_18,
		listedTool(`{"type":"object"},"annotations":{"type":"reader","properties":{"a":{}}}`), check.Kept,
	},
	"tool without annotations": {
		"tools.annotations.types", spec.V2025_06_18, listedTool(`{"type":"object"}`), check.NotObserved,
	},
}

// The judges fail neither allowed nor unclear sessions.
func TestToolJudgesAcceptAllowedSessions(t *testing.T) {
	for name, c := range toolCases {
		if o := judgeFrames(t, c.check, c.rev, c.frames...); o.State != c.want {
			t.Errorf("%s: %s is in state %d, want %d: %s", name, c.check, o.State, c.want, o.Detail)
		}
	}
}

// A failed call needs no structured result. A result is compared with the latest
// definition of its tool before the call.
func TestComparesStructuredResultWithLatestSchema(t *testing.T) {
	list := func(id int, schema string) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[`+
				`{"name":"look","inputSchema":{"type":"object"},"outputSchema":%s}]}}`, id, schema)}
	}
	call := func(id int, result string) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"look"}}`, id),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result)}
	}
	frames := append(list(1, `{"type":"object","required":["a"]}`), call(2, `{"content":[],"isError":true}`)...)
	frames = append(append(frames, list(3, `{"type":"object","required":["b"]}`)...),
		call(4, `{"content":[],"structuredContent":{"b":1}}`)...)
	if o := judgeFrames(t, "tools.result.structured.schema", spec.V2025_06_18, frames...); o.State != check.Kept {
		t.Errorf("state %d: %s", o.State, o.Detail)
	}
	frames = append(frames, call(5, `{"content":[],"structuredContent":{"a":1}}`)...)
	if o := judgeFrames(t, "tools.result.structured.schema", spec.V2025_06_18, frames...); o.State != check.Violated {
		t.Errorf("a result of the previous definition is in state %d", o.State)
	}
}

func TestAcceptsPingsBelowRate(t *testing.T) {
	var lines []byte
	for i := range 12 {
		lines = fmt.Appendf(lines, `{"from":"server","at":%d,"raw":{"jsonrpc":"2.0","id":%d,"method":"ping"}}`+"\n",
			100+i*120, i)
	}
	frames, _, err := wire.ParseFrames(lines)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range judgesOf("ping.sent.") {
		if o := check.Judge(c, spec.V2025_06_18, wire.TranscriptOf(frames)); o.State != check.Kept {
			t.Errorf("%s is in state %d: %s", c.ID, o.State, o.Detail)
		}
	}
}

// The type of a result may belong to an extension that its request declares. Extensions of
// other requests do not count.
func TestResultTypeRequiresDeclaredExtension(t *testing.T) {
	const tasks = `"io.modelcontextprotocol/tasks":{}`
	for name, c := range map[string]struct {
		extensions, resultType string
		want                   check.State
	}{
		"declared task":                  {`{"extensions":{` + tasks + `}}`, "task", check.NotObserved},
		"undeclared task":                {`{}`, "task", check.Violated},
		"task with the older capability": {`{"tasks":{}}`, "task", check.Violated},
		"other type, tasks declared":     {`{"extensions":{` + tasks + `}}`, "job", check.Violated},
		"other type, other extension":    {`{"extensions":{"com.example/jobs":{}}}`, "job", check.NotObserved},
		"other type, both declared": {
			`{"extensions":{` + tasks + `,"com.example/jobs":{}}}`, "job", check.NotObserved,
		},
		"core type": {`{"extensions":{` + tasks + `}}`, "complete", check.Kept},
	} {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":` + c.extensions + `}`
		out := judgeFrames(t, "jsonrpc.result-type.known", spec.V2026_07_28,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look",`+meta+`}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"resultType":"`+c.resultType+`"}}`)
		if out.State != c.want {
			t.Errorf("%s: %v %s, want %v", name, out.State, out.Detail, c.want)
		}
	}
}
