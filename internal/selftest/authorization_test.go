package selftest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A server may issue its tokens without OAuth, and document that outside of the protocol
// (basic#auth). It fails no MUST of authorization with OAuth.
func TestTokensWithoutOAuthFailNoCheck(t *testing.T) {
	o := server.Options{StepDelay: pace}
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(&challengeEditor{w, func(string) string { return "Bearer" }}, r)
		})
	}
	requireAuthorizationPasses(t, o)
}

// A server that is tested on the loopback interface may be configured for its deployment,
// and name that URL in its metadata and challenges.
func TestMetadataOfDeployedServerFailsNoCheck(t *testing.T) {
	const elsewhere = "https://mcp.example.com"
	o := server.Options{StepDelay: pace}
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			here := "http://" + r.Host
			if !strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
				next.ServeHTTP(&challengeEditor{w, strings.NewReplacer(here, elsewhere).Replace}, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			maps.Copy(w.Header(), got.Header())
			w.Header().Del("Content-Length")
			w.WriteHeader(got.Code)
			_, _ = io.WriteString(w, strings.ReplaceAll(got.Body.String(), `"resource":"`+here,
				`"resource":"`+elsewhere))
		})
	}
	requireAuthorizationPasses(t, o)
}

// requireAuthorizationPasses requires that no check of authorization fails a protected
// server.
func requireAuthorizationPasses(t *testing.T, o server.Options) {
	t.Helper()
	var checks []check.Check
	for _, c := range catalog.Of(wire.Server, catalog.Checks()) {
		if c.Area() == "authorization" {
			checks = append(checks, c)
		}
	}
	revisions := spec.Since(spec.V2025_03_26).Revisions()
	s := subject{over: transport.HTTP, protected: true, options: o}
	r, err := s.judge(t.Context(), engine.Options{Checks: checks, Revisions: revisions, Session: longDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	for _, got := range r.Outcomes {
		switch got.Verdict {
		case reports.Pass:
			passes++
		case reports.Fail, reports.Broken:
			t.Errorf("%s at %s is %s: %s", got.ID, got.Revision, got.Verdict, got.Detail)
		}
	}
	if passes == 0 {
		t.Error("no check passes")
	}
}

// A challengeEditor edits the challenges of a server.
type challengeEditor struct {
	http.ResponseWriter
	edit func(challenge string) string
}

func (w *challengeEditor) WriteHeader(status int) {
	if h := w.Header(); strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer") {
		h.Set("WWW-Authenticate", w.edit(h.Get("WWW-Authenticate")))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *challengeEditor) Unwrap() http.ResponseWriter { return w.ResponseWriter }
