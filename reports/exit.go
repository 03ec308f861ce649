package reports

import (
	"fmt"
	"strings"
)

// The values of --strict.
const (
	StrictOff  = ""     // only a MUST decides
	StrictWarn = "warn" // a warn counts as a fail
	StrictAll  = "all"  // a not-observed does too
)

// The exit codes of a run. Code 2, a usage error, is found before a run.
const (
	ExitConforms    = 0
	ExitFails       = 1
	ExitNotJudged   = 3
	ExitBroken      = 4
	ExitInterrupted = 130
)

// ExitCode returns the exit code of a finished run. The first that holds wins:
//
//   - 130: the run was interrupted, so that what it judged is not a verdict on
//     the target.
//   - 4: an outcome is broken: an error of mcpcheck puts the other verdicts in
//     doubt.
//   - 1: a fail that no baseline entry excuses, a baseline entry that is wrong,
//     or a finding of the fuzzer; with strict "warn" or "all" a warn that is not
//     excused; with "all" a not-observed.
//   - 3: nothing was judged: no outcome is a pass, warn or fail and the fuzzer
//     executed no plan; or a check was not run, unless the baseline excuses the
//     check that it names as the cause; or the baseline excuses a failed opening
//     and nothing passed.
//   - 0: what was judged shows no violation.
func ExitCode(run *Run, strict string) int {
	t := tallyOf(run)
	violations := t.failed()
	if strict == StrictWarn || strict == StrictAll {
		violations += t.warned()
	}
	if strict == StrictAll {
		violations += t.of[NotObserved]
	}
	switch {
	case run.Ended == Interrupted:
		return ExitInterrupted
	case t.of[Broken] > 0:
		return ExitBroken
	case violations > 0 || len(run.Baseline) > 0 || len(run.Findings) > 0:
		return ExitFails
	case t.of[Pass]+t.of[Fail]+t.of[Warn]+run.Plans == 0:
		return ExitNotJudged
	case t.of[NotRun] > 0 && (t.of[Pass] == 0 || countUnexplained(run) > 0):
		return ExitNotJudged
	}
	return ExitConforms
}

// countUnexplained counts the outcomes that were not run and whose cause is no check
// that the baseline excuses.
func countUnexplained(run *Run) int {
	excused := make(map[string]bool)
	for _, o := range run.Outcomes {
		if o.isExcused() {
			excused[o.ID] = true
		}
	}
	n := 0
	for _, o := range run.Outcomes {
		if o.Verdict == NotRun && !excused[o.Cause] {
			n++
		}
	}
	return n
}

// A tally counts the outcomes of a run by verdict.
type tally struct {
	of      map[Verdict]int
	excused map[Verdict]int // by the baseline, of those
}

func tallyOf(run *Run) tally {
	t := tally{of: make(map[Verdict]int), excused: make(map[Verdict]int)}
	for _, o := range run.Outcomes {
		t.of[o.Verdict]++
		if o.isExcused() {
			t.excused[o.Verdict]++
		}
	}
	return t
}

func (t tally) failed() int { return t.of[Fail] - t.excused[Fail] }
func (t tally) warned() int { return t.of[Warn] - t.excused[Warn] }

// isExcused reports whether the baseline excuses the fail or warn.
func (o Outcome) isExcused() bool {
	return o.Baselined != "" && (o.Verdict == Fail || o.Verdict == Warn)
}

// headline returns what run.Exit means in a few words.
func headline(run *Run) string {
	switch run.Exit {
	case ExitConforms:
		if run.Plans > 0 && len(run.Outcomes) == 0 {
			return "nothing found"
		}
		return "no violation found"
	case ExitFails:
		switch {
		case tallyOf(run).failed() > 0:
			return "does not conform"
		case len(run.Findings) > 0:
			return "bugs found"
		case len(run.Baseline) > 0:
			return "the baseline is out of date"
		}
		return "does not conform strictly"
	case ExitNotJudged:
		if run.Ended == Deadline {
			return "not fully judged: the deadline ended the run"
		}
		if judged, _ := countExercised(run); judged > 0 {
			return "not fully judged"
		}
		return "not judged"
	case ExitBroken:
		return "internal error of mcpcheck"
	case ExitInterrupted:
		return "interrupted"
	}
	return "ended"
}

// summarizeCounts returns the counts that led to run.Exit.
func summarizeCounts(run *Run) string {
	t := tallyOf(run)
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, plural(n, one, many))
		}
	}
	// A check that fails at four revisions is one thing to fix.
	addChecks := func(v Verdict, verdicts int, one, many string) {
		checks := countChecks(run, v)
		add(checks, one, many)
		if verdicts > checks {
			parts[len(parts)-1] += fmt.Sprintf(" (%s verdicts)", formatInt(verdicts))
		}
	}
	addChecks(Fail, t.failed(), "check fails", "checks fail")
	add(len(run.Findings), "fuzzer finding", "fuzzer findings")
	add(len(run.Baseline), "wrong baseline entry", "wrong baseline entries")
	add(t.of[Broken], "check broken", "checks broken")
	addChecks(Warn, t.warned(), "check warns", "checks warn")
	add(t.excused[Fail]+t.excused[Warn], "excused by the baseline", "excused by the baseline")
	add(t.of[NotRun], "not run", "not run")
	if exercised, applicable := countExercised(run); applicable > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s exercised", formatInt(exercised),
			plural(applicable, "applicable check", "applicable checks")))
	}
	add(run.Plans, "plan executed", "plans executed")
	if len(parts) == 0 {
		return "no check has a verdict"
	}
	return strings.Join(parts, ", ")
}

// countExercised counts the checks that passed, warned or failed at a revision, and
// those that are applicable at one.
func countExercised(run *Run) (exercised, applicable int) {
	all := make(map[string]bool)
	for _, o := range run.Outcomes {
		if o.Verdict != NotApplicable {
			all[o.ID] = all[o.ID] || o.Verdict == Pass || o.Verdict == Warn || o.Verdict == Fail
		}
	}
	for _, was := range all {
		if was {
			exercised++
		}
	}
	return exercised, len(all)
}

// countChecks counts the checks that have a verdict which the baseline does not
// excuse.
func countChecks(run *Run, v Verdict) int {
	seen := make(map[string]bool)
	for _, o := range run.Outcomes {
		if o.Verdict == v && !o.isExcused() {
			seen[o.ID] = true
		}
	}
	return len(seen)
}
