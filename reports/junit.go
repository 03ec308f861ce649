package reports

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The elements of the JUnit schema of the Jenkins xUnit plugin (junit-10), with
// the attributes used here. The schema has no properties within a testcase, so
// that those of a check are in its suite.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string       `xml:"name,attr"`
		Class     string       `xml:"classname,attr"`
		Time      string       `xml:"time,attr"`
		Skipped   *junitResult `xml:"skipped"`
		Error     *junitResult `xml:"error"`
		Failure   *junitResult `xml:"failure"`
		SystemOut *junitOutput `xml:"system-out"`
	}
	junitOutput struct {
		Text string `xml:",cdata"`
	}
	junitResult struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
)

// The limits on frames and transcripts in bytes: CI servers cut or reject reports
// of many megabytes.
const (
	junitFrame      = 8 << 10
	junitTranscript = 64 << 10
)

// WriteJUnit writes the run as JUnit XML: a testsuite for each revision and
// transport, in it a testcase for each check. A fail is a failure at the newest
// revision that shows the deviation; at the others, and in other checks that saw it,
// it is skipped and names that testcase. Broken and not-run are errors;
// not-applicable, not-observed and what the baseline excuses are skipped with the
// reason. A warn passes, as it does for the exit code; its
// system-out and a property of the suite describe it. Only failed testcases
// carry the transcript, a JSON line for each frame.
//
// Fuzzer findings and wrong baseline entries have a suite each. A run that ends
// with another code than 0 although nothing above is a failure or an error, such
// as one that judged nothing, has a suite with one error that says why: a report
// without failures and errors always means exit code 0.
func WriteJUnit(w io.Writer, run *Run) error {
	doc := junitSuites{Name: escape(run.Tool.Name, ""), Time: seconds(run.MS)}
	reported := entriesOf(run)
	for _, s := range suitesOf(run) {
		doc.add(junitOutcomes(run, s, reported))
	}
	if len(run.Findings) > 0 {
		doc.add(junitFindings(run))
	}
	if len(run.Baseline) > 0 {
		doc.add(junitBaseline(run))
	}
	if run.Exit != ExitConforms && doc.Failures+doc.Errors == 0 {
		doc.add(junitConclusion(run))
	}
	out := bufio.NewWriter(w)
	out.WriteString(xml.Header)
	enc := xml.NewEncoder(out)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	out.WriteByte('\n')
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	return nil
}

// add appends the suite and adds its counts to the totals.
func (d *junitSuites) add(s junitSuite) {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	d.Tests += s.Tests
	d.Failures += s.Failures
	d.Errors += s.Errors
	d.Suites = append(d.Suites, s)
}

func newSuite(run *Run, name string) junitSuite {
	s := junitSuite{
		Name: escape(name, ""), Time: seconds(0), Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05"),
	}
	s.property("tool", run.Tool.Name+" "+run.Tool.Version)
	s.property("target", run.Target.command())
	s.property("target.name", run.Target.Name)
	s.property("target.version", run.Target.Version)
	s.property("seed", fmt.Sprint(run.Seed))
	return s
}

func (s *junitSuite) property(name, value string) {
	if value != "" {
		s.Properties = append(s.Properties, junitProperty{escape(name, ""), oneLine(value, 1000)})
	}
}

func junitOutcomes(run *Run, of suite, reported map[place]entry) junitSuite {
	s := newSuite(run, of.name())
	s.Time = seconds(of.MS)
	s.property("revision", string(of.Revision))
	s.property("transport", of.Transport)
	for _, r := range run.Revisions {
		if r.Revision == of.Revision && !r.Spoken {
			s.property("not spoken", r.Why)
		}
	}
	for _, o := range of.Outcomes {
		s.Cases = append(s.Cases, junitOutcome(o, reported[placeOf(o)]))
		if o.Verdict == Warn && !o.isExcused() && reported[placeOf(o)].at == "" {
			s.property("warn "+o.ID, junitMessage(o))
		}
	}
	return s
}

// junitMessage is the one line that CI servers show of a testcase.
func junitMessage(o Outcome) string { return oneLine(firstNonEmpty(o.Detail, o.Says), detailLimit) }

// A place is where an outcome stands in a report.
type place struct {
	id, transport string
	revision      spec.Revision
}

func placeOf(o Outcome) place { return place{o.ID, o.Transport, o.Revision} }

// An entry says which testcase reports a deviation, since each is reported once.
type entry struct {
	at   string // that testcase; "" if it is this one
	also string // the other testcases with this deviation
}

// entriesOf returns, for each fail and warn that the baseline does not excuse, which
// testcase reports the deviation that it shows.
func entriesOf(run *Run) map[place]entry {
	all := make(map[place]entry)
	for _, p := range problemsOf(run, false) {
		if p.Verdict == Broken {
			continue
		}
		newest := p.newest()
		var others []string
		for _, o := range p.outcomes() {
			if placeOf(o) == placeOf(newest) {
				continue
			}
			all[placeOf(o)] = entry{at: fmt.Sprintf("%s at %s %s", newest.ID, newest.Revision, newest.Transport)}
			others = append(others, fmt.Sprintf("%s at %s %s", o.ID, o.Revision, o.Transport))
		}
		all[placeOf(newest)] = entry{also: strings.Join(others, ", ")}
	}
	return all
}

