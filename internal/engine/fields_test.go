package engine

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// A server may serve any media type, open one stream or none, and refuse responses that
// it did not request. An intermediary may answer for it.
func TestAcceptsAnswersToUnusualRequests(t *testing.T) {
	t.Parallel()
	in := spec.Handshake & spec.Since(spec.V2025_03_26)
	post, get := hasMethod(http.MethodPost), hasMethod(http.MethodGet)
	field := func(name, part string) func(r *http.Request) bool {
		return func(r *http.Request) bool { return strings.Contains(strings.Join(r.Header[name], "|"), part) }
	}
	anyMediaType := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if post(r) {
			r.Header.Set("Content-Type", "application/json")
		}
		next.ServeHTTP(w, r)
	})
	const (
		compared    = "streamable-http.content-type.compared"
		forms       = "streamable-http.content-type.forms"
		lines       = "streamable-http.accept.lines"
		ofGet       = "streamable-http.accept.get"
		answered    = "streamable-http.get.answered"
		unrequested = "streamable-http.response.unrequested"
	)
	requireVerdicts(t, []allowedCase{
		{what: "any media type", check: compared, http: anyMediaType, want: reports.NotObserved},
		{
			what: "503 to a charset", check: forms, http: replaceStatus(field("Content-Type", "charset"), 0, 503),
			want: reports.NotObserved,
		},
		{
			what: "502 to two lines", check: lines, http: replaceStatus(field("Accept", "|"), 0, 502),
			want: reports.NotObserved,
		},
		{what: "405 to GET", check: ofGet, http: replaceStatus(get, 0, 405), in: in, want: reports.NotObserved},
		{what: "405 to GET", check: answered, http: replaceStatus(get, 0, 405), in: in, want: reports.Pass},
		{what: "a server that hangs", check: answered, http: hangAfterGet(), in: in, want: reports.NotObserved},
		{
			what: "400 to all responses", check: unrequested,
			http: replaceStatus(bodyContains(`"mcpcheck-none"`), 0, 400), in: in, want: reports.Pass,
		},
		{
			what: "400 to results that are null", check: "streamable-http.response.accepted",
			http: replaceStatus(bodyContains(`"result":null`), 0, 400), in: in, want: reports.Pass,
		},
		{
			what: "503 to a cancellation", check: "streamable-http.notification.cancelled",
			http: replaceStatus(bodyContains(`notifications/cancelled`), 0, 503), in: in, want: reports.NotObserved,
		},
		{
			what: "405 to a GET of an unknown version", check: "streamable-http.version.invalid.get",
			http: replaceStatus(allOf(get, field("Mcp-Protocol-Version", "1999")), 0, 405),
			in:   spec.Between(spec.V2025_06_18, spec.V2025_11_25), want: reports.NotObserved,
		},
		{
			what: "502 to a name that was rebound", check: "streamable-http.origin.rebound",
			http: replaceStatus(func(r *http.Request) bool { return strings.HasPrefix(r.Host, "evil") }, 0, 502),
			want: reports.NotObserved,
		},
	})
}

// hangAfterGet answers neither a GET nor any later request of its session.
func hangAfterGet() server.HTTP {
	var hanging sync.Map // by session id
	return wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Mcp-Session-Id")
		if r.Method == http.MethodGet {
			hanging.Store(id, true)
		}
		if _, ok := hanging.Load(id); ok && r.Method != http.MethodDelete {
			<-r.Context().Done()
			return
		}
		next.ServeHTTP(w, r)
	})
}
