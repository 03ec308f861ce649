package fuzz

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// Tests mostly wait for targets that do not answer, so more of them run at once
// than the machine has cores. A native fuzz target takes all cores.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() == "" {
		if err := flag.Lookup("test.parallel").Value.Set("8"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// testOptions returns options with short timeouts that allow all tools.
func testOptions() Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 2*time.Second, 10*time.Second, 500*time.Millisecond
	return Options{
		Revisions: spec.Revisions(), Seed: 1, Session: o, FirstTimeout: 300 * time.Millisecond,
		AllowTool: func(string) bool { return true }, Version: "test",
	}
}

// envRuns is the number of plans with which the gate tests the reference.
const envRuns = "MCPCHECK_FUZZ_RUNS"

// referenceRuns returns how many plans the conforming reference is tested with.
func referenceRuns() int {
	if n, err := strconv.Atoi(os.Getenv(envRuns)); err == nil {
		return n
	}
	return 4000
}

// referenceOptions returns options for the conforming reference, which may take
// long for an answer on a busy machine.
func referenceOptions() Options {
	o := testOptions()
	o.FirstTimeout = o.Session.Timeout
	return o
}

// openConnection opens a session with a target.
func openConnection(t *testing.T, target transport.Target, rev spec.Revision) *connection {
	t.Helper()
	o := testOptions()
	x := newExecutor(target, o.Session, o.Session.Timeout)
	c, err := x.open(t.Context(), script{rev: rev, opening: newCorpus(rev, offering{}).opening})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.end(false) })
	return c
}

// assertNoFindings asserts that a run found nothing and has no notes.
func assertNoFindings(t *testing.T, r *Result) {
	t.Helper()
	for _, f := range r.Findings {
		t.Errorf("finding %s (%s)\n%s\n%s\n%s", f.Signature, f.Reproduced, f.Says, f.Plan, f.Case.Append(nil))
	}
	for _, note := range r.Notes {
		t.Error(note)
	}
}

// A recordingTarget is the reference server on stdio, with a record of the lines
// that it received.
type recordingTarget struct {
	transport.InProcess
	mu    sync.Mutex
	lines []string
}

func newRecordingTarget(o server.Options) *recordingTarget {
	r := &recordingTarget{}
	o.Incoming = func(next server.Receiver, _ server.FrameSink) server.Receiver {
		return func(line []byte) error {
			r.mu.Lock()
			r.lines = append(r.lines, string(line))
			r.mu.Unlock()
			return next(line)
		}
	}
	r.Name = "recording"
	r.Serve = func(ctx context.Context, in io.Reader, out io.Writer) error { return server.Serve(ctx, in, out, o) }
	return r
}

// minimalServer returns a server of 2025-06-18 with one tool that it does not
// implement.
func minimalServer(tool string) transport.Target {
	return transport.InProcess{Name: "minimal", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := transport.NewLineReader(in, 0)
		for {
			line, err := lines.Next()
			if err != nil {
				return nil
			}
			m := wire.Parse(line.Bytes)
			answer := `"error":{"code":-32601,"message":"no such method"}`
			switch m.Method() {
			case "initialize":
				answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
					`"serverInfo":{"name":"minimal","version":"1"}}`
			case "ping":
				answer = `"result":{}`
			case "tools/list":
				answer = `"result":{"tools":[` + tool + `]}`
			}
			if m.Kind == wire.Request && m.ID().IsValid() {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID().Raw, answer)
			}
		}
	}}
}
