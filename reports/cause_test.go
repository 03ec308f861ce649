package reports

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// deviation returns a fail of a check that was shown an answer to a request.
func deviation(id string, rev spec.Revision, n int, detail, got string) Outcome {
	answer := frame(wire.Server, 2, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n))
	answer.Marked = true
	return Outcome{
		ID: id, Area: "tools", Verdict: Fail, Revision: rev, Transport: "stdio", Detail: detail, Got: got,
		Expected: "an error",
		Frames: []wire.Frame{
			frame(wire.Client, 1, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n)), answer,
		},
	}
}

// causeTests are outcomes and the causes that they have. All but the first outcome of
// some are of a check b.
var causeTests = func() map[string]causeTest {
	a := deviation("a", spec.V2025_06_18, 4, "tools/list (id 4) was answered with a result", "result for id 4")
	newer := deviation("a", spec.V2025_11_25, 9, "tools/list (id 9) was answered with a result", "result for id 9")
	return map[string]causeTest{
		"revisions of one check": {
			[]Outcome{a, newer},
			[]Cause{{ID: "a", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18, spec.V2025_11_25}}},
		},
		"another check says the same at another revision": {
			[]Outcome{warned(deviation("b", spec.V2024_11_05, 7, a.Detail, a.Got)), a},
			[]Cause{{
				ID: "a", Verdict: Fail, Also: []string{"b"},
				Revisions: []spec.Revision{spec.V2024_11_05, spec.V2025_06_18},
			}},
		},
		"the check of a rule at another level": {
			[]Outcome{a, warned(deviation("a.advised", spec.V2024_11_05, 7, "of another message", "other"))},
			[]Cause{{
				ID: "a", Verdict: Fail, Also: []string{"a.advised"},
				Revisions: []spec.Revision{spec.V2024_11_05, spec.V2025_06_18},
			}},
		},
		"another check saw the same answer to the same request": {
			[]Outcome{a, deviation("b", spec.V2025_06_18, 8, "in other words", "result for id 8")},
			[]Cause{{ID: "a", Verdict: Fail, Also: []string{"b"}, Revisions: []spec.Revision{spec.V2025_06_18}}},
		},
		"an answer that deviates in two ways": {
			[]Outcome{a, deviation("b", spec.V2025_06_18, 4, "it has no tools", "no member tools")},
			[]Cause{
				{ID: "a", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18}},
				{ID: "b", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18}},
			},
		},
		"the same words about another method": {
			[]Outcome{a, ofMethod("prompts/list", deviation("b", spec.V2025_06_18, 4, a.Detail, a.Got))},
			[]Cause{
				{ID: "a", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18}},
				{ID: "b", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18}},
			},
		},
		"another check saw more": {
			[]Outcome{
				a, deviation("b", spec.V2025_06_18, 4, a.Detail, a.Got),
				deviation("b", spec.V2025_11_25, 4, "something else", "nothing"),
			},
			[]Cause{
				{ID: "a", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18}},
				{ID: "b", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18, spec.V2025_11_25}},
			},
		},
		"an excused outcome": {
			[]Outcome{a, excused(newer)},
			[]Cause{
				{ID: "a", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_06_18}},
				{ID: "a", Verdict: Fail, Revisions: []spec.Revision{spec.V2025_11_25}, Baselined: true},
			},
		},
	}
}()

type causeTest struct {
	outcomes []Outcome
	want     []Cause
}

func TestOneDeviationIsOneCause(t *testing.T) {
	for name, test := range causeTests {
		if got := (&Run{Outcomes: test.outcomes}).Causes(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, test.want)
		}
	}
}

func warned(o Outcome) Outcome {
	o.Verdict = Warn
	return o
}

func excused(o Outcome) Outcome {
	o.Baselined = "known"
	return o
}

func ofMethod(method string, o Outcome) Outcome {
	o.Frames[0].Raw = []byte(strings.ReplaceAll(string(o.Frames[0].Raw), "tools/list", method))
	return o
}

// Each report names the other checks that saw a deviation, and what is known of it, once.
func TestReportsShowACauseOnce(t *testing.T) {
	a := deviation("tools.one", spec.V2025_06_18, 4, "a result came", "result for id 4")
	a.Known = "The SDK does this."
	b := deviation("tools.two", spec.V2025_06_18, 5, "a result", "result for id 5")
	run := &Run{Exit: ExitFails, Outcomes: []Outcome{a, b}}
	text := summaryText(t, run, TextOptions{Verbose: true})
	for _, want := range []string{
		"FAIL  tools.one", "  also      tools.two (fail at 2025-06-18 stdio)", "The SDK does this.",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("the summary has %q %d times:\n%s", want, strings.Count(text, want), text)
		}
	}
	if strings.Contains(text, "FAIL  tools.two") {
		t.Errorf("the summary has a second entry:\n%s", text)
	}
	root := parseXML(t, renderJUnit(t, run))
	if root.attrs["failures"] != "1" || root.attrs["tests"] != "2" {
		t.Errorf("JUnit has %v", root.attrs)
	}
	page := newPage(run)
	if len(page.Problems) != 1 || len(page.Problems[0].Also) != 1 || page.Problems[0].Known != a.Known {
		t.Errorf("the page lists %+v", page.Problems)
	}
}
