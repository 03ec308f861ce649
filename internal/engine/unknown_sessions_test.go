package engine

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// An intermediary may answer for a server that it cannot reach.
func TestGatewayErrorsInEndedSessionsFailNoCheck(t *testing.T) {
	t.Parallel()
	in := spec.Handshake & spec.Since(spec.V2025_03_26)
	var all []allowedCase
	for check, method := range map[string]string{
		"streamable-http.session.ended":          http.MethodPost,
		"streamable-http.session.ended.status":   http.MethodPost,
		"streamable-http.session.ended.get":      http.MethodGet,
		"streamable-http.session.ended.delete":   http.MethodDelete,
		"streamable-http.session.unknown.status": http.MethodPost,
		"streamable-http.session.unknown.get":    http.MethodGet,
	} {
		all = append(all, allowedCase{
			what: "504 in place of 404", check: check, http: replaceStatus(hasMethod(method), 404, 504), in: in,
			want: reports.NotObserved,
		})
	}
	requireVerdicts(t, all)
}

// A server may refuse what names no open session in several ways, and one cause is
// reported once.
func TestAcceptsAnswersToUnknownSessions(t *testing.T) {
	t.Parallel()
	const (
		unknown       = "streamable-http.session.unknown"
		unknownStatus = "streamable-http.session.unknown.status"
		unknownGet    = "streamable-http.session.unknown.get"
		endedGet      = "streamable-http.session.ended.get"
		ended         = "streamable-http.session.ended"
	)
	in := spec.Handshake & spec.Since(spec.V2025_03_26)
	post, get := hasMethod(http.MethodPost), hasMethod(http.MethodGet)
	isForeign := func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Mcp-Session-Id"), "mcpcheck") }
	unansweredGet := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if get(r) {
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	})
	sessionless := server.Options{HTTP: server.HTTP{Sessionless: true}}
	requireVerdicts(t, []allowedCase{
		{what: "no id needed", check: unknown, http: serveWithoutSessionID(), in: in, want: reports.NotApplicable},
		{what: "no sessions", check: unknown, options: sessionless, in: in, want: reports.NotApplicable},
		{
			what: "400 to an id of another form", check: unknownStatus, http: replaceStatus(isForeign, 0, 400), in: in,
			want: reports.Pass,
		},
		{
			what: "401 to an unknown id", check: unknownStatus, http: replaceStatus(post, 404, 401), in: in,
			want: reports.NotObserved,
		},
		{
			what: "400 to any unknown id", check: unknownStatus, http: replaceStatus(post, 404, 400), in: in,
			want: reports.NotObserved,
		},
		{
			what: "400 to all in an ended session", check: endedGet, http: replaceStatus(anyRequest, 404, 400), in: in,
			want: reports.NotObserved,
		},
		{what: "no answer to GET", check: endedGet, http: unansweredGet, in: in, want: reports.NotObserved},
		{what: "no answer to GET", check: unknownGet, http: unansweredGet, in: in, want: reports.NotObserved},
		{what: "no answer to GET", check: ended, http: unansweredGet, in: in, want: reports.Pass},
		{
			what: "no answer to GET", check: "streamable-http.session.ended.answered", http: unansweredGet, in: in,
			want: reports.Pass,
		},
		{what: "a session that lives on", check: endedGet, http: keepSessions(), in: in, want: reports.NotObserved},
	})
}

// anyRequest matches all requests.
func anyRequest(*http.Request) bool { return true }

// keepSessions acknowledges the end of a session and continues it.
func keepSessions() server.HTTP {
	return wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusOK)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveWithoutSessionID serves a ping without a session id in some session.
func serveWithoutSessionID() server.HTTP {
	var opened atomic.Value // the id of a session
	return wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" && methodOf(r) == "ping" {
			r.Header.Set("Mcp-Session-Id", opened.Load().(string))
			r.Header.Del("Mcp-Protocol-Version")
		}
		next.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			opened.Store(id)
		}
	})
}
