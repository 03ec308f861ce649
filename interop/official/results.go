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

// A scenario is the results of one scenario of the suite.
type scenario struct {
	name   string
	checks []checkResult
}

// A checkResult is the result of one check of the suite. A scenario may run a
// check more than once.
type checkResult struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Message string `json:"errorMessage"`
	Details struct {
		Message string `json:"message"`
	} `json:"details"`
}

// text returns the message of the suite.
func (f checkResult) text() string {
	if f.Message == "" {
		return f.Details.Message
	}
	return f.Message
}

const (
	// exceptionCheck is the check of a scenario that ended in an exception of the
	// suite, which then writes no results for it.
	exceptionCheck = "(exception)"
	// noVerdictCheck is the check of a scenario without verdict, which would look
	// like one that passed.
	noVerdictCheck = "(nothing judged)"
)

// verdicts returns the results that are a verdict on the server. If there is
// none, it returns noVerdictCheck with the message of the suite.
func (s scenario) verdicts() []checkResult {
	var out []checkResult
	message := "no check at all"
	for _, f := range s.checks {
		switch {
		case f.Status != "INFO":
			out = append(out, f)
		case f.text() != "":
			message = f.text()
		}
	}
	if len(out) == 0 {
		out = append(out, checkResult{ID: noVerdictCheck, Status: "SKIPPED", Message: message})
	}
	return out
}

var (
	// folderPattern matches the name of a folder of results: server-SCENARIO-TIME.
	folderPattern = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	// scenarioLine matches a line of the summary, which ends the output.
	scenarioLine = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed$`)
	// totalLine matches the last line of the summary, and so of a finished run.
	totalLine = regexp.MustCompile(`(?m)^Total: (\d+) passed, (\d+) failed$`)
	// exceptionLine matches a report of an exception of the suite.
	exceptionLine = regexp.MustCompile(`(?m)^Failed to run scenario (\S+): (.*)$`)
)

// readResults reads what the suite wrote in a run, in the order of its summary.
// It returns an error if there is no summary, or if the folders and the summary
// disagree: then the results are unknown.
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
	for _, m := range exceptionLine.FindAllSubmatch(stderr, -1) {
		found[string(m[1])] = []checkResult{{ID: exceptionCheck, Status: "FAILURE", Message: string(m[2])}}
	}
	if !totalLine.Match(stdout) {
		return nil, fmt.Errorf("the suite ended without a summary: %s", tail(stdout, stderr))
	}
	var out []scenario
	for _, m := range scenarioLine.FindAllSubmatch(stdout, -1) {
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
			return nil, fmt.Errorf("the summary of %s says %d passed and %d failed, but its results say %d and %d",
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

// readFolders returns the checks by scenario. A folder without results belongs to
// a scenario that ended in an exception.
func readFolders(dir string) (map[string][]checkResult, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]checkResult{}
	for _, e := range entries {
		m := folderPattern.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("%s is not a folder of results", e.Name())
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
		checks := []checkResult{}
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

// tail returns the ends of the texts, for a message.
func tail(texts ...[]byte) string {
	var out string
	for _, t := range texts {
		out += string(t[max(0, len(t)-500):])
	}
	return out
}
