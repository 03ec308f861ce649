package engine

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// exitingServer returns the reference server, which ends when the function returns true
// for a message; the number of the message counts from 1 in each instance.
func exitingServer(ends func(m wire.Message, number int) bool) transport.Target {
	return transport.InProcess{Name: "exiting", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		number := 0
		o := server.Options{Incoming: func(next server.Receiver, _ server.FrameSink) server.Receiver {
			return func(line []byte) error {
				if number++; ends(wire.Parse(line), number) {
					return errors.New("it ends")
				}
				return next(line)
			}
		}}
		return server.Serve(ctx, in, out, o)
	}}
}

// judgeExiting judges a server at one revision and returns the outcomes that fail or warn.
func judgeExiting(t *testing.T, ends func(m wire.Message, number int) bool) (run *reports.Run, bad []reports.Outcome) {
	t.Helper()
	run = runAllChecks(t, exitingServer(ends), func(o *Options) {
		o.Revisions, o.Session = []spec.Revision{spec.V2025_06_18}, mediumDeadlines()
	})
	for _, o := range run.Outcomes {
		if o.Verdict == reports.Fail || o.Verdict == reports.Warn {
			bad = append(bad, o)
		}
	}
	return run, bad
}

// A server that ends once, and not when the messages are sent again, gets a note.
func TestNotesAnEndThatIsNotRepeated(t *testing.T) {
	var ended atomic.Bool
	run, bad := judgeExiting(t, func(m wire.Message, _ int) bool {
		return m.Method() == "resources/read" && ended.CompareAndSwap(false, true)
	})
	for _, o := range bad {
		t.Errorf("%s is %s: %s", o.ID, o.Verdict, o.Detail)
	}
	noted := false
	for _, o := range run.Outcomes {
		noted = noted || strings.Contains(strings.Join(o.Notes, " "), "and not when that was repeated")
	}
	if !noted {
		t.Error("no note tells of the end")
	}
}
