package fuzz

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
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

// web is the reference over HTTP, on loopback, and what starts it again.
func web(t *testing.T, o server.Options, kind transport.Kind) (transport.Site, func(context.Context) error) {
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
	return transport.Site{Endpoint: endpoint, Kind: kind}, func(context.Context) error {
		l.Close() // whatever is left of it
		next, err := server.Listen(endpoint.URL.Host, o)
		if err == nil {
			l = next
		}
		return err
	}
}

func TestHonestReferenceOverHTTPHasNoFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   transport.Kind
		revs   spec.Set
		prefer bool // streams
		share  int  // of the plans, in 1/10
	}{
		{transport.HTTP, spec.Since(spec.V2025_03_26), false, 5},
		{transport.HTTP, spec.Since(spec.V2025_03_26), true, 3},
		{transport.SSE, spec.Only(spec.V2024_11_05), false, 2},
	} {
		site, again := web(t, server.Options{HTTP: server.HTTP{PreferSSE: c.prefer}}, c.kind)
		o := options()
		o.Revisions, o.Runs, o.Again = c.revs.Revisions(), runs(t)*c.share/10, again
		res, err := Run(t.Context(), site, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Findings {
			t.Errorf("finding %s (%s)\n%s\n%s\n%s", f.Signature, f.Reproduced, f.Says, f.Plan, f.Case.Append(nil))
		}
		for _, n := range res.Notes {
			t.Error(n)
		}
		st := res.Stats
		t.Logf("%s, streams %v: %d plans, %.0f a second after %s, %d sessions, %d repeated, %d slow, %d late", c.kind, c.prefer, st.Plans, st.Rate(), st.Prepared.Round(time.Millisecond), st.Starts, st.Duplicates, st.Slow, st.Misattributed)
		if st.Plans != o.Runs {
			t.Errorf("%d plans of %d were played", st.Plans, o.Runs)
		}
		for _, rev := range o.Revisions {
			for _, method := range []string{"tools/call", "resources/read", "prompts/get", "completion/complete"} {
				if st.Methods[rev][method].Served == 0 {
					t.Errorf("%s: %s was never answered with a result: %+v", rev, method, st.Methods[rev][method])
				}
			}
		}
	}
}

// onlyOnStdio are planted faults that HTTP does not show, and why.
var onlyOnStdio = map[string]string{
	"fuzz-read-is-message":         "a body is not read piece by piece as messages",
	"fuzz-desync-after-blank-line": "an empty body is refused before any message is made out",
}

// shortOverHTTP are the planted faults of the daily test: one that ends a session,
// one that leaves a request unanswered, one that hangs and two that only a judge
// sees.
var shortOverHTTP = []string{"fuzz-dies-on-duplicate-member", "fuzz-mute-on-string-params", "fuzz-hangs-on-deep-nesting", "fuzz-id-precision", "fuzz-answers-twice-on-unknown-meta"}

