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
	"github.com/mcpcheck/mcpcheck/suites"
)

// Every fault sets off the checks that it names, and the honest server none: here at
// the newest revision that has the fault. That it sets off no other, at every
// revision, is for mcpcheck selftest, which takes minutes; so does this test for
// the faults that MCPCHECK_FAULTS names by globs.
func TestFaultsSetOffTheirChecks(t *testing.T) {
	t.Parallel()
	globs := strings.Fields(os.Getenv("MCPCHECK_FAULTS"))
	chosen, err := Select(faults(), globs)
	if err != nil {
		t.Fatal(err)
	}
	judge := Run
	if len(globs) == 0 {
		judge = RunNamed
		for i := range chosen {
			chosen[i].In = spec.Only(chosen[i].In.Newest())
		}
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
			// What a server is seen to do that has its clients come back depends on
			// when it does.
			if h.Profile != "" || h.Streams || o.Verdict != reports.NotObserved {
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

// unobserved are the checks that have no subject on the honest server at some
// revision, each for the reason beside it.
var unobserved = []string{
	"jsonrpc.method.unadvertised", // it declares every capability
	"ping.sent.params",            // it sends no pings
	"ping.sent.rate",              // likewise
	"tools.result.failure",        // it has no tool of the public contract
	"versioning.extensions.names", // it has no extensions
	"versioning.extensions.settings",
	"schema.dialect.declared",   // its schemas are of 2020-12
	"resources.read.failure",    // what it lists does not fail
	"prompts.get.failure",       // likewise
	"completion.failure",        // likewise
	"resources.read.path",       // it has no files
	"schema.meta.object",        // it sends no _meta before 2026-07-28
	"schema.meta.prefix",        // likewise
	"schema.meta.label",         // likewise
	"schema.meta.name",          // likewise
	"schema.meta.reserved",      // likewise
	"tasks.related.requests",    // likewise: tasks
	"tasks.poll.interval",       // likewise
	"tasks.poll.input",          // likewise
	"tasks.poll.cursor",         // likewise
	"schema.meta.trace",         // it is part of no trace
	"progress.requested.type",   // it sends requests only to clients that declare a capability
	"progress.requested.unique", // likewise
	"cancellation.sent.task",    // likewise
	"sampling.context.known",    // it asks for no context

	"authorization.host.https",        // what it names is on the loopback interface
	"authorization.metadata.https",    // likewise
	"authorization.token.passthrough", // it has no tool that fetches anything

	"cancellation.sent.params",       // over HTTP the end of the stream says it, and no server ends
	"cancellation.sent.subscription", // likewise
	"subscriptions.cancelled",        // likewise
	"subscriptions.end.shape",        // likewise

	"http-sse.hosted.beside",         // where it has no handshake revisions it has no HTTP+SSE
	"streamable-http.refusal.status", // without sessions it accepts every notification
	"streamable-http.stream.retry",   // it has nobody come back but where it is told to
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
	for _, wrong := range Unproven(suites.Of(wire.Server, suites.All()), suites.All(), faults(), violations, ledger) {
		t.Error(wrong)
	}
}
