package engine

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Each violation file fails its judge, and of the other judges only those that it lists
// with a reason.
func TestViolationsFailTheirJudgeOnly(t *testing.T) {
	violations, err := fixtures.Violations()
	if err != nil {
		t.Fatal(err)
	}
	all := catalog.Checks()
	for _, v := range violations {
		at := slices.IndexFunc(all, func(c check.Check) bool { return c.ID == v.Check })
		if at < 0 || all[at].Judge == nil {
			t.Errorf("%s: %s is no judge", v.File, v.Check)
			continue
		}
		if len(v.Breaks) == 0 {
			t.Errorf("%s does not name the rows that it breaks", v.File)
		}
		revisions := v.Revisions
		if revisions == nil {
			revisions = all[at].In.Revisions()
		}
		for _, rev := range revisions {
			for _, c := range all {
				if c.Judge == nil || !c.In.Has(rev) || c.Of != all[at].Of {
					continue
				}
				o := check.Judge(c, rev, wire.TranscriptOf(v.Frames))
				_, also := v.Also[c.ID]
				switch expected := c.ID == v.Check || also; {
				case o.State == check.Broken:
					t.Errorf("%s at %s: %s is broken: %s", v.File, rev, c.ID, o.Detail)
				case expected && o.State != check.Violated:
					t.Errorf("%s at %s does not fail %s", v.File, rev, c.ID)
				case !expected && o.State == check.Violated:
					t.Errorf("%s at %s also fails %s: %s", v.File, rev, c.ID, o.Detail)
				}
			}
		}
	}
}
