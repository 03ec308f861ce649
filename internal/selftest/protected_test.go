package selftest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// admitWithoutToken serves requests without a token whose body holds a text, with the token
// that the client sent last.
func admitWithoutToken(text string) editOptions {
	var token atomic.Value
	return before(func(_ http.ResponseWriter, r *http.Request) bool {
		switch sent := r.Header.Get("Authorization"); {
		case sent != "":
			token.Store(sent)
		case token.Load() != nil && strings.Contains(bodyOf(r), text):
			r.Header.Set("Authorization", token.Load().(string))
		}
		return false
	})
}

// nameNoScopes takes the scopes out of the challenges and the metadata of a protected
// server.
func nameNoScopes(o *server.Options) {
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, "/.well-known/") {
				document := "http://" + r.Host + "/.well-known/oauth-protected-resource/mcp"
				next.ServeHTTP(&challengeEditor{w, func(string) string {
					return fmt.Sprintf("Bearer resource_metadata=%q", document)
				}}, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			w.Header().Set("Content-Type", got.Header().Get("Content-Type"))
			w.WriteHeader(got.Code)
			_, _ = w.Write(bytes.ReplaceAll(got.Body.Bytes(), []byte(`"scopes_supported"`), []byte(`"other"`)))
		})
	}
}

// protectedReactions are reactions of the protected reference that no fault shows, with what
// a check says.
var protectedReactions = []struct {
	check   string
	rev     spec.Revision
	edit    editOptions
	verdict reports.Verdict
	says    string
}{
	{"authorization.requests.verified", spec.V2026_07_28, admitWithoutToken(`"resources/read"`), reports.Fail,
		"resources/read of"},
	{"authorization.requests.verified", spec.V2026_07_28, admitWithoutToken(`"tools/call"`), reports.Fail,
		"tools/call of"},
	{"authorization.requests.verified", spec.V2026_07_28, admitWithoutToken(`"tools/list"`), reports.Fail,
		"tools/list"},
	{"authorization.challenge.offline", spec.V2026_07_28, nameNoScopes, reports.NotObserved, "names a scope"},
}

// Checks fail deviations of a protected server, and are not observed where they cannot tell.
func TestChecksJudgeReactionsOfProtectedServers(t *testing.T) {
	for _, c := range protectedReactions {
		t.Run(c.check+"/"+c.says, func(t *testing.T) {
			t.Parallel()
			s := subject{over: transport.HTTP, protected: true, options: server.Options{StepDelay: pace}}
			c.edit(&s.options)
			checks, err := catalog.Select(serverChecks(), []string{c.check}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.judge(t.Context(), engine.Options{
				Checks: checks, Revisions: []spec.Revision{c.rev}, Session: longDeadlines(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Outcomes) != 1 {
				t.Fatalf("%d outcomes", len(r.Outcomes))
			}
			if o := r.Outcomes[0]; o.Verdict != c.verdict || !strings.Contains(o.Detail, c.says) {
				t.Errorf("%s is %s, want %s: %s%s", o.ID, o.Verdict, c.verdict, o.Detail, o.Cause)
			}
		})
	}
}
