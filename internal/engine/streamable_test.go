package engine

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// outcomesOverHTTP returns the outcomes of checks on a server over streamable HTTP.
func outcomesOverHTTP(t *testing.T, o server.Options, globs ...string) []reports.Outcome {
	t.Helper()
	return outcomesOverHTTPWithin(t, mediumDeadlines(), o, globs...)
}

func outcomesOverHTTPWithin(t *testing.T, deadlines session.Options, o server.Options,
	globs ...string) []reports.Outcome {
	t.Helper()
	site, end, err := server.HTTPTarget(transport.HTTP, o)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	checks, err := catalog.Select(catalog.Of(wire.Server, catalog.Checks()), globs, nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := Run(t.Context(), site, Options{
		Checks: catalog.InProfile("", checks), Revisions: spec.Since(spec.V2025_03_26).Revisions(),
		Session: deadlines, Allow: func(string) bool { return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return run.Outcomes
}

// wrapHTTP wraps the HTTP handler of the reference.
func wrapHTTP(wrap func(next http.Handler, w http.ResponseWriter, r *http.Request)) server.HTTP {
	return server.HTTP{Middleware: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { wrap(next, w, r) })
	}}
}

// withSessionIDs makes the reference use other session ids.
func withSessionIDs(mint func() string) server.HTTP {
	return server.HTTP{NewSessionID: func(func() string) func() string { return mint }}
}

// refuseHTTP answers a request with a status and a text that is no JSON.
func refuseHTTP(w http.ResponseWriter, status int) { http.Error(w, "not so", status) }

// methodOf returns the method of the message in a POST. The body can be read again.
func methodOf(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return wire.Parse(body).Method()
}

// randomBytes returns random bytes.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// conformingHTTP returns conforming servers over HTTP that differ in what the
// specification leaves open.
func conformingHTTP() map[string]server.HTTP {
	return map[string]server.HTTP{
		"without sessions": {Sessionless: true},
		"prefers streams":  {PreferSSE: true},
		"refuses DELETE": wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && r.Header.Get("Origin") == "" {
				w.Header().Set("Allow", "GET, POST")
				refuseHTTP(w, http.StatusMethodNotAllowed)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"refuses unknown methods by HTTP alone": wrapHTTP(func(next http.Handler, w http.ResponseWriter,
			r *http.Request) {
			if r.Method == http.MethodPost && strings.HasPrefix(methodOf(r), "mcpcheck/") {
				refuseHTTP(w, http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"requires both media types": wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			accept := strings.ToLower(strings.Join(r.Header["Accept"], ","))
			isBoth := strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")
			if r.Method == http.MethodPost && !isBoth {
				refuseHTTP(w, http.StatusNotAcceptable)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"refuses a second DELETE with 400": wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete && r.Header.Get("Mcp-Session-Id") == "" {
				refuseHTTP(w, http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		}),
		"ids of time and random bits": withSessionIDs(func() string {
			b := append(binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli())), randomBytes(10)...)
			return hex.EncodeToString(b[2:])
		}),
		"ids of 64 random bits": withSessionIDs(func() string { return hex.EncodeToString(randomBytes(8)) }),
		"ids that are tokens": withSessionIDs(func() string {
			claims := fmt.Sprintf(`{"iat":%d,"jti":"%x"}`, time.Now().Unix(), randomBytes(8))
			return "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "." +
				base64.RawURLEncoding.EncodeToString(randomBytes(32))
		}),
		"ids with a prefix": withSessionIDs(func() string {
			return "mcp-session-" + hex.EncodeToString(randomBytes(16))
		}),
	}
}

// The specification allows all these servers.
func TestAcceptsConformingServersOverHTTP(t *testing.T) {
	t.Parallel()
	for name, h := range conformingHTTP() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range outcomesOverHTTP(t, server.Options{HTTP: h}, "streamable-http.*", "jsonrpc.batch.*") {
				if name == "without sessions" && o.ID == "streamable-http.event.priming" {
					continue // a SHOULD: without sessions there are no events to resume from
				}
				switch o.Verdict {
				case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
					t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
				}
			}
		})
	}
}

// A request that a rate limit refuses shows nothing about its regular answer.
func TestRateLimitFailsNoCheck(t *testing.T) {
	t.Parallel()
	for _, every := range []int64{3, 13} {
		t.Run(fmt.Sprintf("one in %d", every), func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			h := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if n := requests.Add(1); n > 40 && n%every == 0 {
					refuseHTTP(w, http.StatusTooManyRequests)
					return
				}
				next.ServeHTTP(w, r)
			})
			limited := 0
			for _, o := range outcomesOverHTTP(t, server.Options{HTTP: h}) {
				switch o.Verdict {
				case reports.Fail, reports.Warn, reports.Broken:
					t.Errorf("%s at %s: %s: %s", o.ID, o.Revision, o.Verdict, o.Detail)
				case reports.NotObserved:
					if strings.Contains(o.Detail, "limits the rate") {
						limited++
					}
				}
			}
			if limited == 0 {
				t.Error("no check is not observed because of the limit")
			}
		})
	}
}

