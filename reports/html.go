package reports

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

//go:embed html/page.tmpl
var pageTemplate string

//go:embed html/style.css
var pageStyle string

//go:embed html/script.js
var pageScript string

// WriteHTML writes the run as one page that needs no other file and asks for
// none: a content security policy forbids every request and every script but
// the page's own, so that even a hole in the escaping would not let a target
// run code in it. Without scripts the page lacks its filters and nothing else.
//
// Each outcome has the anchor CHECK@REVISION, on other transports than stdio
// CHECK@REVISION@TRANSPORT.
func WriteHTML(w io.Writer, run *Run) error {
	t, err := template.New("page").Funcs(template.FuncMap{"prose": prose, "fragment": fragment}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := t.Execute(out, newPage(run)); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	return nil
}

// prose escapes a sentence and sets what stands between backticks as code.
func prose(s string) template.HTML {
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 { // an odd backtick is just a sign
		return template.HTML(template.HTMLEscapeString(s))
	}
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(template.HTMLEscapeString(part))
		} else {
			b.WriteString("<code>" + template.HTMLEscapeString(part) + "</code>")
		}
	}
	return template.HTML(b.String())
}

// fragment returns a link within the page. As one value it keeps its @, which
// the template would escape after a # of its own.
func fragment(id ...any) string { return "#" + fmt.Sprint(id...) }

// What the template shows; all strings are visible and cut.
type (
	pageView struct {
		Policy                   string
		Style                    template.CSS
		Script                   template.JS
		Title, Headline, Because string
		State                    string // class of the verdict
		Name, Version, Role      string
		Command                  string
		Tool                     string
		Facts                    []factView
		Totals                   []totalView
		Count                    int // outcomes
		Revisions                []revisionView
		Used                     []Verdict // verdicts that occur, in order
		Notes                    []string
		Attention                []attentionView
		Violations               []violationView
		Findings                 []findingView
		Columns                  []columnView
		Areas                    []areaView
		Checks                   int
	}
	factView  struct{ Label, Value string }
	totalView struct {
		Verdict Verdict
		Means   string
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
	attentionView struct {
		ID, Anchor, Says, Level string
		Verdict                 Verdict
		Glyph                   string
		Places                  []placeView
		What                    string
	}
	placeView     struct{ Anchor, Name string }
	violationView struct{ Entry, Problem, Reason string }
	findingView   struct {
		Finding
		Text   []factView
		Frames framesView
	}
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
		Worst           string // glyph
		Verdicts        string // those that occur, for the filter
		Open            bool
		Official        string     // what of the public suite judges the same
		Cells           []cellView // one a column
		Outcomes        []outcomeView
	}
	cellView struct {
		Glyph, Anchor, Title string // empty where the check has no outcome
	}
	outcomeView struct {
		Anchor, Glyph, Verdict, Revision, Transport, Level, MS string
		Loud                                                   bool // has a block of its own, not a line
		Line                                                   string
		Fields                                                 []factView
		Baselined, Rerun                                       string
		Rules                                                  []Rule
		Frames                                                 framesView
	}
)

