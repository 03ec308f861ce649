package reports

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// compareGolden compares got with a file of testdata.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s differs at line %d:\n got %q\nwant %q\n(run with -update to accept)", path, i+1, g[i],
				append(w, "(end)")[min(i, len(w))])
		}
	}
	t.Fatalf("%s has %d lines, the report %d", path, len(w), len(g))
}

var started = time.Date(2026, 9, 1, 12, 30, 0, 0, time.UTC)

// hostile is text that a target may put into any string it controls.
const hostile = "</script><img src=x onerror=alert(1)>\x1b[2J\x07\u202egnp.exe\u2066 " +
	"\"'&]]>\x00\u009b31m\xff\ufffe\u2028`{{.}}"

func frame(from wire.Role, at time.Duration, raw string) wire.Frame {
	return wire.Frame{From: from, At: at, Raw: []byte(raw)}
}

// sampleRule returns a rule with a link to a revision's page.
func sampleRule(rev spec.Revision, id, says, section string) []Rule {
	return []Rule{{ID: id, Says: says, Section: section, URL: sectionURL(rev, section)}}
}

func sectionURL(rev spec.Revision, section string) string {
	return "https://modelcontextprotocol.io/specification/" + string(rev) + "/" + section
}

// sampleExchange is a request and answers to it. Its whitespace would be lost in
// a report that compacts frames.
func sampleExchange() []wire.Frame {
	marked := frame(wire.Server, 4*time.Millisecond, `{"jsonrpc": "2.0",  "id":2,	"result":{"a":1e2, "b":"<b>&"}}`)
	marked.Marked = true
	return []wire.Frame{
		frame(wire.Client, 3*time.Millisecond,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"no-such-tool"}}`),
		marked,
		frame(wire.Server, 5*time.Millisecond, "not json \xff"+hostile),
		{From: wire.Server, At: 6 * time.Millisecond, Raw: []byte("partial"), Note: "line cut at 10 bytes"},
	}
}

// smallRun has every verdict, two transports, a revision that is not spoken,
// excused outcomes, a Robust check without a rule, a finding, a wrong baseline
// entry, and hostile strings.
func smallRun() *Run {
	v06, v11, v24 := spec.V2025_06_18, spec.V2025_11_25, spec.V2024_11_05
	run := &Run{
		Format: 1, Tool: Tool{"mcpcheck", "0.1.0"}, Started: started, MS: 2345.6, Ended: Complete, Exit: ExitBroken,
		Seed:    42,
		Options: map[string]any{"strict": "", "timeout": "10s"},
		Target: Target{
			Argv: []string{"./server", "--name", "a b"}, Role: "server", Name: "everything" + hostile,
			Version: "2.0", Starts: 7,
		},
		Revisions: []RevisionRun{
			{v24, false, "initialize was answered with " + hostile}, {v06, true, ""}, {v11, true, ""},
		},
		Outcomes: smallOutcomes(),
		Findings: []Finding{{
			Oracle: "alive", Signature: "alive/dead", Says: "the server still answers", Revision: v06,
			Transport: "stdio", Seed: 9, Reproduced: "3/3",
			Frames: sampleExchange(), Case: "findings/1.jsonl", Replay: "mcpcheck replay findings/1.jsonl -- ./server",
		}},
		Baseline: []BaselineProblem{{
			Check: "jsonrpc.id", Reason: "was broken",
			Problem: "the check passes now at 2025-06-18, 2025-11-25 stdio; remove the entry", Line: 3,
		}},
		Notes: []string{"starts were one after another"},
	}
	run.Count()
	return run
}

func smallOutcomes() []Outcome {
	fail := func(rev spec.Revision, transport string) Outcome {
		return Outcome{
			ID: "tools.call.unknown", Area: "tools", Level: spec.Must,
			Says:     "calling a tool that does not exist is answered with an error",
			Revision: rev, Transport: transport, Verdict: Fail, Detail: "the call was answered with a result",
			Expected: "an error response", Got: `{"content":[]}`, Notes: []string{"the answer took 2 ms"},
			Rules: sampleRule(rev, "tools-unknown-tool-error", "An unknown tool is answered with an error.",
				"server/tools#error-handling"),
			Where: "suites/server/tools.go:42", MS: 4.5,
			Official: []string{"tools-call-error:tools-call-error", "<b>:at-" + string(rev)},
			Frames:   sampleExchange(),
			Rerun:    "mcpcheck server --only tools.call.unknown --spec " + string(rev) + " -- ./server",
		}
	}
	// with returns the outcome of an ordinary check with the changes of set.
	with := func(id string, rev spec.Revision, v Verdict, set func(*Outcome)) Outcome {
		area, _, _ := strings.Cut(id, ".")
		o := Outcome{
			ID: id, Area: area, Says: "what " + id + " says", Level: spec.Must, Revision: rev,
			Transport: "stdio", Verdict: v, MS: 1.25,
			Rules: sampleRule(rev, id, "An unknown tool is answered with an error.", "basic/index#messages"),
		}
		set(&o)
		return o
	}
	plain := func(*Outcome) {}
	notRun := func(o *Outcome) { o.Cause = "ping.answer broke" }
	v06, v11, v24 := spec.V2025_06_18, spec.V2025_11_25, spec.V2024_11_05
	return []Outcome{
		with("jsonrpc.id", v06, Pass, plain),
		fail(v06, "stdio"),
		with("tools.names", v06, Warn, func(o *Outcome) {
			o.Level = spec.Should
			o.Detail, o.Expected, o.Got = "a tool is named "+hostile, "a name of letters", hostile
		}),
		with("ping.answer", v06, Broken, func(o *Outcome) {
			o.Detail, o.Where = "panic: index out of range", "suites/server/ping.go:9"
		}),
		with("ping.late", v06, NotRun, notRun),
		with("ping.twice", v06, NotRun, notRun),
		with("pagination.cursor", v06, NotObserved, func(o *Outcome) {
			o.Detail, o.Hint = "every list has one page", "offer a list that spans pages"
		}),
		with("prompts.get", v06, NotApplicable, func(o *Outcome) { o.Detail = "the server does not declare prompts" }),
		with("jsonrpc.id", v11, Pass, plain),
		fail(v11, "stdio"),
		with("logging.level", v11, Fail, func(o *Outcome) {
			o.Detail, o.Baselined = "an unknown level was accepted", "known, issue 7"
		}),
		with("ping.survived", v11, Warn, func(o *Outcome) {
			o.Level, o.Rules, o.Detail = spec.Robust, nil, "the server exited"
			o.Spec = &Clause{"basic/index#requests", sectionURL(v11, "basic/index#requests")}
		}),
		fail(v11, "http"),
		with("tools.names", v24, NotApplicable, func(o *Outcome) { o.Detail = "the revision is not spoken" }),
	}
}

// hostileRun is smallRun with the hostile string appended to every string, so
// that the tests find a field that a report does not escape.
func hostileRun() *Run {
	run := smallRun()
	var taint func(v reflect.Value)
	taint = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.Type() != reflect.TypeFor[Verdict]() && v.Type() != reflect.TypeFor[wire.Role]() {
				v.SetString(v.String() + hostile)
			}
		case reflect.Struct:
			if v.Type() != reflect.TypeFor[time.Time]() {
				for i := range v.NumField() {
					taint(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				taint(v.Index(i))
			}
		}
	}
	taint(reflect.ValueOf(run).Elem())
	return run
}

// largeRun is like the run of all checks at five revisions: about 600 outcomes
// with the texts of real rules. It is the same each time.
func largeRun(t *testing.T) *Run {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sample.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	run := &Run{
		Format: 1, Tool: Tool{"mcpcheck", "0.1.0"}, Started: started, MS: 6421, Ended: Complete, Exit: ExitFails,
		Seed:    1234567,
		Options: map[string]any{"timeout": "10s"},
		Target: Target{
			Argv: []string{"node", "node_modules/@example/server-everything/dist/index.js", "stdio"},
			Role: "server", Name: "example-servers/everything", Version: "2.0.0", Starts: 31,
		},
		Notes: []string{"Two starts overlapped: the server tolerates a second instance."},
	}
	for _, rev := range spec.Revisions() {
		run.Revisions = append(run.Revisions, RevisionRun{Revision: rev, Spoken: true})
	}
	last := &run.Revisions[len(run.Revisions)-1]
	last.Spoken, last.Why = false, "server/discover was answered with error -32601 Method not found"
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, "\t")
		id, row, level, section, in, says := f[0], f[1], f[2], f[3], f[4], f[5]
		area, _, _ := strings.Cut(id, ".")
		lvl, _ := spec.LevelOf(level)
		percent := rnd.IntN(100) // decides the verdict, so that a check has one at all revisions
		for _, r := range strings.Split(in, ",") {
			rev := spec.Revision(r)
			o := Outcome{
				ID: id, Area: area, Says: says, Level: lvl, Revision: rev, Transport: "stdio",
				MS:    0.3 + 20*rnd.Float64(),
				Rules: sampleRule(rev, row, says, section),
				Where: fmt.Sprintf("suites/server/%s.go:%d", area, 20+n),
			}
			if rev == last.Revision {
				o.Verdict, o.Detail = NotApplicable, "the target does not speak 2026-07-28"
			} else {
				o.Rerun = "mcpcheck server --only " + id + " --spec " + r +
					" -- node node_modules/@example/server-everything/dist/index.js stdio"
				setVerdict(&o, percent, rnd)
			}
			if id == "stdio.streams" && o.Verdict == Fail {
				o.Baselined = "known since 2.0, fixed in 2.1 (issue 1234)"
			}
			run.Outcomes = append(run.Outcomes, o)
		}
	}
	run.Count()
	return run
}

func setVerdict(o *Outcome, percent int, rnd *rand.Rand) {
	switch {
	case percent < 8 && o.Level == spec.Must:
		o.Verdict = Fail
		o.Detail = "the request of " + o.ID + " was answered with a result where the rule requires an error"
		o.Expected = "an error response with code -32602 to " + o.ID
		o.Got = `a result: {"content":[{"type":"text","text":"Unknown tool"}],"isError":true}`
		o.Frames = conversation(rnd, string(o.Revision))
	case percent < 20 && o.Level == spec.Should:
		o.Verdict = Warn
		o.Detail = "the server left out what " + o.ID + " relies on"
		o.Expected, o.Got = "a member of "+o.ID+" that is a string", "null"
		o.Frames = conversation(rnd, string(o.Revision))
	case percent < 22:
		o.Verdict, o.Detail = NotObserved, "no list has a second page"
		o.Hint = "offer more items than fit on one page"
	case percent < 28:
		o.Verdict, o.Detail = NotObserved, "no tool may be called"
		o.Hint = "give --allow-tools NAME for a tool that may be called with changed arguments"
	case percent < 36:
		o.Verdict, o.Detail = NotApplicable, "the server does not declare the capability "+o.Area
	default:
		o.Verdict = Pass
	}
}

func conversation(rnd *rand.Rand, revision string) []wire.Frame {
	at := time.Duration(rnd.IntN(900)) * time.Millisecond
	next := func(from wire.Role, raw string) wire.Frame {
		at += time.Duration(200+rnd.IntN(4000)) * time.Microsecond
		return frame(from, at, raw)
	}
	frames := []wire.Frame{
		next(wire.Client,
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
				`{"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"mcpcheck","version":`+
				`"0.1.0"}}}`),
		next(wire.Server,
			`{"result":{"protocolVersion":"`+revision+`","capabilities":{"prompts":{},"resources":{"subscribe":true},`+
				`"tools":{"listChanged":true},"logging":{},"completions":{}},"serverInfo":{"name":`+
				`"example-servers/everything","title":"Everything Example Server","version":"2.0.0"},"instructions":`+
				`"Testing and demonstration server for MCP protocol features."},"jsonrpc":"2.0","id":1}`),
		next(wire.Client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		next(wire.Server, `{"method":"notifications/tools/list_changed","jsonrpc":"2.0"}`),
		next(wire.Client,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcpcheck-no-such-tool","arguments":{}}}`),
		next(wire.Server,
			`{"result":{"content":[{"type":"text","text":"MCP error -32602: Tool mcpcheck-no-such-tool not found"}],`+
				`"isError":true},"jsonrpc":"2.0","id":2}`),
	}
	frames[5].Marked = true
	return frames
}
