package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// slow is what the clients of these tests may take.
const slowLimit = 400 * time.Millisecond

// Whoever is refused is answered, also if the body that was announced never comes.
func TestRefusesWithoutAwaitingBody(t *testing.T) {
	t.Parallel()
	b := startHTTP(t, Options{HTTP: HTTP{Slow: slowLimit}})
	s := b.openSession(spec.V2025_11_25, "{}")
	const json = "Content-Type: application/json\r\n"
	for _, c := range []struct {
		line, headers string
		status        int
	}{
		{"POST /mcp", json + "Origin: http://evil.example\r\n", 403},
		{"POST /mcp", json + "Accept: application/json\r\n", 406},
		{"POST /mcp", "Content-Type: text/plain\r\n", 415},
		{"PUT /mcp", json, 405},
		{"POST /sse", json, 405},
		{"POST /elsewhere", json, 404},
		{"GET /mcp", "", 408},
		{"DELETE /mcp", "", 408},
		{"GET /sse", "", 408},
	} {
		t.Run(c.line+c.headers, func(t *testing.T) {
			t.Parallel()
			conn := b.dial()
			fmt.Fprintf(
				conn, "%s HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: %s\r\nContent-Length: 100\r\n%s\r\n",
				c.line, s.id, c.headers,
			)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != c.status {
				t.Errorf("it is answered with %s", res.Status)
			}
		})
	}
}

// dial opens a connection for a test that does not take long.
func (b *httpClient) dial() net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.addr.String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// The time that a client has is for sending and reading: what the server takes
// counts for nothing, on one connection after another request too.
func TestDeadlinesExcludeServerWork(t *testing.T) {
	t.Parallel()
	// What reads bodies before has net/http look at once for the client to leave.
	peeks := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err == nil {
				next.ServeHTTP(w, r)
			}
		})
	}
	s := startHTTP(t, Options{HTTP: HTTP{Slow: slowLimit, Middleware: peeks}}).openSession(spec.V2025_11_25, "{}")
	for range 2 {
		r := s.wantStatus(
			s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":1000}}}`),
			200,
		)
		if !r.lastMessage().Get("result.content").Exists() {
			t.Errorf("the call is answered with %s", r.body)
		}
	}
	for _, body := range []string{"", "{}"} { // which means nothing
		l := s.openStream("GET", pathMCP, body, s.headers...)
		select {
		case e, ok := <-l.events:
			if e.data != "" || !ok {
				t.Errorf("the stream went on with %+v, %v", e, ok)
			}
		case <-time.After(2 * slowLimit):
		}
		s.post(toolCallLine("a", "set_reading_room", fmt.Sprintf(`{"open":%v}`, body == "")))
		if m := l.nextMessage(); !strings.HasSuffix(m.Get("method").String(), "list_changed") {
			t.Errorf("the stream carries %s", m)
		}
		l.cancel()
	}
}

// Who does not read an answer is not waited for.
func TestUnreadAnswerTimesOut(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	b := startHTTP(t, Options{
		Handler: func(Handler) Handler {
			return func(context.Context, *Request) (any, *Error) {
				return Object{"all": strings.Repeat("x", 32<<20)}, nil
			}
		},
		HTTP: HTTP{Slow: slowLimit, Middleware: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				ended <- struct{}{}
			})
		}},
	})
	body, headers := statelessRequest(1, "server/discover")
	fmt.Fprintf(
		b.dial(),
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		len(body), strings.Join(headers, "\r\n"), body,
	)
	select {
	case <-ended:
	case <-time.After(testTimeout):
		t.Error("the answer is still being written")
	}
}