func newPage(run *Run) pageView {
	headline, because := conclusion(run)
	hash := sha256.Sum256([]byte(pageScript))
	p := pageView{
		Policy:   "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'",
		Style:    template.CSS(pageStyle),
		Script:   template.JS(pageScript),
		Headline: capital(headline), Because: because, State: state(run),
		Name: oneLine(run.Target.Name, textName), Version: oneLine(run.Target.Version, textName), Role: oneLine(run.Target.Role, textName),
		Tool:  oneLine(run.Tool.Name+" "+run.Tool.Version, textName),
		Count: len(run.Outcomes),
	}
	p.Command = oneLine(run.Target.URL, textLine)
	if p.Command == "" {
		p.Command = oneLine(strings.Join(run.Target.Argv, " "), textLine)
	}
	p.Title = firstOf(p.Name, p.Command, "a target") + ": " + headline
	p.Facts = facts(run)
	t := tally(run)
	for _, v := range Verdicts() {
		if t.of[v] == 0 && v != Fail && v != Warn && v != Pass {
			continue
		}
		view := totalView{Verdict: v, N: t.of[v], Means: meaning(v)}
		switch v {
		case Fail:
			view.Excused = t.failExcused
		case Warn:
			view.Excused = t.warnExcused
		}
		p.Totals = append(p.Totals, view)
		if t.of[v] > 0 {
			p.Used = append(p.Used, v)
		}
	}
	for _, n := range run.Notes {
		p.Notes = append(p.Notes, oneLine(n, textLine))
	}
	for _, v := range run.Baseline {
		p.Violations = append(p.Violations, violationView{oneLine(v.entry(), textLine), oneLine(v.Problem, textLine), oneLine(v.Reason, textLine)})
	}
	all := suites(run)
	p.revisions(run, all)
	for _, excused := range []bool{false, true} {
		for _, v := range []Verdict{Fail, Broken, Warn} {
			for _, c := range complaints(run, v, excused) {
				p.Attention = append(p.Attention, attention(c))
			}
		}
	}
	budget := newFrameBudget(run)
	for _, f := range run.Findings {
		p.Findings = append(p.Findings, finding(f, budget))
	}
	p.areas(run, all, budget)
	return p
}

