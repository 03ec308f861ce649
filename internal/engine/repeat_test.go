package engine

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
)

// What failed while another instance ran is asked anew, alone: what a trial
// remembers of the first time shows nothing, and a check that takes an instance
// beside the shared session needs it as much as one that has its own.
func TestWhatFailsBesideAnotherInstanceIsAskedAnewAlone(t *testing.T) {
	t.Parallel()
	for name, mute := range map[string]int32{"once": 1, "always": 1000} {
		var asked atomic.Int32
		target := answering(name, func(m wire.Message) string {
			_, err := spec.ParseRevision(m.Params().Get("protocolVersion").String())
			if m.Method() == "initialize" && err != nil && m.Params().Get("clientInfo").IsObject() &&
				asked.Add(1) <= mute {
				return ""
			}
			return minimal(m)
		})
		run := judged(t, target, func(o *Options) { o.Confirm, o.Revisions = true, []spec.Revision{spec.V2025_11_25} })
		for _, o := range run.Outcomes {
			if o.ID != "versioning.counter-offer" {
				continue
			}
			if want := map[string]reports.Verdict{
				"once": reports.Pass, "always": reports.Fail,
			}[name]; o.Verdict != want {
				t.Errorf("a version that is mute %s: %s (%s), want %s", name, o.Verdict, o.Detail, want)
			}
			if told := strings.Contains(strings.Join(o.Notes, " "), "not alone"); told != (name == "once") {
				t.Errorf("a version that is mute %s has the notes %q", name, o.Notes)
			}
		}
		if asked.Load() < 2 {
			t.Errorf("mute %s: asked %d times", name, asked.Load())
		}
	}
}
