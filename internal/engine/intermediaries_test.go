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

// A leniency is what a server, or what stands before it, may do, and what a check
// says of it then.
type leniency struct {
	what  string
	check string
	http  server.HTTP
	in    spec.Set        // in which it is looked at; all if empty
	want  reports.Verdict // any that accuses nobody if empty

	options server.Options // besides
	far     bool           // the server is not called by a name of the loopback interface
}

// outcomes are those of the check.
func (l leniency) outcomes(t *testing.T) []reports.Outcome {
	t.Helper()
	o := l.options
	if l.http.Middleware != nil {
		o.HTTP = l.http
	}
	if !l.far {
		return overHTTPWithin(t, patient(), o, l.check)
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
	run, err := Run(t.Context(), site, Options{Checks: checks, Revisions: spec.Revisions(), Session: patient(),
		Allow: func(string) bool {
			return true
		}})
	if err != nil {
		t.Fatal(err)
	}
	return run.Outcomes
}

// tolerated runs each check alone and compares its verdicts, of those revisions
// that it applies to.
func tolerated(t *testing.T, all []leniency) {
	t.Helper()
	for _, l := range all {
		t.Run(fmt.Sprintf("%s, far %v: %s", l.what, l.far, l.check), func(t *testing.T) {
			t.Parallel()
			seen := 0
			for _, o := range l.outcomes(t) {
				if l.in != 0 && !l.in.Has(o.Revision) || o.ID != l.check {
					continue
				}
				accused := slices.Contains([]reports.Verdict{
					reports.Fail, reports.Warn, reports.Broken, reports.NotRun,
				}, o.Verdict)
				if seen++; o.Verdict != l.want && (l.want != "" || accused) {
					t.Errorf("at %s: %s, not %q: %s%s", o.Revision, o.Verdict, l.want, o.Detail, o.Cause)
				}
			}
			if seen == 0 {
				t.Error("it did not run")
			}
		})
	}
}

// instead answers requests that fit with a status in place of another, or, for
// status 0, in place of any; what stands before a server says it in words of its
// own.
func instead(fits func(r *http.Request) bool, of, status int) server.HTTP {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		switch {
		case !fits(r):
			next.ServeHTTP(w, r)
		case of == 0:
			refused(w, status)
		default:
			next.ServeHTTP(&replacing{ResponseWriter: w, of: of, by: status}, r)
		}
	})
}

// A replacing writer puts one status in place of another, and words of its own in
// place of what was said.
type replacing struct {
	http.ResponseWriter
	of, by int
	done   bool
}

func (w *replacing) WriteHeader(status int) {
	if status != w.of {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.done = true
	w.Header().Del("Content-Length")
	refused(w.ResponseWriter, w.by)
}

func (w *replacing) Write(b []byte) (int, error) {
	if w.done {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

func (w *replacing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func of(methods ...string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(methods, r.Method) }
}

// What stands before a server may have no answer of it for a moment.
func TestAGatewayWithoutAServerAccusesNobody(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(r *http.Request) bool {
		return func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get(name), value) }
	}
	unnamed := func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && methodOf(r) != "initialize"
	}
	garbled := func(r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		m := wire.Parse(body)
		return m.SyntaxError != nil || m.Kind == wire.Batch || m.Kind == wire.Invalid || !m.Get("jsonrpc").Exists()
	}
	handshake := spec.Handshake
	tolerated(t, []leniency{
		{
			what: "502 to garbage", check: "streamable-http.version.invalid",
			http: instead(header("Mcp-Protocol-Version", "garbage"), 0, 502), want: reports.NotObserved,
		},
		{
			what: "503 without a session", check: "streamable-http.session.required", http: instead(unnamed, 0, 503),
			in: handshake, want: reports.NotObserved,
		},
		{
			what: "504 in place of 404", check: "streamable-http.session.ended",
			http: instead(of(http.MethodPost), 404, 504), in: handshake, want: reports.NotObserved,
		},
		{
			what: "503 in place of 404", check: "streamable-http.session.ended",
			http: instead(of(http.MethodGet), 404, 503), in: handshake, want: reports.NotObserved,
		},
		{
			what: "502 to what is no message", check: "jsonrpc.parse-error", http: instead(garbled, 0, 502),
			want: reports.NotObserved,
		},
		{
			what: "502 to what is no message", check: "jsonrpc.request.invalid", http: instead(garbled, 0, 502),
			want: reports.NotObserved,
		},
		{
			what: "503 to what is no message", check: "batching.empty", http: instead(garbled, 0, 503),
			want: reports.NotObserved,
		},
		{
			what: "503 to what is no message", check: "batching.element.invalid", http: instead(garbled, 0, 503),
			want: reports.NotObserved,
		},
	})
}

