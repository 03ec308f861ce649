package reports

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpcheck/mcpcheck/internal/skip"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func renderJUnit(t *testing.T, run *Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJUnit(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJUnitGolden(t *testing.T) { compareGolden(t, "small.junit.xml", renderJUnit(t, smallRun())) }

// An element is any XML element, read without the structs of this package.
type element struct {
	name     string
	attrs    map[string]string
	children []*element
	text     string
}

func parseXML(t *testing.T, text []byte) *element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	root := &element{}
	stack := []*element{root}
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return root.children[0]
		}
		if err != nil {
			t.Fatal(err)
		}
		top := stack[len(stack)-1]
		switch tok := tok.(type) {
		case xml.StartElement:
			e := &element{name: tok.Name.Local, attrs: make(map[string]string)}
			for _, a := range tok.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, e)
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(tok)
		}
	}
}

func (e *element) all(name string) []*element {
	var out []*element
	for _, c := range e.children {
		if c.name == name {
			out = append(out, c)
		}
	}
	return out
}

// The contents of the JUnit schema junit-10: for each element its attributes, with a star
// after the required ones, and its children.
var junitShape = map[string]struct{ attrs, children string }{
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite": {"name* tests* failures* errors* skipped time timestamp hostname id package group file log url",
		"properties testcase system-out system-err testsuite"},
	"properties": {"", "property"},
	"property":   {"name* value*", ""},
	"testcase":   {"name* time classname group", "skipped error failure system-out system-err"},
	"failure":    {"type message", ""},
	"error":      {"type message", ""},
	"skipped":    {"type message", ""},
	"system-out": {"", ""},
}

func TestJUnitMatchesSchema(t *testing.T) {
	surefireTime := regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)
	for name, run := range map[string]*Run{"small": smallRun(), "large": largeRun(t), "empty": {Exit: 3}} {
		var walk func(e *element)
		walk = func(e *element) {
			shape, ok := junitShape[e.name]
			if !ok {
				t.Fatalf("%s: element %s is not in the schema", name, e.name)
			}
			for a, v := range e.attrs {
				if !slices.Contains(strings.Fields(strings.ReplaceAll(shape.attrs, "*", "")), a) {
					t.Errorf("%s: %s has attribute %s", name, e.name, a)
				}
				if a == "time" && !surefireTime.MatchString(v) {
					t.Errorf("%s: %s has time %q", name, e.name, v)
				}
			}
			for _, a := range strings.Fields(shape.attrs) {
				if need, must := strings.CutSuffix(a, "*"); must {
					if _, ok := e.attrs[need]; !ok {
						t.Errorf("%s: %s has no attribute %s", name, e.name, need)
					}
				}
			}
			for _, c := range e.children {
				if !slices.Contains(strings.Fields(shape.children), c.name) {
					t.Errorf("%s: %s within %s", name, c.name, e.name)
				}
				walk(c)
			}
		}
		root := parseXML(t, renderJUnit(t, run))
		if root.name != "testsuites" {
			t.Errorf("%s: the root is %s", name, root.name)
		}
		walk(root)
	}
}

// The counts of suites and report are those of the testcases.
func TestJUnitCountsTestcases(t *testing.T) {
	for _, run := range []*Run{smallRun(), largeRun(t)} {
		root := parseXML(t, renderJUnit(t, run))
		sum := map[string]int{}
		for _, s := range root.all("testsuite") {
			got := map[string]int{"tests": len(s.all("testcase"))}
			for _, c := range s.all("testcase") {
				got["failures"] += len(c.all("failure"))
				got["errors"] += len(c.all("error"))
				got["skipped"] += len(c.all("skipped"))
			}
			for k, n := range got {
				if s.attrs[k] != strconv.Itoa(n) {
					t.Errorf("%s says %s=%s, there are %d", s.attrs["name"], k, s.attrs[k], n)
				}
				sum[k] += n
			}
		}
		for _, k := range []string{"tests", "failures", "errors"} {
			if root.attrs[k] != strconv.Itoa(sum[k]) {
				t.Errorf("testsuites says %s=%s, there are %d", k, root.attrs[k], sum[k])
			}
		}
	}
}

