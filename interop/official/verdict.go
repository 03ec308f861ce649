package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// An explanation says why a check of the suite that does not succeed on our
// reference server is no deviation of it.
type explanation struct {
	Scenario string              `json:"scenario"`
	Check    string              `json:"check"`
	Status   string              `json:"status"`  // FAILURE, WARNING or SKIPPED
	Says     string              `json:"says"`    // the words of the suite
	In       map[string][]string `json:"in"`      // the runs, by way of serving
	Expects  string              `json:"expects"` // what the suite looks for
	Does     string              `json:"does"`    // what our server does instead
	Clause   string              `json:"clause"`  // of the specification that allows it
	Holds    string              `json:"holds"`   // why it is right so
}

func (e explanation) name() string { return e.Scenario + ":" + e.Check + " " + e.Status }

// of tells whether it is of a finding in a run of the suite.
func (e explanation) of(o outcome, scenario string, f finding) bool {
	return e.Scenario == scenario && e.Check == f.ID && e.Status == f.Status && e.Says == f.says() && slices.Contains(e.In[o.server], o.name)
}

// readExplained reads the explanations, which may only be of runs that there
// are.
func readExplained(path string) ([]explanation, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	runs, err := trialsOf(nil)
	if err != nil {
		return nil, err
	}
	var out []explanation
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var e explanation
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(out)+1, err)
		}
		for _, member := range []string{e.Scenario, e.Check, e.Status, e.Says, e.Expects, e.Does, e.Clause, e.Holds} {
			if member == "" {
				return nil, fmt.Errorf("%s:%d: %s leaves out what an explanation has to say", path, len(out)+1, e.name())
			}
		}
		for server, names := range e.In {
			for _, name := range names {
				if !slices.ContainsFunc(runs, func(t trial) bool { return t.server == server && t.name == name }) {
					return nil, fmt.Errorf("%s:%d: there is no run %q of %s", path, len(out)+1, name, server)
				}
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// A verdict is what came of all runs.
type verdict struct {
	ran       []outcome
	explained map[string]int // how many findings, by the name of what explains them
	problems  []string
	troubled  map[string]string // the worst state of a scenario: explained or FAIL
}

// judge holds what the suite found against the explanations, and against the
// list of its checks.
func judge(ran []outcome, explained []explanation, listed fixtures.Official) verdict {
	v := verdict{ran: ran, explained: map[string]int{}, troubled: map[string]string{}}
	used := map[string]bool{} // by explanation, way of serving and run
	for _, o := range ran {
		if o.scored && o.exit != 0 {
			v.problem("%s, %s: a scored scenario fails", o.server, o.name)
		}
		for _, s := range o.scenarios {
			v.scenario(o, s, explained, used)
			v.known(o, s, listed)
		}
		v.complete(o, listed)
	}
	for _, e := range explained {
		for _, o := range ran {
			if slices.Contains(e.In[o.server], o.name) && !used[useOf(e, o)] {
				v.problem("%s, %s: the explanation of %s (%s) explains nothing any more", o.server, o.name, e.name(), e.Says)
			}
		}
	}
	return v
}

func useOf(e explanation, o outcome) string {
	return strings.Join([]string{e.name(), e.Says, o.server, o.name}, "\n")
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// scenario holds the findings of a scenario against the explanations.
func (v *verdict) scenario(o outcome, s scenario, explained []explanation, used map[string]bool) {
	for _, f := range s.judged() {
		if f.Status == "SUCCESS" {
			continue
		}
		i := slices.IndexFunc(explained, func(e explanation) bool { return e.of(o, s.name, f) })
		if i < 0 {
			v.troubled[s.name] = "FAIL"
			v.problem("%s, %s: %s:%s %s is not explained: %s", o.server, o.name, s.name, f.ID, f.Status, f.says())
			continue
		}
		used[useOf(explained[i], o)] = true
		v.explained[explained[i].name()]++
		if v.troubled[s.name] == "" {
			v.troubled[s.name] = "explained"
		}
	}
}

// known asks of each check whether fixtures/official lists it.
func (v *verdict) known(o outcome, s scenario, listed fixtures.Official) {
	for _, f := range s.judged() {
		if f.ID == brokenOff || f.ID == nothing {
			continue
		}
		if !slices.ContainsFunc(listed, func(c fixtures.Counterpart) bool {
			return (c.Scenario == s.name || c.Scenario == "*") && (c.Check == f.ID || c.Check == "") &&
				(o.revision == "" || c.In().Has(spec.Revision(o.revision)))
		}) {
			v.problem("%s, %s: fixtures/official does not list %s:%s", o.server, o.name, s.name, f.ID)
		}
	}
}

// complete asks whether a run of the whole suite had all scenarios that
// fixtures/official lists.
func (v *verdict) complete(o outcome, listed fixtures.Official) {
	if o.name != "all" {
		return
	}
	for _, c := range listed {
		if c.Scenario != "*" && !slices.ContainsFunc(o.scenarios, func(s scenario) bool { return s.name == c.Scenario }) {
			v.problem("%s, %s: the scenario %s was not run", o.server, o.name, c.Scenario)
		}
	}
}

// print writes a line for each scenario, with how many of its checks passed in
// all runs of each way of serving, a line for each run, and what is wrong.
func (v verdict) print(w io.Writer) {
	var servers, names []string
	passed := map[string]map[string]int{}
	for _, o := range v.ran {
		if !slices.Contains(servers, o.server) {
			servers = append(servers, o.server)
		}
		for _, s := range o.scenarios {
			if passed[s.name] == nil {
				passed[s.name] = map[string]int{}
				names = append(names, s.name)
			}
			passed[s.name][o.server] += s.count("SUCCESS")
		}
	}
	for _, name := range names {
		state := v.troubled[name]
		if state == "" {
			state = "ok"
		}
		fmt.Fprintf(w, "%-9s %-45s", state, name)
		for _, s := range servers {
			fmt.Fprintf(w, "  %s %3d", s, passed[name][s])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for _, o := range v.ran {
		tally := map[string]int{}
		for _, s := range o.scenarios {
			for _, f := range s.checks {
				tally[f.Status]++
			}
		}
		fmt.Fprintf(w, "%-9s  %-23s  %2d scenarios: %3d checks passed, %d failed, %d warnings, %d skipped; %.1f s\n", o.server, o.name,
			len(o.scenarios), tally["SUCCESS"], tally["FAILURE"], tally["WARNING"], tally["SKIPPED"], o.took.Seconds())
	}
	for _, name := range slices.Sorted(maps.Keys(v.explained)) {
		fmt.Fprintf(w, "explained %d times: %s\n", v.explained[name], name)
	}
	for _, p := range v.problems {
		fmt.Fprintln(w, "problem: "+p)
	}
	fmt.Fprintf(w, "%d scenarios in %d runs, %d problems\n", len(names), len(v.ran), len(v.problems))
}
