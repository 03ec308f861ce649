package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

func TestCoverageIsCountedByAreaLevelAndRevision(t *testing.T) {
	rule := func(area, level string, rev spec.Revision, becomes string) catalog.Coverage {
		c := catalog.Coverage{Area: area, Level: level, Revision: rev}
		switch becomes {
		case "claimed":
			c.Checks = []string{"a.check"}
		case "covered":
			c.Covered, c.JudgedBy, c.Why = "another-rule", []string{"another.check"}, "why"
		case "excused":
			c.Excused = "why"
		case "later":
			c.Later = "why"
		}
		return c
	}
	var out bytes.Buffer
	err := writeCoverage(&out, []catalog.Coverage{
		rule("ping", "MUST", spec.V2024_11_05, "claimed"),
		rule("ping", "MUST NOT", spec.V2024_11_05, "later"),
		rule("ping", "MUST", spec.V2025_03_26, "claimed"),
		rule("ping", "SHOULD NOT", spec.V2025_03_26, ""),
		rule("roots", "MUST", spec.V2024_11_05, "excused"),
		rule("roots", "MUST NOT", spec.V2024_11_05, "covered"),
		rule("roots", "ROBUST", spec.V2026_07_28, "claimed"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"AREA LEVEL 2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28",
		"ping MUST 1/0/0/1 1/0/0/0 - - -",
		"SHOULD - 0/0/0/0 !1 - - -",
		"roots MUST 0/1/1/0 - - - -",
		"ROBUST - - - - 1/0/0/0",
		"all areas MUST 1/1/1/1 1/0/0/0 - - -",
		"SHOULD - 0/0/0/0 !1 - - -",
		"ROBUST - - - - 1/0/0/0",
		"",
		"Each cell: claimed by a check / covered by the check of another rule / excused / not tested yet.",
		"7 rules counted per revision: 3 claimed, 1 covered, 1 excused, 1 later, 1 open.",
	}
	lines := strings.Split(out.String(), "\n")
	for i, w := range want {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != w {
			t.Errorf("line %d is %q, not %q", i+1, got, w)
		}
	}
}
