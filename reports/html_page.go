package reports

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// The types with the values that html/page.tmpl shows. All strings are escaped
// by oneLine and cut.
type (
	pageView struct {
		Policy                  string
		Style                   template.CSS
		Script                  template.JS
		Title, Headline, Counts string
		State                   string // class of the conclusion
		Name, Version, Role     string
		Command                 string
		Tool                    string
		Facts                   []fieldView
		Totals                  []totalView
		Count                   int // outcomes
		Revisions               []revisionView
		Used                    []Verdict // verdicts that occur, in order
		Notes                   []string
		Problems                []problemView
		Baseline                []baselineView
		Findings                []findingView
		Columns                 []columnView
		Areas                   []areaView
	}
	fieldView struct{ Label, Value string }
	totalView struct {
		Verdict Verdict
		Meaning string
		N       int
		Excused int
	}
	revisionView struct {
		Revision, Transport string
		Spoken              bool
		Why                 string
		Counts              []countView
	}
	countView struct {
		Verdict Verdict
		N       int
	}
	problemView struct {
		ID, Anchor, Says, Level string
		Icon                    string
		Places                  []placeView
		What, Known             string
		Also                    []placeView // other checks that saw it
	}
	placeView    struct{ Anchor, Name string }
	baselineView struct{ Entry, Problem, Reason string }
	findingView  struct {
		Oracle, Says, Replay string
		Fields               []fieldView
		Frames               framesView
	}
)

func newPage(run *Run) pageView {
	p := pageView{
		Policy: policy(), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Headline: capitalize(headline(run)), Counts: summarizeCounts(run), State: stateClass(run),
		Name:    oneLine(run.Target.Name, nameLimit),
		Version: oneLine(run.Target.Version, nameLimit),
		Role:    oneLine(run.Target.Role, nameLimit),
		Command: oneLine(run.Target.command(), detailLimit),
		Tool:    oneLine(run.Tool.Name+" "+run.Tool.Version, nameLimit),
		Facts:   facts(run),
		Count:   len(run.Outcomes),
	}
	p.Title = firstNonEmpty(p.Name, p.Command, "a target") + ": " + headline(run)
	for _, n := range run.Notes {
		for line := range strings.SplitSeq(n, "\n") {
			p.Notes = append(p.Notes, oneLine(line, detailLimit))
		}
	}
	for _, b := range run.Baseline {
		p.Baseline = append(p.Baseline, baselineView{
			oneLine(b.entry(), detailLimit), oneLine(b.Problem, detailLimit), oneLine(b.Reason, detailLimit),
		})
	}
	p.addTotals(tallyOf(run))
	all := suitesOf(run)
	p.addRevisions(run, all)
	for _, excused := range []bool{false, true} {
		for _, problem := range problemsOf(run, excused) {
			p.Problems = append(p.Problems, viewProblem(problem))
		}
	}
	budget := newFrameBudget(run)
	for _, f := range run.Findings {
		p.Findings = append(p.Findings, viewFinding(f, budget))
	}
	p.addColumns(all)
	p.addAreas(run, all, budget)
	return p
}

