package reports

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The elements that the JUnit schema of the Jenkins xUnit plugin (junit-10)
// knows, with the attributes used here. It has no properties within a
// testcase, so those of a check stand in its suite.
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

// How much of a frame and of a transcript a JUnit report carries: servers of CI
// systems cut or refuse reports of many megabytes.
const (
	junitFrame      = 8 << 10
	junitTranscript = 64 << 10
)

// WriteJUnit writes the run as JUnit XML: a testsuite for each revision and
// transport, in it a testcase for each check. A fail is a failure, broken and
// not-run are errors, not-applicable and not-observed are skipped with the
// reason, and so is what the baseline excuses. A warn passes, as the exit code
// does, and is told in its system-out and in a property of the suite. A
// failing testcase, and no other, carries the transcript, a JSON line a frame.
//
// Findings of the fuzzer and baseline entries that do not hold have a suite
// each. A run that ends with another code than 0 while all this shows neither
// failure nor error, such as one that judged nothing, has a suite with one
// error that says why, so that the report is never greener than the run.
func WriteJUnit(w io.Writer, run *Run) error {
	doc := junitSuites{Name: visible(run.Tool.Name, ""), Time: seconds(run.MS)}
	for _, s := range suites(run) {
		doc.add(junitOutcomes(run, s))
	}
	if len(run.Findings) > 0 {
		doc.add(junitFindings(run))
	}
	if len(run.Baseline) > 0 {
		doc.add(junitViolations(run))
	}
	if run.Exit != ExitConforms && doc.Failures+doc.Errors == 0 {
		headline, because := conclusion(run)
		s := newSuite(run, "run")
		s.Cases = append(s.Cases, junitCase{Name: "verdict", Class: "run", Time: seconds(0), Error: &junitResult{Type: headline, Message: headline + ": " + because, Text: fmt.Sprintf("exit code %d", run.Exit)}})
		doc.add(s)
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

// add counts the suite and takes it in.
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
	what := run.Target.URL
	if what == "" {
		what = strings.Join(run.Target.Argv, " ")
	}
	s := junitSuite{Name: visible(name, ""), Time: seconds(0), Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05")}
	s.property("tool", run.Tool.Name+" "+run.Tool.Version)
	s.property("target", what)
	s.property("target.name", run.Target.Name)
	s.property("target.version", run.Target.Version)
	s.property("seed", fmt.Sprint(run.Seed))
	return s
}

func (s *junitSuite) property(name, value string) {
	if value != "" {
		s.Properties = append(s.Properties, junitProperty{visible(name, ""), oneLine(value, 1000)})
	}
}

func junitOutcomes(run *Run, of suite) junitSuite {
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
		c := junitCase{
			Name:  visible(o.ID, ""),
			Class: visible(fmt.Sprintf("%s.%s.%s", o.Revision, o.Transport, o.Area), ""),
			Time:  seconds(o.MS),
		}
		text := visible(describe(o), "\n")
		message := oneLine(firstOf(o.Detail, o.Says), textLine)
		switch {
		case (o.Verdict == Fail || o.Verdict == Warn) && o.Baselined != "":
			c.Skipped = &junitResult{Message: "in the baseline: " + oneLine(o.Baselined, textLine), Text: text}
		case o.Verdict == Fail:
			c.Failure = &junitResult{Type: visible(string(o.Level), ""), Message: message, Text: text}
			c.SystemOut = transcript(o.Frames)
		case o.Verdict == Warn:
			c.SystemOut = &junitOutput{"WARN " + message + "\n\n" + text}
			s.property("warn "+o.ID, message)
		case o.Verdict == Broken:
			c.Error = &junitResult{Type: "broken", Message: message, Text: text}
		case o.Verdict == NotRun:
			c.Error = &junitResult{Type: "not-run", Message: oneLine(reason(o), textLine)}
		case o.Verdict == NotApplicable, o.Verdict == NotObserved:
			c.Skipped = &junitResult{Type: string(o.Verdict), Message: fmt.Sprintf("%s: %s", o.Verdict, oneLine(reason(o), textLine))}
		case o.Verdict != Pass:
			c.Error = &junitResult{Type: "broken", Message: fmt.Sprintf("unknown verdict %q", o.Verdict)}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// describe tells all about a fail, warn or broken outcome but its frames.
func describe(o Outcome) string {
	var b strings.Builder
	add := func(label, s string) {
		if s != "" {
			head, rest := cut(s, 4<<10)
			fmt.Fprintf(&b, "%-9s %s%s\n", label, head, rest)
		}
	}
	b.WriteString(o.Says + "\n")
	add("verdict", string(o.Verdict))
	add("what", o.Detail)
	add("expected", o.Expected)
	add("got", o.Got)
	for _, n := range o.Notes {
		add("note", n)
	}
	for _, r := range o.Rules {
		add("rule", strings.TrimSpace(fmt.Sprintf("%s %s (%s) %s", o.Level, r.ID, r.Section, r.URL)))
	}
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
			fmt.Fprintf(&b, "# %s more\n", plural(len(frames)-i, "frame", "frames"))
			break
		}
		head, rest := cut(string(f.AppendJSON(nil)), junitFrame)
		b.WriteString(visible(head, "\t") + rest + "\n")
	}
	return &junitOutput{b.String()}
}

func junitFindings(run *Run) junitSuite {
	s := newSuite(run, "fuzz findings")
	for _, f := range run.Findings {
		text := fmt.Sprintf("%s\nat %s %s, seed %d, reproduced %s\ncase %s\nreplay %s\n", f.Says, f.Revision, f.Transport, f.Seed, f.Reproduced, f.Case, f.Replay)
		s.Cases = append(s.Cases, junitCase{
			Name: oneLine(f.Signature, textLine), Class: visible("fuzz."+f.Oracle, ""), Time: seconds(0),
			Failure:   &junitResult{Type: visible(f.Oracle, ""), Message: oneLine(f.Says, textLine), Text: visible(text, "\n")},
			SystemOut: transcript(f.Frames),
		})
	}
	return s
}

func junitViolations(run *Run) junitSuite {
	s := newSuite(run, "baseline")
	for _, v := range run.Baseline {
		s.Cases = append(s.Cases, junitCase{
			Name: oneLine(v.entry(), textLine), Class: "baseline", Time: seconds(0),
			Failure: &junitResult{Type: "baseline", Message: oneLine(v.Problem, textLine), Text: "excused as " + oneLine(v.Reason, textLine)},
		})
	}
	return s
}

func firstOf(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }
