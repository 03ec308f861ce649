package fuzz

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// planted are the faults that only the fuzzer finds, and the oracle that must
// object.
var planted = map[string]string{
	"fuzz-dies-on-duplicate-member":      "liveness.dead",
	"fuzz-dies-on-lone-surrogate":        "liveness.dead",
	"fuzz-dies-on-unknown-response":      "liveness.dead",
	"fuzz-dies-on-byte-order-mark":       "liveness.dead",
	"fuzz-dies-on-cursor-type":           "liveness.dead",
	"fuzz-mute-on-string-params":         "liveness.mute",
	"fuzz-mute-on-proto-member":          "liveness.mute",
	"fuzz-hangs-on-deep-nesting":         "liveness.desync",
	"fuzz-desync-after-blank-line":       "liveness.desync",
	"fuzz-joins-crlf":                    "liveness.desync",
	"fuzz-read-is-message":               "liveness.mute",
	"fuzz-id-precision":                  "jsonrpc.response.id",
	"fuzz-fraction-id":                   "jsonrpc.response.id",
	"fuzz-answers-unknown-notification":  "jsonrpc.response.id",
	"fuzz-answers-twice-on-unknown-meta": "jsonrpc.response.once",
	"fuzz-keeps-previous-id":             "jsonrpc.response.id",
}

// Within so many plans from this seed each planted fault must be found.
const plantedRuns = 2500

func TestPlantedFaultsAreFoundShrunkAndReplayed(t *testing.T) {
	for _, f := range fault.All() {
		if !f.Fuzz {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			target := server.Target(f.Name, f.Options(server.Options{}))
			o := options()
			o.Runs, o.Out = plantedRuns, t.TempDir()
			o.Session.Timeout, o.Suspect = 400*time.Millisecond, 150*time.Millisecond
			began := time.Now()
			res, err := Run(t.Context(), target, o)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s: %d findings, %d plans, %d again, %d aside, %d slow, %s\n", f.Name, len(res.Findings), res.Stats.Plans, res.Stats.Again, res.Stats.SetAside, res.Stats.Slow, time.Since(began).Round(time.Millisecond))
			for _, found := range res.Findings {
				fmt.Printf("   %s %s\n      %s\n", found.Reproduced, found.Signature, strings.ReplaceAll(found.Plan.String(), "\n", "\n      "))
			}
			hit := false
			for _, found := range res.Findings {
				hit = hit || found.Oracle == planted[f.Name]
				if n := len(found.Case.Script().Lines()); n > 2 {
					t.Errorf("%s takes %d frames", found.Signature, n)
				}
				again, err := Replay(t.Context(), target, found.Case, o.Session)
				if err != nil || !again.Reproduces {
					t.Errorf("%s does not reproduce: %+v, %v", found.Signature, again.Symptom, err)
				}
				honest, err := Replay(t.Context(), server.Target("honest", server.Options{}), found.Case, o.Session)
				if err != nil || honest.Reproduces || honest.Symptom != nil {
					t.Errorf("%s on the honest server: %+v, %v", found.Signature, honest.Symptom, err)
				}
			}
			if !hit {
				t.Errorf("not found by %s", planted[f.Name])
			}
		})
	}
}

var _ = session.Alive
