package transport

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// legacySSE returns the client end of a server of HTTP+SSE, to be opened.
func legacySSE(t *testing.T, h http.HandlerFunc) (*LegacySSE, *recorder) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{Limit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{more: make(chan struct{})}
	return &LegacySSE{Endpoint: e, Record: r.record}, r
}

// within fails where what is done takes longer than anything here should.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s goes on for ever", what)
	}
}

// Who opens a session can leave while a page that is no stream comes without end.
func TestAPageWithoutEndHoldsNobody(t *testing.T) {
	came := make(chan struct{})
	s, _ := legacySSE(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(make([]byte, 32<<20)) // more than the system holds: it is being read
		close(came)
		<-q.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	within(t, "the opening", func() {
		if err := s.Open(ctx); err == nil || !strings.Contains(err.Error(), "200 text/html, not with a stream") {
			t.Errorf("%v", err)
		}
	})
	s.Close()
}

// A message is sent once the head of the answer to its POST came: how the body
// goes on takes nothing back, and is recorded.
func TestTheBodyOfAnAcceptedPostHoldsNobody(t *testing.T) {
	s, r := legacySSE(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			sse(w, "event: endpoint\ndata: /messages\n\n")
			<-q.Context().Done()
			return
		}
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("Acc"))
		if body, _ := io.ReadAll(q.Body); strings.Contains(string(body), "held") {
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}
	})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	within(t, "the sending", func() {
		for _, raw := range []string{`{"broken":1}`, `{"held":1}`} {
			if _, err := s.Send(t.Context(), []byte(raw)); err != nil {
				t.Error(err)
			}
		}
	})
	f := r.await(t, func(f wire.Frame) bool { return f.HTTP.Exchange == 2 && f.HTTP.Status == 202 })
	if f.HTTP.Body != "Acc" || f.HTTP.End != "unexpected EOF" || !f.HTTP.Last {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

func TestOriginsAreComparedAsOrigins(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://example.com/sse", "http://Example.COM:80/messages", true},
		{"https://example.com:443/sse", "https://example.com/messages", true},
		{"http://[::1]/sse", "http://[::1]:80/messages", true},
		{"http://example.com/sse", "https://example.com:80/messages", false},
		{"http://example.com/sse", "http://example.com:8080/messages", false},
		{"http://example.com/sse", "http://www.example.com/messages", false},
	} {
		e, err := NewEndpoint(c.a, HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := &LegacySSE{Endpoint: e, named: make(chan struct{})}
		s.name(s.resolve(c.b))
		if to, err := s.To(t.Context()); (err == nil) != c.same || c.same && to.String() != c.b {
			t.Errorf("from %s to %s: %v", c.a, c.b, err)
		}
	}
}
