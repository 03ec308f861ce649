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

func ran(t trial, exit int, scenarios ...scenario) outcome {
	return outcome{trial: t, scenarios: scenarios, exit: exit}
}

func one(name string, checks ...finding) scenario { return scenario{name, checks} }

var (
	scored = trial{server: "json", name: "requirements 2025-11-25", revision: "2025-11-25", scored: true}
	all    = trial{server: "json", name: "all"}
	bare   = trial{server: "stateless", name: "all 2026-07-28", revision: "2026-07-28"}

	pass  = finding{ID: "ping", Status: "SUCCESS"}
	wire  = finding{ID: "wire", Status: "SUCCESS"}
	lost  = finding{ID: "ping", Status: "FAILURE", Message: "no pong"}
	told  = finding{ID: "aside", Status: "INFO"}
	known = explanation{Scenario: "ping", Check: "ping", Status: "FAILURE", Says: "no pong", In: map[string][]string{"json": {"all"}}}
)

func TestWhatTheSuiteFindsIsExplainedOrAProblem(t *testing.T) {
	aside := told
	aside.Details.Message = "no session"
	polling := one("polling", finding{ID: "anything", Status: "SUCCESS"})
	for _, c := range []struct {
		name      string
		ran       outcome
		explained []explanation
		want      []string
		state     string // of ping
	}{
		{"passed", ran(scored, 0, one("ping", pass, wire, told), polling), nil, nil, ""},
		{"scored and failing", ran(scored, 1, one("ping", pass)), nil, []string{"a scored scenario fails"}, ""},
		{"not scored and failing", ran(bare, 1, polling), nil, nil, ""},
		{"unexplained", ran(all, 1, one("ping", lost), polling), nil, []string{"ping:ping FAILURE is not explained: no pong"}, "FAIL"},
		{"explained", ran(all, 1, one("ping", lost, wire), polling), []explanation{known}, nil, "explained"},
		{"explained in another run", ran(scored, 0, one("ping", lost)), []explanation{known}, []string{"is not explained"}, "FAIL"},
		{"explained with other words", ran(all, 1, one("ping", finding{ID: "ping", Status: "FAILURE", Message: "late pong"}), polling), []explanation{known},
			[]string{"is not explained: late pong", "explains nothing any more"}, "FAIL"},
		{"one explained, one not", ran(all, 1, one("ping", finding{ID: "wire", Status: "FAILURE"}, lost), polling), []explanation{known}, []string{"ping:wire FAILURE is not explained"}, "FAIL"},
		{"explained and passed", ran(all, 0, one("ping", pass), polling), []explanation{known}, []string{"json, all: the explanation of ping:ping FAILURE (no pong) explains nothing any more"}, ""},
		{"a warning", ran(all, 0, one("ping", finding{ID: "ping", Status: "WARNING"}), polling), nil, []string{"ping:ping WARNING is not explained"}, "FAIL"},
		{"skipped", ran(all, 0, one("ping", finding{ID: "ping", Status: "SKIPPED"}), polling), nil, []string{"ping:ping SKIPPED is not explained"}, "FAIL"},
		{"nothing judged", ran(all, 0, one("ping", aside), polling), nil, []string{"ping:(nothing judged) SKIPPED is not explained: no session"}, "FAIL"},
		{"no check", ran(all, 0, one("ping"), polling), nil, []string{"ping:(nothing judged) SKIPPED is not explained: no check at all"}, "FAIL"},
		{"broken off", ran(all, 1, one("ping", finding{ID: brokenOff, Status: "FAILURE", Message: "timeout"}), polling), nil, []string{"ping:(broken off) FAILURE is not explained: timeout"}, "FAIL"},
		{"a check that is not listed", ran(scored, 0, one("ping", finding{ID: "pong", Status: "SUCCESS"})), nil, []string{"does not list ping:pong"}, ""},
		{"listed at another revision", ran(bare, 0, one("ping", pass)), nil, []string{"does not list ping:ping"}, ""},
		{"a scenario is missing", ran(all, 0, one("ping", pass)), nil, []string{"the scenario polling was not run"}, ""},
	} {
		v := judge([]outcome{c.ran}, c.explained, listed)
		got := strings.Join(v.problems, "\n")
		if len(v.problems) != len(c.want) {
			t.Errorf("%s: the problems are %q", c.name, v.problems)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the problems are %q, without %q", c.name, v.problems, want)
			}
		}
		if v.troubled["ping"] != c.state {
			t.Errorf("%s: ping is %q", c.name, v.troubled["ping"])
		}
	}
}

func TestEachScenarioHasALine(t *testing.T) {
	var b strings.Builder
	judge([]outcome{
		ran(all, 1, one("ping", lost, wire), one("polling", told)),
		ran(bare, 0, one("polling", finding{ID: "x", Status: "SUCCESS"})),
	}, []explanation{known}, listed).print(&b)
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

func TestExplanationsAreWhole(t *testing.T) {
	if _, err := readExplained("explained.jsonl"); err != nil {
		t.Error(err)
	}
	const whole = `{"scenario":"a","check":"b","status":"FAILURE","says":"c","in":{"json":["all"]},"expects":"d","does":"e","clause":"f","holds":"g"}`
	for text, want := range map[string]string{
		whole:                                  "",
		strings.Replace(whole, `"g"`, `""`, 1): "leaves out",
		strings.Replace(whole, `"all"`, `"al"`, 1):        `no run "al" of json`,
		strings.Replace(whole, `"json"`, `"yaml"`, 1):     `no run "all" of yaml`,
		strings.Replace(whole, `"holds"`, `"because"`, 1): "unknown field",
	} {
		path := filepath.Join(t.TempDir(), "explained.jsonl")
		if err := os.WriteFile(path, []byte(whole+"\n"+text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readExplained(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "explained.jsonl:2: ") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestRunsAreOfTheNamedWaysOfServing(t *testing.T) {
	every, err := trialsOf(nil)
	if err != nil || len(every) != 19 {
		t.Errorf("%d runs, %v", len(every), err)
	}
	some, err := trialsOf([]string{"stateless"})
	if err != nil || len(some) != 5 || some[0].name != "all" || some[0].flags[0] != "--stateless" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := trialsOf([]string{"http"}); err == nil {
		t.Error("an unknown name is taken")
	}
}
