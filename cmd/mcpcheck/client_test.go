package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

// referenceClientProcess are the arguments that name the reference client as a
// process.
func referenceClientProcess(flags string) []string {
	return argv("-- "+binary+" reference client --stdio "+flags, argv("-- {server}"))
}

// shellScript are the arguments that name a shell script as a target.
func shellScript(text string) []string { return []string{"--", "sh", "-c", text} }

func TestExitCodesOfClients(t *testing.T) {
	quick := argv("--timeout 500ms --start-timeout 2s")
	testExitCodes(t, map[string]exitCase{
		"conforms":     {argv("client", referenceClientProcess("")), 0, "no violation found"},
		"in process":   {argv("client --reference"), 0, "no violation found"},
		"one revision": {argv("client --spec 2026-07-28 --reference"), 0, "no violation found"},
		"one check":    {argv("client --only ping --reference"), 0, "no violation found"},
		"fails": {argv("client", referenceClientProcess("--fault client-ping-result")), 1,
			"ping.client.answered"},
		"fault in process": {argv("client --reference=client-no-jsonrpc"), 1, "jsonrpc.client.version"},
		"warns": {argv("client --reference=client-signals-first"), 0,
			"lifecycle.client.shutdown"},
		"warns strictly": {argv("client --strict --reference=client-signals-first"), 1,
			"lifecycle.client.shutdown"},
		"placeholder within an argument": {argv("client", quick,
			shellScript(binary+" reference client --stdio -- {server}")), 0, "no violation found"},
		"sends nothing": {argv("client", quick, shellScript("{server} </dev/null")), 1,
			"lifecycle.client.initialize.first"},
		"sends nothing for long": {argv("client", quick, shellScript("sleep 60 | {server}")), 1,
			"lifecycle.client.initialize.first"},
		"does not open a session": {argv("client", quick,
			shellScript(`echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | {server}`)), 1,
			"lifecycle.client.initialize.first"},
		"never connects": {argv("client", quick, argv("-- true {server}")), 3,
			"did not start the server"},
		"not startable": {argv("client -- no-such-program-here {server}"), 3, "no-such-program-here"},
		"not spoken": {argv("client --spec 2026-07-28",
			referenceClientProcess("--spec 2025-06-18")), 3, "not spoken"},
		"deadline": {argv("client --deadline 1s", shellScript("sleep 60 | {server}")), 3,
			"deadline"},
		"no target":            {argv("client"), 2, "no target"},
		"no placeholder":       {argv("client -- my-client server"), 2, "{server}"},
		"URL":                  {argv("client -- my-client {url}"), 2, "{url}"},
		"before the dashes":    {argv("client my-client {server}"), 2, "must follow --"},
		"unmatched glob":       {argv("client --only jsonrpc.version --reference"), 2, "jsonrpc.version"},
		"fault as an argument": {argv("client --reference client-no-jsonrpc"), 2, "--reference=FAULT"},
		"unknown fault":        {argv("client --reference=client-no-jsonrp"), 2, "client-no-jsonrpc"},
		"flag of servers":      {argv("client --allow-tools all --reference"), 2, "--allow-tools"},
		"reference client": {argv("reference client --stdio -- " + binary + " reference server --stdio"),
			0, "tools/list: "},
		"reference client, server ends":   {argv("reference client --stdio -- true"), 1, "initialize"},
		"reference client without server": {argv("reference client --stdio"), 2, "no server"},
	})
}

// The report of a client that fails names it, shows frames, and gives a command
// that fails for the same reason.
func TestRerunCommandReproducesAFailureOfAClient(t *testing.T) {
	t.Parallel()
	r := run(t, argv("client --json -", referenceClientProcess("--fault client-ping-result"))...)
	report := parseReport(t, r.out)
	target := report.Target
	if target.Role != "client" || target.Name != "mcpcheck-reference-client" || target.Starts < 10 {
		t.Errorf("the target is %+v", target)
	}
	for _, o := range report.Outcomes {
		if o.Verdict != reports.Fail {
			continue
		}
		if len(o.Frames) == 0 || !strings.HasPrefix(o.Where, "suites/ping/") {
			t.Errorf("%d frames, where %q", len(o.Frames), o.Where)
		}
		testRerun(t, o)
		return // one is enough: a rerun takes long
	}
	t.Error("nothing failed")
}

// An interrupt ends a client that does not end by itself, and the bridge that it
// started.
func TestInterruptEndsTheClientAndItsBridge(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(binary, argv("client --json "+report, shellScript("sleep 61 | {server}; true # "+report))...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The arguments of the client hold the address of the bridge, which identifies
	// both processes.
	address := ""
	await(t, "the bridge", func() bool {
		for _, line := range commandLines(t, report) {
			if _, rest, ok := strings.Cut(line, bridgeVerb+" "); ok {
				address, _, _ = strings.Cut(rest, ";")
			}
		}
		return address != "" && len(commandLines(t, bridgeVerb+"\x00"+address)) == 1
	})
	testInterrupted(t, cmd, syscall.SIGINT, report)
	await(t, "the end of client and bridge", func() bool { return len(commandLines(t, address)) == 0 })
}

// commandLines returns the command lines of the processes whose arguments hold a
// text. A zero byte ends each argument.
func commandLines(t *testing.T, text string) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && bytes.Contains(line, []byte(text)) {
			out = append(out, string(line))
		}
	}
	return out
}
