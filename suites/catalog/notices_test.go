package catalog

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// outcomeOf returns the outcome of a judge over frames that begin with the sender:
// "> " for the client, "< " for the server.
func outcomeOf(t *testing.T, id string, rev spec.Revision, frames ...string) check.Outcome {
	t.Helper()
	var all []wire.Frame
	for _, f := range frames {
		from := wire.Client
		if strings.HasPrefix(f, "<") {
			from = wire.Server
		}
		all = append(all, wire.Frame{From: from, Raw: []byte(f[2:])})
	}
	for _, c := range Judges() {
		if c.ID == id {
			return check.Judge(c, rev, wire.TranscriptOf(all))
		}
	}
	t.Fatalf("no check %s", id)
	return check.Outcome{}
}

const (
	walkParams = `"params":{"_meta":{"progressToken":"a"},"name":"walk"}}`
	call1      = `> {"jsonrpc":"2.0","id":1,"method":"tools/call",` + walkParams
	call2      = `> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"walk"}}`
	again1     = `> {"jsonrpc":"2.0","id":3,"method":"tools/call",` + walkParams
	done1      = `< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	progress1  = `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}`
	progress2  = `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":2}}`
	cancel1    = `> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	unrelated  = `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"b","progress":1}}`
)

const workingTask = `< {"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t","status":"working"}}}`

// progressCases are sessions in which the server breaks no rule, or that do not show
// whether it does.
var progressCases = map[string]struct {
	id     string
	frames []string
	state  check.State
}{
	"token in invalid JSON": {
		"progress.token.known", []string{
			`> {"jsonrpc":"2.0","id":1,"params":{"_meta":{"progressToken":"b"`, unrelated,
		}, check.NotObserved,
	},
	"duplicate token": {
		"progress.token.known", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
				`{"_meta":{"progressToken":"a","progressToken":"b"}}}`, unrelated,
		}, check.NotObserved,
	},
	"token in a batch": {
		"progress.token.known", []string{
			`> [{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"b"}}}]`, unrelated,
		}, check.Kept,
	},
	"equal number in another notation": {
		"progress.token.echoed", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":7}}}`,
			`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7.0,"progress":1}}`,
		}, check.Kept,
	},
	"number and string of the same digits": {
		"progress.token.echoed", []string{
			`> {"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":7}}}`,
			`> {"jsonrpc":"2.0","id":2,"method":"m","params":{"_meta":{"progressToken":"7"}}}`,
			`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":1}}`,
		}, check.Kept,
	},
	"cancelled request": {
		"progress.ended", []string{call1, progress1, cancel1, done1, progress2}, check.NotObserved,
	},
	"two requests with one id": {
		"progress.ended", []string{
			call2, strings.Replace(call1, `"id":1`, `"id":2`, 1), strings.Replace(done1, `"id":1`, `"id":2`, 1),
			progress1,
		}, check.NotObserved,
	},
	"token of two requests": {
		"progress.ended", []string{call1, again1, done1, progress1}, check.NotObserved,
	},
	"task": {
		"progress.ended", []string{strings.Replace(call1, `"name"`, `"task":{},"name"`, 1), workingTask, progress1},
		check.NotObserved,
	},
	"token used again after the answer": {
		"progress.increases", []string{call1, progress1, progress2, done1, again1, progress1}, check.Kept,
	},
	"token of two open calls": {
		"progress.increases", []string{call1, again1, progress1, progress1}, check.NotObserved,
	},
	"numbers that are equal as a double": {
		"progress.increases", []string{
			call1, strings.Replace(progress1, `"progress":1`, `"progress":9007199254740992`, 1),
			strings.Replace(progress1, `"progress":1`, `"progress":9007199254740993`, 1),
		}, check.NotObserved,
	},
	"running task": {
		"progress.task.ended", []string{call1, workingTask, progress1}, check.NotObserved,
	},
	"task that ends after its report": {
		"progress.task.ended", []string{
			call1, workingTask, progress1, `> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t"}}`,
			`< {"jsonrpc":"2.0","id":2,"result":{"taskId":"t","status":"completed"}}`,
		}, check.Kept,
	},
}

