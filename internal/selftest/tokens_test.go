package selftest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A server may hand out its tokens in a way of its own, of which nothing is told
// to clients (basic#auth): no MUST of authorization by OAuth is held against it.
func TestTokensOfAWayOfTheirOwnAreNoFailure(t *testing.T) {
	o := server.Options{Pace: pace}
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(&plainChallenge{w}, r)
		})
	}
	var checks []check.Check
	for _, c := range suites.Of(wire.Server, suites.All()) {
		if c.Area() == "authorization" {
			checks = append(checks, c)
		}
	}
	revisions := spec.Since(spec.V2025_03_26).Revisions()
	run, err := judge(t.Context(), target{over: transport.HTTP, protected: true, o: o}, revisions, "", checks, alone())
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	for _, got := range run.Outcomes {
		switch got.Verdict {
		case reports.Pass:
			passes++
		case reports.Fail, reports.Broken:
			t.Errorf("%s at %s is %s: %s", got.ID, got.Revision, got.Verdict, got.Detail)
		}
	}
	if passes == 0 {
		t.Error("nothing passes")
	}
}

// A plainChallenge challenges with the scheme alone.
type plainChallenge struct{ http.ResponseWriter }

func (w *plainChallenge) WriteHeader(status int) {
	if h := w.Header(); strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer") {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *plainChallenge) Unwrap() http.ResponseWriter { return w.ResponseWriter }
