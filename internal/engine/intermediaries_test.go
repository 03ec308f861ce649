package engine

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// An allowedCase is what a server or an intermediary may do, and the verdict of a check
// on it.
type allowedCase struct {
	what  string
	check string
	http  server.HTTP
	in    spec.Set        // revisions whose outcomes are compared; all if empty
	want  reports.Verdict // if empty, any but fail, warn, broken and not-run

	options server.Options // of the server, in addition
	remote  bool           // the address of the server is no loopback address
}

// outcomes runs the check and returns its outcomes.
func (l allowedCase) outcomes(t *testing.T) []reports.Outcome {
	t.Helper()
	o := l.options
	if l.http.Middleware != nil {
		o.HTTP = l.http
	}
	if !l.remote {
		return outcomesOverHTTPWithin(t, longDeadlines(), o, l.check)
	}
	o.HTTP.AllowedHosts = []string{"0.0.0.0"}
	site, end, err := server.HTTPTarget(transport.HTTP, o)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	site.Endpoint.URL.Host = net.JoinHostPort("0.0.0.0", site.Endpoint.URL.Port())
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), []string{l.check}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Run(t.Context(), site, Options{Checks: checks, Revisions: spec.Revisions(), Session: longDeadlines(),
		Allow: func(string) bool {
			return true
		}})
	if err != nil {
		t.Fatal(err)
	}
	return run.Outcomes
}

// requireVerdicts runs each check alone and compares its verdicts at the revisions of the
// case.
func requireVerdicts(t *testing.T, all []allowedCase) {
	t.Helper()
	for _, l := range all {
		t.Run(fmt.Sprintf("%s, remote %v: %s", l.what, l.remote, l.check), func(t *testing.T) {
			t.Parallel()
			seen := 0
			for _, o := range l.outcomes(t) {
				if l.in != 0 && !l.in.Has(o.Revision) || o.ID != l.check {
					continue
				}
				objects := slices.Contains([]reports.Verdict{
					reports.Fail, reports.Warn, reports.Broken, reports.NotRun,
				}, o.Verdict)
				if seen++; o.Verdict != l.want && (l.want != "" || objects) {
					t.Errorf("at %s: %s, not %q: %s%s", o.Revision, o.Verdict, l.want, o.Detail, o.Cause)
				}
			}
			if seen == 0 {
				t.Error("the check did not run")
			}
		})
	}
}

// replaceStatus replaces the status of the answers to matching requests, or any status if
// of is 0. The replaced answer has the body of an intermediary.
func replaceStatus(matches func(r *http.Request) bool, of, status int) server.HTTP {
	return wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		switch {
		case !matches(r):
			next.ServeHTTP(w, r)
		case of == 0:
			refuseHTTP(w, status)
		default:
			next.ServeHTTP(&statusReplacer{ResponseWriter: w, of: of, by: status}, r)
		}
	})
}

// A statusReplacer replaces one status by another, and the body by that of an
// intermediary.
type statusReplacer struct {
	http.ResponseWriter
	of, by int
	done   bool
}

func (w *statusReplacer) WriteHeader(status int) {
	if status != w.of {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.done = true
	w.Header().Del("Content-Length")
	refuseHTTP(w.ResponseWriter, w.by)
}

func (w *statusReplacer) Write(b []byte) (int, error) {
	if w.done {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

func (w *statusReplacer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hasMethod matches requests with one of the methods.
func hasMethod(methods ...string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(methods, r.Method) }
}

// An intermediary may answer for a server that it cannot reach.
func TestGatewayErrorsFailNoCheck(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(r *http.Request) bool {
		return func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get(name), value) }
	}
	unnamed := func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && methodOf(r) != "initialize"
	}
	invalid := func(r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		m := wire.Parse(body)
		return m.SyntaxError != nil || m.Kind == wire.Batch || m.Kind == wire.Invalid || !m.Get("jsonrpc").Exists()
	}
	handshake := spec.Handshake
	requireVerdicts(t, []allowedCase{
		{
			what: "502 to an invalid version", check: "streamable-http.version.invalid",
			http: replaceStatus(header("Mcp-Protocol-Version", "garbage"), 0, 502), want: reports.NotObserved,
		},
		{
			what: "503 without a session", check: "streamable-http.session.required",
			http: replaceStatus(unnamed, 0, 503), in: handshake, want: reports.NotObserved,
		},
		{
			what: "502 to an invalid message", check: "jsonrpc.parse-error", http: replaceStatus(invalid, 0, 502),
			want: reports.NotObserved,
		},
		{
			what: "502 to an invalid message", check: "jsonrpc.request.invalid", http: replaceStatus(invalid, 0, 502),
			want: reports.NotObserved,
		},
		{
			what: "503 to an invalid message", check: "batching.empty", http: replaceStatus(invalid, 0, 503),
			want: reports.NotObserved,
		},
		{
			what: "503 to an invalid message", check: "batching.element.invalid", http: replaceStatus(invalid, 0, 503),
			want: reports.NotObserved,
		},
	})
}