// The judges fail neither allowed nor unclear sessions.
func TestProgressJudgesAcceptAllowedSessions(t *testing.T) {
	for name, c := range progressCases {
		if o := outcomeOf(t, c.id, spec.V2025_11_25, c.frames...); o.State != c.state {
			t.Errorf("%s: %s is %v, want %v: %s", name, c.id, o.State, c.state, o.Detail)
		}
	}
}

func setLevelFrame(id, level string) string {
	return `> {"jsonrpc":"2.0","id":` + id + `,"method":"logging/setLevel","params":{"level":"` + level + `"}}`
}

func emptyResult(id string) string { return `< {"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func pingFrame(id string) string { return `> {"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func logFrame(level string) string {
	return `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}`
}

func callFrame(id, meta string) string {
	return `> {"jsonrpc":"2.0","id":` + id +
		`,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"` + meta +
		`}}}`
}

func levelMeta(l string) string { return `,"io.modelcontextprotocol/logLevel":"` + l + `"` }

func secretFrame(s string) string {
	return `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + s + `"}}`
}

var loggingCases = map[string]struct {
	id     string
	rev    spec.Revision
	frames []string
	state  check.State
}{
	"no level set": {"logging.threshold", spec.V2025_06_18, []string{logFrame("debug")}, check.NotObserved},
	"immediately after the answer": {
		"logging.threshold", spec.V2025_06_18,
		[]string{setLevelFrame("1", "error"), emptyResult("1"), logFrame("debug")}, check.NotObserved,
	},
	"while another level is set": {
		"logging.threshold", spec.V2025_06_18, []string{
			setLevelFrame("1", "error"), emptyResult("1"), pingFrame("2"), emptyResult("2"),
			setLevelFrame("3", "debug"), logFrame("debug"),
		}, check.NotObserved,
	},
	"refused level": {
		"logging.threshold", spec.V2025_06_18, []string{
			setLevelFrame("1", "info"), emptyResult("1"), setLevelFrame("2", "error"),
			`< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}`, pingFrame("3"), emptyResult("3"),
			logFrame("info"),
		}, check.Kept,
	},
	"two requests with one id": {
		"logging.threshold", spec.V2025_06_18, []string{
			setLevelFrame("1", "error"), setLevelFrame("1", "debug"), emptyResult("1"), emptyResult("1"),
			pingFrame("2"), emptyResult("2"), logFrame("debug"),
		}, check.NotObserved,
	},
	"level in invalid JSON": {
		"logging.threshold", spec.V2025_06_18, []string{
			setLevelFrame("1", "error"), emptyResult("1"), `> {"method":"logging/setLevel","level":"debug"`,
			pingFrame("2"), emptyResult("2"),
			logFrame("debug"),
		}, check.NotObserved,
	},
	"request of the handshake era": {
		"logging.request.opted-in", spec.V2026_07_28,
		[]string{`> {"jsonrpc":"2.0","id":1,"method":"tools/call"}`, logFrame("info")},
		check.NotObserved,
	},
	"initialized session": {
		"logging.request.opted-in", spec.V2026_07_28,
		[]string{`> {"jsonrpc":"2.0","id":1,"method":"initialize"}`, logFrame("info")},
		check.NotObserved,
	},
	"level in an invalid request": {
		"logging.request.opted-in", spec.V2026_07_28, []string{
			`> {"jsonrpc":"2.0","id":1,"params":{"_meta":{"io.modelcontextprotocol/logLevel":"info"`, logFrame("info"),
		}, check.NotObserved,
	},
	"unknown level": {
		"logging.request.opted-in", spec.V2026_07_28, []string{callFrame("1", levelMeta("loud")), logFrame("info")},
		check.NotObserved,
	},
	"lower of two levels": {
		"logging.request.threshold", spec.V2026_07_28, []string{
			callFrame("1", levelMeta("error")), callFrame("2", levelMeta("debug")), logFrame("info"),
		}, check.Kept,
	},
	"cancelled call": {
		"logging.request.before-answer", spec.V2026_07_28,
		[]string{
			callFrame("1", levelMeta("debug")), cancel1, logFrame("info"),
		}, check.Kept,
	},
	"open call beside an answered one": {
		"logging.request.before-answer", spec.V2026_07_28,
		[]string{
			callFrame("1", levelMeta("debug")), callFrame("2", levelMeta("debug")), emptyResult("1"), logFrame("info"),
		}, check.Kept,
	},
	"masked password": {
		"logging.message.secrets", spec.V2025_06_18, []string{secretFrame("postgres://desk:*****@db/books")},
		check.Kept,
	},
	"redacted password": {
		"logging.message.secrets", spec.V2025_06_18, []string{secretFrame("postgres://desk:REDACTED@db/books")},
		check.Kept,
	},
	"URL with a port": {
		"logging.message.secrets", spec.V2025_06_18, []string{secretFrame("GET http://localhost:8080/a@b")}, check.Kept,
	},
	"certificate": {
		"logging.message.secrets", spec.V2025_06_18,
		[]string{secretFrame("-----BEGIN CERTIFICATE-----\\nMIIBszCCAVmgAwIBAgIUQ\\n")},
		check.Kept,
	},
	"text about authorization": {
		"logging.message.secrets", spec.V2025_06_18, []string{secretFrame("Authorization: bearer token missing")},
		check.Kept,
	},
	"unknown capabilities": {
		"logging.declared", spec.V2025_06_18, []string{logFrame("info")}, check.NotObserved,
	},
}

// The judges fail neither allowed nor unclear sessions.
func TestLoggingJudgesAcceptAllowedSessions(t *testing.T) {
	for name, c := range loggingCases {
		if o := outcomeOf(t, c.id, c.rev, c.frames...); o.State != c.state {
			t.Errorf("%s: %s is %v, want %v: %s", name, c.id, o.State, c.state, o.Detail)
		}
	}
}

// The judges fail neither allowed nor unclear sessions.
func TestCancellationJudgesAcceptAllowedSessions(t *testing.T) {
	ask := `< {"jsonrpc":"2.0","id":"s","method":"roots/list"}`
	answer := `> {"jsonrpc":"2.0","id":"s","result":{"roots":[]}}`
	cancel := `< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`
	for name, c := range map[string]struct {
		id     string
		rev    spec.Revision
		frames []string
		state  check.State
	}{
		"answer just sent": {
			"cancellation.sent.in-progress", spec.V2025_06_18, []string{ask, answer, cancel}, check.Kept,
		},
		"answer read before another response": {
			"cancellation.sent.in-progress", spec.V2025_06_18,
			[]string{ask, answer, call2, strings.Replace(done1, "1,", "2,", 1), cancel}, check.Kept,
		},
		"ignored late answer": {
			"cancellation.sent.answer", spec.V2025_06_18,
			[]string{ask, cancel, answer, call2, strings.Replace(done1, "1,", "2,", 1)}, check.Kept,
		},
		"error for a later message": {
			"cancellation.sent.answer", spec.V2025_06_18,
			[]string{
				ask, cancel, answer, `> {`, `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`,
			}, check.NotObserved,
		},
		"subscription": {
			"cancellation.sent.subscription", spec.V2026_07_28,
			[]string{`> {"jsonrpc":"2.0","id":"s","method":"subscriptions/listen"}`, cancel}, check.Kept,
		},
		"request in invalid JSON": {
			"cancellation.sent.subscription", spec.V2026_07_28,
			[]string{`> {"jsonrpc":"2.0","id":"s","method":"subscriptions/listen"`, cancel}, check.NotObserved,
		},
		"request that is no task": {
			"cancellation.sent.task", spec.V2025_11_25,
			[]string{ask, `> {"jsonrpc":"2.0","id":"s","result":{"task":{"taskId":"t"}}}`, cancel}, check.Kept,
		},
	} {
		if o := outcomeOf(t, c.id, c.rev, c.frames...); o.State != c.state {
			t.Errorf("%s: %s is %v, want %v: %s", name, c.id, o.State, c.state, o.Detail)
		}
	}
}
