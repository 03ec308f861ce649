package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// transcriptOf returns the transcript of lines: > begins a message of the client, < one of
// the server.
func transcriptOf(lines ...string) *wire.Transcript {
	var frames []wire.Frame
	for _, line := range lines {
		from := map[byte]wire.Role{'>': wire.Client, '<': wire.Server}[line[0]]
		frames = append(frames, wire.Frame{From: from, Raw: []byte(line[1:])})
	}
	return wire.TranscriptOf(frames)
}

// opened returns the opening of a session with capabilities, and what follows.
func opened(rev spec.Revision, client, server string, lines ...string) []string {
	return append([]string{
		fmt.Sprintf(`>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,`+
			`"clientInfo":{"name":"c","version":"1"}}}`, rev, client),
		fmt.Sprintf(`<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q,"capabilities":%s,`+
			`"serverInfo":{"name":"s","version":"1"}}}`, rev, server),
		`>{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}, lines...)
}

// asked returns a request of the client with its answer.
func asked(method, params, answer string) []string {
	return []string{
		fmt.Sprintf(`>{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params),
		`<{"jsonrpc":"2.0","id":7,` + answer + `}`,
	}
}

// openingResult returns an opening whose result has these members.
func openingResult(result string) []string {
	return asked("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`,
		`"result":{`+result+`}`)
}

// task returns a task that has the members, and otherwise those that it must have.
func task(members string) string {
	o := `{"taskId":"786512e2-9e0d-44bd-8f29-789f320fe840","status":"working","createdAt":"2025-11-25T10:30:00Z",` +
		`"lastUpdatedAt":"2025-11-25T10:40:00Z","ttl":60000` + members + `}`
	return o
}

const (
	v4, v5    = spec.V2025_11_25, spec.V2026_07_28
	withTasks = `{"tools":{},"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}`
	taskID    = "786512e2-9e0d-44bd-8f29-789f320fe840"
	otherTask = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"another"}}`
	stateless = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`
)

