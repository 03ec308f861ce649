package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tempFile writes a file and returns its path.
func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodesOfRuns(t *testing.T) {
	known := tempFile(t, "known.yaml", "- {check: jsonrpc.version, reason: they know}\n")
	stale := tempFile(t, "stale.yaml", "- {check: jsonrpc.id.types, reason: was broken once}\n")
	quick := argv("--timeout 300ms --start-timeout 2s")
	testExitCodes(t, map[string]exitCase{
		"conforms":   {argv("server", referenceProcess("")), 0, "no violation found"},
		"in process": {argv("server --reference"), 0, "no violation found"},
		"fails": {argv("server --spec 2025-06-18", referenceProcess("no-jsonrpc-member")), 1,
			"jsonrpc.version"},
		"fault in process": {argv("server --spec 2025-11-25 --only jsonrpc --reference=no-jsonrpc-member"),
			1, "jsonrpc.version"},
		"excused": {argv("server --verbose --spec 2025-11-25 --only jsonrpc --baseline "+known,
			referenceProcess("no-jsonrpc-member")), 0, "they know"},
		"wrong baseline entry": {argv("server --spec 2025-11-25 --only jsonrpc --baseline "+stale,
			referenceProcess("")), 1, "was broken once"},
		"warns": {argv("server --spec 2025-11-25 --only jsonrpc",
			referenceProcess("parse-error-silent")), 0, "jsonrpc.parse-error"},
		"warns strictly": {argv("server --spec 2025-11-25 --only jsonrpc --strict",
			referenceProcess("parse-error-silent")), 1, "jsonrpc.parse-error"},
		"not observed, strictly": {argv("server --spec 2026-07-28 --only jsonrpc --strict=all",
			referenceProcess("")), 1, "exercised"},
		"not startable": {argv("server -- no-such-program-here"), 3, "no-such-program-here"},
		"ends at once":  {argv("server -- true"), 3, "ended before"},
		"answers method not found only": {argv("server", quick, peerProcess("peer-not-found")), 1,
			"lifecycle.initialize.answered"},
		"answers nothing": {argv("server --timeout 300ms --start-timeout 700ms",
			peerProcess("peer-silent")), 3, "no answer on stdio. If this is an HTTP server, use --url"},
		"not spoken": {argv("server --spec 2026-07-28", quick, peerProcess("peer-not-found")), 3,
			"not spoken"},
		"reference over HTTP": {argv(
			"server --reference --transport streamable-http --spec 2025-11-25 --only ping.answered"), 0,
			"2025-11-25 http"},
		"reference over SSE": {argv("server --reference --transport sse --only ping.answered"), 0,
			"2024-11-05 sse"},
		"fails a Robust check": {
			argv("server --verbose --spec 2025-11-25 --only ping.survived", peerProcess("peer-exits")), 0,
			"ROBUST, no clause requires it; see basic/utilities/ping#behavior-requirements",
		},
		"deadline": {argv("server --deadline 1s --start-timeout 30s", peerProcess("peer-silent")), 3, "deadline"},
	})
}

func TestExitCodesOfUsage(t *testing.T) {
	misspelt := tempFile(t, "misspelt.yaml", "tools:\n  search:\n    argument: []\n")
	empty := tempFile(t, "empty.yaml", "[]\n")
	typo := tempFile(t, "typo.yaml", "- {check: jsonrpc.versoin, reason: they know}\n")
	testExitCodes(t, map[string]exitCase{
		"typo in baseline": {argv("server --baseline "+typo, referenceProcess("")), 2, "jsonrpc.versoin"},
		"unknown key in config": {argv("server --config "+misspelt, peerProcess("peer-family")), 2,
			"misspelt.yaml: line 3: tools.search.argument is not known"},
		"unreadable config": {argv("server --config /no/such/mcpcheck.yaml --reference"), 2,
			"/no/such/mcpcheck.yaml"},
		"no target":          {argv("server"), 2, "no target"},
		"unknown flag":       {argv("server --no-such-flag"), 2, "--no-such-flag"},
		"misspelt flag":      {argv("server --jsn x --reference"), 2, "did you mean --json?"},
		"unknown verb":       {argv("judge-all"), 2, "judge-all"},
		"control character":  {argv("server --only a\x1b[31mb --reference"), 2, `a\x1b[31mb`},
		"misspelt verb":      {argv("sever"), 2, "did you mean server?"},
		"misspelt area":      {argv("server --only tols.* --reference"), 2, "did you mean tools?"},
		"misspelt check":     {argv("server --only ping.answred --reference"), 2, "did you mean ping.answered?"},
		"URL without scheme": {argv("server localhost:3000/mcp"), 2, "did you mean http://localhost:3000/mcp?"},
		"--url without scheme": {argv("server --url localhost:3000/mcp -- true"), 2,
			"did you mean http://localhost:3000/mcp?"},
		"unknown revision":  {argv("server --spec 2025-01-01 --reference"), 2, "2025-01-01"},
		"unmatched glob":    {argv("server --only jsonrcp --reference"), 2, "jsonrcp"},
		"bad env":           {argv("server --env novalue", referenceProcess("")), 2, "novalue"},
		"bad cwd":           {argv("server --cwd /no/such/dir", referenceProcess("")), 2, "/no/such/dir"},
		"bad timeout":       {argv("server --timeout 0s --reference"), 2, "--timeout"},
		"unwritable report": {argv("server --json /no/such/dir/x.json --reference"), 2, "/no/such/dir/x.json"},
		"two reports to a file": {argv("server --json " + typo + ".x --html " + typo + ".x --reference"), 2,
			"--json and --html name the same file"},
		"report to its configuration": {
			argv("server --reference --config " + misspelt + " --junit " + misspelt), 2, "misspelt.yaml"},
		"report to its baseline": {argv("server --reference --baseline " + empty + " --junit " + empty), 2,
			"--baseline and --junit name the same file"},
		"reference with a URL": {argv("server --reference --url http://127.0.0.1:1/"), 2,
			"--reference starts its own server"},
		"fault as an argument": {argv("server --reference no-jsonrpc-member"), 2, "--reference=FAULT"},
		"unknown fault":        {argv("server --reference=no-jsonrpc"), 2, "no-jsonrpc-member"},
		"help":                 {argv("--help"), 0, "mcpcheck server -- node build/index.js"},
		"version":              {argv("--version"), 0, "mcpcheck "},
	})
}

