package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A recorder keeps the frames of a session and lets a test wait for one.
type recorder struct {
	mu     sync.Mutex
	frames []wire.Frame
	more   chan struct{}
}

func (r *recorder) record(f wire.Frame) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
	close(r.more)
	r.more = make(chan struct{})
	return len(r.frames) - 1
}

// await returns the first frame that matches.
func (r *recorder) await(t *testing.T, match func(wire.Frame) bool) wire.Frame {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		r.mu.Lock()
		frames, more := r.frames, r.more
		r.mu.Unlock()
		for _, f := range frames {
			if match(f) {
				return f
			}
		}
		select {
		case <-more:
		case <-deadline:
			var lines []string
			for _, f := range frames {
				lines = append(lines, string(f.AppendJSON(nil)))
			}
			t.Fatalf("no frame matches among\n%s", strings.Join(lines, "\n"))
		}
	}
}

// noMessages fails the test if a frame carries a message.
func (r *recorder) noMessages(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if !f.IsTransportOnly() {
			t.Errorf("a message was recorded: %s", f.AppendJSON(nil))
		}
	}
}

// answer returns the frame of the response with an id.
func (r *recorder) answer(t *testing.T, id string) wire.Frame {
	t.Helper()
	return r.await(t, func(f wire.Frame) bool {
		m := f.Message()
		return f.From == wire.Server && m.IsResponse() && m.ID().Raw == id
	})
}

// link returns an open session with a server, and its recorder.
func link(t *testing.T, rev spec.Revision, h http.HandlerFunc) (*Streamable, *recorder) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	e, err := NewEndpoint(server.URL+"/mcp", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{more: make(chan struct{})}
	s := &Streamable{Endpoint: e, Rev: rev, Record: r.record, ResumeTimeout: 10 * time.Second}
	s.Open()
	t.Cleanup(func() { s.Close(t.Context()) })
	return s, r
}

func send(t *testing.T, s *Streamable, raw string) {
	t.Helper()
	if _, err := s.Send(t.Context(), []byte(raw)); err != nil {
		t.Fatal(err)
	}
}

func json(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func sse(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`

// A session sends its id and, from 2025-06-18 on, its version after initialize. It
// opens the GET stream once it is initialized, and ends with DELETE.
func TestStreamableSession(t *testing.T) {
	for _, rev := range spec.Between(spec.V2025_03_26, spec.V2025_11_25).Revisions() {
		type seen struct{ method, session, version, accept string }
		var mu sync.Mutex
		var got []seen
		listening := make(chan struct{})
		s, r := link(t, rev, func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			h := q.Header
			got = append(got, seen{q.Method, h.Get("Mcp-Session-Id"), h.Get("Mcp-Protocol-Version"), h.Get("Accept")})
			mu.Unlock()
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "GET":
				sse(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
				close(listening)
				<-q.Context().Done()
			case q.Method == "DELETE":
				w.WriteHeader(204)
			case strings.Contains(string(body), "initialized"):
				w.WriteHeader(202)
			case strings.Contains(string(body), "initialize"):
				w.Header().Set("Mcp-Session-Id", "abc")
				json(w, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			default:
				sse(w, ": comment\n\n"+
					"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"+
					"data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
			}
		})
		send(t, s, initialize)
		r.answer(t, "1")
		send(t, s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		<-listening
		send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		f := r.answer(t, "2")
		if f.HTTP == nil || f.HTTP.Event == nil {
			t.Errorf("%s: the frame of the answer has no event: %s", rev, f.AppendJSON(nil))
		}
		r.await(t, func(f wire.Frame) bool { return f.Message().Method() == "notifications/tools/list_changed" })
		s.Close(t.Context())
		version := ""
		if rev.Facts().VersionHeader {
			version = string(rev)
		}
		both := "application/json, text/event-stream"
		want := []seen{
			{"POST", "", "", both},
			{"POST", "abc", version, both},
			{"GET", "abc", version, "text/event-stream"},
			{"POST", "abc", version, both},
			{"DELETE", "abc", version, ""},
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the server received\n%v, want\n%v", rev, got, want)
		}
	}
}

// A body that is no message is recorded as text.
func TestRecordsBodiesThatAreNoMessages(t *testing.T) {
	const refusal = `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`
	for name, c := range map[string]struct {
		kind, body string
		status     int
		message    bool
	}{
		"an error page":                {"text/html", "<h1>no</h1>", 404, false},
		"an error of another kind":     {"application/json", `{"error":"no"}`, 401, false},
		"an error of JSON-RPC":         {"application/json", refusal, 400, true},
		"broken JSON with status 200":  {"application/json; charset=utf-8", `{`, 200, true},
		"text with status 200":         {"text/plain", `{}`, 200, false},
		"nothing, of no declared type": {"", ``, 202, false},
	} {
		s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		f := r.await(t, func(f wire.Frame) bool { return f.From == wire.Server })
		got, other := string(f.Raw), f.HTTP.Body
		if !c.message {
			got, other = other, got
		}
		if f.HTTP.Status != c.status || got != c.body || other != "" {
			t.Errorf("%s is recorded as %s", name, f.AppendJSON(nil))
		}
	}
}

// The server sees the stream of an abandoned request closed.
func TestAbandonClosesTheStream(t *testing.T) {
	gone := make(chan struct{})
	s, r := link(t, spec.V2026_07_28, func(w http.ResponseWriter, q *http.Request) {
		sse(w, ": begun\n\n")
		<-q.Context().Done()
		close(gone)
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`)
	r.await(t, func(f wire.Frame) bool { return f.HTTP != nil && f.HTTP.Event != nil })
	if s.AbandonRequest(wire.IntID(3)) || !s.AbandonRequest(wire.IntID(2)) {
		t.Error("Abandon reports an answered request as open, or an open one as answered")
	}
	<-gone
	r.await(t, func(f wire.Frame) bool {
		return f.From == wire.Client && f.IsTransportOnly() && f.HTTP.EndReason == closedByClient
	})
}

// Lost is called for a server that cannot be reached.
func TestUnreachableServerIsReportedLost(t *testing.T) {
	server := httptest.NewServer(nil)
	e, err := NewEndpoint(server.URL, HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	lost := make(chan error, 1)
	r := &recorder{more: make(chan struct{})}
	s := &Streamable{Endpoint: e, Rev: spec.V2025_11_25, Record: r.record, OnSessionLost: func(err error) {
		lost <- err
	}}
	s.Open()
	defer s.Close(context.Background())
	if _, err := s.Send(t.Context(), []byte(initialize)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Send returned %v", err)
	}
	if err := <-lost; !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

// Sending a notification succeeds once it was written, also if the server answers
// late.
func TestSendAcceptsALateAnswerToANotification(t *testing.T) {
	release := make(chan struct{})
	s, _ := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)); err != nil {
		t.Error(err)
	}
}
