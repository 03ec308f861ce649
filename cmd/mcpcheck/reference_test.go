package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The reference server over HTTP says where it is, serves there and ends by
// itself when it is told to.
func TestReferenceServerOverHTTP(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for name, c := range map[string]struct {
		args           []string
		urls           int
		session, event bool
		signal         os.Signal
	}{
		"sessions":         {[]string{"--http", "127.0.0.1:0"}, 2, true, false, os.Interrupt},
		"without sessions": {[]string{"--http", "127.0.0.1:0", "--stateless"}, 2, false, false, syscall.SIGTERM},
		"streams":          {[]string{"--http", "localhost:0", "--prefer-sse", "--spec", "2025-11-25"}, 1, true, true, os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, append([]string{"reference", "server"}, c.args...)...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }()
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			urls := strings.Fields(line)
			if len(urls) != c.urls || !strings.HasSuffix(urls[0], "/mcp") {
				t.Fatalf("it prints %q", line)
			}
			r, err := http.NewRequest("POST", urls[0], strings.NewReader(initialize))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			got := fmt.Sprint(res.StatusCode, res.Header.Get("Mcp-Session-Id") != "", res.Header.Get("Content-Type") == "text/event-stream")
			if want := fmt.Sprint(200, c.session, c.event); got != want || !strings.Contains(string(body), `"result"`) {
				t.Errorf("initialize is answered with %s, want %s: %s", got, want, body)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no way to serve":     {nil, exitUsage, "stdio"},
		"two ways to serve":   {[]string{"--stdio", "--http", "127.0.0.1:0"}, exitUsage, "stdio"},
		"a flag of the other": {[]string{"--stdio", "--stateless"}, exitUsage, "--http"},
		"all interfaces":      {[]string{"--http", "0.0.0.0:0"}, exitFails, "loopback"},
		"no address":          {[]string{"--sse", "nowhere"}, exitFails, "nowhere"},
	} {
		if r := run(t, append([]string{"reference", "server"}, c.args...)...); r.code != c.code || !strings.Contains(r.errors, c.says) {
			t.Errorf("%s: exit %d, %s", name, r.code, r.errors)
		}
	}
}
