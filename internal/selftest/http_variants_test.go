package selftest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/engine"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// before lets a handler answer HTTP requests before the reference does; it reports
// whether it did.
func before(answer func(w http.ResponseWriter, r *http.Request) bool) editOptions {
	return func(o *server.Options) {
		o.HTTP.Middleware = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !answer(w, r) {
					next.ServeHTTP(w, r)
				}
			})
		}
	}
}

// bodyOf returns the body of a request, which can be read again.
func bodyOf(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}

// isResumption reports whether a GET asks to resume a stream.
func isResumption(r *http.Request) bool { return r.Header.Get("Last-Event-ID") != "" }

// hasTextBeyondASCII reports whether a header field has a byte beyond ASCII.
func hasTextBeyondASCII(r *http.Request) bool {
	for _, values := range r.Header {
		if strings.ContainsFunc(strings.Join(values, ""), func(c rune) bool { return c > '~' }) {
			return true
		}
	}
	return false
}

// dropConnection ends a connection without an answer.
func dropConnection(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// refuseMissingByJSON answers requests for what does not exist with a JSON object, as many
// frameworks do.
func refuseMissingByJSON(o *server.Options) {
	o.HTTP.Middleware = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, "/.well-known/") {
				next.ServeHTTP(w, r)
				return
			}
			got := httptest.NewRecorder()
			if next.ServeHTTP(got, r); got.Code != http.StatusNotFound {
				for name, values := range got.Header() {
					w.Header()[name] = values
				}
				w.WriteHeader(got.Code)
				_, _ = w.Write(got.Body.Bytes())
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"issuer":"none","resource":"none","error":"not_found"}`)
		})
	}
}

// A httpVariant is the reference over HTTP in another permitted form.
type httpVariant struct {
	in        spec.Set
	protected bool
	area      string // of the checks that are run
	edit      editOptions
}

var httpVariants = map[string]httpVariant{
	// basic/transports#sending-messages-to-the-server: an array of notifications and
	// responses alone is accepted.
	"accepts an empty array": {in: spec.Only(spec.V2025_03_26), area: "batching",
		edit: before(func(w http.ResponseWriter, r *http.Request) bool {
			isEmpty := r.Method == http.MethodPost && bodyOf(r) == "[]"
			if isEmpty {
				w.WriteHeader(http.StatusAccepted)
			}
			return isEmpty
		})},
	"refuses missing documents by JSON": {in: spec.Since(spec.V2025_03_26), protected: true, area: "authorization",
		edit: refuseMissingByJSON},
	// basic/authorization#protocol-requirements: authorization is optional.
	"stands beside an authorization server": {in: spec.Only(spec.V2025_03_26), area: "authorization",
		edit: before(func(w http.ResponseWriter, r *http.Request) bool {
			isMetadata := r.URL.Path == "/.well-known/oauth-authorization-server"
			if isMetadata {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"issuer":"http://`+r.Host+`"}`)
			}
			return isMetadata
		})},
	// basic/transports/streamable-http#value-encoding: such a header is refused.
	"refuses headers beyond ASCII by HTTP alone": {in: spec.Stateless, area: "headers",
		edit: before(func(w http.ResponseWriter, r *http.Request) bool {
			isRefused := hasTextBeyondASCII(r)
			if isRefused {
				w.WriteHeader(http.StatusBadRequest)
			}
			return isRefused
		})},
	"ends connections with headers beyond ASCII": {in: spec.Stateless, area: "headers",
		edit: before(func(w http.ResponseWriter, r *http.Request) bool {
			isRefused := hasTextBeyondASCII(r)
			if isRefused {
				dropConnection(w)
			}
			return isRefused
		})},
	// basic/transports#resumability-and-redelivery: servers may offer it.
	"refuses to resume streams": {in: spec.Since(spec.V2025_03_26), area: "streamable-http",
		edit: before(func(w http.ResponseWriter, r *http.Request) bool {
			if isResumption(r) {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
			return isResumption(r)
		})},
	"ends connections that resume streams": {in: spec.Since(spec.V2025_03_26), area: "streamable-http",
		edit: before(func(w http.ResponseWriter, r *http.Request) bool {
			if isResumption(r) {
				dropConnection(w)
			}
			return isResumption(r)
		})},
}

// No check fails a server that uses HTTP in another permitted form.
func TestAllowedFormsOfHTTPFailNoCheck(t *testing.T) {
	for name, v := range httpVariants {
		for _, rev := range v.in.Revisions() {
			t.Run(name+"/"+string(rev), func(t *testing.T) {
				t.Parallel()
				o := server.Options{StepDelay: pace}
				o.HTTP.PreferSSE = v.area == "streamable-http"
				v.edit(&o)
				requireAreaPasses(t, subject{transport.HTTP, v.protected, o}, rev, v.area)
			})
		}
	}
}

