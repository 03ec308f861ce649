package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/reports"
)

// binary is the path of mcpcheck, built as users have it.
var binary string

// TestMain builds the binary. With a first argument that names a peer, the test
// binary is that peer.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "peer-") {
		runPeer(os.Args[1])
		return
	}
	dir, err := os.MkdirTemp("", "mcpcheck-e2e-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "mcpcheck")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", out)
		os.Exit(1)
	}
	// Most of these tests wait for processes and deadlines.
	if err := flag.Lookup("test.parallel").Value.Set("16"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A result is what a run of the binary returned.
type result struct {
	code        int
	out, errors string
}

func run(t *testing.T, args ...string) result {
	t.Helper()
	cmd := exec.Command(binary, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), log.String()}
}

// argv splits a line at its spaces, and appends further arguments.
func argv(line string, more ...[]string) []string {
	return append(strings.Fields(line), slices.Concat(more...)...)
}

// referenceProcess are the arguments that name the reference server, with a fault
// unless it is "", as a process.
func referenceProcess(fault string) []string {
	out := []string{"--", binary, "reference", "server", "--stdio"}
	if fault != "" {
		out = append(out, "--fault", fault)
	}
	return out
}

// peerProcess are the arguments that name a peer of the test binary.
func peerProcess(role ...string) []string { return append([]string{"--", os.Args[0]}, role...) }

// testSecret is the value of header fields and passwords, which no output may hold.
const testSecret = "s3cret"

// An exitCase is a command line with the exit code and the text that it must
// have, on stdout or stderr.
type exitCase struct {
	args []string
	code int
	text string
}

func testExitCodes(t *testing.T, cases map[string]exitCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.args...)
			if r.code != c.code || !strings.Contains(r.out+r.errors, c.text) {
				t.Errorf("exit %d, want %d with %q\n%s%s", r.code, c.code, c.text, r.out, r.errors)
			}
			if strings.Contains(r.out+r.errors, testSecret) {
				t.Errorf("the output holds a secret\n%s%s", r.out, r.errors)
			}
		})
	}
}

// runServer runs mcpcheck server and returns its report.
func runServer(t *testing.T, args ...string) (result, *reports.Run) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.json")
	r := run(t, append([]string{"server", "--timeout", "2s", "--json", file}, args...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.errors)
	}
	if strings.Contains(string(text)+r.out+r.errors, testSecret) {
		t.Errorf("a report holds a secret:\n%s%s", r.out, r.errors)
	}
	return r, parseReport(t, string(text))
}

func readReport(t *testing.T, file string) *reports.Run {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parseReport(t, string(text))
}

func parseReport(t *testing.T, text string) *reports.Run {
	t.Helper()
	report, err := reports.ReadJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("not a report: %v\n%s", err, text)
	}
	return report
}

// testRerun executes the rerun command of an outcome, which must fail for the
// same reason.
func testRerun(t *testing.T, o reports.Outcome) {
	t.Helper()
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

// testInterrupted ends a run by a signal. It must exit with 130 and write its
// report.
func testInterrupted(t *testing.T, cmd *exec.Cmd, signal os.Signal, report string) {
	t.Helper()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("%v: exit %d", signal, code)
	}
	if run := readReport(t, report); run.Ended != reports.Interrupted {
		t.Errorf("%v: the report says that the run ended %q", signal, run.Ended)
	}
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("timed out waiting for %s", what)
}

// awaitGone waits until a process has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	await(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
