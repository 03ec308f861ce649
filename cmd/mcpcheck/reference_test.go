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

// The reference server over HTTP prints its URLs, serves there, and ends by itself
// at a signal.
func TestReferenceServerOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		args            string
		urls            int
		session, stream bool
		signal          os.Signal
	}{
		"sessions":         {"--http 127.0.0.1:0", 2, true, false, os.Interrupt},
		"without sessions": {"--http 127.0.0.1:0 --stateless", 2, false, false, syscall.SIGTERM},
		"streams":          {"--http localhost:0 --prefer-sse --spec 2025-11-25", 1, true, true, os.Interrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, argv("reference server "+c.args)...)
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
				t.Fatalf("it printed %q", line)
			}
			res, body := postInitialize(t, urls[0])
			hasSession := res.Header.Get("Mcp-Session-Id") != ""
			isStream := res.Header.Get("Content-Type") == "text/event-stream"
			got, want := fmt.Sprint(res.StatusCode, hasSession, isStream), fmt.Sprint(200, c.session, c.stream)
			if got != want || !strings.Contains(body, `"result"`) {
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
}

func postInitialize(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	r, err := http.NewRequest("POST", url, strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestExitCodesOfTheReferenceServer(t *testing.T) {
	testExitCodes(t, map[string]exitCase{
		"no transport":        {argv("reference server"), exitUsage, "stdio"},
		"two transports":      {argv("reference server --stdio --http 127.0.0.1:0"), exitUsage, "stdio"},
		"HTTP flag for stdio": {argv("reference server --stdio --stateless"), exitUsage, "--http"},
		"not loopback":        {argv("reference server --http 0.0.0.0:0"), exitFails, "loopback"},
		"not an address":      {argv("reference server --sse nowhere"), exitFails, "nowhere"},
	})
}