// A request that names no version is one of 2025-03-26, where nothing else tells
// it; who does not speak that must refuse it.
func TestARequestWithoutAVersionMayBeRefused(t *testing.T) {
	t.Parallel()
	unversioned := func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.Header.Get("Mcp-Protocol-Version") == "" && methodOf(r) == "ping"
	}
	const absent = "streamable-http.version.absent"
	headed := spec.Between(spec.V2025_06_18, spec.V2025_11_25)
	newer := around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if unversioned(r) {
			refused(w, http.StatusBadRequest)
			return
		}
		body, _ := io.ReadAll(r.Body)
		text := strings.ReplaceAll(string(body), `"protocolVersion":"2025-03-26"`, `"protocolVersion":"2025-06-18"`)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		next.ServeHTTP(w, r)
	})
	newer.Sessionless = true
	tolerated(t, []leniency{
		{
			what: "by a server without sessions and without 2025-03-26", check: absent, http: newer, in: headed,
			want: reports.NotApplicable,
		},
		{
			what: "by a server with sessions", check: absent, http: instead(unversioned, 0, 400), in: headed,
			want: reports.NotObserved,
		},
	})
}

// says tells whether the body of a POST holds some text.
func says(text string) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return r.Method == http.MethodPost && strings.Contains(string(body), text)
	}
}

// polling gives requests that fit a stream with an event to come back by, and ends
// it.
func polling(fits func(r *http.Request) bool) server.HTTP {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if !fits(r) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: quay-1\nretry: 50\ndata:\n\n")
	})
}

// all fits what all of some fit.
func all(fits ...func(r *http.Request) bool) func(r *http.Request) bool {
	return func(r *http.Request) bool {
		return !slices.ContainsFunc(fits, func(fit func(r *http.Request) bool) bool { return !fit(r) })
	}
}

// later fits all but the first requests that fit.
func later(first int64, fits func(r *http.Request) bool) func(r *http.Request) bool {
	var n atomic.Int64
	return func(r *http.Request) bool { return fits(r) && n.Add(1) > first }
}

// lacks fits requests without a header field.
func lacks(field string) func(r *http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(field) == "" }
}

func TestAServerHasLeaveToKeepClientsWaiting(t *testing.T) {
	t.Parallel()
	const (
		clients  = "streamable-http.clients"
		endpoint = "streamable-http.endpoint"
		absent   = "streamable-http.version.absent"
	)
	handshake, stateless := spec.Handshake&spec.Since(spec.V2025_03_26), spec.Stateless
	ofClients := says(`"mcpcheck-client-`)
	sessionless := instead(all(ofClients, says(`"ping"`)), 0, 409)
	sessionless.Sessionless = true
	tolerated(t, []leniency{
		{
			what: "no room for another session", check: clients, http: instead(later(3, says(`"initialize"`)), 0, 503),
			in: handshake, want: reports.NotObserved,
		},
		{what: "polling", check: clients, http: polling(ofClients), in: handshake, want: reports.NotObserved},
		{
			what: "polling", check: absent, http: polling(all(says(`"ping"`), lacks("Mcp-Protocol-Version"))),
			in: spec.Between(spec.V2025_06_18, spec.V2025_11_25), want: reports.NotObserved,
		},
		{
			what: "one id twice without sessions", check: clients, http: sessionless, in: handshake,
			want: reports.NotObserved,
		},
		{
			what: "one id twice without sessions", check: clients,
			http: instead(all(ofClients, says(`"server/discover"`)), 0, 400), in: stateless,
			want: reports.NotObserved,
		},
		{
			what: "one id twice in two sessions", check: clients, http: instead(all(ofClients, says(`"ping"`)), 0, 409),
			in: handshake, want: reports.Warn,
		},
		{
			what: "no right to listen", check: endpoint, http: instead(of(http.MethodGet), 0, 401), in: handshake,
			want: reports.NotObserved,
		},
		{
			what: "a failure to listen", check: endpoint, http: instead(of(http.MethodGet), 0, 500), in: handshake,
			want: reports.NotObserved,
		},
		{
			what: "nothing to listen to", check: endpoint, http: instead(of(http.MethodGet), 0, 405), in: handshake,
			want: reports.Pass,
		},
	})
}

