package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func referenceClientAt(o client.Options, over transport.Kind) script.HTTPFunc {
	return script.HTTPFunc{Name: "reference client", Kind: over, Run: func(ctx context.Context, url string) error {
		return client.RunURL(ctx, url, over, o)
	}}
}

func TestPassesReferenceClientOverHTTP(t *testing.T) {
	legacy := client.DefaultOptions()
	legacy.HandshakeFirst = true
	old := client.DefaultOptions()
	old.Revisions = []spec.Revision{spec.V2024_11_05}
	for name, c := range map[string]struct {
		o    client.Options
		over transport.Kind
		revs spec.Set
	}{
		"dual era":     {client.DefaultOptions(), transport.HTTP, spec.Since(spec.V2025_03_26)},
		"legacy first": {legacy, transport.HTTP, spec.Since(spec.V2025_03_26) & spec.Handshake},
		"HTTP+SSE":     {old, transport.SSE, spec.Only(spec.V2024_11_05)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, err := RunClient(t.Context(), referenceClientAt(c.o, c.over), Options{Session: clientDeadlines()})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range run.Revisions {
				if r.Spoken != c.revs.Has(r.Revision) {
					t.Errorf("%s: spoken is %v: %s", r.Revision, r.Spoken, r.Why)
				}
			}
			passed := 0
			for _, out := range run.Outcomes {
				switch out.Verdict {
				case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
					t.Errorf("%s at %s: %s: %s%s", out.ID, out.Revision, out.Verdict, out.Detail, out.Cause)
				case reports.Pass:
					passed++
				case reports.NotObserved:
					// A client with the oldest revision only cannot offer an older one.
					if unobserved[out.ID] == "" && !(c.over == transport.SSE &&
						out.ID == "versioning.client.offer.latest") {
						t.Errorf("%s at %s is not observed, and is not listed as unobserved", out.ID, out.Revision)
					}
				}
				if out.Transport != string(c.over) {
					t.Fatalf("%s was judged over %s", out.ID, out.Transport)
				}
			}
			if passed < 20*len(c.revs.Revisions()) {
				t.Errorf("%d checks passed", passed)
			}
			if len(run.Notes) > 0 {
				t.Errorf("the run has notes: %q", run.Notes)
			}
		})
	}
}

// stdioOnlyFaults are the faults of a client that HTTP does not show, and why.
var stdioOnlyFaults = map[string]string{
	"client-signals-first":   "there is no server process that the client can end",
	"client-stays-connected": "a client that sends no more requests is not connected",
}

// racingFaults are faults whose messages are sent on several connections at once over
// streamable HTTP, so that their order is unknown. Each fails at least one of its checks.
var racingFaults = map[string][]string{
	"client-tools-first": {"lifecycle.client.initialize.first", "lifecycle.client.initialize.awaited"},
}

// maxTries is the number of attempts for each fault. On a busy machine a message that the
// client does not wait for may be lost when it exits.
const maxTries = 3

// Over HTTP a fault of messages fails the same checks as over stdio, except for the checks
// of stdio.
func TestClientFaultsFailTheirChecksOverHTTP(t *testing.T) {
	for _, f := range fault.Clients() {
		if stdioOnlyFaults[f.Name] != "" {
			continue
		}
		for _, rev := range spec.Revisions() {
			t.Run(f.Name+" at "+string(rev), func(t *testing.T) {
				t.Parallel()
				var wrong []string
				for range maxTries {
					if wrong = unexpectedVerdicts(t, f, rev); len(wrong) == 0 {
						return
					}
				}
				t.Errorf("%s", strings.Join(wrong, "\n"))
			})
		}
	}
}

// unexpectedVerdicts runs a fault and returns the outcomes that differ from the expected
// ones.
func unexpectedVerdicts(t *testing.T, f fault.ClientFault, rev spec.Revision) (wrong []string) {
	t.Helper()
	over := transport.HTTP
	if !over.Revisions().Has(rev) {
		over = transport.SSE
	}
	o := client.DefaultOptions()
	o.Revisions = (spec.Until(rev) & over.Revisions()).Revisions()
	f.Apply(&o)
	checks := catalog.Of(wire.Client, catalog.Checks())
	run, err := RunClient(t.Context(), referenceClientAt(o, over),
		Options{Checks: checks, Revisions: []spec.Revision{rev}, Session: clientDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	named := slices.Concat(f.CaughtBy, slices.Collect(maps.Keys(f.Also)))
	deviates := f.Revisions(func(id string) spec.Set {
		return checks[slices.IndexFunc(checks, func(c check.Check) bool { return c.ID == id })].In
	}).Has(rev)
	either := racingFaults[f.Name]
	if over != transport.HTTP || !deviates {
		either = nil
	}
	eitherFails := len(either) == 0
	for _, out := range run.Outcomes {
		i := slices.IndexFunc(checks, func(c check.Check) bool { return c.ID == out.ID })
		want := slices.Contains(named, out.ID) && deviates && checks[i].On.Has(over)
		off := out.Verdict == reports.Fail || out.Verdict == reports.Warn
		switch {
		case out.Verdict == reports.Broken || out.Verdict == reports.NotRun:
			wrong = append(wrong, fmt.Sprintf("%s is %s: %s%s", out.ID, out.Verdict, out.Detail, out.Cause))
		case slices.Contains(either, out.ID):
			eitherFails = eitherFails || off
		case off && !want:
			wrong = append(wrong, fmt.Sprintf("also fails %s: %s", out.ID, out.Detail))
		case !off && want:
			wrong = append(wrong, fmt.Sprintf("does not fail %s: %s %s", out.ID, out.Verdict, out.Detail))
		case off && len(out.Frames) == 0:
			wrong = append(wrong, fmt.Sprintf("%s shows no frames", out.ID))
		}
	}
	if !eitherFails {
		wrong = append(wrong, fmt.Sprintf("fails none of %s", either))
	}
	return wrong
}