func junitOutcome(o Outcome, reported entry) junitCase {
	c := junitCase{
		Name:  escape(o.ID, ""),
		Class: escape(fmt.Sprintf("%s.%s.%s", o.Revision, o.Transport, o.Area), ""),
		Time:  seconds(o.MS),
	}
	text := escape(describe(o), "\n")
	if reported.also != "" {
		text += escape("also     "+reported.also, "\n") + "\n"
	}
	message := junitMessage(o)
	why := oneLine(causeAndHint(o), detailLimit)
	switch {
	case o.isExcused():
		c.Skipped = &junitResult{Message: "in the baseline: " + oneLine(o.Baselined, detailLimit), Text: text}
	case o.Verdict == Fail && reported.at != "":
		c.Skipped = &junitResult{
			Type: string(Fail), Message: oneLine("fail, reported once: "+reported.at, detailLimit), Text: text,
		}
	case o.Verdict == Fail:
		c.Failure = &junitResult{Type: escape(string(o.Level), ""), Message: message, Text: text}
		c.SystemOut = transcript(o.Frames)
	case o.Verdict == Warn && reported.at != "":
		c.SystemOut = &junitOutput{"WARN, reported once: " + oneLine(reported.at, detailLimit) + "\n"}
	case o.Verdict == Warn:
		c.SystemOut = &junitOutput{"WARN " + message + "\n\n" + text}
	case o.Verdict == Broken:
		c.Error = &junitResult{Type: "broken", Message: message, Text: text}
	case o.Verdict == NotRun:
		c.Error = &junitResult{Type: "not-run", Message: why}
	case o.Verdict == NotApplicable, o.Verdict == NotObserved:
		c.Skipped = &junitResult{Type: string(o.Verdict), Message: fmt.Sprintf("%s: %s", o.Verdict, why)}
	case o.Verdict != Pass:
		c.Error = &junitResult{Type: "broken", Message: fmt.Sprintf("unknown verdict %q", o.Verdict)}
	}
	return c
}

// describe returns everything about a fail, warn or broken outcome except its
// frames.
func describe(o Outcome) string {
	var b strings.Builder
	add := func(label, s string) {
		if s != "" {
			head, remark := cut(s, 4<<10)
			fmt.Fprintf(&b, "%-9s %s%s\n", label, head, remark)
		}
	}
	b.WriteString(o.Says + "\n")
	add("verdict", string(o.Verdict))
	client, server := evidence(o.Frames)
	add("client", client)
	add("server", server)
	add("what", o.Detail)
	add("expected", o.Expected)
	add("got", o.Got)
	for _, n := range o.Notes {
		add("note", n)
	}
	for _, r := range o.Rules {
		add("rule", strings.TrimSpace(fmt.Sprintf("%s %s (%s) %s", o.Level, r.ID, r.Section, r.URL)))
	}
	if c := o.Spec; c != nil {
		add("rule", fmt.Sprintf("%s, no clause requires it; see %s %s", o.Level, c.Section, c.URL))
	}
	add("known", o.Known)
	add("check", o.Where)
	add("rerun", o.Rerun)
	return b.String()
}

// transcript returns the frames as JSON lines, each in the format of a case
// file unless it is too long.
func transcript(frames []wire.Frame) *junitOutput {
	if len(frames) == 0 {
		return nil
	}
	var b strings.Builder
	for i, f := range frames {
		if b.Len() > junitTranscript {
			fmt.Fprintf(&b, "# %s\n", plural(len(frames)-i, "more frame", "more frames"))
			break
		}
		head, remark := cut(string(f.AppendJSON(nil)), junitFrame)
		b.WriteString(escape(head, "\t") + remark + "\n")
	}
	return &junitOutput{b.String()}
}

func junitFindings(run *Run) junitSuite {
	s := newSuite(run, "fuzz findings")
	for _, f := range run.Findings {
		text := fmt.Sprintf("%s\nat %s %s, seed %d, reproduced %s\ncase %s\nreplay %s\n",
			f.Says, f.Revision, f.Transport, f.Seed, f.Reproduced, f.Case, f.Replay)
		s.Cases = append(s.Cases, junitCase{
			Name: oneLine(f.Signature, detailLimit), Class: escape("fuzz."+f.Oracle, ""), Time: seconds(0),
			Failure: &junitResult{
				Type: escape(f.Oracle, ""), Message: oneLine(f.Says, detailLimit), Text: escape(text, "\n"),
			},
			SystemOut: transcript(f.Frames),
		})
	}
	return s
}

func junitBaseline(run *Run) junitSuite {
	s := newSuite(run, "baseline")
	for _, p := range run.Baseline {
		s.Cases = append(s.Cases, junitCase{
			Name: oneLine(p.entry(), detailLimit), Class: "baseline", Time: seconds(0),
			Failure: &junitResult{
				Type: "baseline", Message: oneLine(p.Problem, detailLimit),
				Text: "reason in the baseline: " + oneLine(p.Reason, detailLimit),
			},
		})
	}
	return s
}

// junitConclusion is the suite with the error of a run that has no other.
func junitConclusion(run *Run) junitSuite {
	s, why := newSuite(run, "run"), headline(run)
	s.Cases = append(s.Cases, junitCase{
		Name: "verdict", Class: "run", Time: seconds(0),
		Error: &junitResult{
			Type: why, Message: why + ": " + summarizeCounts(run), Text: fmt.Sprintf("exit code %d", run.Exit),
		},
	})
	return s
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }
