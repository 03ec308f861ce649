package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzFault runs fuzz on a seeded fault, which must be found, and returns the
// directory of the case files.
func fuzzFault(t *testing.T, fault string) string {
	t.Helper()
	dir := t.TempDir()
	report := filepath.Join(dir, "report.json")
	got := run(t, "fuzz", "--reference="+fault, "--runs", "300", "--seed", "1", "--spec", "2025-06-18", "--timeout",
		"1s", "--out", filepath.Join(dir, "cases"), "--json", report)
	if got.code != exitFails || !strings.Contains(got.out, "liveness.dead") ||
		!strings.Contains(got.errors, "FINDING liveness.dead") || !strings.Contains(got.out, "300 distinct plans") {
		t.Fatalf("exit %d\n%s\n%s", got.code, got.out, got.errors)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var run struct {
		Exit, Plans int
		Seed        uint64
		Findings    []struct{ Oracle, Signature, Reproduced, Case, Replay string }
	}
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	if run.Exit != exitFails || run.Plans != 300 || run.Seed != 1 || len(run.Findings) != 1 {
		t.Fatalf("the report says %+v", run)
	}
	if f := run.Findings[0]; f.Reproduced != "3/3" ||
		!strings.HasPrefix(f.Replay, "mcpcheck replay "+f.Case) || !strings.Contains(f.Replay, "--reference="+fault) {
		t.Errorf("the report says %+v", f)
	}
	return filepath.Join(dir, "cases")
}

func TestFuzzWritesCasesThatReplay(t *testing.T) {
	t.Parallel()
	const fault = "fuzz-exits-on-duplicate-member"
	cases, err := filepath.Glob(filepath.Join(fuzzFault(t, fault), "*.jsonl"))
	if err != nil || len(cases) != 1 {
		t.Fatalf("cases %v, %v", cases, err)
	}
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"replay", cases[0], "--reference=" + fault}, exitFails, "reproduces: liveness.dead"},
		{[]string{"replay", cases[0], "--", binary, "reference", "server", "--stdio", "--fault", fault}, exitFails,
			"reproduces"},
		{[]string{"replay", cases[0], "--reference"}, exitConforms, "does not reproduce"},
		{[]string{"replay", cases[0], "--", binary, "reference", "server", "--stdio"}, exitConforms,
			"does not reproduce"},
		{[]string{"replay", cases[0], "--", "mcpcheck-no-such-program"}, exitUnreachable, ""},
		{[]string{"replay", cases[0], "--", "true"}, exitUnreachable, ""},
	} {
		if got := run(t, c.args...); got.code != c.code || !strings.Contains(got.out, c.text) {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, got.code, c.code, got.out, got.errors)
		}
	}
}

func TestFuzzFindsNothingOnTheReference(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cases")
	got := run(t, "fuzz", "--reference", "--runs", "250", "--seed", "2", "--out", dir)
	if got.code != exitConforms || !strings.Contains(got.out, "250 plans") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errors)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory of cases exists without a case: %v", err)
	}
}

func TestFuzzOfUnreachableTargets(t *testing.T) {
	for _, target := range []string{"true", "mcpcheck-no-such-program"} {
		if got := run(t, "fuzz", "--runs", "5", "--", target); got.code != exitUnreachable {
			t.Errorf("%s: exit %d\n%s%s", target, got.code, got.out, got.errors)
		}
	}
}

func TestUsageErrorsOfFuzzAndReplay(t *testing.T) {
	write := func(name, text string) string { return tempFile(t, name, text) }
	head := "# revision: 2025-06-18\n# oracle: liveness.dead\n# outcome: x\n"
	frame := `{"from":"client","raw":{}}` + "\n"
	for _, c := range []struct {
		args []string
		text string
	}{
		{argv("fuzz"), "no target"},
		{argv("fuzz --runs 0 --reference"), "--runs"},
		{argv("fuzz --time -1s --reference"), "--time"},
		{argv("fuzz --spec 2025-01-01 --reference"), "2025-01-01"},
		{argv("fuzz --only tools --reference"), "--only"},
		{argv("fuzz --reference=no-such-fault"), "no-such-fault"},
		{[]string{"fuzz", "--out", write("file", ""), "--reference"}, "not a directory"},
		{argv("fuzz http://localhost:1/mcp more"), "after the URL"},
		{argv("fuzz --transport sse -- true"), "needs a URL"},
		{[]string{"fuzz", "--header", "no colon", "http://localhost:1/mcp"}, "no colon"},
		{argv("replay"), "case file"},
		{argv("replay -- true"), "case file"},
		{[]string{"replay", filepath.Join(t.TempDir(), "missing"), "--reference"}, "missing"},
		{[]string{"replay", write("json", head+frame+"no json\n"), "--reference"}, "line 5"},
		{[]string{"replay", write("rev", "# revision: 1999-01-01\n"), "--reference"}, "line 1"},
		{[]string{"replay", write("split", head+"# split: x\n"+frame), "--reference"}, "line 4"},
		{[]string{"replay", write("none", head), "--reference"}, "no frame"},
		{[]string{"replay", write("oracle", "# revision: 2025-06-18\n"+frame), "--reference"}, "oracle"},
		{[]string{"replay", write("good", head+frame)}, "case file"},
		{[]string{"replay", write("over", "# transport: pigeon\n"+head+frame), "--reference"}, "pigeon"},
		{[]string{"replay", write("words", "# target: x\n"+head+frame)}, "line 1"},
		{[]string{"replay", write("started",
			`# target: ["--url","http://localhost:1/mcp","--","true"]`+"\n"+head+frame)}, "--recorded"},
		{[]string{"replay", write("odd", `# target: ["--","true"]`+"\n"+head+frame)}, "is not understood"},
	} {
		if got := run(t, c.args...); got.code != exitUsage || !strings.Contains(got.errors, c.text) {
			t.Errorf("%v: exit %d, want %d with %q\n%s%s", c.args, got.code, exitUsage, c.text, got.out, got.errors)
		}
	}
}
