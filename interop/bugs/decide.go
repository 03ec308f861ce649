package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/interop/target"
)

// A trial is a bug over one transport: the reports on its releases.
type trial struct {
	bug       bug
	transport string
	reports   []*target.Report // on the buggy release, then on the fixed one
	err       error            // why there are no reports
}

// verdicts are from mild to severe. Over all revisions the most severe counts.
var verdicts = []string{"", "not-applicable", "not-observed", "not-run", "pass", "warn", "fail", "broken"}

// verdictOf returns the most severe verdict of a check in a report, "" for none.
func verdictOf(r *target.Report, check string) string {
	worst := ""
	for _, o := range r.Outcomes {
		if o.ID == check && slices.Index(verdicts, o.Verdict) > slices.Index(verdicts, worst) {
			worst = o.Verdict
		}
	}
	return worst
}

func isViolation(verdict string) bool { return target.Outcome{Verdict: verdict}.IsViolation() }

// hasJudged reports whether any check reached a verdict. A target that did not
// start has none, and nothing can be concluded from its report.
func hasJudged(r *target.Report) bool {
	return slices.ContainsFunc(r.Outcomes, func(o target.Outcome) bool {
		return o.Verdict == "pass" || o.IsViolation()
	})
}

// unusable says why nothing can be concluded from the trial, "" if something can.
func (t trial) unusable() string {
	if t.err != nil {
		return t.err.Error()
	}
	for i, r := range t.reports {
		if !hasJudged(r) {
			return fmt.Sprintf("no check reached a verdict on the %s release", []string{"buggy", "fixed"}[i])
		}
	}
	return ""
}

// detectedBy returns the checks of the bug that detect it: they fail or warn on
// the buggy release, and not on the fixed one.
func (t trial) detectedBy() []string {
	if t.unusable() != "" {
		return nil
	}
	var out []string
	for _, check := range t.bug.Checks {
		if !isViolation(verdictOf(t.reports[0], check)) {
			continue
		}
		if len(t.reports) == 1 || !isViolation(verdictOf(t.reports[1], check)) {
			out = append(out, check)
		}
	}
	return out
}

// differing returns the checks that fail or warn on the buggy release only.
func (t trial) differing() []string {
	if t.unusable() != "" || len(t.reports) < 2 {
		return nil
	}
	var out []string
	for _, o := range t.reports[0].Outcomes {
		if o.IsViolation() && !isViolation(verdictOf(t.reports[1], o.ID)) {
			out = append(out, o.ID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A row is the result on a bug: its trials, one for each transport.
type row struct {
	bug    bug
	trials []trial
}

// isDetected reports whether the bug is detected over each of its transports.
func (r row) isDetected() bool {
	return !slices.ContainsFunc(r.trials, func(t trial) bool { return len(t.detectedBy()) == 0 })
}

// unusable says which trials nothing can be concluded from.
func (r row) unusable() string {
	var out []string
	for _, t := range r.trials {
		if why := t.unusable(); why != "" {
			out = append(out, t.transport+": "+why)
		}
	}
	return strings.Join(out, "; ")
}

// wrong says in what the table differs from the result, "" if in nothing.
func (r row) wrong() string {
	switch {
	case r.unusable() != "":
		return r.unusable()
	case r.bug.Detected && !r.isDetected():
		return "is not detected; bugs.jsonl says that it is"
	case !r.bug.Detected && r.isDetected():
		return "is detected; bugs.jsonl says that it is not"
	}
	return ""
}

// A tally counts bugs, and those that are detected.
type tally struct{ detected, all int }

func (t *tally) add(detected bool) {
	t.all++
	if detected {
		t.detected++
	}
}

func (t tally) String() string { return fmt.Sprintf("%d of %d", t.detected, t.all) }

// totals sums up the results on servers or on clients.
func totals(rows []row, side string) string {
	var pairs, live tally
	hidden := 0
	for _, r := range rows {
		switch {
		case r.bug.Side != side:
		case r.bug.Hidden:
			hidden++
		case r.bug.isLive():
			live.add(r.isDetected())
		default:
			pairs.add(r.isDetected())
		}
	}
	return fmt.Sprintf("%ss: %v visible pairs detected, %v live bugs detected, %d hidden", side, pairs, live, hidden)
}
