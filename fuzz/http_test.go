package fuzz

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/fault"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// listen starts the reference over HTTP on loopback. It returns the target, and
// a function that restarts the server at its address.
func listen(t *testing.T, o server.Options, kind transport.Kind) (transport.HTTPTarget, func(context.Context) error) {
	t.Helper()
	l, err := server.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	at := l.URL()
	if kind == transport.SSE {
		at = l.SSE()
	}
	endpoint, err := transport.NewEndpoint(at, transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(endpoint.Close)
	return transport.HTTPTarget{Endpoint: endpoint, Kind: kind}, func(context.Context) error {
		l.Close()
		next, err := server.Listen(endpoint.URL.Host, o)
		if err == nil {
			l = next
		}
		return err
	}
}

func TestReferenceOverHTTPHasNoFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind          transport.Kind
		revs          spec.Set
		prefersStream bool
		share         int // of the plans, in tenths
	}{
		{transport.HTTP, spec.Since(spec.V2025_03_26), false, 5},
		{transport.HTTP, spec.Since(spec.V2025_03_26), true, 3},
		{transport.SSE, spec.Only(spec.V2024_11_05), false, 2},
	} {
		site, restart := listen(t, server.Options{HTTP: server.HTTP{PreferSSE: c.prefersStream}}, c.kind)
		o := referenceOptions()
		o.Revisions, o.Runs, o.Restart = c.revs.Revisions(), referenceRuns()*c.share/10, restart
		r, err := Run(t.Context(), site, o)
		if err != nil {
			t.Fatal(err)
		}
		assertNoFindings(t, r)
		stats := r.Stats
		t.Logf("%s, streams %v: %d plans, %.0f a second after %s", c.kind, c.prefersStream, stats.Plans,
			stats.Rate(), stats.Preparation.Round(time.Millisecond))
		t.Logf("%d sessions, %d duplicates, %d slow, %d misattributed", stats.Starts, stats.Duplicates, stats.Slow,
			stats.Misattributed)
		if stats.Plans != o.Runs {
			t.Errorf("%d plans of %d were executed", stats.Plans, o.Runs)
		}
		for _, rev := range o.Revisions {
			for _, method := range []string{"tools/call", "resources/read", "prompts/get", "completion/complete"} {
				if count := stats.Methods[rev][method]; count.Served == 0 {
					t.Errorf("%s: %s was never answered with a result: %+v", rev, method, count)
				}
			}
		}
	}
}

// notOverHTTP are the faults that HTTP does not show, and why.
var notOverHTTP = map[string]string{
	"fuzz-read-is-message":     "a body is not read piece by piece as messages",
	"fuzz-hangs-on-blank-line": "an empty body is refused before it is parsed",
}

// dailyOverHTTP are the faults outside of the gate: one that ends a session, one
// that leaves a request without an answer, one that blocks the server, and two
// that only a judge reports.
var dailyOverHTTP = []string{
	"fuzz-exits-on-duplicate-member", "fuzz-mute-on-string-params", "fuzz-hangs-on-deep-nesting",
	"fuzz-answers-twice-on-unknown-meta",
}

func TestFindsFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, f := range fuzzFaults(t) {
		if notOverHTTP[f.Name] != "" || !inGate() && !slices.Contains(dailyOverHTTP, f.Name) {
			continue
		}
		for _, kind := range []transport.Kind{transport.HTTP, transport.SSE} {
			t.Run(f.Name+" over "+string(kind), func(t *testing.T) {
				t.Parallel()
				findOverHTTP(t, f, kind)
			})
		}
	}
}

