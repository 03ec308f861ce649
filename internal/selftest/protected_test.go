package selftest

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

func TestTmpHonestProtected(t *testing.T) {
	h := Honest{Over: transport.HTTP, Protected: true}
	_ = spec.V2025_03_26
	h.judge(t.Context())
	if h.err != nil {
		t.Fatal(h.err)
	}
	n := map[reports.Verdict]int{}
	for _, o := range h.Run.Outcomes {
		n[o.Verdict]++
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
		if o.Area == "authorization" || o.Verdict == reports.NotObserved {
			t.Logf("%s %s %s %s %s %v", o.Verdict, o.ID, o.Revision, o.Detail, o.Cause, o.Notes)
		}
	}
	t.Log(n, h.Run.MS)
}
