package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An exchange shows the answer as it came, and none of its frames is a message.
func TestExchange(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Header.Get("Origin") != "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}`)
		case q.Method == http.MethodGet:
			sse(w, ": here\n\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
			select {
			case <-hold:
			case <-q.Context().Done():
			}
		}
	})
	posting, err := s.Posting(t.Context(), wire.Parse([]byte(hello)))
	if err != nil || string(posting.Body) != hello {
		t.Fatalf("%+v, %v", posting, err)
	}
	posting.Header.Set("Origin", "http://evil.example")
	x, err := s.Exchange(t.Context(), posting)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Await(t.Context(), time.Minute, func(x *Exchange) bool { return len(x.Body()) > 0 }) {
		t.Error("no body came")
	}
	if all := x.Messages(); x.Status != http.StatusForbidden || x.MediaType() != "application/json" || len(all) != 1 || all[0].Kind != wire.Error {
		t.Errorf("status %d, %s, %v", x.Status, x.MediaType(), all)
	}
	if x.Await(t.Context(), time.Minute, func(*Exchange) bool { return false }) {
		t.Error("what is over was waited for")
	}
	if end, over := x.Over(); !over || !errors.Is(end, io.EOF) {
		t.Errorf("it ended with %v", end)
	}

	get, err := s.Exchange(t.Context(), HTTPRequest{Method: http.MethodGet, Header: s.Fields()})
	if err != nil {
		t.Fatal(err)
	}
	if !get.Await(t.Context(), time.Minute, func(x *Exchange) bool { return len(x.Messages()) == 1 }) || len(get.Events()) != 2 {
		t.Errorf("the stream has %v", get.Events())
	}
	if _, over := get.Over(); over {
		t.Error("the stream is over")
	}
	if get.Await(t.Context(), time.Millisecond, func(*Exchange) bool { return false }) {
		t.Error("what never comes came")
	}
	get.Close()
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Client && f.HTTP.End == closedByUs })
	get.Await(t.Context(), time.Minute, func(*Exchange) bool { return false })
	if _, over := get.Over(); !over {
		t.Error("it goes on after it was closed")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.frames {
		if !f.Wordless() {
			t.Errorf("a message was recorded: %s", f.AppendJSON(nil))
		}
	}
	if told := string(r.frames[0].AppendJSON(nil)); !strings.Contains(told, "evil.example") || !strings.Contains(told, `\"method\":\"initialize\"`) {
		t.Errorf("the request is recorded as %s", told)
	}
}

// An answer whose head does not come in time is an error, and recorded.
func TestAnExchangeWithoutAnAnswer(t *testing.T) {
	s, r := link(t, spec.V2026_07_28, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("time is over"))
	defer cancel()
	if x, err := s.Exchange(ctx, HTTPRequest{Method: http.MethodGet}); err == nil || !strings.Contains(err.Error(), "time is over") {
		t.Errorf("%+v, %v", x, err)
	}
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Server && f.HTTP.Last })
}

// A stream without end is left once enough of it was kept.
func TestAnEndlessExchangeIsLeft(t *testing.T) {
	event := "data: " + strings.Repeat("x", 4<<20) + "\n\n"
	gone := make(chan struct{})
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		defer close(gone)
		for q.Context().Err() == nil {
			sse(w, event)
		}
	})
	x, err := s.Exchange(t.Context(), HTTPRequest{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	x.Await(t.Context(), time.Minute, func(*Exchange) bool { return false })
	if end, over := x.Over(); !over || !strings.Contains(fmt.Sprint(end), "left after") || len(x.Events()) != maxEvents>>22 {
		t.Errorf("%v, %v, %d events", end, over, len(x.Events()))
	}
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Client && f.HTTP.End == closedByUs })
	within(t, "the stream", func() { <-gone })
}

// Neither way of reading an answer keeps a head of any length.
func TestHeadsAreBounded(t *testing.T) {
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
	if _, err := s.Endpoint.Do(t.Context(), HTTPRequest{Method: http.MethodPost}); err == nil || !strings.Contains(err.Error(), "headers exceeded 1048576 bytes") {
		t.Errorf("%v", err)
	}
	raw, err := s.Raw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Write(t.Context(), s.Endpoint.Bytes(HTTPRequest{Method: http.MethodPost})); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "head is longer than 1048576 bytes") {
		t.Errorf("%v", err)
	}
}