func TestExitCodesOfProfiles(t *testing.T) {
	testExitCodes(t, map[string]exitCase{
		"profile": {argv("server --profile official --only official.tools,official.prompts",
			referenceProcess(""), argv("--profile official")), 0, "no violation found"},
		"missing fixture": {argv("server --profile official --only official.tools.image", referenceProcess("")), 1,
			"the tool test_image_content is not listed"},
		"fault of a profile": {argv(
			"server --profile official --only official.prompts --reference=contract-prompt-of-assistant"), 1,
			"official.prompts.simple"},
		"unknown profile":   {argv("server --profile unofficial --reference"), 2, "unofficial"},
		"profile not given": {argv("server --only official --reference"), 2, "--profile official"},
	})
}

func TestListAndExplain(t *testing.T) {
	testExitCodes(t, map[string]exitCase{
		"explain a check with an official counterpart": {argv("explain tools.name.length"), 0,
			"tools-list:tools-name-format (since 2025-11-25)"},
		"explain a scenario": {argv("explain tools-list"), 0,
			"tested by tools.name.length, tools.name.characters"},
		"explain a profile": {argv("explain official.tools.image"), 0,
			"run with --profile official"},
		"explain a covered rule": {argv("explain completion-max-100-docs"), 0,
			"covered by completion-max-100 (tested by completion.values.most): "},
		"explain a note": {argv("explain pagination-operations"), 0, "  Note: "},
		"list covered rules": {argv("list --rules --json"), 0, `"covered": "completion-max-100",
      "judged_by": [
        "completion.values.most"
      ],
      "why": `},
		"list profiles": {argv("list --json"), 0, `"profile": "official"`},
		"explain a Robust check": {argv("explain jsonrpc.id.fraction.survived"), 0,
			"No clause requires it; see basic/index#requests\n    2024-11-05  https://modelcontextprotocol.io/"},
		"explain a check":         {argv("explain jsonrpc.version"), 0, "jsonrpc-version-literal"},
		"explain an unknown name": {argv("explain jsonrpc.versionn"), 2, "jsonrpc.version"},
		"list":                    {argv("list"), 0, "jsonrpc.method.unknown"},
		"list an area":            {argv("list ping"), 0, "ping (7)\n  ping.answered  "},
		"list a glob, of a level": {argv("list tools.name.* --level must"), 0, "\n1 check\n"},
		"list at the latest":      {argv("list ping --spec latest"), 0, "0 checks\n"},
		"list an unknown level":   {argv("list --level may"), 2, `--level must be must, should or robust, not "may"`},
		"list an unknown area":    {argv("list tolls"), 2, "did you mean tools?"},
		"list rules of a level":   {argv("list --rules --level must"), 2, "list --rules lists all rules"},
		"explain an area":         {argv("explain ping"), 0, "  ping.answered  "},
		"explain an unknown area": {argv("explain tolls"), 2, "nor an area; did you mean tools?"},
		"latest revision":         {argv("server --reference --only discover --spec latest"), 0, "2026-07-28 stdio"},
		"help has groups":         {argv("server --help"), 0, "\nTime:\n      --deadline duration  "},
		"help has examples":       {argv("fuzz --help"), 0, "Examples:\n  mcpcheck fuzz "},
	})
}

// A run that reads the baseline which an earlier run wrote excuses what failed there.
func TestWrittenBaselineIsAccepted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.yaml")
	t.Parallel()
	judge := "server --spec 2025-11-25 --only jsonrpc --reference=no-jsonrpc-member "
	for _, c := range []exitCase{
		{argv(judge + "--write-baseline " + file), 1, "does not conform"},
		{argv(judge + "--baseline " + file), 0, "excused by the baseline"},
		{argv(judge + "--baseline " + file + " --write-baseline " + file), 2, "name the same file"},
	} {
		r := run(t, c.args...)
		if r.code != c.code || !strings.Contains(r.out+r.errors, c.text) {
			t.Errorf("%q: exit %d, want %d with %q\n%s%s", c.args, r.code, c.code, c.text, r.out, r.errors)
		}
	}
}
