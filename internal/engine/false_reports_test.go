package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
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
