package reports

import (
	"fmt"
	"strings"
)

// The values of --strict that ExitCode knows.
const (
	StrictOff  = ""     // only a MUST decides
	StrictWarn = "warn" // a warn counts as a fail does
	StrictAll  = "all"  // a not-observed too
)

// The exit codes that a run can end with. 2, a usage error, is found before
// there is a run.
const (
	ExitConforms    = 0
	ExitFails       = 1
	ExitNotJudged   = 3
	ExitBroken      = 4
	ExitInterrupted = 130
)

// ExitCode returns the exit code of a finished run. The first that holds wins:
//
//   - 130: the run was interrupted; nobody may take what is left for a verdict.
//   - 4: an outcome is broken: mcpcheck erred, so its accusations are in doubt.
//   - 1: a fail without baseline, a baseline entry that does not hold, or a
//     finding of the fuzzer; with strict "warn" or "all" a warn without
//     baseline, with "all" a not-observed.
//   - 3: nothing was judged: no outcome is a pass, warn or fail and the fuzzer
//     executed no plan; or what was not run is not the consequence of a fail
//     or warn (the deadline cut the run, the target went away); or a baseline
//     excuses a failed opening and nothing passed.
//   - 0: what was judged conforms.
func ExitCode(run *Run, strict string) int {
	t := tally(run)
	blamed := t.fail - t.failExcused
	if strict == StrictWarn || strict == StrictAll {
		blamed += t.warn - t.warnExcused
	}
	if strict == StrictAll {
		blamed += t.of[NotObserved]
	}
	switch {
	case run.Ended == Interrupted:
		return ExitInterrupted
	case t.of[Broken] > 0:
		return ExitBroken
	case blamed > 0 || len(run.Baseline) > 0 || len(run.Findings) > 0:
		return ExitFails
	case t.of[Pass]+t.fail+t.warn+run.Plans == 0:
		return ExitNotJudged
	case run.Ended == Deadline && t.of[NotRun] > 0:
		return ExitNotJudged
	case t.of[NotRun] > 0 && (t.fail+t.warn == 0 || t.of[Pass] == 0):
		return ExitNotJudged
	}
	return ExitConforms
}

// counts are the totals of a run with the excused told apart.
type counts struct {
	of                       map[Verdict]int
	fail, warn               int
	failExcused, warnExcused int
}

func tally(run *Run) counts {
	t := counts{of: make(map[Verdict]int)}
	for _, o := range run.Outcomes {
		t.of[o.Verdict]++
		if o.Baselined == "" {
			continue
		}
		switch o.Verdict {
		case Fail:
			t.failExcused++
		case Warn:
			t.warnExcused++
		}
	}
	t.fail, t.warn = t.of[Fail], t.of[Warn]
	return t
}

// conclusion returns what run.Exit says in two or three words, and the counts
// that led there.
func conclusion(run *Run) (headline, because string) {
	t := tally(run)
	failed := distinct(run, func(o Outcome) bool { return o.Verdict == Fail && o.Baselined == "" })
	warned := distinct(run, func(o Outcome) bool { return o.Verdict == Warn && o.Baselined == "" })
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, plural(n, one, many))
		}
	}
	// A check that fails at four revisions is one thing to mend.
	accuse := func(checks, verdicts int, one, many string) {
		add(checks, one, many)
		if verdicts > checks {
			parts[len(parts)-1] += fmt.Sprintf(" (%s verdicts)", group(verdicts))
		}
	}
	accuse(failed, t.fail-t.failExcused, "check fails", "checks fail")
	add(len(run.Findings), "finding of the fuzzer", "findings of the fuzzer")
	add(len(run.Baseline), "baseline entry does not hold", "baseline entries do not hold")
	add(t.of[Broken], "check broke", "checks broke")
	accuse(warned, t.warn-t.warnExcused, "check warns", "checks warn")
	add(t.failExcused+t.warnExcused, "excused by the baseline", "excused by the baseline")
	add(t.of[NotRun], "not run", "not run")
	add(t.of[Pass], "pass", "passes")
	add(t.of[NotObserved], "not observed", "not observed")
	add(run.Plans, "plan executed", "plans executed")
	because = strings.Join(parts, ", ")

	switch run.Exit {
	case ExitConforms:
		headline = "conforms"
		if run.Plans > 0 && len(run.Outcomes) == 0 {
			headline = "nothing found"
		}
	case ExitFails:
		switch {
		case failed > 0:
			headline = "does not conform"
		case len(run.Findings) > 0:
			headline = "bugs found"
		case len(run.Baseline) > 0:
			headline = "the baseline does not hold"
		default:
			headline = "does not conform strictly"
		}
	case ExitNotJudged:
		headline = "not judged"
		if run.Ended == Deadline {
			headline = "not judged to the end: the deadline cut the run"
		}
	case ExitBroken:
		headline = "mcpcheck itself broke"
	case ExitInterrupted:
		headline = "interrupted"
	default:
		headline = "ended"
	}
	if because == "" {
		because = "no check came to a verdict"
	}
	return headline, because
}

// distinct counts the checks with an outcome that fits.
func distinct(run *Run, fits func(Outcome) bool) int {
	seen := make(map[string]bool)
	for _, o := range run.Outcomes {
		if fits(o) {
			seen[o.ID] = true
		}
	}
	return len(seen)
}
