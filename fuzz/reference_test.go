package fuzz

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func TestReferenceHasNoFindings(t *testing.T) {
	t.Parallel()
	o := referenceOptions()
	o.Runs = referenceRuns()
	r, err := Run(t.Context(), server.Target("reference", server.Options{}), o)
	if err != nil {
		t.Fatal(err)
	}
	assertNoFindings(t, r)
	stats := r.Stats
	t.Logf("%d plans, %.0f a second after %s, %d starts, %d duplicates, %d withheld, %d slow, %d misattributed",
		stats.Plans, stats.Rate(), stats.Preparation.Round(time.Millisecond), stats.Starts,
		stats.Duplicates, stats.Withheld, stats.Slow, stats.Misattributed)
	if stats.Plans != o.Runs {
		t.Errorf("%d plans of %d were executed", stats.Plans, o.Runs)
	}
	for _, rev := range spec.Revisions() {
		for _, method := range rev.Facts().ClientRequests {
			if count := stats.Methods[rev][method]; count.Sent == 0 || count.Served == 0 && mayHaveResult(method) {
				t.Errorf("%s: %s was never answered with a result: %+v", rev, method, count)
			}
		}
		for _, method := range rev.Facts().ClientNotifications {
			if stats.Methods[rev][method].Sent == 0 {
				t.Errorf("%s: %s was never sent", rev, method)
			}
		}
	}
}

// mayHaveResult reports whether the reference answers some request of a method
// with a result. It answers a listen request when that ends, refuses a second
// initialize, and no longer has the tasks that the golden exchanges name.
func mayHaveResult(method string) bool {
	isOfTask := strings.HasPrefix(method, "tasks/") && method != "tasks/list"
	return !isOfTask && method != "subscriptions/listen" && method != "initialize"
}
