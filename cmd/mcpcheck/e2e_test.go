package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/reports"
)

// binary is mcpcheck as a user has it.
var binary string

// TestMain builds the binary; with a first argument that names a peer, the test
// binary plays it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "peer-") {
		peer(os.Args[1])
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
	if err := flag.Lookup("test.parallel").Value.Set("10"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func peer(role string) {
	if strings.HasPrefix(role, "peer-http") {
		playHTTP(role, os.Args[2])
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	switch role {
	case "peer-not-found":
		for lines.Scan() {
			var m struct{ ID json.RawMessage }
			if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
			}
		}
	case "peer-silent":
		for lines.Scan() {
		}
	case "peer-dies", "peer-floods", "peer-deaf", "peer-long-line":
		misbehave(role, lines)
	case "peer-family": // tells the pid of a child of its own, and then never answers
		child := exec.Command(os.Args[0], "peer-child")
		child.Stdin, _ = os.Open(os.DevNull)
		if err := child.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(os.Getenv("MCPCHECK_TEST_PID"), []byte(strconv.Itoa(child.Process.Pid)), 0o600); err != nil {
			panic(err)
		}
		for lines.Scan() {
		}
	case "peer-child":
		time.Sleep(time.Minute) // it would outlive its parent by far
	}
}

// misbehave opens a session as it should, and then no longer.
func misbehave(role string, lines *bufio.Scanner) {
	for n := 0; lines.Scan(); n++ {
		var m struct {
			ID     json.RawMessage
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Params.ProtocolVersion != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"rogue","version":"1"}}}`+"\n", m.ID, m.Params.ProtocolVersion)
			continue
		}
		if n < 2 {
			continue
		}
		switch role {
		case "peer-dies":
			os.Exit(7)
		case "peer-floods":
			for {
				if _, err := os.Stdout.WriteString(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x.example/tick"}`+"\n", 1000)); err != nil {
					return
				}
			}
		case "peer-deaf":
			signal.Ignore(syscall.SIGTERM)
			time.Sleep(time.Minute) // it reads no more
		case "peer-long-line":
			chunk := []byte(strings.Repeat("x", 1<<20))
			for range 100 {
				if _, err := os.Stdout.Write(chunk); err != nil {
					return
				}
			}
			fmt.Println()
		}
	}
}

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

func reference(fault string) []string {
	args := []string{"--", binary, "reference", "server", "--stdio"}
	if fault != "" {
		args = append(args, "--fault", fault)
	}
	return args
}

func self(role string) []string { return []string{"--", os.Args[0], role} }

