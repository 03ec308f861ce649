package engine

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// slowServer returns the reference server, which serves the messages for which the
// function returns true when its input has ended. The function learns whether an earlier
// message of the session waits.
func slowServer(waits func(m wire.Message, behindAnother bool) bool) transport.Target {
	return transport.InProcess{Name: "slow", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		read, written := io.Pipe()
		go func() {
			lines := bufio.NewScanner(in)
			lines.Buffer(nil, 64<<20)
			var held [][]byte
			for lines.Scan() {
				line := append(bytes.Clone(lines.Bytes()), '\n')
				if waits(wire.Parse(lines.Bytes()), len(held) > 0) {
					held = append(held, line)
				} else if _, err := written.Write(line); err != nil {
					return
				}
			}
			for _, line := range held {
				_, _ = written.Write(line)
			}
			_ = written.Close()
		}()
		return server.Serve(ctx, read, out, server.Options{})
	}}
}

// An answer that comes before the session ends was late, and lateness alone is reported
// by no check: neither of one method nor of all since a request.
func TestReportsNoSlowServer(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]func(m wire.Message, behindAnother bool) bool{
		"one method": func(m wire.Message, _ bool) bool { return m.Method() == "prompts/get" },
		"all since one": func(m wire.Message, behindAnother bool) bool {
			return m.Method() == "prompts/get" || behindAnother
		},
	} {
		run := runAllChecks(t, slowServer(waits), func(o *Options) {
			o.Revisions, o.Session = []spec.Revision{spec.V2025_06_18}, mediumDeadlines()
			o.Session.Timeout, o.Session.Grace = time.Second, 20*time.Second
		})
		for _, o := range run.Outcomes {
			switch {
			case o.Verdict == reports.Fail, o.Verdict == reports.Warn:
				t.Errorf("%s: %s is %s: %s", name, o.ID, o.Verdict, o.Detail)
			case o.ID == "prompts.get.survived" && !strings.Contains(o.Detail, "came only after"):
				t.Errorf("%s: %s is %s: %q", name, o.ID, o.Verdict, o.Detail)
			}
		}
	}
}
