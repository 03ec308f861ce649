package catalog

import (
	"net/http"
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
		note   = `>{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	)
	for name, c := range map[string]struct {
		lines []string
		want  check.State
	}{
		"all is answered":            {nil, check.Violated},
		"its request is unanswered":  {[]string{ask}, check.NotObserved},
		"its request was answered":   {[]string{ask, answer, note}, check.Violated},
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
