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

// closesAt serves one connection after another, and closes one without an
// answer where it got so many requests on it. asked counts all.
func closesAt(t *testing.T, n int) (e *Endpoint, asked *atomic.Int32) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { at.Close() })
	asked = &atomic.Int32{}
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
				asked.Add(1)
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
	return e, asked
}

// A POST that met a connection which its server closed while it was idle is sent
// once more; one that a new connection left without an answer is not.
func TestAConnectionThatWasIdleMayBeClosed(t *testing.T) {
	post := HTTPRequest{Method: http.MethodPost, Body: []byte("{}")}
	e, asked := closesAt(t, 2)
	for i := range 2 {
		r, err := e.Do(t.Context(), post)
		if err != nil {
			t.Fatal(err)
		}
		if body, _, err := r.All(); string(body) != "{}" || err != nil || r.Again != (i == 1) {
			t.Errorf("request %d: %q, %v, again: %v", i, body, err, r.Again)
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("the server was asked %d times, not 3", n)
	}
	e, asked = closesAt(t, 1)
	if _, err := e.Do(t.Context(), post); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("%v", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times, not once", n)
	}
}

// Connections are not kept for as long as servers close them after.
func TestConnectionsAreNotIdleForLong(t *testing.T) {
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
	_, _, _ = r.All()
	within(t, "the connection", func() {
		if from := <-idle; (<-closed).Sub(from) > time.Second {
			t.Error("it was kept for more than a second")
		}
	})
}
