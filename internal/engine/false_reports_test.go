package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// reportsOf returns what is reported on a server at some revision: "CHECK VERDICT".
func reportsOf(t *testing.T, answer func(m wire.Message) string, edit ...func(*Options)) map[string]string {
	t.Helper()
	edit = append(edit, func(o *Options) { o.Session = mediumDeadlines() })
	got := map[string]string{}
	for _, o := range runAllChecks(t, functionTarget("edited", answer), edit...).Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			got[o.ID+" "+string(o.Verdict)] = o.Detail + o.Cause
		}
	}
	return got
}

// requireReported compares what is reported on a server with what is reported on a
// server that answers minimally, and what else is wanted: "CHECK VERDICT".
func requireReported(t *testing.T, answer func(m wire.Message) string, want ...string) {
	t.Helper()
	base, got := reportsOf(t, answerMinimally), reportsOf(t, answer)
	for what, detail := range got {
		if _, known := base[what]; !known && !slices.Contains(want, what) {
			t.Errorf("also reported: %s: %s", what, detail)
		}
	}
	for _, what := range want {
		if _, reported := got[what]; !reported {
			t.Errorf("not reported: %s", what)
		}
	}
}

// errorUnder returns an error under an id as it stands.
func errorUnder(id string, code int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"Refused"}}`, id, code)
}

// A server may hold ids as doubles. What it does with an id that a double does not hold
// is one report: an id that it changes, in a result or in an error, and no answer.
func TestLargeIDsAreOneReport(t *testing.T) {
	rounded := func(id wire.ID) string { return strings.Replace(id.Raw, "9007199254740993", "9007199254740992", 1) }
	for name, c := range map[string]struct {
		answer func(m wire.Message) string
		want   []string
	}{
		"rounds": {func(m wire.Message) string {
			return strings.Replace(answerMinimally(m), m.ID().Raw, rounded(m.ID()), 1)
		}, []string{"jsonrpc.id.large warn"}},
		"refuses": {func(m wire.Message) string {
			return errorUnder(rounded(m.ID()), spec.InvalidRequest)
		}, []string{"jsonrpc.id.large warn"}},
		"drops":              {func(wire.Message) string { return "" }, []string{"jsonrpc.id.large warn"}},
		"refuses without id": {func(wire.Message) string { return errorUnder("null", spec.InvalidRequest) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireReported(t, func(m wire.Message) string {
				if m.Kind == wire.Request && m.ID().IsLarge() {
					return c.answer(m)
				}
				return answerMinimally(m)
			}, c.want...)
		})
	}
}

// Over HTTP a server may accept an empty array, which has no request, with status 202.
func TestEmptyArrayMayBeAccepted(t *testing.T) {
	requireVerdicts(t, []allowedCase{{
		what: "an empty array is accepted", check: "batching.empty", in: spec.Only(spec.V2025_03_26),
		want: reports.Pass,
		http: wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if string(body) == "[]" {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			next.ServeHTTP(w, r)
		}),
	}})
}

// An array of requests is judged alike whether the answer is an array or comes one by
// one: no clause forbids to serve it.
func TestServedArraysAreOneReport(t *testing.T) {
	for _, whole := range []bool{true, false} {
		serve := func(_ context.Context, in io.Reader, out io.Writer) error {
			for lines := bufio.NewScanner(in); lines.Scan(); {
				m := wire.Parse(lines.Bytes())
				var answers []string
				for _, e := range m.Elements() {
					if e.Kind == wire.Request {
						answers = append(answers, answerMinimally(e))
					}
				}
				text := strings.Join(answers, "\n")
				if m.Kind == wire.Batch && whole {
					text = "[" + strings.Join(answers, ",") + "]"
				}
				if len(answers) > 0 {
					fmt.Fprintln(out, text)
				}
			}
			return nil
		}
		run := runAllChecks(t, transport.InProcess{Name: "arrays", Serve: serve}, func(o *Options) {
			o.Revisions, o.Session = []spec.Revision{spec.V2025_11_25}, mediumDeadlines()
		})
		for _, o := range run.Outcomes {
			served, judged := o.ID == "batching.served", strings.HasPrefix(o.ID, "jsonrpc.batch")
			objects := o.Verdict == reports.Warn || o.Verdict == reports.Fail
			if served && !objects || judged && objects {
				t.Errorf("whole %v: %s is %s: %s", whole, o.ID, o.Verdict, o.Detail)
			}
		}
	}
}

// answerWithDouble offers a tool that doubles a number. fails answers a call that fails.
func answerWithDouble(m wire.Message, fails func(id, text string) string) string {
	result := func(text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID().Raw, text)
	}
	n := m.Params().Get("arguments.n")
	switch name := m.Params().Get("name").String(); {
	case m.Method() == "initialize":
		return strings.Replace(answerMinimally(m), `"capabilities":{}`, `"capabilities":{"tools":{}}`, 1)
	case m.Method() == "tools/list":
		return result(`{"tools":[{"name":"double","inputSchema":{"type":"object",` +
			`"properties":{"n":{"type":"integer"}},"required":["n"]}}]}`)
	case m.Method() != "tools/call" || !m.Params().Get("name").Exists():
		return answerMinimally(m)
	case name != "double":
		return fails(m.ID().Raw, "Unknown tool "+name)
	case !wire.IsInteger(n):
		return fails(m.ID().Raw, "n must be an integer")
	}
	return result(fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, 2*n.Int()))
}

// A server that tells errors in the text of a result without isError does not serve the
// calls. The report quotes the text.
func TestErrorInTextIsNoSuccess(t *testing.T) {
	soft := func(id, text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
	}
	run := runAllChecks(t, functionTarget("soft", func(m wire.Message) string { return answerWithDouble(m, soft) }),
		func(o *Options) { o.Revisions, o.Session = []spec.Revision{spec.V2025_11_25}, mediumDeadlines() })
	want := map[string]reports.Verdict{
		"tools.call.unknown": reports.Warn, "tools.name.case": reports.NotObserved,
		"tools.call.arguments.validated": reports.NotObserved, "tools.call.arguments.reported": reports.Warn,
	}
	for _, o := range run.Outcomes {
		if v, known := want[o.ID]; known && o.Verdict != v {
			t.Errorf("%s is %s, not %s: %s", o.ID, o.Verdict, v, o.Detail)
		}
		if o.ID == "tools.call.arguments.reported" && !strings.Contains(o.Got, "n must be an integer") {
			t.Errorf("the text is not quoted: %s", o.Got)
		}
	}
}

// A server that serves invalid arguments as it serves valid ones, or a tool by another
// name, is reported.
func TestServedCallsAreReported(t *testing.T) {
	for _, c := range []struct {
		check string
		edit  func(m wire.Message) wire.Message
	}{
		{"tools.call.arguments.validated", func(m wire.Message) wire.Message {
			return wire.Parse([]byte(strings.ReplaceAll(string(m.Raw), `"arguments":{}`, `"arguments":{"n":1}`)))
		}},
		{"tools.name.case", func(m wire.Message) wire.Message {
			return wire.Parse([]byte(strings.ReplaceAll(string(m.Raw), `"DOUBLE"`, `"double"`)))
		}},
	} {
		run := runAllChecks(t, functionTarget("serves", func(m wire.Message) string {
			return answerWithDouble(c.edit(m), func(id, _ string) string { return errorUnder(id, spec.InvalidParams) })
		}), func(o *Options) { o.Revisions, o.Session = []spec.Revision{spec.V2025_11_25}, mediumDeadlines() })
		for _, o := range run.Outcomes {
			if o.ID == c.check && o.Verdict != reports.Warn && o.Verdict != reports.Fail {
				t.Errorf("%s is %s: %s %q", o.ID, o.Verdict, o.Detail, o.Notes)
			}
		}
	}
}

// requireNotReported runs a check alone and fails if it is reported, not run or broken.
func requireNotReported(t *testing.T, target transport.Target, id string) {
	t.Helper()
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), []string{id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := runAllChecks(t, target, func(o *Options) {
		o.Revisions, o.Session, o.Checks = []spec.Revision{spec.V2025_11_25}, mediumDeadlines(), checks
		o.Session.StartTimeout = o.Session.Timeout
	})
	for _, o := range run.Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
	}
}

// A deviation that one check names is no deviation of an unrelated rule whose probe meets
// it too.
func TestUnrelatedRulesAreNotReported(t *testing.T) {
	answerExcept := func(silent func(m wire.Message) bool) func(m wire.Message) string {
		return func(m wire.Message) string {
			if silent(m) {
				return ""
			}
			return answerMinimally(m)
		}
	}
	result := func(m wire.Message) string {
		if m.Method() != "initialize" && m.Kind == wire.Request {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
		}
		return answerMinimally(m)
	}
	for _, c := range []struct {
		name, check string
		answer      func(m wire.Message) string
	}{
		{"answers no string id", "stdio.framing.advised", answerExcept(func(m wire.Message) bool {
			return strings.HasPrefix(m.ID().Raw, `"`)
		})},
		{"answers no unknown method", "jsonrpc.case", answerExcept(func(m wire.Message) bool {
			return m.Kind == wire.Request && m.Method() != "initialize" && m.Method() != "ping"
		})},
		{"answers everything with a result", "jsonrpc.case", result},
		{"answers no completion", "completion.capability.declared", answerExcept(func(m wire.Message) bool {
			return m.Method() == "completion/complete"
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			requireNotReported(t, functionTarget(c.name, c.answer), c.check)
		})
	}
}

