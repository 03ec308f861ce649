package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func loadBaseline(t *testing.T, text string) (*Baseline, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "baseline.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadBaseline(path)
}

func TestLoadBaselineErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"- check: a\n  reason: r\n- check: b\n  reson: r\n": "line 4: unknown field",
		"- check: a\n":                                            "line 1: the entry for a has no reason",
		"- check: \"a\\nb\"\n":                                    `line 1: the entry for a\nb has no reason`,
		"- check: a\n  reason: '  '\n":                            "line 1: the entry for a has no reason",
		"# c\n\n- reason: r\n":                                    "line 3: the entry has no check",
		"- check: a\n  revision: 2025-13-01\n  reason: r\n":       "line 1: unknown protocol revision",
		"- check: a\n  transport: pigeon\n  reason: r\n":          "line 1: unknown transport",
		"- check: a\n  reason: r\n- check: a\n  reason: q\n":      "line 3: repeats the entry of line 1",
		"- check: a\n  check: b\n  reason: r\n":                   "line 2: mapping key",
		"check: a\nreason: r\n":                                   "line 1: expected a list",
		"- a\n":                                                   "line 1",
		"- [a]\n":                                                 "line 1",
		"- check: [a]\n  reason: r\n":                             "line 1",
		"- check: a\n  reason: r\n---\n- check: b\n  reason: r\n": "second document",
		"- check: \"a\n":                                          "line 1",
		"- check: a\n  revision: 2025-06-18\n  revison: 2025-06-18\n  reason: r\n": "line 3: unknown field",
	} {
		_, err := loadBaseline(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "baseline.yaml") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q and the file", text, err, want)
		}
	}
	if _, err := LoadBaseline(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("a missing file is not an error")
	}
	for _, text := range []string{"", "# nothing yet\n", "[]\n", "---\n"} {
		b, err := loadBaseline(t, text)
		if err != nil || len(b.Checks()) != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// baselineRun has outcomes for each way in which a baseline entry applies or
// not.
func baselineRun() *Run {
	v06, v11 := spec.V2025_06_18, spec.V2025_11_25
	at := func(id string, v Verdict, rev spec.Revision) Outcome {
		return Outcome{ID: id, Verdict: v, Revision: rev, Transport: "stdio"}
	}
	return &Run{
		Revisions: []RevisionRun{{Revision: v06}, {Revision: v11}},
		Outcomes: []Outcome{
			at("f", Fail, v06), at("f", Fail, v11),
			at("w", Warn, v06),
			at("mixed", Fail, v06), at("mixed", Pass, v11),
			at("p", Pass, v06), at("p", Pass, v11),
			at("na", NotApplicable, v06),
			at("no", NotObserved, v06), at("nr", NotRun, v06), at("br", Broken, v06),
			at("f-na", Fail, v06), at("f-na", NotApplicable, v11),
		},
	}
}

func TestApplyExcusesAndFindsWrongEntries(t *testing.T) {
	const v06, v11, v24 = string(spec.V2025_06_18), string(spec.V2025_11_25), string(spec.V2024_11_05)
	for _, c := range []struct {
		name, yaml string
		excused    []string // id@revision
		problem    string   // of the one wrong entry, "" for none
	}{
		{"for all revisions", "- {check: f, reason: r}", []string{"f@" + v06, "f@" + v11}, ""},
		{"for one revision", "- {check: f, revision: 2025-06-18, reason: r}", []string{"f@" + v06}, ""},
		{"for the transport", "- {check: f, transport: stdio, reason: r}", []string{"f@" + v06, "f@" + v11}, ""},
		{"a warn", "- {check: w, reason: r}", []string{"w@" + v06}, ""},
		{"fails here and passes there", "- {check: mixed, reason: r}", []string{"mixed@" + v06},
			"passes now at 2025-11-25 stdio; narrow"},
		{"narrowed to where it fails", "- {check: mixed, revision: '2025-06-18', reason: r}", []string{"mixed@" + v06},
			""},
		{"narrowed to where it passes", "- {check: mixed, revision: '2025-11-25', reason: r}", nil,
			"passes now at 2025-11-25 stdio; remove"},
		{"passes everywhere", "- {check: p, reason: r}", nil, "passes now at 2025-06-18, 2025-11-25 stdio; remove"},
		{"matches nothing", "- {check: nope, reason: r}", nil, "no outcome of the check"},
		{"no outcome at that revision", "- {check: w, revision: 2025-11-25, reason: r}", nil,
			"no outcome of the check"},
		{"does not apply", "- {check: na, reason: r}", nil, "does not apply"},
		{"fails here and does not apply there", "- {check: f-na, reason: r}", []string{"f-na@" + v06}, ""},
		{"not observed", "- {check: no, reason: r}", nil, ""},
		{"not run", "- {check: nr, reason: r}", nil, ""},
		{"broken", "- {check: br, reason: r}", nil, ""},
		{"a revision that was not requested", "- {check: f, revision: " + v24 + ", reason: r}", nil, ""},
		{"a transport that was not used", "- {check: p, transport: http, reason: r}", nil, ""},
	} {
		b, err := loadBaseline(t, c.yaml+"\n")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := baselineRun()
		r.Baseline = []BaselineProblem{{Check: "left from before"}}
		r.Outcomes[0].Baselined = "left from before"
		b.Apply(r)
		var excused []string
		for _, o := range r.Outcomes {
			if o.Baselined != "" {
				excused = append(excused, o.ID+"@"+string(o.Revision))
				if o.Baselined != "r" {
					t.Errorf("%s: the reason is %q", c.name, o.Baselined)
				}
			}
		}
		if strings.Join(excused, " ") != strings.Join(c.excused, " ") {
			t.Errorf("%s: excused %v, want %v", c.name, excused, c.excused)
		}
		switch {
		case c.problem == "" && len(r.Baseline) > 0:
			t.Errorf("%s: %+v", c.name, r.Baseline)
		case c.problem != "" && (len(r.Baseline) != 1 || !strings.Contains(r.Baseline[0].Problem, c.problem) ||
			r.Baseline[0].Line != 1):
			t.Errorf("%s: %+v, want one with %q", c.name, r.Baseline, c.problem)
		}
	}
}

func TestApplyIgnoresRunsWithoutOutcomes(t *testing.T) {
	b, err := loadBaseline(t, "- {check: nope, reason: r}\n")
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{}
	if b.Apply(run); len(run.Baseline) != 0 {
		t.Errorf("%+v", run.Baseline)
	}
}

func TestSelectedNarrowsTheBaseline(t *testing.T) {
	b, err := loadBaseline(t, "- {check: tools.a, reason: r}\n"+
		"- {check: ping.b, reason: r}\n"+
		"- {check: ping.b, revision: 2025-06-18, reason: r}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.Checks(), " "); got != "tools.a ping.b" {
		t.Errorf("checks %q", got)
	}
	narrowed := b.Selected(func(id string) bool { return strings.HasPrefix(id, "tools.") })
	if got := strings.Join(narrowed.Checks(), " "); got != "tools.a" || len(b.Checks()) != 2 {
		t.Errorf("narrowed to %q", got)
	}
}

// A baseline that is written from a run excuses its fails and nothing else, and
// has no wrong entry.
func TestWrittenBaselineExcusesItsRun(t *testing.T) {
	run := smallRun()
	run.Outcomes[1].Detail = hostile + ": # - \n'\""
	var text bytes.Buffer
	if err := WriteBaseline(&text, run, Fail); err != nil {
		t.Fatal(err)
	}
	b, err := loadBaseline(t, text.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	b.Apply(run)
	if len(run.Baseline) != 0 {
		t.Errorf("%+v", run.Baseline)
	}
	for _, o := range run.Outcomes {
		if (o.Verdict == Fail) != (o.Baselined != "") {
			t.Errorf("%s is %s, baselined %q", o.ID, o.Verdict, o.Baselined)
		}
	}
}
