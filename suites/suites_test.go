package suites_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/client"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
)

// reference returns the reference server as a user would give a server in process.
func reference() suites.Target {
	target := server.Target("reference", server.Options{})
	return suites.InProcess(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return target.Serve(ctx, in, out)
	})
}

func TestTestPassesConformingServer(t *testing.T) {
	suites.Test(t, reference(), suites.Only("ping", "pagination"), suites.Strict(), suites.Timeout(30*time.Second))
}

func TestRunReportsEachCheckAndRevision(t *testing.T) {
	r, err := suites.Run(t.Context(), reference(), suites.Only("ping.answered"),
		suites.Revisions(suites.V2025_06_18, suites.V2026_07_28))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Outcomes) != 1 || r.Outcomes[0].Verdict != reports.Pass || len(r.Revisions) != 2 {
		t.Errorf("%d outcomes at %d revisions: %+v", len(r.Outcomes), len(r.Revisions), r.Outcomes)
	}
}

func TestInvalidTargetsAndOptionsAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		target suites.Target
		option suites.Option
		want   string
	}{
		"zero target":      {suites.Target{}, nil, "zero Target"},
		"empty command":    {suites.Command(), nil, "name of a program"},
		"unknown glob":     {reference(), suites.Only("no.such.check"), "no.such.check"},
		"unknown revision": {reference(), suites.Revisions("2020-01-01"), "2020-01-01"},
		"profile":          {reference(), suites.Profile("mine"), "mine"},
		"transport":        {reference(), suites.Transport("carrier"), "carrier"},
		"timeout":          {reference(), suites.Timeout(-1), "timeout"},
		"no URL":           {suites.URL("ftp://localhost"), nil, "ftp"},
		"not started":      {suites.Command("/no/such/program"), nil, "/no/such/program"},
	} {
		var options []suites.Option
		if c.option != nil {
			options = append(options, c.option)
		}
		if _, err := suites.Run(t.Context(), c.target, options...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want it to name %q", name, err, c.want)
		}
	}
	if _, err := suites.RunClient(t.Context(), suites.Command("client", "{server}")); err == nil ||
		!strings.Contains(err.Error(), "BridgeMain") {
		t.Errorf("a client without BridgeMain: %v", err)
	}
}

func TestRunClientTestsInProcessClient(t *testing.T) {
	target := suites.InProcess(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return client.Run(ctx, pipe(in, out), client.DefaultOptions())
	})
	r, err := suites.RunClient(t.Context(), target, suites.Only("ping"), suites.Revisions(suites.V2025_11_25))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		if o.Verdict == reports.Fail || o.Verdict == reports.Warn || o.Verdict == reports.Broken {
			t.Errorf("%s: %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
	if !r.Revisions[len(r.Revisions)-1].Spoken {
		t.Errorf("the revisions are %+v", r.Revisions)
	}
}

// pipe returns a server that was started already as one that a client can start.
func pipe(out io.ReadCloser, in io.WriteCloser) transport.Starter {
	return transport.InProcess{Name: "pipe",
		Serve: func(_ context.Context, fromClient io.Reader, toClient io.Writer) error {
			copied := make(chan error, 1)
			go func() {
				_, err := io.Copy(in, fromClient)
				copied <- errors.Join(err, in.Close())
			}()
			_, err := io.Copy(toClient, out)
			return errors.Join(err, <-copied)
		}}
}
