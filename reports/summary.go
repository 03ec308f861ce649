package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// How much of a string a target controls is shown in text.
const (
	textLine  = 600 // detail, expected, got
	textName  = 100 // names and versions
	textFirst = 4   // ids shown of a group without verdict
)

// Summary writes what a run came to, for a person at a terminal: the target,
// what each revision came to, each fail and warn with its rule and the command
// that reruns it, what could not be judged and why, and as the last line the
// verdict that run.Exit stands for. Whatever comes from the target is made
// visible and cut.
func Summary(w io.Writer, run *Run, text Text) error {
	out := bufio.NewWriter(w)
	p := printer{w: out, Text: text}
	if !text.Quiet {
		p.head(run)
		p.revisions(run)
	}
	for _, v := range []Verdict{Fail, Broken, Warn} {
		if v == Warn && text.Quiet {
			continue
		}
		p.complaints(v, false, complaints(run, v, false))
	}
	p.findings(run.Findings)
	p.violations(run.Baseline)
	if !text.Quiet {
		for _, v := range []Verdict{Fail, Warn} {
			p.complaints(v, true, complaints(run, v, true))
		}
		p.silences("Not run", silences(run, NotRun))
		p.silences("Not observed", silences(run, NotObserved))
		for _, n := range run.Notes {
			p.para("", "note: "+oneLine(n, textLine))
		}
	}
	p.verdict(run)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

type printer struct {
	Text
	w *bufio.Writer
}

func (p printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// para writes s wrapped, every line after the first indented like it.
func (p printer) para(label, s string) {
	width := 0
	if p.Width > 0 {
		width = max(p.Width-columns(label), 20)
	}
	for i, l := range wrap(s, width) {
		if i > 0 {
			label = strings.Repeat(" ", columns(label))
		}
		p.line("%s%s", label, l)
	}
}

func (p printer) head(run *Run) {
	what := run.Target.URL
	if what == "" {
		what = strings.Join(run.Target.Argv, " ")
	}
	p.line("%s %s  %s %s", p.strong(oneLine(run.Tool.Name, textName)), oneLine(run.Tool.Version, textName), oneLine(run.Target.Role, textName), oneLine(what, 300))
	var parts []string
	if run.Target.Name != "" {
		parts = append(parts, strings.TrimSpace(oneLine(run.Target.Name, textName)+" "+oneLine(run.Target.Version, textName)))
	}
	parts = append(parts, startsText(run.Target), duration(run.MS), fmt.Sprintf("seed %d", run.Seed))
	if run.Ended != Complete && run.Ended != "" {
		parts = append(parts, "ended: "+oneLine(run.Ended, textName))
	}
	p.line("%s\n", strings.Join(parts, " · "))
}

// revisions writes the totals, a row for each revision and transport, and why
// a revision is not spoken.
func (p printer) revisions(run *Run) {
	all := suites(run)
	var used []Verdict
	for _, v := range Verdicts() {
		for _, s := range all {
			if s.Totals[v] > 0 {
				used = append(used, v)
				break
			}
		}
	}
	label := 0
	for _, s := range all {
		label = max(label, len(oneLine(s.name(), 60)))
	}
	if len(all) > 0 {
		var b strings.Builder
		fmt.Fprintf(&b, "%-*s", label, "")
		for _, v := range used {
			fmt.Fprintf(&b, "  %s", v)
		}
		p.line("%s", p.faint(b.String()))
		row := func(name string, of func(Verdict) int) {
			var b strings.Builder
			fmt.Fprintf(&b, "%-*s", label, name)
			for _, v := range used {
				n := of(v)
				cell := fmt.Sprintf("%*s", len(v), group(n))
				if n > 0 {
					cell = p.paint(v, cell)
				} else {
					cell = p.faint(fmt.Sprintf("%*s", len(v), "."))
				}
				b.WriteString("  " + cell)
			}
			p.line("%s", b.String())
		}
		for _, s := range all {
			row(oneLine(s.name(), 60), func(v Verdict) int { return s.Totals[v] })
		}
		if len(all) > 1 {
			t := tally(run)
			row("all", func(v Verdict) int { return t.of[v] })
		}
	}
	for _, r := range run.Revisions {
		if !r.Spoken {
			why := r.Why
			if why == "" {
				why = "no reason is known"
			}
			p.para(oneLine(string(r.Revision), textName)+" is not spoken: ", oneLine(why, textLine))
		}
	}
	p.line("")
}

func (p printer) complaints(v Verdict, excused bool, all []complaint) {
	for _, c := range all {
		first := c.Cases[0]
		head := fmt.Sprintf("%s  %s", p.paint(v, word(v)), p.strong(oneLine(c.ID, 120)))
		if excused {
			head += "  (in the baseline)"
		}
		p.line("%s", head)
		p.para("  ", oneLine(first.Says, textLine))
		for _, k := range c.Cases {
			p.complaintCase(k)
		}
		p.line("")
	}
}

func (p printer) complaintCase(k complaintCase) {
	p.para("  at        ", places(k.Places))
	field := func(label, s string) {
		if s != "" {
			p.para(fmt.Sprintf("  %-10s", label), oneLine(s, textLine))
		}
	}
	field("excused", k.Baselined)
	field("what", k.Detail)
	field("expected", k.Expected)
	field("got", k.Got)
	for _, n := range k.Notes {
		field("note", n)
	}
	for _, r := range k.Rules {
		p.line("  rule      %s %s (%s)", oneLine(string(k.Level), textName), oneLine(r.ID, 120), oneLine(r.Section, 200))
		if r.URL != "" {
			p.line("            %s", oneLine(r.URL, 400))
		}
	}
	if k.Verdict == Broken {
		field("where", k.Where)
	}
	if k.Rerun != "" {
		// Never wrapped: it is there to be copied.
		p.line("  rerun     %s", visible(k.Rerun, ""))
	}
}

// places is "2025-06-18, 2025-11-25 stdio".
func places(outcomes []Outcome) string {
	var b strings.Builder
	for i, o := range outcomes {
		if i > 0 {
			if last := outcomes[i-1]; last.Transport != o.Transport {
				b.WriteString(" " + last.Transport)
			}
			b.WriteString(", ")
		}
		b.WriteString(string(o.Revision))
	}
	b.WriteString(" " + outcomes[len(outcomes)-1].Transport)
	return oneLine(b.String(), 400)
}

func (p printer) findings(all []Finding) {
	for _, f := range all {
		p.line("%s  %s", p.paint(Fail, "FINDING"), p.strong(oneLine(f.Oracle, 200)))
		p.para("  ", oneLine(f.Says, textLine))
		at := fmt.Sprintf("%s %s, seed %d, reproduced %s, %s", f.Revision, f.Transport, f.Seed, f.Reproduced, plural(len(f.Frames), "frame", "frames"))
		p.para("  at        ", oneLine(at, textLine))
		if f.Case != "" {
			p.line("  case      %s", visible(f.Case, ""))
		}
		if f.Replay != "" {
			p.line("  replay    %s", visible(f.Replay, ""))
		}
		p.line("")
	}
}

func (p printer) violations(all []BaselineViolation) {
	for _, v := range all {
		p.line("%s  %s", p.paint(Fail, "BASELINE"), p.strong(oneLine(v.entry(), 200)))
		p.para("  ", oneLine(v.Problem, textLine))
		p.para("  excused as ", oneLine(v.Reason, textLine))
		p.line("")
	}
}

// entry names the entry as a reader finds it in the file.
func (v BaselineViolation) entry() string {
	s := v.Check
	if v.Revision != "" {
		s += " " + v.Revision
	}
	if v.Transport != "" {
		s += " " + v.Transport
	}
	if v.Line > 0 {
		s += fmt.Sprintf(" (line %d)", v.Line)
	}
	return s
}

func (p printer) silences(title string, all []silence) {
	if len(all) == 0 {
		return
	}
	p.line("%s", p.strong(title))
	hint := ""
	for _, s := range all { // what the same would change stands together
		margin := "  "
		if s.Hint != "" {
			if s.Hint != hint {
				p.para("  ", oneLine("would need: "+s.Hint, textLine))
			}
			margin = "    "
		}
		hint = s.Hint
		p.para(margin, oneLine(s.Reason, textLine))
		ids := s.Checks
		more := ""
		if len(ids) > textFirst+1 {
			more = fmt.Sprintf(" and %s more", group(len(ids)-textFirst))
			ids = ids[:textFirst]
		}
		p.para(margin+"  ", fmt.Sprintf("%s: %s%s", plural(s.Count, "verdict", "verdicts"), oneLine(strings.Join(ids, ", "), textLine), more))
	}
	p.line("")
}

func (p printer) verdict(run *Run) {
	headline, because := conclusion(run)
	v := Fail
	switch run.Exit {
	case ExitConforms:
		v = Pass
	case ExitBroken:
		v = Broken
	case ExitNotJudged, ExitInterrupted:
		v = Warn
	}
	p.line("%s: %s (exit %d)", p.paint(v, headline), because, run.Exit)
}

// connected tells whether the target was not started for each connection to it:
// it serves at a URL.
func (t Target) connected() bool { return t.URL != "" }

// startsText tells how often a target was started or connected to.
func startsText(t Target) string {
	if t.connected() {
		return plural(t.Starts, "connection", "connections")
	}
	return plural(t.Starts, "start", "starts")
}
