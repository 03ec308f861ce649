package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpcheck/mcpcheck/reports"
)

func TestHelpBeginsWithAnExample(t *testing.T) {
	for _, verb := range argv("server client fuzz replay list explain selftest reference") {
		r := run(t, verb, "--help")
		if !strings.HasPrefix(r.out, "Examples:\n  mcpcheck "+verb) || strings.Count(r.out, "Examples:") != 1 {
			t.Errorf("%s --help prints\n%s", verb, r.out)
		}
	}
}

// Stdout holds nothing but the report, and the rerun command of a failure fails
// for the same reason.
func TestRerunCommandReproducesAFailure(t *testing.T) {
	t.Parallel()
	r := run(t, argv("server --json - --spec 2025-03-26,2026-07-28", referenceProcess("no-jsonrpc-member"))...)
	failed := 0
	for _, o := range parseReport(t, r.out).Outcomes {
		if o.Verdict == reports.Fail {
			failed++
			testRerun(t, o)
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

func TestInterruptWritesReportsAndLeavesNoProcess(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		cmd, report, child := startFamily(t)
		testInterrupted(t, cmd, signal, report)
		awaitGone(t, child)
	}
}

// A run against a misbehaving target ends before its deadline with bounded memory, and its
// reports show the cause.
func TestMisbehavingTargetsAreReported(t *testing.T) {
	for role, text := range map[string]string{
		"peer-exits": "exit status 7", "peer-floods": "flooded", "peer-hangs": "no answer",
		"peer-long-line": "no answer",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{}
			args := argv("server --spec 2025-11-25 --timeout 1s --deadline 2m")
			for _, format := range argv("json junit html") {
				files[format] = filepath.Join(dir, "report."+format)
				args = append(args, "--"+format, files[format])
			}
			r := run(t, append(args, peerProcess(role)...)...)
			if r.code != exitFails {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			for format, file := range files {
				got, err := os.ReadFile(file)
				if err != nil || !bytes.Contains(got, []byte(text)) {
					t.Errorf("the %s report lacks %q (%d bytes, %v)", format, text, len(got), err)
				}
			}
			report := readReport(t, files["json"])
			if report.Ended != reports.Complete || report.Harness.PeakBytes > 512<<20 {
				t.Errorf("ended %q with %d MB", report.Ended, report.Harness.PeakBytes>>20)
			}
		})
	}
}

func TestKilledRunLeavesNoProcess(t *testing.T) {
	cmd, _, child := startFamily(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitGone(t, child)
}

// The first signal asks the target to end, which it does not do at once.
func TestSecondSignalEndsTheProgramAtOnce(t *testing.T) {
	cmd, _, child := startFamily(t)
	for _, signal := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	awaitGone(t, child)
}

// startFamily starts a run whose target starts a child, and waits for the child.
func startFamily(t *testing.T) (cmd *exec.Cmd, report string, child int) {
	t.Helper()
	dir := t.TempDir()
	report = filepath.Join(dir, "report.json")
	pidFile := filepath.Join(dir, "pid")
	args := []string{"server", "--json", report, "--env", "MCPCHECK_TEST_PID=" + pidFile}
	cmd = exec.Command(binary, append(args, peerProcess("peer-family")...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, report, awaitPID(t, pidFile)
}

// awaitPID waits until a file holds a process id.
func awaitPID(t *testing.T, file string) (pid int) {
	t.Helper()
	await(t, "the child of the target", func() bool {
		text, _ := os.ReadFile(file)
		var err error
		pid, err = strconv.Atoi(string(text))
		return err == nil
	})
	return pid
}