// A server whose answers all take the same time on the network does not delay the answer
// until its task has ended.
func TestNetworkDelayIsNotASlowAnswer(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	h := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(delay):
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	keepScanCard := func(l *server.Features) {
		l.Tools = slices.DeleteFunc(l.Tools, func(tool *server.Tool) bool { return tool.Name != "scan_card" })
	}
	passes := 0
	for _, o := range outcomesOverHTTP(t, server.Options{
		HTTP: h, ChangeFeatures: keepScanCard, Revisions: spec.Only(spec.V2025_11_25), StepDelay: time.Millisecond,
	}, "tasks.create.prompt", "tasks.create.result") {
		switch o.Verdict {
		case reports.Pass:
			passes++
		case reports.Fail, reports.Warn, reports.Broken:
			t.Errorf("%s at %s: %s: %s", o.ID, o.Revision, o.Verdict, o.Detail)
		}
	}
	if passes == 0 {
		t.Error("no check passes")
	}
}

// A rate limit that refuses the first request makes the run impossible.
func TestRateLimitOfFirstRequestIsAnError(t *testing.T) {
	site, end, err := server.HTTPTarget(transport.HTTP,
		server.Options{HTTP: wrapHTTP(func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
			refuseHTTP(w, http.StatusTooManyRequests)
		})})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := Run(t.Context(), site, Options{Session: shortDeadlines()}); err == nil ||
		!strings.Contains(err.Error(), "lift the limit") {
		t.Errorf("error %v", err)
	}
}

// Behavior that no clause states is a note.
func TestNotesHTTPBehaviorThatNoClauseStates(t *testing.T) {
	for _, c := range []struct {
		check, note string
		http        server.HTTP
	}{
		{"streamable-http.origin.validated", "a request with Host evil.example is served",
			wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				r.Host = "localhost"
				next.ServeHTTP(w, r)
			})},
		{"streamable-http.origin.validated", "a request with Host evil.example is refused", server.HTTP{}},
		{
			"streamable-http.origin.validated", "a request with Origin null is served",
			server.HTTP{AllowedOrigins: []string{"null"}},
		},
		{"streamable-http.media-types.survived", "Content-Type text/plain (415)", server.HTTP{}},
		{"streamable-http.media-types.survived", "served: Content-Type text/plain",
			wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					r.Header.Set("Content-Type", "application/json")
				}
				next.ServeHTTP(w, r)
			})},
		{"streamable-http.session.id.secure", "session could not be opened", limitSessions(8)},
	} {
		all := outcomesOverHTTP(t, server.Options{HTTP: c.http, Revisions: spec.Only(spec.V2025_11_25)}, c.check)
		if !slices.ContainsFunc(all, func(o reports.Outcome) bool {
			return slices.ContainsFunc(o.Notes, func(note string) bool { return strings.Contains(note, c.note) })
		}) {
			t.Errorf("%s does not note %q: %+v", c.check, c.note, all)
		}
	}
}

// limitSessions refuses to open more than so many sessions.
func limitSessions(most int64) server.HTTP {
	var opened atomic.Int64
	return wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && methodOf(r) == "initialize" && opened.Add(1) > most {
			refuseHTTP(w, http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A failure marks the request that it is about, also if another check sent it.
func TestFailureOverHTTPMarksItsRequest(t *testing.T) {
	h := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			refuseHTTP(w, http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
	for _, o := range outcomesOverHTTP(t, server.Options{HTTP: h, Revisions: spec.Only(spec.V2025_11_25)},
		"streamable-http.origin.*") {
		if o.ID != "streamable-http.origin.forbidden" || o.Revision != spec.V2025_11_25 {
			continue
		}
		at := slices.IndexFunc(o.Frames, func(f wire.Frame) bool { return f.Marked })
		if o.Verdict != reports.Fail || at < 0 || o.Frames[at].HTTP.Header["Origin"] == nil {
			t.Errorf("%s: %s, marked %d of %d frames", o.Verdict, o.Detail, at, len(o.Frames))
		}
		return
	}
	t.Error("the check did not run")
}

// The answer to the ping that follows the array is no answer to the array.
func TestRefusedArrayIsNotServed(t *testing.T) {
	h := wrapHTTP(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.HasPrefix(string(body), "[") {
			refuseHTTP(w, http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
	for _, o := range outcomesOverHTTP(t, server.Options{HTTP: h, Revisions: spec.Only(spec.V2025_11_25)},
		"batching.survived", "batching.served") {
		if o.Revision == spec.V2025_11_25 && o.Verdict != reports.Pass {
			t.Errorf("%s: %s: %s", o.ID, o.Verdict, o.Detail)
		}
	}
}
