package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ledgerRows returns the rows of the ledger that have a verdict in mcpcheck's JSON
// report: pass, fail or warn.
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

// suiteChecks returns the ids of the suite's checks that have a verdict, which
// INFO and SKIPPED are not. The suite writes a file of checks into a folder for
// each scenario; a scenario that ends in an exception has no file.
func suiteChecks(results string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the suite wrote no results into %s", results)
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
