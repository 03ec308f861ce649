package engine

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// clientDeadlines are long enough for a client in this process on a busy machine.
func clientDeadlines() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = time.Second, 5*time.Second, time.Second
	return o
}

func referenceClient(o client.Options) script.StdioFunc {
	return script.StdioFunc{Name: "reference client", Run: func(ctx context.Context, server transport.Starter) error {
		return client.Run(ctx, server, o)
	}}
}

func TestPassesReferenceClient(t *testing.T) {
	legacy := client.DefaultOptions()
	legacy.HandshakeFirst = true
	for name, o := range map[string]client.Options{"dual era": client.DefaultOptions(), "legacy first": legacy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, err := RunClient(t.Context(), referenceClient(o), Options{Session: clientDeadlines()})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range run.Revisions {
				if want := !o.HandshakeFirst || !r.Revision.Facts().Stateless; r.Spoken != want {
					t.Errorf("%s: spoken is %v: %s", r.Revision, r.Spoken, r.Why)
				}
			}
			for _, out := range run.Outcomes {
				if out.Transport != string(transport.Stdio) {
					t.Errorf("%s at %s is of the transport %q", out.ID, out.Revision, out.Transport)
				}
				switch out.Verdict {
				case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
					t.Errorf("%s at %s: %s: %s%s", out.ID, out.Revision, out.Verdict, out.Detail, out.Cause)
				case reports.NotObserved:
					if unobserved[out.ID] == "" {
						t.Errorf("%s at %s is not observed, and is not listed as unobserved", out.ID, out.Revision)
					}
				}
			}
			if len(run.Notes) > 0 {
				t.Errorf("the run has notes: %q", run.Notes)
			}
		})
	}
}

// unobserved are the checks that have no subject in sessions with the reference client,
// although it has the revision, and the reasons.
var unobserved = map[string]string{
	"versioning.client.offer":               "the client offers its newest revision only",
	"versioning.client.unknown.stops":       "likewise: the session is judged by what was offered",
	"versioning.client.unknown.disconnects": "likewise",
	"batching.client.element.kinds":         "the client sends no batches",
	"jsonrpc.client.methods.notifications":  "the only notification of a client of 2026-07-28 cancels",
	"jsonrpc.client.notification.no-id":     "likewise",
}

// Every fault fails exactly the checks that it names, at every revision. The client has
// that revision as its newest.
func TestClientFaultsFailExactlyTheirChecks(t *testing.T) {
	checks := catalog.Of(wire.Client, catalog.Checks())
	in := map[string]spec.Set{}
	for _, c := range checks {
		in[c.ID] = c.In
	}
	stated := func(id string) spec.Set { return in[id] }
	work := make(chan struct{}, 8*runtime.NumCPU())
	var wait sync.WaitGroup
	for _, f := range fault.Clients() {
		for _, rev := range spec.Revisions() {
			wait.Go(func() {
				work <- struct{}{}
				defer func() { <-work }()
				o := client.DefaultOptions()
				o.Revisions = spec.Until(rev).Revisions()
				f.Apply(&o)
				run, err := RunClient(t.Context(), referenceClient(o),
					Options{Checks: checks, Revisions: []spec.Revision{rev}, Session: clientDeadlines()})
				if err != nil {
					t.Errorf("%s at %s: %v", f.Name, rev, err)
					return
				}
				want := map[string]bool{}
				for _, id := range slices.Concat(f.CaughtBy, slices.Collect(maps.Keys(f.Also))) {
					if f.Revisions(stated).Has(rev) && in[id].Has(rev) {
						want[id] = true
					}
				}
				for _, out := range run.Outcomes {
					switch off := out.Verdict == reports.Fail || out.Verdict == reports.Warn; {
					case out.Verdict == reports.Broken || out.Verdict == reports.NotRun:
						t.Errorf("%s at %s: %s is %s: %s%s", f.Name, rev, out.ID, out.Verdict, out.Detail, out.Cause)
					case off && !want[out.ID]:
						t.Errorf("%s at %s also fails %s: %s", f.Name, rev, out.ID, out.Detail)
					case !off && want[out.ID]:
						t.Errorf("%s at %s does not fail %s: %s %s", f.Name, rev, out.ID, out.Verdict, out.Detail)
					case off && len(out.Frames) == 0:
						t.Errorf("%s at %s: %s shows no frames", f.Name, rev, out.ID)
					}
				}
			})
		}
	}
	wait.Wait()
}

