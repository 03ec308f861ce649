package fuzz

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func options() Options {
	o := session.Defaults()
	o.Timeout, o.StartTimeout, o.Grace = 2*time.Second, 10*time.Second, 500*time.Millisecond
	return Options{Revisions: spec.Revisions(), Seed: 1, Session: o, Suspect: 300 * time.Millisecond, Allow: func(string) bool { return true }, Version: "test"}
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
	fmt.Printf("%d plans, %.0f a second, %d starts, %d repeated, %d held, %d slow\n", st.Plans, st.Rate(), st.Starts, st.Repeated, st.Held, st.Slow)
	for _, rev := range spec.Revisions() {
		fmt.Println(rev, st.Methods[rev])
	}
}