// A request without a version is one of 2025-03-26 if the server cannot identify its
// version otherwise. A server without that revision must refuse it.
func TestAcceptsRefusalOfRequestWithoutVersion(t *testing.T) {
	t.Parallel()
	unversioned := func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.Header.Get("Mcp-Protocol-Version") == "" && methodOf(r) == "ping"
	}
	const absent = "streamable-http.version.absent"
	withHeader := spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	newer := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if unversioned(r) {
			refuseHTTP(w, http.StatusBadRequest)
			return
		}
		body, _ := io.ReadAll(r.Body)
		text := strings.ReplaceAll(string(body), `"protocolVersion":"2025-03-26"`, `"protocolVersion":"2025-06-18"`)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		next.ServeHTTP(w, r)
	})
	newer.Sessionless = true
	requireVerdicts(t, []allowedCase{
		{
			what: "by a server without sessions and without 2025-03-26", check: absent, http: newer, in: withHeader,
			want: reports.NotApplicable,
		},
		{
			what: "by a server with sessions", check: absent, http: replaceStatus(unversioned, 0, 400), in: withHeader,
			want: reports.NotObserved,
		},
	})
}

// bodyContains matches POSTs whose body contains a text.
func bodyContains(text string) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return r.Method == http.MethodPost && strings.Contains(string(body), text)
	}
}

// answerByPolling answers matching requests with a stream that ends after an event id,
// from which the client can resume it.
func answerByPolling(matches func(r *http.Request) bool) server.HTTP {
	return wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if !matches(r) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: quay-1\nretry: 50\ndata:\n\n")
	})
}

// allOf matches requests that match all conditions.
func allOf(conditions ...func(r *http.Request) bool) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		return !slices.ContainsFunc(conditions, func(matches func(r *http.Request) bool) bool { return !matches(r) })
	}
}

// afterFirst matches all matching requests but the first ones.
func afterFirst(first int64, matches func(r *http.Request) bool) func(r *http.Request) bool {
	var n atomic.Int64
	return func(r *http.Request) bool { return matches(r) && n.Add(1) > first }
}

// lacksHeader matches requests without a header field.
func lacksHeader(field string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(field) == "" }
}

// A server may limit its sessions, end a stream early and refuse a GET stream.
func TestAcceptsPollingAndRefusedSessions(t *testing.T) {
	t.Parallel()
	const (
		clients  = "streamable-http.clients"
		endpoint = "streamable-http.endpoint"
		absent   = "streamable-http.version.absent"
	)
	handshake, stateless := spec.Handshake&spec.Since(spec.V2025_03_26), spec.Stateless
	ofClients := bodyContains(`"mcpcheck-client-`)
	sessionless := replaceStatus(allOf(ofClients, bodyContains(`"ping"`)), 0, 409)
	sessionless.Sessionless = true
	requireVerdicts(t, []allowedCase{
		{
			what: "503 to further sessions", check: clients,
			http: replaceStatus(afterFirst(3, bodyContains(`"initialize"`)), 0, 503), in: handshake,
			want: reports.NotObserved,
		},
		{what: "polling", check: clients, http: answerByPolling(ofClients), in: handshake, want: reports.NotObserved},
		{
			what: "polling", check: absent,
			http: answerByPolling(allOf(bodyContains(`"ping"`), lacksHeader("Mcp-Protocol-Version"))),
			in:   spec.Between(spec.V2025_06_18, spec.V2025_11_25), want: reports.NotObserved,
		},
		{
			what: "one id twice without sessions", check: clients, http: sessionless, in: handshake,
			want: reports.NotObserved,
		},
		{
			what: "one id twice without sessions", check: clients,
			http: replaceStatus(allOf(ofClients, bodyContains(`"server/discover"`)), 0, 400), in: stateless,
			want: reports.NotObserved,
		},
		{
			what: "one id twice in two sessions", check: clients,
			http: replaceStatus(allOf(ofClients, bodyContains(`"ping"`)), 0, 409), in: handshake,
			want: reports.Warn,
		},
		{
			what: "GET refused with 401", check: endpoint,
			http: replaceStatus(hasMethod(http.MethodGet), 0, 401), in: handshake, want: reports.NotObserved,
		},
		{
			what: "GET fails with 500", check: endpoint,
			http: replaceStatus(hasMethod(http.MethodGet), 0, 500), in: handshake, want: reports.NotObserved,
		},
		{
			what: "GET refused with 405", check: endpoint,
			http: replaceStatus(hasMethod(http.MethodGet), 0, 405), in: handshake, want: reports.Pass,
		},
	})
}

