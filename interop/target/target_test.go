package target

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadByName(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	some, err := Read(root, []string{"rmcp-server", "everything"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) <= 2 || len(some) != 2 || some[0].Name != "everything" || some[1].Name != "rmcp-server" {
		t.Errorf("%d targets in all, and %v by name", len(all), some)
	}
	if _, err := Read(root, []string{"unknown"}); err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("a name that is not there: %v", err)
	}
}

// fake makes a program in the place of mcpcheck, which writes its arguments to a
// file, prints a report and exits with a code.
func fake(t *testing.T, report, code string) (binary, args string) {
	t.Helper()
	dir := t.TempDir()
	binary, args = filepath.Join(dir, "mcpcheck"), filepath.Join(dir, "args")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + args + "\necho '" + report + "'\necho trouble >&2\nexit " + code +
		"\n"
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return binary, args
}

func TestRunReturnsReportsWithFailures(t *testing.T) {
	binary, args := fake(t,
		`{"revisions":[{"revision":"2025-06-18","spoken":true},{"revision":"2026-07-28"}],"outcomes":[{"id":"a",`+
			`"verdict":"fail"}]}`, "1")
	root := t.TempDir()
	one := Target{Kind: "client", Command: []string{"node", "x.mjs"}, Env: map[string]string{"HOME": "{root}/h"},
		Cwd: "."}
	r, err := one.Run(root, binary)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Spoken(); !slices.Equal(got, []string{"2025-06-18"}) || len(r.Outcomes) != 1 ||
		r.Outcomes[0].Verdict != "fail" {
		t.Errorf("read %+v", r)
	}
	said, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	want := "client --quiet --json - --seed 1 --cwd " + root + " --env HOME=" + root + "/h -- node x.mjs {server}"
	if got := strings.Join(strings.Fields(string(said)), " "); got != want {
		t.Errorf("mcpcheck was called with\n%s\nwant\n%s", got, want)
	}
}

// {port} stands for the same free port wherever it occurs.
func TestServerOverHTTPGetsAFreePort(t *testing.T) {
	binary, args := fake(t, `{"outcomes":[{"id":"a","verdict":"pass","transport":"http"}]}`, "0")
	one := Target{
		Kind: "server", URL: "http://127.0.0.1:{port}/mcp", Transport: "http",
		Command: []string{"node", "x.mjs", "--http", "127.0.0.1:{port}"}, Env: map[string]string{"PORT": "{port}"},
		Cwd: ".",
	}
	r, err := one.Run(t.TempDir(), binary)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Transports(); !slices.Equal(got, []string{one.TransportName()}) {
		t.Errorf("it was judged over %v", got)
	}
	said, err := os.ReadFile(args)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`--env PORT=(\d+) --url http://127.0.0.1:(\d+)/mcp -- node x.mjs --http 127.0.0.1:(\d+)$`).
		FindStringSubmatch(strings.Join(strings.Fields(string(said)), " "))
	if m == nil || m[1] != m[2] || m[1] != m[3] {
		t.Fatalf("mcpcheck was called with %q: %q", said, m)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+m[1])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := AwaitListening(t.Context(), l.Addr().String(), time.Second); err != nil {
		t.Errorf("a server listens: %v", err)
	}
	l.Close()
	if err := AwaitListening(t.Context(), l.Addr().String(), 50*time.Millisecond); err == nil {
		t.Error("no server listens, but there is no error")
	}
}

func TestMissingReportIsAnError(t *testing.T) {
	for _, c := range []struct{ report, code string }{{"{}", "3"}, {"no JSON", "0"}} {
		binary, _ := fake(t, c.report, c.code)
		if _, err := (Target{Kind: "server"}).Run(t.TempDir(), binary); err == nil ||
			!strings.Contains(err.Error(), "trouble") {
			t.Errorf("exit %s with %q: %v", c.code, c.report, err)
		}
	}
}

func TestForEachIsBoundedBySlots(t *testing.T) {
	var now, most, done atomic.Int32
	ForEach(make([]Target, 20), 3, func(int, Target) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		done.Add(1)
		now.Add(-1)
	})
	if most.Load() > 3 || done.Load() != 20 {
		t.Errorf("%d at once, %d done", most.Load(), done.Load())
	}
}

func TestTargetWithFlagsNeedsNoCommand(t *testing.T) {
	root := t.TempDir()
	args, err := Target{Kind: "client", Flags: []string{"--reference"}}.args(root, "bin/mcpcheck")
	if want := "client --quiet --json - --seed 1 --cwd " + root + " --reference"; err != nil ||
		strings.Join(args, " ") != want {
		t.Errorf("the arguments are %q, %v, want %q", args, err, want)
	}
	args, err = Target{Kind: "server", Command: []string{"{mcpcheck}", "reference"}}.args(root, "bin/mcpcheck")
	if err != nil || !slices.Equal(args[len(args)-3:], []string{"--", "bin/mcpcheck", "reference"}) {
		t.Errorf("the arguments are %q, %v", args, err)
	}
}

func TestFurtherTargetsAreReadByNameToo(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(root, []string{"everything", "mine"}, Target{Name: "mine"}, Target{Name: "other"})
	if err != nil || len(got) != 2 || got[0].Name != "mine" || got[1].Name != "everything" {
		t.Errorf("read %v, %v", got, err)
	}
}

func TestExecuteReturnsAReportForEveryExitCode(t *testing.T) {
	binary, _ := fake(t, `{"outcomes":[{"id":"a","verdict":"not-run"}]}`, "3")
	r, err := (Target{Kind: "server"}).Execute(t.TempDir(), binary)
	if err != nil || r.Exit != 3 || len(r.Outcomes) != 1 || r.Log != "trouble\n" {
		t.Errorf("read %+v, %v", r, err)
	}
}
