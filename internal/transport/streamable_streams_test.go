package transport

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A stream without a response is resumed, unless its request was cancelled.
func TestStreamOfCancelledRequestIsNotResumed(t *testing.T) {
	for cancels, last := range map[bool]bool{true: true, false: false} {
		end := make(chan struct{})
		s, r := link(t, spec.V2025_06_18, func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			switch {
			case q.Method == "GET":
				w.WriteHeader(405)
			case strings.Contains(string(body), "notifications/"):
				close(end)
				w.WriteHeader(202)
			default:
				sse(w, "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
				<-end
			}
		})
		send(t, s, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`)
		r.await(t, func(f wire.Frame) bool { return f.Message().Method() == "notifications/x" })
		if cancels {
			send(t, s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		} else {
			send(t, s, `{"jsonrpc":"2.0","method":"notifications/y"}`)
		}
		f := r.await(t, func(f wire.Frame) bool { return f.HTTP.Exchange == 1 && f.HTTP.EndReason != "" })
		if f.HTTP.Final != last {
			t.Errorf("cancelled %t: the end is final: %t", cancels, f.HTTP.Final)
		}
	}
}

// A GET stream is resumed also after its deadline.
func TestGETStreamIsResumedAfterDeadline(t *testing.T) {
	s, r := link(t, spec.V2025_06_18, func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == "GET" && q.Header.Get("Last-Event-ID") == "":
			sse(w, "id: 1\ndata:\n\n")
		case q.Method == "GET" && q.Header.Get("Last-Event-ID") == "1":
			sse(w, "id: 2\ndata:\n\n")
		case q.Method == "GET":
			sse(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
		default:
			w.WriteHeader(202)
		}
	})
	s.ResumeTimeout, s.ListenTimeout = time.Millisecond, time.Second
	send(t, s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Server && f.Message().Method() == "notifications/x" })
}

// Clients ignore an event of another type than message.
func TestEventOfAnotherTypeIsNoMessage(t *testing.T) {
	s, r := link(t, spec.V2025_06_18, func(w http.ResponseWriter, _ *http.Request) {
		sse(w, "event: ping\ndata: 2026\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n")
	})
	send(t, s, `{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	r.answer(t, "7")
	f := r.await(t, func(f wire.Frame) bool { return f.HTTP.Event != nil && f.HTTP.Event.Type == "ping" })
	if !f.IsTransportOnly() || f.HTTP.Body != "2026" {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

// A closed GET stream without event ids is opened again a bounded number of times.
func TestGETStreamWithoutIDsIsReopenedBounded(t *testing.T) {
	var opened atomic.Int32
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == "GET" && q.Header.Get("Last-Event-ID") != "":
			t.Errorf("Last-Event-ID is %q", q.Header.Get("Last-Event-ID"))
		case q.Method == "GET":
			text := ": here\n\n"
			if opened.Add(1) == 2 {
				text = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"
			}
			sse(w, text)
		default:
			w.WriteHeader(202)
		}
	})
	s.ListenTimeout = time.Second
	send(t, s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Server && f.Message().Method() == "notifications/x" })
	r.await(t, func(f wire.Frame) bool { return f.HTTP.EndReason != "" && f.HTTP.Final })
	if n := opened.Load(); n != maxShortLived {
		t.Errorf("the stream was opened %d times, want %d", n, maxShortLived)
	}
}

// An incomplete body is no message, and ends the exchange.
func TestIncompleteBodyIsNoMessage(t *testing.T) {
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		json(w, 200, `{"jsonrpc":"2.0","id":2,"result":{"text":"`+"\xc3")
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	f := r.await(t, func(f wire.Frame) bool { return f.From == wire.Server })
	if !f.IsTransportOnly() || f.HTTP.Status != 200 || !strings.HasPrefix(f.HTTP.Body, `{"jsonrpc"`) {
		t.Errorf("%s", f.AppendJSON(nil))
	}
	if f.HTTP.EndReason != "unexpected EOF" || !f.HTTP.Final {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

// A stream that ends before the response is resumed after its last event, with the
// delay that the server asks for.
func TestBrokenStreamIsResumed(t *testing.T) {
	closed := make(chan time.Time, 1)
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.Method == "GET" && q.Header.Get("Last-Event-ID") == "e1":
			if waited := time.Since(<-closed); waited < 50*time.Millisecond {
				t.Errorf("the stream was resumed after %s", waited)
			}
			sse(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
		case q.Method == "POST":
			sse(w, "id: e1\nretry: 50\ndata:\n\n")
			closed <- time.Now()
		default:
			w.WriteHeader(405)
		}
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if f := r.answer(t, "2"); f.HTTP.Exchange != 2 || *f.HTTP.Event.ID != "e2" {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

// The stream of a batch is resumed while a response is pending, and not once all
// have come.
func TestBatchStreamIsResumedWhileResponsesArePending(t *testing.T) {
	for pending, want := range map[bool]int{false: 0, true: 1} {
		var mu sync.Mutex
		resumed := 0
		s, r := link(t, spec.V2025_03_26, func(w http.ResponseWriter, q *http.Request) {
			switch {
			case q.Method == "GET":
				mu.Lock()
				resumed++
				mu.Unlock()
				sse(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n")
			case pending:
				sse(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
			default:
				sse(w, "id: e2\n"+
					"data: [{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},"+
					"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]\n\n")
			}
		})
		send(t, s, `[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
		r.await(t, func(f wire.Frame) bool { return f.HTTP.Final })
		mu.Lock()
		if resumed != want {
			t.Errorf("pending %v: the stream was resumed %d times", pending, resumed)
		}
		mu.Unlock()
	}
}

// A stream that the server keeps closing is resumed after the same event until the
// response comes.
func TestPolledStreamIsResumedUntilTheResponse(t *testing.T) {
	var mu sync.Mutex
	polls := 0
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case q.Method == "POST":
			sse(w, "id: e1\nretry: 1\ndata:\n\n")
		case q.Header.Get("Last-Event-ID") != "e1":
			t.Errorf("the stream was resumed after %q", q.Header.Get("Last-Event-ID"))
		case polls < 2:
			polls++
			sse(w, ": nothing yet\n\n")
		default:
			sse(w, "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
		}
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if f := r.answer(t, "2"); f.HTTP.Exchange != 4 {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}
