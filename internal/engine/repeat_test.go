package engine

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
)

// A check that failed while another instance of the server ran is repeated alone. The
// repetition uses nothing that the first attempt memorized. It also covers a check that
// uses another instance beside the shared session.
func TestRepeatsFailureBesideAnotherInstanceAlone(t *testing.T) {
	t.Parallel()
	for name, unanswered := range map[string]int32{"once": 1, "always": 1000} {
		var requests atomic.Int32
		target := functionTarget(name, func(m wire.Message) string {
			_, err := spec.ParseRevision(m.Params().Get("protocolVersion").String())
			if m.Method() == "initialize" && err != nil && m.Params().Get("clientInfo").IsObject() &&
				requests.Add(1) <= unanswered {
				return ""
			}
			return answerMinimally(m)
		})
		run := runAllChecks(t, target, func(o *Options) {
			o.Confirm, o.Revisions = true, []spec.Revision{spec.V2025_11_25}
		})
		for _, o := range run.Outcomes {
			if o.ID != "versioning.counter-offer" {
				continue
			}
			if want := map[string]reports.Verdict{
				"once": reports.Pass, "always": reports.Fail,
			}[name]; o.Verdict != want {
				t.Errorf("unanswered %s: %s (%s), want %s", name, o.Verdict, o.Detail, want)
			}
			if noted := strings.Contains(strings.Join(o.Notes, " "), "not alone"); noted != (name == "once") {
				t.Errorf("unanswered %s: the notes are %q", name, o.Notes)
			}
		}
		if requests.Load() < 2 {
			t.Errorf("unanswered %s: %d requests, want at least 2", name, requests.Load())
		}
	}
}
