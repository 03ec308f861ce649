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

// An explanation says why the reference server conforms although a check of the
// suite does not succeed on it.
type explanation struct {
	Scenario string              `json:"scenario"`
	Check    string              `json:"check"`
	Status   string              `json:"status"`  // FAILURE, WARNING or SKIPPED
	Says     string              `json:"says"`    // the message of the suite
	In       map[string][]string `json:"in"`      // the runs, by mode
	Expects  string              `json:"expects"` // what the suite expects
	Does     string              `json:"does"`    // what the reference server does instead
	Clause   string              `json:"clause"`  // of the specification that allows it
	Holds    string              `json:"holds"`   // why the server is right
}

func (e explanation) key() string { return e.Scenario + ":" + e.Check + " " + e.Status }

// explains reports whether the explanation is of a result in a run of the suite.
func (e explanation) explains(r suiteResult, scenario string, f checkResult) bool {
	return e.Scenario == scenario && e.Check == f.ID && e.Status == f.Status && e.Says == f.text() &&
		slices.Contains(e.In[r.mode], r.name)
}

// readExplained reads the explanations. It returns an error if one is of a run
// that does not exist.
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
				return nil, fmt.Errorf("%s:%d: %s has an empty member", path, len(out)+1, e.key())
			}
		}
		for mode, names := range e.In {
			for _, name := range names {
				if !slices.ContainsFunc(runs, func(t trial) bool { return t.mode == mode && t.name == name }) {
					return nil, fmt.Errorf("%s:%d: there is no run %q of the mode %s", path, len(out)+1, name, mode)
				}
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// An evaluation compares the results of all runs with the explanations.
type evaluation struct {
	results   []suiteResult
	explained map[string]int // how many results, by the key of their explanation
	problems  []string
	states    map[string]string // by scenario, the worst: explained or FAIL
}

// evaluate compares the results with the explanations and with the list of the
// checks of the suite.
func evaluate(ran []suiteResult, explained []explanation, listed fixtures.Official) evaluation {
	v := evaluation{results: ran, explained: map[string]int{}, states: map[string]string{}}
	used := map[string]bool{} // by useKey
	for _, r := range ran {
		if r.scored && r.exit != 0 {
			v.addProblem("%s, %s: a scored scenario fails", r.mode, r.name)
		}
		for _, s := range r.scenarios {
			v.evaluateScenario(r, s, explained, used)
			v.checkListed(r, s, listed)
		}
		v.checkComplete(r, listed)
	}
	for _, e := range explained {
		for _, r := range ran {
			if slices.Contains(e.In[r.mode], r.name) && !used[useKey(e, r)] {
				v.addProblem("%s, %s: the explanation of %s (%s) no longer applies", r.mode, r.name, e.key(), e.Says)
			}
		}
	}
	return v
}

func useKey(e explanation, r suiteResult) string {
	return strings.Join([]string{e.key(), e.Says, r.mode, r.name}, "\n")
}

func (v *evaluation) addProblem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// evaluateScenario compares the results of a scenario with the explanations.
func (v *evaluation) evaluateScenario(r suiteResult, s scenario, explained []explanation, used map[string]bool) {
	for _, f := range s.verdicts() {
		if f.Status == "SUCCESS" {
			continue
		}
		i := slices.IndexFunc(explained, func(e explanation) bool { return e.explains(r, s.name, f) })
		if i < 0 {
			v.states[s.name] = "FAIL"
			v.addProblem("%s, %s: %s:%s %s is not explained: %s", r.mode, r.name, s.name, f.ID, f.Status, f.text())
			continue
		}
		used[useKey(explained[i], r)] = true
		v.explained[explained[i].key()]++
		if v.states[s.name] == "" {
			v.states[s.name] = "explained"
		}
	}
}

// checkListed adds a problem for each check that fixtures/official does not list.
func (v *evaluation) checkListed(r suiteResult, s scenario, listed fixtures.Official) {
	for _, f := range s.verdicts() {
		if f.ID == exceptionCheck || f.ID == noVerdictCheck {
			continue
		}
		isListed := slices.ContainsFunc(listed, func(c fixtures.Counterpart) bool {
			return (c.Scenario == s.name || c.Scenario == "*") && (c.Check == f.ID || c.Check == "") &&
				(r.revision == "" || c.In().Has(spec.Revision(r.revision)))
		})
		if !isListed {
			v.addProblem("%s, %s: fixtures/official does not list %s:%s", r.mode, r.name, s.name, f.ID)
		}
	}
}

// checkComplete adds a problem for each scenario of fixtures/official that a run
// of the whole suite left out.
func (v *evaluation) checkComplete(r suiteResult, listed fixtures.Official) {
	if r.name != "all" {
		return
	}
	for _, c := range listed {
		if c.Scenario != "*" && !slices.ContainsFunc(r.scenarios,
			func(s scenario) bool { return s.name == c.Scenario }) {
			v.addProblem("%s, %s: the scenario %s was not run", r.mode, r.name, c.Scenario)
		}
	}
}

// write writes a line for each scenario, with how many of its checks passed in
// all runs of each mode, a line for each run, and the problems.
func (v evaluation) write(w io.Writer) {
	var modes, names []string
	passed := map[string]map[string]int{}
	for _, r := range v.results {
		if !slices.Contains(modes, r.mode) {
			modes = append(modes, r.mode)
		}
		for _, s := range r.scenarios {
			if passed[s.name] == nil {
				passed[s.name] = map[string]int{}
				names = append(names, s.name)
			}
			passed[s.name][r.mode] += s.count("SUCCESS")
		}
	}
	for _, name := range names {
		state := v.states[name]
		if state == "" {
			state = "ok"
		}
		fmt.Fprintf(w, "%-9s %-45s", state, name)
		for _, mode := range modes {
			fmt.Fprintf(w, "  %s %3d", mode, passed[name][mode])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for _, r := range v.results {
		tally := map[string]int{}
		for _, s := range r.scenarios {
			for _, f := range s.checks {
				tally[f.Status]++
			}
		}
		fmt.Fprintf(w, "%-9s  %-23s  %2d scenarios: %3d checks passed, %d failed, %d warnings, %d skipped; %.1f s\n",
			r.mode, r.name,
			len(r.scenarios), tally["SUCCESS"], tally["FAILURE"], tally["WARNING"], tally["SKIPPED"], r.took.Seconds())
	}
	for _, name := range slices.Sorted(maps.Keys(v.explained)) {
		fmt.Fprintf(w, "explained %d times: %s\n", v.explained[name], name)
	}
	for _, p := range v.problems {
		fmt.Fprintln(w, "problem: "+p)
	}
	fmt.Fprintf(w, "%d scenarios in %d runs, %d problems\n", len(names), len(v.results), len(v.problems))
}