// A server that serves one connection only is not blamed for the version that a second
// connection offers, nor for what it sends there.
func TestSecondConnectionWithoutAnswerIsNoDeviation(t *testing.T) {
	for _, id := range []string{"versioning.counter-offer", "lifecycle.initialized.awaited"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			var instances atomic.Int32
			serve := func(_ context.Context, in io.Reader, out io.Writer) error {
				first := instances.Add(1) == 1
				for lines := bufio.NewScanner(in); lines.Scan(); {
					if m := wire.Parse(lines.Bytes()); first && m.Kind == wire.Request {
						fmt.Fprintln(out, answerMinimally(m))
					}
				}
				return nil
			}
			requireNotReported(t, transport.InProcess{Name: "one", Serve: serve}, id)
		})
	}
}

// A server that refuses a second stream while another one is open is judged with one
// session after another.
func TestRefusedSecondStreamIsNoFailedStart(t *testing.T) {
	var open atomic.Int32
	site, end, err := server.HTTPTarget(transport.SSE, server.Options{HTTP: wrapHTTP(
		func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				defer open.Add(-1)
				if open.Add(1) > 1 {
					refuseHTTP(w, http.StatusConflict)
					return
				}
			}
			next.ServeHTTP(w, r)
		})})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	run, err := Run(t.Context(), site, Options{Revisions: spec.Handshake.Revisions(), Session: mediumDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, o := range run.Outcomes {
		if o.Verdict == reports.Pass {
			passed++
		}
		if o.Verdict == reports.NotRun || o.Verdict == reports.Fail {
			t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
	}
	if passed < 100 {
		t.Errorf("%d checks passed", passed)
	}
}

// Answers of two clients cannot be told apart if an unknown method gets a result.
func TestResultsForEverythingAreNoMixup(t *testing.T) {
	o := server.Options{Handler: func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if strings.HasPrefix(r.Method, "mcpcheck/") {
				return server.Object{}, nil
			}
			return next(ctx, r)
		}
	}}
	requireVerdicts(t, []allowedCase{{what: "a result for everything", check: "streamable-http.clients", options: o,
		want: reports.NotObserved, in: spec.Handshake &^ spec.Only(spec.V2024_11_05)}})
}