// capitalize begins a sentence. The name of the program keeps its lower case.
func capitalize(s string) string {
	if strings.HasPrefix(s, "mcpcheck") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// stateClass is the CSS class of the conclusion.
func stateClass(run *Run) string {
	switch run.Exit {
	case ExitConforms:
		return string(Pass)
	case ExitFails:
		return string(Fail)
	case ExitBroken:
		return string(Broken)
	}
	return string(NotRun)
}

var meanings = map[Verdict]string{
	Fail:          "a MUST is broken",
	Warn:          "a SHOULD is broken, or a robustness check failed",
	Broken:        "an error of mcpcheck itself",
	NotRun:        "a prerequisite failed, or the run ended early",
	Pass:          "the target kept the rule",
	NotObserved:   "the situation never came up",
	NotApplicable: "not declared, or not of this revision or transport",
}

func facts(run *Run) []fieldView {
	var out []fieldView
	add := func(label, value string) {
		if value != "" {
			out = append(out, fieldView{label, oneLine(value, detailLimit)})
		}
	}
	add("Started", run.Started.UTC().Format(time.DateTime)+" UTC")
	add("Took", formatMS(run.MS))
	if run.Ended != Complete {
		add("Ended", run.Ended)
	}
	if run.Target.Starts > 0 {
		label := "Starts of the target"
		if run.Target.hasURL() {
			label = "Connections to the target"
		}
		add(label, formatInt(run.Target.Starts))
	}
	if run.Plans > 0 {
		add("Fuzz plans", formatInt(run.Plans))
	}
	add("Seed", fmt.Sprint(run.Seed))
	add("Exit code", fmt.Sprint(run.Exit))
	return out
}

func (p *pageView) addTotals(t tally) {
	for _, v := range Verdicts() {
		if t.of[v] > 0 {
			p.Used = append(p.Used, v)
		}
		if t.of[v] > 0 || v == Fail || v == Warn || v == Pass {
			p.Totals = append(p.Totals, totalView{Verdict: v, Meaning: meanings[v], N: t.of[v], Excused: t.excused[v]})
		}
	}
}

// addRevisions adds a row for each suite, and one for each revision that has
// none.
func (p *pageView) addRevisions(run *Run, all []suite) {
	addRow := func(r RevisionRun, s suite) {
		v := revisionView{
			Revision: oneLine(string(r.Revision), nameLimit), Transport: oneLine(s.Transport, nameLimit),
			Spoken: r.Spoken, Why: oneLine(r.Why, detailLimit),
		}
		for _, verdict := range p.Used {
			v.Counts = append(v.Counts, countView{verdict, s.Totals[verdict]})
		}
		p.Revisions = append(p.Revisions, v)
	}
	for _, r := range run.Revisions {
		n := 0
		for _, s := range all {
			if s.Revision == r.Revision {
				addRow(r, s)
				n++
			}
		}
		if n == 0 {
			addRow(r, suite{})
		}
	}
	for _, s := range all {
		if !slices.ContainsFunc(run.Revisions, func(r RevisionRun) bool { return r.Revision == s.Revision }) {
			addRow(RevisionRun{Revision: s.Revision, Spoken: true}, s)
		}
	}
}

func viewProblem(p problem) problemView {
	newest := p.newest()
	v := problemView{
		ID: oneLine(p.ID, idLimit), Anchor: anchor(newest), Icon: icon(newest),
		Says:  oneLine(newest.Says, detailLimit),
		Level: oneLine(string(newest.Level), nameLimit),
		What:  oneLine(newest.Detail, detailLimit),
		Known: oneLine(newest.Known, detailLimit),
	}
	for _, other := range p.Also {
		v.Also = append(v.Also, placeView{anchor(other.Outcome), alsoText(other)})
	}
	for _, variant := range p.Variants {
		for _, o := range variant.Places {
			name := string(o.Revision)
			if o.Transport != "stdio" {
				name += " " + o.Transport
			}
			v.Places = append(v.Places, placeView{anchor(o), oneLine(name, nameLimit)})
		}
	}
	slices.SortStableFunc(v.Places, func(a, b placeView) int { return strings.Compare(a.Name, b.Name) })
	return v
}

func viewFinding(f Finding, budget frameBudget) findingView {
	v := findingView{
		Oracle: oneLine(f.Oracle, detailLimit), Says: oneLine(f.Says, detailLimit), Replay: escape(f.Replay, ""),
		Frames: budget.view(f.Frames, true),
	}
	for _, t := range []fieldView{
		{"at", fmt.Sprintf("%s %s", f.Revision, f.Transport)},
		{"seed", fmt.Sprint(f.Seed)},
		{"reproduced", f.Reproduced},
		{"signature", f.Signature},
		{"case", f.Case},
	} {
		if t.Value != "" {
			v.Fields = append(v.Fields, fieldView{t.Label, oneLine(t.Value, detailLimit)})
		}
	}
	return v
}