func findOverHTTP(t *testing.T, f fault.Fault, kind transport.Kind) {
	target, restart := listen(t, f.Options(server.Options{}), kind)
	reference, _ := listen(t, server.Options{}, kind)
	o := faultOptions(t)
	o.Restart, o.Revisions, o.Target = restart, spec.Since(spec.V2025_03_26).Revisions(), []string{target.String()}
	if kind == transport.SSE {
		o.Revisions = []spec.Revision{spec.V2024_11_05}
	}
	// In the stateless era all requests share one connection of the server. What
	// ends that leaves the server running without answers.
	oracles := slices.Clone(faultOracles[f.Name])
	if slices.Contains(oracles, oracleDead) {
		oracles = append(oracles, oracleDesync)
	}
	for _, found := range runToFirstFinding(t, target, o, false).Findings {
		t.Logf("%s %s\n%s", found.Reproduced, found.Signature, found.Plan)
		if !slices.Contains(oracles, found.Oracle) {
			t.Errorf("found by %s, not by %s", found.Oracle, oracles)
		}
		text := string(found.Case.Append(nil))
		namesTarget := strings.Contains(text, "# target: [\""+target.String())
		if found.Transport != string(kind) || found.Case.Transport != kind || !namesTarget {
			t.Errorf("the case does not name its transport and target:\n%s", text)
		}
		assertReplays(t, found, target, reference, restart, o.Session)
	}
}

// interceptPOST returns options of a server that answers the POSTs itself for
// which intercept returns true.
func interceptPOST(intercept func(w http.ResponseWriter, m wire.Message) bool) server.Options {
	return server.Options{HTTP: server.HTTP{Middleware: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				if intercept(w, wire.Parse(body)) {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})
	}}}
}

// A failure status answers a message with an anomaly. A rate limit says nothing
// of the requests that it refuses.
func TestStatusCountsAsAnswer(t *testing.T) {
	t.Parallel()
	posts := atomic.Int64{}
	site, restart := listen(t, interceptPOST(func(w http.ResponseWriter, m wire.Message) bool {
		isHandshake := m.Method() == "initialize" || m.Method() == "notifications/initialized"
		switch {
		case m.Kind == wire.Request && (m.FormatError() != nil || !m.Params().IsObject() && m.Params().Exists()):
			http.Error(w, "malformed", http.StatusInternalServerError)
		case posts.Add(1) > 800 && posts.Load()%7 == 0 && !isHandshake:
			http.Error(w, "too fast", http.StatusTooManyRequests)
		default:
			return false
		}
		return true
	}), transport.HTTP)
	o := testOptions()
	o.Revisions, o.Runs, o.Restart = []spec.Revision{spec.V2025_06_18}, 600, restart
	r, err := Run(t.Context(), site, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("finding %s (%s)\n%s\n%s\n%s", f.Signature, f.Reproduced, f.Says, f.Plan, f.Case.Append(nil))
	}
}

// A server whose request got no answer because of its own rate limit may go on
// waiting for the answer.
func TestRateLimitedAnswerIsNoFinding(t *testing.T) {
	t.Parallel()
	posts, refused := atomic.Int64{}, atomic.Int64{}
	site, restart := listen(t, interceptPOST(func(w http.ResponseWriter, m wire.Message) bool {
		if posts.Add(1) < 800 || !m.IsResponse() || m.FormatError() != nil {
			return false
		}
		refused.Add(1)
		http.Error(w, "too fast", http.StatusTooManyRequests)
		return true
	}), transport.HTTP)
	o := testOptions()
	o.Revisions, o.Runs, o.Restart = []spec.Revision{spec.V2025_06_18}, 600, restart
	o.Session.Timeout = 500 * time.Millisecond
	r, err := Run(t.Context(), site, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("finding %s (%s): %s", f.Signature, f.Reproduced, f.Says)
	}
	if refused.Load() == 0 {
		t.Error("no answer was refused")
	}
}

func TestFindsExchangeThatEndsWithoutAnswer(t *testing.T) {
	t.Parallel()
	site, restart := listen(t, interceptPOST(func(w http.ResponseWriter, m wire.Message) bool {
		if m.Kind == wire.Request && strings.HasPrefix(m.Params().Raw, `"`) {
			panic(http.ErrAbortHandler)
		}
		return false
	}), transport.HTTP)
	o := testOptions()
	o.Revisions, o.Runs, o.Restart = []spec.Revision{spec.V2025_11_25}, 800, restart
	r, err := Run(t.Context(), site, o)
	if err != nil || len(r.Findings) != 1 {
		t.Fatalf("%v, %+v", err, r.Findings)
	}
	f := r.Findings[0]
	if f.Oracle != oracleMute || f.Reproduced != "3/3" || !strings.Contains(f.Says, "but the end of its exchange") {
		t.Errorf("%+v", f)
	}
}
