package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// A server may react to a cancellation in several ways. None of them fails the check,
// and a pass requires evidence that the call ended.
func TestAcceptsAllowedReactionsToCancellation(t *testing.T) {
	cancels := func(line []byte) bool { return wire.Parse(line).Method() == "notifications/cancelled" }
	for name, c := range map[string]struct {
		options server.Options
		verdict reports.Verdict
	}{
		"the call ends": {server.Options{}, reports.Pass},
		"the call cannot be cancelled and is answered": {server.Options{
			Incoming: func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if cancels(line) {
						return nil
					}
					return next(line)
				}
			},
		}, reports.NotObserved},
		"one report follows the cancellation": {server.Options{
			Incoming: func(next server.Receiver, out server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if err := next(line); err != nil || !cancels(line) ||
						wire.Parse(line).Params().Get("reason").Exists() {
						return err
					}
					out(server.Frame{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` +
						`{"progressToken":70078,"progress":4.5}}`)})
					return nil
				}
			},
		}, reports.Pass},
		"no tool reports progress": {server.Options{
			ChangeFeatures: func(l *server.Features) {
				l.Tools = slices.DeleteFunc(l.Tools, func(tool *server.Tool) bool { return tool.Name == "stocktake" })
			},
		}, reports.NotObserved},
	} {
		for _, rev := range []spec.Revision{spec.V2025_11_25, spec.V2026_07_28} {
			checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), []string{"cancellation.call"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			// The default deadlines are long enough for the calls on a busy machine.
			run, err := Run(t.Context(), server.Target("reference", c.options), Options{
				Checks: checks, Revisions: []spec.Revision{rev}, Session: session.DefaultOptions(),
				Allow: func(string) bool { return true },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range run.Outcomes {
				if o.Verdict != c.verdict {
					t.Errorf("%s: %s at %s is %s, want %s: %s", name, o.ID, rev, o.Verdict, c.verdict, o.Detail)
				}
			}
		}
	}
}

// A cancelled call of a slow tool that gets no answer shows nothing. A failure that
// follows the cancellation is an answer to a cancelled request.
func TestDetectsAnswerToCancelledSlowCall(t *testing.T) {
	slow := func(l *server.Features) {
		l.Tools = []*server.Tool{{
			Name: "doze", Description: "Takes its time.", InputSchema: server.Object{"type": "object"},
			Annotations: server.Object{"readOnlyHint": true},
			Run: func(ctx context.Context, call *server.Call) server.Outcome {
				call.Yield()
				<-ctx.Done()
				return server.Outcome{Failed: true}
			},
		}}
	}
	answers, err := fault.Lookup("cancelled-call-failed")
	if err != nil {
		t.Fatal(err)
	}
	conforming := server.Options{ChangeFeatures: slow}
	for _, c := range []struct {
		id      string
		rev     spec.Revision
		options server.Options
		verdict reports.Verdict
	}{
		{"cancellation.call.unanswered", spec.V2025_11_25, conforming, reports.NotObserved},
		{"cancellation.call.silent", spec.V2026_07_28, conforming, reports.NotObserved},
		{"cancellation.call.unanswered", spec.V2025_11_25, answers.Options(conforming), reports.Warn},
		{"cancellation.call.silent", spec.V2026_07_28, answers.Options(conforming), reports.Warn},
	} {
		got, _ := runChecksAt(t, server.Target("reference", c.options), c.rev, c.id)
		if o := got[c.id]; o.Verdict != c.verdict {
			t.Errorf("%s at %s is %s, want %s: %s", c.id, c.rev, o.Verdict, c.verdict, o.Detail)
		}
	}
}