// A connection that is closed without an answer does not show that no process listens.
func TestOnlyUnreachableAddressShowsLoopbackBinding(t *testing.T) {
	const check = "streamable-http.bind.loopback"
	for name, want := range map[string]reports.Verdict{"127.0.0.9": reports.NotObserved, "127.0.0.8": reports.Pass} {
		site, end, err := server.HTTPTarget(transport.HTTP, server.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.9", site.Endpoint.URL.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		o := shortDeadlines()
		o.LocalAddresses = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr(name)} }
		checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), []string{check}, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := Run(t.Context(), site, Options{
			Checks: checks, Revisions: []spec.Revision{spec.V2025_11_25}, Session: o,
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(run.Outcomes) != 1 {
			t.Errorf("%d outcomes", len(run.Outcomes))
		}
		for _, got := range run.Outcomes {
			if got.Verdict != want {
				t.Errorf("%s: %s at %s, not %s: %s", name, got.Verdict, got.Revision, want, got.Detail)
			}
		}
	}
}

// isMismatched matches stateless requests whose headers do not match their message.
func isMismatched(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	m := wire.Parse(body)
	version := m.Get(`params._meta.io\.modelcontextprotocol/protocolVersion`)
	return version.Exists() && (version.String() != r.Header.Get("Mcp-Protocol-Version") ||
		m.Method() != r.Header.Get("Mcp-Method"))
}

// An intermediary may refuse headers with any status and without JSON-RPC. A server on a
// loopback address has no intermediary.
func TestAcceptsHeaderRefusalByIntermediary(t *testing.T) {
	t.Parallel()
	var cases []allowedCase
	for _, id := range []string{
		"headers.refusal.code", "headers.refusal.status", "headers.version.missing", "headers.version.mismatch",
	} {
		for remote, want := range map[bool]reports.Verdict{true: reports.NotObserved, false: reports.Fail} {
			cases = append(cases, allowedCase{
				what: "422", check: id, http: replaceStatus(isMismatched, 0, 422), in: spec.Stateless, want: want,
				remote:  remote,
				options: server.Options{Revisions: spec.Stateless},
			})
		}
	}
	requireVerdicts(t, cases)
}

