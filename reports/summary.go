package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The limits, in bytes, on strings that a target controls.
const (
	detailLimit  = 600 // detail, expected, got, hints
	commandLimit = 300
	idLimit      = 200
	nameLimit    = 100 // names and versions
	suiteLimit   = 60  // a revision and a transport
)

// checksShown is how many checks the summary names of a group without verdict.
const checksShown = 4

// WriteSummary writes the result of a run for a person at a terminal: the target, the
// totals of each revision, each deviation once, what was not judged, and in the last line
// the conclusion that run.Exit stands for. It is short unless o.Verbose is set. It escapes
// and cuts whatever the target sent.
func WriteSummary(w io.Writer, run *Run, o TextOptions) error {
	out := bufio.NewWriter(w)
	p := printer{TextOptions: o, w: out}
	if !o.Quiet {
		p.head(run)
		p.totals(run)
	}
	if o.Verbose {
		p.whole(run)
	} else {
		p.brief(run)
	}
	p.conclusion(run)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// whole writes each deviation with its messages and rules, the command that reruns it and
// the other checks that saw it, and all that was not judged with the reasons.
func (p printer) whole(run *Run) {
	p.problems(problemsOf(run, false), "")
	p.findings(run.Findings)
	p.baselineProblems(run.Baseline)
	if !p.Quiet {
		p.problems(problemsOf(run, true), "  (in the baseline)")
		p.unjudged("Not run", unjudgedOf(run, NotRun))
		p.unjudged("Not observed", unjudgedOf(run, NotObserved))
	}
	if !p.Quiet || run.Exit == ExitNotJudged { // the notes say why nothing was judged
		for _, n := range run.Notes {
			p.note(n)
		}
	}
}

// note writes a note; its further lines quote what the target wrote.
func (p printer) note(n string) {
	label := "note: "
	for line := range strings.SplitSeq(n, "\n") {
		p.paragraph(label, oneLine(line, detailLimit))
		label = ""
	}
}

type printer struct {
	TextOptions
	w *bufio.Writer
}

func (p printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// paragraph writes s wrapped. Its further lines begin below the text of the
// first.
func (p printer) paragraph(label, s string) {
	width := 0
	if p.Width > 0 {
		width = max(p.Width-textWidth(label), 20)
	}
	for i, l := range wrap(s, width) {
		if i > 0 {
			label = strings.Repeat(" ", textWidth(label))
		}
		p.line("%s%s", label, l)
	}
}

// field writes a labeled value, nothing where it is empty.
func (p printer) field(label, s string) {
	if s != "" {
		p.paragraph(fmt.Sprintf("  %-10s", label), oneLine(s, detailLimit))
	}
}

// copyable writes a labeled value for the user to copy: it is never wrapped.
func (p printer) copyable(label, s string) {
	if s != "" {
		p.line("  %-10s%s", label, s)
	}
}

func (p printer) head(run *Run) {
	p.line("%s %s  %s %s", p.bold(oneLine(run.Tool.Name, nameLimit)), oneLine(run.Tool.Version, nameLimit),
		oneLine(run.Target.Role, nameLimit), oneLine(run.Target.command(), commandLimit))
	var parts []string
	if run.Target.Name != "" {
		name := oneLine(run.Target.Name+" "+run.Target.Version, 2*nameLimit)
		parts = append(parts, strings.TrimSpace(name))
	}
	starts := plural(run.Target.Starts, "start", "starts")
	if run.Target.hasURL() {
		starts = plural(run.Target.Starts, "connection", "connections")
	}
	parts = append(parts, starts, formatMS(run.MS), fmt.Sprintf("seed %d", run.Seed))
	if run.Ended != Complete && run.Ended != "" {
		parts = append(parts, "ended: "+oneLine(run.Ended, nameLimit))
	}
	p.line("%s\n", strings.Join(parts, " · "))
}

// totals writes a table with a row for each revision and transport, and why the
// target does not speak a revision.
func (p printer) totals(run *Run) {
	all := suitesOf(run)
	if !p.Verbose {
		all = slices.DeleteFunc(all, func(s suite) bool { return run.doesNotSpeak(s.Revision) })
	}
	total := make(map[Verdict]int)
	for _, s := range all {
		for v, n := range s.Totals {
			total[v] += n
		}
	}
	used := slices.DeleteFunc(Verdicts(), func(v Verdict) bool { return total[v] == 0 })
	width := 0
	for _, s := range all {
		width = max(width, len(oneLine(s.name(), suiteLimit)))
	}
	if len(all) > 0 {
		head := fmt.Sprintf("%-*s", width, "")
		for _, v := range used {
			head += "  " + string(v)
		}
		p.line("%s", p.faint(head))
		for _, s := range all {
			p.totalsRow(fmt.Sprintf("%-*s", width, oneLine(s.name(), suiteLimit)), used, s.Totals)
		}
		if len(all) > 1 {
			p.totalsRow(fmt.Sprintf("%-*s", width, "all"), used, total)
		}
	}
	for _, r := range run.Revisions {
		if !r.Spoken {
			why := firstNonEmpty(r.Why, "the reason is unknown")
			p.paragraph(oneLine(string(r.Revision), nameLimit)+" is not spoken: ", oneLine(why, detailLimit))
		}
	}
	if len(all) > 0 || len(run.Revisions) > 0 {
		p.line("")
	}
}

// doesNotSpeak reports whether the run found that the target does not speak a revision.
func (run *Run) doesNotSpeak(rev spec.Revision) bool {
	return slices.ContainsFunc(run.Revisions, func(r RevisionRun) bool { return r.Revision == rev && !r.Spoken })
}

func (p printer) totalsRow(label string, verdicts []Verdict, of map[Verdict]int) {
	row := label
	for _, v := range verdicts {
		cell := p.faint(fmt.Sprintf("%*s", len(v), "."))
		if n := of[v]; n > 0 {
			cell = p.paint(v, fmt.Sprintf("%*s", len(v), formatInt(n)))
		}
		row += "  " + cell
	}
	p.line("%s", row)
}

func (p printer) problems(all []problem, suffix string) {
	for _, c := range all {
		p.line("%s  %s%s", p.paint(c.Verdict, label(c.Verdict)), p.bold(oneLine(c.ID, idLimit)), suffix)
		p.paragraph("  ", oneLine(c.Variants[0].Says, detailLimit))
		for _, v := range c.Variants {
			p.variant(v)
		}
		for _, v := range c.Also {
			p.paragraph("  also      ", alsoText(v))
		}
		p.field("known", c.newest().Known)
		p.line("")
	}
}

func (p printer) variant(v variant) {
	p.paragraph("  at        ", placesText(v.Places))
	p.field("excused", v.Baselined)
	client, server := evidence(v.Frames)
	p.copyable("client", oneLine(wire.Clip(client, messageLimit), detailLimit))
	p.copyable("server", oneLine(wire.Clip(server, messageLimit), detailLimit))
	p.field("what", v.Detail)
	p.field("expected", v.Expected)
	p.field("got", v.Got)
	for _, n := range v.Notes {
		p.field("note", n)
	}
	for _, r := range v.Rules {
		p.copyable("rule", fmt.Sprintf("%s %s (%s)",
			oneLine(string(v.Level), nameLimit), oneLine(r.ID, idLimit), oneLine(r.Section, 2*nameLimit)))
		p.copyable("", oneLine(r.URL, 4*nameLimit))
	}
	if v.Spec != nil {
		p.copyable("rule", fmt.Sprintf("%s, no clause requires it; see %s",
			oneLine(string(v.Level), nameLimit), oneLine(v.Spec.Section, 2*nameLimit)))
		p.copyable("", oneLine(v.Spec.URL, 4*nameLimit))
	}
	if v.Verdict == Broken {
		p.field("where", v.Where)
	}
	p.copyable("rerun", escape(v.Rerun, ""))
}

// messageLimit is how many bytes of a message the terminal shows.
const messageLimit = 300

// placesText is "2025-06-18, 2025-11-25 stdio".
func placesText(outcomes []Outcome) string {
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
	return oneLine(b.String(), 4*nameLimit)
}

// alsoText is "a.b (warn at 2025-06-18 stdio)", of another check that saw a deviation.
func alsoText(v variant) string {
	return fmt.Sprintf("%s (%s at %s)", oneLine(v.ID, idLimit), v.Verdict, placesText(v.Places))
}

func (p printer) findings(all []Finding) {
	for _, f := range all {
		p.line("%s  %s", p.paint(Fail, "FINDING"), p.bold(oneLine(f.Oracle, idLimit)))
		p.paragraph("  ", oneLine(f.Says, detailLimit))
		p.field("at", fmt.Sprintf("%s %s, seed %d, reproduced %s, %s",
			f.Revision, f.Transport, f.Seed, f.Reproduced, plural(len(f.Frames), "frame", "frames")))
		p.copyable("case", escape(f.Case, ""))
		p.copyable("replay", escape(f.Replay, ""))
		p.line("")
	}
}

func (p printer) baselineProblems(all []BaselineProblem) {
	for _, b := range all {
		p.line("%s  %s", p.paint(Fail, "BASELINE"), p.bold(oneLine(b.entry(), 2*nameLimit)))
		p.paragraph("  ", oneLine(b.Problem, detailLimit))
		p.field("reason", b.Reason)
		p.line("")
	}
}

// unjudged writes groups of checks without verdict. Groups with one hint stand
// together below it.
func (p printer) unjudged(title string, all []unjudged) {
	if len(all) == 0 {
		return
	}
	p.line("%s", p.bold(title))
	hint := ""
	for _, u := range all {
		margin := "  "
		if u.Hint != "" {
			if u.Hint != hint {
				p.paragraph("  ", oneLine("hint: "+u.Hint, detailLimit))
			}
			margin = "    "
		}
		hint = u.Hint
		p.paragraph(margin, oneLine(u.Reason, detailLimit))
		ids, more := u.Checks, ""
		if len(ids) > checksShown+1 {
			more = fmt.Sprintf(" and %s more", formatInt(len(ids)-checksShown))
			ids = ids[:checksShown]
		}
		p.paragraph(margin+"  ", fmt.Sprintf("%s: %s%s",
			plural(u.Count, "verdict", "verdicts"), oneLine(strings.Join(ids, ", "), detailLimit), more))
	}
	p.line("")
}

func (p printer) conclusion(run *Run) {
	color := Fail
	switch run.Exit {
	case ExitConforms:
		color = Pass
	case ExitBroken:
		color = Broken
	case ExitNotJudged, ExitInterrupted:
		color = Warn
	}
	p.line("%s: %s (exit %d)", p.paint(color, headline(run)), summarizeCounts(run), run.Exit)
}
