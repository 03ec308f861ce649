package transport

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
