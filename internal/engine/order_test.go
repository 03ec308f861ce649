package engine

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// No check depends on the effects of an earlier one. The runs, which mostly wait, go on
// beside each other.
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
			t.Error(err)
			return nil
		}
		out := map[string]reports.Verdict{}
		for _, o := range run.Outcomes {
			out[string(o.Revision)+" "+o.ID] = o.Verdict
		}
		return out
	}
	runs := make([]map[string]reports.Verdict, 4)
	var running sync.WaitGroup
	for seed := range runs {
		running.Go(func() { runs[seed] = judgeInOrder(uint64(seed)) })
	}
	running.Wait()
	want := runs[0]
	for seed, got := range runs {
		for key, v := range want {
			if got[key] != v {
				t.Errorf("order %d: %s is %s, in the order of the list %s", seed, key, got[key], v)
			}
		}
	}
}