// deviations are sessions that break one rule in a way that no fault of the reference
// does, with what the judge says of it.
var deviations = []struct {
	check  string
	rev    spec.Revision
	says   string
	frames []string
}{
	{"discover.result", v5, "supportedVersions is an object, not an array",
		asked("server/discover", stateless+"}", `"result":{"supportedVersions":{},"capabilities":{}}`)},
	{"discover.result", v5, "capabilities is an array, not an object",
		asked("server/discover", stateless+"}", `"result":{"supportedVersions":[],"capabilities":[]}`)},
	{"discover.result", v5, "supportedVersions holds a number",
		asked("server/discover", stateless+"}", `"result":{"supportedVersions":[1],"capabilities":{}}`)},
	{"elicitation.complete.gone", v5, "which this revision removed",
		[]string{`<{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"1"}}`}},
	{"jsonrpc.error.members", v4, "error is an array, not an object", asked("ping", "{}", `"error":[]`)},
	{"jsonrpc.error.members", v4, "has no code", asked("ping", "{}", `"error":{"message":"no"}`)},
	{"jsonrpc.error.message.concise", v4, "is empty", asked("ping", "{}", `"error":{"code":-32600,"message":" "}`)},
	{"jsonrpc.response.id", v4, "a result carries", []string{`<{"jsonrpc":"2.0","id":null,"result":{}}`}},
	{"lifecycle.client.initialized", v4, "came before the answer", []string{
		`>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"c","version":"1"}}}`,
		`>{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"serverInfo":{"name":"s","version":"1"}}}`,
	}},
	{"lifecycle.opening.first", v4, "the request roots/list came before",
		append([]string{`<{"jsonrpc":"2.0","id":1,"method":"roots/list"}`}, opened(v4, "{}", "{}")...)},
	{"lifecycle.initialize.result", v4, "protocolVersion is a number, not a string",
		openingResult(`"protocolVersion":1,"capabilities":{},"serverInfo":{"name":"s","version":"1"}`)},
	{"lifecycle.initialize.result", v4, "capabilities is an array, not an object",
		openingResult(`"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{"name":"s","version":"1"}`)},
	{"lifecycle.initialize.result", v4, "instructions is a number, not a string", openingResult(
		`"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"},"instructions":1`)},
	{"ping.client.answered", v4, "ping was answered with error", opened(v4, "{}", "{}",
		`<{"jsonrpc":"2.0","id":"p","method":"ping"}`,
		`>{"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"no"}}`)},
	{"resources.contents.fields", v4, "mimeType is a number, not a string",
		asked("resources/read", `{"uri":"a:b"}`, `"result":{"contents":[{"uri":"a:b","text":"","mimeType":1}]}`)},
	{"schema.icons.source", v4, "without base64", asked("tools/list", "{}",
		`"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"data:image/png,x"}]}]}`)},
	{"schema.meta.trace", v5, "traceparent is a number, not a string",
		asked("tools/list", stateless+"}", `"result":{"resultType":"complete","tools":[],"_meta":{"traceparent":1}}`)},
	{"tasks.list.shape", v4, "tasks is an object, not an array",
		opened(v4, "{}", withTasks, asked("tasks/list", "{}", `"result":{"tasks":{}}`)...)},
	{"tasks.list.shape", v4, "tasks/0 is a number, not a task",
		opened(v4, "{}", withTasks, asked("tasks/list", "{}", `"result":{"tasks":[1]}`)...)},
	{"tasks.notification.shape", v4, "params is an array, not a task",
		opened(v4, "{}", withTasks, `<{"jsonrpc":"2.0","method":"notifications/tasks/status","params":[]}`)},
	{"tasks.augment.declared", v4, "asks for a task", opened(v4, `{"sampling":{}}`, withTasks,
		`<{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"task":{}}}`)},
	{"tasks.id.secure", v4, "has 2 characters", opened(v4, "{}", withTasks, asked("tools/call",
		`{"name":"a","task":{}}`, `"result":{"task":`+strings.Replace(task(""), taskID, "t1", 1)+`}`)...)},
	{"tasks.created-at", v4, "is 2025-11-25T10:35:00Z now", opened(v4, "{}", withTasks,
		`>{"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"taskId":"`+taskID+`"}}`,
		`<{"jsonrpc":"2.0","id":8,"result":`+task("")+`}`,
		`>{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"`+taskID+`"}}`,
		`<{"jsonrpc":"2.0","id":9,"result":`+strings.Replace(task(""), "10:30", "10:35", 1)+`}`)},
	{"tasks.related.progress", v4, "names the task", opened(v4, "{}", withTasks,
		`>{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"a","task":{},"_meta":{"progressToken":5}}}`,
		`<{"jsonrpc":"2.0","id":8,"result":{"task":`+task("")+`}}`,
		`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1,`+
			otherTask+`}}`)},
	{"tasks.last-updated-at", v4, "5m0s before it was created", opened(v4, "{}", withTasks, asked("tasks/get",
		`{"taskId":"`+taskID+`"}`, `"result":`+strings.Replace(task(""), "10:40", "10:25", 1))...)},
	{"tasks.related.result", v4, "names the task", opened(v4, "{}", withTasks,
		asked("tasks/result", `{"taskId":"`+taskID+`"}`, `"result":{"content":[],`+otherTask+`}`)...)},
	{"tools.client.call.params", v4, "the name in tools/call is a number",
		asked("tools/call", `{"name":1}`, `"result":{}`)},
	{"tools.execution.task-support", v4, "execution is a string, not an object", asked("tools/list", "{}",
		`"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"execution":"no"}]}`)},
	{"elicitation.required.only", v4, "tools/list was answered with -32042", asked("tools/list", "{}",
		`"error":{"code":-32042,"message":"visit","data":{"elicitations":[]}}`)},
	{"input-required.input.kinds", v5, "inputRequests/a is a number, not a request", asked("tools/call",
		stateless+`,"name":"a"}`, `"result":{"resultType":"input_required","inputRequests":{"a":1}}`)},
	{"cancellation.sent.subscription", v5, "which no request has", []string{
		`<{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`}},
}

