package main

import (
	"bufio"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fuzzed runs fuzz on a server over HTTP, asserts how it ended and what it said,
// and returns the cases.
func fuzzed(t *testing.T, code int, says string, args ...string) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cases")
	got := run(t, join([]string{"fuzz", "--seed", "1", "--timeout", "1s", "--out", dir}, args)...)
	if got.code != code || !strings.Contains(got.out, says) {
		t.Fatalf("%v: exit %d, want %d saying %q\n%s%s", args, got.code, code, says, got.out, got.errors)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func replays(t *testing.T, code int, says string, args ...string) {
	t.Helper()
	got := run(t, join([]string{"replay"}, args)...)
	if got.code != code || !strings.Contains(got.out+got.errors, says) {
		t.Errorf("replay %v: exit %d, want %d saying %q\n%s%s", args, got.code, code, says, got.out, got.errors)
	}
}

// serving starts the reference over HTTP and returns its URLs.
func serving(t *testing.T, fault string) (mcp, sse string) {
	t.Helper()
	args := []string{"reference", "server", "--http", "127.0.0.1:0"}
	if fault != "" {
		args = append(args, "--fault", fault)
	}
	cmd := exec.Command(binary, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	urls := strings.Fields(line)
	if err != nil || len(urls) != 2 {
		t.Fatalf("%q, %v", line, err)
	}
	return urls[0], urls[1]
}

func awaitListens(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
	}
	t.Fatalf("nobody listens at %s", address)
}

func TestFuzzOverHTTPFindsNothingOnHonestServers(t *testing.T) {
	t.Parallel()
	mcp, sse := serving(t, "")
	for _, at := range []string{mcp, sse} {
		if cases := fuzzed(t, exitConforms, "300 plans", "--runs", "300", "--allow-tools", "all", at); len(cases) > 0 {
			t.Errorf("%s: cases %v", at, cases)
		}
	}
	n := &notary{token: "s3cret"}
	site := httptest.NewServer(n)
	defer site.CloseClientConnections()
	// Under mutations it is not without fault; here it tells how it was spoken to.
	got := run(t, "fuzz", "--runs", "100", "--seed", "1", "--spec", "2025-11-25", "--out", t.TempDir(), "--header", "Authorization: Bearer s3cret", site.URL+"/mcp")
	if !strings.Contains(got.out, "100 distinct plans") || strings.Contains(got.out, "s3cret") {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errors)
	}
	if n.opened == 0 || n.deleted != n.opened {
		t.Errorf("%d sessions were opened and %d ended", n.opened, n.deleted)
	}
	fuzzed(t, exitUnreachable, "401", "--runs", "5", site.URL+"/mcp")
}

// A case that was found over HTTP is enough to play it again. It tells which header
// fields were given, not what they held.
func TestACaseOverHTTPTellsWhereItWasFound(t *testing.T) {
	t.Parallel()
	const fault = "fuzz-answers-twice-on-unknown-meta"
	mcp, sse := serving(t, fault)
	honest, _ := serving(t, "")
	for at, rev := range map[string]string{mcp: "2025-11-25", sse: "2024-11-05"} {
		over := map[string]string{mcp: "streamable-http", sse: "sse"}[at]
		cases := fuzzed(t, exitFails, "--header 'X-Walrus: …' --transport "+over+" "+at, "--runs", "300", "--spec", rev, "--allow-tools", "all", "--header", "X-Walrus: s3cret", "--transport", over, at)
		if len(cases) == 0 {
			t.Fatal("no cases")
		}
		text, err := os.ReadFile(cases[0])
		if err != nil || strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), "# header: X-Walrus\n") {
			t.Errorf("%v\n%s", err, text)
		}
		replays(t, exitFails, "reproduces: jsonrpc.response.once", cases[0], "--header", "X-Walrus: s3cret")
		replays(t, exitFails, "--header 'X-Walrus: …'", cases[0])
		replays(t, exitFails, "reproduces: jsonrpc.response.once", join([]string{cases[0]}, reference(fault))...)
		replays(t, exitConforms, "does not reproduce", cases[0], "--reference")
		replays(t, exitUnreachable, "refused", cases[0], "http://127.0.0.1:1/mcp")
		if at == mcp {
			replays(t, exitConforms, "does not reproduce", cases[0], honest)
		}
	}
}

// A server that is started and ends is started again, for the search and for each
// confirmation.
func TestAServerThatFuzzEndsIsStartedAgain(t *testing.T) {
	t.Parallel()
	address := free(t)
	at := "http://" + address + "/mcp"
	started := []string{"--url", at, "--", os.Args[0], "peer-http-brittle", address}
	cases := fuzzed(t, exitFails, "liveness.dead", join([]string{"--runs", "150", "--spec", "2025-06-18", "--allow-tools", "all"}, started)...)
	if len(cases) != 1 {
		t.Fatalf("cases %v", cases)
	}
	text, err := os.ReadFile(cases[0])
	if err != nil || !strings.Contains(string(text), "# outcome: the peer ended: the server process ended: exit status #: panic: the walrus has met a NUL") {
		t.Errorf("%v\n%s", err, text)
	}
	replays(t, exitUsage, "--recorded", cases[0])
	replays(t, exitFails, "reproduces: liveness.dead", cases[0], "--recorded")
	replays(t, exitConforms, "does not reproduce", cases[0], "--url", at, "--", os.Args[0], "peer-http", address)
}

// Without the command nobody can start it again: what was found until then is told.
func TestAFindingThatEndsTheServerIsTold(t *testing.T) {
	address := free(t)
	cmd := exec.Command(os.Args[0], "peer-http-brittle", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	awaitListens(t, address)
	cases := fuzzed(t, exitFails, "liveness.dead", "--runs", "150", "--spec", "2025-06-18", "--allow-tools", "all", "http://"+address+"/mcp")
	if len(cases) != 1 {
		t.Errorf("cases %v", cases)
	}
}
