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

// planted are the faults that only the fuzzer finds, and the oracles of which
// one must object.
var planted = map[string][]string{
	"fuzz-dies-on-duplicate-member":      {"liveness.dead"},
	"fuzz-dies-on-lone-surrogate":        {"liveness.dead"},
	"fuzz-dies-on-unknown-response":      {"liveness.dead"},
	"fuzz-dies-on-byte-order-mark":       {"liveness.dead"},
	"fuzz-dies-on-cursor-type":           {"liveness.dead"},
	"fuzz-mute-on-string-params":         {"liveness.mute"},
	"fuzz-mute-on-proto-member":          {"liveness.mute"},
	"fuzz-hangs-on-deep-nesting":         {"liveness.desync"},
	"fuzz-desync-after-blank-line":       {"liveness.desync"},
	"fuzz-joins-crlf":                    {"liveness.desync", "jsonrpc.error.id"},
	"fuzz-read-is-message":               {"liveness.mute", "jsonrpc.error.id"},
	"fuzz-id-precision":                  {"jsonrpc.response.id"},
	"fuzz-fraction-id":                   {"jsonrpc.response.id", "jsonrpc.response.once"},
	"fuzz-answers-unknown-notification":  {"jsonrpc.response.id", "jsonrpc.response.once"},
	"fuzz-answers-twice-on-unknown-meta": {"jsonrpc.response.once"},
	"fuzz-keeps-previous-id":             {"jsonrpc.response.id", "jsonrpc.response.once", "liveness.mute"},
}

// Within so many plans from the seed of options each planted fault is found.
const plantedRuns = 2500

func plantedFaults(t *testing.T) []fault.Fault {
	t.Helper()
	var out []fault.Fault
	for _, f := range fault.All() {
		if f.Fuzz {
			out = append(out, f)
			if len(planted[f.Name]) == 0 {
				t.Errorf("%s has no oracle", f.Name)
			}
		}
	}
	if len(out) != len(planted) {
		t.Errorf("%d faults are planted, not %d", len(out), len(planted))
	}
	return out
}

// quick are the options for a target that hangs on purpose.
func quick(t *testing.T) Options {
	o := options()
	o.Runs, o.Out = plantedRuns, t.TempDir()
	o.Session.Timeout, o.FirstTimeout = 500*time.Millisecond, 150*time.Millisecond
	return o
}

func TestPlantedFaultsAreFoundShrunkAndReplayed(t *testing.T) {
	t.Parallel()
	for _, f := range plantedFaults(t) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			target := server.Target(f.Name, f.Options(server.Options{}))
			o := quick(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			full := os.Getenv("MCPCHECK_FUZZ_RUNS") != ""
			o.Progress = func(s Stats) {
				if s.Findings > 0 && !full {
					stop() // the first one is enough
				}
			}
			res, err := Run(ctx, target, o)
			if err != nil {
				t.Fatal(err)
			}
			confirmed := 0
			defer func() {
				if confirmed == 0 {
					t.Errorf("not found in %d plans", res.Stats.Plans)
				}
			}()
			t.Logf("%d findings, %d plans, %d again, %d aside, %d slow, %d late, %s", len(res.Findings), res.Stats.Plans, res.Stats.Again, res.Stats.SetAside, res.Stats.Slow, res.Stats.Misattributed, res.Stats.Elapsed.Round(time.Millisecond))
			for _, found := range res.Findings {
				t.Logf("%s %s\n%s", found.Reproduced, found.Signature, found.Plan)
				if !full && strings.HasPrefix(found.Reproduced, "not confirmed") {
					continue // it was being confirmed when the first one stopped the search
				}
				confirmed++
				if !slices.Contains(planted[f.Name], found.Oracle) {
					t.Errorf("found by %s, not by %s", found.Oracle, planted[f.Name])
				}
				assertReplays(t, found, target, server.Target("honest", server.Options{}), nil, o.Session)
			}
		})
	}
}

// assertReplays asserts that a finding is small, that its file shows it on the
// target, and that the honest server does not show it.
func assertReplays(t *testing.T, found *Found, target, honest transport.Target, again func(context.Context) error, o session.Options) {
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
	if again, err := Replay(t.Context(), target, c, o, again); err != nil || !again.Reproduces || !again.Same {
		t.Errorf("%s does not reproduce: %+v, %v\n%s", found.Signature, again.Symptom, err, text)
	}
	sound, err := Replay(t.Context(), honest, c, o, nil)
	if err != nil || sound.Reproduces || sound.Symptom != nil {
		t.Errorf("%s on the honest server: %+v, %v", found.Signature, sound.Symptom, err)
	}
}
