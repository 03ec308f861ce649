package engine

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// A server may end a session at any time; the client then opens another
// (basic/transports#session-management 3 and 4).
func TestPassesServerThatEndsItsSessions(t *testing.T) {
	t.Parallel()
	const life = 120 // requests of a session; the body of each check sends fewer
	var mu sync.Mutex
	requests, ended := map[string]int{}, 0
	isOver := func(id string) bool {
		mu.Lock()
		defer mu.Unlock()
		if requests[id]++; requests[id] == life {
			ended++
		}
		return requests[id] >= life
	}
	site, end, err := server.HTTPTarget(transport.HTTP,
		server.Options{HTTP: wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if id := r.Header.Get("Mcp-Session-Id"); id != "" && isOver(id) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,` +
					`"error":{"code":-32001,"message":"Session not found"}}`))
				return
			}
			next.ServeHTTP(w, r)
		})})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	run, err := Run(t.Context(), site, Options{Revisions: []spec.Revision{spec.V2025_11_25}, Session: longDeadlines(),
		Allow: func(string) bool {
			return true
		}})
	if err != nil {
		t.Fatal(err)
	}
	again := 0
	for _, o := range run.Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			t.Errorf("%s is %s: %s %s", o.ID, o.Verdict, o.Detail, strings.Join(o.Notes, "; "))
		}
		if strings.Contains(strings.Join(o.Notes, "\n"), "the server ended the first session") {
			again++
		}
	}
	if again == 0 {
		t.Error("no check ran again after the end of its session")
	}
	t.Logf("%d sessions ended, %d checks ran again", ended, again)
}
