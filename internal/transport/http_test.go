package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func endpoint(t *testing.T, h http.HandlerFunc, o HTTPOptions) *Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	e, err := NewEndpoint(s.URL+"/mcp", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestBadURLsAreNamed(t *testing.T) {
	for raw, says := range map[string]string{"ftp://x/": "not of http", "http:///mcp": "names no host", "http://[::1": "missing", "/mcp": "not of http"} {
		if _, err := NewEndpoint(raw, HTTPOptions{}); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), raw) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// What is sent is what was asked for, and is told; redirects are answers.
func TestExchangesAreSeenAsTheyAre(t *testing.T) {
	var got *http.Request
	var body string
	e := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
		fmt.Fprint(w, "{}")
	}, HTTPOptions{Header: http.Header{"Authorization": {"Bearer secret"}, "X-Both": {"of all"}}})
	r, err := e.Do(t.Context(), HTTPRequest{Method: "POST", Host: "evil.example", Header: http.Header{"X-Both": {"of one"}, "accept": {"application/json", "text/event-stream"}, "User-Agent": nil}, Body: []byte(`{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	text, cut, err := r.All()
	if err != nil || cut || string(text) != "{}" || r.Status != 307 || r.MediaType() != "application/json" || r.Streams() {
		t.Errorf("%q %v %v %+v", text, cut, err, r)
	}
	if got.Host != "evil.example" || body != `{"a":1}` || got.Header.Get("X-Both") != "of one" || len(got.Header["Accept"]) != 2 || got.Header.Get("Authorization") != "Bearer secret" {
		t.Errorf("the server saw %+v with %q", got, body)
	}
	if r.Sent.Get("Host") != "evil.example" || r.Sent.Get("X-Both") != "of one" || r.Sent.Get("Content-Length") != "7" || r.Sent.Get("Accept-Encoding") != "identity" || got.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("told as sent: %v", r.Sent)
	}
}

// No coding is asked for in raw bytes either, unless who sends them does.
func TestRawBytesAskForNoCoding(t *testing.T) {
	e := endpoint(t, nil, HTTPOptions{})
	if b := string(e.Bytes(HTTPRequest{Method: "POST"})); !strings.Contains(b, "\r\nAccept-Encoding: identity\r\n") {
		t.Errorf("%q", b)
	}
	if b := string(e.Bytes(HTTPRequest{Method: "POST", Header: http.Header{"accept-encoding": {"gzip"}}})); strings.Contains(b, "identity") {
		t.Errorf("%q", b)
	}
}

// Events come one by one while the stream is open, and closing it is seen by
// the peer.
func TestStreamsAreReadAsTheyCome(t *testing.T) {
	more, gone := make(chan struct{}), make(chan struct{})
	e := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-more
		fmt.Fprint(w, "data: 2\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}, HTTPOptions{})
	r, err := e.Do(t.Context(), HTTPRequest{Method: "GET"})
	if err != nil || !r.Streams() {
		t.Fatal(r, err)
	}
	for i, want := range []string{"1", "2"} {
		if got, err := r.Next(); err != nil || string(got.Data) != want {
			t.Fatalf("event %d: %+v, %v", i, got, err)
		}
		if i == 0 {
			close(more)
		}
	}
	r.Close()
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the server did not see the stream closed")
	}
	if _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a stream that we closed ended with %v", err)
	}
}

func TestLongBodiesAreCut(t *testing.T) {
	e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100)) }, HTTPOptions{Limit: 10})
	r, err := e.Do(t.Context(), HTTPRequest{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	if text, cut, err := r.All(); len(text) != 10 || !cut || err != nil {
		t.Errorf("%q %v %v", text, cut, err)
	}
}

// Errors say what was tried once, and keep passwords to themselves.
func TestUnreachableServersAreNamed(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	e, err := NewEndpoint(strings.Replace(s.URL, "http://", "http://user:secret@", 1), HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Do(t.Context(), HTTPRequest{Method: "POST"})
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Count(err.Error(), "POST") != 1 || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Do(ctx, HTTPRequest{Method: "POST"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Over TLS both HTTP/2 and, on a raw connection, HTTP/1.1 are spoken.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	e, err := NewEndpoint(s.URL, HTTPOptions{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Do(t.Context(), HTTPRequest{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	if text, _, _ := r.All(); string(text) != "HTTP/2.0" || r.Proto != "HTTP/2.0" {
		t.Errorf("%q, %s", text, r.Proto)
	}
	c, err := e.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := c.(*tls.Conn); !ok {
		t.Errorf("a raw connection to https is %T", c)
	}
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	raw, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Body.Close()
	if text, _ := io.ReadAll(raw.Body); string(text) != "HTTP/1.1" {
		t.Errorf("%q", text)
	}
}

// An endpoint is reached at another address under the name that it has.
func TestAnEndpointAtAnotherAddress(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	e, err := NewEndpoint("http://mcp.invalid:"+port+"/mcp", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := e.At(netip.MustParseAddr("127.0.0.1")).Do(t.Context(), HTTPRequest{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	if body, _, _ := reply.All(); string(body) != "mcp.invalid:"+port {
		t.Errorf("it was called by the name %q", body)
	}
}

// A server that changes to another protocol has answered, and nobody waits for
// a body of it.
func TestAChangeOfProtocolHasNoBody(t *testing.T) {
	gone := make(chan struct{})
	e := endpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		close(gone)
	}, HTTPOptions{})
	r, err := e.Do(t.Context(), HTTPRequest{Method: "POST", Body: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "the body", func() {
		if body, _, err := r.All(); r.Status != 101 || len(body) > 0 || err != nil {
			t.Errorf("%d %q %v", r.Status, body, err)
		}
		<-gone
	})
}
