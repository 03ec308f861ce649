package fuzz

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func options() Options {
	o := session.Defaults()
	o.Timeout, o.StartTimeout, o.Grace = 2*time.Second, 10*time.Second, 500*time.Millisecond
	return Options{Revisions: spec.Revisions(), Seed: 1, Session: o, FirstTimeout: 300 * time.Millisecond, Allow: func(string) bool { return true }, Version: "test"}
}

// runs is how many plans the honest reference is met with: few in the daily
// test, 100,000 in the gate.
func runs(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("MCPCHECK_FUZZ_RUNS")); err == nil {
		return n
	}
	return 4000
}

func TestHonestReferenceHasNoFindings(t *testing.T) {
	t.Parallel()
	o := options()
	o.Runs = runs(t)
	res, err := Run(t.Context(), server.Target("reference", server.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		t.Errorf("finding %s (%s)\n%s\n%s\n%s", f.Signature, f.Reproduced, f.Says, f.Plan, f.Case.Append(nil))
	}
	for _, n := range res.Notes {
		t.Error(n)
	}
	st := res.Stats
	t.Logf("%d plans, %.0f a second after %s, %d starts, %d repeated, %d held, %d slow, %d late", st.Plans, st.Rate(), st.Prepared.Round(time.Millisecond), st.Starts, st.Duplicates, st.Held, st.Slow, st.Misattributed)
	if st.Plans != o.Runs {
		t.Errorf("%d plans of %d were played", st.Plans, o.Runs)
	}
	for _, rev := range spec.Revisions() {
		for _, method := range rev.Facts().ClientRequests {
			// A listen request is answered when it ends, a second initialize
			// is refused, and so are requests about tasks that are no more.
			served := st.Methods[rev][method].Served > 0 || (method == "subscriptions/listen" || method == "initialize") && st.Methods[rev][method].Sent > 0
			if about := strings.HasPrefix(method, "tasks/") && method != "tasks/list"; about {
				served = st.Methods[rev][method].Sent > 0
			}
			if !served {
				t.Errorf("%s: %s was never answered with a result: %+v", rev, method, st.Methods[rev][method])
			}
		}
		for _, method := range rev.Facts().ClientNotifications {
			if st.Methods[rev][method].Sent == 0 {
				t.Errorf("%s: %s was never sent", rev, method)
			}
		}
	}
}
