package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

func TestExitCodesOfClientsOverHTTP(t *testing.T) {
	mcp, sse := serving(t, "")
	over := func(transport string, rest ...string) []string {
		return join([]string{"client", "--transport", transport, "--timeout", "1s", "--start-timeout", "5s"}, rest)
	}
	process := func(more ...string) []string {
		return join([]string{"--", binary, "reference", "client"}, more)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"conforms":              {over("streamable-http", process("--http")...), 0, "2026-07-28 http"},
		"a URL in its place":    {over("streamable-http", process("--http", "{url}", "--legacy-first")...), 0, "2025-11-25 http"},
		"in a longer argument":  {over("streamable-http", "--", "sh", "-c", binary+" reference client --http {url}"), 0, "conforms"},
		"over HTTP+SSE":         {over("sse", process("--spec", "2024-11-05", "--sse")...), 0, "2024-11-05 sse"},
		"in process":            {over("streamable-http", "--reference"), 0, "conforms"},
		"in process over SSE":   {over("sse", "--reference"), 0, "2024-11-05 sse"},
		"one revision":          {over("streamable-http", "--spec", "2025-06-18", "--reference"), 0, "2025-06-18 http"},
		"fails":                 {over("streamable-http", process("--fault", "client-ping-result", "--http")...), 1, "client.ping.answered"},
		"fault in process":      {over("sse", "--reference=client-no-jsonrpc"), 1, "client.jsonrpc.version"},
		"environment":           {over("streamable-http", "--spec", "2025-11-25", "--", "sh", "-c", `test "$MCP_CONFORMANCE_SCENARIO" = initialize && test "$MCP_CONFORMANCE_PROTOCOL_VERSION" = 2025-11-25 && echo "$MCP_CONFORMANCE_CONTEXT" | grep -q '"name":"initialize"' && `+binary+` reference client --http "$0"`), 0, "conforms"},
		"environment of a user": {over("streamable-http", "--env", "MCP_CONFORMANCE_SCENARIO=mine", "--spec", "2025-11-25", "--", "sh", "-c", `test "$MCP_CONFORMANCE_SCENARIO" = mine && `+binary+` reference client --http "$0"`), 0, "conforms"},
		"never connects":        {over("streamable-http", "--", "true"), 3, "or call it"},
		"not of the transport":  {over("sse", "--spec", "2025-06-18", "--reference"), 3, "does not define the transport"},
		"a command's place":     {over("streamable-http", "--", "my-client", "{server}"), 2, "{url}"},
		"unknown transport":     {over("pigeon", "--reference"), 2, "pigeon"},
		"tour":                  {[]string{"reference", "client", "--http", mcp}, 0, "2026-07-28"},
		"tour with a handshake": {[]string{"reference", "client", "--http", mcp, "--spec", "2025-11-25"}, 0, "tools/list: "},
		"tour over SSE":         {[]string{"reference", "client", "--sse", sse, "--legacy-first"}, 0, "2024-11-05"},
		"tour nowhere":          {[]string{"reference", "client", "--http", "http://127.0.0.1:1/mcp"}, 1, "refused"},
		"tour at no URL":        {[]string{"reference", "client", "--http", "mcp"}, 1, "no URL"},
		"tour at a command":     {[]string{"reference", "client", "--http", mcp, "--", "true"}, 2, "too much"},
		"tour at both":          {[]string{"reference", "client", "--http", mcp, "--sse", sse}, 2, "http sse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.args...)
			if r.code != c.code || !strings.Contains(r.out+r.errors, c.says) {
				t.Errorf("exit %d, want %d saying %q\n%s%s", r.code, c.code, c.says, r.out, r.errors)
			}
		})
	}
}

// What a client sent by HTTP stands in the report: method, header fields and what
// was answered.
func TestFramesOfAClientTellItsHTTP(t *testing.T) {
	r := run(t, "client", "--transport", "streamable-http", "--spec", "2025-06-18", "--json", "-", "--", binary, "reference", "client", "--fault", "client-ping-result", "--http")
	report, err := reports.ReadJSON(strings.NewReader(r.out))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.out)
	}
	posts, answers := 0, 0
	for _, o := range report.Outcomes {
		for _, f := range o.Frames {
			switch {
			case f.HTTP == nil:
				t.Fatalf("%s: a frame without HTTP: %s", o.ID, f.Raw)
			case f.HTTP.Method == "POST" && f.HTTP.Header["Accept"] != nil && f.HTTP.Header["Mcp-Session-Id"] != nil && f.HTTP.Header["Mcp-Protocol-Version"][0] == "2025-06-18":
				posts++
			case f.HTTP.Status != 0:
				answers++
			}
		}
	}
	if r.code != exitFails || posts == 0 || answers == 0 {
		t.Errorf("exit %d, %d posts, %d answers", r.code, posts, answers)
	}
	for _, o := range report.Outcomes {
		if o.Verdict == reports.Fail && !strings.Contains(o.Rerun, "--transport streamable-http") {
			t.Errorf("the rerun is %q", o.Rerun)
		}
	}
	var whole map[string]any
	if err := json.Unmarshal([]byte(r.out), &whole); err != nil || whole["options"].(map[string]any)["transport"] != "streamable-http" {
		t.Errorf("options %v, %v", whole["options"], err)
	}
}

// ^C ends a client that was given a URL, and all that it started.
func TestAnInterruptEndsAClientOverHTTP(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(binary, "client", "--transport", "streamable-http", "--json", report, "--", "sh", "-c", "sleep 61; true # "+report)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the client to run", func() bool { return len(commandLines(t, "true # "+report)) >= 2 })
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
	await(t, "the client to be gone", func() bool { return len(commandLines(t, report)) == 0 })
}