// A fault or a violation proves every check of clients, and faults name existing checks
// only. If no fault derives its rows from a check, a fault or a violation breaks each row
// that the check claims.
func TestClientChecksAreProven(t *testing.T) {
	type proof struct{ row, check string }
	proven := map[proof]bool{}
	caught, derived := map[string]bool{}, map[string]bool{}
	checks := catalog.Of(wire.Client, catalog.Checks())
	known := func(id string) bool {
		return slices.ContainsFunc(checks, func(c check.Check) bool { return c.ID == id })
	}
	names := map[string]bool{}
	for _, f := range fault.Clients() {
		if names[f.Name] || f.Does == "" || len(f.CaughtBy) == 0 || len(f.Also) > 3 {
			t.Errorf("fault %s is incomplete or listed twice", f.Name)
		}
		names[f.Name] = true
		for _, id := range slices.Concat(f.CaughtBy, slices.Collect(maps.Keys(f.Also))) {
			if !known(id) {
				t.Errorf("fault %s names %s, which is no check of clients", f.Name, id)
			}
		}
		for _, id := range f.CaughtBy {
			caught[id] = true
			derived[id] = derived[id] || len(f.Breaks) == 0
			for _, row := range f.Breaks {
				proven[proof{row, id}] = true
			}
		}
	}
	violations, err := fixtures.Violations()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		caught[v.Check] = true
		for _, row := range v.Breaks {
			proven[proof{row, v.Check}] = true
		}
	}
	for _, c := range checks {
		if !caught[c.ID] {
			t.Errorf("no fault and no violation proves %s", c.ID)
			continue
		}
		for _, row := range c.Rules {
			if !derived[c.ID] && !proven[proof{row, c.ID}] {
				t.Errorf("no fault or violation that breaks %s proves %s, which claims it", row, c.ID)
			}
		}
	}
}

// A run with Ginkgo and one without give the same verdicts.
func TestGinkgoDoesNotChangeVerdictsOfClient(t *testing.T) {
	f, err := fault.LookupClient("client-error-code-text")
	if err != nil {
		t.Fatal(err)
	}
	o := client.DefaultOptions()
	f.Apply(&o)
	verdicts := func(run *reports.Run, err error) map[string]reports.Verdict {
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]reports.Verdict{}
		for _, r := range run.Outcomes {
			out[r.ID+" "+string(r.Revision)] = r.Verdict
		}
		return out
	}
	direct := verdicts(RunClient(t.Context(), referenceClient(o), Options{Session: clientDeadlines()}))
	driven := verdicts(RunClient(t.Context(), referenceClient(o), Options{Session: clientDeadlines()}))
	if !maps.Equal(direct, driven) || direct["jsonrpc.client.error.code.integer 2025-11-25"] != reports.Fail {
		t.Errorf("without Ginkgo %v\nwith it %v", direct, driven)
	}
}

// An interrupt keeps what the scenarios before it have shown.
func TestInterruptKeepsVerdictsOfAClient(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	runs := 0
	target := script.StdioFunc{Name: "interrupted client", Run: func(ctx context.Context, s transport.Starter) error {
		if runs++; runs == 3 {
			interrupt()
			<-ctx.Done()
			return nil
		}
		o := client.DefaultOptions()
		for _, f := range fault.Clients() {
			if f.Name == "client-params-array" {
				f.Apply(&o)
			}
		}
		return client.Run(ctx, s, o)
	}}
	run, err := RunClient(ctx, target, Options{Session: clientDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	run.Count()
	if run.Ended != reports.Interrupted || run.Totals[reports.Pass] == 0 || run.Totals[reports.Fail] == 0 ||
		run.Totals[reports.NotRun] == 0 || run.Totals[reports.NotObserved] != 0 {
		t.Errorf("ended %q with %v", run.Ended, run.Totals)
	}
}
