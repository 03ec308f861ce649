package catalog

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// What a reader makes of a line that is no JSON or no UTF-8 is not known: a result may
// answer a request in it.
func TestResultMayAnswerUnreadableLine(t *testing.T) {
	const (
		other    = `> {"jsonrpc":"2.0","id":1,"method":"ping"}`
		isOther  = `< {"jsonrpc":"2.0","id":1,"result":{}}`
		answer   = `< {"jsonrpc":"2.0","id":41,"result":{}}`
		garbage  = "> {\"jsonrp\xffc\":\"2.0\",\"id\":41,\"method\":\"ping\""
		readable = `> {"jsonrpc":"2.0","id":2,"method":"ping","params":{"n":41}}`
		isRead   = `< {"jsonrpc":"2.0","id":2,"result":{}}`
		replaced = "< {\"jsonrpc\":\"2.0\",\"id\":\"\ufffd\",\"result\":{}}"
	)
	for name, c := range map[string]struct {
		frames []string
		wrong  bool
	}{
		"id in an unreadable line":           {[]string{other, isOther, garbage, answer}, false},
		"id in a readable line":              {[]string{readable, isRead, answer}, true},
		"no id in the unreadable line":       {[]string{`> {"jsonrpc`, answer}, true},
		"unreadable line after the answer":   {[]string{other, isOther, answer, garbage}, true},
		"unreadable line of the server":      {[]string{other, isOther, `<` + garbage[1:], answer}, true},
		"id that holds a replaced character": {[]string{garbage, replaced}, false},
	} {
		o := outcomeOf(t, "jsonrpc.response.id", spec.V2025_06_18, c.frames...)
		if (o.State == check.Violated) != c.wrong {
			t.Errorf("%s: state %d: %s", name, o.State, o.Detail)
		}
	}
}

// The stream of a session is the answer to its first request, if that is a GET.
func TestJudgesTheStreamThatOpensTheSession(t *testing.T) {
	get := func(w *httpFrames, status int) {
		w.request(1, "GET", "")
		w.add(wire.Server, "", wire.HTTP{
			Exchange: 1, Status: status, Header: http.Header{"Content-Type": {"text/event-stream"}},
		})
	}
	for name, c := range map[string]struct {
		make func(w *httpFrames)
		want check.State
	}{
		"nothing": {func(*httpFrames) {}, check.NotObserved},
		"a POST first": {func(w *httpFrames) {
			w.post(1, initialized)
			w.status(1, 404)
		}, check.NotObserved},
		"no answer":       {func(w *httpFrames) { w.request(1, "GET", "") }, check.NotObserved},
		"a GET alone":     {func(w *httpFrames) { get(w, 200) }, check.Kept},
		"a refusal alone": {func(w *httpFrames) { get(w, 404) }, check.Violated},
		"a refused POST after it": {func(w *httpFrames) {
			get(w, 200)
			w.post(2, initialized)
			w.status(2, 404)
		}, check.Kept},
	} {
		var w httpFrames
		c.make(&w)
		o := check.Judge(find(t, "http-sse.stream.opened"), spec.V2024_11_05, wire.TranscriptOf(w))
		if o.State != c.want {
			t.Errorf("%s: state %d, want %d: %s", name, o.State, c.want, o.Detail)
		}
	}
}

