package reports

import (
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A suite is what ran at one revision on one transport.
type suite struct {
	Revision  spec.Revision
	Transport string
	Outcomes  []Outcome
	Totals    map[Verdict]int
	MS        float64
}

// name is "2025-06-18 stdio".
func (s suite) name() string { return string(s.Revision) + " " + s.Transport }

// suites splits the outcomes by revision and transport, in the order in which
// the run lists its revisions; what it does not list follows as it came.
func suites(run *Run) []suite {
	var all []suite
	at := make(map[[2]string]int)
	for _, o := range run.Outcomes {
		key := [2]string{string(o.Revision), o.Transport}
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
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

// A complaint is one check with one verdict: what a reader looks into as one
// thing, however many revisions show it.
type complaint struct {
	ID      string
	Verdict Verdict
	Cases   []complaintCase
}

// A complaintCase is what happened, the same at each place.
type complaintCase struct {
	Outcome           // the last of them, so the newest revision's rules
	Places  []Outcome // one or more
}

// complaints groups the outcomes of a verdict by check, and within a check
// those that say the same thing. Excused and unexcused ones stay apart.
func complaints(run *Run, v Verdict, excused bool) []complaint {
	var all []complaint
	for _, o := range run.Outcomes {
		if o.Verdict != v || (o.Baselined != "") != excused {
			continue
		}
		i := slices.IndexFunc(all, func(c complaint) bool { return c.ID == o.ID })
		if i < 0 {
			i = len(all)
			all = append(all, complaint{ID: o.ID, Verdict: v})
		}
		c := &all[i]
		j := slices.IndexFunc(c.Cases, func(k complaintCase) bool {
			return unnumbered(k.Detail) == unnumbered(o.Detail) && k.Expected == o.Expected && unnumbered(k.Got) == unnumbered(o.Got) && k.Baselined == o.Baselined
		})
		if j < 0 {
			c.Cases = append(c.Cases, complaintCase{Outcome: o, Places: []Outcome{o}})
			continue
		}
		c.Cases[j].Outcome = o
		c.Cases[j].Places = append(c.Cases[j].Places, o)
	}
	return all
}

// unnumbered is a text without the ids that a session counted up to, which say
// nothing of what happened.
func unnumbered(text string) string { return counted.ReplaceAllString(text, "id") }

var counted = regexp.MustCompile(`\bid [0-9]{1,6}\b`)

// A silence is a set of checks without verdict for one reason.
type silence struct {
	Reason string
	Hint   string   // what would change it, "" if nothing is known to
	Checks []string // ids, each once
	Count  int      // outcomes
}

// silences groups the outcomes of a verdict by the reason given, so that one
// cause is shown once, and puts together what the same would change: first what
// nothing would.
func silences(run *Run, v Verdict) []silence {
	var all []silence
	for _, o := range run.Outcomes {
		if o.Verdict != v {
			continue
		}
		why := cause(o)
		i := slices.IndexFunc(all, func(s silence) bool { return s.Reason == why && s.Hint == o.Hint })
		if i < 0 {
			i = len(all)
			all = append(all, silence{Reason: why, Hint: o.Hint})
		}
		all[i].Count++
		if !slices.Contains(all[i].Checks, o.ID) {
			all[i].Checks = append(all[i].Checks, o.ID)
		}
	}
	hints := []string{""}
	for _, s := range all {
		if !slices.Contains(hints, s.Hint) {
			hints = append(hints, s.Hint)
		}
	}
	slices.SortStableFunc(all, func(a, b silence) int { return slices.Index(hints, a.Hint) - slices.Index(hints, b.Hint) })
	return all
}

// reason returns why an outcome is not-run, not-observed or not-applicable,
// and what would change that.
func reason(o Outcome) string {
	if o.Hint == "" {
		return cause(o)
	}
	return cause(o) + "; would need: " + o.Hint
}

// cause returns why an outcome is not-run, not-observed or not-applicable.
func cause(o Outcome) string {
	switch {
	case o.Cause != "":
		return o.Cause
	case o.Detail != "":
		return o.Detail
	}
	switch o.Verdict {
	case NotRun:
		return "a prerequisite failed"
	case NotObserved:
		return "nothing in the session gave the rule a subject"
	case NotApplicable:
		return "not of this revision, transport or target"
	}
	return string(o.Verdict)
}
