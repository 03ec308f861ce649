package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const stamp = "-2026-11-21T17-41-08-761Z"

// writeRun writes the files of a run of the suite: its output, and the results by
// scenario, where "" leaves the folder empty.
func writeRun(t *testing.T, stdout, stderr string, checks map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(text string, path ...string) {
		file := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(stdout, "stdout.txt")
	write(stderr, "stderr.txt")
	for name, text := range checks {
		if text != "" {
			write(text, "results", name, "checks.json")
		} else if err := os.MkdirAll(filepath.Join(dir, "results", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	good = `[{"id":"a","status":"SUCCESS"},{"id":"a","status":"SUCCESS","details":{"n":[1]}},{` +
		`"id":"b","status":"INFO","details":{"message":"hm"}}]`
	bad = `[{"id":"c","status":"FAILURE","errorMessage":"no c"},{"id":"d","status":"WARNING",` +
		`"details":{"message":"no d"}}]`
)

func TestResultsAreReadInTheOrderOfTheSummary(t *testing.T) {
	dir := writeRun(t,
		"=== SUMMARY ===\n✗ pings: 0 passed, 1 failed\n✓ tools-list: 2 passed, 0 failed\n✗ "+
			"caching: 0 passed, 1 failed\n\nTotal: 2 passed, 2 failed\n",
		"Failed to run scenario caching: Error: fetch failed\n    at x\n",
		map[string]string{"server-tools-list" + stamp: good, "server-pings" + stamp: bad, "server-caching" + stamp: ""})
	got, err := readResults(dir)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range got {
		for _, f := range s.checks {
			lines = append(lines, strings.Join([]string{s.name, f.ID, f.Status, f.text()}, " "))
		}
	}
	want := "pings c FAILURE no c\npings d WARNING no d\ntools-list a SUCCESS \ntools-list a SUCCESS \n" +
		"tools-list b INFO hm\ncaching (exception) FAILURE Error: fetch failed"
	if strings.Join(lines, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), want)
	}
}

func TestResultsThatContradictTheSummaryAreAnError(t *testing.T) {
	const list = "✓ tools-list: 2 passed, 0 failed\n"
	for _, c := range []struct {
		name, stdout, want string
		checks             map[string]string
	}{
		{"no summary", "=== Running scenario: tools-list ===", "without a summary",
			map[string]string{"server-tools-list" + stamp: good}},
		{"no scenario", "Total: 0 passed, 0 failed\n", "ran no scenario", map[string]string{"server-x" + stamp: ""}},
		{"no results", list + "Total: 2 passed, 0 failed\n", "left no results of tools-list",
			map[string]string{"server-tools-list" + stamp: ""}},
		{"different counts", list + "Total: 2 passed, 0 failed\n", "say 0 and 1",
			map[string]string{"server-tools-list" + stamp: bad}},
		{"more results", list + "Total: 2 passed, 0 failed\n", "its summary does not name",
			map[string]string{"server-tools-list" + stamp: good, "server-ping" + stamp: good}},
		{"results twice", list + "Total: 2 passed, 0 failed\n", "twice",
			map[string]string{"server-tools-list" + stamp: good, "server-tools-list-2026-11-21T17-41-09-000Z": good}},
		{"an unknown folder", list + "Total: 2 passed, 0 failed\n", "is not a folder of results",
			map[string]string{"client-tools-list" + stamp: good}},
		{"no JSON", list + "Total: 2 passed, 0 failed\n", "unexpected end",
			map[string]string{"server-tools-list" + stamp: "["}},
	} {
		got, err := readResults(writeRun(t, c.stdout, "", c.checks))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v and the error %v", c.name, got, err)
		}
	}
}
