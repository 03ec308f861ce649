package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/reports"
)

// referenceClientArgs are the arguments after "client" that judge our own
// client as a process.
func referenceClientArgs(more ...string) []string {
	return append(append([]string{"--", binary, "reference", "client", "--stdio"}, more...), "--", "{server}")
}

func TestExitCodesOfClients(t *testing.T) {
	quick := []string{"client", "--timeout", "500ms", "--start-timeout", "2s"}
	shell := func(script string) []string { return join(quick, []string{"--", "sh", "-c", script}) }
	for name, c := range map[string]struct {
		args []string
		code int
		says string // in stdout or stderr
	}{
		"conforms":           {join([]string{"client"}, referenceClientArgs()), 0, "conforms"},
		"in process":         {[]string{"client", "--reference"}, 0, "conforms"},
		"one revision":       {[]string{"client", "--spec", "2026-07-28", "--reference"}, 0, "conforms"},
		"one check":          {[]string{"client", "--only", "client.ping", "--reference"}, 0, "conforms"},
		"fails":              {join([]string{"client"}, referenceClientArgs("--fault", "client-ping-result")), 1, "client.ping.answered"},
		"fault in process":   {[]string{"client", "--reference=client-no-jsonrpc"}, 1, "client.jsonrpc.version"},
		"warns":              {[]string{"client", "--reference=client-signals-first"}, 0, "client.lifecycle.shutdown"},
		"warns strictly":     {[]string{"client", "--strict", "--reference=client-signals-first"}, 1, "client.lifecycle.shutdown"},
		"in one argument":    {shell(binary + " reference client --stdio -- {server}"), 0, "conforms"},
		"says nothing":       {shell("{server} </dev/null"), 1, "client.lifecycle.initialize.first"},
		"says nothing, long": {shell("sleep 60 | {server}"), 1, "client.lifecycle.initialize.first"},
		"says no opening":    {shell(`echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | {server}`), 1, "client.lifecycle.initialize.first"},
		"never connects":     {join(quick, []string{"--", "true", "{server}"}), 3, "did not start the server"},
		"not startable":      {[]string{"client", "--", "no-such-program-here", "{server}"}, 3, "no-such-program-here"},
		"not spoken":         {join([]string{"client", "--spec", "2026-07-28"}, referenceClientArgs("--spec", "2025-06-18")), 3, "not spoken"},
		"deadline":           {[]string{"client", "--deadline", "1s", "--", "sh", "-c", "sleep 60 | {server}"}, 3, "deadline"},
		"no target":          {[]string{"client"}, 2, "no target"},
		"no placeholder":     {[]string{"client", "--", "my-client", "server"}, 2, "{server}"},
		"URL":                {[]string{"client", "--", "my-client", "{url}"}, 2, "{url}"},
		"before the dashes":  {[]string{"client", "my-client", "{server}"}, 2, "after --"},
		"unmatched glob":     {[]string{"client", "--only", "jsonrpc.version", "--reference"}, 2, "jsonrpc.version"},
		"fault with a space": {[]string{"client", "--reference", "client-no-jsonrpc"}, 2, "--reference=FAULT"},
		"unknown fault":      {[]string{"client", "--reference=client-no-jsonrp"}, 2, "client-no-jsonrpc"},
		"no allowing":        {[]string{"client", "--allow-tools", "all", "--reference"}, 2, "--allow-tools"},
		"tour":               {[]string{"reference", "client", "--stdio", "--", binary, "reference", "server", "--stdio"}, 0, "tools/list: "},
		"tour without":       {[]string{"reference", "client", "--stdio", "--", "true"}, 1, "initialize"},
		"tour nowhere":       {[]string{"reference", "client", "--stdio"}, 2, "no server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.args...)
			if r.code != c.code {
				t.Errorf("exit %d, want %d\n%s%s", r.code, c.code, r.out, r.errors)
			}
			if !strings.Contains(r.out+r.errors, c.says) {
				t.Errorf("nothing says %q\n%s%s", c.says, r.out, r.errors)
			}
		})
	}
}

// The report of a client that fails names it, shows frames, and gives a
// command that fails for the same reason.
func TestAFailureOfAClientIsRerunByItsCommand(t *testing.T) {
	t.Parallel()
	r := run(t, join([]string{"client", "--json", "-"}, referenceClientArgs("--fault", "client-ping-result"))...)
	report, err := reports.ReadJSON(strings.NewReader(r.out))
	if err != nil {
		t.Fatalf("stdout is no report: %v\n%s", err, r.out)
	}
	if target := report.Target; target.Role != "client" || target.Name != "mcpcheck-reference-client" || target.Starts < 10 {
		t.Errorf("the target is %+v", target)
	}
	reran := false
	for _, o := range report.Outcomes {
		if o.Verdict != reports.Fail || reran {
			continue
		}
		reran = true
		if len(o.Frames) == 0 || !strings.HasPrefix(o.Where, "suites/client/") {
			t.Errorf("%d frames, where %q", len(o.Frames), o.Where)
		}
		args, ok := strings.CutPrefix(o.Rerun, "mcpcheck ")
		if !ok {
			t.Fatalf("rerun is %q", o.Rerun)
		}
		out, err := exec.Command("sh", "-c", binary+" "+args).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitFails || !strings.Contains(string(out), o.Detail) {
			t.Errorf("%s: %v\n%s", o.Rerun, err, out)
		}
	}
	if !reran {
		t.Error("nothing failed")
	}
}

// ^C ends the run of a client that never ends; the report is written, and
// neither the client nor the bridge that it started lives on.
func TestAnInterruptEndsTheClientAndItsBridge(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(binary, "client", "--json", report, "--", "sh", "-c", "sleep 61 | {server}; true # "+report)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The client's arguments tell the address of the bridge, by which both are
	// found.
	address := ""
	await(t, "the bridge to run", func() bool {
		for _, line := range commandLines(t, report) {
			if _, rest, ok := strings.Cut(line, bridgeVerb+" "); ok {
				address, _, _ = strings.Cut(rest, ";")
			}
		}
		return address != "" && len(commandLines(t, bridgeVerb+"\x00"+address)) == 1
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	if run, err := reports.ReadJSON(bytes.NewReader(text)); err != nil || run.Ended != reports.Interrupted {
		t.Errorf("report: %v\n%s", err, text)
	}
	await(t, "client and bridge to be gone", func() bool { return len(commandLines(t, address)) == 0 })
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// commandLines returns the arguments, each ended by a zero byte, of the
// processes that have a text among them.
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