func join(parts ...[]string) (all []string) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	known := write("known.yaml", "- {check: jsonrpc.version, reason: they know}\n")
	stale := write("stale.yaml", "- {check: jsonrpc.id.types, reason: was broken once}\n")
	misspelt := write("misspelt.yaml", "tools:\n  search:\n    argument: []\n")
	typo := write("typo.yaml", "- {check: jsonrpc.versoin, reason: they know}\n")
	quick := []string{"--timeout", "300ms", "--start-timeout", "2s"}
	for name, c := range map[string]struct {
		args []string
		code int
		says string // in stdout or stderr
	}{
		"conforms":              {join([]string{"server"}, reference("")), 0, "conforms"},
		"in process":            {[]string{"server", "--reference"}, 0, "conforms"},
		"fails":                 {join([]string{"server", "--spec", "2025-06-18"}, reference("no-jsonrpc-member")), 1, "jsonrpc.version"},
		"fault in process":      {[]string{"server", "--spec", "2025-11-25", "--only", "jsonrpc", "--reference=no-jsonrpc-member"}, 1, "jsonrpc.version"},
		"excused":               {join([]string{"server", "--spec", "2025-11-25", "--only", "jsonrpc", "--baseline", known}, reference("no-jsonrpc-member")), 0, "they know"},
		"stale baseline":        {join([]string{"server", "--spec", "2025-11-25", "--only", "jsonrpc", "--baseline", stale}, reference("")), 1, "was broken once"},
		"typo in baseline":      {join([]string{"server", "--baseline", typo}, reference("")), 2, "jsonrpc.versoin"},
		"unknown key in config": {join([]string{"server", "--config", misspelt}, self("peer-family")), 2, "misspelt.yaml: line 3: tools.search.argument is not known"},
		"unreadable config":     {[]string{"server", "--config", "/no/such/mcpcheck.yaml", "--reference"}, 2, "/no/such/mcpcheck.yaml"},
		"warns":                 {join([]string{"server", "--spec", "2025-11-25", "--only", "jsonrpc"}, reference("parse-error-silent")), 0, "jsonrpc.parse-error"},
		"warns strictly":        {join([]string{"server", "--spec", "2025-11-25", "--only", "jsonrpc", "--strict"}, reference("parse-error-silent")), 1, "jsonrpc.parse-error"},
		"unobserved strictly":   {join([]string{"server", "--spec", "2026-07-28", "--only", "jsonrpc", "--strict=all"}, reference("")), 1, "not observed"},
		"not startable":         {[]string{"server", "--", "no-such-program-here"}, 3, "no-such-program-here"},
		"ends at once":          {[]string{"server", "--", "true"}, 3, "ended before"},
		"nothing but not found": {join([]string{"server"}, quick, self("peer-not-found")), 1, "lifecycle.initialize.answered"},
		"nothing at all":        {join([]string{"server", "--timeout", "300ms", "--start-timeout", "700ms"}, self("peer-silent")), 1, "lifecycle.initialize.answered"},
		"not spoken":            {join([]string{"server", "--spec", "2026-07-28"}, quick, self("peer-not-found")), 3, "not spoken"},
		"no target":             {[]string{"server"}, 2, "no target"},
		"unknown flag":          {[]string{"server", "--no-such-flag"}, 2, "--no-such-flag"},
		"unknown verb":          {[]string{"judge-all"}, 2, "judge-all"},
		"unknown revision":      {[]string{"server", "--spec", "2025-01-01", "--reference"}, 2, "2025-01-01"},
		"unmatched glob":        {[]string{"server", "--only", "jsonrcp", "--reference"}, 2, "jsonrcp"},
		"bad env":               {join([]string{"server", "--env", "novalue"}, reference("")), 2, "novalue"},
		"bad cwd":               {join([]string{"server", "--cwd", "/no/such/dir"}, reference("")), 2, "/no/such/dir"},
		"bad timeout":           {[]string{"server", "--timeout", "0s", "--reference"}, 2, "--timeout"},
		"unwritable report":     {[]string{"server", "--json", "/no/such/dir/x.json", "--reference"}, 2, "/no/such/dir/x.json"},
		"reference over HTTP":   {[]string{"server", "--reference", "--transport", "streamable-http", "--spec", "2025-11-25", "--only", "ping.answered"}, 0, "2025-11-25 http"},
		"reference over SSE":    {[]string{"server", "--reference", "--transport", "sse", "--only", "ping.answered"}, 0, "2024-11-05 sse"},
		"reference with a URL":  {[]string{"server", "--reference", "--url", "http://127.0.0.1:1/"}, 2, "--reference judges our own server"},
		"fault with a space":    {[]string{"server", "--reference", "no-jsonrpc-member"}, 2, "--reference=FAULT"},
		"unknown fault":         {[]string{"server", "--reference=no-jsonrpc"}, 2, "no-jsonrpc-member"},
		"deadline":              {join([]string{"server", "--deadline", "1s", "--start-timeout", "30s"}, self("peer-silent")), 3, "deadline"},
		"profile":               {join([]string{"server", "--profile", "official", "--only", "official.tools,official.prompts"}, reference(""), []string{"--profile", "official"}), 0, "conforms"},
		"promised in vain":      {join([]string{"server", "--profile", "official", "--only", "official.tools.image"}, reference("")), 1, "the tool test_image_content is not listed"},
		"fault of a profile":    {[]string{"server", "--profile", "official", "--only", "official.prompts", "--reference=contract-prompt-of-assistant"}, 1, "official.prompts.simple"},
		"unknown profile":       {[]string{"server", "--profile", "unofficial", "--reference"}, 2, "unofficial"},
		"profile left out":      {[]string{"server", "--only", "official", "--reference"}, 2, "--profile official"},
		"explain a counterpart": {[]string{"explain", "tools.name.length"}, 0, "tools-list:tools-name-format (since 2025-11-25)"},
		"explain a scenario":    {[]string{"explain", "tools-list"}, 0, "judged by tools.name.length, tools.name.characters"},
		"explain a profile":     {[]string{"explain", "official.tools.image"}, 0, "run with --profile official"},
		"explain a cover":       {[]string{"explain", "completion-max-100-docs"}, 0, "covered by completion-max-100 (judged by completion.values.most): "},
		"explain a note":        {[]string{"explain", "pagination-operations"}, 0, "  Note: "},
		"list covers":           {[]string{"list", "--rules", "--json"}, 0, "\"covered\": \"completion-max-100\",\n      \"judged_by\": [\n        \"completion.values.most\"\n      ],\n      \"why\": "},
		"list profiles":         {[]string{"list", "--json"}, 0, `"profile": "official"`},
		"help":                  {[]string{"--help"}, 0, "mcpcheck server -- node build/index.js"},
		"version":               {[]string{"--version"}, 0, "mcpcheck "},
		"explain":               {[]string{"explain", "jsonrpc.version"}, 0, "jsonrpc-version-literal"},
		"explain nothing":       {[]string{"explain", "jsonrpc.versionn"}, 2, "jsonrpc.version"},
		"list":                  {[]string{"list"}, 0, "jsonrpc.method.unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.args...)
			if r.code != c.code {
				t.Errorf("exit %d, want %d\n%s%s", r.code, c.code, r.out, r.errors)
			}
			if !strings.Contains(r.out+r.errors, c.says) {
				t.Errorf("nothing says %q\n%s%s", c.says, r.out, r.errors)
			}
		})
	}
}

