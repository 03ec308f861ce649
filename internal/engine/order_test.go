package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// No check depends on the effects of an earlier one.
func TestVerdictsDoNotDependOnOrderOfChecks(t *testing.T) {
	t.Parallel()
	judgeInOrder := func(seed uint64) map[string]reports.Verdict {
		checks := slices.Clone(catalog.InProfile("", catalog.Of(wire.Server, catalog.Checks())))
		if seed > 0 {
			rand.New(rand.NewPCG(seed, seed)).Shuffle(len(checks), func(i, j int) {
				checks[i], checks[j] = checks[j], checks[i]
			})
		}
		run, err := Run(t.Context(), server.Target("reference", server.Options{}), Options{
			Checks: checks, Session: longDeadlines(), Allow: func(string) bool { return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]reports.Verdict{}
		for _, o := range run.Outcomes {
			out[string(o.Revision)+" "+o.ID] = o.Verdict
		}
		return out
	}
	want := judgeInOrder(0)
	for seed := range uint64(3) {
		got := judgeInOrder(seed + 1)
		for key, v := range want {
			if got[key] != v {
				t.Errorf("order %d: %s is %s, in the order of the list %s", seed+1, key, got[key], v)
			}
		}
	}
}
