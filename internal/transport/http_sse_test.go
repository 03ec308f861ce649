package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// legacySSE returns a session over HTTP+SSE that is not opened.
func legacySSE(t *testing.T, h http.HandlerFunc) (*LegacySSE, *recorder) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{ReadLimit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{more: make(chan struct{})}
	return &LegacySSE{Endpoint: e, Record: r.record}, r
}

// within fails the test if a function takes longer than 10 s.
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
		t.Fatalf("%s takes longer than 10 s", what)
	}
}

// A caller can cancel Open while an endless page that is no stream is read.
func TestLegacySSEOpenIsCancelled(t *testing.T) {
	came := make(chan struct{})
	s, _ := legacySSE(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(make([]byte, 32<<20)) // more than the system buffers, so the client is reading
		close(came)
		<-q.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	within(t, "opening the session", func() {
		if err := s.Open(ctx); err == nil || !strings.Contains(err.Error(), "200 text/html, not with a stream") {
			t.Errorf("%v", err)
		}
	})
	s.Close()
}

// Send returns once the head of the answer has come, and the rest of the answer is
// recorded.
func TestLegacySSESendDoesNotAwaitTheBody(t *testing.T) {
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
	within(t, "sending", func() {
		for _, raw := range []string{`{"broken":1}`, `{"held":1}`} {
			if _, err := s.Send(t.Context(), []byte(raw)); err != nil {
				t.Error(err)
			}
		}
	})
	f := r.await(t, func(f wire.Frame) bool { return f.HTTP.Exchange == 2 && f.HTTP.Status == 202 })
	if f.HTTP.Body != "Acc" || f.HTTP.EndReason != "unexpected EOF" || !f.HTTP.Final {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

func TestSameOrigin(t *testing.T) {
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
		s := &LegacySSE{Endpoint: e, decided: make(chan struct{})}
		s.setMessageURL(s.resolve(c.b))
		if to, err := s.MessageURL(t.Context()); (err == nil) != c.same || c.same && to.String() != c.b {
			t.Errorf("from %s to %s: %v", c.a, c.b, err)
		}
	}
}

// Messages are posted to the URL of the first event, and answered on the stream.
func TestLegacySSESession(t *testing.T) {
	out := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == "GET":
			sse(w, "event: endpoint\ndata: /messages?session=1\n\n")
			for text := range out {
				sse(w, text)
			}
		case q.URL.String() == "/messages?session=1" && q.Header.Get("Content-Type") == "application/json":
			w.WriteHeader(202)
			out <- "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
		default:
			w.WriteHeader(404)
		}
	}))
	defer server.Close()
	e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, lost := &recorder{more: make(chan struct{})}, make(chan error, 1)
	s := &LegacySSE{Endpoint: e, Record: r.record, OnSessionLost: func(err error) { lost <- err }}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Send(t.Context(), []byte(initialize)); err != nil {
		t.Fatal(err)
	}
	if f := r.answer(t, "1"); f.HTTP.Exchange != 1 || f.HTTP.Event.Type != "message" {
		t.Errorf("%s", f.AppendJSON(nil))
	}
	r.await(t, func(f wire.Frame) bool { return f.HTTP.Exchange == 2 && f.HTTP.Status == 202 })
	close(out)
	if err := <-lost; !strings.Contains(err.Error(), "closed the stream") {
		t.Error(err)
	}
}

// No message is posted without a message URL of the same origin.
func TestLegacySSEWithoutMessageURL(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"no stream": {func(w http.ResponseWriter, _ *http.Request) { json(w, 405, "{}") }, "405 application/json"},
		"another origin": {func(w http.ResponseWriter, _ *http.Request) {
			sse(w, "event: endpoint\ndata: http://127.0.0.2:1/x\n\n")
		}, "another origin"},
		"ends without it": {func(w http.ResponseWriter, _ *http.Request) {
			sse(w, "data: {}\n\n")
		}, "closed the stream"},
	} {
		server := httptest.NewServer(c.h)
		e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{more: make(chan struct{})}
		s := &LegacySSE{Endpoint: e, Record: r.record}
		if err = s.Open(t.Context()); err == nil {
			_, err = s.Send(t.Context(), []byte(initialize))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
		server.Close()
	}
}

// A stream with another media type, another status of success or a URI over several
// lines is still read.
func TestLegacySSEReadsNonconformingStreams(t *testing.T) {
	for _, c := range []struct {
		status    int
		kind, uri string
	}{
		{200, "text/plain", "/messages"},
		{201, "text/event-stream", "/messages"},
		{200, "", "/mess\ndata: ages"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header()["Content-Type"] = []string{c.kind}
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", c.uri)
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}))
		e, err := NewEndpoint(server.URL+"/sse", HTTPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := &LegacySSE{Endpoint: e, Record: (&recorder{more: make(chan struct{})}).record}
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if to, err := s.MessageURL(t.Context()); err != nil || to.Path != "/messages" {
			t.Errorf("%+v: %v, %v", c, to, err)
		}
		s.Close()
		server.Close()
	}
}

// The answer to the post at which a server ends the stream is recorded before the session
// is lost.
func TestLegacySSERecordsAnswerToPostAfterStream(t *testing.T) {
	streamEnds, answered := make(chan struct{}), make(chan struct{})
	s, _ := legacySSE(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost {
			close(streamEnds)
			<-answered
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
		w.(http.Flusher).Flush()
		<-streamEnds
	})
	var mu sync.Mutex
	var statuses []int
	record, ended := s.Record, make(chan struct{})
	s.Record = func(f wire.Frame) int {
		mu.Lock()
		defer mu.Unlock()
		if f.HTTP.EndsExchange() && f.HTTP.Status == 0 {
			close(answered) // the end of the stream
		}
		statuses = append(statuses, f.HTTP.Status)
		return record(f)
	}
	s.OnSessionLost = func(error) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(statuses, http.StatusBadRequest) {
			t.Errorf("the session is lost before the answer to the post: %v", statuses)
		}
		close(ended)
	}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Send(t.Context(), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	within(t, "the end of the session", func() { <-ended })
}
