package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// How much a brief summary shows, so that a server with two fails fits 40 lines.
const (
	briefFails = 3 // fails with expected, got, rule and rerun; the others take a line each
	briefWarns = 5
	briefHints = 2
	briefSteps = 3
	briefRun   = 3 // reasons why checks were not run
)

// A Step is a command for the user to run next.
type Step struct {
	Command string
	Why     string
}

// brief writes what fails and warns, a line or a few for each, what was not exercised, and
// the next commands.
func (p printer) brief(run *Run) {
	fails, warns := splitWarns(problemsOf(run, false))
	p.briefProblems(fails, warns)
	p.findings(run.Findings)
	p.baselineProblems(run.Baseline)
	p.briefKnown(slices.Concat(fails, warns))
	if !p.Quiet {
		p.unjudged("Not run", firstOf(unjudgedOf(run, NotRun), briefRun))
		p.briefUnobserved(run)
	}
	if !p.Quiet || run.Exit == ExitNotJudged {
		for _, n := range run.Notes {
			p.note(n)
		}
	}
	if !p.Quiet {
		for _, s := range firstOf(p.Next, briefSteps) {
			p.line("%s  %s", escape(s.Command, ""), p.faint("# "+s.Why))
		}
	}
}

// splitWarns splits problems into those that fail or are broken, and those that warn.
func splitWarns(all []problem) (fails, warns []problem) {
	for _, c := range all {
		if c.Verdict == Warn {
			warns = append(warns, c)
		} else {
			fails = append(fails, c)
		}
	}
	return fails, warns
}

func (p printer) briefProblems(fails, warns []problem) {
	for i, c := range fails {
		if i >= briefFails {
			p.briefLine(c, c.what())
			continue
		}
		o := c.newest()
		p.briefLine(c, c.where())
		p.briefField("what", firstNonEmpty(o.Detail, o.Says))
		switch {
		case o.Expected != "" && o.Got != "":
			p.briefField("expected", o.Expected+"; got "+o.Got)
		case o.Expected != "":
			p.briefField("expected", o.Expected)
		case o.Got != "":
			p.briefField("got", o.Got)
		}
		if c.Verdict == Broken {
			p.field("where", o.Where)
		}
		level := oneLine(string(o.Level), nameLimit)
		switch {
		case len(o.Rules) > 0:
			p.copyable("rule", fmt.Sprintf("%s %s", level, oneLine(o.Rules[0].URL, 4*nameLimit)))
		case o.Spec != nil:
			url := oneLine(o.Spec.URL, 4*nameLimit)
			p.copyable("rule", fmt.Sprintf("%s, no clause requires it; see %s", level, url))
		}
		p.copyable("rerun", escape(o.Rerun, ""))
		p.line("")
	}
	shown := warns
	if len(warns) > briefWarns+1 {
		shown = warns[:briefWarns]
	}
	for _, c := range shown {
		p.briefLine(c, c.what())
	}
	if n := len(warns) - len(shown); n > 0 {
		p.line("%s  %s more; --verbose shows all with messages and rules", p.paint(Warn, "..."), formatInt(n))
	}
	if len(warns) > 0 || len(fails) > briefFails {
		p.line("")
	}
}

// where returns the revisions and transports of a problem.
func (c problem) where() string {
	places := slices.Concat(placesOf(c.Variants)...)
	slices.SortStableFunc(places, func(a, b Outcome) int { return cmp.Compare(a.Transport, b.Transport) })
	return placesText(places)
}

// what returns the deviation in words.
func (c problem) what() string {
	return oneLine(firstNonEmpty(c.newest().Detail, c.newest().Says), commandLimit)
}

// briefLine writes the id of a problem and a text about it in one line.
func (p printer) briefLine(c problem, text string) {
	name, id := label(c.Verdict)+"  ", oneLine(c.ID, idLimit)
	if p.Width > 0 {
		id = cutToWidth(id, max(p.Width-textWidth(name), 20))
		text = cutToWidth(text, max(p.Width-textWidth(name+id)-2, 0))
	}
	p.line("%s%s  %s", p.paint(c.Verdict, name), p.bold(id), text)
}

// briefField writes a labeled value in one line.
func (p printer) briefField(name, s string) {
	const indent = 12
	p.line("  %-10s%s", name, p.cut(oneLine(s, commandLimit), indent))
}

// cut cuts s so that it fits the terminal after some cells.
func (p printer) cut(s string, after int) string {
	if p.Width <= 0 {
		return s
	}
	return cutToWidth(s, max(p.Width-after, 20))
}

// briefKnown names the problems that an SDK causes.
func (p printer) briefKnown(all []problem) {
	var texts []string
	of := map[string][]string{}
	for _, c := range all {
		text := c.newest().Known
		if text == "" {
			continue
		}
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], c.ID)
	}
	for _, text := range texts {
		ids := of[text]
		more := ""
		if len(ids) > checksShown {
			more = fmt.Sprintf(" and %s more", formatInt(len(ids)-checksShown))
		}
		line := "known: " + strings.Join(firstOf(ids, checksShown), ", ") + more + ". " + text
		p.line("%s", p.cut(oneLine(line, detailLimit), 0))
	}
}

// briefUnobserved says how many checks were not observed, and the hints that would lead
// to most verdicts.
func (p printer) briefUnobserved(run *Run) {
	exercised, applicable := countExercised(run)
	unseen := applicable - exercised
	all := unjudgedOf(run, NotObserved)
	if unseen == 0 || len(all) == 0 {
		return
	}
	of := map[string]map[string]bool{} // the checks that each hint would exercise
	var hints []string
	for _, u := range all {
		if u.Hint == "" {
			continue
		}
		if of[u.Hint] == nil {
			of[u.Hint] = map[string]bool{}
			hints = append(hints, u.Hint)
		}
		for _, id := range u.Checks {
			of[u.Hint][id] = true
		}
	}
	slices.SortStableFunc(hints, func(a, b string) int { return cmp.Compare(len(of[b]), len(of[a])) })
	p.line("%s not exercised. To exercise more (--verbose shows all):",
		plural(unseen, "applicable check was", "applicable checks were"))
	for _, h := range firstOf(hints, briefHints) {
		p.line("%s", p.cut(fmt.Sprintf("  %s: %s", plural(len(of[h]), "check", "checks"), oneLine(h, detailLimit)), 0))
	}
	p.line("")
}

// firstOf returns at most the first n of a list.
func firstOf[T any](all []T, n int) []T { return all[:min(n, len(all))] }
