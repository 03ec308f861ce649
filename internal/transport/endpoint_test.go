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

func TestNewEndpointRejectsInvalidURLs(t *testing.T) {
	for raw, want := range map[string]string{
		"ftp://x/": "not of http", "http:///mcp": "names no host", "http://[::1": "missing", "/mcp": "not of http",
	} {
		_, err := NewEndpoint(raw, HTTPOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), raw) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// Do sends a request unchanged, returns the header fields that it sent, and does not
// follow redirects.
func TestDoSendsAndReturnsUnchanged(t *testing.T) {
	var got *http.Request
	var body string
	e := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
		fmt.Fprint(w, "{}")
	}, HTTPOptions{Header: http.Header{"Authorization": {"Bearer secret"}, "X-Both": {"endpoint"}}})
	header := http.Header{
		"X-Both": {"request"}, "accept": {"application/json", "text/event-stream"}, "User-Agent": nil,
	}
	r, err := e.Do(t.Context(), HTTPRequest{
		Method: "POST", Host: "evil.example", Header: header, Body: []byte(`{"a":1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, cut, err := r.ReadAll()
	if err != nil || cut || string(text) != "{}" {
		t.Errorf("%q %v %v", text, cut, err)
	}
	if r.Status != 307 || r.MediaType() != "application/json" || r.IsEventStream() {
		t.Errorf("%+v", r)
	}
	if got.Host != "evil.example" || body != `{"a":1}` || len(got.Header["Accept"]) != 2 {
		t.Errorf("the server received %+v with %q", got, body)
	}
	for key, want := range map[string]string{
		"X-Both": "request", "Authorization": "Bearer secret", "Accept-Encoding": "identity",
	} {
		if got.Header.Get(key) != want || r.RequestHeader.Get(key) != want {
			t.Errorf("%s: the server received %q, Do returned %q, want %q", key, got.Header.Get(key),
				r.RequestHeader.Get(key), want)
		}
	}
}

// Encoded bytes name no content coding either, unless the caller does.
func TestBytesRequestIdentityEncoding(t *testing.T) {
	e := endpoint(t, nil, HTTPOptions{})
	if b := string(e.EncodeRequest(HTTPRequest{Method: "POST"})); !strings.Contains(b,
		"\r\nAccept-Encoding: identity\r\n") {
		t.Errorf("%q", b)
	}
	gzip := HTTPRequest{Method: "POST", Header: http.Header{"accept-encoding": {"gzip"}}}
	if b := string(e.EncodeRequest(gzip)); strings.Contains(b, "identity") {
		t.Errorf("%q", b)
	}
}

// Events are returned while the stream is open, and the peer sees it closed.
func TestNextReturnsEventsOfAnOpenStream(t *testing.T) {
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
	if err != nil || !r.IsEventStream() {
		t.Fatal(r, err)
	}
	for i, want := range []string{"1", "2"} {
		if got, err := r.NextEvent(); err != nil || string(got.Raw) != want {
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
	if _, err := r.NextEvent(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a stream closed by this side ended with %v", err)
	}
}

func TestAllTruncatesLongBodies(t *testing.T) {
	serve := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100)) }
	e := endpoint(t, serve, HTTPOptions{ReadLimit: 10})
	r, err := e.Do(t.Context(), HTTPRequest{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	if text, cut, err := r.ReadAll(); len(text) != 10 || !cut || err != nil {
		t.Errorf("%q %v %v", text, cut, err)
	}
}

// An error names the request once, and has no password.
func TestDoNamesTheRequestInErrors(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	e, err := NewEndpoint(strings.Replace(s.URL, "http://", "http://user:secret@", 1), HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Do(t.Context(), HTTPRequest{Method: "POST"})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), "secret") || strings.Count(err.Error(), "POST") != 1 {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Do(ctx, HTTPRequest{Method: "POST"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Do uses HTTP/2 over TLS; a connection of Dial uses HTTP/1.1.
func TestProtocolsOverTLS(t *testing.T) {
	serve := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }
	s := httptest.NewUnstartedServer(http.HandlerFunc(serve))
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
	if protocol, _, _ := r.ReadAll(); string(protocol) != "HTTP/2.0" {
		t.Errorf("the request used %q", protocol)
	}
	c, err := e.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := c.(*tls.Conn); !ok {
		t.Errorf("the connection to an https URL is %T", c)
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

// A request to another address keeps the host name.
func TestAtKeepsTheHostName(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	e, err := NewEndpoint("http://mcp.invalid:"+port+"/mcp", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := e.atAddress(netip.MustParseAddr("127.0.0.1")).Do(t.Context(), HTTPRequest{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	if body, _, _ := reply.ReadAll(); string(body) != "mcp.invalid:"+port {
		t.Errorf("the server received the host %q", body)
	}
}

// An answer with status 101 has no body.
func TestSwitchingProtocolsHasNoBody(t *testing.T) {
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
	within(t, "reading the body", func() {
		if body, _, err := r.ReadAll(); r.Status != 101 || len(body) > 0 || err != nil {
			t.Errorf("%d %q %v", r.Status, body, err)
		}
		<-gone
	})
}
