package transport

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A stream that ends because its request was cancelled is left alone; one that ends
// otherwise without the answer is taken up.
func TestTheStreamOfACancelledRequestIsLeftAlone(t *testing.T) {
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
		f := r.await(t, func(f wire.Frame) bool { return f.HTTP.Exchange == 1 && f.HTTP.End != "" })
		if f.HTTP.Last != last {
			t.Errorf("cancelled %t: the end is the last: %t", cancels, f.HTTP.Last)
		}
	}
}

// The stream that listens is taken up however long ago it was opened.
func TestTheStreamThatListensIsTakenUpAgainAndAgain(t *testing.T) {
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
	s.Poll, s.Settle = time.Millisecond, time.Second
	send(t, s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Server && f.Message().Method() == "notifications/x" })
}

// An event of another type than message is none to the clients that there are.
func TestAnEventOfAnotherTypeIsNoMessage(t *testing.T) {
	s, r := link(t, spec.V2025_06_18, func(w http.ResponseWriter, _ *http.Request) {
		sse(w, "event: ping\ndata: 2026\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n")
	})
	send(t, s, `{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	r.answer(t, "7")
	f := r.await(t, func(f wire.Frame) bool { return f.HTTP.Event != nil && f.HTTP.Event.Type == "ping" })
	if !f.Wordless() || f.HTTP.Body != "2026" {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}

// A stream to listen whose events have no ids is opened again, from the present
// on, when it was closed; not for ever where the server never keeps it open.
func TestAStreamThatListensIsOpenedAgainWithoutIDs(t *testing.T) {
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
	s.Settle = time.Second
	send(t, s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	r.await(t, func(f wire.Frame) bool { return f.From == wire.Server && f.Message().Method() == "notifications/x" })
	r.await(t, func(f wire.Frame) bool { return f.HTTP.End != "" && f.HTTP.Last })
	if n := opened.Load(); n != shortMost {
		t.Errorf("it was opened %d times, not %d", n, shortMost)
	}
}

// A body that broke off is no message of the server, whoever broke it off, and
// none comes any more.
func TestABodyThatBrokeOffIsNoMessage(t *testing.T) {
	s, r := link(t, spec.V2025_11_25, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		json(w, 200, `{"jsonrpc":"2.0","id":2,"result":{"text":"`+"\xc3")
	})
	send(t, s, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	f := r.await(t, func(f wire.Frame) bool { return f.From == wire.Server })
	if !f.Wordless() || f.HTTP.Status != 200 || f.HTTP.End != "unexpected EOF" || !f.HTTP.Last || !strings.HasPrefix(f.HTTP.Body, `{"jsonrpc"`) {
		t.Errorf("%s", f.AppendJSON(nil))
	}
}
