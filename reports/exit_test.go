package reports

import (
	"strings"
	"testing"
)

func TestExitCode(t *testing.T) {
	with := func(vs ...Verdict) *Run {
		run := &Run{Ended: Complete}
		for _, v := range vs {
			run.Outcomes = append(run.Outcomes, Outcome{ID: string(v), Verdict: v})
		}
		return run
	}
	excused := func(run *Run) *Run {
		for i := range run.Outcomes {
			if v := run.Outcomes[i].Verdict; v == Fail || v == Warn {
				run.Outcomes[i].Baselined = "known"
			}
		}
		return run
	}
	change := func(run *Run, f func(*Run)) *Run { f(run); return run }
	ended := func(how string) func(*Run) { return func(r *Run) { r.Ended = how } }
	violated := func(r *Run) { r.Baseline = []BaselineViolation{{}} }
	found := func(r *Run) { r.Findings = []Finding{{}} }
	fuzzed := func(r *Run) { r.Plans = 10 }
	for _, c := range []struct {
		name             string
		run              *Run
		plain, warn, all int // by --strict
	}{
		{"passes", with(Pass), 0, 0, 0},
		{"fail", with(Pass, Fail), 1, 1, 1},
		{"warn", with(Pass, Warn), 0, 1, 1},
		{"warn and no pass", with(Warn), 0, 1, 1},
		{"not-observed beside a pass", with(Pass, NotObserved), 0, 0, 1},
		{"not-applicable beside a pass", with(Pass, NotApplicable), 0, 0, 0},
		{"nothing ran", with(), 3, 3, 3},
		{"only not-observed", with(NotObserved), 3, 3, 1},
		{"only not-applicable", with(NotApplicable), 3, 3, 3},
		{"only not-run", with(NotRun), 3, 3, 3},
		{"not-run behind a failed opening", with(Fail, NotRun), 1, 1, 1},
		{"not-run without a fail", with(Pass, NotRun), 3, 3, 3},
		{"not-run behind a warn", with(Pass, Warn, NotRun), 0, 1, 1},
		{"not-run behind an excused fail", excused(with(Pass, Fail, NotRun)), 0, 0, 0},
		{"an excused opening, nothing passed", excused(with(Fail, NotRun)), 3, 3, 3},
		{"excused fail", excused(with(Pass, Fail)), 0, 0, 0},
		{"excused fail alone", excused(with(Fail)), 0, 0, 0},
		{"excused warn", excused(with(Pass, Warn)), 0, 0, 0},
		{"excused beside unexcused", change(excused(with(Pass, Fail)), func(r *Run) { r.Outcomes = append(r.Outcomes, Outcome{Verdict: Fail}) }), 1, 1, 1},
		{"baseline entry does not hold", change(with(Pass), violated), 1, 1, 1},
		{"finding", change(with(Pass), found), 1, 1, 1},
		{"finding of a fuzz run", change(with(), found), 1, 1, 1},
		{"fuzz run without finding", change(with(), fuzzed), 0, 0, 0},
		{"broken", with(Pass, Broken), 4, 4, 4},
		{"broken beats fail", with(Fail, Broken), 4, 4, 4},
		{"broken beats violation", change(with(Broken), violated), 4, 4, 4},
		{"deadline with passes", change(with(Pass, NotRun), ended(Deadline)), 3, 3, 3},
		{"deadline with a warn", change(with(Pass, Warn, NotRun), ended(Deadline)), 3, 1, 1},
		{"deadline after a fail", change(with(Fail, NotRun), ended(Deadline)), 1, 1, 1},
		{"deadline of a whole run", change(with(Pass), ended(Deadline)), 0, 0, 0},
		{"deadline of a fuzz run", change(change(with(), fuzzed), ended(Deadline)), 0, 0, 0},
		{"interrupted", change(with(Pass, NotRun), ended(Interrupted)), 130, 130, 130},
		{"interrupted beats broken and fail", change(with(Fail, Broken), ended(Interrupted)), 130, 130, 130},
	} {
		for strict, want := range map[string]int{StrictOff: c.plain, StrictWarn: c.warn, StrictAll: c.all} {
			if got := ExitCode(c.run, strict); got != want {
				t.Errorf("%s, strict %q: exit %d, want %d", c.name, strict, got, want)
			}
		}
	}
}

// The last line names the verdict that the exit code stands for, and what led
// there.
func TestConclusion(t *testing.T) {
	fails := &Run{Exit: 1, Outcomes: []Outcome{{ID: "a", Verdict: Fail}, {ID: "a", Verdict: Fail}, {ID: "b", Verdict: Pass}}}
	for _, c := range []struct {
		run  *Run
		want []string
	}{
		{fails, []string{"does not conform", "1 check fails (2 verdicts", "1 pass"}},
		{&Run{Exit: 0, Outcomes: []Outcome{{Verdict: Pass}, {Verdict: Warn}, {Verdict: Fail, Baselined: "x"}}}, []string{"conforms", "1 pass", "1 check warns", "1 excused by the baseline"}},
		{&Run{Exit: 1, Outcomes: []Outcome{{Verdict: Warn}}}, []string{"does not conform strictly", "1 check warns"}},
		{&Run{Exit: 1, Baseline: []BaselineViolation{{}}}, []string{"the baseline does not hold"}},
		{&Run{Exit: 1, Findings: []Finding{{}, {}}, Plans: 1000}, []string{"bugs found", "2 findings", "1,000 plans"}},
		{&Run{Exit: 0, Plans: 7}, []string{"nothing found"}},
		{&Run{Exit: 3}, []string{"not judged", "no check came to a verdict"}},
		{&Run{Exit: 3, Ended: Deadline}, []string{"not judged", "deadline"}},
		{&Run{Exit: 4, Outcomes: []Outcome{{Verdict: Broken}}}, []string{"mcpcheck itself broke", "1 check broke"}},
		{&Run{Exit: 130, Ended: Interrupted}, []string{"interrupted"}},
	} {
		headline, because := conclusion(c.run)
		for _, w := range c.want {
			if got := headline + ": " + because; !strings.Contains(got, w) {
				t.Errorf("%q lacks %q", got, w)
			}
		}
	}
}
