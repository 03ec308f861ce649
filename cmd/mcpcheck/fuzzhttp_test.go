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
)

// fuzzHTTP runs fuzz on a server over HTTP, compares its exit code and output, and
// returns the case files.
func fuzzHTTP(t *testing.T, code int, text string, args ...string) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cases")
	got := run(t, append(argv("fuzz --seed 1 --timeout 1s --out "+dir), args...)...)
	if got.code != code || !strings.Contains(got.out, text) {
		t.Fatalf("%v: exit %d, want %d with %q\n%s%s", args, got.code, code, text, got.out, got.errors)
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// testReplay runs replay and compares its exit code and output.
func testReplay(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	got := run(t, append(argv("replay"), args...)...)
	if got.code != code || !strings.Contains(got.out+got.errors, text) {
		t.Errorf("replay %v: exit %d, want %d with %q\n%s%s", args, got.code, code, text, got.out, got.errors)
	}
}

// startReference starts the reference server over HTTP and returns its URLs.
func startReference(t *testing.T, fault string) (mcp, sse string) {
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

func awaitListening(t *testing.T, address string) {
	t.Helper()
	await(t, "a server at "+address, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func TestFuzzFindsNothingOnTheReferenceOverHTTP(t *testing.T) {
	t.Parallel()
	mcp, sse := startReference(t, "")
	for _, at := range []string{mcp, sse} {
		if cases := fuzzHTTP(t, exitConforms, "150 plans", "--runs", "150", "--allow-tools", "all",
			at); len(cases) > 0 {
			t.Errorf("%s: cases %v", at, cases)
		}
	}
}

// fuzz sends the header with every request, ends its sessions, and reports that it
// cannot reach a server without the header.
func TestFuzzSendsHeadersAndEndsSessions(t *testing.T) {
	t.Parallel()
	n := &miniServer{token: testSecret}
	site := httptest.NewServer(n)
	defer site.CloseClientConnections()
	// The mini server has bugs that fuzz may find.
	got := run(t, "fuzz", "--runs", "100", "--seed", "1", "--spec", "2025-11-25", "--out", t.TempDir(), "--header",
		"Authorization: Bearer "+testSecret, site.URL+"/mcp")
	if !strings.Contains(got.out, "100 distinct plans") || strings.Contains(got.out, testSecret) {
		t.Errorf("exit %d\n%s%s", got.code, got.out, got.errors)
	}
	if n.opened == 0 || n.deleted != n.opened {
		t.Errorf("%d sessions were opened and %d ended", n.opened, n.deleted)
	}
	fuzzHTTP(t, exitUnreachable, "401", "--runs", "5", site.URL+"/mcp")
}

// A case that was found over HTTP names its target and the header fields, but not
// their values.
func TestCaseOverHTTPNamesItsTarget(t *testing.T) {
	t.Parallel()
	const fault = "fuzz-answers-twice-on-unknown-meta"
	mcp, sse := startReference(t, fault)
	reference, _ := startReference(t, "")
	for at, rev := range map[string]string{mcp: "2025-11-25", sse: "2024-11-05"} {
		over := map[string]string{mcp: "streamable-http", sse: "sse"}[at]
		replay := `--header "X-Key: $X_KEY" --transport ` + over + " --timeout 1s " + at
		cases := fuzzHTTP(t, exitFails, replay, "--runs", "300", "--spec", rev,
			"--allow-tools", "all", "--header", "X-Key: s3cret", "--transport", over, at)
		if len(cases) == 0 {
			t.Fatal("no case")
		}
		text, err := os.ReadFile(cases[0])
		if err != nil || strings.Contains(string(text), "s3cret") ||
			!strings.Contains(string(text), "# header: X-Key\n") {
			t.Errorf("%v\n%s", err, text)
		}
		testReplay(t, exitFails, "reproduces: jsonrpc.response.once", cases[0], "--header", "X-Key: s3cret")
		testReplay(t, exitFails, "--header 'X-Key: …'", cases[0])
		testReplay(t, exitFails, "reproduces: jsonrpc.response.once", append(cases[:1], referenceProcess(fault)...)...)
		testReplay(t, exitConforms, "does not reproduce", cases[0], "--reference")
		testReplay(t, exitUnreachable, "refused", cases[0], "http://127.0.0.1:1/mcp")
		if at == mcp {
			testReplay(t, exitConforms, "does not reproduce", cases[0], reference)
		}
	}
}

// fuzz starts a server again that ends, for the search and for each confirmation.
func TestRestartsServerThatExits(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	at := "http://" + address + "/mcp"
	started := []string{"--url", at, "--", os.Args[0], "peer-http-crashes", address}
	cases := fuzzHTTP(t, exitFails, "liveness.dead", argv("--runs 150 --spec 2025-06-18 --allow-tools all", started)...)
	if len(cases) != 1 {
		t.Fatalf("cases %v", cases)
	}
	text, err := os.ReadFile(cases[0])
	if err != nil || !strings.Contains(string(text),
		"# outcome: the peer ended: the server process ended: exit status #: panic: a NUL in the input") {
		t.Errorf("%v\n%s", err, text)
	}
	testReplay(t, exitUsage, "--recorded", cases[0])
	testReplay(t, exitFails, "reproduces: liveness.dead", cases[0], "--recorded")
	testReplay(t, exitConforms, "does not reproduce", cases[0], "--url", at, "--", os.Args[0], "peer-http", address)
}

// Without a command the server cannot be started again. The finding that ended it
// is still reported.
func TestReportsFindingThatEndsServer(t *testing.T) {
	address := freeAddress(t)
	cmd := exec.Command(os.Args[0], "peer-http-crashes", address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	awaitListening(t, address)
	cases := fuzzHTTP(t, exitFails, "liveness.dead", "--runs", "150", "--spec", "2025-06-18", "--allow-tools", "all",
		"http://"+address+"/mcp")
	if len(cases) != 1 {
		t.Errorf("cases %v", cases)
	}
}
