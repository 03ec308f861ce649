package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// A scenario is what the suite found in one of its scenarios.
type scenario struct {
	name   string
	checks []finding
}

// A finding is one check of the suite. A check may come more than once.
type finding struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Message string `json:"errorMessage"`
	Details struct {
		Message string `json:"message"`
	} `json:"details"`
}

// says returns the words of the suite about it.
func (f finding) says() string {
	if f.Message == "" {
		return f.Details.Message
	}
	return f.Message
}

const (
	// brokenOff is the check that stands for a scenario that ended in an exception
	// of the suite, which then writes no results for it.
	brokenOff = "(broken off)"
	// nothing is the check that stands for a scenario that told but judged
	// nothing: it would be as green as one that passed.
	nothing = "(nothing judged)"
)

// judged returns the findings that judge the server, or nothing with the words
// of the suite where there are none.
func (s scenario) judged() []finding {
	var out []finding
	told := "no check at all"
	for _, f := range s.checks {
		switch {
		case f.Status != "INFO":
			out = append(out, f)
		case f.says() != "":
			told = f.says()
		}
	}
	if len(out) == 0 {
		out = append(out, finding{ID: nothing, Status: "SKIPPED", Message: told})
	}
	return out
}

var (
	// The name of a folder of results: server-SCENARIO-TIME.
	folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	// A line of the summary that ends the suite's output.
	summed = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed$`)
	// The last line of the summary, and with it of a run that came to its end.
	total = regexp.MustCompile(`(?m)^Total: (\d+) passed, (\d+) failed$`)
	// What the suite says of an exception of its own.
	thrown = regexp.MustCompile(`(?m)^Failed to run scenario (\S+): (.*)$`)
)

// readResults reads what the suite wrote of a run, in the order of its summary.
// An error tells that the folders and the summary do not agree, or that there is
// no summary: then nobody knows what the suite found.
func readResults(dir string) ([]scenario, error) {
	stdout, err1 := os.ReadFile(filepath.Join(dir, "stdout.txt"))
	stderr, err2 := os.ReadFile(filepath.Join(dir, "stderr.txt"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	found, err := readFolders(filepath.Join(dir, "results"))
	if err != nil {
		return nil, err
	}
	for _, m := range thrown.FindAllSubmatch(stderr, -1) {
		found[string(m[1])] = []finding{{ID: brokenOff, Status: "FAILURE", Message: string(m[2])}}
	}
	if !total.Match(stdout) {
		return nil, fmt.Errorf("the suite ended without a summary: %s", lastLines(stdout, stderr))
	}
	var out []scenario
	for _, m := range summed.FindAllSubmatch(stdout, -1) {
		s := scenario{name: string(m[1])}
		checks, ok := found[s.name]
		if !ok {
			return nil, fmt.Errorf("the suite left no results of %s", s.name)
		}
		s.checks = checks
		delete(found, s.name)
		passed, _ := strconv.Atoi(string(m[2]))
		failed, _ := strconv.Atoi(string(m[3]))
		if passed != s.count("SUCCESS") || failed != s.count("FAILURE") {
			return nil, fmt.Errorf("of %s the suite sums up %d passed and %d failed, and its results say %d and %d",
				s.name, passed, failed, s.count("SUCCESS"), s.count("FAILURE"))
		}
		out = append(out, s)
	}
	for name := range found {
		return nil, fmt.Errorf("the suite left results of %s, which its summary does not name", name)
	}
	if len(out) == 0 {
		return nil, errors.New("the suite ran no scenario")
	}
	return out, nil
}

// readFolders returns the checks by scenario. A folder without results is of a
// scenario that was broken off.
func readFolders(dir string) (map[string][]finding, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]finding{}
	for _, e := range entries {
		m := folder.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("%s is no folder of results", e.Name())
		}
		if _, twice := out[m[1]]; twice {
			return nil, fmt.Errorf("the suite left results of %s twice", m[1])
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		checks := []finding{}
		if err := json.Unmarshal(text, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		out[m[1]] = checks
	}
	return out, nil
}

func (s scenario) count(status string) int {
	n := 0
	for _, f := range s.checks {
		if f.Status == status {
			n++
		}
	}
	return n
}

// lastLines returns the end of the texts, for a message.
func lastLines(texts ...[]byte) string {
	var out string
	for _, t := range texts {
		out += string(t[max(0, len(t)-500):])
	}
	return out
}
