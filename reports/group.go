package reports

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A suite is the outcomes of one revision over one transport: a row of the
// summary, a column of the HTML matrix, a testsuite of JUnit.
type suite struct {
	Revision  spec.Revision
	Transport string
	Outcomes  []Outcome
	Totals    map[Verdict]int
	MS        float64
}

// name is "2025-06-18 stdio".
func (s suite) name() string { return string(s.Revision) + " " + s.Transport }

// suitesOf splits the outcomes by revision and transport, in the order in which
// the run lists its revisions. Revisions that it does not list follow in the
// order of their first outcome.
func suitesOf(run *Run) []suite {
	var all []suite
	index := make(map[[2]string]int)
	for _, o := range run.Outcomes {
		key := [2]string{string(o.Revision), o.Transport}
		i, ok := index[key]
		if !ok {
			i = len(all)
			index[key] = i
			all = append(all, suite{Revision: o.Revision, Transport: o.Transport, Totals: make(map[Verdict]int)})
		}
		all[i].Outcomes = append(all[i].Outcomes, o)
		all[i].Totals[o.Verdict]++
		all[i].MS += o.MS
	}
	rank := func(s suite) int {
		i := slices.IndexFunc(run.Revisions, func(r RevisionRun) bool { return r.Revision == s.Revision })
		if i < 0 {
			return len(run.Revisions)
		}
		return i
	}
	slices.SortStableFunc(all, func(a, b suite) int { return rank(a) - rank(b) })
	return all
}

// An unjudged is the checks that have no verdict for one reason.
type unjudged struct {
	Reason string
	Hint   string   // what would lead to a verdict, "" if unknown
	Checks []string // ids, each once
	Count  int      // outcomes
}

// unjudgedOf groups the outcomes of a verdict by reason, so that a reader sees
// each cause once. Groups with the same hint follow each other; those without a
// hint are first.
func unjudgedOf(run *Run, v Verdict) []unjudged {
	var all []unjudged
	for _, o := range run.Outcomes {
		if o.Verdict != v {
			continue
		}
		why := cause(o)
		i := slices.IndexFunc(all, func(u unjudged) bool { return u.Reason == why && u.Hint == o.Hint })
		if i < 0 {
			i = len(all)
			all = append(all, unjudged{Reason: why, Hint: o.Hint})
		}
		all[i].Count++
		if !slices.Contains(all[i].Checks, o.ID) {
			all[i].Checks = append(all[i].Checks, o.ID)
		}
	}
	hints := []string{""}
	for _, u := range all {
		if !slices.Contains(hints, u.Hint) {
			hints = append(hints, u.Hint)
		}
	}
	slices.SortStableFunc(all, func(a, b unjudged) int {
		return slices.Index(hints, a.Hint) - slices.Index(hints, b.Hint)
	})
	return all
}

// causeAndHint returns why an outcome is not-run, not-observed or
// not-applicable, and what would lead to a verdict.
func causeAndHint(o Outcome) string {
	if o.Hint == "" {
		return cause(o)
	}
	return cause(o) + "; hint: " + o.Hint
}

// cause returns why an outcome is not-run, not-observed or not-applicable.
func cause(o Outcome) string {
	if o.Cause != "" && o.Detail != "" {
		return o.Detail + " (" + o.Cause + ")"
	}
	if why := firstNonEmpty(o.Cause, o.Detail); why != "" {
		return why
	}
	switch o.Verdict {
	case NotRun:
		return "a prerequisite failed"
	case NotObserved:
		return "this situation never came up"
	case NotApplicable:
		return "not of this revision, transport or target"
	}
	return string(o.Verdict)
}