// Each outcome is one testcase in the suite of its revision and transport. A fail or
// warn is reported at the newest revision that shows it and names it elsewhere.
func TestJUnitHasEveryOutcome(t *testing.T) {
	for _, run := range []*Run{smallRun(), largeRun(t)} {
		suites := make(map[string]*element)
		for _, s := range parseXML(t, renderJUnit(t, run)).all("testsuite") {
			suites[s.attrs["name"]] = s
		}
		entries := entriesOf(run)
		for _, o := range run.Outcomes {
			s := suites[string(o.Revision)+" "+o.Transport]
			if s == nil {
				t.Fatalf("no suite for %s %s", o.Revision, o.Transport)
			}
			var found []*element
			for _, c := range s.all("testcase") {
				if c.attrs["name"] == o.ID {
					found = append(found, c)
				}
			}
			if len(found) != 1 {
				t.Fatalf("%s at %s: %d testcases", o.ID, o.Revision, len(found))
			}
			checkTestcase(t, o, entries[placeOf(o)].at, s, found[0])
		}
	}
}

// checkTestcase compares a testcase and its suite with the outcome, which is reported
// at another one unless at is "".
func checkTestcase(t *testing.T, o Outcome, at string, suite, testcase *element) {
	t.Helper()
	want := map[Verdict]string{
		Fail: "failure", Broken: "error", NotRun: "error", NotApplicable: "skipped", NotObserved: "skipped",
	}[o.Verdict]
	if o.Baselined != "" || o.Verdict == Fail && at != "" {
		want = "skipped"
	}
	var got []string
	for _, c := range testcase.children {
		if c.name != "system-out" {
			got = append(got, c.name)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%s at %s is %s and has %v, want %s", o.ID, o.Revision, o.Verdict, got, want)
	}
	if want == "skipped" && len(testcase.all("skipped")[0].attrs["message"]) < len("not-observed: x") {
		t.Errorf("%s is skipped without reason", o.ID)
	}
	said := ""
	for _, c := range testcase.children {
		said += c.attrs["message"] + c.text
	}
	if at != "" && !strings.Contains(said, at) {
		t.Errorf("%s at %s does not name %s", o.ID, o.Revision, at)
	}
	transcript := false
	for _, out := range testcase.all("system-out") {
		transcript = transcript || strings.Contains(out.text, `{"from":`)
		if o.Verdict == Warn && !strings.HasPrefix(out.text, "WARN") {
			t.Errorf("%s: the warning is %q", o.ID, out.text)
		}
	}
	if want := o.Verdict == Fail && o.Baselined == "" && at == "" && len(o.Frames) > 0; transcript != want {
		t.Errorf("%s at %s, %s: transcript is %v", o.ID, o.Revision, o.Verdict, transcript)
	}
	if o.Verdict == Warn && o.Baselined == "" && at == "" {
		isWarning := func(p *element) bool { return p.attrs["name"] == "warn "+o.ID }
		if !slices.ContainsFunc(suite.all("properties")[0].children, isWarning) ||
			len(testcase.all("system-out")) != 1 {
			t.Errorf("%s warns, but the report does not say so", o.ID)
		}
	}
}

// The report has no character that XML forbids or that is invisible.
func TestJUnitEscapesTheTarget(t *testing.T) {
	text := string(renderJUnit(t, hostileRun()))
	for line := range strings.Lines(text) {
		// A line with a frame, which is JSON, may hold the replacement character.
		replaced := strings.ContainsRune(line, unicode.ReplacementChar) && !strings.Contains(line, `{"from":`)
		for _, r := range line {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) || replaced {
				t.Fatalf("%q in the line %q", r, line)
			}
		}
	}
	root := parseXML(t, []byte(text))
	if n := len(root.all("testsuite")); n != 6 {
		t.Errorf("%d suites", n)
	}
}