// A server that refuses an unknown tool with the status for an invalid header has not
// validated the header.
func TestRefusedToolNameIsNotARefusedHeader(t *testing.T) {
	t.Parallel()
	refusesName := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if !bodyContains("mcpcheck_no_such_tool")(r) {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"There is no such tool"}}`,
			wire.Parse(body).ID().Raw)
	})
	plain := server.Options{ChangeFeatures: func(l *server.Features) {
		l.Tools = slices.DeleteFunc(l.Tools, func(tool *server.Tool) bool { return tool.Name == "check_branch" })
	}}
	requireVerdicts(t, []allowedCase{
		{
			what: "400 to an unknown tool", check: "headers.characters", http: refusesName, in: spec.Stateless,
			want: reports.NotObserved, options: plain,
		},
		{what: "conforming", check: "headers.characters", in: spec.Stateless, want: reports.Pass, options: plain},
	})
}

// A server of both eras may look up the session that a stateless request names.
func TestAcceptsSessionLookupByServerOfBothEras(t *testing.T) {
	t.Parallel()
	const session, event = "streamable-http.session.none", "streamable-http.event.id.ignored"
	named := func(field string) server.HTTP {
		return replaceStatus(allOf(bodyContains("io.modelcontextprotocol/protocolVersion"), func(r *http.Request) bool {
			return r.Header.Get(field) != ""
		}), 0, 404)
	}
	statelessOnly := server.Options{Revisions: spec.Stateless}
	requireVerdicts(t, []allowedCase{
		{what: "both", check: session, http: named("Mcp-Session-Id"), in: spec.Stateless, want: reports.Pass},
		{what: "both", check: event, http: named("Last-Event-ID"), in: spec.Stateless, want: reports.NotApplicable},
		{
			what: "stateless only", check: session, http: named("Mcp-Session-Id"), in: spec.Stateless,
			want: reports.Warn, options: statelessOnly,
		},
		{
			what: "stateless only", check: event, http: named("Last-Event-ID"), in: spec.Stateless,
			want: reports.Warn, options: statelessOnly,
		},
	})
}

// A request with a foreign Origin that fails for another reason is not refused.
func TestOnlyRefusalShowsOriginValidation(t *testing.T) {
	t.Parallel()
	const validated = "streamable-http.origin.validated"
	hasOrigin := func(r *http.Request) bool { return r.Header.Get("Origin") != "" }
	silent := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if hasOrigin(r) {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	requireVerdicts(t, []allowedCase{
		{what: "no answer", check: validated, http: silent, want: reports.NotObserved},
		{what: "a failure", check: validated, http: replaceStatus(hasOrigin, 0, 500), want: reports.NotObserved},
		{what: "a refusal", check: validated, want: reports.Pass},
	})
}

// delayToolCalls delays the answers to tool calls with a progress token, or to all tool
// calls if the token is "".
func delayToolCalls(delay time.Duration, token string) func(next server.Handler) server.Handler {
	return func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			meta, _ := r.Params["_meta"].(server.Object)
			if r.Method == "tools/call" && (token == "" || fmt.Sprintf("%q", meta["progressToken"]) == token) {
				select {
				case <-time.After(delay):
				case <-ctx.Done():
				}
			}
			return v, problem
		}
	}
}

// isResumption reports whether a request resumes a stream.
func isResumption(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != ""
}

// shortResumedStreams ends each resumed stream early; it can be resumed again.
func shortResumedStreams() server.Options {
	o := server.Options{Handler: delayToolCalls(120*time.Millisecond, `"mcpcheck-lost"`)}
	o.HTTP = wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if isResumption(r) {
			ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
	return o
}

// singleGETStream ends the stream of a GET when the session opens another.
func singleGETStream() server.Options {
	var mu sync.Mutex
	ends := map[string]context.CancelFunc{} // of the GET streams, by session
	single := server.Options{Handler: delayToolCalls(70*time.Millisecond, "")}
	single.HTTP = wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || isResumption(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		mu.Lock()
		if end := ends[r.Header.Get("Mcp-Session-Id")]; end != nil {
			end()
		}
		ends[r.Header.Get("Mcp-Session-Id")] = cancel
		mu.Unlock()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
	single.HTTP.Replay = func(server.Replayer) server.Replayer {
		return func(_ *server.Stream, missed []server.Event, others []*server.Stream) []server.Event {
			for _, o := range slices.Backward(others) { // the events of the stream that replaced it
				if all := o.Events(); len(all) > 0 && all[0].Frame != nil && all[0].Frame.Request == nil {
					return append(missed, all...)
				}
			}
			return missed
		}
	}
	return single
}

// Streams may end at any time, a message may be logged twice, and a new GET stream may
// replace the previous one.
func TestAcceptsAllowedUseOfStreams(t *testing.T) {
	t.Parallel()
	const (
		cursor     = "streamable-http.replay.cursor"
		disconnect = "streamable-http.stream.disconnect"
		once       = "streamable-http.change.once"
	)
	handshake := spec.Handshake & spec.Since(spec.V2025_03_26)
	logging := server.Options{Handler: func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method != "tools/call" {
				return next(ctx, r)
			}
			entry := server.Object{"level": "error", "data": "The tide is out"}
			r.Notify("notifications/message", entry)
			v, problem := next(ctx, r)
			r.Notify("notifications/message", entry)
			return v, problem
		}
	}}
	requireVerdicts(t, []allowedCase{
		{what: "the same log twice", check: cursor, options: logging, in: handshake, want: reports.Pass},
		{what: "short streams", check: disconnect, options: shortResumedStreams(), in: handshake},
		{what: "one stream at a time", check: once, options: singleGETStream(), in: handshake},
	})
}
