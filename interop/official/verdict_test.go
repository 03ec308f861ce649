package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
)

var listed = fixtures.Official{
	{Scenario: "*", Check: "wire", Since: "2025-06-18"},
	{Scenario: "ping", Check: "ping", Since: "2025-06-18", Until: "2025-11-25"},
	{Scenario: "polling", Since: "2025-11-25"},
}

func result(t trial, exit int, scenarios ...scenario) suiteResult {
	return suiteResult{trial: t, scenarios: scenarios, exit: exit}
}

func scenarioOf(name string, checks ...checkResult) scenario { return scenario{name, checks} }

var (
	scored    = trial{mode: "json", name: "requirements 2025-11-25", revision: "2025-11-25", scored: true}
	all       = trial{mode: "json", name: "all"}
	stateless = trial{mode: "stateless", name: "all 2026-07-28", revision: "2026-07-28"}

	pass   = checkResult{ID: "ping", Status: "SUCCESS"}
	wire   = checkResult{ID: "wire", Status: "SUCCESS"}
	failed = checkResult{ID: "ping", Status: "FAILURE", Message: "no pong"}
	info   = checkResult{ID: "message", Status: "INFO"}
	known  = explanation{Scenario: "ping", Check: "ping", Status: "FAILURE", Says: "no pong",
		In: map[string][]string{"json": {"all"}}}
)

// A verdictCase is a run of the suite, and the problems that it has.
type verdictCase struct {
	name      string
	ran       suiteResult
	explained []explanation
	want      []string
	state     string // of ping
}

func verdictCases() []verdictCase {
	message := info
	message.Details.Message = "no session"
	polling := scenarioOf("polling", checkResult{ID: "anything", Status: "SUCCESS"})
	return []verdictCase{
		{"passed", result(scored, 0, scenarioOf("ping", pass, wire, info), polling), nil, nil, ""},
		{"scored and failing", result(scored, 1, scenarioOf("ping", pass)), nil, []string{"a scored scenario fails"},
			""},
		{"not scored and failing", result(stateless, 1, polling), nil, nil, ""},
		{"unexplained", result(all, 1, scenarioOf("ping", failed), polling), nil,
			[]string{"ping:ping FAILURE is not explained: no pong"}, "FAIL"},
		{"explained", result(all, 1, scenarioOf("ping", failed, wire), polling), []explanation{known}, nil,
			"explained"},
		{"explained in another run", result(scored, 0, scenarioOf("ping", failed)), []explanation{known},
			[]string{"is not explained"}, "FAIL"},
		{"explained with another message", result(all, 1,
			scenarioOf("ping", checkResult{ID: "ping", Status: "FAILURE", Message: "late pong"}), polling),
			[]explanation{known},
			[]string{"is not explained: late pong", "no longer applies"}, "FAIL"},
		{"one explained, one not", result(all, 1,
			scenarioOf("ping", checkResult{ID: "wire", Status: "FAILURE"}, failed), polling), []explanation{known},
			[]string{"ping:wire FAILURE is not explained"}, "FAIL"},
		{"explained and passed", result(all, 0, scenarioOf("ping", pass), polling), []explanation{known},
			[]string{"json, all: the explanation of ping:ping FAILURE (no pong) no longer applies"}, ""},
		{"a warning", result(all, 0, scenarioOf("ping", checkResult{ID: "ping", Status: "WARNING"}), polling), nil,
			[]string{"ping:ping WARNING is not explained"}, "FAIL"},
		{"skipped", result(all, 0, scenarioOf("ping", checkResult{ID: "ping", Status: "SKIPPED"}), polling), nil,
			[]string{"ping:ping SKIPPED is not explained"}, "FAIL"},
		{"nothing judged", result(all, 0, scenarioOf("ping", message), polling), nil,
			[]string{"ping:(nothing judged) SKIPPED is not explained: no session"}, "FAIL"},
		{"no check", result(all, 0, scenarioOf("ping"), polling), nil,
			[]string{"ping:(nothing judged) SKIPPED is not explained: no check at all"}, "FAIL"},
		{"exception", result(all, 1,
			scenarioOf("ping", checkResult{ID: exceptionCheck, Status: "FAILURE", Message: "timeout"}), polling), nil,
			[]string{"ping:(exception) FAILURE is not explained: timeout"}, "FAIL"},
		{"a check that is not listed", result(scored, 0,
			scenarioOf("ping", checkResult{ID: "pong", Status: "SUCCESS"})), nil, []string{"does not list ping:pong"},
			""},
		{"listed at another revision", result(stateless, 0, scenarioOf("ping", pass)), nil,
			[]string{"does not list ping:ping"}, ""},
		{"a scenario is missing", result(all, 0, scenarioOf("ping", pass)), nil,
			[]string{"the scenario polling was not run"}, ""},
	}
}

