package reports

import (
	"fmt"
	"slices"
	"strings"
)

// The types with the values that html/checks.tmpl shows: the matrix of checks
// and revisions, and the details of each check.
type (
	columnView struct {
		Revision, Year, Day, Transport string
	}
	areaView struct {
		Name   string
		Counts []countView
		Checks []checkView
	}
	checkView struct {
		ID, Says, Level string
		Worst           string // icon
		Verdicts        string // those that occur, for the filter
		Open            bool
		Official        string     // equal checks of the public conformance suite
		Cells           []cellView // one a column
		Outcomes        []outcomeView
	}
	cellView struct {
		Icon, Anchor, Title string // empty where the check has no outcome
	}
	outcomeView struct {
		Anchor, Icon, Verdict, Revision, Transport, Level, MS string
		Full                                                  bool   // shown as a block, else as a line
		Line                                                  string // of a line: all that it says
		Fields                                                []fieldView
		Baselined, Rerun                                      string
		Rules                                                 []Rule
		Spec                                                  *Clause
		Frames                                                framesView
	}
)

func (p *pageView) addColumns(all []suite) {
	several := slices.ContainsFunc(all, func(s suite) bool { return s.Transport != all[0].Transport })
	for _, s := range all {
		c := columnView{Revision: oneLine(string(s.Revision), nameLimit)}
		c.Year, c.Day, _ = strings.Cut(c.Revision, "-")
		if several {
			c.Transport = oneLine(s.Transport, nameLimit)
		}
		p.Columns = append(p.Columns, c)
	}
}

// addAreas adds the checks by area. Areas and checks are in the order in which
// they first ran.
func (p *pageView) addAreas(run *Run, all []suite, budget frameBudget) {
	column := func(o Outcome) int {
		return slices.IndexFunc(all, func(s suite) bool {
			return s.Revision == o.Revision && s.Transport == o.Transport
		})
	}
	var areas []string
	checks := make(map[string][]string)    // by area
	outcomes := make(map[string][]Outcome) // by check
	for _, o := range run.Outcomes {
		if len(outcomes[o.ID]) == 0 {
			if len(checks[o.Area]) == 0 {
				areas = append(areas, o.Area)
			}
			checks[o.Area] = append(checks[o.Area], o.ID)
		}
		outcomes[o.ID] = append(outcomes[o.ID], o)
	}
	for _, area := range areas {
		v := areaView{Name: oneLine(firstNonEmpty(area, "other"), nameLimit)}
		for _, id := range checks[area] {
			of := outcomes[id]
			slices.SortStableFunc(of, func(a, b Outcome) int { return column(a) - column(b) })
			c := viewCheck(of, budget)
			c.Cells = make([]cellView, len(all))
			for _, o := range of {
				c.Cells[column(o)] = viewCell(o)
			}
			v.Checks = append(v.Checks, c)
		}
		v.Counts = countProblems(v.Checks)
		p.Areas = append(p.Areas, v)
	}
}

// countProblems counts the cells of checks that do not pass, by verdict.
func countProblems(checks []checkView) []countView {
	n := make(map[string]int)
	for _, c := range checks {
		for _, cell := range c.Cells {
			n[strings.TrimSuffix(cell.Icon, excusedSuffix)]++
		}
	}
	var out []countView
	for _, v := range []Verdict{Fail, Warn, Broken, NotRun} {
		if n[string(v)] > 0 {
			out = append(out, countView{v, n[string(v)]})
		}
	}
	return out
}

