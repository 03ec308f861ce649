package selftest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Every fault sets off exactly the checks that it names, and the honest server
// none. MCPCHECK_FAULTS names some of them by globs, to work on these.
func TestFaultsSetOffExactlyTheirChecks(t *testing.T) {
	chosen, err := Select(faults(), strings.Fields(os.Getenv("MCPCHECK_FAULTS")))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Run(t.Context(), chosen, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range m.Wrong() {
		t.Error(wrong)
	}
	t.Logf("%d faults at their revisions in %s", len(m.Cells), m.Took)
}

// faults returns the faults of the areas that are moved.
func faults() []fault.Fault {
	return slices.DeleteFunc(fault.All(), func(f fault.Fault) bool {
		if f.Fuzz {
			return true // found by the fuzzer
		}
		area, _, _ := strings.Cut(f.CaughtBy[0], ".")
		return slices.Contains(suites.Unmoved, area)
	})
}

// What the honest server leaves unobserved is listed here, so that a check
// which silently sees nothing is found.
func TestUnobservedOnTheHonestServerIsKnown(t *testing.T) {
	m, err := Run(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range m.Honest.Outcomes {
		if listed := slices.Contains(unobserved, o.ID); o.Verdict == reports.NotObserved && !listed {
			t.Errorf("%s at %s is not observed on the honest server: %s", o.ID, o.Revision, o.Detail)
		}
	}
	for _, id := range unobserved {
		if !slices.ContainsFunc(m.Honest.Outcomes, func(o reports.Outcome) bool { return o.ID == id && o.Verdict == reports.NotObserved }) {
			t.Errorf("%s is listed as unobserved, and is observed", id)
		}
	}
}

// unobserved are the checks that have no subject on the honest server at some
// revision, each for the reason beside it.
var unobserved = []string{
	"jsonrpc.method.unadvertised",  // it declares every capability
	"ping.sent.params",             // it sends no pings
	"ping.sent.rate",               // likewise
	"tools.execution.task-support", // it has no tasks
	"tools.result.failure",         // it has no tool of the public contract
	"versioning.extensions.names",  // it has no extensions
	"versioning.extensions.settings",
	"schema.content.tool-use",                // likewise: sampling
	"schema.content.tool-result",             // likewise
	"schema.dialect.declared",                // its schemas are of 2020-12
	"versioning.schema.tasks",                // it has no tasks
	"versioning.schema.completion",           // nothing asks for completions yet
	"versioning.schema.completion.advised",   // likewise
	"versioning.schema.progress",             // nothing asks for progress yet
	"versioning.schema.progress.advised",     // likewise
	"versioning.schema.cancellation",         // it cancels no requests
	"versioning.schema.cancellation.advised", // likewise
	"schema.meta.object",                     // it sends no _meta before 2026-07-28
	"schema.meta.prefix",                     // likewise
	"schema.meta.label",                      // likewise
	"schema.meta.name",                       // likewise
	"schema.meta.reserved",                   // likewise
	"schema.meta.reverse-dns",                // likewise
	"schema.meta.trace",                      // it is part of no trace
}

// Areas that are moved are proven whole.
func TestChecksAreProven(t *testing.T) {
	ledger, err := fixtures.ReadLedger()
	if err != nil {
		t.Fatal(err)
	}
	violations, err := fixtures.Violations()
	if err != nil {
		t.Fatal(err)
	}
	built := slices.DeleteFunc(suites.Of(wire.Server, suites.All()), func(c check.Check) bool { return slices.Contains(suites.Unmoved, c.Area()) })
	for _, wrong := range Unproven(built, suites.All(), faults(), violations, ledger) {
		t.Error(wrong)
	}
}
