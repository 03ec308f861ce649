package reports

import (
	"strings"
	"testing"
)

func runWith(verdicts ...Verdict) *Run {
	run := &Run{Ended: Complete}
	for _, v := range verdicts {
		run.Outcomes = append(run.Outcomes, Outcome{ID: string(v), Verdict: v})
	}
	return run
}

// excuse puts every fail and warn of a run in the baseline.
func excuse(run *Run) *Run {
	for i := range run.Outcomes {
		if v := run.Outcomes[i].Verdict; v == Fail || v == Warn {
			run.Outcomes[i].Baselined = "known"
		}
	}
	return run
}

func TestExitCode(t *testing.T) {
	change := func(run *Run, f func(*Run)) *Run { f(run); return run }
	ended := func(how string) func(*Run) { return func(r *Run) { r.Ended = how } }
	stale := func(r *Run) { r.Baseline = []BaselineProblem{{}} }
	found := func(r *Run) { r.Findings = []Finding{{}} }
	caused := func(r *Run) { r.Outcomes[len(r.Outcomes)-1].Cause = string(Fail) }
	fuzzed := func(r *Run) { r.Plans = 10 }
	unexcused := func(r *Run) { r.Outcomes = append(r.Outcomes, Outcome{Verdict: Fail}) }
	for _, c := range []struct {
		name             string
		run              *Run
		plain, warn, all int // by --strict
	}{
		{"passes", runWith(Pass), 0, 0, 0},
		{"fail", runWith(Pass, Fail), 1, 1, 1},
		{"warn", runWith(Pass, Warn), 0, 1, 1},
		{"warn and no pass", runWith(Warn), 0, 1, 1},
		{"not-observed beside a pass", runWith(Pass, NotObserved), 0, 0, 1},
		{"not-applicable beside a pass", runWith(Pass, NotApplicable), 0, 0, 0},
		{"nothing ran", runWith(), 3, 3, 3},
		{"only not-observed", runWith(NotObserved), 3, 3, 1},
		{"only not-applicable", runWith(NotApplicable), 3, 3, 3},
		{"only not-run", runWith(NotRun), 3, 3, 3},
		{"not-run after a failed opening", runWith(Fail, NotRun), 1, 1, 1},
		{"not-run without a fail", runWith(Pass, NotRun), 3, 3, 3},
		{"not-run after a warn", runWith(Pass, Warn, NotRun), 3, 1, 1},
		{"not-run after an excused fail", change(excuse(runWith(Pass, Fail, NotRun)), caused), 0, 0, 0},
		{"not-run beside an excused fail", excuse(runWith(Pass, Fail, NotRun)), 3, 3, 3},
		{"an excused opening, nothing passed", excuse(runWith(Fail, NotRun)), 3, 3, 3},
		{"excused fail", excuse(runWith(Pass, Fail)), 0, 0, 0},
		{"excused fail alone", excuse(runWith(Fail)), 0, 0, 0},
		{"excused warn", excuse(runWith(Pass, Warn)), 0, 0, 0},
		{"excused beside unexcused", change(excuse(runWith(Pass, Fail)), unexcused), 1, 1, 1},
		{"wrong baseline entry", change(runWith(Pass), stale), 1, 1, 1},
		{"finding", change(runWith(Pass), found), 1, 1, 1},
		{"finding of a fuzz run", change(runWith(), found), 1, 1, 1},
		{"fuzz run without finding", change(runWith(), fuzzed), 0, 0, 0},
		{"broken", runWith(Pass, Broken), 4, 4, 4},
		{"broken beats fail", runWith(Fail, Broken), 4, 4, 4},
		{"broken beats a wrong baseline entry", change(runWith(Broken), stale), 4, 4, 4},
		{"deadline with passes", change(runWith(Pass, NotRun), ended(Deadline)), 3, 3, 3},
		{"deadline with a warn", change(runWith(Pass, Warn, NotRun), ended(Deadline)), 3, 1, 1},
		{"deadline after a fail", change(runWith(Fail, NotRun), ended(Deadline)), 1, 1, 1},
		{"deadline of a whole run", change(runWith(Pass), ended(Deadline)), 0, 0, 0},
		{"deadline of a fuzz run", change(change(runWith(), fuzzed), ended(Deadline)), 0, 0, 0},
		{"interrupted", change(runWith(Pass, NotRun), ended(Interrupted)), 130, 130, 130},
		{"interrupted beats broken and fail", change(runWith(Fail, Broken), ended(Interrupted)), 130, 130, 130},
	} {
		for strict, want := range map[string]int{StrictOff: c.plain, StrictWarn: c.warn, StrictAll: c.all} {
			if got := ExitCode(c.run, strict); got != want {
				t.Errorf("%s, strict %q: exit %d, want %d", c.name, strict, got, want)
			}
		}
	}
}

// The conclusion states what the exit code means and the counts that led to it.
func TestConclusion(t *testing.T) {
	fails := &Run{Exit: 1, Outcomes: []Outcome{{ID: "a", Verdict: Fail}, {ID: "a", Verdict: Fail},
		{ID: "b", Verdict: Pass}}}
	for _, c := range []struct {
		run  *Run
		want []string
	}{
		{fails, []string{"does not conform", "1 check fails (2 verdicts", "2 of 2 applicable checks exercised"}},
		{&Run{Exit: 0, Outcomes: []Outcome{{Verdict: Pass}, {Verdict: Warn}, {Verdict: Fail, Baselined: "x"}}},
			[]string{"no violation found", "1 of 1 applicable check exercised", "1 check warns",
				"1 excused by the baseline"}},
		{&Run{Exit: 1, Outcomes: []Outcome{{Verdict: Warn}}}, []string{"does not conform strictly", "1 check warns"}},
		{&Run{Exit: 1, Baseline: []BaselineProblem{{}}},
			[]string{"the baseline is out of date", "1 wrong baseline entry"}},
		{&Run{Exit: 1, Findings: []Finding{{}, {}}, Plans: 1000},
			[]string{"bugs found", "2 fuzzer findings", "1,000 plans"}},
		{&Run{Exit: 0, Plans: 7}, []string{"nothing found"}},
		{&Run{Exit: 3}, []string{"not judged", "no check has a verdict"}},
		{&Run{Exit: 3, Outcomes: []Outcome{{ID: "a", Verdict: Pass}, {ID: "b", Verdict: NotRun}}},
			[]string{"not fully judged", "1 not run", "1 of 2 applicable checks exercised"}},
		{&Run{Exit: 3, Ended: Deadline}, []string{"not fully judged", "deadline"}},
		{&Run{Exit: 4, Outcomes: []Outcome{{Verdict: Broken}}},
			[]string{"internal error of mcpcheck", "1 check broken"}},
		{&Run{Exit: 130, Ended: Interrupted}, []string{"interrupted"}},
	} {
		for _, w := range c.want {
			if got := headline(c.run) + ": " + summarizeCounts(c.run); !strings.Contains(got, w) {
				t.Errorf("%q lacks %q", got, w)
			}
		}
	}
}
