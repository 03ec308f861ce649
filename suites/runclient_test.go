package suites

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reports"
)

// clientWaits are waits that are short, but long enough for a client in this
// process on a busy machine.
func clientWaits() session.Options {
	o := session.Defaults()
	o.Timeout, o.StartTimeout, o.Grace = time.Second, 5*time.Second, time.Second
	return o
}

func referenceClient(o client.Options) script.InProcess {
	return script.InProcess{Name: "reference client", Run: func(ctx context.Context, server transport.Target) error {
		return client.Run(ctx, server, o)
	}}
}

func TestHonestClientConforms(t *testing.T) {
	legacy := client.Defaults()
	legacy.LegacyFirst = true
	for name, o := range map[string]client.Options{"dual era": client.Defaults(), "legacy first": legacy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, err := RunClientDirect(t.Context(), referenceClient(o), Options{Session: clientWaits()})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range run.Revisions {
				if want := !o.LegacyFirst || !r.Revision.Facts().Stateless; r.Spoken != want {
					t.Errorf("%s: spoken is %v: %s", r.Revision, r.Spoken, r.Why)
				}
			}
			for _, out := range run.Outcomes {
				switch out.Verdict {
				case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
					t.Errorf("%s at %s: %s: %s%s", out.ID, out.Revision, out.Verdict, out.Detail, out.Cause)
				case reports.NotObserved:
					t.Logf("%s at %s: %s", out.ID, out.Revision, out.Detail)
				}
			}
			t.Log(run.Totals, run.Notes)
		})
	}
}

var _ = slices.Contains[[]int]
var _ = errors.Is
var _ = spec.Every