func TestPlantedFaultsAreFoundOverHTTP(t *testing.T) {
	t.Parallel()
	full := os.Getenv("MCPCHECK_FUZZ_RUNS") != ""
	for _, f := range plantedFaults(t) {
		if onlyOnStdio[f.Name] != "" || !full && !slices.Contains(shortOverHTTP, f.Name) {
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
	target, again := web(t, f.Options(server.Options{}), kind)
	honest, _ := web(t, server.Options{}, kind)
	o := quick(t)
	o.Again, o.Revisions, o.Target = again, spec.Since(spec.V2025_03_26).Revisions(), []string{target.String()}
	if kind == transport.SSE {
		o.Revisions = []spec.Revision{spec.V2024_11_05}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Progress = func(s Stats) {
		if s.Findings > 0 {
			stop() // the first one is enough
		}
	}
	res, err := Run(ctx, target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d findings, %d plans, %d sessions, %d again, %d aside, %d slow, %d late, %s", len(res.Findings), res.Stats.Plans, res.Stats.Starts, res.Stats.Again, res.Stats.SetAside, res.Stats.Slow, res.Stats.Misattributed, res.Stats.Elapsed.Round(time.Millisecond))
	// Where all requests share one connection of the server, what ends it leaves
	// the server running, and no request of that era is served any more.
	oracles := slices.Clone(planted[f.Name])
	if slices.Contains(oracles, "liveness.dead") {
		oracles = append(oracles, "liveness.desync")
	}
	// What was found beside the first was not looked into any more.
	findings := slices.DeleteFunc(res.Findings, func(f *Found) bool { return strings.HasPrefix(f.Reproduced, "not confirmed: interrupted") })
	if len(findings) == 0 {
		t.Fatalf("not found in %d plans; %v", res.Stats.Plans, res.Notes)
	}
	for _, found := range findings {
		t.Logf("%s %s\n%s", found.Reproduced, found.Signature, found.Plan)
		if !slices.Contains(oracles, found.Oracle) {
			t.Errorf("found by %s, not by %s", found.Oracle, oracles)
		}
		if found.Transport != string(kind) || found.Case.Transport != kind || !strings.Contains(string(found.Case.Append(nil)), "# target: [\""+target.String()) {
			t.Errorf("the case does not tell its transport and target:\n%s", found.Case.Append(nil))
		}
		assertReplays(t, found, target, honest, again, o.Session)
	}
}

// gate lets a server over HTTP deal with POSTs in its own way: what seen takes is
// not served.
func gate(seen func(w http.ResponseWriter, m wire.Message) bool) server.Options {
	return server.Options{HTTP: server.HTTP{Middleware: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				if seen(w, wire.Parse(body)) {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			next.ServeHTTP(w, r)
		})
	}}}
}

// A failure status answers what is odd, and a limit on the rate of requests says
// nothing of the rest.
func TestAStatusIsAnAnswer(t *testing.T) {
	t.Parallel()
	posts := atomic.Int64{}
	site, again := web(t, gate(func(w http.ResponseWriter, m wire.Message) bool {
		switch {
		case m.Kind == wire.Request && (m.Flaw() != nil || !m.Params().IsObject() && m.Params().Exists()):
			http.Error(w, "what is this?", http.StatusInternalServerError)
		case posts.Add(1) > 800 && posts.Load()%7 == 0 && m.Method() != "initialize" && m.Method() != "notifications/initialized":
			http.Error(w, "slowly", http.StatusTooManyRequests)
		default:
			return false
		}
		return true
	}), transport.HTTP)
	o := options()
	o.Revisions, o.Runs, o.Again = []spec.Revision{spec.V2025_06_18}, 600, again
	res, err := Run(t.Context(), site, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		t.Errorf("finding %s (%s)\n%s\n%s\n%s", f.Signature, f.Reproduced, f.Says, f.Plan, f.Case.Append(nil))
	}
}

// Who asked goes on waiting for an answer that a limit on the rate turned away.
func TestAnAnswerThatIsTurnedAwayIsStillWaitedFor(t *testing.T) {
	t.Parallel()
	posts, turned := atomic.Int64{}, atomic.Int64{}
	site, again := web(t, gate(func(w http.ResponseWriter, m wire.Message) bool {
		if posts.Add(1) < 800 || !m.IsResponse() || m.Flaw() != nil {
			return false
		}
		turned.Add(1)
		http.Error(w, "slowly", http.StatusTooManyRequests)
		return true
	}), transport.HTTP)
	o := options()
	o.Revisions, o.Runs, o.Again = []spec.Revision{spec.V2025_06_18}, 600, again
	o.Session.Timeout = 500 * time.Millisecond
	res, err := Run(t.Context(), site, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		t.Errorf("finding %s (%s): %s", f.Signature, f.Reproduced, f.Says)
	}
	if turned.Load() == 0 {
		t.Error("no answer was turned away")
	}
}

// What breaks off the connection in place of an answer leaves the request without
// one, which is told at once.
func TestAnExchangeThatBreaksOffIsNoAnswer(t *testing.T) {
	t.Parallel()
	site, again := web(t, gate(func(w http.ResponseWriter, m wire.Message) bool {
		if m.Kind == wire.Request && strings.HasPrefix(m.Params().Raw, `"`) {
			panic(http.ErrAbortHandler)
		}
		return false
	}), transport.HTTP)
	o := options()
	o.Revisions, o.Runs, o.Again = []spec.Revision{spec.V2025_11_25}, 800, again
	res, err := Run(t.Context(), site, o)
	if err != nil || len(res.Findings) != 1 {
		t.Fatalf("%v, %+v", err, res.Findings)
	}
	if f := res.Findings[0]; f.Oracle != "liveness.mute" || f.Reproduced != "3/3" || !strings.Contains(f.Says, "but the end of its exchange") {
		t.Errorf("%+v", f)
	}
}
