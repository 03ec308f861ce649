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
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Faults fail the checks that they name, and the reference without a fault fails none:
// here one fault of three, at its newest revision. mcpcheck selftest runs all faults at
// every revision, and proves that they fail no other check, which takes minutes; so does
// this test for the faults that MCPCHECK_FAULTS names by globs.
func TestFaultsFailTheirChecks(t *testing.T) {
	t.Parallel()
	globs := strings.Fields(os.Getenv("MCPCHECK_FAULTS"))
	chosen, err := Select(faults(), globs)
	if err != nil {
		t.Fatal(err)
	}
	compute := Run
	if len(globs) == 0 {
		compute, chosen = RunNamed, atNewest(everyThird(chosen))
	}
	m, err := compute(t.Context(), chosen, Workers())
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range m.Wrong() {
		t.Error(wrong)
	}
	t.Run("reports begin with a message", func(t *testing.T) { requireEvidence(t, m) })
	t.Logf("%d faults at a revision in %s, %d of them repeated with longer deadlines", len(m.Cells), m.Took, m.Repeated)
	t.Run("unobserved checks are known", func(t *testing.T) { requireKnownUnobserved(t, m) })
}

// requireEvidence requires that the frames of each fail and warn have one that it is about,
// unless it is about the end of the process.
func requireEvidence(t *testing.T, m *Matrix) {
	for _, c := range m.Cells {
		for _, o := range c.Failed {
			isMarked := func(f wire.Frame) bool { return f.Marked }
			ofProcess := o.ID == "lifecycle.exit-on-eof" || o.ID == "lifecycle.shutdown.exit"
			if !ofProcess && !slices.ContainsFunc(o.Frames, isMarked) {
				t.Errorf("%s at %s on %s has no marked frame: %s", o.ID, o.Revision, c.Fault.Name, o.Detail)
			}
		}
	}
}

// everyThird returns one fault of three.
func everyThird(all []fault.Fault) (some []fault.Fault) {
	for i := 0; i < len(all); i += 3 {
		some = append(some, all[i])
	}
	return some
}

// atNewest returns each fault at its newest revision.
func atNewest(all []fault.Fault) []fault.Fault {
	for i, f := range all {
		all[i].In = spec.Only(f.Revisions(revisionsOf).Newest())
	}
	return all
}

// faults returns the faults that checks find, without those of the fuzzer.
func faults() []fault.Fault {
	return slices.DeleteFunc(fault.All(), func(f fault.Fault) bool { return f.Fuzz })
}

// requireKnownUnobserved requires that exactly the listed checks are not observed, so
// that a check without a subject is found.
func requireKnownUnobserved(t *testing.T, m *Matrix) {
	seen := map[string]bool{}
	for _, v := range m.Variants {
		for _, o := range v.Run.Outcomes {
			if !v.isSteady() || o.Verdict != reports.NotObserved {
				continue
			}
			seen[o.ID] = true
			if !slices.Contains(unobserved, o.ID) {
				t.Errorf("%s at %s is not observed on %s: %s", o.ID, o.Revision, v, o.Detail)
			}
		}
	}
	for _, id := range unobserved {
		if !seen[id] {
			t.Errorf("%s is listed as unobserved, and is observed", id)
		}
	}
}

func TestServerChecksAreProven(t *testing.T) {
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	violations, err := fixtures.Violations()
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range Unproven(catalog.Of(wire.Server, catalog.Checks()), catalog.Checks(), faults(), violations,
		ledger) {
		t.Error(wrong)
	}
}

// A fault without Breaks proves its check and no row of it; a fault with Breaks proves
// these rows.
func TestFaultWithoutBreaksProvesNoRow(t *testing.T) {
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(catalog.Checks(), func(c check.Check) bool { return c.ID == "jsonrpc.response.id" })
	checks := catalog.Checks()[at : at+1]
	f := fault.Fault{Name: "test", CaughtBy: []string{"jsonrpc.response.id"}}
	for name, c := range map[string]struct {
		breaks [][]string // of each fault
		want   int
	}{
		"no fault":              {nil, 1},
		"derived":               {[][]string{nil}, 0},
		"one row of two":        {[][]string{{"jsonrpc-response-id-match"}}, 1},
		"both rows":             {[][]string{{"jsonrpc-response-id-match"}, {"jsonrpc-response-id-type-preserved"}}, 0},
		"derived, and one row":  {[][]string{nil, {"jsonrpc-response-id-match"}}, 0},
		"a row of another page": {[][]string{nil, {"no-such-row"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var faults []fault.Fault
			for _, rows := range c.breaks {
				one := f
				one.Breaks = rows
				faults = append(faults, one)
			}
			if wrong := Unproven(checks, catalog.Checks(), faults, nil, ledger); len(wrong) != c.want {
				t.Errorf("unproven is %q, want %d problems", wrong, c.want)
			}
		})
	}
}

// The cells that take longest are run first.
func TestRunsCellsOverHTTPFirst(t *testing.T) {
	m := &Matrix{Cells: cellsOf(faults())}
	seen := false
	for _, c := range m.order() {
		stdio := c.Fault.Over == ""
		if seen && !stdio {
			t.Fatalf("%s is run after a cell over stdio", c.Fault.Name)
		}
		seen = seen || stdio
	}
}