func TestUnexplainedResultsAreProblems(t *testing.T) {
	for _, c := range verdictCases() {
		v := evaluate([]suiteResult{c.ran}, c.explained, listed)
		got := strings.Join(v.problems, "\n")
		if len(v.problems) != len(c.want) {
			t.Errorf("%s: the problems are %q", c.name, v.problems)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the problems are %q, without %q", c.name, v.problems, want)
			}
		}
		if v.states["ping"] != c.state {
			t.Errorf("%s: ping is %q", c.name, v.states["ping"])
		}
	}
}

func TestWriteHasALineForEachScenario(t *testing.T) {
	var b strings.Builder
	evaluate([]suiteResult{
		result(all, 1, scenarioOf("ping", failed, wire), scenarioOf("polling", info)),
		result(stateless, 0, scenarioOf("polling", checkResult{ID: "x", Status: "SUCCESS"})),
	}, []explanation{known}, listed).write(&b)
	for _, want := range []string{
		fmt.Sprintf("explained %-45s  json   1  stateless   0\n", "ping"),
		fmt.Sprintf("FAIL      %-45s  json   0  stateless   1\n", "polling"),
		" 2 scenarios:   1 checks passed, 1 failed, 0 warnings, 0 skipped; 0.0 s\n",
		"explained 1 times: ping:ping FAILURE\n",
		"2 scenarios in 2 runs, 1 problems\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing from\n%s", want, b.String())
		}
	}
}

func TestExplanationsAreComplete(t *testing.T) {
	if _, err := readExplained("explained.jsonl"); err != nil {
		t.Error(err)
	}
	const whole = `{"scenario":"a","check":"b","status":"FAILURE","says":"c","in":{"json":["all"]},"expects":"d",` +
		`"does":"e","clause":"f","holds":"g"}`
	for text, want := range map[string]string{
		whole:                                  "",
		strings.Replace(whole, `"g"`, `""`, 1): "has an empty member",
		strings.Replace(whole, `"all"`, `"al"`, 1):        `no run "al" of the mode json`,
		strings.Replace(whole, `"json"`, `"yaml"`, 1):     `no run "all" of the mode yaml`,
		strings.Replace(whole, `"holds"`, `"because"`, 1): "unknown field",
	} {
		path := filepath.Join(t.TempDir(), "explained.jsonl")
		if err := os.WriteFile(path, []byte(whole+"\n"+text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readExplained(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "explained.jsonl:2: ") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTrialsOfTheNamedModes(t *testing.T) {
	every, err := trialsOf(nil)
	if err != nil || len(every) != 19 {
		t.Errorf("%d runs, %v", len(every), err)
	}
	some, err := trialsOf([]string{"stateless"})
	if err != nil || len(some) != 5 || some[0].name != "all" || some[0].flags[0] != "--stateless" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := trialsOf([]string{"http"}); err == nil {
		t.Error("an unknown mode is accepted")
	}
}