// A server that waits for an answer when its input is closed may be at work.
func TestServerThatAwaitsAnAnswerNeedNotExit(t *testing.T) {
	const (
		ask    = `<{"jsonrpc":"2.0","id":"s","method":"roots/list"}`
		answer = `>{"jsonrpc":"2.0","id":"s","result":{"roots":[]}}`
		change = `>{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  check.State
	}{
		"all is answered":            {nil, check.Violated},
		"its request is unanswered":  {[]string{ask}, check.NotObserved},
		"its request was answered":   {[]string{ask, answer, change}, check.Violated},
		"an answer came as the last": {[]string{ask, answer}, check.NotObserved},
	} {
		session := transcriptOf(opened(v4, `{"roots":{"listChanged":true}}`, "{}", c.lines...)...)
		session.End(wire.Ending{Requested: true, WaitedBeforeSignal: time.Second})
		if o := check.Judge(find(t, "lifecycle.exit-on-eof"), v4, session); o.State != c.want {
			t.Errorf("%s: state %d, want %d: %s", name, o.State, c.want, o.Detail)
		}
	}
}

// Lines that other checks judge are no evidence.
func TestLinesOfOtherChecksAreNoEvidence(t *testing.T) {
	for line, want := range map[string]check.State{
		"< \xff": check.NotObserved, "<   ": check.NotObserved, "< hello": check.Violated,
		`> {"jsonrpc":"2.0","id":1,"method":"ping"}`: check.NotObserved,
		`< {"jsonrpc":"2.0","id":1,"result":{}}`:     check.Kept,
	} {
		if o := outcomeOf(t, "stdio.stdout.pure", spec.V2025_06_18, line); o.State != want {
			t.Errorf("%q: state %d, want %d: %s", line, o.State, want, o.Detail)
		}
	}
}

// judgedStates are sessions with the state of a judge in them.
var judgedStates = []struct {
	name, check string
	rev         spec.Revision
	lines       []string
	want        check.State
}{
	{"a default beyond 2^53", "headers.annotation.range", v5,
		annotated(`{"type":"integer","x-mcp-header":"N","default":9007199254740993}`), check.Violated},
	{"a default within", "headers.annotation.range", v5,
		annotated(`{"type":"integer","x-mcp-header":"N","default":7}`), check.Kept},
	{"no value", "headers.annotation.range", v5, annotated(`{"type":"integer","x-mcp-header":"N"}`), check.NotObserved},
	{"a value of another type", "headers.annotation.range", v5,
		annotated(`{"type":"string","x-mcp-header":"N","default":9007199254740993}`), check.NotObserved},
	{"a value that no chain of properties reaches", "headers.annotation.range", v5,
		annotated(`{"type":"array","items":{"type":"integer","x-mcp-header":"N","default":9007199254740993}}`),
		check.NotObserved},

	{"no notification of the server", "jsonrpc.client.notification.silent", v4,
		opened(v4, "{}", "{}", asked("ping", "{}", `"result":{}`)...), check.NotObserved},
	{"a request after a notification", "jsonrpc.client.notification.silent", v4,
		opened(v4, "{}", "{}", append([]string{note}, asked("ping", "{}", `"result":{}`)...)...), check.Kept},
	{"an error after a notification", "jsonrpc.client.notification.silent", v4,
		opened(v4, "{}", "{}", note, noID), check.Violated},
	{"an error before a notification", "jsonrpc.client.notification.silent", v4,
		opened(v4, "{}", "{}", noID, note), check.NotObserved},

	{"a failed task", "tasks.failed.status", v4, failedTask("failed"), check.Kept},
	{"a completed task", "tasks.failed.status", v4, failedTask("completed"), check.Violated},
	{"a cancelled task", "tasks.failed.status", v4, failedTask("cancelled"), check.NotObserved},

	{"an array that answers an array", "jsonrpc.batch.none", v4,
		[]string{`>[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `<[{"jsonrpc":"2.0","id":1,"result":{}}]`},
		check.NotObserved},
	{"an array that answers no array", "jsonrpc.batch.none", v4,
		[]string{`>{"jsonrpc":"2.0","id":1,"method":"ping"}`, `<[{"jsonrpc":"2.0","id":1,"result":{}}]`},
		check.Violated},

	{"an internal error", "jsonrpc.failure.resources-read", v4, failedRead(-32603), check.Kept},
	{"an error with a meaning of its own", "jsonrpc.failure.resources-read", v4, failedRead(-32002), check.NotObserved},
	{"the first reserved code", "jsonrpc.failure.resources-read", v4, failedRead(-32768), check.NotObserved},
	{"the last reserved code", "jsonrpc.failure.resources-read", v4, failedRead(-32000), check.NotObserved},
	{"a code below the reserved ones", "jsonrpc.failure.resources-read", v4, failedRead(-32769), check.Violated},
	{"a code of the server", "jsonrpc.failure.resources-read", v4, failedRead(-31999), check.Violated},
}

