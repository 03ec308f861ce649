package transport

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// closingServer serves one connection after another. It closes a connection without
// an answer to the n-th request on it. requests counts all requests.
func closingServer(t *testing.T, n int) (e *Endpoint, requests *atomic.Int32) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { at.Close() })
	requests = &atomic.Int32{}
	go func() {
		for {
			c, err := at.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for i := 1; ; i++ {
				q, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, q.Body)
				requests.Add(1)
				if i == n {
					break
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
			c.Close()
		}
	}()
	if e, err = NewEndpoint("http://"+at.Addr().String(), HTTPOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, requests
}

// A POST over an idle connection that its server closes is sent once more. A POST
// over a new connection that the server closes is not.
func TestPostIsRepeatedAfterIdleConnectionCloses(t *testing.T) {
	post := HTTPRequest{Method: http.MethodPost, Body: []byte("{}")}
	e, requests := closingServer(t, 2)
	for i := range 2 {
		r, err := e.Do(t.Context(), post)
		if err != nil {
			t.Fatal(err)
		}
		if body, _, err := r.ReadAll(); string(body) != "{}" || err != nil || r.Retried != (i == 1) {
			t.Errorf("request %d: %q, %v, sent twice: %v", i, body, err, r.Retried)
		}
	}
	if n := requests.Load(); n != 3 {
		t.Errorf("the server received %d requests, want 3", n)
	}
	e, requests = closingServer(t, 1)
	if _, err := e.Do(t.Context(), post); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("%v", err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the server received %d requests, want 1", n)
	}
}

// An idle connection is closed before a server would close it.
func TestIdleConnectionsAreClosedSoon(t *testing.T) {
	t.Parallel()
	idle, closed := make(chan time.Time, 1), make(chan time.Time, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateIdle:
			idle <- time.Now()
		case http.StateClosed:
			closed <- time.Now()
		}
	}
	s.Start()
	defer s.Close()
	e, err := NewEndpoint(s.URL, HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Do(t.Context(), HTTPRequest{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = r.ReadAll()
	within(t, "closing the connection", func() {
		if from := <-idle; (<-closed).Sub(from) > time.Second {
			t.Error("the idle connection was kept for more than a second")
		}
	})
}
