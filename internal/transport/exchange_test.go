package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// never is a condition that holds for no exchange.
func never(*wire.Exchange) bool { return false }

// An exchange with a body returns the answer unchanged, and records no message.
func TestExchangeWithBody(t *testing.T) {
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Origin") != "" {
			json(w, http.StatusForbidden, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}`)
		}
	})
	post, err := s.NewPostRequest(t.Context(), wire.Parse([]byte(initialize)))
	if err != nil || string(post.Body) != initialize {
		t.Fatalf("%+v, %v", post, err)
	}
	post.Header.Set("Origin", "http://evil.example")
	x, err := s.StartExchange(t.Context(), post)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Await(t.Context(), time.Minute, func(known *wire.Exchange) bool { return len(known.PlainBody()) > 0 }) {
		t.Error("no body was received")
	}
	if x.Status != http.StatusForbidden || x.MediaType() != "application/json" {
		t.Errorf("status %d, %s", x.Status, x.MediaType())
	}
	if all := x.Snapshot().Messages(); len(all) != 1 || all[0].Kind != wire.Error {
		t.Errorf("%v", all)
	}
	if x.Await(t.Context(), time.Minute, never) {
		t.Error("Await reports true for a condition that never holds")
	}
	if end := x.Snapshot().End; end == nil || end.HTTP.EndReason != "" {
		t.Errorf("the exchange ended with %+v", end)
	}
	r.noMessages(t)
	line := string(r.await(t, func(wire.Frame) bool { return true }).AppendJSON(nil))
	if !strings.Contains(line, "evil.example") || !strings.Contains(line, `\"method\":\"initialize\"`) {
		t.Errorf("the request is recorded as %s", line)
	}
}

// An exchange with a stream returns the events until it is closed, and records no
// message.
func TestExchangeWithStream(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			sse(w, ": here\n\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
			select {
			case <-hold:
			case <-q.Context().Done():
			}
		}
	})
	get, err := s.StartExchange(t.Context(), HTTPRequest{Method: http.MethodGet, Header: s.SessionHeader()})
	if err != nil {
		t.Fatal(err)
	}
	oneMessage := func(known *wire.Exchange) bool { return len(known.Messages()) == 1 }
	if !get.Await(t.Context(), time.Minute, oneMessage) || len(get.Snapshot().Events()) != 2 {
		t.Errorf("the stream has %v", get.Snapshot().Events())
	}
	if get.Snapshot().HasEnded() {
		t.Error("the open stream is reported as ended")
	}
	if get.Await(t.Context(), time.Millisecond, never) {
		t.Error("Await reports true for a condition that never holds")
	}
	get.Close()
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Client && f.HTTP.EndReason == closedByClient })
	get.Await(t.Context(), time.Minute, never)
	if !get.Snapshot().HasEnded() {
		t.Error("the closed stream is reported as open")
	}
	r.noMessages(t)
}

// The frame of a long body is cut, and the exchange has the whole body.
func TestExchangeKeepsWholeBody(t *testing.T) {
	body := strings.Repeat("x", 3*maxRecordedBody)
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	x, err := s.StartExchange(t.Context(), HTTPRequest{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	x.Await(t.Context(), time.Minute, (*wire.Exchange).HasEnded)
	if got := x.Snapshot().PlainBody(); string(got) != body {
		t.Errorf("the body has %d bytes, want %d", len(got), len(body))
	}
	f := r.await(t, func(f wire.Frame) bool { return f.From == wire.Server })
	if !f.IsTransportOnly() || len(f.HTTP.Body) > maxRecordedBody+len("…") || f.HTTP.Status != http.StatusOK {
		t.Errorf("%d bytes of the body are recorded", len(f.HTTP.Body))
	}
}

// An incomplete body ends the exchange with the reason.
func TestExchangeWithIncompleteBody(t *testing.T) {
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	})
	x, err := s.StartExchange(t.Context(), HTTPRequest{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	x.Await(t.Context(), time.Minute, (*wire.Exchange).HasEnded)
	recorded := r.await(t, func(f wire.Frame) bool { return f.From == wire.Server })
	for _, f := range []wire.Frame{x.Snapshot().End.Frame, recorded} {
		if string(f.Data()) != "half" || f.HTTP.EndReason != "unexpected EOF" || !f.HTTP.Final {
			t.Errorf("%s", f.AppendJSON(nil))
		}
	}
}

// A missing answer is an error, and recorded.
func TestExchangeWithoutAnswer(t *testing.T) {
	s, r := link(t, spec.V2026_07_28, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("time is over"))
	defer cancel()
	x, err := s.StartExchange(ctx, HTTPRequest{Method: http.MethodGet})
	if err == nil || !strings.Contains(err.Error(), "time is over") {
		t.Errorf("%+v, %v", x, err)
	}
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Server && f.HTTP.Final })
}

// An endless stream is closed once its size exceeds the limit.
func TestExchangeClosesEndlessStream(t *testing.T) {
	event := "data: " + strings.Repeat("x", 4<<20) + "\n\n"
	gone := make(chan struct{})
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		defer close(gone)
		for q.Context().Err() == nil {
			sse(w, event)
		}
	})
	x, err := s.StartExchange(t.Context(), HTTPRequest{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	x.Await(t.Context(), time.Minute, never)
	end, events := x.Snapshot().End, x.Snapshot().Events()
	if end == nil || !strings.Contains(end.HTTP.EndReason, "closed after") || len(events) != maxStreamBytes>>22 {
		t.Errorf("%+v, %d events", end, len(events))
	}
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Client && f.HTTP.EndReason == closedByClient })
	within(t, "closing the stream", func() { <-gone })
}

// An answer with an endless head is an error.
func TestAnswerHeadsAreBounded(t *testing.T) {
	s, _ := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
		for err == nil {
			_, err = fmt.Fprint(c, "X-Long: ", strings.Repeat("x", 1000), "\r\n")
		}
	})
	_, err := s.Endpoint.Do(t.Context(), HTTPRequest{Method: http.MethodPost})
	if err == nil || !strings.Contains(err.Error(), "headers exceeded 1048576 bytes") {
		t.Errorf("%v", err)
	}
	raw, err := s.OpenRawConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Write(t.Context(), s.Endpoint.EncodeRequest(HTTPRequest{Method: http.MethodPost})); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Read(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "head is longer than 1048576 bytes") {
		t.Errorf("%v", err)
	}
}
