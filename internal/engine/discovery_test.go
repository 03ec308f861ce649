package engine

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// runChecksAt runs the checks that match the globs against a target at one
// revision, and returns the outcomes by id.
func runChecksAt(t *testing.T, target transport.Target, rev spec.Revision,
	globs ...string) (map[string]reports.Outcome, *reports.Run) {
	t.Helper()
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), globs, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Run(t.Context(), target, Options{
		Checks: checks, Revisions: []spec.Revision{rev}, Session: shortDeadlines(),
		Allow: func(string) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]reports.Outcome{}
	for _, o := range run.Outcomes {
		out[o.ID] = o
	}
	return out, run
}

// A judge that is the only check of a run has frames to examine.
func TestSingleJudgeHasSubject(t *testing.T) {
	t.Parallel()
	for _, rev := range []spec.Revision{spec.V2025_06_18, spec.V2026_07_28} {
		for _, id := range []string{
			"tools.result.content", "tools.input-schema.object", "pagination.next-cursor.string",
		} {
			got, _ := runChecksAt(t, server.Target("reference", server.Options{}), rev, id)
			if o := got[id]; o.Verdict != reports.Pass {
				t.Errorf("%s alone at %s is %s: %s", id, rev, o.Verdict, o.Detail)
			}
		}
	}
}

// toolListTarget returns a server of 2025-06-18 that answers tools/list and tools/call by
// a function. counts are the requests by method.
func toolListTarget(counts map[string]int, answer func(m wire.Message) string) transport.Target {
	var mu sync.Mutex // two instances may receive requests at once
	return functionTarget("lister", func(m wire.Message) string {
		mu.Lock()
		counts[m.Method()]++
		mu.Unlock()
		result := ""
		switch m.Method() {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
				`"serverInfo":{"name":"lister","version":"1"}}`
		case "ping":
			result = `{}`
		case "tools/list", "tools/call":
			if result = answer(m); result == "" {
				return ""
			}
		default:
			return methodNotFound(m)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID().Raw, result)
	})
}

const lookTool = `{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`

// A list is read once for all checks. The reading stops at a repeated cursor and after a
// number of pages.
func TestReadsListOnceAndBoundsItsPages(t *testing.T) {
	for name, c := range map[string]struct {
		page    func(n int) string
		most    int // requests for pages
		verdict reports.Verdict
	}{
		"one cursor": {func(int) string {
			return `{"tools":[` + lookTool + `],"nextCursor":"again"}`
		}, 2, reports.Warn},
		"one cursor, empty pages": {func(int) string { return `{"tools":[],"nextCursor":"again"}` }, 2, reports.Warn},
		"always a new cursor": {func(n int) string {
			return fmt.Sprintf(`{"tools":[],"nextCursor":"c%d"}`, n)
		}, 101, reports.Pass},
	} {
		counts, n := map[string]int{}, 0
		target := toolListTarget(counts, func(m wire.Message) string {
			if m.Method() == "tools/call" {
				return `{"content":[]}`
			}
			n++
			return c.page(n)
		})
		got, _ := runChecksAt(t, target, spec.V2025_06_18, "pagination.resumed", "tools.call.unknown",
			"tools.result.content")
		if o := got["pagination.resumed"]; o.Verdict != c.verdict {
			t.Errorf("%s: pagination.resumed is %s: %s", name, o.Verdict, o.Detail)
		}
		if counts["tools/list"] != c.most {
			t.Errorf("%s: %d requests for the list, want %d", name, counts["tools/list"], c.most)
		}
	}
}

// A call that gets no answer is cancelled after its deadline. It breaks no rule.
func TestSlowToolFailsNoCheck(t *testing.T) {
	counts := map[string]int{}
	target := toolListTarget(counts, func(m wire.Message) string {
		if m.Method() == "tools/call" && m.Params().Get("name").String() == "look" {
			return ""
		}
		return `{"tools":[` + lookTool + `]}`
	})
	got, _ := runChecksAt(t, target, spec.V2025_06_18, "tools.result.content", "tools.list.array",
		"tools.link.readable")
	if o := got["tools.result.content"]; o.Verdict != reports.NotObserved {
		t.Errorf("tools.result.content is %s: %s", o.Verdict, o.Detail)
	}
	if counts["notifications/cancelled"] != 1 || counts["tools/call"] != 1 {
		t.Errorf("called %d times, cancelled %d times", counts["tools/call"], counts["notifications/cancelled"])
	}
}

// A tools/list without an answer fails the check of lists and is sent once. Checks that
// need tools are not observed.
func TestReportsMissingListOnce(t *testing.T) {
	counts := map[string]int{}
	target := toolListTarget(counts, func(wire.Message) string { return "" })
	got, _ := runChecksAt(t, target, spec.V2025_06_18, "pagination.lists.answered", "tools.list*", "tools.result",
		"tools.name", "tools.link", "tools.input-schema", "pagination")
	for id, o := range got {
		want := reports.NotObserved
		if id == "pagination.lists.answered" {
			want = reports.Fail
		}
		if o.Verdict != want && o.Verdict != reports.NotApplicable {
			t.Errorf("%s is %s, want %s: %s", id, o.Verdict, want, o.Detail)
		}
	}
	if counts["tools/list"] != 1 {
		t.Errorf("tools/list was sent %d times, want once", counts["tools/list"])
	}
}