// requireAreaPasses requires that the checks of an area fail or warn of nothing, and that
// none of them is broken.
func requireAreaPasses(t *testing.T, s subject, rev spec.Revision, area string) {
	t.Helper()
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), []string{area}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.judge(t.Context(), engine.Options{
		Checks: checks, Revisions: []spec.Revision{rev}, Session: longDeadlines(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Outcomes {
		if isProblem(o.Verdict) {
			t.Errorf("%s at %s is %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
		}
	}
	if len(r.Outcomes) == 0 {
		t.Error("nothing was judged")
	}
}

// serveUnknown answers an unknown method with a result.
func serveUnknown(o *server.Options) {
	o.Handler = func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "mcpcheck/no-such-method" {
				return server.Object{}, nil
			}
			return next(ctx, r)
		}
	}
}

// answerSecondGet has a handler answer every GET but the first.
func answerSecondGet(answer func(w http.ResponseWriter)) editOptions {
	var n atomic.Int64
	return before(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || n.Add(1) == 1 {
			return false
		}
		answer(w)
		return true
	})
}

// hasNoTextAsName reports whether the name in the params is no text.
func hasNoTextAsName(r *server.Request) bool {
	name, named := r.Params["name"]
	_, isText := name.(string)
	return named && !isText
}

// mismatch answers requests whose name is no text with the error of headers.
func mismatch(o *server.Options) { o.Handler = fails(spec.HeaderMismatch, hasNoTextAsName) }

// statelessResumption refuses to resume streams with a status, and speaks the stateless
// revision alone.
func statelessResumption(status int) editOptions {
	return func(o *server.Options) {
		o.Revisions = spec.Stateless
		o.HTTP.PreferSSE = true
		before(func(w http.ResponseWriter, r *http.Request) bool {
			if isResumption(r) {
				w.WriteHeader(status)
			}
			return isResumption(r)
		})(o)
	}
}

// reactions are reactions of the reference that no fault shows, with what a check says.
var reactions = []struct {
	check   string
	over    transport.Kind
	rev     spec.Revision
	edit    editOptions
	verdict reports.Verdict
	says    string
}{
	{"streamable-http.clients", transport.HTTP, spec.V2025_11_25, serveUnknown, reports.NotObserved,
		"an unknown method"},
	{"official.tasks.notifications", transport.Stdio, spec.V2026_07_28,
		editText(isAny, `"taskIds":\[[^]]*\]`, `"taskIds":[]`),
		reports.NotObserved, "accepts no subscription to tasks"},
	{"jsonrpc.params.invalid", transport.Stdio, spec.V2025_11_25, func(o *server.Options) {
		o.Handler = fails(spec.MethodNotFound, func(r *server.Request) bool { return len(r.Params) == 0 })
	}, reports.NotObserved, "the server serves none of"},
	{"official.skills.meta", transport.Stdio, spec.V2026_07_28, func(*server.Options) {}, reports.Pass, ""},
	{"official.skills.meta", transport.Stdio, spec.V2026_07_28,
		editText(func(f server.Frame) bool { return f.Kind == wire.Result }, `"_meta":`, `"other":`),
		reports.NotObserved, "no SKILL.md"},
	{"streamable-http.change.once", transport.HTTP, spec.V2025_11_25, answerSecondGet(dropConnection),
		reports.NotObserved, "a second stream was not opened"},
	{"streamable-http.change.once", transport.HTTP, spec.V2025_11_25,
		answerSecondGet(func(w http.ResponseWriter) { w.WriteHeader(http.StatusConflict) }),
		reports.NotObserved, "a second stream was not opened: a GET"},
	{"streamable-http.stream.resumed", transport.HTTP, spec.V2026_07_28,
		statelessResumption(http.StatusServiceUnavailable), reports.NotObserved, "503"},
	{"streamable-http.stream.resumed", transport.HTTP, spec.V2026_07_28,
		statelessResumption(http.StatusMethodNotAllowed), reports.Pass, ""},
	{"jsonrpc.params.code", transport.Stdio, spec.V2026_07_28, mismatch, reports.Warn, "-32020"},
	{"jsonrpc.params.code", transport.HTTP, spec.V2026_07_28, mismatch, reports.Pass, ""},
	{"http-sse.clients.apart", transport.SSE, spec.V2024_11_05, answerSecondGet(dropConnection),
		reports.Warn, "no other stream could be opened"},
	{"http-sse.clients.apart", transport.SSE, spec.V2024_11_05,
		answerSecondGet(func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }),
		reports.Warn, "a GET opened no other stream"},
}

// Checks fail deviations, and are not observed where they cannot tell.
func TestChecksJudgeReactions(t *testing.T) {
	for _, c := range reactions {
		t.Run(fmt.Sprint(c.check, "/", c.over, "/", c.says), func(t *testing.T) {
			t.Parallel()
			profile := ""
			if strings.HasPrefix(c.check, "official.") {
				profile = catalog.Official
			}
			o := server.Options{StepDelay: pace, Official: profile != ""}
			c.edit(&o)
			checks, err := catalog.Select(serverChecks(), []string{c.check}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := subject{over: c.over, options: o}.judge(t.Context(), engine.Options{
				Checks: checks[:1:1], Revisions: []spec.Revision{c.rev}, Profile: profile, Session: longDeadlines(),
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range r.Outcomes {
				if o.Verdict != c.verdict || !strings.Contains(o.Detail, c.says) {
					t.Errorf("%s is %s, want %s: %s%s", o.ID, o.Verdict, c.verdict, o.Detail, o.Cause)
				}
			}
			if len(r.Outcomes) == 0 {
				t.Error("nothing was judged")
			}
		})
	}
}
