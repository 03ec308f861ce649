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

// judgedAt runs the checks that match the globs against a target at one
// revision, and returns the outcomes by id.
func judgedAt(t *testing.T, target transport.Target, rev spec.Revision,
	globs ...string) (map[string]reports.Outcome, *reports.Run) {
	t.Helper()
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), globs, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Run(t.Context(), target, Options{Checks: checks, Revisions: []spec.Revision{rev}, Session: quick(),
		Allow: func(string) bool {
			return true
		}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]reports.Outcome{}
	for _, o := range run.Outcomes {
		out[o.ID] = o
	}
	return out, run
}

// A judge that is run alone has something to look at.
func TestAJudgeAloneHasASubject(t *testing.T) {
	t.Parallel()
	for _, rev := range []spec.Revision{spec.V2025_06_18, spec.V2026_07_28} {
		for _, id := range []string{
			"tools.result.content", "tools.input-schema.object", "pagination.next-cursor.string",
		} {
			got, _ := judgedAt(t, server.Target("reference", server.Options{}), rev, id)
			if o := got[id]; o.Verdict != reports.Pass {
				t.Errorf("%s alone at %s is %s: %s", id, rev, o.Verdict, o.Detail)
			}
		}
	}
}

// lister opens at 2025-06-18 and answers the list methods and calls as told;
// counts are the requests by method.
func lister(counts map[string]int, answer func(m wire.Message) string) transport.Target {
	var mu sync.Mutex // two instances may be asked at once
	return answering("lister", func(m wire.Message) string {
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
			return notFound(m)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID().Raw, result)
	})
}

const lookTool = `{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`

// A list is walked once for all checks, and one that goes round is left.
func TestAListIsWalkedOnceAndNotForEver(t *testing.T) {
	for name, c := range map[string]struct {
		page    func(n int) string
		most    int // requests of the walk itself
		verdict reports.Verdict
	}{
		"it goes round": {func(int) string {
			return `{"tools":[` + lookTool + `],"nextCursor":"again"}`
		}, 2, reports.Warn},
		"empty and round": {func(int) string { return `{"tools":[],"nextCursor":"again"}` }, 2, reports.Warn},
		"always a new one": {func(n int) string {
			return fmt.Sprintf(`{"tools":[],"nextCursor":"c%d"}`, n)
		}, 101, reports.Pass},
	} {
		counts, n := map[string]int{}, 0
		target := lister(counts, func(m wire.Message) string {
			if m.Method() == "tools/call" {
				return `{"content":[]}`
			}
			n++
			return c.page(n)
		})
		got, _ := judgedAt(t, target, spec.V2025_06_18, "pagination.resumed", "tools.call.unknown",
			"tools.result.content")
		if o := got["pagination.resumed"]; o.Verdict != c.verdict {
			t.Errorf("%s: pagination.resumed is %s: %s", name, o.Verdict, o.Detail)
		}
		if counts["tools/list"] != c.most {
			t.Errorf("%s: %d requests for the list, want %d", name, counts["tools/list"], c.most)
		}
	}
}

// A tool that does not come back is waited for a while, cancelled, and breaks
// no rule.
func TestASlowToolCostsNoVerdict(t *testing.T) {
	counts := map[string]int{}
	target := lister(counts, func(m wire.Message) string {
		if m.Method() == "tools/call" && m.Params().Get("name").String() == "look" {
			return ""
		}
		return `{"tools":[` + lookTool + `]}`
	})
	got, _ := judgedAt(t, target, spec.V2025_06_18, "tools.result.content", "tools.list.array", "tools.link.readable")
	if o := got["tools.result.content"]; o.Verdict != reports.NotObserved {
		t.Errorf("tools.result.content is %s: %s", o.Verdict, o.Detail)
	}
	if counts["notifications/cancelled"] != 1 || counts["tools/call"] != 1 {
		t.Errorf("called %d times, cancelled %d times", counts["tools/call"], counts["notifications/cancelled"])
	}
}

// A tools/list that is never answered fails the check of lists, is asked for
// once, and leaves what needs tools unobserved.
func TestAListThatDoesNotComeIsToldOnce(t *testing.T) {
	counts := map[string]int{}
	target := lister(counts, func(wire.Message) string { return "" })
	got, _ := judgedAt(t, target, spec.V2025_06_18, "pagination.lists.answered", "tools.list*", "tools.result",
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
		t.Errorf("tools/list was asked for %d times", counts["tools/list"])
	}
}