// Whoever asks for help sees an example first, once.
func TestHelpBeginsWithAnExample(t *testing.T) {
	for _, verb := range []string{"server", "client", "fuzz", "replay", "list", "explain", "selftest", "reference"} {
		r := run(t, verb, "--help")
		if !strings.HasPrefix(r.out, "  mcpcheck "+verb) || strings.Contains(r.out, "Examples:") {
			t.Errorf("%s --help prints\n%s", verb, r.out)
		}
	}
}

// The report goes to stdout alone, and the rerun command of a failure fails
// for the same reason.
func TestAFailureIsRerunByItsCommand(t *testing.T) {
	t.Parallel()
	r := run(t, join([]string{"server", "--json", "-", "--spec", "2025-03-26,2026-07-28"}, reference("no-jsonrpc-member"))...)
	report, err := reports.ReadJSON(strings.NewReader(r.out))
	if err != nil {
		t.Fatalf("stdout is no report: %v\n%s", err, r.out)
	}
	reran := false
	for _, o := range report.Outcomes {
		if o.Verdict != reports.Fail {
			continue
		}
		reran = true
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
	if !reran {
		t.Error("nothing failed")
	}
}

// ^C ends a run with 130; the report is written, and neither the target nor
// what it started lives on.
func TestAnInterruptWritesReportsAndLeavesNoProcess(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, report, child := family(t)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%v: exit %d", signal, code)
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		if run, err := reports.ReadJSON(bytes.NewReader(text)); err != nil || run.Ended != reports.Interrupted {
			t.Errorf("%v: report: %v\n%s", signal, err, text)
		}
		awaitGone(t, child)
	}
}

// Whatever a target does, the run ends by itself, well before its deadline and
// within bounded memory, and its reports say what happened.
func TestRogueTargetsAreReported(t *testing.T) {
	for role, says := range map[string]string{"peer-dies": "exit status 7", "peer-floods": "flooded", "peer-deaf": "no answer", "peer-long-line": "no answer"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"--json": filepath.Join(dir, "r.json"), "--junit": filepath.Join(dir, "r.xml"), "--html": filepath.Join(dir, "r.html")}
			args := []string{"server", "--spec", "2025-11-25", "--timeout", "1s", "--deadline", "2m"}
			for flag, file := range files {
				args = append(args, flag, file)
			}
			r := run(t, join(args, self(role))...)
			if r.code != exitFails {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.errors)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil || !bytes.Contains(text, []byte(says)) {
					t.Errorf("%s does not say %q (%d bytes, %v)", filepath.Base(file), says, len(text), err)
				}
			}
			text, _ := os.ReadFile(files["--json"])
			report, err := reports.ReadJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if report.Ended != reports.Complete || report.Harness.PeakBytes > 512<<20 {
				t.Errorf("ended %q with %d MB", report.Ended, report.Harness.PeakBytes>>20)
			}
		})
	}
}

// Not even SIGKILL of mcpcheck leaves a process behind.
func TestAKilledRunLeavesNoProcess(t *testing.T) {
	cmd, _, child := family(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitGone(t, child)
}

// family starts a run whose target has a child, and returns once that runs.
func family(t *testing.T) (cmd *exec.Cmd, report string, child int) {
	t.Helper()
	dir := t.TempDir()
	report = filepath.Join(dir, "report.json")
	told := filepath.Join(dir, "pid")
	cmd = exec.Command(binary, join([]string{"server", "--json", report, "--env", "MCPCHECK_TEST_PID=" + told}, self("peer-family"))...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(told)
		if pid, err := strconv.Atoi(string(text)); err == nil {
			return cmd, report, pid
		}
	}
	t.Fatal("the target never started")
	return
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d lives on", pid)
}