// Sessions that show nothing of a rule, since another check judges them or what the peer
// did is unclear: the judge neither passes nor fails.
func TestJudgesIgnoreUnclearSessions(t *testing.T) {
	plain := `>{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"b"}}`
	for id, session := range map[string]struct {
		rev    spec.Revision
		frames []string
	}{
		"lifecycle.initialize.result": {v4, asked("initialize", `{"protocolVersion":"2025-11-25"}`, `"result":[]`)},
		"discover.result":             {v5, asked("server/discover", stateless+"}", `"result":[]`)},
		"lifecycle.capabilities.undeclared": {v4, opened(v4, `{"roots":{},"sampling":{},"elicitation":{}}`, "{}",
			asked("ping", "{}", `"result":{}`)...)},
		"lifecycle.capabilities.types": {v4, opened(v4, "{}", "{}")},
		"tasks.augment.declared": {v4, []string{
			`<{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"task":{}}}`}},
		"tools.result.structured.schema": {v4, []string{
			`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`<{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},` +
				`"outputSchema":{"type":"object"}}]}}`,
			`>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}`,
			`<{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}`}},
		"tasks.status.final": {v4, opened(v4, "{}", withTasks,
			`>{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"`+taskID+`"}}`,
			`<{"jsonrpc":"2.0","id":7,"result":`+strings.Replace(task(""), "working", "completed", 1)+`}`,
			`>{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"a","task":{}}}`,
			`<{"jsonrpc":"2.0","id":8,"result":{"task":`+task("")+`}}`,
			`>{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"`+taskID+`"}}`,
			`<{"jsonrpc":"2.0","id":9,"result":`+task("")+`}`)},
		"tasks.related.input": {v4, opened(v4, `{"sampling":{}}`, withTasks,
			`>{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"a","task":{}}}`,
			`<{"jsonrpc":"2.0","id":8,"result":{"task":`+task("")+`}}`, plain,
			`<{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)},
	} {
		if o := check.Judge(find(t, id), session.rev, transcriptOf(session.frames...)); o.State != check.NotObserved {
			t.Errorf("%s: state %d, want %d: %s", id, o.State, check.NotObserved, o.Detail)
		}
	}
}

// Progress shows whether a server keeps it from the streams of subscriptions only while
// such a stream is open.
func TestProgressWithoutSubscriptionIsNoEvidence(t *testing.T) {
	var w httpFrames
	w.post(1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+stateless+`,"name":"a"}}`)
	w.openStream(1)
	w.event(1, "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	o := check.Judge(find(t, "streamable-http.listen.scope"), v5, wire.TranscriptOf(w))
	if o.State != check.NotObserved {
		t.Errorf("state %d, want %d: %s", o.State, check.NotObserved, o.Detail)
	}
}

// A server that a signal ends without a wait had no time to end by itself.
func TestServerThatIsKilledAtOnceFailsNoCheck(t *testing.T) {
	for waited, want := range map[time.Duration]check.State{0: check.NotObserved, time.Second: check.Violated} {
		session := transcriptOf(opened(v4, "{}", "{}")...)
		session.End(wire.Ending{Requested: true, WaitedBeforeSignal: waited})
		if o := check.Judge(find(t, "lifecycle.exit-on-eof"), v4, session); o.State != want {
			t.Errorf("after %s: state %d, want %d: %s", waited, o.State, want, o.Detail)
		}
	}
}

func TestJudgesFailDeviations(t *testing.T) {
	for _, d := range deviations {
		o := check.Judge(find(t, d.check), d.rev, transcriptOf(d.frames...))
		text := strings.Join(append(o.Notes, o.Detail), "\n")
		if o.State != check.Violated || !strings.Contains(text, d.says) {
			t.Errorf("%s: state %d, want a violation that says %q: %s", d.check, o.State, d.says, text)
		}
	}
}
