package engine

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// A broadcaster is a gateway that sends each message of the server to the streams of
// all clients.
type broadcaster struct {
	mu      sync.Mutex
	streams []*broadcastStream
}

// A broadcastStream is the stream of one client.
type broadcastStream struct {
	http.ResponseWriter
	all *broadcaster
}

func (b *broadcaster) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		s := &broadcastStream{w, b}
		b.mu.Lock()
		b.streams = append(b.streams, s)
		b.mu.Unlock()
		next.ServeHTTP(s, r)
		b.mu.Lock()
		b.streams = slices.DeleteFunc(b.streams, func(other *broadcastStream) bool { return other == s })
		b.mu.Unlock()
	})
}

// Write writes an event with a response to all streams, and anything else to its own.
func (s *broadcastStream) Write(event []byte) (int, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	for _, other := range s.all.streams {
		if other != s && bytes.Contains(event, []byte(`"result"`)) {
			_, _ = other.ResponseWriter.Write(event) // that client may be gone
			other.ResponseWriter.(http.Flusher).Flush()
		}
	}
	return s.ResponseWriter.Write(event)
}

func (s *broadcastStream) Flush() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.ResponseWriter.(http.Flusher).Flush()
}

func (s *broadcastStream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// A gateway that sends each answer to all clients is reported once, and the run goes on
// with one session after another.
func TestBroadcastAnswersAreReportedOnce(t *testing.T) {
	var gateway broadcaster
	site, end, err := server.HTTPTarget(transport.SSE, server.Options{HTTP: server.HTTP{Middleware: gateway.handler}})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	run, err := Run(t.Context(), site, Options{Revisions: spec.Handshake.Revisions(), Session: longDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	passed, reported := 0, false
	for _, o := range run.Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
			if o.ID != "jsonrpc.response.id" || !strings.Contains(o.Detail, "another session") {
				t.Errorf("%s at %s: %s: %s%s", o.ID, o.Revision, o.Verdict, o.Detail, o.Cause)
			}
			reported = true
		case reports.Pass:
			passed++
		}
	}
	if !reported || passed < 100 {
		t.Errorf("reported %v, %d checks passed", reported, passed)
	}
	if !slices.ContainsFunc(run.Notes, func(n string) bool { return strings.Contains(n, "one after another") }) {
		t.Errorf("no note says that sessions were opened one after another: %q", run.Notes)
	}
}

// A check that needs two sessions at once is not observed where one follows another: the
// end of the first session is not the server's.
func TestSerialSessionsBlameNoServer(t *testing.T) {
	for _, kind := range []transport.Kind{transport.SSE, transport.HTTP} {
		site, end, err := server.HTTPTarget(kind, server.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		o := longDeadlines()
		o.Serial = true
		run, err := Run(t.Context(), site, Options{Revisions: spec.Handshake.Revisions(), Session: o})
		if err != nil {
			t.Fatal(err)
		}
		passed, given := 0, false
		for _, o := range run.Outcomes {
			switch o.Verdict {
			case reports.Fail, reports.Warn, reports.Broken, reports.NotRun:
				t.Errorf("%s over %s at %s: %s: %s%s", o.ID, kind, o.Revision, o.Verdict, o.Detail, o.Cause)
			case reports.Pass:
				passed++
			case reports.NotObserved:
				given = given || strings.Contains(o.Detail, "one after another")
			}
		}
		if passed < 100 || kind == transport.SSE && !given {
			t.Errorf("over %s %d checks passed; a check says why it is not observed: %v", kind, passed, given)
		}
	}
}

// A gateway that starts one process for all clients refuses each initialize after the
// first. That is no answer to the version that the client asked for.
func TestRefusedSecondInitializeIsNoCounterOffer(t *testing.T) {
	var opened atomic.Bool
	refuse := func(next server.Handler) server.Handler {
		return func(ctx context.Context, r *server.Request) (any, *server.Error) {
			if r.Method == "initialize" && opened.Swap(true) {
				return nil, &server.Error{Code: spec.InvalidRequest, Message: "Already initialized"}
			}
			return next(ctx, r)
		}
	}
	site, end, err := server.HTTPTarget(transport.SSE, server.Options{Handler: refuse})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	run, err := Run(t.Context(), site, Options{Revisions: []spec.Revision{spec.V2024_11_05}, Session: longDeadlines()})
	if err != nil {
		t.Fatal(err)
	}
	passed, refused := 0, 0
	for _, o := range run.Outcomes {
		switch o.Verdict {
		case reports.Fail, reports.Warn, reports.Broken:
			t.Errorf("%s at %s: %s: %s", o.ID, o.Revision, o.Verdict, o.Detail)
		case reports.NotRun:
			refused++
		case reports.Pass:
			passed++
		}
	}
	if passed < 50 || refused == 0 {
		t.Errorf("%d checks passed, %d were not run", passed, refused)
	}
}