const (
	note = `<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	noID = `>{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"}}`
)

// annotated returns a session in which a tool with one argument is listed.
func annotated(argument string) []string {
	discovered := asked("server/discover", stateless+"}",
		`"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	return append(discovered, next(asked("tools/list", stateless+"}",
		`"result":{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object","properties":{"n":`+
			argument+`}}}]}`))...)
}

// failedTask returns a session in which a task of a tool that failed has a status.
func failedTask(status string) []string {
	params := fmt.Sprintf(`{"taskId":%q}`, taskID)
	result := asked("tasks/result", params, `"result":{"content":[],"isError":true}`)
	state := asked("tasks/get", params, `"result":`+strings.Replace(task(""), "working", status, 1))
	return opened(v4, "{}", withTasks, append(result, next(state)...)...)
}

// A client has stopped at an unknown version only when the session has ended.
func TestClientStopsWhenTheSessionEnds(t *testing.T) {
	lines := openingResult(`"protocolVersion":"2999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}`)
	session := transcriptOf(lines...)
	for _, want := range []check.State{check.NotObserved, check.Kept} {
		if o := check.Judge(find(t, "versioning.client.unknown.stops"), v4, session); o.State != want {
			t.Errorf("state %d, want %d: %s", o.State, want, o.Detail)
		}
		session.End(wire.Ending{})
	}
	if o := check.Judge(find(t, "versioning.client.unknown.stops"), v4,
		transcriptOf(append(lines, asked("ping", "{}", `"result":{}`)...)...)); o.State != check.Violated {
		t.Errorf("state %d of a client that goes on: %s", o.State, o.Detail)
	}
}

// failedRead returns a session in which a listed resource is read and answered with an
// error.
func failedRead(code int) []string {
	listed := asked("resources/list", "{}", `"result":{"resources":[{"uri":"a:b","name":"b"}]}`)
	failed := asked("resources/read", `{"uri":"a:b"}`, fmt.Sprintf(`"error":{"code":%d,"message":"no"}`, code))
	return opened(v4, "{}", `{"resources":{}}`, append(listed, next(failed)...)...)
}

// next gives a request and its answer the next id.
func next(lines []string) []string {
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `"id":7,`, `"id":8,`, 1)
	}
	return lines
}

func TestJudgesHaveTheseStates(t *testing.T) {
	for _, c := range judgedStates {
		o := check.Judge(find(t, c.check), c.rev, transcriptOf(c.lines...))
		if o.State != c.want {
			t.Errorf("%s: %s: state %d, want %d: %s", c.check, c.name, o.State, c.want, o.Detail)
		}
	}
}

// Ten pings within a second are too many. One says nothing about the rate, and frames
// without a time neither.
func TestPingRateNeedsTimes(t *testing.T) {
	for name, c := range map[string]struct {
		pings int
		step  time.Duration
		want  check.State
	}{
		"one": {1, time.Millisecond, check.NotObserved}, "two": {2, time.Millisecond, check.Kept},
		"nine": {9, time.Millisecond, check.Kept}, "ten": {10, time.Millisecond, check.Violated},
		"ten without time": {10, 0, check.NotObserved}, "ten in a second": {10, time.Second/9 + 1, check.Kept},
	} {
		var frames []wire.Frame
		for i := range c.pings {
			frames = append(frames, wire.Frame{
				From: wire.Server, At: time.Duration(i+1) * c.step,
				Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i),
			})
		}
		o := check.Judge(find(t, "ping.sent.rate"), spec.V2025_06_18, wire.TranscriptOf(frames))
		if o.State != c.want {
			t.Errorf("%s: state %d, want %d: %s", name, o.State, c.want, o.Detail)
		}
	}
}
