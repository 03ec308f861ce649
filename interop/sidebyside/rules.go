package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ledgerRows returns the rows of the ledger that mcpcheck's JSON report has a
// verdict on: pass, fail or warn.
func ledgerRows(report string) (map[string]bool, error) {
	var r struct {
		Outcomes []struct {
			Verdict string `json:"verdict"`
			Rules   []struct {
				ID string `json:"id"`
			} `json:"rules"`
		} `json:"outcomes"`
	}
	if err := readJSON(report, &r); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, o := range r.Outcomes {
		switch o.Verdict {
		case "pass", "fail", "warn":
			for _, rule := range o.Rules {
				out[rule.ID] = true
			}
		}
	}
	return out, nil
}

// suiteChecks returns the ids of the suite's checks that it has a verdict on. It
// leaves a file of them in a folder for each scenario; INFO and SKIPPED are no
// verdicts. A scenario that ended in an exception leaves no file.
func suiteChecks(results string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the suite left no results in %s", results)
	}
	out := map[string]bool{}
	for _, file := range files {
		var checks []struct {
			ID     string `json:"id"`
			Status string `json:"status"`
		}
		if err := readJSON(file, &checks); err != nil {
			return nil, err
		}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS", "FAILURE", "WARNING":
				out[c.ID] = true
			}
		}
	}
	return out, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
