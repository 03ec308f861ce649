package selftest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// Faults set off the checks that they name, and the honest server none: here each
// check by one fault, at the newest revision that has it. All faults at every
// revision, and that they set off no other check, are for mcpcheck selftest, which
// takes minutes; so does this test for the faults that MCPCHECK_FAULTS names by
// globs.
func TestFaultsSetOffTheirChecks(t *testing.T) {
	t.Parallel()
	globs := strings.Fields(os.Getenv("MCPCHECK_FAULTS"))
	chosen, err := Select(faults(), globs)
	if err != nil {
		t.Fatal(err)
	}
	judge := Run
	if len(globs) == 0 {
		judge, chosen = RunNamed, oneForEach(chosen)
	}
	m, err := judge(t.Context(), chosen, Workers())
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range m.Wrong() {
		t.Error(wrong)
	}
	t.Logf("%d faults at their revisions in %s, %d of them again with time to spare", len(m.Cells), m.Took, m.Again)
	t.Run("what is unobserved is known", func(t *testing.T) { unobservedIsKnown(t, m) })
}

// oneForEach leaves of the faults one for each check that they name, at its newest
// revision.
func oneForEach(all []fault.Fault) (out []fault.Fault) {
	caught := map[string]bool{}
	stated := revisionsOf(suites.All())
	for _, f := range all {
		f.In = spec.Only(f.Revisions(stated).Newest())
		before := len(caught)
		for _, id := range f.CaughtBy {
			caught[id] = true
		}
		if len(caught) > before {
			out = append(out, f)
		}
	}
	return out
}

// faults returns those that checks find, not the fuzzer.
func faults() []fault.Fault {
	return slices.DeleteFunc(fault.All(), func(f fault.Fault) bool { return f.Fuzz })
}

// What the honest server leaves unobserved is listed here, so that a check
// which silently sees nothing is found.
func unobservedIsKnown(t *testing.T, m *Matrix) {
	seen := map[string]bool{}
	for _, h := range m.Honest {
		for _, o := range h.Run.Outcomes {
			if !h.plain() || o.Verdict != reports.NotObserved {
				continue
			}
			seen[o.ID] = true
			if !slices.Contains(unobserved, o.ID) {
				t.Errorf("%s at %s is not observed on %s: %s", o.ID, o.Revision, h, o.Detail)
			}
		}
	}
	for _, id := range unobserved {
		if !seen[id] {
			t.Errorf("%s is listed as unobserved, and is observed", id)
		}
	}
}

// Every check of servers is proven.
func TestChecksAreProven(t *testing.T) {
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	violations, err := fixtures.Violations()
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range Unproven(catalog.Of(wire.Server, catalog.Checks()), catalog.Checks(), faults(), violations, ledger) {
		t.Error(wrong)
	}
}
