package fuzz

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// faultOracles are the faults that only the fuzzer finds, and the oracles of
// which one must report each.
var faultOracles = map[string][]string{
	"fuzz-exits-on-duplicate-member":     {oracleDead},
	"fuzz-exits-on-lone-surrogate":       {oracleDead},
	"fuzz-exits-on-unknown-response":     {oracleDead},
	"fuzz-exits-on-byte-order-mark":      {oracleDead},
	"fuzz-exits-on-cursor-type":          {oracleDead},
	"fuzz-mute-on-string-params":         {oracleMute},
	"fuzz-mute-on-proto-member":          {oracleMute},
	"fuzz-hangs-on-deep-nesting":         {oracleDesync},
	"fuzz-hangs-on-blank-line":           {oracleDesync},
	"fuzz-joins-crlf":                    {oracleDesync, "jsonrpc.error.id"},
	"fuzz-read-is-message":               {oracleMute, "jsonrpc.error.id"},
	"fuzz-fraction-id":                   {"jsonrpc.response.id", "jsonrpc.response.once"},
	"fuzz-answers-unknown-notification":  {"jsonrpc.response.id", "jsonrpc.response.once"},
	"fuzz-answers-twice-on-unknown-meta": {"jsonrpc.response.once"},
	"fuzz-keeps-previous-id":             {"jsonrpc.response.id", "jsonrpc.response.once", oracleMute},
}

// faultRuns is how many plans find each fault from the seed of testOptions.
const faultRuns = 2500

// fuzzFaults returns the faults that only the fuzzer finds.
func fuzzFaults(t *testing.T) []fault.Fault {
	t.Helper()
	var out []fault.Fault
	for _, f := range fault.All() {
		if f.Fuzz {
			out = append(out, f)
			if len(faultOracles[f.Name]) == 0 {
				t.Errorf("%s has no oracle", f.Name)
			}
		}
	}
	if len(out) != len(faultOracles) {
		t.Errorf("the reference has %d faults, not %d", len(out), len(faultOracles))
	}
	return out
}

// faultOptions returns options for a target that does not answer some requests.
func faultOptions(t *testing.T) Options {
	o := testOptions()
	o.Runs, o.CaseDir = faultRuns, t.TempDir()
	o.Session.Timeout, o.FirstTimeout = 500*time.Millisecond, 150*time.Millisecond
	return o
}

// inGate reports whether the tests find all they can find.
func inGate() bool { return os.Getenv(envRuns) != "" }

// runToFirstFinding runs until the first finding, or to the end.
func runToFirstFinding(t *testing.T, target transport.Target, o Options, toEnd bool) *Result {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.OnProgress = func(s Stats) {
		if s.Findings > 0 && !toEnd {
			stop()
		}
	}
	r, err := Run(ctx, target, o)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Stats
	t.Logf("%d findings, %d plans, %d starts, %d known, %d left out, %d slow, %d misattributed, %s",
		len(r.Findings), s.Plans, s.Starts, s.Known, s.Skipped, s.Slow, s.Misattributed,
		s.Elapsed.Round(time.Millisecond))
	if !toEnd { // remove findings whose confirmation was interrupted by the stop
		r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool {
			return strings.HasPrefix(f.Reproduced, "not confirmed")
		})
	}
	if len(r.Findings) == 0 {
		t.Fatalf("no finding in %d plans; %v", s.Plans, r.Notes)
	}
	return r
}

func TestFindsFaults(t *testing.T) {
	t.Parallel()
	for _, f := range fuzzFaults(t) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			target := server.Target(f.Name, f.Options(server.Options{}))
			o := faultOptions(t)
			for _, found := range runToFirstFinding(t, target, o, inGate()).Findings {
				t.Logf("%s %s\n%s", found.Reproduced, found.Signature, found.Plan)
				if !slices.Contains(faultOracles[f.Name], found.Oracle) {
					t.Errorf("found by %s, not by %s", found.Oracle, faultOracles[f.Name])
				}
				assertReplays(t, found, target, server.Target("reference", server.Options{}), nil, o.Session)
			}
		})
	}
}

// assertReplays asserts that a finding is small, and that its case file
// reproduces on the target but not on the conforming reference.
func assertReplays(
	t *testing.T, found *Finding, target, reference transport.Target, restart func(context.Context) error,
	o session.Options,
) {
	t.Helper()
	if n := len(found.Case.script(found.Case.Transport).messages()); n > 2 {
		t.Errorf("%s takes %d frames", found.Signature, n)
	}
	if found.Reproduced != "3/3" {
		t.Errorf("%s is %s", found.Signature, found.Reproduced)
	}
	text, err := os.ReadFile(found.Finding.Case)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCase(text)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Replay(t.Context(), target, c, o, restart); err != nil || !r.Reproduces || !r.SameOutcome {
		t.Errorf("%s does not reproduce: %+v, %v\n%s", found.Signature, r.Symptom, err, text)
	}
	if r, err := Replay(t.Context(), reference, c, o, nil); err != nil || r.Reproduces || r.Symptom != nil {
		t.Errorf("%s reproduces on the reference: %+v, %v", found.Signature, r.Symptom, err)
	}
}
