package suites

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

// Test judges a server and reports a subtest for each revision that it speaks, each
// area and each check: a broken MUST fails, a broken SHOULD or Robust check is logged
// (Strict makes it fail), and a check that was not observed or does not apply is
// skipped with the reason. It fails t if the server could not be judged.
func Test(t *testing.T, target Target, options ...Option) {
	t.Helper()
	result, err := Run(t.Context(), target, options...)
	report(t, result, err, isStrict(options))
}

// TestClient judges a client as Test judges a server.
func TestClient(t *testing.T, target Target, options ...Option) {
	t.Helper()
	result, err := RunClient(t.Context(), target, options...)
	report(t, result, err, isStrict(options))
}

// report makes the subtests of a result.
func report(t *testing.T, result *Result, err error, strict bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if result.Ended != reports.Complete {
		t.Errorf("the run was ended before all checks ran: %s", result.Ended)
	}
	for _, r := range result.Revisions {
		t.Run(string(r.Revision), func(t *testing.T) {
			if !r.Spoken {
				t.Skipf("not judged: %s", r.Why)
			}
			outcomes := slices.DeleteFunc(slices.Clone(result.Outcomes), func(o Outcome) bool {
				return o.Revision != r.Revision
			})
			reportAreas(t, outcomes, strict)
		})
	}
	failed := slices.ContainsFunc(result.Outcomes, func(o Outcome) bool { return fails(o, strict) })
	if failed && !t.Failed() {
		// A failure at a revision that is not spoken: no session could be opened.
		for _, o := range result.Outcomes {
			if fails(o, strict) {
				t.Errorf("%s at %s: %s", o.ID, o.Revision, Describe(o))
			}
		}
	}
}

func reportAreas(t *testing.T, outcomes []Outcome, strict bool) {
	var areas []string
	for _, o := range outcomes {
		if !slices.Contains(areas, o.Area) {
			areas = append(areas, o.Area)
		}
	}
	for _, area := range areas {
		t.Run(area, func(t *testing.T) {
			for _, o := range outcomes {
				if o.Area == area {
					t.Run(strings.TrimPrefix(o.ID, area+"."), func(t *testing.T) { reportOutcome(t, o, strict) })
				}
			}
		})
	}
}

func reportOutcome(t *testing.T, o Outcome, strict bool) {
	switch {
	case fails(o, strict):
		t.Error(Describe(o))
	case o.Verdict == reports.Warn:
		t.Logf("warn: %s", Describe(o))
	case o.Verdict != reports.Pass:
		t.Skipf("%s: %s", o.Verdict, strings.TrimSpace(o.Detail+" "+o.Cause))
	}
}

// fails reports whether an outcome makes a test fail.
func fails(o Outcome, strict bool) bool {
	return o.Verdict == reports.Fail || o.Verdict == reports.Broken || strict && o.Verdict == reports.Warn
}

// Describe returns an outcome in words: what the rule says, what happened, what was
// expected and got, and the clause.
func Describe(o Outcome) string {
	var b strings.Builder
	b.WriteString(o.Says + " (" + string(o.Level) + ")\n" + o.Detail)
	for _, part := range []struct{ name, text string }{{"expected", o.Expected}, {"got", o.Got}} {
		if part.text != "" {
			b.WriteString("\n" + part.name + ": " + part.text)
		}
	}
	for _, r := range o.Rules {
		b.WriteString("\n" + r.URL)
	}
	return b.String()
}
