package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

func TestExitCodesOfClientsOverHTTP(t *testing.T) {
	const (
		streamable = "client --transport streamable-http --timeout 1s --start-timeout 5s "
		sse        = "client --transport sse --timeout 1s --start-timeout 5s "
	)
	referenceClient := "-- " + binary + " reference client "
	testEnvironment := shellScript(`test "$MCP_CONFORMANCE_SCENARIO" = initialize &&
		test "$MCP_CONFORMANCE_PROTOCOL_VERSION" = 2025-11-25 &&
		echo "$MCP_CONFORMANCE_CONTEXT" | grep -q '"name":"initialize"' &&
		` + binary + ` reference client --http "$0"`)
	testOwnEnvironment := shellScript(`test "$MCP_CONFORMANCE_SCENARIO" = mine && ` + binary +
		` reference client --http "$0"`)
	testExitCodes(t, map[string]exitCase{
		"conforms":    {argv(streamable + referenceClient + "--http"), 0, "2026-07-28 http"},
		"placeholder": {argv(streamable + referenceClient + "--http {url} --legacy-first"), 0, "2025-11-25 http"},
		"placeholder within an argument": {
			argv(streamable, shellScript(binary+" reference client --http {url}")), 0, "no violation found",
		},
		"over HTTP+SSE": {argv(sse + referenceClient + "--spec 2024-11-05 --sse"), 0,
			"2024-11-05 sse"},
		"in process":          {argv(streamable + "--reference"), 0, "no violation found"},
		"in process over SSE": {argv(sse + "--reference"), 0, "2024-11-05 sse"},
		"one revision":        {argv(streamable + "--spec 2025-06-18 --reference"), 0, "2025-06-18 http"},
		"fault in process":    {argv(sse + "--reference=client-no-jsonrpc"), 1, "jsonrpc.client.version"},
		"environment":         {argv(streamable+"--spec 2025-11-25", testEnvironment), 0, "no violation found"},
		"never connects":      {argv(streamable + "-- true"), 3, "or call it"},
		"revision without the transport": {argv(sse + "--spec 2025-06-18 --reference"), 3,
			"does not define the transport"},
		"placeholder of stdio": {argv(streamable + "-- my-client {server}"), 2, "{url}"},
		"unknown transport":    {argv("client --transport pigeon --reference"), 2, "pigeon"},
		"fails": {
			argv(streamable + referenceClient + "--fault client-ping-result --http"), 1, "ping.client.answered",
		},
		"environment of the user": {
			argv(streamable+"--env MCP_CONFORMANCE_SCENARIO=mine --spec 2025-11-25", testOwnEnvironment), 0,
			"no violation found",
		},
	})
}

func TestReferenceClientOverHTTP(t *testing.T) {
	mcp, sse := startReference(t, "")
	testExitCodes(t, map[string]exitCase{
		"streamable HTTP": {argv("reference client --http " + mcp), 0, "2026-07-28"},
		"handshake":       {argv("reference client --http " + mcp + " --spec 2025-11-25"), 0, "tools/list: "},
		"HTTP+SSE":        {argv("reference client --sse " + sse + " --legacy-first"), 0, "2024-11-05"},
		"no server":       {argv("reference client --http http://127.0.0.1:1/mcp"), 1, "refused"},
		"not a URL":       {argv("reference client --http mcp"), 1, "no URL"},
		"a command too":   {argv("reference client --http " + mcp + " -- true"), 2, "unexpected argument"},
		"both transports": {argv("reference client --http " + mcp + " --sse " + sse), 2, "give one of"},
	})
}

// The frames of a client over HTTP show its methods and header fields, and the
// status of the answers.
func TestFramesOfClientShowHTTP(t *testing.T) {
	r := run(t, argv("client --transport streamable-http --spec 2025-06-18 --json - -- "+binary+
		" reference client --fault client-ping-result --http")...)
	report := parseReport(t, r.out)
	posts, answers := 0, 0
	for _, o := range report.Outcomes {
		for _, f := range o.Frames {
			if f.HTTP == nil {
				t.Fatalf("%s: a frame without HTTP: %s", o.ID, f.Raw)
			}
			h := f.HTTP.Header
			switch {
			case f.HTTP.Method == "POST" && h["Accept"] != nil && h["Mcp-Session-Id"] != nil &&
				h["Mcp-Protocol-Version"][0] == "2025-06-18":
				posts++
			case f.HTTP.Status != 0:
				answers++
			}
		}
		if o.Verdict == reports.Fail && !strings.Contains(o.Rerun, "--transport streamable-http") {
			t.Errorf("the rerun is %q", o.Rerun)
		}
	}
	if r.code != exitFails || posts == 0 || answers == 0 {
		t.Errorf("exit %d, %d posts, %d answers", r.code, posts, answers)
	}
	if report.Options["transport"] != "streamable-http" {
		t.Errorf("options %v", report.Options)
	}
}

func TestInterruptEndsAClientOverHTTP(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(binary,
		argv("client --transport streamable-http --json "+report, shellScript("sleep 61; true # "+report))...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the client", func() bool { return len(commandLines(t, "true # "+report)) >= 2 })
	testInterrupted(t, cmd, syscall.SIGINT, report)
	await(t, "the end of the client", func() bool { return len(commandLines(t, report)) == 0 })
}
