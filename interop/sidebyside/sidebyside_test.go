package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(rules map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(rules)), " ")
}

func TestRulesWithAVerdictCountOnce(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	write(t, report, `{"outcomes":[
		{"verdict":"pass","rules":[{"id":"a"},{"id":"b"}]},
		{"verdict":"warn","rules":[{"id":"b"},{"id":"c"}]},
		{"verdict":"fail","rules":[{"id":"d"}]},
		{"verdict":"fail"},
		{"verdict":"not-observed","rules":[{"id":"e"}]},
		{"verdict":"not-applicable","rules":[{"id":"f"}]}]}`)
	if got, err := ledgerRows(report); err != nil || names(got) != "a b c d" {
		t.Errorf("of mcpcheck: %q, %v", names(got), err)
	}
	write(t, filepath.Join(dir, "server-one", "checks.json"),
		`[{"id":"x","status":"SUCCESS"},{"id":"x","status":"FAILURE"},{"id":"i","status":"INFO"}]`)
	write(t, filepath.Join(dir, "server-two", "checks.json"),
		`[{"id":"y","status":"WARNING"},{"id":"s","status":"SKIPPED"}]`)
	if got, err := suiteChecks(dir); err != nil || names(got) != "x y" {
		t.Errorf("of the suite: %q, %v", names(got), err)
	}
}

func TestMissingResultsAreAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := suiteChecks(dir); err == nil {
		t.Error("no results of the suite: no error")
	}
	if _, err := ledgerRows(filepath.Join(dir, "report.json")); err == nil {
		t.Error("no report: no error")
	}
}

// TestMain makes the test binary the command that is measured, if the environment
// says so: it uses memory and processor time, sleeps, and prints a line.
func TestMain(m *testing.M) {
	if os.Getenv("MCPCHECK_MEASURED") == "" {
		os.Exit(m.Run())
	}
	filled := bytes.Repeat([]byte("x"), 60_000_000)
	var u syscall.Rusage
	for u.Utime.Nano()+u.Stime.Nano() < int64(300*time.Millisecond) {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
	}
	time.Sleep(300 * time.Millisecond)
	fmt.Printf("done with %d\n", len(filled))
	os.Exit(1)
}

func TestMeasure(t *testing.T) {
	t.Setenv("MCPCHECK_MEASURED", "1")
	dir := t.TempDir()
	f, err := measure(t.Context(), []string{os.Args[0]}, filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if f.cpu < 300*time.Millisecond || f.wall < 300*time.Millisecond || f.peak < 60_000_000 {
		t.Errorf("measured %+v", f)
	}
	if out, _ := os.ReadFile(filepath.Join(dir, "out")); string(out) != "done with 60000000\n" {
		t.Errorf("it printed %q", out)
	}
	if _, err := measure(t.Context(), []string{"sh", "-c", "echo trouble; exit 3"},
		filepath.Join(dir, "out")); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("exit 3: %v", err)
	}
}

func TestMedianOfEachFigure(t *testing.T) {
	got := median([]figures{{cpu: 3, wall: 10, peak: 5, rules: 7}, {cpu: 1, wall: 30, peak: 6, rules: 9},
		{cpu: 2, wall: 20, peak: 4, rules: 8}})
	if want := (figures{cpu: 2, wall: 20, peak: 5, rules: 8}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCompareRequiresFewerResourcesAndTripleRules(t *testing.T) {
	them := figures{cpu: 10, peak: 100, rules: 50}
	for _, c := range []struct {
		us   figures
		text string
	}{
		{figures{cpu: 9, peak: 99, rules: 150}, ""},
		{figures{cpu: 10, peak: 99, rules: 150}, "processor time"},
		{figures{cpu: 9, peak: 100, rules: 150}, "memory"},
		{figures{cpu: 9, peak: 99, rules: 149}, "149 rules"},
	} {
		if err := compare(c.us, them); (err == nil) != (c.text == "") || err != nil &&
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v", c.us, err)
		}
	}
	if err := compare(figures{rules: 3}, figures{cpu: 1, peak: 1}); err == nil {
		t.Error("a suite that judged nothing gives no error")
	}
}