// viewCheck shows a check with its outcomes, which are in the order of the
// columns. Frames are open at the newest outcome that has a block.
func viewCheck(outcomes []Outcome, budget frameBudget) checkView {
	last := outcomes[len(outcomes)-1]
	c := checkView{
		ID: oneLine(last.ID, idLimit), Says: oneLine(last.Says, detailLimit),
		Level:    oneLine(string(last.Level), nameLimit),
		Official: officialNames(outcomes),
	}
	worst, newestFull := len(Verdicts()), -1
	var verdicts []string
	for i, o := range outcomes {
		if rank := slices.Index(Verdicts(), o.Verdict); rank < worst {
			worst, c.Worst = rank, icon(o)
		}
		if !slices.Contains(verdicts, string(o.Verdict)) {
			verdicts = append(verdicts, string(o.Verdict))
		}
		if hasBlock(o) {
			newestFull = i
			c.Open = c.Open || o.Baselined == "" && o.Verdict != Warn
		}
	}
	c.Verdicts = strings.Join(verdicts, " ")
	for i, o := range outcomes {
		c.Outcomes = append(c.Outcomes, viewOutcome(o, budget, i == newestFull))
	}
	return c
}

func viewCell(o Outcome) cellView {
	title := fmt.Sprintf("%s at %s %s: %s", o.ID, o.Revision, o.Transport, o.Verdict)
	if o.Baselined != "" {
		title += ", in the baseline"
	}
	return cellView{Icon: icon(o), Anchor: anchor(o), Title: oneLine(title, detailLimit)}
}

// excusedSuffix marks the icon of an outcome that the baseline excuses.
const excusedSuffix = "-excused"

// icon names the icon of an outcome.
func icon(o Outcome) string {
	if o.isExcused() {
		return string(o.Verdict) + excusedSuffix
	}
	if !slices.Contains(Verdicts(), o.Verdict) {
		return string(Broken)
	}
	return string(o.Verdict)
}

// hasBlock reports whether the page shows an outcome as a block, with all that is
// known of it, instead of as a line.
func hasBlock(o Outcome) bool {
	return o.Verdict == Fail || o.Verdict == Warn || o.Verdict == Broken || len(o.Frames) > 0
}

// officialNames names the equal checks of the public conformance suite.
func officialNames(outcomes []Outcome) string {
	var names []string
	for _, o := range outcomes {
		for _, name := range o.Official {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return oneLine(strings.Join(names, ", "), 2000)
}

func viewOutcome(o Outcome, budget frameBudget, openFrames bool) outcomeView {
	v := outcomeView{
		Anchor: anchor(o), Icon: icon(o), Verdict: oneLine(string(o.Verdict), nameLimit),
		Revision: oneLine(string(o.Revision), nameLimit), Transport: oneLine(o.Transport, nameLimit),
		Level: oneLine(string(o.Level), nameLimit), MS: formatMS(o.MS),
		Full: hasBlock(o), Baselined: oneLine(o.Baselined, detailLimit),
	}
	for _, r := range o.Rules {
		v.Rules = append(v.Rules, Rule{
			ID: oneLine(r.ID, idLimit), Says: oneLine(r.Says, detailLimit),
			Section: oneLine(r.Section, 2*nameLimit), URL: r.URL,
		})
	}
	if o.Spec != nil {
		v.Spec = &Clause{Section: oneLine(o.Spec.Section, 2*nameLimit), URL: o.Spec.URL}
	}
	if !v.Full {
		v.Line = outcomeLine(o)
		return v
	}
	add := func(label, s string) {
		if s != "" {
			v.Fields = append(v.Fields, fieldView{label, oneLine(s, 4000)})
		}
	}
	client, server := evidence(o.Frames)
	add("Client", client)
	add("Server", server)
	add("What happened", o.Detail)
	add("Expected", o.Expected)
	add("Got", o.Got)
	for _, n := range o.Notes {
		add("Note", n)
	}
	add("Known", o.Known)
	add("Cause", o.Cause)
	add("Hint", o.Hint)
	add("Check", o.Where)
	v.Rerun = escape(o.Rerun, "")
	v.Frames = budget.view(o.Frames, openFrames)
	return v
}

// outcomeLine is all that the page says of an outcome without a block.
func outcomeLine(o Outcome) string {
	line := oneLine(o.Detail, detailLimit)
	switch o.Verdict {
	case NotRun, NotObserved, NotApplicable:
		line = oneLine(causeAndHint(o), detailLimit)
	}
	for _, n := range o.Notes {
		line = strings.TrimPrefix(line+"; note: "+oneLine(n, detailLimit), "; ")
	}
	return line
}
