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

// slowLimit is the HTTP.ClientTimeout of the servers of these tests.
const slowLimit = time.Second

func TestRefusesWithoutAwaitingBody(t *testing.T) {
	t.Parallel()
	b := startHTTP(t, Options{HTTP: HTTP{ClientTimeout: slowLimit}})
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
				t.Errorf("status %s, want %d", res.Status, c.status)
			}
		})
	}
}

// dial opens a connection with a deadline.
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

// The deadlines bound the sending and reading of the client, not the work of the
// server, also for the second request on a connection.
func TestDeadlinesExcludeServerWork(t *testing.T) {
	t.Parallel()
	// Once the body is read, net/http reads on to notice that the client leaves.
	readsBody := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err == nil {
				next.ServeHTTP(w, r)
			}
		})
	}
	h := startHTTP(t, Options{HTTP: HTTP{ClientTimeout: slowLimit, Middleware: readsBody}})
	s := h.openSession(spec.V2025_11_25, "{}")
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`,
		callParams("stocktake", `{"duration_ms":1500}`))
	for range 2 {
		r := s.wantStatus(s.post(line), 200)
		if !r.lastMessage().Get("result.content").Exists() {
			t.Errorf("the answer to the call is %s", r.body)
		}
	}
	for _, body := range []string{"", "{}"} { // a body has no meaning here
		l := s.openStream("GET", pathMCP, body, s.headers...)
		select {
		case e, ok := <-l.events:
			if e.data != "" || !ok {
				t.Errorf("the stream carried %+v, and is open: %v", e, ok)
			}
		case <-time.After(2 * slowLimit):
		}
		s.post(toolCallLine("a", "set_reading_room", fmt.Sprintf(`{"open":%v}`, body == "")))
		if m := l.nextMessage(); !strings.HasSuffix(m.Get("method").String(), "list_changed") {
			t.Errorf("the stream carried %s", m)
		}
		l.cancel()
	}
}

func TestUnreadAnswerTimesOut(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	b := startHTTP(t, Options{
		Handler: func(Handler) Handler {
			return func(context.Context, *Request) (any, *Error) {
				return Object{"all": strings.Repeat("x", 32<<20)}, nil
			}
		},
		HTTP: HTTP{ClientTimeout: slowLimit, Middleware: func(next http.Handler) http.Handler {
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

func TestSlowBodyTimesOut(t *testing.T) {
	t.Parallel()
	b := startHTTP(t, Options{HTTP: HTTP{ClientTimeout: slowLimit}})
	headers := "Host: localhost\r\nAccept: " + acceptBoth + "\r\nContent-Type: application/json\r\n"
	c, err := net.Dial("tcp", b.server.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\n%sContent-Length: 100\r\n\r\n{", headers)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("the answer to half a body is %s", res.Status)
	}
	// A stream without events has no deadline.
	l := b.openSession(spec.V2025_11_25, "{}").openGetStream()
	time.AfterFunc(2*slowLimit, func() { b.server.handler.Close() })
	began := time.Now()
	for _, e := range l.readRest() {
		if e.data != "" {
			t.Errorf("the stream carried %+v", e)
		}
	}
	if time.Since(began) < slowLimit {
		t.Error("a stream without events ended early")
	}
}