// Only a run with exit code 0 has a report without failure and error.
func TestJUnitFailsWithTheRun(t *testing.T) {
	for _, run := range []*Run{
		{Exit: 3}, {Exit: 130, Ended: Interrupted, Outcomes: []Outcome{{ID: "a", Verdict: Pass}}},
		{Exit: 1, Outcomes: []Outcome{{ID: "a", Verdict: Warn}}},
		{Exit: 1, Outcomes: []Outcome{{ID: "a", Verdict: Pass}}, Baseline: []BaselineProblem{{Check: "a"}}},
		{Exit: 1, Findings: []Finding{{Signature: "s"}}},
	} {
		root := parseXML(t, renderJUnit(t, run))
		if root.attrs["failures"] == "0" && root.attrs["errors"] == "0" {
			t.Errorf("exit %d, but the report has no failure", run.Exit)
		}
	}
	root := parseXML(t, renderJUnit(t, &Run{Exit: 0, Outcomes: []Outcome{{ID: "a", Verdict: Warn}}}))
	if root.attrs["failures"] != "0" || root.attrs["errors"] != "0" || root.attrs["tests"] != "1" {
		t.Errorf("a warn counts as a failure: %v", root.attrs)
	}
}

func TestJUnitTranscriptIsBounded(t *testing.T) {
	var frames []wire.Frame
	for range 100 {
		frames = append(frames, wire.Frame{From: wire.Server, Raw: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)})
	}
	text := renderJUnit(t, &Run{Outcomes: []Outcome{{ID: "a", Verdict: Fail, Frames: frames}}})
	if len(text) > 100<<10 || !bytes.Contains(text, []byte("(1,048,602 bytes in all)")) ||
		!bytes.Contains(text, []byte("# 92 more frames")) {
		t.Errorf("100 MB of frames take %d bytes: %.400s", len(text), text[len(text)-400:])
	}
}

// junitCounts returns the numbers of tests, failures, errors and skipped tests that
// the report of the run must have.
func junitCounts(run *Run) string {
	if len(run.Outcomes) == 0 {
		return "1 0 1 0\n"
	}
	c := map[Verdict]int{}
	excused := 0
	for _, o := range run.Outcomes {
		if o.Baselined != "" {
			excused++
			continue
		}
		c[o.Verdict]++
	}
	failures := 0 // one of each cause; its other outcomes are skipped
	for _, cause := range run.Causes() {
		if cause.Verdict == Fail && !cause.Baselined {
			failures++
		}
	}
	extra := len(run.Findings) + len(run.Baseline)
	return fmt.Sprintf("%d %d %d %d\n", len(run.Outcomes)+extra, failures+extra, c[Broken]+c[NotRun],
		c[NotApplicable]+c[NotObserved]+excused+c[Fail]-failures)
}

// A third-party consumer, the PyPI package junitparser, reads the same numbers.
// Where MCPCHECK_JUNIT_XSD names the junit-10.xsd of the Jenkins xUnit plugin,
// the package xmlschema validates the report against it.
func TestThirdPartyReadsJUnit(t *testing.T) {
	python := skip.WithoutProgram(t, "python3")
	if err := exec.Command(python, "-c", "import junitparser").Run(); err != nil {
		skip.Missing(t, "the Python package junitparser (pip install junitparser)")
	}
	xsd := os.Getenv("MCPCHECK_JUNIT_XSD")
	for name, run := range map[string]*Run{"small": smallRun(), "large": largeRun(t), "empty": {Exit: 3}} {
		path := filepath.Join(t.TempDir(), name+".xml")
		if err := os.WriteFile(path, renderJUnit(t, run), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", `
import sys, collections
from junitparser import JUnitXml, Failure, Error, Skipped
path, xsd = sys.argv[1:3]
if xsd:
    import xmlschema
    xmlschema.XMLSchema(xsd).validate(path)
doc = JUnitXml.fromfile(path)
kinds = {Failure: "failures", Error: "errors", Skipped: "skipped"}
seen = collections.Counter(); said = collections.Counter()
for suite in doc:
    for k in ("tests", "failures", "errors", "skipped"):
        said[k] += getattr(suite, k)
    for case in suite:
        seen["tests"] += 1
        for r in case.result:
            seen[kinds[type(r)]] += 1
for k in ("tests", "failures", "errors", "skipped"):
    assert seen[k] == said[k], (k, seen[k], said[k])
print(*(seen[k] for k in ("tests", "failures", "errors", "skipped")))
`, path, xsd)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		want := junitCounts(run)
		if string(out) != want {
			t.Errorf("%s: junitparser counts %q, want %q", name, out, want)
		}
	}
	if xsd == "" {
		t.Log("MCPCHECK_JUNIT_XSD is not set: the report is not validated against the schema")
	}
}
