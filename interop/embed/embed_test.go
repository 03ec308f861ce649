package embed

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
)

// serverArgument makes the test binary a server over stdio.
const serverArgument = "embedded-server"

func TestMain(m *testing.M) {
	suites.BridgeMain()
	if slices.Contains(os.Args, serverArgument) {
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kept are areas in which version 1.8.0 of the SDK breaks no MUST.
var kept = suites.Only("ping", "pagination", "prompts", "resources", "progress", "discover", "caching")

func TestServerInProcess(t *testing.T) {
	suites.Test(t, suites.InProcess(Serve), kept)
}

func TestServerByCommand(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suites.Test(t, suites.Command(self, serverArgument), kept, suites.Revisions(suites.V2025_11_25))
}

func TestServerAtURL(t *testing.T) {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil)
	server := httptest.NewServer(handler)
	defer server.Close()
	suites.Test(t, suites.URL(server.URL), kept, suites.Revisions(suites.V2025_11_25))
}

func TestClientInProcess(t *testing.T) {
	suites.TestClient(t, suites.InProcess(connect), suites.Only("ping", "jsonrpc"))
}

// A run returns what the tests show: verdicts, rules with their clauses, frames.
func TestResultSaysWhichClauseIsBroken(t *testing.T) {
	r, err := suites.Run(t.Context(), suites.InProcess(Serve), suites.Revisions(suites.V2025_11_25))
	if err != nil {
		t.Fatal(err)
	}
	if r.Ended != reports.Complete || !r.Revisions[0].Spoken {
		t.Errorf("ended %s, revisions %+v", r.Ended, r.Revisions)
	}
	for _, o := range r.Outcomes {
		if o.Verdict == reports.Fail && (len(o.Rules) == 0 || o.Rules[0].URL == "") {
			t.Errorf("%s fails without a clause", o.ID)
		}
		if o.Verdict == reports.Broken {
			t.Errorf("%s: %s", o.ID, o.Detail)
		}
	}
}

// A faulty server fails: its answer to a ping is no empty result.
func TestRunDetectsAViolation(t *testing.T) {
	faulty := func(ctx context.Context, t mcp.Transport) error {
		s := newServer()
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "ping" {
					return &mcp.CallToolResult{}, nil
				}
				return next(ctx, method, r)
			}
		})
		return s.Run(ctx, t)
	}
	r, err := suites.Run(t.Context(), suites.InProcess(ioServer(faulty)), suites.Only("ping.answered"),
		suites.Revisions(suites.V2025_11_25))
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals[reports.Fail] != 1 {
		t.Errorf("the totals are %v", r.Totals)
	}
}
