package selftest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
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
			next.ServeHTTP(&challenging{w, schemeAlone{}}, r)
		})
	}
	passAuthorization(t, o)
}

// A server that is judged on the loopback interface may be set up for where it will
// be deployed, and name that in its metadata and challenges.
func TestWhatIsSetUpForElsewhereIsNoFailure(t *testing.T) {
	const elsewhere = "https://mcp.example.com"
	o := server.Options{Pace: pace}
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			here := "http://" + r.Host
			if !strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
				next.ServeHTTP(&challenging{w, strings.NewReplacer(here, elsewhere)}, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			maps.Copy(w.Header(), got.Header())
			w.Header().Del("Content-Length")
			w.WriteHeader(got.Code)
			_, _ = io.WriteString(w, strings.ReplaceAll(got.Body.String(), `"resource":"`+here, `"resource":"`+elsewhere))
		})
	}
	passAuthorization(t, o)
}

// passAuthorization asserts that no check of authorization fails a protected server.
func passAuthorization(t *testing.T, o server.Options) {
	t.Helper()
	var checks []check.Check
	for _, c := range catalog.Of(wire.Server, catalog.Checks()) {
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

// A challenging edits the challenges of a server.
type challenging struct {
	http.ResponseWriter
	edit interface{ Replace(string) string }
}

func (w *challenging) WriteHeader(status int) {
	if h := w.Header(); strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer") {
		h.Set("WWW-Authenticate", w.edit.Replace(h.Get("WWW-Authenticate")))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *challenging) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// schemeAlone leaves of a challenge its scheme.
type schemeAlone struct{}

func (schemeAlone) Replace(string) string { return "Bearer" }