// That a connection is closed without an answer does not show that nobody listens.
func TestOnlyWhoIsNotReachedIsBoundToLoopback(t *testing.T) {
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
		o := quick()
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

// mismatching fits modern requests whose headers do not say what they say.
func mismatching(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	m := wire.Parse(body)
	version := m.Get(`params._meta.io\.modelcontextprotocol/protocolVersion`)
	return version.Exists() && (version.String() != r.Header.Get("Mcp-Protocol-Version") ||
		m.Method() != r.Header.Get("Mcp-Method"))
}

// What stands before a server chooses the status by which it refuses headers, and
// need not say anything in JSON-RPC. Before a server on this machine stands nothing.
func TestWhatStandsBeforeAServerRefusesInItsOwnWay(t *testing.T) {
	t.Parallel()
	var cases []leniency
	for _, id := range []string{
		"headers.refusal.code", "headers.refusal.status", "headers.version.missing", "headers.version.mismatch",
	} {
		for far, want := range map[bool]reports.Verdict{true: reports.NotObserved, false: reports.Fail} {
			cases = append(cases, leniency{
				what: "422", check: id, http: instead(mismatching, 0, 422), in: spec.Stateless, want: want, far: far,
				options: server.Options{Revisions: spec.Stateless},
			})
		}
	}
	tolerated(t, cases)
}

// Who refuses what names nothing in the way that an ill-formed header is refused
// in has not looked at the header.
func TestARefusalOfANameIsNoneOfItsCharacters(t *testing.T) {
	t.Parallel()
	unread := around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if !says("mcpcheck_no_such_tool")(r) {
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
	tolerated(t, []leniency{
		{
			what: "400 to a tool that there is not", check: "headers.characters", http: unread, in: spec.Stateless,
			want: reports.NotObserved, options: plain,
		},
		{what: "conforming", check: "headers.characters", in: spec.Stateless, want: reports.Pass, options: plain},
	})
}

// A server of both eras may look for a session that a request names.
func TestServersOfBothErasMayKnowSessions(t *testing.T) {
	t.Parallel()
	const session, event = "streamable-http.session.none", "streamable-http.event.id.ignored"
	named := func(field string) server.HTTP {
		return instead(all(says("io.modelcontextprotocol/protocolVersion"), func(r *http.Request) bool {
			return r.Header.Get(field) != ""
		}), 0, 404)
	}
	alone := server.Options{Revisions: spec.Stateless}
	tolerated(t, []leniency{
		{what: "both", check: session, http: named("Mcp-Session-Id"), in: spec.Stateless, want: reports.Pass},
		{what: "both", check: event, http: named("Last-Event-ID"), in: spec.Stateless, want: reports.NotApplicable},
		{
			what: "one", check: session, http: named("Mcp-Session-Id"), in: spec.Stateless, want: reports.Warn,
			options: alone,
		},
		{
			what: "one", check: event, http: named("Last-Event-ID"), in: spec.Stateless, want: reports.Warn,
			options: alone,
		},
	})
}

// That a request with a foreign Origin came to nothing is no refusal.
func TestOnlyARefusalShowsThatOriginsAreValidated(t *testing.T) {
	t.Parallel()
	const validated = "streamable-http.origin.validated"
	strange := func(r *http.Request) bool { return r.Header.Get("Origin") != "" }
	silent := around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if strange(r) {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	tolerated(t, []leniency{
		{what: "no answer", check: validated, http: silent, want: reports.NotObserved},
		{what: "a failure", check: validated, http: instead(strange, 0, 500), want: reports.NotObserved},
		{what: "a refusal", check: validated, want: reports.Pass},
	})
}

// resting has calls of tools, those with a progress token or all, rest before they
// are answered.
func resting(rest time.Duration, token string) func(next server.Handler) server.Handler {
	return func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			v, problem := next(ctx, r)
			meta, _ := r.Params["_meta"].(server.Object)
			if r.Method == "tools/call" && (token == "" || fmt.Sprintf("%q", meta["progressToken"]) == token) {
				select {
				case <-time.After(rest):
				case <-ctx.Done():
				}
			}
			return v, problem
		}
	}
}

// resumes reports whether a request resumes a stream.
func resumes(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != ""
}

// briefStreams ends each resumed stream soon; it can be resumed again.
func briefStreams() server.Options {
	brief := server.Options{Handler: resting(120*time.Millisecond, `"mcpcheck-lost"`)}
	brief.HTTP = around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if resumes(r) {
			ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
	return brief
}

// oneStreamAtATime ends the stream of a GET when the session opens another.
func oneStreamAtATime() server.Options {
	var mu sync.Mutex
	ends := map[string]context.CancelFunc{} // of the streams to listen on, by session
	single := server.Options{Handler: resting(70*time.Millisecond, "")}
	single.HTTP = around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || resumes(r) {
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
			for _, o := range slices.Backward(others) { // what was said on the one that took its place
				if all := o.Events(); len(all) > 0 && all[0].Frame != nil && all[0].Frame.Request == nil {
					return append(missed, all...)
				}
			}
			return missed
		}
	}
	return single
}

// Streams may end at any time, a message may be logged twice, and a new stream of a
// GET may replace the one before.
func TestAcceptsAllowedHandlingOfStreams(t *testing.T) {
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
			said := server.Object{"level": "error", "data": "The tide is out"}
			r.Notify("notifications/message", said)
			v, problem := next(ctx, r)
			r.Notify("notifications/message", said)
			return v, problem
		}
	}}
	tolerated(t, []leniency{
		{what: "the same log twice", check: cursor, options: logging, in: handshake, want: reports.Pass},
		{what: "brief streams", check: disconnect, options: briefStreams(), in: handshake},
		{what: "one stream at a time", check: once, options: oneStreamAtATime(), in: handshake},
	})
}