// capital begins a sentence; the name of the program keeps its small letter.
func capital(s string) string {
	if s == "" || strings.HasPrefix(s, "mcpcheck") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// state is the class of the page's verdict.
func state(run *Run) string {
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

func meaning(v Verdict) string {
	return map[Verdict]string{
		Fail:          "a MUST is broken",
		Warn:          "a SHOULD is broken, or it did not survive a stimulus",
		Broken:        "mcpcheck itself erred",
		NotRun:        "a prerequisite failed",
		Pass:          "the rule was seen to be kept",
		NotObserved:   "nothing gave the rule a subject",
		NotApplicable: "not declared, or not of this revision or transport",
	}[v]
}

func facts(run *Run) []factView {
	var out []factView
	add := func(label, value string) {
		if value != "" {
			out = append(out, factView{label, oneLine(value, textLine)})
		}
	}
	add("Started", run.Started.UTC().Format(time.DateTime)+" UTC")
	add("Took", duration(run.MS))
	if run.Ended != Complete {
		add("Ended", run.Ended)
	}
	if run.Target.Starts > 0 {
		name := "Starts of the target"
		if run.Target.connected() {
			name = "Connections to the target"
		}
		add(name, group(run.Target.Starts))
	}
	if run.Plans > 0 {
		add("Fuzz plans", group(run.Plans))
	}
	add("Seed", fmt.Sprint(run.Seed))
	add("Exit code", fmt.Sprint(run.Exit))
	return out
}

func (p *pageView) revisions(run *Run, all []suite) {
	row := func(r RevisionRun, s suite) {
		v := revisionView{Revision: oneLine(string(r.Revision), textName), Transport: oneLine(s.Transport, textName), Spoken: r.Spoken, Why: oneLine(r.Why, textLine)}
		for _, verdict := range p.Used {
			v.Counts = append(v.Counts, countView{verdict, s.Totals[verdict]})
		}
		p.Revisions = append(p.Revisions, v)
	}
	for _, r := range run.Revisions {
		n := 0
		for _, s := range all {
			if s.Revision == r.Revision {
				row(r, s)
				n++
			}
		}
		if n == 0 {
			row(r, suite{})
		}
	}
	for _, s := range all {
		if !slices.ContainsFunc(run.Revisions, func(r RevisionRun) bool { return r.Revision == s.Revision }) {
			row(RevisionRun{Revision: s.Revision, Spoken: true}, s)
		}
	}
	several := slices.ContainsFunc(all, func(s suite) bool { return s.Transport != all[0].Transport })
	for _, s := range all {
		c := columnView{Revision: oneLine(string(s.Revision), textName)}
		c.Year, c.Day, _ = strings.Cut(c.Revision, "-")
		if several {
			c.Transport = oneLine(s.Transport, textName)
		}
		p.Columns = append(p.Columns, c)
	}
}

func attention(c complaint) attentionView {
	newest := c.Cases[len(c.Cases)-1].Outcome
	v := attentionView{ID: oneLine(c.ID, 200), Says: oneLine(newest.Says, textLine), Level: oneLine(string(newest.Level), textName), Verdict: c.Verdict, Glyph: glyph(newest), What: oneLine(newest.Detail, textLine), Anchor: anchor(newest)}
	for _, k := range c.Cases {
		for _, o := range k.Places {
			name := string(o.Revision)
			if o.Transport != "stdio" {
				name += " " + o.Transport
			}
			v.Places = append(v.Places, placeView{anchor(o), oneLine(name, textName)})
		}
	}
	slices.SortStableFunc(v.Places, func(a, b placeView) int { return strings.Compare(a.Name, b.Name) })
	return v
}

func finding(f Finding, budget frameBudget) findingView {
	v := findingView{Finding: f, Frames: budget.view(f.Frames, true)}
	v.Oracle, v.Says = oneLine(f.Oracle, textLine), oneLine(f.Says, textLine)
	for _, t := range []factView{
		{"at", fmt.Sprintf("%s %s", f.Revision, f.Transport)}, {"seed", fmt.Sprint(f.Seed)}, {"reproduced", f.Reproduced}, {"signature", f.Signature}, {"case", f.Case},
	} {
		if t.Value != "" {
			v.Text = append(v.Text, factView{t.Label, oneLine(t.Value, textLine)})
		}
	}
	v.Replay = visible(f.Replay, "")
	return v
}

// anchor is the id of an outcome in the page, stable over runs.
func anchor(o Outcome) string {
	s := o.ID + "@" + string(o.Revision)
	if o.Transport != "stdio" {
		s += "@" + o.Transport
	}
	return strings.ReplaceAll(visible(s, ""), " ", "_")
}

// glyph names the sign of an outcome.
func glyph(o Outcome) string {
	if o.Baselined != "" && (o.Verdict == Fail || o.Verdict == Warn) {
		return string(o.Verdict) + "-excused"
	}
	if !slices.Contains(Verdicts(), o.Verdict) {
		return string(Broken)
	}
	return string(o.Verdict)
}

// areas builds the matrix and the details: checks in the order in which they
// first ran, areas likewise.
func (p *pageView) areas(run *Run, all []suite, budget frameBudget) {
	column := make(map[[2]string]int)
	for i, s := range all {
		column[[2]string{string(s.Revision), s.Transport}] = i
	}
	type place struct{ area, check int }
	at := make(map[string]place)
	area := make(map[string]int)
	worst := make(map[string]int)
	byCheck := make(map[string][]Outcome)
	for _, o := range run.Outcomes {
		if _, ok := at[o.ID]; !ok {
			a, ok := area[o.Area]
			if !ok {
				a = len(p.Areas)
				area[o.Area] = a
				p.Areas = append(p.Areas, areaView{Name: oneLine(firstOf(o.Area, "other"), textName)})
			}
			at[o.ID] = place{a, len(p.Areas[a].Checks)}
			p.Areas[a].Checks = append(p.Areas[a].Checks, checkView{ID: oneLine(o.ID, 200), Cells: make([]cellView, len(all))})
			worst[o.ID] = len(Verdicts())
			p.Checks++
		}
		byCheck[o.ID] = append(byCheck[o.ID], o)
	}
	for id, outcomes := range byCheck {
		c := &p.Areas[at[id].area].Checks[at[id].check]
		slices.SortStableFunc(outcomes, func(a, b Outcome) int {
			return column[[2]string{string(a.Revision), a.Transport}] - column[[2]string{string(b.Revision), b.Transport}]
		})
		var verdicts []string
		newestLoud := -1
		c.Official = official(outcomes)
		for i, o := range outcomes {
			c.Says, c.Level = oneLine(o.Says, textLine), oneLine(string(o.Level), textName)
			if rank := slices.Index(Verdicts(), o.Verdict); rank < worst[id] {
				worst[id], c.Worst = rank, glyph(o)
			}
			if !slices.Contains(verdicts, string(o.Verdict)) {
				verdicts = append(verdicts, string(o.Verdict))
			}
			if loud(o) {
				newestLoud = i
				c.Open = c.Open || o.Baselined == "" && o.Verdict != Warn
			}
			title := string(o.Verdict)
			if o.Baselined != "" {
				title += ", in the baseline"
			}
			c.Cells[column[[2]string{string(o.Revision), o.Transport}]] = cellView{Glyph: glyph(o), Anchor: anchor(o), Title: oneLine(fmt.Sprintf("%s at %s %s: %s", o.ID, o.Revision, o.Transport, title), textLine)}
		}
		if c.Worst == "" {
			c.Worst = string(Broken)
		}
		c.Verdicts = strings.Join(verdicts, " ")
		for i, o := range outcomes {
			c.Outcomes = append(c.Outcomes, outcome(o, budget, i == newestLoud))
		}
	}
	for i := range p.Areas {
		of := make(map[string]int)
		for _, c := range p.Areas[i].Checks {
			for _, cell := range c.Cells {
				of[strings.TrimSuffix(cell.Glyph, "-excused")]++
			}
		}
		for _, v := range []Verdict{Fail, Warn, Broken, NotRun} {
			if n := of[string(v)]; n > 0 {
				p.Areas[i].Counts = append(p.Areas[i].Counts, countView{v, n})
			}
		}
	}
}

// loud tells whether an outcome is shown with all that is known of it.
func loud(o Outcome) bool {
	return o.Verdict == Fail || o.Verdict == Warn || o.Verdict == Broken || len(o.Frames) > 0
}

// official names each check of the public suite that judges as these outcomes
// of one check do.
func official(outcomes []Outcome) string {
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

func outcome(o Outcome, budget frameBudget, open bool) outcomeView {
	v := outcomeView{
		Anchor: anchor(o), Glyph: glyph(o), Verdict: oneLine(string(o.Verdict), textName), Revision: oneLine(string(o.Revision), textName), Transport: oneLine(o.Transport, textName),
		Level: oneLine(string(o.Level), textName), MS: duration(o.MS), Loud: loud(o), Baselined: oneLine(o.Baselined, textLine),
	}
	for _, r := range o.Rules {
		v.Rules = append(v.Rules, Rule{ID: oneLine(r.ID, 200), Says: oneLine(r.Says, textLine), Section: oneLine(r.Section, 200), URL: r.URL})
	}
	if !v.Loud {
		switch o.Verdict {
		case NotRun, NotObserved, NotApplicable:
			v.Line = oneLine(reason(o), textLine)
		default:
			v.Line = oneLine(o.Detail, textLine)
		}
		for _, n := range o.Notes {
			v.Line = strings.TrimPrefix(v.Line+"; note: "+oneLine(n, textLine), "; ")
		}
		return v
	}
	add := func(label, s string) {
		if s != "" {
			v.Fields = append(v.Fields, factView{label, oneLine(s, 4000)})
		}
	}
	add("What happened", o.Detail)
	add("Expected", o.Expected)
	add("Got", o.Got)
	for _, n := range o.Notes {
		add("Note", n)
	}
	add("Cause", o.Cause)
	add("Would need", o.Hint)
	add("Check", o.Where)
	v.Rerun = visible(o.Rerun, "")
	v.Frames = budget.view(o.Frames, open)
	return v
}
